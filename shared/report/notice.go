package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Message is a notice as it is published: text for people's mail, JSON for every
// other protocol, and attributes for subscription filter policies.
type Message struct {
	Subject    string
	Text       string
	JSON       []byte
	Attributes Attributes
}

// Attributes are the message attributes of a notice. Each has few values, so that a
// filter policy can list them. What is said later of the same trouble, that it grew
// worse or is over, carries the same cluster, group and kind.
type Attributes struct {
	Cluster string
	Group   string // groupCluster in notices about a cluster as a whole
	Kind    string // kindCluster likewise
	// Cause is the code of the first decisive cause, of several the one that most
	// instances have; none if none is known.
	Cause    string
	Severity Severity
	// Action is what is being done, such as terminate, or what became of an order:
	// terminated, failed, refused, ... It is none if nothing is done, and resolved when
	// the trouble is over.
	Action string
}

const (
	actionNone     = "none"
	actionResolved = "resolved"
	causeNone      = "none"
)

// Severity is how urgent a notice is.
type Severity string

// The severities.
const (
	SeverityInfo     Severity = "info"     // something was done, or need not be done any more
	SeverityWarning  Severity = "warning"  // still within the tolerance
	SeverityCritical Severity = "critical" // past the tolerance
)

// limits of SNS and of what people read.
const (
	subjectLength = 99      // SNS takes subjects of under 100 characters
	subjectGroup  = 40      // of which a group's name may take so many
	subjectLeast  = 10      // and this much is left of it, and of the cluster's
	textEntries   = 20      // instances spelled out in a text
	jsonEntries   = 200     // instances in the JSON form, or fewer if they are long
	jsonBytes     = 200_000 // of the JSON form within the message; SNS takes 256 KB with the text
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
	Ordered   string           `json:"ordered,omitempty"` // the act that a notice of an outcome is about
	Reason    string           `json:"reason,omitempty"`  // why a cluster cannot be judged
	Detail    string           `json:"detail,omitempty"`  // likewise, a sentence for a person
	Since     time.Time        `json:"since,omitzero"`
	Until     time.Time        `json:"until,omitzero"`  // when it was first seen to be over
	Cause     string           `json:"cause,omitempty"` // code of the first decisive cause that most instances have
	Causes    []NoticeCause    `json:"causes,omitempty"`
	Evidence  string           `json:"evidence,omitempty"` // where what was read is kept
	Count     int              `json:"count"`
	Instances []NoticeInstance `json:"instances"`
	Ended     []NoticeEnded    `json:"ended,omitempty"`
	Truncated int              `json:"truncated,omitempty"` // instances left out of the lists
}

// document begins the JSON form of a notice.
func document(id roll.ClusterID, at time.Time, group, kind string) NoticeDocument {
	return NoticeDocument{
		Version: 1, Source: "rollcall", At: at.UTC(), Account: id.Account, Region: id.Region, Cluster: id.Name,
		Group: group, Kind: kind, Action: actionNone, Instances: []NoticeInstance{},
	}
}

// message is the notice that the document is the JSON form of.
func (d NoticeDocument) message(subject, text string) (Message, error) {
	data, err := fitting(d)
	return Message{
		Subject: subject, Text: text, JSON: data,
		Attributes: Attributes{Cluster: d.Cluster, Group: d.Group, Kind: d.Kind, Cause: cmp.Or(d.Cause, causeNone), Severity: d.Severity, Action: d.Action},
	}, err
}

// NoticeInstance is one instance of a notice.
type NoticeInstance struct {
	Instance string    `json:"instance"`
	Node     string    `json:"node,omitempty"`
	Zone     string    `json:"zone,omitempty"`
	Owner    string    `json:"owner"`
	Stage    string    `json:"stage"`
	Since    time.Time `json:"since"`
	Due      time.Time `json:"due"`
	New      bool      `json:"new"`
	// Condition is the node condition that failed, for that kind only.
	Condition string        `json:"condition,omitempty"`
	Order     string        `json:"order,omitempty"`
	Held      string        `json:"held,omitempty"`
	Detail    string        `json:"detail,omitempty"`
	Hold      string        `json:"hold,omitempty"`
	Next      *StepDocument `json:"next,omitempty"`
	Cause     string        `json:"cause,omitempty"` // code of its first decisive cause
}

// NoticeCause is a cause that instances of the notice have in common.
type NoticeCause struct {
	Code       string `json:"code"`
	Confidence string `json:"confidence"`
	Summary    string `json:"summary"`
	Fix        string `json:"fix,omitempty"`
	Subject    string `json:"subject,omitempty"`
	Count      int    `json:"count"` // of how many instances it is the first cause
}

// Notice renders a notice of a check.
func Notice(id roll.ClusterID, n plan.Notice, mode policy.Mode, at time.Time) (Message, error) {
	if n.Over {
		return resolved(id, n, at)
	}
	entries := slices.Clone(n.Entries)
	// What is news, and what is being acted on, comes first: lists are cut at the end.
	slices.SortStableFunc(entries, func(a, b plan.Entry) int {
		return cmp.Or(boolFirst(a.Order != nil, b.Order != nil), boolFirst(a.New, b.New), a.Finding.Since.Compare(b.Finding.Since), cmp.Compare(a.Finding.Instance, b.Finding.Instance))
	})
	d := document(id, at, string(n.Key.Group), string(n.Key.Kind))
	d.Severity, d.Since, d.Count = SeverityWarning, n.Earliest().UTC(), len(entries)
	if act, _ := heaviest(entries); act != "" {
		d.Action = string(act)
	}
	causes := sharedBy(entries)
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
	what := fmt.Sprintf("%d %s", len(entries), n.Key.Kind)
	return d.message(subject(id.Name, what, n.Key.Group, doing(entries)), noticeText(id, n, entries, causes, mode, at))
}

// heaviest is the gravest act that is ordered, and for how many; "" if none is.
func heaviest(entries []plan.Entry) (act plan.Action, n int) {
	for _, e := range entries {
		switch {
		case e.Order == nil || acts[e.Order.Action].weight < acts[act].weight:
		case e.Order.Action == act:
			n++
		default:
			act, n = e.Order.Action, 1
		}
	}
	return act, n
}

// fitting encodes the document with as many of its instances as fit into a message. The
// JSON form is a string within the message's JSON, which escapes it once more.
func fitting(d NoticeDocument) ([]byte, error) {
	for {
		if d.Count > 0 {
			d.Truncated = d.Count - len(d.Instances) - len(d.Ended)
		}
		data, err := json.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("encode a notice: %w", err)
		}
		within, err := json.Marshal(string(data))
		if err != nil {
			return nil, fmt.Errorf("encode a notice: %w", err)
		}
		if len(within) <= jsonBytes || len(d.Instances) <= 1 {
			return data, nil
		}
		d.Instances = d.Instances[:len(d.Instances)/2]
	}
}

func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// follows reports whether an entry's step will come if nothing changes.
func follows(e plan.Entry, mode policy.Mode, at time.Time) bool {
	switch {
	case e.Step.Do == "" || e.Held != nil || roll.HoldActive(e.Hold, at):
		return false
	case coming[e.Step.Do] != "":
		return mode == policy.Remediate
	}
	return true
}

// stepAt is when an entry's step comes: an act not while it is left to the owner.
func stepAt(e plan.Entry) time.Time {
	if coming[e.Step.Do] != "" && e.Until.After(e.Step.At) {
		return e.Until.UTC()
	}
	return e.Step.At.UTC()
}

func noticeInstance(e plan.Entry, mode policy.Mode, at time.Time) NoticeInstance {
	f := e.Finding
	out := NoticeInstance{
		Instance: string(f.Instance), Node: f.Node, Zone: f.Zone, Owner: string(f.Owner), Stage: string(f.Stage),
		Since: f.Since.UTC(), Due: f.Due.UTC(), New: e.New, Condition: f.Condition, Hold: e.Hold, Detail: f.Summary,
	}
	if c, ok := (roll.Diagnosis{Causes: e.Causes}).Decisive(); ok {
		out.Cause = c.Code
	}
	if e.Order != nil {
		out.Order, out.Detail = e.Order.ID, e.Order.Why
	}
	if e.Held != nil {
		out.Held, out.Detail = string(e.Held.Reason), e.Held.Detail
	}
	if follows(e, mode, at) {
		out.Next = &StepDocument{Do: string(e.Step.Do), At: stepAt(e)}
	}
	return out
}

// doing is the end of a subject: what is about to happen.
func doing(entries []plan.Entry) string {
	if act, n := heaviest(entries); act != "" {
		return fmt.Sprintf("%s %d", acts[act].doing, n)
	}
	for _, e := range entries {
		if e.Held != nil {
			return fmt.Sprintf("%s (%s)", heldBack(e.Held.Reason), e.Held.Reason)
		}
	}
	for _, e := range entries {
		if e.Left != "" {
			return "left to its owner"
		}
	}
	for _, e := range entries {
		if e.Finding.Stage == roll.Overdue {
			return "past tolerance"
		}
	}
	return "not yet due"
}

func noticeText(id roll.ClusterID, n plan.Notice, entries []plan.Entry, causes []shared, mode policy.Mode, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", explain(n.Key.Kind, len(entries)))
	where(&b, id, n.Key.Group)
	fmt.Fprintf(&b, "Since     %s (%s)\nMode      %s\n", n.Earliest().UTC().Format(time.RFC3339), Age(at.Sub(n.Earliest())), inMode(mode))
	reasons(&b, causes, len(entries))
	b.WriteString("\nInstances\n")
	for i, e := range entries {
		if i == textEntries {
			fmt.Fprintf(&b, "  and %d more\n", len(entries)-i)
			break
		}
		f := e.Finding
		fmt.Fprintf(&b, "  %s%s, %s, for %s\n", f.Instance, orNothing(" ", f.Node), f.Stage, Age(at.Sub(f.Since)))
		doing := what(e, mode, at)
		if why := because(e); !strings.Contains(doing, why) {
			fmt.Fprintf(&b, "    %s\n", why)
		}
		fmt.Fprintf(&b, "    %s\n", doing)
	}
	commands(&b, "To look closer", look(id, entries[0])...)
	kept(&b, entries)
	stop(&b, id, n.Key.Kind, entries, mode, at)
	return b.String()
}

// because says what is wrong with an entry, and what of the ladder was passed over.
func because(e plan.Entry) string {
	if e.Order != nil {
		return e.Order.Why
	}
	return e.Finding.Summary
}

// where begins the facts of a text.
func where(b *strings.Builder, id roll.ClusterID, g roll.Group) {
	fmt.Fprintf(b, "Cluster   %s (account %s, %s)\nGroup     %s\n", id.Name, id.Account, id.Region, g)
}

// commands writes a section of commands to be copied.
func commands(b *strings.Builder, title string, lines ...string) {
	fmt.Fprintf(b, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", l)
	}
}

// inMode says what a mode means for the reader.
func inMode(m policy.Mode) string {
	if m == policy.Remediate {
		return string(m)
	}
	return string(m) + ": Rollcall tells, and acts on nothing"
}

// stop says how a person keeps Rollcall from acting, where it acts or might.
func stop(b *strings.Builder, id roll.ClusterID, kind roll.Kind, entries []plan.Entry, mode policy.Mode, at time.Time) {
	if !slices.ContainsFunc(entries, func(e plan.Entry) bool { return mightAct(e, mode, at) }) {
		return
	}
	if kind != roll.Ghost { // whose instance loses its tags
		hold(b, id, entries, at)
	}
	if mode == policy.Remediate {
		commands(b, "To stop all acts on this cluster (an override of the policy for the group goes before the tag)",
			fmt.Sprintf("aws eks tag-resource --region %s --resource-arn %s --tags %s=%s", id.Region, clusterARN(id), roll.TagMode, policy.Notify))
	}
}

// mightAct reports whether something is done about an entry, or would be if what holds
// it back did not.
func mightAct(e plan.Entry, mode policy.Mode, at time.Time) bool {
	switch {
	case e.Order != nil:
		return true
	case e.Held != nil:
		return e.Held.Reason != plan.Conflicting && e.Held.Reason != plan.ClusterNotActive
	}
	return follows(e, mode, at) && coming[e.Step.Do] != "" || roll.HoldActive(e.Hold, at)
}

// hold says how a person keeps single instances as they are.
func hold(b *strings.Builder, id roll.ClusterID, entries []plan.Entry, at time.Time) {
	for _, e := range entries {
		if roll.HoldActive(e.Hold, at) {
			commands(b, "To let go of an instance that is kept",
				fmt.Sprintf("aws ec2 delete-tags --region %s --resources %s --tags Key=%s", id.Region, e.Finding.Instance, roll.TagHold))
			break
		}
	}
	keep := func(title, instance string) {
		commands(b, title, fmt.Sprintf("aws ec2 create-tags --region %s --resources %s --tags Key=%s,Value=true", id.Region, instance, roll.TagHold))
	}
	for _, e := range entries {
		switch {
		case roll.HoldActive(e.Hold, at), e.Order != nil && e.Order.Action != plan.Cordon && e.Order.Action != plan.Drain:
			continue // kept already, or too late
		case e.Left != "", e.Held != nil && e.Held.Reason == plan.OwnerWillAct:
			keep("To keep Rollcall, but not its owner, off an instance (remove the tag to let go)", string(e.Finding.Instance))
		default:
			keep("To keep an instance as it is (remove the tag to let go)", string(e.Finding.Instance))
		}
		return
	}
	keep("To keep others of the kind as they are, tag them before their time is up", "INSTANCE")
}

func orNothing(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// ordered ends the sentence that an act is ordered.
var ordered = map[plan.Action]string{
	plan.Cordon:          "no new pods are scheduled on its node",
	plan.Drain:           "its pods are evicted as their disruption budgets allow, over several checks",
	plan.Reboot:          "this happens once; if its node does not come back, the next step of the ladder follows",
	plan.DeleteNode:      "only the Node object is deleted; its instance is gone already",
	plan.DeleteNodeClaim: "Karpenter then drains its node and ends the instance",
}

// what says what Rollcall does about an entry.
func what(e plan.Entry, mode policy.Mode, at time.Time) string {
	switch {
	case e.Order != nil:
		return fmt.Sprintf("ordered: %s, now (order %s, expires %s)%s", e.Order.Action, e.Order.ID, e.Order.Expires.UTC().Format("15:04:05Z"), orNothing("; ", ordered[e.Order.Action]))
	case roll.HoldActive(e.Hold, at):
		return fmt.Sprintf("kept as it is (%s=%s); it keeps costing until the tag is removed", roll.TagHold, short(e.Hold, 40))
	case e.Held != nil:
		return fmt.Sprintf("%s (%s): %s", heldBack(e.Held.Reason), e.Held.Reason, e.Held.Detail)
	case e.Left != "":
		return left(e, mode, at)
	case follows(e, mode, at) && coming[e.Step.Do] != "":
		return fmt.Sprintf("%s at %s if nothing changes", coming[e.Step.Do], e.Step.At.UTC().Format(time.RFC3339))
	case e.Finding.Stage == roll.Warned:
		return fmt.Sprintf("its tolerance ends at %s", e.Finding.Due.UTC().Format(time.RFC3339))
	}
	return "nothing but this notice follows"
}

// left says that the owner deals with an entry, and what Rollcall does if it does not.
func left(e plan.Entry, mode policy.Mode, at time.Time) string {
	s := fmt.Sprintf("left to its owner: %s", e.Left)
	if follows(e, mode, at) && coming[e.Step.Do] != "" {
		return fmt.Sprintf("%s; if that has not helped by %s, %s then", s, stepAt(e).Format(time.RFC3339), coming[e.Step.Do])
	}
	return fmt.Sprintf("%s, so it should be over by %s", s, e.Until.UTC().Format(time.RFC3339))
}

func groupInWords(g roll.Group, n int) string {
	if g == roll.GroupNone {
		return "no group"
	}
	return short(string(g), n)
}

// subject says what is wrong in which group, and what is done, in ASCII and under 100
// characters, as SNS demands. The cluster's name gives way first, down to what tells it
// from others, and the group's next: the rest is what the reader needs.
func subject(cluster, what string, group roll.Group, doing string) string {
	for n := subjectGroup; n >= subjectLeast; n-- {
		if s, left := fit(cluster, fmt.Sprintf("%s in %s, %s", what, groupInWords(group, n), doing)); left >= min(subjectLeast, len(cluster)) {
			return s
		}
	}
	s, _ := fit(cluster, what+", "+doing)
	return s
}

// fit joins a cluster's name, or as much of it as there is room for, and what is to be
// said of it. It tells how much of the name is left.
func fit(cluster, say string) (string, int) {
	const begin, cut = "[rollcall] ", "..."
	head, tail := ascii(begin+cluster), ascii(": "+say)
	if len(head)+len(tail) <= subjectLength {
		return head + tail, len(cluster)
	}
	if keep := subjectLength - len(tail) - len(cut); keep >= len(begin) {
		return head[:keep] + cut + tail, keep - len(begin)
	}
	return (head + tail)[:subjectLength-len(cut)] + cut, 0
}

func ascii(s string) string {
	s = strings.ReplaceAll(s, "…", "...")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
