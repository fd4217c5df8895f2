package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// How a machine recovers in between.
const (
	relapseRebooted = "rebooted" // a reboot cures it for less than an hour
	relapseAlone    = "alone"    // it recovers by itself
)

// relapses: a machine fails again after each reboot, or after it recovered by itself.
var relapses = faultType{
	kind: FaultRelapse, weight: 2, need: 4 * time.Hour, least: 4 * time.Hour, most: 7 * time.Hour, count: 1,
	values: []string{relapseRebooted, relapseAlone},
	fits:   fitsActedOnSoon,
	shape:  groupsOfSix,
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		m.relapse, m.relapseDice = &f, d
		m.fall(silent, false, true)
		m.remits()
	}),
	relent: eachMember(func(m *machine, f Fault) {
		if m.relapse != nil && m.relapse.ID == f.ID {
			m.relapse = nil
			m.cure()
		}
	}),
}

// remits makes a machine that recovers by itself do so after a while, and fail again.
func (m *machine) remits() {
	if m.relapse == nil || m.relapse.Value != relapseAlone {
		return
	}
	a, f := m.c.a, m.relapse
	a.in(m.relapseDice.of("remits").nth(m.silence).between(4*time.Minute, 40*time.Minute), func() {
		if m.relapse == f && m.state == running && m.ail == silent {
			m.cure()
			m.relapses()
		}
	})
}

// relapses makes a recovered machine fail again.
func (m *machine) relapses() {
	if m.relapse == nil {
		return
	}
	a, f := m.c.a, m.relapse
	a.in(m.relapseDice.of("relapses").nth(m.silence).between(8*time.Minute, 50*time.Minute), func() {
		if m.relapse == f && m.state == running && m.ail == well && !a.healedNow() {
			m.fall(silent, false, true)
			if m.ail == silent {
				m.arose(*f, "silent again")
			}
			m.remits()
		}
	})
}

// processes are the processes of an Auto Scaling group that can be suspended.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-suspend-resume-processes.html
var processes = []string{"Launch", "Terminate", "AddToLoadBalancer", "AlarmNotification", "AZRebalance", "HealthCheck", "InstanceRefresh", "ReplaceUnhealthy", "ScheduledActions"}

// suspendedProcess: a process of an Auto Scaling group is suspended, and one of its machines fails or is terminated.
var suspendedProcess = faultType{
	kind: FaultSuspended, weight: 1, need: 4 * time.Hour, least: 4 * time.Hour, most: 6 * time.Hour,
	values: processes,
	fits:   fitsActedOnSoon,
	shape:  groupsOfSix,
	strike: eachGroup(func(g *group, f Fault, d dice) {
		if g.asgName() == "" || len(g.halted) > 0 {
			return
		}
		g.halted, g.troubled = []string{f.Value}, g.c.a.Now()
		one := f.one()
		one.Group = g.name
		for _, m := range g.c.a.victims(one) {
			m.fall(oneOf(d.of("ail"), notReady, silent), false, false)
			m.awaited = !g.halts()
			m.arose(f, f.Value+" of "+g.groupName()+" is suspended")
		}
		if g.misses() && d.of("loses").chance(0.5) {
			g.c.a.in(d.of("lost").between(5*time.Minute, time.Hour), func() {
				m := find(g.members, func(m *machine) bool { return m.state == running && m.ail == well && m.node != nil && !m.kept() })
				if m != nil && g.halt(f.Value) && !g.c.a.healedNow() {
					m.end("a person, by hand")
					m.arose(f, "it is terminated, and not replaced while "+f.Value+" is suspended")
				}
			})
		}
	}),
	relent: eachGroup(func(g *group, f Fault, _ dice) {
		if len(g.halted) == 1 && g.halted[0] == f.Value {
			g.halted, g.troubled = nil, time.Time{}
			g.reconcile()
		}
	}),
}

// diesYoung: new machines of a group work for some minutes and then stop being Ready. An existing one fails first, so
// that there is something to replace.
var diesYoung = faultType{
	kind: FaultDiesYoung, weight: 2, need: 4 * time.Hour, least: 4 * time.Hour, most: 8 * time.Hour,
	fits:  fitsUnrepaired,
	shape: []GroupSpec{managedNodes(8), scaledNodes(8)},
	strike: func(a *account, f Fault, d dice) {
		for _, g := range a.targets(f) {
			g.youth = d.of("youth").between(4*time.Minute, 20*time.Minute)
		}
		for _, m := range a.victims(f.one()) {
			m.young = true
			m.fall(notReady, false, false)
			m.arose(f, "what replaces it is ill minutes after it registers")
		}
	},
	relent: eachGroup(func(g *group, _ Fault, _ dice) {
		g.youth, g.diedYoung = 0, 0
	}),
}

// ages makes a machine that has become ready fail, if its group's machines do.
func (m *machine) ages() {
	if m.g.youth == 0 {
		return
	}
	m.c.a.in(m.g.youth, func() {
		if m.g.youth > 0 {
			m.young = true
			m.fall(notReady, false, false)
		}
	})
}

// cured reports whether a machine newer than the first replacement has been Ready for an hour.
func (g *group) cured(now time.Time) bool {
	return slices.ContainsFunc(g.members, func(m *machine) bool {
		if m.ail != well || m.node == nil || !latest(m.launched, m.drawn).After(g.youngSince) {
			return false
		}
		ready := m.node.ready()
		return ready.Status == corev1.ConditionTrue && now.Sub(ready.LastTransitionTime.Time) >= time.Hour
	})
}
