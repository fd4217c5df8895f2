package generate

import "strings"

// mappingCases are about the text of aws-auth. Only aws-auth maps their instances' role.
func mappingCases() []Case {
	arn := Edge.RoleARN()
	bySession := mapRole(arn, "system:node:{{SessionName}}", "system:bootstrappers", "system:nodes")
	// byID is user data that makes Bottlerocket name a node after its instance ID.
	byID := strings.Replace(bottlerocketData(Cluster), "cluster-dns-ip", "hostname-override-source = \"instance-id\"\ncluster-dns-ip", 1)
	// remapped returns a case in which the role's entry is different.
	remapped := func(code string, entries ...string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(Edge)
			b.remap(Edge, entries...)
			return unregistered(m, code)
		}
	}
	return []Case{
		broken("aws-auth-is-no-yaml", "A tab crept into mapRoles: the authenticator then knows no role mapping at all.",
			from(authenticator, docAwsAuth), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.RawMapRoles = strings.Join(b.MapRoles, "") + "- rolearn: arn:aws:iam::" + Account + ":role/Auditor\n\tusername: auditor\n  groups: [auditors\n"
				return unregistered(m, "AwsAuthUnparseable", "NodeRoleNotMapped")
			})),
		misleading("aws-auth-with-one-invalid-entry", "One entry lacks its ARN: the authenticator drops that entry and keeps the node's. The launch template has no instance profile.",
			from(authenticator, docNodeRole), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.MapRoles = append([]string{"- username: nobody\n  groups:\n  - system:masters\n"}, b.MapRoles...)
				delete(m.Instance, "IamInstanceProfile")
				delete(b.template(Edge)["LaunchTemplateData"].(object), "IamInstanceProfile")
				return unregistered(m, "InstanceProfileMissing")
			})),
		broken("aws-auth-arn-with-a-path", "The ARN in aws-auth has the role's path in it, and the authenticator compares without.",
			from(docTroubleshooting, "https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/268", "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2221"), func(b *Bundle) *verdict {
				g := Edge
				g.Path = "/platform/nodes/" // its mapping gets the whole ARN
				return unregistered(b.Unregistered(g), "AwsAuthArnHasPath", "NodeRoleNotMapped")
			}),
		misleading("aws-auth-arn-without-the-path", "The role has a path and aws-auth leaves it out, as it should. No cause is shown.",
			from("https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/153", docTroubleshooting), func(b *Bundle) *verdict {
				g := Edge
				g.Path = "/platform/nodes/"
				m := b.Unregistered(g)
				b.remap(g, mapNode(arn))
				return unregistered(m, "").rulesOut("NodeRoleNotMapped")
			}),
		misleading("access-entry-arn-with-a-path", "An access entry must have the whole ARN, path and all: entries are matched by the role's id. No cause is shown.",
			from("https://github.com/aws/containers-roadmap/issues/185", docAccessEntries), func(b *Bundle) *verdict {
				g := BatchGroup
				g.Path, g.Role = "/platform/nodes/", "payments-nightly-node"
				return unregistered(b.Unregistered(g), "").rulesOut("NodeRoleNotMapped")
			}),
		broken("aws-auth-arn-of-the-instance-profile", "aws-auth names the instance profile in place of the role in it.",
			from(repostJoin, docTroubleshooting), remapped("AwsAuthArnIsInstanceProfile", mapNode("arn:aws:iam::"+Account+":instance-profile/"+Edge.Profile()))),
		broken("aws-auth-without-the-group-of-nodes", "The mapping lacks the group system:nodes, so the kubelet is known and may do nothing.",
			from(docAwsAuth, repostJoin), remapped("AwsAuthWrongGroups", mapRole(arn, "system:node:{{EC2PrivateDNSName}}", "system:bootstrappers"))),
		misleading("aws-auth-with-administrators", "The node role was mapped as administrators are. That is wrong, and lets a kubelet register any node, so something else keeps this one away.",
			from(docAwsAuth, "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles", "https://github.com/kubernetes/kubernetes/blob/master/pkg/auth/nodeidentifier/default.go"), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.remap(Edge, mapRole(arn, "system:node:{{EC2PrivateDNSName}}", "system:masters"))
				return unregistered(m, "").suggests("AwsAuthWrongGroups")
			})),
		broken("aws-auth-with-the-wrong-username", "The username lacks the prefix system:node:, so the node authorizer does not take its bearer for a node.",
			from("https://kubernetes.io/docs/reference/access-authn-authz/node/", docAwsAuth), remapped("AwsAuthWrongUsername", mapRole(arn, `"{{EC2PrivateDNSName}}"`, "system:bootstrappers", "system:nodes"))),
		broken("aws-auth-with-the-session-name", "system:node:{{SessionName}} is right where nodes are named after their instance ids. Nothing in the user data asks for that, and nodeadm of an EKS AMI then takes the private DNS name.",
			from(authenticator, nodeadmNames, "https://github.com/aws/karpenter-provider-aws/issues/7508"), remapped("AwsAuthWrongUsername", bySession)),
		misleading("aws-auth-with-the-session-name-and-an-image-of-ones-own", "The same username, and an AMI of one's own, which may name its nodes after their instance ids. Nothing is proven.",
			from(authenticator, nodeadmNames), func(b *Bundle) *verdict {
				g := Edge
				g.Image = imageOwn
				m := b.Unregistered(g)
				b.remap(Edge, bySession)
				return unregistered(m, "").suggests("AwsAuthWrongUsername")
			}),
		broken("named-by-id-and-mapped-by-dns-name", "A feature gate of nodeadm names the node after its instance id, and aws-auth makes it known by its private DNS name: the API server lets it register under the latter alone.",
			from(nodeadmNames, "https://kubernetes.io/docs/reference/access-authn-authz/node/"), texted(Edge, "AwsAuthWrongUsername", multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)+idNames)))),
		broken("named-as-one-likes", "A flag in the NodeConfig gives the node a name of one's own. Its username has EC2's private DNS name, and a node may register under its own name alone.",
			from("https://kubernetes.io/docs/reference/access-authn-authz/node/", "https://github.com/bottlerocket-os/bottlerocket/issues/4568"),
			texted(Edge, "UserDataMalformedFlags", multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)+"  kubelet:\n    flags:\n    - --hostname-override=payments-edge\n")))),
		misleading("named-by-id-and-mapped-by-session", "The same feature gate, and aws-auth makes the node known by its session, which is named after the instance id. No cause is shown.",
			from(nodeadmNames, authenticator), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.remap(Edge, bySession)
				b.retext(m, multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)+idNames)))
				return unregistered(m, "").rulesOut("AwsAuthWrongUsername")
			})),
		broken("named-by-id-with-an-entry-by-dns-name", "Bottlerocket is told to name the node after its instance id, and the role's access entry of the type EC2_LINUX makes it known by its private DNS name.",
			from(bottlerocketNames, docCreateEntry), func(b *Bundle) *verdict {
				g := BatchGroup
				g.Image, g.Custom = imageBottlerocket, true
				m := b.Unregistered(g)
				b.retext(m, byID)
				return unregistered(m, "AccessEntryWrongType")
			}),
		misleading("named-by-id-with-an-entry-of-type-ec2", "The same Bottlerocket, and an access entry of the type EC2, which makes the node known by its instance id. Whether it lets in one that is not of Auto Mode is not documented: no cause is shown.",
			from(bottlerocketNames, docCreateEntry), func(b *Bundle) *verdict {
				g := BatchGroup
				g.Image, g.Custom = imageBottlerocket, true
				m := b.Unregistered(g)
				e := b.entryOf(BatchGroup)
				e["type"], e["username"] = "EC2", "system:node:{{SessionName}}"
				b.retext(m, byID)
				return unregistered(m, "")
			}),
		broken("aws-auth-names-the-role-twice", "The role is mapped for nodes and, further down and in other letters, for operators: letters do not count, and the last one wins.",
			from("https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/271", authenticator), remapped("AwsAuthDuplicateRole", mapNode(arn), mapRole("arn:aws:iam::"+Account+":role/Payments-Edge-Node", "operator", "operators"))),
		misleading("aws-auth-names-the-role-twice-administrators-last", "The same, and the last mapping is one for administrators, whose kubelets may register.",
			from("https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/271", "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles"), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.remap(Edge, mapNode(arn), mapRole(arn, "operator", "system:masters"))
				return unregistered(m, "").suggests("AwsAuthDuplicateRole")
			})),
		misleading("aws-auth-names-the-role-twice-nodes-last", "The role is mapped twice, and the last mapping is the one for nodes: it wins, and it is right. No cause is shown.",
			from("https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/271", authenticator), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.remap(Edge, mapRole(arn, "operator", "system:masters"), mapNode(arn))
				return unregistered(m, "")
			})),
		misleading("aws-auth-wrong-and-the-entry-right", "aws-auth has the role with the wrong groups, but the role has an access entry, and that alone counts. No cause is shown.",
			from(docAuthMode, docAccessEntries), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.MapRoles = append(b.MapRoles, mapRole(BatchGroup.RoleARN(), "batch", "system:masters"))
				return unregistered(m, "").rulesOut("NodeRoleNotMapped")
			})),
	}
}

// controllerCases are about roles mapped in place of the nodes', and their owners: a
// controller's role may have any name, and a node's role may have Karpenter's.
func controllerCases() []Case {
	const podIdentity = "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html"
	const webIdentityPage = "https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html"
	const karpenterPolicies = "https://karpenter.sh/docs/reference/cloudformation/"
	// instead makes aws-auth map a role in place of the batch nodes'.
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
