// Package assess decides what is wrong. From a snapshot, the policy, the ledger and the time, it
// computes findings, and the next time at which a verdict can change.
//
// A member of the cluster has at most one finding about its state as a node: Ghost, Orphaned,
// Unregistered, Unknown, Uninitialized or NotReady. Impaired and Scheduled come from EC2
// and may be added to it. ConditionFailed and Flapping are about Ready nodes without such a
// finding; Flapping also about nodes that leave Ready again before a check sees them Ready.
//
// It judges only what was read. If nodes are missing from the snapshot, no instance counts as
// unregistered. If instances are missing, no node counts as a ghost. The conditions of nodes are
// still reported, and package plan holds the acts. A finding in the ledger that this check can
// neither confirm nor end is kept unchanged.
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

// Confirmation is the minimum time between two sightings before a verdict may lead to an act.
const Confirmation = 60 * time.Second

// Input is everything that an assessment depends on.
type Input struct {
	Snapshot *roll.Snapshot
	// Policy returns the effective policy for a selector in the cluster.
	Policy func(roll.Selector) policy.Policy
	State  ledger.State
	Now    time.Time
	// Presume: an instance whose state in its Auto Scaling group is unreadable counts as in
	// service. It is for reports only: acts on the instance are held anyway.
	Presume bool
}

// Assessment is the verdict on one snapshot.
//
// The maps of ledger records are complete: the ledger forgets an instance that is missing in one.
// For instances that the snapshot does not show, because of a gap or because it is about another
// one, the maps repeat the ledger's records.
type Assessment struct {
	// Findings are the findings of every stage, the most urgent first: by stage, then by the end of
	// the tolerance, then by instance.
	Findings []roll.Finding
	// Kept are findings in the ledger that this check can neither confirm nor end. They stay
	// unchanged, neither resolved nor acted on.
	Kept map[roll.FindingKey]bool
	// NotNodes are instances that carry the cluster's tag but are not judged as nodes.
	NotNodes []NotNode
	// Inherited are instances with findings that count as nodes only because others of their Auto
	// Scaling group or launch template version do, or because of that version's user data. They are
	// reported and counted. An act needs more evidence.
	Inherited map[roll.InstanceID]bool
	// Unjudged are instances past their warning time whose user data, or state in their Auto
	// Scaling group, could not be read, ordered by id. They have no finding, but count against acts
	// on instances that share something with them.
	Unjudged []roll.InstanceID
	// Waiting counts running instances that have not registered and nodes that have not
	// initialized, before their warning time.
	Waiting int
	// Starting are the first of the nodes in Waiting, as the findings that they would be after
	// their time. Faults during startup that end in time appear only here.
	Starting []roll.Finding
	// Notes are facts worth a person's attention that are not findings.
	Notes []string

	// Count is the base of the limits on shares: the cluster under "", each group under its name.
	Count map[roll.Group]Count
	// Nodes and Ready count the cluster's nodes, as "kubectl get nodes" lists them: also those on Fargate or
	// on premises, and those whose instance is gone. Only nodes on existing instances count for limits.
	Nodes, Ready int
	// Zones counts the nodes on existing instances by the name of their availability zone.
	Zones map[string]ZoneCount
	// Populations describes the groups that have nodes, or had some in the ledger. It is nil in a
	// snapshot of one instance.
	Populations map[roll.Group]Population
	// Silent are the times at which the silent nodes became silent, in order.
	Silent []time.Time
	// NoProviderID counts nodes without a provider id. Any of them may be the node of an instance
	// that seems unregistered.
	NoProviderID int

	// Records for the ledger: of nodes that are not ready,
	NotReady map[roll.InstanceID]ledger.NotReady
	// of instances that are or were in a warm pool or Standby,
	Rests map[roll.InstanceID]ledger.Rest
	// of instances that EC2 does not find, or reports as gone while their nodes are Ready,
	Missing map[roll.InstanceID]time.Time
	// since when those without a Node may have had a fault that checks could not judge,
	Doubts map[roll.InstanceID]time.Time
	// of nodes that became Ready again (times outside the window are dropped when another is
	// added),
	Flips map[roll.InstanceID][]time.Time
	// and of pressures of nodes.
	Pressures map[roll.InstanceID]ledger.Pressure
	// GroupsWithNodes are the Auto Scaling groups and launch template versions with nodes.
	GroupsWithNodes map[roll.Origin]bool
	// Groups are the changed records of groups. It is empty unless the whole cluster was read.
	Groups map[roll.Group]ledger.GroupMemory

	// Registration summarizes the registration times of each group: those in the ledger and those
	// new in this check.
	Registration map[roll.Group]RegistrationTimes
	// NewRegistrations are the registration times that are new in this check, the shortest first.
	// The first check of a cluster has none.
	NewRegistrations []time.Duration

	// Questions are requests for missing details of suspects. Once these are in Snapshot.Details,
	// the snapshot is assessed again.
	Questions []roll.Question
	// Next is when a verdict can change without new observations; zero if none can.
	Next time.Time
}

// NotNode is an instance that carries the cluster's tag but is not a node. Its JSON is that of reports.
type NotNode struct {
	Instance roll.InstanceID `json:"instance"`
	Name     string          `json:"name,omitempty"`
	Why      string          `json:"why"`
}

// Assess returns the assessment of a snapshot.
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
	// beside are the instances of the other nodes in a snapshot of one instance.
	beside map[roll.InstanceID]bool

	// What was read without a gap.
	instancesRead, nodesRead bool
	// nodesListed: the API server listed all nodes, though the cluster may not be ACTIVE. What shows in
	// the list is reported, and package plan holds every act.
	nodesListed bool
	gone        bool // EKS has no such cluster
	whole       bool // the whole cluster was read, so it can be counted

	zones  []zoneTally
	groups map[roll.Group]*groupTally
	total  Count
	// joined and late: the current member is already counted in the population, and as overdue.
	joined, late bool

	meant    map[roll.Origin]bool // origins of instances whose own user data shows that they should be nodes
	unjudged []unjudged

	unreadable int // instances without a node whose state in their Auto Scaling group is unreadable
	hidden     int // Auto Mode nodes whose instances EC2 does not return
}

func newAssessor(in Input) *assessor {
	a := &assessor{Input: in, asked: map[roll.InstanceID]int{}, beside: map[roll.InstanceID]bool{}, meant: map[roll.Origin]bool{}, groups: map[roll.Group]*groupTally{}}
	s := in.Snapshot
	a.instancesRead, a.nodesRead = s.Has(roll.ScopeInstances), s.Has(roll.ScopeNodes)
	a.nodesListed = !slices.ContainsFunc(s.Gaps, func(g roll.Gap) bool {
		return g.Scope == roll.ScopeNodes || g.Scope == roll.ScopeCluster && g.Kind != roll.GapClusterNotActive
	})
	a.gone = s.ClusterGone()
	a.whole = a.instancesRead && a.nodesRead && s.Target == ""
	a.out = Assessment{
		Kept:     map[roll.FindingKey]bool{},
		Count:    map[roll.Group]Count{},
		NotReady: map[roll.InstanceID]ledger.NotReady{}, Rests: map[roll.InstanceID]ledger.Rest{},
		Missing: map[roll.InstanceID]time.Time{}, Doubts: map[roll.InstanceID]time.Time{}, Flips: map[roll.InstanceID][]time.Time{}, Pressures: map[roll.InstanceID]ledger.Pressure{},
		GroupsWithNodes: map[roll.Origin]bool{}, Inherited: map[roll.InstanceID]bool{}, Groups: map[roll.Group]ledger.GroupMemory{},
		Nodes: len(s.Nodes),
	}
	for i := range s.Nodes {
		if s.Nodes[i].Ready.Status == roll.ConditionTrue {
			a.out.Ready++
		}
	}
	return a
}

// finish sorts the findings and adds what depends on all of them.
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
		a.note("%d %s not judged: it could not be read what %s doing in %s Auto Scaling group", n, roll.Plural(n, "instance is", "instances are"), roll.Plural(n, "it is", "they are"), roll.Plural(n, "its", "their"))
	}
	if n := a.hidden; n > 0 {
		a.note("%d %s of Auto Mode judged by what Kubernetes says alone: EC2 does not show %s", n, roll.Plural(n, "node", "nodes"), roll.Plural(n, "its instance", "their instances"))
	}
	slices.Sort(a.out.Notes)
}

func (a *assessor) note(format string, args ...any) {
	a.out.Notes = append(a.out.Notes, fmt.Sprintf(format, args...))
}

// next records a time at which a verdict can change.
func (a *assessor) next(at time.Time) {
	if at.After(a.Now) && (a.out.Next.IsZero() || at.Before(a.out.Next)) {
		a.out.Next = at
	}
}

// learnGroups finds the Auto Scaling groups and launch template versions that have nodes, or an
// instance whose own user data shows that it should be one. Their other instances should be nodes
// too. An instance that does not provably belong to this cluster is no evidence, whatever its node
// says.
func (a *assessor) learnGroups(members []roll.Member) {
	groups := map[string]bool{}
	for _, m := range members {
		i := m.Instance
		if i == nil || m.ControlPlane() || i.Unclaimed || i.Ambiguous || i.OtherCluster != "" {
			continue
		}
		if m.Node == nil {
			if a.Snapshot.Details[i.ID].Bootstraps == roll.Yes {
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
		if lt := roll.Origin(i.LaunchTemplate); lt != "" {
			a.out.GroupsWithNodes[lt] = true
		}
	}
}

func (a *assessor) member(m roll.Member) {
	a.joined, a.late = false, false
	if m.ControlPlane() {
		if m.Instance != nil && m.Instance.State == roll.StateRunning {
			a.notNode(m.Instance, whyControlPlane)
		}
		return
	}
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

// firstKnown returns the first of two times that is not zero, but at most now: other clocks may run
// ahead.
func (a *assessor) firstKnown(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		t = otherwise
	}
	if t.IsZero() || t.After(a.Now) {
		t = a.Now
	}
	return t.UTC()
}

// began returns the start of a fault that has no time of its own: a startup taint has no creation
// time, and an instance does not show when its Node was deleted. The start is usually a launch or a
// creation. If the last complete check came halfway between the warning and the deadline, or later, and found nothing,
// the fault began after that check, with its whole tolerance, and later is true. (A check soon after the warning was
// due may have missed it: answers of EC2 leave out what is new.) A time in the ledger stays.
func (a *assessor) began(k roll.FindingKey, start time.Time, warnAfter, deadline time.Duration) (since time.Time, later bool) {
	if known, ok := a.State.Findings[k]; ok {
		if known.Since.Before(start) {
			return start, false
		}
		return known.Since.UTC(), known.Since.After(start)
	}
	// A node that was not Ready at the last complete check, and that none saw before that, was in order in none.
	away, silent := a.State.NotReady[k.Instance]
	never := k.Kind == roll.Uninitialized && silent && away.Told.IsZero() && away.Since.Before(start.Add(deadline))
	if a.inOrder(start, (warnAfter+deadline)/2) && !never {
		return a.firstKnown(a.State.Checked, time.Time{}), true
	}
	return start, false
}

// counted returns from when a fault that began reports is tolerated. One that began at an unknown time after the last
// complete check has its whole tolerance from the check that first found it: that may be hours later.
func (a *assessor) counted(k roll.FindingKey, since time.Time, later bool) time.Time {
	known, ok := a.State.Findings[k]
	switch {
	case ok:
		return roll.Later(since, known.Began.UTC())
	case later:
		return a.Now.UTC()
	}
	return since
}

// inOrder reports whether the last complete check came so long after start that it would have found any fault.
func (a *assessor) inOrder(start time.Time, after time.Duration) bool {
	return !start.Add(after).After(a.State.Checked)
}

// tolerance returns how long a finding of the kind may last. It returns false if the policy has no
// tolerance for it; then there is no finding.
func (a *assessor) tolerance(m roll.Member, kind roll.Kind) (time.Duration, bool) {
	t, ok := a.Policy(m.Selector()).Tolerances[kind]
	return t, ok
}

// finding returns a finding about a member, overdue if its tolerance is over.
func (a *assessor) finding(m roll.Member, kind roll.Kind, since, due time.Time) roll.Finding {
	f := roll.Finding{
		Instance: m.ID(), Node: m.NodeName(), Group: m.Group(), Selector: m.Selector(), Owner: m.Owner(), Zone: m.Zone(), ZoneID: m.ZoneID(),
		Kind: kind, Stage: a.stage(due), Since: since, Began: since, Due: due,
	}
	if (m.Instance == nil || m.Instance.Stripped()) && f.Group == roll.GroupNone {
		// EC2 no longer returns the instance and its group, or not its tags: use the group in the ledger.
		if g, ok := a.knownGroup(f.Instance, func(_ roll.Kind, known ledger.Finding) bool { return known.Group != roll.GroupNone }); ok {
			f.Group, f.Selector.Group = g, g
		}
	}
	return f
}

// stage is that of a finding without a warning time.
func (a *assessor) stage(due time.Time) roll.Stage {
	if a.Now.Before(due) {
		return roll.Watching
	}
	return roll.Overdue
}

// warn sets a finding's stage to Warned from its warning time on.
func (a *assessor) warn(f *roll.Finding, at time.Time) {
	if f.Stage == roll.Watching && !a.Now.Before(at) {
		f.Stage = roll.Warned
	}
	a.next(at)
}

// knownGroup returns the group of the first finding in the ledger about the instance for which such
// returns true.
func (a *assessor) knownGroup(id roll.InstanceID, such func(roll.Kind, ledger.Finding) bool) (roll.Group, bool) {
	for _, kind := range roll.Kinds() {
		if known, ok := a.State.Findings[roll.FindingKey{Instance: id, Kind: kind}]; ok && such(kind, known) {
			return known.Group, true
		}
	}
	return "", false
}

func (a *assessor) add(f roll.Finding, m roll.Member) {
	if m.Instance != nil && m.Instance.Vouched {
		a.ask(roll.Question{Instance: f.Instance, Whole: true}, f.Group) // its tags decide what is done
	}
	if f.Stage == roll.Overdue {
		if f.Instance.IsInstance() && CountsAsOverdue(f.Kind) {
			a.countLate(f.Group)
		}
		if !f.Kind.OnlyTold() {
			a.askOverdue(f, m)
		}
	} else {
		a.next(f.Due)
	}
	if known, ok := a.State.Known(f); ok {
		a.next(known.FirstSeen.Add(Confirmation))
	} else if f.Stage == roll.Overdue {
		a.next(a.Now.Add(Confirmation))
	}
	a.out.Findings = append(a.out.Findings, f)
}
