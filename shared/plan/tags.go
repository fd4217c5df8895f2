package plan

import (
	"cmp"
	"slices"
	"time"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// tags computes which tags to write and remove so that each instance's tags match its findings. It
// writes only differences.
func (p *planner) tags() {
	wanted := map[roll.InstanceID]roll.Marks{}
	for _, f := range p.Assessment.Findings { // the most urgent first
		marks, found := wanted[f.Instance]
		if !found && f.Stage != roll.Watching && p.reached(f, policy.DoTag) {
			marks, found = p.marks(f), true
		}
		if o := p.verdicts[f.Key()].order; o != nil {
			// IAM permits no act without this tag, even if the ladder has no tag step
			marks.Order, found = o.ID, true
		}
		if found {
			wanted[f.Instance] = marks
		}
	}
	kept := map[roll.InstanceID]bool{}
	for k := range p.Assessment.Kept {
		kept[k.Instance] = true
	}
	for i := range p.Snapshot.Instances {
		inst := &p.Snapshot.Instances[i]
		want, found := wanted[inst.ID]
		if inst.Marks == nil && !found || inst.State.Gone() ||
			!p.Policy(roll.Member{Instance: inst}.Selector()).Mode.Allows(policy.Notify) {
			continue
		}
		var have roll.Marks
		if inst.Marks != nil {
			have = *inst.Marks
		}
		if !found && kept[inst.ID] {
			want = have // it is unknown whether what they say still holds
			want.Order = ""
		}
		if inst.Ignore {
			// An ignored instance gets no new tags, but must not keep the tag of an order either.
			want = have
			want.Order = ""
		}
		if want.Order == "" && have.Order != "" {
			// IAM permits an act only with the order's tag, so it stays until the act has an
			// outcome.
			if _, ok := p.State.Unresolved(inst.ID, roll.GroupNone); ok {
				want.Order = have.Order
			}
		}
		change := TagChange{Instance: inst.ID, Set: map[string]string{}}
		for _, key := range roll.MarkKeys() {
			w := want.Get(key)
			if w == have.Get(key) {
				continue
			}
			if w == "" {
				change.Delete = append(change.Delete, key)
			} else {
				change.Set[key] = w
			}
		}
		if len(change.Set)+len(change.Delete) > 0 {
			p.out.Tags = append(p.out.Tags, change)
		}
	}
	slices.SortFunc(p.out.Tags, func(a, b TagChange) int { return cmp.Compare(a.Instance, b.Instance) })
}

// reached reports whether a finding past Watching has reached a step of its ladder. A warning of an
// unregistered instance reaches its tag and notify steps at once.
func (p *planner) reached(f roll.Finding, do policy.Do) bool {
	ladder := p.ladder(f, p.Policy(f.Selector))
	for i, step := range ladder {
		if step.Do == do {
			return f.Stage == roll.Warned || !p.Now.Before(policy.StepAt(ladder, i, f.Due))
		}
	}
	return false
}

// marks returns the tags for a finding's instance. They depend only on the stage, so that they do
// not change in every check.
func (p *planner) marks(f roll.Finding) roll.Marks {
	m := roll.Marks{Finding: string(f.Kind), Since: f.Since.UTC().Format(time.RFC3339), Next: "notify only"}
	pol := p.Policy(f.Selector)
	ladder := p.ladder(f, pol)
	for i, step := range slices.Backward(ladder) {
		act := p.actionOf(step.Do, f, pol)
		if act == "" || step.Doubt != "" || p.fault != nil || !mayAct(f, pol, act) {
			continue
		}
		verb := string(act)
		switch {
		case pol.Stop:
			verb += " (held: stop)"
		case pol.Mode != policy.Remediate:
			verb += " (held: mode " + string(pol.Mode) + ")"
		case step.Approve.Needed():
			verb += " (needs approval)"
		}
		m.Next = verb + " after " + p.notBefore(f, act, policy.StepAt(ladder, i, f.Due)).UTC().Format(time.RFC3339)
		break
	}
	if c, ok := p.Diagnoses[f.Key()].Decisive(); ok {
		m.Cause = c.Code
	}
	return m
}
