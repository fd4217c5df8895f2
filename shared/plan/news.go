package plan

import (
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// This file decides whether to notify again. compare compares what a finding says with what was
// said of its instance. news and entryNews return why a notice is due.

// News is the reason for a notice.
type News string

// The reasons for a notice, the most important first.
const (
	NewsOpened    News = "opened"    // it is the first notice of this incident
	NewsOrdered   News = "ordered"   // an act is ordered
	NewsAsked     News = "asked"     // an act needs an approval
	NewsHeld      News = "held"      // acts are held for a reason that was not reported before
	NewsEscalated News = "escalated" // the first of its instances is past its tolerance
	NewsCause     News = "cause"     // a new cause was found, or the reported one is ruled out
	NewsGrown     News = "grown"     // half as many instances again have the fault, or more
)

// AllNews returns all kinds of news, the most important first.
func AllNews() []News {
	return []News{NewsOpened, NewsOrdered, NewsAsked, NewsHeld, NewsEscalated, NewsCause, NewsGrown}
}

// news returns why a notice of the incident is due, the most important reason first. If it returns
// none, no notice is sent, and changes are only remembered.
func news(n Notice, known ledger.Notice, now time.Time) []News {
	due := map[News]bool{}
	for _, e := range n.Entries {
		due[entryNews(e, n.Key, known.Incident)] = true
	}
	if len(n.Replaces) > 0 && !slices.Contains(known.Incident.Causes, n.Key.Cause) {
		due[NewsCause] = true
	}
	if grown(n, known, now) {
		due[NewsGrown] = true
	}
	if known.Incident.Sent == 0 {
		due = map[News]bool{NewsOpened: true, NewsOrdered: due[NewsOrdered], NewsAsked: due[NewsAsked]}
	}
	return slices.DeleteFunc(AllNews(), func(news News) bool { return !due[news] })
}

// noNews means that no notice is due.
const noNews News = ""

// entryNews returns why a notice is due about one instance of an incident.
func entryNews(e Entry, key ledger.NoticeKey, incident ledger.Incident) News {
	// Instances without a group are independent: each has its own news.
	alone := key.Group == roll.GroupNone
	if e.New && e.says.Acts() { // even if it wavered before but no longer does
		if e.Wavers {
			return noNews
		}
		return NewsOrdered
	}
	if e.New && e.says.Asked != "" { // each has an order of its own
		return NewsAsked
	}
	if !e.New || !e.Changed { // a notice said it, or it has returned to that state
		return noNews
	}
	if e.says.Held != "" {
		if alone || !slices.Contains(incident.Reasons, e.says.Held) {
			return NewsHeld
		}
		if e.told.Acts() && !e.Wavers && !e.rebooted { // a notice reported the act
			return NewsHeld
		}
		return noNews
	}
	if e.says.Stage == roll.Overdue {
		if alone || !incident.Escalated() {
			return NewsEscalated
		}
		return noNews
	}
	if alone {
		return NewsGrown
	}
	return noNews
}

// grown reports whether at least half as many instances again have the fault as were reported. With
// an unknown cause, all instances that ever had the fault count, since each may have its own cause.
// With a known cause, only those count that have it now. So a growing fault makes few notices:
// instances that Karpenter replaces again and again make two, not one every 15 minutes.
func grown(n Notice, known ledger.Notice, now time.Time) bool {
	count, told := len(n.Entries), known.Incident.Most
	if n.Key.Cause == "" {
		count, told = known.Incident.Total, known.Incident.Told
		for _, e := range n.Entries {
			if _, member := known.Members[e.Finding.Instance]; !member {
				count++
			}
		}
	}
	untold := func(e Entry) bool { return e.told == (ledger.Statement{}) }
	if n.Key.Kind == roll.Stuck && !slices.ContainsFunc(n.Entries, func(e Entry) bool { return !untold(e) }) {
		return true // each is stuck for its own reason, and no notice named it
	}
	if now.Sub(known.SentAt) >= untoldAfter && slices.ContainsFunc(n.Entries, untold) {
		return true
	}
	return count > told && 2*count >= 3*told
}

// forgetAfter is how long what was reported of an instance is remembered after the last notice once
// the instance drops out. Flapping makes one notice an hour, and a fault that comes back later is
// news again.
const forgetAfter = time.Hour

// untoldAfter is how long after the last notice of an incident its unreported instances become news
// anyway. A fault that lasts that long may be another one by now.
const untoldAfter = 24 * time.Hour

// compare compares what there is to say of an entry's instance with what was said of it.
func (p *planner) compare(e *Entry, before ledger.Notice) {
	f := e.Finding
	m := p.memory(f, before)
	e.was, e.told, e.before = m.Last, m.Told, m.Before
	// The outcome of a reboot has its own notice, and a held act is now a later step.
	told, known := p.State.Action(e.told.Order)
	e.rebooted = known && told.Do == string(Reboot) && told.Outcome != nil && told.Outcome.Result == ledger.Done
	lasts := p.lasts(f, e.was)
	e.says = p.statement(f, lasts)
	waits := e.was != (ledger.Statement{}) && e.was.Stage != roll.Warned && p.waits(f, e.was, lasts) // nothing lasting has changed
	shown := e.was != (ledger.Statement{}) && Reason(e.says.Held).Passing() && slices.Contains(before.Incident.Reasons, e.says.Held)
	if waits || shown {
		e.says = e.was
	}
	e.Changed = e.says != e.was
	// A reason that a notice of the incident gave is no news of one that was held before, as when it moves
	// to another incident and back. Instances without a group are independent: of each, the reason that was
	// told before the last one is none. Which of two reasons holds may depend on what can be read of others.
	returned := e.says.Held != "" && e.told.Held != "" && (e.says == e.before || f.Group != roll.GroupNone && slices.Contains(before.Incident.Reasons, e.says.Held))
	e.New = e.says != e.told && !waits && !shown && !returned // says then differs from what it waits for
	for _, s := range []ledger.Statement{e.says, e.told, e.was} {
		if s.Acts() {
			e.Wavers = p.wavers(f, s, before)
			break
		}
	}
}

// memory returns what is remembered of a finding's instance: in its incident, or else in its
// incident before another cause was found. The last statement in any of them counts, since an
// instance whose cause is sometimes unreadable moves between them.
func (p *planner) memory(f roll.Finding, before ledger.Notice) ledger.MemberMemory {
	m, known := before.Members[f.Instance]
	sent := before.SentAt
	for _, key := range p.open[stratum{f.Group, f.Kind}] {
		n := p.State.Notices[key]
		other, member := n.Members[f.Instance]
		switch {
		case !member:
		case !known:
			m, known, sent = other, true, n.SentAt
		case other.Told != (ledger.Statement{}) && !other.Unnamed && n.SentAt.After(sent):
			m.Told, sent = other.Told, n.SentAt
		}
	}
	return m
}

// statement returns what a notice would say of a finding. lasts means that a passing reason has
// lasted too long.
func (p *planner) statement(f roll.Finding, lasts bool) ledger.Statement {
	v := p.verdicts[f.Key()]
	switch {
	case v.order != nil && v.order.Action.Told():
		return ledger.Statement{Order: v.order.ID}
	case v.order != nil:
		return ledger.Statement{Drain: p.orderID(f, Cordon)}
	case v.held != nil && v.held.Reason == ApprovalPending:
		return ledger.Statement{Asked: v.held.Question.Order}
	case v.held != nil && (!v.held.Reason.Passing() || lasts):
		return ledger.Statement{Held: string(v.held.Reason)}
	}
	return ledger.Statement{Stage: f.Stage}
}

// lastingAfter is how long past its tolerance an act may be held for passing reasons before one of
// them is reported. It is longer than any default step of a ladder or of an owner.
const lastingAfter = 2 * time.Hour

// lasts reports whether a finding has waited longer than passing reasons should take. It returns
// false if a lasting reason held it before, and a passing one holds it now.
func (p *planner) lasts(f roll.Finding, was ledger.Statement) bool {
	if was.Held != "" && !Reason(was.Held).Passing() {
		return false
	}
	known, ok := p.State.Known(f)
	return ok && p.Now.Sub(known.FirstSeen) >= lastingAfter && p.Now.Sub(f.Due) >= lastingAfter && p.Policy(f.Selector).Mode == policy.Remediate
}

// waits reports whether there is nothing new to say of an overdue finding. It waits for the next
// step of its ladder, or is held for a passing reason, or a call of this check that failed for a
// temporary reason could have shown the shared cause that held it.
func (p *planner) waits(f roll.Finding, was ledger.Statement, lasts bool) bool {
	v := p.verdicts[f.Key()]
	switch {
	case v.order != nil:
		return v.order.Action == Drain && was.Held == string(DrainUnfinished) // tried again, as the notice announced
	case f.Stage != roll.Overdue:
		return false
	case v.held == nil:
		return true
	case v.held.Reason == ApprovalPending:
		return false // somebody has to be asked
	case was.Held == string(SharedCause) && v.held.Reason != SharedCause && p.readsLater(f):
		return len(decisive(p.Diagnoses[f.Key()])) == 0 || v.held.Reason.Passing()
	}
	return v.held.Reason.Passing() && !lasts
}

// readsLater reports whether a call about a cause failed for a temporary reason. An empty console
// or a denied call is not temporary.
func (p *planner) readsLater(f roll.Finding) bool {
	return slices.ContainsFunc(p.Diagnoses[f.Key()].NotChecked, func(n roll.NotChecked) bool { return n.Passing })
}

// wavers reports whether an order alternates between given and refused: remediate refused it
// lately, a notice said so, and there was a notice within the hour. A limit that alternates is not
// reported in every check. A drain is remembered by the order of its cordon.
func (p *planner) wavers(f roll.Finding, s ledger.Statement, known ledger.Notice) bool {
	if p.Now.Sub(known.SentAt) >= forgetAfter {
		return false
	}
	return p.refused(s.Order) || s.Drain != "" && (p.refused(s.Drain) || p.refused(p.orderID(f, Drain)))
}
