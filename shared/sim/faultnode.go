package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// markLost is the form in which a person removes Karpenter's label of an initialized node, which nobody writes again.
const markLost = "the label of an initialized node is gone"

// taintReturns: an agent's taint returns to a node that works all the time, as Cilium's does by design.
// https://docs.cilium.io/en/stable/installation/taints/
var taintReturns = faultType{
	kind: FaultTaintReturns, weight: 2, need: time.Hour, least: 20 * time.Minute, most: 3 * time.Hour, count: 2,
	values: []string{"node.cilium.io/agent-not-ready:NoSchedule", "readiness.k8s.io/NetworkReady=pending:NoSchedule", "ebs.csi.aws.com/agent-not-ready:NoExecute", markLost},
	fits:   func(g GroupSpec, value string) bool { return value != markLost || g.Owner == karpenter },
	shape:  groupsOfFour,
	strike: eachVictim(func(m *machine, f Fault, _ dice) {
		if m.settledAt.IsZero() || m.c.a.Now().Sub(m.settledAt) < 30*time.Minute {
			return // it was not healthy before, or no check may have seen it so
		}
		if f.Value == markLost {
			m.loseMark(f)
			return
		}
		m.node.taint(parseTaint(f.Value))
		m.arose(f, fmt.Sprintf("%s is back on %s, in order since %s", f.Value, m.node.name, m.settledAt.Format(time.DateTime)))
	}),
	relent: eachMember(func(m *machine, f Fault) {
		for _, n := range []*node{m.node, m.lost} { // including a Node that disappeared and will return
			switch {
			case n == nil || m.settledAt.IsZero():
			case f.Value != markLost:
				n.untaint(parseTaint(f.Value).Key)
			case m.claim != nil && !m.claim.initialized.IsZero():
				n.initialized = true
				n.version = m.c.changed()
			}
		}
	}),
}

func (m *machine) loseMark(f Fault) {
	if m.claim == nil || m.claim.initialized.IsZero() {
		return
	}
	m.node.initialized = false
	m.node.version = m.c.changed()
	m.arose(f, fmt.Sprintf("%s: %s, in order since %s", f.Value, m.node.name, m.settledAt.Format(time.DateTime)))
}

// The ways in which the Node of a machine that was in order is not visible.
const (
	// nodeDeleted: a person deleted it. Its pods and, since the Node owns it, its lease are collected as garbage. Its
	// kubelet runs, but registers, and makes another lease, only when it restarts.
	// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/util/nodelease.go
	nodeDeleted  = "deleted"
	nodeUnlisted = "unlisted" // it exists, and works, but lists omit it
)

// vanishedNode: the list of nodes omits a machine that was in order.
var vanishedNode = faultType{
	kind: FaultVanishedNode, weight: 2, need: 80 * time.Minute, least: 45 * time.Minute, most: 3 * time.Hour, count: 2,
	values: []string{nodeDeleted, nodeUnlisted},
	fits:   fitsOwned,
	shape:  groupsOfFour,
	strike: eachVictim(func(m *machine, f Fault, _ dice) {
		a := m.c.a
		n := m.node
		if n.bare || n.provider != "" || n.name != m.dnsName || m.serving || m.clock != 0 {
			return // its Node does not have its id or its name, or its lease not the time, so without it nothing shows that it works
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
				m.arose(f, "node "+n.name+" is not listed")
			}
		})
	}),
	relent: eachMember(func(m *machine, _ Fault) { m.restore() }),
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
	if m.claim == nil { // its kubelet restarts, and registers anew; Karpenter's could not have been deleted like that
		m.remade++
		m.join()
		return true
	}
	m.node = n
	m.c.addNode(n)
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

func (m *machine) letGo() {
	if m.state == running && m.node != nil && !m.node.deleting.IsZero() {
		m.leave("karpenter: it was deleted")
	}
}

// What happens to the Node of the earlier machine.
const (
	nameRecreated = "recreated" // it was removed, and another Node gets its name
	nameAdopted   = "adopted"   // it remains, and the next machine's kubelet adopts it
)

// nameReused: a machine is terminated, and its replacement gets its private address, from which
// the Node's name is derived. If the old Node still exists, the new kubelet adopts it unchanged: a
// provider ID cannot be changed once set.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/kubelet_node_status.go
var nameReused = faultType{
	kind: FaultNameReused, weight: 1, need: 100 * time.Minute, least: 90 * time.Minute, most: 4 * time.Hour, count: 1,
	values: []string{nameRecreated, nameAdopted},
	fits:   fitsScaled,
	shape:  groupsOfSix,
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		m.bequeaths = &f
		m.fall(oneOf(d.of("ail"), silent, notReady), false, false)
		if f.Value == nameAdopted {
			m.keepsNode = true // the cloud node controller is slow, or down
		}
		if f.Value == nameAdopted || d.of("taken").chance(0.4) {
			m.c.a.in(d.of("ends").between(time.Minute, 40*time.Minute), func() {
				if m.alive() {
					m.end("a person, by hand")
				}
			})
		}
	}),
	relent: eachCluster(func(c *cluster, f Fault, _ dice) {
		ends := func(m *machine) {
			if m != nil && m.bequeaths != nil && m.bequeaths.ID == f.ID {
				m.bequeaths, m.keepsNode = nil, false
				if m.state == terminated {
					m.forgetNode()
				}
			}
		}
		for _, m := range c.machines {
			ends(m)
			m.rename()
		}
		for _, n := range slices.Clone(c.nodes) { // of machines that EC2 no longer shows
			ends(n.machine)
		}
	}),
}

// noProviderID: machines join as nodes with another name and without a provider ID, and work.
var noProviderID = faultType{
	kind: FaultNoProviderID, weight: 1, need: 90 * time.Minute, least: 70 * time.Minute, most: 4 * time.Hour, count: 2,
	fits:  fitsScaled,
	shape: groupsScaled,
	strike: eachGroup(func(g *group, f Fault, _ dice) {
		g.nameless, g.namelessBy = f.Count, &f
		g.grow(f.Count)
	}),
	relent: eachGroup(func(g *group, _ Fault, _ dice) {
		g.nameless = 0
		for _, m := range g.members {
			m.rename()
		}
	}),
}

// inherit gives a new machine the address that an earlier machine left to it, if any.
func (g *group) inherit(m *machine) {
	if len(g.heirs) == 0 {
		return
	}
	old := g.heirs[0]
	g.heirs = g.heirs[1:]
	m.zone, m.address, m.dnsName, m.heirOf = old.zone, old.address, old.dnsName, old
	m.muted = g.c.a.silenced[m.zone]
}

// takesOver reports whether the kubelet adopts a Node of its name. One that nothing keeps is removed.
func (m *machine) takesOver() bool {
	old := m.c.byNode[m.dnsName]
	if old == nil || old.machine == m || m.heirOf == nil {
		if m.heirOf != nil && m.heirOf.bequeaths != nil {
			m.arose(*m.heirOf.bequeaths, "it gets the name "+m.dnsName+" of "+m.heirOf.id)
		}
		return false
	}
	was := old.machine
	if was == nil || !was.keepsNode {
		m.c.removeNode(old)
		return false
	}
	old.provider, was.node = was.providerID(), nil
	old.machine, m.node = m, old
	m.unnamed, m.settledAt = m.c.a.Now(), m.c.a.Now()
	old.bootID = uid(m.d.of("bootid").nth(m.boots))
	old.version = m.c.changed()
	if was.bequeaths != nil {
		m.arose(*was.bequeaths, fmt.Sprintf("it takes over the Node %s, which names %s", old.name, was.id))
	}
	m.report()
	return true
}

// unname returns the name of the machine's Node, and whether the Node gets no provider ID.
func (g *group) unname(m *machine) (name string, bare bool) {
	if g.nameless <= 0 {
		return m.dnsName, false
	}
	g.nameless--
	m.unnamed = g.c.a.Now()
	g.c.a.arose(*g.namelessBy, g.c, m, "its Node carries no provider id")
	return "node-" + shortID(m.d.of("host"), 8), true
}

// rename makes the machine's Node identify its instance.
func (m *machine) rename() {
	if m.unnamed.IsZero() {
		return
	}
	m.unnamed = time.Time{}
	n := cmp.Or(m.node, m.lost) // what has no Node now gets it back under the same name
	if n == nil {
		return
	}
	n.bare, n.named = false, m.c.a.Now()
	if n.provider != "" {
		m.heirOf = nil
		m.c.removeNode(n)
		m.asleep = nil
		m.join()
		return
	}
	n.version = m.c.changed()
}
