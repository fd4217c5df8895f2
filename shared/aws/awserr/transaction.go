package awserr

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// IsConditionFailed reports that DynamoDB did not write because the condition of the
// write, or of one in its transaction, does not hold.
func IsConditionFailed(err error) bool {
	return errorCode(err) == "ConditionalCheckFailedException" || cancelledFor(err, "ConditionalCheckFailed")
}

// IsTransactionConflict reports that DynamoDB did not write because another write to
// one of the items was under way. The same write may go through a moment later.
func IsTransactionConflict(err error) bool {
	return errorCode(err) == "TransactionConflictException" || cancelledFor(err, "TransactionConflict")
}

// cancelledFor tells whether one of the reasons is among those for which a DynamoDB
// transaction was cancelled. The error itself has one code for all of them.
func cancelledFor(err error, reasons ...string) bool {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && slices.ContainsFunc(cancelled.CancellationReasons, func(r types.CancellationReason) bool {
		return r.Code != nil && slices.Contains(reasons, *r.Code)
	})
}
