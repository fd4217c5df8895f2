package lambdas

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/roll"
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
	held  heldBook
}

// Handle always succeeds: what a retry could help is asked for anew by a schedule or
// by the next sweep, so that one sick cluster does not block its own queue.
func (h *Inspect) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	defer h.spent()
	for _, m := range batch.Records {
		c, err := trigger.ParseCheck([]byte(m.Body))
		if err != nil {
			h.dropped(m.MessageId, err)
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
		log.Warn("check skipped", "detail", "the message came too late; a later one checks, or checked, the cluster")
		h.count(report.Sample{Of: report.ChecksSkipped, By: report.By{report.ByCluster: c.Cluster}, Value: 1})
		return
	}
	at := started
	if at.Before(c.Due) {
		at = c.Due // the clock of the scheduler runs ahead of this one
	}
	doc, permitted, err := h.Policies.Usable(ctx, h.Permitted, started, config.PolicyAge)
	if err != nil {
		// Nothing is destroyed until it can be.
		log.Error("policy unusable", "error", err.Error())
		h.count(report.Sample{Of: report.PolicyInvalid, Value: 1})
	}
	runner := h.Runner
	runner.Policy, runner.Permitted, runner.Lowered = doc, permitted, permitted != h.Permitted
	before := &remembered{Ledger: runner.Ledger}
	runner.Ledger = before
	if permitted.Allows(policy.Remediate) {
		runner.Orders = sender{h.Orders}
	}
	notices := &notified{publisher: runner.Notices}
	if runner.Notices = notices; !permitted.Allows(policy.Notify) {
		runner.Notices = nil
	}
	result := runner.Check(ctx, c.Cluster, at)
	if result.Overtaken {
		log.Info("check overtaken", "detail", "another check of the cluster has its notices, as when a message comes twice; what it leaves undone the next one does")
		h.again(ctx, c, result, started)
		return
	}
	told := emit.FromCheck(before.state, result)
	if err := h.Events.Put(ctx, told); err != nil {
		result.Faults = append(result.Faults, err.Error())
	}
	h.size(ctx, result)
	h.again(ctx, c, result, started)
	took := h.Clock().Sub(started)
	h.say(log, told, result, took)
	h.count(append(measure(told, result, took), notices.samples(c.Cluster)...)...)
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
		h.Log.Error("check not scheduled", "cluster", c.Cluster, "due", due.Due, "error", err.Error())
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
			h.Log.Error("sizes not read", "error", err.Error())
			return
		}
		h.known = sizes
	}
	if ledger.SweepFactor(h.known[id.Name]) == ledger.SweepFactor(nodes) {
		return
	}
	if err := h.Fleet.PutSize(ctx, id.Region, id.Name, nodes); err != nil {
		h.Log.Error("size not recorded", "cluster", id.Name, "error", err.Error())
		return
	}
	h.known[id.Name] = nodes
}

// missing reports that there is no such EKS cluster: only tags know it, also where
// instances of it are left over, and looking again soon would not help.
func missing(result report.Check) bool {
	return slices.ContainsFunc(result.Snapshot.Gaps, func(g roll.Gap) bool { return g.Kind == roll.GapClusterGone })
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
