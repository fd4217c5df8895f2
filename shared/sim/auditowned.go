package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
)

const (
	removedWithin    = time.Hour        // how long Karpenter has to remove a NodeClaim
	scaledDownWithin = 30 * time.Minute // how long Cluster Autoscaler has to remove a node
	frozenMost       = 15 * time.Minute // how long an upgrade in place may keep a kubelet silent, unless the policy tolerates less
)

// others audits an act, or an order, about a machine that somebody else handles.
func (u *auditor) others(inv *invocation, what string, m *machine) {
	now := u.a.Now()
	within := removedWithin
	if m.g.owner != karpenter {
		within = scaledDownWithin
	}
	if !m.disrupted.IsZero() && m.disrupted.Before(inv.begun.Add(-5*time.Second)) && now.Sub(m.disrupted) < within {
		u.broken(RuleDisrupted, "%s: %s of %s, which its owner removes since %s", inv.name, what, m.id, m.disrupted.Format(time.TimeOnly))
	}
	if c := m.claim; c != nil && act(what) != actDeleteNode && !c.deleting.IsZero() && c.deleting.Before(inv.begun.Add(-5*time.Second)) && now.Sub(c.deleting) < removedWithin {
		u.broken(RuleDisrupted, "%s: %s of %s, whose NodeClaim is being deleted since %s", inv.name, what, m.id, c.deleting.Format(time.TimeOnly))
	}
	unheard := m.node != nil && m.node.ready().Status != corev1.ConditionTrue // until then nobody can know
	tolerance := "conditions.Ready=Unknown"
	if !m.vanished.IsZero() || !m.unnamed.IsZero() { // no Node shows its silence
		tolerance = "registration.deadline"
	}
	if m.ail == well && unheard && !m.frozen.IsZero() && m.frozen.Before(inv.begun) && now.Sub(m.frozen) < min(frozenMost, u.policyOf(inv, m).duration(tolerance)) {
		u.broken(RuleFrozen, "%s: %s of %s, which works, and is not heard since %s for an upgrade", inv.name, what, m.id, m.frozen.Format(time.TimeOnly))
	}
	u.forbids(RuleBeside, m.g.beside != "" && m.g.beside != besideWindows, "%s: %s of %s, which is of %s", inv.name, what, m.id, m.g.beside)
	if h := m.holds; h.keeps(now) && h.from.Before(inv.begun.Add(-u.shownWithin(inv))) && (act(what) != actDeleteNode || slices.Contains(m.c.machines, m)) { // otherwise EC2 shows no tag of it any more
		u.broken(RuleKept, "%s: %s of %s, which a person holds since %s", inv.name, what, m.id, h.from.Format(time.TimeOnly))
	}
}

// shownWithin returns the longest delay after which EC2 shows an invocation a change.
func (u *auditor) shownWithin(inv *invocation) time.Duration {
	for _, s := range u.a.weather.spells {
		if s.what == FaultStale && s.from.Before(inv.begun) && s.to.Add(staleMost).After(inv.begun) {
			return staleMost + 5*time.Second
		}
	}
	return atTimes + 5*time.Second
}

// atRest audits an act, or an order, about a machine that is not to be a node now.
func (u *auditor) atRest(inv *invocation, what, subject string, m *machine) {
	before := func(t time.Time, by time.Duration) bool { return !t.IsZero() && t.Before(inv.begun.Add(-by)) }
	shown := u.shownWithin(inv)
	switch {
	case (m.state == stopping || m.state == stopped) && before(m.restedAt, shown) && (m.hibernates || act(what) != actDeleteNode):
		u.broken(RuleAtRest, "%s: %s of %s, which a person stopped at %s (hibernated: %t)", inv.name, subject, m.id, m.restedAt.Format(time.TimeOnly), m.hibernates)
	case m.aside != "" && m.alive() && before(m.asideSince, time.Second):
		u.broken(RuleAtRest, "%s: %s of %s, which is in %s since %s", inv.name, subject, m.id, m.aside, m.asideSince.Format(time.TimeOnly))
	case !m.shielded.IsZero() && before(m.shielded, time.Second) && (act(what) == actTerminate || act(what) == actDeleteClaim):
		u.broken(RuleAtRest, "%s: %s of %s, which is protected from scale-in since %s", inv.name, subject, m.id, m.shielded.Format(time.TimeOnly))
	}
}

const karpenterMoves = 10 * time.Minute // how long Karpenter has to move what EC2 is going to interrupt

// moving audits an act on a machine that works, and reports whether EC2 scheduled an event for it.
func (u *auditor) moving(inv *invocation, what act, m *machine) bool {
	if m == nil || m.event == nil {
		return false
	}
	e, now := m.event, u.a.Now()
	lead := u.policyOf(inv, m).duration("scheduled.lead")
	interrupts := what != actCordon && what != actEvict
	if m.ail == failedGPU && (interrupts || !e.over.IsZero() || now.Before(e.notBefore.Add(-lead))) {
		return false // it is about its GPU
	}
	switch {
	case interrupts:
		u.broken(RuleScheduled, "%s: %s of %s, which works; %s of it is scheduled, and EC2 does that itself", inv.name, what, m.id, e.code)
	case !e.over.IsZero() && e.over.Before(inv.begun):
		u.broken(RuleScheduled, "%s: %s of %s, which works; %s of it was %s at %s", inv.name, what, m.id, e.code, e.why, e.over.Format(time.TimeOnly))
	case now.Add(slack).Before(e.notBefore.Add(-lead)):
		u.broken(RuleScheduled, "%s: %s of %s, which works; %s of it comes at %s, and the lead is %s", inv.name, what, m.id, e.code, e.notBefore.Format(time.DateTime), lead)
	case m.g.owner == karpenter && now.Add(slack).Before(e.announced.Add(karpenterMoves)):
		u.broken(RuleScheduled, "%s: %s of %s, which works; Karpenter has had since %s to move what %s hits", inv.name, what, m.id, e.announced.Format(time.TimeOnly), e.code)
	}
	return true
}

const repairAccelerated = 10 * time.Minute // how long AWS waits before it repairs an accelerator

// repairing audits an act on a machine whose node was last seen with a failed accelerator, and reports whether it was.
func (u *auditor) repairing(inv *invocation, what act, m *machine, n *corev1.Node) bool {
	if m == nil || !failedAccelerator(n) {
		return false
	}
	ends, pol := what == actTerminate || what == actDeleteClaim, u.policyOf(inv, m)
	switch repair := pol.repair(m.gpu); {
	case !pol.repairs(gpuSays[m.gpu][0]):
		u.broken(RuleAccelerator, "%s: %s of %s, which is Ready; the policy does not say that accelerators are repaired", inv.name, what, m.id)
	case m.ail != failedGPU: // it is healthy by now, which other rules cover
	case repair == "hold":
		u.broken(RuleAccelerator, "%s: %s of %s, which works: only the agent does not reach DCGM", inv.name, what, m.id)
	case what == actReboot && repair == "replace":
		u.broken(RuleAccelerator, "%s: %s of %s, whose GPU fell off the bus: a reboot does not cure that", inv.name, what, m.id)
	case ends && repair == "reboot" && !u.rebootTried(m):
		u.broken(RuleAccelerator, "%s: %s of %s, which a reboot might have cured", inv.name, what, m.id)
	case u.a.Now().Add(slack).Before(m.gpuFailed.Add(repairAccelerated)):
		u.broken(RuleAccelerator, "%s: %s of %s, whose accelerator failed at %s", inv.name, what, m.id, m.gpuFailed.Format(time.TimeOnly))
	case m.g.owner == nodeGroup && m.g.repair && u.a.Now().Sub(m.gpuFailed) < repairAfter:
		u.broken(RuleOwner, "%s: %s of %s, of a node group that repairs its nodes", inv.name, what, m.id)
	}
	return true
}

func failedAccelerator(n *corev1.Node) bool {
	return conditionOf(n.Status.Conditions, accelerated).Status == corev1.ConditionFalse
}

// rebootTried reports whether the machine was rebooted within the last day, or has a reboot on record.
func (u *auditor) rebootTried(m *machine) bool {
	if at, ok := u.reboots[m.id]; ok && u.a.Now().Sub(at) < 24*time.Hour {
		return true
	}
	return slices.ContainsFunc(u.a.dep.state(m.c.name).Actions, func(a ledger.Action) bool {
		return string(a.Instance) == m.id && a.Do == acts[actReboot]
	})
}

// needsRepair returns why a machine should be rebooted or replaced for its accelerator, "" if it should not.
func (u *auditor) needsRepair(m *machine) string {
	pol := u.policyNow(m.c, m.g)
	if m.ail != failedGPU || pol.repair(m.gpu) == "hold" || !pol.repairs(gpuSays[m.gpu][0]) {
		return ""
	}
	return fmt.Sprintf("its accelerator failed (%s)", m.gpu)
}
