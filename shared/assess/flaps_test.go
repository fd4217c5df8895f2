package assess_test

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// flips returns a ledger with returns of the instance's node, the given minutes ago.
func flips(minutes ...int) ledger.State {
	times := roll.Map(minutes, func(m int) time.Time { return ago(time.Duration(m) * time.Minute) })
	return ledger.State{Flips: map[roll.InstanceID][]time.Time{id: times}}
}

func TestWhatCountsAsAReturn(t *testing.T) {
	tests := []struct {
		name    string
		created time.Duration // the node's age
		ready   time.Duration // how long it has been Ready
		state   ledger.State
		want    []time.Duration // remembered returns, ago
	}{
		{"Ready for longer than the window", 48 * time.Hour, time.Hour, ledger.State{}, nil},
		{"Ready for not quite as long", 48 * time.Hour, time.Hour - time.Second, ledger.State{}, []time.Duration{time.Hour - time.Second}},
		{"Ready since now", 48 * time.Hour, 0, ledger.State{}, []time.Duration{0}},
		{"Ready in the future: clocks differ", 48 * time.Hour, -time.Second, ledger.State{}, nil},
		{"the first time it is Ready", 10 * time.Minute, 9 * time.Minute, ledger.State{}, nil},
		{"Ready first as late as can be", time.Hour + 5*time.Minute, 5 * time.Minute, ledger.State{}, nil},
		{"Ready again for sure", time.Hour + 5*time.Minute + time.Second, 5 * time.Minute, ledger.State{}, []time.Duration{5 * time.Minute}},
		{"young, but seen away after it was there", 20 * time.Minute, time.Minute, ledger.State{NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: ago(20*time.Minute - 11*time.Second)}}}, []time.Duration{time.Minute}},
		{"young, and seen away from the start", 20 * time.Minute, time.Minute, ledger.State{NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: ago(20*time.Minute - 10*time.Second)}}}, nil},
		{"the same return as before", 48 * time.Hour, 20 * time.Minute, flips(30, 20), []time.Duration{30 * time.Minute, 20 * time.Minute}},
		{"another one", 48 * time.Hour, 10 * time.Minute, flips(30, 20), []time.Duration{30 * time.Minute, 20 * time.Minute, 10 * time.Minute}},
		{"another one, when the oldest counts no more", 48 * time.Hour, 10 * time.Minute, flips(60, 20), []time.Duration{20 * time.Minute, 10 * time.Minute}},
		{"none is left", 48 * time.Hour, 2 * time.Hour, flips(61, 60), nil},
		{"those of an earlier Node", 45 * time.Minute, 44 * time.Minute, flips(50, 46), nil},
	}
	for _, tt := range tests {
		a := look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Created, n.Ready.Since = ago(tt.created), ago(tt.ready)
			i.Launched = n.Created.Add(-time.Minute)
		}, tt.state)
		got := roll.Map(a.Flips[id], now.Sub)
		expect.That(t, slices.Equal(got, tt.want), "%s: remembered %v ago, want %v", tt.name, got, tt.want)
	}
}

// A node that is Ready for seconds between minutes in which it is not may never be seen Ready by a check: its kubelet
// has reported all the time, so it was Ready in between.
func TestANodeThatNoCheckSeesReadyFlaps(t *testing.T) {
	away := func(d time.Duration, reporting time.Time) func(*roll.Instance, *roll.Node, *roll.Snapshot) {
		return func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready, n.Reporting = roll.Condition{Status: roll.ConditionFalse, Since: ago(d)}, reporting
		}
	}
	known := func(d time.Duration, minutes ...int) ledger.State {
		s := flips(minutes...)
		s.Checked = ago(5 * time.Minute)
		s.NotReady = map[roll.InstanceID]ledger.NotReady{id: {Since: ago(d), Status: roll.ConditionFalse, Transition: ago(d)}}
		return s
	}
	long := ago(3 * time.Hour)
	for _, tt := range []struct {
		name      string
		reporting time.Time
		state     ledger.State
		flaps     bool
		returns   int
	}{
		{"the fifth", long, known(9*time.Minute, 40, 30, 20, 9), true, 5},
		{"the fourth", long, known(9*time.Minute, 30, 20, 9), false, 4},
		{"not again", long, known(2*time.Minute, 40, 30, 20, 9), false, 4},
		{"it may have been silent in between", time.Time{}, known(9*time.Minute, 40, 30, 20, 9), false, 4},
		{"it left Ready the first time", long, flips(40, 30, 20, 9), false, 4},
	} {
		a := look(away(2*time.Minute, tt.reporting), tt.state)
		flaps := slices.ContainsFunc(a.Findings, func(f roll.Finding) bool { return f.Kind == roll.Flapping && f.Stage == roll.Overdue })
		expect.That(t, flaps == tt.flaps && len(a.Flips[id]) == tt.returns, "%s: %+v, returns %v", tt.name, a.Findings, a.Flips[id])
	}
}

func TestFlapping(t *testing.T) {
	ready := func(d time.Duration) func(*roll.Instance, *roll.Node, *roll.Snapshot) {
		return func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Ready.Since = ago(d) }
	}
	tests := []struct {
		name  string
		ready time.Duration
		state ledger.State
		since time.Duration // 0 for no finding
		next  time.Duration // from now, considering only the end of the window
	}{
		{"four returns", time.Minute, flips(40, 30, 20), 0, 0},
		{"five returns", time.Minute, flips(50, 40, 30, 20), 50 * time.Minute, 10 * time.Minute},
		{"six returns: it takes two to go", time.Minute, flips(55, 50, 40, 30, 20), 55 * time.Minute, 10 * time.Minute},
		{"five, seen before", 20 * time.Minute, flips(50, 45, 40, 30, 20), 50 * time.Minute, 10 * time.Minute},
		{"the oldest an hour ago: four are left", 20 * time.Minute, flips(60, 45, 40, 30, 20), 0, 0},
	}
	for _, tt := range tests {
		a := look(ready(tt.ready), tt.state)
		f := one(t, tt.name, a)
		if tt.since == 0 {
			expect.That(t, f.Kind == "", "%s: %+v", tt.name, f)
			continue
		}
		expect.That(t, f.Kind == roll.Flapping && f.Stage == roll.Overdue && f.Since.Equal(ago(tt.since)) && f.Began.Equal(ago(48*time.Hour)), "%s: %+v", tt.name, f)
		expect.That(t, !a.Next.After(now.Add(tt.next)) && a.Count[""] == (assess.Count{Nodes: 1}) && a.Ready == 1, "%s: next %s, count %+v", tt.name, a.Next, a.Count[""])
	}
	// Its beginning stays when the oldest return no longer counts; one second decides when it ends.
	for second, want := range map[time.Duration]roll.Kind{-time.Second: roll.Flapping, 0: ""} {
		state := known(roll.Flapping, ago(70*time.Minute), ago(48*time.Hour))
		f := state.Findings[key(roll.Flapping)]
		f.FirstSeen = ago(20 * time.Minute)
		state.Findings[key(roll.Flapping)] = f
		state.Flips = flips(60, 45, 40, 30, 20).Flips
		a := assess.Assess(assess.Input{Snapshot: flapper(), Policy: defaults, State: state, Now: now.Add(second)})
		if f := one(t, second.String(), a); f.Kind != want || want != "" && !f.Since.Equal(ago(70*time.Minute)) {
			t.Errorf("%s: %+v", second, f)
		}
		if second < 0 && !a.Next.Equal(now) {
			t.Errorf("next %s, want the end of the window", a.Next)
		}
	}
}

// Flaps of an earlier Node of the instance do not count.
func TestFlappingIsOfOneNode(t *testing.T) {
	state := known(roll.Flapping, ago(70*time.Minute), ago(72*time.Hour))
	state.Flips = flips(55, 45, 40, 30, 20).Flips
	a := assess.Assess(assess.Input{Snapshot: flapper(), Policy: defaults, State: state, Now: now})
	f := one(t, "flapping", a)
	expect.That(t, f.Since.Equal(ago(55*time.Minute)), "%+v", f)
}

func flapper() *roll.Snapshot {
	i, n := pair()
	n.Ready.Since = ago(20 * time.Minute)
	return snapshot([]roll.Instance{i}, []roll.Node{n})
}

// A flapping node that is not Ready now is kept: its flapping is neither over nor judged.
func TestFlappingIsKeptWhileTheNodeIsAway(t *testing.T) {
	away := func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
		n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Minute)}
	}
	five := known(roll.Flapping, ago(50*time.Minute), ago(48*time.Hour))
	five.Flips = flips(50, 40, 30, 20, 10).Flips
	tainted := look(func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
		n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
	}, five)
	if f := one(t, "Ready, but not initialized", tainted); f.Kind != roll.Uninitialized || !tainted.Kept[key(roll.Flapping)] {
		t.Errorf("Ready, but not initialized: %+v, kept %v", f, tainted.Kept)
	}
	for returns, want := range map[string]bool{"five": true, "four": false} {
		state := known(roll.Flapping, ago(50*time.Minute), ago(48*time.Hour))
		state.Flips = flips(50, 40, 30, 20, 10).Flips
		if returns == "four" {
			state.Flips = flips(40, 30, 20, 10).Flips
		}
		a := look(away, state)
		f := one(t, returns, a)
		expect.That(t, f.Kind == roll.Unknown && a.Kept[key(roll.Flapping)] == want && len(a.Flips[id]) != 0, "%s returns: %+v, kept %v, remembered %v", returns, f, a.Kept, a.Flips)
	}
}
