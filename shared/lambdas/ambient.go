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

// Ambient is what is around every function.
type Ambient struct {
	Clock func() time.Time
	Log   *slog.Logger
	// Metrics are written here, a line each; see report.Metrics.
	Metrics io.Writer
	// Calls has counted what was sent to APIs; nil counts nothing.
	Calls *apistats.Counter
}

// count writes metrics. That they could not be written changes nothing for the work that
// they count, and is only logged.
func (a Ambient) count(samples ...report.Sample) {
	if err := report.Metrics(a.Metrics, a.Clock(), samples...); err != nil {
		a.Log.Error("metrics not written", "error", err.Error())
	}
}

// spent counts what an invocation has sent to APIs. One environment serves one invocation
// at a time, so what was counted since the last one is this one's.
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

// dropped logs and counts a message that is none of ours: no retry would change that.
func (a Ambient) dropped(message string, err error) {
	a.Log.Error("message dropped", "message", message, "error", err.Error())
	a.count(report.Sample{Of: report.MessagesDropped, Value: 1})
}

// Odd logs what the AWS SDK remarks. A call that fails for it has a line of its own.
func (a Ambient) Odd(remark string) { a.Log.Warn("remark of the SDK", "detail", remark) }

// Failed logs what Lambda's runtime says of an invocation that failed or crashed.
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

// notified sends notices on and counts them.
type notified struct {
	publisher
	sent, failed int
}

// Publish sends a notice. One that some got and others did not is counted as both.
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

// samples are what was counted of a cluster.
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
