package sim

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"rollcall/shared/report/metric"
	"rollcall/tests/harness/emftest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// counting counts lines of a log, by message.
type counting map[string]int

func (c counting) Enabled(context.Context, slog.Level) bool { return true }

func (c counting) Handle(_ context.Context, r slog.Record) error {
	c[r.Message]++
	return nil
}

func (c counting) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c counting) WithGroup(string) slog.Handler      { return c }

// CloudWatch silently drops what it cannot read. The test therefore reads every line of some stormy
// hours as CloudWatch does. Each metric must match the catalogue.
func TestEveryLineOfMetricsOfAStormCanBeRead(t *testing.T) {
	catalogue := map[string]metric.Series{}
	for _, s := range metric.Catalogue() {
		catalogue[s.Name] = s
	}
	names := map[string]bool{}
	acted := Options{Seed: 3, Hours: CertainHours, Clusters: 1, Nodes: 12, Certain: []FaultKind{FaultHangingPods}}
	refused := Options{Seed: 4, Hours: CertainHours, Clusters: 1, Nodes: 12, Certain: []FaultKind{FaultOutageBetween}}
	for _, o := range []Options{{Seed: 1, Hours: 6, Clusters: 2, Nodes: 15, Faults: 25}, {Seed: 2, Hours: 6, Clusters: 2, Nodes: 15, Faults: 25}, acted, refused} {
		sc, seed := Random(o), o.Seed
		at, lines := sc.Start, counting{}
		w := &emftest.Writer{Now: func() time.Time { return at }}
		_, err := Run(sc, Watch{Metrics: w, Detailed: true, Log: lines, GoOn: true, Step: func(now time.Time, _ []Standing) { at = now }})
		must.That(t, err == nil, "seed %d: %v", seed, err)
		expect.That(t, lines["metrics not written"] <= 0 && lines["checked"] != 0, "seed %d: %v", seed, lines)
		for _, d := range w.Data {
			names[d.Name] = true
			s, ok := catalogue[d.Name]
			by := func(set []metric.Dimension) bool {
				return len(set) == len(d.Dimensions) && !slices.ContainsFunc(set, func(k metric.Dimension) bool { return d.Dimensions[string(k)] == "" })
			}
			expect.That(t, ok && d.Namespace == metric.Namespace && d.Unit == s.Unit && slices.ContainsFunc(slices.Concat(s.Sets, s.Detailed), by), "seed %d: %+v is not in the catalogue", seed, d)
			for k, v := range d.Dimensions {
				expect.That(t, v != metric.OtherValue, "seed %d: %s is worth something that is not listed for %s", seed, d.Name, k)
			}
		}
	}
	for _, name := range []string{"ChecksCompleted", "ChecksIncomplete", "FindingsOpened", "FindingsEscalated", "FindingsResolved", "Held", "ActionsTaken", "ActionsRefused", "RegistrationSeconds", "NoticesSent"} {
		expect.That(t, names[name], "nothing is written of %s", name)
	}
}
