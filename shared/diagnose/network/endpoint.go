package network

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
)

// place is where the API server's name resolves to.
type place uint8

const (
	nowhere place = iota
	private       // to the cluster's network interfaces in the VPC
	public        // to an address outside of it
)

// api is where the API server's name resolves to from the instance.
type api struct {
	place place
	// sure: the name certainly resolves to place. With both kinds of access, only Amazon's
	// resolver with both DNS attributes on returns the private addresses, which are in a hosted
	// zone of the VPC. Any other resolver returns the public ones. With private access alone
	// the private addresses are in public DNS.
	sure bool
	gap  string // why the place is unknown, if it is nowhere
}

func (l *look) api() api {
	foreign := l.foreign()
	switch {
	case l.k.PrivateAccess && !foreign:
		return api{place: private, sure: !l.k.PublicAccess || l.hostedZones()}
	case l.k.PublicAccess:
		return api{place: public, sure: true}
	case foreign:
		return api{gap: "the instance is in " + l.i.VPC + " and the private endpoint in " + l.k.VPC + ": what connects them is not read"}
	}
	return api{gap: "the EKS cluster shows neither private nor public endpoint access"}
}

// hostedZones reports whether names certainly resolve by the private hosted zones of the VPC: those of the
// API server and of VPC endpoints with private DNS.
// https://docs.aws.amazon.com/vpc/latest/privatelink/interface-endpoints.html#enable-private-dns-names
func (l *look) hostedZones() bool {
	v := l.VPC()
	return v.DNSSupport.Value && v.DNSHostnames.Value && l.amazonDNS()
}

// toAPI begins every rule about the way to the API server. done is the verdict if the rule ends
// here: the node shows that the way is open, or the cluster was not read.
func (l *look) toAPI() (a api, done *cause.Verdict) {
	end := func(v cause.Verdict) (api, *cause.Verdict) { return api{}, &v }
	if l.speaking() {
		return end(cause.RuledOut)
	}
	if gap := l.clusterGap(); gap != "" {
		return end(cause.NotChecked(gap))
	}
	if a = l.api(); a.place == nowhere {
		return end(cause.NotChecked(a.gap))
	}
	return a, nil
}

// foreign reports whether the instance is in another VPC than the cluster.
func (l *look) foreign() bool { return l.i.VPC != l.k.VPC }

// amazonDNS reports whether instances of the VPC certainly use Amazon's resolver: the DHCP options name
// it, or have no other addresses than its own.
// https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html
func (l *look) amazonDNS() bool {
	v := l.VPC()
	servers := v.DHCP.Value.NameServer
	named := func(server string) bool { return strings.EqualFold(server, "AmazonProvidedDNS") }
	other := func(server string) bool { return !slices.Contains(resolversOf(v.CIDR), strings.TrimSpace(server)) }
	return v.DHCP.State == evidence.Absent ||
		v.DHCP.Known() && (slices.ContainsFunc(servers, named) || len(servers) > 0 && !slices.ContainsFunc(servers, other))
}

// resolversOf returns the IPv4 addresses of Amazon's resolver in a VPC: one for all VPCs, and the third
// one of the VPC's primary block.
func resolversOf(cidr string) []string {
	all := []string{"169.254.169.253"}
	if p, ok := parsePrefix(cidr); ok && !isIPv6(p) {
		all = append(all, p.Addr().Next().Next().String())
	}
	return all
}

// host returns the API server's name.
func (l *look) host() string {
	u, err := url.Parse(l.k.Endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// perhapsIPv6 is why a way is in doubt of which it is not known whether the far end has IPv6.
const perhapsIPv6 = "IPv6 is open, and whether it is a way is not known"

// family is IPv4 or IPv6 as a way to the API server.
type family struct {
	v6 bool
	// sure: the API server certainly has addresses of the family. If not, why says what is missing.
	sure bool
	why  string
}

// families returns those by which the instance may reach the API server. An IPv4 cluster's
// endpoint has IPv4 addresses. An IPv6 cluster's endpoint has both if it is under api.aws, and
// had only IPv4 before; in China the name does not show it. An endpoint that has only IPv4 may be
// reached by translated addresses.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html#cluster-endpoint-ipv6
func (l *look) families() []family {
	four := family{sure: true}
	if l.k.IPFamily == "ipv4" || !l.i.IPv6 || strings.HasSuffix(l.host(), ".eks.amazonaws.com") {
		if _, gap := l.translated(); gap != "" {
			return []family{four, {v6: true, why: gap}}
		}
		return []family{four}
	}
	six := family{v6: true, sure: strings.HasSuffix(l.host(), ".api.aws"), why: perhapsIPv6}
	switch {
	case l.host() == "":
		six.why = evidence.AnswerOf + "eks:DescribeCluster lacks the endpoint"
	case l.k.IPFamily == "":
		six.sure, six.why = false, evidence.AnswerOf+"eks:DescribeCluster lacks the IP family"
	}
	return []family{four, six}
}

// either combines what is known about the ways by each family: the instance uses whichever is
// open.
func either(families []family, ask func(v6 bool) way) (out way) {
	for i, f := range families {
		w := ask(f.v6)
		if w.state == open && !f.sure {
			w = w.doubt(f.why)
		}
		if w.state == open {
			return w
		}
		if i == 0 || w.state == unsure && out.state == closed {
			out = w
		}
	}
	return out
}

// apiSpace returns where the API server's private addresses are: in the cluster's subnets.
// known is false if a subnet was not read or the family is IPv6; the space is then all
// addresses.
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html#network-requirements-subnets
func (l *look) apiSpace(v6 bool) (s space, known bool) {
	if v6 {
		return everything6, false
	}
	return l.spaceOf(l.k.Subnets)
}

// apiSpaceGap returns why it is not known where the API server's private IPv4 addresses are, "" if it is.
func (l *look) apiSpaceGap() string {
	if _, known := l.apiSpace(false); known {
		return ""
	}
	for _, id := range l.k.Subnets {
		if f := l.Network.Subnets[id]; !f.Settled() {
			return f.Missing("subnet " + id)
		}
	}
	return evidence.AnswerOf + "EKS and EC2 lacks the cluster's subnets, or their addresses"
}

// spaceOf returns the addresses of subnets, or all addresses if a subnet was not read.
func (l *look) spaceOf(subnets []string) (s space, known bool) {
	for _, id := range subnets {
		f := l.Network.Subnets[id]
		p, ok := parsePrefix(f.Value.CIDR)
		if !f.Known() || !ok || isIPv6(p) {
			return everything4, false
		}
		s = append(s.minus(p), p)
	}
	if len(s) == 0 {
		return everything4, false
	}
	return s, true
}

// address returns the instance's private IPv4 address.
func (l *look) address() (netip.Prefix, bool) { return parsePrefix(l.i.PrivateIP) }
