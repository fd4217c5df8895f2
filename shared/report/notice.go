package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Message is a notice as it is published: text for mail, JSON for every other protocol,
// attributes for subscription filter policies, and a form for chats.
type Message struct {
	Subject    string
	Text       string
	JSON       []byte
	Chat       []byte
	Attributes Attributes
}

// From is the sender of notices.
type From struct {
	// Stack is the CloudFormation stack of the deployment, "" if there is none.
	Stack string
}

// Attributes are the SNS message attributes of a notice. Each has few values, so that a
// filter policy can list them. Later notices of the same incident carry the same cluster,
// group and kind.
type Attributes struct {
	Cluster string
	Group   string // groupCluster in notices about a cluster as a whole
	Kind    string // kindCluster in notices about a cluster as a whole
	// Cause is the code of the first decisive cause that most instances have, or none.
	Cause    string
	Severity Severity
	// Action is the act in progress, such as terminate, or the outcome of an order:
	// terminated, failed, refused, ... It is none if nothing is done, and resolved when
	// the incident is over.
	Action string
	// News is why the notice is sent: the first of its NoticeDocument.News.
	News string
	// Incident is the id that all notices about one incident share.
	Incident string
}

const (
	none           = "none" // the value of an attribute that does not apply
	actionResolved = "resolved"
)

// News values that plan.News does not have.
const (
	newsResolved = "resolved" // the incident is over
	newsOutcome  = "outcome"  // the outcome of an order
)

// Severity is how urgent a notice is.
type Severity string

// The severities.
const (
	SeverityInfo     Severity = "info"     // an act succeeded, or no act is needed any more
	SeverityWarning  Severity = "warning"  // within the tolerance
	SeverityCritical Severity = "critical" // past the tolerance
)

// Limits, set by SNS or by readability.
const (
	subjectLength  = 99      // SNS takes subjects of under 100 characters
	subjectGroup   = 40      // most characters of a group's name in a subject
	subjectLeast   = 10      // fewest characters of a group's name that is cut
	subjectCluster = 30      // characters of the cluster's name kept at the expense of the group's
	textEntries    = 5       // instances named in a text
	textDeeds      = 3       // sentences of a text about what Rollcall does
	handEntries    = 20      // instances of a command to act by hand
	jsonEntries    = 200     // instances in the JSON form, or fewer if they are long
	jsonBytes      = 180_000 // of the JSON form within the message; SNS takes 256 KB with the text
	sentenceBytes  = 420     // of a sentence in a text
	detailBytes    = 200     // of the detail within such a sentence
	lineBytes      = 1_000   // of a sentence in the JSON form
	causeBytes     = 8_000   // of the first cause's summary, so long that it is not cut in practice
	fixBytes       = 6_000   // of the fix of a cause; a longer one is left out whole
)

// NoticeDocument is the JSON form of a notice; events/notice.schema.json describes
// it.
type NoticeDocument struct {
	Version   int              `json:"version"`
	Source    string           `json:"source"`
	At        time.Time        `json:"at"`
	Account   string           `json:"account"`
	Region    string           `json:"region"`
	Cluster   string           `json:"cluster"`
	Group     string           `json:"group"`
	Kind      string           `json:"kind"`
	Severity  Severity         `json:"severity"`
	Action    string           `json:"action"`
	News      []string         `json:"news"`               // why it is sent, most important first
	Summary   string           `json:"summary"`            // what is wrong, a sentence for a person
	Incident  *NoticeIncident  `json:"incident,omitempty"` // shared by all notices of the incident
	Ordered   string           `json:"ordered,omitempty"`  // the ordered act, in a notice of an outcome
	Reason    string           `json:"reason,omitempty"`   // why a cluster cannot be judged
	Detail    string           `json:"detail,omitempty"`   // the reason as a sentence for a person
	Since     time.Time        `json:"since,omitzero"`
	Until     time.Time        `json:"until,omitzero"`  // when it was first observed to be over
	Cause     string           `json:"cause,omitempty"` // code of the first decisive cause that most instances have
	Causes    []NoticeCause    `json:"causes,omitempty"`
	Evidence  string           `json:"evidence,omitempty"` // where the evidence is stored
	Does      []string         `json:"does,omitempty"`     // what Rollcall does or will do, sentences for a person
	Nodes     *NoticeNodes     `json:"nodes,omitempty"`    // of the whole cluster, if all could be read
	Links     NoticeLinks      `json:"links,omitzero"`
	Count     int              `json:"count"`
	Instances []NoticeInstance `json:"instances"`
	Ended     []NoticeEnded    `json:"ended,omitempty"`
	Truncated int              `json:"truncated,omitempty"` // instances left out of the lists
}

// NoticeIncident is shared by all notices about one incident, from the first to the
// notice that it is resolved.
type NoticeIncident struct {
	ID    string    `json:"id"`
	First time.Time `json:"first,omitzero"`  // when the first notice was sent
	Sent  int       `json:"sent,omitempty"`  // notices sent so far, including this one
	Total int       `json:"total,omitempty"` // instances affected since the beginning
}

// NoticeNodes counts the nodes of a cluster, and those that are Ready.
type NoticeNodes struct {
	All   int `json:"all"`
	Ready int `json:"ready"`
}

// document returns the JSON form of a notice with its common fields set.
func document(id roll.ClusterID, at time.Time, group, kind string, i ledger.Incident) NoticeDocument {
	d := NoticeDocument{
		Version: 1, Source: "rollcall", At: at.UTC(), Account: id.Account, Region: id.Region, Cluster: id.Name,
		Group: group, Kind: kind, Action: none, Instances: []NoticeInstance{},
	}
	if i.ID != "" {
		d.Incident = &NoticeIncident{ID: i.ID, First: i.First.UTC(), Sent: i.Sent, Total: i.Total}
	}
	return d
}

// message returns the notice. The document is its JSON form, the letter its text for people.
func (d NoticeDocument) message(subject string, l letter) (Message, error) {
	l.facts, l.sequel, l.link = slices.Concat([]fact{d.place()}, l.facts), d.sequel(), d.Links.first()
	l = l.bounded()
	d.Summary = l.headline
	d.bound()
	data, err := fitting(d)
	if err != nil {
		return Message{}, err
	}
	chat, err := chatMessage(d, subject, l)
	if err != nil {
		return Message{}, err
	}
	a := Attributes{
		Cluster: d.Cluster, Group: d.Group, Kind: d.Kind, Cause: cmp.Or(d.Cause, none), Severity: d.Severity, Action: d.Action,
		News: none, Incident: none,
	}
	if len(d.News) > 0 {
		a.News = d.News[0]
	}
	if d.Incident != nil {
		a.Incident = d.Incident.ID
	}
	return Message{Subject: subject, Text: l.text(), JSON: data, Chat: chat, Attributes: a}, nil
}

// bound clips texts from outside Rollcall, which may have any length. Afterwards, cutting
// the list of instances is enough to make the notice fit.
func (d *NoticeDocument) bound() {
	d.Detail = clip(d.Detail, lineBytes)
	for i := range d.Does {
		d.Does[i] = clip(shown(d.Does[i]), lineBytes)
	}
	for i := range d.Instances {
		d.Instances[i].Detail = clip(d.Instances[i].Detail, lineBytes)
	}
	most := causeBytes
	for i := range d.Causes {
		c := &d.Causes[i]
		if c.Summary = clip(c.Summary, most); len(c.Fix) > fixBytes {
			c.Fix = "" // half of it would be something else
		}
		most = lineBytes
	}
}

// place says in which group, cluster, account and region it is, and how many nodes are Ready,
// if that is known.
func (d NoticeDocument) place() fact {
	s := d.Cluster
	if d.Kind != kindCluster {
		s = groupWords(roll.Group(d.Group)) + " of " + d.Cluster
	}
	if d.Nodes != nil {
		s += fmt.Sprintf(", %d of %d nodes Ready", d.Nodes.Ready, d.Nodes.All)
	}
	return fact{"Where", fmt.Sprintf("%s (account %s, %s)", s, d.Account, d.Region)}
}

// sequel returns the fact of which notice of its incident this is.
func (d NoticeDocument) sequel() []fact {
	switch i := d.Incident; {
	case i == nil:
		return nil
	case i.Sent == 0:
		return []fact{{"Incident", i.ID}}
	case i.Sent == 1:
		return []fact{{"Incident", i.ID + ", first notice"}}
	default:
		return []fact{{"Incident", fmt.Sprintf("%s, notice %d; the first was sent at %s", i.ID, i.Sent, roll.Clock(i.First))}}
	}
}

// NoticeInstance is one instance of a notice.
type NoticeInstance struct {
	Instance string    `json:"instance"`
	Subject  string    `json:"subject,omitempty"` // set instead of Instance if it is about no instance
	Node     string    `json:"node,omitempty"`
	Zone     string    `json:"zone,omitempty"`
	Owner    string    `json:"owner"`
	Stage    string    `json:"stage"`
	Since    time.Time `json:"since"`
	Due      time.Time `json:"due"`
	New      bool      `json:"new"`
	// Condition is the node condition that failed, for that kind only.
	Condition string `json:"condition,omitempty"`
	// Contradiction is what a second source says against the finding.
	Contradiction string        `json:"contradiction,omitempty"`
	Order         string        `json:"order,omitempty"`
	Held          string        `json:"held,omitempty"`
	Detail        string        `json:"detail,omitempty"`
	Hold          string        `json:"hold,omitempty"`
	Next          *StepDocument `json:"next,omitempty"`
	Cause         string        `json:"cause,omitempty"` // code of its first decisive cause
	// Approve is the approval that is asked for. Approved is who approved the act.
	Approve  *ApproveDocument `json:"approve,omitempty"`
	Approved *ledger.Approval `json:"approved,omitempty"`
}

// ApproveDocument is an approval that is asked for, in JSON.
type ApproveDocument struct {
	Order string    `json:"order"` // the id to approve
	Acts  []string  `json:"acts"`  // what the approval permits, in order
	Until time.Time `json:"until"`
}

// NoticeCause is a cause that instances of the notice share, without its evidence.
type NoticeCause struct {
	roll.Cause
	Fix   string `json:"fix,omitempty"`   // replaces the cause's own field, which has no omitempty
	Count int    `json:"count,omitempty"` // instances whose first cause it is
}

// Notice returns the rendered notice of a check.
func (from From) Notice(id roll.ClusterID, n plan.Notice, mode policy.Mode, at time.Time) (Message, error) {
	if n.Over {
		return from.resolved(id, n, at)
	}
	entries := slices.Clone(n.Entries)
	// Ordered acts come first, then news, because lists are cut at the end.
	slices.SortStableFunc(entries, func(a, b plan.Entry) int {
		return cmp.Or(roll.TrueFirst(a.Order != nil, b.Order != nil), roll.TrueFirst(a.New, b.New), a.Finding.Since.Compare(b.Finding.Since), cmp.Compare(a.Finding.Instance, b.Finding.Instance))
	})
	d := document(id, at, string(n.Key.Group), string(n.Key.Kind), n.Incident)
	d.Severity, d.Since, d.Count, d.Cause = SeverityWarning, n.Earliest().UTC(), len(entries), n.Key.Cause
	d.News = roll.Map(n.News, func(news plan.News) string { return string(news) })
	if act, _ := heaviest(entries); act != "" {
		d.Action = string(act)
	}
	d.Nodes = nodes(n)
	causes := sharedBy(entries, n.Key.Cause)
	leaveOut(causes, entries)
	d.explain(causes)
	for i, e := range entries {
		d.Evidence = cmp.Or(d.Evidence, e.Evidence)
		if e.Finding.Stage == roll.Overdue {
			d.Severity = SeverityCritical
		}
		if i < jsonEntries {
			d.Instances = append(d.Instances, noticeInstance(e, mode, at))
		}
	}
	d.Links, d.Does = linksTo(id, entries[0].Finding.Instance, n.Key.Group, d.Evidence), deeds(entries, mode, at)
	return d.message(subject(id.Name, headlined(n.Key.Kind, entries, d.Cause), d.Cause, n.Key.Group, doing(entries)), from.letter(id, d, n, entries, causes, mode, at))
}

// nodes returns the node counts of the notice's cluster, nil if they are unknown.
func nodes(n plan.Notice) *NoticeNodes {
	if n.Nodes == 0 {
		return nil
	}
	return &NoticeNodes{All: n.Nodes, Ready: n.Ready}
}

func (from From) letter(id roll.ClusterID, d NoticeDocument, n plan.Notice, entries []plan.Entry, causes []shared, mode policy.Mode, at time.Time) letter {
	l := letter{headline: explainOf(n.Key.Kind, entries), why: reasons(causes, n.Key.Cause, len(entries)), next: firstDeeds(d.Does), facts: []fact{{"Since", began(n, at)}}}
	switch {
	case len(l.why) > 0:
	case wordsOf(n.Key.Kind).whatOnly || entries[0].Finding.Left.ID != "" || disputed(entries) == len(entries):
		l.why = []why{{summary: capital(because(entries[0])) + "."}}
	case len(entries) == 1:
		l.why = []why{{summary: capital(because(entries[0])) + ". The cause is unknown."}}
	default:
		l.why = []why{{summary: "The cause is unknown: nothing that was checked explains it."}}
	}
	if news := newsInWords(n); news != "" {
		l.facts = append(l.facts, fact{"News", news})
	}
	explain := Recipe{"To see everything else (evidence, each instance, how to keep or stop acts)", []string{from.explain(id, entries[0].Finding.Instance, mode)}}
	recipes := slices.Concat(from.approve(id, entries), byHand(id, n, entries))
	l.facts = append(l.facts, approving(entries)...)
	for _, s := range causes {
		if s.cause.Fix != "" {
			recipes = append(recipes, Recipe{"To fix " + perhaps(s.cause), lines(s.cause.Fix)})
		}
	}
	if acting(entries, mode, at) {
		l.stop = halt(stop(id, n.Key.Kind, entries, mode, at))
	}
	l.against(id, append(recipes, release(id, entries, at)...)...)
	switch {
	case l.run != nil:
		l.rest = &explain
	case l.stop != nil:
		l.run, l.stop, l.rest = l.stop, nil, &explain
	default:
		l.run = &explain
	}
	l.members = roll.Map(entries[:min(len(entries), textEntries)], func(e plan.Entry) string { return string(e.Finding.Instance) + roll.Behind(" ", e.Finding.Node) })
	l.more = len(entries) - len(l.members)
	return l
}

// firstDeeds returns the first sentences of a list, and how many are left out.
func firstDeeds(all []string) []string {
	if len(all) <= textDeeds {
		return all
	}
	return append(slices.Clone(all[:textDeeds-1]), fmt.Sprintf("and %d more cases: rollcall explain shows them", len(all)-textDeeds+1))
}

// began says when the findings of the notice began. The incident may be older than its
// current findings.
func began(n plan.Notice, at time.Time) string {
	s := since(n.Earliest(), at)
	if first := n.Incident.First; !first.IsZero() && first.Before(n.Earliest()) {
		s += ", counting only those affected now"
	}
	return s
}

// since says when something began, and how long ago that is.
func since(began, at time.Time) string {
	return fmt.Sprintf("%s (%s)", roll.Clock(began), Age(at.Sub(began)))
}

// newsInWords says why a notice is sent, "" for the first of its incident.
func newsInWords(n plan.Notice) string {
	var words []string
	for _, news := range n.News {
		switch news {
		case plan.NewsOrdered:
			words = append(words, "an act is ordered")
		case plan.NewsAsked:
			words = append(words, "an act needs your approval")
		case plan.NewsHeld:
			words = append(words, "paused: "+strings.Join(heldFor(n.Entries), ", ")+" (new reason)")
		case plan.NewsEscalated:
			words = append(words, "past the tolerance now")
		case plan.NewsCause:
			words = append(words, causeNews(n))
		case plan.NewsGrown:
			words = append(words, fmt.Sprintf("more instances have it: %d now, %d in all since the first notice", len(n.Entries), n.Incident.Total))
		}
	}
	return strings.Join(words, "; ")
}

// heldFor returns the reasons of the new holds. Reasons that pass by themselves are
// returned only if there are no others.
func heldFor(entries []plan.Entry) []string {
	var lasting, passing []string
	for _, e := range entries {
		if e.Held == nil || !e.New {
			continue
		}
		if reason := string(e.Held.Reason); e.Held.Reason.Passing() {
			passing = append(passing, reason)
		} else {
			lasting = append(lasting, reason)
		}
	}
	if len(lasting) > 0 {
		return roll.Distinct(lasting)
	}
	return roll.Distinct(passing)
}

// causeNews says how the cause has changed since the last notice.
func causeNews(n plan.Notice) string {
	var before string
	if len(n.Replaces) > 0 {
		before = n.Replaces[0].Cause
	}
	switch {
	case n.Key.Cause == "" && before == "":
		return "the cause reported before is now ruled out"
	case n.Key.Cause == "":
		return before + ", reported before, is now ruled out"
	case before == "":
		return "a cause was found: " + n.Key.Cause
	}
	return fmt.Sprintf("another cause was found: %s, not %s", n.Key.Cause, before)
}

// because says what is wrong with an entry, and which steps of the ladder were skipped.
func because(e plan.Entry) string {
	if e.Order != nil {
		return e.Order.Why
	}
	return e.Finding.Summary
}

// fitting returns the encoded document with as many instances as fit into a message. The
// size is measured quoted, because the JSON form is a string within the message's JSON.
func fitting(d NoticeDocument) ([]byte, error) {
	for {
		if d.Count > 0 {
			d.Truncated = d.Count - len(d.Instances) - len(d.Ended)
		}
		data, err := encoded(d)
		if err != nil {
			return nil, fmt.Errorf("encode a notice: %w", err)
		}
		if quoted(string(data)) <= jsonBytes || len(d.Instances) <= 1 {
			return data, nil
		}
		d.Instances = d.Instances[:len(d.Instances)/2]
	}
}

func noticeInstance(e plan.Entry, mode policy.Mode, at time.Time) NoticeInstance {
	f := e.Finding
	out := NoticeInstance{
		Node: f.Node, Zone: f.Zone, Owner: string(f.Owner), Stage: string(f.Stage),
		Since: f.Since.UTC(), Due: f.Due.UTC(), New: e.New, Condition: f.Condition, Contradiction: f.Contradiction, Hold: e.Hold, Detail: f.Summary,
	}
	out.Instance, out.Subject = f.Instance.Named()
	if c, ok := (roll.Diagnosis{Causes: e.Causes}).Decisive(); ok {
		out.Cause = c.Code
	}
	if e.Order != nil {
		out.Order, out.Detail, out.Approved = e.Order.ID, e.Order.Why, e.Order.Approved
	}
	if e.Held != nil {
		out.Held, out.Detail = string(e.Held.Reason), e.Held.Detail
		if q := asks(e); q != nil {
			out.Approve = &ApproveDocument{Order: q.Order, Acts: q.Acts, Until: q.Until.UTC()}
		}
	}
	if follows(e, mode, at) {
		out.Next = &StepDocument{Do: string(e.Step.Do), At: stepAt(e), Approve: e.Step.Approve.Needed()}
	}
	return out
}
