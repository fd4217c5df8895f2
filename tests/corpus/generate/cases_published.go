package generate

import (
	"strings"
	"time"
)

const (
	docTrustAccount  = "https://github.com/terraform-aws-modules/terraform-aws-eks/pull/3695"
	docConfusion     = "https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html"
	docTransit       = "https://docs.aws.amazon.com/vpc/latest/tgw/tgw-route-tables.html"
	docMainTable     = "https://docs.aws.amazon.com/vpc/latest/userguide/RouteTables.html"
	docEphemeral     = "https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html#nacl-ephemeral-ports"
	docPodENI        = "https://github.com/aws/karpenter-provider-aws/issues/2803"
	docEFA           = "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html"
	docInitialized   = "https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/initialization.go"
	docCustomNetwork = "https://docs.aws.amazon.com/eks/latest/userguide/cni-custom-network.html"
	docRegistration  = "https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/registration.go"
	docProfileRace   = "https://github.com/aws/karpenter-provider-aws/blob/main/pkg/errors/errors.go"
)

// publishedCases are about failures that users published: trust policies with conditions, mappings of
// ARNs that match nothing, routes by way of other networks, narrow rules, and resources that no plugin
// registers.
func publishedCases() []Case {
	trusting := func(name string, near bool, why, key, value, first string) Case {
		build := broken
		if near {
			build = misleading
		}
		return build(name, why, from(docTrustAccount, docConfusion), func(b *Bundle) *verdict {
			m := b.Unregistered(Batch)
			policy := trust("ec2.amazonaws.com")
			policy["Statement"].([]object)[0]["Condition"] = object{"StringEquals": object{key: value}}
			b.find(b.Roles, "RoleName", Batch.Role)["AssumeRolePolicyDocument"] = policy
			return unregistered(m, first)
		})
	}
	mapped := func(name string, near bool, why, arn, first string) Case {
		build := broken
		if near {
			build = misleading
		}
		return build(name, why, from(authenticator, docAwsAuth), func(b *Bundle) *verdict {
			m := b.Unregistered(Edge)
			b.remap(Edge, mapNode(strings.ReplaceAll(arn, "ROLE", Edge.Role)))
			return unregistered(m, first)
		})
	}
	aside := func(name string, near bool, why, source, first string, routes ...object) Case {
		build, also := broken, []string{"VpcEndpointMissing"}
		if near {
			build, also = misleading, nil
		}
		return build(name, why, from(source, docEndpoint), func(b *Bundle) *verdict {
			b.endpoint(true, false)
			b.aside(routes...)
			return unregistered(b.UnregisteredAside(BatchGroup), first, also...)
		})
	}
	main := func(name string, near bool, why, first string, route ...object) Case {
		build, also := broken, []string{"VpcEndpointMissing"}
		if near {
			build, also = misleading, nil
		}
		return build(name, why, from(docMainTable, docEndpoint), func(b *Bundle) *verdict {
			b.endpoint(true, false)
			b.aside()
			t := b.find(b.RouteTables, "RouteTableId", asideTable)
			t["Associations"] = []object{{"RouteTableAssociationId": "rtbassoc-0a1b2c3d4e5f60990", "RouteTableId": asideTable, "Main": true, "AssociationState": object{"State": "associated"}}}
			t["Routes"] = append(t["Routes"].([]object), route...)
			return unregistered(b.UnregisteredAside(BatchGroup), first, also...)
		})
	}
	narrow := func(name string, near bool, why, first string, public bool, rules func(in, out object)) Case {
		build := broken
		if near {
			build = misleading
		}
		return build(name, why, from(docEphemeral), func(b *Bundle) *verdict {
			b.endpoint(public, !public)
			b.aside(route("NatGatewayId", natGateway("a")))
			if !public {
				b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "sts")
			}
			in, out := aclRule(100, false, "6", "allow", 1024, 65535), aclRule(100, true, "6", "allow", 443, 443)
			rules(in, out)
			b.asideRules(in, out)
			return unregistered(b.UnregisteredAside(BatchGroup), first)
		})
	}
	egress := func(name string, near bool, why, first string, public bool, rules ...object) Case {
		build := broken
		if near {
			build = misleading
		}
		return build(name, why, from(docFirewall), func(b *Bundle) *verdict {
			b.endpoint(public, !public)
			if !public { // then nothing needs the internet
				b.aside()
				b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "sts")
			}
			m := b.Unregistered(BatchGroup)
			b.behind(m, []object{fromGroup("-1", 0, clusterGroup)}, rules)
			b.admit(fromGroup("tcp", 443, batchGroup))
			if first != "" {
				return unregistered(m, first, "VpcEndpointMissing")
			}
			return unregistered(m, first)
		})
	}
	awaits := func(name string, near bool, why, source, resource string, age time.Duration) Case {
		build := broken
		if near {
			build = misleading
		}
		return build(name, why, from(source, docInitialized), func(b *Bundle) *verdict {
			m := b.joined(Batch, age)
			b.claimSays(m, "Registered", "True", "Registered", "", age-time.Minute)
			b.claimSays(m, "Initialized", "Unknown", "ResourceNotRegistered", "Resource \""+resource+"\" was requested but not registered", age-time.Minute)
			delete(m.Node["metadata"].(object)["labels"].(object), "karpenter.sh/initialized")
			if near {
				return nothing()
			}
			return finds(m, "Uninitialized", "ResourceNotRegistered").says(resource)
		})
	}
	registers := func(name string, near bool, why, status, reason, message string, age time.Duration) Case {
		build := broken
		if near {
			build = misleading
		}
		return build(name, why, from(docRegistration), func(b *Bundle) *verdict {
			m := b.joined(Batch, age)
			b.taint(m, "karpenter.sh/unregistered", "NoExecute")
			b.claimSays(m, "Registered", status, reason, message, age-time.Minute)
			b.claimSays(m, "Initialized", "Unknown", "NodeNotFound", "Node not registered with cluster", age-time.Minute)
			labels := m.Node["metadata"].(object)["labels"].(object)
			delete(labels, "karpenter.sh/initialized")
			delete(labels, "karpenter.sh/registered")
			if near {
				return nothing()
			}
			return finds(m, "Uninitialized", "StartupTaintNotRemoved").says(reason)
		})
	}
	private := func(name string, near bool, why, first string, change func(endpoint object)) Case {
		build := broken
		if near {
			build = misleading
		}
		return build(name, why, from(docPrivate, "https://docs.aws.amazon.com/vpc/latest/privatelink/concepts.html"), func(b *Bundle) *verdict {
			b.endpoint(false, true)
			b.aside()
			b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "sts")
			change(b.find(b.Endpoints, "ServiceName", "com.amazonaws.eu-west-1.ec2"))
			return unregistered(b.UnregisteredAside(BatchGroup), first)
		})
	}
	gone := func(o object) object {
		o["State"] = "blackhole"
		return o
	}
	other := func(o object, cidr string) object {
		o["DestinationCidrBlock"] = cidr
		return o
	}
	only := func(cidr string) object {
		p := permission("tcp", 443)
		p["IpRanges"] = []object{{"CidrIp": cidr}}
		return p
	}
	buckets := permission("tcp", 443)
	buckets["PrefixListIds"] = []object{{"PrefixListId": "pl-6da54004"}}

	return []Case{
		trusting("role-that-ec2-of-another-account-may-assume", false, "The trust policy was copied from another account, with its number in aws:SourceAccount: EC2 of this account may not assume the role.",
			"aws:SourceAccount", "123456789012", "RoleTrustInvalid"),
		trusting("role-that-wants-an-external-id", false, "The trust policy demands an external ID, which EC2 never sends.", "sts:ExternalId", "payments", "RoleTrustInvalid"),
		trusting("role-that-ec2-of-this-account-may-assume", true, "The trust policy restricts EC2 to this account, as the Terraform module can: that is as good.", "aws:SourceAccount", Account, ""),
		trusting("role-with-a-condition-that-nobody-knows", true, "A condition of the trust policy cannot be judged from outside: no cause is shown.", "aws:PrincipalOrgID", "o-a1b2c3d4e5", ""),

		mapped("aws-auth-arn-of-another-account", false, "The ARN in aws-auth was copied from the staging account.", "arn:aws:iam::123456789012:role/ROLE", "NodeRoleNotMapped"),
		mapped("aws-auth-arn-with-a-wildcard", false, "Somebody mapped all roles of the team with a wildcard, which the authenticator compares as a letter.", "arn:aws:iam::"+Account+":role/payments-*", "NodeRoleNotMapped"),
		mapped("aws-auth-arn-in-quotes", true, "The ARN stands in quotes, which YAML drops.", "\"arn:aws:iam::"+Account+":role/ROLE\"", ""),
		mapped("aws-auth-arn-in-capitals", true, "The ARN is in other letters, and the authenticator compares in lower case.", "arn:aws:iam::"+Account+":role/PAYMENTS-EDGE-NODE", ""),

		aside("transit-gateway-that-is-gone", false, "The attachment of the transit gateway to which the default route leads was deleted: the route is a blackhole.",
			docTransit, "ApiEndpointUnreachable", gone(route("TransitGatewayId", "tgw-0a1b2c3d4e5f60901"))),
		aside("peering-in-place-of-a-way-out", false, "The only route beside the VPC's own leads to one network by peering, and the endpoint is public.",
			"https://docs.aws.amazon.com/vpc/latest/peering/peering-configurations.html", "ApiEndpointUnreachable", other(route("VpcPeeringConnectionId", "pcx-0a1b2c3d4e5f60902"), "10.9.0.0/16")),
		aside("peering-that-is-gone-beside-a-nat-gateway", true, "A route to a peered network is a blackhole, and the default route leads to a NAT gateway that works.",
			"https://docs.aws.amazon.com/vpc/latest/peering/peering-configurations.html", "", gone(other(route("VpcPeeringConnectionId", "pcx-0a1b2c3d4e5f60902"), "10.9.0.0/16")), route("NatGatewayId", natGateway("a"))),
		aside("firewall-endpoint-as-the-way-out", true, "The default route leads to an endpoint of a Gateway Load Balancer, and what the firewall lets through is not in sight.",
			"https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-load-balancer-endpoints.html", "", route("GatewayId", "vpce-0a1b2c3d4e5f60903")),

		main("subnet-of-the-main-table-without-a-route", false, "The subnet has no route table of its own, so that the VPC's main one counts, which has no way out.", "ApiEndpointUnreachable"),
		main("subnet-of-the-main-table-whose-nat-gateway-is-gone", false, "The same, and the main table's default route leads to a NAT gateway that was deleted.", "ApiEndpointUnreachable", gone(route("NatGatewayId", "nat-0a1b2c3d4e5f60398"))),
		main("subnet-of-the-main-table-with-a-nat-gateway", true, "The same, and the main table leads to a NAT gateway that works.", "", route("NatGatewayId", natGateway("b"))),
		main("subnet-of-the-main-table-with-a-transit-gateway", true, "The same, and the main table leads to a transit gateway, behind which nothing is in sight.", "", route("TransitGatewayId", "tgw-0a1b2c3d4e5f60901")),

		narrow("network-acl-with-answers-from-the-vpc-alone", false, "The network ACL lets answers in from the VPC alone, and the endpoint is public.", "NaclBlocksApi", true,
			func(in, _ object) { in["CidrBlock"] = "10.0.0.0/16" }),
		narrow("network-acl-with-https-to-the-vpc-alone", false, "The network ACL lets HTTPS out to the VPC alone, and the endpoint is public.", "NaclBlocksApi", true,
			func(_, out object) { out["CidrBlock"] = "10.0.0.0/16" }),
		narrow("network-acl-with-the-ports-of-linux", true, "The network ACL lets answers in to the ports from 32768 on, which Linux uses.", "", true,
			func(in, _ object) { in["PortRange"] = object{"From": 32768, "To": 65535} }),
		narrow("network-acl-with-the-ports-of-windows", true, "The network ACL lets answers in to the ports from 49152 on, which Windows uses: of Linux's connections some get through.", "", true,
			func(in, _ object) { in["PortRange"] = object{"From": 49152, "To": 65535} }),
		narrow("network-acl-for-a-private-endpoint", true, "The network ACL lets HTTPS out and answers in within the VPC, in which the endpoint is.", "", false,
			func(in, out object) { in["CidrBlock"], out["CidrBlock"] = "10.0.0.0/16", "10.0.0.0/16" }),

		egress("security-group-with-https-to-the-vpc-alone", false, "The nodes' security group lets HTTPS out to the VPC alone, and the endpoint is public.", "SecurityGroupBlocksApi", true, only("10.0.0.0/16"), toEverybody("udp", 53)),
		egress("security-group-with-https-to-the-other-half", false, "The nodes' security group lets HTTPS out to one half of the internet, and the endpoint is private, in the other.", "SecurityGroupBlocksApi", false, only("128.0.0.0/1"), toEverybody("udp", 53)),
		egress("security-group-with-https-to-a-prefix-list", true, "The nodes' security group lets HTTPS out to a prefix list alone, whose addresses are not in sight.", "", false, buckets, toEverybody("udp", 53)),
		egress("security-group-for-a-private-endpoint", true, "The same as for the VPC alone, and the endpoint is private.", "", false, only("10.0.0.0/16"), toEverybody("udp", 53)),
		egress("security-group-with-https-in-two-halves", true, "Two rules let HTTPS out, each to one half of the internet.", "", true, only("0.0.0.0/1"), only("128.0.0.0/1")),

		awaits("pod-eni-that-is-not-registered", false, "Karpenter launched the node for a pod with security groups of its own, and the VPC resource controller gives it no trunk interface.", docPodENI, "vpc.amazonaws.com/pod-eni", 26*time.Minute),
		awaits("efa-that-is-not-registered", false, "Karpenter launched the node for a pod that uses EFA, and the cluster has no EFA device plugin.", docEFA, "vpc.amazonaws.com/efa", 26*time.Minute),
		awaits("pod-eni-of-a-young-node", true, "The same of a node that is four minutes old: the controller has time.", docPodENI, "vpc.amazonaws.com/pod-eni", 4*time.Minute),
		misleading("pod-eni-and-the-cni-is-not-ready", "Karpenter waits for the resource of a node whose network plugin crashes: the resource comes later.",
			from(docPodENI, docInitialized), func(b *Bundle) *verdict {
				m := b.cniWaits(Batch)
				b.claimSays(m, "Registered", "True", "Registered", "", 25*time.Minute)
				b.claimSays(m, "Initialized", "Unknown", "NodeNotReady", "Node status is NotReady", 25*time.Minute)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady")
			}),

		misleading("custom-networking-without-a-free-address", "With custom networking pods get addresses of another subnet. The node's own has none left, and why the plugin crashes is not in sight.",
			from(docCustomNetwork, "https://github.com/aws/amazon-vpc-cni-k8s/issues/2426"), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.find(b.Subnets, "SubnetId", subnet("a"))["AvailableIpAddressCount"] = 0
				return finds(m, "Uninitialized", "").suggests("SubnetIpsExhausted")
			}),
		misleading("custom-networking-whose-pod-subnet-is-full", "The subnet of the pods, of a secondary CIDR, is full. No node is in it, and nothing shows that the plugin uses it.",
			from(docCustomNetwork), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.addSubnet("subnet-0a1b2c3d4e5f60177", "a", "100.64.0.0/19", 0)
				return finds(m, "Uninitialized", "CniNotReady").saysNot("100.64")
			}),
		misleading("full-subnet-of-a-node-that-works", "The subnet has no address left, and its nodes work.",
			from(docNetwork), func(b *Bundle) *verdict {
				worker(b)
				b.find(b.Subnets, "SubnetId", subnet("a"))["AvailableIpAddressCount"] = 0
				return nothing().orders()
			}),

		registers("node-that-karpenter-sees-twice", false, "Two Node objects carry the provider ID of one instance: Karpenter registers neither.", "False", "MultipleNodesFound", "Invariant violated, matched multiple nodes", 26*time.Minute),
		registers("node-whose-registration-hook-waits", false, "A hook of Karpenter's registration does not finish, so that its taint stays.", "Unknown", "RegistrationHookPending", "capacity-hook", 26*time.Minute),
		registers("young-node-whose-registration-hook-waits", true, "The same of a node that is five minutes old.", "Unknown", "RegistrationHookPending", "capacity-hook", 5*time.Minute),
		misleading("node-with-a-hook-that-is-done", "The hook is done, the node is registered and initialized, and its kubelet went silent days later: that has nothing to do with it.",
			from(docRegistration, docNodes), func(b *Bundle) *verdict {
				m := b.joined(Batch, 5*day)
				b.silent(m, 45*time.Minute)
				return finds(m, "Unknown", "").suggests("KubeletSilent").saysNot("unregistered")
			}),

		private("endpoint-that-nobody-accepted", false, "The endpoint of EC2 waits for somebody who accepts it.", "VpcEndpointMissing", func(e object) { e["State"] = "pendingAcceptance" }),
		private("endpoint-that-failed", false, "The endpoint of EC2 failed.", "VpcEndpointMissing", func(e object) { e["State"] = "failed" }),
		private("endpoint-in-a-subnet-of-another-zone", true, "The endpoint of EC2 has its interface in another zone's subnet, which is as good within the VPC.", "", func(e object) { e["SubnetIds"] = []string{subnet("b")} }),
		private("endpoint-of-a-service-by-its-dual-stack-name", true, "The endpoint of EC2 has IPv4 and IPv6 addresses.", "", func(e object) { e["IpAddressType"] = "dualstack" }),

		broken("launch-with-a-profile-that-is-gone", "Somebody deleted the instance profile that Karpenter made: the NodeClaim says so.",
			from(docProfileRace), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.launchFails(Batch, "InstanceProfileNameInvalid", "Instance profile name used from EC2NodeClass status does not exist")
				return launches(Batch, "InstanceProfileMissing").orders()
			}),
		broken("node-class-with-a-profile-that-does-not-exist", "An EC2NodeClass names an instance profile that does not exist.",
			from(docNodeClassChecks), func(b *Bundle) *verdict {
				b.unready(Batch, 40*time.Minute, "ValidationSucceeded", "InstanceProfileNotFound", `Instance profile "payments-batch" not found`)
				return launches(Batch, "InstanceProfileMissing").orders()
			}),
		misleading("node-class-whose-profile-is-not-known-yet", "Karpenter may not create the instance profile, and the condition only says Unknown: what is quoted is that, and no profile is called missing.",
			from(docNodePoolStatus, docNodeClassStatus), func(b *Bundle) *verdict {
				b.unready(Batch, 40*time.Minute, "InstanceProfileReady", "AwaitingReconciliation", "object is awaiting reconciliation")
				for _, c := range b.NodeClasses[len(b.NodeClasses)-1]["status"].(object)["conditions"].([]object) {
					if c["status"] == "False" {
						c["status"] = "Unknown"
					}
				}
				b.poolOf(Batch)["status"].(object)["conditions"].([]object)[0] = b.claimCondition("NodeClassReady", "False", "NodeClassReadinessUnknown", "Node Class Readiness Unknown", 40*time.Minute)
				return launches(Batch, "NodePoolNotReady").says("InstanceProfileReady is Unknown").saysNot("does not exist").orders()
			}),
		misleading("launch-with-a-profile-that-came-late", "A NodeClaim was refused for a profile that IAM had not told EC2 of yet. One that came after it was launched and became a node.",
			from(docProfileRace, "https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency"), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.launchFails(Batch, "InstanceProfileNameInvalid", "Instance profile name used from EC2NodeClass status does not exist")
				b.joined(Batch, 5*time.Minute)
				return nothing().orders()
			}),
	}
}
