package generate

import "time"

// wellCases are accounts without findings, or without anything to report.
func wellCases() []Case {
	return []Case{
		well("all-is-well", "The healthy account that every other case is made from.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/eks-compute.html"), func(*Bundle) *verdict { return nothing().orders() }),
		well("bastion-with-the-clusters-tag", "A block of default tags put the cluster's tag on a bastion, which nobody meant to be a node.",
			from("https://registry.terraform.io/providers/hashicorp/aws/latest/docs/guides/resource-tagging", docTroubleshooting), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.1.21", "a", Edge, 20*day)
				m.untag("aws:autoscaling:groupName")
				m.untag("aws:ec2launchtemplate:id")
				m.untag("aws:ec2launchtemplate:version")
				b.Members = without(b.Members, "InstanceId", m.ID)
				b.ScalingGroups = without(b.ScalingGroups, "AutoScalingGroupName", Edge.ASG())
				m.Instance["SubnetId"], m.Instance["PublicIpAddress"] = publicSubnet("a"), "203.0.113.20"
				b.UserData[m.ID] = "#!/bin/bash\ndnf install -y postgresql15\n"
				return nothing()
			}),
		well("three-minutes-old", "An instance was launched three minutes ago and has no node yet, as is usual.",
			from(docNodeClaims, docKarpenter), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Default, 3*time.Minute)
				b.UserData[m.ID] = UserData(Default)
				return nothing()
			}),
		well("drained-by-a-person", "Somebody cordoned and drained a node, which is Ready.",
			from("https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/"), func(b *Bundle) *verdict {
				b.healthy.worker.Node["spec"].(object)["unschedulable"] = true
				b.taint(b.healthy.worker, "node.kubernetes.io/unschedulable", "NoSchedule")
				return nothing()
			}),
		well("hybrid-node-that-is-silent", "The site of a hybrid node lost its connection. It is no EC2 instance, and nobody is to judge it or to delete its Node.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-network-disconnections.html"), func(b *Bundle) *verdict {
				b.hybrid("mi-0a1b2c3d4e5f60718")
				n := b.Nodes[len(b.Nodes)-1]
				n["status"] = object{"conditions": []object{b.condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", 70*time.Minute)}}
				n["spec"].(object)["taints"] = []object{{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule", "timeAdded": b.kubeTime(70 * time.Minute)}}
				return nothing().orders()
			}),
		well("dedicated-nodes", "A node keeps a taint for good, to be kept for some pods: no startup taint.",
			from("https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"), func(b *Bundle) *verdict {
				b.taint(b.healthy.karpenter, "dedicated", "NoSchedule")
				b.taint(b.healthy.system, "nvidia.com/gpu", "NoSchedule")
				return nothing()
			}),
		well("going-away", "The group scales in: an instance is shutting down, and its node is silent and about to go.",
			from("https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.silent(m, time.Minute)
				m.Instance["State"], m.Status["InstanceState"] = object{"Code": 32, "Name": "shutting-down"}, object{"Code": 32, "Name": "shutting-down"}
				m.Member["LifecycleState"] = "Terminating"
				return nothing()
			})),
		well("waiting-in-a-warm-pool", "An instance of the self-managed group runs in its warm pool until it is needed.",
			from("https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html"), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Legacy, 3*time.Hour)
				b.UserData[m.ID] = UserData(Legacy)
				m.Member["LifecycleState"] = "Warmed:Running"
				return nothing()
			}),
		well("endpoints-and-routes-of-another-kind", "The public endpoint is off and the subnets have no NAT gateways but interface endpoints: unusual, and every node is Ready.",
			from(docPrivate), func(b *Bundle) *verdict {
				b.endpoint(false, true)
				b.aside()
				b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "sts", "eks")
				m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 3*day)
				m.moved()
				b.Join(m, 3*day-time.Minute)
				return nothing()
			}),
		misleading("gone-and-its-node-left-behind", "EC2 has terminated the instance and its Node is still there. That is the finding; it has no cause in the bundle but the silence.",
			from(docNodes, "https://github.com/kubernetes/cloud-provider-aws"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				m.Instance["State"] = object{"Code": 48, "Name": "terminated"}
				b.Statuses = without(b.Statuses, "InstanceId", m.ID)
				b.Members = without(b.Members, "InstanceId", m.ID)
				return finds(m, "Ghost", "", "KubeletSilent")
			})),
		misleading("back-and-forth", "A node that is days old left Ready and came back six times within the hour. It is Ready now, and nothing tells why it flaps.",
			from("https://github.com/kubernetes/kubernetes/issues/109965", "https://github.com/awslabs/amazon-eks-ami/issues/1228"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.says(m, "Ready", "True", "KubeletReady", "kubelet is posting ready status", 4*time.Minute)
				var flips []string
				for _, d := range []time.Duration{52, 43, 34, 25, 14, 4} {
					flips = append(flips, b.kubeTime(d*time.Minute))
				}
				b.remembered(m, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", 5*day, time.Minute)
				b.Ledger["nodes"].(object)[m.Name()].(object)["readyFlips"] = flips
				return finds(m, "Flapping", "").orders()
			})),
		misleading("nothing-else-was-captured", "Only the three files that must exist: the instance is unregistered, and every question about why is open.",
			from(docTroubleshooting), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				for name := range b.Files() {
					switch name {
					case "at.txt", "cluster.json", "instances.json", "nodes.json":
					default:
						b.Lacks(name)
					}
				}
				return unregistered(m, "").misses("NodeRoleNotMapped", "UserDataClusterMismatch", "SecurityGroupBlocksApi", "NaclBlocksApi", "DnsDisabled")
			})),
		misleading("roles-may-not-be-read", "Whoever captured this may not read IAM, and the mapping that looks missing may be that of another role.",
			from(docNodeRole, docAccessEntries), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unmap(BatchGroup)
				b.Lacks("instance-profiles.json", "roles.json", "attached-policies.json", "nodegroups.json")
				return unregistered(m, "").misses("NodeRoleNotMapped", "RoleTrustInvalid")
			})),
		misleading("access-entries-may-not-be-read", "aws-auth does not have the role, and the access entries, one of which may, were not captured.",
			from(docAuthMode), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Lacks("access-entries.json")
				return unregistered(m, "").misses("NodeRoleNotMapped")
			})),
		misleading("network-acls-may-not-be-read", "Everything about the network but its ACLs was captured and is fine; whether an ACL is in the way stays open.",
			from("https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Lacks("network-acls.json")
				return unregistered(m, "").misses("NaclBlocksApi")
			})),
	}
}

// absenceCases are about what a bundle does not show, and about what only seems to speak
// against a cause.
func absenceCases() []Case {
	mapping := []string{"https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html", "https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html"}
	// moved gives a machine the profile and the role of another group.
	moved := func(b *Bundle, m *Machine, to Group) {
		b.identity(to)
		m.Instance["IamInstanceProfile"] = object{"Arn": "arn:aws:iam::" + Account + ":instance-profile/" + to.Profile(), "Id": "AIPA" + token(to.Profile())}
	}
	// unmapped adds a node of the pool that went silent, and whose role has no access entry.
	unmapped := func(b *Bundle) *Machine {
		m := b.joined(Batch, 5*day)
		b.silent(m, 45*time.Minute)
		b.unmap(Batch)
		return m
	}
	// newer adds a later, healthy node of the pool.
	newer := func(b *Bundle) *Machine {
		m := b.Launch(SickToo, "10.0.41.22", "a", Batch, 2*time.Hour)
		b.Join(m, 2*time.Hour-time.Minute)
		return m
	}
	return []Case{
		broken("old-role-of-the-pool-unmapped", "The EC2NodeClass got another role, and the access entry of the old one was deleted. The node that still has the old role went silent; a newer one of the pool is well, with the new role.",
			append(mapping, "https://karpenter.sh/docs/concepts/nodeclasses/#specrole"), on(unmapped, func(b *Bundle, m *Machine) *verdict {
				moved(b, newer(b), Workers)
				return finds(m, "Unknown", "NodeRoleNotMapped", "KubeletSilent").holds("")
			})),
		misleading("unmapped-role-with-which-another-of-the-pool-works", "The node went silent, and its role has no access entry; another node of the pool has the same role and reports, so the cluster knows the role still, or the entry was deleted a moment ago.",
			mapping, on(unmapped, func(b *Bundle, m *Machine) *verdict {
				newer(b)
				return finds(m, "Unknown", "").suggests("NodeRoleNotMapped", "KubeletSilent")
			})),
		misleading("unmapped-role-with-which-another-group-works", "The node is the only one of its group, and its role has no access entry; a node of another group has the same role and reports.",
			mapping, on(unmapped, func(b *Bundle, m *Machine) *verdict {
				moved(b, b.healthy.worker, Batch)
				return finds(m, "Unknown", "").suggests("NodeRoleNotMapped", "KubeletSilent")
			})),
	}
}
