package generate

import (
	"slices"
	"strings"
	"time"
)

// imageCases are about the AMI: its architecture, its version, and what its boot prints.
func imageCases() []Case {
	arm := []string{"https://github.com/eksctl-io/eksctl/issues/2558", "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html"}
	return []Case{
		misleading("arm64-and-the-role-unmapped", "The first arm64 instances do not join. AMI and instance agree, or EC2 had not launched them; their role is mapped nowhere.",
			append(arm, docAccessEntries), unjoined(Arm, func(b *Bundle, m *Machine) *verdict {
				b.unmap(Arm)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("ArchitectureMismatch")
			})).of(onARM),
		misleading("arm64-and-no-route", "arm64 again; the new group got a subnet without a way to the endpoint.",
			append(arm, docEndpoint), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.UnregisteredAside(Arm)
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing").rulesOut("ArchitectureMismatch")
			}).of(onARM),
		misleading("arm64-bottlerocket-for-another-cluster", "Bottlerocket on arm64, whose AMI agrees; the settings name another cluster.",
			append(arm, docBottlerocket), func(b *Bundle) *verdict {
				g := Arm
				g.Image, g.Custom = imageBottlerArm, true
				m := b.Unregistered(g)
				b.retext(m, bottlerocketData("payments-staging"))
				return unregistered(m, "UserDataClusterMismatch").rulesOut("ArchitectureMismatch").holds("NotClaimed")
			}).of(onARM),
		well("arm64-nodes-that-work", "An arm64 node beside those of the other architecture.",
			arm, unjoined(Arm, func(b *Bundle, m *Machine) *verdict {
				b.Join(m, 38*time.Minute)
				return nothing()
			})).of(onARM),
		broken("user-data-fetches-a-binary-for-amd64", "AMI and instance are arm64, but the user data fetches a binary for amd64 before nodeadm, and the kernel refuses it.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1412", "https://github.com/aquasecurity/kube-bench/issues/671"), func(b *Bundle) *verdict {
				g := Arm
				g.Custom = true
				m := b.Unregistered(g)
				script := "#!/bin/bash\nset -e\ncurl -fsSLo /usr/local/bin/fetch-ca https://artifacts.example.com/fetch-ca/linux_amd64/fetch-ca\nchmod +x /usr/local/bin/fetch-ca\n/usr/local/bin/fetch-ca\n"
				b.retext(m, multipart(part(shellPart, script), part(nodeConfigPart, nodeConfig(Cluster, CA))))
				b.Console[m.ID] = console("[   12.553021] cloud-init[1893]: /var/lib/cloud/instance/scripts/part-001: line 5: /usr/local/bin/fetch-ca: cannot execute binary file: Exec format error",
					"[   12.561190] cloud-init[1893]: 2026-03-10 11:21:01,202 - cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)",
					"[FAILED] Failed to start cloud-final.service - Cloud-init: Final Stage.")
				return unregistered(m, "ArchitectureMismatch", "CloudInitFailed")
			}).of(onARM),
		broken("image-without-kubernetes", "The company's base image boots to its login without a trace of nodeadm or bootstrap.sh.",
			from(docTemplates, "https://github.com/awslabs/amazon-eks-ami/issues/1885"), func(b *Bundle) *verdict {
				g := BatchGroup
				g.Custom, g.Image = true, imageOwn
				m := b.Unregistered(g)
				b.Console[m.ID] = console(booted()...)
				return unregistered(m, "AmiWithoutKubernetes")
			}),
		misleading("eks-image-with-a-short-console", "An image of EKS whose console, an hour old, ends before nodeadm runs: absence proves nothing.",
			from("https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console()
				return unregistered(m, "")
			})),
		misleading("kubelet-newer-than-the-control-plane", "The AMI is for 1.36 and the cluster is at 1.35: unsupported, but nothing enforces it, and such nodes were seen to join.",
			from(docSkew, "https://github.com/awslabs/amazon-eks-ami/issues/2119"), func(b *Bundle) *verdict {
				g := BatchGroup
				g.Image = Image{"ami-0a23aaaaaaaaaaaa9", "amazon-eks-node-al2023-x86_64-standard-1.36-v20260303", ownerEKS, "x86_64", al2023, "v1.36.0-eks-1a2b3c4"}
				return unregistered(b.Unregistered(g), "").suggests("KubeletVersionSkew")
			}),
		misleading("kubelet-four-minors-older", "The node's kubelet is 1.31, and 1.35 supports 1.32 at least, but its container runtime is down.",
			from(docSkew), func(b *Bundle) *verdict {
				g := Reports
				g.Image = Image{"ami-0a02aaaaaaaaaaaa9", "amazon-eks-node-1.31-v20250403", ownerEKS, "x86_64", al2, "v1.31.6-eks-1552ad0"}
				m := b.joined(g, 26*time.Minute)
				b.notReady(m, runtimeDown, 20*time.Minute)
				return finds(m, "NotReady", "").suggests("KubeletVersionSkew")
			}),
		well("al2-three-minors-older", "AL2 images end at 1.32, and three minors is within the skew of 1.35: old, and it works.",
			from(docAL2, docSkew), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.Join(m, 38*time.Minute)
				return nothing()
			})),
		misleading("al2-that-does-not-join", "AL2 is worth a hint, but 1.32 joins 1.35; this instance's profile has no role.",
			from(docAL2, docSkew), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.find(b.Profiles, "InstanceProfileName", Reports.Profile())["Roles"] = []object{}
				return unregistered(m, "InstanceProfileMissing").suggests("AmiFamilyUnsupported")
			})),
		broken("kubelet-1-35-on-cgroup-v1", "An AL2 image of the company's own with kubelet 1.35, which does not start on cgroup v1 unless failCgroupV1 is off.",
			from("https://github.com/kubernetes/test-infra/pull/36215", "https://github.com/NVIDIA/OpenShell/pull/360", "https://kubernetes.io/docs/concepts/architecture/cgroups/"), func(b *Bundle) *verdict {
				g := Reports
				g.Image = Image{"ami-0c05aaaaaaaaaaaa2", "payments-eks-al2-node-1.35-v20260301", Account, "x86_64", al2, "v1.35.0"}
				m := b.Unregistered(g)
				b.Console[m.ID] = asAL2.Replace(console(
					"[   21.410233] cloud-init[3301]: + /etc/eks/bootstrap.sh payments --apiserver-endpoint "+Endpoint,
					`[   24.019344] kubelet[3622]: E0310 11:21:14.019301    3622 run.go:72] "command failed" err="failed to validate kubelet configuration, error: kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release"`,
					"[   24.023378] systemd[1]: kubelet.service: Main process exited, code=exited, status=1/FAILURE"))
				return unregistered(m, "AmiFamilyUnsupported")
			}),
		broken("cloud-init-crashed", "On AL2 cloud-init ends in a traceback before it has handled the user data, so the script that joins is never run.",
			from("https://docs.cloud-init.io/en/latest/howto/debugging.html", "https://github.com/canonical/cloud-init/blob/main/cloudinit/cmd/main.py"), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = asAL2.Replace(console(
					"[   10.120331] cloud-init[1720]: 2026-03-10 11:20:58,110 - util.py[WARNING]: failed stage init",
					"[   10.124018] cloud-init[1720]: Traceback (most recent call last):",
					`[   10.125920] cloud-init[1720]:   File "/usr/lib/python2.7/site-packages/cloudinit/cmd/main.py", line 653, in status_wrapper`,
					"[   10.127711] cloud-init[1720]: RuntimeError: Failed to consume vendor data: unable to write /var/lib/cloud/instance/handlers",
					"[FAILED] Failed to start Initial cloud-init job (metadata service crawler)."))
				return unregistered(m, "CloudInitFailed").suggests("AmiFamilyUnsupported")
			})),
		broken("nodeadm-may-not-execute", "A hardened image forbids nodeadm to run, which only the console tells.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/2123", "https://github.com/awslabs/amazon-eks-ami/issues/2426"), func(b *Bundle) *verdict {
				g := BatchGroup
				g.Custom, g.Image = true, imageOwn
				m := b.Unregistered(g)
				b.Console[m.ID] = console(
					"[    9.301774] (nodeadm)[1748]: nodeadm-config.service: Failed to locate executable /usr/bin/nodeadm: Permission denied",
					"[    9.303101] (nodeadm)[1748]: nodeadm-config.service: Failed at step EXEC spawning /usr/bin/nodeadm: Permission denied",
					"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.",
					"[DEPEND] Dependency failed for nodeadm-run.service - EKS Nodeadm Run.")
				return unregistered(m, "NodeadmFailed")
			}),
		broken("nodeadm-fails-on-broken-yaml", "nodeadm's error on the console is how the broken NodeConfig shows; the NodeConfig is what has to be changed.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1701"), func(b *Bundle) *verdict {
				g := BatchGroup
				g.Custom = true
				m := b.Unregistered(g)
				b.retext(m, strings.Replace(nodeadmData(Cluster, CA), "    cidr:", "  cidr", 1))
				b.Console[m.ID] = console(
					`[    9.710421] nodeadm[1701]: {"level":"fatal","ts":1773141655.81,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"yaml: line 8: could not find expected ':'"}`,
					"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")
				return unregistered(m, "UserDataUnparseable", "NodeadmFailed")
			}),
		misleading("console-with-harmless-failures", "Units that have nothing to do with the node fail on the console, and nodeadm did its work. The security group lets nothing out.",
			from(docFirewall, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-console.html"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(slices.Concat([]string{
					"[FAILED] Failed to start amazon-ssm-agent-telemetry.service - Company telemetry.",
					"[FAILED] Failed to start systemd-hwdb-update.service - Rebuild Hardware Database.",
					"[    3.402117] i8042: No controller found",
				}, joined(), booted())...)
				b.behind(m, nil, []object{})
				b.admit(fromGroup("-1", 0, batchGroup))
				return unregistered(m, "SecurityGroupBlocksApi")
			})),
	}
}

// ownImageCases are about AMIs of one's own with nodeadm, which may know their cluster, and what
// nodeadm says of that.
func ownImageCases() []Case {
	own := BatchGroup
	own.Custom = true
	own.Image = Image{"ami-0c23aaaaaaaaaaaa4", "payments-golden-2026-02", Account, "x86_64", al2023, "v1.35.0-eks-70ce843"}
	const (
		provider   = "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/cmd/nodeadm/init/init.go"
		validation = "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/validation.go"

		config   = "[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config."
		retries  = "[  169.000000] nodeadm[2015]: SDK 2026/03/10 11:22:34 DEBUG retrying request EC2/DescribeInstances, attempt 6"
		withCIDR = "    cidr: 172.20.0.0/16\n"
	)
	fatal := func(words string) string {
		return `[   12.330441] nodeadm[1502]: {"level":"fatal","ts":1773141662.52,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"` + words + `"}`
	}
	// says builds an instance of the AMI with that user data, and nodeadm's last words.
	says := func(text, first string, lines ...string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(own)
			b.retext(m, text)
			b.Console[m.ID] = console(lines...)
			if first == "" {
				return unregistered(m, "").suggests("NodeadmFailed")
			}
			return unregistered(m, first, "NodeadmFailed").holds("")
		}
	}
	half := strings.Replace(nodeadmData(Cluster, CA), withCIDR, "", 1)
	return []Case{
		broken("own-ami-whose-nodeadm-finds-nothing", "A launch template with an AMI of its own and no user data. The AMI could have brought a NodeConfig: nodeadm fails before it calls any service, so it has none.",
			from(docTemplates, provider), says("", "UserDataEmpty", config)),
		broken("own-ami-whose-nodeadm-says-that-it-finds-nothing", "The same, in nodeadm's own words.",
			from(docTemplates, provider), says("", "UserDataEmpty", fatal("no config in chain"), config)),
		broken("own-ami-whose-nodeconfig-nothing-completes", "The NodeConfig has no service CIDR. The AMI could have completed it: nodeadm says that it is missing.",
			from(validation, provider), says(half, "UserDataUnparseable", fatal("CIDR is missing in cluster configuration"), config)),
		broken("own-ami-whose-nodeconfig-lacks-its-cluster", "The NodeConfig has settings of the kubelet alone, and nodeadm says that the cluster's name is missing.",
			from(validation, provider), says("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n    - --v=2\n", "UserDataUnparseable", fatal("Name is missing in cluster configuration"), config)),
		misleading("own-ami-without-user-data-whose-nodeadm-asks-ec2", "No user data, and nodeadm asks EC2 in vain, which it does with a NodeConfig alone: the AMI brought one.",
			from(docTemplates, provider), says("", "", retries, config)),
		misleading("own-ami-without-user-data-whose-nodeadm-fails-later", "No user data, and nodeadm fails to start the kubelet, for which it had a NodeConfig.",
			from(docTemplates, provider), says("", "", "[  OK  ] Finished nodeadm-config.service - EKS Nodeadm Config.", "[FAILED] Failed to start nodeadm-run.service - EKS Nodeadm Run.")),
		misleading("own-ami-that-completes-the-nodeconfig", "The NodeConfig has no service CIDR, and nodeadm fails later, for what EC2 says: the AMI completed it.",
			from(validation, provider), says(half, "", retries, fatal("operation error EC2: DescribeInstances, exceeded maximum number of attempts, 30"), config)),
		misleading("own-ami-without-user-data-and-no-console", "A node group whose launch template has an AMI of its own and no user data, and nobody captured the console: the AMI may know its cluster.",
			from(docTemplates, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html"), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "")
				return unregistered(m, "").suggests("UserDataEmpty")
			})),
		broken("own-ami-without-user-data-and-an-empty-console", "The same, and the console is empty: EKS adds nothing to the template, and nothing shows that the AMI joins by itself.",
			from(docTemplates, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html"), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "")
				b.Console[m.ID] = ""
				return unregistered(m, "UserDataEmpty")
			})),
	}
}
