package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/aws/awserr"
)

// principal is the ARN of the functions' assumed role.
const principal = "arn:aws:sts::" + accountID + ":assumed-role/rollcall/function"

// refusal is a service's error code and its HTTP status.
type refusal struct {
	code   string
	status int
}

// manner holds a service's answers to faults that affect every service.
type manner struct{ throttled, failed, denied refusal }

// manners holds them by service, from the error lists of the API references.
var manners = map[string]manner{
	"ec2":             {refusal{"RequestLimitExceeded", 503}, refusal{"InternalError", 500}, refusal{"UnauthorizedOperation", 403}},
	"autoscaling":     {refusal{"Throttling", 400}, refusal{"ServiceUnavailable", 503}, refusal{"AccessDenied", 403}},
	"iam":             {refusal{"Throttling", 400}, refusal{"ServiceFailure", 500}, refusal{"AccessDenied", 403}},
	"eks":             {refusal{"ThrottlingException", 429}, refusal{"ServiceUnavailableException", 503}, refusal{"AccessDeniedException", 403}},
	"arc-zonal-shift": {refusal{"ThrottlingException", 429}, refusal{"InternalServerException", 500}, refusal{"AccessDeniedException", 403}},
	"sqs":             {refusal{"RequestThrottled", 403}, refusal{"ServiceUnavailable", 503}, refusal{"AccessDenied", 403}},
	"sns":             {refusal{"Throttled", 429}, refusal{"InternalError", 500}, refusal{"AuthorizationError", 403}},
	"scheduler":       {refusal{"ThrottlingException", 429}, refusal{"InternalServerException", 500}, refusal{"AccessDeniedException", 403}},
	"events":          {refusal{"ThrottlingException", 400}, refusal{"InternalException", 500}, refusal{"AccessDeniedException", 400}},
	"ssm":             {refusal{"ThrottlingException", 400}, refusal{"InternalServerError", 500}, refusal{"AccessDeniedException", 400}},
	"dynamodb":        {refusal{"ProvisionedThroughputExceededException", 400}, refusal{"InternalServerError", 500}, refusal{"AccessDeniedException", 400}},
	"s3":              {refusal{"SlowDown", 503}, refusal{"InternalError", 500}, refusal{"AccessDenied", 403}},
	"sts":             {refusal{"Throttling", 400}, refusal{"ServiceUnavailable", 503}, refusal{"AccessDenied", 403}},
}

// awsFault returns the error of an AWS call that meets the fault.
func awsFault(what string, name string) error {
	service, _, _ := strings.Cut(name, ":")
	m, known := manners[service]
	if !known {
		panic(fmt.Sprintf("how %s fails is not known here", name))
	}
	switch what {
	case faultThrottle:
		if name == "dynamodb:TransactWriteItems" {
			return &types.TransactionCanceledException{
				Message:             aws.String("Transaction cancelled, please refer cancellation reasons for specific reasons [ThrottlingError]"),
				CancellationReasons: []types.CancellationReason{{Code: aws.String("ThrottlingError")}},
			}
		}
		return m.throttled.made("Rate exceeded")
	case faultServer:
		return m.failed.made("The service is unavailable. Please try again shortly.")
	case faultDenied:
		return notAllowed(name)
	}
	panic(fmt.Sprintf("no call of AWS meets %q", what))
}

func (r refusal) made(message string) error { return awserr.Made(r.code, message, r.status) }

// notAllowed returns the error of a call that the functions' roles do not permit.
func notAllowed(name string) error {
	service, _, _ := strings.Cut(name, ":")
	return manners[service].denied.made(fmt.Sprintf("User: %s is not authorized to perform: %s because no identity-based policy allows the %s action", principal, name, name))
}

// badRequest returns the error of a request that a service rejects because of its content.
func badRequest(code, format string, args ...any) error {
	return awserr.Made(code, fmt.Sprintf(format, args...), http.StatusBadRequest)
}

// noSuch returns the error of a service that answers 404 for what does not exist.
func noSuch(code, format string, args ...any) error {
	return awserr.Made(code, fmt.Sprintf(format, args...), http.StatusNotFound)
}

// unsimulated ends the run: a client received a request that is not simulated, and any answer
// would hide that. The caller may recover from the panic, so it is also recorded.
func (v *env) unsimulated(in any) {
	asked, err := json.Marshal(in)
	if err != nil {
		asked = fmt.Appendf(nil, "%+v", in)
	}
	call := strings.TrimSuffix(strings.Replace(fmt.Sprintf("%T", in)[1:], ".", ":", 1), "Input")
	text := fmt.Sprintf("nothing here can answer %s of %s", call, asked)
	v.a.note(Event{Kind: EventViolated, Detail: text})
	panic(text)
}
