package assess_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// registered returns an instance of the group asg/w and its Ready node, with the given age of the
// node and time to register.
func registered(n int, created, took time.Duration) (roll.Instance, roll.Node) {
	of := roll.InstanceID(fmt.Sprintf("i-%017x", n))
	i, nn := worker(of, created+took), node(of, roll.ConditionTrue, 2*time.Hour)
	nn.Name, nn.Created, nn.Ready.Since = fmt.Sprintf("node-%d", n), ago(created), ago(created-time.Second)
	return i, nn
}

func TestWhatCountsAsARegistration(t *testing.T) {
	const took = 90 * time.Second
	checked := ago(10 * time.Minute)
	tests := []struct {
		name    string
		created time.Duration
		change  func(*roll.Instance, *roll.Node, *roll.Snapshot, *ledger.State)
		counted bool
		metric  bool
	}{
		{"new", 5 * time.Minute, nil, true, true},
		{"created when the memory was counted to", 20 * time.Minute, nil, false, false},
		{"created a second later", 20*time.Minute - time.Second, nil, true, false},
		{"created at the last check", 10 * time.Minute, nil, true, false},
		{"created a second after the last check", 10*time.Minute - time.Second, nil, true, true},
		{"not ready yet", 5 * time.Minute, func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot, _ *ledger.State) {
			n.Ready.Status = roll.ConditionFalse
		}, true, true},
		{"the instance was started again", 5 * time.Minute, func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot, _ *ledger.State) {
			i.Launched = n.Created.Add(time.Second)
		}, false, false},
		{"the instance rested", 5 * time.Minute, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot, s *ledger.State) {
			s.Rests = map[roll.InstanceID]ledger.Rest{i.ID: {Left: ago(6 * time.Minute)}}
		}, false, false},
		{"its instance had a node at the last check", 5 * time.Minute, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot, s *ledger.State) {
			i.Launched = s.Checked.Add(-15 * time.Minute)
		}, false, false},
		{"its instance still had time at the last check", 5 * time.Minute, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot, s *ledger.State) {
			i.Launched = s.Checked.Add(-15*time.Minute + time.Second)
		}, true, true},
		{"its instance was late at the last check", 5 * time.Minute, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot, s *ledger.State) {
			i.Launched = s.Checked.Add(-time.Hour)
			s.Findings = map[roll.FindingKey]ledger.Finding{{Instance: i.ID, Kind: roll.Unregistered}: {}}
		}, true, true},
		{"the first check of the cluster", 5 * time.Minute, func(_ *roll.Instance, _ *roll.Node, _ *roll.Snapshot, s *ledger.State) {
			s.Checked, s.Groups = time.Time{}, nil
		}, true, false},
		{"not all instances were read", 5 * time.Minute, func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot, _ *ledger.State) {
			s.Gaps = []roll.Gap{{Scope: roll.ScopeInstances}}
		}, false, false},
		{"not all nodes were read", 5 * time.Minute, func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot, _ *ledger.State) {
			s.Gaps = []roll.Gap{{Scope: roll.ScopeNodes}}
		}, false, false},
		{"a look at one instance", 5 * time.Minute, func(i *roll.Instance, _ *roll.Node, s *roll.Snapshot, _ *ledger.State) { s.Target = i.ID }, false, false},
		{"created in the future: clocks differ", -time.Second, nil, false, false},
	}
	for _, tt := range tests {
		i, n := registered(1, tt.created, took)
		s := snapshot(nil, nil)
		state := ledger.State{Checked: checked, Groups: map[roll.Group]ledger.GroupMemory{"asg/w": {Counted: ago(20 * time.Minute), Good: ago(time.Minute)}}}
		if tt.change != nil {
			tt.change(&i, &n, s, &state)
		}
		s.Instances, s.Nodes = []roll.Instance{i}, []roll.Node{n}
		a := judge(s, state)
		want := int(n.Created.Sub(i.Launched) / time.Second)
		got := a.Groups["asg/w"].Seconds
		expect.That(t, tt.counted == slices.Equal(got, []int{want}), "%s: remembered %v", tt.name, got)
		expect.That(t, tt.metric == slices.Equal(a.NewRegistrations, []time.Duration{time.Duration(want) * time.Second}), "%s: new %v", tt.name, a.NewRegistrations)
	}
}

func TestTheLatestRegistrationsAreKept(t *testing.T) {
	const before = 100 // samples in the ledger, of 1 s each
	memory := ledger.GroupMemory{Counted: ago(time.Hour), Good: ago(2 * time.Hour)}
	for range before {
		memory.Seconds = append(memory.Seconds, 1)
	}
	state := ledger.State{Checked: ago(30 * time.Minute), Groups: map[roll.Group]ledger.GroupMemory{"asg/w": memory, "asg/idle": {Seconds: []int{7}}}}
	for _, fresh := range []int{0, 1, ledger.RegistrationSamples - before, ledger.RegistrationSamples - before + 1, ledger.RegistrationSamples, 3 * ledger.RegistrationSamples} {
		s := snapshot(nil, nil)
		for n := range fresh { // the nth was created n seconds ago, and took 1000-n seconds
			i, nn := registered(n, time.Duration(n)*time.Second, time.Duration(1000-n)*time.Second)
			s.Instances, s.Nodes = append(s.Instances, i), append(s.Nodes, nn)
		}
		a := judge(s, state)
		if fresh == 0 {
			expect.That(t, len(a.Groups) == 0, "nothing is new: %+v", a.Groups)
			continue
		}
		got := a.Groups["asg/w"]
		var want []int
		for range before {
			want = append(want, 1)
		}
		for n := fresh - 1; n >= 0; n-- {
			want = append(want, 1000-n)
		}
		want = want[max(0, len(want)-ledger.RegistrationSamples):]
		expect.Same(t, got.Seconds, want, "%d new nodes: remembered", fresh)
		expect.That(t, got.Counted.Equal(now) && len(a.NewRegistrations) == fresh && slices.IsSorted(a.NewRegistrations), "%d new nodes: counted to %s, %d new", fresh, got.Counted, len(a.NewRegistrations))
		_, changed := a.Groups["asg/idle"]
		expect.That(t, !changed, "a group in which nothing happened is to be remembered anew")
		expect.That(t, a.Registration["asg/w"].Count == len(want) && a.Registration["asg/idle"] == (assess.RegistrationTimes{Count: 1, P50: 7 * time.Second, P95: 7 * time.Second, P99: 7 * time.Second}), "%d new nodes: sums %+v", fresh, a.Registration)
	}
}

func TestRegistrationTimesByRank(t *testing.T) {
	upTo := func(n int) (seconds []int) {
		for s := range n {
			seconds = append(seconds, n-s)
		}
		return seconds
	}
	for n, want := range map[int][3]int{1: {1, 1, 1}, 2: {1, 2, 2}, 3: {2, 3, 3}, 20: {10, 19, 20}, 100: {50, 95, 99}, 101: {51, 96, 100}, 256: {128, 244, 254}} {
		a := judge(snapshot(nil, nil), ledger.State{Groups: map[roll.Group]ledger.GroupMemory{"asg/w": {Seconds: upTo(n)}}})
		got := a.Registration["asg/w"]
		expect.That(t, got.Count == n && got.P50 == time.Duration(want[0])*time.Second && got.P95 == time.Duration(want[1])*time.Second && got.P99 == time.Duration(want[2])*time.Second, "of %d: %+v, want %v", n, got, want)
	}
	a := judge(snapshot(nil, nil), ledger.State{Groups: map[roll.Group]ledger.GroupMemory{"asg/w": {Good: now}}})
	expect.That(t, len(a.Registration) == 0, "of none: %+v", a.Registration)
}

// Good shows that a replacement works. A node that is Ready but not initialized does not count, nor
// does an old node whose instance was started again.
func TestTheLatestLaunchThatWorks(t *testing.T) {
	tests := []struct {
		name   string
		change func(*roll.Instance, *roll.Node)
		good   bool
		proven bool
	}{
		{"Ready", func(*roll.Instance, *roll.Node) {}, true, false},
		{"Ready for almost an hour", func(i *roll.Instance, n *roll.Node) {
			i.Launched, n.Created, n.Ready.Since = ago(62*time.Minute), ago(61*time.Minute), ago(time.Hour-time.Second)
		}, false, false},
		{"Ready for an hour", func(i *roll.Instance, n *roll.Node) {
			i.Launched, n.Created, n.Ready.Since = ago(62*time.Minute), ago(61*time.Minute), ago(time.Hour)
		}, false, true},
		{"Ready for an hour with a startup taint", func(i *roll.Instance, n *roll.Node) {
			i.Launched, n.Created, n.Ready.Since = ago(62*time.Minute), ago(61*time.Minute), ago(time.Hour)
			n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
		}, false, false},
		{"not ready", func(_ *roll.Instance, n *roll.Node) { n.Ready.Status = roll.ConditionFalse }, false, false},
		{"silent", func(_ *roll.Instance, n *roll.Node) { n.Ready.Status = roll.ConditionUnknown }, false, false},
		{"Ready with a startup taint", func(_ *roll.Instance, n *roll.Node) {
			n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
		}, false, false},
		{"terminated", func(i *roll.Instance, _ *roll.Node) { i.State = roll.StateTerminated }, false, false},
		{"started again", func(i *roll.Instance, n *roll.Node) { i.Launched = n.Created.Add(time.Second) }, false, false},
		{"launched before the one that is known", func(i *roll.Instance, _ *roll.Node) { i.Launched = ago(time.Hour) }, false, false},
	}
	for _, tt := range tests {
		i, n := registered(1, 5*time.Minute, time.Minute)
		tt.change(&i, &n)
		memory := ledger.GroupMemory{Counted: now, Good: ago(30 * time.Minute), Seconds: []int{3}}
		a := judge(snapshot([]roll.Instance{i}, []roll.Node{n}), ledger.State{Groups: map[roll.Group]ledger.GroupMemory{"asg/w": memory}})
		want := memory
		if tt.good {
			want.Good = i.Launched
		}
		if tt.proven {
			want.Proven = i.Launched
		}
		if got, changed := a.Groups["asg/w"]; changed != (tt.good || tt.proven) || changed && !cmp.Equal(got, want) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// A group with a warm pool replaces an instance by starting one of the pool, whose Node is from the time
// when it was prepared.
func TestAnInstanceOutOfAWarmPoolIsAReplacement(t *testing.T) {
	tests := []struct {
		name string
		rest ledger.Rest
		good bool
	}{
		{"from a warm pool", ledger.Rest{Warm: true, Left: ago(4 * time.Minute)}, true},
		{"out of Standby, and started again", ledger.Rest{Left: ago(4 * time.Minute)}, false},
		{"from a warm pool since the last check", ledger.Rest{Warm: true}, true},
		{"from a warm pool, and started again later", ledger.Rest{Warm: true, Left: ago(6 * time.Minute)}, false},
	}
	for _, tt := range tests {
		i, n := registered(1, 0, time.Minute)
		i.Launched, n.Created = ago(5*time.Minute), ago(3*time.Hour)
		memory := ledger.GroupMemory{Counted: now, Good: ago(30 * time.Minute), Seconds: []int{3}}
		want := memory
		want.Good = i.Launched
		a := judge(snapshot([]roll.Instance{i}, []roll.Node{n}), ledger.State{
			Groups: map[roll.Group]ledger.GroupMemory{"asg/w": memory}, Rests: map[roll.InstanceID]ledger.Rest{i.ID: tt.rest},
		})
		got, changed := a.Groups["asg/w"]
		expect.Equal(t, a.Rests[i.ID].Warm, tt.good, "%s: where it is from is remembered until it proved itself", tt.name)
		if changed != tt.good || changed && !cmp.Equal(got, want) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// An instance that ran in the pool was launched long before. Its node joins when the group puts it into service.
// https://docs.aws.amazon.com/eks/latest/userguide/warm-pools-managed-node-groups.html
func TestAnInstanceThatRanInAWarmPoolReplacesSinceItWasPutIntoService(t *testing.T) {
	tests := []struct {
		name string
		rest ledger.Rest
		good time.Duration // zero: it shows nothing new
	}{
		{"a check saw it in service before its node", ledger.Rest{Warm: true, Left: ago(4 * time.Minute)}, 4 * time.Minute},
		{"a check saw its node first", ledger.Rest{Warm: true, Left: ago(2 * time.Minute)}, 3 * time.Minute},
		{"this check sees both first", ledger.Rest{Warm: true}, 3 * time.Minute},
		{"it was in Standby", ledger.Rest{Left: ago(4 * time.Minute)}, 0},
		{"it was in no pool", ledger.Rest{}, 0},
	}
	for _, tt := range tests {
		i, n := registered(1, 0, time.Minute)
		i.Launched, n.Created = ago(3*time.Hour), ago(3*time.Minute)
		memory := ledger.GroupMemory{Counted: now, Good: ago(30 * time.Minute), Proven: ago(time.Hour), Seconds: []int{3}}
		state := ledger.State{Groups: map[roll.Group]ledger.GroupMemory{"asg/w": memory}, Rests: map[roll.InstanceID]ledger.Rest{}}
		if tt.rest != (ledger.Rest{}) {
			state.Rests[i.ID] = tt.rest
		}
		a := judge(snapshot([]roll.Instance{i}, []roll.Node{n}), state)
		got, changed := a.Groups["asg/w"]
		expect.That(t, changed == (tt.good > 0) && (!changed || got.Good.Equal(ago(tt.good))), "%s: %+v", tt.name, got)
		expect.Equal(t, a.Rests[i.ID].Warm, tt.good > 0, "%s: where it is from is remembered until it proved itself", tt.name)
	}
}

func TestAGroupIsToldWithItsOwnerItsNodesAndTheirTimes(t *testing.T) {
	var s roll.Snapshot
	for n := range 3 {
		i, nn := registered(n, 5*time.Minute, time.Duration(90-n)*time.Second)
		if n == 2 {
			nn.Ready.Status, i.DeadlineTag = roll.ConditionUnknown, "40m"
		}
		s.Instances, s.Nodes = append(s.Instances, i), append(s.Nodes, nn)
	}
	whole := snapshot(s.Instances, s.Nodes)
	a := judge(whole, ledger.State{Groups: map[roll.Group]ledger.GroupMemory{"asg/w": {Seconds: []int{300, 20}}, "asg/idle": {Seconds: []int{7}}, "asg/none": {}}})
	want := map[roll.Group]assess.Population{
		"asg/w":    {Owner: roll.OwnerAutoScalingGroup, Nodes: 3, Ready: 2, Deadline: 40 * time.Minute, Took: []int{20, 88, 89, 90, 300}},
		"asg/idle": {Deadline: 15 * time.Minute, Took: []int{7}},
	}
	expect.Same(t, a.Populations, want, "populations")
	whole.Target = s.Instances[0].ID
	if a := judge(whole, ledger.State{}); a.Populations != nil {
		t.Errorf("of a snapshot of one instance: %+v", a.Populations)
	}
}
