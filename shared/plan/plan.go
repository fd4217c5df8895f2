// Package plan decides what follows from an assessment: orders, held acts and their
// reasons, tags, notices, and changes to the ledger. A plan is a value: it can be printed,
// tested and reviewed before anything acts on it.
//
// A finding climbs its ladder of steps (ladder.go, from top to bottom: finding, ladder,
// objections, order). Before a step that interrupts, one check after the other may object,
// and the first objection is the reason for which the act is held. A stop and the mode
// object last, so that in mode observe a plan shows what remediate would do.
//
// The package is pure: no I/O, no clock.
package plan

import (
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
	// Policy returns the effective policy for a group, its mode lowered to what the caller
	// permits.
	Policy func(roll.Selector) policy.Policy
	Now    time.Time
	// Lowered: the mode is lowered for this check only, because the policy is unreadable.
	// Nobody turned remediate off.
	Lowered bool
	// Unremembered: the ledger does not outlive this check. Where the mode allows no act, the
	// mode is then the reason, and not NotSeenTwice, which would never end.
	Unremembered bool
	// SeenAt is when the snapshot was complete; zero is Now. First sightings have this time:
	// reading a large cluster takes a while, and two sightings must lie apart.
	SeenAt time.Time
}

// Plan is what follows from one check.
type Plan struct {
	Orders  []Order
	Held    []Held
	Tags    []TagChange
	Notices []Notice
	// Quiet are changes that are remembered but not reported: no news for their incident.
	Quiet []Entry
	// Alarm is the notice about the cluster as a whole, or nil.
	Alarm *Alarm
	// Changes are the changes to the ledger. Those of a notice stand with the notice, and
	// are recorded once it is sent.
	Changes ledger.Changes
	// Resolved are outcomes of acts that a crash left without one.
	Resolved []Resolution
	// Steps has what follows next for each finding.
	Steps map[roll.FindingKey]Step
	// Next is when the plan can change by time alone; zero if it cannot.
	Next time.Time
}

// Step is what happens next to a finding if nothing changes.
type Step struct {
	Do policy.Do // "" when nothing follows
	At time.Time
}

// TagChange is what to write on, and delete from, one instance: only keys of roll.MarkKeys.
type TagChange struct {
	Instance roll.InstanceID
	Set      map[string]string
	Delete   []string
}

// Make returns the plan.
func Make(in Input) Plan {
	p := &planner{Input: in}
	p.Now = in.Now.UTC().Round(0) // what is remembered is compared later; see remember
	if p.SeenAt = in.SeenAt.UTC().Round(0); p.SeenAt.Before(p.Now) {
		p.SeenAt = p.Now
	}
	p.would = map[policy.Mode]*ordered{}
	p.out.Steps = map[roll.FindingKey]Step{}
	p.out.Changes.Put = ledger.NewState()
	p.verdicts = map[roll.FindingKey]verdict{}
	p.next(in.Assessment.Next)
	p.fault = snapshotFault(in.Snapshot)
	p.gone = clusterGone(in.Snapshot)
	p.suspects()
	p.shares = sharesOf(in.Assessment.Findings, in.Diagnoses, p.instances, p.unjudged())
	p.strangers = strangersOf(in.Diagnoses)
	p.remediateSince()
	p.storm()
	for _, f := range in.Assessment.Findings {
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

// planner makes one plan.
type planner struct {
	Input
	out        Plan
	instances  map[roll.InstanceID]*roll.Instance // those with findings
	nodes      map[roll.InstanceID]*roll.Node     // likewise
	namesakes  map[roll.InstanceID]*roll.Node     // nodes with the name of one of these, and another id
	adopters   map[string]roll.InstanceID         // running instances with the name of a node with a finding, and another id
	since      map[roll.Group]time.Time           // when remediate was turned on, after this check
	verdicts   map[roll.FindingKey]verdict
	continued  map[ledger.NoticeKey]bool            // incidents that continue under another cause
	open       map[stratum][]ledger.NoticeKey       // incidents in the ledger, in order
	incidentOf map[roll.FindingKey]ledger.NoticeKey // of findings past Watching
	trouble    *ledger.Trouble                      // the cluster's, after this check; nil if there is none
	shares     shares
	strangers  map[roll.InstanceID]roll.Cause // instances whose user data joins another cluster

	// would counts orders, and acts that only the mode holds, by mode: separately, so that
	// orders do not use up the limits of the others.
	would map[policy.Mode]*ordered

	fault *Refusal // what makes the whole snapshot unfit to act on
	gone  bool     // EKS knows no such cluster; its instances are still reported
}

// verdict is what became of a finding in this plan.
type verdict struct {
	order *Order
	held  *Held
}

// ordered counts the orders of this plan.
type ordered struct {
	instances map[roll.InstanceID]bool
	groups    map[roll.Group]int // what counts against budgets, the cluster being ""
	anew      map[roll.Group]int // of those, on instances that were not acted on in the last hour
}

// ordered returns the count for a mode.
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

// wholeCluster reports whether the snapshot covers the cluster, not one instance. Only then nodes
// can be counted.
func (p *planner) wholeCluster() bool { return p.Snapshot.Target == "" }

// suspects indexes the instances and nodes of the findings. At 100,000 nodes an index of all
// would cost more than the plan.
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
		if id, ok := carried[inst.PrivateDNS]; ok && id != inst.ID && inst.State == roll.StateRunning {
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

// next plans a check for a time.
func (p *planner) next(at time.Time) {
	if at.After(p.Now) && (p.out.Next.IsZero() || at.Before(p.out.Next)) {
		p.out.Next = at
	}
}

// refuseUntil returns a refusal that ends by itself at a time, and plans a check for then.
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

// known returns the ledger's record of this very trouble. The same kind with another launch
// or transition time is another trouble: the first one ended unseen.
func (p *planner) known(f roll.Finding) (ledger.Finding, bool) {
	k, ok := p.State.Findings[f.Key()]
	if !ok || !k.Began.Equal(f.Began) {
		return ledger.Finding{}, false
	}
	return k, true
}
