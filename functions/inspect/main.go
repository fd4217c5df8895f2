// Command inspect is the function that checks one cluster per message: it reads, judges,
// tags, notifies and sends orders. It destroys nothing.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"rollcall/functions/internal/start"
	"rollcall/shared/aws/tags"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/lambdas"
	"rollcall/shared/lambdas/bus"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/dispatch"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/collect"
	"rollcall/shared/observe/view"
	"rollcall/shared/report"
)

func main() {
	f := start.Begin("inspect", config.Mode, config.PolicyParameter, config.WarnAfter, config.Deadline, config.Table, config.Topic, config.ChatTopic, config.Stack, config.OrdersQueueURL,
		config.ChecksQueueARN, config.ScheduleGroup, config.ScheduleRole, config.EventBus, config.ReadSecrets, config.HostLogs, config.EvidenceBucket, config.KeepChecks, config.SweepInterval, config.VPCs)
	bucket := archive.NewS3(s3.NewFromConfig(f.AWS), f.Settings.EvidenceBucket)
	look := view.Open(f.AWS, "rollcall-inspect", view.Options{
		Account: f.Settings.Account(), Store: bucket, Calls: f.Calls, PageInterval: start.PageInterval,
		WithoutSecrets: f.Settings.WithoutSecrets, HostLogs: collect.HostLogs{Document: f.Settings.HostLogs, Ask: true},
	})
	table := ledger.NewDynamo(dynamodb.NewFromConfig(f.AWS), f.Settings.Table)
	h := &lambdas.Inspect{
		Ambient: f.Ambient(),
		Runner: run.Runner{
			Observer: look.Observer,
			Why:      look.Check,
			Ledger:   table,
			Tags:     tags.New(look.EC2, start.Nobody),
			Notices:  report.NewTopic(sns.NewFromConfig(f.AWS), f.Settings.Topic, f.Settings.ChatTopic, start.Nobody).From(start.Version),
			Stack:    f.Settings.Stack,
			Clock:    start.Clock,
			ReadTime: lambdas.ReadTime, WhyTime: view.WhyTime,
		},
		Policies:      config.NewPolicyStore(ssm.NewFromConfig(f.AWS), f.Settings).Remembering(table),
		Permitted:     f.Settings.Mode,
		SweepInterval: f.Settings.SweepInterval,
		Orders:        dispatch.NewOrders(sqs.NewFromConfig(f.AWS), f.Settings.OrdersQueueURL),
		Schedules:     dispatch.NewSchedules(scheduler.NewFromConfig(f.AWS), f.Settings.ScheduleGroup, f.Settings.ChecksQueueARN, f.Settings.ScheduleRole),
		Events:        bus.New(eventbridge.NewFromConfig(f.AWS), f.Settings.EventBus),
		Fleet:         table,
		VPCs:          f.Settings.VPCs,
		EKS:           eks.NewFromConfig(f.AWS),
	}
	if f.Settings.KeepChecks {
		h.Runner.Record = bucket.Record
	}
	lambda.Start(h.Handle)
}
