package sim

import (
	"time"
)

// The ways in which a person stops Rollcall or restricts it to observing or notifying.
const (
	policyDeleted = "deleted" // the parameter is deleted
	policyEmptied = "emptied" // the document is empty
	policyStopped = "stopped" // stop: true is added
	policyObserve = "observe" // its mode is observe, and the cluster's tag says remediate
	policyOlder   = "older"   // an older document with mode notify and fewer settings is restored
	policyNotify  = "notify"  // its mode is notify, and the cluster's tag says remediate
)

// olderPolicy is an earlier document of the parameter.
const olderPolicy = "apiVersion: rollcall/v1\nmode: notify\nlimits: {actionsPerHour: 1}\n"

// stopLine stops every act.
const stopLine = "stop: true"

// killSwitch: machines fail, and about when the first act is due the policy forbids all acts. The
// cluster's tag says remediate, but a tag may only lower the mode.
var killSwitch = faultType{
	kind: FaultKillSwitch, weight: 2, need: 100 * time.Minute, least: 80 * time.Minute, most: 150 * time.Minute, count: 2,
	values: []string{policyDeleted, policyEmptied, policyStopped, policyObserve, policyNotify, policyOlder},
	fits:   fitsActedOnSoon,
	shape:  groupsOfSix,
	strike: func(a *account, f Fault, d dice) {
		ill := a.victims(f)
		for _, m := range ill {
			m.fall(notReady, false, false)
		}
		clusters := a.of(f)
		a.in(d.of("thrown").between(time.Minute, 19*time.Minute), func() {
			if f.Value != policyStopped {
				for _, c := range clusters {
					c.tag("remediate")
				}
			}
			switch f.Value {
			case policyDeleted:
				a.dep.policy = ""
			case policyEmptied:
				a.dep.policy = []string{" ", "\n", "# emptied\n", "{}\n"}[d.of("empty").below(4)]
			case policyStopped:
				a.dep.policy = a.sc.Policy + stopLine + "\n"
			case policyOlder:
				a.dep.policy = olderPolicy
			default:
				a.dep.policy = withMode(a.sc.Policy, f.Value)
			}
		})
		a.in(f.For-time.Minute, func() { // every act came due while it was off
			if m := find(ill, func(m *machine) bool { return m.ail == notReady }); m != nil {
				m.arose(f, "not ready since "+m.since.Format(time.TimeOnly)+", and still nothing may be done")
			}
		})
	},
	relent: func(a *account, f Fault, _ dice) {
		for _, c := range a.of(f) {
			c.tag(c.spec.Mode)
		}
		a.dep.policy = a.sc.Policy
	},
}
