package assess_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func key(kind roll.Kind) roll.FindingKey { return roll.FindingKey{Instance: id, Kind: kind} }

// known returns a ledger with one finding about the instance.
func known(kind roll.Kind, since, began time.Time) ledger.State {
	return ledger.State{Findings: map[roll.FindingKey]ledger.Finding{
		key(kind): {Instance: id, Kind: kind, FirstSeen: since, Since: since, Began: began},
	}}
}

// contradicted returns a ledger with one finding about the instance that a second source spoke
// against.
func contradicted(kind roll.Kind, since time.Time) ledger.State {
	return ledger.State{Findings: map[roll.FindingKey]ledger.Finding{
		key(kind): {Instance: id, Kind: kind, FirstSeen: since, Since: since, Began: since, Contradicted: true},
	}}
}

// one returns the only finding, or an empty one if there is none.
func one(t *testing.T, name string, a assess.Assessment) roll.Finding {
	t.Helper()
	switch len(a.Findings) {
	case 0:
		return roll.Finding{}
	case 1:
		return a.Findings[0]
	}
	t.Fatalf("%s: %d findings: %+v", name, len(a.Findings), a.Findings)
	return roll.Finding{}
}

// pair returns a long-running instance of an Auto Scaling group and its node, Ready for long.
func pair() (roll.Instance, roll.Node) {
	return worker(id, 49*time.Hour), node(id, roll.ConditionTrue, 47*time.Hour)
}

// look judges the pair after change, with the ledger.
func look(change func(*roll.Instance, *roll.Node, *roll.Snapshot), state ledger.State) assess.Assessment {
	i, n := pair()
	s := snapshot(nil, nil)
	s.StatusRead = roll.Yes
	change(&i, &n, s)
	s.Instances, s.Nodes = append(s.Instances, i), append(s.Nodes, n)
	return judge(s, state)
}

// elsewhere turns the node into one that does not run on an EC2 instance.
func elsewhere(n *roll.Node) { n.Compute, n.Instance = roll.ComputeFargate, "" }

func TestAMemberInOrderIsNoFinding(t *testing.T) {
	for owner, group := range map[roll.Owner]roll.Group{roll.OwnerAutoScalingGroup: "asg/w", roll.OwnerKarpenter: "nodepool/p", roll.OwnerManagedNodeGroup: "nodegroup/g", roll.OwnerNone: roll.GroupNone} {
		a := look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.Owner, i.Group = owner, group
			n.Registered, n.Initialized = owner == roll.OwnerKarpenter, owner == roll.OwnerKarpenter
		}, ledger.State{})
		expect.That(t, len(a.Findings)+len(a.Notes)+len(a.Questions)+len(a.NotNodes)+a.Waiting == 0 && a.Nodes == 1 && a.Ready == 1 && a.Next.IsZero(), "%s: %+v", owner, a)
	}
}

func TestANodeThatWasNeverReadyIsUninitialized(t *testing.T) {
	tests := []struct {
		age   time.Duration // of the node
		first time.Duration // from its creation to its transition
		kind  roll.Kind
		stage roll.Stage
		next  time.Duration // from now
	}{
		{0, 0, "", "", 5 * time.Minute},
		{5*time.Minute - time.Second, 0, "", "", time.Second},
		{5 * time.Minute, 0, roll.Uninitialized, roll.Warned, 10 * time.Minute},
		{5*time.Minute + time.Second, 0, roll.Uninitialized, roll.Warned, 10*time.Minute - time.Second},
		{15*time.Minute - time.Second, 0, roll.Uninitialized, roll.Warned, time.Second},
		{15 * time.Minute, 0, roll.Uninitialized, roll.Overdue, time.Minute},
		{15*time.Minute + time.Second, 0, roll.Uninitialized, roll.Overdue, time.Minute},
		{15 * time.Minute, 9 * time.Second, roll.Uninitialized, roll.Overdue, time.Minute},
		{15 * time.Minute, 10 * time.Second, roll.Uninitialized, roll.Overdue, time.Minute},
		{15 * time.Minute, 11 * time.Second, roll.NotReady, roll.Watching, 11 * time.Second}, // it was Ready before
	}
	for _, tt := range tests {
		a := look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.Launched, n.Created = ago(tt.age+time.Minute), ago(tt.age)
			n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: n.Created.Add(tt.first)}
		}, ledger.State{})
		f := one(t, tt.age.String(), a)
		expect.That(t, f.Kind == tt.kind && f.Stage == tt.stage, "%s old: %q %q, want %q %q", tt.age, f.Kind, f.Stage, tt.kind, tt.stage)
		expect.That(t, len(a.Starting) == a.Waiting, "%s old: %d are told as starting", tt.age, len(a.Starting))
		waiting := a.Waiting == 1
		expect.That(t, waiting == (tt.kind == ""), "%s old: %d waiting", tt.age, a.Waiting)
		expect.That(t, a.Next.Equal(now.Add(tt.next)), "%s old: next in %s, want %s", tt.age, a.Next.Sub(now), tt.next)
		_, remembered := a.NotReady[id]
		expect.That(t, remembered && a.Nodes == 1 && a.Ready == 0, "%s old: remembered %v, %d nodes, %d ready", tt.age, remembered, a.Nodes, a.Ready)
	}
}

func TestAReadyNodeIsUninitializedBy(t *testing.T) {
	karpenter := func(i *roll.Instance, n *roll.Node) {
		i.Owner, i.Group, n.Registered, n.Initialized = roll.OwnerKarpenter, "nodepool/p", true, true
	}
	tests := []struct {
		name   string
		change func(*roll.Instance, *roll.Node)
		want   string // in its summary; "" is no finding
	}{
		{"nothing", func(*roll.Instance, *roll.Node) {}, ""},
		{"a well-known startup taint", func(_ *roll.Instance, n *roll.Node) { n.StartupTaint = "node.cilium.io/agent-not-ready:NoExecute" }, "node.cilium.io/agent-not-ready:NoExecute"},
		{"a startup taint that its policy names", func(_ *roll.Instance, n *roll.Node) { n.StartupTaint = "example.com/warming:NoSchedule" }, "example.com/warming"},
		{"a taint that only the policy of others names", func(_ *roll.Instance, n *roll.Node) { n.StartupTaint = "example.com/other:NoSchedule" }, ""},
		{"Karpenter, marked", karpenter, ""},
		{"Karpenter, not registered", func(i *roll.Instance, n *roll.Node) { karpenter(i, n); n.Registered = false }, "karpenter.sh/registered"},
		{"Karpenter, not initialized", func(i *roll.Instance, n *roll.Node) { karpenter(i, n); n.Initialized = false }, "karpenter.sh/initialized"},
		{"Karpenter by its label alone", func(i *roll.Instance, n *roll.Node) {
			i.Owner, i.Group, n.Owner, n.Group = roll.OwnerNone, roll.GroupNone, roll.OwnerKarpenter, "nodepool/p"
		}, "karpenter.sh/registered"},
		{"another owner, not marked", func(i *roll.Instance, _ *roll.Node) { i.Owner = roll.OwnerManagedNodeGroup }, ""},
		{"Auto Mode, not marked", func(i *roll.Instance, _ *roll.Node) { i.Owner = roll.OwnerAutoMode }, ""},
	}
	warming := func(of roll.Selector) policy.Policy {
		p := defaults(of)
		p.Initialization.Taints = []string{"example.com/warming"}
		return p
	}
	for _, tt := range tests {
		i, n := pair()
		tt.change(&i, &n)
		for age, stage := range map[time.Duration]roll.Stage{5*time.Minute - time.Second: "", 5 * time.Minute: roll.Warned, 15*time.Minute - time.Second: roll.Warned, 15 * time.Minute: roll.Overdue} {
			i.Launched, n.Created, n.Ready.Since = ago(age+time.Minute), ago(age), ago(age-time.Second)
			f := one(t, tt.name, assess.Assess(assess.Input{Snapshot: snapshot([]roll.Instance{i}, []roll.Node{n}), Policy: warming, Now: now}))
			if tt.want == "" {
				stage = ""
			}
			if f.Stage != stage || stage != "" && (f.Kind != roll.Uninitialized || !strings.Contains(f.Summary, tt.want) || !f.Since.Equal(n.Created)) {
				t.Errorf("%s, %s old: %+v", tt.name, age, f)
			}
		}
	}
}

// A silent node is Unknown, whatever else is missing. A node that reports not ready after it was
// ready is NotReady, unless Karpenter never marked it, and its pods certainly did not run.
func TestWhatANodeThatIsNotReadyIsCalled(t *testing.T) {
	tests := []struct {
		name   string
		change func(*roll.Instance, *roll.Node)
		want   roll.Kind
	}{
		{"silent, with a startup taint", func(_ *roll.Instance, n *roll.Node) {
			n.Ready.Status, n.StartupTaint = roll.ConditionUnknown, "ebs.csi.aws.com/agent-not-ready:NoExecute"
		}, roll.Unknown},
		{"silent, Karpenter's, not marked", func(i *roll.Instance, n *roll.Node) {
			n.Ready.Status, i.Owner = roll.ConditionUnknown, roll.OwnerKarpenter
		}, roll.Unknown},
		{"not ready, with a startup taint", func(_ *roll.Instance, n *roll.Node) {
			n.Ready.Status, n.StartupTaint = roll.ConditionFalse, "ebs.csi.aws.com/agent-not-ready:NoExecute"
		}, roll.NotReady},
		{"not ready, Karpenter's, not marked", func(i *roll.Instance, n *roll.Node) {
			n.Ready.Status, i.Owner = roll.ConditionFalse, roll.OwnerKarpenter
		}, roll.NotReady},
		{"not ready soon, Karpenter's, not marked", func(i *roll.Instance, n *roll.Node) {
			n.Ready, i.Owner = roll.Condition{Status: roll.ConditionFalse, Since: n.Created.Add(2 * time.Minute)}, roll.OwnerKarpenter
		}, roll.Uninitialized},
		{"not ready, Karpenter's, not marked, with a startup taint", func(i *roll.Instance, n *roll.Node) {
			n.Ready.Status, i.Owner, n.StartupTaint = roll.ConditionFalse, roll.OwnerKarpenter, "ebs.csi.aws.com/agent-not-ready:NoExecute"
		}, roll.Uninitialized},
		{"silent from the start", func(_ *roll.Instance, n *roll.Node) {
			n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: n.Created}
		}, roll.Unknown},
		{"stopped, not ready", func(i *roll.Instance, n *roll.Node) {
			i.State, i.ASG, n.Ready.Status = roll.StateStopped, "", roll.ConditionFalse
		}, roll.NotReady},
		{"stopping, silent", func(i *roll.Instance, n *roll.Node) {
			i.State, i.ASG, n.Ready.Status = roll.StateStopping, "", roll.ConditionUnknown
		}, roll.Unknown},
	}
	for _, tt := range tests {
		f := one(t, tt.name, look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) { tt.change(i, n) }, ledger.State{}))
		expect.That(t, f.Kind == tt.want && f.Stage == roll.Overdue, "%s: %q %q, want %q", tt.name, f.Kind, f.Stage, tt.want)
	}
}

// A node that was Unknown from its creation and then reports not ready was never ready. One that
// turned silent later was.
func TestAnAbsenceSinceTheCreationIsNeverReady(t *testing.T) {
	for since, want := range map[time.Duration]roll.Kind{20 * time.Minute: roll.Uninitialized, 20*time.Minute - 11*time.Second: roll.NotReady} {
		state := ledger.State{
			Checked:  ago(time.Minute),
			NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: ago(since), Status: roll.ConditionUnknown, Transition: ago(since)}},
		}
		f := one(t, string(want), look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.Launched, n.Created = ago(21*time.Minute), ago(20*time.Minute)
			n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: ago(2 * time.Minute)}
		}, state))
		expect.That(t, f.Kind == want && f.Stage == roll.Overdue, "not ready for %s: %+v, want %s", since, f, want)
	}
}

// A fault that the last complete check would have found began after that check. It has its whole tolerance from the
// check that found it, since that may have come hours later.
func TestTroubleThatTheWorldDoesNotDateBeginsAfterTheLastCheck(t *testing.T) {
	tainted := func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
		n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
	}
	deleted := func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { elsewhere(n) }
	i, n := pair()
	for kind, tt := range map[roll.Kind]struct {
		change func(*roll.Instance, *roll.Node, *roll.Snapshot)
		start  time.Time // of its life
	}{roll.Uninitialized: {tainted, n.Created}, roll.Unregistered: {deleted, i.Launched}} {
		if kind == roll.Unregistered {
			old := tt.change
			tt.change = func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
				old(i, n, s)
				i.Owner, i.Group, i.ASG = roll.OwnerKarpenter, "nodepool/p", ""
				s.Details[id] = roll.Detail{HasNodeClaim: roll.Yes}
			}
		}
		last := tt.start.Add(10 * time.Minute) // halfway between its warning and its deadline
		tests := []struct {
			name    string
			checked time.Time
			since   time.Time
			began   time.Time
			stage   roll.Stage
		}{
			{"never checked", time.Time{}, tt.start, tt.start, roll.Overdue},
			{"checked before it had to be found", last.Add(-time.Second), tt.start, tt.start, roll.Overdue},
			{"checked when it had to be found", last, last, now, roll.Warned},
			{"checked a little later", last.Add(time.Second), last.Add(time.Second), now, roll.Warned},
			{"checked a minute ago", ago(time.Minute), ago(time.Minute), now, roll.Watching},
			{"checked long ago", ago(15 * time.Minute), ago(15 * time.Minute), now, roll.Warned},
		}
		for _, c := range tests {
			f := one(t, c.name, look(tt.change, ledger.State{Checked: c.checked}))
			expect.That(t, f.Kind == kind && f.Stage == c.stage && f.Since.Equal(c.since) && f.Began.Equal(c.began) && f.Due.Equal(c.began.Add(15*time.Minute)), "%s, %s: %+v", kind, c.name, f)
		}
		// The last check in the ledger gets later with each check; the known time stays.
		state := known(kind, ago(12*time.Minute), ago(7*time.Minute))
		state.Checked = ago(time.Minute)
		f := one(t, "known", look(tt.change, state))
		expect.That(t, f.Kind == kind && f.Since.Equal(ago(12*time.Minute)) && f.Began.Equal(ago(7*time.Minute)) && f.Due.Equal(f.Began.Add(15*time.Minute)), "%s known: %+v", kind, f)
		// But not across another boot of the instance.
		fresh := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			tt.change(i, n, s)
			i.Launched = ago(2 * time.Minute)
		}, state)
		expect.That(t, len(fresh.Findings) == 0 && fresh.Waiting == 1, "%s after a new start: %+v", kind, fresh.Findings)
	}
}

func TestConditionFailed(t *testing.T) {
	condition := func(kind string, status roll.ConditionStatus, since time.Duration) roll.TypedCondition {
		return roll.TypedCondition{Type: kind, Condition: roll.Condition{Status: status, Since: ago(since), Reason: "Why"}}
	}
	tests := []struct {
		name       string
		conditions []roll.TypedCondition
		want       string // the condition
		stage      roll.Stage
	}{
		{"within its tolerance", []roll.TypedCondition{condition("KernelReady", roll.ConditionFalse, 30*time.Minute-time.Second)}, "KernelReady", roll.Watching},
		{"at its end", []roll.TypedCondition{condition("KernelReady", roll.ConditionFalse, 30*time.Minute)}, "KernelReady", roll.Overdue},
		{"past it", []roll.TypedCondition{condition("KernelReady", roll.ConditionFalse, 30*time.Minute+time.Second)}, "KernelReady", roll.Overdue},
		{"accelerators sooner", []roll.TypedCondition{condition("AcceleratedHardwareReady", roll.ConditionFalse, 10*time.Minute)}, "AcceleratedHardwareReady", roll.Overdue},
		{"a status that is tolerated", []roll.TypedCondition{condition("KernelReady", roll.ConditionTrue, time.Hour)}, "", ""},
		{"a condition that its policy does not watch", []roll.TypedCondition{condition("MyOwnReady", roll.ConditionFalse, time.Hour)}, "", ""},
		{"short of memory, within its tolerance", []roll.TypedCondition{condition(roll.MemoryPressure, roll.ConditionTrue, 10*time.Minute-time.Second)}, roll.MemoryPressure, roll.Watching},
		{"short of memory, at its end", []roll.TypedCondition{condition(roll.MemoryPressure, roll.ConditionTrue, 10*time.Minute)}, roll.MemoryPressure, roll.Overdue},
		{"short of disk space, past it", []roll.TypedCondition{condition(roll.DiskPressure, roll.ConditionTrue, 10*time.Minute+time.Second)}, roll.DiskPressure, roll.Overdue},
		{"short of process ids, past it", []roll.TypedCondition{condition(roll.PIDPressure, roll.ConditionTrue, time.Hour)}, roll.PIDPressure, roll.Overdue},
		{"short of nothing", []roll.TypedCondition{condition(roll.MemoryPressure, roll.ConditionFalse, time.Hour)}, "", ""},
		{"of two, the one that is due first", []roll.TypedCondition{condition("KernelReady", roll.ConditionFalse, 15*time.Minute), condition("AcceleratedHardwareReady", roll.ConditionFalse, 5*time.Minute)}, "AcceleratedHardwareReady", roll.Watching},
		{"of two, the one that is due first, whatever its name", []roll.TypedCondition{condition("StorageReady", roll.ConditionFalse, 29*time.Minute), condition("KernelReady", roll.ConditionFalse, 28*time.Minute)}, "StorageReady", roll.Watching},
		{"of two due at once, the first by name", []roll.TypedCondition{condition("StorageReady", roll.ConditionFalse, time.Hour), condition("KernelReady", roll.ConditionFalse, time.Hour)}, "KernelReady", roll.Overdue},
	}
	for _, tt := range tests {
		a := look(func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Conditions = tt.conditions }, ledger.State{})
		f := one(t, tt.name, a)
		if f.Condition != tt.want || f.Stage != tt.stage || tt.want != "" && f.Kind != roll.ConditionFailed {
			t.Errorf("%s: %+v", tt.name, f)
		}
		if f.Stage == roll.Watching && !a.Next.Equal(f.Due) {
			t.Errorf("%s: next %s, want %s", tt.name, a.Next, f.Due)
		}
	}
	failed := []roll.TypedCondition{condition("KernelReady", roll.ConditionFalse, time.Hour)}
	others := map[string]struct {
		change func(*roll.Instance, *roll.Node)
		want   roll.Kind
		since  time.Duration
	}{
		"not ready: that says it": {func(_ *roll.Instance, n *roll.Node) {
			n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: ago(time.Minute)}
		}, roll.NotReady, time.Minute},
		"uninitialized: that says it": {func(_ *roll.Instance, n *roll.Node) {
			n.StartupTaint = "ebs.csi.aws.com/agent-not-ready:NoExecute"
		}, roll.Uninitialized, 48 * time.Hour},
		"said before the instance was started again": {func(i *roll.Instance, _ *roll.Node) { i.Launched = ago(20 * time.Minute) }, roll.ConditionFailed, 20 * time.Minute},
	}
	for name, tt := range others {
		f := one(t, name, look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Conditions = failed
			tt.change(i, n)
		}, ledger.State{}))
		expect.That(t, f.Kind == tt.want && f.Since.Equal(ago(tt.since)), "%s: %+v", name, f)
	}
}

func TestImpaired(t *testing.T) {
	tests := []struct {
		name   string
		since  time.Duration
		change func(*roll.Instance, *roll.Node, *roll.Snapshot)
		want   roll.Stage
	}{
		{"within its tolerance", 5*time.Minute - time.Second, nil, roll.Watching},
		{"at its end", 5 * time.Minute, nil, roll.Overdue},
		{"past it", 5*time.Minute + time.Second, nil, roll.Overdue},
		{"the status was not read", time.Hour, func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) { s.StatusRead = roll.Unreadable }, ""},
		{"the status was not asked for", time.Hour, func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) { s.StatusRead = roll.NotAsked }, ""},
		{"stopping", time.Hour, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.State = roll.StateStopping }, ""},
		{"in Standby", time.Hour, func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Details[id] = roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "Standby"}
		}, ""},
	}
	for _, tt := range tests {
		a := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			s.Impaired = map[roll.InstanceID]roll.Impairment{id: {Since: ago(tt.since)}}
			if tt.change != nil {
				tt.change(i, n, s)
			}
		}, ledger.State{})
		f := one(t, tt.name, a)
		if f.Stage != tt.want || tt.want != "" && (f.Kind != roll.Impaired || !f.Since.Equal(ago(tt.since)) || !f.Began.Equal(f.Since)) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}

// Without a tolerance in the policy there is no finding.
func TestWithoutAToleranceThereIsNoFinding(t *testing.T) {
	silent := func(of roll.Selector) policy.Policy {
		p := defaults(of)
		p.Tolerances, p.Conditions = nil, nil
		return p
	}
	i, n := pair()
	ghost := i
	ghost.State = roll.StateTerminated
	unready := n
	unready.Ready.Status = roll.ConditionUnknown
	orphan := poolWorker(id, time.Hour)
	tests := map[string]*roll.Snapshot{
		"Impaired":            snapshot([]roll.Instance{i}, []roll.Node{n}),
		"Ghost":               snapshot([]roll.Instance{ghost}, []roll.Node{unready}),
		"Ghost, contradicted": snapshot([]roll.Instance{ghost}, []roll.Node{n}),
		"Unknown":             snapshot([]roll.Instance{i}, []roll.Node{unready}),
		"Orphaned":            snapshot([]roll.Instance{orphan}, nil),
	}
	for name, s := range tests {
		s.Details[id] = roll.Detail{HasNodeClaim: roll.No}
		if name == "Impaired" {
			s.StatusRead, s.Impaired = roll.Yes, map[roll.InstanceID]roll.Impairment{id: {Since: ago(time.Hour)}}
		}
		for with, pol := range map[bool]func(roll.Selector) policy.Policy{true: defaults, false: silent} {
			a := assess.Assess(assess.Input{Snapshot: s, Policy: pol, Now: now})
			found := len(a.Findings) == 1 && strings.HasPrefix(name, string(a.Findings[0].Kind))
			expect.That(t, found == with, "%s with a tolerance %v: %+v", name, with, a.Findings)
		}
	}
}

func TestImpairedStandsBesideWhatTheNodeIs(t *testing.T) {
	impaired := func(s *roll.Snapshot) {
		s.StatusRead, s.Impaired = roll.Yes, map[roll.InstanceID]roll.Impairment{id: {Since: ago(time.Hour), System: true}}
	}
	young := poolWorker(id, time.Minute)
	bastion := roll.Instance{ID: id, State: roll.StateRunning, Launched: ago(time.Hour), Owner: roll.OwnerNone, Group: roll.GroupNone}
	tests := []struct {
		name     string
		instance roll.Instance
		nodes    []roll.Node
		detail   roll.Detail
		gaps     []roll.Gap
		want     string
	}{
		{"silent", worker(id, 24*time.Hour), []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}, roll.Detail{}, nil, "Unknown Impaired"},
		{"not registered", poolWorker(id, time.Hour), nil, roll.Detail{HasNodeClaim: roll.Yes}, nil, "Unregistered Impaired"},
		{"still has time to register", young, nil, roll.Detail{}, nil, "Impaired"},
		{"a bastion", bastion, nil, roll.Detail{Bootstraps: roll.No}, nil, ""},
		{"nodes could not be read", poolWorker(id, time.Hour), nil, roll.Detail{}, []roll.Gap{{Scope: roll.ScopeNodes}}, "Impaired"},
	}
	for _, tt := range tests {
		s := snapshot([]roll.Instance{tt.instance}, tt.nodes, tt.gaps...)
		s.Details[id] = tt.detail
		impaired(s)
		a := judge(s, ledger.State{})
		var got []string
		for _, f := range a.Findings {
			got = append(got, string(f.Kind))
			if f.Kind == roll.Impaired && !strings.Contains(f.Summary, "system status check") {
				t.Errorf("%s: %q", tt.name, f.Summary)
			}
		}
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		expect.List(t, got, want, "%s", tt.name)
		c := a.Count[""]
		expect.That(t, c.Overdue <= 1, "%s: counted as overdue %d times", tt.name, c.Overdue)
	}
}

// EC2 may not return since when a check fails; then the time of the first sighting counts.
func TestAnImpairmentWithoutATimeIsDatedByTheFirstSight(t *testing.T) {
	undated := func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
		s.Impaired = map[roll.InstanceID]roll.Impairment{id: {}}
	}
	if f := one(t, "first", look(undated, ledger.State{})); !f.Since.Equal(now) || f.Stage != roll.Watching {
		t.Errorf("first sight: %+v", f)
	}
	f := one(t, "second", look(undated, known(roll.Impaired, ago(6*time.Minute), ago(6*time.Minute))))
	expect.That(t, f.Since.Equal(ago(6*time.Minute)) && f.Stage == roll.Overdue, "second sight: %+v", f)
}

// Other faults of a node that is not initialized are in its diagnosis.
func TestAConditionOfANodeThatIsStillInitializing(t *testing.T) {
	a := look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
		i.Launched, n.Created, n.Ready.Since = ago(15*time.Minute), ago(14*time.Minute), ago(13*time.Minute)
		n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
		n.Conditions = []roll.TypedCondition{{Type: "AcceleratedHardwareReady", Condition: roll.Condition{Status: roll.ConditionFalse, Since: ago(12 * time.Minute)}}}
	}, ledger.State{})
	f := one(t, "initializing", a)
	expect.That(t, f.Kind == roll.Uninitialized && f.Stage == roll.Warned, "%+v", f)
}

func TestSummariesSayWhatIsWrongAndSinceWhen(t *testing.T) {
	kernel := func(reason string) []roll.TypedCondition {
		return []roll.TypedCondition{{Type: "KernelReady", Condition: roll.Condition{Status: roll.ConditionFalse, Since: ago(time.Hour), Reason: reason}}}
	}
	tests := []struct {
		change func(*roll.Instance, *roll.Node, *roll.Snapshot)
		state  ledger.State
		want   string
	}{
		{func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: ago(time.Hour), Reason: "KubeletNotReady"}
		}, ledger.State{}, "node node-a has not been ready since 2026-03-10 11:00:00Z (KubeletNotReady)"},
		{func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Hour)}
		}, ledger.State{}, "node node-a has not reported its status since 2026-03-10 11:00:00Z"},
		{func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: n.Created}
		}, ledger.State{}, "node node-a has never been ready since its creation at 2026-03-08 12:00:00Z"},
		{func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.Launched, n.StartupTaint = ago(time.Hour), "node.cilium.io/agent-not-ready:NoSchedule"
		}, ledger.State{}, "node node-a is Ready and still has the startup taint node.cilium.io/agent-not-ready:NoSchedule since its instance was started at 2026-03-10 11:00:00Z; it worked before"},
		{func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
		}, ledger.State{Checked: ago(time.Minute)}, "node node-a is Ready and still has the startup taint node.cilium.io/agent-not-ready:NoSchedule since 2026-03-10 11:59:00Z; it worked before"},
		{func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Conditions = kernel("KernelDeadlock") }, ledger.State{}, "condition KernelReady of node node-a is False since 2026-03-10 11:00:00Z (KernelDeadlock)"},
		{func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Conditions = kernel("") }, ledger.State{}, "condition KernelReady of node node-a is False since 2026-03-10 11:00:00Z"},
		{func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Impaired = map[roll.InstanceID]roll.Impairment{id: {Since: ago(time.Hour)}}
		}, ledger.State{}, "the instance status check of i-0000000000000000a has failed since 2026-03-10 11:00:00Z"},
		{func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Ready.Since = ago(time.Minute) }, flips(50, 40, 30, 20), "node node-a left Ready and came back 5 times within an hour, since 2026-03-10 11:10:00Z"},
		{func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.Owner = roll.OwnerManagedNodeGroup
			elsewhere(n)
		}, ledger.State{}, "instance i-0000000000000000a has not registered as a node since its launch at 2026-03-08 11:00:00Z"},
		{func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.Owner = roll.OwnerManagedNodeGroup
			elsewhere(n)
		}, ledger.State{Checked: ago(time.Minute)}, "instance i-0000000000000000a, launched at 2026-03-08 11:00:00Z, has had no node since 2026-03-10 11:59:00Z"},
		{func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			i.Owner, i.ASG = roll.OwnerKarpenter, ""
			s.Details[id] = roll.Detail{HasNodeClaim: roll.No}
			elsewhere(n)
		}, ledger.State{}, "instance i-0000000000000000a, launched at 2026-03-08 11:00:00Z, has no owner any more: it is Karpenter's, and no NodeClaim has it"},
		{func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.State = roll.StateTerminated
			n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Hour)}
		}, ledger.State{}, "node node-a has not been ready since 2026-03-10 11:00:00Z, and EC2 says that its instance i-0000000000000000a is terminated"},
		{func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.State = roll.StateTerminated }, ledger.State{}, "node node-a is Ready, but EC2 says that its instance i-0000000000000000a is terminated"},
	}
	for _, tt := range tests {
		f := one(t, tt.want, look(tt.change, tt.state))
		expect.That(t, f.Summary == tt.want, "got  %s\nwant %s", f.Summary, tt.want)
	}
}

// EC2's time takes precedence over the remembered one, which does not count across a start of the
// instance.
func TestWhatDatesAnImpairment(t *testing.T) {
	state := known(roll.Impaired, ago(40*time.Minute), ago(40*time.Minute))
	for name, tt := range map[string]struct {
		told, launched, want time.Duration
	}{
		"EC2 tells":                   {told: 20 * time.Minute, launched: 49 * time.Hour, want: 20 * time.Minute},
		"EC2 does not":                {launched: 49 * time.Hour, want: 40 * time.Minute},
		"it was started since":        {launched: 39 * time.Minute, want: 0},
		"it was started at that time": {launched: 40 * time.Minute, want: 40 * time.Minute},
	} {
		f := one(t, name, look(func(i *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			i.Launched = ago(tt.launched)
			s.Impaired = map[roll.InstanceID]roll.Impairment{id: {}}
			if tt.told > 0 {
				s.Impaired[id] = roll.Impairment{Since: ago(tt.told)}
			}
		}, state))
		expect.That(t, f.Kind == roll.Impaired && f.Since.Equal(ago(tt.want)), "%s: %+v", name, f)
	}
}

// A node whose group puts its instance into a warm pool or Standby need not be ready. Its whole
// time starts when that ends.
func TestANodeHasItsTimeFromTheEndOfARestOn(t *testing.T) {
	i, n := worker(id, 24*time.Hour), node(id, roll.ConditionUnknown, 2*time.Hour)
	state := ledger.State{}
	look := func(at time.Time, d roll.Detail) assess.Assessment {
		s := snapshot([]roll.Instance{i}, []roll.Node{n})
		s.Details[id] = d
		a := assess.Assess(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: at})
		state.Apply(ledger.Changes{Put: ledger.State{Rests: a.Rests, NotReady: a.NotReady}})
		return a
	}
	standby, serving := roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "Standby"}, roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "InService"}
	if a := look(now, standby); len(a.Findings) != 0 || a.Count[""].Nodes != 0 || len(a.Notes) != 1 {
		t.Fatalf("in Standby: %+v", a)
	}
	a := look(now.Add(time.Minute), roll.Detail{})
	must.That(t, len(a.Findings) == 0 && len(a.Questions) == 1 && a.Questions[0].AutoScaling, "nobody knows whether it rests still: %+v", a)
	left := now.Add(time.Hour)
	for _, tt := range []struct {
		after time.Duration
		want  roll.Stage
	}{{0, roll.Watching}, {30*time.Minute - time.Second, roll.Watching}, {30 * time.Minute, roll.Overdue}} {
		f := one(t, tt.after.String(), look(left.Add(tt.after), serving))
		expect.That(t, f.Stage == tt.want && f.Since.Equal(left), "%s after its rest: %+v", tt.after, f)
	}
	// Its status changed with the end of the rest.
	state.NotReady = map[roll.InstanceID]ledger.NotReady{id: {Since: now, Status: roll.ConditionUnknown, Transition: now, Known: true}}
	n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: left}
	f := one(t, "another status", look(left.Add(time.Minute), serving))
	expect.That(t, f.Kind == roll.NotReady && f.Since.Equal(left), "another status after its rest: %+v", f)
}

// A condition that latched days ago does not prevent the repair of an accelerator.
func TestTheConditionThatIsRepairedComesFirst(t *testing.T) {
	for _, tt := range []struct {
		name, policy, reason string
		since                time.Duration
		want                 string
	}{
		{"repaired", "repair: {accelerators: true}", "NvidiaXID79Error", time.Hour, roll.AcceleratedHardware},
		{"within its tolerance", "repair: {accelerators: true}", "NvidiaXID79Error", 9 * time.Minute, "NetworkingReady"},
		{"held", "repair: {accelerators: true}", "DCGMError", time.Hour, "NetworkingReady"},
		{"not opted in", "", "NvidiaXID79Error", time.Hour, "NetworkingReady"},
	} {
		doc, err := policy.Parse([]byte("apiVersion: rollcall/v1\n" + tt.policy + "\n"))
		must.Succeed(t, err)
		i, n := pair()
		n.Conditions = []roll.TypedCondition{
			{Type: roll.AcceleratedHardware, Condition: roll.Condition{Status: roll.ConditionFalse, Since: ago(tt.since), Reason: tt.reason}},
			{Type: "NetworkingReady", Condition: roll.Condition{Status: roll.ConditionFalse, Since: ago(2 * time.Hour), Reason: "IPAMDNotReady"}},
		}
		s := snapshot([]roll.Instance{i}, []roll.Node{n})
		s.StatusRead = roll.Yes
		a := assess.Assess(assess.Input{Snapshot: s, Policy: doc.Cluster("demo", "", policy.Remediate), Now: now})
		f := one(t, tt.name, a)
		expect.That(t, f.Condition == tt.want && f.Reason != "", "%s: %+v", tt.name, f)
		asks := len(a.Questions) > 0
		expect.That(t, asks == (tt.name == "repaired"), "%s: asks %+v", tt.name, a.Questions)
	}
}
