package cause_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
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

// declared are the codes that the source declares, each of which must be its own name.
func declared(t *testing.T) (out []string) {
	t.Helper()
	source, err := os.ReadFile("code.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(\w+)\s+Code = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		if m[1] != m[2] {
			t.Errorf("the constant %s has the value %s", m[1], m[2])
		}
		out = append(out, m[2])
	}
	return out
}

func TestEveryCodeIsInTheCatalogueOnce(t *testing.T) {
	seen := map[cause.Code]int{}
	for _, c := range cause.Codes() {
		seen[c]++
		if seen[c] > 1 {
			t.Errorf("%s is there %d times", c, seen[c])
		}
	}
	declared := declared(t)
	for _, c := range declared {
		if seen[c] == 0 {
			t.Errorf("%s is declared, and not in the catalogue", c)
		}
	}
	if len(declared) != len(seen) {
		t.Errorf("%d codes are declared, %d in the catalogue", len(declared), len(seen))
	}
}

func TestTheRootStandsBeforeWhatShowsIt(t *testing.T) {
	s := &cause.Sheet{}
	s.Found(found(cause.RolePoliciesMissing, roll.Suggestive))
	s.Found(found(cause.KubeletSilent, roll.Decisive))
	s.Found(found(cause.LaunchTemplateDrift, roll.Suggestive))
	s.Found(found(cause.InstanceStatusImpaired, roll.Decisive))
	s.Found(found(cause.MemoryPressurePreceded, roll.Decisive))
	want := []cause.Code{cause.MemoryPressurePreceded, cause.InstanceStatusImpaired, cause.KubeletSilent, cause.RolePoliciesMissing, cause.LaunchTemplateDrift}
	if got := codes(s.Causes()); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestASymptomStandsFirstWhereNothingExplainsIt(t *testing.T) {
	s := &cause.Sheet{}
	s.Found(found(cause.RolePoliciesMissing, roll.Suggestive))
	s.Found(found(cause.NodeadmFailed, roll.Decisive))
	if got := codes(s.Causes()); got[0] != cause.NodeadmFailed {
		t.Errorf("got %v: what is decisive comes before what is only suggestive", got)
	}
}

// Of several verdicts about one code the strongest stays, in whatever order they come.
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
			if got, want := state(s), max(i, j); got != want {
				t.Errorf("verdicts %d and %d give %d", i, j, got)
			}
			if n := len(s.Causes()) + len(s.Open()) + len(s.Clear()); n != 1 {
				t.Errorf("verdicts %d and %d are told in %d lists", i, j, n)
			}
		}
	}
}

func TestTheFirstReasonStays(t *testing.T) {
	s := &cause.Sheet{}
	s.NotChecked("first", cause.WrongVpc)
	s.NotChecked("second", cause.WrongVpc, cause.DnsDisabled)
	want := []roll.NotChecked{{Code: cause.WrongVpc, Reason: "first"}, {Code: cause.DnsDisabled, Reason: "second"}}
	if got := s.Open(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSymptomsAreThoseOfTheCatalogue(t *testing.T) {
	for _, c := range []cause.Code{cause.KubeletSilent, cause.NodeadmFailed, cause.CloudInitFailed, cause.CniNotReady, cause.NodeGroupUnhealthy, cause.InstanceStatusImpaired} {
		if !cause.Symptom(c) {
			t.Errorf("%s only says how trouble shows", c)
		}
	}
	for _, c := range []cause.Code{cause.NodeRoleNotMapped, cause.MemoryPressurePreceded, cause.SystemStatusImpaired, "NoSuchCode"} {
		if cause.Symptom(c) {
			t.Errorf("%s is no symptom", c)
		}
	}
	if cause.CureOf("NoSuchCode") != roll.CureUnclear || cause.Known("NoSuchCode") {
		t.Error("a code that is not known says nothing")
	}
}
