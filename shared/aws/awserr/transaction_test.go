package awserr

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestDynamoDBWrites(t *testing.T) {
	cancelled := func(codes ...string) error {
		e := &types.TransactionCanceledException{}
		for _, c := range codes {
			e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: &c})
		}
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{})
		return fmt.Errorf("write: %w", failure("DynamoDB", "TransactWriteItems", e))
	}
	for name, c := range map[string]struct {
		err                            error
		condition, conflict, throttled bool
	}{
		"nothing wrong":              {},
		"no answer of a service":     {err: errors.New("ConditionalCheckFailed, TransactionConflict, ThrottlingError")},
		"a condition in all":         {err: cancelled("None", "ConditionalCheckFailed"), condition: true},
		"another write in all":       {err: cancelled("TransactionConflict"), conflict: true},
		"both":                       {err: cancelled("TransactionConflict", "ConditionalCheckFailed"), condition: true, conflict: true},
		"no capacity on demand":      {err: cancelled("None", "ThrottlingError"), throttled: true},
		"no capacity provisioned":    {err: cancelled("ProvisionedThroughputExceeded"), throttled: true},
		"a query's capacity":         {err: failure("DynamoDB", "Query", &types.ProvisionedThroughputExceededException{}), throttled: true},
		"an item that is too large":  {err: cancelled("ValidationError")},
		"cancelled without a reason": {err: cancelled()},
	} {
		if got := IsConditionFailed(c.err); got != c.condition {
			t.Errorf("%s: condition failed %t", name, got)
		}
		if got := IsTransactionConflict(c.err); got != c.conflict {
			t.Errorf("%s: conflict %t", name, got)
		}
		if got := IsThrottled(c.err); got != c.throttled {
			t.Errorf("%s: throttled %t", name, got)
		}
	}
}
