package generate

// controllerCases are about roles that are mapped in place of the nodes', and whose they
// are: a controller's role may have any name, and a node's role may have Karpenter's.
func controllerCases() []Case {
	const podIdentity = "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html"
	const webIdentityPage = "https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html"
	const karpenterPolicies = "https://karpenter.sh/docs/reference/cloudformation/"
	// instead is a case in which aws-auth maps a role in place of the batch nodes'.
	instead := func(b *Bundle, arn string) *Machine {
		m := b.Unregistered(Batch)
		b.configMapOnly()
		b.MapRoles = append(b.MapRoles, mapNode(arn))
		return m
	}
	return []Case{
		broken("controller-role-of-any-name-by-its-service-account", "The role in aws-auth has a name that says nothing. Its trust policy lets Karpenter's service account assume it, and not EC2.",
			from(webIdentityPage, docKarpenter), func(b *Bundle) *verdict {
				m := instead(b, b.assumed(namelessRole, webIdentity("kube-system:karpenter")))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			}).of(wrongRole),
		broken("controller-role-of-any-name-by-pod-identity", "The access entry of type EC2_LINUX belongs to a role that EKS Pod Identity alone may assume, and that launches instances.",
			from(podIdentity, docAccessEntries, karpenterPolicies), func(b *Bundle) *verdict {
				b.access("API")
				m := b.Unregistered(Batch)
				b.unmap(Batch)
				arn := b.assumed(namelessRole, object{"Principal": object{"Service": "pods.eks.amazonaws.com"}, "Action": []string{"sts:AssumeRole", "sts:TagSession"}})
				b.may(namelessRole, "ec2:RunInstances", "ec2:CreateFleet", "iam:PassRole")
				b.Entries = append(b.Entries, entry(arn, "EC2_LINUX"))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			}).of(wrongRole),
		broken("controller-role-of-any-name-by-its-policies", "Karpenter runs outside of the cluster, so neither pods nor EC2 assume its role. That may launch instances and pass roles to them, by two policies.",
			from(karpenterPolicies, docAwsAuth), func(b *Bundle) *verdict {
				m := instead(b, b.assumed(namelessRole, byAccount()))
				b.may(namelessRole, "ec2:RunInstances", "ec2:CreateFleet", "ec2:TerminateInstances")
				b.mayToo(namelessRole, "pass-to-nodes", "iam:PassRole")
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			}).of(wrongRole),
		broken("controller-role-of-any-name-by-the-annotation", "The role could not be read. Karpenter's own service account names it as the one that its pods assume.",
			from(webIdentityPage, docKarpenter), func(b *Bundle) *verdict {
				arn := "arn:aws:iam::" + Account + ":role/" + namelessRole
				m := instead(b, arn)
				b.account(arn)
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			}).of(wrongRole),
		broken("role-of-another-controller-mapped", "Somebody took the load balancer controller's role for that of the nodes. It is no node's either.",
			from(webIdentityPage, docAwsAuth), func(b *Bundle) *verdict {
				m := instead(b, b.assumed("payments-ingress", webIdentity("kube-system:aws-load-balancer-controller")))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			}).of(wrongRole),
		misleading("role-of-other-nodes-named-after-karpenter", "A role called KarpenterController-legacy is mapped; EC2 may assume it, so it is that of other nodes. The role of these is mapped nowhere.",
			from(docNodeRole, docAwsAuth), func(b *Bundle) *verdict {
				const name = "KarpenterController-legacy"
				b.role(name, "/", "ec2.amazonaws.com")
				m := instead(b, "arn:aws:iam::"+Account+":role/"+name)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("ControllerRoleMapped")
			}).of(wrongRole).whole(),
		misleading("role-that-nothing-is-known-of-mapped", "Another role is mapped with the groups of nodes, and it may not be read. That the nodes' own is mapped nowhere is certain; whose the other is, is not.",
			from(docAwsAuth, "https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRole.html"), func(b *Bundle) *verdict {
				m := instead(b, "arn:aws:iam::"+Account+":role/"+namelessRole)
				return unregistered(m, "NodeRoleNotMapped").misses("ControllerRoleMapped")
			}).of(wrongRole),
		misleading("role-of-fargate-mapped", "Karpenter runs on Fargate, whose role is mapped with groups of nodes as it should be. It stands in nobody's place; the nodes' own role is missing.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/fargate-getting-started.html", docAwsAuth), func(b *Bundle) *verdict {
				const name = "KarpenterFargate"
				arn := b.assumed(name, object{"Principal": object{"Service": "eks-fargate-pods.amazonaws.com"}, "Action": "sts:AssumeRole"})
				m := b.Unregistered(Batch)
				b.configMapOnly()
				b.MapRoles = append(b.MapRoles, mapRole(arn, "system:node:{{SessionName}}", "system:bootstrappers", "system:nodes", "system:node-proxier"))
				return unregistered(m, "NodeRoleNotMapped").rulesOut("ControllerRoleMapped")
			}).of(wrongRole).whole(),
		well("controller-role-of-any-name-and-nodes-mapped", "Karpenter's controller has a role of any name, which no store maps, and its nodes' role is mapped.",
			from(podIdentity, docKarpenter), func(b *Bundle) *verdict {
				arn := b.assumed(namelessRole, webIdentity("kube-system:karpenter"))
				b.may(namelessRole, "ec2:RunInstances", "ec2:CreateFleet", "iam:PassRole")
				b.account(arn)
				return nothing()
			}).of(wrongRole),
	}
}
