package generate

import (
	"encoding/base64"
	"strings"
	"time"
)

// systemCases are about what differs between operating systems, between IPv4 and IPv6, and about
// a cluster that is being deleted.
func systemCases() []Case {
	rocket := BatchGroup // a node group of Bottlerocket whose template holds the settings
	rocket.Image, rocket.Custom = imageBottlerocket, true
	const (
		docWindows   = "https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html"
		docWindowsUD = "https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html"
		docIPv6      = "https://docs.aws.amazon.com/eks/latest/userguide/cni-ipv6.html"
		// By its name an endpoint of an IPv6 cluster has addresses of both families, or of IPv4.
		docEndpointIPv6 = "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html#cluster-endpoint-ipv6"
		docNAT64        = "https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html"
		dualStack       = "https://0123456789ABCDEF0123456789ABCDEF.eks-cluster.eu-west-1.api.aws"
		docCNIRole      = "https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html"
		docDelete       = "https://docs.aws.amazon.com/eks/latest/userguide/delete-cluster.html"
		docRocketUD     = "https://bottlerocket.dev/en/os/latest/concepts/api-driven/"
	)
	settings := bottlerocketData(Cluster)
	// twice gives an instance user data that was encoded twice. The file holds EC2's own answer.
	twice := func(g Group, text string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
			m := b.Unregistered(g)
			b.retext(m, encode(text))
			b.UserData[m.ID] = compact(object{"InstanceId": m.ID, "UserData": object{"Value": encode(encode(text))}}) + "\n"
			return unregistered(m, "UserDataWrongFormat")
		}
	}
	// six makes the cluster one of IPv6, whose nodes have an address of each family.
	six := func(b *Bundle) {
		b.Cluster["kubernetesNetworkConfig"] = object{"serviceIpv6Cidr": "fd12:3456:789a::/108", "ipFamily": "ipv6"}
		for _, i := range b.Instances {
			i["Ipv6Address"] = "2001:db8:10::" + i["InstanceId"].(string)[17:]
		}
	}
	eigw := []object{{"DestinationIpv6CidrBlock": "::/0", "EgressOnlyInternetGatewayId": "eigw-0a1b2c3d4e5f60901", "Origin": "CreateRoute", "State": "active"}}
	// onlySix leaves an instance of an IPv6 cluster with a public endpoint of that name in a subnet with
	// these routes.
	onlySix := func(b *Bundle, endpoint string, routes []object, first string) *verdict {
		b.aside(routes...)
		b.endpoint(true, false)
		b.Cluster["endpoint"] = endpoint
		m := b.UnregisteredAside(BatchGroup)
		b.retext(m, strings.ReplaceAll(UserData(BatchGroup), Endpoint, endpoint))
		six(b)
		return unregistered(m, first)
	}
	return []Case{
		broken("windows-for-another-cluster", "EKS's script is given the name of another cluster, and no endpoint: it asks EKS for that cluster's and joins it.",
			from(docWindowsUD), unjoined(windowsGroup, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, windowsData("-EKSClusterName payments-staging"))
				return unregistered(m, "UserDataClusterMismatch").holds("NotClaimed")
			})),
		broken("windows-given-a-nodeconfig", "A Windows image in a node group whose template was written for AL2023: EC2Launch looks for PowerShell.",
			from(docWindowsUD, docNodeadm), texted(windowsGroup, "UserDataWrongFormat", nodeadmData(Cluster, CA))),
		broken("windows-user-data-in-base64-twice", "What EC2 returns is base64 once more: EC2Launch looks for <powershell> in it, and there is none.",
			from("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html", "https://github.com/eksctl-io/eksctl/issues/4101"), twice(windowsGroup, windowsData("-EKSClusterName "+Cluster))),
		misleading("windows-user-data-as-the-command-prints-it", "The file of the user data holds base64, as the AWS CLI prints it; the template shows that it was encoded once. The role is mapped nowhere.",
			from("https://docs.aws.amazon.com/cli/latest/reference/ec2/describe-instance-attribute.html"), unjoined(windowsGroup, func(b *Bundle, m *Machine) *verdict {
				b.UserData[m.ID] = base64.StdEncoding.EncodeToString([]byte(b.UserData[m.ID]))
				b.unmap(windowsGroup)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("UserDataWrongFormat")
			})),
		broken("bottlerocket-user-data-in-base64-twice", "The same of Bottlerocket, which reads the base64 as TOML.",
			from(docRocketUD), twice(rocket, settings)),
		broken("windows-role-unmapped", "The role of the Windows nodes has no access entry; everything else about them is as it should be.",
			from(docWindows, docAccessEntries), unjoined(windowsGroup, func(b *Bundle, m *Machine) *verdict {
				b.unmap(windowsGroup)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		misleading("windows-role-mapped-as-linux", "aws-auth maps the role of the Windows nodes without eks:kube-proxy-windows, which their kube-proxy needs and their kubelet does not. No HTTPS goes out.",
			from(docWindows, docFirewall), func(b *Bundle) *verdict {
				g := windowsGroup
				g.InAwsAuth = true
				m := b.Unregistered(g)
				b.behind(m, nil, []object{toEverybody("tcp", 80)})
				return unregistered(m, "SecurityGroupBlocksApi")
			}),

		broken("windows-node-with-an-entry-of-linux-nodes", "EKS made the access entry of a node group with a custom Windows AMI of the type EC2_LINUX: the node registers, and its pods get no network.",
			from(docWindows, docAccessEntries, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3286"), func(b *Bundle) *verdict {
				m := b.windowsWaits(windowsGroup)
				b.entryOf(windowsGroup)["type"] = "EC2_LINUX"
				return finds(m, "Uninitialized", "AccessEntryWrongType", "CniNotReady")
			}),
		broken("windows-node-mapped-without-its-group", "aws-auth maps the role of the Windows nodes as that of Linux nodes, without eks:kube-proxy-windows.",
			from(docWindows, docAwsAuth), func(b *Bundle) *verdict {
				g := windowsGroup
				g.InAwsAuth = true
				return finds(b.windowsWaits(g), "Uninitialized", "AwsAuthWrongGroups", "CniNotReady")
			}),
		misleading("windows-node-that-waits-for-its-network", "The access entry is one of Windows nodes. Their network plugin is a part of the AMI: no DaemonSet is missing.",
			from(docWindows), func(b *Bundle) *verdict {
				return finds(b.windowsWaits(windowsGroup), "Uninitialized", "CniNotReady").says("a part of the AMI").rulesOut("AccessEntryWrongType", "CniMissing")
			}),
		misleading("windows-nodes-of-which-one-works", "Two Windows nodes share a role with an entry of the type EC2_LINUX, and one of them works.",
			from(docWindows, docAccessEntries), func(b *Bundle) *verdict {
				m := b.windowsWaits(windowsGroup)
				well := b.Launch(SickToo, "10.0.41.22", "b", windowsGroup, 3*day)
				b.Join(well, 3*day-5*time.Minute)
				b.entryOf(windowsGroup)["type"] = "EC2_LINUX"
				return finds(m, "Uninitialized", "").suggests("AccessEntryWrongType", "CniNotReady")
			}),
		misleading("linux-node-with-an-entry-of-windows-nodes", "The entry has a group more than a Linux node needs. Its network plugin crashes.",
			from(docWindows, docAccessEntries), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.entryOf(BatchGroup)["type"] = "EC2_WINDOWS"
				return finds(m, "Uninitialized", "CniNotReady")
			}),

		broken("bottlerocket-given-a-script", "Bottlerocket has no shell: it reads its user data as TOML settings, and a script is none.",
			from(docRocketUD, docBottlerocket), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, bootstrapData(""))
				return unregistered(m, "UserDataWrongFormat", "UserDataUnparseable")
			})),
		broken("bottlerocket-with-a-table-twice", "The settings were put together from two files, each with its table [settings.kubernetes]: a table may be defined once.",
			from(docRocketUD, "https://toml.io/en/v1.0.0#table"), texted(rocket, "UserDataUnparseable", settings+"\n[settings.kubernetes]\nmax-pods = 58\n")),
		broken("bottlerocket-without-its-authority", "The settings name the cluster and its API server, and lack the certificate authority, which nothing on the host knows.",
			from(docBottlerocket), texted(rocket, "UserDataUnparseable", strings.Replace(settings, "cluster-certificate", "# cluster-certificate", 1))),
		broken("bottlerocket-for-another-authority", "The settings name this cluster with the certificate authority of another.",
			from(docBottlerocket), texted(rocket, "UserDataClusterMismatch", strings.Replace(settings, CA, OtherCA, 1))),
		misleading("bottlerocket-with-further-settings", "Settings of the kernel, of a host container and of metrics beside those of Kubernetes, all of them right. The role is mapped nowhere.",
			from(docRocketUD, docAccessEntries), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, settings+"\n[settings.kernel.sysctl]\n\"vm.max_map_count\" = \"262144\"\n\n[settings.host-containers.admin]\nenabled = true\n\n[settings.metrics]\nsend-metrics = false\n")
				b.unmap(rocket)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("UserDataUnparseable", "UserDataWrongFormat")
			})),
		misleading("bottlerocket-with-the-settings-of-eks", "Only the settings of EKS's own, of a managed node group without a template of one's own. The VPC has no DNS.",
			from(docBottlerocket, docNetwork), func(b *Bundle) *verdict {
				g := BatchGroup
				g.Image = imageBottlerocket
				m := b.Unregistered(g)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			}),

		broken("ipv6-role-unmapped", "A cluster of IPv6: who a node is has nothing to do with its address.",
			from(docIPv6, docAccessEntries), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unmap(BatchGroup)
				six(b)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		broken("ipv6-cni-may-not-describe-its-type", "A cluster of IPv6: the policy of the CNI was written by hand and lacks ec2:DescribeInstanceTypes. The CNI says so by an event.",
			from(docIPv6, docCNIRole), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				b.Policies[BatchGroup.Role] = policies("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
				six(b)
				p := b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.podEvent(p, "MissingIAMPermissions", "Unauthorized operation: failed to call ec2:DescribeInstanceTypes due to missing permissions. Please refer https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/iam-policy.md to attach relevant policy to IAM role", 2*time.Minute, 5)
				return finds(m, "Uninitialized", "RolePoliciesMissing", "CniNotReady")
			}),
		misleading("ipv6-cni-may-not-set-security-groups", "A cluster of IPv6: AWS's example of a policy for it lacks ec2:ModifyNetworkInterfaceAttribute. The CNI of each new node says so by an event, and starts. This one's crashes for another reason.",
			from("https://github.com/terraform-aws-modules/terraform-aws-eks/pull/3613", docCNIRole), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				b.Policies[BatchGroup.Role] = policies("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
				six(b)
				p := b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.podEvent(p, "MissingIAMPermissions", "Unauthorized operation: failed to call ec2:ModifyNetworkInterfaceAttribute due to missing permissions. Please refer https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/iam-policy.md to attach relevant policy to IAM role", 2*time.Minute, 5)
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("RolePoliciesMissing")
			}),
		misleading("ipv6-cni-that-crashes", "A cluster of IPv6 whose CNI crashes and complains of no permission: the policy for IPv6 may be the role's of its pods.",
			from(docIPv6, docCNIRole), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				six(b)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady")
			}),
		misleading("ipv6-subnet-short-of-ipv4", "A cluster of IPv6, whose pods take addresses of IPv6: three free ones of IPv4 in the subnet are no trouble of theirs.",
			from(docIPv6), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				six(b)
				b.find(b.Subnets, "SubnetId", subnet("a"))["AvailableIpAddressCount"] = 3
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady")
			}),

		broken("ipv6-cluster-without-a-way-out-by-ipv4", "A cluster of IPv6 whose endpoint is an older one, which has addresses of IPv4 alone. The subnet has an egress-only internet gateway for IPv6, and no NAT gateway.",
			from(docIPv6, docEndpointIPv6), func(b *Bundle) *verdict {
				return onlySix(b, Endpoint, eigw, "ApiEndpointUnreachable")
			}),
		broken("ipv6-cluster-without-a-way-out", "The endpoint has addresses of both families, and the subnet has a route out for neither.",
			from(docIPv6, docEndpointIPv6), func(b *Bundle) *verdict {
				return onlySix(b, dualStack, nil, "ApiEndpointUnreachable")
			}),
		broken("ipv6-cluster-whose-nat64-is-gone", "The subnet reaches IPv4 by translated addresses, and the NAT gateway that translates them was deleted.",
			from(docNAT64, docEndpointIPv6), func(b *Bundle) *verdict {
				gone := object{"DestinationIpv6CidrBlock": "64:ff9b::/96", "NatGatewayId": "nat-0a1b2c3d4e5f60999", "Origin": "CreateRoute", "State": "blackhole"}
				return onlySix(b, Endpoint, []object{eigw[0], gone}, "ApiEndpointUnreachable")
			}),
		misleading("ipv6-cluster-with-nat64", "The endpoint has IPv4 alone, and the subnet no route for that. It has one for the addresses that a NAT gateway translates to IPv4: whether the resolver returns them is not in sight.",
			from(docNAT64, docEndpointIPv6), func(b *Bundle) *verdict {
				translated := object{"DestinationIpv6CidrBlock": "64:ff9b::/96", "NatGatewayId": natGateway("a"), "Origin": "CreateRoute", "State": "active"}
				v := onlySix(b, Endpoint, []object{eigw[0], translated}, "")
				return v.misses("ApiEndpointUnreachable")
			}),
		misleading("ipv6-cluster-with-a-dual-stack-endpoint", "The endpoint has addresses of both families, and the subnet's egress-only internet gateway leads to it. The role is mapped nowhere.",
			from(docIPv6, docEndpointIPv6), func(b *Bundle) *verdict {
				v := onlySix(b, dualStack, eigw, "NodeRoleNotMapped")
				b.unmap(BatchGroup)
				return v.rulesOut("ApiEndpointUnreachable")
			}),
		misleading("ipv6-cluster-without-an-egress-only-gateway", "The subnet has a NAT gateway for IPv4, by which its nodes reach the API server, and no way out for the IPv6 addresses of pods: that keeps no node away. The role is mapped nowhere.",
			from(docIPv6), func(b *Bundle) *verdict {
				v := onlySix(b, dualStack, []object{route("NatGatewayId", natGateway("a"))}, "NodeRoleNotMapped")
				b.unmap(BatchGroup)
				return v.rulesOut("ApiEndpointUnreachable")
			}),

		broken("cluster-is-being-deleted", "Somebody deletes the cluster; a node of a group that is left has gone silent. Nothing is judged, and nobody ends anything beside.",
			from(docDelete, "https://docs.aws.amazon.com/eks/latest/APIReference/API_Cluster.html"), func(b *Bundle) *verdict {
				b.Cluster["status"] = "DELETING"
				return finds(silentWorker(b), "Unknown", "ClusterNotActive", "KubeletSilent").holds("ClusterNotActive").orders()
			}),
		broken("cluster-is-being-deleted-and-an-instance-does-not-join", "The same, and an instance of such a group has not registered: its nodes were listed, and nothing joins the cluster any more.",
			from(docDelete, "https://docs.aws.amazon.com/eks/latest/APIReference/API_Cluster.html"), func(b *Bundle) *verdict {
				b.Cluster["status"] = "DELETING"
				return unregistered(b.Unregistered(Legacy), "ClusterNotActive").says("being deleted").holds("ClusterNotActive").orders().incomplete()
			}),
		broken("cluster-is-updating-and-an-instance-does-not-join", "An instance has not registered while the cluster is updated. Its role is mapped nowhere too, which comes second.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html", docAccessEntries), func(b *Bundle) *verdict {
				b.Cluster["status"] = "UPDATING"
				m := b.Unregistered(BatchGroup)
				b.unmap(BatchGroup)
				return unregistered(m, "ClusterNotActive", "NodeRoleNotMapped").holds("ClusterNotActive").orders().incomplete()
			}),
		misleading("cluster-that-is-updating-and-an-instance-that-starts", "The cluster is updated, and an instance was launched three minutes ago: it has time.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html"), func(b *Bundle) *verdict {
				b.Cluster["status"] = "UPDATING"
				m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 3*time.Minute)
				b.UserData[m.ID] = UserData(BatchGroup)
				return nothing().orders().incomplete()
			}),
		misleading("cluster-that-was-updated", "The cluster was updated an hour ago and is ACTIVE: a silent node is a silent node.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html"), func(b *Bundle) *verdict {
				b.Cluster["platformVersion"] = "eks.5"
				return finds(silentWorker(b), "Unknown", "KubeletSilent").rulesOut("ClusterNotActive")
			}),
	}
}

// windowsWaits adds a Windows node that has waited for its network from the start, for longer than
// the tolerance of Windows.
func (b *Bundle) windowsWaits(g Group) *Machine {
	m := b.joined(g, 70*time.Minute)
	b.neverReady(m)
	return m
}
