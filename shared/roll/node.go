package roll

import (
	"slices"
	"strings"
	"time"
)

// Compute is what a node runs on, by its spec.providerID and labels.
type Compute uint8

// The kinds of compute.
const (
	ComputeUnknown Compute = iota // no provider id, or one that names neither an instance nor a provider
	ComputeEC2
	ComputeFargate
	ComputeHybrid
	ComputeHyperPod
	ComputeOther // another provider, a virtual kubelet or kwok: nothing of EC2
)

// Hosted reports whether the node runs on a machine of AWS on which somebody has to keep it in order: an EC2
// instance, or one of SageMaker. A node of unknown compute counts.
func (c Compute) Hosted() bool {
	return c != ComputeFargate && c != ComputeHybrid && c != ComputeOther
}

// ParseProviderID reads a node's spec.providerID.
//
// Accepted forms: aws:///<zone>/<instance id> (EC2, written by the kubelet and
// the cloud controller manager), aws:///<zone>/<eni>/fargate-ip-... (Fargate),
// aws:///<zone id>/sagemaker/cluster/hyperpod-<cluster id>-<instance id> (SageMaker HyperPod) and
// eks-hybrid:///<region>/<cluster>/<machine id> (hybrid nodes). With any other scheme it is of another
// provider, such as kwok://<name>, unless it ends in an instance id. The instance id is "" for
// everything but EC2: instances of HyperPod are in an account of SageMaker, and EC2 does not show them.
// https://github.com/aws/amazon-vpc-cni-k8s (test/integration/ipamd)
func ParseProviderID(providerID string) (Compute, InstanceID) {
	if strings.HasPrefix(providerID, "eks-hybrid://") {
		return ComputeHybrid, ""
	}
	last := LastPart(providerID)
	rest, ok := strings.CutPrefix(providerID, "aws://")
	if !ok {
		if _, named := ParseInstanceID(last); !named && strings.Index(providerID, "://") > 0 {
			return ComputeOther, ""
		}
		return ComputeUnknown, ""
	}
	if strings.HasPrefix(last, "fargate-") {
		return ComputeFargate, ""
	}
	if strings.HasPrefix(last, "hyperpod-") && strings.HasSuffix(rest, "/sagemaker/cluster/"+last) {
		return ComputeHyperPod, ""
	}
	if id, ok := ParseInstanceID(last); ok {
		return ComputeEC2, InstanceID(strings.Clone(string(id))) // a copy, so that the whole provider id is not kept in memory
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

// Condition is a node condition whose type is known from its field.
type Condition struct {
	Status ConditionStatus
	Since  time.Time // lastTransitionTime
	Reason string    // such as NodeStatusUnknown
}

// ConditionKey is a condition type and a status that matters.
type ConditionKey struct {
	Type   string // such as KernelReady
	Status ConditionStatus
}

// TypedCondition is a node condition of any type.
type TypedCondition struct {
	Type string
	Condition
}

// The pressure conditions of a kubelet. The control plane overwrites them when the node goes
// silent.
const (
	MemoryPressure = "MemoryPressure"
	DiskPressure   = "DiskPressure"
	PIDPressure    = "PIDPressure"
)

// Watch selects what to read of a node for the policy, in addition to its readiness.
type Watch struct {
	Conditions map[ConditionKey]bool
	Taints     []string // keys of additional startup taints
}

// Node is a Kubernetes Node with only the fields that verdicts need.
type Node struct {
	Name     string
	UID      string // distinguishes it from a later node of the same name; "" if nothing is wrong with it
	Compute  Compute
	Instance InstanceID // from spec.providerID, "" unless Compute is ComputeEC2
	Created  time.Time
	Ready    Condition // Unknown since Created if the node has no Ready condition
	// Reporting is a time since when the kubelet has reported without a break, if Ready is False and
	// the pressures show it; otherwise zero. The control plane sets Ready and the pressures to Unknown
	// together, so none of them changed through Unknown after the first transition of a pressure.
	// https://kubernetes.io/docs/reference/node/node-status/#condition
	Reporting time.Time
	Zone      string
	ZoneID    string
	// DeletedAt is its deletion timestamp; zero if nobody deleted it.
	DeletedAt time.Time
	// Finalizers are its finalizers once it is deleted; nil before.
	Finalizers []string
	Owner      Owner
	Group      Group // from labels; GroupNone if they do not name one
	// Conditions holds those in Watch.Conditions that the node has now, and the pressures that are
	// True.
	Conditions []TypedCondition
	// StartupTaint is the first startup taint of the node, as key:Effect; "" if none.
	StartupTaint string
	// Registered and Initialized are the labels with which Karpenter marks a node as registered and
	// as ready for work.
	Registered, Initialized bool
	Unschedulable           bool
	// ControlPlane: it has TaintControlPlane.
	ControlPlane bool
	// Shutdown: it has the taint that the cloud's node lifecycle controller sets when a node is not
	// Ready and its instance is stopped.
	// https://kubernetes.io/docs/reference/labels-annotations-taints/#node-cloudprovider-kubernetes-io-shutdown
	Shutdown bool
	// ScaledDown is since when Cluster Autoscaler has been removing it, by the value of its taint; zero if
	// it has not.
	// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/utils/taints/taints.go
	ScaledDown time.Time
	// CordonedBy is the id of the order with which Rollcall cordoned it, as its annotation says, "" if Rollcall did not.
	CordonedBy string
	// Cordoner is the field manager that set Unschedulable, such as kubectl, and CordonerAt when it last changed the
	// node: at that time, or later. Both are zero unless the API server shows exactly one.
	// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
	Cordoner   string
	CordonerAt time.Time
	// DoNotRepair: it carries AnnotationDoNotRepair=true.
	DoNotRepair bool
	// NotToDisrupt is the annotation that forbids its disruption, "" if none.
	NotToDisrupt string
}

// FieldManager is the beginning of the names that Rollcall's clients have as field managers: rollcall-remediate, or
// rollcall from the command line.
const FieldManager = "rollcall"

// CordonedByOthers reports whether the node is cordoned, and not by Rollcall: it has no note of an order, or another
// field manager cordoned it. A person may lift Rollcall's cordon and cordon the node again while its note is there.
func (n *Node) CordonedByOthers() bool {
	return n.Unschedulable && (n.CordonedBy == "" || n.Cordoner != "" && !strings.HasPrefix(n.Cordoner, FieldManager))
}

// Annotations with which people keep a node, or a pod, from being disrupted.
const (
	// https://karpenter.sh/docs/concepts/disruption/#node-level-controls
	AnnotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
	// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
	annotationScaleDown   = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	AnnotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict" // for pods, and people also put it on nodes
)

// NotToDisrupt returns the annotation of a node that forbids its disruption, "" if none.
func NotToDisrupt(annotations map[string]string) string {
	for _, key := range []string{AnnotationDoNotDisrupt, annotationScaleDown} {
		if annotations[key] == "true" {
			return key + "=true"
		}
	}
	if annotations[AnnotationSafeToEvict] == "false" {
		return AnnotationSafeToEvict + "=false"
	}
	return ""
}

// StartupTaint reports whether an agent removes a taint with this key once the node is ready for
// work. extra are more such keys, from the policy.
//
// The list is Karpenter's (scheduling.KnownEphemeralTaints, without the taints that the node
// lifecycle controller sets on nodes of any age), that of agents whose installation guides for EKS
// name one, and the prefixes by which Cluster Autoscaler knows that a node is not ready yet. Its older prefix is
// also that of other taints, so the rest of the key must say what Cilium's does.
//
//   - https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#startup-taints
//   - https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/utils/taints/taints.go
//   - https://docs.cilium.io/en/stable/installation/taints/
func StartupTaint(key string, extra []string) bool {
	switch key {
	case "karpenter.sh/unregistered",
		"node.cloudprovider.kubernetes.io/uninitialized",
		"node.cilium.io/agent-not-ready",
		"ebs.csi.aws.com/agent-not-ready",
		"efs.csi.aws.com/agent-not-ready",
		"fsx.csi.aws.com/agent-not-ready",
		"s3.csi.aws.com/agent-not-ready":
		return true
	}
	return strings.HasPrefix(key, "readiness.k8s.io/") || strings.HasPrefix(key, "startup-taint.cluster-autoscaler.kubernetes.io/") ||
		strings.HasPrefix(key, "ignore-taint.cluster-autoscaler.kubernetes.io/") && strings.HasSuffix(key, "agent-not-ready") || slices.Contains(extra, key)
}

// TaintControlPlane is the key of the taint of the nodes with the control plane of a local cluster on AWS Outposts.
// EKS repairs and replaces them. It cannot if two of the three are down.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-outposts-local-cluster-create.html
const TaintControlPlane = "node-role.eks-local.amazonaws.com/control-plane"

// AnnotationCordoned holds the id of the order with which Rollcall cordoned the node. Rollcall
// lifts no other cordon.
const AnnotationCordoned = "rollcall/cordoned"

// AnnotationDoNotRepair keeps Karpenter from repairing a node, with the value true, so that somebody can find
// out why it is unhealthy. It is put on the node or on its NodeClaim. Here it counts for the nodes of every
// owner.
// https://karpenter.sh/docs/concepts/disruption/#node-level-controls
// https://karpenter.sh/docs/reference/annotations/#karpentershdo-not-repair
const AnnotationDoNotRepair = "karpenter.sh/do-not-repair"

// annotationMachine is how Cluster API names the Machine of a node. EC2 forgets the tags of an
// instance an hour after its end, and the node may last.
// https://github.com/kubernetes-sigs/cluster-api/blob/main/api/core/v1beta1/common_types.go
const annotationMachine = "cluster.x-k8s.io/machine"

// annotationKwok marks a node that kwok simulates.
// https://kwok.sigs.k8s.io/docs/user/kwok-manage-nodes-and-pods/
const annotationKwok = "kwok.x-k8s.io/node"

// NodeAnnotations returns the keys of all annotations of a node that are read.
func NodeAnnotations() []string {
	return []string{AnnotationCordoned, AnnotationDoNotRepair, annotationMachine, annotationKwok, AnnotationDoNotDisrupt, annotationScaleDown, AnnotationSafeToEvict}
}

// Labels with which EKS and Karpenter name a node's group.
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
	// A virtual kubelet labels its node type=virtual-kubelet (virtual-kubelet/virtual-kubelet, node/nodeutil).
	labelType          = "type"
	typeVirtualKubelet = "virtual-kubelet"
)

// NodeLabels returns the keys of all labels that ReadLabels reads.
func NodeLabels() []string {
	return []string{labelNodeGroup, labelComputeType, labelKarpenterPool, labelZone, labelZoneID, labelRegistered, labelInitialized, labelType}
}

// ReadLabels sets the fields that a node's labels and annotations determine: zone, owner and group,
// and the compute if the provider id did not show it.
func (n *Node) ReadLabels(labels, annotations map[string]string) {
	n.Zone, n.ZoneID = labels[labelZone], labels[labelZoneID]
	n.Registered, n.Initialized = labels[labelRegistered] == "true", labels[labelInitialized] == "true"
	n.Owner, n.Group = OwnerNone, GroupNone
	pool, nodeGroup, compute := labels[labelKarpenterPool], labels[labelNodeGroup], labels[labelComputeType]
	switch {
	case compute == computeTypeAuto && pool != "":
		n.Owner, n.Group = OwnerAutoMode, NodePoolGroup(pool)
	case pool != "":
		n.Owner, n.Group = OwnerKarpenter, NodePoolGroup(pool)
	case nodeGroup != "":
		n.Owner, n.Group = OwnerManagedNodeGroup, NodeGroupGroup(nodeGroup)
	case compute == computeTypeAuto: // this and the next: of a NodeClaim without a node pool
		n.Owner = OwnerAutoMode
	case n.Registered:
		n.Owner = OwnerKarpenter
	case annotations[annotationMachine] != "":
		n.Owner = OwnerClusterAPI
	}
	if n.Compute == ComputeUnknown {
		switch {
		case compute == computeTypeFargate:
			n.Compute = ComputeFargate
		case compute == computeTypeHybrid:
			n.Compute = ComputeHybrid
		case labels[labelType] == typeVirtualKubelet, annotations[annotationKwok] != "":
			n.Compute = ComputeOther
		}
	}
}
