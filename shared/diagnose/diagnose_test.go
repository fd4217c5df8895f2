package diagnose

import (
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// with runs a test with analyzers of its own.
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

// One analyzer that stumbles takes nothing from the others, and is no pass.
func TestAnAnalyzerThatFailsIsToldAsNotChecked(t *testing.T) {
	with(t,
		func(_ *evidence.Case, s *cause.Sheet) { s.RuledOut(cause.WrongVpc) },
		func(*evidence.Case, *cause.Sheet) { panic("out of range") },
		func(_ *evidence.Case, s *cause.Sheet) {
			s.Found(cause.Cause{Code: cause.KernelPanic, Confidence: roll.Decisive, Summary: "it panicked"})
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

func TestACauseCarriesWhatFollowsFromItsCode(t *testing.T) {
	with(t, func(_ *evidence.Case, s *cause.Sheet) {
		for _, c := range []cause.Code{cause.KubeletSilent, cause.SystemStatusImpaired, cause.DuplicateLaunch} {
			s.Found(cause.Cause{Code: c, Confidence: roll.Decisive, Subject: "x"})
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

// Nothing was read, so nothing is found: of whatever kind.
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
