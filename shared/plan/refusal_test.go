package plan

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// A refusal is remembered as long as a check, or a late message, may repeat its order.
func TestARefusalIsForgottenWithWhatLeadsToItsOrder(t *testing.T) {
	w := sick()
	_, p := w.make(now)
	must.That(t, len(p.Orders) == 1, "orders %+v", p.Orders)
	order := p.Orders[0]
	cordon := ledger.Action{ID: "c", Do: string(Cordon), Instance: instanceID(2), Group: "asg/w", Kind: roll.NotReady, At: now.Add(-time.Hour), Outcome: done(now.Add(-time.Hour))}
	uncordon := uncordonID(w.snapshot.Cluster.ID, cordon)
	refused := func(id string, do Action, n int, kind roll.Kind) (ledger.RefusalKey, ledger.Refusal) {
		return ledger.RefusalKey{Order: id, Reason: string(VerdictChanged)}, ledger.Refusal{Instance: instanceID(n), Kind: kind, Do: string(do), At: now}
	}
	gone := func(w *world) {
		w.state.Apply(ledger.Changes{Drop: ledger.Drops{Findings: []roll.FindingKey{{Instance: instanceID(1), Kind: roll.Unknown}}}})
	}
	for name, tt := range map[string]struct {
		order string
		do    Action
		n     int
		kind  roll.Kind
		after time.Duration
		so    func(*world)
		kept  bool
	}{
		"its finding is there":                  {order.ID, Terminate, 1, roll.Unknown, 90 * 24 * time.Hour, func(*world) {}, true},
		"its finding is gone":                   {order.ID, Terminate, 1, roll.Unknown, refusalKept, gone, false},
		"its finding is gone, a message may be": {order.ID, Terminate, 1, roll.Unknown, refusalKept - time.Second, gone, true},
		"another finding of that name": {order.ID, Terminate, 1, roll.Unknown, refusalKept, func(w *world) {
			gone(w)
			w.seen(1, time.Minute)
		}, false},
		"the finding leads to another order": {"0000000000000000", Terminate, 1, roll.Unknown, refusalKept, func(*world) {}, false},
		"its cordon is known":                {uncordon, Uncordon, 2, roll.NotReady, refusalKept, func(w *world) { w.state.Actions = []ledger.Action{cordon} }, true},
		"its cordon is forgotten":            {uncordon, Uncordon, 2, roll.NotReady, refusalKept, func(*world) {}, false},
	} {
		w := sick()
		key, refusal := refused(tt.order, tt.do, tt.n, tt.kind)
		w.state.Apply(ledger.Changes{Put: ledger.State{Refusals: map[ledger.RefusalKey]ledger.Refusal{key: refusal}}})
		tt.so(w)
		_, p := w.make(now.Add(tt.after))
		dropped := slices.Contains(p.Changes.Drop.Refusals, key)
		expect.That(t, dropped != tt.kept, "%s: dropped %v", name, dropped)
	}
}
