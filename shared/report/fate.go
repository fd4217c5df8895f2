package report

import (
	"fmt"

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
	for i, o := range c.Outcomes {
		if o.Order.Instance == f.Instance && o.Order.Kind == f.Kind {
			out.outcome = &c.Outcomes[i]
			break
		}
	}
	for i, o := range c.Plan.Orders {
		if o.Instance == f.Instance && o.Kind == f.Kind {
			out.order = &c.Plan.Orders[i]
			break
		}
	}
	for i, h := range c.Plan.Held {
		if h.Instance == f.Instance && h.Kind == f.Kind {
			out.held = &c.Plan.Held[i]
			break
		}
	}
	return out
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
		return fmt.Sprintf("%s is held back: %s", x.held.Action, x.held.Reason)
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
		return heldBack(x.held.Reason)
	case x.held != nil:
		return ""
	case coming[x.step.Do] != "" && mode == policy.Remediate:
		return string(x.step.Do) + " at " + x.step.At.UTC().Format("15:04Z")
	}
	return ""
}
