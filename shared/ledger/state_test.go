package ledger_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
	"rollcall/tests/harness/must"
)

func TestACloneHasEverythingInMapsOfItsOwn(t *testing.T) {
	s := ledgertest.Filled[ledger.State](t)
	zeros := ledgertest.Zeros(s)
	must.That(t, len(zeros) == 0, "the filled state lacks %q", zeros)
	c := s.Clone()
	expect.Same(t, c, s, "clone")
	for _, field := range ledgertest.Fields[ledger.State]() {
		of := func(s ledger.State) reflect.Value { return reflect.ValueOf(s).FieldByName(field) }
		if v := of(s); (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Pointer() == of(c).Pointer() {
			t.Errorf("the clone shares %s", field)
		}
	}
}

// Each field of Put and Drop is a change by itself, of the same field of State.
func TestEveryChangeIsMade(t *testing.T) {
	before := ledger.NewState()
	before.Apply(ledgertest.Puts(t))
	made := func(start ledger.State, field string, c ledger.Changes) {
		expect.That(t, !c.Empty(), "%s: nothing to write", field)
		after := start.Clone()
		after.Apply(c)
		differs := differing(start, after)
		expect.That(t, slices.Equal(differs, []string{field}), "%s changes %q, want that field", field, differs)
	}
	for _, field := range ledgertest.Fields[ledger.State]() {
		if field != "Actions" && field != "NoticesVersion" {
			made(ledger.NewState(), field, ledgertest.Only(ledgertest.Puts(t), field))
		}
	}
	for _, field := range ledgertest.Fields[ledger.Drops]() {
		made(before, field, ledgertest.Only(ledgertest.Drops(t), field))
	}
	expect.That(t, (ledger.Changes{Put: ledger.NewState()}).Empty(), "no changes are not empty")
}

func TestAStateThatWasAppliedToHasAllItsMaps(t *testing.T) {
	var s ledger.State
	s.Apply(ledger.Changes{})
	for _, state := range []ledger.State{s, (ledger.State{}).Clone()} {
		v := reflect.ValueOf(state)
		for i := range v.NumField() {
			if v.Field(i).Kind() == reflect.Map && v.Field(i).IsNil() {
				t.Errorf("State.%s is nil", v.Type().Field(i).Name)
			}
		}
	}
}

// differing returns the fields in which two states differ.
func differing(a, b ledger.State) (out []string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !cmp.Equal(x.Field(i).Interface(), y.Field(i).Interface(), cmpopts.EquateEmpty()) {
			out = append(out, x.Type().Field(i).Name)
		}
	}
	return out
}

// outcome returns the outcome of an act.
func outcome(result ledger.Result, detail string) *ledger.Outcome {
	return &ledger.Outcome{Result: result, At: ledgertest.T0, Detail: detail}
}

func TestWhatUsesUpABudget(t *testing.T) {
	now := ledgertest.T0
	since := now.Add(-time.Hour)
	act := func(do string, instance roll.InstanceID, at time.Time, o *ledger.Outcome) ledger.Action {
		return ledger.Action{ID: do + string(instance), Do: do, Instance: instance, At: at, Outcome: o}
	}
	doneAt := func(at time.Time) *ledger.Outcome { return &ledger.Outcome{Result: ledger.Done, At: at} }
	free := act("uncordon", "i-1", now, nil)
	free.Free = true
	for _, tt := range []struct {
		name string
		acts []ledger.Action
		but  roll.InstanceID
		want int
	}{
		{"nothing", nil, "", 0},
		{"an open act", []ledger.Action{act("terminate", "i-1", now, nil)}, "", 1},
		{"a done one", []ledger.Action{act("terminate", "i-1", now, outcome(ledger.Done, ""))}, "", 1},
		{"one that failed", []ledger.Action{act("terminate", "i-1", now, outcome(ledger.Failed, "refused"))}, "", 0},
		{"one that is to be tried again", []ledger.Action{act("terminate", "i-1", now, outcome(ledger.Failed, ledger.NotYet+"untagged"))}, "", 0},
		{"a drain that came half-way", []ledger.Action{act("drain", "i-1", now, outcome(ledger.Failed, ledger.Unfinished+": 2 pods are left"))}, "", 1},
		{"a free one", []ledger.Action{free}, "", 0},
		{"drain and terminate of one instance", []ledger.Action{act("drain", "i-1", now, outcome(ledger.Done, "")), act("terminate", "i-1", now, nil)}, "", 1},
		{"drain done, terminate failed", []ledger.Action{act("drain", "i-1", now, outcome(ledger.Done, "")), act("terminate", "i-1", now, outcome(ledger.Failed, ""))}, "", 1},
		{"two instances", []ledger.Action{act("drain", "i-1", now, nil), act("drain", "i-2", now, nil)}, "", 2},
		{"two but for one", []ledger.Action{act("drain", "i-1", now, nil), act("drain", "i-2", now, nil)}, "i-2", 1},
		{"but for one that is not among them", []ledger.Action{act("drain", "i-1", now, nil)}, "i-3", 1},
		{"just before the window", []ledger.Action{act("drain", "i-1", since.Add(-time.Nanosecond), doneAt(since.Add(-time.Nanosecond)))}, "", 0},
		{"at its edge", []ledger.Action{act("drain", "i-1", since, doneAt(since))}, "", 0},
		{"just within", []ledger.Action{act("drain", "i-1", since.Add(time.Nanosecond), doneAt(since.Add(time.Nanosecond)))}, "", 1},
		{"a drain that ended within", []ledger.Action{act("drain", "i-1", since.Add(-9*time.Minute), doneAt(since.Add(time.Minute)))}, "", 1},
		{"a drain that goes on", []ledger.Action{act("drain", "i-1", since.Add(-time.Minute), nil)}, "", 1},
		{"drain before, terminate within", []ledger.Action{act("drain", "i-1", since, doneAt(since)), act("terminate", "i-1", now, nil)}, "", 1},
		{"a clock ahead", []ledger.Action{act("drain", "i-1", now.Add(time.Minute), nil)}, "", 1},
	} {
		expect.Equal(t, (ledger.Budget{Since: since}).Spent(tt.acts, tt.but), tt.want, "%s", tt.name)
	}
}

func TestWhatKeepsAnActWaiting(t *testing.T) {
	act := func(id string, instance roll.InstanceID, g roll.Group, free bool, o *ledger.Outcome) ledger.Action {
		return ledger.Action{ID: id, Instance: instance, Group: g, Free: free, Outcome: o}
	}
	for _, tt := range []struct {
		name  string
		acts  []ledger.Action
		group roll.Group
		want  string
	}{
		{"nothing", nil, "asg/w", ""},
		{"its own", []ledger.Action{act("a", "i-1", "asg/w", false, nil)}, "asg/w", "a"},
		{"its own that is free", []ledger.Action{act("a", "i-1", "asg/w", true, nil)}, "asg/w", "a"},
		{"its own when asked for no group", []ledger.Action{act("a", "i-1", "asg/w", false, nil)}, roll.GroupNone, "a"},
		{"its own that is over", []ledger.Action{act("a", "i-1", "asg/w", false, outcome(ledger.Done, ""))}, "asg/w", ""},
		{"another of its group", []ledger.Action{act("a", "i-2", "asg/w", false, nil)}, "asg/w", "a"},
		{"another of its group that is free", []ledger.Action{act("a", "i-2", "asg/w", true, nil)}, "asg/w", ""},
		{"another of its group when asked for no group", []ledger.Action{act("a", "i-2", "asg/w", false, nil)}, roll.GroupNone, ""},
		{"another of another group", []ledger.Action{act("a", "i-2", "asg/x", false, nil)}, "asg/w", ""},
		{"another of no group", []ledger.Action{act("a", "i-2", roll.GroupNone, false, nil)}, roll.GroupNone, ""},
		{"its own before another's", []ledger.Action{act("a", "i-2", "asg/w", false, nil), act("b", "i-1", "asg/w", true, nil)}, "asg/w", "b"},
		{"the oldest of others", []ledger.Action{act("a", "i-2", "asg/w", false, nil), act("b", "i-3", "asg/w", false, nil)}, "asg/w", "a"},
	} {
		got, found := ledger.State{Actions: tt.acts}.Unresolved("i-1", tt.group)
		expect.That(t, got.ID == tt.want && found == (tt.want != ""), "%s: %q, %v, want %q", tt.name, got.ID, found, tt.want)
	}
}

func TestFindsActs(t *testing.T) {
	t0 := ledgertest.T0
	s := ledger.State{Actions: []ledger.Action{
		{ID: "a", Do: "reboot", Instance: "i-1", Group: "asg/w", At: t0, Outcome: outcome(ledger.Done, "")},
		{ID: "b", Do: "reboot", Instance: "i-1", Group: "asg/w", At: t0.Add(time.Hour), Outcome: outcome(ledger.Failed, "")},
		{ID: "c", Do: "terminate", Instance: "i-1", Group: "asg/w", At: t0.Add(2 * time.Hour)},
		{ID: "d", Do: "reboot", Instance: "i-2", Group: "asg/x", At: t0.Add(3 * time.Hour)},
	}}
	for _, tt := range []struct {
		group roll.Group
		since time.Time
		want  []string
	}{
		{"asg/w", t0.Add(-time.Nanosecond), []string{"a", "b", "c"}},
		{"asg/w", t0, []string{"b", "c"}},
		{"asg/w", t0.Add(2 * time.Hour), nil},
		{"asg/x", time.Time{}, []string{"d"}},
		{"asg/y", time.Time{}, nil},
	} {
		var got []string
		for _, a := range s.ActsOf(tt.group, tt.since) {
			got = append(got, a.ID)
		}
		expect.That(t, slices.Equal(got, tt.want), "acts of %s since %s: %q, want %q", tt.group, tt.since, got, tt.want)
	}
}
