package sim

import (
	"strings"
	"time"

	"rollcall/shared/roll"
)

// RuleStuck requires that an object that was deleted and stays is reported after the policy's time, and
// that nothing else is reported as stuck.
const RuleStuck Rule = "stuck"

// keptWithin is how long after its time a stuck object must be reported at the latest, if nothing
// prevents a check.
const keptWithin = 35 * time.Minute

// stuck audits what a notice reports as stuck.
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
		return cl.deleting, true
	}
	if n := find(c.nodes, func(n *node) bool { return n.name == name }); kind == "node" && n != nil {
		return n.deleting, true
	}
	return time.Time{}, false
}

// toldOfKept checks that a NodeClaim, or its Node, that was deleted long ago is reported.
func (u *auditor) toldOfKept(c *cluster, cl *claim) {
	a, now := u.a, u.a.Now()
	since, name := cl.deleting, ""
	if m := cl.machine; m != nil && m.node != nil {
		name = m.node.name
		if !m.node.deleting.IsZero() && (since.IsZero() || m.node.deleting.Before(since)) {
			since = m.node.deleting
		}
		if m.has(roll.TagIgnore) || m.elsewhere != "" || m.muted || m.node.unlisted {
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
	case pol.mode < mayNotify || u.verdicts.quiet[cl.g].After(due):
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
