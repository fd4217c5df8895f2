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
	// Said is what the ledger is to remember once the notice is sent.
	Said ledger.Notice
}

// Entry is one instance of a notice.
type Entry struct {
	Finding roll.Finding
	Step    Step
	Order   *Order
	Held    *Held
	Hold    string // value of its tag rollcall:hold while it holds
	New     bool   // the last notice did not say this of it
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
		if f.Stage == roll.Watching || !p.climbs(f, policy.DoNotify) {
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
		news := false
		for _, f := range findings {
			said := p.said(f)
			before, told := known.Members[f.Instance]
			if held := p.verdicts[f.Key()].held; told && held != nil && held.Reason.Passing() && before != string(roll.Warned) {
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
			// A node that flaps drops out and comes back; it is no news each time.
			if p.Now.Sub(known.SentAt) < forgetAfter {
				n.Said.Members[id] = said
			} else {
				gone = true
			}
		}
		switch {
		case news:
			p.out.Notices = append(p.out.Notices, n)
		case gone:
			n.Said.SentAt = known.SentAt
			if p.out.Changes.PutNotices == nil {
				p.out.Changes.PutNotices = map[ledger.NoticeKey]ledger.Notice{}
			}
			p.out.Changes.PutNotices[key] = n.Said
		}
	}
	slices.SortFunc(p.out.Notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Key.Group, b.Key.Group), cmp.Compare(a.Key.Kind, b.Key.Kind))
	})
	for key, known := range p.State.Notices {
		if _, ok := byKey[key]; !ok && p.Now.Sub(known.SentAt) >= forgetAfter {
			p.out.Changes.DropNotices = append(p.out.Changes.DropNotices, key)
		}
	}
	slices.SortFunc(p.out.Changes.DropNotices, func(a, b ledger.NoticeKey) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}

func (p *planner) entry(f roll.Finding) Entry {
	v := p.verdicts[f.Key()]
	e := Entry{Finding: f, Step: p.out.Steps[f.Key()], Order: v.order, Held: v.held}
	if i := p.instances[f.Instance]; i != nil && roll.HoldActive(i.Hold, p.Now) {
		e.Hold = i.Hold
	}
	return e
}

// said is the gist of what a notice says of a finding: its change is news.
func (p *planner) said(f roll.Finding) string {
	v := p.verdicts[f.Key()]
	switch {
	case v.order != nil:
		return "ordered:" + v.order.ID
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
