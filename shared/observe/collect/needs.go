package collect

import (
	"slices"

	"rollcall/shared/roll"
)

// need is a part of the evidence that a diagnosis needs. The cluster and the instance itself are
// read for every finding.
type need uint16

// The needs.
const (
	needStatus   need = 1 << iota // EC2's status checks
	needUserData                  // user data and launch template
	needImage                     // AMI
	needConsole                   // console output
	needRole                      // instance profile, role, policies
	needAuth                      // aws-auth and access entries
	needNetwork                   // subnet, routes, ACL, security groups, VPC and its endpoints
	needNode                      // the Node and its Lease
	needEvents                    // events about the node
	needPods                      // pods on the node
	needWebhooks                  // admission webhooks that are called for nodes
	needPlugin                    // DaemonSets, where no node has a network plugin
	needBudgets                   // disruption budgets of the pods on the node
	needOwner                     // what launched it: node group, Auto Scaling group, node pool, NodeClaim
)

// needs lists what the diagnosis of each kind of finding needs.
//
// An instance that never registered may have failed at any step between its user data and the API
// server. A node that exists passed these steps, but user data also sets its taints and flags. A
// node that was ready and fell silent may have lost its network path or its permissions. Its user
// data is not the cause, but shows whether the path leads through a proxy. If its kubelet runs, a webhook may
// refuse its reports.
var needs = map[roll.Kind]need{
	roll.Unregistered:    needStatus | needUserData | needImage | needConsole | needRole | needAuth | needNetwork | needWebhooks | needOwner,
	roll.Uninitialized:   needStatus | needUserData | needImage | needConsole | needRole | needNetwork | needNode | needEvents | needPods | needWebhooks | needPlugin | needOwner,
	roll.NotReady:        needStatus | needUserData | needImage | needConsole | needRole | needNetwork | needNode | needEvents | needPods | needWebhooks | needPlugin | needOwner,
	roll.Unknown:         needStatus | needUserData | needImage | needConsole | needRole | needAuth | needNetwork | needNode | needEvents | needPods | needWebhooks | needOwner,
	roll.ConditionFailed: needStatus | needConsole | needNode | needEvents | needPods | needOwner,
	roll.Flapping:        needStatus | needUserData | needConsole | needNode | needEvents | needPods | needOwner,
	roll.Impaired:        needStatus | needConsole | needNode | needOwner,
	roll.Scheduled:       needStatus | needNode,
	roll.Ghost:           needNode | needOwner,
	roll.Orphaned:        needOwner,
	roll.Stuck:           needNode | needEvents | needPods | needBudgets | needOwner,
	roll.Unlaunched:      0, // the message of Karpenter or Auto Scaling is in the finding
}

// conditionNetworking is the node condition with which the node monitoring agent reports a fault of
// a node's network.
// https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
const conditionNetworking = "NetworkingReady"

func needsOf(f *roll.Finding) need {
	if _, ok := f.Instance.Leftover(); ok {
		return 0 // EC2's report is in the finding
	}
	if f.Contradiction != "" {
		return needNode | needOwner // no cause is searched for
	}
	n := needs[f.Kind]
	if f.Condition == conditionNetworking {
		n |= needNetwork
	}
	if ofWindows(f) {
		n |= needAuth
	}
	return n
}

// ofWindows reports whether the finding is about a Windows node that registered, and whose role
// must be mapped in another way than a Linux node's for its network to work.
func ofWindows(f *roll.Finding) bool {
	return f.Selector.Preset == roll.PresetWindows && (f.Kind == roll.Uninitialized || f.Kind == roll.NotReady)
}

// wanted returns the findings to diagnose, the most urgent first: those past watching.
func wanted(in Input) []roll.Finding {
	if in.Whole {
		return in.Findings
	}
	return slices.DeleteFunc(slices.Clone(in.Findings), func(f roll.Finding) bool { return !f.Stage.Past(roll.Watching) })
}
