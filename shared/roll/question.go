package roll

// Question lists what to read about one instance before its snapshot is assessed again. Each part
// costs a call, so only suspects have questions.
type Question struct {
	Instance InstanceID
	// Whole: the snapshot has only what a node shows of it.
	Whole bool
	// UserData: nothing else shows whether it should be a node.
	UserData bool
	// AutoScaling: its state in its Auto Scaling group, and whether the group protects it from
	// scale-in.
	AutoScaling bool
	// NodeClaim: it is Karpenter's; whether it has a NodeClaim.
	NodeClaim bool
	// Lease: no Node carries its id; whether its kubelet renews a lease.
	Lease bool
	// Group: what its group can do and does by itself; see GroupDetail.
	Group bool
	// Protection: it might be terminated; whether EC2's termination protection is on.
	Protection bool
	// Pods is the name of its silent node, whose pods to read (see NodePods); "" for none.
	Pods string
}
