package network

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// securityGroups checks whether the security groups allow the node's HTTPS to the API server
// (SecurityGroupBlocksApi): out of the instance, and at a private endpoint into the cluster's
// network interfaces. Groups are stateful, so answers need no rule.
// https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
func (l *look) securityGroups() cause.Verdict {
	a, done := l.toAPI()
	if done != nil {
		return *done
	}
	if a.place == private && len(l.clusterGroups()) == 0 {
		return cause.NotChecked(evidence.AnswerOf + "eks:DescribeCluster lacks the security group of the cluster")
	}
	out, in := l.groupsOut(a.place), way{state: open}
	if a.place == private {
		in = either(l.families(), func(v6 bool) way { return l.through(l.clusterGroups(), false, l.nodePeer(v6)) })
	}
	switch {
	case out.state == closed, out.partial && in.state != closed:
		return l.groupsRefuse(a, out, true)
	case in.state == closed, in.partial:
		return l.groupsRefuse(a, in, false)
	case out.state == unsure && a.place == private:
		return cause.NotChecked(cmp.Or(l.apiSpaceGap(), out.gap))
	case out.state == unsure:
		return cause.NotChecked(out.gap)
	case in.state == unsure:
		return cause.NotChecked(in.gap)
	}
	return cause.RuledOut
}

// groupsOut returns what the instance's groups allow of HTTPS to the API server.
func (l *look) groupsOut(to place) way {
	return either(l.families(), func(v6 bool) way {
		if to == private {
			return l.through(l.i.SecurityGroups, true, l.apiPeer(v6))
		}
		return l.through(l.i.SecurityGroups, true, internetPeer("the API server", v6))
	})
}

// groupsRefuse returns the cause that the groups stop the node's HTTPS. A proxy would be
// another way, on ports of its own. If HTTPS may not leave to a public address either, it does
// not matter where the API server's name resolves to.
func (l *look) groupsRefuse(a api, r way, egress bool) cause.Verdict {
	proxied, why := l.proxied()
	if proxied == open {
		return cause.NotChecked(why)
	}
	c := l.blocks(l.explains() && r.state == closed && proxied == closed && (a.sure || egress && l.groupsOut(public).state == closed)).Shows(r.evidence...)
	node, cluster, name, some := strings.Join(l.i.SecurityGroups, ", "), strings.Join(l.clusterGroups(), ", "), l.clusterName(), ""
	if r.state != closed {
		some = " for some of its addresses"
	}
	switch {
	case !egress:
		c.In("security-group/"+l.clusterGroups()[0]).
			Says("the security groups of the API server of %s (%s) let no HTTPS in%s from the instance, which has %s and %s", name, cluster, some, node, l.i.PrivateIP).
			Fix(l.allowIn(l.clusterGroups()))
	case a.place == private:
		c.In("security-group/"+l.i.SecurityGroups[0]).
			Says("the security groups of the instance (%s) let no HTTPS out%s to the API server of %s (%s)", node, some, name, cluster).
			Fix(l.allowOut(toGroup(l.clusterGroups())))
	default:
		c.In("security-group/"+l.i.SecurityGroups[0]).
			Says("the security groups of the instance (%s) let no HTTPS out to the internet, the only way to the API server of %s", node, name).
			Fix(l.allowOut(toAnywhere()))
	}
	if r.state != closed {
		c.Saw("EKS cluster", "resourcesVpcConfig.subnetIds", strings.Join(l.k.Subnets, ", "), "subnets that the rules cover")
	}
	return c.Shows(l.silence()...)
}

// allowIn returns the command that allows the instance's HTTPS into the first security group.
func (l *look) allowIn(groups []string) string {
	return l.AWS("ec2", "authorize-security-group-ingress", "--group-id", first(groups), "--protocol", "tcp", "--port", "443", "--source-group", first(l.i.SecurityGroups))
}

// allowOut returns the command that allows HTTPS from the instance's first security group to a
// destination.
func (l *look) allowOut(to map[string]any) string {
	permission := map[string]any{"IpProtocol": "tcp", "FromPort": https, "ToPort": https}
	maps.Copy(permission, to)
	return l.AWS("ec2", "authorize-security-group-egress", "--group-id", first(l.i.SecurityGroups), "--ip-permissions", paste.JSON([]any{permission}))
}

// toGroup returns the first security group as a destination.
func toGroup(groups []string) map[string]any {
	return map[string]any{"UserIdGroupPairs": []map[string]string{{"GroupId": first(groups)}}}
}

// toAnywhere returns all IPv4 addresses as a destination.
func toAnywhere() map[string]any {
	return map[string]any{"IpRanges": []map[string]string{{"CidrIp": defaultRoute(false)}}}
}

// peer is the far end of a connection, as security group rules can name it.
type peer struct {
	what   string   // for sentences, such as the API server
	groups []string // security groups that it carries
	lists  []string // prefix lists that hold all of its addresses
	space  space    // where its address is
	known  bool     // otherwise space is only where it may be
}

// https is the port of the API server and of AWS endpoints.
const https = 443

// through evaluates the rules of all groups together: a packet passes if one rule allows it.
// Prefix lists are not read, so a rule with one neither opens nor closes, unless it is the peer's own.
// https://docs.aws.amazon.com/vpc/latest/userguide/security-group-rules.html
func (l *look) through(groups []string, egress bool, p peer) way {
	if len(groups) == 0 {
		return way{gap: "no security group is known"}
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
			if overlap(r.Groups, p.groups) || overlap(r.PrefixLists, p.lists) {
				return way{state: open}
			}
			left = left.without(prefixes(r.CIDRs...))
			if len(r.PrefixLists) > 0 {
				hidden = fmt.Sprintf("security group %s names the prefix list %s, whose addresses are not read", id, r.PrefixLists[0])
			}
		}
	}
	switch {
	case len(left) == 0:
		return way{state: open}
	case missing != "":
		return way{gap: missing}
	case hidden != "":
		return way{gap: hidden}
	case !slices.Equal(left, p.space) && !p.known:
		return way{gap: "the security groups pass some addresses, and those of " + p.what + " are not read"}
	}
	r := way{state: closed, evidence: l.groupEvidence(groups, egress, p)}
	if !slices.Equal(left, p.space) {
		return r.partly("the security groups pass some of the addresses of " + p.what)
	}
	return r
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func directed(g evidence.SecurityGroup, egress bool) []evidence.Permission {
	if egress {
		return g.Egress
	}
	return g.Ingress
}

func carriesHTTPS(p evidence.Permission) bool {
	protocol, tcp := tcpOf(p.Protocol)
	return tcp && (protocol == "all" || p.AllPorts || p.From <= https && https <= p.To)
}

func direction(egress bool) string {
	if egress {
		return "egress"
	}
	return "ingress"
}

// groupEvidence returns the rules of the groups, none of which allows the traffic.
func (l *look) groupEvidence(groups []string, egress bool, p peer) []roll.Evidence {
	expected := "tcp 443 " + preposition(egress) + " " + cmp.Or(strings.Join(p.groups, " or "), p.what)
	var out []roll.Evidence
	for _, id := range groups {
		rules := cmp.Or(some(directed(l.Network.SecurityGroups[id].Value, egress), describeRule, "; ", "and %d rules more"), "no rule")
		out = append(out, roll.Evidence{Source: "security group " + id, Field: direction(egress), Observed: rules, Expected: expected})
	}
	return out
}

// some describes the first elements of a list, and says how many more there are.
func some[T any](all []T, describe func(T) string, separator, more string) string {
	const most = 6
	words := roll.Map(all[:min(len(all), most)], describe)
	if len(all) > most {
		words = append(words, fmt.Sprintf(more, len(all)-most))
	}
	return strings.Join(words, separator)
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

// apiPeer returns the API server's private end: network interfaces with the cluster's security
// group and its additional ones.
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

// nodePeer returns the instance as rules at the far end see it.
func (l *look) nodePeer(v6 bool) peer {
	p := peer{what: "the instance", groups: l.i.SecurityGroups, space: everything4}
	if v6 {
		p.space = everything6
	} else if a, ok := l.address(); ok && !isIPv6(a) {
		p.space, p.known = space{a}, true
	}
	return p
}

// internetPeer returns an endpoint outside the VPC with an unknown public address.
func internetPeer(what string, v6 bool) peer { return peer{what: what, space: internet(v6)} }

// portRange is an inclusive range of ports.
type portRange struct{ from, to int }

func (p portRange) String() string {
	if p.from == p.to {
		return fmt.Sprint(p.from)
	}
	return fmt.Sprintf("%d-%d", p.from, p.to)
}
