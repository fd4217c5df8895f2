package bench

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// cost is the resource usage of this process during a measurement.
type cost struct {
	cpu       time.Duration // user and system, garbage collection included
	allocated uint64        // bytes, freed ones included
	peak      uint64        // bytes: the largest live heap after a collection, minus the live heap before
}

func (c *cost) add(o cost) {
	c.cpu += o.cpu
	c.allocated += o.allocated
	c.peak = max(c.peak, o.peak)
}

// sampleEvery is far less than the time between two garbage collections. The runtime
// reports a new live heap after each collection.
const sampleEvery = 2 * time.Millisecond

const liveHeap = "/gc/heap/live:bytes"

// measure runs f alone and returns its cost.
func measure(tb testing.TB, f func()) cost {
	tb.Helper()
	collect()
	before := live()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	allocated := m.TotalAlloc

	end, peak := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		most := before
		for {
			select {
			case <-tick.C:
				most = max(most, live())
			case <-end:
				peak <- max(most, live())
				return
			}
		}
	}()
	began := processorTime(tb)
	f()
	cpu := processorTime(tb) - began
	close(end)
	most := <-peak
	runtime.ReadMemStats(&m)
	return cost{cpu: cpu, allocated: m.TotalAlloc - allocated, peak: most - before}
}

// collect frees all unreferenced memory. The pools of the standard library release their
// contents only at the second collection.
func collect() {
	runtime.GC()
	runtime.GC()
}

// live returns the heap that the last garbage collection found alive, in bytes.
func live() uint64 {
	sample := []metrics.Sample{{Name: liveHeap}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
