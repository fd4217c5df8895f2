package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/lambdas/trigger"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// asks returns the schedule that a function creates for a check.
func asks(a *account, c trigger.Check) *scheduler.CreateScheduleInput {
	return &scheduler.CreateScheduleInput{
		Name: aws.String(c.ScheduleName()), GroupName: aws.String(scheduleGroup), ScheduleExpression: aws.String(c.ScheduleExpression()), ScheduleExpressionTimezone: aws.String("UTC"),
		FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff}, ActionAfterCompletion: types.ActionAfterCompletionDelete,
		Target: &types.Target{Arn: aws.String(a.dep.checks.arn()), RoleArn: aws.String(scheduleRole), Input: aws.String(string(c.Encode())), SqsParameters: &types.SqsParameters{MessageGroupId: aws.String(c.Group())}},
	}
}

func TestSchedulesAreMadeOnceFireInTheirMinuteAndDeleteThemselves(t *testing.T) {
	a := bare(t, false)
	c := a.consume(inspect)
	v := a.environment(inspect)
	check := trigger.Check{Cluster: "demo", Due: dawn.Add(20 * time.Minute)}
	v.within(0, false, func() {
		s := a.dep.newSchedules(v)
		for i, want := range []bool{true, false} {
			made, err := s.At(t.Context(), check)
			expect.That(t, err == nil && made == want, "%d: made %v, %v", i, made, err)
		}
		made, err := a.dep.newSchedules(v).At(t.Context(), check)
		expect.That(t, err == nil && !made, "another process: made %v, %v", made, err)
	})
	if all := a.schedules(); len(all) != 1 || all[0].cluster != "demo" || !all[0].due.Equal(check.Due) || all[0].missed {
		t.Fatalf("schedules %+v", all)
	}
	a.pass(20 * time.Minute)
	c.want(t, "20:"+string(check.Encode()))
	all := a.schedules()
	expect.That(t, len(all) == 0, "left %+v", all)
}

func TestAScheduleForThePastStaysAndNeverFires(t *testing.T) {
	a := bare(t, false)
	c := a.consume(inspect)
	for _, minute := range []int{-1, 0, 1} {
		must.Succeed(t, a.dep.create(asks(a, trigger.Check{Cluster: "demo", Due: dawn.Add(time.Duration(minute) * time.Minute)})))
	}
	a.pass(time.Hour)
	c.want(t, "1:"+string(trigger.Check{Cluster: "demo", Due: dawn.Add(time.Minute)}.Encode()))
	var missed []string
	for _, s := range a.schedules() {
		if s.missed {
			missed = append(missed, s.due.Format("15:04"))
		}
	}
	expect.List(t, missed, []string{"11:59", "12:00"}, "missed")
}

func TestWhatTheSchedulerRefuses(t *testing.T) {
	for name, set := range map[string]func(*scheduler.CreateScheduleInput){
		"a name of 65":        func(in *scheduler.CreateScheduleInput) { in.Name = aws.String(strings.Repeat("a", 65)) },
		"a name with a slash": func(in *scheduler.CreateScheduleInput) { in.Name = aws.String("a/b") },
		"no name":             func(in *scheduler.CreateScheduleInput) { in.Name = nil },
		"another expression":  func(in *scheduler.CreateScheduleInput) { in.ScheduleExpression = aws.String("rate(5 minutes)") },
		"a zone in the time": func(in *scheduler.CreateScheduleInput) {
			in.ScheduleExpression = aws.String("at(2026-03-10T12:05:00Z)")
		},
		"another time zone": func(in *scheduler.CreateScheduleInput) { in.ScheduleExpressionTimezone = aws.String("Europe/Dublin") },
		"one that stays":    func(in *scheduler.CreateScheduleInput) { in.ActionAfterCompletion = types.ActionAfterCompletionNone },
		"a flexible window": func(in *scheduler.CreateScheduleInput) {
			in.FlexibleTimeWindow.Mode = types.FlexibleTimeWindowModeFlexible
		},
		"another target": func(in *scheduler.CreateScheduleInput) {
			in.Target.Arn = aws.String("arn:aws:sqs:eu-west-1:111122223333:other.fifo")
		},
		"another role": func(in *scheduler.CreateScheduleInput) {
			in.Target.RoleArn = aws.String("arn:aws:iam::111122223333:role/other")
		},
		"no target":            func(in *scheduler.CreateScheduleInput) { in.Target = nil },
		"no group of messages": func(in *scheduler.CreateScheduleInput) { in.Target.SqsParameters = nil },
		"another group":        func(in *scheduler.CreateScheduleInput) { in.GroupName = aws.String("default") },
	} {
		a := bare(t, false)
		in := asks(a, trigger.Check{Cluster: "demo", Due: dawn.Add(5 * time.Minute)})
		set(in)
		err := a.dep.create(in)
		expect.That(t, err != nil && !awserr.IsConflict(err) && len(a.schedules()) == 0, "%s: %v, %d schedules", name, err, len(a.schedules()))
	}
}
