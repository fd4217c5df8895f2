package sim

import "time"

// The rules of what others do: Karpenter, EKS, an upgrade, a person.
const (
	// RuleDisrupted forbids acts and orders about a node that Karpenter removes, for as long as that may
	// take.
	RuleDisrupted Rule = "disrupted"
	// RuleFrozen forbids acts on what works but is silent for the minutes of an upgrade.
	RuleFrozen Rule = "frozen"
	// RuleBeside forbids acts and orders about nodes of Auto Mode, Cluster API, Fargate or a hybrid
	// machine.
	RuleBeside Rule = "beside"
)

const (
	// removedWithin is how long Karpenter has to remove a NodeClaim.
	removedWithin = time.Hour
	// frozenMost is how long an upgrade in place may keep a kubelet silent. By default a node may be
	// Unknown for longer; a policy that tolerates less accepts the act.
	frozenMost = 15 * time.Minute
)

// others audits an act, or an order, about a machine that somebody else handles.
func (u *auditor) others(inv *invocation, what string, m *machine) {
	now := u.a.Now()
	if !m.disrupted.IsZero() && m.disrupted.Before(inv.begun.Add(-5*time.Second)) && now.Sub(m.disrupted) < removedWithin {
		u.broken(RuleDisrupted, "%s: %s of %s, which Karpenter removes since %s", inv.name, what, m.id, m.disrupted.Format(time.TimeOnly))
	}
	if c := m.claim; c != nil && act(what) != actDeleteNode && !c.deleting.IsZero() && c.deleting.Before(inv.begun.Add(-5*time.Second)) && now.Sub(c.deleting) < removedWithin {
		u.broken(RuleDisrupted, "%s: %s of %s, whose NodeClaim is being deleted since %s", inv.name, what, m.id, c.deleting.Format(time.TimeOnly))
	}
	if m.ail == well && !m.frozen.IsZero() && m.frozen.Before(inv.begun) && now.Sub(m.frozen) < min(frozenMost, u.policy(inv, m.c, m.g.groupName()).duration("conditions.Ready=Unknown")) {
		u.broken(RuleFrozen, "%s: %s of %s, which works, and is not heard since %s for an upgrade", inv.name, what, m.id, m.frozen.Format(time.TimeOnly))
	}
	if m.g.beside != "" && m.g.beside != besideWindows {
		u.broken(RuleBeside, "%s: %s of %s, which is of %s", inv.name, what, m.id, m.g.beside)
	}
	if h := m.holds; h.keeps(now) && h.from.Before(inv.begun.Add(-u.shownWithin(inv))) {
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

// heldTruly reports whether the hold of a person's tag is still valid: an expired date holds nothing.
func (u *auditor) heldTruly(m *machine, reason string) bool {
	return reason != "InstanceHeld" || m.holds == nil || m.holds.keeps(u.a.Now().Add(-15*time.Minute))
}
