// Command approve is the function that a chat's button invokes to approve an order. It writes
// approvals into the ledger and nothing else; remediate verifies each order before it acts.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"rollcall/functions/internal/start"
	"rollcall/shared/lambdas/approve"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/ledger"
)

func main() {
	f := start.Begin("approve", config.Table)
	h := &approve.Approver{Ambient: f.Ambient(), Ledger: ledger.NewDynamo(dynamodb.NewFromConfig(f.AWS), f.Settings.Table)}
	lambda.Start(h.Handle)
}
