package serverless

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A function may die between any two calls. Whenever it does, in the test of one
// termination, in the end the instance was terminated once, and a person was told.
func TestAFunctionMayDieAtAnyCall(t *testing.T) {
	moments := map[string][]string{
		StateChange: {"before", "after"},
		Inspect:     {"before", "after"},
		// The test of the ladder below has it die after each call, over a termination too.
		Remediate: {"before"},
	}
	for _, name := range []string{StateChange, Inspect, Remediate} {
		for n := 1; ; n++ {
			died := false
			for _, when := range moments[name] {
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

// remediate may also die over each act of a longer ladder: over the cordon, the drain and
// the termination in one story. What it died over is taken up again, and each thing
// happens once and in its order.
func TestRemediateMayDieOverEachActOfALadder(t *testing.T) {
	for n := 1; ; n++ {
		died := 0
		t.Run(fmt.Sprint("after:", n), func(t *testing.T) {
			s := deploy(t, "remediate")
			fleet(t, 4)
			id := worn(t, corev1.ConditionFalse, 20*time.Minute)
			serve(t, id, 2)
			for _, act := range []string{"cordon", "drain", "terminate"} {
				s.Die[act] = fmt.Sprint("after:", n)
			}
			s.Step = 3 * time.Minute
			for range 40 {
				must(t, s.Advance(t.Context(), s.Step))
				if len(acts(t, "TerminateInstances")) > 0 {
					break
				}
			}
			died = s.Died
			same(t, "terminations", acts(t, "TerminateInstances", "RebootInstances"), []string{"TerminateInstances " + id})
			same(t, "in the cluster", changes(t), []string{"patch nodes " + id, "create pods/eviction web-1", "create pods/eviction web-2"})
			if last, first := lastChange(t), firstAct(t, "TerminateInstances"); !last.Before(first) {
				t.Errorf("terminated at %s, before the last change in the cluster at %s", first, last)
			}
			must(t, bed.DeleteNode(t.Context(), id))
			s.Step = 6 * time.Minute
			must(t, s.Advance(t.Context(), 18*time.Minute))
			same(t, "terminations in the end", acts(t, "TerminateInstances", "RebootInstances"), []string{"TerminateInstances " + id})
			open, err := s.open(t.Context())
			must(t, err)
			if open != 0 {
				t.Errorf("%d acts without outcome in the ledger", open)
			}
		})
		if died == 0 {
			if n == 1 {
				t.Error("remediate never died")
			}
			return // no act takes more calls than that
		}
	}
}

func lastChange(t *testing.T) (at time.Time) {
	t.Helper()
	calls, err := bed.KubeCalls(t.Context())
	must(t, err)
	for _, c := range calls {
		if c.Verb != "get" && c.Verb != "list" {
			at = c.Time
		}
	}
	return at
}

func firstAct(t *testing.T, action string) time.Time {
	t.Helper()
	calls, err := bed.Calls(t.Context())
	must(t, err)
	for _, c := range calls {
		if c.Action == action {
			return c.Time
		}
	}
	return time.Time{}
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
