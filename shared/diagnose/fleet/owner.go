package fleet

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/launch"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// owner asks whether what should own the instance exists.
func owner(c *evidence.Case, s *cause.Sheet) {
	if slices.ContainsFunc(c.Gaps, func(g roll.Gap) bool { return g.Kind == roll.GapClusterGone }) || c.Cluster.Config.State == evidence.Absent {
		s.Found(ownerGone(c, "EKS cluster", c.ClusterID.Name,
			fmt.Sprintf("aws eks list-clusters --region %s   # %s is not among them\naws ec2 terminate-instances --region %s --instance-ids %s   # this instance, if nobody needs it", c.Region, c.ClusterID.Name, c.Region, c.Finding.Instance)))
		return
	}
	g := c.Group()
	switch c.Finding.Owner {
	case roll.OwnerKarpenter:
		claim := c.NodeClaim()
		gone(c, s, claim.State, claim.Gap(), "NodeClaim", string(c.Finding.Instance),
			fmt.Sprintf("kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,ID:.status.providerID | grep %s\naws ec2 terminate-instances --region %s --instance-ids %s   # this instance, if no NodeClaim has it", c.Finding.Instance, c.Region, c.Finding.Instance))
	case roll.OwnerManagedNodeGroup:
		name, _ := c.Finding.Group.NodeGroup()
		gone(c, s, g.NodeGroup.State, g.NodeGroup.Gap(), "node group", name,
			fmt.Sprintf("aws eks list-nodegroups --region %[1]s --cluster-name %[2]s\naws ec2 terminate-instances --region %[1]s --instance-ids %[3]s   # this instance, if the node group is gone for good", c.Region, c.ClusterID.Name, c.Finding.Instance))
	case roll.OwnerAutoScalingGroup:
		gone(c, s, g.AutoScaling.State, g.AutoScaling.Gap(), "Auto Scaling group", string(c.Finding.Group),
			fmt.Sprintf("aws autoscaling describe-auto-scaling-instances --region %[1]s --instance-ids %[2]s\naws ec2 terminate-instances --region %[1]s --instance-ids %[2]s   # this instance, if the group is gone for good", c.Region, c.Finding.Instance))
	}
}

// gone notes whether the owner of that sort and name exists.
func gone(c *evidence.Case, s *cause.Sheet, state evidence.State, gap, sort, name, fix string) {
	switch state {
	case evidence.Known:
		s.RuledOut(cause.OwnerGone)
	case evidence.Absent:
		s.Found(ownerGone(c, sort, name, fix))
	default:
		s.NotChecked(gap, cause.OwnerGone)
	}
}

// ownerGone is the cause that lies in a missing owner. What several may share is said of
// all of them alike, so that a notice tells it once; which instance it is, the evidence
// says. It has no subject: that nothing would replace them does not forbid to end them.
func ownerGone(c *evidence.Case, sort, name, fix string) roll.Cause {
	out := roll.Cause{
		Code: cause.OwnerGone, Confidence: roll.Decisive,
		Evidence: []roll.Evidence{{Source: sort, Field: "name", Observed: "does not exist", Expected: name}},
		Fix:      fix,
	}
	if sort == "NodeClaim" {
		out.Summary = fmt.Sprintf("no NodeClaim has %s, which Karpenter launched: Karpenter does not know it any more", c.Finding.Instance)
		return out
	}
	out.Summary = fmt.Sprintf("the %s %s, which should own the instance, does not exist: nothing ends or replaces the instance any more", sort, name)
	out.Evidence = append(out.Evidence, roll.Evidence{Source: "instance", Field: "InstanceId", Observed: string(c.Finding.Instance), Expected: fmt.Sprintf("an instance of %s %s", sort, name)})
	return out
}

// nodeGroup carries what a managed node group says of itself.
func nodeGroup(c *evidence.Case, s *cause.Sheet) {
	if c.Finding.Owner != roll.OwnerManagedNodeGroup || !joins(c.Finding.Kind) {
		return
	}
	fact := c.Group().NodeGroup
	switch {
	case !fact.Settled():
		s.NotChecked(fact.Gap(), cause.NodeGroupUnhealthy)
		return
	case !fact.Known():
		return
	case len(fact.Value.Issues) == 0:
		s.RuledOut(cause.NodeGroupUnhealthy)
		return
	}
	g := fact.Value
	var seen []roll.Evidence
	for i, issue := range g.Issues {
		seen = append(seen, roll.Evidence{Source: "node group", Field: fmt.Sprintf("health.issues[%d]", i), Observed: issue.Code + ": " + issue.Message, Expected: "no issue"})
	}
	s.Found(roll.Cause{
		Code: cause.NodeGroupUnhealthy, Confidence: roll.Decisive, Subject: "nodegroup/" + g.Name,
		Summary:  fmt.Sprintf("EKS reports of node group %s: %s (%s)", g.Name, g.Issues[0].Code, g.Issues[0].Message),
		Evidence: seen,
		Fix:      showHealth(c, g.Name),
	})
	for i, issue := range g.Issues {
		named(c, s, g.Name, seen[i], issue)
	}
}

func showHealth(c *evidence.Case, name string) string {
	return fmt.Sprintf("aws eks describe-nodegroup --region %s --cluster-name %s --nodegroup-name %s --query nodegroup.health", c.Region, c.ClusterID.Name, name)
}

// named notes the cause that a health issue's code names, unless somebody looked closer. An
// issue about what nodes sign in with, or join from, is proof for an instance that did not
// register; one about launches says nothing certain of an instance that runs, and of access
// the issue alone does not tell whether it is the nodes' or that of EKS itself.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
// https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#troubleshoot-managed-node-groups
func named(c *evidence.Case, s *cause.Sheet, group string, seen roll.Evidence, issue roll.HealthIssue) {
	code, known := launch.OfIssue(issue.Code)
	sure := false
	switch issue.Code {
	case "AccessDenied":
		code, known = cause.NodeRoleNotMapped, true
		sure = strings.Contains(issue.Message, "aws-auth") || strings.Contains(issue.Message, "access entr")
		if slices.ContainsFunc(s.Causes(), func(found roll.Cause) bool { return found.Confidence == roll.Decisive && cause.AboutAccess(found.Code) }) {
			return // which mapping is wrong, and how, is known
		}
	case "ClusterUnreachable":
		code, known = cause.ApiEndpointUnreachable, true
	case "IamNodeRoleNotFound", "IamInstanceProfileNotFound":
		sure = true
	}
	if !known || s.Decided(code) || code == cause.OwnerGone {
		return
	}
	confidence := roll.Suggestive
	if sure && c.Finding.Kind == roll.Unregistered {
		confidence = roll.Decisive
	}
	s.Found(roll.Cause{
		Code: code, Confidence: confidence, Subject: "nodegroup/" + group,
		Summary:  fmt.Sprintf("EKS says of node group %s: %s (%s)", group, issue.Code, strings.TrimSuffix(issue.Message, ".")),
		Evidence: []roll.Evidence{seen},
		Fix:      showHealth(c, group) + "   # and mend what it names",
	})
}
