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

// decisions counts the decisions of a run by their situations.
type decisions struct {
	of map[Situation]int
	// faults are those that befall a group now, the latest last; see [decisions.key].
	faults map[string][]Fault
}

func newDecisions() *decisions {
	return &decisions{of: map[Situation]int{}, faults: map[string][]Fault{}}
}

func (*decisions) key(cluster, group string) string { return cluster + " " + group }

// begins notes a fault, and over that it is.
func (t *decisions) begins(f Fault) {
	k := t.key(f.Cluster, f.Group)
	t.faults[k] = append(t.faults[k], f)
}

func (t *decisions) over(f Fault) {
	k := t.key(f.Cluster, f.Group)
	for i, o := range t.faults[k] {
		if o.ID == f.ID {
			t.faults[k] = append(t.faults[k][:i:i], t.faults[k][i+1:]...)
			return
		}
	}
}

// latest is the fault that befell a group last.
func (t *decisions) latest(cluster, group string) (kind FaultKind) {
	var at time.Duration
	for _, k := range []string{t.key(cluster, group), t.key(cluster, ""), t.key("", "")} {
		for _, f := range t.faults[k] {
			if kind == "" || f.At >= at {
				kind, at = f.Kind, f.At
			}
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
	s.Fault = a.decisions.latest(e.Cluster, group)
	a.decisions.of[s]++
}
