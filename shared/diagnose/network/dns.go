package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// dns checks the two DNS attributes of the instance's VPC (DnsDisabled). EKS requires both.
// Without enableDnsSupport, Amazon's resolver does not answer. Without enableDnsHostnames, the
// private endpoint's hosted zone is not used, and its name resolves as outside of the VPC: to the
// public addresses if there are any, or else to the private ones. Nodes are known to join then, so
// that it is a hint unless the public addresses are out of reach. Both are hints where instances may
// use other resolvers.
// https://github.com/terraform-aws-modules/terraform-aws-eks/pull/446
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html#network-requirements-vpc
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html#cluster-endpoint-private
func (l *look) dns() cause.Verdict {
	if l.speaking() {
		return cause.RuledOut
	}
	if gap := l.clusterGap(); gap != "" {
		return cause.NotChecked(gap)
	}
	v := l.VPC()
	switch {
	case v.DNSSupport.Known() && !v.DNSSupport.Value:
		return l.noDNS("enableDnsSupport", "--enable-dns-support", "so Amazon's resolver does not answer there", true)
	case v.DNSHostnames.Known() && !v.DNSHostnames.Value:
		return l.noDNS("enableDnsHostnames", "--enable-dns-hostnames", "which the API server's private endpoint needs to be found by its name", l.k.PrivateAccess && !l.foreign() && l.publicOutOfReach())
	case !v.DNSSupport.Known():
		return cause.Missing(v.DNSSupport, "enableDnsSupport of "+l.i.VPC)
	case !v.DNSHostnames.Known():
		return cause.Missing(v.DNSHostnames, "enableDnsHostnames of "+l.i.VPC)
	}
	return cause.RuledOut
}

// publicOutOfReach reports whether the API server has public addresses and the instance certainly cannot
// reach them, by its routes or by its console.
func (l *look) publicOutOfReach() bool {
	_, timedOut := l.timedOut()
	proxied, _ := l.proxied()
	return l.k.PublicAccess && (timedOut || proxied == closed && either(l.families(), l.out).state == closed)
}

func (l *look) noDNS(attribute, flag, consequence string, sure bool) cause.Verdict {
	d := l.VPC().DHCP
	c := l.byName(sure && l.amazonDNS()).
		Says("the VPC %s has %s off, %s", l.i.VPC, attribute, consequence).
		Saw("VPC "+l.i.VPC, attribute, "false", "true").
		Fix(l.AWS("ec2", "modify-vpc-attribute", "--vpc-id", l.i.VPC, flag, `{"Value":true}`))
	if d.Known() {
		c.Saw("DHCP options "+d.Value.ID, "domain-name-servers", cmp.Or(strings.Join(d.Value.NameServer, ", "), "none"), "AmazonProvidedDNS")
	}
	return c.Shows(l.silence()...)
}

// byName returns a verdict with the cause that the API server's name does not resolve. It is
// decisive only for an instance that never registered, since a kubelet keeps its connection.
func (l *look) byName(sure bool) cause.Verdict {
	return l.blocks(sure && l.Finding.Kind == roll.Unregistered).In("vpc/" + l.i.VPC)
}

// dhcp checks the resolvers in the DHCP options (DhcpOptionsWrong). A custom resolver may
// forward to Amazon's, which cannot be read, so it is a hint, unless the subnet has no way to any of
// them.
// https://docs.aws.amazon.com/vpc/latest/userguide/DHCPOptionSetConcepts.html
func (l *look) dhcp() cause.Verdict {
	f := l.VPC().DHCP
	switch {
	case l.speaking():
		return cause.RuledOut
	case f.State == evidence.Absent && isXen(l.i.Type):
		return l.wrongServers("none", fmt.Sprintf("the VPC %s has no DHCP options, so an instance of type %s gets no name server", l.i.VPC, l.i.Type), false)
	case f.State == evidence.Absent:
		return cause.RuledOut // Nitro instances get Amazon's resolver
	case !f.Known():
		return cause.Missing(f, "the DHCP options of "+l.i.VPC)
	case !l.amazonDNS():
		servers := strings.Join(f.Value.NameServer, ", ")
		lost, gap := l.lost(f.Value.NameServer)
		return l.wrongServers(cmp.Or(servers, "none"), fmt.Sprintf("the DHCP options of %s hand out %s in place of Amazon's resolver, which alone knows the names of the VPC", l.i.VPC, cmp.Or(servers, "no name server")), lost).Unsettled(gap)
	case len(strings.Fields(f.Value.DomainName)) != 1:
		return l.wrongDomain(f.Value)
	}
	return cause.RuledOut
}

// lost reports whether no packet reaches any of the resolvers, and if that is not certain what was not
// read and would show it, "" if nothing would.
func (l *look) lost(servers []string) (sure bool, gap string) {
	for _, server := range servers {
		p, ok := parsePrefix(server)
		switch {
		case !ok || isIPv6(p):
			return false, ""
		case len(internet4.within(p)) > 0:
			if w := l.out(false); w.state != closed {
				return false, w.gap
			}
		case !p.Addr().IsPrivate():
			return false, ""
		default:
			if unrouted, gap := l.unrouted(p, l.RouteTable(), "the subnet's route table"); !unrouted {
				return false, gap
			}
		}
	}
	return len(servers) > 0, ""
}

// unrouted reports whether a route table certainly leads nowhere near a private address: it has no
// route for it, or one to the internet, where no private address is known. A NAT gateway sends packets
// on by the route table of its own subnet. gap is what was not read and would show it.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-nat-gateway.html
func (l *look) unrouted(to netip.Prefix, t evidence.Fact[evidence.RouteTable], what string, passed ...string) (sure bool, gap string) {
	r, routed := routeTo(t.Value, to)
	switch {
	case !t.Known():
		return false, t.Missing(what)
	case slices.ContainsFunc(t.Value.Routes, l.toPrefixList):
		return false, ""
	case !routed, r.Blackhole, r.Kind() == "igw":
		return true, ""
	case r.Kind() != "nat" || slices.Contains(passed, r.Target):
		return false, ""
	}
	n := l.Network.NATGateways[r.Target]
	switch {
	case n.State == evidence.NotAsked:
		return false, evidence.AnswerOf + "ec2:DescribeNatGateways lacks " + r.Target
	case !n.Known():
		return false, n.Missing("NAT gateway " + r.Target)
	case n.Value.Regional:
		return false, "" // its own route table is not read
	case n.Value.Subnet == "":
		return false, noSubnet(n.Value)
	}
	return l.unrouted(to, l.Network.RouteTables[n.Value.Subnet], "the route table of NAT gateway "+r.Target, append(passed, r.Target)...)
}

// wrongServers offers Amazon's resolver only as a comment where there are other resolvers: the options are those of every
// machine in the VPC, some of which may need names that only these know.
func (l *look) wrongServers(observed, summary string, sure bool) cause.Verdict {
	v := l.wrongDHCP("domain-name-servers", observed, "AmazonProvidedDNS, or resolvers that forward to it", summary, sure)
	create, associate, back := l.otherOptions([]string{"AmazonProvidedDNS"})
	if len(l.VPC().DHCP.Value.NameServer) == 0 {
		return v.Fix(forAll, paste.Assign(newOptions, create, associate), back)
	}
	return v.Fix("# let these resolvers forward the names of the VPC and of AWS to the resolver of Amazon, such as by an inbound endpoint of Route 53",
		paste.If("or, if no machine in the VPC needs names that only these resolvers know, use the resolver of Amazon", paste.Lines(forAll, create, associate, back)))
}

// wrongDomain checks the domain name. Without one an instance has no private DNS name to
// register with, and not every system splits a list of names.
// https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#worker-node-fail
// https://github.com/awslabs/amazon-eks-ami/issues/1263
func (l *look) wrongDomain(d evidence.DHCPOptions) cause.Verdict {
	summary := fmt.Sprintf("the DHCP options of %s name no domain, which a node's private DNS name needs", l.i.VPC)
	if d.DomainName != "" {
		summary = fmt.Sprintf("the DHCP options of %s name several domains (%s), and not every system splits them", l.i.VPC, d.DomainName)
	}
	create, associate, back := l.otherOptions(d.NameServer)
	return l.wrongDHCP("domain-name", cmp.Or(d.DomainName, "none"), l.domain(), summary, false).Fix(forAll, paste.Assign(newOptions, create, associate), back)
}

func (l *look) wrongDHCP(field, observed, expected, summary string, sure bool) cause.Verdict {
	return l.byName(sure).Says("%s", summary).
		Saw(strings.TrimSpace("DHCP options "+l.VPC().DHCP.Value.ID), field, observed, expected).
		Shows(l.silence()...)
}

const (
	newOptions = "DHCP_OPTIONS"
	forAll     = "# this is for every machine in the VPC, once it renews its lease or boots; add what else the old options set, such as NTP servers"
)

// otherOptions returns the commands that create other DHCP options, which cannot be changed, and that give them to the
// VPC, and how to take that back. What is not named in the new ones is gone.
// https://docs.aws.amazon.com/vpc/latest/userguide/DHCPOptionSet.html
func (l *look) otherOptions(servers []string) (create, associate, back string) {
	give := func(id string) string {
		return l.AWS("ec2", "associate-dhcp-options", "--dhcp-options-id", id, "--vpc-id", l.i.VPC)
	}
	create = l.AWS("ec2", "create-dhcp-options", "--dhcp-configurations", "Key=domain-name-servers,Values="+strings.Join(servers, ","), "Key=domain-name,Values="+l.domain(),
		"--query", "DhcpOptions.DhcpOptionsId", "--output", "text")
	return create, give(newOptions), "# to take it back: " + give(cmp.Or(l.VPC().DHCP.Value.ID, "default"))
}

// domain returns the region's own domain name.
// https://docs.aws.amazon.com/vpc/latest/userguide/DHCPOptionSetConcepts.html
func (l *look) domain() string {
	if l.Region == "us-east-1" {
		return "ec2.internal"
	}
	return l.Region + ".compute.internal"
}

// xen are the instance families that are not on the Nitro System.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-nitro-instances.html
var xen = strings.Fields("t1 t2 m1 m2 m3 m4 c1 c3 c4 r3 r4 x1 x1e d2 h1 i2 i3 g2 g3 g3s p2 p3 f1")

func isXen(kind string) bool {
	family, _, _ := strings.Cut(kind, ".")
	return slices.Contains(xen, family) && !strings.HasSuffix(kind, ".metal")
}
