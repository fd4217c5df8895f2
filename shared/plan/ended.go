package plan

import (
	"cmp"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Ended is one instance of a notice whose fault has ended.
type Ended struct {
	Instance roll.InstanceID
	How      How
	// After is Rollcall's act before the recovery, or the one that ended it; "" if there was none.
	After Action
	// Spot and SpotAt are what EC2 announced for a Spot Instance that is gone, and when; "" if
	// nothing.
	Spot   roll.SpotEvent
	SpotAt time.Time
}

// How is how a fault ended.
type How string

// The ways in which a fault ends.
const (
	EndedRecovered How = "recovered" // the instance exists without the fault
	EndedByAct     How = "acted"     // Rollcall terminated it, or deleted its node
	EndedGone      How = "gone"      // the instance is gone, but not because of Rollcall
	EndedChanged   How = "changed"   // the fault continues as another kind, or with another cause
	EndedIgnored   How = "ignored"   // a person made Rollcall ignore the instance
	// EndedAside and EndedStopped: the instance need not be a node now, since its Auto Scaling group keeps it
	// in Standby or a warm pool, or since it was stopped.
	EndedAside   How = "not-in-service"
	EndedStopped How = "stopped"
)

// overAfter is how long the last fault of an incident must be gone before a notice reports the end.
// A node that flaps does not end its incident each time.
const overAfter = 10 * time.Minute

// over finds incidents whose fault has ended for all their instances. It records that first, and
// reports it once it has lasted, in a check that sees how.
func (p *planner) over(current map[ledger.NoticeKey][]roll.Finding) {
	if p.cannotJudge() {
		return
	}
	for key, known := range p.State.Notices {
		_, lasts := current[key]
		tells := p.Policy(roll.GroupSelector(key.Group)).Mode.Allows(policy.Notify)
		if lasts && tells || p.mayLast(key) || p.replaced(key) {
			continue
		}
		switch {
		case lasts, p.back(key), p.moved(key):
			if !known.Over.IsZero() { // the time starts again
				known.Over = time.Time{}
				p.out.Changes.Put.Notices[key] = known
			}
		case p.unproven(key, known):
			// The replacement may fail in the same way.
		case known.Over.IsZero():
			known.Over = p.Now
			p.out.Changes.Put.Notices[key] = known
			p.next(p.Now.Add(overAfter))
		case p.Now.Sub(known.Over) < overAfter:
			p.next(known.Over.Add(overAfter))
		case p.Lowered && !tells:
			// Notices are not turned off: the end is reported once the policy is readable again.
		case len(known.Members) == 0, !tells, known.Incident.Left == 0 && p.endedForNone(known) && p.toldSince(known):
			p.out.Changes.Drop.Notices = append(p.out.Changes.Drop.Notices, key)
		default:
			known.Incident.Sent++
			p.out.Notices = append(p.out.Notices, Notice{Key: key, Over: true, OverSince: known.Over, Ended: p.ends(known), Incident: known.Incident})
		}
	}
}

// replaced reports whether another notice of this plan continues the incident.
func (p *planner) replaced(key ledger.NoticeKey) bool {
	return slices.Contains(p.out.Changes.Drop.Notices, key) ||
		slices.ContainsFunc(p.out.Notices, func(n Notice) bool { return slices.Contains(n.Replaces, key) })
}

// back reports whether an instance of an incident has a fault that is still within its tolerance: the same
// again, or one that keeps it from being a node. A node that was short of memory and is silent now has not
// recovered.
func (p *planner) back(key ledger.NoticeKey) bool {
	members := p.State.Notices[key].Members
	return slices.ContainsFunc(p.Assessment.Findings, func(f roll.Finding) bool {
		_, member := members[f.Instance]
		return member && (f.Kind == key.Kind || noNode(f.Kind)) && f.Stage == roll.Watching
	})
}

// noNode reports whether an instance with such a fault is no node that works.
func noNode(k roll.Kind) bool {
	switch k {
	case roll.Unregistered, roll.Uninitialized, roll.NotReady, roll.Unknown, roll.Impaired, roll.Orphaned:
		return true
	}
	return false
}

// moved reports whether an instance of the incident is now in another incident: the fault continues under
// another cause, and may come back to this one.
func (p *planner) moved(key ledger.NoticeKey) bool {
	for id := range p.State.Notices[key].Members {
		if p.inOtherIncident(id, key) {
			return true
		}
	}
	return false
}

// unproven reports whether an instance of the incident did not recover, and the group's latest one, perhaps
// its replacement, still has time to become a node. Until then the fault may not be over.
func (p *planner) unproven(key ledger.NoticeKey, known ledger.Notice) bool {
	if key.Group == roll.GroupNone || key.Kind != roll.Unregistered && key.Kind != roll.Uninitialized {
		return false
	}
	pol := p.Policy(roll.GroupSelector(key.Group))
	most := pol.Registration.Deadline
	if key.Kind == roll.Uninitialized {
		most += pol.Initialization.Deadline
	}
	good := p.lastGood(key.Group)
	latest := p.latestLaunch(key.Group) // perhaps of one that its owner gave up already: EC2 may not list the next one yet
	return latest.After(good) && p.Now.Sub(latest) < most && slices.ContainsFunc(p.ends(known), func(e Ended) bool {
		return e.How != EndedRecovered && e.How != EndedIgnored
	})
}

// mayLast reports whether this check could not determine if the fault of a member lasts.
func (p *planner) mayLast(key ledger.NoticeKey) bool {
	for id := range p.State.Notices[key].Members {
		if p.Assessment.Kept[roll.FindingKey{Instance: id, Kind: key.Kind}] {
			return true
		}
	}
	return false
}

// ends returns how the fault ended for each instance of a notice.
func (p *planner) ends(n ledger.Notice) []Ended {
	wanted := make(map[roll.InstanceID]bool, len(n.Members))
	for id := range n.Members {
		wanted[id] = true
	}
	instances, nodes := find(p.Snapshot, wanted)
	var out []Ended
	for id := range wanted {
		e := Ended{Instance: id, How: EndedGone}
		i := instances[id]
		final := lastAct(p.State.Actions, id, time.Time{}, Action.final)
		switch {
		case i != nil && i.Ignore:
			e.How = EndedIgnored
		case p.troubled(id):
			e.How = EndedChanged
		case !id.IsInstance():
			e.How = EndedRecovered
		case final != "" && !worksAgain(i, nodes[id]):
			e.How, e.After = EndedByAct, final
		case i != nil && p.rests(id):
			e.How = EndedAside
		case i != nil && (i.State == roll.StateStopping || i.State == roll.StateStopped):
			e.How = EndedStopped
		case (i == nil || !i.State.Gone()) && nodes[id] != nil && nodes[id].Ready.Status != roll.ConditionTrue:
			e.How = EndedChanged // the policy does not watch what is wrong now
		case i != nil && !i.State.Gone(), i == nil && nodes[id] != nil:
			e.How, e.After = EndedRecovered, lastAct(p.State.Actions, id, n.Incident.First, Action.Told)
		default:
			e.Spot, e.SpotAt = p.State.SpotEnd(id, i)
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Ended) int { return cmp.Compare(a.Instance, b.Instance) })
	return out
}

// worksAgain reports whether the instance runs and its node is Ready: what was stopped when Rollcall deleted its
// node may have been started since.
func worksAgain(i *roll.Instance, n *roll.Node) bool {
	return i != nil && i.State == roll.StateRunning && n != nil && n.Ready.Status == roll.ConditionTrue
}

// rests reports whether the instance is in a warm pool or Standby.
func (p *planner) rests(id roll.InstanceID) bool {
	rest, ok := p.Assessment.Rests[id]
	return ok && rest.Left.IsZero()
}

// lastAct returns Rollcall's last successful act of a kind on the instance since a time, "" if there is none.
func lastAct(actions []ledger.Action, id roll.InstanceID, since time.Time, is func(Action) bool) (act Action) {
	var at time.Time
	for _, a := range actions {
		if a.Instance == id && is(Action(a.Do)) && a.Outcome != nil && a.Outcome.Result == ledger.Done && a.At.After(at) && !a.At.Before(since) {
			act, at = Action(a.Do), a.At
		}
	}
	return act
}

// troubled reports whether the instance has a finding past Watching.
func (p *planner) troubled(id roll.InstanceID) bool {
	if _, ok := p.instances[id]; !ok {
		return false
	}
	return slices.ContainsFunc(p.Assessment.Findings, func(f roll.Finding) bool { return f.Instance == id && f.Stage != roll.Watching })
}

// endedForNone reports whether the fault has ended for none of the members: each is ignored, or has
// a fault of another kind.
func (p *planner) endedForNone(n ledger.Notice) bool {
	return !slices.ContainsFunc(p.ends(n), func(e Ended) bool { return e.How != EndedChanged && e.How != EndedIgnored })
}

// toldSince reports whether each member of a notice was told of since.
func (p *planner) toldSince(n ledger.Notice) bool {
	for id := range n.Members {
		if !p.toldOf(id, n.SentAt) {
			return false
		}
	}
	return true
}

// toldOf reports whether an instance is ignored, or named by a notice since a time or by one of this
// plan. If another incident took it over without a notice, nobody knows that the fault is over in its own.
func (p *planner) toldOf(id roll.InstanceID, since time.Time) bool {
	if i := p.instances[id]; i != nil && i.Ignore {
		return true
	}
	for _, n := range p.State.Notices {
		if m := n.Members[id]; m.Told != (ledger.Statement{}) && !m.Unnamed && n.SentAt.After(since) {
			return true
		}
	}
	return slices.ContainsFunc(p.out.Notices, func(n Notice) bool {
		return !n.Over && slices.ContainsFunc(n.Entries, func(e Entry) bool { return e.Finding.Instance == id })
	})
}
