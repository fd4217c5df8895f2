package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/roll"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestActsSortByTheirTime(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*60*60)
	want := []string{
		actionItem{Action{ID: "z", At: noon.Add(-time.Nanosecond)}, 9}.sortKey(),
		actionItem{Action{ID: "y", At: noon.In(tokyo)}, 8}.sortKey(),
		actionItem{Action{ID: "x", At: noon.Add(time.Nanosecond)}, 7}.sortKey(),
		actionItem{Action{ID: "w", At: noon.Add(100 * time.Millisecond)}, 6}.sortKey(),
		actionItem{Action{ID: "v", At: noon.AddDate(1, 0, 0)}, 5}.sortKey(),
	}
	if got := slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("sorted %q, want %q", got, want)
	}
}

func TestAnActExpiresAfterItsRetention(t *testing.T) {
	for outcome, want := range map[time.Duration]time.Duration{
		-time.Minute: ActionRetention, // a clock that is behind
		0:            ActionRetention,
		time.Hour:    ActionRetention + time.Hour,
	} {
		if got := expiry(Action{At: noon}, Outcome{At: noon.Add(outcome)}); got != noon.Add(want).Unix() {
			t.Errorf("outcome after %s: expires %s after the intent, want %s", outcome, time.Unix(got, 0).Sub(noon), want)
		}
	}
}

func TestPartsOfANoticeFitAnItem(t *testing.T) {
	const itemLimit = 400_000
	for name, said := range map[string]func(int) Statement{
		"all alike":    func(int) Statement { return Statement{Stage: roll.Overdue} },
		"each its own": func(i int) Statement { return Statement{Order: fmt.Sprintf("%016x", i)} },
	} {
		n := Notice{SentAt: noon, Members: map[roll.InstanceID]MemberMemory{}}
		for i := range 50_000 {
			n.Members[roll.InstanceID(fmt.Sprintf("i-%017x", i))] = Told(said(i))
		}
		items, err := noticeItems("pk", NoticeKey{Group: "asg/w", Kind: roll.Unknown}, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if size := sizeOf(it); size > itemLimit {
				t.Errorf("%s: an item of %d bytes", name, size)
			}
		}
		if len(items) < 3 {
			t.Errorf("%s: %d items", name, len(items))
		}
	}
}

func TestWritesStayWithinATransaction(t *testing.T) {
	write := func(bytes int) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{Item: item{"a": text(string(make([]byte, bytes)))}}}
	}
	many := func(n, bytes int) (u unit) {
		for range n {
			u = append(u, write(bytes))
		}
		return u
	}
	each := func(n, bytes int) (us []unit) {
		for range n {
			us = append(us, many(1, bytes))
		}
		return us
	}
	for name, c := range map[string]struct {
		units []unit
		want  []int
	}{
		"nothing":                  {nil, nil},
		"99":                       {each(99, 10), []int{99}},
		"100":                      {each(100, 10), []int{99, 1}},
		"a unit is not torn":       {append(each(95, 10), many(6, 10)), []int{95, 6}},
		"a unit that just fits":    {append(each(93, 10), many(6, 10)), []int{99}},
		"four megabytes in all":    {each(20, 300_000), []int{11, 9}},
		"after a large one, again": {append([]unit{many(11, 300_000)}, each(2, 300_000)...), []int{11, 2}},
	} {
		var got []int
		for _, chunk := range chunked(c.units) {
			got = append(got, len(chunk))
			if chunk.bytes() > 4<<20 {
				t.Errorf("%s: a write of %d bytes", name, chunk.bytes())
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: writes of %v items, want %v", name, got, c.want)
		}
	}
}

func TestAPauseIsShortAndEndsWithItsContext(t *testing.T) {
	for conflicts := 1; conflicts <= 2; conflicts++ {
		if err := pause(context.Background(), conflicts); err != nil {
			t.Error(err)
		}
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := pause(over, tries); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
}
