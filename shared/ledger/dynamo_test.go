package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestActsSortByTheirTime(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*60*60)
	want := []string{
		act{Action{ID: "z", At: noon.Add(-time.Nanosecond)}, 9, 0}.key(),
		act{Action{ID: "y", At: noon.In(tokyo)}, 8, 0}.key(),
		act{Action{ID: "x", At: noon.Add(time.Nanosecond)}, 7, 0}.key(),
		act{Action{ID: "w", At: noon.Add(100 * time.Millisecond)}, 6, 0}.key(),
		act{Action{ID: "v", At: noon.AddDate(1, 0, 0)}, 5, 0}.key(),
	}
	expect.List(t, slices.Sorted(slices.Values(want)), want, "sorted")
}

func TestAnActExpiresAfterItsRetention(t *testing.T) {
	for outcome, want := range map[time.Duration]time.Duration{
		-time.Minute: ActionRetention, // a clock that is behind
		0:            ActionRetention,
		time.Hour:    ActionRetention + time.Hour,
	} {
		w, err := act{Action: Action{At: noon, Outcome: &Outcome{At: noon.Add(outcome)}}}.write(1)
		if err != nil || !w.expires.Equal(noon.Add(want)) {
			t.Errorf("outcome after %s: expires %s after the intent, want %s, %v", outcome, w.expires.Sub(noon), want, err)
		}
	}
	if w, err := (act{Action: Action{At: noon}}).write(0); err != nil || !w.expires.IsZero() {
		t.Errorf("an act without an outcome expires %s, %v", w.expires, err)
	}
	writes, err := (&Changes{Put: State{Spot: map[SpotKey]time.Time{{"i-1", roll.SpotRebalance}: noon}, Missing: map[roll.InstanceID]time.Time{"i-1": noon}}}).writes()
	must.Succeed(t, err)
	for _, w := range writes {
		if spot := strings.HasPrefix(w.key, "spot#"); spot && !w.expires.Equal(noon.Add(SpotRetention)) || !spot && !w.expires.IsZero() {
			t.Errorf("%s expires %s", w.key, w.expires)
		}
	}
	for expires, want := range map[time.Time]string{noon: "1773144000", {}: ""} {
		it := (&inTable{}).items("pk", write{key: "k", value: []byte("{}"), expires: expires}, nil)[0].Put.Item
		if n, _ := it[attrExpires].(*types.AttributeValueMemberN); (n != nil) != (want != "") || n != nil && n.Value != want {
			t.Errorf("expires %s: %v, want %q", expires, it[attrExpires], want)
		}
	}
}

func TestPartsOfANoticeFitAnItem(t *testing.T) {
	const itemLimit = 400_000
	for name, said := range map[string]func(int) Statement{
		"all alike":    func(int) Statement { return Statement{Stage: roll.Overdue} },
		"each its own": func(i int) Statement { return Statement{Held: fmt.Sprintf("%d é", i)} },
	} {
		n := Notice{SentAt: noon, Members: map[roll.InstanceID]MemberMemory{}}
		for i := range 50_000 {
			n.Members[roll.InstanceID(fmt.Sprintf("i-%017x", i))] = MemberMemory{Last: said(i), Told: said(i)}
		}
		writes, err := (&Changes{Put: State{Notices: map[NoticeKey]Notice{{Group: "asg/w", Kind: roll.Unknown}: n}}}).writes()
		must.Succeed(t, err)
		whole := ""
		items := (&inTable{}).items("pk", writes[0], nil)
		for _, it := range items {
			value := textOf(it.Put.Item[attrValue])
			if len(value)+itemOverhead > itemLimit || !utf8.ValidString(value) {
				t.Errorf("%s: an item of %d bytes, whole characters %v", name, len(value), utf8.ValidString(value))
			}
			whole += value
		}
		expect.That(t, len(items) >= 3 && whole == string(writes[0].value), "%s: %d items, %d of %d bytes", name, len(items), len(whole), len(writes[0].value))
		var stored []item
		for _, it := range items {
			stored = append(stored, it.Put.Item)
		}
		read := func(stored []item) ([]record, error) {
			return (&inTable{api: &counting{stored: stored}}).read(t.Context(), "pk", "")
		}
		if got, err := read(stored); err != nil || got[0].value != whole {
			t.Errorf("%s: it is read otherwise: %v", name, err)
		}
		if _, err := read(stored[:2]); !errors.Is(err, errMoved) {
			t.Errorf("%s, without its last part: %v", name, err)
		}
		stored[1] = maps.Clone(stored[1])
		stored[1][attrStamp] = text("another notice")
		if _, err := read(stored); !errors.Is(err, errMoved) {
			t.Errorf("%s, with a part of another notice: %v", name, err)
		}
		// A smaller notice leaves no parts, and those of other notices stay.
		small := write{key: writes[0].key, value: []byte("{}")}
		other := item{attrSort: text(partKey("notice#asg/w#Unknown#x", 1))}
		api := &counting{stored: append(stored, other)}
		wrote, err := (&inTable{api: api}).write(t.Context(), "pk", []write{small}, nil)
		expect.That(t, wrote == 1 && err == nil && slices.Equal(api.steps, []int{len(items)}), "%s: %d written, with %v items: %v", name, wrote, api.steps, err)
	}
}

// counting counts the items of each transaction.
type counting struct {
	steps  []int
	stored []item
}

func (c *counting) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{Items: c.stored}, nil
}

func (c *counting) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	size := 0
	for _, w := range in.TransactItems {
		if w.Put != nil {
			size += len(textOf(w.Put.Item[attrValue]))
		}
	}
	if size > 4<<20 {
		return nil, fmt.Errorf("a transaction of %d bytes", size)
	}
	c.steps = append(c.steps, len(in.TransactItems))
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func TestWritesStayWithinATransaction(t *testing.T) {
	each := func(n, bytes int) (out []write) {
		for i := range n {
			out = append(out, write{key: fmt.Sprintf("notice#%d", i), value: make([]byte, bytes)})
		}
		return out
	}
	guard := noticesWrite(1, 1)
	for name, c := range map[string]struct {
		writes []write
		guard  *write
		want   []int
	}{
		"nothing":                  {nil, nil, nil},
		"99":                       {each(99, 10), nil, []int{99}},
		"100":                      {each(100, 10), nil, []int{99, 1}},
		"99 and the guard":         {each(99, 10), guard, []int{100}},
		"the guard in each":        {each(100, 10), guard, []int{100, 2}},
		"a record is not torn":     {append(each(97, 10), each(1, 3*partBytes)...), nil, []int{97, 3}},
		"a record that just fits":  {append(each(96, 10), each(1, 3*partBytes)...), nil, []int{99}},
		"four megabytes in all":    {each(20, 300_000), nil, []int{11, 9}},
		"after a large one, again": {append(each(1, 9*partBytes), each(2, partBytes)...), nil, []int{9, 2}},
	} {
		api := &counting{}
		table := &inTable{api: api, table: "ledger"}
		for left := c.writes; len(left) > 0; {
			n, err := table.write(t.Context(), "pk", left, c.guard)
			must.That(t, err == nil && n != 0, "%s: %d written, %v", name, n, err)
			left = left[n:]
		}
		expect.That(t, slices.Equal(api.steps, c.want), "%s: writes of %v items, want %v", name, api.steps, c.want)
	}
	n, err := (&inTable{api: &counting{}}).write(t.Context(), "pk", each(1, 4_000_000), nil)
	expect.That(t, n == 0 && err != nil && strings.Contains(err.Error(), "record notice#0 has 4000000 bytes"), "a record that is too large: %d written, %v", n, err)
}

func TestAPauseIsShortAndEndsWithItsContext(t *testing.T) {
	for conflicts := 1; conflicts <= 2; conflicts++ {
		expect.Succeed(t, pause(context.Background(), conflicts))
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	err := pause(over, tries)
	expect.That(t, errors.Is(err, context.Canceled), "got %v, want the context's end", err)
}
