// Package causetest reads and checks what an analyzer found, for the analyzers' tests.
package causetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
		if strings.Contains(c.Fix, "%!") || strings.Contains(c.Fix, "  --") {
			t.Errorf("%s: the fix of %s lacks a value:\n%s", name, c.Code, c.Fix)
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

// Reason returns why the code was not checked, "" if it was, or if nothing is said of it.
func Reason(s *cause.Sheet, code cause.Code) string {
	n, _ := roll.Find(s.Open(), func(n roll.NotChecked) bool { return n.Code == code })
	return n.Reason
}

// NotChecked checks that the codes were not checked, each for a reason with the words. name is that of the
// case.
func NotChecked(t *testing.T, name string, s *cause.Sheet, words string, codes ...cause.Code) {
	t.Helper()
	for _, code := range codes {
		if why := Reason(s, code); why == "" || !strings.Contains(why, words) {
			t.Errorf("%s: %s is not among what was not checked for %q: %v", name, code, words, s.Open())
		}
	}
}

// Hidden changes worlds of every kind at random, each change once in so many, and then hides facts of
// them. It checks that nothing becomes decisive that was not, and each sheet by whole.
func Hidden[W any](t *testing.T, of func(roll.Kind) *W, analyze func(*W) *cause.Sheet, once int, changes []func(*W), hide []func(*W, string), whole func(*testing.T, string, *cause.Sheet)) {
	t.Helper()
	rng, kinds := rand.New(rand.NewPCG(1, 2)), roll.Kinds()
	for n := range 4000 {
		kind := kinds[n%len(kinds)]
		w := of(kind)
		for _, change := range changes {
			if rng.IntN(once) == 0 {
				change(w)
			}
		}
		before := Decisive(analyze(w))
		for _, h := range hide {
			if rng.IntN(3) == 0 {
				h(w, []string{"", "why"}[rng.IntN(2)])
			}
		}
		s := analyze(w)
		for _, code := range Decisive(s) {
			if !slices.Contains(before, code) {
				t.Fatalf("%s, case %d: %s becomes decisive once facts are hidden; before %v", kind, n, code, before)
			}
		}
		whole(t, fmt.Sprintf("%s, case %d", kind, n), s)
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
