package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// The aims of a check of a large cluster, as parts of what its full listing costs: fetching and
// decoding DescribeInstances and the nodes. Machines differ, so a run fails only a fifth above.
var aims = []struct {
	nodes      int
	trouble    trouble
	cpu, bytes float64
	memory     int64 // MB, of the whole process; 0 for none
}{
	{5_000, noTrouble, 0.35, 0.1, 0},
	{5_000, someTrouble, 0.4, 0.15, 0},
	{100_000, noTrouble, 0.35, 0.1, 400},
	{5_000, zoneTrouble, 0.8, 0.5, 0},
}

const margin = 1.2

// BenchmarkCheck observes large clusters as a function does that has checked them five minutes
// before. cpu-x-full and bytes-x-full compare it with the full listing, in the same run.
func BenchmarkCheck(b *testing.B) {
	for _, aim := range aims {
		b.Run(fmt.Sprintf("nodes=%d/trouble=%s", aim.nodes, aim.trouble), func(b *testing.B) {
			warm(b)
			s := prepare(b, aim.nodes, aim.trouble)
			o := s.observer()
			must.Succeed(b, s.complaint(o.Snapshot(b.Context(), clusterName, at.Add(-5*time.Minute), roll.Watch{})))
			var full, look cost
			var fullBytes, lookBytes int64
			var requests map[string]int
			rounds := 0
			for b.Loop() {
				for range max(1, looks/aim.nodes) {
					now := at.Add(time.Duration(rounds) * 5 * time.Minute)
					rounds++
					for first := range 2 {
						*s.wire = wire{sent: map[string]int{}}
						if floorFirst == (first == 0) {
							full.add(s.measureFloor(b))
							fullBytes += s.wire.bytes
							continue
						}
						var snapshot *roll.Snapshot
						look.add(measure(b, func() { snapshot = o.Snapshot(b.Context(), clusterName, now, roll.Watch{}) }))
						must.Succeed(b, s.complaint(snapshot))
						lookBytes += s.wire.bytes
						requests = s.wire.sent
					}
					floorFirst = !floorFirst
				}
			}
			cpu, bytes := float64(look.cpu)/float64(full.cpu), float64(lookBytes)/float64(fullBytes)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(cpu, "cpu-x-full")
			b.ReportMetric(bytes, "bytes-x-full")
			b.ReportMetric(float64(look.cpu.Microseconds())/float64(rounds)/float64(aim.nodes), "cpu-µs/node")
			b.ReportMetric(float64(full.cpu.Microseconds())/float64(rounds)/float64(aim.nodes), "full-cpu-µs/node")
			for _, action := range []string{"DescribeTags", "DescribeInstances", "DescribeInstanceStatus"} {
				b.ReportMetric(float64(requests[action]), action)
			}
			if cpu > aim.cpu*margin || bytes > aim.bytes*margin {
				b.Errorf("%.2f times the processor time and %.3f times the bytes of the full listing; the aim is %.2f and %.2f", cpu, bytes, aim.cpu, aim.bytes)
			}
			if aim.memory > 0 {
				peak := s.peak(b, aim.trouble)
				b.ReportMetric(float64(peak)/1e6, "peak-RSS-MB")
				if float64(peak) > float64(aim.memory)*1e6*margin {
					b.Errorf("a process that checks once takes %d MB; the aim is %d", peak/1e6, aim.memory)
				}
			}
		})
	}
}

// checkVariable names the cluster that the test binary checks once, as a process of its own.
const checkVariable = "ROLLCALL_BENCH_CHECK"

type checked struct {
	addresses
	Nodes   int
	Trouble trouble
}

// checkOnce observes a cluster once.
func checkOnce(where string) error {
	var c checked
	if err := json.Unmarshal([]byte(where), &c); err != nil {
		return err
	}
	s := newSite(c.addresses, c.Nodes, c.Trouble)
	return s.complaint(s.observe(context.Background()))
}

// peak returns the largest resident memory of a process that checks the cluster once, in bytes.
func (s site) peak(b *testing.B, t trouble) int64 {
	b.Helper()
	a, err := start()
	must.Succeed(b, err)
	where, err := json.Marshal(checked{a, s.nodes, t})
	must.Succeed(b, err)
	self, err := os.Executable()
	must.Succeed(b, err)
	var said bytes.Buffer
	cmd := exec.CommandContext(b.Context(), self)
	cmd.Env, cmd.Stderr = append(os.Environ(), checkVariable+"="+string(where)), &said
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %s", err, &said)
	}
	return residentMemory(b, cmd.ProcessState)
}
