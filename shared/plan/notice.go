package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Notice is what is to be told about the instances of one group, kind and cause: never
// one notice per instance.
type Notice struct {
	Key     ledger.NoticeKey
	Entries []Entry
	// News is why it is told, what matters most first; empty if it is over.
	News []News
	// Over: the trouble has ended for all of them. Entries is empty then, and Ended
	// tells what became of whom.
	Over  bool
	Ended []Ended
	// OverSince is when the last of them was first seen without the trouble.
	OverSince time.Time
	// Nodes is how many nodes the whole cluster has, and Ready how many of them are; both
	// are 0 if not all could be read.
	Nodes, Ready int
	// Gone: EKS does not know the cluster any more.
	Gone bool
	// Incident is what this and the notices before it are about; Sent counts this one.
	Incident ledger.Incident
	// Said is what the ledger is to remember once the notice is sent, and Replaces what
	// it is to forget then: notices that this one goes on from.
	Said     ledger.Notice
	Replaces []ledger.NoticeKey
}

// Earliest is when the trouble of the notice's first instance began.
func (n Notice) Earliest() time.Time {
	var t time.Time
	for _, e := range n.Entries {
		if t.IsZero() || e.Finding.Since.Before(t) {
			t = e.Finding.Since
		}
	}
	return t
}

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

// Entry is one instance of a notice.
type Entry struct {
	Finding roll.Finding
	Step    Step
	Order   *Order
	Held    *Held
	Hold    string // value of its tag rollcall:hold while it holds
	New     bool   // no notice said this of it yet
	// Changed: it differs from what is remembered of it, whether a notice said that or not.
	Changed bool
	// Wavers: it is now held, and now ordered and refused, and was told to be.
	Wavers bool
	// Left is what the owner does about the finding by itself, and Until how long it is
	// left to it; "" and zero if that is over, or nothing.
	Left  string
	Until time.Time
	// Causes are what a diagnosis found, the root first.
	Causes []roll.Cause
	// Launched is the launch of its instance, zero if that was not seen.
	Launched time.Time
	// Evidence is where what was read of it is kept, "" if it is not.
	Evidence string

	gist string // what is remembered of it
	was  string // what was, "" if nothing
	told string // what the last notice said of it, "" if none did
}

// forgetAfter is how long what was told of an instance is remembered after the last
// notice when the instance drops out: flapping makes one notice an hour, and trouble
// that comes back later is news again.
const forgetAfter = time.Hour

// notices works out which incidents have news. That one more instance has what the last
// notice told of others is none, unless many more have; instances that drop out, and
// reasons that pass by themselves, are none either. What is no news is only remembered.
func (p *planner) notices() {
	byKey := p.incidents()
	p.continued = map[ledger.NoticeKey]bool{}
	for _, key := range slices.SortedFunc(maps.Keys(byKey), ledger.NoticeKey.Compare) {
		if p.Policy(roll.GroupSelector(key.Group)).Mode.Allows(policy.Notify) {
			p.notice(key, byKey[key], byKey)
		}
	}
	p.over(byKey)
	slices.SortFunc(p.out.Notices, func(a, b Notice) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(p.out.Changes.Drop.Notices, ledger.NoticeKey.Compare)
	slices.SortFunc(p.out.Quiet, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Finding.Instance, b.Finding.Instance), cmp.Compare(a.Finding.Kind, b.Finding.Kind))
	})
	p.nameIncidents()
	p.countNodes()
	for i := range p.out.Notices {
		p.out.Notices[i].Gone = p.gone
	}
}

// countNodes tells in each notice how the cluster as a whole is.
func (p *planner) countNodes() {
	if !p.Snapshot.Whole() {
		return
	}
	for i := range p.out.Notices {
		p.out.Notices[i].Nodes, p.out.Notices[i].Ready = p.Assessment.Nodes, p.Assessment.Ready
	}
}

// notice works out what is to be told, or only remembered, of one incident.
func (p *planner) notice(key ledger.NoticeKey, findings []roll.Finding, byKey map[ledger.NoticeKey][]roll.Finding) {
	known, replaced := p.before(key, byKey)
	known, heard := p.heard(key, known, findings)
	n := Notice{Key: key, Replaces: replaced, Incident: known.Incident.Clone()}
	for _, f := range findings {
		n.Entries = append(n.Entries, p.entry(f, known))
	}
	n.News = p.news(n, known)
	n.Said = ledger.Notice{SentAt: p.Now, Members: map[roll.InstanceID]string{}}
	changed := n.join(known)
	gone := p.leave(&n, known)
	if len(n.News) > 0 {
		p.forgetHolds(&n, known)
		p.sent(&n)
		p.out.Notices = append(p.out.Notices, n)
		return
	}
	if changed || gone || heard || len(replaced) > 0 || !known.Over.IsZero() {
		n.Said.SentAt, n.Said.Incident = known.SentAt, n.Incident
		p.putNotice(key, n.Said)
		p.out.Changes.Drop.Notices = append(p.out.Changes.Drop.Notices, replaced...)
	}
	for _, e := range n.Entries {
		if e.Changed {
			p.out.Quiet = append(p.out.Quiet, e)
		}
	}
}

// entry is what there is to say of a finding.
func (p *planner) entry(f roll.Finding, before ledger.Notice) Entry {
	v := p.verdicts[f.Key()]
	known, _ := p.known(f)
	e := Entry{Finding: f, Step: p.out.Steps[f.Key()], Order: v.order, Held: v.held, Causes: p.Diagnoses[f.Key()].Causes, Evidence: known.Evidence}
	if i := p.instances[f.Instance]; i != nil {
		e.Launched = i.Launched
		if roll.HoldActive(i.Hold, p.Now) {
			e.Hold = i.Hold
		}
	}
	if until, what := p.left(f); p.Now.Before(until) {
		e.Left, e.Until = what, until
	}
	was, told := p.said(f, before)
	lasts := p.lasts(f, was)
	e.was, e.told, e.gist = was, told, p.gist(f, lasts)
	reason, held := strings.CutPrefix(e.gist, gistHeld)
	waits := was != "" && was != string(roll.Warned) && p.waits(f, was, lasts) // nothing lasting has changed
	shown := was != "" && held && Reason(reason).Passing() && slices.Contains(before.Incident.Gists, e.gist)
	if waits || shown {
		e.gist = was
	}
	e.Changed = e.gist != was
	e.New = e.gist != told && !waits && !shown // what is remembered of it is not what it waits for now
	for _, gist := range []string{e.gist, told, was} {
		if ordersActs(gist) {
			e.Wavers = p.wavers(e, gist, before)
			break
		}
	}
	return e
}

// said is what is remembered of a finding's instance, and what the last notice said of it: in
// its incident, or in the one that it was counted among before another cause was found.
func (p *planner) said(f roll.Finding, before ledger.Notice) (was, told string) {
	if was, told = before.Said(f.Instance); was != "" {
		return was, told
	}
	for _, key := range p.open[stratum{f.Group, f.Kind}] {
		if was, told = p.State.Notices[key].Said(f.Instance); was != "" {
			return was, told
		}
	}
	return "", ""
}

// left is until when Karpenter is left to deal with a finding, and what it does, if the
// ladder has an act for it at all.
func (p *planner) left(f roll.Finding) (time.Time, string) {
	pol := p.Policy(f.Selector)
	for _, step := range p.ladder(f, pol) {
		if act := p.actionOf(step.Do, f, pol); act != "" && f.Owner == roll.OwnerKarpenter && p.cannot(f, act) == "" {
			return p.karpenterActs(f, act)
		}
	}
	return time.Time{}, ""
}

// What is remembered of an instance is its stage, or one of these with more behind it.
const (
	gistHeld     = "held:"     // and the reason
	gistOrdered  = "ordered:"  // and the order's id
	gistDraining = "draining:" // and the cordon's id: cordon and drain are one piece of news
	gistCause    = "cause:"    // and the code, "" for none: what an incident was said to be caused by
)

// gist is what a notice says of a finding in short: its change may be news. lasts: what
// passes by itself has not.
func (p *planner) gist(f roll.Finding, lasts bool) string {
	v := p.verdicts[f.Key()]
	switch {
	case v.order != nil && v.order.Action.Told():
		return gistOrdered + v.order.ID
	case v.order != nil:
		return gistDraining + p.orderID(f, Cordon)
	case v.held != nil && (!v.held.Reason.Passing() || lasts):
		return gistHeld + string(v.held.Reason)
	}
	return string(f.Stage)
}

// lastingAfter is how long after the end of its tolerance something may be held for
// reasons that pass by themselves before one of them is told: longer than any step of a
// ladder, or any owner, takes by default.
const lastingAfter = 2 * time.Hour

// lasts reports that a finding has been waiting for longer than what passes by itself
// should take. Of one that was held for a reason that does not pass, and is for another one
// now, nobody can tell.
func (p *planner) lasts(f roll.Finding, was string) bool {
	if reason, held := strings.CutPrefix(was, gistHeld); held && !Reason(reason).Passing() {
		return false
	}
	known, ok := p.known(f)
	return ok && p.Now.Sub(known.FirstSeen) >= lastingAfter && p.Now.Sub(f.Due) >= lastingAfter && p.Policy(f.Selector).Mode == policy.Remediate
}

// waits reports that nothing new is to be said of an overdue finding: it waits for the
// next step of its ladder, or is held for a reason that passes by itself, or the shared
// cause for which it was held could not be looked for this time.
func (p *planner) waits(f roll.Finding, before string, lasts bool) bool {
	v := p.verdicts[f.Key()]
	switch {
	case v.order != nil:
		return v.order.Action == Drain && before == gistHeld+string(DrainUnfinished) // it is tried again, as was said
	case f.Stage != roll.Overdue:
		return false
	case v.held == nil:
		return true
	case before == gistHeld+string(SharedCause) && v.held.Reason != SharedCause && len(p.Diagnoses[f.Key()].NotChecked) > 0:
		return len(decisive(p.Diagnoses[f.Key()])) == 0 || v.held.Reason.Passing()
	}
	return v.held.Reason.Passing() && !lasts
}
