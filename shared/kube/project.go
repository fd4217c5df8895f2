package kube

import (
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/roll"
)

// projector cuts nodes down. Values that many nodes share (zones, groups, reasons)
// are kept once.
type projector struct {
	texts roll.Texts
}

func (p *projector) node(n *corev1.Node) roll.Node {
	out := roll.Node{
		Name:     n.Name,
		Created:  n.CreationTimestamp.UTC(),
		Deleting: n.DeletionTimestamp != nil,
		// A node without the condition has never reported; the control plane counts
		// that as Unknown too, from the creation on.
		Ready: roll.Condition{Status: roll.ConditionUnknown, Since: n.CreationTimestamp.UTC()},
	}
	out.Compute, out.Instance = roll.ParseProviderID(n.Spec.ProviderID)
	out.ReadLabels(n.Labels)
	out.Zone, out.Group = p.texts.One(out.Zone), roll.Group(p.texts.One(string(out.Group)))
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		if c.Type != corev1.NodeReady {
			continue
		}
		out.Ready = roll.Condition{Status: status(c.Status), Since: c.LastTransitionTime.UTC()}
		if out.Ready.Status != roll.ConditionTrue {
			out.Ready.Reason = p.texts.One(c.Reason)
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
