// Package expect reports what is not as a test expects it, and lets the test go on. Package must
// ends the test instead.
package expect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// That reports an expectation that does not hold, as t.Errorf does.
func That(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Succeed reports an error.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Equal reports a value that is not the wanted one. The format and its arguments name the value.
func Equal[T comparable](t testing.TB, got, want T, format string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", fmt.Sprintf(format, args...), printed(got), printed(want))
	}
}

// List reports a list that is not the wanted one; an empty list is equal to nil.
func List[S ~[]E, E comparable](t testing.TB, got, want S, format string, args ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %s, want %s", fmt.Sprintf(format, args...), printed(got), printed(want))
	}
}

// Same reports where a value differs from the wanted one.
func Same(t testing.TB, got, want any, format string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(format, args...), diff)
	}
}

// printed quotes text, in which a missing or trailing space matters.
func printed(v any) string {
	switch v.(type) {
	case string, []string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
}
