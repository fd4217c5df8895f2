package generate

import "time"

// reachCases are about what nodes lost that once worked, and what stands behind a CNI that fails.
func reachCases() []Case {
	const awsNode = "https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/"
	// starting is a node of the group that never was ready for want of its CNI.
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
			from(docAuthMode), func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.controller()
				return finds(m, "Unknown", "KubeletSilent").rulesOut("NodeRoleNotMapped", "AccessEntryWrongType")
			}),
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
			from(awsNode+"iam-policy.md", "https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html"), func(b *Bundle) *verdict {
				m := starting(b)
				p := b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				b.podEvent(p, "MissingIAMPermissions", "Unauthorized operation: failed to call ec2:AssignIpv6Addresses due to missing permissions. Please refer https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/iam-policy.md to attach relevant policy to IAM role", 2*time.Minute, 5)
				return finds(m, "Uninitialized", "RolePoliciesMissing", "CniNotReady")
			}),
		misleading("another-pod-may-not-call-ec2", "A pod of an application says that it may not call EC2; the CNI says nothing of the kind, and the node lacks it.",
			from(awsNode+"iam-policy.md"), func(b *Bundle) *verdict {
				m := starting(b)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				p := b.pod(m, "inventory", "CrashLoopBackOff", "back-off 5m0s restarting failed container=inventory")
				b.podEvent(p, "Failed", "UnauthorizedOperation: You are not authorized to perform ec2:DescribeSubnets", 2*time.Minute, 5)
				return finds(m, "Uninitialized", "CniNotReady")
			}),
		misleading("condition-that-happens-again", "The monitoring agent's condition stands alone on a Ready node, and its event came again minutes ago: it is not over.",
			from(docNodeHealth), func(b *Bundle) *verdict {
				m := worker(b)
				b.says(m, "KernelReady", "False", "ForkFailedOutOfPID", "Fork failed", 2*time.Hour)
				b.nodeEvent(m, "eks-node-monitoring-agent", "ForkFailedOutOfPID", "Fork failed", "Warning", 3*time.Minute, 9)
				return finds(m, "ConditionFailed", "").suggests("MonitoringConditionLatched")
			}),
		misleading("condition-whose-events-were-not-captured", "The monitoring agent's condition stands alone on a Ready node; whether it happened again is in events that nobody captured.",
			from(docNodeHealth), func(b *Bundle) *verdict {
				m := worker(b)
				b.says(m, "KernelReady", "False", "ForkFailedOutOfPID", "Fork failed", 2*time.Hour)
				b.Lacks("k8s-events.json")
				return finds(m, "ConditionFailed", "").suggests("MonitoringConditionLatched")
			}),
	}
}
