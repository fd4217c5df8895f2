package template

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// template.yaml is checked as CloudFormation receives it, the other templates as written.
func TestCheckovFindsNothingUnexplained(t *testing.T) {
	checkov, err := filepath.Abs(filepath.Join(root, ".build", "checkov", "bin", "checkov"))
	must.Succeed(t, err)
	if _, err := os.Stat(checkov); err != nil {
		t.Fatalf("checkov is missing (%v): make test installs it", err)
	}
	dir := t.TempDir()
	for file := range stacks {
		data, err := Transform(t.Context(), root, file)
		must.Succeed(t, err)
		name := strings.TrimSuffix(filepath.Base(file), ".yaml") + ".json"
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	config := text(t, "tests", "template", "checkov.yaml")
	explained := regexp.MustCompile(`(?m)^  - (CKV\w+) +# \S.*$`).FindAllStringSubmatch(config, -1)
	expect.That(t, len(explained) == strings.Count(config, "\n  - "), "an exception of checkov.yaml has no reason:\n%s", config)
	everything := filepath.Join(t.TempDir(), "checkov.yaml")
	before, _, _ := strings.Cut(config, "skip-check:")
	must.Succeed(t, os.WriteFile(everything, []byte(before), 0o600))
	// It exits with 1 if it has findings.
	out, _ := offline(t.Context(), checkov, "--config-file", everything, "--directory", dir, "--output", "json").Output()
	var found struct {
		Results struct {
			PassedChecks []struct{} `json:"passed_checks"`
			FailedChecks []struct {
				ID       string `json:"check_id"`
				Name     string `json:"check_name"`
				Resource string `json:"resource"`
				File     string `json:"file_path"`
			} `json:"failed_checks"`
		}
	}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(found.Results.PassedChecks) < 100 && len(found.Results.FailedChecks) == 0 {
		t.Fatalf("checkov looked at nothing:\n%s", out)
	}
	broken := map[string]bool{}
	for _, f := range found.Results.FailedChecks {
		broken[f.ID] = true
		expect.That(t, slices.ContainsFunc(explained, func(e []string) bool { return e[1] == f.ID }), "%s %s: %s breaks %s (%s)", f.File, f.Resource, f.Resource, f.ID, f.Name)
	}
	for _, e := range explained {
		expect.That(t, broken[e[1]], "no template breaks %s any more: take it out of checkov.yaml", e[1])
	}
}
