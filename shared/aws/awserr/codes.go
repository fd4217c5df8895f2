package awserr

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"rollcall/shared/roll/pattern"
)

// IsNotFound reports whether the resource does not exist, as far as AWS knows. EC2 is
// eventually consistent and answers the same for another account's resources, so this proves
// no deletion.
func IsNotFound(err error) bool {
	c := errorCode(err)
	switch c {
	case "NoSuchEntity", "NoSuchEntityException", // IAM
		"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue": // SQS
		return true
	}
	// InvalidInstanceID.NotFound, ResourceNotFoundException, ParameterNotFound...
	return strings.HasSuffix(c, "NotFound") || strings.HasSuffix(c, "NotFoundException")
}

// IsNoStack reports whether CloudFormation knows no stack of the name or id in
// DescribeStacks. There is no code for that, and the call checks nothing else:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
func IsNoStack(err error) bool { return errorCode(err) == "ValidationError" }

// IsThrottled reports whether the call was refused for its rate. It knows the SDK's
// throttling codes and those that the SDK leaves out.
func IsThrottled(err error) bool {
	c := errorCode(err)
	if _, ok := retry.DefaultThrottleErrorCodes[c]; ok {
		return true
	}
	switch c {
	case "Throttled", "KMSThrottling", // SNS
		"OverLimit", "KmsThrottled", "KMS.ThrottlingException": // SQS; see deniedCodes
		return true
	}
	return httpStatus(err) == http.StatusTooManyRequests || IsTransactionThrottled(err)
}

// deniedCodes are the codes for a known caller that lacks a permission. SQS names an error in the
// answer's body, and by another name in the header x-amzn-query-error, which the SDK prefers.
var deniedCodes = []string{
	"UnauthorizedOperation",                        // EC2
	"AccessDeniedException",                        // EKS, DynamoDB, Scheduler, SSM
	"AccessDenied",                                 // Auto Scaling, IAM, STS, SQS, S3
	"AuthorizationError",                           // SNS
	"KMSAccessDenied",                              // SNS: the topic's key
	"KmsAccessDenied", "KMS.AccessDeniedException", // SQS: the queue's key
	"ForbiddenException", // SSO: the role is not the user's
}

// IsDenied reports whether the caller lacks a permission or a policy denies it. See
// IsBadCredentials for credentials that AWS does not accept.
func IsDenied(err error) bool {
	return slices.Contains(deniedCodes, errorCode(err))
}

// IsNoCredentials reports whether no credentials were found in the SDK's default chain, which
// ends with the instance metadata.
func IsNoCredentials(err error) bool {
	switch errorCode(err) {
	case "MissingAuthenticationToken", "MissingAuthenticationTokenException":
		return true
	}
	for op, ok := errors.AsType[*smithy.OperationError](err); ok; op, ok = errors.AsType[*smithy.OperationError](op.Err) {
		if op.ServiceID == "ec2imds" {
			return true
		}
	}
	// These errors have no type, or one in a package that brings service clients with it.
	return mentions(err,
		"no EC2 IMDS role found",
		"static credentials are empty",
		"failed to get shared config profile",
	)
}

// IsExpiredCredentials reports whether the session has ended and a new login is needed. EC2
// also answers RequestExpired if the clock is wrong by more than 15 minutes.
func IsExpiredCredentials(err error) bool {
	switch errorCode(err) {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired",
		"UnauthorizedException", // SSO: session token not found or invalid
		"InvalidGrantException": // SSO: the refresh token
		return true
	}
	return mentions(err,
		"the SSO session has expired or is invalid",
		"cached SSO token is expired",
		"failed to read cached SSO token file",
		"please reauthenticate", // aws login
	)
}

// badCodes are the codes for credentials, or a signature made with them, that AWS does not
// accept.
var badCodes = []string{
	"AuthFailure",                 // EC2
	"InvalidClientTokenId",        // query APIs
	"UnrecognizedClientException", // JSON APIs; also in a region that is not enabled
	"SignatureDoesNotMatch", "InvalidSignatureException",
	"InvalidAccessKeyId", "IncompleteSignature", "IncompleteSignatureException",
}

// IsBadCredentials reports whether AWS does not accept the credentials.
func IsBadCredentials(err error) bool {
	return slices.Contains(badCodes, errorCode(err))
}

// IsTimeout reports whether no answer came in time: by the deadline of the context, the
// network or the service. A slow search for credentials is not a timeout.
func IsTimeout(err error) bool {
	if err == nil || IsNoCredentials(err) {
		return false
	}
	switch errorCode(err) {
	case "RequestTimeout", "RequestTimeoutException":
		return true
	}
	if httpStatus(err) == http.StatusGatewayTimeout || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && late.Timeout()
}

// IsUnavailable reports whether the service itself failed (HTTP 5xx), neither by timeout nor
// by throttling. A retry may help.
func IsUnavailable(err error) bool {
	return httpStatus(err) >= http.StatusInternalServerError && !IsThrottled(err) && !IsTimeout(err)
}

// IsUnreachable reports whether no connection was possible: the name does not resolve, as in
// a region that does not exist, the endpoint refuses, or there is no route.
func IsUnreachable(err error) bool {
	if err == nil || IsNoCredentials(err) {
		return false
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)
}

// IsTerminationProtected reports whether ec2:TerminateInstances was refused because
// disableApiTermination or disableApiStop is set. EC2 uses the code for other refusals too.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-stop-protection.html
func IsTerminationProtected(err error) bool { return protection(err) != "" }

// protection names the protection for which EC2 refused a termination, "" for another error.
func protection(err error) string {
	switch said := errorMessage(err); {
	case errorCode(err) != "OperationNotPermitted":
	case strings.Contains(said, "disableApiTermination"):
		return "termination protection (disableApiTermination)"
	case strings.Contains(said, "may not be terminated") && strings.Contains(said, "disableApiStop"):
		return "stop protection (disableApiStop)"
	}
	return ""
}

// IsIncorrectState reports whether the instance's state does not allow the call, such as a
// reboot while shutting down.
func IsIncorrectState(err error) bool {
	switch errorCode(err) {
	case "IncorrectInstanceState", "IncorrectState":
		return true
	}
	return false
}

var (
	instanceID = pattern.New(`\bi-[0-9a-z]+`)
	quotedText = pattern.New(`"[^"]*"|'[^']*'`)
)

// InvalidInstanceIDs returns the ids in an InvalidInstanceID.NotFound or .Malformed error, as
// in "The instance IDs 'i-0aa, i-0bb' do not exist" or `Invalid id: "node-1"`; nil for any
// other error. EC2 refuses the whole request for one such id.
func InvalidInstanceIDs(err error) []string {
	var ids []string
	switch text := errorMessage(err); errorCode(err) {
	case "InvalidInstanceID.NotFound":
		ids = instanceID.FindAllString(text, -1)
	case "InvalidInstanceID.Malformed":
		text, _, _ = strings.Cut(text, "(expecting")
		for _, quoted := range quotedText.FindAllString(text, -1) {
			for id := range strings.SplitSeq(quoted[1:len(quoted)-1], ",") {
				if id = strings.TrimSpace(id); id != "" {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// errorCode returns the code of the error, "" if no service answered with one. Older
// endpoints put the side at fault before it.
func errorCode(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return strings.TrimPrefix(strings.TrimPrefix(api.ErrorCode(), "Client."), "Server.")
	}
	return ""
}

func errorMessage(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorMessage()
	}
	return ""
}

func httpStatus(err error) int {
	if response, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

// host returns the endpoint of the request, "" if unknown.
func host(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if u, parseErr := url.Parse(e.URL); parseErr == nil {
			return u.Host
		}
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return e.Name
	}
	return ""
}

func isMissingRegion(err error) bool {
	if _, ok := errors.AsType[*aws.MissingRegionError](err); ok {
		return true
	}
	return mentions(err, "Invalid Configuration: Missing Region") // of the endpoint rules, untyped
}

func mentions(err error, texts ...string) bool {
	if err == nil {
		return false
	}
	all := err.Error()
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(all, text) })
}

// IsConflict reports whether the resource to create exists already: EventBridge Scheduler's
// ConflictException.
func IsConflict(err error) bool {
	return errorCode(err) == "ConflictException"
}

// IsPreconditionFailed reports whether S3 wrote nothing because the call's condition failed:
// with If-None-Match, the object exists already. The status says so even where the rest of the answer is
// lost, since S3 may answer before it has read the object.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func IsPreconditionFailed(err error) bool {
	return errorCode(err) == "PreconditionFailed" || httpStatus(err) == http.StatusPreconditionFailed
}

// IsWriteConflict reports whether S3 wrote nothing because of a concurrent write or deletion
// of the object. A retry may succeed.
func IsWriteConflict(err error) bool {
	return errorCode(err) == "ConditionalRequestConflict"
}

// IsInvalid reports whether a service rejects the content of the call: Systems Manager's
// ValidationException, such as for a value that is too long for the parameter's tier.
func IsInvalid(err error) bool {
	return errorCode(err) == "ValidationException"
}

// resourceID is the id of an EC2 resource: the short form of its kind, and 8 or 17
// hexadecimal digits.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
var resourceID = pattern.New(`\b[a-z]+-(?:[0-9a-f]{17}|[0-9a-f]{8})\b`)

// MissingIDs returns the ids that do not exist according to an error of EC2, as in "The image
// ids '[ami-0123456789abcdef0, ami-0fedcba9876543210]' do not exist"; nil for any other
// error. EC2 refuses the whole request for one such id.
func MissingIDs(err error) []string {
	if err == nil || !IsNotFound(err) {
		return nil
	}
	return resourceID.FindAllString(errorMessage(err), -1)
}

// IsUnsupported reports whether the resource does not support the request: for
// ec2:GetConsoleOutput, that the instance type has no latest output, which requires the Nitro
// hypervisor.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html
func IsUnsupported(err error) bool {
	return errorCode(err) == "UnsupportedOperation"
}

// IsConditionFailed reports whether DynamoDB did not write a transaction because one of its
// conditions failed.
func IsConditionFailed(err error) bool { return cancelledFor(err, "ConditionalCheckFailed") }

// IsTransactionConflict reports whether DynamoDB did not write a transaction because of a
// concurrent write to one of its items. A retry may succeed.
func IsTransactionConflict(err error) bool { return cancelledFor(err, "TransactionConflict") }

// IsTransactionThrottled reports whether DynamoDB did not write a transaction because of its
// rate. A retry may succeed. Unlike other throttled calls, the SDK does not retry it: to the SDK
// all cancelled transactions are the same.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
func IsTransactionThrottled(err error) bool {
	return cancelledFor(err, "ThrottlingError", "ProvisionedThroughputExceeded")
}

// cancelledFor reports whether a DynamoDB transaction was cancelled for one of the reasons.
// The error itself has one code for all.
func cancelledFor(err error, reasons ...string) bool {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && slices.ContainsFunc(cancelled.CancellationReasons, func(r types.CancellationReason) bool {
		return r.Code != nil && slices.Contains(reasons, *r.Code)
	})
}
