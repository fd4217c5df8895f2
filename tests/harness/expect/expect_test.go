package expect_test

import (
	"errors"
	"fmt"
	"testing"

	"rollcall/tests/harness/expect"
)

// reporter keeps what a test reports.
type reporter struct {
	testing.TB
	said string
}

func (*reporter) Helper() {}

func (r *reporter) Error(args ...any) { r.said += fmt.Sprint(args...) }

func (r *reporter) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }

func TestWhatIsNotAsExpectedIsReported(t *testing.T) {
	type list []string
	for want, expects := range map[string]func(testing.TB){
		"2 nodes":                            func(t testing.TB) { expect.That(t, false, "%d nodes", 2) },
		"no such file":                       func(t testing.TB) { expect.Succeed(t, errors.New("no such file")) },
		"nodes of a: got 1, want 2":          func(t testing.TB) { expect.Equal(t, 1, 2, "nodes of %s", "a") },
		`its name: got "a ", want "a"`:       func(t testing.TB) { expect.Equal(t, "a ", "a", "its name") },
		`orders: got ["a" "b"], want ["ab"]`: func(t testing.TB) { expect.List(t, []string{"a", "b"}, []string{"ab"}, "orders") },
		"orders: got [a b], want [b a]":      func(t testing.TB) { expect.List(t, list{"a", "b"}, list{"b", "a"}, "orders") },
	} {
		var r reporter
		if expects(&r); r.said != want {
			t.Errorf("got %q, want %q", r.said, want)
		}
	}
	var r reporter
	if expect.Same(&r, []int{1}, []int{2}, "counts of %s", "a"); len(r.said) < len("counts of a (-want +got):\n-2+1") {
		t.Errorf("got %q", r.said)
	}
}

func TestWhatIsAsExpectedIsNotReported(t *testing.T) {
	var r reporter
	expect.That(&r, true, "2 nodes")
	expect.Succeed(&r, nil)
	expect.Equal(&r, 2, 2, "nodes")
	expect.List(&r, nil, []string{}, "orders")
	expect.Same(&r, []int{1}, []int{1}, "counts")
	if r.said != "" {
		t.Errorf("reported %q", r.said)
	}
}
