package sim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kubeFault is the fault that a Kubernetes API call meets in place of its answer. The API server's
// error then depends on the request: see kubeQuery.told.
type kubeFault string

func (f kubeFault) Error() string { return "kubernetes: " + string(f) }

// kubernetesFault returns the error of a Kubernetes API call that meets the fault.
func kubernetesFault(what string) error {
	switch what {
	case faultHang, faultLost:
		return errTimeout("kubernetes")
	case faultUnconnected:
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	return kubeFault(what)
}

// told converts an error to the client's error: an answer of the API server is a StatusError, any
// other error is a request without an answer. None has a retry-after time: the client would wait
// for it in real time.
func (q *kubeQuery) told(err error) error {
	fault, ok := errors.AsType[kubeFault](err)
	if !ok {
		return err
	}
	switch string(fault) {
	case faultThrottle:
		return apierrors.NewTooManyRequests("Too many requests, please try again later.", 0)
	case faultDenied:
		return apierrors.NewForbidden(q.target(), q.name, verbatim("User %q cannot %s resource %q in API group %q at the cluster scope", "rollcall", q.verb, q.resource, q.group))
	}
	if q.d.of("server").chance(0.5) {
		return apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	}
	return apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
}

// target returns the resource of the request, as errors name it.
func (q *kubeQuery) target() schema.GroupResource {
	return schema.GroupResource{Group: q.group, Resource: q.resource}
}

func (q *kubeQuery) notFound() error { return apierrors.NewNotFound(q.target(), q.name) }

// otherUID returns the error of a change that is meant for an object with another UID.
func (q *kubeQuery) otherUID(wanted, has string) error {
	return apierrors.NewConflict(q.target(), q.name, verbatim("Precondition failed: UID in precondition: %s, UID in object meta: %s", wanted, has))
}

// verbatim returns an error in the API server's own words.
func verbatim(format string, args ...any) error { return fmt.Errorf(format, args...) }

// errUnserved is the answer for a path that the API server does not serve: it has no Status.
var errUnserved = errors.New("404 page not found")

// errExpired returns the error for a continue token that the API server forgot.
func errExpired() error {
	return apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.")
}

// unresolved returns the error of a request to the endpoint of a deleted or unknown cluster.
func unresolved(c *cluster, name string) error {
	host := name + ".gr7." + region + ".eks.amazonaws.com"
	if c != nil {
		host = strings.TrimPrefix(c.endpoint(), "https://")
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
}

// compacts is how often an API server that fails occasionally forgets a listing before its next
// page.
const compacts = 0.1

// compacted reports whether the cluster's API server forgot the state of its objects when a
// listing began.
func (w *weather) compacted(now time.Time, cluster string, d dice) bool {
	for i := range w.spells {
		s := &w.spells[i]
		if s.lasts(now) && s.meets(cluster) && s.what == FaultAPIErrors && d.of("compacted").nth(s.fault).chance(compacts) {
			return true
		}
	}
	return false
}

// statusOf returns the API server's Status for an error, nil if the API server did not answer.
func statusOf(err error) *metav1.Status {
	refused, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return nil
	}
	status := refused.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &status
}
