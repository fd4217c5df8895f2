package e2e

import (
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
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/report"
	"rollcall/shared/roll"
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

	a.later(10 * time.Minute) // past the deadline; the warning was the first sighting
	ordered := a.remediate().only(t)
	same(t, "outcome", acted(ordered), []string{"acted " + id})
	if len(ordered.Orders) != 1 {
		t.Fatalf("orders %+v", ordered.Orders)
	}
	same(t, "writes of the act", a.writes(), []string{"CreateTags " + id, "Publish " + a.topic, "TerminateInstances " + id, "Publish " + a.topic})
	n = a.notices()
	if len(n) != 2 || n[0].Attributes["action"] != "terminate" || n[1].Attributes["action"] != "terminated" {
		t.Fatalf("notices of the act: %+v", n)
	}
	var doc report.NoticeDocument
	must(t, json.Unmarshal([]byte(n[0].Message), &doc))
	if doc.Count != 1 || doc.Instances[0].Instance != id || doc.Instances[0].Order != ordered.Orders[0].ID {
		t.Errorf("the notice says %+v", doc)
	}
	tags := a.tags(id)
	if tags[roll.TagOrder] != ordered.Orders[0].ID || tags[roll.TagFinding] != "Unregistered" {
		t.Errorf("tags of the terminated instance: %v", tags)
	}
	if state := a.state(id); state != "terminated" && state != "shutting-down" {
		t.Errorf("the instance is %s", state)
	}

	for _, pause := range []time.Duration{time.Minute, 10 * time.Minute, time.Hour} {
		a.later(pause)
		again := a.remediate()
		same(t, "writes after the act", a.writes(), nil)
		if again.code != 0 || len(a.notices()) != 0 {
			t.Errorf("%s after the act: exit %d, %+v", pause, again.code, again.only(t))
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
	a.later(15 * time.Second) // a sighting dates from the end of its look
	same(t, "a minute later", acted(a.remediate().only(t)), []string{"acted " + id})
}

func TestANodeThatTheControllerFoundSilent(t *testing.T) {
	a := newAccount(t)
	ids := a.fleet(4)
	silent := ids[1]
	bed.Silence(silent)
	must(t, bed.WaitUnknown(t.Context(), silent))

	fresh := a.remediate()
	if fresh.code != 0 || len(fresh.only(t).Watching) != 1 || fresh.only(t).Watching[0].Kind != "Unknown" {
		t.Errorf("just silent: exit %d, %+v", fresh.code, fresh.only(t))
	}
	same(t, "writes while it is within its tolerance", a.writes(), nil)

	a.later(31 * time.Minute)
	same(t, "past its tolerance", kinds(a.remediate().only(t)), []string{"Unknown " + silent})
	a.nothingDestroyed("past its tolerance, before the ladder's last step")
	a.later(10 * time.Minute)
	d := a.remediate().only(t)
	same(t, "at the ladder's last step", acted(d), []string{"acted " + silent})
	if !strings.Contains(d.Findings[0].Summary, "NodeStatusUnknown") {
		t.Errorf("summary %q", d.Findings[0].Summary)
	}
	a.later(10 * time.Minute)
	if again := a.remediate().only(t); len(again.Findings) != 0 {
		t.Errorf("after the act: %+v", again.Findings)
	}
	same(t, "writes after the act", a.writes(), nil)
}

func TestANotReadyNodeIsAnnouncedAndTerminatedOnlyIfPolicySaysSo(t *testing.T) {
	a := newAccount(t)
	ids := a.fleet(3)
	sick := ids[0]
	must(t, bed.SetReady(t.Context(), sick, corev1.ConditionFalse, "KubeletNotReady", time.Now().Add(-20*time.Minute)))
	for range 2 {
		same(t, "finding", kinds(a.remediate().only(t)), []string{"NotReady " + sick})
		a.nothingDestroyed("default policy")
		a.later(2 * time.Minute)
	}
	if n := a.notices(); len(n) != 1 {
		t.Errorf("%d notices, want 1", len(n))
	}
	p := a.policy("ladders: {NotReady: [{do: tag}, {do: notify}, {do: terminate, after: 5m}]}\n")
	d := a.remediate("--policy", p).only(t)
	same(t, "with a ladder that ends in terminate", acted(d), []string{"acted " + sick})
}

func TestAHealthyFleetOverSeveralPages(t *testing.T) {
	a := newAccount(t)
	a.fleet(50)
	must(t, bed.SetPageSize(t.Context(), 20))
	r := a.remediate()
	d := r.only(t)
	if r.code != 0 || d.Nodes != 50 || d.Ready != 50 || !d.Complete || len(d.Notes) != 0 {
		t.Errorf("exit %d, %+v", r.code, d)
	}
	if pages := a.count("DescribeInstances"); pages != 3 {
		t.Errorf("%d pages of instances, want 3", pages)
	}
	same(t, "writes", a.writes(), nil)
}

func TestWhatCannotBeReadIsNotJudgedAndNothingIsDestroyed(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	down := "https://" + closed.Addr().String()
	must(t, closed.Close())

	tests := []struct {
		name  string
		spoil func(t *testing.T)
		note  string
	}{
		{"the API server refuses the token", func(t *testing.T) {
			must(t, bed.SetAWSAuth(t.Context(), "- rolearn: arn:aws:iam::123456789012:role/somebody-else\n  username: x\n  groups: [x]\n"))
		}, "401 Unauthorized"},
		{"the role is mapped, but may not read nodes", func(t *testing.T) {
			must(t, bed.SetAWSAuth(t.Context(), "- rolearn: arn:aws:iam::123456789012:role/rollcall-viewer\n  username: x\n  groups: [x]\n"))
		}, "infra/rbac.yaml"},
		{"the API server is down", func(t *testing.T) {
			must(t, bed.SetCluster(t.Context(), testbed.ClusterName, testbed.ClusterChange{Endpoint: down}))
		}, "did not answer"},
		{"the cluster is updating", func(t *testing.T) {
			must(t, bed.SetCluster(t.Context(), testbed.ClusterName, testbed.ClusterChange{Status: "UPDATING"}))
		}, "UPDATING"},
		{"the second page of instances is throttled", func(t *testing.T) {
			must(t, bed.SetPageSize(t.Context(), 2))
			must(t, bed.Inject(t.Context(), testbed.Fault{Service: "ec2", Action: "DescribeInstances", Page: 2, Kind: testbed.Throttle}))
		}, "ec2:DescribeInstances"},
		{"listing instances is denied", func(t *testing.T) {
			must(t, bed.Inject(t.Context(), testbed.Fault{Service: "ec2", Action: "DescribeInstances", Kind: testbed.Deny}))
		}, "ec2:DescribeInstances"},
		{"describing the cluster is denied", func(t *testing.T) {
			must(t, bed.Inject(t.Context(), testbed.Fault{Service: "eks", Action: "DescribeCluster", Kind: testbed.Deny}))
		}, "eks:DescribeCluster"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAccount(t)
			ids := a.fleet(3)
			a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
			must(t, bed.SetReady(t.Context(), ids[2], corev1.ConditionUnknown, "NodeStatusUnknown", time.Now().Add(-2*time.Hour)))
			tt.spoil(t)
			for range 3 {
				r := a.remediate()
				d := r.only(t)
				if r.code != 1 || d.Complete || len(d.Orders) != 0 || len(d.Outcomes) != 0 {
					t.Errorf("exit %d, complete %v, orders %+v, outcomes %+v", r.code, d.Complete, d.Orders, d.Outcomes)
				}
				if !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, tt.note) }) {
					t.Errorf("notes %q do not say %q", d.Notes, tt.note)
				}
				same(t, "writes", a.writes(), nil)
				a.later(10 * time.Minute)
			}
		})
	}
}

func TestOneThrottledPageIsAskedForAgain(t *testing.T) {
	a := newAccount(t)
	a.fleet(5)
	must(t, bed.SetPageSize(t.Context(), 2))
	must(t, bed.Inject(t.Context(), testbed.Fault{Service: "ec2", Action: "DescribeInstances", Page: 2, Times: 1, Kind: testbed.Throttle}))
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
			listed = append(listed, n.Name+" "+n.Instance)
		}
		slices.Sort(listed)
		same(t, "tagged, not a node", listed, []string{"bastion " + bastion, "nat " + nat})
		if r.code != 0 {
			t.Errorf("exit %d: %+v", r.code, d.Findings)
		}
		same(t, "writes", a.writes(), nil)
		a.later(10 * time.Minute)
	}
}

func TestWhoMayBeTerminated(t *testing.T) {
	bootstrap := "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"
	tests := []struct {
		name   string
		spec   testbed.InstanceSpec
		policy string
		want   string // reason; "" is acted on
	}{
		{"managed node group", testbed.InstanceSpec{Group: "eks-managed", Tags: map[string]string{"eks:nodegroup-name": "managed", "eks:cluster-name": "demo"}}, "", ""},
		{"Karpenter", testbed.InstanceSpec{Tags: map[string]string{"karpenter.sh/nodepool": "default"}}, "", "OwnerNotifyOnly"},
		{"Auto Mode", testbed.InstanceSpec{Managed: true, Tags: map[string]string{"eks:kubernetes-node-pool-name": "general-purpose"}}, "", "OwnerNotifyOnly"},
		{"bare, meant to be a node", testbed.InstanceSpec{UserData: bootstrap}, "", "OwnerNotifyOnly"},
		{"bare, meant to be a node, policy opts in", testbed.InstanceSpec{UserData: bootstrap}, "owners: {none: terminate}\n", ""},
		{"protected", testbed.InstanceSpec{Group: "workers", Protected: true}, "", "TerminationProtected"},
		{"held", testbed.InstanceSpec{Group: "workers", Tags: map[string]string{"rollcall:hold": "true"}}, "", "InstanceHeld"},
		{"ignored", testbed.InstanceSpec{Group: "workers", Tags: map[string]string{"rollcall:ignore": "true"}}, "", "InstanceIgnored"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAccount(t)
			a.fleet(3)
			tt.spec.LaunchedAgo = time.Hour
			id := a.instance(tt.spec)
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
	if d := a.remediate().only(t); len(d.Findings) != 0 || len(a.tags(id)) != 2 {
		t.Errorf("afterwards: findings %+v, tags %v, want none of Rollcall's", d.Findings, a.tags(id))
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
			must(t, os.WriteFile(p, []byte("apiVersion: rollcall/v1\nmode: observe\n"), 0o600))
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
		if r.code != 2 {
			t.Errorf("exit %d", r.code)
		}
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
	must(t, bed.Inject(t.Context(), testbed.Fault{Service: "autoscaling", Action: "DescribeAutoScalingInstances", Kind: testbed.Deny}))
	for range 2 {
		r := a.remediate()
		d := r.only(t)
		// It might rest in a warm pool: what cannot be read is not judged.
		same(t, "findings", kinds(d), nil)
		if r.code != 1 || !strings.Contains(strings.Join(d.Notes, "\n"), "autoscaling:DescribeAutoScalingInstances") || !strings.Contains(strings.Join(d.Notes, "\n"), "rollcall-viewer") {
			t.Errorf("exit %d, notes %q, want the call and the principal named", r.code, d.Notes)
		}
		a.nothingDestroyed("a permission is missing")
		a.later(5 * time.Minute)
	}
}

// A node's provider id is whatever its kubelet was told to write. It must not be able
// to aim Rollcall at an instance that is not of the cluster.
func TestANodeCannotAimAtAnInstanceThatIsNotOfTheCluster(t *testing.T) {
	a := newAccount(t)
	a.fleet(4)
	database, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Name: "orders-database", LaunchedAgo: 90 * time.Hour})
	must(t, err)
	foreign, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Name: "other's node", LaunchedAgo: 90 * time.Hour, Group: "others", Tags: map[string]string{"eks:cluster-name": "other", "kubernetes.io/cluster/other": "owned"}})
	must(t, err)
	for _, id := range []string{database, foreign} {
		_, err := bed.JoinNode(t.Context(), testbed.NodeSpec{InstanceID: id, Labels: map[string]string{"eks.amazonaws.com/nodegroup": "workers"}, Ready: corev1.ConditionUnknown, ReadySince: time.Now().Add(-3 * time.Hour)})
		must(t, err)
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
	must(t, bed.CreateCluster(t.Context(), "other"))
	r := a.check()
	var got []string
	for _, d := range r.checks {
		got = append(got, fmt.Sprintf("%s %v", d.Cluster, d.Complete))
	}
	same(t, "clusters", got, []string{"demo true", "other false"})
	if r.code != 1 {
		t.Errorf("exit %d, want 1: one cluster could not be read", r.code)
	}
}

func TestAnUnknownClusterAndAnotherRegion(t *testing.T) {
	a := newAccount(t)
	r := a.check("--cluster", "Demo")
	if r.code != 1 || !strings.Contains(strings.Join(r.only(t).Notes, " "), `there is no EKS cluster "Demo"`) {
		t.Errorf("exit %d, %+v", r.code, r.checks)
	}
	r = a.check("--region", "eu-central-1")
	if r.code != 0 || len(r.checks) != 0 || !strings.Contains(r.stderr, "no EKS clusters in eu-central-1") {
		t.Errorf("exit %d, %+v, %q", r.code, r.checks, r.stderr)
	}
}

func TestActionsPerHourAreCountedOverChecks(t *testing.T) {
	a := newAccount(t)
	a.fleet(20)
	for range 4 {
		a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	}
	p := a.policy("limits: {actionsPerHour: 2, actionsPerCheck: 2}\n")
	a.remediate("--policy", p)
	acts := 0
	for range 4 {
		a.later(2 * time.Minute)
		acts += len(a.remediate("--policy", p).only(t).Outcomes)
	}
	if acts != 2 {
		t.Errorf("%d acts within the hour, want 2", acts)
	}
	a.later(time.Hour)
	if d := a.remediate("--policy", p).only(t); len(d.Outcomes) != 2 {
		t.Errorf("an hour later: %+v", d)
	}
}

func (a *account) describe(id string) ec2types.Instance {
	a.t.Helper()
	out, err := ec2.NewFromConfig(bed.AWSConfig()).DescribeInstances(a.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	must(a.t, err)
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
