package kube

import (
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// operation is one thing that is asked of the Kubernetes API, for errors.
type operation struct {
	what   string // such as "cordon node ip-10-0-0-1"
	noun   string // the same as in "the listing of nodes"
	verb   string // the permission that it takes, as RBAC has it
	target string // likewise: nodes, or nodeclaims.karpenter.sh
	writes bool   // or is part of a change
}

// The readings; what changes something is made of the names that it concerns.
var (
	listNodes      = operation{what: "list nodes", noun: "listing of nodes", verb: "list", target: "nodes"}
	listNodeClaims = operation{what: "list NodeClaims", noun: "listing of NodeClaims", verb: "list", target: "nodeclaims.karpenter.sh"}
)

// group is the RBAC group of infra/rbac.yaml that may do it.
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

// failure is an operation that failed.
type failure struct {
	operation
	err error
}

// Error names the operation and what it concerns.
func (f *failure) Error() string { return f.what + ": " + f.err.Error() }

// Unwrap is why it failed.
func (f *failure) Unwrap() error { return f.err }

// What a change can meet instead of the object that was meant. Either way nothing was
// done. A reading can meet the second.
var (
	// ErrChanged: another object has the name by now, or the object is not any more
	// what the change was meant for.
	ErrChanged = errors.New("the object is not the one that was meant")
	// ErrGone: there is no such object.
	ErrGone = errors.New("there is no such object")
)

// Refused reports whether the error says for certain that the change was not made: the
// API server, or this package, turned it down. After any other error it may have been.
func Refused(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true // nobody was there to be asked
	}
	if errors.Is(err, ErrChanged) || errors.Is(err, ErrGone) || errors.Is(err, ErrToken) || errors.Is(err, ErrNoEndpoint) || errors.Is(err, errIncomplete) {
		return true
	}
	code := statusCode(err)
	// 408 and 499 tell of a request that was cut short.
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != 499
}

// apiStatus is an answer of the API server that is no success.
type apiStatus interface {
	error
	apierrors.APIStatus
}

// statusCode is the HTTP status that the API server answered with, 0 if the error is
// none of its answers.
func statusCode(err error) int32 {
	if status, ok := errors.AsType[apiStatus](err); ok {
		return status.Status().Code
	}
	return 0
}
