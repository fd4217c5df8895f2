package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Each cluster has its own VPC with a private subnet in each zone. The main route table leads to a
// NAT gateway, which has a public subnet. All of it works.

// ec2ID returns a generated ID of an EC2 resource of the cluster.
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

// subnets returns the private subnets, in the order of the zones.
func (c *cluster) subnets() []string {
	var ids []string
	for _, z := range zones {
		ids = append(ids, c.subnet(z))
	}
	return ids
}

// lookedUp returns resources by ID; EC2 must know all of them. found returns a cluster's resources
// of the kind; code and text are the error for unknown IDs.
func lookedUp[T any](out *[]T, a *account, ids []string, found func(*cluster) map[string]T, code, text string) error {
	all := map[string]T{}
	for _, c := range a.clusters {
		for id, thing := range found(c) {
			all[id] = thing
		}
	}
	var unknown []string
	for _, id := range ids {
		thing, ok := all[id]
		if !ok {
			unknown = append(unknown, id)
		}
		*out = append(*out, thing)
	}
	if len(unknown) > 0 {
		return badRequest(code, text, strings.Join(unknown, ", "))
	}
	return nil
}

// ofVPCs returns the clusters whose VPCs the filters name; ok is false if the filters contain
// anything else.
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

// DescribeSubnets returns subnets by ID.
func (e ec2API) DescribeSubnets(in *ec2.DescribeSubnetsInput, out *ec2.DescribeSubnetsOutput) error {
	if len(in.SubnetIds) == 0 || len(in.Filters) > 0 {
		e.v.unsimulated(in)
	}
	return lookedUp(&out.Subnets, e.v.a, in.SubnetIds, (*cluster).describeSubnets, "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist")
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

// DescribeRouteTables returns the route tables of VPCs.
func (e ec2API) DescribeRouteTables(in *ec2.DescribeRouteTablesInput, out *ec2.DescribeRouteTablesOutput) error {
	of, ok := ofVPCs(e.v.a, in.Filters)
	if !ok || len(in.RouteTableIds) > 0 || in.NextToken != nil {
		e.v.unsimulated(in)
	}
	for _, c := range of {
		out.RouteTables = append(out.RouteTables, c.routeTables()...)
	}
	return nil
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

// DescribeNetworkAcls returns the network ACLs of VPCs.
func (e ec2API) DescribeNetworkAcls(in *ec2.DescribeNetworkAclsInput, out *ec2.DescribeNetworkAclsOutput) error {
	of, ok := ofVPCs(e.v.a, in.Filters)
	if !ok || len(in.NetworkAclIds) > 0 || in.NextToken != nil {
		e.v.unsimulated(in)
	}
	for _, c := range of {
		out.NetworkAcls = append(out.NetworkAcls, c.describeACL())
	}
	return nil
}

// describeACL returns the default ACL, which allows everything.
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

// DescribeSecurityGroups returns security groups by ID.
func (e ec2API) DescribeSecurityGroups(in *ec2.DescribeSecurityGroupsInput, out *ec2.DescribeSecurityGroupsOutput) error {
	if len(in.GroupIds) == 0 || len(in.Filters) > 0 {
		e.v.unsimulated(in)
	}
	return lookedUp(&out.SecurityGroups, e.v.a, in.GroupIds, (*cluster).securityGroups, "InvalidGroup.NotFound", "The security group '%s' does not exist")
}

// securityGroups returns the security group that EKS creates for a cluster, unchanged.
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

// DescribeNatGateways returns NAT gateways by ID.
func (e ec2API) DescribeNatGateways(in *ec2.DescribeNatGatewaysInput, out *ec2.DescribeNatGatewaysOutput) error {
	if len(in.NatGatewayIds) == 0 || len(in.Filter) > 0 {
		e.v.unsimulated(in)
	}
	return lookedUp(&out.NatGateways, e.v.a, in.NatGatewayIds, (*cluster).natGateways, "NatGatewayNotFound", "NatGateway %s was not found")
}

func (c *cluster) natGateways() map[string]types.NatGateway {
	id := c.natGateway()
	return map[string]types.NatGateway{id: {
		NatGatewayId: aws.String(id), VpcId: aws.String(c.vpc()), SubnetId: aws.String(c.publicSubnet()),
		State: types.NatGatewayStateAvailable, ConnectivityType: types.ConnectivityTypePublic,
		NatGatewayAddresses: []types.NatGatewayAddress{{PublicIp: aws.String(fmt.Sprintf("203.0.113.%d", 1+c.index()%250)), AllocationId: aws.String(c.ec2ID("eipalloc", "nat"))}},
	}}
}

// DescribeVpcEndpoints returns the endpoints of VPCs. There are none: nodes use the NAT gateway.
func (e ec2API) DescribeVpcEndpoints(in *ec2.DescribeVpcEndpointsInput, _ *ec2.DescribeVpcEndpointsOutput) error {
	if _, ok := ofVPCs(e.v.a, in.Filters); !ok || len(in.VpcEndpointIds) > 0 || in.NextToken != nil {
		e.v.unsimulated(in)
	}
	return nil
}

// DescribeVpcs returns VPCs by ID.
func (e ec2API) DescribeVpcs(in *ec2.DescribeVpcsInput, out *ec2.DescribeVpcsOutput) error {
	if len(in.VpcIds) == 0 || len(in.Filters) > 0 {
		e.v.unsimulated(in)
	}
	return lookedUp(&out.Vpcs, e.v.a, in.VpcIds, func(c *cluster) map[string]types.Vpc {
		return map[string]types.Vpc{c.vpc(): {
			VpcId: aws.String(c.vpc()), CidrBlock: aws.String(c.cidr()), DhcpOptionsId: aws.String(c.dhcpOptions()), State: types.VpcStateAvailable, OwnerId: aws.String(accountID),
		}}
	}, "InvalidVpcID.NotFound", "The vpc ID '%s' does not exist")
}

// DescribeVpcAttribute returns an attribute of a VPC: both DNS attributes are enabled.
func (e ec2API) DescribeVpcAttribute(in *ec2.DescribeVpcAttributeInput, out *ec2.DescribeVpcAttributeOutput) error {
	out.VpcId = in.VpcId
	switch in.Attribute {
	case types.VpcAttributeNameEnableDnsSupport:
		out.EnableDnsSupport = &types.AttributeBooleanValue{Value: aws.Bool(true)}
	case types.VpcAttributeNameEnableDnsHostnames:
		out.EnableDnsHostnames = &types.AttributeBooleanValue{Value: aws.Bool(true)}
	default:
		e.v.unsimulated(in)
	}
	if id := aws.ToString(in.VpcId); !slices.ContainsFunc(e.v.a.clusters, func(c *cluster) bool { return c.vpc() == id }) {
		return badRequest("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
	}
	return nil
}

// DescribeDhcpOptions returns DHCP option sets by ID.
func (e ec2API) DescribeDhcpOptions(in *ec2.DescribeDhcpOptionsInput, out *ec2.DescribeDhcpOptionsOutput) error {
	if len(in.DhcpOptionsIds) == 0 || len(in.Filters) > 0 {
		e.v.unsimulated(in)
	}
	return lookedUp(&out.DhcpOptions, e.v.a, in.DhcpOptionsIds, (*cluster).describeDHCP, "InvalidDhcpOptionID.NotFound", "The dhcpOption ID '%s' does not exist")
}

// describeDHCP returns the region's default set.
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

// answered returns the answer, or only the error if there is one, as a client does.
func answered[T any](out *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}
