package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// RuleDeadline requires, in calm, a complete check shortly after the minute in which the tolerance
// of a machine ends, if no other has a fault and an earlier check found it. Only that check can
// order the first step in time.
const RuleDeadline Rule = "deadline"

const (
	// dueWithin is how long after the minute in which something is due its check must have its plan.
	dueWithin = 75 * time.Second
	// calmFor is how long before that the account must have been calm.
	calmFor = 15 * time.Minute
	// arranged is how long before the end of a tolerance a check must begin to schedule another for it.
	arranged = 2 * time.Minute
)

// dues checks every minute that the ends of tolerances have their checks.
func (u *auditor) dues(c *cluster) {
	now := u.a.Now()
	for _, m := range c.machines {
		if m.ail != silent && m.ail != notReady || m.node == nil || !m.node.deleting.IsZero() || m.settledAt.IsZero() {
			continue
		}
		ready := m.node.ready()
		tolerance, watched := u.policyNow(c, m.g).tolerance("Ready", string(ready.Status))
		away := ready.LastTransitionTime.Time
		if !watched || ready.Status == corev1.ConditionTrue || away.Sub(u.times.away(m.node)) > 2*skewed {
			continue // it is Ready yet, or its state changed on the way
		}
		due := away.Add(tolerance)
		minute := due.Add(time.Minute - 1).Truncate(time.Minute)
		if late := now.Sub(minute.Add(dueWithin)); late < 0 || late >= time.Minute || away.After(due.Add(-calmFor)) {
			continue // not yet, asked before, or too short for a check that schedules another
		}
		if u.hindered(m) != "" || u.times.cut.After(due.Add(-calmFor)) || u.a.weather.stormySince(due.Add(-calmFor), now) {
			continue
		}
		found, asked := false, false
		for _, begun := range u.verdicts.whole[c.name] {
			found = found || begun.After(away.Add(2*skewed)) && begun.Before(due.Add(-arranged))
			asked = asked || !begun.Before(due.Add(-2*skewed))
		}
		if found && !asked { // what no check found, none can arrange for: the sweep comes too rarely
			u.broken(RuleDeadline, "%s (%s since %s) is due at %s, and no check came by %s", m.id, m.ail, m.since.Format(time.TimeOnly), due.Format(time.TimeOnly), now.Format(time.TimeOnly))
		}
	}
}
