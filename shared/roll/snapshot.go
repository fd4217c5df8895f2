package roll

import (
	"slices"
	"strings"
	"time"
)

// Snapshot is one observation of one cluster. Instances are listed before nodes: if a node
// registers in between, its instance does not look unregistered.
type Snapshot struct {
	At        time.Time
	Cluster   Cluster
	Instances []Instance
	Nodes     []Node
	Details   map[InstanceID]Detail // of suspects only
	Groups    map[Group]GroupDetail // of groups with suspects only
	NotFound  map[InstanceID]bool   // looked up by id, and unknown to EC2
	// Impaired are the instances with a failing EC2 status check, and since when. It is valid only
	// if StatusRead is Yes.
	Impaired map[InstanceID]Impairment
	// Unchecked are the instances without a failing check, of which EC2 has no result of one: "insufficient-data".
	// They may fail it or not. It is valid only if StatusRead is Yes.
	Unchecked map[InstanceID]bool
	// Scheduled holds the scheduled event of each instance that is to come or in progress; the
	// first one if there are several. It too is valid only if StatusRead is Yes.
	Scheduled  map[InstanceID]Event
	StatusRead Answer
	// Shifts are the zones from which ARC shifts the cluster away now. ShiftsRead is NotAsked for a
	// cluster that ARC may not shift.
	Shifts     []Shift
	ShiftsRead Answer
	// Deleting are the deleted NodeClaims that still exist. The list is complete if DeletingRead is
	// Yes, as it is for a cluster without Karpenter.
	Deleting     []NodeClaim
	DeletingRead Answer
	// Left are the requested volumes and interfaces that are attached to nothing and claimed by no
	// PersistentVolume. LeftRead is Yes for each one that EC2 and the Kubernetes API answered for.
	// For one that is NotAsked, nothing shows that it is left.
	Left     map[InstanceID]Leftover
	LeftRead map[InstanceID]Answer
	// PodsWait: a pod of the cluster waits for a node.
	PodsWait Answer
	// Target: the snapshot covers one instance, and all nodes. Populations are then counted from
	// nodes alone.
	Target InstanceID
	Gaps   []Gap
	// Relisted is why the instances of a large cluster had to be listed in full instead of by tags;
	// "" if they were not.
	Relisted string
	// Launches are the groups whose launches fail or stay pending. ClaimsRead reports whether those
	// of node pools were read, ScalingRead those of Auto Scaling groups, NodeGroupsRead those of
	// managed node groups from EKS.
	Launches                                map[Group]Launch
	ClaimsRead, ScalingRead, NodeGroupsRead Answer
	// Unasked are groups whose launches were not read, since a check reads those of some in turn.
	Unasked map[Group]bool
	// Suspended are groups that have too few instances and whose launches are suspended.
	Suspended []Group
}

// Impairment is a failing EC2 status check.
type Impairment struct {
	Since  time.Time // impairedSince; zero if EC2 does not return it
	System bool      // the system check fails, not only the instance check
	// Only is the failing check if the instance and system checks pass: "attached EBS",
	// "application" or "performance"; "" if one of these two fails.
	Only string
}

// Event is an EC2 scheduled event of an instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html
type Event struct {
	ID        string
	Code      string    // instance-reboot, system-reboot, system-maintenance, instance-retirement or instance-stop
	NotBefore time.Time // the earliest start
	NotAfter  time.Time // the latest end, zero if EC2 does not return it
	Deadline  time.Time // latest time to which the start can be moved, zero if it cannot
}

// EventOver reports whether a listed event is over. EC2 lists it for up to a week, with a note
// before its description.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusEvent.html
func EventOver(description string) bool {
	return strings.HasPrefix(description, "[Completed]") || strings.HasPrefix(description, "[Canceled]")
}

// Shift is an active zonal shift away from a zone, started by a person or by ARC.
type Shift struct {
	ZoneID  string // such as use1-az1
	Expires time.Time
}

// Scope is the part of a snapshot that a gap makes unusable.
type Scope uint8

// The scopes.
const (
	// ScopeCluster: the cluster could not be described, or is in a state that allows no
	// conclusions.
	ScopeCluster Scope = iota
	// ScopeInstances: the listing of instances is missing or partial.
	ScopeInstances
	// ScopeNodes: the listing of nodes is missing or partial.
	ScopeNodes
	// ScopeDetail: only details of single suspects could not be read.
	ScopeDetail
)

// String returns the scope as a word for log lines.
func (s Scope) String() string {
	return [...]string{"cluster", "instances", "nodes", "detail"}[s]
}

// GapKind is why something could not be read.
type GapKind string

// The kinds of gaps.
const (
	GapClusterNotActive   GapKind = "ClusterNotActive"
	GapClusterGone        GapKind = "ClusterGone"        // EKS has no such cluster
	GapClusterUnreachable GapKind = "ClusterUnreachable" // the API server did not answer
	GapUnauthorized       GapKind = "Unauthorized"       // the API server refused the token (HTTP 401)
	GapDenied             GapKind = "Denied"             // a permission is missing
	GapThrottled          GapKind = "Throttled"
	GapTimeout            GapKind = "Timeout"     // the check ran out of time
	GapUnavailable        GapKind = "Unavailable" // the service itself failed
	GapLater              GapKind = "Later"       // beyond what one check reads; another check reads it
	GapFailed             GapKind = "Failed"
)

// Passing reports whether another try may well succeed.
func (k GapKind) Passing() bool {
	switch k {
	case GapClusterUnreachable, GapThrottled, GapTimeout, GapUnavailable, GapLater:
		return true
	}
	return false
}

// Names in gaps of the calls about single suspects.
const (
	CallInstanceAttribute    = "ec2:DescribeInstanceAttribute"
	CallAutoScalingInstances = "autoscaling:DescribeAutoScalingInstances"
	CallAutoScalingGroups    = "autoscaling:DescribeAutoScalingGroups"
	CallScalingActivities    = "autoscaling:DescribeScalingActivities"
	CallNodegroup            = "eks:DescribeNodegroup"
	CallNodegroups           = "eks:ListNodegroups"
	CallNodeClaims           = "kubernetes: list nodeclaims"
	CallNodePools            = "kubernetes: list nodepools"
	CallEvents               = "kubernetes: list events"
	CallLease                = "kubernetes: get leases"
	CallPods                 = "kubernetes: list pods"
	CallBudgets              = "kubernetes: list poddisruptionbudgets"
	CallVolumes              = "kubernetes: list persistentvolumes"
	CallZonalShift           = "arc-zonal-shift:GetManagedResource"
)

// CallLedger is the Call of the gap for an unreadable ledger.
const CallLedger = "ledger"

// Gap is a part of a snapshot that is missing, and why. What a gap covers is not judged, since
// partial does not mean empty.
type Gap struct {
	Scope  Scope
	Kind   GapKind
	Call   string // the call that failed, such as ec2:DescribeInstances
	Detail string // a sentence for a person: what is missing, why, and what to do
}

// Whole reports whether everything that verdicts depend on was read: all gaps are about single
// suspects.
func (s *Snapshot) Whole() bool {
	return !slices.ContainsFunc(s.Gaps, func(g Gap) bool { return g.Scope != ScopeDetail })
}

// Has reports whether the part of the snapshot was read without a gap.
func (s *Snapshot) Has(scope Scope) bool {
	return !slices.ContainsFunc(s.Gaps, func(g Gap) bool { return g.Scope == scope || g.Scope == ScopeCluster })
}

// ClusterGone reports whether EKS has no such cluster, and only tags name it.
func (s *Snapshot) ClusterGone() bool {
	return slices.ContainsFunc(s.Gaps, func(g Gap) bool { return g.Kind == GapClusterGone })
}

// Instance returns the instance with the id, nil if the snapshot has none.
func (s *Snapshot) Instance(id InstanceID) *Instance {
	for i := range s.Instances {
		if s.Instances[i].ID == id {
			return &s.Instances[i]
		}
	}
	return nil
}

// Answer is the answer to a question about one instance.
type Answer uint8

// The answers. The zero value is NotAsked, so that what was not read never counts as "no".
const (
	NotAsked Answer = iota
	Yes
	No
	Unreadable
)

// Answered reports whether the answer is Yes or No.
func (a Answer) Answered() bool { return a == Yes || a == No }

// Detail is read for suspects only, since each one costs a call.
type Detail struct {
	// WholeRead: Yes if the instance was read in full after a finding about it, because until then
	// it was only [Instance.Vouched]. Unreadable also if EC2's listing lacks it, and looking it up failed.
	WholeRead Answer
	// Bootstraps: its user data bootstraps a node of this cluster.
	Bootstraps Answer
	// TemplateBootstraps: its own user data is unreadable, and that of the launch template version
	// with which its Auto Scaling group launched it bootstraps a node of this cluster.
	TemplateBootstraps bool
	// BootstrapsUnnamed: its user data bootstraps a node of a cluster whose name it computes, so that Bootstraps is
	// Unreadable.
	BootstrapsUnnamed bool
	// OtherCluster is the cluster that its user data joins if Bootstraps is No, "" if it joins
	// none.
	OtherCluster string
	// TerminationProtected: EC2's disableApiTermination is on, or StopProtected: disableApiStop is, which refuses a
	// termination too.
	TerminationProtected Answer
	StopProtected        bool
	// ScaleInProtected: its Auto Scaling group protects it from scale-in.
	ScaleInProtected Answer
	// Lifecycle is its state in its Auto Scaling group, such as InService, Standby or
	// Warmed:Running; "" if it has none or it was not read.
	Lifecycle string
	// LifecycleRead: Yes if Auto Scaling returned Lifecycle, No if it does not know the instance.
	LifecycleRead Answer
	// HasNodeClaim: a NodeClaim of Karpenter has the instance, and NodeClaim describes it. It is
	// also No if the cluster has no NodeClaims at all: Karpenter is gone.
	HasNodeClaim Answer
	NodeClaim    *NodeClaim
	// LeaseRead: Yes if its kubelet has a lease though no Node carries its id; Unreadable if it may
	// have a lease under a name that was not read. LeaseOf and LeaseRenewed are the name and time
	// of the lease that was renewed last.
	LeaseRead    Answer
	LeaseOf      string
	LeaseRenewed time.Time
	// Pods are the pods on its silent node; nil if they were not requested.
	Pods *NodePods
}

// NodeClaim is Karpenter's record of an instance that it launched.
type NodeClaim struct {
	Node     string     // the name of its Node, "" before it has one
	Instance InstanceID // "" before its launch; set in Snapshot.Deleting, and in lookups by name
	Group    Group      // its node pool, set under the same conditions
	Owner    Owner      // whose Karpenter launches it, likewise
	Name     string
	UID      string
	// DeletedAt is its deletion timestamp, usually set by Karpenter; zero if nobody deleted it.
	DeletedAt time.Time
	// Finalizers are its finalizers once it is deleted; nil before.
	Finalizers []string
	// Initialized is its condition of that name.
	Initialized Condition
	// Disrupted is its condition DisruptionReason, True while Karpenter replaces it: it is deleted once
	// the replacement is ready.
	Disrupted Condition
	// Rebooting is its condition of that name: True while Karpenter reboots the instance, False since the reboot is over,
	// empty if there was none. Karpenter 1.15 and later reboots some nodes with a failed accelerator, if asked to.
	// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/designs/reboot-node-action.md
	Rebooting Condition
	// DoNotRepair: it carries AnnotationDoNotRepair=true.
	DoNotRepair bool
}

// RepairOverride is what EKS node auto repair does about a failed condition with a reason, in place of what it
// does by default.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_NodeRepairConfigOverrides.html
type RepairOverride struct {
	Condition, Reason string
	Wait              time.Duration // how long the condition lasts before the repair
	None              bool          // there is no repair
}

// GroupDetail is read for groups with suspects: what the group can do about them, and what it does
// itself.
type GroupDetail struct {
	// AutoRepair: EKS repairs unhealthy nodes of this managed node group itself. Status and
	// Issues are read with it.
	AutoRepair Answer
	// Overrides are what the node group says about its repairs for single reasons.
	Overrides []RepairOverride
	// Status is that of a managed node group, such as ACTIVE, UPDATING or DEGRADED; "" for
	// other groups.
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html
	Status string
	// Issues are the health issues of a managed node group.
	Issues []HealthIssue
	// ASGs are the names of the Auto Scaling groups of a managed node group.
	ASGs []string
	// LaunchSuspended: launches are suspended in its Auto Scaling group.
	LaunchSuspended Answer
	// ReplaceSuspended: its Auto Scaling group does not replace unhealthy instances, since
	// ReplaceUnhealthy, HealthCheck or Terminate is suspended. Suspended names them, as
	// "HealthCheck, Terminate".
	ReplaceSuspended Answer
	Suspended        string
	// Desired is the total desired capacity of its Auto Scaling groups. It is valid only if
	// LaunchSuspended was read.
	Desired int
	// Standby is how much capacity they have in Standby, which Desired may not include.
	Standby int
	// Instances is how many instances they have, in any state. Desired may be more: an instance may count for
	// several units of it.
	Instances int
	// Complete: none of them lacks an instance. It is valid only if LaunchSuspended was read.
	Complete bool
	// Removed: the cluster serves no NodePools any more, since Karpenter was removed.
	Removed bool
	// LaunchesRead: Yes if the latest launches of the group were read. Only then a zero
	// LaunchFailed means that no launch failed.
	LaunchesRead Answer
	// LaunchFailed is the end of the group's latest launch if it failed; zero if it did not.
	// LaunchMessage is why, without secrets.
	LaunchFailed  time.Time
	LaunchMessage string
	// Launched: a launch that worked is among those that were read.
	Launched bool
}
