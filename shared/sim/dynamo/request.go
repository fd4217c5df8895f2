package dynamo

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// known returns an error for fields that are not simulated, of which rest has any left, or for a missing table.
func (t *Table) known(rest any) error {
	switch {
	case !reflect.ValueOf(rest).IsZero():
		return fmt.Errorf("%w: it has other fields", ErrUnsimulated)
	case t.missing:
		return refused("ResourceNotFoundException", "Requested resource not found: Table: %s not found", t.name)
	}
	return nil
}

// keyOf reads a primary key; whole requires that there are no other attributes.
func keyOf(key Item, whole bool) (pk, sk string, err error) {
	pk, sk = TextOf(key[PartitionKey]), TextOf(key[SortKey])
	if pk == "" || sk == "" || whole && len(key) != 2 {
		return "", "", invalid("The provided key element does not match the schema")
	}
	return pk, sk, nil
}

// Query reads a page of the items of one partition, of the given age. It is no snapshot of a transaction in progress.
// limit returns the size of the page, given the number of all and of remaining items.
func (t *Table) Query(in *dynamodb.QueryInput, age time.Duration, limit func(all, left int) int) (*dynamodb.QueryOutput, error) {
	rest := *in
	rest.TableName, rest.ConsistentRead, rest.KeyConditionExpression, rest.ExpressionAttributeNames = nil, nil, nil, nil
	rest.ExpressionAttributeValues, rest.ExclusiveStartKey = nil, nil
	r := newReader(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	pk, sort := r.keyCondition(in.KeyConditionExpression)
	err := r.done()
	if err == nil {
		err = t.known(rest)
	}
	if err != nil {
		return nil, err
	}
	out := &dynamodb.QueryOutput{}
	t.page(out, pk, sort, TextOf(in.ExclusiveStartKey[SortKey]), age, limit)
	out.Count, out.ScannedCount = int32(len(out.Items)), int32(len(out.Items))
	return out, nil
}

func (t *Table) page(out *dynamodb.QueryOutput, pk string, sort *term, after string, age time.Duration, limit func(all, left int) int) {
	p := t.partitions[pk]
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
	if sort != nil && sort.op == "begins_with" {
		prefix = TextOf(sort.value)
		at, _ := p.find(prefix)
		i = max(i, at)
	}
	most, size := limit(len(p.records), len(p.records)-i), 0
	for ; i < len(p.records) && strings.HasPrefix(p.records[i].sk, prefix); i++ {
		it, n := t.as(p.records[i], age)
		if it == nil || sort != nil && !sort.holds(it) {
			continue
		}
		if size += n; size > pageLimit || len(out.Items) == most {
			out.LastEvaluatedKey = Item{PartitionKey: text(pk), SortKey: out.Items[len(out.Items)-1][SortKey]}
			return
		}
		out.Items = append(out.Items, it)
	}
}

// Transact applies all changes, each at its time, or none. A repeated token applies nothing again.
func (t *Table) Transact(in *dynamodb.TransactWriteItemsInput, token string, when func(i int) time.Duration) error {
	rest := *in
	rest.TransactItems, rest.ClientRequestToken = nil, nil
	changes, err := readChanges(in.TransactItems)
	if err == nil {
		err = t.known(rest)
	}
	if err != nil {
		return err
	}
	return t.all(changes, token, when)
}

func readChanges(items []types.TransactWriteItem) (all []*change, err error) {
	if n := len(items); n < 1 || n > transactionItems {
		return nil, invalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to %d", transactionItems)
	}
	for _, w := range items {
		var c *change
		var key Item
		var r *reader
		switch {
		case w.ConditionCheck != nil, w.Update != nil:
			return nil, fmt.Errorf("%w: a condition check or an update", ErrUnsimulated)
		case w.Put != nil && w.Delete == nil:
			r, key = newReader(w.Put.ExpressionAttributeNames, w.Put.ExpressionAttributeValues), w.Put.Item
			c = &change{put: w.Put.Item, condition: r.condition(w.Put.ConditionExpression)}
		case w.Delete != nil && w.Put == nil:
			r, key = newReader(w.Delete.ExpressionAttributeNames, w.Delete.ExpressionAttributeValues), w.Delete.Key
			c = &change{condition: r.condition(w.Delete.ConditionExpression)}
		default:
			return nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
		}
		if err := r.done(); err != nil {
			return nil, err
		}
		if c.pk, c.sk, err = keyOf(key, w.Put == nil); err != nil {
			return nil, err
		}
		for name, v := range c.put {
			switch v.(type) {
			case *types.AttributeValueMemberS, *types.AttributeValueMemberN:
			default:
				return nil, fmt.Errorf("%w: attribute %s is neither a text nor a number", ErrUnsimulated, name)
			}
		}
		all = append(all, c)
	}
	return all, nil
}
