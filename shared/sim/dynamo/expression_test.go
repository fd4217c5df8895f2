package dynamo

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/tests/harness/expect"
)

func numeral(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func TestConditions(t *testing.T) {
	there := Item{"pk": text("a"), "sk": text("notice#w"), "version": numeral("7"), "note": text("7")}
	names := map[string]string{"#v": "version", "#none": "none"}
	values := Item{":seven": numeral("7"), ":text": text("7"), ":notice": text("notice#"), ":a": text("a")}
	for condition, want := range map[string][2]bool{ // of the item, and of none
		"attribute_not_exists(pk)":             {false, true},
		"attribute_not_exists(#none)":          {true, true},
		"pk = :a AND attribute_not_exists(#v)": {false, false},
		"#v = :seven":                          {true, false},
		"#v=:seven":                            {true, false},
		"#v = :text":                           {false, false}, // another type
		"note = :text":                         {true, false},
		"note = :seven":                        {false, false},
		"begins_with(sk, :notice)":             {true, false},
		"begins_with(sk, :a)":                  {false, false},
		"begins_with(#v, :text)":               {false, false},
		"pk = :a AND note = :text":             {true, false},
		"pk = :a AND note = :a":                {false, false},
	} {
		r := newReader(names, values)
		all := r.condition(&condition)
		if r.err != nil {
			t.Errorf("%s: %v", condition, r.err)
			continue
		}
		expect.Equal(t, [2]bool{holds(all, there), holds(all, nil)}, want, "%s", condition)
	}
}

// What is not simulated must not be taken for true.
func TestWhatIsNoKnownExpressionIsAnError(t *testing.T) {
	for condition, simulated := range map[string]bool{
		"contains(sk, :a)":                     false,
		"size(sk) = :a":                        false,
		"sk BETWEEN :a AND :a":                 false,
		"sk < :a":                              false,
		"pk = :a OR sk = :a":                   false,
		"NOT pk = :a":                          false,
		"(pk = :a)":                            false,
		"a.b = :a":                             false,
		"a[0] = :a":                            false,
		":a = pk":                              false,
		"pk = :a AND":                          false,
		"pk = :a :a":                           false,
		"pk":                                   false,
		"attribute_not_exists(:a)":             false,
		"attribute_exists(pk)":                 false,
		"":                                     false,
		"pk = :b AND sk = :a":                  true,
		"#b = :a":                              true,
		"attribute_not_exists(pk)":             true, // and :a is not used
		"pk = :a AND attribute_not_exists(#c)": true,
	} {
		r := newReader(nil, Item{":a": text("a")})
		r.condition(&condition)
		err := r.done()
		expect.That(t, err != nil && errors.Is(err, ErrUnsimulated) != simulated, "%q: %v", condition, err)
	}
}

func TestKeyConditions(t *testing.T) {
	for condition, want := range map[string]bool{
		"pk = :a":                              true,
		"pk = :a AND begins_with(sk, :b)":      true,
		"begins_with(sk, :b) AND pk = :a":      true,
		"pk = :a AND sk = :b":                  true,
		"sk = :b":                              false,
		"begins_with(pk, :a)":                  false,
		"pk = :a AND note = :b":                false,
		"pk = :a AND pk = :b":                  false,
		"pk = :a AND attribute_not_exists(sk)": false,
		"pk = :a AND sk = :b AND sk = :b":      false,
		"attribute_not_exists(pk) AND pk = :a": false,
		strings.Repeat("pk = :a AND ", 2) + "": false,
	} {
		r := newReader(nil, Item{":a": text("a"), ":b": text("b")})
		pk, sort := r.keyCondition(&condition)
		if ok := r.err == nil; ok != want || ok && (pk != "a" || (sort != nil) != strings.Contains(condition, "sk")) {
			t.Errorf("%s: %q, %v, %v", condition, pk, sort, r.err)
		}
	}
	r := newReader(nil, nil)
	r.keyCondition(aws.String(""))
	expect.That(t, r.err != nil, "an empty condition names no partition")
}
