package page

import "time"

// Timeline has the events of a cluster on a common time axis. Nothing is drawn unless From
// is set and To is after it.
type Timeline struct {
	From, To time.Time
	Caption  string   // one sentence: what is drawn, and what is left out
	Ready    []Sample // ordered by time
	Marks    []Mark   // of the cluster as a whole
	Lanes    []Lane
	Bands    []Band
}

// Sample is the number of ready nodes from At until the next sample.
type Sample struct {
	At           time.Time
	Ready, Total int
	Unknown      bool // the numbers are unknown
}

// Lane is one instance. Consecutive lanes with the same Sub share a heading.
type Lane struct {
	Label string // the instance id; it links to the finding about the same instance
	Sub   string // the group
	Spans []Span
	Marks []Mark
}

// State is the state of an instance during a span.
type State string

// The states. Any other is drawn as a thin line and shown as its own word.
const (
	StateLaunching    State = "launching"    // it runs and has not registered yet
	StateMissing      State = "missing"      // it runs and is past its registration deadline
	StateInitializing State = "initializing" // its node is not ready for work yet
	StateReady        State = "ready"
	StateNotReady     State = "not ready"
	StateUnknown      State = "unknown" // the node stopped reporting
	StateDraining     State = "draining"
	StateTerminated   State = "terminated"
)

// Span is a period of a lane in one state.
type Span struct {
	From, To time.Time
	State    State
	Title    string // what to show besides its state
}

// MarkKind is the kind of an event on a lane.
type MarkKind string

// The kinds of marks. Any other is drawn as a dot and shown as its own word.
const (
	MarkLaunch   MarkKind = "launch"
	MarkFault    MarkKind = "fault" // a fault that a simulation injected
	MarkFinding  MarkKind = "finding"
	MarkNotice   MarkKind = "notice"
	MarkHeld     MarkKind = "held"
	MarkOrder    MarkKind = "order"
	MarkAct      MarkKind = "act"
	MarkResolved MarkKind = "resolved"
)

// Mark is an event at a moment on a lane.
type Mark struct {
	At    time.Time
	Kind  MarkKind
	Label string
}

// Band is a period that affects the whole cluster, such as the outage of a zone.
type Band struct {
	From, To time.Time
	Label    string
}
