package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

const (
	triedAgain  = 15 * time.Minute // how long after its failure an act is not ordered again
	writtenLate = 2 * time.Minute  // how old the time of a trouble of the cluster may be in the ledger
)

// affordable checks that the acts of the last hour leave room for an order: it would be refused, again and again.
func (u *auditor) affordable(inv *invocation, c *cluster, o order) {
	used := map[string]bool{o.Instance: true}
	for _, e := range u.effects[c.name] {
		if e.at.Before(inv.begun.Add(-skewed)) && u.a.Now().Sub(e.at) < time.Hour-slack {
			used[e.instance] = true
		}
	}
	limit := u.policy(inv, c, "").count("limits.actionsPerHour")
	u.forbids(RuleBudget, len(used) > limit, "%s: ordered to %s %s, the %d. instance of %s within an hour, limits.actionsPerHour is %d", inv.name, o.Action, o.Instance, len(used), c.name, limit)
}

// triedLong checks that an act that failed is not tried again at once. A tag that IAM does not see yet passes sooner.
func (u *auditor) triedLong(inv *invocation, c *cluster, o order) {
	for _, a := range slices.Backward(u.a.dep.state(c.name).Actions) {
		if a.ID != o.ID {
			continue
		}
		if f := a.Outcome; f != nil && f.Result == ledger.Failed && !strings.HasPrefix(f.Detail, ledger.NotYet) && f.At.Before(inv.begun.Add(-time.Minute)) && o.At.Sub(f.At) < triedAgain-ahead {
			u.broken(RuleOnce, "%s: ordered to %s %s again, order %s, which failed at %s (%s)", inv.name, o.Action, o.Instance, o.ID, f.At.Format(time.TimeOnly), f.Detail)
		}
		return
	}
}

// seenAnew checks that an order about a node that left Ready was not first seen before: that was another trouble.
func (u *auditor) seenAnew(inv *invocation, o order) {
	if k := roll.Kind(o.Kind); k != roll.Unknown && k != roll.NotReady {
		return
	}
	for _, n := range inv.seen.nodesOf(o.Instance) {
		if left := readyOf(n).LastTransitionTime.Time; !readyNode(n) && o.FirstSeen.Before(left.Add(-2*slackOfClocks)) {
			u.broken(RuleTwice, "%s: ordered to %s %s, first seen at %s, and its node left Ready at %s", inv.name, o.Action, o.Instance, o.FirstSeen.Format(time.TimeOnly), left.Format(time.TimeOnly))
		}
	}
}

const slackOfClocks = 5 * time.Second // more than the difference between the clocks of a cluster and of a function

type down struct {
	inv  *invocation
	zone string
	// cooldown is the shortest by the policies of the complete checks since then. After it, the outage is forgotten.
	cooldown time.Duration
}

func (u *auditor) zonesDown(inv *invocation, cluster string) {
	c := u.a.byName[cluster]
	if c == nil {
		return
	}
	zone := u.zoneDown(inv, c, inv.begun)
	left := func(m *machine) bool { return m.zone == zone && m.ended.After(inv.begun.Add(-time.Minute)) } // the check may have read that, too
	wait := u.policy(inv, c, "").duration("limits.stormCooldown")
	if zone != "" && !slices.ContainsFunc(c.machines, left) {
		u.sense.down[cluster] = down{inv, zone, wait}
	} else if d, ok := u.sense.down[cluster]; ok {
		d.cooldown = min(d.cooldown, wait)
		u.sense.down[cluster] = d
	}
}

// zoneDown returns a zone in which an invocation certainly read too many nodes as not ready, "" if none.
func (u *auditor) zoneDown(inv *invocation, c *cluster, at time.Time) string {
	pol := u.policy(inv, c, "")
	for _, zone := range zones {
		if _, _, down := inv.seen.isDown(zone, at, pol, c.restsIn(zone)); down {
			return zone
		}
	}
	return ""
}

// cooled checks that nothing is ordered until limits.stormCooldown after a check recorded a zone as down.
func (u *auditor) cooled(inv *invocation, c *cluster, o order) {
	last, ok := u.sense.down[c.name]
	if !ok || last.inv == inv || !last.inv.known(inv) || last.inv.overtaken || last.inv.begun.Before(u.verdicts.forgotten) || u.zoneDown(inv, c, o.At) != "" {
		return
	}
	if _, silent := inv.seen.inZone(last.zone, inv.begun); silent >= 2 && !slices.ContainsFunc(inv.seen.nodesIn(last.zone), readyNode) {
		return // it is still down, with fewer nodes
	}
	since := inv.begun.Sub(last.inv.begun)
	cooldown := min(last.cooldown, u.policy(inv, c, "").duration("limits.stormCooldown"))
	u.forbids(RuleZone, since < cooldown-writtenLate, "%s: ordered to %s %s %s after %s read %s as down", inv.name, o.Action, o.Instance, since.Round(time.Second), last.inv.name, last.zone)
}

// spares has the reasons that say that the fault lies elsewhere than in the machine.
var spares = []string{"SharedCause", "CauseOutside", "CausePasses", "UnhealthyShare"}

// letRecover checks that nothing is ordered about a node until limits.stormCooldown after a check recorded that the
// fault lay elsewhere: the node may recover now.
func (u *auditor) letRecover(inv *invocation, c *cluster, o order) {
	last, ok := u.sense.spared[about{o.Instance, o.Kind}]
	m := u.a.machines[o.Instance]
	joins := slices.Contains([]roll.Kind{roll.Unregistered, roll.Uninitialized, roll.NotReady, roll.Unknown}, roll.Kind(o.Kind))
	if !ok || m == nil || !joins || o.Action == string(actDeleteNode) || !last.inv.known(inv) || last.inv.overtaken || last.inv.begun.Before(u.verdicts.forgotten) {
		return
	}
	if m.ail != well && m.since.After(last.inv.begun) { // it is ill anew
		return
	}
	since := inv.begun.Sub(last.inv.ended)
	u.forbids(RuleTolerance, since < u.policy(inv, c, "").duration("limits.stormCooldown")-slack, "%s: ordered to %s %s %s after %s held that for %s", inv.name, o.Action, o.Instance, since.Round(time.Second), last.inv.name, last.what)
}

// frozenTogether checks that nothing is ordered for the silence of a working machine that fell silent with
// many others.
func (u *auditor) frozenTogether(inv *invocation, c *cluster, o order) {
	m := u.a.machines[o.Instance]
	if roll.Kind(o.Kind) != roll.Unknown || m == nil || m.ail != well || m.frozen.IsZero() {
		return
	}
	nodes, silent, joined := len(inv.seen.nodes.all), 0, map[string]bool{}
	for _, n := range inv.seen.nodes.all {
		joined[instanceOf(n)] = true
		other := u.a.machines[instanceOf(n)]
		if other != nil && other.state == running && !other.resting(u.a.Now()) && other.frozen.Equal(m.frozen) && readyOf(n).Status == corev1.ConditionUnknown {
			silent++
		}
	}
	for _, i := range inv.seen.instances.all {
		if !joined[*i.InstanceId] {
			nodes++ // it may count as a node that never joined
		}
	}
	u.forbids(RuleFrozen, silent >= 3 && silent*100 >= u.policy(inv, c, "").count("limits.massSilence")*nodes, "%s: ordered to %s %s, which works, and is not heard since %s like %d of %d nodes", inv.name, o.Action, m.id, m.frozen.Format(time.TimeOnly), silent, nodes)
}

// The rules of a single act: its machine is not protected, earlier steps are done, and the group is not busy.

// protects checks that nothing is touched that a person protected from termination or keeps from repairs, and no silent
// node that a person cordoned. Nothing protects from what EC2 has scheduled.
func (u *auditor) protects(inv *invocation, what act, m *machine) {
	if n := m.node; n != nil && what != actDeleteNode && what != actUncordon && !n.spared.IsZero() && n.spared.Before(inv.begun.Add(-time.Second)) {
		u.broken(RuleKept, "%s: %s of %s, whose node %s a person keeps from repairs since %s", inv.name, what, m.id, n.name, n.spared.Format(time.TimeOnly))
	}
	if n := m.node; n != nil && (what == actReboot || what == actTerminate) && !n.sealed.IsZero() && n.annotations[roll.AnnotationCordoned] == "" && n.ready().Status == corev1.ConditionUnknown &&
		roll.Later(n.sealed, n.ready().LastTransitionTime.Time).Before(inv.begun.Add(-time.Second)) {
		u.broken(RuleKept, "%s: %s of %s, whose silent node %s a person cordoned at %s", inv.name, what, m.id, n.name, n.sealed.Format(time.TimeOnly))
	}
	u.forbids(RuleKept, what != actDeleteNode && (m.event == nil || what != actCordon && what != actEvict) && m.protected && m.protectedAt.Before(inv.begun.Add(-time.Second)), "%s: %s of %s, whose termination protection is on since %s", inv.name, what, m.id, m.protectedAt.Format(time.TimeOnly))
}

// afterOwner checks an act on what its owner replaces, or should have: a person who learns that may want to act first.
func (u *auditor) afterOwner(inv *invocation, what act, m *machine, intent ledger.Action) {
	g := m.g
	if intent.Kind == roll.Impaired && (g.owner == autoScaling || g.owner == nodeGroup) && u.a.Now().Sub(m.since) < impairedFor {
		u.broken(RuleOwner, "%s: %s of %s, impaired since %s, which its Auto Scaling group may be about to replace", inv.name, what, m.id, m.since.Format(time.TimeOnly))
	}
	// A notice also counts that EKS cannot replace anything, or that a person suspended the group's processes.
	told := func(reason string) bool { return u.records.reasons[saidKey{m.c.name, g.groupName(), "", reason}] }
	// A storm, a cluster that cannot be judged, or a mode that allows none, may have prevented the notice.
	read := !u.truths.trouble[m.c.name].After(m.since) && !u.a.weather.stormySince(m.since, u.a.Now()) && u.verdicts.quiet[g].Before(m.since) && u.verdicts.blind[m.c].Before(m.since)
	about := (m.ail != impaired || intent.Kind == roll.Impaired) && intent.Kind != roll.Scheduled // that is no fault that the owner repairs
	if read && m.unacted && about && u.policyOf(inv, m).tells(string(intent.Kind)) && !slices.ContainsFunc([]string{"OwnerDidNotAct", "NodeGroupUnhealthy", "GroupSuspended"}, told) {
		u.broken(RuleFirst, "%s: %s of %s, and nobody was told that its owner did not act", inv.name, what, m.id)
	}
}

const impairedFor = 30 * time.Minute // how long an Auto Scaling group has to replace an impaired instance

// drained checks that no answering machine is terminated with pods that its ladder drains, unless that is forced.
func (u *auditor) drained(inv *invocation, what act, m *machine, intent ledger.Action) {
	if what != actTerminate && what != actDeleteClaim || m.node == nil || !m.reporting {
		return
	}
	pol := u.policyOf(inv, m)
	if pol.values["drain.force"] != "never" || !drainsFirst(pol, string(intent.Kind)) {
		return
	}
	if !slices.ContainsFunc(inv.seen.nodesOf(m.id), func(n *corev1.Node) bool { return readyOf(n).Status != corev1.ConditionUnknown }) {
		return // what does not answer is not drained
	}
	for _, p := range m.node.pods {
		stops := !p.leaving.IsZero() && (m.hangs || u.a.Now().Sub(p.leaving) > p.grace())
		if !p.daemon && !stops {
			u.broken(RuleServing, "%s: %s of %s for %s, whose node answers, and pod %s is left on it, which its ladder drains first", inv.name, what, m.id, intent.Kind, p.name)
			return
		}
	}
}

// drainsFirst reports whether each ladder for a kind drains before it terminates.
func drainsFirst(pol *terms, kind string) bool {
	drains := false
	for ladder := range pol.laddersOf(kind) {
		drain := slices.IndexFunc(ladder, func(r rung) bool { return r.Do == "drain" })
		end := slices.IndexFunc(ladder, func(r rung) bool { return r.Do == "terminate" })
		if drain < 0 || end >= 0 && end < drain {
			return false
		}
		drains = true
	}
	return drains
}

const turnLeast = 10 * time.Minute // for how long a machine that was cordoned or rebooted, and is still ill, keeps its group waiting at least

// inTurn checks that no other machine of the group is being acted on.
func (u *auditor) inTurn(inv *invocation, what act, m *machine) {
	if m.g.owner == nobody {
		return
	}
	now := u.a.Now()
	most := min(turnLeast, u.policy(inv, m.c, m.g.groupName()).duration("limits.replacementWait"))
	last := map[*machine]effect{}
	for _, e := range u.effects[m.c.name] {
		if other := u.a.machines[e.instance]; other != nil && other.g == m.g {
			last[other] = e
		}
	}
	for other, e := range last {
		ill := other.state == running && (other.ail == silent || other.ail == notReady || other.ail == impaired || other.booting)
		if other.node != nil && u.times.of[other.node].back.After(e.at) {
			continue // the act helped, and what ails it now is new
		}
		if other != m && ill && !other.hasTag(roll.TagIgnore) && (e.what == actReboot || e.what == actCordon) && now.Sub(e.at) < most {
			u.broken(RulePace, "%s: %s of %s, and %s of the same group %s had the %s at %s, and is %s still", inv.name, what, m.id, other.id, m.g.groupName(), e.what, e.at.Format(time.TimeOnly), state(other))
		}
	}
}

// givenBack checks that a cordon is lifted only from a node that is ready again, and that no person holds.
func (u *auditor) givenBack(inv *invocation, id string) {
	for _, n := range inv.seen.nodesOf(id) {
		u.forbids(RuleTidy, n.Spec.Unschedulable && !readyNode(n), "%s: node %s of %s takes pods again, and was last seen not ready", inv.name, n.Name, id)
	}
	if l := inv.seen.looked[id]; l.instance != nil {
		if i := slices.IndexFunc(l.instance.Tags, func(t types.Tag) bool { return *t.Key == roll.TagHold && keepsAsIs(*t.Value, u.a.Now()) }); i >= 0 {
			u.broken(RuleKept, "%s: the node of %s takes pods again, which a person holds", inv.name, id)
		}
	}
}

// readWhole checks that a check that counts as complete read everything: what it does not know counts as gone.
func (u *auditor) readWhole(inv *invocation, c checkup) {
	switch s := &inv.seen; {
	case !c.whole:
	case !s.nodes.whole() || !s.instances.whole():
		u.broken(RuleWhole, "%s: the look at %s counts as complete, and a page of its nodes or instances is missing", inv.name, c.cluster)
	case c.nodes != len(s.nodes.all):
		u.broken(RuleWhole, "%s: the look at %s found %d nodes, and %d were listed", inv.name, c.cluster, c.nodes, len(s.nodes.all))
	}
}

const cordonOutlives = time.Hour // how long a cordon may outlive its cause

// cordons checks every minute how long nodes are cordoned without a cause.
func (u *auditor) cordons(c *cluster) {
	now := u.a.Now()
	for _, n := range c.nodes {
		if !n.cordoned || n.annotations[roll.AnnotationCordoned] == "" || u.cordonedFor(c, n) {
			delete(u.inVain, n)
			continue
		}
		since, ok := u.inVain[n]
		if !ok {
			u.inVain[n] = now
		} else if now.Sub(since) > cordonOutlives {
			u.broken(RuleCordon, "node %s is cordoned by order %s, and nothing has been wrong with %s since %s", n.name, n.annotations[roll.AnnotationCordoned], n.machine.id, since.Format(time.TimeOnly))
			delete(u.inVain, n)
		}
	}
}

// cordonedFor reports whether a node may be cordoned: its machine is not in order, or Rollcall cannot lift the cordon.
func (u *auditor) cordonedFor(c *cluster, n *node) bool {
	m, now := n.machine, u.a.Now()
	if m == nil || m.ail != well || m.muted || m.state != running || m.booting || n.ready().Status != corev1.ConditionTrue || m.event != nil || m.claim != nil && !m.claim.deleting.IsZero() || !n.deleting.IsZero() {
		return true
	}
	read := n.read()
	if !wellNode(&read) || failedAccelerator(&read) || !m.vanished.IsZero() || !m.unnamed.IsZero() || n.provider != "" {
		return true
	}
	return m.hasTag(roll.TagHold) || m.hasTag(roll.TagIgnore) || c.unjudged() || !c.exists() || u.policyNow(c, m.g).mode < mayRemediate || u.a.weather.stormy(now) || u.verdicts.forgotten.Add(24*time.Hour).After(now) && !u.verdicts.forgotten.IsZero()
}
