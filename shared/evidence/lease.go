package evidence

import "time"

const (
	// leaseDuration is how long a kubelet's lease is good for unless it says otherwise;
	// it is renewed four times as often.
	leaseDuration = 40 * time.Second
	// leaseGrace is how long the control plane waits for a renewal before it takes the
	// node for silent: --node-monitor-grace-period, 50 s since Kubernetes 1.32 and 40 s
	// before.
	// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
	leaseGrace = 50 * time.Second
)

// Fresh reports that the lease is good at that time: the kubelet lives and reaches the
// API server.
// https://kubernetes.io/docs/reference/node/node-status/#heartbeats
func (l Lease) Fresh(at time.Time) bool { return at.Sub(l.Renewed) <= l.Term() }

// Stale reports that the lease ran out, and so long ago that the control plane has taken
// the node for silent. A lease may be neither fresh nor stale.
func (l Lease) Stale(at time.Time) bool { return at.Sub(l.Renewed) > l.Term()+leaseGrace }

// Term is how long a renewal is good for.
func (l Lease) Term() time.Duration {
	if l.Duration > 0 {
		return l.Duration
	}
	return leaseDuration
}
