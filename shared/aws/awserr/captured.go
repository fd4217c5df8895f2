package awserr

import (
	"strings"

	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// NotCaptured is the error of a client that answers from captured files and has no answer.
// It is neither a denial nor "not found".
type NotCaptured struct {
	What string // such as roles.json
	Why  string // the reason; "" means "is not in the bundle"
}

// Error returns the sentence, such as "roles.json is not in the bundle".
func (e *NotCaptured) Error() string {
	if e.Why == "" {
		return e.What + " is not in the bundle"
	}
	return e.What + " " + e.Why
}

// UnknownInstances returns EC2's error for unknown instance ids; see [InvalidInstanceIDs].
func UnknownInstances(ids []string) error {
	text := "The instance ID '" + strings.Join(ids, ", ") + "' does not exist"
	if len(ids) > 1 {
		text = "The instance IDs '" + strings.Join(ids, ", ") + "' do not exist"
	}
	return &smithy.GenericAPIError{Code: "InvalidInstanceID.NotFound", Message: text}
}

// Made returns the error of a service in the form of the SDK, for clients that stand in for
// AWS. status is the HTTP status, such as 400.
func Made(code, message string, status int) error {
	fault := smithy.FaultClient
	if status >= http.StatusInternalServerError {
		fault = smithy.FaultServer
	}
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      &smithy.GenericAPIError{Code: code, Message: message, Fault: fault},
	}}
}
