package awserr

import (
	"net/http"
	"slices"
	"testing"
)

func TestMade(t *testing.T) {
	for _, tt := range []struct {
		code, message string
		status        int
		want          kinds
	}{
		{"RequestLimitExceeded", "Request limit exceeded.", 503, kinds{throttled: true}},
		{"TooManyRequests", "slow down", http.StatusTooManyRequests, kinds{throttled: true}},
		{"InternalError", "An internal error has occurred", 500, kinds{unavailable: true}},
		{"GatewayTimeout", "no answer", http.StatusGatewayTimeout, kinds{timeout: true}},
		{"UnauthorizedOperation", "You are not authorized to perform this operation.", 403, kinds{denied: true}},
		{"ResourceNotFoundException", "No cluster found for name: demo.", 404, kinds{notFound: true}},
		{"OperationNotPermitted", "The instance 'i-0123456789abcdef0' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", 400, kinds{protected: true}},
		{"OperationNotPermitted", "The instance 'i-0123456789abcdef0' may not be terminated. Modify its 'disableApiStop' instance attribute and try again.", 400, kinds{protected: true}},
		{"IncorrectInstanceState", "The instance 'i-0123456789abcdef0' is not in the 'running' state.", 400, kinds{state: true}},
	} {
		err := Made(tt.code, tt.message, tt.status)
		if got := classify(err); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.code, got, tt.want)
		}
		if errorCode(err) != tt.code || errorMessage(err) != tt.message || httpStatus(err) != tt.status {
			t.Errorf("%v is not what was made of %s", err, tt.code)
		}
	}
	if got := InvalidInstanceIDs(Made("InvalidInstanceID.NotFound", "The instance ID 'i-0aa' does not exist", 400)); !slices.Equal(got, []string{"i-0aa"}) {
		t.Errorf("got %v", got)
	}
}
