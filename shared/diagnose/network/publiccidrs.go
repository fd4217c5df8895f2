package network

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// publicCIDRs compares the addresses that a public endpoint admits with the one that the
// instance's packets have when they get there (PublicAccessCidrBlocked). Where private
// access is on, the list does not matter to nodes.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html#modify-endpoint-access
func (l *look) publicCIDRs() {
	const code = cause.PublicAccessCidrBlocked
	a, ok := l.path(code)
	if !ok {
		return
	}
	if a.place == public && len(l.k.PublicCIDRs) == 0 { // by default all addresses stand there
		l.s.NotChecked(evidence.AnswerOf+"eks:DescribeCluster lacks resourcesVpcConfig.publicAccessCidrs", code)
		return
	}
	four, six := admitted(l.k.PublicCIDRs)
	if a.place == private || len(everything4.without(four)) == 0 {
		l.s.RuledOut(code)
		return
	}
	proxied, why := l.proxied()
	w := l.out(false)
	switch {
	case proxied == open:
		l.s.NotChecked(why, code)
		return
	case len(w.sources) == 0 && w.state == closed:
		l.s.NotChecked("there is no way out of which the address could be compared: "+w.why, code)
		return
	case len(w.sources) == 0:
		l.s.NotChecked(orElse(w.gap, evidence.AnswerOf+"EC2 lacks the public address of "+w.via), code)
		return
	}
	out := outsiders(w.sources, four)
	switch {
	case len(out) == 0:
		l.s.RuledOut(code)
		return
	case l.otherwise(six):
		l.s.NotChecked("the endpoint may be reached by IPv6 too, and the instance's IPv6 address is not read", code)
		return
	}
	l.blockedCIDR(w, out, proxied == closed && len(out) == len(w.sources))
}

// otherwise: IPv6 may be a way past the list.
func (l *look) otherwise(six space) bool {
	return len(l.families()) > 1 && len(six) > 0 && l.out(true).state != closed
}

func (l *look) blockedCIDR(w way, out []string, sure bool) {
	who := w.via
	if who == "the instance" {
		who = "the instance itself"
	}
	private := l.privateAccess()
	wider := slices.Clone(l.k.PublicCIDRs)
	for _, ip := range out {
		if p, ok := parsePrefix(ip); ok {
			wider = append(wider, p.String())
		}
	}
	l.found(roll.Cause{
		Code: cause.PublicAccessCidrBlocked, Confidence: weaker(l.confidence(), sure), Subject: "cluster/" + l.clusterName(),
		Summary: fmt.Sprintf("the API server of %s admits %s only, and the instance comes from %s, the public address of %s",
			l.clusterName(), strings.Join(l.k.PublicCIDRs, ", "), strings.Join(out, " or "), who),
		Evidence: []roll.Evidence{
			{Source: "EKS cluster", Field: "resourcesVpcConfig.publicAccessCidrs", Observed: strings.Join(l.k.PublicCIDRs, ", "), Expected: "a block with " + strings.Join(out, " and ")},
			{Source: "EKS cluster", Field: "resourcesVpcConfig.endpointPrivateAccess", Observed: "false", Expected: "true, if nodes are not to depend on that list"},
		},
		Fix: paste.Lines(
			"# let nodes reach the API server within the VPC, whatever the public list says:", private,
			"# or admit their address:",
			l.aws("eks", "update-cluster-config", "--name", l.clusterName(), "--resources-vpc-config", jsonText(map[string]any{"endpointPublicAccess": true, "publicAccessCidrs": wider}))),
	})
}

// admitted are the prefixes of a list by family.
func admitted(cidrs []string) (four, six space) {
	for _, c := range cidrs {
		if p, ok := parsePrefix(c); ok && isIPv6(p) {
			six = append(six.minus(p), p)
		} else if ok {
			four = append(four.minus(p), p)
		}
	}
	return four, six
}

// without is the space without all of another.
func (s space) without(other space) space {
	for _, p := range other {
		s = s.minus(p)
	}
	return s
}

// outsiders are the addresses that no prefix holds.
func outsiders(addresses []string, in space) []string {
	var out []string
	for _, a := range addresses {
		if p, ok := parsePrefix(a); ok && len((space{p}).without(in)) > 0 {
			out = append(out, a)
		}
	}
	return out
}

func orElse(text, other string) string {
	if text != "" {
		return text
	}
	return other
}
