package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// incidents sorts the findings that are worth a word into the incidents that they belong
// to.
func (p *planner) incidents() map[ledger.NoticeKey][]roll.Finding {
	p.open = map[stratum][]ledger.NoticeKey{}
	for _, key := range slices.SortedFunc(maps.Keys(p.State.Notices), ledger.NoticeKey.Compare) {
		in := stratum{key.Group, key.Kind}
		p.open[in] = append(p.open[in], key)
	}
	byKey := map[ledger.NoticeKey][]roll.Finding{}
	p.incidentOf = map[roll.FindingKey]ledger.NoticeKey{}
	for _, f := range p.Assessment.Findings {
		if f.Stage == roll.Watching || !p.climbs(f, policy.DoNotify) && !p.climbs(f, policy.DoWarn) {
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

// decisive are the codes of the decisive causes, the root first.
func decisive(d roll.Diagnosis) (codes []string) {
	for _, c := range d.Causes {
		if c.Confidence == roll.Decisive {
			codes = append(codes, c.Code)
		}
	}
	return codes
}

// incident is which of the open incidents of its group and kind a finding belongs to, or
// the one that it opens. It stays in the one that it was told in for as long as that
// one's cause may hold: what could not be read in one check is no other cause. One that
// was not told before joins an incident of a cause that it has, or of one that could not
// be looked for in it.
func (p *planner) incident(f roll.Finding, open []ledger.NoticeKey) ledger.NoticeKey {
	d := p.Diagnoses[f.Key()]
	codes := decisive(d)
	unread := func(cause string) bool {
		return slices.ContainsFunc(d.NotChecked, func(n roll.NotChecked) bool { return n.Code == cause })
	}
	for _, key := range open {
		if _, member := p.State.Notices[key].Members[f.Instance]; !member {
			continue
		}
		if key.Cause == "" && len(codes) == 0 || slices.Contains(codes, key.Cause) || unread(key.Cause) ||
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

// before is what was told of an incident so far. One whose instances were told in another
// one, of which nothing is left, goes on from that: another cause was found for the same
// trouble, and the notice about it takes the other's place.
func (p *planner) before(key ledger.NoticeKey, byKey map[ledger.NoticeKey][]roll.Finding) (ledger.Notice, []ledger.NoticeKey) {
	if known, ok := p.State.Notices[key]; ok && !known.SentAt.IsZero() {
		return known, nil
	}
	for _, other := range p.open[stratum{key.Group, key.Kind}] {
		if other == key || len(byKey[other]) > 0 || p.continued[other] {
			continue
		}
		was := p.State.Notices[other]
		if slices.ContainsFunc(byKey[key], func(f roll.Finding) bool { _, ok := was.Members[f.Instance]; return ok }) {
			p.continued[other] = true // one goes on from it: two incidents of one id could not be told apart
			return was, []ledger.NoticeKey{other}
		}
	}
	return ledger.Notice{}, nil
}

// heard adds to what was told of an incident what was told of its instances since then in
// others of their group and kind: where the cause can be seen in one check and not in the next, an
// instance goes from one incident to the other and back, and is no news each time. It
// reports whether that is more than is remembered.
func (p *planner) heard(key ledger.NoticeKey, known ledger.Notice, findings []roll.Finding) (_ ledger.Notice, more bool) {
	if known.SentAt.IsZero() {
		return known, false // it is opened
	}
	had := len(known.Incident.Gists)
	for _, other := range p.open[stratum{key.Group, key.Kind}] {
		was := p.State.Notices[other]
		if other == key || !was.SentAt.After(known.SentAt) || !slices.ContainsFunc(findings, func(f roll.Finding) bool { _, ok := was.Members[f.Instance]; return ok }) {
			continue
		}
		for _, gist := range was.Incident.Gists {
			known.Incident.Gists = addGist(known.Incident.Gists, gist)
		}
	}
	return known, len(known.Incident.Gists) > had
}

// opened is when the first of the findings was opened, as the ledger has it after this
// check.
func (p *planner) opened(entries []Entry) time.Time {
	first := p.SeenAt
	for _, e := range entries {
		if known, ok := p.known(e.Finding); ok && !known.Opened.IsZero() && known.Opened.Before(first) {
			first = known.Opened
		}
	}
	return first
}

// incidentID names an incident. It is the same when a notice is sent a second time since
// nobody remembered the first, and another one when the trouble comes back.
func incidentID(c roll.ClusterID, key ledger.NoticeKey, since time.Time) string {
	return hash(c.String(), string(key.Group), string(key.Kind), key.Cause, since.UTC().Format(time.RFC3339Nano))
}

// incidentID names a new incident of the cluster. One that goes on under another cause has
// kept its name, which the next one of its first cause must not have too.
func (p *planner) incidentID(key ledger.NoticeKey, since time.Time) string {
	id := incidentID(p.Snapshot.Cluster.ID, key, since)
	for p.named(id) {
		id = hash(id)
	}
	return id
}

// named reports that an open incident, or one of this plan, has that id.
func (p *planner) named(id string) bool {
	for _, n := range p.State.Notices {
		if n.Incident.ID == id {
			return true
		}
	}
	return slices.ContainsFunc(p.out.Notices, func(n Notice) bool { return n.Incident.ID == id })
}

// addGist adds what a notice says to what was said in its incident. An order is about one
// instance, and its own news each time.
func addGist(gists []string, gist string) []string {
	if gist == "" || ordersActs(gist) || slices.Contains(gists, gist) {
		return gists
	}
	gists = append(slices.Clone(gists), gist)
	slices.Sort(gists)
	return gists
}

// news is what is new in a notice, compared with what was told of its incident.
func (p *planner) news(n Notice, known ledger.Notice) (out []News) {
	set := map[News]bool{NewsOpened: known.Incident.Sent == 0}
	alone := n.Key.Group == roll.GroupNone // instances of no group have nothing to do with each other
	for _, e := range n.Entries {
		switch held := strings.HasPrefix(e.gist, gistHeld); {
		case e.New && ordersActs(e.gist): // also one that wavered, and does not any more
			set[NewsOrdered] = set[NewsOrdered] || !e.Wavers
		case !e.Changed || !e.New: // that it is again as was told is no news
		case held:
			// Whoever heard of an order is told that it is held after all.
			after := ordersActs(e.told) && !e.Wavers
			set[NewsHeld] = set[NewsHeld] || alone || !slices.Contains(known.Incident.Gists, e.gist) || after
		case e.gist == string(roll.Overdue):
			set[NewsEscalated] = set[NewsEscalated] || alone || !beyond(known.Incident.Gists)
		default:
			set[NewsGrown] = set[NewsGrown] || alone
		}
	}
	set[NewsCause] = len(n.Replaces) > 0 && !slices.Contains(known.Incident.Gists, gistCause+n.Key.Cause)
	set[NewsGrown] = set[NewsGrown] || p.grown(n, known)
	if set[NewsOpened] {
		set = map[News]bool{NewsOpened: true, NewsOrdered: set[NewsOrdered]}
	}
	for _, news := range AllNews() {
		if set[news] {
			out = append(out, news)
		}
	}
	return out
}

// wavers reports that an order is one that was refused when it was looked at again, lately,
// which was told, and that there was a notice within the hour: what is now within a limit
// and now beyond it is not told in every check. A drain stands in what is remembered by its
// cordon.
func (p *planner) wavers(e Entry, gist string, known ledger.Notice) bool {
	_, order, _ := strings.Cut(gist, ":")
	refused := p.refused(order) || strings.HasPrefix(gist, gistDraining) && p.refused(p.orderID(e.Finding, Drain))
	return p.Now.Sub(known.SentAt) < forgetAfter && refused
}

// ordersActs reports that what was told of an instance is that it is acted on.
func ordersActs(told string) bool {
	return strings.HasPrefix(told, gistDraining) || strings.HasPrefix(told, gistOrdered)
}

// beyond reports that it was said that an instance is past its tolerance, or what follows
// from that.
func beyond(gists []string) bool {
	return slices.ContainsFunc(gists, func(g string) bool { return g != string(roll.Warned) && !strings.HasPrefix(g, gistCause) })
}

// grown reports that half as many instances again have the trouble as the notices told,
// or more: all that ever had it where its cause is not known, since then each may have one
// of its own; those that have it now where it is. So the notices about a trouble that
// grows are few, however long it goes on: what Karpenter replaces again and again is
// told twice, not every 15 minutes.
func (p *planner) grown(n Notice, known ledger.Notice) bool {
	now, told := len(n.Entries), known.Incident.Most
	if n.Key.Cause == "" {
		now, told = known.Incident.Total, known.Incident.Told
		for _, e := range n.Entries {
			if _, member := known.Members[e.Finding.Instance]; !member {
				now++
			}
		}
	}
	untold := func(e Entry) bool { return e.told == "" }
	if n.Key.Kind == roll.Stuck && !slices.ContainsFunc(n.Entries, func(e Entry) bool { return !untold(e) }) {
		return true // each waits for something of its own, and of those that were told none is left
	}
	if p.Now.Sub(known.SentAt) >= untoldAfter && slices.ContainsFunc(n.Entries, untold) {
		return true
	}
	return now > told && 2*now >= 3*told
}

// untoldAfter is how long after the last notice of an incident its instances that no notice
// named are told all the same: what goes on for long may be another trouble by now.
const untoldAfter = 24 * time.Hour

// join notes what is to be remembered of the notice's instances, and counts those that
// are new to the incident. It reports whether that differs from what was remembered.
func (n *Notice) join(known ledger.Notice) (changed bool) {
	for _, e := range n.Entries {
		id := e.Finding.Instance
		_, member := known.Members[id]
		if !member {
			n.Incident.Total++
		}
		changed = changed || e.Changed || !member
		switch { // that it is no news does not mean that it was told: it may wait for something that passes
		case len(n.News) > 0, e.gist == e.told:
			n.Said.Members[id] = e.gist
		default:
			n.Said.Members[id] = ledger.Unsaid(e.gist, e.told)
		}
	}
	return changed
}

// leave decides which of the instances that are not in the notice are still remembered
// with it: a node that flaps drops out and comes back, and is no news each time. Neither
// is what nobody could tell of in this check. It reports whether some are forgotten, or
// what was said only of them.
func (p *planner) leave(n *Notice, known ledger.Notice) (gone bool) {
	recent := p.Now.Sub(known.SentAt) < forgetAfter
	for id, said := range known.Members {
		switch {
		case n.Said.Members[id] != "":
		case p.elsewhere(id, n.Key):
			gone = true
		case recent || p.Assessment.Kept[roll.FindingKey{Instance: id, Kind: n.Key.Kind}]:
			n.Said.Members[id] = said
		default:
			gone = true
			if !p.otherwise(ledger.Notice{Members: map[roll.InstanceID]string{id: said}}) {
				n.Incident.Left++
			}
		}
	}
	return gone
}

// forgetHolds forgets, with a notice that tells of an order after an hour without one, for what instances were held
// that are not held for it now: whoever reads that one is acted on is told when it is held
// after all. Otherwise what was told stays told for as long as the incident lasts: two
// reasons that alternate are not news in turn.
func (p *planner) forgetHolds(n *Notice, known ledger.Notice) {
	if !slices.Contains(n.News, NewsOrdered) || p.Now.Sub(known.SentAt) < forgetAfter {
		return
	}
	n.Incident.Gists = slices.DeleteFunc(slices.Clone(n.Incident.Gists), func(gist string) bool {
		reason, held := strings.CutPrefix(gist, gistHeld)
		if !held || Reason(reason).Passing() {
			return false
		}
		for id := range n.Said.Members {
			if is, told := n.Said.Said(id); is == gist || told == gist {
				return false
			}
		}
		return true
	})
}

// elsewhere reports that an instance is in another incident of the same group and kind by
// now.
func (p *planner) elsewhere(id roll.InstanceID, key ledger.NoticeKey) bool {
	other, ok := p.incidentOf[roll.FindingKey{Instance: id, Kind: key.Kind}]
	return ok && other != key
}

// sent counts the notice as one of its incident, and notes what it says.
func (p *planner) sent(n *Notice) {
	i := &n.Incident
	if i.ID == "" {
		i.ID, i.First = p.incidentID(n.Key, p.opened(n.Entries)), p.Now
	}
	i.Sent++
	i.Most, i.Told = max(i.Most, len(n.Entries)), i.Total
	i.Gists = addGist(i.Gists, gistCause+n.Key.Cause)
	for _, e := range n.Entries {
		i.Gists = addGist(i.Gists, e.gist)
		if e.Held != nil { // shown, also if it passes by itself: no news again when it has not
			i.Gists = addGist(i.Gists, gistHeld+string(e.Held.Reason))
		}
	}
	n.Said.Incident = *i
}

// nameIncidents tells each order of which incident it is, so that whoever carries it out
// can say so.
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
