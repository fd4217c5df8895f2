package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// Look looks at one cluster once and answers "what if": every finding counts as seen
// twice, and as opened after mode remediate was turned on; every other limit applies to
// what the look shows. What still has time is diagnosed too. Nothing is written, tagged,
// sent or done, whatever the mode. about is what somebody asks about, "" for all.
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

// Subject is what a review is about.
type Subject struct {
	// Cluster tells its account and region where they are known beforehand: EKS may not
	// tell them, of a cluster that is gone for instance.
	Cluster  roll.ClusterID
	Instance roll.InstanceID // or what else it is about, "" for all of the cluster
	// From says whose memory the Ledger is, for a person.
	From string
}

// Review looks at one cluster once and answers as things stand: by what the ledger
// remembers, as the next check will. Its result holds that memory. Nothing is written,
// tagged, sent or done, whatever the mode. The error says that the ledger could not be
// read, and without it there is no answer.
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
	if open := unresolved(state); len(open) > 0 && c.Snapshot.Whole() {
		r.Observer.LookUp(reading, c.Snapshot, open)
	}
	in := r.judge(ctx, reading, &c, state, now)
	c.Plan = r.plan(in)
	c.Memory = &report.Memory{From: about.From, Cluster: id, State: state, PerHour: perHour(in.Policy, state, about.Instance, c.Assessment.Findings)}
	if about.Instance.IsInstance() {
		c.Asked = r.ask(reading, c.Snapshot, id, about.Instance)
	}
	r.tell(cluster, "done")
	return c, nil
}

// read reads the cluster.
func (r *Runner) read(ctx context.Context, cluster string, now time.Time) report.Check {
	r.tell(cluster, "reading")
	return report.Check{Snapshot: r.Observer.Snapshot(ctx, cluster, now, r.Policy.Watch()), Mode: r.Permitted}
}

// judge assesses and diagnoses what was read, and returns what a plan rests on.
func (r *Runner) judge(ctx, reading context.Context, c *report.Check, state ledger.State, now time.Time) plan.Input {
	cluster := c.Snapshot.Cluster.ID.Name
	r.left(reading, c.Snapshot, state, now)
	pol := r.Policy.Cluster(cluster, c.Snapshot.Cluster.ModeTag, r.Permitted)
	c.Assessment = assess.Thoroughly(assess.Input{Snapshot: c.Snapshot, Policy: pol, State: state, Now: now, Presume: c.WhatIf},
		func(q []roll.Question) {
			r.tell(cluster, fmt.Sprintf("looking closer at %d instances", len(q)))
			r.Observer.Details(reading, c.Snapshot, q)
		})
	seenAt := r.Clock()
	c.Mode = highest(pol, c.Assessment.Findings)
	if r.Why != nil {
		r.tell(cluster, "finding out why")
		asking, cancel := bounded(ctx, r.WhyTime)
		defer cancel()
		all := append(append([]roll.Finding{}, c.Assessment.Findings...), c.Assessment.Starting...)
		c.Diagnoses, _ = r.Why(asking, c.Snapshot, all, state, false)
	}
	return plan.Input{Snapshot: c.Snapshot, Assessment: c.Assessment, State: state, Diagnoses: c.Diagnoses, Policy: pol, Now: now, SeenAt: seenAt}
}

// ask looks an instance up that the look at the cluster does not show. What EC2 says of it
// is no part of what is judged.
func (r *Runner) ask(ctx context.Context, s *roll.Snapshot, cluster roll.ClusterID, id roll.InstanceID) *report.Asked {
	asked := &report.Asked{ID: id, Known: roll.Unreadable}
	apart := &roll.Snapshot{At: s.At, Cluster: roll.Cluster{ID: cluster}, Instances: of(s.Instances, id)}
	if len(apart.Instances) == 0 {
		r.Observer.LookUp(ctx, apart, []roll.InstanceID{id})
	}
	switch {
	case len(apart.Instances) > 0:
		asked.Known, asked.Instance = roll.Yes, apart.Instances[0]
	case apart.NotFound[id]:
		asked.Known = roll.No
	}
	return asked
}

// of is the instance with the id, if there is one.
func of(instances []roll.Instance, id roll.InstanceID) []roll.Instance {
	if i := slices.IndexFunc(instances, func(i roll.Instance) bool { return i.ID == id }); i >= 0 {
		return instances[i : i+1 : i+1]
	}
	return nil
}

// perHour are the limits on the acts of an hour that an instance meets: the cluster's,
// and its group's.
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

// remembered is what the ledger remembers of the cluster of a snapshot.
func (r *Runner) remembered(ctx context.Context, s *roll.Snapshot) (ledger.State, error) {
	if r.Memory != nil {
		return r.Memory(s), nil
	}
	return r.Ledger.Read(ctx, s.Cluster.ID)
}

// confirmed is a memory in which the findings were seen before, long enough ago to count,
// and opened when remediate had been on for long: since the cluster was created.
func confirmed(s ledger.State, findings []roll.Finding, created, now time.Time) ledger.State {
	s = s.Clone()
	long := now.Add(-policyOn)
	if long.Before(created) {
		long = created // what was before it is another cluster's
	}
	if s.First.IsZero() || s.First.Before(created) {
		s.First = cmp.Or(created, time.Unix(0, 0)).UTC() // every trouble began after it
	}
	before := now.Add(-2 * assess.Confirmation)
	for _, f := range findings {
		if _, ok := s.RemediateSince[f.Group]; !ok {
			s.RemediateSince[f.Group] = long
		}
		k := known(s, f)
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

// policyOn is how long remediate counts as having been on: longer than any finding that
// was opened in the meantime.
const policyOn = 24 * time.Hour * 365
