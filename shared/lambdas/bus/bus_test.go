package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"rollcall/shared/report/emit"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// region is a fake of EventBridge.
type region struct {
	batches []*eventbridge.PutEventsInput
	fail    error
	// refuse is, for each of the next calls, the number of first entries that the bus
	// refuses.
	refuse []int
}

func (r *region) PutEvents(_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	r.batches = append(r.batches, in)
	refused := 0
	if len(r.refuse) > 0 {
		refused, r.refuse = r.refuse[0], r.refuse[1:]
	}
	out := &eventbridge.PutEventsOutput{FailedEntryCount: int32(refused)}
	for i := range in.Entries {
		result := types.PutEventsResultEntry{EventId: aws.String(fmt.Sprint(i))}
		if i < refused {
			result = types.PutEventsResultEntry{ErrorMessage: aws.String("the bus is busy")}
		}
		out.Entries = append(out.Entries, result)
	}
	return out, r.fail
}

func TestEventsGoInBatchesOfTen(t *testing.T) {
	r := &region{}
	var all []emit.Event
	for i := range 23 {
		all = append(all, emit.Event{DetailType: emit.CheckCompleted, Detail: map[string]any{"n": i}})
	}
	e := New(r, "default")
	must.Succeed(t, e.Put(t.Context(), all))
	var sizes []string
	for _, b := range r.batches {
		sizes = append(sizes, fmt.Sprint(len(b.Entries)))
	}
	expect.That(t, strings.Join(sizes, " ") == "10 10 3", "batches of %v", sizes)
	if entry := r.batches[2].Entries[2]; aws.ToString(entry.Detail) != `{"n":22}` || aws.ToString(entry.Source) != "rollcall" || aws.ToString(entry.DetailType) != "Check Completed" || aws.ToString(entry.EventBusName) != "default" {
		t.Errorf("the last entry is %+v", entry)
	}
}

func TestEventsTellOfWhatTheyAreAbout(t *testing.T) {
	r := &region{}
	about := []string{"arn:aws:ec2:eu-west-1:111122223333:instance/i-0a1b2c3d4e5f60718"}
	must.Succeed(t, New(r, "default").Put(t.Context(), []emit.Event{{DetailType: emit.ActionTaken, Detail: map[string]any{}, Resources: about}}))
	expect.List(t, r.batches[0].Entries[0].Resources, about, "resources")
}

// A call takes 256 KB of entries in total. An entry that is too large by itself is left for
// the bus to refuse.
func TestEventsGoInBatchesThatFit(t *testing.T) {
	text := func(kilobytes int) map[string]any { return map[string]any{"text": strings.Repeat("x", kilobytes<<10)} }
	var all []emit.Event
	for _, kilobytes := range []int{100, 100, 100, 300, 1, 1} {
		all = append(all, emit.Event{DetailType: emit.CheckCompleted, Detail: text(kilobytes)})
	}
	r := &region{}
	must.Succeed(t, New(r, "default").Put(t.Context(), all))
	var sizes []int
	for _, b := range r.batches {
		sizes = append(sizes, len(b.Entries))
	}
	expect.That(t, slices.Equal(sizes, []int{2, 1, 1, 2}), "batches of %v", sizes)
	exact := types.PutEventsRequestEntry{Source: aws.String("rollcall"), DetailType: aws.String("x"), Detail: aws.String(strings.Repeat("x", eventBytes/2-9))}
	over := exact
	over.Detail = aws.String(*exact.Detail + "x")
	expect.Equal(t, batch([]types.PutEventsRequestEntry{exact, exact}), 2, "two that fit exactly go in batches of")
	expect.Equal(t, batch([]types.PutEventsRequestEntry{exact, over}), 1, "two that are a byte too large go in batches of")
}

func TestEventsThatAreRefusedAreTriedOnceMore(t *testing.T) {
	var all []emit.Event
	for i := range 3 {
		all = append(all, emit.Event{DetailType: emit.CheckCompleted, Detail: map[string]any{"n": i}})
	}
	r := &region{refuse: []int{2}}
	if err := New(r, "default").Put(t.Context(), all); err != nil {
		t.Errorf("got %v", err)
	}
	if len(r.batches) != 2 || len(r.batches[1].Entries) != 2 || aws.ToString(r.batches[1].Entries[1].Detail) != `{"n":1}` {
		t.Errorf("%d calls", len(r.batches))
	}
	r = &region{refuse: []int{3, 2}}
	if err := New(r, "default").Put(t.Context(), all); err == nil || !strings.Contains(err.Error(), "2 of 3 events: the bus is busy") {
		t.Errorf("got %v", err)
	}
	r = &region{fail: errors.New("no route")}
	if err := New(r, "default").Put(t.Context(), all); err == nil || len(r.batches) != 1 {
		t.Errorf("%d calls, %v", len(r.batches), err)
	}
}
