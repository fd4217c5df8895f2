package kube

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"rollcall/shared/roll"
)

// Fault tells what an error of this package means for a snapshot, with a sentence
// for a person that says what to do about it. principal is whose credentials
// signed the token, "" if unknown.
func Fault(c roll.Cluster, err error, principal string) (roll.GapKind, string) {
	who := principal
	if who == "" {
		who = "the caller"
	}
	switch {
	case errors.Is(err, ErrNoEndpoint):
		return roll.GapClusterUnreachable, fmt.Sprintf("the Kubernetes API of %s cannot be reached: %s", c.ID.Name, message(err))
	case errors.Is(err, ErrToken) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return roll.GapTimeout, fmt.Sprintf("no token for the Kubernetes API of %s could be signed in time: the AWS credentials did not come", c.ID.Name)
	case errors.Is(err, ErrToken):
		return roll.GapFailed, fmt.Sprintf("no token for the Kubernetes API of %s could be signed with the credentials of %s: %s", c.ID.Name, who, message(err))
	case apierrors.IsUnauthorized(err):
		return roll.GapUnauthorized, fmt.Sprintf("the Kubernetes API of %s refused the token of %s (401 Unauthorized): the cluster has no access entry or aws-auth mapping for it; see infra/README.md", c.ID.Name, who)
	case apierrors.IsForbidden(err):
		return roll.GapDenied, fmt.Sprintf("the Kubernetes API of %s knows %s but does not let it read nodes: apply infra/rbac.yaml and give it the group rollcall:viewers (%s)", c.ID.Name, who, message(err))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return roll.GapClusterUnreachable, fmt.Sprintf("the Kubernetes API of %s at %s did not answer in time: is its endpoint reachable from here (private endpoint, publicAccessCidrs, proxy)?", c.ID.Name, c.Endpoint)
	case apierrors.IsTooManyRequests(err):
		return roll.GapThrottled, fmt.Sprintf("the Kubernetes API of %s turned the listing of nodes away as too much (429): the next check tries again", c.ID.Name)
	case apierrors.IsResourceExpired(err):
		return roll.GapFailed, fmt.Sprintf("the Kubernetes API of %s dropped the listing of nodes twice (410 Gone): the next check tries again", c.ID.Name)
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code < 500 {
		return roll.GapFailed, fmt.Sprintf("listing the nodes of %s failed: %s", c.ID.Name, message(err))
	}
	return roll.GapClusterUnreachable, fmt.Sprintf("the Kubernetes API of %s at %s did not answer: %s", c.ID.Name, c.Endpoint, message(err))
}

// message is the innermost text of the error, without the nesting of URLs.
func message(err error) string {
	for {
		next := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			if all := joined.Unwrap(); len(all) > 0 {
				next = all[len(all)-1] // the reason stands last
			}
		}
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
