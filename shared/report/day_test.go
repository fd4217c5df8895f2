package report_test

import (
	"context"
	"testing"

	"rollcall/shared/report"
	"rollcall/shared/sim"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/harness/noticetest"
)

// hearing publishes messages, and hears them.
type hearing struct {
	sim.Notices
	hear func(report.Message)
}

func (h hearing) Publish(ctx context.Context, m report.Message) error {
	h.hear(m)
	return h.Notices.Publish(ctx, m)
}

// In the demo's day and in days of random faults, every notice of every cluster is short and
// has its command.
func TestTheNoticesOfADayAreShort(t *testing.T) {
	days := map[string]sim.Scenario{"the demo's day": sim.Day()}
	if !testing.Short() {
		days["seed 1"] = sim.Random(sim.Options{Seed: 1, Hours: sim.LeastHours, Clusters: 3, Nodes: 12})
	}
	for name, day := range days {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged := 0
			hear := (func(m report.Message) {
				judged++
				for _, fault := range noticetest.Faults(noticetest.Notice{Subject: m.Subject, Text: m.Text, JSON: m.JSON, Chat: m.Chat}) {
					t.Errorf("%s\n%s\n\n%s", fault, m.Subject, m.Text)
				}
			})
			_, err := sim.Run(day, sim.Watch{GoOn: true, Guards: sim.Guards{Notices: func(next sim.Notices) sim.Notices { return hearing{next, hear} }}})
			must.Succeed(t, err)
			least := map[bool]int{true: 40, false: 10}[day.Quiet]
			expect.That(t, judged >= least, "only %d notices", judged)
		})
	}
}
