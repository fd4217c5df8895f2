package awserr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	requestID = "15d01fad-2b63-441c-b1b3-f8d6e0000000"
	role      = "arn:aws:sts::111122223333:assumed-role/ops/x"
)

// answer returns a service's error in the form of the SDK.
func answer(service, op string, status int, code, message string) error {
	return failure(service, op, &awshttp.ResponseError{
		RequestID: requestID,
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
			Err:      &smithy.GenericAPIError{Code: code, Message: message},
		},
	})
}

func failure(service, op string, err error) error {
	return &smithy.OperationError{ServiceID: service, OperationName: op, Err: err}
}

// unsent returns the error of a request that did not reach the service.
func unsent(service, op, address string, err error) error {
	return failure(service, op, &retry.MaxAttemptsError{Attempt: 3, Err: &smithyhttp.RequestSendError{
		Err: &url.Error{Op: "Post", URL: address, Err: err},
	}})
}

func unsigned(service, op string, err error) error {
	return failure(service, op, fmt.Errorf("get identity: %w", fmt.Errorf("get credentials: %w",
		fmt.Errorf("failed to refresh cached credentials, %w", err))))
}

func noRole(cause error) error {
	return unsigned("EC2", "DescribeInstances", fmt.Errorf("no EC2 IMDS role found, %w", failure("ec2imds", "GetMetadata", cause)))
}

type kinds struct {
	notFound, throttled, denied, noCreds, expired, bad, timeout, unreachable, protected, state, unavailable bool
}

func classify(err error) kinds {
	return kinds{
		IsNotFound(err), IsThrottled(err), IsDenied(err), IsNoCredentials(err), IsExpiredCredentials(err),
		IsBadCredentials(err), IsTimeout(err), IsUnreachable(err), IsTerminationProtected(err), IsIncorrectState(err), IsUnavailable(err),
	}
}

func TestErrors(t *testing.T) {
	blob := strings.Repeat("Kqrv7rqm0Iuv30uKGOeEfqeHthvKBrqMfT9Ny5f5yKBq-_", 20)
	tests := []struct {
		name      string
		err       error
		call      string
		principal string
		want      kinds
		text      string
	}{
		{name: "nothing wrong"},

		// Denied
		{
			name: "EC2, without a word", call: "ec2:DescribeInstances", principal: role,
			err:  answer("EC2", "DescribeInstances", 403, "UnauthorizedOperation", "You are not authorized to perform this operation."),
			want: kinds{denied: true},
			text: "ec2:DescribeInstances was denied to arn:aws:sts::111122223333:assumed-role/ops/x: allow ec2:DescribeInstances for that role",
		},
		{
			name: "EC2, principal unknown",
			err:  answer("EC2", "DescribeInstances", 403, "UnauthorizedOperation", "You are not authorized to perform this operation."),
			want: kinds{denied: true},
			text: "ec2:DescribeInstances was denied: allow ec2:DescribeInstances for the role or user that makes the call",
		},
		{
			name: "EC2, with a reason and an encoded message", call: "ec2:TerminateInstances",
			err: answer("EC2", "TerminateInstances", 403, "UnauthorizedOperation",
				"You are not authorized to perform this operation. User: "+role+" is not authorized to perform: ec2:TerminateInstances on resource: arn:aws:ec2:eu-west-1:111122223333:instance/i-0aaaaaaaaaaaaaaaa because no identity-based policy allows the ec2:TerminateInstances action. Encoded authorization failure message: "+blob),
			want: kinds{denied: true},
			text: "ec2:TerminateInstances was denied to arn:aws:sts::111122223333:assumed-role/ops/x because no identity-based policy allows the ec2:TerminateInstances action: allow ec2:TerminateInstances on arn:aws:ec2:eu-west-1:111122223333:instance/i-0aaaaaaaaaaaaaaaa for that role",
		},
		{
			name: "EC2, only an encoded message", call: "ec2:RebootInstances", principal: "arn:aws:iam::111122223333:user/operator",
			err:  answer("EC2", "RebootInstances", 403, "UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: "+blob),
			want: kinds{denied: true},
			text: "ec2:RebootInstances was denied to arn:aws:iam::111122223333:user/operator: allow ec2:RebootInstances for that user",
		},
		{
			name: "EKS, no reason", call: "eks:ListClusters", principal: "arn:aws:iam::111122223333:role/guessed",
			err: answer("EKS", "ListClusters", 403, "AccessDeniedException",
				"User: "+role+" is not authorized to perform: eks:ListClusters on resource: arn:aws:eks:eu-west-1:111122223333:cluster/*"),
			want: kinds{denied: true},
			text: "eks:ListClusters was denied to arn:aws:sts::111122223333:assumed-role/ops/x: allow eks:ListClusters on arn:aws:eks:eu-west-1:111122223333:cluster/* for that role",
		},
		{
			name: "S3, the resource in quotes", call: "s3:PutObject",
			err: answer("S3", "PutObject", 403, "AccessDenied",
				"User: "+role+" is not authorized to perform: s3:PutObject on resource: \"arn:aws:s3:::amzn-s3-demo-bucket/a/b.json\" because no identity-based policy allows the s3:PutObject action"),
			want: kinds{denied: true},
			text: "s3:PutObject was denied to arn:aws:sts::111122223333:assumed-role/ops/x because no identity-based policy allows the s3:PutObject action: allow s3:PutObject on arn:aws:s3:::amzn-s3-demo-bucket/a/b.json for that role",
		},
		{
			name: "the IAM action is another than the call", call: "eks:DescribeCluster",
			err: unsigned("EKS", "DescribeCluster", answer("STS", "AssumeRole", 403, "AccessDenied",
				"User: arn:aws:iam::111122223333:user/operator is not authorized to perform: sts:AssumeRole on resource: arn:aws:iam::123456789012:role/reader")),
			want: kinds{denied: true},
			text: "eks:DescribeCluster was denied to arn:aws:iam::111122223333:user/operator: allow sts:AssumeRole on arn:aws:iam::123456789012:role/reader for that user",
		},
		{
			name: "an explicit deny in a service control policy", call: "autoscaling:DescribeAutoScalingGroups",
			err: answer("Auto Scaling", "DescribeAutoScalingGroups", 403, "AccessDenied",
				"User: "+role+" is not authorized to perform: autoscaling:DescribeAutoScalingGroups with an explicit deny in a service control policy"),
			want: kinds{denied: true},
			text: "autoscaling:DescribeAutoScalingGroups was denied to arn:aws:sts::111122223333:assumed-role/ops/x with an explicit deny in a service control policy: an allow does not override that, so change the deny to let that role do autoscaling:DescribeAutoScalingGroups",
		},
		{
			name: "an explicit deny with the policy, a console link and an authorization id", call: "ec2:CreateTags",
			err: answer("EC2", "CreateTags", 403, "UnauthorizedOperation",
				"User: "+role+" is not authorized to perform: ec2:CreateTags on resource: *\nwith an explicit deny in an identity-based policy: arn:aws:iam::111122223333:policy/Example.\nGo to https://us-east-1.console.aws.amazon.com/iam/home?region=us-east-1#/authorization-details/EXAMPLE1a2b3c4d5e for complete details,\nor call the GetRequestAuthorizationDetails API with the following authorization id: EXAMPLE1a2b3c4d5e"),
			want: kinds{denied: true},
			text: "ec2:CreateTags was denied to arn:aws:sts::111122223333:assumed-role/ops/x with an explicit deny in an identity-based policy: arn:aws:iam::111122223333:policy/Example: an allow does not override that, so change the deny to let that role do ec2:CreateTags",
		},
		{
			name: "a VPC endpoint's policy", call: "ec2:DescribeSubnets",
			err: answer("EC2", "DescribeSubnets", 403, "UnauthorizedOperation",
				"You are not authorized to perform this operation. User: "+role+" is not authorized to perform: ec2:DescribeSubnets because no VPC endpoint policy allows the ec2:DescribeSubnets action"),
			want: kinds{denied: true},
			text: "ec2:DescribeSubnets was denied to arn:aws:sts::111122223333:assumed-role/ops/x because no VPC endpoint policy allows the ec2:DescribeSubnets action: allow ec2:DescribeSubnets in the VPC endpoint policy that applies to that role",
		},
		{
			name: "SNS, which has a code and a spelling of its own", call: "sns:Publish",
			err: answer("SNS", "Publish", 403, "AuthorizationError",
				"User: "+role+" is not authorized to perform: SNS:Publish on resource: arn:aws:sns:eu-west-1:111122223333:rollcall because no identity-based policy allows the SNS:Publish action"),
			want: kinds{denied: true},
			text: "sns:Publish was denied to arn:aws:sts::111122223333:assumed-role/ops/x because no identity-based policy allows the SNS:Publish action: allow sns:Publish on arn:aws:sns:eu-west-1:111122223333:rollcall for that role",
		},
		{
			name: "names as long as AWS allows", call: "eks:DescribeCluster",
			err: answer("EKS", "DescribeCluster", 403, "AccessDeniedException",
				"User: arn:aws:sts::111122223333:assumed-role/"+strings.Repeat("r", 64)+"/"+strings.Repeat("s", 64)+" is not authorized to perform: eks:DescribeCluster on resource: arn:aws:eks:eu-west-1:111122223333:cluster/"+strings.Repeat("c", 100)),
			want: kinds{denied: true},
			text: "eks:DescribeCluster was denied to arn:aws:sts::111122223333:assumed-role/" + strings.Repeat("r", 64) + "/" + strings.Repeat("s", 64) + ": allow eks:DescribeCluster on arn:aws:eks:eu-west-1:111122223333:cluster/" + strings.Repeat("c", 100) + " for that role",
		},
		{
			name: "the account's root",
			err:  answer("SQS", "SendMessage", 403, "AccessDenied", "User: arn:aws:iam::111122223333:root is not authorized to perform: sqs:sendmessage"),
			want: kinds{denied: true},
			text: "sqs:SendMessage was denied to arn:aws:iam::111122223333:root: allow sqs:SendMessage for that principal",
		},

		// Credentials
		{
			name: "none, off AWS", call: "ec2:DescribeInstances",
			err:  noRole(&aws.RequestCanceledError{Err: context.DeadlineExceeded}),
			want: kinds{noCreds: true},
			text: "ec2:DescribeInstances needs AWS credentials and none were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with aws sso login",
		},
		{
			name: "none, no route to the metadata service",
			err:  noRole(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}),
			want: kinds{noCreds: true},
			text: "ec2:DescribeInstances needs AWS credentials and none were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with aws sso login",
		},
		{
			name: "a profile that does not exist", call: "sts:GetCallerIdentity",
			err:  errors.New("failed to get shared config profile, prodd"),
			want: kinds{noCreds: true},
			text: "sts:GetCallerIdentity needs AWS credentials and none were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with aws sso login",
		},
		{
			name: "not signed", call: "eks:ListClusters",
			err:  answer("EKS", "ListClusters", 403, "MissingAuthenticationTokenException", "Missing Authentication Token"),
			want: kinds{noCreds: true},
			text: "eks:ListClusters needs AWS credentials and none were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with aws sso login",
		},
		{
			name: "an expired session", call: "eks:ListClusters",
			err:  answer("EKS", "ListClusters", 403, "ExpiredTokenException", "The security token included in the request is expired"),
			want: kinds{expired: true},
			text: "the AWS credentials for eks:ListClusters have expired: log in again (aws sso login), or renew AWS_SESSION_TOKEN",
		},
		{
			name: "an expired session, by EC2",
			err:  answer("EC2", "DescribeInstances", 400, "RequestExpired", "Request has expired."),
			want: kinds{expired: true},
			text: "the AWS credentials for ec2:DescribeInstances have expired, or this machine's clock is wrong: log in again (aws sso login)",
		},
		{
			name: "an expired SSO login",
			err:  unsigned("STS", "GetCallerIdentity", errors.New("the SSO session has expired or is invalid: open /home/operator/.aws/sso/cache/0a1b.json: no such file or directory")),
			want: kinds{expired: true},
			text: "the AWS credentials for sts:GetCallerIdentity have expired: log in again (aws sso login), or renew AWS_SESSION_TOKEN",
		},
		{
			name: "no SSO login yet",
			err:  unsigned("STS", "GetCallerIdentity", errors.New("failed to refresh cached credentials, failed to read cached SSO token file, open /home/operator/.aws/sso/cache/0a1b.json: no such file or directory")),
			want: kinds{expired: true},
			text: "the AWS credentials for sts:GetCallerIdentity have expired: log in again (aws sso login), or renew AWS_SESSION_TOKEN",
		},
		{
			name: "an SSO login that was revoked",
			err:  unsigned("EC2", "DescribeInstances", answer("SSO", "GetRoleCredentials", 401, "UnauthorizedException", "Session token not found or invalid")),
			want: kinds{expired: true},
			text: "the AWS credentials for ec2:DescribeInstances have expired: log in again (aws sso login), or renew AWS_SESSION_TOKEN",
		},
		{
			name: "a key that does not exist",
			err:  answer("STS", "GetCallerIdentity", 403, "InvalidClientTokenId", "The security token included in the request is invalid."),
			want: kinds{bad: true},
			text: "AWS does not accept the credentials for sts:GetCallerIdentity (InvalidClientTokenId): check AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, this machine's clock, and that the region is enabled for the account",
		},
		{
			name: "a wrong secret, by EC2",
			err:  answer("EC2", "DescribeInstances", 401, "AuthFailure", "AWS was not able to validate the provided access credentials"),
			want: kinds{bad: true},
			text: "AWS does not accept the credentials for ec2:DescribeInstances (AuthFailure): check AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, this machine's clock, and that the region is enabled for the account",
		},

		// Throttled
		{
			name: "EC2's rate",
			err:  failure("EC2", "DescribeInstances", &retry.MaxAttemptsError{Attempt: 3, Err: answer("EC2", "DescribeInstances", 503, "RequestLimitExceeded", "Request limit exceeded.")}),
			want: kinds{throttled: true},
			text: "ec2:DescribeInstances was throttled (RequestLimitExceeded): the next check tries again",
		},
		{
			name: "Auto Scaling's rate, wrapped, and the retries used up",
			err:  fmt.Errorf("describe groups in eu-west-1: %w", failure("Auto Scaling", "DescribeAutoScalingGroups", errors.Join(&smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded"}, ratelimit.QuotaExceededError{Available: 0, Requested: 5}))),
			want: kinds{throttled: true},
			text: "autoscaling:DescribeAutoScalingGroups was throttled (Throttling): the next check tries again",
		},
		{
			name: "EKS's rate",
			err:  answer("EKS", "DescribeCluster", 429, "ThrottlingException", "Rate exceeded"),
			want: kinds{throttled: true},
			text: "eks:DescribeCluster was throttled (ThrottlingException): the next check tries again",
		},
		{
			name: "SNS's rate",
			err:  answer("SNS", "Publish", 429, "Throttled", "Rate exceeded"),
			want: kinds{throttled: true},
			text: "sns:Publish was throttled (Throttled): the next check tries again",
		},
		{
			name: "by status alone", call: "eks:ListNodegroups",
			err:  failure("EKS", "ListNodegroups", &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 429}}, Err: errors.New("no body")}),
			want: kinds{throttled: true},
			text: "eks:ListNodegroups was throttled (HTTP 429): the next check tries again",
		},

		// The network
		{
			name: "a region that does not exist", call: "ec2:DescribeInstances",
			err:  unsent("EC2", "DescribeInstances", "https://ec2.eu-wset-1.amazonaws.com/", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "ec2.eu-wset-1.amazonaws.com", IsNotFound: true}}),
			want: kinds{unreachable: true},
			text: "ec2:DescribeInstances could not reach ec2.eu-wset-1.amazonaws.com: check the region (AWS_REGION), AWS_ENDPOINT_URL, and the network's way to it",
		},
		{
			name: "nobody listens", call: "eks:ListClusters",
			err:  unsent("EKS", "ListClusters", "http://127.0.0.1:4566/clusters?nextToken=abc", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}),
			want: kinds{unreachable: true},
			text: "eks:ListClusters could not reach 127.0.0.1:4566: check the region (AWS_REGION), AWS_ENDPOINT_URL, and the network's way to it",
		},
		{
			name: "a network without a way out", call: "eks:ListClusters",
			err:  unsent("EKS", "ListClusters", "https://eks.eu-west-1.amazonaws.com/clusters", &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}),
			want: kinds{unreachable: true, timeout: true},
			text: "eks:ListClusters could not reach eks.eu-west-1.amazonaws.com: check the region (AWS_REGION), AWS_ENDPOINT_URL, and the network's way to it",
		},
		{
			name: "no answer before the deadline",
			err:  failure("EC2", "DescribeInstances", &aws.RequestCanceledError{Err: context.DeadlineExceeded}),
			want: kinds{timeout: true},
			text: "ec2:DescribeInstances got no answer in time: the next check tries again",
		},
		{
			name: "a body that stops",
			err:  failure("EC2", "DescribeInstances", &smithy.DeserializationError{Err: &awshttp.ResponseTimeoutError{TimeoutDur: time.Second}}),
			want: kinds{timeout: true},
			text: "ec2:DescribeInstances got no answer in time: the next check tries again",
		},
		{
			name: "the service's own timeout", call: "sns:Publish",
			err:  answer("SNS", "Publish", 408, "RequestTimeout", "The request timed out"),
			want: kinds{timeout: true},
			text: "sns:Publish got no answer in time: the next check tries again",
		},
		{
			name: "interrupted",
			err:  failure("EC2", "DescribeInstances", &smithy.CanceledError{Err: context.Canceled}),
			text: "ec2:DescribeInstances was interrupted before it was answered",
		},
		{
			name: "no region",
			err:  failure("EKS", "ListClusters", errors.New("resolve endpoint: endpoint rule error, Invalid Configuration: Missing Region")),
			text: "eks:ListClusters has no region to go to: set AWS_REGION, or a region in the AWS profile",
		},

		// The resource itself
		{
			name: "an instance that is gone", call: "ec2:DescribeInstances",
			err:  answer("EC2", "DescribeInstances", 400, "InvalidInstanceID.NotFound", "The instance ID 'i-0aaaaaaaaaaaaaaaa' does not exist"),
			want: kinds{notFound: true},
			text: "ec2:DescribeInstances failed with InvalidInstanceID.NotFound: The instance ID 'i-0aaaaaaaaaaaaaaaa' does not exist",
		},
		{
			name: "a launch template that is gone", call: "ec2:DescribeLaunchTemplateVersions",
			err:  answer("EC2", "DescribeLaunchTemplateVersions", 400, "InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name demo, does not exist."),
			want: kinds{notFound: true},
			text: "ec2:DescribeLaunchTemplateVersions failed with InvalidLaunchTemplateName.NotFoundException: The specified launch template, with template name demo, does not exist",
		},
		{
			name: "a cluster that is gone",
			err:  answer("EKS", "DescribeCluster", 404, "ResourceNotFoundException", "No cluster found for name: demo."),
			want: kinds{notFound: true},
			text: "eks:DescribeCluster failed with ResourceNotFoundException: No cluster found for name: demo",
		},
		{
			name: "a role that is gone",
			err:  answer("IAM", "GetRole", 404, "NoSuchEntity", "The role with name demo cannot be found."),
			want: kinds{notFound: true},
			text: "iam:GetRole failed with NoSuchEntity: The role with name demo cannot be found",
		},
		{
			name: "a topic that is gone",
			err:  answer("SNS", "Publish", 404, "NotFound", "Topic does not exist"),
			want: kinds{notFound: true},
			text: "sns:Publish failed with NotFound: Topic does not exist",
		},
		{
			name: "termination protection", call: "ec2:TerminateInstances",
			err:  answer("EC2", "TerminateInstances", 400, "OperationNotPermitted", "The instance 'i-0aaaaaaaaaaaaaaaa' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again."),
			want: kinds{protected: true},
			text: "ec2:TerminateInstances was refused: the instance has termination protection (disableApiTermination)",
		},
		{
			name: "stop protection", call: "ec2:TerminateInstances",
			err:  answer("EC2", "TerminateInstances", 400, "OperationNotPermitted", "The instance 'i-0aaaaaaaaaaaaaaaa' may not be terminated. Modify its 'disableApiStop' instance attribute and try again."),
			want: kinds{protected: true},
			text: "ec2:TerminateInstances was refused: the instance has stop protection (disableApiStop)",
		},
		{
			name: "stop protection is not termination protection", call: "ec2:StopInstances",
			err:  answer("EC2", "StopInstances", 400, "OperationNotPermitted", "The instance 'i-0aaaaaaaaaaaaaaaa' may not be stopped. Modify its 'disableApiStop' instance attribute and try again."),
			text: "ec2:StopInstances failed with OperationNotPermitted: The instance 'i-0aaaaaaaaaaaaaaaa' may not be stopped. Modify its 'disableApiStop' instance attribute and try again",
		},
		{
			name: "a wrong state", call: "ec2:RebootInstances",
			err:  answer("EC2", "RebootInstances", 400, "IncorrectInstanceState", "The instance 'i-0aaaaaaaaaaaaaaaa' is not in a state from which it can be rebooted."),
			want: kinds{state: true},
			text: "ec2:RebootInstances failed with IncorrectInstanceState: The instance 'i-0aaaaaaaaaaaaaaaa' is not in a state from which it can be rebooted",
		},
		{
			name: "the service's own trouble, the code with its side",
			err:  answer("EC2", "DescribeInstances", 500, "Server.InternalError", "An internal error has occurred (Service: AmazonEC2; Status Code: 500; Request ID: "+requestID+")"),
			want: kinds{unavailable: true},
			text: "ec2:DescribeInstances failed with InternalError: An internal error has occurred",
		},
		{
			name: "a message that repeats a secret", call: "ec2:TerminateInstances",
			err:  answer("EC2", "TerminateInstances", 400, "InvalidParameterValue", "Invalid value token=hunter2hunter2hunter2"),
			text: "ec2:TerminateInstances failed with InvalidParameterValue: Invalid value token=[redacted: token]",
		},
		{
			name: "no code at all", call: "ec2:DescribeInstances",
			err:  failure("EC2", "DescribeInstances", &awshttp.ResponseError{RequestID: requestID, ResponseError: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 502}}, Err: errors.New("bad gateway")}}),
			want: kinds{unavailable: true},
			text: "ec2:DescribeInstances failed: operation error EC2: DescribeInstances, https response error StatusCode: 502, bad gateway",
		},
		{
			name: "not of the SDK",
			err:  errors.New("disk full"),
			text: "the AWS call failed: disk full",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Wrapping does not change the class of an error.
			for _, err := range []error{tt.err, wrap(tt.err)} {
				if got := classify(err); got != tt.want {
					t.Errorf("classified as %+v, want %+v", got, tt.want)
				}
			}
			got := Describe(tt.err, tt.call, tt.principal)
			if got != tt.text {
				t.Errorf("described as\n%s\nwant\n%s", got, tt.text)
			}
			for _, noise := range []string{requestID, blob[:40], "authorization-details", "EXAMPLE1a2b3c4d5e", "nextToken", "\n"} {
				if strings.Contains(got, noise) {
					t.Errorf("%q is noise", noise)
				}
			}
		})
	}
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("check demo: %w", err)
}

// Every code that the SDK retries as throttling is throttling here too.
func TestKnowsTheThrottlingCodesOfTheSDK(t *testing.T) {
	for c := range retry.DefaultThrottleErrorCodes {
		if !IsThrottled(&smithy.GenericAPIError{Code: c}) {
			t.Error(c)
		}
	}
}

func TestInvalidInstanceIDs(t *testing.T) {
	tests := []struct {
		name, code, message string
		want                []string
	}{
		{"one", "InvalidInstanceID.NotFound", "The instance ID 'i-0aa' does not exist", []string{"i-0aa"}},
		{"several", "InvalidInstanceID.NotFound", "The instance IDs 'i-0f5d8ccc56c69fae4, i-0eecca434287a1a33' do not exist", []string{"i-0f5d8ccc56c69fae4", "i-0eecca434287a1a33"}},
		{"malformed", "InvalidInstanceID.Malformed", `Invalid id: "node-1"`, []string{"node-1"}},
		{"malformed, with what was expected", "InvalidInstanceID.Malformed", `Invalid id: "i-xyz" (expecting "i-...")`, []string{"i-xyz"}},
		{"several malformed", "InvalidInstanceID.Malformed", `The instance IDs 'a, b' are malformed`, []string{"a", "b"}},
		{"no id in it", "InvalidInstanceID.NotFound", "", nil},
		{"another code", "IncorrectInstanceState", "The instance 'i-0aa' is not in a state from which it can be started.", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := InvalidInstanceIDs(wrap(answer("EC2", "DescribeInstances", 400, tt.code, tt.message)))
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := InvalidInstanceIDs(errors.New("'i-0aa'")); got != nil {
		t.Errorf("got %q from an error of nobody's", got)
	}
}

// CloudFormation has no error code for an unknown stack.
func TestAStackThatIsNotThere(t *testing.T) {
	for code, want := range map[string]bool{"ValidationError": true, "AccessDenied": false, "Throttling": false, "": false} {
		if got := IsNoStack(answer("CloudFormation", "DescribeStacks", 400, code, "Stack with id rollcall does not exist")); got != want {
			t.Errorf("%q: %v, want %v", code, got, want)
		}
	}
	if IsNoStack(nil) {
		t.Error("no error is taken for one")
	}
}
