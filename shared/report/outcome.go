package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
)

// Outcome returns the notice of the outcome of an order.
func (from From) Outcome(id roll.ClusterID, o remediate.Outcome, at time.Time) (Message, error) {
	d := document(id, at, string(o.Order.Group), string(o.Order.Kind), ledger.Incident{ID: o.Order.Incident})
	d.News = []string{newsOutcome}
	d.Severity, d.Action, d.Ordered, d.Since, d.Count = SeverityInfo, became(o), string(o.Order.Action), o.Order.Since.UTC(), 1
	if o.Result == remediate.Failed || o.Result == remediate.Unclear {
		d.Severity = SeverityCritical
	}
	d.Instances = append(d.Instances, NoticeInstance{
		Instance: string(o.Order.Instance), Node: o.Order.Node, Owner: string(o.Order.Owner), Stage: string(roll.Overdue),
		Since: o.Order.Since.UTC(), Due: o.Order.At.UTC(), New: true, Order: o.Order.ID, Held: string(o.Reason), Detail: o.Detail,
	})
	d.Evidence, d.Cause, d.Instances[0].Cause = o.Evidence, o.Cause, o.Cause
	d.Links = linksTo(id, o.Order.Instance, o.Order.Group, o.Evidence)
	l := letter{headline: sentence(o), why: []why{{cmp.Or(detailed[o.Result], "Detail"), o.Detail, ""}}, facts: []fact{{"Order", o.Order.ID}, {"Ordered because", o.Order.Why}}}
	if o.Detail == acts[o.Order.Action].pastTense+" "+string(o.Order.Instance) { // the first sentence says so
		l.why = nil
	}
	if who := o.Order.Approved; who != nil {
		d.Instances[0].Approved = who
		l.facts = append(l.facts, fact{"Approved by", who.String()})
	}
	if o.Cause != "" {
		l.facts = append(l.facts, fact{"Cause", o.Cause})
	}
	explain := Recipe{"To see everything else", []string{from.explain(id, o.Order.Instance, policy.Remediate)}}
	if l.run = &explain; o.Reason == plan.DrainUnfinished {
		l.against(id, Recipe{"To see which pods are left", podsLeft(o.Order.Node)[:1]})
		l.rest = &explain
	}
	return d.message(subject(id.Name, outcomeInWords(o), numbered(kindTable[o.Order.Kind].name, 1), o.Order.Group, ""), l)
}

// detailed labels the detail of an outcome.
var detailed = map[remediate.Result]string{remediate.Refused: "Refused because", remediate.Failed: "Failed because"}

// outcomeInWords returns the end of a subject: what happened to which object.
func outcomeInWords(o remediate.Outcome) string {
	w, of := acts[o.Order.Action], string(o.Order.Instance)
	switch o.Order.Action {
	case plan.DeleteNode:
		of = "node of " + of
	case plan.DeleteNodeClaim:
		of = "NodeClaim of " + of
	}
	if o.Result == remediate.Acted {
		return of + " " + w.pastTense
	}
	return w.noun + " of " + of + " " + became(o)
}

// sentence says what happened, and what it means.
func sentence(o remediate.Outcome) string {
	w, of := acts[o.Order.Action], object(o.Order)
	switch {
	case o.Result == remediate.Acted:
		return fmt.Sprintf("%s was %s%s", capital(of), w.pastTense, consequence(o.Order))
	case o.Result == remediate.Refused:
		return fmt.Sprintf("%s was not %s: the check right before the act found another state (%s).", capital(of), w.pastTense, o.Reason)
	case o.Reason == plan.DrainUnfinished:
		return fmt.Sprintf("The drain of %s is unfinished: pods were left on it when its time was over. The instance is kept, unless the policy says drain.force: afterBudgetTimeout; see to the pods.", of)
	case o.Result == remediate.Failed:
		return fmt.Sprintf("The %s of %s failed; nothing happened to it.", w.noun, of)
	case o.Result == remediate.Ongoing:
		return fmt.Sprintf("The %s of %s is still running; the next check continues it.", w.noun, of)
	case o.Order.Action == plan.Reboot:
		return fmt.Sprintf("It is unclear whether the %s of %s took effect, and it cannot be seen from outside; it is not repeated.", w.noun, of)
	}
	return fmt.Sprintf("It is unclear whether the %s of %s took effect; the next checks will show it, and it is not repeated.", w.noun, of)
}

// consequence returns the end of the sentence about an act that was carried out: what
// follows from it.
func consequence(o plan.Order) string {
	switch {
	case o.Action == plan.Terminate && (o.Owner == roll.OwnerNone || o.Kind == roll.Orphaned):
		return "; it has no owner, so it is not replaced."
	case o.Action == plan.Terminate && o.Owner == roll.OwnerKarpenter:
		return "; Karpenter launches another one if pods need it."
	case o.Action == plan.Terminate:
		return fmt.Sprintf("; its owner (%s, %s) launches a replacement.", o.Owner, o.Group)
	case o.Action == plan.Reboot:
		return ", once; if its node does not come back, the next step of the ladder follows."
	case o.Action == plan.OutOfService:
		return ": its instance is gone, and nothing has to wait for its pods and volumes any more."
	case o.Action == plan.DeleteNode:
		return ": its instance is gone."
	case o.Action == plan.DeleteNodeClaim:
		return "; Karpenter drains its node, terminates the instance, and launches another one if pods need it."
	}
	return "."
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
