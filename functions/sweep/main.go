// Command sweep is the function that asks for a check of every cluster, every few
// minutes: the net under the events.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rollcall/functions/internal/start"
	"rollcall/shared/config"
	"rollcall/shared/dispatch"
	"rollcall/shared/ledger"
)

func main() {
	f, err := start.Begin(context.Background(), "sweep", config.ChecksQueueURL, config.Table, config.SweepInterval, config.VPCs)
	if err != nil {
		start.Fatal(err)
	}
	h := &handler{
		eks: eks.NewFromConfig(f.AWS), ec2: ec2.NewFromConfig(f.AWS),
		checks: dispatch.NewChecks(sqs.NewFromConfig(f.AWS), f.Settings.ChecksQueueURL),
		fleet:  ledger.NewDynamo(dynamodb.NewFromConfig(f.AWS), f.Settings.Table), region: f.AWS.Region,
		every: f.Settings.SweepInterval, vpcs: f.Settings.VPCs,
		now: start.Clock, log: f.Log, metrics: os.Stdout,
	}
	lambda.Start(h.handle)
}
