package generate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// hostCases are about the machine: kernel, disk, EC2's checks, its state, and what the node
// monitoring agent reports.
func hostCases() []Case {
	return []Case{
		broken("kernel-panic", "The kernel panicked: the node is silent and EC2's reachability check fails, both for that reason.",
			from("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/TroubleshootingInstances.html", docStatusChecks), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.impaired(m, "InstanceStatus", 42*time.Minute)
				b.prints(m,
					"[433011.902114] BUG: unable to handle page fault for address: ffffb1d2c0a3f000",
					"[433011.944021] Kernel panic - not syncing: Fatal exception in interrupt",
					"[433011.951200] ---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---")
				return finds(m, "Unknown", "KernelPanic", "InstanceStatusImpaired", "KubeletSilent").
					and(m, "Impaired", "KernelPanic", "InstanceStatusImpaired", "KubeletSilent")
			})),
		broken("disk-full", "containerd cannot write any more, so the node is not ready; the console says that the disk is full.",
			from(docPressure, "https://www.netdata.cloud/guides/kubernetes/kubernetes-node-disk-pressure/"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.notReady(m, runtimeDown, 20*time.Minute)
				b.prints(m,
					"[430881.110231] containerd[2105]: time=\"2026-03-10T11:38:12Z\" level=fatal msg=\"failed to write metadata\" error=\"write /var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db: no space left on device\"",
					"[430882.000917] systemd-journald[1024]: Failed to write entry (22 items, 733 bytes), ignoring: No space left on device")
				return finds(m, "NotReady", "DiskFull")
			})),
		broken("image-that-fills-its-disk", "The root volume of an image is full as it boots, so no instance of it joins; ending one of them gives another.",
			from("https://repost.aws/knowledge-center/ec2-instance-boot-issues"), unjoined(Workers, func(b *Bundle, m *Machine) *verdict {
				other := b.Another(m)
				for _, each := range []*Machine{m, other} {
					b.prints(each, "[   12.410021] nodeadm[1502]: write /etc/containerd/config.toml: no space left on device")
				}
				return unregistered(m, "DiskFull").and(other, "Unregistered", "DiskFull").holds("SharedCause")
			})),
		broken("instance-status-impaired", "EC2 cannot reach the instance's network stack, which explains why the node is silent; why that is so is not in sight.",
			from(docStatusChecks), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.impaired(m, "InstanceStatus", 42*time.Minute)
				return finds(m, "Unknown", "InstanceStatusImpaired", "KubeletSilent").and(m, "Impaired", "InstanceStatusImpaired", "KubeletSilent")
			})),
		broken("system-status-impaired", "The host below the instance is at fault, as EC2 says; the node is Ready still.",
			from(docStatusChecks), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.impaired(m, "SystemStatus", 20*time.Minute)
				return finds(m, "Impaired", "SystemStatusImpaired").holds("")
			})),
		misleading("volume-impaired", "A volume does not complete its I/O, and EC2 reaches the instance and its host: another instance would get the same volume.",
			from(docStatusChecks, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_EbsStatusSummary.html"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.impaired(m, "AttachedEbsStatus", 4*time.Hour)
				return finds(m, "Impaired", "").suggests("AttachedEbsImpaired").rulesOut("InstanceStatusImpaired", "SystemStatusImpaired").holds("MachineSound")
			})),
		misleading("application-impaired", "A check of the application that somebody made does not get its answer; the machine is in order, and another would run the same application.",
			from(docInstanceStatus), on(worker, func(b *Bundle, m *Machine) *verdict {
				m.Status["ApplicationStatus"] = object{"Status": "impaired", "ImpairedSince": b.ec2Time(time.Hour)}
				return finds(m, "Impaired", "").suggests("ApplicationStatusImpaired").rulesOut("InstanceStatusImpaired").holds("MachineSound")
			})),
		misleading("performance-impaired", "EC2 says that the instance is slower than it should be, and what a person can do; its node works.",
			from(docInstanceStatus), on(worker, func(b *Bundle, m *Machine) *verdict {
				m.Status["PerformanceStatus"] = object{"Status": "impaired", "ImpairedSince": b.ec2Time(time.Hour), "Remediation": "Stop and start the instance"}
				return finds(m, "Impaired", "").suggests("PerformanceStatusImpaired").rulesOut("SystemStatusImpaired").holds("MachineSound")
			})),
		misleading("retirement-tomorrow", "EC2 will stop the instance in eight hours, since its hardware fails; nothing is wrong with the node, and its group will not move what runs there.",
			from(docScheduledEvents, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-checks-overview.html"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.scheduled(m, "instance-retirement", "The instance is running on degraded hardware", 8*time.Hour)
				return finds(m, "Scheduled", "").orders("cordon")
			})),
		misleading("reboot-in-two-weeks", "EC2 will reboot the instance in two weeks: it is told of, and nothing needs to be done yet.",
			from(docScheduledEvents), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.scheduled(m, "instance-reboot", "scheduled reboot", 14*day)
				return finds(m, "Scheduled", "").orders()
			})),
		well("reboot-that-was-completed", "EC2 rebooted the instance days ago, and still lists that.",
			from(docScheduledEvents, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusEvent.html"), func(b *Bundle) *verdict {
				b.scheduled(worker(b), "system-reboot", "[Completed] scheduled reboot", -3*day)
				return nothing().orders()
			}),
		broken("stopped", "Somebody stopped the instance, and its node is silent for that reason. There is nothing to terminate.",
			from("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Stop_Start.html", docNodes), func(b *Bundle) *verdict {
				m := b.joined(Default, 5*day)
				b.silent(m, 45*time.Minute)
				stopped := object{"Code": 80, "Name": "stopped"}
				m.Instance["State"], m.Instance["StateTransitionReason"] = stopped, "User initiated (2026-03-10 11:14:20 GMT)"
				m.Status["InstanceState"] = stopped
				m.Status["InstanceStatus"], m.Status["SystemStatus"] = object{"Status": "not-applicable"}, object{"Status": "not-applicable"}
				return finds(m, "Unknown", "InstanceStopped", "KubeletSilent").holds("")
			}),
		broken("network-condition-that-latched", "The monitoring agent saw one line in a log at boot, three days ago, and keeps NetworkingReady=False; everything else is well.",
			from("https://github.com/aws/eks-node-monitoring-agent/issues/215", "https://github.com/aws/eks-node-monitoring-agent/issues/250", docNodeHealth), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.monitored(m)
				b.says(m, "NetworkingReady", "False", "IPAMDNotReady", "IPAM-D has failed to connect to API Server which could be an issue with IPTable rules or any other network configuration.", 3*day)
				b.Console[m.ID] = console(booted()...)
				return finds(m, "ConditionFailed", "MonitoringConditionLatched").orders()
			})),
		misleading("condition-whose-console-was-not-captured", "The same condition, and nobody captured what the console says: that it latched is likely, and not proven.",
			from(docNodeHealth), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.monitored(m)
				b.says(m, "NetworkingReady", "False", "IPAMDNotReady", "IPAM-D has failed to connect to API Server which could be an issue with IPTable rules or any other network configuration.", 3*day)
				return finds(m, "ConditionFailed", "").suggests("MonitoringConditionLatched").orders()
			})),
		misleading("condition-and-a-full-disk-on-the-console", "StorageReady=False, and the console's last line is of a disk that is full: the agent may well be right still.",
			from(docNodeHealth), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.monitored(m)
				b.says(m, "StorageReady", "False", "XFSSmallAverageClusterSize", "XFS average cluster size is small", time.Hour)
				b.prints(m, "[430411.110231] containerd[2011]: write /var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db: no space left on device")
				return finds(m, "ConditionFailed", "").suggests("MonitoringConditionLatched").orders()
			})),
		misleading("runtime-condition-and-a-node-that-is-not-ready", "The monitoring agent says that the runtime failed, and so does the kubelet: that condition did not latch. What broke the runtime is not in sight.",
			from(docNodeHealth, "https://github.com/aws/eks-node-monitoring-agent/issues/179"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.monitored(m)
				b.says(m, "ContainerRuntimeReady", "False", "ContainerdUnresponsive", "containerd has not answered for 20m", 21*time.Minute)
				b.notReady(m, runtimeDown, 20*time.Minute)
				return finds(m, "NotReady", "")
			})),
		broken("short-of-memory-and-ready", "The node has said for 20 minutes that it runs short of memory, and is Ready. A pod without a limit was evicted, and another one goes on. Nothing is done to a node that works.",
			from(docPressure, docEviction), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.short(m, "MemoryPressure", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available", 20*time.Minute)
				b.workload(m, "cache", object{"requests": object{"memory": "256Mi"}}, "6Gi")
				b.workload(m, "web", object{"requests": object{"memory": "512Mi"}, "limits": object{"memory": "1Gi"}}, "")
				b.workload(m, "jobs", object{}, "")
				return finds(m, "ConditionFailed", "MemoryPressurePreceded").orders()
			})).of(silence),
		broken("short-of-disk-space-and-ready", "The node has said for an hour that its disk is nearly full, and is Ready.",
			from(docPressure, docNodeStatus), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.short(m, "DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure", time.Hour)
				return finds(m, "ConditionFailed", "DiskPressurePreceded").orders()
			})),
		broken("short-of-inodes-and-ready", "Half of the disk's bytes are free, and none of its inodes: the kubelet says which of them it tries to win back.",
			from(docPressure, "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-signals"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.short(m, "DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure", time.Hour)
				b.nodeEvent(m, "kubelet", "EvictionThresholdMet", "Attempting to reclaim inodes", "Warning", 2*time.Minute, 30)
				return finds(m, "ConditionFailed", "DiskPressurePreceded").orders()
			})),
		broken("out-of-inodes-and-silent", "The kubelet evicted pods for want of inodes, and went silent minutes later.",
			from(docPressure, docEviction), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.nodeEvent(m, "kubelet", "NodeHasDiskPressure", "Node "+m.Name()+" status is now: NodeHasDiskPressure", "Normal", 50*time.Minute, 1)
				b.nodeEvent(m, "kubelet", "EvictionThresholdMet", "Attempting to reclaim inodes", "Warning", 48*time.Minute, 4)
				return finds(m, "Unknown", "DiskPressurePreceded", "KubeletSilent").says("inodes")
			})),
		misleading("no-space-for-a-watch", "The kernel says that no space is left on the device where a process may watch no further files: the disk has space, and inodes.",
			from("https://github.com/google/cadvisor/issues/1581", "https://github.com/kubernetes/kubernetes/issues/10421"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.prints(m, "[430881.110231] kubelet[2105]: W0310 11:10:05.682241    2105 watcher.go:93] Error while processing event (\"/sys/fs/cgroup/kubepods.slice/x\": 0x40000100 == IN_CREATE|IN_ISDIR): inotify_add_watch /sys/fs/cgroup/kubepods.slice/x: no space left on device",
					"[430882.000917] kubelet[2105]: E0310 11:10:06.054658    2105 logs.go:320] failed to create fsnotify watcher: no space left on device")
				return finds(m, "Unknown", "KubeletSilent")
			})),
		misleading("inodes-that-were-won-back", "The kubelet won inodes back an hour before the node went silent, and says so: that it ran out of them again is no more than a hint.",
			from(docPressure, docEviction), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.nodeEvent(m, "kubelet", "EvictionThresholdMet", "Attempting to reclaim inodes", "Warning", 110*time.Minute, 4)
				b.nodeEvent(m, "kubelet", "NodeHasNoDiskPressure", "Node "+m.Name()+" status is now: NodeHasNoDiskPressure", "Normal", 105*time.Minute, 1)
				return finds(m, "Unknown", "KubeletSilent").suggests("DiskPressurePreceded").says("has been silent")
			})),
		well("memory-pressure-that-is-over", "The node ran short of memory, and its kubelet took that back three minutes ago. A pod that it evicted then is still listed.",
			from("https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-condition-oscillation"), func(b *Bundle) *verdict {
				b.says(b.healthy.worker, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", 3*time.Minute)
				b.workload(b.healthy.worker, "cache", object{"requests": object{"memory": "256Mi"}}, "6Gi")
				return nothing()
			}),
		broken("gpu-fallen-off-the-bus", "A GPU fell off the bus: the monitoring agent says Xid 79, and so does the driver on the console. The node is Ready, and nothing is done to it by default.",
			from(docAccelerators, docXids), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.xid(m, 79, 25*time.Minute)
				b.prints(m, "[430411.110231] NVRM: Xid (PCI:0000:00:1e.0): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
				return finds(m, "ConditionFailed", "AcceleratorFault").orders()
			})),
		broken("gpu-row-remapping-pending", "Xid 63: a row of the GPU's memory waits for a reset to be remapped. AWS's table has a reboot for it.",
			from(docAccelerators, docXids), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.xid(m, 63, 25*time.Minute)
				return finds(m, "ConditionFailed", "AcceleratorFault").orders()
			})),
		broken("gpu-row-remapping-failed", "Xid 64: no row is left to remap to. Only another instance helps.",
			from(docAccelerators, docXids), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.xid(m, 64, 25*time.Minute)
				b.prints(m, "[430411.110231] NVRM: Xid (PCI:0000:00:1e.0): 64, pid='<unknown>', name=<unknown>, Row Remapper: Failed")
				return finds(m, "ConditionFailed", "AcceleratorFault").orders()
			})),
		misleading("gpu-link-error-and-a-silent-node", "Xid 74 of NVLink, and the node went silent: AcceleratedHardwareReady=False stands as it was. Which of both came first nobody can tell.",
			from(docAccelerators, docXids), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.silent(m, 45*time.Minute)
				b.xid(m, 74, 50*time.Minute)
				return finds(m, "Unknown", "").suggests("AcceleratorFault", "KubeletSilent")
			})),
		well("gpu-error-that-was-contained", "Xid 94: an error of the memory hit one application and was contained. The agent writes an event and leaves its condition as it is.",
			from(docXids), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.accelerators(m, "True", "AcceleratedHardwareIsReady", "Monitoring for the AcceleratedHardware system is active", 3*day)
				b.prints(m, "[430411.110231] NVRM: Xid (PCI:0000:00:1e.0): 94, pid=1896, name=python3, Contained: SM (0x1). RST: No, D-RST: No")
				return nothing()
			})),
		broken("neuron-memory-error", "The memory of a Neuron device produced wrong results. Three days ago the agent also saw a line about the network, and never took that back.",
			from(docAccelerators, "https://github.com/aws/eks-node-monitoring-agent/blob/main/monitors/neuron/monitor.go"), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.accelerators(m, "False", "NeuronHBMUncorrectableError", "Discovered HBM Uncorrectable Error", 3*day+time.Hour)
				b.says(m, "NetworkingReady", "False", "IPAMDNotReady", "IPAM-D has failed to connect to API Server which could be an issue with IPTable rules or any other network configuration.", 3*day)
				return finds(m, "ConditionFailed", "AcceleratorFault").orders()
			})),
		well("application-that-crashed-on-a-gpu", "An application read memory that it must not: the driver writes Xid 31, and the agent an event. No hardware failed.",
			from(docXids, docAccelerators), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.accelerators(m, "True", "AcceleratedHardwareIsReady", "Monitoring for the AcceleratedHardware system is active", 3*day)
				b.nodeEvent(m, "eks-node-monitoring-agent", "AcceleratedHardwareReady", "NvidiaXID31Warning: detected unknown XID-31 on the instance, review kernel logs for additional information.", "Warning", 20*time.Minute, 1)
				b.prints(m, "[430411.110231] NVRM: Xid (PCI:0000:00:1e.0): 31, pid=1896, name=python3, Ch 0000000b, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f_1a000000")
				return nothing().orders()
			})),
		misleading("dcgm-out-of-reach", "The agent cannot reach DCGM, as where its pod does not tolerate the nodes' taint. That says nothing of the hardware, and AWS publishes no repair.",
			from(docAccelerators), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.accelerators(m, "False", "DCGMError", "failed to connect to the DCGM host engine", 2*time.Hour)
				b.Console[m.ID] = console(booted()...)
				return finds(m, "ConditionFailed", "MonitoringConditionLatched").misses("AcceleratorFault").orders()
			})),
		misleading("silent-with-an-xid-on-the-console", "The node is silent, and the last line on its console is an Xid 79 of some time ago: that may be why, and does not prove it.",
			from(docXids, docNodes), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.silent(m, 45*time.Minute)
				b.prints(m, "[430411.110231] NVRM: Xid (PCI:0000:00:1e.0): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
				return finds(m, "Unknown", "").suggests("AcceleratorFault", "KubeletSilent")
			})),
		well("gpu-well-after-a-reboot", "A GPU failed, the instance was rebooted, and the agent says since then that the accelerators are in order.",
			from(docAccelerators), on(gpu, func(b *Bundle, m *Machine) *verdict {
				b.accelerators(m, "True", "AcceleratedHardwareIsReady", "Monitoring for the AcceleratedHardware system is active", 40*time.Minute)
				b.Console[m.ID] = console(slices.Concat(booted(), []string{"[430411.110231] NVRM: Xid (PCI:0000:00:1e.0): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU."}, booted())...)
				return nothing().orders()
			})),
		well("monitoring-agent-content", "All conditions of the monitoring agent are True.",
			from(docNodeHealth), func(b *Bundle) *verdict {
				b.monitored(b.healthy.worker)
				b.monitored(b.healthy.system)
				return nothing()
			}),
	}
}

// gpu adds a worker of a type with a GPU.
func gpu(b *Bundle) *Machine {
	m := worker(b)
	m.Instance["InstanceType"] = "g5.2xlarge"
	m.Node["metadata"].(object)["labels"].(object)["node.kubernetes.io/instance-type"] = "g5.2xlarge"
	return m
}

// xid makes the node monitoring agent report an Xid about the GPU.
func (b *Bundle) xid(m *Machine, number int, since time.Duration) {
	b.accelerators(m, "False", fmt.Sprintf("NvidiaXID%dError", number), fmt.Sprintf("detected XID-%d on the instance, review kernel logs for additional information.", number), since)
}

// accelerators adds what the node monitoring agent reports about them, besides its other
// conditions.
func (b *Bundle) accelerators(m *Machine, status, reason, message string, since time.Duration) {
	b.monitored(m)
	b.says(m, "AcceleratedHardwareReady", status, reason, message, since)
}

// monitored adds the conditions of the node monitoring agent, all healthy.
func (b *Bundle) monitored(m *Machine) {
	for _, system := range []string{"ContainerRuntime", "Kernel", "Networking", "Storage"} {
		b.says(m, system+"Ready", "True", system+"IsReady", "Monitoring for the "+system+" system is active", 3*day)
	}
}

// silentCases are about nodes that stopped reporting, and what preceded that. The control plane
// overwrites the pressure conditions of a silent node.
func silentCases() []Case {
	memory := []string{docPressure, docNodeStatus, "https://github.com/kubernetes/kubernetes/issues/34314", "https://github.com/awslabs/amazon-eks-ami/issues/79"}
	return []Case{
		broken("silent", "The kubelet posts no status and renews no lease, and nothing tells why. A reboot comes before a replacement.",
			from(docNodes, docNodeStatus, "https://github.com/kubernetes/kubernetes/issues/43516"), on(silentWorker, func(_ *Bundle, m *Machine) *verdict {
				return finds(m, "Unknown", "KubeletSilent").orders("reboot")
			})),
		broken("silent-from-the-start", "The node was registered, and its kubelet never posted a status after that.",
			from("https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/controller/nodelifecycle/node_lifecycle_controller.go", docNodes), func(b *Bundle) *verdict {
				m := b.joined(Workers, 47*time.Minute)
				b.silent(m, 45*time.Minute)
				for _, c := range m.Node["status"].(object)["conditions"].([]object) {
					c["reason"], c["message"], c["lastHeartbeatTime"] = "NodeStatusNeverUpdated", "Kubelet never posted node status.", b.kubeTime(46*time.Minute)
				}
				b.Leases = b.Leases[:len(b.Leases)-1]
				return finds(m, "Unknown", "NeverReported", "KubeletSilent")
			}),
		broken("memory-pressure-remembered", "An earlier check saw MemoryPressure on the node, minutes before it went silent; the node itself says Unknown by now. Reboot once, then replace.",
			memory, on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.remembered(m, "MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available", 52*time.Minute, 49*time.Minute)
				return finds(m, "Unknown", "MemoryPressurePreceded", "KubeletSilent").orders("reboot")
			})).of(silence),
		broken("third-node-of-the-group-short-of-memory", "Two nodes of the group ran short of memory in the hours before, and are gone by now. On this one a pod without a limit was evicted, which the kubelet says used 6Gi.",
			append(memory, docEviction), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.remembered(m, "MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available", 52*time.Minute, 49*time.Minute)
				b.rememberedOfGroup(m, "MemoryPressure", 9*time.Hour, 3*time.Hour)
				b.workload(m, "cache", object{"requests": object{"memory": "256Mi"}}, "6Gi")
				b.workload(m, "web", object{"requests": object{"memory": "512Mi"}, "limits": object{"memory": "1Gi"}}, "")
				b.workload(m, "jobs", object{}, "")
				return finds(m, "Unknown", "MemoryPressurePreceded", "KubeletSilent").orders("reboot")
			})).of(silence),
		broken("memory-pressure-in-the-events", "The kubelet's last events before the silence tell of too little memory and of a process killed for it.",
			memory, on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.nodeEvent(m, "kubelet", "NodeHasInsufficientMemory", "Node "+m.Name()+" status is now: NodeHasInsufficientMemory", "Normal", 50*time.Minute, 1)
				b.nodeEvent(m, "kubelet", "EvictionThresholdMet", "Attempting to reclaim memory", "Warning", 49*time.Minute, 2)
				b.nodeEvent(m, "kubelet", "SystemOOM", "System OOM encountered, victim process: java, pid: 20417", "Warning", 48*time.Minute, 1)
				return finds(m, "Unknown", "MemoryPressurePreceded", "OutOfMemory", "KubeletSilent")
			})).of(silence),
		broken("killed-for-lack-of-memory", "The kernel killed processes of the host, the kubelet among them, since the machine had no memory left.",
			append(memory, "https://docs.kernel.org/admin-guide/mm/concepts.html"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.prints(m,
					"[432012.442019] java invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=1000",
					"[432012.469921] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=cri-containerd-5b0f.scope,mems_allowed=0,global_oom,task_memcg=/runtime.slice/kubelet.service,task=kubelet,pid=2911,uid=0",
					"[432012.471120] Out of memory: Killed process 2911 (kubelet) total-vm:2104320kB, anon-rss:181220kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:796kB oom_score_adj:-999")
				return finds(m, "Unknown", "OutOfMemory", "MemoryPressurePreceded", "KubeletSilent")
			})).of(silence),
		misleading("killed-for-lack-of-memory-days-ago", "The console has lost its beginning. It shows a kill for lack of memory, after which the machine ran for four days until its node went silent.",
			append(memory, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = strings.Repeat("[61000.100201] IPv6: ADDRCONF(NETDEV_CHANGE): eni5b0f1c2d3e4: link becomes ready\n", 800) +
					"[61012.471120] Out of memory: Killed process 2911 (java) total-vm:2104320kB, anon-rss:181220kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:796kB oom_score_adj:984\n" +
					"[412044.300112] IPv6: ADDRCONF(NETDEV_CHANGE): eni77aa0b1c2d3: link becomes ready\n"
				return finds(m, "Unknown", "").suggests("OutOfMemory", "KubeletSilent").says("before this began")
			})).of(silence),
		misleading("one-pod-over-its-limit", "The kernel killed a container at its own memory limit, which does the node no harm. Why it is silent is not in sight.",
			from("https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/", docPressure), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.prints(m,
					"[410221.100201] java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984",
					"[410221.112870] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-77aa.scope,mems_allowed=0,oom_memcg=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f6c.slice,task=java,pid=31337,uid=1000",
					"[410221.114419] Memory cgroup out of memory: Killed process 31337 (java) total-vm:4920188kB, anon-rss:1048120kB, file-rss:18224kB, shmem-rss:0kB, UID:1000 pgtables:2880kB oom_score_adj:984")
				return finds(m, "Unknown", "KubeletSilent")
			})).of(silence),
		misleading("a-pod-named-after-oom", "The console speaks of oom-exporter and panic-tests, which are pods.",
			from(docPressure), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.prints(m,
					"[401110.220113] audit: type=1400 audit(1773100000.100:220): apparmor=\"STATUS\" operation=\"profile_load\" comm=\"oom-exporter\"",
					"[401111.001204] systemd[1]: Started cri-containerd-oom-exporter.scope - libcontainer container.",
					"[401112.414201] kubelet[2911]: I0310 03:26:40.414 reconciler: volume mounted for pod \"kernel-panic-tests-6f7c\" in namespace \"oom\"")
				return finds(m, "Unknown", "KubeletSilent")
			})).of(silence),
		misleading("enough-memory-remembered", "The last check before the silence saw no pressure of any kind. Memory can run out before the kubelet reports it, so that proves nothing.",
			append(memory, "https://github.com/awslabs/amazon-eks-ami/issues/1145"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.remembered(m, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", 5*day, 49*time.Minute)
				return finds(m, "Unknown", "KubeletSilent").misses("MemoryPressurePreceded")
			})).of(silence),
		broken("disk-pressure-remembered", "An earlier check saw DiskPressure on the node, minutes before it went silent.",
			from(docPressure, docNodeStatus), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.remembered(m, "DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure", 58*time.Minute, 49*time.Minute)
				return finds(m, "Unknown", "DiskPressurePreceded", "KubeletSilent")
			})),
		broken("pid-pressure-in-the-events", "The kubelet's last event before the silence tells of too few process ids.",
			from(docPressure, "https://kubernetes.io/docs/concepts/policy/pid-limiting/"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.nodeEvent(m, "kubelet", "NodeHasInsufficientPID", "Node "+m.Name()+" status is now: NodeHasInsufficientPID", "Normal", 48*time.Minute, 1)
				return finds(m, "Unknown", "PidPressurePreceded", "KubeletSilent")
			})),
		misleading("kubelet-could-not-fork-before-the-silence", "No check saw PIDPressure, which needs a threshold that no kubelet has by default; but the node monitoring agent saw the kubelet fail to start a process, minutes before the silence.",
			from(docPressure, docAccelerators, "https://github.com/aws/eks-node-monitoring-agent/blob/main/monitors/kernel/monitor.go"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.remembered(m, "PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available", 5*day, 49*time.Minute)
				b.says(m, "KernelReady", "False", "ForkFailedOutOfPIDs", "A fork or exec call has failed due to the system being out of process IDs or memory", 48*time.Minute)
				return finds(m, "Unknown", "").suggests("PidPressurePreceded", "KubeletSilent")
			})),
	}
}
