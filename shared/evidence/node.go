package evidence

import (
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Node is what was read of one node that something is wrong with.
type Node struct {
	// Object is the Node in more detail than the snapshot's.
	Object Fact[NodeObject]
	Lease  Fact[Lease]
	// Events are those about the node, newest last. The API server keeps them for an
	// hour by default, so absence proves nothing.
	Events Fact[[]Event]
	Pods   Fact[[]Pod]
	// Budgets are the PodDisruptionBudgets of those pods that a drain would evict.
	Budgets Fact[[]roll.Budget]
	// Remembered are its conditions as an earlier check saw them, and when Ready left and
	// came back; Absent if no check did.
	Remembered Fact[Remembered]
}

// NodeObject is a Node.
type NodeObject struct {
	Name           string
	Created        time.Time
	Labels         map[string]string
	Taints         []Taint
	Conditions     []Condition
	KubeletVersion string   // such as v1.35.2-eks-1234567
	Architecture   string   // amd64 or arm64
	Addresses      []string // internal IPs and DNS names
	// Attached are the volumes that the control plane believes attached, such as
	// vol-0123456789abcdef0.
	Attached []string
}

// Taint is a node's taint.
type Taint struct {
	Key, Value, Effect string
}

// Condition is a condition of a node or of a NodeClaim.
type Condition struct {
	Type, Status, Reason, Message string
	Since                         time.Time `json:"lastTransitionTime"`
}

// Lease is the lease by which a kubelet shows that it lives.
type Lease struct {
	Renewed  time.Time
	Duration time.Duration // leaseDurationSeconds: 40 s unless configured
}

// Event is a Kubernetes event.
type Event struct {
	Type    string // Normal or Warning
	Reason  string
	Message string // redacted
	Source  string // reporting component, such as kubelet or karpenter
	First   time.Time
	Last    time.Time
	Count   int // at least 1
}

// Pod is a pod on a node.
type Pod struct {
	Namespace, Name string
	Owner           string // kind/name of its controller, such as DaemonSet/cilium
	Phase           string
	Ready           bool
	// Waiting is the reason why a container waits, such as CrashLoopBackOff or
	// ImagePullBackOff; "" if none does. Terminated likewise, such as OOMKilled.
	Waiting, Terminated string
	Message             string // of that reason, redacted
	Restarts            int
	Containers          []string
	Labels              map[string]string
	// Unlimited: neither the pod as a whole nor each of its containers has a memory limit.
	Unlimited bool
	// MemoryRequest is what its containers request together, and MemoryUsed what they used
	// when the kubelet evicted it, as far as it says; in bytes, 0 if that is not told.
	MemoryRequest, MemoryUsed int64
	// Deleting is when its grace period ends, or ended, if somebody deletes it; else zero.
	Deleting time.Time
	// NotToDisrupt is the annotation by which its owner keeps it, "" if none.
	NotToDisrupt string
	// OutOfMemory: a container of it was killed for want of memory.
	OutOfMemory bool
	// Events are warnings about it, newest last; nil if none were read. EventsUnread says why they
	// could not be, "" if nobody asked or there is an answer.
	Events       []Event
	EventsUnread string
}

// Evictable reports whether a drain evicts the pod: it is neither finished nor of a
// DaemonSet nor a static one.
func (p Pod) Evictable() bool {
	return p.Phase != "Succeeded" && p.Phase != "Failed" && !strings.HasPrefix(p.Owner, "DaemonSet/") && !strings.HasPrefix(p.Owner, "Node/")
}

// Remembered is what an earlier check saw of a node.
type Remembered struct {
	At time.Time
	// Conditions as they were then; of the function's own ledger only the pressures.
	Conditions []Condition
	// ReadyFlips are the moments at which Ready left or came back.
	ReadyFlips []time.Time
	// GroupPressures are what nodes of its group ran short of lately, itself among them,
	// also of instances that are gone; the earliest first.
	GroupPressures []Pressure
}

// Pressure is what a node of a group ran short of.
type Pressure struct {
	Instance roll.InstanceID
	Node     string
	Type     string // such as MemoryPressure
	Since    time.Time
}

// NodeClaim is Karpenter's record of an instance.
type NodeClaim struct {
	Name     string
	Created  time.Time
	NodePool string
	Instance roll.InstanceID // "" before launch
	Node     string          // status.nodeName, "" before registration
	// Type and Capacity are the labels of its instance type and of how that is bought
	// (on-demand, spot, reserved); "" before launch.
	Type, Capacity string
	Conditions     []Condition
	Taints         []Taint
	Startup        []Taint // spec.startupTaints
	// Labels are those that Karpenter writes on the node when it registers it, and
	// Requirements what was asked for when the instance was launched.
	Labels       map[string]string
	Requirements []Requirement
	Events       Fact[[]Event]
}

// Condition finds a condition by its type.
func (c NodeClaim) Condition(kind string) (Condition, bool) { return find(c.Conditions, kind) }

// Condition finds a condition by its type.
func (n NodeObject) Condition(kind string) (Condition, bool) { return find(n.Conditions, kind) }

// Condition finds a condition by its type.
func (r Remembered) Condition(kind string) (Condition, bool) { return find(r.Conditions, kind) }

func find(conditions []Condition, kind string) (Condition, bool) {
	for _, c := range conditions {
		if c.Type == kind {
			return c, true
		}
	}
	return Condition{}, false
}
