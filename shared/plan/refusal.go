package plan

import (
	"cmp"
	"slices"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// refusalKept is how long a refusal is remembered at least: until no message can bring its
// order again, whose time is up then.
const refusalKept = 2 * OrderLife

// rememberRefusals forgets refusals of orders that nothing leads to any more.
func (p *planner) rememberRefusals() {
	c := &p.out.Changes
	for k, r := range p.State.Refusals {
		if p.Now.Sub(r.At) >= refusalKept && !p.leads(k.Order, r) {
			c.Drop.Refusals = append(c.Drop.Refusals, k)
		}
	}
	slices.SortFunc(c.Drop.Refusals, func(a, b ledger.RefusalKey) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Reason, b.Reason))
	})
}

// leads reports that a check may give the order again: the ledger still has its finding,
// the cordon that it takes back, or the end of its instance.
func (p *planner) leads(order string, r ledger.Refusal) bool {
	if Action(r.Do) == Uncordon {
		return slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
			return a.Do == string(Cordon) && a.Instance == r.Instance && p.uncordonID(a) == order
		})
	}
	if Action(r.Do) == OutOfService {
		return slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
			return a.Do == string(Terminate) && a.Instance == r.Instance && p.markID(a) == order
		})
	}
	known, ok := p.State.Findings[roll.FindingKey{Instance: r.Instance, Kind: r.Kind}]
	return ok && orderID(p.Snapshot.Cluster.ID, known.Key(), known.FirstSeen, Action(r.Do)) == order
}

// givenEvery is how old the memory may grow of when a refused order was given again.
const givenEvery = forgetAfter / 2

// givenAgain remembers of orders of this plan that were refused before that they are given.
func (p *planner) givenAgain() {
	given := map[string]bool{}
	for _, o := range p.out.Orders {
		given[o.ID] = true
	}
	for k, r := range p.State.Refusals {
		if !given[k.Order] || p.Now.Sub(r.Latest()) < givenEvery {
			continue
		}
		r.Given = p.Now
		p.out.Changes.Put.Refusals[k] = r
	}
}

// refused reports that it was told within the last hour that an order was not carried out,
// or that it was told once and the order was given again within the hour.
func (p *planner) refused(order string) bool {
	for k, r := range p.State.Refusals {
		if k.Order == order && p.Now.Sub(r.Latest()) < forgetAfter {
			return true
		}
	}
	return false
}
