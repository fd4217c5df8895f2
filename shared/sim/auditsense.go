package sim

import (
	"slices"
	"time"

	"rollcall/shared/roll"
)

// What follows are the rules of sense: an act that keeps to every limit on numbers can
// still be one that no person would have done. They know better than Rollcall why a
// machine is ill, and are broken only where there can be no doubt.
const (
	// RuleOwner: what an owner repairs by itself is left to it for as long as it takes.
	RuleOwner Rule = "owner"
	// RulePace: a group brings a replacement that works, however long that takes, before
	// another of its machines is ended.
	RulePace Rule = "pace"
	// RuleRepeats: what fails like what it replaced is not replaced again and again.
	RuleRepeats Rule = "repeats"
	// RuleZone: nothing is ordered about what is in a zone of which most nodes are silent,
	// or away from which the cluster is shifted.
	RuleZone Rule = "zone"
)

// sense is what the auditor remembers for the rules of sense.
type sense struct {
	replaced map[*group][]effect // of each group, the machines that Rollcall had replaced
	worked   map[string]bool     // machines whose nodes were Ready once, by id
	// brought is the latest launch of each group that worked: a machine is forgotten an hour
	// after its end.
	brought map[*group]time.Time
	shown   map[string]bool  // those that a complete check saw so
	told    map[saidKey]bool // of whom a notice told; without the instance, of more than it names
	// incidents are those that a notice opened, and by which invocation.
	incidents map[string]saying
}

func newSense() sense {
	return sense{replaced: map[*group][]effect{}, worked: map[string]bool{}, brought: map[*group]time.Time{}, shown: map[string]bool{}, told: map[saidKey]bool{}, incidents: map[string]saying{}}
}

// sensible looks at an act on a machine at the moment at which it takes effect.
func (u *auditor) sensible(inv *invocation, what act, m *machine) {
	if m == nil || !what.destructive() || what == actDeleteNode {
		return
	}
	u.owned(inv, what, m)
	if what != actTerminate && what != actDeleteClaim || m.g.owner == nobody {
		return
	}
	u.paced(inv, what, m)
	u.repeats(inv, what, m, u.policy(inv, m.c, m.g.groupName()).count("limits.replacements"))
	u.sense.replaced[m.g] = append(u.sense.replaced[m.g], effect{u.a.Now(), m.id, what})
}

// owned checks that the time of the machine's owner is up. Karpenter ends what does not
// register within 15 min, and with its node repair, of which nobody can tell whether it
// is on, replaces what is not ready for 30; of EKS's node repair everybody can.
func (u *auditor) owned(inv *invocation, what act, m *machine) {
	now, g := u.a.Now(), m.g
	switch {
	case g.owner == karpenter && m.node == nil:
		if age := now.Sub(m.launched); age < registrationTTL && what != actDeleteClaim {
			u.broken(RuleOwner, "%s: %s of %s, launched %s ago, which Karpenter would end if it does not register", inv.name, what, m.id, age)
		}
	case m.ail != silent && m.ail != notReady || m.node == nil:
	case g.owner == karpenter:
		since := m.node.ready().LastTransitionTime.Time
		if since.Before(m.node.created.Add(repairAfter)) {
			return // it was hardly ever ready
		}
		if m.since.Before(since) {
			since = m.since
		}
		if ill := now.Sub(since); ill < repairAfter {
			u.broken(RuleOwner, "%s: %s of %s, %s for %s, which Karpenter may be about to repair", inv.name, what, m.id, m.ail, ill.Round(time.Second))
		}
	case g.owner == nodeGroup && g.repair && u.a.spec(g).Repair && now.Sub(m.since) < repairAfter:
		u.broken(RuleOwner, "%s: %s of %s, of a node group that repairs its nodes", inv.name, what, m.id)
	}
}

// paced checks that the group got over the last replacement.
func (u *auditor) paced(inv *invocation, what act, m *machine) {
	u.madeGood(m.g)
	for _, l := range u.verdicts.losses[m.g] {
		if l.instance != m.id && !l.good {
			u.broken(RulePace, "%s: %s of %s while %s has not brought a replacement for %s, ended at %s", inv.name, what, m.id, m.g.groupName(), l.instance, l.at.Format(time.TimeOnly))
		}
	}
	u.verdicts.losses[m.g] = append(u.verdicts.losses[m.g], &loss{at: u.a.Now(), instance: m.id, desired: m.g.desired})
}

// repeats checks that the replacements before did not fail too.
func (u *auditor) repeats(inv *invocation, what act, m *machine, limit int) {
	now, n := u.a.Now(), 0
	var first time.Time
	for _, e := range u.sense.replaced[m.g] {
		if now.Sub(e.at) >= 24*time.Hour-slack || u.brought(m.g, e.at.Add(-slack)) {
			continue
		}
		if n++; first.IsZero() {
			first = e.at
		}
	}
	if n < limit || n == 0 {
		return
	}
	fails := func(o *machine) bool {
		return o.launched.After(first) && now.Sub(o.launched) > 20*time.Minute && !o.resting(now) && o.alive() && !u.sense.worked[o.id]
	}
	if i := slices.IndexFunc(m.g.members, fails); i >= 0 {
		u.broken(RuleRepeats, "%s: %s of %s: %d of %s were replaced since %s, and what came of it, such as %s, does not work either", inv.name, what, m.id, n, m.g.groupName(), first.Format(time.TimeOnly), m.g.members[i].id)
	}
}

// brought reports whether a machine of the group that was launched since a time worked.
func (u *auditor) brought(g *group, since time.Time) bool {
	return u.sense.brought[g].After(since)
}

// happened notes which machines worked once.
func (s *sense) happened(e Event, m *machine) {
	if e.Kind != EventState || e.Stage != StateReady || m == nil {
		return
	}
	s.worked[m.id] = true
	if m.launched.After(s.brought[m.g]) {
		s.brought[m.g] = m.launched
	}
}

// sawReady notes which machines' nodes a complete check was shown Ready.
func (u *auditor) sawReady(inv *invocation) {
	for _, page := range inv.seen.nodes.pages {
		for i := range page {
			n := &page[i]
			if readyNode(n) {
				u.sense.shown[instanceOf(n)] = true
			}
		}
	}
}

// zoned checks that an order is not about the nodes of a zone that is down.
func (u *auditor) zoned(inv *invocation, c *cluster, o order) {
	zone, pol := inv.seen.zone(o.Instance), u.policy(inv, c, "")
	if zone == "" {
		return
	}
	if from, _ := c.shift(); c.shifted == zone && from.Before(inv.begun) {
		u.broken(RuleZone, "%s: ordered to %s %s, which is in %s, away from which %s is shifted since %s", inv.name, o.Action, o.Instance, zone, c.name, from.Format(time.TimeOnly))
	}
	nodes, silent := inv.seen.inZone(zone, o.At.Add(-pol.duration("initialization.deadline")-time.Minute))
	if silent >= 3 && silent*100 >= pol.count("limits.zone")*nodes {
		u.broken(RuleZone, "%s: ordered to %s %s while %d of %d nodes in %s are not ready", inv.name, o.Action, o.Instance, silent, nodes, zone)
	}
}

// zone is where an instance was last seen.
func (s *sight) zone(id string) string {
	for _, page := range s.instances.pages {
		for _, i := range page {
			if *i.InstanceId == id && i.Placement != nil && i.Placement.AvailabilityZone != nil {
				return *i.Placement.AvailabilityZone
			}
		}
	}
	return ""
}

// inZone counts, of what was listed, the nodes of a zone, and those of them that are
// certainly not ready: what was created since a time may still be starting.
func (s *sight) inZone(zone string, created time.Time) (nodes, silent int) {
	running := map[string]bool{}
	for _, page := range s.instances.pages {
		for _, i := range page {
			running[*i.InstanceId] = i.State != nil && i.State.Name == "running"
		}
	}
	for _, page := range s.nodes.pages {
		for i := range page {
			n := &page[i]
			if n.Labels["topology.kubernetes.io/zone"] != zone {
				continue
			}
			nodes++
			if !readyNode(n) && n.CreationTimestamp.Time.Before(created) && running[instanceOf(n)] {
				silent++
			}
		}
	}
	return nodes, silent
}

// tells notes of whom a notice tells.
func (u *auditor) tells(d noticed) {
	for _, i := range d.Instances {
		u.sense.told[saidKey{d.Cluster, d.Group, d.Kind, i.Instance + i.Subject}] = true
	}
	if d.Truncated > 0 {
		u.sense.told[saidKey{d.Cluster, d.Group, d.Kind, ""}] = true
	}
}

// refers checks that what is said of an incident refers to what was said of it first: it is
// opened once, and nothing else is said of one that nobody opened.
func (u *auditor) refers(inv *invocation, subject string, d noticed) {
	if d.Incident == nil {
		if d.Ordered == "" {
			u.broken(RuleReport, "%s: %q is of no incident", inv.name, subject)
		}
		return
	}
	before, known := u.sense.incidents[d.Incident.ID]
	switch opens := slices.Contains(d.News, "opened"); {
	case opens && known && u.bars(before, inv):
		u.broken(RuleReport, "%s: %q opens incident %s a second time, first opened by %s", inv.name, subject, d.Incident.ID, before.inv.name)
	case opens:
		u.sense.incidents[d.Incident.ID] = inv.said(subject)
	case !known:
		u.broken(RuleReport, "%s: %q goes on with incident %s, which nobody opened", inv.name, subject, d.Incident.ID)
	}
}

// mentioned checks, while the account is left alone, that somebody was told of what is
// found: of the instance, or of the incident that it is counted among.
func (u *auditor) mentioned(c *cluster, began time.Time) {
	for key, f := range u.a.dep.state(c.name).Findings {
		m := u.a.machines[string(key.Instance)]
		if m == nil || f.Stage == roll.Watching || f.Opened.IsZero() || u.policyNow(c, m.g).mode < mayNotify {
			continue
		}
		since := f.Opened
		if since.Before(began) {
			since = began
		}
		if u.a.Now().Sub(since) < 20*time.Minute+2*u.a.sc.Sweep {
			continue
		}
		about := saidKey{c.name, string(f.Group), string(key.Kind), string(key.Instance)}
		if !u.sense.told[about] && !u.sense.told[saidKey{about.cluster, about.group, about.kind, ""}] && !u.counted(c, key, f.Group) {
			u.broken(RuleReport, "%s of %s, found at %s, is in no notice", key.Kind, key.Instance, f.Opened.Format(time.TimeOnly))
		}
	}
}

// counted reports that the ledger counts a finding among those of an incident that
// somebody was told of.
func (u *auditor) counted(c *cluster, key roll.FindingKey, g roll.Group) bool {
	for about, n := range u.a.dep.state(c.name).Notices {
		if _, member := n.Members[key.Instance]; member && about.Group == g && about.Kind == key.Kind && u.sense.incidents[n.Incident.ID].inv != nil {
			return true
		}
	}
	return false
}

// leftovers checks, once everything has been well for a while, that nodes that Rollcall
// cordoned take pods again, and that what is gone is forgotten.
func (u *auditor) leftovers(c *cluster) {
	for _, n := range c.nodes {
		m := n.machine
		if m == nil || m.state != running || m.ail != well || !n.cordoned || n.annotations[roll.AnnotationCordoned] == "" {
			continue
		}
		if m.claim != nil && !m.claim.deleting.IsZero() {
			continue // it is about to go
		}
		if u.policyNow(c, m.g).mode == mayRemediate {
			u.broken(RuleTidy, "%s is well, and node %s still cordoned by order %s", m.id, n.name, n.annotations[roll.AnnotationCordoned])
		}
	}
	for key, f := range u.a.dep.state(c.name).Findings {
		if deleted, known := c.deletedAt(string(key.Instance)); known && !deleted.IsZero() {
			continue // it is there still
		}
		if l := u.a.leftover(string(key.Instance)); l != nil && (l.state != leftGone || f.Opened.IsZero() || u.a.Now().Sub(l.changed) < time.Hour) {
			continue // it is there still, or another check is to ask for it
		}
		if m := u.a.machines[string(key.Instance)]; m == nil || m.state == terminated && u.a.Now().Sub(m.ended) > time.Hour {
			u.broken(RuleTidy, "the ledger has %s of %s (since %s), which is gone", key.Kind, key.Instance, f.Since.Format(time.TimeOnly))
		}
	}
}
