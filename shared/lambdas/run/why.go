package run

import (
	"context"
	"slices"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// diagnose diagnoses the findings past Watching. It returns the function that stores the
// evidence, nil if there is none to store: then the answers are not recorded.
func (r *Runner) diagnose(ctx context.Context, c *report.Check, state ledger.State, pol func(roll.Selector) policy.Policy) Keep {
	findings := c.Findings()
	if len(findings) == 0 {
		return nil
	}
	return r.why(ctx, c, findings, state, slices.ContainsFunc(findings, func(f roll.Finding) bool {
		known, _ := state.Known(f)
		return known.Evidence == "" && pol(f.Selector).Mode.Allows(policy.Notify)
	}))
}

// why diagnoses findings. record reports whether the evidence may be stored.
func (r *Runner) why(ctx context.Context, c *report.Check, findings []roll.Finding, state ledger.State, record bool) (keep Keep) {
	if r.Why == nil {
		return nil
	}
	r.tell(c.Snapshot.Cluster.ID.Name, "finding out why")
	asking, cancel := bounded(ctx, r.WhyTime)
	defer cancel()
	c.Diagnoses, keep = r.Why(asking, c.Snapshot, findings, state, record)
	return keep
}

// keepEvidence stores the evidence of findings when they are first reported: once for each
// finding, and all of a check in one place. The owner may terminate the instance before
// anybody has examined it. Mode observe stores nothing. A failure is a fault of the check
// and stops nothing else: an act stores its own evidence, or is refused.
func (r *Runner) keepEvidence(ctx context.Context, c *report.Check, state ledger.State, pol func(roll.Selector) policy.Policy, keep Keep, fault func(string, ...any)) {
	if keep == nil {
		return
	}
	after := state.Clone()
	after.Apply(c.Plan.Changes)
	put := map[roll.FindingKey]ledger.Finding{}
	var first roll.Finding
	for _, f := range c.Findings() {
		k, _ := after.Known(f)
		if k.Evidence != "" || k.FirstSeen.IsZero() || !pol(f.Selector).Mode.Allows(policy.Notify) {
			continue
		}
		if len(put) == 0 {
			first = f
		}
		put[f.Key()] = k
	}
	if len(put) == 0 {
		return
	}
	where, err := keep(ctx, *c, first, put[first.Key()].FirstSeen)
	if err != nil {
		fault("the evidence about %s and %d more could not be kept: %v", first.Instance, len(put)-1, err)
		return
	}
	c.Evidence = where
	for key, f := range put {
		f.Evidence = where
		put[key] = f
	}
	if err := r.Ledger.Record(ctx, c.Snapshot.Cluster.ID, ledger.Changes{Put: ledger.State{Findings: put}}); err != nil {
		fault("where the evidence is kept (%s) could not be remembered, so it will be kept once more: %v", where, err)
	}
	link(c, put, where)
}

// link adds the place of the evidence to the notices and events of a check.
func link(c *report.Check, kept map[roll.FindingKey]ledger.Finding, where string) {
	for key, f := range c.Plan.Changes.Put.Findings {
		if _, ok := kept[key]; ok {
			f.Evidence = where
			c.Plan.Changes.Put.Findings[key] = f
		}
	}
	for i := range c.Plan.Notices {
		for j := range c.Plan.Notices[i].Entries {
			e := &c.Plan.Notices[i].Entries[j]
			if _, ok := kept[e.Finding.Key()]; ok {
				e.Evidence = where
			}
		}
	}
}
