package sim

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is one item of a table of DynamoDB. What is in one is never changed: a write makes
// another.
type item = map[string]types.AttributeValue

// errUnknownExpression is of an expression that DynamoDB may well know, and that nothing here
// can evaluate.
var errUnknownExpression = errors.New("this expression is not simulated")

// expression is a part of a condition: a comparison, a function, what joins them, or an
// operand.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
type expression struct {
	op    string // AND, OR, NOT, a comparator or a function; "" is an operand
	of    []expression
	path  string // of an attribute, "" if the operand is a value
	value types.AttributeValue
}

// holds evaluates a condition for an item, nil if there is none.
func (e expression) holds(it item) bool {
	switch e.op {
	case "AND":
		return e.of[0].holds(it) && e.of[1].holds(it)
	case "OR":
		return e.of[0].holds(it) || e.of[1].holds(it)
	case "NOT":
		return !e.of[0].holds(it)
	case "attribute_exists":
		return it[e.of[0].path] != nil
	case "attribute_not_exists":
		return it[e.of[0].path] == nil
	}
	a, b := e.of[0].in(it), e.of[1].in(it)
	if e.op == "begins_with" {
		text, isText := a.(*types.AttributeValueMemberS)
		prefix, isPrefix := b.(*types.AttributeValueMemberS)
		return isText && isPrefix && strings.HasPrefix(text.Value, prefix.Value)
	}
	order, comparable := compare(a, b)
	if e.op == "<>" {
		return !comparable || order != 0
	}
	if !comparable {
		return false
	}
	switch e.op {
	case "=":
		return order == 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	panic("an expression of " + e.op + " was read")
}

// in is the value of an operand, nil if the item has none.
func (e expression) in(it item) types.AttributeValue {
	if e.path == "" {
		return e.value
	}
	return it[e.path]
}

// compare orders two values of one type, texts or numbers.
func compare(a, b types.AttributeValue) (order int, comparable bool) {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			x, isX := new(big.Rat).SetString(a.Value)
			y, isY := new(big.Rat).SetString(b.Value)
			if isX && isY {
				return x.Cmp(y), true
			}
		}
	}
	return 0, false
}

// assignment is one attribute that an update sets, or removes if the value is nil.
type assignment struct {
	path string
	to   types.AttributeValue
}

// tokens are the parts of which an expression consists.
var tokens = regexp.MustCompile(`[#:]?[A-Za-z_][A-Za-z0-9_]*|<>|<=|>=|[=<>(),]|\S`)

// parser reads the expressions of one request, and knows which names and values they used.
type parser struct {
	names  map[string]string
	values item
	used   map[string]bool
	rest   []string
	err    error
}

func newParser(names map[string]string, values item) *parser {
	return &parser{names: names, values: values, used: map[string]bool{}}
}

// condition reads one; nil is none.
func (p *parser) condition(text *string) *expression {
	if text == nil {
		return nil
	}
	p.rest = tokens.FindAllString(*text, -1)
	e := p.or()
	if len(p.rest) > 0 {
		p.unknown(*text)
	}
	return &e
}

func (p *parser) unknown(what string) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", errUnknownExpression, what)
	}
	p.rest = nil
}

func (p *parser) invalid(format string, args ...any) {
	if p.err == nil {
		p.err = badRequest("ValidationException", format, args...)
	}
	p.rest = nil
}

// next takes the next word, "" if there is none.
func (p *parser) next() string {
	if len(p.rest) == 0 {
		return ""
	}
	word := p.rest[0]
	p.rest = p.rest[1:]
	return word
}

// takes takes the next word if it is this one.
func (p *parser) takes(word string) bool {
	if len(p.rest) == 0 || !strings.EqualFold(p.rest[0], word) {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) expect(word string) {
	if !p.takes(word) {
		p.unknown("no " + word + " where one belongs")
	}
}

func (p *parser) or() expression {
	e := p.and()
	for p.takes("OR") {
		e = expression{op: "OR", of: []expression{e, p.and()}}
	}
	return e
}

func (p *parser) and() expression {
	e := p.not()
	for p.takes("AND") {
		e = expression{op: "AND", of: []expression{e, p.not()}}
	}
	return e
}

func (p *parser) not() expression {
	if p.takes("NOT") {
		return expression{op: "NOT", of: []expression{p.not()}}
	}
	if p.takes("(") {
		e := p.or()
		p.expect(")")
		return e
	}
	return p.term()
}

// term reads a function or a comparison.
func (p *parser) term() expression {
	if len(p.rest) > 1 && p.rest[1] == "(" {
		e := expression{op: p.next()}
		p.expect("(")
		e.of = append(e.of, p.operand())
		switch e.op {
		case "attribute_exists", "attribute_not_exists":
		case "begins_with":
			p.expect(",")
			e.of = append(e.of, p.operand())
		default:
			p.unknown(e.op)
		}
		if e.of[0].path == "" {
			p.unknown(e.op + " of a value")
		}
		p.expect(")")
		return e
	}
	left := p.operand()
	switch op := p.next(); op {
	case "=", "<>", "<", "<=", ">", ">=":
		return expression{op: op, of: []expression{left, p.operand()}}
	default:
		p.unknown("operator " + op)
		return left
	}
}

// operand reads an attribute or a value.
func (p *parser) operand() expression {
	word := p.next()
	switch {
	case word == "":
		p.unknown("an operand is missing")
	case word[0] == ':':
		p.used[word] = true
		v, ok := p.values[word]
		if !ok {
			p.invalid("An expression attribute value used in expression is not defined; attribute value: %s", word)
		}
		return expression{value: v}
	case word[0] == '#':
		p.used[word] = true
		name, ok := p.names[word]
		if !ok {
			p.invalid("An expression attribute name used in the document path is not defined; attribute name: %s", word)
		}
		return expression{path: name}
	case !plainName.MatchString(word):
		p.unknown(word)
	}
	return expression{path: word}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// update reads an update expression.
func (p *parser) update(text *string) (all []assignment) {
	if text == nil {
		return nil
	}
	p.rest = tokens.FindAllString(*text, -1)
	for len(p.rest) > 0 {
		clause := p.next()
		if clause != "SET" && clause != "REMOVE" {
			p.unknown(*text)
		}
		for more := true; more; more = p.takes(",") {
			a := assignment{path: p.operand().path}
			if a.path == "" {
				p.unknown(*text)
			}
			if clause == "SET" {
				p.expect("=")
				if a.to = p.operand().value; a.to == nil {
					p.unknown(*text)
				}
			}
			all = append(all, a)
		}
	}
	return all
}

// done is what is wrong with the expressions that were read. DynamoDB wants all names and
// values to be used.
func (p *parser) done() error {
	for _, name := range slices.Sorted(maps.Keys(p.names)) {
		if !p.used[name] {
			p.invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", name)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(p.values)) {
		if !p.used[value] {
			p.invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", value)
		}
	}
	return p.err
}
