package sim

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/shared/sim/dynamo"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
)

// invoked is a ledger each of whose methods is called within its own invocation.
type invoked struct {
	mu *sync.Mutex
	v  *env
}

func (i invoked) in(body func(ledger.Ledger) error) (err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	err = errors.New("it did not come to its end")
	// So short that TTL deletes nothing meanwhile.
	i.v.during(time.Minute, 0, false, func() { err = body(i.v.a.dep.newLedger(i.v)) })
	return err
}

func (i invoked) Read(ctx context.Context, cluster roll.ClusterID) (s ledger.State, err error) {
	err = i.in(func(l ledger.Ledger) error { s, err = l.Read(ctx, cluster); return err })
	return s, err
}

func (i invoked) Record(ctx context.Context, cluster roll.ClusterID, c ledger.Changes) error {
	return i.in(func(l ledger.Ledger) error { return l.Record(ctx, cluster, c) })
}

func (i invoked) Begin(ctx context.Context, cluster roll.ClusterID, intent ledger.Action, b ledger.Budget) error {
	return i.in(func(l ledger.Ledger) error { return l.Begin(ctx, cluster, intent, b) })
}

func (i invoked) Finish(ctx context.Context, cluster roll.ClusterID, id string, o ledger.Outcome) error {
	return i.in(func(l ledger.Ledger) error { return l.Finish(ctx, cluster, id, o) })
}

func (i invoked) RaiseNotices(ctx context.Context, cluster roll.ClusterID, read int64) error {
	return i.in(func(l ledger.Ledger) error { return l.RaiseNotices(ctx, cluster, read) })
}

func (i invoked) Approve(ctx context.Context, cluster roll.ClusterID, order string, a ledger.Approval) (q ledger.ApprovalRequest, err error) {
	err = i.in(func(l ledger.Ledger) error { q, err = l.Approve(ctx, cluster, order, a); return err })
	return q, err
}

func (i invoked) Persistent() bool { return i.v.a.dep.newLedger(i.v).Persistent() }

func TestTheTableKeepsTheContractOfLedgers(t *testing.T) {
	ledgertest.Contract(t, "table", func(t *testing.T) func() ledger.Ledger {
		a, mu := bare(t, false), &sync.Mutex{}
		return func() ledger.Ledger { return invoked{mu, a.environment(inspect)} }
	})
}

func TestWhichCallsTheLedgerMakes(t *testing.T) {
	intent := ledgertest.Intent("a", "i-00000001", ledgertest.T0)
	record := func(c ledger.Changes) func(ledger.Ledger) error {
		return func(l ledger.Ledger) error { return l.Record(t.Context(), ledgertest.Cluster, c) }
	}
	for _, tt := range []struct {
		name  string
		calls int
		does  func(ledger.Ledger) error
	}{
		{"nothing", 0, record(ledger.Changes{})},
		{"99 items", 1, record(ledgertest.Findings(99))},
		{"one more", 2, record(ledgertest.Findings(100))},
		{"a notice, whose parts are read first", 2, record(ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{{Group: "asg/w", Kind: roll.Unknown}: ledgertest.Notice(3)}}})},
		{"an intent", 3, func(l ledger.Ledger) error { return l.Begin(t.Context(), ledgertest.Cluster, intent, ledgertest.Wide) }},
		{"an outcome", 2, func(l ledger.Ledger) error {
			return l.Finish(t.Context(), ledgertest.Cluster, "a", ledger.Outcome{Result: ledger.Done, At: ledgertest.T0})
		}},
	} {
		a := bare(t, false)
		if strings.HasPrefix(tt.name, "an outcome") {
			v := a.environment(remediator)
			v.within(0, false, func() {
				expect.Succeed(t, a.dep.newLedger(v).Begin(t.Context(), ledgertest.Cluster, intent, ledgertest.Wide))
			})
		}
		v := a.environment(inspect)
		inv := v.within(0, false, func() {
			err := tt.does(a.dep.newLedger(v))
			expect.That(t, err == nil, "%s: %v", tt.name, err)
		})
		expect.That(t, inv.calls == tt.calls, "%s: %d calls, want %d", tt.name, inv.calls, tt.calls)
	}
}

func TestALargeRecordThatIsKilledLeavesItsBeginning(t *testing.T) {
	c := ledgertest.Findings(250)
	c.Put.Trouble = &ledger.Trouble{Reason: "ZoneOutage", Since: ledgertest.T0, Last: ledgertest.T0}
	for _, tt := range []struct {
		dies     int
		after    bool
		findings int // the trouble is the very first item
	}{{1, false, 0}, {1, true, 98}, {2, false, 98}, {2, true, 197}, {3, false, 197}, {3, true, 250}} {
		a := bare(t, false)
		v := a.environment(inspect)
		v.within(tt.dies, tt.after, func() { _ = a.dep.newLedger(v).Record(t.Context(), ledgertest.Cluster, c) })
		s := a.dep.table.state(ledgertest.Cluster)
		expect.That(t, len(s.Findings) == tt.findings && (s.Trouble != nil) == (tt.findings > 0), "killed at write %d, after it %v: %d findings, trouble %v, want %d", tt.dies, tt.after, len(s.Findings), s.Trouble != nil, tt.findings)
	}
}

func TestSizesAreRemembered(t *testing.T) {
	a := bare(t, false)
	v := a.environment(inspect)
	v.within(0, false, func() {
		r := a.dep.newLedger(v)
		if sizes, err := r.Sizes(t.Context(), region); err != nil || len(sizes) != 0 {
			t.Errorf("%v, %v", sizes, err)
		}
		expect.Succeed(t, r.PutSize(t.Context(), region, "demo", 7))
		v.inv.wait(dynamo.StaleFor) // the read is eventually consistent
		sizes, err := r.Sizes(t.Context(), region)
		expect.That(t, err == nil && sizes["demo"] == 7, "%v, %v", sizes, err)
	})
	expect.That(t, len(a.dep.state("demo").Findings) == 0, "a size is no finding")
}
