package roll

import "time"

// NodePods is what is known of a node whose kubelet is silent: for all anybody knows its
// pods still run.
type NodePods struct {
	// Read: the node and its pods were read. No when nobody can be asked, as by a bundle
	// without the file; the same holds for the other two.
	Read Answer
	// Later: more silent nodes were suspects than one check reads, so this one's pods were
	// not. Another check reads them.
	Later bool
	// NotToDisrupt is the annotation by which somebody keeps the node itself, "" if none.
	NotToDisrupt string
	// Pods are those that end with the instance and would not only come back: none of
	// DaemonSets, no static and no finished ones.
	Pods []Pod
	// Attached are the volumes that the control plane believes attached to the instance,
	// such as vol-0123456789abcdef0.
	Attached []string

	BudgetsRead Answer
	Budgets     []Budget // PodDisruptionBudgets of these pods

	VolumesRead  Answer
	LocalVolumes []LocalVolume // on the node's own disks
}

// Pod is a pod of a silent node.
type Pod struct {
	Name         string // namespace/name
	NotToDisrupt string // the annotation by which its owner keeps it, "" if none
	// Stuck is when its grace period ended, of a pod that somebody deletes and that is in
	// Terminating for a while since; zero of all others. The control plane deletes the pods
	// of a silent node after five minutes.
	Stuck time.Time
	// Waits: it is stuck, and what takes its place cannot start before the instance is gone:
	// one of a StatefulSet, or with a volume that is attached here.
	Waits bool
	// Replaced: it is stuck, and what takes its place, and that of all others of its owner
	// that are stuck, runs on other nodes.
	Replaced bool
}

// Budget is a PodDisruptionBudget that pods of a silent node count for.
type Budget struct {
	Name string // namespace/name
	// Healthy is how many pods count as healthy and Desired how many must, by its status;
	// Unknown when the status is not up to date, or the control plane could not count.
	Healthy, Desired int
	Unknown          bool
	// Pods of the node are covered by it, but for those that wait for the end of the
	// instance. Ready is how many of them count among the healthy.
	Pods  []string
	Ready int
}

// Violated reports whether too few healthy pods would be left without those of the node.
func (b Budget) Violated() bool { return b.Unknown || b.Healthy-b.Ready < b.Desired }

// LocalVolume is a PersistentVolume with data that can be read on one node only.
type LocalVolume struct {
	Name  string
	Claim string // namespace/name of the claim that it is, or was, bound to
}
