package docs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/plan"
	"rollcall/shared/report/metric"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestTheMonitoringPageHasEveryMetric(t *testing.T) {
	var want, got []string
	for _, s := range metric.Catalogue() {
		want = append(want, strings.Join([]string{"`" + s.Name + "`", string(s.Form), s.Unit, named(s.Sets), named(s.Detailed)}, " | "))
	}
	for _, row := range table(t, "infra/MONITORING.md", "| metric | form | unit | by | detailed | what it is |") {
		if len(row) != 6 || row[5] == "" {
			t.Errorf("a row says nothing: %v", row)
			continue
		}
		got = append(got, strings.Join(row[:5], " | "))
	}
	expect.That(t, slices.Equal(want, got), "the code has\n%s\nthe page has\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// named returns sets of dimensions as the page has them.
func named(sets [][]metric.Dimension) string {
	var all []string
	for _, set := range sets {
		var names []string
		for _, d := range set {
			names = append(names, string(d))
		}
		if len(names) == 0 {
			names = []string{"all"}
		}
		all = append(all, strings.Join(names, ", "))
	}
	return cmp.Or(strings.Join(all, "; "), "-")
}

// The cost of the metrics depends on how many there can be.
func TestTheMonitoringPageSaysHowManyMetricsThereCanBe(t *testing.T) {
	reasons, kinds, acts, causes, services := len(reasons(t)), len(roll.Kinds()), len(plan.Actions), len(cause.Codes())+1, len(apistats.Services())
	worth := map[metric.Dimension]int{metric.ByKind: kinds, metric.ByCause: causes, metric.ByAction: acts, metric.ByReason: reasons, metric.ByService: services}
	var base, more struct{ all, cluster, over int }
	for _, s := range metric.Catalogue() {
		for i, set := range slices.Concat(s.Sets, s.Detailed) {
			n, of := 1, &base
			if i >= len(s.Sets) {
				of = &more
			}
			for _, d := range set {
				if d != metric.ByCluster {
					n *= worth[d]
				}
			}
			switch {
			case len(set) == 0:
				of.all++
			case slices.Contains(set, metric.ByCluster):
				of.cluster += n
			default:
				of.over += n
			}
		}
	}
	for _, want := range []string{
		fmt.Sprintf("Without dimensions there are %d", base.all),
		fmt.Sprintf("at most %d and %d more", kinds, reasons),
		fmt.Sprintf("%d causes and `none`", causes-1),
		fmt.Sprintf("%d services", services),
		fmt.Sprintf("%d in all, and %d for each cluster", base.all+base.over, base.cluster),
		fmt.Sprintf("%d in all, and %d for each cluster", base.all+base.over+more.over, base.cluster+more.cluster),
		fmt.Sprintf("each cluster has %d,", base.cluster+more.cluster-kinds-reasons),
	} {
		expect.That(t, strings.Contains(strings.Join(strings.Fields(page(t, "infra/MONITORING.md")), " "), want), "the page does not say %q", want)
	}
}
