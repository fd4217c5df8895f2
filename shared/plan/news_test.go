package plan

import (
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestWhyANoticeIsDueAboutAnInstance(t *testing.T) {
	overdue, warned := ledger.Statement{Stage: roll.Overdue}, ledger.Statement{Stage: roll.Warned}
	held, order := ledger.Statement{Held: string(UnhealthyShare)}, ledger.Statement{Order: "a"}
	entry := func(says, told ledger.Statement) Entry {
		return Entry{says: says, was: told, told: told, Changed: says != told, New: says != told}
	}
	wavers := func(e Entry) Entry { e.Wavers = true; return e }
	group := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}
	alone := ledger.NoticeKey{Group: roll.GroupNone, Kind: roll.Unknown}
	reasoned := ledger.Incident{Reasons: []string{string(UnhealthyShare)}}
	for name, tt := range map[string]struct {
		entry    Entry
		key      ledger.NoticeKey
		incident ledger.Incident
		want     News
	}{
		"an order":                                 {entry(order, overdue), group, reasoned, NewsOrdered},
		"an order that was told":                   {entry(order, order), group, reasoned, noNews},
		"an order that wavers":                     {wavers(entry(order, held)), group, reasoned, noNews},
		"a reason that no notice gave":             {entry(held, overdue), group, ledger.Incident{}, NewsHeld},
		"a reason that a notice gave":              {entry(held, overdue), group, reasoned, noNews},
		"the same, of an instance in no group":     {entry(held, overdue), alone, reasoned, NewsHeld},
		"held after an order was told":             {entry(held, order), group, reasoned, NewsHeld},
		"held after an order that wavers":          {wavers(entry(held, order)), group, reasoned, noNews},
		"the first past its tolerance":             {entry(overdue, warned), group, ledger.Incident{Stages: []roll.Stage{roll.Warned}}, NewsEscalated},
		"another past its tolerance":               {entry(overdue, warned), group, ledger.Incident{Stages: []roll.Stage{roll.Overdue}}, noNews},
		"past its tolerance, after one was held":   {entry(overdue, warned), group, reasoned, noNews},
		"a warning":                                {entry(warned, ledger.Statement{}), group, ledger.Incident{}, noNews},
		"a warning of an instance in no group":     {entry(warned, ledger.Statement{}), alone, ledger.Incident{}, NewsGrown},
		"unchanged, and not told for it may pass":  {Entry{says: held, was: held, told: overdue, New: true}, group, ledger.Incident{}, noNews},
		"changed to what was told before it waits": {Entry{says: held, was: overdue, told: held, Changed: true}, group, ledger.Incident{}, noNews},
	} {
		expect.Equal(t, entryNews(tt.entry, tt.key, tt.incident), tt.want, "%s", name)
	}
}

func TestHalfAsManyAgainAreNews(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	known := ledger.Notice{SentAt: now.Add(-time.Hour), Incident: ledger.Incident{Sent: 1, Most: 4}}
	for n, want := range map[int]bool{4: false, 5: false, 6: true} {
		notice := Notice{Key: ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown, Cause: "KubeletSilent"}}
		for range n {
			notice.Entries = append(notice.Entries, Entry{told: ledger.Statement{Stage: roll.Overdue}})
		}
		expect.Equal(t, grown(notice, known, now), want, "%d instances after 4: news", n)
	}
}

// An instance whose cause is unread in some checks is in one incident and another. What a notice of
// either said of it last counts, and is recorded in the one that it is in.
func TestWhatWasSaidLastOfAnInstanceInTwoIncidents(t *testing.T) {
	f := roll.Finding{Instance: instanceID(1), Kind: roll.Unknown, Group: roll.GroupNone}
	own, other := ledger.NoticeKey{Group: f.Group, Kind: f.Kind}, ledger.NoticeKey{Group: f.Group, Kind: f.Kind, Cause: "KubeletSilent"}
	held := func(reason Reason) ledger.Statement { return ledger.Statement{Held: string(reason)} }
	said := func(ago time.Duration, m ledger.MemberMemory) ledger.Notice {
		return ledger.Notice{SentAt: now.Add(-ago), Members: map[roll.InstanceID]ledger.MemberMemory{f.Instance: m}}
	}
	unread := ledger.MemberMemory{Last: held(CauseNotChecked), Told: held(CauseNotChecked)}
	share := ledger.MemberMemory{Last: held(UnhealthyShare), Told: held(UnhealthyShare)}
	for name, tt := range map[string]struct {
		before, elsewhere ledger.Notice
		want              ledger.MemberMemory
	}{
		"later in the other":         {said(10*time.Minute, unread), said(5*time.Minute, share), ledger.MemberMemory{Last: unread.Last, Told: share.Told}},
		"later, but not of this one": {said(10*time.Minute, unread), said(5*time.Minute, ledger.MemberMemory{Last: share.Last, Told: share.Told, Unnamed: true}), unread},
		"earlier in the other":       {said(5*time.Minute, unread), said(10*time.Minute, share), unread},
		"in the other alone":         {ledger.Notice{SentAt: now}, said(10*time.Minute, share), share},
		"nothing in the other":       {said(10*time.Minute, unread), said(5*time.Minute, ledger.MemberMemory{Last: share.Last}), unread},
		"of others than the other's": {said(10*time.Minute, unread), ledger.Notice{SentAt: now}, unread},
	} {
		p := &planner{Input: Input{State: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{own: tt.before, other: tt.elsewhere}}}}
		p.open = map[stratum][]ledger.NoticeKey{{f.Group, f.Kind}: {own, other}}
		got := p.memory(f, tt.before)
		expect.That(t, got == tt.want, "%s: remembered %+v, want %+v", name, got, tt.want)
		n := Notice{Key: own, Said: ledger.Notice{Members: map[roll.InstanceID]ledger.MemberMemory{}}, Entries: []Entry{{Finding: f, says: got.Last, told: got.Told}}}
		if _, member := tt.before.Members[f.Instance]; n.join(tt.before) != (!member || got.Told != tt.before.Members[f.Instance].Told) || n.Said.Members[f.Instance].Told != tt.want.Told {
			t.Errorf("%s: recorded %+v", name, n.Said.Members)
		}
	}
}

// A cause that another instance shares could not be checked, and the act is held for a reason that
// lasts: the notice of others shows it, so it is no news later, and neither is the shared cause.
func TestAReasonThatWasShownIsNoNews(t *testing.T) {
	f := roll.Finding{Instance: instanceID(1), Kind: roll.Unknown, Group: roll.GroupNone, Stage: roll.Overdue}
	held := func(reason Reason) ledger.Statement { return ledger.Statement{Held: string(reason)} }
	before := ledger.Notice{SentAt: now, Members: map[roll.InstanceID]ledger.MemberMemory{f.Instance: {Last: held(SharedCause), Told: held(SharedCause)}}}
	p := &planner{}
	at := func(reason Reason, notChecked ...roll.NotChecked) (e Entry) {
		e = Entry{Finding: f, Held: &Held{Refusal: *refuse(reason, "it is so")}}
		p.verdicts = map[roll.FindingKey]verdict{f.Key(): {held: e.Held}}
		p.Diagnoses = map[roll.FindingKey]roll.Diagnosis{f.Key(): {NotChecked: notChecked}}
		p.compare(&e, before)
		return e
	}
	shown := Notice{News: []News{NewsGrown}, Said: ledger.Notice{Members: map[roll.InstanceID]ledger.MemberMemory{}}}
	shown.Entries = []Entry{at(DisruptionBudget, roll.NotChecked{Code: "DnsDisabled", Unread: true, Passing: true})}
	shown.join(before)
	before = shown.Said
	if e := at(DisruptionBudget); e.New {
		t.Errorf("what the notice showed is news: %+v", e)
	}
	if e := at(SharedCause); e.New {
		t.Errorf("what was told before is news: %+v", e)
	}
	for _, e := range []Entry{at(InstanceHeld), at(InstanceHeld, roll.NotChecked{Code: "DiskFull"}, roll.NotChecked{Code: "OutOfMemory", Unread: true})} {
		expect.That(t, e.New, "another reason is no news: %+v", e)
	}
}
