package report

import (
	"fmt"
	"slices"

	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
)

// fate is what a check did about a finding, and what follows. Parts that do not apply are nil,
// or a step without Do.
type fate struct {
	outcome *remediate.Outcome
	order   *plan.Order
	held    *plan.Held
	step    plan.Step
}

func (c Check) fate(f roll.Finding) fate {
	out := fate{step: c.Plan.Steps[f.Key()]}
	if i := slices.IndexFunc(c.Outcomes, func(o remediate.Outcome) bool { return o.Order.Instance == f.Instance && o.Order.Kind == f.Kind }); i >= 0 {
		out.outcome = &c.Outcomes[i]
	}
	if i := slices.IndexFunc(c.Plan.Orders, func(o plan.Order) bool { return o.Instance == f.Instance && o.Kind == f.Kind }); i >= 0 {
		out.order = &c.Plan.Orders[i]
	}
	if i := slices.IndexFunc(c.Plan.Held, func(h plan.Held) bool { return h.Instance == f.Instance && h.Kind == f.Kind }); i >= 0 {
		out.held = &c.Plan.Held[i]
	}
	return out
}

// entry returns a finding as an entry of a notice, without the instance's tag.
func (c Check) entry(f roll.Finding) plan.Entry {
	x := c.fate(f)
	return plan.Entry{Finding: f, Order: x.order, Held: x.held, Step: x.step, Causes: c.Diagnoses[f.Key()].Causes}
}

// cell returns the fate in a few words, for the column of a table.
func (x fate) cell() string {
	switch {
	case x.outcome != nil:
		return inWords(*x.outcome)
	case x.held != nil:
		return "held"
	case x.step.Do != "":
		return string(x.step.Do) + " " + x.step.At.UTC().Format("15:04Z")
	}
	return "-"
}

// sentence returns the fate in a sentence, "" if nothing follows.
func (x fate) sentence() string {
	switch {
	case x.outcome != nil:
		return inWords(*x.outcome)
	case x.held != nil:
		return fmt.Sprintf("%s is held: %s", x.held.Action, x.held.Reason)
	case x.step.Do != "":
		return string(x.step.Do) + " at " + roll.Clock(x.step.At)
	}
	return ""
}

// byItself says what happens to the finding without a person, "" if nothing does.
func (x fate) byItself(mode policy.Mode) string {
	switch {
	case x.outcome != nil && (x.outcome.Result == remediate.Acted || x.outcome.Result == remediate.Ongoing):
		return inWords(*x.outcome)
	case x.outcome != nil:
		return ""
	case x.order != nil:
		return string(x.order.Action) + " ordered"
	case x.held != nil && (x.held.Reason.Passing() || x.held.Reason == plan.OwnerWillAct):
		return pausedInWords(x.held.Reason)
	case x.held != nil:
		return ""
	case x.step.Approve.Needed() && !x.step.Approve.ThenGo:
		return ""
	case coming[x.step.Do] != "" && mode == policy.Remediate:
		return string(x.step.Do) + " at " + x.step.At.UTC().Format("15:04Z")
	}
	return ""
}
