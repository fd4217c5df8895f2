package run_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// A look answers "what if": it orders what a first check would hold only because it was
// seen once.
func TestALookTellsWhatWouldBeDone(t *testing.T) {
	for mode, want := range map[policy.Mode]plan.Reason{policy.Remediate: "", policy.Notify: plan.ModeNotify, policy.Observe: plan.ModeObserve} {
		s := newStage()
		s.Ledger = ledger.NewMemory()
		r := s.runner(mode)
		r.Notices, r.Orders, r.Tags = s, s, s
		c := r.Look(t.Context(), "demo", "", now)
		if want == "" && (len(c.Plan.Orders) != 1 || c.Plan.Orders[0].Instance != sick) {
			t.Errorf("%s: orders %+v, held %+v", mode, c.Plan.Orders, c.Plan.Held)
		}
		if want != "" && (len(c.Plan.Orders) != 0 || len(c.Plan.Held) != 1 || c.Plan.Held[0].Reason != want) {
			t.Errorf("%s: orders %+v, held %+v", mode, c.Plan.Orders, c.Plan.Held)
		}
		for _, e := range s.events {
			if e != "read demo" && e != "ask "+string(sick) {
				t.Errorf("%s: a look did %q", mode, e)
			}
		}
		state, _ := s.Ledger.Read(t.Context(), cluster)
		expect.That(t, len(state.Findings) == 0, "%s: a look is remembered", mode)
	}
}

func TestALookKeepsTheOtherLimits(t *testing.T) {
	s := newStage()
	s.Ledger = ledger.NewMemory()
	s.gaps = []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled, Detail: "throttled"}}
	if c := s.runner(policy.Remediate).Look(t.Context(), "demo", "", now); len(c.Plan.Orders) != 0 {
		t.Errorf("orders from a partial look: %+v", c.Plan.Orders)
	}
	s = newStage()
	r := s.runner(policy.Remediate)
	r.Why = func(_ context.Context, _ *roll.Snapshot, findings []roll.Finding, _ ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
		expect.That(t, !record, "a look keeps nothing")
		return map[roll.FindingKey]roll.Diagnosis{findings[0].Key(): {Causes: []roll.Cause{{Code: "KubeletRestartedDuringStartup", Confidence: roll.Decisive, Cure: roll.CureWait}}}}, nil
	}
	c := r.Look(t.Context(), "demo", "", now)
	expect.That(t, len(c.Plan.Orders) == 0 && c.Plan.Held[0].Reason == plan.CausePasses, "orders %+v, held %+v", c.Plan.Orders, c.Plan.Held)
}

// The ledger takes precedence: an act that was carried out is not ordered again.
func TestALookBelievesTheLedger(t *testing.T) {
	s := newStage()
	first := s.runner(policy.Remediate).Look(t.Context(), "demo", "", now)
	o := first.Plan.Orders[0]
	act := ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Group: o.Group, Kind: o.Kind, At: now.Add(-time.Minute)}
	must.Succeed(t, s.Begin(t.Context(), cluster, act, ledger.Budget{Max: 5, Since: now.Add(-time.Hour)}))
	must.Succeed(t, s.Finish(t.Context(), cluster, o.ID, ledger.Outcome{Result: ledger.Done, At: now.Add(-time.Minute)}))
	c := s.runner(policy.Remediate).Look(t.Context(), "demo", "", now)
	if len(c.Plan.Orders) != 0 || !slices.ContainsFunc(c.Plan.Held, func(h plan.Held) bool { return h.Reason == plan.AlreadyBegun }) {
		t.Errorf("orders %+v, held %+v", c.Plan.Orders, c.Plan.Held)
	}
}

func TestALookTakesItsMemoryFromElsewhere(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Remediate)
	r.Ledger, r.Memory = nil, func(snapshot *roll.Snapshot) ledger.State {
		expect.That(t, snapshot.Cluster.ID == cluster, "asked of %s", snapshot.Cluster.ID)
		return ledger.State{}
	}
	c := r.Look(t.Context(), "demo", "", now)
	expect.That(t, len(c.Plan.Orders) == 1 && len(c.Faults) == 0, "%+v", c)
}

var about = run.Subject{Cluster: cluster, Instance: sick, From: "the ledger of the test"}

// review reviews the sick instance, and checks that it had no side effects.
func review(t *testing.T, s *stage, mode policy.Mode, at time.Time) report.Check {
	t.Helper()
	before, err := s.Ledger.Read(t.Context(), cluster)
	must.Succeed(t, err)
	s.events = nil
	r := s.runner(mode)
	r.Clock = func() time.Time { return at }
	c, err := r.Review(t.Context(), about, at)
	must.Succeed(t, err)
	for _, e := range s.events {
		if verb, _, _ := strings.Cut(e, " "); verb != "read" && verb != "ask" && verb != "look" {
			t.Errorf("a review did %q", e)
		}
	}
	if after, err := s.Ledger.Read(t.Context(), cluster); err != nil || !cmp.Equal(before, after) {
		t.Errorf("a review is remembered: %v\n%s", err, cmp.Diff(before, after))
	}
	return c
}

// For the same cluster a look answers that the act would be ordered.
func TestAReviewTellsHowThingsStand(t *testing.T) {
	for name, tt := range map[string]struct {
		mode     policy.Mode
		remember func(*stage)
		want     plan.Reason // "" for an order
	}{
		"seen and opened long ago": {policy.Remediate, func(*stage) {}, ""},
		"never seen before":        {policy.Remediate, func(s *stage) { s.Ledger = ledger.NewMemory() }, plan.NotSeenTwice},
		"found before remediate was on": {policy.Remediate, func(s *stage) {
			s.record(t, ledger.Changes{Put: ledger.State{RemediateSince: map[roll.Group]time.Time{"nodegroup/w": now.Add(-time.Minute)}}})
		}, plan.FoundBeforeRemediate},
		"remediate is on from now on": {policy.Remediate, func(s *stage) {
			s.record(t, ledger.Changes{Drop: ledger.Drops{RemediateSince: []roll.Group{"nodegroup/w"}}})
		}, plan.FoundBeforeRemediate},
		"only the mode": {policy.Notify, func(*stage) {}, plan.ModeNotify},
		"after a storm": {policy.Remediate, func(s *stage) {
			s.record(t, ledger.Changes{Put: ledger.State{Trouble: &ledger.Trouble{Reason: "ZoneOutage", Since: now.Add(-time.Hour), Last: now.Add(-time.Minute)}}})
		}, plan.StormCooldown},
		"an hour is used": {policy.Remediate, func(s *stage) { s.acted(t, 5) }, plan.ActionsPerHour},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			tt.remember(s)
			c := review(t, s, tt.mode, now)
			expect.That(t, !c.WhatIf && c.Memory != nil && c.Memory.From == about.From && c.Memory.Cluster == cluster, "what if: %v, memory %+v", c.WhatIf, c.Memory)
			if tt.want == "" && len(c.Plan.Orders) != 1 {
				t.Errorf("orders %+v, held %+v", c.Plan.Orders, c.Plan.Held)
			}
			if tt.want != "" && (len(c.Plan.Orders) != 0 || len(c.Plan.Held) != 1 || c.Plan.Held[0].Reason != tt.want) {
				t.Errorf("orders %+v, held %+v, want %s", c.Plan.Orders, c.Plan.Held, tt.want)
			}
			look := s.runner(policy.Remediate).Look(t.Context(), "demo", "", now)
			expect.That(t, look.WhatIf && look.Memory == nil && look.Asked == nil, "a look answers as things stand: %+v", look)
			limited := tt.want == plan.StormCooldown || tt.want == plan.ActionsPerHour
			expect.That(t, limited != (len(look.Plan.Orders) == 1), "a look orders %+v, and holds %+v", look.Plan.Orders, look.Plan.Held)
			asks := s.runner(policy.Remediate).Look(t.Context(), "demo", sick, now)
			expect.That(t, asks.Asked != nil && asks.Asked.Known == roll.Yes, "a look at one instance: %+v", asks.Asked)
		})
	}
}

func (s *stage) record(t *testing.T, c ledger.Changes) {
	t.Helper()
	must.Succeed(t, s.Ledger.Record(t.Context(), cluster, c))
}

// acted records acts of half an hour ago on n instances of another group.
func (s *stage) acted(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		a := ledger.Action{ID: fmt.Sprint(i), Do: "terminate", Instance: roll.InstanceID(fmt.Sprintf("i-0000000%d", i)), Group: "asg/other", Kind: roll.Unknown, At: now.Add(-30 * time.Minute)}
		must.Succeed(t, s.Begin(t.Context(), cluster, a, ledger.Budget{Max: 10, Since: now.Add(-time.Hour)}))
		must.Succeed(t, s.Finish(t.Context(), cluster, a.ID, ledger.Outcome{Result: ledger.Done, At: a.At}))
	}
}

func TestAReviewTellsTheLimitsThatTheInstanceMeets(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Remediate)
	doc, err := policy.Parse([]byte("apiVersion: rollcall/v1\noverrides:\n  - match: {group: nodegroup/w}\n    limits: {actionsPerHour: 2}\n"))
	must.Succeed(t, err)
	r.Policy = doc
	remembered := r.Ledger
	for name, change := range map[string]func(){
		"found again":        func() { s.well, r.Ledger = false, remembered },
		"well again":         func() { s.well, r.Ledger = true, remembered },
		"never found before": func() { s.well, r.Ledger = false, ledger.NewMemory() },
	} {
		change()
		for instance, want := range map[roll.InstanceID]map[roll.Group]int{sick: {"": 5, "nodegroup/w": 2}, "i-00000000000000009": {"": 5}, "": {"": 5}} {
			of := about
			of.Instance = instance
			c, err := r.Review(t.Context(), of, now)
			expect.That(t, err == nil && maps.Equal(c.Memory.PerHour, want) && (c.Asked != nil) == (instance != ""), "%s, %q: %v, %v; want %v", name, instance, c.Memory.PerHour, err, want)
		}
	}
}

// EC2's answer about an instance outside the cluster is reported, but not judged.
func TestAReviewAsksForAnInstanceThatIsNotThere(t *testing.T) {
	const gone = roll.InstanceID("i-0000000000000000f")
	for name, tt := range map[string]struct {
		found *roll.Instance
		none  bool
		want  roll.Answer
	}{
		"terminated":       {found: &roll.Instance{ID: gone, State: roll.StateTerminated}, want: roll.Yes},
		"not known":        {none: true, want: roll.No},
		"EC2 did not tell": {want: roll.Unreadable},
	} {
		s := &lookedUp{stage: newStage(), found: tt.found, none: tt.none}
		r := s.runner(policy.Remediate)
		r.Observer = s
		c, err := r.Review(t.Context(), run.Subject{Cluster: cluster, Instance: gone}, now)
		if err != nil || c.Asked == nil || c.Asked.Known != tt.want || len(c.Snapshot.Instances) != 4 || len(c.Snapshot.NotFound) != 0 {
			t.Errorf("%s: %v, asked %+v, want %d; %d instances", name, err, c.Asked, tt.want, len(c.Snapshot.Instances))
		}
		if tt.found != nil && c.Asked.Instance.State != tt.found.State {
			t.Errorf("%s: %+v", name, c.Asked)
		}
	}
	c := review(t, newStage(), policy.Remediate, now)
	expect.That(t, c.Asked.Known == roll.Yes && c.Asked.Instance.Group == "nodegroup/w", "one that is there: %+v", c.Asked)
}

// lookedUp is a stage that answers lookups of an instance that it does not list.
type lookedUp struct {
	*stage
	found *roll.Instance
	none  bool
}

func (l *lookedUp) LookUp(_ context.Context, s *roll.Snapshot, ids []roll.InstanceID) {
	switch {
	case l.found != nil:
		s.Instances = append(s.Instances, *l.found)
	case l.none:
		s.NotFound = map[roll.InstanceID]bool{ids[0]: true}
	}
}

func TestWithoutItsMemoryThereIsNoReview(t *testing.T) {
	s := newStage()
	s.fail["ledger"] = true
	_, err := s.runner(policy.Remediate).Review(t.Context(), about, now)
	expect.That(t, err != nil && strings.Contains(err.Error(), "the disk is gone"), "%v", err)
	c := s.runner(policy.Remediate).Look(t.Context(), "demo", "", now)
	expect.That(t, len(c.Faults) == 1 && strings.Contains(c.Faults[0], "the disk is gone"), "a look without its memory: faults %q", c.Faults)
}
