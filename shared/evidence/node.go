package evidence

import (
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Node is what was read of one faulty node.
type Node struct {
	// Object is the Node, in more detail than in the snapshot.
	Object Fact[NodeObject]
	Lease  Fact[Lease]
	// Events are the events about the node, newest last. The API server keeps them for an hour by
	// default, so absence proves nothing.
	Events Fact[[]Event]
	Pods   Fact[[]Pod]
	// Budgets are the PodDisruptionBudgets of the pods that a drain would evict.
	Budgets Fact[[]roll.Budget]
	// Remembered holds its conditions as an earlier check saw them, and when Ready was lost and
	// regained; Absent if there was no earlier check.
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
	// Attached are the volumes that the control plane considers attached, such as
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

// Lease is the lease that a kubelet renews as its heartbeat.
type Lease struct {
	Renewed  time.Time
	Duration time.Duration // leaseDurationSeconds: 40 s unless configured
}

const (
	// leaseDuration is how long a kubelet's lease is valid unless it says otherwise. The kubelet
	// renews it four times as often.
	leaseDuration = 40 * time.Second
	// leaseGrace is how long the control plane waits for a renewal before it considers the node
	// silent: --node-monitor-grace-period, 50 s since Kubernetes 1.32 and 40 s before.
	// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
	leaseGrace = 50 * time.Second
)

// Fresh reports whether the lease is valid at that time: the kubelet runs and reaches the API
// server.
// https://kubernetes.io/docs/reference/node/node-status/#heartbeats
func (l Lease) Fresh(at time.Time) bool { return at.Sub(l.Renewed) <= l.Term() }

// Stale reports whether the lease expired so long ago that the control plane considers the node
// silent. A lease may be neither fresh nor stale.
func (l Lease) Stale(at time.Time) bool { return at.Sub(l.Renewed) > l.Term()+leaseGrace }

// Term returns how long a renewal is valid.
func (l Lease) Term() time.Duration {
	if l.Duration > 0 {
		return l.Duration
	}
	return leaseDuration
}

// Event is a Kubernetes event.
type Event struct {
	Type    string // Normal or Warning
	Reason  string
	Message string // redacted
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
	// Waiting is the reason why a container waits, such as CrashLoopBackOff or ImagePullBackOff; ""
	// if none does. Terminated is the reason why one terminated, such as OOMKilled.
	Waiting, Terminated string
	Message             string // of that reason, redacted
	Containers          []string
	Labels              map[string]string
	// Unlimited reports whether the pod as a whole and at least one container have no memory limit.
	Unlimited bool
	// MemoryRequest is the sum of its containers' requests. MemoryUsed is their usage when the
	// kubelet evicted the pod, as far as the kubelet reports it. Both are in bytes, 0 if unknown.
	MemoryRequest, MemoryUsed int64
	// Deleting is when its grace period ends or ended, if it is being deleted; otherwise zero.
	Deleting time.Time
	// Started is when the kubelet accepted the pod; zero if it did not yet.
	Started time.Time
	// NotToDisrupt is the annotation with which its owner keeps Karpenter from draining it, "" if
	// none.
	NotToDisrupt string
	// Stays reports whether it tolerates the taint with which Karpenter drains a node, so that it
	// stays there, and the drain does not wait for it.
	Stays bool
	// OutOfMemory reports whether one of its containers was OOM-killed.
	OutOfMemory bool
	// AssumesRole reports whether it asks STS for the role of its service account, and works with
	// nothing else.
	AssumesRole bool
	// PodIdentity reports whether it gets that role from the EKS Pod Identity Agent of its node, which asks
	// the EKS Auth API, and works with nothing else.
	PodIdentity bool
	// Events are warnings about the pod, newest last; nil if none were read. EventsUnread is why
	// they were not read although the pod is not ready, "" otherwise.
	Events       []Event
	EventsUnread string
}

// Evictable reports whether Karpenter's drain waits for the pod: it is not finished, not static, and does not
// tolerate the taint of the drain. Pods of a DaemonSet are no exception.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.9.0/pkg/utils/pod/scheduling.go (IsWaitingEviction)
func (p Pod) Evictable() bool {
	return p.Phase != "Succeeded" && p.Phase != "Failed" && !strings.HasPrefix(p.Owner, "Node/") && !p.Stays
}

// Remembered is what an earlier check saw of a node.
type Remembered struct {
	At time.Time
	// Conditions are the conditions at that time; from the function's own ledger only the
	// pressures.
	Conditions []Condition
	// ReadyFlips are the times at which Ready was lost or regained.
	ReadyFlips []time.Time
	// GroupPressures are the recent resource shortages of nodes of its group, including this node
	// and nodes whose instances are gone; the earliest first.
	GroupPressures []Pressure
}

// Pressure is a resource shortage of a node of a group.
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
	// Type and Capacity are its labels for the instance type and the capacity type (on-demand,
	// spot, reserved); "" before launch.
	Type, Capacity string
	Conditions     []Condition
	Taints         []Taint
	Startup        []Taint // spec.startupTaints
	// Labels are those that Karpenter sets on the node at registration. Requirements are those of
	// the launch request.
	Labels       map[string]string
	Requirements []Requirement
	Events       Fact[[]Event]
}

// Condition returns the condition of a type, and whether there is one.
func (c NodeClaim) Condition(kind string) (Condition, bool) { return find(c.Conditions, kind) }

// Condition returns the condition of a type, and whether there is one.
func (n NodeObject) Condition(kind string) (Condition, bool) { return find(n.Conditions, kind) }

// Condition returns the condition of a type, and whether there is one.
func (r Remembered) Condition(kind string) (Condition, bool) { return find(r.Conditions, kind) }

// TaintCloud is on a node until the cloud controller has found its instance.
// https://kubernetes.io/docs/reference/labels-annotations-taints/#node-cloudprovider-kubernetes-io-uninitialized
const TaintCloud = "node.cloudprovider.kubernetes.io/uninitialized"

// Tainted reports whether the node has a taint with the key.
func (n NodeObject) Tainted(key string) bool {
	return slices.ContainsFunc(n.Taints, func(t Taint) bool { return t.Key == key })
}

// noNetwork are the kubelet's words for a network plugin that has not started: those of container
// runtimes since 1.24, and Docker's before.
// https://kubernetes.io/docs/reference/node/node-status/#condition
var noNetwork = []string{"NetworkPluginNotReady", "cni plugin not initialized", "cni config uninitialized", "network plugin is not ready"}

// runtimeDown are its words for a container runtime that has answered since the kubelet started, and does
// not any more. What it says about the network then is what the runtime said last.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kubelet.go (updateRuntimeUp)
const runtimeDown = "container runtime is down"

// unstarted are its words until it has started everything that needs the container runtime. A kubelet that
// fails at that exits, registers again with the next start, and starts no pod: not the network plugin's either.
//
//   - https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kubelet.go (updateRuntimeUp, initializeRuntimeDependentModules)
//   - https://github.com/aws/karpenter-provider-aws/issues/4740
const unstarted = "container runtime status check may not have completed yet"

// AwaitsNetwork reports whether the node is not Ready because no network plugin has started on it.
func (n NodeObject) AwaitsNetwork() bool {
	return n.says(noNetwork...) && !n.says(runtimeDown, unstarted)
}

// AwaitedNetwork reports whether no network plugin had started on the node when its container runtime, which
// is down, last answered.
func (n NodeObject) AwaitedNetwork() bool { return n.says(noNetwork...) && n.says(runtimeDown) }

// Unstarted reports whether the node's kubelet has not finished its start, since whenever it last began.
func (n NodeObject) Unstarted() bool { return n.says(unstarted) }

// says reports whether the node says one of the words about why it is not Ready.
func (n NodeObject) says(words ...string) bool {
	r, ok := n.Condition("Ready")
	return ok && r.Status == string(roll.ConditionFalse) && slices.ContainsFunc(words, func(w string) bool {
		return strings.Contains(r.Message, w) || strings.Contains(r.Reason, w)
	})
}

// plugins are words in the names of the DaemonSets of network plugins.
// https://docs.aws.amazon.com/eks/latest/userguide/alternate-cni-plugins.html
// https://kubernetes.io/docs/concepts/cluster-administration/addons/#networking-and-network-policy
var plugins = []string{"aws-node", "cilium", "calico", "canal", "antrea", "weave", "kube-router", "flannel", "ovn", "kindnet", "terway", "contiv", "romana", "nsx"}

// besidePlugins are words in the names of DaemonSets that are not network plugins, although they are named after one:
// AWS Node Termination Handler, Cilium's proxy, Weave Scope's agent.
var besidePlugins = []string{"termination-handler", "envoy", "scope"}

// IsNetworkPlugin reports whether a DaemonSet of that name is a network plugin.
func IsNetworkPlugin(daemonSet string) bool {
	named := func(word string) bool { return strings.Contains(daemonSet, word) }
	return slices.ContainsFunc(plugins, named) && !slices.ContainsFunc(besidePlugins, named)
}

// OfNetworkPlugin reports whether the pod is that of a network plugin.
func (p Pod) OfNetworkPlugin() bool {
	name, owned := strings.CutPrefix(p.Owner, "DaemonSet/")
	return owned && IsNetworkPlugin(name)
}

// AwaitsAgent reports whether the pod is of a DaemonSet whose startup taint the node has, as far as
// their names show.
func (n NodeObject) AwaitsAgent(p Pod) bool {
	name, owned := strings.CutPrefix(p.Owner, "DaemonSet/")
	agent, _, _ := strings.Cut(name, "-")
	return owned && slices.ContainsFunc(n.Taints, func(t Taint) bool {
		return roll.StartupTaint(t.Key, nil) && slices.Contains(taintOwners(t.Key), agent)
	})
}

// taintOwners returns the words of a taint's domain that name its agent, such as ebs in
// ebs.csi.aws.com/agent-not-ready.
func taintOwners(key string) []string {
	domain, _, _ := strings.Cut(key, "/")
	return slices.DeleteFunc(strings.Split(domain, "."), func(word string) bool {
		return slices.Contains([]string{"node", "csi", "aws", "com", "io"}, word)
	})
}

// Starved reports whether the node waits for its network plugin and is known to have no pod of one.
func (n Node) Starved() bool {
	return n.Object.Value.AwaitsNetwork() && !slices.ContainsFunc(n.Pods.Value, Pod.OfNetworkPlugin)
}

func find(conditions []Condition, kind string) (Condition, bool) {
	return roll.Find(conditions, func(c Condition) bool { return c.Type == kind })
}
