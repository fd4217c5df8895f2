package assess

import (
	"fmt"
	"time"

	"rollcall/shared/roll"
)

// freshLease is how old the lease of a living kubelet is at most. It renews it every 10
// seconds; a check is of the minute for which it was asked, which may be up to a minute
// ahead.
// https://kubernetes.io/docs/concepts/architecture/nodes/#node-heartbeats
const freshLease = 2 * time.Minute

// vanished finds an instance without a Node of which something else says that it is one:
// Karpenter, or its own kubelet. Either the Node was deleted while the machine works, or a
// listing lacks it; which of them, nobody can tell from here. It reports whether it is so.
func (a *assessor) vanished(m roll.Member, since time.Time) bool {
	d := a.Snapshot.Details[m.ID()]
	var says string
	switch c := d.NodeClaim; {
	case c != nil && c.DeletedAt.IsZero() && c.Initialized.Status == roll.ConditionTrue:
		says = fmt.Sprintf("its NodeClaim %s is initialized", c.Name)
	case a.Now.Sub(d.LeaseRenewed) < freshLease:
		says = fmt.Sprintf("its kubelet renewed the lease %s at %s", d.LeaseOf, roll.Clock(d.LeaseRenewed))
	default:
		return false
	}
	tolerance, ok := a.tolerance(m, roll.Conflict)
	if !ok {
		return true
	}
	f := a.finding(m, roll.Conflict, since, since.Add(tolerance))
	f.Summary = fmt.Sprintf("no node carries the id of instance %s, and %s", m.ID(), says)
	a.add(f, m)
	return true
}

// knownToWork reports that an earlier check knew that the instance had a Node.
func (a *assessor) knownToWork(f roll.Finding) bool {
	known, ok := a.State.Findings[f.Key()]
	return ok && known.Worked && !known.Since.After(f.Since)
}
