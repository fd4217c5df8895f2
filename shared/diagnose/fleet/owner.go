package fleet

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/launch"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// owner checks whether the instance's expected owner exists. An owner forgets an instance that is gone.
func (l *look) owner() cause.Verdict {
	if l.Finding.Kind == roll.Ghost {
		return cause.Verdict{}
	}
	g, region, id := l.Group(), l.Region, string(l.Finding.Instance)
	terminate := func(condition string) string {
		return paste.If("this instance, if "+condition, paste.Format("aws ec2 terminate-instances --region %s --instance-ids %s", region, id))
	}
	if slices.ContainsFunc(l.Gaps, func(g roll.Gap) bool { return g.Kind == roll.GapClusterGone }) || l.Cluster.Config.State == evidence.Absent {
		list := paste.Format("aws eks list-clusters --region %s   # %s is not among them", region, l.ClusterID.Name)
		if name, ok := l.Finding.Group.AutoScalingGroup(); ok && g.AutoScaling.State != evidence.Absent {
			return l.ownerGone("EKS cluster", l.ClusterID.Name, fmt.Sprintf("its Auto Scaling group %s, which outlived the cluster, replaces what is terminated", name)).
				Fix(list, paste.If("if nobody needs the instances of the group, terminate them all", paste.EmptyGroup(region, name)))
		}
		return l.ownerGone("EKS cluster", l.ClusterID.Name, unowned).Fix(list, terminate("nobody needs it"))
	}
	switch l.Finding.Owner {
	case roll.OwnerKarpenter:
		return exists(l.NodeClaim(), cause.Decisive().
			Says("no NodeClaim has %s, which Karpenter launched: Karpenter does not know it any more", id).
			Saw("NodeClaim", "name", "does not exist", id).
			Fix("kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,ID:.status.providerID | "+paste.Command("grep", id), terminate("no NodeClaim has it")))
	case roll.OwnerManagedNodeGroup:
		name, _ := l.Finding.Group.NodeGroup()
		return exists(g.NodeGroup, l.ownerGone("node group", name, unowned).
			Fix(paste.Format("aws eks list-nodegroups --region %s --cluster-name %s", region, l.ClusterID.Name), terminate("the node group is gone for good")))
	case roll.OwnerAutoScalingGroup:
		return exists(g.AutoScaling, l.ownerGone("Auto Scaling group", string(l.Finding.Group), unowned).
			Fix(paste.Format("aws autoscaling describe-auto-scaling-instances --region %s --instance-ids %s", region, id), terminate("the group is gone for good")))
	}
	return cause.Verdict{}
}

// exists rules out that the owner is gone, if it was read.
func exists[T any](owner evidence.Fact[T], gone cause.Verdict) cause.Verdict {
	switch owner.State {
	case evidence.Known:
		return cause.RuledOut
	case evidence.Absent:
		return gone
	}
	return cause.NotChecked(owner.Gap())
}

// unowned says what follows when the last owner is gone.
const unowned = "nothing terminates or replaces the instance any more"

// ownerGone returns the cause of a missing owner, and what follows. Its summary is the same for all instances of
// the owner, so that a notice says it once; the evidence names the instance. It has no subject:
// an instance without a replacement may still be terminated.
func (l *look) ownerGone(sort, name, then string) cause.Verdict {
	return cause.Decisive().
		Says("the %s %s, which should own the instance, does not exist: %s", sort, name, then).
		Saw(sort, "name", "does not exist", name).
		Saw("instance", "InstanceId", string(l.Finding.Instance), fmt.Sprintf("an instance of %s %s", sort, name))
}

// explainsNone are the health issues that do not explain an instance that was launched: they are about launches,
// of which EKS reports a failed one until the next succeeds, about what EKS removes or replaces, or about settings of
// the Auto Scaling group that are not those that EKS gave it.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
// https://github.com/aws/containers-roadmap/issues/2326
// https://github.com/aws/containers-roadmap/issues/170
var explainsNone = []string{
	"AsgInstanceLaunchFailures", "InstanceLimitExceeded", "AmiIdNotFound", "Ec2InstanceTypeDoesNotExist", "InsufficientFreeAddresses",
	"AutoScalingGroupInvalidConfiguration", "Ec2LaunchTemplateVersionMismatch",
	"Ec2LaunchTemplateNotFound", "Ec2LaunchTemplateMaxLimitExceeded", "Ec2LaunchTemplateVersionMaxLimitExceeded",
	"SourceEc2LaunchTemplateNotFound", "AutoScalingGroupRateLimitExceeded", "IamThrottling",
	"PodEvictionFailure", "NodeTerminationFailure", "AutoScalingGroupInstanceRefreshActive",
	"Ec2SecurityGroupDeletionFailure", "Ec2LaunchTemplateDeletionFailure",
}

// beforeJoining are the health issues that only explain an instance that did not join. EKS reports NodeCreationFailure
// until the node group is deleted, though its nodes joined later.
// https://github.com/aws/containers-roadmap/issues/764
var beforeJoining = []string{"NodeCreationFailure", "Ec2SubnetInvalidConfiguration", "KubernetesLabelInvalid"}

// explains reports whether a health issue explains the finding.
func (l *look) explains(i roll.HealthIssue) bool {
	joined := l.Finding.Kind == roll.NotReady || l.Finding.Kind == roll.Unknown
	return !slices.Contains(explainsNone, i.Code) && (!joined || !slices.Contains(beforeJoining, i.Code))
}

// nodeGroup checks what EKS reports about a managed node group.
func (l *look) nodeGroup() {
	fact := l.Group().NodeGroup
	g := fact.Value
	switch {
	case l.Finding.Owner != roll.OwnerManagedNodeGroup:
	case !fact.Settled():
		l.NotChecked(fact.Gap(), cause.NodeGroupUnhealthy)
	case fact.Known() && len(g.Issues) == 0:
		l.RuledOut(cause.NodeGroupUnhealthy)
	case fact.Known():
		seen := health("node group", g.Issues)
		n := slices.IndexFunc(g.Issues, l.explains)
		shown := g.Issues[max(n, 0)]
		l.Note(cause.NodeGroupUnhealthy, cause.DecisiveIf(n >= 0).In("nodegroup/"+g.Name).
			Says("EKS reports of node group %s: %s (%s)", g.Name, shown.Code, shown.Message).
			Shows(seen...).Fix(l.showHealth(g.Name)))
		for i, issue := range g.Issues {
			l.named(g.Name, seen[i], issue)
		}
	}
}

func (l *look) showHealth(group string) string {
	return paste.Format("aws eks describe-nodegroup --region %s --cluster-name %s --nodegroup-name %s --query nodegroup.health", l.Region, l.ClusterID.Name, group)
}

// named notes the cause that a health issue's code names, unless another analyzer has a more
// specific verdict. For an instance that did not register, an issue about credentials or about
// what nodes join from is proof. An issue about launches proves nothing about a running
// instance. One about access does not show whether it concerns the nodes or EKS itself.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
// https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#troubleshoot-managed-node-groups
func (l *look) named(group string, seen roll.Evidence, issue roll.HealthIssue) {
	code, known := launch.OfIssue(issue.Code)
	sure := false
	switch issue.Code {
	case "AccessDenied":
		code, known = cause.NodeRoleNotMapped, true
		sure = strings.Contains(issue.Message, "aws-auth") || strings.Contains(issue.Message, "access entr")
		if slices.ContainsFunc(l.Causes(), func(found roll.Cause) bool { return found.Confidence == roll.Decisive && cause.AboutAccess(found.Code) }) {
			return // the wrong mapping is already known
		}
	case "ClusterUnreachable":
		code, known = cause.ApiEndpointUnreachable, true
	case "IamNodeRoleNotFound", "IamInstanceProfileNotFound":
		sure = true
	}
	if !known || l.Decided(code) {
		return
	}
	l.Note(code, cause.DecisiveIf(sure && l.Finding.Kind == roll.Unregistered).In("nodegroup/"+group).
		Says("EKS says of node group %s: %s (%s)", group, issue.Code, strings.TrimSuffix(issue.Message, ".")).
		Shows(seen).Fix(l.showHealth(group)+"   # and correct what it names"))
}
