package plan

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const asking = "apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}, {approve: {for: 2h}}, {do: reboot, once: true}, {do: terminate, after: 10m}]}\n"

// asked is a world whose first instance a notice has asked about.
func asked(t *testing.T, doc string) (w *world, q ledger.ApprovalRequest) {
	t.Helper()
	w = sick()
	w.doc = mustParse(doc)
	p := w.told(now)
	if len(p.Orders) > 0 || len(p.Held) != 1 || p.Held[0].Reason != ApprovalPending || len(w.state.Questions) != 1 {
		t.Fatalf("orders %v, held %v, questions %v", p.Orders, p.Held, w.state.Questions)
	}
	return w, slices.Collect(maps.Values(w.state.Questions))[0]
}

// told makes a plan, and remembers it and what its notices said.
func (w *world) told(at time.Time) Plan {
	_, p := w.make(at)
	w.state.Apply(p.Changes)
	for _, n := range p.Notices {
		w.state.Apply(n.Sent())
	}
	for _, a := range p.Approved {
		w.approve(a.Order, a.Approval)
	}
	return p
}

// approve records an approval, if it is in time.
func (w *world) approve(order string, a ledger.Approval) {
	if _, err := w.state.Asked(order, a.At); err == nil {
		w.state.Apply(ledger.Changes{Put: ledger.State{Approvals: map[string]ledger.Approval{order: a}}})
	}
}

// done records that an order was carried out.
func (w *world) done(o Order, at time.Time) {
	w.state.Actions = append(w.state.Actions, ledger.Action{
		ID: o.ID, Do: string(o.Action), Instance: o.Instance, Node: o.Node, Group: o.Group, Kind: o.Kind, At: at, Approved: o.Approved,
		Outcome: &ledger.Outcome{Result: ledger.Done, At: at},
	})
}

var somebody = ledger.Approval{By: "arn:aws:iam::111122223333:user/oncall", How: ledger.WayCommand}

func approvedAt(at time.Time) ledger.Approval {
	a := somebody
	a.At = at
	return a
}

// What a ladder orders that asks for two hours, by what people do and when a check comes by.
func TestApprovals(t *testing.T) {
	const going = "apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}, {approve: {for: 2h, then: go}}, {do: reboot, once: true}, {do: terminate, after: 10m}]}\n"
	for name, tt := range map[string]struct {
		doc   string
		does  func(*world, ledger.ApprovalRequest)
		after time.Duration // of the check
		want  string        // the reason of the hold, or the act with who approved it
	}{
		"nobody approves, in time":         {asking, nil, 2*time.Hour - time.Nanosecond, "ApprovalPending"},
		"nobody approved":                  {asking, nil, 2 * time.Hour, "ApprovalMissing"},
		"nobody approved, and it goes on":  {going, nil, 2 * time.Hour, "reboot"},
		"nobody approves, where it may go": {going, nil, 2*time.Hour - time.Nanosecond, "ApprovalPending"},
		"approved":                         {asking, func(w *world, q ledger.ApprovalRequest) { w.approve(q.Order, approvedAt(now.Add(time.Minute))) }, 5 * time.Minute, "reboot by " + somebody.By},
		"approved where it may go":         {going, func(w *world, q ledger.ApprovalRequest) { w.approve(q.Order, approvedAt(now.Add(time.Minute))) }, 5 * time.Minute, "reboot by " + somebody.By},
		"approved at the last moment":      {asking, func(w *world, q ledger.ApprovalRequest) { w.approve(q.Order, approvedAt(q.Until.Add(-time.Second))) }, 2*time.Hour - time.Nanosecond, "reboot by " + somebody.By},
		"approved too late":                {asking, func(w *world, q ledger.ApprovalRequest) { w.approve(q.Order, approvedAt(q.Until)) }, 2 * time.Hour, "ApprovalMissing"},
		"a late approval on record":        {asking, func(w *world, q ledger.ApprovalRequest) { w.state.Approvals[q.Order] = approvedAt(q.Until) }, time.Hour, "ApprovalPending"},
		"approved, and begun too late":     {asking, func(w *world, q ledger.ApprovalRequest) { w.approve(q.Order, approvedAt(now.Add(time.Minute))) }, 2 * time.Hour, "ApprovalMissing"},
		"another order is approved": {asking, func(w *world, q ledger.ApprovalRequest) {
			w.state.Approvals["0011223344556677"] = approvedAt(now.Add(time.Minute))
		}, time.Hour, "ApprovalPending"},
		"approved twice, the first counts": {asking, func(w *world, q ledger.ApprovalRequest) {
			w.approve(q.Order, approvedAt(now.Add(time.Minute)))
			w.approve(q.Order, ledger.Approval{By: "another", How: ledger.WayChat, At: now.Add(2 * time.Minute)})
		}, 5 * time.Minute, "reboot by " + somebody.By},
		"a person holds it":     {asking, func(w *world, q ledger.ApprovalRequest) { w.snapshot.Instances[0].Hold = "true" }, time.Hour, "InstanceHeld"},
		"the mode is lowered":   {asking, func(w *world, q ledger.ApprovalRequest) { w.mode = policy.Notify }, time.Hour, "ModeNotify"},
		"everything is stopped": {asking, func(w *world, q ledger.ApprovalRequest) { w.doc = mustParse(asking + "stop: true\n") }, time.Hour, "Stopped"},
		"approved, but held now": {asking, func(w *world, q ledger.ApprovalRequest) {
			w.approve(q.Order, approvedAt(now.Add(time.Minute)))
			w.snapshot.Instances[0].Hold = "true"
		}, 5 * time.Minute, "InstanceHeld"},
		"the tag names another order":    {asking, func(w *world, q ledger.ApprovalRequest) { w.snapshot.Instances[0].Approve = "0011223344556677" }, time.Hour, "ApprovalPending"},
		"the tag is on another instance": {asking, func(w *world, q ledger.ApprovalRequest) { w.snapshot.Instances[1].Approve = q.Order }, time.Hour, "ApprovalPending"},
		"the tag comes too late":         {asking, func(w *world, q ledger.ApprovalRequest) { w.snapshot.Instances[0].Approve = q.Order }, 2 * time.Hour, "ApprovalMissing"},
		"the rung was taken out": {asking, func(w *world, q ledger.ApprovalRequest) {
			w.doc = mustParse(strings.Replace(asking, "{approve: {for: 2h}}, ", "", 1))
		}, time.Hour, "reboot"},
		"the approval was for another act": {asking, func(w *world, q ledger.ApprovalRequest) {
			w.approve(q.Order, approvedAt(now.Add(time.Minute)))
			w.doc = mustParse(strings.Replace(asking, "{do: reboot, once: true}, ", "{do: reboot, once: true}, {approve: {for: 1h}}, ", 1))
			id := w.state.Findings[roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}]
			w.done(Order{ID: orderID(cluster, id.Key(), id.FirstSeen, Reboot), Action: Reboot, Instance: id.Instance, Kind: id.Kind, Group: id.Group, Approved: &somebody}, now.Add(2*time.Minute))
		}, time.Hour, "ApprovalPending"},
	} {
		t.Run(name, func(t *testing.T) {
			w, q := asked(t, tt.doc)
			if tt.does != nil {
				tt.does(w, q)
			}
			_, p := w.make(now.Add(tt.after))
			got := ""
			for _, h := range p.Held {
				got += string(h.Reason)
			}
			for _, o := range p.Orders {
				if got += string(o.Action); o.Approved != nil {
					got += " by " + o.Approved.By
				}
				if o.Approved != nil && o.ID != q.Order {
					t.Errorf("order %s, the question was about %s", o.ID, q.Order)
				}
			}
			expect.That(t, got == tt.want, "%s, want %s", got, tt.want)
		})
	}
}

// The tag counts once it is in the ledger, and the next check acts.
func TestApprovalByTag(t *testing.T) {
	w, q := asked(t, asking)
	w.snapshot.Instances[0].Approve = q.Order
	p := w.told(now.Add(time.Minute))
	if len(p.Orders) > 0 || len(p.Approved) != 1 || p.Approved[0].Order != q.Order || !p.Next.Equal(now.Add(2*time.Minute)) {
		t.Fatalf("orders %v, approved %v, next check at %s", p.Orders, p.Approved, p.Next)
	}
	w.snapshot.Instances[0].Approve = "" // it may be taken off
	p = w.told(now.Add(2 * time.Minute))
	if len(p.Approved) > 0 || len(p.Orders) != 1 || p.Orders[0].Approved == nil || p.Orders[0].Approved.How != ledger.WayTag {
		t.Errorf("orders %v, approved %v", p.Orders, p.Approved)
	}
	w.snapshot.Instances[0].Approve, w.state.Approvals = q.Order, nil
	_, p = w.make(now.Add(3 * time.Minute))
	expect.That(t, len(p.Held) == 1 && p.Held[0].Reason == ApprovalUnrecorded && p.Held[0].Question == nil && len(p.Notices) == 0, "held %v, notices %v", p.Held, p.Notices)
	_, p = w.make(now.Add(2 * time.Hour))
	expect.That(t, len(p.Approved) == 0 && p.Held[0].Reason == ApprovalMissing && strings.Contains(p.Held[0].Detail, roll.TagApprove), "first read when the time is over: approved %v, held %v", p.Approved, p.Held)
	w.mode = policy.Observe
	_, p = w.make(now.Add(3 * time.Minute))
	expect.That(t, len(p.Approved) == 0, "in mode observe: approved %v", p.Approved)
}

// The time to approve goes on while something else holds the act, so the tag is recorded then too.
func TestApprovalByTagWhileHeld(t *testing.T) {
	w, q := asked(t, asking)
	w.snapshot.Instances[0].Approve, w.snapshot.Instances[0].Hold = q.Order, "true"
	p := w.told(now.Add(time.Minute))
	expect.That(t, len(p.Approved) == 1 && p.Held[0].Reason == InstanceHeld, "approved %v, held %v", p.Approved, p.Held)
	p = w.told(now.Add(2 * time.Minute))
	expect.That(t, len(p.Approved) == 0, "approved again: %v", p.Approved)
	w.snapshot.Instances[0].Hold = ""
	p = w.told(now.Add(3 * time.Minute))
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Approved != nil, "orders %v, held %v", p.Orders, p.Held)
}

// One approval permits the acts of its rung, as long as it takes once the first has begun.
func TestApprovalOfASection(t *testing.T) {
	w, q := asked(t, asking)
	expect.List(t, q.Acts, []string{"reboot", "terminate"}, "asked for")
	w.approve(q.Order, approvedAt(now.Add(time.Minute)))
	p := w.told(now.Add(119 * time.Minute))
	must.That(t, len(p.Orders) == 1, "held %v", p.Held)
	w.done(p.Orders[0], now.Add(119*time.Minute))
	p = w.told(now.Add(3 * time.Hour))
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Action == Terminate && p.Orders[0].Approved != nil, "after the reboot: orders %v, held %v", p.Orders, p.Held)
}

// A second rung asks again, when its act is due.
func TestEachRungAsks(t *testing.T) {
	w, q := asked(t, "apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}, {approve: {for: 2h}}, {do: reboot, once: true}, {approve: {for: 1h}}, {do: terminate, after: 10m}]}\n")
	w.approve(q.Order, approvedAt(now.Add(time.Minute)))
	p := w.told(now.Add(2 * time.Minute))
	w.done(p.Orders[0], now.Add(2*time.Minute))
	p = w.told(now.Add(3 * time.Minute))
	expect.That(t, len(p.Held)+len(p.Orders) == 0 && p.Steps[p.key()].Approve.Rung == 2, "before its time: %v, %v, %v", p.Orders, p.Held, p.Steps)
	p = w.told(now.Add(30 * time.Minute))
	if len(p.Held) != 1 || p.Held[0].Reason != ApprovalPending || p.Held[0].Question.Order == q.Order || len(p.Notices) != 1 || p.Notices[0].News[0] != NewsAsked {
		t.Fatalf("orders %v, held %v, notices %v", p.Orders, p.Held, p.Notices)
	}
	again := p.Held[0].Question
	expect.That(t, again.Until.Equal(now.Add(90*time.Minute)) && slices.Equal(again.Acts, []string{"terminate"}), "asked %v until %s", again.Acts, again.Until)
	w.approve(again.Order, approvedAt(now.Add(40*time.Minute)))
	p = w.told(now.Add(45 * time.Minute))
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].ID == again.Order, "orders %v, held %v", p.Orders, p.Held)
}

// key returns the key of the only finding with a next step.
func (p Plan) key() roll.FindingKey { return slices.Collect(maps.Keys(p.Steps))[0] }

// Each question is news once, also of the second instance of an incident. It begins with its notice.
func TestAQuestionIsToldOnce(t *testing.T) {
	w, q := asked(t, asking)
	if p := w.told(now.Add(5 * time.Minute)); len(p.Notices) > 0 {
		t.Errorf("told again: %v", p.Notices[0].News)
	}
	w.add(5, 2*time.Hour)
	w.snapshot.Nodes[4].Ready.Since = w.snapshot.Nodes[0].Ready.Since
	w.seen(5, 10*time.Minute)
	for n := 6; n <= 20; n++ { // so that two may be unhealthy
		w.add(n, 0)
	}
	p := w.told(now.Add(10 * time.Minute))
	must.That(t, len(p.Notices) == 1 && p.Notices[0].News[0] == NewsAsked && len(w.state.Questions) == 2, "notices %v, questions %v, held %v", p.Notices, w.state.Questions, p.Held)
	got := w.state.Questions[q.Order]
	expect.That(t, got.Until.Equal(q.Until), "the first question stands until %s now, and did until %s", got.Until, q.Until)
	p = w.told(now.Add(q.Until.Sub(now)))
	expect.That(t, len(p.Notices) == 1 && p.Notices[0].News[0] == NewsHeld, "when its time is over: %v", p.Notices)
}

// An act that waits for an approval takes nothing from the limits of others.
func TestAQuestionTakesNothingFromTheLimits(t *testing.T) {
	w := sick()
	w.doc = mustParse(asking)
	w.add(5, 2*time.Hour).Group = "asg/other"
	w.snapshot.Instances[4].ASG = "other"
	w.snapshot.Groups["asg/other"] = canLaunch
	w.seen(5, 10*time.Minute)
	w.state.RemediateSince["asg/other"] = now.Add(-24 * time.Hour)
	for n := 6; n <= 20; n++ {
		w.add(n, 0)
	}
	_, p := w.make(now)
	expect.List(t, reasons(p), []Reason{ApprovalPending, ApprovalPending}, "held for")
}

// Without a notice nothing was asked, and nothing can be approved.
func TestAnUntoldQuestionIsNone(t *testing.T) {
	w := sick()
	w.doc = mustParse(strings.Replace(asking, "{do: notify}, ", "", 1)) // the rung itself tells
	_, p := w.make(now)
	must.That(t, len(p.Notices) == 1 && len(p.Notices[0].Asked) == 1 && len(p.Changes.Put.Questions) == 0, "notices %v, put %v", p.Notices, p.Changes.Put.Questions)
	w.state.Apply(p.Changes) // the notice could not be sent
	later := w.told(now.Add(3 * time.Hour))
	expect.That(t, len(later.Held) == 1 && later.Held[0].Reason == ApprovalPending && later.Held[0].Question.Until.Equal(now.Add(5*time.Hour)), "held %v", later.Held)
}

// Questions and approvals are dropped with their finding. The next fault is asked about anew.
func TestQuestionsEndWithTheirFinding(t *testing.T) {
	w, q := asked(t, asking)
	w.approve(q.Order, approvedAt(now.Add(time.Minute)))
	sick := w.snapshot.Nodes[0].Ready
	w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(time.Minute)}
	w.told(now.Add(2 * time.Minute))
	w.told(now.Add(3 * time.Minute))
	must.That(t, len(w.state.Questions)+len(w.state.Approvals) == 0, "left: %v, %v", w.state.Questions, w.state.Approvals)
	sick.Since = now.Add(-2 * time.Hour).Add(5 * time.Minute)
	w.snapshot.Nodes[0].Ready = sick
	w.seen(1, 2*time.Minute)
	w.state.Approvals = map[string]ledger.Approval{q.Order: approvedAt(now.Add(time.Minute))} // a replay
	p := w.told(now.Add(6 * time.Minute))
	expect.That(t, len(p.Orders) == 0 && len(p.Held) == 1 && p.Held[0].Reason == ApprovalPending && p.Held[0].Question.Order != q.Order, "orders %v, held %v", p.Orders, p.Held)
}
