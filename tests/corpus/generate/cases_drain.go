package generate

import "time"

const (
	docEvictions = "https://github.com/kubernetes/kubernetes/blob/master/pkg/registry/core/pod/storage/eviction.go"
	docDrain     = "https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/node/termination/terminator/terminator.go"
	docWaiting   = "https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/utils/pod/scheduling.go"
)

// drainCases are about what Karpenter waits for while it drains a node.
func drainCases() []Case {
	return []Case{
		broken("drain-of-a-pod-not-to-be-disrupted", "A job's pod is annotated as not to be disrupted, and the NodePool has no terminationGracePeriod: the drain waits until the pod ends.",
			from(docDisruption, docDrain), on((*Bundle).draining, func(b *Bundle, m *Machine) *verdict {
				b.podOf(m, "etl")["metadata"].(object)["annotations"] = object{"karpenter.sh/do-not-disrupt": "true"}
				return b.stuck(m, "DrainBlocked").says("etl", "do-not-disrupt=true")
			})),
		broken("drain-of-a-pod-with-two-budgets", "Two PodDisruptionBudgets select the same pod. Both allow a disruption, and the eviction API refuses all the same.",
			from(docEvictions, "https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors"), on((*Bundle).draining, func(b *Bundle, m *Machine) *verdict {
				b.podOf(m, "web")
				b.budget("web", 3, 1)
				b.budget("web", 3, 2)
				b.Budgets[1]["metadata"].(object)["name"] = "web-too"
				return b.stuck(m, "DrainBlocked").says("several PodDisruptionBudgets", "shop/web-too")
			})),
		broken("drain-of-a-pod-with-a-budget-of-zero", "A PodDisruptionBudget with maxUnavailable 0 never allows a disruption, with however many replicas.",
			from("https://kubernetes.io/docs/tasks/run-application/configure-pdb/", docDrain), on((*Bundle).draining, func(b *Bundle, m *Machine) *verdict {
				b.podOf(m, "web")
				b.budget("web", 5, 5)
				b.Budgets[0]["spec"].(object)["maxUnavailable"] = 0
				delete(b.Budgets[0]["spec"].(object), "minAvailable")
				return b.stuck(m, "DrainBlocked").says("shop/web", "5 healthy of 5")
			})),
		broken("drain-of-a-pod-with-a-grace-period-of-a-day", "The pod was evicted and is Terminating. Its terminationGracePeriodSeconds is a day, and Karpenter waits for it.",
			from(docWaiting), on((*Bundle).draining, func(b *Bundle, m *Machine) *verdict {
				p := b.podOf(m, "queue")["metadata"].(object)
				p["deletionTimestamp"], p["deletionGracePeriodSeconds"] = b.kubeTime(-22*time.Hour), 86400
				return b.stuck(m, "DrainBlocked").says("queue", "Terminating")
			})),
		misleading("drain-of-a-node-whose-instance-is-gone", "EC2 took the Spot Instance, and a pod of its node has hours of its grace period left. Karpenter 1.12.1 to 1.14.0 keep what they know of an instance, so they wait for the pod: Karpenter runs, and its events show it.",
			from("https://github.com/aws/karpenter-provider-aws/issues/9479", "https://github.com/aws/karpenter-provider-aws/pull/9242", docTermination), on((*Bundle).draining, func(b *Bundle, m *Machine) *verdict {
				m.Instance["State"] = object{"Code": 48, "Name": "terminated"}
				b.silent(m, 100*time.Minute)
				p := b.podOf(m, "queue")["metadata"].(object)
				p["deletionTimestamp"], p["deletionGracePeriodSeconds"] = b.kubeTime(-4*time.Hour), 21600
				return b.stuck(m, "DrainBlocked").says("queue", "Terminating").saysNot("it does not run").suggests("FinalizerOwnerGone").and(m, "Ghost", "", "KubeletSilent")
			})),
		misleading("drain-waits-for-volumes-of-a-hanging-pod", "A pod is Terminating long after its grace period. The drain does not wait for it any more, but its volume stays attached.",
			from(docWaiting, docTermination), func(b *Bundle) *verdict {
				m := b.removed(2*time.Hour, true)
				b.claimIs(m, "Drained", "True", "Drained", 100*time.Minute)
				b.claimIs(m, "VolumesDetached", "Unknown", "AwaitingVolumeDetachment", 100*time.Minute)
				m.Node["status"].(object)["volumesAttached"] = []object{{"name": "kubernetes.io/csi/ebs.csi.aws.com^vol-0bad0000000000001", "devicePath": ""}}
				b.nodeEvent(m, "karpenter", "AwaitingVolumeDetachment", "Awaiting deletion of bound volumeattachments (csi-0a1b2c3d4e5f)", "Normal", 2*time.Minute, 40)
				p := b.podOf(m, "db")["metadata"].(object)
				p["deletionTimestamp"], p["deletionGracePeriodSeconds"] = b.kubeTime(105*time.Minute), 30
				return b.stuck(m, "VolumesAttached").rulesOut("DrainBlocked")
			}),
		misleading("drain-past-a-pod-that-tolerates-it", "The budget of a pod allows nothing, but the pod tolerates every taint, so that Karpenter leaves it where it is. It waits for another pod, whose annotation is the reason.",
			from(docWaiting), on((*Bundle).draining, func(b *Bundle, m *Machine) *verdict {
				b.podOf(m, "agent")["spec"].(object)["tolerations"] = []object{{"operator": "Exists"}}
				b.budget("agent", 1, 1)
				b.podOf(m, "etl")["metadata"].(object)["annotations"] = object{"karpenter.sh/do-not-disrupt": "true"}
				return b.stuck(m, "DrainBlocked").says("etl").saysNot("agent")
			})),
		misleading("drain-past-a-pod-that-is-not-ready", "A budget has just as many healthy pods as it needs, and the pod on this node is not one of them: it may be evicted. The drain waits for another pod, with an annotation.",
			from(docEvictions, "https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy"), on((*Bundle).draining, func(b *Bundle, m *Machine) *verdict {
				b.podOf(m, "web")["status"].(object)["conditions"] = []object{{"type": "Ready", "status": "False"}}
				b.budget("web", 2, 2)
				b.podOf(m, "etl")["metadata"].(object)["annotations"] = object{"karpenter.sh/do-not-disrupt": "true"}
				return b.stuck(m, "DrainBlocked").says("etl").saysNot("shop/web ")
			})),
		misleading("drain-of-a-pod-whose-annotation-is-over", "The annotation of a pod protected it for the first four hours, which are over, and nothing else is known to keep it: the annotation is not the reason.",
			from(docWaiting), on((*Bundle).draining, func(b *Bundle, m *Machine) *verdict {
				p := b.podOf(m, "etl")
				p["metadata"].(object)["annotations"] = object{"karpenter.sh/do-not-disrupt": "4h"}
				p["status"].(object)["startTime"] = b.kubeTime(5 * time.Hour)
				b.budget("another", 2, 1)
				return b.stuck(m, "").suggests("DrainBlocked").saysNot("do-not-disrupt")
			})),
	}
}

// draining adds a node that Karpenter has drained for two hours.
func (b *Bundle) draining() *Machine {
	m := b.removed(2*time.Hour, true)
	b.claimIs(m, "Drained", "Unknown", "Draining", 2*time.Hour)
	b.nodeEvent(m, "karpenter", "FailedDraining", "Failed to drain node, 1 pods are waiting to be evicted", "Warning", 2*time.Minute, 50)
	return m
}

// podOf adds a pod of an app to a machine's node.
func (b *Bundle) podOf(m *Machine, app string) object {
	b.workload(m, app, object{}, "")
	return b.Pods[len(b.Pods)-1]
}
