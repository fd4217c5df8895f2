package generate

import "time"

// silentCases are about nodes that stopped talking, and what went before. The control
// plane overwrites the pressure conditions of a silent node.
func silentCases() []Case {
	memory := []string{docPressure, docNodeStatus, "https://github.com/kubernetes/kubernetes/issues/34314", "https://github.com/awslabs/amazon-eks-ami/issues/79"}
	return []Case{
		broken("silent", "The kubelet posts no status and renews no lease, and nothing tells why. A reboot comes before a replacement.",
			from(docNodes, docNodeStatus, "https://github.com/kubernetes/kubernetes/issues/43516"), func(b *Bundle) *verdict {
				m := silentWorker(b)
				return finds(m, "Unknown", "KubeletSilent").orders("reboot")
			}),
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
			memory, func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.remembered(m, "MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available", 52*time.Minute, 49*time.Minute)
				return finds(m, "Unknown", "MemoryPressurePreceded", "KubeletSilent").orders("reboot")
			}).of(silence),
		broken("third-node-of-the-group-short-of-memory", "Two nodes of the group ran short of memory in the hours before, and are gone by now. On this one a pod without a limit was evicted, which the kubelet says used 6Gi.",
			append(memory, docEviction), func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.remembered(m, "MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available", 52*time.Minute, 49*time.Minute)
				b.rememberedOfGroup(m, "MemoryPressure", 9*time.Hour, 3*time.Hour)
				b.workload(m, "cache", object{"requests": object{"memory": "256Mi"}}, "6Gi")
				b.workload(m, "web", object{"requests": object{"memory": "512Mi"}, "limits": object{"memory": "1Gi"}}, "")
				b.workload(m, "jobs", object{}, "")
				return finds(m, "Unknown", "MemoryPressurePreceded", "KubeletSilent").orders("reboot")
			}).of(silence),
		broken("memory-pressure-in-the-events", "The kubelet's last events before the silence tell of too little memory and of a process killed for it.",
			memory, func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.nodeEvent(m, "kubelet", "NodeHasInsufficientMemory", "Node "+m.Name()+" status is now: NodeHasInsufficientMemory", "Normal", 50*time.Minute, 1)
				b.nodeEvent(m, "kubelet", "EvictionThresholdMet", "Attempting to reclaim memory", "Warning", 49*time.Minute, 2)
				b.nodeEvent(m, "kubelet", "SystemOOM", "System OOM encountered, victim process: java, pid: 20417", "Warning", 48*time.Minute, 1)
				return finds(m, "Unknown", "MemoryPressurePreceded", "OutOfMemory", "KubeletSilent")
			}).of(silence),
		broken("killed-for-lack-of-memory", "The kernel killed processes of the host, the kubelet among them, since the machine had no memory left.",
			append(memory, "https://docs.kernel.org/admin-guide/mm/concepts.html"), func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.prints(m,
					"[432012.442019] java invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=1000",
					"[432012.469921] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=cri-containerd-5b0f.scope,mems_allowed=0,global_oom,task_memcg=/runtime.slice/kubelet.service,task=kubelet,pid=2911,uid=0",
					"[432012.471120] Out of memory: Killed process 2911 (kubelet) total-vm:2104320kB, anon-rss:181220kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:796kB oom_score_adj:-999")
				return finds(m, "Unknown", "OutOfMemory", "MemoryPressurePreceded", "KubeletSilent")
			}).of(silence),
		misleading("one-pod-over-its-limit", "The kernel killed a container at its own memory limit, which does the node no harm. Why it is silent is not in sight.",
			from("https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/", docPressure), func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.prints(m,
					"[410221.100201] java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984",
					"[410221.112870] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-77aa.scope,mems_allowed=0,oom_memcg=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f6c.slice,task=java,pid=31337,uid=1000",
					"[410221.114419] Memory cgroup out of memory: Killed process 31337 (java) total-vm:4920188kB, anon-rss:1048120kB, file-rss:18224kB, shmem-rss:0kB, UID:1000 pgtables:2880kB oom_score_adj:984")
				return finds(m, "Unknown", "KubeletSilent")
			}).of(silence),
		misleading("a-pod-named-after-oom", "The console speaks of oom-exporter and panic-tests, which are pods.",
			from(docPressure), func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.prints(m,
					"[401110.220113] audit: type=1400 audit(1773100000.100:220): apparmor=\"STATUS\" operation=\"profile_load\" comm=\"oom-exporter\"",
					"[401111.001204] systemd[1]: Started cri-containerd-oom-exporter.scope - libcontainer container.",
					"[401112.414201] kubelet[2911]: I0310 03:26:40.414 reconciler: volume mounted for pod \"kernel-panic-tests-6f7c\" in namespace \"oom\"")
				return finds(m, "Unknown", "KubeletSilent")
			}).of(silence),
		misleading("enough-memory-remembered", "The last check before the silence saw no pressure of any kind.",
			memory, func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.remembered(m, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", 5*day, 49*time.Minute)
				return finds(m, "Unknown", "KubeletSilent")
			}).of(silence),
		broken("disk-pressure-remembered", "An earlier check saw DiskPressure on the node, minutes before it went silent.",
			from(docPressure, docNodeStatus), func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.remembered(m, "DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure", 58*time.Minute, 49*time.Minute)
				return finds(m, "Unknown", "DiskPressurePreceded", "KubeletSilent")
			}),
		broken("pid-pressure-in-the-events", "The kubelet's last event before the silence tells of too few process ids.",
			from(docPressure, "https://kubernetes.io/docs/concepts/policy/pid-limiting/"), func(b *Bundle) *verdict {
				m := silentWorker(b)
				b.nodeEvent(m, "kubelet", "NodeHasInsufficientPID", "Node "+m.Name()+" status is now: NodeHasInsufficientPID", "Normal", 48*time.Minute, 1)
				return finds(m, "Unknown", "PidPressurePreceded", "KubeletSilent")
			}),
	}
}
