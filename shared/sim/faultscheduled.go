package sim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/lambdas/trigger"
)

// The outcomes of an event that EC2 scheduled for a working machine.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html
const (
	eventRetires   = "retirement"  // EC2 stops the machine, since its root volume is an EBS volume
	eventStops     = "stop"        // the same
	eventReboots   = "reboot"      // EC2 reboots its host, and it recovers
	eventRestarts  = "restart"     // EC2 reboots the machine alone
	eventMaintains = "maintenance" // its host's network or power is off for some minutes
	eventCanceled  = "canceled"    // none: EC2 cancels the event
	eventFar       = "far"         // none for a day
	eventMoved     = "karpenter"   // Karpenter moves its pods, as it does when it receives the event
)

// eventCodes are the codes of the events that are not retirements.
var eventCodes = map[string]types.EventCode{
	eventStops: types.EventCodeInstanceStop, eventReboots: types.EventCodeSystemReboot, eventRestarts: types.EventCodeInstanceReboot, eventMaintains: types.EventCodeSystemMaintenance,
}

type scheduledEvent struct {
	code      types.EventCode
	announced time.Time
	notBefore time.Time
	over      time.Time // when EC2 reported that it is over, zero if it did not
	why       string    // Completed or Canceled, once it is over
}

// scheduledEvents: EC2 schedules an interruption of a working machine.
var scheduledEvents = faultType{
	kind: FaultScheduled, weight: 3, need: 80 * time.Minute, count: 2,
	values: []string{eventRetires, eventReboots, eventCanceled, eventFar, eventMoved, eventStops, eventRestarts, eventMaintains},
	fits: func(g GroupSpec, value string) bool {
		return g.Owner != nobody && (value != eventMoved || g.Owner == karpenter)
	},
	shape: groupsOfRepair,
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		if m.event == nil {
			m.schedule(f, d)
			m.arose(f, fmt.Sprintf("%s not before %s", m.event.code, m.event.notBefore.Format(time.DateTime)))
		}
	}),
}

// schedule makes EC2 schedule an event of the fault's form for the machine.
func (m *machine) schedule(f Fault, d dice) {
	a, form := m.c.a, f.Value
	e := &scheduledEvent{code: cmp.Or(eventCodes[form], types.EventCodeInstanceRetirement), announced: a.Now()}
	in := d.of("in").between(40*time.Minute, 3*time.Hour).Truncate(time.Second)
	if form == eventFar {
		in += 24 * time.Hour
	}
	e.notBefore, m.event = a.Now().Add(in), e
	a.report(m)
	a.tellHealth(m, d)
	// then calls do after a while, unless the machine has another event by then or does not run.
	then := func(after time.Duration, do func()) {
		a.in(after, func() {
			if m.event == e && m.state == running {
				do()
			}
		})
	}
	late := d.of("late").between(0, 10*time.Minute)
	// hits calls do at the time of the event, which is over some minutes later.
	hits := func(do func(off time.Duration)) {
		off := d.of("off").between(time.Minute, 6*time.Minute)
		then(in+late, func() { do(off) })
		then(in+late+off+5*time.Minute, func() { e.over, e.why = a.Now(), "Completed" })
	}
	switch form {
	case eventRetires, eventStops:
		then(in+late, func() {
			m.retire()
			m.arose(f, "EC2 stops it")
		})
	case eventRestarts:
		hits(func(time.Duration) { m.reboot() })
	case eventReboots:
		hits(m.rebootAfter)
	case eventMaintains:
		if d.of("network").chance(0.5) {
			hits(func(off time.Duration) { a.cutOff([]*machine{m}, off) })
		} else {
			hits(m.rebootAfter)
		}
	case eventCanceled:
		then(d.of("canceled").between(90*time.Second, 40*time.Minute), func() { e.over, e.why = a.Now(), "Canceled" })
	case eventMoved:
		then(d.of("moves").between(10*time.Second, 90*time.Second), func() { m.leave("karpenter: EC2 has scheduled an event for it") })
	}
}

// retire has EC2 stop the machine. Its Auto Scaling group replaces what does not run at its next health
// checks; Karpenter, if its interruption queue gets the change of state. Otherwise the machine stays stopped.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-checks-overview.html
// https://karpenter.sh/docs/concepts/disruption/#interruption
func (m *machine) retire() {
	a, d := m.c.a, m.d.of("retires")
	m.retired = true
	m.stop(false)
	if m.g.owner == karpenter && d.of("queue").chance(0.3) {
		return
	}
	var replaces func()
	replaces = func() {
		switch {
		case !m.retired || m.state != stopping && m.state != stopped || m.aside != "" || a.healedNow():
		case m.state == stopping, m.g.misses():
			a.in(time.Minute, replaces)
		default:
			m.leave(string(m.g.owner) + ": EC2 stopped it")
		}
	}
	a.in(d.of("noticed").between(time.Minute, 4*time.Minute), replaces)
}

func (e *scheduledEvent) told() types.InstanceStatusEvent {
	description := "scheduled"
	if !e.over.IsZero() {
		description = "[" + e.why + "] " + description
	}
	return types.InstanceStatusEvent{
		InstanceEventId: aws.String("instance-event-0d59937288b749b32"), Code: e.code, Description: aws.String(description),
		NotBefore: aws.Time(e.notBefore.UTC()), NotAfter: aws.Time(e.notBefore.Add(2 * time.Hour).UTC()),
	}
}

// tellHealth sends the AWS Health event about the machine, perhaps late, or too late.
func (a *account) tellHealth(m *machine, d dice) {
	if a.dep == nil || d.of("told").chance(0.3) {
		return
	}
	body := fmt.Sprintf(`{"version":"0","id":%q,"detail-type":%q,"source":%q,"account":%q,"time":%q,"region":%q,"resources":[%q],`+
		`"detail":{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":%q}]}}`,
		uid(d.of("event")), trigger.HealthDetailType, trigger.HealthSource, accountID, a.Now().UTC().Format(time.RFC3339), region, m.id, m.id)
	a.arrives(body, d.of("ruled").between(0, ruled), d)
}
