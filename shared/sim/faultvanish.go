package sim

import "time"

// The ways in which the Node of a working machine is not visible.
const (
	nodeDeleted  = "deleted"  // it is deleted, and its kubelet continues to renew its lease
	nodeUnlisted = "unlisted" // it exists, but lists omit it
)

// vanishedNode: a machine works, but the list of nodes omits it.
var vanishedNode = faultType{
	kind: FaultVanishedNode, weight: 2, need: 80 * time.Minute, least: 45 * time.Minute, most: 3 * time.Hour, count: 2,
	values: []string{nodeDeleted, nodeUnlisted},
	fits:   fitsOwned,
	shape:  groupsOfFour,
	strike: eachVictim(func(m *machine, f Fault, _ dice) {
		a := m.c.a
		n := m.node
		if n.bare || n.provider != "" || n.name != m.dnsName || m.serving {
			return // its Node does not have its id or its name, so without it nothing shows that it works
		}
		m.vanished = a.Now()
		if f.Value == nodeUnlisted {
			n.unlisted = true
		} else {
			m.c.removeNode(n)
			m.lost = n
		}
		n.version = m.c.changed()
		a.in(8*time.Minute, func() {
			if !m.vanished.IsZero() && m.reporting && m.state == running {
				m.arose(f, "node "+n.name+" is not listed, and its lease is renewed")
			}
		})
	}),
	relent: eachMember(func(m *machine, _ Fault) { m.restore() }),
}

// leased returns the nodes that may have a lease: a kubelet renews or recreates it, whether its
// Node exists or not.
func (c *cluster) leased() []*node {
	out := c.nodes
	for _, m := range c.machines {
		if m.lost != nil && m.reporting {
			out = append(out[:len(out):len(out)], m.lost)
		}
	}
	return out
}

// restore recreates a deleted Node, and reports whether there was one.
func (m *machine) restore() bool {
	if m.vanished.IsZero() {
		return false
	}
	m.vanished = time.Time{}
	n := m.lost
	if n == nil {
		if n = m.node; n != nil {
			n.unlisted = false
			n.version = m.c.changed()
		}
		return n != nil
	}
	m.lost, n.unlisted = nil, false
	if m.state != running || !m.c.exists() || m.node != nil {
		return false
	}
	m.node = n
	m.c.nodes = append(m.c.nodes, n)
	m.c.byNode[n.name] = n
	n.version = m.c.changed()
	m.report()
	return true
}

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
