// Package golden compares what tests produce with the files that go test -update writes.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/harness/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

// File compares a text with a file.
func File(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", path, diff)
	}
}
