package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// out reports whether the network of a zone of the cluster, or of most of the cluster, has been down
// since before a time. It counts all nodes there, or most of them, by the true state of each machine.
// The string says which part is down. A node that was not ready before the outage does not count: if two
// fail one after the other, the zone is not certainly the cause.
func (c *cluster) out(zone string, before time.Time) (string, bool) {
	if !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.machine != nil && n.machine.muted }) {
		return "", false // the usual case, at little cost
	}
	count := func(of func(*machine) bool) (nodes, muted int) {
		for _, n := range c.nodes {
			m := n.machine
			if m == nil || m.state != running || !of(m) {
				continue
			}
			nodes++
			if r := n.ready(); m.muted && m.mutedAt.Before(before) && r.Status != corev1.ConditionTrue && r.LastTransitionTime.Time.Before(before) && !r.LastTransitionTime.Time.Before(m.mutedAt) {
				muted++
			}
		}
		return nodes, muted
	}
	if nodes, muted := count(func(m *machine) bool { return m.zone == zone }); muted >= 2 && muted == nodes || muted >= 3 && muted*100 >= 60*nodes {
		return fmt.Sprintf("%d of %d nodes in %s have no network", muted, nodes, zone), true
	}
	if nodes, muted := count(func(*machine) bool { return true }); muted >= 3 && muted*2 > nodes {
		return fmt.Sprintf("%d of %d nodes of %s have no network", muted, nodes, c.name), true
	}
	return "", false
}
