package assess

import (
	"cmp"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// RegistrationTimes summarizes how long nodes took from the launch of their instance to
// registration.
type RegistrationTimes struct {
	Count         int // number of nodes, at most ledger.RegistrationSamples
	P50, P95, P99 time.Duration
}

// groupTally is the count of a group during the assessment.
type groupTally struct {
	count  Count
	memory ledger.GroupMemory // record in the ledger
	seen   time.Time          // creation of its latest node
	good   time.Time          // latest launch of a working node
	proven time.Time          // latest launch of a node that stayed Ready
	fresh  []sample           // nodes that are not in the record yet
	// pressed are pressures that are not in the record yet.
	pressed []ledger.GroupPressure

	population Population
}

// sample is the registration time of one node.
type sample struct {
	created time.Time
	id      roll.InstanceID
	took    time.Duration
}

func (a *assessor) group(name roll.Group) *groupTally {
	g, ok := a.groups[name]
	if !ok {
		memory := a.State.Groups[name]
		g = &groupTally{memory: memory, seen: memory.Counted, good: memory.Good, proven: memory.Proven}
		a.groups[name] = g
	}
	return g
}

// registered records the registration time of a node, and whether its group brings working nodes.
//
// A Node older than the launch of its instance existed before the instance was stopped and started,
// and shows nothing, unless its group had stopped it in a warm pool: starting it is what such a group
// does in place of a launch. One that ran there joins when its group puts it into service, however long ago its launch was.
// The time is not recorded of an instance that was in a warm pool first, or whose Node was deleted and came back.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html
// https://docs.aws.amazon.com/eks/latest/userguide/warm-pools-managed-node-groups.html
func (a *assessor) registered(m roll.Member, g *groupTally, works bool) {
	n, i := m.Node, m.Instance
	if !a.whole || i == nil || i.Launched.IsZero() || n.Created.After(a.Now) {
		return
	}
	rest, rested := a.State.Rests[i.ID]
	// From a warm pool, and not started again since.
	drawn := rest.Warm && (rest.Left.IsZero() && !resting(a.Snapshot.Details[i.ID].Lifecycle) || !i.Launched.After(rest.Left))
	if n.Created.Before(i.Launched) && !drawn {
		return
	}
	launched := i.Launched.UTC()
	if drawn {
		launched = roll.Later(launched, roll.Earlier(rest.Left, n.Created).UTC()) // it was in service at the latest then
	}
	if drawn && n.Ready.Status == roll.ConditionTrue && launched.After(g.proven) {
		a.out.Rests[i.ID] = ledger.Rest{Left: cmp.Or(rest.Left, a.Now), Warm: true} // until it proved that the group works
	}
	if works && launched.After(g.good) {
		g.good = launched
	}
	if works && launched.After(g.proven) && a.Now.Sub(n.Ready.Since) >= a.Policy(m.Selector()).Limits.ProvenAfter {
		g.proven = launched
	}
	if !n.Created.After(g.memory.Counted) {
		return
	}
	g.seen = roll.Later(g.seen, n.Created.UTC())
	if rested || a.cameBack(m) {
		return
	}
	took := n.Created.Sub(i.Launched)
	g.add(sample{created: n.Created, id: i.ID, took: took})
	if !a.State.Checked.IsZero() && n.Created.After(a.State.Checked) {
		a.out.NewRegistrations = append(a.out.NewRegistrations, took)
	}
}

// cameBack reports whether a Node is new although the last complete check saw an earlier Node of
// its instance.
func (a *assessor) cameBack(m roll.Member) bool {
	if !m.Node.Created.After(a.State.Checked) || !a.inOrder(m.Instance.Launched, a.Policy(m.Selector()).Registration.Deadline) {
		return false
	}
	known, late := a.State.Findings[roll.FindingKey{Instance: m.Instance.ID, Kind: roll.Unregistered}]
	return !late || known.Worked
}

// add adds a sample. It keeps only the latest, so that the first check of a large group does not
// hold all of its nodes.
func (g *groupTally) add(s sample) {
	if len(g.fresh) == 2*ledger.RegistrationSamples {
		g.trim()
	}
	g.fresh = append(g.fresh, s)
}

// trim sorts the samples and drops all but the latest.
func (g *groupTally) trim() {
	slices.SortFunc(g.fresh, func(x, y sample) int {
		return cmp.Or(x.created.Compare(y.created), cmp.Compare(x.id, y.id))
	})
	g.fresh = slices.Delete(g.fresh, 0, max(0, len(g.fresh)-ledger.RegistrationSamples))
}

// remembered returns the group's record including this check.
func (g *groupTally) remembered() ledger.GroupMemory {
	g.trim()
	seconds := make([]int, 0, len(g.memory.Seconds)+len(g.fresh))
	seconds = append(seconds, g.memory.Seconds...)
	for _, s := range g.fresh {
		seconds = append(seconds, int(s.took/time.Second))
	}
	seconds = seconds[max(0, len(seconds)-ledger.RegistrationSamples):]
	return ledger.GroupMemory{Seconds: seconds, Counted: g.seen, Good: g.good, Proven: g.proven, Ended: g.memory.Ended}
}

// registrations writes the records of groups and the summaries to the assessment.
func (a *assessor) registrations() {
	slices.Sort(a.out.NewRegistrations)
	for name, g := range a.groups {
		if len(g.pressed) > 0 || !g.seen.Equal(g.memory.Counted) || !g.good.Equal(g.memory.Good) || !g.proven.Equal(g.memory.Proven) {
			m := g.remembered()
			m.Pressed = a.pressedOf(g)
			a.out.Groups[name] = m
		}
	}
	if a.Snapshot.Target != "" {
		return
	}
	a.out.Registration = make(map[roll.Group]RegistrationTimes, len(a.groups))
	for name, memory := range a.State.Groups {
		a.sumUp(name, memory.Seconds)
	}
	for name, memory := range a.out.Groups {
		a.sumUp(name, memory.Seconds) // in place of the older record
	}
}

func (a *assessor) sumUp(g roll.Group, seconds []int) {
	if len(seconds) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(seconds))
	a.out.Registration[g] = RegistrationTimes{
		Count: len(sorted), P50: percentile(sorted, 50), P95: percentile(sorted, 95), P99: percentile(sorted, 99),
	}
	p := a.out.Populations[g]
	if p.Took = sorted; p.Deadline == 0 {
		p.Deadline = a.Policy(roll.GroupSelector(g)).Registration.Deadline
	}
	a.out.Populations[g] = p
}

// percentile returns the smallest of the sorted seconds that at least p percent of them do not
// exceed.
func percentile(sorted []int, p int) time.Duration {
	rank := (len(sorted)*p + 99) / 100
	return time.Duration(sorted[rank-1]) * time.Second
}
