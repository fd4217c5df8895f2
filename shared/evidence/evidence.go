package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// Evidence is everything that was read for the findings of one check of one cluster. Facts shared
// by several instances are stored once.
type Evidence struct {
	At        time.Time // the time of the check
	Region    string
	ClusterID roll.ClusterID
	Cluster   Cluster
	Instances map[roll.InstanceID]Instance
	Nodes     map[string]Node                  // by name; of findings only
	Profiles  map[string]Fact[InstanceProfile] // by ARN
	Roles     map[string]Fact[Role]            // by name
	Policies  map[string]Fact[Policies]        // by role name
	// Documents are the policies of roles that may be a controller's, by role name. A Known fact
	// with Why means that some of them could not be read.
	Documents map[string]Fact[[]PolicyDocument]
	Images    map[string]Fact[Image]          // by AMI id
	Templates map[string]Fact[LaunchTemplate] // by id:version
	Groups    map[roll.Group]Group
	Network   Network
	// Sound are the groups, instance profiles and VPCs of instances with a Ready node and no finding,
	// each combination once; nil if Alone.
	Sound []Sound
	// Zones count the cluster's nodes by availability zone; nil if Alone.
	Zones []Zone
	// Shifts are the ids of the zones from which ARC shifts the cluster away.
	Shifts []string
	// Alone reports whether only one instance was read, as before an act. The members of its group
	// are then incomplete.
	Alone bool
	// Findings are all findings of the check, including those in stage watching.
	Findings []roll.Finding
	// Proven are the decisive causes that earlier checks found for the same findings.
	Proven map[roll.FindingKey][]roll.Proof
	// Unread holds the reasons of failed calls, and whether each is transient.
	Unread map[string]bool
	// Gaps are the gaps of the snapshot.
	Gaps []roll.Gap
}

// Remembered returns what earlier checks saw of the nodes, by node name.
func (e *Evidence) Remembered() map[string]Remembered {
	out := map[string]Remembered{}
	for name, n := range e.Nodes {
		if n.Remembered.Known() {
			out[name] = n.Remembered.Value
		}
	}
	return out
}

// Sound is what an instance without a finding may share with one that has a finding.
type Sound struct {
	Group   roll.Group
	Profile string // ARN of its instance profile, "" if it is not known
	VPC     string
	Windows bool
	// Latest is the instance of them whose node joined last, at Joined.
	Latest roll.InstanceID
	Joined time.Time
}

// Zone counts the nodes of one availability zone.
type Zone struct {
	Zone  string
	Nodes int
	// Silent are the times since when nodes of the zone are silent (Ready=Unknown), sorted.
	Silent []time.Time
}

// Case is one finding and its evidence.
type Case struct {
	*Evidence
	Finding roll.Finding
}

// Instance returns the finding's instance. Its facts are NotAsked if nothing was read of it.
func (c *Case) Instance() Instance { return c.Instances[c.Finding.Instance] }

// Node returns the finding's node. Its facts are NotAsked if nothing was read of it, or if the
// finding has no node.
func (c *Case) Node() Node { return c.Nodes[c.Finding.Node] }

// Unexplained returns why the cause of the node's state is unknown: the node is not ready, and the
// message of its Ready condition, which the kubelet always writes, is missing. It returns "" for
// any other node.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/nodestatus/setters.go
func (c *Case) Unexplained() string {
	n := c.Node().Object.Value
	if ready, ok := n.Condition("Ready"); !ok || ready.Status != string(roll.ConditionFalse) || ready.Message != "" {
		return ""
	}
	return AnswerOf + "the Kubernetes API about node " + c.Finding.Node + " lacks the message of its condition Ready"
}

// Untold returns why the events of the Amazon VPC CNI's pod on the finding's node are unknown. It
// returns "" if they were read or there is no such pod.
func (c *Case) Untold() string {
	for _, p := range c.Node().Pods.Value {
		if p.Owner == "DaemonSet/aws-node" && p.EventsUnread != "" {
			return p.EventsUnread
		}
	}
	if pods := c.Node().Pods; !pods.Settled() {
		return pods.Missing("list of pods of node " + c.Finding.Node)
	}
	return ""
}

// Unanswered returns the line of the last boot by which an AWS service of the region did not answer,
// such as eks; false if there is none.
func (c *Case) Unanswered(service string) (console.Found, bool) {
	return c.Instance().Log().Value.InLastBoot(func(f console.Found) bool {
		return f.Sign == console.EndpointUnreachable && strings.HasPrefix(f.Detail, service+"."+c.Region+".")
	})
}

// Fellow returns a healthy instance of the finding's group that matches, the one that joined last.
func (c *Case) Fellow(such func(Member) bool) (last Member, ok bool) {
	for _, m := range c.Group().Members {
		if m.Healthy && m.Instance != c.Finding.Instance && such(m) && (!ok || m.Joined.After(last.Joined)) {
			last, ok = m, true
		}
	}
	return last, ok
}

// Onset returns when the finding's instance began to need what it may lack: at its launch if it never
// registered, otherwise when its trouble began. What lets another instance join after that is there.
func (c *Case) Onset() time.Time {
	if launched := c.Config().Value.Launched; c.Finding.Kind == roll.Unregistered && !launched.IsZero() {
		return launched
	}
	if c.Finding.Began.IsZero() {
		return c.Finding.Since
	}
	return c.Finding.Began
}

// Joined returns an instance that is healthy and joined the cluster after the finding's onset, ""
// if none is known.
func (c *Case) Joined() roll.InstanceID {
	since := c.Onset()
	if m, ok := c.Fellow(func(m Member) bool { return m.Joined.After(since) }); ok {
		return m.Instance
	}
	sound, _ := roll.Find(c.Sound, func(s Sound) bool { return s.Joined.After(since) })
	return sound.Latest
}

// Group returns the finding's group.
func (c *Case) Group() Group { return c.Groups[c.Finding.Group] }

// Config returns the finding's instance as EC2 describes it.
func (c *Case) Config() Fact[InstanceConfig] { return c.Instance().Config }

// listed returns Config for facts that depend on it. If EC2 does not list the instance, nothing
// about it is known.
func (c *Case) listed() Fact[InstanceConfig] {
	config := c.Config()
	if config.State == Absent {
		return Failed[InstanceConfig]("EC2 does not list " + string(c.Finding.Instance))
	}
	return config
}

// unshown says why something of an instance that is gone is not known.
func (c *Case) unshown(i InstanceConfig, what string) string {
	return string(c.Finding.Instance) + " is " + i.State + ", and EC2 shows no " + what + " of it any more"
}

// UserData returns the instance's user data and where it was read. If the instance's own was not
// read and an Auto Scaling group launched it, that of the launch template is the same: the group
// has no other.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-templates.html
func (c *Case) UserData() (data Fact[userdata.Boot], source string) {
	own := c.Instance().UserData
	if i := c.Config(); own.State == Absent && i.Known() && i.Value.gone() {
		own = Failed[userdata.Boot](c.unshown(i.Value, "user data"))
	}
	if own.State == Absent && c.Config().State == Absent {
		return Then(c.listed(), func(InstanceConfig) Fact[userdata.Boot] { return own }), "user data"
	}
	if i := c.Config(); !own.Settled() && i.Known() && i.Value.ASG != "" && i.Value.LaunchTemplate != "" {
		t := c.Templates[i.Value.LaunchTemplate+":"+i.Value.LaunchTemplateVersion]
		if t.Known() && t.Value.UserData.Settled() {
			return t.Value.UserData, "launch template " + i.Value.LaunchTemplate + ":" + i.Value.LaunchTemplateVersion
		}
	}
	return own, "user data"
}

// SameUserData returns the user data of the finding's instance, and its source: its own, that of its launch
// template's version, or that of another instance of its group with the same version. User data is read for a
// sample only.
func (c *Case) SameUserData() (data Fact[userdata.Boot], source string) {
	own, source := c.UserData()
	i := c.Config().Value
	if own.Settled() || own.State == Unreadable || i.LaunchTemplate == "" || i.LaunchTemplateVersion == "" {
		return own, source
	}
	if t := c.Templates[i.LaunchTemplate+":"+i.LaunchTemplateVersion]; t.Known() && t.Value.UserData.Settled() {
		return t.Value.UserData, "launch template " + i.LaunchTemplate + ":" + i.LaunchTemplateVersion
	}
	for _, id := range slices.Sorted(maps.Keys(c.Instances)) {
		other := c.Instances[id]
		o := other.Config.Value
		if o.LaunchTemplate == i.LaunchTemplate && o.LaunchTemplateVersion == i.LaunchTemplateVersion && o.Group == i.Group && other.UserData.Settled() {
			return other.UserData, "user data of " + string(id)
		}
	}
	return own, source
}

// Image returns the AMI of the finding's instance.
func (c *Case) Image() Fact[Image] {
	return Then(c.listed(), func(i InstanceConfig) Fact[Image] {
		if i.Image == "" {
			return Failed[Image](AnswerOf + "ec2:DescribeInstances lacks the AMI of " + string(c.Finding.Instance))
		}
		return c.Images[i.Image]
	})
}

// CallsFIPS reports whether the instance certainly calls AWS's FIPS endpoints: it runs a FIPS variant of
// Bottlerocket, and its settings leave that as it is.
// https://bottlerocket.dev/en/os/latest/api/settings/aws/
func (c *Case) CallsFIPS() bool {
	data, _ := c.UserData()
	return c.Image().Value.Family == "bottlerocket" && strings.Contains(c.Image().Value.Name, "-fips-") &&
		data.Known() && !slices.ContainsFunc(data.Value.Joins, func(j userdata.Join) bool { return j.AWSConfig })
}

// Profile returns the instance profile of the finding's instance; Absent if it has none. EC2 does not show
// that of an instance that is terminated.
func (c *Case) Profile() Fact[InstanceProfile] {
	return Then(c.listed(), func(i InstanceConfig) Fact[InstanceProfile] {
		switch {
		case i.ProfileARN == "" && i.gone():
			return Failed[InstanceProfile](c.unshown(i, "instance profile"))
		case i.ProfileARN == "":
			return None[InstanceProfile]()
		}
		return c.Profiles[i.ProfileARN]
	})
}

// Role returns the role of the instance profile; Absent if there is no profile, if the profile has
// no role, or if the role was deleted.
func (c *Case) Role() Fact[Role] {
	return Then(c.Profile(), func(p InstanceProfile) Fact[Role] {
		if len(p.Roles) == 0 {
			return None[Role]()
		}
		return c.Roles[p.Roles[0]]
	})
}

// Subnet returns the subnet of the finding's instance.
func (c *Case) Subnet() Fact[Subnet] {
	return Then(c.listed(), func(i InstanceConfig) Fact[Subnet] { return c.Network.Subnets[i.Subnet] })
}

// Hidden returns why the VPC of the instance may have NAT gateways and VPC endpoints that EC2 does not list,
// "" if it lists them all: to an account with which a subnet is shared it lists only that account's own.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-share-limitations.html
func (c *Case) Hidden() string {
	switch s := c.Subnet(); {
	case !s.Known():
		return s.Missing("the subnet of the instance")
	case s.Value.Owner != "" && s.Value.Owner != c.ClusterID.Account:
		return fmt.Sprintf("account %s shares the subnet, and EC2 lists its NAT gateways and VPC endpoints only there", s.Value.Owner)
	}
	return ""
}

// RouteTable returns the route table of the instance's subnet.
func (c *Case) RouteTable() Fact[RouteTable] {
	return Then(c.listed(), func(i InstanceConfig) Fact[RouteTable] { return c.Network.RouteTables[i.Subnet] })
}

// ACL returns the network ACL of the instance's subnet.
func (c *Case) ACL() Fact[ACL] {
	return Then(c.listed(), func(i InstanceConfig) Fact[ACL] { return c.Network.ACLs[i.Subnet] })
}

// VPC returns the VPC of the instance. Its facts are NotAsked if the instance is not known.
func (c *Case) VPC() VPC { return c.Network.VPCs[c.Config().Value.VPC] }

// NodeClaim returns Karpenter's NodeClaim of the finding's instance; Absent if the group's claims
// were read and none has it.
func (c *Case) NodeClaim() Fact[NodeClaim] {
	return Then(c.Group().NodeClaims, func(claims []NodeClaim) Fact[NodeClaim] {
		launched := c.Config().Value.Launched
		untold := ""
		for _, n := range claims {
			if n.Instance == c.Finding.Instance || n.Name == c.Finding.Removal.Claim && n.Name != "" {
				return Read(n)
			}
			if n.Instance == "" && !n.Created.After(launched) {
				untold = n.Name
			}
		}
		if untold != "" {
			return Failed[NodeClaim](AnswerOf + "the Kubernetes API lacks whose NodeClaim " + untold + " is, which is older than the instance")
		}
		return None[NodeClaim]()
	})
}
