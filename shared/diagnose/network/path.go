package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// unreachable checks for a way to the endpoint (ApiEndpointUnreachable). A private one is
// always reachable: the route within the VPC cannot be removed.
// https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html
func (l *look) unreachable() cause.Verdict {
	a, done := l.toAPI()
	if done != nil {
		return *done
	}
	if a.place == private {
		return cause.RuledOut
	}
	w := either(l.families(), l.out)
	proxied, why := l.direct()
	switch {
	case w.state == open:
		return cause.RuledOut
	case w.state == unsure && !w.partial:
		return cause.NotChecked(w.gap)
	case proxied == open:
		return cause.NotChecked(why)
	}
	return l.beyondVPC(l.explains() && proxied == closed && w.state == closed).In(w.subject).
		Says("the API server of %s is reached over the internet alone, and %s has no way there: %s", l.clusterName(), l.i.Subnet, w.why).
		Saw("EKS cluster", "resourcesVpcConfig", "endpointPublicAccess true, endpointPrivateAccess false", "endpointPrivateAccess true, or a way to the internet").
		Shows(w.evidence...).Shows(l.silence()...).
		Fix("# either let nodes reach the API server within the VPC (security groups must allow it, too):",
			l.updateEndpoint(map[string]any{"endpointPrivateAccess": true}),
			"# or open the way to the internet:",
			w.fix)
}

// beyondVPC returns what blocks does, for a way that leads out of the VPC: it is unsettled too if the image
// may use a proxy there.
func (l *look) beyondVPC(sure bool) cause.Verdict {
	v := l.blocks(sure)
	if direct, why := l.direct(); direct == unsure {
		return v.Unsettled(why)
	}
	return v
}

func (l *look) updateEndpoint(config map[string]any) string {
	return l.AWS("eks", "update-cluster-config", "--name", l.clusterName(), "--resources-vpc-config", paste.JSON(config))
}

// routeToGateway returns the command that makes the VPC's internet gateway a table's default route.
func (l *look) routeToGateway(verb, table string) string {
	return paste.Assign("INTERNET_GATEWAY",
		l.AWS("ec2", "describe-internet-gateways", "--filters", "Name=attachment.vpc-id,Values="+l.i.VPC, "--query", "InternetGateways[0].InternetGatewayId", "--output", "text"),
		l.AWS("ec2", verb, "--route-table-id", table, "--destination-cidr-block", "0.0.0.0/0", "--gateway-id", "INTERNET_GATEWAY"))
}

// routeToNAT returns the command that makes a NAT gateway of the VPC a table's default route.
func (l *look) routeToNAT(verb, table string) string {
	return l.toNAT(verb, table, l.AWS("ec2", "describe-nat-gateways", "--filter", "Name=vpc-id,Values="+l.i.VPC, "Name=state,Values=available", "--query", "NatGateways[?ConnectivityType=='public'] | [0].NatGatewayId", "--output", "text"))
}

// toNAT returns the commands that make the NAT gateway whose id the command prints a table's default route.
func (l *look) toNAT(verb, table, prints string) string {
	return paste.Assign("NAT_GATEWAY", prints, l.AWS("ec2", verb, "--route-table-id", table, "--destination-cidr-block", "0.0.0.0/0", "--nat-gateway-id", "NAT_GATEWAY"))
}

// publicCIDRs compares the addresses that a public endpoint admits with the public source
// address of the instance's packets (PublicAccessCidrBlocked). With private access on, the list
// does not matter to nodes.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html#modify-endpoint-access
func (l *look) publicCIDRs() cause.Verdict {
	a, done := l.toAPI()
	if done != nil {
		return *done
	}
	if a.place == public && len(l.k.PublicCIDRs) == 0 { // the default is all addresses
		return cause.NotChecked(evidence.AnswerOf + "eks:DescribeCluster lacks resourcesVpcConfig.publicAccessCidrs")
	}
	var four, six space
	for _, p := range prefixes(l.k.PublicCIDRs...) {
		if isIPv6(p) {
			six = append(six, p)
		} else {
			four = append(four, p)
		}
	}
	if a.place == private || len(everything4.without(four)) == 0 {
		return cause.RuledOut
	}
	proxied, why := l.direct()
	w := l.out(false)
	out := slices.DeleteFunc(slices.Clone(w.sources), func(address string) bool { return len(prefixes(address).without(four)) == 0 })
	switch {
	case proxied == open:
		return cause.NotChecked(why)
	case len(w.sources) == 0 && w.state == closed:
		return cause.NotChecked("there is no way out, and so no address to compare: " + w.why)
	case len(w.sources) == 0:
		return cause.NotChecked(cmp.Or(w.gap, evidence.AnswerOf+"EC2 lacks the public address of "+w.via))
	case len(out) == 0:
		return cause.RuledOut
	case len(l.families()) > 1 && len(six) > 0 && l.out(true).state != closed:
		return cause.NotChecked("the endpoint may be reached by IPv6 too, and the instance's IPv6 address is not read")
	}
	translated, gap := l.translated()
	return l.blockedCIDR(w, out, proxied == closed && len(out) == len(w.sources) && (gap == "" || translated == w.via))
}

func (l *look) blockedCIDR(w way, out []string, sure bool) cause.Verdict {
	who, admitted := w.via, strings.Join(l.k.PublicCIDRs, ", ")
	if who == "the instance" {
		who = "the instance itself"
	}
	wider := slices.Concat(l.k.PublicCIDRs, roll.Map(prefixes(out...), netip.Prefix.String))
	return l.beyondVPC(l.explains() && sure).In("cluster/"+l.clusterName()).
		Says("the API server of %s admits only %s, and the instance comes from %s, the public address of %s", l.clusterName(), admitted, strings.Join(out, " or "), who).
		Saw("EKS cluster", "resourcesVpcConfig.publicAccessCidrs", admitted, "a block with "+strings.Join(out, " and ")).
		Saw("EKS cluster", "resourcesVpcConfig.endpointPrivateAccess", "false", "true, so that nodes do not depend on that list").
		Shows(l.silence()...).
		Fix("# let nodes reach the API server within the VPC, whatever the public list says:",
			l.updateEndpoint(map[string]any{"endpointPrivateAccess": true}),
			"# or admit their address:",
			l.updateEndpoint(map[string]any{"endpointPublicAccess": true, "publicAccessCidrs": wider}))
}
