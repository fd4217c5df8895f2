package assess

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// returns returns the times within roll.FlapWindow at which the node became Ready again, or left Ready once more,
// as checks saw it, in order. It records them for the ledger.
func (a *assessor) returns(n *roll.Node) []time.Time {
	came := a.lately(n.Ready.Since) && (n.Ready.Status == roll.ConditionTrue || a.leftAgain(n))
	var recent []time.Time
	known := a.State.Flips[n.Instance]
	for _, t := range known {
		if a.lately(t) && t.After(n.Created) {
			recent = append(recent, t.UTC())
		}
	}
	switch {
	case came && a.cameAgain(n, recent):
		recent = append(recent, n.Ready.Since.UTC())
		a.out.Flips[n.Instance] = slices.Clone(recent)
	case len(recent) > 0:
		a.out.Flips[n.Instance] = known
	}
	return recent
}

// leftAgain reports whether a node that an earlier check saw not Ready was Ready since, for too short a time for any check
// to see it. A container runtime that hangs for minutes and answers for seconds makes a node do so.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/pleg/generic.go
func (a *assessor) leftAgain(n *roll.Node) bool {
	known, ok := a.State.NotReady[n.Instance]
	return ok && wasReady(n) && known.Transition.Before(n.Ready.Since)
}

// lately reports whether a time is within the window in which returns count.
func (a *assessor) lately(t time.Time) bool {
	return !t.After(a.Now) && a.Now.Sub(t) < roll.FlapWindow
}

// cameAgain reports whether a node's last transition is a new return. The first one in a
// node's life is not. For a young node, a return also needs an earlier return in the ledger, or an
// absence that did not begin with the node.
func (a *assessor) cameAgain(n *roll.Node, recent []time.Time) bool {
	if len(recent) > 0 {
		return n.Ready.Since.After(recent[len(recent)-1])
	}
	if n.Ready.Since.Sub(n.Created) > roll.FlapWindow {
		return true
	}
	was := a.State.NotReady[n.Instance]
	return was.Since.After(n.Created.Add(neverReady)) && n.Ready.Since.After(was.Since)
}

// flapping finds a node that lost Ready and came back too often. The finding ends when fewer
// returns remain within the window.
func (a *assessor) flapping(m roll.Member, returns []time.Time) {
	if len(returns) < roll.FlapCount {
		return
	}
	n := m.Node
	created := a.firstKnown(n.Created, time.Time{})
	since := returns[0]
	if known, ok := a.State.Findings[roll.FindingKey{Instance: n.Instance, Kind: roll.Flapping}]; ok && known.Began.Equal(created) {
		since = known.Since.UTC()
	}
	f := a.finding(m, roll.Flapping, since, since)
	f.Began = created
	f.Summary = fmt.Sprintf("node %s left Ready and came back %d times within an hour, since %s", n.Name, len(returns), roll.Clock(since))
	a.next(returns[len(returns)-roll.FlapCount].Add(roll.FlapWindow))
	a.add(f, m)
}

// keepFlapping keeps the finding about a flapping node that is not Ready now. Otherwise it would
// end and begin with every change.
func (a *assessor) keepFlapping(n *roll.Node, returns []time.Time) {
	if len(returns) >= roll.FlapCount {
		a.keepOne(roll.FindingKey{Instance: n.Instance, Kind: roll.Flapping})
		a.next(returns[len(returns)-roll.FlapCount].Add(roll.FlapWindow))
	}
}
