package roll

import (
	"cmp"
	"time"
)

// Kind is what is wrong with an instance or its node.
type Kind string

// The kinds of findings.
const (
	// Unregistered: the instance runs and should be a node, but no node carries its id.
	Unregistered Kind = "Unregistered"
	// NotReady: the kubelet reports that the node is not ready (Ready=False).
	NotReady Kind = "NotReady"
	// Unknown: the kubelet stopped reporting (Ready=Unknown).
	Unknown Kind = "Unknown"
	// Uninitialized: the node exists, but is not ready for work. A startup taint remains, it was
	// never Ready since its creation, or Karpenter has not marked it as registered and initialized.
	Uninitialized Kind = "Uninitialized"
	// ConditionFailed: another condition that the policy watches has a failing status, such as
	// KernelReady=False.
	ConditionFailed Kind = "ConditionFailed"
	// Impaired: an EC2 status check fails: instance, system, attached EBS, performance or
	// application.
	Impaired Kind = "Impaired"
	// Scheduled: EC2 has scheduled an event for the instance, such as its retirement.
	Scheduled Kind = "Scheduled"
	// Flapping: Ready was lost and came back at least FlapCount times within FlapWindow.
	Flapping Kind = "Flapping"
	// Ghost: the node is not Ready, and EC2 reports that its instance is terminated.
	Ghost Kind = "Ghost"
	// Orphaned: the instance runs without an owner: its EKS cluster is gone, or it is Karpenter's
	// and has no NodeClaim.
	Orphaned Kind = "Orphaned"
	// Unlaunched: a group should have another instance, but its launches fail, or an instance stays
	// pending; or Karpenter launches nothing for a node pool that is not ready.
	Unlaunched Kind = "Unlaunched"
	// Stuck: a Node or NodeClaim was deleted long ago, and its finalizers keep it; or an EBS volume
	// or a network interface outlived its instance. The finding is about that object, not about an
	// instance.
	Stuck Kind = "Stuck"
)

// Thresholds for a flapping node.
const (
	FlapCount  = 5
	FlapWindow = time.Hour
)

// Kinds returns the kinds of findings.
func Kinds() []Kind {
	return []Kind{Unregistered, Uninitialized, NotReady, Unknown, ConditionFailed, Impaired, Scheduled, Flapping, Ghost, Orphaned, Stuck, Unlaunched}
}

// OnlyTold reports whether findings of the kind are only reported, without acts or tags.
func (k Kind) OnlyTold() bool { return k == Unlaunched || k == Stuck }

// Stage is how far a finding has come.
type Stage string

// The stages, in the order in which a finding passes through them.
const (
	// Watching: seen, but within its tolerance; not reported.
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

// Finding is a fault of one instance, node or other object.
type Finding struct {
	Instance InstanceID // or another object, see [InstanceID]
	Node     string     // "" if there is none
	Group    Group
	Selector Selector // selects its policy
	Owner    Owner
	Zone     string
	ZoneID   string // such as use1-az1, "" if unknown
	Kind     Kind
	// Condition is the node condition that failed, "" for other kinds.
	Condition string
	// Reason is the reason of that condition, such as NvidiaXID79Error.
	Reason string
	// Event is the EC2 scheduled event, zero for other kinds.
	Event Event
	// Removal is the Node or NodeClaim that is being deleted, zero except for the kind Stuck.
	Removal Removal
	// Left is the volume or interface that outlived its instance, zero except for the kind Stuck.
	Left Leftover
	// Launch describes the failing launches, zero for other kinds.
	Launch Launch
	Stage  Stage
	// Worked: the node was ready for work before, or it is unknown whether it was. Only a node that
	// never was certainly runs nothing.
	Worked  bool
	Since   time.Time // when the fault began, perhaps in another form
	Perhaps time.Time // its earliest possible beginning, if no check saw whether it was over in between; zero otherwise
	Began   time.Time // the launch or transition that this check is based on
	Due     time.Time // when its tolerance ends
	Summary string    // one sentence for a person
	// Contradiction is what a second source says against the finding, "" if none does: the node of a
	// Ghost is Ready, or the kubelet or the NodeClaim of an Unregistered instance shows that it works. A
	// contradicted finding is reported but never acted on, and counts in no share of unhealthy nodes.
	Contradiction string
}

// Key identifies the finding within its cluster over time.
func (f Finding) Key() FindingKey { return FindingKey{Instance: f.Instance, Kind: f.Kind} }

// Machine is the EC2 instance that the finding is about, or that its object belongs to: the instance
// of a Node or NodeClaim that is being deleted, or of what it left. "" if there is none.
func (f Finding) Machine() InstanceID {
	if f.Instance.IsInstance() {
		return f.Instance
	}
	return cmp.Or(f.Removal.Machine, f.Left.Instance)
}

// FindingKey is (instance, kind), which two checks must both have seen.
type FindingKey struct {
	Instance InstanceID `json:"instance"`
	Kind     Kind       `json:"kind"`
}

func (k FindingKey) String() string { return string(k.Instance) + "#" + string(k.Kind) }
