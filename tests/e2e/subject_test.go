package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/functions/local/command"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// Groups, and objects without an instance, are explained from the account itself, from a
// ledger file, and by a deployment.
func TestWhatIsNoInstanceIsExplained(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	d := deploy(t, "notify")
	must.Succeed(t, bed.SetNodeGroup(t.Context(), testbed.ClusterName, "blue", testbed.NodeGroupChange{
		Status: "CREATE_FAILED", Issues: &[]testbed.NodeGroupIssue{{Code: "Ec2SubnetNotFound", Message: "The subnet ID 'subnet-0123456789abcdef0' does not exist"}},
	}))
	must.Succeed(t, bed.SetNodeGroup(t.Context(), testbed.ClusterName, "green", testbed.NodeGroupChange{}))
	must.Succeed(t, bed.CreateNodeClaim(t.Context(), testbed.NodeClaimSpec{
		Name: "batch-w8t4k", NodePool: "batch", Created: time.Now().Add(-20 * time.Minute),
		Conditions: []metav1.Condition{{Type: "Launched", Status: "False", Reason: "LaunchFailed", Message: "creating instance: VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 32 allows"}},
	}))
	nodes, err := bed.Kube().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	must.Succeed(t, err)

	type answer struct {
		exit int
		says []string
	}
	asks := map[string]answer{
		"nodegroup/blue":               {command.ExitFindings, []string{"Unlaunched nodegroup/blue", "CREATE_FAILED", "LaunchSubnetInvalid, decisive"}},
		"nodegroup/green":              {command.ExitOK, []string{"nothing is wrong with launches of nodegroup/green"}},
		"nodegroup/red":                {command.ExitError, []string{`has no nodegroup "red": it has blue, green`}},
		"nodepool/batch":               {command.ExitFindings, []string{"Unlaunched nodepool/batch", "LaunchQuotaExceeded, decisive"}},
		"nodeclaim/batch-w8t4k":        {command.ExitFindings, []string{"Unlaunched nodepool/batch", "LaunchQuotaExceeded, decisive"}},
		"nodeclaim/batch-x":            {command.ExitError, []string{`has no nodeclaim "batch-x": it has batch-w8t4k`}},
		"asg/workers":                  {command.ExitOK, []string{"nothing is wrong with launches of asg/workers"}},
		"asg/others":                   {command.ExitError, []string{`has no asg "others"`, "workers"}},
		"node/" + nodes.Items[0].Name:  {command.ExitOK, []string{"nothing is wrong with node/" + nodes.Items[0].Name}},
		"node/ip-10-9-9-9.example.com": {command.ExitError, []string{`has no node "ip-10-9-9-9.example.com"`, nodes.Items[0].Name}},
	}
	ask := func(how string, flags ...string) {
		t.Helper()
		for subject, want := range asks {
			code, stdout, stderr := a.run(testbed.Viewer, append([]string{"explain", subject}, flags...)...)
			expect.That(t, code == want.exit, "explain %s %s: exit %d, want %d\n%s%s", subject, how, code, want.exit, stdout, stderr)
			for _, text := range want.says {
				expect.That(t, strings.Contains(stdout+stderr, text), "explain %s %s does not say %q:\n%s%s", subject, how, text, stdout, stderr)
			}
			a.nothingWritten("explain " + subject)
		}
	}
	ask("live")
	// The answers are the same when the ledger remembers the findings.
	a.notify()
	ask("by a ledger file", "--ledger", a.ledger)
	d.takeOver(a)
	ask("by a deployment", "--stack", "rollcall")

	// The problem is over: the ledger says so, and EKS does too by now.
	must.Succeed(t, bed.SetNodeGroup(t.Context(), testbed.ClusterName, "blue", testbed.NodeGroupChange{Status: "ACTIVE", Issues: &[]testbed.NodeGroupIssue{}}))
	a.later(20 * time.Minute)
	a.notify()
	d.takeOver(a)
	e := a.ask(command.ExitOK, "nodegroup/blue")
	got := past(e)
	expect.That(t, len(got) != 0, "nobody tells what was wrong with nodegroup/blue: %+v", e)
}

// notify runs rollcall check in mode notify.
func (a *account) notify() {
	a.t.Helper()
	a.check("--cluster", testbed.ClusterName, "--mode", "notify", "--ledger", a.ledger, "--topic", a.topic)
}
