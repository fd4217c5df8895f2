package plan

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// ended returns a world whose first instance, with a silent node, was terminated by Rollcall and is
// terminated in EC2.
func ended(t *testing.T, doc string) *world {
	t.Helper()
	w := sick()
	_, p := w.make(now)
	w.did(t, p, now, done(now))
	w.doc = with(doc)
	w.snapshot.Instances[0].State = roll.StateTerminated
	return w
}

// marks returns the orders and holds of that act, with the reasons of the holds.
func marks(p Plan) (out []string) {
	for _, o := range p.Orders {
		if o.Action == OutOfService {
			out = append(out, "order "+o.Node)
		}
	}
	for _, h := range p.Held {
		if h.Action == OutOfService {
			out = append(out, string(h.Reason))
		}
	}
	return out
}

// The taint forces pods and volumes off a node: only if the policy enables it, and only once the
// machine is certainly off.
func TestAnEndedNodeIsMarkedAsOutOfService(t *testing.T) {
	const asked = "silentNode: {outOfServiceTaint: true}\n"
	tests := map[string]struct {
		doc   string
		spoil func(*world)
		want  []string
	}{
		"the policy asks for it":    {asked, func(*world) {}, []string{"order node-1"}},
		"the policy does not":       {"", func(*world) {}, nil},
		"it asks for another group": {"overrides: [{match: {group: asg/x}, silentNode: {outOfServiceTaint: true}}]\n", func(*world) {}, nil},
		"it asks for this group":    {"overrides: [{match: {group: asg/w}, silentNode: {outOfServiceTaint: true}}]\n", func(*world) {}, []string{"order node-1"}},
		"it is shutting down":       {asked, func(w *world) { w.snapshot.Instances[0].State = roll.StateShuttingDown }, nil},
		"it runs":                   {asked, func(w *world) { w.snapshot.Instances[0].State = roll.StateRunning }, nil},
		"it is stopped":             {asked, func(w *world) { w.snapshot.Instances[0].State = roll.StateStopped }, nil},
		"EC2 does not show it":      {asked, func(w *world) { w.snapshot.Instances = w.snapshot.Instances[1:] }, nil},
		"its node is gone":          {asked, func(w *world) { w.snapshot.Nodes = w.snapshot.Nodes[1:] }, nil},
		"its node is being deleted": {asked, func(w *world) { w.snapshot.Nodes[0].DeletedAt = now.Add(-time.Minute) }, nil},
		"its node is Ready":         {asked, func(w *world) { w.snapshot.Nodes[0].Ready.Status = roll.ConditionTrue }, nil},
		"another instance has its name": {asked, func(w *world) {
			heir := w.snapshot.Instances[1]
			heir.ID, heir.PrivateDNS, heir.State = instanceID(99), w.snapshot.Nodes[0].Name, roll.StateRunning
			w.snapshot.Instances = append(w.snapshot.Instances, heir)
		}, nil},
		"somebody else ended it":   {asked, func(w *world) { w.state.Actions = nil }, nil},
		"its end failed":           {asked, func(w *world) { w.state.Actions[0].Outcome.Result = ledger.Failed }, nil},
		"its end is not known yet": {asked, func(w *world) { w.state.Actions[0].Outcome = nil }, nil},
		"the look was not whole": {asked, func(w *world) {
			w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled}}
		}, nil},
		"mode observe":    {asked, func(w *world) { w.mode = policy.Observe }, []string{"ModeObserve"}},
		"a person's hold": {asked, func(w *world) { w.snapshot.Instances[0].Hold = "true" }, []string{"InstanceHeld"}},
	}
	for name, tt := range tests {
		w := ended(t, tt.doc)
		tt.spoil(w)
		if _, p := w.make(now.Add(time.Minute)); !slices.Equal(marks(p), tt.want) {
			t.Errorf("%s: %v, want %v", name, marks(p), tt.want)
		}
	}
}

func TestANodeIsMarkedOnce(t *testing.T) {
	w := ended(t, "silentNode: {outOfServiceTaint: true}\n")
	at := now.Add(time.Minute)
	_, p := w.make(at)
	i := slices.IndexFunc(p.Orders, func(o Order) bool { return o.Action == OutOfService })
	must.That(t, i >= 0, "orders %+v", p.Orders)
	o := p.Orders[i]
	act := ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Node: o.Node, Group: o.Group, Kind: o.Kind, At: at, Free: true}
	for name, tt := range map[string]struct {
		outcome *ledger.Outcome
		want    []string
	}{
		"done":            {done(at), nil},
		"failed":          {&ledger.Outcome{Result: ledger.Failed, At: at, Detail: "no"}, []string{"ActionFailed"}},
		"nobody knows":    {nil, []string{"order node-1"}},
		"failed long ago": {&ledger.Outcome{Result: ledger.Failed, At: at.Add(-time.Hour), Detail: "no"}, []string{"order node-1"}},
	} {
		again := act
		again.Outcome = tt.outcome
		before := w.state.Actions
		w.state.Actions = append(slices.Clone(before), again)
		if _, p := w.make(at.Add(time.Minute)); !slices.Equal(marks(p), tt.want) {
			t.Errorf("%s: %v, want %v", name, marks(p), tt.want)
		}
		w.state.Actions = before
	}
}
