package assess

import (
	"time"

	"rollcall/shared/roll"
)

// Count is a population and how many of it are past their tolerance.
type Count struct {
	// Nodes counts nodes, and instances that are past the tolerance of a finding
	// without being a node.
	Nodes int
	// Overdue counts members with at least one finding past its tolerance: each once, and
	// instances that would have one if their Auto Scaling group could be asked about them.
	// Flapping and Scheduled do not count, since such a node does its work, nor do Ghost and
	// Conflict, whose instances EC2 says are no more: a limit on how many may be
	// replaced has nothing to do with them.
	Overdue int
}

// ZoneCount counts the nodes of an availability zone, without those that are silent since their
// instances were stopped.
type ZoneCount struct {
	Nodes  int
	Ready  int
	Silent int // those that are not Ready, whatever their status, and had their time to start
	// First and Last are when the first and the last of Silent left Ready.
	First, Last time.Time
}

// Population is what a group is made of. It is told for people; no verdict rests on it.
type Population struct {
	Owner roll.Owner
	// Nodes and Ready count as those of the Assessment do.
	Nodes, Ready int
	// Deadline is how long an instance of the group may take to register. Where the policy
	// gives its instances different times, it is the longest.
	Deadline time.Duration
	// Took is how long the latest nodes took to register, in seconds, the shortest first:
	// what Registration sums up.
	Took []int
}

// zoneTally is the count of one zone while members are still being counted. There are
// a handful, so they are looked for one by one.
type zoneTally struct {
	name string
	ZoneCount
}

// countsAsOverdue reports the kinds that limits on shares count.
func countsAsOverdue(k roll.Kind) bool {
	switch k {
	case roll.Ghost, roll.Conflict, roll.Flapping, roll.Scheduled, roll.Unlaunched, roll.Stuck:
		return false
	}
	return true
}

// countNode counts a node on an instance that EC2 does not say is gone.
func (a *assessor) countNode(m roll.Member) *groupTally {
	ready := m.Node.Ready.Status == roll.ConditionTrue
	a.out.Nodes++
	if ready {
		a.out.Ready++
	}
	if zone := m.Zone(); zone != "" && (ready || !m.Off()) {
		z := a.zone(zone)
		z.Nodes++
		switch {
		case ready:
			z.Ready++
		case !a.starting(m):
			z.Silent++
			left := a.past(m.Node.Ready.Since, m.Node.Created)
			if z.Silent == 1 || left.Before(z.First) {
				z.First = left
			}
			if left.After(z.Last) {
				z.Last = left
			}
		}
	}
	g := a.group(m.Group())
	a.join(g)
	g.people(m, ready, a.Policy(m.Selector()).Registration.Deadline)
	return g
}

// people counts a node among those of its group.
func (g *groupTally) people(m roll.Member, ready bool, deadline time.Duration) {
	p := &g.population
	p.Owner = m.Owner()
	p.Nodes++
	if ready {
		p.Ready++
	}
	p.Deadline = max(p.Deadline, deadline)
}

// starting reports a node that was never ready and has time left for it: a zone in
// which many nodes start at once is not down.
func (a *assessor) starting(m roll.Member) bool {
	n := m.Node
	return n.Ready.Status != roll.ConditionTrue && !n.Ready.Since.After(n.Created.Add(neverReady)) &&
		a.Now.Before(n.Created.Add(a.Policy(m.Selector()).Initialization.Deadline))
}

func (a *assessor) zone(name string) *ZoneCount {
	for i := range a.zones {
		if a.zones[i].name == name {
			return &a.zones[i].ZoneCount
		}
	}
	a.zones = append(a.zones, zoneTally{name: name})
	return &a.zones[len(a.zones)-1].ZoneCount
}

// join counts the member at hand as one of the population.
func (a *assessor) join(g *groupTally) {
	a.joined = true
	a.total.Nodes++
	g.count.Nodes++
}

// overdueIn counts one more of the population as past its tolerance.
func (a *assessor) overdueIn(g *groupTally) {
	a.total.Overdue++
	g.count.Overdue++
}

// countOverdue counts the member of an overdue finding, once.
func (a *assessor) countOverdue(f roll.Finding) {
	if a.late || !f.Instance.IsInstance() || !countsAsOverdue(f.Kind) {
		return
	}
	g := a.group(f.Group)
	if !a.joined {
		a.join(g)
	}
	a.late = true
	a.overdueIn(g)
}

// countUnsaid counts an instance without a node that would be overdue, but that nobody can
// tell whether its Auto Scaling group lets it rest. It is not found to be sick for that; but
// what could not be read must not make room for another act.
func (a *assessor) countUnsaid(m roll.Member, due time.Time) {
	id := m.Instance.ID
	_, rested := a.State.Rests[id]
	if rested || a.late || a.Now.Before(due) || a.Snapshot.Details[id].LifecycleRead != roll.Unreadable {
		return
	}
	g := a.group(m.Group())
	if !a.joined {
		a.join(g)
	}
	a.late = true
	a.overdueIn(g)
}

// counts hands the counts out.
func (a *assessor) counts() {
	if a.total.Nodes > 0 {
		a.out.Count[""] = a.total
	}
	for name, g := range a.groups {
		a.out.Count[name] = g.count
	}
	a.out.Zones = make(map[string]ZoneCount, len(a.zones))
	for _, z := range a.zones {
		a.out.Zones[z.name] = z.ZoneCount
	}
	if a.Snapshot.Target != "" {
		return
	}
	a.out.Populations = make(map[roll.Group]Population, len(a.groups))
	for name, g := range a.groups {
		if g.population.Nodes > 0 {
			a.out.Populations[name] = g.population
		}
	}
}
