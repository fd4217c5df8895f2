package page

import "time"

// Timeline is what happened in a cluster, along a common axis. Without From, and To after
// it, nothing is drawn.
type Timeline struct {
	From, To time.Time
	Caption  string   // one sentence; what is drawn, and what is left out
	Ready    []Sample // by time
	Marks    []Mark   // of the cluster as a whole
	Lanes    []Lane
	Bands    []Band
}

// Sample is how many nodes were ready from a moment on, until the next sample.
type Sample struct {
	At           time.Time
	Ready, Total int
	Unknown      bool // nobody could tell
}

// Lane is one instance. Lanes that follow each other with the same Sub share a heading.
type Lane struct {
	Label string // the instance id; it links to the finding about the same instance
	Sub   string // the group
	Spans []Span
	Marks []Mark
}

// State is what an instance was for a while.
type State string

// The states. Any other is drawn as a thin line and shown as its own word.
const (
	StateLaunching    State = "launching"    // it runs, and is no node yet
	StateMissing      State = "missing"      // it runs, and is past the time to register
	StateInitializing State = "initializing" // a node that was not ready for work yet
	StateReady        State = "ready"
	StateNotReady     State = "not ready"
	StateUnknown      State = "unknown" // the node stopped reporting
	StateDraining     State = "draining"
	StateTerminated   State = "terminated"
)

// Span is a stretch of a lane.
type Span struct {
	From, To time.Time
	State    State
	Title    string // what to say of it beside its state
}

// MarkKind is what happened in a moment.
type MarkKind string

// The kinds of marks. Any other is drawn as a dot and shown as its own word.
const (
	MarkLaunch   MarkKind = "launch"
	MarkFault    MarkKind = "fault" // what a simulation broke
	MarkFinding  MarkKind = "finding"
	MarkNotice   MarkKind = "notice"
	MarkHeld     MarkKind = "held"
	MarkOrder    MarkKind = "order"
	MarkAct      MarkKind = "act"
	MarkResolved MarkKind = "resolved"
)

// Mark is a moment on a lane.
type Mark struct {
	At    time.Time
	Kind  MarkKind
	Label string
}

// Band is a stretch in which something held for the whole cluster, such as the outage of
// a zone.
type Band struct {
	From, To time.Time
	Label    string
}
