package evidence

import (
	"maps"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// DaemonSet is a DaemonSet: which pods it has, and on which nodes.
type DaemonSet struct {
	Namespace, Name string
	Labels          map[string]string // its pods have them (spec.selector.matchLabels)
	HostPaths       []string          // paths of the host that its pods mount
	HostNetwork     bool
	Tolerations     []Toleration
	NodeSelector    map[string]string
	// Affinity are the node affinity's required terms, of which a node must meet one; nil if
	// there are none.
	Affinity [][]Requirement
}

// Toleration is a toleration of a pod.
type Toleration struct{ Key, Operator, Value, Effect string }

// Tolerates reports whether the toleration is for the taint. An unknown operator counts as met.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func (t Toleration) Tolerates(x Taint) bool {
	switch {
	case t.Effect != "" && t.Effect != x.Effect, t.Key != "" && t.Key != x.Key:
		return false
	case t.Operator == "" || t.Operator == "Equal":
		return t.Key != "" && t.Value == x.Value
	}
	return true
}

// always are the taints that the DaemonSet controller lets all its pods tolerate.
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
var always = []Toleration{
	{"node.kubernetes.io/not-ready", "Exists", "", "NoExecute"}, {"node.kubernetes.io/unreachable", "Exists", "", "NoExecute"},
	{"node.kubernetes.io/disk-pressure", "Exists", "", "NoSchedule"}, {"node.kubernetes.io/memory-pressure", "Exists", "", "NoSchedule"},
	{"node.kubernetes.io/pid-pressure", "Exists", "", "NoSchedule"}, {"node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"},
}

// Selects reports whether the DaemonSet is for nodes like this one, whatever their taints.
func (d DaemonSet) Selects(n NodeObject) bool {
	for key, value := range d.NodeSelector {
		if has, ok := n.Labels[key]; !ok || has != value {
			return false
		}
	}
	return d.Affinity == nil || slices.ContainsFunc(d.Affinity, func(term []Requirement) bool {
		return !slices.ContainsFunc(term, func(r Requirement) bool { return !n.meets(r) })
	})
}

func (n NodeObject) meets(r Requirement) bool {
	value, ok := n.Labels[r.Key]
	if !ok {
		return r.Operator == "NotIn" || r.Operator == "DoesNotExist"
	}
	return r.Allows(value)
}

// Untolerated returns the node's taints for which the DaemonSet gets no pod there.
func (d DaemonSet) Untolerated(n NodeObject) []Taint {
	tolerations := slices.Concat(d.Tolerations, always)
	if d.HostNetwork {
		tolerations = append(tolerations, Toleration{"node.kubernetes.io/network-unavailable", "Exists", "", "NoSchedule"})
	}
	return slices.DeleteFunc(slices.Clone(n.Taints), func(x Taint) bool {
		return x.Effect == "PreferNoSchedule" || slices.ContainsFunc(tolerations, func(t Toleration) bool { return t.Tolerates(x) })
	})
}

// Asks returns the labels that a node must have, for display.
func (d DaemonSet) Asks() string {
	out := roll.Map(slices.Sorted(maps.Keys(d.NodeSelector)), func(key string) string { return key + "=" + d.NodeSelector[key] })
	terms := roll.Map(d.Affinity, func(term []Requirement) string {
		return strings.Join(roll.Map(term, func(r Requirement) string { return r.Key + " " + r.String() }), " and ")
	})
	if len(terms) > 0 {
		out = append(out, strings.Join(terms, ", or "))
	}
	return strings.Join(out, "; ")
}

// Owns reports whether the pod is one of the DaemonSet's.
func (d DaemonSet) Owns(p Pod) bool {
	return p.Namespace == d.Namespace && p.Owner == "DaemonSet/"+d.Name
}
