package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/roll"
)

// Record implements Ledger. Up to 100 items are written all or none; README.md tells
// what a crash between two such writes leaves, and why nothing is lost by it.
func (d *Dynamo) Record(ctx context.Context, cluster roll.ClusterID, changes Changes) error {
	if changes.Empty() {
		return nil
	}
	var left []toldItem
	if len(changes.PutNotices)+len(changes.DropNotices) > 0 {
		var err error
		if left, err = d.toldParts(ctx, cluster); err != nil {
			return err
		}
	}
	units, err := d.units(partition(cluster), changes, left)
	if err != nil {
		return fmt.Errorf("record changes of %s: %w", cluster, err)
	}
	chunks := chunked(units)
	for i, c := range chunks {
		if err := d.insist(ctx, func() error { return d.transact(ctx, c) }); err != nil {
			return fmt.Errorf("record changes of %s, %d of %d writes made: %w", cluster, i, len(chunks), err)
		}
	}
	return nil
}

// toldParts are the parts of notices that there are, needed or left over.
func (d *Dynamo) toldParts(ctx context.Context, cluster roll.ClusterID) ([]toldItem, error) {
	items, err := d.query(ctx, cluster, kindTold+"#")
	if err != nil {
		return nil, err
	}
	var out []toldItem
	for _, it := range items {
		p, err := toldOf(it)
		if err != nil {
			return nil, fmt.Errorf("read notices of %s in table %s: %w", cluster, d.table, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// unit is what must be written together.
type unit []types.TransactWriteItem

func (u unit) bytes() int {
	n := 0
	for _, w := range u {
		if w.Put != nil {
			n += sizeOf(w.Put.Item)
		} else {
			n += 1000 // a key's length, at most about
		}
	}
	return n
}

// The limits of a transaction are 100 items and 4 MB (TransactWriteItems in the API
// reference); sizes are estimated, so a margin is left.
const (
	unitsPerWrite = 100
	bytesPerWrite = 3_500_000
)

// chunked packs units into as few transactions as their order allows.
func chunked(units []unit) []unit {
	var out []unit
	size := 0
	for _, u := range units {
		n := u.bytes()
		if len(out) == 0 || len(out[len(out)-1])+len(u) > unitsPerWrite || size+n > bytesPerWrite {
			out, size = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], u...)
		size += n
	}
	return out
}

// draft collects units in order. A later one for the same key replaces the earlier,
// since a transaction takes a key once only.
type draft struct {
	d     *Dynamo
	pk    string
	order []string
	units map[string]unit
	err   error
}

func (w *draft) set(sk string, u unit) {
	if _, ok := w.units[sk]; !ok {
		w.order = append(w.order, sk)
	}
	w.units[sk] = u
}

func (w *draft) put(sk string, v any) {
	it, err := encode(w.pk, sk, v)
	w.err = errors.Join(w.err, err)
	w.set(sk, unit{w.d.put(it)})
}

func (w *draft) drop(sk string) { w.set(sk, unit{w.d.drop(w.pk, sk)}) }

// units are the writes that make the changes, in an order in which any beginning of
// them permits nothing that neither the old nor the new memory would: first what holds
// back or gives more time, then the findings that acts rest on, then what was told; and
// what is forgotten last, so that trouble which takes another form is never absent in
// both.
func (d *Dynamo) units(pk string, c Changes, left []toldItem) ([]unit, error) {
	w := &draft{d: d, pk: pk, units: map[string]unit{}}
	for _, g := range slices.Sorted(maps.Keys(c.PutRemediate)) {
		w.put(remediateSort(g), sinceItem{Name: string(g), Since: c.PutRemediate[g]})
	}
	for _, g := range slices.Sorted(maps.Keys(c.PutGroups)) {
		w.put(groupSort(g), sinceItem{Name: g, Since: c.PutGroups[g]})
	}
	for _, id := range slices.Sorted(maps.Keys(c.PutRests)) {
		w.put(restSort(id), restItem{Instance: id, Rest: c.PutRests[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(c.PutNotReady)) {
		w.put(notReadySort(id), notReadyItem{Instance: id, NotReady: c.PutNotReady[id]})
	}
	for _, f := range c.PutFindings {
		w.put(findingSort(f.Key()), f)
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.PutNotices), compareNotices) {
		n := c.PutNotices[k]
		items, err := noticeItems(pk, k, n)
		w.err = errors.Join(w.err, err)
		var u unit
		for _, it := range items {
			u = append(u, d.put(it))
		}
		u = append(u, w.surplus(left, k, len(items))...)
		if size := u.bytes(); size > bytesPerWrite {
			w.err = errors.Join(w.err, fmt.Errorf("the notice of %s in %s names %d instances, %d bytes; one write takes %d", k.Kind, k.Group, len(n.Members), size, bytesPerWrite))
		}
		w.set(noticeSort(k), u)
	}
	for _, g := range c.DropRemediate {
		w.drop(remediateSort(g))
	}
	for _, k := range c.DropFindings {
		w.drop(findingSort(k))
	}
	for _, k := range c.DropNotices {
		w.set(noticeSort(k), append(unit{d.drop(pk, noticeSort(k))}, w.surplus(left, k, 1)...))
	}
	for _, id := range c.DropNotReady {
		w.drop(notReadySort(id))
	}
	for _, id := range c.DropRests {
		w.drop(restSort(id))
	}
	var out []unit
	for _, sk := range w.order {
		out = append(out, w.units[sk])
	}
	return out, w.err
}

// surplus deletes the parts of a notice from the number on.
func (w *draft) surplus(left []toldItem, k NoticeKey, from int) (u unit) {
	for _, p := range left {
		if p.Group == k.Group && p.Kind == k.Kind && p.Part >= from {
			u = append(u, w.d.drop(w.pk, toldSort(k, p.Part)))
		}
	}
	return u
}

func compareNotices(a, b NoticeKey) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
}
