package host

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

// monitored are the conditions of the EKS node monitoring agent. It sets one to False when it
// sees a fault and never back to True; only a restart of its pod does. A recent heartbeat
// proves nothing either: the agent renews the time of all of them.
// https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
// https://github.com/aws/eks-node-monitoring-agent/blob/main/pkg/manager/node_exporter.go
var monitored = []string{roll.AcceleratedHardware, "StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady"}

// troubles are other conditions that report a problem by True: the kubelet's, and those of the
// node problem detector's default configuration.
// https://github.com/kubernetes/node-problem-detector/tree/master/config
var troubles = []string{roll.MemoryPressure, roll.DiskPressure, roll.PIDPressure, "NetworkUnavailable", "KernelDeadlock", "ReadonlyFilesystem", "FrequentKubeletRestart", "FrequentContainerdRestart"}

// latched checks whether a condition of the monitoring agent is all that speaks against the
// node. The fault may then be over.
func (l *look) latched() cause.Verdict {
	if !slices.Contains(monitored, l.Finding.Condition) {
		return cause.Verdict{}
	}
	n, lease, status := l.Node().Object, l.Node().Lease, l.Instance().Status
	c, _ := n.Value.Condition(l.Finding.Condition)
	r, _ := n.Value.Condition("Ready")
	switch {
	case !n.Known():
		return l.NoNode()
	case c.Status != string(roll.ConditionFalse) || r.Status != string(roll.ConditionTrue):
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
		Says("the node monitoring agent reported %s=False for node %s at %s (%s), and never clears that by itself; the node is Ready and renews its lease", c.Type, n.Value.Name, roll.Clock(c.Since), c.Reason)
	for _, doubt := range doubts {
		v.Also("; " + doubt)
	}
	fixes := []string{
		paste.Kubectl("describe", "node", n.Value.Name) + "   # does what the message names still happen?",
		l.restartAgent(n.Value.Name) + "   # its conditions start again: what is still wrong is reported again",
	}
	if !l.Instance().Console.Settled() {
		fixes = append([]string{l.screen() + "   # was not read: does it show the reason?"}, fixes...)
	}
	return v.Shows(condition(c, c.Type, "True")).
		Saw("node", "status.conditions[Ready]", "True", "True").
		Saw("lease", "spec.renewTime", roll.Clock(lease.Value.Renewed), "renewed").
		Saw("EC2 status checks", "InstanceStatus.Status, SystemStatus.Status", status.Value.Instance+", "+status.Value.System, passed).
		Fix(fixes...)
}

// consoleDoubt returns the sign on the console that may be the reason, or why that is unknown.
// It returns "" if the console was read and shows no such sign.
func (l *look) consoleDoubt() string {
	log := l.Instance().Console
	if !log.Settled() {
		return "its console was not read: " + log.Missing("console output of "+l.id())
	}
	for _, t := range traces {
		if f, when := l.sign(t.sign); when == current {
			return "its " + f.Where() + " shows that " + t.says(f)
		}
	}
	if f, ok := l.xid(); ok {
		return "its " + f.Where() + " shows Xid " + f.Detail
	}
	return ""
}

// repeated returns what shows that the trouble goes on, or why that is unknown: an event of the condition since, or
// a network plugin whose pod is not ready. It returns "" if nothing does. The events of the agent have the
// type of the condition as their reason, so a later one may be about another trouble of that part.
func (l *look) repeated(c evidence.Condition) string {
	events := l.Node().Events
	if !events.Settled() {
		return "whether it happened again was not read: " + events.Missing("the events of node "+l.Finding.Node)
	}
	for _, e := range events.Value {
		if (e.Reason == c.Type || c.Reason != "" && e.Reason == c.Reason) && e.Last.After(c.Since.Add(slack)) {
			return fmt.Sprintf("an event about %s came at %s", c.Type, roll.Clock(e.Last))
		}
	}
	if c.Type != "NetworkingReady" {
		return ""
	}
	pods := l.Node().Pods
	if !pods.Settled() {
		return "whether the network plugin works was not read: " + pods.Missing("the pods of node "+l.Finding.Node)
	}
	if p, ok := roll.Find(pods.Value, func(p evidence.Pod) bool { return p.OfNetworkPlugin() && !p.Ready }); ok {
		return "pod " + p.Name + " of the network plugin is not ready"
	}
	return ""
}

// beside returns what else speaks against the node, "" if nothing does.
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

// restartAgent returns the command that deletes the agent's pod on the node; its DaemonSet
// creates another.
func (l *look) restartAgent(node string) string {
	if p, ok := roll.Find(l.Node().Pods.Value, func(p evidence.Pod) bool { return p.Owner == "DaemonSet/eks-node-monitoring-agent" }); ok {
		return paste.Kubectl("-n", p.Namespace, "delete", "pod", p.Name)
	}
	return paste.Kubectl("-n", "kube-system", "delete", "pod", "-l", "app.kubernetes.io/name=eks-node-monitoring-agent", "--field-selector", "spec.nodeName="+node)
}

// broken reports whether the condition says that the hardware failed: AWS fixes that by a
// reboot or a replacement.
func broken(c evidence.Condition) bool {
	repair, _ := roll.AcceleratorRepair(c.Reason)
	return c.Type == roll.AcceleratedHardware && repair != roll.RepairHold
}

// xids matches the Xids in the agent's message. The message lists all reasons; the condition's
// reason is only the last.
// https://github.com/aws/eks-node-monitoring-agent/blob/main/pkg/manager/node_exporter.go
var xids = regexp.MustCompile(`\bXID-(\d+)\b`)

// fatal reports whether the message has an Xid of failed hardware.
func fatal(message string) bool {
	return slices.ContainsFunc(xids.FindAllStringSubmatch(message, -1), func(m []string) bool { return roll.FatalXid(m[1]) })
}

// xid returns the first Xid of failed hardware that the console shows.
func (l *look) xid() (console.Found, bool) {
	f, ok := roll.Find(l.Instance().Log().Value.Found, func(f console.Found) bool { return f.Sign == console.Xid && roll.FatalXid(f.Detail) })
	return f, ok && l.lies(f) != stale
}

// accelerator checks for a failed GPU or Neuron device. Only the agent's own verdict proves it,
// and only for a finding about it. A kernel's line, or a node that went silent with the
// condition, suggests it. The agent's events report what it does not call a failure.
func (l *look) accelerator() { l.Note(cause.AcceleratorFault, l.acceleratorFault()) }

func (l *look) fault(c evidence.Condition, f console.Found, shown bool) cause.Verdict {
	v := cause.Suggestive().Fix(l.afterFault(c))
	var told []string
	if c.Status == string(roll.ConditionFalse) {
		told = append(told, fmt.Sprintf("the node monitoring agent reported at %s that an accelerator of node %s failed (%s)", roll.Clock(c.Since), l.Finding.Node, c.Reason))
		v.Shows(condition(c, c.Type, "True"))
	}
	if shown {
		told = append(told, fmt.Sprintf("the %s of %s shows Xid %s of NVIDIA's driver", f.Where(), l.id(), f.Detail))
		v.Shows(cause.Line(f, "no Xid of hardware that failed"))
	}
	return v.Says("%s", strings.Join(told, "; "))
}

// afterFault returns what helps, by AWS's table. The cordon of a drain stays on a node that is rebooted.
func (l *look) afterFault(c evidence.Condition) string {
	node := l.Finding.Node
	helps, after := l.reboot(), paste.If("once it is Ready again", paste.Kubectl("uncordon", node))
	if repair, _ := roll.AcceleratorRepair(c.Reason); repair == roll.RepairReplace {
		helps, after = l.replace(), ""
	}
	if node == "" {
		return helps
	}
	return paste.Lines(paste.Kubectl("describe", "node", node), paste.Kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data"), helps, after)
}

func (l *look) acceleratorFault() cause.Verdict {
	about := l.Finding.Condition == roll.AcceleratedHardware
	if about && !l.Node().Object.Known() {
		return l.NoNode()
	}
	// The control plane leaves the condition unchanged when the node goes silent.
	c, _ := l.Node().Object.Value.Condition(roll.AcceleratedHardware)
	fails := c.Status == string(roll.ConditionFalse)
	f, shown := l.xid()
	switch {
	case fails && broken(c) && about:
		return l.fault(c, f, shown).DecisiveIf(true)
	case fails && (broken(c) || fatal(c.Message)), shown:
		return l.fault(c, f, shown)
	case about && fails:
		return cause.NotChecked(fmt.Sprintf("the reason %s does not show whether the hardware of node %s failed", c.Reason, l.Finding.Node))
	case about:
		return cause.RuledOut
	}
	return cause.Verdict{}
}
