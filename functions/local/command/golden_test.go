package command

import (
	"strings"
	"testing"

	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

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
			must.That(t, code == ExitOK, "exit %d: %s", code, stderr)
			golden.File(t, "testdata/"+name+".golden", strings.ReplaceAll(stdout, file, "policy.yaml"))
		})
	}
}
