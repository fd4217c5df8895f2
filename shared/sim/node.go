package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (c *cluster) stamp() time.Time { return c.a.Now().Add(c.skew).Truncate(time.Second) }

func (c *cluster) addNode(n *node) {
	c.nodes = append(c.nodes, n)
	c.byNode[n.name] = n
	n.version = c.changed()
}

// ready returns the node's condition Ready, which is mostly the last.
func (n *node) ready() *corev1.NodeCondition {
	for i := len(n.conditions) - 1; i >= 0; i-- {
		if c := &n.conditions[i]; c.Type == corev1.NodeReady {
			return c
		}
	}
	return &corev1.NodeCondition{}
}

// set changes or adds a condition, and reports whether its status or reason changed.
func (n *node) set(what corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) bool {
	if what == corev1.NodeReady {
		n.works = status == corev1.ConditionTrue
	}
	now, by := metav1.NewTime(n.c.stamp()), time.Duration(0)
	if n.machine != nil && status != corev1.ConditionUnknown { // the control plane dates Unknown, the machine the others
		by = n.machine.clock
	}
	changed := corev1.NodeCondition{Type: what, Status: status, LastTransitionTime: now, LastHeartbeatTime: now, Reason: reason, Message: message}
	for i, c := range n.conditions {
		if c.Type != what {
			continue
		}
		if c.Status == status && c.Reason == reason {
			return false
		}
		if c.Status == status {
			changed.LastTransitionTime = c.LastTransitionTime
		} else {
			n.date(what, by)
		}
		n.conditions = append([]corev1.NodeCondition{}, n.conditions...) // earlier answers may still hold the old ones
		n.conditions[i] = changed
		return true
	}
	n.conditions = append(append([]corev1.NodeCondition{}, n.conditions...), changed)
	n.date(what, by)
	return true
}

// date records the clock by which a condition shows its time.
func (n *node) date(what corev1.NodeConditionType, ahead time.Duration) {
	if n.dated == nil && ahead != 0 {
		n.dated = map[corev1.NodeConditionType]time.Duration{}
	}
	if n.dated != nil {
		n.dated[what] = ahead
	}
}

// byItsClock returns the conditions with the times that the machine's clock and the control plane's gave them.
func (n *node) byItsClock(conditions []corev1.NodeCondition) []corev1.NodeCondition {
	if n.dated == nil {
		return conditions
	}
	out := slices.Clone(conditions)
	for i := range out {
		out[i].LastTransitionTime = metav1.NewTime(out[i].LastTransitionTime.Add(n.dated[out[i].Type]))
	}
	return out
}

func (n *node) turn(status corev1.ConditionStatus, reason, message string) {
	before := n.ready().Status
	if n.set(corev1.NodeReady, status, reason, message) {
		n.version = n.c.changed()
		switch {
		case before == status:
		case status == corev1.ConditionTrue:
			n.tell(StateReady)
		default:
			n.tell(StateNotReady)
		}
		if status == corev1.ConditionTrue {
			n.happened("Normal", "NodeReady", "Node "+n.name+" status is now: NodeReady")
		}
	}
}

func (n *node) tell(state string) {
	if n.machine == nil || n.c.a.founding {
		return
	}
	n.c.a.note(Event{Kind: EventState, Cluster: n.c.name, Instance: n.machine.id, Node: n.name, Group: n.machine.g.groupName(), Stage: state})
}

var kubeletWrites = []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady} // the conditions that a kubelet writes, Ready last

// pressures renews the kubelet's pressure conditions.
func (n *node) pressures(memory bool) {
	var changed bool
	if memory {
		changed = n.set(corev1.NodeMemoryPressure, corev1.ConditionTrue, "KubeletHasInsufficientMemory", "kubelet has insufficient memory available")
	} else {
		changed = n.set(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available")
	}
	changed = n.set(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure") || changed
	changed = n.set(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available") || changed
	if changed {
		n.version = n.c.changed()
	}
}

// part sets the condition that the node monitoring agent writes.
func (n *node) part(failed bool) {
	const kernel = corev1.NodeConditionType("KernelReady")
	changed := false
	if failed {
		changed = n.set(kernel, corev1.ConditionFalse, "ForkFailedPIDsExhausted", "the kernel could not start a process")
	} else if n.has(kernel) {
		changed = n.set(kernel, corev1.ConditionTrue, "KernelIsReady", "the kernel is in order")
	}
	if changed {
		n.version = n.c.changed()
	}
}

func (n *node) has(what corev1.NodeConditionType) bool {
	return slices.ContainsFunc(n.conditions, func(c corev1.NodeCondition) bool { return c.Type == what })
}

func (n *node) taint(t corev1.Taint) {
	n.untaintIf(func(old corev1.Taint) bool { return old.Key == t.Key && old.Effect == t.Effect })
	n.taints = append(n.taints[:len(n.taints):len(n.taints)], t)
	n.version = n.c.changed()
}

func (n *node) untaint(key string) {
	n.untaintIf(func(t corev1.Taint) bool { return t.Key == key })
}

func (n *node) untaintIf(gone func(corev1.Taint) bool) {
	if slices.ContainsFunc(n.taints, gone) {
		n.taints = slices.DeleteFunc(slices.Clone(n.taints), gone)
		n.version = n.c.changed()
	}
}

func parseTaint(s string) corev1.Taint {
	rest, effect, _ := strings.Cut(s, ":")
	key, value, _ := strings.Cut(rest, "=")
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
}

const eventsKept = 12 // the maximum number of events per object that a cluster keeps

func (n *node) happened(kind, reason, message string) {
	o := occurrence{at: n.c.stamp(), kind: kind, reason: reason, message: message, count: 1}
	if n.machine != nil && o.reporter("Node") == "kubelet" {
		o.ahead = n.machine.clock
	}
	n.events = noted(n.events, o)
}

func noted(events []occurrence, o occurrence) []occurrence {
	if len(events) >= eventsKept {
		events = append([]occurrence{}, events[1:]...)
	}
	return append(events, o)
}

// daemons returns the pods that every node has.
func (n *node) daemons() []*pod {
	var out []*pod
	for _, name := range []string{"aws-node", "kube-proxy"} {
		d := n.machine.d.of(name).nth(n.machine.boots)
		out = append(out, &pod{namespace: "kube-system", name: name + "-" + shortID(d, 5), uid: uid(d), daemon: true})
	}
	return out
}

func (n *node) schedule() {
	d := n.machine.d.of("pods").nth(n.machine.boots)
	for i := range 1 + d.below(3) {
		d := d.nth(i)
		p := &pod{namespace: "shop", name: fmt.Sprintf("web-%s", shortID(d, 10)), uid: uid(d), guarded: d.of("guarded").chance(0.08)}
		n.pods, n.keeps = append(n.pods, p), n.keeps || p.guarded
	}
}
