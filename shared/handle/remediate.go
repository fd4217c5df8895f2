package handle

import (
	"context"
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
	// Told remembers that an outcome was told.
	Told(context.Context, remediate.Outcome, time.Time) error
}

type publisher interface {
	Publish(context.Context, report.Message) error
}

// Remediate carries out the orders that messages hold.
type Remediate struct {
	Ambient
	// Remediator looks again before it acts: an order alone destroys nothing.
	Remediator actor
	Notices    publisher
	Events     eventBus
}

// Handle always succeeds: an order that was not carried out is given anew by the next
// check if it is still right, and one that was must not come again.
func (h *Remediate) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	for _, m := range batch.Records {
		o, err := trigger.ParseOrder([]byte(m.Body))
		if err != nil {
			h.Log.Error("dropped a message that is no order", "message", m.MessageId, "error", err.Error())
			h.count("", report.Metric{Name: "MessagesDropped", Unit: "Count", Value: 1})
			continue
		}
		h.act(ctx, o)
	}
	return events.SQSEventResponse{}, nil
}

func (h *Remediate) act(ctx context.Context, o plan.Order) {
	at := h.Clock()
	out := h.Remediator.Act(ctx, o, at)
	log := h.Log.With("cluster", o.Cluster.Name, "order", o.ID, "instance", o.Instance, "action", o.Action)
	log.Info("order", "result", out.Result, "reason", out.Reason, "detail", out.Detail)
	h.count(o.Cluster.Name, report.Metric{Name: "Actions" + metricName(out.Result), Unit: "Count", Value: 1})
	if err := h.Events.Put(ctx, emit.FromOutcome(o.Cluster, out, at)); err != nil {
		log.Error("events could not be sent", "error", err.Error())
	}
	if !report.Told(out) {
		return
	}
	m, err := report.Outcome(o.Cluster, out, at)
	if err == nil {
		err = h.Notices.Publish(ctx, m)
	}
	if err != nil {
		log.Error("the notice could not be sent", "error", err.Error())
		return
	}
	if err := h.Remediator.Told(ctx, out, at); err != nil {
		log.Error("that the notice was sent could not be recorded", "error", err.Error())
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
