package host

import (
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/roll"
)

// screen shows the console's current text; --latest works on Nitro instances alone.
func (l *look) screen() string {
	return l.AWS("ec2", "get-console-output", "--instance-id", l.id(), "--latest", "--query", "Output", "--output", "text")
}

// reboot reboots the instance.
func (l *look) reboot() string {
	return l.AWS("ec2", "reboot-instances", "--instance-ids", l.id()) + "   # its pods are not drained"
}

// replace has the instance's owner put another in its place.
// https://docs.aws.amazon.com/cli/latest/reference/autoscaling/terminate-instance-in-auto-scaling-group.html
func (l *look) replace() string {
	const loss = "   # ends the instance: what is only on its own disks is lost"
	owner, claim := l.Finding.Owner, l.NodeClaim()
	switch {
	case claim.Known() && (owner == roll.OwnerKarpenter || owner == roll.OwnerAutoMode):
		return paste.Kubectl("delete", "nodeclaim", claim.Value.Name) + loss
	case owner == roll.OwnerManagedNodeGroup || owner == roll.OwnerAutoScalingGroup || l.Config().Value.ASG != "":
		return paste.Command("aws", "autoscaling", "terminate-instance-in-auto-scaling-group", "--region", l.Region,
			"--instance-id", l.id(), "--no-should-decrement-desired-capacity") + loss
	}
	return l.AWS("ec2", "terminate-instances", "--instance-ids", l.id()) + loss
}

// pods lists what runs on a node.
func pods(node string) string {
	return paste.Kubectl("get", "pods", "-A", "--field-selector", "spec.nodeName="+node, "-o", "wide")
}

// limits lists the memory that the pods of a node may take.
func limits(node string) string {
	return paste.Kubectl("get", "pods", "-A", "--field-selector", "spec.nodeName="+node, "-o",
		"custom-columns=POD:.metadata.name,REQUESTS:.spec.containers[*].resources.requests.memory,LIMITS:.spec.containers[*].resources.limits.memory") +
		"   # give those without limits some, or reserve more for the system (kubeReserved, systemReserved)"
}

func (l *look) showStatus() string {
	return l.AWS("ec2", "describe-instance-status", "--instance-ids", l.id())
}
