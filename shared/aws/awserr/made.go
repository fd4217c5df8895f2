package awserr

import (
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

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
