package sim

import (
	"slices"

	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

func (inv *invocation) planned(in plan.Input, out plan.Plan) {
	if inv.v.fn != inspect {
		return
	}
	u := inv.v.a.audit
	u.found(inv, in, out)
	u.planned(inv, checkupOf(in, out))
}

// checkupOf converts a plan to the auditor's form, with plain strings.
func checkupOf(in plan.Input, out plan.Plan) checkup {
	c := checkup{cluster: in.Snapshot.Cluster.ID.Name, whole: in.Snapshot.Whole(), nodes: len(in.Snapshot.Nodes), kept: map[about]bool{}}
	for _, f := range slices.Concat(in.Assessment.Findings, in.Assessment.Starting) {
		c.found = append(c.found, aboutOf(f.Key()))
		if f.Stage != roll.Watching {
			c.opened = append(c.opened, aboutOf(f.Key()))
		}
		if cause, ok := in.Diagnoses[f.Key()].Decisive(); ok {
			c.causes = append(c.causes, caused{aboutOf(f.Key()), cause.Code})
		} else if f.Stage == roll.Overdue {
			c.open = append(c.open, aboutOf(f.Key()))
		}
	}
	for key, kept := range in.Assessment.Kept {
		c.kept[aboutOf(key)] = kept
	}
	for _, h := range out.Held {
		held := withheld{about: aboutOf(roll.FindingKey{Instance: h.Instance, Kind: h.Kind}), node: h.Node, group: string(h.Group), action: string(h.Action), reason: string(h.Reason), detail: h.Detail}
		if h.Question != nil {
			held.question = h.Question.Order
		}
		c.held = append(c.held, held)
	}
	if t, known := out.Changes.Put.Trouble, in.State.Trouble; t != nil && (known == nil || known.Reason != t.Reason) {
		c.trouble = t.Reason
	}
	for _, o := range out.Orders {
		c.ordered = append(c.ordered, string(o.Instance))
	}
	for key, s := range out.Steps {
		c.steps = append(c.steps, following{string(key.Instance), string(s.Do), s.At})
	}
	return c
}

func aboutOf(key roll.FindingKey) about { return about{string(key.Instance), string(key.Kind)} }

func (u *auditor) found(inv *invocation, in plan.Input, out plan.Plan) {
	for _, found := range slices.Concat(in.Assessment.Findings, in.Assessment.Starting) {
		f, ok := out.Changes.Put.Findings[found.Key()]
		if !ok {
			continue
		}
		before, ok := in.State.Findings[f.Key()]
		if f.Stage == roll.Watching || ok && before.Stage == f.Stage && before.Began.Equal(f.Began) {
			continue
		}
		cause, _ := in.Diagnoses[f.Key()].Decisive()
		u.a.note(Event{Kind: EventFinding, Cluster: in.Snapshot.Cluster.ID.Name, Instance: string(f.Instance), Node: f.Node, Group: string(f.Group), Finding: string(f.Kind), Stage: string(f.Stage), Cause: cause.Code, Fix: cause.Fix, Detail: cause.Summary})
	}
	for _, key := range out.Changes.Drop.Findings {
		u.ends(inv, aboutOf(key))
		u.forgets(in.Snapshot.Cluster.ID.Name, aboutOf(key))
		if before := in.State.Findings[key]; !before.Opened.IsZero() {
			u.a.note(Event{Kind: EventFinding, Cluster: in.Snapshot.Cluster.ID.Name, Instance: string(key.Instance), Node: before.Node, Group: string(before.Group), Finding: string(key.Kind), Stage: "resolved"})
		}
	}
}
