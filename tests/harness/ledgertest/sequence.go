package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// steps is the number of writes of a random sequence.
const steps = 40

// sequence makes the same random writes to a ledger and to one in memory, and compares the
// answers and the states after each.
func sequence(t *testing.T, l ledger.Ledger, cluster roll.ClusterID, rng *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	model := ledger.NewMemory()
	for n := range steps {
		what, write := randomWrite(t, rng, cluster)
		want, got := write(ctx, model), write(ctx, l)
		if verdict(want) != verdict(got) {
			t.Fatalf("step %d, %s: %v, in memory %v", n, what, got, want)
		}
		expected, err := model.Read(ctx, cluster)
		must.Succeed(t, err)
		state, err := l.Read(ctx, cluster)
		if err != nil {
			t.Fatalf("read after step %d, %s: %v", n, what, err)
		}
		if diff := cmp.Diff(expected, state, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after step %d, %s, state differs (-in memory +got):\n%s", n, what, diff)
		}
	}
}

// randomWrite returns a random write and its description.
func randomWrite(t *testing.T, rng *rand.Rand, cluster roll.ClusterID) (string, func(context.Context, ledger.Ledger) error) {
	order := "order-" + string(rune('a'+rng.IntN(5)))
	switch rng.IntN(5) {
	case 0, 1:
		c := Random[ledger.Changes](t, rng)
		c.NoticesVersion = int64(rng.IntN(3))
		return "record", func(ctx context.Context, l ledger.Ledger) error { return l.Record(ctx, cluster, c) }
	case 2:
		intent := Random[ledger.Action](t, rng)
		if intent.ID = order; intent.At.IsZero() {
			intent.At = T0
		}
		budget := ledger.Budget{Max: rng.IntN(4), Since: T0.Add(time.Duration(rng.IntN(120)) * time.Minute)}
		if rng.IntN(2) == 0 {
			budget.Ordered = T0.Add(time.Duration(rng.IntN(120)) * time.Minute)
		}
		return "begin " + order, func(ctx context.Context, l ledger.Ledger) error { return l.Begin(ctx, cluster, intent, budget) }
	case 3:
		read := int64(rng.IntN(3))
		return fmt.Sprint("raise ", read), func(ctx context.Context, l ledger.Ledger) error { return l.RaiseNotices(ctx, cluster, read) }
	default:
		outcome := Random[ledger.Outcome](t, rng)
		return "finish " + order, func(ctx context.Context, l ledger.Ledger) error { return l.Finish(ctx, cluster, order, outcome) }
	}
}

// verdict returns the class of an error, as callers distinguish it.
func verdict(err error) string {
	if err == nil {
		return "taken"
	}
	for _, r := range []error{ledger.ErrBegun, ledger.ErrUnresolved, ledger.ErrOvertaken, ledger.ErrBudgetSpent, ledger.ErrNotBegun, ledger.ErrNoticesMoved} {
		if errors.Is(err, r) {
			return r.Error()
		}
	}
	return "failed"
}
