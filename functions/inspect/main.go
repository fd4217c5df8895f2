// Command inspect is the function that checks one cluster per message: it reads,
// judges, tags, notifies and sends orders on. It destroys nothing.
package main

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"rollcall/functions/internal/start"
	"rollcall/shared/config"
	"rollcall/shared/dispatch"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/mark"
	"rollcall/shared/observe"
	"rollcall/shared/report"
	"rollcall/shared/run"
)

func main() {
	ctx := context.Background()
	f, err := start.Begin(ctx, "inspect", config.Mode, config.PolicyParameter, config.WarnAfter, config.Deadline, config.Table, config.Topic, config.OrdersQueueURL,
		config.ChecksQueueARN, config.ScheduleGroup, config.ScheduleRole, config.EventBus, config.EvidenceBucket, config.SweepInterval)
	if err != nil {
		start.Fatal(err)
	}
	tokens, err := kube.NewTokenSource(f.AWS)
	if err != nil {
		start.Fatal(err)
	}
	client := ec2.NewFromConfig(f.AWS)
	table := ledger.NewDynamo(dynamodb.NewFromConfig(f.AWS), f.Settings.Table)
	h := &handler{
		base: run.Runner{
			Observer: observe.New(observe.Options{
				EC2: client, EKS: eks.NewFromConfig(f.AWS), AutoScaling: autoscaling.NewFromConfig(f.AWS), ZonalShift: arczonalshift.NewFromConfig(f.AWS),
				Kube: kube.NewDialer(tokens, "rollcall-inspect"), Region: f.AWS.Region, PageInterval: start.PageInterval,
			}),
			Ledger:   table,
			Tags:     mark.New(client, start.Nobody),
			Notices:  report.NewTopic(sns.NewFromConfig(f.AWS), f.Settings.Topic, start.Nobody),
			Clock:    start.Clock,
			ReadTime: readTime,
		},
		policies:  config.NewPolicyStore(ssm.NewFromConfig(f.AWS), f.Settings),
		permitted: f.Settings.Mode,
		sweep:     f.Settings.SweepInterval,
		orders:    dispatch.NewOrders(sqs.NewFromConfig(f.AWS), f.Settings.OrdersQueueURL),
		schedules: dispatch.NewSchedules(scheduler.NewFromConfig(f.AWS), f.Settings.ScheduleGroup, f.Settings.ChecksQueueARN, f.Settings.ScheduleRole),
		events:    dispatch.NewEvents(eventbridge.NewFromConfig(f.AWS), f.Settings.EventBus),
		fleet:     table,
		now:       start.Clock, log: f.Log, metrics: os.Stdout,
	}
	lambda.Start(h.handle)
}

// readTime leaves a minute of the function's five for what follows from the reading.
const readTime = 4 * time.Minute
