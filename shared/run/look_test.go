package run_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/shared/run"
)

// A look answers "what if": what a first check would only hold for having seen it once,
// it orders.
func TestALookTellsWhatWouldBeDone(t *testing.T) {
	for mode, want := range map[policy.Mode]plan.Reason{policy.Remediate: "", policy.Notify: plan.ModeNotify, policy.Observe: plan.ModeObserve} {
		s := newStage()
		s.Ledger = ledger.NewMemory()
		r := s.runner(mode)
		r.Notices, r.Orders, r.Tags = s, s, s
		c := r.Look(t.Context(), "demo", now)
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
		if state, _ := s.Ledger.Read(t.Context(), cluster); len(state.Findings) != 0 {
			t.Errorf("%s: a look is remembered", mode)
		}
	}
}

func TestALookKeepsTheOtherLimits(t *testing.T) {
	s := newStage()
	s.Ledger = ledger.NewMemory()
	s.gaps = []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled, Detail: "throttled"}}
	if c := s.runner(policy.Remediate).Look(t.Context(), "demo", now); len(c.Plan.Orders) != 0 {
		t.Errorf("orders from a partial look: %+v", c.Plan.Orders)
	}
	s = newStage()
	r := s.runner(policy.Remediate)
	r.Why = func(_ context.Context, _ *roll.Snapshot, findings []roll.Finding, _ ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
		if record {
			t.Error("a look keeps nothing")
		}
		return map[roll.FindingKey]roll.Diagnosis{findings[0].Key(): {Causes: []roll.Cause{{Code: "KubeletRestartedDuringStartup", Confidence: roll.Decisive, Cure: roll.CureWait}}}}, nil
	}
	if c := r.Look(t.Context(), "demo", now); len(c.Plan.Orders) != 0 || c.Plan.Held[0].Reason != plan.CausePasses {
		t.Errorf("orders %+v, held %+v", c.Plan.Orders, c.Plan.Held)
	}
}

// What the ledger knows better stays: an act that was carried out is not ordered again.
func TestALookBelievesTheLedger(t *testing.T) {
	s := newStage()
	first := s.runner(policy.Remediate).Look(t.Context(), "demo", now)
	o := first.Plan.Orders[0]
	act := ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Group: o.Group, Kind: o.Kind, At: now.Add(-time.Minute)}
	if err := s.Begin(t.Context(), cluster, act, ledger.Budget{Max: 5, Since: now.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context(), cluster, o.ID, ledger.Outcome{Result: ledger.Done, At: now.Add(-time.Minute)}); err != nil {
		t.Fatal(err)
	}
	c := s.runner(policy.Remediate).Look(t.Context(), "demo", now)
	if len(c.Plan.Orders) != 0 || !slices.ContainsFunc(c.Plan.Held, func(h plan.Held) bool { return h.Reason == plan.AlreadyBegun }) {
		t.Errorf("orders %+v, held %+v", c.Plan.Orders, c.Plan.Held)
	}
}

func TestALookTakesItsMemoryFromElsewhere(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Remediate)
	r.Ledger, r.Memory = nil, func(snapshot *roll.Snapshot) ledger.State {
		if snapshot.Cluster.ID != cluster {
			t.Errorf("asked of %s", snapshot.Cluster.ID)
		}
		return ledger.State{}
	}
	if c := r.Look(t.Context(), "demo", now); len(c.Plan.Orders) != 1 || len(c.Faults) != 0 {
		t.Errorf("%+v", c)
	}
}
