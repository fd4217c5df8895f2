package lambdas

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"rollcall/shared/lambdas/ambient"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/report/metric"
)

type actor interface {
	Act(context.Context, plan.Order, time.Time) remediate.Outcome
	// Told records that an outcome was reported.
	Told(context.Context, remediate.Outcome, time.Time) error
}

// Remediate carries out the orders in messages.
type Remediate struct {
	ambient.Ambient
	// Remediator verifies each order before it acts.
	Remediator actor
	Notices    publisher
	Events     eventBus
	Stack      string // CloudFormation stack of the deployment, for notices
}

// Handle always succeeds. The next check repeats an order that was not carried out and
// still applies. An order that was carried out must not be redelivered.
func (h *Remediate) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	defer h.Spent()
	for _, m := range batch.Records {
		o, err := trigger.ParseOrder([]byte(m.Body))
		if err != nil {
			h.Dropped(m.MessageId, err)
			continue
		}
		h.act(ctx, o)
	}
	return events.SQSEventResponse{}, nil
}

func (h *Remediate) act(ctx context.Context, o plan.Order) {
	at := h.Clock()
	out := h.Remediator.Act(ctx, o, at)
	log := h.Log.With("cluster", o.Name, "order", o.ID, "instance", o.Instance, "node", o.Node, "group", o.Group, "kind", o.Kind, "action", o.Action)
	log.Info("act tried", "result", out.Result, "reason", out.Reason, "detail", out.Detail, "cause", cmp.Or(out.Cause, metric.NoCause), "evidence", out.Evidence)
	h.Count(tried(o, out))
	if err := h.Events.Put(ctx, emit.FromOutcome(o.ClusterID, out, at)); err != nil {
		log.Error("events not sent", "error", err.Error())
	}
	if !report.Told(out) {
		return
	}
	notices := &notified{publisher: h.Notices}
	m, err := report.From{Stack: h.Stack}.Outcome(o.ClusterID, out, at)
	if err == nil {
		err = notices.Publish(ctx, m)
	}
	h.Count(notices.samples(o.Name)...)
	if err != nil {
		log.Error("notice not sent", "error", err.Error())
	}
	if !report.Sent(err) {
		return
	}
	if err := h.Remediator.Told(ctx, out, at); err != nil {
		log.Error("notice not recorded", "error", err.Error())
	}
}
