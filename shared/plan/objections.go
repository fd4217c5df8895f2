package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// targetObjects checks the instance itself: its tags, state, membership and node.
func (p *planner) targetObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	i, n := p.instances[f.Instance], p.nodes[f.Instance]
	if i == nil && act != DeleteNode {
		return refuse(InstanceNotSeen, "EC2 did not list %s in this check", f.Instance)
	}
	if no := p.keptByPerson(f, act); no != nil {
		return no
	}
	if n != nil && !n.DeletedAt.IsZero() {
		if no := p.deleting(f, act, n.DeletedAt); no != nil {
			return no
		}
	}
	if id, ok := p.adopters[f.Node]; ok && act == DeleteNode {
		return refuse(Conflicting, "instance %s has the name of node %s, which has the id of %s: it may have taken the node over, and work", id, f.Node, f.Instance)
	}
	if act == DeleteNode && !p.onlyNodeLeft(f) {
		return nil // the instance is gone, so nothing else matters
	}
	if no := p.membershipObjects(*i); no != nil || act == DeleteNode {
		return no
	}
	if i.Hibernated {
		return refuse(InstanceNotRunning, "%s is hibernated (%s), and its kubelet goes on with its node once it is started: start it, or terminate it and delete its node by hand", i.ID, i.State)
	}
	if i.State != roll.StateRunning {
		return refuse(InstanceNotRunning, "%s is %s: start it, or terminate it and delete its node by hand", i.ID, i.State)
	}
	if only := p.Snapshot.Impaired[f.Instance].Only; f.Kind == roll.Impaired && only != "" {
		return refuse(MachineSound, "only the %s status check of %s fails, not those of the instance and the system: the instance works, and the fault moves with the pods", only, f.Instance)
	}
	if n != nil && n.Ready.Status == roll.ConditionTrue && !evictsEarly(f, act) && !repaired(f, pol) && (f.Kind != roll.Uninitialized || f.Worked) {
		if f.Worked {
			return refuse(NodeReady, "node %s is Ready and worked before: its pods may be running", n.Name)
		}
		if f.Kind == roll.ConditionFailed {
			return refuse(ConditionAlone, "only the condition %s failed, node %s is Ready: such conditions latch", f.Condition, n.Name)
		}
		return refuse(NodeReady, "node %s is Ready and may be doing its work", n.Name)
	}
	if n != nil && f.Kind == roll.Flapping {
		return refuse(NodeReady, "node %s becomes Ready again and again, and may be doing its work then", n.Name)
	}
	if other := p.namesakes[f.Instance]; n == nil && other != nil {
		return refuse(Conflicting, "node %s has the name of instance %s and the id of %s: the instance may have taken the node over, and work", other.Name, f.Instance, other.Instance)
	}
	if n == nil && p.Assessment.NoProviderID > 0 {
		return refuse(NodeWithoutProviderID, "%d nodes of the cluster carry no EC2 provider id; %s may be one of them", p.Assessment.NoProviderID, f.Instance)
	}
	return p.registersLate(f, i.Launched)
}

const (
	// lateMost is the age at which an instance counts as late, whatever its group shows. Nodes that took
	// longer waited for the end of a fault, such as a role that was not mapped.
	lateMost = time.Hour
	// lateSamples is how many nodes show when those of their group register.
	lateSamples = 5
)

// registersLate refuses to end an instance while the group's nodes show that it may still register: a boot
// that installs much takes longer than the deadline, and each of its replacements would be ended too.
func (p *planner) registersLate(f roll.Finding, launched time.Time) *Refusal {
	if f.Kind != roll.Unregistered {
		return nil
	}
	took := slices.Sorted(slices.Values(p.State.Groups[f.Group].Seconds))
	took = slices.DeleteFunc(took, func(s int) bool { return s > int(lateMost.Seconds()) })
	if len(took) < lateSamples {
		return nil
	}
	usually := time.Duration(took[len(took)/2]) * time.Second // of an even number the later one: half of them still registered then
	until := launched.Add(min(usually+usually/2, lateMost))
	if !p.Now.Before(until) {
		return nil
	}
	return p.refuseUntil(until, RegistersLate, "half of the latest %d nodes of %s registered %s after their launch or later, so %s has until %s: raise registration.deadline", len(took), f.Group, usually, f.Instance, roll.Clock(until))
}

// unmarkedObjects refuses for a Ready node on which only a label of Karpenter's is missing, and no startup taint keeps
// pods away: they run on it. Karpenter does not disrupt it either: it waits without a limit for a device of the node,
// which another node would miss too, or Karpenter itself is down, and then nothing would replace the node.
// https://github.com/aws/karpenter-provider-aws/issues/3910, https://github.com/aws/karpenter-provider-aws/issues/6803
func (p *planner) unmarkedObjects(f roll.Finding, _ Action, _ policy.Policy) *Refusal {
	if !p.onlyUnmarked(f) {
		return nil
	}
	return refuse(NodeReady, "node %s is Ready, and only a mark of Karpenter's is missing: no startup taint that the policy knows (initialization.taints) keeps pods away from it", f.Node)
}

// onlyUnmarked reports whether only a label of Karpenter's is missing on a Ready node, as far as the policy's startup
// taints show.
func (p *planner) onlyUnmarked(f roll.Finding) bool {
	n := p.nodes[f.Instance]
	return f.Kind == roll.Uninitialized && n != nil && n.Ready.Status == roll.ConditionTrue && n.StartupTaint == ""
}

// repaired reports whether the policy repairs the failed accelerator of a Ready node: its kubelet
// works, but its accelerator workloads do not.
func repaired(f roll.Finding, pol policy.Policy) bool {
	repair, ok := pol.Repairs(f)
	return ok && repair != roll.RepairHold
}

// evictsEarly reports the one case in which a working node is interrupted: EC2 has announced an
// interruption of the instance, and evicts no pods itself. So the pods are evicted before, within
// their disruption budgets. Terminating or restarting the instance is left to EC2.
func evictsEarly(f roll.Finding, act Action) bool {
	return f.Kind == roll.Scheduled && (act == Cordon || act == Drain)
}

// deleting refuses for nodeDeletes while somebody is deleting the node. A finalizer may keep the
// node forever. After nodeDeletes only deleting it again is refused.
func (p *planner) deleting(f roll.Finding, act Action, since time.Time) *Refusal {
	what := fmt.Sprintf("node %s is being deleted since %s", f.Node, roll.Clock(since))
	until := since.Add(nodeDeletes)
	switch {
	case p.Now.Before(until):
		return p.refuseUntil(until, NodeDeleting, "%s", what)
	case act == DeleteNode:
		return refuse(NodeDeleting, "%s: its finalizers keep it, and another deletion would not remove them", what)
	}
	return p.ownerTime(until, what)
}

// nodeDeletes is how long the deletion of a node may take: it may be drained first.
const nodeDeletes = time.Hour

// causeObjects checks what the diagnosis found: a shared cause, a cause outside the instance, a
// cause that passes, or replacements that fail the same way. It comes before the owner, since it
// explains more.
func (p *planner) causeObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	why := p.Diagnoses[f.Key()]
	if act == DeleteNode { // the owner replaces nothing after it
		return p.ladderInDoubt(f, act, pol)
	}
	if c, ok := why.Decisive(); ok && (c.Code == string(ZoneOutage) || c.Code == string(ClusterNotActive)) {
		return &Refusal{Reason: Reason(c.Code), Detail: c.Summary} // the diagnosis may find these limits first
	}
	if no := cmp.Or(p.shares.objects(f, why), causeOutside(p.State.Actions, f, why, pol), p.ladderInDoubt(f, act, pol)); no != nil {
		return no
	}
	for _, c := range why.Causes {
		switch {
		case !c.Proven():
		case c.Code == string(ReplacementRepeats):
			if p.toleratesRepeats(f) {
				continue // limits.replacements decides
			}
			return &Refusal{Reason: ReplacementRepeats, Detail: c.Summary}
		case c.Cure == roll.CureWait:
			return refuse(CausePasses, "%s: %s; the cause passes by itself, or is not the instance's fault", c.Code, c.Summary)
		}
	}
	return nil
}

// causeOutside refuses for a decisive cause that a person has to fix in a role, template, subnet or
// cluster. A replacement would have it too. The policy may allow one try per group.
func causeOutside(actions []ledger.Action, f roll.Finding, why roll.Diagnosis, pol policy.Policy) *Refusal {
	for _, c := range outside(why.Causes) {
		if c.Cure != roll.CureChange || c.Code == string(ReplacementRepeats) {
			continue
		}
		told := fmt.Sprintf("the cause %s lies in %s, not in the instance: a replacement would have it too", c.Code, c.Subject)
		if !pol.Limits.TryOnce {
			return refuse(CauseOutside, "%s", told)
		}
		if tried, ok := triedFor(actions, f, c.Code); ok {
			return refuse(CauseOutside, "%s, as %s had, which was terminated at %s", told, tried.Instance, roll.Clock(tried.At))
		}
	}
	return nil
}

// unreadObjects refuses for a possible cause that a replacement does not fix. Its evidence was
// unreadable, and nothing else was proven. It comes after the owner, about which more is known. The
// policy may allow one try per group.
func (p *planner) unreadObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	if act == DeleteNode { // the owner replaces nothing after it
		return nil
	}
	first, why := "", p.Diagnoses[f.Key()]
	asked := slices.DeleteFunc(slices.Clone(why.NotChecked), func(n roll.NotChecked) bool { return !n.Unread || !cause.Spares(n.Code) })
	for _, c := range why.Causes {
		if c.Confidence == roll.Decisive && !c.Symptom {
			return nil
		}
		if c.Proven() {
			first = cmp.Or(first, c.Code)
		}
		// A suggested cause counts even if only the console output could prove it.
		if c.Unread && cause.OutlastsEnd(c.Code) {
			asked = append(asked, roll.NotChecked{Code: c.Code, Reason: c.Unsettled, Unread: true, Passing: c.Passing})
		}
	}
	if len(asked) == 0 {
		return nil
	}
	n := asked[max(0, slices.IndexFunc(asked, func(n roll.NotChecked) bool { return !n.Passing }))]
	told := fmt.Sprintf("%s may be the cause, and a replacement would have it too, or it passes; what would show it could not be read: %s", n.Code, n.Reason)
	switch tried, ok := triedFor(p.State.Actions, f, first); {
	case n.Passing:
		return refuse(NotReadYet, "%s", told)
	case !pol.Limits.TryOnce:
		return refuse(CauseNotChecked, "%s", told)
	case ok:
		return refuse(CauseNotChecked, "%s; %s was terminated at %s", told, tried.Instance, roll.Clock(tried.At))
	}
	return nil
}

// triedFor returns the act that terminated another instance of the group for the same cause.
func triedFor(actions []ledger.Action, f roll.Finding, code string) (ledger.Action, bool) {
	return roll.Find(actions, func(a ledger.Action) bool {
		return a.Group == f.Group && a.Instance != f.Instance && a.Cause == code && Action(a.Do).replaced() && (a.Outcome == nil || a.Outcome.Result == ledger.Done)
	})
}

// ladderInDoubt refuses an act if a cause may exist whose own ladder does not contain the act.
func (p *planner) ladderInDoubt(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	for _, step := range p.ladder(f, pol) {
		if step.Doubt == "" || p.actionOf(step.Do, f, pol) != act {
			continue
		}
		key, why := policy.CauseKey{Kind: f.Kind, Code: step.Doubt}, p.Diagnoses[f.Key()]
		unsure := "nothing was checked for it"
		if i := slices.IndexFunc(why.NotChecked, func(n roll.NotChecked) bool { return n.Code == step.Doubt }); i >= 0 {
			unsure = why.NotChecked[i].Reason
		} else if len(why.Causes) > 0 {
			unsure = "it is only suggested"
		}
		return refuse(CauseNotChecked, "%s may be the cause (%s), and its ladder (ladders: %s) does not %s here", step.Doubt, unsure, key, act)
	}
	return nil
}

// sightingObjects requires that two checks saw the finding, and that remediate was on when it
// was found.
func (p *planner) sightingObjects(f roll.Finding, _ Action, pol policy.Policy) *Refusal {
	if p.Unremembered && pol.Mode != policy.Remediate {
		return nil
	}
	known, seen := p.State.Known(f)
	if no := notSeenTwice(known, seen, p.Now); no != nil {
		return no
	}
	f.Since = p.illSince(f)
	return foundBefore(f, known, p.since[f.Group], p.first())
}

// illSince returns when the first fault of any kind of the finding's instance began. Later findings
// of an instance that was faulty before the first complete check are left to a person too. An event that EC2
// has scheduled is no fault yet.
func (p *planner) illSince(f roll.Finding) time.Time {
	since := f.Since
	for i := range p.Assessment.Findings {
		if other := &p.Assessment.Findings[i]; other.Instance == f.Instance && other.Kind != roll.Scheduled && other.Since.Before(since) {
			since = other.Since
		}
	}
	return since
}

// clusterObjects checks whether the fault lies outside the instance: zonal shift, zone outage, mass
// silence, unhealthy share, recent trouble.
func (p *planner) clusterObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	limits, whole := p.Policy(roll.Selector{}).Limits, p.Assessment.Count[""]
	var silence, share *Refusal
	if f.Kind == roll.Unknown {
		silence = massSilence(f.Began, p.Assessment.Silent, whole.Nodes, limits.MassSilence)
	}
	if group, known := p.population(f); known {
		share = shareExceeded("group "+string(f.Group), group, pol.Limits.Unhealthy)
	}
	if no := cmp.Or(shifted(f, p.Snapshot), zoneOut(f.Zone, p.Assessment.Zones[f.Zone], limits.Zone), silence,
		shareExceeded("cluster "+p.Snapshot.Cluster.ID.Name, whole, limits.Unhealthy), share); no != nil {
		return no
	}
	if no := cooling(p.trouble, limits.StormCooldown, p.troubleLasts(), p.Now); no != nil {
		p.next(no.Until)
		return no
	}
	return p.recovering(f, act, limits.StormCooldown)
}

// recovering refuses while a node has time to recover: what was wrong lay outside its instance, or was
// wrong with too many, until this check or until lately. Kubelets try again at intervals, and nodes come
// back one after the other.
func (p *planner) recovering(f roll.Finding, act Action, wait time.Duration) *Refusal {
	known, _ := p.State.Known(f)
	ended := known.Eased
	if known.Outside {
		ended = p.Now
	}
	until := ended.Add(wait)
	if act == DeleteNode || ended.IsZero() || !p.Now.Before(until) {
		return nil
	}
	return p.refuseUntil(until, CauseEnded, "until %s its cause lay outside the instance, or too many nodes were unhealthy: it has until %s to recover (limits.stormCooldown)", roll.Clock(ended), roll.Clock(until))
}

// outsideReasons hold an act because what is wrong probably is not wrong with the instance.
var outsideReasons = []Reason{SharedCause, CauseOutside, CausePasses, UnhealthyShare}

// lastsOutside reports whether a finding's cause lies outside its instance, or too many nodes are
// unhealthy. If this check cannot tell, that is as before.
func (p *planner) lastsOutside(f roll.Finding, known ledger.Finding) bool {
	if !recovers(f.Kind) {
		return false
	}
	v := p.verdicts[f.Key()]
	switch {
	case v.held != nil && slices.Contains(outsideReasons, v.held.Reason),
		causeOutside(p.State.Actions, f, p.Diagnoses[f.Key()], p.Policy(f.Selector)) != nil: // perhaps within its tolerance
		return true
	case v.order != nil, v.held != nil && (v.held.Reason == CauseEnded || v.held.Reason == StormCooldown): // all others come first
		return false
	}
	return known.Outside
}

// recovers reports whether a fault of this kind ends by itself once its cause does.
func recovers(k roll.Kind) bool {
	return k == roll.Unregistered || k == roll.Uninitialized || k == roll.NotReady || k == roll.Unknown
}

// population returns the count of the finding's group; false if it cannot be counted. A check of
// one instance sees nodes without their Auto Scaling group, and uses the desired capacity instead, but no more than the
// group has instances: the desired capacity may be in other units.
func (p *planner) population(f roll.Finding) (assess.Count, bool) {
	c := p.Assessment.Count[f.Group]
	if f.Owner == roll.OwnerAutoScalingGroup && !p.wholeCluster() {
		g := p.Snapshot.Groups[f.Group]
		c.Nodes = min(g.Desired, g.Instances)
	}
	return c, f.Group != roll.GroupNone && c.Nodes > 0
}

// historyObjects checks the acts before this one.
func (p *planner) historyObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	id := p.orderID(f, act)
	if no := triedBefore(p.State, id, p.Now); no != nil {
		return no
	}
	if no := p.otherFirst(f, act); no != nil {
		return no
	}
	if inProgress(p.State, id) {
		return nil // checked when it began
	}
	if no := p.groupObjects(f, act, pol); no != nil {
		return no
	}
	if a, ok := p.State.Unresolved(f.Instance, f.Group); ok {
		return refuse(ActionUnresolved, "%s of %s, begun at %s, has no outcome yet", a.Do, a.Instance, roll.Clock(a.At))
	}
	so := p.ordered(pol.Mode)
	if so.instances[f.Instance] {
		return refuse(OtherFinding, "another finding of %s has an order in this check", f.Instance)
	}
	if f.Group != roll.GroupNone && so.groups[f.Group] > 0 {
		if pol.Mode != policy.Remediate {
			return refuse(OneAtATime, "another instance of %s would come first; mode %s allows no act on either", f.Group, pol.Mode)
		}
		return refuse(OneAtATime, "another instance of %s comes first in this check", f.Group)
	}
	return nil
}

// otherFirst refuses while another finding of the same instance comes first. A node whose kubelet
// answers is drained first, whatever EC2's status checks say. An act for another finding gets time
// to have an effect. Deleting the Node of a gone instance waits for neither.
func (p *planner) otherFirst(f roll.Finding, act Action) *Refusal {
	if act == DeleteNode {
		return nil
	}
	if n := p.nodes[f.Instance]; f.Kind == roll.Impaired && n != nil && n.Ready.Status == roll.ConditionFalse {
		return refuse(OtherFinding, "node %s still answers: it is drained first, by the ladder of its own finding", n.Name)
	}
	for _, a := range p.State.Actions {
		if a.Instance != f.Instance || a.Kind == f.Kind || !a.Interrupted() || a.Outcome == nil {
			continue
		}
		shows := actShows
		if Action(a.Do) == Reboot {
			shows = max(shows, p.Policy(f.Selector).Reboot.Wait)
		}
		if until := a.Outcome.At.Add(shows); p.Now.Before(until) {
			return p.refuseUntil(until, OtherFinding, "%s for another finding (%s) at %s has until %s to show its effect", a.Do, a.Kind, roll.Clock(a.Outcome.At), roll.Clock(until))
		}
	}
	return nil
}

// actShows is the minimum time for which an act for one finding blocks acts for the other findings of the
// instance.
const actShows = 10 * time.Minute

// budgetObjects checks the limits on numbers. The cluster's limits count all acts, a group's the
// acts on its members. An override can slow down a group, but cannot speed up the cluster.
func (p *planner) budgetObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	if inProgress(p.State, p.orderID(f, act)) {
		return nil // already counted
	}
	so, cluster := p.ordered(pol.Mode), p.Policy(roll.Selector{}).Limits
	return cmp.Or(
		actionsPerHourSpent("the cluster", p.State.Actions, f.Instance, so.anew[""], cluster.ActionsPerHour, p.Now),
		actionsPerHourSpent(string(f.Group), p.State.ActsOf(f.Group, p.Now.Add(-Hour)), f.Instance, so.anew[f.Group], pol.Limits.ActionsPerHour, p.Now),
		actionsPerCheckSpent("the cluster", so.groups[""], cluster.ActionsPerCheck),
		actionsPerCheckSpent(string(f.Group), so.groups[f.Group], pol.Limits.ActionsPerCheck),
	)
}

// unread refuses because a call failed. The reason is the given one, or NotReadYet if every failure
// of the call is temporary. Otherwise an occasionally throttled service would make news of every
// finding.
func unread(s *roll.Snapshot, reason Reason, call, detail string) *Refusal {
	passes := false
	for _, g := range s.Gaps {
		if g.Call == call && !g.Kind.Passing() {
			return &Refusal{Reason: reason, Detail: detail} // this failure does not pass
		}
		passes = passes || g.Call == call
	}
	if passes {
		return &Refusal{Reason: NotReadYet, Detail: detail + " in this check; the next one asks again"}
	}
	return &Refusal{Reason: reason, Detail: detail}
}
