package cause_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func found(code cause.Code, c roll.Confidence) roll.Cause {
	return roll.Cause{Code: code, Confidence: c}
}

func codes(causes []roll.Cause) (out []cause.Code) {
	for _, c := range causes {
		out = append(out, c.Code)
	}
	return out
}

// declared returns the codes that the source declares, each of which must be its own name.
func declared(t *testing.T) (out []string) {
	t.Helper()
	source, err := os.ReadFile("code.go")
	must.Succeed(t, err)
	for _, m := range regexp.MustCompile(`(\w+)\s+Code = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		expect.That(t, m[1] == m[2], "the constant %s has the value %s", m[1], m[2])
		out = append(out, m[2])
	}
	return out
}

func TestEveryCodeIsInTheCatalogueOnce(t *testing.T) {
	seen := map[cause.Code]int{}
	for _, c := range cause.Codes() {
		seen[c]++
		expect.That(t, seen[c] <= 1, "%s is there %d times", c, seen[c])
	}
	declared := declared(t)
	for _, c := range declared {
		expect.That(t, seen[c] != 0, "%s is declared, and not in the catalogue", c)
	}
	expect.That(t, len(declared) == len(seen), "%d codes are declared, %d in the catalogue", len(declared), len(seen))
}

func TestTheRootStandsBeforeWhatShowsIt(t *testing.T) {
	for _, c := range []struct {
		name               string
		decisive, suggests []cause.Code
		want               []cause.Code
	}{
		{"a proven root, and hints beside it", []cause.Code{cause.KubeletSilent, cause.InstanceStatusImpaired, cause.MemoryPressurePreceded}, []cause.Code{cause.RolePoliciesMissing, cause.LaunchTemplateDrift},
			[]cause.Code{cause.MemoryPressurePreceded, cause.InstanceStatusImpaired, cause.KubeletSilent, cause.RolePoliciesMissing, cause.LaunchTemplateDrift}},
		{"a likely root", []cause.Code{cause.KubeletSilent}, []cause.Code{cause.NodeRoleNotMapped, cause.LaunchTemplateDrift},
			[]cause.Code{cause.NodeRoleNotMapped, cause.KubeletSilent, cause.LaunchTemplateDrift}},
		{"a symptom that nothing explains", []cause.Code{cause.NodeadmFailed}, []cause.Code{cause.AmiFamilyUnsupported},
			[]cause.Code{cause.NodeadmFailed, cause.AmiFamilyUnsupported}},
		{"symptoms that explain each other", []cause.Code{cause.NodeGroupUnhealthy, cause.ReplacementRepeats, cause.CniNotReady}, nil,
			[]cause.Code{cause.CniNotReady, cause.ReplacementRepeats, cause.NodeGroupUnhealthy}},
		{"one of two symptoms is explained for certain", []cause.Code{cause.KubeletSilent, cause.NodeGroupUnhealthy, cause.InstanceStopped}, []cause.Code{cause.SubnetIpsExhausted},
			[]cause.Code{cause.InstanceStopped, cause.KubeletSilent, cause.NodeGroupUnhealthy, cause.SubnetIpsExhausted}},
	} {
		s := &cause.Sheet{}
		for _, code := range c.suggests {
			s.Found(found(code, roll.Suggestive))
		}
		for _, code := range c.decisive {
			s.Found(found(code, roll.Decisive))
		}
		expect.List(t, codes(s.Causes()), c.want, "%s", c.name)
	}
}

// A symptom without a proven root names the unchecked codes that would explain it.
func TestASymptomNamesWhatCouldExplainIt(t *testing.T) {
	sheet := func() *cause.Sheet {
		s := &cause.Sheet{}
		s.Found(found(cause.KubeletSilent, roll.Decisive))
		s.NotChecked("iam:GetRole is denied", cause.NodeRoleNotMapped, cause.UserDataEmpty)
		s.RuledOut(cause.KernelPanic)
		return s
	}
	s := sheet()
	if got := s.Causes()[0].NotChecked; !slices.Equal(got, []cause.Code{cause.NodeRoleNotMapped}) {
		t.Errorf("got %v: user data does not explain why a node fell silent, and the panic is ruled out", got)
	}
	s.Found(found(cause.OutOfMemory, roll.Suggestive))
	if got := s.Causes(); got[0].Code != cause.OutOfMemory || got[0].NotChecked != nil || len(got[1].NotChecked) != 1 {
		t.Errorf("got %v: what is only likely explains nothing for certain", got)
	}
	s.Found(found(cause.OutOfMemory, roll.Decisive))
	got := s.Causes()
	expect.That(t, got[1].NotChecked == nil, "got %v: it is explained", got)
}

// The relation has no cycles, each of its codes is in the catalogue, and the catalogue has no
// symptom before what explains it.
func TestWhatExplainsWhatHasNoCycles(t *testing.T) {
	symptoms := 0
	for _, s := range cause.Codes() {
		if !cause.Symptom(s) {
			continue
		}
		symptoms++
		for _, r := range cause.Codes() {
			if cause.Explains(r, s) && !cause.Before(r, s) {
				t.Errorf("%s explains %s, and stands behind it", r, s)
			}
		}
		seen := map[cause.Code]bool{}
		var climb func(cause.Code)
		climb = func(c cause.Code) {
			for _, r := range cause.Codes() {
				if cause.Explains(r, c) && !seen[r] {
					seen[r] = true
					climb(r)
				}
			}
		}
		climb(s)
		expect.That(t, !seen[s], "%s explains itself", s)
		expect.That(t, len(seen) >= 3, "%s: %d codes explain it", s, len(seen))
	}
	expect.That(t, symptoms >= 9, "%d symptoms", symptoms)
	bad := cause.Unknown()
	expect.That(t, len(bad) == 0, "the relation names what is no code: %v", bad)
}

// Of several verdicts about one code the strongest stays, in any order.
func TestTheStrongestVerdictStays(t *testing.T) {
	const code = cause.DnsDisabled
	verdicts := []func(*cause.Sheet){
		func(s *cause.Sheet) { s.RuledOut(code) },
		func(s *cause.Sheet) { s.NotChecked("the VPC could not be read", code) },
		func(s *cause.Sheet) { s.Found(found(code, roll.Suggestive)) },
		func(s *cause.Sheet) { s.Found(found(code, roll.Decisive)) },
	}
	state := func(s *cause.Sheet) int {
		switch c := s.Causes(); {
		case len(c) == 1 && c[0].Confidence == roll.Decisive:
			return 3
		case len(c) == 1:
			return 2
		case len(s.Open()) == 1:
			return 1
		case len(s.Clear()) == 1:
			return 0
		}
		return -1
	}
	for i := range verdicts {
		for j := range verdicts {
			s := &cause.Sheet{}
			verdicts[i](s)
			verdicts[j](s)
			expect.Equal(t, state(s), max(i, j), "verdicts %d and %d give", i, j)
			n := len(s.Causes()) + len(s.Open()) + len(s.Clear())
			expect.That(t, n == 1, "verdicts %d and %d are told in %d lists", i, j, n)
		}
	}
}

func TestTheFirstReasonStays(t *testing.T) {
	s := &cause.Sheet{}
	s.NotChecked("first", cause.WrongVpc)
	s.NotChecked("second", cause.WrongVpc, cause.DnsDisabled)
	want := []roll.NotChecked{{Code: cause.WrongVpc, Reason: "first"}, {Code: cause.DnsDisabled, Reason: "second"}}
	got := s.Open()
	expect.That(t, reflect.DeepEqual(got, want), "got %v, want %v", got, want)
}

func TestSymptomsAreThoseOfTheCatalogue(t *testing.T) {
	for _, c := range []cause.Code{cause.KubeletSilent, cause.NodeadmFailed, cause.CloudInitFailed, cause.CniNotReady, cause.NodeGroupUnhealthy, cause.InstanceStatusImpaired} {
		expect.That(t, cause.Symptom(c), "%s only says how trouble shows", c)
	}
	for _, c := range []cause.Code{cause.NodeRoleNotMapped, cause.MemoryPressurePreceded, cause.SystemStatusImpaired, "NoSuchCode"} {
		expect.That(t, !cause.Symptom(c), "%s is no symptom", c)
	}
	expect.That(t, cause.CureOf("NoSuchCode") == roll.CureUnclear && !cause.Known("NoSuchCode"), "a code that is not known says nothing")
}
