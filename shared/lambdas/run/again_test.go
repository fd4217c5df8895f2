package run

import (
	"context"
	"io/fs"
	"maps"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/diagnose"
	"rollcall/shared/ledger"
	"rollcall/shared/observe"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/collect"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// captured is a captured cluster. It is observed as by a check, and as by the function that
// carries out an order.
type captured struct {
	bundle   *bundle.Bundle
	observer *observe.Observer
	doc      *policy.Document
}

func open(t *testing.T, fsys fs.FS, doc *policy.Document) captured {
	t.Helper()
	b, err := bundle.OpenFS(fsys)
	must.Succeed(t, err)
	return captured{b, observe.New(observe.Options{AWS: b.AWS(), Kube: b.Kube(), PageInterval: time.Nanosecond}), doc}
}

// look returns the plan for the whole cluster, or for one instance. The memory is that of
// an earlier check, nil for the first one.
func (c captured) look(t *testing.T, target roll.InstanceID, now time.Time, memory *ledger.State) (plan.Plan, ledger.State) {
	t.Helper()
	name := c.bundle.ClusterID().Name
	s := c.observer.Snapshot
	if target != "" {
		s = func(ctx context.Context, cluster string, at time.Time, watch roll.Watch) *roll.Snapshot {
			return c.observer.Target(ctx, cluster, target, at, watch)
		}
	}
	snapshot := s(t.Context(), name, now, c.doc.Watch())
	pol := c.doc.Cluster(name, "", policy.Remediate)
	var state ledger.State
	if memory != nil {
		state = *memory
	}
	a := assess.Thoroughly(assess.Input{Snapshot: snapshot, Policy: pol, State: state, Now: now, Presume: memory == nil},
		func(q []roll.Question) { c.observer.Details(t.Context(), snapshot, q) })
	why := diagnose.Diagnose(collect.New(collect.Options{AWS: c.bundle.AWS(), Kube: c.bundle.Kube()}).Collect(t.Context(), collect.Input{Snapshot: snapshot, Findings: a.Findings, State: state}))
	if memory == nil {
		state = confirmed(state, a.Findings, snapshot.Cluster.Created, now)
		state.Apply(ledger.Changes{Put: ledger.State{Groups: maps.Clone(a.Groups)}})
	}
	return plan.Make(plan.Input{Snapshot: snapshot, Assessment: a, State: state, Diagnoses: why, Policy: pol, Now: now}), state
}

// The function that carries out an order observes one instance only. It must reach the same
// order as the check, or the order would be given and refused endlessly.
func TestASecondLookAtOneInstanceComesToTheSameOrder(t *testing.T) {
	doc, err := policy.Parse([]byte("apiVersion: rollcall/v1\nmode: remediate\nowners: {karpenter: terminate, none: terminate}\nlimits: {causeOutside: tryOnce}\n"))
	must.Succeed(t, err)
	ordered := 0
	for _, made := range generate.All() {
		c := open(t, made.FS(), doc)
		at, _ := c.bundle.At()
		p, memory := c.look(t, "", at, nil)
		for _, o := range p.Orders {
			ordered++
			again, _ := c.look(t, o.Instance, at, &memory)
			if len(again.Orders) != 1 || again.Orders[0].ID != o.ID || again.Orders[0].Action != o.Action {
				t.Errorf("%s: a check orders to %s %s, a second look %+v; held %+v", made.Name, o.Action, o.Instance, again.Orders, again.Held)
			}
		}
	}
	expect.That(t, ordered >= 50, "only %d orders were compared", ordered)
}
