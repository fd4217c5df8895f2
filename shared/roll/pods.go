package roll

// NodePods is what is known of the pods and disks of a node that an act may end or drain. Those of a silent node may still run.
type NodePods struct {
	// Read: the node and its pods were read. It is No if they cannot be read, as in a bundle
	// without the file; the same holds for the other two.
	Read Answer
	// Later: a check reads the pods of a limited number of silent nodes, and this node was not
	// among them. Another check reads it.
	Later bool
	// Pods are those that the end of the instance would lose: no DaemonSet pods, no static pods and
	// no finished ones.
	Pods []Pod
	// Attached are the volumes that the control plane shows as attached to the instance, such as
	// vol-0123456789abcdef0.
	Attached []string

	BudgetsRead Answer
	Budgets     []Budget // PodDisruptionBudgets of these pods

	VolumesRead  Answer
	LocalVolumes []LocalVolume // on the node's own disks
}

// Pod is a pod of a silent node.
type Pod struct {
	Name         string // namespace/name
	NotToDisrupt string // the annotation that forbids its disruption, "" if none
	// Waits: it is stuck, in Terminating long after its grace period (the control plane deletes the pods
	// of a silent node after five minutes), and its replacement cannot start before the instance is
	// gone: it is of a StatefulSet, or has a volume that is attached here.
	Waits bool
	// Replaced: it is stuck, and the replacements of all stuck pods of its owner run on other
	// nodes.
	Replaced bool
}

// Budget is a PodDisruptionBudget that covers pods of a silent node.
type Budget struct {
	Name string // namespace/name
	// Healthy and Desired are the current and required numbers of healthy pods, from its status.
	// They are Unknown if the status is outdated, or the control plane could not count.
	Healthy, Desired int
	Unknown          bool
	// AlwaysAllow reports whether pods that are not Ready may be evicted whatever the numbers.
	AlwaysAllow bool
	// Pods are the node's pods that it covers, without those that wait for the end of the instance.
	// Ready is how many of them count as healthy.
	Pods  []string
	Ready int
}

// Violated reports whether too few healthy pods would remain without those of the node.
func (b Budget) Violated() bool { return b.Unknown || b.Healthy-b.Ready < b.Desired }

// LocalVolume is a PersistentVolume whose data can be read on one node only.
type LocalVolume struct {
	Name  string
	Claim string // namespace/name of the claim that it is or was bound to
}
