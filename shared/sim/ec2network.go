package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/roll"
)

// Each cluster has its own VPC, with a private subnet in each zone and a NAT gateway in a public one.

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
func (c *cluster) natGateway() string  { return c.ec2ID("nat", "nat") }
func (c *cluster) dhcpOptions() string { return c.ec2ID("dopt", "dopt") }
func (c *cluster) cidr() string        { return fmt.Sprintf("10.%d.0.0/16", 10+c.index()) }
func (c *cluster) cidrOf(quarter int) string {
	return fmt.Sprintf("10.%d.%d.0/18", 10+c.index(), 64*quarter)
}
func (c *cluster) routeTable(s string) string { return c.ec2ID("rtb", s) }

func (c *cluster) subnets() []string { return roll.Map(zones, c.subnet) }

// byID returns resources by ID, which EC2 must know; code and text are its error. found returns those of a cluster.
func byID[T any](e ec2API, in any, ids []string, filters []types.Filter, found func(*cluster) map[string]T, code, text string) ([]T, error) {
	if len(ids) == 0 || len(filters) > 0 {
		e.v.unsimulated(in)
	}
	all := map[string]T{}
	for _, c := range e.v.a.clusters {
		maps.Copy(all, found(c))
	}
	return picked(ids, func(id string) (T, bool) { thing, ok := all[id]; return thing, ok }, func(unknown []string) error {
		return badRequest(code, text, strings.Join(unknown, ", "))
	})
}

// picked returns what is found under IDs, or the error for those that are unknown.
func picked[T any](ids []string, find func(id string) (T, bool), missing func(unknown []string) error) (all []T, err error) {
	var unknown []string
	for _, id := range ids {
		thing, ok := find(id)
		if !ok {
			unknown = append(unknown, id)
		}
		all = append(all, thing)
	}
	if len(unknown) > 0 {
		return nil, missing(unknown)
	}
	return all, nil
}

// filtered returns the values of a request's only filter, which must have that name.
func (e ec2API) filtered(in any, name string, filters []types.Filter, ids []string, token *string) []string {
	if len(ids) > 0 || len(filters) != 1 || aws.ToString(filters[0].Name) != name || len(filters[0].Values) > filterValues || token != nil {
		e.v.unsimulated(in)
	}
	return filters[0].Values
}

func (a *account) ofVPCs(ids []string) []*cluster {
	return slices.DeleteFunc(slices.Clone(a.clusters), func(c *cluster) bool { return !slices.Contains(ids, c.vpc()) })
}

// DescribeSubnets returns subnets by ID.
func (e ec2API) DescribeSubnets(in *ec2.DescribeSubnetsInput, out *ec2.DescribeSubnetsOutput) (err error) {
	out.Subnets, err = byID(e, in, in.SubnetIds, in.Filters, (*cluster).describeSubnets, "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist")
	return err
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
	for _, c := range e.v.a.ofVPCs(e.filtered(in, "vpc-id", in.Filters, in.RouteTableIds, in.NextToken)) {
		out.RouteTables = append(out.RouteTables, c.routeTables()...)
	}
	return nil
}

func (c *cluster) routeTables() []types.RouteTable {
	vpc, main, public := aws.String(c.vpc()), aws.String(c.routeTable("main")), aws.String(c.routeTable("public"))
	local := types.Route{DestinationCidrBlock: aws.String(c.cidr()), GatewayId: aws.String("local"), State: types.RouteStateActive, Origin: types.RouteOriginCreateRouteTable}
	out := types.Route{DestinationCidrBlock: aws.String("0.0.0.0/0"), State: types.RouteStateActive, Origin: types.RouteOriginCreateRoute}
	toNAT, toInternet := out, out
	toNAT.NatGatewayId, toInternet.GatewayId = aws.String(c.natGateway()), aws.String(c.ec2ID("igw", "igw"))
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
	for _, c := range e.v.a.ofVPCs(e.filtered(in, "vpc-id", in.Filters, in.NetworkAclIds, in.NextToken)) {
		out.NetworkAcls = append(out.NetworkAcls, c.describeACL())
	}
	return nil
}

// describeACL returns the default ACL, which allows everything.
func (c *cluster) describeACL() types.NetworkAcl {
	acl := types.NetworkAcl{NetworkAclId: aws.String(c.ec2ID("acl", "acl")), VpcId: aws.String(c.vpc()), IsDefault: aws.Bool(true), OwnerId: aws.String(accountID)}
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
func (e ec2API) DescribeSecurityGroups(in *ec2.DescribeSecurityGroupsInput, out *ec2.DescribeSecurityGroupsOutput) (err error) {
	out.SecurityGroups, err = byID(e, in, in.GroupIds, in.Filters, (*cluster).securityGroups, "InvalidGroup.NotFound", "The security group '%s' does not exist")
	return err
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
func (e ec2API) DescribeNatGateways(in *ec2.DescribeNatGatewaysInput, out *ec2.DescribeNatGatewaysOutput) (err error) {
	out.NatGateways, err = byID(e, in, in.NatGatewayIds, in.Filter, (*cluster).natGateways, "NatGatewayNotFound", "NatGateway %s was not found")
	return err
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
	e.filtered(in, "vpc-id", in.Filters, in.VpcEndpointIds, in.NextToken)
	return nil
}

// DescribeVpcs returns VPCs by ID.
func (e ec2API) DescribeVpcs(in *ec2.DescribeVpcsInput, out *ec2.DescribeVpcsOutput) (err error) {
	out.Vpcs, err = byID(e, in, in.VpcIds, in.Filters, func(c *cluster) map[string]types.Vpc {
		return map[string]types.Vpc{c.vpc(): {
			VpcId: aws.String(c.vpc()), CidrBlock: aws.String(c.cidr()), DhcpOptionsId: aws.String(c.dhcpOptions()), State: types.VpcStateAvailable, OwnerId: aws.String(accountID),
		}}
	}, "InvalidVpcID.NotFound", "The vpc ID '%s' does not exist")
	return err
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
	if id := aws.ToString(in.VpcId); len(e.v.a.ofVPCs([]string{id})) == 0 {
		return badRequest("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
	}
	return nil
}

// DescribeDhcpOptions returns DHCP option sets by ID.
func (e ec2API) DescribeDhcpOptions(in *ec2.DescribeDhcpOptionsInput, out *ec2.DescribeDhcpOptionsOutput) (err error) {
	out.DhcpOptions, err = byID(e, in, in.DhcpOptionsIds, in.Filters, (*cluster).describeDHCP, "InvalidDhcpOptionID.NotFound", "The dhcpOption ID '%s' does not exist")
	return err
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
