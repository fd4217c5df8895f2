package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/tests/harness/expect"
)

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct{ at, want []float64 }{
		"none":                 {nil, []float64{}},
		"one":                  {[]float64{50}, []float64{50}},
		"one at the edge":      {[]float64{100}, []float64{90}},
		"one at the start":     {[]float64{-5}, []float64{0}},
		"apart":                {[]float64{0, 10, 30}, []float64{0, 10, 30}},
		"together":             {[]float64{20, 20, 20}, []float64{20, 30, 40}},
		"pushed on":            {[]float64{20, 21, 35}, []float64{20, 30, 40}},
		"back from the edge":   {[]float64{70, 85, 95}, []float64{70, 80, 90}},
		"more than fit evenly": {[]float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 90}, []float64{0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, spread(c.at, 10, 0, 90), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		from        time.Time
		length      time.Duration
		first, last string
		n           int
	}{
		{midnight, 24 * hour, "00:00", "00:00", 13},
		{midnight.Add(7 * minute), 24 * hour, "02:00", "00:00", 12},
		{midnight, hour, "00:00", "01:00", 13},
		{midnight, 10 * time.Second, "00:00:00", "00:00:10", 11},
		{midnight, 48 * hour, "2 Mar", "4 Mar", 9},
		{midnight, 30 * 24 * hour, "2 Mar", "30 Mar", 5},
	} {
		got := axis{c.from, c.from.Add(c.length)}.ticks()
		expect.That(t, len(got) == c.n && got[0].Label == c.first && got[len(got)-1].Label == c.last, "%v from %v: %v", c.length, c.from, got)
		expect.That(t, len(got) <= mostTicks, "%v has %d ticks", c.length, len(got))
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 48 * time.Second: "48s", 72 * time.Second: "1m12s", 2 * minute: "2m", hour: "1h", hour + 5*minute: "1h5m", hour + time.Second: "1h0m1s", 24 * hour: "24h", 10*minute + 400*time.Millisecond: "10m"} {
		expect.Equal(t, took(d), want, "%v", d)
	}
}

func TestTheCurveHasAGapWhereNobodyCouldTell(t *testing.T) {
	a := axis{midnight, after(10 * hour)}
	got, most := trace(a, []Sample{
		{At: midnight, Ready: 4, Total: 4},
		{At: after(1 * hour), Ready: 4, Total: 4}, // unchanged
		{At: after(2 * hour), Ready: 2, Total: 4},
		{At: after(4 * hour), Unknown: true},
		{At: after(5 * hour), Ready: 3, Total: 3},
	}, 100, 40)
	want := curve{
		Ready: "M0 40V0H20V40ZM20 40V20H40V40ZM50 40V10H100V40Z",
		Lack:  "M20 20V0H40V20Z",
		Line:  "M0 0H20V20H40M50 10H100",
		All:   "M0 0H20V0H40M50 10H100",
	}
	diff := cmp.Diff(want, got)
	expect.That(t, diff == "" && most == 4, "at the top %d\n%s", most, diff)
}

func TestMarksOfOneKindInShortSuccessionAreDrawnAsOne(t *testing.T) {
	a := axis{midnight, after(100 * hour)} // one hour is one percent
	mark := func(k MarkKind, at ...time.Duration) (out []Mark) {
		for _, d := range at {
			out = append(out, Mark{At: after(d), Kind: k})
		}
		return out
	}
	for name, c := range map[string]struct {
		marks []Mark
		want  []int
	}{
		"one":                  {mark(MarkHeld, hour), []int{1}},
		"close":                {mark(MarkHeld, hour, 2*hour), []int{2}},
		"just close":           {mark(MarkHeld, hour, hour+74*minute), []int{2}},
		"just apart":           {mark(MarkHeld, hour, hour+75*minute), []int{1, 1}},
		"another kind between": {append(mark(MarkHeld, hour), append(mark(MarkOrder, hour), mark(MarkHeld, hour)...)...), []int{1, 1, 1}},
		"a long run":           {mark(MarkHeld, 0, hour, 2*hour, 3*hour, 4*hour, 5*hour, 6*hour), []int{5, 2}},
	} {
		var got []int
		for _, run := range succession(a, c.marks) {
			got = append(got, len(run))
		}
		expect.Same(t, got, c.want, "%s", name)
	}
}

func TestBandsThatWouldCoverEachOthersNamesStandInRows(t *testing.T) {
	c := lay("c1-t", "shop", Timeline{From: midnight, To: after(24 * hour), Bands: []Band{
		{after(1 * hour), after(2 * hour), "a zone is down"},
		{after(2 * hour), after(3 * hour), "the API server is down"},
		{after(12 * hour), after(13 * hour), "a deployment"},
		{From: after(23 * hour), Label: "a zonal shift"},
	}}, nil)
	var got []string
	for _, b := range c.Bands {
		got = append(got, fmt.Sprintf("%s %d %s", b.Label, (b.LabelY-c.Top)/heightBand, b.Anchor))
	}
	want := []string{"a zone is down 0 start", "the API server is down 1 start", "a deployment 0 start", "a zonal shift 0 end"}
	expect.Same(t, got, want, "bands")
}

func TestTheDeadlineStandsAmongTheBuckets(t *testing.T) {
	buckets := []Bucket{{minute, 1}, {2 * minute, 3}, {4 * minute, 0}, {0, 1}}
	for deadline, want := range map[time.Duration]string{0: "", minute: "75", 90 * time.Second: "112.5", 4 * minute: "225", 5 * minute: ""} {
		d := distribute("g", Group{Registration: &Registration{Deadline: deadline, Buckets: buckets}})
		expect.Equal(t, d.Deadline, want, "a deadline of %v stands at", deadline)
	}
}

func TestLanesOfOneGroupShareAHeading(t *testing.T) {
	c := lay("c1-t", "shop", Timeline{From: midnight, To: after(hour), Lanes: []Lane{{Label: "i-1", Sub: "a"}, {Label: "i-2", Sub: "a"}, {Label: "i-3"}, {Label: "i-4", Sub: "a"}}}, map[string]string{"i-2": "c1-f1"})
	var got []string
	for _, r := range c.Rows {
		got = append(got, r.Class+" "+r.Label+r.Link)
	}
	expect.Same(t, got, []string{"axis UTC", "head a", "lane i-1", "lane i-2c1-f1", "lane i-3", "head a", "lane i-4"}, "lines")
}
