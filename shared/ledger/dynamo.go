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

// Dynamo is a ledger in a DynamoDB table, safe for any number of processes at once.
// README.md describes the table: keys, attributes, writers, expiry.
type Dynamo struct {
	api   dynamoAPI
	table string
	// Pause waits before the next try of a write that conflicted with another writer.
	// conflicts counts the conflicts from 1. The default waits for a random time with a
	// limit that grows from 25 ms to one second.
	Pause func(ctx context.Context, conflicts int) error
}

// NewDynamo returns the ledger in a table with the string keys pk and sk and the TTL
// attribute expires. *dynamodb.Client implements api.
func NewDynamo(api dynamoAPI, table string) *Dynamo {
	return &Dynamo{api: api, table: table, Pause: pause}
}

const (
	shortPause = 25 * time.Millisecond
	longPause  = time.Second
	// tries is the maximum number of tries of a write that conflicts with another writer
	// each time. Each round lets one writer through, and there are seldom more than two.
	tries = 16
)

// pause waits with jitter, so that two writers do not conflict again.
func pause(ctx context.Context, conflicts int) error {
	limit := min(shortPause<<(conflicts-1), longPause)
	waiting, cancel := context.WithTimeout(ctx, rand.N(limit))
	defer cancel()
	<-waiting.Done()
	return ctx.Err()
}

// retry repeats try while it conflicts with another writer.
func (d *Dynamo) retry(ctx context.Context, try func() error) error {
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

// Read implements Ledger. It may miss an act that begins at the same time; Begin does not
// rely on it.
func (d *Dynamo) Read(ctx context.Context, cluster roll.ClusterID) (state State, err error) {
	err = d.retry(ctx, func() error {
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

// query returns the items of a cluster whose sort key has the prefix, with strongly
// consistent reads.
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

// transact writes all items or none. The SDK gives each call a token, so that its retry of a
// call whose answer was lost does not write twice.
func (d *Dynamo) transact(ctx context.Context, u unit) error {
	if _, err := d.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: u}); err != nil {
		return fmt.Errorf("write to table %s: %w", d.table, err)
	}
	return nil
}
