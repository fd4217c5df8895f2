package plan

import (
	"cmp"
	"slices"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// refusalKept is the minimum time for which a refusal is remembered. After it no late message can
// deliver the order again.
const refusalKept = 2 * OrderLife

// rememberRefusals drops refusals of orders that no check can repeat.
func (p *planner) rememberRefusals() {
	c := &p.out.Changes
	for k, r := range p.State.Refusals {
		if p.Now.Sub(r.At) >= refusalKept && !p.mayRepeat(k.Order, r) {
			c.Drop.Refusals = append(c.Drop.Refusals, k)
		}
	}
	slices.SortFunc(c.Drop.Refusals, func(a, b ledger.RefusalKey) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Reason, b.Reason))
	})
}

// mayRepeat reports whether a check may repeat the order: the ledger still has its finding, its
// cordon, or the end of its instance.
func (p *planner) mayRepeat(order string, r ledger.Refusal) bool {
	if Action(r.Do) == Uncordon {
		return slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
			return Action(a.Do).cordons() && a.Instance == r.Instance && uncordonID(p.Snapshot.Cluster.ID, a) == order
		})
	}
	if Action(r.Do) == OutOfService {
		return slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
			return a.Do == string(Terminate) && a.Instance == r.Instance && taintID(p.Snapshot.Cluster.ID, a) == order
		})
	}
	known, ok := p.State.Findings[roll.FindingKey{Instance: r.Instance, Kind: r.Kind}]
	return ok && orderID(p.Snapshot.Cluster.ID, known.Key(), known.FirstSeen, Action(r.Do)) == order
}

// givenEvery is how old the time of a repeated order may become in the ledger.
const givenEvery = forgetAfter / 2

// givenAgain records that this plan repeats refused orders.
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

// refused reports whether a notice within the last hour said that an order was refused, or an
// earlier one did and the order was repeated within the hour.
func (p *planner) refused(order string) bool {
	for k, r := range p.State.Refusals {
		if k.Order == order && p.Now.Sub(r.Latest()) < forgetAfter {
			return true
		}
	}
	return false
}
