package e2e

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/functions/local/command"
	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// explain runs rollcall explain with JSON output.
func (a *account) explain(args ...string) report.Document {
	a.t.Helper()
	code, stdout, stderr := a.run(testbed.Viewer, append([]string{"explain", "--output", "json"}, args...)...)
	all := documents(a.t, stdout)
	must.That(a.t, code == command.ExitFindings && len(all) == 1, "explain %q: exit %d, %d documents; standard error: %s", args, code, len(all), stderr)
	return all[0]
}

// capture runs rollcall capture and returns the bundle's folder.
func (a *account) capture() string {
	a.t.Helper()
	dir := filepath.Join(a.t.TempDir(), "bundle")
	code, stdout, stderr := a.run(testbed.Viewer, "capture", "--cluster", testbed.ClusterName, "--out", dir)
	must.That(a.t, code == command.ExitOK && strings.Contains(stdout, "rollcall explain --bundle "+dir), "exit %d, %q, %q", code, stdout, stderr)
	return dir
}

func causes(d report.Document) (out []string) {
	for _, f := range d.Findings {
		for _, c := range f.Causes {
			out = append(out, f.Instance+" "+string(c.Confidence)+" "+c.Code)
		}
	}
	return out
}

func notChecked(d report.Document) (out []string) {
	for _, f := range d.Findings {
		for _, c := range f.NotChecked {
			out = append(out, f.Instance+" "+c.Code)
		}
	}
	return out
}

// The bed sets up an instance correctly. If it never registers, no cause is visible,
// whoever launched it, and every possible cause was checked.
func TestAnOrdinaryInstanceThatNeverRegistersHasNoCauseToBeSeen(t *testing.T) {
	for name, spec := range map[string]testbed.InstanceSpec{
		"Auto Scaling group": {Group: "workers"},
		"managed node group": {Group: "eks-managed", Tags: map[string]string{"eks:nodegroup-name": "managed", "eks:cluster-name": testbed.ClusterName}},
		"Karpenter":          {Tags: map[string]string{"karpenter.sh/nodepool": "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			a.fleet(3)
			must.Succeed(t, bed.SetNodeGroup(t.Context(), testbed.ClusterName, "managed", testbed.NodeGroupChange{}))
			spec.LaunchedAgo = 5 * time.Hour
			joined := time.Now().Add(-spec.LaunchedAgo + time.Minute)
			_, err := bed.JoinNode(t.Context(), testbed.NodeSpec{ // another instance of its group is healthy
				InstanceID: a.instance(spec), Karpenter: name == "Karpenter", ReadySince: joined, Created: joined,
			})
			must.Succeed(t, err)
			spec.LaunchedAgo = time.Hour
			id := a.instance(spec)
			must.Succeed(t, bed.CreateNodeClaim(t.Context(), testbed.NodeClaimSpec{Name: "default-x", InstanceID: id, Created: time.Now().Add(-time.Hour)}))
			a.ordinary(id)
		})
	}
}

// ordinary explains an instance that never registered and has no visible cause.
func (a *account) ordinary(id string) {
	a.t.Helper()
	d := a.explain(id)
	same(a.t, "findings", kinds(d), []string{"Unregistered " + id})
	same(a.t, "causes", causes(d), nil)
	for _, c := range d.Findings[0].NotChecked {
		if !strings.Contains(c.Reason, "console") { // the console of a bed's instance is empty, which proves nothing
			a.t.Errorf("%s is not checked: %s", c.Code, c.Reason)
		}
	}
	for _, code := range []string{"NodeRoleNotMapped", "RoleTrustInvalid", "UserDataClusterMismatch", "ApiEndpointUnreachable", "SecurityGroupBlocksApi", "VpcEndpointMissing", "DnsDisabled"} {
		expect.That(a.t, slices.Contains(d.Findings[0].RuledOut, code), "%s is not ruled out: %q", code, d.Findings[0].RuledOut)
	}
	a.nothingWritten("explain")
	asked, err := bed.KubeCalls(a.t.Context())
	must.Succeed(a.t, err)
	for _, c := range asked {
		expect.That(a.t, c.Code != http.StatusForbidden, "infra/rbac.yaml does not let %s %s %s %s", c.User, c.Verb, c.Resource, c.Name)
	}
}

// A role has an access entry of the wrong type, which takes precedence over the correct
// entry in aws-auth. The test covers the table output, and the same from files alone.
func TestAnAccessEntryOfTheWrongTypeIsExplainedLiveAndFromABundle(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	must.Succeed(t, bed.SetAccessEntries(t.Context(), testbed.ClusterName, testbed.AccessEntry{PrincipalARN: testbed.NodeRoleARN, Type: "STANDARD"}))
	live := a.explain(id)
	same(t, "causes", causes(live), []string{id + " decisive AccessEntryWrongType"})
	fix := live.Findings[0].Causes[0].Fix
	expect.That(t, strings.Contains(fix, testbed.NodeRoleARN) && strings.Contains(fix, "--cluster-name "+testbed.ClusterName), "the fix is %q", fix)

	dir := a.capture()
	a.nothingWritten("capture")
	must.Succeed(t, bed.ForgetCalls(t.Context()))
	from := a.explain("--bundle", dir)
	same(t, "causes from the bundle", causes(from), causes(live))
	same(t, "not checked from the bundle", notChecked(from), notChecked(live))
	same(t, "ruled out from the bundle", from.Findings[0].RuledOut, live.Findings[0].RuledOut)
	calls, err := bed.Calls(t.Context())
	must.Succeed(t, err)
	expect.That(t, len(calls) == 0, "explain --bundle made calls: %+v", calls)

	code, table, _ := a.run(testbed.Viewer, "explain", id)
	if code != command.ExitFindings || !strings.Contains(table, "AccessEntryWrongType") || !strings.Contains(table, "aws eks delete-access-entry") {
		t.Errorf("exit %d:\n%s", code, table)
	}

	// An entry of Auto Mode's type lets in nodes that are named after their instance id, and this one is not: its user
	// data was read as a whole, and its image is EKS's.
	must.Succeed(t, bed.SetAccessEntries(t.Context(), testbed.ClusterName, testbed.AccessEntry{PrincipalARN: testbed.NodeRoleARN, Type: "EC2"}))
	same(t, "causes of an entry without its policy", causes(a.explain(id)), []string{id + " decisive AccessEntryWrongType"})
	expect.That(t, a.count("ListAssociatedAccessPolicies") != 0, "nobody asked for the policies of the entry")
}

// Karpenter's controller has the mapping that its nodes need. The role's name proves nothing:
// its inline and attached policies are read, with the viewer's permissions.
func TestTheControllersRoleIsExplainedLiveAndFromABundle(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	must.Succeed(t, bed.MapController(t.Context(), "f3a91c"))
	id := a.instance(testbed.InstanceSpec{LaunchedAgo: time.Hour, Tags: map[string]string{"karpenter.sh/nodepool": "default"}})
	must.Succeed(t, bed.CreateNodeClaim(t.Context(), testbed.NodeClaimSpec{Name: "default-x", InstanceID: id, Created: time.Now().Add(-time.Hour)}))
	live := a.explain(id)
	got := causes(live)
	expect.That(t, len(got) != 0 && got[0] == id+" decisive ControllerRoleMapped", "causes %q", got)
	from := a.explain("--bundle", a.capture())
	same(t, "causes from the bundle", causes(from), causes(live))
}

// secrets are of the kinds that people put into user data and that appear on consoles.
var secrets = []string{"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "correct-horse-battery-staple"}

// secretive returns the user data of a node that also holds secrets.
func secretive() string {
	script := "--//\nContent-Type: text/x-shellscript\n\n#!/bin/bash\nexport AWS_SECRET_ACCESS_KEY=" + secrets[0] + "\nmysql --user=app --password=" + secrets[1] + "\n\n--//--\n"
	return strings.Replace(bed.NodeUserData(testbed.ClusterName), "--//--\n", script, 1)
}

// leaked reports whether data holds a secret, in plain text or in base64.
func leaked(data []byte, secret string) bool {
	for lead := range 3 {
		// Covers the positions in which whole base64 groups hold only the secret's bytes, independent
		// of the bytes around it.
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", lead) + secret))
		if bytes.Contains(data, []byte(encoded[4:len(encoded)/4*4-4])) {
			return true
		}
	}
	return bytes.Contains(data, []byte(secret)) || bytes.Contains(data, []byte(url.QueryEscape(secret)))
}

func TestLeakedSeesSecretsInBase64(t *testing.T) {
	for lead := range 4 {
		data := []byte(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("#", lead) + secretive())))
		for _, s := range secrets {
			expect.That(t, leaked(data, s), "%q is not seen %d bytes further", s, lead)
		}
	}
}

// tellsNoSecret checks that no file in a folder holds a secret, and returns the files'
// paths.
func tellsNoSecret(t *testing.T, dir string) (files []string) {
	t.Helper()
	must.Succeed(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, strings.TrimPrefix(path, dir+"/"))
		for _, s := range secrets {
			expect.That(t, !leaked(data, s), "%s holds %q", path, s)
		}
		return nil
	}))
	return files
}

func TestSecretsInUserDataAndOnTheConsoleGoNowhere(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour, UserData: secretive()})
	console := "[   12.1] cloud-init[1680]: + export AWS_SECRET_ACCESS_KEY=" + secrets[0] + "\n[   12.2] cloud-init[1680]: + mysql --user=app --password=" + secrets[1] + "\n"
	must.Succeed(t, bed.ChangeInstance(t.Context(), id, testbed.InstanceChange{Console: &console}))
	quiet := func(what, text string) {
		t.Helper()
		for _, s := range secrets {
			expect.That(t, !leaked([]byte(text), s), "%s holds %q:\n%s", what, s, text)
		}
	}
	for _, form := range []string{"json", "table"} {
		_, stdout, stderr := a.run(testbed.Viewer, "explain", id, "--output", form)
		quiet("explain as "+form, stdout+stderr)
	}
	files := tellsNoSecret(t, a.capture())
	for _, want := range []string{"user-data/" + id + ".txt", "console/" + id + ".txt"} {
		expect.That(t, slices.Contains(files, want), "the bundle lacks %s: %q", want, files)
	}
	for range 2 {
		_, stdout, stderr := a.run(testbed.Operator, "check", "--cluster", testbed.ClusterName, "--mode", "remediate", "--ledger", a.ledger, "--evidence", a.evidence, "--topic", a.topic, "--output", "json")
		quiet("check", stdout+stderr)
		a.later(2 * time.Minute)
	}
	if state := a.state(id); state != "terminated" && state != "shutting-down" {
		t.Errorf("the instance is %s", state)
	}
	for _, n := range a.notices() {
		quiet("a notice", n.Subject+n.Message)
	}
	kept := tellsNoSecret(t, filepath.Dir(a.ledger))
	expect.That(t, slices.ContainsFunc(kept, func(f string) bool { return strings.HasSuffix(f, "bundle/user-data/"+id+".txt") }), "the evidence lacks the user data: %q", kept)
}

// Evidence is kept before the act destroys it, and the notice says where it is.
func TestEvidenceIsKeptBeforeAnActOrThereIsNone(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	a.remediate()
	a.later(2 * time.Minute)
	blocked := a.evidence
	must.Succeed(t, os.RemoveAll(blocked))
	must.Succeed(t, os.WriteFile(blocked, []byte("not a folder\n"), 0o600))
	d := a.remediate()
	same(t, "without a place for evidence", acted(d.only(t)), []string{"refused EvidenceNotStored " + id})
	expect.Equal(t, d.code, command.ExitError, "exit")
	a.nothingDestroyed("without a place for evidence")
	a.notices()
	must.Succeed(t, os.Remove(blocked))
	a.later(2 * time.Minute)
	same(t, "with one", acted(a.remediate().only(t)), []string{"acted " + id})
	n := a.notices()
	last := n[len(n)-1].Message
	expect.That(t, strings.Contains(last, `"evidence":"file://`+blocked), "the notice does not say where the evidence is: %s", last)
	for _, pattern := range []string{"*/*/*/" + id + "/*/findings.json", "*/*/*/" + id + "/*/bundle/cluster.json"} {
		found, err := filepath.Glob(filepath.Join(blocked, pattern))
		expect.That(t, err == nil && len(found) != 0, "there is no %s in the evidence: %v", pattern, err)
	}
}
