package assess

import (
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// pressureMemory is how long a pressure that ended is remembered of a Ready node.
const pressureMemory = time.Hour

// pressures has the ledger remember what a node runs short of while its kubelet tells:
// when the node goes silent the control plane overwrites the conditions with Unknown,
// and they may be why.
// https://kubernetes.io/docs/reference/node/node-status/#condition
func (a *assessor) pressures(n *roll.Node) {
	if len(n.Conditions) == 0 && len(a.State.Pressures) == 0 {
		return
	}
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

// pressed is what a node says that it runs short of.
func (a *assessor) pressed(n *roll.Node) ledger.Pressure {
	var p ledger.Pressure
	for _, c := range n.Conditions {
		if c.Status != roll.ConditionTrue {
			continue
		}
		switch c.Type {
		case roll.MemoryPressure, roll.DiskPressure, roll.PIDPressure:
			p.Types = append(p.Types, c.Type)
			if since := a.past(c.Since, n.Created); p.Since.IsZero() || since.Before(p.Since) {
				p.Since = since
			}
		}
	}
	slices.Sort(p.Types)
	return p
}
