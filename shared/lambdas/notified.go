package lambdas

import (
	"context"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/report/metric"
)

type schedules interface {
	At(context.Context, trigger.Check) (made bool, err error)
}

type eventBus interface {
	Put(context.Context, []emit.Event) error
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
func (n *notified) samples(cluster string) (out []metric.Sample) {
	by := metric.By{metric.ByCluster: cluster}
	if n.sent > 0 {
		out = append(out, metric.Sample{Of: metric.NoticesSent, By: by, Value: float64(n.sent)})
	}
	if n.failed > 0 {
		out = append(out, metric.Sample{Of: metric.NoticesFailed, By: by, Value: float64(n.failed)})
	}
	return out
}
