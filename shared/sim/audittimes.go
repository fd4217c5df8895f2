package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
)

const (
	// ahead is how far a check may judge ahead: it judges as of the minute of its request, and clocks differ.
	ahead = time.Minute + 2*skewed
	// freshFor is the maximum age of what an act depends on, while the protection is read, evidence stored and the intent
	// recorded; oldest, if one of these calls failed, hung or was retried.
	freshFor = 10 * time.Second
	oldest   = time.Minute
	evicting = 2 * time.Minute // how long one delivery may continue to evict pods
)

// tolerable checks that the trouble of a machine has lasted for as long as the policy tolerates.
func (u *auditor) tolerable(inv *invocation, what string, m *machine) {
	since, tolerated, known := u.tolerated(inv, m)
	u.forbids(RuleTolerance, known && u.a.Now().Add(ahead).Before(since.Add(tolerated)), "%s: %s of %s, %s since %s, and the policy tolerates that for %s", inv.name, what, m.id, state(m), since.Format(time.TimeOnly), tolerated)
}

// tolerated returns since when a machine is in trouble, how long that is tolerated, and false where other rules apply.
func (u *auditor) tolerated(inv *invocation, m *machine) (since time.Time, tolerated time.Duration, known bool) {
	if m.state != running || m.event != nil || m.ail == failedGPU || m.elsewhere != "" || !m.vanished.IsZero() && m.lost == nil || !m.unnamed.IsZero() || m.heirOf != nil || m.cured.After(inv.begun) || m.booting && m.bootedAt.After(inv.begun) {
		return since, 0, false
	}
	pol := u.policyOf(inv, m)
	switch n := m.node; {
	case n == nil && m.claim == nil && m.g.owner == karpenter: // an orphan
		since, tolerated = latest(m.launched, m.unclaimed), pol.duration("orphaned.tolerate")
		if m.unclaimed.After(inv.begun) {
			return since, 0, false // it is not what was seen
		}
	case n == nil:
		since, tolerated = latest(m.launched, m.started, m.leftRest), pol.duration("registration.deadline")
		if found := since.Add((pol.duration("registration.warnAfter") + tolerated) / 2); u.recordedIn(m.c.name, latest(found, u.verdicts.forgotten), m.vanished) {
			since = m.vanished // a check that missed no Node is all that is remembered of it
		}
	case n.ready().Status == corev1.ConditionTrue:
		if !m.settledAt.IsZero() {
			return since, 0, false // it works, or just recovered
		}
		since, tolerated = n.created, pol.duration("initialization.deadline")
	case !n.ready().LastTransitionTime.Time.Before(inv.begun.Add(-skewed).Truncate(time.Second)): // a Node's times are in seconds, and of another clock
		return since, 0, false // it is not what was seen
	default:
		since, tolerated = u.dated(m, u.times.away(n)), pol.duration("conditions.Ready="+string(n.ready().Status))
		if m.settledAt.IsZero() || m.anew() {
			since, tolerated = n.created, min(tolerated, pol.duration("initialization.deadline"))
		}
	}
	if till := pol.duration("impaired.tolerate"); m.ail == impaired && m.since.Add(till).Before(since.Add(tolerated)) {
		since, tolerated = m.since, till
	}
	return since, tolerated, true
}

// dated returns the earliest time at which what a machine reports since a time can be said to have begun: by its own
// clock, unless a check that knew its Node saw after that time that it had not.
func (u *auditor) dated(m *machine, since time.Time) time.Time {
	shown := since.Add(m.clock)
	if m.clock >= 0 || m.node.ready().Status != corev1.ConditionFalse {
		return since
	}
	if begun := u.lastRecorded(m.c.name, since); begun.Before(since) && begun.After(latest(u.verdicts.forgotten, m.node.named)) { // otherwise nobody remembers it
		return latest(shown, begun)
	}
	return shown
}

// anew reports whether a machine that was in order has a Node that never was: it was made since.
func (m *machine) anew() bool {
	return m.node != nil && !m.settledAt.IsZero() && m.settledAt.Before(m.node.created)
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// policyOf returns what applies to a machine, according to what an invocation read.
func (u *auditor) policyOf(inv *invocation, m *machine) *terms {
	of := u.selects(m.c, m.g.groupName())
	of.suggested = m.g.suggested()
	return u.selected(inv, of)
}

// policyFor returns what applies to a machine, or to a group if it is nil, by what an invocation read.
func (u *auditor) policyFor(inv *invocation, c *cluster, group string, m *machine) *terms {
	if m != nil && m.c == c && m.g.groupName() == group && m.state == running {
		return u.policyOf(inv, m)
	}
	return u.policy(inv, c, group)
}

func (g *group) suggested() string {
	platform := ""
	if g.beside == besideWindows {
		platform = "windows"
	}
	return suggests(platform, g.kind.Type)
}

// times is what the auditor remembers of when something was, or is due.
type times struct {
	of        map[*node]absence
	expires   map[string]time.Time               // when the latest order of an id expires
	announced map[string]map[string]announcement // by cluster and instance
	cut       time.Time                          // when a function last left its messages to a later try
	waiting   map[*cluster]span                  // when pods last waited for a node
}

type absence struct {
	left      time.Time              // since when it is not Ready; zero if it is
	was, back time.Time              // since when it was not, and since when it is Ready again
	as        corev1.ConditionStatus // the status with which it was not Ready last
}

// happened records which machines worked once, and since when nodes are not Ready. That one was Ready
// for a moment between two checks is not seen, unless it left Ready again with the same status, whose
// time is then another one.
func (u *auditor) happened(e Event, m *machine) {
	if e.Kind != EventState || m == nil {
		return
	}
	if e.Stage == StateReady {
		u.sense.worked[m.id] = true
		if !m.template.refused { // Karpenter does not take its Node for registered
			u.sense.brought[m.g] = latest(u.sense.brought[m.g], m.launched, m.drawn)
		}
	}
	if m.node == nil {
		return
	}
	t, status := u.times.of[m.node], m.node.ready().Status
	switch {
	case e.Stage != StateReady && t.left.IsZero():
		checks := u.verdicts.whole[m.c.name]
		if t.left = e.At; len(checks) > 0 && checks[len(checks)-1].Before(t.back) && e.At.Sub(checks[len(checks)-1]) <= unwatched && t.as != status {
			t.left = t.was
		}
		t.as = status
	case e.Stage != StateReady:
		t.as = status
	case !t.left.IsZero():
		t.was, t.back, t.left = t.left, e.At, time.Time{}
	}
	u.times.of[m.node] = t
}

// away returns since when a node has not been Ready.
func (t *times) away(n *node) time.Time {
	if at := t.of[n].left; !at.IsZero() {
		return at
	}
	return n.ready().LastTransitionTime.Time
}

// fresh checks that what an act depends on was just read, and that its order has not expired.
func (u *auditor) fresh(inv *invocation, what act, id, order string) {
	now, bound := u.a.Now(), freshFor
	if inv.missed || inv.slow {
		bound = oldest
	}
	if what == actEvict {
		bound += evicting
	}
	node, instance := inv.seen.nodes.at, inv.seen.looked[id].at
	u.forbids(RuleFresh, now.Sub(node) > bound, "%s: %s of %s %s after its node was read", inv.name, what, id, now.Sub(node).Round(time.Second))
	u.forbids(RuleFresh, now.Sub(instance) > bound, "%s: %s of %s %s after EC2 was asked about it", inv.name, what, id, now.Sub(instance).Round(time.Second))
	u.forbids(RuleFresh, node.Before(inv.diagnosed), "%s: %s of %s, whose node was read before the diagnosis and not after it", inv.name, what, id)
	if v := inv.v; v != nil && !v.policy.at.IsZero() && v.policy.at.Before(node) {
		u.broken(RuleFresh, "%s: %s of %s by the policy of %s, which was read before its node", inv.name, what, id, v.policy.at.Format(time.TimeOnly))
	}
	expired, ok := u.times.expires[order]
	u.forbids(RuleFresh, ok && now.Sub(expired) > bound+ahead, "%s: %s of %s by order %s, which expired at %s", inv.name, what, id, order, expired.Format(time.TimeOnly))
}

const (
	dueWithin = 75 * time.Second // how long after the minute in which something is due its check must have its plan
	calmFor   = 15 * time.Minute // how long before that the account must have been calm
	appears   = 5 * time.Minute  // how long after its beginning all functions see a trouble, such as a launch
	arranged  = 2 * time.Minute  // how long before the end of a tolerance a check must begin to schedule another for it
)

// duty is what a check is due for: the end of a tolerance, or an act that was announced.
type duty struct {
	what        string
	due         time.Time
	calm, since time.Time            // since when the account must be calm, and since when a check may know of it
	met         func(at looked) bool // whether a check did what it was due for, or said why not
}

// dues checks every minute that each duty has its check, and that this meets it.
func (u *auditor) dues(c *cluster) {
	last := u.checks[c.name]
	announced := u.announces(c, last)
	for _, m := range c.machines {
		for _, d := range u.duties(m, announced[m.id]) {
			switch found, asked := u.asked(m, d); {
			case !found: // what no check found, none can arrange for: the sweep comes too rarely
			case !asked:
				u.broken(RuleDeadline, "%s at %s, and no check came by %s", d.what, d.due.Format(time.TimeOnly), u.a.Now().Format(time.TimeOnly))
			case u.mayAct(m) && !last.at.Before(d.due) && !d.met(last):
				u.broken(RuleDeadline, "%s at %s, and the check at %s neither orders it nor says what holds it", d.what, d.due.Format(time.TimeOnly), last.at.Format(time.TimeOnly))
			}
		}
	}
}

// duties returns what is due for a machine. next is the act on it that a check announced, if any.
func (u *auditor) duties(m *machine, next announcement) (all []duty) {
	if away, tolerance := u.lasting(m); !away.IsZero() && tolerance >= calmFor { // for less, no check may have scheduled another
		due := away.Add(tolerance)
		all = append(all, duty{
			"an act on " + m.id + " (" + string(m.ail) + " since " + m.since.Format(time.TimeOnly) + ") is due", due, latest(due.Add(-calmFor), away.Add(appears)), away.Add(2 * skewed),
			func(at looked) bool {
				_, cures := u.policyNow(m.c, m.g).cures(m)
				return !cures || at.answers(m.id)
			},
		})
	}
	if next.do != "" && m.state == running && !m.turned(next.by.Add(-2*skewed)) {
		all = append(all, duty{
			"the check at " + next.by.Format(time.TimeOnly) + " announced " + next.do + " of " + m.id, next.at, next.at.Add(-calmFor), next.by.Add(-skewed),
			func(at looked) bool { return u.does(m, at, next) },
		})
	}
	return all
}

// asked reports, when the check of a duty is late, whether a check could arrange for it and whether one came: neither
// where nothing can be said, as the account must be calm.
func (u *auditor) asked(m *machine, d duty) (found, asked bool) {
	now, minute := u.a.Now(), d.due.Add(time.Minute-1).Truncate(time.Minute)
	if late := now.Sub(minute.Add(dueWithin)); late < 0 || late >= time.Minute {
		return false, false // not yet, or asked before
	}
	if u.hindered(m) != "" || u.lately("vanished", m.id) || u.lately("not active", m.c.name) || u.times.cut.After(d.calm) || u.a.weather.stormySince(d.calm, now) {
		return false, false
	}
	for _, begun := range u.verdicts.whole[m.c.name] {
		found = found || begun.After(d.since) && begun.Before(d.due.Add(-arranged))
		asked = asked || !begun.Before(d.due.Add(-2*skewed))
	}
	return found, asked
}

type announcement struct {
	do string
	at time.Time
	by time.Time // the check that announced it first
}

// announces updates the next act on each instance that a check announced, until the check of that time has come.
func (u *auditor) announces(c *cluster, last looked) map[string]announcement {
	before := u.times.announced[c.name]
	if len(before)+len(last.steps) == 0 {
		return nil
	}
	next := map[string]announcement{}
	for _, s := range last.steps {
		if was, ok := next[s.instance]; slices.Contains(doing, s.do) && s.at.After(last.at) && (!ok || s.at.Before(was.at)) {
			next[s.instance] = announcement{s.do, s.at, last.at}
		}
	}
	for id, was := range before {
		pending := !last.at.Before(was.at) && u.a.Now().Before(was.at.Add(2*time.Minute+dueWithin))
		if is := next[id]; pending || is.do == was.do && is.at.Equal(was.at) {
			next[id] = was
		}
	}
	u.times.announced[c.name] = next
	return next
}

var doing = []string{"cordon", "drain", "reboot", "terminate"} // the steps of a ladder that are acts

// turned reports whether what the machine's node shows has changed since a time: then it may be in another trouble.
func (m *machine) turned(since time.Time) bool {
	n := m.node
	return n != nil && (n.ready().LastTransitionTime.After(since) || failedAt(n.conditions).After(since))
}

// does reports whether the check ordered the act, said what holds it, found nothing, or announced another act in its
// place; or whether an act was begun since.
func (u *auditor) does(m *machine, last looked, next announcement) bool {
	another := func(s following) bool { return s.instance == m.id && s.do != next.do && slices.Contains(doing, s.do) }
	return slices.Contains(last.ordered, m.id) || slices.ContainsFunc(last.held, func(h withheld) bool { return h.instance == m.id }) ||
		!slices.ContainsFunc(last.found, func(f about) bool { return f.instance == m.id }) || slices.ContainsFunc(last.steps, another) ||
		slices.ContainsFunc(u.a.dep.state(m.c.name).Actions, func(a ledger.Action) bool { return string(a.Instance) == m.id && a.At.After(next.at.Add(-ahead)) })
}

// lasting returns since when a machine is in a trouble that is tolerated for a time, and that time; else zero.
func (u *auditor) lasting(m *machine) (time.Time, time.Duration) {
	switch {
	case m.state != running: // it has ended
		return time.Time{}, 0
	case m.ail == neverJoins && m.node == nil:
		return m.launched, u.policyNow(m.c, m.g).duration("registration.deadline")
	case m.ail == neverReady && m.node != nil && m.settledAt.IsZero():
		return m.node.created, u.policyNow(m.c, m.g).duration("initialization.deadline")
	case m.ail == impaired:
		return m.since, u.policyNow(m.c, m.g).duration("impaired.tolerate")
	case m.ail != silent && m.ail != notReady || m.node == nil || !m.node.deleting.IsZero() || m.settledAt.IsZero():
		return time.Time{}, 0
	}
	ready := m.node.ready()
	tolerance, watched := u.policyNow(m.c, m.g).tolerance("Ready", string(ready.Status))
	away := ready.LastTransitionTime.Time
	if !watched || ready.Status == corev1.ConditionTrue || ready.Status == corev1.ConditionFalse && m.clock != 0 || away.Sub(u.times.away(m.node)) > 2*skewed {
		return time.Time{}, 0
	}
	return away, tolerance
}

// answers reports whether the check ordered an act on an instance, or said what holds it, or when it comes.
func (l looked) answers(id string) bool {
	holds := func(h withheld) bool { return h.instance == id }
	comes := func(s following) bool { return s.instance == id && s.do != "" && s.at.After(l.at) }
	return slices.Contains(l.ordered, id) || slices.ContainsFunc(l.held, holds) || slices.ContainsFunc(l.steps, comes)
}
