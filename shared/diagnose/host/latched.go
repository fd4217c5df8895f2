package host

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// monitored are the conditions of the EKS node monitoring agent. It sets one to False
// when it sees a fault and never back to True: only a restart of its pod does. That it
// goes on being written proves nothing either: the agent renews the time of all of them.
// https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
// https://github.com/aws/eks-node-monitoring-agent/blob/main/pkg/manager/node_exporter.go
var monitored = []string{roll.AcceleratedHardware, "StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady"}

// troubles are conditions that are no agent's of these and say by True that something is
// wrong: the kubelet's, and those of the node problem detector's default configuration.
// https://github.com/kubernetes/node-problem-detector/tree/master/config
var troubles = []string{roll.MemoryPressure, roll.DiskPressure, roll.PIDPressure, "NetworkUnavailable", "KernelDeadlock", "ReadonlyFilesystem", "FrequentKubeletRestart", "FrequentContainerdRestart"}

// latched asks whether a condition of the monitoring agent is all that speaks against
// the node. Then it may well be over.
func (l *look) latched() {
	const code = cause.MonitoringConditionLatched
	if !slices.Contains(monitored, l.Finding.Condition) {
		return
	}
	n, ok := l.object(code)
	if !ok {
		return
	}
	c, told := n.Condition(l.Finding.Condition)
	r, _ := n.Condition("Ready")
	if !told || c.Status != string(roll.ConditionFalse) || r.Status != string(roll.ConditionTrue) {
		l.s.RuledOut(code)
		return
	}
	lease, status := l.Node().Lease, l.Instance().Status
	switch {
	case !lease.Known():
		l.s.NotChecked(lease.Missing("lease of node "+n.Name), code)
	case !lease.Value.Fresh(l.At):
		l.s.RuledOut(code)
	case !status.Known():
		l.s.NotChecked(status.Missing("status checks of "+string(l.Finding.Instance)), code)
	case status.Value.Instance == impaired || status.Value.System == impaired:
		l.s.RuledOut(code)
	default:
		l.s.Found(l.latch(n, c, lease.Value))
	}
}

func (l *look) latch(n evidence.NodeObject, c evidence.Condition, lease evidence.Lease) roll.Cause {
	confidence, more := roll.Decisive, ""
	if broken(c) || c.Reason == "" {
		confidence = roll.Suggestive // hardware that failed does not get well by itself
	}
	if others := l.beside(n); len(others) > 0 {
		confidence, more = roll.Suggestive, "; beside it "+strings.Join(others, ", ")
	}
	if e, again, unread := l.repeated(c); again {
		confidence, more = roll.Suggestive, more+"; it was told again at "+roll.Clock(e.Last)
	} else if unread != "" {
		confidence, more = roll.Suggestive, more+"; whether it happened again was not read: "+unread
	}
	if shown := l.consoleDoubt(); shown != "" {
		confidence, more = roll.Suggestive, more+"; "+shown
	}
	return roll.Cause{
		Code: cause.MonitoringConditionLatched, Confidence: confidence,
		Summary: fmt.Sprintf("the node monitoring agent said %s=False of node %s at %s (%s), and never takes that back by itself; the node is Ready and renews its lease%s",
			c.Type, n.Name, roll.Clock(c.Since), c.Reason, more),
		Evidence: []roll.Evidence{
			{Source: "node", Field: "status.conditions[" + c.Type + "]", Observed: said(c), Expected: "True"},
			{Source: "node", Field: "status.conditions[Ready]", Observed: "True", Expected: "True"},
			{Source: "lease", Field: "spec.renewTime", Observed: roll.Clock(lease.Renewed), Expected: "renewed"},
			{Source: "EC2 status checks", Field: "InstanceStatus.Status, SystemStatus.Status", Observed: l.Instance().Status.Value.Instance + ", " + l.Instance().Status.Value.System, Expected: passed},
		},
		Fix: paste.Lines(paste.Command("kubectl", "describe", "node", n.Name)+"   # does what the message names still happen?", l.restartAgent(n.Name)+"   # its conditions begin anew: what is still wrong is said again"),
	}
}

// consoleDoubt is what the console shows that may be why, or why that is not known; "" if it was read
// and shows nothing of the kind.
func (l *look) consoleDoubt() string {
	log := l.Instance().Console
	if !log.Settled() {
		return "its console was not read: " + log.Missing("console output of "+string(l.Finding.Instance))
	}
	for _, t := range traces {
		if f, when := l.sign(t.sign); when == current {
			return "its console tells that " + t.words(f)
		}
	}
	if f, ok := l.xid(); ok {
		return "its console shows Xid " + f.Detail
	}
	return ""
}

// repeated is an event of the node by which the condition's reason was told again since, or why
// that is not known.
func (l *look) repeated(c evidence.Condition) (e evidence.Event, again bool, unread string) {
	events := l.Node().Events
	if !events.Settled() {
		return e, false, events.Missing("the events of node " + l.Finding.Node)
	}
	for _, e := range events.Value {
		if c.Reason != "" && e.Reason == c.Reason && e.Last.After(c.Since.Add(slack)) {
			return e, true, ""
		}
	}
	return e, false, ""
}

// beside is what else speaks against the node.
func (l *look) beside(n evidence.NodeObject) []string {
	var out []string
	for _, c := range n.Conditions {
		switch {
		case c.Type == l.Finding.Condition:
		case slices.Contains(monitored, c.Type) && c.Status == string(roll.ConditionFalse),
			slices.Contains(troubles, c.Type) && c.Status == string(roll.ConditionTrue):
			out = append(out, c.Type+"="+c.Status)
		}
	}
	s := l.Instance().Status.Value
	if s.Instance != passed || s.System != passed {
		out = append(out, fmt.Sprintf("EC2's status checks say %q and %q", s.Instance, s.System))
	}
	return out
}

// restartAgent deletes the agent's pod on the node; its DaemonSet makes another.
func (l *look) restartAgent(node string) string {
	for _, p := range l.Node().Pods.Value {
		if p.Owner == "DaemonSet/eks-node-monitoring-agent" {
			return paste.Command("kubectl", "-n", p.Namespace, "delete", "pod", p.Name)
		}
	}
	return paste.Command("kubectl", "-n", "kube-system", "delete", "pod", "-l", "app.kubernetes.io/name=eks-node-monitoring-agent", "--field-selector", "spec.nodeName="+node)
}
