package sim

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/shared/plan"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// soaks are the random scenarios that each test run includes, by size.
var soaks = []struct {
	from, seeds uint64
	short       uint64 // how many of them with -short, or with the race detector
	Options
}{
	{1, 84, 7, Options{Hours: 8, Clusters: 2, Nodes: 20}},
	{1001, 10, 1, Options{Hours: 24, Clusters: 2, Nodes: 20}},
	{2001, 8, 1, Options{Hours: 8, Clusters: 1, Nodes: 200}},
	{3001, 8, 1, Options{Hours: 10, Clusters: 4, Nodes: 10}},
	{5001, 1, 0, Options{Hours: 24, Clusters: 2, Nodes: 200}}, // more nodes are not ready than a check reads the pods of
	{6, 1, 1, Options{Certain: []FaultKind{FaultSmallZone}}},  // a replacement that does not come
	{1, 3, 0, Options{Clusters: 3, Nodes: 10, Faults: 150}},   // a storm: machines that people stopped, and what EC2 shows late
}

// Whatever happens to the account, no rule is broken. An event that never happens in any of the runs
// would prove nothing, so each must happen.
func TestNoRuleIsBroken(t *testing.T) {
	var happened tally
	t.Run("seeds", func(t *testing.T) {
		for _, s := range soaks {
			n := s.seeds
			if testing.Short() || raced {
				n = s.short
			}
			for seed := s.from; seed < s.from+n; seed++ {
				o := s.Options
				o.Seed = seed
				t.Run(fmt.Sprintf("%dx%dx%dh#%d", o.Clusters, o.Nodes, o.Hours, seed), func(t *testing.T) {
					t.Parallel()
					sc := Random(o)
					r, err := Run(sc, Watch{Tell: happened.add})
					must.Succeed(t, err)
					if len(r.Violations) > 0 {
						t.Error(explained(t, o, sc, r.Violations[0]))
					}
				})
			}
		}
	})
	if testing.Short() || raced || t.Failed() {
		return
	}
	for _, what := range []act{actTerminate, actReboot, actCordon, actEvict, actDeleteNode, actDeleteClaim} {
		expect.That(t, happened.acts[string(what)] != 0, "in no run Rollcall does %s", what)
	}
	for _, reason := range []plan.Reason{
		plan.SharedCause, plan.UnhealthyShare, plan.ZoneOutage, plan.MassSilence, plan.StormCooldown, plan.OwnerWillAct, plan.ReplacementPending,
		plan.NotSeenTwice, plan.ActionsPerHour, plan.OneAtATime, plan.ModeNotify, plan.ModeObserve,
	} {
		expect.That(t, happened.held[string(reason)] != 0, "in no run anything is held for %s", reason)
	}
	t.Logf("acts %v, held %v", happened.acts, happened.held)
}

// tally counts what happens in many concurrent runs.
type tally struct {
	mu         sync.Mutex
	acts, held map[string]int
}

func (y *tally) add(e Event) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.acts == nil {
		y.acts, y.held = map[string]int{}, map[string]int{}
	}
	switch e.Kind {
	case EventAct:
		y.acts[e.Action]++
	case EventHeld:
		y.held[e.Reason]++
	}
}

// explained describes a seed that breaks a rule: the smallest run that does too, its history, and how to
// repeat the whole run.
func explained(t *testing.T, o Options, sc Scenario, v Violation) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d breaks %s at %s: %s\n", o.Seed, v.Rule, v.At.Format(time.TimeOnly), v.Detail)
	small, _ := Shrink(sc, Watch{}, v.Rule, 60, nil)
	fmt.Fprintf(&b, "the smallest run that does has %d clusters, quiet is %t, and\n", len(small.Clusters), small.Quiet)
	for _, f := range small.Faults {
		fmt.Fprintf(&b, "  at %s %s\n", f.At, f)
	}
	fmt.Fprintf(&b, "in it\n%s", history(t, small, Guards{}))
	fmt.Fprintf(&b, "the whole again: rollcall simulate --seed %d --hours %d --clusters %d --nodes %d --history\n", o.Seed, o.Hours, o.Clusters, o.Nodes)
	return b.String()
}

// history returns what happens in a run, one line for each event, up to the first violation.
func history(t *testing.T, sc Scenario, g Guards) string {
	t.Helper()
	var b strings.Builder
	for _, e := range told(t, sc, g) {
		b.WriteString("  " + e.String() + "\n")
	}
	return b.String()
}

func told(t *testing.T, sc Scenario, g Guards) (all []Event) {
	t.Helper()
	_, err := Run(sc, Watch{Guards: g, Tell: func(e Event) { all = append(all, e) }})
	must.Succeed(t, err)
	return all
}

// The same seed makes the same run: repeated, when texts that were new at first are cached; beside other
// runs; and on one processor.
func TestTheSameSeedIsTheSameRun(t *testing.T) {
	digest := func(seed uint64) string {
		r, err := Run(Random(Options{Seed: seed, Hours: 8, Clusters: 2, Nodes: 15}), Watch{})
		expect.Succeed(t, err)
		return r.Digest
	}
	want := map[uint64]string{}
	for seed := range uint64(4) {
		want[seed] = digest(seed)
	}
	all := slices.Compact(slices.Sorted(maps.Values(want)))
	expect.That(t, len(all) == len(want), "different seeds are the same run: %s", all)
	var beside sync.WaitGroup
	for seed := range uint64(4) {
		beside.Go(func() {
			got := digest(seed)
			expect.That(t, got == want[seed], "beside others seed %d is %s, and was %s", seed, got, want[seed])
		})
	}
	beside.Wait()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := range uint64(4) {
		got := digest(seed)
		expect.That(t, got == want[seed], "on one processor seed %d is %s, and was %s", seed, got, want[seed])
	}
}

// A watcher changes nothing.
func TestWatchingChangesNothing(t *testing.T) {
	sc := Random(Options{Seed: 3, Hours: 8, Clusters: 2, Nodes: 15})
	alone, err := Run(sc, Watch{})
	must.Succeed(t, err)
	steps := 0
	watched, err := Run(sc, Watch{Tell: func(Event) {}, Step: func(time.Time, []Standing) { steps++ }, GoOn: true, Stop: func() bool { return false }})
	must.Succeed(t, err)
	expect.That(t, alone.Digest == watched.Digest && steps == 8*60, "alone %s, watched %s in %d steps", alone.Digest, watched.Digest, steps)
}

// Removing a fault changes nothing before it. Shrinking a failing run depends on that.
func TestAFaultThatIsLeftOutChangesNothingBeforeIt(t *testing.T) {
	for seed := range uint64(2) {
		sc := Random(Options{Seed: seed, Hours: 6, Clusters: 2, Nodes: 8, Faults: 10})
		whole := told(t, sc, Guards{})
		for i, f := range sc.Faults {
			less := sc.clone()
			less.Faults = slices.Delete(less.Faults, i, i+1)
			at := sc.Start.Add(f.At)
			before := func(all []Event) []Event {
				n := slices.IndexFunc(all, func(e Event) bool { return !e.At.Before(at) })
				if n < 0 {
					n = len(all)
				}
				return all[:n]
			}
			var got []Event
			over := func() bool { return len(got) > 0 && got[len(got)-1].At.After(at) }
			_, err := Run(less, Watch{Tell: func(e Event) { got = append(got, e) }, Stop: over})
			must.Succeed(t, err)
			want, got := before(whole), before(got)
			if !slices.Equal(want, got) {
				n := 0
				for n < len(want) && n < len(got) && want[n] == got[n] {
					n++
				}
				t.Errorf("seed %d without %s at %s: %d events before it, and were %d; the first %d are the same", seed, f, f.At, len(got), len(want), n)
			}
		}
	}
}

// The smallest run breaks the same rule as the whole one, with few faults.
func TestShrinkKeepsTheRule(t *testing.T) {
	tests := map[string]int{ // faults that are left at most
		"evidence is said to be kept": 1,
		"tags are never removed":      2,
		"the share is ignored":        3,
	}
	for name, most := range tests {
		if testing.Short() && most > 1 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mutantNamed(t, name)
			sc, whole := failing(t, m)
			rule, runs := whole.Violations[0].Rule, 0
			small, r := Shrink(sc, Watch{Guards: m.guards()}, rule, 60, func(int, int) { runs++ })
			must.That(t, len(r.Violations) != 0 && r.Violations[0].Rule == rule, "%s was broken, and now %+v", rule, r.Violations)
			expect.That(t, len(small.Faults) <= most && runs <= 60, "of %d faults %d are left after %d runs: %v", len(sc.Faults), len(small.Faults), runs, small.Faults)
			again := tried(t, small, m.guards())
			expect.That(t, again.Digest == r.Digest, "the smallest run is not the same again: %s and %s", r.Digest, again.Digest)
		})
	}
}

func mutantNamed(t *testing.T, name string) mutant {
	t.Helper()
	for _, m := range mutants() {
		if m.name == name {
			return m
		}
	}
	t.Fatalf("there is no wrong version %q", name)
	return mutant{}
}

// failing returns a random scenario in which the wrong version breaks a rule, and its result.
func failing(t *testing.T, m mutant) (Scenario, Result) {
	t.Helper()
	for seed := range uint64(40) {
		sc := Random(Options{Seed: seed, Hours: 7, Clusters: 1, Nodes: 15, Faults: 7})
		if r := tried(t, sc, m.guards()); len(r.Violations) > 0 && slices.Contains(m.rules, r.Violations[0].Rule) {
			return sc, r
		}
	}
	t.Fatalf("no random scenario catches %q", m.name)
	return Scenario{}, Result{}
}

// A run that does not fail is not shrunk, and the result has no violation.
func TestShrinkLeavesWhatDoesNotFail(t *testing.T) {
	sc := Random(Options{Seed: 1, Hours: 6, Clusters: 1, Nodes: 8})
	small, r := Shrink(sc, Watch{}, RuleOnce, 10, nil)
	expect.That(t, len(r.Violations) == 0 && len(small.Faults) == len(sc.Faults) && len(small.Clusters) == len(sc.Clusters), "%+v, %d faults of %d", r.Violations, len(small.Faults), len(sc.Faults))
}

// The demo's day shows what it is made for, and breaks no rule.
func TestTheDay(t *testing.T) {
	var notices strings.Builder
	var happened tally
	r, err := Run(Day(), Watch{Tell: func(e Event) {
		happened.add(e)
		switch e.Kind {
		case EventNotice:
			fmt.Fprintln(&notices, e.Cause, e.Text)
		case EventViolated:
			t.Errorf("at %s: %s", e.At.Format(time.TimeOnly), e.Detail)
		}
	}})
	must.Succeed(t, err)
	for _, code := range []string{
		"UserDataMalformedFlags", "UndeclaredStartupTaint", "ArchitectureMismatch", "ControllerRoleMapped", "MemoryPressurePreceded", "ZoneOutage", "UserDataUnparseable", "OwnerGone",
	} {
		expect.That(t, strings.Contains(notices.String(), code), "no notice tells of %s", code)
	}
	for _, reason := range []plan.Reason{plan.SharedCause, plan.ZoneOutage, plan.ClusterNotActive} {
		expect.That(t, happened.held[string(reason)] != 0, "nothing is held for %s: %v", reason, happened.held)
	}
	acts := happened.acts
	expect.That(t, acts[string(actReboot)] != 0 && acts[string(actTerminate)] != 0 && acts[string(actCordon)] != 0, "acts %v", acts)
	if u, err := Run(Day().Untended(), Watch{}); err != nil || len(u.Violations) > 0 || u.Cost.Wasted <= r.Cost.Wasted {
		t.Errorf("untended, the day wastes $%.2f, and $%.2f with Rollcall; %+v, %v", u.Cost.Wasted, r.Cost.Wasted, u.Violations, err)
	}
}
