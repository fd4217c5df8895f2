// Package plan decides what follows from an assessment: the orders to act, what
// is held back and why, the tags to write, the notices to send, and what the
// ledger is to remember. A plan is a value: it can be printed, tested and reviewed
// before anything acts on it.
//
// A finding climbs its ladder of steps. Where a step would destroy, one limit
// after the other is asked, and the first that objects is the typed reason for
// which the act is held. A stop and the mode are asked last, so that in mode
// observe a plan shows what remediate would do.
//
// The package is pure: no I/O, no clock.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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
	// Diagnoses are why the findings are; nil if nobody tried to find out.
	Diagnoses map[roll.FindingKey]roll.Diagnosis
	// Policy tells the effective policy for a group, its mode already lowered to
	// what the caller permits.
	Policy func(roll.Selector) policy.Policy
	Now    time.Time
	// Lowered: the mode is lowered for this check only, because the policy could not be
	// read. Then nobody turned remediate off.
	Lowered bool
	// Unremembered: nothing is kept from one check to the next, as when a person looks once.
	// Where the mode allows no act, the mode is then said to hold it back, and not that it was
	// seen but once, which would stay so for ever.
	Unremembered bool
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
	// Quiet is what is remembered of instances of which no notice tells now: it is no news
	// for their incident.
	Quiet []Entry
	// Alarm is what is to be told of the cluster as a whole, nil if nothing is.
	Alarm *Alarm
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
	// OutOfService taints the node of an instance that Rollcall terminated, so that the
	// control plane removes its pods and detaches its volumes at once.
	OutOfService Action = "out-of-service"
	// Terminate is ec2:TerminateInstances; the owner then launches a replacement.
	Terminate Action = "terminate"
)

// OrderLife is how long an order may be carried out. What comes later rests on a
// look at the cluster that is too old.
const OrderLife = 10 * time.Minute

// Order is the instruction to act on one instance. Its JSON is the message in the queue of
// orders; package trigger says what a valid one is.
type Order struct {
	ID string `json:"id"`
	roll.ClusterID
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
	Why       string     `json:"why,omitempty"` // one sentence for a person
	// Incident is the one whose notices tell of the finding, "" if none do.
	Incident string `json:"incident,omitempty"`
}

// Held is an act that was held back.
type Held struct {
	Instance roll.InstanceID
	Node     string
	Group    roll.Group
	Kind     roll.Kind
	Action   Action
	Refusal
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
	if p.blind() {
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

type planner struct {
	Input
	out        Plan
	instances  map[roll.InstanceID]*roll.Instance // those with findings
	nodes      map[roll.InstanceID]*roll.Node     // likewise
	since      map[roll.Group]time.Time           // remediate on since, after this check
	verdicts   map[roll.FindingKey]verdict
	continued  map[ledger.NoticeKey]bool            // incidents that a notice goes on from under another cause
	open       map[stratum][]ledger.NoticeKey       // the incidents that the ledger knows, in order
	incidentOf map[roll.FindingKey]ledger.NoticeKey // of the findings that are worth a word
	trouble    *ledger.Trouble                      // the cluster's, after this check; nil if there is none
	shares     shares
	strangers  map[roll.InstanceID]roll.Cause // those that join another cluster, by their user data

	// would counts orders, and what only the mode holds, by that mode. Apart, so that
	// the first does not take the second's place.
	would map[policy.Mode]*ordered

	fault *Refusal // what makes the whole snapshot unfit to act on
	gone  bool     // EKS knows no such cluster; its instances may still be told of
}

// verdict is what became of a finding in this plan.
type verdict struct {
	order *Order
	held  *Held
}

// ordered counts what is ordered so far.
type ordered struct {
	instances map[roll.InstanceID]bool
	groups    map[roll.Group]int // what counts against budgets, the cluster being ""
}

func (p *planner) ordered(m policy.Mode) *ordered {
	o, ok := p.would[m]
	if !ok {
		o = &ordered{instances: map[roll.InstanceID]bool{}, groups: map[roll.Group]int{}}
		p.would[m] = o
	}
	return o
}

// blind reports that too little was seen to conclude, remember or say anything about
// single instances.
func (p *planner) blind() bool { return p.fault != nil && !p.gone }

// whole reports that the snapshot is one of the cluster, not of one instance: only then
// a population can be counted.
func (p *planner) whole() bool { return p.Snapshot.Target == "" }

// suspects finds the instances and nodes of the findings. At 100,000 nodes an index of
// all of them would cost more than the plan.
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
	for i := range p.Snapshot.Instances {
		inst := &p.Snapshot.Instances[i]
		if _, ok := p.instances[inst.ID]; ok {
			p.instances[inst.ID] = inst
		}
	}
	for i := range p.Snapshot.Nodes {
		n := &p.Snapshot.Nodes[i]
		if name, ok := names[n.Instance]; ok && name == n.Name {
			p.nodes[n.Instance] = n
		}
	}
}

func (p *planner) next(at time.Time) {
	if at.After(p.Now) && (p.out.Next.IsZero() || at.Before(p.out.Next)) {
		p.out.Next = at
	}
}

// passing is a refusal that passes by itself at that time, when the plan is made anew.
func (p *planner) passing(at time.Time, reason Reason, format string, args ...any) *Refusal {
	p.next(at)
	no := refuse(reason, format, args...)
	no.Until = at
	return no
}

// remediateSince notes for each group with findings or nodes when remediate was first seen
// to be on, and forgets it where the mode is another one. It does not wait for a finding: that
// may come while the policy cannot be read, and must not count as found before remediate then.
func (p *planner) remediateSince() {
	p.since = map[roll.Group]time.Time{}
	for g, at := range p.State.RemediateSince {
		if !p.predates(at) {
			p.since[g] = at
		}
	}
	if p.blind() || p.Lowered {
		return // nothing is remembered of a check that saw only a part
	}
	for g := range p.State.RemediateSince {
		if p.Policy(roll.GroupSelector(g)).Mode != policy.Remediate {
			delete(p.since, g)
			p.out.Changes.Drop.RemediateSince = append(p.out.Changes.Drop.RemediateSince, g)
		}
	}
	slices.Sort(p.out.Changes.Drop.RemediateSince)
	for _, f := range p.Assessment.Findings {
		p.remediateIsOn(f.Group)
	}
	for g := range p.Assessment.Populations {
		p.remediateIsOn(g)
	}
}

// predates reports what is of an earlier cluster of the same name, which the ledger outlives.
func (p *planner) predates(at time.Time) bool { return at.Before(p.Snapshot.Cluster.Created) }

// first is when a check first saw the whole of this cluster.
func (p *planner) first() time.Time {
	if p.predates(p.State.First) {
		return time.Time{}
	}
	return p.State.First
}

func (p *planner) remediateIsOn(g roll.Group) {
	if _, ok := p.since[g]; ok || p.Policy(roll.GroupSelector(g)).Mode != policy.Remediate {
		return
	}
	p.since[g] = p.Now
	p.out.Changes.Put.RemediateSince[g] = p.Now
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
func orderID(c roll.ClusterID, f roll.FindingKey, firstSeen time.Time, a Action) string {
	return hash(c.String(), string(f.Instance), string(f.Kind), firstSeen.UTC().Format(time.RFC3339Nano), string(a))
}

// orderID is the id of the finding's order for an act.
func (p *planner) orderID(f roll.Finding, a Action) string {
	known, _ := p.known(f)
	return orderID(p.Snapshot.Cluster.ID, f.Key(), known.FirstSeen, a)
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:8])
}

func (p *planner) hold(f roll.Finding, action Action, no *Refusal) {
	h := Held{Instance: f.Instance, Node: f.Node, Group: f.Group, Kind: f.Kind, Action: action, Refusal: *no}
	p.verdicts[f.Key()] = verdict{held: &h}
	delete(p.out.Steps, f.Key()) // what is held does not follow
	p.out.Held = append(p.out.Held, h)
}

// remember works out what the ledger must learn from a complete check: only what
// differs from what it knows.
func (p *planner) remember() {
	c := &p.out.Changes
	current := map[roll.FindingKey]bool{}
	// Those that still have time are remembered too: that a node never was in order is known
	// only from checks that saw it young.
	for _, f := range slices.Concat(p.Assessment.Findings, p.Assessment.Starting) {
		current[f.Key()] = true
		put := ledger.Finding{
			Instance: f.Instance, Kind: f.Kind, Node: f.Node, Group: f.Group, Stage: f.Stage, FirstSeen: p.SeenAt, Since: f.Since.UTC(),
			Condition: f.Condition, Began: f.Began.UTC(), Worked: f.Worked,
		}
		known, ok := p.known(f)
		if ok {
			put.FirstSeen, put.Opened, put.Allowed, put.Evidence = known.FirstSeen, known.Opened, known.Allowed, known.Evidence
		}
		put.Proven = p.proven(f, known.Proven)
		put.Left = f.Left.Instance
		if i := p.instances[f.Instance]; f.Kind == roll.Orphaned && i != nil {
			put.Outlives = slices.Clone(i.Outlives)
		}
		if put.Opened.IsZero() && f.Stage != roll.Watching {
			put.Opened, put.Allowed = p.SeenAt, !p.since[f.Group].IsZero() && !p.Policy(f.Selector).Stop
		}
		if !ok || !sameFinding(put, known) {
			c.Put.Findings[put.Key()] = put
		}
	}
	for k := range p.State.Findings {
		if !current[k] && !p.Assessment.Kept[k] {
			c.Drop.Findings = append(c.Drop.Findings, k)
		}
	}
	slices.SortFunc(c.Drop.Findings, func(a, b roll.FindingKey) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Kind, b.Kind))
	})
	c.Put.NotReady, c.Drop.NotReady = changed(p.State.NotReady, p.Assessment.NotReady, func(a, b ledger.NotReady) bool {
		return a.Since.Equal(b.Since) && a.Status == b.Status && a.Transition.Equal(b.Transition) && a.Known == b.Known
	})
	c.Put.Rests, c.Drop.Rests = changed(p.State.Rests, p.Assessment.Rests, func(a, b ledger.Rest) bool { return a.Left.Equal(b.Left) })

	c.Put.Missing, c.Drop.Missing = changed(p.State.Missing, p.Assessment.Missing, time.Time.Equal)
	c.Put.Flips, c.Drop.Flips = changed(p.State.Flips, p.Assessment.Flips, func(a, b []time.Time) bool { return slices.EqualFunc(a, b, time.Time.Equal) })
	c.Put.Pressures, c.Drop.Pressures = changed(p.State.Pressures, p.Assessment.Pressures, func(a, b ledger.Pressure) bool {
		return a.Since.Equal(b.Since) && a.Until.Equal(b.Until) && slices.Equal(a.Types, b.Types)
	})
	for key, at := range p.State.Spot {
		if p.Now.Sub(at) >= ledger.SpotRetention {
			c.Drop.Spot = append(c.Drop.Spot, key)
		}
	}
	p.rememberGroups()
	p.rememberRefusals()
	p.givenAgain()
	if p.whole() && !p.gone && p.Now.Sub(p.State.Checked) >= checkedEvery {
		c.Put.Checked = p.Now
		if p.first().IsZero() {
			c.Put.First = p.SeenAt
		}
	}
	p.rememberOrigins()
}

// rememberOrigins notes which Auto Scaling groups and versions of launch templates have
// nodes, once a day at most, and forgets those that had none for so long that they show
// nothing any more.
func (p *planner) rememberOrigins() {
	c := &p.out.Changes
	for o := range p.Assessment.GroupsWithNodes {
		at, ok := p.State.GroupsWithNodes[o]
		if !ok || p.predates(at) || p.Now.Sub(at) >= ledger.IntentRefresh {
			c.Put.GroupsWithNodes[o] = p.Now
		}
	}
	if !p.whole() || p.gone {
		return
	}
	for o, at := range p.State.GroupsWithNodes {
		past := p.predates(at) || p.Now.Sub(at) >= ledger.IntentRetention
		if past && !p.Assessment.GroupsWithNodes[o] {
			c.Drop.GroupsWithNodes = append(c.Drop.GroupsWithNodes, o)
		}
	}
	slices.Sort(c.Drop.GroupsWithNodes)
}

// checkedEvery is how old the memory of the last complete look may grow.
const checkedEvery = time.Minute

// rememberGroups notes what is new of the nodes of groups, and which of their instances
// Rollcall ended last.
func (p *planner) rememberGroups() {
	memory := maps.Clone(p.Assessment.Groups)
	if memory == nil {
		memory = map[roll.Group]ledger.GroupMemory{}
	}
	for _, a := range p.State.Actions {
		if _, ok := memory[a.Group]; !ok && a.Group != roll.GroupNone && Action(a.Do).replaced() {
			memory[a.Group] = p.State.Groups[a.Group]
		}
	}
	for g, m := range memory {
		known := p.State.Groups[g]
		m.Ended = p.lastEnded(g)
		if known.Good.Equal(m.Good) && known.Proven.Equal(m.Proven) && slices.EqualFunc(known.Pressed, m.Pressed, samePressure) && known.Counted.Equal(m.Counted) && slices.Equal(known.Seconds, m.Seconds) && known.Ended.Done.Equal(m.Ended.Done) {
			continue
		}
		p.out.Changes.Put.Groups[g] = m
	}
	for g, m := range p.State.Groups {
		idle := p.Assessment.Count[g].Nodes == 0 && p.Now.Sub(m.Counted) >= ledger.ActionRetention && p.Now.Sub(m.Good) >= ledger.ActionRetention
		owes := !m.Good.After(m.Ended.At) && p.Now.Sub(m.Ended.Done) < ledger.IntentRetention
		if idle && !owes && p.whole() && len(p.State.ActsOf(g, p.Now.Add(-ledger.ActionRetention))) == 0 {
			p.out.Changes.Drop.Groups = append(p.out.Changes.Drop.Groups, g)
		}
	}
	slices.Sort(p.out.Changes.Drop.Groups)
}

func samePressure(a, b ledger.GroupPressure) bool {
	same := a.Since.Equal(b.Since)
	a.Since = b.Since
	return same && a == b
}

// sameFinding compares times as times: the same moment read from JSON and from an
// API differs in its location.
func sameFinding(a, b ledger.Finding) bool {
	times := a.FirstSeen.Equal(b.FirstSeen) && a.Opened.Equal(b.Opened) && a.Since.Equal(b.Since) && a.Began.Equal(b.Began)
	same := slices.EqualFunc(a.Proven, b.Proven, func(x, y roll.Proof) bool { return x.Code == y.Code && x.Subject == y.Subject && x.At.Equal(y.At) })
	return times && same && a.Stage == b.Stage && a.Node == b.Node && a.Group == b.Group && a.Condition == b.Condition && a.Worked == b.Worked && a.Allowed == b.Allowed && a.Evidence == b.Evidence &&
		a.Left == b.Left && slices.Equal(a.Outlives, b.Outlives)
}

// proofs is how many causes are remembered of a finding: the first are the roots.
const proofs = 3

// proven is what is remembered of the finding's decisive causes: as they were found first,
// and none that a diagnosis has not found again.
func (p *planner) proven(f roll.Finding, known []roll.Proof) []roll.Proof {
	why, diagnosed := p.Diagnoses[f.Key()]
	if !diagnosed {
		return known
	}
	var out []roll.Proof
	for _, c := range why.Causes {
		if !c.Lasts() || len(out) == proofs {
			continue
		}
		proof := roll.Proof{At: p.Now, Code: c.Code, Subject: c.Subject, Summary: c.Summary, Evidence: c.Evidence, Fix: c.Fix}
		if i := slices.IndexFunc(known, func(k roll.Proof) bool { return k.Code == c.Code && k.Subject == c.Subject }); i >= 0 {
			proof = known[i]
		}
		out = append(out, proof)
	}
	return out
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
