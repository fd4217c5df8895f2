package generate

import (
	"fmt"
	"strings"
	"time"
)

// endpointCases are about what a node needs beside the API server: the services of AWS,
// addresses for pods, and the metadata service.
func endpointCases() []Case {
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

// neverReady is a node that has not been ready since it was created, for want of a CNI.
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

// behindPolicy is a node that never became ready, behind a NAT gateway and an endpoint with a policy.
func (b *Bundle) behindPolicy(service, policy string) *Machine {
	b.aside(route("NatGatewayId", natGateway("a")))
	b.privateEndpoint(clusterGroup, service)
	b.Endpoints[len(b.Endpoints)-1]["PolicyDocument"] = policy
	m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 26*time.Minute)
	m.moved()
	b.Join(m, 25*time.Minute)
	b.neverReady(m)
	return m
}

// allowingThrough is an endpoint policy with one statement.
func allowingThrough(action string, resources ...string) string {
	return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":%q,"Resource":["%s"]}]}`, action, strings.Join(resources, `","`))
}
