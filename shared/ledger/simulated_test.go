package ledger_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"rollcall/shared/ledger"
	"rollcall/shared/sim/dynamo"
	"rollcall/tests/harness/ledgertest"
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
