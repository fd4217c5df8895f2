package serverless

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/tests/testbed"
)

// A function may die between any two calls. The test of one termination checks that the
// instance is then still terminated once, and a person is notified.
func TestAFunctionMayDieAtAnyCall(t *testing.T) {
	for _, name := range []string{StateChange, Inspect, Remediate} {
		calls := rehearsal(t, name)
		for _, n := range moreThanReadForTheCause(t, calls) {
			changes := !reads(calls[n-1])
			// The test of the ladder below has remediate die after each changing call, including a
			// termination. Dying after a call that reads is the same as dying before the next
			// call.
			if name != Remediate || changes {
				dies(t, name, fmt.Sprintf("before:%d", n))
			}
			if name != Remediate && changes {
				dies(t, name, fmt.Sprintf("after:%d", n))
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
	data, err := os.ReadFile(file)
	must(t, err)
	return strings.Fields(string(data))
}

// forTheCause lists calls that are made only to find a cause.
var forTheCause = []string{
	"DescribeDhcpOptions", "DescribeImages", "DescribeLaunchTemplateVersions", "DescribeNatGateways", "DescribeNetworkAcls", "DescribeRouteTables",
	"DescribeSecurityGroups", "DescribeSubnets", "DescribeVpcAttribute", "DescribeVpcEndpoints", "DescribeVpcs", "GetConsoleOutput",
	"DescribeAccessEntry", "ListAccessEntries", "ListAssociatedAccessPolicies", "GetInstanceProfile", "GetRole", "ListAttachedRolePolicies", "ListRolePolicies", "GetRolePolicy", "GetPolicy", "GetPolicyVersion",
}

// moreThanReadForTheCause returns the numbers, from 1, of the calls at which a function is
// to die. Of the two dozen calls that find the cause it includes only the first, a middle
// one and the last: they only read, run concurrently in no fixed order, and nothing is
// written between them.
func moreThanReadForTheCause(t *testing.T, calls []string) (at []int) {
	t.Helper()
	first, last := finding(calls)
	for n, call := range calls {
		if between := first < n && n < last; between && !reads(call) {
			t.Errorf("%s while the cause is read: %q", call, calls)
		} else if !between || n == (first+last)/2 {
			at = append(at, n+1)
		}
	}
	return at
}

// finding returns the first and last call that find the cause, which begins with the
// cluster; -1 if there are none.
func finding(calls []string) (first, last int) {
	isOne := func(call string) bool { return slices.Contains(forTheCause, call) }
	first = slices.IndexFunc(calls, isOne)
	last = first
	for n, call := range calls {
		if isOne(call) {
			last = n
		}
	}
	for n, call := range slices.Backward(calls[:max(first, 0)]) {
		if call == "DescribeCluster" {
			return n, last
		}
	}
	return first, last
}

// dies plays one termination in which the function dies at a call.
func dies(t *testing.T, name, when string) {
	t.Run(name+" "+when, func(t *testing.T) {
		if s := termination(t, name, func(s *Stack) { s.Die[name] = when }); s.Died == 0 {
			t.Errorf("it never came to that call")
		}
	})
}

// termination plays one termination. It calls arm before the invocation that matters.
func termination(t *testing.T, name string, arm func(*Stack)) *Stack {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id := launch(t)
	if name != StateChange {
		s.Step = 7 * time.Minute
		must(t, s.Advance(t.Context(), 14*time.Minute))
	}
	s.Step = 3 * time.Minute
	arm(s)
	must(t, s.Advance(t.Context(), 3*time.Minute))
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
	return s
}

// remediate may also die during each act of a longer ladder: the cordon, the drain and
// the termination of one node. The interrupted act is resumed, and each act happens once
// and in order.
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
		at[act] = moreThanReadForTheCause(t, told(t, filepath.Join(dir, act)))
		most = max(most, slices.Max(at[act]))
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
			if s.Died != len(over) {
				t.Errorf("it died %d times, want it over %q", s.Died, over)
			}
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
		must(t, s.Advance(t.Context(), s.Step))
		if len(acts(t, "TerminateInstances")) > 0 {
			break
		}
	}
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
	return s
}

func lastChange(t *testing.T) (at time.Time) {
	t.Helper()
	calls, err := bed.KubeCalls(t.Context())
	must(t, err)
	for _, c := range testbed.Changing(calls) {
		at = c.Time
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
