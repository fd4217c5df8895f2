package plan

import (
	"cmp"
	"maps"
	"slices"
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

	says ledger.Statement // what is to be remembered of it
	was  ledger.Statement // what was remembered of it; zero if nothing
	told ledger.Statement // what the last notice said of it; zero if none named it
}

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
	n.News = news(n, known, p.Now)
	n.Said = ledger.Notice{SentAt: p.Now, Members: map[roll.InstanceID]ledger.MemberMemory{}}
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
	p.compare(&e, before)
	return e
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
