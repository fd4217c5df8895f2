package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The rules of when something is done.
const (
	// RuleTolerance: nothing is ordered about, or done to, a machine before its trouble has lasted
	// for as long as the policy tolerates.
	RuleTolerance Rule = "tolerance"
	// RuleFresh: what an act rests on was read in the same delivery, a short while before, and its
	// order has not expired.
	RuleFresh Rule = "fresh"
)

const (
	// ahead is by how much a check may judge ahead of the time in the account: it judges as of the
	// minute for which it was asked, and clocks differ.
	ahead = time.Minute + 2*skewed
	// freshFor is how old what an act rests on may be where no call failed, hung or was tried again:
	// the protection is read after it, evidence kept and the intent recorded. Where one did, each of
	// these has its bound.
	freshFor = 10 * time.Second
	oldest   = time.Minute
	// evicting is how long one delivery may go on evicting pods.
	evicting = 2 * time.Minute
)

// tolerable checks that the trouble of a machine has lasted for as long as the policy tolerates,
// counted from when it began.
func (u *auditor) tolerable(inv *invocation, what string, m *machine) {
	if since, tolerated, known := u.tolerated(inv, m); known && u.a.Now().Add(ahead).Before(since.Add(tolerated)) {
		u.broken(RuleTolerance, "%s: %s of %s, %s since %s, and the policy tolerates that for %s", inv.name, what, m.id, state(m), since.Format(time.TimeOnly), tolerated)
	}
}

// tolerated is since when a machine is in trouble, and for how long the policy tolerates that; false
// where other rules are about it.
func (u *auditor) tolerated(inv *invocation, m *machine) (since time.Time, tolerated time.Duration, known bool) {
	if m.state != running || m.event != nil || m.ail == failedGPU || m.elsewhere != "" || !m.vanished.IsZero() || !m.unnamed.IsZero() || m.heirOf != nil {
		return since, 0, false
	}
	pol := u.policyOf(inv, m)
	switch n := m.node; {
	case n == nil && m.claim == nil && m.g.owner == karpenter:
		return since, 0, false // an orphan
	case n == nil:
		since, tolerated = latest(m.launched, m.started, m.leftRest), pol.duration("registration.deadline")
	case n.ready().Status == corev1.ConditionTrue:
		if !m.settledAt.IsZero() {
			return since, 0, false // it works, or came back this moment
		}
		since, tolerated = n.created, pol.duration("initialization.deadline")
	case n.ready().LastTransitionTime.After(inv.begun):
		return since, 0, false // it is not what was seen
	default:
		since, tolerated = u.times.away(n), pol.duration("conditions.Ready="+string(n.ready().Status))
		if m.settledAt.IsZero() {
			since, tolerated = n.created, min(tolerated, pol.duration("initialization.deadline"))
		}
	}
	if till := pol.duration("impaired.tolerate"); m.ail == impaired && m.since.Add(till).Before(since.Add(tolerated)) {
		since, tolerated = m.since, till
	}
	return since, tolerated, true
}

// latest is the latest of several times.
func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// policyOf is what holds for a machine, by what an invocation was told.
func (u *auditor) policyOf(inv *invocation, m *machine) *terms {
	of := u.selects(m.c, m.g.groupName())
	platform := ""
	if m.g.beside == besideWindows {
		platform = "windows"
	}
	of.suggested = suggests(platform, m.g.kind.Type)
	return u.selected(inv, of)
}

// times is what the auditor remembers for these rules.
type times struct {
	left    map[*node]time.Time  // since when nodes have not been Ready
	expires map[string]time.Time // when the latest order of an id expires
}

func newTimes() times { return times{left: map[*node]time.Time{}, expires: map[string]time.Time{}} }

// happened notes since when nodes are not Ready.
func (t *times) happened(e Event, m *machine) {
	if e.Kind != EventState || m == nil || m.node == nil {
		return
	}
	switch _, known := t.left[m.node]; {
	case e.Stage == StateReady:
		delete(t.left, m.node)
	case !known:
		t.left[m.node] = e.At
	}
}

// away is since when a node has not been Ready.
func (t *times) away(n *node) time.Time {
	if at, ok := t.left[n]; ok {
		return at
	}
	return n.ready().LastTransitionTime.Time
}

// fresh checks that what an act rests on was read a short while before, and that its order has
// not expired.
func (u *auditor) fresh(inv *invocation, what act, id, order string) {
	now, bound := u.a.Now(), freshFor
	if inv.missed || inv.slow {
		bound = oldest
	}
	if what == actEvict {
		bound += evicting
	}
	if read := inv.seen.nodes.at; now.Sub(read) > bound {
		u.broken(RuleFresh, "%s: %s of %s %s after its node was read", inv.name, what, id, now.Sub(read).Round(time.Second))
	}
	if read := inv.seen.looked[id].at; now.Sub(read) > bound {
		u.broken(RuleFresh, "%s: %s of %s %s after EC2 was asked about it", inv.name, what, id, now.Sub(read).Round(time.Second))
	}
	if expired, ok := u.times.expires[order]; ok && now.Sub(expired) > bound+ahead {
		u.broken(RuleFresh, "%s: %s of %s by order %s, which expired at %s", inv.name, what, id, order, expired.Format(time.TimeOnly))
	}
}
