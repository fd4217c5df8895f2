package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// climbed checks that the ladder of a finding allows an act now: the ladder of its kind, or of the
// recorded cause.
func (u *auditor) climbed(inv *invocation, what act, m *machine, intent ledger.Action) {
	if m == nil {
		return
	}
	kind, do := string(intent.Kind), acts[what]
	if what == actDeleteClaim {
		do = acts[actTerminate]
	}
	if what == actCordon && intent.Do == acts[actEvict] {
		do = intent.Do // the drain's own cordon
	}
	// A node that is drained is cordoned, by whomever, or was when that, or the step cordon, was ordered: that step
	// is done, even if somebody lifts it later.
	if n := m.node; do == acts[actEvict] && n != nil {
		since, _, _ := u.tolerated(inv, m)
		if n.cordoned || n.lifted.Add(ahead).After(intent.At) || u.foundCordoned(m, since) {
			cordon := [2]string{m.id, acts[actCordon]}
			u.taken[cordon] = latest(since, u.taken[cordon])
		}
	}
	switch kind {
	case "", "Ghost", "Orphaned", "Scheduled", "ConditionFailed": // other rules cover these
	default:
		if m.state != running {
			break // only its Node is left
		}
		pol := u.policyOf(inv, m)
		why := u.leavesOut(inv, pol, pol.ladders[kind], kind, do, m)
		if ladder, ok := pol.ladders[kind+"/"+intent.Cause]; ok && why != "" {
			why = u.leavesOut(inv, pol, ladder, kind, do, m)
		}
		u.forbids(RuleLadder, why != "", "%s: %s of %s for %s (%s): %s", inv.name, what, m.id, kind, state(m), why)
	}
	// Against failing status checks another instance helps, unless it ran out of memory before; the ladder of
	// Impaired decides for itself.
	starved := !u.truths.last[[2]string{"starved", m.id}].Before(m.since.Add(-lag))
	if what == actReboot && !starved && kind == string(roll.Unknown) && m.failsCheck() && u.a.Now().Sub(m.since) > 2*lag && !inv.missed {
		u.broken(RuleVain, "%s: %s of %s for %s, whose status checks fail since %s", inv.name, what, m.id, kind, m.since.Format(time.TimeOnly))
	}
	u.taken[[2]string{m.id, do}] = u.a.Now()
}

// leavesOut returns why a ladder does not allow an act now, or "" if it does.
func (u *auditor) leavesOut(inv *invocation, pol *terms, ladder []rung, kind, do string, m *machine) string {
	since, tolerated, known := u.tolerated(inv, m)
	from, after, boots := since.Add(tolerated), time.Duration(0), time.Time{}
	for _, r := range ladder {
		wait, _ := time.ParseDuration(r.After)
		after += wait
		if r.Do == do {
			due := from.Add(after)
			if boots.After(due) {
				due = boots
			}
			if known && u.a.Now().Add(ahead).Before(due) {
				return "its time comes at " + due.Format(time.TimeOnly)
			}
			return ""
		}
		at, done := u.taken[[2]string{m.id, r.Do}]
		done = done && !at.Before(since)
		switch {
		case !slices.Contains([]string{"cordon", "drain", "reboot"}, r.Do):
		case r.Do == "drain" && u.undrained(pol, m) != "":
			return "the step drain before it is not done: " + u.undrained(pol, m)
		case done:
			// An impaired machine is rebooted for its status check. Its silence skips that step.
			if r.Do != "reboot" || m.ail != impaired || kind == "Impaired" {
				from, after, known = at, 0, true
			}
			if r.Do == "reboot" {
				boots = at.Add(pol.duration("reboot.wait"))
			}
		case r.Do != "drain" && !u.inapplicable(r.Do, m):
			return "nothing came of the step " + r.Do + " before it"
		}
	}
	return "that ladder does not have the step"
}

// undrained returns the name of a pod that was to be evicted and was not, or "" if there is none.
func (u *auditor) undrained(pol *terms, m *machine) string {
	if m.node == nil || m.node.ready().Status == corev1.ConditionUnknown || pol.values["drain.force"] != "never" {
		return ""
	}
	for _, p := range m.node.pods {
		if !p.daemon && p.leaving.IsZero() {
			return fmt.Sprintf("pod %s runs on %s", p.name, m.node.name)
		}
	}
	return ""
}

// foundCordoned reports whether the step cordon, since a time, found the node cordoned, which a person has lifted
// by now.
func (u *auditor) foundCordoned(m *machine, since time.Time) bool {
	return slices.ContainsFunc(u.a.dep.state(m.c.name).Actions, func(a ledger.Action) bool {
		return string(a.Instance) == m.id && a.Do == acts[actCordon] && !a.At.Before(since) && a.Outcome != nil && a.Outcome.Result == ledger.Done && m.node.lifted.After(a.At)
	})
}

// inapplicable reports whether a step can do nothing for a machine. A cordon needs a node that answers
// and is not cordoned yet. A reboot must be able to cure the fault, and none was tried within a day.
func (u *auditor) inapplicable(do string, m *machine) bool {
	if do == "cordon" {
		return m.node == nil || m.node.cordoned || m.node.ready().Status == corev1.ConditionUnknown
	}
	return m.ail == impaired || u.rebootTried(m)
}

// approvals is what the auditor remembers of approvals: what notices asked, and when people first
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
