package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Why Karpenter disrupts a node.
const (
	consolidated = "consolidation" // its pods fit elsewhere: without a replacement
	drifted      = "drift"         // its NodePool changed: once its replacement is Ready
	expired      = "expiration"    // it is too old: at once
)

// disruptedNodes: Karpenter replaces or removes nodes, some unhealthy, about when an act is due or after its order.
// https://karpenter.sh/docs/concepts/disruption/
var disruptedNodes = faultType{
	kind: FaultDisrupted, weight: 2, need: 100 * time.Minute, count: 2,
	values: []string{consolidated, drifted, expired},
	fits:   fitsKarpenter,
	shape:  []GroupSpec{pooledNodes(6), {Name: "arm", Owner: "karpenter", Type: "m6g.large", Desired: 4}},
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		a := m.c.a
		begin := func() { m.disrupt(f, d) }
		switch d.of("when").below(3) {
		case 0:
			begin()
		case 1:
			m.fall(oneOf(d.of("ail"), notReady, silent), false, false)
			a.in(d.of("after").between(10*time.Minute, 60*time.Minute), begin)
		case 2:
			m.fall(oneOf(d.of("ail"), notReady, silent), false, false)
			a.traps = append(a.traps, &trap{f: f, m: m, left: d.of("orders").below(2), waits: d.of("waits").between(10*time.Second, 3*time.Minute), springs: begin})
			a.in(75*time.Minute, begin) // in case there is no order
		}
	}),
}

// disrupt has Karpenter remove the machine in its order: taint, replacement, deletions, drain, termination. Without the
// replacement, the node stays.
func (m *machine) disrupt(f Fault, d dice) {
	a, g, n := m.c.a, m.g, m.node
	if !m.alive() || n == nil || m.claim == nil || !m.claim.deleting.IsZero() || m.disrupting || a.healedNow() {
		return
	}
	m.disrupting = true
	cl := m.claim
	n.taint(corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule})
	m.tell(EventAilment, "karpenter disrupts it: "+f.Value)
	ends := func() {
		if m.claim != cl || !m.alive() || !cl.deleting.IsZero() {
			return
		}
		m.disrupted = a.Now()
		m.deleteClaim()
		n.deleting = m.c.stamp()
		n.version = m.c.changed()
		m.arose(f, f.Value+": Karpenter removes its NodeClaim "+cl.name)
		a.in(d.of("drains").between(20*time.Second, 25*time.Minute), func() {
			if m.alive() {
				g.desired = max(1, g.desired-1)
				m.leave("karpenter: " + f.Value)
			}
		})
	}
	if f.Value == consolidated && len(g.members) > 1 {
		ends()
		return
	}
	g.grow(1)
	if f.Value == expired {
		ends()
		return
	}
	// It waits for the replacement, and gives up after ten minutes.
	since := a.Now()
	a.every(10*time.Second, func() bool {
		switch {
		case g.launchedReady(since):
			ends()
		case a.Now().Sub(since) > 10*time.Minute:
			m.disrupting = false
			n.untaint("karpenter.sh/disrupted")
			g.desired = max(1, g.desired-1)
		default:
			return true
		}
		return false
	})
}

// launchedReady reports whether a machine of the group that was launched since a time is Ready.
func (g *group) launchedReady(since time.Time) bool {
	return slices.ContainsFunc(g.members, func(m *machine) bool {
		return !m.launched.Before(since.Truncate(time.Second)) && m.node != nil && m.node.works
	})
}

// The heartbeats that an upgrade stops.
const (
	frozenAll  = "control-plane" // all heartbeats, for minutes
	frozenEach = "rolling"       // those of one node after the other
	// frozenThird stops those of every third node, and of no zone as a whole. It arises only where a run names it.
	frozenThird = "third"
)

// frozenHeartbeats: an upgrade of the control plane, or of one kubelet after the other, stops heartbeats.
var frozenHeartbeats = faultType{
	kind: FaultFrozen, weight: 2, need: 90 * time.Minute, least: time.Hour, most: 3 * time.Hour,
	values: []string{frozenAll, frozenEach},
	shape:  groupsOfSix,
	strike: eachCluster(func(c *cluster, f Fault, d dice) {
		switch f.Value {
		case frozenAll:
			c.freeze(f, d)
		case frozenThird:
			for i, m := range c.machines {
				if i%3 == 0 && m.freeze(f.For-time.Minute) {
					m.arose(f, "its kubelet is upgraded with those of others")
				}
			}
		default:
			c.freezeEach(f, d)
		}
	}),
	relent: eachCluster(func(c *cluster, f Fault, _ dice) {
		if f.Value == frozenAll && c.status == "UPDATING" {
			c.status = "ACTIVE"
		}
	}),
}

// freeze stops all heartbeats of the cluster for a while, in which it may be updated.
func (c *cluster) freeze(f Fault, d dice) {
	updates := d.of("updates").chance(0.5)
	if updates && c.status == "ACTIVE" {
		c.status = "UPDATING"
	}
	long := min(d.of("long").between(50*time.Second, 40*time.Minute), f.For-time.Minute)
	n := count(c.machines, func(m *machine) bool { return m.freeze(long) })
	c.a.in(long, func() {
		if updates && c.status == "UPDATING" {
			c.status = "ACTIVE"
		}
	})
	c.a.arose(f, c, nil, fmt.Sprintf("%d machines are not heard for %s", n, long.Round(time.Second)))
}

// freezeEach stops the heartbeats of one machine after the other.
func (c *cluster) freezeEach(f Fault, d dice) {
	at := time.Duration(0)
	for i, m := range c.machines {
		long := d.of("each").nth(i).between(time.Minute, 12*time.Minute)
		if at+long > f.For-time.Minute {
			break
		}
		c.a.in(at, func() {
			if m.freeze(long) {
				m.arose(f, "its kubelet is upgraded for "+long.Round(time.Second).String())
			}
		})
		at += d.of("next").nth(i).between(long/2, long+2*time.Minute)
	}
}

// freeze stops the heartbeats of a working machine for a while, and reports whether it did.
func (m *machine) freeze(long time.Duration) bool {
	a := m.c.a
	if m.state != running || m.ail != well || m.muted || m.node == nil || m.elsewhere != "" || a.healedNow() {
		return false
	}
	m.mute(true)
	m.frozen = a.Now()
	since := m.frozen
	a.in(long, func() {
		if m.frozen.Equal(since) {
			m.frozen = time.Time{}
			if !a.silenced[m.zone] {
				m.mute(false)
			}
		}
	})
	return true
}
