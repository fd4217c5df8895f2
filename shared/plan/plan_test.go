package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
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

var cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}

// world is one cluster in a test: the observations and the ledger.
type world struct {
	snapshot *roll.Snapshot
	state    ledger.State
	doc      *policy.Document
	mode     policy.Mode
	causes   map[roll.FindingKey][]roll.Cause
	// unread are causes of the first instance that could not be checked, since a call failed.
	unread []roll.NotChecked
	// unchecked are the codes of causes that could not be checked.
	unchecked    map[roll.FindingKey][]string
	ruledOut     map[roll.FindingKey][]string
	lowered      bool // the policy was unreadable
	unremembered bool // nothing is kept from one check to the next
}

func newWorld() *world {
	return &world{
		snapshot: &roll.Snapshot{
			Cluster: roll.Cluster{ID: cluster, Status: roll.ClusterActive}, Details: map[roll.InstanceID]roll.Detail{}, ClaimsRead: roll.Yes,
			Groups: map[roll.Group]roll.GroupDetail{"asg/w": canLaunch, "asg/watched": canLaunch, "nodegroup/w": canLaunch},
		},
		doc: mustParse(plain), mode: policy.Remediate,
		state: ledger.State{First: now.Add(-30 * 24 * time.Hour)}, // complete checks have run for long
	}
}

// canLaunch is a group that replaces terminated instances and does nothing else.
var canLaunch = roll.GroupDetail{AutoRepair: roll.No, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}

// nothingRuns is a node without pods and volumes.
var nothingRuns = &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}

// plain is a policy whose only act is the termination.
const plain = "apiVersion: rollcall/v1\nladders: {Unknown: [{do: tag}, {do: notify}, {do: terminate, after: 10m}]}\n"

// with returns that policy with more settings.
func with(more string) *policy.Document { return mustParse(plain + more) }

func instanceID(n int) roll.InstanceID { return roll.InstanceID(fmt.Sprintf("i-%017x", n)) }

// add adds a member of an Auto Scaling group that may be terminated according to EC2 and Auto
// Scaling. Its node is ready, or silent for the given time.
func (w *world) add(n int, silent time.Duration) *roll.Instance {
	id := instanceID(n)
	w.snapshot.Instances = append(w.snapshot.Instances, roll.Instance{ID: id, State: roll.StateRunning, Launched: now.Add(-48 * time.Hour), ASG: "w", Owner: roll.OwnerAutoScalingGroup, Group: "asg/w"})
	ready := roll.Condition{Status: roll.ConditionTrue, Since: now.Add(-48 * time.Hour)}
	if silent > 0 {
		ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-silent), Reason: "NodeStatusUnknown"}
	}
	w.snapshot.Nodes = append(w.snapshot.Nodes, roll.Node{Name: fmt.Sprintf("node-%d", n), Compute: roll.ComputeEC2, Instance: id, Created: now.Add(-48 * time.Hour), Ready: ready, Owner: roll.OwnerNone, Group: roll.GroupNone})
	w.snapshot.Details[id] = roll.Detail{LeaseRead: roll.No, TerminationProtected: roll.No, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService", Pods: nothingRuns}
	return &w.snapshot.Instances[len(w.snapshot.Instances)-1]
}

// seen records that an earlier check saw the instance silent.
func (w *world) seen(n int, firstSeen time.Duration) {
	f := ledger.Finding{Instance: instanceID(n), Kind: roll.Unknown, Node: fmt.Sprintf("node-%d", n), Group: "asg/w", Stage: roll.Overdue, FirstSeen: now.Add(-firstSeen), Opened: now.Add(-firstSeen), Since: now.Add(-2 * time.Hour), Began: w.snapshot.Nodes[n-1].Ready.Since}
	// Remediate has been on for long: new findings are not a backlog.
	w.state.Apply(ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, RemediateSince: map[roll.Group]time.Time{"asg/w": now.Add(-24 * time.Hour)}, NotReady: map[roll.InstanceID]ledger.NotReady{f.Instance: {Since: f.Since, Status: roll.ConditionUnknown, Transition: f.Began}}}})
}

func (w *world) make(at time.Time) (assess.Assessment, Plan) {
	w.snapshot.At = at
	pol := w.doc.Cluster("demo", "", w.mode)
	a := assess.Assess(assess.Input{Snapshot: w.snapshot, Policy: pol, State: w.state, Now: at})
	return a, Make(Input{Snapshot: w.snapshot, Assessment: a, State: w.state, Diagnoses: w.diagnoses(), Policy: pol, Lowered: w.lowered, Unremembered: w.unremembered, Now: at})
}

func (w *world) diagnoses() map[roll.FindingKey]roll.Diagnosis {
	out := map[roll.FindingKey]roll.Diagnosis{}
	for key, causes := range w.causes {
		out[key] = roll.Diagnosis{Causes: causes}
	}
	for key, codes := range w.unchecked {
		out[key] = diagnosis(out[key].Causes, codes)
	}
	if len(w.unread) > 0 {
		key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}
		d := out[key]
		d.NotChecked = append(d.NotChecked, w.unread...)
		out[key] = d
	}
	for key, codes := range w.ruledOut {
		d := out[key]
		d.RuledOut = codes
		out[key] = d
	}
	return out
}

func diagnosis(causes []roll.Cause, unchecked []string) roll.Diagnosis {
	d := roll.Diagnosis{Causes: causes}
	for _, code := range unchecked {
		d.NotChecked = append(d.NotChecked, roll.NotChecked{Code: code, Reason: "sampled"})
	}
	return d
}

// sick returns a world of four nodes, the first of which is to be terminated.
func sick() *world {
	w := newWorld()
	w.add(1, 2*time.Hour)
	for n := 2; n <= 4; n++ {
		w.add(n, 0)
	}
	w.seen(1, 10*time.Minute)
	return w
}

func reasons(p Plan) (out []Reason) {
	for _, h := range p.Held {
		out = append(out, h.Reason)
	}
	return out
}

func TestOrdersWhatNothingObjectsTo(t *testing.T) {
	_, p := sick().make(now)
	must.That(t, len(p.Orders) == 1 && len(p.Held) == 0, "orders %+v, held %+v, want one order", p.Orders, p.Held)
	o := p.Orders[0]
	if o.Instance != instanceID(1) || o.Action != Terminate || o.Owner != roll.OwnerAutoScalingGroup || o.Group != "asg/w" || !o.Expires.Equal(now.Add(OrderLife)) || o.ID == "" {
		t.Errorf("got %+v", o)
	}
	var order string
	for _, c := range p.Tags {
		if c.Instance == o.Instance {
			order = c.Set[roll.TagOrder]
		}
	}
	expect.That(t, order == o.ID, "the order's tag is %q, want %q: without it nobody may act", order, o.ID)
	_, again := sick().make(now.Add(time.Minute))
	expect.That(t, again.Orders[0].ID == o.ID, "the same finding must lead to the same order id, or a second check leads to a second act")
}

// Each case changes one thing in a world in which an order would be given.
func TestHolds(t *testing.T) {
	tests := map[Reason]func(*world){
		ClusterNotActive: func(w *world) { w.snapshot.Cluster.Status = "UPDATING" },
		ClusterUnreachable: func(w *world) {
			w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable}}
		},
		SnapshotIncomplete: func(w *world) {
			w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled}}
		},
		InstanceIgnored:  func(w *world) { w.snapshot.Instances[0].Ignore = true },
		InstanceHeld:     func(w *world) { w.snapshot.Instances[0].Hold = "true" },
		NodeDeleting:     func(w *world) { w.snapshot.Nodes[0].DeletedAt = now.Add(-time.Minute) },
		NotClaimed:       func(w *world) { w.snapshot.Instances[0].Unclaimed = true },
		OlderThanCluster: func(w *world) { w.snapshot.Cluster.Created = now },
		NotInService:     func(w *world) { w.detail(func(d *roll.Detail) { d.Lifecycle = "Pending:Wait" }) },
		OwnerNotifyOnly:  func(w *world) { w.snapshot.Instances[0].Owner = roll.OwnerAutoMode },
		OwnerUnknown:     func(w *world) { w.snapshot.Instances[0].Owner = roll.OwnerKarpenter },
		OwnerWillAct: func(w *world) {
			w.snapshot.Instances[0].Owner = roll.OwnerManagedNodeGroup
			w.seen(1, 10*time.Minute)
			w.snapshot.Nodes[0].Ready.Since = now.Add(-50 * time.Minute)
			w.snapshot.Groups["asg/w"] = roll.GroupDetail{AutoRepair: roll.Yes, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}
			w.seen(1, 10*time.Minute)
		},
		ReplacementUnavailable: func(w *world) {
			g := canLaunch
			g.LaunchFailed = now.Add(-time.Hour)
			w.snapshot.Groups["asg/w"] = g
		},
		CauseOutside: func(w *world) { w.because("NodeRoleNotMapped", roll.Decisive, roll.CureChange, "role/x") },
		GroupSuspended: func(w *world) {
			w.snapshot.Groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.Yes, Suspended: "Terminate", LaunchesRead: roll.Yes}
		},
		NodeGroupUnhealthy: func(w *world) {
			w.snapshot.Instances[0].Owner = roll.OwnerManagedNodeGroup
			g := canLaunch
			g.Status, g.Issues = "DEGRADED", []roll.HealthIssue{{Code: "AsgInstanceLaunchFailures", Message: "no such image"}}
			w.snapshot.Groups["asg/w"] = g
		},
		OwnerDidNotAct: func(w *world) {
			w.snapshot.Instances[0].Owner = roll.OwnerManagedNodeGroup
			w.snapshot.Nodes[0].Ready.Since = now.Add(-autoRepairs)
			g := canLaunch
			g.AutoRepair = roll.Yes
			w.snapshot.Groups["asg/w"] = g
			w.seen(1, 10*time.Minute)
		},
		InstanceNotRunning: func(w *world) { w.snapshot.Instances[0].State = roll.StateStopping },
		CauseNotChecked: func(w *world) {
			w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: terminate}], Unknown/MemoryPressurePreceded: [{do: notify}]}\n")
		},
		ZonalShift: func(w *world) { w.snapshot.Cluster.ZonalShift = true },
		StormCooldown: func(w *world) {
			w.state.Trouble = &ledger.Trouble{Reason: string(ZoneOutage), Since: now.Add(-time.Hour), Last: now.Add(-time.Minute)}
		},
		CauseEnded: func(w *world) {
			key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}
			f := w.state.Findings[key]
			f.Outside = true
			w.state.Findings[key] = f
		},
		ReplacementPending: func(w *world) {
			w.state.Actions = []ledger.Action{{ID: "x", Do: "terminate", Instance: instanceID(9), Group: "asg/w", At: now.Add(-time.Hour), Outcome: &ledger.Outcome{Result: ledger.Done, At: now.Add(-time.Hour)}}}
		},
		ReplacementRepeats: func(w *world) {
			w.doc = with("limits: {replacements: 0}\n")
		},
		TerminationProtected: func(w *world) { w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.Yes }) },
		ScaleInProtected:     func(w *world) { w.detail(func(d *roll.Detail) { d.ScaleInProtected = roll.Yes }) },
		ProtectionUnknown:    func(w *world) { w.detail(func(d *roll.Detail) { *d = roll.Detail{} }) },
		NotSeenTwice:         func(w *world) { w.state = ledger.State{} },
		FoundBeforeRemediate: func(w *world) {
			w.state.RemediateSince = map[roll.Group]time.Time{"asg/w": now.Add(-time.Minute)}
		},
		UnhealthyShare: func(w *world) {
			for n := 2; n <= 3; n++ { // each at its own time
				w.snapshot.Nodes[n-1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Duration(n) * 3 * time.Hour)}
				w.seen(n, time.Hour)
			}
		},
		ActionUnresolved: func(w *world) {
			w.state.Actions = []ledger.Action{{ID: "x", Instance: instanceID(9), Group: "asg/w", At: now.Add(-time.Minute)}}
		},
		ActionsPerHour: func(w *world) {
			for i := range 5 {
				w.state.Actions = append(w.state.Actions, ledger.Action{ID: fmt.Sprint(i), Instance: instanceID(20 + i), Group: "asg/other", At: now.Add(-time.Minute), Outcome: &ledger.Outcome{Result: ledger.Done}})
			}
		},
		Stopped: func(w *world) { w.doc = with("mode: remediate\nstop: true\n") },
		PodsNotToDisrupt: func(w *world) {
			w.runs(func(n *roll.NodePods) {
				n.Pods = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: "karpenter.sh/do-not-disrupt=true"}}
			})
		},
		DisruptionBudget: func(w *world) {
			w.runs(func(n *roll.NodePods) {
				n.Budgets = []roll.Budget{{Name: "shop/db", Desired: 1, Pods: []string{"shop/db-0"}}}
			})
		},
		LocalVolume: func(w *world) {
			w.runs(func(n *roll.NodePods) { n.LocalVolumes = []roll.LocalVolume{{Name: "pv-1", Claim: "shop/data-db-0"}} })
		},
		PodsUnread:  func(w *world) { w.runs(func(n *roll.NodePods) { n.Read = roll.Unreadable }) },
		ModeObserve: func(w *world) { w.mode = policy.Observe },
		ModeNotify:  func(w *world) { w.mode = policy.Notify },
	}
	for reason, spoil := range tests {
		w := sick()
		spoil(w)
		_, p := w.make(now)
		expect.That(t, len(p.Orders) == 0, "%s: ordered %+v", reason, p.Orders)
		got := reasons(p)
		expect.That(t, len(got) > 0 && !slices.ContainsFunc(got, func(r Reason) bool { return r != reason }), "%s: held for %v", reason, got)
		for _, h := range p.Held {
			if h.Detail == "" && reason != ClusterUnreachable && reason != SnapshotIncomplete {
				t.Errorf("%s: says nothing to a person", reason)
			}
		}
	}
}

func (w *world) detail(f func(*roll.Detail)) {
	d := w.snapshot.Details[instanceID(1)]
	f(&d)
	w.snapshot.Details[instanceID(1)] = d
}

func mustParse(text string) *policy.Document {
	doc, err := policy.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return doc
}

func TestANodeWithoutProviderIDHoldsTheUnregistered(t *testing.T) {
	w := sick()
	w.snapshot.Nodes[0].Instance, w.snapshot.Nodes[0].Compute = "", roll.ComputeUnknown
	w.state = ledger.State{}
	w.state.Apply(ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{{Instance: instanceID(1), Kind: roll.Unregistered}: {Instance: instanceID(1), Kind: roll.Unregistered, FirstSeen: now.Add(-time.Hour), Began: w.snapshot.Instances[0].Launched}}}})
	_, p := w.make(now)
	expect.List(t, reasons(p), []Reason{NodeWithoutProviderID}, "held for")
}

// An instance is not ended at an age at which half of the nodes of its group still registered.
func TestAnInstanceIsGivenTheTimeThatItsGroupTakes(t *testing.T) {
	const minute = 60
	for name, tt := range map[string]struct {
		age  time.Duration
		took []int
		want []Reason
	}{
		"they take a minute":                   {20 * time.Minute, []int{minute, minute, minute, minute, minute}, nil},
		"they take as long":                    {20 * time.Minute, []int{14 * minute, 14 * minute, 14 * minute, 14 * minute, 14 * minute}, []Reason{RegistersLate}},
		"half of them take as long":            {20 * time.Minute, []int{minute, 14 * minute, minute, 14 * minute, 14 * minute}, []Reason{RegistersLate}},
		"half of an even number":               {20 * time.Minute, []int{minute, 14 * minute, minute, 14 * minute, minute, 14 * minute}, []Reason{RegistersLate}},
		"some of them take as long":            {20 * time.Minute, []int{minute, 14 * minute, minute, minute, 14 * minute}, nil},
		"few are known":                        {20 * time.Minute, []int{14 * minute, 14 * minute, 14 * minute, 14 * minute}, nil},
		"it has had its time":                  {21 * time.Minute, []int{14 * minute, 14 * minute, 14 * minute, 14 * minute, 14 * minute}, nil},
		"they waited for the end of a fault":   {20 * time.Minute, []int{999 * minute, 999 * minute, 999 * minute, 999 * minute, 999 * minute}, nil},
		"others waited for the end of a fault": {20 * time.Minute, []int{999 * minute, 14 * minute, 14 * minute, 14 * minute, 14 * minute, 14 * minute, 999 * minute}, []Reason{RegistersLate}},
		"a fault makes no group slow":          {20 * time.Minute, []int{minute, 999 * minute, minute, 999 * minute, minute, 999 * minute, minute, 999 * minute, minute, 999 * minute}, nil},
		"they take most of an hour":            {59 * time.Minute, []int{50 * minute, 50 * minute, 50 * minute, 60 * minute, 60 * minute}, []Reason{RegistersLate}},
		"an hour is over":                      {time.Hour, []int{50 * minute, 50 * minute, 50 * minute, 60 * minute, 60 * minute}, nil},
	} {
		w, launched := sick(), now.Add(-tt.age)
		w.snapshot.Instances[0].Launched, w.snapshot.Nodes = launched, w.snapshot.Nodes[1:]
		f := ledger.Finding{Instance: instanceID(1), Kind: roll.Unregistered, Group: "asg/w", FirstSeen: now.Add(-3 * time.Minute), Opened: now.Add(-3 * time.Minute), Since: launched, Began: launched}
		w.state.Findings = map[roll.FindingKey]ledger.Finding{f.Key(): f}
		w.state.Groups = map[roll.Group]ledger.GroupMemory{"asg/w": {Seconds: tt.took}}
		_, p := w.make(now)
		if got := reasons(p); !slices.Equal(got, tt.want) || len(p.Orders)+len(p.Held) != 1 {
			t.Errorf("%s: orders %+v, held for %v, want %v", name, p.Orders, got, tt.want)
		}
	}
}

func TestOneOrderPerCheckTheLongestOverdueFirst(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 20; n++ {
		w.add(n, 0)
	}
	for n := 1; n <= 3; n++ {
		w.snapshot.Nodes[n].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Duration(n) * time.Hour)}
		w.seen(n+1, time.Hour)
	}
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Instance == instanceID(4), "orders %+v, want only the one silent for longest", p.Orders)
	expect.List(t, reasons(p), []Reason{OneAtATime, OneAtATime}, "held for")
}

func TestObserveShowsWhatRemediateWouldDo(t *testing.T) {
	w := sick()
	w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Hour)}
	w.seen(2, time.Hour)
	w.mode = policy.Observe
	_, p := w.make(now)
	got := reasons(p)
	expect.That(t, slices.Equal(got, []Reason{ModeObserve, OneAtATime}), "held for %v, want the mode for the one that would be ordered and the limit for the other", got)
	expect.That(t, len(p.Tags)+len(p.Notices)+len(p.Orders) == 0, "observe plans to write: %+v", p)
}

// A stop holds every act, and other reasons are still shown first: an act held as Stopped continues
// when the stop is lifted.
func TestAStopHoldsEveryActAndShowsWhatGoesOnAfterIt(t *testing.T) {
	const stop = `mode: remediate
stop: true
overrides:
  - {match: {cluster: demo}, mode: remediate}
  - {match: {group: "asg/*"}, mode: remediate}
`
	w := sick()
	w.doc, w.snapshot.Cluster.ModeTag = with(stop), "remediate"
	w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Hour)}
	w.seen(2, time.Hour)
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 0 && slices.Equal(reasons(p), []Reason{Stopped, OneAtATime}), "orders %+v, held for %v", p.Orders, reasons(p))
	expect.That(t, len(p.Notices) > 0, "nobody is told of the findings")
	for _, c := range p.Tags {
		next := c.Set[roll.TagNext]
		expect.That(t, strings.HasPrefix(next, "terminate (held: stop) after ") && c.Set[roll.TagOrder] == "", "tags %v", c.Set)
	}
	w.mode = policy.Observe // the mode would hold it too
	if _, p := w.make(now); !slices.Equal(reasons(p), []Reason{Stopped, OneAtATime}) {
		t.Errorf("in mode observe held for %v", reasons(p))
	}
	// No act is announced while it holds.
	w = sick()
	w.doc = with(stop)
	w.snapshot.Nodes[0].Ready.Since = now.Add(-35 * time.Minute)
	if _, p := w.make(now); p.Steps[roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}].Do.Acts() {
		t.Errorf("announced %+v", p.Steps)
	}
	w.doc = with(strings.Replace(stop, "stop: true", "stop: false", 1))
	if _, p := w.make(now); p.Steps[roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}].Do != policy.DoTerminate {
		t.Errorf("without a stop announced %+v", p.Steps)
	}
	// Findings made meanwhile continue when the stop is lifted: the mode was remediate all along.
	w = sick()
	w.doc = with(stop)
	_, p = w.make(now)
	w.apply(p)
	w.doc = with("mode: remediate\n")
	if _, p := w.make(now.Add(time.Minute)); len(p.Orders) != 1 {
		t.Errorf("after the stop ordered %+v, held for %v", p.Orders, reasons(p))
	}
}

func TestNothingIsWrittenOfAPartialLook(t *testing.T) {
	for _, scope := range []roll.Scope{roll.ScopeCluster, roll.ScopeInstances, roll.ScopeNodes} {
		w := sick()
		w.snapshot.Instances[1].Marks = &roll.Marks{Finding: "Unknown"} // would be removed after a complete check
		w.snapshot.Gaps = []roll.Gap{{Scope: scope, Kind: roll.GapFailed}}
		_, p := w.make(now)
		p.Changes.Put.Trouble = nil // nothing else is remembered
		expect.That(t, len(p.Orders)+len(p.Tags)+len(p.Notices) == 0 && p.Changes.Empty(), "gap of scope %d: planned %+v", scope, p)
	}
}

// apply changes the world according to the plan.
func (w *world) apply(p Plan) {
	w.state.Apply(p.Changes)
	for _, n := range p.Notices {
		w.state.Apply(n.Sent())
	}
	for _, c := range p.Tags {
		for i := range w.snapshot.Instances {
			inst := &w.snapshot.Instances[i]
			if inst.ID != c.Instance {
				continue
			}
			marks := roll.Marks{}
			if inst.Marks != nil {
				marks = *inst.Marks
			}
			for k, v := range c.Set {
				marks.Set(k, v)
			}
			for _, k := range c.Delete {
				marks.Set(k, "")
			}
			if inst.Marks = &marks; marks == (roll.Marks{}) {
				inst.Marks = nil
			}
		}
	}
}

func TestASecondCheckOfTheSameWorldWritesNothing(t *testing.T) {
	for _, mode := range []policy.Mode{policy.Observe, policy.Notify} {
		w := sick()
		w.mode = mode
		_, p := w.make(now)
		w.apply(p)
		for i := 1; i <= 3; i++ {
			_, p = w.make(now.Add(time.Duration(i) * 5 * time.Minute))
			p.Changes.Put.Checked, p.Changes.Put.First = time.Time{}, time.Time{} // that it came by
			expect.That(t, len(p.Tags)+len(p.Notices) == 0 && p.Changes.Empty(), "mode %s, check %d writes again: tags %+v, notices %+v, changes %+v", mode, i, p.Tags, p.Notices, p.Changes)
			w.apply(p)
		}
	}
}

func TestTagsFollowTheStageAndGoWhenItEnds(t *testing.T) {
	w := sick()
	w.mode = policy.Notify
	_, p := w.make(now)
	must.That(t, len(p.Tags) == 1, "tags %+v", p.Tags)
	want := map[string]string{roll.TagFinding: "Unknown", roll.TagSince: "2026-03-10T10:00:00Z", roll.TagNext: "terminate (held: mode notify) after 2026-03-10T10:40:00Z"}
	expect.Same(t, p.Tags[0].Set, want, "tags")
	w.apply(p)
	w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now}
	_, p = w.make(now.Add(time.Minute))
	wantDelete := []string{roll.TagFinding, roll.TagSince, roll.TagNext}
	expect.That(t, len(p.Tags) == 1 && slices.Equal(p.Tags[0].Delete, wantDelete) && len(p.Tags[0].Set) == 0, "after recovery: %+v, want its tags removed", p.Tags)
	expect.That(t, len(p.Changes.Drop.Findings) == 1 && len(p.Changes.Drop.NotReady) == 1, "after recovery the ledger is told %+v", p.Changes)
	w.apply(p)
	_, p = w.make(now.Add(2 * time.Minute))
	p.Changes.Put.Checked, p.Changes.Put.First = time.Time{}, time.Time{} // that it came by
	expect.That(t, len(p.Tags) == 0 && p.Changes.Empty(), "later still: %+v", p)
}

// A finding that could not be read is neither over nor judged, and its tags stay.
func TestTagsOfAFindingThatIsKeptStay(t *testing.T) {
	w := sick()
	w.snapshot.Nodes[0].Ready = w.snapshot.Nodes[1].Ready
	w.snapshot.Instances[0].Marks = &roll.Marks{Finding: "Impaired", Next: "notify only", Order: "an-old-one"}
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Impaired}
	w.state = ledger.State{}
	w.state.Apply(ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{{Instance: key.Instance, Kind: key.Kind}: {Instance: key.Instance, Kind: key.Kind, Group: "asg/w", Stage: roll.Overdue}}}})
	_, p := w.make(now) // no status check was read
	expect.That(t, len(p.Tags) == 1 && len(p.Tags[0].Set) == 0 && slices.Equal(p.Tags[0].Delete, []string{roll.TagOrder}), "unreadable: %+v, want only the order removed", p.Tags)
	w.snapshot.StatusRead = roll.Yes
	_, p = w.make(now)
	expect.That(t, len(p.Tags) == 1 && slices.Equal(p.Tags[0].Delete, []string{roll.TagFinding, roll.TagNext, roll.TagOrder}), "read, and over: %+v, want all removed", p.Tags)
}

func TestIgnoredInstancesAreNotWrittenOn(t *testing.T) {
	w := sick()
	w.snapshot.Instances[0].Ignore = true
	_, p := w.make(now)
	expect.That(t, len(p.Tags)+len(p.Notices) == 0, "tags %+v, notices %+v", p.Tags, p.Notices)
}

func TestTheOrderTagStaysWhileTheActIsOpen(t *testing.T) {
	w := sick()
	_, p := w.make(now)
	w.apply(p)
	w.state.Actions = []ledger.Action{{ID: p.Orders[0].ID, Instance: instanceID(1), Group: "asg/w", At: now}}
	_, p = w.make(now.Add(time.Minute))
	for _, c := range p.Tags {
		expect.That(t, !slices.Contains(c.Delete, roll.TagOrder), "the order's tag is removed while its act has no outcome")
	}
	w.state.Actions[0].Outcome = &ledger.Outcome{Result: ledger.Failed, At: now.Add(time.Minute)}
	_, p = w.make(now.Add(2 * time.Minute))
	expect.That(t, len(p.Tags) == 1 && slices.Contains(p.Tags[0].Delete, roll.TagOrder), "after a failed act: %+v, want the order's tag removed", p.Tags)
}

func TestNoticesAreOnePerGroupAndKindAndOnlyNews(t *testing.T) {
	w := newWorld()
	w.mode = policy.Notify
	for n := 1; n <= 20; n++ {
		w.add(n, 0)
	}
	silence := func(n int) {
		w.snapshot.Nodes[n-1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Duration(n) * time.Hour)}
	}
	silence(1)
	silence(2)
	w.snapshot.Nodes[2].Ready = roll.Condition{Status: roll.ConditionFalse, Since: now.Add(-time.Hour)}
	_, p := w.make(now)
	keys := []ledger.NoticeKey{}
	for _, n := range p.Notices {
		keys = append(keys, n.Key)
	}
	want := []ledger.NoticeKey{{Group: "asg/w", Kind: roll.NotReady}, {Group: "asg/w", Kind: roll.Unknown}}
	must.That(t, slices.Equal(keys, want), "notices for %v, want %v", keys, want)
	expect.List(t, slices.Sorted(maps.Keys(p.Notices[1].Said.Members)), []roll.InstanceID{instanceID(1), instanceID(2)}, "the notice of silent nodes names")
	w.apply(p)

	silence(4)
	_, p = w.make(now.Add(time.Minute))
	must.That(t, len(p.Notices) == 1 && len(p.Notices[0].Entries) == 3, "after a third node fell silent: %+v", p.Notices)
	for _, e := range p.Notices[0].Entries {
		expect.That(t, e.New == (e.Finding.Instance == instanceID(4)), "%s: new %v", e.Finding.Instance, e.New)
	}
	w.apply(p)

	w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now}
	_, p = w.make(now.Add(2 * time.Minute))
	expect.That(t, len(p.Notices) == 0, "a node that recovered is no news: %+v", p.Notices)
}

func TestAWarningAndItsEscalationAreTwoNotices(t *testing.T) {
	w := newWorld()
	w.mode = policy.Notify
	w.add(1, 0)
	w.snapshot.Nodes = nil
	w.snapshot.Instances[0].Owner, w.snapshot.Instances[0].Group = roll.OwnerManagedNodeGroup, "nodegroup/w"
	launch := w.snapshot.Instances[0].Launched
	said := []string{}
	for _, minute := range []int{4, 5, 6, 14, 15, 16, 17, 60} {
		_, p := w.make(launch.Add(time.Duration(minute) * time.Minute))
		for _, n := range p.Notices {
			said = append(said, fmt.Sprintf("%d %s", minute, n.Said.Members[instanceID(1)].Told.Stage))
		}
		w.apply(p)
	}
	expect.List(t, said, []string{"5 warned", "15 overdue"}, "said")
}

func TestALastingReasonIsNewsOnce(t *testing.T) {
	w := sick()
	_, p := w.make(now.Add(-time.Minute))
	w.apply(p)
	w.snapshot.Instances[0].Hold = "true"
	said := 0
	for i := range 4 {
		_, p := w.make(now.Add(time.Duration(i) * time.Minute))
		said += len(p.Notices)
		w.apply(p)
	}
	expect.That(t, said == 1, "%d notices of the same hold, want 1", said)
}

func TestFirstSightingsAreRememberedAndKept(t *testing.T) {
	w := newWorld()
	w.add(1, time.Minute)
	w.add(2, 0)
	_, p := w.make(now)
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}
	if f := p.Changes.Put.Findings; len(f) != 1 || !f[key].FirstSeen.Equal(now) || !f[key].Opened.IsZero() {
		t.Fatalf("remembered %+v", p.Changes.Put.Findings)
	}
	w.apply(p)
	later := now.Add(30 * time.Minute)
	_, p = w.make(later)
	if f := p.Changes.Put.Findings; len(f) != 1 || !f[key].FirstSeen.Equal(now) || !f[key].Opened.Equal(later) || f[key].Stage != roll.Overdue {
		t.Errorf("remembered %+v, want the first sighting kept and the opening added", f)
	}
}

func TestTurningRemediateOnLeavesTheBacklog(t *testing.T) {
	w := sick()
	w.state = ledger.State{}
	w.mode = policy.Notify
	_, p := w.make(now)
	w.apply(p)
	w.mode = policy.Remediate
	for i := 1; i <= 3; i++ {
		_, p = w.make(now.Add(time.Duration(i) * 5 * time.Minute))
		w.apply(p)
		expect.List(t, reasons(p), []Reason{FoundBeforeRemediate}, "check %d: orders %+v, held for", i, p.Orders)
	}
	// A second node falls silent later: that one is acted on.
	w.snapshot.Nodes[1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(20 * time.Minute)}
	for _, at := range []time.Duration{50, 61} {
		_, p = w.make(now.Add(at * time.Minute))
		w.apply(p)
	}
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Instance == instanceID(2), "orders %+v, held %v, want the node that fell silent later", p.Orders, reasons(p))
}

// Findings made under remediate continue when a lowered mode is back. Those made meanwhile, or
// under a stop, are left alone.
func TestAModeThatIsBackActsOnWhatWasFoundUnderIt(t *testing.T) {
	for _, tt := range []struct {
		name  string
		found func(*world)
		want  []Reason // in place of an order
	}{
		{"under remediate", func(*world) {}, nil},
		{"in mode notify", func(w *world) { w.mode = policy.Notify }, []Reason{FoundBeforeRemediate}},
		{"under a stop", func(w *world) { w.doc = with("stop: true\n") }, []Reason{FoundBeforeRemediate}},
		{"while the policy could not be read", func(w *world) { w.mode, w.lowered = policy.Notify, true }, nil},
	} {
		w := sick()
		w.state.Findings = nil
		tt.found(w)
		_, p := w.make(now)
		w.apply(p)
		w.doc, w.mode, w.lowered = mustParse(plain), policy.Notify, false
		_, p = w.make(now.Add(5 * time.Minute))
		w.apply(p)
		w.mode = policy.Remediate
		for _, minutes := range []time.Duration{10, 15} {
			_, p = w.make(now.Add(minutes * time.Minute))
			w.apply(p)
		}
		got := reasons(p)
		expect.That(t, slices.Equal(got, tt.want) && (len(p.Orders) == 1) == (tt.want == nil), "found %s: orders %+v, held for %v", tt.name, p.Orders, got)
	}
}

// A silent node that reports again, as not ready, has the same fault. It was found under remediate,
// although the mode is lower when its kind changes. A node that was Ready meanwhile has a new one.
func TestTroubleThatChangesItsKindWasFoundBefore(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ready bool
		want  []Reason // in place of an order
	}{
		{"never ready", false, nil},
		{"ready meanwhile", true, []Reason{FoundBeforeRemediate}},
	} {
		w := sick()
		w.state.Findings = nil
		check := func(minutes time.Duration, status roll.ConditionStatus, mode policy.Mode) Plan {
			if at := now.Add((minutes - 1) * time.Minute); w.snapshot.Nodes[0].Ready.Status != status {
				w.snapshot.Nodes[0].Ready = roll.Condition{Status: status, Since: at}
			}
			w.mode = mode
			_, p := w.make(now.Add(minutes * time.Minute))
			w.apply(p)
			return p
		}
		check(0, roll.ConditionUnknown, policy.Remediate)
		if tt.ready {
			check(5, roll.ConditionTrue, policy.Notify)
		}
		check(10, roll.ConditionFalse, policy.Notify)
		check(40, roll.ConditionFalse, policy.Notify)
		check(45, roll.ConditionFalse, policy.Remediate)
		p := check(50, roll.ConditionFalse, policy.Remediate)
		got := reasons(p)
		expect.That(t, slices.Equal(got, tt.want) && (len(p.Orders) == 1) == (tt.want == nil), "%s: orders %+v, held for %v", tt.name, p.Orders, got)
	}
}

// A reboot may turn NotReady into Unknown and back between two checks, which shows only as a later
// transition. It is the same fault, unless no check saw the node for long before that.
func TestTroubleThatChangesTwiceBetweenTwoChecks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		changed time.Duration // minutes after the last check
		ready   bool          // a check sees the node Ready before that
		want    []Reason      // in place of an order
	}{
		{"soon after a check", 4, false, nil},
		{"long after a check", 9, false, []Reason{FoundBeforeRemediate}},
		{"seen Ready before", 4, true, []Reason{FoundBeforeRemediate}},
	} {
		w := sick()
		w.state.Findings = nil
		check := func(minutes time.Duration, ready roll.Condition, mode policy.Mode) Plan {
			w.snapshot.Nodes[0].Ready, w.mode = ready, mode
			_, p := w.make(now.Add(minutes * time.Minute))
			w.apply(p)
			return p
		}
		at := func(status roll.ConditionStatus, minutes time.Duration) roll.Condition {
			return roll.Condition{Status: status, Since: now.Add(minutes * time.Minute)}
		}
		check(0, at(roll.ConditionFalse, -31), policy.Remediate)
		if tt.ready {
			check(3, at(roll.ConditionTrue, 2), policy.Remediate)
		} else {
			check(3, at(roll.ConditionFalse, -31), policy.Remediate)
		}
		later := at(roll.ConditionFalse, 3+tt.changed)
		check(13, later, policy.Notify)
		check(50, later, policy.Notify)
		check(55, later, policy.Remediate)
		p := check(60, later, policy.Remediate)
		got := reasons(p)
		expect.That(t, slices.Equal(got, tt.want) && (len(p.Orders) == 1) == (tt.want == nil), "%s: orders %+v, held for %v", tt.name, p.Orders, got)
	}
}

func TestOpenActsAreSettledByALook(t *testing.T) {
	begun := func(age time.Duration) []ledger.Action {
		return []ledger.Action{{ID: "a", Do: "terminate", Instance: instanceID(1), Group: "asg/w", At: now.Add(-age)}}
	}
	tests := []struct {
		name  string
		age   time.Duration
		state roll.InstanceState // "" is not found, "unlisted" nothing known
		want  ledger.Result      // "" is left open
	}{
		{"still within an order's life", OrderLife - time.Nanosecond, roll.StateTerminated, ""},
		{"shutting down", OrderLife, roll.StateShuttingDown, ledger.Done},
		{"terminated", OrderLife, roll.StateTerminated, ledger.Done},
		{"still running", OrderLife, roll.StateRunning, ledger.Failed},
		{"stopped: it was not terminated", OrderLife, roll.StateStopped, ledger.Failed},
		{"not listed and not looked up", forgottenAfter, "unlisted", ""},
		{"not found", forgottenAfter - time.Nanosecond, "", ""},
		{"not found for so long that EC2 has forgotten it", forgottenAfter, "", ledger.Done},
	}
	for _, tt := range tests {
		w := sick()
		w.state.Actions = begun(tt.age)
		w.snapshot.Instances[0].State = tt.state
		if tt.state == "" || tt.state == "unlisted" {
			w.snapshot.Instances = w.snapshot.Instances[1:]
			w.snapshot.NotFound = map[roll.InstanceID]bool{instanceID(1): tt.state == ""}
		}
		_, p := w.make(now)
		var got ledger.Result
		if len(p.Resolved) > 0 {
			got = p.Resolved[0].Outcome.Result
		}
		expect.That(t, got == tt.want, "%s: settled as %q, want %q", tt.name, got, tt.want)
		expect.That(t, len(p.Orders) == 0, "%s: ordered while an act is open", tt.name)
	}
}

// Between two checks the node was ready: the first one saw another fault.
func TestASightingOfAnEarlierTroubleDoesNotCount(t *testing.T) {
	w := sick()
	w.snapshot.Nodes[0].Ready.Since = now.Add(-time.Hour)
	_, p := w.make(now)
	got := reasons(p)
	expect.That(t, slices.Equal(got, []Reason{NotSeenTwice}), "orders %+v, held for %v, want a second sighting of this trouble", p.Orders, got)
	w.apply(p)
	_, p = w.make(now.Add(time.Minute))
	expect.That(t, len(p.Orders) == 1, "a minute later: held for %v", reasons(p))
}

func TestSightingsDateFromTheEndOfTheLook(t *testing.T) {
	w := sick()
	w.state.Findings = nil
	pol := w.doc.Cluster("demo", "", w.mode)
	a := assess.Assess(assess.Input{Snapshot: w.snapshot, Policy: pol, State: w.state, Now: now})
	p := Make(Input{Snapshot: w.snapshot, Assessment: a, State: w.state, Policy: pol, Now: now, SeenAt: now.Add(40 * time.Second)})
	w.apply(p)
	_, p = w.make(now.Add(90 * time.Second))
	expect.That(t, len(p.Orders) == 0, "ordered 50 s after the first look ended")
	_, p = w.make(now.Add(100 * time.Second))
	expect.That(t, len(p.Orders) == 1, "held for %v 60 s after the first look ended", reasons(p))
}

func TestAGroupCanBeSlowedDownAndTheClusterStaysTheLimit(t *testing.T) {
	for limits, want := range map[string][]Reason{
		"{actionsPerHour: 0}":                      {ActionsPerHour},
		"{actionsPerCheck: 0}":                     {ActionsPerCheck},
		"{actionsPerHour: 50, actionsPerCheck: 9}": nil,
	} {
		w := sick()
		w.doc = with("overrides:\n- match: {group: \"asg/*\"}\n  limits: " + limits + "\n")
		_, p := w.make(now)
		expect.List(t, reasons(p), want, "limits %s: held for", limits)
	}
	w := newWorld()
	for n := 1; n <= 20; n++ {
		w.add(n, 0)
	}
	for n := 1; n <= 3; n++ {
		w.snapshot.Nodes[n-1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Duration(n) * 2 * time.Hour)}
		w.snapshot.Instances[n-1].Group = roll.Group(fmt.Sprintf("asg/w%d", n)) // otherwise one at a time would hold them
		w.snapshot.Groups[w.snapshot.Instances[n-1].Group] = canLaunch
		w.silent(n, time.Duration(n)*2*time.Hour)
	}
	w.doc = with("overrides:\n- match: {group: \"asg/*\"}\n  limits: {actionsPerCheck: 9}\n")
	if _, p := w.make(now); len(p.Orders) != 1 || !slices.Equal(reasons(p), []Reason{ActionsPerCheck, ActionsPerCheck}) {
		t.Errorf("%d orders: a group's limit must not lift the cluster's", len(p.Orders))
	}
}

// An instance that is acted on twice within the hour counts once.
func TestALaterStepOfALadderTakesNoFurtherPlaceInTheHour(t *testing.T) {
	for _, tt := range []struct {
		name  string
		acted int // the instance that was acted on
		want  []Reason
	}{{"the first of the two", 1, nil}, {"another one", 9, []Reason{ActionsPerHour}}} {
		w := healthy(20)
		for n := 1; n <= 2; n++ {
			g := roll.Group(fmt.Sprintf("asg/w%d", n))
			w.snapshot.Instances[n-1].Group, w.snapshot.Groups[g] = g, canLaunch
			w.silent(n, time.Duration(4-n)*time.Hour)
		}
		w.doc = with("limits: {actionsPerHour: 2, actionsPerCheck: 9}\n")
		w.state.Actions = []ledger.Action{{ID: "x", Instance: instanceID(tt.acted), Group: "asg/other", Do: string(Reboot), At: now.Add(-30 * time.Minute), Outcome: &ledger.Outcome{Result: ledger.Done, At: now.Add(-30 * time.Minute)}}}
		_, p := w.make(now)
		got := reasons(p)
		expect.That(t, slices.Equal(got, tt.want) && len(p.Orders) == 2-len(tt.want), "acted on is %s: %d orders, held for %v, want %v", tt.name, len(p.Orders), got, tt.want)
	}
}

func TestWhatAModeHoldsDoesNotTakeAnothersPlace(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 20; n++ {
		inst := w.add(n, 0)
		if n == 1 {
			inst.Group, inst.ASG = "asg/watched", "watched"
		}
	}
	for n, silent := range map[int]time.Duration{1: 9 * time.Hour, 2: 2 * time.Hour} {
		w.snapshot.Nodes[n-1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-silent)}
		w.seen(n, time.Hour)
	}
	w.doc = with("overrides:\n- match: {group: asg/watched}\n  mode: observe\n")
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Instance == instanceID(2), "orders %+v, held for %v", p.Orders, reasons(p))
}

func TestAFlappingNodeIsOneNoticeAnHour(t *testing.T) {
	w := sick()
	w.mode = policy.Notify
	w.state = ledger.State{}
	notices := 0
	for i := range 24 { // two hours, another kind every five minutes
		at := now.Add(time.Duration(i) * 5 * time.Minute)
		w.snapshot.Nodes[0].Ready.Status = []roll.ConditionStatus{roll.ConditionUnknown, roll.ConditionFalse}[i%2]
		_, p := w.make(at)
		notices += len(p.Notices)
		w.apply(p)
	}
	expect.That(t, notices <= 6, "%d notices in two hours", notices)
}

func TestTroubleThatComesBackLaterIsNewsAgain(t *testing.T) {
	w := sick()
	w.mode = policy.Notify
	w.snapshot.Nodes[1].Ready = w.snapshot.Nodes[0].Ready // stays, so the notice's key still exists
	notices := 0
	look := func(at time.Time, ready roll.Condition) {
		w.snapshot.Nodes[0].Ready = ready
		_, p := w.make(at)
		notices += len(p.Notices)
		w.apply(p)
	}
	look(now, roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Hour)})
	look(now.Add(2*time.Hour), roll.Condition{Status: roll.ConditionTrue, Since: now.Add(time.Minute)})
	week := now.Add(7 * 24 * time.Hour)
	look(week, roll.Condition{Status: roll.ConditionUnknown, Since: week.Add(-time.Hour)})
	expect.That(t, notices == 2, "%d notices, want one each time", notices)
}

func TestNoOrderOutlivesRollcallIgnore(t *testing.T) {
	w := sick()
	w.snapshot.Instances[0].Ignore = true
	w.snapshot.Instances[0].Marks = &roll.Marks{Finding: "Unknown", Order: "x"}
	_, p := w.make(now)
	expect.That(t, len(p.Tags) == 1 && slices.Equal(p.Tags[0].Delete, []string{roll.TagOrder}) && len(p.Tags[0].Set) == 0, "tags %+v, want only the order's removed", p.Tags)
}

// In any world, no plan orders more than the limits allow, and none orders anything for an instance
// that a person, its owner or a gap protects.
func TestInvariantsHoldInRandomWorlds(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := newWorld()
		w.mode = []policy.Mode{policy.Observe, policy.Notify, policy.Remediate, policy.Remediate}[rng.IntN(4)]
		n := 1 + rng.IntN(12)
		for i := 1; i <= n; i++ {
			silent := time.Duration(0)
			if rng.IntN(4) == 0 {
				silent = time.Duration(rng.IntN(120)) * time.Minute
			}
			inst := w.add(i, silent)
			if rng.IntN(2) == 0 {
				w.seen(i, time.Duration(rng.IntN(300))*time.Second)
			}
			switch rng.IntN(12) {
			case 0:
				inst.Hold = "true"
			case 1:
				inst.Ignore = true
			case 2:
				inst.Owner = roll.OwnerKarpenter
			case 3:
				delete(w.snapshot.Details, inst.ID)
			case 4:
				inst.State = roll.StateTerminated
			}
		}
		for range rng.IntN(7) {
			a := ledger.Action{ID: fmt.Sprint(rng.Uint64()), Instance: instanceID(1 + rng.IntN(2*n)), Group: "asg/w", At: now.Add(-time.Duration(rng.IntN(120)) * time.Minute)}
			if rng.IntN(4) > 0 {
				a.Outcome = &ledger.Outcome{Result: []ledger.Result{ledger.Done, ledger.Failed}[rng.IntN(2)], At: a.At}
			}
			w.state.Actions = append(w.state.Actions, a)
		}
		if rng.IntN(6) == 0 {
			w.snapshot.Gaps = append(w.snapshot.Gaps, roll.Gap{Scope: roll.Scope(rng.IntN(4)), Kind: roll.GapFailed})
		}
		a, p := w.make(now)
		limits := w.doc.For("demo", "", roll.Selector{}).Limits
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("seed %d: %s", seed, fmt.Sprintf(format, args...))
		}
		if len(p.Orders) > limits.ActionsPerCheck {
			fail("%d orders in one check", len(p.Orders))
		}
		spent := ledger.Budget{Since: now.Add(-time.Hour)}.Spent(w.state.Actions, "")
		if len(p.Orders) > 0 && spent+len(p.Orders) > limits.ActionsPerHour {
			fail("%d acts in an hour", spent+len(p.Orders))
		}
		if len(p.Orders) > 0 && (!w.snapshot.Whole() || w.mode != policy.Remediate || a.Count[""].Overdue > AllowedOverdue(a.Count[""].Nodes, 20)) {
			fail("ordered in mode %s, whole %v, counts %+v", w.mode, w.snapshot.Whole(), a.Count[""])
		}
		for _, o := range p.Orders {
			i := slices.IndexFunc(w.snapshot.Instances, func(i roll.Instance) bool { return i.ID == o.Instance })
			inst := w.snapshot.Instances[i]
			known := w.state.Findings[roll.FindingKey{Instance: o.Instance, Kind: o.Kind}]
			if inst.Hold != "" || inst.Ignore || inst.Owner == roll.OwnerKarpenter || inst.State != roll.StateRunning ||
				w.snapshot.Details[inst.ID].TerminationProtected != roll.No || known.FirstSeen.IsZero() || now.Sub(known.FirstSeen) < time.Minute {
				fail("ordered %+v for %+v", o, inst)
			}
			if _, open := w.state.Unresolved(o.Instance, o.Group); open {
				fail("ordered while an act on the instance is open")
			}
		}
		overdue := 0
		for _, f := range a.Findings {
			wait := map[roll.Kind]time.Duration{roll.Unknown: 10 * time.Minute}[f.Kind] // see plain
			if f.Stage == roll.Overdue && !now.Before(f.Due.Add(wait)) {
				overdue++
			}
		}
		if len(p.Orders)+len(p.Held) != overdue {
			fail("%d overdue, but %d ordered and %d held: something was dropped in silence", overdue, len(p.Orders), len(p.Held))
		}
	}
}
