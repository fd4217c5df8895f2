// Package plan decides what follows from an assessment: the orders to act, what
// is held back and why, the tags to write, the notices to send, and what the
// ledger is to remember. A plan is a value: it can be printed, tested and reviewed
// before anything acts on it.
//
// A finding climbs its ladder of steps. Where a step would destroy, one limit
// after the other is asked, and the first that objects is the typed reason for
// which the act is held. The mode is asked last, so that in mode observe a plan
// shows what remediate would do.
//
// The package is pure: no I/O, no clock.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Input is all that a plan rests on.
type Input struct {
	Snapshot   *roll.Snapshot
	Assessment assess.Assessment
	State      ledger.State
	// Policy tells the effective policy for a group, its mode already lowered to
	// what the caller permits.
	Policy func(roll.Selector) policy.Policy
	Now    time.Time
	// SeenAt is when the snapshot was complete; zero is Now. First sightings date from
	// it: reading a large cluster takes a while, and two sightings must lie apart.
	SeenAt time.Time
}

// Plan is what follows from one check.
type Plan struct {
	Orders  []Order
	Held    []Held
	Tags    []TagChange
	Notices []Notice
	// Changes is what the ledger is to remember of this check. What it is to
	// remember of a notice stands with the notice, and is recorded once it is sent.
	Changes ledger.Changes
	// Resolved are outcomes of acts that a crash left without one, as the look at
	// the instances tells them.
	Resolved []Resolution
	// Steps tells of each finding what follows next.
	Steps map[roll.FindingKey]Step
	// Next is the next moment at which the plan can change by the mere passing of
	// time; zero if there is none.
	Next time.Time
}

// Action is an act that destroys or interrupts something.
type Action string

// The acts, in the order in which they weigh.
const (
	// Cordon marks the node unschedulable, and notes that Rollcall did.
	Cordon Action = "cordon"
	// Uncordon takes back Rollcall's own cordon from a node that came back.
	Uncordon Action = "uncordon"
	// Drain evicts the pods of a node whose kubelet answers, as their disruption
	// budgets allow. It takes several checks, and each goes on where the last stopped.
	Drain Action = "drain"
	// Reboot is ec2:RebootInstances, at most once per finding.
	Reboot Action = "reboot"
	// DeleteNode deletes the Node object of an instance that is gone.
	DeleteNode Action = "delete-node"
	// DeleteNodeClaim deletes Karpenter's NodeClaim; Karpenter ends the instance.
	DeleteNodeClaim Action = "delete-nodeclaim"
	// Terminate is ec2:TerminateInstances; the owner then launches a replacement.
	Terminate Action = "terminate"
)

// OrderLife is how long an order may be carried out. What comes later rests on a
// look at the cluster that is too old.
const OrderLife = 10 * time.Minute

// Order is the instruction to act on one instance.
type Order struct {
	ID       string          `json:"id"`
	Cluster  roll.ClusterID  `json:"cluster"`
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node,omitempty"`
	// Claim is the NodeClaim to delete, for that act only.
	Claim     string     `json:"claim,omitempty"`
	Group     roll.Group `json:"group"`
	Owner     roll.Owner `json:"owner"`
	Kind      roll.Kind  `json:"kind"`
	Action    Action     `json:"action"`
	FirstSeen time.Time  `json:"firstSeen"` // of the finding
	Since     time.Time  `json:"since"`
	At        time.Time  `json:"at"`
	Expires   time.Time  `json:"expires"`
	Why       string     `json:"why"` // one sentence for a person
}

// Held is an act that was held back.
type Held struct {
	Instance roll.InstanceID
	Node     string
	Group    roll.Group
	Kind     roll.Kind
	Action   Action
	Reason   Reason
	Detail   string // a sentence for a person
}

// Step is the next thing that happens to a finding if nothing changes.
type Step struct {
	Do policy.Do // "" when nothing follows
	At time.Time
}

// TagChange is what to write on, and to delete from, one instance: only keys of
// roll.MarkKeys.
type TagChange struct {
	Instance roll.InstanceID
	Set      map[string]string
	Delete   []string
}

// Make makes the plan.
func Make(in Input) Plan {
	p := &planner{Input: in}
	p.Now = in.Now.UTC().Round(0) // what is remembered is compared later; see remember
	if p.SeenAt = in.SeenAt.UTC().Round(0); p.SeenAt.Before(p.Now) {
		p.SeenAt = p.Now
	}
	p.would = map[policy.Mode]map[roll.Group]int{}
	p.out.Steps = map[roll.FindingKey]Step{}
	p.verdicts = map[roll.FindingKey]verdict{}
	p.next(in.Assessment.Next)
	p.faultReason, p.faultDetail, p.fault = snapshotFault(in.Snapshot)
	p.suspects()
	p.remediateSince()
	for _, f := range in.Assessment.Findings {
		p.climb(f)
	}
	if !p.fault {
		p.resolve()
		p.remember()
		p.tags()
		p.notices()
	}
	return p.out
}

type planner struct {
	Input
	out       Plan
	instances map[roll.InstanceID]*roll.Instance // those with findings
	deleting  map[roll.InstanceID]bool           // likewise: their node is being deleted
	since     map[roll.Group]time.Time           // remediate on since, after this check
	verdicts  map[roll.FindingKey]verdict

	// would counts orders, and what only the mode holds, by that mode and by group,
	// the cluster being "". Apart, so that the first does not take the second's place.
	would map[policy.Mode]map[roll.Group]int

	fault       bool
	faultReason Reason
	faultDetail string
}

// verdict is what became of a finding in this plan.
type verdict struct {
	order *Order
	held  *Held
}

// suspects finds the instances of the findings, and whether their nodes are being
// deleted. At 100,000 nodes an index of all of them would cost more than the plan.
func (p *planner) suspects() {
	p.instances = make(map[roll.InstanceID]*roll.Instance, len(p.Assessment.Findings))
	p.deleting = map[roll.InstanceID]bool{}
	for _, f := range p.Assessment.Findings {
		p.instances[f.Instance] = nil
	}
	for i := range p.Snapshot.Instances {
		inst := &p.Snapshot.Instances[i]
		if _, ok := p.instances[inst.ID]; ok {
			p.instances[inst.ID] = inst
		}
	}
	for i := range p.Snapshot.Nodes {
		n := &p.Snapshot.Nodes[i]
		if _, ok := p.instances[n.Instance]; ok && n.Deleting {
			p.deleting[n.Instance] = true
		}
	}
}

func (p *planner) next(at time.Time) {
	if at.After(p.Now) && (p.out.Next.IsZero() || at.Before(p.out.Next)) {
		p.out.Next = at
	}
}

// remediateSince notes for each group with findings when remediate was first seen
// to be on, and forgets it where the mode is another one.
func (p *planner) remediateSince() {
	p.since = maps.Clone(p.State.RemediateSince)
	if p.since == nil {
		p.since = map[roll.Group]time.Time{}
	}
	if p.fault {
		return // nothing is remembered of a check that saw only a part
	}
	for g := range p.State.RemediateSince {
		if p.Policy(roll.GroupSelector(g)).Mode != policy.Remediate {
			delete(p.since, g)
			p.out.Changes.DropRemediate = append(p.out.Changes.DropRemediate, g)
		}
	}
	slices.Sort(p.out.Changes.DropRemediate)
	for _, f := range p.Assessment.Findings {
		if _, ok := p.since[f.Group]; !ok && p.Policy(roll.GroupSelector(f.Group)).Mode == policy.Remediate {
			p.since[f.Group] = p.Now
			if p.out.Changes.PutRemediate == nil {
				p.out.Changes.PutRemediate = map[roll.Group]time.Time{}
			}
			p.out.Changes.PutRemediate[f.Group] = p.Now
		}
	}
}

// climb takes a finding up its ladder as far as its time allows.
func (p *planner) climb(f roll.Finding) {
	pol := p.Policy(f.Selector)
	ladder := pol.Ladders[f.Kind]
	for i, step := range ladder {
		at := policy.StepAt(ladder, i, f.Due)
		if f.Stage != roll.Overdue || p.Now.Before(at) {
			p.next(at)
			p.announce(f, step.Do, at)
			continue
		}
		if !step.Do.Available() {
			p.hold(f, Action(step.Do), StepUnavailable, fmt.Sprintf("the ladder of %s has the step %q, which this version cannot do; nothing behind it is done", f.Kind, step.Do))
			return
		}
		if step.Do == policy.DoTerminate {
			p.announce(f, step.Do, at)
			p.terminate(f, pol)
		}
	}
}

// announce notes a step as what follows next for a finding: the earliest that the
// mode and the owner let happen, and of several at one time the gravest.
func (p *planner) announce(f roll.Finding, do policy.Do, at time.Time) {
	pol := p.Policy(f.Selector)
	switch do {
	case policy.DoTerminate:
		if pol.Owners[f.Owner] != policy.OwnerTerminate || pol.Mode != policy.Remediate {
			return
		}
		if i := p.instances[f.Instance]; i != nil {
			if _, _, out := taggedOut(*i, p.Now); out {
				return
			}
		}
	case policy.DoNotify:
		if !pol.Mode.Allows(policy.Notify) {
			return
		}
	default:
		return // that a tag is written is no news
	}
	if known := p.out.Steps[f.Key()]; known.Do == "" || known.At.Equal(at) {
		p.out.Steps[f.Key()] = Step{Do: do, At: at}
	}
}

// terminate orders the termination of the finding's instance, or holds it with
// the first reason that objects.
func (p *planner) terminate(f roll.Finding, pol policy.Policy) {
	if reason, detail, held := p.objection(f, pol); held {
		p.hold(f, Terminate, reason, detail)
		return
	}
	if p.would[pol.Mode] == nil {
		p.would[pol.Mode] = map[roll.Group]int{}
	}
	p.would[pol.Mode][""]++
	p.would[pol.Mode][f.Group]++
	switch pol.Mode {
	case policy.Remediate:
	case policy.Notify:
		p.hold(f, Terminate, ModeNotify, "mode is notify: only the mode holds this back")
		return
	default:
		p.hold(f, Terminate, ModeObserve, "mode is observe: only the mode holds this back")
		return
	}
	known, _ := p.known(f)
	order := Order{
		ID: orderID(p.Snapshot.Cluster.ID, f, known.FirstSeen, Terminate), Cluster: p.Snapshot.Cluster.ID,
		Instance: f.Instance, Node: f.Node, Group: f.Group, Owner: f.Owner, Kind: f.Kind,
		Action: Terminate, FirstSeen: known.FirstSeen, Since: f.Since, At: p.Now, Expires: p.Now.Add(OrderLife), Why: f.Summary,
	}
	p.verdicts[f.Key()] = verdict{order: &order}
	p.out.Orders = append(p.out.Orders, order)
}

// known is what the ledger remembers of this very trouble. The same kind with another
// launch or transition behind it is another one: the first ended unseen.
func (p *planner) known(f roll.Finding) (ledger.Finding, bool) {
	k, ok := p.State.Findings[f.Key()]
	if !ok || !k.Began.Equal(f.Began) {
		return ledger.Finding{}, false
	}
	return k, true
}

// orderID is the same for every order that follows from the same finding, so
// that a second delivery, or a second check, cannot lead to a second act.
func orderID(c roll.ClusterID, f roll.Finding, firstSeen time.Time, a Action) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.String(), string(f.Instance), string(f.Kind), firstSeen.UTC().Format(time.RFC3339Nano), string(a)}, "\n")))
	return hex.EncodeToString(sum[:8])
}

// objection is the ladder of refusals. Its order is that of the reasons' list.
func (p *planner) objection(f roll.Finding, pol policy.Policy) (Reason, string, bool) {
	if p.fault {
		return p.faultReason, p.faultDetail, true
	}
	i := p.instances[f.Instance]
	if i == nil {
		return InstanceNotSeen, fmt.Sprintf("EC2 did not list %s in this check", f.Instance), true
	}
	if reason, detail, ok := taggedOut(*i, p.Now); ok {
		return reason, detail, true
	}
	if reason, detail, ok := claimObjects(*i, p.Snapshot.Cluster); ok {
		return reason, detail, true
	}
	if p.deleting[f.Instance] {
		return NodeDeleting, fmt.Sprintf("node %s is being deleted already", f.Node), true
	}
	if f.Kind == roll.Unregistered && p.Assessment.NoProviderID > 0 {
		return NodeWithoutProviderID, fmt.Sprintf("%d nodes of the cluster carry no EC2 provider id; %s may be one of them", p.Assessment.NoProviderID, f.Instance), true
	}
	detail := p.Snapshot.Details[f.Instance]
	if reason, text, ok := ownerObjects(f, pol, detail); ok {
		return reason, text, true
	}
	if reason, text, ok := Protection(*i, detail); ok {
		return reason, text, true
	}
	known, seen := p.known(f)
	if text, ok := notSeenTwice(known, seen, p.Now); ok {
		return NotSeenTwice, text, true
	}
	if text, ok := foundBefore(known, p.since[f.Group]); ok {
		return FoundBeforeRemediate, text, true
	}
	if text, ok := shareExceeded("cluster "+p.Snapshot.Cluster.ID.Name, p.Assessment.Count[""], p.Policy(roll.Selector{}).Limits.Unhealthy); ok {
		return UnhealthyShare, text, true
	}
	if text, ok := shareExceeded("group "+string(f.Group), p.Assessment.Count[f.Group], pol.Limits.Unhealthy); ok && f.Group != roll.GroupNone {
		return UnhealthyShare, text, true
	}
	if reason, text, ok := triedBefore(p.State, orderID(p.Snapshot.Cluster.ID, f, known.FirstSeen, Terminate), p.Now); ok {
		return reason, text, true
	}
	if a, ok := p.State.Unresolved(f.Instance, f.Group); ok {
		return ActionUnresolved, fmt.Sprintf("%s of %s, begun at %s, has no outcome yet", a.Do, a.Instance, roll.Clock(a.At)), true
	}
	// The cluster's limits count all its acts, a group's those on its members: an
	// override may slow one group down, and cannot speed the cluster up.
	ordered, cluster := p.would[pol.Mode], p.Policy(roll.Selector{}).Limits
	if text, ok := actionsPerHourSpent("the cluster", p.State.Actions, ordered[""], cluster.ActionsPerHour, p.Now); ok {
		return ActionsPerHour, text, true
	}
	if text, ok := actionsPerHourSpent(string(f.Group), ofGroup(p.State.Actions, f.Group), ordered[f.Group], pol.Limits.ActionsPerHour, p.Now); ok {
		return ActionsPerHour, text, true
	}
	if text, ok := actionsPerCheckSpent("the cluster", ordered[""], cluster.ActionsPerCheck); ok {
		return ActionsPerCheck, text, true
	}
	if text, ok := actionsPerCheckSpent(string(f.Group), ordered[f.Group], pol.Limits.ActionsPerCheck); ok {
		return ActionsPerCheck, text, true
	}
	return "", "", false
}

// ownerObjects tells whether the owner, or the lack of one, forbids termination.
func ownerObjects(f roll.Finding, pol policy.Policy, d roll.Detail) (Reason, string, bool) {
	switch f.Owner {
	case roll.OwnerKarpenter, roll.OwnerAutoMode, roll.OwnerClusterAPI:
		return OwnerNotifyOnly, fmt.Sprintf("owner is %s: this version only notifies", f.Owner), true
	}
	if pol.Owners[f.Owner] != policy.OwnerTerminate {
		return OwnerNotifyOnly, fmt.Sprintf("policy says owners.%s: notify", f.Owner), true
	}
	if f.Owner == roll.OwnerNone && f.Kind == roll.Unregistered && d.Bootstraps == roll.No {
		return NoNodeIntent, fmt.Sprintf("nothing shows that %s is meant to be a node", f.Instance), true
	}
	return "", "", false
}

func (p *planner) hold(f roll.Finding, action Action, reason Reason, detail string) {
	h := Held{Instance: f.Instance, Node: f.Node, Group: f.Group, Kind: f.Kind, Action: action, Reason: reason, Detail: detail}
	p.verdicts[f.Key()] = verdict{held: &h}
	delete(p.out.Steps, f.Key()) // what is held does not follow
	p.out.Held = append(p.out.Held, h)
}

// remember works out what the ledger must learn from a complete check: only what
// differs from what it knows.
func (p *planner) remember() {
	c := &p.out.Changes
	current := map[roll.FindingKey]bool{}
	for _, f := range p.Assessment.Findings {
		current[f.Key()] = true
		put := ledger.Finding{Instance: f.Instance, Kind: f.Kind, Node: f.Node, Group: f.Group, Stage: f.Stage, FirstSeen: p.SeenAt, Since: f.Since.UTC(), Began: f.Began.UTC()}
		known, ok := p.known(f)
		if ok {
			put.FirstSeen, put.Opened = known.FirstSeen, known.Opened
		}
		if put.Opened.IsZero() && f.Stage != roll.Watching {
			put.Opened = p.SeenAt
		}
		if !ok || !sameFinding(put, known) {
			c.PutFindings = append(c.PutFindings, put)
		}
	}
	for k := range p.State.Findings {
		if !current[k] {
			c.DropFindings = append(c.DropFindings, k)
		}
	}
	slices.SortFunc(c.DropFindings, func(a, b roll.FindingKey) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Kind, b.Kind))
	})
	c.PutNotReady, c.DropNotReady = changed(p.State.NotReady, p.Assessment.NotReady, func(a, b ledger.NotReady) bool {
		return a.Since.Equal(b.Since) && a.Status == b.Status && a.Transition.Equal(b.Transition)
	})
	c.PutRests, c.DropRests = changed(p.State.Rests, p.Assessment.Rests, func(a, b ledger.Rest) bool { return a.Left.Equal(b.Left) })

	c.PutGroups = map[string]time.Time{}
	for g := range p.Assessment.GroupsWithNodes {
		if at, ok := p.State.GroupsWithNodes[g]; !ok || at.Before(p.Snapshot.Cluster.Created) {
			c.PutGroups[g] = p.Now
		}
	}
}

// sameFinding compares times as times: the same moment read from JSON and from an
// API differs in its location.
func sameFinding(a, b ledger.Finding) bool {
	times := a.FirstSeen.Equal(b.FirstSeen) && a.Opened.Equal(b.Opened) && a.Since.Equal(b.Since) && a.Began.Equal(b.Began)
	a.FirstSeen, a.Opened, a.Since, a.Began = b.FirstSeen, b.Opened, b.Since, b.Began
	return times && a == b
}

// changed is what must be put into, and dropped from, what is known so that it becomes
// what is wanted.
func changed[V any](known, wanted map[roll.InstanceID]V, same func(a, b V) bool) (map[roll.InstanceID]V, []roll.InstanceID) {
	put := map[roll.InstanceID]V{}
	for id, w := range wanted {
		if k, ok := known[id]; !ok || !same(k, w) {
			put[id] = w
		}
	}
	var drop []roll.InstanceID
	for id := range known {
		if _, ok := wanted[id]; !ok {
			drop = append(drop, id)
		}
	}
	slices.Sort(drop)
	return put, drop
}
