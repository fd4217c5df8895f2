package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/ledgertest"
)

// begin is one try to begin an act, and its outcome.
type begin struct {
	id, group string
	instance  roll.InstanceID
	after     time.Duration // after T0
	free      bool
	ends      ledger.Result // immediate result; "" leaves the act without an outcome
	budget    ledger.Budget // Max 0 is replaced by 100, -1 by 0
	want      error
	anyError  bool
}

// All stores decide with the same code which acts may begin; the contract's random
// sequences compare the stores.
func TestWhichActsMayBegin(t *testing.T) {
	const one, two, three, four = "i-00000001", "i-00000002", "i-00000003", "i-00000004"
	done, failed := ledger.Done, ledger.Failed
	limit := func(n int) ledger.Budget { return ledger.Budget{Max: n, Since: ledgertest.T0.Add(-time.Hour)} }
	ordered := func(after time.Duration) ledger.Budget { return ledger.Budget{Ordered: ledgertest.T0.Add(after)} }
	for name, steps := range map[string][]begin{
		"an order begins once": {
			{id: "a", instance: one},
			{id: "a", instance: one, after: time.Minute, want: ledger.ErrBegun},
			{id: "b", instance: one, want: ledger.ErrUnresolved},
		},
		"an order that was done never begins again": {
			{id: "a", instance: one, ends: done},
			{id: "a", instance: one, after: time.Hour, want: ledger.ErrBegun},
		},
		"an intent has an id, an instance and a time": {
			{instance: one, anyError: true},
			{id: "a", anyError: true},
			{id: "a", instance: one, after: never, anyError: true},
		},
		"a group has one act without an outcome": {
			{id: "a", group: "asg/w", instance: one},
			{id: "b", group: "asg/w", instance: two, want: ledger.ErrUnresolved},
			{id: "c", group: "asg/x", instance: three},
		},
		"and another one after that": {
			{id: "a", group: "asg/w", instance: one, ends: done},
			{id: "b", group: "asg/w", instance: two},
		},
		"a free act waits for its own instance only, and needs no budget": {
			{id: "drain", group: "asg/w", instance: one},
			{id: "uncordon own", group: "asg/w", instance: one, free: true, want: ledger.ErrUnresolved},
			{id: "uncordon other", group: "asg/w", instance: two, free: true, budget: limit(-1)},
			{id: "uncordon other", group: "asg/w", instance: two, free: true, want: ledger.ErrBegun},
			{id: "uncordon again", group: "asg/w", instance: two, free: true, want: ledger.ErrUnresolved},
			{id: "terminate other", group: "asg/w", instance: two, want: ledger.ErrUnresolved},
			{id: "terminate fourth", group: "asg/w", instance: four, want: ledger.ErrUnresolved}, // the drain
		},
		"free acts in progress block nobody, and use no budget": {
			{id: "drain", group: "asg/w", instance: one, ends: done},
			{id: "uncordon", group: "asg/w", instance: two, free: true},
			{id: "uncordon too", group: "asg/w", instance: three, free: true},
			{id: "terminate", group: "asg/w", instance: four, budget: ledger.Budget{Max: 2}},
		},
		"a budget counts an instance once": {
			{id: "cordon 1", instance: one, ends: done, budget: limit(2)},
			{id: "drain 1", instance: one, after: time.Minute, ends: done, budget: limit(2)},
			{id: "terminate 1", instance: one, after: 2 * time.Minute, ends: done, budget: limit(2)},
			{id: "reboot 2", instance: two, after: 3 * time.Minute, ends: done, budget: limit(2)},
			{id: "reboot 3", instance: three, after: 4 * time.Minute, budget: limit(2), want: ledger.ErrBudgetSpent},
			{id: "terminate 2", instance: two, after: 5 * time.Minute, ends: done, budget: limit(2)},
			{id: "again 2", instance: two, after: 6 * time.Minute, budget: limit(1), want: ledger.ErrBudgetSpent}, // the budget was lowered in the meantime
			{id: "again 2", instance: two, after: 6 * time.Minute, budget: limit(-1), want: ledger.ErrBudgetSpent},
		},
		"a budget counts acts in its window, with or without an outcome": {
			{id: "0", instance: one, after: -time.Hour},
			{id: "1", instance: two, after: -time.Hour + time.Second},
			{id: "2", instance: three, after: -time.Minute},
			{id: "x", instance: four, budget: limit(-1), want: ledger.ErrBudgetSpent},
			{id: "x", instance: four, budget: limit(1), want: ledger.ErrBudgetSpent},
			{id: "x", instance: four, budget: limit(2), want: ledger.ErrBudgetSpent},
			{id: "x", instance: four, budget: limit(3)},
		},
		"what failed may be tried again, and uses no budget": {
			{id: "a", instance: one, ends: failed, budget: limit(1)},
			{id: "a", instance: one, after: time.Minute, ends: failed, budget: limit(1)},
			{id: "a", instance: one, after: 2 * time.Minute, ends: done, budget: limit(1)},
		},
		"a decision is too old once another instance of the group was acted on": {
			{id: "first", group: "asg/w", instance: one, ends: done},
			{id: "a", group: "asg/w", instance: two, after: time.Minute, budget: ordered(-time.Second), want: ledger.ErrOvertaken},
			{id: "b", group: "asg/w", instance: two, after: time.Minute, budget: ordered(0), want: ledger.ErrOvertaken},
			{id: "c", group: "asg/w", instance: two, after: time.Minute, budget: ordered(time.Second), ends: failed},
			{id: "d", group: "asg/x", instance: three, after: time.Minute, budget: ordered(-time.Second), ends: failed},
			{id: "e", group: "asg/w", instance: four, after: time.Minute, budget: ordered(-time.Second), free: true, ends: failed},
			{id: "f", instance: "i-00000005", after: time.Minute, budget: ordered(-time.Second), ends: done},
			{id: "g", instance: "i-00000006", after: time.Minute, budget: ordered(-time.Second)}, // in no group, as the one before
		},
		"a decision is not too old after an act on its own instance, or one that failed": {
			{id: "cordon", group: "asg/w", instance: one, ends: done},
			{id: "reboot", group: "asg/x", instance: two, ends: failed},
			{id: "drain", group: "asg/w", instance: one, after: time.Minute, budget: ordered(-time.Second), ends: done},
			{id: "drain of another", group: "asg/x", instance: three, after: time.Minute, budget: ordered(-time.Second)},
		},
	} {
		l := ledger.NewMemory()
		for i, s := range steps {
			if err := s.try(l); s.anyError && err == nil || !s.anyError && !errors.Is(err, s.want) {
				t.Errorf("%s: step %d, %s: %v, want %v", name, i, s.id, err, s.want)
			}
		}
	}
}

// never means a zero time.
const never = time.Duration(-1 << 62)

func (s begin) try(l ledger.Ledger) error {
	ctx := context.Background()
	act := ledgertest.Intent(s.id, s.instance, ledgertest.T0.Add(s.after))
	if act.Free = s.free; s.group != "" {
		act.Group = roll.Group(s.group)
	}
	if s.after == never {
		act.At = time.Time{}
	}
	switch s.budget.Max {
	case 0:
		s.budget.Max = 100
	case -1:
		s.budget.Max = 0
	}
	if err := l.Begin(ctx, ledgertest.Cluster, act, s.budget); err != nil || s.ends == "" {
		return err
	}
	return l.Finish(ctx, ledgertest.Cluster, s.id, ledger.Outcome{Result: s.ends, At: act.At})
}
