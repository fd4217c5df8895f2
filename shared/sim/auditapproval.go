package sim

import (
	"slices"
	"time"

	"rollcall/shared/ledger"
)

// RuleApproval forbids an act behind an approve rung, unless a person approved it in time, or the
// time is over and the rung says then: go.
const RuleApproval Rule = "approval"

// approvals is what the auditor remembers for this rule: what notices asked, and when people first
// approved, by order.
type approvals struct {
	asked map[string]request
	given map[string]time.Time
}

// request is what a notice asks people to approve.
type request struct {
	instance, kind string
	acts           []string
	until          time.Time
}

// asks records what a notice asks people to approve. A notice that is sent twice asks again.
func (u *auditor) asks(d noticed) {
	for _, i := range d.Instances {
		if q := i.Approve; q != nil {
			u.approvals.asked[q.Order] = request{i.Instance, d.Kind, q.Acts, latest(q.Until, u.approvals.asked[q.Order].until)}
		}
	}
}

// approved records that a person approves an order now.
func (u *auditor) approved(order string) {
	if _, again := u.approvals.given[order]; !again {
		u.approvals.given[order] = u.a.Now()
	}
}

// permitted checks an act behind a rung that asks.
func (u *auditor) permitted(inv *invocation, what act, m *machine, intent ledger.Action) {
	if m == nil || intent.ID == "" {
		return
	}
	step := intent.Do
	if step == acts[actDeleteClaim] || step == acts[actDeleteNode] {
		step = acts[actTerminate]
	}
	asks, goes := u.policyOf(inv, m).asksFor(string(intent.Kind), step)
	if !asks {
		return
	}
	now := u.a.Now()
	for order, q := range u.approvals.asked {
		if q.instance != m.id || q.kind != string(intent.Kind) || !slices.Contains(q.acts, intent.Do) {
			continue
		}
		if goes && now.Add(slack).After(q.until) {
			return
		}
		given, ok := u.approvals.given[order]
		if !ok || !given.Before(q.until.Add(2*skewed)) {
			continue
		}
		begun := func(a ledger.Action) bool { // a function that was killed may not have done it
			return string(a.Instance) == m.id && slices.Contains(q.acts, a.Do) && a.At.After(given) && a.At.Before(q.until.Add(slack))
		}
		taken := func(do string) bool { return u.taken[[2]string{m.id, do}].After(given) }
		if now.Before(q.until.Add(slack)) || slices.ContainsFunc(q.acts, taken) || slices.ContainsFunc(u.a.dep.state(m.c.name).Actions, begun) {
			return
		}
	}
	u.broken(RuleApproval, "%s: %s of %s for %s, order %s, which nobody approved in time", inv.name, what, m.id, intent.Kind, intent.ID)
}

// asksFor reports whether each ladder of a kind that has a step asks for an approval of it, and whether
// one of them lets it go without.
func (t *terms) asksFor(kind, step string) (asks, goes bool) {
	for ladder := range t.laddersOf(kind) {
		at := slices.IndexFunc(ladder, func(r rung) bool { return r.Do == step })
		if at < 0 {
			continue
		}
		asked := false
		for _, r := range ladder[:at] {
			if r.Approve != nil {
				asked = true
				goes = goes || r.Approve.Then == "go"
			}
		}
		if !asked {
			return false, false
		}
		asks = true
	}
	return asks, goes
}

// asksSomewhere reports whether a ladder of a kind asks for an approval.
func (t *terms) asksSomewhere(kind string) bool {
	for ladder := range t.laddersOf(kind) {
		if slices.ContainsFunc(ladder, func(r rung) bool { return r.Approve != nil }) {
			return true
		}
	}
	return false
}
