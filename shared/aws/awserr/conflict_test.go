package awserr

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func TestWritesThatSomethingElseStandsInTheWayOf(t *testing.T) {
	for name, c := range map[string]struct {
		err                           error
		conflict, precondition, write bool
		invalid                       bool
	}{
		"nothing wrong":          {},
		"no answer of a service": {err: errors.New("ConflictException, PreconditionFailed, ConditionalRequestConflict")},
		"the schedule exists":    {err: answer("Scheduler", "CreateSchedule", 409, "ConflictException", "Schedule x already exists."), conflict: true},
		"the object exists": {
			err:          fmt.Errorf("keep: %w", answer("S3", "PutObject", 412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")),
			precondition: true,
		},
		"the object exists, and the connection broke": {
			err:          failure("S3", "PutObject", &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 412}}, Err: errors.New("deserialization failed, failed to copy error response body")}),
			precondition: true,
		},
		"somebody else writes it":  {err: answer("S3", "PutObject", 409, "ConditionalRequestConflict", "The conditional request cannot succeed due to a conflicting operation against this resource."), write: true},
		"another conflict of S3":   {err: answer("S3", "PutObject", 409, "OperationAborted", "A conflicting conditional operation is currently in progress against this resource.")},
		"too long for its tier":    {err: answer("SSM", "PutParameter", 400, "ValidationException", "Standard tier parameters support a maximum parameter value of 4096 characters."), invalid: true},
		"denied, with that header": {err: answer("S3", "PutObject", 403, "AccessDenied", "Access Denied")},
	} {
		if got := IsConflict(c.err); got != c.conflict {
			t.Errorf("%s: conflict %t", name, got)
		}
		if got := IsInvalid(c.err); got != c.invalid {
			t.Errorf("%s: invalid %t", name, got)
		}
		if got := IsPreconditionFailed(c.err); got != c.precondition {
			t.Errorf("%s: precondition failed %t", name, got)
		}
		if got := IsWriteConflict(c.err); got != c.write {
			t.Errorf("%s: write conflict %t", name, got)
		}
	}
}
