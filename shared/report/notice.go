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
	"rollcall/shared/remediate"
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
// filter policy can list them.
type Attributes struct {
	Cluster  string
	Group    string
	Kind     string
	Severity Severity
	Action   string // what is being, or was, done: none, terminate, terminated, failed, refused, unclear
}

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
	Since     time.Time        `json:"since"`
	Count     int              `json:"count"`
	Instances []NoticeInstance `json:"instances"`
	Truncated int              `json:"truncated,omitempty"` // instances left out of the list
}

// NoticeInstance is one instance of a notice.
type NoticeInstance struct {
	Instance string        `json:"instance"`
	Node     string        `json:"node,omitempty"`
	Zone     string        `json:"zone,omitempty"`
	Owner    string        `json:"owner"`
	Stage    string        `json:"stage"`
	Since    time.Time     `json:"since"`
	Due      time.Time     `json:"due"`
	New      bool          `json:"new"`
	Order    string        `json:"order,omitempty"`
	Held     string        `json:"held,omitempty"`
	Detail   string        `json:"detail,omitempty"`
	Hold     string        `json:"hold,omitempty"`
	Next     *StepDocument `json:"next,omitempty"`
}

// Notice renders a notice of a check.
func Notice(id roll.ClusterID, n plan.Notice, mode policy.Mode, at time.Time) (Message, error) {
	entries := slices.Clone(n.Entries)
	// What is news, and what is being acted on, comes first: lists are cut at the end.
	slices.SortStableFunc(entries, func(a, b plan.Entry) int {
		return cmp.Or(boolFirst(a.Order != nil, b.Order != nil), boolFirst(a.New, b.New), a.Finding.Since.Compare(b.Finding.Since), cmp.Compare(a.Finding.Instance, b.Finding.Instance))
	})
	d := NoticeDocument{
		Version: 1, Source: "rollcall", At: at.UTC(), Account: id.Account, Region: id.Region, Cluster: id.Name,
		Group: string(n.Key.Group), Kind: string(n.Key.Kind), Severity: SeverityWarning, Action: "none", Since: n.Earliest().UTC(),
		Count: len(entries), Instances: []NoticeInstance{},
	}
	ordered := 0
	for i, e := range entries {
		if e.Finding.Stage == roll.Overdue {
			d.Severity = SeverityCritical
		}
		if e.Order != nil {
			ordered++
			d.Action = string(e.Order.Action)
		}
		if i < jsonEntries {
			d.Instances = append(d.Instances, noticeInstance(e, mode, at))
		}
	}
	m := Message{
		Subject:    subject(id.Name, fmt.Sprintf("%d %s in %s", len(entries), n.Key.Kind, groupInWords(n.Key.Group)), doing(ordered, n)),
		Text:       noticeText(id, n, entries, mode, at),
		Attributes: Attributes{Cluster: id.Name, Group: d.Group, Kind: d.Kind, Severity: d.Severity, Action: d.Action},
	}
	var err error
	m.JSON, err = fitting(d)
	return m, err
}

// fitting encodes the document with as many of its instances as fit into a message. The
// JSON form is a string within the message's JSON, which escapes it once more.
func fitting(d NoticeDocument) ([]byte, error) {
	for {
		d.Truncated = d.Count - len(d.Instances)
		data, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		within, err := json.Marshal(string(data))
		if err != nil {
			return nil, err
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
	case e.Step.Do == policy.DoTerminate:
		return mode == policy.Remediate
	}
	return true
}

func noticeInstance(e plan.Entry, mode policy.Mode, at time.Time) NoticeInstance {
	f := e.Finding
	out := NoticeInstance{
		Instance: string(f.Instance), Node: f.Node, Zone: f.Zone, Owner: string(f.Owner), Stage: string(f.Stage),
		Since: f.Since.UTC(), Due: f.Due.UTC(), New: e.New, Hold: e.Hold, Detail: f.Summary,
	}
	if e.Order != nil {
		out.Order = e.Order.ID
	}
	if e.Held != nil {
		out.Held, out.Detail = string(e.Held.Reason), e.Held.Detail
	}
	if follows(e, mode, at) {
		out.Next = &StepDocument{Do: string(e.Step.Do), At: e.Step.At.UTC()}
	}
	return out
}

// doing is the end of a subject: what is about to happen.
func doing(ordered int, n plan.Notice) string {
	if ordered > 0 {
		return fmt.Sprintf("terminating %d", ordered)
	}
	for _, e := range n.Entries {
		if e.Held != nil {
			return fmt.Sprintf("not acted on (%s)", e.Held.Reason)
		}
	}
	for _, e := range n.Entries {
		if e.Finding.Stage == roll.Overdue {
			return "past tolerance"
		}
	}
	return "not yet due"
}

func noticeText(id roll.ClusterID, n plan.Notice, entries []plan.Entry, mode policy.Mode, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", explain(n.Key.Kind, len(entries)))
	fmt.Fprintf(&b, "Cluster   %s (account %s, %s)\nGroup     %s\nSince     %s (%s)\nMode      %s\n", id.Name, id.Account, id.Region, n.Key.Group, n.Earliest().UTC().Format(time.RFC3339), Age(at.Sub(n.Earliest())), mode)
	b.WriteString("\nInstances\n")
	for i, e := range entries {
		if i == textEntries {
			fmt.Fprintf(&b, "  and %d more\n", len(entries)-i)
			break
		}
		f := e.Finding
		fmt.Fprintf(&b, "  %s%s, %s, for %s\n    %s\n", f.Instance, orNothing(" ", f.Node), f.Stage, Age(at.Sub(f.Since)), what(e, mode, at))
	}
	first := entries[0].Finding.Instance
	fmt.Fprintf(&b, "\nTo look closer\n  aws ec2 get-console-output --region %s --instance-id %s --latest --output text\n", id.Region, first)
	if n.Key.Kind == roll.Unregistered {
		fmt.Fprintf(&b, "  aws eks describe-cluster --region %s --name %s --query cluster.accessConfig\n", id.Region, id.Name)
	} else {
		fmt.Fprintf(&b, "  kubectl describe node %s\n", entries[0].Finding.Node)
	}
	for _, e := range entries {
		if roll.HoldActive(e.Hold, at) {
			fmt.Fprintf(&b, "\nTo let go of an instance that is kept\n  aws ec2 delete-tags --region %s --resources %s --tags Key=%s\n", id.Region, e.Finding.Instance, roll.TagHold)
			break
		}
	}
	for _, e := range entries {
		if e.Order == nil && !roll.HoldActive(e.Hold, at) {
			fmt.Fprintf(&b, "\nTo keep an instance as it is (remove the tag to let go)\n  aws ec2 create-tags --region %s --resources %s --tags Key=%s,Value=true\n", id.Region, e.Finding.Instance, roll.TagHold)
			return b.String()
		}
	}
	fmt.Fprintf(&b, "\nTo keep others of the kind as they are, tag them before their time is up\n  aws ec2 create-tags --region %s --resources INSTANCE --tags Key=%s,Value=true\n", id.Region, roll.TagHold)
	return b.String()
}

func orNothing(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// explain says in a sentence what a kind of finding means.
func explain(k roll.Kind, n int) string {
	switch k {
	case roll.Unregistered:
		return fmt.Sprintf("%d %s launched for this cluster and %s not registered as %s.", n, roll.Plural(n, "instance was", "instances were"), roll.Plural(n, "has", "have"), roll.Plural(n, "a node", "nodes"))
	case roll.NotReady:
		return fmt.Sprintf("%d %s that %s not ready (Ready=False).", n, roll.Plural(n, "node reports", "nodes report"), roll.Plural(n, "it is", "they are"))
	}
	return fmt.Sprintf("%d %s stopped reporting (Ready=Unknown).", n, roll.Plural(n, "node has", "nodes have"))
}

// what says what Rollcall does about an entry.
func what(e plan.Entry, mode policy.Mode, at time.Time) string {
	switch {
	case e.Order != nil:
		return fmt.Sprintf("ordered: %s, now (order %s, expires %s)", e.Order.Action, e.Order.ID, e.Order.Expires.UTC().Format("15:04:05Z"))
	case roll.HoldActive(e.Hold, at):
		return fmt.Sprintf("kept as it is (%s=%s); it keeps costing until the tag is removed", roll.TagHold, short(e.Hold, 40))
	case e.Held != nil:
		return fmt.Sprintf("not acted on (%s): %s", e.Held.Reason, e.Held.Detail)
	case follows(e, mode, at) && e.Step.Do == policy.DoTerminate:
		return fmt.Sprintf("will be terminated at %s if nothing changes", e.Step.At.UTC().Format(time.RFC3339))
	case e.Finding.Stage == roll.Warned:
		return fmt.Sprintf("its tolerance ends at %s", e.Finding.Due.UTC().Format(time.RFC3339))
	}
	return "nothing but this notice follows"
}

// Outcome renders what became of an order.
func Outcome(id roll.ClusterID, o remediate.Outcome, at time.Time) (Message, error) {
	done := map[remediate.Result]string{remediate.Acted: "terminated", remediate.Failed: "failed", remediate.Refused: "refused", remediate.Unclear: "unclear"}[o.Result]
	severity := SeverityInfo
	if o.Result == remediate.Failed || o.Result == remediate.Unclear {
		severity = SeverityCritical
	}
	d := NoticeDocument{
		Version: 1, Source: "rollcall", At: at.UTC(), Account: id.Account, Region: id.Region, Cluster: id.Name,
		Group: string(o.Order.Group), Kind: string(o.Order.Kind), Severity: severity, Action: done, Since: o.Order.Since.UTC(), Count: 1,
		Instances: []NoticeInstance{{
			Instance: string(o.Order.Instance), Node: o.Order.Node, Owner: string(o.Order.Owner), Stage: string(roll.Overdue),
			Since: o.Order.Since.UTC(), Due: o.Order.At.UTC(), New: true, Order: o.Order.ID, Held: string(o.Reason), Detail: o.Detail,
		}},
	}
	var b strings.Builder
	switch o.Result {
	case remediate.Acted:
		fmt.Fprintf(&b, "Instance %s was terminated; its owner (%s, %s) launches a replacement.\n", o.Order.Instance, o.Order.Owner, o.Order.Group)
		if o.Order.Owner == roll.OwnerNone {
			b.Reset()
			fmt.Fprintf(&b, "Instance %s was terminated; nobody owns it, so nobody replaces it.\n", o.Order.Instance)
		}
	case remediate.Refused:
		fmt.Fprintf(&b, "Instance %s was not terminated: a second look right before the act found another case (%s).\n", o.Order.Instance, o.Reason)
	case remediate.Failed:
		fmt.Fprintf(&b, "The termination of instance %s failed; nothing happened to it.\n", o.Order.Instance)
	default:
		fmt.Fprintf(&b, "Whether the termination of instance %s took effect is unclear; the next checks will tell, and it is not repeated.\n", o.Order.Instance)
	}
	fmt.Fprintf(&b, "\nCluster   %s (account %s, %s)\nGroup     %s\nOrder     %s\nWhy       %s\nDetail    %s\n", id.Name, id.Account, id.Region, o.Order.Group, o.Order.ID, o.Order.Why, o.Detail)
	m := Message{
		Subject:    subject(id.Name, fmt.Sprintf("%s in %s", o.Order.Kind, groupInWords(o.Order.Group)), outcomeInWords(o, done)),
		Text:       b.String(),
		Attributes: Attributes{Cluster: id.Name, Group: d.Group, Kind: d.Kind, Severity: severity, Action: done},
	}
	var err error
	m.JSON, err = json.Marshal(d)
	return m, err
}

func groupInWords(g roll.Group) string {
	if g == roll.GroupNone {
		return "no group"
	}
	return short(string(g), subjectGroup)
}

func outcomeInWords(o remediate.Outcome, done string) string {
	if o.Result == remediate.Acted {
		return fmt.Sprintf("%s terminated", o.Order.Instance)
	}
	return fmt.Sprintf("termination of %s %s", o.Order.Instance, done)
}

// subject joins the parts in ASCII and under 100 characters, as SNS demands. The
// cluster's name gives way first: the rest is what the reader needs.
func subject(cluster, what, doing string) string {
	tail := fmt.Sprintf(": %s, %s", what, doing)
	head := "[rollcall] " + cluster
	s := ascii(head + tail)
	if len(s) <= subjectLength {
		return s
	}
	keep := subjectLength - len(ascii(tail)) - len("...")
	if keep < len("[rollcall] ") {
		return s[:subjectLength-len("...")] + "..."
	}
	return ascii(head)[:keep] + "..." + ascii(tail)
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
