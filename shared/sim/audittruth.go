package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

const (
	lag        = 10 * time.Minute // how long a check may still see what is over: EC2 shows it late, and a function takes minutes
	turn       = 3 * time.Hour    // how long an instance may keep others of its group waiting
	unwatched  = 6 * time.Minute  // how long a node must have no record before it counts as newly found
	nodeRepair = 75 * time.Minute // how long after the trouble began EKS node auto repair may still be about to act
	stuckFirst = 14 * time.Minute // how long after it was done an act without an effect is stuck, at the earliest
)

// ownersTurn returns how long after the trouble began an owner may still be about to act, by what it repairs at all.
func (u *auditor) ownersTurn(g *group, kind roll.Kind) time.Duration {
	switch {
	case g.owner == nodeGroup && u.lately("repairs", g.groupName()):
		return nodeRepair
	case g.owner != karpenter && kind == roll.Impaired: // its Auto Scaling group
		return impairedFor + lag
	case g.owner != karpenter && kind == roll.Unregistered: // Cluster Autoscaler
		return 30 * time.Minute
	case g.owner != karpenter || kind == roll.Orphaned:
		return 0
	}
	return 50 * time.Minute
}

type truths struct {
	last    map[[2]string]time.Time            // when something was last true, by condition and subject
	trouble map[string]time.Time               // when the cluster as a whole was last in trouble
	seen    map[string]map[about][]*invocation // the latest checks that found something, by cluster
	doubted map[string]map[withheld]bool       // false reasons of the last check, by cluster
	untrue  map[string]map[caused]time.Time    // causes that are not true, since when, by cluster
}

// excuse is a held act, with everything that the auditor knows of it.
type excuse struct {
	u   *auditor
	inv *invocation
	c   *cluster
	k   checkup
	withheld
	m *machine
	g *group
	// outage and shares are those of the auditor. They are the same for all held acts of a check.
	outage func() bool
	shares func() shares
}

// truthful checks the reasons of a check: two in a row, since what one reads may change before the auditor looks.
func (u *auditor) truthful(inv *invocation, k checkup) {
	c := u.a.byName[k.cluster]
	if c == nil {
		return
	}
	if len(k.held)+len(k.causes) > 0 || k.trouble != "" {
		u.truths.remember(u.a) // what became true since the last full minute
	}
	outage := sync.OnceValue(func() bool { return u.outage(inv, c, k) })
	counted := sync.OnceValue(func() shares { return u.shares(inv) })
	u.caused(inv, k, outage)
	for _, of := range k.causes { // also of what is not overdue yet, so that nothing is held
		if m := u.a.machines[of.instance]; m != nil && (m.stays || m.g.unmapped) {
			u.truths.last[[2]string{"spared", m.id}] = u.a.Now()
		}
	}
	doubted := map[withheld]bool{}
	if !k.whole {
		maps.Copy(doubted, u.truths.doubted[c.name]) // of those that it did not look at, too
	}
	claims := slices.Clone(k.held)
	if k.trouble != "" { // it holds for a while, and StormCooldown after it
		claims = append(claims, withheld{about: about{kind: "the trouble"}, reason: k.trouble})
	}
	for _, h := range claims {
		switch h.reason {
		case "ZoneOutage", "MassSilence", "UnhealthyShare", "ClusterNotActive", "ClusterUnreachable":
			u.truths.trouble[c.name] = u.a.Now()
		}
		if slices.Contains(spares, h.reason) {
			u.sense.spared[h.about] = inv.said(h.reason)
			u.truths.last[[2]string{"spared", h.instance}] = u.a.Now()
		}
		e := excuse{u: u, inv: inv, c: c, k: k, withheld: h, m: u.a.machines[h.instance], outage: outage, shares: counted}
		if e.m != nil {
			e.g = e.m.g
		}
		why, claim := e.false(), withheld{about: h.about, reason: h.reason}
		switch {
		case why == "":
			delete(doubted, claim)
		case u.truths.doubted[c.name][claim]:
			u.broken(RuleTruth, "%s: %s of %s is held for %s, and %s", inv.name, h.kind, h.instance, h.reason, why)
		default:
			doubted[claim] = true
		}
	}
	u.truths.doubted[c.name] = doubted
}

// remember records every minute what is true, for reasons that remain valid for a while afterwards.
func (t *truths) remember(a *account) {
	now := a.Now()
	note := func(what, whom string, is bool) {
		if is {
			t.last[[2]string{what, whom}] = now
		}
	}
	for _, c := range a.clusters {
		note("barred", c.name, c.barred || len(a.silenced) > 0)
		note("not active", c.name, c.status != "ACTIVE" || !c.exists())
		note("shifted", c.name+" "+c.shifted, c.shifted != "")
		for _, g := range c.groups {
			note("halted", g.groupName(), g.suspended || len(g.halted) > 0)
			note("unwell", g.groupName(), g.unwell())
			note("unfit", g.groupName(), g.unwell() && g.status != createFailed)
			note("repairs", g.groupName(), g.repair)
			note("broken", g.groupName(), g.template.breaks != well)
			note("unmapped", g.groupName(), g.unmapped)
			note("fails", g.groupName(), g.failing != "" || now.Before(g.dry) || g.suspended || g.halts())
		}
		for _, m := range c.machines {
			note("protected", m.id, m.protected)
			note("shielded", m.id, !m.shielded.IsZero())
			note("ignored", m.id, m.hasTag(roll.TagIgnore))
			note("leaving", m.id, !m.disrupted.IsZero())
			note("deaf", m.id, m.state == running && m.node != nil && !m.reporting)
			note("starved", m.id, !m.pressure.IsZero())
			note("impaired", m.id, m.ail == impaired)
			note("at rest", m.id, m.state == stopping || m.state == stopped)
			note("aside", m.id, m.aside != "")
			note("gpu", m.id, m.ail == failedGPU)
			note("part", m.id, m.ail == failedPart)
			note("unlabelled", m.id, m.g.owner == karpenter && m.node != nil && !m.node.initialized)
			note("ill", m.id, m.ail != well || m.muted || m.elsewhere != "" || m.node == nil || !m.node.works)
			note("vanished", m.id, !m.vanished.IsZero() || m.lost != nil || !m.unnamed.IsZero())
			n := cmp.Or(m.node, m.lost)
			note("tainted", m.id, n != nil && len(n.taints) > 0)
			if n == nil || !n.keeps {
				continue
			}
			guarded := false
			note(keptNode, m.id, n.annotations[doNotDisrupt] != "") // also when the pod for which it was annotated is gone
			note(keptNodeSafe, m.id, n.annotations[safeToEvict] != "")
			for _, p := range m.pods() {
				note(p.keep, m.id, p.keep != "")
				guarded = guarded || p.guarded
			}
			note(keptBudget, m.id, guarded)
		}
	}
}

// sighted records what a complete check found, with the earlier checks that found it too.
func (t *truths) sighted(c checkup, by *invocation) {
	now := map[about][]*invocation{}
	before := t.seen[c.cluster]
	for _, key := range c.found {
		now[key] = append(before[key][:len(before[key]):len(before[key])], by)
		if n := len(now[key]); n > 20 {
			now[key] = now[key][n-20:]
		}
	}
	for key := range c.kept {
		if _, ok := now[key]; !ok && before[key] != nil {
			now[key] = before[key]
		}
	}
	t.seen[c.cluster] = now
}

// lately reports whether the condition is true, or was a short while ago.
func (u *auditor) lately(what, whom string) bool {
	at, ok := u.truths.last[[2]string{what, whom}]
	return ok && u.a.Now().Sub(at) <= lag
}

func (u *auditor) anyLately(whom string, what ...string) bool {
	return slices.ContainsFunc(what, func(w string) bool { return u.lately(w, whom) })
}

func (e excuse) lately(what, whom string) bool { return e.u.lately(what, whom) }

// outage reports whether a zone of the cluster is down, or looks so to the check.
func (u *auditor) outage(inv *invocation, c *cluster, k checkup) bool {
	for _, zone := range zones { // whatever the Nodes of its machines name
		if _, down := c.out(zone, u.a.Now()); down {
			return true
		}
	}
	// A diagnosis that a zone is at fault holds too, whatever share the policy sets.
	of := min(u.policy(inv, c, "").count("limits.zone"), defaults.count("limits.zone"))
	running := map[string]string{} // nodes of Fargate and of machines elsewhere have no zone
	named := map[string]string{}   // a machine with the name of a node may have taken it over
	for _, i := range inv.seen.instances.all {
		if runs(i) && i.Placement != nil {
			zone := aws.ToString(i.Placement.AvailabilityZone)
			running[*i.InstanceId], named[aws.ToString(i.PrivateDnsName)] = zone, zone
		}
	}
	unlisted := map[string]bool{} // and not known to be gone
	for _, h := range k.held {
		unlisted[h.instance] = unlisted[h.instance] || h.reason == "InstanceNotSeen"
	}
	in := func(n *corev1.Node) string {
		id := instanceOf(n)
		if m := u.a.machines[id]; m != nil && m.alive() || unlisted[id] {
			return cmp.Or(running[id], n.Labels["topology.kubernetes.io/zone"])
		}
		return named[n.Name]
	}
	for _, zone := range zones {
		nodes, silent := 0, 0
		for _, n := range inv.seen.nodes.all {
			if in(n) == zone {
				if nodes++; !readyNode(n) && !u.starts(inv, n) {
					silent++
				}
			}
		}
		if silent >= 3 && silent*100 >= of*nodes || silent >= 2 && silent == nodes {
			return true
		}
	}
	return false
}

// starts reports whether a node never was Ready and certainly has time to start.
func (u *auditor) starts(inv *invocation, n *corev1.Node) bool {
	m, created := u.a.machines[instanceOf(n)], n.CreationTimestamp.Time
	return m != nil && !u.sense.worked[m.id] && !readyOf(n).LastTransitionTime.After(created) &&
		u.a.Now().Before(created.Add(u.policyOf(inv, m).duration("initialization.deadline")-ahead))
}

// false returns why the reason is false, or "" if it may be true.
func (e excuse) false() string {
	if e.inv.begun.Before(e.u.verdicts.forgotten.Add(lag)) {
		return "" // the ledger was recreated, and with it what the auditor remembers
	}
	if check, ok := ofCluster[e.reason]; ok {
		return check(e)
	}
	check, ok := ofMachine[e.reason]
	switch {
	case !ok:
		return "no rule knows the reason"
	case e.m == nil:
		return "" // too little is known of what is gone or is no instance
	case check == nil || check(e):
		return ""
	}
	return fmt.Sprintf("%s is %s since %s, in %s", e.m.id, state(e.m), e.m.since.Format(time.TimeOnly), e.g.groupName())
}

// first returns the instances that are ordered about, or would be but for the mode.
func (k checkup) first() []string {
	out := slices.Clone(k.ordered)
	for _, h := range k.held {
		switch h.reason {
		case "ModeObserve", "ModeNotify", "Stopped":
			out = append(out, h.instance)
		}
	}
	return out
}

// state describes a machine for a person.
func state(m *machine) string {
	out := []string{string(m.state), string(m.ail)}
	for word, is := range map[string]bool{"without network": m.muted, "booting": m.booting, "protected": m.protected} {
		if is {
			out = append(out, word)
		}
	}
	slices.Sort(out[2:])
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), ", ")
}

// shares counts the nodes of a check's cluster, in all ("") and by group.
type shares struct {
	of, sick map[string]int
	doubt    map[string]int // nodes of machines out of service, or that EC2 does not show, which do not count
}

func newShares() shares { return shares{map[string]int{}, map[string]int{}, map[string]int{}} }

func (s shares) add(group string, sick bool) {
	for _, g := range []string{"", group} {
		if s.of[g]++; sick {
			s.sick[g]++
		}
	}
}

func (u *auditor) shares(inv *invocation) shares {
	out, seen := newShares(), map[string]bool{}
	instances, shown := map[string]*types.Instance{}, inv.seen.shown()
	for _, i := range inv.seen.instances.all {
		instances[*i.InstanceId] = i
	}
	for _, n := range inv.seen.nodes.all {
		id, group := instanceOf(n), groupByLabel(n)
		seen[id] = true
		if i := instances[id]; i != nil {
			if i.State != nil && (i.State.Name == types.InstanceStateNameShuttingDown || i.State.Name == types.InstanceStateNameTerminated) {
				continue // it is being removed and does not count
			}
			group = groupOf(i)
		}
		m := u.a.machines[id]
		if m == nil || m.state != running || m.resting(u.a.Now()) || !shown(id) {
			out.doubt[""]++
			out.doubt[group]++
		}
		out.add(group, !wellNode(n) || m != nil && (m.ail != well || m.event != nil) || failedCondition(n))
	}
	for id, i := range instances {
		if !seen[id] && runs(i) {
			out.add(groupOf(i), true)
		}
	}
	return out
}

// ofCluster has the reasons that concern the cluster, the policy or the check.
var ofCluster = map[string]func(excuse) string{
	"ClusterNotActive": func(e excuse) string {
		return unless(e.inv.seen.status != "ACTIVE" || e.inv.seen.described != "ACTIVE" || e.lately("not active", e.c.name), "it is ACTIVE")
	},
	"ClusterUnreachable": func(e excuse) string {
		return unless(e.inv.missed || !e.inv.seen.nodes.whole() || e.lately("barred", e.c.name), "its API server answered everything")
	},
	"SnapshotIncomplete": func(e excuse) string {
		return unless(e.inv.missed || !e.inv.seen.nodes.whole() || !e.inv.seen.instances.whole(), "all was read")
	},
	"NodeWithoutProviderID": func(e excuse) string {
		return unless(slices.ContainsFunc(e.inv.seen.nodes.all, func(n *corev1.Node) bool { return n.Spec.ProviderID == "" }), "each node has its provider id")
	},
	"MassSilence": func(e excuse) string {
		nodes, silent, shown := 0, 0, e.inv.seen.shown()
		for _, n := range e.inv.seen.nodes.all {
			m := e.u.a.machines[instanceOf(n)]
			if m == nil || m.state == shuttingDown || m.state == terminated || m.state == stopped && readyOf(n).LastTransitionTime.After(m.restedAt) {
				continue // a node of Fargate or a hybrid node, of a machine that is gone or going, or silent since a person stopped it
			}
			if readyOf(n).Status == corev1.ConditionUnknown {
				silent++
			} else if !shown(m.id) || m.resting(e.u.a.Now()) {
				continue
			}
			nodes++
		}
		of := e.u.policy(e.inv, e.c, "").count("limits.massSilence")
		return unless(silent >= 3 && silent*100 >= of*nodes, fmt.Sprintf("%d of %d nodes are silent", silent, nodes))
	},
	"UnhealthyShare": func(e excuse) string {
		seen := e.shares()
		of, doubt, sick := seen.of, seen.doubt, seen.sick
		share := e.u.policy(e.inv, e.c, e.group).count("limits.unhealthy")
		all := e.u.policy(e.inv, e.c, "").count("limits.unhealthy")
		if e.group == "" { // the trouble of the cluster may be that of any one group
			for group := range sick {
				if sick[group] > allowedSick(of[group]-doubt[group], e.u.policy(e.inv, e.c, group).count("limits.unhealthy")) {
					return ""
				}
			}
		}
		return unless(sick[""] > allowedSick(of[""]-doubt[""], all) || sick[e.group] > allowedSick(of[e.group]-doubt[e.group], share), fmt.Sprintf("at most %d of %d are past their tolerance in %s, and %d of %d in %s", sick[""], of[""], e.c.name, sick[e.group], of[e.group], e.group))
	},
	"StormCooldown": func(e excuse) string {
		at, ok := e.u.truths.trouble[e.c.name]
		if t := e.u.a.dep.state(e.c.name).Trouble; t != nil && t.Last.After(at) { // compared when it was recorded
			at, ok = t.Last, true
		}
		cooldown := e.u.policy(e.inv, e.c, "").duration("limits.stormCooldown")
		return unless(ok && e.u.a.Now().Sub(at) <= cooldown+slack, "the cluster was last in trouble at "+at.Format(time.TimeOnly))
	},
	"ActionsPerCheck": func(e excuse) string {
		n := len(e.k.first())
		return unless(n >= e.u.policy(e.inv, e.c, e.group).count("limits.actionsPerCheck") || n >= e.u.policy(e.inv, e.c, "").count("limits.actionsPerCheck"), fmt.Sprintf("%d are ordered", n))
	},
	"ActionsPerHour": func(e excuse) string {
		used := map[string]bool{}
		refused := func(a ledger.Action) bool { // it took nothing
			return a.Outcome != nil && a.Outcome.Result == ledger.Failed && !strings.HasPrefix(a.Outcome.Detail, ledger.Unfinished) && a.Outcome.At.Before(e.inv.begun.Add(-time.Minute))
		}
		for _, a := range e.actions(func(a ledger.Action) bool { return !refused(a) }) {
			if now := e.u.a.Now(); now.Sub(a.At) <= time.Hour+slack || a.Outcome == nil || now.Sub(a.Outcome.At) <= time.Hour+slack {
				used[string(a.Instance)] = true
			}
		}
		for _, id := range e.k.first() {
			used[id] = true
		}
		least := min(e.u.policy(e.inv, e.c, e.group).count("limits.actionsPerHour"), e.u.policy(e.inv, e.c, "").count("limits.actionsPerHour"))
		return unless(len(used) >= least, fmt.Sprintf("%d instances were acted on within an hour, and %d may be", len(used), least))
	},
	"Stopped": func(e excuse) string {
		p := &e.inv.v.policy
		last := !p.read && p.had && e.u.policies.document(p.good).stops // the last valid one said it
		return unless(p.stops || last, "the policy does not say so")
	},
	"ModeObserve": func(e excuse) string {
		return unless(e.mode() == mayObserve, "the mode is "+e.mode().String())
	},
	"ModeNotify": func(e excuse) string {
		return unless(e.mode() == mayNotify, "the mode is "+e.mode().String())
	},
}

// ofMachine has the reasons that concern an instance or its group; nil is a reason that depends on neither.
var ofMachine = map[string]func(excuse) bool{
	"Conflicting": func(e excuse) bool {
		return len(e.inv.seen.nodesOf(e.m.id)) == 0 || e.m.state != running || e.lately("vanished", e.m.id) || e.m.node == nil || !e.listed(runs)
	},
	"ActionStuck": func(e excuse) bool {
		return e.m.node != nil && e.tried(func(a ledger.Action, ago time.Duration) bool {
			return a.Outcome.Result != ledger.Failed && ago >= stuckFirst
		})
	},
	"AlreadyBegun": func(e excuse) bool {
		return e.tried(func(a ledger.Action, ago time.Duration) bool { return a.Outcome.Result != ledger.Failed || ago < lag })
	},
	"DrainUnfinished": func(e excuse) bool { // in its current trouble
		return e.tried(func(a ledger.Action, _ time.Duration) bool {
			return a.Do == acts[actEvict] && a.Outcome.Result == ledger.Failed && a.Outcome.At.After(e.found().Add(-lag))
		})
	},
	"InstanceNotSeen": func(e excuse) bool {
		return !e.listed(func(*types.Instance) bool { return true })
	},
	"InstanceIgnored": func(e excuse) bool { return e.tagged(roll.TagIgnore) },
	"ApprovalPending": func(e excuse) bool {
		return e.terms().asksSomewhere(e.kind) && !e.u.answered(e.m, e.question).Before(e.inv.begun.Add(-time.Minute))
	},
	"CauseEnded": func(e excuse) bool {
		at, was := e.u.truths.last[[2]string{"spared", e.m.id}]
		first, ok := e.u.sense.eased[e.about] // its time passes since the first check that recorded it
		if !ok || first.inv.begun.Before(at) || first.inv.overtaken || first.inv != e.inv && !first.inv.known(e.inv) {
			first = e.inv.said("CauseEnded")
			e.u.sense.eased[e.about] = first
		}
		return was && e.inv.begun.Sub(first.inv.begun) <= e.u.policy(e.inv, e.c, "").duration("limits.stormCooldown")+slack
	},
	"ApprovalUnrecorded": func(e excuse) bool {
		for order, q := range e.u.approvals.asked {
			if q.instance == e.instance && q.kind == e.kind && slices.Contains(e.m.tags, tag{roll.TagApprove, order}) && !e.u.answered(e.m, order).Before(e.inv.begun.Add(-time.Minute)) {
				return true
			}
		}
		return false
	},
	"ApprovalMissing": func(e excuse) bool {
		over := false
		for _, q := range e.u.approvals.asked {
			over = over || q.instance == e.instance && q.kind == e.kind && !e.u.a.Now().Add(2*time.Minute).Before(q.until)
		}
		return over && e.terms().asksSomewhere(e.kind)
	},
	"InstanceHeld": func(e excuse) bool { return e.tagged(roll.TagHold) },
	"NodeHeld": func(e excuse) bool {
		return e.node(func(n *corev1.Node) bool {
			return n.Annotations[roll.AnnotationDoNotRepair] == "true" || n.Spec.Unschedulable && (e.m.state == stopped || readyOf(n).Status == corev1.ConditionUnknown)
		})
	},
	"NodeDeleting":     func(e excuse) bool { return e.node(func(n *corev1.Node) bool { return n.DeletionTimestamp != nil }) },
	"NotClaimed":       func(e excuse) bool { return e.m.elsewhere != "" || e.g.stray || e.g.launchedWith != nil },
	"OlderThanCluster": func(e excuse) bool { return e.m.launched.Before(e.c.created) },
	"InstanceNotRunning": func(e excuse) bool {
		return e.m.state != running || e.listed(func(i *types.Instance) bool { return !runs(i) })
	},
	"MachineSound": func(e excuse) bool { return e.m.ail != impaired },
	"NodeReady":    func(e excuse) bool { return e.node(readyNode) },
	"ConditionAlone": func(e excuse) bool {
		return e.node(func(n *corev1.Node) bool { return readyNode(n) && failedCondition(n) })
	},
	"RepairNeedsPerson": func(e excuse) bool {
		return e.node(failedAccelerator) && (e.m.ail != failedGPU || e.terms().repair(e.m.gpu) == "hold")
	},
	"SharedCause": func(e excuse) bool {
		return e.inv.missed || e.lately("unwell", e.g.groupName()) || e.m.stays || e.m.template.breaks != well || e.m.young || e.alike() || e.lately("broken", e.g.groupName())
	},
	"CauseOutside": func(e excuse) bool {
		return e.inv.missed || e.m.stays || e.m.young || e.m.muted || e.m.template.breaks != well ||
			e.lately("broken", e.g.groupName()) // whatever made it ill, a new machine would not join now
	},
	"CauseNotChecked": func(e excuse) bool {
		return e.inv.missed || slices.ContainsFunc(slices.Collect(maps.Keys(e.terms().ladders)), func(k string) bool { return strings.Contains(k, "/") })
	},
	"RegistersLate": func(e excuse) bool { // nodes of its group, which may be gone by now, took almost as long
		return slices.ContainsFunc(e.g.took, func(took time.Duration) bool {
			return took <= time.Hour+lag && took*3/2 >= e.u.a.Now().Sub(e.m.launched)-lag
		})
	},
	"CausePasses": func(e excuse) bool {
		return e.inv.missed || e.g.bounces || e.m.stays || e.others() || e.m.muted || e.m.ail == neverJoins || e.m.ail == neverReady
	},
	"OwnerNotifyOnly": func(e excuse) bool {
		// Other launch tags are those of Auto Mode or Cluster API, which replace their machines.
		return e.g.launchedWith != nil || e.terms().owner(e.g.owner) == "notify"
	},
	"GroupSuspended": func(e excuse) bool { return e.lately("halted", e.g.groupName()) },
	"OwnerUnknown":   func(e excuse) bool { return e.inv.missed || e.g.owner == karpenter && e.m.claim == nil },
	"NodeGroupUnhealthy": func(e excuse) bool {
		noNode := e.m.node == nil || slices.Contains([]roll.Kind{roll.Unregistered, roll.Uninitialized}, roll.Kind(e.kind))
		return e.lately("unfit", e.g.groupName()) || noNode && e.lately("unwell", e.g.groupName()) || e.g.owner == nodeGroup && e.launchFails()
	},
	"OwnerWillAct": func(e excuse) bool {
		if e.g.owner == nobody {
			return false
		}
		its := e.u.ownersTurn(e.g, roll.Kind(e.kind))
		leaving := e.m.state != running || e.m.claim != nil && !e.m.claim.deleting.IsZero() || !slices.Contains(e.g.members, e.m) || e.m.event != nil || e.lately("leaving", e.m.id)
		began := e.troubled()
		if e.kind == string(roll.ConditionFailed) {
			began = latest(began, e.found()) // after a reboot that did not cure it, the agent reports it anew
		}
		if e.kind == string(roll.Unregistered) {
			began = latest(began, e.u.verdicts.forgotten.Add(lag)) // nothing shows after the loss of the ledger when it began
			if e.m.lost != nil {
				began = latest(began, e.m.vanished.Add(e.c.sweptEvery()+lag)) // the check that first missed its Node
			}
		}
		return leaving || e.inv.missed || e.u.a.Now().Sub(began) < its || its > 0 && e.acted(its)
	},
	"OwnerDidNotAct": func(e excuse) bool {
		since := e.troubled()
		if e.kind == string(roll.Scheduled) && e.m.event != nil {
			since = e.m.event.announced
		}
		if cl := e.m.claim; cl != nil && !cl.deleting.IsZero() && cl.deleting.Before(since) {
			since = cl.deleting // its node may have changed since
		}
		return e.g.owner != nobody && e.u.a.Now().Sub(since) >= registrationTTL-lag
	},
	"ReplacementUnavailable": excuse.launchFails,
	"NoNodeIntent": func(e excuse) bool {
		return e.g.owner == nobody || e.m.elsewhere != "" || e.m.unread != "" || e.m.stays || e.inv.missed
	},
	"TerminationProtected": func(e excuse) bool { return e.lately("protected", e.m.id) },
	"ScaleInProtected":     func(e excuse) bool { return e.lately("shielded", e.m.id) },
	"ProtectionUnknown":    func(e excuse) bool { return e.inv.missed },
	"NotReadYet": func(e excuse) bool {
		// One check reads the pods of ten nodes that are silent or not ready. Of many suspects it does not read all.
		silent := 0
		for _, a := range e.k.found {
			if slices.Contains([]string{"Unknown", "Impaired", "NotReady"}, a.kind) {
				silent++
			}
		}
		return e.inv.missed || silent > 10 || len(e.k.found) >= 25
	},
	"NotInService": func(e excuse) bool {
		return e.m.state != running || !slices.Contains(e.g.members, e.m) || e.u.a.Now().Sub(e.m.launched) < lag
	},
	"NotSeenTwice": func(e excuse) bool {
		for _, s := range e.u.truths.seen[e.c.name][e.about] { // by a check that could record it
			if k := roll.Kind(e.kind); (k == roll.ConditionFailed || k == roll.Ghost) && e.turned().Add(skewed+time.Second).After(s.begun) {
				continue // a condition may be from before a silence, and a Ready Ghost is contradicted
			}
			if roll.Kind(e.kind) == roll.ConditionFailed && e.lately("starved", e.m.id) {
				continue // a check between may have found its other condition
			}
			if s.clean() && !s.overtaken && !s.ended.IsZero() && e.inv.begun.Sub(s.ended) > time.Minute+2*skewed && e.troubled().Before(s.begun) {
				return false
			}
		}
		return true
	},
	"FoundBeforeRemediate": func(e excuse) bool {
		first, checked := e.u.verdicts.first[e.c.name]
		first = e.u.recorded(e.c.name, first.Add(-time.Second)) // the ledger knows of no earlier one
		found := e.found()
		// It may have been found for its startup taint first, and a boot shows nothing of the one before.
		before := latest(found, e.u.truths.last[[2]string{"tainted", e.m.id}], e.m.started)
		if at, ok := e.u.truths.last[[2]string{"vanished", e.m.id}]; ok && at.After(before) {
			before = at // no check could see its Node before: it was found for that, or is found only now
			if roll.Kind(e.kind) == roll.Unregistered && e.m.launched.Before(first.Add(lag)) {
				return true // and since its launch, no Node was its own
			}
		}
		gone := latest(e.m.vanished, e.m.unnamed) // its Node was missing since, though it worked
		if !gone.IsZero() && gone.Before(first.Add(lag)) {
			return true
		}
		if t := e.u.times.of[e.m.node]; !t.was.IsZero() && !e.u.recordedIn(e.c.name, t.back, t.left.Add(-lag)) && (t.was.Before(first.Add(lag)) || e.u.foundLowered(e.g, t.was)) {
			return true // no check recorded that it was Ready since
		}
		switch {
		case !checked || found.Before(first.Add(lag)) || e.ill().Before(first.Add(lag)):
			return true
		case e.u.wasOpened(e.c.name, e.about, e.m):
			return false
		case slices.ContainsFunc([]time.Time{found, before, gone}, func(at time.Time) bool { return !at.IsZero() && e.u.foundLowered(e.g, at) }):
			return true
		}
		if ev := e.m.event; ev != nil && roll.Kind(e.kind) == roll.Scheduled {
			due := ev.notBefore.Add(-e.terms().duration("scheduled.lead"))
			return e.u.foundLowered(e.g, due) // it is opened then
		}
		turned := e.turned()
		if !turned.IsZero() && e.u.foundLowered(e.g, turned) {
			return true // it is another trouble than before
		}
		// It may have been well before its node turned, if nothing is on record of the time before.
		if turned.IsZero() || !e.u.recorded(e.c.name, turned.Add(-unwatched)).After(turned) {
			return false
		}
		was := e.u.times.of[e.m.node].was // for a check, that may last
		return !was.IsZero() && was.Before(first.Add(lag))
	},
	"ZonalShift": func(e excuse) bool { return e.inv.missed || e.lately("shifted", e.c.name+" "+e.m.zone) },
	"ZoneOutage": func(e excuse) bool {
		// An act on one instance is refused by what the last check saw.
		return e.outage() || e.inv.v.fn == remediator && (ofCluster["StormCooldown"](e) == "" || e.inv.seen.looksDown(e.m.zone))
	},
	"PodsUnread": func(e excuse) bool { return e.inv.missed },
	"PodsNotToDisrupt": func(e excuse) bool {
		return e.serves("doNotDisrupt", keptAnnotated, keptUnsafe, keptNode, keptNodeSafe)
	},
	"DisruptionBudget": func(e excuse) bool { return e.serves("budgets", keptBudget) },
	"LocalVolume":      func(e excuse) bool { return e.serves("localVolumes", keptLocal) },
	"ActionFailed": func(e excuse) bool {
		return e.tried(func(a ledger.Action, ago time.Duration) bool {
			return a.Outcome.Result == ledger.Failed && ago < triedAgain+lag
		})
	},
	"OtherFinding": func(e excuse) bool {
		other := func(a about) bool { return a.instance == e.instance && a.kind != e.kind }
		return slices.ContainsFunc(e.k.found, other) || e.acted(turn)
	},
	"ReplacementRepeats": func(e excuse) bool {
		n := e.u.policy(e.inv, e.c, e.g.groupName()).count("limits.replacements")
		return e.u.failed(e.g, 24*time.Hour) >= n || n <= 2 && e.u.failed(e.g, math.MaxInt64/2)+e.g.failures() >= 2 // two in a row, at any age
	},
	"ReplacementPending": func(e excuse) bool {
		newest := slices.MaxFunc(append(slices.Clone(e.g.members), e.m), func(a, b *machine) int { return a.launched.Compare(b.launched) })
		if newest.settledAt.IsZero() && newest.node != nil && newest.node.works && len(newest.node.taints) > 0 {
			return true // it is Ready, and its startup taint keeps it from work
		}
		return e.u.owed(e.g)
	},
	"OneAtATime": func(e excuse) bool { return e.sibling() },
	"ActionUnresolved": func(e excuse) bool {
		return len(e.actions(func(a ledger.Action) bool { return a.Outcome == nil || e.u.a.Now().Sub(a.Outcome.At) < lag })) > 0
	},
}

// illAfterJoining reports whether a machine joined and fell ill later: its group can launch one that works.
func illAfterJoining(m *machine) bool {
	return m.ail == notReady || m.ail == silent || m.ail == impaired
}

func unless(is bool, why string) string {
	if is {
		return ""
	}
	return why
}

func (e excuse) terms() *terms { return e.u.policyOf(e.inv, e.m) }

func (e excuse) mode() mode {
	of := e.u.selects(e.c, e.group)
	if e.m != nil {
		of.suggested = e.m.g.suggested()
	}
	return e.u.selected(e.inv, of).mode
}

// troubled returns since when the machine is in trouble, or cut off.
func (e excuse) troubled() time.Time {
	since := e.m.since
	was := e.m.ail != well || since.After(e.m.mutedAt) && e.lately("ill", e.m.id) // healed after the check read it
	if !was || e.m.muted && e.m.mutedAt.Before(since) {
		since = e.m.mutedAt
	}
	if since.IsZero() {
		since = e.m.launched
	}
	if e.m.node != nil { // it may be ill again, or not Ready without a fault
		if r := e.m.node.ready(); r.Status != corev1.ConditionTrue && r.LastTransitionTime.After(since) {
			return r.LastTransitionTime.Time
		}
	}
	return since
}

// turned returns when the node's Ready condition last changed, also that of a Node that it took over.
func (e excuse) turned() (at time.Time) {
	if e.m.node != nil {
		return e.m.node.ready().LastTransitionTime.Time
	}
	for _, n := range e.inv.seen.nodesOf(e.m.id) {
		at = latest(at, readyOf(n).LastTransitionTime.Time)
	}
	return at
}

// found returns since when the subject of the finding exists, the same for Unknown and False, another once it is gone.
func (e excuse) found() time.Time {
	since, n, nodes := e.troubled(), e.m.node, e.inv.seen.nodesOf(e.m.id)
	away := n != nil && n.ready().Status != corev1.ConditionTrue
	switch kind := roll.Kind(e.kind); {
	case away && kind == roll.Ghost:
		return latest(e.u.times.away(n), e.m.ended)
	case away && (kind == roll.Unknown || kind == roll.NotReady):
		return e.u.times.away(n)
	case kind == roll.Scheduled && e.m.event != nil:
		return e.m.event.announced
	case kind == roll.ConditionFailed:
		// The agent sees it a while after a boot; and the node may be in order since the check read it.
		if n != nil && e.m.ail == failedGPU {
			if at := failedAt(n.conditions); !at.IsZero() {
				return at
			}
		}
		var read time.Time
		for _, n := range nodes {
			read = failedAt(n.Status.Conditions)
		}
		if !read.IsZero() {
			return read
		}
	case kind == roll.Unknown || kind == roll.NotReady:
		var left time.Time // the node is Ready again, and was not when the check read it
		for _, n := range nodes {
			if r := readyOf(n); r.Type != "" && r.Status != corev1.ConditionTrue {
				left = r.LastTransitionTime.Time
			}
		}
		if was := e.u.times.of[n].was; !was.IsZero() && was.Before(left) {
			return was
		}
		if !left.IsZero() {
			return left
		}
	}
	if !e.m.since.IsZero() && e.m.since.Before(since) { // it may have just recovered
		since = e.m.since
	}
	for _, n := range nodes {
		if r := readyOf(n); r.Type != "" && r.Status != corev1.ConditionTrue && r.LastTransitionTime.Time.Before(since) {
			since = r.LastTransitionTime.Time
		}
	}
	return since
}

// failedAt returns since when the accelerator's condition is False, zero if it is not.
func failedAt(conditions []corev1.NodeCondition) time.Time {
	if c := conditionOf(conditions, accelerated); c.Status == corev1.ConditionFalse {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// ill returns since when the machine has trouble of any kind, or the current time if it has none.
func (e excuse) ill() time.Time {
	since := e.u.a.Now()
	if e.m.ail != well {
		since = e.m.since
	}
	if e.m.event != nil && e.m.event.announced.Before(since) {
		since = e.m.event.announced
	}
	return since
}

// others reports whether another machine is in trouble, was when the check read it, or ended a short while ago.
func (e excuse) others() bool {
	return slices.ContainsFunc(e.c.machines, func(o *machine) bool {
		return o != e.m && e.wasIll(o)
	})
}

// alike reports whether another machine is or was ill as this one is: it joined and fell ill, or never joined.
func (e excuse) alike() bool {
	return slices.ContainsFunc(e.c.machines, func(o *machine) bool {
		return o != e.m && illAfterJoining(o) == illAfterJoining(e.m) && (e.wasIll(o) || e.during("tainted", o.id))
	})
}

// wasIll reports whether another machine was ill during the check, or ended within an hour.
func (e excuse) wasIll(o *machine) bool {
	return e.during("ill", o.id) || e.u.a.Now().Sub(o.ended) < time.Hour
}

func (e excuse) actions(which func(ledger.Action) bool) []ledger.Action {
	return slices.DeleteFunc(slices.Clone(e.u.a.dep.state(e.c.name).Actions), func(a ledger.Action) bool { return !which(a) })
}

func (e excuse) acted(within time.Duration) bool {
	now := e.u.a.Now()
	return len(e.actions(func(a ledger.Action) bool {
		return string(a.Instance) == e.instance && (now.Sub(a.At) <= within || a.Outcome == nil || now.Sub(a.Outcome.At) <= within)
	})) > 0
}

// tried reports whether such an act on the instance is on record, or one whose outcome was open for the check.
func (e excuse) tried(is func(a ledger.Action, ago time.Duration) bool) bool {
	now := e.u.a.Now()
	return slices.ContainsFunc(e.u.a.dep.state(e.c.name).Actions, func(a ledger.Action) bool {
		return string(a.Instance) == e.instance && (a.Outcome == nil || !a.Outcome.At.Before(e.inv.begun) || is(a, now.Sub(a.Outcome.At)))
	})
}

// sibling reports whether another instance of the group was acted on, is ordered, or is not certainly replaced.
func (e excuse) sibling() bool {
	now := e.u.a.Now()
	pol := e.u.policyOf(e.inv, e.m)
	replaces := func(a ledger.Action) bool { return a.Do == acts[actTerminate] || a.Do == acts[actDeleteClaim] }
	joins := pol.duration("registration.deadline") + lag // until then a replacement may become a node
	joining := func(m *machine) bool { return now.Sub(m.launched) <= joins }
	young := slices.ContainsFunc(e.g.members, joining)
	tainted := slices.ContainsFunc(e.g.members, func(m *machine) bool { return joining(m) && m.node != nil && len(m.node.taints) > 0 }) // Ready, and no pod can use it
	acted := e.actions(func(a ledger.Action) bool {
		if string(a.Group) != e.group || string(a.Instance) == e.instance {
			return false
		}
		if a.Outcome == nil {
			return true
		}
		wait := lag
		switch {
		case !replaces(a):
			wait += pol.duration("limits.replacementWait")
		case e.g.owner == karpenter && (tainted || !e.u.brought(e.g, a.Outcome.At)):
			if wait = joins; young { // Karpenter may launch again once it is gone, and that must work too
				return true
			}
		}
		// What else was replaced counts until its replacement shows, for which losses have the time.
		return now.Sub(a.Outcome.At) <= wait
	})
	ordered := slices.ContainsFunc(e.k.first(), func(id string) bool {
		m := e.u.a.machines[id]
		return id != e.instance && (m == nil || m.g == e.g) // nil: a node whose machine is forgotten
	})
	return len(acted) > 0 || ordered || slices.ContainsFunc(e.u.verdicts.losses[e.g], func(l *loss) bool { return !l.shown && (young || now.Sub(l.took) <= joins) })
}

// serves reports whether the policy spares a silent node for what it says, and the machine had such a pod while the
// check read the pods.
func (e excuse) serves(what string, why ...string) bool {
	return e.terms().spared(what) && slices.ContainsFunc(why, func(kept string) bool { return e.during(kept, e.m.id) })
}

// during reports whether the condition, recorded every minute, was true at some time of the check.
func (e excuse) during(what, whom string) bool {
	at, ok := e.u.truths.last[[2]string{what, whom}]
	return ok && !at.Before(e.inv.begun.Add(-time.Minute))
}

func (e excuse) tagged(key string) bool {
	return e.m.hasTag(key) || e.listed(func(i *types.Instance) bool {
		return slices.ContainsFunc(i.Tags, func(t types.Tag) bool { return *t.Key == key })
	})
}

// listed reports whether the condition is true for the instance as the check read it.
func (e excuse) listed(is func(*types.Instance) bool) bool {
	i := e.inv.seen.looked[e.m.id].instance
	return i != nil && is(i) || slices.ContainsFunc(e.inv.seen.instances.all, func(i *types.Instance) bool { return *i.InstanceId == e.m.id && is(i) })
}

// node reports whether the condition is true for a node of the instance, as the check read it.
func (e excuse) node(is func(*corev1.Node) bool) bool {
	return slices.ContainsFunc(e.inv.seen.nodesOf(e.m.id), is)
}

// failedCondition reports whether a condition shows a fault, though the node may be Ready.
func failedCondition(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return strings.HasSuffix(string(c.Type), "Pressure") && c.Status == corev1.ConditionTrue || strings.HasSuffix(string(c.Type), "Ready") && c.Status == corev1.ConditionFalse
	})
}

func readyOf(n *corev1.Node) corev1.NodeCondition {
	return conditionOf(n.Status.Conditions, corev1.NodeReady)
}

func conditionOf(conditions []corev1.NodeCondition, what corev1.NodeConditionType) corev1.NodeCondition {
	if i := slices.IndexFunc(conditions, func(c corev1.NodeCondition) bool { return c.Type == what }); i >= 0 {
		return conditions[i]
	}
	return corev1.NodeCondition{}
}

func (s *sight) running() map[string]bool {
	ids := map[string]bool{}
	for _, i := range s.instances.all {
		ids[*i.InstanceId] = runs(i)
	}
	return ids
}

// shown returns whether EC2 showed an instance as running, if all were listed.
func (s *sight) shown() func(id string) bool {
	ids := s.running()
	return func(id string) bool { return !s.instances.begun || ids[id] }
}

// launchFails reports whether the group's latest launch failed, at any age, or may have when the check read it.
func (e excuse) launchFails() bool {
	now := e.u.a.Now()
	return e.lately("fails", e.g.groupName()) || now.Sub(e.g.refused) < turn || !e.g.refused.Before(e.g.launched) || now.Sub(e.g.launched) <= lag
}
