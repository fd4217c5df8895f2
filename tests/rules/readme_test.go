package rules

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// patterns are the patterns of events/README.md in order, with the samples that each
// matches.
var patterns = [][]string{
	takes["IncidentOpens"],
	{"finding-escalated", "finding-opened-condition", "finding-opened-contradicted", "finding-opened-overdue", "finding-opened-stuck", "finding-opened-unlaunched", "finding-resolved", "finding-resolved-cleared", "finding-resolved-condition", "finding-resolved-stuck", "finding-resolved-unlaunched"},
	{"action-failed", "action-refused", "action-taken", "action-unclear", "finding-escalated"},
	{"action-taken", "action-taken-approved", "action-taken-late"},
	{"action-held", "action-held-approval"},
	{"action-held-owner", "finding-opened-unlaunched", "finding-resolved-unlaunched"},
	{"action-held", "finding-opened-overdue", "finding-resolved-cleared"},
	{"check-completed-partial"},
	{"check-completed"},
}

var pattern = regexp.MustCompile("(?m)^\\| [^|]+ \\| `(\\{\"source\".*\\})` \\|$")

// Users copy the patterns and rely on what the page says.
func TestThePatternsOfThePageTakeWhatTheySay(t *testing.T) {
	a := emulated()
	found := pattern.FindAllStringSubmatch(string(must.Read(t, filepath.Join(root, "events", "README.md"))), -1)
	must.That(t, len(found) == len(patterns), "the page has %d patterns, known here are %d", len(found), len(patterns))
	urls := make([]string, len(found))
	for i, m := range found {
		must.That(t, json.Valid([]byte(m[1])), "no JSON: %s", m[1])
		r := rule{EventPattern: json.RawMessage(m[1])}
		r.Targets = append(r.Targets, rules(t, with(t, all))["Audited"].Targets...)
		urls[i] = a.listen(t, "page"+strconv.Itoa(i), r)
	}
	took := make([][]string, len(found))
	for name, event := range samples(t) {
		a.put(t, event)
		for i, url := range urls {
			if len(a.take(t, url)) > 0 {
				took[i] = append(took[i], name)
			}
		}
	}
	for i, want := range patterns {
		slices.Sort(took[i])
		expect.That(t, slices.Equal(took[i], want), "%s\ntakes %s\nwant  %s", found[i][1], strings.Join(took[i], ", "), strings.Join(want, ", "))
	}
}

func TestThePageNamesEveryField(t *testing.T) {
	defs := object(t, must.Read(t, filepath.Join(root, "events", "rollcall-events.schema.json")))["$defs"].(map[string]any)
	page := string(must.Read(t, filepath.Join(root, "events", "README.md")))
	section := page[strings.Index(page, "Fields of a detail"):strings.Index(page, "## Rules")]
	for _, def := range []string{"finding", "FindingResolved", "action", "CheckCompleted"} {
		for field := range defs[def].(map[string]any)["properties"].(map[string]any) {
			expect.That(t, strings.Contains(section, "`"+field+"`"), "events/README.md does not say what %s of %s is", field, def)
		}
	}
}
