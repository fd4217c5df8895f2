package plan

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// incidents groups the findings past Watching into incidents.
func (p *planner) incidents() map[ledger.NoticeKey][]roll.Finding {
	p.open = map[stratum][]ledger.NoticeKey{}
	for _, key := range slices.SortedFunc(maps.Keys(p.State.Notices), ledger.NoticeKey.Compare) {
		in := stratum{key.Group, key.Kind}
		p.open[in] = append(p.open[in], key)
	}
	byKey := map[ledger.NoticeKey][]roll.Finding{}
	p.incidentOf = map[roll.FindingKey]ledger.NoticeKey{}
	for _, f := range p.Assessment.Findings {
		if f.Stage == roll.Watching || !p.told(f) && !p.asks(f) && !p.reached(f, policy.DoNotify) && !p.reached(f, policy.DoWarn) {
			continue
		}
		if i := p.instances[f.Instance]; i != nil && i.Ignore {
			continue
		}
		key := p.incident(f, p.open[stratum{f.Group, f.Kind}])
		p.incidentOf[f.Key()] = key
		byKey[key] = append(byKey[key], f)
	}
	return byKey
}

// told reports whether a finding belongs to an open incident. It does as long as it is found, even
// if a changed policy would not report it: otherwise its incident would end.
func (p *planner) told(f roll.Finding) bool {
	return slices.ContainsFunc(p.open[stratum{f.Group, f.Kind}], func(key ledger.NoticeKey) bool {
		_, member := p.State.Notices[key].Members[f.Instance]
		return member
	})
}

// asks reports whether a person has to be asked about the finding.
func (p *planner) asks(f roll.Finding) bool {
	held := p.verdicts[f.Key()].held
	return held != nil && held.Question != nil
}

// decisive returns the codes of the decisive causes, root causes first.
func decisive(d roll.Diagnosis) (codes []string) {
	for _, c := range d.Causes {
		if c.Confidence == roll.Decisive {
			codes = append(codes, c.Code)
		}
	}
	return codes
}

// passes reports whether a diagnosis proves only causes that pass by themselves, such as a control
// plane that does not answer.
func passes(d roll.Diagnosis) bool {
	proven := false
	for _, c := range d.Causes {
		if c.Confidence == roll.Decisive && c.Cure != roll.CureWait {
			return false
		}
		proven = proven || c.Confidence == roll.Decisive
	}
	return proven
}

// incident returns the open incident of the same group and kind to which a finding belongs, or a
// new one. A finding stays in its incident as long as that cause may hold: a cause that one check
// could not read is not another cause, and neither is one that passes, unless launches fail: then EC2
// itself says why, and a lack of capacity hides no used-up quota. Nor does it leave while it has time to
// recover from that cause. A new finding joins the incident of a cause that it has, or of one that could
// not be checked.
func (p *planner) incident(f roll.Finding, open []ledger.NoticeKey) ledger.NoticeKey {
	d := p.Diagnoses[f.Key()]
	codes := decisive(d)
	held := p.verdicts[f.Key()].held
	stays := f.Kind != roll.Unlaunched && passes(d) || held != nil && held.Reason == CauseEnded
	unread := func(cause string) bool {
		return slices.ContainsFunc(d.NotChecked, func(n roll.NotChecked) bool { return n.Code == cause })
	}
	for _, key := range open {
		if _, member := p.State.Notices[key].Members[f.Instance]; !member {
			continue
		}
		if key.Cause == "" && len(codes) == 0 || stays || slices.Contains(codes, key.Cause) || unread(key.Cause) ||
			key.Cause != "" && len(codes) == 0 && !slices.Contains(d.RuledOut, key.Cause) {
			return key
		}
	}
	fits := func(cause string) (ledger.NoticeKey, bool) {
		key := ledger.NoticeKey{Group: f.Group, Kind: f.Kind, Cause: cause}
		return key, cause != "" && slices.Contains(open, key)
	}
	for _, code := range codes {
		if key, ok := fits(code); ok {
			return key
		}
	}
	if len(codes) > 0 {
		return ledger.NoticeKey{Group: f.Group, Kind: f.Kind, Cause: codes[0]}
	}
	for _, n := range d.NotChecked {
		if key, ok := fits(n.Code); ok {
			return key
		}
	}
	return ledger.NoticeKey{Group: f.Group, Kind: f.Kind}
}

// continues returns the record of an incident. A new incident continues another one if its
// instances come from that one and none are left there. Then another cause was found for the same
// fault, and its notice replaces the other.
func (p *planner) continues(key ledger.NoticeKey, byKey map[ledger.NoticeKey][]roll.Finding) (ledger.Notice, []ledger.NoticeKey) {
	if known, ok := p.State.Notices[key]; ok && !known.SentAt.IsZero() {
		return known, nil
	}
	for _, other := range p.open[stratum{key.Group, key.Kind}] {
		if other == key || len(byKey[other]) > 0 || p.continued[other] {
			continue
		}
		was := p.State.Notices[other]
		if slices.ContainsFunc(byKey[key], func(f roll.Finding) bool { _, ok := was.Members[f.Instance]; return ok }) {
			p.continued[other] = true // continued once only: two incidents with one id could not be distinguished
			return was, []ledger.NoticeKey{other}
		}
	}
	return ledger.Notice{}, nil
}

// addTold adds what notices of other incidents of the same group and kind have said of these
// instances since. If checks can see a cause only sometimes, an instance moves between two
// incidents, which is not news each time. It reports whether that adds anything.
func (p *planner) addTold(key ledger.NoticeKey, known ledger.Notice, findings []roll.Finding) (_ ledger.Notice, more bool) {
	if known.SentAt.IsZero() {
		return known, false // it is opened
	}
	had := known.Incident
	for _, other := range p.open[stratum{key.Group, key.Kind}] {
		was := p.State.Notices[other]
		if other == key || !was.SentAt.After(known.SentAt) || !slices.ContainsFunc(findings, func(f roll.Finding) bool { _, ok := was.Members[f.Instance]; return ok }) {
			continue
		}
		known.Incident.AddFrom(was.Incident)
	}
	is := known.Incident
	return known, len(is.Stages) > len(had.Stages) || len(is.Reasons) > len(had.Reasons) || len(is.Causes) > len(had.Causes)
}

// opened returns when the first of the findings was opened.
func (p *planner) opened(entries []Entry) time.Time {
	first := p.SeenAt
	for _, e := range entries {
		if known, ok := p.State.Known(e.Finding); ok && !known.Opened.IsZero() && known.Opened.Before(first) {
			first = known.Opened
		}
	}
	return first
}

// incidentID returns the id of an incident. The id stays the same when a notice is sent twice
// because the first was not recorded. It changes when the fault comes back.
func incidentID(c roll.ClusterID, key ledger.NoticeKey, since time.Time) string {
	return hash(c.String(), string(key.Group), string(key.Kind), key.Cause, since.UTC().Format(time.RFC3339Nano))
}

// incidentID returns the id of a new incident of the cluster. An incident that continues under
// another cause keeps its id, so the next one of its first cause needs another. Instances that
// leave an open incident may have been in an earlier one with this key that is over. So the id also
// depends on the incident that they leave.
func (p *planner) incidentID(n *Notice) string {
	id := incidentID(p.Snapshot.Cluster.ID, n.Key, p.opened(n.Entries))
	for _, key := range p.open[stratum{n.Key.Group, n.Key.Kind}] {
		was := p.State.Notices[key]
		leaves := func(e Entry) bool { _, member := was.Members[e.Finding.Instance]; return member }
		if key != n.Key && slices.ContainsFunc(n.Entries, leaves) {
			id = hash(id, was.Incident.ID, strconv.Itoa(was.Incident.Sent), strconv.Itoa(was.Incident.Total))
		}
	}
	for p.named(id) {
		id = hash(id)
	}
	return id
}

// named reports whether an open incident, or one of this plan, has the id.
func (p *planner) named(id string) bool {
	for _, n := range p.State.Notices {
		if n.Incident.ID == id {
			return true
		}
	}
	return slices.ContainsFunc(p.out.Notices, func(n Notice) bool { return n.Incident.ID == id })
}

// join computes what to remember of the notice's instances, and counts those that are new to the
// incident. It reports whether that differs from the record.
func (n *Notice) join(known ledger.Notice) (changed bool) {
	for _, e := range n.Entries {
		id := e.Finding.Instance
		before, member := known.Members[id]
		if !member {
			n.Incident.Total++
		}
		changed = changed || e.Changed || !member || e.told != before.Told // another incident said more of it
		m := ledger.MemberMemory{Last: e.says, Told: e.told, Before: e.before, Unnamed: before.Unnamed}
		if len(n.News) > 0 {
			m.Told, m.Unnamed = e.shows(), false
			if m.Told != e.told {
				m.Before = e.told
			}
		}
		n.Said.Members[id] = m
	}
	return changed
}

// shows returns what a notice reports of the instance. A lasting reason that holds its act is shown
// even while the record waits for one that could not be checked.
func (e Entry) shows() ledger.Statement {
	if e.Held != nil && e.Held.Reason != ApprovalPending && !e.Held.Reason.Passing() {
		return ledger.Statement{Held: string(e.Held.Reason)}
	}
	return e.says
}

// leave decides which instances outside the notice stay in its record: a node that flaps drops out
// and comes back, which is not news each time, and a check may be unable to judge one. It reports
// whether it forgets any, or what was said only of them.
func (p *planner) leave(n *Notice, known ledger.Notice) (gone bool) {
	recent := p.Now.Sub(known.SentAt) < forgetAfter
	for id, m := range known.Members {
		_, named := n.Said.Members[id]
		switch {
		case named:
		case p.inOtherIncident(id, n.Key):
			gone = true
			if !p.toldOf(id, known.SentAt) {
				n.Incident.Left++ // nobody knows that it is over here
			}
		case recent || p.Assessment.Kept[roll.FindingKey{Instance: id, Kind: n.Key.Kind}]:
			m.Unnamed = m.Unnamed || len(n.News) > 0
			n.Said.Members[id] = m
		default:
			gone = true
			if !p.toldOf(id, known.SentAt) || !p.endedForNone(ledger.Notice{Members: map[roll.InstanceID]ledger.MemberMemory{id: m}}) {
				n.Incident.Left++
			}
		}
	}
	return gone
}

// forgetHolds applies to a notice of an order after an hour without a notice. It forgets the
// reasons for which no instance is held any more. A reader who was notified of the order must also
// be notified if the act is held after all. Otherwise a reason stays recorded as long as the
// incident lasts, so that two alternating reasons are not news each time.
func forgetHolds(now time.Time, n *Notice, known ledger.Notice) {
	if !slices.Contains(n.News, NewsOrdered) || now.Sub(known.SentAt) < forgetAfter {
		return
	}
	n.Incident.Reasons = slices.DeleteFunc(slices.Clone(n.Incident.Reasons), func(reason string) bool {
		if Reason(reason).Passing() {
			return false
		}
		for _, m := range n.Said.Members {
			if m.Last.Held == reason || m.Told.Held == reason {
				return false
			}
		}
		return true
	})
}

// inOtherIncident reports whether an instance is in another incident of the same group and kind.
func (p *planner) inOtherIncident(id roll.InstanceID, key ledger.NoticeKey) bool {
	other, ok := p.incidentOf[roll.FindingKey{Instance: id, Kind: key.Kind}]
	return ok && other != key
}

// sent counts the notice in its incident, and records what it says.
func (p *planner) sent(n *Notice) {
	i := &n.Incident
	if i.ID == "" {
		i.ID, i.First = p.incidentID(n), p.Now
	}
	i.Sent++
	i.Most, i.Told = max(i.Most, len(n.Entries)), i.Total
	i.AddCause(n.Key.Cause)
	for _, e := range n.Entries {
		i.Add(e.says)
		if e.Held != nil { // the notice shows the reason, so it is no news later
			i.Add(ledger.Statement{Held: string(e.Held.Reason)})
		}
		if e.Held != nil && e.Held.Reason == ApprovalPending {
			if n.Asked == nil {
				n.Asked = map[string]ledger.ApprovalRequest{}
			}
			n.Asked[e.Held.Question.Order] = *e.Held.Question
		}
	}
	n.Said.Incident = *i
}

// nameIncidents sets the incident of each order: the one that reports its finding.
func (p *planner) nameIncidents() {
	names := map[ledger.NoticeKey]string{}
	for key, n := range p.State.Notices {
		names[key] = n.Incident.ID
	}
	for key, n := range p.out.Changes.Put.Notices {
		names[key] = n.Incident.ID
	}
	for _, n := range p.out.Notices {
		names[n.Key] = n.Incident.ID
	}
	for i := range p.out.Orders {
		o := &p.out.Orders[i]
		o.Incident = names[p.incidentOf[roll.FindingKey{Instance: o.Instance, Kind: o.Kind}]]
	}
}
