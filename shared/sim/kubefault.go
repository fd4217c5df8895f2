package sim

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kubeFault is what a call of a Kubernetes API meets in place of its answer. What the API
// server says then depends on what it was asked: see kubeQuery.told.
type kubeFault string

func (f kubeFault) Error() string { return "kubernetes: " + string(f) }

// kubernetesFault is the error of a call of a Kubernetes API that meets that.
func kubernetesFault(what string) error {
	switch what {
	case faultHang, faultLost:
		return errTimeout("kubernetes")
	}
	return kubeFault(what)
}

// told makes an error what the client is told: what the API server answers is a
// StatusError, and any other is a request without an answer. None says when to come back:
// the client would wait for that in real time.
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

// target is what the question is about, as errors name it.
func (q *kubeQuery) target() schema.GroupResource {
	return schema.GroupResource{Group: q.group, Resource: q.resource}
}

func (q *kubeQuery) notFound() error { return apierrors.NewNotFound(q.target(), q.name) }

// otherUID answers a change that is meant for another object of the name.
func (q *kubeQuery) otherUID(wanted, has string) error {
	return apierrors.NewConflict(q.target(), q.name, verbatim("Precondition failed: UID in precondition: %s, UID in object meta: %s", wanted, has))
}

// verbatim is an error in the API server's own words.
func verbatim(format string, args ...any) error { return fmt.Errorf(format, args...) }

// errUnserved answers what the API server has no path for: without a Status.
var errUnserved = errors.New("404 page not found")

// errExpired answers a token of a listing that the API server forgot.
func errExpired() error {
	return apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.")
}

// unresolved is a request to the endpoint of a cluster that is deleted, or never was.
func unresolved(c *cluster, name string) error {
	host := name + ".gr7." + region + ".eks.amazonaws.com"
	if c != nil {
		host = strings.TrimPrefix(c.endpoint(), "https://")
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
}

// compacts is how often the API server of a cluster that fails now and then forgets a
// listing before its next page.
const compacts = 0.1

// compacted reports whether the API server of the cluster forgot how its objects were when
// a listing began.
func (w *weather) compacted(now time.Time, cluster string, d dice) bool {
	for i := range w.spells {
		s := &w.spells[i]
		if s.lasts(now) && s.meets(cluster) && s.what == FaultAPIErrors && d.of("compacted").nth(s.fault).chance(compacts) {
			return true
		}
	}
	return false
}

// statusOf is the Status that the API server answers with, nil if the error is none of its
// answers.
func statusOf(err error) *metav1.Status {
	refused, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return nil
	}
	status := refused.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &status
}
