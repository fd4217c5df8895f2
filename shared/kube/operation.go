package kube

import (
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// operation is one request to the Kubernetes API, for errors.
type operation struct {
	what   string // such as "cordon node ip-10-0-0-1"
	noun   string // the same as in "the listing of nodes"
	verb   string // the RBAC verb that it requires
	target string // the RBAC resource: nodes, or nodeclaims.karpenter.sh
	writes bool   // or is part of a change
}

// The reads. Operations that change something are built from the names they concern.
var (
	listNodes      = operation{what: "list nodes", noun: "listing of nodes", verb: "list", target: "nodes"}
	listNodeClaims = operation{what: "list NodeClaims", noun: "listing of NodeClaims", verb: "list", target: "nodeclaims.karpenter.sh"}
)

// group returns the RBAC group of infra/rbac.yaml that permits it.
func (o operation) group() string {
	if o.writes {
		return "rollcall:remediators"
	}
	return "rollcall:viewers"
}

// failed wraps an error of the operation; nil stays nil.
func (o operation) failed(err error) error {
	if err == nil {
		return nil
	}
	return &failure{operation: o, err: err}
}

type failure struct {
	operation
	err error
}

// Error returns the error with the operation and its object.
func (f *failure) Error() string { return f.what + ": " + f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// Errors of a change that did not find the intended object. In both cases nothing was done. A read
// can return ErrGone.
var (
	// ErrChanged: another object has the name, or the object is no longer the one that the change
	// was meant for.
	ErrChanged = errors.New("the object is not the one that was meant")
	// ErrGone: there is no such object.
	ErrGone = errors.New("there is no such object")
)

// Refused reports whether the error proves that the change was not made: the API server, or this
// package, refused it. After any other error it may have been made.
func Refused(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true // no request was sent
	}
	if errors.Is(err, ErrChanged) || errors.Is(err, ErrGone) || errors.Is(err, ErrToken) || errors.Is(err, ErrNoEndpoint) || errors.Is(err, errIncomplete) || deniedByAdmission(err) {
		return true
	}
	code := statusCode(err)
	// 408 and 499 mean that a request was cut short.
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != 499
}

// apiStatus is an answer of the API server other than success.
type apiStatus interface {
	error
	apierrors.APIStatus
}

// statusCode returns the HTTP status of the API server's answer, 0 if the error is not such an
// answer.
func statusCode(err error) int32 {
	if status, ok := errors.AsType[apiStatus](err); ok {
		return status.Status().Code
	}
	return 0
}

// IsInternalError reports whether the API server answered that it could not carry out the request:
// it works, but cannot read or convert an object, for instance.
func IsInternalError(err error) bool { return statusCode(err) == http.StatusInternalServerError }
