package ledger_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/shared/ledger"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
	"rollcall/tests/harness/must"
)

func TestAFileThatIsNoLedgerIsRefusedAndKept(t *testing.T) {
	for name, c := range map[string]struct{ content, why string }{
		"not JSON":                         {"precious notes", "not a ledger"},
		"another program's":                {`{"a":1}`, "not a ledger"},
		"without a version":                {`{"records":{}}`, "format version is 0"},
		"a later version":                  {`{"version":2,"records":{}}`, "has format version 2, this program knows 1"},
		"a later version, of another form": {`{"version":2,"tables":[]}`, "has format version 2"},
		"cut off":                          {`{"version":1,"clust`, "not a ledger"},
		"empty":                            {"", "not a ledger"},
	} {
		path := filepath.Join(t.TempDir(), "ledger.json")
		must.Succeed(t, os.WriteFile(path, []byte(c.content), 0o600))
		_, err := ledger.OpenFile(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want an error that names the file and says %q", name, err, c.why)
		}
		open, err := ledger.OpenFile(path + ".new")
		must.Succeed(t, err)
		must.Succeed(t, os.Rename(path, path+".new"))
		if err := open.Record(t.Context(), ledgertest.Cluster, ledgertest.Changes()); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want an error that says %q", name, err, c.why)
		}
		kept, _ := os.ReadFile(path + ".new")
		expect.That(t, string(kept) == c.content, "%s: the file was changed to %q", name, kept)
	}
	_, err := ledger.OpenFile(filepath.Join(t.TempDir(), "no", "ledger.json"))
	expect.That(t, err != nil && strings.Contains(err.Error(), "does not exist"), "missing folder: %v", err)
}
