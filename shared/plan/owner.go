package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// What owners do by themselves, and how long they are given for it. Acting beside them
// would fight them; acting after them is what Rollcall is for.
const (
	// karpenterRegisters is Karpenter's registration timeout, a constant of its
	// NodeClaim lifecycle controller.
	karpenterRegisters = 15 * time.Minute
	// karpenterGrace is what Karpenter is given beyond it: its controllers poll.
	karpenterGrace = 5 * time.Minute
	// karpenterRepairs and karpenterRepairsAccelerated are the tolerances of Karpenter's
	// node repair on AWS, and karpenterRepairGrace what it is given beyond them. Node
	// repair is behind a feature gate that nobody can read from outside; if the time
	// has passed and nothing happened, it is off.
	// https://karpenter.sh/docs/concepts/disruption/#node-auto-repair
	karpenterRepairs            = 30 * time.Minute
	karpenterRepairsAccelerated = 10 * time.Minute
	karpenterRepairGrace        = 10 * time.Minute
	// karpenterDrains is how long Karpenter is given to remove a NodeClaim: it drains the
	// node first.
	karpenterDrains = time.Hour
	// autoRepairs is how long EKS node auto repair is given from the transition on: it
	// repairs 30 minutes after it, and drains the node first.
	// https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html
	autoRepairs = time.Hour
	// groupReplaces is how long an Auto Scaling group is given to replace an instance
	// whose status checks fail.
	groupReplaces = 30 * time.Minute
	// ownerSilence is how long an act waits once its owner's time is over, so that whoever
	// is told that the owner did nothing can do something else first.
	ownerSilence = 15 * time.Minute
	// karpenterMoves is how long Karpenter is given from the first sight of a scheduled event.
	// With an interruption queue, or the permission ec2:DescribeInstanceStatus, it deletes the
	// NodeClaim within a minute or two; nobody can tell from outside whether it has either.
	// https://karpenter.sh/docs/concepts/disruption/#interruption
	karpenterMoves = 10 * time.Minute
	// karpenterCollects is how long Karpenter is given to remove a node whose instance
	// is gone, or one with a failing status check.
	karpenterCollects = 10 * time.Minute
)

// mayAct reports whether policy lets the act happen to instances of the owner at all.
func mayAct(f roll.Finding, pol policy.Policy, act Action) bool {
	switch f.Owner {
	case roll.OwnerAutoMode, roll.OwnerClusterAPI:
		return false
	}
	if act == DeleteNode && f.Kind == roll.Ghost {
		return true // nothing is ended by it; of an instance that is only stopped the owner decides
	}
	switch pol.Owners[f.Owner] {
	case policy.OwnerTerminate:
		return true
	case policy.OwnerDeleteNodeClaim:
		return f.Owner == roll.OwnerKarpenter
	}
	return false
}

// ownerObjects tells whether the owner, or the lack of one, forbids the act.
func (p *planner) ownerObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	if !mayAct(f, pol, act) {
		if f.Owner == roll.OwnerAutoMode || f.Owner == roll.OwnerClusterAPI {
			return refuse(OwnerNotifyOnly, "owner is %s, which manages its nodes by itself: Rollcall only tells of them", f.Owner)
		}
		return refuse(OwnerNotifyOnly, "policy says owners.%s: notify", f.Owner)
	}
	i, d := p.instances[f.Instance], p.Snapshot.Details[f.Instance]
	var no *Refusal
	switch f.Owner {
	case roll.OwnerKarpenter:
		no = p.karpenterObjects(f, act, d)
	case roll.OwnerManagedNodeGroup, roll.OwnerAutoScalingGroup:
		no = p.scalingObjects(f, act)
	case roll.OwnerNone:
		if f.Kind == roll.Unregistered && d.Bootstraps == roll.No {
			return refuse(NoNodeIntent, "nothing shows that %s is meant to be a node", f.Instance)
		}
	}
	if no != nil || act == DeleteNode {
		return no
	}
	if no := cmp.Or(p.intentObjects(f, d), Protection(p.Snapshot, *i), p.leaseObjects(f, d)); no != nil {
		return no
	}
	if i.CapacityBlock && act != Reboot {
		return refuse(ReplacementUnavailable, "%s runs in a Capacity Block: what is terminated there cannot be launched again at will", i.ID)
	}
	return nil
}

// leaseObjects leaves alone what has no node and may have a kubelet that renews a lease: its
// Node was deleted, or is missing in a list, and it may do its work.
func (p *planner) leaseObjects(f roll.Finding, d roll.Detail) *Refusal {
	asked := p.nodes[f.Instance] == nil && (f.Kind == roll.Unregistered || f.Kind == roll.Orphaned || f.Worked)
	if !asked || d.LeaseRead == roll.No || d.LeaseRead == roll.Yes {
		return nil
	}
	no := unread(p.Snapshot, ProtectionUnknown, roll.CallLease, fmt.Sprintf("no node carries the id of %s, and whether a kubelet on it renews a lease could not be read (%s)", f.Instance, roll.CallLease))
	if i := p.instances[f.Instance]; no.Reason == ProtectionUnknown && i.PrivateDNS == "" {
		no.Detail += ": EC2 gives it no private DNS name, by which its lease would be called"
	} else if no.Reason == ProtectionUnknown && slices.ContainsFunc(p.Snapshot.Gaps, func(g roll.Gap) bool { return g.Call == roll.CallLease && g.Kind == roll.GapDenied }) {
		no.Detail += ": apply infra/rbac.yaml"
	}
	return no
}

// karpenterObjects leaves Karpenter what it does by itself.
func (p *planner) karpenterObjects(f roll.Finding, act Action, d roll.Detail) *Refusal {
	until, what := p.karpenterActs(f, act)
	if act != DeleteNode {
		switch {
		case d.HasNodeClaim == roll.NotAsked || d.HasNodeClaim == roll.Unreadable:
			no := unread(p.Snapshot, OwnerUnknown, roll.CallNodeClaims, fmt.Sprintf("whether a NodeClaim of Karpenter has %s could not be read", f.Instance))
			if no.Reason == OwnerUnknown {
				no.Detail += ": apply infra/rbac.yaml"
			}
			return no
		case d.NodeClaim != nil && !d.NodeClaim.DeletedAt.IsZero():
			deleted := d.NodeClaim.DeletedAt
			if no := p.ownerTime(deleted.Add(karpenterDrains), fmt.Sprintf("Karpenter has been removing its NodeClaim %s since %s", d.NodeClaim.Name, roll.Clock(deleted))); no != nil {
				return no
			}
		case act == DeleteNodeClaim && d.NodeClaim == nil:
			return refuse(OwnerUnknown, "no NodeClaim has %s, so there is none to delete", f.Instance)
		}
	}
	if f.Kind == roll.Scheduled {
		if no := p.ownerTime(until, what); no != nil {
			return no
		}
	}
	if p.Now.Before(until) {
		return p.passing(until, OwnerWillAct, "%s; it is left to it until %s", what, roll.Clock(until))
	}
	return p.launchesFail(f, act)
}

// ownerTime leaves a finding to its owner until the owner's time is over, and then says for
// ownerSilence that the owner did not act, before the ladder goes on. what says what the
// owner does.
func (p *planner) ownerTime(until time.Time, what string) *Refusal {
	goesOn := until.Add(ownerSilence)
	switch {
	case p.Now.Before(until):
		return p.passing(until, OwnerWillAct, "%s; it is left to it until %s", what, roll.Clock(until))
	case p.Now.Before(goesOn):
		return p.passing(goesOn, OwnerDidNotAct, "%s, and its time was over at %s; the ladder goes on at %s", what, roll.Clock(until), roll.Clock(goesOn))
	}
	return nil
}

// launchesFail holds what would need a replacement while the latest launch of the group
// failed, for whatever reason. No time lifts it: a launch that works does, or a person who
// takes the loss.
func (p *planner) launchesFail(f roll.Finding, act Action) *Refusal {
	g := p.Snapshot.Groups[f.Group]
	if act == Reboot || act == DeleteNode || f.Kind == roll.Orphaned || g.LaunchFailed.IsZero() || p.lossTaken(f) {
		return nil
	}
	return refuse(ReplacementUnavailable, "the latest launch of %s failed at %s: %s", f.Group, roll.Clock(g.LaunchFailed), g.LaunchMessage)
}

// lossTaken reports that a person lets an instance go although nothing shows that another
// one will come: by its tag, or by the policy.
func (p *planner) lossTaken(f roll.Finding) bool {
	i := p.instances[f.Instance]
	return i != nil && i.Replace || p.Policy(f.Selector).Limits.WithoutReplacement == policy.WithoutReplacementProceed
}

// karpenterActs is until when a finding is Karpenter's own business, and why; zero if
// it is not.
func (p *planner) karpenterActs(f roll.Finding, act Action) (time.Time, string) {
	launched := f.Began
	if i := p.instances[f.Instance]; i != nil {
		launched = i.Launched
	}
	n := p.nodes[f.Instance]
	unregistered := f.Kind == roll.Unregistered || f.Kind == roll.Uninitialized && n != nil && !n.Registered
	switch {
	case act == DeleteNode:
		return f.Due.Add(karpenterCollects), "Karpenter removes nodes whose instance is gone"
	case unregistered && act == DeleteNodeClaim:
		return time.Time{}, "" // that is what the policy chose it for: another deadline
	case unregistered:
		return launched.Add(karpenterRegisters + karpenterGrace), "Karpenter ends instances that do not register within 15 min"
	case f.Kind == roll.ConditionFailed && f.Condition == roll.AcceleratedHardware:
		return f.Began.Add(karpenterRepairsAccelerated + karpenterRepairGrace), "Karpenter replaces such nodes if its node repair is on"
	case f.Kind == roll.NotReady || f.Kind == roll.Unknown || f.Kind == roll.ConditionFailed:
		return f.Began.Add(karpenterRepairs + karpenterRepairGrace), "Karpenter replaces such nodes if its node repair is on"
	case f.Kind == roll.Scheduled:
		return f.Since.Add(karpenterMoves), "Karpenter moves what runs on such an instance if its interruption handling is on"
	case f.Kind == roll.Impaired:
		return f.Began.Add(karpenterCollects), "Karpenter replaces instances with failing status checks if its node repair is on"
	}
	return time.Time{}, ""
}

// scalingObjects leaves Auto Scaling and EKS what they do by themselves, and asks
// whether the group can replace the instance at all.
func (p *planner) scalingObjects(f roll.Finding, act Action) *Refusal {
	if act == DeleteNode {
		return nil
	}
	if no := p.groupAtRest(f); no != nil {
		return no
	}
	if until, what := p.scalingActs(f); what != "" {
		if no := p.ownerTime(until, what); no != nil {
			return no
		}
	}
	g := p.Snapshot.Groups[f.Group]
	if act == Reboot {
		return nil // it replaces nothing
	}
	if g.LaunchesRead != roll.Yes {
		return unread(p.Snapshot, OwnerUnknown, roll.CallScalingActivities, fmt.Sprintf("whether the latest launch of %s failed could not be read (%s)", f.Group, roll.CallScalingActivities))
	}
	return p.launchesFail(f, act)
}

// scalingActs is until when a finding is left to EKS or to the Auto Scaling group, and why: of
// the two EKS has the longer time. "" if neither does anything about it.
func (p *planner) scalingActs(f roll.Finding) (time.Time, string) {
	n := p.nodes[f.Instance]
	switch {
	// The group, also one of a managed node group, replaces an instance when the time comes for
	// which an event is scheduled, and not before; so until then nobody moves what runs there.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-checks-overview.html
	case f.Kind == roll.Scheduled:
	// Node auto repair looks at the conditions of nodes: not at an instance that never
	// registered, nor at a taint that stays on a Ready node.
	case f.Owner == roll.OwnerManagedNodeGroup && p.Snapshot.Groups[f.Group].AutoRepair == roll.Yes && n != nil && (f.Kind != roll.Uninitialized || n.Ready.Status != roll.ConditionTrue):
		return f.Began.Add(autoRepairs), fmt.Sprintf("EKS node auto repair is on for %s and repairs such nodes", f.Group)
	case f.Kind == roll.Impaired:
		return f.Began.Add(groupReplaces), fmt.Sprintf("%s replaces instances whose status checks fail", f.Group)
	}
	return time.Time{}, ""
}

// groupAtRest holds every act on a group that somebody works on or that is in trouble
// itself: suspended processes keep an instance as it is, and from a node group that is not
// in order nothing comes back for certain.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-suspend-resume-processes.html
func (p *planner) groupAtRest(f roll.Finding) *Refusal {
	g := p.Snapshot.Groups[f.Group]
	switch {
	case g.ReplaceSuspended == roll.Yes:
		return refuse(GroupSuspended, "somebody suspended %s of the Auto Scaling group of %s, so that its instances are left as they are", g.Suspended, f.Group)
	case g.LaunchSuspended == roll.Yes:
		return refuse(GroupSuspended, "the process Launch of the Auto Scaling group of %s is suspended: nothing would replace %s", f.Group, f.Instance)
	case g.LaunchSuspended != roll.Yes && g.LaunchSuspended != roll.No, g.ReplaceSuspended != roll.No:
		return unread(p.Snapshot, OwnerUnknown, roll.CallAutoScalingGroups, fmt.Sprintf("whether processes of the Auto Scaling group of %s are suspended could not be read (%s)", f.Group, roll.CallAutoScalingGroups))
	case f.Owner == roll.OwnerManagedNodeGroup && g.AutoRepair != roll.Yes && g.AutoRepair != roll.No:
		return unread(p.Snapshot, OwnerUnknown, roll.CallNodegroup, fmt.Sprintf("the state of %s, and whether EKS repairs its nodes, could not be read (%s)", f.Group, roll.CallNodegroup))
	case g.Issues != "":
		return refuse(NodeGroupUnhealthy, "EKS reports of %s: %s", f.Group, g.Issues)
	case g.Status != "" && g.Status != nodeGroupActive:
		return refuse(NodeGroupUnhealthy, "%s is %s, not %s", f.Group, g.Status, nodeGroupActive)
	}
	return nil
}

// nodeGroupActive is the status of a managed node group that is in order.
const nodeGroupActive = "ACTIVE"
