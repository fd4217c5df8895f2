package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"rollcall/shared/lambdas/approve"
	"rollcall/shared/roll"
)

// answer has people answer what a notice asks: by button or tag, in time, late, twice, for another order, or not at
// all.
func (a *account) answer(message string) {
	document := notice(message)
	var n noticed
	if json.Unmarshal([]byte(document), &n) != nil {
		return
	}
	for _, i := range n.Instances {
		q := i.Approve
		if q == nil || a.answered[q.Order] {
			continue
		}
		a.answered[q.Order] = true
		d := a.d.of("approves").of(q.Order)
		left := max(q.Until.Sub(a.Now()), 2*time.Minute)
		soon := d.of("soon").between(time.Minute, left)
		switch d.of("how").below(10) {
		case 0, 1: // nobody does
		case 2:
			a.in(left+d.of("late").between(time.Second, 20*time.Minute), func() { a.press(q.Order, d) })
		case 3:
			forged := shortID(d.of("forged"), 16)
			a.in(soon, func() { a.press(forged, d) })
			a.in(soon, func() { a.approveByTag(i.Instance, forged) })
		case 4:
			a.in(soon, func() { a.press(q.Order, d) })
			a.in(soon+d.of("again").between(0, time.Minute), func() { a.press(q.Order, d.of("twice")) })
		case 5, 6:
			a.in(soon, func() { a.approveByTag(i.Instance, q.Order) })
		default:
			a.in(soon, func() { a.press(q.Order, d) })
		}
	}
}

func (a *account) press(order string, d dice) {
	a.audit.approved(order)
	body := fmt.Sprintf(`{"order": %q}`, order)
	a.dep.functions[approver].invoke([]message{{id: uid(d.of("press")), body: body}}, d.of("press"), func(bool, []string) {})
}

func (a *account) approveByTag(instance, order string) {
	m := a.machines[instance]
	if m == nil || m.state != running || a.healedNow() {
		return
	}
	a.audit.approved(order)
	m.untag(roll.TagApprove)
	m.tags = append(slices.Clone(m.tags), tag{roll.TagApprove, order})
	m.touch()
}

func (d *deployment) newApprove(v *env) func([]message) []string {
	h := &approve.Approver{Ambient: v.ambient(), Ledger: d.newLedger(v)}
	return func(batch []message) []string {
		var r approve.Request
		if err := json.Unmarshal([]byte(batch[0].body), &r); err != nil {
			panic(err) // this file wrote it
		}
		ctx := lambdacontext.NewContext(v.context(), &lambdacontext.LambdaContext{InvokedFunctionArn: "arn:aws:lambda:" + region + ":" + accountID + ":function:" + stack + "-approve"})
		answer, err := h.Handle(ctx, r) // the chat shows it
		if err == nil && strings.HasPrefix(answer, "Approved: ") {
			d.a.audit.approvals.accepted[r.Order] = d.a.Now()
		}
		return nil
	}
}
