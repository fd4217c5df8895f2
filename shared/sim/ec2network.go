package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Each cluster has a VPC of its own: a private subnet in each zone, which the main route
// table leads to a NAT gateway, and a public one for that. All of it is in order.

// ec2ID is a made-up id of a resource of EC2's that a cluster has.
func (c *cluster) ec2ID(prefix, what string) string {
	return prefix + "-0" + shortID(c.d.of("ec2").of(what), 16)
}

func (c *cluster) vpc() string               { return c.ec2ID("vpc", "vpc") }
func (c *cluster) subnet(zone string) string { return c.ec2ID("subnet", zone) }
func (c *cluster) publicSubnet() string      { return c.ec2ID("subnet", "public") }
func (c *cluster) securityGroup() string     { return c.ec2ID("sg", "cluster") }
func (c *cluster) securityGroupName() string {
	return "eks-cluster-sg-" + c.name + "-" + shortID(c.d, 8)
}
func (c *cluster) natGateway() string      { return c.ec2ID("nat", "nat") }
func (c *cluster) internetGateway() string { return c.ec2ID("igw", "igw") }
func (c *cluster) networkACL() string      { return c.ec2ID("acl", "acl") }
func (c *cluster) dhcpOptions() string     { return c.ec2ID("dopt", "dopt") }
func (c *cluster) cidr() string            { return fmt.Sprintf("10.%d.0.0/16", 10+c.index()) }
func (c *cluster) cidrOf(quarter int) string {
	return fmt.Sprintf("10.%d.%d.0/18", 10+c.index(), 64*quarter)
}
func (c *cluster) routeTable(s string) string { return c.ec2ID("rtb", s) }

// subnets are the private ones, in the order of the zones.
func (c *cluster) subnets() []string {
	var ids []string
	for _, z := range zones {
		ids = append(ids, c.subnet(z))
	}
	return ids
}

// lookedUp asks for things by their ids, of which EC2 must know all. found gives what one
// cluster has of the kind; code and text are the refusal for ids that nobody has.
func lookedUp[T any](a *account, ids []string, found func(*cluster) map[string]T, code, text string) ([]T, error) {
	all := map[string]T{}
	for _, c := range a.clusters {
		for id, thing := range found(c) {
			all[id] = thing
		}
	}
	var out []T
	var unknown []string
	for _, id := range ids {
		thing, ok := all[id]
		if !ok {
			unknown = append(unknown, id)
		}
		out = append(out, thing)
	}
	if len(unknown) > 0 {
		return nil, badRequest(code, text, strings.Join(unknown, ", "))
	}
	return out, nil
}

// ofVPCs are the clusters whose VPCs the filters name; ok is false if they say anything
// else.
func ofVPCs(a *account, filters []types.Filter) (of []*cluster, ok bool) {
	if len(filters) != 1 || aws.ToString(filters[0].Name) != "vpc-id" {
		return nil, false
	}
	for _, c := range a.clusters {
		if slices.Contains(filters[0].Values, c.vpc()) {
			of = append(of, c)
		}
	}
	return of, true
}

// DescribeSubnets tells of subnets by their ids.
func (e ec2API) DescribeSubnets(ctx context.Context, in *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	const call = "ec2:DescribeSubnets"
	if len(in.SubnetIds) == 0 || len(in.Filters) > 0 {
		e.v.unsimulated(call, in)
	}
	out := new(ec2.DescribeSubnetsOutput)
	err := e.v.call(ctx, call, reads, "", func() (err error) {
		out.Subnets, err = lookedUp(e.v.a, in.SubnetIds, (*cluster).describeSubnets, "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist")
		return err
	})
	return answered(out, err)
}

func (c *cluster) describeSubnets() map[string]types.Subnet {
	out := map[string]types.Subnet{}
	add := func(id, zone, cidr string) {
		out[id] = types.Subnet{
			SubnetId: aws.String(id), VpcId: aws.String(c.vpc()), State: types.SubnetStateAvailable, OwnerId: aws.String(accountID),
			AvailabilityZone: aws.String(zone), AvailabilityZoneId: aws.String(zoneID(zone)),
			CidrBlock: aws.String(cidr), AvailableIpAddressCount: aws.Int32(11823), MapPublicIpOnLaunch: aws.Bool(false),
		}
	}
	for i, z := range zones {
		add(c.subnet(z), z, c.cidrOf(i))
	}
	add(c.publicSubnet(), zones[0], c.cidrOf(len(zones)))
	return out
}

// DescribeRouteTables tells of the route tables of VPCs.
func (e ec2API) DescribeRouteTables(ctx context.Context, in *ec2.DescribeRouteTablesInput, _ ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error) {
	const call = "ec2:DescribeRouteTables"
	of, ok := ofVPCs(e.v.a, in.Filters)
	if !ok || len(in.RouteTableIds) > 0 || in.NextToken != nil {
		e.v.unsimulated(call, in)
	}
	out := new(ec2.DescribeRouteTablesOutput)
	err := e.v.call(ctx, call, reads, "", func() error {
		for _, c := range of {
			out.RouteTables = append(out.RouteTables, c.routeTables()...)
		}
		return nil
	})
	return answered(out, err)
}

func (c *cluster) routeTables() []types.RouteTable {
	vpc, main, public := aws.String(c.vpc()), aws.String(c.routeTable("main")), aws.String(c.routeTable("public"))
	local := types.Route{DestinationCidrBlock: aws.String(c.cidr()), GatewayId: aws.String("local"), State: types.RouteStateActive, Origin: types.RouteOriginCreateRouteTable}
	out := types.Route{DestinationCidrBlock: aws.String("0.0.0.0/0"), State: types.RouteStateActive, Origin: types.RouteOriginCreateRoute}
	toNAT, toInternet := out, out
	toNAT.NatGatewayId, toInternet.GatewayId = aws.String(c.natGateway()), aws.String(c.internetGateway())
	return []types.RouteTable{
		{
			RouteTableId: main, VpcId: vpc, OwnerId: aws.String(accountID), Routes: []types.Route{local, toNAT},
			Associations: []types.RouteTableAssociation{{Main: aws.Bool(true), RouteTableId: main, RouteTableAssociationId: aws.String(c.ec2ID("rtbassoc", "main"))}},
		},
		{
			RouteTableId: public, VpcId: vpc, OwnerId: aws.String(accountID), Routes: []types.Route{local, toInternet},
			Associations: []types.RouteTableAssociation{{
				Main: aws.Bool(false), RouteTableId: public, SubnetId: aws.String(c.publicSubnet()), RouteTableAssociationId: aws.String(c.ec2ID("rtbassoc", "public")),
			}},
		},
	}
}

// DescribeNetworkAcls tells of the network ACLs of VPCs.
func (e ec2API) DescribeNetworkAcls(ctx context.Context, in *ec2.DescribeNetworkAclsInput, _ ...func(*ec2.Options)) (*ec2.DescribeNetworkAclsOutput, error) {
	const call = "ec2:DescribeNetworkAcls"
	of, ok := ofVPCs(e.v.a, in.Filters)
	if !ok || len(in.NetworkAclIds) > 0 || in.NextToken != nil {
		e.v.unsimulated(call, in)
	}
	out := new(ec2.DescribeNetworkAclsOutput)
	err := e.v.call(ctx, call, reads, "", func() error {
		for _, c := range of {
			out.NetworkAcls = append(out.NetworkAcls, c.describeACL())
		}
		return nil
	})
	return answered(out, err)
}

// describeACL is the default one, which allows everything.
func (c *cluster) describeACL() types.NetworkAcl {
	acl := types.NetworkAcl{NetworkAclId: aws.String(c.networkACL()), VpcId: aws.String(c.vpc()), IsDefault: aws.Bool(true), OwnerId: aws.String(accountID)}
	rule := func(number int32, egress bool, action types.RuleAction) types.NetworkAclEntry {
		return types.NetworkAclEntry{CidrBlock: aws.String("0.0.0.0/0"), Egress: aws.Bool(egress), Protocol: aws.String("-1"), RuleAction: action, RuleNumber: aws.Int32(number)}
	}
	for _, egress := range []bool{true, false} {
		acl.Entries = append(acl.Entries, rule(100, egress, types.RuleActionAllow), rule(32767, egress, types.RuleActionDeny))
	}
	for _, id := range append(c.subnets(), c.publicSubnet()) {
		acl.Associations = append(acl.Associations, types.NetworkAclAssociation{
			NetworkAclId: acl.NetworkAclId, SubnetId: aws.String(id), NetworkAclAssociationId: aws.String(c.ec2ID("aclassoc", id)),
		})
	}
	return acl
}

// DescribeSecurityGroups tells of security groups by their ids.
func (e ec2API) DescribeSecurityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	const call = "ec2:DescribeSecurityGroups"
	if len(in.GroupIds) == 0 || len(in.Filters) > 0 {
		e.v.unsimulated(call, in)
	}
	out := new(ec2.DescribeSecurityGroupsOutput)
	err := e.v.call(ctx, call, reads, "", func() (err error) {
		out.SecurityGroups, err = lookedUp(e.v.a, in.GroupIds, (*cluster).securityGroups, "InvalidGroup.NotFound", "The security group '%s' does not exist")
		return err
	})
	return answered(out, err)
}

// securityGroups is the one that EKS makes for a cluster, as it makes it.
// https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
func (c *cluster) securityGroups() map[string]types.SecurityGroup {
	id := c.securityGroup()
	return map[string]types.SecurityGroup{id: {
		GroupId: aws.String(id), GroupName: aws.String(c.securityGroupName()), VpcId: aws.String(c.vpc()), OwnerId: aws.String(accountID),
		Description:         aws.String("EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, as well as any managed workloads."),
		IpPermissions:       []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String(id), UserId: aws.String(accountID)}}}},
		IpPermissionsEgress: []types.IpPermission{{IpProtocol: aws.String("-1"), IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}},
		Tags:                []types.Tag{{Key: aws.String("kubernetes.io/cluster/" + c.name), Value: aws.String("owned")}, {Key: aws.String("aws:eks:cluster-name"), Value: aws.String(c.name)}},
	}}
}

// DescribeNatGateways tells of NAT gateways by their ids.
func (e ec2API) DescribeNatGateways(ctx context.Context, in *ec2.DescribeNatGatewaysInput, _ ...func(*ec2.Options)) (*ec2.DescribeNatGatewaysOutput, error) {
	const call = "ec2:DescribeNatGateways"
	if len(in.NatGatewayIds) == 0 || len(in.Filter) > 0 {
		e.v.unsimulated(call, in)
	}
	out := new(ec2.DescribeNatGatewaysOutput)
	err := e.v.call(ctx, call, reads, "", func() (err error) {
		out.NatGateways, err = lookedUp(e.v.a, in.NatGatewayIds, (*cluster).natGateways, "NatGatewayNotFound", "NatGateway %s was not found")
		return err
	})
	return answered(out, err)
}

func (c *cluster) natGateways() map[string]types.NatGateway {
	id := c.natGateway()
	return map[string]types.NatGateway{id: {
		NatGatewayId: aws.String(id), VpcId: aws.String(c.vpc()), SubnetId: aws.String(c.publicSubnet()),
		State: types.NatGatewayStateAvailable, ConnectivityType: types.ConnectivityTypePublic,
		NatGatewayAddresses: []types.NatGatewayAddress{{PublicIp: aws.String(fmt.Sprintf("203.0.113.%d", 1+c.index()%250)), AllocationId: aws.String(c.ec2ID("eipalloc", "nat"))}},
	}}
}

// DescribeVpcEndpoints tells of the endpoints of VPCs, of which there are none: what the
// nodes need they reach over the NAT gateway.
func (e ec2API) DescribeVpcEndpoints(ctx context.Context, in *ec2.DescribeVpcEndpointsInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error) {
	const call = "ec2:DescribeVpcEndpoints"
	if _, ok := ofVPCs(e.v.a, in.Filters); !ok || len(in.VpcEndpointIds) > 0 || in.NextToken != nil {
		e.v.unsimulated(call, in)
	}
	err := e.v.call(ctx, call, reads, "", func() error { return nil })
	return answered(new(ec2.DescribeVpcEndpointsOutput), err)
}

// DescribeVpcs tells of VPCs by their ids.
func (e ec2API) DescribeVpcs(ctx context.Context, in *ec2.DescribeVpcsInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcsOutput, error) {
	const call = "ec2:DescribeVpcs"
	if len(in.VpcIds) == 0 || len(in.Filters) > 0 {
		e.v.unsimulated(call, in)
	}
	out := new(ec2.DescribeVpcsOutput)
	err := e.v.call(ctx, call, reads, "", func() (err error) {
		out.Vpcs, err = lookedUp(e.v.a, in.VpcIds, func(c *cluster) map[string]types.Vpc {
			return map[string]types.Vpc{c.vpc(): {
				VpcId: aws.String(c.vpc()), CidrBlock: aws.String(c.cidr()), DhcpOptionsId: aws.String(c.dhcpOptions()), State: types.VpcStateAvailable, OwnerId: aws.String(accountID),
			}}
		}, "InvalidVpcID.NotFound", "The vpc ID '%s' does not exist")
		return err
	})
	return answered(out, err)
}

// DescribeVpcAttribute tells an attribute of a VPC: its two of DNS are on.
func (e ec2API) DescribeVpcAttribute(ctx context.Context, in *ec2.DescribeVpcAttributeInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcAttributeOutput, error) {
	const call = "ec2:DescribeVpcAttribute"
	out := &ec2.DescribeVpcAttributeOutput{VpcId: in.VpcId}
	switch in.Attribute {
	case types.VpcAttributeNameEnableDnsSupport:
		out.EnableDnsSupport = &types.AttributeBooleanValue{Value: aws.Bool(true)}
	case types.VpcAttributeNameEnableDnsHostnames:
		out.EnableDnsHostnames = &types.AttributeBooleanValue{Value: aws.Bool(true)}
	default:
		e.v.unsimulated(call, in)
	}
	err := e.v.call(ctx, call, reads, "", func() error {
		if id := aws.ToString(in.VpcId); !slices.ContainsFunc(e.v.a.clusters, func(c *cluster) bool { return c.vpc() == id }) {
			return badRequest("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
		}
		return nil
	})
	return answered(out, err)
}

// DescribeDhcpOptions tells of sets of DHCP options by their ids.
func (e ec2API) DescribeDhcpOptions(ctx context.Context, in *ec2.DescribeDhcpOptionsInput, _ ...func(*ec2.Options)) (*ec2.DescribeDhcpOptionsOutput, error) {
	const call = "ec2:DescribeDhcpOptions"
	if len(in.DhcpOptionsIds) == 0 || len(in.Filters) > 0 {
		e.v.unsimulated(call, in)
	}
	out := new(ec2.DescribeDhcpOptionsOutput)
	err := e.v.call(ctx, call, reads, "", func() (err error) {
		out.DhcpOptions, err = lookedUp(e.v.a, in.DhcpOptionsIds, (*cluster).describeDHCP, "InvalidDhcpOptionID.NotFound", "The dhcpOption ID '%s' does not exist")
		return err
	})
	return answered(out, err)
}

// describeDHCP is the default set of the region.
func (c *cluster) describeDHCP() map[string]types.DhcpOptions {
	option := func(key, value string) types.DhcpConfiguration {
		return types.DhcpConfiguration{Key: aws.String(key), Values: []types.AttributeValue{{Value: aws.String(value)}}}
	}
	id := c.dhcpOptions()
	return map[string]types.DhcpOptions{id: {
		DhcpOptionsId: aws.String(id), OwnerId: aws.String(accountID),
		DhcpConfigurations: []types.DhcpConfiguration{option("domain-name", region+".compute.internal"), option("domain-name-servers", "AmazonProvidedDNS")},
	}}
}

// answered is what a client returns: an answer, or an error and nothing else.
func answered[T any](out *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}
