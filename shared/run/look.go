package run

import (
	"context"
	"maps"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// Look looks at one cluster once and answers "what if": every finding counts as seen
// twice, and as opened after mode remediate was turned on; every other limit applies to
// what the look shows. What still has time is diagnosed too. Nothing is written, tagged,
// sent or done, whatever the mode.
func (r *Runner) Look(ctx context.Context, cluster string, now time.Time) report.Check {
	r.tell(cluster, "reading")
	reading, cancel := bounded(ctx, r.ReadTime)
	defer cancel()
	c := report.Check{Snapshot: r.Observer.Snapshot(reading, cluster, now, r.Policy.Watch()), Mode: r.Permitted}
	state, err := r.remembered(ctx, c.Snapshot)
	if err != nil {
		c.Faults = append(c.Faults, err.Error())
	}
	pol := r.Policy.Cluster(cluster, c.Snapshot.Cluster.ModeTag, r.Permitted)
	c.Assessment = assess.Thoroughly(assess.Input{Snapshot: c.Snapshot, Policy: pol, State: state, Now: now, Presume: true},
		func(q []roll.Question) {
			r.tell(cluster, "looking closer")
			r.Observer.Details(reading, c.Snapshot, q)
		})
	c.Mode = highest(pol, c.Assessment.Findings)
	if r.Why != nil {
		r.tell(cluster, "finding out why")
		asking, cancel := bounded(ctx, r.WhyTime)
		defer cancel()
		all := append(append([]roll.Finding{}, c.Assessment.Findings...), c.Assessment.Starting...)
		c.Diagnoses, _ = r.Why(asking, c.Snapshot, all, state, false)
	}
	c.Plan = r.plan(plan.Input{
		Snapshot: c.Snapshot, Assessment: c.Assessment, State: confirmed(state, c.Assessment.Findings, now), Diagnoses: c.Diagnoses, Policy: pol, Now: now,
	})
	r.tell(cluster, "done")
	return c
}

// remembered is what the ledger remembers of the cluster of a snapshot.
func (r *Runner) remembered(ctx context.Context, s *roll.Snapshot) (ledger.State, error) {
	if r.Memory != nil {
		return r.Memory(s), nil
	}
	return r.Ledger.Read(ctx, s.Cluster.ID)
}

// confirmed is a memory in which the findings were seen before, long enough ago to count,
// and opened when remediate had been on for long.
func confirmed(s ledger.State, findings []roll.Finding, now time.Time) ledger.State {
	s = s.Clone()
	before := now.Add(-2 * assess.Confirmation)
	changes := ledger.Changes{PutRemediate: map[roll.Group]time.Time{}}
	for _, f := range findings {
		changes.PutRemediate[f.Group] = before.Add(-policyOn)
		if k := known(s, f); !k.FirstSeen.IsZero() && !k.FirstSeen.After(before) {
			if k.Opened.IsZero() {
				k.Opened = before
			}
			changes.PutFindings = append(changes.PutFindings, k)
			continue
		}
		changes.PutFindings = append(changes.PutFindings, ledger.Finding{
			Instance: f.Instance, Kind: f.Kind, Node: f.Node, Group: f.Group, Stage: f.Stage, FirstSeen: before, Opened: before,
			Since: f.Since.UTC(), Condition: f.Condition, Began: f.Began.UTC(),
		})
	}
	maps.DeleteFunc(changes.PutRemediate, func(g roll.Group, _ time.Time) bool { _, ok := s.RemediateSince[g]; return ok })
	s.Apply(changes)
	for g, since := range s.RemediateSince {
		if since.After(before) {
			s.RemediateSince[g] = before.Add(-policyOn)
		}
	}
	return s
}

// policyOn is how long remediate counts as having been on: longer than any finding that
// was opened in the meantime.
const policyOn = 24 * time.Hour * 365
