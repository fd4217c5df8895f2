package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// script joins another cluster.
const script = "#!/bin/bash\n/etc/eks/bootstrap.sh staging\n"

func TestLintReportsAllFaultsOfItsFlagsAtOnce(t *testing.T) {
	noAWS(t)
	args := []string{"lint", "none.yaml", "--output", "xml", "--timeout", "0s", "--bundle", healthy, "--cluster", "payments", "--region", "eu-west-1"}
	refused(t, args, "none.yaml", "--output", "--timeout", "--cluster cannot be combined", "--region cannot be combined")
}

func TestWhatLintCannotBeAsked(t *testing.T) {
	noAWS(t)
	for want, args := range map[string][]string{
		"name a FILE":             {"lint"},
		"needs --cluster NAME":    {"lint", "--launch-template", "lt-0123456789abcdef0"},
		"lt-0f3c0000000000000:99": {"lint", "--launch-template", "lt-0f3c0000000000000:99", "--bundle", healthy},
		"VersionNumber":           {"lint", source(t, "t.json", `{"LaunchTemplateVersions": [{"LaunchTemplateId": "lt-1", "LaunchTemplateData": {}}]}`)},
		"it is no regular file":   {"lint", "/dev/null", "--bundle", healthy},
		"AWS_REGION":              {"lint", source(t, "u.sh", script), "--cluster", "payments"},
		`no FILE was judged: `:    {"lint", misnamed(t), "--bundle", healthy}, // its node pools are not what was asked about
		`pools.yaml: line 2: karpenter.sh/v1 has no kind "NodePol", skipped 1 file without anything that lint reads: `: {"lint", misnamed(t), source(t, "values.yaml", "a: b\n")},
	} {
		refused(t, args, want)
	}
}

// misnamed is a manifest that a typo hides from lint.
func misnamed(t *testing.T) string {
	t.Helper()
	return source(t, "pools.yaml", "---\napiVersion: karpenter.sh/v1\nkind: NodePol\nmetadata: {name: default}\n")
}

// What was not judged is named beside what was.
func TestLintNamesWhatItSkips(t *testing.T) {
	noAWS(t)
	values := source(t, "values.yaml", "a: b\n")
	code, stdout, stderr := rollcall(t, "lint", source(t, "u.sh", "#!/bin/bash\necho hello\n"), misnamed(t), values, "-o", "json")
	var d report.LintDocument
	err := json.Unmarshal([]byte(stdout), &d)
	must.That(t, err == nil && code == ExitOK && len(d.Notes) == 2, "exit %d, %v: %s%s", code, err, stdout, stderr)
	expect.That(t, strings.HasSuffix(d.Notes[0], `pools.yaml: line 2: karpenter.sh/v1 has no kind "NodePol"`), "%q", d.Notes)
	expect.That(t, strings.HasSuffix(d.Notes[1], "skipped 1 file without anything that lint reads: "+values), "%q", d.Notes)
}

func TestLintExits(t *testing.T) {
	noAWS(t)
	for name, tt := range map[string]struct {
		args []string
		want int
	}{
		"the node pools of a sound cluster": {[]string{"--bundle", healthy}, ExitOK},
		"a launch template of it":           {[]string{"--bundle", healthy, "--launch-template", "lt-0f3c0000000000000"}, ExitOK},
		"a role that nothing maps":          {[]string{"--bundle", unmapped, "--launch-template", "lt-0ba80000000000000"}, ExitFindings},
		"files without a launch":            {[]string{source(t, "values.yaml", "a: b\n")}, ExitOK}, // of a commit, in a pre-commit hook
		"a kind that lint does not read":    {[]string{source(t, "claim.yaml", "apiVersion: karpenter.sh/v1\nkind: NodeClaim\n")}, ExitOK},
		"role mappings alone":               {[]string{source(t, "auth.yaml", "kind: ConfigMap\nmetadata: {name: aws-auth}\n"), misnamed(t)}, ExitOK},
		"user data for another cluster":     {[]string{"--bundle", healthy, "--user-data", source(t, "data", script)}, ExitFindings},
		"a hint alone":                      {[]string{"--bundle", healthy, source(t, "u.sh", "#!/bin/bash\necho hello\n")}, ExitOK},
	} {
		code, stdout, stderr := rollcall(t, append([]string{"lint"}, tt.args...)...)
		expect.That(t, code == tt.want, "%s: exit %d, want %d: %s%s", name, code, tt.want, stdout, stderr)
	}
}

func TestTheFormsOfLint(t *testing.T) {
	noAWS(t)
	file := source(t, "u.sh", script)
	for form, want := range map[string]string{
		"table":  "UserDataClusterMismatch: " + file,
		"json":   `"code": "UserDataClusterMismatch"`,
		"yaml":   "code: UserDataClusterMismatch",
		"sarif":  `"ruleId": "UserDataClusterMismatch"`,
		"github": "::error file=" + file + ",line=2,title=UserDataClusterMismatch::",
	} {
		code, stdout, stderr := rollcall(t, "lint", file, "--bundle", healthy, "-o", form)
		expect.That(t, code == ExitFindings && strings.Contains(stdout, want), "%s: exit %d: %s%s", form, code, stdout, stderr)
	}
	_, stdout, _ := rollcall(t, "lint", file, "--bundle", healthy, "-o", "json")
	var d report.LintDocument
	err := json.Unmarshal([]byte(stdout), &d)
	expect.That(t, err == nil && len(d.Findings) == 1 && d.Findings[0].File == file && d.Findings[0].Line == 2 && d.Findings[0].Fix != "", "%v: %+v", err, d)
}

// The account is only read, and what its API server would say is not checked if it does not answer.
func TestLintReadsTheAccount(t *testing.T) {
	noAWS(t)
	var writes []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		action := r.Form.Get("Action")
		switch {
		case r.URL.Path == "/clusters/shop":
			_, _ = fmt.Fprint(w, `{"cluster":{"name":"shop","arn":"arn:aws:eks:eu-west-1:111122223333:cluster/shop","status":"ACTIVE","version":"1.35","endpoint":"https://127.0.0.1:1","certificateAuthority":{"data":""},"resourcesVpcConfig":{"endpointPublicAccess":true,"vpcId":"vpc-1"}}}`)
		case action == "":
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = fmt.Fprintf(w, `<%[1]sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"/>`, action)
		}
		if action != "" && !strings.HasPrefix(action, "Describe") && !strings.HasPrefix(action, "Get") && !strings.HasPrefix(action, "List") || action == "" && r.Method != http.MethodGet {
			writes = append(writes, r.Method+" "+r.URL.Path+" "+action)
		}
	}))
	t.Cleanup(server.Close)
	useEndpoint(t, server.URL)
	code, stdout, stderr := rollcall(t, "lint", source(t, "u.sh", script), "--cluster", "shop", "-o", "json")
	expect.That(t, code == ExitFindings && strings.Contains(stdout, `"UserDataClusterMismatch"`) && strings.Contains(stdout, "127.0.0.1:1"), "exit %d: %s%s", code, stdout, stderr)
	expect.That(t, len(writes) == 0, "it sent %v", writes)
	twoRegions().serve(t)
	refused(t, []string{"lint", source(t, "u.sh", script), "--cluster", "other"}, "other")
}
