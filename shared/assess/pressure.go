package assess

import (
	"cmp"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// pressureMemory is how long an ended pressure of a Ready node is remembered.
const pressureMemory = time.Hour

// pressures records the pressure conditions of a node while its kubelet reports them. They may be
// why the node goes silent, but the control plane then overwrites them with Unknown.
// https://kubernetes.io/docs/reference/node/node-status/#condition
func (a *assessor) pressures(n *roll.Node) {
	known, had := a.State.Pressures[n.Instance]
	ready := n.Ready.Status == roll.ConditionTrue
	if !ready && n.Ready.Status != roll.ConditionFalse {
		if had {
			a.out.Pressures[n.Instance] = known
		}
		return
	}
	now := a.pressed(n)
	switch {
	case len(now.Types) > 0:
		a.out.Pressures[n.Instance] = now
	case !had:
	case known.Until.IsZero():
		known.Until = a.Now
		a.out.Pressures[n.Instance] = known
	case !ready || a.Now.Sub(known.Until) < pressureMemory:
		a.out.Pressures[n.Instance] = known
	}
}

// pressedAgain is by how much the times of one pressure may differ, since a clock that runs ahead
// counts as now. The kubelet keeps a pressure for 5 minutes, so the next one never begins sooner.
const pressedAgain = 5 * time.Minute

// pressGroup records a node's pressure for its group. That record outlives the node, and shows
// whether the next node has the same pressure.
func (a *assessor) pressGroup(m roll.Member, g *groupTally) {
	if !a.whole || m.Group() == roll.GroupNone {
		return
	}
	for _, c := range m.Node.Conditions {
		p := ledger.GroupPressure{Instance: m.Node.Instance, Node: m.Node.Name, Type: c.Type, Since: a.firstKnown(c.Since, m.Node.Created)}
		known := slices.ContainsFunc(g.memory.Pressed, func(k ledger.GroupPressure) bool {
			return k.Instance == p.Instance && k.Type == p.Type && p.Since.Sub(k.Since).Abs() < pressedAgain
		})
		if pressure(c) && !known && a.Now.Sub(p.Since) < ledger.PressureMemory {
			g.pressed = append(g.pressed, p)
		}
	}
}

// pressedOf returns the group's latest pressures.
func (a *assessor) pressedOf(g *groupTally) []ledger.GroupPressure {
	all := slices.Concat(g.memory.Pressed, g.pressed)
	if len(g.pressed) == 0 {
		return all
	}
	all = slices.DeleteFunc(all, func(p ledger.GroupPressure) bool { return a.Now.Sub(p.Since) >= ledger.PressureMemory })
	slices.SortStableFunc(all, func(x, y ledger.GroupPressure) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Instance, y.Instance), cmp.Compare(x.Type, y.Type))
	})
	return all[max(0, len(all)-ledger.PressuresKept):]
}

func pressure(c roll.TypedCondition) bool {
	return c.Status == roll.ConditionTrue && (c.Type == roll.MemoryPressure || c.Type == roll.DiskPressure || c.Type == roll.PIDPressure)
}

func (a *assessor) pressed(n *roll.Node) ledger.Pressure {
	var p ledger.Pressure
	for _, c := range n.Conditions {
		if !pressure(c) {
			continue
		}
		p.Types = append(p.Types, c.Type)
		p.Since = roll.Earlier(p.Since, a.firstKnown(c.Since, n.Created))
	}
	slices.Sort(p.Types)
	return p
}
