package generate

import (
	"time"

	"rollcall/tests/corpus"
)

const (
	docFinalizers     = "https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/"
	docTermination    = "https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/node/termination/controller.go"
	docClaimLifecycle = "https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/controller.go"
	docDisruption     = "https://karpenter.sh/docs/concepts/disruption/"
)

// removalCases are about deleted Nodes and NodeClaims.
func removalCases() []Case {
	return []Case{
		broken("deleting-and-a-budget-allows-nothing", "Karpenter has drained a node for two hours: a pod on it is the only healthy one of its disruption budget.",
			from(docFinalizers, docTermination, docDisruption), func(b *Bundle) *verdict {
				m := b.removed(2*time.Hour, true)
				b.claimIs(m, "Drained", "Unknown", "Draining", 2*time.Hour)
				b.nodeEvent(m, "karpenter", "FailedDraining", "Failed to drain node, 1 pods are waiting to be evicted", "Warning", 2*time.Minute, 50)
				b.workload(m, "web", object{}, "")
				b.budget("web", 1, 1)
				return b.stuck(m, "DrainBlocked")
			}),
		broken("deleting-drained-and-the-instance-runs", "The node is drained and its volumes are detached, and its instance runs on: EC2 does not end it, or nobody asks it to.",
			from(docTermination), func(b *Bundle) *verdict {
				m := b.removed(2*time.Hour, true)
				b.claimIs(m, "Drained", "True", "Drained", 110*time.Minute)
				b.claimIs(m, "VolumesDetached", "True", "VolumesDetached", 110*time.Minute)
				return b.stuck(m, "InstanceNotTerminating")
			}),
		broken("deleting-and-a-volume-stays-attached", "The node is drained, and a volume of a pod that left it is still attached: Karpenter waits for its VolumeAttachment to be deleted.",
			from(docTermination, "https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/faq.md"), func(b *Bundle) *verdict {
				m := b.removed(2*time.Hour, true)
				b.claimIs(m, "Drained", "True", "Drained", 110*time.Minute)
				b.claimIs(m, "VolumesDetached", "Unknown", "AwaitingVolumeDetachment", 110*time.Minute)
				m.Node["status"].(object)["volumesAttached"] = []object{{"name": "kubernetes.io/csi/ebs.csi.aws.com^vol-0bad0000000000001", "devicePath": ""}}
				b.nodeEvent(m, "karpenter", "AwaitingVolumeDetachment", "Awaiting deletion of bound volumeattachments (csi-0a1b2c3d4e5f)", "Normal", 2*time.Minute, 40)
				return b.stuck(m, "VolumesAttached")
			}),
		broken("deleting-with-a-foreign-finalizer", "A node of a node group was deleted, and a finalizer that is not Karpenter's keeps it: its controller was removed.",
			from(docFinalizers, "https://ranchermanager.docs.rancher.com/"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.deleted(m.Node, 3*time.Hour, "wrangler.cattle.io/node")
				v := finds(m, "Stuck", "FinalizerHeld")
				v.last().Instance = "node/" + m.Name()
				return v.rulesOut("DrainBlocked").orders()
			})),
		broken("deleting-nodeclaim-without-a-node", "A NodeClaim was deleted, its instance is terminated, and no Node is left: Karpenter was removed before it let go of the NodeClaim.",
			from(docClaimLifecycle), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Batch, 5*time.Hour)
				b.UserData[m.ID] = UserData(Batch)
				m.Instance["State"] = object{"Code": 48, "Name": "terminated"}
				b.deleted(m.Claim, 2*time.Hour, "karpenter.sh/termination")
				return b.stuck(m, "FinalizerOwnerGone")
			}),
		misleading("deleting-for-half-an-hour", "Karpenter has drained a node for 30 minutes, and pods are left. That is what a drain is like.",
			from(docTermination, docDisruption), func(b *Bundle) *verdict {
				m := b.removed(30*time.Minute, true)
				b.claimIs(m, "Drained", "Unknown", "Draining", 30*time.Minute)
				b.workload(m, "web", object{}, "")
				b.budget("web", 1, 1)
				return nothing()
			}),
		misleading("finalizers-and-nobody-deletes", "Every node of Karpenter's has its finalizer from its registration on. Nobody deleted this one.",
			from(docFinalizers, docTermination), func(b *Bundle) *verdict {
				m := b.removed(0, false)
				m.Node["metadata"].(object)["finalizers"] = []string{"karpenter.sh/termination"}
				return nothing()
			}),
	}
}

// removed adds a Karpenter node that was healthy for days and, if deleted, was deleted with its
// NodeClaim.
func (b *Bundle) removed(ago time.Duration, deleted bool) *Machine {
	m := b.joined(Batch, 5*day)
	if deleted {
		b.deleted(m.Node, ago, "karpenter.sh/termination")
		b.deleted(m.Claim, ago, "karpenter.sh/termination")
	}
	return m
}

// deleted marks an object as deleted and kept by its finalizers.
func (b *Bundle) deleted(o object, ago time.Duration, finalizers ...string) {
	m := o["metadata"].(object)
	m["deletionTimestamp"], m["deletionGracePeriodSeconds"], m["finalizers"] = b.kubeTime(ago), 0, finalizers
}

// claimIs adds a condition to a machine's NodeClaim.
func (b *Bundle) claimIs(m *Machine, kind, status, reason string, since time.Duration) {
	s := m.Claim["status"].(object)
	s["conditions"] = append(s["conditions"].([]object), b.claimCondition(kind, status, reason, reason, since))
}

// budget adds an app's PodDisruptionBudget.
func (b *Bundle) budget(app string, healthy, desired int) {
	b.Budgets = append(b.Budgets, object{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
		"metadata": object{"name": app, "namespace": "shop", "uid": uid("budget", app), "generation": 1, "creationTimestamp": b.kubeTime(9 * day)},
		"spec":     object{"minAvailable": desired, "selector": object{"matchLabels": object{"app": app}}},
		"status":   object{"observedGeneration": 1, "currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": healthy, "disruptionsAllowed": max(0, healthy-desired)},
	})
}

// stuck expects a finding about the machine's NodeClaim.
func (b *Bundle) stuck(m *Machine, first string) *verdict {
	v := nothing()
	v.expectation.Findings = []corpus.Finding{{Instance: "nodeclaim/" + m.claimName(), Kind: "Stuck", FirstDecisive: first}}
	return v.orders()
}
