package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

type records struct {
	announced  map[string]bool  // orders that a notice reported
	reasons    map[saidKey]bool // reasons for holds that a notice reported, in the place of the instance
	ended      map[string]bool  // orders that terminated or rebooted a machine
	open       map[string]*openIncident
	closed     map[string]saying                 // the last notice of the end of an incident
	later      map[string]string                 // the incident that last reported a machine or other subject
	recovered  map[string]time.Time              // when a notice last reported that an incident of a machine or subject is over
	terminated map[string]time.Time              // when a notice reported that a machine was terminated
	lasting    map[string]map[withheld]time.Time // since when something is held for a reason that does not pass, by cluster
	found      map[about]*invocation             // the complete check that last found something
}

// openIncident is an incident whose end is not yet reported.
type openIncident struct {
	cluster, group, kind string
	members              map[string]bool
	notices              []time.Time
	counted              []time.Time // within a day, without those that report a new order
	last                 *invocation
	told                 []toldOf
	reasons              map[string]saying // reasons for holds that its notices gave
	acts                 bool              // a notice of it reported an order
	overdue              bool              // a notice of it says more than that something may become overdue
	past                 time.Time         // since when one of its instances is overdue, while none says so
}

// toldOf is how many instances a notice reported, and with which cause.
type toldOf struct {
	saying
	instances int
}

// noticesADay is how many notices of one incident may be sent within a day, apart from those of outcomes
// and one for each order. It covers the opening, the growth, and holds of single machines.
const noticesADay = 24

// tellsOf records what a notice reports, and counts the notice.
func (u *auditor) tellsOf(inv *invocation, d noticed) {
	r := &u.records
	orders := false
	for _, i := range d.Instances {
		if i.Order != "" {
			orders = orders || !r.announced[i.Order]
			r.announced[i.Order] = true
		}
		if i.Held != "" {
			r.reasons[saidKey{d.Cluster, d.Group, "", i.Held}] = true
		}
		if d.Truncated > 0 {
			r.reasons[saidKey{d.Cluster, d.Group, "", ""}] = true // any
		}
	}
	if d.Action == "terminated" {
		for _, i := range d.Instances {
			r.terminated[i.Instance] = u.a.Now()
		}
	}
	if d.Incident == nil || d.Incident.ID == "" || d.Ordered != "" {
		return
	}
	id := d.Cluster + " " + d.Incident.ID
	if d.Action == "resolved" {
		if before, ok := r.closed[id]; ok && u.bars(before, inv) && r.open[id] == nil {
			u.broken(RuleEnd, "%s: the end of incident %s of %s in %s is told a second time, first by %s", inv.name, d.Incident.ID, d.Kind, d.Group, before.inv.name)
		}
		r.closed[id] = inv.said(d.Action)
		delete(r.open, id)
		for _, e := range d.Ended {
			r.recovered[e.Instance] = u.a.Now()
		}
		return
	}
	o := r.open[id]
	if o == nil {
		o = &openIncident{reasons: map[string]saying{}, members: map[string]bool{}}
		r.open[id] = o
	}
	o.cluster, o.group, o.kind, o.last = d.Cluster, d.Group, d.Kind, inv
	u.grew(inv, d, o)
	u.heldAgain(inv, d, o)
	for _, i := range d.Instances {
		o.members[i.Instance+i.Subject] = true
		r.later[i.Instance+i.Subject] = id
	}
	o.notices = u.today(o.notices)
	if orders {
		return
	}
	o.counted = u.today(o.counted)
	u.forbids(RuleNoise, len(o.counted) > noticesADay+len(o.members), "%s: incident %s of %s in %s, with %d instances, has its %d. notice within a day", inv.name, d.Incident.ID, d.Kind, d.Group, len(o.members), len(o.counted))
}

// today returns the times within the last 24 hours, and now.
func (u *auditor) today(times []time.Time) []time.Time {
	now := u.a.Now()
	return append(slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= 24*time.Hour }), now)
}

// grew checks that growth with the same cause is reported for half as many instances again, if the last was known.
func (u *auditor) grew(inv *invocation, d noticed, o *openIncident) {
	now, most, cause, recent := len(d.Instances)+d.Truncated, 0, "", false
	for _, t := range o.told {
		if u.bars(t.saying, inv) {
			most, cause, recent = max(most, t.instances), t.what, u.a.Now().Sub(t.inv.begun) < 23*time.Hour
		}
	}
	alone := len(d.News) == 1 && d.News[0] == "grown"
	if alone && recent && d.Cause != "" && d.Cause == cause && d.Group != "none" && d.Kind != string(roll.Stuck) && 2*now < 3*most {
		u.broken(RuleNoise, "%s: incident %s of %s in %s is told again for %d instances, and was for %d", inv.name, d.Incident.ID, d.Kind, d.Group, now, most)
	}
	o.told = append(o.told, toldOf{inv.said(d.Cause), now})
}

// toldFirst checks that a notice preceded an act, if its ladder has one, and records what cannot be taken back.
func (u *auditor) toldFirst(inv *invocation, what act, c *cluster, group string, intent ledger.Action) {
	switch what {
	case actTerminate, actReboot, actDeleteClaim, actDeleteNode, actCordon, actEvict:
	default:
		return
	}
	if intent.ID == "" {
		return
	}
	if what == actTerminate || what == actReboot {
		u.records.ended[intent.ID] = true
	}
	m, told := u.a.machines[string(intent.Instance)], u.records.announced[intent.ID]
	if intent.Do == acts[actEvict] && m != nil {
		told = u.reported(m) // the notice of an earlier step names the drain as the next, which cordons again
	}
	u.forbids(RuleFirst, !told && u.policyFor(inv, c, group, m).tells(string(intent.Kind)), "%s: %s of %s, order %s, of which nobody was told before", inv.name, what, intent.Instance, intent.ID)
}

// onRecord compares the recorded terminations and reboots, by the last try of each order, with what happened.
func (u *auditor) onRecord(c *cluster) {
	last := map[string]ledger.Action{}
	for _, a := range u.a.dep.state(c.name).Actions {
		last[a.ID] = a
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		a := last[id]
		if a.Do != acts[actTerminate] && a.Do != acts[actReboot] || a.Outcome == nil {
			continue
		}
		done := a.Outcome.Result == ledger.Done
		if m := u.a.machines[string(a.Instance)]; a.Do == acts[actTerminate] && done && m != nil && m.state == running {
			u.broken(RuleRecord, "the termination of %s, order %s, is on record as done (%s), and it runs", m.id, id, a.Outcome.Detail)
		}
		u.forbids(RuleRecord, !done && u.records.ended[id], "the %s of %s, order %s, took effect, and is on record as failed (%s)", a.Do, a.Instance, id, a.Outcome.Detail)
	}
}

// unended checks, when all is healthy for long, that each incident's end was reported, unless ignored or moved.
func (u *auditor) unended() {
	for _, id := range slices.Sorted(maps.Keys(u.records.open)) {
		o := u.records.open[id]
		c := u.a.byName[o.cluster]
		if c == nil || !c.exists() || o.last == nil || !o.last.clean() || o.last.begun.Before(u.verdicts.forgotten) {
			continue
		}
		if len(o.notices) == 0 || u.a.Now().Sub(o.notices[len(o.notices)-1]) < time.Hour {
			continue
		}
		if o.group == "" || o.group == "none" || u.elsewhere(id, o) {
			continue
		}
		g := c.groupNamed(o.group)
		if g == nil {
			continue
		}
		if u.policyNow(c, g).mode < mayNotify || u.verdicts.quiet[g].After(o.notices[0]) {
			continue
		}
		open := func(n ledger.Notice) bool { return n.Incident.ID == strings.TrimPrefix(id, o.cluster+" ") }
		if slices.ContainsFunc(slices.Collect(maps.Values(u.a.dep.state(c.name).Notices)), open) {
			u.forbids(RuleEnd, !slices.ContainsFunc(slices.Collect(maps.Keys(o.members)), c.lasts) && !u.finds(c, o) && !u.replaces(g, o), "incident %s of %s in %s, of which the last notice was at %s, is still open, and all its members are well or gone", id, o.kind, o.group, o.notices[len(o.notices)-1].Format(time.TimeOnly))
			continue
		}
		u.broken(RuleEnd, "incident %s of %s in %s, of which the last notice was at %s, is not on record any more, and nobody was told that it is over", id, o.kind, o.group, o.notices[len(o.notices)-1].Format(time.TimeOnly))
	}
}

// replaces reports whether an instance of the incident is gone, or one that no notice named and that came to
// nothing too, and the group's latest machine, perhaps its replacement, has not shown yet whether it becomes a node.
func (u *auditor) replaces(g *group, o *openIncident) bool {
	if o.kind != string(roll.Unregistered) && o.kind != string(roll.Uninitialized) {
		return false
	}
	t := u.policyNow(g.c, g)
	due := t.duration("registration.deadline") + overAfter + 2*u.a.sc.Sweep
	if o.kind == string(roll.Uninitialized) {
		due += t.duration("initialization.deadline")
	}
	launched := func(m *machine) bool {
		return m.g == g && m.launched.After(u.sense.brought[g]) && u.a.Now().Sub(m.launched) < due
	}
	lost := func(m *machine) bool {
		return m.g == g && m.state != running && (o.members[m.id] || m.settledAt.IsZero() && m.ended.After(o.notices[0]))
	}
	all := slices.Collect(maps.Values(u.a.machines))
	return slices.ContainsFunc(all, lost) && slices.ContainsFunc(all, launched)
}

// finds reports whether an instance of the incident's group is found in the same trouble.
func (u *auditor) finds(c *cluster, o *openIncident) bool {
	for key, f := range u.a.dep.state(c.name).Findings {
		if string(f.Group) == o.group && string(key.Kind) == o.kind {
			return true
		}
	}
	return false
}

// lasts reports whether a machine is in trouble, or was within the hour, or whether an object is being removed.
func (c *cluster) lasts(id string) bool {
	m := c.a.machines[id]
	if m == nil {
		return slices.ContainsFunc(c.claims, func(cl *claim) bool { return id == "nodeclaim/"+cl.name && !cl.deleting.IsZero() }) ||
			slices.ContainsFunc(c.nodes, func(n *node) bool { return id == "node/"+n.name && !n.deleting.IsZero() })
	}
	return m.alive() && (m.ail != well || m.event != nil || m.node == nil || !m.node.works || c.a.Now().Sub(m.node.ready().LastTransitionTime.Time) < time.Hour)
}

// elsewhere reports whether all members are ignored, or were reported since as recovered or in another incident.
func (u *auditor) elsewhere(id string, o *openIncident) bool {
	for member := range o.members {
		if at, told := u.records.terminated[member]; told && at.Before(o.notices[len(o.notices)-1]) {
			continue // the last notice was about others
		}
		if u.truths.last[[2]string{"ignored", member}].After(o.notices[len(o.notices)-1]) { // also if it is gone by now
			continue
		}
		if u.records.later[member] == id && !u.records.recovered[member].After(o.notices[len(o.notices)-1]) {
			return false
		}
	}
	return true
}

// evicted checks that no pod is evicted that has a reason against it, or is of a DaemonSet.
func (u *auditor) evicted(inv *invocation, n *node, p *pod) {
	u.forbids(RuleKept, p.daemon, "%s: pod %s/%s of node %s is evicted, which is of a DaemonSet", inv.name, p.namespace, p.name, n.name)
	u.forbids(RuleKept, p.keep != "", "%s: pod %s/%s of node %s is evicted, which has %s", inv.name, p.namespace, p.name, n.name, p.keep)
}

// complete checks that evidence has what could be read of a machine, in deliveries without a failed call.
func (u *auditor) complete(inv *invocation, key archive.Key, files map[string][]byte) {
	m := u.a.machines[string(key.Instance)]
	if m == nil || inv.v.fn != remediator || inv.missed || m.state != running || m.ail == well {
		return
	}
	in := func(file, text string) bool { return strings.Contains(string(files[file]), text) }
	lacks := ""
	switch {
	case !in(archive.Findings, m.id):
		lacks = "its finding"
	case !in("instances.json", m.id):
		lacks = "the instance"
	case m.node != nil && !m.node.bare && !m.node.unlisted && m.node.provider == "" && !in("nodes.json", m.node.name):
		lacks = "its node"
	case key.Kind == roll.Scheduled || key.Kind == roll.Orphaned: // nothing on it shows what EC2 announces, or who its owner was
	case m.claim != nil && !in("nodeclaims.json", m.claim.name):
		lacks = "its NodeClaim"
	case m.console() != "" && len(files["console/"+m.id+".txt"]) == 0:
		lacks = "its console"
	case m.node == nil && m.unread == "" && len(files["user-data/"+m.id+".txt"]) == 0:
		lacks = "its user data"
	case m.ail == impaired && !in("instance-status.json", m.id):
		lacks = "its status checks"
	case m.ail == silent && m.node != nil && !in("leases.json", m.node.name):
		lacks = "its lease"
	}
	u.forbids(RuleEvidence, lacks != "", "%s: what is kept of %s (%s), order %s, lacks %s", inv.name, m.id, state(m), key.Stage, lacks)
}

// The rules of what a notice must say, and must not say again, of acts that are held.

// heldAgain checks that a notice for a hold alone gives a reason that no notice since the last order gave.
func (u *auditor) heldAgain(inv *invocation, d noticed, o *openIncident) {
	again, reason := d.Group != "none" && d.Truncated == 0 && len(d.News) == 1 && d.News[0] == "held", ""
	for _, i := range d.Instances {
		o.acts = o.acts || i.Order != ""
		o.overdue = o.overdue || i.Stage != string(roll.Warned) || i.Order != "" || i.Held != "" || i.Approve != nil
		if i.Held == "" || !i.New {
			continue
		}
		reason = i.Held
		if before, given := o.reasons[i.Held]; !given || !u.bars(before, inv) || u.unignored(i.Instance, before) {
			again = false
		}
	}
	u.forbids(RuleNoise, again && !o.acts && reason != "", "%s: incident %s of %s in %s is told again for %s, which an earlier notice of it gave", inv.name, d.Incident.ID, d.Kind, d.Group, reason)
	for _, i := range d.Instances {
		if i.Held != "" {
			o.reasons[i.Held] = inv.said(i.Held)
		}
	}
	o.overdue = o.overdue || d.Truncated > 0
}

// holdsTold checks that a notice gives each lasting reason for which an act was held for long.
func (u *auditor) holdsTold(c *cluster, k checkup) {
	now, lasting := u.a.Now(), map[withheld]time.Time{}
	for _, h := range k.held {
		m, key := u.a.machines[h.instance], withheld{about: h.about, group: h.group, reason: h.reason}
		switch {
		case m == nil || h.group == "none" || h.action == string(actUncordon) || h.action == string(actOutOfService):
			continue
		case passes[h.reason] || h.reason == "InstanceIgnored" || h.reason == "ApprovalPending":
			continue
		case c.unjudged() || u.a.weather.stormySince(now.Add(-lag), now):
			continue
		}
		if pol := u.policyNow(c, m.g); pol.mode < mayNotify || !pol.tells(h.kind) {
			continue
		}
		lasting[key] = now
		if since, ok := u.records.lasting[c.name][key]; ok {
			lasting[key] = since
		}
		told := u.records.reasons[saidKey{c.name, h.group, "", h.reason}] || u.records.reasons[saidKey{c.name, h.group, "", ""}]
		if !told && now.Sub(lasting[key]) > reportedWithin {
			u.broken(RuleReport, "%s of %s is held for %s since %s, and no notice says so", h.kind, h.instance, h.reason, lasting[key].Format(time.TimeOnly))
			delete(lasting, key)
		}
	}
	u.records.lasting[c.name] = lasting
}

// escalated checks, while the account is calm, that warnings are followed by a notice of what is past its tolerance.
func (u *auditor) escalated(c *cluster) {
	state, now := u.a.dep.state(c.name), u.a.Now()
	for _, id := range slices.Sorted(maps.Keys(u.records.open)) {
		o := u.records.open[id]
		if o.cluster != c.name || o.group == "none" || o.overdue || !o.last.clean() {
			continue
		}
		g := c.groupNamed(o.group)
		beside := func(b *openIncident) bool { // its instance may be in that one by now, if its cause was read
			return b.cluster == o.cluster && b.group == o.group && b.kind == o.kind && b.overdue
		}
		overdue := g != nil && !slices.ContainsFunc(slices.Collect(maps.Values(u.records.open)), beside) && u.policyNow(c, g).mode >= mayNotify && u.policyNow(c, g).tells(o.kind) && !c.unjudged() && !u.a.weather.stormy(now)
		overdue = overdue && slices.ContainsFunc(slices.Collect(maps.Keys(o.members)), func(member string) bool {
			f, ok := state.Findings[roll.FindingKey{Instance: roll.InstanceID(member), Kind: roll.Kind(o.kind)}]
			return ok && f.Stage == roll.Overdue && u.records.later[member] == id
		})
		switch {
		case !overdue:
			o.past = time.Time{}
		case o.past.IsZero():
			o.past = now
		case now.Sub(o.past) > 20*time.Minute+2*u.a.sc.Sweep:
			u.broken(RuleReport, "an instance of incident %s of %s in %s is past its tolerance since %s, and notices only warned of that", id, o.kind, o.group, o.past.Format(time.TimeOnly))
			o.overdue = true
		}
	}
}

const overAfter = 10 * time.Minute // how long an incident must be free of trouble before its end is reported: shared/plan/README.md

// over checks that an incident's end is reported only after its nodes are well for that long, and its latest machine
// too.
func (u *auditor) over(inv *invocation, d noticed) {
	c := u.a.byName[d.Cluster]
	if c == nil || !c.exists() {
		return
	}
	for _, e := range d.Ended {
		if e.How == "recovered" {
			u.ends(inv, about{e.Instance, d.Kind})
		}
	}
	switch roll.Kind(d.Kind) {
	case roll.Unknown, roll.NotReady:
		for _, e := range d.Ended {
			last := u.records.found[about{e.Instance, d.Kind}]
			if m := u.a.machines[e.Instance]; e.How != "recovered" || m == nil || m.anew() || last == nil || !last.known(inv) || last.overtaken {
				continue
			}
			gone := u.a.Now().Sub(last.seen.nodes.at)
			u.forbids(RuleEnd, gone < overAfter-ahead, "%s: %s of %s is told to be over, and %s found it %s ago", inv.name, d.Kind, e.Instance, last.name, gone.Round(time.Second))
		}
	case roll.Unregistered, roll.Uninitialized:
		due := u.policy(inv, c, d.Group).duration("registration.deadline") - ahead
		known := func(e noticedEnded) bool { // it ended so long ago that a check knew it
			m := u.a.machines[e.Instance]
			return m != nil && !m.ended.IsZero() && u.a.Now().Sub(m.ended) > lag
		}
		if !slices.ContainsFunc(d.Ended, known) {
			return
		}
		for _, i := range inv.seen.instances.all {
			m := u.a.machines[*i.InstanceId]
			starts := m != nil && m.elsewhere == "" && m.launched.Before(inv.begun.Add(-time.Minute)) && runs(i) && groupOf(i) == d.Group && m.g.groupName() == d.Group
			if starts && d.Group != "none" && m.launched.After(u.sense.brought[m.g]) && u.a.Now().Sub(m.launched) < due && !inv.seen.omitted(m.id) {
				u.broken(RuleEnd, "%s: %s in %s is told to be over, and its latest machine %s, launched at %s, is no node yet", inv.name, d.Kind, d.Group, m.id, m.launched.Format(time.TimeOnly))
			}
		}
	}
}

// ends checks that no lasting trouble that only EC2's status shows ends because it could not be read.
func (u *auditor) ends(inv *invocation, key about) {
	m, lasts := u.a.machines[key.instance], false
	switch kind := roll.Kind(key.kind); {
	case m == nil || m.state != running || m.aside != "": // what is not in service in its group is not judged
	case kind == roll.Impaired:
		lasts = m.ail == impaired && (inv.seen.unchecked || m.unchecked())
	case !inv.seen.unchecked:
	case kind == roll.Scheduled:
		lasts = m.event != nil && m.event.over.IsZero()
	}
	u.forbids(RuleEnd, lasts && !u.lately("vanished", key.instance), "%s: %s of %s is over for it, and EC2 did not say so", inv.name, key.kind, key.instance)
}
