// Package assess decides what is wrong: from a snapshot, the policy, what the
// ledger remembers and the time, it makes findings, and the next moment at which
// some verdict can change.
//
// A member of the cluster has at most one finding that says what it is as a node:
// Conflict, Ghost, Orphaned, Unregistered, Unknown, Uninitialized or NotReady. Beside
// it stand Impaired and Scheduled, which EC2 tells. ConditionFailed and Flapping are about nodes
// that are Ready and have no such finding.
//
// It judges only what was read. Where nodes are missing from the snapshot no
// instance is called unregistered; where instances are missing no node is called a
// ghost, and what Kubernetes says of its nodes is still reported; what follows from it
// is for package plan to hold back. A finding in the ledger of which nobody can tell
// whether it goes on is kept as it is.
//
// The package is pure: no I/O, no clock.
package assess

import (
	"cmp"
	"fmt"
	"slices"
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
	// Presume: an instance of which nobody can tell whether its Auto Scaling group lets it
	// rest is judged as one in service. It is for whoever only asks: an act on it is held
	// all the same, since nobody can tell.
	Presume bool
}

// Assessment is the verdict on one snapshot.
//
// What the ledger is to remember is told whole: an instance that a map of it lacks is
// to be forgotten. Of what the snapshot does not show, because of a gap or because it
// shows one instance only, the maps repeat what the ledger knows.
type Assessment struct {
	// Findings holds the findings of every stage, the most urgent first: by stage,
	// then by the end of the tolerance, then by instance.
	Findings []roll.Finding
	// Kept are the findings in the ledger of which this check cannot tell whether they
	// go on: they are to stay there as they are, neither resolved nor acted on.
	Kept map[roll.FindingKey]bool
	// NotNodes are instances that carry the cluster's tag and are not judged as
	// nodes, with the reason.
	NotNodes []NotNode
	// Inherited are instances with findings that nothing of their own shows to be meant as
	// nodes: others of their Auto Scaling group or launch template version are. They are
	// found and counted, and whoever acts must know more.
	Inherited map[roll.InstanceID]bool
	// Unjudged are the instances past their warning time of which this check could not read
	// whether they are nodes that failed: their user data, or what their Auto Scaling group
	// does with them. They have no finding, and count against acts on what is tied to them.
	// In the order of their ids.
	Unjudged []roll.InstanceID
	// Waiting counts instances that run and have not registered, but are younger
	// than the warning time, and nodes that still have time to initialize.
	Waiting int
	// Starting are the first of the nodes that Waiting counts, as what they would be found
	// to be if their time were over: what goes wrong while nodes start up, and passes
	// within their time, shows in these alone.
	Starting []roll.Finding
	// Notes are facts worth a person's attention that are no findings.
	Notes []string

	// Count is what the limits on shares are counted from: the cluster under "",
	// and each group under its name.
	Count map[roll.Group]Count
	// Nodes and Ready count the nodes on EC2 instances, and how many are ready. Nodes
	// whose instance EC2 says is gone, or is going, are not counted.
	Nodes, Ready int
	// Zones counts the same nodes by the name of their availability zone. Those that
	// tell of none are left out.
	Zones map[string]ZoneCount
	// Populations tells of the groups that have nodes, or had some that are remembered. Nil
	// in a snapshot of one instance.
	Populations map[roll.Group]Population
	// Silent are the times at which the nodes that are silent now turned silent, the
	// earliest first.
	Silent []time.Time
	// NoProviderID counts nodes of which nobody can say on what they run: any
	// instance that seems unregistered could be one of them.
	NoProviderID int

	// NotReady is what the ledger is to remember of nodes that are not ready.
	NotReady map[roll.InstanceID]ledger.NotReady
	// Rests is what the ledger is to remember of instances that rest, or rested, in
	// their Auto Scaling groups.
	Rests map[roll.InstanceID]ledger.Rest
	// Missing is what the ledger is to remember of instances that EC2 knows no longer,
	// or says are gone while their nodes are Ready.
	Missing map[roll.InstanceID]time.Time
	// Flips is what the ledger is to remember of nodes that came back to Ready. It may
	// hold times that count no more: a list is cut when something is added to it.
	Flips map[roll.InstanceID][]time.Time
	// Pressures is what the ledger is to remember of what nodes ran short of.
	Pressures map[roll.InstanceID]ledger.Pressure
	// GroupsWithNodes are the Auto Scaling groups and versions of launch templates that have
	// nodes now.
	GroupsWithNodes map[roll.Origin]bool
	// Groups is what the ledger is to remember of groups: only of those of which it
	// remembers something else so far. Empty unless the whole cluster was seen.
	Groups map[roll.Group]ledger.GroupMemory

	// Registration sums up how long the latest nodes of each group took to register:
	// those that the ledger remembers and those that are new in this check.
	Registration map[roll.Group]RegistrationTimes
	// NewRegistrations are the registration times that this check is the first to see,
	// the shortest first. The first check of a cluster, which sees every node for the
	// first time, has none.
	NewRegistrations []time.Duration

	// Questions asks for details of suspects that the snapshot lacks. With them in
	// Snapshot.Details the same snapshot is assessed again.
	Questions []roll.Question
	// Next is the next moment at which a verdict can change by the mere passing of
	// time; zero if there is none.
	Next time.Time
}

// NotNode is an instance that carries the cluster's tag and is not a node.
type NotNode struct {
	Instance roll.InstanceID
	Name     string
	Why      string
}

// Assess judges a snapshot.
func Assess(in Input) Assessment {
	a := newAssessor(in)
	if a.gone {
		a.orphans()
		return a.finish()
	}
	members := roll.Pair(in.Snapshot)
	a.learnGroups(members)
	for _, m := range members {
		a.member(m)
	}
	a.stuck(members)
	a.left()
	a.unlaunched()
	return a.finish()
}

type assessor struct {
	Input
	out   Assessment
	asked map[roll.InstanceID]int // index into out.Questions
	// beside are the instances of the nodes that are counted beside a target.
	beside map[roll.InstanceID]bool

	// What of the snapshot was read without a gap. A snapshot of one instance lacks
	// the others.
	instancesRead, nodesRead bool
	gone                     bool // EKS knows no such cluster
	whole                    bool // the cluster as a whole was seen, and may be counted

	zones  []zoneTally
	groups map[roll.Group]*groupTally
	total  Count
	// joined and late tell of the member at hand that it was counted, as one of the
	// population and as overdue.
	joined, late bool

	meant    map[roll.Origin]bool // those of instances whose own user data shows that they are meant to be nodes
	unjudged []unjudged

	unreadable int // instances without a node whose Auto Scaling group could not be asked
	hidden     int // nodes of Auto Mode whose instances EC2 does not show
}

func newAssessor(in Input) *assessor {
	a := &assessor{Input: in, asked: map[roll.InstanceID]int{}, meant: map[roll.Origin]bool{}, groups: map[roll.Group]*groupTally{}}
	s := in.Snapshot
	a.instancesRead, a.nodesRead = s.Has(roll.ScopeInstances), s.Has(roll.ScopeNodes)
	a.gone = slices.ContainsFunc(s.Gaps, func(g roll.Gap) bool { return g.Kind == roll.GapClusterGone })
	a.whole = a.instancesRead && a.nodesRead && s.Target == ""
	a.out = Assessment{
		Kept:     map[roll.FindingKey]bool{},
		Count:    map[roll.Group]Count{},
		NotReady: map[roll.InstanceID]ledger.NotReady{}, Rests: map[roll.InstanceID]ledger.Rest{},
		Missing: map[roll.InstanceID]time.Time{}, Flips: map[roll.InstanceID][]time.Time{}, Pressures: map[roll.InstanceID]ledger.Pressure{},
		GroupsWithNodes: map[roll.Origin]bool{}, Inherited: map[roll.InstanceID]bool{}, Groups: map[roll.Group]ledger.GroupMemory{},
	}
	return a
}

// finish puts in order what was found, and adds what is told of all of it.
func (a *assessor) finish() Assessment {
	sortFindings(a.out.Findings)
	sortFindings(a.out.Starting)
	a.sortQuestions()
	slices.SortFunc(a.out.NotNodes, func(x, y NotNode) int { return cmp.Compare(x.Instance, y.Instance) })
	slices.SortFunc(a.out.Silent, time.Time.Compare)
	a.absentBystanders()
	a.countUnjudged()
	a.counts()
	a.registrations()
	a.keepUnread()
	a.carry()
	a.notes()
	return a.out
}

func sortFindings(findings []roll.Finding) {
	slices.SortFunc(findings, func(x, y roll.Finding) int {
		if x.Stage != y.Stage {
			if x.Stage.Past(y.Stage) {
				return -1
			}
			return 1
		}
		return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.Instance, y.Instance), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Kind, y.Kind))
	})
}

func (a *assessor) notes() {
	if n := a.out.NoProviderID; n > 0 && a.Snapshot.Target == "" {
		a.note("%d %s no EC2 provider id (spec.providerID): an instance that seems unregistered may be one of them, so none is acted on", n, roll.Plural(n, "node has", "nodes have"))
	}
	if n := a.unreadable; n > 0 {
		a.note("%d %s not judged: nobody could tell what %s doing in %s Auto Scaling group", n, roll.Plural(n, "instance is", "instances are"), roll.Plural(n, "it is", "they are"), roll.Plural(n, "its", "their"))
	}
	if n := a.hidden; n > 0 {
		a.note("%d %s of Auto Mode judged by what Kubernetes says alone: EC2 does not show %s", n, roll.Plural(n, "node", "nodes"), roll.Plural(n, "its instance", "their instances"))
	}
	slices.Sort(a.out.Notes)
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

// learnGroups finds the Auto Scaling groups and versions of launch templates that have
// nodes, and those of which an instance shows by its own user data that it is meant to be
// one: what comes from them is meant to be a node. An instance that is not proven to be of
// this cluster teaches nothing, whatever a node says.
func (a *assessor) learnGroups(members []roll.Member) {
	groups := map[string]bool{}
	for _, m := range members {
		i := m.Instance
		if i == nil || i.Unclaimed || i.Ambiguous || i.OtherCluster != "" {
			continue
		}
		if m.Node == nil {
			if len(a.Snapshot.Details) > 0 && a.Snapshot.Details[i.ID].Bootstraps == roll.Yes {
				for _, o := range i.Origins() {
					a.meant[o] = true
				}
			}
			continue
		}
		if i.ASG != "" && !groups[i.ASG] {
			groups[i.ASG] = true
			a.out.GroupsWithNodes[roll.Origin(roll.AutoScalingGroup(i.ASG))] = true
		}
		if lt := roll.Origin(i.LaunchTemplate); lt != "" && !a.out.GroupsWithNodes[lt] {
			a.out.GroupsWithNodes[lt] = true
		}
	}
}

func (a *assessor) member(m roll.Member) {
	a.joined, a.late = false, false
	if m.Node != nil && m.Node.Compute != roll.ComputeEC2 {
		if m.Node.Compute == roll.ComputeUnknown {
			a.out.NoProviderID++
		}
		return
	}
	if target := a.Snapshot.Target; target != "" && m.ID() != target {
		if m.Node != nil {
			a.bystander(m)
		}
		return
	}
	if m.Node != nil {
		a.node(m)
		return
	}
	a.unpaired(m)
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

// began tells since when a member is in trouble where the trouble itself has no time: a
// startup taint does not say when it was put on, nor an instance without a Node when
// the Node was deleted. As a rule it is since the start, a launch or a creation. But
// what should have been in order by the last complete check, and was not among the
// findings then, was in order; its trouble began after that, and gets its whole time.
// later tells that it did. A time that the ledger knows stays.
func (a *assessor) began(k roll.FindingKey, start time.Time, deadline time.Duration) (since time.Time, later bool) {
	if known, ok := a.State.Findings[k]; ok {
		if known.Since.Before(start) {
			return start, false
		}
		return known.Since.UTC(), known.Since.After(start)
	}
	if a.inOrder(start, deadline) {
		return a.past(a.State.Checked, time.Time{}), true
	}
	return start, false
}

// inOrder reports that what began at start was past its time at the last complete
// check, which would have found it if anything had been wrong.
func (a *assessor) inOrder(start time.Time, deadline time.Duration) bool {
	return !a.State.Checked.IsZero() && !start.Add(deadline).After(a.State.Checked)
}

// tolerance is how long a finding of the kind may last; false if the policy does not
// say, and then it is none.
func (a *assessor) tolerance(m roll.Member, kind roll.Kind) (time.Duration, bool) {
	t, ok := a.Policy(m.Selector()).Tolerances[kind]
	return t, ok
}

// finding is a finding about a member, overdue if its tolerance is over.
func (a *assessor) finding(m roll.Member, kind roll.Kind, since, due time.Time) roll.Finding {
	f := roll.Finding{
		Instance: m.ID(), Node: m.NodeName(), Group: m.Group(), Selector: m.Selector(), Owner: m.Owner(), Zone: m.Zone(), ZoneID: m.ZoneID(),
		Kind: kind, Stage: roll.Watching, Since: since, Began: since, Due: due,
	}
	if !a.Now.Before(due) {
		f.Stage = roll.Overdue
	}
	if m.Instance == nil && f.Group == roll.GroupNone {
		// EC2 has forgotten the instance, and with it its group. What was told of under
		// the group's name goes on under it.
		if g, ok := a.rememberedGroup(f.Instance); ok {
			f.Group, f.Selector.Group = g, g
		}
	}
	return f
}

// warn gives a finding the stage in which it is first spoken of, from that time on.
func (a *assessor) warn(f *roll.Finding, at time.Time) {
	f.WarnAt = at
	if f.Stage == roll.Watching && !a.Now.Before(at) {
		f.Stage = roll.Warned
	}
	a.next(at)
}

// rememberedGroup is the group that an instance had when a finding about it was made.
func (a *assessor) rememberedGroup(id roll.InstanceID) (roll.Group, bool) {
	for _, kind := range roll.Kinds() {
		if known, ok := a.State.Findings[roll.FindingKey{Instance: id, Kind: kind}]; ok && known.Group != roll.GroupNone {
			return known.Group, true
		}
	}
	return "", false
}

func (a *assessor) add(f roll.Finding, m roll.Member) {
	if f.Stage == roll.Overdue {
		a.countOverdue(f)
		if !f.Kind.OnlyTold() {
			a.askOverdue(f, m)
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
