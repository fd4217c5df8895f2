package policy

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// fixtures are the files that match, by name without the extension.
func fixtures(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures at %s: %v", pattern, err)
	}
	found := make(map[string][]byte)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))] = data
	}
	return found
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestEveryFaultIsReportedWithItsLineAndKey(t *testing.T) {
	for name, data := range fixtures(t, "testdata/bad/*.yaml") {
		t.Run(name, func(t *testing.T) {
			d, err := Parse(data)
			if err == nil {
				t.Fatal("parsed")
			}
			if d != nil {
				t.Error("gave a document together with an error")
			}
			golden(t, filepath.Join("testdata/bad", name+".txt"), err.Error()+"\n")
		})
	}
}
