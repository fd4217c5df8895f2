package collect

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
)

// placed is a subnet with its VPC.
type placed struct{ subnet, vpc string }

// placeTables sets the route table and ACL of each relevant subnet: those of the instances, and
// those that their packets reach: of the cluster's network interfaces, NAT gateways and endpoints.
// They were read for whole VPCs, so this costs nothing.
func (l *look) placeTables() {
	for _, p := range l.subnetsThatMatter() {
		if t := l.tableOf(p.subnet, p.vpc); t.State != evidence.NotAsked {
			l.ev.Network.RouteTables[p.subnet] = t
		}
		if a := l.aclOf(p.subnet, p.vpc); a.State != evidence.NotAsked {
			l.ev.Network.ACLs[p.subnet] = a
		}
	}
}

// instanceSubnets returns the subnets of the instances.
func (l *look) instanceSubnets() []placed {
	var all []placed
	for c := range l.configs(needNetwork) {
		if c.Subnet != "" {
			all = append(all, placed{c.Subnet, c.VPC})
		}
	}
	return distinct(all)
}

func (l *look) subnetsThatMatter() []placed {
	all := l.instanceSubnets()
	add := func(vpc string, subnets ...string) {
		for _, s := range subnets {
			if s != "" {
				all = append(all, placed{s, vpc})
			}
		}
	}
	cluster := l.ev.Cluster.Config.Value
	add(cluster.VPC, cluster.Subnets...)
	for _, g := range l.ev.Network.NATGateways {
		add(g.Value.VPC, g.Value.Subnet)
	}
	for id, v := range l.ev.Network.VPCs {
		for _, e := range v.Endpoints.Value {
			add(id, e.Subnets...)
		}
	}
	return distinct(all)
}

// tableOf returns the route table that serves a subnet: the one associated with it, or else the
// VPC's main one.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-route-tables.html
func (l *look) tableOf(subnet, vpc string) evidence.Fact[evidence.RouteTable] {
	switch {
	case !slices.Contains(l.tables.vpcs, vpc):
		return evidence.Fact[evidence.RouteTable]{}
	case l.tables.why != "":
		return evidence.Failed[evidence.RouteTable](l.tables.why)
	}
	var main *types.RouteTable
	for i := range l.tables.all {
		t := &l.tables.all[i]
		for _, a := range t.Associations {
			switch {
			case aws.ToString(a.SubnetId) == subnet:
				return evidence.Read(routeTable(t))
			case aws.ToBool(a.Main) && aws.ToString(t.VpcId) == vpc:
				main = t
			}
		}
	}
	if main == nil {
		return hollow[evidence.RouteTable](l, "ec2:DescribeRouteTables shows neither a route table of "+subnet+" nor a main one of "+vpc)
	}
	return evidence.Read(routeTable(main))
}

func routeTable(t *types.RouteTable) evidence.RouteTable {
	out := evidence.RouteTable{ID: aws.ToString(t.RouteTableId)}
	for i := range t.Routes {
		r := &t.Routes[i]
		out.Routes = append(out.Routes, evidence.Route{
			Destination: filled(r.DestinationCidrBlock, r.DestinationIpv6CidrBlock, r.DestinationPrefixListId),
			// For a route to an instance EC2 also returns the interface, which is what counts.
			Target: filled(r.GatewayId, r.NatGatewayId, r.TransitGatewayId, r.VpcPeeringConnectionId, r.EgressOnlyInternetGatewayId,
				r.NetworkInterfaceId, r.InstanceId, r.LocalGatewayId, r.CarrierGatewayId, r.CoreNetworkArn, r.OdbNetworkArn),
			Blackhole: r.State == types.RouteStateBlackhole,
		})
	}
	return out
}

// filled returns the first text that is not empty.
func filled(texts ...*string) string {
	for _, t := range texts {
		if aws.ToString(t) != "" {
			return *t
		}
	}
	return ""
}

// aclOf returns the network ACL of a subnet. Each subnet has one; the VPC's default ACL applies to
// subnets without an association of their own.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html
func (l *look) aclOf(subnet, vpc string) evidence.Fact[evidence.ACL] {
	switch {
	case !slices.Contains(l.acls.vpcs, vpc):
		return evidence.Fact[evidence.ACL]{}
	case l.acls.why != "":
		return evidence.Failed[evidence.ACL](l.acls.why)
	}
	var fallback *types.NetworkAcl
	for i := range l.acls.all {
		a := &l.acls.all[i]
		if slices.ContainsFunc(a.Associations, func(s types.NetworkAclAssociation) bool { return aws.ToString(s.SubnetId) == subnet }) {
			return evidence.Read(acl(a))
		}
		if aws.ToBool(a.IsDefault) && aws.ToString(a.VpcId) == vpc {
			fallback = a
		}
	}
	if fallback == nil {
		return hollow[evidence.ACL](l, "ec2:DescribeNetworkAcls shows neither an ACL of "+subnet+" nor a default one of "+vpc)
	}
	return evidence.Read(acl(fallback))
}

// aclNumbers are the names that some tools write for the protocols of an ACL's rules; EC2 itself
// writes numbers.
var aclNumbers = map[string]string{"all": "-1", "tcp": "6", "udp": "17", "icmp": "1"}

func acl(a *types.NetworkAcl) evidence.ACL {
	out := evidence.ACL{ID: aws.ToString(a.NetworkAclId)}
	for i := range a.Entries {
		e := &a.Entries[i]
		r := evidence.ACLRule{
			Number: int(aws.ToInt32(e.RuleNumber)), Egress: aws.ToBool(e.Egress), Allow: e.RuleAction == types.RuleActionAllow,
			Protocol: aws.ToString(e.Protocol), CIDR: filled(e.CidrBlock, e.Ipv6CidrBlock), AllPorts: e.PortRange == nil,
		}
		if number, ok := aclNumbers[r.Protocol]; ok {
			r.Protocol = number
		}
		if e.PortRange != nil {
			r.From, r.To = int(aws.ToInt32(e.PortRange.From)), int(aws.ToInt32(e.PortRange.To))
		}
		out.Rules = append(out.Rules, r)
	}
	slices.SortStableFunc(out.Rules, func(a, b evidence.ACLRule) int { return a.Number - b.Number })
	return out
}
