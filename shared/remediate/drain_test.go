package remediate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// pass carries out the order that a check gives at that time.
func (w *world) pass(t *testing.T, at time.Time) Outcome {
	t.Helper()
	o := w.orderAt(t, at)
	if o.Action != plan.Drain {
		t.Fatalf("at %s the world orders %s, want drain", roll.Clock(at), o.Action)
	}
	return w.remediator(t).Act(t.Context(), o, at.Add(time.Second))
}

func pods(n int) []pod {
	var out []pod
	for i := range n {
		out = append(out, pod{name: fmt.Sprintf("p-%d", i)})
	}
	return out
}

func TestADrainTakesSeveralPassesOfOneOrder(t *testing.T) {
	w := cordoned(t)
	earlier := len(w.actions(t))
	w.pods = pods(2*evictions + 20)
	var ids []string
	for minute, want := range []struct {
		result Result
		detail string
	}{
		{Ongoing, "draining node node-1: 50 pods evicted just now, 70 pods yet to be evicted"},
		{Ongoing, "draining node node-1: 50 pods evicted just now, 20 pods yet to be evicted"},
		{Ongoing, "draining node node-1: 20 pods evicted just now"},
		{Acted, "drained node node-1"},
	} {
		out := w.pass(t, now.Add(time.Duration(minute)*time.Minute))
		ids = append(ids, out.Order.ID)
		if out.Result != want.result || out.Detail != want.detail || out.News != (want.result == Acted) || out.Reason != "" {
			t.Errorf("minute %d: %s, news %v: %s; want %s: %s", minute, out.Result, out.News, out.Detail, want.result, want.detail)
		}
		got := w.actions(t)[earlier:]
		expect.That(t, len(got) == 1 && (got[0].Outcome == nil) == (want.result == Ongoing) && got[0].At.Equal(now.Add(time.Second)), "minute %d: the ledger holds %+v", minute, got)
	}
	expect.That(t, len(slices.Compact(ids)) == 1, "the passes are of orders %v, want one", ids)
}

// A person may lift a cordon, their own or Rollcall's. A drain cordons a node that is not cordoned,
// as kubectl drain does: otherwise new pods come while the others leave. The cordon of a person
// stays theirs.
func TestADrainCordonsFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*world)
		cords  bool
	}{
		"it is cordoned by the order before": {func(*world) {}, false},
		"a person lifted it":                 {func(w *world) { w.nodes[0].Unschedulable = false }, true},
		"a person lifted their own": {func(w *world) {
			w.nodes[0].Unschedulable, w.nodes[0].CordonedBy = false, ""
		}, true},
		"it is cordoned by a person": {func(w *world) { w.nodes[0].CordonedBy = "" }, false},
	} {
		w := cordoned(t)
		tt.change(w)
		w.pods, w.sent = pods(1), nil
		by := w.nodes[0].CordonedBy
		out := w.pass(t, now)
		want := []string{"drain node-1 50"}
		if tt.cords {
			want, by = []string{"cordon node-1 uid-1 " + out.Order.ID, "drain node-1 50"}, out.Order.ID
		}
		if out.Result != Ongoing || !slices.Equal(w.sent, want) || !w.nodes[0].Unschedulable || w.nodes[0].CordonedBy != by {
			t.Errorf("%s: %s (%s), sent %q, cordoned by %q, want %q", name, out.Result, out.Detail, w.sent, w.nodes[0].CordonedBy, want)
		}
	}
}

// Without its cordon nothing is evicted.
func TestADrainThatCannotCordonEvictsNothing(t *testing.T) {
	w := cordoned(t)
	w.nodes[0].Unschedulable, w.pods, w.sent = false, pods(1), nil
	w.sending["cordon"] = func(context.Context) error { return refusals()["forbidden"] }
	if out := w.pass(t, now); out.Result != Failed || slices.ContainsFunc(w.sent, func(s string) bool { return strings.HasPrefix(s, "drain") }) {
		t.Errorf("%s: %s, sent %q", out.Result, out.Detail, w.sent)
	}
}

// Pods that came onto the node after its cordon would only come back, and are left alone.
// The time of the cordon is known only for Rollcall's own cordon; with any other cordon all
// pods are to leave.
func TestOnlyWhatCameAfterTheOwnCordonIsLeftAlone(t *testing.T) {
	own := now.Add(-2 * time.Minute) // see cordoned
	drains := func(w *world) { w.doc = document("ladders: {NotReady: [{do: drain}]}\n") }
	for name, tt := range map[string]struct {
		world  func(*testing.T) *world
		change func(*world)
		want   time.Time
	}{
		"by the order before":         {cordoned, func(*world) {}, own},
		"not any more":                {cordoned, func(w *world) { w.nodes[0].Unschedulable = false }, time.Time{}},
		"by an order that none knows": {cordoned, func(w *world) { w.nodes[0].CordonedBy = "x" }, time.Time{}},
		"by a person since":           {cordoned, func(w *world) { w.nodes[0].Cordoner = "kubectl" }, time.Time{}},
		"a ladder without a cordon":   {unready, drains, time.Time{}},
		"by a person":                 {unready, func(w *world) { drains(w); w.nodes[0].Unschedulable = true }, time.Time{}},
	} {
		w := tt.world(t)
		tt.change(w)
		w.pods = pods(1)
		if out := w.pass(t, now); out.Result != Ongoing || !w.skipped.Equal(tt.want) {
			t.Errorf("%s: %s, what came after %s is left: %s", name, out.Result, w.skipped, out.Detail)
		}
		w.nodes[0].Unschedulable = true // a person cordoned it between two passes
		if out := w.pass(t, now.Add(time.Minute)); out.Result != Acted || name != "not any more" && !w.skipped.Equal(tt.want) {
			t.Errorf("%s, and once more: %s, what came after %s is left: %s", name, out.Result, w.skipped, out.Detail)
		}
	}
}

// A pod can come onto the node until the cordon is there: its intent was recorded before, and the API
// server may take long.
func TestWhatCameBeforeTheCordonWasThereIsToLeave(t *testing.T) {
	w := unready(t)
	o, r := w.orderAt(t, now.Add(-2*time.Minute)), w.remediator(t)
	clock := o.At
	r.Clock = func() time.Time { return clock }
	w.sending["cordon"] = func(context.Context) error {
		clock = clock.Add(20 * time.Second)
		return nil
	}
	if out := r.Act(t.Context(), o, o.At); o.Action != plan.Cordon || out.Result != Acted {
		t.Fatalf("%s: %+v", o.Action, out)
	}
	w.pods = pods(1)
	out := w.pass(t, now)
	expect.That(t, out.Result == Ongoing && w.skipped.Equal(clock), "%s: %s; what came after %s is left, and the cordon was there at %s", out.Result, out.Detail, w.skipped, clock)
}

// A check judges as of its minute, which may be ahead of the clock. A pod that must not be
// disrupted for an hour keeps the whole hour.
func TestPodsAreKeptByTheClock(t *testing.T) {
	w := cordoned(t)
	w.pods = pods(1)
	o, r := w.orderAt(t, now), w.remediator(t)
	if out := r.Act(t.Context(), o, now.Add(-40*time.Second)); out.Result != Ongoing || !w.drained[0].Equal(now) {
		t.Errorf("%s without a clock: %v, %s", out.Result, w.drained, out.Detail)
	}
	clock := now.Add(-30 * time.Second)
	r.Clock = func() time.Time { return clock }
	out := r.Act(t.Context(), o, now.Add(-40*time.Second))
	expect.That(t, out.Result == Acted && w.drained[1].Equal(clock), "%s by the clock: %v, %s", out.Result, w.drained, out.Detail)
}

func TestADrainEndsWithItsTime(t *testing.T) {
	w := cordoned(t)
	w.pods = append(pods(1), pod{name: "db-0", kept: "Cannot evict pod as it would violate the pod's disruption budget."})
	begun := now.Add(time.Second)
	if out := w.pass(t, now); out.Result != Ongoing || out.Detail != "draining node node-1: 1 pod evicted just now, 1 pod not to be evicted (default/db-0: Cannot evict pod as it would violate the pod's disruption budget.)" {
		t.Fatalf("%s: %s", out.Result, out.Detail)
	}
	last := w.orderAt(t, now.Add(9*time.Minute))
	r := w.remediator(t)
	if out := r.Act(t.Context(), last, begun.Add(10*time.Minute-time.Nanosecond)); out.Result != Ongoing || out.News {
		t.Errorf("just in time: %+v", out)
	}
	out := r.Act(t.Context(), last, begun.Add(10*time.Minute))
	if want := "unfinished: node node-1 was not empty 10 min after its drain began: 1 pod not to be evicted (default/db-0: Cannot evict pod as it would violate the pod's disruption budget.)"; out.Detail != want {
		t.Errorf("detail\n got %s\nwant %s", out.Detail, want)
	}
	expect.That(t, out.Result == Failed && out.Reason == plan.DrainUnfinished && out.News, "when its time is over: %+v", out)
	a, _ := w.state(t).Action(last.ID)
	expect.That(t, a.Outcome != nil && a.Outcome.Result == ledger.Failed && strings.HasPrefix(a.Outcome.Detail, ledger.Unfinished) && a.Interrupted(), "the ledger holds %+v", a)
	// The instance is kept, and the order does nothing if it is delivered again.
	p := w.check(t, now.Add(12*time.Minute))
	expect.That(t, len(p.Orders) == 0 && len(p.Held) == 1 && p.Held[0].Reason == plan.DrainUnfinished, "orders %+v, held %+v", p.Orders, p.Held)
	sent := len(w.sent)
	again := r.Act(t.Context(), last, now.Add(12*time.Minute))
	expect.That(t, again.Reason == plan.DrainUnfinished && again.Result == Refused && len(w.sent) == sent, "again: %+v", again)
}

func (w *world) state(t *testing.T) ledger.State {
	t.Helper()
	s, err := w.ledger.Read(context.Background(), cluster)
	must.Succeed(t, err)
	return s
}

func TestTheTimeOfADrainIsThePolicysForThatInstance(t *testing.T) {
	w := cordoned(t)
	w.doc = document("drain: {timeout: 10m}\noverrides: [{match: {group: asg/w}, drain: {timeout: 2m}}]\n")
	w.pods = []pod{{name: "db-0", kept: "its budget"}}
	for minute, want := range []Result{Ongoing, Ongoing, Failed} {
		out := w.pass(t, now.Add(time.Duration(minute)*time.Minute))
		expect.That(t, out.Result == want, "minute %d: %s: %s", minute, out.Result, out.Detail)
	}
}

func TestWhatIsLeftNamesAFewPods(t *testing.T) {
	w := cordoned(t)
	for i := range blockedNamed + 2 {
		w.pods = append(w.pods, pod{name: fmt.Sprintf("db-%d", i), kept: "its budget"})
	}
	out := w.pass(t, now)
	if want := "draining node node-1: 7 pods not to be evicted (default/db-0: its budget; default/db-1: its budget; default/db-2: its budget; default/db-3: its budget; default/db-4: its budget; and 2 more)"; out.Detail != want {
		t.Errorf("detail\n got %s\nwant %s", out.Detail, want)
	}
}

func TestWhatIsLeftIsSaidInBounds(t *testing.T) {
	w := cordoned(t)
	w.pods = []pod{{name: "db-0", kept: strings.Repeat("é", 1000)}}
	out := w.pass(t, now)
	n := len([]rune(out.Detail))
	expect.That(t, n <= 2*blockedRunes && strings.HasSuffix(out.Detail, "é...)"), "%d characters: %s", n, out.Detail)
}

// Everything is read again between two passes. Each of these stops the drain, and no
// further pod is evicted.
func TestADrainStopsWhenSomethingSpeaksAgainstIt(t *testing.T) {
	tests := map[string]struct {
		happen func(*world)
		reason plan.Reason
	}{
		"the node is Ready again": {
			func(w *world) {
				w.nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(time.Minute)}
			}, plan.VerdictChanged,
		},
		"the node went silent": {
			func(w *world) {
				w.nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(time.Minute)}
			}, plan.VerdictChanged,
		},
		"the instance is gone":        {func(w *world) { w.instances[0].State = roll.StateTerminated }, plan.VerdictChanged},
		"the node is being deleted":   {func(w *world) { w.nodes[0].DeletedAt = now }, plan.NodeDeleting},
		"somebody holds the instance": {func(w *world) { w.instances[0].Hold = "true" }, plan.InstanceHeld},
		"the tag was removed":         {func(w *world) { w.instances[0].Marks = nil }, plan.OrderUnmarked},
		"every act is stopped":        {func(w *world) { w.doc = document("stop: true\n") }, plan.Stopped},
		"the mode is observe":         {func(w *world) { w.doc = document("mode: observe\n") }, plan.ModeObserve},
		"the target cannot be read":   {func(w *world) { w.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Detail: "no answer"}} }, plan.TargetUnreadable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := cordoned(t)
			w.pods = pods(evictions + 1)
			if out := w.pass(t, now); out.Result != Ongoing {
				t.Fatal(out)
			}
			o := w.orderAt(t, now.Add(time.Minute))
			intents := len(w.actions(t))
			w.sent = nil
			tt.happen(w)
			w.refused(t, w.remediator(t).Act(t.Context(), o, now.Add(time.Minute+time.Second)), tt.reason, intents)
		})
	}
}

// A node that becomes Ready during its drain is uncordoned and kept.
func TestANodeThatComesBackDuringItsDrainIsGivenBack(t *testing.T) {
	w := cordoned(t)
	w.pods = pods(evictions + 1)
	if out := w.pass(t, now); out.Result != Ongoing {
		t.Fatal(out)
	}
	late := w.orderAt(t, now.Add(time.Minute))
	w.nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(time.Minute)}
	r := w.remediator(t)
	if out := r.Act(t.Context(), late, now.Add(time.Minute+time.Second)); out.Reason != plan.VerdictChanged {
		t.Fatalf("%+v", out)
	}
	o := w.orderAt(t, now.Add(2*time.Minute))
	must.That(t, o.Action == plan.Uncordon, "ordered %s", o.Action)
	out := r.Act(t.Context(), o, now.Add(2*time.Minute))
	expect.That(t, out.Result == Acted && !w.nodes[0].Unschedulable && w.nodes[0].CordonedBy == "", "%s: %s; the node is %+v", out.Result, out.Detail, w.nodes[0])
	p := w.check(t, now.Add(3*time.Minute))
	expect.That(t, len(p.Orders) == 0, "then ordered %+v", p.Orders)
	expect.That(t, len(w.calls) == 0, "its instance was terminated")
}

// The order of a drain in progress may expire: the next check gives it again.
func TestAnExpiredPassIsMadeUpForByTheNext(t *testing.T) {
	w := cordoned(t)
	w.pods = pods(1)
	o := w.orderAt(t, now)
	r := w.remediator(t)
	if out := r.Act(t.Context(), o, now); out.Result != Ongoing {
		t.Fatal(out)
	}
	if out := r.Act(t.Context(), o, o.Expires); out.Reason != plan.OrderExpired {
		t.Errorf("%+v", out)
	}
	r.Clock = func() time.Time { return o.Expires }
	if out := r.Act(t.Context(), o, o.Expires.Add(-time.Second)); out.Reason != plan.OrderExpired || len(w.sent) != 1 {
		t.Errorf("expired during the look: %+v, sent %q", out, w.sent)
	}
	r.Clock = nil
	o.At, o.Expires = now.Add(time.Minute), now.Add(time.Minute+plan.OrderLife)
	out := r.Act(t.Context(), o, now.Add(time.Minute))
	expect.That(t, out.Result == Acted, "%+v", out)
}

// After pods were evicted, an error never means that nothing happened.
func TestATroubleOnALaterPassDoesNotEndTheDrain(t *testing.T) {
	for name, err := range failures() {
		t.Run(name, func(t *testing.T) {
			w := cordoned(t)
			w.pods = pods(2)
			if out := w.pass(t, now); out.Result != Ongoing {
				t.Fatal(out)
			}
			w.sending["drain"] = func(context.Context) error { return err }
			out := w.pass(t, now.Add(time.Minute))
			expect.That(t, out.Result == Ongoing && !out.News && out.Detail != "", "got %+v", out)
			out = w.pass(t, now.Add(11*time.Minute))
			expect.That(t, out.Result == Failed && out.Reason == plan.DrainUnfinished && strings.HasPrefix(out.Detail, ledger.Unfinished), "when its time is over: %+v", out)
		})
	}
}

func TestTheEndOfADrainThatCannotBeRecordedIsFoundByTheNextPass(t *testing.T) {
	w := cordoned(t)
	o := w.orderAt(t, now)
	r := w.remediatorWith(t, &loudLedger{Ledger: w.ledger, world: w, finishErr: errDisk})
	if out := r.Act(t.Context(), o, now); out.Result != Acted || !strings.Contains(out.Detail, "could not be recorded") {
		t.Fatalf("%+v", out)
	}
	out := w.pass(t, now.Add(time.Minute))
	a, _ := w.state(t).Action(o.ID)
	expect.That(t, out.Result == Acted && a.Outcome != nil && a.Outcome.Result == ledger.Done, "%+v; the ledger holds %+v", out, a)
}

func TestEvidenceIsKeptOncePerDrain(t *testing.T) {
	w := cordoned(t)
	w.pods = pods(1)
	kept := 0
	for minute, want := range []Result{Ongoing, Acted} {
		at := now.Add(time.Duration(minute) * time.Minute)
		o := w.orderAt(t, at)
		r := w.remediator(t)
		w.keeping = func(plan.Order, Seen) (string, error) {
			if kept++; kept > 1 {
				return "", errors.New("kept already")
			}
			return "s3://evidence/x/", nil
		}
		out := r.Act(t.Context(), o, at)
		expect.That(t, out.Result == want, "minute %d: %+v", minute, out)
	}
	expect.That(t, kept == 1, "kept %d times", kept)
}

// A dead container runtime stops no pods. They do not keep the node from being replaced.
func TestPodsThatHangInTerminatingHoldNoDrain(t *testing.T) {
	w := cordoned(t)
	w.pods = []pod{{name: "web-0", stuck: true}}
	out := w.pass(t, now)
	want := "drained node node-1, but for 1 pod stuck in Terminating, which the end of the instance frees (default/web-0: in Terminating since 11:50:00Z, past its grace period)"
	expect.That(t, out.Result == Acted && out.Detail == want, "%s: %s", out.Result, out.Detail)
	p := w.check(t, now.Add(time.Minute))
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Action == plan.Terminate, "orders %+v, held %+v", p.Orders, p.Held)
}

// A person must decide about the remaining pods, so each is listed with its name and
// reason.
func TestAnUnfinishedDrainNamesThePodsThatAreLeft(t *testing.T) {
	d := kube.Drained{Evicted: []string{"a/b: asked to leave"}, Leaving: []string{"a/c: has until 12:00 to stop"}, Waiting: []string{"a/d: not asked to leave yet"}, Blocked: []string{"a/e: its budget"}}
	if want := "1 pod evicted just now (a/b: asked to leave), 1 pod still stopping (a/c: has until 12:00 to stop), 1 pod yet to be evicted (a/d: not asked to leave yet), 1 pod not to be evicted (a/e: its budget)"; remaining(d, true) != want {
		t.Errorf("over: %s", remaining(d, true))
	}
	expect.Equal(t, remaining(d, false), "1 pod evicted just now, 1 pod still stopping, 1 pod yet to be evicted, 1 pod not to be evicted (a/e: its budget)", "on the way")
}
