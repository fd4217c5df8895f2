package assess_test

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestGhostByTime(t *testing.T) {
	for _, status := range []roll.ConditionStatus{roll.ConditionUnknown, roll.ConditionFalse} {
		for away, want := range map[time.Duration]roll.Stage{0: roll.Watching, 5*time.Minute - time.Second: roll.Watching, 5 * time.Minute: roll.Overdue, 5*time.Minute + time.Second: roll.Overdue} {
			a := look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
				i.State = roll.StateTerminated
				n.Ready = roll.Condition{Status: status, Since: ago(away)}
			}, ledger.State{})
			f := one(t, away.String(), a)
			expect.That(t, f.Kind == roll.Ghost && f.Stage == want && f.Since.Equal(ago(away)), "%s for %s: %+v, want a Ghost, %s", status, away, f, want)
			expect.That(t, len(a.Count) == 0 && len(a.Silent) == 0 && len(a.Zones) == 0, "a ghost counts as one of the population: %+v", a)
			expect.That(t, len(a.Questions) == 0, "asked about an instance that is gone: %+v", a.Questions)
		}
	}
}

// The time of a ghost starts when its node was first not ready, whatever the transitions say, or at
// the last check that saw no ghost. It does not change after that.
func TestAGhostKeepsItsTime(t *testing.T) {
	state := ledger.State{NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: ago(20 * time.Minute), Status: roll.ConditionFalse, Transition: ago(20 * time.Minute), Known: true}}}
	terminated := func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
		i.State = roll.StateTerminated
		n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Minute)}
	}
	f := one(t, "first", look(terminated, state))
	expect.That(t, f.Since.Equal(ago(20*time.Minute)) && f.Stage == roll.Overdue, "first: %+v", f)
	state.Checked = ago(2 * time.Minute) // and that check saw no ghost
	f = one(t, "gone since the last look", look(terminated, state))
	expect.That(t, f.Since.Equal(ago(2*time.Minute)) && f.Stage == roll.Watching, "gone since the last look: %+v", f)
	state.Actions = []ledger.Action{{ID: "t", Do: "terminate", Instance: id, At: ago(time.Minute), Outcome: &ledger.Outcome{Result: ledger.Done, At: ago(time.Minute)}}}
	f = one(t, "ended by Rollcall", look(terminated, state))
	expect.That(t, f.Since.Equal(ago(time.Minute)) && f.Stage == roll.Watching, "ended by Rollcall: %+v", f)
	for name, change := range map[string]func(*ledger.Action){
		"another one was ended":  func(act *ledger.Action) { act.Instance = "i-0000000000000000b" },
		"it was rebooted":        func(act *ledger.Action) { act.Do = "reboot" },
		"the act has no outcome": func(act *ledger.Action) { act.Outcome = nil },
		"the termination failed": func(act *ledger.Action) { act.Outcome = &ledger.Outcome{Result: ledger.Failed, At: act.At} },
	} {
		act := state.Actions[0]
		change(&act)
		f := one(t, name, look(terminated, ledger.State{NotReady: state.NotReady, Checked: state.Checked, Actions: []ledger.Action{act}}))
		expect.That(t, f.Since.Equal(state.Checked), "%s: %+v", name, f)
	}
	f = one(t, "of an earlier Node", look(terminated, known(roll.Ghost, ago(48*time.Hour+time.Second), ago(48*time.Hour+time.Second))))
	expect.That(t, f.Since.Equal(ago(time.Minute)), "of an earlier Node: %+v", f)
	f = one(t, "known", look(terminated, known(roll.Ghost, ago(3*time.Minute), ago(3*time.Minute))))
	expect.That(t, f.Since.Equal(ago(3*time.Minute)) && f.Began.Equal(ago(3*time.Minute)) && f.Stage == roll.Watching, "known: %+v", f)
}

// unknownToEC2 returns a node that is not ready and whose instance was looked up and not found.
func unknownToEC2(status roll.ConditionStatus, away time.Duration) *roll.Snapshot {
	s := snapshot(nil, []roll.Node{node(id, status, away)})
	s.NotFound = map[roll.InstanceID]bool{id: true}
	return s
}

func TestWhatEC2DoesNotKnowIsAGhostOnlyIfItDidAndForTenMinutes(t *testing.T) {
	seen := map[roll.InstanceID]ledger.NotReady{id: {Since: ago(time.Hour), Status: roll.ConditionUnknown, Transition: ago(time.Hour), Known: true}}
	never := map[roll.InstanceID]ledger.NotReady{id: {Since: ago(time.Hour), Status: roll.ConditionUnknown, Transition: ago(time.Hour)}}
	missing := func(d time.Duration) map[roll.InstanceID]time.Time {
		return map[roll.InstanceID]time.Time{id: ago(d)}
	}
	tests := []struct {
		name  string
		state ledger.State
		want  roll.Kind
		since time.Duration // of Missing after it; -1 for none
	}{
		{"nothing is remembered", ledger.State{}, roll.Unknown, -1},
		{"no check saw the instance", ledger.State{NotReady: never}, roll.Unknown, -1},
		{"an earlier check saw it: the first look without it", ledger.State{NotReady: seen}, roll.Unknown, 0},
		{"missing for not quite ten minutes", ledger.State{NotReady: seen, Missing: missing(10*time.Minute - time.Second)}, roll.Unknown, 10*time.Minute - time.Second},
		{"missing for ten minutes", ledger.State{NotReady: seen, Missing: missing(10 * time.Minute)}, roll.Ghost, 10 * time.Minute},
		{"missing for longer", ledger.State{NotReady: seen, Missing: missing(10*time.Minute + time.Second)}, roll.Ghost, 10*time.Minute + time.Second},
		{"its node had vanished while it ran, and is back", ledger.State{NotReady: seen, Findings: contradicted(roll.Unregistered, ago(time.Hour)).Findings}, roll.Unknown, 0},
		{"its node was Ready when EC2 still showed it terminated", ledger.State{Missing: missing(time.Minute), Findings: contradicted(roll.Ghost, ago(time.Hour)).Findings}, roll.Ghost, time.Minute},
		{"it was a ghost when EC2 still showed it terminated", known(roll.Ghost, ago(time.Hour), ago(time.Hour)), roll.Ghost, 0},
	}
	for _, tt := range tests {
		a := judge(unknownToEC2(roll.ConditionUnknown, time.Hour), tt.state)
		f := one(t, tt.name, a)
		expect.That(t, f.Kind == tt.want, "%s: %+v, want %s", tt.name, f, tt.want)
		at, noted := a.Missing[id]
		if noted != (tt.since >= 0) || noted && !at.Equal(ago(tt.since)) {
			t.Errorf("%s: missing since %s (%v)", tt.name, at, noted)
		}
		if tt.want == roll.Unknown && noted && (a.Next.IsZero() || a.Next.After(at.Add(10*time.Minute))) {
			t.Errorf("%s: next %s, want the end of the ten minutes at the latest", tt.name, a.Next)
		}
		want := tt.state.NotReady[id].Known
		expect.That(t, a.NotReady[id].Known == want, "%s: known is %v, want %v", tt.name, !want, want)
	}
	s := unknownToEC2(roll.ConditionUnknown, time.Hour)
	state := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{key(roll.Ghost): {Instance: id, Kind: roll.Ghost, Group: "asg/w"}}}
	if f := one(t, "its group is remembered", judge(s, state)); f.Group != "asg/w" || f.Selector.Group != "asg/w" {
		t.Errorf("its group is remembered: %+v", f)
	}
	s.Instances, s.Nodes[0].Owner, s.Nodes[0].Group = []roll.Instance{{ID: id, State: roll.StateTerminated, Unclaimed: true, Owner: roll.OwnerNone, Group: roll.GroupNone}}, "", ""
	if f := one(t, "EC2 has removed its tags", judge(s, state)); f.Kind != roll.Ghost || f.Group != "asg/w" || f.Selector.Group != "asg/w" {
		t.Errorf("EC2 has removed its tags, and its group is remembered: %+v", f)
	}
	s.Nodes[0].Owner, s.Nodes[0].Group = roll.OwnerManagedNodeGroup, "nodegroup/w"
	if f := one(t, "EC2 has removed its tags", judge(s, ledger.State{})); f.Kind != roll.Ghost || f.Group != "nodegroup/w" || f.Owner != roll.OwnerManagedNodeGroup {
		t.Errorf("EC2 has removed its tags, and its node has labels: %+v", f)
	}
	s.Instances[0].Unclaimed = false // it has them: they show that it had no owner
	if f := one(t, "EC2 shows its tags", judge(s, ledger.State{})); f.Group != roll.GroupNone || f.Owner != roll.OwnerNone {
		t.Errorf("EC2 shows its tags: %+v", f)
	}
	s.Instances = nil
	s.NotFound = nil
	a := judge(s, ledger.State{NotReady: seen, Missing: missing(time.Hour)})
	f := one(t, "nobody looked it up", a)
	expect.That(t, f.Kind == roll.Unknown && len(a.Missing) == 0, "nobody looked it up: %+v, missing %v", f, a.Missing)
}

func TestAnInstanceThatIsFoundAgainIsNotMissing(t *testing.T) {
	state := ledger.State{Missing: map[roll.InstanceID]time.Time{id: ago(9 * time.Minute)}}
	a := look(func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Ready.Status = roll.ConditionUnknown }, state)
	f := one(t, "found", a)
	expect.That(t, f.Kind == roll.Unknown && len(a.Missing) == 0 && a.NotReady[id].Known, "%+v, missing %v, remembered %+v", f, a.Missing, a.NotReady[id])
}

func TestHiddenInstancesOfAutoModeAreNeverGhosts(t *testing.T) {
	for _, status := range []roll.ConditionStatus{roll.ConditionUnknown, roll.ConditionTrue} {
		s := unknownToEC2(status, time.Hour)
		s.Nodes[0].Owner, s.Nodes[0].Group = roll.OwnerAutoMode, "nodepool/general-purpose"
		a := judge(s, ledger.State{
			NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: ago(time.Hour), Status: roll.ConditionUnknown, Transition: ago(time.Hour), Known: true}},
			Missing:  map[roll.InstanceID]time.Time{id: ago(time.Hour)},
		})
		f := one(t, string(status), a)
		want := map[roll.ConditionStatus]roll.Kind{roll.ConditionUnknown: roll.Unknown}[status]
		expect.That(t, f.Kind == want && a.Nodes == 1 && len(a.Missing) == 0, "%s: %+v, %d nodes, missing %v", status, f, a.Nodes, a.Missing)
		expect.That(t, len(a.Notes) == 1 && strings.Contains(a.Notes[0], "Auto Mode"), "%s: notes %q", status, a.Notes)
	}
}

func TestAPartialListingMakesNoGhosts(t *testing.T) {
	for status, want := range map[roll.ConditionStatus]roll.Kind{roll.ConditionUnknown: roll.Unknown, roll.ConditionTrue: ""} {
		a := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			i.State, n.Ready.Status = roll.StateTerminated, status
			s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeInstances, Kind: roll.GapThrottled})
		}, known(roll.Ghost, ago(time.Hour), ago(time.Hour)))
		f := one(t, string(status), a)
		expect.That(t, f.Kind == want, "%s: %+v, want %q", status, f, want)
		expect.That(t, a.Kept[key(roll.Ghost)], "%s: the ghost that is known is not kept", status)
	}
}

// For a moment after a termination a node may still be Ready. If it stays Ready, either EC2 or
// Kubernetes is wrong.
func TestAReadyGhostByTime(t *testing.T) {
	i, n := pair()
	i.State = roll.StateTerminated
	state := ledger.State{}
	look := func(at time.Time, s *roll.Snapshot) assess.Assessment {
		a := assess.Assess(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: at})
		state.Missing = a.Missing
		return a
	}
	for _, tt := range []struct {
		after time.Duration
		want  roll.Stage
	}{{0, roll.Watching}, {5*time.Minute - time.Second, roll.Watching}, {5 * time.Minute, roll.Overdue}, {5*time.Minute + time.Second, roll.Overdue}} {
		a := look(now.Add(tt.after), snapshot([]roll.Instance{i}, []roll.Node{n}))
		if f := one(t, tt.after.String(), a); f.Kind != roll.Ghost || f.Contradiction != "node "+n.Name+" is Ready" || f.Stage != tt.want || !f.Since.Equal(now) || !f.Began.Equal(now) {
			t.Errorf("after %s: %+v", tt.after, f)
		}
		expect.That(t, a.Count[""] == (assess.Count{}) && len(a.Questions) == 0, "after %s: count %+v, questions %+v", tt.after, a.Count, a.Questions)
	}
	// EC2 forgets terminated instances; the contradiction stays.
	a := look(now.Add(time.Hour), unknownToEC2(roll.ConditionTrue, 0))
	f := one(t, "forgotten", a)
	expect.That(t, f.Kind == roll.Ghost && f.Contradiction != "" && f.Since.Equal(now), "forgotten: %+v", f)
}

// While the node was Ready, nobody knew whether its instance is gone. The tolerance of a ghost begins
// when it is not Ready any more, however long the contradiction lasted.
func TestAGhostBeginsWhenItsNodeIsNotReadyAnyMore(t *testing.T) {
	for away, want := range map[time.Duration]roll.Stage{0: roll.Watching, 5*time.Minute - time.Second: roll.Watching, 5 * time.Minute: roll.Overdue} {
		state := contradicted(roll.Ghost, ago(time.Hour))
		state.Missing, state.Checked = map[roll.InstanceID]time.Time{id: ago(time.Hour)}, ago(6*time.Minute)
		terminated := func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.State = roll.StateTerminated
			n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(away)}
		}
		f := one(t, away.String(), look(terminated, state))
		expect.That(t, f.Kind == roll.Ghost && f.Contradiction == "" && f.Stage == want && f.Since.Equal(ago(away)) && f.Began.Equal(ago(away)), "not Ready for %s: %+v, want a Ghost, %s", away, f, want)
	}
}

// No check ever saw it: it may run in another account, whose instances EC2 does not return.
func TestAReadyNodeWhoseInstanceWasNeverSeenIsInOrder(t *testing.T) {
	a := judge(unknownToEC2(roll.ConditionTrue, time.Hour), ledger.State{})
	expect.That(t, len(a.Findings) == 0 && len(a.Missing) == 0 && len(a.Notes) == 1, "findings %+v, missing %v, notes %q", a.Findings, a.Missing, a.Notes)
}

// The reason why a node went is reported; acts on it are still left to its owner.
func TestASpotInterruptionIsSaid(t *testing.T) {
	for state, want := range map[roll.InstanceState]string{
		roll.StateTerminated:   "EC2 says that its instance " + string(id) + " is terminated by a Spot interruption",
		roll.StateShuttingDown: "its instance " + string(id) + " is shutting-down by a Spot interruption; it is not judged",
	} {
		a := look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.State, i.SpotTaken = state, true
			n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Hour)}
		}, ledger.State{})
		said := strings.Join(a.Notes, "; ")
		for _, f := range a.Findings {
			said += f.Summary
		}
		expect.That(t, strings.Contains(said, want), "%s: %q", state, said)
	}
}
