package generate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// flappingCases are about nodes that leave Ready and come back, and what came right before it.
func flappingCases() []Case {
	const (
		reportOOM   = "https://github.com/awslabs/amazon-eks-ami/issues/1145"
		docWatcher  = "https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/oom/oom_watcher_linux.go"
		docKubelet  = "https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kubelet_node_status.go"
		reportPanic = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/TroubleshootingInstances.html"
	)
	lost := []int{58, 49, 38, 27, 15, 5} // minutes ago, at which the node left Ready
	// flaps adds a node that came back three minutes after each, with a reason that an event names a
	// minute before the given ones.
	flaps := func(b *Bundle, reason, message string, before ...int) *Machine {
		m := worker(b)
		b.says(m, "Ready", "True", "KubeletReady", "kubelet is posting ready status", 2*time.Minute)
		var flips []string
		for _, ago := range lost {
			b.nodeEvent(m, "node-controller", "NodeNotReady", fmt.Sprintf("Node %s status is now: NodeNotReady", m.Name()), "Normal", time.Duration(ago)*time.Minute, 1)
			flips = append(flips, b.kubeTime(time.Duration(ago-3)*time.Minute))
		}
		for i, ago := range before {
			b.nodeEvent(m, "kubelet", reason, strings.ReplaceAll(message, "#", strconv.Itoa(i)), "Warning", time.Duration(ago+1)*time.Minute, 1)
		}
		b.remembered(m, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", 5*day, time.Minute)
		b.Ledger["nodes"].(object)[m.Name()].(object)["readyFlips"] = flips
		return m
	}
	const oom = "System OOM encountered, victim process: java, pid: 3124#"
	panics := func(b *Bundle, m *Machine) {
		boot := console("[  812.902114] Kernel panic - not syncing: Fatal exception in interrupt")
		b.Console[m.ID] = boot + console(booted()...)
	}
	return []Case{
		broken("back-and-forth-by-kills-for-lack-of-memory", "A minute before each loss of Ready the kernel killed a process for lack of memory of the whole machine.",
			from(reportOOM, docWatcher), func(b *Bundle) *verdict {
				return finds(flaps(b, "SystemOOM", oom, lost...), "Flapping", "OutOfMemory").says("6 of the 6").orders()
			}),
		broken("back-and-forth-by-short-memory", "A minute before four of the six losses the kubelet began to evict for lack of memory.",
			from(docPressure, docEviction), func(b *Bundle) *verdict {
				return finds(flaps(b, "EvictionThresholdMet", "Attempting to reclaim memory", lost[:4]...), "Flapping", "MemoryPressurePreceded").orders()
			}),
		broken("back-and-forth-by-panics", "The machine was rebooted twice in the hour, as its kubelet says, and the console shows the panic before the last boot.",
			from(docKubelet, reportPanic), func(b *Bundle) *verdict {
				m := flaps(b, "Rebooted", "Node has been rebooted, boot id: 5d8b6c2a-1e0f-4b3a-9c7d-00000000000#", lost[3:5]...)
				panics(b, m)
				return finds(m, "Flapping", "KernelPanic").orders()
			}),

		misleading("back-and-forth-and-one-kill", "One of the six losses came after a kill for lack of memory, the others did not: it is a hint.",
			from(reportOOM, docWatcher), func(b *Bundle) *verdict {
				return finds(flaps(b, "SystemOOM", oom, lost[2]), "Flapping", "").suggests("OutOfMemory").orders()
			}),
		misleading("back-and-forth-and-kills-at-other-times", "The kernel killed processes three times in the hour, each a few minutes after a loss of Ready and not before one.",
			from(docWatcher), func(b *Bundle) *verdict {
				return finds(flaps(b, "SystemOOM", oom, 52, 43, 31), "Flapping", "").suggests("OutOfMemory").orders()
			}),
		misleading("back-and-forth-and-full-containers", "The kernel killed containers above their own limits: the machine has memory.",
			from(docWatcher, "https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/"), func(b *Bundle) *verdict {
				return finds(flaps(b, "OOMKilling", "Memory cgroup out of memory: Killed process 4711# (java)", lost...), "Flapping", "").orders()
			}),
		misleading("back-and-forth-and-a-panic-long-ago", "The console shows a panic in a boot before the last, and no event tells of a reboot in the hour in which the node flaps.",
			from(docKubelet), func(b *Bundle) *verdict {
				m := flaps(b, "", "")
				panics(b, m)
				return finds(m, "Flapping", "").suggests("KernelPanic").orders()
			}),
		misleading("not-ready-after-a-kill", "The kernel killed a process for lack of memory, and a kubelet that reports says that it has no network: memory is a hint, and puts the symptom in doubt.",
			from(docWatcher, docNodeStatus), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.notReady(m, "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized", 20*time.Minute)
				b.nodeEvent(m, "kubelet", "SystemOOM", strings.ReplaceAll(oom, "#", "1"), "Warning", 22*time.Minute, 1)
				return finds(m, "NotReady", "").suggests("OutOfMemory", "CniNotReady")
			})),
	}
}
