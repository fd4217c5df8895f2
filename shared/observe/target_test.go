package observe

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/roll"
)

const one = roll.InstanceID("i-00000000000000001")

func TestTargetReadsOneInstanceAndTheNodesThatMightBeIts(t *testing.T) {
	a := newAccount(t)
	a.nodePage = 2
	a.launch(1, owned)
	a.launch(2, owned)
	a.join(2)
	a.join(1)
	a.join(3).Spec.ProviderID = ""
	a.join(4).Spec.ProviderID = "aws:///eu-west-1a/fargate-ip-10-0-0-1"
	a.join(1).Name = "node-1b"
	s := a.observer().Target(t.Context(), "demo", one, at)
	if len(s.Gaps) != 0 || !s.At.Equal(at) || s.Cluster.ID.Name != "demo" || s.Details == nil {
		t.Errorf("got %+v", s)
	}
	if !slices.Equal(ids(s), []string{instanceID(1)}) || !slices.Equal(names(s), []string{"node-1", "node-3", "node-1b"}) {
		t.Errorf("instances %v, nodes %v", ids(s), names(s))
	}
	if want := []string{"eks:DescribeCluster", "ec2:DescribeInstances", "kubernetes:ListNodes", "kubernetes:ListNodes", "kubernetes:ListNodes"}; !slices.Equal(a.log, want) {
		t.Errorf("calls %v, want %v", a.log, want)
	}
	in := a.listings[0]
	if !slices.Equal(in.InstanceIds, []string{instanceID(1)}) || !aws.ToBool(in.IncludeManagedResources) || in.MaxResults != nil || len(in.Filters) != 0 {
		t.Errorf("the look-up asks for %+v", in)
	}
}

func TestTargetSeesANodeThatRegistersInBetween(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.before["ec2:DescribeInstances 1"] = func() { a.join(1) }
	if s := a.observer().Target(t.Context(), "demo", one, at); len(s.Nodes) != 1 {
		t.Errorf("nodes %v", names(s))
	}
}

func TestATargetThatIsGoneIsNoGap(t *testing.T) {
	a := newAccount(t)
	a.join(1)
	s := a.observer().Target(t.Context(), "demo", one, at)
	if len(s.Gaps) != 0 || len(s.Instances) != 0 || len(s.Nodes) != 1 {
		t.Errorf("gaps %+v, instances %v, nodes %v", s.Gaps, ids(s), names(s))
	}
}

func TestATargetShowsItsState(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned).State.Name = types.InstanceStateNameShuttingDown
	s := a.observer().Target(t.Context(), "demo", one, at)
	if len(s.Instances) != 1 || s.Instances[0].State != roll.StateShuttingDown {
		t.Errorf("got %+v", s.Instances)
	}
}

func TestTargetOfAClusterThatCannotBeJudgedAsksNoFurther(t *testing.T) {
	for name, spoil := range map[string]func(*account){
		"updating": func(a *account) { a.cluster.Status = ekstypes.ClusterStatusUpdating },
		"gone":     func(a *account) { a.cluster.Name = aws.String("other") },
	} {
		a := newAccount(t)
		a.launch(1, owned)
		spoil(a)
		s := a.observer().Target(t.Context(), "demo", one, at)
		if len(s.Gaps) != 1 || s.Gaps[0].Scope != roll.ScopeCluster || s.Whole() || !slices.Equal(a.log, []string{"eks:DescribeCluster"}) {
			t.Errorf("%s: gaps %+v, calls %v", name, s.Gaps, a.log)
		}
	}
}

func TestATargetThatCannotBeReadIsAGap(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.fail["ec2:DescribeInstances"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "no")
	s := a.observer().Target(t.Context(), "demo", one, at)
	want := []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled, Call: "ec2:DescribeInstances", Detail: "ec2:DescribeInstances was throttled (RequestLimitExceeded): the next check tries again"}}
	if !slices.Equal(s.Gaps, want) || len(s.Instances) != 0 {
		t.Errorf("gaps %+v", s.Gaps)
	}

	b := newAccount(t)
	b.launch(1, owned)
	b.server.Close()
	if s := b.observer().Target(t.Context(), "demo", one, at); s.Whole() || s.Gaps[0].Scope != roll.ScopeNodes {
		t.Errorf("gaps %+v", s.Gaps)
	}
}

func TestATargetOfAnotherClusterIsNotThere(t *testing.T) {
	a := newAccount(t)
	a.launch(1, "kubernetes.io/cluster/other=owned")
	if s := a.observer().Target(t.Context(), "demo", one, at); len(s.Gaps) != 0 || len(s.Instances) != 0 {
		t.Errorf("another cluster's: %v", ids(s))
	}
	b := newAccount(t)
	b.launch(1, owned, "kubernetes.io/cluster/other=owned")
	if s := b.observer().Target(t.Context(), "demo", one, at); len(s.Instances) != 1 || !s.Instances[0].Ambiguous {
		t.Errorf("claimed twice: %+v", s.Instances)
	}
	b.join(1)
	if s := b.observer().Target(t.Context(), "demo", one, at); len(s.Instances) != 1 || s.Instances[0].Ambiguous {
		t.Errorf("claimed twice, and its node answers: %+v", s.Instances)
	}
}
