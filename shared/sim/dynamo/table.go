// Package dynamo is a simulated table of DynamoDB: conditional writes, transactions that appear
// one item after the other, eventually consistent reads, pages, limits and TTL. What it does not
// know of a request is ErrUnsimulated: an answer that leaves a condition out would hide what the
// condition is for.
package dynamo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is one item of a table. It is never changed: a write makes another.
type Item = map[string]types.AttributeValue

// The attributes of the table's key, and of its TTL, as the template has them.
const (
	PartitionKey = "pk"
	SortKey      = "sk"
	TTLAttribute = "expires"
)

// The limits of DynamoDB.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	itemLimit        = 400 << 10
	transactionItems = 100
	transactionLimit = 4 << 20
	pageLimit        = 1 << 20
	tokenKept        = 10 * time.Minute
	// StaleFor is how old the answer of an eventually consistent read may be.
	StaleFor = time.Second
)

// ErrUnsimulated is the error of a request that DynamoDB may well know, and this table does not.
var ErrUnsimulated = errors.New("this request is not simulated")

// Clock is the time of a table.
type Clock struct {
	Start   time.Time
	Elapsed func() time.Duration // since the start
	In      func(time.Duration, func())
}

// Table is a table. One call is made at a time.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html says
// what a transaction promises, and to whom.
type Table struct {
	name  string
	clock Clock
	// late is how long after its time TTL deletes an item.
	late       func(pk, sk string) time.Duration
	missing    bool // there is no such table
	partitions map[string]*partition
	tokens     map[string]time.Duration // of transactions that were made, and when
	changes    int
}

// partition holds the items of one partition key.
type partition struct {
	records []*record // in the order of their sort keys
	version int       // of the last change
	dead    []*record // that were deleted, and may still be read by an eventually consistent read
}

// record is what is under a key: what is there, what was until a moment ago, and what a
// transaction that is being committed makes of it.
type record struct {
	pk, sk   string
	versions []version // the latest is last
	taken    bool      // by a transaction that is being committed
	coming   Item      // what that makes of it
}

// version is what a record was from some time on; an item of nil is nothing.
type version struct {
	since time.Duration
	item  Item
	size  int
	gone  time.Duration // when TTL deletes it
}

// New is an empty table. late is how long after its time TTL deletes the item of a key.
func New(name string, clock Clock, late func(pk, sk string) time.Duration) *Table {
	t := &Table{name: name, clock: clock, late: late}
	t.Create()
	return t
}

// Drop deletes the table.
func (t *Table) Drop() {
	t.Create()
	t.missing = true
}

// Create makes the table anew.
func (t *Table) Create() {
	t.missing = false
	t.partitions, t.tokens = map[string]*partition{}, map[string]time.Duration{}
}

// Version grows with each change of a partition; 0 is one without items.
func (t *Table) Version(pk string) int {
	if p := t.partitions[pk]; p != nil {
		return p.version
	}
	return 0
}

// All is what a partition holds, with what is being committed.
func (t *Table) All(pk string) (items []Item) {
	p := t.partitions[pk]
	if p == nil {
		return nil
	}
	now := t.clock.Elapsed()
	for _, r := range p.records {
		it := r.coming
		if !r.taken {
			it, _ = r.at(now, now)
		}
		if it != nil {
			items = append(items, it)
		}
	}
	return items
}

func (t *Table) changed(p *partition) {
	t.changes++
	p.version = t.changes
}

// at is what the record was at a time, and how large, for who reads it now.
func (r *record) at(t, now time.Duration) (Item, int) {
	for _, v := range slices.Backward(r.versions) {
		if v.since <= t {
			if now >= v.gone {
				return nil, 0
			}
			return v.item, v.size
		}
	}
	return nil, 0
}

// find returns where a sort key is among the records of a partition, or belongs.
func (p *partition) find(sk string) (int, bool) {
	return sort.Find(len(p.records), func(i int) int { return strings.Compare(sk, p.records[i].sk) })
}

// record is the one under a key, made if there is none.
func (t *Table) record(pk, sk string) *record {
	p := t.partitions[pk]
	if p == nil {
		p = &partition{}
		t.partitions[pk] = p
	}
	i, ok := p.find(sk)
	if !ok {
		p.records = slices.Insert(p.records, i, &record{pk: pk, sk: sk})
	}
	return p.records[i]
}

// under is the record under a key, nil if there is none.
func (t *Table) under(pk, sk string) *record {
	if p := t.partitions[pk]; p != nil {
		if i, ok := p.find(sk); ok {
			return p.records[i]
		}
	}
	return nil
}

// as is what a read shows of a record, of up to an age.
func (t *Table) as(r *record, age time.Duration) (Item, int) {
	if r == nil {
		return nil, 0
	}
	now := t.clock.Elapsed()
	return r.at(now-age, now)
}

// write puts an item in a record, or nothing.
func (t *Table) write(r *record, it Item) {
	p := t.partitions[r.pk]
	if p == nil { // the table was deleted meanwhile
		return
	}
	t.changed(p)
	now := t.clock.Elapsed()
	v := version{since: now, item: it, size: sizeOf(it), gone: 1<<63 - 1}
	if n, ok := it[TTLAttribute].(*types.AttributeValueMemberN); ok {
		// "no more than 5 years in the past": Using time to live in the developer guide.
		seconds, err := strconv.ParseInt(n.Value, 10, 64)
		if at := time.Unix(seconds, 0); err == nil && at.After(t.clock.Start.Add(now).AddDate(-5, 0, 0)) {
			v.gone = at.Add(t.late(r.pk, r.sk)).Sub(t.clock.Start)
		}
	}
	kept := 0 // versions that nobody can read any more
	for kept+1 < len(r.versions) && r.versions[kept+1].since <= now-StaleFor {
		kept++
	}
	r.versions = append(r.versions[kept:], v)
	if it == nil {
		p.dead = append(p.dead, r)
	}
	p.bury(now)
}

// bury takes out the records that were deleted so long ago that no read shows them.
func (p *partition) bury(now time.Duration) {
	for len(p.dead) > 0 {
		r := p.dead[0]
		last := r.versions[len(r.versions)-1]
		if last.item == nil && (r.taken || last.since > now-StaleFor) {
			return
		}
		if last.item == nil {
			if i, ok := p.find(r.sk); ok && p.records[i] == r {
				p.records = slices.Delete(p.records, i, i+1)
			}
		}
		p.dead = p.dead[1:]
	}
}

// change is one write that was read from a request.
type change struct {
	pk, sk    string
	condition []term
	put       Item // that takes the place of what is there
	set       []assignment
	drop      bool
}

// what the change makes of an item. An update of none begins with its key.
func (c *change) what(of Item) Item {
	switch {
	case c.drop:
		return nil
	case c.put != nil:
		return c.put
	}
	it := maps.Clone(of)
	if it == nil {
		it = Item{PartitionKey: text(c.pk), SortKey: text(c.sk)}
	}
	for _, a := range c.set {
		it[a.path] = a.to
	}
	return it
}

// try says what a change makes of its record, or why it cannot be made: one of the codes of
// a cancellation reason.
func (t *Table) try(c *change) (it Item, code, message string) {
	r := t.under(c.pk, c.sk)
	old, _ := t.as(r, 0)
	if r != nil && r.taken {
		return nil, "TransactionConflict", "Transaction is ongoing for the item"
	}
	if !holds(c.condition, old) {
		return nil, "ConditionalCheckFailed", "The conditional request failed"
	}
	it = c.what(old)
	if sizeOf(it) > itemLimit {
		return nil, "ValidationError", "Item size has exceeded the maximum allowed size"
	}
	return it, "None", ""
}

// one makes one change.
func (t *Table) one(c *change) error {
	it, code, message := t.try(c)
	switch code {
	case "TransactionConflict":
		return &types.TransactionConflictException{Message: &message}
	case "ConditionalCheckFailed":
		return &types.ConditionalCheckFailedException{Message: &message}
	case "ValidationError":
		return invalid("%s", message)
	}
	t.write(t.record(c.pk, c.sk), it)
	return nil
}

// all makes all changes or none: those that it makes appear one after the other, each at a
// time that the caller chooses, and keep other writers away until then.
func (t *Table) all(changes []*change, token string, when func(i int) time.Duration) error {
	if made, ok := t.tokens[token]; ok && t.clock.Elapsed()-made < tokenKept {
		return nil
	}
	items := make([]Item, len(changes))
	cancelled, size := &types.TransactionCanceledException{}, 0
	keys := map[[2]string]bool{}
	for i, c := range changes {
		if keys[[2]string{c.pk, c.sk}] {
			return invalid("Transaction request cannot include multiple operations on one item")
		}
		keys[[2]string{c.pk, c.sk}] = true
		it, code, message := t.try(c)
		items[i], size = it, size+sizeOf(it)
		cancelled.CancellationReasons = append(cancelled.CancellationReasons, types.CancellationReason{Code: &code, Message: &message})
	}
	if size > transactionLimit {
		return invalid("Collection size of items in the transaction exceeds the limit of 4 MB")
	}
	var codes []string
	failed := false
	for _, r := range cancelled.CancellationReasons {
		codes = append(codes, *r.Code)
		failed = failed || *r.Code != "None"
	}
	if failed {
		cancelled.Message = aws.String("Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]")
		return cancelled
	}
	t.tokens[token] = t.clock.Elapsed()
	byTime := map[time.Duration][]*record{}
	for i, c := range changes {
		r := t.record(c.pk, c.sk)
		r.taken, r.coming = true, items[i]
		t.changed(t.partitions[c.pk])
		byTime[when(i)] = append(byTime[when(i)], r)
	}
	for _, after := range slices.Sorted(maps.Keys(byTime)) {
		t.clock.In(after, func() {
			for _, r := range byTime[after] {
				it := r.coming
				r.taken, r.coming = false, nil
				t.write(r, it)
			}
		})
	}
	return nil
}

// sizeOf is the size of an item as DynamoDB counts it.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func sizeOf(it Item) (n int) {
	for name, v := range it {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) (n int) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
		return n
	case *types.AttributeValueMemberL:
		n = 3
		for _, e := range v.Value {
			n += 1 + valueSize(e)
		}
		return n
	case *types.AttributeValueMemberM:
		n = 3
		for name, e := range v.Value {
			n += 1 + len(name) + valueSize(e)
		}
		return n
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	}
	panic(fmt.Sprintf("how large a %T is is not known here", v))
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// TextOf is the text of a value, "" if it is none.
func TextOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
