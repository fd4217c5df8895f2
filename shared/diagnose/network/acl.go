package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// denial is what a network ACL denies.
type denial struct {
	acl    string
	egress bool
	ports  portRange
	cidr   string // what is to be allowed
	rule   int    // the first rule that denies, 0 if no rule allows
	rules  []evidence.ACLRule
}

// flow is traffic of one direction at a subnet's border.
type flow struct {
	egress bool
	ports  portRange
	to     space // or from
	known  bool  // to is no more than where the traffic may go
	what   string
}

// decide evaluates the rules of an ACL, in the order of their numbers: traffic is open if
// all of it passes, closed if none does. What no rule names is denied.
// https://docs.aws.amazon.com/vpc/latest/userguide/nacl-rules.html
func decide(a evidence.ACL, f flow) result {
	rules := slices.Clone(a.Rules)
	slices.SortStableFunc(rules, func(a, b evidence.ACLRule) int { return cmp.Compare(a.Number, b.Number) })
	v := verdict{}
	for _, p := range f.to {
		v.walk(block{p, f.ports}, ruled(rules, f.egress, isIPv6(p)))
	}
	switch {
	case !v.denied:
		return result{state: open}
	case v.allowed && !f.known:
		return result{gap: fmt.Sprintf("network ACL %s lets some of the traffic of %s pass, and its addresses are not read", a.ID, f.what)}
	}
	traffic := fmt.Sprintf("tcp %s %s %s", f.ports, preposition(f.egress), f.what)
	d := denial{acl: a.ID, egress: f.egress, ports: f.ports, cidr: f.to.single(), rule: v.rule.Number, rules: a.Rules}
	r := result{state: closed, deny: d, evidence: []roll.Evidence{{Source: "network ACL " + a.ID, Field: direction(f.egress), Observed: v.says(), Expected: "allow " + traffic}}}
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

// ruled are the rules that can decide about TCP in a direction and a family.
func ruled(rules []evidence.ACLRule, egress, v6 bool) []aclRule {
	var out []aclRule
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
	kind, ok = map[string]string{"-1": "all", "all": "all", "6": "tcp", "tcp": "tcp"}[strings.ToLower(protocol)]
	return kind, ok
}

// block is a set of packets: to or from some addresses, to some ports.
type block struct {
	addresses netip.Prefix
	ports     portRange
}

// verdict collects what became of the parts of a block.
type verdict struct {
	allowed, denied bool
	rule            evidence.ACLRule // the first that denies a part; zero if none names it
	described       bool
}

// walk finds the first rule that matches the block, and splits the block where a rule
// matches a part of it.
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

// finalRule is EC2's number of the last rule, which denies what no other names.
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
	protocol := map[string]string{"-1": "all traffic", "6": "tcp " + ports}[r.Protocol]
	if protocol == "" {
		protocol = r.Protocol + " " + ports
	}
	return fmt.Sprintf("rule %d denies %s %s %s", r.Number, protocol, preposition(r.Egress), r.CIDR)
}
