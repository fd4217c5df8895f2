// Command statechange is the function that turns EC2 state changes into checks at the
// minute of each deadline. It also records announcements of EC2 about Spot Instances. It
// judges nothing.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"rollcall/functions/internal/start"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/dispatch"
	"rollcall/shared/lambdas/statechange"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
)

func main() {
	f := start.Begin("statechange", config.PolicyParameter, config.WarnAfter, config.Deadline, config.ChecksQueueARN, config.ScheduleGroup, config.ScheduleRole, config.Table, config.VPCs)
	h := &statechange.Handler{
		Ambient:   f.Ambient(),
		EC2:       ec2.NewFromConfig(f.AWS),
		Policies:  config.NewPolicyStore(ssm.NewFromConfig(f.AWS), f.Settings),
		Schedules: dispatch.NewSchedules(scheduler.NewFromConfig(f.AWS), f.Settings.ScheduleGroup, f.Settings.ChecksQueueARN, f.Settings.ScheduleRole),
		Ledger:    ledger.NewDynamo(dynamodb.NewFromConfig(f.AWS), f.Settings.Table),
		VPCs:      f.Settings.VPCs,
		Home:      trigger.Home{Region: f.AWS.Region},
	}
	lambda.Start(h.Handle)
}
