package assess

import (
	"fmt"
	"time"

	"rollcall/shared/roll"
)

// freshLease is the maximum age of the lease of a running kubelet. The kubelet renews the lease
// every 10 seconds; the time of a check may be up to a minute ahead.
// https://kubernetes.io/docs/concepts/architecture/nodes/#node-heartbeats
const freshLease = 2 * time.Minute

// vanished finds an instance without a Node that is one according to Karpenter or its own kubelet:
// the Node was deleted while the machine works, or is missing from a listing. It reports whether
// that is the case.
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
