package awserr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/smithy-go"

	"rollcall/shared/evidence/redact"
	"rollcall/shared/roll/pattern"
)

// described is an error with the sentence of Describe.
type described struct {
	error
	text string
}

func (d described) Error() string { return d.text }
func (d described) Unwrap() error { return d.error }

// Described returns an error that says what Describe says of err, and wraps it.
func Described(err error, call string) error { return described{err, Describe(err, call, "")} }

// Describe returns a sentence that says what went wrong with a call and what to do. call is
// the IAM action, such as ec2:DescribeInstances; "" takes it from the error. principal is
// the ARN of the caller, "" if unknown; a principal in the error takes precedence.
//
// Request ids, console links and encoded authorization messages are left out: a sentence
// that differs in each check could not be compared or grouped. A message may repeat a
// parameter, so it is redacted.
func Describe(err error, call, principal string) string {
	if err == nil {
		return ""
	}
	if call == "" {
		call = operation(err)
	}
	if missing, ok := errors.AsType[*NotCaptured](err); ok {
		return missing.Error()
	}
	switch {
	case IsDenied(err):
		return describeDenied(err, call, principal)
	case IsExpiredCredentials(err):
		if errorCode(err) == "RequestExpired" {
			return fmt.Sprintf("the AWS credentials for %s have expired, or this machine's clock is wrong: log in again (aws sso login)", call)
		}
		return fmt.Sprintf("the AWS credentials for %s have expired: log in again (aws sso login), or renew AWS_SESSION_TOKEN", call)
	case IsNoCredentials(err):
		return fmt.Sprintf("%s needs AWS credentials and none were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with aws sso login", call)
	case IsBadCredentials(err):
		return fmt.Sprintf("AWS does not accept the credentials for %s (%s): check AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, this machine's clock, and that the region is enabled for the account", call, errorCode(err))
	case isMissingRegion(err):
		return fmt.Sprintf("%s has no region to go to: set AWS_REGION, or a region in the AWS profile", call)
	case IsThrottled(err):
		return fmt.Sprintf("%s was throttled (%s): the next check tries again", call, cmp.Or(errorCode(err), "HTTP 429"))
	case IsUnreachable(err):
		return fmt.Sprintf("%s could not reach %s: check the region (AWS_REGION), AWS_ENDPOINT_URL, and the network's way to it", call, cmp.Or(host(err), "its endpoint"))
	case IsTimeout(err):
		return fmt.Sprintf("%s got no answer in time: the next check tries again", call)
	case errors.Is(err, context.Canceled):
		return call + " was interrupted before it was answered"
	case IsTerminationProtected(err):
		return call + " was refused: the instance has " + protection(err)
	}
	if c := errorCode(err); c != "" {
		return strings.TrimSuffix(fmt.Sprintf("%s failed with %s: %s", call, c, redact.Text(clean(errorMessage(err)))), ": ")
	}
	return fmt.Sprintf("%s failed: %s", call, redact.Text(clean(err.Error())))
}

// notAuthorized is the message of an access denied error (IAM User Guide,
// Troubleshoot access denied error messages). The resource and the reason are
// not always there.
var notAuthorized = pattern.New(`User: (\S+) is not authorized to perform: (\S+?)[.,]?(?: on resource: (\S+?)[.,]?)?(?: ((?:because|with an explicit deny) .+))?$`)

// noPolicy is the reason of an implicit denial.
var noPolicy = pattern.New(`^because no (.+?) allows `)

func describeDenied(err error, call, principal string) string {
	action, resource, why := call, "", ""
	if m := notAuthorized.FindStringSubmatch(clean(errorMessage(err))); m != nil {
		principal = m[1]
		if !strings.EqualFold(m[2], call) { // SNS writes SNS:Publish
			action = m[2]
		}
		if m[3] != "*" {
			resource = strings.Trim(m[3], `"`) // S3 quotes it
		}
		why = strings.TrimSuffix(m[4], ".")
	}

	said := call + " was denied"
	who := "the role or user that makes the call"
	if principal != "" {
		said += " to " + principal
		who = kind(principal)
	}
	what := action
	if resource != "" {
		what += " on " + resource
	}
	if why == "" {
		return fmt.Sprintf("%s: allow %s for %s", said, what, who)
	}
	said += " " + why
	m := noPolicy.FindStringSubmatch(why)
	switch {
	case m == nil: // explicit
		return fmt.Sprintf("%s: an allow does not override that, so change the deny to let %s do %s", said, who, what)
	case m[1] == "identity-based policy":
		return fmt.Sprintf("%s: allow %s for %s", said, what, who)
	}
	return fmt.Sprintf("%s: allow %s in the %s that applies to %s", said, what, m[1], who)
}

// kind returns a phrase that stands for the principal after its ARN, such as "that role".
func kind(arn string) string {
	switch {
	case strings.Contains(arn, ":assumed-role/"), strings.Contains(arn, ":role/"):
		return "that role"
	case strings.Contains(arn, ":user/"):
		return "that user"
	}
	return "that principal"
}

var (
	// Parts of a message that are about the message itself and not about the error.
	trailer = pattern.New(`(?s)[\s.]*(Encoded authorization failure message:|Go to https?://|\(Service: ).*$`)
	ids     = pattern.New(`,? ?\b(?:RequestID|Request ID|request id|HostID): ?[^\s,)]*`)
	blob    = pattern.New(`[A-Za-z0-9_+=-]{130,}`) // no name that IAM or EKS allows is as long
)

// clean returns a message as one line, without its unreadable parts.
func clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = trailer.ReplaceAllString(text, "")
	text = ids.ReplaceAllString(text, "")
	text = blob.ReplaceAllString(text, "...")
	return strings.TrimSuffix(text, ".")
}

// operation returns the call in the SDK's error, as an IAM action.
func operation(err error) string {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return strings.ToLower(strings.ReplaceAll(op.ServiceID, " ", "")) + ":" + op.OperationName
	}
	return "the AWS call"
}
