package assess_test

import (
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// everything returns a ledger with a finding of every kind about an instance.
func everything(id roll.InstanceID) ledger.State {
	state := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{}}
	for _, k := range roll.Kinds() {
		state.Findings[roll.FindingKey{Instance: id, Kind: k}] = ledger.Finding{Instance: id, Kind: k}
	}
	return state
}

// What a node was missing before it fell silent is not over while it still is.
func TestWhatIsMissingIsKeptWhileItIsHidden(t *testing.T) {
	known := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{key(roll.Uninitialized): {Instance: id, Kind: roll.Uninitialized}}}
	tests := map[string]struct {
		ready  roll.ConditionStatus
		change func(*roll.Node)
		want   bool
	}{
		"the node is silent, its startup taint stays":     {roll.ConditionUnknown, func(n *roll.Node) { n.StartupTaint = "ebs.csi.aws.com/agent-not-ready:NoExecute" }, true},
		"it is not ready, its startup taint stays":        {roll.ConditionFalse, func(n *roll.Node) { n.StartupTaint = "ebs.csi.aws.com/agent-not-ready:NoExecute" }, true},
		"it is silent, and Karpenter waits for its label": {roll.ConditionUnknown, func(n *roll.Node) { n.Owner, n.Registered = roll.OwnerKarpenter, true }, true},
		"it is silent, and nothing is missing":            {roll.ConditionUnknown, func(*roll.Node) {}, false},
		"it has a taint that the policy does not know":    {roll.ConditionUnknown, func(n *roll.Node) { n.StartupTaint = "example.com/mine:NoSchedule" }, false},
	}
	for name, tt := range tests {
		a := look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready = roll.Condition{Status: tt.ready, Since: ago(time.Minute)}
			tt.change(n)
			i.Owner = n.Owner
		}, known)
		expect.That(t, a.Kept[key(roll.Uninitialized)] == tt.want, "%s: kept is %v", name, !tt.want)
	}
}

func TestWhatRestsOnSomethingUnreadIsKept(t *testing.T) {
	gap := func(scope roll.Scope) func(*roll.Instance, *roll.Node, *roll.Snapshot) {
		return func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Gaps = append(s.Gaps, roll.Gap{Scope: scope, Kind: roll.GapThrottled})
		}
	}
	unpaired := func(d roll.Detail, owner roll.Owner) func(*roll.Instance, *roll.Node, *roll.Snapshot) {
		return func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			i.Owner = owner
			elsewhere(n)
			if owner == roll.OwnerNone {
				i.ASG = ""
			}
			s.Details[id] = d
		}
	}
	all := roll.Kinds()
	tests := []struct {
		name   string
		change func(*roll.Instance, *roll.Node, *roll.Snapshot)
		want   []roll.Kind
	}{
		{"everything was read", func(*roll.Instance, *roll.Node, *roll.Snapshot) {}, nil},
		{"something about single suspects was not", gap(roll.ScopeDetail), nil},
		{"not all instances", gap(roll.ScopeInstances), all},
		{"not all nodes", gap(roll.ScopeNodes), all},
		{"not the cluster", gap(roll.ScopeCluster), all},
		{"the status checks were not", func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) { s.StatusRead = roll.Unreadable }, []roll.Kind{roll.Impaired, roll.Scheduled}},
		{"EC2 has no result of a status check", func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Unchecked = map[roll.InstanceID]bool{id: true}
		}, []roll.Kind{roll.Impaired}},
		{"nor has it one of an instance that is stopped", func(i *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			i.State, s.Unchecked = roll.StateStopped, map[roll.InstanceID]bool{id: true}
		}, nil},
		{"nor were they, of an instance that is stopped", func(i *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			i.State, s.StatusRead = roll.StateStopped, roll.Unreadable
		}, nil},
		{"EC2 left it out, and whether it exists cannot be read", func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			s.Details[id] = roll.Detail{WholeRead: roll.Unreadable}
			*i, *n = roll.Instance{ID: "i-0123456789abcdef9"}, roll.Node{Compute: roll.ComputeFargate}
		}, all},
		{"EC2 left it out", func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			*i, *n = roll.Instance{ID: "i-0123456789abcdef9"}, roll.Node{Compute: roll.ComputeFargate}
		}, nil},
		{"no node, and its group cannot be asked", unpaired(roll.Detail{LifecycleRead: roll.Unreadable}, roll.OwnerAutoScalingGroup), all},
		{"no node, and its user data cannot be read", unpaired(roll.Detail{Bootstraps: roll.Unreadable}, roll.OwnerNone), all},
		{"no node, and it is not meant to be one", unpaired(roll.Detail{Bootstraps: roll.No}, roll.OwnerNone), nil},
		{"no node, Karpenter's, and the NodeClaims cannot be read", unpaired(roll.Detail{HasNodeClaim: roll.Unreadable, LifecycleRead: roll.No}, roll.OwnerKarpenter), []roll.Kind{roll.Orphaned}},
	}
	for _, tt := range tests {
		a := look(tt.change, everything(id))
		expect.That(t, len(a.Findings) == 0, "%s: %+v", tt.name, a.Findings)
		want := map[roll.Kind]bool{}
		for _, k := range tt.want {
			want[k] = true
		}
		for _, k := range all {
			expect.Equal(t, a.Kept[key(k)], want[k], "%s: %s kept", tt.name, k)
		}
	}
}

// A finding of this check is judged, whatever else could not be read.
func TestWhatIsFoundIsNotKept(t *testing.T) {
	a := look(func(_ *roll.Instance, n *roll.Node, s *roll.Snapshot) {
		n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Hour)}
		s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeInstances})
	}, everything(id))
	expect.That(t, len(a.Findings) == 1 && !a.Kept[key(roll.Unknown)] && a.Kept[key(roll.Ghost)], "findings %+v, kept %v", a.Findings, a.Kept)
}

// Instances that are missing from a complete listing have no findings any more.
func TestWhatIsGoneIsNotKept(t *testing.T) {
	s := snapshot(nil, nil)
	s.StatusRead = roll.Unreadable
	a := judge(s, everything(id))
	expect.That(t, len(a.Kept) == 0, "kept %v", a.Kept)
}

// An incomplete check forgets nothing of what it did not read.
func TestAGapForgetsNothing(t *testing.T) {
	const unseen roll.InstanceID = "i-0000000000000000b"
	state := ledger.State{
		NotReady:  map[roll.InstanceID]ledger.NotReady{id: {}, unseen: {}},
		Rests:     map[roll.InstanceID]ledger.Rest{unseen: {}},
		Missing:   map[roll.InstanceID]time.Time{unseen: ago(time.Minute)},
		Flips:     map[roll.InstanceID][]time.Time{unseen: {ago(time.Minute)}},
		Pressures: map[roll.InstanceID]ledger.Pressure{unseen: {}},
	}
	for scope, want := range map[roll.Scope][5]int{
		roll.ScopeDetail:    {},
		roll.ScopeNodes:     {1, 1, 1, 1, 1},
		roll.ScopeInstances: {0, 1, 1, 0, 0}, // all nodes were read: it has none
		roll.ScopeCluster:   {1, 1, 1, 1, 1},
	} {
		a := look(func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Gaps = append(s.Gaps, roll.Gap{Scope: scope})
		}, state)
		got := [5]int{len(a.NotReady), len(a.Rests), len(a.Missing), len(a.Flips), len(a.Pressures)}
		expect.That(t, got == want, "gap in scope %d: remembered %v of not ready, rests, missing, flips, pressures, want %v", scope, got, want)
	}
	a := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
		elsewhere(n)
		s.Details[id] = roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "InService"}
		s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeDetail}, roll.Gap{Scope: roll.ScopeCluster, Kind: roll.GapClusterNotActive})
	}, ledger.State{Rests: map[roll.InstanceID]ledger.Rest{id: {}}})
	expect.That(t, a.Rests[id].Left.Equal(now), "what was read is overwritten: %v", a.Rests)
}

// A failed condition that a silence of its node hides is not over.
func TestAFailedConditionIsKeptWhileItIsHidden(t *testing.T) {
	known := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{key(roll.ConditionFailed): {Instance: id, Kind: roll.ConditionFailed, Condition: "KernelReady"}}}
	tests := map[string]struct {
		condition string
		status    roll.ConditionStatus
		ready     roll.ConditionStatus
		taint     string
		want      bool
	}{
		"the node is silent":                      {"KernelReady", roll.ConditionFalse, roll.ConditionUnknown, "", true},
		"it is not ready":                         {"KernelReady", roll.ConditionFalse, roll.ConditionFalse, "", true},
		"its startup taint is back":               {"KernelReady", roll.ConditionFalse, roll.ConditionTrue, "ebs.csi.aws.com/agent-not-ready:NoExecute", true},
		"it is silent, and the condition is well": {"KernelReady", roll.ConditionTrue, roll.ConditionUnknown, "", false},
		"it is silent, another condition failed":  {"StorageReady", roll.ConditionFalse, roll.ConditionUnknown, "", false},
		"it is Ready, and the condition is well":  {"KernelReady", roll.ConditionTrue, roll.ConditionTrue, "", false},
	}
	for name, tt := range tests {
		a := look(func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready, n.StartupTaint = roll.Condition{Status: tt.ready, Since: ago(time.Minute)}, tt.taint
			n.Conditions = []roll.TypedCondition{{Type: tt.condition, Condition: roll.Condition{Status: tt.status, Since: ago(time.Hour)}}}
		}, known)
		expect.That(t, a.Kept[key(roll.ConditionFailed)] == tt.want, "%s: kept is %v", name, !tt.want)
	}
}
