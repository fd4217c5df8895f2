package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/roll"
)

type dynamoAPI interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Dynamo is a ledger in a DynamoDB table, for the functions: any number of processes
// may use it at once. README.md describes the table: its keys, who writes what, what
// expires and why.
type Dynamo struct {
	api   dynamoAPI
	table string
	// Pause waits before a write is tried again that met another writer; conflicts
	// counts those so far, from 1. NewDynamo's own waits for a random time that grows
	// from 25 ms to at most a second.
	Pause func(ctx context.Context, conflicts int) error
}

// NewDynamo returns the ledger in the table, which has the string keys pk and sk and
// the TTL attribute expires. *dynamodb.Client is an api.
func NewDynamo(api dynamoAPI, table string) *Dynamo {
	return &Dynamo{api: api, table: table, Pause: pause}
}

const (
	shortPause = 25 * time.Millisecond
	longPause  = time.Second
	// tries is how often a write is tried that meets another writer each time. Every
	// round lets one of those writers through, and there are seldom more than two.
	tries = 16
)

// pause is jittered, or those that met once would meet again.
func pause(ctx context.Context, conflicts int) error {
	limit := min(shortPause<<(conflicts-1), longPause)
	waiting, cancel := context.WithTimeout(ctx, rand.N(limit))
	defer cancel()
	<-waiting.Done()
	return ctx.Err()
}

// insist tries again as long as another writer is met.
func (d *Dynamo) insist(ctx context.Context, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if err == nil || !errors.Is(err, errMoved) && !awserr.IsTransactionConflict(err) {
			return err
		}
		if n == tries {
			return fmt.Errorf("gave up after %d tries, each of which met another writer: %w", n, err)
		}
		if ended := d.Pause(ctx, n); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// Read implements Ledger. The acts that it shows may lack one that begins at the same
// moment; Begin does not rely on it.
func (d *Dynamo) Read(ctx context.Context, cluster roll.ClusterID) (state State, err error) {
	err = d.insist(ctx, func() error {
		items, err := d.query(ctx, cluster, "")
		if err != nil {
			return err
		}
		if state, err = stateOf(items); err != nil {
			return fmt.Errorf("read ledger of %s in table %s: %w", cluster, d.table, err)
		}
		return nil
	})
	return state, err
}

// Persistent implements Ledger.
func (d *Dynamo) Persistent() bool { return true }

// query reads all items of a cluster whose sort key begins with the prefix, strongly
// consistently.
func (d *Dynamo) query(ctx context.Context, cluster roll.ClusterID, prefix string) ([]item, error) {
	in := &dynamodb.QueryInput{
		TableName: &d.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": text(partition(cluster))},
	}
	if prefix != "" {
		in.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :prefix)")
		in.ExpressionAttributeValues[":prefix"] = text(prefix)
	}
	var items []item
	for pages := dynamodb.NewQueryPaginator(d.api, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read ledger of %s in table %s: %w", cluster, d.table, err)
		}
		items = append(items, page.Items...)
	}
	return items, nil
}

func (d *Dynamo) put(it item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &d.table, Item: it}}
}

func (d *Dynamo) drop(pk, sk string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &d.table, Key: key(pk, sk)}}
}

// transact writes all or none. The SDK gives each call a token, so that its own
// retries of a call whose answer was lost do not write twice.
func (d *Dynamo) transact(ctx context.Context, u unit) error {
	if _, err := d.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: u}); err != nil {
		return fmt.Errorf("write to table %s: %w", d.table, err)
	}
	return nil
}
