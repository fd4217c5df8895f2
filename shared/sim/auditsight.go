package sim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/sim/dynamo"
)

// sight is what an invocation observed: the latest answers of the APIs, and whether they were complete.
type sight struct {
	described string // the cluster's latest status
	tagged    string // the cluster that was described last
	mode      string // its tag rollcall:mode
	status    string // its status before the last listing
	nodes     seenList[corev1.Node]
	instances seenList[types.Instance]
	before    seenList[types.Instance] // by the listing before: of the tags, if the instances were listed after it
	ids       map[string]bool          // of those instances; nil until it is needed
	looked    map[string]lookup        // instances by id
	unchecked bool                     // EC2 did not say which status checks fail, and what it has scheduled
	policy    bool                     // the policy was read
	told      bool                     // the version of the notices was read
	raised    bool                     // the invocation raised that version itself
	notices   int64                    // that version, before it was raised
}

// sawNotices records the version of the notices among the items, 0 if none, unless the invocation raised it itself.
func (inv *invocation) sawNotices(items []item, first bool) {
	if inv.seen.raised {
		return
	}
	if first {
		inv.seen.told, inv.seen.notices = true, 0
	}
	for _, it := range items {
		if n, ok := it["version"].(*dynamotypes.AttributeValueMemberN); ok && isNotices(it) {
			inv.seen.notices, _ = strconv.ParseInt(n.Value, 10, 64)
		}
	}
}

// isNotices reports whether the item has the version of a cluster's notices.
func isNotices(it item) bool { return dynamo.TextOf(it[dynamo.SortKey]) == "notices" }

// seenList is what the pages of a listing showed.
type seenList[T any] struct {
	all                 []*T
	begun, last, failed bool
	at                  time.Time // of the last page
}

func (l *seenList[T]) page(at time.Time, page []*T, first, last, ok bool) {
	if first {
		*l = seenList[T]{begun: true}
	}
	l.failed = l.failed || !ok
	l.last = last && ok
	l.all, l.at = append(l.all, page...), at
}

func (l *seenList[T]) whole() bool { return l.begun && l.last && !l.failed }

// lookup is EC2's answer about one instance, nil if EC2 does not know it.
type lookup struct {
	instance *types.Instance
	ok       bool
	at       time.Time
}

func runs(i *types.Instance) bool {
	return i.State != nil && i.State.Name == types.InstanceStateNameRunning
}

func (s *sight) nodesOf(id string) (out []*corev1.Node) {
	for _, n := range s.nodes.all {
		if strings.HasSuffix(n.Spec.ProviderID, "/"+id) {
			out = append(out, n)
		}
	}
	return out
}

func instanceOf(n *corev1.Node) string {
	return n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:]
}

// readyNode reports whether a node is Ready, whatever its other conditions.
func readyNode(n *corev1.Node) bool {
	return readyOf(n).Status == corev1.ConditionTrue
}

// wellNode reports whether a node is ready for work.
func wellNode(n *corev1.Node) bool {
	starts := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return startupTaint(t.Key) })
	joined := n.Labels["karpenter.sh/nodepool"] == "" || n.Labels["karpenter.sh/registered"] == "true" && n.Labels["karpenter.sh/initialized"] == "true"
	return readyNode(n) && !starts && joined
}

// startupTaint reports whether the policy's page lists the taint as one that keeps a node from work at its start.
func startupTaint(key string) bool {
	switch key {
	case "karpenter.sh/unregistered", "node.cloudprovider.kubernetes.io/uninitialized", "node.cilium.io/agent-not-ready",
		"ebs.csi.aws.com/agent-not-ready", "efs.csi.aws.com/agent-not-ready", "fsx.csi.aws.com/agent-not-ready", "s3.csi.aws.com/agent-not-ready":
		return true
	}
	name, ignored := strings.CutPrefix(key, "ignore-taint.cluster-autoscaler.kubernetes.io/")
	return strings.HasPrefix(key, "readiness.k8s.io/") || strings.HasPrefix(key, "startup-taint.cluster-autoscaler.kubernetes.io/") ||
		ignored && strings.HasSuffix(name, "agent-not-ready")
}

// count counts the listed nodes, and those certainly past their tolerance at a time, never one that unsure reports.
// pol returns the policy for an instance of a group.
func (s *sight) count(at time.Time, pol func(group string, i *types.Instance) *terms, unsure func(id string) bool) shares {
	out, running, listed := newShares(), map[string]*types.Instance{}, map[string]*types.Instance{}
	for _, i := range s.instances.all {
		listed[*i.InstanceId] = i
		if runs(i) {
			running[*i.InstanceId] = i
		}
	}
	for id, l := range s.looked { // read by its id since
		if l.ok && (l.instance == nil || !runs(l.instance)) {
			delete(running, id)
		}
	}
	joined := map[string]bool{}
	for _, n := range s.nodes.all {
		id := instanceOf(n)
		joined[id] = true
		inst := running[id]
		of := groupByLabel(n)
		// What is being removed or stopped counts: the check may have read that after it had counted.
		if known := cmp.Or(inst, s.looked[id].instance, listed[id]); known != nil {
			of = groupOf(known)
		}
		out.add(of, inst != nil && !unsure(id) && overdueNode(n, inst, at, pol(of, inst)))
	}
	for id, i := range running {
		if of := groupOf(i); !joined[id] && of != "none" && !unsure(id) && at.Sub(*i.LaunchTime) > pol(of, i).duration("registration.deadline")+time.Minute {
			out.add(of, true)
		}
	}
	return out
}

// overdueNode reports whether a node has certainly been not ready for longer than tolerated, since it was last started.
func overdueNode(n *corev1.Node, i *types.Instance, at time.Time, pol *terms) bool {
	c := readyOf(n)
	tolerance, ok := pol.tolerance("Ready", string(c.Status))
	return ok && c.Status != corev1.ConditionTrue && at.Sub(latest(c.LastTransitionTime.Time, *i.LaunchTime)) > tolerance+time.Minute
}

// groupOf returns the group of an instance by its tags, as Rollcall names it.
func groupOf(i *types.Instance) string {
	for _, by := range [][2]string{{"karpenter.sh/nodepool", "nodepool/"}, {"eks:nodegroup-name", "nodegroup/"}, {"aws:autoscaling:groupName", "asg/"}} {
		for _, t := range i.Tags {
			if *t.Key == by[0] && *t.Value != "" {
				return by[1] + *t.Value
			}
		}
	}
	return "none"
}

// groupByLabel returns the group of a node by its labels, where EC2 does not show its instance.
func groupByLabel(n *corev1.Node) string {
	for label, kind := range map[string]string{"karpenter.sh/nodepool": "nodepool/", "eks.amazonaws.com/nodegroup": "nodegroup/"} {
		if name := n.Labels[label]; name != "" {
			return kind + name
		}
	}
	return "none"
}

// sawBefore reports whether an earlier check, which read the nodes a minute before, found what the order is about.
func (inv *invocation) sawBefore(u *auditor, o order) bool {
	if u.verdicts.forgotten.After(inv.begun) {
		return true // the record of it was lost after this check had read it
	}
	first, ok := u.firstSeen[o.Cluster][about{o.Instance, o.Kind}]
	return ok && inv.seen.nodes.at.Sub(first.first) >= time.Minute-5*time.Second && (first.gone.IsZero() || first.gone.After(inv.begun))
}

// omitted reports whether the listing before the last one lacked the instance. A check that lists tags, then
// nodes, then instances takes no notice of what only the last shows: its node may have registered meanwhile.
func (s *sight) omitted(id string) bool {
	return s.before.whole() && !slices.ContainsFunc(s.before.all, func(i *types.Instance) bool { return *i.InstanceId == id })
}

// sawInstances records a page of a listing of a cluster's instances, and its place. ok is false if it failed.
func (inv *invocation) sawInstances(page []*types.Instance, first, last, ok bool) {
	if first {
		inv.seen.status, inv.seen.before = inv.seen.described, inv.seen.instances
	}
	inv.seen.instances.page(inv.v.a.Now(), page, first, last, ok)
	inv.seen.ids = nil
}

// sawInstance records an instance read by its id, nil if EC2 does not know it. ok is false if the call failed.
func (inv *invocation) sawInstance(id string, i *types.Instance, ok bool) {
	if inv.seen.looked == nil {
		inv.seen.looked = map[string]lookup{}
	}
	inv.seen.looked[id] = lookup{i, ok, inv.v.a.Now()}
	if s := &inv.seen; i != nil && s.instances.begun && !s.lists(id) {
		s.instances.all = append(s.instances.all, i) // a node named it, and no tag
		s.ids[id] = true
	}
}

func (s *sight) lists(id string) bool {
	if s.ids == nil {
		s.ids = map[string]bool{}
		for _, i := range s.instances.all {
			s.ids[*i.InstanceId] = true
		}
	}
	return s.ids[id]
}

// sawNodes records a page of a listing of a cluster's nodes, like sawInstances.
func (inv *invocation) sawNodes(page []*corev1.Node, first, last, ok bool) {
	if first {
		inv.seen.status = inv.seen.described
	}
	inv.seen.nodes.page(inv.v.a.Now(), page, first, last, ok)
}

type policySight struct {
	text  string // as it was read last
	read  bool   // that read succeeded
	at    time.Time
	good  string // the last valid one
	had   bool
	stops bool // set if the document that was read last stops Rollcall, or is gone
}

// sawPolicy records the policy document that was read. ok is false if it could not be.
func (inv *invocation) sawPolicy(document string, ok bool) {
	p := &inv.v.policy
	p.at = inv.v.a.Now()
	d := inv.v.a.audit.policies.document(document)
	p.text, p.read = document, ok && d.written != nil
	if ok {
		p.stops = d.stops
	}
	inv.seen.policy = p.read
	if p.read {
		p.good, p.had = document, true
	}
}

// act is something that an invocation did, or tried to do, to a machine or its objects.
type act string

const (
	actTerminate    act = "terminate"
	actReboot       act = "reboot"
	actCordon       act = "cordon"
	actUncordon     act = "uncordon"
	actOutOfService act = "out-of-service"
	actEvict        act = "evict"
	actDeleteNode   act = "delete-node"
	actDeleteClaim  act = "delete-nodeclaim"
	actTag          act = "tag"
	actUntag        act = "untag"
)
