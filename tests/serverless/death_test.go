package serverless

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// A function may die between any two calls. The test of one termination checks that the
// instance is then still terminated once, and a person is notified. A function that dies leaves
// behind what it wrote, and nothing else: where it dies between two writes makes no difference.
// So it dies before its first call and after each that writes.
func TestAFunctionMayDieAtAnyCall(t *testing.T) {
	for _, name := range []string{StateChange, Inspect, Remediate} {
		dies(t, name, "before:1")
		for n, call := range rehearsal(t, name) {
			if !reads(call) {
				dies(t, name, fmt.Sprintf("after:%d", n+1))
			}
		}
	}
}

// reads reports whether a call changes nothing.
func reads(call string) bool {
	return slices.ContainsFunc([]string{"Describe", "List", "Get", "Query", "TransactGet"}, func(verb string) bool { return strings.HasPrefix(call, verb) })
}

// rehearsal plays one termination and returns the calls of the invocation in which the
// function is to die.
func rehearsal(t *testing.T, name string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "calls")
	t.Run(name+" tells its calls", func(t *testing.T) {
		termination(t, name, func(s *Stack) { s.Tell[name] = file })
	})
	return told(t, file)
}

// told returns the lines of a file of calls.
func told(t *testing.T, file string) []string {
	t.Helper()
	data := must.Read(t, file)
	return strings.Fields(string(data))
}

// dies plays one termination in which the function dies at a call.
func dies(t *testing.T, name, when string) {
	t.Run(name+" "+when, func(t *testing.T) {
		s := termination(t, name, func(s *Stack) { s.Die[name] = when })
		expect.That(t, s.Died != 0, "it never came to that call")
	})
}

// termination plays one termination. It calls arm before the invocation that matters.
func termination(t *testing.T, name string, arm func(*Stack)) *Stack {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id := launch(t)
	if name != StateChange {
		s.Step = 7 * time.Minute
		must.Succeed(t, s.Advance(t.Context(), 14*time.Minute))
	}
	s.Step = 3 * time.Minute
	arm(s)
	must.Succeed(t, s.Advance(t.Context(), 3*time.Minute))
	s.Step = 6 * time.Minute
	must.Succeed(t, s.Advance(t.Context(), 36*time.Minute)) // an intent without outcome is settled by then
	same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	told := notices(t, s)
	ordered := 0
	for _, n := range told {
		if n == "critical terminate" {
			ordered++
		}
	}
	expect.That(t, ordered != 0 && ordered <= 2, "notices %q, want the order announced, and at most twice where the function died over it", told)
	open, err := s.open(t.Context())
	must.Succeed(t, err)
	expect.That(t, open == 0, "%d acts without outcome in the ledger", open)
	return s
}

// remediate may also die during each act of a longer ladder: the cordon, the drain and
// the termination of one node. The interrupted act is resumed, and each act happens once
// and in order. What it writes to the cluster is not among the calls, but comes after its
// second write, which records the intent or the evidence: from there on it dies after each call.
func TestRemediateMayDieOverEachActOfALadder(t *testing.T) {
	dir := t.TempDir()
	t.Run("tells its calls", func(t *testing.T) {
		ladder(t, func(s *Stack) {
			for _, act := range ladderActs {
				s.Tell[act] = filepath.Join(dir, act)
			}
		})
	})
	at := map[string][]int{}
	most := 0
	for _, act := range ladderActs {
		calls, writes := told(t, filepath.Join(dir, act)), 0
		for n, call := range calls {
			if !reads(call) {
				writes++
			}
			if n == 0 || !reads(call) || writes > 1 {
				at[act] = append(at[act], n+1)
			}
		}
		must.That(t, writes >= 2, "%s records no intent: %q", act, calls)
		most = max(most, len(calls))
	}
	for n := 1; n <= most; n++ {
		var over []string
		for _, act := range ladderActs {
			if slices.Contains(at[act], n) {
				over = append(over, act)
			}
		}
		if len(over) == 0 {
			continue
		}
		t.Run(fmt.Sprint("after:", n), func(t *testing.T) {
			s := ladder(t, func(s *Stack) {
				for _, act := range over {
					s.Die[act] = fmt.Sprint("after:", n)
				}
			})
			expect.That(t, s.Died == len(over), "it died %d times, want it over %q", s.Died, over)
		})
	}
}

// ladderActs are the acts of the ladder, in order.
var ladderActs = []string{"cordon", "drain", "terminate"}

// ladder plays the remediation of a node that is cordoned, drained and terminated.
func ladder(t *testing.T, arm func(*Stack)) *Stack {
	s := deploy(t, "remediate")
	fleet(t, 4)
	id := worn(t, corev1.ConditionFalse, 20*time.Minute)
	serve(t, id, 2)
	arm(s)
	s.Step = 3 * time.Minute
	for range 40 {
		must.Succeed(t, s.Advance(t.Context(), s.Step))
		if len(acts(t, "TerminateInstances")) > 0 {
			break
		}
	}
	same(t, "terminations", acts(t, "TerminateInstances", "RebootInstances"), []string{"TerminateInstances " + id})
	same(t, "in the cluster", changes(t), []string{"patch nodes " + id, "create pods/eviction web-1", "create pods/eviction web-2"})
	last, first := lastChange(t), firstAct(t, "TerminateInstances")
	expect.That(t, last.Before(first), "terminated at %s, before the last change in the cluster at %s", first, last)
	must.Succeed(t, bed.DeleteNode(t.Context(), id))
	s.Step = 6 * time.Minute
	must.Succeed(t, s.Advance(t.Context(), 18*time.Minute))
	same(t, "terminations in the end", acts(t, "TerminateInstances", "RebootInstances"), []string{"TerminateInstances " + id})
	open, err := s.open(t.Context())
	must.Succeed(t, err)
	expect.That(t, open == 0, "%d acts without outcome in the ledger", open)
	return s
}

func lastChange(t *testing.T) (at time.Time) {
	t.Helper()
	calls, err := bed.KubeCalls(t.Context())
	must.Succeed(t, err)
	for _, c := range testbed.Changing(calls) {
		at = c.Time
	}
	return at
}

func firstAct(t *testing.T, action string) time.Time {
	t.Helper()
	calls, err := bed.Calls(t.Context())
	must.Succeed(t, err)
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
	must.Succeed(t, s.Advance(t.Context(), 14*time.Minute))
	s.Twins = true
	must.Succeed(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
}
