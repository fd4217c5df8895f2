package handle

import (
	"context"
	"io"
	"log/slog"
	"time"

	"rollcall/shared/emit"
	"rollcall/shared/report"
	"rollcall/shared/trigger"
)

// Ambient is what is around every function.
type Ambient struct {
	Clock func() time.Time
	Log   *slog.Logger
	// Metrics are written here, a line each; see report.Metrics.
	Metrics io.Writer
}

// count writes metrics of a cluster, or with "" of none. That they could not be written
// changes nothing for the work that they count, and is only logged.
func (a Ambient) count(cluster string, values ...report.Metric) {
	if err := report.Metrics(a.Metrics, a.Clock(), cluster, values...); err != nil {
		a.Log.Error("metrics could not be written", "error", err.Error())
	}
}

type schedules interface {
	At(context.Context, trigger.Check) (made bool, err error)
}

type eventBus interface {
	Put(context.Context, []emit.Event) error
}

type sizes interface {
	Sizes(ctx context.Context, region string) (map[string]int, error)
}
