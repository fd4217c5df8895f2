package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"

	"rollcall/shared/lambdas/trigger"
)

const ruled = 3 * time.Second // the maximum time from EC2 through the rule to the queue

// stateChanged sends the event of the state that a machine has just entered, except pending, as the template's rule.
func (a *account) stateChanged(m *machine) {
	if a.dep == nil || m.state == pending {
		return
	}
	d := m.d.of("state").of(string(m.state)).of(a.Now().String())
	body := stateChangeEvent(uid(d), m.id, m.state, a.Now())
	a.arrives(body, d.of("ruled").between(0, ruled), d)
}

// stateChangeEvent returns the event as EventBridge delivers it to a queue; events/ has samples.
func stateChangeEvent(id, instance string, state machineState, at time.Time) string {
	return ec2Event(id, trigger.StateChangeDetailType, region+":"+accountID, instance, fmt.Sprintf(`,"state":%q`, state), at)
}

// ec2Event returns an EC2 event. where is the part of the ARN before the instance, said the detail beside its ID.
func ec2Event(id, detailType, where, instance, said string, at time.Time) string {
	return fmt.Sprintf(`{"version":"0","id":%q,"detail-type":%q,"source":%q,"account":%q,"time":%q,"region":%q,`+
		`"resources":["arn:aws:ec2:%s:instance/%s"],"detail":{"instance-id":%q%s}}`,
		id, detailType, trigger.EC2Source, accountID, at.UTC().Format(time.RFC3339), region, where, instance, instance, said)
}

const spotWarning = 2 * time.Minute // how long before reclaiming a Spot Instance EC2 warns

type eventsAPI struct{ v *env }

// PutEvents puts at most ten events on the bus.
func (e eventsAPI) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	out := new(eventbridge.PutEventsOutput)
	err := e.v.call(ctx, "events:PutEvents", writes, "", func() error {
		if n := len(in.Entries); n < 1 || n > 10 {
			return badRequest("ValidationException", "PutEvents takes 1 to 10 entries, not %d", n)
		}
		out.Entries, out.FailedEntryCount = e.v.puts(in.Entries)
		return nil
	})
	return answered(out, err)
}

type schedule struct {
	name    string
	cluster string // of the check that it requests, "" if it requests none
	due     time.Time
	input   string
	group   string // of the message
	missed  bool   // its time had passed when it was created, so it never fires
}

const (
	minuteful = 59 * time.Second // the maximum delay of a schedule within its minute
	vanishes  = 5 * time.Second  // the maximum time that a fired schedule still exists
)

var scheduleName = regexp.MustCompile(`^[0-9a-zA-Z._-]{1,64}$`)

func (a *account) schedules() []*schedule {
	return slices.SortedFunc(maps.Values(a.dep.schedules), func(a, b *schedule) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.name, b.name)) })
}

// create creates a schedule. One for a past time is accepted, but never fires.
func (d *deployment) create(in *scheduler.CreateScheduleInput) error {
	s, refusal := d.readSchedule(in)
	switch {
	case refusal != "":
		return &types.ValidationException{Message: aws.String(refusal)}
	case aws.ToString(in.GroupName) != scheduleGroup:
		return &types.ResourceNotFoundException{Message: aws.String("Schedule group " + aws.ToString(in.GroupName) + " does not exist.")}
	}
	if d.schedules[s.name] != nil {
		return &types.ConflictException{Message: aws.String("Schedule " + s.name + " already exists.")}
	}
	d.schedules[s.name] = s
	if s.missed = !s.due.After(d.a.Now()); s.missed {
		return nil
	}
	own := d.a.d.of("schedules").of(s.name)
	d.a.at(s.due.Add(own.of("fires").between(0, minuteful)), func() {
		d.checks.send(s.input, s.group, "")
		d.a.in(own.of("vanishes").between(0, vanishes), func() { delete(d.schedules, s.name) })
	})
	return nil
}

// readSchedule parses a request. It stops at the first reason to refuse it.
func (d *deployment) readSchedule(in *scheduler.CreateScheduleInput) (*schedule, string) {
	s := &schedule{name: aws.ToString(in.Name)}
	due, err := time.Parse("at(2006-01-02T15:04:05)", aws.ToString(in.ScheduleExpression))
	target := in.Target
	switch {
	case !scheduleName.MatchString(s.name):
		return nil, "the name " + s.name + " is not one"
	case err != nil:
		return nil, "Invalid Schedule Expression " + aws.ToString(in.ScheduleExpression) + "."
	case cmp.Or(aws.ToString(in.ScheduleExpressionTimezone), "UTC") != "UTC":
		return nil, "only UTC is simulated"
	case in.ActionAfterCompletion != types.ActionAfterCompletionDelete:
		return nil, "a schedule that stays after its completion is nobody's to delete"
	case in.FlexibleTimeWindow == nil || in.FlexibleTimeWindow.Mode != types.FlexibleTimeWindowModeOff:
		return nil, "only schedules without a flexible window are simulated"
	case target == nil || aws.ToString(target.Arn) != d.checks.arn() || aws.ToString(target.RoleArn) != scheduleRole:
		return nil, "the role may send to the queue of checks and nowhere else"
	case target.SqsParameters == nil || aws.ToString(target.SqsParameters.MessageGroupId) == "":
		return nil, "a FIFO queue as target needs a message group"
	}
	s.due, s.input, s.group = due, aws.ToString(target.Input), aws.ToString(target.SqsParameters.MessageGroupId)
	if c, err := trigger.ParseCheck([]byte(s.input)); err == nil {
		s.cluster = c.Cluster
	}
	return s, ""
}

type schedulerAPI struct{ v *env }

// CreateSchedule creates a one-time schedule.
func (s schedulerAPI) CreateSchedule(ctx context.Context, in *scheduler.CreateScheduleInput, _ ...func(*scheduler.Options)) (*scheduler.CreateScheduleOutput, error) {
	err := s.v.call(ctx, "scheduler:CreateSchedule", writes, "", func() error { return s.v.a.dep.create(in) })
	return answered(&scheduler.CreateScheduleOutput{}, err)
}
