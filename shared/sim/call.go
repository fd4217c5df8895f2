package sim

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/shared/observe/apistats"
)

type access bool

const (
	reads  access = false
	writes access = true
)

// env is an execution environment of a function, which runs one invocation at a time. Its clients live on.
type env struct {
	a    *account
	fn   functionName
	d    dice
	skew time.Duration                  // how far its clock is ahead
	inv  *invocation                    // nil between invocations
	run  func(batch []message) []string // calls the function's handler, which the deployment builds when the environment starts
	// kube are its clients of clusters, by name. It has one request of one of them at a time.
	kube   map[string]*kube.Client
	policy policySight // what it has read of the policy, for the auditor

	since time.Time     // end of its last invocation
	idle  time.Duration // how long it may stay idle
	until time.Time     // when it is discarded in any case
}

func (v *env) now() time.Time { return v.a.Now().Add(v.skew) }

type invocation struct {
	*process
	v     *env
	d     dice
	name  string // such as inspect#17
	begun time.Time
	ended time.Time // zero while it runs
	calls int
	// diesAt is the number of the call at which the function is killed, 0 for never; with after, once it took effect.
	diesAt    int
	after     bool
	failed    bool  // a call that writes failed, or its answer was lost
	missed    bool  // any call failed
	overtaken bool  // another invocation had written the same items, and it did not write its own afterwards
	knew      bool  // it knew the mode
	slow      bool  // any call hung, or was retried
	seen      sight // what it has read, for the auditor
	batch     []message
	// listed and asked are how many clusters a sweep read, and of how many it tried to ask a check.
	listed, asked int
	diagnosed     time.Time // when it last read what only a diagnosis needs
	events        putAway
}

// Bounds of a call's duration, unless it hangs.
const (
	quickest = 4 * time.Millisecond
	slowest  = 60 * time.Millisecond
	hangs    = 30 * time.Second // how long a call waits for an answer that never comes
	connects = 5 * time.Second  // how long a client tries to connect to an API server: see the package kube
)

// call makes one call of an invocation, such as ec2:DescribeInstances or kubernetes:list nodes. It takes time in which
// other things happen, and may fail. do is its effect, and must not wait. about is the cluster whose Kubernetes API
// or description it is, otherwise "": a fault may be limited to that.
func (v *env) call(ctx context.Context, name string, kind access, about string, do func() error) error {
	return v.callAgain(ctx, name, kind, about, do, nil)
}

// callAgain makes a call that the service may carry out although it reports a failure. again is the effect of the
// SDK's retry after a timeout, nil if that is not simulated.
func (v *env) callAgain(ctx context.Context, name string, kind access, about string, do, again func() error) error {
	inv := v.inv
	if inv == nil {
		panic(fmt.Sprintf("%s calls %s outside of an invocation", v.fn, name))
	}
	v.a.usage.Calls[name]++
	inv.calls++
	d := inv.d.of(name).nth(inv.calls)
	if inv.calls == inv.diesAt && !inv.after || v.a.weather.kills(v.a.Now(), name) {
		v.a.note(Event{Kind: EventKilled, Detail: fmt.Sprintf("%s before %s", inv.name, name)})
		inv.die()
	}
	if err := ctx.Err(); err != nil {
		inv.missed = true
		return fmt.Errorf("%s: %w", name, err)
	}
	if diagnoses(name) {
		inv.diagnosed = v.a.Now()
	}
	took := v.takes(d)
	inv.wait(took / 2)
	waits, throttled := v.a.retried(name, d.of("retried"))
	if waits > 0 {
		inv.hang(ctx, waits)
	}
	fault := v.a.weather.over(v.a.Now(), v.fn, name, kind, about, d.of("weather"))
	if throttled {
		fault = faultThrottle
	}
	var err error
	switch fault {
	case faultHang:
		inv.hang(ctx, hangs)
		err = errTimeout(name)
	case faultUnconnected:
		inv.hang(ctx, connects)
		err = errOf(fault, name)
	case faultLost: // it took effect, but the caller gets no answer
		if err = do(); err == nil {
			inv.hang(ctx, hangs)
			inv.failed = true
			err = errTimeout(name)
			if again != nil && ctx.Err() == nil && d.of("again").chance(0.5) {
				err = again()
			}
		}
	case faultServer:
		// "When you receive a status code 500 on a write operation, the operation may have
		// succeeded or failed": Error handling with DynamoDB in its developer guide.
		if again != nil && d.of("took effect").chance(0.25) {
			_ = do()
		}
		err = errOf(fault, name)
	case faultNone:
		err = do()
	default:
		err = errOf(fault, name)
	}
	inv.missed = inv.missed || err != nil && !isAnswer(err)
	if name == "ec2:DescribeInstanceStatus" {
		inv.seen.unchecked = err != nil
	}
	if kind == writes && strings.HasPrefix(name, "dynamodb:") {
		inv.overtaken = met(err)
	}
	inv.failed = inv.failed || err != nil && !isAnswer(err) && (kind == writes || strings.HasPrefix(name, "dynamodb:"))
	inv.wait(took / 2)
	if inv.calls == inv.diesAt {
		v.a.note(Event{Kind: EventKilled, Detail: fmt.Sprintf("%s after %s", inv.name, name)})
		inv.die()
	}
	return err
}

// diagnoses reports whether only a diagnosis makes such a call.
var diagnoses = callsOf("ec2:GetConsoleOutput", "iam:")

// isAnswer reports whether an error is an answer: there is no such object, it exists, or another writer was first.
func isAnswer(err error) bool {
	return met(err) || apierrors.IsNotFound(err) || awserr.IsConflict(err)
}

// met reports whether the call conflicted with another writer of DynamoDB, which is not a failure.
func met(err error) bool { return awserr.IsConditionFailed(err) || awserr.IsTransactionConflict(err) }

func (v *env) takes(d dice) time.Duration { return d.of("time").between(quickest, slowest) }

// hang waits for an answer, until a timeout or the context's end.
func (inv *invocation) hang(ctx context.Context, long time.Duration) {
	inv.slow = true
	inv.wait(max(0, min(long, ends(ctx)-inv.e.now)))
}

func (a *account) note(e Event) {
	e.At = a.Now()
	a.audit.happened(e, a.machines[e.Instance])
	a.tell(e)
}

// pageSize returns the number of items of a page: sometimes fewer than requested, as EC2 and Kubernetes may. A second
// page may fail.
func (v *env) pageSize(asked, all int) int {
	if d := v.inv.d.of("page").nth(v.inv.calls); v.a.sc.Quiet || !d.chance(0.25) {
		return asked
	}
	return min(asked, max(2, all/3))
}

// reading returns an interceptor that answers reads with methods of the shape func(in *XInput, out *XOutput) error.
func (v *env) reading(services ...any) apistats.Interceptor {
	operations := map[reflect.Type]reflect.Value{}
	for _, s := range services {
		for _, m := range reflect.ValueOf(s).Methods() {
			if t := m.Type(); t.NumIn() == 2 && t.NumOut() == 1 {
				operations[t.In(0)] = m
			}
		}
	}
	return func(ctx context.Context, in any, next apistats.Call) (any, error) {
		operation, ok := operations[reflect.TypeOf(in)]
		if !ok {
			return next(ctx, in)
		}
		out := reflect.New(operation.Type().In(1).Elem())
		err := v.call(ctx, apistats.Action(ctx), reads, "", func() error {
			err, _ := operation.Call([]reflect.Value{reflect.ValueOf(in), out})[0].Interface().(error)
			return err
		})
		if err != nil {
			return nil, err
		}
		return out.Interface(), nil
	}
}
