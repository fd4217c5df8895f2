package sim

import (
	"slices"
	"time"

	"rollcall/shared/roll"
)

// lackTold is how long after its first failed launch a group is reported at the latest.
const lackTold = 75 * time.Minute

// lacks checks every minute that a group whose launches fail is reported in time.
func (u *auditor) lacks(g *group) {
	l, now := g.lacking, u.a.Now()
	switch {
	case l == nil:
		return
	case len(g.members) < g.desired:
		l.full = time.Time{}
	case l.full.IsZero():
		l.full = now
	case now.Sub(l.full) >= lag: // the incident may be over, and what fails then is another
		l.opened, l.told = nil, false
	}
	if l.told {
		return
	}
	if len(g.members) >= g.desired || !g.c.exists() || g.c.status != "ACTIVE" || g.c.barred || len(u.a.silenced) > 0 || g.suspended || g.halts() ||
		u.a.weather.stormy(now) ||
		u.policyNow(g.c, g).mode < mayNotify {
		l.since = now
	}
	if now.Sub(l.since) > lackTold {
		u.broken(RuleUnlaunched, "launches of %s fail since %s, and nobody was told", g.groupName(), l.since.Format(time.TimeOnly))
		l.told = true
	}
}

// unlaunched audits a notice about launches that fail.
func (u *auditor) unlaunched(inv *invocation, d noticed) {
	if d.Kind != string(roll.Unlaunched) || d.Action == "resolved" {
		return
	}
	c := u.a.byName[d.Cluster]
	if c == nil {
		return
	}
	for _, g := range c.groups {
		if g.groupName() != d.Group || g.stray {
			continue // strays may be in the Auto Scaling group of nodes, whose launches are those of its other group
		}
		for _, i := range d.Instances {
			if i.Subject != "" && !g.unwell() && u.a.Now().Sub(g.refused) > time.Hour {
				u.broken(RuleUnlaunched, "%s: %s is called Unlaunched, and no launch of it failed since %s", inv.name, d.Group, g.refused.Format(time.TimeOnly))
			}
		}
		l := g.lacking
		if l == nil || len(d.Instances) == 0 {
			continue
		}
		l.told = true
		if d.Instances[0].Since.Before(l.began.Add(-time.Minute)) {
			continue // its launches failed before, for another reason
		}
		unread := d.Cause == "" && inv.missed // a call that would have told failed
		if d.Cause != l.cause && !l.mixed && !unread {
			u.broken(RuleUnlaunched, "%s: launches of %s fail for %q, told as %q", inv.name, d.Group, l.cause, d.Cause)
		}
		if slices.Contains(d.News, "opened") {
			for _, before := range l.opened {
				if u.bars(before, inv) && !u.verdicts.forgotten.After(before.inv.begun) {
					u.broken(RuleUnlaunched, "%s: that launches of %s fail is told a second time, first by %s", inv.name, d.Group, before.inv.name)
				}
			}
			l.opened = append(l.opened, inv.said(d.Kind))
		}
	}
}
