package host

import (
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/roll"
)

// ec2 is a command of the AWS CLI about the instance.
func (l *look) ec2(words ...string) string {
	return paste.Command(append(append([]string{"aws", "ec2"}, words...), "--region", l.Region)...)
}

// screen shows what the console says now; --latest works on Nitro instances alone.
func (l *look) screen() string {
	return l.ec2("get-console-output", "--instance-id", string(l.Finding.Instance), "--latest", "--query", "Output", "--output", "text")
}

// reboot starts the instance's system again.
func (l *look) reboot() string {
	return l.ec2("reboot-instances", "--instance-ids", string(l.Finding.Instance)) + "   # its pods are not drained"
}

// loss is what ends with an instance.
const loss = "   # ends the instance: what is only on its own disks is lost"

// replace has the instance's owner put another in its place.
// https://docs.aws.amazon.com/cli/latest/reference/autoscaling/terminate-instance-in-auto-scaling-group.html
func (l *look) replace() string {
	switch claim := l.NodeClaim(); {
	case l.Finding.Owner == roll.OwnerKarpenter && claim.Known(), l.Finding.Owner == roll.OwnerAutoMode && claim.Known():
		return paste.Command("kubectl", "delete", "nodeclaim", claim.Value.Name) + loss
	case l.inAutoScaling():
		return paste.Command("aws", "autoscaling", "terminate-instance-in-auto-scaling-group", "--region", l.Region,
			"--instance-id", string(l.Finding.Instance), "--no-should-decrement-desired-capacity") + loss
	}
	return l.ec2("terminate-instances", "--instance-ids", string(l.Finding.Instance)) + loss
}

func (l *look) inAutoScaling() bool {
	return l.Finding.Owner == roll.OwnerManagedNodeGroup || l.Finding.Owner == roll.OwnerAutoScalingGroup || l.Config().Value.ASG != ""
}

// pods lists what runs on a node.
func pods(node string) string {
	return paste.Command("kubectl", "get", "pods", "-A", "--field-selector", "spec.nodeName="+node, "-o", "wide")
}

// limits lists the memory that the pods of a node may take.
func limits(node string) string {
	return paste.Command("kubectl", "get", "pods", "-A", "--field-selector", "spec.nodeName="+node, "-o",
		"custom-columns=POD:.metadata.name,REQUESTS:.spec.containers[*].resources.requests.memory,LIMITS:.spec.containers[*].resources.limits.memory")
}
