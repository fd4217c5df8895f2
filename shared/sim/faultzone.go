package sim

import (
	"fmt"
	"strings"
	"time"
)

// What goes silent in a small cluster.
const (
	allOfZone  = "zone"  // all nodes of a zone, which are few
	pairOfFew  = "pair"  // two of a group of three
	bareMetal  = "metal" // a bare metal machine, which boots for 20 minutes or longer
	metalTypes = ".metal"
)

// smallZone: too few machines go silent for their share to be significant.
var smallZone = faultType{
	kind: FaultSmallZone, weight: 2, need: 90 * time.Minute, least: time.Hour, most: 3 * time.Hour,
	values: []string{allOfZone, pairOfFew, bareMetal},
	fits: func(g GroupSpec, value string) bool {
		switch value {
		case bareMetal:
			return strings.HasSuffix(g.Type, metalTypes) && actedOnSoon(g)
		case pairOfFew:
			return fitsUnrepaired(g, value)
		}
		return true
	},
	shape: []GroupSpec{scaledNodes(3), {Name: "metal", Owner: "autoscaling-group", Type: "m5.metal", Desired: 3}},
	strike: func(a *account, f Fault, d dice) {
		switch f.Value {
		case allOfZone:
			zone := oneOf(d.of("zone"), zones...)
			for _, c := range a.of(f) {
				out := c.nodesIn(zone)
				a.cutOff(out, f.For-time.Second)
				if len(out) > 1 {
					a.arose(f, c, nil, fmt.Sprintf("all %d machines in %s are silent", len(out), zone))
				}
			}
		case pairOfFew:
			pair := f
			pair.Count = 2
			for _, g := range a.targets(f) {
				switch d.of("replaced").below(3) { // by nothing that works, for the duration of the fault
				case 0:
					g.fail(f, oneOf(d.of("message"), launchFailures...))
				case 1:
					g.unlucky, g.ill = 1, neverJoins
				}
			}
			for _, m := range a.victims(pair) {
				m.fall(silent, false, false)
				m.arose(f, "silent with another of its group")
			}
		case bareMetal:
			for _, m := range a.victims(f.one()) {
				m.fall(silent, false, true)
				if strings.HasSuffix(m.g.kind.Type, metalTypes) {
					m.arose(f, "it boots for "+(m.g.kind.Boots*11/10).String())
				}
			}
		}
	},
	relent: eachGroup(func(g *group, f Fault, _ dice) {
		g.failed(f)
		g.reconcile()
	}),
}

// trap waits for an order about a machine, and then cuts the network.
type trap struct {
	f        Fault
	m        *machine
	any      bool          // an order about any machine of its group will do, which m then is
	left     int           // orders that pass before
	waits    time.Duration // how long the order then waits in its queue
	over     time.Duration // when the network is back, after the trap springs
	zone     string        // that loses its network; "" is all
	disarmed bool
	lifts    bool   // it waits for the order that lifts the cordon, and for no other
	springs  func() // replaces the network outage, if not nil
}

// The network outages between an order and its act.
const (
	zoneBetween  = "zone"
	wholeBetween = "network"
)

// outageBetween: an order was right when it was given, and waits. Then the network fails.
var outageBetween = faultType{
	kind: FaultOutageBetween, weight: 2, need: 90 * time.Minute, least: 80 * time.Minute, most: 2 * time.Hour, count: 1,
	values: []string{zoneBetween, wholeBetween},
	fits:   fitsActedOnSoon,
	shape:  []GroupSpec{managedNodes(6), scaledNodes(9)},
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		t := &trap{f: f, m: m, left: d.of("orders").below(2), waits: d.of("waits").between(75*time.Second, 4*time.Minute), over: d.of("over").between(20*time.Minute, 40*time.Minute)}
		if f.Value == zoneBetween {
			t.zone = m.zone
		}
		m.fall(silent, false, d.of("reboots").chance(0.3))
		m.c.a.traps = append(m.c.a.traps, t)
	}),
	relent: func(a *account, f Fault, _ dice) { a.disarm(f) },
}

func (a *account) disarm(f Fault) {
	for _, t := range a.traps {
		t.disarmed = t.disarmed || t.f.ID == f.ID
	}
}

// sprung checks an order that is being sent, and springs the trap that waits for it.
func (a *account) sprung(body string) {
	o, err := readOrder(body)
	if err != nil {
		return
	}
	m := a.machines[o.Instance]
	if m == nil {
		return
	}
	for _, t := range a.traps {
		if t.disarmed || m != t.m && (!t.any || m.g != t.m.g) || t.lifts != (o.Action == string(actUncordon)) {
			continue
		}
		if t.left > 0 {
			t.left--
			continue
		}
		t.disarmed, t.m = true, m
		a.dep.orders.heldUntil = a.Now().Add(t.waits)
		if t.springs != nil {
			t.springs()
			return
		}
		out := t.m.c.nodesIn(t.zone)
		a.cutOff(out, t.over)
		a.arose(t.f, t.m.c, t.m, fmt.Sprintf("%d machines fall silent between the order to %s and the act", len(out), o.Action))
	}
}
