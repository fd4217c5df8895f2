package mutate

import (
	"fmt"
	"testing"

	"rollcall/shared/sim"
	"rollcall/tests/harness/must"
)

// Runs that once broke a rule, by a fault of the product or of the rule, break none now.
func TestRunsThatBrokeARuleBreakNoneNow(t *testing.T) {
	for _, run := range []Run{
		// The lease of a node that was no longer listed was read, and not kept as evidence.
		{Seed: 2, Faults: []sim.FaultKind{sim.FaultKillSwitch + "=stopped", sim.FaultSilence}},
		// A person cordoned the node that was drained, and released it before it was
		// terminated.
		{Seed: 3, Faults: []sim.FaultKind{sim.FaultPeople + "=cordon", sim.FaultNotReady + "=2"}},
	} {
		t.Run(fmt.Sprint(run.Faults, run.Seed), func(t *testing.T) {
			r, err := sim.Run(run.Scenario(), sim.Watch{})
			must.Succeed(t, err)
			for _, v := range r.Violations {
				t.Errorf("%+v", v)
			}
		})
	}
}
