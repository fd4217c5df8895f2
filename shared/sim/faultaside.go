package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
)

// How an Auto Scaling group or a person takes instances out of service or protects them.
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

// setAside: an Auto Scaling group has instances not in service, or protected.
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

// warm launches an instance into the group's warm pool, which boots and usually registers, and later puts it into
// service.
func (g *group) warm(f Fault, form string, d dice) {
	a := g.c.a
	m := g.launch(g.zone())
	g.members = slices.DeleteFunc(g.members, func(o *machine) bool { return o == m })
	g.pool = append(g.pool, m)
	m.ail, m.stays = well, false
	g.active(true, "Launching a new EC2 instance into warm pool: "+m.id)
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
		g.active(true, "Launching a new EC2 instance from warm pool: "+m.id)
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

func (g *group) drainPool() {
	for _, m := range slices.Clone(g.pool) {
		m.end(string(g.owner) + ": the warm pool is deleted")
	}
	g.pool = nil
}

// refresh replaces the group's members one by one with a new version, while one of them fails.
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
			old := find(g.members, func(m *machine) bool { return m.template.version < version && m.state == running && m.aside == "" })
			if old != nil && len(g.members) >= g.desired { // the previous replacement is there
				old.leave(string(g.owner) + ": instance refresh")
			}
			next(n + 1)
		})
	}
	next(0)
}

// inPool reports whether the machine is in a warm pool, and so no instance of the group.
func (m *machine) inPool() bool { return strings.HasPrefix(m.aside, warmed) }

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

// The ways in which a machine is stopped and started again.
const (
	stopsAndStarts = "stopped"    // for hours
	stopsShortly   = "shortly"    // for minutes, for example to change its type
	hibernated     = "hibernated" // its memory is kept, and its kubelet continues where it was
	stopsForGood   = "kept"       // until everything is healed
)

// standby is where a person puts an instance before stopping it: else its group replaces it.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-enter-exit-standby.html
const standby = "Standby"

// stoppedMachines: a person stops or hibernates working machines, and starts them again.
var stoppedMachines = faultType{
	kind: FaultStopped, weight: 2, need: 90 * time.Minute, least: time.Hour, most: 4 * time.Hour, count: 2,
	values: []string{stopsAndStarts, stopsShortly, hibernated, stopsForGood},
	shape:  []GroupSpec{{Name: "single", Owner: "none", Type: "m5.large", Desired: 4}, scaledNodes(4), pooledNodes(4)},
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		a := m.c.a
		if m.g.asgName() != "" {
			m.setAside(standby)
		}
		m.stop(f.Value == hibernated)
		m.arose(f, fmt.Sprintf("%s by a person", m.state))
		if m.g.owner == karpenter && d.of("queue").chance(0.3) {
			// Karpenter gets the event through its interruption queue, and treats the machine as gone.
			a.in(d.of("noticed").between(time.Minute, 3*time.Minute), func() {
				if m.state == stopped {
					m.leave("karpenter: it was stopped")
				}
			})
		}
		switch f.Value {
		case stopsForGood:
		case stopsShortly:
			a.in(d.of("back").between(2*time.Minute, 25*time.Minute), m.restart)
		default:
			a.in(f.For-20*time.Minute, m.restart)
		}
	}),
	relent: eachMember(func(m *machine, _ Fault) { m.restart() }),
}

// stop stops the machine. Its Node remains; the cloud node lifecycle controller taints it.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/how-ec2-instance-stop-start-works.html
func (m *machine) stop(hibernates bool) {
	if m.state != running {
		return
	}
	a := m.c.a
	m.state, m.hibernates, m.restedAt = stopping, hibernates, a.Now()
	if hibernates {
		m.asleep = m.node
	}
	m.hush()
	m.booting = false
	m.pressure = time.Time{} // what used its memory does not run when it starts again
	m.boots++                // cancels a boot in progress
	m.touch()
	if e := m.event; e != nil && e.over.IsZero() {
		e.over, e.why = a.Now(), "Completed" // it starts on other hardware, for which the event is not
	}
	a.stateChanged(m)
	by := "a person"
	if m.retired {
		by = "EC2"
	}
	m.tell(EventAilment, "is stopped by "+by)
	m.becomes(stopped, m.d.of("stop").nth(m.boots).between(15*time.Second, 90*time.Second), func() {
		if n := m.node; n != nil {
			n.taint(corev1.Taint{Key: "node.cloudprovider.kubernetes.io/shutdown", Effect: corev1.TaintEffectNoSchedule})
		}
	})
}

const startedAgain = "is started again" // the detail of the event that a stopped machine has booted

// restart starts a stopped machine again, which sets LaunchTime. A hibernated one does not register again.
func (m *machine) restart() {
	if m.state != stopped && m.state != stopping {
		return
	}
	a := m.c.a
	if m.state == stopping { // EC2 starts only stopped instances
		a.in(time.Minute, m.restart)
		return
	}
	m.state, m.started, m.muted, m.retired = pending, a.Now(), a.silenced[m.zone], false
	if m.muted {
		m.mutedAt = a.Now()
	}
	m.touch()
	m.boots++
	m.becomes(running, m.d.of("start").nth(m.boots).between(4*time.Second, 12*time.Second), func() {
		m.booted(m.g.kind.Boots+m.d.of("boots").nth(m.boots).between(20*time.Second, 60*time.Second), func() {
			m.restedAt = time.Time{}
			m.tell(EventAilment, startedAgain)
			m.rejoins()
		})
	})
	if m.g.owner != nobody {
		a.in(m.g.patience(), func() { m.g.watch(m) })
	}
}

// rejoins brings back the kubelet of a machine that was started again.
func (m *machine) rejoins() {
	if n := m.node; n != nil {
		n.untaint("node.cloudprovider.kubernetes.io/shutdown")
		if !m.hibernates {
			n.bootID = uid(m.d.of("bootid").nth(m.boots))
		}
		n.version = m.c.changed()
	}
	if m.aside == standby { // in which a person put it
		m.setAside("")
	}
	slept := m.asleep
	m.hibernates, m.asleep = false, nil
	if slept != nil && m.node == nil {
		// Its kubelet continues without a Node, and registers only when it restarts.
		m.vanished, m.lost, m.reporting = m.c.a.Now(), slept, true
		return
	}
	m.join()
}

// stateReason returns why the machine is stopped, as EC2 shows it, nil if it is not.
func (m *machine) stateReason(state machineState) *types.StateReason {
	switch {
	case state != stopping && state != stopped:
		return nil
	case m.retired:
		return retirement
	case m.hibernates:
		return userHibernate
	}
	return userShutdown
}
