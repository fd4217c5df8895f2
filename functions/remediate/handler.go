package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"rollcall/shared/emit"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/trigger"
)

type actor interface {
	Act(context.Context, plan.Order, time.Time) remediate.Outcome
}

type publisher interface {
	Publish(context.Context, report.Message) error
}

type eventBus interface {
	Put(context.Context, []emit.Event) error
}

// handler carries out the orders that messages hold.
type handler struct {
	remediator actor
	notices    publisher
	events     eventBus
	now        func() time.Time
	log        *slog.Logger
	metrics    io.Writer
}

// handle always succeeds: an order that was not carried out is given anew by the next
// check if it is still right, and one that was must not come again.
func (h *handler) handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	for _, m := range batch.Records {
		o, err := trigger.ParseOrder([]byte(m.Body))
		if err != nil {
			h.log.Error("dropped a message that is no order", "message", m.MessageId, "error", err.Error())
			h.count("", report.Metric{Name: "MessagesDropped", Unit: "Count", Value: 1})
			continue
		}
		h.act(ctx, o)
	}
	return events.SQSEventResponse{}, nil
}

func (h *handler) act(ctx context.Context, o plan.Order) {
	at := h.now()
	out := h.remediator.Act(ctx, o, at)
	log := h.log.With("cluster", o.Cluster.Name, "order", o.ID, "instance", o.Instance, "action", o.Action)
	log.Info("order", "result", out.Result, "reason", out.Reason, "detail", out.Detail)
	h.count(o.Cluster.Name, report.Metric{Name: "Actions" + metricName(out.Result), Unit: "Count", Value: 1})
	if err := h.events.Put(ctx, emit.FromOutcome(o.Cluster, out, at)); err != nil {
		log.Error("events could not be sent", "error", err.Error())
	}
	if !report.Told(out) {
		return
	}
	m, err := report.Outcome(o.Cluster, out, at)
	if err == nil {
		err = h.notices.Publish(ctx, m)
	}
	if err != nil {
		log.Error("the notice could not be sent", "error", err.Error())
	}
}

// metricName is the end of the metric that counts a result.
func metricName(r remediate.Result) string {
	switch r {
	case remediate.Acted:
		return "Taken"
	case remediate.Refused:
		return "Refused"
	case remediate.Failed:
		return "Failed"
	case remediate.Ongoing:
		return "Ongoing"
	}
	return "Unclear"
}

func (h *handler) count(cluster string, values ...report.Metric) {
	if err := report.Metrics(h.metrics, h.now(), cluster, values...); err != nil {
		h.log.Error("metrics could not be written", "error", err.Error())
	}
}
