package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The ways in which an Auto Scaling group or a person takes instances out of service or protects
// them.
const (
	asideStandby   = "standby"           // a person puts them into Standby to work on them
	asideWarm      = "warm"              // a warm pool of stopped instances
	asideWarmRun   = "warm-running"      // a warm pool of running instances that are not nodes
	asideHibernate = "warm-hibernated"   // a warm pool of hibernated instances
	asideProtected = "scale-in-protects" // they are protected from scale-in, and fail
	asideRefresh   = "instance-refresh"  // an instance refresh replaces them one by one
)

// warmed is the prefix of a warm pool's lifecycle states.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/warm-pool-instance-lifecycle.html
const warmed = "Warmed:"

// setAside: an Auto Scaling group has instances that are not in service, or must not be
// terminated.
var setAside = faultType{
	kind: FaultSetAside, weight: 2, need: 100 * time.Minute, least: 80 * time.Minute, most: 4 * time.Hour, count: 2,
	values: []string{asideStandby, asideWarm, asideWarmRun, asideHibernate, asideProtected, asideRefresh},
	fits:   fitsActedOnSoon,
	shape:  []GroupSpec{managedNodes(5), scaledNodes(6)},
	strike: func(a *account, f Fault, d dice) {
		switch f.Value {
		case asideStandby:
			for i, m := range a.victims(f) {
				m.setAside(standby)
				ail := oneOf(d.nth(i).of("work"), silent, notReady, well)
				a.in(d.nth(i).of("begins").between(0, 5*time.Minute), func() {
					if m.aside == standby {
						m.fall(ail, false, false)
					}
				})
				m.arose(f, "a person works on it in Standby")
			}
		case asideProtected:
			for i, m := range a.victims(f) {
				m.shielded = a.Now()
				m.fall(oneOf(d.nth(i).of("ail"), silent, notReady), false, false)
				m.arose(f, string(m.ail)+", and protected from scale-in")
			}
		case asideRefresh:
			for _, g := range a.targets(f) {
				g.refresh(f, d)
			}
		default:
			for _, g := range a.targets(f) {
				for i := range f.Count {
					g.warm(f, f.Value, d.nth(i))
				}
			}
		}
	},
	relent: eachGroup(func(g *group, _ Fault, _ dice) {
		g.drainPool()
		for _, m := range slices.Clone(g.members) {
			if m.aside == standby && m.state == running {
				m.setAside("")
				m.cure()
			}
			m.shielded = time.Time{}
		}
	}),
}

// setAside sets the machine's lifecycle state in its group; "" puts it into service.
func (m *machine) setAside(state string) {
	m.aside = state
	if state != "" {
		m.asideSince = m.c.a.Now()
		return
	}
	m.leftRest = m.c.a.Now()
}

// warm launches an instance into the group's warm pool. It boots like any other. Usually its user
// data runs, so it registers; then it is stopped. Later it is put into service.
func (g *group) warm(f Fault, form string, d dice) {
	a := g.c.a
	m := g.launch(g.zone())
	g.members = slices.DeleteFunc(g.members, func(o *machine) bool { return o == m })
	g.pool = append(g.pool, m)
	m.ail, m.stays = well, false
	m.setAside(warmed + "Pending")
	if form == asideWarmRun || d.of("waits").chance(0.4) {
		m.dormant = "its user data sees that it is in a warm pool"
	}
	a.in(d.of("warms").between(3*time.Minute, 6*time.Minute), func() {
		if m.state != running {
			return
		}
		switch form {
		case asideWarmRun:
			m.setAside(warmed + "Running")
		case asideHibernate:
			m.stop(true)
			m.setAside(warmed + "Hibernated")
		default:
			m.stop(false)
			m.setAside(warmed + "Stopped")
		}
		a.arose(f, g.c, m, "in "+m.aside)
	})
	a.in(d.of("taken").between(45*time.Minute, max(f.For-10*time.Minute, 50*time.Minute)), func() {
		if !slices.Contains(g.pool, m) || !m.alive() && m.state != stopped || a.healedNow() {
			return
		}
		g.pool = slices.DeleteFunc(slices.Clone(g.pool), func(o *machine) bool { return o == m })
		g.members = append(g.members, m)
		g.desired++
		m.setAside("")
		m.dormant = ""
		m.tell(EventAilment, "its group takes it from the warm pool")
		if m.state == stopped {
			m.drawn = a.Now()
			m.restart()
		} else {
			m.join()
		}
		a.in(g.patience(), func() { g.watch(m) })
	})
}

// drainPool terminates the remaining instances of the group's warm pool.
func (g *group) drainPool() {
	for _, m := range slices.Clone(g.pool) {
		m.end(string(g.owner) + ": the warm pool is deleted")
	}
	g.pool = nil
}

// refresh replaces the group's members one by one with a new version. One of them fails in the
// meantime.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/instance-refresh-overview.html
func (g *group) refresh(f Fault, d dice) {
	a := g.c.a
	if g.spare != nil || g.template.breaks != well {
		return // no rollout starts beside a broken version
	}
	g.template.version++
	version := g.template.version
	one := f.one()
	one.Group = g.name
	for _, m := range a.victims(one) {
		m.fall(notReady, false, false)
	}
	a.arose(f, g.c, nil, fmt.Sprintf("%s is refreshed to version %d", g.name, version))
	var next func(n int)
	next = func(n int) {
		if a.healedNow() || g.template.version != version || n > 60 {
			return
		}
		a.in(d.of("next").nth(n).between(4*time.Minute, 9*time.Minute), func() {
			if len(g.members) >= g.desired { // the previous replacement is there
				for _, m := range g.members {
					if m.template.version < version && m.state == running && m.aside == "" {
						m.leave(string(g.owner) + ": instance refresh")
						break
					}
				}
			}
			next(n + 1)
		})
	}
	next(0)
}

// inPool reports whether the machine is in a warm pool, and therefore not one of the group's
// instances.
func (m *machine) inPool() bool { return strings.HasPrefix(m.aside, warmed) }

// inStandby returns how many of the group's instances are in Standby, which the desired capacity
// leaves out.
func (g *group) inStandby() int {
	return count(g.members, func(m *machine) bool { return m.aside == standby })
}

// setAtEase puts the machine back into service.
func (m *machine) setAtEase() {
	if m.aside != "" {
		m.setAside("")
	}
	m.shielded = time.Time{}
	m.restart()
}

// resting reports whether the machine is not required to be a node now, or was not until recently.
func (m *machine) resting(now time.Time) bool {
	return m.aside != "" || !m.leftRest.IsZero() && now.Sub(m.leftRest) < 40*time.Minute
}
