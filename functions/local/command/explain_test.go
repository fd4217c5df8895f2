package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/report"
	"rollcall/shared/roll"
)

const (
	unmapped = "../../../tests/corpus/examples/role-in-neither-store"
	healthy  = "../../../tests/corpus/examples/all-is-well"
	failing  = "i-0bad0000000000001"
)

// without copies a bundle but for some files.
func without(t *testing.T, from string, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestExplainReportsAllFaultsOfItsFlagsAtOnce(t *testing.T) {
	noAWS(t)
	code, _, stderr := rollcall(t, "explain", "ip-10-0-0-1", "--mode", "destroy", "--output", "xml", "--timeout", "0s", "--at", "yesterday", "--policy", write(t, "mode: watch\n"))
	if code != ExitError {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"ip-10-0-0-1", "--mode", "--output", "--timeout", "--at", "--policy"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, stderr)
		}
	}
}

func TestWhatExplainCannotBeAsked(t *testing.T) {
	noAWS(t)
	for want, args := range map[string][]string{
		"name an INSTANCE, or give --bundle DIR":          {"explain"},
		"--at is for --bundle":                            {"explain", failing, "--at", "2026-03-10T12:00:00Z"},
		"--cluster is of no use with --bundle":            {"explain", "--bundle", unmapped, "--cluster", "payments"},
		"no such file or directory":                       {"explain", "--bundle", "no/such/bundle"},
		"has no at.txt: say by --at when it was captured": {"explain", "--bundle", without(t, unmapped, "at.txt")},
		"cluster.json":                                    {"explain", "--bundle", without(t, unmapped, "cluster.json")},
	} {
		if code, _, stderr := rollcall(t, args...); code != ExitError || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit %d, %s", args, code, stderr)
		}
	}
}

func TestFaultsAreToldInTheSameOrderEveryTime(t *testing.T) {
	noAWS(t)
	var first string
	for range 20 {
		_, _, stderr := rollcall(t, "explain", "--bundle", unmapped, "--cluster", "payments", "--region", "eu-west-1", "--ledger", "ledger.json")
		if first == "" {
			first = stderr
		}
		if stderr != first {
			t.Fatalf("once\n%s\nand once\n%s", first, stderr)
		}
	}
}

// explained has a bundle explained as JSON.
func explained(t *testing.T, code int, args ...string) report.Document {
	t.Helper()
	got, out, stderr := rollcall(t, append([]string{"explain", "--output", "json", "--bundle"}, args...)...)
	var d report.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || got != code {
		t.Fatalf("exit %d, want %d: %v\n%s%s", got, code, err, out, stderr)
	}
	return d
}

func TestABundleIsExplainedWithEvidenceAndFix(t *testing.T) {
	d := explained(t, ExitFindings, unmapped, "--mode", "remediate")
	if len(d.Findings) != 1 || d.Findings[0].Instance != failing || d.Findings[0].Kind != "Unregistered" || d.Cluster != "payments" {
		t.Fatalf("%+v", d.Findings)
	}
	c := d.Findings[0].Causes[0]
	if c.Code != "NodeRoleNotMapped" || c.Confidence != "decisive" || len(c.Evidence) == 0 || !strings.Contains(c.Fix, "--cluster-name payments") {
		t.Errorf("%+v", c)
	}
	if len(d.Orders)+len(d.Held) == 0 {
		t.Error("nobody tells what would be done")
	}
	code, text, _ := rollcall(t, "explain", "--bundle", unmapped)
	if code != ExitFindings || !strings.Contains(text, "1. NodeRoleNotMapped, decisive") || !strings.Contains(text, "to fix:") {
		t.Errorf("exit %d:\n%s", code, text)
	}
}

func TestOneInstanceOfABundle(t *testing.T) {
	if d := explained(t, ExitFindings, unmapped, failing); len(d.Findings) != 1 {
		t.Errorf("%+v", d.Findings)
	}
	d := explained(t, ExitError, unmapped, "i-00000000")
	if len(d.Findings) != 0 || !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "there is no instance i-00000000") }) {
		t.Errorf("findings %+v, notes %q", d.Findings, d.Notes)
	}
}

func TestAHealthyBundleHasNothingToExplain(t *testing.T) {
	if d := explained(t, ExitOK, healthy); len(d.Findings) != 0 {
		t.Errorf("%+v", d.Findings)
	}
	if code, text, _ := rollcall(t, "explain", "--bundle", healthy); code != ExitOK || !strings.Contains(text, "nothing to explain") {
		t.Errorf("exit %d:\n%s", code, text)
	}
}

// --at moves the clock: what is overdue now had time then.
func TestAtMovesTheClock(t *testing.T) {
	var found struct{ At time.Time }
	d := explained(t, ExitFindings, unmapped)
	found.At = d.At
	early := explained(t, ExitFindings, unmapped, "--at", d.Findings[0].Since.Add(6*time.Minute).Format(time.RFC3339))
	if early.Findings[0].Stage != string(roll.Warned) || !early.At.Before(found.At) {
		t.Errorf("at %s: %+v", early.At, early.Findings[0])
	}
}

// What is missing is not checked, and never decisive.
func TestTheLeastBundle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "least")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cluster.json", "instances.json", "nodes.json", "at.txt"} {
		data, err := os.ReadFile(filepath.Join(unmapped, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := explained(t, ExitFindings, dir)
	if len(d.Findings) != 1 {
		t.Fatalf("%+v", d.Findings)
	}
	for _, c := range d.Findings[0].Causes {
		if c.Confidence == "decisive" {
			t.Errorf("decisive without evidence: %+v", c)
		}
	}
	open := map[string]string{}
	for _, n := range d.Findings[0].NotChecked {
		open[n.Code] = n.Reason
	}
	for code, file := range map[string]string{"NodeRoleNotMapped": "instance-profiles.json", "DnsDisabled": "vpc-attributes.json"} {
		if !strings.Contains(open[code], file) {
			t.Errorf("%s is not checked because of %q, want the file named", code, open[code])
		}
	}
}

func TestCaptureReportsAllFaultsOfItsFlagsAtOnce(t *testing.T) {
	noAWS(t)
	code, _, stderr := rollcall(t, "capture", "--timeout", "0s", "--policy", write(t, "mode: watch\n"))
	for _, want := range []string{"--cluster", "--out", "--timeout", "--policy"} {
		if code != ExitError || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, standard error lacks %q:\n%s", code, want, stderr)
		}
	}
}
