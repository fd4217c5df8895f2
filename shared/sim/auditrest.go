package sim

import "time"

// The rule of machines that need not be a node now.
const (
	// RuleAtRest protects machines that are out of service. What a person stopped is not terminated,
	// rebooted or ordered about, though its Node may be deleted. Nothing is done about what is
	// hibernated, in Standby or in a warm pool. What is protected from scale-in is not terminated.
	RuleAtRest Rule = "at-rest"
)

// atRest audits an act, or an order, about a machine that is not to be a node now.
func (u *auditor) atRest(inv *invocation, what, subject string, m *machine) {
	before := func(t time.Time, by time.Duration) bool { return !t.IsZero() && t.Before(inv.begun.Add(-by)) }
	shown := u.shownWithin(inv)
	switch {
	case (m.state == stopping || m.state == stopped) && before(m.restedAt, shown) && (m.hibernates || act(what) != actDeleteNode):
		u.broken(RuleAtRest, "%s: %s of %s, which a person stopped at %s (hibernated: %t)", inv.name, subject, m.id, m.restedAt.Format(time.TimeOnly), m.hibernates)
	case m.aside != "" && before(m.asideSince, time.Second):
		u.broken(RuleAtRest, "%s: %s of %s, which is in %s since %s", inv.name, subject, m.id, m.aside, m.asideSince.Format(time.TimeOnly))
	case !m.shielded.IsZero() && before(m.shielded, time.Second) && (act(what) == actTerminate || act(what) == actDeleteClaim):
		u.broken(RuleAtRest, "%s: %s of %s, which is protected from scale-in since %s", inv.name, subject, m.id, m.shielded.Format(time.TimeOnly))
	}
}
