// Package e2e drives the command line against real parts: a Kubernetes control plane that
// marks silent nodes Unknown, the authenticator that verifies Rollcall's own tokens, and
// an emulated AWS account that records every call.
//
// The clock is passed in, so the minutes between two checks need no waiting.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/functions/local/command"
	"rollcall/shared/ledger"
	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

var bed *testbed.Bed

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, testbed.Options{RBAC: "infra/rbac.yaml"}, func(b *testbed.Bed) { bed = b }, func() error {
		if flag.Lookup("test.run").Value.String() != "" {
			return nil // a subset of the tests uses only a part of what is granted
		}
		return leastPrivilege("../../infra/iam-read-only.json", "../../infra/iam-policy.json")
	}))
}

// called holds the AWS actions that rollcall called in all tests.
var called = map[string]bool{}

// leastPrivilege compares the published IAM policy with the calls that were made: every
// call is granted, and every grant is used.
func leastPrivilege(paths ...string) error {
	granted := map[string]bool{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var policy struct {
			Statement []struct{ Action any }
		}
		if err := json.Unmarshal(data, &policy); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, st := range policy.Statement {
			switch a := st.Action.(type) {
			case string:
				granted[a] = true
			case []any:
				for _, one := range a {
					granted[fmt.Sprint(one)] = true
				}
			}
		}
	}
	var faults []string
	// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html: the operation needs s3:ListBucket.
	if called["s3:ListObjectsV2"] {
		delete(called, "s3:ListObjectsV2")
		called["s3:ListBucket"] = true
	}
	for a := range called {
		// sts:GetCallerIdentity needs no permission.
		if !granted[a] && a != "sts:GetCallerIdentity" {
			faults = append(faults, a+" is called and not granted")
		}
	}
	for a := range granted {
		// No cluster here has more than a thousand instances, whose second look by check --watch
		// reads their tags.
		if !called[a] && a != "ec2:DescribeTags" {
			faults = append(faults, a+" is granted and never called")
		}
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return fmt.Errorf("%s: %s", strings.Join(paths, ", "), strings.Join(faults, "; "))
	}
	return nil
}

// account is one test's view of the bed: emptied, with its own clock, ledger and topic.
type account struct {
	t        *testing.T
	ledger   string
	evidence string // the folder for evidence
	topic    string
	read     func(context.Context) ([]testbed.Notice, error)
	ahead    time.Duration // the test's clock minus the real one
	now      func()        // called whenever the program reads the clock
}

func newAccount(t *testing.T) *account {
	t.Helper()
	ctx := t.Context()
	must.Succeed(t, bed.Reset(ctx))
	topic, read, err := bed.Topic(ctx)
	must.Succeed(t, err)
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	t.Cleanup(func() {
		// A gap in the emulator looks like an AWS outage, so it must fail the test.
		unexpected, err := bed.Unexpected(context.Background())
		expect.That(t, err == nil && len(unexpected) == 0, "the emulator gave answers that AWS would not give: %+v, %v", unexpected, err)
	})
	dir := t.TempDir()
	watched(t, filepath.Join(dir, "ledger.json"))
	return &account{t: t, ledger: filepath.Join(dir, "ledger.json"), evidence: filepath.Join(dir, "evidence"), topic: topic, read: read}
}

// watched records in the ledger that complete checks of the cluster have run for a long
// time, so no finding counts as older than them.
func watched(t *testing.T, path string) {
	t.Helper()
	file, err := ledger.OpenFile(path)
	must.Succeed(t, err)
	must.Succeed(t, file.Record(t.Context(), clusterID, ledger.Changes{Put: ledger.State{First: time.Now().Add(-30 * 24 * time.Hour)}}))
}

// later advances the test's clock.
func (a *account) later(d time.Duration) { a.ahead += d }

// result is the output of one run of rollcall check.
type result struct {
	code   int
	stderr string
	checks []report.Document
}

// only returns the report of the only cluster checked.
func (r result) only(t *testing.T) report.Document {
	t.Helper()
	must.That(t, len(r.checks) == 1, "%d clusters in the output, want 1; standard error: %s", len(r.checks), r.stderr)
	return r.checks[0]
}

// check runs rollcall check with JSON output and clears the call logs first. The caller
// has the cluster permissions that the mode needs, and no more.
func (a *account) check(args ...string) result {
	a.t.Helper()
	who := testbed.Viewer
	if slices.Contains(args, "remediate") {
		who = testbed.Operator
	}
	code, stdout, stderr := a.run(who, append([]string{"check", "--output", "json"}, args...)...)
	return result{code: code, stderr: stderr, checks: documents(a.t, stdout)}
}

// documents parses the JSON documents that the program printed.
func documents(t *testing.T, stdout string) (all []report.Document) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(stdout))
	for {
		var d report.Document
		err := dec.Decode(&d)
		if err == io.EOF {
			return all
		}
		must.Succeed(t, err)
		all = append(all, d)
	}
}

// run runs rollcall with an identity's credentials and clears the call logs first.
func (a *account) run(who testbed.Identity, args ...string) (code int, stdout, stderr string) {
	a.t.Helper()
	for _, pair := range bed.EnvFor(who) {
		name, value, _ := strings.Cut(pair, "=")
		a.t.Setenv(name, value)
	}
	must.Succeed(a.t, bed.ForgetCalls(a.t.Context()))
	var out, errs bytes.Buffer
	code = command.Run(a.t.Context(), args, command.Environment{
		Stdout: &out, Stderr: &errs,
		PageInterval: time.Nanosecond, // the emulated EC2 has no request quota
		Now: func() time.Time {
			if a.now != nil {
				a.now()
			}
			return time.Now().Add(a.ahead)
		},
	})
	calls, err := bed.Calls(a.t.Context())
	must.Succeed(a.t, err)
	for _, c := range calls {
		if who == testbed.Administrator {
			break // has its own permissions
		}
		if c.Action == "TransactWriteItems" {
			c.Action = "PutItem" // it needs the permission for each of its writes, which are puts here
		}
		called[c.Service+":"+c.Action] = true
	}
	return code, out.String(), errs.String()
}

// remediate runs rollcall check with all permissions.
func (a *account) remediate(args ...string) result {
	a.t.Helper()
	return a.check(append([]string{"--cluster", testbed.ClusterName, "--mode", "remediate", "--ledger", a.ledger, "--evidence", a.evidence, "--topic", a.topic}, args...)...)
}

func (a *account) policy(text string) string {
	a.t.Helper()
	path := filepath.Join(a.t.TempDir(), "policy.yaml")
	must.Succeed(a.t, os.WriteFile(path, []byte("apiVersion: rollcall/v1\n"+text), 0o600))
	return path
}

func (a *account) notices() []testbed.Notice {
	a.t.Helper()
	n, err := a.read(a.t.Context())
	must.Succeed(a.t, err)
	return n
}

// reading reports whether an action changes nothing.
func reading(action string) bool {
	return strings.HasPrefix(action, "Describe") || strings.HasPrefix(action, "List") || strings.HasPrefix(action, "Get") || action == "Query"
}

// writes returns the changing AWS calls of the last run, each as "action resources".
func (a *account) writes() []string {
	a.t.Helper()
	calls, err := bed.Calls(a.t.Context())
	must.Succeed(a.t, err)
	var out []string
	for _, c := range calls {
		if reading(c.Action) {
			continue
		}
		line := c.Action
		for _, r := range c.Resources {
			if strings.HasPrefix(r, "i-") || strings.HasPrefix(r, "arn:") {
				line += " " + r
			}
		}
		out = append(out, line)
	}
	return out
}

func (a *account) count(action string) int {
	a.t.Helper()
	calls, err := bed.Calls(a.t.Context())
	must.Succeed(a.t, err)
	n := 0
	for _, c := range calls {
		if c.Action == action {
			n++
		}
	}
	return n
}

// kubeWrites returns the Kubernetes requests of the last run that would change something,
// whether or not they succeeded, each as "verb resource name".
func (a *account) kubeWrites() (out []string) {
	a.t.Helper()
	calls, err := bed.KubeCalls(a.t.Context())
	must.Succeed(a.t, err)
	for _, c := range testbed.Changing(calls) {
		resource := c.Resource
		if c.Subresource != "" {
			resource += "/" + c.Subresource
		}
		out = append(out, c.Verb+" "+resource+" "+c.Name)
	}
	return out
}

// nothingWritten fails the test if the last run changed anything.
func (a *account) nothingWritten(when string) {
	a.t.Helper()
	same(a.t, when+": writes", a.writes(), nil)
	same(a.t, when+": writes to the cluster", a.kubeWrites(), nil)
}

// said checks that the last run wrote exactly one notice and nothing else. It returns the
// notice as its kind, severity and action, and as a document.
func (a *account) said(when string) (notice string, doc report.NoticeDocument) {
	a.t.Helper()
	same(a.t, when+": writes", a.writes(), []string{"Publish " + a.topic})
	same(a.t, when+": writes to the cluster", a.kubeWrites(), nil)
	n := a.notices()
	must.That(a.t, len(n) == 1, "%s: %d notices, want 1", when, len(n))
	must.Succeed(a.t, json.Unmarshal([]byte(n[0].Message), &doc))
	return n[0].Attributes["kind"] + " " + n[0].Attributes["severity"] + " " + n[0].Attributes["action"], doc
}

// nothingDestroyed fails the test if the last run terminated or interrupted anything.
func (a *account) nothingDestroyed(when string) {
	a.t.Helper()
	for _, w := range a.writes() {
		switch action, _, _ := strings.Cut(w, " "); action {
		case "CreateTags", "DeleteTags", "Publish":
		default:
			a.t.Errorf("%s: %s", when, w)
		}
	}
	same(a.t, when+": writes to the cluster", a.kubeWrites(), nil)
}

// instance runs an instance with the cluster's tag.
func (a *account) instance(spec testbed.InstanceSpec) string {
	a.t.Helper()
	spec.Cluster = testbed.ClusterName
	id, err := bed.RunInstance(a.t.Context(), spec)
	must.Succeed(a.t, err)
	return id
}

// fleet runs n healthy members of an Auto Scaling group, launched hours ago.
func (a *account) fleet(n int) (ids []string) {
	a.t.Helper()
	for range n {
		id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: 5 * time.Hour})
		a.join(id, corev1.ConditionTrue, 5*time.Hour-time.Minute)
		ids = append(ids, id)
	}
	return ids
}

// join registers a node that was created, and got its condition, that long ago.
func (a *account) join(id string, ready corev1.ConditionStatus, since time.Duration) {
	a.t.Helper()
	at := time.Now().Add(-since)
	_, err := bed.JoinNode(a.t.Context(), testbed.NodeSpec{InstanceID: id, Ready: ready, ReadySince: at, Created: at})
	must.Succeed(a.t, err)
}

func kinds(d report.Document) (out []string) {
	for _, f := range d.Findings {
		out = append(out, f.Kind+" "+f.Instance)
	}
	return out
}

func held(d report.Document) (out []string) {
	for _, h := range d.Held {
		out = append(out, string(h.Reason)+" "+string(h.Instance))
	}
	return out
}

func acted(d report.Document) (out []string) {
	for _, o := range d.Outcomes {
		out = append(out, strings.TrimSpace(o.Result+" "+o.Reason)+" "+o.Instance)
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	expect.List(t, got, want, "%s", what)
}
