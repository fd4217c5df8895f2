package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Replayed is what happened in the recorded time, or would have happened under a policy.
type Replayed struct {
	Name    string // of the policy
	Acts    []TakenAct
	Holds   []Hold
	Notices int
	// Lost is the total time in which machines were not healthy nodes.
	Lost time.Duration
}

// Assumed counts the acts whose effect is assumed.
func (o Replayed) Assumed() (n int) {
	for _, a := range o.Acts {
		if a.Assumed {
			n++
		}
	}
	return n
}

// TakenAct is an act that was ordered.
type TakenAct struct {
	plan.Order
	Cause string // code of the first decisive cause, "" if none was found
	// Result is what the record says of the act, "" if it was not carried out.
	Result ledger.Result
	// Assumed: the record has no such act, so its effect is assumed.
	Assumed bool
}

// Hold is an act that was held for one reason, for some time.
type Hold struct {
	plan.Held
	From   time.Time
	Lasted time.Duration
}

const (
	// longest is the maximum time for which a check counts: then another one should have come. Checks
	// that found nothing are not recorded.
	longest = 15 * time.Minute
	// near is the maximum time between a recorded act and an order that counts as the order of this act.
	near = 15 * time.Minute
	// replaced is how long a replacement is assumed to take from its launch, a minute after the act,
	// until its node is Ready.
	replaced = 4 * time.Minute
)

// AsItRan returns what happened in the recorded checks of one cluster, in the order of time.
func AsItRan(checks []Recorded) (Replayed, error) {
	t := summing{Replayed: Replayed{Name: "as it ran"}, acts: map[string]int{}, holds: map[holdKey]int{}}
	done := acted(checks)
	var doc *policy.Document
	for i, c := range checks {
		if i == 0 || c.Policy != checks[i-1].Policy {
			var err error
			if doc, err = c.document(); err != nil {
				return t.Replayed, err
			}
		}
		in := c.under(doc, c.Permitted, c.Snapshot, c.State)
		in.Diagnoses = c.Diagnoses
		p := plan.Make(in)
		p.Orders = c.Orders
		t.add(in, p, lasts(checks, i))
		for _, o := range c.Orders {
			if act, ok := done.of(o.ID, c.Now); ok {
				t.carriedOut(act)
			}
		}
	}
	return t.Replayed, nil
}

// Play returns what would have happened in the recorded checks of one cluster, in the order of time,
// if the policy had been in force from the first one on.
//
// Each check decides from its recorded observations, and from a ledger that Play keeps itself. What
// was not read then is unread here too, so an act may come later than it would have.
//
// Where the policy decides like the recorded one, the record has the outcome. Otherwise Play
// assumes:
//
//   - an act that takes a machine away ends it at once, and its owner replaces it by a node that is
//     Ready five minutes later; a machine without an owner is not replaced
//   - a cordon, a drain and the deletion of a Node succeed at once, and a reboot cures nothing
//   - a machine that a recorded act took away or rebooted, and that this policy would have left
//     alone, stays as the check before the act saw it.
func Play(name string, checks []Recorded, doc *policy.Document, permitted policy.Mode) Replayed {
	t := summing{Replayed: Replayed{Name: name}, acts: map[string]int{}, holds: map[holdKey]int{}}
	w := newWorld(checks)
	for i, c := range checks {
		s, diagnoses := w.before(c)
		in := c.under(doc, permitted, s, w.state)
		in.Diagnoses = undiagnosed(in.Assessment.Findings, diagnoses)
		p := plan.Make(in)
		t.add(in, p, lasts(checks, i))
		w.remember(p)
		for _, o := range p.Orders {
			if act, known := w.carryOut(c, s, o); known {
				t.carriedOut(act)
			} else {
				t.assumed(o.ID)
			}
		}
		w.last, w.lastDiagnoses = s, in.Diagnoses
	}
	return t.Replayed
}

// undiagnosed adds a diagnosis for each finding that the recorded policy had not diagnosed yet, in
// which every cause that could hold an act is unread. Without it the finding would seem to have
// none of these causes.
func undiagnosed(findings []roll.Finding, diagnoses map[roll.FindingKey]roll.Diagnosis) map[roll.FindingKey]roll.Diagnosis {
	out := diagnoses
	for _, f := range findings {
		if _, ok := out[f.Key()]; ok || !f.Stage.Past(roll.Watching) {
			continue
		}
		if len(out) == len(diagnoses) {
			out = map[roll.FindingKey]roll.Diagnosis{}
			maps.Copy(out, diagnoses)
		}
		out[f.Key()] = unread()
	}
	return out
}

// unread is the diagnosis of a finding without one in the record.
var unread = sync.OnceValue(func() (d roll.Diagnosis) {
	for _, code := range cause.Codes() {
		if cause.Spares(code) {
			d.NotChecked = append(d.NotChecked, roll.NotChecked{Code: code, Reason: "the record has no diagnosis of it", Unread: true})
		}
	}
	return d
})

func lasts(checks []Recorded, i int) time.Duration {
	if i+1 == len(checks) {
		return 0
	}
	return max(0, min(checks[i+1].Now.Sub(checks[i].Now), longest))
}

// tries are the acts in the ledgers of recorded checks by the ids of their orders. Each try of an
// act is an entry.
type tries map[string][]ledger.Action

func acted(checks []Recorded) tries {
	out := tries{}
	for _, c := range checks {
		for _, a := range c.State.Actions {
			all := out[a.ID]
			if i := slices.IndexFunc(all, func(b ledger.Action) bool { return b.At.Equal(a.At) }); i >= 0 {
				all[i] = a // with its outcome
			} else {
				out[a.ID] = append(all, a)
			}
		}
	}
	return out
}

// of returns the try that an order at a time led to.
func (t tries) of(order string, at time.Time) (try ledger.Action, ok bool) {
	for _, a := range t[order] {
		if apart := a.At.Sub(at).Abs(); apart <= near && (!ok || apart < try.At.Sub(at).Abs()) {
			try, ok = a, true
		}
	}
	return try, ok
}

// summing sums up the plans of checks.
type summing struct {
	Replayed
	acts  map[string]int // index in Acts, by order
	holds map[holdKey]int
}

type holdKey struct {
	instance roll.InstanceID
	node     string
	kind     roll.Kind
	action   plan.Action
	reason   plan.Reason
}

func (t *summing) add(in plan.Input, p plan.Plan, lasts time.Duration) {
	down := map[roll.InstanceID]bool{}
	for _, f := range in.Assessment.Findings {
		if assess.CountsAsOverdue(f.Kind) && f.Contradiction == "" {
			down[f.Instance] = true
		}
	}
	t.Lost += time.Duration(len(down)) * lasts
	t.Notices += len(p.Notices)
	if p.Alarm != nil {
		t.Notices++
	}
	for _, o := range p.Orders {
		if _, again := t.acts[o.ID]; !again {
			cause, _ := in.Diagnoses[roll.FindingKey{Instance: o.Instance, Kind: o.Kind}].Decisive()
			t.acts[o.ID] = len(t.Acts)
			t.Acts = append(t.Acts, TakenAct{Order: o, Cause: cause.Code})
		}
	}
	for _, h := range p.Held {
		key := holdKey{h.Instance, h.Node, h.Kind, h.Action, h.Reason}
		i, again := t.holds[key]
		if !again {
			i = len(t.Holds)
			t.holds[key] = i
			t.Holds = append(t.Holds, Hold{Held: h, From: in.Now})
		}
		t.Holds[i].Lasted += lasts
	}
}

func (t *summing) carriedOut(a ledger.Action) {
	act := &t.Acts[t.acts[a.ID]]
	if a.Outcome != nil {
		act.Result = a.Outcome.Result
	}
}

func (t *summing) assumed(order string) { t.Acts[t.acts[order]].Assumed = true }

// world is the assumed past under the policy.
type world struct {
	state    ledger.State
	recorded tries
	seen     map[string]bool // recorded acts that are accounted for

	ended    map[roll.InstanceID]bool
	cordoned map[roll.InstanceID]string // by the order
	launched []machine
	stays    map[roll.InstanceID]machine

	last          *roll.Snapshot
	lastDiagnoses map[roll.FindingKey]roll.Diagnosis
}

// machine is an instance with its node, and what was found about it.
type machine struct {
	instance  roll.Instance
	node      *roll.Node
	detail    roll.Detail
	impaired  *roll.Impairment
	diagnoses map[roll.FindingKey]roll.Diagnosis
}

// newWorld begins with the ledger of the first check, but without the times since when remediate
// was on: what was wrong before the record began counts as found before the policy was in force.
func newWorld(checks []Recorded) *world {
	w := &world{
		state: ledger.NewState(), recorded: acted(checks), seen: map[string]bool{},
		ended: map[roll.InstanceID]bool{}, cordoned: map[roll.InstanceID]string{}, stays: map[roll.InstanceID]machine{},
	}
	if len(checks) > 0 {
		w.state = checks[0].State.Clone()
		w.state.RemediateSince = map[roll.Group]time.Time{}
		for _, a := range w.state.Actions {
			w.seen[a.ID] = true
		}
	}
	return w
}

// before returns what the check would have seen.
func (w *world) before(c Recorded) (*roll.Snapshot, map[roll.FindingKey]roll.Diagnosis) {
	w.observe(c.State)
	for i := range w.state.Actions {
		a := &w.state.Actions[i]
		// The outcome of an act is known only from its time on.
		if try, ok := w.recorded.of(a.ID, a.At); ok && a.Outcome == nil && try.Outcome != nil && !try.Outcome.At.After(c.Now) {
			a.Outcome = try.Outcome
		}
	}
	for _, a := range c.State.Actions {
		if w.seen[a.ID] || w.last == nil {
			continue
		}
		w.seen[a.ID] = true
		if took(plan.Action(a.Do)) && !w.ended[a.Instance] {
			w.keep(a.Instance)
		}
	}
	return w.changed(c)
}

// observe copies from the recorded ledger what no policy changes, except about machines that are
// different here.
func (w *world) observe(s ledger.State) {
	w.state.First, w.state.Checked = s.First, s.Checked
	maps.Copy(w.state.Spot, s.Spot)
	maps.Copy(w.state.Approvals, s.Approvals)
	maps.Copy(w.state.GroupsWithNodes, s.GroupsWithNodes)
	takeOver(w.state.NotReady, s.NotReady, w.different)
	takeOver(w.state.Rests, s.Rests, w.different)
	takeOver(w.state.Missing, s.Missing, w.different)
	takeOver(w.state.Flips, s.Flips, w.different)
	takeOver(w.state.Pressures, s.Pressures, w.different)
	// If the ledger of a check was not written, the next check saw the finding for the first time,
	// and the ids of its orders depend on that time.
	for k, recorded := range s.Findings {
		if own, ok := w.state.Findings[k]; ok && own.Began.Equal(recorded.Began) && recorded.FirstSeen.After(own.FirstSeen) && !w.different(k.Instance) {
			own.FirstSeen = recorded.FirstSeen
			w.state.Findings[k] = own
		}
	}
	for g, recorded := range s.Groups {
		own := w.state.Groups[g]
		recorded.Good, recorded.Proven = roll.Later(own.Good, recorded.Good), roll.Later(own.Proven, recorded.Proven)
		recorded.Ended = own.Ended // by this policy's acts
		w.state.Groups[g] = recorded
	}
}

// different reports whether a machine differs from the record.
func (w *world) different(id roll.InstanceID) bool {
	_, stays := w.stays[id]
	return stays || w.ended[id] || slices.ContainsFunc(w.launched, func(m machine) bool { return m.instance.ID == id })
}

// takeOver replaces the records of machines with the recorded ones.
func takeOver[V any](own, recorded map[roll.InstanceID]V, different func(roll.InstanceID) bool) {
	maps.DeleteFunc(own, func(id roll.InstanceID, _ V) bool { return !different(id) })
	for id, v := range recorded {
		if !different(id) {
			own[id] = v
		}
	}
}

// took reports whether an act takes a machine away, or may have cured it.
func took(a plan.Action) bool {
	return a == plan.Terminate || a == plan.DeleteNodeClaim || a == plan.Reboot
}

// keep keeps a machine as the previous check saw it.
func (w *world) keep(id roll.InstanceID) {
	i := w.last.Instance(id)
	if i == nil {
		return
	}
	m := machine{instance: *i, detail: w.last.Details[id], diagnoses: map[roll.FindingKey]roll.Diagnosis{}}
	if n := nodeOf(w.last, id); n != nil {
		copied := *n
		m.node = &copied
	}
	if is, ok := w.last.Impaired[id]; ok {
		m.impaired = &is
	}
	for k, d := range w.lastDiagnoses {
		if k.Instance == id {
			m.diagnoses[k] = d
		}
	}
	w.stays[id] = m
}

func nodeOf(s *roll.Snapshot, id roll.InstanceID) *roll.Node {
	i := slices.IndexFunc(s.Nodes, func(n roll.Node) bool { return n.Instance == id })
	if i < 0 {
		return nil
	}
	return &s.Nodes[i]
}

// changed returns the check's snapshot and diagnoses in this world.
func (w *world) changed(c Recorded) (*roll.Snapshot, map[roll.FindingKey]roll.Diagnosis) {
	if len(w.ended)+len(w.cordoned)+len(w.launched)+len(w.stays) == 0 {
		return c.Snapshot, c.Diagnoses
	}
	s, diagnoses := *c.Snapshot, maps.Clone(c.Diagnoses)
	s.Instances = slices.DeleteFunc(slices.Clone(s.Instances), func(i roll.Instance) bool { return w.different(i.ID) })
	s.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n roll.Node) bool { return w.different(n.Instance) })
	s.Details, s.Impaired = maps.Clone(s.Details), maps.Clone(s.Impaired)
	for i := range s.Nodes {
		if order, ok := w.cordoned[s.Nodes[i].Instance]; ok && s.Nodes[i].Ready.Status != roll.ConditionTrue {
			s.Nodes[i].Unschedulable, s.Nodes[i].CordonedBy = true, order
		}
	}
	for _, m := range w.launched {
		if !m.instance.Launched.After(c.Now) {
			s.Instances = append(s.Instances, m.instance)
			if !m.node.Created.After(c.Now) {
				s.Nodes = append(s.Nodes, *m.node)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.stays)) {
		m := w.stays[id]
		s.Instances = append(s.Instances, m.instance)
		if m.node != nil {
			s.Nodes = append(s.Nodes, *m.node)
		}
		if s.Details == nil {
			s.Details = map[roll.InstanceID]roll.Detail{}
		}
		s.Details[id] = m.detail
		if m.impaired != nil && s.Impaired != nil {
			s.Impaired[id] = *m.impaired
		}
		if diagnoses == nil {
			diagnoses = map[roll.FindingKey]roll.Diagnosis{}
		}
		maps.Copy(diagnoses, m.diagnoses)
	}
	return &s, diagnoses
}

// remember records a plan as a check does whose notices are all sent.
func (w *world) remember(p plan.Plan) {
	w.state.Apply(p.Changes)
	for _, n := range p.Notices {
		w.state.Apply(n.Sent())
	}
	if a := p.Alarm; a != nil {
		w.state.Apply(a.Sent())
	}
	for _, a := range p.Approved {
		w.state.Approvals[a.Order] = a.Approval
	}
	for _, r := range p.Resolved {
		for i := range w.state.Actions {
			if w.state.Actions[i].ID == r.ActionID {
				w.state.Actions[i].Outcome = &r.Outcome
			}
		}
	}
}

// carryOut carries out an order. It returns the recorded act and true if the record has the order
// at about that time; otherwise the effect is assumed.
func (w *world) carryOut(c Recorded, s *roll.Snapshot, o plan.Order) (ledger.Action, bool) {
	w.seen[o.ID] = true
	act, recorded := w.recorded.of(o.ID, c.Now)
	for _, a := range w.state.Actions {
		if a.ID == o.ID && (recorded && a.At.Equal(act.At) || !recorded && a.Outcome == nil) {
			return act, recorded // it is under way
		}
	}
	if given := slices.ContainsFunc(c.Orders, func(other plan.Order) bool { return other.ID == o.ID }); given && !recorded {
		return ledger.Action{ID: o.ID}, true // it was refused when the machine was looked at again
	}
	if recorded {
		known := act
		known.Outcome = nil // until it is known
		w.state.Actions = append(w.state.Actions, known)
		delete(w.stays, o.Instance) // from now on the record shows it
		return act, true
	}
	act = o.Intent(c.Now, s)
	act.Outcome = &ledger.Outcome{Result: ledger.Done, At: c.Now, Detail: "assumed"}
	w.state.Actions = append(w.state.Actions, act)
	switch o.Action {
	case plan.Cordon, plan.Drain:
		w.cordoned[o.Instance] = cmp.Or(w.cordoned[o.Instance], o.ID)
	case plan.Uncordon:
		delete(w.cordoned, o.Instance)
	case plan.DeleteNode:
		w.ended[o.Instance] = true
	case plan.Terminate, plan.DeleteNodeClaim:
		w.ended[o.Instance] = true
		delete(w.stays, o.Instance)
		if i := s.Instance(o.Instance); i != nil && o.Owner != roll.OwnerNone {
			w.launch(*i, c.Now)
		}
	}
	return act, false
}

func (w *world) launch(of roll.Instance, at time.Time) {
	i := of
	i.ID = roll.InstanceID(fmt.Sprintf("i-%017x", len(w.launched)+1))
	at = at.Add(time.Minute)
	i.Launched, i.Marks, i.Hold, i.Ignore, i.Replace, i.DeadlineTag = at, nil, "", false, false, ""
	i.PrivateDNS = "assumed-" + string(i.ID)
	w.launched = append(w.launched, machine{instance: i, node: &roll.Node{
		Name: i.PrivateDNS, UID: string(i.ID), Compute: roll.ComputeEC2, Instance: i.ID, Created: at.Add(replaced),
		Ready: roll.Condition{Status: roll.ConditionTrue, Since: at.Add(replaced)},
		Zone:  i.Zone, ZoneID: i.ZoneID, Owner: i.Owner, Group: i.Group, Registered: true, Initialized: true,
	}})
}

// Sum joins the outcomes of several clusters under one policy.
func Sum(of []Replayed) (sum Replayed) {
	for _, o := range of {
		sum.Name = o.Name
		sum.Acts = append(sum.Acts, o.Acts...)
		sum.Holds = append(sum.Holds, o.Holds...)
		sum.Notices += o.Notices
		sum.Lost += o.Lost
	}
	slices.SortStableFunc(sum.Acts, func(a, b TakenAct) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(sum.Holds, func(a, b Hold) int { return a.From.Compare(b.From) })
	return sum
}
