package roll

import (
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

// Node is one Kubernetes Node, cut down to what verdicts need.
type Node struct {
	Name     string
	Compute  Compute
	Instance InstanceID // from spec.providerID, "" unless Compute is ComputeEC2
	Created  time.Time
	Ready    Condition // Status Unknown since Created when the node has no such condition
	Zone     string
	Deleting bool // has a deletion timestamp: somebody is already removing it
	Owner    Owner
	Group    Group // from labels; GroupNone when they do not tell
}

// Labels by which EKS and Karpenter name a node's group.
const (
	labelNodeGroup     = "eks.amazonaws.com/nodegroup"
	labelComputeType   = "eks.amazonaws.com/compute-type"
	labelKarpenterPool = "karpenter.sh/nodepool"
	computeTypeAuto    = "auto"
	computeTypeFargate = "fargate"
	computeTypeHybrid  = "hybrid"
	labelZone          = "topology.kubernetes.io/zone"
)

// ReadLabels fills the fields of a node that its labels tell: zone, owner and
// group, and the compute where the provider id did not say.
func (n *Node) ReadLabels(labels map[string]string) {
	n.Zone = labels[labelZone]
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
