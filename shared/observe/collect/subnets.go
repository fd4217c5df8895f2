package collect

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

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

func (l *look) instanceSubnets() []placed {
	all := roll.Map(l.configs(needNetwork), func(c evidence.InstanceConfig) placed { return placed{c.Subnet, c.VPC} })
	return distinct(slices.DeleteFunc(all, func(p placed) bool { return p.subnet == "" }))
}

func (l *look) subnetsThatMatter() []placed {
	all := l.instanceSubnets()
	add := func(vpc string, subnets ...string) {
		for _, s := range subnets {
			all = append(all, placed{s, vpc})
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
	return distinct(slices.DeleteFunc(all, func(p placed) bool { return p.subnet == "" }))
}

// tableOf returns the route table that serves a subnet: the one associated with it, or else the
// VPC's main one.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-route-tables.html
func (l *look) tableOf(subnet, vpc string) evidence.Fact[evidence.RouteTable] {
	return serving(l, l.tables, vpc, routeTable, func(t *types.RouteTable) bool {
		return slices.ContainsFunc(t.Associations, func(a types.RouteTableAssociation) bool { return aws.ToString(a.SubnetId) == subnet })
	}, func(t *types.RouteTable) bool {
		return aws.ToString(t.VpcId) == vpc && slices.ContainsFunc(t.Associations, func(a types.RouteTableAssociation) bool { return aws.ToBool(a.Main) })
	}, "ec2:DescribeRouteTables shows neither a route table of "+subnet+" nor a main one of "+vpc)
}

// serving returns the object of a listing that serves a subnet: the associated one, or else the VPC's
// default one. If there is none, the listing lacks it.
func serving[T, V any](l *look, from fetched[T], vpc string, read func(*T) V, associated, isDefault func(*T) bool, lacks string) evidence.Fact[V] {
	switch {
	case !slices.Contains(from.vpcs, vpc):
		return evidence.Fact[V]{}
	case from.why != "":
		return evidence.Failed[V](from.why)
	}
	var fallback *T
	for i := range from.all {
		switch t := &from.all[i]; {
		case associated(t):
			return evidence.Read(read(t))
		case isDefault(t):
			fallback = t
		}
	}
	if fallback == nil {
		return hollow[V](l, lacks)
	}
	return evidence.Read(read(fallback))
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
	return serving(l, l.acls, vpc, acl, func(a *types.NetworkAcl) bool {
		return slices.ContainsFunc(a.Associations, func(s types.NetworkAclAssociation) bool { return aws.ToString(s.SubnetId) == subnet })
	}, func(a *types.NetworkAcl) bool {
		return aws.ToBool(a.IsDefault) && aws.ToString(a.VpcId) == vpc
	}, "ec2:DescribeNetworkAcls shows neither an ACL of "+subnet+" nor a default one of "+vpc)
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
