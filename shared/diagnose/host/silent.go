package host

import (
	"fmt"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

// The reasons that the control plane gives for Ready=Unknown: that the kubelet stopped
// reporting, and that it never did.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/nodelifecycle/node_lifecycle_controller.go
const (
	stoppedReporting = "NodeStatusUnknown"
	neverReported    = "NodeStatusNeverUpdated"
)

// silent asks whether the kubelet is silent: whether the control plane heard nothing of
// it, and its lease ran out too.
func (l *look) silent() {
	n, ok := l.object(cause.KubeletSilent, cause.NeverReported)
	if !ok {
		return
	}
	r, told := n.Condition("Ready")
	switch {
	case told && r.Status != string(roll.ConditionUnknown):
		l.s.RuledOut(cause.KubeletSilent, cause.NeverReported)
	case told && r.Reason == neverReported:
		l.s.Found(l.never(n, r, roll.Decisive))
	case !told:
		// The control plane writes the condition a minute after the node's creation.
		l.s.Found(l.never(n, evidence.Condition{Status: "none"}, roll.Suggestive))
	default:
		if r.Reason == "" {
			l.s.NotChecked(evidence.AnswerOf+"the Kubernetes API lacks the reason for which node "+n.Name+" is not ready", cause.NeverReported)
		} else {
			l.s.RuledOut(cause.NeverReported)
		}
		l.stoppedReporting(n, r)
	}
}

func (l *look) never(n evidence.NodeObject, r evidence.Condition, c roll.Confidence) roll.Cause {
	return roll.Cause{
		Code: cause.NeverReported, Confidence: c,
		Summary: fmt.Sprintf("node %s was registered at %s, and its kubelet has never reported its status since", n.Name, roll.Clock(n.Created)),
		Evidence: append([]roll.Evidence{{Source: "node", Field: "status.conditions[Ready]", Observed: said(r), Expected: "True"}},
			l.hints()...),
		Fix: paste.Lines(l.screen(), l.replace()),
	}
}

func (l *look) stoppedReporting(n evidence.NodeObject, r evidence.Condition) {
	lease := l.Node().Lease
	switch {
	case !lease.Settled():
		l.s.NotChecked(lease.Missing("lease of node "+n.Name), cause.KubeletSilent)
		return
	case lease.Known() && lease.Value.Fresh(l.At):
		l.s.RuledOut(cause.KubeletSilent) // it lives, and will say so
		return
	}
	confidence, renewed := roll.Suggestive, "there is none"
	if lease.Known() {
		renewed = roll.Clock(lease.Value.Renewed)
	}
	if r.Reason == stoppedReporting && (!lease.Known() || lease.Value.Stale(l.At)) {
		confidence = roll.Decisive
	}
	l.s.Found(roll.Cause{
		Code: cause.KubeletSilent, Confidence: confidence,
		Summary: fmt.Sprintf("the kubelet of node %s has been silent since %s: it neither reports its status nor renews its lease", n.Name, roll.Clock(l.quiet())),
		Evidence: append([]roll.Evidence{
			{Source: "node", Field: "status.conditions[Ready]", Observed: said(r), Expected: "True"},
			{Source: "lease", Field: "spec.renewTime", Observed: renewed, Expected: "renewed every 10 s"},
		}, l.hints()...),
		Fix: paste.Lines(l.screen(), l.ec2("describe-instance-status", "--instance-ids", string(l.Finding.Instance)), l.reboot(), l.replace()),
	})
}

// hints are signs on the console of a machine that hangs, for which there is no code.
func (l *look) hints() []roll.Evidence {
	var out []roll.Evidence
	for _, sign := range []console.Sign{console.CPUStuck, console.TaskHung, console.FilesystemFailed, console.EmergencyMode} {
		if f, when := l.sign(sign); when == current {
			out = append(out, line(f, "no such message"))
		}
	}
	return out
}
