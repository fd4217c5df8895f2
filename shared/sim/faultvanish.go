package sim

import (
	"time"
)

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
