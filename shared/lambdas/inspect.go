package lambdas

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"rollcall/shared/lambdas/ambient"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/lambdas/scope"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/report/metric"
	"rollcall/shared/roll"
)

const (
	// staleAfter is the maximum delay of a message. A later check has covered the cluster,
	// or will.
	staleAfter = 15 * time.Minute
	// retryAfter is the delay before a check that could not read everything is repeated. Such a check may
	// wait long for an answer, and many would keep those of other clusters waiting: in an outage that has
	// lasted for outageLasts, one each retryLater is enough, beside those of the sweep.
	retryAfter  = 2 * time.Minute
	outageLasts = 20 * time.Minute
	retryLater  = 15 * time.Minute
	// sizesAge is the maximum age of the sizes that an execution remembers. Others write them too.
	sizesAge = 15 * time.Minute
	// sweepGone is the interval at which the sweep visits clusters that appear only in
	// tags.
	sweepGone = time.Hour
)

// ReadTime limits the reading of a cluster. Of the function's five minutes it leaves enough
// for the longest diagnosis, and almost one minute for the rest.
const ReadTime = 195 * time.Second

type orderQueue interface {
	Send(context.Context, plan.Order) error
}

type fleet interface {
	Sizes(ctx context.Context, region string) (map[string]int, error)
	PutSize(ctx context.Context, region, cluster string, nodes int) error
}

// Inspect checks the clusters named in messages. It destroys nothing: it sends its orders
// to another function. It handles one batch at a time.
type Inspect struct {
	ambient.Ambient
	// Runner checks. Each check uses a copy, with the policy and the mode filled in.
	Runner   run.Runner
	Policies *config.PolicyParameterStore
	// Permitted is the mode of the deployment; the policy can lower it.
	Permitted policy.Mode
	// SweepInterval is the time between sweeps: a check that is due later needs no schedule.
	SweepInterval time.Duration
	Orders        orderQueue
	Schedules     schedules
	Events        eventBus
	// Fleet stores the sizes of clusters.
	Fleet fleet
	// VPCs are those whose clusters are checked; empty checks all. EKS knows the VPC of a cluster.
	VPCs []string
	EKS  scope.Clusters

	known   map[string]int // sizes in Fleet by cluster; nil before they are read
	knownAt time.Time      // when they were read
	held    heldBook
}

// Handle always succeeds, so that one unhealthy cluster does not block its queue. Where a
// retry could help, a schedule or the next sweep repeats the check.
func (h *Inspect) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	defer h.Spent()
	for _, m := range batch.Records {
		c, err := trigger.ParseCheck([]byte(m.Body))
		if err != nil {
			h.Dropped(m.MessageId, err)
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
		h.Count(metric.Sample{Of: metric.ChecksSkipped, By: metric.By{metric.ByCluster: c.Cluster}, Value: 1})
		return
	}
	most := h.Permitted
	switch ours, err := h.ours(ctx, c.Cluster); {
	case err != nil:
		log.Warn("VPC unknown", "error", err.Error())
		most = policy.Lower(most, policy.Notify) // the check reports what it cannot read, and nothing is destroyed
	case !ours:
		log.Info("cluster ignored")
		return
	}
	at := roll.Later(started, c.Due) // the scheduler's clock may be ahead
	doc, permitted, err := h.Policies.Usable(ctx, most, started, config.PolicyAge)
	if err != nil {
		// The mode is lowered: nothing is destroyed.
		log.Error("policy unusable", "error", err.Error())
		h.Count(metric.Sample{Of: metric.PolicyInvalid, Value: 1})
	}
	if doc.Ignores(c.Cluster) {
		// Like a sweep that finds no cluster: an account whose clusters are all ignored must not raise an alarm.
		log.Info("cluster ignored")
		h.Count(metric.Sample{Of: metric.ChecksCompleted, Value: 1})
		return
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
	h.Count(append(measure(before.state, told, result, took), notices.samples(c.Cluster)...)...)
}

// ours reports whether the cluster is one that the sweep asks for. A message may name another one: an
// instance may carry its tag in one of the VPCs, or VPCs were others when its check was scheduled. Another
// deployment checks it, with its own ledger and limits. A cluster that is gone has no VPC any more.
func (h *Inspect) ours(ctx context.Context, cluster string) (bool, error) {
	if len(h.VPCs) == 0 {
		return true, nil
	}
	vpc, known, err := scope.VPC(ctx, h.EKS, cluster)
	return !known || slices.Contains(h.VPCs, vpc), err
}

// again schedules the next check if a verdict can change before the next sweep, or if this
// check could not read everything.
func (h *Inspect) again(ctx context.Context, c trigger.Check, result report.Check, now time.Time) {
	next := result.Plan.Next
	read := result.Snapshot.Whole() || result.Snapshot.ClusterGone()
	if !read {
		retry := now.Add(retryAfter)
		if since := result.Plan.OutageSince; !since.IsZero() && now.Sub(since) >= outageLasts {
			retry = now.Truncate(retryLater).Add(retryLater) // the same for all checks until then
		}
		if next.IsZero() || retry.Before(next) {
			next = retry
		}
	}
	sweep := h.SweepInterval * time.Duration(ledger.SweepFactor(len(result.Snapshot.Nodes)))
	if result.Snapshot.ClusterGone() {
		sweep = max(sweep, sweepGone)
	}
	// The number of nodes in an incomplete snapshot does not tell how often the sweep comes by.
	if next.IsZero() || read && !next.Before(now.Add(sweep)) {
		return
	}
	// A schedule in the past may never run.
	due := trigger.Check{Cluster: c.Cluster, Due: roll.Later(trigger.DueAt(next), trigger.Soonest(h.Clock()))}
	if _, err := h.Schedules.At(ctx, due); err != nil {
		h.Log.Error("check not scheduled", "cluster", c.Cluster, "due", due.Due, "error", err.Error())
	}
}

// size stores the size of a cluster if it is new, so that commands find it, or if the size changes
// how often the sweep checks it.
func (h *Inspect) size(ctx context.Context, result report.Check) {
	if !result.Snapshot.Whole() {
		return
	}
	id, nodes := result.Snapshot.Cluster.ID, len(result.Snapshot.Nodes)
	if now := h.Clock(); h.known == nil || now.Sub(h.knownAt) >= sizesAge {
		sizes, err := h.Fleet.Sizes(ctx, id.Region)
		if err != nil {
			h.Log.Error("sizes not read", "error", err.Error())
			return
		}
		h.known, h.knownAt = sizes, now
	}
	if before, known := h.known[id.Name]; known && ledger.SweepFactor(before) == ledger.SweepFactor(nodes) {
		return
	}
	if err := h.Fleet.PutSize(ctx, id.Region, id.Name, nodes); err != nil {
		h.Log.Error("size not recorded", "cluster", id.Name, "error", err.Error())
		return
	}
	h.known[id.Name] = nodes
}

// sender sends orders to the function that carries them out.
type sender struct{ queue orderQueue }

// Act sends the order.
func (s sender) Act(ctx context.Context, o plan.Order, _ time.Time) remediate.Outcome {
	if err := s.queue.Send(ctx, o); err != nil {
		// The next check gives the order again: no intent was recorded.
		return remediate.Outcome{Order: o, Result: remediate.Refused, Reason: plan.NotRecorded, Detail: err.Error()}
	}
	return remediate.Outcome{Order: o, Result: remediate.Sent, Detail: "handed over to be looked at again and carried out"}
}

// remembered keeps the state of the ledger before the check, for its events.
type remembered struct {
	ledger.Ledger
	state ledger.State
}

// Read reads the ledger and keeps the state.
func (r *remembered) Read(ctx context.Context, id roll.ClusterID) (ledger.State, error) {
	state, err := r.Ledger.Read(ctx, id)
	r.state = state.Clone()
	return state, err
}
