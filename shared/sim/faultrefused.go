package sim

import "time"

// What Karpenter does not register.
const (
	refusedNode  = "a node without its taint"
	refusedEmpty = "nothing"
)

// refused: machines of a new template version never join, or join as nodes that Karpenter does not
// register. Karpenter terminates each after 15 minutes and launches another, so a later check
// finds nothing.
var refused = faultType{
	kind: FaultRefused, weight: 2, need: 100 * time.Minute, least: time.Hour, most: 4 * time.Hour,
	values: []string{refusedNode, refusedEmpty},
	fits:   fitsKarpenter,
	shape:  []GroupSpec{managedNodes(4), pooledNodes(4)},
	strike: func(a *account, f Fault, _ dice) {
		for _, g := range a.targets(f) {
			if g.owner != karpenter {
				continue
			}
			g.breakBy(FaultTemplate)
			if f.Value == refusedNode {
				g.template.refused, g.template.breaks, g.template.userData, g.template.console = true, neverReady, g.spare.userData, ""
			}
			g.rotate(1)
			a.in(10*time.Minute, func() {
				if m := find(g.members, func(m *machine) bool { return m.stays && m.claim != nil && m.claim.registered.IsZero() }); m != nil {
					m.arose(f, "it is not registered, and Karpenter ends it soon")
				}
			})
		}
	},
	relent: eachGroup(func(g *group, _ Fault, _ dice) {
		if g.owner == karpenter {
			g.mend()
		}
	}),
}
