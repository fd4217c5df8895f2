package plan

import (
	"cmp"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Notice is what is to be told about one group and kind: never one notice per
// instance.
type Notice struct {
	Key     ledger.NoticeKey
	Entries []Entry
	// Over: the trouble has ended for all of them. Entries is empty then, and Ended
	// tells what became of whom.
	Over  bool
	Ended []Ended
	// OverSince is when the last of them was first seen without the trouble.
	OverSince time.Time
	// Said is what the ledger is to remember once the notice is sent.
	Said ledger.Notice
}

// Ended is one instance of a notice whose trouble has ended.
type Ended struct {
	Instance roll.InstanceID
	How      How
}

// How is how trouble ended.
type How string

// How trouble ends.
const (
	EndedRecovered How = "recovered" // the instance is there, without the trouble
	EndedByAct     How = "acted"     // Rollcall ended it
	EndedGone      How = "gone"      // the instance is gone, and not through Rollcall
	EndedChanged   How = "changed"   // the trouble goes on as one of another kind
	EndedIgnored   How = "ignored"   // a person told Rollcall to ignore the instance
)

// overAfter is how long the last trouble of a notice must have stayed away before a
// person is told that it is over: a node that flaps is not over each time.
const overAfter = 10 * time.Minute

// Entry is one instance of a notice.
type Entry struct {
	Finding roll.Finding
	Step    Step
	Order   *Order
	Held    *Held
	Hold    string // value of its tag rollcall:hold while it holds
	New     bool   // the last notice did not say this of it
	// Left is what the owner does about the finding by itself, and Until how long it is
	// left to it; "" and zero if that is over, or nothing.
	Left  string
	Until time.Time
	// Causes are what a diagnosis found, the root first.
	Causes []roll.Cause
	// Evidence is where what was read of it is kept, "" if it is not.
	Evidence string
}

// forgetAfter is how long what was told of an instance is remembered after the last
// notice when the instance drops out: flapping makes one notice an hour, and trouble
// that comes back later is news again.
const forgetAfter = time.Hour

// notices works out which groups and kinds have news: an instance that was not
// spoken of, or of which something else is to be said now. Instances that drop
// out, and reasons that pass by themselves, are no news.
func (p *planner) notices() {
	byKey := map[ledger.NoticeKey][]roll.Finding{}
	for _, f := range p.Assessment.Findings {
		if f.Stage == roll.Watching || !p.climbs(f, policy.DoNotify) && !p.climbs(f, policy.DoWarn) {
			continue
		}
		if i := p.instances[f.Instance]; i != nil && i.Ignore {
			continue
		}
		key := ledger.NoticeKey{Group: f.Group, Kind: f.Kind}
		byKey[key] = append(byKey[key], f)
	}
	for key, findings := range byKey {
		if !p.Policy(roll.GroupSelector(key.Group)).Mode.Allows(policy.Notify) {
			continue
		}
		known := p.State.Notices[key]
		n := Notice{Key: key, Said: ledger.Notice{SentAt: p.Now, Members: map[roll.InstanceID]string{}}}
		news, back := false, !known.Over.IsZero()
		for _, f := range findings {
			said := p.said(f)
			before, told := known.Members[f.Instance]
			if told && before != string(roll.Warned) && p.waits(f, before) {
				said = before // nothing lasting has changed
			}
			n.Said.Members[f.Instance] = said
			e := p.entry(f)
			e.New = said != before
			news = news || e.New
			n.Entries = append(n.Entries, e)
		}
		gone := false
		for id, said := range known.Members {
			if _, ok := n.Said.Members[id]; ok {
				continue
			}
			// A node that flaps drops out and comes back; it is no news each time. Neither is
			// what nobody could tell of in this check.
			if p.Now.Sub(known.SentAt) < forgetAfter || p.Assessment.Kept[roll.FindingKey{Instance: id, Kind: key.Kind}] {
				n.Said.Members[id] = said
			} else {
				gone = true
			}
		}
		switch {
		case news:
			p.out.Notices = append(p.out.Notices, n)
		case gone || back:
			n.Said.SentAt = known.SentAt
			p.putNotice(key, n.Said)
		}
	}
	p.over(byKey)
	slices.SortFunc(p.out.Notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Key.Group, b.Key.Group), cmp.Compare(a.Key.Kind, b.Key.Kind))
	})
	slices.SortFunc(p.out.Changes.DropNotices, func(a, b ledger.NoticeKey) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}

// over finds notices whose trouble has ended for all that they named. That is noted
// first, and told once it has stayed so.
func (p *planner) over(current map[ledger.NoticeKey][]roll.Finding) {
	for key, known := range p.State.Notices {
		if _, ok := current[key]; ok || p.kept(key) {
			continue
		}
		switch {
		case known.Over.IsZero():
			known.Over = p.Now
			p.putNotice(key, known)
			p.next(p.Now.Add(overAfter))
		case p.Now.Sub(known.Over) < overAfter:
			p.next(known.Over.Add(overAfter))
		case p.Lowered && !p.Policy(roll.GroupSelector(key.Group)).Mode.Allows(policy.Notify):
			// Nobody turned notices off; it is said when the policy can be read again.
		case len(known.Members) == 0 || !p.Policy(roll.GroupSelector(key.Group)).Mode.Allows(policy.Notify):
			p.out.Changes.DropNotices = append(p.out.Changes.DropNotices, key)
		case p.otherwise(known):
			p.out.Changes.DropNotices = append(p.out.Changes.DropNotices, key)
		default:
			p.out.Notices = append(p.out.Notices, Notice{Key: key, Over: true, OverSince: known.Over, Ended: p.ends(known)})
		}
	}
}

// kept reports that of a member of the notice nobody could tell in this check whether
// its trouble lasts.
func (p *planner) kept(key ledger.NoticeKey) bool {
	for id := range p.State.Notices[key].Members {
		if p.Assessment.Kept[roll.FindingKey{Instance: id, Kind: key.Kind}] {
			return true
		}
	}
	return false
}

func (p *planner) ends(n ledger.Notice) []Ended {
	wanted := make(map[roll.InstanceID]bool, len(n.Members))
	for id := range n.Members {
		wanted[id] = true
	}
	instances, nodes := p.look(wanted)
	var out []Ended
	for id := range wanted {
		e := Ended{Instance: id, How: EndedGone}
		i := instances[id]
		switch {
		case i != nil && i.Ignore:
			e.How = EndedIgnored
		case p.troubled(id):
			e.How = EndedChanged
		case p.actedOn(id):
			e.How = EndedByAct
		case i != nil && !i.State.Gone(), i == nil && nodes[id] != nil:
			e.How = EndedRecovered
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Ended) int { return cmp.Compare(a.Instance, b.Instance) })
	return out
}

// troubled reports that there is a finding about the instance that is worth a word.
func (p *planner) troubled(id roll.InstanceID) bool {
	if _, ok := p.instances[id]; !ok {
		return false
	}
	return slices.ContainsFunc(p.Assessment.Findings, func(f roll.Finding) bool { return f.Instance == id && f.Stage != roll.Watching })
}

// otherwise reports that the trouble of a notice has ended for none of its members: each is
// ignored by now, or in trouble of another kind.
func (p *planner) otherwise(n ledger.Notice) bool {
	return !slices.ContainsFunc(p.ends(n), func(e Ended) bool { return e.How != EndedChanged && e.How != EndedIgnored })
}

// actedOn reports that Rollcall ended the instance, or deleted its node.
func (p *planner) actedOn(id roll.InstanceID) bool {
	return slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
		return a.Instance == id && Action(a.Do).final() && a.Outcome != nil && a.Outcome.Result == ledger.Done
	})
}

func (p *planner) putNotice(key ledger.NoticeKey, n ledger.Notice) {
	if p.out.Changes.PutNotices == nil {
		p.out.Changes.PutNotices = map[ledger.NoticeKey]ledger.Notice{}
	}
	p.out.Changes.PutNotices[key] = n
}

func (p *planner) entry(f roll.Finding) Entry {
	v := p.verdicts[f.Key()]
	known, _ := p.known(f)
	e := Entry{Finding: f, Step: p.out.Steps[f.Key()], Order: v.order, Held: v.held, Causes: p.Diagnoses[f.Key()].Causes, Evidence: known.Evidence}
	if i := p.instances[f.Instance]; i != nil && roll.HoldActive(i.Hold, p.Now) {
		e.Hold = i.Hold
	}
	if until, what := p.left(f); p.Now.Before(until) {
		e.Left, e.Until = what, until
	}
	return e
}

// left is until when Karpenter is left to deal with a finding, and what it does, if the
// ladder has an act for it at all.
func (p *planner) left(f roll.Finding) (time.Time, string) {
	pol := p.Policy(f.Selector)
	for _, step := range pol.Ladders[f.Kind] {
		if act := p.actionOf(step.Do, f, pol); act != "" && f.Owner == roll.OwnerKarpenter && p.cannot(f, act) == "" {
			return p.karpenterActs(f, act)
		}
	}
	return time.Time{}, ""
}

// waits reports that nothing new is to be said of an overdue finding: it waits for the
// next step of its ladder, or is held for a reason that passes by itself.
func (p *planner) waits(f roll.Finding, before string) bool {
	v := p.verdicts[f.Key()]
	if v.order != nil && v.order.Action == Drain && before == "held:"+string(DrainUnfinished) {
		return true // it is tried again, as was said
	}
	return f.Stage == roll.Overdue && v.order == nil && (v.held == nil || v.held.Reason.Passing())
}

// said is the gist of what a notice says of a finding: its change is news.
func (p *planner) said(f roll.Finding) string {
	v := p.verdicts[f.Key()]
	switch {
	case v.order != nil && v.order.Action.Told():
		return "ordered:" + v.order.ID
	case v.order != nil:
		return "draining" // cordon and drain are one piece of news
	case v.held != nil && !v.held.Reason.Passing():
		return "held:" + string(v.held.Reason)
	}
	return string(f.Stage)
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
