package bundle

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// DescribeSubnets answers from subnets.json.
func (e *EC2) DescribeSubnets(_ context.Context, in *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	found, err := e.c.subnets.choose(in.SubnetIds, func(s *types.Subnet) (bool, error) {
		return matches(in.Filters, s.Tags, attributes{"subnet-id": one(s.SubnetId), "vpc-id": one(s.VpcId), "availability-zone": one(s.AvailabilityZone), "availability-zone-id": one(s.AvailabilityZoneId), "cidr-block": one(s.CidrBlock)})
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeSubnetsOutput{Subnets: found}, nil
}

// DescribeRouteTables answers from route-tables.json.
func (e *EC2) DescribeRouteTables(_ context.Context, in *ec2.DescribeRouteTablesInput, _ ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error) {
	found, err := e.c.routeTables.choose(in.RouteTableIds, func(r *types.RouteTable) (bool, error) {
		return matches(in.Filters, r.Tags, routeTableAttributes(r))
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeRouteTablesOutput{RouteTables: found}, nil
}

// DescribeNetworkAcls answers from network-acls.json.
func (e *EC2) DescribeNetworkAcls(_ context.Context, in *ec2.DescribeNetworkAclsInput, _ ...func(*ec2.Options)) (*ec2.DescribeNetworkAclsOutput, error) {
	found, err := e.c.acls.choose(in.NetworkAclIds, func(a *types.NetworkAcl) (bool, error) {
		return matches(in.Filters, a.Tags, aclAttributes(a))
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeNetworkAclsOutput{NetworkAcls: found}, nil
}

// DescribeSecurityGroups answers from security-groups.json.
func (e *EC2) DescribeSecurityGroups(_ context.Context, in *ec2.DescribeSecurityGroupsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	found, err := e.c.groups.choose(in.GroupIds, func(g *types.SecurityGroup) (bool, error) {
		if len(in.GroupNames) > 0 && !slices.Contains(in.GroupNames, aws.ToString(g.GroupName)) {
			return false, nil
		}
		return matches(in.Filters, g.Tags, attributes{"group-id": one(g.GroupId), "group-name": one(g.GroupName), "vpc-id": one(g.VpcId)})
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: found}, nil
}

// DescribeNatGateways answers from nat-gateways.json.
func (e *EC2) DescribeNatGateways(_ context.Context, in *ec2.DescribeNatGatewaysInput, _ ...func(*ec2.Options)) (*ec2.DescribeNatGatewaysOutput, error) {
	found, err := e.c.gateways.choose(in.NatGatewayIds, func(g *types.NatGateway) (bool, error) {
		return matches(in.Filter, g.Tags, attributes{"nat-gateway-id": one(g.NatGatewayId), "vpc-id": one(g.VpcId), "subnet-id": one(g.SubnetId), "state": {string(g.State)}})
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeNatGatewaysOutput{NatGateways: found}, nil
}

// DescribeVpcEndpoints answers from vpc-endpoints.json.
func (e *EC2) DescribeVpcEndpoints(_ context.Context, in *ec2.DescribeVpcEndpointsInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error) {
	found, err := e.c.endpoints.choose(in.VpcEndpointIds, func(v *types.VpcEndpoint) (bool, error) {
		return matches(in.Filters, v.Tags, attributes{"vpc-endpoint-id": one(v.VpcEndpointId), "vpc-id": one(v.VpcId), "service-name": one(v.ServiceName), "vpc-endpoint-type": {string(v.VpcEndpointType)}, "vpc-endpoint-state": {string(v.State)}})
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeVpcEndpointsOutput{VpcEndpoints: found}, nil
}

// DescribeDhcpOptions answers from dhcp-options.json.
func (e *EC2) DescribeDhcpOptions(_ context.Context, in *ec2.DescribeDhcpOptionsInput, _ ...func(*ec2.Options)) (*ec2.DescribeDhcpOptionsOutput, error) {
	found, err := e.c.dhcp.choose(in.DhcpOptionsIds, func(o *types.DhcpOptions) (bool, error) {
		return matches(in.Filters, o.Tags, attributes{"dhcp-options-id": one(o.DhcpOptionsId)})
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeDhcpOptionsOutput{DhcpOptions: found}, nil
}

// DescribeVpcs answers from vpcs.json. Without that the only set of dhcp-options.json is
// the one that the cluster's VPCs use; of several nobody can tell.
func (e *EC2) DescribeVpcs(_ context.Context, in *ec2.DescribeVpcsInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcsOutput, error) {
	vpcs := &e.c.vpcs
	if !vpcs.held && !vpcs.empty {
		if err := e.c.dhcp.missing(); err != nil {
			return nil, err
		}
		if len(e.c.dhcp.rows) != 1 {
			return nil, vpcs.missing()
		}
		derived := e.derivedVPCs()
		vpcs = &derived
	}
	found, err := vpcs.choose(in.VpcIds, func(v *types.Vpc) (bool, error) {
		return matches(in.Filters, v.Tags, attributes{"vpc-id": one(v.VpcId), "cidr": one(v.CidrBlock), "dhcp-options-id": one(v.DhcpOptionsId)})
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeVpcsOutput{Vpcs: found}, nil
}

func (e *EC2) derivedVPCs() table[types.Vpc] {
	t := newTable(fileVPCs, e.c.vpcs.key)
	t.held = true
	add := func(id *string) {
		if aws.ToString(id) != "" {
			t.put(types.Vpc{VpcId: id, DhcpOptionsId: e.c.dhcp.rows[0].DhcpOptionsId})
		}
	}
	for i := range e.c.instances.rows {
		add(e.c.instances.rows[i].VpcId)
	}
	for i := range e.c.subnets.rows {
		add(e.c.subnets.rows[i].VpcId)
	}
	for i := range e.c.cluster.rows {
		if v := e.c.cluster.rows[i].ResourcesVpcConfig; v != nil {
			add(v.VpcId)
		}
	}
	return t
}

// DescribeVpcAttribute answers from vpc-attributes.json.
func (e *EC2) DescribeVpcAttribute(_ context.Context, in *ec2.DescribeVpcAttributeInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcAttributeOutput, error) {
	f, err := e.c.vpcFlags.find(aws.ToString(in.VpcId))
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
		return nil, e.c.vpcFlags.lacks(fmt.Sprintf("%s of %s", in.Attribute, f.vpc))
	}
	return out, nil
}
