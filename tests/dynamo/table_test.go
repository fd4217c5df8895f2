package dynamo

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/ledger"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// client returns a client that does not retry: a test sees each answer.
func client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(account.AWSEndpoint()), Retryer: aws.NopRetryer{},
		HTTPClient: testbed.HTTPClient,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDLEDGER", SecretAccessKey: "secret"}, nil
		}),
	})
}

// table is one test's table.
type table struct {
	t      *testing.T
	name   string
	client *dynamodb.Client
}

var tables atomic.Int64

// newTable creates a table as the SAM template does.
func newTable(t *testing.T) *table {
	t.Helper()
	tb := &table{t: t, name: fmt.Sprintf("ledger-%d", tables.Add(1)), client: client()}
	ctx := context.Background()
	_, err := tb.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &tb.name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
	})
	must.Succeed(t, err)
	t.Cleanup(func() {
		if _, err := tb.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &tb.name}); err != nil {
			t.Error(err)
		}
		// An answer that DynamoDB would not give tests the emulator and not the ledger.
		if answers, err := account.Unexpected(ctx); err != nil || len(answers) > 0 {
			t.Errorf("the emulator gave answers that AWS would not give: %+v, %v", answers, err)
		}
		if err := account.ForgetCalls(ctx); err != nil {
			t.Error(err)
		}
	})
	return tb
}

// open returns the ledger in the table, through a wire that the test may intercept. It
// does not wait between tries.
func (tb *table) open() (*ledger.Dynamo, *wire) {
	w := &wire{client: tb.client}
	l := ledger.NewDynamo(w, tb.name)
	l.Pause = func(context.Context, int) error { w.pauses.Add(1); return nil }
	return l, w
}

// items returns all items of the table by sort key.
func (tb *table) items() map[string]map[string]types.AttributeValue {
	tb.t.Helper()
	items := map[string]map[string]types.AttributeValue{}
	for pages := dynamodb.NewScanPaginator(tb.client, &dynamodb.ScanInput{TableName: &tb.name}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		must.Succeed(tb.t, err)
		for _, it := range page.Items {
			items[it["sk"].(*types.AttributeValueMemberS).Value] = it
		}
	}
	return items
}

func (tb *table) put(it map[string]types.AttributeValue) {
	tb.t.Helper()
	if _, err := tb.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &tb.name, Item: it}); err != nil {
		tb.t.Fatal(err)
	}
}

func (tb *table) remove(it map[string]types.AttributeValue) {
	tb.t.Helper()
	key := map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]}
	if _, err := tb.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &tb.name, Key: key}); err != nil {
		tb.t.Fatal(err)
	}
}

// one serializes calls to the emulator. In DynamoDB a transaction is atomic. In moto
// another call may come between its writes, and a canceled transaction reverts what
// others wrote meanwhile.
var one sync.Mutex

// wire is the DynamoDB client of a ledger, with hooks for a test. Set them before the
// ledger is used.
type wire struct {
	client *dynamodb.Client
	limit  int32 // of items on a page; 0 means no limit
	// before is called before each call: its error is the answer, and the call is not made.
	before func(op string, n int) error
	// after is called after each successful call: its error is the answer, though the call
	// was made.
	after func(op string, n int) error
	// see may change the result page of a query.
	see func(n int, page *dynamodb.QueryOutput)

	mu     sync.Mutex
	counts map[string]int
	writes []types.TransactWriteItem // of transactions that were sent
	pauses atomic.Int64
}

func (w *wire) count(op string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[op]
}

// call makes one call; n counts the calls of the same kind from 1.
func call[Out any](w *wire, op string, do func(n int) (*Out, error)) (*Out, error) {
	w.mu.Lock()
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[op]++
	n := w.counts[op]
	w.mu.Unlock()
	if w.before != nil {
		if err := w.before(op, n); err != nil {
			return nil, err
		}
	}
	one.Lock()
	out, err := do(n)
	one.Unlock()
	if err == nil && w.after != nil {
		if err := w.after(op, n); err != nil {
			return nil, err
		}
	}
	return out, err
}

func (w *wire) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return call(w, "Query", func(n int) (*dynamodb.QueryOutput, error) {
		if !aws.ToBool(in.ConsistentRead) {
			return nil, fmt.Errorf("a query that may be stale: %v", in)
		}
		small := *in
		if w.limit > 0 {
			small.Limit = &w.limit
		}
		out, err := w.client.Query(ctx, &small, opts...)
		if err == nil && w.see != nil {
			w.see(n, out)
		}
		return out, err
	})
}

func (w *wire) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return call(w, "TransactWriteItems", func(int) (*dynamodb.TransactWriteItemsOutput, error) {
		w.mu.Lock()
		w.writes = append(w.writes, in.TransactItems...)
		w.mu.Unlock()
		return w.client.TransactWriteItems(ctx, in, opts...)
	})
}

// cancelled returns the error for a transaction that DynamoDB did not carry out.
func cancelled(reason string) error {
	return &types.TransactionCanceledException{
		Message:             aws.String("Transaction cancelled, please refer cancellation reasons for specific reasons [" + reason + ", None]"),
		CancellationReasons: []types.CancellationReason{{Code: &reason}, {Code: aws.String("None")}},
	}
}
