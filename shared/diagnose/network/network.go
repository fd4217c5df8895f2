// Package network looks for what keeps an instance from reaching its cluster's API
// server and the services of AWS that a node needs: routes, NAT gateways, the
// endpoint's own address list, security groups, network ACLs, names, VPC endpoints,
// free addresses, tags and the metadata service.
//
// It follows packets over what was read: from the node's subnet to the API server's
// addresses and back. What lies behind a transit gateway, a peering, a firewall or a
// machine that forwards is not read, so a way through one is neither open nor closed.
// A way is closed only where everything that could open it was read.
//
// Where the API server is follows from the cluster's endpoint access. With private
// access its name means addresses of the cluster's network interfaces within the VPC;
// with public access alone, an address outside of it.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
//
// A closed way explains an instance that never registered. It explains a silent node
// too if its lease shows the silence: what is closed now was open when it registered.
// A node that reports its status has shown that the way is open. Names are different:
// a kubelet keeps its connection, so that DNS only hints at why a node fell silent.
//
// The package is pure.
package network

import (
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// pathCodes are about the way to the API server.
var pathCodes = []cause.Code{
	cause.ApiEndpointUnreachable, cause.PublicAccessCidrBlocked, cause.SecurityGroupBlocksApi, cause.NaclBlocksApi,
	cause.DnsDisabled, cause.DhcpOptionsWrong,
}

// codes are those that can explain a kind of finding. A node that registered did so from
// where it is, so neither its VPC nor what its first steps needed is asked for again.
var codes = map[roll.Kind][]cause.Code{
	roll.Unregistered:  append([]cause.Code{cause.WrongVpc, cause.VpcEndpointMissing, cause.SubnetIpsExhausted, cause.ClusterTagMissing, cause.ImdsDisabled}, pathCodes...),
	roll.Uninitialized: append([]cause.Code{cause.VpcEndpointMissing, cause.SubnetIpsExhausted, cause.ClusterTagMissing, cause.ImdsHopLimit, cause.ImdsDisabled}, pathCodes...),
	roll.NotReady:      append([]cause.Code{cause.VpcEndpointMissing, cause.SubnetIpsExhausted, cause.ImdsHopLimit, cause.ImdsDisabled}, pathCodes...),
	roll.Unknown:       append([]cause.Code{cause.ImdsDisabled}, pathCodes...),
}

// rules look for one code each. They need the instance; what else they need they ask for.
var rules = map[cause.Code]func(*look){
	cause.WrongVpc:                (*look).wrongVPC,
	cause.ApiEndpointUnreachable:  (*look).unreachable,
	cause.PublicAccessCidrBlocked: (*look).publicCIDRs,
	cause.SecurityGroupBlocksApi:  (*look).securityGroups,
	cause.NaclBlocksApi:           (*look).networkACLs,
	cause.DnsDisabled:             (*look).dns,
	cause.DhcpOptionsWrong:        (*look).dhcp,
	cause.VpcEndpointMissing:      (*look).services,
	cause.SubnetIpsExhausted:      (*look).addresses,
	cause.ClusterTagMissing:       (*look).tag,
	cause.ImdsHopLimit:            (*look).hopLimit,
	cause.ImdsDisabled:            (*look).metadata,
}

// Analyze notes what it finds about the network of the case's instance.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	asked := codes[c.Finding.Kind]
	if c.Finding.Kind == roll.ConditionFailed && c.Finding.Condition == "NetworkingReady" && c.Subnet().Known() {
		asked = []cause.Code{cause.SubnetIpsExhausted}
	}
	config := c.Config()
	if !config.Known() {
		s.NotChecked(config.Missing("instance "+string(c.Finding.Instance)+" in EC2"), asked...)
		return
	}
	l := &look{Case: c, s: s, i: config.Value, k: c.Cluster.Config.Value}
	if l.i.VPC == "" || l.i.Subnet == "" || len(l.i.SecurityGroups) == 0 {
		s.NotChecked(evidence.AnswerOf+"ec2:DescribeInstances lacks the VPC, the subnet or the security groups of "+string(c.Finding.Instance), asked...)
		return
	}
	for _, code := range asked {
		rules[code](l)
	}
}
