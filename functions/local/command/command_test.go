package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func rollcall(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return startedAs(t, "rollcall", args...)
}

// startedAs runs the command line under a name of its program.
func startedAs(t *testing.T, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Run(t.Context(), args, Environment{Program: name, Stdout: &out, Stderr: &err, Now: time.Now})
	return code, out.String(), err.String()
}

// write writes a policy to a file.
func write(t *testing.T, text string) string { return source(t, "policy.yaml", text) }

// source writes a file.
func source(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// noAWS ensures that a test which should fail on its flags cannot reach AWS.
func noAWS(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	missing := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", missing)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", missing)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// useEndpoint points the SDK to a server, with keys that every server takes.
func useEndpoint(t *testing.T, url string) {
	t.Helper()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": url, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"} {
		t.Setenv(name, value)
	}
}

// refused checks that a command only prints errors, with all the wanted texts.
func refused(t *testing.T, args []string, wants ...string) {
	t.Helper()
	code, stdout, stderr := rollcall(t, args...)
	expect.That(t, code == ExitError && stdout == "", "%q: exit %d, and printed %q", args, code, stdout)
	says(t, stderr, wants...)
}

// says checks that a text has the wanted parts.
func says(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		expect.That(t, strings.Contains(text, want), "no %q in\n%s", want, text)
	}
}

func TestAllFaultsOfTheFlagsAtOnce(t *testing.T) {
	noAWS(t)
	bad := write(t, "apiVersion: rollcall/v1\nmode: watch\n")
	args := []string{"check", "--mode", "destroy", "--output", "xml", "--timeout", "-1s", "--cluster", "", "--policy", bad, "--ledger", filepath.Join(t.TempDir(), "no", "ledger.json")}
	refused(t, args, "--mode", "destroy", "--output", "xml", "--timeout", "--cluster", "line 2: mode", "--ledger", "does not exist")
}

func TestRemediateNeedsALedger(t *testing.T) {
	noAWS(t)
	refused(t, []string{"check", "--mode", "remediate"}, "--ledger FILE")
}

func TestPolicyCheck(t *testing.T) {
	bad := write(t, "apiVersion: rollcall/v1\nregistration: {deadline: -5m}\nlimits: {unhealthy: 120%}\nmdoe: notify\n")
	refused(t, []string{"policy", "check", bad}, "line 2: registration.deadline", "line 3: limits.unhealthy", "line 4: mdoe")
	good := write(t, "apiVersion: rollcall/v1\noverrides:\n- match: {cluster: \"gpu-*\"}\n  registration: {deadline: 30m}\n")
	code, stdout, _ := rollcall(t, "policy", "check", good, "--cluster", "gpu-1", "--output", "json")
	expect.Equal(t, code, ExitOK, "exit")
	var out effective
	must.Succeed(t, json.Unmarshal([]byte(stdout), &out))
	expect.That(t, out.Valid && out.of("registration.deadline") == "30m from override at line 4", "got %+v", out)
	refused(t, []string{"policy", "check", filepath.Join(t.TempDir(), "none.yaml")}, "none.yaml")
}

func TestPolicySchemaIsJSON(t *testing.T) {
	code, stdout, _ := rollcall(t, "policy", "schema")
	expect.That(t, code == ExitOK && json.Valid([]byte(stdout)), "exit %d, %q", code, stdout)
}

func TestExitCodes(t *testing.T) {
	whole := func(findings ...roll.Finding) report.Check {
		return report.Check{Snapshot: &roll.Snapshot{}, Assessment: assess.Assessment{Findings: findings}}
	}
	ended := func(r remediate.Result) report.Check {
		c := whole()
		c.Outcomes = []remediate.Outcome{{Result: r}}
		return c
	}
	partial := whole(roll.Finding{Stage: roll.Overdue})
	partial.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeDetail}}
	tests := []struct {
		name    string
		results []report.Check
		want    int
	}{
		{"nothing found", []report.Check{whole(), whole()}, ExitOK},
		{"only watching", []report.Check{whole(roll.Finding{Stage: roll.Watching})}, ExitOK},
		{"a warning", []report.Check{whole(), whole(roll.Finding{Stage: roll.Warned})}, ExitFindings},
		{"a fault while acting", []report.Check{{Snapshot: &roll.Snapshot{}, Faults: []string{"x"}}}, ExitError},
		{"an act that failed", []report.Check{ended(remediate.Acted), ended(remediate.Failed)}, ExitError},
		{"an act of which nobody knows", []report.Check{ended(remediate.Unclear)}, ExitError},
		{"an act that was done, one that goes on, and one that was refused", []report.Check{ended(remediate.Acted), ended(remediate.Ongoing), ended(remediate.Refused)}, ExitOK},
		{"findings, but not the whole answer", []report.Check{whole(roll.Finding{Stage: roll.Overdue}), partial}, ExitError},
	}
	for _, tt := range tests {
		got := ExitOK
		if err := verdict(tt.results); err != nil {
			got = int(err.(exit)) //nolint:errorlint // verdict returns nothing else
		}
		expect.Equal(t, got, tt.want, "%s: exit", tt.name)
	}
}

func TestProgressOnlyForAPersonAndGoneInTheEnd(t *testing.T) {
	var w bytes.Buffer
	p := newProgress(Environment{Stderr: &w})
	p.say("listing")
	p.tell("demo", "reading")
	p.clear()
	expect.That(t, w.Len() == 0, "wrote %q although nobody watches", w.String())
	p = newProgress(Environment{Stderr: &w, Terminal: true})
	p.say("listing")
	expect.That(t, strings.Contains(w.String(), "listing ..."), "wrote %q", w.String())
	p.total = 2
	p.tell("demo", "reading")
	p.tell("demo", "done")
	expect.That(t, strings.Contains(w.String(), "0/2 clusters  demo: reading") && strings.Contains(w.String(), "1/2"), "wrote %q", w.String())
	w.Reset()
	p.clear()
	expect.That(t, strings.TrimSpace(strings.ReplaceAll(w.String(), "\r", "")) == "" && strings.HasSuffix(w.String(), "\r"), "left %q on the screen", w.String())
}

func TestHelpNamesTheModes(t *testing.T) {
	var out bytes.Buffer
	Run(context.Background(), []string{"check", "--help"}, Environment{Stdout: &out, Stderr: &out, Now: time.Now})
	says(t, out.String(), "observe", "notify", "remediate", "--ledger", "never raises it")
}

// Mistyped flags are reported as such, and shells complete the values of flags.
func TestHabits(t *testing.T) {
	for _, tt := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"policy", "foo"}, ExitError, "", `unknown command "foo" of rollcall policy`},
		{[]string{"policy"}, ExitOK, "schema", ""},
		{[]string{"policy", "check"}, ExitError, "", "missing argument, a policy FILE, or - for standard input: see rollcall policy check --help"},
		{[]string{"approve"}, ExitError, "", "missing argument, an ORDER, which the notice names: see rollcall approve --help"},
		{[]string{"check", "payments"}, ExitError, "", `rollcall: unexpected argument "payments"; a cluster is named by --cluster payments: see rollcall check --help`},
		{[]string{"check", "--watch", "30s"}, ExitError, "", `rollcall: unexpected argument "30s"; write --watch=30s, with an equals sign: see rollcall check --help`},
		{[]string{"explain", "i-1", "i-2"}, ExitError, "", `rollcall: unexpected argument "i-2": see rollcall explain --help`},
		{[]string{"check", "--bogus"}, ExitError, "", "unknown flag: --bogus: see rollcall check --help"},
		{[]string{"check", "--timeout", "5"}, ExitError, "", `missing unit in duration "5": see rollcall check --help`},
		{[]string{"policy", "check", "-"}, ExitOK, "standard input", ""},
		{[]string{"check", "--topic", "alerts"}, ExitError, "", `--topic "alerts": it takes the ARN of an SNS topic`},
		{[]string{"check", "--topic", "arn:aws:sqs:eu-west-1:111122223333:alerts", "--mode", "on"}, ExitError, "", "--mode"},
		{[]string{"__complete", "check", "--mode", ""}, ExitOK, "observe\nnotify\nremediate\n", ""},
		{[]string{"__complete", "explain", "-o", ""}, ExitOK, "table\njson\nyaml\n", ""},
		{[]string{"__complete", "policy", "check", "--cluster-mode", ""}, ExitOK, "remediate", ""},
	} {
		var out, fault bytes.Buffer
		code := Run(t.Context(), tt.args, Environment{Stdin: strings.NewReader("apiVersion: rollcall/v1\n"), Stdout: &out, Stderr: &fault, Now: time.Now})
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(fault.String(), tt.err) {
			t.Errorf("rollcall %s: exit %d, %q, %q", strings.Join(tt.args, " "), code, out.String(), fault.String())
		}
	}
}
