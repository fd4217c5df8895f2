package roll

import (
	"slices"
	"strings"
)

// Tags that people set on an instance.
const (
	// TagHold keeps an instance as it is: "true", or a date (2006-01-02 or
	// RFC 3339) until which it is kept.
	TagHold = "rollcall:hold"
	// TagIgnore set to "true" takes an instance out of Rollcall's care.
	TagIgnore = "rollcall:ignore"
	// TagInstanceMode lowers the mode for one instance: observe, notify or remediate.
	TagInstanceMode = "rollcall:mode"
	// TagDeadline is how long one instance may take to register, and again to
	// initialize, such as 45m.
	TagDeadline = "rollcall:deadline"
	// TagReplace set to "true" lets an instance go although nothing shows that its group
	// brings another one.
	TagReplace = "rollcall:replace"
	// TagPreset chooses a preset of the policy for one instance.
	TagPreset = "rollcall:preset"
)

// Tags that Rollcall sets on an instance, and the only ones that it may write
// or delete. The separator is a colon because EC2 refuses keys with a slash on
// instances whose tags are exposed in instance metadata.
const (
	TagFinding = "rollcall:finding" // the kind of the finding
	TagSince   = "rollcall:since"   // RFC 3339 time at which the trouble began
	TagCause   = "rollcall:cause"   // the first decisive cause
	TagNext    = "rollcall:next"    // what follows, and when
	TagOrder   = "rollcall:order"   // id of the order that may act on the instance
)

// TagMode on an EKS cluster lowers the mode for that cluster, and never raises it.
const TagMode = "rollcall:mode"

// MarkKeys lists the tag keys that Rollcall writes, in a fixed order.
func MarkKeys() []string {
	return []string{TagFinding, TagSince, TagCause, TagNext, TagOrder}
}

// ClusterTagPrefix begins the tag key by which an instance is claimed for a
// cluster: kubernetes.io/cluster/<name>. Not only EKS uses it: kops and
// self-managed Kubernetes write the same key.
const ClusterTagPrefix = "kubernetes.io/cluster/"

// clusterNameKeys hold a cluster's name as their value. Each is written by EKS,
// by an EKS-owned controller or by eksctl, so unlike ClusterTagPrefix they say
// that the cluster is an EKS cluster.
var clusterNameKeys = []string{
	"eks:cluster-name",             // managed node groups
	"eks:eks-cluster-name",         // Auto Mode and Karpenter
	"aws:eks:cluster-name",         // written by EKS once an instance has joined
	"alpha.eksctl.io/cluster-name", // eksctl's self-managed node groups
}

const (
	tagAutoModePool      = "eks:kubernetes-node-pool-name"
	tagKarpenterPool     = "karpenter.sh/nodepool"
	tagKarpenterOldPool  = "karpenter.sh/provisioner-name"
	tagNodeGroup         = "eks:nodegroup-name"
	tagAutoScalingGroup  = "aws:autoscaling:groupName"
	tagClusterAPIPrefix  = "sigs.k8s.io/cluster-api-provider-aws/cluster/"
	tagLaunchTemplate    = "aws:ec2launchtemplate:id"
	tagName              = "Name"
	operatorEKSPrincipal = "eks.amazonaws.com"
)

// Marks are the values of the five tags that Rollcall writes; "" is no tag.
type Marks struct {
	Finding, Since, Cause, Next, Order string
}

// Get returns the value of one of MarkKeys, "" if the key is none of them.
func (m Marks) Get(key string) string {
	if p := m.field(key); p != nil {
		return *p
	}
	return ""
}

// Set changes the value of one of MarkKeys and reports whether the key is one.
func (m *Marks) Set(key, value string) bool {
	p := m.field(key)
	if p == nil {
		return false
	}
	*p = value
	return true
}

func (m *Marks) field(key string) *string {
	switch key {
	case TagFinding:
		return &m.Finding
	case TagSince:
		return &m.Since
	case TagCause:
		return &m.Cause
	case TagNext:
		return &m.Next
	case TagOrder:
		return &m.Order
	}
	return nil
}

// TagSet is what Rollcall reads out of an instance's tags. The tags themselves
// are not kept: at 100,000 instances they would be most of the memory.
type TagSet struct {
	Name           string
	Claims         []string // clusters named by kubernetes.io/cluster/<name> keys, in tag order
	Named          string   // cluster named by an EKS or eksctl tag's value
	LaunchTemplate string
	Hold           string // value of rollcall:hold
	Ignore         bool
	Replace        bool   // rollcall:replace is true
	Mode           string // value of rollcall:mode
	Deadline       string // value of rollcall:deadline
	Preset         string // value of rollcall:preset
	Marks          *Marks // nil when the instance carries none of Rollcall's tags

	autoModePool, karpenterPool, nodeGroup, asg string
	clusterAPI                                  bool
}

// Add reads one tag.
func (t *TagSet) Add(key, value string) {
	switch key {
	case tagName:
		t.Name = value
	case TagHold:
		t.Hold = value
		if strings.TrimSpace(value) == "" {
			t.Hold = "true" // the console lets people add a key alone
		}
	case TagIgnore:
		t.Ignore = !declined(value)
	case TagInstanceMode:
		t.Mode = value
		if strings.TrimSpace(value) == "" {
			t.Mode = "observe" // someone wanted to say something, and it was not "go on"
		}
	case TagReplace:
		t.Replace = strings.EqualFold(strings.TrimSpace(value), "true")
	case TagDeadline:
		t.Deadline = value
	case TagPreset:
		t.Preset = value
	case tagAutoModePool:
		t.autoModePool = value
	case tagKarpenterPool, tagKarpenterOldPool:
		t.karpenterPool = value
	case tagNodeGroup:
		t.nodeGroup = value
	case tagAutoScalingGroup:
		t.asg = value
	case tagLaunchTemplate:
		t.LaunchTemplate = value
	case TagFinding, TagSince, TagCause, TagNext, TagOrder:
		if t.Marks == nil {
			t.Marks = new(Marks)
		}
		t.Marks.Set(key, value)
	default:
		if name, ok := strings.CutPrefix(key, ClusterTagPrefix); ok && name != "" {
			t.Claims = append(t.Claims, name)
		} else if slices.Contains(clusterNameKeys, key) {
			t.Named = value
		} else if strings.HasPrefix(key, tagClusterAPIPrefix) {
			t.clusterAPI = true
		}
	}
}

// declined reports the values by which a person says no to a tag's meaning.
func declined(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "false", "no":
		return true
	}
	return false
}

// Owner tells who owns an instance with these tags, and its group. operator is
// the instance's Operator.Principal, "" if it has none: AWS service principals
// such as eks.amazonaws.com mark instances that a service manages (Auto Mode).
func (t *TagSet) Owner(operator string) (Owner, Group) {
	switch {
	case operator == operatorEKSPrincipal || t.autoModePool != "":
		if t.autoModePool == "" {
			return OwnerAutoMode, GroupNone
		}
		return OwnerAutoMode, NodePoolGroup(t.autoModePool)
	case t.karpenterPool != "":
		return OwnerKarpenter, NodePoolGroup(t.karpenterPool)
	case t.nodeGroup != "" && t.asg != "":
		// People copy tags from one instance to another, but only Auto Scaling can
		// write the one with its prefix: without it nobody would replace the instance.
		return OwnerManagedNodeGroup, NodeGroupGroup(t.nodeGroup)
	case t.asg != "":
		return OwnerAutoScalingGroup, AutoScalingGroup(t.asg)
	case t.clusterAPI:
		return OwnerClusterAPI, GroupNone
	}
	return OwnerNone, GroupNone
}

// AutoScalingGroupName is the Auto Scaling group that the instance belongs to,
// "" if none. Members of managed node groups have one too.
func (t *TagSet) AutoScalingGroupName() string { return t.asg }

// Clusters are the clusters that the tags may mean: the one that an EKS or eksctl tag
// names, or else all that kubernetes.io/cluster/ keys claim.
func (t *TagSet) Clusters() []string {
	if t.Named != "" {
		return []string{t.Named}
	}
	return t.Claims
}

// Belonging is the answer to "is this instance of that cluster?".
type Belonging int

// The answers.
const (
	BelongsNot       Belonging = iota // another cluster's, or nobody's
	Belongs                           // this cluster's
	BelongsAmbiguous                  // claimed for several clusters, and nothing decides between them
)

// Belonging decides whether the tags make an instance one of the named cluster.
// A tag whose value names the cluster outranks kubernetes.io/cluster/ keys, of
// which an instance may carry several.
func (t *TagSet) Belonging(cluster string) Belonging {
	if t.Named != "" {
		if t.Named == cluster {
			return Belongs
		}
		return BelongsNot
	}
	if !slices.Contains(t.Claims, cluster) {
		return BelongsNot
	}
	if len(t.Claims) > 1 {
		return BelongsAmbiguous
	}
	return Belongs
}
