package sim

import (
	"time"

	"rollcall/shared/roll"
)

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
