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

// overAfter is how long none of the instances of an incident must have had the trouble before a notice
// reports that it is over, as shared/plan/README.md says.
const overAfter = 10 * time.Minute

// over checks that an incident is reported as over only after none of its nodes was silent or not ready
// for that long, and once the group's latest machine, which may fail like the others, has become a node
// or had its time to.
func (u *auditor) over(inv *invocation, d noticed) {
	c := u.a.byName[d.Cluster]
	if c == nil || !c.exists() {
		return
	}
	for _, e := range d.Ended {
		if e.How == "recovered" {
			u.ends(inv, about{e.Instance, d.Kind})
		}
	}
	switch roll.Kind(d.Kind) {
	case roll.Unknown, roll.NotReady:
		for _, e := range d.Ended {
			last := u.records.found[about{e.Instance, d.Kind}]
			if m := u.a.machines[e.Instance]; e.How != "recovered" || m == nil || m.anew() || last.inv == nil || !last.inv.known(inv) || last.inv.overtaken {
				continue
			}
			if gone := u.a.Now().Sub(last.at); gone < overAfter-ahead {
				u.broken(RuleEnd, "%s: %s of %s is told to be over, and %s found it %s ago", inv.name, d.Kind, e.Instance, last.inv.name, gone.Round(time.Second))
			}
		}
	case roll.Unregistered, roll.Uninitialized:
		due := u.policy(inv, c, d.Group).duration("registration.deadline") - ahead
		for i := range inv.seen.eachInstance() {
			m := u.a.machines[*i.InstanceId]
			starts := m != nil && m.launched.Before(inv.begun.Add(-time.Minute)) && runs(i) && groupOf(i) == d.Group && m.g.groupName() == d.Group
			if starts && d.Group != "none" && m.launched.After(u.sense.brought[m.g]) && u.a.Now().Sub(m.launched) < due {
				u.broken(RuleEnd, "%s: %s in %s is told to be over, and its latest machine %s, launched at %s, is no node yet", inv.name, d.Kind, d.Group, m.id, m.launched.Format(time.TimeOnly))
			}
		}
	}
}

// ends checks that no trouble of a running machine ends that lasts, and that only EC2's status shows, if
// that could not be read.
func (u *auditor) ends(inv *invocation, key about) {
	m, lasts := u.a.machines[key.instance], false
	switch kind := roll.Kind(key.kind); {
	case !inv.seen.unchecked || m == nil || m.state != running:
	case kind == roll.Impaired:
		lasts = m.ail == impaired
	case kind == roll.Scheduled:
		lasts = m.event != nil && m.event.over.IsZero()
	}
	if lasts {
		u.broken(RuleEnd, "%s: %s of %s is over for it, and EC2 did not say so", inv.name, key.kind, m.id)
	}
}
