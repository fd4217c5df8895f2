package generate

import (
	"strings"
	"time"
)

// networkCases are about the way from an instance to the API server: endpoint, routes,
// addresses, security groups, network ACLs, names.
func networkCases() []Case {
	return []Case{
		{
			Name: "no-route-to-a-public-endpoint", Class: Broken,
			Why:     "The endpoint is public only, and the subnet's route table ends within the VPC.",
			Sources: []string{docEndpoint, docNetwork, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2474"},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.Unregistered(BatchGroup)
				m.moved()
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing")
			},
		},
		{
			Name: "route-to-a-nat-gateway-that-is-gone", Class: Broken,
			Why:     "The default route leads to a NAT gateway that was deleted: a blackhole.",
			Sources: []string{"https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html", docEndpoint},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false)
				gone := route("NatGatewayId", "nat-0a1b2c3d4e5f60399")
				gone["State"] = "blackhole"
				b.aside(gone)
				m := b.Unregistered(BatchGroup)
				m.moved()
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing")
			},
		},
		{
			Name: "internet-gateway-without-a-public-address", Class: Broken,
			Why:     "The subnet is public, and the instance got no public address: nothing answers through an internet gateway then.",
			Sources: []string{"https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html", repostNodeGroup},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false)
				b.aside(route("GatewayId", gateway))
				m := b.Unregistered(BatchGroup)
				m.moved()
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing")
			},
		},
		{
			Name: "two-instances-in-a-subnet-without-a-route", Class: Broken,
			Why:     "Both new instances of the group came into the subnet that has no way out, the older ones are elsewhere: other instances would fare no better.",
			Sources: []string{docEndpoint, docNetwork},
			Build:   func(b *Bundle, _ healthy) *verdict { return twoAside(b, Workers) },
		},
		{
			Name: "default-route-to-a-transit-gateway", Class: Misleading,
			Why:     "No NAT gateway in the VPC's subnet, but a default route to a transit gateway: that is a way. The access entry has the wrong type.",
			Sources: []string{"https://docs.aws.amazon.com/vpc/latest/tgw/transit-gateway-nat-igw.html", docCreateEntry},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false)
				b.aside(route("TransitGatewayId", "tgw-0a1b2c3d4e5f60901"))
				m := b.Unregistered(BatchGroup)
				m.moved()
				b.unmap(BatchGroup)
				b.Entries = append(b.Entries, entry(BatchGroup.RoleARN(), "STANDARD"))
				return unregistered(m, "AccessEntryWrongType")
			},
		},
		{
			Name: "proxy-in-place-of-a-route", Class: Misleading,
			Why:     "The subnet has no way out but a proxy, which the user data sets; whether it works is not in sight, so nothing is proven.",
			Sources: []string{"https://repost.aws/knowledge-center/eks-http-proxy-configuration-automation", docEndpoint},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.Unregistered(Reports)
				m.moved()
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
			},
		},
		{
			Name: "public-endpoint-not-for-this-nat-gateway", Class: Broken,
			Why:     "The endpoint is public, for the addresses of three NAT gateways; the new subnet has a fourth.",
			Sources: []string{docEndpoint, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1867", "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2149"},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false, "198.51.100.11/32", "198.51.100.12/32", "198.51.100.13/32")
				b.addGateway("nat-0a1b2c3d4e5f60304", publicSubnet("a"), "198.51.100.99")
				b.aside(route("NatGatewayId", "nat-0a1b2c3d4e5f60304"))
				m := b.Unregistered(BatchGroup)
				m.moved()
				return unregistered(m, "PublicAccessCidrBlocked")
			},
		},
		{
			Name: "public-endpoint-not-for-this-instance", Class: Broken,
			Why:     "An instance with a public address of its own, which is not among those that the endpoint admits.",
			Sources: []string{docEndpoint, repostNodeGroup},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false, "198.51.100.0/28")
				b.aside(route("GatewayId", gateway))["MapPublicIpOnLaunch"] = true
				m := b.Unregistered(BatchGroup)
				m.moved()
				m.Instance["PublicIpAddress"] = "203.0.113.77"
				return unregistered(m, "PublicAccessCidrBlocked")
			},
		},
		{
			Name: "narrow-public-endpoint-and-a-private-one", Class: Misleading,
			Why:     "The public endpoint admits the office alone, but the private one is on, which nodes use. The role is in no store.",
			Sources: []string{docEndpoint, docAccessEntries},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, true, "203.0.113.0/29")
				m := b.Unregistered(BatchGroup)
				b.unmap(BatchGroup)
				return unregistered(m, "NodeRoleNotMapped")
			},
		},
		{
			Name: "security-group-lets-no-https-out", Class: Broken,
			Why:     "The nodes' security group lets out DNS and nothing else.",
			Sources: []string{docFirewall, repostNodeGroup},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				b.behind(m, []object{fromGroup("-1", 0, clusterGroup)}, []object{toEverybody("udp", 53), toEverybody("tcp", 53)})
				b.admit(fromGroup("tcp", 443, batchGroup))
				return unregistered(m, "SecurityGroupBlocksApi")
			},
		},
		{
			Name: "cluster-security-group-admits-others-only", Class: Broken,
			Why:     "The nodes have a security group of their own, and the cluster's admits only its members and the legacy nodes.",
			Sources: []string{docFirewall, repostJoin},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(false, true)
				m := b.Unregistered(BatchGroup)
				b.behind(m, []object{fromGroup("-1", 0, clusterGroup)}, anywhere())
				return unregistered(m, "SecurityGroupBlocksApi")
			},
		},
		{
			Name: "network-acl-lets-no-https-out", Class: Broken,
			Why:     "The subnet's network ACL lets out HTTP and what answers clients, and not HTTPS.",
			Sources: []string{"https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html", repostNodeGroup},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.aside(route("NatGatewayId", natGateway("a")))
				b.asideRules(aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "6", "allow", 80, 80), aclRule(110, true, "6", "allow", 1024, 65535))
				m := b.Unregistered(BatchGroup)
				m.moved()
				return unregistered(m, "NaclBlocksApi")
			},
		},
		{
			Name: "network-acl-lets-no-answers-in", Class: Broken,
			Why:     "HTTPS gets out, and the answers, which come to ports from 1024 on, do not get in: network ACLs keep no state.",
			Sources: []string{"https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html#nacl-ephemeral-ports"},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.aside(route("NatGatewayId", natGateway("a")))
				b.asideRules(aclRule(100, false, "6", "allow", 443, 443), aclRule(110, false, "6", "allow", 22, 22), aclRule(100, true, "-1", "allow", 0, 0))
				m := b.Unregistered(BatchGroup)
				m.moved()
				return unregistered(m, "NaclBlocksApi")
			},
		},
		{
			Name: "network-acl-whose-deny-comes-too-late", Class: Misleading,
			Why:     "A rule denies HTTPS, behind one that allows everything: the lowest number decides. No cause is shown.",
			Sources: []string{"https://docs.aws.amazon.com/vpc/latest/userguide/nacl-rules.html"},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.aside(route("NatGatewayId", natGateway("a")))
				b.asideRules(aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "-1", "allow", 0, 0), aclRule(200, true, "6", "deny", 443, 443))
				m := b.Unregistered(BatchGroup)
				m.moved()
				return unregistered(m, "").rulesOut("NaclBlocksApi")
			},
		},
		{
			Name: "dns-support-off", Class: Broken,
			Why:     "A new VPC without DNS resolution: the endpoint's name means nothing there.",
			Sources: []string{docNetwork, docTroubleshooting},
			Build: func(b *Bundle, h healthy) *verdict {
				b.RemoveAll(h)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(b.Unregistered(BatchGroup), "DnsDisabled")
			},
		},
		{
			Name: "dns-hostnames-off", Class: Broken,
			Why:     "A new VPC without DNS host names: the private endpoint needs both.",
			Sources: []string{docEndpoint, "https://github.com/awslabs/amazon-eks-ami/issues/1376"},
			Build: func(b *Bundle, h healthy) *verdict {
				b.RemoveAll(h)
				b.endpoint(false, true)
				b.Attributes[vpc] = dns(true, false)
				return unregistered(b.Unregistered(Reports), "DnsDisabled")
			},
		},
		{
			Name: "dhcp-options-with-a-resolver-of-its-own", Class: Misleading,
			Why:     "The VPC's DHCP options name the company's resolvers. They may well forward, so this is a hint.",
			Sources: []string{docNetwork, repostJoin, "https://docs.aws.amazon.com/vpc/latest/userguide/VPC_DHCP_Options.html"},
			Build: func(b *Bundle, h healthy) *verdict {
				b.RemoveAll(h)
				b.DHCP = []object{dhcp("10.20.0.10", "10.20.1.10")}
				return unregistered(b.Unregistered(BatchGroup), "").suggests("DhcpOptionsWrong")
			},
		},
		{
			Name: "instance-in-another-vpc", Class: Broken,
			Why:     "The template's subnet belongs to a VPC that the cluster is not in.",
			Sources: []string{docNetwork, repostJoin},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.elsewhere(m)
				return unregistered(m, "WrongVpc", "SecurityGroupBlocksApi")
			},
		},
		{
			Name: "instance-without-the-clusters-tag", Class: Broken,
			Why:     "A self-managed node came up without kubernetes.io/cluster/payments; the cloud controller does not take it for its own and leaves its taint on.",
			Sources: []string{docTroubleshooting, "https://docs.aws.amazon.com/eks/latest/userguide/launch-workers.html"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Edge, 26*time.Minute)
				b.Join(m, 25*time.Minute)
				m.untag("kubernetes.io/cluster/" + Cluster)
				b.taint(m, "node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule")
				return finds(m, "Uninitialized", "ClusterTagMissing", "StartupTaintNotRemoved")
			},
		},
	}
}

// elsewhere puts an instance into another VPC, in which all is well.
func (b *Bundle) elsewhere(m *Machine) {
	const other, in, group = "vpc-0a1b2c3d4e5f60009", "subnet-0a1b2c3d4e5f60901", "sg-0c1c1c1c1c1c1c009"
	b.addSubnet(in, "a", "10.9.32.0/19", 8000)["VpcId"] = other
	t := table("rtb-0a1b2c3d4e5f60901", []string{in}, route("NatGatewayId", "nat-0a1b2c3d4e5f60901"))
	t["VpcId"], t["Routes"].([]object)[0]["DestinationCidrBlock"] = other, "10.9.0.0/16"
	b.RouteTables = append(b.RouteTables, t)
	b.addGateway("nat-0a1b2c3d4e5f60901", in, "198.51.100.91")
	b.Gateways[len(b.Gateways)-1]["VpcId"] = other
	rules := acl("acl-0a1b2c3d4e5f60901", true, []string{in}, aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "-1", "allow", 0, 0))
	rules["VpcId"] = other
	g := firewall(group, "default", nil, anywhere())
	g["VpcId"] = other
	b.ACLs, b.SecurityGroups = append(b.ACLs, rules), append(b.SecurityGroups, g)
	b.Attributes[other] = dns(true, true)
	m.Instance["VpcId"], m.Instance["SubnetId"], m.Instance["SecurityGroups"] = other, in, []object{{"GroupId": group, "GroupName": "default"}}
}

// twoAside are two new instances of a group in a subnet that has no way out.
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
