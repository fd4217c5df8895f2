package plan

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// repeatsMemory is how long acts on a group count as failed replacements.
const repeatsMemory = 24 * time.Hour

// groupObjects checks earlier acts on the group. It allows one instance at a time, the next once
// the replacement is Ready, and none while replacements keep failing.
func (p *planner) groupObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	if f.Group == roll.GroupNone || act == DeleteNode {
		return nil // instances without a group are independent
	}
	good := p.lastGood(f.Group)
	if no := p.replacementRepeats(f, pol.Limits); no != nil {
		return no
	}
	if no := p.replacementPending(f, act, good, pol); no != nil {
		return no
	}
	for _, a := range p.State.Actions {
		if a.Group != f.Group || a.Instance == f.Instance || a.Free || a.Outcome == nil || a.Outcome.Result == ledger.Failed {
			continue // an act without an outcome has its own reason
		}
		if !p.Now.Before(a.Outcome.At.Add(pol.Limits.ReplacementWait)) {
			continue
		}
		if _, sick := p.instances[a.Instance]; sick && !wasReplaced(p.State.Actions, a.Instance) {
			return refuse(OneAtATime, "%s of %s at %s: that instance of %s is handled first", a.Do, a.Instance, roll.Clock(a.Outcome.At), f.Group)
		}
	}
	return nil
}

// launches yields when the group's instances were launched, also those that are gone by now and EC2 still lists.
func (p *planner) launches(g roll.Group) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for i := range p.Snapshot.Instances {
			if p.Snapshot.Instances[i].Group == g && !yield(p.Snapshot.Instances[i].Launched) {
				return
			}
		}
	}
}

// latestLaunch returns when the group's latest instance was launched.
func (p *planner) latestLaunch(g roll.Group) (latest time.Time) {
	for at := range p.launches(g) {
		latest = roll.Later(latest, at)
	}
	return latest
}

// firstLaunch returns when the first of the group's instances since a time was launched, or that time. Karpenter replaces what never joins every 15 minutes: the latest is always young.
func (p *planner) firstLaunch(g roll.Group, since time.Time) (first time.Time) {
	for at := range p.launches(g) {
		if at.After(since) {
			first = roll.Earlier(first, at)
		}
	}
	return roll.Later(first, since)
}

// joins reports whether an instance of the group that was launched since a time still exists.
func (p *planner) joins(g roll.Group, since time.Time) bool {
	return slices.ContainsFunc(p.Snapshot.Instances, func(i roll.Instance) bool {
		return i.Group == g && i.Launched.After(since) && (i.State == roll.StatePending || i.State == roll.StateRunning)
	})
}

// replacementPending refuses while the replacement of the group's last terminated instance is not a
// Ready node. No timeout ends the refusal, since a group whose launches fail must not be emptied
// one by one. It ends with a Ready node, a lower desired capacity, a group that launched nothing and lacks nothing, or
// a person who accepts the loss. A desired capacity that is lower because instances are in Standby does not count. It does not
// apply to a reboot, which takes nothing from the group. Until the registration
// deadline the reason is OneAtATime; after that a person is notified.
//
// Karpenter launches only if pods wait for a node: by the deadline it may have launched nothing since the
// termination, because it launched the replacement before, or because the other nodes have room for the pods. What
// it did launch must become a Ready node, for as long as EC2 lists it, or as it exists if no pods wait.
func (p *planner) replacementPending(f roll.Finding, act Action, good time.Time, pol policy.Policy) *Refusal {
	last := lastEnded(p.State, f.Group)
	if last.At.IsZero() || last.Instance == f.Instance || good.After(last.Done) || act == Reboot || f.Kind == roll.Orphaned || p.lossAccepted(f) {
		return nil
	}
	_, karpenter := f.Group.NodePool()
	since, before := last.At, good.After(last.At)
	if before {
		if !karpenter {
			return nil
		}
		since = last.Done
	}
	first, asked := p.firstLaunch(f.Group, since), last.Done
	if before {
		asked = first
	}
	if g := p.Snapshot.Groups[f.Group]; g.LaunchSuspended.Answered() && g.Desired+g.Standby < last.Desired {
		return nil // the group gave up the instance and did not replace it
	}
	if until := asked.Add(pol.Registration.Deadline); p.Now.Before(until) {
		return p.refuseUntil(until, OneAtATime, "%s of %s was terminated at %s; its replacement has until %s to become a Ready node", last.Instance, f.Group, roll.Clock(last.Done), roll.Clock(until))
	}
	launched := first.After(since) || p.drew(f.Group, since)
	if i := p.Snapshot.Instance(last.Instance); !karpenter && !launched && p.Snapshot.Groups[f.Group].Complete && (i == nil || i.State.Gone()) {
		return nil // the group had one more than it is to have, as while it rebalances
	}
	if karpenter && (before && !launched || p.Snapshot.PodsWait == roll.No && !p.joins(f.Group, since)) {
		return nil // no pods wait
	}
	ready := fmt.Sprintf("no node of an instance launched since %s is Ready yet", roll.Clock(since))
	switch {
	case !karpenter || launched:
	case p.Snapshot.PodsWait == roll.Yes:
		ready += ", and pods wait for a node"
	default:
		ready += ", and whether pods wait for a node could not be read"
	}
	return refuse(ReplacementPending, "%s of %s was terminated at %s; %s. To act on %s anyway: %s",
		last.Instance, f.Group, roll.Clock(last.Done), ready, f.Instance, p.replaceAnyway(f.Instance))
}

// drew reports whether the group put an instance of its warm pool into service since a time. EC2 does not date that
// as a launch if the instance ran there.
func (p *planner) drew(g roll.Group, since time.Time) bool {
	return slices.ContainsFunc(p.Snapshot.Instances, func(i roll.Instance) bool {
		rest := p.State.Rests[i.ID]
		return i.Group == g && rest.Warm && rest.Left.After(since)
	})
}

// replaceAnyway returns the command with which a person accepts that an instance may not be replaced.
func (p *planner) replaceAnyway(i roll.InstanceID) string {
	return paste.Format("aws ec2 create-tags --region %s --resources %s --tags Key=%s,Value=true", p.Snapshot.Cluster.ID.Region, string(i), roll.TagReplace)
}

// lastEnded returns the latest instance of the group that an act terminated and its owner is to
// replace. Orphans are not replaced.
func lastEnded(state ledger.State, g roll.Group) ledger.Ended {
	last := state.Groups[g].Ended
	for _, a := range state.Actions {
		if a.Group != g || !Action(a.Do).replaced() || a.Kind == roll.Orphaned || a.Outcome == nil || a.Outcome.Result == ledger.Failed || !a.Outcome.At.After(last.Done) {
			continue
		}
		at := replacementSince(state.Actions, a)
		if at.Before(a.At) {
			at = roll.Later(at, last.Done) // what was launched before the last termination was perhaps for that one
		}
		last = ledger.Ended{Instance: a.Instance, At: at, Done: a.Outcome.At, Desired: a.Desired}
	}
	return last
}

// cordonedFor is how long before its drain, or its end, a cordon may have led to the launch of a replacement. What
// is launched in the hours after it may be there for another reason.
const cordonedFor = time.Hour

// podsDeletedAfter is the default toleration of a node that is not Ready.
const podsDeletedAfter = 5 * time.Minute

// replacementSince returns the time from which a launch counts as the replacement. An Auto Scaling
// group launches one once the instance is gone. Karpenter launches one for pods that cannot run: during the
// drain, since the cordon shortly before it, or once Kubernetes has deleted the pods of a node that is not Ready,
// after five minutes. Then it launches nothing when the node is removed at last. What was done before the node was
// last uncordoned was about another trouble, which is over.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
func replacementSince(actions []ledger.Action, a ledger.Action) time.Time {
	if _, karpenter := a.Group.NodePool(); !karpenter {
		return a.At
	}
	var back time.Time
	for _, earlier := range actions {
		if earlier.Instance == a.Instance && earlier.Do == string(Uncordon) && earlier.At.Before(a.At) {
			back = roll.Later(back, earlier.At)
		}
	}
	first := func(do Action, before time.Time, within time.Duration) time.Time {
		at := before
		for _, earlier := range actions {
			if earlier.Instance == a.Instance && earlier.Do == string(do) && earlier.Interrupted() && earlier.At.After(back) && earlier.At.Before(at) && before.Sub(earlier.At) < within {
				at = earlier.At
			}
		}
		return at
	}
	at := first(Cordon, first(Drain, a.At, repeatsMemory), cordonedFor)
	switch deleted := a.Since.Add(podsDeletedAfter); a.Kind {
	case roll.NotReady, roll.Unknown, roll.Impaired:
		if !a.Since.IsZero() && a.At.Sub(deleted) < repeatsMemory {
			at = roll.Earlier(at, deleted)
		}
	}
	return at
}

// wasReplaced reports whether an act that terminates the instance was carried out.
func wasReplaced(actions []ledger.Action, id roll.InstanceID) bool {
	return slices.ContainsFunc(actions, func(a ledger.Action) bool {
		return a.Instance == id && Action(a.Do).replaced() && a.Outcome != nil && a.Outcome.Result == ledger.Done
	})
}

// lastGood returns the latest launch time among the group's instances that became a Ready node.
func (p *planner) lastGood(g roll.Group) time.Time {
	return roll.Later(p.State.Groups[g].Good, p.Assessment.Groups[g].Good)
}

// diagnosedRepeats is how many replacements in a row must fail before a diagnosis proves
// ReplacementRepeats.
const diagnosedRepeats = 2

// toleratesRepeats reports whether the policy allows more replacements of a finding's group to fail than
// prove ReplacementRepeats. Then limits.replacements holds acts, and not the diagnosis.
func (p *planner) toleratesRepeats(f roll.Finding) bool {
	return p.Policy(f.Selector).Limits.Replacements > diagnosedRepeats
}

// allowedRepeats returns the diagnoses without the cause ReplacementRepeats where toleratesRepeats says so.
func (p *planner) allowedRepeats() map[roll.FindingKey]roll.Diagnosis {
	repeats := func(c roll.Cause) bool { return c.Code == string(ReplacementRepeats) }
	out := maps.Clone(p.Diagnoses)
	for _, f := range p.Assessment.Findings {
		why := p.Diagnoses[f.Key()]
		if !slices.ContainsFunc(why.Causes, repeats) || !p.toleratesRepeats(f) {
			continue
		}
		why.Causes = slices.DeleteFunc(slices.Clone(why.Causes), repeats)
		out[f.Key()] = why
	}
	return out
}

// replacementRepeats refuses if the last acts on the group brought no node that stayed Ready. A
// node that was Ready for minutes may be as unhealthy as the one before. A missing launch proves
// nothing, since the group may have shrunk. A launch that has a fault itself is proof.
func (p *planner) replacementRepeats(f roll.Finding, limits policy.Limits) *Refusal {
	if limits.Replacements == 0 {
		return refuse(ReplacementRepeats, "limits.replacements is 0: nothing is replaced")
	}
	proven := roll.Later(p.State.Groups[f.Group].Proven, p.Assessment.Groups[f.Group].Proven)
	var first, latest time.Time
	n := 0
	for _, a := range p.State.Actions {
		if a.Group != f.Group || !Action(a.Do).replaced() || !a.At.After(proven) || p.Now.Sub(a.At) >= repeatsMemory || !a.Interrupted() {
			continue
		}
		n++
		first, latest = roll.Earlier(first, a.At), roll.Later(latest, a.Launched)
	}
	if n < limits.Replacements {
		return nil
	}
	why := fmt.Sprintf("%d %s on %s since %s, and no node launched since then has stayed Ready", n, roll.Plural(n, "act", "acts"), f.Group, roll.Clock(first))
	if latest.After(first) {
		return refuse(ReplacementRepeats, "%s: an instance launched at %s had to be replaced too, so another replacement would probably fail as well", why, roll.Clock(latest))
	}
	for _, other := range p.Assessment.Findings {
		i := p.instances[other.Instance]
		if other.Group == f.Group && i != nil && i.Launched.After(first) {
			return refuse(ReplacementRepeats, "%s: %s, launched at %s, is in trouble too, so another replacement would probably fail as well", why, i.ID, roll.Clock(i.Launched))
		}
	}
	return nil
}
