package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/ledgertest"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

func intent(id string, n int) ledger.Action {
	return ledgertest.Intent(id, ledgertest.InstanceID(n), t0)
}

func done(detail string) ledger.Outcome {
	return ledger.Outcome{Result: ledger.Done, At: t0, Detail: detail}
}

func TestOfManyThatBeginAtOnceOneGetsThrough(t *testing.T) {
	const callers = 8
	for name, c := range map[string]struct {
		budget ledger.Budget
		group  roll.Group
		want   error
	}{
		"one in the budget": {ledger.Budget{Max: 1}, roll.GroupNone, ledger.ErrBudgetSpent},
		"one in the group":  {ledgertest.Wide, "asg/w", ledger.ErrUnresolved},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t)
			var ready, through sync.WaitGroup
			var n atomic.Int32
			ready.Add(callers)
			for i := range callers {
				l, w := tb.open()
				w.before = func(op string, n int) error {
					if op == "TransactWriteItems" && n == 1 { // all have read that nothing was begun
						ready.Done()
						ready.Wait()
					}
					return nil
				}
				through.Go(func() {
					a := intent(fmt.Sprint(i), i)
					a.Group = c.group
					err := l.Begin(ctx, cluster, a, c.budget)
					if err == nil {
						n.Add(1)
					} else if !errors.Is(err, c.want) {
						t.Errorf("begin: %v, want %v", err, c.want)
					}
				})
			}
			through.Wait()
			l, _ := tb.open()
			if acts := read(t, l).Actions; n.Load() != 1 || len(acts) != 1 {
				t.Errorf("%d got through, %d are remembered, want 1", n.Load(), len(acts))
			}
		})
	}
}

func TestAllGetThroughThatMay(t *testing.T) {
	tb := newTable(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			l, _ := tb.open()
			if err := l.Begin(ctx, cluster, intent(fmt.Sprint(i), i), ledger.Budget{Max: 8}); err != nil {
				t.Errorf("begin: %v", err)
			}
		})
	}
	wg.Wait()
	l, _ := tb.open()
	if n := len(read(t, l).Actions); n != 8 {
		t.Errorf("%d acts, want 8", n)
	}
	if err := l.Begin(ctx, cluster, intent("x", 9), ledger.Budget{Max: 8}); !errors.Is(err, ledger.ErrBudgetSpent) {
		t.Errorf("one more: %v, want ErrBudgetSpent", err)
	}
}

func TestAConflictStorm(t *testing.T) {
	writes := map[string]func(*ledger.Dynamo) error{
		"Begin":  func(l *ledger.Dynamo) error { return l.Begin(ctx, cluster, intent("b", 2), ledgertest.Wide) },
		"Record": func(l *ledger.Dynamo) error { return l.Record(ctx, cluster, ledgertest.Changes()) },
		"Finish": func(l *ledger.Dynamo) error { return l.Finish(ctx, cluster, "a", done("")) },
	}
	for name, write := range writes {
		for _, last := range []int{0, 3, 15, 1000} {
			tb := newTable(t)
			l, w := tb.open()
			must.Succeed(t, l.Begin(ctx, cluster, intent("a", 1), ledgertest.Wide))
			before := len(tb.items())
			conflicts := 0
			w.before = func(op string, _ int) error {
				if op == "TransactWriteItems" && conflicts < last {
					conflicts++
					return cancelled("TransactionConflict")
				}
				return nil
			}
			err := write(l)
			if last < 16 {
				if err != nil {
					t.Errorf("%s after %d conflicts: %v", name, last, err)
				}
				if n := w.pauses.Load(); int(n) != last {
					t.Errorf("%s after %d conflicts: %d pauses", name, last, n)
				}
				continue
			}
			if !awserr.IsTransactionConflict(err) || !strings.Contains(err.Error(), "gave up after 16 tries") {
				t.Errorf("%s in an endless storm: %v", name, err)
			}
			if after := len(tb.items()); after != before {
				t.Errorf("%s in an endless storm: %d items, %d before", name, after, before)
			}
		}
	}
}

func TestTheWaitForOthersEndsWithItsContext(t *testing.T) {
	tb := newTable(t)
	w := &wire{client: tb.client, before: func(op string, _ int) error {
		if op == "TransactWriteItems" {
			return cancelled("TransactionConflict")
		}
		return nil
	}}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := ledger.NewDynamo(w, tb.name).Begin(short, cluster, intent("a", 1), ledgertest.Wide)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	if n := w.count("TransactWriteItems"); n < 2 {
		t.Errorf("%d tries in 200 ms, want more", n)
	}
}

func TestWhoReadWhatIsNoLongerTrueDecidesAgain(t *testing.T) {
	tb := newTable(t)
	other, _ := tb.open()
	l, w := tb.open()
	w.before = func(op string, n int) error {
		if op == "TransactWriteItems" && n == 1 { // after this one has read, before it writes
			must.Succeed(t, other.Begin(ctx, cluster, intent("b", 2), ledger.Budget{Max: 1}))
		}
		return nil
	}
	if err := l.Begin(ctx, cluster, intent("a", 1), ledger.Budget{Max: 1}); !errors.Is(err, ledger.ErrBudgetSpent) {
		t.Errorf("got %v, want ErrBudgetSpent", err)
	}
	if acts := read(t, l).Actions; len(acts) != 1 || acts[0].ID != "b" {
		t.Errorf("acts %+v, want b's only", acts)
	}
}

// A query may read in the middle of a commit: the version is new, but the act is missing.
func TestAnActThatIsNotYetSeenIsWaitedFor(t *testing.T) {
	tb := newTable(t)
	l, w := tb.open()
	must.Succeed(t, l.Begin(ctx, cluster, intent("a", 1), ledger.Budget{Max: 1}))
	w.see = func(n int, page *dynamodb.QueryOutput) {
		if n%2 == 0 && n <= 6 {
			page.Items = nil
		}
	}
	w.counts = nil // queries from now on: the budget, the acts, and both again
	if err := l.Begin(ctx, cluster, intent("b", 2), ledger.Budget{Max: 1}); !errors.Is(err, ledger.ErrBudgetSpent) {
		t.Errorf("got %v, want ErrBudgetSpent", err)
	}
	if n := w.pauses.Load(); n != 3 {
		t.Errorf("%d pauses, want 3", n)
	}
}

func TestAnActThatWasDeletedByHandStopsAllUntilTheBudgetIsDeletedToo(t *testing.T) {
	tb := newTable(t)
	l, _ := tb.open()
	must.Succeed(t, l.Begin(ctx, cluster, intent("a", 1), ledgertest.Wide))
	must.Succeed(t, l.Begin(ctx, cluster, intent("b", 2), ledgertest.Wide))
	for sk, it := range tb.items() {
		if strings.Contains(sk, "#b#") {
			tb.remove(it)
		}
	}
	err := l.Begin(ctx, cluster, intent("c", 3), ledgertest.Wide)
	if err == nil || !strings.Contains(err.Error(), "#b#2, is missing") || !strings.Contains(err.Error(), "delete the record budget too") {
		t.Errorf("got %v, want an error that says what is missing and what to do", err)
	}
	// A month later it may have expired.
	must.Succeed(t, l.Begin(ctx, cluster, ledgertest.Intent("d", "i-d", t0.Add(ledger.ActionRetention)), ledgertest.Wide))
	tb.remove(tb.items()["budget"])
	must.Succeed(t, l.Begin(ctx, cluster, intent("c", 3), ledgertest.Wide))
	var ids []string
	for _, a := range read(t, l).Actions {
		ids = append(ids, a.ID)
	}
	if !slices.Equal(ids, []string{"a", "d", "c"}) {
		t.Errorf("order of acts %v: it must go on where it was", ids)
	}
}

func TestAnAnswerThatIsLostLeavesTheIntent(t *testing.T) {
	tb := newTable(t)
	l, w := tb.open()
	w.after = func(op string, n int) error {
		if op == "TransactWriteItems" && n == 1 {
			return errKilled
		}
		return nil
	}
	err := l.Begin(ctx, cluster, intent("a", 1), ledgertest.Wide)
	if !errors.Is(err, errKilled) {
		t.Fatalf("got %v: who does not know that the intent is recorded may not act", err)
	}
	if err := l.Begin(ctx, cluster, intent("a", 1), ledgertest.Wide); !errors.Is(err, ledger.ErrBegun) {
		t.Errorf("again: %v, want ErrBegun", err)
	}
	must.Succeed(t, l.Finish(ctx, cluster, "a", done("seen from the instance")))
}

func TestOfTwoOutcomesAtOnceTheFirstStands(t *testing.T) {
	tb := newTable(t)
	other, _ := tb.open()
	l, w := tb.open()
	must.Succeed(t, l.Begin(ctx, cluster, intent("a", 1), ledgertest.Wide))
	w.counts = nil
	w.before = func(op string, n int) error {
		if op == "TransactWriteItems" && n == 1 {
			must.Succeed(t, other.Finish(ctx, cluster, "a", done("first")))
		}
		return nil
	}
	must.Succeed(t, l.Finish(ctx, cluster, "a", done("second")))
	if a, _ := read(t, l).Action("a"); a.Outcome == nil || a.Outcome.Detail != "first" {
		t.Errorf("got %+v, want the first outcome", a)
	}
}

func TestAnOutcomeMakesNoActOfItsOwn(t *testing.T) {
	tb := newTable(t)
	l, w := tb.open()
	must.Succeed(t, l.Begin(ctx, cluster, intent("a", 1), ledgertest.Wide))
	w.counts = nil
	w.before = func(op string, n int) error {
		if op == "TransactWriteItems" && n == 1 {
			for sk, it := range tb.items() {
				if strings.HasPrefix(sk, "action#") {
					tb.remove(it)
				}
			}
		}
		return nil
	}
	if err := l.Finish(ctx, cluster, "a", done("")); !errors.Is(err, ledger.ErrNotBegun) {
		t.Errorf("the act is gone: %v, want ErrNotBegun", err)
	}
	if items := tb.items(); len(items) != 1 {
		t.Errorf("items %v, want the budget only", items)
	}
}

// operations returns every way in which a ledger calls DynamoDB.
func operations(l *ledger.Dynamo) map[string]func() error {
	return map[string]func() error{
		"Read":   func() error { _, err := l.Read(ctx, cluster); return err },
		"Record": func() error { return l.Record(ctx, cluster, ledgertest.Changes()) },
		"Begin":  func() error { return l.Begin(ctx, cluster, intent("b", 2), ledgertest.Wide) },
		"Finish": func() error { return l.Finish(ctx, cluster, "a", done("")) },
	}
}

func TestThrottlingIsAnError(t *testing.T) {
	tb := newTable(t)
	l, w := tb.open()
	must.Succeed(t, l.Begin(ctx, cluster, intent("a", 1), ledgertest.Wide))
	before := len(tb.items())
	t.Cleanup(func() { must.Succeed(t, account.ClearFaults(context.Background())) })
	calls := map[string][]string{
		"Read": {"Query"}, "Record": {"Query", "TransactWriteItems"}, "Begin": {"Query", "TransactWriteItems"}, "Finish": {"Query", "TransactWriteItems"},
	}
	for name, do := range operations(l) {
		for _, call := range calls[name] {
			must.Succeed(t, account.Inject(t.Context(), testbed.Fault{Service: "dynamodb", Action: call, Kind: testbed.Throttle}))
			if err := do(); !awserr.IsThrottled(err) {
				t.Errorf("%s with %s throttled: %v", name, call, err)
			}
			must.Succeed(t, account.ClearFaults(context.Background()))
		}
	}
	if w.pauses.Load() != 0 {
		t.Errorf("%d pauses: to wait for capacity is the SDK's business", w.pauses.Load())
	}
	for _, reason := range []string{"ThrottlingError", "ProvisionedThroughputExceeded"} {
		w.before = func(op string, _ int) error {
			if op == "TransactWriteItems" {
				return cancelled(reason)
			}
			return nil
		}
		for _, name := range []string{"Record", "Begin"} {
			w.pauses.Store(0)
			if err := operations(l)[name](); !awserr.IsThrottled(err) || w.pauses.Load() != 15 {
				t.Errorf("%s cancelled for %s: %v after %d pauses: the SDK does not try a cancelled transaction again", name, reason, err, w.pauses.Load())
			}
		}
	}
	if after := len(tb.items()); after != before {
		t.Errorf("%d items, %d before", after, before)
	}
}

func TestAMissingTableIsAnError(t *testing.T) {
	l := ledger.NewDynamo(&wire{client: client()}, "nowhere")
	for name, do := range operations(l) {
		if err := do(); !awserr.IsNotFound(err) || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("%s: %v, want an error that names the table", name, err)
		}
	}
}

func TestPersists(t *testing.T) {
	if !ledger.NewDynamo(nil, "").Persistent() {
		t.Error("a table outlives its process")
	}
}
