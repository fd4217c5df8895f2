package bench

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"rollcall/shared/sim"
)

// simulations are the runs of BenchmarkNodeHours, with fixed seeds.
var simulations = []struct {
	name  string
	seeds uint64
	of    sim.Options
}{
	// A usual day: one or two faults per cluster, of which some last until somebody fixes
	// them, in an account that is large enough to need automatic checks.
	{"day of 10 clusters of 400", 4, sim.Options{Hours: 24, Clusters: 10, Nodes: 400, Faults: 15}},
	// A soak: one fault per hour in each cluster, in a small account, so that most activity
	// comes from faults.
	{"storm on 2 clusters of 30", 8, sim.Options{Hours: 24, Clusters: 2, Nodes: 30}},
	{"storm on 2 clusters of 200", 4, sim.Options{Hours: 24, Clusters: 2, Nodes: 200}},
}

// BenchmarkNodeHours measures how many node-hours the simulator simulates per second. In a
// simulated account every function runs as deployed, and every rule is checked: each
// cluster is read as a whole about every five minutes, and its faults are diagnosed and
// acted on. The cost depends on the number of checks, the nodes that each of them reads,
// and above all the number of faults.
//
// Seeds run in parallel, one per processor: a run uses one processor, except for garbage
// collection, which runs a quarter as often as usual. All runs together take some 900 MB.
// Node-hours per processor second are about the same on a machine with other load.
func BenchmarkNodeHours(b *testing.B) {
	for _, s := range simulations {
		b.Run(s.name, func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(sim.GCPercent))
			hours := 0.0
			cpu, began := processorTime(b), time.Now()
			for b.Loop() {
				hours += simulate(b, s.of, s.seeds)
			}
			took, used := time.Since(began), processorTime(b)-cpu
			b.ReportMetric(hours/took.Seconds(), "node-hours/s")
			b.ReportMetric(hours/took.Minutes(), "node-hours/min")
			b.ReportMetric(hours/used.Seconds(), "node-hours/cpu-s")
		})
	}
}

// simulate runs seeds from 1, and returns the sum of their node-hours.
func simulate(b *testing.B, o sim.Options, seeds uint64) (hours float64) {
	b.Helper()
	next := make(chan uint64, seeds)
	for seed := range seeds {
		next <- seed + 1
	}
	close(next)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := range next {
				one := o
				one.Seed = seed
				r, err := sim.Run(sim.Random(one), sim.Watch{GoOn: true})
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				hours += r.NodeHours
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return hours
}
