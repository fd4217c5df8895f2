package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// dense returns a check that changes something in every part: instance 1 is found again and
// 2 is missing, all findings change their kind, the group's nodes work again.
func dense() (before, changes Changes) {
	old, anew := noon.Add(-time.Hour), noon
	before = Changes{
		Put: State{
			Findings:  map[roll.FindingKey]Finding{},
			Rests:     map[roll.InstanceID]Rest{"i-9": {}},
			Missing:   map[roll.InstanceID]time.Time{"i-1": old},
			Flips:     map[roll.InstanceID][]time.Time{"i-9": {old}},
			Pressures: map[roll.InstanceID]Pressure{"i-9": {Types: []string{"DiskPressure"}, Since: old}},
			Groups:    map[roll.Group]GroupMemory{"asg/w": {Good: old}, "asg/gone": {Good: old}},
			Notices:   map[NoticeKey]Notice{{Group: "asg/w", Kind: roll.Unknown}: {SentAt: old, Members: map[roll.InstanceID]MemberMemory{"i-1": {Last: Statement{Stage: roll.Overdue}, Told: Statement{Stage: roll.Overdue}}}}},
			Checked:   old,
			Trouble:   &Trouble{Reason: "UnhealthyShare", Since: old, Last: old},
			Refusals:  map[RefusalKey]Refusal{{"a", "VerdictChanged"}: {Instance: "i-1", Kind: roll.Unknown, Do: "terminate", At: old}},
		},
	}
	changes = Changes{
		Put: State{
			Findings:       map[roll.FindingKey]Finding{},
			RemediateSince: map[roll.Group]time.Time{"asg/w": anew},
			NotReady:       map[roll.InstanceID]NotReady{},
			Missing:        map[roll.InstanceID]time.Time{"i-2": anew},
			Flips:          map[roll.InstanceID][]time.Time{},
			Pressures:      map[roll.InstanceID]Pressure{"i-1": {Types: []string{"DiskPressure"}, Since: anew}},
			Groups:         map[roll.Group]GroupMemory{"asg/w": {Good: anew}},
			Notices:        map[NoticeKey]Notice{{Group: "asg/w", Kind: roll.NotReady}: {SentAt: anew, Members: map[roll.InstanceID]MemberMemory{"i-1": {Last: Statement{Stage: roll.Overdue}, Told: Statement{Stage: roll.Overdue}}}}},
			Checked:        anew,
			Refusals:       map[RefusalKey]Refusal{{"b", "OwnerUnknown"}: {Instance: "i-1", Kind: roll.NotReady, Do: "drain", At: anew}},
		},
		Drop: Drops{
			Missing:   []roll.InstanceID{"i-1"},
			Rests:     []roll.InstanceID{"i-9"},
			Flips:     []roll.InstanceID{"i-9"},
			Pressures: []roll.InstanceID{"i-9"},
			Groups:    []roll.Group{"asg/gone"},
			Notices:   []NoticeKey{{Group: "asg/w", Kind: roll.Unknown}},
			Refusals:  []RefusalKey{{"a", "VerdictChanged"}},
		},
	}
	for n := range 5 {
		id := roll.InstanceID(fmt.Sprint("i-", n))
		f := Finding{Instance: id, Kind: roll.Unknown, Group: "asg/w", Stage: roll.Overdue, FirstSeen: old, Since: old, Began: old}
		before.Put.Findings[f.Key()] = f
		changes.Drop.Findings = append(changes.Drop.Findings, f.Key())
		f.Kind = roll.NotReady
		changes.Put.Findings[f.Key()] = f
		changes.Put.NotReady[id] = NotReady{Since: old, Status: roll.ConditionFalse, Transition: anew}
		changes.Put.Flips[id] = []time.Time{anew}
	}
	return before, changes
}

// Whatever part of a check's writes a crash leaves, it permits only acts that the old or
// the new memory permits.
func TestAnyBeginningOfTheWritesHoldsBackEnough(t *testing.T) {
	before, changes := dense()
	worse, better := changes, changes
	worse.Put.Trouble = &Trouble{Reason: "ZoneOutage", Since: noon, Last: noon}
	better.Drop.Trouble = true
	both := better
	both.Put.Trouble = worse.Put.Trouble // a record that is put and dropped is dropped, at the place of drops
	for name, changes := range map[string]Changes{"trouble comes": worse, "trouble goes": better, "put and drop": both} {
		start, err := before.writes()
		must.Succeed(t, err)
		writes, err := changes.writes()
		must.Succeed(t, err)
		var old, want State
		old.Apply(before)
		want.Apply(before)
		want.Apply(changes)
		for n := range len(writes) + 1 {
			all := partitions{}
			for _, some := range [][]write{start, writes[:n]} {
				if _, err := all.write("pk", some, nil); err != nil {
					t.Fatal(err)
				}
			}
			got, err := stateOf(all.read("pk", ""))
			must.Succeed(t, err)
			for _, fault := range faults(got, old, want, changes) {
				t.Errorf("%s: after %d of %d writes %s", name, n, len(writes), fault)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); n == len(writes) && diff != "" {
				t.Errorf("%s: after all writes (-want +got):\n%s", name, diff)
			}
		}
	}
}

// faults lists what a partly written state must not show.
func faults(got, old, want State, changes Changes) (out []string) {
	fault := func(bad bool, what string) {
		if bad {
			out = append(out, what)
		}
	}
	newFindings := 0
	for _, f := range changes.Put.Findings {
		_, isOld := got.Findings[roll.FindingKey{Instance: f.Instance, Kind: roll.Unknown}]
		_, isNew := got.Findings[f.Key()]
		fault(!isOld && !isNew, fmt.Sprintf("%s is in no finding", f.Instance))
		if !isNew {
			continue
		}
		newFindings++
		_, notReady := got.NotReady[f.Instance]
		_, remediate := got.RemediateSince[f.Group]
		_, missing := got.Missing["i-1"]
		fault(!notReady || !remediate || missing || len(got.Flips[f.Instance]) == 0 || len(got.Pressures) == 0, "a finding is there without what it rests on, or what holds it back")
		fault(want.Trouble != nil && !cmp.Equal(got.Trouble, want.Trouble), "a finding is there without the trouble")
	}
	all := newFindings == len(changes.Put.Findings)
	_, told := got.Notices[NoticeKey{Group: "asg/w", Kind: roll.NotReady}]
	fault(told && !all, "a notice is there without its finding")
	checked := got.Checked.Equal(want.Checked)
	fault(checked && !all, "what was found is taken for what was in order")
	fault(len(got.Findings) < len(old.Findings)+newFindings && !checked, "findings are dropped before it is known that the rest was in order")
	good := got.Groups["asg/w"].Good.Equal(noon)
	fault(good && (!checked || len(got.Findings) != newFindings), "the replacement counts before the rest is there")
	wiped := want
	wiped.Trouble = nil
	fault(got.Trouble == nil && !cmp.Equal(got, wiped, cmpopts.EquateEmpty()), "the trouble is forgotten before the rest is there")
	return out
}
