package generate

import "strings"

// mappingCases are about the text of aws-auth. Their instances have a role that only
// aws-auth maps.
func mappingCases() []Case {
	arn := Edge.RoleARN()
	bySession := mapRole(arn, "system:node:{{SessionName}}", "system:bootstrappers", "system:nodes")
	// byID has Bottlerocket name a node after its instance id.
	byID := strings.Replace(bottlerocketData(Cluster), "cluster-dns-ip", "hostname-override-source = \"instance-id\"\ncluster-dns-ip", 1)
	// remapped is a case in which the role's entry reads otherwise.
	remapped := func(code string, entries ...string) func(*Bundle, healthy) *verdict {
		return func(b *Bundle, _ healthy) *verdict {
			m := b.Unregistered(Edge)
			b.remap(Edge, entries...)
			return unregistered(m, code)
		}
	}
	return []Case{
		{
			Name: "aws-auth-is-no-yaml", Class: Broken,
			Why:     "A tab crept into mapRoles: the authenticator then knows no role mapping at all.",
			Sources: []string{authenticator, docAwsAuth},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.RawMapRoles = strings.Join(b.MapRoles, "") + "- rolearn: arn:aws:iam::" + Account + ":role/Auditor\n\tusername: auditor\n  groups: [auditors\n"
				return unregistered(m, "AwsAuthUnparseable", "NodeRoleNotMapped")
			},
		},
		{
			Name: "aws-auth-with-one-invalid-entry", Class: Misleading,
			Why:     "One entry lacks its ARN: the authenticator drops that entry and keeps the node's. The launch template has no instance profile.",
			Sources: []string{authenticator, docNodeRole},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.MapRoles = append([]string{"- username: nobody\n  groups:\n  - system:masters\n"}, b.MapRoles...)
				delete(m.Instance, "IamInstanceProfile")
				delete(b.template(Edge)["LaunchTemplateData"].(object), "IamInstanceProfile")
				return unregistered(m, "InstanceProfileMissing")
			},
		},
		{
			Name: "aws-auth-arn-with-a-path", Class: Broken,
			Why:     "The ARN in aws-auth has the role's path in it, and the authenticator compares without.",
			Sources: []string{docTroubleshooting, "https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/268", "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2221"},
			Build: func(b *Bundle, _ healthy) *verdict {
				g := Edge
				g.Path = "/platform/nodes/" // its mapping gets the whole ARN
				return unregistered(b.Unregistered(g), "AwsAuthArnHasPath", "NodeRoleNotMapped")
			},
		},
		{
			Name: "aws-auth-arn-without-the-path", Class: Misleading,
			Why:     "The role has a path and aws-auth leaves it out, as it should. No cause is shown.",
			Sources: []string{"https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/153", docTroubleshooting},
			Build: func(b *Bundle, _ healthy) *verdict {
				g := Edge
				g.Path = "/platform/nodes/"
				m := b.Unregistered(g)
				b.remap(g, mapNode(arn))
				return unregistered(m, "").rulesOut("NodeRoleNotMapped")
			},
		},
		{
			Name: "access-entry-arn-with-a-path", Class: Misleading,
			Why:     "An access entry must have the whole ARN, path and all: entries are matched by the role's id. No cause is shown.",
			Sources: []string{"https://github.com/aws/containers-roadmap/issues/185", docAccessEntries},
			Build: func(b *Bundle, _ healthy) *verdict {
				g := BatchGroup
				g.Path, g.Role = "/platform/nodes/", "payments-nightly-node"
				return unregistered(b.Unregistered(g), "").rulesOut("NodeRoleNotMapped")
			},
		},
		{
			Name: "aws-auth-arn-of-the-instance-profile", Class: Broken,
			Why:     "aws-auth names the instance profile in place of the role in it.",
			Sources: []string{repostJoin, docTroubleshooting},
			Build:   remapped("AwsAuthArnIsInstanceProfile", mapNode("arn:aws:iam::"+Account+":instance-profile/"+Edge.Profile())),
		},
		{
			Name: "aws-auth-without-the-group-of-nodes", Class: Broken,
			Why:     "The mapping lacks the group system:nodes, so the kubelet is known and may do nothing.",
			Sources: []string{docAwsAuth, repostJoin},
			Build:   remapped("AwsAuthWrongGroups", mapRole(arn, "system:node:{{EC2PrivateDNSName}}", "system:bootstrappers")),
		},
		{
			Name: "aws-auth-with-administrators", Class: Broken,
			Why:     "The node role was mapped as administrators are. The node authorizer and the kubelet's own name need the groups of nodes.",
			Sources: []string{docAwsAuth, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/206"},
			Build:   remapped("AwsAuthWrongGroups", mapRole(arn, "system:node:{{EC2PrivateDNSName}}", "system:masters")),
		},
		{
			Name: "aws-auth-with-the-wrong-username", Class: Broken,
			Why:     "The username lacks the prefix system:node:, so the node authorizer does not take its bearer for a node.",
			Sources: []string{"https://kubernetes.io/docs/reference/access-authn-authz/node/", docAwsAuth},
			Build:   remapped("AwsAuthWrongUsername", mapRole(arn, `"{{EC2PrivateDNSName}}"`, "system:bootstrappers", "system:nodes")),
		},
		{
			Name: "aws-auth-with-the-session-name", Class: Misleading,
			Why:     "system:node:{{SessionName}} is right where nodes are named by their instance ids. Whether they are is not in sight, so nothing is proven.",
			Sources: []string{authenticator, "https://github.com/aws/karpenter-provider-aws/issues/7508"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.remap(Edge, bySession)
				return unregistered(m, "")
			},
		},
		{
			Name: "named-by-id-and-mapped-by-dns-name", Class: Broken,
			Why:     "A feature gate of nodeadm names the node after its instance id, and aws-auth makes it known by its private DNS name: the API server lets it register under the latter alone.",
			Sources: []string{nodeadmNames, "https://kubernetes.io/docs/reference/access-authn-authz/node/"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.retext(m, multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)+idNames)))
				return unregistered(m, "AwsAuthWrongUsername")
			},
		},
		{
			Name: "named-by-id-and-mapped-by-session", Class: Misleading,
			Why:     "The same feature gate, and aws-auth makes the node known by its session, which is named after the instance id. No cause is shown.",
			Sources: []string{nodeadmNames, authenticator},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.remap(Edge, bySession)
				b.retext(m, multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)+idNames)))
				return unregistered(m, "").rulesOut("AwsAuthWrongUsername")
			},
		},
		{
			Name: "named-by-id-with-an-entry-by-dns-name", Class: Broken,
			Why:     "Bottlerocket is told to name the node after its instance id, and the role's access entry of the type EC2_LINUX makes it known by its private DNS name.",
			Sources: []string{bottlerocketNames, docCreateEntry},
			Build: func(b *Bundle, _ healthy) *verdict {
				g := BatchGroup
				g.Image, g.Custom = imageBottlerocket, true
				m := b.Unregistered(g)
				b.retext(m, byID)
				return unregistered(m, "AccessEntryWrongType")
			},
		},
		{
			Name: "named-by-id-with-an-entry-of-type-ec2", Class: Misleading,
			Why:     "The same Bottlerocket, and an access entry of the type EC2, which makes the node known by its instance id. Whether it lets in one that is not of Auto Mode is not documented: no cause is shown.",
			Sources: []string{bottlerocketNames, docCreateEntry},
			Build: func(b *Bundle, _ healthy) *verdict {
				g := BatchGroup
				g.Image, g.Custom = imageBottlerocket, true
				m := b.Unregistered(g)
				e := b.entryOf(BatchGroup)
				e["type"], e["username"] = "EC2", "system:node:{{SessionName}}"
				b.retext(m, byID)
				return unregistered(m, "")
			},
		},
		{
			Name: "aws-auth-names-the-role-twice", Class: Broken,
			Why:     "The role is mapped for nodes and, further down and in other letters, for operators: letters do not count, and the last one wins.",
			Sources: []string{"https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/271", authenticator},
			Build:   remapped("AwsAuthDuplicateRole", mapNode(arn), mapRole("arn:aws:iam::"+Account+":role/Payments-Edge-Node", "operator", "system:masters")),
		},
		{
			Name: "aws-auth-names-the-role-twice-nodes-last", Class: Misleading,
			Why:     "The role is mapped twice, and the last mapping is the one for nodes: it wins, and it is right. No cause is shown.",
			Sources: []string{"https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/271", authenticator},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.remap(Edge, mapRole(arn, "operator", "system:masters"), mapNode(arn))
				return unregistered(m, "")
			},
		},
		{
			Name: "aws-auth-wrong-and-the-entry-right", Class: Misleading,
			Why:     "aws-auth has the role with the wrong groups, but the role has an access entry, and that alone counts. No cause is shown.",
			Sources: []string{docAuthMode, docAccessEntries},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				b.MapRoles = append(b.MapRoles, mapRole(BatchGroup.RoleARN(), "batch", "system:masters"))
				return unregistered(m, "").rulesOut("NodeRoleNotMapped")
			},
		},
	}
}
