package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/aws/awserr"
)

type dynamoAPI interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Dynamo is a ledger in a DynamoDB table, safe for any number of processes at once.
// README.md describes the table.
type Dynamo struct{ book }

// NewDynamo returns the ledger in a table with the string keys pk and sk and the TTL
// attribute expires. *dynamodb.Client implements api.
func NewDynamo(api dynamoAPI, table string) *Dynamo {
	return &Dynamo{book{store: &inTable{api, table}, forgets: true, Pause: pause}}
}

// Persistent implements Ledger.
func (d *Dynamo) Persistent() bool { return true }

type inTable struct {
	api   dynamoAPI
	table string
}

// Attributes of an item.
const (
	attrPartition = "pk"
	attrSort      = "sk"
	attrValue     = "value"
	attrVersion   = "version"
	// attrExpires is the table's TTL attribute, in seconds since 1970.
	attrExpires = "expires"
	// attrParts is the number of further items in which a value continues. attrStamp is
	// equal in all of them.
	attrParts = "parts"
	attrStamp = "stamp"
)

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// numberOf returns a number, 0 for anything else.
func numberOf(v types.AttributeValue) int64 {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		i, _ := strconv.ParseInt(n.Value, 10, 64)
		return i
	}
	return 0
}

// Only notices can exceed an item, which takes 400 KB. Their values continue in parts.
const (
	partPrefix = "told#"
	// partBytes is the maximum size of a value in one item, in bytes.
	partBytes = 350_000
)

// partKey returns the sort key of a part of a notice, numbered from 1.
func partKey(key string, n int) string {
	return fmt.Sprintf("%s%s#%03d", partPrefix, strings.TrimPrefix(key, notices.name+"#"), n)
}

// read implements store. A part with another stamp belongs to a value that was written during
// the read. Parts beyond the number in the first item are left over and are ignored.
func (t *inTable) read(ctx context.Context, partition, prefix string) (records []record, _ error) {
	items, err := t.query(ctx, partition, prefix)
	if err != nil {
		return nil, err
	}
	parts := map[string]item{}
	for _, it := range items {
		if sk := textOf(it[attrSort]); strings.HasPrefix(sk, partPrefix) {
			parts[sk] = it
		}
	}
	for _, it := range items {
		r := record{key: textOf(it[attrSort]), value: textOf(it[attrValue]), version: numberOf(it[attrVersion])}
		for n := range int(numberOf(it[attrParts])) {
			p := parts[partKey(r.key, n+1)]
			if textOf(p[attrStamp]) != textOf(it[attrStamp]) {
				return nil, fmt.Errorf("items %s and %s of table %s do not belong together: %w", r.key, partKey(r.key, n+1), t.table, errMoved)
			}
			r.value += textOf(p[attrValue])
		}
		records = append(records, r)
	}
	return records, nil
}

// query returns the items of a partition whose sort key has the prefix, with strongly
// consistent reads.
func (t *inTable) query(ctx context.Context, partition, prefix string) (items []item, _ error) {
	in := &dynamodb.QueryInput{
		TableName: &t.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": text(partition)},
	}
	if prefix != "" {
		in.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :prefix)")
		in.ExpressionAttributeValues[":prefix"] = text(prefix)
	}
	for pages := dynamodb.NewQueryPaginator(t.api, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read %s in table %s: %w", partition, t.table, awserr.Described(err, "dynamodb:Query"))
		}
		items = append(items, page.Items...)
	}
	return items, nil
}

// A transaction takes 100 items, one of which may be the guard, and 4 MB
// (TransactWriteItems in the API reference). Sizes are estimates, hence the margin.
const (
	itemsPerWrite = 99
	bytesPerWrite = 3_500_000
	// itemOverhead is about the size of an item without its value: its keys, numbers and
	// the names of its attributes.
	itemOverhead = 1000
)

// write implements store: a step is a transaction. The SDK gives each call a token, so that
// its retry of a call whose answer was lost does not write twice.
func (t *inTable) write(ctx context.Context, partition string, writes []write, guard *write) (n int, _ error) {
	left, err := t.parts(ctx, partition, writes)
	if err != nil {
		return 0, err
	}
	var all []types.TransactWriteItem
	size := 0
	for _, w := range writes {
		items := t.items(partition, w, left)
		bytes := len(w.value) + itemOverhead*len(items)
		if bytes > bytesPerWrite {
			return 0, fmt.Errorf("record %s has %d bytes; one write to table %s takes %d", w.key, len(w.value), t.table, bytesPerWrite)
		}
		if len(all)+len(items) > itemsPerWrite || size+bytes > bytesPerWrite {
			break
		}
		all, size, n = append(all, items...), size+bytes, n+1
	}
	if guard != nil {
		all = append(all, t.items(partition, *guard, nil)...)
	}
	_, err = t.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: all})
	switch {
	case awserr.IsConditionFailed(err):
		return 0, fmt.Errorf("write to table %s: %w: %w", t.table, errMoved, err)
	case awserr.IsTransactionConflict(err), awserr.IsTransactionThrottled(err):
		return 0, fmt.Errorf("write to table %s: %w: %w", t.table, errBusy, err)
	case err != nil:
		return 0, fmt.Errorf("write to table %s: %w", t.table, awserr.Described(err, "dynamodb:PutItem"))
	}
	return n, nil
}

// parts returns the sort keys of the stored parts, including those left over, if one of the
// writes may replace some.
func (t *inTable) parts(ctx context.Context, partition string, writes []write) (keys []string, _ error) {
	for _, w := range writes {
		if !strings.HasPrefix(w.key, notices.name+"#") {
			continue
		}
		items, err := t.query(ctx, partition, partPrefix)
		for _, it := range items {
			keys = append(keys, textOf(it[attrSort]))
		}
		return keys, err
	}
	return nil, nil
}

// items returns the writes of a record's items, and the deletes of its stored parts that it
// no longer needs.
func (t *inTable) items(partition string, w write, stored []string) (out []types.TransactWriteItem) {
	drop := func(sk string) {
		out = append(out, types.TransactWriteItem{Delete: &types.Delete{TableName: &t.table, Key: item{attrPartition: text(partition), attrSort: text(sk)}}})
	}
	pieces := split(string(w.value))
	if w.value == nil {
		drop(w.key)
	} else {
		it := item{attrPartition: text(partition), attrSort: text(w.key), attrValue: text(pieces[0])}
		if w.version > 0 {
			it[attrVersion] = number(w.version)
		}
		if !w.expires.IsZero() {
			it[attrExpires] = number(w.expires.Unix())
		}
		put := &types.Put{TableName: &t.table, Item: it}
		switch {
		case w.read == nil:
		case *w.read == 0:
			put.ConditionExpression = aws.String("attribute_not_exists(pk)")
		default:
			put.ConditionExpression = aws.String("#version = :read")
			put.ExpressionAttributeNames = map[string]string{"#version": attrVersion}
			put.ExpressionAttributeValues = item{":read": number(*w.read)}
		}
		out = append(out, types.TransactWriteItem{Put: put})
		if len(pieces) > 1 {
			sum := sha256.Sum256(w.value)
			it[attrParts], it[attrStamp] = number(int64(len(pieces)-1)), text(hex.EncodeToString(sum[:8]))
		}
		for n, piece := range pieces[1:] {
			out = append(out, types.TransactWriteItem{Put: &types.Put{TableName: &t.table, Item: item{
				attrPartition: text(partition), attrSort: text(partKey(w.key, n+1)), attrValue: text(piece), attrStamp: it[attrStamp],
			}}})
		}
	}
	for _, sk := range stored {
		if at := strings.LastIndex(sk, "#"); sk[:at+1] == strings.TrimSuffix(partKey(w.key, 0), "000") && sk >= partKey(w.key, len(pieces)) {
			drop(sk)
		}
	}
	return out
}

// split cuts a value into pieces that fit into an item, between characters. It returns one
// piece at least.
func split(value string) (pieces []string) {
	for len(value) > partBytes {
		at := partBytes
		for !utf8.RuneStart(value[at]) {
			at--
		}
		pieces, value = append(pieces, value[:at]), value[at:]
	}
	return append(pieces, value)
}
