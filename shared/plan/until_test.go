package plan

import (
	"fmt"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// A held act shows how long it will be held.
func TestWhatIsHeldSaysWhenThatPasses(t *testing.T) {
	replaced := func(ago time.Duration) ledger.Action {
		return ledger.Action{ID: "x", Do: "terminate", Instance: instanceID(9), Group: "asg/w", At: now.Add(-ago), Outcome: &ledger.Outcome{Result: ledger.Done, At: now.Add(-ago)}}
	}
	pol := sick().doc.Cluster("demo", "", "remediate")(roll.Selector{})
	limits, deadline := pol.Limits, pol.Registration.Deadline
	for name, tt := range map[string]struct {
		spoil  func(*world)
		reason Reason
		until  time.Duration // from now; zero if unknown
	}{
		"seen half a minute ago": {func(w *world) { w.seen(1, 30*time.Second) }, NotSeenTwice, 30 * time.Second},
		"never seen":             {func(w *world) { w.state = ledger.State{} }, NotSeenTwice, 0},
		"after a storm": {func(w *world) {
			w.state.Trouble = &ledger.Trouble{Reason: string(ZoneOutage), Since: now.Add(-time.Hour), Last: now.Add(-time.Minute)}
		}, StormCooldown, limits.StormCooldown - time.Minute},
		"after an end":   {func(w *world) { w.state.Actions = []ledger.Action{replaced(time.Minute)} }, OneAtATime, deadline - time.Minute},
		"no replacement": {func(w *world) { w.state.Actions = []ledger.Action{replaced(deadline)} }, ReplacementPending, 0},
		"launches failed": {func(w *world) {
			w.snapshot.Groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes, LaunchFailed: now.Add(-10 * time.Minute)}
		}, ReplacementUnavailable, 0},
		"launches are suspended": {func(w *world) {
			w.snapshot.Groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.Yes, ReplaceSuspended: roll.No}
		}, GroupSuspended, 0},
		"protected": {func(w *world) { w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.Yes }) }, TerminationProtected, 0},
		"five in the hour": {func(w *world) {
			for i := range 5 {
				a := replaced(time.Duration(10*(i+1)) * time.Minute)
				a.ID, a.Instance, a.Group = fmt.Sprint(i), instanceID(20+i), "asg/other"
				w.state.Actions = append(w.state.Actions, a)
			}
		}, ActionsPerHour, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := sick()
			tt.spoil(w)
			_, p := w.make(now)
			must.That(t, len(p.Held) == 1 && p.Held[0].Reason == tt.reason, "held %+v, want %s", p.Held, tt.reason)
			want := time.Time{}
			if tt.until > 0 {
				want = now.Add(tt.until)
			}
			got := p.Held[0].Until
			expect.That(t, got.Equal(want), "it passes at %s, want %s", got, want)
		})
	}
}

// The time of one finding's reason does not apply to another's.
func TestTheTimeOfAReasonIsItsOwn(t *testing.T) {
	w := sick()
	w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-3 * time.Hour)}
	w.seen(2, time.Hour)
	w.snapshot.Instances[0].Hold = "true"
	w.seen(1, time.Hour)
	w.state.Trouble = &ledger.Trouble{Reason: string(ZoneOutage), Since: now.Add(-time.Hour), Last: now.Add(-time.Minute)}
	_, p := w.make(now)
	for _, h := range p.Held {
		expect.That(t, (h.Reason == StormCooldown) != h.Until.IsZero(), "%s of %s passes at %s", h.Reason, h.Instance, h.Until)
	}
	expect.That(t, len(p.Held) == 2, "held %+v, want two", p.Held)
}

func TestWhenTheHourIsOver(t *testing.T) {
	act := func(n int, ago time.Duration) ledger.Action {
		return ledger.Action{ID: fmt.Sprint(n, ago), Do: "terminate", Instance: instanceID(n), At: now.Add(-ago), Outcome: &ledger.Outcome{Result: ledger.Done}}
	}
	for name, tt := range map[string]struct {
		acts  []ledger.Action
		limit int
		want  time.Duration // from now; zero if they do not use it up
	}{
		"nothing was done":             {nil, 1, 0},
		"fewer than allowed":           {[]ledger.Action{act(1, time.Minute)}, 2, 0},
		"as many as allowed":           {[]ledger.Action{act(1, 50*time.Minute), act(2, 20*time.Minute)}, 2, 10 * time.Minute},
		"one more than allowed":        {[]ledger.Action{act(1, 50*time.Minute), act(2, 20*time.Minute)}, 1, 40 * time.Minute},
		"an instance counts once":      {[]ledger.Action{act(1, 50*time.Minute), act(1, 20*time.Minute)}, 1, 40 * time.Minute},
		"the instance itself does not": {[]ledger.Action{act(7, time.Minute)}, 1, 0},
		"an hour ago":                  {[]ledger.Action{act(1, time.Hour)}, 1, 0},
		"nothing is allowed":           {[]ledger.Action{act(1, time.Minute)}, 0, 0},
	} {
		want := time.Time{}
		if tt.want > 0 {
			want = now.Add(tt.want)
		}
		got := hourOver(tt.acts, instanceID(7), tt.limit, now)
		expect.That(t, got.Equal(want), "%s: %s, want %s", name, got, want)
	}
}
