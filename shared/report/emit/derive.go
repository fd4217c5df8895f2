package emit

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// FromCheck returns the events of a check: those of findings first, then those of acts,
// and Check Completed at the end. before is the ledger state that the check read, not the
// one it left.
//
// A finding whose state is unknown to this check stays in the ledger and causes no event; one that
// another of its kind replaces (a new launch, a new transition) is resolved. An act that stays held
// causes one event, with the notice that first says so; without notices (mode observe, a ladder
// without notify) it causes none. A drain that this check found to have lost its reason is Action
// Held: it was not continued.
func FromCheck(before ledger.State, c report.Check) []Event {
	d := derived{check: c, id: c.Snapshot.Cluster.ID, head: head(c.Snapshot.Cluster.ID, c.Snapshot.At)}
	d.findings(before)
	d.held()
	d.settled(before)
	for _, o := range c.Outcomes {
		d.events = append(d.events, FromOutcome(d.id, o, c.Snapshot.At)...)
	}
	d.add(CheckCompleted, d.completed(), "")
	return d.events
}

// FromOutcome returns the event of the outcome of an order at that time, or none. Every
// attempt that reached AWS causes one, even if it failed like the one before. A refusal is
// Action Held, unless its reason passes by itself: then the next check orders again. An
// ongoing act causes none. An order that was passed on is reported by the process that
// carries it out.
func FromOutcome(id roll.ClusterID, o remediate.Outcome, at time.Time) []Event {
	a := Action{
		Head: head(id, at), Subject: subject(id, o.Order.Instance, o.Order.Node, o.Order.Group, o.Order.Kind, o.Order.Since),
		Owner: string(o.Order.Owner), Action: string(o.Order.Action), Order: o.Order.ID,
		Result: o.Result, Reason: string(o.Reason), Detail: sentence(o.Detail), Summary: sentence(o.Order.Why), Since: o.Order.Since.UTC(),
		Cause: o.Cause, Evidence: o.Evidence, Approved: o.Order.Approved,
	}
	if o.Order.Action.Free() {
		a.Finding, a.Since = "", time.Time{} // the finding is over; o.Order.Since is that of the act before
	}
	switch o.Result {
	case remediate.Acted:
		return []Event{act(id, ActionTaken, a)}
	case remediate.Failed, remediate.Unclear:
		return []Event{act(id, ActionFailed, a)}
	case remediate.Refused:
		if o.News && o.Reason.Told() {
			return []Event{act(id, ActionHeld, a)}
		}
	}
	return nil
}

func act(id roll.ClusterID, detailType string, a Action) Event {
	if a.Result == Held {
		a.Ends = plan.Reason(a.Reason).Ends()
	}
	a.Message = a.message()
	return event(id, detailType, a, a.Instance)
}

// event returns an event about an instance of a cluster, or about the cluster if instance
// is "".
func event(id roll.ClusterID, detailType string, detail any, instance string) Event {
	e := Event{DetailType: detailType, Detail: detail}
	if id.Account == "" {
		return e
	}
	if roll.InstanceID(instance).IsInstance() {
		e.Resources = append(e.Resources, id.InstanceARN(roll.InstanceID(instance)))
	}
	e.Resources = append(e.Resources, id.ARN())
	return e
}

type derived struct {
	check  report.Check
	id     roll.ClusterID
	head   Head
	events []Event
}

func (d *derived) add(detailType string, detail any, instance string) {
	d.events = append(d.events, event(d.id, detailType, detail, instance))
}

func head(id roll.ClusterID, at time.Time) Head {
	if id.Account == "" { // the cluster is unknown, and account and region come together
		id.Region = ""
	}
	return Head{Version: Version, At: at.UTC(), Account: id.Account, Region: id.Region, Cluster: id.Name}
}

func subject(c roll.ClusterID, id roll.InstanceID, node string, g roll.Group, k roll.Kind, since time.Time) Subject {
	s := Subject{Node: node, Group: string(g), Kind: string(k)}
	s.Instance, s.about = id.Named()
	if !since.IsZero() {
		sum := sha256.Sum256([]byte(strings.Join([]string{c.String(), string(id), s.Kind, since.UTC().Format(time.RFC3339)}, "\n")))
		s.Finding = hex.EncodeToString(sum[:8])
	}
	return s
}

// findings adds the events of findings that opened, escalated or are over.
func (d *derived) findings(before ledger.State) {
	current := map[roll.FindingKey]roll.Finding{}
	replaced := map[roll.InstanceID]bool{} // the instance has a finding now that replaces others
	for _, f := range d.check.Assessment.Findings {
		current[f.Key()] = f
		replaced[f.Instance] = replaced[f.Instance] || !beside(f.Kind)
	}
	over := func(f ledger.Finding, how How) {
		d.add(FindingResolved, d.resolved(f, how, before), string(f.Instance))
	}
	var opened, escalated []ledger.Finding
	for _, f := range slices.Concat(d.check.Assessment.Findings, d.check.Assessment.Starting) {
		put, changed := d.check.Plan.Changes.Put.Findings[f.Key()]
		if !changed {
			continue
		}
		known := before.Findings[put.Key()]
		if !known.Began.Equal(put.Began) {
			// Another finding with the same key; the first ended unobserved. Without this a
			// listener would wait for its end forever.
			if !known.Opened.IsZero() {
				over(known, Changed)
			}
			known = ledger.Finding{}
		}
		switch {
		case put.Opened.IsZero():
		case known.Opened.IsZero():
			opened = append(opened, put)
		case put.Stage == roll.Overdue && put.Stage.Past(known.Stage):
			escalated = append(escalated, put)
		}
	}
	running := d.running()
	for _, key := range d.check.Plan.Changes.Drop.Findings {
		known := before.Findings[key]
		switch {
		case known.Opened.IsZero():
		case key.Instance.IsInstance() && !running[key.Instance]:
			over(known, Gone)
		case replaced[key.Instance] && key.Kind != roll.Impaired && key.Kind != roll.Scheduled:
			over(known, Changed)
		default:
			over(known, Cleared)
		}
	}
	for _, put := range opened {
		d.add(FindingOpened, d.finding(current[put.Key()], put), string(put.Instance))
	}
	for _, put := range escalated {
		d.add(FindingEscalated, d.finding(current[put.Key()], put), string(put.Instance))
	}
}

func (d *derived) resolved(f ledger.Finding, how How, before ledger.State) Resolved {
	out := Resolved{
		Head: d.head, Subject: subject(d.id, f.Instance, f.Node, f.Group, f.Kind, f.Since), Condition: f.Condition, Stage: string(f.Stage),
		Since: f.Since.UTC(), Opened: f.Opened.UTC(), How: how, Lasted: max(int(d.head.At.Sub(f.Since).Seconds()), 0),
		Acts: d.done(f, before), Evidence: f.Evidence,
	}
	out.About = out.about
	out.Message = out.message()
	return out
}

// done lists Rollcall's acts on a finding, including those that this check found to have
// taken effect.
func (d *derived) done(f ledger.Finding, before ledger.State) (out []string) {
	settled := map[string]ledger.Result{}
	for _, r := range d.check.Plan.Resolved {
		settled[r.ActionID] = r.Outcome.Result
	}
	for _, a := range before.Actions {
		if a.Instance != f.Instance || a.Kind != f.Kind || a.At.Before(f.FirstSeen) {
			continue
		}
		if settled[a.ID] == ledger.Done || a.Outcome != nil && a.Outcome.Result == ledger.Done {
			out = append(out, a.Do)
		}
	}
	return out
}

// beside reports whether an instance may have a finding of the kind along with others. Of
// the other kinds it has one at most: a new one replaces the last.
func beside(k roll.Kind) bool {
	return k == roll.Impaired || k == roll.Scheduled || k == roll.ConditionFailed || k == roll.Flapping
}

// running returns which of the instances whose findings are dropped still run. At
// 100,000 nodes a set of all instances would cost more than the rest of the package.
func (d *derived) running() map[roll.InstanceID]bool {
	out := map[roll.InstanceID]bool{}
	for _, key := range d.check.Plan.Changes.Drop.Findings {
		out[key.Instance] = false
	}
	for i := range d.check.Snapshot.Instances {
		inst := &d.check.Snapshot.Instances[i]
		if _, ok := out[inst.ID]; ok {
			out[inst.ID] = inst.State == roll.StateRunning || inst.State == roll.StatePending
		}
	}
	return out
}

func (d *derived) finding(f roll.Finding, put ledger.Finding) Finding {
	out := Finding{
		Head: d.head, Subject: subject(d.id, put.Instance, put.Node, put.Group, put.Kind, put.Since),
		Condition: f.Condition, Event: report.Scheduled(f), Owner: string(f.Owner), Zone: f.Zone, Stage: string(put.Stage),
		Since: put.Since.UTC(), Opened: put.Opened.UTC(), Due: f.Due.UTC(), Summary: sentence(f.Summary), Contradiction: sentence(f.Contradiction), Evidence: put.Evidence,
	}
	out.About = out.about
	why := d.check.Diagnoses[f.Key()]
	if c, ok := why.Decisive(); ok {
		out.Cause, out.Why, out.Fix = c.Code, sentence(c.Summary), short(c.Fix, fixLength)
	}
	out.Causes = roll.Map(why.Causes[:min(len(why.Causes), mostCauses)], func(c roll.Cause) report.NoticeCause {
		return report.NoticeCause{Cause: roll.Cause{Code: c.Code, Confidence: c.Confidence, Summary: sentence(c.Summary), Subject: sentence(c.Subject)}}
	})
	if s := d.check.Plan.Steps[f.Key()]; s.Do != "" {
		out.Next = &report.StepDocument{Do: string(s.Do), At: s.At.UTC(), Approve: s.Approve.Needed()}
	}
	for _, o := range d.check.Plan.Orders {
		if o.Instance == f.Instance && o.Kind == f.Kind {
			out.Ordered = &Ordered{Action: string(o.Action), Order: o.ID}
		}
	}
	for _, h := range d.check.Plan.Held {
		if h.Instance == f.Instance && h.Kind == f.Kind {
			out.Held = &Hold{Action: string(h.Action), Reason: string(h.Reason), Detail: sentence(h.Detail), Ends: h.Reason.Ends(), Until: h.Until.UTC(), Approve: toApprove(h)}
		}
	}
	out.Message = out.message()
	return out
}

// held adds the events of held acts that a notice reports too, or that match an earlier
// notice about others of the same incident.
func (d *derived) held() {
	entries := slices.Clone(d.check.Plan.Quiet)
	for _, n := range d.check.Plan.Notices {
		entries = append(entries, n.Entries...)
	}
	for _, e := range entries {
		if e.Changed && !e.Wavers && e.Held != nil && !e.Held.Reason.Passing() {
			a := Action{
				Head: d.head, Subject: subject(d.id, e.Held.Instance, e.Held.Node, e.Held.Group, e.Held.Kind, e.Finding.Since),
				Owner: string(e.Finding.Owner), Action: string(e.Held.Action), Result: Held,
				Reason: string(e.Held.Reason), Detail: sentence(e.Held.Detail), Summary: sentence(e.Finding.Summary), Since: e.Finding.Since.UTC(),
				Evidence: e.Evidence, Until: e.Held.Until.UTC(), Approve: toApprove(*e.Held),
			}
			if c, ok := (roll.Diagnosis{Causes: e.Causes}).Decisive(); ok {
				a.Cause = c.Code
			}
			d.events = append(d.events, act(d.id, ActionHeld, a))
		}
	}
}

// toApprove returns the id of the order that a held act asks to approve, "" if it asks for none.
func toApprove(h plan.Held) string {
	if h.Reason != plan.ApprovalPending || h.Question == nil {
		return ""
	}
	return h.Question.Order
}

// settled adds the events of acts whose outcome an earlier process left open, and which
// this check found out from their instances. If that process already sent "acted", this is
// the second event of the order.
func (d *derived) settled(before ledger.State) {
	for _, r := range d.check.Plan.Resolved {
		was, ok := before.Action(r.ActionID)
		if !ok {
			continue
		}
		known := before.Findings[roll.FindingKey{Instance: was.Instance, Kind: was.Kind}]
		a := Action{
			Head: d.head, Subject: subject(d.id, was.Instance, was.Node, was.Group, was.Kind, known.Since),
			Action: was.Do, Order: was.ID, Result: remediate.Acted, Detail: sentence(r.Outcome.Detail), Since: known.Since.UTC(), Evidence: known.Evidence, Approved: was.Approved,
		}
		told := ActionTaken
		switch {
		case r.Outcome.Result != ledger.Failed:
		case r.Moot:
			a.Result, a.Reason, told = remediate.Refused, string(plan.VerdictChanged), ActionHeld
		case was.Do == string(plan.Drain):
			a.Result, a.Reason, told = remediate.Failed, string(plan.DrainUnfinished), ActionFailed
		default:
			a.Result, told = remediate.Failed, ActionFailed
		}
		d.events = append(d.events, act(d.id, told, a))
	}
}

func (d *derived) completed() Completed {
	c := d.check
	out := Completed{
		Head: d.head, Mode: string(c.Mode), Complete: c.Complete(),
		Nodes: c.Assessment.Nodes, Ready: c.Assessment.Ready, Waiting: c.Assessment.Waiting,
		Kinds: map[string]int{}, Causes: map[string]int{}, Gaps: map[string]int{},
		Orders: len(c.Plan.Orders), Held: map[string]int{}, Outcomes: map[string]int{}, Notes: len(c.Notes()),
		Registration: report.Registration(c.Assessment), Next: c.Plan.Next.UTC(),
	}
	out.Registration = out.Registration[:min(len(out.Registration), registrationGroups)]
	for _, f := range c.Assessment.Findings {
		switch f.Stage {
		case roll.Watching:
			out.Findings.Watching++
		case roll.Warned:
			out.Findings.Warned++
		case roll.Overdue:
			out.Findings.Overdue++
		}
	}
	for _, f := range c.Findings() {
		out.Kinds[string(f.Kind)]++
		if cause, ok := c.Diagnoses[f.Key()].Decisive(); ok {
			out.Causes[cause.Code]++
		}
		out.Oldest = roll.Earlier(out.Oldest, f.Since.UTC())
	}
	for _, g := range c.Snapshot.Gaps {
		out.Gaps[string(g.Kind)]++
	}
	for _, h := range c.Plan.Held {
		out.Held[string(h.Reason)]++
	}
	for _, o := range c.Outcomes {
		out.Outcomes[string(o.Result)]++
	}
	return out
}
