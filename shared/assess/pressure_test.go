package assess_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
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
		if diff := cmp.Diff(want, a.Pressures); diff != "" {
			t.Errorf("%s: remembered (-want +got):\n%s", tt.name, diff)
		}
	}
}
