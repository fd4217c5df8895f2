package generate

// identityCases are about which role a node has and whether the cluster knows it.
func identityCases() []Case {
	return []Case{
		{
			Name: "role-in-no-access-entry", Class: Broken,
			Why:     "The cluster authenticates by access entries alone, and the node role has none.",
			Sources: []string{docAccessEntries, "https://github.com/aws/karpenter-provider-aws/issues/6084"},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.access("API")
				m := b.Unregistered(Batch)
				b.unmap(Batch)
				return unregistered(m, "NodeRoleNotMapped")
			},
		},
		{
			Name: "role-in-the-store-that-is-off", Class: Broken,
			Why:     "The node role stands in aws-auth, which a cluster with authentication mode API does not read.",
			Sources: []string{docAuthMode, docAccessEntries},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.access("API")
				return unregistered(b.Unregistered(Edge), "NodeRoleNotMapped")
			},
		},
		{
			Name: "role-not-in-aws-auth", Class: Broken,
			Why:     "Authentication mode CONFIG_MAP, and aws-auth maps the roles of other node groups only.",
			Sources: []string{docAwsAuth, repostJoin, "https://github.com/aws/karpenter-provider-aws/issues/3218"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.configMapOnly()
				return unregistered(m, "NodeRoleNotMapped")
			},
		},
		{
			Name: "role-in-neither-store", Class: Broken,
			Why:     "Both stores are on, and neither has the role; the node group says itself that its nodes do not join, which is the symptom.",
			Sources: []string{docNodegroupIssue, repostNodeGroup, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2979"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				b.unmap(BatchGroup)
				b.unhealthyGroup(m, "NodeCreationFailure", "Instances failed to join the kubernetes cluster")
				return unregistered(m, "NodeRoleNotMapped", "NodeGroupUnhealthy")
			},
		},
		{
			Name: "one-unmapped-role-behind-two-groups", Class: Broken,
			Why:     "Two node groups share a role that nobody mapped: replacing either instance changes nothing.",
			Sources: []string{docAccessEntries, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2979"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				nightly := BatchGroup
				nightly.Name, nightly.Template = "nightly", "lt-0ba90000000000000"
				other := b.Launch(SickToo, "10.0.41.22", "b", nightly, m.Age)
				b.UserData[other.ID] = UserData(nightly)
				b.unmap(BatchGroup)
				return unregistered(m, "NodeRoleNotMapped").and(other, "Unregistered", "NodeRoleNotMapped").holds("SharedCause")
			},
		},
		{
			Name: "controller-role-in-aws-auth", Class: Broken, Report: wrongRole,
			Why:     "Somebody mapped Karpenter's controller role with the groups of nodes, and not the node role.",
			Sources: []string{docKarpenter, docAwsAuth, "https://github.com/aws/karpenter-provider-aws/issues/1225"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.configMapOnly()
				b.MapRoles = append(b.MapRoles, mapNode(b.controller()))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			},
		},
		{
			Name: "controller-role-has-the-access-entry", Class: Broken, Report: wrongRole,
			Why:     "The access entry of type EC2_LINUX is the controller role's; the node role has none.",
			Sources: []string{docAccessEntries, "https://github.com/aws/karpenter-provider-aws/issues/5369"},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.access("API")
				m := b.Unregistered(Batch)
				b.unmap(Batch)
				b.Entries = append(b.Entries, entry(b.controller(), "EC2_LINUX"))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			},
		},
		{
			Name: "controller-role-in-aws-auth-beside-entries", Class: Broken, Report: wrongRole,
			Why:     "Both stores are on; the other groups have access entries, and for the new pool the controller role went into aws-auth.",
			Sources: []string{docAuthMode, docAwsAuth, docKarpenter},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.unmap(Batch)
				b.MapRoles = append(b.MapRoles, mapNode(b.controller()))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			},
		},
		{
			Name: "controller-role-mapped-as-well", Class: Misleading, Report: wrongRole,
			Why:     "The controller role is mapped needlessly, but the node role is mapped too: what keeps the node away is the security group.",
			Sources: []string{docAwsAuth, docFirewall},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.MapRoles = append(b.MapRoles, mapNode(b.controller()))
				b.behind(m, nil, []object{toEverybody("udp", 53)})
				b.admit(fromGroup("-1", 0, batchGroup))
				return unregistered(m, "SecurityGroupBlocksApi").rulesOut("NodeRoleNotMapped")
			},
		},
		{
			Name: "access-entry-standard", Class: Broken,
			Why:     "The node role's access entry has the type STANDARD, which makes its bearer no node.",
			Sources: []string{docCreateEntry, "https://github.com/aws/karpenter-provider-aws/issues/7558"},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.access("API")
				m := b.Unregistered(Batch)
				b.unmap(Batch)
				b.Entries = append(b.Entries, entry(Batch.RoleARN(), "STANDARD"))
				return unregistered(m, "AccessEntryWrongType")
			},
		},
		{
			Name: "access-entry-standard-wins-over-aws-auth", Class: Broken,
			Why:     "aws-auth maps the role rightly, but a role with an access entry is judged by the entry alone, even a wrong one.",
			Sources: []string{docAuthMode, docAccessEntries},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.Entries = append(b.Entries, entry(Edge.RoleARN(), "STANDARD"))
				return unregistered(m, "AccessEntryWrongType")
			},
		},
		{
			Name: "access-entry-for-fargate", Class: Broken,
			Why:     "The entry was made for Fargate pods; EC2 instances do not join with it.",
			Sources: []string{docCreateEntry},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				b.unmap(BatchGroup)
				b.Entries = append(b.Entries, entry(BatchGroup.RoleARN(), "FARGATE_LINUX"))
				return unregistered(m, "AccessEntryWrongType")
			},
		},
		{
			Name: "access-entry-of-type-ec2", Class: Misleading,
			Why:     "EC2 is a type for nodes (of Auto Mode), so the type is not called wrong. The user data is for another cluster.",
			Sources: []string{docCreateEntry, "https://github.com/eksctl-io/eksctl/issues/8098"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				b.entryOf(BatchGroup)["type"] = "EC2"
				b.retext(m, nodeadmData("payments-staging", CA))
				return unregistered(m, "UserDataClusterMismatch")
			},
		},
		{
			Name: "access-entry-older-than-its-role", Class: Broken,
			Why:     "The role was deleted and created again under its name; the entry still holds the old role's id.",
			Sources: []string{"https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329", "https://github.com/aws/containers-roadmap/issues/2631"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				b.find(b.Roles, "RoleName", BatchGroup.Role)["CreateDate"] = b.ec2Time(20 * day)
				return unregistered(m, "AccessEntryStale")
			},
		},
		{
			Name: "another-role-was-recreated", Class: Misleading,
			Why:     "A stale entry belongs to a role that this instance does not have; its own entry is younger than its role. DNS names are off for the VPC.",
			Sources: []string{"https://github.com/aws/containers-roadmap/issues/2441", docNetwork},
			Build: func(b *Bundle, h healthy) *verdict {
				b.RemoveAll(h)
				m := b.Unregistered(BatchGroup)
				b.find(b.Roles, "RoleName", Workers.Role)["CreateDate"] = b.ec2Time(20 * day)
				b.Attributes[vpc] = dns(true, false)
				return unregistered(m, "DnsDisabled")
			},
		},
		{
			Name: "no-instance-profile", Class: Broken,
			Why:     "The launch template names no instance profile, so the kubelet has no credentials at all.",
			Sources: []string{docNodeRole, docTroubleshooting},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				delete(m.Instance, "IamInstanceProfile")
				delete(b.template(Edge)["LaunchTemplateData"].(object), "IamInstanceProfile")
				return unregistered(m, "InstanceProfileMissing")
			},
		},
		{
			Name: "instance-profile-without-a-role", Class: Broken,
			Why:     "The instance profile is there, and the role was taken out of it.",
			Sources: []string{"https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_switch-role-ec2_instance-profiles.html", docNodeRole},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.find(b.Profiles, "InstanceProfileName", Batch.Profile())["Roles"] = []object{}
				return unregistered(m, "InstanceProfileMissing")
			},
		},
		{
			Name: "role-does-not-trust-ec2", Class: Broken,
			Why:     "The node role may be assumed by EKS and not by EC2, so the instance gets no credentials.",
			Sources: []string{docNodeRole},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.find(b.Roles, "RoleName", Batch.Role)["AssumeRolePolicyDocument"] = trust("eks.amazonaws.com")
				return unregistered(m, "RoleTrustInvalid")
			},
		},
		{
			Name: "role-trusts-a-list-of-services", Class: Misleading,
			Why:     "The trust policy names EC2 in a list, beside Systems Manager, and the action in a list too: that is as good. No cause is shown.",
			Sources: []string{"https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html", docNodeRole},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.find(b.Roles, "RoleName", Batch.Role)["AssumeRolePolicyDocument"] = object{"Version": "2012-10-17", "Statement": object{
					"Effect": "Allow", "Principal": object{"Service": []string{"ssm.amazonaws.com", "ec2.amazonaws.com"}}, "Action": []string{"sts:AssumeRole", "sts:TagSession"},
				}}
				return unregistered(m, "").rulesOut("RoleTrustInvalid")
			},
		},
		{
			Name: "role-without-node-policies", Class: Misleading,
			Why:     "The role has the CNI's policy alone. Inline policies could grant the rest and are not in sight, so this is a hint and no proof.",
			Sources: []string{docNodeRole, repostNodeGroup},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.Policies[Batch.Role] = policies("AmazonEKS_CNI_Policy")
				return unregistered(m, "").suggests("RolePoliciesMissing")
			},
		},
		{
			Name: "role-with-policies-of-its-own", Class: Misleading,
			Why:     "The company grants what nodes need by a policy of its own. The node is kept away by the network ACL.",
			Sources: []string{docNodeRole, "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				b.Policies[BatchGroup.Role] = []object{{"PolicyName": "payments-nodes", "PolicyArn": "arn:aws:iam::" + Account + ":policy/payments-nodes"}}
				b.aside(route("NatGatewayId", natGateway("a")))
				b.asideRules(aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "6", "allow", 80, 80))
				m.moved()
				return unregistered(m, "NaclBlocksApi")
			},
		},
	}
}
