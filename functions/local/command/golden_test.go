package command

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/harness/must"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// golden compares output with testdata/<name>.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		must.Succeed(t, os.MkdirAll("testdata", 0o755))
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

// The golden files for tables and JSON of checks are in shared/report.
func TestWhatPoliciesPrint(t *testing.T) {
	file := write(t, twoLevels)
	for name, args := range map[string][]string{
		"policy-default": {"policy", "check", file},
		"policy-group":   {"policy", "check", file, "--cluster", "shop", "--group", "asg/a", "--instance-tag", "rollcall:deadline=40m"},
		"policy-json":    {"policy", "check", file, "--group", "asg/a", "--output", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := rollcall(t, args...)
			if code != ExitOK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			golden(t, name, strings.ReplaceAll(stdout, file, "policy.yaml"))
		})
	}
}
