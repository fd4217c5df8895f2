package diagnose

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
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
		expect.That(t, strings.Contains(n.Reason, "defect of Rollcall") && !strings.Contains(n.Reason, "out of range"), "%s: %s", n.Code, n.Reason)
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
		c := Diagnose(e)[f.Key()].Causes[0]
		expect.That(t, c.Unread == unread && (c.Unsettled != "") == unread, "with the message %q: %+v", message, c)
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
	c := got["SystemStatusImpaired"]
	expect.That(t, c.Cure == roll.CureReplace && !c.Symptom && c.Subject == "x", "%+v", c)
	expect.That(t, got["KubeletSilent"].Symptom && !got["DuplicateLaunch"].Symptom, "symptoms: %+v", got)
}

// Nothing was read, so nothing is found, whatever the kind.
func TestWithoutEvidenceNothingIsDecisive(t *testing.T) {
	for _, kind := range roll.Kinds() {
		for _, owner := range roll.Owners() {
			f := roll.Finding{Instance: "i-0123456789abcdef0", Node: "n", Kind: kind, Owner: owner, Group: "nodepool/x", Stage: roll.Overdue}
			d := Diagnose(&evidence.Evidence{Findings: []roll.Finding{f}})[f.Key()]
			c, ok := d.Decisive()
			expect.That(t, !ok, "%s of %s: %+v", kind, owner, c)
			for _, n := range d.NotChecked {
				expect.That(t, n.Reason != "", "%s of %s: %s is not checked, and nobody says why", kind, owner, n.Code)
			}
		}
	}
}

// A symptom says how the trouble shows. What is only suggested, or unread, may be its root.
func TestASymptomIsDecisiveUnlessSomethingElseMayExplainIt(t *testing.T) {
	found := func(code cause.Code, sure roll.Confidence) func(*cause.Sheet) {
		return func(s *cause.Sheet) { s.Found(roll.Cause{Code: code, Confidence: sure}) }
	}
	open := func(reason string, code cause.Code) func(*cause.Sheet) {
		return func(s *cause.Sheet) { s.NotChecked(reason, code) }
	}
	for name, tt := range map[string]struct {
		symptom cause.Code
		also    func(*cause.Sheet)
		want    roll.Confidence
	}{
		"nothing explains it":              {cause.KubeletSilent, func(s *cause.Sheet) { s.RuledOut(cause.NodeRoleNotMapped) }, roll.Decisive},
		"a root is suggested":              {cause.KubeletSilent, found(cause.AwsAuthWrongUsername, roll.Suggestive), roll.Suggestive},
		"a root is proven":                 {cause.KubeletSilent, found(cause.NodeRoleNotMapped, roll.Decisive), roll.Decisive},
		"a root could not be read":         {cause.KubeletSilent, open(denied, cause.NodeRoleNotMapped), roll.Suggestive},
		"the console could not be read":    {cause.KubeletSilent, open(denied, cause.KernelPanic), roll.Decisive},
		"there was nothing to read":        {cause.KubeletSilent, open("the console is empty", cause.NodeRoleNotMapped), roll.Decisive},
		"what is suggested has other ends": {cause.KubeletSilent, found(cause.LaunchTemplateDrift, roll.Suggestive), roll.Decisive},
		"a hint that nothing proves":       {cause.CniNotReady, found(cause.ImdsHopLimit, roll.Suggestive), roll.Decisive},
		"another symptom is nearer":        {cause.NodeGroupUnhealthy, found(cause.CniNotReady, roll.Decisive), roll.Suggestive},
		"another symptom is farther":       {cause.CniNotReady, found(cause.NodeGroupUnhealthy, roll.Decisive), roll.Decisive},
		"another symptom was not read":     {cause.NodeGroupUnhealthy, open(denied, cause.CniNotReady), roll.Suggestive},
		"two claims show nowhere else":     {cause.DuplicateLaunch, found(cause.UndeclaredStartupTaint, roll.Suggestive), roll.Decisive},
	} {
		with(t, func(_ *evidence.Case, s *cause.Sheet) { tt.also(s); found(tt.symptom, roll.Decisive)(s) })
		e := &evidence.Evidence{Findings: []roll.Finding{finding}, Unread: map[string]bool{denied: false}}
		for _, c := range Diagnose(e)[finding.Key()].Causes {
			if c.Code == tt.symptom && (c.Confidence != tt.want || !c.Proven()) {
				t.Errorf("%s: %s is %s, want %s", name, c.Code, c.Confidence, tt.want)
			}
		}
	}
}

const denied = "iam:GetRole is denied"

// Each kind of finding has its own checks, and the instance is the same.
func TestFindingsOfOneInstanceShareTheirRoots(t *testing.T) {
	silent, impaired := finding, finding
	silent.Kind, impaired.Kind = roll.Unknown, roll.Impaired
	other := impaired
	other.Instance = "i-0fedcba9876543210"
	for name, tt := range map[string]struct {
		root func(*cause.Sheet)
		want string
	}{
		"a proven root": {func(s *cause.Sheet) {
			s.Found(roll.Cause{Code: cause.MemoryPressurePreceded, Confidence: roll.Decisive})
		}, "MemoryPressurePreceded decisive"},
		"a suggested root":               {func(s *cause.Sheet) { s.Found(roll.Cause{Code: cause.AcceleratorFault, Confidence: roll.Suggestive}) }, "AcceleratorFault suggestive"},
		"what explains no status check":  {func(s *cause.Sheet) { s.Found(roll.Cause{Code: cause.NodeRoleNotMapped, Confidence: roll.Decisive}) }, "InstanceStatusImpaired decisive"},
		"a symptom":                      {func(s *cause.Sheet) { s.Found(roll.Cause{Code: cause.KubeletSilent, Confidence: roll.Decisive}) }, "InstanceStatusImpaired decisive"},
		"a root that could not be read":  {func(s *cause.Sheet) { s.NotChecked(denied, cause.ClusterUnhealthy) }, "InstanceStatusImpaired suggestive"},
		"a root that only one ruled out": {func(s *cause.Sheet) { s.RuledOut(cause.MemoryPressurePreceded) }, "InstanceStatusImpaired decisive"},
	} {
		with(t, func(c *evidence.Case, s *cause.Sheet) {
			if c.Finding.Kind == roll.Unknown {
				tt.root(s)
				return
			}
			s.Found(roll.Cause{Code: cause.InstanceStatusImpaired, Confidence: roll.Decisive})
		})
		got := Diagnose(&evidence.Evidence{Findings: []roll.Finding{silent, impaired, other}, Unread: map[string]bool{denied: false}})
		if c := got[impaired.Key()].Causes[0]; c.Code+" "+string(c.Confidence) != tt.want {
			t.Errorf("%s: %s %s is first, want %s", name, c.Code, c.Confidence, tt.want)
		}
		c := got[other.Key()].Causes
		expect.That(t, len(c) == 1 && c[0].Confidence == roll.Decisive, "%s: another instance has %+v", name, c)
	}
}
