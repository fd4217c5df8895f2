package roll

// Question is what should be read about one instance before its snapshot is
// assessed again. Each part costs a call, so only suspects are asked about.
type Question struct {
	Instance InstanceID
	// UserData: nothing else shows whether it is meant to be a node.
	UserData bool
	// AutoScaling: its state in its Auto Scaling group, and the group's protection
	// of it from scale-in.
	AutoScaling bool
	// NodeClaim: it is Karpenter's; does a NodeClaim have it?
	NodeClaim bool
	// Lease: no Node carries its id; does its kubelet renew a lease?
	Lease bool
	// Group: what its group can do and will do by itself; see GroupDetail.
	Group bool
	// Protection: it might be terminated; is EC2's termination protection on?
	Protection bool
	// Pods names its silent node, whose pods are to be read; see NodePods. "" asks for none.
	Pods string
}
