package assess_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestZonesCountTheNodesThatAreThere(t *testing.T) {
	s := snapshot(nil, nil)
	add := func(n string, zone string, status roll.ConditionStatus, state roll.InstanceState) {
		of := roll.InstanceID("i-0000000" + n)
		i := worker(of, 48*time.Hour)
		i.Zone, i.State = zone, state
		s.Instances, s.Nodes = append(s.Instances, i), append(s.Nodes, node(of, status, time.Hour))
	}
	add("1", "eu-west-1a", roll.ConditionTrue, roll.StateRunning)
	add("2", "eu-west-1a", roll.ConditionUnknown, roll.StateRunning)
	add("3", "eu-west-1a", roll.ConditionFalse, roll.StateRunning)
	add("4", "eu-west-1b", roll.ConditionTrue, roll.StateRunning)
	add("5", "eu-west-1b", roll.ConditionUnknown, roll.StateTerminated)                                      // gone
	add("6", "eu-west-1b", roll.ConditionTrue, roll.StateShuttingDown)                                       // being terminated
	add("7", "", roll.ConditionUnknown, roll.StateRunning)                                                   // zone unknown
	add("a", "eu-west-1a", roll.ConditionUnknown, roll.StateStopped)                                         // a person stopped it
	for n, age := range map[string]time.Duration{"8": 15*time.Minute - time.Second, "9": 15 * time.Minute} { // starting, and no longer starting
		of := roll.InstanceID("i-0000000" + n)
		i := worker(of, age)
		i.Zone = "eu-west-1c"
		starts := node(of, roll.ConditionFalse, age)
		starts.Created = ago(age)
		s.Instances, s.Nodes = append(s.Instances, i), append(s.Nodes, starts)
	}
	a := judge(s, ledger.State{})
	want := map[string]assess.ZoneCount{
		"eu-west-1a": {Nodes: 3, Ready: 1, Silent: 2, First: ago(time.Hour), Last: ago(time.Hour)},
		"eu-west-1b": {Nodes: 1, Ready: 1},
		"eu-west-1c": {Nodes: 2, Silent: 1, First: ago(15 * time.Minute), Last: ago(15 * time.Minute)},
	}
	expect.Same(t, a.Zones, want, "zones")
	expect.That(t, a.Count[""].Nodes == 8, "%+v count for limits, want the 8 that exist", a.Count[""])
	expect.That(t, a.Nodes == 10 && a.Ready == 3 && len(a.Silent) == 2, "%d nodes, %d ready, %d silent, want 10, 3 and 2", a.Nodes, a.Ready, len(a.Silent))
}

// A replacement may report under the Node of what it replaced, which still names the old instance. The
// Node shows the state of a machine in its zone.
func TestANodeThatAnotherInstanceTookOverCountsInItsZone(t *testing.T) {
	for name, tt := range map[string]struct {
		other  roll.Instance
		status roll.ConditionStatus
		want   assess.ZoneCount
	}{
		"silent":                     {roll.Instance{ID: "i-0000000b", State: roll.StateRunning, PrivateDNS: "node"}, roll.ConditionUnknown, assess.ZoneCount{Nodes: 1, Silent: 1, First: ago(time.Hour), Last: ago(time.Hour)}},
		"ready":                      {roll.Instance{ID: "i-0000000b", State: roll.StateRunning, PrivateDNS: "node"}, roll.ConditionTrue, assess.ZoneCount{Nodes: 1, Ready: 1}},
		"the other is gone too":      {roll.Instance{ID: "i-0000000b", State: roll.StateTerminated, PrivateDNS: "node"}, roll.ConditionUnknown, assess.ZoneCount{}},
		"the other has another name": {roll.Instance{ID: "i-0000000b", State: roll.StateRunning, PrivateDNS: "other"}, roll.ConditionUnknown, assess.ZoneCount{}},
	} {
		gone := worker(id, 48*time.Hour)
		gone.State, gone.Zone = roll.StateTerminated, "eu-west-1a"
		n := node(id, tt.status, time.Hour)
		n.Name = "node"
		tt.other.Launched = ago(2 * time.Hour)
		expect.Equal(t, judge(snapshot([]roll.Instance{gone, tt.other}, []roll.Node{n}), ledger.State{}).Zones["eu-west-1a"], tt.want, "%s", name)
	}
}

// EC2 may show a new instance late. Its node is Ready, and counts.
func TestAReadyNodeCountsInItsZoneBeforeEC2ShowsItsInstance(t *testing.T) {
	for state, want := range map[roll.InstanceState]assess.ZoneCount{
		roll.StateRunning: {Nodes: 1, Ready: 1}, roll.StatePending: {Nodes: 1, Ready: 1}, roll.StateShuttingDown: {}, roll.StateTerminated: {},
	} {
		i := worker(id, time.Hour)
		i.State, i.Zone = state, "eu-west-1a"
		a := judge(snapshot([]roll.Instance{i}, []roll.Node{node(id, roll.ConditionTrue, time.Minute)}), ledger.State{})
		expect.Equal(t, a.Zones["eu-west-1a"], want, "%s", state)
	}
}

// A check of one instance reads all nodes, and of their instances only that one.
func TestANodeThatIsBeingDeletedDoesNotCountInItsZone(t *testing.T) {
	for name, tt := range map[string]struct {
		deleted time.Time
		status  roll.ConditionStatus
		known   bool // its instance was read
		want    assess.ZoneCount
	}{
		"its owner removes it":                  {ago(time.Minute), roll.ConditionUnknown, false, assess.ZoneCount{}},
		"it is silent":                          {time.Time{}, roll.ConditionUnknown, false, assess.ZoneCount{Nodes: 1, Silent: 1, First: ago(time.Hour), Last: ago(time.Hour)}},
		"its owner removes it, and it is Ready": {ago(time.Minute), roll.ConditionTrue, false, assess.ZoneCount{Nodes: 1, Ready: 1}},
		"its owner removes it, and it runs":     {ago(time.Minute), roll.ConditionUnknown, true, assess.ZoneCount{Nodes: 1, Silent: 1, First: ago(time.Hour), Last: ago(time.Hour)}},
	} {
		n := node(id, tt.status, time.Hour)
		n.DeletedAt, n.Zone = tt.deleted, "eu-west-1a"
		i := worker(id, 48*time.Hour)
		i.Zone = n.Zone
		s := snapshot(nil, []roll.Node{n})
		if s.Target = "i-0000000b"; tt.known {
			s.Target, s.Instances = id, []roll.Instance{i}
		}
		expect.Equal(t, judge(s, ledger.State{}).Zones["eu-west-1a"], tt.want, "%s", name)
	}
}

func TestWhenNodesTurnedSilent(t *testing.T) {
	s := snapshot(nil, nil)
	for n, tt := range []struct {
		status roll.ConditionStatus
		since  time.Duration
	}{{roll.ConditionUnknown, time.Minute}, {roll.ConditionFalse, 2 * time.Minute}, {roll.ConditionUnknown, 3 * time.Minute}, {roll.ConditionTrue, 4 * time.Minute}, {roll.ConditionUnknown, 2 * time.Minute}} {
		of := roll.InstanceID("i-0000000" + string(rune('0'+n)))
		s.Instances, s.Nodes = append(s.Instances, worker(of, 48*time.Hour)), append(s.Nodes, node(of, tt.status, tt.since))
	}
	s.Instances = append(s.Instances, worker("i-0000000a", 48*time.Hour)) // stopped: silent for that reason
	s.Instances[len(s.Instances)-1].State = roll.StateStopped
	s.Nodes = append(s.Nodes, node("i-0000000a", roll.ConditionUnknown, time.Minute))
	want := []time.Time{ago(3 * time.Minute), ago(2 * time.Minute), ago(time.Minute)}
	got := judge(s, ledger.State{}).Silent
	expect.That(t, slices.EqualFunc(got, want, time.Time.Equal), "silent since %v, want %v", got, want)
}

func TestWhatCountsAsOverdue(t *testing.T) {
	impaired := map[roll.InstanceID]roll.Impairment{id: {Since: ago(time.Hour)}}
	tests := []struct {
		name   string
		change func(*roll.Instance, *roll.Node, *roll.Snapshot)
		state  ledger.State
		kinds  string
		want   assess.Count
	}{
		{"nothing", func(*roll.Instance, *roll.Node, *roll.Snapshot) {}, ledger.State{}, "", assess.Count{Nodes: 1}},
		{"silent", func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Ready.Status = roll.ConditionUnknown }, ledger.State{}, "Unknown", assess.Count{Nodes: 1, Overdue: 1}},
		{"silent, as at the last check", func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Ready.Status = roll.ConditionUnknown }, ledger.State{Findings: map[roll.FindingKey]ledger.Finding{
			key(roll.Unknown): {Instance: id, Kind: roll.Unknown, Group: "asg/w", Stage: roll.Overdue, Since: ago(47 * time.Hour)},
		}}, "Unknown", assess.Count{Nodes: 1, Overdue: 1}},
		{"silent, within its tolerance", func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Minute)}
		}, ledger.State{}, "Unknown", assess.Count{Nodes: 1}},
		{"silent and impaired: once", func(_ *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			n.Ready.Status, s.Impaired = roll.ConditionUnknown, impaired
		}, ledger.State{}, "Impaired Unknown", assess.Count{Nodes: 1, Overdue: 1}},
		{"impaired", func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) { s.Impaired = impaired }, ledger.State{}, "Impaired", assess.Count{Nodes: 1, Overdue: 1}},
		{"a failed condition", func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Conditions = []roll.TypedCondition{{Type: "KernelReady", Condition: roll.Condition{Status: roll.ConditionFalse, Since: ago(time.Hour)}}}
		}, ledger.State{}, "ConditionFailed", assess.Count{Nodes: 1, Overdue: 1}},
		{"uninitialized", func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.StartupTaint = "efs.csi.aws.com/agent-not-ready:NoExecute"
		}, ledger.State{}, "Uninitialized", assess.Count{Nodes: 1, Overdue: 1}},
		{"flapping", func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { n.Ready.Since = ago(time.Minute) }, flips(50, 40, 30, 20), "Flapping", assess.Count{Nodes: 1}},
		{"a ghost", func(i *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			i.State, n.Ready.Status = roll.StateTerminated, roll.ConditionUnknown
		}, ledger.State{}, "Ghost", assess.Count{}},
		{"a ghost whose node is Ready", func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.State = roll.StateTerminated }, ledger.State{Missing: map[roll.InstanceID]time.Time{id: ago(time.Hour)}}, "Ghost", assess.Count{}},
		{"not registered, and its kubelet works", func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			i.Owner, s.Details[id] = roll.OwnerManagedNodeGroup, roll.Detail{LeaseRead: roll.Yes, LeaseOf: n.Name, LeaseRenewed: ago(time.Second)}
			elsewhere(n)
		}, ledger.State{}, "Unregistered", assess.Count{Nodes: 1, Overdue: 1}},
		{"not registered and impaired: once", func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			i.Owner, s.Impaired = roll.OwnerManagedNodeGroup, impaired
			elsewhere(n)
		}, ledger.State{}, "Impaired Unregistered", assess.Count{Nodes: 1, Overdue: 1}},
	}
	for _, tt := range tests {
		a := look(tt.change, tt.state)
		kinds := roll.Map(a.Findings, kindOf)
		slices.Sort(kinds)
		expect.Equal(t, strings.Trim(fmt.Sprint(kinds), "[]"), tt.kinds, "%s: findings", tt.name)
		if a.Count[""] != tt.want || a.Count["asg/w"] != tt.want {
			t.Errorf("%s: counted as %+v in the cluster, %+v in its group, want %+v", tt.name, a.Count[""], a.Count["asg/w"], tt.want)
		}
	}
}

// A check of one instance counts the nodes beside it, reports nothing about others, and forgets
// nothing about them.
func TestALookAtOneInstanceIsAboutThatOneAlone(t *testing.T) {
	const other roll.InstanceID = "i-0000000000000000b"
	state := ledger.State{
		Findings: map[roll.FindingKey]ledger.Finding{
			key(roll.NotReady):                     {Instance: id, Kind: roll.NotReady},
			{Instance: other, Kind: roll.NotReady}: {Instance: other, Kind: roll.NotReady},
		},
		NotReady:  map[roll.InstanceID]ledger.NotReady{id: {Since: ago(time.Hour)}, other: {Since: ago(time.Hour)}},
		Rests:     map[roll.InstanceID]ledger.Rest{id: {Left: ago(3 * time.Hour)}, other: {Left: ago(3 * time.Hour)}},
		Missing:   map[roll.InstanceID]time.Time{id: ago(time.Hour), other: ago(time.Hour)},
		Flips:     map[roll.InstanceID][]time.Time{id: {ago(2 * time.Hour)}, other: {ago(2 * time.Hour)}},
		Pressures: map[roll.InstanceID]ledger.Pressure{id: {Until: ago(2 * time.Hour)}, other: {Until: ago(2 * time.Hour)}},
		Groups:    map[roll.Group]ledger.GroupMemory{"asg/w": {Seconds: []int{1}}},
	}
	unknown := node("i-0000000000000000c", roll.ConditionTrue, 0)
	unknown.Compute, unknown.Instance = roll.ComputeUnknown, ""
	i, n := pair()
	silent := node(other, roll.ConditionUnknown, time.Hour)
	off := node("i-0000000000000000d", roll.ConditionUnknown, time.Hour)
	off.Shutdown = true // it says nothing about its zone, even if its instance is not read
	s := snapshot([]roll.Instance{i, worker(other, 24*time.Hour)}, []roll.Node{n, silent, unknown, off})
	s.Target = id
	a := judge(s, state)
	expect.That(t, len(a.Findings)+len(a.Notes)+len(a.Questions) == 0 && a.NoProviderID == 1 && a.Nodes == 4, "findings %+v, notes %q, questions %+v, %d without provider id, %d nodes", a.Findings, a.Notes, a.Questions, a.NoProviderID, a.Nodes)
	z := a.Zones["eu-west-1a"]
	expect.That(t, z.Nodes == 2 && z.Silent == 1 && len(a.Silent) == 1 && a.Count[""].Overdue == 2, "counted beside it: %+v %v %+v", a.Zones, a.Silent, a.Count)
	expect.That(t, a.Registration == nil && len(a.Groups) == 0 && a.NewRegistrations == nil, "counted: %+v %+v %v", a.Registration, a.Groups, a.NewRegistrations)
	expect.That(t, !a.Kept[key(roll.NotReady)] && a.Kept[roll.FindingKey{Instance: other, Kind: roll.NotReady}], "kept %v", a.Kept)
	_, ready := a.NotReady[id]
	_, away := a.NotReady[other]
	expect.That(t, !ready && away && len(a.Rests) == 1 && len(a.Missing) == 1 && len(a.Flips) == 1 && len(a.Pressures) == 1, "remembered %+v %+v %+v %+v %+v", a.NotReady, a.Rests, a.Missing, a.Flips, a.Pressures)
	s.Target = other
	f := one(t, "the other", judge(s, state))
	expect.That(t, f.Instance == other && f.Kind == roll.Unknown, "the other: %+v", f)
}

// Whether an instance without a node is in a warm pool may be unreadable. Then it is no finding,
// but it may be unhealthy, so limits count it, unless it was in a warm pool at the last successful
// read.
func TestWhatMayBeOverdueLeavesNoRoomForAnAct(t *testing.T) {
	for _, tt := range []struct {
		name   string
		age    time.Duration
		read   roll.Answer
		owner  roll.Owner
		rested bool
		want   assess.Count
	}{
		{"just before its deadline", 15*time.Minute - time.Second, roll.Unreadable, roll.OwnerManagedNodeGroup, false, assess.Count{}},
		{"at its deadline", 15 * time.Minute, roll.Unreadable, roll.OwnerManagedNodeGroup, false, assess.Count{Nodes: 1, Overdue: 1}},
		{"which rested before", time.Hour, roll.Unreadable, roll.OwnerManagedNodeGroup, true, assess.Count{}},
		{"that may not be meant as a node", time.Hour, roll.Unreadable, roll.OwnerAutoScalingGroup, false, assess.Count{}},
		{"and that could be read", time.Hour, roll.Yes, roll.OwnerManagedNodeGroup, false, assess.Count{Nodes: 1, Overdue: 1}},
	} {
		state := ledger.State{}
		if tt.rested {
			state.Rests = map[roll.InstanceID]ledger.Rest{id: {}}
		}
		a := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			i.Owner, i.ASG, i.Launched = tt.owner, "w", ago(tt.age)
			s.Details[id] = roll.Detail{LifecycleRead: tt.read, Lifecycle: map[bool]string{true: "InService"}[tt.read == roll.Yes]}
			elsewhere(n)
		}, state)
		if a.Count[""] != tt.want || a.Count["asg/w"] != tt.want {
			t.Errorf("%s: counted as %+v in the cluster, %+v in its group, want %+v", tt.name, a.Count[""], a.Count["asg/w"], tt.want)
		}
		found := len(a.Findings) > 0
		expect.That(t, found == (tt.read == roll.Yes), "%s: findings %+v", tt.name, a.Findings)
	}
}
