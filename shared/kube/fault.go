package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"rollcall/shared/evidence/redact"
	"rollcall/shared/roll"
)

// Fault returns what an error of this package means for a snapshot or an act, and a sentence that
// says what to do about it. principal is the owner of the credentials that signed the token, "" if
// unknown.
func Fault(c roll.Cluster, err error, principal string) (roll.GapKind, string) {
	who := cmp.Or(principal, "the caller")
	op := listNodes
	failed, asked := errors.AsType[*failure](err)
	if asked {
		op, err = failed.operation, failed.err
	}
	switch {
	case errors.Is(err, ErrNotCaptured):
		return roll.GapFailed, fmt.Sprintf("the %s of %s was not made: %v", op.noun, c.ID.Name, said(err))
	case errors.Is(err, ErrGone) && !op.writes:
		return roll.GapFailed, fmt.Sprintf("the %s of %s found nothing: %v", op.noun, c.ID.Name, ErrGone)
	case errors.Is(err, ErrChanged), errors.Is(err, ErrGone), errors.Is(err, errIncomplete):
		return roll.GapFailed, fmt.Sprintf("the %s of %s was not done: %v", op.noun, c.ID.Name, err)
	case deniedByAdmission(err):
		return roll.GapFailed, fmt.Sprintf("the %s of %s failed: %s", op.noun, c.ID.Name, message(err))
	case errors.Is(err, ErrNoEndpoint):
		return roll.GapClusterUnreachable, fmt.Sprintf("the Kubernetes API of %s cannot be reached: %s", c.ID.Name, message(err))
	case errors.Is(err, ErrToken) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return roll.GapTimeout, fmt.Sprintf("no token for the Kubernetes API of %s could be signed in time: the AWS credentials did not come", c.ID.Name)
	case errors.Is(err, ErrToken):
		return roll.GapFailed, fmt.Sprintf("no token for the Kubernetes API of %s could be signed with the credentials of %s: %s", c.ID.Name, who, message(err))
	case apierrors.IsUnauthorized(err):
		// The authenticator of EKS has the token checked by STS before it looks for a mapping, and refuses it either way.
		// https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/server/server.go (authenticateEndpoint)
		return roll.GapUnauthorized, fmt.Sprintf("the Kubernetes API of %s refused the token of %s (401 Unauthorized): the cluster has no access entry or aws-auth mapping for it (see infra/README.md), or STS did not confirm the token: its credentials have expired, STS is throttled or fails, or is off in the region", c.ID.Name, who)
	case apierrors.IsForbidden(err) && (!op.writes || notPermitted(err)):
		return roll.GapDenied, fmt.Sprintf("the Kubernetes API of %s knows %s but does not let it %s %s: apply infra/rbac.yaml and give it the group %s (%s)", c.ID.Name, who, op.verb, op.target, op.group(), message(err))
	case utilnet.IsTimeout(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return roll.GapClusterUnreachable, fmt.Sprintf("the Kubernetes API of %s at %s did not answer in time: is its endpoint reachable from here (private endpoint, publicAccessCidrs, proxy)?", c.ID.Name, c.Endpoint)
	case apierrors.IsTooManyRequests(err):
		return roll.GapThrottled, fmt.Sprintf("the Kubernetes API of %s turned the %s away as too much (429): the next check tries again", c.ID.Name, op.noun)
	case apierrors.IsResourceExpired(err):
		return roll.GapFailed, fmt.Sprintf("the Kubernetes API of %s dropped the %s twice (410 Gone): the next check tries again", c.ID.Name, op.noun)
	}
	if asked && answered(err) {
		return roll.GapFailed, fmt.Sprintf("the %s of %s failed: %s", op.noun, c.ID.Name, message(err))
	}
	return roll.GapClusterUnreachable, fmt.Sprintf("the Kubernetes API of %s at %s did not answer: %s", c.ID.Name, c.Endpoint, message(err))
}

// deniedByAdmission reports whether a webhook or a policy denied the change. It chooses the code of the
// answer, so that the code says nothing: KubeVirt answers 429 for the pod of a machine that cannot move.
// https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go
// https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go
// https://github.com/kubevirt/kubevirt/blob/main/pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go
func deniedByAdmission(err error) bool {
	if statusCode(err) == 0 {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "admission webhook ") && strings.Contains(text, " denied the request") ||
		strings.Contains(text, "ValidatingAdmissionPolicy ") && strings.Contains(text, " denied request: ")
}

// notPermitted reports whether the API server forbids a request because a permission is missing.
// Admission, which checks changes, forbids in other words.
// https://kubernetes.io/docs/reference/access-authn-authz/authorization/
func notPermitted(err error) bool {
	text := err.Error()
	return strings.Contains(text, " cannot ") && strings.Contains(text, ` resource "`)
}

// answered reports whether the API server answered, with any result.
func answered(err error) bool {
	if code := statusCode(err); code != 0 {
		return code < 500
	}
	_, sent := errors.AsType[*url.Error](err)
	return !sent
}

// said returns the error of a transport, without the wrapping by the HTTP client.
func said(err error) error {
	if sent, ok := errors.AsType[*url.Error](err); ok {
		return sent.Err
	}
	return err
}

// message returns the innermost text of the error, without the nesting of URLs and without apparent
// secrets: webhooks and proxies may return any text.
func message(err error) string {
	for {
		next := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			if all := joined.Unwrap(); len(all) > 0 {
				next = all[len(all)-1] // the reason comes last
			}
		}
		if next == nil {
			return redact.Text(err.Error())
		}
		err = next
	}
}
