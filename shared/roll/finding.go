package roll

import "time"

// Kind is what is wrong with an instance or its node.
type Kind string

// The kinds of findings.
const (
	// Unregistered: the instance runs, is meant to be a node, and no node
	// carries its id.
	Unregistered Kind = "Unregistered"
	// NotReady: the node says of itself that it is not ready (Ready=False).
	NotReady Kind = "NotReady"
	// Unknown: the node has gone silent (Ready=Unknown).
	Unknown Kind = "Unknown"
)

// Kinds lists the kinds of findings that Rollcall makes.
func Kinds() []Kind { return []Kind{Unregistered, NotReady, Unknown} }

// Stage is how far a finding has come.
type Stage string

// The stages, in the order in which a finding passes through them.
const (
	// Watching: seen, but within its tolerance; nobody is told.
	Watching Stage = "watching"
	// Warned: past the warning time, still within its tolerance.
	Warned Stage = "warned"
	// Overdue: past its tolerance.
	Overdue Stage = "overdue"
)

// rank orders the stages.
func (s Stage) rank() int {
	switch s {
	case Warned:
		return 1
	case Overdue:
		return 2
	}
	return 0
}

// Past reports whether the stage lies behind the other one.
func (s Stage) Past(other Stage) bool { return s.rank() > other.rank() }

// Finding is one instance or node with which something is wrong.
type Finding struct {
	Instance InstanceID
	Node     string // "" when there is none
	Group    Group
	Owner    Owner
	Zone     string
	Kind     Kind
	Stage    Stage
	Since    time.Time // when the trouble began, also if it took another form then
	Began    time.Time // the launch or transition that this look rests on
	WarnAt   time.Time // when it is first spoken of; zero where the kind has no warning
	Due      time.Time // when its tolerance ends
	Summary  string    // one sentence for a person
}

// Key identifies the finding within its cluster over time.
func (f Finding) Key() FindingKey { return FindingKey{Instance: f.Instance, Kind: f.Kind} }

// FindingKey is (instance, kind): what two checks must both have seen.
type FindingKey struct {
	Instance InstanceID
	Kind     Kind
}
