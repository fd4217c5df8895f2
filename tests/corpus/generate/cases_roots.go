package generate

import "time"

// rootCases are about symptoms with their explanations, and what EKS reports about a node
// group.
func rootCases() []Case {
	return []Case{
		broken("node-group-says-its-role-is-gone", "EKS no longer finds the node role of the group; neither the role nor its profile was captured.",
			from(docNodegroupIssue, repostNodeGroup), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Lacks("roles.json", "instance-profiles.json")
				b.unhealthyGroup(m, "IamNodeRoleNotFound", "The IAM role arn:aws:iam::111122223333:role/payments-batch-node for the node group could not be found")
				return unregistered(m, "InstanceProfileMissing", "NodeGroupUnhealthy").and(groupOf(m), "Unlaunched", "InstanceProfileMissing")
			})),
		broken("node-group-is-denied-and-the-mappings-were-not-captured", "EKS says that the worker nodes have no access and to look for their role in aws-auth; nobody captured aws-auth or the access entries.",
			from(docNodegroupIssue, "https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#troubleshoot-managed-node-groups"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Lacks("aws-auth.json", "access-entries.json")
				b.unhealthyGroup(m, "AccessDenied", "Your worker nodes do not have access to the cluster. Verify if the node instance role is present and correctly configured in the aws-auth ConfigMap.")
				return unregistered(m, "NodeRoleNotMapped", "NodeGroupUnhealthy")
			})),
		misleading("node-group-is-denied-and-the-role-is-mapped", "EKS says that it, or a node, is denied. The role of the nodes is mapped as it should be; their security group lets no HTTPS out.",
			from(docNodegroupIssue, docFirewall), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unhealthyGroup(m, "AccessDenied", "Your worker nodes do not have access to the cluster. Verify if the node instance role is present and correctly configured in the aws-auth ConfigMap.")
				b.SecurityGroups = append(b.SecurityGroups, firewall(batchGroup, "payments-batch", nil, []object{toEverybody("tcp", 80)}))
				m.Instance["SecurityGroups"] = []object{{"GroupId": batchGroup, "GroupName": "payments-batch"}}
				return unregistered(m, "SecurityGroupBlocksApi", "NodeGroupUnhealthy").rulesOut("NodeRoleNotMapped")
			})),
		misleading("node-group-whose-ami-is-gone-and-dns-off", "EKS finds the group's AMI no more, which keeps it from launching others: this instance was launched from it. The VPC has no DNS.",
			from(docNodegroupIssue, docNetwork), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unhealthyGroup(m, "AmiIdNotFound", "The AMI ami-0a23aaaaaaaaaaaa1 for the node group could not be found")
				b.Attributes[vpc] = dns(false, false)
				return unregistered(m, "DnsDisabled", "NodeGroupUnhealthy").and(groupOf(m), "Unlaunched", "LaunchAmiInvalid")
			})),
		misleading("node-group-that-eks-cannot-reach", "EKS says that a node or EKS itself cannot reach the API server. It is public only, and the routes were not captured: a hint.",
			from(docNodegroupIssue), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.endpoint(true, false)
				b.Lacks("route-tables.json")
				b.unhealthyGroup(m, "ClusterUnreachable", "The managed node group is unable to communicate with the cluster's API server")
				return unregistered(m, "").suggests("ApiEndpointUnreachable", "NodeGroupUnhealthy")
			})),
		broken("node-group-issue-and-another-cluster-in-the-user-data", "EKS says that instances failed to join, which the finding says already; their launch template joins another cluster.",
			from(docNodegroupIssue, docTemplates), func(b *Bundle) *verdict {
				own := BatchGroup
				own.Custom = true
				m := b.Unregistered(own)
				b.retext(m, nodeadmData("payments-staging", OtherCA))
				b.unhealthyGroup(m, "NodeCreationFailure", "Instances failed to join the kubernetes cluster")
				return unregistered(m, "UserDataClusterMismatch", "NodeGroupUnhealthy")
			}),
		misleading("silent-and-its-role-no-longer-mapped", "A node fell silent, and its role is in no store; another node of the group is Ready, whose token is still good. That the mapping is gone is likely, and stands first.",
			from(docAuthMode, docNodes), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.unmap(Workers)
				return finds(m, "Unknown", "").suggests("NodeRoleNotMapped", "KubeletSilent")
			})),
		misleading("silent-and-the-console-was-not-captured", "A silent node of which only the node itself was captured: what may have befallen the machine is not checked, and nothing is claimed of it.",
			from(docNodes, docStatusChecks), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.Lacks("instance-status.json", "k8s-events.json", "security-groups.json")
				return finds(m, "Unknown", "").suggests("KubeletSilent").misses("KernelPanic", "OutOfMemory", "SystemStatusImpaired", "SecurityGroupBlocksApi", "MemoryPressurePreceded")
			})),
		broken("cni-missing-and-no-endpoint-for-its-image", "The node is not ready for want of its CNI, the group's health issue says that nodes fail to join, and both have one root: no endpoint of S3, where the layers of images lie.",
			from(docPrivate, "https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html"), func(b *Bundle) *verdict {
				b.aside()
				b.privateEndpoint(clusterGroup, "ec2", "sts", "eks", "ecr.api", "ecr.dkr")
				m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 26*time.Minute)
				m.moved()
				b.Join(m, 25*time.Minute)
				b.neverReady(m)
				b.pod(m, "aws-node", "ImagePullBackOff", `Back-off pulling image "123456789012.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.21.1-eksbuild.1"`)
				b.unhealthyGroup(m, "NodeCreationFailure", "Unhealthy nodes in the kubernetes cluster")
				return finds(m, "Uninitialized", "VpcEndpointMissing", "CniNotReady", "NodeGroupUnhealthy")
			}),
	}
}

// reportCases are about managed node groups that EKS calls failed for what befell instances after
// their launch.
func reportCases() []Case {
	const issues = "https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html"
	// failed makes EKS report the workers as not created.
	failed := func(b *Bundle, code, message string, ids ...string) {
		g := b.find(b.NodeGroups, "nodegroupName", Workers.Name)
		g["status"], g["createdAt"], g["modifiedAt"] = "CREATE_FAILED", b.eksTime(55*time.Minute), b.eksTime(25*time.Minute)
		g["health"] = object{"issues": []object{{"code": code, "message": message, "resourceIds": ids}}}
	}
	const join = "Instances failed to join the kubernetes cluster"
	return []Case{
		misleading("node-group-not-created-and-its-node-works", "EKS says that the group's instances failed to join. Its only one has a Ready node: no launch fails, and nothing is proven.",
			from(docNodegroupIssue, issues), func(b *Bundle) *verdict {
				failed(b, "NodeCreationFailure", join, b.healthy.worker.ID)
				return launches(Workers, "").suggests("NodeGroupUnhealthy").orders()
			}),
		misleading("node-group-not-created-for-access-and-its-node-works", "EKS says that it, or a node, is denied. The group's only node is Ready.",
			from(docNodegroupIssue, issues), func(b *Bundle) *verdict {
				failed(b, "AccessDenied", "Your worker nodes do not have access to the cluster. Verify if the node instance role is present and correctly configured in the aws-auth ConfigMap.")
				return launches(Workers, "").suggests("NodeGroupUnhealthy").orders()
			}),
		misleading("node-group-not-created-and-one-instance-does-not-join", "The same report, and one of two instances did not join: its role is mapped, and no cause is shown but what EKS says.",
			from(docNodegroupIssue, issues), unjoined(Workers, func(b *Bundle, m *Machine) *verdict {
				failed(b, "NodeCreationFailure", join, m.ID)
				return unregistered(m, "").suggests("NodeGroupUnhealthy").and(groupOf(m), "Unlaunched", "").suggests("NodeGroupUnhealthy").orders()
			})),
		misleading("node-group-not-created-and-two-nodes-broke-later", "EKS still says that the first instances of the group did not join. Two nodes that worked for days have broken runtimes: that report is no cause that they share.",
			from(docNodegroupIssue, "https://github.com/aws/containers-roadmap/issues/764"), on(worker, func(b *Bundle, m *Machine) *verdict {
				other := b.Another(m)
				b.Join(other, m.Age-2*time.Minute)
				b.notReady(m, runtimeDown, 50*time.Minute)
				b.notReady(other, runtimeDown, 40*time.Minute)
				failed(b, "NodeCreationFailure", join, m.ID)
				g := b.find(b.NodeGroups, "nodegroupName", Workers.Name)
				g["createdAt"], g["modifiedAt"] = b.eksTime(6*day), b.eksTime(6*day)
				return finds(m, "NotReady", "").suggests("NodeGroupUnhealthy").and(other, "NotReady", "").suggests("NodeGroupUnhealthy").and(groupOf(m), "Unlaunched", "").suggests("NodeGroupUnhealthy").orders("cordon")
			})),
		misleading("node-group-with-other-subnets-and-two-nodes-broke", "Somebody gave the group's Auto Scaling group other subnets, which EKS reports for good, and two nodes have broken runtimes.",
			from(docNodegroupIssue, "https://github.com/aws/containers-roadmap/issues/170"), on(worker, func(b *Bundle, m *Machine) *verdict {
				other := b.Another(m)
				b.Join(other, m.Age-2*time.Minute)
				b.notReady(m, runtimeDown, 50*time.Minute)
				b.notReady(other, runtimeDown, 40*time.Minute)
				b.unhealthyGroup(m, "AutoScalingGroupInvalidConfiguration", "The Auto Scaling group has subnets that Amazon EKS does not expect.")
				return finds(m, "NotReady", "").suggests("NodeGroupUnhealthy").and(other, "NotReady", "").suggests("NodeGroupUnhealthy").orders("cordon")
			})),
		broken("node-group-not-created-for-its-role-and-its-node-works", "EKS no longer finds the group's role, for which it launches nothing more, whatever works still.",
			from(docNodegroupIssue, issues), func(b *Bundle) *verdict {
				failed(b, "IamNodeRoleNotFound", "The IAM role arn:aws:iam::111122223333:role/payments-workers-node for the node group could not be found")
				return launches(Workers, "InstanceProfileMissing").orders()
			}),
	}
}

// groupOf returns the machine's node group, which a finding may be about.
func groupOf(m *Machine) *Machine { return &Machine{ID: "nodegroup/" + m.Group.Name} }
