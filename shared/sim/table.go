package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// The attributes of the table's key, and of its TTL, as the template has them.
const (
	tableName    = stack + "-Ledger-1A2B3C4D5E6F"
	partitionKey = "pk"
	sortKey      = "sk"
	ttlAttribute = "expires"
)

// The limits of DynamoDB.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	itemLimit        = 400 << 10
	transactionItems = 100
	transactionLimit = 4 << 20
	pageLimit        = 1 << 20
	tokenKept        = 10 * time.Minute
	// staleFor is how old what an eventually consistent read returns may be.
	staleFor = time.Second
	// expiredFor is how late TTL deletes: typically within two days.
	expiredFor = 48 * time.Hour
)

// table is the DynamoDB table of the ledger: it outlives every invocation.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html says
// what a transaction promises, and to whom.
type table struct {
	e          *engine
	d          dice
	missing    bool // there is no such table
	partitions map[string]*partition
	tokens     map[string]time.Duration // of transactions that were made, and when
	states     map[roll.ClusterID]*lastRead
}

// partition holds the items of one partition key.
type partition struct {
	records []*record // in the order of their sort keys
	changed int       // how often
	dead    []*record // that were deleted, and may still be read by an eventually consistent read
}

// record is what is under a key: what is there, what was until a moment ago, and what a
// transaction that is being committed makes of it.
type record struct {
	pk, sk   string
	versions []version // the latest is last
	taken    bool      // by a transaction that is being committed
	coming   item      // what that makes of it
}

// version is what a record was from some time on; an item of nil is nothing.
type version struct {
	since time.Duration
	item  item
	size  int
	gone  time.Duration // when TTL deletes it
}

// lastRead is a state that was read for who looks on.
type lastRead struct {
	state   ledger.State
	p       *partition
	changed int
}

func newTable(a *account) *table {
	return &table{e: a.engine, d: a.d.of("table"), partitions: map[string]*partition{}, tokens: map[string]time.Duration{}, states: map[roll.ClusterID]*lastRead{}}
}

// drop deletes the table, and create makes it anew.
func (t *table) drop() {
	t.missing = true
	t.partitions, t.tokens, t.states = map[string]*partition{}, map[string]time.Duration{}, map[roll.ClusterID]*lastRead{}
}

func (t *table) create() { t.missing = false }

// state is what is remembered of a cluster, for who looks on: it costs no call. It includes
// what is being committed. Nobody may change it.
func (t *table) state(cluster roll.ClusterID) ledger.State {
	known := t.states[cluster]
	if known == nil || known.p == nil || known.changed != known.p.changed {
		look := &onlooker{t: t}
		s, err := ledger.NewDynamo(look, tableName).Read(context.Background(), cluster)
		if err != nil {
			panic(fmt.Sprintf("the ledger has written what it cannot read: %v", err))
		}
		known = &lastRead{state: s, p: look.p}
		if look.p != nil {
			known.changed = look.p.changed
		}
		t.states[cluster] = known
	}
	return known.state
}

// onlooker reads the table without a call. It asks nothing else.
type onlooker struct {
	Table // that is not there
	t     *table
	p     *partition // that was read, nil if there is none
}

// Query returns all of a partition.
func (o *onlooker) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	if o.p = o.t.partitions[textOf(in.ExpressionAttributeValues[":pk"])]; o.p == nil {
		return out, nil
	}
	for _, r := range o.p.records {
		it := r.coming
		if !r.taken {
			it, _ = r.at(o.t.e.now, o.t.e.now)
		}
		if it != nil {
			out.Items = append(out.Items, it)
		}
	}
	return out, nil
}

// at is what the record was at a time, and how large, for who reads it now.
func (r *record) at(t, now time.Duration) (item, int) {
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
func (t *table) record(pk, sk string) *record {
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

// now is what is under a key.
func (t *table) now(pk, sk string) item {
	if p := t.partitions[pk]; p != nil {
		if i, ok := p.find(sk); ok {
			it, _ := p.records[i].at(t.e.now, t.e.now)
			return it
		}
	}
	return nil
}

// write puts an item in a record, or nothing.
func (t *table) write(r *record, it item) {
	p := t.partitions[r.pk]
	if p == nil { // the table was deleted meanwhile
		return
	}
	p.changed++
	now := t.e.now
	v := version{since: now, item: it, size: sizeOf(it), gone: endless}
	if n, ok := it[ttlAttribute].(*types.AttributeValueMemberN); ok {
		// "no more than 5 years in the past": Using time to live in the developer guide.
		if seconds, err := strconv.ParseInt(n.Value, 10, 64); err == nil && time.Unix(seconds, 0).After(t.e.Now().AddDate(-5, 0, 0)) {
			late := t.d.of("expired").of(r.pk).of(r.sk).between(0, expiredFor)
			v.gone = time.Unix(seconds, 0).Add(late).Sub(t.e.start)
		}
	}
	kept := 0 // versions that nobody can read any more
	for kept+1 < len(r.versions) && r.versions[kept+1].since <= now-staleFor {
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
		if last.item == nil && (r.taken || last.since > now-staleFor) {
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

// errNoTable is the answer where there is no such table.
func errNoTable() error {
	return badRequest("ResourceNotFoundException", "Requested resource not found: Table: %s not found", tableName)
}

// change is one write that was read from a request.
type change struct {
	pk, sk    string
	condition *expression
	put       item // that takes the place of what is there
	set       []assignment
	drop      bool
	none      bool // only the condition counts
}

// what the change makes of an item. An update of none begins with its key.
func (c *change) what(of item) item {
	switch {
	case c.drop:
		return nil
	case c.none:
		return of
	case c.put != nil:
		return c.put
	}
	it := maps.Clone(of)
	if it == nil {
		it = item{partitionKey: text(c.pk), sortKey: text(c.sk)}
	}
	for _, a := range c.set {
		if a.to == nil {
			delete(it, a.path)
		} else {
			it[a.path] = a.to
		}
	}
	return it
}

// try says what a change makes of its record, or why it cannot be made: one of the codes of
// a cancellation reason.
func (t *table) try(c *change) (it item, code, message string) {
	old := t.now(c.pk, c.sk)
	if p := t.partitions[c.pk]; p != nil {
		if i, ok := p.find(c.sk); ok && p.records[i].taken {
			return nil, "TransactionConflict", "Transaction is ongoing for the item"
		}
	}
	if c.condition != nil && !c.condition.holds(old) {
		return nil, "ConditionalCheckFailed", "The conditional request failed"
	}
	it = c.what(old)
	if sizeOf(it) > itemLimit {
		return nil, "ValidationError", "Item size has exceeded the maximum allowed size"
	}
	return it, "None", ""
}

// one makes one change.
func (t *table) one(c *change) error {
	if t.missing {
		return errNoTable()
	}
	it, code, message := t.try(c)
	switch code {
	case "TransactionConflict":
		return &types.TransactionConflictException{Message: &message}
	case "ConditionalCheckFailed":
		return &types.ConditionalCheckFailedException{Message: &message}
	case "ValidationError":
		return badRequest("ValidationException", "%s", message)
	}
	t.write(t.record(c.pk, c.sk), it)
	return nil
}

// all makes all changes or none: those that it makes appear one after the other, each at a
// time that the caller chooses, and keep other writers away until then.
func (t *table) all(changes []*change, token string, when func(i int) time.Duration) error {
	if t.missing {
		return errNoTable()
	}
	if made, ok := t.tokens[token]; ok && t.e.now-made < tokenKept {
		return nil
	}
	items := make([]item, len(changes))
	cancelled, size := &types.TransactionCanceledException{}, 0
	keys := map[[2]string]bool{}
	for i, c := range changes {
		if keys[[2]string{c.pk, c.sk}] {
			return badRequest("ValidationException", "Transaction request cannot include multiple operations on one item")
		}
		keys[[2]string{c.pk, c.sk}] = true
		it, code, message := t.try(c)
		items[i], size = it, size+sizeOf(it)
		cancelled.CancellationReasons = append(cancelled.CancellationReasons, types.CancellationReason{Code: &code, Message: &message})
	}
	if size > transactionLimit {
		return badRequest("ValidationException", "Collection size of items in the transaction exceeds the limit of 4 MB")
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
	t.tokens[token] = t.e.now
	byTime := map[time.Duration][]*record{}
	for i, c := range changes {
		if c.none {
			continue
		}
		r := t.record(c.pk, c.sk)
		r.taken, r.coming = true, items[i]
		t.partitions[c.pk].changed++
		byTime[when(i)] = append(byTime[when(i)], r)
	}
	for _, after := range slices.Sorted(maps.Keys(byTime)) {
		t.e.in(after, func() {
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
func sizeOf(it item) (n int) {
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

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
