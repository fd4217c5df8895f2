package roll

// Question lists what to read about one instance before its snapshot is assessed again. Each part
// costs a call, so only suspects have questions.
type Question struct {
	Instance InstanceID
	// Whole: everything about the instance; the snapshot has only what its node shows.
	Whole bool
	// UserData: its user data, if nothing else shows whether it should be a node.
	UserData bool
	// AutoScaling: its state in its Auto Scaling group, and whether the group protects it from
	// scale-in.
	AutoScaling bool
	// NodeClaim: whether Karpenter's instance has a NodeClaim.
	NodeClaim bool
	// Lease: whether its kubelet renews a lease, if no Node carries its id.
	Lease bool
	// Group: what its group can do, and does itself; see GroupDetail.
	Group bool
	// Protection: whether EC2's termination protection is on, if it might be terminated.
	Protection bool
	// Waiting: whether pods of the cluster wait for a node, see Snapshot.PodsWait.
	Waiting bool
	// Pods is the name of its node, whose pods and disks to read (see NodePods); "" for none. Deleted: that Node was
	// deleted, so that only its volumes are left.
	Pods    string
	Deleted bool
}
