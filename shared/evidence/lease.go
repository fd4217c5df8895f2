package evidence

import "time"

const (
	// leaseDuration is how long a kubelet's lease is valid unless it says otherwise. The kubelet
	// renews it four times as often.
	leaseDuration = 40 * time.Second
	// leaseGrace is how long the control plane waits for a renewal before it considers the node
	// silent: --node-monitor-grace-period, 50 s since Kubernetes 1.32 and 40 s before.
	// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
	leaseGrace = 50 * time.Second
)

// Fresh reports whether the lease is valid at that time: the kubelet runs and reaches the API
// server.
// https://kubernetes.io/docs/reference/node/node-status/#heartbeats
func (l Lease) Fresh(at time.Time) bool { return at.Sub(l.Renewed) <= l.Term() }

// Stale reports whether the lease expired so long ago that the control plane considers the node
// silent. A lease may be neither fresh nor stale.
func (l Lease) Stale(at time.Time) bool { return at.Sub(l.Renewed) > l.Term()+leaseGrace }

// Term returns how long a renewal is valid.
func (l Lease) Term() time.Duration {
	if l.Duration > 0 {
		return l.Duration
	}
	return leaseDuration
}
