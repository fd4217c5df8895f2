package remediate

import (
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// Each check gives the same order, and each time the second look refuses it.
func TestARefusalThatWasToldIsNoNews(t *testing.T) {
	protect := func(w *world) {
		w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.Yes })
	}
	hold := func(w *world) { w.instances[0].Hold = "true" }
	busy := func(w *world) {
		w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.Unreadable })
		w.detailGap = &roll.Gap{Scope: roll.ScopeDetail, Kind: roll.GapThrottled, Call: roll.CallInstanceAttribute, Detail: "throttled"}
	}
	calm := func(w *world) {
		w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.No })
		w.detailGap, w.instances[0].Hold = nil, ""
	}
	type try struct {
		happen func(*world)
		reason plan.Reason
		told   bool // by the publisher, if it is news
		news   bool
	}
	for name, tries := range map[string][]try{
		"for the same reason":               {{protect, plan.TerminationProtected, true, true}, {protect, plan.TerminationProtected, true, false}, {protect, plan.TerminationProtected, true, false}},
		"for another reason":                {{protect, plan.TerminationProtected, true, true}, {hold, plan.InstanceHeld, true, true}, {hold, plan.InstanceHeld, true, false}},
		"for each of two reasons in turn":   {{protect, plan.TerminationProtected, true, true}, {hold, plan.InstanceHeld, true, true}, {protect, plan.TerminationProtected, true, false}, {hold, plan.InstanceHeld, true, false}},
		"but nobody could be told":          {{protect, plan.TerminationProtected, false, true}, {protect, plan.TerminationProtected, true, true}, {protect, plan.TerminationProtected, true, false}},
		"for a reason that passes, between": {{protect, plan.TerminationProtected, true, true}, {busy, plan.NotReadYet, true, true}, {protect, plan.TerminationProtected, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			w := silentNode(t)
			o := w.order(t)
			for i, try := range tries {
				calm(w)
				try.happen(w)
				at := now.Add(time.Duration(i) * time.Minute)
				out := w.remediator(t).Act(t.Context(), o, at)
				w.refused(t, out, try.reason, 0)
				expect.That(t, out.News == try.news, "try %d: news %v, want %v", i, out.News, try.news)
				if !try.told || !out.News || out.Reason.Passing() {
					continue
				}
				must.Succeed(t, w.remediator(t).Told(t.Context(), out, at))
			}
		})
	}
}

// What keeps Rollcall from an act mostly passes by itself. A missing permission does not.
func TestWhatKeepsARefusalIsNewsOnceItHasLasted(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	w.instances[0].Marks = nil
	for _, try := range []struct {
		after time.Duration
		news  bool
	}{{0, false}, {5 * time.Minute, false}, {29 * time.Minute, false}, {30 * time.Minute, true}, {35 * time.Minute, false}} {
		o.At, o.Expires = now.Add(try.after), now.Add(try.after).Add(plan.OrderLife)
		out := w.remediator(t).Act(t.Context(), o, now.Add(try.after))
		w.refused(t, out, plan.OrderUnmarked, 0)
		expect.Equal(t, out.News, try.news, "after %s", try.after)
		if out.News {
			must.Succeed(t, w.remediator(t).Told(t.Context(), out, now.Add(try.after)))
		}
	}
}

func TestARefusalOfAnotherOrderIsNews(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	w.instances[0].Hold = "true"
	r := w.remediator(t)
	first := r.Act(t.Context(), o, now)
	must.Succeed(t, r.Told(t.Context(), first, now))
	o.ID = "0000000000000000"
	out := r.Act(t.Context(), o, now)
	expect.That(t, out.Result == Refused && out.News, "%s for %s, news %v", out.Result, out.Reason, out.News)
}

// Reporting once too often is better than never.
func TestARefusalIsNewsWhenTheLedgerCannotTell(t *testing.T) {
	w := silentNode(t)
	out := *refusal(w.order(t), plan.VerdictChanged, "it is well")
	loud := &loudLedger{Ledger: w.ledger, world: w}
	r := w.remediatorWith(t, loud)
	must.Succeed(t, r.Told(t.Context(), out, now))
	expect.That(t, !r.news(t.Context(), out, now), "what was told is forgotten")
	loud.readErr = errDisk
	expect.That(t, r.news(t.Context(), out, now), "without a ledger nobody knows that it was told")
}

// An order that was begun is recorded as an act; its report need not be recorded.
func TestOnlyRefusalsAreRememberedAsTold(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	for _, result := range []Result{Acted, Failed, Sent, Ongoing, Unclear} {
		said := (Outcome{Order: o, Result: result}).Said(now)
		expect.That(t, said.Empty(), "%s: %+v", result, said)
		l := &loudLedger{Ledger: w.ledger, world: w}
		err := w.remediatorWith(t, l).Told(t.Context(), Outcome{Order: o, Result: result}, now)
		expect.That(t, err == nil, "%s: %v", result, err)
	}
	want := ledger.Changes{
		Put: ledger.State{
			Refusals: map[ledger.RefusalKey]ledger.Refusal{
				{Order: o.ID, Reason: "VerdictChanged"}: {Instance: target, Kind: roll.Unknown, Do: "terminate", At: now},
			},
		},
	}
	tokyo := time.FixedZone("JST", 9*60*60)
	expect.Same(t, refusal(o, plan.VerdictChanged, "it is well").Said(now.In(tokyo)), want, "a refusal")
}
