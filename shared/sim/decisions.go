package sim

import "time"

// Situation is what Rollcall decided about a kind of finding in a group that a fault had
// befallen. How many distinct ones the runs had says more about what they tried than how
// many node-hours they took.
type Situation struct {
	// Fault is the latest fault of the group, its cluster or the account that is not over; ""
	// if there is none.
	Fault FaultKind `json:"fault,omitempty"`
	// Finding is its kind.
	Finding string `json:"finding"`
	// Decision is the action that was ordered, or the reason why one was held.
	Decision string `json:"decision"`
}

// latestFault is the fault that last befell the group, its cluster or the account, and is not over.
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
