// Package dispatch sends work that is due later, or for another function: a check to a
// one-time schedule or its queue, an order to its queue.
//
// Everything may be sent twice. A schedule is named after its cluster and minute, and an
// existing one is as good as a new one. A queue drops messages with the same content, or
// the same deduplication id, within five minutes.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/plan"
)

type schedulerAPI interface {
	CreateSchedule(context.Context, *scheduler.CreateScheduleInput, ...func(*scheduler.Options)) (*scheduler.CreateScheduleOutput, error)
}

type sqsAPI interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Schedules creates one-time schedules of checks.
type Schedules struct {
	api                   schedulerAPI
	group, queueARN, role string

	mu   sync.Mutex
	kept map[string]time.Time // names known to exist, and until when
}

// NewSchedules returns schedules in a group, which send to the queue of checks with a role
// that permits only that.
func NewSchedules(api schedulerAPI, group, queueARN, roleARN string) *Schedules {
	return &Schedules{api: api, group: group, queueARN: queueARN, role: roleARN, kept: map[string]time.Time{}}
}

// remembered is the maximum number of names that one process keeps.
const remembered = 10_000

// At schedules a check for its minute, once, and reports whether it created a schedule.
// Schedules delete themselves after they ran; nothing else deletes them, since all instances
// of a cluster and minute share one.
func (s *Schedules) At(ctx context.Context, c trigger.Check) (made bool, err error) {
	name := c.ScheduleName()
	if s.knows(name, c.Due) {
		return false, nil
	}
	_, err = s.api.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
		Name: aws.String(name), GroupName: aws.String(s.group),
		ScheduleExpression: aws.String(c.ScheduleExpression()), ScheduleExpressionTimezone: aws.String("UTC"),
		FlexibleTimeWindow:    &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion: types.ActionAfterCompletionDelete,
		Description:           aws.String("Rollcall checks cluster " + c.Cluster),
		Target: &types.Target{
			Arn: aws.String(s.queueARN), RoleArn: aws.String(s.role), Input: aws.String(string(c.Encode())),
			SqsParameters: &types.SqsParameters{MessageGroupId: aws.String(c.Group())},
		},
	})
	switch {
	case err == nil:
		made = true
	case !awserr.IsConflict(err):
		return false, errors.New(awserr.Describe(err, "scheduler:CreateSchedule", ""))
	}
	s.remember(name, c.Due)
	return made, nil
}

func (s *Schedules) knows(name string, due time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.kept[name]
	return ok && known.Equal(due)
}

func (s *Schedules) remember(name string, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= remembered {
		clear(s.kept) // a conflict only costs a call
	}
	s.kept[name] = due
}

// Checks is the queue of checks.
type Checks struct {
	api sqsAPI
	url string
}

// NewChecks returns the FIFO queue with the URL.
func NewChecks(api sqsAPI, url string) *Checks { return &Checks{api: api, url: url} }

// Send requests a check. The queue deduplicates by content: cluster and minute.
func (q *Checks) Send(ctx context.Context, c trigger.Check) error {
	_, err := q.api.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String(q.url), MessageBody: aws.String(string(c.Encode())), MessageGroupId: aws.String(c.Group())})
	if err != nil {
		return fmt.Errorf("ask for a check of %s: %s", c.Cluster, awserr.Describe(err, "sqs:SendMessage", ""))
	}
	return nil
}

// Orders is the queue of orders.
type Orders struct {
	api sqsAPI
	url string
}

// NewOrders returns the FIFO queue with the URL.
func NewOrders(api sqsAPI, url string) *Orders { return &Orders{api: api, url: url} }

// Send sends an order to the function that carries it out.
func (q *Orders) Send(ctx context.Context, o plan.Order) error {
	body, err := trigger.EncodeOrder(o)
	if err != nil {
		return err
	}
	_, err = q.api.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: aws.String(q.url), MessageBody: aws.String(string(body)),
		MessageGroupId: aws.String(trigger.OrderGroup(o)), MessageDeduplicationId: aws.String(trigger.OrderDeduplicationID(o)),
	})
	if err != nil {
		return fmt.Errorf("send the order to %s %s: %s", o.Action, o.Instance, awserr.Describe(err, "sqs:SendMessage", ""))
	}
	return nil
}
