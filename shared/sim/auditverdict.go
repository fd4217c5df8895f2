package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// The rules of verdicts require that an act is right for the true state of the machine, which the auditor knows.
// A rule is broken only where Rollcall could have found it out.

// verdicts is what the auditor remembers for the rules of verdicts.
type verdicts struct {
	first     map[string]time.Time   // when the first complete check of a cluster began
	whole     map[string][]time.Time // when the complete checks of a cluster began, by cluster
	moded     map[string][]time.Time // when those of clean began that knew the mode
	clean     map[string][]time.Time // when those began of which no call failed, but for the latest, which may still run
	latest    map[string]*invocation
	forgotten time.Time // when the ledger was recreated
	losses    map[*group][]*loss
	// tried has the broken launch templates of which Rollcall has terminated a machine.
	tried     map[launchedFrom]bool
	lowered   map[*group][]span      // when the mode allowed no acts in a group
	meanwhile map[about]meanwhile    // what was found only then, by the first check that held an act for the mode
	opened    map[about]opening      // by the first check that could record it
	unusable  time.Time              // when the policy was last one that does not validate, which turns nothing off
	usable    time.Time              // when it was last another one
	quiet     map[*group]time.Time   // when the mode last allowed no notices for a group
	blind     map[*cluster]time.Time // when the cluster last could not be judged
	alone     map[*machine]*waiting  // for how long nothing prevented the cure of a machine
}

// meanwhile is the check that found a trouble in a mode, and since when the machine had it.
type meanwhile struct {
	inv     *invocation
	trouble time.Time // when it began
}

type span struct{ from, to time.Time }

// foundLowered reports whether the mode allowed no acts in a group when a trouble began, or while it was found.
func (u *auditor) foundLowered(g *group, began time.Time) bool {
	pol, found := u.policyNow(g.c, g), began.Add(lag+2*u.a.sc.Sweep)
	for _, key := range []string{"registration.deadline", "initialization.deadline", "conditions.Ready=False", "conditions.Ready=Unknown", "impaired.tolerate", "orphaned.tolerate"} {
		found = latest(found, began.Add(pol.duration(key)+lag+2*u.a.sc.Sweep))
	}
	// No check can find anything while none can read everything.
	checks := u.verdicts.whole[g.c.name]
	if i := slices.IndexFunc(checks, func(at time.Time) bool { return at.After(found.Add(-lag - 2*u.a.sc.Sweep)) }); i >= 0 {
		found = latest(found, checks[i].Add(lag))
	}
	// nor remember it, while none that comes once its time is over can write that down.
	found = latest(found, u.recorded(g.c.name, found.Add(-lag-2*u.a.sc.Sweep)).Add(lag))
	return slices.ContainsFunc(u.verdicts.lowered[g], func(s span) bool {
		return s.from.Before(found) && u.firstOf(u.verdicts.moded[g.c.name], s.to.Add(policyFor)).Add(lag).After(began)
	})
}

// recorded returns when the first check after a time began that could read everything and record it.
func (u *auditor) recorded(cluster string, after time.Time) time.Time {
	return u.firstOf(u.verdicts.clean[cluster], after)
}

// firstOf returns the first of the times after one, or the present if there is none.
func (u *auditor) firstOf(all []time.Time, after time.Time) time.Time {
	if i := slices.IndexFunc(all, func(at time.Time) bool { return at.After(after) }); i >= 0 {
		return all[i]
	}
	return u.a.Now()
}

func (u *auditor) recordedIn(cluster string, from, to time.Time) bool {
	return u.recorded(cluster, from).Before(to)
}

// loss is a machine that Rollcall had replaced, made good by a later one that became Ready, or by fewer wanted.
type loss struct {
	at, took time.Time // from when a launch makes good for it, and when it was taken
	instance string
	desired  int
	good     bool
	shown    bool // a complete check could see that it is good: a node that is Ready for seconds may be missed
	later    bool // the same of one that was launched a while after the loss: a check may count from when it saw the trouble
}

// replaced reports whether the group has a machine for the one that it lost: it came after that, or before, for
// pods that had left by then, and nothing was launched since.
func (u *auditor) replaced(g *group, l *loss) bool {
	tried := func(m *machine) bool { return m.g == g && m.launched.After(l.took) }
	return l.good || u.brought(g, l.at.Add(-slack)) && !slices.ContainsFunc(g.c.machines, tried)
}

func (u *auditor) waits(c *cluster) {
	if now := u.a.Now(); c.waiting() > 0 {
		last := u.times.waiting[c]
		if now.Sub(last.to) > step {
			last.from = now
		}
		u.times.waiting[c] = span{last.from, now}
	}
}

// roomy reports whether the pods of what a pool lost may have room elsewhere: when a replacement must be a node,
// nothing that Karpenter launched is still to become one, and no pod waits for one, or only just now.
func (u *auditor) roomy(g *group, l *loss) bool {
	now, waited := u.a.Now(), u.times.waiting[g.c]
	since := func(m *machine) bool { return m.g == g && m.launched.After(l.at) && m.alive() && m.settledAt.IsZero() }
	return g.owner == karpenter && !now.Add(ahead).Before(l.took.Add(u.replacedWithin(g))) &&
		(now.Sub(waited.to) > step || now.Sub(waited.from) < lag) && !slices.ContainsFunc(g.c.machines, since)
}

func (u *auditor) replacedWithin(g *group) time.Duration {
	return u.policyNow(g.c, g).duration("registration.deadline")
}

// settled reports whether a check certainly saw that a loss of the group is made good, or that its pods have room.
func (u *auditor) settled(g *group, l *loss) bool { return l.shown || u.idle(g, l) }

// idle reports whether the pods of what a pool lost have had room elsewhere for so long that a check certainly saw it.
func (u *auditor) idle(g *group, l *loss) bool {
	return u.roomy(g, l) && u.a.Now().Sub(latest(l.took, u.times.waiting[g.c].to)) >= u.replacedWithin(g)+lag
}

// unseen reports whether Karpenter launched machines since a loss took effect, of which no check saw one work.
func (u *auditor) unseen(g *group, l *loss) bool {
	since := func(seen bool) bool {
		return slices.ContainsFunc(g.c.machines, func(m *machine) bool {
			return m.g == g && m.launched.After(l.took) && u.sense.shown[m.id] == seen
		})
	}
	return g.owner == karpenter && since(false) && !since(true)
}

type launchedFrom struct {
	group   *group
	version int
}

// forget handles a recreated ledger. It drops what Rollcall can no longer know.
func (u *auditor) forget() {
	u.verdicts.forgotten = u.a.Now()
	clear(u.truths.seen)
	clear(u.verdicts.first)
	clear(u.verdicts.whole)
	clear(u.verdicts.losses)
	clear(u.verdicts.alone)
	clear(u.sense.replaced)
	clear(u.effects)
	clear(u.reboots)
	clear(u.firstSeen)
	clear(u.said)
	clear(u.since)
	clear(u.held)
	clear(u.acted)
	clear(u.records.open)
	clear(u.checks)
	clear(u.sightless)
	clear(u.approvals.accepted)
	for _, c := range u.a.clusters {
		for _, g := range c.groups {
			g.diedYoung = 0 // it is unknown which of them were replaced before
		}
	}
}

func (u *auditor) checkedWhole(inv *invocation, cluster string) {
	if _, ok := u.verdicts.first[cluster]; !ok && !inv.begun.Before(u.verdicts.forgotten) {
		u.verdicts.first[cluster] = inv.begun
	}
	u.verdicts.whole[cluster] = append(u.verdicts.whole[cluster], inv.begun)
	inv.knew = inv.moded()
	u.zonesDown(inv, cluster)
	if last := u.verdicts.latest[cluster]; last != nil && !last.ended.IsZero() && last.clean() {
		u.verdicts.clean[cluster] = append(u.verdicts.clean[cluster], last.begun)
		if last.knew {
			u.verdicts.moded[cluster] = append(u.verdicts.moded[cluster], last.begun)
		}
		running := sync.OnceValue(last.seen.running) // EC2 may list it later than Kubernetes
		for _, n := range last.seen.nodes.all {      // and could record it
			if id := instanceOf(n); !u.sense.shown[id] && wellNode(n) && running()[id] {
				u.sense.shown[id] = true
			}
		}
	}
	u.verdicts.latest[cluster] = inv
}

func (u *auditor) judged(inv *invocation, what act, c *cluster, m *machine, n *node) {
	if !what.destructive() {
		return
	}
	if m == nil && n != nil {
		m = n.machine
	}
	u.forbids(RuleStopped, inv.v.policy.stops, "%s: %s, and the policy that it read says that nothing is to be done, or is gone", inv.name, what)
	if n != nil && n.guest != "" {
		u.broken(RuleBeside, "%s: %s of node %s, which is of %s", inv.name, what, n.name, n.guest)
		return
	}
	if m != nil {
		u.atRest(inv, string(what), string(what), m)
		u.others(inv, string(what), m)
	}
	if m == nil || what == actDeleteNode && m.state != running {
		return
	}
	if m.elsewhere != "" {
		u.broken(RuleForeign, "%s: %s of %s (%s), which is no node of %s", inv.name, what, m.id, m.elsewhere, c.name)
		return
	}
	u.working(inv, string(what), m)
	u.tolerable(inv, string(what), m)
	u.boots(inv, what, m)
	u.serves(inv, what, m)
	u.replaceable(inv, what, m)
	u.backlog(inv, string(what), m)
	u.vain(inv, what, m)
	u.young(inv, what, m)
	why, out := c.out(m.zone, inv.begun.Add(-15*time.Second))
	u.forbids(RuleZone, out, "%s: %s of %s, and %s", inv.name, what, m.id, why)
}

func (u *auditor) justly(inv *invocation, c *cluster, o order) {
	m := u.a.machines[o.Instance]
	u.forbids(RuleStopped, inv.v.policy.stops, "%s: ordered to %s %s, and the policy that it read says that nothing is to be done, or is gone", inv.name, o.Action, o.Instance)
	if m == nil {
		return
	}
	u.atRest(inv, o.Action, "order to "+o.Action, m)
	u.others(inv, "order to "+o.Action, m)
	if m.state != running {
		return
	}
	if !m.vanished.IsZero() || !m.unnamed.IsZero() {
		u.working(inv, "order to "+o.Action, m)
	}
	u.backlog(inv, "order to "+o.Action, m)
	u.foundBeforehand(inv, o, m)
	u.tolerable(inv, "order to "+o.Action, m)
	why, out := c.out(m.zone, inv.begun.Add(-15*time.Second))
	u.forbids(RuleZone, out, "%s: ordered to %s %s, and %s", inv.name, o.Action, m.id, why)
}

// working checks that a machine that works is not interrupted: its node was last read as Ready, or only its lease
// shows it.
func (u *auditor) working(inv *invocation, what string, m *machine) {
	if m.ail != well || m.state != running || !m.reporting || m.booting || m.settledAt.IsZero() || !m.settledAt.Before(inv.begun) || m.anew() {
		return
	}
	switch {
	case m.lost != nil:
		return // its kubelet runs no pods
	case !m.vanished.IsZero():
		u.forbids(RuleHealthy, m.vanished.Before(inv.begun.Add(-time.Minute)), "%s: %s of %s, which works: its Node is not listed since %s, and its lease is renewed", inv.name, what, m.id, m.vanished.Format(time.TimeOnly))
		return
	case !m.unnamed.IsZero():
		u.forbids(RuleHealthy, m.unnamed.Before(inv.begun.Add(-time.Minute)), "%s: %s of %s, which works: its Node does not carry its id, since %s", inv.name, what, m.id, m.unnamed.Format(time.TimeOnly))
		return
	}
	for _, n := range inv.seen.nodesOf(m.id) {
		// Rollcall is not at fault for what the agent still reports.
		u.forbids(RuleHealthy, readyNode(n) && !failedAccelerator(n) && !u.moving(inv, act(what), m), "%s: %s of %s, which works, and was in order since %s; its node was last seen Ready", inv.name, what, m.id, m.settledAt.Format(time.DateTime))
	}
}

// boots checks that a rebooted machine had enough time to boot. From its launch, the rule tolerance asks.
func (u *auditor) boots(inv *invocation, what act, m *machine) {
	last, ok := u.reboots[m.id]
	ours := ok && m.booting && m.bootedAt.Before(last.Add(time.Minute)) // EC2 may have rebooted it since
	u.forbids(RuleBooting, ours && (what == actTerminate || what == actDeleteClaim), "%s: %s of %s, a %s that boots since Rollcall rebooted it at %s", inv.name, what, m.id, m.g.kind.Type, last.Format(time.TimeOnly))
}

// serves checks that no machine is terminated or rebooted that runs a pod which the policy spares.
func (u *auditor) serves(inv *invocation, what act, m *machine) {
	if !m.serving || m.node == nil || what != actTerminate && what != actReboot && what != actDeleteClaim {
		return
	}
	pol := u.policyOf(inv, m)
	for _, p := range m.node.pods {
		u.forbids(RuleServing, p.keep != "" && pol.spares(p), "%s: %s of %s, which is silent, and serves from pod %s (%s)", inv.name, what, m.id, p.name, p.keep)
	}
}

// replaceable checks that the group may be disturbed.
func (u *auditor) replaceable(inv *invocation, what act, m *machine) {
	g := m.g
	if g.troubled.IsZero() || !g.troubled.Before(inv.begun) {
		return
	}
	switch {
	case g.halts():
		u.broken(RuleGroup, "%s: %s of %s while %s of %s are suspended, since %s", inv.name, what, m.id, strings.Join(g.halted, ", "), g.groupName(), g.troubled.Format(time.TimeOnly))
	case g.unwell() && !u.apart(inv, what, m):
		u.broken(RuleGroup, "%s: %s of %s while %s is %s %s, since %s", inv.name, what, m.id, g.groupName(), g.status, strings.Join(g.issues, " "), g.troubled.Format(time.TimeOnly))
	}
}

// apart reports whether nothing that EKS shows of a node group concerns an act: not a failed launch, if the act ends
// nothing, the policy accepts the loss, or the check could see that the latest launch worked; nor what its creation
// lacked, if the machine was a node.
func (u *auditor) apart(inv *invocation, what act, m *machine) bool {
	if len(m.g.issues) == 0 || m.g.status == "UPDATING" {
		return false
	}
	return !slices.ContainsFunc(m.g.issues, func(code string) bool {
		switch ekstypes.NodegroupIssueCode(code) {
		case ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures:
			return what == actTerminate && !m.g.launchWorked(inv.begun) && u.policyOf(inv, m).values["limits.withoutReplacement"] != "proceed"
		case ekstypes.NodegroupIssueCodeInsufficientFreeAddresses:
			return what == actTerminate && u.policyOf(inv, m).values["limits.withoutReplacement"] != "proceed"
		case createdBare:
			return m.ail == neverJoins || m.ail == neverReady
		}
		return true
	})
}

// backlog checks that the trouble began after the first complete check, for what never joined after its deadline.
func (u *auditor) backlog(inv *invocation, what string, m *machine) {
	first, ok := u.verdicts.first[m.c.name]
	if !ok || m.ail == well || inv.begun.Before(u.verdicts.forgotten) {
		return
	}
	since := m.since.Add(time.Minute)
	if (m.ail == neverJoins || m.ail == neverReady) && m.since.Equal(m.launched) {
		since = m.since.Add(15 * time.Minute)
	}
	if m.anew() {
		since = latest(since, m.node.created) // no check could tell in what state it was before
	}
	u.forbids(RuleBacklog, since.Before(first), "%s: %s of %s, %s since %s; the first complete check of %s began at %s", inv.name, what, m.id, m.ail, m.since.Format(time.TimeOnly), m.c.name, first.Format(time.TimeOnly))
}

// heldByMode remembers what a check holds only for the mode, in which the trouble began and all checks found it.
func (u *auditor) heldByMode(inv *invocation, cluster string, key about) {
	m := u.a.machines[key.instance]
	if m == nil || m.ail == well || !inv.v.policy.read {
		return
	}
	all := u.verdicts.lowered[m.g]
	if known, ok := u.verdicts.meanwhile[key]; len(all) == 0 || ok && known.trouble.Equal(m.since) {
		return
	}
	mode := all[len(all)-1]
	if u.a.Now().Sub(mode.to) > step {
		return // it was lowered less than a minute ago, and the trouble is older
	}
	from := latest(mode.from, u.verdicts.unusable)
	away := m.node != nil && m.node.ready().Status != corev1.ConditionTrue
	if m.since.Before(from) || away && u.times.away(m.node).Before(from) { // it may have been found before as another kind
		return
	}
	lowered := from.Add(2 * step)
	for other, found := range u.firstSeen[cluster] {
		if other.instance == key.instance && found.first.Before(lowered) {
			return
		}
	}
	u.verdicts.meanwhile[key] = meanwhile{inv, m.since}
}

// opening is a check that first found a trouble past its first stage.
type opening struct {
	meanwhile
	allowed bool // the mode allowed acts
}

// policyFor is for how long a function may use a policy that it read. Without one it only reports.
const policyFor = time.Minute + skewed

func (inv *invocation) moded() bool {
	return inv.v.policy.read && !inv.v.policy.at.Before(inv.begun.Add(-policyFor))
}

// opens records in which mode a check finds something past its first stage.
func (u *auditor) opens(inv *invocation, c *cluster, k checkup) {
	for _, key := range k.opened {
		m, known := u.a.machines[key.instance], u.verdicts.opened[key]
		again := known.inv != nil && m != nil && known.trouble.Equal(m.since) && (known.inv.ended.IsZero() || known.inv.clean())
		if m == nil || m.ail == well || again || roll.Kind(key.kind) == roll.Scheduled { // what is scheduled is found long before
			continue
		}
		allowed := inv.moded() && min(u.policy(inv, c, m.g.groupName()).mode, u.policyNow(c, m.g).mode) >= mayRemediate // and not stopped
		switch {
		case known.inv != nil && known.trouble.Equal(m.since):
			allowed = allowed && known.allowed // a check that was cut short may have recorded it
		case m.node != nil && m.node.ready().Status != corev1.ConditionTrue && u.times.away(m.node).Before(m.since.Add(-skewed)):
			allowed = false // it was in another trouble before, of which its node shows no end
		}
		u.verdicts.opened[key] = opening{meanwhile{inv, m.since}, allowed}
	}
}

// wasOpened reports whether a trouble was found while the mode allowed acts, and never was over since.
func (u *auditor) wasOpened(cluster string, key about, m *machine) bool {
	known, found := u.verdicts.opened[key], u.firstSeen[cluster][key]
	switch {
	case known.inv == nil || !known.allowed || !known.trouble.Equal(m.since) || !known.inv.clean() || known.inv.overtaken || known.inv.begun.Before(u.verdicts.forgotten):
		return false
	case found.first.IsZero() || !found.gone.IsZero() || !found.first.Before(known.inv.ended):
		return false // or its end is not on record yet
	case m.node != nil && m.node.ready().LastTransitionTime.After(known.inv.ended):
		return false // it was Ready in between, or looks so
	}
	return m.node == nil || !u.times.of[m.node].back.After(known.inv.begun)
}

// foundBeforehand checks that mode remediate, turned on, does not begin with acts about what was found before.
func (u *auditor) foundBeforehand(inv *invocation, o order, m *machine) {
	key := about{o.Instance, o.Kind}
	known, ok := u.verdicts.meanwhile[key]
	found := u.firstSeen[o.Cluster][key]
	if !ok || !known.trouble.Equal(m.since) || !known.inv.known(inv) || known.inv.overtaken || known.inv.begun.Before(u.verdicts.forgotten) {
		return
	}
	if m.node != nil && m.node.ready().LastTransitionTime.After(known.inv.ended) {
		return // it was Ready in between, or looks so: what a check found of it after that is another finding
	}
	if found.first.Before(known.inv.ended) && found.gone.IsZero() { // it was never over since
		u.broken(RuleBacklog, "%s: ordered to %s %s, %s since %s, which %s held because mode remediate was off", inv.name, o.Action, m.id, m.ail, m.since.Format(time.TimeOnly), known.inv.name)
	}
}

// vain checks that no machine is terminated that evidently, or like an unreadable one, fails for its template.
func (u *auditor) vain(inv *invocation, what act, m *machine) {
	g := m.g
	if !m.stays || m.template.breaks == well || what != actTerminate && what != actDeleteClaim {
		return
	}
	of := launchedFrom{g, m.template.version}
	first := !u.verdicts.tried[of]
	u.verdicts.tried[of] = true
	tries := first && u.policy(inv, m.c, g.groupName()).values["limits.causeOutside"] == "tryOnce"
	u.forbids(RuleVain, m.template.version == g.plain && m.unread == "" && !tries && !u.a.weather.stormy(inv.begun), "%s: %s of %s, which fails for its template, as its user data shows", inv.name, what, m.id)
	for _, other := range m.c.groups {
		if other.unread == "" || other != g && (other.role != g.role || !other.unmapped) {
			continue
		}
		if i := slices.IndexFunc(other.members, func(o *machine) bool {
			return o != m && o.stays && (other != g || o.template.version == m.template.version) && o.launched.Before(inv.begun.Add(-10*time.Minute))
		}); i >= 0 {
			u.broken(RuleVain, "%s: %s of %s, which fails for its template or role as %s does; the user data of one of them is read as %s", inv.name, what, m.id, other.members[i].id, other.unread)
		}
	}
}

// removed checks that a notice reported what Karpenter terminates unregistered, if its cluster could be read.
func (u *auditor) removed(m *machine) {
	a, c, now := u.a, m.c, u.a.Now()
	first, checked := u.verdicts.first[c.name]
	pol := u.policyNow(c, m.g)
	switch {
	case !checked || first.After(m.launched) || u.verdicts.forgotten.After(m.launched), m.hasTag(roll.TagIgnore):
	case u.verdicts.blind[c].After(m.launched), c.unjudged(), m.muted || m.elsewhere != "":
	case pol.mode < mayNotify || u.verdicts.quiet[m.g].After(m.launched):
	case !pol.tells("Unregistered") || !pol.tells("Uninitialized"):
	case pol.duration("registration.warnAfter") > toldWithin || pol.duration("initialization.warnAfter") > toldWithin:
	case a.weather.stormySince(m.launched, now):
	case m.ail == well && m.cured.After(now.Add(-lag-pol.duration("initialization.warnAfter"))): // it joined, too late for Karpenter
	case !u.recorded(c.name, m.launched.Add(pol.duration("registration.warnAfter"))).Before(now.Add(-time.Minute)): // a function may be killed at any time
	case !u.reported(m):
		u.broken(RuleExplained, "%s of %s, launched at %s, is ended by Karpenter, and nobody was told why", m.id, m.g.groupName(), m.launched.Format(time.TimeOnly))
	}
}

// unjudged reports whether Rollcall draws no conclusions about the cluster.
func (c *cluster) unjudged() bool {
	return c.status != "ACTIVE" || c.barred || c.shifted != "" || len(c.a.silenced) > 0
}

const toldWithin = 10 * time.Minute // the longest warning time that leaves a notice enough time before Karpenter terminates

// nodeless reports whether a check may read no node of an instance although it joined: it lost its node, cannot have
// one, is being terminated, or registered while the check ran.
func (u *auditor) nodeless(inv *invocation, id string) bool {
	m := u.a.machines[id]
	if m != nil && m.node != nil && m.node.created.After(inv.begun) {
		return true
	}
	return u.lately("vanished", id) || m != nil && (m.state != running || m.resting(u.a.Now()) || !m.unnamed.IsZero() || m.elsewhere != "" || !m.vanished.IsZero() || m.g.owner == karpenter && m.claim == nil || m.ail == neverJoins && m.since.After(m.launched))
}

func (u *auditor) minute() {
	u.interrupted()
	u.misreports(time.Hour)
	u.promised()
	u.truths.remember(u.a)
	for g := range u.verdicts.losses {
		u.madeGood(g)
	}
	for _, l := range u.a.left {
		u.toldOfLeft(l)
	}
	d := u.policies.document(u.a.dep.policy)
	if d.written == nil {
		u.verdicts.unusable = u.a.Now()
	} else {
		u.verdicts.usable = u.a.Now()
	}
	for _, c := range u.a.clusters {
		u.waits(c)
		if c.unjudged() {
			u.verdicts.blind[c] = u.a.Now()
		}
		u.cordons(c)
		u.dues(c)
		if !c.exists() {
			u.forsaken(c)
		}
		for _, cl := range c.claims {
			u.toldOfKept(c, cl)
		}
		for _, g := range c.groups {
			all := u.verdicts.lowered[g]
			switch n := len(all); {
			case u.policyNow(c, g).mode >= mayRemediate:
			case n > 0 && u.a.Now().Sub(all[n-1].to) <= step:
				all[n-1].to = u.a.Now()
			case d.written != nil || d.gone || u.verdicts.forgotten.Add(lag).After(u.verdicts.usable),
				n > 0 && u.recorded(c.name, all[n-1].to).After(u.verdicts.usable):
				// One that does not validate turns nothing off that was on, if the ledger still knows of that, or ever did.
				u.verdicts.lowered[g] = append(all, span{u.a.Now().Add(-step), u.a.Now()})
			}
			u.lacks(g)
			u.proves(g)
			if u.policyNow(c, g).mode < mayNotify {
				u.verdicts.quiet[g] = u.a.Now()
			}
		}
		for _, m := range c.machines {
			if m.ail != well && m.state == running && (m.hangs || m.unacted || m.awaited || m.holds != nil || m.ail == flapping || u.forces(m) || u.needsRepair(m) != "" || m.ail.replaceable()) {
				u.awaits(m)
			} else if len(u.verdicts.alone) > 0 {
				delete(u.verdicts.alone, m)
			}
		}
	}
}

func (u *auditor) madeGood(g *group) {
	for _, l := range u.verdicts.losses[g] {
		less := g.desired < l.desired && g.owner != karpenter // how many a pool needs, nothing shows
		l.good = l.good || less || u.brought(g, l.took.Add(-slack))
		since := func(at time.Time) bool {
			return slices.ContainsFunc(g.c.machines, func(m *machine) bool { return m.g == g && m.launched.After(at) && u.sense.shown[m.id] })
		}
		l.shown = l.shown || less || since(l.at.Add(5*skewed)) // certainly since
		l.later = l.later || less || since(l.at.Add(lag))
	}
}

// How long a machine that alone is in trouble may stay so until it is reported, and until it is cured.
const (
	reportedWithin = 75 * time.Minute
	unhungWithin   = 150 * time.Minute
	ownerWithin    = 3 * time.Hour
	aloneWithin    = 4 * time.Hour
	resumes        = 45 * time.Minute // how long after a hindrance its cure may still wait
)

// waiting is how long a machine has waited for its cure without a hindrance.
type waiting struct {
	since   time.Time     // zero while something hinders it
	earlier time.Duration // before that
}

// awaits checks that a machine that alone is in trouble is reported and cured.
func (u *auditor) awaits(m *machine) {
	now := u.a.Now()
	w := u.verdicts.alone[m]
	if why := u.hindered(m); why != "" {
		if w != nil && !w.since.IsZero() {
			w.earlier, w.since = w.earlier+max(0, now.Sub(w.since)-resumes), time.Time{}
		}
		return
	}
	switch {
	case w == nil:
		u.verdicts.alone[m] = &waiting{since: now}
		return
	case w.since.IsZero():
		w.since = now
	}
	waits, within, why := w.earlier+now.Sub(w.since), aloneWithin, "it alone is in trouble"
	if waits <= reportedWithin { // the shortest of the times
		return
	}
	if m.hangs {
		within, why = unhungWithin, "its pods never stop"
	} else if u.forces(m) {
		within, why = unhungWithin, "the policy forces its drain"
	} else if m.holds != nil {
		within, why = ownerWithin, "the hold on it is over"
	} else if m.unacted {
		within, why = ownerWithin, "its owner does nothing"
	} else if m.awaited {
		within, why = ownerWithin, "its group replaces what it loses"
	} else if failed := u.needsRepair(m); failed != "" {
		within, why = ownerWithin, failed
	}
	pol, longer := u.policyNow(m.c, m.g), time.Duration(0)
	tells, cures := pol.tells("ConditionFailed"), !pol.asksSomewhere("ConditionFailed") // its ladder says whether somebody has to approve
	switch {
	case m.ail == flapping:
		tells, cures, why = pol.tells("Flapping"), false, "its kubelet comes and goes"
	case u.needsRepair(m) == "":
		longer, cures = pol.cures(m)
		tells = !slices.ContainsFunc(m.ail.found(), func(kind string) bool { return !pol.tells(kind) })
	}
	cures = cures && u.mayAct(m) && !m.full
	within += longer
	if tells && now.Sub(w.since) > reportedWithin && !u.reported(m) {
		u.broken(RuleReport, "%s (%s since %s; %s) is in no notice", m.id, m.ail, m.since.Format(time.TimeOnly), why)
		delete(u.verdicts.alone, m)
	} else if cures && waits > within {
		u.broken(RuleCure, "%s of %s (%s since %s; %s) is not cured, and nothing has stood in the way since %s, and for %s before", m.id, m.g.groupName(), m.ail, m.since.Format(time.TimeOnly), why, w.since.Format(time.TimeOnly), w.earlier)
		delete(u.verdicts.alone, m)
	}
}

// mayAct reports whether the policy allows any acts on a machine, whatever its ladders say.
func (u *auditor) mayAct(m *machine) bool {
	for _, pol := range []*terms{u.policyNow(m.c, m.g), u.policyNow(m.c, nil)} {
		if pol.count("limits.actionsPerHour") == 0 || pol.count("limits.actionsPerCheck") == 0 {
			return false
		}
	}
	return u.policyNow(m.c, m.g).owner(m.g.owner) != "notify"
}

// forces reports whether the policy terminates a machine whose kubelet answers, whatever pods are left.
func (u *auditor) forces(m *machine) bool {
	return m.ail == notReady && u.policyNow(m.c, m.g).values["drain.force"] == "afterBudgetTimeout"
}

// reported reports whether a notice named the machine, by itself or among others.
func (u *auditor) reported(m *machine) bool {
	for key := range u.sense.told {
		if key.cluster == m.c.name && key.instance == m.id {
			return true
		}
	}
	for key, f := range u.a.dep.state(m.c.name).Findings {
		if string(key.Instance) == m.id && (u.sense.told[saidKey{m.c.name, string(f.Group), string(key.Kind), ""}] || u.counted(m.c, key, f.Group)) {
			return true
		}
	}
	return false
}

// owed reports whether a loss of the group is not yet seen made good, or what a deleted NodeClaim launched still
// exists.
func (u *auditor) owed(g *group) bool {
	for _, m := range g.c.machines {
		if m.g == g && m.alive() && m.claim != nil && !m.claim.deleting.IsZero() {
			return true
		}
	}
	return u.owes(g) || slices.ContainsFunc(u.verdicts.losses[g], func(l *loss) bool {
		return !u.settled(g, l) || !u.idle(g, l) && (!l.later || !u.replaced(g, l) || u.unseen(g, l))
	})
}

// owes reports whether a recorded termination of the group, not among the losses, is not made good: nothing was
// launched successfully since. If it is not known when it took effect, what Karpenter launched after its outcome must
// work.
func (u *auditor) owes(g *group) bool {
	return slices.ContainsFunc(u.a.dep.state(g.c.name).Actions, func(a ledger.Action) bool {
		if !g.mayLose(a) {
			return false
		}
		audited := func(l *loss) bool { return l.instance == string(a.Instance) }
		switch brought := u.brought(g, a.At.Add(-slack)); {
		case a.Outcome == nil:
			return !brought
		case !brought && !slices.ContainsFunc(u.verdicts.losses[g], audited):
			return !u.settled(g, &loss{at: a.At, took: a.Outcome.At})
		}
		return g.owner == karpenter && a.Outcome.At.Sub(a.At) > lag && !u.brought(g, a.Outcome.At) &&
			slices.ContainsFunc(g.c.machines, func(m *machine) bool { return m.g == g && m.launched.After(a.Outcome.At) })
	})
}

// hindered returns what may rightly prevent the cure of a machine, or "" if nothing does.
func (u *auditor) hindered(m *machine) string {
	a, c, g, now := u.a, m.c, m.g, u.a.Now()
	first, checked := u.verdicts.first[c.name]
	held := m.hasTag(roll.TagHold)
	if m.holds != nil {
		held = m.holds.keeps(now)
	}
	_, failed := g.launchFailure()
	switch {
	case !c.exists() || c.unjudged():
		return "the cluster"
	case a.weather.stormy(now):
		return "calls"
	case u.policyNow(c, g).mode < mayRemediate:
		return "the policy"
	case g.owner == nobody || g.owner == karpenter && u.policyNow(c, g).owner(karpenter) == "delete-nodeclaim":
		return "its owner"
	case g.suspended || g.halts() || g.unwell() || g.failing != "" || now.Before(g.dry) || len(g.members) < g.desired || g.template.breaks != well || g.unlucky > 0:
		return "the group"
	case failed:
		return "EKS shows that a launch of its group failed, until another one succeeds"
	case u.failed(g, 24*time.Hour) >= u.policyNow(c, g).count("limits.replacements"):
		return "its replacements fail"
	case u.foundLowered(g, m.since) && !slices.ContainsFunc(m.found(), func(kind string) bool { return u.wasOpened(c.name, about{m.id, kind}, m) }):
		return "it was found while the mode was lower"
	case !checked || m.since.Before(first.Add(time.Minute)):
		return "it was ill before"
	case held || m.protected || m.muted || m.stays || m.full || m.aside != "" || m.hasTag(roll.TagIgnore):
		return "a person, or it stays so"
	case !m.vanished.IsZero() || !m.unnamed.IsZero() || m.claim == nil && g.owner == karpenter:
		return "its objects"
	case m.ail == neverReady && g.owner == karpenter && len(m.template.taints) > len(m.template.declared):
		return "Karpenter calls it initialized: it does not know of its startup taint"
	}
	for _, l := range u.verdicts.losses[g] {
		if !u.settled(g, l) || now.Sub(l.at) < 90*time.Minute && l.instance != m.id {
			return "the last loss"
		}
	}
	for _, o := range c.machines {
		if o != m && o.alive() && (o.ail != well || o.muted || o.elsewhere != "" || !o.vanished.IsZero() || o.node == nil) {
			return "other machines"
		}
	}
	if m.node != nil {
		if m.node.cordoned && m.node.annotations[roll.AnnotationCordoned] == "" {
			return "a person"
		}
		if u.forces(m) {
			return ""
		}
		pol, heard := u.policyNow(c, g), m.node.ready().Status != corev1.ConditionUnknown
		for _, p := range m.node.pods {
			if (p.keep != "" || p.guarded && p.leaving.IsZero()) && (heard || pol.spares(p)) {
				return fmt.Sprintf("pod %s", p.name)
			}
		}
	}
	return ""
}

// young checks that machines that die young are not replaced without end.
func (u *auditor) young(inv *invocation, what act, m *machine) {
	if m.g.youth == 0 {
		return // the fault is over: what replaces the machines that are left works
	}
	if !m.young || what != actTerminate && what != actDeleteClaim {
		return
	}
	switch {
	case m.g.diedYoung == 0, m.g.cured(u.a.Now()):
		m.g.diedYoung, m.g.youngSince = 0, u.a.Now()
	case m.launched.Before(m.g.youngSince):
		return // it replaces none of those
	}
	m.g.diedYoung++
	limit := u.policy(inv, m.c, m.g.groupName()).count("limits.replacements")
	u.forbids(RuleVain, m.g.diedYoung > limit, "%s: %s of %s is the %d. in %s, where nothing works for more than %s; limits.replacements is %d", inv.name, what, m.id, m.g.diedYoung, m.g.groupName(), m.g.youth, limit)
}
