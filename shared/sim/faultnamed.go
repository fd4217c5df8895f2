package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// FaultNameReused is a machine that gets the address, and therefore the Node name, of an earlier
// one. FaultNoProviderID is a Node that does not identify its instance.
const (
	FaultNameReused   FaultKind = "name-reused"
	FaultNoProviderID FaultKind = "no-provider-id"
)

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

// noProviderID: machines join from an image whose kubelet has another host name and no provider
// ID, and no controller sets it. Their Nodes work.
var noProviderID = faultType{
	kind: FaultNoProviderID, weight: 1, need: 90 * time.Minute, least: 70 * time.Minute, most: 4 * time.Hour, count: 2,
	fits:  func(g GroupSpec, _ string) bool { return g.Owner != string(karpenter) && g.Owner != string(nobody) },
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

// takesOver reports whether the machine's kubelet finds a Node of its name, and adopts that Node
// unchanged. A Node that nothing keeps is removed first.
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

// unname returns the name of the machine's Node. bare reports that the Node gets no provider ID,
// as the group's next Nodes do.
func (g *group) unname(m *machine) (name string, bare bool) {
	if g.nameless <= 0 {
		return m.dnsName, false
	}
	g.nameless--
	m.unnamed = g.c.a.Now()
	g.c.a.arose(*g.namelessBy, g.c, m, "its Node carries no provider id")
	return "node-" + shortID(m.d.of("host"), 8), true
}

// rename makes the machine's Node identify its instance, as when a person deletes the Node and
// restarts the kubelet.
func (m *machine) rename() {
	if m.unnamed.IsZero() {
		return
	}
	m.unnamed = time.Time{}
	n := cmp.Or(m.node, m.lost) // what has no Node now gets it back under the same name
	if n == nil {
		return
	}
	n.bare = false
	if n.provider != "" {
		m.heirOf = nil
		m.c.removeNode(n)
		m.join()
		return
	}
	n.version = m.c.changed()
}
