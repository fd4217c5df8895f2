package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// climbed checks that a ladder of the finding's kind, or of the recorded cause, allows an act now.
func (u *auditor) climbed(inv *invocation, what act, m *machine, intent ledger.Action) {
	if m == nil {
		return
	}
	kind, do := string(intent.Kind), acts[what]
	why := u.misjudged(inv, kind, m)
	u.forbids(RuleLadder, why != "", "%s: %s of %s (%s) for %s, and %s", inv.name, what, m.id, state(m), kind, why)
	if what == actDeleteClaim {
		do = acts[actTerminate]
	}
	if what == actCordon && intent.Do == acts[actEvict] {
		do = intent.Do // the drain's own cordon
	}
	// The step cordon is done if the node is cordoned, by whomever, or was when it was ordered, whoever lifts it later.
	if n := m.node; do == acts[actEvict] && n != nil {
		since, _, _ := u.tolerated(inv, m)
		if n.cordoned || n.lifted.Add(ahead).After(intent.At) || u.foundCordoned(m, since) {
			cordon := [2]string{m.id, acts[actCordon]}
			u.taken[cordon] = latest(since, u.taken[cordon])
		}
	}
	switch kind {
	case "", "Scheduled", "ConditionFailed": // other rules cover these
	case "Ghost":
		u.goneLong(inv, what, m)
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
	// Against failing status checks another instance helps, unless it ran out of memory before.
	starved := !u.truths.last[[2]string{"starved", m.id}].Before(m.since.Add(-lag))
	if what == actReboot && !starved && kind == string(roll.Unknown) && m.failsCheck() && u.a.Now().Sub(m.since) > 2*lag && !inv.missed {
		u.broken(RuleVain, "%s: %s of %s for %s, whose status checks fail since %s", inv.name, what, m.id, kind, m.since.Format(time.TimeOnly))
	}
	u.taken[[2]string{m.id, do}] = u.a.Now()
}

// goneLong checks that the Node of an instance that is gone is not deleted before its time: that begins when the
// instance ended, or its node was not Ready any more. An end between two checks may be taken for one at the first.
func (u *auditor) goneLong(inv *invocation, what act, m *machine) {
	n := m.node
	if m.alive() || m.ended.IsZero() || n == nil || n.provider != "" || n.ready().Status == corev1.ConditionTrue {
		return
	}
	pol := u.policyOf(inv, m)
	if len(m.tags) == 0 && strings.HasPrefix(m.g.groupName(), "asg/") {
		pol = u.policy(inv, m.c, "none") // EC2 has dropped the tags that alone name the group
	}
	since := latest(u.times.away(n), u.lastRecorded(m.c.name, m.ended))
	least := time.Duration(-1) // by the ladder that is the fastest
	for ladder := range pol.laddersOf("Ghost") {
		after := time.Duration(0)
		for _, r := range ladder {
			wait, _ := time.ParseDuration(r.After)
			if after += wait; r.Do == acts[what] && (least < 0 || after < least) {
				least = after
			}
		}
	}
	due := since.Add(pol.duration("ghost.tolerate"))
	u.forbids(RuleTolerance, u.a.Now().Add(ahead).Before(due), "%s: %s of %s, whose instance %s ended at %s, and the policy tolerates that until %s", inv.name, what, n.name, m.id, m.ended.Format(time.TimeOnly), due.Format(time.TimeOnly))
	due = due.Add(least)
	u.forbids(RuleLadder, least < 0 || u.a.Now().Add(ahead).Before(due), "%s: %s of %s, whose instance %s ended at %s: its time comes at %s", inv.name, what, n.name, m.id, m.ended.Format(time.TimeOnly), due.Format(time.TimeOnly))
}

// misjudged returns why neither what was read nor the machine justifies an act for a kind of finding, "" if they do.
func (u *auditor) misjudged(inv *invocation, kind string, m *machine) string {
	nodes := inv.seen.nodesOf(m.id)
	read := func(is func(*corev1.Node) bool) bool { return len(nodes) == 0 || slices.ContainsFunc(nodes, is) }
	says := func(status corev1.ConditionStatus) bool {
		return read(func(n *corev1.Node) bool { return readyOf(n).Status == status })
	}
	switch roll.Kind(kind) {
	case roll.Impaired:
		return unless(u.lately("impaired", m.id), "its status checks do not fail")
	case roll.Unknown:
		return unless(says(corev1.ConditionUnknown), "its node is not silent")
	case roll.NotReady:
		return unless(says(corev1.ConditionFalse), "its node does not say so")
	case roll.Unregistered:
		return unless(len(nodes) == 0, "it has a node")
	case roll.Uninitialized:
		return unless(read(func(n *corev1.Node) bool { return !wellNode(n) }), "its node is ready for work")
	case roll.ConditionFailed:
		return unless(read(failedCondition), "no condition of its node says so")
	case roll.Scheduled:
		return unless(m.event != nil, "EC2 has nothing scheduled")
	case roll.Ghost:
		return unless(!m.alive(), "its instance exists")
	case roll.Orphaned:
		return unless(m.claim == nil, "its owner has it")
	}
	return ""
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

// foundCordoned reports whether the step cordon found the node cordoned since a time. A person has lifted that by now.
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

// approvals is what the auditor knows of approvals, by order: what was asked, given, and accepted by the chat.
type approvals struct {
	asked           map[string]request
	given, accepted map[string]time.Time
}

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

func (u *auditor) approved(order string) {
	if _, again := u.approvals.given[order]; !again {
		u.approvals.given[order] = u.a.Now()
	}
}

// answered returns when Rollcall certainly knew that a question was answered: it said so, or checks that could
// record it had the tag before them. It returns the current time if it may not know.
func (u *auditor) answered(m *machine, order string) time.Time {
	if at, ok := u.approvals.accepted[order]; ok {
		return at
	}
	if given, ok := u.approvals.given[order]; ok && slices.Contains(m.tags, tag{roll.TagApprove, order}) {
		return u.recorded(m.c.name, given.Add(lag))
	}
	return u.a.Now()
}

const promisedWithin = 20 * time.Minute // how long after its approval an act must be done, or held for a reason

// promised checks every minute that an act that was approved in time is done or held for a reason.
func (u *auditor) promised() {
	now := u.a.Now()
	for _, order := range slices.Sorted(maps.Keys(u.approvals.accepted)) {
		given, q := u.approvals.accepted[order], u.approvals.asked[order]
		m := u.a.machines[q.instance]
		if m == nil || m.state != running || m.ail == well || !m.since.Before(given) || m.full || u.a.weather.stormySince(given, now) {
			delete(u.approvals.accepted, order) // it is over, cannot be judged, or no act is possible
			continue
		}
		last := u.checks[m.c.name]
		late := now.Sub(given) > promisedWithin && last.at.Sub(given) > promisedWithin
		if !late || u.hindered(m) != "" || !slices.Contains(last.found, about{q.instance, q.kind}) {
			continue
		}
		begun := func(a ledger.Action) bool {
			return string(a.Instance) == m.id && slices.Contains(q.acts, a.Do) && a.At.After(given.Add(-skewed))
		}
		ordered := slices.Contains(last.ordered, m.id)
		if !ordered && last.answers(m.id) {
			u.approvals.accepted[order] = now // its time begins anew once nothing holds it
			continue
		}
		if !slices.ContainsFunc(u.a.dep.state(m.c.name).Actions, begun) {
			u.broken(RuleCure, "%s of %s for %s, order %s, was approved at %s, and is neither done nor held", strings.Join(q.acts, ", "), m.id, q.kind, order, given.Format(time.TimeOnly))
			delete(u.approvals.accepted, order)
		}
	}
}

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

// asksFor reports whether each ladder of a kind asks for an approval of a step, and whether one lets it go without.
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

func (t *terms) asksSomewhere(kind string) bool {
	for ladder := range t.laddersOf(kind) {
		if slices.ContainsFunc(ladder, func(r rung) bool { return r.Approve != nil }) {
			return true
		}
	}
	return false
}
