package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/plan"
	"rollcall/shared/report/emit"
	"rollcall/shared/roll"
)

var check = trigger.Check{Cluster: "demo", Due: time.Date(2026, 3, 10, 12, 5, 0, 0, time.UTC)}

// region is a fake of Scheduler, SQS and EventBridge, as far as they are used here.
type region struct {
	schedules map[string]*scheduler.CreateScheduleInput
	calls     int
	messages  []*sqs.SendMessageInput
	batches   []*eventbridge.PutEventsInput
	fail      error
	// refuse is, for each of the next calls, the number of first entries that the bus
	// refuses.
	refuse []int
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

func (r *region) PutEvents(_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	r.batches = append(r.batches, in)
	refused := 0
	if len(r.refuse) > 0 {
		refused, r.refuse = r.refuse[0], r.refuse[1:]
	}
	out := &eventbridge.PutEventsOutput{FailedEntryCount: int32(refused)}
	for i := range in.Entries {
		result := eventtypes.PutEventsResultEntry{EventId: aws.String(fmt.Sprint(i))}
		if i < refused {
			result = eventtypes.PutEventsResultEntry{ErrorMessage: aws.String("the bus is busy")}
		}
		out.Entries = append(out.Entries, result)
	}
	return out, r.fail
}

func TestAScheduleIsMadeOnceAndDeletesItself(t *testing.T) {
	r := &region{schedules: map[string]*scheduler.CreateScheduleInput{}}
	first := NewSchedules(r, "rollcall", "arn:aws:sqs:eu-west-1:111122223333:checks.fifo", "arn:aws:iam::111122223333:role/scheduler")
	for i, want := range []bool{true, false} {
		if made, err := first.At(t.Context(), check); err != nil || made != want {
			t.Errorf("call %d: made %v, %v", i, made, err)
		}
	}
	if r.calls != 1 {
		t.Errorf("%d calls: what this process made it need not ask for again", r.calls)
	}
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
	if err := NewChecks(r, "https://queue").Send(t.Context(), check); err != nil {
		t.Fatal(err)
	}
	if m := r.messages[0]; aws.ToString(m.MessageGroupId) != "demo" || m.MessageDeduplicationId != nil || aws.ToString(m.MessageBody) != string(check.Encode()) {
		t.Errorf("sent %+v, want deduplication by content", m)
	}
	at := check.Due
	o := plan.Order{ID: "3f9a0c5d7e1b2468", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}, Instance: "i-00000000000000001", Group: "asg/w", Owner: roll.OwnerAutoScalingGroup, Kind: roll.Unknown, Action: plan.Terminate, FirstSeen: at, Since: at, At: at, Expires: at.Add(time.Minute), Why: "x"}
	if err := NewOrders(r, "https://queue").Send(t.Context(), o); err != nil {
		t.Fatal(err)
	}
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

func TestEventsGoInBatchesOfTen(t *testing.T) {
	r := &region{}
	var all []emit.Event
	for i := range 23 {
		all = append(all, emit.Event{DetailType: emit.CheckCompleted, Detail: map[string]any{"n": i}})
	}
	e := NewEvents(r, "default")
	if err := e.Put(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var sizes []string
	for _, b := range r.batches {
		sizes = append(sizes, fmt.Sprint(len(b.Entries)))
	}
	if strings.Join(sizes, " ") != "10 10 3" {
		t.Errorf("batches of %v", sizes)
	}
	if entry := r.batches[2].Entries[2]; aws.ToString(entry.Detail) != `{"n":22}` || aws.ToString(entry.Source) != "rollcall" || aws.ToString(entry.DetailType) != "Check Completed" || aws.ToString(entry.EventBusName) != "default" {
		t.Errorf("the last entry is %+v", entry)
	}
}

func TestEventsTellOfWhatTheyAreAbout(t *testing.T) {
	r := &region{}
	about := []string{"arn:aws:ec2:eu-west-1:111122223333:instance/i-0a1b2c3d4e5f60718"}
	if err := NewEvents(r, "default").Put(t.Context(), []emit.Event{{DetailType: emit.ActionTaken, Detail: map[string]any{}, Resources: about}}); err != nil {
		t.Fatal(err)
	}
	if got := r.batches[0].Entries[0].Resources; !slices.Equal(got, about) {
		t.Errorf("resources %q", got)
	}
}

// A call takes 256 KB of entries in total. An entry that is too large by itself is left for
// the bus to refuse.
func TestEventsGoInBatchesThatFit(t *testing.T) {
	text := func(kilobytes int) map[string]any { return map[string]any{"text": strings.Repeat("x", kilobytes<<10)} }
	var all []emit.Event
	for _, kilobytes := range []int{100, 100, 100, 300, 1, 1} {
		all = append(all, emit.Event{DetailType: emit.CheckCompleted, Detail: text(kilobytes)})
	}
	r := &region{}
	if err := NewEvents(r, "default").Put(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, b := range r.batches {
		sizes = append(sizes, len(b.Entries))
	}
	if !slices.Equal(sizes, []int{2, 1, 1, 2}) {
		t.Errorf("batches of %v", sizes)
	}
	exact := eventtypes.PutEventsRequestEntry{Source: aws.String("rollcall"), DetailType: aws.String("x"), Detail: aws.String(strings.Repeat("x", eventBytes/2-9))}
	over := exact
	over.Detail = aws.String(*exact.Detail + "x")
	if n := batch([]eventtypes.PutEventsRequestEntry{exact, exact}); n != 2 {
		t.Errorf("two that fit exactly go in batches of %d", n)
	}
	if n := batch([]eventtypes.PutEventsRequestEntry{exact, over}); n != 1 {
		t.Errorf("two that are a byte too large go in batches of %d", n)
	}
}

func TestEventsThatAreRefusedAreTriedOnceMore(t *testing.T) {
	var all []emit.Event
	for i := range 3 {
		all = append(all, emit.Event{DetailType: emit.CheckCompleted, Detail: map[string]any{"n": i}})
	}
	r := &region{refuse: []int{2}}
	if err := NewEvents(r, "default").Put(t.Context(), all); err != nil {
		t.Errorf("got %v", err)
	}
	if len(r.batches) != 2 || len(r.batches[1].Entries) != 2 || aws.ToString(r.batches[1].Entries[1].Detail) != `{"n":1}` {
		t.Errorf("%d calls", len(r.batches))
	}
	r = &region{refuse: []int{3, 2}}
	if err := NewEvents(r, "default").Put(t.Context(), all); err == nil || !strings.Contains(err.Error(), "2 of 3 events: the bus is busy") {
		t.Errorf("got %v", err)
	}
	r = &region{fail: errors.New("no route")}
	if err := NewEvents(r, "default").Put(t.Context(), all); err == nil || len(r.batches) != 1 {
		t.Errorf("%d calls, %v", len(r.batches), err)
	}
}
