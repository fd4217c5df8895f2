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

// dns looks at the two DNS attributes of the instance's VPC (DnsDisabled). EKS asks for
// both: without, nodes cannot register. Without enableDnsSupport Amazon's resolver
// answers nothing. Without enableDnsHostnames the hosted zone of the private endpoint is
// not used, so that the attribute is only a hint where the endpoint is public alone:
// nodes were seen to join there. Both are hints where instances may ask other resolvers.
// https://github.com/terraform-aws-modules/terraform-aws-eks/pull/446
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html#network-requirements-vpc
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html#cluster-endpoint-private
func (l *look) dns() {
	const code = cause.DnsDisabled
	if l.speaking() {
		l.s.RuledOut(code)
		return
	}
	if !l.clusterRead(code) {
		return
	}
	v := l.VPC()
	switch {
	case v.DNSSupport.Known() && !v.DNSSupport.Value:
		l.noDNS("enableDnsSupport", "--enable-dns-support", "so Amazon's resolver answers nothing there", true)
	case v.DNSHostnames.Known() && !v.DNSHostnames.Value:
		l.noDNS("enableDnsHostnames", "--enable-dns-hostnames", "which the API server's private endpoint needs to be found by its name", l.k.PrivateAccess && !l.foreign())
	case !v.DNSSupport.Known():
		l.s.NotChecked(v.DNSSupport.Missing("enableDnsSupport of "+l.i.VPC), code)
	case !v.DNSHostnames.Known():
		l.s.NotChecked(v.DNSHostnames.Missing("enableDnsHostnames of "+l.i.VPC), code)
	default:
		l.s.RuledOut(code)
	}
}

func (l *look) noDNS(attribute, flag, consequence string, sure bool) {
	c := roll.Cause{
		Code: cause.DnsDisabled, Confidence: l.byName(sure && amazonDNS(l.VPC().DHCP)), Subject: "vpc/" + l.i.VPC,
		Summary:  fmt.Sprintf("the VPC %s has %s off, %s", l.i.VPC, attribute, consequence),
		Evidence: []roll.Evidence{{Source: "VPC " + l.i.VPC, Field: attribute, Observed: "false", Expected: "true"}},
		Fix:      l.aws("ec2", "modify-vpc-attribute", "--vpc-id", l.i.VPC, flag, `{"Value":true}`),
	}
	if d := l.VPC().DHCP; d.Known() {
		c.Evidence = append(c.Evidence, roll.Evidence{Source: "DHCP options " + d.Value.ID, Field: "domain-name-servers", Observed: orElse(strings.Join(d.Value.NameServer, ", "), "none"), Expected: "AmazonProvidedDNS"})
	}
	l.found(c)
}

// byName is how sure a name that does not resolve explains the finding: only of an
// instance that never registered, since a kubelet keeps the connection that it has.
func (l *look) byName(sure bool) roll.Confidence {
	if sure && l.Finding.Kind == roll.Unregistered {
		return roll.Decisive
	}
	return roll.Suggestive
}

// dhcp looks at the resolvers that DHCP hands out (DhcpOptionsWrong). One of one's own
// may forward to Amazon's, which nothing read here tells, so it is a hint; but resolvers
// on the internet answer nobody who has no way there.
// https://docs.aws.amazon.com/vpc/latest/userguide/DHCPOptionSetConcepts.html
func (l *look) dhcp() {
	const code = cause.DhcpOptionsWrong
	f := l.VPC().DHCP
	switch {
	case l.speaking():
		l.s.RuledOut(code)
	case f.State == evidence.Absent && isXen(l.i.Type):
		l.wrongDHCP("none", fmt.Sprintf("the VPC %s has no DHCP options, so that an instance of type %s gets no name server", l.i.VPC, l.i.Type), false)
	case f.State == evidence.Absent:
		l.s.RuledOut(code) // Nitro instances get Amazon's resolver
	case !f.Known():
		l.s.NotChecked(f.Missing("the DHCP options of "+l.i.VPC), code)
	case !amazonDNS(f):
		servers := strings.Join(f.Value.NameServer, ", ")
		l.wrongDHCP(orElse(servers, "none"), fmt.Sprintf("the DHCP options of %s hand out %s in place of Amazon's resolver, which alone knows the names of the VPC", l.i.VPC, orElse(servers, "no name server")), l.lost(f.Value.NameServer))
	case len(strings.Fields(f.Value.DomainName)) != 1:
		l.wrongDomain(f.Value)
	default:
		l.s.RuledOut(code)
	}
}

// lost: all resolvers are on the internet, to which there is certainly no way.
func (l *look) lost(servers []string) bool {
	if len(servers) == 0 {
		return false
	}
	for _, s := range servers {
		p, ok := parsePrefix(s)
		if !ok || isIPv6(p) || len(internet4.within(p)) == 0 {
			return false
		}
	}
	return l.out(false).state == closed
}

func (l *look) wrongDHCP(observed, summary string, sure bool) {
	l.dhcpCause(roll.Evidence{Field: "domain-name-servers", Observed: observed, Expected: "AmazonProvidedDNS, or resolvers that forward to it"}, summary, sure)
}

// wrongDomain: without a domain name an instance has no private DNS name to register
// with, and not every system reads several names as several.
// https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#worker-node-fail
// https://github.com/awslabs/amazon-eks-ami/issues/1263
func (l *look) wrongDomain(d evidence.DHCPOptions) {
	summary := fmt.Sprintf("the DHCP options of %s name no domain, which a node's private DNS name needs", l.i.VPC)
	if d.DomainName != "" {
		summary = fmt.Sprintf("the DHCP options of %s name several domains (%s), which not every system takes for several", l.i.VPC, d.DomainName)
	}
	l.dhcpCause(roll.Evidence{Field: "domain-name", Observed: orElse(d.DomainName, "none"), Expected: l.domain()}, summary, false)
}

func (l *look) dhcpCause(e roll.Evidence, summary string, sure bool) {
	e.Source = strings.TrimSpace("DHCP options " + l.VPC().DHCP.Value.ID)
	l.found(roll.Cause{
		Code: cause.DhcpOptionsWrong, Confidence: l.byName(sure), Subject: "vpc/" + l.i.VPC, Summary: summary, Evidence: []roll.Evidence{e},
		Fix: paste.Lines(
			"# or let your own resolvers forward to Amazon's; instances ask for new options when they renew their lease, or when they boot",
			"DHCP_OPTIONS=$("+l.aws("ec2", "create-dhcp-options", "--dhcp-configurations", "Key=domain-name-servers,Values=AmazonProvidedDNS", "Key=domain-name,Values="+l.domain(),
				"--query", "DhcpOptions.DhcpOptionsId", "--output", "text")+")",
			l.aws("ec2", "associate-dhcp-options", "--dhcp-options-id", "$DHCP_OPTIONS", "--vpc-id", l.i.VPC)),
	})
}

// domain is the region's own domain name.
// https://docs.aws.amazon.com/vpc/latest/userguide/DHCPOptionSetConcepts.html
func (l *look) domain() string {
	if l.Region == "us-east-1" {
		return "ec2.internal"
	}
	return l.Region + ".compute.internal"
}

// xen are the families of instances that are not on the Nitro system.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-nitro-instances.html
var xen = strings.Fields("t1 t2 m1 m2 m3 m4 c1 c3 c4 r3 r4 x1 x1e d2 h1 i2 i3 g2 g3 g3s p2 p3 f1")

func isXen(kind string) bool {
	family, _, _ := strings.Cut(kind, ".")
	return slices.Contains(xen, family) && !strings.HasSuffix(kind, ".metal")
}
