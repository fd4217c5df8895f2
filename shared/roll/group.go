package roll

import "strings"

// Owner is who launched an instance and would replace it.
type Owner string

// The owners, in the order in which they are checked.
const (
	OwnerAutoMode         Owner = "auto-mode"
	OwnerKarpenter        Owner = "karpenter"
	OwnerManagedNodeGroup Owner = "managed-nodegroup"
	OwnerAutoScalingGroup Owner = "autoscaling-group"
	OwnerClusterAPI       Owner = "cluster-api"
	OwnerNone             Owner = "none"
)

// Owners returns all owners, in the order in which they are checked.
func Owners() []Owner {
	return []Owner{OwnerAutoMode, OwnerKarpenter, OwnerManagedNodeGroup, OwnerAutoScalingGroup, OwnerClusterAPI, OwnerNone}
}

// Group is a set of similar instances with one owner: nodepool/<name>, nodegroup/<name>, asg/<name>
// or none. Notices and limits are per group.
type Group string

// GroupNone is the group of an instance without an owner.
const GroupNone Group = "none"

// NodePoolGroup returns the group of a Karpenter or Auto Mode node pool.
func NodePoolGroup(name string) Group { return Group("nodepool/" + name) }

// NodeGroupGroup returns the group of an EKS managed node group.
func NodeGroupGroup(name string) Group { return Group("nodegroup/" + name) }

// NodePool returns the name of the node pool; false if the group is not a node pool.
func (g Group) NodePool() (string, bool) { return strings.CutPrefix(string(g), "nodepool/") }

// NodeGroup returns the name of the managed node group; false if the group is not one.
func (g Group) NodeGroup() (string, bool) { return strings.CutPrefix(string(g), "nodegroup/") }

// AutoScalingGroup returns the name of the self-managed Auto Scaling group; false if the group is not one.
func (g Group) AutoScalingGroup() (string, bool) { return strings.CutPrefix(string(g), "asg/") }

// AutoScalingGroup returns the group of a self-managed Auto Scaling group.
func AutoScalingGroup(name string) Group { return Group("asg/" + name) }

// Origin is the source of an instance, which shows its purpose: its Auto Scaling group
// (asg/<name>), or its launch template and version (lt-...:3).
type Origin string

// Origins returns the known origins of the instance.
func (i *Instance) Origins() (out []Origin) {
	if i.ASG != "" {
		out = append(out, Origin(AutoScalingGroup(i.ASG)))
	}
	if i.LaunchTemplate != "" {
		out = append(out, Origin(i.LaunchTemplate))
	}
	return out
}
