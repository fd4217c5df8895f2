package roll

import (
	"bytes"
	"fmt"
	"time"
)

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
	// Uninitialized: the node exists, but a startup taint remains, it was never
	// Ready since its creation, or it is Karpenter's and Karpenter has not marked it
	// as registered and initialized.
	Uninitialized Kind = "Uninitialized"
	// ConditionFailed: another condition that the policy watches has a status that it
	// does not tolerate, such as KernelReady=False.
	ConditionFailed Kind = "ConditionFailed"
	// Impaired: a status check of EC2 fails: of the instance, of the system below it, of its
	// attached volumes, its performance or its application.
	Impaired Kind = "Impaired"
	// Scheduled: EC2 has scheduled an event for the instance, such as its retirement.
	Scheduled Kind = "Scheduled"
	// Flapping: Ready left and came back at least FlapCount times within FlapWindow.
	Flapping Kind = "Flapping"
	// Ghost: the node is not Ready, and EC2 says that its instance is terminated.
	Ghost Kind = "Ghost"
	// Orphaned: the instance runs, and nothing owns it any more: its EKS cluster is
	// gone, or it is Karpenter's and no NodeClaim has it.
	Orphaned Kind = "Orphaned"
	// Conflict: the node is Ready although EC2 says that its instance is gone; or no node
	// carries the instance's id, although its kubelet renews a lease or Karpenter says that
	// it is initialized. One of the two is wrong, so it is only reported.
	Conflict Kind = "Conflict"
	// Unlaunched: a group is to have an instance more, and its launches fail, or an instance
	// stays pending.
	Unlaunched Kind = "Unlaunched"
	// Stuck: somebody deleted a Node or NodeClaim long ago, and its finalizers keep it; or an
	// EBS volume or a network interface outlived its instance. It is about that object, and
	// not about an instance.
	Stuck Kind = "Stuck"
)

// When a node counts as flapping.
const (
	FlapCount  = 5
	FlapWindow = time.Hour
)

// Kinds returns the kinds of findings.
func Kinds() []Kind {
	return []Kind{Unregistered, Uninitialized, NotReady, Unknown, ConditionFailed, Impaired, Scheduled, Flapping, Ghost, Orphaned, Conflict, Stuck, Unlaunched}
}

// OnlyTold reports the kinds that are only reported: no act and no tag follows.
func (k Kind) OnlyTold() bool { return k == Unlaunched || k == Stuck }

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

// Past reports whether the stage comes after the other one.
func (s Stage) Past(other Stage) bool { return s.rank() > other.rank() }

// Finding is one instance, node or other object with which something is wrong.
type Finding struct {
	Instance InstanceID // see [InstanceID] for what is about no instance
	Node     string     // "" when there is none
	Group    Group
	Selector Selector // what chooses its policy
	Owner    Owner
	Zone     string
	ZoneID   string // such as use1-az1, "" if unknown
	Kind     Kind
	// Condition is the node condition that failed, "" for other kinds.
	Condition string
	// Reason is what that condition gives as its reason, such as NvidiaXID79Error.
	Reason string
	// Event is what EC2 has scheduled, zero for other kinds.
	Event Event
	// Removal is what of a machine is being deleted, zero but for the kind Stuck.
	Removal Removal
	// Left is the volume or interface that outlived its instance, zero but for the kind Stuck.
	Left Leftover
	// Launch is what was told of the launches that fail, zero for other kinds.
	Launch Launch
	Stage  Stage
	// Worked: the node was in order before, or nobody can tell that it was not. Only of one
	// that never was can Rollcall say that nothing runs on it.
	Worked  bool
	Since   time.Time // when the trouble began, also if it took another form then
	Began   time.Time // the launch or transition that this look rests on
	WarnAt  time.Time // when it is first spoken of; zero where the kind has no warning
	Due     time.Time // when its tolerance ends
	Summary string    // one sentence for a person
}

// Key identifies the finding within its cluster over time.
func (f Finding) Key() FindingKey { return FindingKey{Instance: f.Instance, Kind: f.Kind} }

// FindingKey is (instance, kind): what two checks must both have seen.
type FindingKey struct {
	Instance InstanceID `json:"instance"`
	Kind     Kind       `json:"kind"`
}

// MarshalText makes a FindingKey the key of a JSON object: "instance#kind".
func (k FindingKey) MarshalText() ([]byte, error) {
	return []byte(string(k.Instance) + "#" + string(k.Kind)), nil
}

// UnmarshalText reads what MarshalText wrote.
func (k *FindingKey) UnmarshalText(text []byte) error {
	at := bytes.LastIndexByte(text, '#')
	if at < 0 {
		return fmt.Errorf("%q is no finding's key", text)
	}
	k.Instance, k.Kind = InstanceID(text[:at]), Kind(text[at+1:])
	return nil
}
