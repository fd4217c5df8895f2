package metric

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
	"rollcall/tests/harness/emftest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// write writes samples and checks each line against the specification. It returns what
// CloudWatch reads from them, and the number of lines.
func write(t *testing.T, samples ...Sample) (*emftest.Writer, int) {
	t.Helper()
	w, b := written(t, true, samples...)
	return w, strings.Count(b, "\n")
}

// written writes samples, detailed or not, and returns the lines too.
func written(t *testing.T, detailed bool, samples ...Sample) (*emftest.Writer, string) {
	t.Helper()
	var b bytes.Buffer
	w := &emftest.Writer{Next: &b, Now: func() time.Time { return now }}
	must.Succeed(t, Write(w, now, detailed, samples...))
	return w, b.String()
}

// What a deployment did not ask for is no metric, which would be charged for, but a field of the
// line that a query of the log can use.
func TestDetailsAreFieldsUntilADeploymentAsksForMetrics(t *testing.T) {
	w, lines := written(t, false,
		Sample{Of: ChecksCompleted, By: By{ByCluster: "demo"}, Value: 1},
		Sample{Of: APICalls, By: By{ByService: "ec2"}, Value: 7},
		Sample{Of: Nodes, By: By{ByCluster: "demo"}, Value: 200},
		Sample{Of: Findings, By: By{ByCluster: "demo"}, Value: 0},
		Sample{Of: Findings, By: By{ByCluster: "demo", ByKind: "Unknown"}, Value: 3},
	)
	var got []string
	for _, d := range w.Data {
		got = append(got, d.Name+" "+strings.Join(slices.Sorted(maps.Values(d.Dimensions)), " "))
	}
	slices.Sort(got)
	expect.List(t, got, []string{"APICalls ", "ChecksCompleted ", "Findings demo"}, "metrics")
	for _, field := range []string{`"Service":"ec2"`, `"Cluster":"demo"`} {
		expect.That(t, strings.Contains(lines, field), "no line has %s:\n%s", field, lines)
	}
}

// Each cluster is charged for by the number of its metrics.
func TestAClusterHasTwoMetricsByDefault(t *testing.T) {
	n := 0
	for _, s := range Catalogue() {
		for _, set := range s.Sets {
			if slices.Contains(set, ByCluster) {
				n++
			}
		}
	}
	expect.That(t, n <= 2, "%d metrics for each cluster", n)
}

func TestALineOfMetricsHasAHundredValuesOfOneAtMost(t *testing.T) {
	of := By{ByCluster: "demo"}
	for n, lines := range map[int]int{1: 1, 99: 1, 100: 1, 101: 2, 250: 3} {
		took := Sample{Of: RegistrationSeconds, By: of}
		sum := 0.0
		for i := range n {
			took.Values = append(took.Values, float64(i))
			sum += float64(i)
		}
		w, got := write(t, Sample{Of: ChecksCompleted, By: of, Value: 1}, took)
		// A single count must not be repeated in a second line.
		good := got == lines && w.Sum("RegistrationSeconds", "Cluster", "demo") == sum && w.Sum("RegistrationSeconds") == sum && w.Sum("ChecksCompleted") == 1
		expect.That(t, good, "%d values: %d lines, want %d: %+v", n, got, lines, w.Data)
		expect.That(t, len(took.Values) == n, "the caller's values were cut")
	}
}

func TestWhatIsCountedIsWrittenForEverySetThatHasItsDimensions(t *testing.T) {
	w, lines := write(t,
		Sample{Of: FindingsOpened, By: By{ByCluster: "demo", ByKind: "Unregistered", ByCause: "NodeRoleNotMapped"}, Value: 2},
		Sample{Of: FindingsOpened, By: By{ByCluster: "demo", ByKind: "Unregistered", ByCause: NoCause}, Value: 1},
		Sample{Of: ChecksCompleted, Value: 1},
	)
	expect.That(t, lines == 3 && w.Sum("FindingsOpened", "Cluster", "demo") == 3 && w.Sum("FindingsOpened", "Kind", "Unregistered") == 3 &&
		w.Sum("FindingsOpened", "Kind", "Unregistered", "Cause", "none") == 1 && w.Sum("FindingsOpened") == 0 && w.Sum("ChecksCompleted") == 1, "%d lines: %+v", lines, w.Data)
}

// The value of a part must not be written as that of the whole.
func TestHowItStandsIsWrittenForTheSetThatItIsAbout(t *testing.T) {
	w, _ := write(t,
		Sample{Of: Findings, By: By{ByCluster: "demo"}, Value: 5},
		Sample{Of: Findings, By: By{ByCluster: "demo", ByKind: "Unknown"}, Value: 3},
		Sample{Of: OldestFinding, By: By{ByCluster: "demo"}, Value: 60},
	)
	expect.That(t, w.Sum("Findings", "Cluster", "demo") == 5 && w.Sum("Findings", "Cluster", "demo", "Kind", "Unknown") == 3 && w.Sum("OldestFindingSeconds") == 0, "%+v", w.Data)
}

// full is a writer that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestSamplesThatDoNotFitTheirMetricAreRefused(t *testing.T) {
	for name, s := range map[string]Sample{
		"no dimension of any set": {Of: Findings, Value: 1},
		"one that no set has":     {Of: ChecksCompleted, By: By{ByKind: "Unknown"}, Value: 1},
		"a gauge with too many":   {Of: OldestFinding, By: By{ByCluster: "demo", ByKind: "Unknown"}},
	} {
		expect.That(t, Write(&bytes.Buffer{}, now, false, s) != nil, "%s is written", name)
	}
	expect.That(t, Write(full{}, now, false, Sample{Of: Sweeps, Value: 1}) != nil, "a failed write is not told")
	_, lines := write(t)
	expect.That(t, lines == 0, "nothing to count makes %d lines", lines)
}

func TestEveryMetricOfTheCatalogueCanBeWritten(t *testing.T) {
	worth := By{ByCluster: "demo", ByKind: "Unknown", ByCause: "KernelPanic", ByAction: "reboot", ByReason: "SharedCause", ByService: "ec2"}
	seen := map[string]bool{}
	for _, s := range Catalogue() {
		expect.That(t, !seen[s.Name] && len(s.Sets)+len(s.Detailed) > 0, "%s is there twice, or by nothing", s.Name)
		seen[s.Name] = true
		for _, set := range slices.Concat(s.Sets, s.Detailed) {
			by, pairs := By{}, []string{}
			for _, d := range set {
				by[d] = worth[d]
				pairs = append(pairs, string(d), worth[d])
			}
			// A sample with more dimensions is written for the smaller sets too.
			w, _ := write(t, Sample{Of: s, By: by, Value: 2})
			expect.That(t, w.Sum(s.Name, pairs...) == 2, "%s by %v: %+v", s.Name, set, w.Data)
		}
	}
}

// Each value of a dimension is a metric that costs money.
func TestTheValuesOfADimensionAreListed(t *testing.T) {
	var fine = map[Dimension][]string{ByCause: {NoCause}, ByService: apistats.Services(), ByReason: {string(plan.SharedCause), string(plan.EvidenceNotStored), string(plan.ModeObserve)}, ByAction: {"cordon", "terminate"}}
	for _, k := range roll.Kinds() {
		fine[ByKind] = append(fine[ByKind], string(k))
	}
	fine[ByCause] = append(fine[ByCause], cause.Codes()...)
	expect.That(t, len(fine) == len(dimensionValues), "lists of %v", slices.Collect(maps.Keys(dimensionValues)))
	for d, values := range fine {
		for _, v := range values {
			expect.Equal(t, Sample{By: By{d: v}}.value(d), v, "%s is written as", d)
		}
		expect.Equal(t, Sample{By: By{d: "i-0123456789abcdef0"}}.value(d), OtherValue, "%s can be", d)
	}
}
