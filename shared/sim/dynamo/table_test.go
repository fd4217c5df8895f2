package dynamo

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rollcall/shared/aws/awserr"
	"rollcall/tests/harness/must"
)

var dawn = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// clock is the time of a table in a test.
type clock struct {
	now time.Duration
	due []event
}

type event struct {
	at  time.Duration
	run func()
}

// pass lets time pass, and what is due happen.
func (c *clock) pass(d time.Duration) {
	c.now += d
	for _, e := range c.due {
		if e.at <= c.now {
			e.run()
		}
	}
	c.due = slices.DeleteFunc(c.due, func(e event) bool { return e.at <= c.now })
}

// newTable is a table whose TTL deletes the items of sort keys at different times within two days.
func newTable() (*Table, *clock) {
	c := &clock{}
	late := func(_, sk string) time.Duration { return 48 * time.Hour * time.Duration(sk[len(sk)-1]-'0'+1) / 11 }
	return New("ledger", Clock{Start: dawn, Elapsed: func() time.Duration { return c.now }, In: func(d time.Duration, run func()) {
		c.due = append(c.due, event{c.now + d, run})
	}}, late), c
}

// While a transaction is being committed, other writers meet it, and a Query may show a part.
func TestWhatIsBeingCommitted(t *testing.T) {
	tb, clock := newTable()
	when := func(i int) time.Duration { return time.Duration(i+1) * 10 * time.Millisecond }
	changes := []*change{{pk: "p", sk: "a", put: Item{"pk": text("p"), "sk": text("a")}}, {pk: "p", sk: "b", put: Item{"pk": text("p"), "sk": text("b")}}}
	there := func() (n int) {
		for _, sk := range []string{"a", "b"} {
			if it, _ := tb.as(tb.under("p", sk), 0); it != nil {
				n++
			}
		}
		return n
	}
	must.Succeed(t, tb.all(changes, "one", when))
	for n, passed := range []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond} {
		clock.pass(passed)
		if got := there(); got != n {
			t.Errorf("after %s %d items are there, want %d", clock.now, got, n)
		}
		err := tb.all(changes[1:], "another", when)
		if n < 2 && !awserr.IsTransactionConflict(err) || n == 2 && err != nil {
			t.Errorf("after %s another transaction gets %v", clock.now, err)
		}
		if err := tb.all([]*change{{pk: "p", sk: "b"}}, "a third", when); !awserr.IsTransactionConflict(err) {
			t.Errorf("after %s a delete gets %v", clock.now, err)
		}
	}
}

func TestTTLDeletesLate(t *testing.T) {
	tb, clock := newTable()
	for i := range 40 {
		at := dawn.Add(time.Hour)
		if i == 0 {
			at = dawn.AddDate(-6, 0, 0) // too old to be taken for a time
		}
		sk := fmt.Sprint(i)
		tb.write(tb.record("p", sk), Item{"pk": text("p"), "sk": text(sk), "expires": numeral(fmt.Sprint(at.Unix()))})
	}
	for _, want := range []struct {
		after       time.Duration
		least, most int
	}{{time.Hour, 40, 40}, {25 * time.Hour, 10, 35}, {49 * time.Hour, 1, 1}} {
		clock.pass(want.after - clock.now)
		n := len(tb.All("p"))
		if n < want.least || n > want.most {
			t.Errorf("after %s %d of 40 are there", want.after, n)
		}
	}
}
