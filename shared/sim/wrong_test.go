package sim

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/view"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// seenBefore makes the ledger say that each finding was first seen when it began.
func seenBefore(in *plan.Input) {
	in.State = in.State.Clone()
	if in.State.Findings == nil {
		in.State.Findings = map[roll.FindingKey]ledger.Finding{}
	}
	for _, f := range in.Assessment.Findings {
		known, ok := in.State.Findings[f.Key()]
		if !ok || !known.Began.Equal(f.Began) {
			known = ledger.Finding{Instance: f.Instance, Kind: f.Kind, Node: f.Node, Group: f.Group, Stage: f.Stage, Since: f.Since, Condition: f.Condition, Began: f.Began}
		}
		known.FirstSeen = f.Began
		in.State.Findings[f.Key()] = known
	}
}

// planning returns a guard that changes the input of the plan.
func planning(changes ...func(*plan.Input)) func(func(plan.Input) plan.Plan) func(plan.Input) plan.Plan {
	return func(makes func(plan.Input) plan.Plan) func(plan.Input) plan.Plan {
		return func(in plan.Input) plan.Plan {
			for _, change := range changes {
				change(&in)
			}
			return makes(in)
		}
	}
}

// planningFrom makes plans from a changed input, and planningTo changes the plans.
func planningFrom(changes ...func(*plan.Input)) func() Guards {
	return func() Guards { return Guards{Plan: planning(changes...)} }
}

func planningTo(change func(plan.Input, *plan.Plan)) func() Guards {
	return func() Guards { return Guards{Plan: planned(change)} }
}

// without removes a cause from every diagnosis.
func without(code string) func(*plan.Input) {
	return func(in *plan.Input) {
		in.Diagnoses = maps.Clone(in.Diagnoses)
		for key, d := range in.Diagnoses {
			d.Causes = slices.DeleteFunc(slices.Clone(d.Causes), func(c roll.Cause) bool { return c.Code == code })
			in.Diagnoses[key] = d
		}
	}
}

// planned returns a guard that changes the plan.
func planned(change func(plan.Input, *plan.Plan)) func(func(plan.Input) plan.Plan) func(plan.Input) plan.Plan {
	return func(makes func(plan.Input) plan.Plan) func(plan.Input) plan.Plan {
		return func(in plan.Input) plan.Plan {
			out := makes(in)
			change(in, &out)
			return out
		}
	}
}

// throttled makes the snapshot incomplete: reading its nodes was throttled.
func throttled(s *roll.Snapshot) {
	s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeNodes, Kind: roll.GapThrottled})
}

// heldFor holds every order for a reason.
func heldFor(r plan.Reason) func() Guards {
	return planningTo(func(_ plan.Input, out *plan.Plan) { holdAll(out, r) })
}

// heldAfter holds every order of a check for a reason once such an act on an instance of it has an outcome.
func heldAfter(did plan.Action, r plan.Reason) func() Guards {
	return planningTo(func(in plan.Input, out *plan.Plan) {
		if slices.ContainsFunc(in.State.Actions, func(a ledger.Action) bool { return a.Do == string(did) && a.Outcome != nil }) && in.Snapshot.Target == "" {
			holdAll(out, r)
		}
	})
}

func holdAll(out *plan.Plan, r plan.Reason) {
	for _, o := range out.Orders {
		out.Held = append(out.Held, plan.Held{Instance: o.Instance, Node: o.Node, Kind: o.Kind, Group: o.Group, Action: o.Action, Refusal: plan.Refusal{Reason: r}})
	}
	out.Orders = nil
}

// lateBy withholds the orders about an instance until a time after the first.
func lateBy(late time.Duration) func() Guards {
	return func() Guards {
		first := map[roll.InstanceID]time.Time{}
		return Guards{Plan: planned(func(in plan.Input, out *plan.Plan) {
			out.Orders = slices.DeleteFunc(out.Orders, func(o plan.Order) bool {
				if first[o.Instance].IsZero() {
					first[o.Instance] = in.Now
				}
				return in.Now.Sub(first[o.Instance]) < late
			})
		})}
	}
}

// limits changes the policy's limits.
func limits(change func(*policy.Limits)) func(*plan.Input) {
	return underPolicy(func(p *policy.Policy) { change(&p.Limits) })
}

// underPolicy changes the policy.
func underPolicy(change func(*policy.Policy)) func(*plan.Input) {
	return func(in *plan.Input) {
		right := in.Policy
		in.Policy = func(s roll.Selector) policy.Policy {
			p := right(s)
			change(&p)
			return p
		}
	}
}

// seeing changes what a check observes.
func seeing(change func(*roll.Snapshot)) func(Observer) Observer {
	return func(o Observer) Observer { return wrongObserver{o, change} }
}

type wrongObserver struct {
	Observer
	change func(*roll.Snapshot)
}

func (o wrongObserver) Snapshot(ctx context.Context, cluster string, at time.Time, watch roll.Watch) *roll.Snapshot {
	s := o.Observer.Snapshot(ctx, cluster, at, watch)
	o.change(s)
	return s
}

// allLeft reports every subject that it is asked for as left.
type allLeft struct{ Observer }

func (o allLeft) Left(ctx context.Context, s *roll.Snapshot, subjects []roll.InstanceID) {
	o.Observer.Left(ctx, s, subjects)
	for _, subject := range subjects {
		name, _ := subject.Leftover()
		s.LeftRead[subject], s.Left[subject] = roll.Yes, roll.Leftover{ID: name, Type: "gp3", Size: 100}
	}
}

// seeingAgain changes what is read before an act.
func seeingAgain(change func(*roll.Snapshot)) func(Targets) Targets {
	return func(o Targets) Targets { return wrongTargets{o, change} }
}

type wrongTargets struct {
	Targets
	change func(*roll.Snapshot)
}

func (o wrongTargets) Target(ctx context.Context, cluster string, id roll.InstanceID, at time.Time, watch roll.Watch) *roll.Snapshot {
	s := o.Targets.Target(ctx, cluster, id, at, watch)
	o.change(s)
	return s
}

// reading changes what checks observe, and what is read before an act.
func reading(change func(*roll.Snapshot)) func() Guards {
	return func() Guards { return Guards{Observer: seeing(change), Targets: seeingAgain(change)} }
}

// ordersOf records the orders of checks.
func ordersOf(orders map[roll.InstanceID]string) func(plan.Input, *plan.Plan) {
	return func(in plan.Input, out *plan.Plan) {
		for _, o := range out.Orders {
			if in.Snapshot.Target == "" {
				orders[o.Instance] = o.ID
			}
		}
	}
}

// oldTargets read each instance until it carries the tag of an order. From then on they repeat that
// answer, except for the tag.
type oldTargets struct {
	Targets
	first  map[roll.InstanceID]*roll.Snapshot
	orders map[roll.InstanceID]string
}

func (o oldTargets) Target(ctx context.Context, cluster string, id roll.InstanceID, at time.Time, watch roll.Watch) *roll.Snapshot {
	if o.first[id] == nil {
		s := o.Targets.Target(ctx, cluster, id, at, watch)
		if !slices.ContainsFunc(s.Instances, func(i roll.Instance) bool { return i.Marks != nil && i.Marks.Order != "" }) {
			return s
		}
		o.first[id] = s
	}
	s := *o.first[id]
	s.At, s.Instances = at, slices.Clone(s.Instances)
	for i := range s.Instances {
		s.Instances[i].Marks = &roll.Marks{Order: o.orders[id]}
	}
	return &s
}

// wrongLedger is a ledger with some methods replaced.
type wrongLedger struct {
	ledger.Ledger
	begin  func(context.Context, roll.ClusterID, ledger.Action, ledger.Budget) error
	finish func(context.Context, roll.ClusterID, string, ledger.Outcome) error
	record func(*ledger.Changes)
	read   func(*ledger.State)
}

func forgetting(change func(*wrongLedger)) func() Guards {
	return func() Guards {
		return Guards{Ledger: func(l ledger.Ledger) ledger.Ledger {
			w := wrongLedger{Ledger: l}
			change(&w)
			return w
		}}
	}
}

func (w wrongLedger) Begin(ctx context.Context, c roll.ClusterID, a ledger.Action, b ledger.Budget) error {
	if w.begin != nil {
		return w.begin(ctx, c, a, b)
	}
	return w.Ledger.Begin(ctx, c, a, b)
}

func (w wrongLedger) Finish(ctx context.Context, c roll.ClusterID, id string, o ledger.Outcome) error {
	if w.finish != nil {
		return w.finish(ctx, c, id, o)
	}
	return w.Ledger.Finish(ctx, c, id, o)
}

func (w wrongLedger) Record(ctx context.Context, c roll.ClusterID, changes ledger.Changes) error {
	if w.record != nil {
		w.record(&changes)
	}
	return w.Ledger.Record(ctx, c, changes)
}

func (w wrongLedger) Read(ctx context.Context, c roll.ClusterID) (ledger.State, error) {
	s, err := w.Ledger.Read(ctx, c)
	if w.read != nil {
		w.read(&s)
	}
	return s, err
}

// wrongDetails reads no instance as protected.
type wrongDetails struct{ Observer }

func (o wrongDetails) Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	o.Observer.Details(ctx, s, questions)
	unprotect(s)
}

// wrongDetailsAgain is the same for what is read before an act.
type wrongDetailsAgain struct{ Targets }

func (o wrongDetailsAgain) Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	o.Targets.Details(ctx, s, questions)
	unprotect(s)
}

func unprotect(s *roll.Snapshot) {
	for id, d := range s.Details {
		d.TerminationProtected = roll.No
		s.Details[id] = d
	}
}

// twice publishes every notice twice.
type twice struct{ Notices }

func (n twice) Publish(ctx context.Context, m report.Message) error {
	_ = n.Notices.Publish(ctx, m)
	return n.Notices.Publish(ctx, m)
}

// noTags writes no order's tag.
type noTags struct{ Tags }

func (noTags) Tag(context.Context, []roll.InstanceID, map[string]string) error { return nil }

// noUntags removes no tag.
type noUntags struct{ Tags }

func (noUntags) Untag(context.Context, []roll.InstanceID, []string) error { return nil }

// noStore reports success and stores nothing.
type noStore struct{}

func (noStore) Put(context.Context, archive.Key, map[string][]byte) (string, error) {
	return "s3://nowhere/", nil
}

// lessStored stores everything but the files whose names begin with a prefix.
type lessStored struct {
	view.Store
	prefix string
}

func (s lessStored) Put(ctx context.Context, key archive.Key, files map[string][]byte) (string, error) {
	less := maps.Clone(files)
	maps.DeleteFunc(less, func(name string, _ []byte) bool { return strings.HasPrefix(name, s.prefix) })
	return s.Store.Put(ctx, key, less)
}

// storingNo stores no file whose name begins with a prefix.
func storingNo(prefix string) func() Guards {
	return func() Guards { return Guards{Store: func(s view.Store) view.Store { return lessStored{s, prefix} }} }
}

// climbing gives findings of a kind another ladder.
func climbing(kind roll.Kind, steps ...policy.Step) func() Guards {
	return planningFrom(underPolicy(func(p *policy.Policy) {
		p.Ladders = maps.Clone(p.Ladders)
		p.Ladders[kind] = steps
	}))
}

// telling publishes only some of the messages, by their documents.
func telling(some func(document string) bool) func(Notices) Notices {
	return func(n Notices) Notices { return someNotices{n, some} }
}

type someNotices struct {
	Notices
	some func(document string) bool
}

func (n someNotices) Publish(ctx context.Context, m report.Message) error {
	if !n.some(string(m.JSON)) {
		return nil
	}
	return n.Notices.Publish(ctx, m)
}

// silentOn publishes no message whose document contains a text.
func silentOn(text string) func() Guards {
	return func() Guards {
		return Guards{Notices: telling(func(document string) bool { return !strings.Contains(document, text) })}
	}
}

// policyReads reads the policy that often, and keeps the last one.
func policyReads(most int) func() Guards {
	return func() Guards {
		var doc *policy.Document
		return Guards{Policy: func(read remediate.PolicySource) remediate.PolicySource {
			return func(ctx context.Context) (got *policy.Document, err error) {
				if most == 0 {
					return doc, nil
				}
				if got, err = read(ctx); err == nil {
					doc, most = got, most-1
				}
				return got, err
			}
		}}
	}
}

// unconditional is DynamoDB without the conditions of writes.
type unconditional struct{ Table }

func (u unconditional) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	free := &dynamodb.TransactWriteItemsInput{}
	for _, w := range in.TransactItems {
		if w.Put != nil {
			w.Put = &types.Put{TableName: w.Put.TableName, Item: w.Put.Item}
		}
		free.TransactItems = append(free.TransactItems, w)
	}
	return u.Table.TransactWriteItems(ctx, free, opts...)
}

// stale is DynamoDB whose reads are all eventually consistent.
type stale struct{ Table }

func (s stale) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	late := *in
	late.ConsistentRead = nil
	return s.Table.Query(ctx, &late, opts...)
}
