package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/shared/sim/dynamo"
)

type item = dynamo.Item

const (
	tableName  = stack + "-Ledger-1A2B3C4D5E6F"
	expiredFor = 48 * time.Hour // the maximum delay of TTL deletion: typically within two days
)

// table is the ledger's DynamoDB table, which outlives every invocation.
type table struct {
	*dynamo.Table
	states map[roll.ClusterID]*onlooker
}

func newTable(a *account) *table {
	clock := dynamo.Clock{Start: a.start, Elapsed: func() time.Duration { return a.now }, In: a.in}
	d := a.d.of("table")
	return &table{states: map[roll.ClusterID]*onlooker{}, Table: dynamo.New(tableName, clock, func(pk, sk string) time.Duration {
		return d.of("expired").of(pk).of(sk).between(0, expiredFor)
	})}
}

// state returns the ledger's state of a cluster, with transactions in progress, and without a call. It is read-only.
func (t *table) state(cluster roll.ClusterID) ledger.State {
	known := t.states[cluster]
	if known == nil || known.version == 0 || known.version != t.Version(known.pk) {
		known = &onlooker{t: t}
		var err error
		if known.state, err = ledger.NewDynamo(known, tableName).Read(context.Background(), cluster); err != nil {
			panic(fmt.Sprintf("the ledger has written what it cannot read: %v", err))
		}
		t.states[cluster] = known
	}
	return known.state
}

// onlooker reads a partition of the table without a call. Only Query works.
type onlooker struct {
	Table   // nil
	t       *table
	state   ledger.State
	pk      string
	version int
}

// Query returns all items of a partition.
func (o *onlooker) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	o.pk = dynamo.TextOf(in.ExpressionAttributeValues[":pk"])
	o.version = o.t.Version(o.pk)
	return &dynamodb.QueryOutput{Items: o.t.All(o.pk)}, nil
}

// newLedger returns the ledger of an environment, which waits by the account's clock.
func (d *deployment) newLedger(v *env) *ledger.Dynamo {
	l := ledger.NewDynamo(guarded(d.guards.Table, Table(dynamoAPI{v})), tableName)
	l.Pause = func(ctx context.Context, conflicts int) error {
		most := min(25*time.Millisecond<<(conflicts-1), time.Second)
		v.inv.wait(v.inv.d.of("pause").nth(v.inv.calls).between(0, most))
		return ctx.Err()
	}
	return l
}

type dynamoAPI struct{ v *env }

func (d dynamoAPI) table() *table { return d.v.a.dep.table }

func (d dynamoAPI) dice(name string) dice { return d.v.inv.d.of(name).nth(d.v.inv.calls) }

// answered ends the run if the table does not simulate a request.
func (d dynamoAPI) answered(in any, err error) error {
	if errors.Is(err, dynamo.ErrUnsimulated) {
		d.v.unsimulated(in)
	}
	return err
}

// age returns the age of a read: an eventually consistent one may lack the writes of the last second.
func (d dynamoAPI) age(name string, consistent *bool) time.Duration {
	if aws.ToBool(consistent) {
		return 0
	}
	return d.dice(name).of("stale").between(0, dynamo.StaleFor)
}

// Query reads a page of the items of one partition.
func (d dynamoAPI) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	const name = "dynamodb:Query"
	err = d.v.call(ctx, name, reads, "", func() error {
		out, err = d.table().Query(in, d.age(name, in.ConsistentRead), func(all, left int) int { return d.v.pageSize(all+1, left) })
		if err == nil && len(in.ExpressionAttributeValues) == 1 { // of the whole partition
			d.v.inv.sawNotices(out.Items, in.ExclusiveStartKey == nil)
		}
		return d.answered(in, err)
	})
	return answered(out, err)
}

// TransactWriteItems applies all changes or none, and none twice: the SDK's retries have the same token.
func (d dynamoAPI) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	const name = "dynamodb:TransactWriteItems"
	token := aws.ToString(in.ClientRequestToken)
	do := func() error {
		dice := d.dice(name)
		if token == "" {
			token = uid(dice.of("token"))
		}
		left := d.v.takes(dice) / 2 // all changes appear before the answer
		err := d.table().Transact(in, token, func(i int) time.Duration {
			if dice.of("commit").nth(i).chance(0.5) {
				return left / 3
			}
			return left * 2 / 3
		})
		raises := func(w types.TransactWriteItem) bool { return w.Put != nil && isNotices(w.Put.Item) }
		d.v.inv.seen.raised = d.v.inv.seen.raised || err == nil && slices.ContainsFunc(in.TransactItems, raises)
		return d.answered(in, err)
	}
	err := d.v.callAgain(ctx, name, writes, "", do, do)
	return answered(&dynamodb.TransactWriteItemsOutput{}, err)
}
