package generate

import (
	"strings"
	"time"
)

// fellowCases are about healthy instances that share what a cause accuses, and about ways out that only
// look like ways out.
func fellowCases() []Case {
	const (
		docResolvers = "https://docs.aws.amazon.com/vpc/latest/userguide/VPC_DHCP_Options.html"
		docACLs      = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html"
		docNAT       = "https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html"
		docEndpoints = "https://docs.aws.amazon.com/ec2/latest/devguide/ec2-endpoints.html"
		dualStack    = "https://github.com/awslabs/amazon-eks-ami/issues/1506"
		loop         = "nat-0a1b2c3d4e5f60905"
	)
	// shut lets no HTTPS out of the subnet aside.
	shut := func(b *Bundle) *Machine {
		b.aside(route("NatGatewayId", natGateway("a")))
		b.asideRules(aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "6", "allow", 80, 80), aclRule(110, true, "6", "allow", 1024, 65535))
		return b.UnregisteredAside(BatchGroup)
	}
	// fellow adds a healthy node of the same group, launched that long ago.
	fellow := func(b *Bundle, m *Machine, age time.Duration) *Machine {
		other := b.Launch(SickToo, "10.0.41.22", "a", m.Group, age)
		b.Join(other, age-time.Minute)
		return other
	}
	// onlyIPv6 leaves an instance of an IPv6 cluster with a private endpoint in a subnet without a way
	// out by IPv4.
	onlyIPv6 := func(b *Bundle, g Group, change func(string) string) *Machine {
		b.aside(object{"DestinationIpv6CidrBlock": "::/0", "EgressOnlyInternetGatewayId": "eigw-0a1b2c3d4e5f60901", "Origin": "CreateRoute", "State": "active"})
		b.endpoint(false, true)
		b.Cluster["kubernetesNetworkConfig"] = object{"serviceIpv6Cidr": "fd12:3456:789a::/108", "ipFamily": "ipv6"}
		m := b.UnregisteredAside(g)
		b.retext(m, change(UserData(g)))
		for _, i := range b.Instances {
			i["Ipv6Address"] = "2001:db8:10::" + i["InstanceId"].(string)[17:]
		}
		return m
	}
	asIs := func(text string) string { return text }
	return []Case{
		misleading("own-resolvers-with-which-others-work", "The VPC's DHCP options name the company's resolvers. Another node of the group works with them, so they forward; why this one does not join nothing tells.",
			from(docResolvers, docTroubleshooting), func(b *Bundle) *verdict {
				b.resolvers()
				return unregistered(b.Unregistered(Workers), "").misses("DhcpOptionsWrong").saysNot("DHCP")
			}),
		misleading("silent-behind-own-resolvers-with-which-others-work", "A node went silent in such a VPC, of another group than the node that works there. The resolvers are no reason to doubt that its kubelet is silent.",
			from(docResolvers, docNodes), func(b *Bundle) *verdict {
				b.resolvers()
				m := b.joined(BatchGroup, 5*day)
				b.silent(m, 45*time.Minute)
				return finds(m, "Unknown", "KubeletSilent").misses("DhcpOptionsWrong")
			}),
		misleading("own-resolvers-with-which-no-node-works", "The same resolvers, and no other node: whether they forward is not in sight.",
			from(docResolvers, docTroubleshooting), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.resolvers()
				return unregistered(b.Unregistered(Workers), "").suggests("DhcpOptionsWrong")
			}),
		misleading("network-acl-that-another-node-passes", "By the subnet's network ACL no HTTPS gets out. A node of the group in that subnet is Ready, and reports through it: what is captured of the ACL is not the whole truth.",
			from(docACLs), on(shut, func(b *Bundle, m *Machine) *verdict {
				fellow(b, m, 3*time.Hour).moved()
				return unregistered(m, "").suggests("NaclBlocksApi")
			})),
		broken("network-acl-and-a-node-in-another-subnet", "The same ACL. The group's other node is in another subnet, with another ACL, and speaks for nothing.",
			from(docACLs), on(shut, func(b *Bundle, m *Machine) *verdict {
				fellow(b, m, 3*time.Hour)
				return unregistered(m, "NaclBlocksApi")
			})),
		misleading("role-unmapped-with-which-another-has-joined-since", "The role is in no store. Another instance with it joined ten minutes ago, after this one was launched: then it was mapped, and this one did not come either.",
			from(docAccessEntries, repostJoin), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unmap(BatchGroup)
				fellow(b, m, 12*time.Minute)
				return unregistered(m, "").suggests("NodeRoleNotMapped")
			})),
		broken("role-unmapped-with-which-another-joined-before", "The same, and the other instance joined a day before: the mapping was removed since, and its token is good for a while.",
			from(docAccessEntries, repostJoin), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unmap(BatchGroup)
				fellow(b, m, day)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		broken("nat-gateway-in-its-own-private-subnet", "The NAT gateway stands in the very subnet that it is to serve: the default route leads its packets back to it.",
			from(docNAT), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside(route("NatGatewayId", loop))
				b.addGateway(loop, asideSubnet, "198.51.100.95")
				return unregistered(b.UnregisteredAside(BatchGroup), "ApiEndpointUnreachable").says("in a circle")
			}),
		broken("nat-gateway-without-a-route-of-its-own", "The NAT gateway stands in another subnet, from which nothing leads out of the VPC.",
			from(docNAT), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside(route("NatGatewayId", loop))
				const in = "subnet-0a1b2c3d4e5f60905"
				b.addSubnet(in, "a", "10.0.190.0/28", 9)
				b.RouteTables = append(b.RouteTables, table("rtb-0a1b2c3d4e5f60905", []string{in}))
				b.addGateway(loop, in, "198.51.100.95")
				return unregistered(b.UnregisteredAside(BatchGroup), "ApiEndpointUnreachable").says("has no route out of the VPC")
			}),
		misleading("nat-gateway-behind-another-one", "The NAT gateway stands in a private subnet, whose default route leads to another NAT gateway, which has a way out: whether AWS translates twice is not documented.",
			from(docNAT), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside(route("NatGatewayId", loop))
				b.addGateway(loop, subnet("b"), "198.51.100.95")
				return unregistered(b.UnregisteredAside(BatchGroup), "").misses("ApiEndpointUnreachable")
			}),
		misleading("nat-gateway-behind-a-firewall", "The NAT gateway's subnet is routed to an inspection VPC: that may be a way.",
			from(docNAT, "https://docs.aws.amazon.com/vpc/latest/tgw/transit-gateway-nat-igw.html"), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside(route("NatGatewayId", loop))
				const in = "subnet-0a1b2c3d4e5f60905"
				b.addSubnet(in, "a", "10.0.190.0/28", 9)
				b.RouteTables = append(b.RouteTables, table("rtb-0a1b2c3d4e5f60905", []string{in}, route("TransitGatewayId", "tgw-0a1b2c3d4e5f60901")))
				b.addGateway(loop, in, "198.51.100.95")
				return unregistered(b.UnregisteredAside(BatchGroup), "").misses("ApiEndpointUnreachable")
			}),
		broken("ipv6-al2-asks-ec2-by-ipv4", "A cluster of IPv6 with a private endpoint, and a subnet that leads out by IPv6 alone. bootstrap.sh asks EC2 for the instance's name, at the endpoint that has no IPv6.",
			from(docEndpoints, dualStack), func(b *Bundle) *verdict {
				return unregistered(onlyIPv6(b, Reports, asIs), "VpcEndpointMissing").says("IPv6 does not help")
			}),
		broken("ipv6-nodeadm-asks-ec2-by-ipv4", "The same of nodeadm.",
			from(docEndpoints, "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/status.go"), func(b *Bundle) *verdict {
				return unregistered(onlyIPv6(b, BatchGroup, asIs), "VpcEndpointMissing")
			}),
		misleading("ipv6-al2-with-dual-stack-endpoints", "The same, and the user data turns AWS's dual-stack endpoints on.",
			from(docEndpoints, dualStack), func(b *Bundle) *verdict {
				return unregistered(onlyIPv6(b, Reports, func(text string) string {
					return strings.Replace(text, "set -o errexit\n", "set -o errexit\nexport AWS_USE_DUALSTACK_ENDPOINT=true\n", 1)
				}), "").misses("VpcEndpointMissing")
			}),
		misleading("ipv6-nodeadm-that-is-named-by-its-id", "The same of nodeadm, whose feature gate names the node after the instance, so that it asks EC2 for nothing. The role's access entry is for nodes that are named after their address.",
			from(docEndpoints, docNodeadm, nodeadmNames), func(b *Bundle) *verdict {
				return unregistered(onlyIPv6(b, BatchGroup, func(text string) string {
					return strings.Replace(text, "spec:\n", "spec:\n  featureGates:\n    InstanceIdNodeName: true\n", 1)
				}), "AccessEntryWrongType").misses("VpcEndpointMissing")
			}),
		broken("launches-of-a-group-without-the-tag", "A self-managed group lacks the cluster's tag, its instances carry it, and one of them is a node. Its launches fail for want of an AMI.",
			from(docScalingFailures, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html"), func(b *Bundle) *verdict {
				b.wants(Legacy)
				b.failed(Legacy, "The image id '[ami-0d3b8c1f2a4e5d6f7]' does not exist. Launching EC2 instance failed.")
				b.find(b.ScalingGroups, "AutoScalingGroupName", Legacy.ASG())["Tags"] = []object{}
				return launches(Legacy, "LaunchAmiInvalid").orders()
			}).whole(),
		misleading("launches-of-a-group-that-is-nobodys", "A group without the tag, of which no instance is a node of the cluster: its launches are not the cluster's.",
			from("https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html"), func(b *Bundle) *verdict {
				b.ensure(Edge)
				b.wants(Edge)
				b.failed(Edge, "The image id '[ami-0d3b8c1f2a4e5d6f7]' does not exist. Launching EC2 instance failed.")
				b.find(b.ScalingGroups, "AutoScalingGroupName", Edge.ASG())["Tags"] = []object{}
				return nothing()
			}),
	}
}
