package assess_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

const id roll.InstanceID = "i-0000000000000000a"

// defaults is the policy of an empty document.
var defaults = policy.Default().Cluster("demo", "", policy.Observe)

func snapshot(instances []roll.Instance, nodes []roll.Node, gaps ...roll.Gap) *roll.Snapshot {
	return &roll.Snapshot{
		At: now, Cluster: roll.Cluster{ID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}, Status: roll.ClusterActive},
		Instances: instances, Nodes: nodes, Gaps: gaps, Details: map[roll.InstanceID]roll.Detail{},
	}
}

// worker returns a running instance of an Auto Scaling group, launched at the given age.
func worker(id roll.InstanceID, age time.Duration) roll.Instance {
	return roll.Instance{ID: id, State: roll.StateRunning, Launched: now.Add(-age), ASG: "w", Owner: roll.OwnerAutoScalingGroup, Group: "asg/w", Zone: "eu-west-1a"}
}

// poolWorker returns a running instance of a Karpenter node pool.
func poolWorker(id roll.InstanceID, age time.Duration) roll.Instance {
	return roll.Instance{ID: id, State: roll.StateRunning, Launched: now.Add(-age), Owner: roll.OwnerKarpenter, Group: "nodepool/default"}
}

func node(id roll.InstanceID, status roll.ConditionStatus, since time.Duration) roll.Node {
	return roll.Node{Name: "node-" + string(id[len(id)-1:]), Compute: roll.ComputeEC2, Instance: id, Created: now.Add(-48 * time.Hour), Owner: roll.OwnerNone, Group: roll.GroupNone,
		Ready: roll.Condition{Status: status, Since: now.Add(-since), Reason: "Reason"}}
}

func judge(s *roll.Snapshot, state ledger.State) assess.Assessment {
	return assess.Assess(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: now})
}

func kindOf(f roll.Finding) roll.Kind { return f.Kind }

func TestAnInstanceWithoutANodeIsReportedWhereTheNodesWereListed(t *testing.T) {
	for kind, want := range map[roll.GapKind]int{roll.GapClusterNotActive: 1, roll.GapClusterUnreachable: 0, roll.GapFailed: 0} {
		s := snapshot([]roll.Instance{poolWorker(id, time.Hour)}, nil, roll.Gap{Scope: roll.ScopeCluster, Kind: kind})
		if a := judge(s, ledger.State{}); len(a.Findings) != want {
			t.Errorf("%s: %+v", kind, a.Findings)
		}
		s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeNodes, Kind: roll.GapThrottled})
		a := judge(s, ledger.State{})
		expect.That(t, len(a.Findings) == 0, "%s, and the nodes were not listed: %+v", kind, a.Findings)
	}
}

func TestUnregisteredByAge(t *testing.T) {
	tests := []struct {
		age     time.Duration
		stage   roll.Stage // "" is no finding
		waiting int
		next    time.Duration // from now; 0 for none
	}{
		{0, "", 1, 5 * time.Minute},
		{5*time.Minute - time.Second, "", 1, time.Second},
		{5 * time.Minute, roll.Warned, 0, 10 * time.Minute},
		{15*time.Minute - time.Second, roll.Warned, 0, time.Second},
		{15 * time.Minute, roll.Overdue, 0, time.Minute}, // the confirming check
		{24 * time.Hour, roll.Overdue, 0, time.Minute},
		{-time.Hour, "", 1, 5 * time.Minute}, // launched in the future: clocks differ
	}
	for _, tt := range tests {
		a := judge(snapshot([]roll.Instance{poolWorker(id, tt.age)}, nil), ledger.State{})
		var stage roll.Stage
		if len(a.Findings) > 0 {
			stage = a.Findings[0].Stage
			f := a.Findings[0]
			expect.That(t, f.Kind == roll.Unregistered && f.Instance == id && f.Owner == roll.OwnerKarpenter && f.Group == "nodepool/default", "age %s: got %+v", tt.age, f)
		}
		expect.That(t, stage == tt.stage && a.Waiting == tt.waiting && len(a.Rests) == 0, "age %s: stage %q, %d waiting, rests %v, want %q, %d, none", tt.age, stage, a.Waiting, a.Rests, tt.stage, tt.waiting)
		want := now.Add(tt.next)
		expect.That(t, a.Next.Equal(want), "age %s: next check %s, want %s", tt.age, a.Next, want)
	}
}

func TestNodeConditionByTime(t *testing.T) {
	tests := []struct {
		status roll.ConditionStatus
		since  time.Duration
		kind   roll.Kind
		stage  roll.Stage
	}{
		{roll.ConditionTrue, 0, "", ""},
		{roll.ConditionFalse, time.Second, roll.NotReady, roll.Watching},
		{roll.ConditionFalse, 15*time.Minute - time.Second, roll.NotReady, roll.Watching},
		{roll.ConditionFalse, 15 * time.Minute, roll.NotReady, roll.Overdue},
		{roll.ConditionUnknown, 30*time.Minute - time.Second, roll.Unknown, roll.Watching},
		{roll.ConditionUnknown, 30 * time.Minute, roll.Unknown, roll.Overdue},
		{roll.ConditionUnknown, -time.Hour, roll.Unknown, roll.Watching},
	}
	for _, tt := range tests {
		a := judge(snapshot([]roll.Instance{worker(id, 24*time.Hour)}, []roll.Node{node(id, tt.status, tt.since)}), ledger.State{})
		var kind roll.Kind
		var stage roll.Stage
		if len(a.Findings) > 0 {
			kind, stage = a.Findings[0].Kind, a.Findings[0].Stage
		}
		expect.That(t, kind == tt.kind && stage == tt.stage, "%s for %s: got %q %q, want %q %q", tt.status, tt.since, kind, stage, tt.kind, tt.stage)
		_, remembered := a.NotReady[id]
		expect.That(t, remembered == (tt.status != roll.ConditionTrue), "%s: remembered as not ready: %v", tt.status, remembered)
	}
}

// A node that changes from Unknown to False gets a new transition time, although it was never ready
// in between.
func TestTheLongerAbsenceCounts(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	tests := []struct {
		name     string
		known    ledger.NotReady
		launched time.Duration
		want     time.Duration
	}{
		{"it was Unknown before", ledger.NotReady{Since: ago(20 * time.Minute), Status: roll.ConditionUnknown, Transition: ago(20 * time.Minute)}, 24 * time.Hour, 20 * time.Minute},
		{"the same transition", ledger.NotReady{Since: ago(20 * time.Minute), Status: roll.ConditionFalse, Transition: ago(time.Minute)}, 24 * time.Hour, 20 * time.Minute},
		{"the same status, another transition: it was ready in between", ledger.NotReady{Since: ago(20 * time.Hour), Status: roll.ConditionFalse, Transition: ago(20 * time.Hour)}, 24 * time.Hour, time.Minute},
		{"remembered from before the instance was started again", ledger.NotReady{Since: ago(20 * time.Minute), Status: roll.ConditionUnknown, Transition: ago(20 * time.Minute)}, 10 * time.Minute, time.Minute},
		{"remembered from before the node was created", ledger.NotReady{Since: ago(72 * time.Hour), Status: roll.ConditionUnknown, Transition: ago(72 * time.Hour)}, 96 * time.Hour, time.Minute},
		{"remembered later than the transition", ledger.NotReady{Since: ago(time.Second), Status: roll.ConditionUnknown, Transition: ago(time.Second)}, 24 * time.Hour, time.Minute},
	}
	for _, tt := range tests {
		state := ledger.State{Checked: ago(5 * time.Minute), NotReady: map[roll.InstanceID]ledger.NotReady{id: tt.known}}
		s := snapshot([]roll.Instance{worker(id, tt.launched)}, []roll.Node{node(id, roll.ConditionFalse, time.Minute)})
		if f := judge(s, state).Findings[0]; !f.Since.Equal(ago(tt.want)) {
			t.Errorf("%s: since %s ago, want %s", tt.name, now.Sub(f.Since), tt.want)
		}
	}
}

// A check whose clock is behind sees a transition in the future. Another check's clock makes no other
// absence of it.
func TestAClockThatIsBehindBeginsNoOtherAbsence(t *testing.T) {
	was, turned := now.Add(-3*time.Hour), now.Add(13*time.Second)
	state := ledger.State{Checked: now.Add(-5 * time.Minute), NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: was, Status: roll.ConditionFalse, Transition: was}}}
	for _, at := range []time.Time{now, now.Add(40 * time.Second), now.Add(45 * time.Minute)} {
		s := snapshot([]roll.Instance{worker(id, 48*time.Hour)}, []roll.Node{node(id, roll.ConditionUnknown, now.Sub(turned))})
		a := assess.Assess(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: at})
		got := a.NotReady[id]
		expect.That(t, got.Since.Equal(was), "at %s: not ready since %s, want %s", at, got.Since, was)
		state.Checked, state.NotReady = at, a.NotReady
	}
}

// The pressures become Unknown with Ready. If they changed longer before Ready than one report takes,
// the kubelet had been reporting, and the node was Ready.
func TestAKubeletThatReportedBeforeShowsThatTheNodeWasReady(t *testing.T) {
	silent := now.Add(-20 * time.Minute)
	state := ledger.State{Checked: now.Add(-5 * time.Minute), NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: silent, Status: roll.ConditionUnknown, Transition: silent}}}
	for before, ready := range map[time.Duration]bool{0: false, 5 * time.Second: false, 6 * time.Second: true, 24 * time.Hour: true} {
		s := snapshot([]roll.Instance{worker(id, 48*time.Hour)}, []roll.Node{node(id, roll.ConditionFalse, time.Minute)})
		s.Nodes[0].Reporting = s.Nodes[0].Ready.Since.Add(-before)
		want := silent
		if ready {
			want = s.Nodes[0].Ready.Since
		}
		a := judge(s, state)
		since := a.NotReady[id].Since
		if len(a.Findings) > 0 {
			since = a.Findings[0].Since
		}
		expect.That(t, since.Equal(want), "reported %s before: not ready since %s, want %s", before, since, want)
	}
}

// Between two absences of the same status the node was Ready, or it had the other status that is not
// Ready, as in a reboot. No check saw which, so the finding says from when it may have lasted.
func TestTroubleMayHaveLastedWhileNoCheckCame(t *testing.T) {
	const before = 3 * time.Hour
	want := now.Add(-before)
	for _, checked := range []time.Duration{time.Second, time.Hour} {
		changed := now.Add(-time.Minute)
		state := ledger.State{
			First: now.Add(-48 * time.Hour), Checked: changed.Add(-checked),
			NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: now.Add(-before), Status: roll.ConditionFalse, Transition: now.Add(-before)}},
		}
		s := snapshot([]roll.Instance{worker(id, 24*time.Hour)}, []roll.Node{node(id, roll.ConditionFalse, time.Minute)})
		for look, at := range []time.Time{now, now.Add(time.Minute)} { // a second check knows it still
			a := assess.Assess(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: at})
			if f := a.Findings[0]; !f.Since.Equal(changed) || !f.Due.Equal(changed.Add(15*time.Minute)) || !f.Perhaps.Equal(want) {
				t.Errorf("checked %s before, look %d: since %s, due %s, perhaps since %s, want %s", checked, look, f.Since, f.Due, f.Perhaps, want)
			}
			state.NotReady, state.Checked = a.NotReady, at
		}
	}
}

// A node that no check saw for a while may have been Ready in that time. Its tolerance counts from
// when it was certainly not ready. The trouble may still have begun at its first sight, so that what
// was ill before the first check stays so.
func TestTimeInWhichNoCheckSawTheNodeIsNotTolerance(t *testing.T) {
	const before = 40 * time.Minute // when it went silent
	for _, tt := range []struct {
		name    string
		checked time.Duration // before its status changed
		want    time.Duration // from when the tolerance counts, before now
	}{
		{"a check saw it just before", 6 * time.Minute, before},
		{"none did for a while", 6*time.Minute + time.Second, time.Minute},
		{"none did for long", 18 * time.Minute, time.Minute},
	} {
		changed := now.Add(-time.Minute)
		state := ledger.State{
			First: now.Add(-48 * time.Hour), Checked: changed.Add(-tt.checked),
			NotReady: map[roll.InstanceID]ledger.NotReady{id: {Since: now.Add(-before), Status: roll.ConditionUnknown, Transition: now.Add(-before)}},
		}
		s := snapshot([]roll.Instance{worker(id, 24*time.Hour)}, []roll.Node{node(id, roll.ConditionFalse, time.Minute)})
		// A second check, and another change that a check saw, keep what is certain.
		for look, at := range []time.Time{now, now.Add(time.Minute), now.Add(2 * time.Minute)} {
			if look == 2 {
				s.Nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(90 * time.Second)}
			}
			a := assess.Assess(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: at})
			f := a.Findings[0]
			tolerance := map[roll.Kind]time.Duration{roll.NotReady: 15 * time.Minute, roll.Unknown: 30 * time.Minute}[f.Kind]
			expect.That(t, f.Since.Equal(now.Add(-before)) && f.Due.Equal(now.Add(-tt.want).Add(tolerance)), "%s, look %d: %s since %s ago, due in %s", tt.name, look, f.Kind, now.Sub(f.Since), f.Due.Sub(now))
			state.NotReady, state.Checked = a.NotReady, at
		}
	}
}

// The node's last status is from the boot before; the new boot gets its whole tolerance.
func TestAnInstanceThatWasStartedAgainGetsItsWholeTolerance(t *testing.T) {
	s := snapshot([]roll.Instance{worker(id, 2*time.Minute)}, []roll.Node{node(id, roll.ConditionUnknown, 3*time.Hour)})
	f := judge(s, ledger.State{}).Findings[0]
	expect.That(t, f.Stage == roll.Watching && f.Since.Equal(now.Add(-2*time.Minute)), "%s since %s", f.Stage, f.Since)
}

func TestAnInstanceThatRestedHasItsTimeFromThenOn(t *testing.T) {
	instance := worker(id, 3*time.Hour)
	instance.Owner, instance.Group = roll.OwnerManagedNodeGroup, "nodegroup/w"
	state := ledger.State{}
	look := func(at time.Time, lifecycle string) assess.Assessment {
		s := snapshot([]roll.Instance{instance}, nil)
		s.Details[id] = roll.Detail{Lifecycle: lifecycle, LifecycleRead: roll.Yes, TerminationProtected: roll.No}
		a := assess.Assess(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: at})
		state.Apply(ledger.Changes{Put: ledger.State{Rests: a.Rests}})
		return a
	}
	if a := look(now, "Warmed:Running"); len(a.Findings) != 0 || a.Rests[id] != (ledger.Rest{Warm: true}) {
		t.Fatalf("resting: %+v", a)
	}
	left := now.Add(time.Hour)
	for _, tt := range []struct {
		minutes int
		want    roll.Stage
	}{{0, ""}, {4, ""}, {5, roll.Warned}, {14, roll.Warned}, {15, roll.Overdue}} {
		a := look(left.Add(time.Duration(tt.minutes)*time.Minute), "InService")
		var got roll.Stage
		if len(a.Findings) > 0 {
			got = a.Findings[0].Stage
		}
		expect.That(t, got == tt.want && a.Rests[id].Left.Equal(left), "%d minutes after its rest: %q, remembered %v, want %q", tt.minutes, got, a.Rests, tt.want)
	}
}

func TestAnInstanceWhoseGroupCannotBeReadIsNotJudged(t *testing.T) {
	s := snapshot([]roll.Instance{worker(id, time.Hour)}, nil)
	s.Details[id] = roll.Detail{LifecycleRead: roll.Unreadable, Bootstraps: roll.Yes}
	a := judge(s, ledger.State{})
	expect.That(t, len(a.Findings) == 0 && len(a.Notes) == 1 && strings.Contains(a.Notes[0], "not judged"), "findings %+v, notes %q", a.Findings, a.Notes)
}

func TestWhatWasSeenBeforeTheClusterWasCreatedShowsNothing(t *testing.T) {
	s := snapshot([]roll.Instance{worker(id, time.Hour)}, nil)
	s.Details[id] = roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "InService", Bootstraps: roll.No}
	s.Cluster.Created = now.Add(-2 * time.Hour)
	for seen, want := range map[time.Duration]int{3 * time.Hour: 0, time.Hour: 1} {
		state := ledger.State{GroupsWithNodes: map[roll.Origin]time.Time{"asg/w": now.Add(-seen)}}
		a := judge(s, state)
		expect.That(t, len(a.Findings) == want, "a node seen %s ago: %d findings, want %d", seen, len(a.Findings), want)
	}
}

func TestAnInstanceOfAnotherClusterIsNotJudgedHere(t *testing.T) {
	i := worker(id, time.Hour)
	i.OtherCluster = "other"
	a := judge(snapshot([]roll.Instance{i}, []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}), ledger.State{})
	expect.That(t, len(a.Findings) == 0 && len(a.Notes) == 1 && strings.Contains(a.Notes[0], "other"), "findings %+v, notes %q", a.Findings, a.Notes)
}

func TestANodeThatNeverReportedIsUnknownSinceItsCreation(t *testing.T) {
	n := node(id, roll.ConditionUnknown, 0)
	n.Ready.Since, n.Created = time.Time{}, now.Add(-31*time.Minute)
	a := judge(snapshot([]roll.Instance{worker(id, time.Hour)}, []roll.Node{n}), ledger.State{})
	f := a.Findings[0]
	expect.That(t, f.Kind == roll.Unknown && f.Stage == roll.Overdue && f.Since.Equal(n.Created), "got %+v", f)
}

func TestWhatWasNotReadIsNotJudged(t *testing.T) {
	silent := node("i-0000000000000000b", roll.ConditionUnknown, time.Hour)
	instances := []roll.Instance{poolWorker(id, time.Hour), worker("i-0000000000000000b", time.Hour)}
	tests := []struct {
		name      string
		instances []roll.Instance
		nodes     []roll.Node
		scope     roll.Scope
		want      []roll.Kind
	}{
		{"no nodes read: nobody is unregistered", instances, nil, roll.ScopeNodes, nil},
		{"some nodes read: still nobody is unregistered, and a silent node is silent", instances, []roll.Node{silent}, roll.ScopeNodes, []roll.Kind{roll.Unknown}},
		{"no instances read: what Kubernetes says is reported", nil, []roll.Node{silent}, roll.ScopeInstances, []roll.Kind{roll.Unknown}},
		{"no cluster: nothing", nil, nil, roll.ScopeCluster, nil},
	}
	for _, tt := range tests {
		a := judge(snapshot(tt.instances, tt.nodes, roll.Gap{Scope: tt.scope}), ledger.State{})
		expect.List(t, roll.Map(a.Findings, kindOf), tt.want, "%s", tt.name)
	}
}

func TestWhatIsNoCandidateIsNeverAFinding(t *testing.T) {
	change := func(f func(*roll.Instance)) roll.Instance {
		i := worker(id, 24*time.Hour)
		i.Owner, i.Group = roll.OwnerKarpenter, "nodepool/default"
		f(&i)
		return i
	}
	tests := map[string]struct {
		instance roll.Instance
		nodes    []roll.Node
		detail   roll.Detail
	}{
		"pending":                                {instance: change(func(i *roll.Instance) { i.State, i.Launched = roll.StatePending, now.Add(-9*time.Minute) })},
		"stopped":                                {instance: change(func(i *roll.Instance) { i.State = roll.StateStopped })},
		"shutting down":                          {instance: change(func(i *roll.Instance) { i.State = roll.StateShuttingDown })},
		"shutting down, node silent":             {instance: change(func(i *roll.Instance) { i.State = roll.StateShuttingDown }), nodes: []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}},
		"shutting down, node ready":              {instance: change(func(i *roll.Instance) { i.State = roll.StateShuttingDown }), nodes: []roll.Node{node(id, roll.ConditionTrue, time.Hour)}},
		"pending, node silent":                   {instance: change(func(i *roll.Instance) { i.State = roll.StatePending }), nodes: []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}},
		"terminated, no node":                    {instance: change(func(i *roll.Instance) { i.State = roll.StateTerminated })},
		"standby, node silent":                   {instance: change(func(*roll.Instance) {}), nodes: []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}, detail: roll.Detail{Lifecycle: "Standby", LifecycleRead: roll.Yes}},
		"warm pool, stopped, node silent":        {instance: change(func(i *roll.Instance) { i.State = roll.StateStopped }), nodes: []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}, detail: roll.Detail{Lifecycle: "Warmed:Stopped", LifecycleRead: roll.Yes}},
		"stopped, node silent, group unreadable": {instance: change(func(i *roll.Instance) { i.State = roll.StateStopped }), nodes: []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}, detail: roll.Detail{LifecycleRead: roll.Unreadable}},
		"claimed for two clusters":               {instance: change(func(i *roll.Instance) { i.Ambiguous = true })},
		"warm pool, running":                     {instance: change(func(*roll.Instance) {}), detail: roll.Detail{Lifecycle: "Warmed:Running", LifecycleRead: roll.Yes}},
		"warm pool, pending":                     {instance: change(func(*roll.Instance) {}), detail: roll.Detail{Lifecycle: "Warmed:Pending:Wait", LifecycleRead: roll.Yes}},
		"standby":                                {instance: change(func(*roll.Instance) {}), detail: roll.Detail{Lifecycle: "Standby", LifecycleRead: roll.Yes}},
		"terminating in its group":               {instance: change(func(*roll.Instance) {}), detail: roll.Detail{Lifecycle: "Terminating:Wait", LifecycleRead: roll.Yes}},
		"bastion":                                {instance: change(func(i *roll.Instance) { i.Owner, i.Group, i.ASG = roll.OwnerNone, roll.GroupNone, "" }), detail: roll.Detail{Bootstraps: roll.No}},
		"user data unreadable":                   {instance: change(func(i *roll.Instance) { i.Owner, i.Group, i.ASG = roll.OwnerNone, roll.GroupNone, "" }), detail: roll.Detail{Bootstraps: roll.Unreadable}},
		"bastion that has just started":          {instance: change(func(i *roll.Instance) { i.Owner, i.Group, i.ASG, i.Launched = roll.OwnerNone, roll.GroupNone, "", now }), detail: roll.Detail{Bootstraps: roll.No}},
		"control plane of Cluster API": {instance: change(func(i *roll.Instance) {
			i.Owner, i.Group, i.ASG, i.ClusterAPIRole = roll.OwnerClusterAPI, roll.GroupNone, "", "control-plane"
		})},
		"control plane of a local cluster, without a node": {instance: change(func(i *roll.Instance) {
			i.Owner, i.Group, i.ASG, i.ControlPlane = roll.OwnerNone, roll.GroupNone, "", true
		}), detail: roll.Detail{Bootstraps: roll.Yes}},
		"control plane of a local cluster, by its tag": {instance: change(func(i *roll.Instance) { i.ControlPlane = true }), nodes: []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}},
		"control plane of a local cluster, by its taint": {instance: change(func(*roll.Instance) {}), nodes: []roll.Node{func() roll.Node {
			n := node(id, roll.ConditionUnknown, time.Hour)
			n.ControlPlane = true
			return n
		}()}},
		"control plane of a local cluster, replaced": {instance: change(func(i *roll.Instance) { i.State, i.ControlPlane = roll.StateTerminated, true }), nodes: []roll.Node{node(id, roll.ConditionUnknown, time.Hour)}},
		"entering standby":                           {instance: change(func(*roll.Instance) {}), detail: roll.Detail{Lifecycle: "EnteringStandby", LifecycleRead: roll.Yes}},
		"detaching":                                  {instance: change(func(*roll.Instance) {}), detail: roll.Detail{Lifecycle: "Detaching", LifecycleRead: roll.Yes}},
		"pending for long, for two clusters":         {instance: change(func(i *roll.Instance) { i.State, i.Ambiguous = roll.StatePending, true })},
		"pending for long, of another cluster":       {instance: change(func(i *roll.Instance) { i.State, i.OtherCluster = roll.StatePending, "other" })},
		"pending for long, claimed by nothing":       {instance: change(func(i *roll.Instance) { i.State, i.Unclaimed = roll.StatePending, true })},
		"nothing asked yet":                          {instance: change(func(i *roll.Instance) { i.Owner, i.Group, i.ASG = roll.OwnerNone, roll.GroupNone, "" })},
	}
	for name, tt := range tests {
		s := snapshot([]roll.Instance{tt.instance}, tt.nodes)
		s.Details[id] = tt.detail
		s.StatusRead, s.Impaired = roll.Yes, map[roll.InstanceID]roll.Impairment{id: {Since: now.Add(-time.Hour)}}
		s.Scheduled = map[roll.InstanceID]roll.Event{id: {Code: "instance-stop", NotBefore: now}}
		a := judge(s, ledger.State{})
		expect.That(t, len(a.Findings) == 0, "%s: got %+v", name, a.Findings)
	}
}

// Two of the three nodes of a local cluster's control plane that are down are no share of its workers.
func TestAControlPlaneIsNeitherCountedNorLearnedFrom(t *testing.T) {
	i := worker(id, time.Hour)
	i.LaunchTemplate = "lt-1:3"
	n := node(id, roll.ConditionUnknown, time.Hour)
	n.ControlPlane = true
	unnamed := node(sibling, roll.ConditionTrue, time.Hour)
	unnamed.Instance, unnamed.Compute, unnamed.ControlPlane = "", roll.ComputeUnknown, true
	a := judge(snapshot([]roll.Instance{i}, []roll.Node{n, unnamed}), ledger.State{})
	expect.That(t, a.Nodes == 2 && a.Ready == 1 && a.Count[""].Nodes == 0 && len(a.GroupsWithNodes) == 0 && len(a.Silent) == 0 && a.NoProviderID == 0, "%+v", a)
	expect.That(t, len(a.NotNodes) == 1 && a.NotNodes[0].Instance == id, "listed as %+v", a.NotNodes)
}

func TestOtherComputeIsNeverJudged(t *testing.T) {
	nodes := []roll.Node{}
	for _, c := range []roll.Compute{roll.ComputeFargate, roll.ComputeHybrid, roll.ComputeHyperPod, roll.ComputeOther, roll.ComputeUnknown} {
		n := node(id, roll.ConditionUnknown, 24*time.Hour)
		n.Compute, n.Instance = c, ""
		nodes = append(nodes, n)
	}
	a := judge(snapshot(nil, nodes), ledger.State{})
	expect.That(t, len(a.Findings) == 0 && len(a.Count) == 0 && a.Nodes == 5 && a.NoProviderID == 1, "got %d findings, %d nodes, %d without provider id, want 0, 5, 1", len(a.Findings), a.Nodes, a.NoProviderID)
}

func TestIntentIsShownBy(t *testing.T) {
	asg := worker(id, time.Hour)
	template := roll.Instance{ID: id, State: roll.StateRunning, Launched: now.Add(-time.Hour), LaunchTemplate: "lt-1:3", Owner: roll.OwnerNone, Group: roll.GroupNone}
	bare := template
	bare.LaunchTemplate = ""
	managed := worker(id, time.Hour)
	managed.Owner, managed.Group = roll.OwnerManagedNodeGroup, "nodegroup/w"
	capi := bare
	capi.Owner, capi.ClusterAPIRole = roll.OwnerClusterAPI, "node"
	scaled := worker(id, time.Hour)
	scaled.Scaled = true
	stray := bare
	stray.Scaled = true
	version := func(v string) roll.Instance { i := template; i.LaunchTemplate = v; return i }
	had := func(o roll.Origin, ago time.Duration) ledger.State {
		return ledger.State{GroupsWithNodes: map[roll.Origin]time.Time{o: now.Add(-ago)}}
	}
	sibling := worker("i-0000000000000000b", time.Hour)
	sibling.LaunchTemplate = "lt-1:3"
	siblingNode := []roll.Node{node(sibling.ID, roll.ConditionTrue, 0)}
	yes, no, unreadable := roll.Detail{Bootstraps: roll.Yes}, roll.Detail{Bootstraps: roll.No}, roll.Detail{Bootstraps: roll.Unreadable}
	elsewhere := roll.Detail{Bootstraps: roll.No, OtherCluster: "other"}
	tests := []struct {
		name     string
		instance roll.Instance
		detail   roll.Detail
		state    ledger.State
		sibling  bool
		want     bool
	}{
		{name: "an Auto Scaling group of which nothing is known", instance: asg, want: false},
		{name: "its Auto Scaling group has a node", instance: asg, sibling: true, want: true},
		{name: "its Auto Scaling group had a node", instance: asg, state: had("asg/w", 0), want: true},
		{name: "its Auto Scaling group had one for the last time just under 100 days ago", instance: asg, state: had("asg/w", ledger.IntentRetention-time.Second), want: true},
		{name: "its Auto Scaling group had one for the last time 100 days ago", instance: asg, state: had("asg/w", ledger.IntentRetention), want: false},
		{name: "its Auto Scaling group had one 100 days ago, and has one", instance: asg, state: had("asg/w", ledger.IntentRetention), sibling: true, want: true},
		{name: "its Auto Scaling group had one 100 days ago, and its user data bootstraps a node", instance: asg, detail: yes, state: had("asg/w", ledger.IntentRetention), want: true},
		{name: "its Auto Scaling group has a node, and it joins another cluster", instance: asg, detail: elsewhere, sibling: true, want: true}, // a finding that package plan holds
		{name: "this cluster's autoscaler scales its group, and it joins another cluster", instance: scaled, detail: elsewhere, want: true},    // a finding that package plan holds
		{name: "this cluster's autoscaler scales its group, and nothing else is known", instance: scaled, want: false},
		{name: "this cluster's autoscaler scales its group, and its user data joins none", instance: scaled, detail: no, want: false},
		{name: "it has the autoscaler's tag and no group, and joins another cluster", instance: stray, detail: elsewhere, want: false},
		{name: "no autoscaler scales its group, and it joins another cluster", instance: asg, detail: elsewhere, want: false},
		{name: "a launch template of which nothing is known", instance: template, want: false},
		{name: "its launch template has a node", instance: template, sibling: true, want: true},
		{name: "another version of its launch template has a node", instance: version("lt-1:4"), detail: no, sibling: true, want: false},
		{name: "another version has a node, and its user data cannot be read", instance: version("lt-1:4"), detail: unreadable, sibling: true, want: false},
		{name: "another version has a node, and its user data bootstraps a node", instance: version("lt-1:4"), detail: yes, sibling: true, want: true},
		{name: "its launch template has a node, and nobody knows its version", instance: version(""), detail: no, sibling: true, want: false},
		{name: "its launch template had a node", instance: template, state: had("lt-1:3", 0), want: true},
		{name: "another version of its launch template had a node", instance: template, state: had("lt-1:2", 0), want: false},
		{name: "its launch template had one for the last time just under 100 days ago", instance: template, state: had("lt-1:3", ledger.IntentRetention-time.Second), want: true},
		{name: "its launch template had one for the last time 100 days ago", instance: template, state: had("lt-1:3", ledger.IntentRetention), want: false},
		{name: "its launch template has a node, and it joins another cluster", instance: template, detail: elsewhere, sibling: true, want: false},
		{name: "its launch template has a node, and its user data joins none", instance: template, detail: no, sibling: true, want: true}, // a finding that package plan holds
		{name: "its user data bootstraps a node", instance: bare, detail: yes, want: true},
		{name: "its user data bootstraps none", instance: bare, detail: no, sibling: true, want: false},
		{name: "its user data bootstraps another cluster's", instance: bare, detail: elsewhere, sibling: true, want: false},
		{name: "a managed node group owns it", instance: managed, want: true},
		{name: "a managed node group owns it, and it joins another cluster", instance: managed, detail: elsewhere, want: true}, // a finding that package plan holds
		{name: "its launch template version bootstraps a node", instance: template, detail: roll.Detail{TemplateBootstraps: true}, want: true},
		{name: "its user data bootstraps a node of a cluster that it does not name", instance: bare, detail: roll.Detail{Bootstraps: roll.Unreadable, BootstrapsUnnamed: true}, want: true}, // a finding that package plan holds
		{name: "Cluster API created it as a node", instance: capi, want: true},
		{name: "Karpenter owns it", instance: poolWorker(id, time.Hour), want: true},
	}
	for _, tt := range tests {
		instances, nodes := []roll.Instance{tt.instance}, []roll.Node(nil)
		if tt.sibling {
			instances, nodes = append(instances, sibling), siblingNode
		}
		s := snapshot(instances, nodes)
		s.Details[id] = tt.detail
		a := judge(s, tt.state)
		expect.Equal(t, len(a.Findings) == 1, tt.want, "%s: finding", tt.name)
		if !tt.want && (len(a.NotNodes) != 1 || a.NotNodes[0].Instance != id || a.NotNodes[0].Why == "") {
			t.Errorf("%s: listed as %+v, want one line that says why it is no node", tt.name, a.NotNodes)
		}
		if other := tt.detail.OtherCluster; !tt.want && other != "" && !strings.Contains(a.NotNodes[0].Why, other) {
			t.Errorf("%s: %q does not name %s", tt.name, a.NotNodes[0].Why, other)
		}
	}
}

func TestWhatHasNodesIsLearned(t *testing.T) {
	templated, bare, lone := worker("i-00000001", time.Hour), roll.Instance{ID: "i-00000002", State: roll.StateRunning}, worker("i-00000003", time.Hour)
	templated.LaunchTemplate, lone.ASG = "lt-1:3", "none-yet"
	instances := []roll.Instance{templated, bare, lone}
	nodes := []roll.Node{node(templated.ID, roll.ConditionTrue, 0), node(bare.ID, roll.ConditionTrue, 0)}
	// An instance that does not provably belong to this cluster is no evidence, whatever a node
	// says.
	for n, not := range []func(*roll.Instance){
		func(i *roll.Instance) { i.Unclaimed = true }, func(i *roll.Instance) { i.Ambiguous = true }, func(i *roll.Instance) { i.Unclaimed, i.OtherCluster = true, "other" },
	} {
		i := roll.Instance{ID: roll.InstanceID(fmt.Sprint("i-0000001", n)), State: roll.StateRunning, ASG: "theirs", LaunchTemplate: "lt-2:1"}
		not(&i)
		instances, nodes = append(instances, i), append(nodes, node(i.ID, roll.ConditionTrue, 0))
	}
	a := judge(snapshot(instances, nodes), ledger.State{})
	expect.Same(t, a.GroupsWithNodes, map[roll.Origin]bool{"asg/w": true, "lt-1:3": true}, "groups with nodes")
}

// An Auto Scaling group may launch something else from one version of its launch template on, such as
// runners of a build system, while its last nodes still run.
func TestAGroupMayHaveAnotherPurposeSinceAVersion(t *testing.T) {
	had := func(origins ...roll.Origin) (s ledger.State) {
		s.GroupsWithNodes = map[roll.Origin]time.Time{}
		for _, o := range origins {
			s.GroupsWithNodes[o] = now.Add(-time.Hour)
		}
		return s
	}
	failed := []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapThrottled, Call: roll.CallInstanceAttribute}}
	no, unread := roll.Detail{Bootstraps: roll.No}, roll.Detail{Bootstraps: roll.Unreadable}
	tests := []struct {
		name    string
		version string
		detail  roll.Detail
		state   ledger.State
		gaps    []roll.Gap
		want    bool // only others of its group show it
	}{
		{"its version had nodes", "lt-1:2", no, had("asg/w", "lt-1:2"), nil, false},
		{"its version had none", "lt-1:2", no, had("asg/w", "lt-1:1"), nil, true},
		{"its version had none, and nothing is read yet", "lt-1:2", roll.Detail{}, had("asg/w"), nil, true},
		{"its version had none, and its user data was not read", "lt-1:2", unread, had("asg/w"), failed, true},
		{"its version had none, and its user data computes what it joins", "lt-1:2", roll.Detail{Bootstraps: roll.Unreadable, BootstrapsUnnamed: true}, had("asg/w"), nil, false},
		{"its version had none, and its user data may join something", "lt-1:2", unread, had("asg/w"), nil, true},
		{"its version had none, and it bootstraps a node", "lt-1:2", roll.Detail{Bootstraps: roll.Yes}, had("asg/w"), nil, false},
		{"a launch configuration", "", no, had("asg/w"), nil, false},
	}
	for _, tt := range tests {
		i := worker(id, time.Hour)
		i.LaunchTemplate = tt.version
		s := snapshot([]roll.Instance{i}, nil)
		s.Details[id], s.Gaps = tt.detail, tt.gaps
		a := judge(s, tt.state)
		asks := slices.ContainsFunc(a.Questions, func(q roll.Question) bool { return q.UserData })
		if a.Inherited[id] != tt.want || len(a.Findings) != 1 || asks != (tt.detail.Bootstraps == roll.NotAsked) {
			t.Errorf("%s: by others %v, want %v; asks %+v, found %+v", tt.name, a.Inherited[id], tt.want, a.Questions, a.Findings)
		}
	}
}

// A person may launch an instance with other user data than its launch template has.
func TestTheUserDataOfWhatOnlyItsTemplateShowsIsAskedFor(t *testing.T) {
	sibling := worker("i-0000000000000000b", time.Hour)
	sibling.LaunchTemplate = "lt-1:3"
	templated := roll.Instance{ID: id, State: roll.StateRunning, Launched: now.Add(-6 * time.Minute), LaunchTemplate: "lt-1:3", Owner: roll.OwnerNone, Group: roll.GroupNone}
	a := judge(snapshot([]roll.Instance{templated, sibling}, []roll.Node{node(sibling.ID, roll.ConditionTrue, 0)}), ledger.State{})
	want := []roll.Question{{Instance: id, UserData: true}}
	expect.That(t, slices.Equal(a.Questions, want) && len(a.Findings) == 1, "asks %+v, found %+v", a.Questions, a.Findings)
}

func TestOnlySuspectsAreAskedAbout(t *testing.T) {
	bare := roll.Instance{ID: "i-0000000000000000c", State: roll.StateRunning, Launched: now.Add(-time.Hour), Owner: roll.OwnerNone, Group: roll.GroupNone}
	youngBare := bare
	youngBare.ID, youngBare.Launched = "i-0000000000000000d", now.Add(-time.Minute)
	s := snapshot([]roll.Instance{
		worker(id, time.Hour), worker("i-0000000000000000b", time.Hour), bare, youngBare, poolWorker("i-0000000000000000e", 6*time.Minute),
	}, []roll.Node{node(id, roll.ConditionUnknown, time.Hour), node("i-0000000000000000b", roll.ConditionTrue, 0)})
	want := []roll.Question{
		{Instance: id, AutoScaling: true, Group: true, Protection: true, Pods: "node-a"}, // overdue: it may be terminated
		{Instance: "i-0000000000000000e", NodeClaim: true},                               // warned: does it still have a NodeClaim?
		{Instance: bare.ID, UserData: true},                                              // should it be a node?
	}
	expect.Same(t, judge(s, ledger.State{}).Questions, want, "questions")
	rounds := 0
	a := assess.Thoroughly(assess.Input{Snapshot: s, Policy: defaults, Now: now}, func(qs []roll.Question) {
		rounds++
		for _, q := range qs {
			s.Details[q.Instance] = roll.Detail{Bootstraps: roll.Yes, LifecycleRead: roll.Yes, Lifecycle: "InService", TerminationProtected: roll.No, ScaleInProtected: roll.No, HasNodeClaim: roll.Yes, LeaseRead: roll.No, Pods: &roll.NodePods{Read: roll.Yes}}
		}
		s.Groups = map[roll.Group]roll.GroupDetail{"asg/w": {}}
	})
	expect.That(t, len(a.Questions) == 0 && rounds == 1, "%d questions left after %d rounds", len(a.Questions), rounds)
	expect.That(t, len(a.Findings) == 3, "%d findings, want the silent node, the bare instance whose user data tells, and the warned one", len(a.Findings))
}

func TestMostUrgentFirst(t *testing.T) {
	s := snapshot([]roll.Instance{poolWorker("i-00000001", 6*time.Minute), poolWorker("i-00000002", time.Hour), poolWorker("i-00000003", 2*time.Hour)}, nil)
	got := roll.Map(judge(s, ledger.State{}).Findings, func(f roll.Finding) roll.InstanceID { return f.Instance })
	expect.List(t, got, []roll.InstanceID{"i-00000003", "i-00000002", "i-00000001"}, "findings of")
}

func TestCountsForTheShares(t *testing.T) {
	s := snapshot([]roll.Instance{
		poolWorker("i-00000001", time.Hour),     // overdue: counts as a candidate
		poolWorker("i-00000002", 6*time.Minute), // within its tolerance: not yet
		worker("i-00000003", time.Hour), worker("i-00000004", time.Hour),
	}, []roll.Node{node("i-00000003", roll.ConditionTrue, 0), node("i-00000004", roll.ConditionUnknown, time.Hour)})
	want := map[roll.Group]assess.Count{"": {Nodes: 3, Overdue: 2}, "nodepool/default": {Nodes: 1, Overdue: 1}, "asg/w": {Nodes: 2, Overdue: 1}}
	expect.Same(t, judge(s, ledger.State{}).Count, want, "counts")
}

func TestTheSecondSightingIsScheduled(t *testing.T) {
	s := snapshot([]roll.Instance{poolWorker(id, time.Hour)}, nil)
	began := now.Add(-time.Hour)
	state := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{{Instance: id, Kind: roll.Unregistered}: {FirstSeen: now.Add(-20 * time.Second), Began: began}}}
	if a := judge(s, state); !a.Next.Equal(now.Add(40 * time.Second)) {
		t.Errorf("next check %s, want 60 s after the first sighting", a.Next)
	}
	state.Findings[roll.FindingKey{Instance: id, Kind: roll.Unregistered}] = ledger.Finding{FirstSeen: now.Add(-20 * time.Second), Began: began.Add(-time.Hour)}
	if a := judge(s, state); !a.Next.Equal(now.Add(time.Minute)) {
		t.Errorf("next check %s, want 60 s from now: what is known was another trouble", a.Next)
	}
	state.Findings[roll.FindingKey{Instance: id, Kind: roll.Unregistered}] = ledger.Finding{FirstSeen: now.Add(-time.Hour), Began: began}
	a := judge(s, state)
	expect.That(t, a.Next.IsZero(), "next check %s, want none: time alone changes nothing any more", a.Next)
}
