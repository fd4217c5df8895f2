package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// diesYoung: new machines of a group work for some minutes and then stop being Ready. For example,
// an agent in the image or a pod on each new node stops the container runtime. One existing
// machine fails first, so that there is something to replace.
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

// cured reports whether a machine that was launched after the first replacement has been Ready for
// an hour: the end of another fault healed the group.
func (g *group) cured(now time.Time) bool {
	return slices.ContainsFunc(g.members, func(m *machine) bool {
		if m.ail != well || m.node == nil || !m.launched.After(g.youngSince) {
			return false
		}
		ready := m.node.ready()
		return ready.Status == corev1.ConditionTrue && now.Sub(ready.LastTransitionTime.Time) >= time.Hour
	})
}
