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

// principal is whom the account takes the functions for.
const principal = "arn:aws:sts::" + accountID + ":assumed-role/rollcall/function"

// refusal is a code with which a service answers, and the status of that answer.
type refusal struct {
	code   string
	status int
}

// manner is how a service answers what befalls every service.
type manner struct{ throttled, failed, denied refusal }

// manners are those of the services, from the error lists of their API references.
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

// awsFault is the error of a call of AWS for what it meets.
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

// notAllowed is the error of a call for which the functions' roles have no permission.
func notAllowed(name string) error {
	service, _, _ := strings.Cut(name, ":")
	return manners[service].denied.made(fmt.Sprintf("User: %s is not authorized to perform: %s because no identity-based policy allows the %s action", principal, name, name))
}

// badRequest is the error of a request that a service cannot fulfil for what is in it.
func badRequest(code, format string, args ...any) error {
	return awserr.Made(code, fmt.Sprintf(format, args...), http.StatusBadRequest)
}

// noSuch is the error of a service that has 404 for what does not exist.
func noSuch(code, format string, args ...any) error {
	return awserr.Made(code, fmt.Sprintf(format, args...), http.StatusNotFound)
}

// unsimulated ends the run: a client was asked for something in a way that it does not
// know, and whatever it answered would hide that. What asked may recover from it, so it
// is noted too.
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
