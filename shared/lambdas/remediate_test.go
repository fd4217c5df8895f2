package lambdas

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/logtest"
	"rollcall/tests/harness/must"
)

// hands carries out every order with one outcome, and records what is reported.
type hands struct {
	outcome remediate.Outcome
	acted   []plan.Order
	told    []string
	put     []string
	fail    bool
	// remembered are the outcomes recorded as reported; forgetful fails to record any.
	remembered []remediate.Outcome
	forgetful  bool
}

func (h *hands) Act(_ context.Context, o plan.Order, _ time.Time) remediate.Outcome {
	h.acted = append(h.acted, o)
	out := h.outcome
	out.Order = o
	for _, known := range h.remembered {
		out.News = out.News && (known.Order.ID != o.ID || known.Reason != out.Reason)
	}
	return out
}

func (h *hands) Told(_ context.Context, o remediate.Outcome, at time.Time) error {
	if h.forgetful {
		return errors.New("no table")
	}
	if !at.Equal(now) {
		return errors.New("told at another time")
	}
	h.remembered = append(h.remembered, o)
	return nil
}

func (h *hands) Publish(_ context.Context, m report.Message) error {
	if h.fail {
		return errors.New("no topic")
	}
	h.told = append(h.told, m.Attributes.Action)
	return nil
}

func (h *hands) Put(_ context.Context, all []emit.Event) error {
	if h.fail {
		return errors.New("no bus")
	}
	for _, e := range all {
		h.put = append(h.put, e.DetailType)
	}
	return nil
}

func order(t *testing.T) string {
	t.Helper()
	body, err := trigger.EncodeOrder(plan.Order{
		ID: "3f9a0c5d7e1b2468", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}, Instance: "i-00000000000000001",
		Group: "asg/w", Owner: roll.OwnerAutoScalingGroup, Kind: roll.Unregistered, Action: plan.Terminate,
		FirstSeen: now.Add(-10 * time.Minute), Since: now.Add(-20 * time.Minute), At: now, Expires: now.Add(plan.OrderLife), Why: "it never registered",
	})
	must.Succeed(t, err)
	return string(body)
}

func (h *hands) handle(t *testing.T, bodies ...string) {
	t.Helper()
	f := &Remediate{Ambient: around(now, io.Discard), Remediator: h, Notices: h, Events: h}
	r, err := f.Handle(t.Context(), logtest.Batch(bodies...))
	expect.That(t, err == nil && len(r.BatchItemFailures) == 0, "%+v, %v: an order must not come again", r, err)
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
		{"no evidence", remediate.Outcome{Result: remediate.Refused, Reason: plan.EvidenceNotStored}, nil, nil},
		{"no evidence for long", remediate.Outcome{Result: remediate.Refused, Reason: plan.EvidenceNotStored, News: true}, []string{"refused"}, []string{emit.ActionHeld}},
		{"not yet marked", remediate.Outcome{Result: remediate.Refused, Reason: plan.OrderUnmarked}, nil, nil},
	}
	for _, tt := range tests {
		h := &hands{outcome: tt.outcome}
		h.handle(t, order(t))
		if len(h.acted) != 1 || !slices.Equal(h.told, tt.told) || !slices.Equal(h.put, tt.put) {
			t.Errorf("%s: acted %d times, told %v, events %v, want %v and %v", tt.name, len(h.acted), h.told, h.put, tt.told, tt.put)
		}
	}
}

func TestWhatIsNoOrderIsDroppedAndTheRestIsServed(t *testing.T) {
	h := &hands{outcome: remediate.Outcome{Result: remediate.Acted}}
	h.handle(t, "not JSON", `{"id":"x"}`, order(t))
	expect.That(t, len(h.acted) == 1, "%d orders reached the remediator, want 1", len(h.acted))
}

func TestThatNobodyCouldBeToldDoesNotBringTheOrderAgain(t *testing.T) {
	h := &hands{outcome: remediate.Outcome{Result: remediate.Acted, News: true}, fail: true}
	h.handle(t, order(t))
	expect.That(t, len(h.acted) == 1, "acted %d times", len(h.acted))
}

// The next check may give the same order again, and a message may be delivered twice. A
// refusal is reported once, and again only for another reason.
func TestARefusalIsToldOnce(t *testing.T) {
	refused := func(reason plan.Reason) remediate.Outcome {
		return remediate.Outcome{Result: remediate.Refused, Reason: reason, Detail: "so it is", News: true}
	}
	for name, tt := range map[string]struct {
		reasons    []plan.Reason
		fail       bool
		forgetful  bool
		told       int
		remembered int
	}{
		"once":                      {[]plan.Reason{plan.VerdictChanged}, false, false, 1, 1},
		"twice":                     {[]plan.Reason{plan.VerdictChanged, plan.VerdictChanged}, false, false, 1, 1},
		"for another reason":        {[]plan.Reason{plan.VerdictChanged, plan.InstanceHeld, plan.InstanceHeld}, false, false, 2, 2},
		"for a reason that passes":  {[]plan.Reason{plan.AlreadyBegun, plan.OrderExpired}, false, false, 0, 0},
		"what was not told":         {[]plan.Reason{plan.VerdictChanged, plan.VerdictChanged}, true, false, 0, 0},
		"what cannot be remembered": {[]plan.Reason{plan.VerdictChanged, plan.VerdictChanged}, false, true, 2, 0},
	} {
		h := &hands{fail: tt.fail, forgetful: tt.forgetful}
		for _, reason := range tt.reasons {
			h.outcome = refused(reason)
			h.handle(t, order(t))
		}
		if len(h.told) != tt.told || len(h.put) != tt.told || len(h.remembered) != tt.remembered {
			t.Errorf("%s: told %d times, %d events, remembered %d times, want %d, %d and %d", name, len(h.told), len(h.put), len(h.remembered), tt.told, tt.told, tt.remembered)
		}
	}
}
