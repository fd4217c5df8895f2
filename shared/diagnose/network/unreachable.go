package network

import (
	"fmt"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/roll"
)

// path begins every look at the way to the API server: it needs the cluster, and it ends
// at once where the node shows that the way is open.
func (l *look) path(code cause.Code) (api, bool) {
	if l.speaking() {
		l.s.RuledOut(code)
		return api{}, false
	}
	if !l.clusterRead(code) {
		return api{}, false
	}
	a := l.api()
	if a.place == nowhere {
		l.s.NotChecked(a.gap, code)
		return api{}, false
	}
	return a, true
}

// unreachable looks for a way to the endpoint (ApiEndpointUnreachable). To a private one
// there always is one: the route within the VPC, which cannot be removed.
// https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html
func (l *look) unreachable() {
	a, ok := l.path(cause.ApiEndpointUnreachable)
	if !ok {
		return
	}
	if a.place == private {
		l.s.RuledOut(cause.ApiEndpointUnreachable)
		return
	}
	w := l.outside()
	switch w.state {
	case open:
		l.s.RuledOut(cause.ApiEndpointUnreachable)
		return
	case unsure:
		l.s.NotChecked(w.gap, cause.ApiEndpointUnreachable)
		return
	}
	proxied, why := l.proxied()
	if proxied == open {
		l.s.NotChecked(why, cause.ApiEndpointUnreachable)
		return
	}
	endpoint := roll.Evidence{Source: "EKS cluster", Field: "resourcesVpcConfig", Observed: "endpointPublicAccess true, endpointPrivateAccess false", Expected: "endpointPrivateAccess true, or a way to the internet"}
	l.found(roll.Cause{
		Code: cause.ApiEndpointUnreachable, Confidence: weaker(l.confidence(), proxied == closed), Subject: w.subject,
		Summary:  fmt.Sprintf("the API server of %s is reached over the internet alone, and %s: %s", l.clusterName(), l.i.Subnet+" has no way there", w.why),
		Evidence: append([]roll.Evidence{endpoint}, w.evidence...),
		Fix:      l.wayOut(w),
	})
}

// outside is the way to a public endpoint by the families that it may have.
func (l *look) outside() way { return either(l.families(), l.out) }

// wayOut are the two things that help: a private endpoint, which needs no way out, or
// the way out.
func (l *look) wayOut(w way) string {
	return paste.Lines(
		"# either let nodes reach the API server within the VPC (security groups must let them, too):",
		l.privateAccess(),
		"# or open the way to the internet:",
		l.open(w))
}

// open is what opens a closed way to the internet.
func (l *look) open(w way) string {
	switch w.remedy {
	case publicAddress:
		return paste.Lines(
			l.aws("ec2", "modify-subnet-attribute", "--subnet-id", l.i.Subnet, "--map-public-ip-on-launch"),
			"# that is for instances to come; a route to a NAT gateway in place of the internet gateway helps this one as well:",
			l.routeToNAT("replace-route", w.table))
	case replaceRoute:
		return l.routeToNAT("replace-route", w.table)
	case natRoute:
		return paste.Lines(
			"INTERNET_GATEWAY=$("+l.aws("ec2", "describe-internet-gateways", "--filters", "Name=attachment.vpc-id,Values="+l.i.VPC, "--query", "InternetGateways[0].InternetGatewayId", "--output", "text")+")",
			l.aws("ec2", "create-route", "--route-table-id", w.table, "--destination-cidr-block", "0.0.0.0/0", "--gateway-id", "$INTERNET_GATEWAY"))
	}
	return l.routeToNAT("create-route", w.table)
}

// routeToNAT makes a NAT gateway of the VPC the default route of a table.
func (l *look) routeToNAT(verb, table string) string {
	return paste.Lines(
		"NAT_GATEWAY=$("+l.aws("ec2", "describe-nat-gateways", "--filter", "Name=vpc-id,Values="+l.i.VPC, "Name=state,Values=available", "--query", "NatGateways[?ConnectivityType=='public'] | [0].NatGatewayId", "--output", "text")+")",
		l.aws("ec2", verb, "--route-table-id", table, "--destination-cidr-block", "0.0.0.0/0", "--nat-gateway-id", "$NAT_GATEWAY"))
}
