package network

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// The ports to which answers come. Those of Linux and Windows are the systems' defaults;
// a NAT gateway uses any from 1024 on.
// https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html#nacl-ephemeral-ports
var (
	linuxPorts   = portRange{32768, 60999}
	windowsPorts = portRange{49152, 65535}
	natPorts     = portRange{1024, 65535}
	httpsPort    = portRange{https, https}
)

func (l *look) ephemeral() portRange {
	if l.i.Platform == "windows" {
		return windowsPorts
	}
	return linuxPorts
}

// networkACLs follows HTTPS to the API server and its answers through the network ACLs
// of the subnets at both ends, and of the NAT gateway between (NaclBlocksApi). ACLs keep
// no state: both directions need a rule. No ACL applies within one subnet.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html
func (l *look) networkACLs() cause.Verdict {
	a, done := l.toAPI()
	if done != nil {
		return *done
	}
	near, far := l.aclNear(a.place), l.aclFar(a.place)
	switch {
	case near.state == closed:
		return l.aclRefuses(a, near, l.aclSure(a))
	case far.state == closed:
		return l.aclRefuses(a, far, a.sure)
	case near.partial:
		return l.aclRefuses(a, near, false)
	case far.partial:
		return l.aclRefuses(a, far, false)
	case near.state == unsure:
		return cause.NotChecked(near.gap)
	case far.state == unsure:
		return cause.NotChecked(far.gap)
	}
	return cause.RuledOut
}

// aclNear is what the ACL of the instance's subnet says.
func (l *look) aclNear(to place) result {
	f := l.ACL()
	if !f.Known() {
		return result{gap: f.Missing("the network ACL of " + l.i.Subnet)}
	}
	return either(l.families(), func(v6 bool) result {
		s, known := internet(v6), false
		if to == private {
			s, known = l.apiSpace(v6)
			if own, ok := parsePrefix(l.Subnet().Value.CIDR); ok && known && l.Subnet().Known() {
				s = s.minus(own) // no ACL applies within the subnet
			}
		}
		if len(s) == 0 {
			return result{state: open}
		}
		return both(
			decide(f.Value, flow{egress: true, ports: httpsPort, to: s, known: known, what: "the API server"}),
			decide(f.Value, flow{ports: l.ephemeral(), to: s, known: known, what: "the API server"}))
	})
}

// both joins two directions: traffic needs both.
func both(a, b result) result {
	for _, r := range []result{a, b} {
		if r.state == closed {
			return r
		}
	}
	for _, r := range []result{a, b} {
		if r.partial {
			return r
		}
	}
	if a.state == unsure {
		return a
	}
	return b
}

// aclSure reports that the ACL at the instance's subnet keeps it from joining whatever
// address it tries. A subnet of the cluster may hold one of the API server's network
// interfaces, which is reached without an ACL. An ACL that stops all HTTPS keeps the
// instance from EC2 as well, without which no node gets its name.
func (l *look) aclSure(a api) bool {
	closesInternet := l.aclNear(public).state == closed
	if !a.sure && !closesInternet {
		return false
	}
	if a.place == public || !slices.Contains(l.k.Subnets, l.i.Subnet) {
		return true
	}
	return l.Finding.Kind == roll.Unregistered && closesInternet && l.needsEC2() == open && l.noEC2Within()
}

// noEC2Within reports that EC2's VPC endpoint certainly has no network interface in the
// instance's own subnet.
func (l *look) noEC2Within() bool {
	endpoints := l.VPC().Endpoints
	return endpoints.Known() && !slices.ContainsFunc(endpoints.Value, func(e evidence.VPCEndpoint) bool {
		return l.serves(e, "ec2") && slices.Contains(e.Subnets, l.i.Subnet)
	})
}

// aclFar is what the ACLs further on say, of those that were read: of the subnets of the
// API server's interfaces, or of the NAT gateway.
func (l *look) aclFar(to place) result {
	node, ok := l.address()
	if !ok || isIPv6(node) || len(l.families()) > 1 {
		return result{state: open}
	}
	if to == private {
		return l.aclCluster(space{node})
	}
	return l.aclNAT(space{node})
}

// aclCluster evaluates the ACLs of the cluster's subnets. The API server is in some of
// them: it is out of reach only if all refuse.
func (l *look) aclCluster(node space) result {
	var refused []result
	for _, id := range l.k.Subnets {
		f := l.Network.ACLs[id]
		if id == l.i.Subnet || f.State == evidence.NotAsked {
			continue
		}
		if !f.Known() {
			return result{gap: f.Missing("the network ACL of " + id)}
		}
		r := both(
			decide(f.Value, flow{ports: httpsPort, to: node, known: true, what: "the instance"}),
			decide(f.Value, flow{egress: true, ports: l.ephemeral(), to: node, known: true, what: "the instance"}))
		if r.state != open {
			refused = append(refused, r)
		}
	}
	if len(refused) == 0 {
		return result{state: open}
	}
	r := refused[0]
	if len(refused) < len(l.k.Subnets) || slices.ContainsFunc(refused, func(r result) bool { return r.state != closed }) {
		return r.partly(orElse(r.gap, "some of the cluster's subnets refuse the instance"))
	}
	return r
}

// aclNAT evaluates the ACL of the NAT gateway's subnet: HTTPS comes in from the node and
// goes out, and the answers likewise.
func (l *look) aclNAT(node space) result {
	if t := l.RouteTable(); !t.Known() {
		return result{gap: t.Missing("the subnet's route table")}
	}
	via := l.out(false).via
	n := l.Network.NATGateways[via]
	f := l.Network.ACLs[n.Value.Subnet]
	switch {
	case strings.HasPrefix(via, "nat-") && !n.Settled():
		return result{gap: n.Missing("NAT gateway " + via)}
	case !n.Known(), n.Value.Subnet == l.i.Subnet, f.State == evidence.NotAsked:
		return result{state: open}
	case !f.Known():
		return result{gap: f.Missing("the network ACL of " + n.Value.Subnet)}
	}
	r := result{state: open}
	for _, f := range []result{
		decide(f.Value, flow{ports: httpsPort, to: node, known: true, what: "the instance"}),
		decide(f.Value, flow{egress: true, ports: httpsPort, to: internet4, what: "the internet"}),
		decide(f.Value, flow{ports: natPorts, to: internet4, what: "the internet"}),
		decide(f.Value, flow{egress: true, ports: l.ephemeral(), to: node, known: true, what: "the instance"}),
	} {
		r = both(r, f)
	}
	return r
}

func (l *look) aclRefuses(a api, r result, sure bool) cause.Verdict {
	proxied, why := l.proxied()
	if proxied == open {
		return cause.NotChecked(why)
	}
	d, lets, way, where := r.deny, "lets no", "in", "within the VPC"
	if r.state != closed {
		lets = "lets only some of"
	}
	if d.egress {
		way = "out"
	}
	if d.ports != httpsPort {
		way += ", where the answers come"
	}
	if a.place == public {
		where = "over the internet"
	}
	return l.blocks(l.explains() && sure && proxied == closed).In("network-acl/"+d.acl).
		Says("the network ACL %s %s tcp %s %s on the way between the instance and the API server of %s, which it reaches %s", d.acl, lets, d.ports, way, l.clusterName(), where).
		Shows(r.evidence...).Shows(l.silence()...).Fix(l.allowACL(d))
}

// allowACL adds a rule in front of the one that denies.
func (l *look) allowACL(d denial) string {
	way, ports, block := "--ingress", d.ports, "--cidr-block"
	if d.egress {
		way = "--egress"
	}
	if ports != httpsPort {
		ports = natPorts
	}
	if p, ok := parsePrefix(d.cidr); ok && isIPv6(p) {
		block = "--ipv6-cidr-block"
	}
	return l.AWS("ec2", "create-network-acl-entry", "--network-acl-id", d.acl, way, "--rule-number", fmt.Sprint(free(d)),
		"--protocol", "tcp", "--port-range", fmt.Sprintf("From=%d,To=%d", ports.from, ports.to), block, d.cidr, "--rule-action", "allow")
}

// lastNumber is the highest number that a custom rule may have.
const lastNumber = 32766

// free is the free rule number nearest before the rule that denies; if only the last rule
// denies, the first from 100 on.
func free(d denial) int {
	taken := map[int]bool{}
	for _, r := range d.rules {
		taken[r.Number] = taken[r.Number] || r.Egress == d.egress
	}
	if d.rule < 1 || d.rule > lastNumber {
		n := 100
		for taken[n] && n < lastNumber {
			n++
		}
		return n
	}
	n := d.rule - 1
	for taken[n] && n > 1 {
		n--
	}
	return max(n, 1)
}
