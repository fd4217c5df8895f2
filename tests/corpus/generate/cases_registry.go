package generate

import "time"

// registryCases are about which service of the registry a failed pull tells of, and about
// proxies, by which the way of a node is judged.
func registryCases() []Case {
	const (
		image   = `"123456789012.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.21.1-eksbuild.1"`
		noToken = `Failed to pull image ` + image + `: failed to pull and unpack image ` + image + `: failed to resolve reference ` + image + `: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`
		noLayer = `Failed to pull image ` + image + `: failed to pull and unpack image ` + image + `: failed to copy: httpReadSeeker: failed open: failed to do request: Get "https://prod-eu-west-1-starport-layer-bucket.s3.eu-west-1.amazonaws.com/1b2c3d-123456789012/9f8e": dial tcp 203.0.113.7:443: i/o timeout`
	)
	services := []string{docPrivate, "https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html"}
	// pulls is a node in a subnet with these endpoints and no other way out, which cannot pull the
	// image of its CNI.
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
	// refused is a silent node whose security group the cluster's no longer admits.
	refused := func(b *Bundle, g Group) *Machine {
		b.endpoint(false, true)
		b.SecurityGroups = append(b.SecurityGroups, firewall(batchGroup, "payments-batch", nil, anywhere()))
		g.Firewall = batchGroup
		m := b.joined(g, 5*day)
		b.silent(m, 45*time.Minute)
		return m
	}
	own := BatchGroup // a node group with a launch template of one's own
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
				return finds(m, "Uninitialized", "CniNotReady").suggests("RolePoliciesMissing").rulesOut("VpcEndpointMissing")
			}),
		misleading("no-token-and-no-endpoint-of-s3", "What is missing is the endpoint of S3, which would show once there is a token; that there is none has another reason.",
			services, func(b *Bundle) *verdict {
				return finds(pulls(b, noToken, "ec2", "sts", "eks", "ecr.api", "ecr.dkr"), "Uninitialized", "CniNotReady").suggests("VpcEndpointMissing")
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
				return finds(m, "Unknown", "KubeletSilent").suggests("SecurityGroupBlocksApi").holds("CauseNotChecked")
			}),
	}
}
