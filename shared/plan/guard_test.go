package plan

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// A single check has no second check to wait for: the other reasons against an act are shown. In
// mode remediate a second sighting is still required.
func TestWithoutAMemoryTheModeHoldsActsBack(t *testing.T) {
	for mode, want := range map[policy.Mode]Reason{policy.Observe: ModeObserve, policy.Notify: ModeNotify, policy.Remediate: NotSeenTwice} {
		w := healthy(20)
		w.mode, w.unremembered = mode, true
		w.silent(1, 2*time.Hour)
		w.state = ledger.NewState()
		_, p := w.make(now)
		expect.That(t, len(p.Orders) == 0 && slices.Equal(reasons(p), []Reason{want}), "%s: orders %+v, held for %v", mode, p.Orders, reasons(p))
	}
}

// An API server that comes back rejects many calls at first: an incomplete check must not end the
// cooldown.
func TestAnIncompleteLookDoesNotEndACooldown(t *testing.T) {
	w := healthy(20)
	w.silent(1, 2*time.Hour)
	look := func(minute int, kind roll.GapKind) Plan {
		w.snapshot.Gaps = nil
		if kind != "" {
			w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: kind}}
		}
		_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
		w.apply(p)
		return p
	}
	look(0, roll.GapClusterUnreachable)
	look(60, roll.GapClusterUnreachable)
	look(62, roll.GapThrottled)
	if p := look(64, ""); len(p.Orders) != 0 || !slices.Equal(reasons(p), []Reason{StormCooldown}) {
		t.Errorf("orders %+v, held for %v", p.Orders, reasons(p))
	}
	p := look(75, "")
	expect.That(t, len(p.Orders) == 1, "15 min after it was last down: held for %v", reasons(p))
}

func TestAnAPIServerThatComesAndGoesIsOneAlarm(t *testing.T) {
	w := healthy(20)
	alarms := 0
	for i := range 45 {
		w.snapshot.Gaps = nil
		if i%2 == 0 {
			w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable}}
		}
		_, p := w.make(now.Add(time.Duration(i) * 2 * time.Minute))
		w.apply(p)
		if p.Alarm != nil {
			alarms++
			w.state.Apply(ledger.Changes{Put: ledger.State{Trouble: p.Alarm.Said}})
		}
	}
	expect.That(t, alarms <= 1, "%d alarms and all-clears in an hour and a half", alarms)
}

// A failing status check does not skip the drain of a node whose kubelet answers.
func TestANodeThatAnswersIsDrainedWhateverEC2Says(t *testing.T) {
	w := healthy(20)
	w.notReady(1, 2*time.Hour)
	w.impaired(1)
	w.trouble(1, roll.NotReady, roll.ConditionFalse, 2*time.Hour)
	_, p := w.make(now)
	expect.That(t, ordered1(p) == string(Cordon), "ordered %s: %+v", ordered1(p), p.Held)
	expect.That(t, slices.Contains(reasons(p), OtherFinding), "held for %v", reasons(p))
}

func TestARebootIsGivenTimeWhateverElseIsFound(t *testing.T) {
	for _, tt := range []struct {
		wait  string // reboot.wait
		after time.Duration
		want  bool
	}{
		{"10m", 10*time.Minute - time.Second, false}, {"10m", 10 * time.Minute, true}, {"5m", 10*time.Minute - time.Second, false},
		{"18m", 18*time.Minute - time.Second, false}, {"18m", 18 * time.Minute, true},
	} {
		after, want := tt.after, tt.want
		w := healthy(20)
		w.silent(1, 2*time.Hour)
		began := w.snapshot.Nodes[0].Ready
		w.impaired(1)
		w.snapshot.Nodes[0].Ready = began
		w.trouble(1, roll.Unknown, roll.ConditionUnknown, 2*time.Hour)
		rebooted := now.Add(-after)
		w.doc = mustParse("apiVersion: rollcall/v1\nreboot: {wait: " + tt.wait + "}\nladders: {Unknown: [{do: notify}], Impaired: [{do: terminate}]}\n")
		w.state.Actions = []ledger.Action{{ID: "r", Do: string(Reboot), Instance: instanceID(1), Group: "asg/w", Kind: roll.Unknown, At: rebooted, Outcome: done(rebooted)}}
		_, p := w.make(now)
		expect.That(t, (ordered1(p) == string(Terminate)) == want, "%s after a reboot, with a wait of %s: ordered %s", after, tt.wait, ordered1(p))
	}
}

// Somebody lifts the cordon by hand and cordons the node again weeks later: that cordon is theirs.
func TestALaterCordonOfAPersonStays(t *testing.T) {
	w := healthy(20)
	n := &w.snapshot.Nodes[0]
	w.state.Actions = []ledger.Action{{ID: "c", Do: string(Cordon), Instance: instanceID(1), Node: n.Name, Group: "asg/w", Kind: roll.NotReady, At: now.Add(-time.Hour), Outcome: done(now.Add(-time.Hour))}}
	n.CordonedBy, n.Unschedulable = "c", false // lifted by hand
	_, p := w.make(now)
	must.That(t, ordered1(p) == string(Uncordon), "ordered %s, want the note taken off", ordered1(p))
	w.did(t, p, now, done(now))
	n.CordonedBy, n.Unschedulable = "", true // theirs
	_, p = w.make(now.Add(time.Hour))
	expect.That(t, len(p.Orders) == 0, "ordered %+v", p.Orders)
}

func TestAConditionThatStandsAloneDoesNotKeepANodeCordoned(t *testing.T) {
	w := healthy(20)
	n := &w.snapshot.Nodes[0]
	w.state.Actions = []ledger.Action{{ID: "c", Do: string(Cordon), Instance: instanceID(1), Node: n.Name, Group: "asg/w", Kind: roll.NotReady, At: now.Add(-time.Hour), Outcome: done(now.Add(-time.Hour))}}
	n.CordonedBy, n.Unschedulable = "c", true
	n.StartupTaint = "example.com/of-another-group:NoSchedule"
	n.Conditions = []roll.TypedCondition{{Type: "NetworkingReady", Condition: roll.Condition{Status: roll.ConditionFalse, Since: now.Add(-time.Hour)}}}
	_, p := w.make(now)
	expect.That(t, ordered1(p) == string(Uncordon), "ordered %s", ordered1(p))
}

func TestAModeLoweredForOneCheckLeavesNoBacklog(t *testing.T) {
	w := sick()
	w.mode = policy.Notify
	w.snapshot.At = now
	pol := w.doc.Cluster("demo", "", w.mode)
	a, _ := w.make(now)
	p := Make(Input{Snapshot: w.snapshot, Assessment: a, State: w.state, Policy: pol, Now: now, Lowered: true})
	expect.That(t, len(p.Orders) == 0 && slices.Equal(reasons(p), []Reason{ModeNotify}), "orders %+v, held for %v", p.Orders, reasons(p))
	w.apply(p)
	w.mode = policy.Remediate
	_, p = w.make(now.Add(2 * time.Minute))
	expect.That(t, len(p.Orders) == 1, "when the policy could be read again: held for %v", reasons(p))
}

// The policy is unreadable when the node fails; remediate was on before.
func TestWhatIsFoundWhileThePolicyCannotBeReadIsNoBacklog(t *testing.T) {
	w := healthy(4)
	_, p := w.make(now)
	w.apply(p)
	w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now}
	w.mode, w.lowered = policy.Observe, true
	_, p = w.make(now.Add(45 * time.Minute))
	w.apply(p)
	w.mode, w.lowered = policy.Remediate, false
	_, p = w.make(now.Add(50 * time.Minute))
	expect.That(t, len(p.Orders) == 1, "when the policy could be read again: held for %v", reasons(p))
}

func TestNodesThatWereStoppedTogetherAreNoStorm(t *testing.T) {
	w := healthy(30)
	for n := 2; n <= 4; n++ {
		w.silent(n, 72*time.Hour)
		w.snapshot.Instances[n-1].State = roll.StateStopped
	}
	w.notReady(1, time.Hour)
	_, p := w.make(now)
	expect.That(t, ordered1(p) == string(Cordon), "ordered %s", ordered1(p))
}

// A zone that is down for long holds its own nodes, but not the others forever.
func TestALongOutageHoldsItsZoneOnly(t *testing.T) {
	w := healthy(30)
	for n := 1; n <= 30; n++ {
		w.snapshot.Instances[n-1].Zone = []string{"a", "b"}[n%2]
	}
	for n := 2; n <= 30; n += 2 { // zone a
		w.silent(n, 3*time.Hour)
	}
	w.doc = mustParse("apiVersion: rollcall/v1\nlimits: {unhealthy: 90%}\n")
	w.notReady(1, time.Hour) // zone b
	held := func(at time.Duration) []Reason {
		_, p := w.make(now.Add(at))
		w.apply(p)
		for _, o := range p.Orders {
			expect.That(t, o.Instance == instanceID(1), "%s: ordered %+v", at, o)
		}
		for _, h := range p.Held {
			if h.Instance == instanceID(1) {
				return []Reason{h.Reason}
			}
		}
		return nil
	}
	if got := held(0); !slices.Equal(got, []Reason{ZoneOutage}) {
		t.Errorf("at first the other zone is held for %v, want a reason that is told", got)
	}
	for at := 5 * time.Minute; at < time.Hour; at += 5 * time.Minute {
		held(at)
	}
	got := held(time.Hour)
	expect.That(t, got == nil, "after an hour it is held for %v", got)
	for n := 2; n <= 30; n += 2 { // zone a is back, and some of its nodes fall silent together
		status := roll.ConditionTrue
		if n <= 10 {
			status = roll.ConditionUnknown
		}
		w.snapshot.Nodes[n-1].Ready = roll.Condition{Status: status, Since: now.Add(time.Hour)}
	}
	expect.List(t, held(time.Hour+time.Minute), []Reason{MassSilence}, "when others fall silent together it is held for")
}

func TestADrainIsTriedAgain(t *testing.T) {
	w := healthy(20)
	w.notReady(1, 2*time.Hour)
	_, p := w.make(now)
	w.did(t, p, now, done(now))
	_, p = w.make(now)
	w.did(t, p, now, &ledger.Outcome{Result: ledger.Failed, At: now, Detail: ledger.Unfinished + ": default/web-0"})
	for after, want := range map[time.Duration]string{time.Hour - time.Second: "none: [DrainUnfinished]", time.Hour: string(Drain)} {
		_, p = w.make(now.Add(after))
		expect.That(t, ordered1(p) == want, "%s after an unfinished drain: ordered %s, want %s", after, ordered1(p), want)
	}
	w.state.Actions[len(w.state.Actions)-1].Outcome.Detail = drainPaused
	_, p = w.make(now.Add(RetryAfter))
	expect.That(t, ordered1(p) == string(Drain), "after a pause: ordered %s", ordered1(p))
}

func TestWhatGoesOnAsAnotherKindIsNotResolved(t *testing.T) {
	w := healthy(20)
	w.mode = policy.Notify
	w.notReady(1, 2*time.Hour)
	_, p := w.make(now)
	w.apply(p)
	for i := 1; i <= 6; i++ {
		at := now.Add(time.Duration(i) * 5 * time.Minute)
		w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(time.Minute)}
		_, p = w.make(at)
		w.apply(p)
		for _, n := range p.Notices {
			expect.That(t, !n.Over, "%s: told to be over: %+v", at, n.Ended)
		}
	}
}

func TestAutoRepairDoesNotLookAtTaints(t *testing.T) {
	w := healthy(20)
	i, n := &w.snapshot.Instances[0], &w.snapshot.Nodes[0]
	i.Owner, i.Group = roll.OwnerManagedNodeGroup, "nodegroup/w"
	w.snapshot.Groups["nodegroup/w"] = roll.GroupDetail{AutoRepair: roll.Yes, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}
	n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
	ready := n.Ready
	w.known(1, roll.Uninitialized, n.Created)
	n.Ready = ready
	_, p := w.make(now)
	expect.That(t, ordered1(p) == string(Cordon), "ordered %s: %+v", ordered1(p), p.Held)
}

// Rollcall terminated the instance for one finding a few minutes ago; its Node is left over.
func TestTheNodeOfAnInstanceThatRollcallEndedIsDeleted(t *testing.T) {
	w := healthy(20)
	w.snapshot.Instances[0].State = roll.StateTerminated
	w.trouble(1, roll.Ghost, roll.ConditionUnknown, time.Hour)
	ended := now.Add(-6 * time.Minute)
	w.state.Actions = []ledger.Action{{ID: "t", Do: string(Terminate), Instance: instanceID(1), Group: "asg/w", Kind: roll.Unknown, At: ended, Outcome: done(ended)}}
	f := w.state.Findings[roll.FindingKey{Instance: instanceID(1), Kind: roll.Ghost}]
	f.Since = ended
	w.state.Findings[f.Key()] = f
	_, p := w.make(now)
	expect.That(t, ordered1(p) == string(DeleteNode), "ordered %s: %+v", ordered1(p), p.Held)
}
