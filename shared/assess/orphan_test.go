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

// claimed returns a Karpenter instance without a node, with or without a NodeClaim.
func claimed(has roll.Answer, age time.Duration) *roll.Snapshot {
	s := snapshot([]roll.Instance{poolWorker(id, age)}, nil)
	s.Details[id] = roll.Detail{HasNodeClaim: has}
	return s
}

func TestAnInstanceWithoutNodeClaimIsOrphanedSinceThatWasSeen(t *testing.T) {
	launched := ago(time.Hour)
	tests := []struct {
		name  string
		has   roll.Answer
		state ledger.State
		kind  roll.Kind
		stage roll.Stage
		since time.Duration
		kept  bool
	}{
		{"first seen", roll.No, ledger.State{}, roll.Orphaned, roll.Watching, 0, false},
		{"within its tolerance", roll.No, known(roll.Orphaned, ago(15*time.Minute-time.Second), launched), roll.Orphaned, roll.Watching, 15*time.Minute - time.Second, false},
		{"at its end", roll.No, known(roll.Orphaned, ago(15*time.Minute), launched), roll.Orphaned, roll.Overdue, 15 * time.Minute, false},
		{"past it", roll.No, known(roll.Orphaned, ago(15*time.Minute+time.Second), launched), roll.Orphaned, roll.Overdue, 15*time.Minute + time.Second, false},
		{"seen in another life of the instance", roll.No, known(roll.Orphaned, ago(2*time.Hour), ago(3*time.Hour)), roll.Orphaned, roll.Watching, 0, false},
		{"a NodeClaim has it", roll.Yes, known(roll.Orphaned, ago(15*time.Minute), launched), roll.Unregistered, roll.Overdue, time.Hour, false},
		{"nobody can tell, nor could before", roll.Unreadable, ledger.State{}, roll.Unregistered, roll.Overdue, time.Hour, false},
		{"nobody can tell any more", roll.Unreadable, known(roll.Orphaned, ago(15*time.Minute), launched), "", "", 0, true},
	}
	for _, tt := range tests {
		a := judge(claimed(tt.has, time.Hour), tt.state)
		f := one(t, tt.name, a)
		if f.Kind != tt.kind || f.Stage != tt.stage || tt.kind != "" && (!f.Since.Equal(ago(tt.since)) || !f.Began.Equal(launched)) {
			t.Errorf("%s: %+v", tt.name, f)
		}
		expect.That(t, a.Kept[key(roll.Orphaned)] == tt.kept, "%s: kept is %v", tt.name, !tt.kept)
		want := tt.stage == roll.Overdue
		expect.That(t, (a.Count[""] == assess.Count{Nodes: 1, Overdue: 1}) == want, "%s: count %+v", tt.name, a.Count[""])
	}
}

func TestWhetherANodeClaimHasAnInstanceIsAskedFromTheWarningOn(t *testing.T) {
	for age, want := range map[time.Duration]bool{5*time.Minute - time.Second: false, 5 * time.Minute: true} {
		a := judge(claimed(roll.NotAsked, age), ledger.State{})
		got := len(a.Questions) == 1 && a.Questions[0].NodeClaim
		expect.That(t, got == want, "%s old: questions %+v", age, a.Questions)
		if a := judge(claimed(roll.No, age), ledger.State{}); (len(a.Findings) == 1) != want {
			t.Errorf("%s old: %+v", age, a.Findings)
		}
	}
	others := worker(id, time.Hour)
	others.Owner, others.Group = roll.OwnerManagedNodeGroup, "nodegroup/g"
	s := snapshot([]roll.Instance{others}, nil)
	s.Details[id] = roll.Detail{HasNodeClaim: roll.No}
	f := one(t, "not Karpenter's", judge(s, ledger.State{}))
	expect.That(t, f.Kind == roll.Unregistered, "not Karpenter's: %+v", f)
}

func TestTheUserDataOfAnOrphanIsAsked(t *testing.T) {
	for has, want := range map[roll.Answer]bool{roll.No: true, roll.Yes: false} {
		a := judge(claimed(has, time.Hour), ledger.State{})
		got := slices.ContainsFunc(a.Questions, func(q roll.Question) bool { return q.UserData })
		expect.That(t, got == want, "a NodeClaim has it: %v: questions %+v", has, a.Questions)
	}
}

// gone returns a snapshot of a cluster that EKS does not know.
func gone(instances ...roll.Instance) *roll.Snapshot {
	s := snapshot(instances, nil, roll.Gap{Scope: roll.ScopeCluster, Kind: roll.GapClusterGone})
	s.Cluster.Status = ""
	return s
}

func TestInstancesOfAClusterThatIsGone(t *testing.T) {
	change := func(f func(*roll.Instance)) roll.Instance {
		i := worker(id, 24*time.Hour)
		i.Named = true
		f(&i)
		return i
	}
	tests := []struct {
		name     string
		instance roll.Instance
		orphan   bool
		listed   bool // as not a node
	}{
		{"EKS named it", change(func(*roll.Instance) {}), true, false},
		{"only kubernetes.io/cluster/ names it: kops does that too", change(func(i *roll.Instance) { i.Named = false }), false, true},
		{"claimed for two clusters", change(func(i *roll.Instance) { i.Ambiguous = true }), false, true},
		{"of the control plane of a local cluster", change(func(i *roll.Instance) { i.ControlPlane = true }), false, true},
		{"of another cluster", change(func(i *roll.Instance) { i.OtherCluster = "other" }), false, false},
		{"stopped", change(func(i *roll.Instance) { i.State = roll.StateStopped }), false, false},
		{"shutting down", change(func(i *roll.Instance) { i.State = roll.StateShuttingDown }), false, false},
	}
	for _, tt := range tests {
		a := judge(gone(tt.instance), ledger.State{})
		f := one(t, tt.name, a)
		expect.That(t, tt.orphan == (f.Kind == roll.Orphaned && f.Stage == roll.Watching && f.Since.Equal(now) && f.Began.Equal(tt.instance.Launched)), "%s: %+v", tt.name, f)
		listed := len(a.NotNodes) == 1
		expect.That(t, listed == tt.listed, "%s: listed as %+v", tt.name, a.NotNodes)
	}
	for since, want := range map[time.Duration]roll.Stage{15*time.Minute - time.Second: roll.Watching, 15 * time.Minute: roll.Overdue} {
		f := one(t, "known", judge(gone(tests[0].instance), known(roll.Orphaned, ago(since), ago(24*time.Hour))))
		expect.That(t, f.Stage == want, "for %s: %s, want %s", since, f.Stage, want)
	}
}

// EKS may have been called with a wrong name, so only EC2's data about orphans changes anything.
func TestOfAClusterThatIsGoneNothingIsForgotten(t *testing.T) {
	orphan := worker(id, 24*time.Hour)
	orphan.Named = true
	state := known(roll.Unknown, ago(time.Hour), ago(time.Hour))
	other := roll.FindingKey{Instance: "i-0000000000000000b", Kind: roll.Orphaned}
	state.Findings[other] = ledger.Finding{Instance: other.Instance, Kind: roll.Orphaned}
	state.NotReady = map[roll.InstanceID]ledger.NotReady{id: {Since: ago(time.Hour)}}
	state.Pressures = map[roll.InstanceID]ledger.Pressure{id: {Types: []string{roll.MemoryPressure}}}
	state.Rests = map[roll.InstanceID]ledger.Rest{id: {Left: ago(time.Hour)}}

	a := judge(gone(orphan), state)
	expect.That(t, a.Kept[key(roll.Unknown)] && len(a.NotReady) == 1 && len(a.Pressures) == 1 && len(a.Rests) == 1 && len(a.Groups) == 0, "kept %v, remembered %+v %+v %+v %+v", a.Kept, a.NotReady, a.Pressures, a.Rests, a.Groups)
	expect.That(t, !a.Kept[other], "an orphan that EC2 does not list any more is kept")
	s := gone(orphan)
	s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeInstances, Kind: roll.GapThrottled})
	if a := judge(s, state); len(a.Findings) != 0 || !a.Kept[other] {
		t.Errorf("instances not all read: %+v, kept %v", a.Findings, a.Kept)
	}
}

// An instance that renews its lease works, whoever deleted its NodeClaim and its Node. That is a
// contradiction, so no act follows.
func TestAnInstanceWithoutNodeClaimThatWorksIsNoOrphan(t *testing.T) {
	for renewed, want := range map[time.Duration]roll.Kind{10 * time.Second: roll.Unregistered, 10 * time.Minute: roll.Orphaned} {
		s := claimed(roll.No, time.Hour)
		s.Details[id] = roll.Detail{HasNodeClaim: roll.No, LeaseRead: roll.Yes, LeaseOf: "ip-1", LeaseRenewed: ago(renewed)}
		a := judge(s, known(roll.Orphaned, ago(time.Hour), ago(time.Hour)))
		f := one(t, renewed.String(), a)
		expect.That(t, f.Kind == want && (f.Contradiction != "") == (want == roll.Unregistered), "lease renewed %s ago: %+v, want %s", renewed, f, want)
	}
}
