package observe

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const pooled = "karpenter.sh/nodepool=default"

// old adds an instance of Karpenter's with a node that vouches for it.
func (a *account) old(n int, tags ...string) *corev1.Node {
	a.launch(n, append([]string{owned, pooled}, tags...)...)
	a.instances[len(a.instances)-1].LaunchTime = aws.Time(at.Add(-48 * time.Hour))
	node := a.join(n)
	node.CreationTimestamp = metav1.NewTime(at.Add(-47 * time.Hour))
	node.Status.Conditions[0].LastTransitionTime = metav1.NewTime(at.Add(-47 * time.Hour))
	node.Labels = map[string]string{
		"karpenter.sh/nodepool": "default", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
		"topology.kubernetes.io/zone": "eu-west-1a", "topology.k8s.aws/zone-id": "euw1-az1",
	}
	return node
}

// grown returns an account whose cluster has n instances with nodes that vouch for them.
func grown(t *testing.T, n int) *account {
	t.Helper()
	a := newAccount(t)
	for k := 1; k <= n; k++ {
		a.old(k)
	}
	return a
}

// large returns an observer of the account that reads it by its tags, since it has checked it once.
func (a *account) large(t *testing.T) *Observer {
	t.Helper()
	o := New(Options{AWS: a.aws(), Kube: a, PageInterval: time.Nanosecond, RollFrom: 3})
	if s := o.Snapshot(t.Context(), "demo", at.Add(-5*time.Minute), roll.Watch{}); len(s.Gaps) > 0 {
		t.Fatal(s.Gaps)
	}
	a.log, a.listings, a.seen = nil, nil, map[string]int{}
	return o
}

// inFull returns the instances of a snapshot that were read in full, sorted.
func inFull(s *roll.Snapshot) (all []string) {
	for _, i := range s.Instances {
		if !i.Vouched {
			all = append(all, string(i.ID))
		}
	}
	slices.Sort(all)
	return all
}

func numbered(n ...int) (all []string) {
	for _, k := range n {
		all = append(all, instanceID(k))
	}
	slices.Sort(all)
	return all
}

// turns returns those of the numbers whose turn it is in a check five minutes after the last.
func turns(at time.Time, from, to int) (all []int) {
	o := &Observer{}
	o.progress.set("demo", func(r *reading) { r.at = at.Add(-5 * time.Minute) })
	turn := o.turnOf(&roll.Snapshot{At: at, Cluster: roll.Cluster{ID: roll.ClusterID{Name: "demo"}}})
	for n := from; n <= to; n++ {
		if turn(roll.InstanceID(instanceID(n))) {
			all = append(all, n)
		}
	}
	return all
}

func TestOfALargeClusterOnlyWhatNoNodeVouchesForIsReadInFull(t *testing.T) {
	a := grown(t, 100)
	a.old(101).Status.Conditions[0].Status = corev1.ConditionUnknown
	a.launch(102, owned, pooled)                                                            // no node
	a.old(103, "rollcall:hold=true")                                                        // a person wrote a tag
	a.old(104).Status.Conditions[0].LastTransitionTime = metav1.NewTime(at.Add(-time.Hour)) // not Ready for long
	a.old(105).Labels = map[string]string{"topology.kubernetes.io/zone": "eu-west-1a"}      // of no group that it names
	a.old(106)
	a.statuses = []types.InstanceStatus{failing(106)}
	a.old(107).Spec.Unschedulable = true
	delete(a.old(108).Labels, "topology.kubernetes.io/zone")
	a.old(109).Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: "NoExecute"}}
	delete(a.old(110).Labels, "karpenter.sh/initialized")
	a.old(111)
	a.instances[len(a.instances)-1].Tags = nil // a node names it, no tag does
	a.old(112).Name = "again"
	twin := a.nodes[len(a.nodes)-1]
	twin.Name = "twin"
	a.nodes = append(a.nodes, twin)
	a.pageSize = 40 // so that the status of the region has several pages

	o := a.large(t)
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	must.That(t, len(s.Gaps) == 0 && s.Relisted == "", "%q %+v", s.Relisted, s.Gaps)
	expected := append(turns(at, 1, 100), 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112)
	newest := numbered(1, 10) // by name, as all are equally old: node-1, node-10
	want := slices.Compact(slices.Sorted(slices.Values(append(numbered(expected...), newest...))))
	expect.Same(t, inFull(s), want, "read in full")
	in := New(Options{AWS: a.aws(), Kube: a, PageInterval: time.Nanosecond, RollFrom: -1}).Snapshot(t.Context(), "demo", at, roll.Watch{})
	full := map[roll.InstanceID]roll.Instance{}
	for _, i := range in.Instances {
		full[i.ID] = i
	}
	expect.That(t, len(s.Instances) == len(full), "%d instances, the listing has %d", len(s.Instances), len(full))
	for _, i := range s.Instances {
		f := full[i.ID]
		if !i.Vouched {
			expect.Same(t, i, f, "%s", i.ID)
			continue
		}
		expect.That(t, i.Owner == f.Owner && i.Group == f.Group && i.Zone == f.Zone && i.ZoneID == f.ZoneID && i.State == f.State, "%+v, in full %+v", i, f)
	}
	expect.Same(t, s.Impaired, in.Impaired, "s.Impaired")
	tags, nodes := slices.Index(a.log, "ec2:DescribeTags"), slices.Index(a.log, "kubernetes:ListNodes")
	lookup := slices.Index(a.log, "ec2:DescribeInstances")
	expect.That(t, tags >= 0 && nodes >= tags && lookup >= nodes, "the order is %v", a.log)
}

// What a node does not show of its instance, or shows wrongly, is read in full.
func TestWhichNodesVouch(t *testing.T) {
	a := newAccount(t)
	a.old(1)
	s := New(Options{AWS: a.aws(), Kube: a, PageInterval: time.Nanosecond, RollFrom: -1}).Snapshot(t.Context(), "demo", at, roll.Watch{})
	for name, tt := range map[string]struct {
		change func(*roll.Node)
		want   bool
	}{
		"all is there":              {func(*roll.Node) {}, true},
		"just old enough":           {func(n *roll.Node) { n.Created, n.Ready.Since = at.Add(-vouchAfter), at.Add(-vouchAfter) }, true},
		"too young":                 {func(n *roll.Node) { n.Created = at.Add(time.Second - vouchAfter) }, false},
		"Ready too shortly":         {func(n *roll.Node) { n.Ready.Since = at.Add(time.Second - vouchAfter) }, false},
		"on Fargate":                {func(n *roll.Node) { n.Compute = roll.ComputeFargate }, false},
		"of no instance":            {func(n *roll.Node) { n.Instance = "" }, false},
		"of nobody":                 {func(n *roll.Node) { n.Owner = roll.OwnerNone }, false},
		"of no group":               {func(n *roll.Node) { n.Group = roll.GroupNone }, false},
		"of no zone":                {func(n *roll.Node) { n.Zone = "" }, false},
		"not initialized":           {func(n *roll.Node) { n.Initialized = false }, false},
		"of a managed node group":   {func(n *roll.Node) { n.Owner, n.Initialized = roll.OwnerManagedNodeGroup, false }, true},
		"with a condition":          {func(n *roll.Node) { n.Conditions = []roll.TypedCondition{{}} }, false},
		"cordoned by an order":      {func(n *roll.Node) { n.CordonedBy = "x" }, false},
		"that is being deleted":     {func(n *roll.Node) { n.DeletedAt = at }, false},
		"of which nothing is known": {func(n *roll.Node) { n.Ready.Status = roll.ConditionUnknown }, false},
	} {
		n := s.Nodes[0]
		tt.change(&n)
		expect.Equal(t, vouches(&n, at), tt.want, "%s", name)
	}
	node, vouched := &s.Nodes[0], s.Instances[0]
	for name, tt := range map[string]struct {
		change   func(*roll.Instance)
		tag      bool
		vouching bool
		want     int
	}{
		"as the node shows":           {func(*roll.Instance) {}, true, true, 0},
		"it has no tag":               {func(i *roll.Instance) { i.Unclaimed = true }, true, true, 1},
		"of two clusters":             {func(i *roll.Instance) { i.Ambiguous = true }, true, true, 1},
		"of another owner":            {func(i *roll.Instance) { i.Owner = roll.OwnerAutoMode }, true, true, 1},
		"in another zone":             {func(i *roll.Instance) { i.Zone = "x" }, true, true, 1},
		"the tags should show it":     {func(*roll.Instance) {}, false, false, 1},
		"it is not of the cluster":    {func(i *roll.Instance) { i.Unclaimed = true }, false, false, 0},
		"it does not run":             {func(i *roll.Instance) { i.State = roll.StateStopped }, false, false, 0},
		"the tags need not show it":   {func(i *roll.Instance) { i.Launched = at.Add(-tagSettles) }, false, false, 0},
		"no node vouches, and tagged": {func(i *roll.Instance) { i.Zone = "x" }, true, false, 0},
	} {
		i, tags, by := vouched, &tagged{marked: map[roll.InstanceID]bool{}}, map[roll.InstanceID]*roll.Node{}
		tt.change(&i)
		if tt.tag {
			tags.add(i.ID)
		}
		if tt.vouching {
			by[i.ID] = node
		}
		expect.Equal(t, disagreements(&roll.Snapshot{At: at, Instances: []roll.Instance{i}}, tags, by), tt.want, "%s", name)
	}
}

func failing(n int) types.InstanceStatus {
	return types.InstanceStatus{
		InstanceId:     aws.String(instanceID(n)),
		InstanceStatus: &types.InstanceStatusSummary{Status: types.SummaryStatusImpaired}, SystemStatus: &types.InstanceStatusSummary{Status: types.SummaryStatusOk},
	}
}

// Whatever the time between two checks is.
func TestEveryInstanceIsReadInFullWithinTwoHours(t *testing.T) {
	a := grown(t, 150)
	for _, every := range []time.Duration{5 * time.Minute, 7 * time.Minute, time.Hour} {
		o := a.large(t)
		read, most := map[string]bool{}, 0
		for now := at; !now.After(at.Add(turnEvery)); now = now.Add(every) {
			in := inFull(o.Snapshot(t.Context(), "demo", now, roll.Watch{}))
			most = max(most, len(in))
			for _, id := range in {
				read[id] = true
			}
		}
		expect.That(t, len(read) == 150, "every %s: %d of 150", every, len(read))
		if every == 5*time.Minute && most > 150/5 {
			t.Errorf("%d of 150 in one check", most)
		}
	}
}

// EC2 is eventually consistent.
func TestAnInstanceThatTheTagsDoNotShowYet(t *testing.T) {
	a := grown(t, 20)
	a.launch(22, owned, pooled)
	o := a.large(t)
	a.launch(21, owned, pooled)
	a.old(23)
	// 22 was there in the check before: without it its finding would end, and begin anew.
	a.untagged = map[string]bool{instanceID(21): true, instanceID(22): true, instanceID(23): true}
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	if got := ids(s); slices.Contains(got, instanceID(21)) || !slices.Contains(inFull(s), instanceID(22)) || !slices.Contains(inFull(s), instanceID(23)) || s.Relisted != "" {
		t.Errorf("%q: %v", s.Relisted, got)
	}
	for _, i := range s.Instances {
		expect.That(t, !i.Unclaimed, "%s carries the tag", i.ID)
	}
}

// It existed after the tags were read. Its node may have registered after the nodes were.
func TestAnInstanceThatComesAfterTheTagsIsNotJudged(t *testing.T) {
	for _, most := range []bool{false, true} {
		a := newAccount(t)
		for n := 1; n <= 20; n++ {
			node := a.old(n)
			if most {
				node.Status.Conditions[0].Status = corev1.ConditionFalse
			}
		}
		o := a.large(t)
		a.before["kubernetes:ListNodes 1"] = func() { a.launch(21, owned, pooled) }
		s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
		got := ids(s)
		expect.That(t, len(got) == 20 && !slices.Contains(got, instanceID(21)), "most of them in trouble %v: %v", most, got)
		lookups := slices.ContainsFunc(a.listings, func(in listing) bool { return len(in.InstanceIds) > 0 })
		expect.That(t, lookups != most, "most of them in trouble %v: looked up by id %v", most, lookups)
	}
}

func TestTagsAndNodesThatDisagreeAreReplacedByAListing(t *testing.T) {
	for name, disagree := range map[string]func(*account, int){
		"tags that are missing": func(a *account, n int) { a.old(100 + n); a.untagged[instanceID(100+n)] = true },
		"labels that lie": func(a *account, n int) {
			a.nodes[n-1].Labels["karpenter.sh/nodepool"] = fmt.Sprint("other-", n) // each the newest of its group
		},
	} {
		for _, n := range []int{10, 11} {
			a := newAccount(t)
			a.untagged = map[string]bool{}
			for k := 1; k <= 40; k++ {
				a.old(k)
			}
			o := a.large(t)
			for k := 1; k <= n; k++ {
				disagree(a, k)
			}
			s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
			relisted := s.Relisted != ""
			must.That(t, relisted == (n == 11) && len(s.Gaps) == 0 && len(s.Instances) == len(a.instances), "%d %s: %q, %d instances, %v", n, name, s.Relisted, len(s.Instances), s.Gaps)
			if n == 10 {
				continue
			}
			last := len(a.log) - 1 - slices.Index(reversed(a.log), "kubernetes:ListNodes")
			expect.That(t, len(inFull(s)) == len(a.instances) && last >= slices.Index(a.log, "ec2:DescribeInstances"), "%s: %d in full, in the order %v", name, len(inFull(s)), a.log)
			// A while later the tags are asked again.
			for after, listed := range map[time.Duration]bool{30 * time.Minute: true, 61 * time.Minute: false} {
				a.log = nil
				s := o.Snapshot(t.Context(), "demo", at.Add(after), roll.Watch{})
				if slices.Contains(a.log, "ec2:DescribeTags") == listed || listed && s.Relisted == "" {
					t.Errorf("%s, %s later: %q, %v", name, after, s.Relisted, a.log)
				}
				if after > time.Hour {
					break
				}
			}
		}
	}
}

func reversed(all []string) []string {
	out := slices.Clone(all)
	slices.Reverse(out)
	return out
}

func TestTagsThatCannotBeReadAreReplacedByAListing(t *testing.T) {
	a := grown(t, 20)
	o := a.large(t)
	a.fail["ec2:DescribeTags"] = apiError("EC2", "DescribeTags", "UnauthorizedOperation", "no")
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Gaps) <= 0 && len(inFull(s)) == 20 && strings.Contains(s.Relisted, "ec2:DescribeTags"), "%q: %d in full, %+v", s.Relisted, len(inFull(s)), s.Gaps)
}

// Tags outlive an instance for a while. That EC2 does not know it means nothing: nobody asked for it.
func TestAnInstanceThatOnlyTagsStillKnow(t *testing.T) {
	a := grown(t, 20)
	o := a.large(t)
	a.leftTags = []string{instanceID(30)}
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.NotFound) == 0 && len(s.Gaps) == 0 && len(s.Instances) == 20, "%v, %v, %d instances", s.NotFound, s.Gaps, len(s.Instances))
	a.join(31)
	s = o.Snapshot(t.Context(), "demo", at.Add(5*time.Minute), roll.Watch{})
	expect.That(t, len(s.NotFound) == 1 && s.NotFound[roll.InstanceID(instanceID(31))], "of a node: %v", s.NotFound)
}

func TestALookupThatFailsLeavesAGap(t *testing.T) {
	a := grown(t, 20)
	a.launch(21, owned, pooled)
	o := a.large(t)
	a.fail["ec2:DescribeInstances"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "slow down")
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, !s.Has(roll.ScopeInstances) && s.Gaps[0].Kind == roll.GapThrottled, "%+v", s.Gaps)
}

// EC2 hides them, and perhaps their tags.
func TestAutoModesInstancesAreListedApart(t *testing.T) {
	a := newAccount(t)
	a.cluster.ComputeConfig = &ekstypes.ComputeConfigResponse{Enabled: aws.Bool(true)}
	a.untagged = map[string]bool{}
	for n := 1; n <= 40; n++ {
		a.old(n)
		if n > 20 {
			a.untagged[instanceID(n)] = true
			a.instances[n-1].Operator = &types.OperatorResponse{Managed: aws.Bool(true), Principal: aws.String("eks.amazonaws.com")}
			a.instances[n-1].Tags[1] = types.Tag{Key: aws.String("eks:kubernetes-node-pool-name"), Value: aws.String("default")}
			a.nodes[n-1].Labels["eks.amazonaws.com/compute-type"] = "auto"
		}
	}
	o := a.large(t)
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, len(s.Instances) == 40 && s.Relisted == "" && len(s.Gaps) <= 0 && slices.Index(a.log, "ec2:DescribeInstances") <= slices.Index(a.log, "kubernetes:ListNodes"), "%q: %d instances, %v, %v", s.Relisted, len(s.Instances), s.Gaps, a.log)
}

func TestWhatANodeVouchedForIsReadWhenItIsAskedFor(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 40; n++ {
		a.old(n, "Name=web")
	}
	o := a.large(t)
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	var vouched []roll.InstanceID
	for _, i := range s.Instances {
		if i.Vouched {
			vouched = append(vouched, i.ID)
		}
	}
	o.LookUp(t.Context(), s, vouched[:1])
	o.Details(t.Context(), s, []roll.Question{{Instance: vouched[1], Whole: true}})
	for _, id := range vouched[:2] {
		i := s.Instances[slices.IndexFunc(s.Instances, func(i roll.Instance) bool { return i.ID == id })]
		expect.That(t, !i.Vouched && i.Name == "web" && len(s.Instances) == 40, "%+v, one of %d", i, len(s.Instances))
	}
	a.fail["ec2:DescribeInstances"] = apiError("EC2", "DescribeInstances", "Unavailable", "later")
	o.Details(t.Context(), s, []roll.Question{{Instance: vouched[2], Whole: true}})
	if s.Details[vouched[1]].WholeRead != roll.Yes || s.Details[vouched[2]].WholeRead != roll.Unreadable || len(s.Instances) != 40 || len(s.Gaps) != 1 || s.Gaps[0].Scope != roll.ScopeDetail {
		t.Errorf("%+v %+v, %d instances, %v", s.Details[vouched[1]], s.Details[vouched[2]], len(s.Instances), s.Gaps)
	}
}

// Findings and limits do not depend on how the cluster was read.
func TestRandomClustersAreJudgedTheSameEitherWay(t *testing.T) {
	doc, err := policy.Parse([]byte("apiVersion: rollcall/v1\n"))
	must.Succeed(t, err)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		a := newAccount(t)
		a.random(r, 40+r.IntN(80))
		o := a.large(t)
		state := ledger.NewState()
		state.Checked, state.First = at.Add(-5*time.Minute), at.Add(-72*time.Hour)
		judge := func(o *Observer) (assess.Assessment, *roll.Snapshot) {
			s := o.Snapshot(t.Context(), "demo", at, doc.Watch())
			in := assess.Input{Snapshot: s, Policy: doc.Cluster("demo", "", policy.Remediate), State: state, Now: at}
			return assess.Thoroughly(in, func(q []roll.Question) { o.Details(t.Context(), s, q) }), s
		}
		got, s := judge(o)
		want, full := judge(New(Options{AWS: a.aws(), Kube: a, PageInterval: time.Nanosecond, RollFrom: -1}))
		must.That(t, len(s.Gaps) == len(full.Gaps) && s.Relisted == "", "seed %d: %q %v, in full %v", seed, s.Relisted, s.Gaps, full.Gaps)
		type verdict struct {
			Findings     []roll.Finding
			NotNodes     []assess.NotNode
			Count        map[roll.Group]assess.Count
			Zones        map[string]assess.ZoneCount
			Nodes, Ready int
			Waiting      int
			Notes        []string
			Unjudged     []roll.InstanceID
			New          []time.Duration
		}
		of := func(a assess.Assessment) verdict {
			return verdict{a.Findings, a.NotNodes, a.Count, a.Zones, a.Nodes, a.Ready, a.Waiting, a.Notes, a.Unjudged, a.NewRegistrations}
		}
		d := cmp.Diff(of(want), of(got))
		must.That(t, d == "", "seed %d (-in full +by tags)\n%s", seed, d)
		for _, f := range got.Findings {
			if i := slices.IndexFunc(s.Instances, func(i roll.Instance) bool { return i.ID == f.Instance }); i >= 0 && s.Instances[i].Vouched {
				t.Fatalf("seed %d: %s has a finding and was not read in full", seed, f.Instance)
			}
		}
	}
}

// random fills the account with instances and nodes in every state.
func (a *account) random(r *rand.Rand, n int) {
	zones := []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
	for k := 1; k <= n; k++ {
		node := a.old(k)
		inst := &a.instances[len(a.instances)-1]
		zone := zones[r.IntN(3)]
		inst.Placement.AvailabilityZone, inst.Placement.AvailabilityZoneId = aws.String(zone), aws.String("id-"+zone)
		node.Labels["topology.kubernetes.io/zone"], node.Labels["topology.k8s.aws/zone-id"] = zone, "id-"+zone
		switch r.IntN(3) {
		case 0: // a managed node group
			group := fmt.Sprint("group-", r.IntN(3))
			inst.Tags = tagSet(owned, "eks:nodegroup-name="+group, "eks:cluster-name=demo", "aws:autoscaling:groupName=eks-"+group)
			maps.DeleteFunc(node.Labels, func(key, _ string) bool { return strings.HasPrefix(key, "karpenter.sh/") })
			node.Labels["eks.amazonaws.com/nodegroup"] = group
		case 1: // an Auto Scaling group that no label names
			inst.Tags = tagSet(owned, fmt.Sprint("aws:autoscaling:groupName=asg-", r.IntN(3)))
			maps.DeleteFunc(node.Labels, func(key, _ string) bool { return strings.HasPrefix(key, "karpenter.sh/") })
		}
		ready := &node.Status.Conditions[0]
		since := metav1.NewTime(at.Add(-time.Duration(r.IntN(180)) * time.Minute))
		switch r.IntN(24) {
		case 0:
			ready.Status, ready.LastTransitionTime = corev1.ConditionUnknown, since
		case 1:
			ready.Status, ready.LastTransitionTime = corev1.ConditionFalse, since
		case 2:
			ready.LastTransitionTime = since
		case 3:
			inst.LaunchTime, node.CreationTimestamp, ready.LastTransitionTime = aws.Time(since.Add(-time.Minute)), since, since
		case 4:
			inst.LaunchTime = aws.Time(since.Time)
			a.nodes = a.nodes[:len(a.nodes)-1]
		case 5:
			inst.State.Name = []types.InstanceStateName{types.InstanceStateNameTerminated, types.InstanceStateNameStopped, types.InstanceStateNameStopping, types.InstanceStateNamePending}[r.IntN(4)]
			ready.Status, ready.LastTransitionTime = corev1.ConditionUnknown, since
			if r.IntN(2) == 0 {
				a.nodes = a.nodes[:len(a.nodes)-1]
			}
		case 6:
			inst.Tags = append(inst.Tags, tagSet([]string{"rollcall:ignore=true", "rollcall:hold=true", "rollcall:finding=Unknown", "rollcall:mode=observe"}[r.IntN(4)])...)
			if r.IntN(2) == 0 {
				ready.Status, ready.LastTransitionTime = corev1.ConditionUnknown, since
			}
		case 7:
			a.statuses = append(a.statuses, failing(k))
		case 8:
			node.Spec.Taints = []corev1.Taint{{Key: "node.cilium.io/agent-not-ready", Effect: "NoExecute"}}
		case 9:
			inst.Tags = tagSet("team=web") // a node names it, no tag of the cluster
		case 10:
			node.DeletionTimestamp, node.Finalizers = &since, []string{"team/keep"}
		case 11:
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: "DiskPressure", Status: corev1.ConditionTrue, LastTransitionTime: since})
		case 12:
			node.Spec.ProviderID = []string{"", "aws:///eu-west-1a/" + instanceID(n+1)}[r.IntN(2)] // none, or one that EC2 does not know
		case 13:
			inst.Tags = append(inst.Tags, tagSet("kubernetes.io/cluster/other=owned")...)
			ready.Status, ready.LastTransitionTime = corev1.ConditionUnknown, since
		}
	}
}

func tagSet(tags ...string) (all []types.Tag) {
	for _, t := range tags {
		key, value, _ := strings.Cut(t, "=")
		all = append(all, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	return all
}
