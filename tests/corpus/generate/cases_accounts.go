package generate

import (
	"strings"
	"time"
)

// accountCases are about instances and nodes of which users of EKS reported in 2024 to 2026, and about what
// AWS's guide has people do to a node that may be compromised.
func accountCases() []Case {
	const (
		docRegion    = "https://github.com/bottlerocket-os/bottlerocket/issues/4779"
		docPluto     = "https://github.com/bottlerocket-os/bottlerocket/issues/4382"
		docNodeRoles = "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3346"
		docSwap      = "https://github.com/awslabs/amazon-eks-ami/pull/1958"
		docIsolated  = "https://aws.github.io/aws-eks-best-practices/incidents/"
		docUnmarked  = "https://github.com/aws/karpenter-provider-aws/issues/3910"
		docSharing   = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-share-limitations.html"
		docShared    = "https://aws.amazon.com/blogs/containers/use-shared-vpcs-in-amazon-eks/"
		docSetup     = "https://github.com/eksctl-io/eksctl/issues/1907"
		docCilium    = "https://docs.cilium.io/en/stable/installation/k8s-install-helm/"
		space        = "11000000"
		inodes       = "1200000"
	)
	rocket := BatchGroup
	rocket.Image, rocket.Custom = imageBottlerocket, true
	settings := bottlerocketData(Cluster)
	timedOut := strings.Join([]string{
		"Welcome to Bottlerocket OS 1.55.0 (aws-k8s-1.35)!",
		"[  OK  ] Finished Bottlerocket userdata configuration system.",
		"[  305.912208] pluto[1521]: Timed out retrieving private DNS name from EC2: deadline has elapsed",
		"[FAILED] Failed to start Generate additional settings for Kubernetes.",
		"[DEPEND] Dependency failed for Bottlerocket initial configuration complete.",
	}, "\n")
	fips := rocket
	fips.Image.ID, fips.Image.Name = "ami-0b07aaaaaaaaaaaa3", "bottlerocket-aws-k8s-1.35-fips-x86_64-v1.55.0-f3ac4e6c"
	elsewhere := "\n[settings.aws]\nregion = \"us-east-2\"\n"
	// refuses has the kubelet of an instance print these lines and exit.
	refuses := func(lines ...string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(BatchGroup)
			b.logs(m, space, inodes, section{"kubelet", append(lines,
				"systemd[1]: kubelet.service: Main process exited, code=exited, status=1/FAILURE",
				"systemd[1]: kubelet.service: Failed with result 'exit-code'.")})
			return unregistered(m, "CloudInitFailed").holds("CauseOutside")
		}
	}
	// shared puts an instance into a subnet of another account, with these routes.
	shared := func(b *Bundle, routes ...object) *Machine {
		b.aside(routes...)["OwnerId"] = "123456789012"
		return b.UnregisteredAside(BatchGroup)
	}
	return []Case{
		misleading("nat-gateway-of-the-account-that-shares-the-subnet", "The subnet is shared by the account of the network: its routes show, and not the NAT gateway that they lead to.",
			from(docSharing, docShared), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				return unregistered(shared(b, route("NatGatewayId", "nat-0a1b2c3d4e5f60397")), "").misses("ApiEndpointUnreachable")
			}),
		misleading("endpoints-of-the-account-that-shares-the-subnet", "No way leads out of the shared subnet, and whether the account of the network made endpoints there does not show. The role is mapped nowhere.",
			from(docSharing, docAccessEntries), func(b *Bundle) *verdict {
				b.endpoint(false, true)
				m := shared(b)
				b.unmap(BatchGroup)
				return unregistered(m, "NodeRoleNotMapped").suggests("VpcEndpointMissing")
			}),
		broken("instance-profile-replaced-by-quick-setup", "Quick Setup of Systems Manager gave the node its own instance profile in place of the one in its launch template. The cluster does not know that role, and should not.",
			from(docSetup, "https://docs.aws.amazon.com/systems-manager/latest/userguide/quick-setup-host-management.html"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				quick := Group{Owner: byNodeGroup, Name: "quick", Role: "AmazonSSMRoleForInstancesQuickSetup"}
				b.identity(quick)
				b.unmap(quick)
				m.Instance["IamInstanceProfile"] = object{"Arn": "arn:aws:iam::" + Account + ":instance-profile/" + quick.Profile(), "Id": "AIPA" + token(quick.Profile())}
				return finds(m, "Unknown", "NodeRoleNotMapped", "KubeletSilent").says("its launch template names the instance profile " + Workers.Profile()).holds("CauseOutside")
			})),
		broken("aws-node-out-of-use-and-ciliums-pods-kept-off", "The cluster's network is Cilium's, and aws-node selects nodes that do not exist, as Cilium's guide tells. Cilium's pods do not tolerate a taint of the node group.",
			from(docCilium, "https://github.com/giantswarm/aws-operator/pull/3386"), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.taint(m, "team", "NoSchedule")
				b.daemonSet("aws-node", "/opt/cni/bin", "/etc/cni/net.d")
				b.lastSet()["tolerations"], b.lastSet()["nodeSelector"] = []object{{"operator": "Exists"}}, object{"io.cilium/aws-node-enabled": "true"}
				b.daemonSet("cilium", "/opt/cni/bin", "/etc/cni/net.d")
				b.lastSet()["tolerations"] = []object{{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}}
				return finds(m, "Uninitialized", "CniNotReady").says("kube-system/cilium", "does not tolerate team:NoSchedule").saysNot("selects other nodes")
			}),

		broken("bottlerocket-for-another-region", "The settings were copied from another region, with settings.aws.region: pluto asks EC2 there for the name of the instance, and gives up after five minutes.",
			from(docRegion, docPluto), func(b *Bundle) *verdict {
				m := b.Unregistered(rocket)
				b.retext(m, settings+elsewhere)
				b.Console[m.ID] = timedOut
				return unregistered(m, "UserDataClusterMismatch", "CloudInitFailed").says("us-east-2").holds("NotClaimed")
			}),
		misleading("bottlerocket-for-another-region-with-a-name", "The same region, and the settings name the node, so that EC2 is not asked. The role is mapped nowhere.",
			from(docRegion, docAccessEntries), func(b *Bundle) *verdict {
				m := b.Unregistered(rocket)
				b.retext(m, strings.Replace(settings, "[settings.kubernetes]\n", "[settings.kubernetes]\nhostname-override = \""+m.Name()+"\"\n", 1)+elsewhere)
				b.unmap(rocket)
				return unregistered(m, "NodeRoleNotMapped").suggests("UserDataClusterMismatch")
			}),

		broken("bottlerocket-fips-in-a-region-without-fips-endpoints", "The AMI is a FIPS variant, and the settings leave its calls of AWS as they are: pluto asks EC2 at ec2-fips.eu-west-1.amazonaws.com, which does not exist.",
			from("https://github.com/bottlerocket-os/bottlerocket/issues/4363", "https://bottlerocket.dev/en/os/latest/api/settings/aws/"), func(b *Bundle) *verdict {
				m := b.Unregistered(fips)
				b.retext(m, settings)
				b.Console[m.ID] = timedOut
				return unregistered(m, "CloudInitFailed").says("FIPS", "eu-west-1 has none").holds("CauseOutside")
			}),
		misleading("bottlerocket-fips-with-fips-endpoints-off", "The same AMI, and the settings turn FIPS endpoints off: why EC2 does not answer is not known.",
			from("https://github.com/bottlerocket-os/bottlerocket/issues/4363", "https://bottlerocket.dev/en/os/latest/api/settings/aws/"), func(b *Bundle) *verdict {
				m := b.Unregistered(fips)
				b.retext(m, settings+"\n[settings.aws]\nconfig = \"W2RlZmF1bHRdCnVzZV9maXBzX2VuZHBvaW50PWZhbHNl\"\n")
				b.Console[m.ID] = timedOut
				return unregistered(m, "CloudInitFailed").saysNot("FIPS").rulesOut("VpcEndpointMissing")
			}),

		broken("kubelet-that-refuses-a-label", "The label of a role is one that a kubelet may not set. The error is on the line after the one that announces it.",
			from(docNodeRoles, "https://github.com/aws/containers-roadmap/issues/2465"), refuses(
				"systemd[1]: Started kubelet.service - Kubernetes Kubelet.",
				`kubelet[2211]: E0310 11:31:04.798470    2211 run.go:72] "command failed" err=<`,
				"kubelet[2211]:         failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [node-role.kubernetes.io/batch]",
				"kubelet[2211]:         --node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (kubelet.kubernetes.io, node.kubernetes.io)",
				"kubelet[2211]:  >")),
		broken("kubelet-that-refuses-swap", "A script of the user data makes a swap file, and nothing allows the kubelet to start with one.",
			from(docSwap, "https://github.com/eksctl-io/eksctl/issues/8468"), refuses(
				`kubelet[2211]: E0310 11:31:04.798470    2211 run.go:72] "command failed" err="failed to run Kubelet: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"`)),
		broken("containerd-without-the-service-for-the-kubelet", "A script of the user data writes containerd's default configuration, which switches off the plugin that serves the kubelet.",
			from("https://github.com/containerd/containerd/issues/14121", "https://github.com/containerd/containerd/issues/7844"), refuses(
				`kubelet[7826]: E0310 11:31:04.866810    7826 run.go:72] "command failed" err="failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \"unix:///run/containerd/containerd.sock\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"`)),

		broken("network-plugin-that-hangs", "A new version of the network plugin starts, and never opens the port by which it is probed.",
			from("https://github.com/aws/amazon-vpc-cni-k8s/issues/3705"), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				p := b.pod(m, "aws-node", "", "")
				status := p["status"].(object)
				status["conditions"] = []object{{"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "containers with unready status: [aws-node]"}}
				status["containerStatuses"].([]object)[0]["ready"] = false
				b.podEvent(p, "Unhealthy", "Readiness probe failed: timeout: failed to connect service \":50051\" within 5s", 2*time.Minute, 30)
				return finds(m, "Uninitialized", "CniNotReady").says("runs and is not ready")
			}),

		broken("silent-behind-a-group-that-lets-nothing-through", "Somebody moved the instance behind a security group without rules, as to isolate it. A reboot would erase its memory, and not let it out.",
			from(docIsolated, docFirewall), func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.behind(m, nil, nil)
				return finds(m, "Unknown", "SecurityGroupBlocksApi", "KubeletSilent").holds("CauseOutside")
			}),
		misleading("silent-and-cordoned-by-a-person", "Somebody cordoned the node before it fell silent. Nothing shows why it is silent, and what it has in memory is kept.",
			from(docIsolated), func(b *Bundle) *verdict {
				m := silentWorker(b)
				m.Node["spec"].(object)["unschedulable"] = true
				return finds(m, "Unknown", "", "KubeletSilent").holds("NodeHeld")
			}),
		misleading("marked-by-nobody-and-at-work", "Karpenter is down since the node came up: it is Ready, pods run on it, and the mark of an initialized node is missing. Nothing would replace it.",
			from(docUnmarked, docInitialized), func(b *Bundle) *verdict {
				m := b.joined(Batch, 3*time.Hour)
				m.unlabel("karpenter.sh/initialized")
				b.claimSays(m, "Initialized", "Unknown", "NodeNotReady", "Node status is NotReady", 3*time.Hour-time.Minute)
				b.workload(m, "checkout", object{}, "")
				return finds(m, "Uninitialized", "").holds("NodeReady")
			}),
	}
}
