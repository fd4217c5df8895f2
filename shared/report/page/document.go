package page

import (
	"time"

	"rollcall/shared/roll"
)

// Document is what one page says. Parts that are empty are left out of the page.
type Document struct {
	Title    string
	Subtitle string // one sentence below the title
	Tag      string // a word or two that nobody may overlook, such as "simulated"
	// From and To are the time that the page is about. From is zero for one look, which
	// was at To.
	From, To time.Time
	Answers  []Answer // the page in short, before everything else
	Figures  []Figure
	Notes    []string // about the whole, below everything else
	Clusters []Cluster
	Notices  []Notice
	Tables   []Table  // such as costs
	Footer   []string // lines below everything: versions, how to make such a page
	// Rest says where that is which lists leave out; see More.
	Rest string
}

// Tone is how much something deserves attention.
type Tone string

// The tones; "" is none. Any other is shown as its own word.
const (
	ToneGood Tone = "good"
	ToneWarn Tone = "warning"
	ToneBad  Tone = "bad"
	ToneHeld Tone = "held" // waiting, on purpose
)

// Answer is a question that a reader brings, with its answer in a sentence or two.
type Answer struct {
	Question string
	Lines    []Line
	Tone     Tone
}

// Line is a sentence, about the cluster that it names, if it names one.
type Line struct{ Cluster, Text string }

// Figure is a number that sums something up.
type Figure struct {
	Label, Value string
	Note         string // what to compare it with
	Tone         Tone
}

// Cluster is one cluster: what it has, and what was found, held and done.
type Cluster struct {
	Name    string
	Place   string // region and account
	Mode    string // the most that Rollcall does here
	Version string
	Summary string // one sentence
	Tone    Tone
	// Unread says why the cluster could not be judged. Nodes, Ready and Starting are then
	// not shown.
	Unread   string
	Nodes    int
	Ready    int
	Starting int // instances that still have time to register, and nodes to initialize
	Notes    []string

	Timeline *Timeline
	Findings []Finding
	Watching []Finding // within their tolerance
	Held     []Withheld
	Acts     []Act
	Groups   []Group
	Zones    []Zone
	NotNodes []NotNode
	More     More
	Next     string // when the cluster is looked at next, and why then
}

// More counts what the lists of a cluster leave out: a page is for a person to read.
type More struct{ Findings, Watching, Held, Acts, Groups, NotNodes int }

// Finding is one instance or node in trouble. Findings with the same first cause are shown together.
type Finding struct {
	Instance  string
	Node      string
	Group     string
	Owner     string
	Zone      string
	Kind      string
	Condition string // the node condition that failed, if it is one
	Stage     string
	Tone      Tone
	Since     time.Time
	For       string    // how long, in words
	Due       time.Time // when the tolerance ends
	Until     time.Time // when it was over, if it is
	Summary   string
	Next      string // what follows, and when
	Causes    []roll.Cause
	// NotChecked is what could not be looked for.
	NotChecked []roll.NotChecked
	Kept       string // where what was read is kept
}

// Withheld is an act that was held back: at a moment, or again and again until To.
type Withheld struct {
	From, To time.Time // To is zero for a moment
	Times    int       // how often it was decided, if more than once
	Instance string
	Group    string
	Kind     string // of the finding
	Action   string
	Reason   string
	Detail   string
}

// Act is what was done, or tried.
type Act struct {
	At       time.Time
	Instance string
	Node     string
	Group    string
	Kind     string // of the finding
	Action   string
	Result   string
	Tone     Tone
	Detail   string
}

// Group is the nodes that one owner makes alike.
type Group struct {
	Name         string
	Owner        string
	Nodes        int
	Ready        int
	Note         string
	Tone         Tone
	Registration *Registration
}

// Registration is how long the latest nodes of a group took from the launch of their
// instance to their registration.
type Registration struct {
	Count         int
	P50, P95, P99 time.Duration
	Deadline      time.Duration // zero if there is none
	// Buckets are the distribution, the fastest first.
	Buckets []Bucket
}

// Bucket counts the nodes that took longer than the bucket before it allows, and at most
// UpTo. A last one with no UpTo counts all that took longer.
type Bucket struct {
	UpTo  time.Duration
	Count int
}

// Zone is the nodes of an availability zone.
type Zone struct {
	Name  string
	Nodes int
	Ready int
	Note  string
	Tone  Tone
}

// NotNode is an instance that carries the cluster's tag and is not meant to be a node.
type NotNode struct{ Instance, Name, Why string }

// Notice is a message that was sent, or would have been.
type Notice struct {
	At      time.Time
	Cluster string
	Group   string
	Kind    string
	Cause   string
	Subject string
	Text    string // shown as it is, line by line
	Tone    Tone
}

// Table is any other table. Rows have a cell for each column; the first names the row.
type Table struct {
	Title   string
	Caption string
	Columns []Column
	Rows    [][]string
	Notes   []string
}

// Column heads a column of a table.
type Column struct {
	Name    string
	Numbers bool // aligned at the right
}

// align is the class of the cells of a column.
func (t Table) align(n int) string {
	if n < len(t.Columns) && t.Columns[n].Numbers {
		return "n"
	}
	return ""
}

// column is the name of a column.
func (t Table) column(n int) string {
	if n < len(t.Columns) {
		return t.Columns[n].Name
	}
	return ""
}
