package sim

import (
	"time"
)

// What is deleted, and for how long.
const (
	stuckBoth = "drain" // the NodeClaim and its Node: a pod cannot be evicted
	stuckNode = "node"  // only the Node: Karpenter does not run
	stuckSoon = "soon"  // both, and they are gone before anybody must be notified
)

// stuckNodes: a person deletes a working node, and its finalizer keeps it.
var stuckNodes = faultType{
	kind: FaultStuck, weight: 2, need: 3 * time.Hour, least: 100 * time.Minute, most: 4 * time.Hour, count: 2,
	values: []string{stuckBoth, stuckNode, stuckSoon},
	fits:   fitsKarpenter,
	shape:  []GroupSpec{managedNodes(4), pooledNodes(5)},
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		a := m.c.a
		if m.claim == nil || !m.claim.deleting.IsZero() || !m.node.deleting.IsZero() {
			return
		}
		m.node.deleting, m.deletedBy = m.c.stamp(), &f.ID
		m.node.version = m.c.changed()
		if f.Value != stuckNode {
			m.deleteClaim()
		}
		if f.Value == stuckSoon {
			a.in(d.between(20*time.Minute, 55*time.Minute), func() { m.letGo() })
		}
		a.in(65*time.Minute, func() {
			if m.state == running && m.node != nil && !m.node.deleting.IsZero() {
				m.arose(f, "it was deleted more than an hour ago")
			}
		})
	}),
	relent: eachMember(func(m *machine, f Fault) {
		if m.deletedBy != nil && *m.deletedBy == f.ID {
			m.letGo()
		}
	}),
}

// letGo makes Karpenter terminate the machine.
func (m *machine) letGo() {
	if m.state == running && m.node != nil && !m.node.deleting.IsZero() {
		m.leave("karpenter: it was deleted")
	}
}
