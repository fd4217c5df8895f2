package sim

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/ledger"
)

// dynamoAPI is DynamoDB as an environment calls it. What it does not know of a request ends
// the run: an answer that leaves a condition out would hide what the condition is for.
type dynamoAPI struct{ v *env }

func (d dynamoAPI) table() *table { return d.v.a.dep.table }

// dice are those of the call that is being made.
func (d dynamoAPI) dice(name string) dice { return d.v.inv.d.of(name).nth(d.v.inv.calls) }

// newLedger is the ledger of an environment. It waits by the account's clock for other
// writers.
func (d *deployment) newLedger(v *env) *ledger.Dynamo {
	l := ledger.NewDynamo(guarded(d.guards.Table, Table(dynamoAPI{v})), tableName)
	l.Pause = func(ctx context.Context, conflicts int) error {
		most := min(25*time.Millisecond<<(conflicts-1), time.Second)
		v.inv.wait(v.inv.d.of("pause").nth(v.inv.calls).between(0, most))
		return ctx.Err()
	}
	return l
}

// known ends the run if a request has fields beside those that are known here.
func (d dynamoAPI) known(name string, in, rest any) {
	if !reflect.ValueOf(rest).IsZero() {
		d.v.unsimulated(in)
	}
}

// read ends the run if an expression is not known here, and returns what else is wrong with it.
func (d dynamoAPI) read(name string, in any, p *parser) error {
	err := p.done()
	if errors.Is(err, errUnknownExpression) {
		d.v.unsimulated(in)
	}
	return err
}

// key reads a primary key.
func keyOf(key item, whole bool) (pk, sk string, err error) {
	pk, sk = textOf(key[partitionKey]), textOf(key[sortKey])
	if pk == "" || sk == "" || whole && len(key) != 2 {
		return "", "", badRequest("ValidationException", "The provided key element does not match the schema")
	}
	return pk, sk, nil
}

// GetItem reads one item.
func (d dynamoAPI) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	const name = "dynamodb:GetItem"
	rest := *in
	rest.TableName, rest.Key, rest.ConsistentRead = nil, nil, nil
	d.known(name, in, rest)
	out := &dynamodb.GetItemOutput{}
	err := d.v.call(ctx, name, reads, "", func() error {
		pk, sk, err := keyOf(in.Key, true)
		if err != nil {
			return err
		}
		if d.table().missing {
			return errNoTable()
		}
		if p := d.table().partitions[pk]; p != nil {
			if i, ok := p.find(sk); ok {
				out.Item, _ = p.records[i].at(d.asOf(name, in.ConsistentRead), d.table().e.now)
			}
		}
		return nil
	})
	return out, err
}

// asOf is how old what a read returns may be: an eventually consistent one may not show what
// was written within the last second.
func (d dynamoAPI) asOf(name string, consistent *bool) time.Duration {
	if aws.ToBool(consistent) {
		return d.table().e.now
	}
	return d.table().e.now - d.dice(name).of("stale").between(0, staleFor)
}

// Query reads the items of one partition, a page at a time. It is no snapshot: of a
// transaction that is being committed it may show one item and not the other.
func (d dynamoAPI) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	const name = "dynamodb:Query"
	rest := *in
	rest.TableName, rest.ConsistentRead, rest.KeyConditionExpression, rest.ExpressionAttributeNames = nil, nil, nil, nil
	rest.ExpressionAttributeValues, rest.ExclusiveStartKey = nil, nil
	d.known(name, in, rest)
	p := newParser(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	pk, of, ok := keyCondition(p.condition(in.KeyConditionExpression))
	wrong := d.read(name, in, p)
	if wrong == nil && !ok {
		d.v.unsimulated(in)
	}
	out := &dynamodb.QueryOutput{}
	err := d.v.call(ctx, name, reads, "", func() error {
		if wrong != nil {
			return wrong
		}
		if d.table().missing {
			return errNoTable()
		}
		d.page(out, pk, of, textOf(in.ExclusiveStartKey[sortKey]), d.asOf(name, in.ConsistentRead))
		if len(of) == 0 {
			d.v.inv.sawNotices(out.Items, in.ExclusiveStartKey == nil)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Count, out.ScannedCount = int32(len(out.Items)), int32(len(out.Items))
	return out, nil
}

// page reads the items of a partition after a sort key that meet all conditions.
func (d dynamoAPI) page(out *dynamodb.QueryOutput, pk string, of []expression, after string, t time.Duration) {
	p := d.table().partitions[pk]
	if p == nil {
		return
	}
	i := 0
	if after != "" {
		var found bool
		if i, found = p.find(after); found {
			i++
		}
	}
	prefix := ""
	for _, e := range of {
		if e.op == "begins_with" {
			prefix = textOf(e.of[1].value)
			at, _ := p.find(prefix)
			i = max(i, at)
		}
	}
	most, size := d.v.pageSize(len(p.records)+1, len(p.records)-i), 0
	for ; i < len(p.records) && strings.HasPrefix(p.records[i].sk, prefix); i++ {
		it, n := p.records[i].at(t, d.table().e.now)
		if it == nil || slices.ContainsFunc(of, func(e expression) bool { return !e.holds(it) }) {
			continue
		}
		if size += n; size > pageLimit || len(out.Items) == most {
			out.LastEvaluatedKey = item{partitionKey: text(pk), sortKey: out.Items[len(out.Items)-1][sortKey]}
			return
		}
		out.Items = append(out.Items, it)
	}
}

// keyCondition takes a key condition apart: the partition key, which it must name, and what it
// says of the sort key.
func keyCondition(e *expression) (pk string, of []expression, ok bool) {
	if e == nil || e.op == "" {
		return "", nil, false
	}
	parts := []expression{*e}
	if e.op == "AND" {
		parts = e.of
	}
	for _, part := range parts {
		switch {
		case part.op == "=" && part.of[0].path == partitionKey && pk == "":
			pk = textOf(part.of[1].value)
		case slices.Contains([]string{"=", "<", "<=", ">", ">=", "begins_with"}, part.op) && part.of[0].path == sortKey && part.of[1].value != nil:
			of = append(of, part)
		default:
			return "", nil, false
		}
	}
	return pk, of, pk != "" && len(of) < 2
}

// UpdateItem changes one item.
func (d dynamoAPI) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	const name = "dynamodb:UpdateItem"
	rest := *in
	rest.TableName, rest.Key, rest.UpdateExpression, rest.ConditionExpression = nil, nil, nil, nil
	rest.ExpressionAttributeNames, rest.ExpressionAttributeValues = nil, nil
	d.known(name, in, rest)
	c, wrong := d.update(name, in, &types.Update{
		Key: in.Key, UpdateExpression: in.UpdateExpression, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
	})
	do := func() error {
		if wrong != nil {
			return wrong
		}
		return d.table().one(c)
	}
	if err := d.v.callAgain(ctx, name, writes, "", do, do); err != nil {
		return nil, err
	}
	return &dynamodb.UpdateItemOutput{}, nil
}

// TransactWriteItems makes all changes or none. The SDK gives a call a token, if it has none,
// with which it also tries it again: what was made is not made twice.
func (d dynamoAPI) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	const name = "dynamodb:TransactWriteItems"
	rest := *in
	rest.TransactItems, rest.ClientRequestToken = nil, nil
	d.known(name, in, rest)
	changes, wrong := d.changes(name, in)
	token := aws.ToString(in.ClientRequestToken)
	do := func() error {
		if wrong != nil {
			return wrong
		}
		dice := d.dice(name)
		if token == "" {
			token = uid(dice.of("token"))
		}
		// All of it is there when the answer is.
		left := d.took(name) / 2
		return d.table().all(changes, token, func(i int) time.Duration {
			if dice.of("commit").nth(i).chance(0.5) {
				return left / 3
			}
			return left * 2 / 3
		})
	}
	if err := d.v.callAgain(ctx, name, writes, "", do, do); err != nil {
		return nil, err
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// took is how long the call takes that is being made.
func (d dynamoAPI) took(name string) time.Duration { return d.v.takes(d.dice(name)) }

// changes reads what a transaction is to write.
func (d dynamoAPI) changes(name string, in *dynamodb.TransactWriteItemsInput) (all []*change, err error) {
	if n := len(in.TransactItems); n < 1 || n > transactionItems {
		return nil, badRequest("ValidationException", "1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to %d", transactionItems)
	}
	for _, w := range in.TransactItems {
		var c *change
		var key item
		var p *parser
		switch {
		case w.Put != nil && w.Update == nil && w.Delete == nil && w.ConditionCheck == nil:
			p, key = newParser(w.Put.ExpressionAttributeNames, w.Put.ExpressionAttributeValues), w.Put.Item
			c = &change{put: w.Put.Item, condition: p.condition(w.Put.ConditionExpression)}
		case w.Delete != nil && w.Update == nil && w.ConditionCheck == nil:
			p, key = newParser(w.Delete.ExpressionAttributeNames, w.Delete.ExpressionAttributeValues), w.Delete.Key
			c = &change{drop: true, condition: p.condition(w.Delete.ConditionExpression)}
		case w.ConditionCheck != nil && w.Update == nil:
			p, key = newParser(w.ConditionCheck.ExpressionAttributeNames, w.ConditionCheck.ExpressionAttributeValues), w.ConditionCheck.Key
			c = &change{none: true, condition: p.condition(w.ConditionCheck.ConditionExpression)}
		case w.Update != nil:
			if c, err = d.update(name, in, w.Update); err != nil {
				return nil, err
			}
			all = append(all, c)
			continue
		default:
			return nil, badRequest("ValidationException", "TransactItems can only contain one of Check, Put, Update or Delete")
		}
		if err := d.read(name, in, p); err != nil {
			return nil, err
		}
		if c.pk, c.sk, err = keyOf(key, w.Put == nil); err != nil {
			return nil, err
		}
		if err := storable(c.put); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// update reads an update of one item.
func (d dynamoAPI) update(name string, in any, u *types.Update) (*change, error) {
	p := newParser(u.ExpressionAttributeNames, u.ExpressionAttributeValues)
	c := &change{condition: p.condition(u.ConditionExpression), set: p.update(u.UpdateExpression)}
	if err := d.read(name, in, p); err != nil {
		return nil, err
	}
	var err error
	if c.pk, c.sk, err = keyOf(u.Key, true); err != nil {
		return nil, err
	}
	seen := map[string]bool{partitionKey: true, sortKey: true}
	for _, a := range c.set {
		if seen[a.path] {
			return nil, badRequest("ValidationException", "One or more parameter values were invalid: Cannot update attribute %s", a.path)
		}
		seen[a.path] = true
		if err := storable(item{a.path: a.to}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// storable says what of an item DynamoDB does not take: a set of nothing, or of one thing twice.
func storable(it item) error {
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberSS:
			if n := len(v.Value); n == 0 || len(slices.Compact(slices.Sorted(slices.Values(v.Value)))) != n {
				return badRequest("ValidationException", "One or more parameter values were invalid: %s is an empty set, or has duplicates", name)
			}
		case *types.AttributeValueMemberM:
			if err := storable(v.Value); err != nil {
				return err
			}
		case *types.AttributeValueMemberL:
			for _, e := range v.Value {
				if err := storable(item{name: e}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
