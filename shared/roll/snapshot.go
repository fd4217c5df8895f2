package roll

import (
	"strings"
	"time"
)

// Snapshot is one look at one cluster: instances were listed before nodes, so
// that a node which registers in between is seen and its instance is not taken
// for one that never came.
type Snapshot struct {
	At        time.Time
	Cluster   Cluster
	Instances []Instance
	Nodes     []Node
	Details   map[InstanceID]Detail // of suspects only
	Groups    map[Group]GroupDetail // of groups with suspects only
	NotFound  map[InstanceID]bool   // looked up by id, and EC2 said that it knows none
	// Impaired are the instances of which EC2 says that a status check fails, and
	// since when. It means nothing unless StatusRead is Yes.
	Impaired map[InstanceID]Impairment
	// Scheduled is what EC2 has scheduled for instances and is to come, or goes on; of
	// several events of one instance the first. StatusRead is about it too.
	Scheduled  map[InstanceID]Event
	StatusRead Answer
	// Shifts are the zones that ARC shifts the cluster away from now. ShiftsRead is
	// NotAsked for a cluster that it may not shift.
	Shifts     []Shift
	ShiftsRead Answer
	// Deleting are the NodeClaims that somebody deleted and that are still there. They are all
	// of them if DeletingRead is Yes, as they are of a cluster without Karpenter.
	Deleting     []NodeClaim
	DeletingRead Answer
	// Left are those of the volumes and interfaces that were asked for which are attached to
	// nothing and claimed by no PersistentVolume. LeftRead is Yes of each of which EC2 and the
	// Kubernetes API told that; what is NotAsked there is not left for all that is known.
	Left     map[InstanceID]Leftover
	LeftRead map[InstanceID]Answer
	// Target: the snapshot shows one instance, beside all nodes. What is counted over a
	// population is counted in it from nodes alone.
	Target InstanceID
	Gaps   []Gap
	// Launches are the groups whose launches fail, or do not come about. ClaimsRead reports
	// whether those of node pools were read, ScalingRead whether those of Auto Scaling were,
	// and NodeGroupsRead whether EKS was asked about its managed node groups.
	Launches                                map[Group]Launch
	ClaimsRead, ScalingRead, NodeGroupsRead Answer
	// Suspended are groups that are short of instances, and are not to launch any.
	Suspended []Group
}

// Impairment is a failing status check of EC2.
type Impairment struct {
	Since  time.Time // impairedSince; zero if EC2 does not tell
	System bool      // the system's check fails, not only the instance's
	// Only is the check that fails while those of the instance and of the system do not:
	// "attached EBS", "application" or "performance"; "" if one of these two fails.
	Only string
}

// Event is something that EC2 has scheduled for an instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html
type Event struct {
	ID        string
	Code      string    // instance-reboot, system-reboot, system-maintenance, instance-retirement or instance-stop
	NotBefore time.Time // the earliest start
	NotAfter  time.Time // the latest end, zero if EC2 does not tell
	Deadline  time.Time // until when the start can be moved to, zero if it cannot
}

// EventOver reports a scheduled event that is over but still listed: EC2 lists it for up to a
// week, with a note before its description.
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
	// ScopeCluster: the cluster itself could not be described, or is in a state
	// in which nothing may be concluded about it.
	ScopeCluster Scope = iota
	// ScopeInstances: the listing of instances is missing or partial.
	ScopeInstances
	// ScopeNodes: the listing of nodes is missing or partial.
	ScopeNodes
	// ScopeDetail: only something about single suspects could not be read.
	ScopeDetail
)

// String is the scope as a word, for log lines.
func (s Scope) String() string {
	return [...]string{"cluster", "instances", "nodes", "detail"}[s]
}

// GapKind is why something could not be read.
type GapKind string

// The kinds of gaps.
const (
	GapClusterNotActive   GapKind = "ClusterNotActive"
	GapClusterGone        GapKind = "ClusterGone"        // EKS knows no such cluster
	GapClusterUnreachable GapKind = "ClusterUnreachable" // the API server did not answer
	GapUnauthorized       GapKind = "Unauthorized"       // the API server refused the token (HTTP 401)
	GapDenied             GapKind = "Denied"             // a permission is missing
	GapThrottled          GapKind = "Throttled"
	GapTimeout            GapKind = "Timeout"     // the time of the check ran out
	GapUnavailable        GapKind = "Unavailable" // the service itself failed
	GapLater              GapKind = "Later"       // one check reads only so much, and this comes in another
	GapFailed             GapKind = "Failed"
)

// Passing reports what another try may well not meet again.
func (k GapKind) Passing() bool {
	switch k {
	case GapClusterUnreachable, GapThrottled, GapTimeout, GapUnavailable, GapLater:
		return true
	}
	return false
}

// The calls that tell about single suspects, as gaps name them.
const (
	CallInstanceAttribute    = "ec2:DescribeInstanceAttribute"
	CallAutoScalingInstances = "autoscaling:DescribeAutoScalingInstances"
	CallAutoScalingGroups    = "autoscaling:DescribeAutoScalingGroups"
	CallScalingActivities    = "autoscaling:DescribeScalingActivities"
	CallNodegroup            = "eks:DescribeNodegroup"
	CallNodegroups           = "eks:ListNodegroups"
	CallNodeClaims           = "kubernetes: list nodeclaims"
	CallEvents               = "kubernetes: list events"
	CallLease                = "kubernetes: get leases"
	CallPods                 = "kubernetes: list pods"
	CallBudgets              = "kubernetes: list poddisruptionbudgets"
	CallVolumes              = "kubernetes: list persistentvolumes"
	CallZonalShift           = "arc-zonal-shift:GetManagedResource"
)

// CallLedger is the Call of a gap for an unreadable ledger.
const CallLedger = "ledger"

// Gap is a missing part of a snapshot, and why. Partial is not empty: what a gap covers is
// not judged.
type Gap struct {
	Scope  Scope
	Kind   GapKind
	Call   string // the call that failed, such as ec2:DescribeInstances
	Detail string // a sentence for a person: on what, why, and what to do
}

// Whole reports whether everything that verdicts depend on was read: there are only gaps
// about single suspects.
func (s *Snapshot) Whole() bool {
	for _, g := range s.Gaps {
		if g.Scope != ScopeDetail {
			return false
		}
	}
	return true
}

// Has reports whether the part of the snapshot was read without a gap.
func (s *Snapshot) Has(scope Scope) bool {
	for _, g := range s.Gaps {
		if g.Scope == scope || g.Scope == ScopeCluster {
			return false
		}
	}
	return true
}

// Answer is the answer of AWS to a question about one instance.
type Answer uint8

// The answers. The zero value is NotAsked, so that what nobody read is never
// mistaken for "no".
const (
	NotAsked Answer = iota
	Yes
	No
	Unreadable
)

// Detail is read for suspects only, since it costs a call each.
type Detail struct {
	// Bootstraps: its user data bootstraps a node of this cluster.
	Bootstraps Answer
	// OtherCluster is the cluster that its user data bootstraps a node of, where Bootstraps
	// is No and it does so of another one; "" if of none.
	OtherCluster string
	// TerminationProtected: EC2's disableApiTermination is on.
	TerminationProtected Answer
	// ScaleInProtected: its Auto Scaling group protects it from scale-in.
	ScaleInProtected Answer
	// Lifecycle is its state in its Auto Scaling group, such as InService,
	// Standby or Warmed:Running; "" when it has none or it was not read.
	Lifecycle string
	// LifecycleRead: Yes when Auto Scaling told Lifecycle, No when it does not
	// know the instance.
	LifecycleRead Answer
	// HasNodeClaim: a NodeClaim of Karpenter has the instance, and NodeClaim tells of
	// it. No also when the cluster has no NodeClaims at all: Karpenter is gone.
	HasNodeClaim Answer
	NodeClaim    *NodeClaim
	// LeaseRead: Yes when its kubelet has a lease though no Node carries its id, and
	// Unreadable when it may have one by a name that was not read. LeaseOf is the name of the
	// lease that was renewed last of those that were read, and LeaseRenewed when.
	LeaseRead    Answer
	LeaseOf      string
	LeaseRenewed time.Time
	// Pods is what runs on its node, if that is silent; nil if nobody asked.
	Pods *NodePods
}

// NodeClaim is Karpenter's record of an instance that it launched.
type NodeClaim struct {
	Node     string     // the name of its Node, "" before it has one
	Instance InstanceID // "" before its launch; told of Snapshot.Deleting, and where one is asked about by name
	Group    Group      // its node pool; likewise
	Name     string
	UID      string
	// DeletedAt is when somebody, as a rule Karpenter, began to delete it; zero if nobody did.
	DeletedAt time.Time
	// Finalizers are what keeps it once somebody deletes it; nil before.
	Finalizers []string
	// Initialized is its condition of this name.
	Initialized Condition
}

// GroupDetail is read for groups with suspects: what the group can do about them, and what it
// does itself.
type GroupDetail struct {
	// AutoRepair: EKS repairs unhealthy nodes of this managed node group itself. Status and
	// Issues are read with it.
	AutoRepair Answer
	// Status is that of a managed node group, such as ACTIVE, UPDATING or DEGRADED; "" for
	// other groups.
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html
	Status string
	// Issues are the health issues of a managed node group, as "code: message; ...".
	Issues string
	// LaunchSuspended: its Auto Scaling group launches nothing now.
	LaunchSuspended Answer
	// ReplaceSuspended: its Auto Scaling group does not replace unhealthy instances, since
	// one or more of ReplaceUnhealthy, HealthCheck and Terminate are suspended. Suspended
	// names them, as "HealthCheck, Terminate".
	ReplaceSuspended Answer
	Suspended        string
	// Desired is the desired capacity of its Auto Scaling groups together. It means nothing
	// unless LaunchSuspended was read.
	Desired int
	// LaunchesRead: Yes when the latest launches of the group were read. Only then a zero
	// LaunchFailed means that there is none.
	LaunchesRead Answer
	// LaunchFailed is when the latest launch of the group ended, if it failed; zero time if
	// it did not. LaunchMessage says why.
	LaunchFailed  time.Time
	LaunchMessage string
}
