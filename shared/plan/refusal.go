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
			c.DropRefusals = append(c.DropRefusals, k)
		}
	}
	slices.SortFunc(c.DropRefusals, func(a, b ledger.RefusalKey) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Reason, b.Reason))
	})
}

// leads reports that a check may give the order again: the ledger still has its finding,
// or the cordon that it takes back.
func (p *planner) leads(order string, r ledger.Refusal) bool {
	if Action(r.Do) == Uncordon {
		return slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
			return a.Do == string(Cordon) && a.Instance == r.Instance && p.uncordonID(a) == order
		})
	}
	known, ok := p.State.Findings[roll.FindingKey{Instance: r.Instance, Kind: r.Kind}]
	return ok && orderID(p.Snapshot.Cluster.ID, known.Key(), known.FirstSeen, Action(r.Do)) == order
}

// refused reports that it was told that an order was not carried out.
func (p *planner) refused(order string) bool {
	for k := range p.State.Refusals {
		if k.Order == order {
			return true
		}
	}
	return false
}
