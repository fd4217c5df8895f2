package observe

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const one = roll.InstanceID("i-00000000000000001")

func TestTargetReadsOneInstanceAndAllNodes(t *testing.T) {
	a := newAccount(t)
	a.nodePage = 2
	a.launch(1, owned)
	a.launch(2, owned)
	a.join(2)
	a.join(1)
	a.join(3).Spec.ProviderID = ""
	a.join(4).Spec.ProviderID = "aws:///eu-west-1a/fargate-ip-10-0-0-1"
	a.join(1).Name = "node-1b"
	s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 0 && s.At.Equal(at) && s.Cluster.ID.Name == "demo" && s.Details != nil, "got %+v", s)
	expect.That(t, slices.Equal(ids(s), []string{instanceID(1)}) && slices.Equal(names(s), []string{"node-2", "node-1", "node-3", "node-4", "node-1b"}), "instances %v, nodes %v", ids(s), names(s))
	want := []string{"eks:DescribeCluster", "kubernetes:ListNodes", "kubernetes:ListNodes", "kubernetes:ListNodes", "ec2:DescribeInstanceStatus", "ec2:DescribeInstances"}
	expect.That(t, slices.Equal(a.log, want), "calls %v, want %v", a.log, want)
	in := a.listings[0]
	expect.That(t, slices.Equal(in.InstanceIds, []string{instanceID(1)}) && aws.ToBool(in.IncludeManagedResources) && in.MaxResults == nil && len(in.Filters) == 0, "the look-up asks for %+v", in)
}

// A person who sees the notice may set a hold during the listing of the nodes.
func TestTargetSeesAHoldThatIsSetInBetween(t *testing.T) {
	a := newAccount(t)
	a.nodePage = 1
	a.launch(1, owned)
	a.join(1)
	a.join(2)
	a.before["kubernetes:ListNodes 2"] = func() {
		a.instances[0].Tags = append(a.instances[0].Tags, types.Tag{Key: aws.String("rollcall:hold"), Value: aws.String("true")})
	}
	s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	expect.That(t, len(s.Instances) == 1 && s.Instances[0].Hold == "true", "got %+v", s.Instances)
}

func TestATargetThatIsGoneIsNoGap(t *testing.T) {
	a := newAccount(t)
	a.join(1)
	s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 0 && len(s.Instances) == 0 && len(s.Nodes) == 1 && s.NotFound[one], "gaps %+v, instances %v, nodes %v, not found %v", s.Gaps, ids(s), names(s), s.NotFound)
}

func TestATargetShowsItsState(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned).State.Name = types.InstanceStateNameShuttingDown
	s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	expect.That(t, len(s.Instances) == 1 && s.Instances[0].State == roll.StateShuttingDown, "got %+v", s.Instances)
}

// A new instance may get the address of one that is gone, and take over the Node that is left of it.
func TestTargetShowsWhichOtherInstancesHaveTheNameOfItsNode(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*account)
		want   []string
	}{
		"terminated": {func(a *account) { a.instances[0].State.Name = types.InstanceStateNameTerminated }, []string{instanceID(1), instanceID(2), instanceID(3)}},
		"stopped":    {func(a *account) { a.instances[0].State.Name = types.InstanceStateNameStopped }, []string{instanceID(1), instanceID(2), instanceID(3)}},
		"unknown to EC2": {func(a *account) {
			a.instances = a.instances[1:]
		}, []string{instanceID(2), instanceID(3)}},
		"running": {func(*account) {}, []string{instanceID(1)}},
		"without a node": {func(a *account) {
			a.nodes, a.instances[0].State.Name = a.nodes[1:], types.InstanceStateNameTerminated
		}, []string{instanceID(1)}},
	} {
		a := newAccount(t)
		a.launch(1, owned).PrivateDnsName = aws.String("node-1")
		a.launch(2, owned).PrivateDnsName = aws.String("node-1")
		a.launch(3, owned).PrivateDnsName = aws.String("node-1")
		a.instances[2].State.Name = types.InstanceStateNamePending
		a.launch(4, owned).PrivateDnsName = aws.String("node-1")
		a.instances[3].State.Name = types.InstanceStateNameShuttingDown
		a.launch(5, "kubernetes.io/cluster/other=owned").PrivateDnsName = aws.String("node-1") // of another VPC
		a.launch(6, owned).PrivateDnsName = aws.String("node-6")
		a.join(1)
		a.join(6)
		tt.change(a)
		s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
		expect.That(t, len(s.Gaps) == 0 && slices.Equal(ids(s), tt.want), "%s: instances %v, want %v, gaps %+v", name, ids(s), tt.want, s.Gaps)
	}
	a := newAccount(t)
	a.launch(1, owned).State.Name = types.InstanceStateNameTerminated
	a.join(1)
	a.fail["ec2:DescribeInstances 2"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "no")
	s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	expect.That(t, !s.Whole(), "unreadable, and yet %+v", s)
}

func TestTargetOfAClusterThatCannotBeJudgedAsksNoFurther(t *testing.T) {
	for name, spoil := range map[string]func(*account){
		"updating": func(a *account) { a.cluster.Status = ekstypes.ClusterStatusUpdating },
		"throttled": func(a *account) {
			a.fail["eks:DescribeCluster"] = apiError("EKS", "DescribeCluster", "ThrottlingException", "no")
		},
	} {
		a := newAccount(t)
		a.launch(1, owned)
		spoil(a)
		s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
		expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Scope == roll.ScopeCluster && !s.Whole() && slices.Equal(a.log, []string{"eks:DescribeCluster"}), "%s: gaps %+v, calls %v", name, s.Gaps, a.log)
	}
}

func TestATargetThatCannotBeReadIsAGap(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.fail["ec2:DescribeInstances"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "no")
	s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	want := []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled, Call: "ec2:DescribeInstances", Detail: "ec2:DescribeInstances was throttled (RequestLimitExceeded): the next check tries again"}}
	expect.That(t, slices.Equal(s.Gaps, want) && len(s.Instances) == 0, "gaps %+v", s.Gaps)

	b := newAccount(t)
	b.launch(1, owned)
	b.server.Close()
	if s := b.observer().Target(t.Context(), "demo", one, at, roll.Watch{}); s.Whole() || s.Gaps[0].Scope != roll.ScopeNodes {
		t.Errorf("gaps %+v", s.Gaps)
	}
}

func TestATargetSaysWhoseItIs(t *testing.T) {
	tests := map[string]struct {
		tags []string
		want roll.Instance
	}{
		"this cluster's":           {[]string{owned}, roll.Instance{}},
		"another's by its key":     {[]string{"kubernetes.io/cluster/other=owned"}, roll.Instance{Unclaimed: true}},
		"another's by its name":    {[]string{owned, "eks:cluster-name=other"}, roll.Instance{Unclaimed: true, OtherCluster: "other"}},
		"claimed for two":          {[]string{owned, "kubernetes.io/cluster/other=owned"}, roll.Instance{Ambiguous: true}},
		"claimed for two, decided": {[]string{owned, "kubernetes.io/cluster/other=owned", "eks:cluster-name=demo"}, roll.Instance{}},
		"nobody's":                 {nil, roll.Instance{Unclaimed: true}},
	}
	for name, tt := range tests {
		for _, joined := range []bool{false, true} { // a node does not decide it
			a := newAccount(t)
			a.launch(1, tt.tags...)
			if joined {
				a.join(1)
			}
			s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
			must.That(t, len(s.Instances) == 1, "%s: %v", name, ids(s))
			got := s.Instances[0]
			if got.Unclaimed != tt.want.Unclaimed || got.OtherCluster != tt.want.OtherCluster || got.Ambiguous != tt.want.Ambiguous {
				t.Errorf("%s, joined %v: unclaimed %v, other cluster %q, ambiguous %v", name, joined, got.Unclaimed, got.OtherCluster, got.Ambiguous)
			}
		}
	}
}
