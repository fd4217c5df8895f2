package dynamo

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/aws/awserr"
)

// term is one term of a condition. A condition holds if all its terms hold.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
type term struct {
	op    string // a function, or =
	path  string // of the attribute
	value types.AttributeValue
}

func holds(condition []term, it Item) bool {
	return !slices.ContainsFunc(condition, func(t term) bool { return !t.holds(it) })
}

func (t term) holds(it Item) bool {
	has := it[t.path]
	switch t.op {
	case "attribute_not_exists":
		return has == nil
	case "begins_with":
		_, isText := has.(*types.AttributeValueMemberS)
		return isText && strings.HasPrefix(TextOf(has), TextOf(t.value))
	}
	switch has := has.(type) {
	case *types.AttributeValueMemberS:
		want, ok := t.value.(*types.AttributeValueMemberS)
		return ok && has.Value == want.Value
	case *types.AttributeValueMemberN: // the ledger writes integers
		want, ok := t.value.(*types.AttributeValueMemberN)
		return ok && has.Value == want.Value
	}
	return false
}

// The forms of terms that the ledger uses.
var (
	absent = regexp.MustCompile(`^attribute_not_exists\((#?\w+)\)$`)
	begins = regexp.MustCompile(`^begins_with\((#?\w+), ?(:\w+)\)$`)
	equals = regexp.MustCompile(`^(#?\w+) ?= ?(:\w+)$`)
)

// reader reads the expressions of one request, and records which names and values they use.
type reader struct {
	names  map[string]string
	values Item
	used   map[string]bool
	err    error
}

func newReader(names map[string]string, values Item) *reader {
	return &reader{names: names, values: values, used: map[string]bool{}}
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) name(word string) string {
	if word[0] != '#' {
		return word
	}
	r.used[word] = true
	name, ok := r.names[word]
	if !ok {
		r.fail(invalid("An expression attribute name used in the document path is not defined; attribute name: %s", word))
	}
	return name
}

func (r *reader) value(word string) types.AttributeValue {
	r.used[word] = true
	v, ok := r.values[word]
	if !ok {
		r.fail(invalid("An expression attribute value used in expression is not defined; attribute value: %s", word))
	}
	return v
}

func (r *reader) condition(text *string) (all []term) {
	if text == nil {
		return nil
	}
	for part := range strings.SplitSeq(*text, " AND ") {
		if m := absent.FindStringSubmatch(part); m != nil {
			all = append(all, term{op: "attribute_not_exists", path: r.name(m[1])})
		} else if m := begins.FindStringSubmatch(part); m != nil {
			all = append(all, term{op: "begins_with", path: r.name(m[1]), value: r.value(m[2])})
		} else if m := equals.FindStringSubmatch(part); m != nil {
			all = append(all, term{op: "=", path: r.name(m[1]), value: r.value(m[2])})
		} else {
			r.fail(fmt.Errorf("%w: %s", ErrUnsimulated, *text))
		}
	}
	return all
}

// done returns the first error. DynamoDB requires that all names and values are used.
func (r *reader) done() error {
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		if !r.used[name] {
			r.fail(invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", name))
		}
	}
	for _, value := range slices.Sorted(maps.Keys(r.values)) {
		if !r.used[value] {
			r.fail(invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", value))
		}
	}
	return r.err
}

// keyCondition parses the key condition of a Query: the partition key, and a term about the sort key.
func (r *reader) keyCondition(text *string) (pk string, sort *term) {
	for _, t := range r.condition(text) {
		switch {
		case t.op == "=" && t.path == PartitionKey && pk == "":
			pk = TextOf(t.value)
		case (t.op == "=" || t.op == "begins_with") && t.path == SortKey && sort == nil:
			sort = &t
		default:
			r.fail(fmt.Errorf("%w: %s", ErrUnsimulated, *text))
		}
	}
	if pk == "" {
		r.fail(fmt.Errorf("%w: a key condition without a partition key", ErrUnsimulated))
	}
	return pk, sort
}

func invalid(format string, args ...any) error {
	return refused("ValidationException", format, args...)
}

func refused(code, format string, args ...any) error {
	return awserr.Made(code, fmt.Sprintf(format, args...), http.StatusBadRequest)
}
