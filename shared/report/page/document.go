package page

import (
	"time"

	"rollcall/shared/roll"
)

// Document is the content of one page. Empty parts are left out.
type Document struct {
	Title    string
	Subtitle string // one sentence below the title
	Tag      string // a prominent word or two, such as "simulated"
	// From and To are the period of the page. From is zero for a single check at To.
	From, To time.Time
	Answers  []Answer // the summary, at the top
	Figures  []Figure
	Notes    []string // about the whole page, at the bottom
	Clusters []Cluster
	Notices  []Notice
	Tables   []Table  // such as costs
	Footer   []string // last lines: versions, how to make such a page
	// Rest says where to find the entries that lists leave out; see More.
	Rest string
}

// Tone is a level of attention.
type Tone string

// The tones; "" is none. Any other value is shown as its own word.
const (
	ToneGood Tone = "good"
	ToneWarn Tone = "warning"
	ToneBad  Tone = "bad"
	ToneHeld Tone = "held" // waiting, on purpose
)

// Answer is a reader's question, with its answer in a few lines.
type Answer struct {
	Question string
	Lines    []Line
	Tone     Tone
}

// Line is a sentence, about a cluster if it names one.
type Line struct{ Cluster, Text string }

// Figure is a number of the summary.
type Figure struct {
	Label, Value string
	Note         string // what to compare it with
	Tone         Tone
}

// Cluster is one cluster: its nodes, and what was found, held and done.
type Cluster struct {
	Name    string
	Place   string // region and account
	Mode    string // the most that Rollcall may do here
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
	Next     string // when the cluster is checked next, and why then
}

// More counts the entries that the lists of a cluster leave out, to keep the page readable.
type More struct{ Findings, Watching, Held, Acts, Groups, NotNodes int }

// Finding is a finding about one instance or node. Findings with the same first cause are
// shown together.
type Finding struct {
	Instance  string
	Node      string
	Group     string
	Owner     string
	Zone      string
	Kind      string
	Condition string // the node condition that failed, or contradicted; if any
	Stage     string
	Tone      Tone
	Since     time.Time
	For       string    // how long, in words
	Due       time.Time // when the tolerance ends
	Until     time.Time // when it ended, zero if it has not
	Summary   string
	Next      string // the next step, and when
	Causes    []roll.Cause
	// NotChecked are the causes that could not be checked.
	NotChecked []roll.NotChecked
	Kept       string // where the evidence is stored
}

// Withheld is an act that was held: once, or repeatedly until To.
type Withheld struct {
	From, To time.Time // To is zero if it was held once
	Instance string
	Group    string
	Kind     string // of the finding
	Action   string
	Reason   string
	Detail   string
}

// Act is an act that was carried out or attempted.
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

// Group is a group of nodes that one owner launches alike.
type Group struct {
	Name         string
	Owner        string
	Nodes        int
	Ready        int
	Note         string
	Tone         Tone
	Registration *Registration
}

// Registration has the times of the latest nodes of a group, from the launch of the
// instance to the registration of the node.
type Registration struct {
	Count         int
	P50, P95, P99 time.Duration
	Deadline      time.Duration // zero if there is none
	// Buckets are the distribution, the fastest first.
	Buckets []Bucket
}

// Bucket counts the nodes that took at most UpTo, and longer than the UpTo of the bucket
// before. A last bucket without UpTo counts all the others.
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

// NotNode is an instance that has the cluster's tag and is not meant to be a node.
type NotNode struct{ Instance, Name, Why string }

// Notice is a message that was sent, or would have been.
type Notice struct {
	At      time.Time
	Cluster string
	Group   string
	Kind    string
	Cause   string
	Subject string
	Text    string // preformatted
	Tone    Tone
}

// Table is any other table. Rows have a cell for each column; the first cell names the row.
type Table struct {
	Title   string
	Caption string
	Columns []Column
	Rows    [][]string
}

// Column heads a column of a table.
type Column struct {
	Name    string
	Numbers bool // aligned at the right
}

// column returns a column, the zero value for a cell beyond the last.
func (t Table) column(n int) (c Column) {
	if n < len(t.Columns) {
		c = t.Columns[n]
	}
	return c
}
