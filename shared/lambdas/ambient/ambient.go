// Package ambient holds what all handlers share: clock, log, metrics, call counts.
package ambient

import (
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"rollcall/shared/observe/apistats"
	"rollcall/shared/report/metric"
)

// Ambient holds what every handler shares: clock, log, metrics, call counts.
type Ambient struct {
	Clock func() time.Time
	Log   *slog.Logger
	// Metrics are written here, a line each; see metric.Write.
	Metrics io.Writer
	// Detailed writes each metric by all its dimensions.
	Detailed bool
	// Calls counts API calls; nil counts nothing.
	Calls *apistats.Counter
}

// Count writes metrics. A failure is only logged, since it does not affect the work.
func (a Ambient) Count(samples ...metric.Sample) {
	if err := metric.Write(a.Metrics, a.Clock(), a.Detailed, samples...); err != nil {
		a.Log.Error("metrics not written", "error", err.Error())
	}
}

// Spent counts the API calls of an invocation. An environment serves one invocation at a
// time, so everything counted since the last one belongs to this one.
func (a Ambient) Spent() {
	var samples []metric.Sample
	sent := a.Calls.Take()
	for _, service := range slices.Sorted(maps.Keys(sent)) {
		n, by := sent[service], metric.By{metric.ByService: service}
		samples = append(samples, metric.Sample{Of: metric.APICalls, By: by, Value: float64(n.Sent)})
		if n.Throttled > 0 {
			samples = append(samples, metric.Sample{Of: metric.APICallsThrottled, By: by, Value: float64(n.Throttled)})
		}
		if n.Denied > 0 {
			samples = append(samples, metric.Sample{Of: metric.APICallsDenied, By: by, Value: float64(n.Denied)})
		}
	}
	a.Count(samples...)
}

// Dropped logs and counts a malformed message: a retry would not help.
func (a Ambient) Dropped(message string, err error) {
	a.Log.Error("message dropped", "message", message, "error", err.Error())
	a.Count(metric.Sample{Of: metric.MessagesDropped, Value: 1})
}

// Odd logs a remark of the AWS SDK.
func (a Ambient) Odd(remark string) { a.Log.Warn("remark of the SDK", "detail", remark) }

// Failed logs the message of Lambda's runtime about an invocation that failed or crashed.
func (a Ambient) Failed(said string) { a.Log.Error("invocation failed", "error", said) }

// Started logs the version of the release that runs, once for each execution environment.
func (a Ambient) Started(version string) { a.Log.Info("started", "version", version) }

// CannotStart logs why a function ends before it takes any work.
func (a Ambient) CannotStart(err error) { a.Log.Error("cannot start", "error", err.Error()) }
