package host

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// The states of EC2's status checks that say something.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusSummary.html
const (
	passed   = "ok"
	impaired = "impaired"
)

// checks asks whether EC2's status checks fail: the instance check, which reaches the
// system, and the system check, of the host below it.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
func (l *look) checks() {
	fact := l.Instance().Status
	if !fact.Known() {
		if fact.State != evidence.Absent { // EC2 does not check an instance that does not run
			l.s.NotChecked(fact.Missing("status checks of "+string(l.Finding.Instance)), cause.InstanceStatusImpaired, cause.SystemStatusImpaired)
		}
		return
	}
	s := fact.Value
	l.check(cause.InstanceStatusImpaired, "InstanceStatus.Status", s.Instance, s.InstanceSince, "instance status check, which asks whether its operating system answers",
		paste.Lines(l.screen(), l.reboot(), l.replace()))
	l.check(cause.SystemStatusImpaired, "SystemStatus.Status", s.System, s.SystemSince, "system status check: the host that it runs on, or its network, fails",
		paste.Lines(l.ec2("describe-instance-status", "--instance-ids", string(l.Finding.Instance)), l.replace()))
}

func (l *look) check(code cause.Code, field, status string, since time.Time, what, fix string) {
	switch status {
	case passed:
		l.s.RuledOut(code)
		return
	case impaired:
	default:
		if status == "" {
			status = "not told"
		}
		l.s.NotChecked(fmt.Sprintf("EC2's %s of %s is %s", strings.TrimSuffix(field, ".Status"), l.Finding.Instance, status), code)
		return
	}
	// A kubelet that reports reaches out of the instance, whatever the checks say.
	confidence := roll.Decisive
	if l.Finding.Kind == roll.NotReady {
		confidence = roll.Suggestive
	}
	observed := impaired
	if !since.IsZero() {
		observed += " since " + roll.Clock(since)
	}
	seen := []roll.Evidence{{Source: "EC2 status checks", Field: field, Observed: observed, Expected: passed}}
	if events := l.Instance().Status.Value.Events; len(events) > 0 {
		seen = append(seen, roll.Evidence{Source: "EC2 status checks", Field: "Events", Observed: strings.Join(events, ", "), Expected: "none"})
	}
	l.s.Found(cause.Cause{
		Code: code, Confidence: confidence,
		Summary:  fmt.Sprintf("%s does not pass EC2's %s", l.Finding.Instance, what),
		Evidence: seen, Fix: fix,
	})
}

// stopped asks whether the instance is stopped: its node is silent for that reason.
func (l *look) stopped() {
	config := l.Config()
	if !config.Known() {
		if config.State != evidence.Absent {
			l.s.NotChecked(config.Missing("instance "+string(l.Finding.Instance)), cause.InstanceStopped)
		}
		return
	}
	state := config.Value.State
	if state != string(roll.StateStopped) && state != string(roll.StateStopping) {
		l.s.RuledOut(cause.InstanceStopped)
		return
	}
	observed := state
	if config.Value.StateReason != "" {
		observed += ": " + config.Value.StateReason
	}
	gone := ""
	if l.Finding.Node != "" {
		gone = paste.Command("kubectl", "delete", "node", l.Finding.Node) + "   # if it is to stay stopped; Karpenter then ends the instance"
	}
	l.s.Found(cause.Cause{
		Code: cause.InstanceStopped, Confidence: roll.Decisive,
		Summary:  fmt.Sprintf("%s is %s, so nothing runs on it", l.Finding.Instance, state),
		Evidence: []roll.Evidence{{Source: "instance", Field: "State.Name", Observed: observed, Expected: string(roll.StateRunning)}},
		Fix:      paste.Lines(l.ec2("start-instances", "--instance-ids", string(l.Finding.Instance)), gone),
	})
}
