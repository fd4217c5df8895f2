package plan

import (
	"fmt"
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
func (p *planner) ownerObjects(f roll.Finding, act Action, pol policy.Policy) (Reason, string, bool) {
	if !mayAct(f, pol, act) {
		if f.Owner == roll.OwnerAutoMode || f.Owner == roll.OwnerClusterAPI {
			return OwnerNotifyOnly, fmt.Sprintf("owner is %s, which manages its nodes by itself: Rollcall only tells of them", f.Owner), true
		}
		return OwnerNotifyOnly, fmt.Sprintf("policy says owners.%s: notify", f.Owner), true
	}
	i, d := p.instances[f.Instance], p.Snapshot.Details[f.Instance]
	var reason Reason
	var detail string
	var held bool
	switch f.Owner {
	case roll.OwnerKarpenter:
		reason, detail, held = p.karpenterObjects(f, act, d)
	case roll.OwnerManagedNodeGroup, roll.OwnerAutoScalingGroup:
		reason, detail, held = p.scalingObjects(f, act)
	case roll.OwnerNone:
		if f.Kind == roll.Unregistered && d.Bootstraps == roll.No {
			return NoNodeIntent, fmt.Sprintf("nothing shows that %s is meant to be a node", f.Instance), true
		}
	}
	if held || act == DeleteNode {
		return reason, detail, held
	}
	if reason, detail, held = Protection(p.Snapshot, *i); held {
		return reason, detail, held
	}
	if i.CapacityBlock && act != Reboot {
		return ReplacementUnavailable, fmt.Sprintf("%s runs in a Capacity Block: what is terminated there cannot be launched again at will", i.ID), true
	}
	return "", "", false
}

// karpenterObjects leaves Karpenter what it does by itself.
func (p *planner) karpenterObjects(f roll.Finding, act Action, d roll.Detail) (Reason, string, bool) {
	until, what := p.karpenterActs(f, act)
	if act != DeleteNode {
		switch {
		case d.HasNodeClaim == roll.NotAsked || d.HasNodeClaim == roll.Unreadable:
			reason, detail, held := unread(p.Snapshot, OwnerUnknown, roll.CallNodeClaims, fmt.Sprintf("whether a NodeClaim of Karpenter has %s could not be read", f.Instance))
			if reason == OwnerUnknown {
				detail += ": apply infra/rbac.yaml"
			}
			return reason, detail, held
		case d.NodeClaim != nil && d.NodeClaim.Deleting:
			return OwnerWillAct, fmt.Sprintf("Karpenter is removing its NodeClaim %s already", d.NodeClaim.Name), true
		case act == DeleteNodeClaim && d.NodeClaim == nil:
			return OwnerUnknown, fmt.Sprintf("no NodeClaim has %s, so there is none to delete", f.Instance), true
		}
	}
	if p.Now.Before(until) {
		p.passes(until)
		return OwnerWillAct, fmt.Sprintf("%s; it is left to it until %s", what, roll.Clock(until)), true
	}
	return "", "", false
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
	case f.Kind == roll.ConditionFailed && f.Condition == "AcceleratedHardwareReady":
		return f.Began.Add(karpenterRepairsAccelerated + karpenterRepairGrace), "Karpenter replaces such nodes if its node repair is on"
	case f.Kind == roll.NotReady || f.Kind == roll.Unknown || f.Kind == roll.ConditionFailed:
		return f.Began.Add(karpenterRepairs + karpenterRepairGrace), "Karpenter replaces such nodes if its node repair is on"
	case f.Kind == roll.Impaired:
		return f.Began.Add(karpenterCollects), "Karpenter replaces instances with failing status checks if its node repair is on"
	}
	return time.Time{}, ""
}

// scalingObjects leaves Auto Scaling and EKS what they do by themselves, and asks
// whether the group can replace the instance at all.
func (p *planner) scalingObjects(f roll.Finding, act Action) (Reason, string, bool) {
	if act == DeleteNode {
		return "", "", false
	}
	g := p.Snapshot.Groups[f.Group]
	if f.Kind == roll.Impaired && g.ReplaceSuspended != roll.Yes {
		if g.ReplaceSuspended == roll.No {
			return OwnerWillAct, fmt.Sprintf("%s replaces instances whose status checks fail", f.Group), true
		}
		return unread(p.Snapshot, OwnerUnknown, roll.CallAutoScalingGroups, fmt.Sprintf("whether %s replaces instances whose status checks fail could not be read (%s)", f.Group, roll.CallAutoScalingGroups))
	}
	n := p.nodes[f.Instance]
	if f.Owner == roll.OwnerManagedNodeGroup && n != nil && (f.Kind != roll.Uninitialized || n.Ready.Status != roll.ConditionTrue) {
		// Node auto repair looks at the conditions of nodes: not at an instance that never
		// registered, nor at a taint that stays on a Ready node.
		switch g.AutoRepair {
		case roll.Yes:
			return OwnerWillAct, fmt.Sprintf("EKS node auto repair is on for %s and repairs such nodes", f.Group), true
		case roll.NotAsked, roll.Unreadable:
			return unread(p.Snapshot, OwnerUnknown, roll.CallNodegroup, fmt.Sprintf("whether EKS node auto repair is on for %s could not be read (%s)", f.Group, roll.CallNodegroup))
		}
	}
	if act == Reboot {
		return "", "", false // it replaces nothing
	}
	switch {
	case g.LaunchSuspended == roll.Yes:
		return ReplacementUnavailable, fmt.Sprintf("the process Launch of the Auto Scaling group of %s is suspended: nothing would replace %s", f.Group, f.Instance), true
	case g.LaunchSuspended == roll.NotAsked || g.LaunchSuspended == roll.Unreadable:
		return unread(p.Snapshot, OwnerUnknown, roll.CallAutoScalingGroups, fmt.Sprintf("whether %s can launch a replacement could not be read (%s)", f.Group, roll.CallAutoScalingGroups))
	case g.CapacityRead != roll.Yes:
		return unread(p.Snapshot, OwnerUnknown, roll.CallScalingActivities, fmt.Sprintf("whether launches of %s failed lately could not be read (%s)", f.Group, roll.CallScalingActivities))
	case !g.CapacityError.IsZero() && p.Now.Sub(g.CapacityError) < capacityMemory:
		p.passes(g.CapacityError.Add(capacityMemory))
		return ReplacementUnavailable, fmt.Sprintf("the last launch of %s failed at %s: %s", f.Group, roll.Clock(g.CapacityError), g.CapacityMessage), true
	}
	return "", "", false
}

// capacityMemory is how long a launch that failed for lack of capacity speaks against
// giving an instance away.
const capacityMemory = time.Hour
