package roll

import (
	"slices"
	"strings"
)

// Tags that people set on an instance.
const (
	// TagHold protects an instance from acts: "true", or a date (2006-01-02 or RFC 3339) until
	// which it holds.
	TagHold = "rollcall:hold"
	// TagIgnore set to "true" makes Rollcall ignore an instance.
	TagIgnore = "rollcall:ignore"
	// TagDeadline is how long one instance may take to register, and again to
	// initialize, such as 45m.
	TagDeadline = "rollcall:deadline"
	// TagReplace set to "true" allows Rollcall to terminate an instance although nothing shows that
	// its group replaces it.
	TagReplace = "rollcall:replace"
	// TagApprove approves the acts that a notice asked about: its value is the id of the order.
	TagApprove = "rollcall:approve"
)

// Tags that Rollcall sets on an instance, and the only ones that it may write
// or delete. The separator is a colon because EC2 refuses keys with a slash on
// instances whose tags are exposed in instance metadata.
const (
	TagFinding = "rollcall:finding" // the kind of the finding
	TagSince   = "rollcall:since"   // RFC 3339 time at which the fault began
	TagCause   = "rollcall:cause"   // the first decisive cause
	TagNext    = "rollcall:next"    // what happens next, and when
	TagOrder   = "rollcall:order"   // id of the order that may act on the instance
)

// TagPrefix begins the key of each tag that Rollcall reads or writes as its own.
const TagPrefix = "rollcall:"

// TagMode on an EKS cluster lowers the mode of that cluster. It never raises it.
const TagMode = "rollcall:mode"

// MarkKeys returns the tag keys that Rollcall writes, in a fixed order.
func MarkKeys() []string {
	return []string{TagFinding, TagSince, TagCause, TagNext, TagOrder}
}

// ClusterTagPrefix begins the tag key by which an instance is claimed for a
// cluster: kubernetes.io/cluster/<name>. Not only EKS uses it: kops and
// self-managed Kubernetes write the same key.
const ClusterTagPrefix = "kubernetes.io/cluster/"

// tagClusterByAWS holds the cluster's name. EKS writes it once an instance has joined. It is proof:
// only AWS can write keys that begin with "aws:".
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html
const tagClusterByAWS = "aws:eks:cluster-name"

// clusterNameKeys also hold a cluster's name as their value. EKS, an EKS controller or eksctl
// writes each of them. So unlike ClusterTagPrefix they show that the cluster is an EKS cluster. But
// anybody can write them or copy them to another instance.
var clusterNameKeys = []string{
	"eks:cluster-name",             // managed node groups
	"eks:eks-cluster-name",         // Auto Mode and Karpenter
	"alpha.eksctl.io/cluster-name", // eksctl's self-managed node groups
}

// autoscalerPrefix begins the key of the tag on an Auto Scaling group by which a cluster's Cluster
// Autoscaler finds the groups that it scales: k8s.io/cluster-autoscaler/<cluster>. Tools that write
// it have it propagated to the instances.
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
const autoscalerPrefix = "k8s.io/cluster-autoscaler/"

// ClusterTagKeys returns patterns for the filter tag-key of DescribeInstances that match an
// instance with the tag of any cluster.
func ClusterTagKeys() []string {
	return append([]string{ClusterTagPrefix + "*", tagClusterByAWS}, clusterNameKeys...)
}

const (
	tagAutoModePool      = "eks:kubernetes-node-pool-name"
	tagKarpenterPool     = "karpenter.sh/nodepool"
	tagKarpenterOldPool  = "karpenter.sh/provisioner-name"
	tagNodeClass         = "karpenter.k8s.aws/ec2nodeclass"
	tagNodeGroup         = "eks:nodegroup-name"
	tagAutoScalingGroup  = "aws:autoscaling:groupName"
	tagClusterAPIPrefix  = "sigs.k8s.io/cluster-api-provider-aws/cluster/"
	tagClusterAPIRole    = "sigs.k8s.io/cluster-api-provider-aws/role"
	tagTemplate          = "aws:ec2launchtemplate:id"
	tagTemplateVersion   = "aws:ec2launchtemplate:version"
	tagName              = "Name"
	operatorEKSPrincipal = "eks.amazonaws.com"
	// tagLocalControlPlane is on the instances with the control plane of a local cluster on AWS Outposts. They run in
	// the account of the cluster and carry its tag. EKS may launch and terminate none without this one.
	// https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEKSLocalOutpostServiceRolePolicy.html
	tagLocalControlPlane = "eks-local:controlplane-name"
)

// Marks are the values of the five tags that Rollcall writes; "" means no tag.
type Marks struct {
	Finding, Since, Cause, Next, Order string
}

// Get returns the value of one of MarkKeys, "" for any other key.
func (m Marks) Get(key string) string {
	if p := m.field(key); p != nil {
		return *p
	}
	return ""
}

// Set changes the value of one of MarkKeys. It reports whether the key is one of them.
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

// TagSet is what Rollcall reads from an instance's tags. It does not keep the tags themselves: at
// 100,000 instances they would use most of the memory.
type TagSet struct {
	Name     string
	Claims   []string // clusters named by kubernetes.io/cluster/<name> keys, sorted
	Hold     string   // value of rollcall:hold
	Ignore   bool
	Replace  bool   // rollcall:replace is true
	Approve  string // value of rollcall:approve
	Deadline string // value of rollcall:deadline
	Marks    *Marks // nil if the instance has none of Rollcall's tags

	ASG       string // its Auto Scaling group, also for members of managed node groups
	NodeGroup string // eks:nodegroup-name
	NodeClass string // Karpenter's EC2NodeClass
	// Template and TemplateVersion are the launch template that EC2 or Auto Scaling names.
	Template, TemplateVersion string
	// ClusterAPIRole is the role for which Cluster API created the machine, such as node or
	// bastion, "" if it did not.
	ClusterAPIRole string
	ControlPlane   bool // it is of the control plane of a local cluster

	proven string   // cluster named by the tag that only AWS can write
	named  []string // clusters named by the other tags of EKS and eksctl, sorted
	scaled []string // clusters whose autoscaler scales its group, sorted

	autoModePool, karpenterPool, karpenterOldPool string
	poolless, clusterAPI                          bool // Karpenter's tag has no value; Cluster API launched it
}

// Add reads one tag.
func (t *TagSet) Add(key, value string) {
	switch key {
	case tagName:
		t.Name = value
	case TagHold:
		t.Hold = value
		if strings.TrimSpace(value) == "" {
			t.Hold = "true" // the console allows a key without a value
		}
	case TagIgnore:
		t.Ignore = !declined(value)
	case TagReplace:
		t.Replace = strings.EqualFold(strings.TrimSpace(value), "true")
	case TagApprove:
		t.Approve = strings.TrimSpace(value)
	case TagDeadline:
		t.Deadline = value
	case tagAutoModePool:
		t.autoModePool = value
	case tagKarpenterPool:
		t.karpenterPool, t.poolless = value, value == ""
	case tagKarpenterOldPool:
		t.karpenterOldPool = value
	case tagNodeClass:
		t.NodeClass = value
	case tagNodeGroup:
		t.NodeGroup = value
	case tagAutoScalingGroup:
		t.ASG = value
	case tagClusterAPIRole:
		t.ClusterAPIRole = value
	case tagTemplate:
		t.Template = value
	case tagTemplateVersion:
		t.TemplateVersion = value
	case tagClusterByAWS:
		t.proven = value
	case tagLocalControlPlane:
		t.ControlPlane = true
	case TagFinding, TagSince, TagCause, TagNext, TagOrder:
		if t.Marks == nil {
			t.Marks = new(Marks)
		}
		t.Marks.Set(key, value)
	default:
		if name, ok := strings.CutPrefix(key, ClusterTagPrefix); ok && name != "" {
			t.Claims = insert(t.Claims, name)
		} else if value != "" && slices.Contains(clusterNameKeys, key) {
			t.named = insert(t.named, value)
		} else if strings.HasPrefix(key, tagClusterAPIPrefix) {
			t.clusterAPI = true
		} else if name, ok := strings.CutPrefix(key, autoscalerPrefix); ok && name != "enabled" && !strings.Contains(name, "/") {
			t.scaled = insert(t.scaled, name)
		}
	}
}

// insert adds a text to a sorted list without duplicates, so that the order of tags does not
// matter.
func insert(sorted []string, text string) []string {
	i, found := slices.BinarySearch(sorted, text)
	if found {
		return sorted
	}
	return slices.Insert(sorted, i, text)
}

// declined reports whether a tag value means "no".
func declined(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "false", "no":
		return true
	}
	return false
}

// Owner returns who owns an instance with these tags, and its group. operator is the instance's
// Operator.Principal, "" if none. AWS service principals such as eks.amazonaws.com mark instances
// that a service manages (Auto Mode).
func (t *TagSet) Owner(operator string) (Owner, Group) {
	switch {
	case operator == operatorEKSPrincipal || t.autoModePool != "":
		if t.autoModePool == "" {
			return OwnerAutoMode, GroupNone
		}
		return OwnerAutoMode, NodePoolGroup(t.autoModePool)
	case t.karpenterPool != "":
		return OwnerKarpenter, NodePoolGroup(t.karpenterPool)
	case t.karpenterOldPool != "":
		return OwnerKarpenter, NodePoolGroup(t.karpenterOldPool)
	case t.poolless && t.NodeClass != "" && t.ASG == "":
		// Karpenter launched it for a NodeClaim that somebody created without a NodePool. It always writes both tags.
		// https://github.com/aws/karpenter-provider-aws/blob/main/pkg/utils/utils.go (GetTags)
		return OwnerKarpenter, GroupNone
	case t.NodeGroup != "" && t.ASG != "":
		// People copy tags from one instance to another, but only Auto Scaling can write the tag
		// with its prefix. Without that tag nothing would replace the instance.
		return OwnerManagedNodeGroup, NodeGroupGroup(t.NodeGroup)
	case t.ASG != "":
		return OwnerAutoScalingGroup, AutoScalingGroup(t.ASG)
	case t.clusterAPI:
		return OwnerClusterAPI, GroupNone
	}
	return OwnerNone, GroupNone
}

// ScaledBy reports whether the autoscaler of this cluster, and of no other, scales its group.
func (t *TagSet) ScaledBy(cluster string) bool { return slices.Equal(t.scaled, []string{cluster}) }

// LaunchTemplate returns the launch template of the instance as id:version, "" unless both are
// known. Versions of one template may launch different things.
func (t *TagSet) LaunchTemplate() string {
	if t.Template == "" || t.TemplateVersion == "" {
		return ""
	}
	return t.Template + ":" + t.TemplateVersion
}

// names returns the clusters that tags name by value: the one that AWS wrote, or else all in the
// other tags of EKS and eksctl.
func (t *TagSet) names() []string {
	if t.proven != "" {
		return []string{t.proven}
	}
	return t.named
}

// NamedBy reports whether the tags name this cluster by value, and no other.
func (t *TagSet) NamedBy(cluster string) bool {
	names := t.names()
	return len(names) == 1 && names[0] == cluster
}

// OtherCluster returns the cluster that the tags name by value. It is "" if they name none, or if
// the given one is among them.
func (t *TagSet) OtherCluster(than string) string {
	names := t.names()
	if len(names) == 0 || slices.Contains(names, than) {
		return ""
	}
	return names[0]
}

// Clusters returns the clusters that the tags may mean, sorted: those named by value, or else all
// in kubernetes.io/cluster/ keys.
func (t *TagSet) Clusters() []string {
	if names := t.names(); len(names) > 0 {
		return names
	}
	return t.Claims
}

// Belonging is whether an instance belongs to a cluster.
type Belonging int

// The answers.
const (
	BelongsNot       Belonging = iota // belongs to another cluster, or to none
	Belongs                           // belongs to this cluster
	BelongsAmbiguous                  // tags name several clusters, and no other tag decides
)

// Belonging returns whether the tags show that an instance belongs to the cluster. The order of the
// tags does not matter:
//
//   - The tag that only AWS can write is proof, whatever the others say.
//   - Without it, the other tags that hold a cluster's name must agree on one.
//   - That name outranks kubernetes.io/cluster/ keys if it is among them or there are none. An
//     instance may carry several such keys.
//   - Without any name, there must be exactly one such key.
func (t *TagSet) Belonging(cluster string) Belonging {
	if t.proven != "" {
		return belongs(t.proven == cluster)
	}
	claimed := slices.Contains(t.Claims, cluster)
	switch {
	case len(t.named) == 0 && len(t.Claims) > 1 && claimed:
		return BelongsAmbiguous
	case len(t.named) == 0:
		return belongs(claimed)
	case !slices.Contains(t.named, cluster):
		return BelongsNot
	case len(t.named) > 1, len(t.Claims) > 0 && !claimed:
		return BelongsAmbiguous
	}
	return Belongs
}

func belongs(yes bool) Belonging {
	if yes {
		return Belongs
	}
	return BelongsNot
}
