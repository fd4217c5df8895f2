package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	unmapped = "../../../tests/corpus/examples/role-in-neither-store"
	healthy  = "../../../tests/corpus/examples/all-is-well"
	failing  = "i-0bad0000000000001"
)

// without returns a copy of a bundle without some files.
func without(t *testing.T, from string, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	must.Succeed(t, os.CopyFS(dir, os.DirFS(from)))
	for _, name := range names {
		must.Succeed(t, os.RemoveAll(filepath.Join(dir, name)))
	}
	return dir
}

func TestExplainReportsAllFaultsOfItsFlagsAtOnce(t *testing.T) {
	noAWS(t)
	args := []string{"explain", "ip-10-0-0-1", "--mode", "destroy", "--output", "xml", "--timeout", "0s", "--at", "yesterday", "--policy", write(t, "mode: watch\n")}
	refused(t, args, "ip-10-0-0-1", "--mode", "--output", "--timeout", "--at", "--policy")
}

func TestWhatExplainCannotBeAsked(t *testing.T) {
	noAWS(t)
	for want, args := range map[string][]string{
		"name an INSTANCE or KIND/NAME, or give --bundle":       {"explain"},
		"--at needs --bundle":                                   {"explain", failing, "--at", "2026-03-10T12:00:00Z"},
		"--cluster cannot be combined with --bundle":            {"explain", "--bundle", unmapped, "--cluster", "payments"},
		"no such file or directory":                             {"explain", "--bundle", "no/such/bundle"},
		"has no at.txt: give the time of the capture with --at": {"explain", "--bundle", without(t, unmapped, "at.txt")},
		"cluster.json": {"explain", "--bundle", without(t, unmapped, "cluster.json")},
	} {
		refused(t, args, want)
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
		must.That(t, stderr == first, "once\n%s\nand once\n%s", first, stderr)
	}
}

// explained returns the JSON explanation of a bundle.
func explained(t *testing.T, code int, args ...string) report.Document {
	t.Helper()
	got, out, stderr := rollcall(t, append([]string{"explain", "--output", "json", "--bundle"}, args...)...)
	var d report.Document
	err := json.Unmarshal([]byte(out), &d)
	must.That(t, err == nil && got == code, "exit %d, want %d: %v\n%s%s", got, code, err, out, stderr)
	return d
}

func TestABundleIsExplainedWithEvidenceAndFix(t *testing.T) {
	d := explained(t, ExitFindings, unmapped, "--mode", "remediate")
	must.That(t, len(d.Findings) == 1 && d.Findings[0].Instance == failing && d.Findings[0].Kind == "Unregistered" && d.Cluster == "payments", "%+v", d.Findings)
	c := d.Findings[0].Causes[0]
	expect.That(t, c.Code == "NodeRoleNotMapped" && c.Confidence == "decisive" && len(c.Evidence) != 0 && strings.Contains(c.Fix, "--cluster-name payments"), "%+v", c)
	expect.That(t, len(d.Orders)+len(d.Held) != 0, "nobody tells what would be done")
	code, text, _ := rollcall(t, "explain", "--bundle", unmapped)
	expect.That(t, code == ExitFindings && strings.Contains(text, "1. NodeRoleNotMapped, decisive") && strings.Contains(text, "to fix:"), "exit %d:\n%s", code, text)
}

func TestOneInstanceOfABundle(t *testing.T) {
	if d := explained(t, ExitFindings, unmapped, failing); len(d.Findings) != 1 {
		t.Errorf("%+v", d.Findings)
	}
	d := explained(t, ExitError, unmapped, "i-00000000")
	expect.That(t, len(d.Findings) == 0 && d.Complete, "findings %+v, complete %t", d.Findings, d.Complete)
}

// As with a ledger, every subject gets an answer.
func TestWhatNothingIsFoundAboutIsAnsweredWithoutALedger(t *testing.T) {
	for want, tt := range map[string]struct {
		code       int
		bundle, id string
	}{
		"nothing is wrong with it: node ip-10-0-40-21.eu-west-1.compute.internal is Ready since ":                {ExitOK, healthy, "i-0e2b0000000000001"},
		"does not count as a node, so it is never acted on, because nothing shows that it is meant to be a node": {ExitOK, caseOf(t, "bastion-with-the-clusters-tag"), failing},
		"i-00000000 is unknown: EC2 does not list it, and payments has no node of it":                            {ExitError, healthy, "i-00000000"},
	} {
		code, text, _ := rollcall(t, "explain", "--bundle", tt.bundle, tt.id)
		if text = strings.Join(strings.Fields(text), " "); code != tt.code || !strings.Contains(text, want) || strings.Contains(text, "every instance is a healthy node") || strings.Contains(text, "not everything could be read") {
			t.Errorf("%s: exit %d, want %q\n%s", tt.id, code, want, text)
		}
	}
}

func TestAHealthyBundleHasNothingToExplain(t *testing.T) {
	d := explained(t, ExitOK, healthy)
	expect.That(t, len(d.Findings) == 0, "%+v", d.Findings)
	code, text, _ := rollcall(t, "explain", "--bundle", healthy)
	expect.That(t, code == ExitOK && strings.Contains(text, "nothing to explain"), "exit %d:\n%s", code, text)
}

// --at sets the clock: what is overdue now was within its tolerance then.
func TestAtMovesTheClock(t *testing.T) {
	var found struct{ At time.Time }
	d := explained(t, ExitFindings, unmapped)
	found.At = d.At
	early := explained(t, ExitFindings, unmapped, "--at", d.Findings[0].Since.Add(6*time.Minute).Format(time.RFC3339))
	expect.That(t, early.Findings[0].Stage == string(roll.Warned) && early.At.Before(found.At), "at %s: %+v", early.At, early.Findings[0])
}

// Missing input is reported as not checked, and is never decisive.
func TestTheLeastBundle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "least")
	must.Succeed(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"cluster.json", "instances.json", "nodes.json", "at.txt"} {
		data := must.Read(t, filepath.Join(unmapped, name))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	d := explained(t, ExitFindings, dir)
	must.That(t, len(d.Findings) == 1, "%+v", d.Findings)
	for _, c := range d.Findings[0].Causes {
		expect.That(t, c.Confidence != "decisive", "decisive without evidence: %+v", c)
	}
	open := map[string]string{}
	for _, n := range d.Findings[0].NotChecked {
		open[n.Code] = n.Reason
	}
	for code, file := range map[string]string{"NodeRoleNotMapped": "instance-profiles.json", "DnsDisabled": "vpc-attributes.json"} {
		expect.That(t, strings.Contains(open[code], file), "%s is not checked because of %q, want the file named", code, open[code])
	}
}

func TestCaptureReportsAllFaultsOfItsFlagsAtOnce(t *testing.T) {
	noAWS(t)
	refused(t, []string{"capture", "--timeout", "0s", "--policy", write(t, "mode: watch\n")}, "--cluster", "--out", "--timeout", "--policy")
}

// A directory that cannot be written to is told before the cluster is read.
func TestCaptureLooksAtItsDirectoryFirst(t *testing.T) {
	noAWS(t)
	for want, out := range map[string]string{"there is something in it already (": healthy, "not a directory": filepath.Join(healthy, "at.txt")} {
		code, _, stderr := rollcall(t, "capture", "--cluster", "payments", "--out", out)
		expect.That(t, code == ExitError && strings.Contains(stderr, want) && !strings.Contains(stderr, "region"), "%s: exit %d: %s", out, code, stderr)
	}
}

// caseOf returns the directory of a case of the corpus.
func caseOf(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.CopyFS(dir, generate.Named(t, name).FS()))
	return dir
}

func TestWhatIsNoInstanceIsExplained(t *testing.T) {
	noAWS(t)
	for name, tt := range map[string]struct {
		subject, bundle string
		code            int
		want            []string
	}{
		"a node group that was never created":  {"nodegroup/blue", "node-group-that-was-never-created", ExitFindings, []string{"Unlaunched nodegroup/blue", "CREATE_FAILED", "LaunchSubnetInvalid, decisive"}},
		"a node group beside it":               {"nodegroup/workers", "node-group-that-was-never-created", ExitOK, []string{"nothing is wrong with launches of nodegroup/workers"}},
		"a node pool":                          {"nodepool/batch", "scp-denies-the-launch", ExitFindings, []string{"Unlaunched nodepool/batch", "LaunchDenied, decisive"}},
		"a NodeClaim that waits":               {"nodeclaim/batch-w8t4k", "scp-denies-the-launch", ExitFindings, []string{"Unlaunched nodepool/batch", "LaunchDenied, decisive"}},
		"an Auto Scaling group behind another": {"asg/eks-workers-4ac6f0d2-6f4e-4b0a-9d6c-2f6f5d1c7a10", "launch-of-an-ami-that-is-gone", ExitFindings, []string{"Unlaunched nodegroup/workers", "LaunchAmiInvalid, decisive"}},
		"a group whose instances have trouble": {"asg/payments-legacy", "all-is-well", ExitOK, []string{"nothing is wrong with launches of asg/payments-legacy"}},
		"a node that is well":                  {"node/ip-10-0-40-21.eu-west-1.compute.internal", "all-is-well", ExitOK, []string{"nothing is wrong with node/ip-10-0-40-21"}},
		"an unknown node group":                {"nodegroup/green", "node-group-that-was-never-created", ExitError, []string{`payments has no nodegroup "green": it has blue, workers`}},
		"an unknown node pool":                 {"nodepool/green", "all-is-well", ExitError, []string{`payments has no nodepool "green": it has default, system`}},
		"an unknown NodeClaim":                 {"nodeclaim/green", "all-is-well", ExitError, []string{`payments has no nodeclaim "green": it has default-d1a01, system-b4d01`}},
		"an unknown node":                      {"node/green", "all-is-well", ExitError, []string{`payments has no node "green": it has ip-10-0-104-41`}},
		"a kind without names":                 {"volume/vol-1", "all-is-well", ExitError, []string{`"volume/vol-1" is neither an EC2 instance id`, "nodepool/NAME"}},
	} {
		code, stdout, stderr := rollcall(t, "explain", tt.subject, "--bundle", caseOf(t, tt.bundle))
		expect.Equal(t, code, tt.code, "%s: exit", name)
		for _, want := range tt.want {
			expect.That(t, strings.Contains(stdout+stderr, want), "%s: no %q in\n%s%s", name, want, stdout, stderr)
		}
	}
}

// The explanation of a group is about its launches, and leads to its instances in trouble.
func TestAGroupWithInstancesInTrouble(t *testing.T) {
	noAWS(t)
	code, stdout, stderr := rollcall(t, "explain", "nodegroup/batch", "--bundle", unmapped, "--mode", "remediate")
	want := "  nothing to explain: nothing is wrong with launches of nodegroup/batch\n" +
		"  1 instance of nodegroup/batch has findings (i-0bad0000000000001); to explain:\n" +
		"    rollcall explain --bundle " + unmapped + " --mode remediate\n"
	expect.That(t, code == ExitOK && strings.HasSuffix(stdout, want), "exit %d: %s%s", code, stdout, stderr)
	_, stdout, _ = rollcall(t, "explain", "nodegroup/batch", "--bundle", unmapped, "-o", "json")
	expect.That(t, strings.Contains(stdout, `"1 instance of nodegroup/batch has findings (i-0bad0000000000001): rollcall explain --bundle `), "%s", stdout)
	live := explainFlags{stack: "rollcall", access: access{regions: []string{"eu-west-1"}}}
	live.again = live.sameSource()
	expect.Equal(t, live.toExplain(failing), "rollcall explain "+failing+" --stack rollcall --region eu-west-1", "command")
}

func TestAStuckNodeClaimIsExplainedByItsNameAndByItsNode(t *testing.T) {
	noAWS(t)
	dir := caseOf(t, "deleting-with-a-foreign-finalizer")
	_, stdout, _ := rollcall(t, "explain", "--bundle", dir, "--output", "json")
	var all report.ExplanationDocument
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all.Findings) != 1 {
		t.Fatalf("%v: %+v", err, all.Findings)
	}
	for _, subject := range []string{all.Findings[0].Subject, "node/" + all.Findings[0].Node} {
		code, stdout, stderr := rollcall(t, "explain", subject, "--bundle", dir, "--output", "json")
		var one report.ExplanationDocument
		if err := json.Unmarshal([]byte(stdout), &one); err != nil || code != ExitFindings || one.Subject != subject || len(one.Findings) != 1 || one.Findings[0].Kind != string(roll.Stuck) {
			t.Errorf("%s: exit %d, %v: %+v%s", subject, code, err, one.Findings, stderr)
		}
	}
}

// Unreadable is not the same as missing.
func TestASubjectThatCannotBeLookedUp(t *testing.T) {
	noAWS(t)
	refused(t, []string{"explain", "nodegroup/green", "--bundle", without(t, healthy, "nodegroups.json")}, `whether payments has a nodegroup "green" could not be read`)
}
