package sim

import "time"

// The owners that do not act as they should.
const (
	idleRepair = "repair"   // node auto repair of a managed node group
	idleClaim  = "claim"    // Karpenter, which does not finish the deletion of a NodeClaim
	idleHealth = "impaired" // an Auto Scaling group, whose health check replaces nothing
)

// ownerIdle: an owner should repair the machine itself, but does not.
var ownerIdle = faultType{
	kind: FaultOwnerIdle, weight: 2, need: 75 * time.Minute, count: 1,
	values: []string{idleRepair, idleClaim, idleHealth},
	fits: func(g GroupSpec, value string) bool {
		switch value {
		case idleRepair:
			return g.Owner == string(nodeGroup)
		case idleClaim:
			return g.Owner == string(karpenter)
		}
		return actedOnSoon(g)
	},
	shape: groupsOfRepair,
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		ail := oneOf(d.of("ail"), notReady, silent)
		m.unacted, m.g.idle = true, true
		switch f.Value {
		case idleRepair:
			m.g.repair = true
		case idleClaim:
			if m.claim == nil {
				return
			}
			m.deleteClaim()
		case idleHealth:
			ail = impaired
		}
		m.fall(ail, false, false)
		m.c.a.in(time.Hour, func() {
			if m.ail == ail && m.state == running {
				m.arose(f, string(ail)+" for an hour, and its owner does nothing")
			}
		})
	}),
}
