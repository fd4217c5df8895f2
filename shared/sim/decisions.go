package sim

import "time"

// Situation is a decision of Rollcall about a kind of finding in a group that a fault affected.
// The number of distinct situations says more about test coverage than node-hours do.
type Situation struct {
	// Fault is the latest unfinished fault of the group, its cluster or the account; "" if there
	// is none.
	Fault FaultKind `json:"fault,omitempty"`
	// Finding is the kind of the finding.
	Finding string `json:"finding"`
	// Decision is the action that was ordered, or the reason why one was held.
	Decision string `json:"decision"`
}

// latestFault returns the latest unfinished fault of the group, its cluster or the account.
func (a *account) latestFault(cluster, group string) (kind FaultKind) {
	var latest time.Duration
	for _, f := range a.sc.Faults {
		lasts := f.At <= a.now && (f.For == 0 || a.now < f.At+f.For)
		here := (f.Cluster == "" || f.Cluster == cluster) && (f.Group == "" || f.Group == group)
		if lasts && here && f.At >= latest {
			kind, latest = f.Kind, f.At
		}
	}
	return kind
}

// decided counts an event that is a decision about a finding.
func (a *account) decided(e Event) {
	s := Situation{Finding: e.Finding}
	switch e.Kind {
	case EventOrder:
		s.Decision = e.Action
	case EventHeld:
		s.Decision = e.Reason
	default:
		return
	}
	group := ""
	if c := a.byName[e.Cluster]; c != nil {
		if g := c.groupNamed(e.Group); g != nil {
			group = g.name
		}
	}
	s.Fault = a.latestFault(e.Cluster, group)
	a.decisions[s]++
}
