package handle

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"rollcall/shared/config"
	"rollcall/shared/emit"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/shared/run"
	"rollcall/shared/trigger"
)

const (
	// staleAfter is how late a message may come. The cluster has been, or will be,
	// checked by a later one; checking it for an old one would only take its turn.
	staleAfter = 15 * time.Minute
	// retryAfter is when a check that could not read everything is repeated.
	retryAfter = 2 * time.Minute
	// sweepGone is how often the sweep comes by clusters that only tags know.
	sweepGone = time.Hour
)

// ReadTime bounds the reading of a cluster: of the five minutes that the function has it
// leaves what a diagnosis takes at most, and almost one for what follows from both.
const ReadTime = 195 * time.Second

type orderQueue interface {
	Send(context.Context, plan.Order) error
}

type fleet interface {
	sizes
	PutSize(ctx context.Context, region, cluster string, nodes int) error
}

// Inspect checks the clusters that messages name. It destroys nothing: its orders are
// sent on. It is for one batch at a time.
type Inspect struct {
	Ambient
	// Runner is what checks, but for what hangs on the policy and the mode: each check
	// has a copy of it, with these filled in.
	Runner   run.Runner
	Policies *config.PolicyParameterStore
	// Permitted is the mode that the function was deployed with; the policy can lower it.
	Permitted policy.Mode
	// SweepInterval is the time from one sweep to the next: what is due later than that
	// needs no schedule.
	SweepInterval time.Duration
	Orders        orderQueue
	Schedules     schedules
	Events        eventBus
	// Fleet is told how large the clusters are.
	Fleet fleet

	known map[string]int // sizes as the fleet knows them, by cluster; nil before they are read
}

// Handle always succeeds: what a retry could help is asked for anew by a schedule or
// by the next sweep, so that one sick cluster does not block its own queue.
func (h *Inspect) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	for _, m := range batch.Records {
		c, err := trigger.ParseCheck([]byte(m.Body))
		if err != nil {
			h.Log.Error("dropped a message that is no check", "message", m.MessageId, "error", err.Error())
			h.count("", report.Metric{Name: "MessagesDropped", Unit: "Count", Value: 1})
			continue
		}
		h.check(ctx, c)
	}
	return events.SQSEventResponse{}, nil
}

func (h *Inspect) check(ctx context.Context, c trigger.Check) {
	started := h.Clock()
	log := h.Log.With("cluster", c.Cluster, "due", c.Due)
	if c.Stale(started, staleAfter) {
		log.Warn("skipped a check that came too late")
		h.count(c.Cluster, report.Metric{Name: "ChecksSkipped", Unit: "Count", Value: 1})
		return
	}
	at := started
	if at.Before(c.Due) {
		at = c.Due // the clock of the scheduler runs ahead of this one
	}
	doc, permitted, err := h.Policies.Usable(ctx, h.Permitted, started, config.PolicyAge)
	if err != nil {
		log.Error("the policy cannot be used; nothing is destroyed until it can", "error", err.Error())
		h.count("", report.Metric{Name: "PolicyInvalid", Unit: "Count", Value: 1})
	}
	runner := h.Runner
	runner.Policy, runner.Permitted, runner.Lowered = doc, permitted, permitted != h.Permitted
	before := &remembered{Ledger: runner.Ledger}
	runner.Ledger = before
	if permitted.Allows(policy.Remediate) {
		runner.Orders = sender{h.Orders}
	}
	if !permitted.Allows(policy.Notify) {
		runner.Notices = nil
	}
	result := runner.Check(ctx, c.Cluster, at)
	if err := h.Events.Put(ctx, emit.FromCheck(before.state, result)); err != nil {
		result.Faults = append(result.Faults, err.Error())
	}
	h.size(ctx, result)
	h.again(ctx, c, result, started)
	h.say(log, result, started)
}

// again schedules the next check, if a verdict can change before the next sweep comes
// by, or if this check could not read everything.
func (h *Inspect) again(ctx context.Context, c trigger.Check, result report.Check, now time.Time) {
	next := result.Plan.Next
	if !result.Snapshot.Whole() && !missing(result) && (next.IsZero() || now.Add(retryAfter).Before(next)) {
		next = now.Add(retryAfter)
	}
	sweep := h.SweepInterval * time.Duration(ledger.SweepFactor(len(result.Snapshot.Nodes)))
	if missing(result) {
		sweep = max(sweep, sweepGone)
	}
	if next.IsZero() || !next.Before(now.Add(sweep)) {
		return
	}
	at := trigger.DueAt(next)
	if soonest := trigger.Soonest(h.Clock()); at.Before(soonest) {
		at = soonest // a schedule for a moment that has passed may never run
	}
	due := trigger.Check{Cluster: c.Cluster, Due: at}
	if _, err := h.Schedules.At(ctx, due); err != nil {
		h.Log.Error("the next check could not be scheduled; the sweep will come by", "cluster", c.Cluster, "due", due.Due, "error", err.Error())
	}
}

// size lets the sweep know how large the cluster is, when that changes how often it
// need come by.
func (h *Inspect) size(ctx context.Context, result report.Check) {
	if !result.Snapshot.Whole() {
		return
	}
	id, nodes := result.Snapshot.Cluster.ID, len(result.Snapshot.Nodes)
	if h.known == nil {
		sizes, err := h.Fleet.Sizes(ctx, id.Region)
		if err != nil {
			h.Log.Error("the sizes of clusters could not be read", "error", err.Error())
			return
		}
		h.known = sizes
	}
	if ledger.SweepFactor(h.known[id.Name]) == ledger.SweepFactor(nodes) {
		return
	}
	if err := h.Fleet.PutSize(ctx, id.Region, id.Name, nodes); err != nil {
		h.Log.Error("the size of the cluster could not be recorded", "cluster", id.Name, "error", err.Error())
		return
	}
	h.known[id.Name] = nodes
}

// missing reports that there is no such EKS cluster: only tags know it, also where
// instances of it are left over, and looking again soon would not help.
func missing(result report.Check) bool {
	return slices.ContainsFunc(result.Snapshot.Gaps, func(g roll.Gap) bool { return g.Kind == roll.GapClusterGone })
}

func (h *Inspect) say(log *slog.Logger, result report.Check, started time.Time) {
	for _, note := range result.Notes() {
		log.Warn("note", "note", note)
	}
	if a := result.Plan.Alarm; a != nil {
		log.Warn("alarm", "reason", a.Reason, "since", a.Since, "over", a.Over, "detail", a.Detail)
	}
	for _, held := range result.Plan.Held {
		log.Info("held", "instance", held.Instance, "action", held.Action, "reason", held.Reason, "detail", held.Detail)
	}
	for _, o := range result.Outcomes {
		log.Info("order", "order", o.Order.ID, "instance", o.Order.Instance, "action", o.Order.Action, "result", o.Result, "detail", o.Detail)
	}
	log.Info("checked", "complete", result.Complete(), "nodes", result.Assessment.Nodes, "ready", result.Assessment.Ready,
		"findings", len(result.Findings()), "orders", len(result.Plan.Orders), "held", len(result.Plan.Held), "next", result.Plan.Next)
	values := []report.Metric{
		{Name: "CheckDuration", Unit: "Milliseconds", Value: float64(h.Clock().Sub(started).Milliseconds())},
		{Name: "Findings", Unit: "Count", Value: float64(len(result.Findings()))},
		{Name: "Orders", Unit: "Count", Value: float64(len(result.Plan.Orders))},
		{Name: "Held", Unit: "Count", Value: float64(len(result.Plan.Held))},
	}
	if result.Snapshot.Whole() {
		values = append(values, report.Metric{Name: "ChecksCompleted", Unit: "Count", Value: 1})
	} else {
		values = append(values, report.Metric{Name: "ChecksIncomplete", Unit: "Count", Value: 1})
	}
	if took := result.Assessment.NewRegistrations; len(took) > 0 {
		values = append(values, report.Metric{Name: "RegistrationSeconds", Unit: "Seconds", Values: inSeconds(took)})
	}
	h.count(result.Snapshot.Cluster.ID.Name, values...)
}

func inSeconds(times []time.Duration) []float64 {
	out := make([]float64, len(times))
	for i, d := range times {
		out[i] = d.Seconds()
	}
	return out
}

// sender passes orders on to the function that may carry them out.
type sender struct{ queue orderQueue }

// Act hands the order over.
func (s sender) Act(ctx context.Context, o plan.Order, _ time.Time) remediate.Outcome {
	if err := s.queue.Send(ctx, o); err != nil {
		// It is ordered anew by the next check: nothing was recorded as begun.
		return remediate.Outcome{Order: o, Result: remediate.Refused, Reason: plan.NotRecorded, Detail: err.Error()}
	}
	return remediate.Outcome{Order: o, Result: remediate.Sent, Detail: "handed over to be looked at again and carried out"}
}

// remembered keeps what the ledger held before the check, from which its events are
// told.
type remembered struct {
	ledger.Ledger
	state ledger.State
}

// Read reads the ledger, and keeps what it holds.
func (r *remembered) Read(ctx context.Context, id roll.ClusterID) (ledger.State, error) {
	state, err := r.Ledger.Read(ctx, id)
	r.state = state.Clone()
	return state, err
}
