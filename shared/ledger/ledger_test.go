package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/ledgertest"
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

func TestALinkToTheLedgerStaysALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	first, err := ledger.OpenFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Record(context.Background(), ledgertest.Cluster, ledgertest.Changes()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	second, err := ledger.OpenFile(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Begin(context.Background(), ledgertest.Cluster, ledgertest.Intent("a", "i-00000001", ledgertest.T0), ledgertest.Wide); err != nil {
		t.Fatal(err)
	}
	s, err := first.Read(context.Background(), ledgertest.Cluster)
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
	if err := f.Record(context.Background(), ledgertest.Cluster, ledgertest.Changes()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Begin(context.Background(), ledgertest.Cluster, ledgertest.Intent("bad", "", ledgertest.T0), ledgertest.Wide); err == nil {
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
		if err := l.Begin(ctx, ledgertest.Cluster, ledgertest.Intent(id, instance, at), ledgertest.Wide); err != nil {
			t.Fatal(err)
		}
	}
	begin("old", "i-00000001", ledgertest.T0)
	begin("open", "i-00000002", ledgertest.T0)
	if err := l.Finish(ctx, ledgertest.Cluster, "old", ledger.Outcome{Result: ledger.Done, At: ledgertest.T0}); err != nil {
		t.Fatal(err)
	}
	begin("new", "i-00000003", ledgertest.T0.Add(ledger.ActionRetention))
	s, err := l.Read(ctx, ledgertest.Cluster)
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
