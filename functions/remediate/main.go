// Command remediate is the function that carries orders out: the only one that may
// destroy, and only what it has looked at again.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"rollcall/functions/internal/start"
	"rollcall/shared/config"
	"rollcall/shared/dispatch"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/observe"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
)

func main() {
	ctx := context.Background()
	f, err := start.Begin(ctx, "remediate", config.Mode, config.PolicyParameter, config.WarnAfter, config.Deadline, config.Table, config.Topic, config.EventBus, config.EvidenceBucket)
	if err != nil {
		start.Fatal(err)
	}
	tokens, err := kube.NewTokenSource(f.AWS)
	if err != nil {
		start.Fatal(err)
	}
	client := ec2.NewFromConfig(f.AWS)
	dialer := kube.NewDialer(tokens, "rollcall-remediate")
	remediator, err := remediate.New(remediate.Options{
		Targets: observe.New(observe.Options{
			EC2: client, EKS: eks.NewFromConfig(f.AWS), AutoScaling: autoscaling.NewFromConfig(f.AWS), ZonalShift: arczonalshift.NewFromConfig(f.AWS),
			Kube: dialer, Region: f.AWS.Region, PageInterval: start.PageInterval,
		}),
		EC2:       client,
		Kube:      dialer,
		Ledger:    ledger.NewDynamo(dynamodb.NewFromConfig(f.AWS), f.Settings.Table),
		Policy:    config.NewPolicyStore(ssm.NewFromConfig(f.AWS), f.Settings).Read,
		Permitted: f.Settings.Mode,
		Clock:     start.Clock,
	})
	if err != nil {
		start.Fatal(err)
	}
	h := &handler{
		remediator: remediator,
		notices:    report.NewTopic(sns.NewFromConfig(f.AWS), f.Settings.Topic, start.Nobody),
		events:     dispatch.NewEvents(eventbridge.NewFromConfig(f.AWS), f.Settings.EventBus),
		now:        start.Clock, log: f.Log, metrics: os.Stdout,
	}
	lambda.Start(h.handle)
}
