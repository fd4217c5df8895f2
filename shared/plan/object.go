package plan

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// objection is the ladder of refusals, in the order of the reasons' list: what makes
// every verdict worthless, what speaks for this instance, why it is so, what the owner does, what
// speaks against acting now at all, and what acts before this one leave over.
func (p *planner) objection(f roll.Finding, act Action, pol policy.Policy) (Reason, string, bool) {
	if p.fault {
		return p.faultReason, p.faultDetail, true
	}
	for _, ask := range []func(roll.Finding, Action, policy.Policy) (Reason, string, bool){
		p.targetObjects, p.causeObjects, p.ownerObjects, p.sightingObjects, p.clusterObjects, p.podsObject, p.historyObjects, p.budgetObjects,
	} {
		if reason, detail, ok := ask(f, act, pol); ok {
			return reason, detail, true
		}
	}
	return "", "", false
}

// targetObjects asks what speaks for the instance itself.
func (p *planner) targetObjects(f roll.Finding, act Action, pol policy.Policy) (Reason, string, bool) {
	i, n := p.instances[f.Instance], p.nodes[f.Instance]
	if i == nil && act != DeleteNode {
		return InstanceNotSeen, fmt.Sprintf("EC2 did not list %s in this check", f.Instance), true
	}
	if i != nil {
		if reason, detail, ok := taggedOut(*i, p.Now); ok {
			return reason, detail, true
		}
	}
	if n != nil && !n.DeletedAt.IsZero() {
		if reason, detail, held := p.deleting(f, act, n.DeletedAt); held {
			return reason, detail, held
		}
	}
	if act == DeleteNode && !p.cleanUp(f) {
		return "", "", false // the instance is gone: nothing else about it matters
	}
	if reason, detail, ok := p.membershipObjects(*i); ok || act == DeleteNode {
		return reason, detail, ok
	}
	if i.Hibernated {
		return InstanceNotRunning, fmt.Sprintf("%s is hibernated (%s), and its kubelet goes on with its node once it is started: start it, or terminate it and delete its node by hand", i.ID, i.State), true
	}
	if i.State != roll.StateRunning {
		return InstanceNotRunning, fmt.Sprintf("%s is %s: start it, or terminate it and delete its node by hand", i.ID, i.State), true
	}
	if only := p.Snapshot.Impaired[f.Instance].Only; f.Kind == roll.Impaired && only != "" {
		return MachineSound, fmt.Sprintf("only the %s status check of %s fails, those of the instance and of the system do not: what fails is not the machine, and moves with the pods", only, f.Instance), true
	}
	if n != nil && n.Ready.Status == roll.ConditionTrue && !moves(f, act) && !repaired(f, pol) && (f.Kind != roll.Uninitialized || f.Worked) {
		if f.Worked {
			return NodeReady, fmt.Sprintf("node %s is Ready and worked before: what runs on it may go on", n.Name), true
		}
		if f.Kind == roll.ConditionFailed {
			return ConditionAlone, fmt.Sprintf("only the condition %s failed, node %s is Ready: such conditions latch", f.Condition, n.Name), true
		}
		return NodeReady, fmt.Sprintf("node %s is Ready and may be doing its work", n.Name), true
	}
	if n == nil && p.Assessment.NoProviderID > 0 {
		return NodeWithoutProviderID, fmt.Sprintf("%d nodes of the cluster carry no EC2 provider id; %s may be one of them", p.Assessment.NoProviderID, f.Instance), true
	}
	return "", "", false
}

// repaired reports that the policy has something done about the accelerator of a node that
// is Ready: its kubelet works, and what was to run on the accelerator does not.
func repaired(f roll.Finding, pol policy.Policy) bool {
	repair, ok := pol.Repairs(f)
	return ok && repair != roll.RepairHold
}

// moves reports the one case in which a node that works is interrupted: EC2 will interrupt
// it, at a time that it has named, without asking any pod. So its pods are evicted before, as
// their disruption budgets allow. What ends or restarts the instance is left to EC2.
func moves(f roll.Finding, act Action) bool {
	return f.Kind == roll.Scheduled && (act == Cordon || act == Drain)
}

// deleting leaves a node to whoever deletes it. A finalizer can keep it for ever: past its
// time only another deletion of it stays pointless.
func (p *planner) deleting(f roll.Finding, act Action, since time.Time) (Reason, string, bool) {
	what := fmt.Sprintf("node %s is being deleted since %s", f.Node, roll.Clock(since))
	until := since.Add(nodeDeletes)
	switch {
	case p.Now.Before(until):
		p.passes(until)
		return NodeDeleting, what, true
	case act == DeleteNode:
		return NodeDeleting, what + ": its finalizers keep it, and another deletion would not remove them", true
	}
	return p.ownerTime(until, what)
}

// nodeDeletes is how long a deletion of a node may take: whoever deletes it may drain it
// first.
const nodeDeletes = time.Hour

// causeObjects asks whether what a diagnosis found speaks against ending the instance: a
// cause that others share, one that lies outside of it, one that passes by itself, or
// replacements that fail alike. It comes before the owner, since it tells more than who would
// act.
func (p *planner) causeObjects(f roll.Finding, act Action, pol policy.Policy) (Reason, string, bool) {
	why := p.Diagnoses[f.Key()]
	if act == DeleteNode { // no replacement follows from it
		text, ok := p.doubted(f, act, pol)
		return CauseNotChecked, text, ok
	}
	if c, ok := why.Decisive(); ok && (c.Code == string(ZoneOutage) || c.Code == string(ClusterNotActive)) {
		return Reason(c.Code), c.Summary, true // limits that a diagnosis may see before they count it
	}
	if text, ok := p.shares.object(f, why); ok {
		return SharedCause, text, true
	}
	if text, ok := p.causeOutside(f, why, pol); ok {
		return CauseOutside, text, true
	}
	if text, ok := p.doubted(f, act, pol); ok {
		return CauseNotChecked, text, true
	}
	for _, c := range why.Causes {
		switch {
		case c.Confidence != roll.Decisive:
		case c.Code == string(ReplacementRepeats):
			return ReplacementRepeats, c.Summary, true
		case c.Cure == roll.CureWait:
			return CausePasses, fmt.Sprintf("%s: %s; that passes by itself, or is not the instance's fault", c.Code, c.Summary), true
		}
	}
	return "", "", false
}

// causeOutside tells of a decisive cause that a person has to mend in a role, template, subnet
// or cluster: to end the instance is in vain. The policy may allow to try that once in a
// group.
func (p *planner) causeOutside(f roll.Finding, why roll.Diagnosis, pol policy.Policy) (string, bool) {
	for _, c := range outside(why.Causes) {
		if c.Cure != roll.CureChange || c.Code == string(ReplacementRepeats) {
			continue
		}
		told := fmt.Sprintf("the cause %s lies in %s, not in the instance: a replacement would have it too", c.Code, c.Subject)
		if pol.Limits.CauseOutside != policy.CauseOutsideTryOnce {
			return told, true
		}
		if tried, ok := p.triedFor(f, c.Code); ok {
			return fmt.Sprintf("%s, as %s had, which was ended at %s", told, tried.Instance, roll.Clock(tried.At)), true
		}
	}
	return "", false
}

// triedFor finds another instance of the group that was ended for the same cause.
func (p *planner) triedFor(f roll.Finding, code string) (ledger.Action, bool) {
	for _, a := range p.State.Actions {
		if a.Group == f.Group && a.Instance != f.Instance && a.Cause == code && Action(a.Do).replaced() && (a.Outcome == nil || a.Outcome.Result == ledger.Done) {
			return a, true
		}
	}
	return ledger.Action{}, false
}

// doubted tells whether a cause may be there whose own ladder does not have the act.
func (p *planner) doubted(f roll.Finding, act Action, pol policy.Policy) (string, bool) {
	for _, step := range p.ladder(f, pol) {
		if step.Doubt == "" || p.actionOf(step.Do, f, pol) != act {
			continue
		}
		key, why := policy.CauseKey{Kind: f.Kind, Code: step.Doubt}, p.Diagnoses[f.Key()]
		unsure := "nobody looked for it"
		if i := slices.IndexFunc(why.NotChecked, func(n roll.NotChecked) bool { return n.Code == step.Doubt }); i >= 0 {
			unsure = why.NotChecked[i].Reason
		} else if len(why.Causes) > 0 {
			unsure = "it is only suggested"
		}
		return fmt.Sprintf("%s may be the cause (%s), and its ladder (ladders: %s) does not %s here", step.Doubt, unsure, key, act), true
	}
	return "", false
}

// sightingObjects asks whether the finding was seen twice, and after remediate was on.
func (p *planner) sightingObjects(f roll.Finding, _ Action, _ policy.Policy) (Reason, string, bool) {
	known, seen := p.known(f)
	if text, ok := notSeenTwice(known, seen, p.Now); ok {
		if seen {
			p.until = known.FirstSeen.Add(assess.Confirmation)
		}
		return NotSeenTwice, text, true
	}
	if text, ok := foundBefore(f, known, p.since[f.Group], p.first()); ok {
		return FoundBeforeRemediate, text, true
	}
	return "", "", false
}

// clusterObjects asks whether the fault is hardly in the instance.
func (p *planner) clusterObjects(f roll.Finding, _ Action, pol policy.Policy) (Reason, string, bool) {
	if reason, text, ok := shifted(f, p.Snapshot); ok {
		return reason, text, true
	}
	limits := p.Policy(roll.Selector{}).Limits
	if text, ok := zoneOut(f.Zone, p.Assessment.Zones[f.Zone], limits.Zone); ok {
		return ZoneOutage, text, true
	}
	if f.Kind == roll.Unknown {
		if text, ok := massSilence(f.Began, p.Assessment.Silent, p.Assessment.Count[""].Nodes, limits.MassSilence); ok {
			return MassSilence, text, true
		}
	}
	if text, ok := shareExceeded("cluster "+p.Snapshot.Cluster.ID.Name, p.Assessment.Count[""], limits.Unhealthy); ok {
		return UnhealthyShare, text, true
	}
	if group, known := p.population(f); known {
		if text, ok := shareExceeded("group "+string(f.Group), group, pol.Limits.Unhealthy); ok {
			return UnhealthyShare, text, true
		}
	}
	if reason, text, until, ok := cooling(p.trouble, p.Policy(roll.Selector{}).Limits.StormCooldown, p.goesOn(), p.Now); ok {
		p.passes(until)
		return reason, text, true
	}
	return "", "", false
}

// population counts the finding's group; false if it cannot be counted. Beside a target
// there are only nodes, which do not tell their Auto Scaling group: its desired capacity
// stands for them.
func (p *planner) population(f roll.Finding) (assess.Count, bool) {
	c := p.Assessment.Count[f.Group]
	if f.Owner == roll.OwnerAutoScalingGroup && !p.whole() {
		c.Nodes = p.Snapshot.Groups[f.Group].Desired
	}
	return c, f.Group != roll.GroupNone && c.Nodes > 0
}

// historyObjects asks what the acts before this one leave over.
func (p *planner) historyObjects(f roll.Finding, act Action, pol policy.Policy) (Reason, string, bool) {
	id := p.orderID(f, act)
	if reason, text, until, ok := triedBefore(p.State, id, p.Now); ok {
		p.until = until
		return reason, text, true
	}
	if text, ok := p.otherFirst(f, act); ok {
		return OtherFinding, text, true
	}
	if p.inProgress(id) {
		return "", "", false // it was weighed when it began
	}
	if reason, text, ok := p.groupObjects(f, act, pol); ok {
		return reason, text, true
	}
	if a, ok := p.State.Unresolved(f.Instance, f.Group); ok {
		return ActionUnresolved, fmt.Sprintf("%s of %s, begun at %s, has no outcome yet", a.Do, a.Instance, roll.Clock(a.At)), true
	}
	so := p.ordered(pol.Mode)
	if so.instances[f.Instance] {
		return OtherFinding, fmt.Sprintf("another finding of %s is acted on in this check", f.Instance), true
	}
	if f.Group != roll.GroupNone && so.groups[f.Group] > 0 {
		return OneAtATime, fmt.Sprintf("another instance of %s is acted on in this check", f.Group), true
	}
	return "", "", false
}

// otherFirst tells whether another finding of the same instance leads. A node that
// answers is drained first, whatever EC2's status checks say; and an act of another
// finding's ladder, such as a reboot, is given time to show. What is left of an instance
// that is gone waits for neither.
func (p *planner) otherFirst(f roll.Finding, act Action) (string, bool) {
	if act == DeleteNode {
		return "", false
	}
	if n := p.nodes[f.Instance]; f.Kind == roll.Impaired && n != nil && n.Ready.Status == roll.ConditionFalse {
		return fmt.Sprintf("node %s still answers: it is drained first, by the ladder of its own finding", n.Name), true
	}
	for _, a := range p.State.Actions {
		if a.Instance != f.Instance || a.Kind == f.Kind || !a.Interrupted() || a.Outcome == nil {
			continue
		}
		if until := a.Outcome.At.Add(actShows); p.Now.Before(until) {
			p.passes(until)
			return fmt.Sprintf("%s for another finding (%s) at %s is given until %s to show", a.Do, a.Kind, roll.Clock(a.Outcome.At), roll.Clock(until)), true
		}
	}
	return "", false
}

// actShows is how long an act for one finding of an instance keeps the acts for its
// others waiting: a reboot takes minutes.
const actShows = 10 * time.Minute

// budgetObjects asks the limits on numbers. The cluster's count all its acts, a group's
// those on its members: an override may slow one group down, and cannot speed the
// cluster up.
func (p *planner) budgetObjects(f roll.Finding, act Action, pol policy.Policy) (Reason, string, bool) {
	if p.inProgress(p.orderID(f, act)) {
		return "", "", false // it counts already
	}
	so, cluster := p.ordered(pol.Mode), p.Policy(roll.Selector{}).Limits
	if text, ok := actionsPerHourSpent("the cluster", p.State.Actions, f.Instance, so.groups[""], cluster.ActionsPerHour, p.Now); ok {
		p.until = hourOver(p.State.Actions, f.Instance, cluster.ActionsPerHour, p.Now)
		return ActionsPerHour, text, true
	}
	if text, ok := actionsPerHourSpent(string(f.Group), p.State.ActsOf(f.Group, p.Now.Add(-Hour)), f.Instance, so.groups[f.Group], pol.Limits.ActionsPerHour, p.Now); ok {
		p.until = hourOver(p.State.ActsOf(f.Group, p.Now.Add(-Hour)), f.Instance, pol.Limits.ActionsPerHour, p.Now)
		return ActionsPerHour, text, true
	}
	if text, ok := actionsPerCheckSpent("the cluster", so.groups[""], cluster.ActionsPerCheck); ok {
		return ActionsPerCheck, text, true
	}
	if text, ok := actionsPerCheckSpent(string(f.Group), so.groups[f.Group], pol.Limits.ActionsPerCheck); ok {
		return ActionsPerCheck, text, true
	}
	return "", "", false
}
