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

// The states of EC2's status checks that have a meaning here.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusSummary.html
const (
	passed   = "ok"
	impaired = "impaired"
)

// checks checks EC2's status checks: the instance check, which reaches the operating system,
// and the system check of the underlying host. A kubelet that reports proves that the instance
// is reachable, whatever the checks say.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
func (l *look) checks() {
	s, sure := l.Instance().Status.Value, l.Finding.Kind != roll.NotReady
	l.evaluate(
		check{cause.InstanceStatusImpaired, "InstanceStatus", s.Instance, s.InstanceSince, "instance status check, which asks whether its operating system answers",
			paste.Lines(l.screen(), l.reboot(), l.replaceAfter()), sure},
		check{cause.SystemStatusImpaired, "SystemStatus", s.System, s.SystemSince, "system status check: the host that it runs on, or its network, fails",
			paste.Lines(l.showStatus(), l.replace()), sure})
}

// otherChecks checks EC2's other checks: of attached volumes, of the application and of the
// performance. None of them proves a fault of the machine. A volume may be a pod's, and fails
// wherever that pod runs; the instance check shows whether it is the root volume.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
func (l *look) otherChecks() {
	s := l.Instance().Status.Value
	performance := "performance status check"
	if s.Remediation != "" {
		performance += "; EC2 recommends: " + s.Remediation
	}
	l.evaluate(
		check{cause.AttachedEbsImpaired, "AttachedEbsStatus", s.AttachedEBS, s.AttachedEBSSince, "attached EBS status check: a volume of it does not complete its I/O, and moves with the pod that uses it",
			l.AWS("ec2", "describe-volumes", "--filters", "Name=attachment.instance-id,Values="+l.id()), false},
		check{cause.ApplicationStatusImpaired, "ApplicationStatus", s.Application, s.ApplicationSince, "application status check, which asks what runs on it", l.showStatus(), false},
		check{cause.PerformanceStatusImpaired, "PerformanceStatus", s.Performance, s.PerformanceSince, performance, l.showStatus(), false})
}

// fails returns the cause that a check fails.
func (l *look) fails(c check) cause.Verdict {
	observed := impaired
	if !c.since.IsZero() {
		observed += " since " + roll.Clock(c.since)
	}
	v := cause.DecisiveIf(c.sure).Says("%s does not pass EC2's %s", l.id(), c.what).
		Saw("EC2 status checks", c.field+".Status", observed, passed).Fix(c.fix)
	codes := roll.Map(l.Instance().Status.Value.Events, func(e roll.Event) string { return e.Code })
	if len(codes) > 0 {
		v.Saw("EC2 status checks", "Events", strings.Join(codes, ", "), "none")
	}
	return v
}

// stopped checks whether the instance is stopped: its node is then silent for that reason.
func (l *look) stopped() {
	config := l.Config()
	state := config.Value.State
	switch {
	case config.State == evidence.Absent:
	case !config.Known():
		l.Note(cause.InstanceStopped, cause.Missing(config, "instance "+l.id()))
	case state != string(roll.StateStopped) && state != string(roll.StateStopping):
		l.RuledOut(cause.InstanceStopped)
	default:
		l.Note(cause.InstanceStopped, l.isStopped(config.Value))
	}
}

// check is one of EC2's status checks.
type check struct {
	code   cause.Code
	field  string
	status string
	since  time.Time
	what   string
	fix    string
	sure   bool // a failure proves a fault of the machine
}

// evaluate notes the outcome of checks. EC2 has none for an instance that is not running.
func (l *look) evaluate(checks ...check) {
	fact := l.Instance().Status
	for _, c := range checks {
		switch {
		case fact.State == evidence.Absent:
		case !fact.Known():
			l.Note(c.code, cause.Missing(fact, "status checks of "+l.id()))
		case c.status == passed:
			l.RuledOut(c.code)
		case c.status == impaired:
			l.Note(c.code, l.fails(c))
		case c.status == "":
			l.NotChecked(fmt.Sprintf("EC2's %s of %s is not known", c.field, l.id()), c.code)
		default:
			l.NotChecked(fmt.Sprintf("EC2's %s of %s is %s", c.field, l.id(), c.status), c.code)
		}
	}
}

func (l *look) isStopped(i evidence.InstanceConfig) cause.Verdict {
	observed, gone := i.State, ""
	if i.StateReason != "" {
		observed += ": " + i.StateReason
	}
	if l.Finding.Node != "" {
		condition := "or, if it is to stay stopped"
		if l.Finding.Owner == roll.OwnerKarpenter {
			condition = "or, if nobody needs it (Karpenter then terminates the instance)"
		}
		gone = paste.If(condition, paste.Kubectl("delete", "node", l.Finding.Node))
	}
	return cause.Decisive().Says("%s is %s, so nothing runs on it", l.id(), i.State).
		Saw("instance", "State.Name", observed, string(roll.StateRunning)).
		Fix(l.AWS("ec2", "start-instances", "--instance-ids", l.id()), gone)
}
