package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/shared/ledger"
	"rollcall/shared/ledger/ledgertest"
	"rollcall/shared/roll"
)

// firstFormat is a file as format version 1 wrote it.
const firstFormat = `{
  "version": 1,
  "clusters": {
    "111122223333/eu-west-1/demo": {
      "remediateSince": {"asg/w": "2026-03-10T12:00:00Z"},
      "findings": [
        {"instance": "i-00000001", "kind": "Unknown", "node": "n", "group": "asg/w", "stage": "overdue",
         "firstSeen": "2026-03-10T12:00:00Z", "opened": "2026-03-10T12:00:00Z", "since": "2026-03-10T11:00:00Z", "began": "2026-03-10T11:00:00Z"}
      ],
      "notReady": {"i-00000001": {"since": "2026-03-10T11:00:00Z", "status": "Unknown", "transition": "2026-03-10T11:00:00Z"}},
      "rests": {"i-00000002": {}, "i-00000003": {"left": "2026-03-10T12:00:00Z"}},
      "groupsWithNodes": {"asg/w": "2026-03-10T12:00:00Z"},
      "notices": [{"group": "asg/w", "kind": "Unknown", "sentAt": "2026-03-10T12:00:00Z", "members": {"i-00000001": "overdue"}}],
      "actions": [
        {"id": "a", "do": "terminate", "instance": "i-00000001", "node": "n", "group": "asg/w", "kind": "Unknown", "at": "2026-03-10T12:00:00Z",
         "outcome": {"result": "done", "at": "2026-03-10T12:00:00Z", "detail": "asked"}}
      ]
    },
    "111122223333/eu-west-1/empty": null
  }
}
`

func TestAFileOfTheFirstFormatIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.json")
	if err := os.WriteFile(path, []byte(firstFormat), 0o600); err != nil {
		t.Fatal(err)
	}
	t0, earlier := ledgertest.T0, ledgertest.T0.Add(-time.Hour)
	f := ledger.Finding{Instance: "i-00000001", Kind: roll.Unknown, Node: "n", Group: "asg/w", Stage: roll.Overdue, FirstSeen: t0, Opened: t0, Since: earlier, Began: earlier}
	want := ledger.State{
		RemediateSince:  map[roll.Group]time.Time{"asg/w": t0},
		Findings:        map[roll.FindingKey]ledger.Finding{f.Key(): f},
		NotReady:        map[roll.InstanceID]ledger.NotReady{"i-00000001": {Since: earlier, Status: roll.ConditionUnknown, Transition: earlier}},
		Rests:           map[roll.InstanceID]ledger.Rest{"i-00000002": {}, "i-00000003": {Left: t0}},
		GroupsWithNodes: map[roll.Origin]time.Time{"asg/w": t0},
		Notices:         map[ledger.NoticeKey]ledger.Notice{{Group: "asg/w", Kind: roll.Unknown}: {SentAt: t0, Members: map[roll.InstanceID]string{"i-00000001": "overdue"}}},
		Actions: []ledger.Action{{ID: "a", Do: "terminate", Instance: "i-00000001", Node: "n", Group: "asg/w", Kind: roll.Unknown, At: t0,
			Outcome: &ledger.Outcome{Result: ledger.Done, At: t0, Detail: "asked"}}},
	}
	l, err := ledger.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	compare := func(when string) {
		t.Helper()
		got, err := l.Read(context.Background(), ledgertest.Cluster)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	compare("as it was")
	change := ledger.Changes{PutChecked: t0, PutMissing: map[roll.InstanceID]time.Time{"i-00000001": t0}}
	want.Apply(change)
	if err := l.Record(context.Background(), ledgertest.Cluster, change); err != nil {
		t.Fatal(err)
	}
	compare("after a write")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"version": 2`) {
		t.Errorf("a program of the first format would take this for its own:\n%s", data)
	}
}

func TestAFileThatIsNoLedgerIsRefusedAndKept(t *testing.T) {
	for name, c := range map[string]struct{ content, why string }{
		"not JSON":                         {"precious notes", "not a ledger"},
		"another program's":                {`{"a":1}`, "not a ledger"},
		"without a version":                {`{"clusters":{}}`, "format version is 0"},
		"a later version":                  {`{"version":3,"clusters":{}}`, "has format version 3, this program knows 1 to 2"},
		"a later version, of another form": {`{"version":3,"tables":[]}`, "has format version 3"},
		"cut off":                          {`{"version":1,"clust`, "not a ledger"},
		"empty":                            {"", "not a ledger"},
	} {
		path := filepath.Join(t.TempDir(), "ledger.json")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ledger.OpenFile(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want an error that names the file and says %q", name, err, c.why)
		}
		if kept, _ := os.ReadFile(path); string(kept) != c.content {
			t.Errorf("%s: the file was changed to %q", name, kept)
		}
	}
	if _, err := ledger.OpenFile(filepath.Join(t.TempDir(), "no", "ledger.json")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("missing folder: %v", err)
	}
}
