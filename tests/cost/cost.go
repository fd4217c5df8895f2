// Package cost computes what a deployment costs a month. It measures how many requests, metrics and
// bytes of log the functions need, in a simulated account, and multiplies them by list prices.
// infra/README.md has its tables.
package cost

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"rollcall/shared/sim"
	"rollcall/tests/harness/emftest"
)

// Prices in US dollars, on demand, in us-east-1. Free tiers are not deducted.
const (
	metricMonth   = 0.30            // https://aws.amazon.com/cloudwatch/pricing/
	alarmMonth    = 0.10            // each metric of an alarm
	logGB         = 0.50            // ingested; storage is 0.03 more for each month of retention
	logStoredGB   = 0.03            //
	lambdaSecond  = 0.0000133334    // of one GB, arm64, https://aws.amazon.com/lambda/pricing/
	lambdaRequest = 0.20 / million  //
	sqsRequest    = 0.50 / million  // FIFO, https://aws.amazon.com/sqs/pricing/
	tableWrite    = 0.625 / million // https://aws.amazon.com/dynamodb/pricing/on-demand/
	tableRead     = 0.125 / million //
	schedule      = 1.00 / million  // https://aws.amazon.com/eventbridge/pricing/
	event         = 1.00 / million  //
	keyMonth      = 1.00            // https://aws.amazon.com/kms/pricing/
	endpointHour  = 0.01            // in each zone, https://aws.amazon.com/privatelink/pricing/
	endpointGB    = 0.01            //
	natHour       = 0.045           // https://aws.amazon.com/vpc/pricing/
	natGB         = 0.045           //

	million = 1e6
	gb      = 1 << 30
)

const (
	hours = 730 // of a month
	// Alarmed is the number of metrics that the alarms of mode remediate watch. Each is charged for.
	Alarmed = 23
	// unsimulated is the number of metrics of a usual day that the simulation does not have:
	// StateChanges, APICalls, RegistrationSeconds, and two of findings.
	unsimulated = 5
	// unsimulatedBytes is what the log of each check has besides: the numbers of requests by service,
	// and Lambda's own lines.
	unsimulatedBytes = 2500
	// sick is the share of clusters that have findings: those have a metric more.
	sick = 0.2
	// polls is the number of empty receives of a month: Lambda polls each of the three queues with
	// five pollers, which wait 20 seconds each.
	polls = 3 * 5 * 3 * 60 * hours
	// memory of the functions in GB: that of inspect, whose share is by far the largest.
	memory = 1
	// instanceBytes is what EC2 answers for one instance.
	instanceBytes = 7500
	// endpoints is the number of interface endpoints that both functions in a VPC need, and zones
	// in how many zones.
	endpoints, zones = 8, 2
)

// Fleet is the number of clusters in an account, and of nodes in each.
type Fleet struct{ Clusters, Nodes int }

// Fleets are the rows of the tables.
func Fleets() []Fleet { return []Fleet{{1, 20}, {1, 200}, {5, 100}, {20, 200}, {1, 5000}} }

// Use is what a fleet uses in an hour.
type Use struct {
	Checks, LogBytes, Seconds, Requests, Invocations, Writes, Reads, Schedules, Events float64
	Metrics, PerCluster                                                                int
}

// The length of a measurement, and of its beginning, which is left out: the fleet is new in it.
const (
	warming  = 15 * time.Minute
	measured = time.Hour
)

// Measure runs the functions for an hour on a simulated account without faults, whose nodes are
// all healthy.
func Measure(f Fleet) (Use, error) {
	first, err := run(f, warming)
	if err != nil {
		return Use{}, err
	}
	whole, err := run(f, warming+measured)
	if err != nil {
		return Use{}, err
	}
	per := func(of func(Use) float64) float64 { return (of(whole) - of(first)) / measured.Hours() }
	return Use{
		Checks: per(func(u Use) float64 { return u.Checks }), LogBytes: per(func(u Use) float64 { return u.LogBytes }), Seconds: per(func(u Use) float64 { return u.Seconds }),
		Requests: per(func(u Use) float64 { return u.Requests }), Invocations: per(func(u Use) float64 { return u.Invocations }),
		Writes: per(func(u Use) float64 { return u.Writes }), Reads: per(func(u Use) float64 { return u.Reads }),
		Schedules: per(func(u Use) float64 { return u.Schedules }), Events: per(func(u Use) float64 { return u.Events }),
		Metrics: whole.Metrics, PerCluster: whole.PerCluster,
	}, nil
}

// run measures from the beginning.
func run(f Fleet, length time.Duration) (u Use, err error) {
	sc := sim.Scenario{Seed: 1, Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Calm: length, Permitted: "remediate", Policy: "apiVersion: rollcall/v1\nmode: remediate\n", Sweep: 5 * time.Minute, Quiet: true}
	for n := range f.Clusters {
		name := fmt.Sprintf("cluster-%d", n+1)
		sc.Clusters = append(sc.Clusters, sim.ClusterSpec{Name: name, Groups: []sim.GroupSpec{
			{Name: name + "-default", Owner: "karpenter", Type: "m5.xlarge", Desired: f.Nodes * 3 / 5}, {Name: name + "-system", Owner: "managed-nodegroup", Type: "m5.large", Desired: f.Nodes - f.Nodes*3/5},
		}})
	}
	at, bytes := sc.Start, new(counter)
	metrics := &emftest.Writer{Next: bytes, Now: func() time.Time { return at }}
	lines := &checks{Handler: slog.NewJSONHandler(bytes, nil)}
	result, err := sim.Run(sc, sim.Watch{Metrics: metrics, Log: lines, Step: func(now time.Time, _ []sim.Standing) { at = now }})
	if err != nil {
		return u, err
	}
	names := map[string]bool{}
	for _, d := range metrics.Data {
		by, err := json.Marshal(d.Dimensions)
		if err != nil {
			return u, err
		}
		if key := d.Name + string(by); !names[key] {
			names[key] = true
			if d.Dimensions["Cluster"] != "" {
				u.PerCluster++
			} else {
				u.Metrics++
			}
		}
	}
	u.Checks, u.LogBytes, u.Seconds = float64(lines.n), float64(*bytes), result.Usage.Busy.Seconds()
	for _, n := range result.Usage.Invocations {
		u.Invocations += float64(n)
	}
	for name, n := range result.Usage.Calls {
		switch {
		case strings.HasPrefix(name, "sqs:"):
			u.Requests += float64(n)
		case name == "dynamodb:Query":
			u.Reads += float64(n)
		case name == "dynamodb:TransactWriteItems":
			u.Writes += 4 * float64(n) // of two items or so, each written twice
		case strings.HasPrefix(name, "dynamodb:"):
			u.Writes += float64(n)
		case name == "scheduler:CreateSchedule":
			u.Schedules += float64(n)
		case name == "events:PutEvents":
			u.Events += float64(n)
		}
	}
	return u, nil
}

// counter counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

var _ io.Writer = (*counter)(nil)
