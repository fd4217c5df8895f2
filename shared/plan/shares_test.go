package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
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

// doubted is a symptom that something suggested or unread may explain.
func doubted(c roll.Cause) roll.Cause {
	c = shows(perhaps(c))
	c.Shown = true
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
		{"it is suggested after one of the instance alone", []roll.Cause{panics, perhaps(role)}, []roll.Cause{role}, nil, "2 instances have, or may have, the cause NodeRoleNotMapped"},
		{"two with the same role", []roll.Cause{role}, []roll.Cause{role}, nil, "2 instances have the cause NodeRoleNotMapped"},
		{"two with other roles", []roll.Cause{role}, []roll.Cause{lies("NodeRoleNotMapped", "role/y")}, nil, ""},
		{"the other only perhaps, since less could be read of it", []roll.Cause{role}, []roll.Cause{perhaps(role)}, nil, "2 instances have, or may have, the cause NodeRoleNotMapped"},
		{"only perhaps, and the other has it", []roll.Cause{perhaps(role)}, []roll.Cause{role}, nil, "2 instances have, or may have, the cause NodeRoleNotMapped"},
		{"the other perhaps with another role", []roll.Cause{role}, []roll.Cause{perhaps(lies("NodeRoleNotMapped", "role/y"))}, nil, ""},
		{"both only perhaps", []roll.Cause{perhaps(role)}, []roll.Cause{perhaps(role)}, nil, ""},
		{"in the instances themselves", []roll.Cause{panics}, []roll.Cause{panics}, nil, ""},
		{"it is told second of both", []roll.Cause{role, subnet}, []roll.Cause{lies("NodeRoleNotMapped", "role/y"), subnet}, nil, "SubnetIpsExhausted"},
		{"it is told after one of the instance alone", []roll.Cause{panics, subnet}, []roll.Cause{subnet}, nil, "SubnetIpsExhausted"},
		{"it only shows, and nothing explains it", []roll.Cause{group}, []roll.Cause{panics, group}, nil, "NodeGroupUnhealthy"},
		{"it only shows, and something else may explain it", []roll.Cause{perhaps(role), doubted(group)}, []roll.Cause{doubted(group)}, nil, "NodeGroupUnhealthy"},
		{"it only shows what is explained, and may be explained there", []roll.Cause{panics, group}, []roll.Cause{doubted(group)}, nil, ""},
		{"it only shows what is explained", []roll.Cause{panics, group}, []roll.Cause{group}, nil, ""},
		{"another of the group has it, and here it was not looked for", nil, []roll.Cause{role}, []string{"X", "NodeRoleNotMapped"}, "has the cause NodeRoleNotMapped (role/x), which could not be checked"},
		{"another of the group perhaps has it", nil, []roll.Cause{perhaps(role)}, []string{"NodeRoleNotMapped"}, ""},
		{"what was not looked for lies in the other alone", nil, []roll.Cause{panics}, []string{"KernelPanic"}, ""},
		{"it has another cause, and one was not looked for", []roll.Cause{panics}, []roll.Cause{role}, []string{"NodeRoleNotMapped"}, "group asg/w"},
	}
	mine := roll.Finding{Instance: instanceID(1), Kind: roll.Unregistered, Group: "asg/w", Stage: roll.Overdue}
	other := roll.Finding{Instance: instanceID(2), Kind: roll.Unregistered, Group: "asg/w", Stage: roll.Overdue}
	for _, tt := range tests {
		own := diagnosis(tt.mine, tt.unchecked)
		s := sharesOf([]roll.Finding{mine, other}, map[roll.FindingKey]roll.Diagnosis{mine.Key(): own, other.Key(): diagnosis(tt.other, nil)}, nil, nil)
		got := s.objects(mine, own)
		if (got != nil) != (tt.want != "") || got != nil && !strings.Contains(got.Detail, tt.want) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
}

// A cause that could not be checked in an instance counts as that of another instance with the same
// group, launch template version, instance profile or subnet. One instance shares nothing with
// itself.
func TestWhatIsNotKnownOfASiblingCountsAsItsCause(t *testing.T) {
	role := lies("NodeRoleNotMapped", "role/x")
	instance := func(n int, change func(*roll.Instance)) *roll.Instance {
		i := &roll.Instance{ID: instanceID(n), LaunchTemplate: fmt.Sprint("lt-1:", n), Profile: fmt.Sprint("profile/", n), Subnet: fmt.Sprint("subnet-", n)}
		change(i)
		return i
	}
	alike := func(*roll.Instance) {}
	for name, tt := range map[string]struct {
		other roll.Finding
		ties  func(*roll.Instance) // of the other
		want  string
	}{
		"of its group":                              {roll.Finding{Instance: instanceID(2), Kind: roll.Unknown, Group: "asg/w"}, alike, "group asg/w"},
		"of its group, of another kind":             {roll.Finding{Instance: instanceID(2), Kind: roll.Impaired, Group: "asg/w"}, alike, "group asg/w"},
		"of another group":                          {roll.Finding{Instance: instanceID(2), Kind: roll.Unknown, Group: "asg/v"}, alike, ""},
		"of another group and its template version": {roll.Finding{Instance: instanceID(2), Kind: roll.Unknown, Group: "asg/v"}, func(i *roll.Instance) { i.LaunchTemplate = "lt-1:1" }, "launch template lt-1:1"},
		"of another group and its profile":          {roll.Finding{Instance: instanceID(2), Kind: roll.Unknown, Group: "asg/v"}, func(i *roll.Instance) { i.Profile = "profile/1" }, "instance profile profile/1"},
		"of another group and its subnet":           {roll.Finding{Instance: instanceID(2), Kind: roll.Unknown, Group: "asg/v"}, func(i *roll.Instance) { i.Subnet = "subnet-1" }, "subnet subnet-1"},
		"of no group and its subnet":                {roll.Finding{Instance: instanceID(2), Kind: roll.Unknown, Group: roll.GroupNone}, func(i *roll.Instance) { i.Subnet = "subnet-1" }, "subnet subnet-1"},
		"of no group":                               {roll.Finding{Instance: instanceID(2), Kind: roll.Unknown, Group: roll.GroupNone}, alike, ""},
		"its own other finding":                     {roll.Finding{Instance: instanceID(1), Kind: roll.Impaired, Group: "asg/w"}, alike, ""},
	} {
		mine := roll.Finding{Instance: instanceID(1), Kind: roll.Unknown, Group: "asg/w", Stage: roll.Overdue}
		if name == "of no group" {
			mine.Group = roll.GroupNone
		}
		other := tt.other
		other.Stage = roll.Overdue
		instances := map[roll.InstanceID]*roll.Instance{instanceID(1): instance(1, alike)}
		if other.Instance != mine.Instance {
			instances[other.Instance] = instance(2, tt.ties)
		}
		has, open := diagnosis([]roll.Cause{role}, nil), diagnosis(nil, []string{role.Code})
		for _, each := range []struct {
			what         string
			mine, others roll.Diagnosis
		}{{"it has it", has, open}, {"the other has it", open, has}} {
			s := sharesOf([]roll.Finding{mine, other}, map[roll.FindingKey]roll.Diagnosis{mine.Key(): each.mine, other.Key(): each.others}, instances, nil)
			if got := s.objects(mine, each.mine); (got != nil) != (tt.want != "") || got != nil && !strings.Contains(got.Detail, tt.want) {
				t.Errorf("%s, %s: %+v, want %q", name, each.what, got, tt.want)
			}
		}
		other.Stage = roll.Watching // within its tolerance
		s := sharesOf([]roll.Finding{mine, other}, map[roll.FindingKey]roll.Diagnosis{mine.Key(): has, other.Key(): open}, instances, nil)
		if got := s.objects(mine, has); got != nil {
			t.Errorf("%s, which still has its time: %+v", name, got)
		}
		// An instance that could not be judged has no finding.
		if other.Instance == mine.Instance {
			continue
		}
		i := instances[other.Instance]
		i.Group = other.Group
		s = sharesOf([]roll.Finding{mine}, map[roll.FindingKey]roll.Diagnosis{mine.Key(): has}, instances, []*roll.Instance{i})
		if got := s.objects(mine, has); (got != nil) != (tt.want != "") || got != nil && !strings.Contains(got.Detail, tt.want) {
			t.Errorf("%s, and not judged: %+v, want %q", name, got, tt.want)
		}
		panics := diagnosis([]roll.Cause{lies("KernelPanic", "")}, nil)
		s = sharesOf([]roll.Finding{mine}, map[roll.FindingKey]roll.Diagnosis{mine.Key(): panics}, instances, []*roll.Instance{i})
		got := s.objects(mine, panics)
		expect.That(t, got == nil, "%s, not judged, and the cause lies in the instance: %+v", name, got)
	}
}

// A sibling without a finding must not permit an act on the other one.
func TestASiblingThatCouldNotBeJudgedHolds(t *testing.T) {
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unregistered}
	// bare is an instance without a group whose user data is unreadable.
	bare := func(w *world, subnet string) {
		i := w.unregistered(2, 40*time.Minute)
		i.ASG, i.Group, i.Owner, i.Subnet = "", roll.GroupNone, roll.OwnerNone, subnet
		w.snapshot.Details[i.ID] = roll.Detail{Bootstraps: roll.Unreadable}
	}
	for name, tt := range map[string]struct {
		spoil func(*world)
		want  []Reason // nil means an order
	}{
		"one alone":                   {func(*world) {}, nil},
		"one beside it that was read": {func(w *world) { w.unregistered(2, 40*time.Minute) }, []Reason{UnhealthyShare, UnhealthyShare}},
		"unread in its subnet":        {func(w *world) { bare(w, "subnet-1") }, []Reason{SharedCause}},
		"unread in another subnet":    {func(w *world) { bare(w, "subnet-2") }, nil},
		"unread in its group": {func(w *world) {
			i := w.unregistered(2, 40*time.Minute)
			d := w.snapshot.Details[i.ID]
			d.Bootstraps = roll.Unreadable
			w.snapshot.Details[i.ID] = d
			w.unchecked = map[roll.FindingKey][]string{{Instance: i.ID, Kind: roll.Unregistered}: {"UserDataEmpty", "NodeRoleNotMapped"}}
		}, []Reason{SharedCause, SharedCause}},
		"kept, since its status was not read": {func(w *world) {
			w.add(2, 0)
			w.remembered(2, roll.Impaired, now.Add(-time.Hour))
			w.snapshot.StatusRead = roll.Unreadable
		}, []Reason{SharedCause}},
	} {
		w := newWorld()
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unregistered: [{do: terminate}]}\nlimits: {actionsPerCheck: 5}\n")
		w.unregistered(1, 40*time.Minute).Subnet = "subnet-1"
		w.causes = map[roll.FindingKey][]roll.Cause{key: {lies("NodeRoleNotMapped", "role/x")}}
		tt.spoil(w)
		a, p := w.make(now)
		if got := reasons(p); tt.want == nil && len(p.Orders) == 0 || tt.want != nil && (len(p.Orders) != 0 || !slices.Equal(got, tt.want)) {
			t.Errorf("%s: %d orders, held for %v, want %v; unjudged %v", name, len(p.Orders), got, tt.want, a.Unjudged)
		}
	}
}

// If only others of its group are evidence that an instance should be a node, it is a finding, but
// no act is allowed: nothing about the instance itself could confirm it before the act.
func TestWhatOnlySiblingsShowIsHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		detail roll.Detail
		gap    roll.GapKind
		want   Reason
		says   string
	}{
		"its user data cannot be read":   {roll.Detail{Bootstraps: roll.Unreadable}, "", NoNodeIntent, "could not be read"},
		"may not be read":                {roll.Detail{Bootstraps: roll.Unreadable}, roll.GapDenied, NoNodeIntent, "could not be read"},
		"was not read in this check":     {roll.Detail{Bootstraps: roll.Unreadable}, roll.GapThrottled, NotReadYet, "could not be read"},
		"computes the name of a cluster": {roll.Detail{Bootstraps: roll.Unreadable, BootstrapsUnnamed: true}, "", NoNodeIntent, "computes"},
		"bootstraps nothing":             {roll.Detail{Bootstraps: roll.No}, "", NoNodeIntent, "bootstraps none"},
	} {
		w := newWorld()
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unregistered: [{do: terminate}]}\nlimits: {actionsPerCheck: 5}\n")
		w.unregistered(1, 40*time.Minute).Ignore = true
		w.unregistered(2, 40*time.Minute)
		d := w.snapshot.Details[instanceID(2)]
		d.Bootstraps, d.BootstrapsUnnamed = tt.detail.Bootstraps, tt.detail.BootstrapsUnnamed
		w.snapshot.Details[instanceID(2)] = d
		if tt.gap != "" {
			w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeDetail, Kind: tt.gap, Call: roll.CallInstanceAttribute}}
		}
		_, p := w.make(now)
		got := reasons(p)
		expect.That(t, len(p.Orders) == 0 && slices.Equal(got, []Reason{InstanceIgnored, tt.want}), "%s: orders %+v, held for %v, want %s", name, p.Orders, got, tt.want)
		expect.That(t, strings.Contains(p.Held[1].Detail, tt.says), "%s: %s", name, p.Held[1].Detail)
	}
}

// User data and console output are read for a sample only. The others of the group are not
// terminated for that.
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
	got := reasons(p)
	expect.That(t, len(p.Orders) == 0 && slices.Equal(got, []Reason{SharedCause, SharedCause, SharedCause, SharedCause}), "orders %+v, held for %v", p.Orders, got)
}

// A cause that shows only after the reboot, such as a status check that fails while the system
// starts, must not shorten the time after the reboot.
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

// If nothing happened, the cause decides.
func TestACauseFoundAfterARebootThatFailedDecides(t *testing.T) {
	w := sick()
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}, {do: reboot, once: true}, {do: terminate, after: 10m}]}\n")
	_, p := w.make(now)
	w.did(t, p, now, &ledger.Outcome{Result: ledger.Failed, At: now, Detail: "refused"})
	w.because("SystemStatusImpaired", roll.Decisive, roll.CureReplace, "")
	_, p = w.make(now.Add(time.Minute))
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Action == Terminate, "orders %+v, held for %v", p.Orders, reasons(p))
}

// A stopped instance may be started again. For its Node the policy of its owner applies, and the
// owner that its tags name. What a person put on the Node, or suspended so that the group leaves the
// instance stopped, would be lost with it.
func TestTheNodeOfAStoppedInstanceIsItsOwners(t *testing.T) {
	node := func(change func(*roll.Node)) func(*world) { return func(w *world) { change(&w.snapshot.Nodes[0]) } }
	tests := map[string]struct {
		spoil func(*world)
		want  Reason // "" is an order
	}{
		"nothing is known": {func(*world) {}, ""},
		"its owner is only told of": {func(w *world) {
			i := &w.snapshot.Instances[0]
			i.Owner, i.Group, i.ASG = roll.OwnerNone, roll.GroupNone, ""
		}, OwnerNotifyOnly},
		"only a node names it":        {func(w *world) { w.snapshot.Instances[0].Unclaimed = true }, NotClaimed},
		"a person cordoned it":        {node(func(n *roll.Node) { n.Unschedulable = true }), NodeHeld},
		"Rollcall cordoned it":        {node(func(n *roll.Node) { n.Unschedulable, n.CordonedBy = true, "o-1" }), ""},
		"a person keeps its node":     {node(func(n *roll.Node) { n.DoNotRepair = true }), NodeHeld},
		"its group replaces nothing":  {func(w *world) { w.suspend(func(g *roll.GroupDetail) { g.ReplaceSuspended = roll.Yes }) }, GroupSuspended},
		"nobody knows what it does":   {func(w *world) { w.suspend(func(g *roll.GroupDetail) { g.ReplaceSuspended = roll.Unreadable }) }, OwnerUnknown},
		"its group's launches failed": {func(w *world) { w.suspend(func(g *roll.GroupDetail) { g.LaunchFailed = now }) }, ""},
	}
	for name, tt := range tests {
		w := sick()
		w.snapshot.Instances[0].State = roll.StateStopped
		tt.spoil(w)
		_, p := w.make(now)
		if got := reasons(p); tt.want == "" && len(p.Orders) != 1 || tt.want != "" && (len(p.Orders) != 0 || !slices.Equal(got, []Reason{tt.want})) {
			t.Errorf("%s: orders %+v, held for %v, want %s", name, p.Orders, got, tt.want)
		}
	}
}

func (w *world) suspend(change func(*roll.GroupDetail)) {
	g := w.snapshot.Groups["asg/w"]
	change(&g)
	w.snapshot.Groups["asg/w"] = g
}

func TestAPairNamesAnotherInstance(t *testing.T) {
	for _, added := range [][]int{{1, 2}, {2, 1}, {1, 1, 2}, {2, 1, 1}, {1, 2, 3}} {
		var p pair
		for _, n := range added {
			p.add(instanceID(n))
		}
		for _, n := range []int{1, 2} {
			other := p.but(instanceID(n))
			expect.That(t, other != "" && other != instanceID(n), "after %v: beside %d it names %q", added, n, other)
		}
	}
}
