// Package ledgertest holds the contract for every implementation of ledger.Ledger, and the
// fixtures of its tests.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// Contract tests the contract of a ledger, whatever its store. open makes an empty store
// for one test. The function that it returns opens that store each time it is called, as
// another process would.
func Contract(t *testing.T, name string, open func(t *testing.T) func() ledger.Ledger) {
	run := func(what string, f func(t *testing.T, open func() ledger.Ledger)) {
		t.Run(name+"/"+what, func(t *testing.T) { f(t, open(t)) })
	}
	ctx := context.Background()
	read := func(t *testing.T, l ledger.Ledger, id roll.ClusterID) ledger.State {
		t.Helper()
		s, err := l.Read(ctx, id)
		must.Succeed(t, err)
		return s
	}

	run("what is recorded is read, by cluster", func(t *testing.T, open func() ledger.Ledger) {
		want := Changes()
		for range 2 { // applying twice has the same result as applying once
			must.Succeed(t, open().Record(ctx, Cluster, want))
		}
		var expected ledger.State
		expected.Apply(want)
		if diff := cmp.Diff(expected, read(t, open(), Cluster)); diff != "" {
			t.Errorf("state differs (-want +got):\n%s", diff)
		}
		if s := read(t, open(), Other); len(s.Findings)+len(s.Notices)+len(s.Actions)+len(s.NotReady) != 0 {
			t.Errorf("another region's cluster of the same name shares the memory: %+v", s)
		}
	})
	run("what is dropped is gone", func(t *testing.T, open func() ledger.Ledger) {
		must.Succeed(t, open().Record(ctx, Cluster, Puts(t)))
		kept := read(t, open(), Cluster)
		must.Succeed(t, open().Record(ctx, Cluster, Drops(t)))
		want := ledger.State{First: kept.First, Checked: kept.Checked}
		if diff := cmp.Diff(want, read(t, open(), Cluster), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("state differs (-want +got):\n%s", diff)
		}
	})
	run("nothing of what is recorded is forgotten", func(t *testing.T, open func() ledger.Ledger) {
		puts := Puts(t)
		var want ledger.State
		want.Apply(puts)
		intent := Filled[ledger.Action](t)
		intent.At = T0
		must.Succeed(t, open().Begin(ctx, Cluster, intent, Wide))
		must.Succeed(t, open().Finish(ctx, Cluster, intent.ID, *intent.Outcome))
		want.Actions = []ledger.Action{intent}
		must.Succeed(t, open().RaiseNotices(ctx, Cluster, 0))
		want.NoticesVersion = 1
		must.Succeed(t, open().Record(ctx, Cluster, puts))
		got := read(t, open(), Cluster)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("state differs (-want +got):\n%s", diff)
		}
		if zeros := Zeros(got); len(zeros) > 0 {
			t.Errorf("no change fills %q", zeros)
		}
	})
	run("of two checks that read the same notices one may write them", func(t *testing.T, open func() ledger.Ledger) {
		say := func(said string, version int64) error {
			n := Notice(1)
			for id := range n.Members {
				n.Members[id] = ledger.MemberMemory{Last: ledger.Statement{Held: said}, Told: ledger.Statement{Held: said}}
			}
			return open().Record(ctx, Cluster, ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{{Group: "asg/w", Kind: roll.Unknown}: n}}, NoticesVersion: version})
		}
		for read := range int64(2) {
			must.Succeed(t, open().RaiseNotices(ctx, Cluster, read))
			for _, other := range []int64{read, 0, 7} {
				if err := open().RaiseNotices(ctx, Cluster, other); !errors.Is(err, ledger.ErrNoticesMoved) {
					t.Errorf("version %d, read %d: %v, want that it moved", read+1, other, err)
				}
			}
			must.Succeed(t, say(fmt.Sprint("at ", read+1), read+1))
		}
		if err := say("too late", 1); !errors.Is(err, ledger.ErrNoticesMoved) {
			t.Errorf("a write at an earlier version: %v, want that it moved", err)
		}
		got := read(t, open(), Cluster)
		for key, n := range got.Notices {
			for id, m := range n.Members {
				if m.Told.Held != "at 2" {
					t.Errorf("%v of %s: %+v", key, id, m)
				}
			}
		}
		if got.NoticesVersion != 2 || len(got.Notices) != 1 {
			t.Errorf("version %d, notices %v", got.NoticesVersion, got.Notices)
		}
	})
	run("each part is put and dropped by itself", func(t *testing.T, open func() ledger.Ledger) {
		for _, field := range Fields[ledger.Drops]() {
			var want ledger.State
			for _, c := range []ledger.Changes{Only(Puts(t), field), Only(Drops(t), field)} {
				want.Apply(c)
				must.Succeed(t, open().Record(ctx, Cluster, c))
				got := read(t, open(), Cluster)
				got.Checked = want.Checked // is never dropped
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: state differs (-want +got):\n%s", field, diff)
				}
			}
		}
	})
	run("any sequence of writes leaves what it leaves in memory", func(t *testing.T, open func() ledger.Ledger) {
		for seed := range uint64(3) {
			sequence(t, open(), roll.ClusterID{Account: Cluster.Account, Region: Cluster.Region, Name: fmt.Sprint("random-", seed)}, rand.New(rand.NewPCG(seed, 0)))
		}
	})
	run("two writers at once do what one after the other could", func(t *testing.T, open func() ledger.Ledger) {
		for seed := range uint64(3) {
			atOnce(t, open, roll.ClusterID{Account: Cluster.Account, Region: Cluster.Region, Name: fmt.Sprint("two-", seed)}, seed)
		}
	})
	run("a reader cannot change the memory", func(t *testing.T, open func() ledger.Ledger) {
		l := open()
		must.Succeed(t, l.Record(ctx, Cluster, Changes()))
		must.Succeed(t, l.Begin(ctx, Cluster, Intent("a", "i-00000001", T0), Wide))
		must.Succeed(t, l.Finish(ctx, Cluster, "a", ledger.Outcome{Result: ledger.Done, At: T0}))
		if shared := Shared(read(t, l, Cluster), read(t, l, Cluster)); len(shared) > 0 {
			t.Errorf("two readers share %q", shared)
		}
	})
	run("a writer cannot change it later", func(t *testing.T, open func() ledger.Ledger) {
		l, c := open(), Changes()
		must.Succeed(t, l.Record(ctx, Cluster, c))
		want := read(t, l, Cluster)
		for _, n := range c.Put.Notices {
			n.Members["i-00000009"] = ledger.MemberMemory{}
		}
		c.Put.Flips["i-00000002"][0] = time.Time{}
		c.Put.Pressures["i-00000001"].Types[0] = "x"
		c.Put.Groups["asg/w"].Seconds[0] = 0
		*c.Put.Trouble = ledger.Trouble{}
		if diff := cmp.Diff(want, read(t, l, Cluster)); diff != "" {
			t.Errorf("the memory changed (-want +got):\n%s", diff)
		}
	})
	run("the first outcome stands", func(t *testing.T, open func() ledger.Ledger) {
		l := open()
		if err := l.Finish(ctx, Cluster, "nobody", ledger.Outcome{Result: ledger.Done, At: T0}); !errors.Is(err, ledger.ErrNotBegun) {
			t.Errorf("outcome without intent: %v, want ErrNotBegun", err)
		}
		must.Succeed(t, l.Begin(ctx, Cluster, Intent("a", "i-00000001", T0), Wide))
		for _, r := range []ledger.Result{ledger.Done, ledger.Failed} {
			must.Succeed(t, l.Finish(ctx, Cluster, "a", ledger.Outcome{Result: r, At: T0}))
		}
		if a, _ := read(t, l, Cluster).Action("a"); a.Outcome.Result != ledger.Done {
			t.Errorf("outcome %v, want done", a.Outcome.Result)
		}
	})
	run("of many that begin at once, the budget's number get through", func(t *testing.T, open func() ledger.Ledger) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		through := 0
		for i := range 12 {
			l := open()
			wg.Go(func() {
				err := l.Begin(ctx, Cluster, Intent(fmt.Sprint(i), roll.InstanceID(fmt.Sprintf("i-0000000%x", i)), T0), ledger.Budget{Max: 3, Since: T0.Add(-time.Hour)})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					through++
				case !errors.Is(err, ledger.ErrBudgetSpent):
					t.Errorf("begin: %v", err)
				}
			})
		}
		wg.Wait()
		if through != 3 {
			t.Errorf("%d got through, want 3", through)
		}
	})
	run("a put and a drop of the same is a drop", func(t *testing.T, open func() ledger.Ledger) {
		both := Puts(t)
		both.Drop = Drops(t).Drop
		want := ledger.State{First: both.Put.First, Checked: both.Put.Checked}
		for range 2 {
			must.Succeed(t, open().Record(ctx, Cluster, both))
			if diff := cmp.Diff(want, read(t, open(), Cluster), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("state differs (-want +got):\n%s", diff)
			}
		}
	})
	run("no changes are no write", func(t *testing.T, open func() ledger.Ledger) {
		if err := open().Record(ctx, Cluster, ledger.Changes{}); err != nil {
			t.Error(err)
		}
	})
	run("a thousand findings at once", func(t *testing.T, open func() ledger.Ledger) {
		c, want := Findings(1000), ledger.State{}
		want.Apply(c)
		for range 2 {
			must.Succeed(t, open().Record(ctx, Cluster, c))
		}
		if diff := cmp.Diff(want, read(t, open(), Cluster)); diff != "" {
			t.Errorf("state differs (-want +got):\n%s", diff)
		}
		drop := ledger.Changes{}
		for _, f := range c.Put.Findings {
			drop.Drop.Findings = append(drop.Drop.Findings, f.Key())
		}
		must.Succeed(t, open().Record(ctx, Cluster, drop))
		if s := read(t, open(), Cluster); len(s.Findings) != 0 {
			t.Errorf("%d findings are left", len(s.Findings))
		}
	})
	run("a notice of any size is remembered whole", func(t *testing.T, open func() ledger.Ledger) {
		key := ledger.NoticeKey{Group: "asg/a#b", Kind: roll.Unknown, Cause: "NodeRoleNotMapped"}
		for _, n := range []int{40_000, 20_000, 1, 0, 20_000} { // also when it shrinks and grows
			put := ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{key: Notice(n)}}}
			for range 2 {
				must.Succeed(t, open().Record(ctx, Cluster, put))
			}
			got, ok := read(t, open(), Cluster).Notices[key]
			want := Notice(n)
			if !ok || !maps.Equal(want.Members, got.Members) { // cmp takes seconds to compare them
				t.Fatalf("of a notice of %d instances %d are read", n, len(got.Members))
			}
			want.Members, got.Members = nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("notice of %d instances differs (-want +got):\n%s", n, diff)
			}
		}
		must.Succeed(t, open().Record(ctx, Cluster, ledger.Changes{Drop: ledger.Drops{Notices: []ledger.NoticeKey{key}}}))
		if s := read(t, open(), Cluster); len(s.Notices) != 0 {
			t.Errorf("%d notices are left", len(s.Notices))
		}
	})
	run("only an open question is approved", func(t *testing.T, open func() ledger.Ledger) {
		asked := func(order string, id roll.InstanceID) ledger.Changes {
			f := ledger.Finding{Instance: id, Kind: roll.Unknown, Group: "asg/w", Stage: roll.Overdue, FirstSeen: T0, Since: T0, Began: T0}
			q := ledger.ApprovalRequest{Order: order, Instance: id, Kind: roll.Unknown, Group: "asg/w", Acts: []string{"terminate"}, At: T0, Until: T0.Add(time.Hour)}
			return ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, Questions: map[string]ledger.ApprovalRequest{order: q}}}
		}
		over := asked("over", "i-00000002")
		over.Put.Findings = nil
		for _, c := range []ledger.Changes{asked("open", "i-00000001"), over, asked("begun", "i-00000003"), asked("failed", "i-00000004"), asked("late", "i-00000005")} {
			must.Succeed(t, open().Record(ctx, Cluster, c))
		}
		for id, i := range map[string]roll.InstanceID{"begun": "i-00000003", "failed": "i-00000004"} {
			intent := Intent(id, i, T0)
			intent.Group = roll.GroupNone
			must.Succeed(t, open().Begin(ctx, Cluster, intent, Wide))
		}
		must.Succeed(t, open().Finish(ctx, Cluster, "failed", ledger.Outcome{Result: ledger.Failed, At: T0}))
		approve := func(order, by string, after time.Duration) error {
			_, err := open().Approve(ctx, Cluster, order, ledger.Approval{By: by, How: ledger.WayCommand, At: T0.Add(after)})
			return err
		}
		for _, try := range []struct {
			order string
			after time.Duration
			want  error
		}{
			{"", 0, ledger.ErrNotAsked}, {"forged", 0, ledger.ErrNotAsked}, {"over", 0, ledger.ErrOver}, {"begun", 0, ledger.ErrActed},
			{"late", time.Hour, ledger.ErrTooLate}, {"late", 2 * time.Hour, ledger.ErrTooLate}, {"failed", 0, nil},
			{"open", time.Hour - time.Nanosecond, nil}, {"open", time.Minute, ledger.ErrApproved}, {"open", 2 * time.Hour, ledger.ErrApproved},
		} {
			if err := approve(try.order, "first", try.after); !errors.Is(err, try.want) {
				t.Errorf("approve %q after %s: %v, want %v", try.order, try.after, err, try.want)
			}
		}
		if err := approve("open", "second", time.Minute); err == nil || !strings.Contains(err.Error(), "first") {
			t.Errorf("the second approval: %v, want who was first", err)
		}
		got := read(t, open(), Cluster).Approvals
		want := map[string]ledger.Approval{}
		for order, after := range map[string]time.Duration{"failed": 0, "open": time.Hour - time.Nanosecond} {
			want[order] = ledger.Approval{By: "first", How: ledger.WayCommand, At: T0.Add(after)}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("approvals (-want +got):\n%s", diff)
		}
	})
	run("of many that approve at once, one is recorded", func(t *testing.T, open func() ledger.Ledger) {
		f := ledger.Finding{Instance: "i-00000001", Kind: roll.Unknown, Group: "asg/w", Stage: roll.Overdue, FirstSeen: T0, Since: T0, Began: T0}
		q := ledger.ApprovalRequest{Order: "a", Instance: f.Instance, Kind: f.Kind, Group: f.Group, Acts: []string{"terminate"}, At: T0, Until: T0.Add(time.Hour)}
		put := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, Questions: map[string]ledger.ApprovalRequest{"a": q}}
		must.Succeed(t, open().Record(ctx, Cluster, ledger.Changes{Put: put}))
		var wg sync.WaitGroup
		through := make(chan string, 8)
		for i := range 8 {
			l := open()
			wg.Go(func() {
				by := fmt.Sprint(i)
				_, err := l.Approve(ctx, Cluster, "a", ledger.Approval{By: by, How: ledger.WayChat, At: T0})
				if err == nil {
					through <- by
				} else if !errors.Is(err, ledger.ErrApproved) {
					t.Errorf("approve: %v", err)
				}
			})
		}
		wg.Wait()
		close(through)
		if first := read(t, open(), Cluster).Approvals["a"].By; len(through) != 1 || <-through != first {
			t.Errorf("%d got through; on record is %s", len(through), first)
		}
	})
	run("the latest try is the one begun last, whatever the clocks say", func(t *testing.T, open func() ledger.Ledger) {
		for i, try := range []struct {
			at     time.Time
			result ledger.Result
		}{{T0.Add(time.Minute), ledger.Failed}, {T0.Add(time.Minute), ledger.Failed}, {T0, ledger.Done}} {
			if err := open().Begin(ctx, Cluster, Intent("a", "i-00000001", try.at), Wide); err != nil {
				t.Fatalf("try %d: %v", i, err)
			}
			must.Succeed(t, open().Finish(ctx, Cluster, "a", ledger.Outcome{Result: try.result, At: T0}))
		}
		if err := open().Begin(ctx, Cluster, Intent("a", "i-00000001", T0.Add(time.Hour)), Wide); !errors.Is(err, ledger.ErrBegun) {
			t.Errorf("begin after the last try was done: %v, want ErrBegun", err)
		}
		if s := read(t, open(), Cluster); len(s.Actions) != 3 {
			t.Errorf("%d tries are remembered, want 3", len(s.Actions))
		}
	})
	run("of two that begin the same order at once, one gets through", func(t *testing.T, open func() ledger.Ledger) {
		var wg sync.WaitGroup
		var through atomic.Int32
		for range 8 {
			l := open()
			wg.Go(func() {
				err := l.Begin(ctx, Cluster, Intent("a", "i-00000001", T0), Wide)
				if err == nil {
					through.Add(1)
				} else if !errors.Is(err, ledger.ErrBegun) {
					t.Errorf("begin: %v", err)
				}
			})
		}
		wg.Wait()
		if n := through.Load(); n != 1 {
			t.Errorf("%d got through, want 1", n)
		}
	})
}
