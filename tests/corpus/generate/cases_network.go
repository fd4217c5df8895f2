package generate

import (
	"strings"
	"time"
)

// networkCases are about the way from an instance to the API server: endpoint, routes,
// addresses, security groups, network ACLs, DNS.
func networkCases() []Case {
	return []Case{
		broken("no-route-to-a-public-endpoint", "The endpoint is public only, and the subnet's route table ends within the VPC.",
			from(docEndpoint, docNetwork, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2474"), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing")
			}),
		broken("route-to-a-nat-gateway-that-is-gone", "The default route leads to a NAT gateway that was deleted: a blackhole.",
			from("https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html", docEndpoint), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				gone := route("NatGatewayId", "nat-0a1b2c3d4e5f60399")
				gone["State"] = "blackhole"
				b.aside(gone)
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing")
			}),
		broken("internet-gateway-without-a-public-address", "The subnet is public, and the instance got no public address: nothing answers through an internet gateway then.",
			from("https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html", repostNodeGroup), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside(route("GatewayId", gateway))
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing")
			}),
		broken("two-instances-in-a-subnet-without-a-route", "Both new instances of the group came into the subnet that has no way out, the older ones are elsewhere: other instances would fare no better.",
			from(docEndpoint, docNetwork), func(b *Bundle) *verdict { return twoAside(b, Workers) }),
		misleading("default-route-to-a-transit-gateway", "No NAT gateway in the VPC's subnet, but a default route to a transit gateway: that is a way. The access entry has the wrong type.",
			from("https://docs.aws.amazon.com/vpc/latest/tgw/transit-gateway-nat-igw.html", docCreateEntry), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside(route("TransitGatewayId", "tgw-0a1b2c3d4e5f60901"))
				m := b.UnregisteredAside(BatchGroup)
				b.unmap(BatchGroup)
				b.Entries = append(b.Entries, entry(BatchGroup.RoleARN(), "STANDARD"))
				return unregistered(m, "AccessEntryWrongType")
			}),
		misleading("proxy-in-place-of-a-route", "The subnet has no way out but a proxy, which the user data sets; whether it works is not in sight, so nothing is proven.",
			from("https://repost.aws/knowledge-center/eks-http-proxy-configuration-automation", docEndpoint), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.UnregisteredAside(Reports)
				b.retext(m, strings.Replace(UserData(Reports), "set -o errexit\n", `set -o errexit
cat << 'EOF' >> /etc/environment
http_proxy=http://proxy.example.com:3128
https_proxy=http://proxy.example.com:3128
HTTP_PROXY=http://proxy.example.com:3128
HTTPS_PROXY=http://proxy.example.com:3128
no_proxy=172.20.0.0/16,localhost,127.0.0.1,10.0.0.0/16,169.254.169.254,.internal
NO_PROXY=172.20.0.0/16,localhost,127.0.0.1,10.0.0.0/16,169.254.169.254,.internal
EOF
mkdir -p /etc/systemd/system/kubelet.service.d
printf '[Service]\nEnvironmentFile=/etc/environment\n' > /etc/systemd/system/kubelet.service.d/proxy.conf
`, 1))
				return unregistered(m, "")
			}),
		broken("public-endpoint-not-for-this-nat-gateway", "The endpoint is public, for the addresses of three NAT gateways; the new subnet has a fourth.",
			from(docEndpoint, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1867", "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2149"), func(b *Bundle) *verdict {
				b.endpoint(true, false, "198.51.100.11/32", "198.51.100.12/32", "198.51.100.13/32")
				b.addGateway("nat-0a1b2c3d4e5f60304", publicSubnet("a"), "198.51.100.99")
				b.aside(route("NatGatewayId", "nat-0a1b2c3d4e5f60304"))
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "PublicAccessCidrBlocked")
			}),
		broken("public-endpoint-not-for-this-instance", "An instance with a public address of its own, which is not among those that the endpoint admits.",
			from(docEndpoint, repostNodeGroup), func(b *Bundle) *verdict {
				b.endpoint(true, false, "198.51.100.0/28")
				b.aside(route("GatewayId", gateway))["MapPublicIpOnLaunch"] = true
				m := b.UnregisteredAside(BatchGroup)
				m.Instance["PublicIpAddress"] = "203.0.113.77"
				return unregistered(m, "PublicAccessCidrBlocked")
			}),
		misleading("narrow-public-endpoint-and-a-private-one", "The public endpoint admits the office alone, but the private one is on, which nodes use. The role is in no store.",
			from(docEndpoint, docAccessEntries), func(b *Bundle) *verdict {
				b.endpoint(true, true, "203.0.113.0/29")
				m := b.Unregistered(BatchGroup)
				b.unmap(BatchGroup)
				return unregistered(m, "NodeRoleNotMapped")
			}),
		broken("security-group-lets-no-https-out", "The nodes' security group lets out DNS and nothing else.",
			from(docFirewall, repostNodeGroup), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.behind(m, []object{fromGroup("-1", 0, clusterGroup)}, []object{toEverybody("udp", 53), toEverybody("tcp", 53)})
				b.admit(fromGroup("tcp", 443, batchGroup))
				return unregistered(m, "SecurityGroupBlocksApi")
			})),
		broken("cluster-security-group-admits-others-only", "The nodes have a security group of their own, and the cluster's admits only its members and the legacy nodes.",
			from(docFirewall, repostJoin), func(b *Bundle) *verdict {
				b.endpoint(false, true)
				m := b.Unregistered(BatchGroup)
				b.behind(m, []object{fromGroup("-1", 0, clusterGroup)}, anywhere())
				return unregistered(m, "SecurityGroupBlocksApi")
			}),
		broken("network-acl-lets-no-https-out", "The subnet's network ACL lets out HTTP and what answers clients, and not HTTPS.",
			from("https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html", repostNodeGroup), func(b *Bundle) *verdict {
				b.aside(route("NatGatewayId", natGateway("a")))
				b.asideRules(aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "6", "allow", 80, 80), aclRule(110, true, "6", "allow", 1024, 65535))
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "NaclBlocksApi")
			}),
		broken("network-acl-lets-no-answers-in", "HTTPS gets out, and the answers, which come to ports from 1024 on, do not get in: network ACLs keep no state.",
			from("https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html#nacl-ephemeral-ports"), func(b *Bundle) *verdict {
				b.aside(route("NatGatewayId", natGateway("a")))
				b.asideRules(aclRule(100, false, "6", "allow", 443, 443), aclRule(110, false, "6", "allow", 22, 22), aclRule(100, true, "-1", "allow", 0, 0))
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "NaclBlocksApi")
			}),
		misleading("network-acl-whose-deny-comes-too-late", "A rule denies HTTPS, behind one that allows everything: the lowest number decides. No cause is shown.",
			from("https://docs.aws.amazon.com/vpc/latest/userguide/nacl-rules.html"), func(b *Bundle) *verdict {
				b.aside(route("NatGatewayId", natGateway("a")))
				b.asideRules(aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "-1", "allow", 0, 0), aclRule(200, true, "6", "deny", 443, 443))
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "").rulesOut("NaclBlocksApi")
			}),
		broken("dns-support-off", "A new VPC without DNS resolution: the endpoint's name means nothing there.",
			from(docNetwork, docTroubleshooting), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.Attributes[vpc] = dns(false, true)
				return unregistered(b.Unregistered(BatchGroup), "DnsDisabled")
			}),
		misleading("dns-hostnames-off", "A new VPC without DNS host names, which AWS asks for. The name of a private endpoint is in public DNS, with its private addresses: nothing proves that the node does not find it.",
			from(docEndpoint, docNetwork), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.endpoint(false, true)
				b.Attributes[vpc] = dns(true, false)
				return unregistered(b.Unregistered(Reports), "").suggests("DnsDisabled")
			}),
		misleading("dns-hostnames-off-beside-a-public-endpoint", "Without DNS host names the endpoint's name stands for its public addresses, and the NAT gateway leads there: nodes are known to join that way. The role has no access entry.",
			from(docEndpoint, "https://github.com/terraform-aws-modules/terraform-aws-eks/pull/446"), func(b *Bundle) *verdict {
				b.RemoveAll()
				m := b.Unregistered(BatchGroup)
				b.Attributes[vpc] = dns(true, false)
				b.unmap(BatchGroup)
				return unregistered(m, "NodeRoleNotMapped").suggests("DnsDisabled")
			}),
		misleading("dhcp-options-with-a-resolver-of-its-own", "The VPC's DHCP options name the company's resolvers. They may well forward, so this is a hint.",
			from(docNetwork, repostJoin, "https://docs.aws.amazon.com/vpc/latest/userguide/VPC_DHCP_Options.html"), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.resolvers()
				return unregistered(b.Unregistered(BatchGroup), "").suggests("DhcpOptionsWrong")
			}),
		broken("dhcp-options-with-resolvers-out-of-reach", "The VPC's DHCP options name resolvers in another network, and no route leads there: the NAT gateway sends their packets to the internet.",
			from(docNetwork, "https://docs.aws.amazon.com/vpc/latest/userguide/VPC_DHCP_Options.html", "https://github.com/aws/containers-roadmap/issues/221"), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.DHCP = []object{dhcp("192.168.40.10", "192.168.40.11")}
				return unregistered(b.Unregistered(BatchGroup), "DhcpOptionsWrong").says("192.168.40.10")
			}),
		broken("resolvers-behind-a-peering-that-is-gone", "The route to the company's resolvers leads to a transit gateway attachment that is gone.",
			from(docNetwork, "https://docs.aws.amazon.com/vpc/latest/userguide/VPC_DHCP_Options.html"), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.resolvers()
				for _, t := range b.RouteTables {
					for _, r := range t["Routes"].([]object) {
						if r["TransitGatewayId"] != nil {
							r["State"] = "blackhole"
						}
					}
				}
				return unregistered(b.Unregistered(BatchGroup), "DhcpOptionsWrong")
			}),
		misleading("resolvers-of-which-one-is-in-reach", "One of the two resolvers is in the VPC, and may forward.",
			from(docNetwork, "https://docs.aws.amazon.com/vpc/latest/userguide/VPC_DHCP_Options.html"), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.DHCP = []object{dhcp("192.168.40.10", "10.0.33.53")}
				return unregistered(b.Unregistered(BatchGroup), "").suggests("DhcpOptionsWrong")
			}),
		misleading("resolvers-behind-the-nat-gateways-subnet", "Only the subnet of the NAT gateway has a route to the company's resolvers, and that is enough.",
			from(docNetwork, "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-nat-gateway.html"), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.DHCP = []object{dhcp("192.168.40.10", "192.168.40.11")}
				t := b.find(b.RouteTables, "RouteTableId", publicTable)
				t["Routes"] = append(t["Routes"].([]object), toCompany("192.168.0.0/16"))
				return unregistered(b.Unregistered(BatchGroup), "").suggests("DhcpOptionsWrong")
			}),
		broken("instance-in-another-vpc", "The template's subnet belongs to a VPC that the cluster is not in.",
			from(docNetwork, repostJoin), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.elsewhere(m)
				return unregistered(m, "WrongVpc", "SecurityGroupBlocksApi")
			})),
		broken("instance-without-the-clusters-tag", "The cloud controller left its taint on a self-managed node that has no tag kubernetes.io/cluster/payments. It finds the instance by the node's provider ID, whatever its tags: the missing tag is a hint.",
			from(docTroubleshooting, "https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/instances_v2.go"), func(b *Bundle) *verdict {
				m := b.joined(Edge, 26*time.Minute)
				m.untag("kubernetes.io/cluster/" + Cluster)
				b.taint(m, "node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").suggests("ClusterTagMissing")
			}),
	}
}

// elsewhere puts an instance into another VPC, in which everything is healthy.
func (b *Bundle) elsewhere(m *Machine) {
	const other, in, group = "vpc-0a1b2c3d4e5f60009", "subnet-0a1b2c3d4e5f60901", "sg-0c1c1c1c1c1c1c009"
	b.addSubnet(in, "a", "10.9.32.0/19", 8000)["VpcId"] = other
	t := table("rtb-0a1b2c3d4e5f60901", []string{in}, route("NatGatewayId", "nat-0a1b2c3d4e5f60901"))
	t["VpcId"], t["Routes"].([]object)[0]["DestinationCidrBlock"] = other, "10.9.0.0/16"
	b.RouteTables = append(b.RouteTables, t)
	const public = "subnet-0a1b2c3d4e5f60902"
	b.addSubnet(public, "a", "10.9.0.0/24", 240)["VpcId"] = other
	out := table("rtb-0a1b2c3d4e5f60902", []string{public}, route("GatewayId", "igw-0a1b2c3d4e5f60902"))
	out["VpcId"], out["Routes"].([]object)[0]["DestinationCidrBlock"] = other, "10.9.0.0/16"
	b.RouteTables = append(b.RouteTables, out)
	b.addGateway("nat-0a1b2c3d4e5f60901", public, "198.51.100.91")
	b.Gateways[len(b.Gateways)-1]["VpcId"] = other
	rules := acl("acl-0a1b2c3d4e5f60901", true, []string{in}, aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "-1", "allow", 0, 0))
	rules["VpcId"] = other
	g := firewall(group, "default", nil, anywhere())
	g["VpcId"] = other
	b.ACLs, b.SecurityGroups = append(b.ACLs, rules), append(b.SecurityGroups, g)
	b.Attributes[other] = dns(true, true)
	m.Instance["VpcId"], m.Instance["SubnetId"], m.Instance["SecurityGroups"] = other, in, []object{{"GroupId": group, "GroupName": "default"}}
}

// twoAside adds two new instances of a group in a subnet without a way out.
func twoAside(b *Bundle, g Group) *verdict {
	b.endpoint(true, false)
	b.aside()
	m := b.Unregistered(g)
	other := b.Another(m)
	m.moved()
	other.moved()
	return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing").
		and(other, "Unregistered", "ApiEndpointUnreachable", "VpcEndpointMissing").holds("SharedCause")
}

// reachCases are about what nodes that once worked have lost, and what is behind a failing CNI.
func reachCases() []Case {
	const awsNode = "https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/"
	// starting adds a node of the group that was never ready because its CNI is missing.
	starting := func(b *Bundle) *Machine {
		m := b.cniWaits(BatchGroup)
		return m
	}
	return []Case{
		broken("zone-silent-and-impaired", "All nodes of one zone went silent within seconds, and EC2 cannot reach one of the instances: that is the zone too.",
			from(docNodes, docStatusChecks, "https://docs.aws.amazon.com/eks/latest/userguide/zone-shift.html"), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.73.21", "b", Workers, 5*day)
				other := b.Launch(SickToo, "10.0.73.22", "b", Default, 5*day)
				b.Join(m, 5*day-time.Minute)
				b.Join(other, 5*day-time.Minute)
				v := nothing()
				for i, silent := range []*Machine{m, other, b.healthy.legacy} {
					b.silent(silent, 45*time.Minute-time.Duration(i)*4*time.Second)
					v.and(silent, "Unknown", "ZoneOutage", "KubeletSilent", "InstanceStatusImpaired")
				}
				b.impaired(m, "InstanceStatus", 42*time.Minute)
				return v.and(m, "Impaired", "ZoneOutage", "InstanceStatusImpaired", "KubeletSilent").holds("")
			}).whole(),
		misleading("impaired-alone-in-its-zone", "EC2 cannot reach one of three instances of a zone; the others are Ready: no outage.",
			from(docStatusChecks), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.73.21", "b", Workers, 5*day)
				other := b.Launch(SickToo, "10.0.73.22", "b", Default, 5*day)
				b.Join(m, 5*day-time.Minute)
				b.Join(other, 5*day-time.Minute)
				b.impaired(m, "SystemStatus", 42*time.Minute)
				return finds(m, "Impaired", "SystemStatusImpaired").rulesOut("ZoneOutage")
			}).whole(),
		broken("all-silent-since-their-role-is-no-longer-mapped", "The group's role was mapped when its nodes joined, and is in no store now: its nodes fell silent.",
			from(docAuthMode, docAwsAuth, docNodes), func(b *Bundle) *verdict {
				m := b.joined(BatchGroup, 5*day)
				b.silent(m, 45*time.Minute)
				other := b.Another(m)
				b.Join(other, 5*day-2*time.Minute)
				b.silent(other, 40*time.Minute)
				b.unmap(BatchGroup)
				return finds(m, "Unknown", "NodeRoleNotMapped", "KubeletSilent").and(other, "Unknown", "NodeRoleNotMapped", "KubeletSilent").holds("")
			}),
		broken("all-silent-since-their-entry-was-replaced", "Somebody replaced the access entry of the nodes' role by one of the type STANDARD; the group's nodes fell silent.",
			from(docCreateEntry, docNodes), func(b *Bundle) *verdict {
				m := b.joined(BatchGroup, 5*day)
				b.silent(m, 45*time.Minute)
				b.unmap(BatchGroup)
				b.Entries = append(b.Entries, entry(BatchGroup.RoleARN(), "STANDARD"))
				return finds(m, "Unknown", "AccessEntryWrongType", "KubeletSilent")
			}),
		misleading("silent-and-the-role-mapped-as-ever", "A node fell silent whose role is mapped as it should be; another role of the account has no entry, which no node needs.",
			from(docAuthMode), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.controller()
				return finds(m, "Unknown", "KubeletSilent").rulesOut("NodeRoleNotMapped", "AccessEntryWrongType")
			})),
		broken("all-silent-since-a-rule-was-removed", "The cluster's security group no longer admits the group of these nodes: they were fine for days and fell silent together.",
			from(docFirewall, docNodes), func(b *Bundle) *verdict {
				b.endpoint(false, true)
				b.SecurityGroups = append(b.SecurityGroups, firewall(batchGroup, "payments-batch", nil, anywhere()))
				batch := BatchGroup
				batch.Firewall = batchGroup
				m := b.joined(batch, 5*day)
				b.silent(m, 45*time.Minute)
				return finds(m, "Unknown", "SecurityGroupBlocksApi", "KubeletSilent")
			}),
		broken("no-contiguous-prefix-in-the-subnet", "The CNI gives out prefixes. The subnet has addresses free and no contiguous /28 any more, which EC2 tells the CNI.",
			from(awsNode+"prefix-and-ip-target.md", "https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html"), func(b *Bundle) *verdict {
				b.find(b.Subnets, "SubnetId", subnet("a"))["AvailableIpAddressCount"] = 212
				m := starting(b)
				p := b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.podEvent(p, "FailedToAllocate", "InsufficientCidrBlocks: The specified subnet does not have enough free cidr blocks to satisfy the request", 2*time.Minute, 5)
				return finds(m, "Uninitialized", "SubnetIpsExhausted", "CniNotReady")
			}),
		misleading("many-addresses-and-a-cni-that-crashes", "The subnet has 212 addresses free, and the CNI crashes without a word about addresses.",
			from("https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html"), func(b *Bundle) *verdict {
				b.find(b.Subnets, "SubnetId", subnet("a"))["AvailableIpAddressCount"] = 212
				m := starting(b)
				p := b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.podEvent(p, "BackOff", "Back-off restarting failed container aws-node in pod", 2*time.Minute, 5)
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("SubnetIpsExhausted")
			}),
		broken("cni-may-not-assign-ipv6-addresses", "EC2 refuses the CNI ec2:AssignIpv6Addresses, which AmazonEKS_CNI_Policy does not have: the CNI says so by an event.",
			from(awsNode+"iam-policy.md", "https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html"), on(starting, func(b *Bundle, m *Machine) *verdict {
				p := b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.podEvent(p, "MissingIAMPermissions", "Unauthorized operation: failed to call ec2:AssignIpv6Addresses due to missing permissions. Please refer https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/iam-policy.md to attach relevant policy to IAM role", 2*time.Minute, 5)
				return finds(m, "Uninitialized", "RolePoliciesMissing", "CniNotReady")
			})),
		misleading("another-pod-may-not-call-ec2", "A pod of an application says that it may not call EC2; the CNI says nothing of the kind, and the node lacks it.",
			from(awsNode+"iam-policy.md"), on(starting, func(b *Bundle, m *Machine) *verdict {
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				p := b.pod(m, "inventory", "CrashLoopBackOff", "back-off 5m0s restarting failed container=inventory")
				b.podEvent(p, "Failed", "UnauthorizedOperation: You are not authorized to perform ec2:DescribeSubnets", 2*time.Minute, 5)
				return finds(m, "Uninitialized", "CniNotReady")
			})),
		misleading("condition-that-happens-again", "The monitoring agent's condition stands alone on a Ready node, and its event came again minutes ago: it is not over.",
			from(docNodeHealth), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.says(m, "KernelReady", "False", "ForkFailedOutOfPID", "Fork failed", 2*time.Hour)
				b.nodeEvent(m, "eks-node-monitoring-agent", "ForkFailedOutOfPID", "Fork failed", "Warning", 3*time.Minute, 9)
				return finds(m, "ConditionFailed", "").suggests("MonitoringConditionLatched")
			})),
		misleading("condition-whose-events-were-not-captured", "The monitoring agent's condition stands alone on a Ready node; whether it happened again is in events that nobody captured.",
			from(docNodeHealth), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.says(m, "KernelReady", "False", "ForkFailedOutOfPID", "Fork failed", 2*time.Hour)
				b.Lacks("k8s-events.json")
				return finds(m, "ConditionFailed", "").suggests("MonitoringConditionLatched")
			})),
	}
}
