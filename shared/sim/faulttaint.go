package sim

import (
	"fmt"
	"time"
)

// taintReturns: Cilium's operator puts the taint of its agent on the node whenever the
// agent is down, and readiness gates do so by design. The node does its work all the time.
// https://docs.cilium.io/en/stable/installation/taints/
var taintReturns = situation{
	kind: FaultTaintReturns, need: time.Hour, least: 20 * time.Minute, most: 3 * time.Hour, count: 2,
	values: []string{"node.cilium.io/agent-not-ready:NoSchedule", "readiness.k8s.io/NetworkReady=pending:NoSchedule", "ebs.csi.aws.com/agent-not-ready:NoExecute"},
	shape: []GroupSpec{
		{Name: "system", Owner: "managed-nodegroup", Type: "m5.large", Desired: 4}, {Name: "workers", Owner: "autoscaling-group", Type: "c5.xlarge", Desired: 4}, {Name: "default", Owner: "karpenter", Type: "m5.large", Desired: 4},
	},
	strike: func(a *account, f Fault, _ dice) {
		for _, m := range a.victims(f) {
			if m.settledAt.IsZero() {
				continue // it was not in order before
			}
			m.node.taint(parseTaint(f.Value))
			a.arose(f, m.c, m, fmt.Sprintf("%s is back on %s, in order since %s", f.Value, m.node.name, m.settledAt.Format(time.DateTime)))
		}
	},
	relent: func(a *account, f Fault, _ dice) {
		for _, g := range a.targets(f) {
			for _, m := range g.members {
				for _, n := range []*node{m.node, m.lost} { // also of a Node that is away, and comes back
					if n != nil && !m.settledAt.IsZero() {
						n.untaint(parseTaint(f.Value).Key)
					}
				}
			}
		}
	},
}
