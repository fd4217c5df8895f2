// Package dynamo simulates a DynamoDB table: conditional writes, transactions whose items appear one after the other,
// eventually consistent reads, pages, limits and TTL. It returns ErrUnsimulated for any other request.
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

// Item is one item of a table. It is immutable: a write creates a new one.
type Item = map[string]types.AttributeValue

// The attributes of the table's key and TTL, as in the template.
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
	StaleFor         = time.Second // the maximum age of an eventually consistent read
)

// ErrUnsimulated is returned for a request that DynamoDB may support but this table does not.
var ErrUnsimulated = errors.New("this request is not simulated")

// Clock is the clock of a table.
type Clock struct {
	Start   time.Time
	Elapsed func() time.Duration // since the start
	In      func(time.Duration, func())
}

// Table is a simulated table. Calls must not run concurrently.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
type Table struct {
	name       string
	clock      Clock
	late       func(pk, sk string) time.Duration // returns the delay after an item's expiry until TTL deletes it
	missing    bool                              // the table was deleted
	partitions map[string]*partition
	tokens     map[string]time.Duration // of completed transactions, with their times
	changes    int
}

type partition struct {
	records []*record // ordered by sort key
	version int       // of the last change
	dead    []*record // deleted, but an eventually consistent read may still return them
}

// record holds the recent versions of the item under a key, and the one that a transaction will write.
type record struct {
	pk, sk   string
	versions []version // the latest is last
	taken    bool      // by a transaction in progress
	coming   Item      // the item that the transaction will write
}

// version is the item of a record since a time; a nil item means there is none.
type version struct {
	since time.Duration
	item  Item
	size  int
	gone  time.Duration // when TTL deletes it
}

// New returns an empty table. late returns the delay after an item's expiry until TTL deletes it.
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

// Missing reports whether the table is deleted, and not created again.
func (t *Table) Missing() bool { return t.missing }

// Create creates the table again, empty.
func (t *Table) Create() {
	t.missing = false
	t.partitions, t.tokens = map[string]*partition{}, map[string]time.Duration{}
}

// Version returns a number that grows with each change of a partition; 0 if it was never written.
func (t *Table) Version(pk string) int {
	if p := t.partitions[pk]; p != nil {
		return p.version
	}
	return 0
}

// All returns the items of a partition, including those of transactions in progress.
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

// at returns the record's item at time t and its size, as a read at time now sees it.
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

// find returns the index of a sort key among the records, or where it belongs, and whether it exists.
func (p *partition) find(sk string) (int, bool) {
	return sort.Find(len(p.records), func(i int) int { return strings.Compare(sk, p.records[i].sk) })
}

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

func (t *Table) under(pk, sk string) *record {
	if p := t.partitions[pk]; p != nil {
		if i, ok := p.find(sk); ok {
			return p.records[i]
		}
	}
	return nil
}

// as returns the item and size that a read of up to that age returns for a record.
func (t *Table) as(r *record, age time.Duration) (Item, int) {
	if r == nil {
		return nil, 0
	}
	now := t.clock.Elapsed()
	return r.at(now-age, now)
}

func (t *Table) write(r *record, it Item) {
	p := t.partitions[r.pk]
	if p == nil { // the table was deleted in the meantime
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
	kept := 0 // versions that no read returns any more
	for kept+1 < len(r.versions) && r.versions[kept+1].since <= now-StaleFor {
		kept++
	}
	r.versions = append(r.versions[kept:], v)
	if it == nil {
		p.dead = append(p.dead, r)
	}
	p.bury(now)
}

// bury removes the records that were deleted so long ago that no read returns them.
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

type change struct {
	pk, sk    string
	condition []term
	put       Item // replaces the existing item; nil deletes it
}

// try returns why a change fails: a code of a cancellation reason, "None" if it does not.
func (t *Table) try(c *change) (code, message string) {
	r := t.under(c.pk, c.sk)
	old, _ := t.as(r, 0)
	if r != nil && r.taken {
		return "TransactionConflict", "Transaction is ongoing for the item"
	}
	if !holds(c.condition, old) {
		return "ConditionalCheckFailed", "The conditional request failed"
	}
	if sizeOf(c.put) > itemLimit {
		return "ValidationError", "Item size has exceeded the maximum allowed size"
	}
	return "None", ""
}

// all applies all changes or none. Each blocks other writers until its time, which the caller chooses.
func (t *Table) all(changes []*change, token string, when func(i int) time.Duration) error {
	if made, ok := t.tokens[token]; ok && t.clock.Elapsed()-made < tokenKept {
		return nil
	}
	cancelled, size := &types.TransactionCanceledException{}, 0
	keys := map[[2]string]bool{}
	for _, c := range changes {
		if keys[[2]string{c.pk, c.sk}] {
			return invalid("Transaction request cannot include multiple operations on one item")
		}
		keys[[2]string{c.pk, c.sk}] = true
		code, message := t.try(c)
		size += sizeOf(c.put)
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
		r.taken, r.coming = true, c.put
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

// sizeOf returns the size of an item as DynamoDB counts it, in bytes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func sizeOf(it Item) (n int) {
	for name, v := range it {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	}
	panic(fmt.Sprintf("how large a %T is is not known here", v))
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// TextOf returns the text of a string value, "" for any other value.
func TextOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
