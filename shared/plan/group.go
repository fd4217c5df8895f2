package plan

import (
	"fmt"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// repeatsMemory is how far back acts on a group count as failed replacements.
const repeatsMemory = 24 * time.Hour

// groupObjects asks what became of the acts on the finding's group before: one at a
// time, the next once the replacement is Ready, and none any more when replacements keep
// failing.
func (p *planner) groupObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	if f.Group == roll.GroupNone || act == DeleteNode {
		return nil // instances of no group have nothing to do with each other
	}
	good := p.good(f.Group)
	if no := p.repeats(f, pol.Limits); no != nil {
		return no
	}
	if no := p.pending(f, act, good, pol); no != nil {
		return no
	}
	for _, a := range p.State.Actions {
		if a.Group != f.Group || a.Instance == f.Instance || a.Free || a.Outcome == nil || a.Outcome.Result == ledger.Failed || Action(a.Do).replaced() {
			continue // one without an outcome has a reason of its own
		}
		if !p.Now.Before(a.Outcome.At.Add(pol.Limits.ReplacementWait)) {
			continue
		}
		if _, sick := p.instances[a.Instance]; sick && !p.ended(a.Instance) {
			return refuse(OneAtATime, "%s of %s at %s: that instance of %s comes first", a.Do, a.Instance, roll.Clock(a.Outcome.At), f.Group)
		}
	}
	return nil
}

// pending tells that the replacement of the last instance of the group that Rollcall ended
// is not shown to work: no instance launched since is a Ready node. No time lifts that: a
// group whose launches fail must not be emptied one by one. What does is a Ready node, a
// desired capacity that is lower than it was, or a person who takes the loss. A reboot
// takes nothing from the group. While the replacement has the time that any instance of the
// group has, the others take their turn; that it has not come by then is told.
func (p *planner) pending(f roll.Finding, act Action, good time.Time, pol policy.Policy) *Refusal {
	last := p.lastEnded(f.Group)
	if last.At.IsZero() || last.Instance == f.Instance || good.After(last.At) || act == Reboot || f.Kind == roll.Orphaned || p.lossTaken(f) {
		return nil
	}
	if g := p.Snapshot.Groups[f.Group]; last.Desired > 0 && g.LaunchSuspended != roll.NotAsked && g.LaunchSuspended != roll.Unreadable && g.Desired < last.Desired {
		return nil // it was given up, not replaced
	}
	if until := last.Done.Add(pol.Registration.Deadline); p.Now.Before(until) {
		return p.passing(until, OneAtATime, "%s ended %s of %s, and its replacement has until %s to be a Ready node", roll.Clock(last.Done), last.Instance, f.Group, roll.Clock(until))
	}
	return refuse(ReplacementPending, "%s ended %s of %s; no node of an instance launched since %s is Ready yet. To act on %s all the same: aws ec2 create-tags --resources %s --tags Key=%s,Value=true",
		roll.Clock(last.Done), last.Instance, f.Group, roll.Clock(last.At), f.Instance, f.Instance, roll.TagReplace)
}

// lastEnded is the latest act that ended an instance of the group, which its owner is to
// replace. An orphan has nobody who would.
func (p *planner) lastEnded(g roll.Group) ledger.Ended {
	last := p.State.Groups[g].Ended
	for _, a := range p.State.Actions {
		if a.Group != g || !Action(a.Do).replaced() || a.Kind == roll.Orphaned || a.Outcome == nil || a.Outcome.Result == ledger.Failed || !a.Outcome.At.After(last.Done) {
			continue
		}
		last = ledger.Ended{Instance: a.Instance, At: p.owed(a), Done: a.Outcome.At, Desired: a.Desired}
	}
	return last
}

// owed is the time since which a launch counts as the replacement of an instance that was
// ended. An Auto Scaling group launches one when the instance is gone. Karpenter launches
// one for the pods that cannot run: they leave a node that Rollcall drains before its end.
func (p *planner) owed(a ledger.Action) time.Time {
	at := a.At
	if _, karpenter := a.Group.NodePool(); !karpenter {
		return at
	}
	for _, earlier := range p.State.Actions {
		leaves := earlier.Do == string(Cordon) || earlier.Do == string(Drain)
		if earlier.Instance == a.Instance && leaves && earlier.Interrupted() && earlier.At.Before(at) && a.At.Sub(earlier.At) < repeatsMemory {
			at = earlier.At
		}
	}
	return at
}

// ended reports that an act that ends the instance was carried out.
func (p *planner) ended(id roll.InstanceID) bool {
	for _, a := range p.State.Actions {
		if a.Instance == id && Action(a.Do).replaced() && a.Outcome != nil && a.Outcome.Result == ledger.Done {
			return true
		}
	}
	return false
}

// good is the latest launch of an instance of the group that became a Ready node, as
// far as anybody remembers.
func (p *planner) good(g roll.Group) time.Time {
	good := p.State.Groups[g].Good
	if seen := p.Assessment.Groups[g].Good; seen.After(good) {
		good = seen
	}
	return good
}

// stayed is the latest launch of an instance of the group whose node stayed Ready, as far
// as anybody remembers.
func (p *planner) stayed(g roll.Group) time.Time {
	proven := p.State.Groups[g].Proven
	if seen := p.Assessment.Groups[g].Proven; seen.After(proven) {
		proven = seen
	}
	return proven
}

// repeats tells whether the last acts on the group brought no node that stayed Ready: one
// that was Ready for minutes may be as sick as the one before it. That no instance was
// launched since proves nothing, the group may have shrunk: one that was, and is in trouble
// itself, does.
func (p *planner) repeats(f roll.Finding, limits policy.Limits) *Refusal {
	if limits.Replacements == 0 {
		return refuse(ReplacementRepeats, "limits.replacements is 0: nothing is replaced")
	}
	proven := p.stayed(f.Group)
	var first, latest time.Time
	n := 0
	for _, a := range p.State.Actions {
		if a.Group != f.Group || !Action(a.Do).replaced() || !a.At.After(proven) || p.Now.Sub(a.At) >= repeatsMemory || !a.Interrupted() {
			continue
		}
		if n++; first.IsZero() || a.At.Before(first) {
			first = a.At
		}
		if a.Launched.After(latest) {
			latest = a.Launched
		}
	}
	if n < limits.Replacements {
		return nil
	}
	why := fmt.Sprintf("%d %s on %s since %s, and no node launched since then has stayed Ready", n, roll.Plural(n, "act", "acts"), f.Group, roll.Clock(first))
	if latest.After(first) {
		return refuse(ReplacementRepeats, "%s: one launched at %s had to be replaced too; another would hardly do better", why, roll.Clock(latest))
	}
	for _, other := range p.Assessment.Findings {
		i := p.instances[other.Instance]
		if other.Group == f.Group && i != nil && i.Launched.After(first) {
			return refuse(ReplacementRepeats, "%s: %s, launched at %s, is in trouble too; another would hardly do better", why, i.ID, roll.Clock(i.Launched))
		}
	}
	return nil
}
