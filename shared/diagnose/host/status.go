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

// otherChecks asks whether EC2's other checks fail: of the volumes that are attached, of the
// application and of the performance. None of them proves that the machine is at fault: a
// volume may be a pod's, and fails wherever that runs; whether it is the root volume, the
// instance check shows.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
func (l *look) otherChecks() {
	fact := l.Instance().Status
	if !fact.Known() {
		if fact.State != evidence.Absent {
			l.s.NotChecked(fact.Missing("status checks of "+string(l.Finding.Instance)), cause.AttachedEbsImpaired, cause.ApplicationStatusImpaired, cause.PerformanceStatusImpaired)
		}
		return
	}
	s := fact.Value
	volumes := l.ec2("describe-volumes", "--filters", "Name=attachment.instance-id,Values="+string(l.Finding.Instance))
	status := l.ec2("describe-instance-status", "--instance-ids", string(l.Finding.Instance))
	l.otherCheck(cause.AttachedEbsImpaired, "AttachedEbsStatus.Status", s.AttachedEBS, s.AttachedEBSSince, "attached EBS status check: a volume of it does not complete its I/O, and moves with the pod that uses it", volumes)
	l.otherCheck(cause.ApplicationStatusImpaired, "ApplicationStatus.Status", s.Application, s.ApplicationSince, "application status check, which asks what runs on it", status)
	what := "performance status check"
	if s.Remediation != "" {
		what += "; EC2 recommends: " + s.Remediation
	}
	l.otherCheck(cause.PerformanceStatusImpaired, "PerformanceStatus.Status", s.Performance, s.PerformanceSince, what, status)
}

func (l *look) otherCheck(code cause.Code, field, status string, since time.Time, what, fix string) {
	switch status {
	case impaired:
		l.s.Found(l.fails(code, roll.Suggestive, field, since, what, fix))
	case passed:
		l.s.RuledOut(code)
	default:
		l.untold(code, field, status)
	}
}

func (l *look) check(code cause.Code, field, status string, since time.Time, what, fix string) {
	switch status {
	case passed:
		l.s.RuledOut(code)
	case impaired:
		// A kubelet that reports reaches out of the instance, whatever the checks say.
		confidence := roll.Decisive
		if l.Finding.Kind == roll.NotReady {
			confidence = roll.Suggestive
		}
		l.s.Found(l.fails(code, confidence, field, since, what, fix))
	default:
		l.untold(code, field, status)
	}
}

// untold notes a check of which EC2 does not say whether it fails.
func (l *look) untold(code cause.Code, field, status string) {
	if status == "" {
		status = "not told"
	}
	l.s.NotChecked(fmt.Sprintf("EC2's %s of %s is %s", strings.TrimSuffix(field, ".Status"), l.Finding.Instance, status), code)
}

// fails is the cause that a check fails.
func (l *look) fails(code cause.Code, confidence roll.Confidence, field string, since time.Time, what, fix string) roll.Cause {
	observed := impaired
	if !since.IsZero() {
		observed += " since " + roll.Clock(since)
	}
	seen := []roll.Evidence{{Source: "EC2 status checks", Field: field, Observed: observed, Expected: passed}}
	if events := l.Instance().Status.Value.Events; len(events) > 0 {
		codes := make([]string, len(events))
		for i, e := range events {
			codes[i] = e.Code
		}
		seen = append(seen, roll.Evidence{Source: "EC2 status checks", Field: "Events", Observed: strings.Join(codes, ", "), Expected: "none"})
	}
	return roll.Cause{
		Code: code, Confidence: confidence,
		Summary:  fmt.Sprintf("%s does not pass EC2's %s", l.Finding.Instance, what),
		Evidence: seen, Fix: fix,
	}
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
	l.s.Found(roll.Cause{
		Code: cause.InstanceStopped, Confidence: roll.Decisive,
		Summary:  fmt.Sprintf("%s is %s, so nothing runs on it", l.Finding.Instance, state),
		Evidence: []roll.Evidence{{Source: "instance", Field: "State.Name", Observed: observed, Expected: string(roll.StateRunning)}},
		Fix:      paste.Lines(l.ec2("start-instances", "--instance-ids", string(l.Finding.Instance)), gone),
	})
}
