package sim

import (
	"slices"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// repairing returns a trial of one machine's failed GPU, under a policy that repairs accelerators.
func repairing(group, value string) Scenario {
	sc := trial(Fault{Kind: FaultAccelerator, At: 30 * time.Minute, Group: group, Count: 1, Value: value})
	sc.Storm = 4 * time.Hour
	sc.Policy += repairsAccelerators
	return sc
}

// A failed accelerator leads only to the acts that cure it, in groups of each owner.
func TestAcceleratorsAreRepairedByWhatCuresThem(t *testing.T) {
	const ends = actTerminate
	for _, group := range []string{api, workers, pool} {
		for value, want := range map[string][]act{
			gpuReboots:  {actCordon, actReboot, actUncordon},
			gpuAgain:    {actCordon, actReboot, ends},
			gpuReplaced: {actCordon, ends},
			gpuPerson:   nil,
			gpuWorks:    nil,
		} {
			var happened tally
			sc := repairing(group, value)
			r, err := Run(sc, Watch{Tell: happened.add})
			must.That(t, err == nil && len(r.Violations) == 0, "%s, %s: %v, %v", group, value, err, r.Violations)
			for _, what := range []act{actCordon, actUncordon, actReboot, actTerminate} {
				if value == gpuAgain && what == actUncordon {
					continue // it is healthy for some minutes
				}
				times := happened.acts[string(what)]
				expect.That(t, (times > 0) == slices.Contains(want, what), "%s, %s: %s %d times, of %v", group, value, what, times, happened.acts)
			}
			sc.Policy = remediating
			var unasked tally
			r, err = Run(sc, Watch{Tell: unasked.add})
			expect.That(t, err == nil && len(r.Violations) == 0 && len(unasked.acts) == 0, "%s, %s, without an opt-in: %v, %v, %v", group, value, unasked.acts, err, r.Violations)
		}
	}
}

// On a new Node of a machine whose GPU failed, the agent starts anew, and sees the fault again.
func TestTheAgentSeesAFailedGPUOnANewNode(t *testing.T) {
	c := handmade(t, GroupSpec{Name: "workers", Owner: "autoscaling-group", Type: "g4dn.xlarge"})
	m := up(c.groups[0], "node-1")
	m.gpu, m.gpuFailed = gpuReplaced, c.a.Now()
	m.fall(failedGPU, false, false)
	c.removeNode(m.node)
	m.join()
	must.That(t, m.node != nil && failedAt(m.node.conditions).IsZero(), "a new Node has the conditions %+v", m.node.conditions)
	c.a.pass(15 * time.Minute)
	expect.That(t, !failedAt(m.node.conditions).IsZero(), "15 min later it has the conditions %+v", m.node.conditions)
}
