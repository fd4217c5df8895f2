package assess_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestPressuresAreRemembered(t *testing.T) {
	pressed := func(kind string, status roll.ConditionStatus, since time.Duration) roll.TypedCondition {
		return roll.TypedCondition{Type: kind, Condition: roll.Condition{Status: status, Since: ago(since)}}
	}
	memory := func(since, until time.Duration) ledger.Pressure {
		p := ledger.Pressure{Types: []string{roll.MemoryPressure}, Since: ago(since)}
		if until >= 0 {
			p.Until = ago(until)
		}
		return p
	}
	const lasting = -1
	tests := []struct {
		name       string
		status     roll.ConditionStatus
		conditions []roll.TypedCondition
		known      *ledger.Pressure
		want       *ledger.Pressure
	}{
		{"none", roll.ConditionTrue, nil, nil, nil},
		{"one", roll.ConditionTrue, []roll.TypedCondition{pressed(roll.MemoryPressure, roll.ConditionTrue, time.Minute)}, nil, new(memory(time.Minute, lasting))},
		{"one that is not", roll.ConditionTrue, []roll.TypedCondition{pressed(roll.MemoryPressure, roll.ConditionFalse, time.Minute)}, nil, nil},
		{"what is no pressure", roll.ConditionTrue, []roll.TypedCondition{pressed("KernelDeadlock", roll.ConditionTrue, time.Minute)}, nil, nil},
		{"of a node that says it is not ready", roll.ConditionFalse, []roll.TypedCondition{pressed(roll.MemoryPressure, roll.ConditionTrue, time.Minute)}, nil, new(memory(time.Minute, lasting))},
		{"two, in any order", roll.ConditionTrue, []roll.TypedCondition{pressed(roll.PIDPressure, roll.ConditionTrue, time.Minute), pressed(roll.DiskPressure, roll.ConditionTrue, time.Hour)}, nil,
			&ledger.Pressure{Types: []string{roll.DiskPressure, roll.PIDPressure}, Since: ago(time.Hour)}},
		{"it ends", roll.ConditionTrue, nil, new(memory(time.Hour, lasting)), new(memory(time.Hour, 0))},
		{"it ended a while ago", roll.ConditionTrue, nil, new(memory(2*time.Hour, time.Hour-time.Second)), new(memory(2*time.Hour, time.Hour-time.Second))},
		{"it ended an hour ago", roll.ConditionTrue, nil, new(memory(2*time.Hour, time.Hour)), nil},
		{"it ended an hour ago, and the node is not ready", roll.ConditionFalse, nil, new(memory(2*time.Hour, time.Hour)), new(memory(2*time.Hour, time.Hour))},
		{"it begins again", roll.ConditionTrue, []roll.TypedCondition{pressed(roll.MemoryPressure, roll.ConditionTrue, time.Minute)}, new(memory(time.Hour, 10*time.Minute)), new(memory(time.Minute, lasting))},
		{"the node went silent under it", roll.ConditionUnknown, nil, new(memory(time.Hour, lasting)), new(memory(time.Hour, lasting))},
		{"the node went silent long after it", roll.ConditionUnknown, nil, new(memory(9*time.Hour, 8*time.Hour)), new(memory(9*time.Hour, 8*time.Hour))},
	}
	for _, tt := range tests {
		var state ledger.State
		if tt.known != nil {
			state.Pressures = map[roll.InstanceID]ledger.Pressure{id: *tt.known}
		}
		a := look(func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready.Status, n.Conditions = tt.status, tt.conditions
		}, state)
		want := map[roll.InstanceID]ledger.Pressure{}
		if tt.want != nil {
			want[id] = *tt.want
		}
		expect.Same(t, a.Pressures, want, "%s: remembered", tt.name)
	}
}

// A node's pressure is remembered for its group, so that it outlives the node.
func TestPressuresAreRememberedOfTheGroup(t *testing.T) {
	was := func(n int, kind string, since time.Duration) ledger.GroupPressure {
		node := "node-" + string(rune('a'+n))
		return ledger.GroupPressure{Instance: roll.InstanceID("i-" + node), Node: node, Type: kind, Since: ago(since)}
	}
	own := func(kind string, since time.Duration) ledger.GroupPressure {
		return ledger.GroupPressure{Instance: id, Node: "node-a", Type: kind, Since: ago(since)}
	}
	var many []ledger.GroupPressure
	for n := range ledger.PressuresKept {
		many = append(many, was(n, roll.MemoryPressure, 20*time.Hour-time.Duration(n)*time.Hour))
	}
	memory := []roll.TypedCondition{{Type: roll.MemoryPressure, Condition: roll.Condition{Status: roll.ConditionTrue, Since: ago(time.Minute)}}}
	for _, tt := range []struct {
		name       string
		conditions []roll.TypedCondition
		known      []ledger.GroupPressure
		spoil      func(*roll.Instance, *roll.Node, *roll.Snapshot)
		want       []ledger.GroupPressure // nil for nothing new
	}{
		{name: "none"},
		{name: "one", conditions: memory, want: []ledger.GroupPressure{own(roll.MemoryPressure, time.Minute)}},
		{name: "one that is known", conditions: memory, known: []ledger.GroupPressure{own(roll.MemoryPressure, time.Minute)}},
		{name: "known by another clock", conditions: memory, known: []ledger.GroupPressure{own(roll.MemoryPressure, 3*time.Minute)}},
		{name: "known of disk space", conditions: memory, known: []ledger.GroupPressure{own(roll.DiskPressure, time.Minute)}, want: []ledger.GroupPressure{own(roll.DiskPressure, time.Minute), own(roll.MemoryPressure, time.Minute)}},
		{name: "again", conditions: memory, known: []ledger.GroupPressure{own(roll.MemoryPressure, time.Hour)}, want: []ledger.GroupPressure{own(roll.MemoryPressure, time.Hour), own(roll.MemoryPressure, time.Minute)}},
		{name: "one in a day, and one before", conditions: memory, known: []ledger.GroupPressure{was(1, roll.MemoryPressure, 24*time.Hour), was(2, roll.MemoryPressure, 24*time.Hour-time.Second)},
			want: []ledger.GroupPressure{was(2, roll.MemoryPressure, 24*time.Hour-time.Second), own(roll.MemoryPressure, time.Minute)}},
		{name: "no more than so many", conditions: memory, known: many, want: append(many[1:len(many):len(many)], own(roll.MemoryPressure, time.Minute))},
		{name: "what is over stays", known: []ledger.GroupPressure{was(1, roll.MemoryPressure, 30*time.Hour)}},
		{name: "one that lasts for more than a day", conditions: []roll.TypedCondition{{Type: roll.MemoryPressure, Condition: roll.Condition{Status: roll.ConditionTrue, Since: ago(25 * time.Hour)}}}},
		{name: "in no group", conditions: memory, spoil: func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.Owner, i.Group, n.Group = roll.OwnerNone, roll.GroupNone, roll.GroupNone
		}},
		{name: "while not all nodes could be read", conditions: memory, spoil: func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeInstances})
		}},
	} {
		a := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			n.Conditions = tt.conditions
			if tt.spoil != nil {
				tt.spoil(i, n, s)
			}
		}, ledger.State{Groups: map[roll.Group]ledger.GroupMemory{"asg/w": {Counted: ago(0), Good: ago(0), Proven: ago(0), Pressed: tt.known}}})
		got, changed := a.Groups["asg/w"]
		if changed != (tt.want != nil) || changed && !cmp.Equal(tt.want, got.Pressed) {
			t.Errorf("%s: %v, remembered (-want +got):\n%s", tt.name, changed, cmp.Diff(tt.want, got.Pressed))
		}
	}
}

// The time of a node's last report is remembered with its absence, and does not change while that
// lasts.
func TestWhenANodeWasLastSeenToTell(t *testing.T) {
	for _, tt := range []struct {
		name    string
		checked time.Duration
		known   *ledger.NotReady
		want    time.Time
	}{
		{"a check before", 50 * time.Minute, nil, ago(50 * time.Minute)},
		{"none since the node's creation", 60 * 24 * time.Hour, nil, time.Time{}},
		{"the last one saw it silent", 10 * time.Minute, nil, time.Time{}},
		{"it is known", time.Minute, &ledger.NotReady{Since: ago(40 * time.Minute), Status: roll.ConditionUnknown, Transition: ago(40 * time.Minute), Told: ago(44 * time.Minute)}, ago(44 * time.Minute)},
		{"it is known of another absence", time.Minute, &ledger.NotReady{Since: ago(3 * time.Hour), Status: roll.ConditionUnknown, Transition: ago(3 * time.Hour), Told: ago(4 * time.Hour)}, time.Time{}},
	} {
		state := ledger.State{Checked: ago(tt.checked)}
		if tt.known != nil {
			state.NotReady = map[roll.InstanceID]ledger.NotReady{id: *tt.known}
		}
		a := look(func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(40 * time.Minute)}
		}, state)
		got := a.NotReady[id].Told
		expect.That(t, got.Equal(tt.want), "%s: %s, want %s", tt.name, got, tt.want)
	}
}
