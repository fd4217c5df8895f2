package kube

import (
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/roll"
)

// projector cuts nodes down. Values that many nodes share (zones, groups, reasons)
// are kept once.
type projector struct {
	shared map[string]string
}

func newProjector() *projector { return &projector{shared: map[string]string{}} }

// one returns the one copy of a text that many nodes share.
func (p *projector) one(s string) string {
	if known, ok := p.shared[s]; ok {
		return known
	}
	p.shared[s] = s
	return s
}

func (p *projector) node(n *corev1.Node) roll.Node {
	out := roll.Node{
		Name:     n.Name,
		Created:  n.CreationTimestamp.Time,
		Deleting: n.DeletionTimestamp != nil,
		// A node without the condition has never reported; the control plane counts
		// that as Unknown too, from the creation on.
		Ready: roll.Condition{Status: roll.ConditionUnknown, Since: n.CreationTimestamp.Time},
	}
	out.Compute, out.Instance = roll.ParseProviderID(n.Spec.ProviderID)
	out.ReadLabels(n.Labels)
	out.Zone, out.Group = p.one(out.Zone), roll.Group(p.one(string(out.Group)))
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		if c.Type != corev1.NodeReady {
			continue
		}
		out.Ready = roll.Condition{Status: status(c.Status), Since: c.LastTransitionTime.Time}
		if out.Ready.Status != roll.ConditionTrue {
			out.Ready.Reason = p.one(c.Reason)
		}
	}
	return out
}

func status(s corev1.ConditionStatus) roll.ConditionStatus {
	switch s {
	case corev1.ConditionTrue:
		return roll.ConditionTrue
	case corev1.ConditionFalse:
		return roll.ConditionFalse
	}
	return roll.ConditionUnknown
}
