package generate

import (
	"fmt"
	"strings"
)

// bootCases are about units that fail before the kubelet starts, and about those whose failure does
// not matter to it.
func bootCases() []Case {
	custom := BatchGroup // a launch template that names its AMI
	custom.Custom = true
	rocket := BatchGroup // a node group of Bottlerocket whose template holds the settings
	rocket.Image, rocket.Custom = imageBottlerocket, true
	const (
		docTargets      = "https://github.com/bottlerocket-os/bottlerocket-core-kit/tree/develop/packages/release"
		rocketOpenGPU   = "https://github.com/bottlerocket-os/bottlerocket/issues/4889"
		rocketDrivers   = "https://github.com/bottlerocket-os/bottlerocket-kernel-kit/pull/321"
		rocketNetwork   = "https://github.com/bottlerocket-os/bottlerocket/issues/3726"
		rocketContainer = "https://github.com/bottlerocket-os/bottlerocket/issues/1488"
		nodeadmWaits    = "https://github.com/awslabs/amazon-eks-ami/issues/2224"
		nodeadmUnits    = "https://github.com/awslabs/amazon-eks-ami/tree/main/templates/al2023/runtime/rootfs/etc/systemd/system"
	)
	const (
		execDenied    = "[    9.221044] (nodeadm)[1748]: nodeadm-config.service: Failed at step EXEC spawning /usr/bin/nodeadm: Permission denied"
		preconfigured = "[DEPEND] Dependency failed for Bottlerocket initial configuration complete."
		activate      = "[DEPEND] Dependency failed for Activate configured.target."
	)
	const (
		docUbuntu    = "https://documentation.ubuntu.com/aws/aws-how-to/kubernetes/deploy-ubuntu-cluster-with-eks-ami/"
		ubuntuScript = "https://github.com/eksctl-io/eksctl/tree/main/pkg/nodebootstrap"
		jammy, noble = "jammy-22.04", "noble-24.04"
		ubuntuKernel = "[    0.000000] Linux version 6.8.0-1031-aws (buildd@lcy02-amd64-052) (x86_64-linux-gnu-gcc-12 (Ubuntu 12.3.0-1ubuntu1~22.04.2) 12.3.0) #33~22.04.1-Ubuntu SMP"
	)
	ubuntuEnd := []string{
		"[   17.811204] cloud-init[990]: Cloud-init v. 25.1.4-0ubuntu0~22.04.1 finished at Tue, 10 Mar 2026 11:20:37 +0000. Datasource DataSourceEc2Local.  Up 17.80 seconds",
		"", "Ubuntu 22.04.5 LTS ip-10-0-41-21 ttyS0", "", "ip-10-0-41-21 login: ", "",
	}
	const sysctl = "https://github.com/awslabs/amazon-eks-ami/issues/357"
	fails := func(script string, sure bool) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(Reports)
			b.retext(m, script)
			b.Console[m.ID] = console("sysctl: cannot stat /proc/sys/net/netfilter/nf_conntrack_max: No such file or directory",
				"[   12.513596] cloud-init[3924]: Mar 10 11:21:01 cloud-init[3924]: util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [255]")
			if sure {
				return unregistered(m, "CloudInitFailed").says("part-001")
			}
			return unregistered(m, "").suggests("CloudInitFailed")
		}
	}
	boots := func(b *Bundle, m *Machine, lines ...string) {
		first := []string{"  Booting `Bottlerocket OS 1.55.0'", "", "Welcome to Bottlerocket OS 1.55.0 (aws-k8s-1.35)!", "", "[  OK  ] Created slice Slice /system/modprobe."}
		b.Console[m.ID] = strings.Join(append(first, lines...), "\n") + "\n"
	}
	// contained is a Bottlerocket instance whose bootstrap container agents, with these settings, failed.
	contained := func(settings, first string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(rocket)
			b.retext(m, bottlerocketData(Cluster)+"[settings.bootstrap-containers.agents]\n"+settings)
			boots(b, m, "[FAILED] Failed to start bootstrap container agents.", "See 'systemctl status bootstrap-containers@agents.service' for details.")
			if first != "" {
				return unregistered(m, first).says("bootstrap-containers@agents.service")
			}
			return unregistered(m, "").suggests("CloudInitFailed")
		}
	}
	// waits is a console whose boot waits for the user data's scripts, as it tells at these minutes.
	waits := func(minutes ...int) string {
		var lines []string
		for _, n := range minutes {
			lines = append(lines, fmt.Sprintf("[ ***  ] A start job is running for Execute cloud user/final scripts (%dmin 3s / no limit)", n))
		}
		return console(lines...)
	}
	stopped := func(says string, lines ...string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(rocket)
			boots(b, m, lines...)
			return unregistered(m, "CloudInitFailed").says(says)
		}
	}
	ubuntuGroup := func(name string) Group {
		g := BatchGroup
		g.Custom, g.Image = true, Image{"ami-0ab1aaaaaaaaaaaa1", "ubuntu-eks/k8s_1.35/images/hvm-ssd-gp3/ubuntu-" + name + "-amd64-server-20260201", ownerEKS, "x86_64", al2, "v1.35.0"}
		return g
	}
	// passedOver is an instance whose cloud-init passes a NodeConfig over.
	passedOver := func(name, text string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(ubuntuGroup(name))
			b.retext(m, text)
			b.Console[m.ID] = strings.Join(append([]string{ubuntuKernel,
				"[   14.301124] cloud-init[902]: 2026-03-10 11:20:33,217 - __init__.py[WARNING]: Unhandled unknown content-type (application/node.eks.aws) userdata: 'b'---'...'"}, ubuntuEnd...), "\n")
			return unregistered(m, "UserDataWrongFormat", "CloudInitFailed")
		}
	}
	return []Case{
		broken("bottlerocket-driver-for-another-gpu", "The image's driver does not know the GPU of a newer family, so the unit after it fails, and the boot stops before the kubelet.",
			from(rocketOpenGPU, docTargets), stopped("NVIDIA MIG manager service",
				"[    6.310022] ghostdog[2336]: Error: grid is not preferred driver: tesla",
				"[    9.902117] nvidia-migmanager[2755]: '/usr/bin/nvidia-smi' failed - stderr:",
				"[FAILED] Failed to start NVIDIA MIG manager service.", "[DEPEND] Dependency failed for Generate CDI specifications.", preconfigured, activate)),
		broken("bottlerocket-nvidia-without-a-gpu", "An image of the NVIDIA variant on instances without a GPU: its modules do not load, and no instance of that type boots to its kubelet.",
			from(rocketDrivers, docTargets), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				other := b.Another(m)
				for _, each := range []*Machine{m, other} {
					boots(b, each, "[   28.104268] NVRM: No NVIDIA GPU found.", "[FAILED] Failed to start Load Tesla kernel modules.",
						"See 'systemctl status load-tesla-kernel-modules.service' for details.", "[DEPEND] Dependency failed for Driver units.", preconfigured, activate)
				}
				return unregistered(m, "CloudInitFailed").says("does not fit the instance type").and(other, "Unregistered", "CloudInitFailed").holds("SharedCause")
			})),
		broken("bottlerocket-network-that-stops-the-boot", "The network was not configured in two minutes, what reads the user data needs it, and the kubelet needs that.",
			from(rocketNetwork, docTargets), stopped("systemd-networkd-wait-online.service",
				"[  121.447019] systemd-networkd-wait-online[1203]: Timeout occurred while waiting for network connectivity.",
				"[FAILED] Failed to start Wait for Network to be Configured.", "[DEPEND] Dependency failed for Network is Online.",
				"[DEPEND] Dependency failed for Bottlerocket userdata configuration system.", "[DEPEND] Dependency failed for kubelet.service - Kubelet.")),
		broken("bottlerocket-essential-bootstrap-container", "A bootstrap container that is essential failed: configured.target requires it, and the kubelet comes after that.",
			from(rocketContainer, docTargets), stopped("bootstrap-containers@agents.service",
				"[FAILED] Failed to start bootstrap container agents.", "[DEPEND] Dependency failed for Bottlerocket final configuration complete.",
				"[DEPEND] Dependency failed for Isolates multi-user.target.")),
		broken("nodeadm-that-systemd-did-not-run", "The beginning of the console is lost. Its rest says that nodeadm-run.service was not started, since the unit that it requires failed.",
			from(nodeadmUnits), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.prints(m, "[DEPEND] Dependency failed for nodeadm-run.service - EKS Nodeadm Run.")
				return unregistered(m, "NodeadmFailed")
			})),
		broken("nodeadm-in-an-ordering-cycle", "On an image with a newer cloud-init, cloud-final.service comes after multi-user.target, which wants nodeadm-run.service, which comes after cloud-final.service. systemd leaves nodeadm-run.service out, and everything else is fine.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/2269", "https://github.com/aws-samples/amazon-eks-ami-rhel/pull/20"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.prints(m, "[    3.104221] systemd[1]: multi-user.target: Job nodeadm-run.service/start deleted to break ordering cycle starting with multi-user.target/start",
					"[ SKIP ] Ordering cycle found, skipping nodeadm-run.service - EKS Nodeadm Run", "[  OK  ] Finished nodeadm-config.service - EKS Nodeadm Config.")
				return unregistered(m, "NodeadmFailed").says("in a cycle")
			})),
		broken("cloud-init-without-a-data-source", "cloud-init took the metadata service for absent and went on without user data, so nothing called bootstrap.sh.",
			from("https://github.com/canonical/cloud-init/issues/4082", "https://github.com/awslabs/amazon-eks-ami/issues/2703"), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console("[   14.201337] cloud-init[1893]: Cloud-init v. 19.3-46.amzn2.0.8 finished at Tue, 10 Mar 2026 11:21:02 +0000. Datasource DataSourceNone.  Up 14.19 seconds")
				return unregistered(m, "CloudInitFailed").says("no data source")
			})),
		misleading("script-that-was-to-make-a-nodeconfig", "nodeadm finds no NodeConfig in the user data. Its script, which runs after that, fetches another one and runs it, and failed: that may be what makes a NodeConfig and joins, so nothing is proven about the user data.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/2124", nodeadmUnits), unjoined(custom, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\nset -e\naws s3 cp s3://payments-boot/join.sh /tmp/join.sh\nbash /tmp/join.sh\n")
				b.Console[m.ID] = console(`[    9.710421] nodeadm[1701]: {"level":"fatal","ts":1773141655.81,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"no config in chain"}`,
					"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.",
					"[   12.400000] cloud-init[1893]: 2026-03-10 11:21:01,102 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [1]")
				return unregistered(m, "").suggests("UserDataWrongFormat")
			})),

		broken("ubuntu-given-a-nodeconfig", "Canonical's image for EKS joins by bootstrap.sh. Its cloud-init passes a NodeConfig over, the boot ends, and nothing named nodeadm ran.",
			from(docUbuntu, ubuntuScript), passedOver(jammy, nodeadmData(Cluster, CA))),
		broken("ubuntu-given-a-nodeconfig-and-a-script", "The same of a newer release. A script beside the NodeConfig sets a kernel parameter.",
			from(docUbuntu, ubuntuScript), passedOver(noble, multipart(part(shellPart, "#!/bin/bash\nsysctl -w vm.max_map_count=262144"), part(nodeConfigPart, nodeConfig(Cluster, CA))))),
		broken("ubuntu-given-toml", "Settings for Bottlerocket on Canonical's image.",
			from(docUbuntu, docCloudInit), texted(ubuntuGroup(jammy), "UserDataWrongFormat", bottlerocketData(Cluster))),

		misleading("ubuntu-whose-console-was-not-read", "A NodeConfig on an image with the name of Canonical's, which anyone can give to one with nodeadm; no console tells.",
			from(docUbuntu), unjoined(ubuntuGroup(jammy), func(b *Bundle, m *Machine) *verdict {
				b.retext(m, nodeadmData(Cluster, CA))
				return unregistered(m, "").suggests("UserDataWrongFormat")
			})),
		misleading("ubuntu-with-nodeadm", "Somebody's image of Ubuntu has nodeadm: it ran, and the NodeConfig is right. The role is mapped nowhere.",
			from(docUbuntu, docNodeadm), unjoined(ubuntuGroup(jammy), func(b *Bundle, m *Machine) *verdict {
				b.retext(m, nodeadmData(Cluster, CA))
				b.Console[m.ID] = strings.Join(append([]string{ubuntuKernel}, append(joined(), ubuntuEnd...)...), "\n")
				b.unmap(ubuntuGroup(jammy))
				return unregistered(m, "NodeRoleNotMapped")
			})),
		misleading("ubuntu-whose-script-fetches-nodeadm", "A script beside the NodeConfig fetches a program and runs it: whatever that does is not in sight.",
			from(docUbuntu, docNodeadm), func(b *Bundle) *verdict {
				v := passedOver(jammy, multipart(part(shellPart, "#!/bin/bash\ncurl -fsSLo /usr/local/bin/join https://assets.example.com/join\nchmod +x /usr/local/bin/join\n/usr/local/bin/join"), part(nodeConfigPart, nodeConfig(Cluster, CA))))(b)
				v.last().FirstDecisive, v.last().AlsoDecisive = "", nil
				return v.suggests("UserDataWrongFormat")
			}),
		misleading("ubuntu-with-its-script", "The call of bootstrap.sh is right, and cloud-init passes nothing over. The role is mapped nowhere.",
			from(docUbuntu, docAccessEntries), unjoined(ubuntuGroup(noble), func(b *Bundle, m *Machine) *verdict {
				b.retext(m, bootstrapData("--apiserver-endpoint "+Endpoint+" --b64-cluster-ca "+CA))
				b.unmap(ubuntuGroup(noble))
				return unregistered(m, "NodeRoleNotMapped").rulesOut("UserDataWrongFormat")
			})),

		broken("bottlerocket-without-its-data-volume", "The volume for the data did not appear on this type of instance, so there is no /var, and nothing that needs it starts.",
			from("https://github.com/bottlerocket-os/bottlerocket/issues/3000", "https://github.com/bottlerocket-os/bottlerocket/issues/3497"), stopped("BOTTLEROCKET-DATA",
				"[ TIME ] Timed out waiting for device /dev/disk/by-partlabel/BOTTLEROCKET-DATA.", "[DEPEND] Dependency failed for Local Directory (/local).",
				"[DEPEND] Dependency failed for Prepare Var Directory (/var).", "[DEPEND] Dependency failed for Prepare Opt Directory (/opt).", "[  OK  ] Reached target Local File Systems.")),
		misleading("bottlerocket-without-a-spare-partition", "Of the two places where the data may lie one does not exist, as on every instance; the kubelet was started. The role is mapped nowhere.",
			from("https://github.com/bottlerocket-os/bottlerocket/issues/3726", docAccessEntries), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				boots(b, m, "[ TIME ] Timed out waiting for device /dev/disk/by-partuuid/69040874-417d-4e26-a764-7885f22007ea.", "[DEPEND] Dependency failed for Repart fallback data partition.", "[  OK  ] Started Kubelet.")
				b.unmap(rocket)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("CloudInitFailed")
			})),
		broken("script-that-does-not-end", "A script of the user data waits for something that does not come. On AL2023 nodeadm starts the kubelet after cloud-init, so the instance does not join; neither would another.",
			from(nodeadmWaits, nodeadmUnits), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				other := b.Another(m)
				for _, each := range []*Machine{m, other} {
					b.Console[each.ID] = waits(2, 12, 38)
				}
				return unregistered(m, "CloudInitFailed").says("does not end").and(other, "Unregistered", "CloudInitFailed").holds("SharedCause")
			})),
		broken("bootstrap-container-that-does-not-end", "A bootstrap container of Bottlerocket sleeps for ever. Essential or not, the kubelet comes after it.",
			from("https://github.com/bottlerocket-os/bottlerocket-project-website/pull/257", docTargets), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				boots(b, m, "         Starting bootstrap container agents...", "[ ***  ] A start job is running for bootstrap container agents (38min 2s / no limit)")
				return unregistered(m, "CloudInitFailed").says("bootstrap-containers@agents.service")
			})),
		broken("kubelet-that-refuses-its-flags", "The unit of a custom image of AL2 has a flag that the kubelet of its version lacks, and the console shows what it says about that.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1398", "https://kubernetes.io/blog/2023/03/17/upcoming-changes-in-kubernetes-v1-27/"), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console("[  OK  ] Started Kubernetes Kubelet.", `[   31.204881] kubelet[2857]: E0310 11:21:04.199967    2857 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --container-runtime"`)
				return unregistered(m, "CloudInitFailed").says("unknown flag: --container-runtime")
			})),
		broken("panic-for-lack-of-memory", "The kernel is told to panic when memory runs out (vm.panic_on_oom), and did so: the root is memory.",
			from("https://docs.kernel.org/admin-guide/sysctl/vm.html#panic-on-oom"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.prints(m, "[433011.944021] Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled")
				return finds(m, "Unknown", "OutOfMemory", "KubeletSilent", "MemoryPressurePreceded")
			})),

		broken("image-that-forbids-nodeadm", "A hardened image of AL2023 lets systemd run no nodeadm: no instance of it joins.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/2123", "https://github.com/awslabs/amazon-eks-ami/issues/2426"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				other := b.Another(m)
				for _, each := range []*Machine{m, other} {
					b.prints(each, execDenied, "[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.", "[DEPEND] Dependency failed for nodeadm-run.service - EKS Nodeadm Run.")
				}
				return unregistered(m, "NodeadmFailed").says("Permission denied").and(other, "Unregistered", "NodeadmFailed").holds("SharedCause")
			})),
		broken("script-of-al2-that-stops-at-containerd", "User data edits containerd's configuration on AL2; containerd does not start with it, and bootstrap.sh stops there.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1628"), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console("[FAILED] Failed to start containerd container runtime.", "[   21.402210] cloud-init[3139]: Exited with error on line 489")
				return unregistered(m, "CloudInitFailed").says("line 489")
			})),

		broken("script-of-al2-that-fails-before-it-joins", "A kernel parameter does not exist yet, and the script ends there: its last command, which joins, is not reached.",
			from(sysctl), fails("#!/bin/bash\nset -o errexit\nsysctl -w net.netfilter.nf_conntrack_max=500000\n/etc/eks/bootstrap.sh "+Cluster+"\n", true)),
		broken("script-of-al2-whose-last-call-fails", "The script goes on after errors. It failed, and so its last command did, which joins.",
			from(sysctl), fails(strings.Replace(bootstrapData(""), "set -o errexit\n", "yum install -y agent\n", 1), true)),

		misleading("script-of-al2-that-fails-after-it-joined", "The script may have failed after the call that joins.",
			from(sysctl), fails(bootstrapData("")+"systemctl enable --now payments-agent\n", false)),
		misleading("script-of-al2-that-joins-in-a-branch", "The call that joins is the last one, and perhaps not reached on purpose.",
			from(sysctl), fails("#!/bin/bash\nset -o errexit\nif curl -sf https://example.com/go; then /etc/eks/bootstrap.sh "+Cluster+"; fi\n", false)),
		misleading("one-of-two-scripts-of-al2", "One of two scripts failed: perhaps the one that does not join.",
			from(sysctl), fails(multipart(part(shellPart, bootstrapData("")), part(shellPart, "#!/bin/bash\nyum install -y agent\n")), false)),
		misleading("image-that-forbids-something-else", "systemd may not run a program of the company's own, and nodeadm did its work. DNS is off.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/2123", docNetwork), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(append([]string{strings.ReplaceAll(execDenied, "nodeadm-config", "payments-agent")}, joined()...)...)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			})),
		misleading("containerd-of-al2-that-failed", "containerd failed as the instance booted, before a script could start it with its own configuration; nothing says what came of that.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1628"), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console("[FAILED] Failed to start containerd container runtime.", "See 'systemctl status containerd.service' for details.")
				return unregistered(m, "").suggests("CloudInitFailed")
			})),
		misleading("script-that-took-its-time", "The same script ran for twelve minutes, and then cloud-init and nodeadm ended. The role is mapped nowhere.",
			from(nodeadmWaits, docAccessEntries), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = waits(2, 12) + strings.Join(append(booted(), joined()...), "\n") + "\n"
				b.unmap(BatchGroup)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		misleading("script-that-ran-when-the-console-was-taken", "The console is half an hour old: a script ran for eleven minutes then. Whether it has ended since is unknown.",
			from(nodeadmWaits), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = waits(2, 11)
				return unregistered(m, "").suggests("CloudInitFailed")
			})),
		misleading("script-of-al2-that-does-not-end", "The same on AL2, where the script itself starts the kubelet, before or after what it waits for.",
			from(nodeadmWaits, docAL2), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = waits(2, 38)
				return unregistered(m, "").suggests("CloudInitFailed")
			})),
		misleading("kubelet-that-was-started-too-early", "The kubelet exited once because containerd was not up yet, as on any boot, and was started again. DNS is off.",
			from("https://github.com/awslabs/amazon-eks-ami/tree/main/templates/al2023/runtime/rootfs/etc/systemd/system", docNetwork), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(append([]string{`[   31.204881] kubelet[2857]: E0310 11:21:04.199967    2857 run.go:74] "command failed" err="failed to run Kubelet: validate service connection: connection refused"`}, joined()...)...)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			})),
		misleading("panic-for-another-reason", "A panic after a kill for lack of memory within a container's own limit: memory of the machine is no root.",
			from("https://docs.kernel.org/admin-guide/sysctl/vm.html#panic-on-oom"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.prints(m, "[433001.110021] Memory cgroup out of memory: Killed process 4711 (java) total-vm:1kB", "[433011.944021] Kernel panic - not syncing: hung_task: blocked tasks")
				return finds(m, "Unknown", "KernelPanic", "KubeletSilent")
			})),
		broken("bottlerocket-container-that-the-settings-call-essential", "The image of a bootstrap container does not exist, and the settings say that the container is essential: the boot stops.",
			from(rocketContainer, "https://bottlerocket.dev/en/os/1.55.x/api/settings/bootstrap-containers/"), contained("mode = \"always\"\nessential = true\n", "CloudInitFailed")),
		misleading("bottlerocket-bootstrap-container-that-is-not-essential", "The same, and the settings say that it is not essential.",
			from(rocketContainer), contained("mode = \"always\"\nessential = false\n", "")),
		misleading("bottlerocket-other-container-that-is-essential", "The same, and the settings say so of another container.",
			from(rocketContainer), contained("mode = \"always\"\n[settings.bootstrap-containers.disks]\nmode = \"once\"\nessential = true\n", "")),
		misleading("bottlerocket-bootstrap-container-that-may-fail", "A bootstrap container failed, and nothing says that it is essential: the boot goes on without one that is not, and the console ends there.",
			from(rocketContainer), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				boots(b, m, "[FAILED] Failed to start bootstrap container agents.", "See 'systemctl status bootstrap-containers@agents.service' for details.")
				return unregistered(m, "").suggests("CloudInitFailed")
			})),
		misleading("bottlerocket-whose-boot-went-on", "The same, and the boot went on to the target of the kubelet. The role is mapped nowhere.",
			from(rocketContainer, docAccessEntries), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				boots(b, m, "[FAILED] Failed to start bootstrap container agents.", "         Starting Isolates multi-user.target...", "[  OK  ] Reached target Multi-User System.")
				b.unmap(rocket)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		misleading("bottlerocket-that-picks-its-driver", "Each of the drivers but one says that it is not the preferred one, on every boot; the kubelet was started. The role is mapped nowhere.",
			from(rocketOpenGPU, docAccessEntries), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				boots(b, m, "[    6.310022] ghostdog[2336]: Error: grid is not preferred driver: tesla", "[    6.310940] ghostdog[2337]: Error: open-gpu is not preferred driver: tesla",
					"[FAILED] Failed to start Send boot success.", "[  OK  ] Started Kubelet.", "[  OK  ] Reached target Multi-User System.")
				b.unmap(rocket)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("CloudInitFailed")
			})),
		misleading("bottlerocket-network-that-came-late", "The network was not configured in time, and nothing says what came of that: a unit that only waits for it starts anyway.",
			from(rocketNetwork), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				boots(b, m, "[FAILED] Failed to start Wait for Network to be Configured.", "See 'systemctl status systemd-networkd-wait-online.service' for details.")
				return unregistered(m, "").suggests("CloudInitFailed")
			})),
		misleading("nodeadm-whose-boot-hook-failed", "nodeadm's hook that configures interfaces failed: no other unit of nodeadm requires it, and the console ends before they run.",
			from(nodeadmUnits), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console("[FAILED] Failed to start nodeadm-boot-hook.service - EKS Nodeadm Boot Hook.", "See 'systemctl status nodeadm-boot-hook.service' for details.")
				return unregistered(m, "").suggests("NodeadmFailed")
			})),
		misleading("nvidia-image-without-a-gpu", "EKS's NVIDIA image of AL2023 on an instance without a GPU: its driver loads nothing, and the kubelet is started all the same. DNS is off.",
			from(nodeadmUnits, docNetwork), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(append([]string{"[   28.104268] NVRM: No NVIDIA GPU found.", "[FAILED] Failed to start set-nvidia-clocks.service - Configure NVIDIA GPU clock rate."}, joined()...)...)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			})),
	}
}
