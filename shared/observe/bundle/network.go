package bundle

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// answerNetwork answers EC2 calls about networks.
func (c *contents) answerNetwork(in any) (any, error) {
	switch in := in.(type) {
	case *ec2.DescribeVpcsInput:
		vpcs, err := c.someVPCs()
		if err != nil {
			return nil, err
		}
		found, err := filtered(vpcs, in.VpcIds, in.Filters)
		return &ec2.DescribeVpcsOutput{Vpcs: found}, err
	case *ec2.DescribeVpcAttributeInput:
		return c.vpcAttribute(in)
	}
	return c.answerEKS(in)
}

// someVPCs returns the VPCs of vpcs.json. Without that file, a single set in dhcp-options.json is
// the one that the cluster's VPCs use. With several sets it is unknown.
func (c *contents) someVPCs() (*table[types.Vpc], error) {
	if c.vpcs.held || c.vpcs.empty {
		return &c.vpcs, nil
	}
	if err := c.dhcp.missing(); err != nil {
		return nil, err
	}
	if len(c.dhcp.rows) != 1 {
		return nil, c.vpcs.missing()
	}
	t := newTable(fileVPCs, c.vpcs.key)
	t.held = true
	add := func(id *string) {
		if aws.ToString(id) != "" {
			t.put(types.Vpc{VpcId: id, DhcpOptionsId: c.dhcp.rows[0].DhcpOptionsId})
		}
	}
	for i := range c.instances.rows {
		add(c.instances.rows[i].VpcId)
	}
	for i := range c.subnets.rows {
		add(c.subnets.rows[i].VpcId)
	}
	for i := range c.cluster.rows {
		if v := c.cluster.rows[i].ResourcesVpcConfig; v != nil {
			add(v.VpcId)
		}
	}
	return &t, nil
}

func (c *contents) vpcAttribute(in *ec2.DescribeVpcAttributeInput) (*ec2.DescribeVpcAttributeOutput, error) {
	f, err := c.vpcFlags.find(aws.ToString(in.VpcId))
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcAttributeOutput{VpcId: in.VpcId}
	var told *types.AttributeBooleanValue
	switch in.Attribute {
	case types.VpcAttributeNameEnableDnsSupport:
		told, out.EnableDnsSupport = f.EnableDnsSupport, f.EnableDnsSupport
	case types.VpcAttributeNameEnableDnsHostnames:
		told, out.EnableDnsHostnames = f.EnableDnsHostnames, f.EnableDnsHostnames
	default:
		return nil, fmt.Errorf("a bundle does not hold the attribute %s of VPCs", in.Attribute)
	}
	if told == nil {
		return nil, c.vpcFlags.lacks(fmt.Sprintf("%s of %s", in.Attribute, f.vpc))
	}
	return out, nil
}
