package plan

import (
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// This file decides whether to notify again. compare sets what a finding says against what
// was said of its instance; news and entryNews answer why a notice is due.

// News is why a notice is sent.
type News string

// What is news, what matters most first.
const (
	NewsOpened    News = "opened"    // it is the first notice about this
	NewsOrdered   News = "ordered"   // an act is ordered
	NewsHeld      News = "held"      // acts are held for a reason that was not told before
	NewsEscalated News = "escalated" // the first of its instances is past its tolerance
	NewsCause     News = "cause"     // another cause was found than the notices told, or the one that they told is ruled out
	NewsGrown     News = "grown"     // half as many instances again have it, or more
)

// AllNews lists what can be news, in the order of its weight.
func AllNews() []News {
	return []News{NewsOpened, NewsOrdered, NewsHeld, NewsEscalated, NewsCause, NewsGrown}
}

// news returns why a notice of the incident is due, what matters most first. Nothing means
// that no notice is sent, and what changed is only remembered.
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
		due = map[News]bool{NewsOpened: true, NewsOrdered: due[NewsOrdered]}
	}
	return slices.DeleteFunc(AllNews(), func(news News) bool { return !due[news] })
}

// noNews is the answer where no notice is due.
const noNews News = ""

// entryNews returns why a notice is due about one instance of an incident.
func entryNews(e Entry, key ledger.NoticeKey, incident ledger.Incident) News {
	// Instances of no group have nothing to do with each other: each has its own news.
	alone := key.Group == roll.GroupNone
	if e.New && e.says.Acts() { // even if it wavered before, and does not any more
		if e.Wavers {
			return noNews
		}
		return NewsOrdered
	}
	if !e.New || !e.Changed { // a notice said it, or it is again what it was
		return noNews
	}
	if e.says.Held != "" {
		if alone || !slices.Contains(incident.Reasons, e.says.Held) {
			return NewsHeld
		}
		if e.told.Acts() && !e.Wavers && !e.rebooted { // a notice said that it is acted on
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

// grown reports whether half as many instances again have the trouble as the notices told,
// or more. Of an unknown cause all count that ever had the trouble, since each may have a
// cause of its own; of a known cause only those that have it now. So a trouble that grows
// makes few notices: what Karpenter replaces again and again makes two, not one every 15
// minutes.
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
		return true // each is stuck for a reason of its own, and no notice named any of them
	}
	if now.Sub(known.SentAt) >= untoldAfter && slices.ContainsFunc(n.Entries, untold) {
		return true
	}
	return count > told && 2*count >= 3*told
}

// forgetAfter is how long what was told of an instance is remembered after the last
// notice when the instance drops out: flapping makes one notice an hour, and trouble
// that comes back later is news again.
const forgetAfter = time.Hour

// untoldAfter is how long after the last notice of an incident its instances that no notice
// named are news anyway: trouble that lasts may be another one by now.
const untoldAfter = 24 * time.Hour

// compare sets what is to be said of an entry's instance against what was said of it.
func (p *planner) compare(e *Entry, before ledger.Notice) {
	f := e.Finding
	m := p.memory(f, before)
	e.was, e.told = m.Last, m.Told
	e.rebooted = p.rebootDone(e.told.Order)
	lasts := p.lasts(f, e.was)
	e.says = p.statement(f, lasts)
	waits := e.was != (ledger.Statement{}) && e.was.Stage != roll.Warned && p.waits(f, e.was, lasts) // nothing lasting has changed
	shown := e.was != (ledger.Statement{}) && Reason(e.says.Held).Passing() && slices.Contains(before.Incident.Reasons, e.says.Held)
	if waits || shown {
		e.says = e.was
	}
	e.Changed = e.says != e.was
	e.New = e.says != e.told && !waits && !shown // says is then not what it waits for
	for _, s := range []ledger.Statement{e.says, e.told, e.was} {
		if s.Acts() {
			e.Wavers = p.wavers(f, s, before)
			break
		}
	}
}

// rebootDone reports whether an order was a reboot that was carried out: its outcome has a notice of
// its own, and what is held now is a later step.
func (p *planner) rebootDone(order string) bool {
	return order != "" && slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
		return a.ID == order && a.Do == string(Reboot) && a.Outcome != nil && a.Outcome.Result == ledger.Done
	})
}

// memory returns what is remembered of a finding's instance: in its incident, or else in the
// one to which it belonged before another cause was found.
func (p *planner) memory(f roll.Finding, before ledger.Notice) ledger.MemberMemory {
	if m, ok := before.Members[f.Instance]; ok {
		return m
	}
	for _, key := range p.open[stratum{f.Group, f.Kind}] {
		if m, ok := p.State.Notices[key].Members[f.Instance]; ok {
			return m
		}
	}
	return ledger.MemberMemory{}
}

// statement returns what a notice would say of a finding. lasts: what passes by itself has
// not passed.
func (p *planner) statement(f roll.Finding, lasts bool) ledger.Statement {
	v := p.verdicts[f.Key()]
	switch {
	case v.order != nil && v.order.Action.Told():
		return ledger.Statement{Order: v.order.ID}
	case v.order != nil:
		return ledger.Statement{Drain: p.orderID(f, Cordon)}
	case v.held != nil && (!v.held.Reason.Passing() || lasts):
		return ledger.Statement{Held: string(v.held.Reason)}
	}
	return ledger.Statement{Stage: f.Stage}
}

// lastingAfter is how long after the end of its tolerance an act may be held for passing
// reasons before one of them is told: longer than any step of a ladder, or any owner, takes
// by default.
const lastingAfter = 2 * time.Hour

// lasts reports whether a finding has waited for longer than what passes by itself should
// take. If it was held for a lasting reason before, and is for a passing one now, the answer
// is no.
func (p *planner) lasts(f roll.Finding, was ledger.Statement) bool {
	if was.Held != "" && !Reason(was.Held).Passing() {
		return false
	}
	known, ok := p.known(f)
	return ok && p.Now.Sub(known.FirstSeen) >= lastingAfter && p.Now.Sub(f.Due) >= lastingAfter && p.Policy(f.Selector).Mode == policy.Remediate
}

// waits reports whether there is nothing new to say of an overdue finding: it waits for the
// next step of its ladder, it is held for a passing reason, or this check could not look for
// the shared cause for which it was held.
func (p *planner) waits(f roll.Finding, was ledger.Statement, lasts bool) bool {
	v := p.verdicts[f.Key()]
	switch {
	case v.order != nil:
		return v.order.Action == Drain && was.Held == string(DrainUnfinished) // tried again, as the notice said
	case f.Stage != roll.Overdue:
		return false
	case v.held == nil:
		return true
	case was.Held == string(SharedCause) && v.held.Reason != SharedCause && len(p.Diagnoses[f.Key()].NotChecked) > 0:
		return len(decisive(p.Diagnoses[f.Key()])) == 0 || v.held.Reason.Passing()
	}
	return v.held.Reason.Passing() && !lasts
}

// wavers reports whether an order is now given and now refused: remediate refused it lately,
// a notice said so, and there was a notice within the hour. What a limit now allows and now
// forbids is not told in every check. A drain is remembered by the order of its cordon.
func (p *planner) wavers(f roll.Finding, s ledger.Statement, known ledger.Notice) bool {
	if p.Now.Sub(known.SentAt) >= forgetAfter {
		return false
	}
	return p.refused(s.Order) || s.Drain != "" && (p.refused(s.Drain) || p.refused(p.orderID(f, Drain)))
}
