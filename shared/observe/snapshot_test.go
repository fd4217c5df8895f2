package observe

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestOneListingFindsTheInstancesOfEveryOwner(t *testing.T) {
	a := newAccount(t)
	a.pageSize = 2
	a.launch(1, owned, "Name=web-1", "aws:autoscaling:groupName=web", "aws:ec2launchtemplate:id=lt-0123456789abcdef0", "aws:ec2launchtemplate:version=3")
	a.launch(2, owned, "eks:nodegroup-name=blue", "eks:cluster-name=demo", "aws:autoscaling:groupName=eks-blue-1234")
	a.launch(3, owned, "karpenter.sh/nodepool=default", "eks:eks-cluster-name=demo", "rollcall:hold=2026-04-01", "rollcall:finding=Unknown", "rollcall:order=0011223344556677")
	a.instances[0].IamInstanceProfile, a.instances[0].SubnetId = &types.IamInstanceProfile{Arn: aws.String("arn:aws:iam::111122223333:instance-profile/nodes")}, aws.String("subnet-1")
	auto := a.launch(4, owned, "eks:eks-cluster-name=demo", "eks:kubernetes-node-pool-name=general-purpose")
	auto.Operator = &types.OperatorResponse{Managed: aws.Bool(true), Principal: aws.String("eks.amazonaws.com")}
	a.launch(5, "kubernetes.io/cluster/demo=shared", "rollcall:ignore=true").State.Name = types.InstanceStateNameStopped
	a.launch(6, "kubernetes.io/cluster/other=owned")

	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 0 && s.At.Equal(at) && s.Details != nil, "gaps %+v, at %s", s.Gaps, s.At)
	base := roll.Instance{State: roll.StateRunning, Launched: at.Add(-time.Hour), Zone: "eu-west-1a", ZoneID: "euw1-az1", Owner: roll.OwnerNone, Group: roll.GroupNone}
	want := make([]roll.Instance, 5)
	for n := range want {
		want[n] = base
		want[n].ID = roll.InstanceID(instanceID(n + 1))
	}
	want[0].Name, want[0].ASG, want[0].LaunchTemplate, want[0].Owner, want[0].Group = "web-1", "web", "lt-0123456789abcdef0:3", roll.OwnerAutoScalingGroup, "asg/web"
	want[0].Profile, want[0].Subnet = "arn:aws:iam::111122223333:instance-profile/nodes", "subnet-1"
	want[1].ASG, want[1].Owner, want[1].Group = "eks-blue-1234", roll.OwnerManagedNodeGroup, "nodegroup/blue"
	want[2].Owner, want[2].Group, want[2].Hold, want[2].Marks = roll.OwnerKarpenter, "nodepool/default", "2026-04-01", &roll.Marks{Finding: "Unknown", Order: "0011223344556677"}
	want[3].Owner, want[3].Group = roll.OwnerAutoMode, "nodepool/general-purpose"
	want[4].State, want[4].Ignore = roll.StateStopped, true
	for _, n := range []int{1, 2, 3} {
		want[n].Named = true
	}
	expect.Same(t, s.Instances, want, "instances")

	must.That(t, len(a.listings) == 3, "%d pages were read, want 3", len(a.listings))
	for n, in := range a.listings {
		expect.That(t, len(in.Filters) == 1 && aws.ToString(in.Filters[0].Name) == "tag-key" && slices.Equal(in.Filters[0].Values, []string{"kubernetes.io/cluster/demo"}), "page %d filters by %+v", n+1, in.Filters)
		expect.That(t, aws.ToBool(in.IncludeManagedResources), "page %d hides the instances of Auto Mode", n+1)
		expect.That(t, aws.ToInt32(in.MaxResults) == 1000 && len(in.InstanceIds) == 0, "page %d asks for %d results and %d ids", n+1, aws.ToInt32(in.MaxResults), len(in.InstanceIds))
		expect.Equal(t, aws.ToString(in.NextToken), []string{"", "from-2", "from-4"}[n], "page %d has the token", n+1)
	}
}

// An instance without state, placement or tags in EC2's answer must not cause a crash.
func TestAnInstanceOfWhichLittleIsShown(t *testing.T) {
	got := new(projector).instance(&types.Instance{}, "demo")
	want := (roll.Instance{Owner: roll.OwnerNone, Group: roll.GroupNone, Unclaimed: true})
	expect.That(t, reflect.DeepEqual(got, want), "got %+v", got)
}

func TestWhatCarriesTheTagAndIsAnotherClustersIsLeftOut(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.launch(2, owned, "kubernetes.io/cluster/other=owned")                              // nothing decides
	a.launch(3, owned, "kubernetes.io/cluster/other=owned", "eks:cluster-name=other")    // decided against
	a.launch(4, owned, "kubernetes.io/cluster/other=owned", "aws:eks:cluster-name=demo") // decided for
	a.launch(5, owned, "alpha.eksctl.io/cluster-name=other")
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	if want := []string{instanceID(1), instanceID(2), instanceID(4)}; !slices.Equal(ids(s), want) {
		t.Fatalf("got %v, want %v", ids(s), want)
	}
	for _, i := range s.Instances {
		expect.Equal(t, i.Ambiguous, string(i.ID) == instanceID(2), "%s ambiguous", i.ID)
	}
}

// A listing that changes while it is read may show an instance on two pages.
func TestAnInstanceThatIsListedTwiceIsThereOnce(t *testing.T) {
	a := newAccount(t)
	a.pageSize = 2
	for n := 1; n <= 4; n++ {
		a.launch(n, owned)
	}
	a.before["ec2:DescribeInstances 2"] = func() { a.instances = slices.Insert(a.instances, 0, a.instances[3]) }
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	got := ids(s)
	expect.That(t, len(slices.Compact(slices.Sorted(slices.Values(got)))) == len(got), "got %v", got)
}

// The order matters: a node that registers during the listing of instances is seen together with
// its instance.
func TestReadsInstancesBeforeNodes(t *testing.T) {
	a := newAccount(t)
	a.pageSize, a.nodePage = 1, 1
	a.launch(1, owned)
	a.launch(2, owned)
	a.launch(3) // its tag is missing
	a.join(1)
	a.join(3)
	a.before["ec2:DescribeInstances 2"] = func() { a.join(2) }
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	want := []string{
		"eks:DescribeCluster",
		"ec2:DescribeInstances", "ec2:DescribeInstances",
		"kubernetes:ListNodes", "kubernetes:ListNodes", "kubernetes:ListNodes",
		"kubernetes:ListNodeClaims",
		"ec2:DescribeInstances",
		"ec2:DescribeInstanceStatus",
		"kubernetes:ListEvents", "kubernetes:ListNodePools",
		"autoscaling:DescribeAutoScalingGroups", "eks:ListNodegroups",
	}
	expect.That(t, slices.Equal(a.log, want), "calls\n got %v\nwant %v", a.log, want)
	got := names(s)
	expect.That(t, slices.Equal(got, []string{"node-1", "node-3", "node-2"}), "nodes %v: one registered during the listing and was missed", got)
}

func TestAListingThatBreaksOffIsAGapAndKeepsWhatCame(t *testing.T) {
	tests := map[string]struct {
		err    error
		kind   roll.GapKind
		detail string
	}{
		"denied": {
			apiError("EC2", "DescribeInstances", "UnauthorizedOperation", "You are not authorized to perform this operation."), roll.GapDenied,
			"ec2:DescribeInstances was denied to " + principal + ": allow ec2:DescribeInstances for that role",
		},
		"throttled": {
			apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "Request limit exceeded."), roll.GapThrottled,
			"ec2:DescribeInstances was throttled (RequestLimitExceeded): the next check tries again",
		},
		"late": {
			&smithy.OperationError{ServiceID: "EC2", OperationName: "DescribeInstances", Err: context.DeadlineExceeded}, roll.GapTimeout,
			"ec2:DescribeInstances got no answer in time: the next check tries again",
		},
		"the service failed": {
			awserr.Made("InternalError", "An internal error has occurred", http.StatusInternalServerError), roll.GapUnavailable,
			"ec2:DescribeInstances failed with InternalError: An internal error has occurred",
		},
		"failed": {
			apiError("EC2", "DescribeInstances", "InternalError", "An internal error has occurred"), roll.GapFailed,
			"ec2:DescribeInstances failed with InternalError: An internal error has occurred",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			a.pageSize = 2
			for n := 1; n <= 5; n++ {
				a.launch(n, owned)
			}
			a.join(1)
			a.fail["ec2:DescribeInstances 2"] = tt.err
			s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
			want := []roll.Gap{{Scope: roll.ScopeInstances, Kind: tt.kind, Call: "ec2:DescribeInstances", Detail: "page 2 of the instances of demo: " + tt.detail}}
			expect.That(t, slices.Equal(s.Gaps, want), "gaps\n got %+v\nwant %+v", s.Gaps, want)
			expect.That(t, slices.Equal(ids(s), []string{instanceID(1), instanceID(2)}) && slices.Equal(names(s), []string{"node-1"}), "kept %v and %v", ids(s), names(s))

			b := newAccount(t)
			b.launch(1, owned)
			b.join(1)
			b.fail["ec2:DescribeInstances"] = tt.err
			s = b.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
			want[0].Detail = tt.detail
			expect.That(t, slices.Equal(s.Gaps, want) && len(s.Instances) == 0 && len(s.Nodes) == 1 && len(b.listings) == 1, "first page: gaps %+v, %d instances, %d nodes, %d calls", s.Gaps, len(s.Instances), len(s.Nodes), len(b.listings))
		})
	}
}

// Everything is held then anyway. To look up the rest by id would repeat the listing in small
// pages, on a quota that EC2 has just reported as exhausted.
func TestAListingThatBreaksOffIsNotMadeUpForByLookUps(t *testing.T) {
	a := newAccount(t)
	a.pageSize = 10
	for n := 1; n <= 500; n++ {
		a.launch(n, owned)
		a.join(n)
	}
	a.fail["ec2:DescribeInstances 2"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "Request limit exceeded.")
	a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(a.listings) == 2, "%d more calls of DescribeInstances after it was throttled, want 0", len(a.listings)-2)
}

func TestNodesThatTheListingMissedAreLookedUp(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.launch(2)                                                                       // no tag at all
	a.launch(3, "kubernetes.io/cluster/other=owned", "kubernetes.io/cluster/x=owned") // wrong tags
	auto := a.launch(4, "eks:kubernetes-node-pool-name=system")
	auto.Operator = &types.OperatorResponse{Managed: aws.Bool(true), Principal: aws.String("eks.amazonaws.com")}
	for _, n := range []int{4, 3, 2, 1} {
		a.join(n)
	}
	a.join(2).Name = "node-2b"                                                      // two nodes of one instance
	a.join(7).Spec.ProviderID = "aws:///eu-west-1a/fargate-ip-10-0-0-1"             // not on EC2
	a.join(8).Spec.ProviderID = "eks-hybrid:///eu-west-1/demo/mi-0123456789abcdef0" // nor this
	a.join(9).Spec.ProviderID = ""                                                  // unknown
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 0 && len(s.Nodes) == 8, "gaps %+v, %d nodes", s.Gaps, len(s.Nodes))
	expect.List(t, ids(s), []string{instanceID(1), instanceID(2), instanceID(3), instanceID(4)}, "instances")
	for _, i := range s.Instances {
		// A node's claim is not a tag.
		unclaimed := string(i.ID) != instanceID(1)
		expect.That(t, i.Unclaimed == unclaimed && !i.Ambiguous, "%s: unclaimed %v, want %v; ambiguous %v", i.ID, i.Unclaimed, unclaimed, i.Ambiguous)
	}
	lookups := a.listings[1:]
	must.That(t, len(lookups) == 1, "%d look-ups, want 1", len(lookups))
	in := lookups[0]
	if !slices.Equal(in.InstanceIds, []string{instanceID(2), instanceID(3), instanceID(4)}) || !aws.ToBool(in.IncludeManagedResources) || in.MaxResults != nil || len(in.Filters) != 0 {
		t.Errorf("the look-up asks for %v, managed %v, MaxResults %v, filters %v", in.InstanceIds, aws.ToBool(in.IncludeManagedResources), in.MaxResults, in.Filters)
	}
}

func TestLookUpsNameAFewHundredIdsAndPage(t *testing.T) {
	a := newAccount(t)
	a.pageSize = 90
	for n := 1; n <= 450; n++ {
		a.launch(n)
		a.join(n)
	}
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 0 && len(s.Instances) == 450, "gaps %+v, %d instances, want 450", s.Gaps, len(s.Instances))
	unique := slices.Compact(slices.Sorted(slices.Values(ids(s))))
	expect.That(t, len(unique) == 450, "%d different instances, want 450", len(unique))
	var sizes []int
	for _, in := range a.listings[1:] {
		sizes = append(sizes, len(in.InstanceIds))
		expect.That(t, aws.ToBool(in.IncludeManagedResources) && in.MaxResults == nil, "a page of a look-up hides managed instances or sets MaxResults")
	}
	want := []int{200, 200, 200, 200, 200, 200, 50}
	expect.That(t, slices.Equal(sizes, want), "look-ups of %v ids, want %v", sizes, want)
}

func TestIdsThatEC2DoesNotKnowAreDroppedAndTheRestIsAskedForAgain(t *testing.T) {
	for _, named := range []int{1, 2, 1000} {
		a := newAccount(t)
		a.named = named
		a.launch(1)
		a.launch(5)
		for n := 1; n <= 5; n++ {
			a.join(n)
		}
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		expect.That(t, len(s.Gaps) == 0 && slices.Equal(ids(s), []string{instanceID(1), instanceID(5)}), "%d named at once: gaps %+v, instances %v", named, s.Gaps, ids(s))
		want := map[roll.InstanceID]bool{roll.InstanceID(instanceID(2)): true, roll.InstanceID(instanceID(3)): true, roll.InstanceID(instanceID(4)): true}
		expect.That(t, maps.Equal(s.NotFound, want), "%d named at once: not found %v, want %v", named, s.NotFound, want)
		last := a.listings[len(a.listings)-1]
		expect.List(t, last.InstanceIds, []string{instanceID(1), instanceID(5)}, "%d named at once: the last look-up asks for", named)
	}
}

func TestALookUpOfNothingButUnknownIdsEnds(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 3; n++ {
		a.join(n)
	}
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 0 && len(s.Instances) == 0 && len(s.Nodes) == 3 && len(a.listings) == 2, "gaps %+v, instances %v, %d calls", s.Gaps, ids(s), len(a.listings))
}

func TestALookUpThatMakesNoHeadwayIsAGap(t *testing.T) {
	a := newAccount(t)
	a.named = 1
	for n := 1; n <= 30; n++ {
		a.join(n)
	}
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	if len(s.Gaps) != 1 || s.Gaps[0].Scope != roll.ScopeInstances || !strings.HasPrefix(s.Gaps[0].Detail, "30 nodes' instances of demo that do not carry its tag: ec2:DescribeInstances failed with InvalidInstanceID.NotFound") {
		t.Errorf("gaps %+v", s.Gaps)
	}
	expect.That(t, len(a.listings) <= 11, "%d calls, want the listing and 10 tries", len(a.listings))

	// An error that names none of the requested ids would otherwise be retried forever.
	b := newAccount(t)
	b.join(1)
	b.fail["ec2:DescribeInstances 2"] = apiError("EC2", "DescribeInstances", "InvalidInstanceID.NotFound", "The instance ID 'i-0ffffffffffffffff' does not exist")
	s = b.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 1 && len(b.listings) == 2, "gaps %+v after %d calls", s.Gaps, len(b.listings))
}

func TestALookUpThatFailsIsAGapAndKeepsTheRest(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.launch(2)
	a.join(1)
	a.join(2)
	a.fail["ec2:DescribeInstances 2"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "no")
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	must.That(t, len(s.Gaps) == 1 && s.Gaps[0].Kind == roll.GapThrottled && s.Gaps[0].Scope == roll.ScopeInstances && slices.Equal(ids(s), []string{instanceID(1)}), "gaps %+v, instances %v", s.Gaps, ids(s))
	if d := s.Gaps[0].Detail; strings.Contains(d, "1 nodes") || !strings.Contains(d, "ec2:DescribeInstances was throttled (RequestLimitExceeded): the next check tries again") {
		t.Errorf("a person is told: %s", d)
	}
}

func TestNodesThatCannotBeListedAreAGap(t *testing.T) {
	tests := map[string]struct {
		spoil  func(*account)
		kind   roll.GapKind
		detail string // a part
	}{
		"unauthorized": {func(a *account) { a.fail["kubernetes:ListNodes"] = errors.New("401 Unauthorized Unauthorized") }, roll.GapUnauthorized, "refused the token of " + principal},
		"forbidden":    {func(a *account) { a.fail["kubernetes:ListNodes"] = errors.New("403 Forbidden nodes is forbidden") }, roll.GapDenied, "knows " + principal + " but does not let it list nodes"},
		"unavailable":  {func(a *account) { a.fail["kubernetes:ListNodes"] = errors.New("503 ServiceUnavailable no") }, roll.GapClusterUnreachable, "did not answer"},
		"no endpoint":  {func(a *account) { a.cluster.Endpoint = nil }, roll.GapClusterUnreachable, ""},
		"a strange CA": {func(a *account) { a.cluster.CertificateAuthority.Data = aws.String("bm90IGEgUEVN") }, roll.GapClusterUnreachable, ""},
		"nobody there": {func(a *account) { a.server.Close() }, roll.GapClusterUnreachable, "connection refused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			a.launch(1, owned)
			a.join(1)
			tt.spoil(a)
			s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
			expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Scope == roll.ScopeNodes && s.Gaps[0].Kind == tt.kind && s.Gaps[0].Call == "kubernetes: list nodes" && strings.Contains(s.Gaps[0].Detail, tt.detail), "gaps %+v", s.Gaps)
			expect.That(t, !s.Has(roll.ScopeNodes) && s.Has(roll.ScopeInstances) && len(s.Instances) == 1, "instances %v", ids(s))
		})
	}
}

func TestNodesOfAListingThatBeganAgainAreThereOnce(t *testing.T) {
	a := newAccount(t)
	a.nodePage = 2
	for n := 1; n <= 5; n++ {
		a.launch(n, owned)
		a.join(n)
	}
	a.fail["kubernetes:ListNodes 3"] = errors.New("410 Expired The provided continue parameter is too old")
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	if want := []string{"node-1", "node-2", "node-3", "node-4", "node-5"}; len(s.Gaps) != 0 || !slices.Equal(names(s), want) {
		t.Errorf("gaps %+v, nodes %v, want %v", s.Gaps, names(s), want)
	}

	b := newAccount(t)
	b.nodePage = 2
	for n := 1; n <= 5; n++ {
		b.launch(n, owned)
		b.join(n)
	}
	b.fail["kubernetes:ListNodes 3"] = errors.New("410 Expired too old")
	b.fail["kubernetes:ListNodes 5"] = errors.New("410 Expired too old")
	s = b.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Scope == roll.ScopeNodes && s.Gaps[0].Kind == roll.GapFailed && !s.Has(roll.ScopeNodes), "a second 410: gaps %+v", s.Gaps)
	if got := slices.Compact(slices.Sorted(slices.Values(names(s)))); len(got) != len(s.Nodes) {
		t.Errorf("nodes are there twice: %v", names(s))
	}
}

// unreachable is a dialer for tests of AWS alone.
type unreachable struct{}

func (unreachable) Dial(roll.Cluster) (*kube.Client, error) { return nil, errors.New("not here") }

// limited returns an account whose EC2 returns one instance per page, and an observer of it that
// waits an interval between pages. It needs no network, so that it can run on a test's clock.
func paced(pages int, interval time.Duration) (*account, *Observer) {
	a := &account{fail: map[string]error{}, before: map[string]func(){}, seen: map[string]int{}, pageSize: 1, named: 1}
	a.cluster = activeCluster()
	for n := 1; n <= pages; n++ {
		a.launch(n, owned)
	}
	return a, New(Options{AWS: a.aws(), Kube: unreachable{}, PageInterval: interval})
}

func TestPagesAreSpaced(t *testing.T) {
	for name, interval := range map[string]time.Duration{"by default": 0, "as told": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, o := paced(30, interval)
				if interval == 0 {
					interval = time.Second
				}
				s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
				must.That(t, len(s.Instances) == 30, "%d instances, gaps %+v", len(s.Instances), s.Gaps)
				shortest := time.Hour
				for n := 1; n < len(a.times); n++ {
					shortest = min(shortest, a.times[n].Sub(a.times[n-1]))
				}
				expect.That(t, shortest >= interval, "two pages lie %s apart, want at least %s", shortest, interval)
				took, most := a.times[30].Sub(a.times[0]), 30*interval*12/10
				expect.That(t, len(a.times) == 31 && took <= most, "30 pages and one of status checks took %s, want at most %s", took, most)
			})
		})
	}
}

// A person's single look reads as many pages at once as it may, and then keeps the interval.
func TestABurstOfPagesIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := paced(30, 0)
		s := New(Options{AWS: a.aws(), Kube: unreachable{}, PageInterval: time.Second, PageBurst: 20}).Snapshot(t.Context(), "demo", at, roll.Watch{})
		must.That(t, len(s.Instances) == 30, "%d instances, gaps %+v", len(s.Instances), s.Gaps)
		if took := a.times[19].Sub(a.times[0]); took > 3*time.Second {
			t.Errorf("the first 20 pages took %s", took)
		}
		took := a.times[29].Sub(a.times[0])
		expect.That(t, took >= 9*time.Second, "30 pages took only %s", took)
	})
}

func TestTimeThatRunsOutWhileWaitingForATurnIsAGap(t *testing.T) {
	tests := map[string]func(context.Context) (context.Context, context.CancelFunc){
		"the deadline comes before the turn": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 2500*time.Millisecond)
		},
		"the context is cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(2500*time.Millisecond, cancel)
			return ctx, cancel
		},
	}
	for name, limit := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, o := paced(30, time.Second)
				ctx, cancel := limit(t.Context())
				defer cancel()
				s := o.Snapshot(ctx, "demo", at, roll.Watch{})
				expect.That(t, len(s.Gaps) != 0 && s.Gaps[0].Scope == roll.ScopeInstances && s.Gaps[0].Kind == roll.GapTimeout, "gaps %+v, want one of the instances, of kind Timeout", s.Gaps)
				if len(s.Gaps) > 0 && strings.Contains(s.Gaps[0].Detail, "rate:") {
					t.Errorf("a person is told: %s", s.Gaps[0].Detail)
				}
				expect.That(t, len(a.listings) == 3 && len(s.Instances) == 3, "%d pages were read and %d instances kept, want 3", len(a.listings), len(s.Instances))
			})
		})
	}
}

// Two concurrent checks share the process's rate limit.
func TestTurnsAreTheProcessNotTheChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, o := paced(5, time.Second)
		done := make(chan struct{})
		for range 2 {
			go func() {
				o.Snapshot(t.Context(), "demo", at, roll.Watch{})
				done <- struct{}{}
			}()
		}
		<-done
		<-done
		// Five pages of instances and one of status checks each.
		took := a.times[len(a.times)-1].Sub(a.times[0])
		expect.That(t, len(a.times) == 12 && took >= 10900*time.Millisecond, "%d pages in %s", len(a.times), took)
	})
}

func TestLabelsConditionsAndDeletionReachTheSnapshot(t *testing.T) {
	a := newAccount(t)
	n := a.join(1)
	n.Labels = map[string]string{"karpenter.sh/nodepool": "default", "topology.kubernetes.io/zone": "eu-west-1b"}
	n.DeletionTimestamp = &metav1.Time{Time: at}
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	must.That(t, len(s.Nodes) == 1, "gaps %+v", s.Gaps)
	got := s.Nodes[0]
	expect.That(t, got.Instance == roll.InstanceID(instanceID(1)) && got.Group == "nodepool/default" && got.Zone == "eu-west-1b" && !got.DeletedAt.IsZero() && got.Ready.Status == roll.ConditionTrue, "got %+v", got)
}

func TestTheControlPlaneOfALocalClusterIsKnownByItsTag(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned, "eks-local:controlplane-name=demo")
	a.launch(2, owned)
	for _, i := range a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{}).Instances {
		expect.Equal(t, i.ControlPlane, i.ID == roll.InstanceID(instanceID(1)), "%s", i.ID)
	}
}

// A repeated lookup must not lose the ids it requests.
func TestALookUpBeginsAgainWithoutTheTokenOfAnEarlierTry(t *testing.T) {
	a := newAccount(t)
	a.pageSize = 1
	for n := 1; n <= 3; n++ {
		a.launch(n)
		a.join(n)
	}
	gone := func() { a.instances = slices.Delete(a.instances, 1, 2) }
	a.before["ec2:DescribeInstances 3"] = gone // between two pages of the lookup
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	if want := []string{instanceID(1), instanceID(3)}; len(s.Gaps) != 0 || !slices.Equal(ids(s), want) {
		t.Errorf("gaps %+v, instances %v, want %v", s.Gaps, ids(s), want)
	}
	for _, in := range a.listings[1:] {
		expect.That(t, slices.Contains(in.InstanceIds, instanceID(3)), "a request lost its ids: %+v", in.InstanceIds)
	}
}

func TestLooksUpWhatTheLedgerAsksAfter(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.launch(2).State.Name = types.InstanceStateNameTerminated
	o := a.observer()
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	a.listings = nil
	o.LookUp(t.Context(), s, []roll.InstanceID{roll.InstanceID(instanceID(1)), roll.InstanceID(instanceID(2)), roll.InstanceID(instanceID(3))})
	expect.That(t, len(s.Gaps) == 0 && slices.Equal(ids(s), []string{instanceID(1), instanceID(2)}) && s.Instances[1].State == roll.StateTerminated, "gaps %+v, instances %+v", s.Gaps, s.Instances)
	want := map[roll.InstanceID]bool{roll.InstanceID(instanceID(3)): true}
	expect.That(t, maps.Equal(s.NotFound, want), "not found %v, want %v", s.NotFound, want)
	for _, in := range a.listings {
		expect.That(t, !slices.Contains(in.InstanceIds, instanceID(1)) && aws.ToBool(in.IncludeManagedResources) && in.MaxResults == nil, "asks for %v, managed %v, MaxResults %v", in.InstanceIds, aws.ToBool(in.IncludeManagedResources), in.MaxResults)
	}

	a.listings = nil
	o.LookUp(t.Context(), s, []roll.InstanceID{roll.InstanceID(instanceID(1))})
	expect.That(t, len(a.listings) == 0, "asks for what is there already: %+v", a.listings)

	a.fail["ec2:DescribeInstances"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "no")
	o.LookUp(t.Context(), s, []roll.InstanceID{roll.InstanceID(instanceID(4))})
	expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Scope == roll.ScopeDetail && s.Gaps[0].Kind == roll.GapThrottled && !s.NotFound[roll.InstanceID(instanceID(4))], "what could not be looked up is not gone: gaps %+v, not found %v", s.Gaps, s.NotFound)
	for n, want := range map[int]roll.Answer{1: roll.NotAsked, 4: roll.Unreadable} {
		expect.Equal(t, s.Details[roll.InstanceID(instanceID(n))].WholeRead, want, "whether the instance was read")
	}
	bare := &roll.Snapshot{Cluster: s.Cluster} // as when one instance is looked at
	o.LookUp(t.Context(), bare, []roll.InstanceID{roll.InstanceID(instanceID(4))})
	expect.Equal(t, bare.Details[roll.InstanceID(instanceID(4))].WholeRead, roll.Unreadable, "whether the instance was read")
}
