package sim

import (
	"fmt"
	"time"
)

// markLost is the form in which no taint returns: a person removes the label with which Karpenter
// marks an initialized node. Karpenter does not write it again.
const markLost = "the label of an initialized node is gone"

// taintReturns: Cilium's operator taints the node whenever its agent is down, and readiness gates
// do so by design. The node works all the time.
// https://docs.cilium.io/en/stable/installation/taints/
var taintReturns = faultType{
	kind: FaultTaintReturns, weight: 2, need: time.Hour, least: 20 * time.Minute, most: 3 * time.Hour, count: 2,
	values: []string{"node.cilium.io/agent-not-ready:NoSchedule", "readiness.k8s.io/NetworkReady=pending:NoSchedule", "ebs.csi.aws.com/agent-not-ready:NoExecute", markLost},
	fits:   func(g GroupSpec, value string) bool { return value != markLost || g.Owner == string(karpenter) },
	shape:  groupsOfFour,
	strike: eachVictim(func(m *machine, f Fault, _ dice) {
		if m.settledAt.IsZero() || m.c.a.Now().Sub(m.settledAt) < 30*time.Minute {
			return // it was not healthy before, or no check may have seen it so
		}
		if f.Value == markLost {
			m.loseMark(f)
			return
		}
		m.node.taint(parseTaint(f.Value))
		m.arose(f, fmt.Sprintf("%s is back on %s, in order since %s", f.Value, m.node.name, m.settledAt.Format(time.DateTime)))
	}),
	relent: eachMember(func(m *machine, f Fault) {
		for _, n := range []*node{m.node, m.lost} { // including a Node that disappeared and will return
			switch {
			case n == nil || m.settledAt.IsZero():
			case f.Value == markLost:
				n.giveMark(m)
			default:
				n.untaint(parseTaint(f.Value).Key)
			}
		}
	}),
}

// loseMark removes Karpenter's label from the node of a Karpenter machine.
func (m *machine) loseMark(f Fault) {
	if m.claim == nil || m.claim.initialized.IsZero() {
		return
	}
	delete(m.node.labels, "karpenter.sh/initialized")
	m.node.version = m.c.changed()
	m.arose(f, fmt.Sprintf("%s: %s, in order since %s", f.Value, m.node.name, m.settledAt.Format(time.DateTime)))
}

// giveMark restores it.
func (n *node) giveMark(m *machine) {
	if m.claim != nil && !m.claim.initialized.IsZero() {
		n.labels["karpenter.sh/initialized"] = "true"
		n.version = m.c.changed()
	}
}
