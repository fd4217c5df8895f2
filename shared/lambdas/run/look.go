package run

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// Look checks one cluster once and answers "what if". Every finding counts as seen twice,
// and as opened while remediate was on; every other limit applies. It also diagnoses what
// is still within its tolerance. It writes, tags, sends and orders nothing, whatever the
// mode. about is the subject of the question, "" for all.
func (r *Runner) Look(ctx context.Context, cluster string, about roll.InstanceID, now time.Time) report.Check {
	reading, cancel := bounded(ctx, r.ReadTime)
	defer cancel()
	c := r.read(reading, cluster, now)
	c.WhatIf = true
	state, err := r.remembered(ctx, c.Snapshot)
	if err != nil {
		c.Faults = append(c.Faults, err.Error())
	}
	in := r.judge(ctx, reading, &c, state, now)
	in.State = confirmed(state, c.Assessment.Findings, c.Snapshot.Cluster.Created, now)
	c.Plan = r.plan(in)
	if about.IsInstance() {
		c.Asked = r.ask(reading, c.Snapshot, c.Snapshot.Cluster.ID, about)
	}
	r.tell(cluster, "done")
	return c
}

// Subject is the subject of a review.
type Subject struct {
	// Cluster has the account and region if known beforehand: EKS does not return them for a
	// cluster that is gone.
	Cluster  roll.ClusterID
	Instance roll.InstanceID // the instance or other subject, "" for the whole cluster
	// From describes the Ledger to a person.
	From string
}

// Review checks one cluster once and answers as the next check will, by the ledger. The
// result contains the ledger's state. It writes, tags, sends and orders nothing, whatever
// the mode. It returns an error if the ledger could not be read: then there is no answer.
func (r *Runner) Review(ctx context.Context, about Subject, now time.Time) (report.Check, error) {
	cluster := about.Cluster.Name
	reading, cancel := bounded(ctx, r.ReadTime)
	defer cancel()
	c := r.read(reading, cluster, now)
	id := c.Snapshot.Cluster.ID
	if id.Account == "" {
		id = about.Cluster
	}
	state, err := r.Ledger.Read(ctx, id)
	if err != nil {
		return c, err
	}
	r.lookUp(reading, c.Snapshot, state)
	in := r.judge(ctx, reading, &c, state, now)
	c.Plan = r.plan(in)
	c.Memory = &report.Memory{From: about.From, Cluster: id, State: state, PerHour: perHour(in.Policy, state, about.Instance, c.Assessment.Findings)}
	if about.Instance.IsInstance() {
		c.Asked = r.ask(reading, c.Snapshot, id, about.Instance)
	}
	r.tell(cluster, "done")
	return c, nil
}

// judge assesses and diagnoses the snapshot, including what is still within its tolerance,
// and returns the input of a plan.
func (r *Runner) judge(ctx, reading context.Context, c *report.Check, state ledger.State, now time.Time) plan.Input {
	in := r.assess(reading, c, state, now)
	r.why(ctx, c, slices.Concat(c.Assessment.Findings, c.Assessment.Starting), state, false)
	in.Diagnoses = c.Diagnoses
	return in
}

// ask looks up an instance that is not in the snapshot. The verdict does not depend on the
// answer.
func (r *Runner) ask(ctx context.Context, s *roll.Snapshot, cluster roll.ClusterID, id roll.InstanceID) *report.Asked {
	if i := s.Instance(id); i != nil && !i.Vouched {
		return &report.Asked{ID: id, Known: roll.Yes, Instance: *i}
	}
	asked := &report.Asked{ID: id, Known: roll.Unreadable}
	apart := &roll.Snapshot{At: s.At, Cluster: roll.Cluster{ID: cluster}}
	r.Observer.LookUp(ctx, apart, []roll.InstanceID{id})
	switch {
	case len(apart.Instances) > 0:
		asked.Known, asked.Instance = roll.Yes, apart.Instances[0]
	case apart.NotFound[id]:
		asked.Known = roll.No
	}
	return asked
}

// perHour returns the limits on acts per hour for an instance: the cluster's and its group's.
func perHour(pol func(roll.Selector) policy.Policy, s ledger.State, id roll.InstanceID, findings []roll.Finding) map[roll.Group]int {
	out := map[roll.Group]int{"": pol(roll.Selector{}).Limits.ActionsPerHour}
	for _, f := range findings {
		if f.Instance == id {
			out[f.Group] = pol(roll.GroupSelector(f.Group)).Limits.ActionsPerHour
		}
	}
	if g, ok := report.GroupOf(s, id); ok {
		out[g] = pol(roll.GroupSelector(g)).Limits.ActionsPerHour
	}
	delete(out, roll.GroupNone)
	return out
}

// remembered returns the state of the cluster of a snapshot.
func (r *Runner) remembered(ctx context.Context, s *roll.Snapshot) (ledger.State, error) {
	if r.Memory != nil {
		return r.Memory(s), nil
	}
	return r.Ledger.Read(ctx, s.Cluster.ID)
}

// confirmed returns a state in which the findings were seen long enough ago to count, and
// opened when remediate had long been on: since the creation of the cluster.
func confirmed(s ledger.State, findings []roll.Finding, created, now time.Time) ledger.State {
	s = s.Clone()
	long := roll.Later(now.Add(-policyOn), created) // earlier times belong to another cluster
	if s.First.IsZero() || s.First.Before(created) {
		s.First = cmp.Or(created, time.Unix(0, 0)).UTC() // so that every fault began after it
	}
	before := now.Add(-2 * assess.Confirmation)
	for _, f := range findings {
		if _, ok := s.RemediateSince[f.Group]; !ok {
			s.RemediateSince[f.Group] = long
		}
		k, _ := s.Known(f)
		if k.FirstSeen.IsZero() || k.FirstSeen.After(before) {
			k = ledger.Finding{
				Instance: f.Instance, Kind: f.Kind, Node: f.Node, Group: f.Group, Stage: f.Stage, FirstSeen: before,
				Since: f.Since.UTC(), Condition: f.Condition, Began: f.Began.UTC(),
			}
		}
		if k.Opened.IsZero() {
			k.Opened = before
		}
		s.Findings[f.Key()] = k
	}
	for g, since := range s.RemediateSince {
		if since.After(before) || since.Before(created) {
			s.RemediateSince[g] = long
		}
	}
	return s
}

// policyOn is how long remediate counts as on: longer than the age of any finding.
const policyOn = 24 * time.Hour * 365
