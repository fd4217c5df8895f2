package sim

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// How the size of a group changes within minutes, as it does every day in many accounts.
const (
	tideEvening   = "evening"    // most of its machines go, and come back after hours
	tideBurst     = "burst"      // three times as many for a while
	tideBatch     = "batch"      // again and again some machines more for less than an hour, often from none
	tideBlueGreen = "blue-green" // another group takes its work over, and it is empty
	tideMovedPods = "moved-pods" // Karpenter launches for the pods of nodes that are not Ready, before anyone acts on these
	tideScaleDown = "scale-down" // Cluster Autoscaler drains one machine after the other and removes it, or gives up
)

// tides: a group grows and shrinks by many machines at once.
var tides = faultType{
	kind: FaultTides, weight: 4, need: 150 * time.Minute, least: 2 * time.Hour, most: 8 * time.Hour, count: 3,
	values: []string{tideEvening, tideBurst, tideBatch, tideBlueGreen, tideScaleDown, tideMovedPods},
	fits: func(g GroupSpec, value string) bool {
		switch value {
		case tideScaleDown:
			return fitsScaled(g, value)
		case tideMovedPods:
			return fitsKarpenter(g, value)
		}
		return fitsOwned(g, value)
	},
	shape: []GroupSpec{managedNodes(6), scaledNodes(10), pooledNodes(6)},
	strike: eachGroup(func(g *group, f Fault, d dice) {
		if g.owner == nobody || g.tide != 0 {
			return
		}
		a := g.c.a
		switch f.Value {
		case tideEvening:
			g.swell(1 - g.desired)
		case tideBurst:
			g.swell(2 * g.desired)
		case tideBatch:
			if d.of("empty").chance(0.5) {
				g.swell(-g.desired)
			}
			for at, n := time.Duration(0), 0; at < f.For-time.Hour; n++ {
				more, d := 3*f.Count, d.nth(n)
				a.in(at, func() { g.grow(more) })
				a.in(at+d.of("lasts").between(8*time.Minute, 50*time.Minute), func() { g.grow(-min(more, g.desired)) })
				at += d.of("next").between(30*time.Minute, 80*time.Minute)
			}
		case tideBlueGreen:
			green := find(g.c.groups, func(other *group) bool { return other != g && other.owner != nobody && other.beside == "" })
			if green == nil {
				return
			}
			green.grow(g.desired)
			a.in(d.of("after").between(time.Minute, 20*time.Minute), func() { g.grow(-g.desired) })
		case tideScaleDown:
			g.scaleDown(f, d)
		case tideMovedPods:
			g.moves = true
			for i, m := range a.victims(f) {
				d := d.of("away").nth(i)
				a.in(d.between(0, f.For/2), func() { m.fall(oneOf(d.of("ail"), silent, notReady), false, false) })
			}
			for at := time.Duration(0); at < f.For; at += time.Minute {
				a.in(at, g.reconcile)
			}
		}
		a.arose(f, g.c, nil, g.name+" has "+strconv.Itoa(len(g.members))+" machines, and should have "+strconv.Itoa(g.desired))
	}),
	relent: eachGroup(func(g *group, _ Fault, _ dice) {
		g.grow(-g.tide)
		g.tide, g.moves = 0, false
	}),
}

// swell changes the size of the group until the fault ends.
func (g *group) swell(by int) {
	g.tide += by
	g.grow(by)
}

// scaleDown removes machines as Cluster Autoscaler does: unneeded ones, and those that are unready for a while.
func (g *group) scaleDown(f Fault, d dice) {
	a, at := g.c.a, time.Duration(0)
	for i, m := range a.victims(f) {
		d := d.of("unready").nth(i)
		m.fall(oneOf(d.of("ail"), silent, notReady), false, false)
		a.in(d.of("after").between(5*time.Minute, 45*time.Minute), func() { m.scaledDown(d) })
	}
	for n := range 3 * f.Count {
		d := d.nth(n)
		at += d.of("next").between(10*time.Second, 12*time.Minute)
		if at > f.For-15*time.Minute {
			return
		}
		a.in(at, func() {
			if len(g.members) > 1 {
				oneOf(d.of("which"), g.members...).scaledDown(d)
			}
		})
	}
}

const scaleDownTaint = "ToBeDeletedByClusterAutoscaler"

// scaledDown has Cluster Autoscaler taint the node and terminate the instance, or give up if its pods do not go.
func (m *machine) scaledDown(d dice) {
	a, g, n := m.c.a, m.g, m.node
	if !m.alive() || n == nil || m.kept() || !m.disrupted.IsZero() || a.healedNow() {
		return
	}
	m.disrupted = a.Now()
	n.taint(corev1.Taint{Key: scaleDownTaint, Value: strconv.FormatInt(a.Now().Unix(), 10), Effect: corev1.TaintEffectNoSchedule})
	gone := !d.of("gives up").chance(0.15)
	a.in(d.of("drains").between(15*time.Second, 10*time.Minute), func() {
		m.disrupted = time.Time{}
		switch {
		case !m.alive():
		case gone:
			g.tide, g.desired = g.tide-1, max(0, g.desired-1)
			m.leave("cluster-autoscaler: scale-in")
		default:
			n.untaint(scaleDownTaint)
		}
	})
}
