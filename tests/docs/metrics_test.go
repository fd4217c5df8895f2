package docs

import (
	"slices"
	"strings"
	"testing"

	"rollcall/shared/report"
)

func TestTheMonitoringPageHasEveryMetric(t *testing.T) {
	var want, got []string
	for _, s := range report.Catalogue() {
		var sets []string
		for _, set := range s.Sets {
			var names []string
			for _, d := range set {
				names = append(names, string(d))
			}
			if len(names) == 0 {
				names = []string{"all"}
			}
			sets = append(sets, strings.Join(names, ", "))
		}
		want = append(want, strings.Join([]string{"`" + s.Name + "`", string(s.Form), s.Unit, strings.Join(sets, "; ")}, " | "))
	}
	for _, row := range table(t, "infra/MONITORING.md", "| metric | form | unit | by | what it is |") {
		if len(row) != 5 || row[4] == "" {
			t.Errorf("a row says nothing: %v", row)
			continue
		}
		got = append(got, strings.Join(row[:4], " | "))
	}
	if !slices.Equal(want, got) {
		t.Errorf("the code has\n%s\nthe page has\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}
