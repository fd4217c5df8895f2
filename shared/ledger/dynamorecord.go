package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/roll"
)

// Record implements Ledger. Up to 99 items are one transaction. README.md explains what a
// crash between two transactions leaves, and why it loses nothing.
func (d *Dynamo) Record(ctx context.Context, cluster roll.ClusterID, changes Changes) error {
	if changes.Empty() {
		return nil
	}
	var left []toldItem
	if len(changes.Put.Notices)+len(changes.Drop.Notices) > 0 {
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
		if v := changes.NoticesVersion; v != 0 {
			c = append(c, types.TransactWriteItem{Update: d.notices(cluster, v, v)})
		}
		err := d.retry(ctx, func() error { return d.transact(ctx, c) })
		if awserr.IsConditionFailed(err) { // the only condition
			err = fmt.Errorf("%w: %w", ErrNoticesMoved, err)
		}
		if err != nil {
			return fmt.Errorf("record changes of %s, %d of %d writes made: %w", cluster, i, len(chunks), err)
		}
	}
	return nil
}

// notices returns the update of the notices' version from the one that was read.
func (d *Dynamo) notices(cluster roll.ClusterID, read, next int64) *types.Update {
	u := &types.Update{
		TableName: &d.table, Key: key(partition(cluster), kindNotices.name),
		UpdateExpression:          aws.String("SET #version = :next"),
		ConditionExpression:       aws.String("#version = :read"),
		ExpressionAttributeNames:  map[string]string{"#version": "version"},
		ExpressionAttributeValues: item{":next": number(next), ":read": number(read)},
	}
	if read == 0 {
		u.ConditionExpression = aws.String("attribute_not_exists(pk)")
		delete(u.ExpressionAttributeValues, ":read")
	}
	return u
}

// RaiseNotices implements Ledger. If an answer is lost, the SDK's retry may conflict with
// its own first call and return ErrNoticesMoved. Then this check sends nothing, and the
// next one does.
func (d *Dynamo) RaiseNotices(ctx context.Context, cluster roll.ClusterID, read int64) error {
	u := d.notices(cluster, read, read+1)
	err := d.retry(ctx, func() error {
		_, err := d.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ConditionExpression: u.ConditionExpression,
			ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		})
		return err
	})
	if awserr.IsConditionFailed(err) {
		return fmt.Errorf("%w: %w", ErrNoticesMoved, err)
	}
	if err != nil {
		return fmt.Errorf("raise the version of the notices of %s in table %s: %w", cluster, d.table, err)
	}
	return nil
}

// toldParts returns the stored parts of notices, including those left over.
func (d *Dynamo) toldParts(ctx context.Context, cluster roll.ClusterID) ([]toldItem, error) {
	items, err := d.query(ctx, cluster, kindTold+"#")
	if err != nil {
		return nil, err
	}
	var out []toldItem
	for _, it := range items {
		p, err := toldItemOf(it)
		if err != nil {
			return nil, fmt.Errorf("read notices of %s in table %s: %w", cluster, d.table, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// unit is a set of writes that must stay in one transaction.
type unit []types.TransactWriteItem

func (u unit) bytes() int {
	n := 0
	for _, w := range u {
		if w.Put != nil {
			n += sizeOf(w.Put.Item)
		} else {
			n += 1000 // about the longest key
		}
	}
	return n
}

// A transaction takes 100 items, one of which may be the notices' version, and 4 MB
// (TransactWriteItems in the API reference). Sizes are estimates, hence the margin.
const (
	unitsPerWrite = 99
	bytesPerWrite = 3_500_000
)

// chunked packs units into transactions, in order.
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

// draft collects units in order.
type draft struct {
	d     *Dynamo
	pk    string
	left  []toldItem // the stored parts of notices
	order []string
	units map[string]unit
	err   error
}

// set adds a unit. It replaces an earlier unit of the same key, since a transaction takes
// each key once, and moves it to the end: a put and a drop become a drop, at the place of
// drops.
func (w *draft) set(sk string, u unit) {
	if _, again := w.units[sk]; again {
		w.order = slices.DeleteFunc(w.order, func(s string) bool { return s == sk })
	}
	w.order = append(w.order, sk)
	w.units[sk] = u
}

func (w *draft) put(sk string, it item, err error) {
	w.err = errors.Join(w.err, err)
	w.set(sk, unit{w.d.put(it)})
}

func (w *draft) drop(sk string) { w.set(sk, unit{w.d.drop(w.pk, sk)}) }

// order is the order of writes. After any prefix of it the table permits only acts that the
// old or the new memory permits. README.md explains each step.
var order = []func(*draft, *Changes){
	kindTrouble.puts, kindMissing.puts, kindMissing.drops, kindRemediate.puts, kindGroup.puts, kindRest.puts,
	kindNotReady.puts, kindFlips.puts, kindPressure.puts, kindSpot.puts,
	kindFinding.puts,
	(*draft).putNotices, kindRefusal.puts,
	kindFirst.puts, kindChecked.puts,
	kindRemediate.drops, kindFinding.drops, (*draft).dropNotices, kindRefusal.drops, kindGroup.drops,
	kindNotReady.drops, kindRest.drops, kindFlips.drops, kindPressure.drops, kindSpot.drops,
	kindMemory.puts, kindMemory.drops, kindTrouble.drops,
}

// units returns the writes for the changes, in order.
func (d *Dynamo) units(pk string, c Changes, left []toldItem) ([]unit, error) {
	w := &draft{d: d, pk: pk, left: left, units: map[string]unit{}}
	for _, add := range order {
		add(w, &c)
	}
	var out []unit
	for _, sk := range w.order {
		out = append(out, w.units[sk])
	}
	return out, w.err
}

func (k many[K, V]) puts(w *draft, c *Changes) {
	put := *k.of(&c.Put)
	for _, key := range slices.SortedFunc(maps.Keys(put), func(a, b K) int { return cmp.Compare(k.sortKey(a), k.sortKey(b)) }) {
		it, err := k.item(w.pk, key, put[key])
		w.put(k.sortKey(key), it, err)
	}
}

func (k many[K, V]) drops(w *draft, c *Changes) {
	_, drop := k.in(&c.Put, &c.Drop)
	for _, key := range drop {
		w.drop(k.sortKey(key))
	}
}

func (k one[V]) puts(w *draft, c *Changes) {
	if v := *k.of(&c.Put); v != *new(V) {
		it, err := encode(w.pk, k.name, part{k.value, v})
		w.put(k.name, it, err)
	}
}

func (k one[V]) drops(w *draft, c *Changes) {
	if _, drop := k.in(&c.Put, &c.Drop); drop {
		w.drop(k.name)
	}
}

// putNotices writes each notice with all its parts, and deletes the parts left over.
func (w *draft) putNotices(c *Changes) {
	for _, k := range slices.SortedFunc(maps.Keys(c.Put.Notices), NoticeKey.Compare) {
		items, err := noticeItems(w.pk, k, c.Put.Notices[k])
		w.err = errors.Join(w.err, err)
		var u unit
		for _, it := range items {
			u = append(u, w.d.put(it))
		}
		u = append(u, w.surplus(k, len(items))...)
		if size := u.bytes(); size > bytesPerWrite {
			w.err = errors.Join(w.err, fmt.Errorf("the notice of %s in %s names %d instances, %d bytes; one write takes %d", k.Kind, k.Group, len(c.Put.Notices[k].Members), size, bytesPerWrite))
		}
		w.set(kindNotice.sortKey(k), u)
	}
}

func (w *draft) dropNotices(c *Changes) {
	for _, k := range c.Drop.Notices {
		sk := kindNotice.sortKey(k)
		w.set(sk, append(unit{w.d.drop(w.pk, sk)}, w.surplus(k, 1)...))
	}
}

// surplus returns deletes of the stored parts of a notice, from a number on.
func (w *draft) surplus(k NoticeKey, from int) (u unit) {
	for _, p := range w.left {
		if p.NoticeKey == k && p.Part >= from {
			u = append(u, w.d.drop(w.pk, p.sortKey()))
		}
	}
	return u
}
