package observe

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

// A large cluster is not listed in full. DescribeInstances returns 7.5 KB for each instance, and a
// check needs none of it while the node is in order. So the check reads in this order:
//
//  1. DescribeTags, 0.3 KB each: which instances carry the cluster's tag, and which carry a tag of
//     Rollcall's that a person or a check wrote (hold, ignore, mode, deadline and so on).
//  2. The nodes.
//  3. DescribeInstances by id for every instance whose node does not show all that is needed, and
//     for a part of the others in turn.
//
// Why no verdict is wrong: the only conclusion from an absence is that an instance has no node, and
// only for instances in the first answer. They existed before the nodes were read, so a node that
// registers in between is seen. An instance whose tags EC2 does not show yet is not judged in this
// check, just as if a listing had left it out; its node, if it has one, adds it by its id. The
// state and the tags of an instance come from DescribeInstances alone, which is called after the
// nodes are read, as for a target right before an act. So the only conclusion about an instance
// that was not read in full is that its node is in order: see vouches. Each instance with a finding
// is read in full before the plan is made (roll.Question.Whole).
//
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeTags.html
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
const (
	// rollFrom is the minimum size of a cluster that is read this way. Fewer instances fit on one
	// page of DescribeInstances.
	rollFrom = pageSize + 1
	// vouchAfter is how long a node must have existed and been Ready to vouch for its instance. A
	// younger one is read in full, for its registration time, and to see whether it stays Ready.
	vouchAfter = 90 * time.Minute
	// turnEvery is the time in which each instance has its turn to be read in full.
	turnEvery = 2 * time.Hour
	// turnLeast is the part of turnEvery for which a first check reads instances, since it does not
	// know when the last check was.
	turnLeast = 5 * time.Minute
	// newestOfGroup is how many nodes of each group are read in full, the newest: a diagnosis
	// compares others with them.
	newestOfGroup = 2
	// tagSettles is the age from which an instance should appear in DescribeTags.
	tagSettles = 5 * time.Minute
	// relistFor is how long a cluster is listed in full after its tags and its nodes disagreed.
	relistFor = time.Hour
)

const callDescribeTags = "ec2:DescribeTags"

// tagged is what the tags show of a cluster.
type tagged struct {
	ids []roll.InstanceID // in the order of the answer
	// marked has an entry for each of them, true if it carries a tag of Rollcall's.
	marked map[roll.InstanceID]bool
}

func (t *tagged) has(id roll.InstanceID) bool {
	_, ok := t.marked[id]
	return ok
}

func (t *tagged) add(id roll.InstanceID) {
	if !t.has(id) {
		t.marked[id] = false
		t.ids = append(t.ids, id)
	}
}

// progress is what an observer remembers of a cluster: how to read it the next time.
type progress struct {
	mu       sync.Mutex
	clusters map[string]reading
}

type reading struct {
	size    int // instances at the last check
	ids     []roll.InstanceID
	at      time.Time // of the last check that read a part in full
	relist  time.Time // until then it is listed in full
	because string
}

func (p *progress) of(cluster string) reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clusters[cluster]
}

func (p *progress) set(cluster string, change func(*reading)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clusters == nil {
		p.clusters = map[string]reading{}
	}
	r := p.clusters[cluster]
	change(&r)
	p.clusters[cluster] = r
}

// readTags lists the instances with the cluster's tag key, and those with a tag of Rollcall's: EC2
// joins the values of one filter with OR.
func (o *Observer) readTags(ctx context.Context, cluster string) (*tagged, error) {
	key := roll.ClusterTagPrefix + cluster
	in := &ec2.DescribeTagsInput{
		Filters: []types.Filter{
			{Name: aws.String("resource-type"), Values: []string{string(types.ResourceTypeInstance)}},
			{Name: aws.String("key"), Values: []string{key, roll.TagPrefix + "*"}},
		},
		MaxResults: aws.Int32(pageSize),
	}
	out := &tagged{marked: make(map[roll.InstanceID]bool, o.progress.of(cluster).size)}
	rollcalls := map[roll.InstanceID]bool{}
	err := project.EachPage(ctx, limited(o, o.ec2.DescribeTags), in, func(page *ec2.DescribeTagsOutput) {
		for i := range page.Tags {
			id := roll.InstanceID(aws.ToString(page.Tags[i].ResourceId))
			if aws.ToString(page.Tags[i].Key) != key {
				rollcalls[id] = true
			} else {
				out.add(id)
			}
		}
	})
	for id := range rollcalls {
		if out.has(id) {
			out.marked[id] = true
		}
	}
	return out, err
}

// begins reads which instances the cluster has: all in full, or by their tags alone if they are
// many. Then it returns the tags, and the snapshot has only some of the instances.
func (o *Observer) begins(ctx context.Context, s *roll.Snapshot) *tagged {
	name := s.Cluster.ID.Name
	known := o.progress.of(name)
	switch {
	case o.RollFrom < 0:
		o.listInstances(ctx, s, instancesOf(name), nil)
		return nil
	case s.At.Before(known.relist):
		s.Relisted = known.because
		o.listInstances(ctx, s, instancesOf(name), nil)
		return nil
	case known.size < o.RollFrom:
		in := instancesOf(name)
		o.listSome(ctx, s, in, nil, o.RollFrom-1)
		o.progress.set(name, func(r *reading) { r.size, r.ids = len(s.Instances), idsIn(s) })
		if aws.ToString(in.NextToken) == "" || !s.Has(roll.ScopeInstances) {
			return nil
		}
	case s.Cluster.AutoMode:
		// EC2 hides the instances of Auto Mode, and DescribeTags has no parameter to show them.
		o.listInstances(ctx, s, instancesOf(name, types.Filter{Name: aws.String("operator.managed"), Values: []string{"true"}}), nil)
		if !s.Has(roll.ScopeInstances) {
			return nil
		}
	}
	t, err := o.readTags(ctx, name)
	if err != nil {
		o.relist(s, o.gap(ctx, s.Cluster, roll.ScopeInstances, callDescribeTags, err).Detail)
		o.listInstances(ctx, s, instancesOf(name), nil)
		return nil
	}
	for i := range s.Instances {
		t.add(s.Instances[i].ID)
	}
	// An instance of the last check that is missing now was left out, or is gone. It is looked up:
	// otherwise its finding would end and begin again.
	for _, id := range known.ids {
		t.add(id)
	}
	o.progress.set(name, func(r *reading) { r.size = len(t.ids) })
	return t
}

// relist discards the instances, to list them in full now and for a while.
func (o *Observer) relist(s *roll.Snapshot, because string) {
	s.Instances, s.NotFound, s.Relisted = nil, nil, because
	o.progress.set(s.Cluster.ID.Name, func(r *reading) { r.relist, r.because = s.At.Add(relistFor), because })
}

// vouches reports whether a node that is in order shows all that a check needs of its instance: it
// is running, and the labels name its owner, group and zone.
func vouches(n *roll.Node, at time.Time) bool {
	return inOrder(n) && n.Compute == roll.ComputeEC2 && n.Instance != "" &&
		n.Owner != roll.OwnerNone && n.Group != roll.GroupNone && n.Zone != "" && (n.Owner != roll.OwnerKarpenter || n.Initialized) &&
		at.Sub(n.Created) >= vouchAfter && at.Sub(n.Ready.Since) >= vouchAfter
}

// readRest reads the instances for which no node vouches, and a part of the others, and adds what
// the nodes show of the rest; and the status checks of all. If the tags and the nodes disagree, it
// lists the cluster in full.
func (o *Observer) readRest(ctx context.Context, s *roll.Snapshot, t *tagged, watch roll.Watch) {
	said, unread := o.statusesOfRegion(ctx, len(t.ids))
	vouching := voucherOf(s.Nodes, s.At)
	named := make(map[roll.InstanceID]bool, len(s.Nodes)) // by a node
	have := make(map[roll.InstanceID]bool, len(s.Nodes))  // or will have
	for i := range s.Instances {
		have[s.Instances[i].ID] = true
	}
	var wanted []string
	want := func(id roll.InstanceID) {
		if !have[id] {
			have[id] = true
			wanted = append(wanted, string(id))
		}
	}
	for i := range s.Nodes {
		if id := s.Nodes[i].Instance; id != "" {
			named[id] = true
			if !t.has(id) {
				want(id)
			}
		}
	}
	newest, turn := newestOf(s.Nodes, vouching), o.turnOf(s)
	for _, id := range t.ids {
		_, failing := said.failing[id]
		_, scheduled := said.scheduled[id]
		if vouching[id] == nil || t.marked[id] || failing || scheduled || newest[id] || turn(id) {
			want(id)
		}
	}
	if len(wanted) > len(t.ids)/2 {
		// A page shows more of them than a lookup. What neither the tags nor a node named before was
		// launched since, and its node may have registered since.
		s.Instances = nil
		o.listInstances(ctx, s, instancesOf(s.Cluster.ID.Name), func(i *roll.Instance) bool { return t.has(i.ID) || named[i.ID] })
		o.readMissed(ctx, s)
	} else {
		if err := o.lookUpInto(ctx, s, wanted); err != nil {
			g := o.gap(ctx, s.Cluster, roll.ScopeInstances, callDescribeInstances, err)
			g.Detail = fmt.Sprintf("%d instances of %s that had to be read in full: %s", len(wanted), s.Cluster.ID.Name, g.Detail)
			s.Gaps = append(s.Gaps, g)
		}
		s.Instances = slices.DeleteFunc(s.Instances, func(i roll.Instance) bool { return i.Unclaimed && !named[i.ID] })
		maps.DeleteFunc(s.NotFound, func(id roll.InstanceID, _ bool) bool { return !named[id] })
		if n := disagreements(s, t, vouching); n > few(len(t.ids)) {
			o.relist(s, fmt.Sprintf("%s and the nodes of %s disagree about %d instances", callDescribeTags, s.Cluster.ID.Name, n))
			o.listInstances(ctx, s, instancesOf(s.Cluster.ID.Name), nil)
			s.Nodes = nil // read again, after the instances
			o.readNodes(ctx, s, watch, trimInOrder)
			o.readMissed(ctx, s)
		} else {
			s.Instances = slices.Grow(s.Instances, len(t.ids)-len(s.Instances)+len(wanted))
			for _, id := range t.ids {
				if !have[id] {
					s.Instances = append(s.Instances, vouched(vouching[id]))
				}
			}
		}
	}
	o.progress.set(s.Cluster.ID.Name, func(r *reading) { r.ids = idsIn(s) })
	o.addStatus(ctx, s, said, unread)
}

// idsIn returns the instances of a snapshot that its tags claim.
func idsIn(s *roll.Snapshot) (ids []roll.InstanceID) {
	for i := range s.Instances {
		if !s.Instances[i].Unclaimed {
			ids = append(ids, s.Instances[i].ID)
		}
	}
	return ids
}

// vouched returns what a node that vouches shows of its instance.
func vouched(n *roll.Node) roll.Instance {
	return roll.Instance{ID: n.Instance, State: roll.StateRunning, Owner: n.Owner, Group: n.Group, Zone: n.Zone, ZoneID: n.ZoneID, Vouched: true}
}

// disagreements counts the instances that the tags should have shown, and those read in full of
// which a vouching node shows something else.
func disagreements(s *roll.Snapshot, t *tagged, vouching map[roll.InstanceID]*roll.Node) (n int) {
	for i := range s.Instances {
		inst := &s.Instances[i]
		if node := vouching[inst.ID]; node != nil && (inst.Unclaimed || inst.Ambiguous || inst.Owner != node.Owner || inst.Group != node.Group || inst.Zone != node.Zone) {
			n++
		} else if !t.has(inst.ID) && !inst.Unclaimed && inst.State == roll.StateRunning && s.At.Sub(inst.Launched) > tagSettles {
			n++
		}
	}
	return n
}

// few is how many disagreements among that many instances are no reason to list them in full.
func few(n int) int { return max(10, n/100) }

// voucherOf returns the nodes that vouch, by their instance. Two nodes of one instance do not.
func voucherOf(nodes []roll.Node, at time.Time) map[roll.InstanceID]*roll.Node {
	out := make(map[roll.InstanceID]*roll.Node, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if _, twice := out[n.Instance]; twice || !vouches(n, at) {
			n = nil
		}
		out[nodes[i].Instance] = n // nil for "": vouches requires an instance
	}
	return out
}

// newestOf returns the instances of the newest vouching nodes of each group.
func newestOf(nodes []roll.Node, vouching map[roll.InstanceID]*roll.Node) map[roll.InstanceID]bool {
	of := map[roll.Group][]*roll.Node{}
	for i := range nodes {
		n := &nodes[i]
		if vouching[n.Instance] != n {
			continue
		}
		all := append(of[n.Group], n)
		slices.SortFunc(all, func(a, b *roll.Node) int {
			return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.Name, b.Name))
		})
		of[n.Group] = all[:min(len(all), newestOfGroup)]
	}
	out := map[roll.InstanceID]bool{}
	for _, all := range of {
		for _, n := range all {
			out[n.Instance] = true
		}
	}
	return out
}

// turnOf reports which instances are read in full in this check although their nodes vouch for them.
// Each id has a fixed time within turnEvery, and is due in the first check after it.
func (o *Observer) turnOf(s *roll.Snapshot) func(roll.InstanceID) bool {
	last := o.progress.of(s.Cluster.ID.Name).at
	since := s.At.Sub(last)
	if last.IsZero() || since <= 0 {
		since = turnLeast
	}
	o.progress.set(s.Cluster.ID.Name, func(r *reading) { r.at = s.At })
	now := uint64(s.At.Unix())
	return func(id roll.InstanceID) bool {
		h := fnv.New64a()
		_, _ = h.Write([]byte(id)) // never fails
		every := uint64(turnEvery / time.Second)
		return (now+h.Sum64()%every)%every < uint64(since/time.Second)
	}
}
