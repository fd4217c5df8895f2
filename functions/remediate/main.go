// Command remediate is the function that carries out orders. It is the only one that may
// destroy, and it verifies each order first.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"rollcall/functions/internal/start"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/lambdas"
	"rollcall/shared/lambdas/bus"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/collect"
	"rollcall/shared/observe/view"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
)

func main() {
	f := start.Begin("remediate", config.Mode, config.PolicyParameter, config.WarnAfter, config.Deadline, config.Table, config.Topic, config.ChatTopic, config.Stack, config.EventBus, config.ReadSecrets, config.HostLogs, config.EvidenceBucket)
	look := view.Open(f.AWS, "rollcall-remediate", view.Options{
		Store: archive.NewS3(s3.NewFromConfig(f.AWS), f.Settings.EvidenceBucket), Calls: f.Calls, PageInterval: start.PageInterval,
		WithoutSecrets: f.Settings.WithoutSecrets, HostLogs: collect.HostLogs{Document: f.Settings.HostLogs},
	})
	table := ledger.NewDynamo(dynamodb.NewFromConfig(f.AWS), f.Settings.Table)
	remediator, err := remediate.New(remediate.Options{
		Targets:   look.Observer,
		EC2:       look.EC2,
		Kube:      look.Kube,
		Why:       look.Act,
		Ledger:    table,
		Policy:    config.NewPolicyStore(ssm.NewFromConfig(f.AWS), f.Settings).Remembering(table).Read,
		Permitted: f.Settings.Mode,
		Clock:     start.Clock,
	})
	if err != nil {
		start.Fatal("remediate", err)
	}
	h := &lambdas.Remediate{
		Ambient:    f.Ambient(),
		Remediator: remediator,
		Notices:    report.NewTopic(sns.NewFromConfig(f.AWS), f.Settings.Topic, f.Settings.ChatTopic, start.Nobody).From(start.Version),
		Events:     bus.New(eventbridge.NewFromConfig(f.AWS), f.Settings.EventBus),
		Stack:      f.Settings.Stack,
	}
	lambda.Start(h.Handle)
}
