package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

func TestAnInstanceThatNeverRegistersIsTaggedAnnouncedAndTerminatedOnce(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: 6 * time.Minute})

	warned := a.remediate()
	same(t, "warned", kinds(warned.only(t)), []string{"Unregistered " + id})
	if warned.code != 2 || warned.only(t).Findings[0].Stage != "warned" || len(warned.only(t).Held) != 0 {
		t.Errorf("exit %d, %+v", warned.code, warned.only(t))
	}
	same(t, "writes of the warning", a.writes(), []string{"CreateTags " + id, "Publish " + a.topic})
	n := a.notices()
	if len(n) != 1 || n[0].Attributes["severity"] != "warning" || n[0].Attributes["kind"] != "Unregistered" || n[0].Attributes["cluster"] != "demo" || n[0].Attributes["action"] != "none" {
		t.Fatalf("notices of the warning: %+v", n)
	}

	a.later(10 * time.Minute) // past the deadline; the warning was the first observation
	ordered := a.remediate().only(t)
	same(t, "outcome", acted(ordered), []string{"acted " + id})
	must.That(t, len(ordered.Orders) == 1, "orders %+v", ordered.Orders)
	same(t, "writes of the act", a.writes(), []string{"CreateTags " + id, "Publish " + a.topic, "TerminateInstances " + id, "Publish " + a.topic})
	n = a.notices()
	must.That(t, len(n) == 2 && n[0].Attributes["action"] == "terminate" && n[1].Attributes["action"] == "terminated", "notices of the act: %+v", n)
	var doc report.NoticeDocument
	must.Succeed(t, json.Unmarshal([]byte(n[0].Message), &doc))
	expect.That(t, doc.Count == 1 && doc.Instances[0].Instance == id && doc.Instances[0].Order == ordered.Orders[0].ID, "the notice says %+v", doc)
	tags := a.tags(id)
	expect.That(t, tags[roll.TagOrder] == ordered.Orders[0].ID && tags[roll.TagFinding] == "Unregistered", "tags of the terminated instance: %v", tags)
	if state := a.state(id); state != "terminated" && state != "shutting-down" {
		t.Errorf("the instance is %s", state)
	}

	a.overAfterwards(id, "Unregistered")
}

// Most of the regions that are enabled for an account have no cluster.
func TestEveryRegionOfTheAccount(t *testing.T) {
	a := newAccount(t)
	a.fleet(2)
	all := a.check("--all-regions")
	c := all.only(t)
	expect.That(t, all.code == 0 && c.Cluster == testbed.ClusterName && c.Region == testbed.Region && c.Ready == 2, "exit %d, %+v, %s", all.code, c, all.stderr)
	n := a.count("ListClusters")
	expect.That(t, n >= 10, "the clusters of %d regions were listed", n)
}

func TestEvidenceIsPutIntoABucketBeforeTheAct(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	bucket := "rollcall-evidence"
	_, err := s3.NewFromConfig(bed.AWSConfig()).CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String(bucket), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: testbed.Region},
	})
	must.Succeed(t, err)
	a.evidence = "s3://" + bucket
	a.remediate()
	a.later(2 * time.Minute)
	same(t, "outcome", acted(a.remediate().only(t)), []string{"acted " + id})
	var order []string
	for _, w := range a.writes() {
		if action, _, _ := strings.Cut(w, " "); action == "PutObject" || action == "TerminateInstances" {
			order = append(order, action)
		}
	}
	same(t, "the bundle, the findings and the act", order, []string{"PutObject", "PutObject", "TerminateInstances"})
}

// overAfterwards checks repeatedly after an instance was terminated. It expects no findings
// and no writes, except one notice after ten minutes that the problem is over.
func (a *account) overAfterwards(id, kind string) {
	a.t.Helper()
	for _, pause := range []time.Duration{time.Minute, 8 * time.Minute, 3 * time.Minute, time.Hour} {
		a.later(pause)
		again := a.remediate()
		if again.code != 0 || len(again.only(a.t).Findings) != 0 {
			a.t.Errorf("%s later: exit %d, %+v", pause, again.code, again.only(a.t))
		}
		if pause != 3*time.Minute {
			a.nothingWritten(pause.String() + " later")
			continue
		}
		notice, doc := a.said("twelve minutes after the act")
		if notice != kind+" info resolved" || len(doc.Ended) != 1 || doc.Ended[0].Instance != id || doc.Ended[0].How != "acted" {
			a.t.Errorf("twelve minutes after the act: %s, %+v", notice, doc)
		}
	}
}

func TestTwoSightingsAMinuteApart(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: 20 * time.Minute})
	same(t, "first sight", held(a.remediate().only(t)), []string{"NotSeenTwice " + id})
	a.nothingDestroyed("first sight")
	a.later(50 * time.Second)
	same(t, "50 seconds later", held(a.remediate().only(t)), []string{"NotSeenTwice " + id})
	a.nothingDestroyed("50 seconds later")
	a.later(15 * time.Second) // an observation is dated at the end of its check
	same(t, "a minute later", acted(a.remediate().only(t)), []string{"acted " + id})
}

func TestANodeThatTheControllerFoundSilent(t *testing.T) {
	a := newAccount(t)
	ids := a.fleet(4)
	silent := ids[1]
	bed.Silence(silent)
	must.Succeed(t, bed.WaitUnknown(t.Context(), silent))

	fresh := a.remediate()
	if fresh.code != 0 || len(fresh.only(t).Watching) != 1 || fresh.only(t).Watching[0].Kind != "Unknown" {
		t.Errorf("just silent: exit %d, %+v", fresh.code, fresh.only(t))
	}
	same(t, "writes while it is within its tolerance", a.writes(), nil)

	a.later(31 * time.Minute)
	d := a.remediate().only(t)
	same(t, "past its tolerance", kinds(d), []string{"Unknown " + silent})
	same(t, "past its tolerance", acted(d), []string{"acted " + silent})
	same(t, "writes past its tolerance", a.writes(), []string{"CreateTags " + silent, "Publish " + a.topic, "RebootInstances " + silent, "Publish " + a.topic})
	same(t, "writes to the cluster past its tolerance", a.kubeWrites(), nil) // a silent node cannot be drained
	a.later(9 * time.Minute)
	same(t, "while the reboot may still help", acted(a.remediate().only(t)), nil)
	a.nothingDestroyed("while the reboot may still help")
	a.later(2 * time.Minute)
	d = a.remediate().only(t)
	same(t, "at the ladder's last step", acted(d), []string{"acted " + silent})
	same(t, "writes at the ladder's last step", a.writes(), []string{"CreateTags " + silent, "Publish " + a.topic, "TerminateInstances " + silent, "Publish " + a.topic})
	expect.That(t, strings.Contains(d.Findings[0].Summary, "NodeStatusUnknown"), "summary %q", d.Findings[0].Summary)
	must.Succeed(t, bed.DeleteNode(t.Context(), silent)) // as the cloud controller manager does
	a.notices()
	a.overAfterwards(silent, "Unknown")
}

func TestANotReadyNodeIsOnlyAnnouncedIfPolicySaysSo(t *testing.T) {
	a := newAccount(t)
	ids := a.fleet(3)
	sick := ids[0]
	must.Succeed(t, bed.SetReady(t.Context(), sick, corev1.ConditionFalse, "KubeletNotReady", time.Now().Add(-20*time.Minute)))
	p := a.policy("ladders: {NotReady: [{do: tag}, {do: notify}]}\n")
	for range 3 {
		same(t, "finding", kinds(a.remediate("--policy", p).only(t)), []string{"NotReady " + sick})
		a.nothingDestroyed("a ladder that only tells")
		a.later(2 * time.Minute)
	}
	n := a.notices()
	expect.That(t, len(n) == 1, "%d notices, want 1", len(n))
	p = a.policy("ladders: {NotReady: [{do: tag}, {do: notify}, {do: terminate, after: 5m}]}\n")
	d := a.remediate("--policy", p).only(t)
	same(t, "with a ladder that ends in terminate", acted(d), []string{"acted " + sick})
	same(t, "terminated", a.writes()[2:3], []string{"TerminateInstances " + sick})
}

func TestANotReadyNodeIsCordonedDrainedAndTerminated(t *testing.T) {
	a := newAccount(t)
	ids := a.fleet(3)
	sick := ids[0]
	must.Succeed(t, bed.SetReady(t.Context(), sick, corev1.ConditionFalse, "KubeletNotReady", time.Now().Add(-20*time.Minute)))
	must.Succeed(t, bed.RunPod(t.Context(), testbed.PodSpec{Name: "web-1", Node: sick}))
	must.Succeed(t, bed.RunPod(t.Context(), testbed.PodSpec{Name: "agent", Node: sick, DaemonSet: true}))
	same(t, "first sight", held(a.remediate().only(t)), []string{"NotSeenTwice " + sick})
	a.nothingDestroyed("first sight")

	a.later(2 * time.Minute)
	same(t, "cordon", acted(a.remediate().only(t)), []string{"acted " + sick})
	same(t, "writes of the cordon", a.kubeWrites(), []string{"patch nodes " + sick})
	a.later(time.Minute)
	same(t, "drain", acted(a.remediate().only(t)), []string{"ongoing " + sick})
	same(t, "writes of the drain", a.kubeWrites(), []string{"create pods/eviction web-1"})
	a.later(time.Minute)
	same(t, "drained", acted(a.remediate().only(t)), []string{"acted " + sick})
	same(t, "writes when drained", a.kubeWrites(), nil)
	a.later(time.Minute)
	same(t, "terminate", acted(a.remediate().only(t)), []string{"acted " + sick})
	same(t, "writes of the termination", a.writes(), []string{"CreateTags " + sick, "Publish " + a.topic, "TerminateInstances " + sick, "Publish " + a.topic})
	same(t, "writes of the termination to the cluster", a.kubeWrites(), nil)
	pods, err := bed.PodNames(t.Context())
	must.Succeed(t, err)
	same(t, "pods left", pods, []string{"agent"})
}

func TestAHealthyFleetOverSeveralPages(t *testing.T) {
	a := newAccount(t)
	a.fleet(50)
	must.Succeed(t, bed.SetPageSize(t.Context(), 20))
	r := a.remediate()
	d := r.only(t)
	expect.That(t, r.code == 0 && d.Nodes == 50 && d.Ready == 50 && d.Complete && len(d.Notes) == 0, "exit %d, %+v", r.code, d)
	pages := a.count("DescribeInstances")
	expect.That(t, pages == 3, "%d pages of instances, want 3", pages)
	same(t, "writes", a.writes(), nil)
}

func TestWhatCannotBeReadIsNotJudgedAndNothingIsDestroyed(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	down := "https://" + closed.Addr().String()
	must.Succeed(t, closed.Close())

	tests := []struct {
		name   string
		spoil  func(t *testing.T)
		note   string
		reason string // of the notice that the cluster cannot be judged; "" if nobody knows which cluster it is
	}{
		{"the API server refuses the token", func(t *testing.T) {
			must.Succeed(t, bed.SetAWSAuth(t.Context(), "- rolearn: arn:aws:iam::123456789012:role/somebody-else\n  username: x\n  groups: [x]\n"))
		}, "401 Unauthorized", "ClusterUnreachable"},
		{"the role is mapped, but may not read nodes", func(t *testing.T) {
			must.Succeed(t, bed.SetAWSAuth(t.Context(), "- rolearn: arn:aws:iam::123456789012:role/rollcall-operator\n  username: x\n  groups: [x]\n"))
		}, "infra/rbac.yaml", "SnapshotIncomplete"},
		{"the API server is down", func(t *testing.T) {
			must.Succeed(t, bed.SetCluster(t.Context(), testbed.ClusterName, testbed.ClusterChange{Endpoint: down}))
		}, "did not answer", "ClusterUnreachable"},
		{"the cluster is updating", func(t *testing.T) {
			must.Succeed(t, bed.SetCluster(t.Context(), testbed.ClusterName, testbed.ClusterChange{Status: "UPDATING"}))
		}, "UPDATING", "ClusterNotActive"},
		{"the second page of instances is throttled", func(t *testing.T) {
			must.Succeed(t, bed.SetPageSize(t.Context(), 2))
			must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "ec2", Action: "DescribeInstances", Page: 2, Kind: testbed.Throttle}))
		}, "ec2:DescribeInstances", "SnapshotIncomplete"},
		{"listing instances is denied", func(t *testing.T) {
			must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "ec2", Action: "DescribeInstances", Kind: testbed.Deny}))
		}, "ec2:DescribeInstances", "SnapshotIncomplete"},
		{"describing the cluster is denied", func(t *testing.T) {
			must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "eks", Action: "DescribeCluster", Kind: testbed.Deny}))
		}, "eks:DescribeCluster", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAccount(t)
			ids := a.fleet(3)
			a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
			must.Succeed(t, bed.SetReady(t.Context(), ids[2], corev1.ConditionUnknown, "NodeStatusUnknown", time.Now().Add(-2*time.Hour)))
			tt.spoil(t)
			for i := range 4 {
				r := a.remediate()
				d := r.only(t)
				if r.code != 1 || d.Complete || len(d.Orders) != 0 || len(d.Outcomes) != 0 {
					t.Errorf("exit %d, complete %v, orders %+v, outcomes %+v", r.code, d.Complete, d.Orders, d.Outcomes)
				}
				expect.That(t, slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, tt.note) }), "notes %q do not say %q", d.Notes, tt.note)
				a.later(10 * time.Minute)
				// A person is notified once, after a quarter of an hour; nothing else is written.
				if i != 2 || tt.reason == "" {
					a.nothingWritten("not judged")
					continue
				}
				notice, doc := a.said("not judged for 20 minutes")
				expect.That(t, notice == "Cluster critical none" && doc.Reason == tt.reason, "not judged for 20 minutes: %s because of %s, want %s", notice, doc.Reason, tt.reason)
			}
		})
	}
}

func TestOneThrottledPageIsAskedForAgain(t *testing.T) {
	a := newAccount(t)
	a.fleet(5)
	must.Succeed(t, bed.SetPageSize(t.Context(), 2))
	must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "ec2", Action: "DescribeInstances", Page: 2, Times: 1, Kind: testbed.Throttle}))
	if r := a.remediate(); r.code != 0 || !r.only(t).Complete || r.only(t).Nodes != 5 {
		t.Errorf("exit %d, %+v", r.code, r.only(t))
	}
}

func TestBastionAndNATAreListedAndNeverTouched(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	bastion := a.instance(testbed.InstanceSpec{Name: "bastion", LaunchedAgo: 48 * time.Hour, UserData: "#!/bin/bash\naws eks update-kubeconfig --name demo\n"})
	nat := a.instance(testbed.InstanceSpec{Name: "nat", LaunchedAgo: 48 * time.Hour})
	p := a.policy("owners: {none: terminate}\n")
	for range 3 {
		r := a.remediate("--policy", p)
		d := r.only(t)
		var listed []string
		for _, n := range d.NotNodes {
			listed = append(listed, n.Name+" "+string(n.Instance))
		}
		slices.Sort(listed)
		same(t, "tagged, not a node", listed, []string{"bastion " + bastion, "nat " + nat})
		expect.That(t, r.code == 0, "exit %d: %+v", r.code, d.Findings)
		same(t, "writes", a.writes(), nil)
		a.later(10 * time.Minute)
	}
}

func TestWhoMayBeTerminated(t *testing.T) {
	bootstrap := "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"
	karpenter := map[string]string{"karpenter.sh/nodepool": "default"}
	tests := []struct {
		name   string
		spec   testbed.InstanceSpec
		policy string
		want   string // reason; "" is acted on
	}{
		{"managed node group", testbed.InstanceSpec{Group: "eks-managed", Tags: map[string]string{"eks:nodegroup-name": "managed", "eks:cluster-name": "demo"}}, "", ""},
		{"Karpenter, which would have ended it long ago", testbed.InstanceSpec{Tags: karpenter}, "", ""},
		{"Karpenter, which still has time to", testbed.InstanceSpec{Tags: karpenter, LaunchedAgo: 16 * time.Minute}, "", "OwnerWillAct"},
		{"Karpenter, policy only notifies", testbed.InstanceSpec{Tags: karpenter}, "owners: {karpenter: notify}\n", "OwnerNotifyOnly"},
		{"Auto Mode", testbed.InstanceSpec{Managed: true, Tags: map[string]string{"eks:kubernetes-node-pool-name": "general-purpose"}}, "", "OwnerNotifyOnly"},
		{"bare, meant to be a node", testbed.InstanceSpec{UserData: bootstrap}, "limits: {causeOutside: tryOnce}\n", "OwnerNotifyOnly"},
		{"bare, meant to be a node, policy opts in", testbed.InstanceSpec{UserData: bootstrap}, "owners: {none: terminate}\nlimits: {causeOutside: tryOnce}\n", ""},
		{"protected", testbed.InstanceSpec{Group: "workers", Protected: true}, "", "TerminationProtected"},
		{"held", testbed.InstanceSpec{Group: "workers", Tags: map[string]string{"rollcall:hold": "true"}}, "", "InstanceHeld"},
		{"ignored", testbed.InstanceSpec{Group: "workers", Tags: map[string]string{"rollcall:ignore": "true"}}, "", "InstanceIgnored"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAccount(t)
			a.fleet(3)
			if name := tt.spec.Tags["eks:nodegroup-name"]; name != "" {
				must.Succeed(t, bed.SetNodeGroup(t.Context(), testbed.ClusterName, name, testbed.NodeGroupChange{}))
			}
			tt.spec.LaunchedAgo = cmp.Or(tt.spec.LaunchedAgo, time.Hour)
			id := a.instance(tt.spec)
			if pool := tt.spec.Tags["karpenter.sh/nodepool"]; pool != "" {
				must.Succeed(t, bed.CreateNodeClaim(t.Context(), testbed.NodeClaimSpec{Name: pool + "-x", NodePool: pool, InstanceID: id, Created: time.Now().Add(-tt.spec.LaunchedAgo)}))
			}
			p := a.policy(tt.policy)
			a.remediate("--policy", p)
			a.later(2 * time.Minute)
			d := a.remediate("--policy", p).only(t)
			same(t, "finding", kinds(d), []string{"Unregistered " + id})
			if tt.want == "" {
				same(t, "outcome", acted(d), []string{"acted " + id})
				return
			}
			same(t, "held", held(d), []string{tt.want + " " + id})
			a.nothingDestroyed(tt.name)
		})
	}
}

// Without permission to list NodeClaims, what Karpenter is about to do is unknown.
func TestWhatKarpenterDoesIsUnknownWhereItsNodeClaimsCannotBeRead(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Tags: map[string]string{"karpenter.sh/nodepool": "default"}, LaunchedAgo: time.Hour})
	must.Succeed(t, bed.CreateNodeClaim(t.Context(), testbed.NodeClaimSpec{Name: "default-x", InstanceID: id, Created: time.Now().Add(-time.Hour)}))
	must.Succeed(t, bed.Apply(t.Context(), nodesOnly))
	must.Succeed(t, bed.SetAWSAuth(t.Context(), "- rolearn: "+testbed.OperatorRoleARN+"\n  username: x\n  groups: [nodes-only]\n"))
	for range 3 {
		r := a.remediate()
		same(t, "finding", kinds(r.only(t)), []string{"Unregistered " + id})
		same(t, "held", held(r.only(t)), []string{"OwnerUnknown " + id})
		if r.code != 1 || !strings.Contains(strings.Join(r.only(t).Notes, "\n"), "infra/rbac.yaml") {
			t.Errorf("exit %d, notes %q, want the file that grants it", r.code, r.only(t).Notes)
		}
		a.nothingDestroyed("NodeClaims cannot be read")
		a.later(5 * time.Minute)
	}
}

// nodesOnly is what infra/rbac.yaml granted before Rollcall read NodeClaims.
const nodesOnly = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: nodes-only}
rules: [{apiGroups: [""], resources: ["nodes"], verbs: ["list"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: nodes-only}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodes-only}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: nodes-only}]
`

func TestNothingIsDoneInAZoneThatIsShiftedAway(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	shiftable := true
	must.Succeed(t, bed.SetCluster(t.Context(), testbed.ClusterName, testbed.ClusterChange{ZonalShift: &shiftable}))
	must.Succeed(t, bed.SetShifts(t.Context(), testbed.ClusterName, testbed.Shift{AwayFrom: "euw1-az3", AppliedStatus: "APPLIED", StartTime: time.Now()}))
	a.remediate()
	for range 2 {
		a.later(2 * time.Minute)
		same(t, "while the cluster is shifted", held(a.remediate().only(t)), []string{"ZonalShift " + id})
		a.nothingDestroyed("while the cluster is shifted")
	}
	must.Succeed(t, bed.SetShifts(t.Context(), testbed.ClusterName))
	a.later(2 * time.Minute)
	same(t, "after the shift", acted(a.remediate().only(t)), []string{"acted " + id})
}

func TestANodeThatRegistersBetweenOrderAndActIsLeft(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	a.remediate()
	a.later(2 * time.Minute)
	reads := 0
	a.now = func() {
		// The clock is read for the check, and again right before the act.
		if reads++; reads == 2 {
			a.join(id, corev1.ConditionTrue, 0)
		}
	}
	d := a.remediate().only(t)
	same(t, "outcome", acted(d), []string{"refused VerdictChanged " + id})
	a.nothingDestroyed("the node registered in between")
	a.now = nil
	a.later(time.Minute)
	if d := a.remediate().only(t); len(d.Findings) != 0 {
		t.Errorf("afterwards: findings %+v", d.Findings)
	}
	for key, value := range a.tags(id) {
		expect.That(t, !slices.Contains(roll.MarkKeys(), key), "afterwards: it still has the tag %s=%s", key, value)
	}
}

func TestSettingThePolicyToObserveStopsTheAct(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	p := a.policy("")
	a.remediate("--policy", p)
	a.later(2 * time.Minute)
	reads := 0
	a.now = func() {
		if reads++; reads == 2 {
			must.Succeed(t, os.WriteFile(p, []byte("apiVersion: rollcall/v1\nmode: observe\n"), 0o600))
		}
	}
	same(t, "outcome", acted(a.remediate("--policy", p).only(t)), []string{"refused ModeObserve " + id})
	a.nothingDestroyed("the policy was set to observe in between")
}

func TestObserveAndNotifyWriteOnlyWhatTheyMay(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	for range 3 {
		r := a.check("--cluster", "demo", "--ledger", a.ledger, "--topic", a.topic)
		expect.Equal(t, r.code, 2, "exit")
		same(t, "writes in mode observe", a.writes(), nil)
		a.later(5 * time.Minute)
	}
	for i := range 3 {
		a.check("--cluster", "demo", "--mode", "notify", "--ledger", a.ledger, "--topic", a.topic)
		want := []string{"CreateTags " + id, "Publish " + a.topic}
		if i > 0 {
			want = nil
		}
		same(t, "writes in mode notify", a.writes(), want)
		a.later(5 * time.Minute)
	}
	a.remediate()
	a.later(5 * time.Minute)
	same(t, "found before remediate was on", held(a.remediate().only(t)), []string{"FoundBeforeRemediate " + id})
	a.nothingDestroyed("the finding is older than mode remediate")
}

func TestAMissingPermissionForDetailsIsNamedAndTheRestGoesOn(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "autoscaling", Action: "DescribeAutoScalingInstances", Kind: testbed.Deny}))
	for range 2 {
		r := a.remediate()
		d := r.only(t)
		// The instance might be in a warm pool: what cannot be read is not judged.
		same(t, "findings", kinds(d), nil)
		if r.code != 1 || !strings.Contains(strings.Join(d.Notes, "\n"), "autoscaling:DescribeAutoScalingInstances") || !strings.Contains(strings.Join(d.Notes, "\n"), "rollcall-operator") {
			t.Errorf("exit %d, notes %q, want the call and the principal named", r.code, d.Notes)
		}
		a.nothingDestroyed("a permission is missing")
		a.later(5 * time.Minute)
	}
}

// A node's provider ID is whatever its kubelet was configured to write. It must not
// direct Rollcall at an instance outside the cluster.
func TestANodeCannotAimAtAnInstanceThatIsNotOfTheCluster(t *testing.T) {
	a := newAccount(t)
	a.fleet(4)
	database, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Name: "orders-database", LaunchedAgo: 90 * time.Hour})
	must.Succeed(t, err)
	foreign, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Name: "other's node", LaunchedAgo: 90 * time.Hour, Group: "others", Tags: map[string]string{"eks:cluster-name": "other", "kubernetes.io/cluster/other": "owned"}})
	must.Succeed(t, err)
	for _, id := range []string{database, foreign} {
		_, err := bed.JoinNode(t.Context(), testbed.NodeSpec{InstanceID: id, Labels: map[string]string{"eks.amazonaws.com/nodegroup": "workers"}, Ready: corev1.ConditionUnknown, ReadySince: time.Now().Add(-3 * time.Hour)})
		must.Succeed(t, err)
	}
	p := a.policy("owners: {none: terminate}\n")
	for range 3 {
		d := a.remediate("--policy", p).only(t)
		same(t, "findings", kinds(d), []string{"Unknown " + database})
		same(t, "held", held(d), []string{"NotClaimed " + database})
		a.nothingDestroyed("a node names an instance of others")
		a.later(5 * time.Minute)
	}
}

func TestAllClustersOfTheRegion(t *testing.T) {
	a := newAccount(t)
	a.fleet(2)
	// The token names its cluster, so the bed's API server refuses one for another.
	must.Succeed(t, bed.CreateCluster(t.Context(), "other"))
	r := a.check()
	var got []string
	for _, d := range r.checks {
		got = append(got, fmt.Sprintf("%s %v", d.Cluster, d.Complete))
	}
	same(t, "clusters", got, []string{"demo true", "other false"})
	expect.That(t, r.code == 1, "exit %d, want 1: one cluster could not be read", r.code)
}

func TestAnUnknownClusterAndAnotherRegion(t *testing.T) {
	a := newAccount(t)
	r := a.check("--cluster", "Demo")
	expect.That(t, r.code == 1 && strings.Contains(strings.Join(r.only(t).Notes, " "), `there is no EKS cluster "Demo"`), "exit %d, %+v", r.code, r.checks)
	r = a.check("--region", "eu-central-1")
	expect.That(t, r.code == 0 && len(r.checks) == 0 && strings.Contains(r.stderr, "no EKS cluster in eu-central-1"), "exit %d, %+v, %q", r.code, r.checks, r.stderr)
}

func TestActionsPerHourAreCountedOverChecks(t *testing.T) {
	a := newAccount(t)
	a.fleet(16)
	// Each instance has its own group, because a group waits for its replacement in any
	// case.
	for i := range 4 {
		group := fmt.Sprintf("workers-%d", i)
		a.join(a.instance(testbed.InstanceSpec{Group: group, LaunchedAgo: 5 * time.Hour}), corev1.ConditionTrue, 5*time.Hour-time.Minute)
		a.instance(testbed.InstanceSpec{Group: group, LaunchedAgo: time.Hour})
	}
	p := a.policy("limits: {actionsPerHour: 2, actionsPerCheck: 2}\n")
	a.remediate("--policy", p)
	acts := 0
	for range 4 {
		a.later(2 * time.Minute)
		acts += len(a.remediate("--policy", p).only(t).Outcomes)
	}
	expect.That(t, acts == 2, "%d acts within the hour, want 2", acts)
	a.later(time.Hour)
	d := a.remediate("--policy", p).only(t)
	expect.That(t, len(d.Outcomes) == 2, "an hour later: %+v", d)
}

func (a *account) describe(id string) ec2types.Instance {
	a.t.Helper()
	out, err := ec2.NewFromConfig(bed.AWSConfig()).DescribeInstances(a.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	must.Succeed(a.t, err)
	return out.Reservations[0].Instances[0]
}

func (a *account) tags(id string) map[string]string {
	a.t.Helper()
	tags := map[string]string{}
	for _, t := range a.describe(id).Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

func (a *account) state(id string) string { return string(a.describe(id).State.Name) }
