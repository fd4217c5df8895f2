package ledger_test

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
	"rollcall/tests/harness/must"
)

// Each field of State that names instances makes an instance known by itself.
func TestWhatIsRememberedOfAnInstanceIsKnown(t *testing.T) {
	full := ledgertest.Filled[ledger.State](t)
	const id, other = roll.InstanceID("i-00000001"), roll.InstanceID("i-00000002")
	known := 0
	for i := range reflect.TypeFor[ledger.State]().NumField() {
		name := reflect.TypeFor[ledger.State]().Field(i).Name
		var s ledger.State
		reflect.ValueOf(&s).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		switch name {
		case "RemediateSince", "GroupsWithNodes", "Groups", "First", "Checked", "ModeTag", "Trouble", "NoticesVersion", "Approvals": // about groups, the cluster or orders
			expect.That(t, !s.Knows(id), "State.%s names no instance", name)
			continue
		}
		if !s.Knows(id) || s.Knows(other) {
			t.Errorf("by State.%s, %s is known: %v, and %s: %v", name, id, s.Knows(id), other, s.Knows(other))
		}
		known++
	}
	expect.That(t, known >= 9, "only %d fields of State name instances", known)
}

func TestAFileTellsItsClustersOfARegion(t *testing.T) {
	f, err := ledger.OpenFile(filepath.Join(t.TempDir(), "ledger.json"))
	must.Succeed(t, err)
	more := ledgertest.Cluster
	more.Name = "another"
	for _, id := range []roll.ClusterID{ledgertest.Cluster, ledgertest.Other, more} {
		must.Succeed(t, f.Record(context.Background(), id, ledgertest.Changes()))
	}
	for region, want := range map[string][]roll.ClusterID{
		"eu-west-1": {more, ledgertest.Cluster}, "us-east-1": {ledgertest.Other}, "eu-west-10": nil,
	} {
		got, err := f.Clusters(context.Background(), "111122223333", region)
		expect.That(t, err == nil && slices.Equal(got, want), "%s: %v, %v; want %v", region, got, err, want)
	}
	if got, err := f.Clusters(context.Background(), "123456789012", "eu-west-1"); err != nil || len(got) != 0 {
		t.Errorf("another account: %v, %v", got, err)
	}
}
