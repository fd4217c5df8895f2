package roll

import (
	"slices"
	"strings"
	"time"
)

// Compute is what a node runs on, as its spec.providerID and labels tell.
type Compute uint8

// The kinds of compute.
const (
	ComputeUnknown Compute = iota // no provider id, or one of another provider
	ComputeEC2
	ComputeFargate
	ComputeHybrid
)

// ParseProviderID reads a node's spec.providerID.
//
// Accepted forms: aws:///<zone>/<instance id> (EC2, written by the kubelet and
// the cloud controller manager), aws:///<zone>/<eni>/fargate-ip-... (Fargate) and
// eks-hybrid:///<region>/<cluster>/<machine id> (hybrid nodes). The instance id is
// "" for everything but EC2.
func ParseProviderID(providerID string) (Compute, InstanceID) {
	if strings.HasPrefix(providerID, "eks-hybrid://") {
		return ComputeHybrid, ""
	}
	rest, ok := strings.CutPrefix(providerID, "aws://")
	if !ok {
		return ComputeUnknown, ""
	}
	last := rest[strings.LastIndexByte(rest, '/')+1:]
	if strings.HasPrefix(last, "fargate-") {
		return ComputeFargate, ""
	}
	if id, ok := ParseInstanceID(last); ok {
		return ComputeEC2, InstanceID(strings.Clone(string(id))) // not the whole provider id with it
	}
	return ComputeUnknown, ""
}

// ConditionStatus is the status of a node condition: True, False or Unknown.
type ConditionStatus string

// The statuses.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// Condition is a node condition of which the type is known from its place.
type Condition struct {
	Status ConditionStatus
	Since  time.Time // lastTransitionTime
	Reason string    // such as NodeStatusUnknown
}

// ConditionKey is a type of condition and a status that matters.
type ConditionKey struct {
	Type   string // such as KernelReady
	Status ConditionStatus
}

// TypedCondition is a node condition of any type.
type TypedCondition struct {
	Type string
	Condition
}

// The conditions by which a kubelet says that it runs short of something. The
// control plane overwrites them when the node goes silent.
const (
	MemoryPressure = "MemoryPressure"
	DiskPressure   = "DiskPressure"
	PIDPressure    = "PIDPressure"
)

// Watch is what of a node matters beside its readiness, because the policy says so.
type Watch struct {
	Conditions map[ConditionKey]bool
	Taints     []string // keys of further startup taints
}

// Node is one Kubernetes Node, cut down to what verdicts need.
type Node struct {
	Name     string
	UID      string // tells it from a later node of the same name; "" where nothing is wrong with it
	Compute  Compute
	Instance InstanceID // from spec.providerID, "" unless Compute is ComputeEC2
	Created  time.Time
	Ready    Condition // Status Unknown since Created when the node has no such condition
	Zone     string
	ZoneID   string
	// DeletedAt is when somebody began to delete it, its deletion timestamp; zero if nobody did.
	DeletedAt time.Time
	// Finalizers are what keeps it once somebody deletes it; nil before.
	Finalizers []string
	Owner      Owner
	Group      Group // from labels; GroupNone when they do not tell
	// Conditions holds those of Watch.Conditions that the node has now, and the
	// pressures that are True.
	Conditions []TypedCondition
	// StartupTaint is the first startup taint on it, as key:Effect; "" if none.
	StartupTaint string
	// Registered, Initialized: labels by which Karpenter marks a node that it knows
	// and that is ready for work.
	Registered, Initialized bool
	Unschedulable           bool
	// Shutdown: it has the taint by which the cloud's node lifecycle controller marks a node that is not
	// Ready and whose instance is stopped.
	// https://kubernetes.io/docs/reference/labels-annotations-taints/#node-cloudprovider-kubernetes-io-shutdown
	Shutdown bool
	// CordonedBy is the order by which Rollcall cordoned it, "" if it did not.
	CordonedBy string
}

// StartupTaint reports whether a taint with this key is one that some agent removes
// once the node is ready for work. extra are further keys that the policy names.
//
// The list is that of Karpenter (scheduling.KnownEphemeralTaints, without those that
// the node lifecycle controller sets on nodes of any age) and of the agents whose
// installation guides for EKS name one.
func StartupTaint(key string, extra []string) bool {
	switch key {
	case "karpenter.sh/unregistered",
		"node.cloudprovider.kubernetes.io/uninitialized",
		"node.cilium.io/agent-not-ready",
		"ebs.csi.aws.com/agent-not-ready",
		"efs.csi.aws.com/agent-not-ready",
		"fsx.csi.aws.com/agent-not-ready":
		return true
	}
	return strings.HasPrefix(key, "readiness.k8s.io/") || slices.Contains(extra, key)
}

// AnnotationCordoned on a node is the id of the order by which Rollcall cordoned it:
// it lifts no cordon but its own.
const AnnotationCordoned = "rollcall/cordoned"

// Labels by which EKS and Karpenter name a node's group.
const (
	labelNodeGroup     = "eks.amazonaws.com/nodegroup"
	labelComputeType   = "eks.amazonaws.com/compute-type"
	labelKarpenterPool = "karpenter.sh/nodepool"
	computeTypeAuto    = "auto"
	computeTypeFargate = "fargate"
	computeTypeHybrid  = "hybrid"
	labelZone          = "topology.kubernetes.io/zone"
	labelZoneID        = "topology.k8s.aws/zone-id"
	labelRegistered    = "karpenter.sh/registered"
	labelInitialized   = "karpenter.sh/initialized"
)

// ReadLabels fills the fields of a node that its labels tell: zone, owner and
// group, and the compute where the provider id did not say.
func (n *Node) ReadLabels(labels map[string]string) {
	n.Zone, n.ZoneID = labels[labelZone], labels[labelZoneID]
	n.Registered, n.Initialized = labels[labelRegistered] == "true", labels[labelInitialized] == "true"
	n.Owner, n.Group = OwnerNone, GroupNone
	pool := labels[labelKarpenterPool]
	switch {
	case labels[labelComputeType] == computeTypeAuto && pool != "":
		n.Owner, n.Group = OwnerAutoMode, NodePoolGroup(pool)
	case pool != "":
		n.Owner, n.Group = OwnerKarpenter, NodePoolGroup(pool)
	case labels[labelNodeGroup] != "":
		n.Owner, n.Group = OwnerManagedNodeGroup, NodeGroupGroup(labels[labelNodeGroup])
	}
	if n.Compute == ComputeUnknown {
		switch labels[labelComputeType] {
		case computeTypeFargate:
			n.Compute = ComputeFargate
		case computeTypeHybrid:
			n.Compute = ComputeHybrid
		}
	}
}
