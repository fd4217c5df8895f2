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

// failing is what the node's condition says of its accelerators, if that is False. The control
// plane leaves it as it is when the node goes silent.
func (l *look) failing() (evidence.Condition, bool) {
	c, ok := l.Node().Object.Value.Condition(roll.AcceleratedHardware)
	return c, ok && l.Node().Object.Known() && c.Status == string(roll.ConditionFalse)
}

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
	log, ok := known(l.Instance().Console)
	i := slices.IndexFunc(log.Found, func(f console.Found) bool { return f.Sign == console.Xid && roll.FatalXid(f.Detail) })
	if !ok || i < 0 || l.lies(log.Found[i]) == stale {
		return console.Found{}, false
	}
	return log.Found[i], true
}

// accelerator asks whether a GPU or a Neuron device failed. Only the agent's own verdict
// proves it, and only of a finding that is about it; a kernel's line or a node that went
// silent with it suggests it. The agent's events are of what it does not call a failure.
func (l *look) accelerator() {
	const code = cause.AcceleratorFault
	about := l.Finding.Condition == roll.AcceleratedHardware
	if about {
		if _, ok := l.object(code); !ok {
			return
		}
	}
	c, fails := l.failing()
	f, shown := l.xid()
	switch {
	case fails && broken(c) && about:
		l.s.Found(l.fault(c, f, shown, roll.Decisive))
	case fails && (broken(c) || fatal(c.Message)), shown:
		l.s.Found(l.fault(c, f, shown, roll.Suggestive))
	case about && fails:
		l.s.NotChecked(fmt.Sprintf("the reason %s does not tell whether the hardware of node %s failed", c.Reason, l.Finding.Node), code)
	case about:
		l.s.RuledOut(code)
	}
}

func (l *look) fault(c evidence.Condition, f console.Found, shown bool, confidence roll.Confidence) roll.Cause {
	out := roll.Cause{Code: cause.AcceleratorFault, Confidence: confidence}
	var told []string
	if c.Status == string(roll.ConditionFalse) {
		told = append(told, fmt.Sprintf("the node monitoring agent said at %s that an accelerator of node %s failed (%s)", roll.Clock(c.Since), l.Finding.Node, c.Reason))
		out.Evidence = append(out.Evidence, roll.Evidence{Source: "node", Field: "status.conditions[" + c.Type + "]", Observed: said(c), Expected: "True"})
	}
	if shown {
		told = append(told, fmt.Sprintf("the console of %s shows Xid %s of NVIDIA's driver", l.Finding.Instance, f.Detail))
		out.Evidence = append(out.Evidence, line(f, "no Xid of hardware that failed"))
	}
	out.Summary = strings.Join(told, "; ")
	out.Fix = l.afterFault(c)
	return out
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
	return paste.Lines(paste.Command("kubectl", "describe", "node", l.Finding.Node), paste.Command("kubectl", "drain", l.Finding.Node, "--ignore-daemonsets", "--delete-emptydir-data"), helps)
}
