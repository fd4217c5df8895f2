package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// The ephemeral ports, to which answers are sent. Those of Linux and Windows are the systems'
// defaults; a NAT gateway uses any from 1024 on.
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

// networkACLs follows HTTPS to the API server, and its answers, through the network ACLs of the
// subnets at both ends and of the NAT gateway between (NaclBlocksApi). ACLs are stateless: both
// directions need a rule. No ACL applies within one subnet.
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

// aclNear returns what the ACL of the instance's subnet allows.
func (l *look) aclNear(to place) way {
	f := l.ACL()
	if !f.Known() {
		return way{gap: f.Missing("the network ACL of " + l.i.Subnet)}
	}
	return either(l.families(), func(v6 bool) way {
		s, known := internet(v6), false
		if to == private {
			s, known = l.apiSpace(v6)
			if own, ok := parsePrefix(l.Subnet().Value.CIDR); ok && known {
				s = s.minus(own) // no ACL applies within the subnet
			}
		}
		return both(
			decide(f.Value, flow{egress: true, ports: httpsPort, to: s, known: known, what: "the API server"}),
			decide(f.Value, flow{ports: l.ephemeral(), to: s, known: known, what: "the API server"}))
	})
}

// both combines two directions: traffic needs both, so the one that passes less counts.
func both(a, b way) way {
	if b.stops() > a.stops() {
		return b
	}
	return a
}

// stops ranks ways by what is known to be stopped on them.
func (w way) stops() int {
	switch {
	case w.state == closed:
		return 3
	case w.partial:
		return 2
	case w.state == unsure:
		return 1
	}
	return 0
}

// aclSure reports whether the ACL of the instance's subnet keeps it from joining whatever
// address it tries. A subnet of the cluster may hold one of the API server's network
// interfaces, which is then reached without an ACL. An ACL that stops all HTTPS also keeps the
// instance from EC2, without which no node gets its name.
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

// noEC2Within reports whether EC2's VPC endpoint certainly has no network interface in the
// instance's subnet.
func (l *look) noEC2Within() bool {
	endpoints := l.VPC().Endpoints
	return endpoints.Known() && !slices.ContainsFunc(endpoints.Value, func(e evidence.VPCEndpoint) bool {
		return l.serves(e, "ec2") && slices.Contains(e.Subnets, l.i.Subnet)
	})
}

// aclFar returns what the ACLs further on allow, of those that were read: of the subnets of the
// API server's interfaces, or of the NAT gateway's.
func (l *look) aclFar(to place) way {
	node, ok := l.address()
	if !ok || isIPv6(node) || len(l.families()) > 1 {
		return way{state: open}
	}
	if to == private {
		return l.aclCluster(space{node})
	}
	return l.aclNAT(space{node})
}

// aclCluster evaluates the ACLs of the cluster's subnets. The API server is in some of them: it
// is unreachable only if all of them deny.
func (l *look) aclCluster(node space) way {
	var refused []way
	for _, id := range l.k.Subnets {
		f := l.Network.ACLs[id]
		if id == l.i.Subnet || f.State == evidence.NotAsked {
			continue
		}
		if !f.Known() {
			return way{gap: f.Missing("the network ACL of " + id)}
		}
		r := both(
			decide(f.Value, flow{ports: httpsPort, to: node, known: true, what: "the instance"}),
			decide(f.Value, flow{egress: true, ports: l.ephemeral(), to: node, known: true, what: "the instance"}))
		if r.state != open {
			refused = append(refused, r)
		}
	}
	if len(refused) == 0 {
		return way{state: open}
	}
	r := refused[0]
	if len(refused) < len(l.k.Subnets) || slices.ContainsFunc(refused, func(r way) bool { return r.state != closed }) {
		return r.partly(cmp.Or(r.gap, "some of the cluster's subnets refuse the instance"))
	}
	return r
}

// aclNAT evaluates the ACL of the NAT gateway's subnet: HTTPS comes in from the node and goes
// out, and answers come back the same way.
func (l *look) aclNAT(node space) way {
	if t := l.RouteTable(); !t.Known() {
		return way{gap: t.Missing("the subnet's route table")}
	}
	via := l.out(false).via
	n := l.Network.NATGateways[via]
	f := l.Network.ACLs[n.Value.Subnet]
	switch {
	case strings.HasPrefix(via, "nat-") && !n.Settled():
		return way{gap: n.Missing("NAT gateway " + via)}
	case !n.Known(), n.Value.Subnet == l.i.Subnet, f.State == evidence.NotAsked:
		return way{state: open}
	case !f.Known():
		return way{gap: f.Missing("the network ACL of " + n.Value.Subnet)}
	}
	r := way{state: open}
	for _, f := range []way{
		decide(f.Value, flow{ports: httpsPort, to: node, known: true, what: "the instance"}),
		decide(f.Value, flow{egress: true, ports: httpsPort, to: internet4, what: "the internet"}),
		decide(f.Value, flow{ports: natPorts, to: internet4, what: "the internet"}),
		decide(f.Value, flow{egress: true, ports: l.ephemeral(), to: node, known: true, what: "the instance"}),
	} {
		r = both(r, f)
	}
	return r
}

func (l *look) aclRefuses(a api, r way, sure bool) cause.Verdict {
	proxied, why := l.proxied()
	if proxied == open {
		return cause.NotChecked(why)
	}
	d, lets, side, where := r.deny, "lets no", "in", "within the VPC"
	if r.state != closed {
		lets = "lets only some of"
	}
	if d.egress {
		side = "out"
	}
	if d.ports != httpsPort {
		side += ", where the answers come"
	}
	if a.place == public {
		where = "over the internet"
	}
	return l.blocks(l.explains() && sure && proxied == closed).In("network-acl/"+d.acl).
		Says("the network ACL %s %s tcp %s %s on the way between the instance and the API server of %s, which it reaches %s", d.acl, lets, d.ports, side, l.clusterName(), where).
		Shows(r.evidence...).Shows(l.silence()...).Fix(l.allowACL(d))
}

// allowACL returns the command that adds a rule before the one that denies.
func (l *look) allowACL(d denial) string {
	side, ports, block := "--ingress", d.ports, "--cidr-block"
	if d.egress {
		side = "--egress"
	}
	if ports != httpsPort {
		ports = natPorts
	}
	if p, ok := parsePrefix(d.cidr); ok && isIPv6(p) {
		block = "--ipv6-cidr-block"
	}
	return l.AWS("ec2", "create-network-acl-entry", "--network-acl-id", d.acl, side, "--rule-number", fmt.Sprint(free(d)),
		"--protocol", "tcp", "--port-range", fmt.Sprintf("From=%d,To=%d", ports.from, ports.to), block, d.cidr, "--rule-action", "allow")
}

// lastNumber is the highest number that a custom rule may have.
const lastNumber = 32766

// free returns the nearest free rule number before the rule that denies. If only the last rule
// denies, it returns the first free one from 100 on.
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

// denial is what a network ACL denies.
type denial struct {
	acl    string
	egress bool
	ports  portRange
	cidr   string // what to allow
	rule   int    // the first rule that denies, 0 if no rule allows
	rules  []evidence.ACLRule
}

// flow is one direction of traffic at a subnet's border.
type flow struct {
	egress bool
	ports  portRange
	to     space // or from
	known  bool  // otherwise to is only where the traffic may go
	what   string
}

// decide evaluates an ACL's rules in the order of their numbers. Traffic is open if all of it
// passes, closed if none does. What no rule matches is denied.
// https://docs.aws.amazon.com/vpc/latest/userguide/nacl-rules.html
func decide(a evidence.ACL, f flow) way {
	rules := slices.Clone(a.Rules)
	slices.SortStableFunc(rules, func(a, b evidence.ACLRule) int { return cmp.Compare(a.Number, b.Number) })
	v := verdict{}
	var v4, v6 []aclRule // once for all addresses
	for _, p := range f.to {
		applying := &v4
		if isIPv6(p) {
			applying = &v6
		}
		if *applying == nil {
			*applying = ruled(rules, f.egress, isIPv6(p))
		}
		v.walk(block{p, f.ports}, *applying)
	}
	switch {
	case !v.denied:
		return way{state: open}
	case v.allowed && !f.known:
		return way{gap: fmt.Sprintf("network ACL %s lets some of the traffic of %s pass, and its addresses are not read", a.ID, f.what)}
	}
	traffic := fmt.Sprintf("tcp %s %s %s", f.ports, preposition(f.egress), f.what)
	d := denial{acl: a.ID, egress: f.egress, ports: f.ports, cidr: f.to.single(), rule: v.rule.Number, rules: a.Rules}
	r := way{state: closed, deny: d, evidence: []roll.Evidence{{Source: "network ACL " + a.ID, Field: direction(f.egress), Observed: v.says(), Expected: "allow " + traffic}}}
	if v.allowed {
		return r.partly("network ACL " + a.ID + " lets only a part of " + traffic + " pass")
	}
	return r
}

func preposition(egress bool) string {
	if egress {
		return "to"
	}
	return "from"
}

// aclRule is a rule in a form that can be compared with a block.
type aclRule struct {
	evidence.ACLRule
	block
}

// ruled returns the rules that can apply to TCP in a direction and a family.
func ruled(rules []evidence.ACLRule, egress, v6 bool) []aclRule {
	out := make([]aclRule, 0, len(rules))
	for _, r := range rules {
		p, ok := parsePrefix(r.CIDR)
		protocol, tcp := tcpOf(r.Protocol)
		if r.Egress != egress || !ok || isIPv6(p) != v6 || !tcp {
			continue
		}
		ports := portRange{r.From, r.To}
		if r.AllPorts || protocol == "all" {
			ports = portRange{0, 65535}
		}
		out = append(out, aclRule{r, block{p, ports}})
	}
	return out
}

// tcpOf reports whether a protocol, as EC2 or a person writes it, includes TCP.
func tcpOf(protocol string) (kind string, ok bool) {
	switch strings.ToLower(protocol) {
	case "-1", "all":
		return "all", true
	case "6", "tcp":
		return "tcp", true
	}
	return "", false
}

// block is a set of packets: to or from some addresses, to some ports.
type block struct {
	addresses netip.Prefix
	ports     portRange
}

// verdict collects the results for the parts of a block.
type verdict struct {
	allowed, denied bool
	rule            evidence.ACLRule // the first that denies a part; zero if none matches it
	described       bool
}

// walk finds the first rule that matches the block, and splits the block where a rule matches a
// part of it.
func (v *verdict) walk(b block, rules []aclRule) {
	for i, r := range rules {
		switch {
		case !b.addresses.Overlaps(r.addresses) || b.ports.to < r.ports.from || r.ports.to < b.ports.from:
		case b.ports.from < r.ports.from:
			v.walk(block{b.addresses, portRange{b.ports.from, r.ports.from - 1}}, rules[i:])
			v.walk(block{b.addresses, portRange{r.ports.from, b.ports.to}}, rules[i:])
			return
		case b.ports.to > r.ports.to:
			v.walk(block{b.addresses, portRange{b.ports.from, r.ports.to}}, rules[i:])
			v.walk(block{b.addresses, portRange{r.ports.to + 1, b.ports.to}}, rules[i:])
			return
		case !covers(r.addresses, b.addresses):
			low, high := halves(b.addresses)
			v.walk(block{low, b.ports}, rules[i:])
			v.walk(block{high, b.ports}, rules[i:])
			return
		default:
			v.end(r.Allow, r.ACLRule)
			return
		}
	}
	v.end(false, evidence.ACLRule{})
}

func (v *verdict) end(allow bool, r evidence.ACLRule) {
	if allow {
		v.allowed = true
		return
	}
	if !v.described || v.rule.Number == 0 && r.Number != 0 {
		v.rule, v.described = r, true
	}
	v.denied = true
}

// finalRule is EC2's number of the last rule, which denies what no other matches.
// https://docs.aws.amazon.com/vpc/latest/userguide/nacl-rules.html
const finalRule = 32767

// says describes what denies.
func (v *verdict) says() string {
	r := v.rule
	if r.Number == 0 || r.Number >= finalRule {
		return "no rule allows it, so the last one (*) denies it"
	}
	ports := portRange{r.From, r.To}.String()
	if r.AllPorts {
		ports = "all ports"
	}
	protocol := cmp.Or(map[string]string{"-1": "all traffic", "6": "tcp " + ports}[r.Protocol], r.Protocol+" "+ports)
	return fmt.Sprintf("rule %d denies %s %s %s", r.Number, protocol, preposition(r.Egress), r.CIDR)
}
