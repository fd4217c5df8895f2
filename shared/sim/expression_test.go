package sim

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func numeral(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func TestConditions(t *testing.T) {
	there := item{"pk": text("a"), "sk": text("notice#w"), "version": numeral("7"), "note": text("7")}
	names := map[string]string{"#v": "version", "#none": "none"}
	values := item{":seven": numeral("7"), ":same": numeral("7.0"), ":ten": numeral("10"), ":text": text("7"), ":notice": text("notice#"), ":a": text("a")}
	for condition, want := range map[string][2]bool{ // of the item, and of none
		"attribute_exists(pk)":                              {true, false},
		"attribute_not_exists(pk)":                          {false, true},
		"attribute_not_exists(#none)":                       {true, true},
		"attribute_exists(pk) AND attribute_not_exists(#v)": {false, false},
		"NOT attribute_exists(#none)":                       {true, true},
		"#v = :seven":                                       {true, false},
		"#v = :same":                                        {true, false},
		"#v=:seven":                                         {true, false},
		"#v = :text":                                        {false, false}, // another type
		"note = :text":                                      {true, false},
		"#v <> :ten":                                        {true, true},
		"#v <> :text":                                       {true, true},
		"#v < :ten":                                         {true, false}, // a number, not a text
		"#v <= :seven and #v >= :seven":                     {true, false},
		"#v > :ten":                                         {false, false},
		":seven = #v":                                       {true, false},
		"begins_with(sk, :notice)":                          {true, false},
		"begins_with(sk, :a)":                               {false, false},
		"begins_with(#v, :text)":                            {false, false},
		"#v = :ten OR pk = :a AND note = :text":             {true, false},
		"(#v = :seven OR pk = :a) AND note = :a":            {false, false},
		"#v = :seven OR pk = :a AND note = :a":              {true, false}, // AND before OR
		"NOT pk = :a OR attribute_not_exists(pk)":           {false, true},
		"attribute_not_exists(pk) OR (#v = :ten) OR #v=:ten": {false, true},
	} {
		p := newParser(names, values)
		e := p.condition(&condition)
		if p.err != nil {
			t.Errorf("%s: %v", condition, p.err)
			continue
		}
		if got := [2]bool{e.holds(there), e.holds(nil)}; got != want {
			t.Errorf("%s: %v, want %v", condition, got, want)
		}
	}
}

// What is not known here must not be taken for true.
func TestWhatIsNoKnownExpressionIsAnError(t *testing.T) {
	for condition, known := range map[string]bool{
		"contains(sk, :a)":                     false,
		"size(sk) = :a":                        false,
		"attribute_type(sk, :a)":               false,
		"sk BETWEEN :a AND :a":                 false,
		"sk IN (:a)":                           false,
		"a.b = :a":                             false,
		"a[0] = :a":                            false,
		"pk = :a AND":                          false,
		"pk = :a :a":                           false,
		"(pk = :a":                             false,
		"pk":                                   false,
		"pk == :a":                             false,
		"attribute_exists(:a)":                 false,
		"attribute_exists pk":                  false,
		"":                                     false,
		"pk = :b AND sk = :a":                  true,
		"#b = :a":                              true,
		"attribute_exists(pk)":                 true, // and :a is not used
		"pk = :a AND attribute_not_exists(#c)": true,
	} {
		p := newParser(nil, item{":a": text("a")})
		p.condition(&condition)
		err := p.done()
		if err == nil || errors.Is(err, errUnknownExpression) == known {
			t.Errorf("%q: %v", condition, err)
		}
	}
	for update, known := range map[string]bool{
		"SET a = :a, b = :a REMOVE c, d": true,
		"SET a = a + :a":                 false,
		"SET a = if_not_exists(a, :a)":   false,
		"SET a = b":                      false,
		"ADD a :a":                       false,
		"DELETE a :a":                    false,
		"SET a.b = :a":                   false,
		"SET a":                          false,
		"a = :a":                         false,
	} {
		p := newParser(nil, item{":a": text("a")})
		all := p.update(&update)
		if err := p.done(); (err == nil) != known || err != nil && !errors.Is(err, errUnknownExpression) {
			t.Errorf("%q: %v", update, err)
		}
		if known && (len(all) != 4 || all[1].path != "b" || all[1].to == nil || all[3].path != "d" || all[3].to != nil) {
			t.Errorf("%q: %v", update, all)
		}
	}
}

func TestKeyConditions(t *testing.T) {
	for condition, want := range map[string]bool{
		"pk = :a":                                     true,
		"pk = :a AND begins_with(sk, :b)":             true,
		"begins_with(sk, :b) AND pk = :a":             true,
		"pk = :a AND sk >= :b":                        true,
		"sk = :b":                                     false,
		"pk > :a":                                     false,
		"begins_with(pk, :a)":                         false,
		"pk = :a OR sk = :b":                          false,
		"pk = :a AND note = :b":                       false,
		"pk = :a AND pk = :b":                         false,
		"pk = :a AND attribute_exists(sk)":            false,
		"pk = :a AND NOT begins_with(sk, :b)":         false,
		"pk = :a AND sk = :b AND sk = :b":             false,
		"pk = sk":                                     false,
		"pk = :a AND begins_with(sk, pk)":             false,
		"attribute_exists(pk) AND pk = :a":            false,
		strings.Repeat("pk = :a AND ", 3) + "pk = :a": false,
	} {
		p := newParser(nil, item{":a": text("a"), ":b": text("b")})
		pk, of, ok := keyCondition(p.condition(&condition))
		if ok != want || ok && (pk != "a" || len(of) != strings.Count(condition, "sk")) {
			t.Errorf("%s: %q, %v, %v", condition, pk, of, ok)
		}
	}
	if _, _, ok := keyCondition(newParser(nil, nil).condition(aws.String(""))); ok {
		t.Error("an empty condition names no partition")
	}
}
