package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

func lies(code, subject string) roll.Cause {
	return roll.Cause{Code: code, Subject: subject, Confidence: roll.Decisive}
}

func perhaps(c roll.Cause) roll.Cause {
	c.Confidence = roll.Suggestive
	return c
}

func shows(c roll.Cause) roll.Cause {
	c.Symptom = true
	return c
}

func TestSharedCauses(t *testing.T) {
	role, subnet, panics := lies("NodeRoleNotMapped", "role/x"), lies("SubnetIpsExhausted", "subnet/x"), lies("KernelPanic", "")
	group := shows(lies("NodeGroupUnhealthy", "nodegroup/w"))
	tests := []struct {
		name      string
		mine      []roll.Cause
		other     []roll.Cause
		unchecked []string
		want      string // part of what is said, "" for nothing
	}{
		{"nobody knows why", nil, nil, nil, ""},
		{"one alone", []roll.Cause{role}, nil, nil, ""},
		{"two with the same role", []roll.Cause{role}, []roll.Cause{role}, nil, "2 instances have the cause NodeRoleNotMapped"},
		{"two with other roles", []roll.Cause{role}, []roll.Cause{lies("NodeRoleNotMapped", "role/y")}, nil, ""},
		{"the other only perhaps", []roll.Cause{role}, []roll.Cause{perhaps(role)}, nil, ""},
		{"both only perhaps", []roll.Cause{perhaps(role)}, []roll.Cause{perhaps(role)}, nil, ""},
		{"in the instances themselves", []roll.Cause{panics}, []roll.Cause{panics}, nil, ""},
		{"it is told second of both", []roll.Cause{role, subnet}, []roll.Cause{lies("NodeRoleNotMapped", "role/y"), subnet}, nil, "SubnetIpsExhausted"},
		{"it is told after one of the instance alone", []roll.Cause{panics, subnet}, []roll.Cause{subnet}, nil, "SubnetIpsExhausted"},
		{"it only shows, and nothing explains it", []roll.Cause{group}, []roll.Cause{panics, group}, nil, "NodeGroupUnhealthy"},
		{"it only shows what is explained", []roll.Cause{panics, group}, []roll.Cause{group}, nil, ""},
		{"another of the group has it, and here it was not looked for", nil, []roll.Cause{role}, []string{"X", "NodeRoleNotMapped"}, "others of asg/w have the cause NodeRoleNotMapped (role/x), which was not looked for"},
		{"another of the group perhaps has it", nil, []roll.Cause{perhaps(role)}, []string{"NodeRoleNotMapped"}, ""},
		{"what was not looked for lies in the other alone", nil, []roll.Cause{panics}, []string{"KernelPanic"}, ""},
		{"it has another cause, and one was not looked for", []roll.Cause{panics}, []roll.Cause{role}, []string{"NodeRoleNotMapped"}, "others of asg/w"},
	}
	mine := roll.Finding{Instance: instanceID(1), Kind: roll.Unregistered, Group: "asg/w"}
	other := roll.Finding{Instance: instanceID(2), Kind: roll.Unregistered, Group: "asg/w"}
	for _, tt := range tests {
		own := diagnosis(tt.mine, tt.unchecked)
		s := sharesOf([]roll.Finding{mine, other}, map[roll.FindingKey]roll.Diagnosis{mine.Key(): own, other.Key(): diagnosis(tt.other, nil)})
		got, held := s.object(mine, own)
		if held != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// One instance with two findings has no cause in common with itself, and a sample stands
// for findings of its own kind and group only.
func TestWhatACauseIsNotSharedWith(t *testing.T) {
	role := lies("NodeRoleNotMapped", "role/x")
	mine := roll.Finding{Instance: instanceID(1), Kind: roll.Unknown, Group: "asg/w"}
	for name, other := range map[string]roll.Finding{
		"its own other finding": {Instance: instanceID(1), Kind: roll.Impaired, Group: "asg/w"},
		"of another kind":       {Instance: instanceID(2), Kind: roll.Impaired, Group: "asg/w"},
		"of another group":      {Instance: instanceID(2), Kind: roll.Unknown, Group: "asg/v"},
	} {
		s := sharesOf([]roll.Finding{mine, other}, map[roll.FindingKey]roll.Diagnosis{other.Key(): diagnosis([]roll.Cause{role}, nil)})
		if text, held := s.object(mine, diagnosis(nil, []string{role.Code})); held {
			t.Errorf("%s: %s", name, text)
		}
	}
	none := roll.Finding{Instance: instanceID(1), Kind: roll.Unknown, Group: roll.GroupNone}
	other := roll.Finding{Instance: instanceID(2), Kind: roll.Unknown, Group: roll.GroupNone}
	s := sharesOf([]roll.Finding{none, other}, map[roll.FindingKey]roll.Diagnosis{other.Key(): diagnosis([]roll.Cause{role}, nil)})
	if text, held := s.object(none, diagnosis(nil, []string{role.Code})); held {
		t.Errorf("of no group: %s", text)
	}
}

// User data and console output are read of a sample only. The others of the group are
// not ended for that.
func TestWhatASampleHasInCommonHoldsTheOthersToo(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 40; n++ {
		w.add(n, 0)
	}
	w.causes, w.unchecked = map[roll.FindingKey][]roll.Cause{}, map[roll.FindingKey][]string{}
	for n := 1; n <= 4; n++ {
		w.silent(n, 2*time.Hour+time.Duration(n)*20*time.Minute)
		key := roll.FindingKey{Instance: instanceID(n), Kind: roll.Unknown}
		if n <= 3 {
			w.causes[key] = []roll.Cause{lies("AmiWithoutKubernetes", "ami/x")}
		} else {
			w.unchecked[key] = []string{"AmiWithoutKubernetes"}
		}
	}
	_, p := w.make(now)
	if got := reasons(p); len(p.Orders) != 0 || !slices.Equal(got, []Reason{SharedCause, SharedCause, SharedCause, SharedCause}) {
		t.Errorf("orders %+v, held for %v", p.Orders, got)
	}
}

// A cause that shows only after the reboot, such as a status check that fails while the
// system starts, must not cut the time short that the reboot is given.
func TestACauseFoundAfterTheRebootDoesNotCutItsTimeShort(t *testing.T) {
	w := sick()
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}, {do: reboot, once: true}, {do: terminate, after: 10m}]}\n")
	_, p := w.make(now)
	w.did(t, p, now, &ledger.Outcome{Result: ledger.Done, At: now})
	w.because("InstanceStatusImpaired", roll.Decisive, roll.CureReplace, "")
	for after, want := range map[time.Duration]int{time.Minute: 0, 9 * time.Minute: 0, 10 * time.Minute: 1} {
		_, p := w.make(now.Add(after))
		if len(p.Orders) != want || want == 1 && p.Orders[0].Action != Terminate {
			t.Errorf("%s after the reboot: orders %+v, held for %v", after, p.Orders, reasons(p))
		}
	}
}

// That nothing happened leaves the cause to decide.
func TestACauseFoundAfterARebootThatFailedDecides(t *testing.T) {
	w := sick()
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}, {do: reboot, once: true}, {do: terminate, after: 10m}]}\n")
	_, p := w.make(now)
	w.did(t, p, now, &ledger.Outcome{Result: ledger.Failed, At: now, Detail: "refused"})
	w.because("SystemStatusImpaired", roll.Decisive, roll.CureReplace, "")
	if _, p = w.make(now.Add(time.Minute)); len(p.Orders) != 1 || p.Orders[0].Action != Terminate {
		t.Errorf("orders %+v, held for %v", p.Orders, reasons(p))
	}
}

// What is only stopped may be started again: to its Node happens what the policy allows
// to happen to what its owner has, and what its tags say of whose it is counts.
func TestTheNodeOfAStoppedInstanceIsItsOwners(t *testing.T) {
	tests := map[string]struct {
		spoil func(*roll.Instance)
		want  Reason
	}{
		"its owner is only told of": {func(i *roll.Instance) { i.Owner, i.Group, i.ASG = roll.OwnerNone, roll.GroupNone, "" }, OwnerNotifyOnly},
		"only a node names it":      {func(i *roll.Instance) { i.Unclaimed = true }, NotClaimed},
	}
	for name, tt := range tests {
		w := sick()
		w.snapshot.Instances[0].State = roll.StateStopped
		tt.spoil(&w.snapshot.Instances[0])
		_, p := w.make(now)
		if got := reasons(p); len(p.Orders) != 0 || !slices.Equal(got, []Reason{tt.want}) {
			t.Errorf("%s: orders %+v, held for %v, want %s", name, p.Orders, got, tt.want)
		}
	}
}
