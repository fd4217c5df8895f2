package assess

import (
	"slices"
	"time"

	"rollcall/shared/roll"
)

// Count is the size of a population, and how many of it are past their tolerance.
type Count struct {
	// Nodes counts nodes, and instances without a node that are past the tolerance of a finding.
	Nodes int
	// Overdue counts members with a finding past its tolerance, each once. It includes instances
	// that would have one if their state in their Auto Scaling group were readable. See
	// [CountsAsOverdue] for kinds that do not count.
	Overdue int
}

// ZoneCount counts the nodes of an availability zone, without silent nodes on stopped
// instances.
type ZoneCount struct {
	Nodes  int
	Ready  int
	Silent int // nodes that are not Ready, with any status, and whose time to start is over
	// First and Last are when the first and the last of the Silent nodes left Ready.
	First, Last time.Time
}

// Population describes a group for reports; no verdict depends on it.
type Population struct {
	Owner roll.Owner
	// Nodes and Ready count its nodes on existing instances, and how many of them are Ready.
	Nodes, Ready int
	// Deadline is the longest registration deadline that the policy gives an instance of the group.
	Deadline time.Duration
	// Took are the registration times of the latest nodes, in seconds, the shortest first.
	Took []int
}

// zoneTally is the count of one zone during the assessment. There are only a few zones, so a list
// is enough.
type zoneTally struct {
	name string
	ZoneCount
}

// CountsAsOverdue reports whether the limits on shares count a finding of the kind. A node with
// Flapping or Scheduled works; the others are not about an instance to replace.
//
// A contradicted finding counts: several kubelets that renew the leases of nodes that no list shows
// mean that the list is short, and then the others may be wrong too.
func CountsAsOverdue(k roll.Kind) bool {
	switch k {
	case roll.Ghost, roll.Flapping, roll.Scheduled, roll.Unlaunched, roll.Stuck:
		return false
	}
	return true
}

// countNode counts a node whose instance EC2 does not report as gone.
func (a *assessor) countNode(m roll.Member) *groupTally {
	ready := m.Node.Ready.Status == roll.ConditionTrue
	if ready || !m.Off() {
		a.countInZone(m)
	}
	g := a.group(m.Group())
	a.join(g)
	p := &g.population
	p.Owner = m.Owner()
	p.Nodes++
	if ready {
		p.Ready++
	}
	p.Deadline = max(p.Deadline, a.Policy(m.Selector()).Registration.Deadline)
	return g
}

// countInZone counts a node in its zone. A check of one instance does not read whether the instances of the others are
// gone: it leaves out those that are being deleted and are not Ready.
func (a *assessor) countInZone(m roll.Member) {
	zone, ready := m.Zone(), m.Node.Ready.Status == roll.ConditionTrue
	if zone == "" || m.Instance == nil && !ready && !m.Node.DeletedAt.IsZero() {
		return
	}
	z := a.zone(zone)
	z.Nodes++
	switch {
	case ready:
		z.Ready++
	case !a.starting(m):
		z.Silent++
		left := a.firstKnown(m.Node.Ready.Since, m.Node.Created)
		z.First, z.Last = roll.Earlier(z.First, left), roll.Later(z.Last, left)
	}
}

// takenOver reports whether another running instance has the node's name, and may report its status:
// a replacement with the address of what it replaced.
func (a *assessor) takenOver(n *roll.Node) bool {
	return slices.ContainsFunc(a.Snapshot.Instances, func(i roll.Instance) bool {
		return i.PrivateDNS == n.Name && i.State == roll.StateRunning
	})
}

// starting reports whether a node that is not Ready never was, and still has time. A zone in which many nodes
// start at once is not down.
func (a *assessor) starting(m roll.Member) bool {
	n := m.Node
	return !n.Ready.Since.After(n.Created.Add(neverReady)) && a.Now.Before(n.Created.Add(a.Policy(m.Selector()).Initialization.Deadline))
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

// join counts the current member as one of the population.
func (a *assessor) join(g *groupTally) {
	a.joined = true
	a.total.Nodes++
	g.count.Nodes++
}

// overdueIn counts one more member of the population as past its tolerance.
func (a *assessor) overdueIn(g *groupTally) {
	a.total.Overdue++
	g.count.Overdue++
}

// countLate counts the current member as overdue, once.
func (a *assessor) countLate(group roll.Group) {
	if a.late {
		return
	}
	g := a.group(group)
	if !a.joined {
		a.join(g)
	}
	a.late = true
	a.overdueIn(g)
}

// countUnknownRest counts an instance without a node that would be overdue but may be in a warm
// pool or Standby, since that is unreadable. It has no finding, but must not leave room for another
// act.
func (a *assessor) countUnknownRest(m roll.Member, due time.Time) {
	if _, rested := a.State.Rests[m.Instance.ID]; !rested && !a.Now.Before(due) {
		a.countLate(m.Group())
	}
}

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
