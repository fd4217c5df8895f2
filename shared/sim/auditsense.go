package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// The rules of sense forbid acts that no person would do, although every numeric limit allows them. The auditor
// knows better than Rollcall why a machine is ill. They are broken only where there can be no doubt.

type sense struct {
	replaced  map[*group][]effect  // the machines of each group that Rollcall had replaced
	worked    map[string]bool      // machines whose nodes were Ready once, by id
	brought   map[*group]time.Time // when the youngest machine of each group that worked was launched, or drawn from its warm pool
	proven    map[*group]time.Time // when what stayed Ready for as long as the policy asks was launched
	shown     map[string]bool      // machines that a complete check saw Ready, and could record
	told      map[saidKey]bool     // what a notice reported; without an instance if the notice was truncated
	incidents map[string]saying    // the opened incidents, with the invocation that opened each
	down      map[string]down      // by cluster
	spared    map[about]saying     // what a check held because the fault lay elsewhere, by the latest one
	eased     map[about]saying     // what a check held because it may recover, by the first one since
}

func (u *auditor) sensible(inv *invocation, what act, m *machine) {
	if m == nil || !what.destructive() || what == actDeleteNode {
		return
	}
	u.owned(inv, what, m)
	if what != actTerminate && what != actDeleteClaim || m.g.owner == nobody || m.g.owner == karpenter && m.claim == nil {
		return // nothing replaces it: it has no owner, or Karpenter does not know it any more
	}
	u.paced(inv, what, m)
	u.repeats(inv, what, m, u.policy(inv, m.c, m.g.groupName()).count("limits.replacements"))
	u.sense.replaced[m.g] = append(u.sense.replaced[m.g], effect{u.a.Now(), m.id, what})
}

// owned checks that the owner's time is over. Karpenter terminates what does not register within 15 min.
// Its node repair, which may be on or off and cannot be read, replaces what is not ready for 30 min.
// Whether EKS's node repair is on can be read. With notify in the policy, no time is enough.
func (u *auditor) owned(inv *invocation, what act, m *machine) {
	now, g := u.a.Now(), m.g
	if known := !m.disowned && (g.owner != karpenter || m.claim != nil); known && u.policyOf(inv, m).owner(g.owner) == "notify" {
		u.broken(RuleOwner, "%s: %s of %s, and the policy only notifies of what is owned by %s", inv.name, what, m.id, g.owner)
	}
	switch {
	case g.owner == karpenter && m.node == nil:
		age := now.Sub(m.launched)
		u.forbids(RuleOwner, age < registrationTTL && what != actDeleteClaim, "%s: %s of %s, launched %s ago, which Karpenter would end if it does not register", inv.name, what, m.id, age)
	case m.ail != silent && m.ail != notReady || m.node == nil || m.event != nil: // an event has its own ladder
	case g.owner == karpenter:
		since := m.node.ready().LastTransitionTime.Time
		if since.Before(m.node.created.Add(repairAfter)) {
			return // it was hardly ever ready
		}
		if m.since.Before(since) {
			since = m.since
		}
		if m.node.ready().Status == corev1.ConditionFalse {
			since = since.Add(m.clock) // Karpenter goes by the time that the kubelet shows
		}
		ill := now.Sub(since)
		u.forbids(RuleOwner, ill < repairAfter, "%s: %s of %s, %s for %s, which Karpenter may be about to repair", inv.name, what, m.id, m.ail, ill.Round(time.Second))
	case g.owner == nodeGroup && g.repair && g.spec.Repair && now.Sub(illSince(m)) < repairAfter:
		u.broken(RuleOwner, "%s: %s of %s, of a node group that repairs its nodes", inv.name, what, m.id)
	}
}

// illSince returns since when the machine is ill, or its node is not Ready: its zone may have failed first.
func illSince(m *machine) time.Time {
	if r := m.node.ready(); r.Status != corev1.ConditionTrue && r.LastTransitionTime.Time.Before(m.since) {
		return r.LastTransitionTime.Time
	}
	return m.since
}

// paced checks that the group has recovered from the last replacement.
func (u *auditor) paced(inv *invocation, what act, m *machine) {
	u.madeGood(m.g)
	proceeds := u.policy(inv, m.c, m.g.groupName()).values["limits.withoutReplacement"] == "proceed"
	for _, l := range u.verdicts.losses[m.g] {
		u.forbids(RulePace, l.instance != m.id && !u.replaced(m.g, l) && !u.roomy(m.g, l) && !proceeds, "%s: %s of %s while %s has not brought a replacement for %s, ended at %s", inv.name, what, m.id, m.g.groupName(), l.instance, l.took.Format(time.TimeOnly))
	}
	l := &loss{at: u.lost(m), took: u.a.Now(), instance: m.id, desired: m.g.desired}
	for _, before := range u.verdicts.losses[m.g] { // one launch makes good for one
		if l.at.Before(l.took) {
			l.at = latest(l.at, before.took)
		}
	}
	u.verdicts.losses[m.g] = append(u.verdicts.losses[m.g], l)
}

// lost returns from when a launch makes good for a machine: Karpenter launches for pods that are evicted or deleted.
func (u *auditor) lost(m *machine) time.Time {
	now := u.a.Now()
	if m.g.owner != karpenter {
		return now
	}
	leaves := func(e effect) bool {
		return e.instance == m.id && (e.what == actCordon && now.Sub(e.at) < time.Hour || e.what == actEvict && now.Sub(e.at) < 24*time.Hour)
	}
	at := now
	if i := slices.IndexFunc(u.effects[m.c.name], leaves); i >= 0 {
		at = u.effects[m.c.name][i].at
	}
	if m.unreadyFor(0) {
		if left := u.times.away(m.node); now.Sub(left) < 24*time.Hour && left.Before(at) {
			return left
		}
	}
	return at
}

// repeats checks that earlier replacements did not fail too.
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

// failed returns how many acts took a machine of the group within a time, and nothing launched since stayed Ready.
func (u *auditor) failed(g *group, within time.Duration) int {
	counts := func(at time.Time) bool {
		return u.a.Now().Sub(at) < within+slack && !u.sense.proven[g].After(at.Add(5*skewed)) // certainly since
	}
	n, replaced := 0, u.sense.replaced[g]
	for _, r := range replaced {
		if counts(r.at) {
			n++
		}
	}
	for _, a := range u.a.dep.state(g.c.name).Actions {
		// One without an outcome may have taken effect. That its owner ended it while the act was begun looks the same.
		if g.mayLose(a) && counts(a.At) && !slices.ContainsFunc(replaced, func(r effect) bool { return r.instance == string(a.Instance) }) {
			n++
		}
	}
	return n
}

// mayLose reports whether a recorded act takes a machine from the group, or may have.
func (g *group) mayLose(a ledger.Action) bool {
	return string(a.Group) == g.groupName() && (a.Do == acts[actTerminate] || a.Do == acts[actDeleteClaim]) && (a.Outcome == nil || a.Outcome.Result != ledger.Failed)
}

// proves records what of a group that had losses has stayed Ready for long enough, and a check since could
// record it. One that was stopped and started again shows nothing of a launch, unless the group took it from its warm
// pool.
func (u *auditor) proves(g *group) {
	if len(u.sense.replaced[g]) == 0 {
		return
	}
	within := u.policyNow(g.c, g).duration("limits.provenAfter")
	for _, m := range g.members {
		if !latest(m.launched, m.drawn).After(u.sense.proven[g]) {
			continue // it shows nothing new
		}
		if m.node == nil || m.settledAt.IsZero() || !m.unnamed.IsZero() || m.node.ready().Status != corev1.ConditionTrue || m.shown == nil || m.drawn.IsZero() && m.node.created.Before(*m.shown.LaunchTime) {
			continue
		}
		back := u.truths.last[[2]string{"vanished", m.id}] // when its Node was last missing
		if proven := latest(m.node.ready().LastTransitionTime.Add(within), back).Add(lag); u.recorded(g.c.name, proven).Before(u.a.Now()) {
			u.sense.proven[g] = latest(u.sense.proven[g], m.launched, m.drawn)
		}
	}
}

// zoned checks that an order is not about a node of a zone that is down.
func (u *auditor) zoned(inv *invocation, c *cluster, o order) {
	i := find(inv.seen.instances.all, func(i *types.Instance) bool { return *i.InstanceId == o.Instance && i.Placement != nil })
	if i == nil || aws.ToString(i.Placement.AvailabilityZone) == "" {
		return
	}
	zone, pol := *i.Placement.AvailabilityZone, u.policy(inv, c, "")
	from, _ := c.shift()
	u.forbids(RuleZone, c.shifted == zone && from.Before(inv.begun), "%s: ordered to %s %s, which is in %s, away from which %s is shifted since %s", inv.name, o.Action, o.Instance, zone, c.name, from.Format(time.TimeOnly))
	nodes, silent, down := inv.seen.isDown(zone, o.At, pol, c.restsIn(zone))
	u.forbids(RuleZone, down, "%s: ordered to %s %s while %d of %d nodes in %s are not ready", inv.name, o.Action, o.Instance, silent, nodes, zone)
}

// isDown reports whether too many of a zone's listed nodes are certainly not ready, by a policy at a time, and how
// many there are and are not. Those of resting machines show nothing of the zone.
func (s *sight) isDown(zone string, at time.Time, pol *terms, resting int) (nodes, silent int, down bool) {
	nodes, silent = s.inZone(zone, at.Add(-pol.duration("initialization.deadline")-time.Minute))
	nodes, silent = nodes-min(resting, silent), silent-min(resting, silent)
	return nodes, silent, silent >= 3 && silent*100 >= pol.count("limits.zone")*nodes
}

// restsIn counts the machines in a zone that a person or their group keeps out of service, and that are not ready.
func (c *cluster) restsIn(zone string) int {
	return count(c.machines, func(m *machine) bool {
		return m.zone == zone && m.aside != "" && m.node != nil && m.node.ready().Status != corev1.ConditionTrue
	})
}

func (s *sight) nodesIn(zone string) []*corev1.Node {
	return slices.DeleteFunc(slices.Clone(s.nodes.all), func(n *corev1.Node) bool { return n.Labels[corev1.LabelTopologyZone] != zone })
}

// inZone counts the nodes of a zone, and those certainly not ready: what was created after a time may be starting.
func (s *sight) inZone(zone string, created time.Time) (nodes, silent int) {
	running, all := sync.OnceValue(s.running), s.nodesIn(zone) // most checks see no node that is not ready
	return len(all), count(all, func(n *corev1.Node) bool {
		return !readyNode(n) && n.CreationTimestamp.Time.Before(created) && running()[instanceOf(n)]
	})
}

// looksDown reports whether a zone looks down to a look at one instance, which does not show what of the others ended.
func (s *sight) looksDown(zone string) bool {
	all := s.nodesIn(zone)
	nodes, ready := len(all), count(all, readyNode)
	return nodes-ready >= 2 && (ready == 0 || nodes-ready >= 3 && 2*(nodes-ready) >= nodes)
}

func (u *auditor) tells(d noticed) {
	for _, i := range d.Instances {
		u.sense.told[saidKey{d.Cluster, d.Group, d.Kind, i.Instance + i.Subject}] = true
	}
	if d.Truncated > 0 {
		u.sense.told[saidKey{d.Cluster, d.Group, d.Kind, ""}] = true
	}
}

// refers checks that a notice refers to an incident that was opened once, and before.
func (u *auditor) refers(inv *invocation, subject string, d noticed) {
	if d.Incident == nil {
		u.forbids(RuleReport, d.Ordered == "", "%s: %q is of no incident", inv.name, subject)
		return
	}
	before, known := u.sense.incidents[d.Incident.ID]
	switch opens := slices.Contains(d.News, "opened"); {
	case opens && known && u.bars(before, inv) && !slices.ContainsFunc(d.Instances, func(i noticedInstance) bool { return u.unignored(i.Instance, before) }):
		u.broken(RuleReport, "%s: %q opens incident %s a second time, first opened by %s", inv.name, subject, d.Incident.ID, before.inv.name)
	case opens:
		u.sense.incidents[d.Incident.ID] = inv.said(subject)
	case !known:
		u.broken(RuleReport, "%s: %q goes on with incident %s, which nobody opened", inv.name, subject, d.Incident.ID)
	}
}

// mentioned checks, while the account is calm, that each finding is in a notice, by itself or in an incident.
func (u *auditor) mentioned(c *cluster, began time.Time) {
	for key, f := range u.a.dep.state(c.name).Findings {
		m := u.a.machines[string(key.Instance)]
		if m == nil || f.Stage == roll.Watching || f.Opened.IsZero() || u.policyNow(c, m.g).mode < mayNotify || !u.policyNow(c, m.g).tells(string(key.Kind)) {
			continue
		}
		from := latest(f.Opened, began, m.unignored)
		if m.hasTag(roll.TagIgnore) || u.a.Now().Sub(from) < 20*time.Minute+2*u.a.sc.Sweep {
			continue
		}
		if key.Kind == roll.ConditionFailed && m.node != nil && m.node.ready().Status != corev1.ConditionTrue && m.node.ready().LastTransitionTime.Time.Before(from.Add(20*time.Minute)) {
			continue // what a kubelet reported that is not ready now may be over
		}
		about := saidKey{c.name, string(f.Group), string(key.Kind), string(key.Instance)}
		if !u.sense.told[about] && !u.sense.told[saidKey{about.cluster, about.group, about.kind, ""}] && !u.counted(c, key, f.Group) {
			u.broken(RuleReport, "%s of %s, found at %s, is in no notice", key.Kind, key.Instance, f.Opened.Format(time.TimeOnly))
		}
	}
}

// counted reports whether the ledger counts a finding in an incident that was reported.
func (u *auditor) counted(c *cluster, key roll.FindingKey, g roll.Group) bool {
	for about, n := range u.a.dep.state(c.name).Notices {
		if _, member := n.Members[key.Instance]; member && about.Group == g && about.Kind == key.Kind && u.sense.incidents[n.Incident.ID].inv != nil {
			return true
		}
	}
	return false
}

// leftovers checks, once everything has been healthy for a while, that no cordon or finding of Rollcall's is left.
func (u *auditor) leftovers(c *cluster) {
	for _, n := range c.nodes {
		m := n.machine
		if m == nil || m.state != running || m.ail != well || !n.cordoned || n.annotations[roll.AnnotationCordoned] == "" {
			continue
		}
		if m.claim != nil && !m.claim.deleting.IsZero() {
			continue // it is being removed
		}
		u.forbids(RuleTidy, u.policyNow(c, m.g).mode == mayRemediate, "%s is well, and node %s still cordoned by order %s", m.id, n.name, n.annotations[roll.AnnotationCordoned])
	}
	for key, f := range u.a.dep.state(c.name).Findings {
		if deleted, known := c.deletedAt(string(key.Instance)); known && !deleted.IsZero() {
			continue // it still exists
		}
		if l := u.a.leftover(string(key.Instance)); l != nil && (l.state != leftGone || f.Opened.IsZero() || u.a.Now().Sub(l.changed) < time.Hour) {
			continue // it still exists, or another check has to read it again
		}
		if m := u.a.machines[string(key.Instance)]; m == nil || m.state == terminated && u.a.Now().Sub(m.ended) > time.Hour {
			u.broken(RuleTidy, "the ledger has %s of %s (since %s), which is gone", key.Kind, key.Instance, f.Since.Format(time.TimeOnly))
		}
	}
}

// out reports whether the network of a zone of the cluster, or of most of the cluster, has been down since before a
// time, and which. A node that was not ready before does not count: if two fail one after the other, the zone is not
// certainly the cause. Nor does one without a provider ID, of which nothing says the zone.
func (c *cluster) out(zone string, before time.Time) (string, bool) {
	if !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.machine != nil && n.machine.muted }) {
		return "", false // the usual case, at little cost
	}
	count := func(of func(*machine) bool) (nodes, muted int) {
		for _, n := range c.nodes {
			m := n.machine
			if m == nil || m.state != running && !m.ended.After(before) || n.unlisted || !of(m) {
				continue
			}
			nodes++
			if r := n.ready(); m.muted && m.mutedAt.Before(before) && r.Status != corev1.ConditionTrue && r.LastTransitionTime.Time.Before(before) && !r.LastTransitionTime.Time.Before(m.mutedAt) {
				muted++
			}
		}
		return nodes, muted
	}
	if nodes, muted := count(func(m *machine) bool { return m.zone == zone && !m.node.bare }); muted >= 2 && muted == nodes || muted >= 3 && muted*100 >= 60*nodes {
		return fmt.Sprintf("%d of %d nodes in %s have no network", muted, nodes, zone), true
	}
	if nodes, muted := count(func(*machine) bool { return true }); muted >= 3 && muted*2 > nodes {
		return fmt.Sprintf("%d of %d nodes of %s have no network", muted, nodes, c.name), true
	}
	return "", false
}
