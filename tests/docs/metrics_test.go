package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/report/metric"
	"rollcall/shared/roll"
)

func TestTheMonitoringPageHasEveryMetric(t *testing.T) {
	var want, got []string
	for _, s := range metric.Catalogue() {
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

// The cost of the metrics depends on how many there can be.
func TestTheMonitoringPageSaysHowManyMetricsThereCanBe(t *testing.T) {
	reasons, kinds, acts, causes, services := len(reasons(t)), len(roll.Kinds()), 7, len(cause.Codes())+1, len(apistats.Services())
	worth := map[metric.Dimension]int{metric.ByKind: kinds, metric.ByCause: causes, metric.ByAction: acts, metric.ByReason: reasons, metric.ByService: services}
	all, cluster, over := 0, 0, 0
	for _, s := range metric.Catalogue() {
		for _, set := range s.Sets {
			n := 1
			for _, d := range set {
				if d != metric.ByCluster {
					n *= worth[d]
				}
			}
			switch {
			case len(set) == 0:
				all++
			case slices.Contains(set, metric.ByCluster):
				cluster += n
			default:
				over += n
			}
		}
	}
	for _, want := range []string{
		fmt.Sprintf("Without dimensions there are %d", all),
		fmt.Sprintf("at most %d and %d more", kinds, reasons),
		fmt.Sprintf("%d causes and `none`", causes-1),
		fmt.Sprintf("%d services", services),
		fmt.Sprintf("%d in all, and %d for each cluster", all+over, cluster),
	} {
		if !strings.Contains(strings.Join(strings.Fields(page(t, "infra/MONITORING.md")), " "), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
