package cost

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// The page has what the functions use today, within a tenth: a call more in a check changes cents.
func TestThePageHasTheTable(t *testing.T) {
	page := must.Read(t, "../../infra/README.md")
	table, err := Table()
	must.Succeed(t, err)
	_, rest, found := strings.Cut(string(page), Header+"\n")
	want, got := numbers(table), numbers(rest[:min(len(rest), len(table))])
	must.That(t, found && len(want) == 10*len(Fleets()) && len(got) >= len(want), "infra/README.md has no such table:\n%s", table)
	for i, n := range want {
		if math.Abs(got[i]-n) > max(0.05, n/10) {
			t.Errorf("infra/README.md has %v, measured are %v (go run ./tests/cost/cmd/cost):\n%s", got[i], n, table)
		}
	}
}

// numbers returns the numbers of a table.
func numbers(table string) (all []float64) {
	for _, m := range regexp.MustCompile(`[0-9]+(\.[0-9]+)?`).FindAllString(table, -1) {
		n, _ := strconv.ParseFloat(m, 64) // the pattern has only numbers
		all = append(all, n)
	}
	return all
}

func TestTwentyClustersOfTwoHundredNodesCostLessThanTwentyDollars(t *testing.T) {
	f := Fleet{Clusters: 20, Nodes: 200}
	u, err := Measure(f)
	must.Succeed(t, err)
	if m := Of(f, u); m.Total() >= 20 {
		t.Errorf("%.2f a month: %+v", m.Total(), m)
	}
	// A sweep every five minutes checks each cluster once.
	if want := 12.0 * 20; u.Checks < want || u.Checks > 1.2*want || u.LogBytes < 500*u.Checks || u.PerCluster != 20 || u.Metrics == 0 || u.Seconds < u.Checks/3 || u.Reads == 0 {
		t.Errorf("measured %+v", u)
	}
}

// Where a price or a count is lost, a fleet would cost nothing.
func TestEverythingThatIsUsedIsPaidFor(t *testing.T) {
	f := Fleet{Clusters: 1, Nodes: 10}
	none := Of(f, Use{})
	for name, u := range map[string]Use{
		"log": {LogBytes: gb}, "run time": {Seconds: 1e6}, "invocations": {Invocations: 1e6}, "requests": {Requests: 1e6}, "writes": {Writes: 1e6},
		"reads": {Reads: 1e6}, "schedules": {Schedules: 1e6}, "events": {Events: 1e6}, "metrics": {Metrics: 1}, "metrics of a cluster": {PerCluster: 1},
	} {
		expect.That(t, Of(f, u).Total() > none.Total(), "%s cost nothing", name)
	}
	if m := Of(f, Use{Checks: 1e6}); m.Endpoints <= none.Endpoints || m.NAT <= none.NAT || m.NAT-none.NAT <= m.Endpoints-none.Endpoints {
		t.Errorf("what is read through the network: %+v, and without: %+v", m, none)
	}
}
