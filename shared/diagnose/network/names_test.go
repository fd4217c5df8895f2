package network_test

import (
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/network"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestDnsDisabled(t *testing.T) {
	const code = cause.DnsDisabled
	support := func(w *world) { w.vpc.DNSSupport = evidence.Read(false) }
	hostnames := func(w *world) { w.vpc.DNSHostnames = evidence.Read(false) }
	own := company("example.com", "10.20.0.10")
	run(t, []scenario{
		{
			name: "no resolver", change: support, decisive: codes(code),
			says: []string{"[vpc/" + vpcID + "]", "aws ec2 modify-vpc-attribute --vpc-id " + vpcID + ` --enable-dns-support '{"Value":true}'`},
		},
		{name: "no resolver, with resolvers of its own", change: do(support, own), hint: codes(code, cause.DhcpOptionsWrong)},
		{
			name: "no resolver, and which ones there are is not known", change: do(support, func(w *world) { w.vpc.DHCP = evidence.Failed[evidence.DHCPOptions]("no") }),
			hint: codes(code), open: codes(cause.DhcpOptionsWrong),
		},
		{name: "no resolver, with the resolver that Nitro sets", change: do(support, func(w *world) { w.vpc.DHCP = evidence.None[evidence.DHCPOptions]() }), decisive: codes(code)},
		{name: "no resolver, with its own address", change: do(support, func(w *world) {
			w.vpc.DHCP = evidence.Read(evidence.DHCPOptions{ID: "dopt-0a1b2c3d", NameServer: []string{"10.0.0.2"}, DomainName: "example.com"})
		}), decisive: codes(code)},
		{name: "no host names, private endpoint, whose addresses are public knowledge", change: do(hostnames, privateOnly), hint: codes(code), says: []string{"--enable-dns-hostnames"}},
		{name: "no host names, and a way to the public endpoint", change: hostnames, hint: codes(code)},
		{name: "no host names, and no way to the public endpoint", change: do(hostnames, routes(), endpoints(nil, "ec2", "sts")), decisive: codes(code)},
		{name: "no host names, and what lies on the way to the public endpoint is not known",
			change: do(hostnames, routes(to("0.0.0.0/0", "tgw-0a1b2c3d"))), hint: codes(code), open: codes(cause.VpcEndpointMissing)},
		{name: "no host names, and the console shows that the endpoint does not answer", change: do(hostnames, consoleShows(console.EndpointUnreachable, host)), decisive: codes(code)},
		{name: "no host names, with resolvers of its own", change: do(hostnames, own), hint: codes(code, cause.DhcpOptionsWrong)},
		{name: "no host names, public endpoint alone", change: do(hostnames, publicOnly()), hint: codes(code)},
		{name: "no host names, public endpoint alone, and no way to it", change: do(hostnames, publicOnly(), routes()), decisive: codes(cause.ApiEndpointUnreachable), hint: codes(code)},
		{name: "no host names, private endpoint alone, and no way to the internet", change: do(hostnames, privateOnly, routes(), endpoints(nil, "ec2", "sts")), hint: codes(code)},
		{name: "no host names, and user data may set a proxy", change: do(hostnames, routes(), endpoints(nil, "ec2", "sts"), unread), hint: codes(code)},
		{name: "a silent node keeps its connection", change: do(support, kind(roll.Unknown, hour)), hint: codes(code)},
		{name: "support not read", change: func(w *world) { w.vpc.DNSSupport = evidence.Failed[bool]("ec2:DescribeVpcAttribute: no") }, open: codes(code), says: []string{"ec2:DescribeVpcAttribute: no"}},
		{name: "host names not read", change: func(w *world) { w.vpc.DNSHostnames = evidence.Fact[bool]{} }, open: codes(code)},
	})
}

func TestDhcpOptionsWrong(t *testing.T) {
	const code = cause.DhcpOptionsWrong
	options := func(domain string, servers ...string) func(*world) {
		return func(w *world) {
			w.vpc.DHCP = evidence.Read(evidence.DHCPOptions{ID: "dopt-0a1b2c3d", NameServer: servers, DomainName: domain})
		}
	}
	run(t, []scenario{
		{name: "resolvers that no route leads to", change: options("example.com", "10.20.0.10", "10.20.1.10"), decisive: codes(code)},
		{name: "such resolvers, and a table that is not known as a whole",
			change: do(options("example.com", "10.20.0.10"), routes(to("0.0.0.0/0", natID), to("pl-0a1b2c3d", "tgw-0a1b2c3d"))), hint: codes(code)},
		{name: "resolvers by way of the NAT gateway's subnet", change: func(w *world) {
			options("example.com", "10.20.0.10")(w)
			w.Network.RouteTables[natSubnet] = table(natTable, to("0.0.0.0/0", gatewayID), to("10.20.0.0/16", "pcx-0a1b2c3d"))
		}, hint: codes(code)},
		{name: "Amazon's by its address", change: options("example.com", "169.254.169.253"), clear: codes(code)},
		{name: "Amazon's by its address, and two domains", change: options("ec2.internal example.com", "169.254.169.253"), hint: codes(code), says: []string{"several domains"}},
		{name: "Amazon's by its address in the VPC", change: options("example.com", "10.0.0.2"), clear: codes(code)},
		{name: "Amazon's by both addresses", change: options("example.com", "10.0.0.2", "169.254.169.253"), clear: codes(code)},
		{name: "Amazon's by its address after another one", change: options("example.com", "10.0.1.53", "10.0.0.2"), hint: codes(code)},
		{name: "the second address of a block that is not the VPC's first", change: options("example.com", "10.0.32.2"), hint: codes(code)},
		{name: "an address of a VPC whose block is not read", change: do(options("example.com", "10.0.0.2"), func(w *world) { w.vpc.CIDR = "" }), hint: codes(code)},
		{name: "Amazon's by its IPv6 address", change: options("example.com", "fd00:ec2::253"), hint: codes(code)},
		{name: "resolvers behind a peering that is gone",
			change: do(options("example.com", "10.20.0.10"), routes(to("0.0.0.0/0", natID), evidence.Route{Destination: "10.20.0.0/16", Target: "pcx-0a1b2c3d", Blackhole: true})), decisive: codes(code)},
		{name: "resolvers by way of a NAT gateway that is routed to itself", change: do(options("example.com", "10.20.0.10"), endpoints(nil, "ec2", "sts"), func(w *world) {
			w.Network.RouteTables[natSubnet] = table(natTable, to("0.0.0.0/0", natID))
		}), hint: codes(code)},
		{name: "resolvers by way of a regional NAT gateway", change: do(options("example.com", "10.20.0.10"), nat(func(n *evidence.NATGateway) { n.Subnet, n.Regional = "", true })), hint: codes(code)},
		{name: "resolvers by way of a NAT gateway of which the subnet is missing", change: do(options("example.com", "10.20.0.10"), nat(func(n *evidence.NATGateway) { n.Subnet = "" })), hint: codes(code), open: codes(cause.VpcEndpointMissing)},
		{name: "no options on bare metal", change: func(w *world) { w.vpc.DHCP = evidence.None[evidence.DHCPOptions](); w.config.Type = "i3.metal" }, clear: codes(code)},
		{name: "resolvers of its own may forward", change: company("example.com", "10.20.0.10", "10.20.1.10"), hint: codes(code), says: []string{"10.20.0.10, 10.20.1.10", "associate-dhcp-options", "Key=domain-name,Values=eu-west-1.compute.internal"}},
		{name: "Amazon's among them", change: options("example.com", "10.20.0.10", "AmazonProvidedDNS"), clear: codes(code)},
		{name: "resolvers on the internet, with a way there", change: options("example.com", "8.8.8.8"), hint: codes(code)},
		{name: "resolvers on the internet, and no way there",
			change: do(options("example.com", "8.8.8.8", "1.1.1.1"), routes(), endpoints(nil, "ec2", "sts")), decisive: codes(code), clear: codes(cause.VpcEndpointMissing)},
		{name: "one of them in the VPC", change: do(options("example.com", "8.8.8.8", "10.0.0.2"), routes(), endpoints(nil, "ec2", "sts")), hint: codes(code)},
		{name: "no resolver", change: options("example.com"), hint: codes(code)},
		{name: "a domain of its own", change: options("corp.example.com", "AmazonProvidedDNS"), clear: codes(code)},
		{name: "no domain", change: options("", "AmazonProvidedDNS"), hint: codes(code)},
		{name: "two domains", change: options("ec2.internal example.com", "AmazonProvidedDNS"), hint: codes(code), says: []string{"several domains"}},
		{name: "no options on Nitro", change: func(w *world) { w.vpc.DHCP = evidence.None[evidence.DHCPOptions]() }, clear: codes(code)},
		{name: "no options on Xen", change: func(w *world) { w.vpc.DHCP = evidence.None[evidence.DHCPOptions](); w.config.Type = "t2.large" }, hint: codes(code)},
		{name: "not read", change: func(w *world) { w.vpc.DHCP = evidence.Failed[evidence.DHCPOptions]("ec2:DescribeDhcpOptions: no") }, open: codes(code), says: []string{"ec2:DescribeDhcpOptions: no"}},
	})
}

func TestWrongVpc(t *testing.T) {
	const code = cause.WrongVpc
	elsewhere := do(func(w *world) { w.config.VPC = "vpc-0a1b2c3d4e5f60009" }, privateOnly)
	run(t, []scenario{
		{
			name: "another VPC", change: elsewhere, decisive: codes(code), open: codes(cause.ApiEndpointUnreachable, cause.SecurityGroupBlocksApi, cause.NaclBlocksApi),
			says: []string{"[vpc/vpc-0a1b2c3d4e5f60009]", "what connects them is not read"},
		},
		{
			name: "Karpenter's", change: func(w *world) {
				elsewhere(w)
				w.Finding.Owner, w.config.NodeClass = roll.OwnerKarpenter, "default"
			}, decisive: codes(code), says: []string{"kubectl patch ec2nodeclass default", `{"id":"` + apiSubnet1 + `"}`, cause.Drift},
		},
		{
			name: "a self-managed group's", change: func(w *world) {
				elsewhere(w)
				w.Finding.Owner, w.config.ASG = roll.OwnerAutoScalingGroup, "edge nodes"
			}, decisive: codes(code), says: []string{"--auto-scaling-group-name 'edge nodes' --vpc-zone-identifier " + apiSubnet1 + "," + apiSubnet2},
		},
		{name: "not told", change: func(w *world) { w.config.VPC = "" }, open: codes(code, cause.DnsDisabled, cause.DhcpOptionsWrong)},
		{name: "of a node it is not asked", change: do(elsewhere, kind(roll.Unknown, hour)), open: codes(cause.ApiEndpointUnreachable)},
	})
}

func TestClusterTagMissing(t *testing.T) {
	const code = cause.ClusterTagMissing
	selfManaged := func(w *world) {
		w.Finding.Owner, w.Finding.Group = roll.OwnerAutoScalingGroup, roll.AutoScalingGroup("edge")
		w.config.ASG, w.config.ClusterTags = "edge", []string{"other"}
	}
	run(t, []scenario{
		{
			name: "a kubelet of today", change: selfManaged, hint: codes(code),
			says: []string{"[asg/edge]", "Key=kubernetes.io/cluster/payments,Value=owned", "PropagateAtLaunch=true"},
		},
		{name: "a kubelet that needs it", change: do(selfManaged, func(w *world) { w.image.Kubernetes = "1.25" }), decisive: codes(code)},
		{name: "the first kubelet that does not", change: do(selfManaged, func(w *world) { w.image.Kubernetes = "1.26" }), hint: codes(code)},
		{name: "an AMI that does not tell", change: do(selfManaged, func(w *world) { w.image.Kubernetes = "" }), hint: codes(code)},
		{name: "Karpenter's", change: do(selfManaged, func(w *world) { w.Finding.Owner = roll.OwnerKarpenter }), hint: codes(code)},
		{name: "a managed node group's", change: do(selfManaged, func(w *world) { w.Finding.Owner = roll.OwnerManagedNodeGroup })},
		{name: "tagged", change: do(selfManaged, func(w *world) { w.config.ClusterTags = []string{"other", "payments"} }), clear: codes(code)},
		{
			name: "the cloud controller finds a node by its provider id, and waits for something else", change: func(w *world) {
				selfManaged(w)
				kind(roll.Uninitialized, 0)(w)
				w.node.Object.Value.Taints = []evidence.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: "NoSchedule"}}
			}, hint: codes(code), says: []string{"node.cloudprovider.kubernetes.io/uninitialized"},
		},
		{name: "another taint", change: func(w *world) {
			selfManaged(w)
			kind(roll.Uninitialized, 0)(w)
			w.node.Object.Value.Taints = []evidence.Taint{{Key: "node.cilium.io/agent-not-ready", Effect: "NoSchedule"}}
		}, hint: codes(code)},
		{name: "of a silent node it is not asked", change: do(selfManaged, kind(roll.Unknown, hour))},
	})
}

func TestMetadataService(t *testing.T) {
	off := func(w *world) { w.config.IMDSDisabled = true }
	one := func(pods ...evidence.Pod) func(*world) {
		return do(func(w *world) { w.config.HopLimit = 1 }, waitsForCNI(roll.NotReady, pods...))
	}
	run(t, []scenario{
		{name: "off", change: off, decisive: codes(cause.ImdsDisabled), says: []string{"[nodegroup/workers]", "aws ec2 modify-instance-metadata-options --instance-id i-0123456789abcdef0 --http-endpoint enabled"}},
		{name: "off, of a silent node", change: do(off, kind(roll.Unknown, hour)), hint: codes(cause.ImdsDisabled)},
		{name: "off, Karpenter's", change: func(w *world) {
			off(w)
			w.Finding.Owner, w.config.NodeClass = roll.OwnerKarpenter, "default"
		}, decisive: codes(cause.ImdsDisabled), says: []string{`'{"spec":{"metadataOptions":{"httpEndpoint":"enabled"}}}'`}},
		{name: "one hop and a pod that asks it", change: one(daemon("ebs-csi-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=ebs-plugin")), hint: codes(cause.ImdsHopLimit)},
		{name: "one hop and a pod that says so", change: one(daemon("agent", "CrashLoopBackOff", "Get http://169.254.169.254/latest/api/token: context deadline exceeded")), hint: codes(cause.ImdsHopLimit)},
		{name: "one hop and a pod that ended", change: one(evidence.Pod{Owner: "Job/x", Terminated: "Error", Message: "EC2MetadataError: failed"}), hint: codes(cause.ImdsHopLimit)},
		{name: "one hop and a pod that is ready again", change: one(evidence.Pod{Owner: "DaemonSet/ebs-csi-node", Terminated: "Error", Ready: true}), clear: codes(cause.ImdsHopLimit)},
		{name: "one hop and a pod that waits for its image", change: one(daemon("ebs-csi-node", "ContainerCreating", "")), clear: codes(cause.ImdsHopLimit)},
		{name: "one hop and a pod that fails otherwise", change: one(daemon("agent", "CrashLoopBackOff", "back-off")), clear: codes(cause.ImdsHopLimit)},
		{name: "one hop and no pod that fails", change: one(), clear: codes(cause.ImdsHopLimit)},
		{name: "two hops", change: do(one(daemon("ebs-csi-node", "CrashLoopBackOff", "")), func(w *world) { w.config.HopLimit = 2 }), clear: codes(cause.ImdsHopLimit)},
		{name: "one hop and pods not read", change: do(one(), func(w *world) { w.node.Pods = evidence.Failed[[]evidence.Pod]("no") }), open: codes(cause.ImdsHopLimit)},
		{name: "not told", change: do(one(), func(w *world) { w.config.HopLimit = 0 }), open: codes(cause.ImdsHopLimit)},
		{name: "one hop does not keep an instance from joining", change: func(w *world) { w.config.HopLimit = 1 }},
	})
}

// The options are those of every machine in the VPC: their other settings stay, and resolvers are only replaced if
// nobody needs the names that they know.
func TestTheFixForDHCPOptionsKeepsWhatIsNotWrong(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(*world)
		runs    string // is run by who pastes the fix, "" for no new options
		offered string // stands there as a comment
	}{
		{"no domain name", company("", "10.20.0.10", "AmazonProvidedDNS"), "Key=domain-name-servers,Values=10.20.0.10,AmazonProvidedDNS", ""},
		{"several domain names, and Amazon's resolver", company("a.example b.example", "AmazonProvidedDNS"), "Key=domain-name-servers,Values=AmazonProvidedDNS", ""},
		{"resolvers of the company", company("example.com", "10.20.0.10"), "", "Key=domain-name-servers,Values=AmazonProvidedDNS"},
	} {
		w := healthy()
		tt.change(w)
		s := &cause.Sheet{}
		network.Analyze(w.finish(), s)
		c, ok := roll.Find(s.Causes(), func(c roll.Cause) bool { return c.Code == cause.DhcpOptionsWrong })
		expect.That(t, ok, "%s: %v", tt.name, s.Causes())
		var runs, offered string
		for line := range strings.Lines(c.Fix) {
			switch {
			case !strings.Contains(line, "create-dhcp-options"):
			case strings.HasPrefix(line, "#"):
				offered = line
			default:
				runs = line
			}
		}
		expect.That(t, strings.Contains(runs, tt.runs) && (tt.runs != "" || runs == ""), "%s: runs %q", tt.name, runs)
		expect.That(t, strings.Contains(offered, tt.offered) && (tt.offered != "" || offered == ""), "%s: offers %q", tt.name, offered)
		expect.That(t, strings.Contains(c.Fix, "# to take it back: aws ec2 associate-dhcp-options --dhcp-options-id dopt-"), "%s: nobody can take it back:\n%s", tt.name, c.Fix)
	}
}
