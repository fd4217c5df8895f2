package assess_test

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const sibling = roll.InstanceID("i-0000000000000000b")

// The evidence of one instance's own user data also counts for its siblings, even if nothing of
// theirs can be read.
func TestIntentIsInheritedFromASibling(t *testing.T) {
	shown := worker(id, time.Hour)
	shown.LaunchTemplate = "lt-1:3"
	bare := func(template string) roll.Instance {
		return roll.Instance{ID: sibling, State: roll.StateRunning, Launched: now.Add(-time.Hour), LaunchTemplate: template, Owner: roll.OwnerNone, Group: roll.GroupNone}
	}
	other := worker(sibling, time.Hour)
	other.ASG, other.Group = "v", "asg/v"
	unreadable, none := roll.Detail{Bootstraps: roll.Unreadable}, roll.Detail{Bootstraps: roll.No}
	for name, tt := range map[string]struct {
		sibling roll.Instance
		detail  roll.Detail
		want    bool
	}{
		"of its Auto Scaling group, unreadable":             {worker(sibling, time.Hour), unreadable, true},
		"of its Auto Scaling group, without user data":      {worker(sibling, time.Hour), none, true},
		"of its Auto Scaling group, for another cluster":    {worker(sibling, time.Hour), roll.Detail{Bootstraps: roll.No, OtherCluster: "other"}, false},
		"of another Auto Scaling group, unreadable":         {other, unreadable, false},
		"of its launch template version, unreadable":        {bare("lt-1:3"), unreadable, true},
		"of another version of its template, unreadable":    {bare("lt-1:4"), unreadable, false},
		"of nothing that it has in common with, unreadable": {bare(""), unreadable, false},
	} {
		s := snapshot([]roll.Instance{shown, tt.sibling}, nil)
		s.Details[id], s.Details[sibling] = roll.Detail{Bootstraps: roll.Yes}, tt.detail
		a := judge(s, ledger.State{})
		got := len(a.Findings) == 2
		expect.That(t, got == tt.want && a.Inherited[sibling] == tt.want && !a.Inherited[id], "%s: found %v, inherited %v, want %v", name, got, a.Inherited, tt.want)
	}
}

// An instance's own user data is stronger evidence than that of its siblings.
func TestWhatShowsItsIntentInheritsNone(t *testing.T) {
	s := snapshot([]roll.Instance{worker(id, time.Hour), worker(sibling, time.Hour)}, nil)
	s.Details[id], s.Details[sibling] = roll.Detail{Bootstraps: roll.Yes}, roll.Detail{Bootstraps: roll.Yes}
	a := judge(s, ledger.State{})
	expect.That(t, len(a.Findings) == 2 && len(a.Inherited) == 0 && len(a.Unjudged) == 0, "found %+v, inherited %v, unjudged %v", a.Findings, a.Inherited, a.Unjudged)
}

// An instance that could not be judged counts against acts on instances with which it shares
// something, once it would be overdue, and against no others.
func TestWhatCouldNotBeJudgedCountsAsOverdueBesideItsLike(t *testing.T) {
	const deadline = 15 * time.Minute
	tied := func(change func(*roll.Instance)) roll.Instance {
		i := roll.Instance{ID: sibling, State: roll.StateRunning, Launched: now.Add(-time.Hour), Owner: roll.OwnerNone, Group: roll.GroupNone}
		change(&i)
		return i
	}
	unreadable := roll.Detail{Bootstraps: roll.Unreadable}
	for name, tt := range map[string]struct {
		unread  roll.Instance
		detail  roll.Detail
		overdue int // with the finding itself
		listed  bool
	}{
		"the same subnet":                                  {tied(func(i *roll.Instance) { i.Subnet = "subnet-1" }), unreadable, 2, true},
		"the same instance profile":                        {tied(func(i *roll.Instance) { i.Profile = "profile/nodes" }), unreadable, 2, true},
		"the same launch template":                         {tied(func(i *roll.Instance) { i.LaunchTemplate = "lt-1:3" }), unreadable, 2, true},
		"another version of the template":                  {tied(func(i *roll.Instance) { i.LaunchTemplate = "lt-1:4" }), unreadable, 1, true},
		"nothing, such as a bastion":                       {tied(func(i *roll.Instance) { i.Subnet, i.Profile = "subnet-2", "profile/bastion" }), unreadable, 1, true},
		"nothing that is known":                            {tied(func(*roll.Instance) {}), unreadable, 1, true},
		"the subnet, and its user data says no":            {tied(func(i *roll.Instance) { i.Subnet = "subnet-1" }), roll.Detail{Bootstraps: roll.No}, 1, false},
		"the subnet, a nanosecond before its time is over": {tied(func(i *roll.Instance) { i.Subnet, i.Launched = "subnet-1", now.Add(time.Nanosecond-deadline) }), unreadable, 1, true},
		"the subnet, as its time is over":                  {tied(func(i *roll.Instance) { i.Subnet, i.Launched = "subnet-1", now.Add(-deadline) }), unreadable, 2, true},
		"the subnet, too young to be asked about":          {tied(func(i *roll.Instance) { i.Subnet, i.Launched = "subnet-1", now.Add(-time.Minute) }), unreadable, 1, false},
	} {
		sick := poolWorker(id, time.Hour)
		sick.Subnet, sick.Profile, sick.LaunchTemplate = "subnet-1", "profile/nodes", "lt-1:3"
		s := snapshot([]roll.Instance{sick, tt.unread}, nil)
		s.Details[sick.ID] = roll.Detail{HasNodeClaim: roll.Yes}
		s.Details[sibling] = tt.detail
		a := judge(s, ledger.State{})
		c := a.Count[""]
		expect.That(t, c.Overdue == tt.overdue && c.Nodes == tt.overdue, "%s: %+v, want %d overdue", name, c, tt.overdue)
		got := slices.Contains(a.Unjudged, sibling)
		expect.That(t, got == tt.listed && len(a.Findings) == 1, "%s: unjudged %v, found %+v", name, a.Unjudged, a.Findings)
	}
}

// An instance whose state in its group is unreadable was not judged either.
func TestWhatMayRestIsUnjudged(t *testing.T) {
	for name, tt := range map[string]struct {
		detail roll.Detail
		rested bool
		want   int
	}{
		"nobody can tell":                        {roll.Detail{LifecycleRead: roll.Unreadable, Bootstraps: roll.Yes}, false, 1},
		"nobody can tell, and it rested":         {roll.Detail{LifecycleRead: roll.Unreadable, Bootstraps: roll.Yes}, true, 0},
		"nobody can tell, and it is no node":     {roll.Detail{LifecycleRead: roll.Unreadable, Bootstraps: roll.No}, false, 0},
		"it rests":                               {roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "Standby"}, false, 0},
		"it is in service, and nothing is known": {roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "InService", Bootstraps: roll.Unreadable}, false, 1},
	} {
		s := snapshot([]roll.Instance{worker(id, time.Hour)}, nil)
		s.Details[id] = tt.detail
		state := ledger.State{}
		if tt.rested {
			state.Rests = map[roll.InstanceID]ledger.Rest{id: {}}
		}
		a := judge(s, state)
		expect.That(t, len(a.Unjudged) == tt.want && len(a.Findings) == 0, "%s: unjudged %v, found %+v", name, a.Unjudged, a.Findings)
	}
}

// A check that could not judge an instance without a Node does not show that it was in order. What the
// next check finds may have begun before, however often that was unreadable.
func TestWhatCouldNotBeJudgedMayHaveBegunBefore(t *testing.T) {
	s := snapshot([]roll.Instance{worker(id, 48*time.Hour)}, nil)
	launched := s.Instances[0].Launched
	unread := roll.Detail{LifecycleRead: roll.Unreadable, Bootstraps: roll.Yes}
	s.Details[id] = unread
	a := judge(s, ledger.State{})
	must.That(t, len(a.Findings) == 0 && a.Doubts[id].Equal(launched), "found %+v, in doubt since %v", a.Findings, a.Doubts)
	state := ledger.State{Checked: now.Add(-5 * time.Minute), Doubts: a.Doubts}
	a = judge(s, state)
	expect.That(t, a.Doubts[id].Equal(launched), "it still cannot be judged: in doubt since %v", a.Doubts)
	s.Details[id] = roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "InService", Bootstraps: roll.Yes}
	a = judge(s, state)
	expect.That(t, len(a.Findings) == 1 && a.Findings[0].Since.Equal(state.Checked) && a.Findings[0].Perhaps.Equal(launched) && !a.Findings[0].Worked && a.Doubts[id].Equal(launched), "it is in service: %+v, in doubt since %v", a.Findings, a.Doubts)
	state.Doubts = nil
	a = judge(s, state)
	expect.That(t, len(a.Findings) == 1 && a.Findings[0].Perhaps.IsZero() && a.Findings[0].Worked && len(a.Doubts) == 0, "the last check judged it: %+v, in doubt since %v", a.Findings, a.Doubts)
	s.Details[id] = roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "Standby", Bootstraps: roll.Yes}
	a = judge(s, ledger.State{Doubts: map[roll.InstanceID]time.Time{id: launched}})
	expect.That(t, len(a.Doubts) == 0, "it is in Standby: in doubt since %v", a.Doubts)
}
