package generate

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// endpointCases are about what a node needs besides the API server: AWS services, addresses for
// pods, and the metadata service.
func endpointCases() []Case {
	const irsa = "https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html"
	const podIdentity = "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html"
	// withoutSTS adds a node without a way out whose endpoints are all there but that of STS, and whose
	// CNI crashes, with a role of its own or without.
	withoutSTS := func(cni string, role bool, first string, also ...string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			b.aside()
			b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "eks")
			m := b.starting()
			p := b.pod(m, cni, "CrashLoopBackOff", "back-off 5m0s restarting failed container="+cni)
			if role {
				assuming(p)
			}
			return finds(m, "Uninitialized", first, also...).suggests("VpcEndpointMissing")
		}
	}
	return []Case{
		broken("no-endpoint-of-ec2", "A subnet without a way out that has the endpoints of ECR, S3 and STS, and not that of EC2, which every node asks for its name.",
			from(docPrivate, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3113"), func(b *Bundle) *verdict {
				b.aside()
				b.privateEndpoint(clusterGroup, "ecr.api", "ecr.dkr", "s3", "sts", "eks")
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "VpcEndpointMissing")
			}),
		broken("endpoint-of-ec2-refuses-the-nodes", "All endpoints are there, and the security group of EC2's admits the legacy nodes only.",
			from("https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3113", "https://docs.aws.amazon.com/vpc/latest/privatelink/create-interface-endpoint.html"), func(b *Bundle) *verdict {
				b.aside()
				b.SecurityGroups = append(b.SecurityGroups, firewall("sg-0c1c1c1c1c1c1c008", "payments-endpoints", []object{fromGroup("tcp", 443, legacyGroup)}, anywhere()))
				b.privateEndpoint("sg-0c1c1c1c1c1c1c008", "ec2")
				b.privateEndpoint(clusterGroup, "ecr.api", "ecr.dkr", "s3", "sts", "eks")
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "VpcEndpointMissing")
			}),
		broken("no-endpoint-of-ecr", "The node registered, and there is no endpoint to pull the CNI's image from: it never becomes ready.",
			from(docPrivate, "https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html"), func(b *Bundle) *verdict {
				b.aside()
				b.privateEndpoint(clusterGroup, "ec2", "sts", "eks", "s3")
				m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 26*time.Minute)
				m.moved()
				b.Join(m, 25*time.Minute)
				b.neverReady(m)
				p := b.pod(m, "aws-node", "ImagePullBackOff", `Back-off pulling image "123456789012.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.21.1-eksbuild.1"`)
				b.podEvent(p, "Failed", `Failed to pull image "123456789012.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.21.1-eksbuild.1": dial tcp 203.0.113.5:443: i/o timeout`, 2*time.Minute, 6)
				return finds(m, "Uninitialized", "VpcEndpointMissing", "CniNotReady")
			}),
		broken("endpoint-policy-shuts-out-the-layers", "The gateway endpoint of S3 lets nothing but a bucket of the team's through, and takes what goes to S3 past the NAT gateway: the layers of the CNI's image do not come.",
			from(docPullEndpoints, docEndpointPolicies), func(b *Bundle) *verdict {
				m := b.behindPolicy("s3", allowingThrough("s3:*", "arn:aws:s3:::payments-artifacts/*"))
				p := b.pod(m, "aws-node", "ImagePullBackOff", `Back-off pulling image "123456789012.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.21.1-eksbuild.1"`)
				b.podEvent(p, "Failed", `failed to copy: httpReadSeeker: failed open: unexpected status code https://prod-eu-west-1-starport-layer-bucket.s3.eu-west-1.amazonaws.com/5f3a-123456789012-0c1d: 403 Forbidden`, 2*time.Minute, 6)
				return finds(m, "Uninitialized", "VpcEndpointMissing", "CniNotReady").orders()
			}),
		broken("endpoint-policy-of-ec2-without-instances", "A subnet without a way out whose endpoint of EC2 lets volumes be described and no instances.",
			from(docPrivate, docEndpointPolicies), func(b *Bundle) *verdict {
				b.aside()
				b.privateEndpoint(clusterGroup, "ecr.api", "ecr.dkr", "s3", "sts", "eks", "ec2")
				b.Endpoints[len(b.Endpoints)-1]["PolicyDocument"] = allowingThrough("ec2:DescribeVolumes", "*")
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "VpcEndpointMissing").orders()
			}),
		misleading("endpoint-policy-that-lets-the-layers-through", "The policy of S3's endpoint names the bucket of ECR's layers beside the team's own. What the node lacks is a CNI that does not crash.",
			from(docPullEndpoints), func(b *Bundle) *verdict {
				m := b.behindPolicy("s3", allowingThrough("s3:GetObject", "arn:aws:s3:::payments-artifacts/*", "arn:aws:s3:::prod-eu-west-1-starport-layer-bucket/*"))
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("VpcEndpointMissing")
			}),
		misleading("endpoint-policy-for-an-organization", "The policy of S3's endpoint asks for the organization of who asks, which nobody can tell from outside.",
			from(docEndpointPolicies), func(b *Bundle) *verdict {
				m := b.behindPolicy("s3", `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalOrgID":"o-exampleorgid"}}}]}`)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady").misses("VpcEndpointMissing")
			}),
		misleading("no-endpoint-of-sts", "Only the endpoint of STS is missing, which pods with roles need and a node does not: a hint.",
			from(docPrivate), func(b *Bundle) *verdict {
				b.aside()
				b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "eks")
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "").suggests("VpcEndpointMissing")
			}),
		broken("cni-with-a-role-and-no-endpoint-of-sts", "A subnet without a way out and without an endpoint of STS, which the CNI asks for the role of its service account. It crashes.",
			from(docPrivate, irsa, "https://github.com/aws/containers-roadmap/issues/586"), withoutSTS("aws-node", true, "VpcEndpointMissing", "CniNotReady")),
		broken("cni-of-another-maker-with-a-role-and-no-endpoint-of-sts", "The same with Cilium, which asks EC2 for interfaces by such a role.",
			from(docPrivate, irsa), withoutSTS("cilium", true, "VpcEndpointMissing", "CniNotReady")),
		broken("cni-with-pod-identity-and-no-endpoint-of-eks-auth", "A subnet without a way out that has the endpoints of all services but EKS Auth, which the EKS Pod Identity Agent of the node asks for the CNI's role. The CNI crashes.",
			from(docPrivate, podIdentity, "https://github.com/aws/amazon-vpc-cni-k8s/issues/3840"), func(b *Bundle) *verdict {
				b.aside()
				b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "sts", "eks")
				m := b.starting()
				b.pod(m, "eks-pod-identity-agent", "", "")
				identified(b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node"))
				return finds(m, "Uninitialized", "VpcEndpointMissing", "CniNotReady")
			}),
		misleading("cni-with-pod-identity-and-its-endpoint", "The same with the endpoint of EKS Auth: the CNI crashes for another reason.",
			from(docPrivate, podIdentity), func(b *Bundle) *verdict {
				b.aside()
				b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "sts", "eks", "eks-auth")
				m := b.starting()
				b.pod(m, "eks-pod-identity-agent", "", "")
				identified(b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node"))
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("VpcEndpointMissing")
			}),
		misleading("cni-with-pod-identity-and-no-agent", "The CNI gets its role by EKS Pod Identity, and the add-on of the agent is not installed: it crashes on this node as it would on every other one.",
			from(podIdentity, "https://github.com/aws/amazon-vpc-cni-k8s/issues/3840"), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				identified(b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node"))
				return finds(m, "Uninitialized", "CniNotReady").says("EKS Pod Identity Agent").holds("CauseOutside")
			}),
		misleading("cni-with-the-nodes-role-and-no-endpoint-of-sts", "The same, and the CNI has the role of the node, for which nobody asks STS: a hint.",
			from(docPrivate), withoutSTS("aws-node", false, "")),
		misleading("exporter-with-a-role-and-no-endpoint-of-sts", "A pod with a role crashes, for which the node does not wait; the CNI crashes too, and has none.",
			from(docPrivate, irsa), func(b *Bundle) *verdict {
				v := withoutSTS("aws-node", false, "")(b)
				exporter := maps.Clone(b.Pods[len(b.Pods)-1])
				exporter["metadata"] = maps.Clone(exporter["metadata"].(object))
				exporter["metadata"].(object)["name"] = "exporter-1"
				exporter["metadata"].(object)["labels"] = object{"app": "exporter"}
				exporter["metadata"].(object)["ownerReferences"] = []object{{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "exporter", "uid": uid("daemonset", "exporter"), "controller": true}}
				exporter["spec"] = maps.Clone(exporter["spec"].(object))
				b.Pods = append(b.Pods, exporter)
				assuming(exporter)
				return v
			}),
		broken("subnet-full-and-the-cni-says-so", "Three addresses are left in the subnet, and the CNI cannot give any to pods.",
			from("https://github.com/aws/amazon-vpc-cni-k8s/issues/3105", "https://github.com/aws/amazon-vpc-cni-k8s/issues/2923", docNetwork), func(b *Bundle) *verdict {
				b.aside(route("NatGatewayId", natGateway("a")))["AvailableIpAddressCount"] = 3
				m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 26*time.Minute)
				m.moved()
				b.Join(m, 25*time.Minute)
				b.neverReady(m)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				p := b.pod(m, "ebs-csi-node", "ContainerCreating", "")
				b.podEvent(p, "FailedCreatePodSandBox", `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "3eb650e5b06f909321c170c75369c9626b234b410abd784c45c685197689fa88": plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container`, time.Minute, 9)
				return finds(m, "Uninitialized", "SubnetIpsExhausted", "CniNotReady")
			}),
		misleading("subnet-nearly-full", "Three addresses are left, and nothing failed for lack of one: the instance has its own. A hint.",
			from(docNetwork, "https://github.com/aws/amazon-vpc-cni-k8s/issues/1923"), func(b *Bundle) *verdict {
				b.aside(route("NatGatewayId", natGateway("a")))["AvailableIpAddressCount"] = 3
				m := b.UnregisteredAside(BatchGroup)
				return unregistered(m, "").suggests("SubnetIpsExhausted")
			}),
		well("subnet-nearly-full-and-nodes-that-work", "Two addresses are left in a subnet whose nodes are Ready.",
			from(docNetwork), func(b *Bundle) *verdict {
				b.find(b.Subnets, "SubnetId", subnet("a"))["AvailableIpAddressCount"] = 2
				return nothing()
			}),
		misleading("metadata-one-hop-away", "Hop limit 1, and a pod on this node that asks the metadata service crashes. The node itself does not mind, so this is a hint; what it lacks is its CNI.",
			from("https://github.com/luminartech/helm-charts-public/pull/323", "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html"), func(b *Bundle) *verdict {
				m := b.joined(BatchGroup, 26*time.Minute)
				m.Instance["MetadataOptions"].(object)["HttpPutResponseHopLimit"] = 1
				b.neverReady(m)
				p := b.pod(m, "ebs-csi-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=ebs-plugin")
				b.podEvent(p, "BackOff", "Back-off restarting failed container ebs-plugin in pod", time.Minute, 12)
				return finds(m, "Uninitialized", "CniNotReady").suggests("ImdsHopLimit")
			}),
	}
}

// neverReady makes a node that has not been ready since it was created, because its CNI is
// missing.
func (b *Bundle) neverReady(m *Machine) {
	created, err := time.Parse(time.RFC3339, m.Node["metadata"].(object)["creationTimestamp"].(string))
	if err != nil {
		panic(err) // Join wrote it
	}
	b.notReady(m, noCNI, b.At.Sub(created))
	if m.Claim == nil {
		return
	}
	m.unlabel("karpenter.sh/initialized")
	b.claimSays(m, "Initialized", "Unknown", "NodeNotReady", "Node status is NotReady", b.At.Sub(created))
	b.claimSays(m, "Ready", "Unknown", "UnhealthyDependents", "Initialized=Unknown", b.At.Sub(created))
}

// behindPolicy adds a node that never became ready, behind a NAT gateway and an endpoint with a
// policy.
func (b *Bundle) behindPolicy(service, policy string) *Machine {
	b.aside(route("NatGatewayId", natGateway("a")))
	b.privateEndpoint(clusterGroup, service)
	b.Endpoints[len(b.Endpoints)-1]["PolicyDocument"] = policy
	return b.starting()
}

// starting adds a node that never became ready to the subnet aside.
func (b *Bundle) starting() *Machine {
	m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 26*time.Minute)
	m.moved()
	b.Join(m, 25*time.Minute)
	b.neverReady(m)
	return m
}

// assuming gives a pod what EKS adds to those whose service account has an IAM role.
func assuming(pod object) { roleToken(pod, "aws-iam-token", "sts.amazonaws.com", "token") }

// identified makes a pod one that gets its role by EKS Pod Identity.
func identified(pod object) {
	roleToken(pod, "eks-pod-identity-token", "pods.eks.amazonaws.com", "eks-pod-identity-token")
}

// roleToken gives a pod the volume with the token of its service account for an audience.
func roleToken(pod object, volume, audience, path string) {
	pod["spec"].(object)["volumes"] = []object{{"name": volume, "projected": object{"defaultMode": 420, "sources": []object{
		{"serviceAccountToken": object{"audience": audience, "expirationSeconds": 86400, "path": path}},
	}}}}
}

// allowingThrough returns an endpoint policy with one statement.
func allowingThrough(action string, resources ...string) string {
	return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":%q,"Resource":["%s"]}]}`, action, strings.Join(resources, `","`))
}

// registryCases are about which registry service a failed pull points to, and about proxies,
// which decide about a node's way out.
func registryCases() []Case {
	const (
		image   = `"123456789012.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.21.1-eksbuild.1"`
		noToken = `Failed to pull image ` + image + `: failed to pull and unpack image ` + image + `: failed to resolve reference ` + image + `: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`
		noLayer = `Failed to pull image ` + image + `: failed to pull and unpack image ` + image + `: failed to copy: httpReadSeeker: failed open: failed to do request: Get "https://prod-eu-west-1-starport-layer-bucket.s3.eu-west-1.amazonaws.com/1b2c3d-123456789012/9f8e": dial tcp 203.0.113.7:443: i/o timeout`
	)
	services := []string{docPrivate, "https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html"}
	// pulls adds a node in a subnet with these endpoints and no other way out, which cannot
	// pull the image of its CNI.
	pulls := func(b *Bundle, says string, endpoints ...string) *Machine {
		b.aside()
		b.privateEndpoint(clusterGroup, endpoints...)
		m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 26*time.Minute)
		m.moved()
		b.Join(m, 25*time.Minute)
		b.neverReady(m)
		p := b.pod(m, "aws-node", "ImagePullBackOff", `Back-off pulling image `+image)
		b.podEvent(p, "Failed", says, 2*time.Minute, 6)
		return m
	}
	// refused adds a silent node whose security group the cluster's group no longer admits.
	refused := func(b *Bundle, g Group) *Machine {
		b.endpoint(false, true)
		b.SecurityGroups = append(b.SecurityGroups, firewall(batchGroup, "payments-batch", nil, anywhere()))
		g.Firewall = batchGroup
		m := b.joined(g, 5*day)
		b.silent(m, 45*time.Minute)
		return m
	}
	own := BatchGroup // a node group with a custom launch template
	own.Custom = true
	const setsProxy = "export HTTPS_PROXY=http://10.0.0.9:3128\n"
	return []Case{
		broken("no-token-and-no-endpoint-of-ecr-api", "The kubelet gets the registry's token from ecr.api, of which there is no endpoint. The registry itself answers, and asks for the token: no basic auth credentials.",
			append(services, "https://github.com/aws/amazon-vpc-cni-k8s/issues/708"), func(b *Bundle) *verdict {
				return finds(pulls(b, noToken, "ec2", "sts", "eks", "s3", "ecr.dkr"), "Uninitialized", "VpcEndpointMissing", "CniNotReady")
			}),
		broken("no-layer-and-no-endpoint-of-s3", "The manifest comes, and the layers lie in a bucket of S3 that cannot be reached.",
			services, func(b *Bundle) *verdict {
				return finds(pulls(b, noLayer, "ec2", "sts", "eks", "ecr.api", "ecr.dkr"), "Uninitialized", "VpcEndpointMissing", "CniNotReady")
			}),
		misleading("no-token-and-every-endpoint-is-there", "All endpoints are there, and the role has no policy of its own to get a token with: that is why there is none.",
			append(services, docNodeRole), func(b *Bundle) *verdict {
				m := pulls(b, noToken, "ec2", "sts", "eks", "s3", "ecr.api", "ecr.dkr")
				b.Policies[m.Group.Role] = policies("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy")
				return finds(m, "Uninitialized", "").suggests("RolePoliciesMissing", "CniNotReady").rulesOut("VpcEndpointMissing")
			}),
		misleading("no-token-and-no-endpoint-of-s3", "What is missing is the endpoint of S3, which would show once there is a token; that there is none has another reason.",
			services, func(b *Bundle) *verdict {
				return finds(pulls(b, noToken, "ec2", "sts", "eks", "ecr.api", "ecr.dkr"), "Uninitialized", "").suggests("VpcEndpointMissing", "CniNotReady")
			}),
		broken("self-managed-and-silent-since-a-rule-was-removed", "The cluster's security group no longer admits the nodes of an Auto Scaling group of one's own, whose template's user data sets no proxy.",
			from(docFirewall, docNodes), func(b *Bundle) *verdict {
				return finds(refused(b, Legacy), "Unknown", "SecurityGroupBlocksApi", "KubeletSilent")
			}),
		broken("template-of-ones-own-and-silent-since-a-rule-was-removed", "The same in a managed node group. That its launch template is one's own speaks for no proxy: its user data sets none.",
			from(docFirewall, docTemplates), func(b *Bundle) *verdict {
				return finds(refused(b, own), "Unknown", "SecurityGroupBlocksApi", "KubeletSilent")
			}),
		misleading("self-managed-and-silent-behind-a-proxy", "The same rule is missing, and the user data sets a proxy, by which the nodes go: what is beyond it is not known.",
			from(docFirewall, "https://repost.aws/knowledge-center/eks-http-proxy-containerd-automation"), func(b *Bundle) *verdict {
				m := refused(b, Legacy)
				b.retext(m, "#!/bin/bash\n"+setsProxy+"/etc/eks/bootstrap.sh "+Cluster+" --apiserver-endpoint "+Endpoint+" --b64-cluster-ca "+CA+"\n")
				return finds(m, "Unknown", "KubeletSilent").misses("SecurityGroupBlocksApi")
			}),
		misleading("self-managed-and-silent-and-its-template-was-not-captured", "The same rule is missing, and what the user data sets was not captured: a proxy may be the way of the nodes.",
			from(docFirewall, docNodes), func(b *Bundle) *verdict {
				m := refused(b, Legacy)
				b.Lacks("launch-template-versions.json")
				return finds(m, "Unknown", "").suggests("SecurityGroupBlocksApi", "KubeletSilent").holds("CauseNotChecked")
			}),
	}
}
