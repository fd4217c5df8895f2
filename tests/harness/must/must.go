// Package must ends tests that cannot go on.
package must

import (
	"os"
	"testing"
)

// Succeed ends the test if there is an error.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// That ends the test if an expectation does not hold, as t.Fatalf does.
func That(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	Succeed(t, err)
	return data
}
