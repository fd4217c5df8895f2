package assess

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// returns are the times within the last roll.FlapWindow at which a node came back to
// Ready, oldest first, as far as checks saw them; what this one saw is among them, and
// remembered.
func (a *assessor) returns(n *roll.Node) []time.Time {
	came := n.Ready.Status == roll.ConditionTrue && a.lately(n.Ready.Since)
	if !came && len(a.State.Flips) == 0 {
		return nil
	}
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

// lately reports times within the window in which returns count.
func (a *assessor) lately(t time.Time) bool {
	return !t.After(a.Now) && a.Now.Sub(t) < roll.FlapWindow
}

// cameAgain reports whether a node's last transition to Ready is a return that is not
// counted yet. The first one in a node's life is none; for a young node it takes a
// memory of an earlier one, or of an absence that did not begin with the node, to tell.
func (a *assessor) cameAgain(n *roll.Node, recent []time.Time) bool {
	if len(recent) > 0 {
		return n.Ready.Since.After(recent[len(recent)-1])
	}
	if n.Ready.Since.Sub(n.Created) > roll.FlapWindow {
		return true
	}
	was, ok := a.State.NotReady[n.Instance]
	return ok && was.Since.After(n.Created.Add(neverReady)) && n.Ready.Since.After(was.Since)
}

// flapping finds a Ready node that left and came back too often. It ends when fewer
// returns are left within the window.
func (a *assessor) flapping(m roll.Member, returns []time.Time) {
	if len(returns) < roll.FlapCount {
		return
	}
	n := m.Node
	created := a.past(n.Created, time.Time{})
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

// keepFlapping keeps what is known of a node that flaps and happens to be away now: it
// would end and begin with every turn.
func (a *assessor) keepFlapping(n *roll.Node, returns []time.Time) {
	if len(returns) >= roll.FlapCount {
		a.keepOne(roll.FindingKey{Instance: n.Instance, Kind: roll.Flapping})
		a.next(returns[len(returns)-roll.FlapCount].Add(roll.FlapWindow))
	}
}
