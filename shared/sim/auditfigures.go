package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/roll"
)

const slightly = 2*skewed + time.Second // by how much the clock of a cluster and those of functions may differ

// figures checks a notice's figures: how many nodes of the cluster are Ready, and since when each machine is in
// trouble.
func (u *auditor) figures(inv *invocation, d noticed) {
	if d.Nodes != nil && inv.seen.nodes.whole() {
		all, ready := len(inv.seen.nodes.all), count(inv.seen.nodes.all, readyNode)
		wrong := d.Nodes.Ready != ready || d.Nodes.All != all
		u.misstates(wrong, "%s: a notice of %s in %s says that %d of %d nodes are Ready, and the check saw %d of %d", inv.name, d.Kind, d.Group, d.Nodes.Ready, d.Nodes.All, ready, all)
	}
	for _, i := range d.Instances {
		m := u.a.machines[i.Instance]
		if m == nil || d.Ordered != "" { // an outcome is about the trouble for which the act was ordered
			continue
		}
		from, to, known := u.began(m, roll.Kind(d.Kind)) // a check that began before that gives its own time
		wrong := known && (i.Since.Before(from.Add(-ahead)) || i.Since.After(to.Add(slightly)))
		u.misstates(wrong, "%s: a notice says that %s of %s began at %s, and it did between %s and %s", inv.name, d.Kind, m.id, i.Since.Format(time.DateTime), from.Format(time.DateTime), to.Format(time.DateTime))
	}
}

// misstates records a wrong figure. It is a violation an hour later: what it does to machines comes first.
func (u *auditor) misstates(is bool, format string, args ...any) {
	if is {
		u.misstated = append(u.misstated, Violation{u.a.Now(), RuleReport, fmt.Sprintf(format, args...)})
	}
}

// misreports breaks the rule for the wrong figures of some time ago.
func (u *auditor) misreports(ago time.Duration) {
	for len(u.misstated) > 0 && u.a.Now().Sub(u.misstated[0].At) >= ago {
		u.broken(RuleReport, "at %s, %s", u.misstated[0].At.Format(time.TimeOnly), u.misstated[0].Detail)
		u.misstated = u.misstated[1:]
	}
}

// began returns the earliest and the latest time at which a machine's trouble may be said to have begun. That
// of one that worked before, and whose Node was deleted or whose startup taint came back, shows no time.
func (u *auditor) began(m *machine, kind roll.Kind) (from, to time.Time, known bool) {
	n := m.node
	switch kind {
	case roll.Unregistered:
		from = latest(m.launched, m.started, m.leftRest, m.drawn)
		switch to = latest(from, m.omitted); {
		case u.a.weather.stormySince(from, u.a.Now()):
			to = u.a.Now() // whether its group keeps it in a warm pool may have been unreadable until now
		case from.Equal(latest(m.leftRest, m.drawn)):
			to = latest(to, u.recorded(m.c.name, from.Add(lag)))
		}
		_, vanished := u.truths.last[[2]string{"vanished", m.id}]
		return from, to, n == nil && m.elsewhere == "" && m.settledAt.IsZero() && m.vanished.IsZero() && !vanished && !m.since.After(from)
	case roll.Uninitialized:
		if n == nil || !m.settledAt.IsZero() {
			return from, to, false
		}
		to = n.created
		if back := u.times.of[n].back; u.verdicts.forgotten.After(to) && back.After(u.verdicts.forgotten) {
			to = back // the first check after the loss of the ledger saw it silent
		}
		return n.created, to, true
	case roll.Unknown, roll.NotReady:
		if n == nil || n.ready().Status == corev1.ConditionTrue {
			return from, to, false
		}
		t := u.times.of[n]
		from, to = u.times.away(n), latest(n.ready().LastTransitionTime.Time, m.started) // for one that was stopped it begins anew
		first := t.left
		if !t.was.IsZero() && (t.left.Sub(t.back) < unwatched || !u.recordedIn(m.c.name, t.back, t.left)) {
			from, first = t.was, t.was // no check saw that it was Ready, and could record it
		}
		if first.Sub(n.created) < unwatched && !u.sense.shown[m.id] {
			from = n.created // and nothing shows that it ever was
		}
		if rest := latest(m.leftRest, m.drawn); !rest.IsZero() && (!rest.Before(from) || !u.recordedIn(m.c.name, rest, from)) {
			to = u.a.Now() // it counts from when a check saw that its group had put it into service
		}
		switch from = u.dated(m, from); {
		case m.clock != 0 && n.ready().Status == corev1.ConditionFalse:
			from, to = from.Add(-ahead), u.a.Now() // it counts from when a check saw that its clock is wrong by more than it judges ahead
		case m.clock < 0:
			from = from.Add(m.clock) // it may have reported that it is not ready before it fell silent
		}
		return from, to, true
	case roll.Impaired:
		return m.since, m.since, m.ail == impaired
	case roll.Ghost:
		if n == nil || m.alive() {
			return from, to, false
		}
		if from = m.ended; n.ready().Status != corev1.ConditionTrue && u.times.away(n).Before(from) {
			from = u.times.away(n)
		}
		return u.lastRecorded(m.c.name, from), u.a.Now(), true // the last check that saw no ghost
	}
	return from, to, false
}

// lastRecorded returns when the last complete check before a time that was recorded began, or the time if none was.
func (u *auditor) lastRecorded(cluster string, before time.Time) time.Time {
	for _, begun := range slices.Backward(u.verdicts.clean[cluster]) {
		if begun.Before(before) {
			return begun
		}
	}
	return before
}
