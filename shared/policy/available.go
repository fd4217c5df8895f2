package policy

import "rollcall/shared/roll"

// allowedRules has what may happen to the instances of each owner.
var allowedRules = map[roll.Owner][]OwnerRule{
	roll.OwnerAutoMode:         {OwnerNotify},
	roll.OwnerKarpenter:        {OwnerNotify, OwnerTerminate, OwnerDeleteNodeClaim},
	roll.OwnerManagedNodeGroup: {OwnerNotify, OwnerTerminate},
	roll.OwnerAutoScalingGroup: {OwnerNotify, OwnerTerminate},
	roll.OwnerClusterAPI:       {OwnerNotify},
	roll.OwnerNone:             {OwnerNotify, OwnerTerminate},
}

// notifyOnly is why an owner has no rule but notify.
var notifyOnly = map[roll.Owner]string{
	roll.OwnerAutoMode:   "EKS repairs and replaces the nodes of Auto Mode itself",
	roll.OwnerClusterAPI: "Cluster API replaces its machines itself",
}

// use is whether a step has an effect in the ladder of a kind.
type use uint8

const (
	useful    use = iota // carried out
	idle                 // valid, but it never happens
	senseless            // rejected: it makes no sense
)

// Why a step has no effect for a kind.
const (
	noInstance = "its instance is gone"
	onlyTold   = "such a finding is only reported: nothing is written or done about it"
	noNode     = "is skipped: there is no node"
	readyNode  = "is always held: a node with this finding is Ready, and a Ready node is not interrupted"
)

// useOf returns whether a verb has an effect in the ladder of a kind, and if not, why. Verbs that
// only report are useful for every kind.
func useOf(do Do, kind roll.Kind) (use, string) {
	if do == DoWarn || do == DoNotify {
		return useful, ""
	}
	switch {
	case kind.OnlyTold():
		return senseless, onlyTold
	case do == DoDeleteNode && kind == roll.Ghost:
		return useful, ""
	case do == DoDeleteNode:
		return senseless, "only a Ghost's node is deleted"
	case kind == roll.Ghost:
		return senseless, noInstance
	case do == DoTag:
		return useful, ""
	}
	switch kind {
	case roll.Unregistered, roll.Orphaned:
		switch {
		case do == DoCordon || do == DoDrain:
			return idle, noNode
		case do == DoReboot && kind == roll.Orphaned:
			return senseless, "nothing would own the instance afterwards either"
		}
	case roll.Unknown:
		if do == DoCordon || do == DoDrain {
			return idle, "is skipped: a silent node cannot be drained, and gets no new pods"
		}
	case roll.Scheduled:
		if do == DoReboot || do == DoTerminate {
			return senseless, "EC2 carries out the event itself; only the node is drained before it"
		}
	case roll.ConditionFailed, roll.Flapping:
		return idle, readyNode
	}
	return useful, ""
}
