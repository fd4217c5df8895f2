package sim

import (
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// What EC2 is going to interrupt is moved before, in groups of each owner that does not move it itself.
func TestWhatIsScheduledIsMoved(t *testing.T) {
	for _, group := range []string{api, workers, pool} {
		acts := map[string]int{}
		r, err := Run(trial(Fault{Kind: FaultScheduled, At: 30 * time.Minute, Group: group, Count: 1, Value: eventReboots}), Watch{Tell: func(e Event) {
			if e.Kind == EventAct || e.Kind == EventOrder && e.Finding != string(roll.Scheduled) {
				acts[e.Action]++
			}
		}})
		must.That(t, err == nil && len(r.Violations) == 0, "%s: %v, %v", group, err, r.Violations)
		expect.That(t, acts[string(actCordon)] != 0 && acts[string(actTerminate)]+acts[string(actReboot)]+acts[string(actDeleteClaim)] <= 0, "%s: %v", group, acts)
		expect.That(t, acts[string(actUncordon)] != 0, "%s: the node was not given back: %v", group, acts)
	}
}
