package plan

import (
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// This file asks people to approve acts. The question is recorded once a notice has asked it, and
// only an answer in the ledger counts, so that remediate needs neither the notice nor the tag. An
// approval permits the acts that the question names, for its finding alone: the id of the order
// depends on when the finding was first seen. The first act must begin in time.

// Approved is an approval by a tag, to be recorded. The next check acts on it.
type Approved struct {
	Order    string
	Approval ledger.Approval
}

// approved returns who approved an act, nil if it needs no approval, or why it is held without one.
// question is the open or missed question.
func (p *planner) approved(f roll.Finding, ladder []policy.Step, asks policy.Approve, act Action, pol policy.Policy) (who *ledger.Approval, question *ledger.ApprovalRequest, no *Refusal) {
	if !asks.Needed() {
		return nil, nil, nil
	}
	section := p.section(f, ladder, asks.Rung, pol)
	q, asked := p.question(f, section, act)
	if !asked {
		q = p.ask(f, section[slices.Index(section, act):], asks.For)
		return nil, &q, p.refuseUntil(q.Until, ApprovalPending, "%s needs a person's approval until %s, %s after the notice that asks for it", act, roll.Clock(q.Until), roll.Span(asks.For))
	}
	approval, ok := p.State.Approvals[q.Order]
	if ok = ok && approval.At.Before(q.Until); ok && (p.Now.Before(q.Until) || p.begunBy(f, q)) {
		return &approval, nil, nil
	}
	switch {
	case p.Now.Before(q.Until) && p.tagged(q):
		p.next(p.Now.Add(advance))
		return nil, nil, refuse(ApprovalUnrecorded, "%s is approved by the tag %s, which this check records: the next one acts on it", act, roll.TagApprove)
	case p.Now.Before(q.Until):
		return nil, &q, p.refuseUntil(q.Until, ApprovalPending, "%s needs a person's approval until %s, which a notice asked for at %s", act, roll.Clock(q.Until), roll.Clock(q.At))
	case asks.ThenGo && ok:
		return &approval, nil, nil
	case asks.ThenGo:
		return nil, nil, nil
	case ok:
		return nil, &q, refuse(ApprovalMissing, "%s was approved (%s), but could not begin before %s", act, approval, roll.Clock(q.Until))
	case p.tagged(q):
		return nil, &q, refuse(ApprovalMissing, "no check could record the tag %s, which approves %s, before %s", roll.TagApprove, act, roll.Clock(q.Until))
	}
	return nil, &q, refuse(ApprovalMissing, "nobody approved %s by %s, which a notice asked for at %s", act, roll.Clock(q.Until), roll.Clock(q.At))
}

// tagged reports whether the instance of a question has the tag that approves its acts.
func (p *planner) tagged(q ledger.ApprovalRequest) bool {
	i := p.instances[q.Instance]
	return i != nil && i.Approve == q.Order
}

// recordTags records the approvals by tags, also while something else holds the act: the time of the
// question does not wait for that to end.
func (p *planner) recordTags() {
	for order, q := range p.State.Questions {
		if _, known := p.State.Approvals[order]; known || !p.Now.Before(q.Until) || !p.tagged(q) {
			continue
		}
		open := slices.ContainsFunc(p.Assessment.Findings, func(f roll.Finding) bool {
			return f.Instance == q.Instance && f.Kind == q.Kind && p.Policy(f.Selector).Mode == policy.Remediate
		})
		if open {
			p.out.Approved = append(p.out.Approved, Approved{order, ledger.Approval{By: "whoever set the tag " + roll.TagApprove, How: ledger.WayTag, At: p.Now}})
		}
	}
	slices.SortFunc(p.out.Approved, func(a, b Approved) int { return strings.Compare(a.Order, b.Order) })
}

// section returns the acts of a finding that one rung of its ladder asks for.
func (p *planner) section(f roll.Finding, ladder []policy.Step, rung int, pol policy.Policy) (acts []Action) {
	for _, step := range ladder {
		if act := p.actionOf(step.Do, f, pol); act != "" && step.Approve.Rung == rung {
			acts = append(acts, act)
		}
	}
	return acts
}

// question returns the recorded question of a finding about an act: that of the act's own order, or of
// an earlier act of its section.
func (p *planner) question(f roll.Finding, section []Action, act Action) (ledger.ApprovalRequest, bool) {
	for _, first := range section {
		if q := p.State.Questions[p.orderID(f, first)]; slices.Contains(q.Acts, string(act)) {
			return q, true
		}
	}
	return ledger.ApprovalRequest{}, false
}

// ask returns a new question about the first of the acts and the possible others. Its time begins
// with this check, whose notice asks it.
func (p *planner) ask(f roll.Finding, acts []Action, stands time.Duration) ledger.ApprovalRequest {
	q := ledger.ApprovalRequest{
		Order: p.orderID(f, acts[0]), Instance: f.Instance, Node: f.Node, Group: f.Group, Kind: f.Kind,
		Why: f.Summary, At: p.Now, Until: p.Now.Add(stands),
	}
	for _, act := range acts {
		if p.impossible(f, act) == "" {
			q.Acts = append(q.Acts, string(act))
		}
	}
	if c, ok := p.Diagnoses[f.Key()].Decisive(); ok {
		q.Cause = c.Code
	}
	return q
}

// awaits returns the approval that a later act still needs: none once its section is approved.
func (p *planner) awaits(f roll.Finding, ladder []policy.Step, asks policy.Approve, act Action, pol policy.Policy) policy.Approve {
	q, _ := p.question(f, p.section(f, ladder, asks.Rung, pol), act)
	if _, ok := p.State.Approvals[q.Order]; ok {
		return policy.Approve{}
	}
	return asks
}

// begunBy reports whether an act that a question names was begun with an approval, so that the later
// ones may follow it after the question's time.
func (p *planner) begunBy(f roll.Finding, q ledger.ApprovalRequest) bool {
	return slices.ContainsFunc(q.Acts, func(act string) bool {
		a, _ := p.State.Action(p.orderID(f, Action(act)))
		return a.Interrupted() && a.Approved != nil
	})
}

// rememberQuestions drops questions and approvals whose findings are over.
func (p *planner) rememberQuestions() {
	c := &p.out.Changes
	for order, q := range p.State.Questions {
		known := p.State.Findings[roll.FindingKey{Instance: q.Instance, Kind: q.Kind}]
		if len(q.Acts) == 0 || orderID(p.Snapshot.Cluster.ID, known.Key(), known.FirstSeen, Action(q.Acts[0])) != order {
			c.Drop.Questions = append(c.Drop.Questions, order)
		}
	}
	for order := range p.State.Approvals {
		if _, asked := p.State.Questions[order]; !asked || slices.Contains(c.Drop.Questions, order) {
			c.Drop.Approvals = append(c.Drop.Approvals, order)
		}
	}
	slices.Sort(c.Drop.Questions)
	slices.Sort(c.Drop.Approvals)
}
