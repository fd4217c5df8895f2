package diagnose

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// with runs a test with its own analyzers.
func with(t *testing.T, own ...func(*evidence.Case, *cause.Sheet)) {
	t.Helper()
	before := analyzers
	analyzers = own
	t.Cleanup(func() { analyzers = before })
}

var finding = roll.Finding{Instance: "i-0123456789abcdef0", Kind: roll.Unregistered}

func diagnosed() roll.Diagnosis {
	return Diagnose(&evidence.Evidence{Findings: []roll.Finding{finding}})[finding.Key()]
}

// A failing analyzer does not affect the others, and is no pass.
func TestAnAnalyzerThatFailsIsToldAsNotChecked(t *testing.T) {
	with(t,
		func(_ *evidence.Case, s *cause.Sheet) { s.RuledOut(cause.WrongVpc) },
		func(*evidence.Case, *cause.Sheet) { panic("out of range") },
		func(_ *evidence.Case, s *cause.Sheet) {
			s.Found(roll.Cause{Code: cause.KernelPanic, Confidence: roll.Decisive, Summary: "it panicked"})
		},
	)
	d := diagnosed()
	if len(d.Causes) != 1 || len(d.RuledOut) != 1 || len(d.NotChecked) != len(cause.Codes())-2 {
		t.Fatalf("%d causes, %d ruled out, %d not checked", len(d.Causes), len(d.RuledOut), len(d.NotChecked))
	}
	for _, n := range d.NotChecked {
		if !strings.Contains(n.Reason, "defect of Rollcall") || strings.Contains(n.Reason, "out of range") {
			t.Errorf("%s: %s", n.Code, n.Reason)
		}
	}
}

// A proof does not weaken with age: only ruling it out ends it.
func TestWhatWasProvenStaysProvenUntilItIsRuledOut(t *testing.T) {
	const code = cause.UndeclaredStartupTaint
	at := time.Date(2026, 3, 10, 12, 5, 0, 0, time.UTC)
	proof := roll.Proof{At: at, Code: code, Subject: "nodepool/p", Summary: "the taint is not declared", Fix: "kubectl patch", Evidence: []roll.Evidence{{Source: "node", Observed: "a taint"}}}
	for name, tt := range map[string]struct {
		now  func(*cause.Sheet)
		want roll.Confidence
		says string
	}{
		"nothing is noted of it": {func(*cause.Sheet) {}, roll.Decisive, "(as of 2026-03-10 12:05:00Z)"},
		"it is only suggested":   {func(s *cause.Sheet) { s.Found(roll.Cause{Code: code, Confidence: roll.Suggestive, Summary: "maybe"}) }, roll.Decisive, "(as of 2026-03-10 12:05:00Z)"},
		"it is not checked":      {func(s *cause.Sheet) { s.NotChecked("denied", code) }, roll.Decisive, "(as of 2026-03-10 12:05:00Z)"},
		"it is found again": {func(s *cause.Sheet) {
			s.Found(roll.Cause{Code: code, Confidence: roll.Decisive, Summary: "it still is"})
		}, roll.Decisive, "it still is"},
		"it is ruled out": {func(s *cause.Sheet) { s.RuledOut(code) }, "", ""},
	} {
		with(t, func(_ *evidence.Case, s *cause.Sheet) { tt.now(s) })
		d := Diagnose(&evidence.Evidence{Findings: []roll.Finding{finding}, Proven: map[roll.FindingKey][]roll.Proof{finding.Key(): {proof}}})[finding.Key()]
		var got roll.Cause
		if len(d.Causes) == 1 {
			got = d.Causes[0]
		}
		if got.Confidence != tt.want || !strings.Contains(got.Summary, tt.says) || tt.want != "" && got.Cure != roll.CureChange || len(d.NotChecked) != 0 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// The message of the Ready condition settles most causes of a node that is not ready.
func TestASuggestedCauseIsUnsettledWhereTheNodeDoesNotSayWhyItIsNotReady(t *testing.T) {
	with(t, func(_ *evidence.Case, s *cause.Sheet) {
		s.Found(roll.Cause{Code: cause.VpcEndpointMissing, Confidence: roll.Suggestive, Summary: "perhaps"})
	})
	f := roll.Finding{Instance: finding.Instance, Kind: roll.NotReady, Node: "ip-10-0-0-1"}
	for message, unread := range map[string]bool{"": true, "container runtime network not ready": false} {
		e := &evidence.Evidence{Findings: []roll.Finding{f}, Nodes: map[string]evidence.Node{f.Node: {Object: evidence.Read(evidence.NodeObject{
			Name: f.Node, Conditions: []evidence.Condition{{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: message}},
		})}}}
		if c := Diagnose(e)[f.Key()].Causes[0]; c.Unread != unread || (c.Unsettled != "") != unread {
			t.Errorf("with the message %q: %+v", message, c)
		}
	}
}

func TestACauseCarriesWhatFollowsFromItsCode(t *testing.T) {
	with(t, func(_ *evidence.Case, s *cause.Sheet) {
		for _, c := range []cause.Code{cause.KubeletSilent, cause.SystemStatusImpaired, cause.DuplicateLaunch} {
			s.Found(roll.Cause{Code: c, Confidence: roll.Decisive, Subject: "x"})
		}
	})
	got := map[string]roll.Cause{}
	for _, c := range diagnosed().Causes {
		got[c.Code] = c
	}
	if c := got["SystemStatusImpaired"]; c.Cure != roll.CureReplace || c.Symptom || c.Subject != "x" {
		t.Errorf("%+v", c)
	}
	if !got["KubeletSilent"].Symptom || got["DuplicateLaunch"].Symptom {
		t.Errorf("symptoms: %+v", got)
	}
}

// Nothing was read, so nothing is found, whatever the kind.
func TestWithoutEvidenceNothingIsDecisive(t *testing.T) {
	for _, kind := range roll.Kinds() {
		for _, owner := range roll.Owners() {
			f := roll.Finding{Instance: "i-0123456789abcdef0", Node: "n", Kind: kind, Owner: owner, Group: "nodepool/x", Stage: roll.Overdue}
			d := Diagnose(&evidence.Evidence{Findings: []roll.Finding{f}})[f.Key()]
			if c, ok := d.Decisive(); ok {
				t.Errorf("%s of %s: %+v", kind, owner, c)
			}
			for _, n := range d.NotChecked {
				if n.Reason == "" {
					t.Errorf("%s of %s: %s is not checked, and nobody says why", kind, owner, n.Code)
				}
			}
		}
	}
}
