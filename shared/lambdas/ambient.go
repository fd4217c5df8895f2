package lambdas

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
)

// Ambient holds what every handler shares: clock, log, metrics, call counts.
type Ambient struct {
	Clock func() time.Time
	Log   *slog.Logger
	// Metrics are written here, a line each; see report.Metrics.
	Metrics io.Writer
	// Calls counts API calls; nil counts nothing.
	Calls *apistats.Counter
}

// count writes metrics. A failure is only logged, since it does not affect the work.
func (a Ambient) count(samples ...report.Sample) {
	if err := report.Metrics(a.Metrics, a.Clock(), samples...); err != nil {
		a.Log.Error("metrics not written", "error", err.Error())
	}
}

// spent counts the API calls of an invocation. An environment serves one invocation at a
// time, so everything counted since the last one belongs to this one.
func (a Ambient) spent() {
	var samples []report.Sample
	sent := a.Calls.Take()
	for _, service := range slices.Sorted(maps.Keys(sent)) {
		n, by := sent[service], report.By{report.ByService: service}
		samples = append(samples, report.Sample{Of: report.APICalls, By: by, Value: float64(n.Sent)})
		if n.Throttled > 0 {
			samples = append(samples, report.Sample{Of: report.APICallsThrottled, By: by, Value: float64(n.Throttled)})
		}
		if n.Denied > 0 {
			samples = append(samples, report.Sample{Of: report.APICallsDenied, By: by, Value: float64(n.Denied)})
		}
	}
	a.count(samples...)
}

// dropped logs and counts a malformed message: a retry would not help.
func (a Ambient) dropped(message string, err error) {
	a.Log.Error("message dropped", "message", message, "error", err.Error())
	a.count(report.Sample{Of: report.MessagesDropped, Value: 1})
}

// Odd logs a remark of the AWS SDK.
func (a Ambient) Odd(remark string) { a.Log.Warn("remark of the SDK", "detail", remark) }

// Failed logs the message of Lambda's runtime about an invocation that failed or crashed.
func (a Ambient) Failed(said string) { a.Log.Error("invocation failed", "error", said) }

// CannotStart logs why a function ends before it takes any work.
func (a Ambient) CannotStart(err error) { a.Log.Error("cannot start", "error", err.Error()) }

type schedules interface {
	At(context.Context, trigger.Check) (made bool, err error)
}

type eventBus interface {
	Put(context.Context, []emit.Event) error
}

type sizes interface {
	Sizes(ctx context.Context, region string) (map[string]int, error)
}

type publisher interface {
	Publish(context.Context, report.Message) error
}

// notified publishes notices and counts them.
type notified struct {
	publisher
	sent, failed int
}

// Publish publishes a notice. One that reached only some recipients counts as both.
func (n *notified) Publish(ctx context.Context, m report.Message) error {
	err := n.publisher.Publish(ctx, m)
	if report.Sent(err) {
		n.sent++
	}
	if err != nil {
		n.failed++
	}
	return err
}

// samples returns the counts for a cluster.
func (n *notified) samples(cluster string) (out []report.Sample) {
	by := report.By{report.ByCluster: cluster}
	if n.sent > 0 {
		out = append(out, report.Sample{Of: report.NoticesSent, By: by, Value: float64(n.sent)})
	}
	if n.failed > 0 {
		out = append(out, report.Sample{Of: report.NoticesFailed, By: by, Value: float64(n.failed)})
	}
	return out
}
