package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
	"rollcall/tests/harness/must"
)

func TestContract(t *testing.T) {
	ledgertest.Contract(t, "memory", func(*testing.T) func() ledger.Ledger {
		m := ledger.NewMemory()
		return func() ledger.Ledger { return m }
	})
	ledgertest.Contract(t, "file", func(t *testing.T) func() ledger.Ledger {
		path := filepath.Join(t.TempDir(), "ledger.json")
		return func() ledger.Ledger { // opened again each time, as by separate processes
			f, err := ledger.OpenFile(path)
			must.Succeed(t, err)
			return f
		}
	})
}

func TestOnlyTheFilePersists(t *testing.T) {
	f, err := ledger.OpenFile(filepath.Join(t.TempDir(), "l.json"))
	must.Succeed(t, err)
	expect.That(t, f.Persistent() && !ledger.NewMemory().Persistent(), "only the file outlives its process")
}

func TestALinkToTheLedgerStaysALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	first, err := ledger.OpenFile(real)
	must.Succeed(t, err)
	must.Succeed(t, first.Record(context.Background(), ledgertest.Cluster, ledgertest.Changes()))
	must.Succeed(t, os.Symlink(real, link))
	second, err := ledger.OpenFile(link)
	must.Succeed(t, err)
	must.Succeed(t, second.Begin(context.Background(), ledgertest.Cluster, ledgertest.Intent("a", "i-00000001", ledgertest.T0), ledgertest.Wide))
	s, err := first.Read(context.Background(), ledgertest.Cluster)
	must.Succeed(t, err)
	_, ok := s.Action("a")
	expect.That(t, ok, "an act recorded through the link is not in the file")
}

func TestARefusedIntentLeavesTheFileAsItWas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.json")
	f, err := ledger.OpenFile(path)
	must.Succeed(t, err)
	must.Succeed(t, f.Record(context.Background(), ledgertest.Cluster, ledgertest.Changes()))
	before := must.Read(t, path)
	if err := f.Begin(context.Background(), ledgertest.Cluster, ledgertest.Intent("bad", "", ledgertest.T0), ledgertest.Wide); err == nil {
		t.Error("an intent without an instance was taken")
	}
	held := flock.New(path + ".lock")
	must.Succeed(t, held.Lock())
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := f.Begin(soon, ledgertest.Cluster, ledgertest.Intent("late", "i-00000001", ledgertest.T0), ledgertest.Wide); err == nil {
		t.Error("an intent was taken while another process writes")
	}
	must.Succeed(t, held.Unlock())
	after := must.Read(t, path)
	expect.That(t, string(before) == string(after), "a refused intent changed the file")
	entries, err := os.ReadDir(dir)
	must.Succeed(t, err)
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
		must.Succeed(t, l.Begin(ctx, ledgertest.Cluster, ledgertest.Intent(id, instance, at), ledgertest.Wide))
	}
	begin("old", "i-00000001", ledgertest.T0)
	begin("open", "i-00000002", ledgertest.T0)
	must.Succeed(t, l.Finish(ctx, ledgertest.Cluster, "old", ledger.Outcome{Result: ledger.Done, At: ledgertest.T0}))
	begin("new", "i-00000003", ledgertest.T0.Add(ledger.ActionRetention))
	s, err := l.Read(ctx, ledgertest.Cluster)
	must.Succeed(t, err)
	var ids []string
	for _, a := range s.Actions {
		ids = append(ids, a.ID)
	}
	expect.Same(t, ids, []string{"open", "new"}, "acts kept")
}
