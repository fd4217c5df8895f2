package sim

// young checks that machines that die young are not replaced without end: each replacement was in order
// for minutes, and none for an hour.
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
	if limit := u.policy(inv, m.c, m.g.groupName()).count("limits.replacements"); m.g.diedYoung > limit {
		u.broken(RuleVain, "%s: %s of %s is the %d. in %s, where nothing works for more than %s; limits.replacements is %d", inv.name, what, m.id, m.g.diedYoung, m.g.groupName(), m.g.youth, limit)
	}
}
