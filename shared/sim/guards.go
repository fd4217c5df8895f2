package sim

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/view"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// Guards put something wrong into the functions of a run, to see that the auditor notices:
// each is handed the real thing and returns what is used in its place. The zero value is
// the real thing throughout.
type Guards struct {
	// Plan makes the plan of a check, and the one that is made anew before an act.
	Plan func(func(plan.Input) plan.Plan) func(plan.Input) plan.Plan
	// Observer looks at a cluster for a check, and Targets at one instance before an act.
	Observer func(Observer) Observer
	Targets  func(Targets) Targets
	// Ledger is that of a check and of an act.
	Ledger func(ledger.Ledger) ledger.Ledger
	// Table is DynamoDB, in which the ledger is kept.
	Table func(Table) Table
	Tags  func(Tags) Tags
	// Notices are those of a check and of an act's outcome.
	Notices func(Notices) Notices
	// Check and Act find out why, and what they return keeps the evidence.
	Check func(run.Why) run.Why
	Act   func(remediate.Why) remediate.Why
	// Store keeps the evidence.
	Store func(view.Store) view.Store
	// Policy reads the policy before an act.
	Policy func(remediate.PolicySource) remediate.PolicySource
	// Permitted is the most that the functions may do.
	Permitted func(policy.Mode) policy.Mode
}

// Observer looks at a cluster.
type Observer interface {
	Snapshot(ctx context.Context, cluster string, at time.Time, watch roll.Watch) *roll.Snapshot
	LookUp(ctx context.Context, s *roll.Snapshot, ids []roll.InstanceID)
	Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question)
	Left(ctx context.Context, s *roll.Snapshot, subjects []roll.InstanceID)
}

// Targets looks at one instance again.
type Targets interface {
	Target(ctx context.Context, cluster string, id roll.InstanceID, at time.Time, watch roll.Watch) *roll.Snapshot
	Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question)
}

// Tags marks instances.
type Tags interface {
	Tag(ctx context.Context, instances []roll.InstanceID, set map[string]string) error
	Untag(ctx context.Context, instances []roll.InstanceID, keys []string) error
}

// Table is what the ledger asks of DynamoDB.
type Table interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Notices publishes notices.
type Notices interface {
	Publish(context.Context, report.Message) error
}

// guarded is what a guard makes of the real thing.
func guarded[T any](guard func(T) T, thing T) T {
	if guard == nil {
		return thing
	}
	return guard(thing)
}
