package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

const keptWithin = 35 * time.Minute // how long after its time a stuck object must be reported at the latest

func (u *auditor) stuck(inv *invocation, d noticed) {
	c := u.a.byName[d.Cluster]
	if d.Kind != string(roll.Stuck) || d.Action == "resolved" || c == nil {
		return
	}
	for _, i := range d.Instances {
		if _, ok := leftName(i.Subject); ok {
			continue
		}
		deleted, known := c.deletedAt(i.Subject)
		for _, n := range inv.seen.nodes.all { // a Node may have gone after the check read it
			if at := n.DeletionTimestamp; known && at != nil && n.Name == i.Node && at.Time.Before(deleted) {
				deleted = at.Time
			}
		}
		after := u.policy(inv, c, d.Group).duration("stuck.after")
		switch {
		case !known: // it is gone by now
		case deleted.IsZero():
			u.broken(RuleStuck, "%s: %s is told to be stuck, and nobody deleted it", inv.name, i.Subject)
		case u.a.Now().Sub(deleted)+slack < after:
			u.broken(RuleStuck, "%s: %s is told to be stuck, and was deleted at %s", inv.name, i.Subject, deleted.Format(time.TimeOnly))
		}
	}
}

// deletedAt returns when the object was deleted. It returns false if the object does not exist.
func (c *cluster) deletedAt(subject string) (time.Time, bool) {
	kind, name, _ := strings.Cut(subject, "/")
	if cl := find(c.claims, func(cl *claim) bool { return cl.name == name }); kind == "nodeclaim" && cl != nil {
		return cl.removedSince(), true
	}
	if n := find(c.nodes, func(n *node) bool { return n.name == name }); kind == "node" && n != nil {
		return n.deleting, true
	}
	return time.Time{}, false
}

// removedSince returns when somebody first deleted the NodeClaim or its Node.
func (cl *claim) removedSince() time.Time {
	m := cl.machine
	if m == nil || m.node == nil || m.node.deleting.IsZero() || !cl.deleting.IsZero() && cl.deleting.Before(m.node.deleting) {
		return cl.deleting
	}
	return m.node.deleting
}

// toldOfKept checks that a NodeClaim, or its Node, that was deleted long ago is reported.
func (u *auditor) toldOfKept(c *cluster, cl *claim) {
	a, now := u.a, u.a.Now()
	since, name := cl.removedSince(), ""
	if m := cl.machine; m != nil && m.node != nil {
		name = m.node.name
		if m.hasTag(roll.TagIgnore) || m.elsewhere != "" || m.muted || m.node.unlisted {
			return
		}
	}
	if since.IsZero() {
		return
	}
	pol := u.policyNow(c, cl.g)
	due := since.Add(pol.duration("stuck.after"))
	first, checked := u.verdicts.first[c.name]
	if at := u.truths.last[[2]string{"not active", c.name}]; at.After(due) {
		due = at // nothing is judged in a cluster that is being updated
	}
	if now.Sub(due) < keptWithin+2*a.sc.Sweep {
		return
	}
	switch {
	case !checked || first.After(due) || u.verdicts.forgotten.After(due):
	case !c.exists() || c.status != "ACTIVE" || c.barred:
	case pol.mode < mayNotify || !pol.tells(string(roll.Stuck)) || u.verdicts.quiet[cl.g].After(due):
	case a.weather.stormySince(due, now):
	default:
		for about := range u.sense.told {
			if about.cluster == c.name && about.kind == string(roll.Stuck) && (about.instance == "" || about.instance == "nodeclaim/"+cl.name || name != "" && about.instance == "node/"+name) {
				return
			}
		}
		u.broken(RuleStuck, "NodeClaim %s of %s was deleted at %s, and nobody was told that it is still there", cl.name, c.name, since.Format(time.TimeOnly))
	}
}

const leftAfter = 3 * time.Hour // how long after the termination of its machine a resource counts as left

const leftSlack = 5 * time.Minute // how long a check's knowledge may be out of date: it reads, diagnoses and reports

// leftover returns the leftover that a subject names, or nil if no fault made it.
func (a *account) leftover(subject string) *leftover {
	name, _ := leftName(subject)
	return find(a.left, func(l *leftover) bool { return l.id == name })
}

func (u *auditor) left(inv *invocation, d noticed) {
	if d.Action == "resolved" {
		return
	}
	for _, i := range d.Instances {
		if _, ok := leftName(i.Subject); !ok {
			continue
		}
		now, l := u.a.Now(), u.a.leftover(i.Subject)
		switch {
		case l == nil:
			u.broken(RuleLeft, "%s: %s is told to be left, and there never was such a thing", inv.name, i.Subject)
		case l.ended.IsZero() || now.Sub(l.ended)+slack < leftAfter:
			u.broken(RuleLeft, "%s: %s is told to be left, and %s was terminated at %s", inv.name, i.Subject, l.machine.id, l.ended.Format(time.TimeOnly))
		case l.wanted():
			u.broken(RuleLeft, "%s: %s is told to be left, and a PersistentVolume claims it", inv.name, i.Subject)
		case l.state != leftFree && now.Sub(l.changed) > leftSlack:
			u.broken(RuleLeft, "%s: %s is told to be left, and was attached again or deleted at %s", inv.name, i.Subject, l.changed.Format(time.TimeOnly))
		default:
			l.told = true
		}
	}
}

// toldOfLeft checks every minute that what is left is reported in time.
func (u *auditor) toldOfLeft(l *leftover) {
	now, c, g := u.a.Now(), l.machine.c, l.machine.g
	if l.told || l.state != leftFree || l.wanted() || !l.acted || u.verdicts.forgotten.After(l.ended.Add(-time.Hour)) {
		return
	}
	// Its time begins when the act has its outcome, or a check sees the end of an orphan.
	ended := false
	for _, a := range u.a.dep.state(c.name).Actions {
		if string(a.Instance) != l.machine.id {
			continue
		}
		ended = true
		if a.Outcome == nil || a.Outcome.At.After(l.ended) && now.Before(a.Outcome.At.Add(leftAfter)) {
			l.since = now
		}
	}
	if now.Before(l.ended.Add(leftAfter)) || !ended && now.Before(u.recorded(c.name, l.ended).Add(leftAfter)) || !c.exists() || c.status != "ACTIVE" || c.barred || len(u.a.silenced) > 0 ||
		u.a.weather.stormy(now) ||
		u.policyNow(c, g).mode < mayNotify || !u.policyNow(c, g).tells(string(roll.Stuck)) {
		l.since = now
	}
	if now.Sub(l.since) > keptWithin+2*u.a.sc.Sweep {
		u.broken(RuleLeft, "%s outlived %s, which was terminated at %s, and nobody was told", l.id, l.machine.id, l.ended.Format(time.TimeOnly))
		l.told = true
	}
}

const lackTold = 75 * time.Minute // how long after its first failed launch a group is reported at the latest

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
		u.policyNow(g.c, g).mode < mayNotify || !u.policyNow(g.c, g).tells(string(roll.Unlaunched)) {
		l.since = now
	}
	open := func(o *openIncident) bool {
		return o.cluster == g.c.name && o.group == g.groupName() && o.kind == string(roll.Unlaunched)
	}
	if now.Sub(l.since) > lackTold && !slices.ContainsFunc(slices.Collect(maps.Values(u.records.open)), open) {
		u.broken(RuleUnlaunched, "launches of %s fail since %s, and nobody was told", g.groupName(), l.since.Format(time.TimeOnly))
		l.told = true
	}
}

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
			if i.Subject != "" && !g.unwell() && !u.lately("unwell", g.groupName()) && u.a.Now().Sub(g.refused) > time.Hour {
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
		unread := d.Cause == "" && inv.missed                                               // a call that would have told failed
		unknown := l.cause == "" && g.owner == nodeGroup && d.Cause == "NodeGroupUnhealthy" // EKS shows that launches fail, not why
		u.forbids(RuleUnlaunched, d.Cause != l.cause && !l.mixed && !unread && !unknown, "%s: launches of %s fail for %q, told as %q", inv.name, d.Group, l.cause, d.Cause)
		if slices.Contains(d.News, "opened") {
			for _, before := range l.opened {
				u.forbids(RuleUnlaunched, u.bars(before, inv) && !u.verdicts.forgotten.After(before.inv.begun), "%s: that launches of %s fail is told a second time, first by %s", inv.name, d.Group, before.inv.name)
			}
			l.opened = append(l.opened, inv.said(d.Kind))
		}
	}
}
