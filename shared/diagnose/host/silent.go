package host

import (
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

// The reasons that the control plane gives for Ready=Unknown: the kubelet stopped reporting, or
// never reported.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/nodelifecycle/node_lifecycle_controller.go
const (
	stoppedReporting = "NodeStatusUnknown"
	neverReported    = "NodeStatusNeverUpdated"
)

// silent checks whether the kubelet is silent: the control plane did not hear from it, and its
// lease expired too.
func (l *look) silent() {
	l.Note(cause.NeverReported, l.neverReported())
	l.Note(cause.KubeletSilent, l.kubeletSilent())
}

func (l *look) never(r evidence.Condition) cause.Verdict {
	n := l.Node().Object.Value
	return cause.Suggestive().
		Says("node %s was registered at %s, and its kubelet has never reported its status since", n.Name, roll.Clock(n.Created)).
		Shows(condition(r, "Ready", "True")).Shows(l.hints()...).Fix(l.screen(), l.replace())
}

// hints returns console signs of a hanging machine, for which there is no code.
func (l *look) hints() []roll.Evidence {
	var out []roll.Evidence
	for _, sign := range []console.Sign{console.CPUStuck, console.TaskHung, console.FilesystemFailed, console.EmergencyMode} {
		if f, when := l.sign(sign); when == current {
			out = append(out, cause.Line(f, "no such message"))
		}
	}
	return out
}

func (l *look) neverReported() cause.Verdict {
	n := l.Node().Object
	r, told := n.Value.Condition("Ready")
	switch {
	case !n.Known():
		return l.NoNode()
	case told && r.Status != string(roll.ConditionUnknown):
		return cause.RuledOut
	case r.Reason == neverReported:
		return l.never(r).DecisiveIf(true)
	case !told: // the control plane writes the condition a minute after the node's creation
		return l.never(evidence.Condition{Status: "none"})
	case r.Reason == "":
		return cause.NotChecked(evidence.AnswerOf + "the Kubernetes API lacks the reason for which node " + n.Value.Name + " is not ready")
	}
	return cause.RuledOut
}

func (l *look) kubeletSilent() cause.Verdict {
	n, lease := l.Node().Object, l.Node().Lease
	r, told := n.Value.Condition("Ready")
	switch {
	case !n.Known():
		return l.NoNode()
	case !told, r.Status == string(roll.ConditionUnknown) && r.Reason == neverReported:
		return cause.Verdict{}
	case r.Status != string(roll.ConditionUnknown):
		return cause.RuledOut
	case !lease.Settled():
		return cause.Missing(lease, "lease of node "+n.Value.Name)
	case lease.Value.Fresh(l.At):
		return cause.RuledOut // it lives, and will report
	}
	renewed := "there is none"
	if lease.Known() {
		renewed = roll.Clock(lease.Value.Renewed)
	}
	return cause.DecisiveIf(r.Reason == stoppedReporting && (!lease.Known() || lease.Value.Stale(l.At))).
		Says("the kubelet of node %s has been silent since %s: it neither reports its status nor renews its lease", n.Value.Name, roll.Clock(l.quiet())).
		Shows(condition(r, "Ready", "True")).Saw("lease", "spec.renewTime", renewed, "renewed every 10 s").Shows(l.hints()...).
		Fix(l.screen(), l.showStatus(), l.reboot(), l.replaceAfter())
}
