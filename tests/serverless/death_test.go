package serverless

import (
	"fmt"
	"testing"
	"time"
)

// A function may die between any two calls. Whenever it does, in the test of one
// termination, in the end the instance was terminated once, and a person was told.
func TestAFunctionMayDieAtAnyCall(t *testing.T) {
	for _, name := range []string{StateChange, Inspect, Remediate} {
		for n := 1; ; n++ {
			died := false
			for _, when := range []string{"before", "after"} {
				died = dies(t, name, fmt.Sprintf("%s:%d", when, n)) || died
			}
			if !died {
				if n == 1 {
					t.Errorf("%s never died", name)
				}
				break // it makes no more calls than that
			}
		}
	}
}

// dies plays one termination in which the function dies at a call, and reports whether
// it came to that.
func dies(t *testing.T, name, when string) (died bool) {
	t.Run(name+" "+when, func(t *testing.T) {
		s := deploy(t, "remediate")
		fleet(t, 3)
		id := launch(t)
		if name != StateChange {
			s.Step = 7 * time.Minute
			must(t, s.Advance(t.Context(), 14*time.Minute))
		}
		s.Die[name], s.Step = when, 3*time.Minute
		must(t, s.Advance(t.Context(), 3*time.Minute))
		died = s.Died > 0
		s.Step = 6 * time.Minute
		must(t, s.Advance(t.Context(), 36*time.Minute)) // an intent without outcome is settled by then
		same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
		told := notices(t, s)
		ordered := 0
		for _, n := range told {
			if n == "critical terminate" {
				ordered++
			}
		}
		if ordered == 0 || ordered > 2 {
			t.Errorf("notices %q, want the order announced, and at most twice where the function died over it", told)
		}
		open, err := s.open(t.Context())
		must(t, err)
		if open != 0 {
			t.Errorf("%d acts without outcome in the ledger", open)
		}
	})
	return died
}

func TestTwoRemediatorsAndTwoDeliveriesOneActs(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id := launch(t)
	must(t, s.Advance(t.Context(), 14*time.Minute))
	s.Twins = true
	must(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
}
