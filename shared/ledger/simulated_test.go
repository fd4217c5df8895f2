package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/shared/sim/dynamo"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
	"rollcall/tests/harness/must"
)

// api is a simulated table as a client of several processes. Time passes with each call. A
// transaction appears item by item, while calls of others come in between.
type api struct {
	mu    sync.Mutex
	table *dynamo.Table
	now   time.Duration
	due   []event
	calls int
	rng   *rand.Rand
}

type event struct {
	at  time.Duration
	run func()
}

func newAPI() *api {
	a := &api{rng: rand.New(rand.NewPCG(1, 2))}
	a.table = dynamo.New("ledger", dynamo.Clock{Start: ledgertest.T0, Elapsed: func() time.Duration { return a.now }, In: func(d time.Duration, run func()) {
		a.due = append(a.due, event{a.now + d, run})
	}}, func(_, _ string) time.Duration { return 48 * time.Hour })
	return a
}

// tick lets a millisecond pass, and what is due happen.
func (a *api) tick() {
	a.now += time.Millisecond
	slices.SortStableFunc(a.due, func(x, y event) int { return int(x.at - y.at) })
	for len(a.due) > 0 && a.due[0].at <= a.now {
		a.due[0].run()
		a.due = a.due[1:]
	}
}

func (a *api) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick()
	return a.table.Query(in, 0, func(all, _ int) int { return 1 + a.rng.IntN(all+1) })
}

func (a *api) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	err := a.table.Transact(in, strconv.Itoa(a.calls), func(i int) time.Duration { return time.Duration(1+(i+a.calls)%4) * time.Millisecond })
	for range 5 { // it answers when all items are written
		a.mu.Unlock()
		a.mu.Lock()
		a.tick()
	}
	return &dynamodb.TransactWriteItemsOutput{}, err
}

// hot is a table that takes from a partition what DynamoDB takes: 1,000 write units a second. A transaction
// uses two for each kilobyte of an item.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
type hot struct {
	*api
	until     time.Duration // when the units that were used are there again
	throttled int
}

func (h *hot) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	units := 0
	for _, w := range in.TransactItems {
		bytes := 0
		if w.Put != nil {
			for name, value := range w.Put.Item {
				bytes += len(name)
				if s, ok := value.(*types.AttributeValueMemberS); ok {
					bytes += len(s.Value)
				}
			}
		}
		units += 2 * (1 + bytes/1024)
	}
	took := time.Duration(units) * time.Millisecond
	if h.until = max(h.until, h.now); h.until+took > h.now+time.Second {
		h.throttled++
		return nil, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String([]string{"ThrottlingError", "TransactionConflict"}[h.throttled%2])}}}
	}
	h.until += took
	return h.api.TransactWriteItems(ctx, in, o...)
}

// A zone that goes silent is thousands of findings in one check.
func TestALargeOutageIsRecordedAtTheRateOfAPartition(t *testing.T) {
	h := &hot{api: newAPI()}
	l := ledger.NewDynamo(h, "ledger")
	l.Pause = func(_ context.Context, n int) error {
		h.now += min(25*time.Millisecond<<(n-1), time.Second) / 2
		return nil
	}
	c := ledger.Changes{Put: ledger.NewState()}
	for i := range 2500 {
		id := roll.InstanceID(fmt.Sprintf("i-%017x", i))
		f := ledger.Finding{
			Instance: id, Kind: roll.Unknown, Node: fmt.Sprintf("ip-10-0-0-%d.eu-west-1.compute.internal", i), Group: "nodegroup/workers", Stage: roll.Overdue,
			FirstSeen: ledgertest.T0, Opened: ledgertest.T0, Since: ledgertest.T0, Began: ledgertest.T0,
		}
		c.Put.Findings[f.Key()] = f
		c.Put.NotReady[id] = ledger.NotReady{Since: ledgertest.T0, Status: "Unknown", Transition: ledgertest.T0}
	}
	must.Succeed(t, l.Record(t.Context(), ledgertest.Cluster, c))
	s, err := l.Read(t.Context(), ledgertest.Cluster)
	if err != nil || len(s.Findings) != 2500 || len(s.NotReady) != 2500 || h.throttled == 0 {
		t.Errorf("%d findings, %d not ready, throttled %d times: %v", len(s.Findings), len(s.NotReady), h.throttled, err)
	}
	expect.That(t, h.now <= 30*time.Second, "it took %s", h.now)
}

// losing is a table that does not answer one of the calls, counted from 1.
type losing struct {
	*api
	left int
}

var errLost = errors.New("no answer")

func (l *losing) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if l.left--; l.left == 0 {
		return nil, errLost
	}
	return l.api.Query(ctx, in, o...)
}

func (l *losing) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if l.left--; l.left == 0 {
		return nil, errLost
	}
	return l.api.TransactWriteItems(ctx, in, o...)
}

// What could not be read is not empty, and what could not be written is not recorded.
func TestWhicheverCallIsLostIsAnError(t *testing.T) {
	ctx, id := t.Context(), ledgertest.Cluster
	f := ledger.Finding{Instance: "i-00000001", Kind: roll.Unknown, Group: "asg/w", Stage: roll.Overdue, FirstSeen: ledgertest.T0, Since: ledgertest.T0, Began: ledgertest.T0}
	q := ledger.ApprovalRequest{Order: "q", Instance: f.Instance, Kind: f.Kind, Group: f.Group, Acts: []string{"terminate"}, At: ledgertest.T0, Until: ledgertest.T0.Add(time.Hour)}
	before := ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, Questions: map[string]ledger.ApprovalRequest{"q": q}}}
	for name, do := range map[string]func(*ledger.Dynamo) error{
		"Read":   func(l *ledger.Dynamo) error { _, err := l.Read(ctx, id); return err },
		"Record": func(l *ledger.Dynamo) error { return l.Record(ctx, id, ledgertest.Changes()) },
		"Raise":  func(l *ledger.Dynamo) error { return l.RaiseNotices(ctx, id, 0) },
		"Begin": func(l *ledger.Dynamo) error {
			return l.Begin(ctx, id, ledgertest.Intent("b", "i-00000002", ledgertest.T0), ledgertest.Wide)
		},
		"Finish": func(l *ledger.Dynamo) error {
			return l.Finish(ctx, id, "a", ledger.Outcome{Result: ledger.Done, At: ledgertest.T0})
		},
		"Approve": func(l *ledger.Dynamo) error {
			_, err := l.Approve(ctx, id, "q", ledger.Approval{By: "x", How: ledger.WayChat, At: ledgertest.T0})
			return err
		},
		"Clusters":   func(l *ledger.Dynamo) error { _, err := l.Clusters(ctx, id.Account, id.Region); return err },
		"PutSize":    func(l *ledger.Dynamo) error { return l.PutSize(ctx, id.Region, id.Name, 3) },
		"PolicySeen": func(l *ledger.Dynamo) error { _, err := l.PolicySeen(ctx, "/policy"); return err },
		"SeePolicy":  func(l *ledger.Dynamo) error { return l.SeePolicy(ctx, "/policy") },
	} {
		for lost := 1; ; lost++ {
			table := &losing{api: newAPI()}
			l := ledger.NewDynamo(table, "ledger")
			act := ledgertest.Intent("a", "i-00000001", ledgertest.T0)
			act.Group = "asg/x"
			must.Succeed(t, errors.Join(l.Record(ctx, id, before), l.Begin(ctx, id, act, ledgertest.Wide)))
			table.left = lost
			err := do(l)
			if table.left > 0 {
				expect.That(t, err == nil && lost > 1, "%s, of which no call is lost: %v", name, err)
				break
			}
			expect.That(t, errors.Is(err, errLost), "%s, of which call %d is lost: %v", name, lost, err)
		}
	}
}

func TestContractOfTheSimulatedTable(t *testing.T) {
	ledgertest.Contract(t, "table", func(*testing.T) func() ledger.Ledger {
		a := newAPI()
		return func() ledger.Ledger {
			l := ledger.NewDynamo(a, "ledger")
			l.Pause = func(context.Context, int) error { return nil }
			return l
		}
	})
}
