package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/roll"
)

// RegistrationDocument has percentiles of the registration times of a group's latest nodes,
// in JSON: from the launch of the instance to the registration of the node, in seconds.
type RegistrationDocument struct {
	Group string `json:"group"`
	Count int    `json:"count"` // nodes measured
	P50   int    `json:"p50"`
	P95   int    `json:"p95"`
	P99   int    `json:"p99"`
}

// Registration returns the registration times of groups, the slowest first. They are ordered
// by the highest percentile, where problems show first.
func Registration(a assess.Assessment) []RegistrationDocument {
	out := []RegistrationDocument{}
	for g, t := range a.Registration {
		out = append(out, RegistrationDocument{Group: string(g), Count: t.Count, P50: seconds(t.P50), P95: seconds(t.P95), P99: seconds(t.P99)})
	}
	slices.SortFunc(out, func(a, b RegistrationDocument) int {
		return cmp.Or(cmp.Compare(b.P99, a.P99), cmp.Compare(b.P95, a.P95), cmp.Compare(b.P50, a.P50), cmp.Compare(a.Group, b.Group))
	})
	return out
}

func seconds(d time.Duration) int { return int(math.Round(d.Seconds())) }

// tableGroups is the most groups whose registration times a table shows.
const tableGroups = 10

// registration writes the registration times as a section of the table.
func (c Check) registration(t *text) {
	all := Registration(c.Assessment)
	if len(all) == 0 {
		return
	}
	t.section("registration times, from launch to node")
	t.line("    %s %6s %9s %9s %9s", pad("GROUP", 36), "NODES", "P50", "P95", "P99")
	for _, r := range all[:min(len(all), tableGroups)] {
		t.line("    %s %6d %9s %9s %9s", pad(short(r.Group, 36), 36), r.Count, took(r.P50), took(r.P95), took(r.P99))
	}
	if more := len(all) - tableGroups; more > 0 {
		t.line("    and %d more %s", more, roll.Plural(more, "group", "groups"))
	}
}

// took formats seconds: 48s, 1m12s, 1h5m0s.
func took(s int) string { return (time.Duration(s) * time.Second).String() }
