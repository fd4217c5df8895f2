// Package assess decides what is wrong: from a snapshot, the policy, what the
// ledger remembers and the time, it makes findings, and the next moment at which
// some verdict can change.
//
// It judges only what was read. Where nodes are missing from the snapshot no
// instance is called unregistered; where instances are missing, what Kubernetes
// says of its nodes is still reported, and what follows from it is for package
// plan to hold back.
//
// The package is pure: no I/O, no clock.
package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Confirmation is how far apart two sightings must lie at least before a verdict
// may lead to an act.
const Confirmation = 60 * time.Second

// Input is all that an assessment rests on.
type Input struct {
	Snapshot *roll.Snapshot
	// Policy tells the effective policy for a group of the cluster.
	Policy func(roll.Group) policy.Policy
	State  ledger.State
	Now    time.Time
}

// Assessment is the verdict on one snapshot.
type Assessment struct {
	// Findings holds the findings of every stage, the most urgent first: by stage,
	// then by the end of the tolerance, then by instance.
	Findings []roll.Finding
	// NotNodes are instances that carry the cluster's tag and are not judged as
	// nodes, with the reason.
	NotNodes []NotNode
	// Waiting counts instances that run and have not registered, but are younger
	// than the warning time.
	Waiting int
	// Notes are facts worth a person's attention that are no findings.
	Notes []string
	// Count is what the limits on shares are counted from: the cluster under "",
	// and each group under its name.
	Count map[roll.Group]Count
	// Nodes and Ready count the nodes on EC2 instances, and how many are ready.
	Nodes, Ready int
	// NoProviderID counts nodes of which nobody can say on what they run: any
	// instance that seems unregistered could be one of them.
	NoProviderID int
	// NotReady are the instances whose node is not ready.
	NotReady map[roll.InstanceID]bool
	// GroupsWithNodes are the groups and launch templates that have nodes now.
	GroupsWithNodes map[string]bool
	// Questions asks for details of suspects that the snapshot lacks. With them in
	// Snapshot.Details the same snapshot is assessed again.
	Questions []roll.Question
	// Next is the next moment at which a verdict can change by the mere passing of
	// time; zero if there is none.
	Next time.Time
}

// Count is a population and how many of it are past their tolerance.
type Count struct {
	Nodes   int // nodes, and instances past the tolerance for registering
	Overdue int
}

// NotNode is an instance that carries the cluster's tag and is not a node.
type NotNode struct {
	Instance roll.InstanceID
	Name     string
	Why      string
}

// Assess judges a snapshot.
func Assess(in Input) Assessment {
	a := assessor{Input: in, asked: map[roll.InstanceID]int{}}
	a.out.Count = map[roll.Group]Count{}
	a.out.NotReady = map[roll.InstanceID]bool{}
	members := roll.Pair(in.Snapshot)
	a.learnGroups(members)
	for _, m := range members {
		a.member(m)
	}
	slices.SortFunc(a.out.Findings, func(x, y roll.Finding) int {
		if x.Stage != y.Stage {
			if x.Stage.Past(y.Stage) {
				return -1
			}
			return 1
		}
		return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.Instance, y.Instance), cmp.Compare(x.Node, y.Node))
	})
	a.sortQuestions()
	slices.SortFunc(a.out.NotNodes, func(x, y NotNode) int { return cmp.Compare(x.Instance, y.Instance) })
	if n := a.out.NoProviderID; n > 0 {
		a.note("%d %s no EC2 provider id (spec.providerID): an instance that seems unregistered may be one of them, so none is acted on", n, plural(n, "node has", "nodes have"))
	}
	slices.Sort(a.out.Notes)
	return a.out
}

type assessor struct {
	Input
	out   Assessment
	asked map[roll.InstanceID]int // index into out.Questions
}

func (a *assessor) note(format string, args ...any) {
	a.out.Notes = append(a.out.Notes, fmt.Sprintf(format, args...))
}

// next takes a moment into account at which a verdict can change.
func (a *assessor) next(at time.Time) {
	if at.After(a.Now) && (a.out.Next.IsZero() || at.Before(a.out.Next)) {
		a.out.Next = at
	}
}

// learnGroups finds the groups and launch templates that have nodes: what comes
// from them is meant to be a node.
func (a *assessor) learnGroups(members []roll.Member) {
	a.out.GroupsWithNodes = map[string]bool{}
	for _, m := range members {
		if m.Instance == nil || m.Node == nil {
			continue
		}
		if asg := m.Instance.ASG; asg != "" {
			a.out.GroupsWithNodes[string(roll.AutoScalingGroup(asg))] = true
		}
		if lt := m.Instance.LaunchTemplate; lt != "" {
			a.out.GroupsWithNodes[lt] = true
		}
	}
}

func (a *assessor) member(m roll.Member) {
	switch {
	case m.Node != nil && m.Node.Compute != roll.ComputeEC2:
		if m.Node.Compute == roll.ComputeUnknown {
			a.out.NoProviderID++
		}
	case m.Node != nil:
		a.node(m)
	default:
		a.unpaired(*m.Instance)
	}
}

// node judges a node on an EC2 instance.
func (a *assessor) node(m roll.Member) {
	n := m.Node
	switch {
	case m.Instance == nil && a.Snapshot.Has(roll.ScopeInstances):
		a.note("node %s: EC2 does not list its instance %s; it is not judged", n.Name, n.Instance)
		return
	case m.Instance != nil && m.Instance.State != roll.StateRunning:
		if n.Ready.Status == roll.ConditionTrue && m.Instance.State.Gone() {
			a.note("node %s is Ready although EC2 says that its instance %s is %s: conflicting, it is not judged", n.Name, n.Instance, m.Instance.State)
		} else {
			a.note("node %s: its instance %s is %s; it is not judged", n.Name, n.Instance, m.Instance.State)
		}
		return
	case m.Instance != nil && m.Instance.Ambiguous:
		a.notNode(*m.Instance, whyAmbiguous)
		return
	}
	a.out.Nodes++
	a.count(m.Group(), false)
	if n.Ready.Status == roll.ConditionTrue {
		a.out.Ready++
		return
	}
	a.out.NotReady[n.Instance] = true

	kind, told := roll.NotReady, "reports that it is not ready"
	if n.Ready.Status != roll.ConditionFalse {
		kind, told = roll.Unknown, "has stopped reporting its status"
	}
	tolerance, ok := a.Policy(m.Group()).Tolerance("Ready", string(conditionOf(kind)))
	if !ok {
		return
	}
	since := a.earliest(n.Ready.Since, n.Created)
	// Unknown -> False resets the transition time although the node was never
	// ready in between; the longer absence counts.
	if seen, ok := a.State.NotReadySince[n.Instance]; ok && seen.Before(since) {
		since = seen
	}
	f := a.finding(m, kind, since, since.Add(tolerance))
	f.Summary = fmt.Sprintf("node %s %s since %s", n.Name, told, clock(since))
	if n.Ready.Reason != "" {
		f.Summary += " (" + n.Ready.Reason + ")"
	}
	f.Stage = roll.Watching
	if !a.Now.Before(f.Due) {
		f.Stage = roll.Overdue
	}
	a.add(f, m)
}

func conditionOf(kind roll.Kind) roll.ConditionStatus {
	if kind == roll.NotReady {
		return roll.ConditionFalse
	}
	return roll.ConditionUnknown
}

// earliest is the time of a condition's transition, or where the node does not
// tell it, of the node's creation; never later than now, since the clock of the
// control plane may run ahead of ours.
func (a *assessor) earliest(transition, created time.Time) time.Time {
	t := transition
	if t.IsZero() {
		t = created
	}
	if t.IsZero() || t.After(a.Now) {
		t = a.Now
	}
	return t
}

// unpaired judges an instance of which no node carries the id.
func (a *assessor) unpaired(i roll.Instance) {
	if i.State != roll.StateRunning {
		return
	}
	if i.Ambiguous {
		a.notNode(i, whyAmbiguous)
		return
	}
	if !a.Snapshot.Has(roll.ScopeNodes) {
		return // its node may be among those that could not be read
	}
	p := a.Policy(i.Group)
	since := a.earliest(i.Launched, time.Time{})
	warnAt, due := since.Add(p.Registration.WarnAfter), since.Add(p.Registration.Deadline)
	if a.Now.Before(warnAt) {
		a.out.Waiting++
		a.next(warnAt)
		return
	}
	detail := a.Snapshot.Details[i.ID]
	if resting(detail.Lifecycle) {
		a.notNode(i, fmt.Sprintf("its Auto Scaling group keeps it in %s", detail.Lifecycle))
		return
	}
	if shown, why := a.intent(i, detail); !shown {
		a.ask(roll.Question{Instance: i.ID, UserData: true, AutoScaling: i.ASG != ""})
		a.notNode(i, why)
		return
	}
	a.ask(roll.Question{Instance: i.ID, AutoScaling: i.ASG != ""})
	m := roll.Member{Instance: &i}
	f := a.finding(m, roll.Unregistered, since, due)
	f.WarnAt = warnAt
	f.Summary = fmt.Sprintf("instance %s has not registered as a node since its launch at %s", i.ID, clock(since))
	f.Stage = roll.Warned
	if !a.Now.Before(due) {
		f.Stage = roll.Overdue
		a.count(f.Group, false)
	}
	a.add(f, m)
}

const whyAmbiguous = "it is claimed for several clusters (kubernetes.io/cluster/ tags) and nothing tells which one it is for"

// resting reports lifecycle states of an Auto Scaling group in which an instance
// need not be a node: warm pools and Standby, and the way into and out of the
// group, on which hooks may keep it.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
func resting(lifecycle string) bool {
	switch {
	case strings.HasPrefix(lifecycle, "Warmed:"), lifecycle == "Standby", lifecycle == "EnteringStandby":
		return true
	case strings.HasPrefix(lifecycle, "Terminating"), strings.HasPrefix(lifecycle, "Detach"):
		return true
	}
	return false
}

// intent tells whether an instance is meant to be a node, and if nothing shows
// it, why not. The cluster's tag alone does not: bastions and NAT instances get it
// from whoever tags everything.
func (a *assessor) intent(i roll.Instance, d roll.Detail) (shown bool, why string) {
	switch i.Owner {
	case roll.OwnerKarpenter, roll.OwnerManagedNodeGroup, roll.OwnerAutoMode:
		return true, ""
	}
	known := func(key string) bool {
		_, had := a.State.GroupsWithNodes[key]
		return had || a.out.GroupsWithNodes[key]
	}
	if i.ASG != "" && known(string(roll.AutoScalingGroup(i.ASG))) {
		return true, ""
	}
	if i.LaunchTemplate != "" && known(i.LaunchTemplate) {
		return true, ""
	}
	switch d.Bootstraps {
	case roll.Yes:
		return true, ""
	case roll.No:
		return false, "nothing shows that it is meant to be a node: no node pool or node group owns it, no node came from its Auto Scaling group or launch template, and its user data bootstraps no node of this cluster"
	case roll.Unreadable:
		return false, "its user data could not be read, and nothing else shows that it is meant to be a node"
	}
	return false, "nothing shows yet that it is meant to be a node"
}

func (a *assessor) notNode(i roll.Instance, why string) {
	a.out.NotNodes = append(a.out.NotNodes, NotNode{Instance: i.ID, Name: i.Name, Why: why})
}

func (a *assessor) finding(m roll.Member, kind roll.Kind, since, due time.Time) roll.Finding {
	return roll.Finding{
		Instance: m.ID(), Node: m.NodeName(), Group: m.Group(), Owner: m.Owner(), Zone: m.Zone(),
		Kind: kind, Since: since, Due: due,
	}
}

func (a *assessor) add(f roll.Finding, m roll.Member) {
	if f.Stage == roll.Overdue {
		a.count(f.Group, true)
		if m.Instance != nil && mayTerminate(a.Policy(f.Group), f.Kind) {
			a.ask(roll.Question{Instance: f.Instance, AutoScaling: m.Instance.ASG != "", Protection: true})
		}
	} else {
		a.next(f.Due)
	}
	if known, ok := a.State.Findings[f.Key()]; ok {
		a.next(known.FirstSeen.Add(Confirmation))
	} else if f.Stage == roll.Overdue {
		a.next(a.Now.Add(Confirmation))
	}
	a.out.Findings = append(a.out.Findings, f)
}

// count counts one more node, or one more that is overdue, for the cluster and
// for the group.
func (a *assessor) count(g roll.Group, overdue bool) {
	for _, key := range []roll.Group{"", g} {
		c := a.out.Count[key]
		if overdue {
			c.Overdue++
		} else {
			c.Nodes++
		}
		a.out.Count[key] = c
	}
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
