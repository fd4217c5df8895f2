package plan

import (
	"fmt"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// repeatsMemory is how far back acts on a group count as failed replacements.
const repeatsMemory = 24 * time.Hour

// groupObjects asks what became of the acts on the finding's group before: one at a
// time, the next once the replacement is there and works, and none any more when
// replacements keep failing.
func (p *planner) groupObjects(f roll.Finding, act Action, pol policy.Policy) (Reason, string, bool) {
	if f.Group == roll.GroupNone || act == DeleteNode {
		return "", "", false // instances of no group have nothing to do with each other
	}
	good := p.good(f.Group)
	if text, ok := p.repeats(f, good, pol.Limits.Replacements); ok {
		return ReplacementRepeats, text, true
	}
	for _, a := range p.State.Actions {
		if a.Group != f.Group || a.Instance == f.Instance || a.Free || a.Outcome == nil || a.Outcome.Result == ledger.Failed {
			continue // one without an outcome has a reason of its own
		}
		until := a.Outcome.At.Add(pol.Limits.ReplacementWait)
		if !p.Now.Before(until) {
			continue
		}
		if Action(a.Do).replaced() {
			if !good.After(a.At) {
				p.passes(until)
				return ReplacementPending, fmt.Sprintf("%s of %s at %s: no node of %s launched since then is Ready yet; Rollcall waits for one until %s", a.Do, a.Instance, roll.Clock(a.Outcome.At), f.Group, roll.Clock(until)), true
			}
			continue
		}
		if _, sick := p.instances[a.Instance]; sick && !p.ended(a.Instance) {
			return OneAtATime, fmt.Sprintf("%s of %s at %s: that instance of %s comes first", a.Do, a.Instance, roll.Clock(a.Outcome.At), f.Group), true
		}
	}
	return "", "", false
}

// ended reports that an act that ends the instance was carried out.
func (p *planner) ended(id roll.InstanceID) bool {
	for _, a := range p.State.Actions {
		if a.Instance == id && Action(a.Do).replaced() && a.Outcome != nil && a.Outcome.Result == ledger.Done {
			return true
		}
	}
	return false
}

// good is the latest launch of an instance of the group that became a Ready node, as
// far as anybody remembers.
func (p *planner) good(g roll.Group) time.Time {
	good := p.State.Groups[g].Good
	if seen := p.Assessment.Groups[g].Good; seen.After(good) {
		good = seen
	}
	return good
}

// repeats tells whether the last acts on the group brought no node that works. That no
// instance was launched since proves nothing, the group may have shrunk: one that was,
// and is in trouble itself, does.
func (p *planner) repeats(f roll.Finding, good time.Time, limit int) (string, bool) {
	if limit == 0 {
		return "limits.replacements is 0: nothing is replaced", true
	}
	var first time.Time
	n := 0
	for _, a := range p.State.Actions {
		if a.Group != f.Group || !Action(a.Do).replaced() || !a.At.After(good) || p.Now.Sub(a.At) >= repeatsMemory || !a.Interrupted() {
			continue
		}
		if n++; first.IsZero() || a.At.Before(first) {
			first = a.At
		}
	}
	if n < limit {
		return "", false
	}
	for _, other := range p.Assessment.Findings {
		i := p.instances[other.Instance]
		if other.Group == f.Group && i != nil && i.Launched.After(first) {
			return fmt.Sprintf("%d %s on %s since %s, and no node launched since then works: %s, launched at %s, has the same fate; another would hardly do better", n, roll.Plural(n, "act", "acts"), f.Group, roll.Clock(first), i.ID, roll.Clock(i.Launched)), true
		}
	}
	return "", false
}
