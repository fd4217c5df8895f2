package identity

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// What AWS's own policies grant of what a node needs: to describe itself, and to pull
// the images that it starts with.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
var (
	workerPolicies = []string{"AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy", "AdministratorAccess", "PowerUserAccess"}
	pullPolicies   = []string{"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess", "AdministratorAccess", "PowerUserAccess"}
)

// refusedEvent is the reason of the event by which the Amazon VPC CNI tells that EC2 refuses it
// a call, which its message names.
// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/iam-policy.md
const refusedEvent = "MissingIAMPermissions"

// refused is that the CNI on the node says so: proof of a node that waits for its CNI. Whose role it is, the nodes' or that of its
// service account, it does not tell.
func refused(c *evidence.Case) (roll.Cause, bool) {
	confidence := roll.Suggestive
	if waitsForCNI(c) {
		confidence = roll.Decisive
	}
	for _, p := range c.Node().Pods.Value {
		if _, set, _ := strings.Cut(p.Owner, "/"); set != "aws-node" {
			continue
		}
		for _, e := range p.Events {
			if e.Reason == refusedEvent {
				return roll.Cause{
					Code: cause.RolePoliciesMissing, Confidence: confidence, Subject: "cni/" + c.ClusterID.Name,
					Summary:  fmt.Sprintf("the CNI on node %s may not do what it must: %s", c.Finding.Node, strings.TrimSuffix(e.Message, ".")),
					Evidence: []roll.Evidence{{Source: "pod " + p.Namespace + "/" + p.Name, Field: "event " + e.Reason, Observed: e.Message, Expected: "EC2 answers the call"}},
					Fix: "kubectl -n kube-system get serviceaccount aws-node -o yaml   # with a role of its own, or else by the role of the nodes\n" +
						"# attach AmazonEKS_CNI_Policy to that role; with IPv6 it needs a policy of your own with ec2:AssignIpv6Addresses: https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html",
				}, true
			}
		}
	}
	return roll.Cause{}, false
}

// waitsForCNI reports a node that says so.
func waitsForCNI(c *evidence.Case) bool {
	ready, _ := c.Node().Object.Value.Condition("Ready")
	return strings.Contains(ready.Message, "NetworkPluginNotReady")
}

// policies looks for the permissions of a node. What is missing is suggestive at most:
// a policy of one's own may grant the same. That EC2 refused the CNI is proof.
func policies(c *evidence.Case, s *cause.Sheet) {
	if found, ok := refused(c); ok {
		s.Found(found)
		return
	}
	if why := c.Untold(); why != "" && waitsForCNI(c) {
		s.NotChecked(why, cause.RolePoliciesMissing)
		return
	}
	role := c.Role()
	if role.State == evidence.Absent {
		return // there is nothing to hold a permission; told by other codes
	}
	if !role.Known() {
		s.NotChecked(role.Gap(), cause.RolePoliciesMissing)
		return
	}
	r := role.Value
	of, ok := c.Policies[r.Name]
	if !ok || !of.Settled() {
		s.NotChecked(of.Gap(), cause.RolePoliciesMissing)
		return
	}
	p := of.Value
	var missing []string
	if !has(p, workerPolicies) {
		missing = append(missing, workerPolicies[0])
	}
	if !has(p, pullPolicies) {
		missing = append(missing, pullPolicies[1])
	}
	if len(missing) == 0 {
		s.RuledOut(cause.RolePoliciesMissing)
		return
	}
	if len(p.Inline) > 0 || own(p) {
		s.NotChecked(fmt.Sprintf("%s has policies of its own, which may grant what %s would", r.Name, strings.Join(missing, " and ")), cause.RolePoliciesMissing)
		return
	}
	s.Found(roll.Cause{
		Code: cause.RolePoliciesMissing, Confidence: roll.Suggestive, Subject: "role/" + r.ARN,
		Summary:  fmt.Sprintf("the role %s has neither %s attached nor another policy that is known to grant the same", r.Name, strings.Join(missing, " nor ")),
		Evidence: []roll.Evidence{{Source: "role", Field: "AttachedPolicies", Observed: orNone(names(p.Attached)), Expected: strings.Join(missing, ", ")}},
		Fix:      attach(r, missing),
	})
}

func attach(r evidence.Role, missing []string) string {
	lines := make([]string, len(missing))
	for i, m := range missing {
		lines[i] = fmt.Sprintf("aws iam attach-role-policy --role-name %s --policy-arn arn:%s:iam::aws:policy/%s", r.Name, partition(r.ARN), m)
	}
	return strings.Join(lines, "\n")
}

// has reports whether one of AWS's own policies of these names is attached.
func has(p evidence.Policies, wanted []string) bool {
	return slices.ContainsFunc(p.Attached, func(arn string) bool {
		return strings.Contains(arn, ":iam::aws:policy/") && slices.Contains(wanted, last(arn))
	})
}

// own reports whether a policy is attached that is not AWS's own.
func own(p evidence.Policies) bool {
	return slices.ContainsFunc(p.Attached, func(arn string) bool { return !strings.Contains(arn, ":iam::aws:policy/") })
}

func names(arns []string) []string {
	out := make([]string, len(arns))
	for i, a := range arns {
		out[i] = last(a)
	}
	return out
}
