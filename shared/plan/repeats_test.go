package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// A replacement that had to be replaced shows that replacements fail, though the latest one has no
// fault yet. An instance from before the first act shows nothing.
func TestAReplacementThatWasReplacedCounts(t *testing.T) {
	replaced := []time.Duration{48 * time.Hour, 170 * time.Minute}
	for _, tt := range []struct {
		name     string
		launched []time.Duration // before now, of the instances that were terminated 3, 2 ... hours ago
		change   func(w *world, first *ledger.Action)
		holds    bool
	}{
		{"both were there before", []time.Duration{48 * time.Hour, 48 * time.Hour}, nil, false},
		{"nobody saw their launch", []time.Duration{0, 0}, nil, false},
		{"one alone is no series", []time.Duration{170 * time.Minute}, nil, false},
		{"the second replaced the first", replaced, nil, true},
		{"the first is of another group", replaced, func(_ *world, first *ledger.Action) { first.Group = "asg/v" }, false},
		{"the first was rebooted", replaced, func(_ *world, first *ledger.Action) { first.Do = "reboot" }, false},
		{"the termination of the first failed", replaced, func(_ *world, first *ledger.Action) { first.Outcome.Result = ledger.Failed }, false},
		{"the first was terminated almost a day ago", replaced, func(_ *world, first *ledger.Action) { first.At = now.Add(-24*time.Hour + time.Second) }, true},
		{"the first was terminated a day ago", replaced, func(_ *world, first *ledger.Action) { first.At = now.Add(-24 * time.Hour) }, false},
		{"a launch after the first stayed Ready", replaced, func(w *world, _ *ledger.Action) {
			w.state.Groups["asg/w"] = ledger.GroupMemory{Good: now.Add(-5 * time.Minute), Proven: now.Add(-150 * time.Minute)}
		}, false},
		{"one that was launched since is ill", []time.Duration{48 * time.Hour, 48 * time.Hour}, func(w *world, _ *ledger.Action) {
			w.add(5, 2*time.Hour).Launched = now.Add(-150 * time.Minute)
		}, true},
		{"one of another group that was launched since is ill", []time.Duration{48 * time.Hour, 48 * time.Hour}, func(w *world, _ *ledger.Action) {
			i := w.add(5, 2*time.Hour)
			i.Launched, i.ASG, i.Group = now.Add(-150*time.Minute), "v", "asg/v"
		}, false},
	} {
		w := sick()
		for i, ago := range tt.launched {
			at := now.Add(time.Duration(i-3) * time.Hour)
			a := ledger.Action{ID: fmt.Sprint(i), Do: "terminate", Instance: instanceID(50 + i), Group: "asg/w", At: at, Outcome: &ledger.Outcome{Result: ledger.Done, At: at}}
			if ago > 0 {
				a.Launched = now.Add(-ago)
			}
			w.state.Actions = append(w.state.Actions, a)
		}
		w.state.Groups["asg/w"] = ledger.GroupMemory{Good: now.Add(-5 * time.Minute)} // the latest became Ready
		if tt.change != nil {
			tt.change(w, &w.state.Actions[0])
		}
		_, p := w.make(now)
		got := ""
		for _, h := range p.Held {
			if h.Instance == instanceID(1) {
				got += string(h.Reason)
			}
		}
		held := got == string(ReplacementRepeats)
		expect.That(t, held == tt.holds, "%s: held for %q, want ReplacementRepeats: %t", tt.name, got, tt.holds)
	}
}

// The policy says how many replacements may fail. A diagnosis that calls two a series does not hold
// the third act of a policy that allows four, also if two instances are ill.
func TestThePolicySaysHowManyReplacementsMayFail(t *testing.T) {
	for _, tt := range []struct {
		limit, acts, ill int
		holds            Reason // "" for none
	}{
		{2, 2, 1, ReplacementRepeats}, {4, 2, 1, ""}, {4, 3, 1, ""}, {4, 4, 1, ReplacementRepeats},
		{4, 2, 2, ""}, {4, 4, 2, ReplacementRepeats},
	} {
		w := sick()
		w.doc = mustParse(fmt.Sprintf("apiVersion: rollcall/v1\nladders: {Unknown: [{do: terminate}]}\nlimits: {replacements: %d}\n", tt.limit))
		w.because("ReplacementRepeats", roll.Decisive, roll.CureChange, "asg/w")
		w.causes[roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}][0].Symptom = true
		if tt.ill == 2 {
			w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-90 * time.Minute)}
			w.causes[roll.FindingKey{Instance: instanceID(2), Kind: roll.Unknown}] = w.causes[roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}]
		}
		for i := range tt.acts {
			at := now.Add(time.Duration(i-tt.acts-2) * time.Hour)
			w.state.Actions = append(w.state.Actions, ledger.Action{
				ID: fmt.Sprint(i), Do: "terminate", Instance: instanceID(50 + i), Group: "asg/w", At: at, Launched: at.Add(-10 * time.Minute),
				Outcome: &ledger.Outcome{Result: ledger.Done, At: at},
			})
		}
		w.state.Groups["asg/w"] = ledger.GroupMemory{Good: now.Add(-5 * time.Minute)} // the latest became Ready
		_, p := w.make(now)
		if got := reasons(p); tt.holds == "" && len(p.Orders) == 0 || tt.holds != "" && !slices.Contains(got, tt.holds) {
			t.Errorf("%d of %d, %d ill: %d orders, held for %v, want %q", tt.acts, tt.limit, tt.ill, len(p.Orders), got, tt.holds)
		}
	}
}

// A drain that never finishes must not use up the limits of its group forever: what failed comes
// after those that waited then. What comes later does not overtake it: it may be half done.
func TestWhatFailedGoesToTheBackOfTheQueue(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tried map[int]time.Duration // before now, of the instances whose drain was not finished
		want  roll.InstanceID
	}{
		{"none failed", nil, instanceID(1)},
		{"the first failed while the second waited", map[int]time.Duration{1: 30 * time.Minute}, instanceID(2)},
		{"the first failed before the second was due", map[int]time.Duration{1: 2 * time.Hour}, instanceID(1)},
		{"both failed", map[int]time.Duration{1: 30 * time.Minute, 2: 45 * time.Minute}, instanceID(2)},
		{"both failed, the second later", map[int]time.Duration{1: 45 * time.Minute, 2: 30 * time.Minute}, instanceID(1)},
	} {
		w := sick()
		w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-90 * time.Minute)}
		w.seen(2, 10*time.Minute)
		for n, ago := range tt.tried {
			at := now.Add(-ago)
			w.state.Actions = append(w.state.Actions, ledger.Action{
				ID: fmt.Sprint(n), Do: "drain", Instance: instanceID(n), Group: "asg/w", Kind: roll.Unknown, At: at,
				Outcome: &ledger.Outcome{Result: ledger.Failed, At: at, Detail: ledger.Unfinished + ": pods left"},
			})
		}
		_, p := w.make(now)
		expect.That(t, len(p.Orders) == 1 && p.Orders[0].Instance == tt.want, "%s: orders %v, held for %v, want one on %s", tt.name, p.Orders, reasons(p), tt.want)
	}
}

// An instance that cannot be tagged would take the cluster's only act of each check.
func TestWhatCannotBeTriedGoesToTheBackOfTheQueue(t *testing.T) {
	for reason, want := range map[Reason]roll.InstanceID{OrderUnmarked: instanceID(2), TargetUnreadable: instanceID(2), VerdictChanged: instanceID(1)} {
		w := sick()
		w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-90 * time.Minute)}
		w.seen(2, 10*time.Minute)
		w.state.Refusals = map[ledger.RefusalKey]ledger.Refusal{
			{Order: "o-1", Reason: string(reason)}: {Instance: instanceID(1), Kind: roll.Unknown, Do: "terminate", At: now.Add(-RetryAfter), Untold: true},
		}
		_, p := w.make(now)
		expect.That(t, len(p.Orders) == 1 && p.Orders[0].Instance == want, "%s: orders %v, held for %v, want one on %s", reason, p.Orders, reasons(p), want)
	}
}

// A check every minute, for hours, would read everything again for an order that cannot be carried out.
func TestAnOrderThatCannotBeTriedWaitsForTheSweep(t *testing.T) {
	w := healthy(10)
	w.silent(1, 2*time.Hour)
	_, p := w.make(now)
	if len(p.Orders) != 1 || !p.Next.Equal(now.Add(advance)) {
		t.Fatalf("orders %v, next check at %s, want one and its outcome a minute later", p.Orders, p.Next)
	}
	for reason, waits := range map[Reason]bool{OrderUnmarked: true, EvidenceNotStored: true, VerdictChanged: false} {
		w.state.Refusals = map[ledger.RefusalKey]ledger.Refusal{
			{Order: p.Orders[0].ID, Reason: string(reason)}: {Instance: instanceID(1), Kind: roll.Unknown, Do: string(p.Orders[0].Action), At: now.Add(-RetryAfter), Untold: true},
		}
		_, again := w.make(now)
		expect.That(t, len(again.Orders) == 1 && again.Next.Equal(now.Add(advance)) != waits, "%s: orders %v, next check at %s", reason, again.Orders, again.Next)
	}
}
