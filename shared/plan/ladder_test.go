package plan

import (
	"fmt"
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

// notReady makes node n not ready for the given time, and records that an earlier check saw it.
func (w *world) notReady(n int, since time.Duration) {
	w.trouble(n, roll.NotReady, roll.ConditionFalse, since)
}

// silent does the same with a silent node.
func (w *world) silent(n int, since time.Duration) {
	w.trouble(n, roll.Unknown, roll.ConditionUnknown, since)
}

func (w *world) trouble(n int, kind roll.Kind, status roll.ConditionStatus, since time.Duration) {
	at := now.Add(-since)
	w.snapshot.Nodes[n-1].Ready = roll.Condition{Status: status, Since: at}
	group := w.snapshot.Instances[n-1].Group
	f := ledger.Finding{Instance: instanceID(n), Kind: kind, Node: fmt.Sprintf("node-%d", n), Group: group, Stage: roll.Overdue, FirstSeen: at, Opened: now.Add(-10 * time.Minute), Since: at, Began: at}
	w.state.Apply(ledger.Changes{
		Put: ledger.State{
			Findings:       map[roll.FindingKey]ledger.Finding{f.Key(): f},
			RemediateSince: map[roll.Group]time.Time{group: now.Add(-24 * time.Hour)},
			NotReady:       map[roll.InstanceID]ledger.NotReady{f.Instance: {Since: at, Status: status, Transition: at, Known: true}},
		},
	})
}

// healthy returns a world of n nodes of one Auto Scaling group.
func healthy(n int) *world {
	w := newWorld()
	w.doc = policy.Default()
	for i := 1; i <= n; i++ {
		w.add(i, 0)
	}
	return w
}

// did records an act on the only order of the plan, with its outcome.
func (w *world) did(t *testing.T, p Plan, at time.Time, outcome *ledger.Outcome) ledger.Action {
	t.Helper()
	must.That(t, len(p.Orders) == 1, "orders %+v, held %+v, want one order", p.Orders, p.Held)
	o := p.Orders[0]
	a := ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Node: o.Node, Group: o.Group, Kind: o.Kind, At: at, Outcome: outcome, Free: o.Action == Uncordon}
	if i := slices.IndexFunc(w.state.Actions, func(b ledger.Action) bool { return b.ID == a.ID }); i >= 0 {
		a.At = w.state.Actions[i].At
		w.state.Actions = slices.Delete(w.state.Actions, i, i+1)
	}
	w.state.Actions = append(w.state.Actions, a)
	return a
}

func done(at time.Time) *ledger.Outcome { return &ledger.Outcome{Result: ledger.Done, At: at} }

func ordered1(p Plan) string {
	if len(p.Orders) == 0 {
		return "none: " + fmt.Sprint(reasons(p))
	}
	return string(p.Orders[0].Action)
}

func TestALadderIsClimbedOneActAtATime(t *testing.T) {
	w := healthy(10)
	w.notReady(1, time.Hour)
	at := now
	for _, want := range []Action{Cordon, Drain, Terminate} {
		_, p := w.make(at)
		got := ordered1(p)
		must.That(t, got == string(want), "ordered %s, want %s", got, want)
		w.did(t, p, at, done(at))
		at = at.Add(time.Minute)
	}
	if _, p := w.make(at); len(p.Orders) != 0 || !slices.Equal(reasons(p), []Reason{AlreadyBegun}) {
		t.Errorf("after the last step: orders %+v, held for %v", p.Orders, reasons(p))
	}
	_, p := w.make(at.Add(15 * time.Minute))
	expect.That(t, slices.Equal(reasons(p), []Reason{ActionStuck}), "15 min later, still running: held for %v, want %s", reasons(p), ActionStuck)
}

func TestTheWaitAfterAnActCountsFromItsOutcome(t *testing.T) {
	w := healthy(10)
	w.silent(1, 2*time.Hour) // all waits of the ladder, counted from the tolerance, are over
	_, p := w.make(now)
	got := ordered1(p)
	must.That(t, got == string(Reboot), "ordered %s", got)
	w.did(t, p, now, done(now))
	for after, want := range map[time.Duration]string{
		10*time.Minute - time.Second: "none: []",
		10 * time.Minute:             string(Terminate),
	} {
		_, p = w.make(now.Add(after))
		expect.That(t, ordered1(p) == want, "%s after the reboot: ordered %s, want %s", after, ordered1(p), want)
	}
	if s := p.Steps[roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}]; s.Do != "" && s.Do != policy.DoTerminate {
		t.Errorf("what follows is %+v", s)
	}
}

func TestOnceMeansOnceAlsoIfItFailed(t *testing.T) {
	for doc, want := range map[string]string{
		"{do: reboot, once: true}": string(Terminate),
		"{do: reboot}":             string(Reboot),
	} {
		w := healthy(10)
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [" + doc + ", {do: terminate}]}\n")
		w.silent(1, 2*time.Hour)
		_, p := w.make(now)
		w.did(t, p, now, &ledger.Outcome{Result: ledger.Failed, At: now, Detail: "refused"})
		_, p = w.make(now.Add(RetryAfter))
		expect.That(t, ordered1(p) == want, "%s failed: ordered %s, want %s", doc, ordered1(p), want)
	}
}

func TestADrainGoesOnUntilItIsOver(t *testing.T) {
	w := healthy(10)
	w.notReady(1, time.Hour)
	_, p := w.make(now)
	w.did(t, p, now, done(now))
	_, p = w.make(now)
	drain := w.did(t, p, now, nil)
	for i := 1; i <= 3; i++ {
		_, p = w.make(now.Add(time.Duration(i) * time.Minute))
		must.That(t, ordered1(p) == string(Drain) && p.Orders[0].ID == drain.ID, "check %d: ordered %s, want the same drain to go on", i, ordered1(p))
	}
	open := len(w.state.Actions) - 1
	w.state.Actions[open].Outcome = &ledger.Outcome{Result: ledger.Failed, At: now.Add(10 * time.Minute), Detail: ledger.Unfinished + ": default/web-0"}
	for range 2 {
		_, p = w.make(now.Add(time.Hour))
		if !slices.Equal(reasons(p), []Reason{DrainUnfinished}) || !strings.Contains(p.Held[0].Detail, "default/web-0") {
			t.Errorf("orders %+v, held %+v, want %s that names the pod", p.Orders, p.Held, DrainUnfinished)
		}
	}
	w.doc = mustParse("apiVersion: rollcall/v1\ndrain: {force: afterBudgetTimeout, budgetTimeout: 1h}\n")
	_, p = w.make(now.Add(time.Hour))
	expect.That(t, ordered1(p) == string(Terminate), "with drain.unfinished: proceed, ordered %s", ordered1(p))
}

func TestASilentNodeIsNotDrainedAndTheOrderSaysSo(t *testing.T) {
	w := healthy(10)
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: cordon}, {do: drain}, {do: terminate}]}\n")
	w.silent(1, time.Hour)
	_, p := w.make(now)
	expect.That(t, ordered1(p) == string(Terminate) && strings.Contains(p.Orders[0].Why, "no drain: its kubelet is silent"), "ordered %s: %+v", ordered1(p), p.Orders)
}

func TestAnInstanceIsNotRebootedTwiceInADay(t *testing.T) {
	for age, want := range map[time.Duration]Action{23 * time.Hour: Terminate, 24 * time.Hour: Reboot} {
		w := healthy(10)
		w.silent(1, time.Hour)
		w.state.Actions = []ledger.Action{{ID: "earlier", Do: string(Reboot), Instance: instanceID(1), Group: "asg/w", At: now.Add(-age), Outcome: done(now.Add(-age))}}
		_, p := w.make(now)
		expect.That(t, ordered1(p) == string(want), "rebooted %s ago: ordered %s, want %s", age, ordered1(p), want)
	}
}

func TestANodeThatComesBackIsGivenBack(t *testing.T) {
	w := healthy(10)
	w.notReady(1, time.Hour)
	_, p := w.make(now)
	cordon := w.did(t, p, now, done(now))
	n := &w.snapshot.Nodes[0]
	n.Unschedulable, n.CordonedBy = true, cordon.ID
	_, p = w.make(now.Add(time.Minute))
	w.did(t, p, now.Add(time.Minute), nil) // a drain that has not finished

	n.Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(90 * time.Second)}
	_, p = w.make(now.Add(2 * time.Minute))
	must.That(t, ordered1(p) == string(Uncordon), "ordered %s, want the cordon lifted", ordered1(p))
	if len(p.Resolved) != 1 || p.Resolved[0].Outcome.Result != ledger.Failed || !strings.Contains(p.Resolved[0].Outcome.Detail, "Ready again") || !p.Resolved[0].Moot {
		t.Errorf("the drain was settled as %+v", p.Resolved)
	}
	spoilt := map[string]func(w *world, n *roll.Node){
		"somebody else cordoned it":      func(_ *world, n *roll.Node) { n.CordonedBy = "" },
		"nobody knows that order":        func(_ *world, n *roll.Node) { n.CordonedBy = "0123456789abcdef" },
		"the order was another node's":   func(w *world, _ *roll.Node) { w.state.Actions[0].Instance = instanceID(2) },
		"it is not ready":                func(_ *world, n *roll.Node) { n.Ready.Status = roll.ConditionUnknown },
		"a startup taint is still on it": func(_ *world, n *roll.Node) { n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule" },
		"a person holds the instance":    func(w *world, _ *roll.Node) { w.snapshot.Instances[0].Hold = "true" },
		"the mode is notify":             func(w *world, _ *roll.Node) { w.mode = policy.Notify },
		"every act is stopped":           func(w *world, _ *roll.Node) { w.doc = with("stop: true\n") },
	}
	for name, spoil := range spoilt {
		w := healthy(10)
		n := &w.snapshot.Nodes[0]
		n.Unschedulable, n.CordonedBy = true, "a"
		w.state.Actions = []ledger.Action{{ID: "a", Do: string(Cordon), Instance: instanceID(1), Node: n.Name, Group: "asg/w", Kind: roll.NotReady, At: now.Add(-time.Hour), Outcome: done(now.Add(-time.Hour))}}
		spoil(w, n)
		_, p := w.make(now)
		expect.That(t, !slices.ContainsFunc(p.Orders, func(o Order) bool { return o.Action == Uncordon }), "%s: the cordon is lifted", name)
	}
}

// A node may be away for long. Its cordon is lifted whenever it comes back, as long as the ledger
// has the cordon, or the drain that began with one.
func TestAnOldCordonIsLiftedToo(t *testing.T) {
	for i, age := range []time.Duration{time.Minute, time.Hour, 61 * time.Minute, 25 * time.Hour, ledger.ActionRetention - time.Minute} {
		w := healthy(10)
		n := &w.snapshot.Nodes[0]
		n.Unschedulable, n.CordonedBy = true, "a"
		w.state.Actions = []ledger.Action{{ID: "a", Do: string([]Action{Cordon, Drain}[i%2]), Instance: instanceID(1), Node: n.Name, Group: "asg/w", Kind: roll.NotReady, At: now.Add(-age), Outcome: done(now.Add(-age))}}
		_, p := w.make(now)
		expect.That(t, ordered1(p) == string(Uncordon), "cordoned %s ago: ordered %s, want the cordon lifted", age, ordered1(p))
	}
}

// desired sets the desired capacity of the Auto Scaling group.
func (w *world) desired(n int) {
	g := w.snapshot.Groups["asg/w"]
	g.Desired, g.Instances = n, n
	w.snapshot.Groups["asg/w"] = g
}

// complete has the group lack nothing.
func (w *world) complete() {
	g := w.snapshot.Groups["asg/w"]
	g.Complete = true
	w.snapshot.Groups["asg/w"] = g
}

func TestOnePerGroupUntilTheReplacementIsReady(t *testing.T) {
	acted := now.Add(-policy.Default().For("demo", "", roll.Selector{}).Registration.Deadline) // the time of a replacement is just over
	base := func() *world {
		w := healthy(20)
		w.silent(1, time.Hour)
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: terminate}]}\n")
		w.state.Actions = []ledger.Action{{ID: "x", Do: string(Terminate), Instance: instanceID(99), Group: "asg/w", Kind: roll.Unknown, At: acted, Outcome: done(acted)}}
		return w
	}
	replacement := func(w *world, launched time.Time, ready roll.ConditionStatus) {
		w.add(30, 0)
		last := len(w.snapshot.Nodes) - 1
		w.snapshot.Instances[last].Launched = launched
		w.snapshot.Nodes[last].Created, w.snapshot.Nodes[last].Ready = launched.Add(time.Minute), roll.Condition{Status: ready, Since: launched.Add(time.Minute)}
	}
	pooled := func(joined, left time.Duration) func(*world) { // from the act on
		return func(w *world) {
			replacement(w, acted.Add(-48*time.Hour), roll.ConditionTrue)
			w.state.Rests = map[roll.InstanceID]ledger.Rest{instanceID(30): {Warm: true, Left: acted.Add(left)}}
			n := &w.snapshot.Nodes[len(w.snapshot.Nodes)-1]
			n.Created, n.Ready.Since = acted.Add(joined), acted.Add(joined)
		}
	}
	drained := func(w *world) *ledger.Action {
		w.silent(2, time.Hour)
		w.snapshot.Instances[1].Hold = "true" // it is waiting itself
		w.state.Actions[0] = ledger.Action{ID: "x", Do: string(Drain), Instance: instanceID(2), Group: "asg/w", At: acted, Outcome: done(acted)}
		return &w.state.Actions[0]
	}
	tests := []struct {
		name string
		set  func(*world)
		want string
	}{
		{"no replacement yet", func(*world) {}, "none: [ReplacementPending]"},
		{"no replacement yet, and it has its time", func(w *world) { w.state.Actions[0].Outcome = done(acted.Add(time.Second)) }, "none: [OneAtATime]"},
		{"it is not ready yet", func(w *world) { replacement(w, acted.Add(time.Minute), roll.ConditionFalse) }, "none: [ReplacementPending]"},
		{"a ready one is older than the act", func(w *world) { replacement(w, acted.Add(-time.Second), roll.ConditionTrue) }, "none: [ReplacementPending]"},
		{"it is ready", func(w *world) { replacement(w, acted.Add(time.Minute), roll.ConditionTrue) }, "terminate"},
		{"it ran in a warm pool, and joined since", pooled(3*time.Minute, 4*time.Minute), "terminate"},
		{"one out of a warm pool joined before the act", pooled(-time.Second, 4*time.Minute), "none: [ReplacementPending]"},
		{"one out of a warm pool was in service before the act", pooled(3*time.Minute, -time.Second), "none: [ReplacementPending]"},
		{"one was ready earlier, and is gone by now", func(w *world) {
			w.state.Groups = map[roll.Group]ledger.GroupMemory{"asg/w": {Good: acted.Add(time.Minute)}}
		}, "terminate"},
		{"the act is in another group", func(w *world) { w.state.Actions[0].Group = "asg/other" }, "terminate"},
		{"no time lifts it", func(w *world) {
			w.state.Actions[0].At, w.state.Actions[0].Outcome.At = now.Add(-29*24*time.Hour), now.Add(-29*24*time.Hour)
			for i := range w.snapshot.Instances {
				w.snapshot.Instances[i].Launched = now.Add(-60 * 24 * time.Hour)
			}
		}, "none: [ReplacementPending]"},
		{"the act is forgotten, and not what it owes", func(w *world) {
			w.state.Actions = nil
			w.state.Groups = map[roll.Group]ledger.GroupMemory{"asg/w": {Ended: ledger.Ended{Instance: instanceID(99), At: acted, Done: acted}}}
		}, "none: [ReplacementPending]"},
		{"the desired capacity fell by it", func(w *world) { w.state.Actions[0].Desired = 10; w.desired(9) }, "terminate"},
		{"the desired capacity is as it was", func(w *world) { w.state.Actions[0].Desired = 10; w.desired(10) }, "none: [ReplacementPending]"},
		{"the group lacks nothing, and launched nothing", func(w *world) { w.complete() }, "terminate"},
		{"the group lacks nothing, with what it launched since", func(w *world) {
			w.complete()
			replacement(w, acted.Add(time.Minute), roll.ConditionFalse)
		}, "none: [ReplacementPending]"},
		{"the group lacks nothing, with what it took out of its warm pool since", func(w *world) {
			w.complete()
			pooled(3*time.Minute, 4*time.Minute)(w)
			w.snapshot.Nodes[len(w.snapshot.Nodes)-1].Ready.Status = roll.ConditionFalse
		}, "none: [ReplacementPending]"},
		{"the group lacks nothing, with the one that was to end", func(w *world) {
			w.complete()
			w.snapshot.Instances = append(w.snapshot.Instances, roll.Instance{ID: instanceID(99), State: roll.StateRunning, Launched: acted.Add(-time.Hour)})
		}, "none: [ReplacementPending]"},
		{"it fell for what is in Standby", func(w *world) {
			w.state.Actions[0].Desired = 10
			w.desired(8)
			g := w.snapshot.Groups["asg/w"]
			g.Standby = 2
			w.snapshot.Groups["asg/w"] = g
		}, "none: [ReplacementPending]"},
		{"the desired capacity could not be read", func(w *world) {
			w.state.Actions[0].Desired = 10
			w.snapshot.Groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.Unreadable, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}
		}, "none: [OwnerUnknown]"},
		{"a person takes the loss, by a tag", func(w *world) {
			for i := range w.snapshot.Instances {
				w.snapshot.Instances[i].Replace = true
			}
		}, "terminate"},
		{"a person takes the loss, by policy", func(w *world) {
			w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: terminate}]}\nlimits: {withoutReplacement: proceed}\n")
		}, "terminate"},
		{"an orphan was ended, which nobody replaces", func(w *world) { w.state.Actions[0].Kind = roll.Orphaned }, "terminate"},
		{"the act failed", func(w *world) { w.state.Actions[0].Outcome.Result = ledger.Failed }, "terminate"},
		{"a reboot takes nothing from the group", func(w *world) {
			w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: reboot, once: true}]}\n")
		}, "reboot"},
		{"an earlier act had its replacement, the latest has none", func(w *world) {
			replacement(w, acted.Add(-time.Minute), roll.ConditionTrue)
			w.state.Actions = append(w.state.Actions, ledger.Action{ID: "y", Do: string(Terminate), Instance: instanceID(98), Group: "asg/w", Kind: roll.Unknown, At: acted.Add(-time.Hour), Outcome: done(acted.Add(-time.Hour))})
		}, "none: [ReplacementPending]"},
		{"another member is being drained", func(w *world) { drained(w) }, "none: [OneAtATime InstanceHeld]"},
		{"its drain failed", func(w *world) { drained(w).Outcome.Result = ledger.Failed }, "terminate"},
		{"its drain was long ago", func(w *world) { drained(w).Outcome.At = now.Add(-30 * time.Minute) }, "terminate"},
		{"it was given back", func(w *world) { a := drained(w); a.Do, a.Free = string(Uncordon), true }, "terminate"},
		{"it is Ready again", func(w *world) {
			drained(w)
			w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionTrue, Since: acted}
		}, "terminate"},
		{"it is of another group", func(w *world) {
			drained(w).Group = "asg/v"
			w.snapshot.Instances[1].ASG, w.snapshot.Instances[1].Group = "v", "asg/v"
		}, "terminate"},
	}
	for _, tt := range tests {
		w := base()
		tt.set(w)
		_, p := w.make(now)
		got := ordered1(p)
		if strings.HasPrefix(got, "none") {
			rs := reasons(p)
			slices.Sort(rs)
			want := strings.Fields(strings.Trim(strings.TrimPrefix(tt.want, "none: "), "[]"))
			slices.Sort(want)
			expect.That(t, fmt.Sprint(rs) == fmt.Sprint(want), "%s: held for %v, want %s", tt.name, rs, tt.want)
			continue
		}
		expect.That(t, got == tt.want, "%s: ordered %s, want %s", tt.name, got, tt.want)
	}
	w := base()
	_, p := w.make(now)
	want := fmt.Sprintf("%s of asg/w was terminated at %s; no node", instanceID(99), roll.Clock(acted))
	expect.That(t, len(p.Held) == 1 && strings.HasPrefix(p.Held[0].Detail, want), "held %+v, want a detail that begins with %q", p.Held, want)
}

// A broken template: each replacement fails like the one before. One instance is terminated. If the
// policy allows a group to lose more, it is limits.replacements and no more.
func TestReplacementsThatKeepFailingEnd(t *testing.T) {
	for more, want := range map[string]struct {
		acts int
		held Reason
	}{"": {1, ReplacementPending}, ", withoutReplacement: proceed": {2, ReplacementRepeats}} {
		failing(t, more, want.acts, want.held)
	}
}

func failing(t *testing.T, more string, want int, held Reason) {
	w := healthy(30)
	w.doc = mustParse("apiVersion: rollcall/v1\nlimits: {actionsPerHour: 50" + more + "}\n")
	acts, at := 0, now
	launch := func(n int, at time.Time) {
		w.add(n, 0)
		last := len(w.snapshot.Instances) - 1
		w.snapshot.Instances[last].Launched = at
		w.snapshot.Nodes = slices.DeleteFunc(w.snapshot.Nodes, func(node roll.Node) bool { return node.Instance == instanceID(n) })
	}
	n := 100
	for range 3 { // three fail at once
		launch(n, at)
		n++
	}
	for range 24 * 12 {
		at = at.Add(5 * time.Minute)
		_, p := w.make(at)
		w.apply(p)
		for _, o := range p.Orders {
			acts++
			w.state.Actions = append(w.state.Actions, ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Group: o.Group, Kind: o.Kind, At: at, Outcome: done(at)})
			w.snapshot.Instances = slices.DeleteFunc(w.snapshot.Instances, func(i roll.Instance) bool { return i.ID == o.Instance })
			launch(n, at.Add(time.Minute))
			n++
		}
		if len(p.Orders) == 0 && at.Sub(now) > 3*time.Hour && !slices.Contains(reasons(p), held) {
			t.Fatalf("%q: after %d acts, at %s: held for %v", more, acts, at, reasons(p))
		}
	}
	expect.That(t, acts == want, "%q: %d acts in a day, want %d", more, acts, want)
}

func TestSmallPoolsAreAsDocumented(t *testing.T) {
	tests := []struct {
		sick, of int
		want     string
	}{
		{1, 1, "reboot"}, {1, 2, "reboot"}, {2, 2, "none"}, {1, 3, "reboot"}, {2, 3, "reboot"}, {3, 3, "none"},
		{2, 4, "reboot"}, {3, 4, "none"}, {2, 5, "reboot"}, {3, 5, "none"}, {5, 5, "none"},
		{2, 10, "reboot"}, {3, 10, "none"}, {3, 11, "reboot"}, {20, 100, "reboot"}, {21, 100, "none"},
	}
	for _, tt := range tests {
		w := healthy(tt.of)
		for n := 1; n <= tt.sick; n++ {
			w.silent(n, time.Duration(n)*time.Hour) // far apart: this test is about shares
		}
		_, p := w.make(now)
		got, _, _ := strings.Cut(ordered1(p), ":")
		expect.That(t, got == tt.want && len(p.Orders) <= 1, "%d of %d: ordered %s (%d), want %s", tt.sick, tt.of, ordered1(p), len(p.Orders), tt.want)
		if tt.want == "none" && slices.ContainsFunc(reasons(p), func(r Reason) bool { return r != UnhealthyShare }) {
			t.Errorf("%d of %d: held for %v", tt.sick, tt.of, reasons(p))
		}
	}
}

// A drain that no check continued, with pods left, has failed. One whose node is gone has not.
func TestADrainIsMootWhereNothingIsLeftToDrainFor(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*world)
		moot   bool
	}{
		"nobody went on":       {func(*world) {}, false},
		"the node is gone":     {func(w *world) { w.snapshot.Nodes = w.snapshot.Nodes[1:] }, true},
		"the instance is gone": {func(w *world) { w.snapshot.Instances[0].State = roll.StateTerminated }, true},
	} {
		w := healthy(10)
		w.notReady(1, 3*time.Hour)
		w.state.Actions = []ledger.Action{{ID: "a", Do: string(Drain), Instance: instanceID(1), Node: "node-1", Group: "asg/w", Kind: roll.NotReady, At: now.Add(-2 * time.Hour)}}
		tt.change(w)
		_, p := w.make(now)
		expect.That(t, len(p.Resolved) == 1 && p.Resolved[0].Moot == tt.moot && p.Resolved[0].Outcome.Result == ledger.Failed, "%s: %+v", name, p.Resolved)
	}
}

// An unfinished drain either waits for a person forever, or is forced: never both.
func TestAnUnfinishedDrainIsForcedOnlyByPolicy(t *testing.T) {
	const left = ": 1 pod not to be evicted (default/web-0: its budget)"
	for doc, want := range map[string]map[time.Duration]string{
		"":                                   {59 * time.Minute: "none: [DrainUnfinished]", 70 * time.Minute: "drain", 100 * time.Hour: "drain"},
		"drain: {budgetTimeout: 30m}":        {59 * time.Minute: "none: [DrainUnfinished]"},
		"drain: {force: afterBudgetTimeout}": {59 * time.Minute: "none: [DrainUnfinished]", time.Hour: "terminate"},
		"drain: {force: afterBudgetTimeout, budgetTimeout: 30m}": {29 * time.Minute: "none: [DrainUnfinished]", 30 * time.Minute: "terminate"},
		"drain: {force: afterBudgetTimeout, budgetTimeout: 2h}":  {69 * time.Minute: "none: [DrainUnfinished]", 70 * time.Minute: "drain", 2 * time.Hour: "terminate"},
		"drain: {force: afterBudgetTimeout, budgetTimeout: 1s}":  {10 * time.Minute: "terminate"},
	} {
		w := healthy(20)
		w.doc = mustParse("apiVersion: rollcall/v1\n" + doc + "\n")
		w.notReady(1, 2*time.Hour)
		_, p := w.make(now)
		w.did(t, p, now, done(now))
		_, p = w.make(now)
		w.did(t, p, now, &ledger.Outcome{Result: ledger.Failed, At: now.Add(10 * time.Minute), Detail: ledger.Unfinished + left})
		for after, want := range want {
			_, p = w.make(now.Add(after))
			expect.That(t, ordered1(p) == want, "%q, %s after its first try: ordered %s, want %s", doc, after, ordered1(p), want)
			if len(p.Held) == 1 && (!strings.Contains(p.Held[0].Detail, "default/web-0: its budget") || p.Held[0].Until.IsZero()) {
				t.Errorf("%q: held until %s: %s", doc, p.Held[0].Until, p.Held[0].Detail)
			}
		}
	}
}

// The first try counts, not the latest.
func TestTheBudgetTimeoutCountsFromTheFirstTry(t *testing.T) {
	w := healthy(20)
	w.doc = mustParse("apiVersion: rollcall/v1\ndrain: {force: afterBudgetTimeout, budgetTimeout: 75m}\n")
	w.notReady(1, 2*time.Hour)
	_, p := w.make(now)
	w.did(t, p, now, done(now))
	for _, at := range []time.Time{now, now.Add(70 * time.Minute)} {
		_, p = w.make(at)
		w.did(t, p, at, &ledger.Outcome{Result: ledger.Failed, At: at.Add(10 * time.Minute), Detail: ledger.Unfinished + ": default/web-0"})
	}
	_, p = w.make(now.Add(80 * time.Minute))
	expect.That(t, ordered1(p) == "terminate", "ordered %s", ordered1(p))
}

// The pending replacement of a group without nodes is remembered for longer than its acts, but not
// forever: it is unknown whether the group is gone for good.
func TestTheMemoryOfAGroupWithoutNodesEnds(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	ended := func(d time.Duration) ledger.Ended {
		return ledger.Ended{Instance: instanceID(99), At: ago(d), Done: ago(d)}
	}
	const acts, owed = ledger.ActionRetention, ledger.IntentRetention
	for name, tt := range map[string]struct {
		memory ledger.GroupMemory
		drop   bool
	}{
		"it had a node lately":     {ledger.GroupMemory{Good: ago(acts - time.Second)}, false},
		"it had one once":          {ledger.GroupMemory{Good: ago(acts)}, true},
		"its last was replaced":    {ledger.GroupMemory{Good: ago(acts), Ended: ended(acts + time.Hour)}, true},
		"its last was not":         {ledger.GroupMemory{Good: ago(acts + time.Hour), Ended: ended(acts)}, false},
		"its last was not, nearly": {ledger.GroupMemory{Good: ago(owed + time.Hour), Ended: ended(owed - time.Second)}, false},
		"its last was not, long":   {ledger.GroupMemory{Good: ago(owed + time.Hour), Ended: ended(owed)}, true},
	} {
		w := healthy(3)
		w.state.Groups = map[roll.Group]ledger.GroupMemory{"asg/none": tt.memory}
		_, p := w.make(now)
		expect.Equal(t, slices.Contains(p.Changes.Drop.Groups, "asg/none"), tt.drop, "%s: dropped", name)
	}
}
