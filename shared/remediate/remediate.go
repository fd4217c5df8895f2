// Package remediate carries out orders. It is the only package that destroys.
//
// It does not trust an order. It reads the instance, every node that may belong to it, the
// policy and the ledger again. It repeats the verdict and the plan with the code that made
// the order. It acts only if the same order results, its tag is on the instance and the
// evidence is stored. Then it records the intent and sends the one call of the act.
// Everything else is a refusal with a typed reason, which is not an error.
//
// Acts on instances (terminate, reboot) and deletions (delete-node, delete-nodeclaim) are
// sent once. If the answer leaves their effect unknown, the intent stays open, and a later
// check settles it. Repeatable acts (cordon, uncordon, drain) continue where they stopped:
// the next check gives the same order again, and finds the intent.
package remediate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/assess"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/deadline"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// instances terminates and reboots instances; *ec2.Client implements it.
type instances interface {
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
	RebootInstances(context.Context, *ec2.RebootInstancesInput, ...func(*ec2.Options)) (*ec2.RebootInstancesOutput, error)
}

// targets reads one instance again; *observe.Observer implements it.
type targets interface {
	Target(ctx context.Context, cluster string, id roll.InstanceID, at time.Time, watch roll.Watch) *roll.Snapshot
	Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question)
}

// hands changes objects in one cluster; *kube.Client implements it. Each call names the uid
// of the object that was read, and changes no other object.
type hands interface {
	Cordon(ctx context.Context, node, uid, order string) error
	Uncordon(ctx context.Context, node, uid, order string) error
	OutOfService(ctx context.Context, node, uid string) error
	Drain(ctx context.Context, node string, pass kube.Pass) (kube.Drained, error)
	DeleteNode(ctx context.Context, name, uid string) error
	DeleteNodeClaim(ctx context.Context, name, uid string) error
}

// dialer returns a client for a cluster's Kubernetes API; *kube.Dialer implements it.
type dialer interface {
	Dial(roll.Cluster) (*kube.Client, error)
}

// PolicySource reads the policy again: stop: true or mode: observe in it prevents the next
// act.
type PolicySource func(context.Context) (*policy.Document, error)

// Why diagnoses findings. It never fails: it reports what it could not read as not checked.
// Keep stores what it read.
type Why func(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State) (map[roll.FindingKey]roll.Diagnosis, Keep)

// Keep stores the evidence of an order's instance before the act destroys it, and returns
// its place. After an error nothing is done. Keep may be called again for an order whose
// act did not happen.
type Keep func(ctx context.Context, o plan.Order, seen Seen) (where string, err error)

// Seen is everything that an order depends on, read again.
type Seen struct {
	Snapshot   *roll.Snapshot
	Assessment assess.Assessment
	Diagnoses  map[roll.FindingKey]roll.Diagnosis
	Plan       plan.Plan
}

// Remediator carries out orders.
type Remediator struct {
	Options
	reach func(roll.Cluster) (hands, error)
}

// Options configure a Remediator.
type Options struct {
	Targets targets
	EC2     instances
	Kube    dialer
	Ledger  ledger.Ledger // must persist
	Policy  PolicySource
	// Why also stores the evidence, without which nothing is done.
	Why Why
	// Plan makes the plan; nil is plan.Make. Tests of the guards replace it.
	Plan      func(plan.Input) plan.Plan
	Permitted policy.Mode // the caller's mode; see policy.Document.Cluster
	// Principal returns whose credentials are used, for messages; it may be nil.
	Principal func(context.Context) string
	// Clock is read again right before the call, since reading the target may take longer
	// than an order is valid. nil uses the time given to Act.
	Clock func() time.Time
}

// New returns a Remediator. It returns an error if Why is nil, or if the ledger does not
// outlive the process: after a crash its acts would be unknown.
func New(o Options) (*Remediator, error) {
	if !o.Ledger.Persistent() {
		return nil, errors.New("remediate needs a ledger that persists: give --ledger FILE")
	}
	if o.Why == nil {
		return nil, errors.New("remediate needs a place to keep evidence in: give --evidence DIR")
	}
	if o.Principal == nil {
		o.Principal = func(context.Context) string { return "" }
	}
	if o.Plan == nil {
		o.Plan = plan.Make
	}
	return &Remediator{Options: o, reach: func(c roll.Cluster) (hands, error) { return o.Kube.Dial(c) }}, nil
}

// Result is the result of an order.
type Result string

// The results.
const (
	Acted   Result = "acted"   // the call was accepted, or had no effect to add
	Refused Result = "refused" // not confirmed; nothing was changed
	Failed  Result = "failed"  // the call was refused and nothing happened; or a drain timed out
	Sent    Result = "sent"    // handed to another function, which reports its outcome
	// Ongoing: it takes more than one pass. The ledger has the intent, and the next check
	// gives the order again.
	Ongoing Result = "ongoing"
	// Unclear: the call was interrupted and may have taken effect. The ledger has the
	// intent, and a later check settles it.
	Unclear Result = "unclear"
)

// Outcome is the result of an order, with the reason.
type Outcome struct {
	Order  plan.Order
	Result Result
	// Reason of a refusal; plan.DrainUnfinished for a drain that timed out with pods left.
	Reason plan.Reason
	Detail string // one sentence for a person
	// Evidence is where the evidence from before the act is stored, "" if it is not.
	Evidence string
	// Cause is the code of the first decisive cause, "" if none was found.
	Cause string
	// News: neither an earlier try of the order nor a reported refusal had this outcome.
	News bool
}

// Said returns the changes for the ledger once the outcome was reported: a refusal. An act
// already has its record.
func (o Outcome) Said(at time.Time) ledger.Changes { return o.refused(at, false) }

// refused returns the changes that record a refusal.
func (o Outcome) refused(at time.Time, untold bool) ledger.Changes {
	if o.Result != Refused {
		return ledger.Changes{}
	}
	return ledger.Changes{
		Put: ledger.State{
			Refusals: map[ledger.RefusalKey]ledger.Refusal{
				o.refusal(): {Instance: o.Order.Instance, Kind: o.Order.Kind, Do: string(o.Order.Action), At: at.UTC(), Untold: untold},
			},
		},
	}
}

func (o Outcome) refusal() ledger.RefusalKey {
	return ledger.RefusalKey{Order: o.Order.ID, Reason: string(o.Reason)}
}

// act describes how an act is carried out.
type act struct {
	do func(*Remediator, context.Context, verified, time.Time) Outcome
	// leashed: IAM permits it only for an instance with the order's tag.
	leashed bool
	// marked: the order's tag must be on the instance, if EC2 knows it. Removing the tag is
	// another way to stop an act.
	marked bool
	// resumes: repeating it is harmless, so an intent without an outcome is continued.
	resumes bool
}

var acts = map[plan.Action]act{
	plan.Cordon:          {do: (*Remediator).cordon, marked: true, resumes: true},
	plan.Uncordon:        {do: (*Remediator).uncordon, resumes: true},
	plan.OutOfService:    {do: (*Remediator).outOfService, resumes: true},
	plan.Drain:           {do: (*Remediator).drain, marked: true, resumes: true},
	plan.Reboot:          {do: (*Remediator).reboot, leashed: true, marked: true},
	plan.DeleteNode:      {do: (*Remediator).deleteNode},
	plan.DeleteNodeClaim: {do: (*Remediator).deleteNodeClaim, marked: true},
	plan.Terminate:       {do: (*Remediator).terminate, leashed: true, marked: true},
}

// Act carries out one order at the time now, or returns why not.
func (r *Remediator) Act(ctx context.Context, o plan.Order, now time.Time) Outcome {
	out := r.act(ctx, o, now)
	if out.Result == Refused {
		out.News = out.News && r.news(ctx, out, now)
	}
	return out
}

// lasting is how long an order is refused for a reason that mostly passes by itself before that is news.
const lasting = 30 * time.Minute

// news reports whether a refusal of the order is to be reported. A repeated order may be refused each
// time. If the ledger is unreadable, the refusal is reported once too often rather than never, but for one that is
// news only if it lasts.
func (r *Remediator) news(ctx context.Context, out Outcome, now time.Time) bool {
	if !out.Reason.Told() {
		return true
	}
	state, err := r.Ledger.Read(ctx, out.Order.ClusterID)
	known, ok := state.Refusals[out.refusal()]
	switch {
	case err != nil:
		return !out.Reason.Blocked()
	case ok && known.Untold:
		return now.Sub(known.At) >= lasting
	case ok || !out.Reason.Blocked():
		return !ok
	}
	// Without this record it never becomes news: that the ledger cannot be written shows in the log and the metrics.
	_ = r.Ledger.Record(ctx, out.Order.ClusterID, out.refused(now, true))
	return false
}

// Told records that a refusal was reported. After a crash before it, the refusal is reported twice.
func (r *Remediator) Told(ctx context.Context, out Outcome, at time.Time) error {
	said := out.Said(at)
	if said.Empty() {
		return nil
	}
	return r.Ledger.Record(ctx, out.Order.ClusterID, said)
}

func (r *Remediator) act(ctx context.Context, o plan.Order, now time.Time) Outcome {
	now = notBefore(now, o.At)
	v, no := r.verify(ctx, o, now)
	if no == nil {
		no = r.begin(ctx, &v, now)
	}
	if no != nil {
		return *no
	}
	out := v.does.do(r, ctx, v, v.at)
	out.Order, out.Evidence, out.Cause = v.order, v.evidence, v.cause()
	out.News = (!v.tried || v.before != out.Detail) && out.Result != Ongoing && !strings.HasPrefix(out.Detail, ledger.NotYet)
	// After the call: pods come onto a node until its cordon is there, and a drain has to evict those.
	return r.finish(ctx, out, r.later(v.at))
}

// notBefore returns the time of an act. A check judges as of the minute for which it was
// requested, up to a minute ahead of the clock; the act must not seem to precede it. An
// order from further ahead does not change the time.
func notBefore(now, ordered time.Time) time.Time {
	if ordered.After(now) && ordered.Sub(now) <= time.Minute {
		return ordered
	}
	return now
}

// begin stores the evidence and records the intent, or refuses. An act in progress has both
// already.
func (r *Remediator) begin(ctx context.Context, v *verified, now time.Time) *Outcome {
	o := v.order
	if !v.resumed && !o.Action.Free() {
		if v.keep == nil {
			return refusal(o, plan.EvidenceNotStored, "what %s can still show was not read, so nothing was done", o.Instance)
		}
		var err error
		if v.evidence, err = v.keep(ctx, o, v.seen); err != nil {
			return refusal(o, plan.EvidenceNotStored, "what %s can still show could not be kept, so nothing was done: %v", o.Instance, err)
		}
	}
	// The diagnosis took a while; later times count from the act itself.
	v.at = r.later(now)
	if !v.at.Before(v.expires) {
		return refusal(o, plan.OrderExpired, "the order expired at %s while the target was looked at again", v.expires.UTC().Format(time.RFC3339))
	}
	if v.resumed {
		return nil
	}
	if no := r.stale(v); no != nil {
		return no
	}
	intent := o.Intent(v.at, v.seen.Snapshot)
	intent.Cause, intent.Evidence = v.cause(), v.evidence
	err := r.Ledger.Begin(ctx, o.ClusterID, intent, ledger.Budget{Max: v.limit, Since: v.at.Add(-plan.Hour), Ordered: v.ordered})
	switch {
	case errors.Is(err, ledger.ErrBegun):
		return refusal(o, plan.AlreadyBegun, "%v", err)
	case errors.Is(err, ledger.ErrUnresolved):
		return refusal(o, plan.ActionUnresolved, "%v", err)
	case errors.Is(err, ledger.ErrOvertaken):
		return refusal(o, plan.OneAtATime, "%v", err)
	case errors.Is(err, ledger.ErrBudgetSpent):
		return refusal(o, plan.ActionsPerHour, "%v", err)
	case err != nil:
		return refusal(o, plan.NotRecorded, "the intent could not be recorded, so nothing was done: %v", err)
	}
	v.begun = v.at
	if no := r.stale(v); no != nil {
		no.Detail = ledger.NotYet + no.Detail
		out := r.finish(ctx, *no, v.at)
		return &out
	}
	return nil
}

// looksFor is the maximum age of what an act depends on. A store that hangs can take longer to keep the evidence and
// the intent.
const looksFor = 45 * time.Second

func (r *Remediator) stale(v *verified) *Outcome {
	age := r.later(time.Time{}).Sub(v.looked)
	if age <= looksFor {
		return nil
	}
	return refusal(v.order, plan.OrderExpired, "%s was read %.0f s ago, because the calls after it took long", v.order.Instance, age.Seconds())
}

// later returns the current time, but at least the given one.
func (r *Remediator) later(now time.Time) time.Time {
	if r.Clock == nil {
		return now
	}
	return roll.Later(now, r.Clock())
}

// finish records the outcome, unless the act is still open.
func (r *Remediator) finish(ctx context.Context, out Outcome, now time.Time) Outcome {
	result := ledger.Done
	switch out.Result {
	case Unclear, Ongoing:
		return out
	case Failed, Refused: // refused after the intent was recorded
		result = ledger.Failed
	}
	// The act has happened or not: an expired context must not keep its outcome out of the
	// ledger.
	ctx, cancel := deadline.In(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := r.Ledger.Finish(ctx, out.Order.ClusterID, out.Order.ID, ledger.Outcome{Result: result, At: now, Detail: out.Detail}); err != nil {
		out.Detail += fmt.Sprintf("; its outcome could not be recorded (%v), a later check will settle it", err)
	}
	return out
}

// recordTime limits the recording of an outcome.
const recordTime = 10 * time.Second

// refusal returns the outcome of an order that is not carried out.
func refusal(o plan.Order, reason plan.Reason, format string, args ...any) *Outcome {
	return &Outcome{Order: o, Result: Refused, Reason: reason, Detail: fmt.Sprintf(format, args...), News: true}
}
