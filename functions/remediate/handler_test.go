package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"rollcall/shared/emit"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/shared/trigger"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

type world struct {
	outcome remediate.Outcome
	acted   []plan.Order
	told    []string
	put     []string
	fail    bool
}

func (w *world) Act(_ context.Context, o plan.Order, _ time.Time) remediate.Outcome {
	w.acted = append(w.acted, o)
	out := w.outcome
	out.Order = o
	return out
}

func (w *world) Publish(_ context.Context, m report.Message) error {
	if w.fail {
		return errors.New("no topic")
	}
	w.told = append(w.told, m.Attributes.Action)
	return nil
}

func (w *world) Put(_ context.Context, all []emit.Event) error {
	if w.fail {
		return errors.New("no bus")
	}
	for _, e := range all {
		w.put = append(w.put, e.DetailType)
	}
	return nil
}

func order(t *testing.T) string {
	t.Helper()
	body, err := trigger.EncodeOrder(plan.Order{
		ID: "3f9a0c5d7e1b2468", Cluster: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}, Instance: "i-00000000000000001",
		Group: "asg/w", Owner: roll.OwnerAutoScalingGroup, Kind: roll.Unregistered, Action: plan.Terminate,
		FirstSeen: now.Add(-10 * time.Minute), Since: now.Add(-20 * time.Minute), At: now, Expires: now.Add(plan.OrderLife), Why: "it never registered",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func (w *world) handle(t *testing.T, bodies ...string) {
	t.Helper()
	h := &handler{remediator: w, notices: w, events: w, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler), metrics: new(bytes.Buffer)}
	var b events.SQSEvent
	for _, body := range bodies {
		b.Records = append(b.Records, events.SQSMessage{MessageId: "m", Body: body})
	}
	if r, err := h.handle(t.Context(), b); err != nil || len(r.BatchItemFailures) != 0 {
		t.Errorf("%+v, %v: an order must not come again", r, err)
	}
}

func TestWhatBecomesOfAnOrderIsTold(t *testing.T) {
	tests := []struct {
		name    string
		outcome remediate.Outcome
		told    []string
		put     []string
	}{
		{"acted", remediate.Outcome{Result: remediate.Acted, News: true}, []string{"terminated"}, []string{emit.ActionTaken}},
		{"failed", remediate.Outcome{Result: remediate.Failed, News: true}, []string{"failed"}, []string{emit.ActionFailed}},
		{"failed as before", remediate.Outcome{Result: remediate.Failed}, nil, []string{emit.ActionFailed}},
		{"unclear", remediate.Outcome{Result: remediate.Unclear, News: true}, []string{"unclear"}, []string{emit.ActionFailed}},
		{"refused for good", remediate.Outcome{Result: remediate.Refused, Reason: plan.VerdictChanged, News: true}, []string{"refused"}, []string{emit.ActionHeld}},
		{"delivered twice", remediate.Outcome{Result: remediate.Refused, Reason: plan.AlreadyBegun, News: true}, nil, nil},
		{"ongoing", remediate.Outcome{Result: remediate.Ongoing}, nil, nil},
		{"a drain ran out of time", remediate.Outcome{Result: remediate.Failed, Reason: plan.DrainUnfinished, News: true}, nil, []string{emit.ActionFailed}},
		{"no evidence", remediate.Outcome{Result: remediate.Refused, Reason: plan.EvidenceNotStored, News: true}, nil, nil},
		{"not yet marked", remediate.Outcome{Result: remediate.Refused, Reason: plan.OrderUnmarked, News: true}, nil, nil},
	}
	for _, tt := range tests {
		w := &world{outcome: tt.outcome}
		w.handle(t, order(t))
		if len(w.acted) != 1 || !slices.Equal(w.told, tt.told) || !slices.Equal(w.put, tt.put) {
			t.Errorf("%s: acted %d times, told %v, events %v, want %v and %v", tt.name, len(w.acted), w.told, w.put, tt.told, tt.put)
		}
	}
}

func TestWhatIsNoOrderIsDroppedAndTheRestIsServed(t *testing.T) {
	w := &world{outcome: remediate.Outcome{Result: remediate.Acted}}
	w.handle(t, "not JSON", `{"id":"x"}`, order(t))
	if len(w.acted) != 1 {
		t.Errorf("%d orders reached the remediator, want 1", len(w.acted))
	}
}

func TestThatNobodyCouldBeToldDoesNotBringTheOrderAgain(t *testing.T) {
	w := &world{outcome: remediate.Outcome{Result: remediate.Acted, News: true}, fail: true}
	w.handle(t, order(t))
	if len(w.acted) != 1 {
		t.Errorf("acted %d times", len(w.acted))
	}
}
