package bundle

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/observe"
	"rollcall/shared/observe/collect"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// gather reads with the clients as explain and capture do, and collects the evidence for the
// findings of the small bundle.
func gather(t *testing.T, c clients, remembered map[string]evidence.Remembered) *evidence.Evidence {
	t.Helper()
	o := observe.New(observe.Options{AWS: c.aws, Kube: c.kube, PageInterval: time.Nanosecond})
	s := o.Snapshot(t.Context(), "demo", captured, roll.Watch{})
	o.Details(t.Context(), s, []roll.Question{{Instance: "i-0f100000000000001", UserData: true, NodeClaim: true}})
	must.That(t, s.Whole(), "gaps: %+v", s.Gaps)
	findings := []roll.Finding{
		{Kind: roll.Unregistered, Instance: "i-0f100000000000001", Owner: roll.OwnerKarpenter, Group: "nodepool/default", Stage: roll.Overdue},
		{Kind: roll.Unknown, Instance: "i-0f200000000000001", Node: node, Owner: roll.OwnerKarpenter, Group: "nodepool/default", Stage: roll.Overdue},
	}
	return collect.New(collect.Options{AWS: c.aws, Kube: c.kube, Free: true}).
		Collect(t.Context(), collect.Input{Snapshot: s, Findings: findings, Whole: true, Remembered: remembered})
}

// The evidence of a diagnosis is the same before and after it is written to files.
func TestEvidenceOfARecordingIsThatOfItsSource(t *testing.T) {
	source := opened(t, small(t))
	remembered, _ := source.Remembered()
	r := NewRecorder(captured)
	r.Remember(remembered)
	recorded := of(source).recorded(r)
	want := gather(t, recorded, remembered)
	client, err := recorded.kube.Dial(roll.Cluster{})
	must.Succeed(t, err)
	for _, q := range []kube.Question{kube.AllNodes(), kube.AllLeases(), kube.NodeClaimsOf("default")} {
		if _, err := client.Read(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	again := opened(t, asFS(written(t, r)))
	remembered, _ = again.Remembered()
	got := gather(t, of(again), remembered)
	diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Transformer("policy", fields))
	expect.That(t, diff == "", "the evidence differs: %s", diff)
	i := got.Instances["i-0f100000000000001"]
	expect.That(t, i.Config.Known() && i.UserData.Known() && i.Status.Known() && got.Cluster.AwsAuth.Known() && got.Cluster.AccessEntries.Known() && got.Roles["demo-node"].Known() && got.Nodes[node].Lease.Known(), "too little was read: %+v", got)
}

// fields returns a role with its policy in pieces, because the order of fields does not matter.
func fields(r evidence.Role) map[string]any {
	var policy any
	if err := json.Unmarshal([]byte(r.TrustPolicy), &policy); err != nil {
		policy = err.Error()
	}
	return map[string]any{"ARN": r.ARN, "Name": r.Name, "Created": r.Created.String(), "TrustPolicy": policy}
}

func TestEvidenceOfThreeFilesIsUnreadAndNeverAbsent(t *testing.T) {
	got := gather(t, of(opened(t, least(t))), nil)
	i := got.Instances["i-0f100000000000001"]
	for name, state := range map[string]evidence.State{
		"status": i.Status.State, "user data": i.UserData.State, "console": i.Console.State, "aws-auth": got.Cluster.AwsAuth.State,
		"access entries": got.Cluster.AccessEntries.State, "webhooks": got.Cluster.Webhooks.State,
		"profile": got.Profiles["arn:aws:iam::111122223333:instance-profile/demo-node"].State, "image": got.Images["ami-0b1"].State,
		"subnet": got.Network.Subnets["subnet-0a1"].State, "route table": got.Network.RouteTables["subnet-0a1"].State, "ACL": got.Network.ACLs["subnet-0a1"].State,
		"DNS": got.Network.VPCs["vpc-0d1"].DNSSupport.State, "DHCP": got.Network.VPCs["vpc-0d1"].DHCP.State, "endpoints": got.Network.VPCs["vpc-0d1"].Endpoints.State,
		"lease": got.Nodes[node].Lease.State, "events": got.Nodes[node].Events.State, "pods": got.Nodes[node].Pods.State,
		"NodeClaims": got.Groups["nodepool/default"].NodeClaims.State, "node pool": got.Groups["nodepool/default"].NodePool.State,
	} {
		expect.Equal(t, state, evidence.Unreadable, "%s", name)
	}
	expect.That(t, got.Cluster.Config.Known() && i.Config.Known() && got.Nodes[node].Object.Known(), "what the three files hold was not read: %+v", got)
}
