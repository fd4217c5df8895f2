package bundle

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
)

func (c *contents) describeVPCs(in *ec2.DescribeVpcsInput) (*ec2.DescribeVpcsOutput, error) {
	vpcs, err := c.someVPCs()
	if err != nil {
		return nil, err
	}
	found, err := filtered(vpcs, in.VpcIds, in.Filters)
	return &ec2.DescribeVpcsOutput{Vpcs: found}, err
}

// someVPCs returns the VPCs of vpcs.json. Without that file, a single set in dhcp-options.json is
// the one that the cluster's VPCs use. With several sets it is unknown.
func (c *contents) someVPCs() (*table[types.Vpc], error) {
	vpcs, dhcp := tableOf[types.Vpc](c, fileVPCs), tableOf[types.DhcpOptions](c, fileDHCPOptions)
	if vpcs.held || vpcs.empty {
		return vpcs, nil
	}
	if err := dhcp.missing(); err != nil {
		return nil, err
	}
	if len(dhcp.rows) != 1 {
		return nil, vpcs.missing()
	}
	var ids []*string
	for _, i := range c.instances().rows {
		ids = append(ids, i.VpcId)
	}
	for _, s := range tableOf[types.Subnet](c, fileSubnets).rows {
		ids = append(ids, s.VpcId)
	}
	if config := c.cluster().rows[0].ResourcesVpcConfig; config != nil {
		ids = append(ids, config.VpcId)
	}
	t := newTable(fileVPCs, vpcs.key)
	t.held = true
	for _, id := range ids {
		if aws.ToString(id) != "" {
			t.put(types.Vpc{VpcId: id, DhcpOptionsId: dhcp.rows[0].DhcpOptionsId})
		}
	}
	return t, nil
}

func vpcAttributesSpec() spec {
	out := perName[ec2.DescribeVpcAttributeOutput](fileVPCAttributes, "aws ec2 describe-vpc-attribute", "EnableDnsSupport")
	out.calls = []operation{on("", nil, (*contents).vpcAttribute, func(c *contents, in *ec2.DescribeVpcAttributeInput, out *ec2.DescribeVpcAttributeOutput) {
		all := tableOf[ec2.DescribeVpcAttributeOutput](c, fileVPCAttributes)
		known, _ := all.find(aws.ToString(in.VpcId)) // the other attribute, if it was read before
		all.set(aws.ToString(in.VpcId), ec2.DescribeVpcAttributeOutput{
			EnableDnsSupport: cmp.Or(out.EnableDnsSupport, known.EnableDnsSupport), EnableDnsHostnames: cmp.Or(out.EnableDnsHostnames, known.EnableDnsHostnames),
		})
	})}
	return out
}

func (c *contents) vpcAttribute(in *ec2.DescribeVpcAttributeInput) (*ec2.DescribeVpcAttributeOutput, error) {
	all := tableOf[ec2.DescribeVpcAttributeOutput](c, fileVPCAttributes)
	known, err := all.find(aws.ToString(in.VpcId))
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcAttributeOutput{VpcId: in.VpcId}
	switch in.Attribute {
	case types.VpcAttributeNameEnableDnsSupport:
		out.EnableDnsSupport = known.EnableDnsSupport
	case types.VpcAttributeNameEnableDnsHostnames:
		out.EnableDnsHostnames = known.EnableDnsHostnames
	default:
		return nil, fmt.Errorf("a bundle does not hold the attribute %s of VPCs", in.Attribute)
	}
	if out.EnableDnsSupport == nil && out.EnableDnsHostnames == nil {
		return nil, all.lacks(fmt.Sprintf("%s of %s", in.Attribute, aws.ToString(in.VpcId)))
	}
	return out, nil
}

// inlineTextsSpec is that of a file with the answers about policies of roles, which name both.
func inlineTextsSpec() spec {
	s := shape{file: fileInlineTexts, command: "aws iam get-role-policy, once for each,", list: "RolePolicies", id: "PolicyName", key: "RoleName/PolicyName"}
	out := listing[iam.GetRolePolicyOutput](s)
	out.calls = []operation{on("", nil, func(c *contents, in *iam.GetRolePolicyInput) (*iam.GetRolePolicyOutput, error) {
		p, err := tableOf[iam.GetRolePolicyOutput](c, fileInlineTexts).find(aws.ToString(in.RoleName) + "/" + aws.ToString(in.PolicyName))
		out := *p // a copy, because the client modifies its answer
		return &out, err
	}, func(c *contents, in *iam.GetRolePolicyInput, out *iam.GetRolePolicyOutput) {
		tableOf[iam.GetRolePolicyOutput](c, fileInlineTexts).put(iam.GetRolePolicyOutput{RoleName: in.RoleName, PolicyName: in.PolicyName, PolicyDocument: out.PolicyDocument})
	})}
	return out
}
