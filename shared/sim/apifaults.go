package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"rollcall/shared/aws/awserr"
)

// weather is the reliability of the account's APIs: slightly unreliable throughout, and worse during some faults.
type weather struct {
	spells []spell
}

// spell is a fault of the scenario that makes calls fail.
type spell struct {
	fault    int // its ID: its decisions stay the same when another fault is left out
	from, to time.Time
	what     FaultKind
	about    string   // a cluster's name, or "" for all
	share    float64  // share of the calls that fail
	met      []string // the forms in which it has affected something
	form     string   // the fault's value: see alsoDenied and onlyMet
}

func (s *spell) lasts(now time.Time) bool { return !now.Before(s.from) && now.Before(s.to) }

func (w *weather) stormy(now time.Time) bool {
	return slices.ContainsFunc(w.spells, func(s spell) bool { return s.lasts(now) })
}

// stormySince reports whether a spell lasted at any moment between two times.
func (w *weather) stormySince(since, now time.Time) bool {
	return slices.ContainsFunc(w.spells, func(s spell) bool { return s.from.Before(now) && s.to.After(since) })
}

// active returns the spells of a kind that last.
func (w *weather) active(what FaultKind, now time.Time) (all []*spell) {
	for i := range w.spells {
		if s := &w.spells[i]; s.what == what && s.lasts(now) {
			all = append(all, s)
		}
	}
	return all
}

func (w *weather) has(what FaultKind, form string, now time.Time) bool {
	return slices.ContainsFunc(w.active(what, now), func(s *spell) bool { return s.form == form })
}

// meets reports whether the spell affects that cluster.
func (s *spell) meets(about string) bool { return s.about == "" || s.about == about }

// hits reports whether the spell affects calls of that name by a function.
func (s *spell) hits(fn functionName, name string) bool {
	if only := onlyMet[s.form]; only != nil {
		return only(name) && (s.form != deniedRemediate || fn == remediator)
	}
	t, also := s.what.faultType(), alsoDenied[s.form]
	return t.answer != nil && (t.calls != nil && t.calls(name) || also != nil && also(name))
}

// kills reports whether the function that makes a call is killed before it, by a form of FaultKills.
func (w *weather) kills(now time.Time, name string) bool {
	return slices.ContainsFunc(w.active(FaultKills, now), func(s *spell) bool { return alsoDenied[s.form] != nil && alsoDenied[s.form](name) })
}

// The faults that a call may meet.
const (
	faultNone        = ""
	faultThrottle    = "throttled"
	faultServer      = "server error"
	faultHang        = "hangs"
	faultLost        = "answer lost"
	faultDenied      = "denied"
	faultUnconnected = "not connected" // nobody answers the attempt to connect
)

func (w *weather) over(now time.Time, fn functionName, name string, kind access, about string, d dice) string {
	for i := range w.spells {
		s := &w.spells[i]
		if !s.lasts(now) || !s.meets(about) || !s.hits(fn, name) || !d.nth(s.fault).chance(s.share) {
			continue
		}
		if what := s.what.faultType().answer(kind, d.nth(s.fault).of("what")); what != faultNone {
			return what
		}
	}
	return faultNone
}

// alsoDenied holds the forms of FaultDenied that deny further calls, before which FaultKills kills functions.
var alsoDenied = map[string]func(call string) bool{
	"acts":       actsOnMachines,
	"evidence":   callsOf("s3:PutObject"),
	"attributes": callsOf("ec2:DescribeInstanceAttribute"),
	"status":     callsOf("ec2:DescribeInstanceStatus"),
	"pods":       callsOf("kubernetes:list pods"),
}

// onlyMet holds the forms of faults that only these calls meet.
var onlyMet = map[string]func(call string) bool{
	deniedActs:      actsOnMachines,
	"instances":     callsOf("ec2:DescribeInstances"),
	"claims":        callsOf("kubernetes:list nodeclaims"),
	"leases":        callsOf("kubernetes:get leases"),
	"untagging":     callsOf("ec2:DeleteTags"),
	deniedRemediate: callsOf("ec2:DescribeInstanceAttribute"),
}

// The forms in which the acts alone meet a fault, or only what remediate reads before an act.
const (
	deniedActs      = "only-acts"
	deniedRemediate = "remediate"
)

var actsOnMachines = callsOf("ec2:TerminateInstances", "ec2:RebootInstances")

// errOf returns the error of a call that meets a fault and gets an answer, or no connection.
func errOf(fault, name string) error {
	switch {
	case !strings.HasPrefix(name, "kubernetes:"):
		return awsFault(fault, name)
	case fault == faultUnconnected:
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	return kubeFault(fault)
}

func errTimeout(name string) error {
	return fmt.Errorf("%s: no answer: %w", name, context.DeadlineExceeded)
}

const principal = "arn:aws:sts::" + accountID + ":assumed-role/rollcall/function" // the ARN of the functions' assumed role

type refusal struct {
	code   string
	status int
}

// manner holds a service's answers to faults that affect every service.
type manner struct{ throttled, failed, denied refusal }

// manners holds them by service, from the error lists of the API references.
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

func notAllowed(name string) error {
	service, _, _ := strings.Cut(name, ":")
	return manners[service].denied.made(fmt.Sprintf("User: %s is not authorized to perform: %s because no identity-based policy allows the %s action", principal, name, name))
}

func badRequest(code, format string, args ...any) error {
	return awserr.Made(code, fmt.Sprintf(format, args...), http.StatusBadRequest)
}

func noSuch(code, format string, args ...any) error {
	return awserr.Made(code, fmt.Sprintf(format, args...), http.StatusNotFound)
}

// unsimulated ends the run at a request that is not simulated. The caller may recover from the panic: it is recorded.
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

// kubeFault is a fault that a Kubernetes API call meets. The API server's error depends on the request: see told.
type kubeFault string

func (f kubeFault) Error() string { return "kubernetes: " + string(f) }

// told converts an error to the client's: a StatusError of the API server, or a request without an answer.
// None has a retry-after time: the client would wait for it in real time.
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

func (q *kubeQuery) target() schema.GroupResource {
	return schema.GroupResource{Group: q.group, Resource: q.resource}
}

func (q *kubeQuery) notFound() error { return apierrors.NewNotFound(q.target(), q.name) }

func verbatim(format string, args ...any) error { return fmt.Errorf(format, args...) }

var errUnserved = errors.New("404 page not found") // the answer for a path that the API server does not serve: it has no Status

func unresolved(c *cluster, name string) error {
	host := name + ".gr7." + region + ".eks.amazonaws.com"
	if c != nil {
		host = strings.TrimPrefix(c.endpoint(), "https://")
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
}

const compacts = 0.1 // how often a failing API server forgets a listing before its next page

// compacted reports whether the API server forgot the state of its objects when a listing began.
func (w *weather) compacted(now time.Time, cluster string, d dice) bool {
	return slices.ContainsFunc(w.active(FaultAPIErrors, now), func(s *spell) bool { return s.meets(cluster) && d.of("compacted").nth(s.fault).chance(compacts) })
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
