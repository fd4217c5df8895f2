package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// table is the DynamoDB table of the ledger: it outlives every invocation.
type table struct {
	memory *ledger.Memory
	sizes  map[string]map[string]int // nodes, by region and cluster
}

func newTable() *table {
	return &table{memory: ledger.NewMemory(), sizes: map[string]map[string]int{}}
}

// state is what is remembered of a cluster, for who looks on: it costs no call.
func (t *table) state(cluster roll.ClusterID) ledger.State {
	s, err := t.memory.Read(context.Background(), cluster)
	if err != nil {
		panic(err) // a memory always answers
	}
	return s
}

// remembering is the table as an environment asks it: each method makes the calls that
// ledger.Dynamo makes, so that it can die, or lose an answer, between any two of them.
type remembering struct{ v *env }

var (
	_ ledger.Ledger = remembering{}
	_ ledger.Fleet  = remembering{}
)

// Persistent implements ledger.Ledger.
func (remembering) Persistent() bool { return true }

func (r remembering) table() *table { return r.v.a.dep.table }

// query reads the items of a cluster.
func (r remembering) query(ctx context.Context, cluster roll.ClusterID) (s ledger.State, err error) {
	err = r.v.call(ctx, "dynamodb:Query", reads, "", func() error {
		s = r.table().state(cluster)
		return nil
	})
	if err != nil {
		return ledger.State{}, fmt.Errorf("read ledger of %s: %w", cluster, err)
	}
	return s, nil
}

// write makes a change in one step.
func (r remembering) write(ctx context.Context, call string, change func() error) error {
	return r.v.call(ctx, "dynamodb:"+call, writes, "", change)
}

// Read implements ledger.Ledger.
func (r remembering) Read(ctx context.Context, cluster roll.ClusterID) (ledger.State, error) {
	return r.query(ctx, cluster)
}

// perWrite is how many items one transaction takes, beside the version of the notices.
const perWrite = 99

// Record implements ledger.Ledger.
func (r remembering) Record(ctx context.Context, cluster roll.ClusterID, changes ledger.Changes) error {
	if changes.Empty() {
		return nil
	}
	if len(changes.PutNotices)+len(changes.DropNotices) > 0 { // which parts of notices there are
		if _, err := r.query(ctx, cluster); err != nil {
			return err
		}
	}
	items := inOrder(changes)
	for step := range slices.Chunk(items, perWrite) {
		err := r.write(ctx, "TransactWriteItems", func() error {
			if v := changes.NoticesVersion; v != 0 && v != r.table().state(cluster).NoticesVersion {
				return ledger.ErrNoticesMoved
			}
			var faults []error
			for _, item := range step {
				faults = append(faults, r.table().memory.Record(ctx, cluster, item))
			}
			return errors.Join(faults...)
		})
		if err != nil {
			return fmt.Errorf("record changes of %s: %w", cluster, err)
		}
	}
	return nil
}

// RaiseNotices implements ledger.Ledger.
func (r remembering) RaiseNotices(ctx context.Context, cluster roll.ClusterID, read int64) error {
	return r.write(ctx, "UpdateItem", func() error { return r.table().memory.RaiseNotices(ctx, cluster, read) })
}

// Begin implements ledger.Ledger. Dynamo reads, decides and then writes if nothing has
// begun since, until it gets through: that comes to deciding at the write.
func (r remembering) Begin(ctx context.Context, cluster roll.ClusterID, intent ledger.Action, budget ledger.Budget) error {
	if err := r.v.call(ctx, "dynamodb:GetItem", reads, "", func() error { return nil }); err != nil {
		return fmt.Errorf("read budget of %s: %w", cluster, err)
	}
	if _, err := r.query(ctx, cluster); err != nil {
		return err
	}
	return r.write(ctx, "TransactWriteItems", func() error { return r.table().memory.Begin(ctx, cluster, intent, budget) })
}

// Finish implements ledger.Ledger.
func (r remembering) Finish(ctx context.Context, cluster roll.ClusterID, actionID string, outcome ledger.Outcome) error {
	s, err := r.query(ctx, cluster)
	if err != nil {
		return err
	}
	switch a, begun := s.Action(actionID); {
	case !begun:
		return fmt.Errorf("outcome of order %s: %w", actionID, ledger.ErrNotBegun)
	case a.Outcome != nil:
		return nil // the first outcome stands
	}
	return r.write(ctx, "UpdateItem", func() error { return r.table().memory.Finish(ctx, cluster, actionID, outcome) })
}

// Sizes implements ledger.Fleet.
func (r remembering) Sizes(ctx context.Context, region string) (sizes map[string]int, err error) {
	err = r.v.call(ctx, "dynamodb:Query", reads, "", func() error {
		sizes = maps.Clone(r.table().sizes[region])
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sizes of clusters: %w", err)
	}
	if sizes == nil {
		sizes = map[string]int{}
	}
	return sizes, nil
}

// PutSize implements ledger.Fleet.
func (r remembering) PutSize(ctx context.Context, region, cluster string, nodes int) error {
	return r.write(ctx, "UpdateItem", func() error {
		sizes := r.table().sizes
		if sizes[region] == nil {
			sizes[region] = map[string]int{}
		}
		sizes[region][cluster] = nodes
		return nil
	})
}

// items are changes of one item each.
type items []ledger.Changes

// inOrder takes changes apart in the order in which the ledger writes what is too much
// for one transaction; shared/ledger/README.md says why it is this one. What is both put
// and dropped is dropped.
func inOrder(c ledger.Changes) []ledger.Changes {
	var w items
	w.holds(c)
	for _, f := range c.PutFindings {
		if !slices.Contains(c.DropFindings, f.Key()) {
			w = append(w, ledger.Changes{PutFindings: []ledger.Finding{f}})
		}
	}
	puts(&w, named(c.PutNotices, c.DropNotices), func(m map[ledger.NoticeKey]ledger.Notice) ledger.Changes { return ledger.Changes{PutNotices: m} })
	puts(&w, named(c.PutRefusals, c.DropRefusals), func(m map[ledger.RefusalKey]ledger.Refusal) ledger.Changes { return ledger.Changes{PutRefusals: m} })
	if !c.PutFirst.IsZero() {
		w = append(w, ledger.Changes{PutFirst: c.PutFirst})
	}
	if !c.PutChecked.IsZero() {
		w = append(w, ledger.Changes{PutChecked: c.PutChecked})
	}
	w.drops(c)
	w.permits(c)
	return w
}

// holds adds what holds back or gives more time, and what findings rest on.
func (w *items) holds(c ledger.Changes) {
	if c.PutTrouble != nil && !c.DropTrouble {
		*w = append(*w, ledger.Changes{PutTrouble: c.PutTrouble})
	}
	puts(w, named(c.PutMissing, c.DropMissing), func(m map[roll.InstanceID]time.Time) ledger.Changes { return ledger.Changes{PutMissing: m} })
	drops(w, c.DropMissing, func(d []roll.InstanceID) ledger.Changes { return ledger.Changes{DropMissing: d} })
	puts(w, named(c.PutRemediate, c.DropRemediate), func(m map[roll.Group]time.Time) ledger.Changes { return ledger.Changes{PutRemediate: m} })
	puts(w, named(c.PutGroups, c.DropGroups), func(m map[roll.Origin]time.Time) ledger.Changes { return ledger.Changes{PutGroups: m} })
	puts(w, named(c.PutRests, c.DropRests), func(m map[roll.InstanceID]ledger.Rest) ledger.Changes { return ledger.Changes{PutRests: m} })
	puts(w, named(c.PutNotReady, c.DropNotReady), func(m map[roll.InstanceID]ledger.NotReady) ledger.Changes { return ledger.Changes{PutNotReady: m} })
	puts(w, named(c.PutFlips, c.DropFlips), func(m map[roll.InstanceID][]time.Time) ledger.Changes { return ledger.Changes{PutFlips: m} })
	puts(w, named(c.PutPressures, c.DropPressures), func(m map[roll.InstanceID]ledger.Pressure) ledger.Changes { return ledger.Changes{PutPressures: m} })
	puts(w, named(c.PutSpot, c.DropSpot), func(m map[ledger.SpotKey]time.Time) ledger.Changes { return ledger.Changes{PutSpot: m} })
}

// drops adds what is forgotten.
func (w *items) drops(c ledger.Changes) {
	drops(w, c.DropRemediate, func(d []roll.Group) ledger.Changes { return ledger.Changes{DropRemediate: d} })
	drops(w, c.DropFindings, func(d []roll.FindingKey) ledger.Changes { return ledger.Changes{DropFindings: d} })
	drops(w, c.DropNotices, func(d []ledger.NoticeKey) ledger.Changes { return ledger.Changes{DropNotices: d} })
	drops(w, c.DropRefusals, func(d []ledger.RefusalKey) ledger.Changes { return ledger.Changes{DropRefusals: d} })
	drops(w, c.DropGroups, func(d []roll.Origin) ledger.Changes { return ledger.Changes{DropGroups: d} })
	drops(w, c.DropNotReady, func(d []roll.InstanceID) ledger.Changes { return ledger.Changes{DropNotReady: d} })
	drops(w, c.DropRests, func(d []roll.InstanceID) ledger.Changes { return ledger.Changes{DropRests: d} })
	drops(w, c.DropFlips, func(d []roll.InstanceID) ledger.Changes { return ledger.Changes{DropFlips: d} })
	drops(w, c.DropPressures, func(d []roll.InstanceID) ledger.Changes { return ledger.Changes{DropPressures: d} })
	drops(w, c.DropSpot, func(d []ledger.SpotKey) ledger.Changes { return ledger.Changes{DropSpot: d} })
}

// permits adds what lets acts go on that were held back.
func (w *items) permits(c ledger.Changes) {
	puts(w, named(c.PutGroupMemory, c.DropGroupMemory), func(m map[roll.Group]ledger.GroupMemory) ledger.Changes { return ledger.Changes{PutGroupMemory: m} })
	drops(w, c.DropGroupMemory, func(d []roll.Group) ledger.Changes { return ledger.Changes{DropGroupMemory: d} })
	if c.DropTrouble {
		*w = append(*w, ledger.Changes{DropTrouble: true})
	}
}

// entry is one entry of a map.
type entry[K comparable, V any] struct {
	key   K
	value V
}

// named lists the entries of a map that are not dropped too, in the order of their keys.
func named[K comparable, V any](m map[K]V, dropped []K) []entry[K, V] {
	var all []entry[K, V]
	for k, v := range m {
		if !slices.Contains(dropped, k) {
			all = append(all, entry[K, V]{k, v})
		}
	}
	slices.SortFunc(all, func(a, b entry[K, V]) int { return compareText(a.key, b.key) })
	return all
}

func compareText(a, b any) int {
	s, t := fmt.Sprint(a), fmt.Sprint(b)
	switch {
	case s < t:
		return -1
	case s > t:
		return 1
	}
	return 0
}

func puts[K comparable, V any](w *items, all []entry[K, V], change func(map[K]V) ledger.Changes) {
	for _, e := range all {
		*w = append(*w, change(map[K]V{e.key: e.value}))
	}
}

func drops[K any](w *items, keys []K, change func([]K) ledger.Changes) {
	for _, k := range keys {
		*w = append(*w, change([]K{k}))
	}
}
