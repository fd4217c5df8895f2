package observe

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// forsaken returns an account whose cluster demo is gone.
func forsaken(t *testing.T) *account {
	a := newAccount(t)
	a.cluster.Name = aws.String("another")
	return a
}

// kops and self-managed Kubernetes write kubernetes.io/cluster/ too, and EKS does not know their
// clusters.
func TestOfAClusterThatIsGoneOnlyWhatEKSOrEksctlNamedIsLeft(t *testing.T) {
	a := forsaken(t)
	a.pageSize = 2
	a.launch(1, owned)
	a.launch(2, owned, "eks:cluster-name=demo")
	a.launch(3, owned, "eks:eks-cluster-name=demo", "karpenter.sh/nodepool=default")
	a.launch(4, owned, "aws:eks:cluster-name=other")
	a.launch(5, owned, "alpha.eksctl.io/cluster-name=demo")
	a.launch(6, "kubernetes.io/cluster/other=owned", "eks:cluster-name=other")
	a.join(2)
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.Equal(t, s.Cluster.ID, (roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}), "cluster")
	if want := []string{instanceID(2), instanceID(3), instanceID(5)}; !slices.Equal(ids(s), want) || len(s.Nodes) != 0 {
		t.Errorf("instances %v, want %v; nodes %v", ids(s), want, names(s))
	}
	for _, i := range s.Instances {
		expect.That(t, i.Named, "%+v", i)
	}
	expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Kind == roll.GapClusterGone && s.Gaps[0].Scope == roll.ScopeCluster && !s.Whole() && s.StatusRead == roll.NotAsked && s.ShiftsRead == roll.NotAsked, "%+v", s)
	expect.List(t, a.log, []string{"eks:DescribeCluster", "ec2:DescribeInstances", "ec2:DescribeInstances", "ec2:DescribeInstances"}, "calls")
}

func TestAListingOfWhatIsLeftThatFailsIsAGapToo(t *testing.T) {
	a := forsaken(t)
	a.launch(1, owned, "eks:cluster-name=demo")
	a.fail["ec2:DescribeInstances"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "no")
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 2 && s.Gaps[0].Kind == roll.GapClusterGone && s.Gaps[1].Scope == roll.ScopeInstances && s.Cluster.ID.Account == "", "%+v", s)
}

// Before a leftover instance is terminated it is checked again.
func TestTargetOfAClusterThatIsGone(t *testing.T) {
	for name, tt := range map[string]struct {
		tags []string
		kept bool
	}{
		"named by EKS":    {[]string{owned, "eks:cluster-name=demo"}, true},
		"not named":       {[]string{owned}, false},
		"named otherwise": {[]string{owned, "eks:cluster-name=other"}, false},
	} {
		a := forsaken(t)
		a.launch(1, tt.tags...)
		s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
		expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Kind == roll.GapClusterGone && s.Target == one && (len(s.Instances) == 1) == tt.kept && !s.NotFound[one], "%s: %+v", name, s)
		if tt.kept && s.Cluster.ID != (roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}) {
			t.Errorf("%s: cluster %s", name, s.Cluster.ID)
		}
		expect.List(t, a.log, []string{"eks:DescribeCluster", "ec2:DescribeInstances"}, "%s: calls", name)
	}
}

// A VPC may be shared, and so may tags: only the cluster's own account has its nodes.
func TestInstancesOfAnotherAccountAreNotTheClusters(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.launch(2, owned)
	a.launch(3)
	a.owners[instanceID(2)], a.owners[instanceID(3)] = "123456789012", "123456789012"
	a.join(3)
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, slices.Equal(ids(s), []string{instanceID(1)}) && len(s.NotFound) == 0 && len(s.Gaps) == 0, "instances %v, not found %v, gaps %+v", ids(s), s.NotFound, s.Gaps)
	if s := a.observer().Target(t.Context(), "demo", roll.InstanceID(instanceID(2)), at, roll.Watch{}); len(s.Instances) != 0 || len(s.NotFound) != 0 {
		t.Errorf("%v", ids(s))
	}
	// Emulators and old answers name no owner.
	a.owner = ""
	if s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{}); !slices.Equal(ids(s), []string{instanceID(1)}) {
		t.Errorf("instances %v", ids(s))
	}
}

func TestReadsWhatChoosesAPolicyAndWhatReplacesIt(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned, "rollcall:deadline=45m").InstanceType = types.InstanceTypeP4d24xlarge
	a.launch(2, owned).Platform = types.PlatformValuesWindows
	block := a.launch(3, owned)
	block.InstanceLifecycle, block.InstanceType = types.InstanceLifecycleTypeCapacityBlock, types.InstanceTypeM5Large
	a.launch(4, owned).InstanceLifecycle = types.InstanceLifecycleTypeSpot
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	must.That(t, len(s.Instances) == 4, "%+v", s.Gaps)
	type read struct {
		deadline, preset string
		block            bool
	}
	for n, want := range []read{{"45m", "gpu", false}, {"", "windows", false}, {"", "", true}, {}} {
		i := s.Instances[n]
		expect.Equal(t, (read{i.DeadlineTag, i.Preset, i.CapacityBlock}), want, "instance %d", n+1)
	}
}

func TestTheWatchReachesTheNodes(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	n := a.join(1)
	n.Status.Conditions = append(n.Status.Conditions, n.Status.Conditions[0])
	n.Status.Conditions[1].Type, n.Status.Conditions[1].Status = "KernelReady", "False"
	watch := roll.Watch{Conditions: map[roll.ConditionKey]bool{{Type: "KernelReady", Status: roll.ConditionFalse}: true}}
	for name, look := range map[string]func(roll.Watch) *roll.Snapshot{
		"snapshot": func(w roll.Watch) *roll.Snapshot { return a.observer().Snapshot(t.Context(), "demo", at, w) },
		"target":   func(w roll.Watch) *roll.Snapshot { return a.observer().Target(t.Context(), "demo", one, at, w) },
	} {
		if s := look(watch); len(s.Nodes) != 1 || len(s.Nodes[0].Conditions) != 1 {
			t.Errorf("%s: %+v", name, s.Nodes)
		}
		s := look(roll.Watch{})
		expect.That(t, len(s.Nodes) == 1 && len(s.Nodes[0].Conditions) == 0, "%s without a watch: %+v", name, s.Nodes)
	}
	a.fail["kubernetes:ListNodes"] = errors.New("503 ServiceUnavailable no")
	s := a.observer().Target(t.Context(), "demo", one, at, watch)
	expect.That(t, s.Target == one && !s.Whole(), "%+v", s)
}

// At 100,000 nodes the uids of nodes that are in order would take much memory.
func TestASnapshotKeepsTheUIDsOfNodesThatAreNotInOrder(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 7; n++ {
		a.launch(n, owned)
		a.join(n).UID = "uid"
	}
	a.nodes[1].Status.Conditions[0].Status = "False"
	a.nodes[2].Spec.Taints = []corev1.Taint{{Key: "node.cilium.io/agent-not-ready"}}
	a.nodes[3].Annotations = map[string]string{roll.AnnotationCordoned: "order"}
	a.nodes[4].Spec.Unschedulable = true
	a.nodes[5].DeletionTimestamp = &metav1.Time{Time: at}
	a.nodes[6].Status.Conditions = append(a.nodes[6].Status.Conditions, corev1.NodeCondition{Type: "DiskPressure", Status: "True"})
	for i, n := range a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{}).Nodes {
		expect.That(t, (n.UID == "uid") == (i > 0), "%s has the uid %q", n.Name, n.UID)
	}
	s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	expect.That(t, s.Nodes[0].UID == "uid", "a target needs it: %+v", s.Nodes)
}
