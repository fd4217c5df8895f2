package plan

import (
	"cmp"
	"slices"
	"time"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// tags works out which tags to write and remove, so that each instance's tags match its
// findings. It writes only differences.
func (p *planner) tags() {
	wanted := map[roll.InstanceID]roll.Marks{}
	for _, f := range p.Assessment.Findings { // the most urgent first
		marks, found := wanted[f.Instance]
		if !found && f.Stage != roll.Watching && p.reached(f, policy.DoTag) {
			marks, found = p.marks(f), true
		}
		if o := p.verdicts[f.Key()].order; o != nil {
			// IAM permits no act without this tag, whatever the ladder says about tags.
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
			want = have // nobody could tell whether what they say goes on
			want.Order = ""
		}
		if inst.Ignore {
			// An ignored instance is not written on, but no order may outlive it either.
			want = have
			want.Order = ""
		}
		if want.Order == "" && have.Order != "" {
			// The order's tag is the leash that IAM checks: it stays as long as the
			// act it permits has no outcome.
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

// reached reports whether a finding past Watching has reached a step of its ladder. A warning
// of an unregistered instance reaches its tag and notify steps at once.
func (p *planner) reached(f roll.Finding, do policy.Do) bool {
	ladder := p.ladder(f, p.Policy(f.Selector))
	for i, step := range ladder {
		if step.Do == do {
			return f.Stage == roll.Warned || !p.Now.Before(policy.StepAt(ladder, i, f.Due))
		}
	}
	return false
}

// marks returns the tags for a finding's instance. They depend on the stage alone, so that
// not every check writes them.
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
		}
		m.Next = verb + " after " + p.notBefore(f, act, policy.StepAt(ladder, i, f.Due)).UTC().Format(time.RFC3339)
		break
	}
	if c, ok := p.Diagnoses[f.Key()].Decisive(); ok {
		m.Cause = c.Code
	}
	return m
}
