package network_test

import (
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/network"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

const imagePull = `Back-off pulling image "123456789012.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.21.1-eksbuild.1"`

// What containerd reports about a pull without a token, and about one whose layer does not
// arrive.
const (
	noLogin = `: failed to resolve reference: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`
	noLayer = `: failed to copy: httpReadSeeker: failed open: failed to do request: Get "https://prod-eu-west-1-starport-layer-bucket.s3.eu-west-1.amazonaws.com/a": dial tcp 203.0.113.7:443: i/o timeout`
)

func TestVpcEndpointMissingForRegistration(t *testing.T) {
	const code = cause.VpcEndpointMissing
	cutOff := func(change func(*evidence.VPCEndpoint), services ...string) func(*world) {
		return do(routes(), endpoints(change, services...))
	}
	others := []string{"ecr.api", "ecr.dkr", "s3", "sts"}
	// fips makes it a FIPS variant of Bottlerocket in a region, after the endpoints.
	fips := func(region string) func(*world) {
		return func(w *world) {
			w.boot.Joins[0].Tool, w.image.Family, w.image.Name = userdata.BottlerocketSettings, "bottlerocket", "bottlerocket-aws-k8s-1.35-fips-x86_64-v1.55.0-f3ac4e6c"
			for i, e := range w.vpc.Endpoints.Value {
				w.vpc.Endpoints.Value[i].Service = strings.Replace(e.Service, w.Region, region, 1)
			}
			w.Region = region
		}
	}
	run(t, []scenario{
		{
			name: "no endpoint of EC2", change: cutOff(nil, others...), decisive: codes(code),
			says: []string{"[vpc/" + vpcID + "]", "none of com.amazonaws.eu-west-1.ec2", "--service-name com.amazonaws.eu-west-1.ec2 --subnet-ids " + nodeSubnet, "--private-dns-enabled"},
		},
		{name: "all there", change: cutOff(nil, append(others, "ec2")...), clear: codes(code)},
		{name: "a way to the internet", change: endpoints(nil), clear: codes(code)},
		{name: "a transit gateway", change: routes(to("0.0.0.0/0", "tgw-0a1b2c3d")), open: codes(code)},
		{name: "no endpoint of EC2, and an image of one's own, which may have a proxy", change: do(cutOff(nil, others...), ownImage), hint: codes(code)},
		{name: "no endpoint of EC2, and an image of one's own that gets no answer of it",
			change: do(cutOff(nil, others...), ownImage, consoleShows(console.EndpointUnreachable, "ec2.eu-west-1.amazonaws.com")), decisive: codes(code)},
		{name: "a transit gateway to the company's networks, where an endpoint may be",
			change: do(routes(to("10.0.0.0/8", "tgw-0a1b2c3d")), endpoints(nil, others...)), hint: codes(code), says: []string{"whether tgw-0a1b2c3d leads to one of another VPC is not read"}},
		{name: "a transit gateway, and EC2 that does not answer",
			change: do(routes(to("10.0.0.0/8", "tgw-0a1b2c3d")), endpoints(nil, others...), consoleShows(console.EndpointUnreachable, "ec2.eu-west-1.amazonaws.com")), decisive: codes(code)},
		{name: "endpoints of the account that shares the subnet may be there", change: do(cutOff(nil, others...), shared), hint: codes(code), says: []string{"account 123456789012 shares the subnet"}},
		{name: "the account that shares the subnet, and EC2 that does not answer",
			change: do(cutOff(nil, others...), shared, consoleShows(console.EndpointUnreachable, "ec2.eu-west-1.amazonaws.com")), decisive: codes(code)},
		{name: "a NAT gateway of the account that shares the subnet", change: do(endpoints(nil), shared), open: codes(code)},
		{name: "a peering that is gone", change: do(routes(evidence.Route{Destination: "10.20.0.0/16", Target: "pcx-0a1b2c3d", Blackhole: true}), endpoints(nil, others...)), decisive: codes(code)},
		{name: "a private NAT gateway to the company's networks",
			change: do(routes(to("10.20.0.0/16", natID)), nat(func(n *evidence.NATGateway) { n.Private = true }), endpoints(nil, others...)), hint: codes(code)},
		{name: "an endpoint of a service with a like name", change: cutOff(nil, append(others, "ec2messages")...), decisive: codes(code)},
		{name: "an endpoint of another region", change: cutOff(func(e *evidence.VPCEndpoint) { e.Service = "com.amazonaws.us-east-1.ec2" }, "ec2", "sts"), decisive: codes(code)},
		{name: "not available", change: cutOff(func(e *evidence.VPCEndpoint) { e.State = "pendingAcceptance" }, "ec2"), decisive: codes(code), says: []string{"pendingAcceptance"}},
		{name: "no private DNS", change: cutOff(func(e *evidence.VPCEndpoint) { e.PrivateDNS = false }, "ec2"), hint: codes(code), says: []string{"modify-vpc-endpoint", "--private-dns-enabled"}},
		{
			name: "its group refuses", change: func(w *world) {
				cutOff(func(e *evidence.VPCEndpoint) { e.SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"} }, "ec2")(w)
				w.Network.SecurityGroups["sg-0a1b2c3d4e5f60008"] = evidence.Read(evidence.SecurityGroup{Ingress: []evidence.Permission{member(443, "sg-0a1b2c3d4e5f60009")}})
			}, decisive: codes(code), says: []string{"[security-group/sg-0a1b2c3d4e5f60008]", "authorize-security-group-ingress --group-id sg-0a1b2c3d4e5f60008"},
		},
		{name: "its group was not read", change: cutOff(func(e *evidence.VPCEndpoint) { e.SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"} }, "ec2", "sts"), open: codes(code)},
		{
			name: "the second of two serves", change: func(w *world) {
				routes()(w)
				endpoints(nil, "ec2", "sts")(w)
				broken := w.vpc.Endpoints.Value[0]
				broken.State = "failed"
				w.vpc.Endpoints.Value = append([]evidence.VPCEndpoint{broken}, w.vpc.Endpoints.Value...)
			}, clear: codes(code),
		},
		{
			name: "HTTPS may leave to the API server alone", change: do(egress(member(443, apiGroup)), endpoints(nil)), decisive: codes(code),
			says: []string{"its security groups let no HTTPS out of the VPC"},
		},
		{
			name: "the instance's groups refuse the endpoint", change: func(w *world) {
				egress(member(443, apiGroup))(w)
				endpoints(func(e *evidence.VPCEndpoint) { e.SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"} }, "ec2")(w)
				w.Network.SecurityGroups["sg-0a1b2c3d4e5f60008"] = evidence.Read(evidence.SecurityGroup{Ingress: []evidence.Permission{all("0.0.0.0/0")}})
			}, decisive: codes(code), says: []string{"authorize-security-group-egress"},
		},
		{name: "endpoints not read", change: do(routes(), func(w *world) {
			w.vpc.Endpoints = evidence.Failed[[]evidence.VPCEndpoint]("ec2:DescribeVpcEndpoints: no")
		}), open: codes(code)},
		{name: "STS alone", change: cutOff(nil, "ec2"), hint: codes(code)},
		{
			name: "in China", change: func(w *world) {
				cutOff(func(e *evidence.VPCEndpoint) { e.Service = "cn.com.amazonaws.cn-north-1.ec2" }, "ec2")(w)
				w.Region = "cn-north-1"
				sts := w.vpc.Endpoints.Value[0]
				sts.Service = "cn.com.amazonaws.cn-north-1.sts"
				w.vpc.Endpoints.Value = append(w.vpc.Endpoints.Value, sts)
			}, clear: codes(code),
		},
		{name: "none in China", change: do(cutOff(nil), func(w *world) { w.Region = "cn-north-1" }), decisive: codes(code), says: []string{"--service-name cn.com.amazonaws.cn-north-1.ec2"}},
		{name: "none in a partition of its own", change: do(cutOff(nil), func(w *world) { w.Region = "us-iso-east-1" }), decisive: codes(code), says: []string{"describe-vpc-endpoint-services"}},
		{name: "none in the European Sovereign Cloud", change: do(cutOff(nil), func(w *world) { w.Region = "eusc-de-east-1" }), decisive: codes(code), says: []string{"describe-vpc-endpoint-services"}},
		{name: "named by its id, nodeadm does not ask", change: do(cutOff(nil, others...), func(w *world) { w.boot.Joins[0].InstanceIDName = true }), hint: codes(code)},
		{name: "Bottlerocket", change: do(cutOff(nil, others...), func(w *world) { w.boot.Joins[0].Tool = userdata.BottlerocketSettings }), decisive: codes(code)},
		{
			name: "Bottlerocket with a name of its own", change: func(w *world) {
				cutOff(nil, others...)(w)
				w.boot.Joins[0].Tool = userdata.BottlerocketSettings
				w.boot.Joins[0].Kubelet.HostnameOverride = userdata.Setting{State: userdata.Given, Value: "node-1"}
			}, hint: codes(code),
		},
		{name: "a FIPS variant of Bottlerocket, which does not call the endpoint of EC2", change: do(cutOff(nil, append(others, "ec2")...), fips("us-east-2")), open: codes(code)},
		{name: "a FIPS variant of Bottlerocket in GovCloud, where EC2 has one name", change: do(cutOff(nil, append(others, "ec2")...), fips("us-gov-west-1")), clear: codes(code)},
		{name: "a FIPS variant of Bottlerocket whose settings are its own", change: do(cutOff(nil, append(others, "ec2")...), fips("us-east-2"), func(w *world) { w.boot.Joins[0].AWSConfig = true }), clear: codes(code)},
		{name: "a FIPS variant of Bottlerocket with a name of its own", change: do(cutOff(nil, append(others, "ec2")...), fips("us-east-2"), func(w *world) { w.boot.Joins[0].InstanceIDName = true }), clear: codes(code)},
		{name: "a FIPS variant of Bottlerocket, and a way to the internet", change: do(endpoints(nil), fips("us-east-2")), clear: codes(code)},
		{name: "a FIPS variant of Bottlerocket, and no endpoint of EC2", change: do(cutOff(nil, others...), fips("us-east-2")), decisive: codes(code)},
		{name: "bootstrap.sh", change: do(cutOff(nil, others...), func(w *world) { w.boot.Joins[0].Tool, w.image.Kubernetes = userdata.BootstrapScript, "1.31" }), decisive: codes(code)},
		{name: "bootstrap.sh of the first AMI that asks", change: do(cutOff(nil, others...), func(w *world) { w.boot.Joins[0].Tool, w.image.Kubernetes = userdata.BootstrapScript, "1.26" }), decisive: codes(code)},
		{name: "bootstrap.sh of an AMI that does not ask", change: do(cutOff(nil, others...), func(w *world) { w.boot.Joins[0].Tool, w.image.Kubernetes = userdata.BootstrapScript, "1.25" }), hint: codes(code)},
		{name: "bootstrap.sh that user data edits", change: do(cutOff(nil, others...), func(w *world) {
			w.boot.Joins[0].Tool, w.boot.Edits, w.image.Kubernetes = userdata.BootstrapScript, []userdata.Edit{userdata.EditsBootstrapScript}, "1.31"
		}), hint: codes(code)},
		{name: "nodeadm by its command", change: do(cutOff(nil, others...), func(w *world) { w.boot.Joins[0].Tool = userdata.NodeadmCommand }), decisive: codes(code)},
		{name: "a firewall on the way to the company's networks", change: do(routes(to("10.20.0.0/16", "vpce-0a1b2c3d")), endpoints(nil, others...)), hint: codes(code)},
		{name: "a firewall that is gone", change: do(routes(evidence.Route{Destination: "10.20.0.0/16", Target: "vpce-0a1b2c3d", Blackhole: true}), endpoints(nil, others...)), decisive: codes(code)},
		{name: "S3's gateway is no way to others", change: do(routes(to("pl-6da54004", "vpce-0a1b2c3d4e5f6-s3")), endpoints(nil, others...)), decisive: codes(code)},
		{name: "a NAT gateway to the company's networks that is gone", change: do(routes(evidence.Route{Destination: "10.20.0.0/16", Target: natID, Blackhole: true}), endpoints(nil, others...)), decisive: codes(code)},
		{name: "STS' group alone was not read", change: do(cutOff(nil, "ec2", "sts"), func(w *world) { w.vpc.Endpoints.Value[1].SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"} }), clear: codes(code)},
		{name: "EC2's group was not read, and STS is missing", change: cutOff(func(e *evidence.VPCEndpoint) { e.SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"} }, "ec2"), open: codes(code)},
		{name: "an IPv6 address and no way out by it", change: do(cutOff(nil, others...), addressed6), decisive: codes(code)},
		{name: "a way out by IPv6, and user data that is not known as a whole",
			change: do(cutOff(nil, others...), addressed6, routes(to("::/0", "eigw-0a1b2c3d")), func(w *world) { w.boot.Opaque = true }), open: codes(code)},
		{name: "bootstrap.sh of an AMI that does not tell its version",
			change: do(cutOff(nil, others...), func(w *world) { w.boot.Joins[0].Tool, w.image.Kubernetes = userdata.BootstrapScript, "" }), hint: codes(code)},
		{name: "user data that joins nothing", change: do(cutOff(nil, others...), func(w *world) { w.boot.Joins = nil }), hint: codes(code)},
		{name: "a proxy", change: do(cutOff(nil, others...), proxied), open: codes(code)},
		{name: "a proxy that a script sets after nodeadm has called EC2", change: do(cutOff(nil, others...), proxiedByScript), decisive: codes(code), says: []string{"before cloud-init runs the script that sets a proxy", "spec.instance.environment.default"}},
		{name: "and an endpoint of EC2", change: do(cutOff(nil, append(others, "ec2")...), proxiedByScript), clear: codes(code)},
		{name: "and an image of one's own, which may have a proxy", change: do(cutOff(nil, others...), proxiedByScript, ownImage), hint: codes(code)},
		{name: "and a script that runs nodeadm again", change: do(cutOff(nil, others...), proxiedByScript, func(w *world) { w.boot.Edits = []userdata.Edit{userdata.ChangesNodeadm} }), open: codes(code)},
		{name: "and a script that runs more than is seen", change: do(cutOff(nil, others...), proxiedByScript, func(w *world) { w.boot.Opaque = true }), open: codes(code)},
		{name: "and bootstrap.sh, which runs after it", change: do(cutOff(nil, others...), proxiedByScript, func(w *world) { w.boot.Joins = []userdata.Join{{Tool: userdata.BootstrapScript}} }), open: codes(code)},
		{name: "and a node that is named after its id", change: do(cutOff(nil, others...), proxiedByScript, func(w *world) { w.boot.Joins = []userdata.Join{{Tool: userdata.Nodeadm, InstanceIDName: true}} }), open: codes(code)},
		{name: "a way out by IPv6, which EC2's usual endpoint does not have",
			change: do(cutOff(nil, others...), addressed6, routes(to("::/0", "eigw-0a1b2c3d"))), decisive: codes(code), says: []string{"IPv6 does not help"}},
		{name: "a way out by IPv6, and user data that sets dual-stack endpoints",
			change: do(cutOff(nil, others...), addressed6, routes(to("::/0", "eigw-0a1b2c3d")), func(w *world) { w.boot.DualStack = true }), open: codes(code)},
		{name: "a way out by IPv6, and an AMI that may set dual-stack endpoints",
			change: do(cutOff(nil, others...), func(w *world) { w.config.IPv6, w.image.EKS = true, false }, routes(to("::/0", "eigw-0a1b2c3d"))), open: codes(code)},
		{name: "a way out by IPv6 for Bottlerocket",
			change: do(cutOff(nil, others...), addressed6, routes(to("::/0", "eigw-0a1b2c3d")), func(w *world) { w.boot.Joins[0].Tool = userdata.BottlerocketSettings }), open: codes(code)},
		{name: "with a public endpoint alone the API server is what is out of reach", change: do(cutOff(nil, others...), publicOnly()), decisive: codes(cause.ApiEndpointUnreachable)},
	})
}

func TestVpcEndpointMissingForImages(t *testing.T) {
	const code = cause.VpcEndpointMissing
	node := func(services []string, pods ...evidence.Pod) func(*world) {
		return do(waitsForCNI(roll.Uninitialized, pods...), routes(), endpoints(nil, services...))
	}
	waits := daemon("aws-node", "ImagePullBackOff", imagePull)
	images := []string{"ecr.api", "ecr.dkr", "s3"}
	role := func(p evidence.Pod) evidence.Pod { p.AssumesRole = true; return p }
	ready := func(p evidence.Pod) evidence.Pod { p.Ready = true; return p }
	unseen := func(p evidence.Pod) evidence.Pod { p.EventsUnread = "denied"; return p }
	crashes := role(daemon("aws-node", "CrashLoopBackOff", "back-off 5m0s"))
	identified := func(p evidence.Pod) evidence.Pod { p.PodIdentity = true; return p }
	without := identified(daemon("aws-node", "CrashLoopBackOff", "back-off 5m0s"))
	toS3 := routes(to("pl-6da54004", "vpce-0a1b2c3d4e5f6-s3"))
	run(t, []scenario{
		{
			name: "no endpoint of ECR, and the CNI's image does not come", change: node([]string{"ec2", "sts", "s3"}, waits), decisive: codes(code),
			says: []string{"cannot reach ecr.api, ecr.dkr", "pod kube-system/aws-node-x2x4l", "com.amazonaws.eu-west-1.ecr.api", "com.amazonaws.eu-west-1.ecr.dkr"},
		},
		{name: "S3 alone is missing", change: node([]string{"ecr.api", "ecr.dkr", "sts"}, waits), decisive: codes(code), says: []string{"--vpc-endpoint-type Gateway", "--route-table-ids " + nodeTable}},
		{
			name: "S3's gateway is not in the table", change: func(w *world) {
				node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, waits)(w)
				w.vpc.Endpoints.Value[2].RouteTables = []string{"rtb-0a1b2c3d4e5f60999"}
			}, decisive: codes(code), says: []string{"--add-route-table-ids " + nodeTable},
		},
		{name: "all there", change: node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, waits), clear: codes(code)},
		{name: "no pod waits for an image", change: node([]string{"ec2"}), hint: codes(code)},
		{name: "a pod waits for an image from elsewhere", change: node([]string{"ec2"}, daemon("cilium", "ImagePullBackOff", `Back-off pulling image "quay.io/cilium/cilium:v1.18"`)), hint: codes(code)},
		{name: "the registry answered", change: node([]string{"ec2"}, daemon("aws-node", "ErrImagePull", imagePull+": not found")), hint: codes(code)},
		{name: "no token, and no endpoint to get one from", change: node([]string{"ecr.dkr", "s3", "sts"}, daemon("aws-node", "ImagePullBackOff", imagePull+noLogin)), decisive: codes(code)},
		{name: "no token, and a layer's endpoint is missing", change: node([]string{"ecr.api", "ecr.dkr", "sts"}, daemon("aws-node", "ImagePullBackOff", imagePull+noLogin)), hint: codes(code)},
		{name: "no layer, and S3 is missing", change: node([]string{"ecr.api", "ecr.dkr", "sts"}, daemon("aws-node", "ErrImagePull", imagePull+noLayer)), decisive: codes(code)},
		{name: "no layer, and the token's endpoint is missing", change: node([]string{"ecr.dkr", "s3", "sts"}, daemon("aws-node", "ErrImagePull", imagePull+noLayer)), hint: codes(code)},
		{name: "no manifest, and S3 is missing", change: node([]string{"ecr.api", "ecr.dkr", "sts"}, daemon("aws-node", "ErrImagePull", imagePull+": dial tcp 203.0.113.5:443: i/o timeout")), hint: codes(code)},
		{name: "the registry answered once, and another pull had no token", change: func(w *world) {
			p := daemon("aws-node", "ImagePullBackOff", imagePull+noLogin)
			p.Events = []evidence.Event{{Type: "Warning", Reason: "Failed", Message: imagePull + ": not found"}}
			node([]string{"ecr.dkr", "s3", "sts"}, p)(w)
		}, hint: codes(code)},
		{name: "pods not read", change: do(node([]string{"ec2"}), func(w *world) { w.node.Pods = evidence.Failed[[]evidence.Pod]("no") }), hint: codes(code)},
		{
			name: "a pod that the node does not wait for", change: func(w *world) {
				node([]string{"ec2"}, daemon("node-exporter", "ImagePullBackOff", imagePull))(w)
				w.node.Object = evidence.Read(evidence.NodeObject{Taints: []evidence.Taint{{Key: "node.cilium.io/agent-not-ready"}}})
			}, hint: codes(code),
		},
		{
			name: "a startup taint's agent", change: func(w *world) {
				node([]string{"ec2"}, daemon("ebs-csi-node", "ImagePullBackOff", imagePull))(w)
				w.node.Object = evidence.Read(evidence.NodeObject{Taints: []evidence.Taint{{Key: "ebs.csi.aws.com/agent-not-ready"}}})
			}, decisive: codes(code),
		},
		{name: "a way to the internet", change: waitsForCNI(roll.NotReady, waits), clear: codes(code)},
		{name: "a way out by IPv6", change: do(node([]string{"ec2"}, waits), addressed6, routes(to("::/0", "eigw-0a1b2c3d"))), open: codes(code)},
		{name: "S3's gateway is in the routes", change: do(node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, waits), routes(to("pl-6da54004", "vpce-0a1b2c3d4e5f6-s3")), func(w *world) {
			w.vpc.Endpoints.Value[2].RouteTables = nil
		}), clear: codes(code)},
		{name: "HTTPS may leave to the VPC alone, and S3's gateway leads to public addresses",
			change: do(node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, daemon("aws-node", "ErrImagePull", imagePull+noLayer)), toS3, egress(all("10.0.0.0/16"))), decisive: codes(code),
			says: []string{"[security-group/" + nodeGroup + "]", "let no HTTPS out to the addresses of s3", `"PrefixListIds":[{"PrefixListId":"pl-6da54004"}]`}},
		{name: "HTTPS may leave to the VPC alone, and no pull shows that S3 does not answer",
			change: do(node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}), toS3, egress(all("10.0.0.0/16"))), hint: codes(code)},
		{name: "HTTPS may leave to the VPC alone, and the routes of S3's gateway are not shown",
			change: do(node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, waits), egress(all("10.0.0.0/16"))), decisive: codes(code), says: []string{`"CidrIp":"0.0.0.0/0"`}},
		{name: "HTTPS may leave to the VPC and to S3's prefix list", change: do(node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, waits), toS3,
			egress(all("10.0.0.0/16"), evidence.Permission{Protocol: "tcp", From: 443, To: 443, PrefixLists: []string{"pl-6da54004"}})), clear: codes(code)},
		{name: "HTTPS may leave to the VPC and to some other prefix list", change: do(node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, waits), toS3,
			egress(all("10.0.0.0/16"), evidence.Permission{Protocol: "tcp", From: 443, To: 443, PrefixLists: []string{"pl-0a1b2c3d"}})), open: codes(code)},
		{name: "the network ACL lets the VPC's addresses pass alone, and S3's gateway leads to public ones", change: do(node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, waits), toS3,
			acl(nodeSubnet, aclRule(100, false, true, "-1", 0, 0, "10.0.0.0/16"), aclRule(100, true, true, "-1", 0, 0, "10.0.0.0/16"))), decisive: codes(code),
			says: []string{"[network-acl/" + nodeACL + "]", "create-network-acl-entry --network-acl-id " + nodeACL}},
		{name: "the same, and the instance has an IPv6 address, whose rules let all pass", change: do(node([]string{"ecr.api", "ecr.dkr", "s3", "sts"}, waits), toS3, addressed6,
			egress(all("10.0.0.0/16", "::/0"))), open: codes(code)},
		{name: "no image of the sandbox", change: node([]string{"ec2"}, daemon("aws-node", "ContainerCreating", `failed to get sandbox image "123456789012.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.10"`)), decisive: codes(code)},
		{name: "an image of the sandbox that came later", change: node([]string{"ec2"}, ready(daemon("aws-node", "", `failed to get sandbox image "123456789012.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.10"`))), hint: codes(code)},
		{name: "a pod that does not wait for its image", change: node([]string{"ec2"}, daemon("aws-node", "CrashLoopBackOff", imagePull)), hint: codes(code)},
		{name: "a pod of a Deployment", change: node([]string{"ec2"}, evidence.Pod{Owner: "ReplicaSet/coredns", Waiting: "ImagePullBackOff", Message: imagePull}), hint: codes(code)},
		{name: "all of ECR is missing, and the pod's events were not read", change: node([]string{"ec2"}, unseen(waits)), decisive: codes(code)},
		{name: "S3 is missing, and the pod's events were not read", change: node([]string{"ecr.api", "ecr.dkr", "sts"}, unseen(waits)), hint: codes(code)},
		{name: "a pod with a role of its own, and no STS", change: node(images, crashes), decisive: codes(code), says: []string{"asks STS for the role"}},
		{name: "a pod without such a role", change: node(images, daemon("aws-node", "CrashLoopBackOff", "")), hint: codes(code)},
		{name: "a pod with such a role that waits for its image", change: node(images, role(daemon("aws-node", "ImagePullBackOff", "x"))), hint: codes(code)},
		{name: "a pod with such a role that the node does not wait for", change: node(images, role(daemon("ebs-csi-node", "CrashLoopBackOff", ""))), hint: codes(code)},
		{name: "a pod with such a role whose taint remains", change: do(node(images, role(daemon("ebs-csi-node", "CrashLoopBackOff", ""))), func(w *world) {
			w.node.Object = evidence.Read(evidence.NodeObject{Taints: []evidence.Taint{{Key: "ebs.csi.aws.com/agent-not-ready"}}})
		}), decisive: codes(code)},
		{name: "a pod with such a role, and user data may set a proxy", change: do(node(images, crashes), unread), hint: codes(code)},
		{
			name: "a pod with a role by Pod Identity, and no EKS Auth API", change: node(append(images, "sts"), without), decisive: codes(code),
			says: []string{"cannot reach eks-auth:", "asks the EKS Pod Identity Agent", "--service-name com.amazonaws.eu-west-1.eks-auth"},
		},
		{name: "the same, and no STS, which nothing needs", change: node(images, without), decisive: codes(code), says: []string{"cannot reach eks-auth:"}},
		{name: "the same with its endpoint", change: node(append(images, "sts", "eks-auth"), without), clear: codes(code)},
		{name: "the same with its endpoint, and no STS", change: node(append(images, "eks-auth"), without), hint: codes(code)},
		{name: "its endpoint has a group that was not read", change: do(node(append(images, "sts", "eks-auth"), without), func(w *world) {
			w.vpc.Endpoints.Value[4].SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"}
		}), open: codes(code)},
		{name: "its endpoint does not admit the node", change: do(node(append(images, "sts", "eks-auth"), without), func(w *world) {
			w.vpc.Endpoints.Value[4].SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"}
			w.Network.SecurityGroups["sg-0a1b2c3d4e5f60008"] = evidence.Read(evidence.SecurityGroup{Ingress: []evidence.Permission{member(443, "sg-0a1b2c3d4e5f60009")}})
		}), decisive: codes(code)},
		{name: "a pod with a role by Pod Identity that the node does not wait for", change: node(append(images, "sts"), identified(daemon("ebs-csi-node", "CrashLoopBackOff", ""))), clear: codes(code)},
		{name: "a pod with a role by Pod Identity that runs", change: node(append(images, "sts"), identified(ready(daemon("aws-node", "", "")))), clear: codes(code)},
		{name: "a pod with a role by Pod Identity, and user data may set a proxy", change: do(node(append(images, "sts"), without), unread), hint: codes(code)},
		{name: "a pod with a role by Pod Identity, and a way to the internet", change: waitsForCNI(roll.Uninitialized, without), clear: codes(code)},
		{name: "user data not read", change: do(node([]string{"ec2"}, waits), unread), hint: codes(code)},
		{
			name: "the registry was dialed itself", change: func(w *world) {
				p := waits
				p.Events = []evidence.Event{{Type: "Warning", Reason: "Failed", Message: "Failed to pull image: dial tcp 203.0.113.5:443: i/o timeout"}}
				node([]string{"ec2"}, p)(w)
				unread(w)
			}, decisive: codes(code),
		},
		{
			name: "though a proxy is set", change: func(w *world) {
				p := waits
				p.Message += ": dial tcp 203.0.113.5:443: i/o timeout"
				node([]string{"ec2"}, p)(w)
				proxied(w)
			}, decisive: codes(code),
		},
		{
			name: "the proxy was dialed", change: func(w *world) {
				p := waits
				p.Message += ": proxyconnect tcp: dial tcp 10.0.0.9:3128: i/o timeout"
				node([]string{"ec2"}, p)(w)
				proxied(w)
			}, open: codes(code),
		},
		{name: "a node that reaches a public endpoint has one", change: do(node([]string{}, waits), publicOnly()), clear: codes(code)},
		{name: "STS alone", change: node([]string{"ecr.api", "ecr.dkr", "s3"}), hint: codes(code)},
	})
}

func TestSubnetIpsExhausted(t *testing.T) {
	const code = cause.SubnetIpsExhausted
	left := func(n int) func(*world) {
		return func(w *world) {
			s := w.Network.Subnets[nodeSubnet]
			s.Value.FreeAddresses = n
			w.Network.Subnets[nodeSubnet] = s
		}
	}
	failed := func(subnet string) func(*world) {
		return func(w *world) {
			w.group.Activities = evidence.Read([]evidence.Activity{{
				Status:  "Failed",
				Message: "There are not enough free addresses in subnet '" + subnet + "' to satisfy the requested number of instances. Launching EC2 instance failed.",
			}})
		}
	}
	cniSays := func(k roll.Kind, message string) func(*world) {
		return do(waitsForCNI(k), func(w *world) {
			w.node.Events = evidence.Read([]evidence.Event{{Type: "Warning", Reason: "x", Message: message}})
		})
	}
	down := func(w *world) {
		w.node.Object.Value.Conditions = []evidence.Condition{{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "container runtime is down"}}
	}
	karpenters := func(status, message string) func(*world) {
		return do(left(3), waitsForCNI(roll.Uninitialized), func(w *world) {
			w.group.NodeClaims = evidence.Read([]evidence.NodeClaim{{Name: "default-x", Conditions: []evidence.Condition{{Type: "Launched", Status: status, Reason: "x", Message: message}}}})
		})
	}
	sandbox := evidence.Event{Type: "Warning", Reason: "FailedCreatePodSandBox", Message: `plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container`}
	run(t, []scenario{
		{name: "none left", change: left(0), hint: codes(code), says: []string{"[subnet/" + nodeSubnet + "]", "WARM_IP_TARGET=1"}},
		{name: "four left", change: left(4), hint: codes(code)},
		{name: "none left of IPv4, and pods take IPv6", change: do(left(0), func(w *world) { w.cluster.IPFamily = "ipv6" }, waitsForCNI(roll.NotReady)), clear: codes(code)},
		{name: "none left of IPv4 for launches either, and pods take IPv6", change: do(left(0), failed(nodeSubnet), func(w *world) { w.cluster.IPFamily = "ipv6" }, waitsForCNI(roll.NotReady)), clear: codes(code)},
		{name: "none left of IPv4, and pods take those", change: do(left(0), waitsForCNI(roll.NotReady)), hint: codes(code)},
		{name: "none left of IPv4, and the CNI asks for one", change: do(left(0), func(w *world) { w.cluster.IPFamily = "ipv6" }, cniSays(roll.NotReady, sandbox.Message)), decisive: codes(code)},
		{name: "none left of IPv4, where pods take IPv6, for an instance that does not register", change: do(left(0), func(w *world) { w.cluster.IPFamily = "ipv6" }), hint: codes(code)},
		{name: "no block for a prefix", change: cniSays(roll.NotReady, "InsufficientCidrBlocks: no block"), decisive: codes(code), says: []string{"no contiguous /28"}},
		{name: "no block for a prefix, five left", change: do(left(5), cniSays(roll.NotReady, "InsufficientCidrBlocks: no block")), decisive: codes(code), says: []string{"no contiguous /28"}},
		{name: "no block for a prefix, four left", change: do(left(4), cniSays(roll.NotReady, "InsufficientCidrBlocks: no block")), hint: codes(code), says: []string{"too few for the CNI"}},
		{name: "enough left, and pods not read", change: do(waitsForCNI(roll.NotReady), func(w *world) { w.node.Pods = evidence.Failed[[]evidence.Pod]("no") }), open: codes(code)},
		{name: "the CNI says so to a pod of a node that has a startup taint left", change: do(left(3), cniSays(roll.Uninitialized, sandbox.Message), down), decisive: codes(code)},
		{name: "a pod waits for an address", change: do(left(3), waitsForCNI(roll.NotReady, daemon("agent", "ContainerCreating", "failed to assign an IP address to container"))), decisive: codes(code)},
		{name: "launches that succeeded", change: do(left(3), failed(nodeSubnet), waitsForCNI(roll.Uninitialized), func(w *world) { w.group.Activities.Value[0].Status = "Successful" }), hint: codes(code)},
		{name: "launches fail otherwise", change: do(left(3), failed(nodeSubnet), waitsForCNI(roll.Uninitialized), func(w *world) { w.group.Activities.Value[0].Message = "no capacity in " + nodeSubnet }), hint: codes(code)},
		{name: "Karpenter's launches succeed", change: karpenters("True", "InsufficientFreeAddressesInSubnet: not enough in "+nodeSubnet), hint: codes(code)},
		{name: "Karpenter's launches fail otherwise", change: karpenters("False", "no capacity in "+nodeSubnet), hint: codes(code)},
		{name: "Karpenter's launches fail in another subnet", change: karpenters("False", "InsufficientFreeAddressesInSubnet: not enough in "+apiSubnet1), hint: codes(code)},
		{name: "enough left, and events not read", change: do(waitsForCNI(roll.NotReady), func(w *world) { w.node.Events = evidence.Failed[[]evidence.Event]("no") }), open: codes(code)},
		{name: "five left", change: left(5), clear: codes(code)},
		{name: "an instance that does not register has its address", change: do(left(0), failed(nodeSubnet)), hint: codes(code), says: []string{"scaling activities"}},
		{
			name: "the CNI says so to a pod", change: func(w *world) {
				left(3)(w)
				p := daemon("ebs-csi-node", "ContainerCreating", "")
				p.Events = []evidence.Event{sandbox}
				waitsForCNI(roll.Uninitialized, p)(w)
			}, decisive: codes(code), says: []string{"event FailedCreatePodSandBox"},
		},
		{
			name: "the CNI says so to a pod of a node that is not ready for another reason", change: func(w *world) {
				left(3)(w)
				p := daemon("agent", "ContainerCreating", "")
				p.Events = []evidence.Event{sandbox}
				waitsForCNI(roll.NotReady, p)(w)
				w.node.Object.Value.Conditions = []evidence.Condition{{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "container runtime is down"}}
			}, hint: codes(code),
		},
		{
			name: "the monitoring agent says so", change: func(w *world) {
				left(3)(w)
				waitsForCNI(roll.NotReady)(w)
				w.node.Events = evidence.Read([]evidence.Event{{Type: "Warning", Reason: "NetworkingReady", Message: "IPAMDNoIPs: no IPs"}})
			}, decisive: codes(code),
		},
		{
			name: "the CNI says so, and there are enough", change: func(w *world) {
				p := daemon("ebs-csi-node", "ContainerCreating", "")
				p.Events = []evidence.Event{sandbox}
				waitsForCNI(roll.Uninitialized, p)(w)
			}, clear: codes(code),
		},
		{name: "the monitoring agent says so, and there are enough in the node's subnet", change: cniSays(roll.NotReady, "IPAMDNoIPs: no IPs"), hint: codes(code), says: []string{"ENIConfig"}},
		{name: "launches fail and the node waits for its CNI, which starts without an address", change: do(left(3), failed(nodeSubnet), waitsForCNI(roll.Uninitialized)), hint: codes(code), says: []string{"scaling activities"}},
		{name: "launches fail in another subnet", change: do(left(3), failed(apiSubnet1), waitsForCNI(roll.Uninitialized)), hint: codes(code)},
		{
			name: "Karpenter's launches fail", change: func(w *world) {
				left(3)(w)
				waitsForCNI(roll.Uninitialized)(w)
				w.group.NodeClaims = evidence.Read([]evidence.NodeClaim{{Name: "default-x", Conditions: []evidence.Condition{{
					Type: "Launched", Status: "Unknown", Reason: "LaunchFailed", Message: "InsufficientFreeAddressesInSubnet: not enough in " + nodeSubnet,
				}}}})
			}, hint: codes(code), says: []string{"NodeClaim default-x"},
		},
		{name: "networking failed", change: do(left(1), kind(roll.ConditionFailed, 0), func(w *world) { w.Finding.Condition = "NetworkingReady" }), hint: codes(code)},
		{name: "not read", change: func(w *world) {
			w.Network.Subnets[nodeSubnet] = evidence.Failed[evidence.Subnet]("ec2:DescribeSubnets: no")
		}, open: codes(code), says: []string{"ec2:DescribeSubnets: no"}},
	})
}

// An endpoint takes all traffic to its service, whatever other ways there are: its policy and its
// security groups must admit the instance.
func TestEndpointsThatRefuse(t *testing.T) {
	const code = cause.VpcEndpointMissing
	policy := func(statements string) func(*evidence.VPCEndpoint) {
		return func(e *evidence.VPCEndpoint) { e.Policy = `{"Statement":[` + statements + `]}` }
	}
	const all = `{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}`
	const describe = `"Action":"ec2:DescribeInstances","Resource":"*"`
	waits := func(message string) func(*world) {
		return waitsForCNI(roll.NotReady, daemon("aws-node", "ImagePullBackOff", message))
	}
	refused := func(w *world) {
		w.Network.SecurityGroups["sg-0a1b2c3d4e5f60008"] = evidence.Read(evidence.SecurityGroup{Ingress: []evidence.Permission{member(443, "sg-0a1b2c3d4e5f60009")}})
	}
	// both3 adds a gateway endpoint of S3, and an interface endpoint whose name only inbound resolvers return.
	both3 := func(change func(*evidence.VPCEndpoint)) func(*world) {
		return do(refused, endpoints(policy(all), "s3"), func(w *world) {
			e := evidence.VPCEndpoint{
				ID: "vpce-0a1b2c3d4e5f6-inbound", Service: "com.amazonaws.eu-west-1.s3", Type: "Interface", State: "available", PrivateDNS: true, InboundOnly: true,
				Subnets: []string{apiSubnet1}, SecurityGroups: []string{apiGroup},
			}
			change(&e)
			w.vpc.Endpoints.Value = append(w.vpc.Endpoints.Value, e)
		})
	}
	refusing := func(services ...string) func(*world) {
		return do(refused, endpoints(func(e *evidence.VPCEndpoint) { e.SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"} }, services...))
	}
	run(t, []scenario{
		{name: "all is allowed", change: endpoints(policy(all), "ec2"), clear: codes(code)},
		{name: "a pattern allows the call", change: endpoints(policy(`{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"ec2:Describe*","Resource":"*"}`), "ec2"), clear: codes(code)},
		{name: "another call is allowed", change: endpoints(policy(`{"Effect":"Allow","Principal":"*","Action":"ec2:RunInstances","Resource":"*"}`), "ec2"), decisive: codes(code), says: []string{"Allow ec2:DescribeInstances"}},
		{name: "a role may call", change: endpoints(policy(`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:role/x"},`+describe+`}`), "ec2"), open: codes(code)},
		{name: "a call under a condition", change: endpoints(policy(`{"Effect":"Allow","Principal":"*",`+describe+`,"Condition":{"Bool":{"x":"y"}}}`), "ec2"), open: codes(code)},
		{name: "all but a call", change: endpoints(policy(`{"Effect":"Allow","Principal":"*","NotAction":"ec2:RunInstances","Resource":"*"}`), "ec2"), open: codes(code)},
		{name: "the call is denied", change: endpoints(policy(all+`,{"Effect":"Deny","Principal":"*",`+describe+`}`), "ec2"), decisive: codes(code)},
		{name: "the call is denied to a role", change: endpoints(policy(all+`,{"Effect":"Deny","Principal":{"AWS":"arn:aws:iam::111122223333:role/x"},`+describe+`}`), "ec2"), open: codes(code)},
		{name: "the call is denied of some resources", change: endpoints(policy(all+`,{"Effect":"Deny","Principal":"*","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/*"}`), "ec2"), open: codes(code)},
		{name: "another call is denied", change: endpoints(policy(all+`,{"Effect":"Deny","Principal":"*","Action":"ec2:RunInstances","Resource":"*"}`), "ec2"), clear: codes(code)},
		{name: "a policy that is not JSON", change: endpoints(func(e *evidence.VPCEndpoint) { e.Policy = "{" }, "ec2"), open: codes(code)},
		{name: "a policy that is missing", change: do(endpoints(policy(all), "ec2", "sts"), func(w *world) { w.vpc.Endpoints.Value[0].Policy = "" }), open: codes(code), says: []string{"lacks the policy of"}},
		{name: "the policy of another service's", change: endpoints(policy(``), "logs"), clear: codes(code)},
		{name: "the policy of one that is not available", change: endpoints(func(e *evidence.VPCEndpoint) { policy(``)(e); e.State = "pending" }, "ec2"), clear: codes(code)},
		{name: "the policy of one without private DNS", change: endpoints(func(e *evidence.VPCEndpoint) { policy(``)(e); e.PrivateDNS = false }, "ec2"), clear: codes(code)},
		{name: "the call is not needed", change: do(endpoints(policy(``), "ec2"), func(w *world) { w.boot.Joins[0].InstanceIDName = true }), hint: codes(code)},
		{name: "user data may set a proxy", change: do(endpoints(policy(``), "ec2"), unread), hint: codes(code)},
		{name: "S3 lets the layers through", change: do(waits(imagePull), endpoints(policy(`{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::prod-eu-west-1-starport-layer-bucket/*"}`), "s3")), clear: codes(code)},
		{name: "S3 lets the layers through in the European Sovereign Cloud", change: do(waits(imagePull), func(w *world) {
			w.Region = "eusc-de-east-1"
			endpoints(policy(`{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws-eusc:s3:::prod-eusc-de-east-1-starport-layer-bucket/*"}`), "s3")(w)
			w.vpc.Endpoints.Value[0].Service = "com.amazonaws.eusc-de-east-1.s3"
		}), clear: codes(code)},
		{name: "S3 lets another bucket through", change: do(waits(imagePull), endpoints(policy(`{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::logs/*"}`), "s3")), hint: codes(code)},
		{name: "S3 refuses the layers", change: do(waits(imagePull+noLayer+" 403 Forbidden"), endpoints(policy(`{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::logs/*"}`), "s3")), decisive: codes(code)},
		{name: "S3's gateway is not in the table", change: do(waits(imagePull), endpoints(func(e *evidence.VPCEndpoint) { policy(``)(e); e.RouteTables = nil }, "s3")), clear: codes(code)},
		{name: "ECR refuses an image", change: do(waits(imagePull+": 403 Forbidden"), endpoints(policy(``), "ecr.dkr")), decisive: codes(code)},
		{name: "ECR refuses another registry's image", change: do(waits("quay.io/cilium: 403 Forbidden"), endpoints(policy(``), "ecr.dkr")), hint: codes(code)},
		{name: "ECR does not answer", change: do(waits(imagePull+": i/o timeout"), endpoints(policy(``), "ecr.dkr")), hint: codes(code)},
		{name: "ECR refuses the image of a pod that the node does not wait for", change: do(waitsForCNI(roll.NotReady, evidence.Pod{Owner: "ReplicaSet/coredns", Waiting: "ImagePullBackOff", Message: imagePull + ": 403 Forbidden"}), endpoints(policy(``), "ecr.dkr")), hint: codes(code)},
		{name: "its groups refuse", change: refusing("ec2"), hint: codes(code), says: []string{"other ways out do not help"}},
		{name: "its groups refuse, and EC2 does not answer", change: do(refusing("ec2"), consoleShows(console.EndpointUnreachable, "ec2.eu-west-1.amazonaws.com")), decisive: codes(code)},
		{name: "its groups refuse, and its name leads elsewhere", change: do(refusing("ec2"), func(w *world) { w.vpc.Endpoints.Value[0].PrivateDNS = false }), clear: codes(code)},
		{name: "its groups were not read", change: endpoints(func(e *evidence.VPCEndpoint) { e.SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"} }, "ec2"), open: codes(code)},
		{name: "its groups admit", change: endpoints(nil, "ec2"), clear: codes(code)},
		{name: "groups refuse at a service that is not needed", change: refusing("logs", "ecr.api"), clear: codes(code)},
		{name: "groups refuse at a service that a node does not need", change: do(waits(imagePull), refusing("ec2")), clear: codes(code)},
		{name: "groups refuse at ECR", change: do(waits(imagePull), refusing("ecr.dkr")), hint: codes(code)},
		{name: "groups refuse at ECR, which does not answer", change: do(waits(imagePull+": dial tcp 10.0.0.9:443: i/o timeout"), refusing("ecr.dkr")), decisive: codes(code)},
		{name: "another call is allowed, and other resolvers may lead past the endpoint",
			change: do(company("eu-west-1.compute.internal", "10.20.0.10"), endpoints(policy(`{"Effect":"Allow","Principal":"*","Action":"ec2:RunInstances","Resource":"*"}`), "ec2")), hint: codes(code, cause.DhcpOptionsWrong)},
		{name: "S3 refuses the layers, whatever the resolvers", change: do(waits(imagePull+noLayer+" 403 Forbidden"), company("eu-west-1.compute.internal", "10.20.0.10"),
			endpoints(policy(`{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::logs/*"}`), "s3")), decisive: codes(code)},
		{name: "its groups refuse, EC2 does not answer, and other resolvers would lead past the endpoint to a way that is open",
			change: do(company("eu-west-1.compute.internal", "10.20.0.10"), refusing("ec2"), consoleShows(console.EndpointUnreachable, "ec2.eu-west-1.amazonaws.com")), decisive: codes(code), hint: codes(cause.DhcpOptionsWrong)},
		{name: "its groups refuse, EC2 does not answer, and other resolvers may lead past the endpoint to a way that is not read",
			change: do(routes(to("0.0.0.0/0", "tgw-0a1b2c3d")), company("eu-west-1.compute.internal", "10.20.0.10"), refusing("ec2"), consoleShows(console.EndpointUnreachable, "ec2.eu-west-1.amazonaws.com")), hint: codes(code, cause.DhcpOptionsWrong)},
		{name: "S3's interface serves resolvers outside of the VPC alone, and the gateway the instance",
			change: do(waits(imagePull+noLayer), both3(func(e *evidence.VPCEndpoint) { e.SecurityGroups = []string{"sg-0a1b2c3d4e5f60008"} })), clear: codes(code)},
		{name: "the policy of an interface that serves resolvers outside of the VPC alone", change: do(waits(imagePull+noLayer+" 403 Forbidden"), both3(policy(``))), clear: codes(code)},
		{name: "its groups refuse, and the API server is on the internet", change: do(refusing("ec2"), publicOnly()), hint: codes(code)},
		{name: "its groups refuse, EC2 does not answer, and the API server is on the internet",
			change: do(refusing("ec2"), publicOnly(), consoleShows(console.EndpointUnreachable, "ec2.eu-west-1.amazonaws.com")), decisive: codes(code)},
		{name: "its groups refuse, and the API server is on the internet and out of reach", change: do(refusing("ec2"), publicOnly(), routes()), decisive: codes(cause.ApiEndpointUnreachable)},
		{name: "another call is allowed, and the API server is on the internet",
			change: do(endpoints(policy(`{"Effect":"Allow","Principal":"*","Action":"ec2:RunInstances","Resource":"*"}`), "ec2"), publicOnly()), decisive: codes(code)},
		{name: "all is well, and the API server is on the internet", change: do(endpoints(policy(all), "ec2"), publicOnly()), clear: codes(code)},
		{name: "endpoints not read, and the API server is on the internet", change: do(publicOnly(), func(w *world) {
			w.vpc.Endpoints = evidence.Failed[[]evidence.VPCEndpoint]("ec2:DescribeVpcEndpoints: no")
		}), open: codes(code)},
		{name: "groups refuse at ECR, to a node that reaches the internet as it pleases",
			change: do(waits(imagePull+": dial tcp 10.0.0.9:443: i/o timeout"), refusing("ecr.dkr"), publicOnly()), decisive: codes(code)},
		{name: "ECR refuses an image, to a node that reaches the internet", change: do(waits(imagePull+": 403 Forbidden"), endpoints(policy(``), "ecr.dkr"), publicOnly()), decisive: codes(code)},
		{name: "its groups refuse, and what lies on the way out is not read", change: do(refusing("ec2"), routes(to("0.0.0.0/0", "tgw-0a1b2c3d"))), hint: codes(code)},
		{name: "groups refuse at ECR, which does not answer, and what lies on the way out is not read",
			change: do(waits(imagePull+": dial tcp 10.0.0.9:443: i/o timeout"), refusing("ecr.dkr"), routes(to("0.0.0.0/0", "tgw-0a1b2c3d"))), decisive: codes(code)},
		{name: "groups refuse at ECR, and a proxy does not answer", change: do(waits(imagePull+": proxyconnect tcp: dial tcp 10.0.0.9:3128: i/o timeout"), refusing("ecr.dkr")), hint: codes(code)},
	})
}

// Private DNS takes the way over the internet from every machine in the VPC that the security groups of the endpoint do
// not admit.
func TestTheFixForEndpointsSaysWhomTheyAreFor(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*world)
		want   int
	}{
		{"no endpoints of interfaces", do(routes(), endpoints(nil, "s3")), 1},
		{"one whose private DNS is off", do(routes(), endpoints(func(e *evidence.VPCEndpoint) { e.PrivateDNS = e.Service != "com.amazonaws.eu-west-1.ec2" }, "ec2", "ecr.api", "ecr.dkr", "s3", "sts")), 1},
	} {
		w := healthy()
		tt.change(w)
		s := &cause.Sheet{}
		network.Analyze(w.finish(), s)
		c, ok := roll.Find(s.Causes(), func(c roll.Cause) bool { return c.Code == cause.VpcEndpointMissing })
		expect.That(t, ok && strings.Count(c.Fix, "# with private DNS, every machine in the VPC") == tt.want, "%s: %v", tt.name, s.Causes())
	}
}
