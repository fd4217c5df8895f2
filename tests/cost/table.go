package cost

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// checks counts the checks that a log tells of.
type checks struct {
	slog.Handler
	n int
}

// Handle implements slog.Handler.
func (c *checks) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "checked" {
		c.n++
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (c *checks) WithAttrs(a []slog.Attr) slog.Handler {
	return &derived{Handler: c.Handler.WithAttrs(a), of: c}
}

// derived is a handler with attributes that counts with the one that it comes from.
type derived struct {
	slog.Handler
	of *checks
}

// Handle implements slog.Handler.
func (d *derived) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "checked" {
		d.of.n++
	}
	return d.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (d *derived) WithAttrs(a []slog.Attr) slog.Handler {
	return &derived{Handler: d.Handler.WithAttrs(a), of: d.of}
}

// Month is the cost of a month, in US dollars.
type Month struct {
	Metrics, Alarms, Functions, Logs, Requests float64
	// Endpoints and NAT are the cost of the network where the functions reach private API servers:
	// one of the two.
	Endpoints, NAT float64
}

// Total is the cost without the network.
func (m Month) Total() float64 { return m.Metrics + m.Alarms + m.Functions + m.Logs + m.Requests }

// Of returns the cost of a month of a fleet with that use. Of each node one check more a day is
// counted, for the launch of its replacement.
func Of(f Fleet, u Use) Month {
	launches := min(float64(f.Nodes*f.Clusters)/24, 60*float64(f.Clusters)) // an hour
	more := 1.0
	if u.Checks > 0 {
		more += launches / u.Checks
	}
	month := hours * more
	read := float64(f.Nodes) * instanceBytes * u.Checks * month / gb
	return Month{
		Metrics:   metricMonth * (float64(u.Metrics+unsimulated+u.PerCluster) + sick*float64(f.Clusters)),
		Alarms:    alarmMonth*Alarmed + keyMonth,
		Functions: month * (u.Seconds*memory*lambdaSecond + u.Invocations*lambdaRequest),
		Logs:      month * (u.LogBytes + u.Checks*unsimulatedBytes) / gb * (logGB + logStoredGB),
		Requests: month*(u.Requests*3*sqsRequest+u.Writes*tableWrite+u.Reads*tableRead*4+(u.Schedules+launches)*schedule+u.Events*event) +
			polls*sqsRequest,
		Endpoints: endpoints*zones*endpointHour*hours + read*endpointGB,
		NAT:       natHour*hours + read*natGB,
	}
}

// Header is the header of the table.
const Header = "| clusters | nodes each | metrics | alarms, key | functions | logs | requests | total | with endpoints | with one NAT gateway |"

// Table measures every fleet and returns the table.
func Table() (string, error) {
	var b strings.Builder
	b.WriteString(Header + "\n" + strings.Repeat("| ---: ", strings.Count(Header, "|")-1) + "|\n")
	for _, f := range Fleets() {
		u, err := Measure(f)
		if err != nil {
			return "", fmt.Errorf("%d clusters of %d: %w", f.Clusters, f.Nodes, err)
		}
		m := Of(f, u)
		fmt.Fprintf(&b, "| %d | %d | %.2f | %.2f | %.2f | %.2f | %.2f | **%.2f** | %.0f | %.0f |\n", f.Clusters, f.Nodes, m.Metrics, m.Alarms, m.Functions, m.Logs, m.Requests, m.Total(), m.Total()+m.Endpoints, m.Total()+m.NAT)
	}
	return b.String(), nil
}
