package assess_test

import (
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

const cilium = "node.cilium.io/agent-not-ready:NoSchedule"

// Agents restore their startup taint whenever they are down. A node is known never to have worked
// only if a check saw it young, and no check saw it ready.
func TestOnlyANodeThatNeverWasInOrderIsKnownNotToHaveWorked(t *testing.T) {
	seenYoung := func(worked bool, age time.Duration) ledger.State {
		s := known(roll.Uninitialized, ago(age), ago(age))
		f := s.Findings[key(roll.Uninitialized)]
		f.Worked = worked
		s.Findings[key(roll.Uninitialized)], s.Checked = f, ago(time.Minute)
		return s
	}
	silentSince := func(s ledger.State, age time.Duration) ledger.State {
		s.NotReady = map[roll.InstanceID]ledger.NotReady{id: {Since: ago(age)}}
		return s
	}
	for _, tt := range []struct {
		name  string
		age   time.Duration
		state ledger.State
		alter func(*roll.Instance, *roll.Node, *roll.Snapshot)
		want  bool
	}{
		{"it worked for two days, as the last check saw", 48 * time.Hour, ledger.State{Checked: ago(5 * time.Minute)}, nil, true},
		{"it worked for minutes, as the last check saw", 10 * time.Minute, ledger.State{Checked: ago(5 * time.Minute)}, nil, true},
		{"no check saw it before, and it still has time", 10 * time.Minute, ledger.State{Checked: ago(20 * time.Minute)}, nil, false},
		{"the last check may not have listed it", 10 * time.Minute, ledger.State{Checked: ago(10*time.Minute - 59*time.Second)}, nil, false},
		{"the last check listed it", 10 * time.Minute, ledger.State{Checked: ago(9 * time.Minute)}, nil, true},
		{"no check saw it before, and its time is over", 15 * time.Minute, ledger.State{Checked: ago(20 * time.Minute)}, nil, true},
		{"no check ever saw the cluster", 48 * time.Hour, ledger.State{}, nil, true},
		{"a check saw it young", 48 * time.Hour, seenYoung(false, 48*time.Hour), nil, false},
		{"a check saw it young, and the last one saw it silent", 48 * time.Hour, silentSince(seenYoung(false, 48*time.Hour), 49*time.Hour), nil, true},
		{"a check saw it young, and the last one saw it start", 48 * time.Hour, silentSince(seenYoung(false, 48*time.Hour), 48*time.Hour), nil, false},
		{"what was known stays", 48 * time.Hour, seenYoung(true, 48*time.Hour), nil, true},
		{"what was known is of the boot before", 48 * time.Hour, seenYoung(false, 50*time.Hour), nil, true},
		{"Karpenter initialized it", 10 * time.Minute, ledger.State{Checked: ago(20 * time.Minute)}, karpenters(true), true},
		{"Karpenter never did", 48 * time.Hour, ledger.State{Checked: ago(5 * time.Minute)}, karpenters(false), false},
		{"Karpenter initialized it, by its NodeClaim, and somebody took the label off", 48 * time.Hour, ledger.State{}, unlabelled(roll.ConditionTrue), true},
		{"Karpenter never did, by its NodeClaim", 48 * time.Hour, ledger.State{}, unlabelled(roll.ConditionUnknown), false},
		{"Karpenter takes its marks off for a reboot", 48 * time.Hour, ledger.State{}, rebooted(roll.ConditionTrue), true},
		{"Karpenter rebooted it", 48 * time.Hour, ledger.State{}, rebooted(roll.ConditionFalse), true},
	} {
		a := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			i.Launched, n.Created, n.StartupTaint = ago(tt.age), ago(tt.age), cilium
			n.Ready.Since = n.Created.Add(30 * time.Second)
			if tt.alter != nil {
				tt.alter(i, n, s)
			}
		}, tt.state)
		found := append(a.Findings, a.Starting...)
		expect.That(t, len(found) == 1 && found[0].Kind == roll.Uninitialized && found[0].Worked == tt.want, "%s: %+v, want worked %v", tt.name, found, tt.want)
	}
}

// A node that was not Ready at the last complete check was not in order there. What it is missing now began
// with the node, unless it could be Ready after its deadline.
func TestASilentNodeIsNotTakenForOneInOrder(t *testing.T) {
	created, checked := ago(time.Hour), ago(10*time.Minute)
	for name, tt := range map[string]struct {
		silent []ledger.NotReady
		want   time.Time
	}{
		"it was Ready":                 {nil, checked},
		"it fell silent when young":    {[]ledger.NotReady{{Since: ago(50 * time.Minute)}}, created},
		"it fell silent when grown up": {[]ledger.NotReady{{Since: ago(30 * time.Minute)}}, checked},
	} {
		state := ledger.State{Checked: checked, NotReady: map[roll.InstanceID]ledger.NotReady{}}
		for _, away := range tt.silent {
			state.NotReady[id] = away
		}
		f := one(t, name, look(func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.Launched, n.Created, n.StartupTaint = created, created, cilium
			n.Ready.Since = ago(time.Minute)
		}, state))
		expect.That(t, f.Kind == roll.Uninitialized && f.Since.Equal(tt.want), "%s: %s since %s, want %s", name, f.Kind, f.Since, tt.want)
	}
}

// unlabelled returns a change to a node without Karpenter's label, and whose NodeClaim agrees.
func unlabelled(initialized roll.ConditionStatus) func(*roll.Instance, *roll.Node, *roll.Snapshot) {
	return func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
		karpenters(false)(i, n, s)
		s.Details[id] = roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Initialized: roll.Condition{Status: initialized}}}
	}
}

// rebooted returns a change to a node that Karpenter reboots, or did, and has not initialized again.
func rebooted(rebooting roll.ConditionStatus) func(*roll.Instance, *roll.Node, *roll.Snapshot) {
	return func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
		unlabelled(roll.ConditionUnknown)(i, n, s)
		s.Details[id].NodeClaim.Rebooting.Status = rebooting
	}
}

func karpenters(initialized bool) func(*roll.Instance, *roll.Node, *roll.Snapshot) {
	return func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
		i.ASG, i.Owner, i.Group = "", roll.OwnerKarpenter, "nodepool/p"
		n.Registered, n.Initialized = true, initialized
	}
}

// The Node is missing, but its kubelet or Karpenter shows that the machine works.
func TestAnInstanceThatWorksWithoutItsNodeIsContradicted(t *testing.T) {
	claim := func(initialized roll.ConditionStatus, deleted time.Time) roll.Detail {
		return roll.Detail{HasNodeClaim: roll.Yes, LeaseRead: roll.No, NodeClaim: &roll.NodeClaim{Name: "p-x7k2p", DeletedAt: deleted, Initialized: roll.Condition{Status: initialized}}}
	}
	lease := func(age time.Duration) roll.Detail {
		return roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{}, LeaseRead: roll.Yes, LeaseOf: "node-a", LeaseRenewed: ago(age)}
	}
	for _, tt := range []struct {
		name   string
		detail roll.Detail
		want   string
	}{
		{"nothing speaks for it", claim(roll.ConditionFalse, time.Time{}), ""},
		{"its NodeClaim is initialized", claim(roll.ConditionTrue, time.Time{}), "its NodeClaim p-x7k2p is initialized"},
		{"its NodeClaim is being deleted", claim(roll.ConditionTrue, ago(time.Minute)), ""},
		{"its kubelet renews its lease", lease(10 * time.Second), "its kubelet renewed the lease node-a at " + roll.Clock(ago(10*time.Second))},
		{"its kubelet did lately", lease(2*time.Minute - time.Second), "its kubelet renewed the lease node-a at " + roll.Clock(ago(2*time.Minute-time.Second))},
		{"its kubelet did once", lease(16 * time.Minute), ""},
		{"another lease is unread", roll.Detail{HasNodeClaim: roll.Yes, LeaseRead: roll.Unreadable, LeaseOf: "node-a", LeaseRenewed: ago(10 * time.Second)}, "its kubelet renewed the lease node-a at " + roll.Clock(ago(10*time.Second))},
	} {
		s := snapshot([]roll.Instance{poolWorker(id, 3*time.Hour)}, nil)
		s.Details[id] = tt.detail
		a := judge(s, ledger.State{Checked: ago(30 * time.Minute)})
		f := one(t, tt.name, a)
		stage := roll.Overdue
		if tt.want == "" {
			stage = roll.Warned // its tolerance begins
		}
		expect.That(t, f.Kind == roll.Unregistered && f.Contradiction == tt.want && f.Stage == stage && f.Worked, "%s: %+v, want the contradiction %q", tt.name, f, tt.want)
	}
}

// Between two lease renewals the fault is the same: its time continues, and its questions are asked
// again.
func TestAContradictionGoesOnFromItsTime(t *testing.T) {
	began := ago(20 * time.Minute)
	lapsed := known(roll.Unregistered, began, ago(14*time.Minute))
	for name, tt := range map[string]struct {
		state            ledger.State
		renewed, checked time.Duration // ago
		contradicted     bool
		since            time.Duration // ago; from when its deadline counts
		stage            roll.Stage
	}{
		"it works": {contradicted(roll.Unregistered, began), 10 * time.Second, 2 * time.Minute, true, 20 * time.Minute, roll.Overdue},
		// It worked as long as its kubelet renewed the lease: its deadline counts from then on.
		"it renewed its lease after the last check":               {contradicted(roll.Unregistered, began), 2 * time.Minute, 3 * time.Minute, false, 2 * time.Minute, roll.Warned},
		"it did before, and worked at the last check":             {contradicted(roll.Unregistered, began), 4 * time.Minute, 3 * time.Minute, false, 3 * time.Minute, roll.Warned},
		"it never did, and worked at the last check":              {contradicted(roll.Unregistered, began), time.Hour, 3 * time.Minute, false, 3 * time.Minute, roll.Warned},
		"the last check was not quite its deadline ago":           {contradicted(roll.Unregistered, began), 16 * time.Minute, 15*time.Minute - time.Second, false, 15*time.Minute - time.Second, roll.Warned},
		"the last check was its deadline ago":                     {contradicted(roll.Unregistered, began), 16 * time.Minute, 15 * time.Minute, false, 15 * time.Minute, roll.Overdue},
		"it did not work at the last check, which knew its lease": {lapsed, 14 * time.Minute, 2 * time.Minute, false, 14 * time.Minute, roll.Warned},
		"it did not work at the last check, and never did":        {known(roll.Unregistered, began, began), time.Hour, 2 * time.Minute, false, 20 * time.Minute, roll.Overdue},
	} {
		state, renewed := tt.state, tt.renewed
		state.Checked = ago(tt.checked)
		s := snapshot([]roll.Instance{poolWorker(id, 3*time.Hour)}, nil)
		asked := false
		a := assess.Thoroughly(assess.Input{Snapshot: s, Policy: defaults, State: state, Now: now}, func(questions []roll.Question) {
			for _, q := range questions {
				asked = asked || q.Lease
				s.Details[q.Instance] = roll.Detail{
					Bootstraps: roll.Unreadable, LifecycleRead: roll.Unreadable, TerminationProtected: roll.Unreadable,
					HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{}, LeaseRead: roll.Yes, LeaseOf: "node-a", LeaseRenewed: ago(renewed),
				}
			}
		})
		f := one(t, name, a)
		expect.That(t, (f.Contradiction != "") == tt.contradicted && f.Since.Equal(began) && f.Began.Equal(ago(tt.since)) && f.Due.Equal(ago(tt.since-15*time.Minute)) && f.Stage == tt.stage, "%s: %+v, want it %s, contradicted %v, since %s, its deadline from %s on", name, f, tt.stage, tt.contradicted, began, ago(tt.since))
		expect.Equal(t, asked, state.Findings[key(roll.Unregistered)].Contradicted || tt.stage == roll.Overdue, "%s: asked for the lease", name)
	}
}

// A check of one instance counts an outage that began after the last check.
func TestNodesBesideATargetAreCounted(t *testing.T) {
	const (
		second roll.InstanceID = "i-0000000000000000b"
		third  roll.InstanceID = "i-0000000000000000c"
		lost   roll.InstanceID = "i-0000000000000000d"
		ghost  roll.InstanceID = "i-0000000000000000e"
		warm   roll.InstanceID = "i-0000000000000000f"
		long   roll.InstanceID = "i-00000000000000010"
		early  roll.InstanceID = "i-00000000000000011"
	)
	s := snapshot([]roll.Instance{worker(id, 48*time.Hour)}, []roll.Node{
		node(id, roll.ConditionUnknown, time.Hour),
		node(second, roll.ConditionUnknown, 2*time.Minute), // silent since the check
		node(third, roll.ConditionTrue, time.Hour),
		node(ghost, roll.ConditionUnknown, time.Hour),
		node(warm, roll.ConditionUnknown, time.Hour),
		node(long, roll.ConditionUnknown, time.Minute), // for long not ready, with another status
	})
	for i := range s.Nodes {
		s.Nodes[i].Zone = "eu-west-1a"
	}
	s.Target = id
	state := ledger.State{
		Findings: map[roll.FindingKey]ledger.Finding{
			{Instance: lost, Kind: roll.Unregistered}:  {Instance: lost, Kind: roll.Unregistered, Group: "asg/w", Stage: roll.Overdue},
			{Instance: lost, Kind: roll.Impaired}:      {Instance: lost, Kind: roll.Impaired, Group: "asg/w", Stage: roll.Overdue},
			{Instance: early, Kind: roll.Unregistered}: {Instance: early, Kind: roll.Unregistered, Group: "asg/w", Stage: roll.Warned},
			{Instance: second, Kind: roll.Unknown}:     {Instance: second, Kind: roll.Unknown, Group: "asg/w", Stage: roll.Watching},
			{Instance: third, Kind: roll.NotReady}:     {Instance: third, Kind: roll.NotReady, Group: "asg/w", Stage: roll.Overdue}, // it is Ready again
			{Instance: ghost, Kind: roll.Ghost}:        {Instance: ghost, Kind: roll.Ghost, Group: "asg/w", Stage: roll.Overdue},
		},
		NotReady: map[roll.InstanceID]ledger.NotReady{long: {Since: ago(time.Hour)}},
		Rests:    map[roll.InstanceID]ledger.Rest{warm: {}},
	}
	a := judge(s, state)
	want := assess.ZoneCount{Nodes: 4, Ready: 1, Silent: 3, First: ago(time.Hour), Last: ago(time.Minute)}
	expect.Equal(t, a.Zones["eu-west-1a"], want, "the zone")
	expect.That(t, len(a.Silent) == 3, "silent since %v", a.Silent)
	// The target, the instance without a node, and the node that was not ready before its last
	// transition; the node that has just gone silent still has time.
	expect.Equal(t, a.Count[""], assess.Count{Nodes: 5, Overdue: 3}, "counted")
	// A finding counts in its group, also one about a node whose labels do not name it.
	state.Findings[roll.FindingKey{Instance: second, Kind: roll.NotReady}] = ledger.Finding{Instance: second, Kind: roll.NotReady, Group: "asg/w", Stage: roll.Overdue}
	again := judge(s, state)
	expect.That(t, again.Count[""] == (assess.Count{Nodes: 5, Overdue: 4}) && again.Count["asg/w"].Overdue == 3, "counted in its group %+v", again.Count)
	for _, f := range a.Findings {
		expect.That(t, f.Instance == id, "it is about %s, too", f.Instance)
	}
}

// A kubelet dates the condition Ready with the clock of its machine while it is False. A slow clock must not shorten the
// tolerance: the last complete check saw the node Ready.
func TestASlowClockShortensNoTolerance(t *testing.T) {
	for name, reporting := range map[string]time.Time{"it reported for long": ago(3 * time.Hour), "unknown": {}} {
		slowClock(t, name, reporting)
	}
}

func slowClock(t *testing.T, name string, reporting time.Time) {
	t.Helper()
	fails := func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
		n.Ready, n.Reporting = roll.Condition{Status: roll.ConditionFalse, Since: ago(20 * time.Minute)}, reporting
	}
	a := look(fails, ledger.State{Checked: ago(4 * time.Minute)})
	f := one(t, name, a)
	expect.That(t, f.Kind == roll.NotReady && f.Since.Equal(now) && f.Began.Equal(ago(20*time.Minute)) && f.Due.Equal(now.Add(15*time.Minute)), "%+v", f)
	f = one(t, "the next check", look(fails, ledger.State{Checked: ago(time.Minute), NotReady: a.NotReady}))
	expect.That(t, f.Due.Equal(now.Add(15*time.Minute)), "%s, the next check: %+v", name, f)
	// The control plane dated its silence before, or it left Ready before.
	for before, known := range map[string]ledger.NotReady{
		"silent": {Since: ago(10 * time.Minute), Status: roll.ConditionUnknown, Transition: ago(10 * time.Minute)},
		"away":   {Since: ago(30 * time.Minute), Status: roll.ConditionFalse, Transition: ago(30 * time.Minute)},
	} {
		a = look(fails, ledger.State{Checked: ago(4 * time.Minute), NotReady: map[roll.InstanceID]ledger.NotReady{id: known}})
		due := now.Add(15 * time.Minute)
		if before == "silent" && reporting.IsZero() { // it was away all the time
			due = ago(10 * time.Minute).Add(15 * time.Minute)
		}
		first := one(t, before, a)
		expect.That(t, first.Due.Equal(due), "%s, %s before: due %s, want %s", name, before, first.Due, due)
		again := one(t, before, look(fails, ledger.State{Checked: ago(time.Minute), NotReady: a.NotReady}))
		expect.That(t, again.Due.Equal(due) && again.Since.Equal(first.Since), "%s, %s before, the next check: %+v", name, before, again)
	}
	alone := map[roll.FindingKey]ledger.Finding{{Instance: id, Kind: roll.Unregistered}: {Since: ago(time.Hour)}}
	f = one(t, "no check saw its Node", look(fails, ledger.State{Checked: ago(4 * time.Minute), Findings: alone}))
	expect.That(t, f.Since.Equal(ago(20*time.Minute)) && f.Stage == roll.Overdue, "no check saw its Node: %+v", f)
	f = one(t, "no check saw it Ready", look(fails, ledger.State{Checked: ago(21 * time.Minute)}))
	expect.That(t, f.Due.Equal(ago(5*time.Minute)) && f.Stage == roll.Overdue, "no check saw it Ready: %+v", f)
}
