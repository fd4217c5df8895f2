// Command sweep is the function that requests a check of every cluster every few minutes.
// It covers what events miss.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rollcall/functions/internal/start"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/dispatch"
	"rollcall/shared/lambdas/sweep"
	"rollcall/shared/ledger"
)

func main() {
	f := start.Begin("sweep", config.ChecksQueueURL, config.Table, config.SweepInterval, config.VPCs)
	h := &sweep.Handler{
		Ambient: f.Ambient(),
		EKS:     eks.NewFromConfig(f.AWS), EC2: ec2.NewFromConfig(f.AWS),
		Checks: dispatch.NewChecks(sqs.NewFromConfig(f.AWS), f.Settings.ChecksQueueURL),
		Fleet:  ledger.NewDynamo(dynamodb.NewFromConfig(f.AWS), f.Settings.Table), Region: f.AWS.Region,
		Interval: f.Settings.SweepInterval, VPCs: f.Settings.VPCs,
	}
	lambda.Start(h.Handle)
}
