package evidence

import (
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Group is what was read of a group of like instances. Only what fits its owner is read.
type Group struct {
	// NodeGroup is the managed node group; Absent if EKS has none of that name.
	NodeGroup Fact[NodeGroup]
	// AutoScaling is its Auto Scaling group; Absent if there is none of that name.
	AutoScaling Fact[AutoScalingGroup]
	// Activities are the latest scaling activities, newest first.
	Activities Fact[[]Activity]
	// NodePool and NodeClass are Karpenter's; Absent if there are none of that name.
	NodePool  Fact[NodePool]
	NodeClass Fact[NodeClass]
	// NodeClaims are all NodeClaims of the node pool.
	NodeClaims Fact[[]NodeClaim]
	// Members are all instances of the group in the snapshot, and whether each has a Ready node.
	// They show what failing and healthy instances have in common.
	Members []Member
	// Proven is the latest launch of an instance of the group whose node stayed Ready, according to
	// the ledger; zero if there is none.
	Proven time.Time
	// Acts are the group's acts in the ledger.
	Acts Fact[[]Act]
}

// Member is an instance of a group.
type Member struct {
	Instance              roll.InstanceID
	Healthy               bool // it has a node that is Ready, and no finding
	Finding               roll.Kind
	Launched              time.Time
	Joined                time.Time // when its node was created; zero without one
	VPC, Subnet           string
	SecurityGroups        []string
	Public                bool     // it has a public address
	Profile               string   // ARN of its instance profile
	ClusterTags           []string // as in InstanceConfig
	Described             bool     // EC2 was asked about it; otherwise these and the following are not known
	Image                 string   // AMI id
	LaunchTemplate        string   // id, "" if none
	LaunchTemplateVersion string
}

// Act is an act of Rollcall on an instance of the group.
type Act struct {
	Instance roll.InstanceID
	Do       string // such as terminate
	Kind     roll.Kind
	At       time.Time
	Done     bool
}

// NodeGroup is an EKS managed node group.
type NodeGroup struct {
	Name           string
	Created        time.Time
	Status         string // ACTIVE, DEGRADED, CREATE_FAILED...
	AMIType        string // AL2023_x86_64_STANDARD, BOTTLEROCKET_ARM_64, CUSTOM...
	Version        string // Kubernetes minor version
	RoleARN        string
	LaunchTemplate string // id, "" if it uses none of its own
	TemplateVer    string
	ASGs           []string // names of its Auto Scaling groups
	Repairs        bool     // EKS repairs its unhealthy nodes automatically
	Overrides      []roll.RepairOverride
	Labels         map[string]string // that EKS gives to its nodes
	Issues         []roll.HealthIssue
}

// AutoScalingGroup is an Auto Scaling group.
type AutoScalingGroup struct {
	Name string
	// Desired is its desired capacity: in instances, unless each has a weight, or it counts their CPUs or memory.
	Desired            int
	Subnets            []string
	SuspendedProcesses []string
	// GaveUp: Auto Scaling suspended Launch itself, after launches had failed for about a day.
	GaveUp bool
	// BalancedOnly: if a zone cannot take an instance, Auto Scaling does not launch it in another one.
	// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_AvailabilityZoneDistribution.html
	BalancedOnly bool
	Deleting     bool
	NodeGroup    string // the managed node group that it belongs to, "" if none
	// Lifecycles are the states of its instances, such as InService or Terminating:Wait.
	Lifecycles map[roll.InstanceID]string
	// Weights are how much of Desired its instances count for, nil if each counts for 1. One whose weight is
	// not known has none.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-mixed-instances-groups-instance-weighting.html
	Weights map[roll.InstanceID]int
}

// Capacity returns how much of Desired the instances in such lifecycle states count for; false if that is not known.
func (g AutoScalingGroup) Capacity(such func(lifecycle string) bool) (sum int, known bool) {
	for id, lifecycle := range g.Lifecycles {
		weight, weighed := g.Weights[id]
		switch {
		case !such(lifecycle):
		case g.Weights == nil:
			sum++
		case !weighed:
			return 0, false
		default:
			sum += weight
		}
	}
	return sum, true
}

// Activity is a scaling activity.
type Activity struct {
	Status      string // Successful, Failed, Cancelled, InProgress...
	Description string
	Message     string
	Cause       string    // why the group did it, in words
	Started     time.Time // StartTime
	At          time.Time // EndTime, or StartTime
}

// Launch reports whether the group launched an instance, or tried to.
func (a Activity) Launch() bool {
	return strings.HasPrefix(a.Description, "Launching a new EC2 instance")
}

// Drawn reports whether the group took the instance from its warm pool, where it had been launched before.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html
func (a Activity) Drawn() bool {
	return strings.HasPrefix(a.Description, "Launching a new EC2 instance from warm pool")
}

// NodePool is Karpenter's node pool.
type NodePool struct {
	Name          string
	StartupTaints []Taint
	Taints        []Taint
	NodeClass     string
	// Labels and Requirements are those of its template.
	Labels       map[string]string
	Requirements []Requirement
}

// NodeClass is Karpenter's EC2NodeClass.
type NodeClass struct {
	AMIFamily string // AL2, AL2023, Bottlerocket, Custom, Windows2022...; "" if an alias implies it
	AMIAlias  string // such as al2023@latest, "" if none
	Role      string // name of the node role, "" if it names an instance profile
	UserData  bool   // it adds its own user data, whose content is in the instances' user data
}
