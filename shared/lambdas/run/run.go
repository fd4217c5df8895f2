// Package run joins the pipeline: observe, assess, diagnose, plan, then tag, notify and
// order. One call checks one cluster at one time. The command line and the functions differ
// only in the parts that they supply.
//
// The ledger is written before anything is reported or done. In mode observe only the
// ledger is written, since the plan then has no tags, notices or orders.
package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/deadline"
	"rollcall/shared/plan"
	"rollcall/shared/plan/replay"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

type observer interface {
	Snapshot(ctx context.Context, cluster string, at time.Time, watch roll.Watch) *roll.Snapshot
	LookUp(ctx context.Context, s *roll.Snapshot, ids []roll.InstanceID)
	Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question)
	Left(ctx context.Context, s *roll.Snapshot, subjects []roll.InstanceID)
}

type tagger interface {
	Tag(ctx context.Context, instances []roll.InstanceID, set map[string]string) error
	Untag(ctx context.Context, instances []roll.InstanceID, keys []string) error
}

type publisher interface {
	Publish(context.Context, report.Message) error
}

// Why diagnoses findings. It never fails: it reports what it could not read as not checked.
// record means that the evidence may be stored afterwards. Keep is nil without it, and
// where nothing can be stored.
type Why func(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, Keep)

// Keep stores the evidence of a check under one of its findings, first seen at a time, and
// returns where.
type Keep func(ctx context.Context, c report.Check, f roll.Finding, firstSeen time.Time) (where string, err error)

type orders interface {
	// Act carries out an order.
	Act(ctx context.Context, o plan.Order, now time.Time) remediate.Outcome
}

// Runner checks clusters. It is safe for concurrent use on different clusters.
type Runner struct {
	Observer observer
	Ledger   ledger.Ledger
	Policy   *policy.Document
	// Memory replaces the Ledger in a Look; nil uses the Ledger.
	Memory func(*roll.Snapshot) ledger.State
	// Permitted is the mode of the caller; the policy can lower it. See
	// policy.Document.Cluster.
	Permitted policy.Mode
	// Lowered: Permitted is lowered for this check only; see plan.Input.
	Lowered bool
	// Unremembered: the Ledger does not outlive this check; see plan.Input.
	Unremembered bool
	Tags         tagger
	// Stack is the CloudFormation stack of the deployment, for notices; "" without one.
	Stack string
	// Notices may be nil: then notices are only in the result.
	Notices publisher
	// Why may be nil: then nothing is diagnosed.
	Why Why
	// Plan makes the plan; nil is plan.Make. Tests of the guards replace it.
	Plan func(plan.Input) plan.Plan
	// Record, if not nil, is called with the inputs of each check that found something.
	Record func(context.Context, replay.Recorded) error
	// Orders may be nil: then orders are only in the result.
	Orders orders
	// Clock is read again after the cluster was read, and right before each order: a check of
	// a large cluster takes a while.
	Clock func() time.Time
	// ReadTime limits the reading of a cluster, WhyTime its diagnosis; zero is no limit.
	ReadTime, WhyTime time.Duration
	// Progress reports the current step to a person who waits; it may be nil.
	Progress func(cluster, doing string)
}

// tagCalls limits the tag calls of one check; the next check writes the rest.
const tagCalls = 100

// Check checks one cluster at the time now. It always returns its observations; failures
// are part of the result.
func (r *Runner) Check(ctx context.Context, cluster string, now time.Time) report.Check {
	reading, cancel := bounded(ctx, r.ReadTime)
	defer cancel()
	c := r.read(reading, cluster, now)
	c.Unremembered = r.Unremembered
	state, err := r.Ledger.Read(ctx, c.Snapshot.Cluster.ID)
	if err != nil {
		// Without the ledger a check can neither confirm a finding nor count acts.
		c.Snapshot.Gaps = append(c.Snapshot.Gaps, roll.Gap{Scope: roll.ScopeCluster, Kind: roll.GapFailed, Call: roll.CallLedger, Detail: fmt.Sprintf("the ledger could not be read, so nothing is done: %v", err)})
	}
	remind(&c.Snapshot.Cluster, state)
	r.lookUp(reading, c.Snapshot, state)
	in := r.assess(reading, &c, state, now)
	keep := r.diagnose(ctx, &c, state, in.Policy)
	in.Diagnoses, in.Lowered, in.Unremembered = c.Diagnoses, r.Lowered, r.Unremembered
	c.Plan = r.plan(in)
	r.carryOut(ctx, &c, state, in.Policy, keep)
	r.record(ctx, &c, in)
	r.tell(cluster, "done")
	return c
}

// remind fills in the mode tag of a cluster that could not be described, if it forbade notices when it
// was last read: whoever set it wants none of an outage either.
func remind(c *roll.Cluster, state ledger.State) {
	if c.Status == "" && c.ModeTag == roll.ModeTagUnread && !policy.Ceiling(state.ModeTag).Allows(policy.Notify) {
		c.ModeTag = state.ModeTag
	}
}

// recordTime limits the recording: the check still has its events to send and the next one to schedule.
const recordTime = 10 * time.Second

// record records what the check decided from, unless nothing is or was wrong.
func (r *Runner) record(ctx context.Context, c *report.Check, in plan.Input) {
	if r.Record == nil || c.Overtaken || len(in.Assessment.Findings)+len(in.State.Findings)+len(in.State.Notices) == 0 {
		return
	}
	ctx, cancel := deadline.In(ctx, recordTime)
	defer cancel()
	err := r.Record(ctx, replay.Recorded{
		Now: in.Now, SeenAt: in.SeenAt, Policy: r.Policy.Source(), Permitted: r.Permitted, Lowered: in.Lowered, Unremembered: in.Unremembered,
		Snapshot: in.Snapshot, Diagnoses: in.Diagnoses, State: in.State, Orders: c.Plan.Orders,
	})
	if err != nil {
		c.Faults = append(c.Faults, fmt.Sprintf("the check could not be recorded for rollcall replay: %v", err))
	}
}

func (r *Runner) read(ctx context.Context, cluster string, now time.Time) report.Check {
	r.tell(cluster, "reading")
	return report.Check{Snapshot: r.Observer.Snapshot(ctx, cluster, now, r.Policy.Watch()), Mode: r.Permitted}
}

// assess assesses the snapshot, and returns the input of a plan without the diagnoses.
func (r *Runner) assess(ctx context.Context, c *report.Check, state ledger.State, now time.Time) plan.Input {
	cluster := c.Snapshot.Cluster.ID.Name
	// A cluster that is gone has no PersistentVolumes to ask for what its instances left.
	if subjects := assess.AskLeft(state, now); len(subjects) > 0 && c.Snapshot.Whole() {
		r.Observer.Left(ctx, c.Snapshot, subjects)
	}
	pol := r.Policy.Cluster(cluster, c.Snapshot.Cluster.ModeTag, r.Permitted)
	c.Assessment = assess.Thoroughly(assess.Input{Snapshot: c.Snapshot, Policy: pol, State: state, Now: now, Presume: c.WhatIf},
		func(q []roll.Question) {
			r.tell(cluster, fmt.Sprintf("looking closer at %d instances", len(q)))
			r.Observer.Details(ctx, c.Snapshot, q)
		})
	c.Mode = highest(pol, c.Assessment.Findings)
	seenAt := r.Clock() // before the diagnosis, which is not an observation
	return plan.Input{Snapshot: c.Snapshot, Assessment: c.Assessment, State: state, Policy: pol, Now: now, SeenAt: seenAt}
}

func (r *Runner) plan(in plan.Input) plan.Plan {
	if r.Plan == nil {
		return plan.Make(in)
	}
	return r.Plan(in)
}

// bounded limits a context in time, if there is a limit.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return deadline.In(ctx, limit)
}

// lookUp reads the instances that the ledger needs into a whole snapshot: those whose acts have no
// outcome yet, and those with a finding that the snapshot lacks. EC2 may leave an instance out of
// an answer; its finding would end, and begin anew in the next check.
func (r *Runner) lookUp(ctx context.Context, s *roll.Snapshot, state ledger.State) {
	if !s.Whole() {
		return
	}
	omitted := lacking(s, state)
	var open []roll.InstanceID
	for _, a := range state.Actions {
		if a.Outcome == nil {
			open = append(open, a.Instance)
			delete(omitted, a.Instance)
		}
	}
	if len(open)+len(omitted) == 0 {
		return
	}
	r.Observer.LookUp(ctx, s, slices.AppendSeq(open, maps.Keys(omitted)))
	// Somebody removed the cluster's tag.
	s.Instances = slices.DeleteFunc(s.Instances, func(i roll.Instance) bool { return i.Unclaimed && omitted[i.ID] })
}

// lacking returns the instances with a finding that the snapshot lacks.
func lacking(s *roll.Snapshot, state ledger.State) map[roll.InstanceID]bool {
	ids := map[roll.InstanceID]bool{}
	for k := range state.Findings {
		if k.Instance.IsInstance() && !s.NotFound[k.Instance] {
			ids[k.Instance] = true
		}
	}
	for i := range s.Instances {
		delete(ids, s.Instances[i].ID)
	}
	return ids
}

// highest returns the highest mode of the cluster and of groups with findings: a headline
// must not promise less than what may happen.
func highest(pol func(roll.Selector) policy.Policy, findings []roll.Finding) policy.Mode {
	mode := pol(roll.Selector{}).Mode
	for _, f := range findings {
		if m := pol(f.Selector).Mode; m.Allows(mode) {
			mode = m
		}
	}
	return mode
}

// carryOut carries out the plan in an order that loses nothing: first the ledger, then the
// tags (which orders need), then the notices (which explain the orders), then the orders.
func (r *Runner) carryOut(ctx context.Context, c *report.Check, state ledger.State, pol func(roll.Selector) policy.Policy, keep Keep) {
	id := c.Snapshot.Cluster.ID
	fault := func(format string, args ...any) { c.Faults = append(c.Faults, fmt.Sprintf(format, args...)) }
	if err := r.remember(ctx, id, c, state); errors.Is(err, ledger.ErrNoticesMoved) {
		c.Plan = plan.Plan{Next: r.Clock().Add(overtakenFor)}
		c.Overtaken = true
		return
	} else if err != nil {
		fault("the ledger could not be written, so nothing is reported or done: %v", err)
		return
	}
	for _, res := range c.Plan.Resolved {
		if err := r.Ledger.Finish(ctx, id, res.ActionID, res.Outcome); err != nil {
			fault("the outcome of order %s could not be recorded: %v", res.ActionID, err)
		}
	}
	for _, a := range c.Plan.Approved {
		if _, err := r.Ledger.Approve(ctx, id, a.Order, a.Approval); err != nil && !errors.Is(err, ledger.ErrApproved) {
			fault("the approval of order %s by its tag could not be recorded: %v", a.Order, err)
		}
	}
	r.tag(ctx, c, fault)
	r.keepEvidence(ctx, c, state, pol, keep, fault)
	var untold map[string]error
	if r.Notices != nil {
		untold = r.explain(ctx, c, pol, fault)
	} else if r.Orders != nil {
		r.putQuestions(ctx, c, fault)
	}
	if r.Orders != nil {
		r.order(ctx, c, untold, fault)
	}
}

// overtakenFor is the delay before a check that left the notices to another one runs again:
// the other one may have died before it sent them.
const overtakenFor = time.Minute

// remember records the changes of the plan. Before notices are written or sent, it
// increments their version. Of two checks that read the same state, as after a second
// delivery, the second gets ErrNoticesMoved and must not write, notify or order. The
// increment also detects an unwritable ledger before a notice is sent that every check
// would repeat. The trouble of the whole cluster, whose record has what was said of it, is
// written every minute, and only requires the version; the first one increments it.
func (r *Runner) remember(ctx context.Context, id roll.ClusterID, c *report.Check, state ledger.State) error {
	changes := &c.Plan.Changes
	tells := r.Notices != nil && (len(c.Plan.Notices) > 0 || c.Plan.Alarm != nil)
	trouble := changes.Put.Trouble != nil || changes.Drop.Trouble
	switch {
	case tells, len(changes.Put.Notices)+len(changes.Drop.Notices) > 0, trouble && state.NoticesVersion == 0:
		if err := r.Ledger.RaiseNotices(ctx, id, state.NoticesVersion); err != nil {
			return err
		}
		changes.NoticesVersion = state.NoticesVersion + 1
	case trouble:
		changes.NoticesVersion = state.NoticesVersion
	}
	if changes.Empty() {
		return nil
	}
	return r.Ledger.Record(ctx, id, *changes)
}

// explain sends the notices of the check. It returns the orders that it could not report,
// each with the error.
func (r *Runner) explain(ctx context.Context, c *report.Check, pol func(roll.Selector) policy.Policy, fault func(string, ...any)) (untold map[string]error) {
	id, at := c.Snapshot.Cluster.ID, c.Snapshot.At
	version := c.Plan.Changes.NoticesVersion
	if a := c.Plan.Alarm; a != nil {
		m, err := report.From{Stack: r.Stack}.ClusterNotice(id, *a, pol(roll.Selector{}).Mode, at)
		said := a.Sent()
		said.NoticesVersion = version
		if _, err = r.notify(ctx, id, m, err, said); err != nil {
			fault("notice of cluster %s as a whole: %v", id.Name, err)
		}
	}
	untold = map[string]error{}
	for _, n := range c.Plan.Notices {
		m, err := report.From{Stack: r.Stack}.Notice(id, n, pol(roll.GroupSelector(n.Key.Group)).Mode, at)
		said := n.Sent()
		said.NoticesVersion = version
		told, err := r.notify(ctx, id, m, err, said)
		if err != nil {
			fault("notice of %s in %s: %v", n.Key.Kind, n.Key.Group, err)
		}
		for _, e := range n.Entries {
			if !told && e.Order != nil && e.New {
				untold[e.Order.ID] = err
			}
		}
	}
	return untold
}

// notify sends a rendered notice and then records it: a crash in between sends it twice,
// and never loses it. It reports whether the notice was sent.
func (r *Runner) notify(ctx context.Context, id roll.ClusterID, m report.Message, rendered error, said ledger.Changes) (bool, error) {
	if rendered != nil {
		return false, rendered
	}
	err := r.Notices.Publish(ctx, m)
	if !report.Sent(err) {
		return false, err
	}
	recorded := r.Ledger.Record(ctx, id, said)
	if errors.Is(recorded, ledger.ErrNoticesMoved) {
		recorded = nil // a later check took over the notices, and reported the same
	}
	return true, errors.Join(err, recorded)
}

// putQuestions records the questions if there are no notices: the result of the check asks them.
func (r *Runner) putQuestions(ctx context.Context, c *report.Check, fault func(string, ...any)) {
	for _, n := range c.Plan.Notices {
		put := ledger.Changes{Put: ledger.State{Questions: n.Asked}}
		if put.Empty() {
			continue
		}
		if err := r.Ledger.Record(ctx, c.Snapshot.Cluster.ID, put); err != nil {
			fault("the questions about %s in %s could not be recorded: %v", n.Key.Kind, n.Key.Group, err)
		}
	}
}

// order carries out the orders one after the other, except those that could not be
// reported: the next check reports and repeats them.
func (r *Runner) order(ctx context.Context, c *report.Check, untold map[string]error, fault func(string, ...any)) {
	id := c.Snapshot.Cluster.ID
	for _, o := range c.Plan.Orders {
		if err := untold[o.ID]; err != nil {
			c.Outcomes = append(c.Outcomes, remediate.Outcome{
				Order: o, Result: remediate.Refused, Reason: plan.NoticeNotSent, News: true,
				Detail: fmt.Sprintf("the notice about the %s could not be sent, so nothing was done: %v", o.Action, err),
			})
			continue
		}
		r.tell(id.Name, fmt.Sprintf("%s %s", o.Action, o.Instance))
		// The check may have taken minutes. The act is dated now, but never before the
		// check's own time.
		at := roll.Later(r.Clock(), c.Snapshot.At)
		out := r.Orders.Act(ctx, o, at)
		c.Outcomes = append(c.Outcomes, out)
		switch out.Reason {
		case plan.NotRecorded, plan.EvidenceNotStored, plan.PolicyUnreadable:
			fault("%s of %s: %s", o.Action, o.Instance, out.Detail)
		}
		if r.Notices == nil || !report.Told(out) {
			continue
		}
		m, err := report.From{Stack: r.Stack}.Outcome(id, out, at)
		if _, err = r.notify(ctx, id, m, err, out.Said(at)); err != nil {
			fault("notice of the outcome of order %s: %v", o.ID, err)
		}
	}
}

// tagFailures is the number of failures after which a check stops tagging. A single failure
// may be about one instance, which can carry at most 50 tags.
const tagFailures = 3

// tagCall is one call that sets and removes tags of instances.
type tagCall struct {
	plan.TagChange
	instances []roll.InstanceID // several only for a removal
}

// tagTogether is the maximum number of instances in one call; EC2 accepts 1,000.
const tagTogether = 100

// tagPlan returns the calls for changes, those of orders first. A removal of the same tags from several instances is
// one call: many nodes may recover at once.
func tagPlan(changes []plan.TagChange) (calls []*tagCall) {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b plan.TagChange) int {
		return len(b.Set[roll.TagOrder]) - len(a.Set[roll.TagOrder])
	})
	removes := map[string]*tagCall{}
	for _, t := range changes {
		keys := strings.Join(t.Delete, " ")
		if c := removes[keys]; c != nil && len(t.Set) == 0 && len(c.instances) < tagTogether {
			c.instances = append(c.instances, t.Instance)
			continue
		}
		c := &tagCall{t, []roll.InstanceID{t.Instance}}
		if calls = append(calls, c); len(t.Set) == 0 {
			removes[keys] = c
		}
	}
	return calls
}

// tag writes and removes tags.
func (r *Runner) tag(ctx context.Context, c *report.Check, fault func(string, ...any)) {
	failures, queue := 0, tagPlan(c.Plan.Tags)
	for calls := 0; len(queue) > 0; calls++ {
		if calls == tagCalls {
			left := 0
			for _, t := range queue {
				left += len(t.instances)
			}
			fault("%d instances are still to be tagged; the next check continues", left)
			return
		}
		t := queue[0]
		queue = queue[1:]
		err := r.change(ctx, t)
		switch {
		case err == nil:
		case len(t.instances) > 1: // EC2 changes all or none: one may be gone
			for _, id := range t.instances {
				queue = append(queue, &tagCall{t.TagChange, []roll.InstanceID{id}})
			}
		default:
			fault("%v", err)
			if failures++; failures == tagFailures {
				return
			}
		}
	}
}

func (r *Runner) change(ctx context.Context, t *tagCall) error {
	if len(t.Set) > 0 {
		if err := r.Tags.Tag(ctx, t.instances, t.Set); err != nil {
			return fmt.Errorf("tag %s: %w", t.instances[0], err)
		}
	}
	if len(t.Delete) > 0 {
		if err := r.Tags.Untag(ctx, t.instances, t.Delete); err != nil {
			return fmt.Errorf("remove tags of %s: %w", t.instances[0], err)
		}
	}
	return nil
}

func (r *Runner) tell(cluster, doing string) {
	if r.Progress != nil {
		r.Progress(cluster, doing)
	}
}
