// Package plan decides what follows from an assessment: orders, held acts and their reasons, tags,
// notices, and changes to the ledger. A plan is a value. It can be printed, tested and reviewed
// before anything acts on it.
//
// A finding climbs its ladder of steps (ladder.go). Before a step that interrupts, a list of
// objections is checked in order. The first objection is the reason for which the act is held. The
// stop, the mode and an approval come last, so that in mode observe a plan shows what remediate
// would do.
//
// The package is pure: no I/O, no clock.
package plan

import (
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Input is everything that a plan depends on.
type Input struct {
	Snapshot   *roll.Snapshot
	Assessment assess.Assessment
	State      ledger.State
	// Diagnoses are the diagnoses of the findings; nil if there are none.
	Diagnoses map[roll.FindingKey]roll.Diagnosis
	// Policy returns the effective policy for a selector, with its mode lowered to what the caller
	// permits.
	Policy func(roll.Selector) policy.Policy
	Now    time.Time
	// Lowered: the mode is lowered for this check only, because the policy is unreadable, or the
	// cluster may belong to another deployment. Remediate was not turned off.
	Lowered bool
	// Unremembered: the ledger does not outlive this check. If the mode allows no act, the reason
	// is then the mode, and not NotSeenTwice, which would never end.
	Unremembered bool
	// SeenAt is when the snapshot was complete; zero means Now. First sightings have this time:
	// reading a large cluster takes a while, and two sightings must be some time apart.
	SeenAt time.Time
}

// Plan is the result of one check.
type Plan struct {
	Orders  []Order
	Held    []Held
	Tags    []TagChange
	Notices []Notice
	// Quiet are changes that are remembered but not reported, since they are no news for their
	// incident.
	Quiet []Entry
	// Alarm is the notice about the cluster as a whole, or nil.
	Alarm *Alarm
	// Changes are the changes to the ledger. Those of a notice are in the notice, and are recorded
	// once it is sent.
	Changes ledger.Changes
	// Resolved are the outcomes of acts that a crash left without one.
	Resolved []Resolution
	// Approved are the approvals that tags on instances give.
	Approved []Approved
	// Steps is what happens next to each finding.
	Steps map[roll.FindingKey]Step
	// Next is when the plan can change without new observations; zero if it cannot.
	Next time.Time
	// OutageSince is since when no check could judge the cluster, to a minute; zero if this one could, or
	// if that cannot be remembered.
	OutageSince time.Time
}

// Step is what happens next to a finding if nothing changes.
type Step struct {
	Do policy.Do // "" when nothing follows
	At time.Time
	// Approve is the approval that it waits for from then on; the zero value if none.
	Approve policy.Approve
}

// TagChange lists the tags to write to and delete from one instance: only keys of roll.MarkKeys.
type TagChange struct {
	Instance roll.InstanceID
	Set      map[string]string
	Delete   []string
}

// Make returns the plan for the input.
func Make(in Input) Plan {
	p := &planner{Input: in}
	p.Now = in.Now.UTC().Round(0) // the ledger's times are compared with it later; see remember
	p.SeenAt = roll.Later(p.Now, in.SeenAt.UTC().Round(0))
	p.would = map[policy.Mode]*ordered{}
	p.out.Steps = map[roll.FindingKey]Step{}
	p.out.Changes.Put = ledger.NewState()
	p.verdicts = map[roll.FindingKey]verdict{}
	p.next(in.Assessment.Next)
	p.fault = snapshotFault(in.Snapshot)
	p.gone = in.Snapshot.ClusterGone()
	p.suspects()
	p.shares = sharesOf(in.Assessment.Findings, p.allowedRepeats(), p.instances, p.unjudged())
	p.strangers = strangersOf(in.Diagnoses)
	p.remediateSince()
	p.storm()
	for _, f := range p.inTurn() {
		p.climb(f)
	}
	if p.cannotJudge() {
		return p.out
	}
	p.recover()
	p.outOfService()
	p.resolve()
	p.remember()
	p.tags()
	p.notices()
	return p.out
}

// inTurn returns the findings in the order in which they use up the limits: by the end of their
// tolerance, or, if an act failed or could not be tried, by that time. Otherwise a drain that never finishes, or an
// instance that cannot be tagged, could use up the limits of its group forever. Since a failed one keeps its new place,
// later findings do not overtake it; a refused one gets another place each half hour.
func (p *planner) inTurn() []roll.Finding {
	tried := map[roll.FindingKey]time.Time{}
	for _, a := range p.State.Actions {
		if a.Outcome != nil && a.Outcome.Result == ledger.Failed {
			key := roll.FindingKey{Instance: a.Instance, Kind: a.Kind}
			tried[key] = roll.Later(tried[key], a.Outcome.At)
		}
	}
	for k, r := range p.State.Refusals {
		if key := (roll.FindingKey{Instance: r.Instance, Kind: r.Kind}); p.cannotTry(k, r) {
			tried[key] = roll.Later(tried[key], r.Latest())
		}
	}
	if len(tried) == 0 {
		return p.Assessment.Findings
	}
	queued := func(f roll.Finding) time.Time { return roll.Later(f.Due, tried[f.Key()]) }
	return slices.SortedStableFunc(slices.Values(p.Assessment.Findings), func(x, y roll.Finding) int {
		return queued(x).Compare(queued(y))
	})
}

// cannotTry reports whether a refusal shows that an act could not be tried for RetryAfter.
func (p *planner) cannotTry(k ledger.RefusalKey, r ledger.Refusal) bool {
	_, begun := p.State.Action(k.Order)
	return Reason(k.Reason).Blocked() && !begun && p.Now.Sub(r.At) >= RetryAfter
}

type planner struct {
	Input
	out        Plan
	instances  map[roll.InstanceID]*roll.Instance // those with findings
	nodes      map[roll.InstanceID]*roll.Node     // those with findings
	namesakes  map[roll.InstanceID]*roll.Node     // nodes with the name of such an instance, and another id
	adopters   map[string]roll.InstanceID         // instances that are not gone, with the name of such a node and another id
	since      map[roll.Group]time.Time           // when remediate was turned on, after this check
	verdicts   map[roll.FindingKey]verdict
	continued  map[ledger.NoticeKey]bool            // incidents that continue under another cause
	open       map[stratum][]ledger.NoticeKey       // incidents in the ledger, in order
	incidentOf map[roll.FindingKey]ledger.NoticeKey // of findings past Watching
	trouble    *ledger.Trouble                      // the cluster's, after this check; nil if there is none
	shares     shares
	strangers  map[roll.InstanceID]roll.Cause // instances whose user data joins another cluster

	// would counts orders and acts that only the mode holds, per mode, so that one mode's orders do
	// not use up the limits of another.
	would map[policy.Mode]*ordered

	fault *Refusal // why the whole snapshot is unfit to act on
	gone  bool     // EKS has no such cluster; its instances are still reported
}

// verdict is the outcome of a finding in this plan.
type verdict struct {
	order *Order
	held  *Held
}

// ordered counts the orders of this plan.
type ordered struct {
	instances map[roll.InstanceID]bool
	groups    map[roll.Group]int // what counts against budgets, the cluster being ""
	anew      map[roll.Group]int // those on instances that were not acted on in the last hour
}

func (p *planner) ordered(m policy.Mode) *ordered {
	o, ok := p.would[m]
	if !ok {
		o = &ordered{instances: map[roll.InstanceID]bool{}, groups: map[roll.Group]int{}, anew: map[roll.Group]int{}}
		p.would[m] = o
	}
	return o
}

// cannotJudge reports whether too little was read to conclude, remember or report anything about
// single instances.
func (p *planner) cannotJudge() bool { return p.fault != nil && !p.gone }

// wholeCluster reports whether the snapshot covers the cluster, not one instance. Nodes can be
// counted only then.
func (p *planner) wholeCluster() bool { return p.Snapshot.Target == "" }

// suspects indexes the instances and nodes of the findings. At 100,000 nodes an index of all of
// them would cost more than the plan.
func (p *planner) suspects() {
	p.instances = make(map[roll.InstanceID]*roll.Instance, len(p.Assessment.Findings))
	p.nodes = make(map[roll.InstanceID]*roll.Node, len(p.Assessment.Findings))
	names := make(map[roll.InstanceID]string, len(p.Assessment.Findings))
	for _, f := range p.Assessment.Findings {
		p.instances[f.Instance] = nil
		if f.Node != "" {
			names[f.Instance] = f.Node
		}
	}
	called, carried := map[string]roll.InstanceID{}, map[string]roll.InstanceID{}
	for id, name := range names {
		carried[name] = id
	}
	p.adopters = map[string]roll.InstanceID{}
	for i := range p.Snapshot.Instances {
		inst := &p.Snapshot.Instances[i]
		if id, ok := carried[inst.PrivateDNS]; ok && id != inst.ID && !inst.State.Gone() {
			p.adopters[inst.PrivateDNS] = inst.ID
		}
		if _, ok := p.instances[inst.ID]; ok {
			p.instances[inst.ID] = inst
			called[inst.PrivateDNS] = inst.ID
		}
	}
	p.namesakes = map[roll.InstanceID]*roll.Node{}
	for i := range p.Snapshot.Nodes {
		n := &p.Snapshot.Nodes[i]
		if name, ok := names[n.Instance]; ok && name == n.Name {
			p.nodes[n.Instance] = n
		}
		if id, ok := called[n.Name]; ok && n.Instance != "" && n.Instance != id {
			p.namesakes[id] = n
		}
	}
}

func (p *planner) next(at time.Time) {
	if at.After(p.Now) && (p.out.Next.IsZero() || at.Before(p.out.Next)) {
		p.out.Next = at
	}
}

// refuseUntil returns a refusal that ends by itself at a time, and schedules a check for then.
func (p *planner) refuseUntil(at time.Time, reason Reason, format string, args ...any) *Refusal {
	p.next(at)
	no := refuse(reason, format, args...)
	no.Until = at
	return no
}

// predates reports whether a time belongs to an earlier cluster of the same name.
func (p *planner) predates(at time.Time) bool { return at.Before(p.Snapshot.Cluster.Created) }

// first returns when a check first saw the whole cluster.
func (p *planner) first() time.Time {
	if p.predates(p.State.First) {
		return time.Time{}
	}
	return p.State.First
}
