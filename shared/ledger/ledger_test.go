package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

var (
	cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}
	other   = roll.ClusterID{Account: "111122223333", Region: "us-east-1", Name: "demo"}
	t0      = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
)

// contract runs what every ledger must keep, whatever it is kept in. open returns
// the same store again when called twice in one test.
func contract(t *testing.T, name string, open func(t *testing.T) func() ledger.Ledger) {
	run := func(what string, f func(t *testing.T, open func() ledger.Ledger)) {
		t.Run(name+"/"+what, func(t *testing.T) { f(t, open(t)) })
	}
	ctx := context.Background()
	read := func(t *testing.T, l ledger.Ledger, id roll.ClusterID) ledger.State {
		t.Helper()
		s, err := l.Read(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}

	run("what is recorded is read, by cluster", func(t *testing.T, open func() ledger.Ledger) {
		want := changes()
		for range 2 { // applying twice leaves what applying once leaves
			if err := open().Record(ctx, cluster, want); err != nil {
				t.Fatal(err)
			}
		}
		var expected ledger.State
		expected.Apply(want)
		if diff := cmp.Diff(expected, read(t, open(), cluster)); diff != "" {
			t.Errorf("state differs (-want +got):\n%s", diff)
		}
		if s := read(t, open(), other); len(s.Findings)+len(s.Notices)+len(s.Actions)+len(s.NotReady) != 0 {
			t.Errorf("another region's cluster of the same name shares the memory: %+v", s)
		}
	})
	run("what is dropped is gone", func(t *testing.T, open func() ledger.Ledger) {
		c := changes()
		if err := open().Record(ctx, cluster, c); err != nil {
			t.Fatal(err)
		}
		drop := ledger.Changes{
			DropFindings: []roll.FindingKey{c.PutFindings[0].Key()}, DropNotReady: []roll.InstanceID{"i-00000001"}, DropRests: []roll.InstanceID{"i-00000002", "i-00000003"},
			DropNotices: []ledger.NoticeKey{{Group: "asg/w", Kind: roll.Unknown}}, DropRemediate: []roll.Group{"asg/w"},
		}
		if err := open().Record(ctx, cluster, drop); err != nil {
			t.Fatal(err)
		}
		s := read(t, open(), cluster)
		if len(s.Findings) != 0 || len(s.NotReady) != 0 || len(s.Notices) != 0 || len(s.RemediateSince) != 0 || len(s.Rests) != 0 || len(s.GroupsWithNodes) != 1 {
			t.Errorf("got %+v, want only the group", s)
		}
	})
	run("a reader cannot change the memory", func(t *testing.T, open func() ledger.Ledger) {
		l := open()
		if err := l.Record(ctx, cluster, changes()); err != nil {
			t.Fatal(err)
		}
		s := read(t, l, cluster)
		clear(s.Findings)
		s.Notices[ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}].Members["i-00000009"] = "x"
		again := read(t, l, cluster)
		if len(again.Findings) != 1 || len(again.Notices[ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}].Members) != 1 {
			t.Errorf("the memory changed: %+v", again)
		}
	})
	run("an order is begun once", func(t *testing.T, open func() ledger.Ledger) {
		if err := open().Begin(ctx, cluster, intent("a", "i-00000001", t0), wide); err != nil {
			t.Fatal(err)
		}
		if err := open().Begin(ctx, cluster, intent("a", "i-00000001", t0.Add(time.Minute)), wide); !errors.Is(err, ledger.ErrBegun) {
			t.Errorf("second begin of an order: %v, want ErrBegun", err)
		}
		if err := open().Begin(ctx, cluster, intent("b", "i-00000001", t0), wide); !errors.Is(err, ledger.ErrUnresolved) {
			t.Errorf("another order for the instance before the outcome: %v, want ErrUnresolved", err)
		}
		if err := open().Finish(ctx, cluster, "a", ledger.Outcome{Result: ledger.Done, At: t0}); err != nil {
			t.Fatal(err)
		}
		if err := open().Begin(ctx, cluster, intent("a", "i-00000001", t0.Add(time.Hour)), wide); !errors.Is(err, ledger.ErrBegun) {
			t.Errorf("begin of an order that was done: %v, want ErrBegun", err)
		}
	})
	run("one open act per group", func(t *testing.T, open func() ledger.Ledger) {
		member := func(id string, instance roll.InstanceID) ledger.Action {
			a := intent(id, instance, t0)
			a.Group = "asg/w"
			return a
		}
		if err := open().Begin(ctx, cluster, member("a", "i-00000001"), wide); err != nil {
			t.Fatal(err)
		}
		if err := open().Begin(ctx, cluster, member("b", "i-00000002"), wide); !errors.Is(err, ledger.ErrUnresolved) {
			t.Errorf("a second act in the group: %v, want ErrUnresolved", err)
		}
		if err := open().Finish(ctx, cluster, "a", ledger.Outcome{Result: ledger.Done, At: t0}); err != nil {
			t.Fatal(err)
		}
		if err := open().Begin(ctx, cluster, member("b", "i-00000002"), wide); err != nil {
			t.Errorf("after the first act's outcome: %v", err)
		}
	})
	run("what failed for certain may be tried again, and does not use up the budget", func(t *testing.T, open func() ledger.Ledger) {
		one := ledger.Budget{Max: 1, Since: t0.Add(-time.Hour)}
		for i := range 3 {
			if err := open().Begin(ctx, cluster, intent("a", "i-00000001", t0.Add(time.Duration(i)*time.Minute)), one); err != nil {
				t.Fatalf("try %d: %v", i, err)
			}
			if err := open().Finish(ctx, cluster, "a", ledger.Outcome{Result: ledger.Failed, At: t0, Detail: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		a, ok := read(t, open(), cluster).Action("a")
		if !ok || a.Outcome == nil || a.Outcome.Detail != "2" {
			t.Errorf("the latest try is not the one that is found: %+v", a)
		}
	})
	run("the budget counts intents and acts in its window", func(t *testing.T, open func() ledger.Ledger) {
		l := open()
		for i, at := range []time.Time{t0.Add(-time.Hour), t0.Add(-time.Hour + time.Second), t0.Add(-time.Minute)} {
			if err := l.Begin(ctx, cluster, intent(fmt.Sprint(i), roll.InstanceID(fmt.Sprintf("i-0000000%d", i)), at), wide); err != nil {
				t.Fatal(err)
			}
		}
		window := func(limit int) ledger.Budget { return ledger.Budget{Max: limit, Since: t0.Add(-time.Hour)} }
		for _, limit := range []int{0, 1, 2} {
			if err := l.Begin(ctx, cluster, intent("x", "i-0000000a", t0), window(limit)); !errors.Is(err, ledger.ErrBudgetSpent) {
				t.Errorf("limit %d with 2 in the window: %v, want ErrBudgetSpent", limit, err)
			}
		}
		if err := l.Begin(ctx, cluster, intent("x", "i-0000000a", t0), window(3)); err != nil {
			t.Errorf("limit 3 with 2 in the window: %v", err)
		}
	})
	run("the first outcome stands", func(t *testing.T, open func() ledger.Ledger) {
		l := open()
		if err := l.Finish(ctx, cluster, "nobody", ledger.Outcome{Result: ledger.Done, At: t0}); !errors.Is(err, ledger.ErrNotBegun) {
			t.Errorf("outcome without intent: %v, want ErrNotBegun", err)
		}
		if err := l.Begin(ctx, cluster, intent("a", "i-00000001", t0), wide); err != nil {
			t.Fatal(err)
		}
		for _, r := range []ledger.Result{ledger.Done, ledger.Failed} {
			if err := l.Finish(ctx, cluster, "a", ledger.Outcome{Result: r, At: t0}); err != nil {
				t.Fatal(err)
			}
		}
		if a, _ := read(t, l, cluster).Action("a"); a.Outcome.Result != ledger.Done {
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
				err := l.Begin(ctx, cluster, intent(fmt.Sprint(i), roll.InstanceID(fmt.Sprintf("i-0000000%x", i)), t0), ledger.Budget{Max: 3, Since: t0.Add(-time.Hour)})
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
	run("an intent says what it is about", func(t *testing.T, open func() ledger.Ledger) {
		for _, bad := range []ledger.Action{{Instance: "i-00000001", At: t0}, {ID: "a", At: t0}, {ID: "a", Instance: "i-00000001"}} {
			if err := open().Begin(ctx, cluster, bad, wide); err == nil {
				t.Errorf("begin of %+v succeeded", bad)
			}
		}
	})
}

var wide = ledger.Budget{Max: 100}

func intent(id string, instance roll.InstanceID, at time.Time) ledger.Action {
	return ledger.Action{ID: id, Do: "terminate", Instance: instance, Group: roll.GroupNone, Kind: roll.Unknown, At: at}
}

func changes() ledger.Changes {
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}
	return ledger.Changes{
		PutRemediate: map[roll.Group]time.Time{"asg/w": t0},
		PutFindings:  []ledger.Finding{{Instance: "i-00000001", Kind: roll.Unknown, Node: "n", Group: "asg/w", Stage: roll.Overdue, FirstSeen: t0, Opened: t0, Since: t0.Add(-time.Hour)}},
		PutNotReady:  map[roll.InstanceID]ledger.NotReady{"i-00000001": {Since: t0, Status: roll.ConditionUnknown, Transition: t0}},
		PutRests:     map[roll.InstanceID]ledger.Rest{"i-00000002": {}, "i-00000003": {Left: t0}},
		PutGroups:    map[string]time.Time{"asg/w": t0},
		PutNotices:   map[ledger.NoticeKey]ledger.Notice{key: {SentAt: t0, Members: map[roll.InstanceID]string{"i-00000001": "overdue"}}},
	}
}

func TestContract(t *testing.T) {
	contract(t, "memory", func(*testing.T) func() ledger.Ledger {
		m := ledger.NewMemory()
		return func() ledger.Ledger { return m }
	})
	contract(t, "file", func(t *testing.T) func() ledger.Ledger {
		path := filepath.Join(t.TempDir(), "ledger.json")
		return func() ledger.Ledger { // opened anew each time, as separate processes do
			f, err := ledger.OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
	})
}

func TestOnlyTheFilePersists(t *testing.T) {
	f, err := ledger.OpenFile(filepath.Join(t.TempDir(), "l.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !f.Persistent() || ledger.NewMemory().Persistent() {
		t.Error("only the file outlives its process")
	}
}

func TestAFileThatIsNoLedgerIsRefusedAndKept(t *testing.T) {
	for name, content := range map[string]string{
		"not JSON": "precious notes", "another program's": `{"a":1}`, "a later version": `{"version":2,"clusters":{}}`, "cut off": `{"version":1,"clust`, "empty": "",
	} {
		path := filepath.Join(t.TempDir(), "ledger.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ledger.OpenFile(path)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error that names the file", name, err)
		}
		if kept, _ := os.ReadFile(path); string(kept) != content {
			t.Errorf("%s: the file was changed to %q", name, kept)
		}
	}
	if _, err := ledger.OpenFile(filepath.Join(t.TempDir(), "no", "ledger.json")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("missing folder: %v", err)
	}
}

func TestALinkToTheLedgerStaysALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	first, err := ledger.OpenFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Record(context.Background(), cluster, changes()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	second, err := ledger.OpenFile(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Begin(context.Background(), cluster, intent("a", "i-00000001", t0), wide); err != nil {
		t.Fatal(err)
	}
	s, err := first.Read(context.Background(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Action("a"); !ok {
		t.Error("an act recorded through the link is not in the file")
	}
}

func TestARefusedIntentLeavesTheFileAsItWas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.json")
	f, err := ledger.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Record(context.Background(), cluster, changes()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Begin(context.Background(), cluster, intent("bad", "", t0), wide); err == nil {
		t.Error("an intent without an instance was taken")
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("a refused intent changed the file")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".new-") {
			t.Errorf("left over: %s", e.Name())
		}
	}
}

func TestOldActsAreForgottenButNotOpenOnes(t *testing.T) {
	l := ledger.NewMemory()
	ctx := context.Background()
	begin := func(id string, instance roll.InstanceID, at time.Time) {
		t.Helper()
		if err := l.Begin(ctx, cluster, intent(id, instance, at), wide); err != nil {
			t.Fatal(err)
		}
	}
	begin("old", "i-00000001", t0)
	begin("open", "i-00000002", t0)
	if err := l.Finish(ctx, cluster, "old", ledger.Outcome{Result: ledger.Done, At: t0}); err != nil {
		t.Fatal(err)
	}
	begin("new", "i-00000003", t0.Add(ledger.ActionRetention))
	s, err := l.Read(ctx, cluster)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, a := range s.Actions {
		ids = append(ids, a.ID)
	}
	if diff := cmp.Diff([]string{"open", "new"}, ids); diff != "" {
		t.Errorf("acts kept (-want +got):\n%s", diff)
	}
}
