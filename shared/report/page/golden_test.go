package page

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/harness/must"
)

var update = flag.Bool("update", false, "write testdata/*.golden.html anew")

// golden compares a page with testdata/<name>.golden.html.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden.html")
	if *update {
		must.Succeed(t, os.MkdirAll("testdata", 0o755))
		must.Succeed(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got)\n%s", path, diff)
	}
}

func render(t testing.TB, d Document) []byte {
	t.Helper()
	b, err := Render(d)
	must.Succeed(t, err)
	return b
}

func TestPages(t *testing.T) {
	for name, d := range map[string]Document{"day": day(), "look": glance(), "minimal": {Title: "Nothing to show"}} {
		t.Run(name, func(t *testing.T) { golden(t, name, render(t, d)) })
	}
}
