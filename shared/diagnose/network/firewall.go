package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// result is what rules say of traffic.
type result struct {
	state state
	// partial: it is unsure because they pass a part of it.
	partial bool
	gap     string // why it is unsure
	// evidence is of what closes it, or passes only a part.
	evidence []roll.Evidence
	deny     denial // of a network ACL
}

func (r result) is() state { return r.state }

func (r result) doubt(why string) result { return result{gap: why} }

// peer is the far end of a connection, as the rules of security groups can name it.
type peer struct {
	what   string   // for sentences, such as the API server
	groups []string // security groups that it carries
	space  space    // where its address is
	known  bool     // space is no more than that
}

// https is the port of the API server and of AWS's endpoints.
const https = 443

// through asks the rules of all groups together: a packet passes if one of them lets it.
// What a prefix list holds is not read, so a rule with one neither opens nor closes.
// https://docs.aws.amazon.com/vpc/latest/userguide/security-group-rules.html
func (l *look) through(groups []string, egress bool, p peer) result {
	if len(groups) == 0 {
		return result{gap: "no security group is told"}
	}
	left, hidden, missing := p.space, "", ""
	for _, id := range groups {
		f := l.Network.SecurityGroups[id]
		if !f.Known() {
			missing = f.Missing("security group " + id)
			continue
		}
		for _, r := range directed(f.Value, egress) {
			if !carriesHTTPS(r) {
				continue
			}
			if slices.ContainsFunc(r.Groups, func(g string) bool { return slices.Contains(p.groups, g) }) {
				return result{state: open}
			}
			for _, text := range r.CIDRs {
				if c, ok := parsePrefix(text); ok {
					left = left.minus(c)
				}
			}
			if len(r.PrefixLists) > 0 {
				hidden = fmt.Sprintf("security group %s names the prefix list %s, whose addresses are not read", id, r.PrefixLists[0])
			}
		}
	}
	switch {
	case len(left) == 0:
		return result{state: open}
	case missing != "":
		return result{gap: missing}
	case hidden != "":
		return result{gap: hidden}
	case !slices.Equal(left, p.space) && !p.known:
		return result{gap: "which addresses " + p.what + " has is not read, and the security groups pass some"}
	}
	r := result{state: closed, evidence: l.groupEvidence(groups, egress, p)}
	if !slices.Equal(left, p.space) {
		r.state, r.partial, r.gap = unsure, true, "the security groups pass some of the addresses of "+p.what
	}
	return r
}

func directed(g evidence.SecurityGroup, egress bool) []evidence.Permission {
	if egress {
		return g.Egress
	}
	return g.Ingress
}

func carriesHTTPS(p evidence.Permission) bool {
	switch strings.ToLower(p.Protocol) {
	case "-1", "all":
		return true
	case "tcp", "6":
		return p.AllPorts || p.From <= https && https <= p.To
	}
	return false
}

func direction(egress bool) string {
	if egress {
		return "egress"
	}
	return "ingress"
}

// groupEvidence shows the rules of the groups in which the traffic finds none.
func (l *look) groupEvidence(groups []string, egress bool, p peer) []roll.Evidence {
	word := "tcp 443 from "
	if egress {
		word = "tcp 443 to "
	}
	expected := word + p.what
	if len(p.groups) > 0 {
		expected = word + strings.Join(p.groups, " or ")
	}
	var out []roll.Evidence
	for _, id := range groups {
		out = append(out, roll.Evidence{
			Source: "security group " + id, Field: direction(egress), Observed: describeRules(directed(l.Network.SecurityGroups[id].Value, egress)), Expected: expected,
		})
	}
	return out
}

func describeRules(rules []evidence.Permission) string {
	if len(rules) == 0 {
		return "no rule"
	}
	var words []string
	for i, r := range rules {
		if i == 6 {
			words = append(words, fmt.Sprintf("and %d rules more", len(rules)-i))
			break
		}
		words = append(words, describeRule(r))
	}
	return strings.Join(words, "; ")
}

func describeRule(r evidence.Permission) string {
	protocol, ports := r.Protocol, ""
	switch {
	case protocol == "-1":
		protocol = "all traffic"
	case r.AllPorts:
		ports = " all ports"
	case r.From == r.To:
		ports = fmt.Sprintf(" %d", r.From)
	default:
		ports = fmt.Sprintf(" %d-%d", r.From, r.To)
	}
	peers := slices.Concat(r.CIDRs, r.Groups, r.PrefixLists)
	if len(peers) > 4 {
		peers = append(slices.Clone(peers[:4]), fmt.Sprintf("%d more", len(peers)-4))
	}
	return protocol + ports + " " + strings.Join(peers, ", ")
}

// apiPeer is the API server's private end: network interfaces that carry the cluster's
// security group and the further ones of the cluster.
// https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
func (l *look) apiPeer(v6 bool) peer {
	s, known := l.apiSpace(v6)
	return peer{what: "the API server", groups: l.clusterGroups(), space: s, known: known}
}

func (l *look) clusterGroups() []string {
	var all []string
	for _, g := range append([]string{l.k.ClusterSecurityGroup}, l.k.SecurityGroups...) {
		if g != "" && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// nodePeer is the instance as rules on the far side see it.
func (l *look) nodePeer(v6 bool) peer {
	p := peer{what: "the instance", groups: l.i.SecurityGroups, space: everything4}
	if v6 {
		p.space = everything6
	} else if a, ok := l.address(); ok && !isIPv6(a) {
		p.space, p.known = space{a}, true
	}
	return p
}

// internetPeer is an endpoint outside of the VPC: which address it has is not known, but
// none of the VPC's.
func internetPeer(what string, v6 bool) peer { return peer{what: what, space: internet(v6)} }

// portRange is a range of ports, both ends in it.
type portRange struct{ from, to int }

func (p portRange) String() string {
	if p.from == p.to {
		return fmt.Sprint(p.from)
	}
	return fmt.Sprintf("%d-%d", p.from, p.to)
}

// block is a set of packets on which a network ACL decides: to or from some addresses,
// to some ports.
type block struct {
	addresses netip.Prefix
	ports     portRange
}
