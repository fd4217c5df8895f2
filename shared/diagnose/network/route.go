package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// way is what is known about a way, or about what rules say of the traffic on it.
type way struct {
	state   state
	partial bool   // it is unsure because rules pass a part of the traffic
	gap     string // why it is unsure
	// For a closed way, or one that passes a part: what closes it, as a clause ("... has no default
	// route"), the object to change, and the commands that change it.
	why      string
	subject  string
	fix      string
	evidence []roll.Evidence
	deny     denial // of a network ACL
	// sources are the known public source addresses of the packets, also for a way that is
	// closed further on.
	sources []string
	via     string // whose addresses they are, such as nat-...
}

// partly turns a closed way into one that passes a part.
func (w way) partly(gap string) way {
	w.state, w.partial, w.gap = unsure, true, gap
	return w
}

func (w way) doubt(why string) way {
	w.state, w.gap = unsure, why
	return w
}

// byRoute returns the commands that create or replace the default route of a table.
type byRoute func(verb, table string) string

// exit is a route that takes packets to a part of the internet.
type exit struct {
	route evidence.Route
	wide  bool // it is meant for the internet as a whole
}

// exits returns a table's routes to the internet, the widest first, and the part of the
// internet without one. The longest prefix that matches an address counts.
// https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html
func (l *look) exits(t evidence.RouteTable, v6 bool) (all []exit, none space) {
	left := internet(v6)
	var prefixes []netip.Prefix
	routes := map[netip.Prefix]evidence.Route{}
	for _, r := range t.Routes {
		p, ok := parsePrefix(r.Destination)
		switch {
		case ok && isIPv6(p) == v6:
			prefixes, routes[p] = append(prefixes, p), r
		case l.toPrefixList(r):
			all = append(all, exit{route: r})
		}
	}
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int { return b.Bits() - a.Bits() })
	for _, p := range prefixes {
		part := left.within(p)
		left = left.minus(p)
		if len(part) > 0 && routes[p].Target != "local" { // the VPC's own addresses are not the internet
			all = append([]exit{{route: routes[p], wide: p.Bits() <= wideBits(v6)}}, all...)
		}
	}
	return all, left
}

// wideBits returns the longest prefix length of a route meant for the internet as a whole.
func wideBits(v6 bool) int {
	if v6 {
		return 3
	}
	return 4
}

// toPrefixList reports whether the route is one for a prefix list, which may hold any address. That of
// a gateway endpoint holds only the addresses of S3 or DynamoDB.
// https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
func (l *look) toPrefixList(r evidence.Route) bool {
	_, isPrefix := parsePrefix(r.Destination)
	return !isPrefix && !slices.ContainsFunc(l.VPC().Endpoints.Value, func(e evidence.VPCEndpoint) bool {
		return e.ID == r.Target && strings.EqualFold(e.Type, "Gateway")
	})
}

// out returns the way from the instance's subnet to the internet.
func (l *look) out(v6 bool) way {
	t := l.RouteTable()
	if !t.Known() {
		return way{gap: t.Missing("the subnet's route table")}
	}
	w := l.outBy(t.Value, v6, l.routeToNAT, l.beyond)
	if _, gap := l.translated(); gap != "" && !v6 && w.state == closed {
		return w.doubt(gap)
	}
	return w
}

// nat64 are the IPv6 addresses that stand for IPv4 addresses.
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// routeTo returns the route by which a table sends packets to all of a prefix; false if there is none.
// Prefix lists are left out.
// https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html
func routeTo(t evidence.RouteTable, to netip.Prefix) (best evidence.Route, ok bool) {
	bits := -1
	for _, r := range t.Routes {
		if p, isPrefix := parsePrefix(r.Destination); isPrefix && covers(p, to) && p.Bits() > bits {
			best, bits = r, p.Bits()
		}
	}
	return best, bits >= 0
}

// translated returns the target through which the instance may reach IPv4 by such addresses, and why it
// is not known whether it does; "" if it certainly does not. Internet gateways, also egress-only ones,
// do not translate.
func (l *look) translated() (target, gap string) {
	t := l.RouteTable()
	switch {
	case !l.i.IPv6:
		return "", ""
	case !t.Known():
		return "", t.Missing("the subnet's route table")
	}
	r, routed := routeTo(t.Value, nat64)
	gap = fmt.Sprintf("%s is routed to %s, through which IPv4 may be reached by IPv6 (NAT64), if the resolver returns such addresses (DNS64), which is not read", r.Destination, r.Target)
	switch kind := r.Kind(); {
	case !routed, r.Blackhole, kind == "igw", kind == "eigw", kind == "local":
		return "", ""
	case kind == "nat":
		if w := l.nat(t.Value, r); w.state == closed {
			return "", ""
		} else if w.state == unsure {
			gap = w.gap
		}
	}
	return r.Target, gap
}

// outBy combines what is known about a table's exits. The way is closed only if every exit is,
// and open if those for the internet as a whole are.
func (l *look) outBy(t evidence.RouteTable, v6 bool, fix byRoute, beyond func(evidence.RouteTable, evidence.Route, bool) way) way {
	exits, none := l.exits(t, v6)
	if len(exits) == 0 {
		return noRoute(t, v6, fix)
	}
	var ways []way
	wide, allClosed, wideOpen := false, true, len(none) == 0
	for _, e := range exits {
		w := beyond(t, e.route, v6)
		ways = append(ways, w)
		allClosed = allClosed && w.state == closed
		wide = wide || e.wide
		wideOpen = wideOpen && (!e.wide || w.state == open)
	}
	switch {
	case allClosed && !wide:
		return noRoute(t, v6, fix)
	case allClosed, wide && wideOpen:
		return ways[0]
	}
	first := ways[0]
	if i := slices.IndexFunc(ways, func(w way) bool { return w.state == unsure }); i >= 0 {
		first.gap = ways[i].gap
	} else {
		first.gap = "route table " + t.ID + " leads to a part of the internet only, and which part the API server is in is not known"
	}
	first.state = unsure
	return first
}

func defaultRoute(v6 bool) string {
	if v6 {
		return "::/0"
	}
	return "0.0.0.0/0"
}

func noRoute(t evidence.RouteTable, v6 bool, fix byRoute) way {
	return way{
		state: closed, why: "route table " + t.ID + " has no route out of the VPC", subject: "route-table/" + t.ID, fix: fix("create-route", t.ID),
		evidence: []roll.Evidence{{Source: "route table " + t.ID, Field: "routes", Observed: cmp.Or(some(t.Routes, describeRoute, ", ", "and %d more"), "none"), Expected: "a route for " + defaultRoute(v6)}},
	}
}

func describeRoute(r evidence.Route) string { return r.Destination + " to " + r.Target }

// beyond returns the way on from a route of the instance's subnet.
func (l *look) beyond(t evidence.RouteTable, r evidence.Route, v6 bool) way {
	w := l.behind(t, r, v6)
	if w.state == open {
		return l.unlessBlocked(w, t, r)
	}
	return w
}

// unlessBlocked returns a way through a gateway to the internet, in view of VPC Block Public Access. Its
// mode block-ingress spares NAT gateways and egress-only ones. A subnet or VPC may be excluded, which is
// not read.
// https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa.html
func (l *look) unlessBlocked(w way, t evidence.RouteTable, r evidence.Route) way {
	s := l.Subnet()
	mode, exclusion := s.Value.InternetBlock, "allow-egress"
	switch {
	case !s.Settled():
		return w.doubt(s.Missing("subnet " + l.i.Subnet))
	case mode == "block-ingress" && r.Kind() == "igw":
		exclusion = "allow-bidirectional" // the other one has no effect in this mode
	case mode != "block-bidirectional":
		return w
	}
	w.subject = "subnet/" + l.i.Subnet
	w.why = fmt.Sprintf("%s routes %s to %s, and VPC Block Public Access (%s) blocks that, unless the subnet is excluded", t.ID, r.Destination, r.Target, mode)
	w.evidence = []roll.Evidence{{Source: "subnet " + l.i.Subnet, Field: "BlockPublicAccessStates.InternetGatewayBlockMode", Observed: mode, Expected: "off, or an exclusion"}}
	w.fix = paste.Lines(
		l.AWS("ec2", "describe-vpc-block-public-access-exclusions", "--query", "VpcBlockPublicAccessExclusions[].[ResourceArn,InternetGatewayExclusionMode,State]", "--output", "table"),
		"# if neither the subnet nor the VPC is among them, nor that of a NAT gateway on the way:",
		l.AWS("ec2", "create-vpc-block-public-access-exclusion", "--subnet-id", l.i.Subnet, "--internet-gateway-exclusion-mode", exclusion))
	return w.partly(w.why)
}

// behind returns the way on from a route by its target alone.
func (l *look) behind(t evidence.RouteTable, r evidence.Route, v6 bool) way {
	switch kind := r.Kind(); {
	case r.Blackhole && kind == "igw": // of a public subnet, in which a NAT gateway may be
		return blackhole(t, r, l.routeToGateway)
	case r.Blackhole:
		return blackhole(t, r, l.routeToNAT)
	case v6 && (kind == "igw" || kind == "eigw"): // IPv6 addresses are public
		return way{state: open, via: r.Target}
	case kind == "igw":
		return l.gateway(t, r)
	case kind == "nat" && !v6:
		return l.nat(t, r)
	}
	if endpoints := l.VPC().Endpoints; r.Kind() == "vpce" && !endpoints.Settled() {
		return way{gap: endpoints.Missing("the endpoints of " + l.i.VPC)}
	}
	return way{gap: unseen(r)}
}

func unseen(r evidence.Route) string {
	return fmt.Sprintf("%s is routed to %s, and what lies behind that is not read", r.Destination, r.Target)
}

// blackhole returns the way of a route whose target is gone: packets are dropped.
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html
func blackhole(t evidence.RouteTable, r evidence.Route, fix byRoute) way {
	target := cmp.Or(r.Target, "a target")
	return way{
		state: closed, subject: "route-table/" + t.ID, fix: fix("replace-route", t.ID),
		why:      fmt.Sprintf("the route of %s in %s leads to %s, which is gone", r.Destination, t.ID, target),
		evidence: []roll.Evidence{{Source: "route table " + t.ID, Field: "routes[" + r.Destination + "]", Observed: target + ", state blackhole", Expected: "state active"}},
	}
}

// gateway returns the way through an internet gateway, which passes only packets of interfaces
// with a public address. The fix leaves the route to it alone: what else is in the subnets of the table needs it.
// https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateAddress.html
func (l *look) gateway(t evidence.RouteTable, r evidence.Route) way {
	if l.i.PublicIP != "" {
		return way{state: open, sources: []string{l.i.PublicIP}, via: "the instance"}
	}
	return way{
		state: closed, subject: "subnet/" + l.i.Subnet,
		fix: paste.Lines(
			l.AWS("ec2", "modify-subnet-attribute", "--subnet-id", l.i.Subnet, "--map-public-ip-on-launch"),
			"# that is for new instances; or launch them in a subnet with a route to a NAT gateway, and leave this route table as it is: load balancers, NAT gateways and public addresses need its internet gateway",
			paste.If("an Elastic IP address helps this instance as well, if it has one network interface, and costs until it is released", paste.Lines(
				l.AWS("ec2", "allocate-address", "--query", "AllocationId", "--output", "text"),
				l.AWS("ec2", "associate-address", "--allocation-id", "ALLOCATION", "--instance-id", string(l.Finding.Instance))))),
		why: fmt.Sprintf("%s routes %s to the internet gateway %s, which passes only instances with a public address, and this one has none", t.ID, r.Destination, r.Target),
		evidence: []roll.Evidence{
			{Source: "route table " + t.ID, Field: "routes[" + r.Destination + "]", Observed: r.Target, Expected: "a NAT gateway, or a public address of the instance"},
			{Source: "instance", Field: "PublicIpAddress", Observed: "none", Expected: "a public address"},
		},
	}
}

// nat returns the way through a NAT gateway.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-nat-gateway.html
func (l *look) nat(t evidence.RouteTable, r evidence.Route) way {
	f := l.Network.NATGateways[r.Target]
	if f.State == evidence.Absent {
		if hidden := l.Hidden(); hidden != "" {
			return way{via: r.Target, gap: hidden}
		}
		return l.natGone(t, r, "no such NAT gateway")
	}
	if !f.Known() {
		return way{via: r.Target, gap: f.Missing("NAT gateway " + r.Target)}
	}
	n := f.Value
	var w way
	switch strings.ToLower(n.State) {
	case "available":
		w = l.natExit(n)
	case "failed", "deleted":
		return l.natGone(t, r, "state "+n.State)
	default: // pending, or deleting, which may still pass traffic
		w = way{gap: "NAT gateway " + n.ID + " is " + n.State}
	}
	w.via, w.sources = n.ID, n.PublicIPs
	return w
}

func (l *look) natGone(t evidence.RouteTable, r evidence.Route, observed string) way {
	return way{
		state: closed, subject: "route-table/" + t.ID, fix: l.routeToNAT("replace-route", t.ID),
		why:      fmt.Sprintf("%s routes %s to the NAT gateway %s, which does not work (%s)", t.ID, r.Destination, r.Target, observed),
		evidence: []roll.Evidence{{Source: "NAT gateway " + r.Target, Field: "State", Observed: observed, Expected: "available"}},
	}
}

// noSubnet is why the path beyond a NAT gateway is unknown: its subnet is missing.
func noSubnet(n evidence.NATGateway) string {
	return evidence.AnswerOf + "ec2:DescribeNatGateways lacks the subnet of " + n.ID
}

// natExit returns the way on from a NAT gateway, by the route table of its own subnet. A public
// gateway reaches the internet through an internet gateway there, which drops what a private
// one sends. A route to another NAT gateway helps only if that one has a way on, and whether AWS
// translates twice is not documented; one back to a gateway passed before leads nowhere. A table
// that was not requested counts as fine; an unreadable one does not. A regional gateway is in no
// subnet: AWS gives it a table of its own, with a route to the internet gateway.
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html
func (l *look) natExit(n evidence.NATGateway, passed ...string) way {
	if n.Private {
		return way{gap: n.ID + " is a private NAT gateway, and what lies behind it is not read"}
	}
	t := l.Network.RouteTables[n.Subnet]
	switch {
	case n.Subnet == "" && !n.Regional:
		return way{gap: noSubnet(n)}
	case t.State == evidence.NotAsked:
		return way{state: open}
	case !t.Known():
		return way{gap: t.Missing("the route table of " + n.ID)}
	}
	passed = append(passed, n.ID)
	w := l.outBy(t.Value, false, l.routeToGateway, func(t evidence.RouteTable, r evidence.Route, _ bool) way {
		next := l.Network.NATGateways[r.Target].Value
		switch {
		case r.Blackhole:
			return blackhole(t, r, l.routeToGateway)
		case r.Kind() == "igw":
			return way{state: open}
		case slices.Contains(passed, r.Target):
			return l.circle(t, r)
		case next.ID != "":
			if on := l.natExit(next, passed...); on.state == closed {
				return on
			}
		}
		return way{gap: unseen(r)}
	})
	if w.state == closed {
		w.why = fmt.Sprintf("the NAT gateway %s has no way out of its subnet %s: %s", n.ID, n.Subnet, w.why)
	}
	return w
}

// circle returns the way of a route back to a NAT gateway that the packets have passed.
func (l *look) circle(t evidence.RouteTable, r evidence.Route) way {
	return way{
		state: closed, subject: "route-table/" + t.ID,
		fix: paste.Lines(
			"# the subnet of a NAT gateway cannot be changed: create another one in a subnet whose default route is an internet gateway, and route to that one",
			l.toNAT("replace-route", l.RouteTable().Value.ID, l.AWS("ec2", "create-nat-gateway", "--subnet-id", "PUBLIC_SUBNET", "--allocation-id", "ELASTIC_IP", "--query", "NatGateway.NatGatewayId", "--output", "text"))),
		why:      fmt.Sprintf("%s routes %s back to the NAT gateway %s, so the packets go in a circle", t.ID, r.Destination, r.Target),
		evidence: []roll.Evidence{{Source: "route table " + t.ID, Field: "routes[" + r.Destination + "]", Observed: r.Target, Expected: "an internet gateway"}},
	}
}
