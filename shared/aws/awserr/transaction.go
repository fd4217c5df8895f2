package awserr

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// IsConditionFailed reports whether DynamoDB did not write a transaction because one of its
// conditions failed.
func IsConditionFailed(err error) bool { return cancelledFor(err, "ConditionalCheckFailed") }

// IsTransactionConflict reports whether DynamoDB did not write a transaction because of a
// concurrent write to one of its items. A retry may succeed.
func IsTransactionConflict(err error) bool { return cancelledFor(err, "TransactionConflict") }

// cancelledFor reports whether a DynamoDB transaction was cancelled for one of the reasons.
// The error itself has one code for all.
func cancelledFor(err error, reasons ...string) bool {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && slices.ContainsFunc(cancelled.CancellationReasons, func(r types.CancellationReason) bool {
		return r.Code != nil && slices.Contains(reasons, *r.Code)
	})
}
