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

// broken reports a condition by which the agent says that the hardware failed: what AWS
// repairs by a reboot or a replacement.
func broken(c evidence.Condition) bool {
	repair, known := roll.AcceleratorRepair(c.Reason)
	return c.Type == roll.AcceleratedHardware && known && repair != roll.RepairHold
}

// xids are the Xids in the agent's message, which goes on from one reason to the next: the
// reason is only the last.
// https://github.com/aws/eks-node-monitoring-agent/blob/main/pkg/manager/node_exporter.go
var xids = regexp.MustCompile(`\bXID-(\d+)\b`)

// fatal reports a message with an Xid of hardware that failed.
func fatal(message string) bool {
	return slices.ContainsFunc(xids.FindAllStringSubmatch(message, -1), func(m []string) bool { return roll.FatalXid(m[1]) })
}

// xid is the first Xid of hardware that failed which the console shows.
func (l *look) xid() (console.Found, bool) {
	found := l.Instance().Console.Value.Found
	i := slices.IndexFunc(found, func(f console.Found) bool { return f.Sign == console.Xid && roll.FatalXid(f.Detail) })
	if i < 0 || l.lies(found[i]) == stale {
		return console.Found{}, false
	}
	return found[i], true
}

// accelerator looks for a GPU or a Neuron device that failed. Only the agent's own verdict
// proves it, and only for a finding about it; a kernel's line or a node that went silent
// with it suggests it. The agent's events are about what it does not call a failure.
func (l *look) accelerator() { l.Note(cause.AcceleratorFault, l.acceleratorFault()) }

func (l *look) fault(c evidence.Condition, f console.Found, shown bool) cause.Verdict {
	v := cause.Suggestive().Fix(l.afterFault(c))
	var told []string
	if c.Status == string(roll.ConditionFalse) {
		told = append(told, fmt.Sprintf("the node monitoring agent said at %s that an accelerator of node %s failed (%s)", roll.Clock(c.Since), l.Finding.Node, c.Reason))
		v.Shows(condition(c, c.Type, "True"))
	}
	if shown {
		told = append(told, fmt.Sprintf("the console of %s shows Xid %s of NVIDIA's driver", l.id(), f.Detail))
		v.Shows(line(f, "no Xid of hardware that failed"))
	}
	return v.Says("%s", strings.Join(told, "; "))
}

// afterFault is what helps, by AWS's table.
func (l *look) afterFault(c evidence.Condition) string {
	helps := l.reboot()
	if repair, _ := roll.AcceleratorRepair(c.Reason); repair == roll.RepairReplace {
		helps = l.replace()
	}
	if l.Finding.Node == "" {
		return helps
	}
	return paste.Lines(paste.Kubectl("describe", "node", l.Finding.Node), paste.Kubectl("drain", l.Finding.Node, "--ignore-daemonsets", "--delete-emptydir-data"), helps)
}

func (l *look) acceleratorFault() cause.Verdict {
	about := l.Finding.Condition == roll.AcceleratedHardware
	if about && !l.Node().Object.Known() {
		return l.NoNode()
	}
	// The control plane leaves the condition as it is when the node goes silent.
	c, told := l.Node().Object.Value.Condition(roll.AcceleratedHardware)
	fails := told && c.Status == string(roll.ConditionFalse)
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
