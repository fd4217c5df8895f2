package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// emf is a line in embedded metric format.
type emf struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`
	Cluster string
	Checks  float64
	Took    any
}

func lines(t *testing.T, cluster string, metrics ...Metric) (out []emf) {
	t.Helper()
	var b bytes.Buffer
	if err := Metrics(&b, now, cluster, metrics...); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		var e emf
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if len(e.AWS.CloudWatchMetrics) != 1 || e.AWS.CloudWatchMetrics[0].Namespace != Namespace || e.AWS.Timestamp != now.UnixMilli() {
			t.Errorf("%+v", e.AWS)
		}
		out = append(out, e)
	}
	return out
}

func TestALineOfMetricsHasAHundredValuesOfOneAtMost(t *testing.T) {
	checks := Metric{Name: "Checks", Unit: "Count", Value: 1}
	for n, want := range map[int][]int{1: {1}, 99: {99}, 100: {100}, 101: {100, 1}, 250: {100, 100, 50}} {
		took := Metric{Name: "Took", Unit: "Seconds"}
		for i := range n {
			took.Values = append(took.Values, float64(i))
		}
		var sizes []int
		next := 0.0
		for i, e := range lines(t, "demo", checks, took) {
			values, ok := e.Took.([]any)
			if !ok || values[0] != next {
				t.Errorf("%d values, line %d: %v, want them from %v on", n, i, e.Took, next)
			}
			next += float64(len(values))
			sizes = append(sizes, len(values))
			// What is counted once must not be in a second line.
			names := e.AWS.CloudWatchMetrics[0].Metrics
			if counted := len(names) == 2 && e.Checks == 1; counted != (i == 0) || names[len(names)-1].Name != "Took" || names[len(names)-1].Unit != "Seconds" {
				t.Errorf("%d values, line %d: %+v, checks %v", n, i, names, e.Checks)
			}
		}
		if !slices.Equal(sizes, want) {
			t.Errorf("%d values: lines of %v, want %v", n, sizes, want)
		}
		if len(took.Values) != n {
			t.Error("the caller's values were cut")
		}
	}
}

func TestMetricsAreByClusterAndOverAll(t *testing.T) {
	e := lines(t, "demo", Metric{Name: "Checks", Unit: "Count", Value: 3})
	if len(e) != 1 || e[0].Checks != 3 || e[0].Cluster != "demo" || len(e[0].AWS.CloudWatchMetrics[0].Dimensions) != 2 {
		t.Errorf("%+v", e)
	}
	if e = lines(t, "", Metric{Name: "Checks", Unit: "Count", Value: 3}); len(e) != 1 || e[0].Cluster != "" || len(e[0].AWS.CloudWatchMetrics[0].Dimensions) != 1 {
		t.Errorf("%+v", e)
	}
	if e = lines(t, "demo"); len(e) != 0 {
		t.Errorf("nothing to count makes %+v", e)
	}
	if err := Metrics(&full{0}, now, "", Metric{Name: "Checks"}); err == nil {
		t.Error("a failed write is not told")
	}
}
