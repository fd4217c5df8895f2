// Command statechange is the function that turns EC2 state changes into checks at the
// minutes in which a deadline falls. It judges nothing.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"rollcall/functions/internal/start"
	"rollcall/shared/config"
	"rollcall/shared/dispatch"
	"rollcall/shared/trigger"
)

func main() {
	f, err := start.Begin(context.Background(), "statechange", config.PolicyParameter, config.WarnAfter, config.Deadline, config.ChecksQueueARN, config.ScheduleGroup, config.ScheduleRole, config.VPCs)
	if err != nil {
		start.Fatal(err)
	}
	h := &handler{
		ec2:       ec2.NewFromConfig(f.AWS),
		policies:  config.NewPolicyStore(ssm.NewFromConfig(f.AWS), f.Settings),
		schedules: dispatch.NewSchedules(scheduler.NewFromConfig(f.AWS), f.Settings.ScheduleGroup, f.Settings.ChecksQueueARN, f.Settings.ScheduleRole),
		vpcs:      f.Settings.VPCs,
		home:      trigger.Home{Region: f.AWS.Region},
		now:       start.Clock, log: f.Log, metrics: os.Stdout,
	}
	lambda.Start(h.handle)
}
