package generate

// identityCases are about which role a node has and whether the cluster knows it.
func identityCases() []Case {
	return []Case{
		broken("role-in-no-access-entry", "The cluster authenticates by access entries alone, and the node role has none.",
			from(docAccessEntries, "https://github.com/aws/karpenter-provider-aws/issues/6084"), func(b *Bundle) *verdict {
				b.access("API")
				m := b.Unregistered(Batch)
				b.unmap(Batch)
				return unregistered(m, "NodeRoleNotMapped")
			}),
		broken("role-in-the-store-that-is-off", "The node role stands in aws-auth, which a cluster with authentication mode API does not read.",
			from(docAuthMode, docAccessEntries), func(b *Bundle) *verdict {
				b.access("API")
				return unregistered(b.Unregistered(Edge), "NodeRoleNotMapped")
			}),
		broken("role-not-in-aws-auth", "Authentication mode CONFIG_MAP, and aws-auth maps the roles of other node groups only.",
			from(docAwsAuth, repostJoin, "https://github.com/aws/karpenter-provider-aws/issues/3218"), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.configMapOnly()
				return unregistered(m, "NodeRoleNotMapped")
			})),
		broken("role-in-neither-store", "Both stores are on, and neither has the role; the node group says itself that its nodes do not join, which is the symptom.",
			from(docNodegroupIssue, repostNodeGroup, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2979"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unmap(BatchGroup)
				b.unhealthyGroup(m, "NodeCreationFailure", "Instances failed to join the kubernetes cluster")
				return unregistered(m, "NodeRoleNotMapped", "NodeGroupUnhealthy")
			})),
		broken("one-unmapped-role-behind-two-groups", "Two node groups share a role that nobody mapped: replacing either instance changes nothing.",
			from(docAccessEntries, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2979"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				nightly := BatchGroup
				nightly.Name, nightly.Template = "nightly", "lt-0ba90000000000000"
				other := b.Launch(SickToo, "10.0.41.22", "b", nightly, m.Age)
				b.UserData[other.ID] = UserData(nightly)
				b.unmap(BatchGroup)
				return unregistered(m, "NodeRoleNotMapped").and(other, "Unregistered", "NodeRoleNotMapped").holds("SharedCause")
			})),
		broken("controller-role-in-aws-auth", "Somebody mapped Karpenter's controller role with the groups of nodes, and not the node role.",
			from(docKarpenter, docAwsAuth, "https://github.com/aws/karpenter-provider-aws/issues/1225"), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.configMapOnly()
				b.MapRoles = append(b.MapRoles, mapNode(b.controller()))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			})).of(wrongRole),
		broken("controller-role-has-the-access-entry", "The access entry of type EC2_LINUX is the controller role's; the node role has none.",
			from(docAccessEntries, "https://github.com/aws/karpenter-provider-aws/issues/5369"), func(b *Bundle) *verdict {
				b.access("API")
				m := b.Unregistered(Batch)
				b.unmap(Batch)
				b.Entries = append(b.Entries, entry(b.controller(), "EC2_LINUX"))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			}).of(wrongRole),
		broken("controller-role-in-aws-auth-beside-entries", "Both stores are on; the other groups have access entries, and for the new pool the controller role went into aws-auth.",
			from(docAuthMode, docAwsAuth, docKarpenter), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.unmap(Batch)
				b.MapRoles = append(b.MapRoles, mapNode(b.controller()))
				return unregistered(m, "ControllerRoleMapped", "NodeRoleNotMapped")
			})).of(wrongRole),
		misleading("controller-role-mapped-as-well", "The controller role is mapped needlessly, but the node role is mapped too: what keeps the node away is the security group.",
			from(docAwsAuth, docFirewall), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.MapRoles = append(b.MapRoles, mapNode(b.controller()))
				b.behind(m, nil, []object{toEverybody("udp", 53)})
				b.admit(fromGroup("-1", 0, batchGroup))
				return unregistered(m, "SecurityGroupBlocksApi").rulesOut("NodeRoleNotMapped")
			})).of(wrongRole),
		broken("access-entry-standard", "The node role's access entry has the type STANDARD, which makes its bearer no node.",
			from(docCreateEntry, "https://github.com/aws/karpenter-provider-aws/issues/7558"), func(b *Bundle) *verdict {
				b.access("API")
				m := b.Unregistered(Batch)
				b.unmap(Batch)
				b.Entries = append(b.Entries, entry(Batch.RoleARN(), "STANDARD"))
				return unregistered(m, "AccessEntryWrongType")
			}),
		broken("access-entry-standard-wins-over-aws-auth", "aws-auth maps the role rightly, but a role with an access entry is judged by the entry alone, even a wrong one.",
			from(docAuthMode, docAccessEntries), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.Entries = append(b.Entries, entry(Edge.RoleARN(), "STANDARD"))
				return unregistered(m, "AccessEntryWrongType")
			})),
		broken("access-entry-for-fargate", "The entry was made for Fargate pods; EC2 instances do not join with it.",
			from(docCreateEntry), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unmap(BatchGroup)
				b.Entries = append(b.Entries, entry(BatchGroup.RoleARN(), "FARGATE_LINUX"))
				return unregistered(m, "AccessEntryWrongType")
			})),
		broken("access-entry-of-type-ec2", "EC2 is the type for nodes of Auto Mode: it makes a node known by its instance id, and nodeadm of an EKS AMI registers it under its private DNS name. Nodes of Auto Mode may need the entry.",
			from(docCreateEntry, "https://github.com/eksctl-io/eksctl/issues/8098", "https://github.com/aws/karpenter-provider-aws/issues/7508"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.entryOf(BatchGroup)["type"] = "EC2"
				return unregistered(m, "AccessEntryWrongType").says("instance id", "private DNS name")
			})),
		broken("access-entry-older-than-its-role", "The role was deleted and created again under its name; the entry still holds the old role's id.",
			from("https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329", "https://github.com/aws/containers-roadmap/issues/2631"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.find(b.Roles, "RoleName", BatchGroup.Role)["CreateDate"] = b.ec2Time(20 * day)
				return unregistered(m, "AccessEntryStale")
			})),
		misleading("access-entry-older-than-its-role-beside-aws-auth", "The role was deleted and created again under its name, so its entry is passed over, and aws-auth maps the role by its ARN. DNS is off for the VPC.",
			from(authenticator+"/blob/master/pkg/mapper/dynamicfile/mapper.go", authenticator+"/blob/master/pkg/server/server.go", docNetwork), func(b *Bundle) *verdict {
				b.RemoveAll()
				m := b.Unregistered(BatchGroup)
				b.find(b.Roles, "RoleName", BatchGroup.Role)["CreateDate"] = b.ec2Time(20 * day)
				b.MapRoles = append(b.MapRoles, mapNode(BatchGroup.RoleARN()))
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled").suggests("AccessEntryStale")
			}),
		misleading("another-role-was-recreated", "A stale entry belongs to a role that this instance does not have; its own entry is younger than its role. DNS is off for the VPC.",
			from("https://github.com/aws/containers-roadmap/issues/2441", docNetwork), func(b *Bundle) *verdict {
				b.RemoveAll()
				m := b.Unregistered(BatchGroup)
				b.find(b.Roles, "RoleName", Workers.Role)["CreateDate"] = b.ec2Time(20 * day)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			}),
		broken("no-instance-profile", "The launch template names no instance profile, so the kubelet has no credentials at all.",
			from(docNodeRole, docTroubleshooting), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				delete(m.Instance, "IamInstanceProfile")
				delete(b.template(Edge)["LaunchTemplateData"].(object), "IamInstanceProfile")
				return unregistered(m, "InstanceProfileMissing")
			})),
		broken("instance-profile-without-a-role", "The instance profile is there, and the role was taken out of it.",
			from("https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_switch-role-ec2_instance-profiles.html", docNodeRole), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.find(b.Profiles, "InstanceProfileName", Batch.Profile())["Roles"] = []object{}
				return unregistered(m, "InstanceProfileMissing")
			})),
		broken("role-does-not-trust-ec2", "The node role may be assumed by EKS and not by EC2, so the instance gets no credentials.",
			from(docNodeRole), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.find(b.Roles, "RoleName", Batch.Role)["AssumeRolePolicyDocument"] = trust("eks.amazonaws.com")
				return unregistered(m, "RoleTrustInvalid")
			})),
		misleading("role-trusts-a-list-of-services", "The trust policy names EC2 in a list, beside Systems Manager, and the action in a list too: that is as good. No cause is shown.",
			from("https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html", docNodeRole), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.find(b.Roles, "RoleName", Batch.Role)["AssumeRolePolicyDocument"] = object{"Version": "2012-10-17", "Statement": object{
					"Effect": "Allow", "Principal": object{"Service": []string{"ssm.amazonaws.com", "ec2.amazonaws.com"}}, "Action": []string{"sts:AssumeRole", "sts:TagSession"},
				}}
				return unregistered(m, "").rulesOut("RoleTrustInvalid")
			})),
		misleading("role-without-node-policies", "The role has the CNI's policy alone. Inline policies could grant the rest and are not in sight, so this is a hint and no proof.",
			from(docNodeRole, repostNodeGroup), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.Policies[Batch.Role] = policies("AmazonEKS_CNI_Policy")
				return unregistered(m, "").suggests("RolePoliciesMissing")
			})),
		misleading("role-with-policies-of-its-own", "The company grants what nodes need by a policy of its own. The node is kept away by the network ACL.",
			from(docNodeRole, "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Policies[BatchGroup.Role] = []object{{"PolicyName": "payments-nodes", "PolicyArn": "arn:aws:iam::" + Account + ":policy/payments-nodes"}}
				b.aside(route("NatGatewayId", natGateway("a")))
				b.asideRules(aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "6", "allow", 80, 80))
				m.moved()
				return unregistered(m, "NaclBlocksApi")
			})),
	}
}
