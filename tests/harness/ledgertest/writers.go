package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// writers are two processes that write to one ledger at the same time. What one of them
// achieved is only what the ledger said.
type writers struct {
	mu       sync.Mutex
	begun    map[string]ledger.Action  // by id
	finished map[string]ledger.Outcome // the first of each act
	raised   []int64                   // versions of the notices that a writer read and raised
}

const (
	// twoWriters is the number of writes of each of two writers.
	twoWriters = 25
	budgetMax  = 4
)

// atOnce lets two writers make random writes at the same time, and checks that the result is
// one that two writers one after the other could have: nothing is begun twice, no budget is
// exceeded, no outcome is replaced, and of two that read the same notices one raised them.
func atOnce(t *testing.T, open func() ledger.Ledger, cluster roll.ClusterID, seed uint64) {
	t.Helper()
	ctx := context.Background()
	w := &writers{begun: map[string]ledger.Action{}, finished: map[string]ledger.Outcome{}}
	var wg sync.WaitGroup
	for who := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, who))
		l := open()
		wg.Go(func() {
			for n := range twoWriters {
				if err := w.write(ctx, l, cluster, rng, fmt.Sprint(who, "/", n)); err != nil {
					t.Errorf("seed %d, writer %d: %v", seed, who, err)
				}
			}
		})
	}
	wg.Wait()
	s, err := open().Read(ctx, cluster)
	must.Succeed(t, err)
	if n := int64(len(w.raised)); s.NoticesVersion != n || len(slices.Compact(slices.Sorted(slices.Values(w.raised)))) != len(w.raised) {
		t.Errorf("seed %d: notices raised at %d, and their version is %d", seed, w.raised, s.NoticesVersion)
	}
	if len(s.Actions) != len(w.begun) {
		t.Errorf("seed %d: %d acts were begun, %d are stored", seed, len(w.begun), len(s.Actions))
	}
	var earlier ledger.State
	for _, a := range s.Actions { // each may have been begun after those before it, whatever ended meanwhile
		if _, ok := w.begun[a.ID]; !ok {
			t.Errorf("seed %d: nobody began %s", seed, a.ID)
		}
		if other, ok := earlier.Action(a.ID); ok {
			t.Errorf("seed %d: %s was begun twice: %v", seed, a.ID, other)
		}
		if a.Outcome != nil && *a.Outcome != w.finished[a.ID] {
			t.Errorf("seed %d: the outcome of %s is %v, the first was %v", seed, a.ID, *a.Outcome, w.finished[a.ID])
		}
		earlier.Actions = append(earlier.Actions, a)
	}
	if spent := (ledger.Budget{}).Spent(s.Actions, ""); spent > budgetMax {
		t.Errorf("seed %d: %d instances of a budget of %d", seed, spent, budgetMax)
	}
	unresolved := map[roll.InstanceID]string{}
	for _, a := range s.Actions {
		if a.Outcome == nil && unresolved[a.Instance] != "" {
			t.Errorf("seed %d: %s and %s of %s both have no outcome", seed, unresolved[a.Instance], a.ID, a.Instance)
		}
		if a.Outcome == nil {
			unresolved[a.Instance] = a.ID
		}
	}
}

// write makes one random write.
func (w *writers) write(ctx context.Context, l ledger.Ledger, cluster roll.ClusterID, rng *rand.Rand, who string) error {
	order := fmt.Sprint("order-", rng.IntN(8))
	switch rng.IntN(4) {
	case 0:
		err := l.Begin(ctx, cluster, Intent(order, InstanceID(rng.IntN(6)), T0), ledger.Budget{Max: budgetMax})
		if verdict(err) == "failed" {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, again := w.begun[order]; again && err == nil {
			return fmt.Errorf("%s was begun twice", order)
		}
		if err == nil {
			w.begun[order] = ledger.Action{ID: order}
		}
		return nil
	case 1:
		w.mu.Lock()
		defer w.mu.Unlock() // so that it is known which outcome is the first
		outcome := ledger.Outcome{Result: ledger.Done, At: T0.Add(time.Duration(rng.IntN(100)) * time.Second), Detail: who}
		err := l.Finish(ctx, cluster, order, outcome)
		if _, again := w.finished[order]; err == nil && !again {
			w.finished[order] = outcome
		}
		if verdict(err) == "failed" {
			return err
		}
		return nil
	case 2:
		s, err := l.Read(ctx, cluster)
		if err != nil {
			return err
		}
		err = l.RaiseNotices(ctx, cluster, s.NoticesVersion)
		if err == nil {
			w.mu.Lock()
			w.raised = append(w.raised, s.NoticesVersion)
			w.mu.Unlock()
		}
		if errors.Is(err, ledger.ErrNoticesMoved) {
			return nil
		}
		return err
	default:
		c := Findings(rng.IntN(120))
		return l.Record(ctx, cluster, c)
	}
}
