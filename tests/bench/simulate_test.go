package bench

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"rollcall/shared/sim"
)

// simulations are what BenchmarkNodeHours runs, each with the same seeds every time.
var simulations = []struct {
	name  string
	seeds uint64
	of    sim.Options
}{
	// A usual day: one or two faults a cluster, of which some last until somebody mends
	// them, in an account that is large enough to be watched by a machine.
	{"day of 10 clusters of 400", 4, sim.Options{Hours: 24, Clusters: 10, Nodes: 400, Faults: 15}},
	// A soak: a fault an hour and cluster, in an account that is small, so that most of
	// what happens is trouble.
	{"storm on 2 clusters of 30", 8, sim.Options{Hours: 24, Clusters: 2, Nodes: 30}},
	{"storm on 2 clusters of 200", 4, sim.Options{Hours: 24, Clusters: 2, Nodes: 200}},
}

// BenchmarkNodeHours measures how many hours of nodes' lives a second simulates. In a
// simulated account every function runs as it is deployed, and every rule is checked: each
// cluster is read as a whole about every five minutes, and what is wrong with it is
// diagnosed and acted on. What it takes is the number of checks, the nodes that each of
// them reads, and above all how much is wrong.
//
// Seeds run beside each other, one for each processor: a run uses one, but for collecting
// garbage, which is done a quarter as often as usual: it all takes some 900 MB. The
// node-hours of a second of a processor tell about the same where other programs are at
// work.
func BenchmarkNodeHours(b *testing.B) {
	for _, s := range simulations {
		b.Run(s.name, func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(400))
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

// simulate runs seeds from 1, and tells how many node-hours they had together.
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
