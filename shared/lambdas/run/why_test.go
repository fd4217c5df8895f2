package run_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const kept = "s3://evidence/x/"

var why = roll.FindingKey{Instance: sick, Kind: roll.Unregistered}

// diagnosing returns a runner on the stage that finds a cause for the sick instance.
// Karpenter owns the instance if the test says so.
func (s *stage) diagnosing(mode policy.Mode, cause roll.Cause) *run.Runner {
	r := s.runner(mode)
	r.Observer = karpenters{s}
	r.Why = func(_ context.Context, _ *roll.Snapshot, findings []roll.Finding, _ ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
		_ = s.do("diagnose")
		if len(findings) != 1 || findings[0].Key() != why {
			panic("the findings are others")
		}
		found := map[roll.FindingKey]roll.Diagnosis{why: {Causes: []roll.Cause{cause}}}
		if !record {
			return found, nil
		}
		return found, func(_ context.Context, c report.Check, f roll.Finding, firstSeen time.Time) (string, error) {
			if f.Key() != why || firstSeen.IsZero() || len(c.Diagnoses) != 1 {
				panic("the evidence is of something else")
			}
			return kept, s.do("keep")
		}
	}
	return r
}

// karpenters is the stage with instances of Karpenter.
type karpenters struct{ *stage }

func (k karpenters) Snapshot(ctx context.Context, name string, at time.Time, watch roll.Watch) *roll.Snapshot {
	s := k.stage.Snapshot(ctx, name, at, watch)
	for i := range s.Instances {
		s.Instances[i].Owner, s.Instances[i].Group = roll.OwnerKarpenter, "nodepool/w"
	}
	return s
}

func (k karpenters) Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	k.stage.Details(ctx, s, questions)
	for id, d := range s.Details {
		d.HasNodeClaim, d.NodeClaim = roll.Yes, &roll.NodeClaim{Name: "w-x7k2p"}
		s.Details[id] = d
	}
}

var unmapped = roll.Cause{Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Cure: roll.CureChange, Subject: "role/x", Summary: "the role is not mapped", Fix: "aws eks create-access-entry"}

func TestTheEvidenceIsKeptBeforeTheNoticeThatLinksIt(t *testing.T) {
	s := newStage()
	c := s.diagnosing(policy.Notify, unmapped).Check(t.Context(), "demo", now)
	order := func(what string) int {
		return slices.IndexFunc(s.events, func(e string) bool { return strings.HasPrefix(e, what) })
	}
	expect.That(t, order("keep") >= order("record") && order("keep") <= order("publish") && order("diagnose") <= order("record"), "in the order %q", s.events)
	if c.Evidence != kept || len(s.said) != 1 || !strings.Contains(string(s.said[0].JSON), kept) || s.said[0].Attributes.Cause != "NodeRoleNotMapped" {
		t.Errorf("evidence %q, said %+v", c.Evidence, s.said)
	}
	d := c.Document()
	expect.That(t, d.Evidence == kept && len(d.Findings) == 1 && d.Findings[0].Causes[0].Code == "NodeRoleNotMapped", "document %+v", d.Findings)
	state, _ := s.Ledger.Read(t.Context(), cluster)
	expect.Equal(t, state.Findings[why].Evidence, kept, "the ledger remembers")
	s.events = nil
	again := s.diagnosing(policy.Notify, unmapped).Check(t.Context(), "demo", now.Add(5*time.Minute))
	expect.That(t, again.Evidence == "" && !slices.Contains(s.events, "keep"), "it is kept once more: %q", s.events)
}

// The answers of a check are held in memory only if they may be kept.
func TestObserveRecordsNoAnswers(t *testing.T) {
	for mode, want := range map[policy.Mode]bool{policy.Observe: false, policy.Notify: true} {
		s := newStage()
		r := s.diagnosing(mode, unmapped)
		inner, asked := r.Why, 0
		r.Why = func(ctx context.Context, snapshot *roll.Snapshot, f []roll.Finding, state ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
			if asked++; record != want {
				t.Errorf("mode %s: recorded %t", mode, record)
			}
			return inner(ctx, snapshot, f, state, record)
		}
		if r.Check(t.Context(), "demo", now); asked != 1 {
			t.Errorf("mode %s: asked %d times", mode, asked)
		}
	}
}

func TestObserveKeepsNoEvidence(t *testing.T) {
	s := newStage()
	c := s.diagnosing(policy.Observe, unmapped).Check(t.Context(), "demo", now)
	expect.That(t, c.Evidence == "" && !slices.Contains(s.events, "keep") && len(c.Diagnoses) == 1, "%q, %+v", s.events, c.Diagnoses)
}

func TestEvidenceThatCannotBeKeptIsAFaultAndHoldsNothingElseUp(t *testing.T) {
	s := newStage()
	s.fail["keep"] = true
	c := s.diagnosing(policy.Notify, unmapped).Check(t.Context(), "demo", now)
	expect.That(t, !c.Complete() && len(c.Faults) == 1 && strings.Contains(c.Faults[0], "keep failed") && len(s.said) == 1, "faults %q, %d notices", c.Faults, len(s.said))
	state, _ := s.Ledger.Read(t.Context(), cluster)
	expect.Equal(t, state.Findings[why].Evidence, "", "the ledger remembers")
}

func TestWhereItWasKeptMustBeRemembered(t *testing.T) {
	s := newStage()
	r := s.diagnosing(policy.Notify, unmapped)
	inner := r.Why
	r.Why = func(ctx context.Context, snapshot *roll.Snapshot, f []roll.Finding, state ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
		found, keep := inner(ctx, snapshot, f, state, record)
		return found, func(ctx context.Context, c report.Check, f roll.Finding, at time.Time) (string, error) {
			s.fail["record"] = true
			return keep(ctx, c, f, at)
		}
	}
	c := r.Check(t.Context(), "demo", now)
	expect.That(t, !c.Complete() && strings.Contains(c.Faults[0], kept), "faults %q", c.Faults)
}

// Any owner may terminate an instance: a managed node group does what Karpenter does.
func TestTheEvidenceIsKeptWhoeverOwnsTheInstance(t *testing.T) {
	s := newStage()
	r := s.diagnosing(policy.Notify, unmapped)
	r.Observer = s // a managed node group's
	c := r.Check(t.Context(), "demo", now)
	expect.That(t, c.Evidence == kept, "%q", s.events)
}

func TestTheCauseHoldsTheAct(t *testing.T) {
	s := newStage()
	must.Succeed(t, s.Ledger.Record(t.Context(), cluster, ledger.Changes{Put: ledger.State{RemediateSince: map[roll.Group]time.Time{"nodepool/w": now.Add(-24 * time.Hour)}}}))
	flap := roll.Cause{Code: "KubeletRestartedDuringStartup", Confidence: roll.Decisive, Cure: roll.CureWait, Summary: "its kubelet restarts"}
	c := s.diagnosing(policy.Remediate, flap).Check(t.Context(), "demo", now)
	expect.That(t, len(c.Plan.Orders) == 0 && len(c.Plan.Held) == 1 && c.Plan.Held[0].Reason == plan.CausePasses, "orders %+v, held %+v", c.Plan.Orders, c.Plan.Held)
}

func TestADiagnosisIsNoSighting(t *testing.T) {
	s := newStage()
	s.Ledger = ledger.NewMemory()
	r := s.diagnosing(policy.Notify, unmapped)
	clock := now
	r.Clock = func() time.Time { return clock }
	inner := r.Why
	r.Why = func(ctx context.Context, snapshot *roll.Snapshot, f []roll.Finding, state ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
		clock = clock.Add(40 * time.Second)
		return inner(ctx, snapshot, f, state, record)
	}
	r.Check(t.Context(), "demo", now)
	state, _ := s.Ledger.Read(t.Context(), cluster)
	got := state.Findings[why].FirstSeen
	expect.That(t, got.Equal(now), "first seen at %s: it was seen before the diagnosis", got)
}

func TestADiagnosisIsBoundedInTime(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Observe)
	r.WhyTime = time.Millisecond
	r.Why = func(ctx context.Context, _ *roll.Snapshot, _ []roll.Finding, _ ledger.State, _ bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error(ctx.Err())
		}
		return nil, nil
	}
	if c := r.Check(t.Context(), "demo", now); len(c.Findings()) != 1 {
		t.Errorf("%+v", c.Findings())
	}
}
