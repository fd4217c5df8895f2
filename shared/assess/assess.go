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
	Policy func(roll.Selector) policy.Policy
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
	// NotReady is what the ledger is to remember of nodes that are not ready.
	NotReady map[roll.InstanceID]ledger.NotReady
	// Rests is what the ledger is to remember of instances that rest, or rested, in
	// their Auto Scaling groups.
	Rests map[roll.InstanceID]ledger.Rest
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
	a.out.NotReady = map[roll.InstanceID]ledger.NotReady{}
	a.out.Rests = map[roll.InstanceID]ledger.Rest{}
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
		a.note("%d %s no EC2 provider id (spec.providerID): an instance that seems unregistered may be one of them, so none is acted on", n, roll.Plural(n, "node has", "nodes have"))
	}
	if n := a.unreadable; n > 0 {
		a.note("%d %s not judged: nobody could tell what %s doing in %s Auto Scaling group", n, roll.Plural(n, "instance without a node is", "instances without nodes are"), roll.Plural(n, "it is", "they are"), roll.Plural(n, "its", "their"))
	}
	slices.Sort(a.out.Notes)
	return a.out
}

type assessor struct {
	Input
	out   Assessment
	asked map[roll.InstanceID]int // index into out.Questions
	// unreadable counts instances without a node whose state in their Auto Scaling
	// group could not be read.
	unreadable int
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
	case m.Instance != nil && m.Instance.OtherCluster != "":
		a.note("node %s: the tags of its instance %s name another cluster, %s; it is not judged here", n.Name, n.Instance, m.Instance.OtherCluster)
		return
	}
	a.out.Nodes++
	a.count(m.Group(), false)
	if n.Ready.Status == roll.ConditionTrue {
		a.out.Ready++
		return
	}
	kind, told := roll.NotReady, "reports that it is not ready"
	if n.Ready.Status != roll.ConditionFalse {
		kind, told = roll.Unknown, "has stopped reporting its status"
	}
	began := a.past(n.Ready.Since, n.Created)
	if m.Instance != nil && m.Instance.Launched.After(began) {
		// Stopped and started again: what the node said before is about another boot.
		began = a.past(m.Instance.Launched, time.Time{})
	}
	since := a.absentSince(m, began)
	a.out.NotReady[n.Instance] = ledger.NotReady{Since: since, Status: n.Ready.Status, Transition: began}
	tolerance, ok := a.Policy(m.Selector()).Tolerance("Ready", string(conditionOf(kind)))
	if !ok {
		return
	}
	f := a.finding(m, kind, since, since.Add(tolerance))
	f.Began = began
	f.Summary = fmt.Sprintf("node %s %s since %s", n.Name, told, roll.Clock(since))
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

// past is the first of two times that is known, and now at the latest: other clocks
// may run ahead of ours.
func (a *assessor) past(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		t = otherwise
	}
	if t.IsZero() || t.After(a.Now) {
		t = a.Now
	}
	return t.UTC()
}

// absentSince is since when a node has not been ready. The transition from Unknown to
// False starts a new time although the node was not ready in between, so what an
// earlier check remembered counts if it is longer ago. It does not count if the same
// status has another transition by now (the node was ready in between), nor across a
// new Node object or a new boot.
func (a *assessor) absentSince(m roll.Member, began time.Time) time.Time {
	n := m.Node
	known, ok := a.State.NotReady[n.Instance]
	if !ok || known.Status == n.Ready.Status && !known.Transition.Equal(began) {
		return began
	}
	if known.Since.After(began) || known.Since.Before(n.Created) {
		return began
	}
	if m.Instance != nil && known.Since.Before(m.Instance.Launched) {
		return began
	}
	return known.Since.UTC()
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
	p := a.Policy(roll.Member{Instance: &i}.Selector())
	since, event := a.past(i.Launched, time.Time{}), "its launch"
	if rest, ok := a.State.Rests[i.ID]; ok && rest.Left.After(since) {
		since, event = rest.Left.UTC(), "its group put it into service" // it need not have registered before
	}
	warnAt, due := since.Add(p.Registration.WarnAfter), since.Add(p.Registration.Deadline)
	if a.Now.Before(warnAt) {
		if rest, ok := a.State.Rests[i.ID]; ok {
			a.out.Rests[i.ID] = rest
		}
		a.out.Waiting++
		a.next(warnAt)
		return
	}
	detail := a.Snapshot.Details[i.ID]
	rest, rested := a.State.Rests[i.ID]
	switch {
	case resting(detail.Lifecycle):
		a.out.Rests[i.ID] = ledger.Rest{}
		a.notNode(i, fmt.Sprintf("its Auto Scaling group keeps it in %s", detail.Lifecycle))
		return
	case i.ASG != "" && detail.LifecycleRead == roll.Unreadable:
		if rested {
			a.out.Rests[i.ID] = rest
		}
		a.unreadable++
		return
	case rested && rest.Left.IsZero() && (i.ASG == "" || detail.LifecycleRead != roll.NotAsked):
		// It has left its rest just now; its time to register begins here.
		a.out.Rests[i.ID] = ledger.Rest{Left: a.Now}
		a.out.Waiting++
		a.next(a.Now.Add(p.Registration.WarnAfter))
		return
	case rested:
		a.out.Rests[i.ID] = rest
	}
	if shown, why := a.intent(i, detail); !shown {
		a.ask(roll.Question{Instance: i.ID, UserData: true, AutoScaling: i.ASG != ""})
		a.notNode(i, why)
		return
	}
	a.ask(roll.Question{Instance: i.ID, AutoScaling: i.ASG != ""})
	m := roll.Member{Instance: &i}
	f := a.finding(m, roll.Unregistered, since, due)
	f.Began = since
	f.WarnAt = warnAt
	f.Summary = fmt.Sprintf("instance %s has not registered as a node since %s at %s", i.ID, event, roll.Clock(since))
	f.Stage = roll.Warned
	if !a.Now.Before(due) {
		f.Stage = roll.Overdue
		a.count(f.Group, false)
	}
	a.add(f, m)
}

const whyAmbiguous = "it is claimed for several clusters (kubernetes.io/cluster/ tags) and nothing tells which one it is for"

// resting reports lifecycle states of an Auto Scaling group in which an instance
// need not be a node: warm pools, Standby, and the way out of the group.
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
		// What was seen before the cluster was created belonged to another cluster of
		// its name.
		at, had := a.State.GroupsWithNodes[key]
		return had && !at.Before(a.Snapshot.Cluster.Created) || a.out.GroupsWithNodes[key]
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
		Instance: m.ID(), Node: m.NodeName(), Group: m.Group(), Selector: m.Selector(), Owner: m.Owner(), Zone: m.Zone(), ZoneID: m.ZoneID(),
		Kind: kind, Since: since, Due: due,
	}
}

func (a *assessor) add(f roll.Finding, m roll.Member) {
	if f.Stage == roll.Overdue {
		a.count(f.Group, true)
		if m.Instance != nil && mayTerminate(a.Policy(f.Selector), f.Kind) {
			a.ask(roll.Question{Instance: f.Instance, AutoScaling: m.Instance.ASG != "", Protection: true})
		}
	} else {
		a.next(f.Due)
	}
	if known, ok := a.State.Findings[f.Key()]; ok && known.Began.Equal(f.Began) {
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
