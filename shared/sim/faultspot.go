package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/lambdas/trigger"
)

// The ways in which EC2 takes back a Spot Instance, besides the usual warning.
const (
	spotRebalance = "rebalance" // EC2 recommends to replace it before, and may not take it at all
	spotRaced     = "raced"     // it is ill, and the warning comes about when an act is due
)

// drawSpot makes the fault's group one of Spot Instances from the start.
func drawSpot(f *Fault, w drawing) {
	drawSome(f, w)
	f.Value = oneOf(w.d.of("form"), "", "", spotRebalance, spotRaced)
	for _, c := range w.s.Clusters {
		if c.Name == w.c.Name {
			c.Groups[slices.IndexFunc(c.Groups, func(g GroupSpec) bool { return g.Name == f.Group })].Spot = true
		}
	}
}

// reclaim makes EC2 take back a Spot Instance in the fault's form.
func (m *machine) reclaim(f Fault, d dice) {
	a := m.c.a
	warn := func() { a.takesBack(m, f) }
	switch f.Value {
	case spotRaced:
		m.fall(oneOf(d.of("ail"), notReady, silent), false, false)
		a.traps = append(a.traps, &trap{f: f, m: m, left: d.of("orders").below(2), waits: d.of("waits").between(10*time.Second, 2*time.Minute), springs: warn})
		a.in(75*time.Minute, warn) // in case there is no order
	case spotRebalance:
		m.announce(trigger.SpotRebalanceDetailType, "")
		m.arose(f, "EC2 recommends to replace it")
		if m.g.owner == nodeGroup { // whose Auto Scaling group has capacity rebalancing
			m.rebalance(f, d)
		}
		if d.of("taken").chance(0.5) {
			a.in(d.of("warns").between(time.Minute, 15*time.Minute), warn)
		}
	default:
		warn()
	}
}

// takesBack reclaims a Spot Instance after EC2's interruption warning.
func (a *account) takesBack(m *machine, f Fault) {
	if m.state != running || m.warned || a.healedNow() {
		return
	}
	m.warned = true
	m.announce(trigger.SpotInterruptionDetailType, `,"instance-action":"terminate"`)
	a.in(m.d.of("notices").between(2*time.Second, 20*time.Second), func() { m.moved(f) })
	a.in(spotWarning, func() {
		if m.taken = m.state == running; m.taken {
			m.arose(f, "EC2 takes it, two minutes after its warning")
		}
		m.end("EC2: spot interruption")
	})
}

func (m *machine) announce(detailType, said string) {
	a, d := m.c.a, m.d.of("announced").of(detailType)
	a.arrives(ec2Event(uid(d.of("event")), detailType, m.zone, m.id, said, a.Now()), d.between(0, ruled), d)
}

// moved does what the owner does at the warning: Karpenter, if it has a queue, deletes the NodeClaim and launches
// another, and EKS drains a node of a managed node group. Nobody acts for other Auto Scaling groups.
// https://karpenter.sh/docs/concepts/disruption/#interruption
// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
func (m *machine) moved(f Fault) {
	a, g, n, d := m.c.a, m.g, m.node, m.d.of("moves")
	if m.state != running || n == nil {
		return
	}
	switch {
	case g.owner == nodeGroup:
		m.drains(f)
	case g.owner == karpenter && m.claim != nil && m.claim.deleting.IsZero() && d.of("queue").chance(0.8):
		m.disrupted, m.relieved = a.Now(), true
		m.deleteClaim()
		n.taint(corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule})
		n.deleting = m.c.stamp()
		n.version = m.c.changed()
		g.reconcile()
		m.arose(f, "Karpenter removes its NodeClaim "+m.claim.name)
		a.in(d.of("drains").between(15*time.Second, 3*time.Minute), func() {
			if m.alive() {
				m.leave("karpenter: spot interruption")
			}
		})
	}
}

// rebalance makes an Auto Scaling group launch another machine and then drain this one, or give up.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-capacity-rebalancing.html
func (m *machine) rebalance(f Fault, d dice) {
	a, g, since := m.c.a, m.g, m.c.a.Now()
	m.relieved = true
	g.reconcile()
	a.every(10*time.Second, func() bool {
		switch {
		case m.state != running || m.warned || a.healedNow():
		case g.launchedReady(since):
			m.drains(f)
			a.in(d.of("drains").between(30*time.Second, 6*time.Minute), func() {
				if m.alive() {
					m.leave(string(g.owner) + ": capacity rebalancing")
				}
			})
		case a.Now().Sub(since) > 20*time.Minute:
			m.relieved = false
		default:
			return true
		}
		return false
	})
}

func (m *machine) drains(f Fault) {
	n := m.node
	if n == nil {
		return
	}
	m.relieved = true
	m.g.reconcile()
	n.cordoned, n.sealed = true, m.c.a.Now()
	n.version = m.c.changed()
	m.arose(f, fmt.Sprintf("EKS drains %s", n.name))
}
