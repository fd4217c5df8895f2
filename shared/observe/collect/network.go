package collect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const (
	// networkTotal is how many subnets, security groups or NAT gateways are described per check.
	networkTotal = 200
	// vpcsTotal is how many VPCs are read per check. A cluster has one; another is a mistake.
	vpcsTotal = 3
)

// readSubnets describes the subnets of the instances, and those of the API server's and the VPC
// endpoints' addresses.
func (l *look) readSubnets() {
	ids := roll.Map(l.configs(needNetwork), func(c evidence.InstanceConfig) string { return c.Subnet })
	if len(ids) == 0 {
		return
	}
	ids = slices.Concat(ids, l.ev.Cluster.Config.Value.Subnets, joined(l.endpoints(), func(e evidence.VPCEndpoint) []string { return e.Subnets }))
	describe(l, l.ev.Network.Subnets, "ec2:DescribeSubnets", networkTotal, "of a kind", ids, l.ec2.DescribeSubnets,
		func(ids []string) *ec2.DescribeSubnetsInput { return &ec2.DescribeSubnetsInput{SubnetIds: ids} },
		func(out *ec2.DescribeSubnetsOutput) []types.Subnet { return out.Subnets }, func(t *types.Subnet) *string { return t.SubnetId }, subnet)
}

func subnet(s *types.Subnet) evidence.Subnet {
	out := evidence.Subnet{
		Owner: aws.ToString(s.OwnerId), CIDR: aws.ToString(s.CidrBlock), FreeAddresses: int(aws.ToInt32(s.AvailableIpAddressCount)),
	}
	if b := s.BlockPublicAccessStates; b != nil {
		out.InternetBlock = string(b.InternetGatewayBlockMode)
	}
	return out
}

// vpcIDs returns the VPCs of the instances, each once.
func (l *look) vpcIDs() []string {
	ids := roll.Map(l.configs(needNetwork), func(c evidence.InstanceConfig) string { return c.VPC })
	ids, _ = first(distinct(ids), l.most(vpcsTotal))
	return ids
}

func (l *look) inVPCs() []types.Filter {
	return []types.Filter{{Name: aws.String("vpc-id"), Values: l.vpcIDs()}}
}

// listing reads the objects of a kind in the VPCs of the instances, in one call for any number of
// subnets.
func listing[I, O, F, T any](l *look, name string, call project.Method[I, O, F], in *I, items func(*O) []T) fetched[T] {
	ids := l.vpcIDs()
	if len(ids) == 0 {
		return fetched[T]{}
	}
	all, end := pages(l.action(name), l.most(maxPages), call, in, items)
	return fetched[T]{vpcs: ids, all: all, why: end.why}
}

func (l *look) readRouteTables() {
	l.tables = listing(l, "ec2:DescribeRouteTables", l.ec2.DescribeRouteTables, &ec2.DescribeRouteTablesInput{Filters: l.inVPCs()}, func(out *ec2.DescribeRouteTablesOutput) []types.RouteTable { return out.RouteTables })
}

func (l *look) readACLs() {
	l.acls = listing(l, "ec2:DescribeNetworkAcls", l.ec2.DescribeNetworkAcls, &ec2.DescribeNetworkAclsInput{Filters: l.inVPCs()}, func(out *ec2.DescribeNetworkAclsOutput) []types.NetworkAcl { return out.NetworkAcls })
}

func (l *look) readEndpoints() {
	got := listing(l, "ec2:DescribeVpcEndpoints", l.ec2.DescribeVpcEndpoints, &ec2.DescribeVpcEndpointsInput{Filters: l.inVPCs()}, func(out *ec2.DescribeVpcEndpointsOutput) []types.VpcEndpoint { return out.VpcEndpoints })
	for _, id := range l.vpcIDs() {
		fact := evidence.Failed[[]evidence.VPCEndpoint](got.why)
		if got.why == "" {
			fact = evidence.Read([]evidence.VPCEndpoint{})
			for i := range got.all {
				if e := &got.all[i]; aws.ToString(e.VpcId) == id {
					fact.Value = append(fact.Value, endpoint(e))
				}
			}
		}
		l.vpc(id, func(v *evidence.VPC) { v.Endpoints = fact })
	}
}

func endpoint(e *types.VpcEndpoint) evidence.VPCEndpoint {
	return evidence.VPCEndpoint{
		InboundOnly: e.DnsOptions != nil && aws.ToBool(e.DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint),
		ID:          aws.ToString(e.VpcEndpointId), Service: aws.ToString(e.ServiceName), Type: string(e.VpcEndpointType), State: strings.ToLower(string(e.State)),
		PrivateDNS: aws.ToBool(e.PrivateDnsEnabled), Subnets: e.SubnetIds, RouteTables: e.RouteTableIds,
		Policy:         policyText(aws.ToString(e.PolicyDocument)),
		SecurityGroups: roll.Map(e.Groups, func(g types.SecurityGroupIdentifier) string { return aws.ToString(g.GroupId) }),
	}
}

// endpoints returns the endpoints of the VPCs, after they were read.
func (l *look) endpoints() []evidence.VPCEndpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(roll.Map(slices.Sorted(maps.Keys(l.ev.Network.VPCs)), func(id string) []evidence.VPCEndpoint { return l.ev.Network.VPCs[id].Endpoints.Value })...)
}

// readSecurityGroups describes the security groups of the instances, of the cluster, and of the VPC
// endpoints.
func (l *look) readSecurityGroups() {
	ids := joined(l.configs(needNetwork), func(c evidence.InstanceConfig) []string { return c.SecurityGroups })
	if len(ids) == 0 {
		return
	}
	cluster := l.ev.Cluster.Config.Value
	ids = slices.Concat(append(ids, cluster.ClusterSecurityGroup), cluster.SecurityGroups, joined(l.endpoints(), func(e evidence.VPCEndpoint) []string { return e.SecurityGroups }))
	describe(l, l.ev.Network.SecurityGroups, "ec2:DescribeSecurityGroups", networkTotal, "of a kind", ids, l.ec2.DescribeSecurityGroups,
		func(ids []string) *ec2.DescribeSecurityGroupsInput {
			return &ec2.DescribeSecurityGroupsInput{GroupIds: ids}
		},
		func(out *ec2.DescribeSecurityGroupsOutput) []types.SecurityGroup { return out.SecurityGroups }, func(t *types.SecurityGroup) *string { return t.GroupId }, securityGroup)
}

func securityGroup(g *types.SecurityGroup) evidence.SecurityGroup {
	return evidence.SecurityGroup{Ingress: permissions(g.IpPermissions), Egress: permissions(g.IpPermissionsEgress)}
}

func permissions(rules []types.IpPermission) []evidence.Permission {
	return roll.Map(rules, func(r types.IpPermission) evidence.Permission {
		ipv4 := roll.Map(r.IpRanges, func(c types.IpRange) string { return aws.ToString(c.CidrIp) })
		ipv6 := roll.Map(r.Ipv6Ranges, func(c types.Ipv6Range) string { return aws.ToString(c.CidrIpv6) })
		return evidence.Permission{
			Protocol: aws.ToString(r.IpProtocol), From: int(aws.ToInt32(r.FromPort)), To: int(aws.ToInt32(r.ToPort)),
			// For all protocols EC2 returns no ports; -1 also means all ports.
			AllPorts:    r.FromPort == nil || *r.FromPort == -1,
			CIDRs:       slices.Concat(ipv4, ipv6),
			Groups:      roll.Map(r.UserIdGroupPairs, func(g types.UserIdGroupPair) string { return aws.ToString(g.GroupId) }),
			PrefixLists: roll.Map(r.PrefixListIds, func(l types.PrefixListId) string { return aws.ToString(l.PrefixListId) }),
		}
	})
}

// readNATGateways describes the NAT gateways in the routes of the instances' subnets.
func (l *look) readNATGateways() {
	var ids []string
	for _, p := range l.instanceSubnets() {
		if t := l.tableOf(p.subnet, p.vpc); t.Known() {
			for _, r := range t.Value.Routes {
				if strings.HasPrefix(r.Target, "nat-") {
					ids = append(ids, r.Target)
				}
			}
		}
	}
	describe(l, l.ev.Network.NATGateways, "ec2:DescribeNatGateways", networkTotal, "of a kind", ids, l.ec2.DescribeNatGateways,
		func(ids []string) *ec2.DescribeNatGatewaysInput {
			return &ec2.DescribeNatGatewaysInput{NatGatewayIds: ids}
		},
		func(out *ec2.DescribeNatGatewaysOutput) []types.NatGateway { return out.NatGateways }, func(t *types.NatGateway) *string { return t.NatGatewayId }, natGateway)
}

func natGateway(g *types.NatGateway) evidence.NATGateway {
	out := evidence.NATGateway{
		ID: aws.ToString(g.NatGatewayId), VPC: aws.ToString(g.VpcId), Subnet: aws.ToString(g.SubnetId), State: string(g.State),
		Private: g.ConnectivityType == types.ConnectivityTypePrivate, Regional: g.AvailabilityMode == types.AvailabilityModeRegional,
	}
	for _, a := range g.NatGatewayAddresses {
		if ip := aws.ToString(a.PublicIp); ip != "" {
			out.PublicIPs = append(out.PublicIPs, ip)
		}
	}
	return out
}

// readDNS reads the two attributes of the VPCs that are required to resolve names of AWS.
func (l *look) readDNS() {
	a := l.action("ec2:DescribeVpcAttribute")
	for _, id := range l.vpcIDs() {
		support := l.vpcAttribute(a, id, types.VpcAttributeNameEnableDnsSupport, func(out *ec2.DescribeVpcAttributeOutput) *types.AttributeBooleanValue { return out.EnableDnsSupport })
		hostnames := l.vpcAttribute(a, id, types.VpcAttributeNameEnableDnsHostnames, func(out *ec2.DescribeVpcAttributeOutput) *types.AttributeBooleanValue { return out.EnableDnsHostnames })
		l.vpc(id, func(v *evidence.VPC) { v.DNSSupport, v.DNSHostnames = support, hostnames })
	}
}

func (l *look) vpcAttribute(a *action, id string, name types.VpcAttributeName, value func(*ec2.DescribeVpcAttributeOutput) *types.AttributeBooleanValue) evidence.Fact[bool] {
	return one(a, l.ec2.DescribeVpcAttribute, &ec2.DescribeVpcAttributeInput{VpcId: aws.String(id), Attribute: name}, func(out *ec2.DescribeVpcAttributeOutput) evidence.Fact[bool] {
		if v := value(out); v != nil && v.Value != nil {
			return evidence.Read(*v.Value)
		}
		return hollow[bool](l, fmt.Sprintf("ec2:DescribeVpcAttribute of %s: the answer holds no %s", id, name))
	})
}

// noDHCPOptions is the id in a VPC that uses no set of DHCP options.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateDhcpOptions.html
const noDHCPOptions = "default"

func (l *look) readDHCP() {
	vpcs := l.vpcIDs()
	described := byID(l.action("ec2:DescribeVpcs"), vpcs, describedSize, l.ec2.DescribeVpcs,
		func(ids []string) *ec2.DescribeVpcsInput { return &ec2.DescribeVpcsInput{VpcIds: ids} },
		func(out *ec2.DescribeVpcsOutput) []types.Vpc { return out.Vpcs }, func(v *types.Vpc) *string { return v.VpcId }, func(v *types.Vpc) types.Vpc { return *v })
	ids := roll.Map(vpcs, func(id string) string { return aws.ToString(described[id].Value.DhcpOptionsId) })
	ids = slices.DeleteFunc(ids, func(set string) bool { return set == noDHCPOptions })
	options := byID(l.action("ec2:DescribeDhcpOptions"), distinct(ids), describedSize, l.ec2.DescribeDhcpOptions,
		func(ids []string) *ec2.DescribeDhcpOptionsInput {
			return &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: ids}
		},
		func(out *ec2.DescribeDhcpOptionsOutput) []types.DhcpOptions { return out.DhcpOptions }, func(o *types.DhcpOptions) *string { return o.DhcpOptionsId }, dhcp)
	for _, id := range vpcs {
		fact := evidence.Then(described[id], func(v types.Vpc) evidence.Fact[evidence.DHCPOptions] {
			switch set := aws.ToString(v.DhcpOptionsId); set {
			case noDHCPOptions:
				return evidence.None[evidence.DHCPOptions]()
			case "":
				return evidence.Failed[evidence.DHCPOptions]("ec2:DescribeVpcs names no DHCP options")
			default:
				return options[set]
			}
		})
		l.vpc(id, func(v *evidence.VPC) { v.DHCP, v.CIDR = fact, aws.ToString(described[id].Value.CidrBlock) })
	}
}

func dhcp(o *types.DhcpOptions) evidence.DHCPOptions {
	out := evidence.DHCPOptions{ID: aws.ToString(o.DhcpOptionsId)}
	for _, c := range o.DhcpConfigurations {
		values := roll.Map(c.Values, func(v types.AttributeValue) string { return aws.ToString(v.Value) })
		switch aws.ToString(c.Key) {
		case "domain-name-servers":
			out.NameServer = values
		case "domain-name":
			if len(values) > 0 {
				out.DomainName = values[0]
			}
		}
	}
	return out
}
