package sim

import (
	"time"
)

// The rule of scheduled events of EC2, and the time that it leaves to Karpenter.
const (
	// RuleScheduled limits acts on a machine with a scheduled event to cordon and drain. They come
	// within the policy's lead, while the event is not over, and after Karpenter's time to move it.
	// Rollcall never terminates or reboots it.
	RuleScheduled Rule = "scheduled"
	// karpenterMoves is how long Karpenter has to move what EC2 is going to interrupt.
	karpenterMoves = 10 * time.Minute
)

// moving audits an act on a machine that works and for which EC2 scheduled an event. It reports whether
// there is such an event.
func (u *auditor) moving(inv *invocation, what act, m *machine) bool {
	if m == nil || m.event == nil {
		return false
	}
	e, now := m.event, u.a.Now()
	lead := u.policy(inv, m.c, m.g.groupName()).duration("scheduled.lead")
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
