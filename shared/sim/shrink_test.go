package sim

import (
	"reflect"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestACopyOfAScenarioSharesNothing(t *testing.T) {
	sc := Random(Options{Seed: 4, Hours: 8, Clusters: 2, Nodes: 20})
	before := Random(Options{Seed: 4, Hours: 8, Clusters: 2, Nodes: 20})
	c := sc.clone()
	c.Faults[0].Kind = "other"
	c.Clusters[0].Name = "other"
	c.Clusters[1].Groups[0].Desired = 0
	expect.That(t, reflect.DeepEqual(sc, before), "the copy and what it was made from are one")
}

// size returns how much a scenario contains.
func size(sc Scenario) (n int) {
	for _, c := range sc.Clusters {
		n++
		for _, g := range c.Groups {
			n += 1 + g.Desired
		}
	}
	n += len(sc.Faults) + int(sc.Storm/time.Minute)
	if !sc.Quiet {
		n++
	}
	return n
}

// Each smaller scenario contains less, and at least one group with a machine, so that shrinking ends.
func TestSmallerScenariosAreSmaller(t *testing.T) {
	for sc := range walk(Random(Options{Seed: 4, Hours: 24, Clusters: 2, Nodes: 30})) {
		for _, less := range sc.smaller() {
			must.That(t, size(less) < size(sc), "%+v is not smaller than %+v", less, sc)
			must.That(t, len(less.Clusters) != 0 && len(less.Clusters[0].Groups) != 0 && less.Clusters[0].Groups[0].Desired >= 1, "nothing is left: %+v", less)
		}
	}
}

// walk iterates from a scenario to its first smaller one, until there is none.
func walk(sc Scenario) func(yield func(Scenario) bool) {
	return func(yield func(Scenario) bool) {
		for yield(sc) {
			all := sc.smaller()
			if len(all) == 0 {
				return
			}
			sc = all[0]
		}
	}
}

// Shrinking stops when its runs are used up, and reports each run.
func TestShrinkKeepsToItsRuns(t *testing.T) {
	m := mutantNamed(t, "evidence is said to be kept")
	sc, r := failing(t, m)
	var lefts []int
	small, got := Shrink(sc, Watch{Guards: m.guards()}, r.Violations[0].Rule, 3, func(left, _ int) { lefts = append(lefts, left) })
	expect.That(t, reflect.DeepEqual(lefts, []int{2, 1, 0}), "left are %v", lefts)
	expect.That(t, len(got.Violations) > 0 && len(small.Faults) <= len(sc.Faults), "%+v with %d faults", got.Violations, len(small.Faults))
	if _, got = Shrink(sc, Watch{Guards: m.guards()}, RuleChecked, 3, nil); len(got.Violations) != 0 && got.Violations[0].Rule == RuleChecked {
		t.Errorf("another rule is broken: %+v", got.Violations)
	}
}
