// Package remediate carries out orders. It is the only package that destroys.
//
// An order is not trusted. Before anything is done the instance, every node that
// might be its own, the policy and the ledger are read again, and the verdict and
// the plan are made anew by the same code that made the order; only if they come
// to the very same order, and its tag is on the instance, the intent is recorded
// and the one destructive call is sent. Everything else is a refusal with a typed
// reason, and a refusal is no error.
package remediate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/assess"
	"rollcall/shared/awserr"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

type terminator interface {
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
}

// targets looks at one instance again; *observe.Observer does.
type targets interface {
	Target(ctx context.Context, cluster string, id roll.InstanceID, at time.Time) *roll.Snapshot
	Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question)
}

// PolicySource reads the policy anew: setting its mode to observe stops the next
// act.
type PolicySource func(context.Context) (*policy.Document, error)

// Remediator carries out orders.
type Remediator struct {
	targets   targets
	ec2       terminator
	ledger    ledger.Ledger
	policy    PolicySource
	permitted policy.Mode
	principal func(context.Context) string
	clock     func() time.Time
}

// Options are what a remediator is made of.
type Options struct {
	Targets   targets
	EC2       terminator
	Ledger    ledger.Ledger // must persist
	Policy    PolicySource
	Permitted policy.Mode // what the caller was started with; see policy.Document.Cluster
	// Principal tells whose credentials are used, for messages; it may be nil.
	Principal func(context.Context) string
	// Clock is read once more right before the call, since looking again may take
	// longer than an order lives; nil stands still.
	Clock func() time.Time
}

// New makes a remediator. It refuses a ledger that does not outlive the process:
// after a crash nobody would know what had been done.
func New(o Options) (*Remediator, error) {
	if !o.Ledger.Persistent() {
		return nil, errors.New("remediate needs a ledger that persists: give --ledger FILE")
	}
	principal := o.Principal
	if principal == nil {
		principal = func(context.Context) string { return "" }
	}
	return &Remediator{targets: o.Targets, ec2: o.EC2, ledger: o.Ledger, policy: o.Policy, permitted: o.Permitted, principal: principal, clock: o.Clock}, nil
}

// Result is what became of an order.
type Result string

// The results.
const (
	Acted   Result = "acted"   // AWS accepted the call
	Refused Result = "refused" // looked at again, it was not to be done; nothing was sent
	Failed  Result = "failed"  // AWS refused the call; nothing happened
	Sent    Result = "sent"    // handed to another function, which will tell
	// Unclear: the call broke off, so it may have taken effect. The ledger keeps the
	// intent, and a later check sees from the instance what happened.
	Unclear Result = "unclear"
)

// Outcome is what became of an order, and why.
type Outcome struct {
	Order  plan.Order
	Result Result
	Reason plan.Reason // of a refusal
	Detail string      // a sentence for a person
	// News: the same was not already the outcome of an earlier try.
	News bool
}

// Act carries out one order at the time now, or says why not.
func (r *Remediator) Act(ctx context.Context, o plan.Order, now time.Time) Outcome {
	ordered := o.At // when its tag was written; verify makes the order anew
	v, refusal := r.verify(ctx, o, now)
	if refusal != nil {
		return *refusal
	}
	o = v.order

	intent := ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Node: o.Node, Group: o.Group, Kind: o.Kind, At: now}
	err := r.ledger.Begin(ctx, o.Cluster, intent, ledger.Budget{Max: v.limit, Since: now.Add(-plan.Hour)})
	switch {
	case errors.Is(err, ledger.ErrBegun):
		return refuse(o, plan.AlreadyBegun, err.Error())
	case errors.Is(err, ledger.ErrUnresolved):
		return refuse(o, plan.ActionUnresolved, err.Error())
	case errors.Is(err, ledger.ErrBudgetSpent):
		return refuse(o, plan.ActionsPerHour, err.Error())
	case err != nil:
		return refuse(o, plan.NotRecorded, fmt.Sprintf("the intent could not be recorded, so nothing was done: %v", err))
	}

	// Only the first refusal may be for a tag that is too new: a permission that is
	// missing must be told of.
	out := r.terminate(ctx, o, !v.tried && now.Sub(ordered) < plan.TagSettles)
	out.News = (!v.tried || v.before != out.Detail) && !strings.HasPrefix(out.Detail, ledger.NotYet)
	if out.Result == Unclear {
		return out
	}
	result := ledger.Done
	if out.Result == Failed {
		result = ledger.Failed
	}
	// The act is done or not done by now; that the context ends must not keep its
	// outcome out of the ledger.
	recordCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := r.ledger.Finish(recordCtx, o.Cluster, o.ID, ledger.Outcome{Result: result, At: now, Detail: out.Detail}); err != nil {
		out.Detail += fmt.Sprintf("; its outcome could not be recorded (%v), a later check will settle it", err)
	}
	return out
}

// recordTime bounds the recording of an outcome.
const recordTime = 10 * time.Second

// verified is what looking again comes to when nothing objects.
type verified struct {
	order  plan.Order // as it is made now: a message is not trusted
	limit  int        // on the acts of an hour, as it is now
	tried  bool       // an earlier try failed
	before string     // why
}

// verify makes the verdict and the plan anew, or refuses.
func (r *Remediator) verify(ctx context.Context, o plan.Order, now time.Time) (verified, *Outcome) {
	no := func(reason plan.Reason, format string, args ...any) (verified, *Outcome) {
		out := refuse(o, reason, fmt.Sprintf(format, args...))
		return verified{}, &out
	}
	if o.Action != plan.Terminate {
		return no(plan.StepUnavailable, "this version cannot %s", o.Action)
	}
	if !now.Before(o.Expires) {
		return no(plan.OrderExpired, "the order of %s expired at %s; if the trouble goes on, a check will order again", o.At.UTC().Format(time.RFC3339), o.Expires.UTC().Format(time.RFC3339))
	}
	state, err := r.ledger.Read(ctx, o.Cluster)
	if err != nil {
		return no(plan.NotRecorded, "the ledger could not be read: %v", err)
	}
	// A second delivery: the target need not even be looked at.
	if a, ok := state.Action(o.ID); ok && a.Outcome == nil {
		return no(plan.ActionUnresolved, "the order was begun at %s, and has no outcome yet", a.At.UTC().Format(time.RFC3339))
	} else if ok && a.Outcome.Result != ledger.Failed {
		return no(plan.AlreadyBegun, "the order was begun before, at %s", a.At.UTC().Format(time.RFC3339))
	}
	snapshot := r.targets.Target(ctx, o.Cluster.Name, o.Instance, now)
	if !snapshot.Whole() {
		return no(plan.TargetUnreadable, "%s", firstGap(snapshot))
	}
	if snapshot.Cluster.ID != o.Cluster {
		return no(plan.VerdictChanged, "the order is for cluster %s, the credentials here see %s", o.Cluster, snapshot.Cluster.ID)
	}
	// What was done while the target was looked at counts too.
	if state, err = r.ledger.Read(ctx, o.Cluster); err != nil {
		return no(plan.NotRecorded, "the ledger could not be read: %v", err)
	}
	// Read after the cluster, which may take a while: it is the kill switch.
	doc, err := r.policy(ctx)
	if err != nil {
		return no(plan.PolicyUnreadable, "the policy could not be read again: %v", err)
	}
	pol := doc.Cluster(o.Cluster.Name, snapshot.Cluster.ModeTag, r.permitted)
	a := assess.Thoroughly(assess.Input{Snapshot: snapshot, Policy: pol, State: state, Now: now},
		func(q []roll.Question) { r.targets.Details(ctx, snapshot, q) })
	again := plan.Make(plan.Input{Snapshot: snapshot, Assessment: a, State: state, Policy: pol, Now: now})
	for _, h := range again.Held {
		if h.Instance == o.Instance && h.Kind == o.Kind {
			return no(h.Reason, "%s", h.Detail)
		}
	}
	confirmed := slices.IndexFunc(again.Orders, func(made plan.Order) bool { return made.ID == o.ID })
	if confirmed < 0 {
		return no(plan.VerdictChanged, "%s", changed(snapshot, a, o))
	}
	if len(snapshot.Instances) != 1 || snapshot.Instances[0].Marks == nil || snapshot.Instances[0].Marks.Order != o.ID {
		return no(plan.OrderUnmarked, "%s does not carry %s=%s: the tag was not written, was removed, or EC2 does not show it yet", o.Instance, roll.TagOrder, o.ID)
	}
	if r.clock != nil && !r.clock().Before(o.Expires) {
		return no(plan.OrderExpired, "the order expired at %s while the target was looked at again", o.Expires.UTC().Format(time.RFC3339))
	}
	v := verified{order: again.Orders[confirmed], limit: pol(roll.Selector{}).Limits.ActionsPerHour}
	if earlier, ok := state.Action(o.ID); ok && earlier.Outcome != nil {
		v.tried, v.before = true, earlier.Outcome.Detail
	}
	return v, nil
}

// changed says how the target differs from what the order rests on.
func changed(s *roll.Snapshot, a assess.Assessment, o plan.Order) string {
	for _, f := range a.Findings {
		if f.Instance == o.Instance {
			if f.Kind != o.Kind {
				return fmt.Sprintf("the finding is %s by now, the order was for %s", f.Kind, o.Kind)
			}
			return fmt.Sprintf("the finding is %s by now: %s", f.Stage, f.Summary)
		}
	}
	if len(s.Instances) == 0 {
		return fmt.Sprintf("EC2 does not know %s any more", o.Instance)
	}
	if i := s.Instances[0]; i.State != roll.StateRunning {
		return fmt.Sprintf("%s is %s by now", o.Instance, i.State)
	}
	for _, n := range s.Nodes {
		if n.Instance == o.Instance && n.Ready.Status == roll.ConditionTrue {
			return fmt.Sprintf("node %s of %s is registered and Ready by now", n.Name, o.Instance)
		}
	}
	for _, n := range a.NotNodes {
		if n.Instance == o.Instance {
			return n.Why
		}
	}
	return fmt.Sprintf("nothing is wrong with %s by now", o.Instance)
}

// terminate sends the one destructive call. newTag says that the order's tag may be too
// new for EC2's permission check.
func (r *Remediator) terminate(ctx context.Context, o plan.Order, newTag bool) Outcome {
	_, err := r.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{string(o.Instance)}})
	out := Outcome{Order: o, Result: Acted, Detail: fmt.Sprintf("terminated %s", o.Instance)}
	if err == nil {
		return out
	}
	out.Detail = awserr.Describe(err, "ec2:TerminateInstances", r.principal(ctx))
	switch {
	case awserr.IsDenied(err) && newTag:
		out.Result = Failed
		out.Detail = ledger.NotYet + out.Detail + " (EC2 may not show the order's tag to its permission check yet)"
	// Not a throttle: it may have met the second try of a call whose first took effect.
	case awserr.IsTerminationProtected(err), awserr.IsIncorrectState(err), awserr.IsDenied(err), awserr.IsNotFound(err),
		awserr.IsNoCredentials(err), awserr.IsBadCredentials(err), awserr.IsExpiredCredentials(err):
		out.Result = Failed
	default:
		out.Result = Unclear
		// The advice to wait for another try would be wrong here.
		reason, _, _ := strings.Cut(out.Detail, ": the next check tries again")
		out.Detail = reason + "; whether it took effect, a later check will see from the instance; until then it is not repeated"
	}
	return out
}

func refuse(o plan.Order, reason plan.Reason, detail string) Outcome {
	return Outcome{Order: o, Result: Refused, Reason: reason, Detail: detail, News: true}
}

func firstGap(s *roll.Snapshot) string {
	for _, g := range s.Gaps {
		if g.Scope != roll.ScopeDetail {
			return g.Detail
		}
	}
	return "the target could not be read whole"
}
