package roll

import (
	"slices"
	"strings"
	"time"
)

// InstanceID is an EC2 instance id: "i-" and 8 or 17 hexadecimal digits. A finding about
// another object has KIND/NAME instead: nodeclaim/NAME, node/NAME, nodegroup/NAME, asg/NAME,
// nodepool/NAME, volume/vol-... or eni/eni-....
type InstanceID string

// SubjectID returns the id of an object that is not an instance.
func SubjectID(kind, name string) InstanceID { return InstanceID(kind + "/" + name) }

// IsInstance reports whether the id is an EC2 instance id. Only these are looked up, tagged or
// acted on.
func (id InstanceID) IsInstance() bool { return strings.HasPrefix(string(id), "i-") }

// subjects are the kinds of objects, other than instances, that a finding can be about.
var subjects = []string{"nodeclaim", "node", "nodegroup", "asg", "nodepool", "volume", "eni"}

// Subject returns the kind and name of an object that is not an instance; false for an instance.
func (id InstanceID) Subject() (kind, name string, ok bool) {
	kind, name, _ = strings.Cut(string(id), "/")
	return kind, name, name != "" && slices.Contains(subjects, kind)
}

// ParseSubject parses the subjects that a person may ask about: nodepool/NAME, nodeclaim/NAME,
// nodegroup/NAME, asg/NAME and node/NAME.
func ParseSubject(s string) (InstanceID, bool) {
	id := InstanceID(s)
	kind, _, ok := id.Subject()
	return id, ok && kind != "volume" && kind != "eni"
}

// Named returns the id as documents show it: either the instance or the subject is set.
func (id InstanceID) Named() (instance, subject string) {
	if _, _, ok := id.Subject(); ok {
		return "", string(id)
	}
	return string(id), ""
}

// ParseInstanceID accepts ids such as i-0123abcd and i-0123456789abcdef0.
func ParseInstanceID(s string) (InstanceID, bool) {
	hex, ok := strings.CutPrefix(s, "i-")
	if !ok || (len(hex) != 8 && len(hex) != 17) {
		return "", false
	}
	for _, c := range hex {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", false
		}
	}
	return InstanceID(s), true
}

// InstanceState is an EC2 instance state name.
type InstanceState string

// The states of an EC2 instance.
const (
	StatePending      InstanceState = "pending"
	StateRunning      InstanceState = "running"
	StateShuttingDown InstanceState = "shutting-down"
	StateTerminated   InstanceState = "terminated"
	StateStopping     InstanceState = "stopping"
	StateStopped      InstanceState = "stopped"
)

// Gone reports whether the instance is terminated or is being terminated.
func (s InstanceState) Gone() bool { return s == StateShuttingDown || s == StateTerminated }

// Instance is one EC2 instance that is claimed for a cluster.
type Instance struct {
	ID             InstanceID
	State          InstanceState
	Launched       time.Time // LaunchTime: of the last start, not of the first
	Zone           string
	ZoneID         string // such as use1-az1, the same for every account
	LaunchTemplate string // the launch template it came from, as id:version, "" unless both are known
	Profile        string // ARN of its instance profile, "" if it has none
	Subnet         string // id of the subnet of its primary network interface
	VPC            string // id of the VPC of that subnet
	ASG            string // its Auto Scaling group, also for managed node groups
	Name           string // value of its Name tag
	PrivateDNS     string // its private DNS name, usually the name of its Node
	Owner          Owner
	Group          Group
	Ambiguous      bool   // its tags name several clusters, and no other tag decides
	Unclaimed      bool   // its tags do not claim it for the cluster; only a node names it
	Named          bool   // a tag that EKS or eksctl writes names the cluster, not kubernetes.io/cluster/ alone
	Scaled         bool   // the autoscaler of this cluster, and of no other, scales its Auto Scaling group
	OtherCluster   string // the cluster that its tags name, if it is another one
	ClusterAPIRole string // what Cluster API made it for, such as node or bastion, "" if it did not
	ControlPlane   bool   // it is of the control plane of a local cluster, which EKS repairs
	Hold           string // value of rollcall:hold, "true" if the tag has none
	Ignore         bool   // rollcall:ignore is true
	Replace        bool   // rollcall:replace is true
	Approve        string // value of rollcall:approve, "" if none
	Marks          *Marks // Rollcall's own tags, nil if none
	DeadlineTag    string // value of rollcall:deadline, "" if none
	// Preset is the preset for its platform and type (see PresetOf), "" if none.
	Preset string
	// SpotTaken: EC2 stopped or terminated it by a Spot interruption.
	SpotTaken bool
	// Hibernated: it is stopped or stopping with its memory kept. When it starts, its kubelet
	// continues and does not register again.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-hibernate-overview.html
	Hibernated bool
	// Outlives are the ids of its EBS volumes and network interfaces that EC2 keeps when it is
	// terminated (DeleteOnTermination is false), sorted.
	Outlives []string
	// LaunchFailure is why EC2 terminated it during its launch, as "code: message"; "" if EC2 did
	// not.
	LaunchFailure string
	// CapacityBlock: it runs in capacity bought for a fixed time, which is not known; after that there is
	// no replacement.
	CapacityBlock bool
	// Vouched: owner, group, zone and state come from its healthy node. EC2 was read only for the
	// tags that people set on it, and it has none of them; no other field is set.
	Vouched bool
}

// Stripped reports whether the instance is terminated and shows no tags of the cluster any more: EC2 removes the tags of
// a terminated instance some time before it forgets it. Then it shows as little of its owner as one that EC2 does not
// know.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html
func (i *Instance) Stripped() bool {
	return i.State == StateTerminated && i.Unclaimed && i.OtherCluster == "" && i.Owner == OwnerNone
}

// Fate returns the state of the instance in words, and the reason if known.
func (i *Instance) Fate() string {
	if i.SpotTaken {
		return string(i.State) + " by a Spot interruption"
	}
	return string(i.State)
}

// SpotEvent is what EC2 announced for a Spot Instance before its interruption.
type SpotEvent string

// The announcements, the stronger one first.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
const (
	SpotInterruption SpotEvent = "interruption" // EC2 interrupts it two minutes later
	SpotRebalance    SpotEvent = "rebalance"    // EC2 may interrupt it, and recommends to replace it
)

// HoldActive reports whether a rollcall:hold value holds at the given time. "", "false" and "no" do
// not hold. A date holds to the end of that day in UTC, an RFC 3339 time up to it. Any other text
// holds: somebody wanted to keep the instance, and a typing error must not cost it.
func HoldActive(value string, now time.Time) bool {
	value = strings.TrimSpace(value)
	if value == "" || declined(value) {
		return false
	}
	if day, err := time.Parse(time.DateOnly, value); err == nil {
		return now.Before(day.AddDate(0, 0, 1))
	}
	if until, err := time.Parse(time.RFC3339, value); err == nil {
		return now.Before(until)
	}
	return true
}
