package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// The values of AnswerDocument.Answer.
const (
	AnswerActed   = "acted"   // Rollcall acted on it
	AnswerActing  = "acting"  // Rollcall began an act that has no outcome yet
	AnswerFailed  = "failed"  // an act of Rollcall failed
	AnswerOrdered = "ordered" // an act follows, unless something changes
	AnswerLeft    = "left"    // its owner is given time
	AnswerHeld    = "held"    // an act is held
	AnswerWaiting = "waiting" // it is still within its time
	AnswerTold    = "told"    // it is only reported
	AnswerNothing = "nothing" // nothing is wrong with it
	AnswerGone    = "gone"    // it is gone, not terminated by Rollcall
	AnswerUnknown = "unknown" // the answer is unknown
)

// AnswerDocument is a short answer to "why did it act?" or "why did it not?", in JSON.
type AnswerDocument struct {
	Answer string `json:"answer"`
	Text   string `json:"text"` // the answer, for a person
	// Detail has more detail; Ends says what ends a hold.
	Detail string    `json:"detail,omitempty"`
	Ends   string    `json:"ends,omitempty"`
	Fix    string    `json:"fix,omitempty"`  // what a person can paste to find out more
	Kind   string    `json:"kind,omitempty"` // of the finding that it is about
	Action string    `json:"action,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Order  string    `json:"order,omitempty"`
	At     time.Time `json:"at,omitzero"`    // when the act was done, or is due
	Until  time.Time `json:"until,omitzero"` // when the hold passes by itself
	Cause  string    `json:"cause,omitempty"`
	// Evidence is where the evidence read before an act is stored, Console its console page.
	Evidence string `json:"evidence,omitempty"`
	Console  string `json:"console,omitempty"`
}

// About returns the answer for a finding: what follows from it, or why nothing does.
func (c Check) About(f roll.Finding) AnswerDocument {
	a := AnswerDocument{Kind: string(f.Kind)}
	x := c.fate(f)
	switch {
	case x.order != nil:
		return c.ordered(a, f, *x.order)
	case x.held != nil:
		return a.heldBack(*x.held)
	}
	if s := x.step; s.Do != "" {
		a.Answer, a.Action, a.At = AnswerWaiting, string(s.Do), s.At.UTC()
		a.Text = fmt.Sprintf("nothing yet: %s follows at %s, if nothing changes", s.Do, roll.Clock(s.At))
		return a
	}
	if f.Stage != roll.Overdue {
		a.Answer, a.Until = AnswerWaiting, f.Due.UTC()
		a.Text = fmt.Sprintf("nothing yet: within its tolerance until %s, and nothing is done before", roll.Clock(f.Due))
		return a
	}
	a.Answer = AnswerTold
	a.Text = "nothing is done now: its ladder has no step that acts, or none whose time has come"
	if c.Mode != policy.Remediate {
		a.Detail = fmt.Sprintf("the mode is %s", c.Mode)
	}
	return a
}

func (c Check) ordered(a AnswerDocument, f roll.Finding, o plan.Order) AnswerDocument {
	a.Answer, a.Action, a.Order = AnswerOrdered, string(o.Action), o.ID
	if passed, more := strings.CutPrefix(o.Why, f.Summary+"; "); more {
		a.Detail = passed // the skipped steps; the finding says the rest
	}
	a.Text = fmt.Sprintf("to be ordered: %s, by the next check, unless something changes", o.Action)
	if c.WhatIf {
		a.Text = "would be ordered: " + string(o.Action)
	}
	return a
}

func (a AnswerDocument) heldBack(h plan.Held) AnswerDocument {
	a.Answer, a.Action, a.Reason, a.Detail, a.Ends = AnswerHeld, string(h.Action), string(h.Reason), h.Detail, h.Reason.Ends()
	until := ""
	if !h.Until.IsZero() {
		a.Until, until = h.Until.UTC(), " until "+roll.Clock(h.Until)
	}
	a.Text = fmt.Sprintf("held: %s, %s%s", h.Action, h.Reason, until)
	if h.Reason == plan.OwnerWillAct {
		a.Answer, a.Text = AnswerLeft, fmt.Sprintf("left to the owner%s: %s, %s", until, h.Action, h.Reason)
	}
	if h.Question != nil {
		a.Order = h.Question.Order
		a.Text += ", order " + a.Order
	}
	return a
}

// Done returns the answer with the last act on an instance: the latest one that interrupted
// something, or else the latest one. It returns false if no act is remembered.
func (m Memory) Done(id roll.InstanceID) (AnswerDocument, bool) {
	var last *ledger.Action
	for i := range m.State.Actions {
		a := &m.State.Actions[i]
		if a.Instance == id && (last == nil || a.Interrupted() || !last.Interrupted()) {
			last = a
		}
	}
	if last == nil {
		return AnswerDocument{}, false
	}
	a := AnswerDocument{
		Kind: string(last.Kind), Action: last.Do, Order: last.ID, At: last.At.UTC(), Detail: cmp.Or(last.Why, "the finding was "+string(last.Kind)),
		Cause: last.Cause, Evidence: last.Evidence, Console: evidencePage(m.Cluster.Region, last.Evidence),
	}
	switch o := last.Outcome; {
	case o == nil:
		a.Answer, a.Text = AnswerActing, fmt.Sprintf("acting: %s was begun at %s and has no outcome yet", last.Do, roll.Clock(last.At))
	case o.Result == ledger.Failed:
		a.Answer, a.Text = AnswerFailed, fmt.Sprintf("tried: %s at %s, which failed: %s", last.Do, roll.Clock(last.At), o.Detail)
	default:
		a.Answer, a.Text = AnswerActed, fmt.Sprintf("acted: %s at %s", whatWasDone(plan.Action(last.Do)), roll.Clock(last.At))
	}
	if last.Approved != nil {
		a.Text += "; approved by " + last.Approved.String()
	}
	return a, true
}

// whatWasDone returns the end of a sentence about an instance: the act that was carried out.
func whatWasDone(do plan.Action) string {
	switch do {
	case plan.Terminate, plan.Reboot:
		return acts[do].pastTense
	case plan.DeleteNodeClaim:
		return "its NodeClaim was " + acts[do].pastTense
	}
	return "its node was " + acts[do].pastTense
}

// Answers returns the short answers about the instance in question, or about all explained
// findings: first what was done, then what follows.
func (c Check) Answers() []AnswerDocument {
	return append(c.beside(), roll.Map(c.Explained(), c.About)...)
}

// beside returns the answers that are not about an explained finding.
func (c Check) beside() (out []AnswerDocument) {
	if c.Asked == nil {
		return nil
	}
	if c.Memory != nil {
		if a, ok := c.Memory.Done(c.Asked.ID); ok {
			out = append(out, a)
		}
	}
	if len(c.Explained()) > 0 {
		return out
	}
	for _, f := range append(c.Watching(), c.Assessment.Starting...) {
		if f.Instance == c.Asked.ID {
			a := c.About(f)
			a.Detail = f.Summary
			return append(out, a)
		}
	}
	return append(out, c.presence(len(out) > 0))
}

// presence returns the answer for an instance without findings. acted means that the memory
// has an act on it.
func (c Check) presence(acted bool) AnswerDocument {
	id, s := c.Asked.ID, c.Snapshot
	if n, ok := roll.Find(c.Assessment.NotNodes, func(n assess.NotNode) bool { return n.Instance == id }); ok {
		return AnswerDocument{Answer: AnswerNothing, Text: "it carries the cluster's tag but does not count as a node, so it is never acted on, because", Detail: n.Why}
	}
	n, ok := roll.Find(s.Nodes, func(n roll.Node) bool { return n.Instance == id })
	switch i := c.Asked.Instance; {
	case ok && n.Ready.Status == roll.ConditionTrue:
		return AnswerDocument{Answer: AnswerNothing, Text: fmt.Sprintf("nothing is wrong with it: node %s is Ready since %s", n.Name, roll.Clock(n.Ready.Since))}
	case ok:
		return AnswerDocument{Answer: AnswerWaiting, Text: fmt.Sprintf("nothing yet: node %s is not Ready (%s since %s) and still has time, or was not judged", n.Name, n.Ready.Status, roll.Clock(n.Ready.Since)), Detail: c.unjudged()}
	case s.Instance(id) == nil:
		return c.absent(acted)
	case i.State.Gone():
		return c.absent(false)
	case i.State != roll.StateRunning:
		return AnswerDocument{Answer: AnswerNothing, Text: fmt.Sprintf("it is %s: only what runs is judged", i.State)}
	case !s.Has(roll.ScopeNodes):
		return AnswerDocument{Answer: AnswerUnknown, Text: "nothing is concluded: the nodes of the cluster could not be read", Detail: c.unjudged()}
	default:
		return AnswerDocument{Answer: AnswerWaiting, Text: fmt.Sprintf("nothing yet: it was launched at %s, is no node, and still has time or rests in its Auto Scaling group", roll.Clock(i.Launched)), Detail: c.unjudged()}
	}
}

// absent returns the answer for an instance that is not among those of the cluster. The
// CloudTrail event history shows who terminated it, without setup, for 90 days:
// https://docs.aws.amazon.com/awscloudtrail/latest/userguide/view-cloudtrail-events.html
func (c Check) absent(acted bool) AnswerDocument {
	i, id := c.Asked.Instance, c.Asked.ID
	name := c.Snapshot.Cluster.ID.Name
	switch {
	case !c.Asked.Known.Answered():
		return AnswerDocument{Answer: AnswerUnknown, Text: fmt.Sprintf("it is unknown whether instance %s exists: EC2 could not be read", id), Detail: c.unjudged()}
	case c.Asked.Known == roll.Yes && !i.State.Gone() && i.OtherCluster != "":
		return AnswerDocument{Answer: AnswerNothing, Text: fmt.Sprintf("it does not belong to %s: its tags name cluster %s", name, i.OtherCluster)}
	case c.Asked.Known == roll.Yes && !i.State.Gone():
		return AnswerDocument{Answer: AnswerNothing, Text: fmt.Sprintf("it does not belong to %s: none of its tags names the cluster, and it has no node", name)}
	}
	gone := "EC2 no longer knows it"
	if c.Asked.Known == roll.Yes {
		gone = "EC2 says that it is " + string(i.State)
	}
	if c.Memory == nil {
		if c.Asked.Known == roll.Yes {
			return AnswerDocument{Answer: AnswerGone, Text: "it is gone: " + gone}
		}
		text := fmt.Sprintf("%s is unknown: EC2 does not list it", id)
		if c.Snapshot.Has(roll.ScopeNodes) {
			text += fmt.Sprintf(", and %s has no node of it", name)
		}
		return AnswerDocument{Answer: AnswerUnknown, Text: text}
	}
	gone += spotted(c.Memory.State.SpotEnd(id, &i))
	begun, done := c.ending()
	if done {
		return AnswerDocument{Answer: AnswerGone, Text: "it is gone: " + gone}
	}
	a := AnswerDocument{Answer: AnswerGone, Text: "it is gone; Rollcall has no record of terminating it: " + gone}
	a.Detail = fmt.Sprintf("acts are remembered for %d days; CloudTrail shows for 90 days who else terminated it", int(ledger.ActionRetention.Hours())/24)
	a.Fix = paste.Format("aws cloudtrail lookup-events --region %s --lookup-attributes AttributeKey=ResourceName,AttributeValue=%s", c.Memory.Cluster.Region, string(id))
	if begun {
		a.Text = fmt.Sprintf("it is gone: %s; Rollcall had begun to terminate it, and the outcome was not recorded", gone)
	}
	if !acted && !c.Memory.State.Knows(id) {
		a.Answer, a.Text = AnswerUnknown, fmt.Sprintf("nothing is on record about %s: %s", id, gone)
	}
	return a
}

// ending reports whether an act that terminates the instance was begun, and whether it was
// carried out.
func (c Check) ending() (begun, done bool) {
	for _, a := range c.Memory.State.Actions {
		if do := plan.Action(a.Do); a.Instance != c.Asked.ID || do != plan.Terminate && do != plan.DeleteNodeClaim {
			continue
		}
		begun = begun || a.Outcome == nil
		done = done || a.Outcome != nil && a.Outcome.Result == ledger.Done
	}
	return begun, done
}

// unjudged returns the detail of the first gap, "" if everything was read.
func (c Check) unjudged() string {
	if len(c.Snapshot.Gaps) == 0 {
		return ""
	}
	return c.Snapshot.Gaps[0].Detail
}
