package kube

import (
	"bufio"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// projector reduces nodes to what a verdict needs. Values that many nodes share (zones, groups,
// reasons) are stored once.
type projector struct {
	texts roll.Texts
	watch roll.Watch
	page  []roll.Node // reused for each page, as is in
	in    bufio.Reader
}

func (p *projector) node(n *NodeObject) roll.Node {
	out := roll.Node{
		Name:    n.Name,
		UID:     string(n.UID),
		Created: n.CreationTimestamp.UTC(),
		// A node without the condition has never reported. The control plane also counts that as
		// Unknown, from the creation on.
		Ready:         roll.Condition{Status: roll.ConditionUnknown, Since: n.CreationTimestamp.UTC()},
		StartupTaint:  p.startupTaint(n.Spec.Taints),
		Unschedulable: n.Spec.Unschedulable,
		Shutdown:      tainted(n.Spec.Taints, taintShutdown),
		ControlPlane:  tainted(n.Spec.Taints, roll.TaintControlPlane),
		ScaledDown:    scaledDown(n.Spec.Taints),
		CordonedBy:    n.Annotations[roll.AnnotationCordoned],
		DoNotRepair:   n.Annotations[roll.AnnotationDoNotRepair] == "true",
		NotToDisrupt:  roll.NotToDisrupt(n.Annotations),
	}
	out.Cordoner, out.CordonerAt = p.cordoner(n)
	if n.DeletionTimestamp != nil {
		out.DeletedAt, out.Finalizers = n.DeletionTimestamp.UTC(), p.few(n.Finalizers)
	}
	out.Compute, out.Instance = roll.ParseProviderID(n.Spec.ProviderID)
	out.ReadLabels(n.Labels, n.Annotations)
	out.Zone, out.ZoneID, out.Group = p.texts.One(out.Zone), p.texts.One(out.ZoneID), roll.Group(p.texts.One(string(out.Group)))
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		if c.Type == conditionReady {
			out.Ready = roll.Condition{Status: status(c.Status), Since: c.LastTransitionTime.UTC()}
			if out.Ready.Status != roll.ConditionTrue {
				out.Ready.Reason = p.reason(c)
			}
			if out.Ready.Status == roll.ConditionFalse {
				out.Reporting = reporting(n.Status.Conditions)
			}
		} else if p.wants(c) {
			out.Conditions = append(out.Conditions, roll.TypedCondition{
				Type:      p.texts.One(c.Type),
				Condition: roll.Condition{Status: status(c.Status), Since: c.LastTransitionTime.UTC(), Reason: p.reason(c)},
			})
		}
	}
	return out
}

func tainted(taints []NodeTaint, key string) bool {
	return slices.ContainsFunc(taints, func(t NodeTaint) bool { return t.Key == key })
}

// taintShutdown marks the node of an instance that is stopped.
const taintShutdown = "node.cloudprovider.kubernetes.io/shutdown"

// taintScaleDown marks a node that Cluster Autoscaler drains and then removes. Its value is the time in
// seconds since 1970.
const taintScaleDown = "ToBeDeletedByClusterAutoscaler"

func scaledDown(taints []NodeTaint) time.Time {
	for _, t := range taints {
		if t.Key == taintScaleDown {
			if at, err := strconv.ParseInt(t.Value, 10, 64); err == nil && at > 0 {
				return time.Unix(at, 0).UTC()
			}
		}
	}
	return time.Time{}
}

// cordoner returns the field manager that cordoned the node, and when it last changed the node; zero if that is not
// certain. Who cordons a node that is cordoned does not become a manager of the field, except by a server-side apply.
func (p *projector) cordoner(n *NodeObject) (manager string, at time.Time) {
	if !n.Spec.Unschedulable {
		return "", time.Time{}
	}
	for i := range n.ManagedFields {
		e := &n.ManagedFields[i]
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
			return "", time.Time{}
		}
		if _, set := fields.Spec["f:unschedulable"]; !set {
			continue
		}
		if manager != "" || e.Manager == "" || e.Time == nil {
			return "", time.Time{}
		}
		manager, at = p.texts.One(e.Manager), e.Time.UTC()
	}
	return manager, at
}

const finalizersKept = 10

func (p *projector) few(finalizers []string) (out []string) {
	for _, f := range finalizers[:min(len(finalizers), finalizersKept)] {
		out = append(out, p.texts.One(f))
	}
	return out
}

// reasonLength is the maximum length of a condition's reason, in bytes. The API does not limit a
// node's, and a kubelet writes them.
const reasonLength = 200

func (p *projector) reason(c *Condition) string {
	if len(c.Reason) > reasonLength {
		return p.texts.One(strings.ToValidUTF8(c.Reason[:reasonLength], "") + "…")
	}
	return p.texts.One(c.Reason)
}

// reporting returns roll.Node.Reporting from the conditions of a node.
func reporting(conditions []Condition) (since time.Time) {
	for i := range conditions {
		c := &conditions[i]
		if !pressure(c.Type) {
			continue
		}
		if status(c.Status) == roll.ConditionUnknown || c.LastTransitionTime.IsZero() {
			return time.Time{}
		}
		since = roll.Earlier(since, c.LastTransitionTime.UTC())
	}
	return since
}

// pressure reports whether the type of a condition is one of the pressures, which every kubelet
// reports.
func pressure(condition string) bool {
	return condition == roll.MemoryPressure || condition == roll.DiskPressure || condition == roll.PIDPressure
}

// wants reports whether the condition is one that the policy watches, or a pressure, which a node
// reports while it still can.
func (p *projector) wants(c *Condition) bool {
	return pressure(c.Type) && c.Status == conditionTrue || p.watch.Conditions[roll.ConditionKey{Type: c.Type, Status: status(c.Status)}]
}

// startupTaint returns the first taint that an agent has yet to remove: a well-known one, or else
// one that any part of the policy names, even if that part is not about this node.
func (p *projector) startupTaint(taints []NodeTaint) string {
	for _, extra := range [][]string{nil, p.watch.Taints} {
		for i := range taints {
			if t := &taints[i]; roll.StartupTaint(t.Key, extra) {
				return p.texts.One(t.Key + ":" + t.Effect)
			}
		}
	}
	return ""
}

func status(s string) roll.ConditionStatus {
	switch s := roll.ConditionStatus(s); s {
	case roll.ConditionTrue, roll.ConditionFalse:
		return s
	}
	return roll.ConditionUnknown
}
