package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var check = trigger.Check{Cluster: "demo", Due: time.Date(2026, 3, 10, 12, 5, 0, 0, time.UTC)}

// region is a fake of Scheduler and SQS, as far as they are used here.
type region struct {
	schedules map[string]*scheduler.CreateScheduleInput
	calls     int
	messages  []*sqs.SendMessageInput
	fail      error
}

func (r *region) CreateSchedule(_ context.Context, in *scheduler.CreateScheduleInput, _ ...func(*scheduler.Options)) (*scheduler.CreateScheduleOutput, error) {
	r.calls++
	if r.fail != nil {
		return nil, r.fail
	}
	if _, ok := r.schedules[aws.ToString(in.Name)]; ok {
		return nil, &types.ConflictException{Message: aws.String("exists")}
	}
	r.schedules[aws.ToString(in.Name)] = in
	return &scheduler.CreateScheduleOutput{}, nil
}

func (r *region) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	r.messages = append(r.messages, in)
	return &sqs.SendMessageOutput{}, r.fail
}

func TestAScheduleIsMadeOnceAndDeletesItself(t *testing.T) {
	r := &region{schedules: map[string]*scheduler.CreateScheduleInput{}}
	first := NewSchedules(r, "rollcall", "arn:aws:sqs:eu-west-1:111122223333:checks.fifo", "arn:aws:iam::111122223333:role/scheduler")
	for i, want := range []bool{true, false} {
		if made, err := first.At(t.Context(), check); err != nil || made != want {
			t.Errorf("call %d: made %v, %v", i, made, err)
		}
	}
	expect.That(t, r.calls == 1, "%d calls: what this process made it need not ask for again", r.calls)
	// Another process finds the existing schedule, which is as good.
	if made, err := NewSchedules(r, "rollcall", "q", "r").At(t.Context(), check); err != nil || made {
		t.Errorf("made %v, %v", made, err)
	}
	in := r.schedules[check.ScheduleName()]
	if aws.ToString(in.ScheduleExpression) != "at(2026-03-10T12:05:00)" || aws.ToString(in.ScheduleExpressionTimezone) != "UTC" ||
		in.ActionAfterCompletion != types.ActionAfterCompletionDelete || in.FlexibleTimeWindow.Mode != types.FlexibleTimeWindowModeOff ||
		aws.ToString(in.GroupName) != "rollcall" || aws.ToString(in.Target.Input) != `{"cluster":"demo","due":"2026-03-10T12:05:00Z"}` || aws.ToString(in.Target.SqsParameters.MessageGroupId) != "demo" {
		t.Errorf("asked for %+v, target %+v", in, in.Target)
	}
	r.fail = errors.New("no answer")
	if _, err := first.At(t.Context(), trigger.Check{Cluster: "demo", Due: check.Due.Add(time.Minute)}); err == nil || !strings.Contains(err.Error(), "scheduler:CreateSchedule") {
		t.Errorf("got %v", err)
	}
}

func TestMessagesAreOrderedByClusterAndDroppedIfTheSame(t *testing.T) {
	r := &region{}
	must.Succeed(t, NewChecks(r, "https://queue").Send(t.Context(), check))
	if m := r.messages[0]; aws.ToString(m.MessageGroupId) != "demo" || m.MessageDeduplicationId != nil || aws.ToString(m.MessageBody) != string(check.Encode()) {
		t.Errorf("sent %+v, want deduplication by content", m)
	}
	at := check.Due
	o := plan.Order{ID: "3f9a0c5d7e1b2468", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}, Instance: "i-00000000000000001", Group: "asg/w", Owner: roll.OwnerAutoScalingGroup, Kind: roll.Unknown, Action: plan.Terminate, FirstSeen: at, Since: at, At: at, Expires: at.Add(time.Minute), Why: "x"}
	must.Succeed(t, NewOrders(r, "https://queue").Send(t.Context(), o))
	if m := r.messages[1]; aws.ToString(m.MessageGroupId) != trigger.OrderGroup(o) || aws.ToString(m.MessageDeduplicationId) != trigger.OrderDeduplicationID(o) {
		t.Errorf("sent %+v", m)
	}
	r.fail = errors.New("no answer")
	if err := NewChecks(r, "https://queue").Send(t.Context(), check); err == nil || !strings.Contains(err.Error(), "check of demo") {
		t.Errorf("got %v", err)
	}
	if err := NewOrders(r, "https://queue").Send(t.Context(), o); err == nil || !strings.Contains(err.Error(), "terminate i-00000000000000001") {
		t.Errorf("got %v", err)
	}
}
