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

// Notice reports the instances of one group, kind and cause. There is never one notice per
// instance.
type Notice struct {
	Key     ledger.NoticeKey
	Entries []Entry
	// News is why it is sent, the most important reason first; empty if the incident is over.
	News []News
	// Over: the fault has ended for all instances. Then Entries is empty, and Ended has the
	// details.
	Over  bool
	Ended []Ended
	// OverSince is when a check first saw the fault in none of them.
	OverSince time.Time
	// Nodes and Ready count the nodes and the ready nodes of the cluster; both are 0 if not all
	// could be read.
	Nodes, Ready int
	// Gone: EKS no longer has the cluster.
	Gone bool
	// Incident is the incident of this notice; Sent counts this one.
	Incident ledger.Incident
	// Said is what to record once the notice is sent. Replaces are the notices that this one
	// continues; their records are dropped then. Left are the records of the other incidents that
	// its instances leave, without these instances; until the notice is sent, the instances stay
	// there.
	Said     ledger.Notice
	Replaces []ledger.NoticeKey
	Left     map[ledger.NoticeKey]ledger.Notice
	// Asked are the open questions of its entries, by order.
	Asked map[string]ledger.ApprovalRequest
}

// Sent returns what to record once the notice is sent. The last notice of an incident drops it.
func (n Notice) Sent() ledger.Changes {
	if n.Over {
		return ledger.Changes{Drop: ledger.Drops{Notices: []ledger.NoticeKey{n.Key}}}
	}
	records := map[ledger.NoticeKey]ledger.Notice{n.Key: n.Said}
	maps.Copy(records, n.Left)
	return ledger.Changes{Put: ledger.State{Notices: records, Questions: n.Asked}, Drop: ledger.Drops{Notices: n.Replaces}}
}

// Earliest returns when the first fault of the notice began.
func (n Notice) Earliest() time.Time {
	var t time.Time
	for _, e := range n.Entries {
		t = roll.Earlier(t, e.Finding.Since)
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
	New     bool   // the last notice did not say this
	// Changed: the statement differs from the one in the ledger, whether a notice reported that or
	// not.
	Changed bool
	// Wavers: the act alternates between held and ordered, and a notice has reported that.
	Wavers bool
	// Left is what the owner does about the finding, and Until how long the owner has. They are ""
	// and zero if it does nothing, or its time is over.
	Left  string
	Until time.Time
	// Causes are the diagnosed causes, root causes first.
	Causes []roll.Cause
	// Launched is the launch time of the instance, zero if unknown.
	Launched time.Time
	// Evidence is where its evidence is stored, "" if it is not.
	Evidence string

	says     ledger.Statement // what to remember of it
	was      ledger.Statement // what was remembered of it; zero if nothing
	told     ledger.Statement // what the last notice said of it; zero if no notice named it
	before   ledger.Statement // what notices said until then
	rebooted bool             // told is a reboot, and it was carried out
}

// notices finds the incidents that have news. Another instance in the state that the last notice
// reported is not news, unless there are many. Neither are instances that drop out, nor passing
// reasons. These changes are only remembered.
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
	p.awaitNotices()
	slices.SortFunc(p.out.Changes.Drop.Notices, ledger.NoticeKey.Compare)
	slices.SortFunc(p.out.Quiet, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Finding.Instance, b.Finding.Instance), cmp.Compare(a.Finding.Kind, b.Finding.Kind))
	})
	p.nameIncidents()
	for i := range p.out.Notices {
		n := &p.out.Notices[i]
		if n.Gone = p.gone; p.Snapshot.Whole() {
			n.Nodes, n.Ready = p.Assessment.Nodes, p.Assessment.Ready
		}
	}
}

// notice decides whether to report an incident or only to remember it.
func (p *planner) notice(key ledger.NoticeKey, findings []roll.Finding, byKey map[ledger.NoticeKey][]roll.Finding) {
	known, replaced := p.continues(key, byKey)
	known, heard := p.addTold(key, known, findings)
	n := Notice{Key: key, Replaces: replaced, Incident: known.Incident.Clone()}
	n.Entries = roll.Map(findings, func(f roll.Finding) Entry { return p.entry(f, known) })
	n.News = news(n, known, p.Now)
	n.Said = ledger.Notice{SentAt: p.Now, Members: map[roll.InstanceID]ledger.MemberMemory{}}
	changed := n.join(known)
	gone := p.leave(&n, known)
	if len(n.News) > 0 {
		forgetHolds(p.Now, &n, known)
		p.sent(&n)
		p.out.Notices = append(p.out.Notices, n)
		return
	}
	if changed || gone || heard || len(replaced) > 0 || !known.Over.IsZero() {
		n.Said.SentAt, n.Said.Incident = known.SentAt, n.Incident
		p.out.Changes.Put.Notices[key] = n.Said
		p.out.Changes.Drop.Notices = append(p.out.Changes.Drop.Notices, replaced...)
	}
	for _, e := range n.Entries {
		if e.Changed {
			p.out.Quiet = append(p.out.Quiet, e)
		}
	}
}

// awaitNotices delays the records of incidents whose instances move to another one until its notice
// is sent, the last one if there are several. If that fails, what was reported of the instances is
// not forgotten.
func (p *planner) awaitNotices() {
	for key, record := range p.out.Changes.Put.Notices {
		leaves := func(e Entry) bool {
			_, was := p.State.Notices[key].Members[e.Finding.Instance]
			_, is := record.Members[e.Finding.Instance]
			return was && !is
		}
		for i := range slices.Backward(p.out.Notices) {
			n := &p.out.Notices[i]
			if n.Key.Group != key.Group || n.Key.Kind != key.Kind || !slices.ContainsFunc(n.Entries, leaves) {
				continue
			}
			if n.Left == nil {
				n.Left = map[ledger.NoticeKey]ledger.Notice{}
			}
			n.Left[key] = record
			delete(p.out.Changes.Put.Notices, key)
			break
		}
	}
}

// entry returns what there is to say of a finding.
func (p *planner) entry(f roll.Finding, before ledger.Notice) Entry {
	v := p.verdicts[f.Key()]
	known, _ := p.State.Known(f)
	e := Entry{Finding: f, Step: p.out.Steps[f.Key()], Order: v.order, Held: v.held, Causes: p.Diagnoses[f.Key()].Causes, Evidence: known.Evidence}
	if i := p.instances[f.Instance]; i != nil {
		e.Launched = i.Launched
		if roll.HoldActive(i.Hold, p.Now) {
			e.Hold = i.Hold
		}
	}
	if until, what := p.leftToOwner(f); p.Now.Before(until) {
		e.Left, e.Until = what, until
	}
	p.compare(&e, before)
	return e
}

// leftToOwner returns until when a finding is left to Karpenter, and what Karpenter does, if the
// ladder has an act for it.
func (p *planner) leftToOwner(f roll.Finding) (time.Time, string) {
	pol := p.Policy(f.Selector)
	for _, step := range p.ladder(f, pol) {
		if act := p.actionOf(step.Do, f, pol); act != "" && f.Owner == roll.OwnerKarpenter && p.impossible(f, act) == "" {
			return p.karpenterActs(f, act)
		}
	}
	return time.Time{}, ""
}
