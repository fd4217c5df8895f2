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

// latched looks at whether a condition of the monitoring agent is all that speaks against
// the node. Then it may well be over.
func (l *look) latched() cause.Verdict {
	if !slices.Contains(monitored, l.Finding.Condition) {
		return cause.Verdict{}
	}
	n, lease, status := l.Node().Object, l.Node().Lease, l.Instance().Status
	c, told := n.Value.Condition(l.Finding.Condition)
	r, _ := n.Value.Condition("Ready")
	switch {
	case !n.Known():
		return l.NoNode()
	case !told || c.Status != string(roll.ConditionFalse) || r.Status != string(roll.ConditionTrue):
		return cause.RuledOut
	case !lease.Known():
		return cause.Missing(lease, "lease of node "+n.Value.Name)
	case !lease.Value.Fresh(l.At):
		return cause.RuledOut
	case !status.Known():
		return cause.Missing(status, "status checks of "+l.id())
	case status.Value.Instance == impaired || status.Value.System == impaired:
		return cause.RuledOut
	}
	doubts := slices.DeleteFunc([]string{l.beside(n.Value), l.repeated(c), l.consoleDoubt()}, func(doubt string) bool { return doubt == "" })
	// Hardware that failed does not recover by itself.
	v := cause.DecisiveIf(len(doubts) == 0 && !broken(c) && c.Reason != "").
		Says("the node monitoring agent said %s=False of node %s at %s (%s), and never takes that back by itself; the node is Ready and renews its lease", c.Type, n.Value.Name, roll.Clock(c.Since), c.Reason)
	for _, doubt := range doubts {
		v.Also("; " + doubt)
	}
	return v.Shows(condition(c, c.Type, "True")).
		Saw("node", "status.conditions[Ready]", "True", "True").
		Saw("lease", "spec.renewTime", roll.Clock(lease.Value.Renewed), "renewed").
		Saw("EC2 status checks", "InstanceStatus.Status, SystemStatus.Status", status.Value.Instance+", "+status.Value.System, passed).
		Fix(paste.Kubectl("describe", "node", n.Value.Name)+"   # does what the message names still happen?",
			l.restartAgent(n.Value.Name)+"   # its conditions begin anew: what is still wrong is reported again")
}

// consoleDoubt is what the console shows that may be why, or why that is not known; "" if it
// was read and shows no such thing.
func (l *look) consoleDoubt() string {
	log := l.Instance().Console
	if !log.Settled() {
		return "its console was not read: " + log.Missing("console output of "+l.id())
	}
	for _, t := range traces {
		if f, when := l.sign(t.sign); when == current {
			return "its console shows that " + t.says(f)
		}
	}
	if f, ok := l.xid(); ok {
		return "its console shows Xid " + f.Detail
	}
	return ""
}

// repeated says that an event repeats the condition's reason since, or why that is not
// known; "" if none does.
func (l *look) repeated(c evidence.Condition) string {
	events := l.Node().Events
	if !events.Settled() {
		return "whether it happened again was not read: " + events.Missing("the events of node "+l.Finding.Node)
	}
	for _, e := range events.Value {
		if c.Reason != "" && e.Reason == c.Reason && e.Last.After(c.Since.Add(slack)) {
			return "it was reported again at " + roll.Clock(e.Last)
		}
	}
	return ""
}

// beside is what else speaks against the node, "" if nothing does.
func (l *look) beside(n evidence.NodeObject) string {
	var out []string
	for _, c := range n.Conditions {
		failed := slices.Contains(monitored, c.Type) && c.Status == string(roll.ConditionFalse)
		if c.Type != l.Finding.Condition && (failed || slices.Contains(troubles, c.Type) && c.Status == string(roll.ConditionTrue)) {
			out = append(out, c.Type+"="+c.Status)
		}
	}
	if s := l.Instance().Status.Value; s.Instance != passed || s.System != passed {
		out = append(out, fmt.Sprintf("EC2's status checks say %q and %q", s.Instance, s.System))
	}
	if len(out) == 0 {
		return ""
	}
	return "beside it " + strings.Join(out, ", ")
}

// restartAgent deletes the agent's pod on the node; its DaemonSet makes another.
func (l *look) restartAgent(node string) string {
	for _, p := range l.Node().Pods.Value {
		if p.Owner == "DaemonSet/eks-node-monitoring-agent" {
			return paste.Kubectl("-n", p.Namespace, "delete", "pod", p.Name)
		}
	}
	return paste.Kubectl("-n", "kube-system", "delete", "pod", "-l", "app.kubernetes.io/name=eks-node-monitoring-agent", "--field-selector", "spec.nodeName="+node)
}
