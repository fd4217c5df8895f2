package network

import (
	"fmt"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/roll"
)

// wrongVPC: nodes have to be in the VPC of the cluster's subnets (WrongVpc).
// https://docs.aws.amazon.com/eks/latest/userguide/eks-compute.html
func (l *look) wrongVPC() {
	const code = cause.WrongVpc
	switch {
	case !l.clusterRead(code):
		return
	case !l.foreign():
		l.s.RuledOut(code)
		return
	}
	l.s.Found(roll.Cause{
		Code: code, Confidence: roll.Decisive, Subject: "vpc/" + l.i.VPC,
		Summary:  fmt.Sprintf("the instance is in %s (subnet %s), and the nodes of %s have to be in %s", l.i.VPC, l.i.Subnet, l.clusterName(), l.k.VPC),
		Evidence: []roll.Evidence{{Source: "instance", Field: "VpcId", Observed: l.i.VPC, Expected: l.k.VPC + ", the EKS cluster's"}},
		Fix:      l.rightSubnets(),
	})
}

// rightSubnets lets the instance's group launch in the cluster's own subnets.
func (l *look) rightSubnets() string {
	switch {
	case l.i.NodeClass != "" && l.Finding.Owner == roll.OwnerKarpenter:
		var terms []map[string]string
		for _, s := range l.k.Subnets {
			terms = append(terms, map[string]string{"id": s})
		}
		return paste.Lines("# security groups belong to a VPC, too: look at securityGroupSelectorTerms",
			command("kubectl", "patch", "ec2nodeclass", l.i.NodeClass, "--type", "merge", "-p", jsonText(map[string]any{"spec": map[string]any{"subnetSelectorTerms": terms}})))
	case l.i.ASG != "" && l.i.NodeGroup == "":
		return paste.Lines("# security groups belong to a VPC, too: look at those of the launch template",
			l.aws("autoscaling", "update-auto-scaling-group", "--auto-scaling-group-name", l.i.ASG, "--vpc-zone-identifier", strings.Join(l.k.Subnets, ",")))
	}
	return paste.Lines("# launch it in a subnet of the cluster's VPC:",
		l.aws("ec2", "describe-subnets", "--filters", "Name=vpc-id,Values="+l.k.VPC, "--query", "Subnets[].[SubnetId,AvailabilityZone,AvailableIpAddressCount]", "--output", "table"))
}
