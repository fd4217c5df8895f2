package sim

import (
	"maps"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// The rules of what a notice must say, and must not say again, of acts that are held.

// heldAgain checks that a notice that is sent for a hold alone gives a reason that no notice of its
// incident gave. After the notice of an order a hold is news.
func (u *auditor) heldAgain(inv *invocation, d noticed, o *openIncident) {
	again, reason := d.Group != "none" && d.Truncated == 0 && len(d.News) == 1 && d.News[0] == "held", ""
	for _, i := range d.Instances {
		o.acts = o.acts || i.Order != ""
		o.overdue = o.overdue || i.Stage != string(roll.Warned) || i.Order != "" || i.Held != "" || i.Approve != nil
		if i.Held == "" || !i.New {
			continue
		}
		reason = i.Held
		if before, given := o.reasons[i.Held]; !given || !u.bars(before, inv) {
			again = false
		}
	}
	if again && !o.acts && reason != "" {
		u.broken(RuleNoise, "%s: incident %s of %s in %s is told again for %s, which an earlier notice of it gave", inv.name, d.Incident.ID, d.Kind, d.Group, reason)
	}
	for _, i := range d.Instances {
		if i.Held != "" {
			o.reasons[i.Held] = inv.said(i.Held)
		}
	}
	o.overdue = o.overdue || d.Truncated > 0
}

// holdsTold checks that a reason that does not pass, and for which an act was held for long in an account
// that could send notices, is in one.
func (u *auditor) holdsTold(c *cluster, k checkup) {
	now, lasting := u.a.Now(), map[withheld]time.Time{}
	for _, h := range k.held {
		m, key := u.a.machines[h.instance], withheld{about: h.about, group: h.group, reason: h.reason}
		switch {
		case m == nil || h.group == "none" || h.action == string(actUncordon) || h.action == string(actOutOfService):
			continue
		case passes[h.reason] || h.reason == "InstanceIgnored" || h.reason == "ApprovalPending":
			continue
		case c.unjudged() || u.a.weather.stormySince(now.Add(-lag), now):
			continue
		}
		if pol := u.policyNow(c, m.g); pol.mode < mayNotify || !pol.tells(h.kind) {
			continue
		}
		lasting[key] = now
		if since, ok := u.records.lasting[c.name][key]; ok {
			lasting[key] = since
		}
		told := u.records.reasons[saidKey{c.name, h.group, "", h.reason}] || u.records.reasons[saidKey{c.name, h.group, "", ""}]
		if !told && now.Sub(lasting[key]) > reportedWithin {
			u.broken(RuleReport, "%s of %s is held for %s since %s, and no notice says so", h.kind, h.instance, h.reason, lasting[key].Format(time.TimeOnly))
			delete(lasting, key)
		}
	}
	u.records.lasting[c.name] = lasting
}

// escalated checks, while the account is calm, that notices that only warned are followed by one once an
// instance of their incident is past its tolerance.
func (u *auditor) escalated(c *cluster) {
	state, now := u.a.dep.state(c.name), u.a.Now()
	for _, id := range slices.Sorted(maps.Keys(u.records.open)) {
		o := u.records.open[id]
		if o.cluster != c.name || o.group == "none" || o.overdue || !o.last.clean() {
			continue
		}
		g := c.groupNamed(o.group)
		beside := func(b *openIncident) bool { // its instance may be in that one by now, if its cause was read
			return b.cluster == o.cluster && b.group == o.group && b.kind == o.kind && b.overdue
		}
		overdue := g != nil && !slices.ContainsFunc(slices.Collect(maps.Values(u.records.open)), beside) && u.policyNow(c, g).mode >= mayNotify && u.policyNow(c, g).tells(o.kind) && !c.unjudged() && !u.a.weather.stormy(now)
		overdue = overdue && slices.ContainsFunc(slices.Collect(maps.Keys(o.members)), func(member string) bool {
			f, ok := state.Findings[roll.FindingKey{Instance: roll.InstanceID(member), Kind: roll.Kind(o.kind)}]
			return ok && f.Stage == roll.Overdue && u.records.later[member] == id
		})
		switch {
		case !overdue:
			o.past = time.Time{}
		case o.past.IsZero():
			o.past = now
		case now.Sub(o.past) > 20*time.Minute+2*u.a.sc.Sweep:
			u.broken(RuleReport, "an instance of incident %s of %s in %s is past its tolerance since %s, and notices only warned of that", id, o.kind, o.group, o.past.Format(time.TimeOnly))
			o.overdue = true
		}
	}
}
