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

// Guards replace parts of the functions, each of which they receive, with wrong versions that the auditor must notice.
type Guards struct {
	Plan func(func(plan.Input) plan.Plan) func(plan.Input) plan.Plan // makes the plan of a check, and the plan that is made again before an act
	// Observer reads a cluster for a check. Targets reads one instance before an act.
	Observer func(Observer) Observer
	Targets  func(Targets) Targets
	Ledger   func(ledger.Ledger) ledger.Ledger // the ledger of checks and acts
	Table    func(Table) Table                 // the DynamoDB table of the ledger
	Tags     func(Tags) Tags
	Notices  func(Notices) Notices // publishes the notices of checks and of the outcome of acts
	// Check and Act find the causes. The results they return also store the evidence.
	Check     func(run.Why) run.Why
	Act       func(remediate.Why) remediate.Why
	Store     func(view.Store) view.Store                         // stores the evidence
	Policy    func(remediate.PolicySource) remediate.PolicySource // reads the policy before an act
	Permitted func(policy.Mode) policy.Mode                       // returns the highest mode that the functions may use
}

// Observer reads a cluster.
type Observer interface {
	Snapshot(ctx context.Context, cluster string, at time.Time, watch roll.Watch) *roll.Snapshot
	LookUp(ctx context.Context, s *roll.Snapshot, ids []roll.InstanceID)
	Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question)
	Left(ctx context.Context, s *roll.Snapshot, subjects []roll.InstanceID)
}

// Targets reads one instance again.
type Targets interface {
	Target(ctx context.Context, cluster string, id roll.InstanceID, at time.Time, watch roll.Watch) *roll.Snapshot
	Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question)
}

// Tags writes and removes tags of instances.
type Tags interface {
	Tag(ctx context.Context, instances []roll.InstanceID, set map[string]string) error
	Untag(ctx context.Context, instances []roll.InstanceID, keys []string) error
}

// Table is the part of DynamoDB that the ledger uses.
type Table interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Notices publishes notices.
type Notices interface {
	Publish(context.Context, report.Message) error
}

// guarded returns the guard's replacement for the thing, or the thing itself without a guard.
func guarded[T any](guard func(T) T, thing T) T {
	if guard == nil {
		return thing
	}
	return guard(thing)
}
