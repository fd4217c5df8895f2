package network_test

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/network"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

const hour = time.Hour

func TestApiEndpointUnreachable(t *testing.T) {
	const code = cause.ApiEndpointUnreachable
	shut := do(publicOnly(), routes()) // without a way out
	blackholed := evidence.Route{Destination: "0.0.0.0/0", Target: natID, Blackhole: true}
	outside := do(routes(to("0.0.0.0/0", gatewayID)), func(w *world) { w.config.PublicIP = "203.0.113.9" })
	closes := func(mode string) func(*world) {
		return func(w *world) {
			s := w.Network.Subnets[nodeSubnet].Value
			s.InternetBlock = mode
			w.Network.Subnets[nodeSubnet] = evidence.Read(s)
		}
	}
	ipv6Only := do(six("0123456789ABCDEF.eks-cluster.eu-west-1.api.aws"), publicOnly())
	run(t, []scenario{
		{
			name: "no route", change: shut, decisive: codes(code),
			says: []string{"no route out of the VPC", "[route-table/" + nodeTable + "]", "aws ec2 create-route --route-table-id " + nodeTable, `'{"endpointPrivateAccess":true}'`, "--region eu-west-1"},
		},
		{name: "a blackhole", change: do(publicOnly(), routes(blackholed)), decisive: codes(code), says: []string{"state blackhole", "replace-route"}},
		{name: "an internet gateway that is gone", change: do(publicOnly(), routes(evidence.Route{Destination: "0.0.0.0/0", Target: gatewayID, Blackhole: true})), decisive: codes(code),
			says: []string{"state blackhole", "--gateway-id \"$INTERNET_GATEWAY\""}},
		{
			name: "an internet gateway and no public address", change: do(publicOnly(), routes(to("0.0.0.0/0", gatewayID))), decisive: codes(code),
			says: []string{"PublicIpAddress", "--map-public-ip-on-launch"},
		},
		{name: "an internet gateway and a public address", change: do(publicOnly(), routes(to("0.0.0.0/0", gatewayID)), func(w *world) { w.config.PublicIP = "203.0.113.9" }), clear: codes(code)},
		{
			name: "a NAT gateway that failed", change: do(publicOnly(), nat(func(n *evidence.NATGateway) { n.State = "failed" })), decisive: codes(code),
			says: []string{"NAT gateway " + natID, "state failed"},
		},
		{name: "a NAT gateway that is gone",
			change: do(publicOnly(), func(w *world) { w.Network.NATGateways[natID] = evidence.None[evidence.NATGateway]() }), decisive: codes(code), says: []string{"no such NAT gateway"}},
		{name: "a NAT gateway of the account that shares the subnet", change: do(publicOnly(), shared), open: codes(code)},
		{name: "no route in a subnet that another account shares", change: do(shut, shared), decisive: codes(code)},
		{name: "a NAT gateway being made", change: do(publicOnly(), nat(func(n *evidence.NATGateway) { n.State = "pending" })), open: codes(code)},
		{name: "a NAT gateway being deleted may still pass", change: do(publicOnly(), nat(func(n *evidence.NATGateway) { n.State = "deleting" })), open: codes(code)},
		{
			name: "a NAT gateway in a subnet without a way out", change: do(publicOnly(), func(w *world) { w.Network.RouteTables[natSubnet] = table(natTable) }), decisive: codes(code),
			says: []string{"[route-table/" + natTable + "]", "describe-internet-gateways", "--gateway-id \"$INTERNET_GATEWAY\""},
		},
		{
			name: "a NAT gateway in a subnet that is routed to itself", change: func(w *world) {
				publicOnly()(w)
				w.Network.RouteTables[natSubnet] = table(natTable, to("0.0.0.0/0", natID))
			}, decisive: codes(code),
			says: []string{"in a circle", "[route-table/" + natTable + "]", "create-nat-gateway", "replace-route --route-table-id " + nodeTable},
		},
		{name: "a NAT gateway in a subnet that is routed to another one without a way out",
			change: do(publicOnly(), secondNAT(table("rtb-0a1b2c3d4e5f60302"))), decisive: codes(code), says: []string{"create-route --route-table-id rtb-0a1b2c3d4e5f60302"}},
		{name: "a NAT gateway in a subnet that is routed to another one", change: do(publicOnly(), secondNAT(table("rtb-0a1b2c3d4e5f60302", to("0.0.0.0/0", gatewayID)))), open: codes(code)},
		{
			name: "a NAT gateway in a subnet whose route leads nowhere", change: func(w *world) {
				publicOnly()(w)
				w.Network.RouteTables[natSubnet] = table(natTable, evidence.Route{Destination: "0.0.0.0/0", Target: gatewayID, Blackhole: true})
			}, decisive: codes(code), says: []string{"replace-route --route-table-id " + natTable},
		},
		{name: "a NAT gateway whose subnet was not asked for", change: do(publicOnly(), func(w *world) { delete(w.Network.RouteTables, natSubnet) }), clear: codes(code)},
		{name: "a NAT gateway whose subnet could not be read",
			change: do(publicOnly(), func(w *world) {
				w.Network.RouteTables[natSubnet] = evidence.Failed[evidence.RouteTable]("ec2:DescribeRouteTables: no")
			}), open: codes(code)},
		{name: "no way out, and an image of one's own, which may have a proxy", change: do(shut, ownImage), hint: codes(code)},
		{name: "no way out, and a copy of an image of EKS", change: do(shut, func(w *world) { w.image.EKS = false }), decisive: codes(code)},
		{name: "no way out, and an image of one's own that connects by itself", change: do(shut, ownImage, consoleShows(console.EndpointUnreachable, host)), decisive: codes(code)},
		{name: "a regional NAT gateway, which is in no subnet", change: do(publicOnly(), nat(func(n *evidence.NATGateway) { n.Subnet, n.Regional = "", true })), clear: codes(code)},
		{name: "a NAT gateway of which the subnet is missing", change: do(publicOnly(), nat(func(n *evidence.NATGateway) { n.Subnet = "" })), open: codes(code)},
		{name: "a private NAT gateway", change: do(publicOnly(), nat(func(n *evidence.NATGateway) { n.Private = true })), open: codes(code)},
		{name: "a transit gateway", change: do(publicOnly(), routes(to("0.0.0.0/0", "tgw-0a1b2c3d"))), open: codes(code), says: []string{"tgw-0a1b2c3d"}},
		{name: "a firewall's endpoint", change: do(publicOnly(), routes(to("0.0.0.0/0", "vpce-0a1b2c3d"))), open: codes(code)},
		{name: "a NAT instance", change: do(publicOnly(), routes(to("0.0.0.0/0", "eni-0a1b2c3d"))), open: codes(code)},
		{name: "a virtual private gateway", change: do(publicOnly(), routes(to("0.0.0.0/0", "vgw-0a1b2c3d"))), open: codes(code)},
		{name: "halves that go elsewhere than the default", change: do(publicOnly(), routes(blackholed, to("0.0.0.0/1", "tgw-0a1b2c3d"), to("128.0.0.0/1", "tgw-0a1b2c3d"))), open: codes(code)},
		{name: "a company's own prefix beside a blackhole", change: do(publicOnly(), routes(blackholed, to("203.0.113.0/24", "tgw-0a1b2c3d"))), open: codes(code)},
		{name: "a private prefix beside a blackhole", change: do(publicOnly(), routes(blackholed, to("172.16.0.0/12", "tgw-0a1b2c3d"))), decisive: codes(code)},
		{name: "a company's own prefix beside a NAT gateway", change: do(publicOnly(), routes(to("0.0.0.0/0", natID), to("203.0.113.0/24", "tgw-0a1b2c3d"))), clear: codes(code)},
		{name: "S3's gateway endpoint is no way to EKS", change: do(publicOnly(), endpoints(nil, "s3"), routes(to("pl-6da54004", "vpce-0a1b2c3d4e5f6-s3"))), decisive: codes(code)},
		{name: "a prefix list to something that was not read", change: do(publicOnly(), routes(to("pl-6da54004", "vpce-0a1b2c3d4e5f6-other"))), open: codes(code)},
		{
			name: "an internet gateway that VPC Block Public Access closes, unless it excludes the subnet", change: do(publicOnly(), outside, closes("block-ingress")), hint: codes(code),
			says: []string{"[subnet/" + nodeSubnet + "]", "BlockPublicAccessStates.InternetGatewayBlockMode: block-ingress", "describe-vpc-block-public-access-exclusions",
				"create-vpc-block-public-access-exclusion --subnet-id " + nodeSubnet + " --internet-gateway-exclusion-mode allow-bidirectional"},
		},
		{name: "an internet gateway, where Block Public Access is off", change: do(publicOnly(), outside, closes("off")), clear: codes(code)},
		{name: "an internet gateway, of a subnet that could not be read", change: do(publicOnly(), outside, func(w *world) {
			w.Network.Subnets[nodeSubnet] = evidence.Failed[evidence.Subnet]("ec2:DescribeSubnets: no")
		}), open: codes(code)},
		{name: "an internet gateway and no public address, where Block Public Access closes it too", change: do(publicOnly(), routes(to("0.0.0.0/0", gatewayID)), closes("block-ingress")), decisive: codes(code)},
		{name: "a NAT gateway, where Block Public Access closes ways in alone", change: do(publicOnly(), closes("block-ingress")), clear: codes(code)},
		{name: "a NAT gateway, where Block Public Access closes all ways", change: do(publicOnly(), closes("block-bidirectional")), hint: codes(code), says: []string{"--internet-gateway-exclusion-mode allow-egress"}},
		{name: "a transit gateway, where Block Public Access closes all ways of this VPC", change: do(publicOnly(), routes(to("0.0.0.0/0", "tgw-0a1b2c3d")), closes("block-bidirectional")), open: codes(code)},
		{name: "an egress-only gateway, where Block Public Access closes all ways", change: do(ipv6Only, routes(to("::/0", "eigw-0a1b2c3d")), closes("block-bidirectional")), hint: codes(code)},
		{name: "an egress-only gateway, where Block Public Access closes ways in alone", change: do(ipv6Only, routes(to("::/0", "eigw-0a1b2c3d")), closes("block-ingress")), clear: codes(code)},
		{name: "an internet gateway for IPv6 that Block Public Access closes", change: do(ipv6Only, routes(to("::/0", gatewayID)), closes("block-ingress")), hint: codes(code)},
		{name: "private access does not go by the internet gateway", change: do(outside, closes("block-ingress")), clear: codes(code), open: codes(cause.VpcEndpointMissing)},
		{name: "private access needs no route", change: do(routes(), privateOnly, endpoints(nil, "ec2", "sts")), clear: codes(code, cause.VpcEndpointMissing)},
		{name: "a proxy", change: do(shut, proxied), open: codes(code), says: []string{"a proxy"}},
		{name: "user data that was not read may set one", change: do(shut, unread), hint: codes(code)},
		{name: "user data that fetches a script may set one", change: do(shut, func(w *world) { w.boot.Fetches = []userdata.Fetch{{Name: "setup.sh"}} }), hint: codes(code)},
		{name: "user data of which a part was not followed may set one", change: do(shut, func(w *world) { w.boot.Faults = []userdata.Fault{{Effect: userdata.Unread}} }), hint: codes(code)},
		{name: "EKS's own sets none", change: do(shut, unread, inGroup(evidence.NodeGroup{Name: "workers"})), decisive: codes(code)},
		{name: "Karpenter's own sets none", change: do(shut, unread, ofClass(evidence.NodeClass{AMIAlias: "al2023@latest"})), decisive: codes(code)},
		{name: "an EC2NodeClass with user data of its own may", change: do(shut, unread, ofClass(evidence.NodeClass{AMIAlias: "al2023@latest", UserData: true})), hint: codes(code)},
		{name: "Karpenter's own of a family sets none", change: do(shut, unread, ofClass(evidence.NodeClass{AMIFamily: "AL2023"})), decisive: codes(code)},
		{name: "an EC2NodeClass that names neither family nor alias may", change: do(shut, unread, ofClass(evidence.NodeClass{Role: "node"})), hint: codes(code)},
		{name: "an EC2NodeClass that could not be read may",
			change: do(shut, unread, func(w *world) { w.group.NodeClass = evidence.Failed[evidence.NodeClass]("no") }), hint: codes(code)},
		{name: "an image that EKS picks has none, whatever it is called", change: do(shut, ownImage, inGroup(evidence.NodeGroup{Name: "workers", AMIType: "AL2023_x86_64_STANDARD"})), decisive: codes(code)},
		{name: "an image of one's own in a node group may have one", change: do(shut, ownImage, inGroup(evidence.NodeGroup{Name: "workers", AMIType: "CUSTOM"})), hint: codes(code)},
		{name: "an image of a node group whose AMI type is missing may have one", change: do(shut, ownImage, inGroup(evidence.NodeGroup{Name: "workers"})), hint: codes(code)},
		{name: "an image that Karpenter picks by an alias has none", change: do(shut, ownImage, ofClass(evidence.NodeClass{AMIAlias: "al2023@latest"})), decisive: codes(code)},
		{name: "an image that an EC2NodeClass names otherwise may have one", change: do(shut, ownImage, ofClass(evidence.NodeClass{AMIFamily: "AL2023"})), hint: codes(code)},
		{name: "an EC2NodeClass for an AMI of one's own may", change: do(shut, unread, ofClass(evidence.NodeClass{AMIFamily: "Custom"})), hint: codes(code)},
		{name: "a launch template of one's own may", change: do(shut, unread, inGroup(evidence.NodeGroup{Name: "workers", LaunchTemplate: template})), hint: codes(code)},
		{name: "the launch template of an instance that was not asked sets one", change: do(sampled(""), ofTemplate("3", true)), open: codes(code), says: []string{"a proxy"}},
		{name: "the launch template of an instance that was not asked sets none", change: do(sampled(""), ofTemplate("3", false)), decisive: codes(code)},
		{name: "another version of the launch template shows nothing", change: do(sampled(""), ofTemplate("2", false)), hint: codes(code)},
		{name: "another instance of the launch template sets one", change: sampled("3"), open: codes(code), says: []string{"a proxy"}},
		{name: "another instance of another group shows nothing", change: do(sampled("3"), func(w *world) {
			i := w.Instances["i-0fedcba9876543210"]
			i.Config.Value.Group = roll.NodeGroupGroup("others")
			w.Instances["i-0fedcba9876543210"] = i
		}), hint: codes(code)},
		{name: "another instance of another version shows nothing", change: sampled("2"), hint: codes(code)},
		{name: "another instance without a launch template shows nothing",
			change: do(func(w *world) { w.config.LaunchTemplate, w.config.LaunchTemplateVersion = "", "" }, sampled("")), hint: codes(code)},
		{name: "user data that could not be read is not guessed from another instance", change: do(sampled("3"), unread), hint: codes(code)},
		{name: "the console saw the API server dialed itself", change: do(shut, unread, consoleShows(console.EndpointUnreachable, host)), decisive: codes(code)},
		{name: "no user data sets none", change: do(shut, func(w *world) { w.instance(func(i *evidence.Instance) { i.UserData = evidence.None[userdata.Boot]() }) }), decisive: codes(code)},
		{
			name: "another instance of the same template shows the user data", change: func(w *world) {
				shut(w)
				w.instance(func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot]("3 of a group are read") })
				w.Instances["i-0fedcba9876543210"] = evidence.Instance{Config: evidence.Read(w.config), UserData: evidence.Read(w.boot)}
			}, decisive: codes(code),
		},
		{
			name: "an instance of another template does not", change: func(w *world) {
				shut(w)
				w.instance(func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot]("3 of a group are read") })
				other := w.config
				other.LaunchTemplateVersion = "4"
				w.Instances["i-0fedcba9876543210"] = evidence.Instance{Config: evidence.Read(other), UserData: evidence.Read(w.boot)}
			}, hint: codes(code),
		},
		{
			name: "the template itself shows it", change: func(w *world) {
				shut(w)
				w.instance(func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot]("3 of a group are read") })
				w.Templates = map[string]evidence.Fact[evidence.LaunchTemplate]{template + ":3": evidence.Read(evidence.LaunchTemplate{UserData: evidence.Read(w.boot)})}
			}, decisive: codes(code),
		},
		{
			name: "routes that could not be read", change: func(w *world) {
				publicOnly()(w)
				w.Network.RouteTables[nodeSubnet] = evidence.Failed[evidence.RouteTable]("ec2:DescribeRouteTables: no permission")
			}, open: codes(code), says: []string{"no permission"},
		},
		{
			name: "the console saw it", change: do(shut, consoleShows(console.EndpointUnreachable, host)), decisive: codes(code),
			says: []string{"console line 7: dial tcp: i/o timeout"},
		},
		{name: "a node that fell silent when the NAT gateway went",
			change: do(kind(roll.Unknown, hour), publicOnly(), routes(blackholed)), decisive: codes(code), says: []string{"lease spec.renewTime"}},
		{name: "a silent node whose lease was not read",
			change: do(kind(roll.Unknown, hour), func(w *world) { w.node.Lease = evidence.Failed[evidence.Lease]("no") }, publicOnly(), routes(blackholed)), hint: codes(code)},
		{name: "a node that never reported",
			change: do(kind(roll.Uninitialized, hour), func(w *world) { w.node.Lease = evidence.None[evidence.Lease]() }, publicOnly(), routes(blackholed)), decisive: codes(code)},
	})
}

func TestApiEndpointUnreachableByIPv6(t *testing.T) {
	const code = cause.ApiEndpointUnreachable
	const dual, old = "0123456789ABCDEF.eks-cluster.eu-west-1.api.aws", host
	run(t, []scenario{
		{name: "an egress-only gateway to a dual-stack endpoint", change: do(six(dual), publicOnly(), routes(to("::/0", "eigw-0a1b2c3d"))), clear: codes(code)},
		{name: "an internet gateway needs no public IPv4 address", change: do(six(dual), publicOnly(), routes(to("0.0.0.0/0", gatewayID), to("::/0", gatewayID))), clear: codes(code)},
		{name: "an endpoint that has IPv4 alone", change: do(six(old), publicOnly(), routes(to("::/0", "eigw-0a1b2c3d"))), decisive: codes(code)},
		{name: "an endpoint in China, whose name does not tell",
			change: do(six("0123456789ABCDEF.eks-cluster.cn-north-1.api.amazonwebservices.com.cn"), publicOnly(), routes(to("::/0", "eigw-0a1b2c3d"))), open: codes(code)},
		{name: "no route by either", change: do(six(dual), publicOnly(), routes()), decisive: codes(code)},
		{name: "a node without an IPv6 address", change: do(six(dual), func(w *world) { w.config.IPv6 = false }, publicOnly(), routes(to("::/0", "eigw-0a1b2c3d"))), decisive: codes(code)},
		{name: "an endpoint that has IPv4 alone, and NAT64",
			change: do(six(old), publicOnly(), routes(to("::/0", "eigw-0a1b2c3d"), to("64:ff9b::/96", natID))), open: codes(code), says: []string{"64:ff9b::/96 is routed to " + natID}},
		{name: "NAT64 of a NAT gateway that could not be read", change: func(w *world) {
			six(old)(w)
			publicOnly()(w)
			w.Network.NATGateways[natID] = evidence.Failed[evidence.NATGateway]("ec2:DescribeNatGateways: no")
			routes(to("64:ff9b::/96", natID))(w)
		}, open: codes(code), says: []string{"ec2:DescribeNatGateways: no"}},
		{name: "an endpoint that is missing in the answer",
			change: do(six(""), publicOnly(), routes(to("::/0", "eigw-0a1b2c3d"))), open: codes(code), says: []string{evidence.AnswerOf + "eks:DescribeCluster lacks the endpoint"}},
		{name: "NAT64 of a transit gateway", change: do(six(old), publicOnly(), routes(to("::/0", "tgw-0a1b2c3d"))), open: codes(code)},
		{name: "NAT64 in an IPv4 cluster", change: do(addressed6, publicOnly(), routes(to("64:ff9b::/96", natID))), open: codes(code)},
		{name: "NAT64 of a NAT gateway that is gone",
			change: do(six(old), publicOnly(), nat(func(n *evidence.NATGateway) { n.State = "deleted" }), routes(to("::/0", "eigw-0a1b2c3d"), to("64:ff9b::/96", natID))), decisive: codes(code)},
		{name: "NAT64 through a route that is gone",
			change: do(six(old), publicOnly(), routes(to("::/0", "tgw-0a1b2c3d"), evidence.Route{Destination: "64:ff9b::/96", Target: natID, Blackhole: true})), decisive: codes(code)},
		{name: "NAT64, and no IPv6 address", change: do(publicOnly(), routes(to("64:ff9b::/96", natID))), decisive: codes(code)},
		{name: "an IPv4 cluster in a subnet with IPv6", change: do(addressed6, publicOnly(), routes(to("::/0", "eigw-0a1b2c3d"))), decisive: codes(code)},
	})
}

func TestPublicAccessCidrBlocked(t *testing.T) {
	const code = cause.PublicAccessCidrBlocked
	run(t, []scenario{
		{
			name: "the NAT gateway's address is not in the list", change: publicOnly("203.0.113.0/24"), decisive: codes(code),
			says: []string{"[cluster/payments]", natAddress, natID, `'{"endpointPrivateAccess":true}'`, `"publicAccessCidrs":["203.0.113.0/24","198.51.100.11/32"]`},
		},
		{name: "an image of one's own, which may have a proxy", change: do(publicOnly("203.0.113.0/24"), ownImage), hint: codes(code)},
		{name: "such an image that the node group's type rules out",
			change: do(publicOnly("203.0.113.0/24"), ownImage, inGroup(evidence.NodeGroup{AMIType: "AL2023_x86_64_STANDARD", LaunchTemplate: template})), decisive: codes(code)},
		{name: "it is", change: publicOnly("203.0.113.0/24", "198.51.100.0/28"), clear: codes(code)},
		{name: "all may", change: publicOnly("0.0.0.0/0"), clear: codes(code)},
		{name: "halves of all", change: publicOnly("0.0.0.0/1", "128.0.0.0/1"), clear: codes(code)},
		{name: "a list that is not told", change: do(publicOnly(), func(w *world) { w.cluster.PublicCIDRs = nil }), open: codes(code)},
		{name: "private access", change: func(w *world) { w.cluster.PublicCIDRs = []string{"203.0.113.0/24"} }, clear: codes(code)},
		{
			name: "the instance's own address", change: func(w *world) {
				publicOnly("198.51.100.0/24")(w)
				routes(to("0.0.0.0/0", gatewayID))(w)
				w.config.PublicIP = "203.0.113.9"
			}, decisive: codes(code), says: []string{"203.0.113.9, the public address of the instance itself"},
		},
		{name: "one of several addresses", change: do(publicOnly("198.51.100.11/32"), nat(func(n *evidence.NATGateway) { n.PublicIPs = append(n.PublicIPs, "198.51.100.99") })), hint: codes(code)},
		{name: "through a transit gateway", change: do(publicOnly("203.0.113.0/24"), routes(to("0.0.0.0/0", "tgw-0a1b2c3d"))), open: codes(code)},
		{name: "no way out at all", change: do(publicOnly("203.0.113.0/24"), routes()), decisive: codes(cause.ApiEndpointUnreachable), open: codes(code)},
		{name: "a proxy's address is not known", change: do(publicOnly("203.0.113.0/24"), proxied), open: codes(code)},
		{
			name: "a NAT gateway that could not be read", change: func(w *world) {
				publicOnly("203.0.113.0/24")(w)
				w.Network.NATGateways[natID] = evidence.Failed[evidence.NATGateway]("ec2:DescribeNatGateways: no")
			}, open: codes(code, cause.ApiEndpointUnreachable), says: []string{"ec2:DescribeNatGateways: no"},
		},
		{
			name: "IPv6 may be admitted", change: do(six("0123456789ABCDEF.eks-cluster.eu-west-1.api.aws"), publicOnly("203.0.113.0/24", "2001:db8::/32"), routes(to("0.0.0.0/0", natID), to("::/0", "eigw-0a1b2c3d"))), open: codes(code),
		},
		{
			name: "packets may come from another NAT gateway, by NAT64", change: func(w *world) {
				six(host)(w)
				publicOnly("203.0.113.0/24")(w)
				w.Network.NATGateways["nat-0b"] = evidence.Read(evidence.NATGateway{ID: "nat-0b", State: "available", PublicIPs: []string{"203.0.113.9"}})
				routes(to("0.0.0.0/0", natID), to("64:ff9b::/96", "nat-0b"))(w)
			}, hint: codes(code),
		},
		{name: "NAT64 by the same NAT gateway", change: do(six(host), publicOnly("203.0.113.0/24"), routes(to("0.0.0.0/0", natID), to("64:ff9b::/96", natID))), decisive: codes(code)},
		{name: "IPv6 is not admitted either",
			change: do(six("0123456789ABCDEF.eks-cluster.eu-west-1.api.aws"), publicOnly("203.0.113.0/24"), routes(to("0.0.0.0/0", natID), to("::/0", "eigw-0a1b2c3d"))), decisive: codes(code)},
	})
}

// What the groups let out by IPv6 may be translated to the API server's IPv4 addresses.
func TestSecurityGroupsBesideNAT64(t *testing.T) {
	const code = cause.SecurityGroupBlocksApi
	beside := func(all ...evidence.Route) func(*world) {
		return do(six(host), publicOnly(), egress(tcp(443, 443, "::/0")), routes(all...))
	}
	run(t, []scenario{
		{name: "without NAT64", change: beside(to("0.0.0.0/0", natID)), decisive: codes(code)},
		{name: "with NAT64", change: beside(to("0.0.0.0/0", natID), to("64:ff9b::/96", natID)), open: codes(code)},
	})
}

func TestSecurityGroupBlocksApi(t *testing.T) {
	const code = cause.SecurityGroupBlocksApi
	dns := []evidence.Permission{{Protocol: "udp", From: 53, To: 53, CIDRs: []string{"0.0.0.0/0"}}, tcp(53, 53, "0.0.0.0/0")}
	run(t, []scenario{
		{
			name: "no HTTPS out", change: egress(dns...), decisive: codes(code), open: codes(cause.VpcEndpointMissing),
			says: []string{"[security-group/" + nodeGroup + "]", "udp 53 0.0.0.0/0; tcp 53 0.0.0.0/0", "authorize-security-group-egress --group-id " + nodeGroup, apiGroup},
		},
		{name: "nothing out", change: egress(), decisive: codes(code), says: []string{"no rule"}},
		{
			name: "not in", change: ingress(member(10250, nodeGroup)), decisive: codes(code),
			says: []string{"[security-group/" + apiGroup + "]", "authorize-security-group-ingress --group-id " + apiGroup + " --protocol tcp --port 443 --source-group " + nodeGroup},
		},
		{name: "in from an address block", change: ingress(tcp(443, 443, "10.0.0.0/16")), clear: codes(code)},
		{name: "in from another address block", change: ingress(tcp(443, 443, "10.9.0.0/16")), decisive: codes(code)},
		{name: "in from another group", change: ingress(member(443, "sg-0a1b2c3d4e5f69999")), decisive: codes(code)},
		{name: "in from a prefix list",
			change: ingress(evidence.Permission{Protocol: "tcp", From: 443, To: 443, PrefixLists: []string{"pl-0a1b2c3d"}}), open: codes(code), says: []string{"pl-0a1b2c3d"}},
		{
			name: "the node carries the cluster's own group", change: func(w *world) {
				w.config.SecurityGroups = []string{apiGroup}
				ingress(evidence.Permission{Protocol: "-1", AllPorts: true, Groups: []string{apiGroup}})(w)
				g := w.Network.SecurityGroups[apiGroup]
				g.Value.Egress = []evidence.Permission{all("0.0.0.0/0")}
				w.Network.SecurityGroups[apiGroup] = g
			}, clear: codes(code),
		},
		{
			name: "a further group of the cluster lets in", change: func(w *world) {
				w.cluster.SecurityGroups = []string{"sg-0a1b2c3d4e5f60003"}
				ingress()(w)
				w.Network.SecurityGroups["sg-0a1b2c3d4e5f60003"] = evidence.Read(evidence.SecurityGroup{Ingress: []evidence.Permission{member(443, nodeGroup)}})
			}, clear: codes(code),
		},
		{name: "a further group of the cluster that was not read", change: do(func(w *world) { w.cluster.SecurityGroups = []string{"sg-0a1b2c3d4e5f60003"} }, ingress()), open: codes(code)},
		{
			name: "another group of the node lets out", change: func(w *world) {
				w.config.SecurityGroups = []string{nodeGroup, "sg-0a1b2c3d4e5f60003"}
				egress()(w)
				w.Network.SecurityGroups["sg-0a1b2c3d4e5f60003"] = evidence.Read(evidence.SecurityGroup{Egress: []evidence.Permission{member(443, apiGroup)}})
				endpoints(nil, "ec2", "sts")(w)
			}, clear: codes(code, cause.VpcEndpointMissing),
		},
		{name: "out to the cluster's group", change: do(egress(member(443, apiGroup)), endpoints(nil, "ec2", "sts")), clear: codes(code, cause.VpcEndpointMissing)},
		{name: "out to the cluster's subnets", change: do(egress(tcp(443, 443, "10.0.1.0/24"), tcp(0, 65535, "10.0.2.0/24")), endpoints(nil, "ec2", "sts")), clear: codes(code)},
		{name: "out to one of the cluster's subnets", change: do(egress(tcp(443, 443, "10.0.1.0/24")), endpoints(nil, "ec2", "sts")), hint: codes(code)},
		{name: "out to addresses of which some may be the API server's", change: do(egress(tcp(443, 443, "10.0.1.0/24")), func(w *world) { delete(w.Network.Subnets, apiSubnet2) }), open: codes(code)},
		{name: "out to another VPC", change: egress(tcp(443, 443, "10.9.0.0/16")), decisive: codes(code)},
		{name: "a port range without 443", change: egress(tcp(1024, 65535, "0.0.0.0/0")), decisive: codes(code)},
		{name: "UDP 443", change: egress(evidence.Permission{Protocol: "udp", From: 443, To: 443, CIDRs: []string{"0.0.0.0/0"}}), decisive: codes(code)},
		{name: "protocol by number", change: egress(evidence.Permission{Protocol: "6", From: 443, To: 443, CIDRs: []string{"0.0.0.0/0"}}), clear: codes(code)},
		{
			name: "a group that could not be read", change: func(w *world) {
				w.Network.SecurityGroups[nodeGroup] = evidence.Failed[evidence.SecurityGroup]("ec2:DescribeSecurityGroups: no")
			}, open: codes(code), says: []string{"ec2:DescribeSecurityGroups: no"},
		},
		{name: "the name may lead to the public endpoint", change: do(ingress(), company("eu-west-1.compute.internal", "10.20.0.10")), hint: codes(code, cause.DhcpOptionsWrong)},
		{name: "with private access alone it cannot",
			change: do(privateOnly, ingress(), company("eu-west-1.compute.internal", "10.20.0.10")), decisive: codes(code), hint: codes(cause.DhcpOptionsWrong)},
		{name: "wherever the name leads, nothing gets out",
			change: do(egress(), func(w *world) { w.vpc.DHCP = evidence.Failed[evidence.DHCPOptions]("no") }), decisive: codes(code), open: codes(cause.DhcpOptionsWrong)},
		{name: "nothing gets out, and user data may set a proxy", change: do(egress(), unread), hint: codes(code)},
		{name: "the name may lead to the public endpoint, and the groups to it",
			change: do(egress(tcp(443, 443, "203.0.113.0/24")), company("eu-west-1.compute.internal", "10.20.0.10")), hint: codes(code, cause.DhcpOptionsWrong)},
		{name: "without host names the name may lead to the public endpoint", change: do(ingress(), func(w *world) { w.vpc.DNSHostnames = evidence.Read(false) }), hint: codes(cause.DnsDisabled, code)},
		{name: "without a resolver of the VPC's it may, too", change: do(ingress(), func(w *world) { w.vpc.DNSSupport = evidence.Read(false) }), decisive: codes(cause.DnsDisabled), hint: codes(code)},
		{name: "a public endpoint and HTTPS to everybody", change: do(publicOnly(), egress(tcp(443, 443, "0.0.0.0/0"))), clear: codes(code)},
		{
			name: "a public endpoint and HTTPS within the VPC alone", change: do(publicOnly(), egress(tcp(443, 443, "10.0.0.0/16"), member(443, apiGroup))), decisive: codes(code),
			says: []string{"to the internet, the only way to the API server of payments", `"CidrIp":"0.0.0.0/0"`},
		},
		{name: "a public endpoint and HTTPS to somebody", change: do(publicOnly(), egress(tcp(443, 443, "203.0.113.0/24"))), open: codes(code)},
		{name: "a public endpoint and HTTPS to a prefix list",
			change: do(publicOnly(), egress(evidence.Permission{Protocol: "tcp", From: 443, To: 443, PrefixLists: []string{"pl-0a1b2c3d"}})), open: codes(code)},
		{name: "a public endpoint does not ask the cluster's groups", change: do(publicOnly(), ingress()), clear: codes(code)},
		{name: "a proxy", change: do(egress(tcp(3128, 3128, "10.0.0.0/16")), proxied), open: codes(code)},
		{
			name: "IPv6 is a way of its own", change: do(six("0123456789ABCDEF.eks-cluster.eu-west-1.api.aws"), egress(all("::/0")), ingress(all("::/0")), endpoints(nil, "ec2", "sts")), clear: codes(code), open: codes(cause.VpcEndpointMissing),
		},
		{name: "IPv6 rules for an endpoint of IPv4", change: do(six(host), egress(all("::/0"))), decisive: codes(code)},
		{name: "a silent node", change: do(kind(roll.Unknown, hour), egress()), decisive: codes(code)},
		{name: "a node whose lease ran out a moment ago", change: do(kind(roll.Unknown, 70*time.Second), egress()), hint: codes(code)},
	})
}

func TestNaclBlocksApi(t *testing.T) {
	const code = cause.NaclBlocksApi
	const all4 = "0.0.0.0/0"
	in, out := aclRule(100, false, true, "-1", 0, 0, all4), aclRule(100, true, true, "-1", 0, 0, all4)
	within := func(w *world) { w.cluster.Subnets = []string{nodeSubnet, apiSubnet1} }
	run(t, []scenario{
		{
			name: "no HTTPS out", change: acl(nodeSubnet, in, aclRule(100, true, true, "6", 80, 80, all4), aclRule(110, true, true, "6", 1024, 65535, all4), aclRule(32767, true, false, "-1", 0, 0, all4)), decisive: codes(code), open: codes(cause.VpcEndpointMissing),
			says: []string{"[network-acl/" + nodeACL + "]", "no rule allows it", "--egress --rule-number 101 --protocol tcp --port-range From=443,To=443"},
		},
		{
			name: "HTTPS denied", change: acl(nodeSubnet, in, aclRule(90, true, false, "6", 443, 443, all4), out), decisive: codes(code),
			says: []string{"rule 90 denies tcp 443 to 0.0.0.0/0", "--rule-number 89"},
		},
		{name: "HTTPS denied too late", change: acl(nodeSubnet, in, out, aclRule(200, true, false, "6", 443, 443, all4)), clear: codes(code)},
		{name: "rules out of order", change: acl(nodeSubnet, aclRule(200, true, false, "6", 443, 443, all4), out, in), clear: codes(code)},
		{name: "UDP denied", change: acl(nodeSubnet, in, aclRule(90, true, false, "17", 443, 443, all4), out), clear: codes(code)},
		{
			name: "no answers in", change: acl(nodeSubnet, out, aclRule(100, false, true, "6", 443, 443, all4)), decisive: codes(code),
			says: []string{"tcp 32768-60999 in, where the answers come", "--ingress", "--port-range From=1024,To=65535"},
		},
		{name: "answers to the ports that Linux uses", change: acl(nodeSubnet, out, aclRule(100, false, true, "6", 32768, 60999, all4)), clear: codes(code)},
		{name: "answers to a part of them", change: acl(nodeSubnet, out, aclRule(100, false, true, "6", 49152, 65535, all4)), hint: codes(code)},
		{name: "which is what Windows uses",
			change: do(func(w *world) { w.config.Platform = "windows" }, acl(nodeSubnet, out, aclRule(100, false, true, "6", 49152, 65535, all4))), clear: codes(code)},
		{
			name: "within the VPC all may", change: do(acl(nodeSubnet, aclRule(100, false, true, "-1", 0, 0, "10.0.0.0/16"), aclRule(100, true, true, "-1", 0, 0, "10.0.0.0/16")), endpoints(nil, "ec2", "sts")), clear: codes(code, cause.VpcEndpointMissing),
		},
		{name: "the cluster's subnets denied",
			change: acl(nodeSubnet, in, aclRule(80, true, false, "6", 443, 443, "10.0.1.0/24"), aclRule(90, true, false, "6", 443, 443, "10.0.2.0/24"), out), decisive: codes(code)},
		{name: "one of the cluster's subnets denied", change: acl(nodeSubnet, in, aclRule(80, true, false, "6", 443, 443, "10.0.1.0/24"), out), hint: codes(code)},
		{name: "a part denied, and the cluster's subnets not read",
			change: do(acl(nodeSubnet, in, aclRule(80, true, false, "6", 443, 443, "10.0.1.0/24"), out), func(w *world) { delete(w.Network.Subnets, apiSubnet1) }), open: codes(code)},
		{name: "a node in a subnet of the API server, that asks EC2",
			change: do(func(w *world) { w.cluster.Subnets = []string{nodeSubnet, apiSubnet1} }, acl(nodeSubnet, in, aclRule(90, true, false, "6", 443, 443, all4), out)), decisive: codes(code)},
		{name: "a node in a subnet of the API server, that asks EC2 by an endpoint there",
			change: do(within, acl(nodeSubnet, in, aclRule(90, true, false, "6", 443, 443, all4), out), endpoints(func(e *evidence.VPCEndpoint) { e.Subnets = []string{nodeSubnet} }, "ec2")), hint: codes(code)},
		{name: "a node in a subnet of the API server, and an endpoint of STS there",
			change: do(within, acl(nodeSubnet, in, aclRule(90, true, false, "6", 443, 443, all4), out), endpoints(func(e *evidence.VPCEndpoint) { e.Subnets = []string{nodeSubnet} }, "sts")), decisive: codes(code)},
		{name: "a node in a subnet of the API server, and an endpoint of EC2 elsewhere",
			change: do(within, acl(nodeSubnet, in, aclRule(90, true, false, "6", 443, 443, all4), out), endpoints(nil, "ec2")), decisive: codes(code)},
		{name: "a node in a subnet of the API server, to whose other subnet it may not",
			change: do(within, acl(nodeSubnet, in, aclRule(90, true, false, "6", 443, 443, "10.0.1.0/24"), out)), hint: codes(code)},
		{name: "a node in a subnet of the cluster, whose API server is on the internet", change: do(within, publicOnly(), acl(nodeSubnet)), decisive: codes(code)},
		{name: "its own subnet alone, and the cluster's subnets not read", change: do(func(w *world) { delete(w.Network.Subnets, apiSubnet1) },
			acl(nodeSubnet, aclRule(100, false, true, "-1", 0, 0, "10.0.32.0/19"), aclRule(100, true, true, "-1", 0, 0, "10.0.32.0/19"))), open: codes(code)},
		{name: "the name may lead to the public endpoint, to which all may",
			change: do(company("eu-west-1.compute.internal", "10.20.0.10"), acl(nodeSubnet, in, aclRule(80, true, false, "6", 443, 443, "10.0.0.0/16"), out)), hint: codes(code, cause.DhcpOptionsWrong)},
		{name: "wherever the name leads, nothing gets out", change: do(company("eu-west-1.compute.internal", "10.20.0.10"), acl(nodeSubnet)), decisive: codes(code), hint: codes(cause.DhcpOptionsWrong)},
		{
			name: "a node in a subnet of the API server, that need not", change: func(w *world) {
				w.cluster.Subnets = []string{nodeSubnet, apiSubnet1}
				w.boot.Joins[0].InstanceIDName = true
				acl(nodeSubnet, in, aclRule(90, true, false, "6", 443, 443, all4), out)(w)
			}, hint: codes(code),
		},
		{
			name: "a silent node in a subnet of the API server", change: func(w *world) {
				kind(roll.Unknown, hour)(w)
				w.cluster.Subnets = []string{nodeSubnet, apiSubnet1}
				acl(nodeSubnet, in, aclRule(90, true, false, "6", 443, 443, all4), out)(w)
			}, hint: codes(code),
		},
		{
			name: "the API server's own subnets refuse", change: func(w *world) {
				acl(apiSubnet1, out, aclRule(90, false, false, "6", 443, 443, "10.0.32.0/19"), in)(w)
				acl(apiSubnet2, out, aclRule(90, false, false, "6", 443, 443, "10.0.32.0/19"), in)(w)
			}, decisive: codes(code), says: []string{"--ingress --rule-number 89", "10.0.32.21/32"},
		},
		{name: "one of them refuses", change: acl(apiSubnet1, out, aclRule(90, false, false, "6", 443, 443, "10.0.32.0/19"), in), hint: codes(code)},
		{name: "one of them refuses, and the other one some answers", change: do(acl(apiSubnet1, out, aclRule(90, false, false, "6", 443, 443, "10.0.32.0/19"), in),
			acl(apiSubnet2, in, aclRule(100, true, true, "6", 49152, 65535, all4))), hint: codes(code)},
		{name: "they let no answers out",
			change: do(acl(apiSubnet1, in, aclRule(100, true, true, "6", 443, 443, all4)), acl(apiSubnet2, in, aclRule(100, true, true, "6", 443, 443, all4))), decisive: codes(code)},
		{name: "the NAT gateway's subnet refuses", change: do(publicOnly(), acl(natSubnet, out, aclRule(100, false, true, "6", 1024, 65535, all4))), decisive: codes(code)},
		{name: "the NAT gateway gets a part of the answers",
			change: do(publicOnly(), acl(natSubnet, out, aclRule(100, false, true, "6", 443, 443, "10.0.0.0/16"), aclRule(110, false, true, "6", 32768, 60999, all4))), open: codes(code)},
		{name: "to a private endpoint the NAT gateway does not matter", change: acl(natSubnet), clear: codes(code)},
		{
			name: "over the internet", change: do(publicOnly(), acl(nodeSubnet, aclRule(100, false, true, "-1", 0, 0, "10.0.0.0/16"), aclRule(100, true, true, "-1", 0, 0, "10.0.0.0/8"))), decisive: codes(code), says: []string{"over the internet"},
		},
		{
			name: "an ACL that could not be read", change: func(w *world) {
				w.Network.ACLs[nodeSubnet] = evidence.Failed[evidence.ACL]("ec2:DescribeNetworkAcls: no")
			}, open: codes(code), says: []string{"ec2:DescribeNetworkAcls: no"},
		},
		{
			name: "IPv6 passes", change: func(w *world) {
				six("0123456789ABCDEF.eks-cluster.eu-west-1.api.aws")(w)
				publicOnly()(w)
				acl(nodeSubnet, aclRule(101, false, true, "-1", 0, 0, "::/0"), aclRule(101, true, true, "-1", 0, 0, "::/0"))(w)
			}, clear: codes(code),
		},
		{name: "IPv6 does not pass either",
			change: do(six("0123456789ABCDEF.eks-cluster.eu-west-1.api.aws"), publicOnly(), acl(nodeSubnet, aclRule(101, false, true, "-1", 0, 0, "::/0"))), decisive: codes(code)},
		{name: "a proxy", change: do(acl(nodeSubnet), proxied), open: codes(code)},
		{name: "a silent node", change: do(kind(roll.Unknown, hour), acl(nodeSubnet)), decisive: codes(code)},
	})
}

// A healthy node that shares what a cause accuses speaks against it.
func TestAHealthyNodeSpeaksAgainstACause(t *testing.T) {
	const route, group, dns, services = cause.ApiEndpointUnreachable, cause.SecurityGroupBlocksApi, cause.DnsDisabled, cause.VpcEndpointMissing
	shut := do(publicOnly(), routes())
	fellow := func(joined time.Duration, change ...func(*evidence.Member)) func(*world) {
		return func(w *world) {
			m := evidence.Member{
				Instance: "i-00000002", Healthy: true, Described: true, Joined: now.Add(-joined), VPC: vpcID, Subnet: nodeSubnet, SecurityGroups: []string{nodeGroup},
				LaunchTemplate: template, LaunchTemplateVersion: "3", ClusterTags: []string{"payments"},
			}
			for _, c := range change {
				c(&m)
			}
			w.config.Launched, w.group.Members = now.Add(-hour), []evidence.Member{m}
		}
	}
	elsewhere := func(joined time.Duration, vpc string, id roll.InstanceID) func(*world) {
		return func(w *world) {
			w.config.Launched, w.Sound = now.Add(-hour), []evidence.Sound{{VPC: vpc, Latest: id, Joined: now.Add(-joined)}}
		}
	}
	const since, before = time.Minute, 2 * hour
	off := func(w *world) { w.vpc.DNSSupport = evidence.Read(false) }
	untagged := func(kubelet string) func(*world) {
		return func(w *world) {
			w.Finding.Owner, w.config.ClusterTags, w.image.Kubernetes = roll.OwnerAutoScalingGroup, nil, kubelet
		}
	}
	run(t, []scenario{
		{name: "routes, whenever it joined", change: do(shut, fellow(before)), hint: codes(route)},
		{name: "routes of a subnet that is missing", change: do(shut, fellow(before, func(m *evidence.Member) { m.Subnet = "" })), hint: codes(route)},
		{name: "routes of another subnet", change: do(shut, fellow(before, func(m *evidence.Member) { m.Subnet = apiSubnet1 })), decisive: codes(route)},
		{name: "routes, with a public address", change: do(shut, fellow(before, func(m *evidence.Member) { m.Public = true })), decisive: codes(route)},
		{name: "routes, both with a public address", change: do(shut, func(w *world) { w.config.PublicIP = "203.0.113.9" }, fellow(before, func(m *evidence.Member) { m.Public = true })), hint: codes(route)},
		{name: "routes, of another launch template", change: do(shut, fellow(before, func(m *evidence.Member) { m.LaunchTemplate = "lt-0a1b2c3d4e5f60002" })), decisive: codes(route)},
		{name: "routes, of another version of it", change: do(shut, fellow(before, func(m *evidence.Member) { m.LaunchTemplateVersion = "2" })), decisive: codes(route)},
		{name: "an instance that is not described", change: do(shut, fellow(before, func(m *evidence.Member) { m.Described = false })), decisive: codes(route)},
		{name: "a hint at routes", change: do(shut, ownImage, fellow(before)), open: codes(route)},
		{name: "routes, by a node of another group", change: do(shut, elsewhere(since, vpcID, "i-00000003")), decisive: codes(route)},
		{name: "groups, and it joined since", change: do(egress(), fellow(since)), hint: codes(group)},
		{name: "groups, and it joined before", change: do(egress(), fellow(before)), decisive: codes(group)},
		{name: "groups, and it has others", change: do(egress(), fellow(since, func(m *evidence.Member) { m.SecurityGroups = []string{apiGroup} })), decisive: codes(group)},
		{name: "groups, and its are missing", change: do(egress(), fellow(since, func(m *evidence.Member) { m.SecurityGroups = nil })), hint: codes(group)},
		{name: "groups, in another subnet", change: do(egress(), fellow(since, func(m *evidence.Member) { m.Subnet = apiSubnet1 })), decisive: codes(group)},
		{name: "a hint at endpoints, and it joined since", change: do(routes(), endpoints(nil, "ec2"), fellow(since)), open: codes(services)},
		{name: "a hint at endpoints, and it joined before", change: do(routes(), endpoints(nil, "ec2"), fellow(before)), hint: codes(services)},
		{name: "DNS, and it joined since", change: do(off, fellow(since)), hint: codes(dns)},
		{name: "DNS, and it joined before", change: do(off, fellow(before)), decisive: codes(dns)},
		{name: "DNS, by a node of another group that joined since", change: do(off, elsewhere(since, vpcID, "i-00000003")), hint: codes(dns)},
		{name: "DNS, by a node of another group that joined before", change: do(off, elsewhere(before, vpcID, "i-00000003")), decisive: codes(dns)},
		{name: "DNS, by a node of another VPC", change: do(off, elsewhere(since, "vpc-0a1b2c3d4e5f60009", "i-00000003")), decisive: codes(dns)},
		{name: "DNS, by the instance itself", change: do(off, elsewhere(since, vpcID, instanceID)), decisive: codes(dns)},
		{name: "a hint at DNS, whenever it joined", change: do(func(w *world) { w.vpc.DNSHostnames = evidence.Read(false) }, elsewhere(before, vpcID, "i-00000003")), open: codes(dns)},
		{name: "the tag, which a kubelet asks for", change: do(untagged("1.25"), fellow(since, func(m *evidence.Member) { m.ClusterTags = nil })), decisive: codes(cause.ClusterTagMissing)},
		{name: "the tag, which it lacks too", change: do(untagged("1.35"), fellow(before, func(m *evidence.Member) { m.ClusterTags = nil })), open: codes(cause.ClusterTagMissing)},
		{name: "the tag, which it has", change: do(untagged("1.35"), fellow(before)), hint: codes(cause.ClusterTagMissing)},
		{name: "the VPC", change: do(privateOnly, fellow(before, func(m *evidence.Member) { m.VPC = "vpc-0a1b2c3d4e5f60009" }), func(w *world) { w.config.VPC = "vpc-0a1b2c3d4e5f60009" }), hint: codes(cause.WrongVpc)},
		{name: "the VPC, by a node of another group", change: do(privateOnly, elsewhere(before, "vpc-0a1b2c3d4e5f60009", "i-00000003"), func(w *world) { w.config.VPC = "vpc-0a1b2c3d4e5f60009" }), hint: codes(cause.WrongVpc)},
		{name: "the VPC, by a node in that of the cluster", change: do(privateOnly, elsewhere(since, vpcID, "i-00000003"), func(w *world) { w.config.VPC = "vpc-0a1b2c3d4e5f60009" }), decisive: codes(cause.WrongVpc)},
	})
}

// A route table is shared with load balancers, NAT gateways and other instances, which need its route to the internet
// gateway. Who pastes the fix for one instance must not take it from them.
func TestTheFixForAnInstanceWithoutAPublicAddressLeavesTheRouteTable(t *testing.T) {
	w := healthy()
	do(publicOnly(), routes(to("0.0.0.0/0", gatewayID)))(w)
	s := &cause.Sheet{}
	network.Analyze(w.finish(), s)
	for _, c := range s.Causes() {
		expect.That(t, !strings.Contains(c.Fix, "replace-route"), "the fix of %s changes a route:\n%s", c.Code, c.Fix)
		expect.That(t, strings.Contains(c.Fix, "# aws ec2 allocate-address"), "the fix of %s runs an address that costs:\n%s", c.Code, c.Fix)
	}
	expect.That(t, len(s.Causes()) == 1, "%v", s.Causes())
}
