package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// How long owners have for their own repairs. Rollcall acts after them, never at the same time.
const (
	// karpenterRegisters is Karpenter's registration timeout, a constant of its
	// NodeClaim lifecycle controller.
	karpenterRegisters = 15 * time.Minute
	// karpenterGrace is added to karpenterRegisters, since Karpenter's controllers poll.
	karpenterGrace = 5 * time.Minute
	// karpenterRepairs and karpenterRepairsAccelerated are the tolerances of Karpenter's node
	// repair on AWS, the second for repairedSoon; karpenterRepairGrace is added to them. The feature
	// gate of node repair is not visible from outside. If nothing happened in that time, it is off.
	// https://karpenter.sh/docs/concepts/disruption/#node-auto-repair
	karpenterRepairs            = 30 * time.Minute
	karpenterRepairsAccelerated = 10 * time.Minute
	karpenterRepairGrace        = 10 * time.Minute
	// karpenterDrains is how long Karpenter has to remove a NodeClaim; it drains the node first.
	karpenterDrains = time.Hour
	// karpenterReplaces is the maximum time for which Karpenter waits for the replacement of a
	// NodeClaim before it deletes the NodeClaim or gives up.
	// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/disruption/queue.go
	karpenterReplaces = time.Hour
	// karpenterReboots is how long Karpenter has to reboot an instance and see its node Ready: it drains the node first,
	// then waits 20 minutes, and deletes the NodeClaim of a node that does not return.
	// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/reboot/controller.go
	karpenterReboots = time.Hour
	// autoRepairs is how long EKS node auto repair has after the transition. It waits 30 minutes,
	// unless the node group says otherwise for the reason, and drains the node first. That takes up to
	// autoDrains.
	// https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html
	autoDrains  = 30 * time.Minute
	autoRepairs = 30*time.Minute + autoDrains
	// groupReplaces is how long an Auto Scaling group has to replace an instance with failing
	// status checks.
	groupReplaces = 30 * time.Minute
	// autoscalerRegisters is Cluster Autoscaler's max-node-provision-time, after which it removes an
	// instance that did not register, and lowers the desired capacity: another group may have room. If it
	// did not by autoscalerGrace later, it does not run, or may not shrink the group.
	// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
	autoscalerRegisters = 15 * time.Minute
	autoscalerGrace     = 5 * time.Minute
	// autoscalerRemoves is how long Cluster Autoscaler has to remove a node: it waits up to 10 minutes for
	// its pods (max-graceful-termination-sec).
	autoscalerRemoves = 30 * time.Minute
	// agentCordons is the maximum time between the cordon of an agent and the silence of the node that counts as its
	// work: it drains the node in between. agentReturns is how long the node has from then on to start again.
	agentCordons = time.Hour
	agentReturns = 30 * time.Minute
	// ownerSilence is how long an act waits after the owner's time. A person who reads that the
	// owner did not act can use it to do something else.
	ownerSilence = 15 * time.Minute
	// karpenterMoves is how long Karpenter has after the first sighting of a scheduled event. With
	// an interruption queue, or the permission ec2:DescribeInstanceStatus, it deletes the NodeClaim
	// within two minutes. Neither is visible from outside.
	// https://karpenter.sh/docs/concepts/disruption/#interruption
	karpenterMoves = 10 * time.Minute
	// karpenterCollects is how long Karpenter has to remove a node whose instance is gone, or fails
	// its status checks.
	karpenterCollects = 10 * time.Minute
)

// repairedSoon matches the reasons of a failed accelerator for which Karpenter's tolerance is short. Before
// version 1.15 it was short for all of them.
// https://karpenter.sh/docs/concepts/disruption/#monitored-node-conditions
var repairedSoon = regexp.MustCompile(`XID(46|48|54|62|63|64|74|79|95|109|110|119|120|136|140|143|155|156|158)Error`)

// agents are the field managers of programs that cordon a node before they reboot it or EC2 interrupts its instance:
// neither names itself to the API server, which then takes the name of the program. Their labels and annotations depend
// on settings and show no cordon: kured annotates a node that only waits for its turn, too.
// https://github.com/kubereboot/kured/blob/main/cmd/kured/main.go
// https://github.com/aws/aws-node-termination-handler/blob/main/pkg/node/node.go
var agents = []string{"kured", "node-termination-handler"}

// cordonedByAgent reports whether one of agents cordoned the node, which fell silent soon after. To cordon a node again
// changes nothing, so that a person's cordon does not show behind one that was there for longer.
func cordonedByAgent(n *roll.Node) bool {
	took := n.Ready.Since.Sub(n.CordonerAt)
	return n.Ready.Status == roll.ConditionUnknown && n.CordonedByOthers() && slices.Contains(agents, n.Cordoner) && took >= 0 && took <= agentCordons
}

// mayAct reports whether the policy allows the act for the owner of the instance.
func mayAct(f roll.Finding, pol policy.Policy, act Action) bool {
	switch f.Owner {
	case roll.OwnerAutoMode, roll.OwnerClusterAPI:
		return false
	}
	if act == DeleteNode && f.Kind == roll.Ghost {
		return true // it terminates nothing; for a stopped instance the owner decides
	}
	switch pol.Owners[f.Owner] {
	case policy.OwnerTerminate:
		return true
	case policy.OwnerDeleteNodeClaim:
		return f.Owner == roll.OwnerKarpenter
	}
	return false
}

// ownerObjects checks the owner of the instance: what the policy allows for it, what it does
// itself, and whether the instance is protected.
func (p *planner) ownerObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	if !mayAct(f, pol, act) {
		if f.Owner == roll.OwnerAutoMode || f.Owner == roll.OwnerClusterAPI {
			return refuse(OwnerNotifyOnly, "owner is %s, which manages its nodes itself: Rollcall only reports them", f.Owner)
		}
		return refuse(OwnerNotifyOnly, "policy says owners.%s: notify", f.Owner)
	}
	if n := p.nodes[f.Instance]; act != DeleteNode && n != nil && cordonedByAgent(n) {
		what := fmt.Sprintf("%s cordoned node %s before it fell silent at %s, as for a reboot", n.Cordoner, n.Name, roll.Clock(n.Ready.Since))
		if no := p.ownerTime(n.Ready.Since.Add(agentReturns), what); no != nil {
			return no
		}
	}
	i, d := p.instances[f.Instance], p.Snapshot.Details[f.Instance]
	var no *Refusal
	switch f.Owner {
	case roll.OwnerKarpenter:
		no = cmp.Or(p.karpenterObjects(f, act, d), p.orphanObjects(f, d))
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
	// No protection keeps EC2 from what it has scheduled, or the Auto Scaling group from replacing the instance then.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_ChangingDisableAPITermination.html
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html
	protects := Protection
	if evictsEarly(f, act) {
		protects = notInService
	}
	if no := cmp.Or(intentObjects(p.Snapshot, p.Assessment.Inherited, f, d), protects(p.Snapshot, *i), p.leaseObjects(f, d)); no != nil {
		return no
	}
	// EC2 gives the place of a terminated instance in a Capacity Block to a new one, but not once the block has ended. Its
	// end is not read.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-launch.html
	if i.CapacityBlock && p.needsReplacement(f, act) {
		return refuse(ReplacementUnavailable, "%s runs in a Capacity Block: after a termination, a new instance can be launched in its place only until the block ends, and when that is, is unknown. To act on it anyway: %s", i.ID, p.replaceAnyway(i.ID))
	}
	return nil
}

// leaseObjects refuses while a kubelet may renew a lease for an instance without a node: its Node may
// be missing in a list, and it may be working.
func (p *planner) leaseObjects(f roll.Finding, d roll.Detail) *Refusal {
	asked := p.nodes[f.Instance] == nil && (f.Kind == roll.Unregistered || f.Kind == roll.Orphaned || f.Worked)
	if !asked || d.LeaseRead.Answered() {
		return nil
	}
	no := unread(p.Snapshot, ProtectionUnknown, roll.CallLease, fmt.Sprintf("no node carries the id of %s, and whether a kubelet on it renews a lease could not be read (%s)", f.Instance, roll.CallLease))
	if i := p.instances[f.Instance]; no.Reason == ProtectionUnknown && i.PrivateDNS == "" {
		no.Detail += ": EC2 gives it no private DNS name, after which its lease is named"
	} else if no.Reason == ProtectionUnknown && slices.ContainsFunc(p.Snapshot.Gaps, func(g roll.Gap) bool { return g.Call == roll.CallLease && g.Kind == roll.GapDenied }) {
		no.Detail += ": apply infra/rbac.yaml"
	}
	return no
}

// karpenterObjects leaves to Karpenter what Karpenter does itself.
func (p *planner) karpenterObjects(f roll.Finding, act Action, d roll.Detail) *Refusal {
	until, what := p.karpenterActs(f, act)
	if act != DeleteNode {
		switch {
		case !d.HasNodeClaim.Answered():
			return p.karpenterUnread(roll.CallNodeClaims, fmt.Sprintf("whether a NodeClaim of Karpenter has %s could not be read", f.Instance))
		case d.NodeClaim != nil && !d.NodeClaim.DeletedAt.IsZero():
			deleted := d.NodeClaim.DeletedAt
			if no := p.ownerTime(deleted.Add(karpenterDrains), fmt.Sprintf("Karpenter has been removing its NodeClaim %s since %s", d.NodeClaim.Name, roll.Clock(deleted))); no != nil {
				return no
			}
			if act == DeleteNodeClaim {
				return refuse(OwnerDidNotAct, "NodeClaim %s was deleted at %s, and Karpenter has not terminated its instance: to delete it again changes nothing", d.NodeClaim.Name, roll.Clock(deleted))
			}
		case d.NodeClaim != nil && d.NodeClaim.Rebooting.Status == roll.ConditionTrue:
			since := d.NodeClaim.Rebooting.Since
			if no := p.ownerTime(since.Add(karpenterReboots), fmt.Sprintf("Karpenter has been rebooting the instance of its NodeClaim %s since %s", d.NodeClaim.Name, roll.Clock(since))); no != nil {
				return no
			}
		case d.NodeClaim != nil && d.NodeClaim.Disrupted.Status == roll.ConditionTrue:
			since := d.NodeClaim.Disrupted.Since
			if no := p.ownerTime(since.Add(karpenterReplaces), fmt.Sprintf("Karpenter has been replacing its NodeClaim %s since %s (%s)", d.NodeClaim.Name, roll.Clock(since), d.NodeClaim.Disrupted.Reason)); no != nil {
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
		return p.refuseUntil(until, OwnerWillAct, "%s; Rollcall waits until %s", what, roll.Clock(until))
	}
	return p.launchesFail(f, act)
}

// orphanObjects requires that the user data of an instance without node and NodeClaim bootstraps a node of the cluster.
// Otherwise only its tags show that it is Karpenter's, and whoever may tag instances could have any of them terminated.
// https://karpenter.sh/docs/reference/threat-model/ (CreateTags)
func (p *planner) orphanObjects(f roll.Finding, d roll.Detail) *Refusal {
	switch {
	case d.HasNodeClaim != roll.No || p.nodes[f.Instance] != nil || d.Bootstraps == roll.Yes:
		return nil
	case d.Bootstraps == roll.No:
		return refuse(NoNodeIntent, "only its tags show that %s is Karpenter's: no NodeClaim has it, and its user data bootstraps no node", f.Instance)
	}
	return unread(p.Snapshot, NoNodeIntent, roll.CallInstanceAttribute, fmt.Sprintf("only its tags show that %s is Karpenter's: no NodeClaim has it, and its user data could not be read (%s)", f.Instance, roll.CallInstanceAttribute))
}

// ownerTime leaves a finding to its owner until the owner's time is over. For ownerSilence after
// that it refuses because the owner did not act. Then the ladder continues. what describes what the
// owner does.
func (p *planner) ownerTime(until time.Time, what string) *Refusal {
	goesOn := until.Add(ownerSilence)
	switch {
	case p.Now.Before(until):
		return p.refuseUntil(until, OwnerWillAct, "%s; Rollcall waits until %s", what, roll.Clock(until))
	case p.Now.Before(goesOn):
		return p.refuseUntil(goesOn, OwnerDidNotAct, "%s, and its time was over at %s; the ladder continues at %s", what, roll.Clock(until), roll.Clock(goesOn))
	}
	return nil
}

// launchesFail refuses an act that needs a replacement while the group's latest launch failed, or
// Karpenter launches nothing for it. It ends with a successful launch, or a person who accepts the
// loss. Karpenter deletes a NodeClaim without capacity at once, so that only the group's launches
// show it.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/launch.go
func (p *planner) launchesFail(f roll.Finding, act Action) *Refusal {
	if !p.needsReplacement(f, act) {
		return nil
	}
	if f.Owner == roll.OwnerKarpenter && f.Group == roll.GroupNone {
		return refuse(ReplacementUnavailable, "%s was launched for a NodeClaim without a node pool: Karpenter launches nothing in its place", f.Instance)
	}
	g, l := p.Snapshot.Groups[f.Group], p.Snapshot.Launches[f.Group]
	if f.Owner == roll.OwnerKarpenter && p.Snapshot.ClaimsRead != roll.Yes {
		return p.launchesUnread(f)
	}
	if g.Removed {
		return refuse(ReplacementUnavailable, "the cluster has no NodePools any more: Karpenter was removed, and nothing replaces what %s launched", f.Group)
	}
	if l.Unready {
		return refuse(ReplacementUnavailable, "%s is not ready since %s, so that Karpenter launches nothing for it: %s", f.Group, roll.Clock(l.Failed), l.Message)
	}
	karpenters := l.Owner == roll.OwnerKarpenter || l.Owner == roll.OwnerAutoMode // others show their latest launch
	if karpenters && l.Failed.After(g.LaunchFailed) {
		g.LaunchFailed, g.LaunchMessage = l.Failed, l.Message
	}
	if g.LaunchFailed.IsZero() {
		return nil
	}
	return refuse(ReplacementUnavailable, "the latest launch of %s failed at %s: %s", f.Group, roll.Clock(g.LaunchFailed), g.LaunchMessage)
}

// launchesUnread refuses where the events of failed launches, or the node pools, could not be read.
func (p *planner) launchesUnread(f roll.Finding) *Refusal {
	call := roll.CallNodePools
	if !slices.ContainsFunc(p.Snapshot.Gaps, func(g roll.Gap) bool { return g.Call == call }) {
		call = roll.CallEvents // of which a bundle may have none
	}
	return p.karpenterUnread(call, fmt.Sprintf("whether Karpenter can launch a replacement for %s could not be read (%s)", f.Instance, call))
}

// karpenterUnread refuses because an object of Karpenter could not be read, which the rights of infra/rbac.yaml allow.
func (p *planner) karpenterUnread(call, detail string) *Refusal {
	no := unread(p.Snapshot, OwnerUnknown, call, detail)
	if no.Reason == OwnerUnknown {
		no.Detail += ": apply infra/rbac.yaml"
	}
	return no
}

// takes reports whether an act, or the one that a cordon or drain prepares, takes an instance that the owner must
// replace. A reboot takes none.
func (p *planner) takes(f roll.Finding, act Action) bool {
	if !act.cordons() {
		return act != Reboot && act != DeleteNode
	}
	pol := p.Policy(f.Selector)
	ladder := p.ladder(f, pol)
	own := slices.IndexFunc(ladder, func(s policy.Step) bool { return p.actionOf(s.Do, f, pol) == act })
	for _, step := range ladder[own+1:] {
		next := p.actionOf(step.Do, f, pol)
		if (next == Reboot || next.replaced()) && p.impossible(f, next) == "" {
			return next != Reboot
		}
	}
	return true
}

// needsReplacement reports whether an act takes an instance that its owner must replace. Nothing replaces an orphan.
func (p *planner) needsReplacement(f roll.Finding, act Action) bool {
	return p.takes(f, act) && f.Kind != roll.Orphaned && !p.lossAccepted(f)
}

// lossAccepted reports whether a person accepts, by tag or by policy, that the instance may not be
// replaced.
func (p *planner) lossAccepted(f roll.Finding) bool {
	i := p.instances[f.Instance]
	return i != nil && i.Replace || p.Policy(f.Selector).Limits.WithoutReplacement
}

// karpenterActs returns until when a finding is left to Karpenter, and what Karpenter does; zero if
// it is not left.
func (p *planner) karpenterActs(f roll.Finding, act Action) (time.Time, string) {
	launched := f.Began
	if i := p.instances[f.Instance]; i != nil {
		launched = i.Launched
	}
	// Karpenter counts its tolerances from the end of its last reboot on: the conditions that it rebooted for may not have
	// caught up yet.
	// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/state/statenode.go (GetRepairResult)
	if c := p.Snapshot.Details[f.Instance].NodeClaim; c != nil && c.Rebooting.Status == roll.ConditionFalse {
		f.Began = roll.Later(f.Began, c.Rebooting.Since)
	}
	n := p.nodes[f.Instance]
	unregistered := f.Kind == roll.Unregistered || f.Kind == roll.Uninitialized && n != nil && !n.Registered
	switch {
	case p.Snapshot.Groups[f.Group].Removed:
		return time.Time{}, ""
	case act == DeleteNode:
		return f.Due.Add(karpenterCollects), "Karpenter removes nodes whose instance is gone"
	case unregistered && act == DeleteNodeClaim:
		return time.Time{}, "" // the policy chose its own deadline
	case unregistered:
		return launched.Add(karpenterRegisters + karpenterGrace), "Karpenter terminates instances that do not register within 15 min"
	case f.Kind == roll.ConditionFailed && f.Condition == roll.AcceleratedHardware && repairedSoon.MatchString(f.Reason):
		return f.Began.Add(karpenterRepairsAccelerated + karpenterRepairGrace), "Karpenter replaces such nodes if its node repair is on"
	case f.Kind == roll.NotReady || f.Kind == roll.Unknown || f.Kind == roll.ConditionFailed:
		return f.Began.Add(karpenterRepairs + karpenterRepairGrace), "Karpenter replaces such nodes if its node repair is on"
	case f.Kind == roll.Scheduled:
		return f.Since.Add(karpenterMoves), "Karpenter moves what runs on such an instance if its interruption handling is on"
	case f.Kind == roll.Impaired:
		return f.Began.Add(karpenterCollects), "Karpenter replaces instances with failing status checks if it may read them"
	}
	return time.Time{}, ""
}

// scalingObjects leaves to Auto Scaling and EKS what they do themselves, and checks whether the
// group can replace the instance.
func (p *planner) scalingObjects(f roll.Finding, act Action) *Refusal {
	if act == DeleteNode && !p.onlyNodeLeft(f) {
		return nil
	}
	if i := p.instances[f.Instance]; i != nil {
		if no := foreignMember(p.Snapshot.Groups[f.Group], i, f.Group); no != nil {
			return no
		}
	}
	if no := p.groupUnfit(f, act); no != nil {
		return no
	}
	if until, what := p.scalingActs(f); what != "" {
		if no := p.ownerTime(until, what); no != nil {
			return no
		}
	}
	if until := p.autoscalerActs(f); p.Now.Before(until) {
		return p.refuseUntil(until, OwnerWillAct, "Cluster Autoscaler removes instances that do not register within 15 min, if it scales %s; Rollcall waits until %s", f.Group, roll.Clock(until))
	}
	if n := p.nodes[f.Instance]; n != nil && !n.ScaledDown.IsZero() {
		if no := p.ownerTime(n.ScaledDown.Add(autoscalerRemoves), fmt.Sprintf("Cluster Autoscaler has been removing node %s since %s", n.Name, roll.Clock(n.ScaledDown))); no != nil {
			return no
		}
	}
	g := p.Snapshot.Groups[f.Group]
	if !p.takes(f, act) {
		return nil
	}
	if g.LaunchesRead != roll.Yes {
		return unread(p.Snapshot, OwnerUnknown, roll.CallScalingActivities, fmt.Sprintf("whether the latest launch of %s failed could not be read (%s)", f.Group, roll.CallScalingActivities))
	}
	return p.launchesFail(f, act)
}

// foreignMember refuses if a managed node group has other Auto Scaling groups than that of the instance. Only AWS can
// write the tag that names the latter, but whoever may tag instances can write the one that names the node group.
func foreignMember(g roll.GroupDetail, i *roll.Instance, group roll.Group) *Refusal {
	if len(g.ASGs) == 0 || slices.Contains(g.ASGs, i.ASG) {
		return nil
	}
	return refuse(NoNodeIntent, "only a tag shows that %s is of %s: Auto Scaling group %s launched it, and that of the node group is %s", i.ID, group, i.ASG, roll.Few(g.ASGs, 1))
}

// scalingActs returns until when a finding is left to EKS or the Auto Scaling group, and what it
// does; "" if neither acts. EKS has more time.
func (p *planner) scalingActs(f roll.Finding) (time.Time, string) {
	n := p.nodes[f.Instance]
	switch {
	// The Auto Scaling group, also of a managed node group, replaces the instance at the time of
	// the event and not before. Until then nothing moves its pods.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-checks-overview.html
	case f.Kind == roll.Scheduled:
	// Node auto repair acts on node conditions. It does not act on an instance that never
	// registered, or on a taint that stays on a Ready node. A Node that is missing in the listing
	// may be there for EKS.
	case f.Owner == roll.OwnerManagedNodeGroup && p.Snapshot.Groups[f.Group].AutoRepair == roll.Yes &&
		(n == nil && f.Kind == roll.Unregistered && f.Worked || n != nil && (f.Kind != roll.Uninitialized || n.Ready.Status != roll.ConditionTrue)):
		o, said := roll.Find(p.Snapshot.Groups[f.Group].Overrides, func(o roll.RepairOverride) bool {
			return f.Kind == roll.ConditionFailed && o.Condition == f.Condition && o.Reason == f.Reason
		})
		if said && o.None {
			return time.Time{}, ""
		}
		return f.Began.Add(max(autoRepairs, o.Wait+autoDrains)), fmt.Sprintf("EKS node auto repair is on for %s and repairs such nodes", f.Group)
	case f.Kind == roll.Impaired:
		return f.Began.Add(groupReplaces), fmt.Sprintf("%s replaces instances whose status checks fail", f.Group)
	}
	return time.Time{}, ""
}

// autoscalerActs returns until when an instance that does not register is left to the Cluster Autoscaler
// that scales its group; zero if none does.
func (p *planner) autoscalerActs(f roll.Finding) time.Time {
	if i := p.instances[f.Instance]; f.Kind != roll.Unregistered || i == nil || i.ASG == "" || !i.Scaled {
		return time.Time{}
	}
	return f.Since.Add(autoscalerRegisters + autoscalerGrace)
}

// groupUnfit refuses acts on a group that is suspended, changing or unhealthy. Suspended
// processes keep instances unchanged, and an unhealthy node group may replace nothing.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-suspend-resume-processes.html
func (p *planner) groupUnfit(f roll.Finding, act Action) *Refusal {
	s, g := p.Snapshot, p.Snapshot.Groups[f.Group]
	ill := slices.DeleteFunc(slices.Clone(g.Issues), func(i roll.HealthIssue) bool { return p.tolerable(i, f, act) })
	switch {
	case g.ReplaceSuspended == roll.Yes:
		return refuse(GroupSuspended, "somebody suspended %s of the Auto Scaling group of %s, to leave its instances as they are", g.Suspended, f.Group)
	case g.LaunchSuspended == roll.Yes:
		return refuse(GroupSuspended, "the process Launch of the Auto Scaling group of %s is suspended: nothing would replace %s", f.Group, f.Instance)
	case !g.LaunchSuspended.Answered(), g.ReplaceSuspended != roll.No:
		return unread(s, OwnerUnknown, roll.CallAutoScalingGroups, fmt.Sprintf("whether processes of the Auto Scaling group of %s are suspended could not be read (%s)", f.Group, roll.CallAutoScalingGroups))
	case f.Owner == roll.OwnerManagedNodeGroup && !g.AutoRepair.Answered():
		return unread(s, OwnerUnknown, roll.CallNodegroup, fmt.Sprintf("the state of %s, and whether EKS repairs its nodes, could not be read (%s)", f.Group, roll.CallNodegroup))
	case len(ill) > 0:
		return refuse(NodeGroupUnhealthy, "EKS reports of %s: %s", f.Group, roll.HealthIssues(ill))
	case len(g.Issues) > 0 && slices.Contains(nodeGroupUnhealthy, g.Status):
	case g.Status != "" && g.Status != nodeGroupActive:
		return refuse(NodeGroupUnhealthy, "%s is %s, not %s", f.Group, g.Status, nodeGroupActive)
	}
	return nil
}

// tolerable reports whether a health issue does not concern an act. EKS reports failed launches until another
// one succeeds, even of a group that needs none any more, and of a group that it could not create for them for good:
// they concern what the group must replace, unless its latest launch worked. It reports that instances did not
// become nodes until the node group is deleted, though they did later, and an Auto Scaling group whose subnets
// somebody changed until they are changed back, though it launches into them: that concerns none that was a node.
// Processes that somebody suspended are read from the Auto Scaling group.
// https://github.com/aws/containers-roadmap/issues/2326
// https://github.com/aws/containers-roadmap/issues/2204
// https://github.com/aws/containers-roadmap/issues/764
// https://github.com/aws/containers-roadmap/issues/170
func (p *planner) tolerable(i roll.HealthIssue, f roll.Finding, act Action) bool {
	switch i.Code {
	case "AsgInstanceLaunchFailures":
		g := p.Snapshot.Groups[f.Group]
		over := g.LaunchesRead == roll.Yes && g.LaunchFailed.IsZero() && g.Launched
		return over || !p.needsReplacement(f, act)
	case "InstanceLimitExceeded", "InsufficientFreeAddresses":
		return !p.needsReplacement(f, act)
	case "NodeCreationFailure", "AutoScalingGroupInvalidConfiguration":
		return p.nodes[f.Instance] != nil && f.Kind != roll.Uninitialized
	}
	return false
}

// nodeGroupActive is the status of a healthy managed node group.
const nodeGroupActive = "ACTIVE"

// nodeGroupUnhealthy are the statuses that only say that there are health issues.
var nodeGroupUnhealthy = []string{"CREATE_FAILED", "DEGRADED"}
