// Package causetest reads and checks what an analyzer found, for the analyzers' tests.
package causetest

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
)

// Told returns the codes that were found, suggestive ones with a mark, such as "OutOfMemory?".
func Told(s *cause.Sheet) string {
	return strings.Join(roll.Map(s.Causes(), func(c roll.Cause) string {
		if c.Confidence == roll.Decisive {
			return c.Code
		}
		return c.Code + "?"
	}), " ")
}

// Decisive returns the codes that were proven.
func Decisive(s *cause.Sheet) (out []cause.Code) {
	for _, c := range s.Causes() {
		if c.Confidence == roll.Decisive {
			out = append(out, c.Code)
		}
	}
	return out
}

// Whole checks that each cause has a summary without a full stop or article, evidence without gaps and a
// fix that a shell can parse, and that what was not checked has a reason. name is that of the case.
func Whole(t *testing.T, name string, s *cause.Sheet) {
	t.Helper()
	for _, c := range s.Causes() {
		if c.Summary == "" || strings.HasSuffix(c.Summary, ".") || strings.HasPrefix(c.Summary, "The ") || c.Fix == "" || len(c.Evidence) == 0 {
			t.Errorf("%s: %+v", name, c)
		}
		for _, e := range c.Evidence {
			if e.Source == "" || e.Field == "" || e.Observed == "" || e.Expected == "" {
				t.Errorf("%s: the evidence of %s has a gap: %+v", name, c.Code, e)
			}
		}
		if _, err := syntax.NewParser().Parse(strings.NewReader(c.Fix), ""); err != nil {
			t.Errorf("%s: a shell cannot parse the fix of %s: %v\n%s", name, c.Code, err, c.Fix)
		}
	}
	Reasons(t, name, s)
}

// Reasons checks that what was not checked has a reason without a full stop.
func Reasons(t *testing.T, name string, s *cause.Sheet) {
	t.Helper()
	for _, u := range s.Open() {
		if u.Reason == "" || strings.HasSuffix(u.Reason, ".") {
			t.Errorf("%s: %s is not checked because %q", name, u.Code, u.Reason)
		}
	}
}

// Do combines the steps that change a test's world into one.
func Do[W any](steps ...func(*W)) func(*W) {
	return func(w *W) {
		for _, step := range steps {
			step(w)
		}
	}
}
