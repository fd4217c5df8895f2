package identity

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// The permissions in AWS's own policies that a node needs: to describe itself, and to pull the
// images that it starts with. The minimal policy lets a node do neither; nodes of Auto Mode, and others
// that are named after their instance ID, need no more.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
// https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEKSWorkerNodeMinimalPolicy.html
var (
	workerPolicies = []string{"AmazonEKSWorkerNodePolicy", "AdministratorAccess", "PowerUserAccess"}
	minimalPolicy  = []string{"AmazonEKSWorkerNodeMinimalPolicy"}
	pullPolicies   = []string{"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess", "AdministratorAccess", "PowerUserAccess"}
)

// refusedEvent is the reason of the event by which the Amazon VPC CNI reports that EC2 refuses
// it a call. Its message names the call.
// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/iam-policy.md
const refusedEvent = "MissingIAMPermissions"

func attach(r evidence.Role, missing []string) []string {
	return roll.Map(missing, func(policy string) string {
		return paste.Format("aws iam attach-role-policy --role-name %s --policy-arn arn:%s:iam::aws:policy/%s", r.Name, partition(r.ARN), policy)
	})
}

// has reports whether one of AWS's own policies of these names is attached.
func has(p evidence.Policies, wanted []string) bool {
	return slices.ContainsFunc(p.Attached, func(arn string) bool {
		return strings.Contains(arn, ":iam::aws:policy/") && slices.Contains(wanted, roll.LastPart(arn))
	})
}

// own reports whether a policy is attached that is not AWS's own.
func own(p evidence.Policies) bool {
	return slices.ContainsFunc(p.Attached, func(arn string) bool { return !strings.Contains(arn, ":iam::aws:policy/") })
}

// The calls without which the Amazon VPC CNI starts. In any cluster it frees what it does not need. With IPv4 it
// looks for other subnets, and takes the node's own if it may not. With IPv6 it attaches interfaces to further
// network cards, and sets the security groups of those that it has. With IPv4 it starts without these too, unless
// custom networking is on, which must attach an interface.
//
//   - https://github.com/aws/amazon-vpc-cni-k8s/blob/master/pkg/ipamd/ipamd.go (nodeInit, createSecondaryIPv6ENIs)
//   - https://github.com/aws/amazon-vpc-cni-k8s/blob/master/pkg/awsutils/awsutils.go (applySecurityGroupsToENIs, AllocENI)
//   - https://github.com/terraform-aws-modules/terraform-aws-eks/pull/3613
var (
	spared       = []string{"DetachNetworkInterface", "DeleteNetworkInterface", "UnassignPrivateIpAddresses", "UnassignIpv6Addresses"}
	sparedByIPv4 = []string{"DescribeSubnets"}
	sparedByIPv6 = []string{groupsCall, "CreateNetworkInterface", "AttachNetworkInterface", "DescribeInstances"}
)

// groupsCall sets the security groups of interfaces, each time the CNI starts.
const groupsCall = "ModifyNetworkInterfaceAttribute"

var callOfEC2 = pattern.New(`ec2:(\w+)`)

// refusedCall returns the call that an event of the CNI names, "" if it names none.
func refusedCall(e evidence.Event) string {
	if m := callOfEC2.FindStringSubmatch(e.Message); m != nil {
		return m[1]
	}
	return ""
}

// startsWithout reports whether the node waits for its CNI, which starts without the call: its refusal is not
// why the node waits.
func (d *door) startsWithout(call string) bool {
	some := sparedByIPv4
	if d.Cluster.Config.Value.IPFamily == "ipv6" {
		some = sparedByIPv6
	}
	return d.waitsForCNI() && (slices.Contains(spared, call) || slices.Contains(some, call))
}

// refused checks whether the CNI's pod on the node reports a refused call without which it does not
// start: proof for a node that waits for its CNI. The event does not show whether the role is the
// nodes' or the service account's. Nor is custom networking read, so a call that only this needs is a hint.
func (d *door) refused() (v cause.Verdict, ok bool) {
	for _, p := range d.Node().Pods.Value {
		if _, set, _ := strings.Cut(p.Owner, "/"); set != "aws-node" {
			continue
		}
		for _, e := range p.Events {
			call := refusedCall(e)
			sure := d.waitsForCNI() && call != groupsCall
			if e.Reason != refusedEvent || d.startsWithout(call) || ok && !sure {
				continue
			}
			v, ok = cause.DecisiveIf(sure).In("cni/"+d.ClusterID.Name).
				Says("the CNI on node %s lacks a permission: %s", d.Finding.Node, strings.TrimSuffix(e.Message, ".")).
				Saw("pod "+p.Namespace+"/"+p.Name, "event "+e.Reason, e.Message, "EC2 answers the call").
				Fix("kubectl -n kube-system get serviceaccount aws-node -o yaml   # with a role of its own, or else by the role of the nodes",
					"# attach AmazonEKS_CNI_Policy to that role; with IPv6 it needs a policy of your own with ec2:AssignIpv6Addresses: https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html"), true
			if sure {
				return v, true
			}
		}
	}
	return v, ok
}

// refusedAtBoot returns the console line by which what joins the instance failed because AWS
// refused it a call that AmazonEKSWorkerNodePolicy allows.
func (d *door) refusedAtBoot() (console.Found, bool) {
	log := d.Instance().Log().Value
	_, failed := log.InLastBoot(func(f console.Found) bool {
		return f.Sign == console.NodeadmFailed || f.Sign == console.BootstrapFailed || f.Sign == console.BottlerocketFailed
	})
	f, ok := log.InLastBoot(func(f console.Found) bool { return f.Sign == console.AccessDenied && refusal.MatchString(f.Detail) })
	return f, ok && failed && d.Finding.Kind == roll.Unregistered
}

// refusal matches the calls that joining makes, with the codes by which AWS says that the caller is
// known and may not make them.
// https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEKSWorkerNodePolicy.html
var refusal = regexp.MustCompile(`(?:DescribeInstances|DescribeInstanceTypes|DescribeCluster): (?:UnauthorizedOperation|AccessDenied|AccessDeniedException)(?: |$)`)

// above matches what AWS names in a refusal if the role's own policies do not decide it.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
var above = regexp.MustCompile(`(?:control|session|endpoint) policy|permissions boundary`)

// denied describes a refused call that the role's policies allow, or that something else denies: a
// hint, since a policy may have been attached after the call.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
func (d *door) denied(r evidence.Role, p evidence.Policies, f console.Found) cause.Verdict {
	v := cause.Suggestive().In("role/"+r.ARN).Says("AWS refused the role %s a call without which its instance does not join: %s", r.Name, f.Detail)
	if !above.MatchString(f.Detail) {
		v.Also(". Its policies allow that call, so a service control policy, a permissions boundary, the policy of a VPC endpoint or a Deny of its own may forbid it, or they were attached later")
	}
	return v.Shows(cause.Line(f, "AWS answers the call")).
		Saw("role", "AttachedPolicies", orNone(roll.Map(p.Attached, roll.LastPart)), "policies that allow the call, and nothing that denies it").
		Fix(d.AWS("cloudtrail", "lookup-events", "--lookup-attributes", "AttributeKey=Username,AttributeValue="+string(d.Finding.Instance), "--query", "Events[].CloudTrailEvent")+"   # errorMessage names the kind of policy that denies the call",
			paste.Command("aws", "iam", "get-role", "--role-name", r.Name, "--query", "Role.PermissionsBoundary"),
			d.AWS("ec2", "describe-vpc-endpoints", "--filters", "Name=vpc-id,Values="+d.Config().Value.VPC, "--query", "VpcEndpoints[].[ServiceName,PolicyDocument]"),
			"aws organizations list-policies --filter SERVICE_CONTROL_POLICY   # in the management account; policies that restrict regions often deny such calls")
}

// waitsForCNI reports whether the node says that it waits for its CNI.
func (d *door) waitsForCNI() bool {
	ready, _ := d.Node().Object.Value.Condition("Ready")
	return strings.Contains(ready.Message, "NetworkPluginNotReady")
}

// describesItself reports whether the instance must ask EC2 for its name before it can join.
func (d *door) describesItself() bool {
	name, _, _ := d.naming()
	return d.Finding.Kind == roll.Unregistered && name == byDNSName
}

// policies checks a node's permissions. A missing policy is suggestive, since a custom policy may
// grant the same. A call of the CNI that EC2 refused is proof, and so is a refused call of what
// joins the instance if the policy that allows it is missing. If the role has a custom policy, that may
// allow the call since, and the refused call is a hint. So it is if the policy is there, or AWS says that
// something else denies the call.
func (d *door) policies() cause.Verdict {
	if found, ok := d.refused(); ok {
		return found
	}
	role := d.Role()
	r := role.Value
	of := d.Policies[r.Name]
	p := of.Value
	worker, custom := has(p, workerPolicies), len(p.Inline) > 0 || own(p)
	f, told := d.refusedAtBoot()
	denied := told && (worker || custom && above.MatchString(f.Detail))
	told = told && !denied
	var missing []string
	if !worker && (told || d.describesItself() || !has(p, minimalPolicy)) {
		missing = append(missing, workerPolicies[0])
	}
	if !has(p, pullPolicies) {
		missing = append(missing, pullPolicies[1])
	}
	switch why := d.Untold(); {
	case why != "" && d.waitsForCNI():
		return cause.NotChecked(why)
	case !role.Known():
		return cause.NotChecked(role.Gap()) // "" if there is no role, which other codes report
	case !of.Settled():
		return cause.NotChecked(of.Gap())
	case denied:
		return d.denied(r, p, f)
	case len(missing) == 0:
		return cause.RuledOut
	case custom && !told:
		return cause.NotChecked(fmt.Sprintf("%s has policies of its own, which may grant what %s would", r.Name, strings.Join(missing, " and ")))
	}
	if id := joinedSince(d.Case); !told && id != "" {
		return cause.NotChecked(fmt.Sprintf("%s has the same role %s and has joined since, so this is probably not the cause", id, r.Name))
	}
	v := cause.DecisiveIf(told && !custom).In("role/"+r.ARN).
		Says("the role %s has neither %s attached nor another policy that is known to grant the same", r.Name, strings.Join(missing, " nor "))
	if told {
		v.Shows(cause.Line(f, "AWS answers the call"))
	}
	return v.
		Saw("role", "AttachedPolicies", orNone(roll.Map(p.Attached, roll.LastPart)), strings.Join(missing, ", ")).
		Fix(attach(r, missing)...)
}
