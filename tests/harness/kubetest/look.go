package kubetest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// State is a state of a node that its kubelet, or a person, brings about.
type State string

// The states. The node monitoring agent of each node has reported that its kernel is in order.
const (
	Registered State = "registered" // and never Ready yet
	Ready      State = "Ready"
	NotReady   State = "not ready" // it was Ready
	Pressed    State = "short of memory"
	Cordoned   State = "cordoned"
	Silent     State = "silent"
)

// Look is what the control plane makes of a node. A condition that it wrote itself has its reason.
type Look struct{ Conditions, Taints []string }

// Looks are those of a real control plane.
var Looks = map[State]Look{
	Registered: {
		Conditions: []string{"DiskPressure=False", "KernelReady=True", "MemoryPressure=False", "PIDPressure=False", "Ready=False"},
		Taints:     []string{"node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/not-ready:NoSchedule"},
	},
	Ready: {Conditions: []string{"DiskPressure=False", "KernelReady=True", "MemoryPressure=False", "PIDPressure=False", "Ready=True"}},
	NotReady: {
		Conditions: []string{"DiskPressure=False", "KernelReady=True", "MemoryPressure=False", "PIDPressure=False", "Ready=False"},
		Taints:     []string{"node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/not-ready:NoSchedule"},
	},
	Pressed: {
		Conditions: []string{"DiskPressure=False", "KernelReady=True", "MemoryPressure=True", "PIDPressure=False", "Ready=True"},
		Taints:     []string{"node.kubernetes.io/memory-pressure:NoSchedule"},
	},
	Cordoned: {
		Conditions: []string{"DiskPressure=False", "KernelReady=True", "MemoryPressure=False", "PIDPressure=False", "Ready=True"},
		Taints:     []string{"node.kubernetes.io/unschedulable:NoSchedule"},
	},
	Silent: {
		Conditions: []string{
			"DiskPressure=Unknown NodeStatusUnknown", "KernelReady=True", "MemoryPressure=Unknown NodeStatusUnknown",
			"PIDPressure=Unknown NodeStatusUnknown", "Ready=Unknown NodeStatusUnknown",
		},
		Taints: []string{"node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"},
	},
}

// LookOf returns how a node looks.
func LookOf(n *corev1.Node) (l Look) {
	for _, c := range n.Status.Conditions {
		text := string(c.Type) + "=" + string(c.Status)
		if c.Status == corev1.ConditionUnknown {
			text += " " + c.Reason
		}
		l.Conditions = append(l.Conditions, text)
	}
	for _, t := range n.Spec.Taints {
		l.Taints = append(l.Taints, t.Key+":"+string(t.Effect))
	}
	slices.Sort(l.Conditions)
	slices.Sort(l.Taints)
	return l
}
