package emit_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var (
	noon    = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}
)

func instance(n int) roll.InstanceID { return roll.InstanceID(fmt.Sprintf("i-%017x", n)) }

// world is a cluster and its ledger state. A check reads the cluster, changes the state as a
// run does, and returns its events.
type world struct {
	snapshot roll.Snapshot
	state    ledger.State
	mode     policy.Mode
	policy   *policy.Document // nil is the default
	resolved []plan.Resolution
	deaf     bool // notices cannot be sent, so none is remembered

	diagnoses map[roll.FindingKey]roll.Diagnosis
}

// healthy returns a cluster with n Ready nodes of an Auto Scaling group.
func healthy(n int) *world {
	w := &world{mode: policy.Remediate, state: ledger.State{First: noon.Add(-30 * 24 * time.Hour)}, snapshot: roll.Snapshot{
		Cluster: roll.Cluster{ID: cluster, Status: roll.ClusterActive}, Details: map[roll.InstanceID]roll.Detail{}, StatusRead: roll.Yes,
		Groups: map[roll.Group]roll.GroupDetail{"asg/w": {LaunchSuspended: roll.No, LaunchesRead: roll.Yes, ReplaceSuspended: roll.No}},
	}}
	for i := range n {
		id := instance(i + 1)
		w.snapshot.Instances = append(w.snapshot.Instances, roll.Instance{ID: id, State: roll.StateRunning, Launched: noon.Add(-48 * time.Hour), ASG: "w", Owner: roll.OwnerAutoScalingGroup, Group: "asg/w", Zone: "eu-west-1a"})
		w.snapshot.Nodes = append(w.snapshot.Nodes, roll.Node{Name: fmt.Sprintf("node-%d", i+1), Compute: roll.ComputeEC2, Instance: id, Created: noon.Add(-48 * time.Hour), Owner: roll.OwnerNone, Group: roll.GroupNone})
		w.snapshot.Details[id] = roll.Detail{TerminationProtected: roll.No, Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService", LeaseRead: roll.No}
		w.turn(i+1, roll.ConditionTrue, -48*time.Hour)
	}
	return w
}

func (w *world) turn(n int, status roll.ConditionStatus, after time.Duration) {
	w.snapshot.Nodes[n-1].Ready = roll.Condition{Status: status, Since: noon.Add(after), Reason: "Reason"}
}

func (w *world) check(after time.Duration, outcomes ...remediate.Outcome) (report.Check, []emit.Event) {
	at := noon.Add(after)
	w.snapshot.At = at
	pol := cmp.Or(w.policy, policy.Default()).Cluster("demo", "", w.mode)
	in := assess.Input{Snapshot: &w.snapshot, Policy: pol, State: w.state, Now: at}
	c := report.Check{Snapshot: &w.snapshot, Assessment: assess.Assess(in), Mode: w.mode, Outcomes: outcomes, Diagnoses: w.diagnoses}
	c.Plan = plan.Make(plan.Input{Snapshot: &w.snapshot, Assessment: c.Assessment, State: w.state, Policy: pol, Now: at, Diagnoses: w.diagnoses})
	c.Plan.Resolved = append(c.Plan.Resolved, w.resolved...)
	before := w.state.Clone()
	w.state.Apply(c.Plan.Changes)
	if !w.deaf {
		for _, n := range c.Plan.Notices {
			if n.Over {
				w.state.Apply(ledger.Changes{Drop: ledger.Drops{Notices: []ledger.NoticeKey{n.Key}}})
				continue
			}
			w.state.Apply(n.Sent())
		}
	}
	return c, emit.FromCheck(before, c)
}

// gist returns a short name of an event.
func gist(e emit.Event) string {
	short := strings.ReplaceAll(e.DetailType, " ", "")
	switch d := e.Detail.(type) {
	case emit.Finding:
		return fmt.Sprintf("%s %s %s", short, d.Kind, d.Stage)
	case emit.Resolved:
		return fmt.Sprintf("%s %s %s", short, d.Kind, d.How)
	case emit.Action:
		return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", short, d.Action, d.Result, d.Reason))
	case emit.Completed:
		return short
	}
	return "?"
}

func gists(events []emit.Event) []string { return roll.Map(events, gist) }

// expect runs a check at a time, compares the events, and checks again. The second check must
// have no news.
func (w *world) expect(t *testing.T, after time.Duration, want ...string) []emit.Event {
	t.Helper()
	_, events := w.check(after)
	valid(t, events)
	want = append(want, "CheckCompleted")
	expect.List(t, gists(events), want, "%s after noon", after)
	_, again := w.check(after + 20*time.Second)
	valid(t, again)
	expect.List(t, gists(again), []string{"CheckCompleted"}, "%s after noon, once more", after)
	return events
}

func TestNothingHappensInAHealthyCluster(t *testing.T) {
	events := healthy(4).expect(t, 0)
	want := emit.Completed{
		Head: emit.Head{Version: 1, At: noon, Account: "111122223333", Region: "eu-west-1", Cluster: "demo"},
		Mode: "remediate", Complete: true, Nodes: 4, Ready: 4,
	}
	got, ok := events[0].Detail.(emit.Completed)
	must.That(t, ok && got.Held != nil && got.Outcomes != nil, "%+v", events[0])
	expect.That(t, len(got.Registration) == 1 && got.Registration[0].Group == "asg/w" && got.Registration[0].Count == 4, "registration %+v", got.Registration)
	got.Held, got.Outcomes, got.Registration, got.Next = nil, nil, nil, time.Time{}
	expect.That(t, fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", want), "got %+v, want %+v", got, want)
}

func TestAFindingOpensEscalatesAndIsResolvedOnceEach(t *testing.T) {
	w := healthy(4)
	w.snapshot.Nodes = w.snapshot.Nodes[:3]
	w.snapshot.Instances[3].Launched = noon.Add(-time.Minute) // never registers
	w.expect(t, 0)
	opened := w.expect(t, 5*time.Minute, "FindingOpened Unregistered warned")
	f, ok := opened[0].Detail.(emit.Finding)
	if !ok || f.Instance != string(instance(4)) || f.Group != "asg/w" || f.Owner != "autoscaling-group" || f.Zone != "eu-west-1a" || f.Cluster != "demo" ||
		!f.Since.Equal(noon.Add(-time.Minute)) || !f.Opened.Equal(noon.Add(5*time.Minute)) || !f.Due.Equal(noon.Add(14*time.Minute)) || f.Summary == "" ||
		f.Next == nil || !f.Next.At.Equal(f.Due) {
		t.Errorf("%+v", f)
	}
	w.expect(t, 10*time.Minute)
	escalated := w.expect(t, 15*time.Minute, "FindingEscalated Unregistered overdue")
	if f, ok := escalated[0].Detail.(emit.Finding); !ok || !f.Opened.Equal(noon.Add(5*time.Minute)) || !f.At.Equal(noon.Add(15*time.Minute)) {
		t.Errorf("%+v", f)
	}
	w.snapshot.Instances[3].State = roll.StateShuttingDown
	resolved := w.expect(t, 18*time.Minute, "FindingResolved Unregistered gone")
	if r, ok := resolved[0].Detail.(emit.Resolved); !ok || r.Stage != "overdue" || r.Instance != string(instance(4)) || !r.Opened.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("%+v", r)
	}
}

func TestAKindWithoutWarningOpensOverdue(t *testing.T) {
	w := healthy(4)
	w.turn(1, roll.ConditionUnknown, 0)
	w.expect(t, time.Minute) // watching is no event
	w.expect(t, 31*time.Minute, "FindingOpened Unknown overdue")
	w.turn(1, roll.ConditionTrue, 32*time.Minute)
	w.expect(t, 33*time.Minute, "FindingResolved Unknown cleared")
}

func TestWhatWasOnlyWatchedIsNotResolved(t *testing.T) {
	w := healthy(4)
	w.turn(1, roll.ConditionUnknown, 0)
	w.expect(t, time.Minute)
	w.turn(1, roll.ConditionTrue, 2*time.Minute)
	w.expect(t, 3*time.Minute)
}

func TestAnotherKindTakesItsPlace(t *testing.T) {
	w := healthy(4)
	w.turn(1, roll.ConditionUnknown, 0)
	w.expect(t, 31*time.Minute, "FindingOpened Unknown overdue")
	w.turn(1, roll.ConditionFalse, 32*time.Minute)
	w.expect(t, 33*time.Minute, "FindingResolved Unknown changed", "FindingOpened NotReady overdue")
}

// A new launch of the same instance is another finding, even if no check observed the end of
// the first.
func TestTheSameKindAnewEndsTheFirst(t *testing.T) {
	w := healthy(4)
	w.snapshot.Nodes = w.snapshot.Nodes[:3]
	w.snapshot.Instances[3].Launched = noon
	w.expect(t, 6*time.Minute, "FindingOpened Unregistered warned")
	w.snapshot.Instances[3].Launched = noon.Add(10 * time.Minute) // stopped and started
	w.expect(t, 16*time.Minute, "FindingResolved Unregistered changed", "FindingOpened Unregistered warned")
}

func TestAHeldActIsToldOnce(t *testing.T) {
	w := healthy(3)
	w.turn(1, roll.ConditionUnknown, 0)
	w.snapshot.Details[instance(1)] = roll.Detail{TerminationProtected: roll.Yes, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService", LeaseRead: roll.No}
	events := w.expect(t, 31*time.Minute, "FindingOpened Unknown overdue", "ActionHeld reboot held TerminationProtected")
	a, ok := events[1].Detail.(emit.Action)
	expect.That(t, ok && a.Instance == string(instance(1)) && a.Node == "node-1" && a.Owner == "autoscaling-group" && a.Order == "" && a.Detail != "" && a.Since.Equal(noon), "%+v", a)
	w.expect(t, 50*time.Minute)
	w.snapshot.Instances[0].Hold = "true" // another reason is news
	w.expect(t, 55*time.Minute, "ActionHeld reboot held InstanceHeld")
	c, _ := w.check(56 * time.Minute)
	expect.That(t, len(c.Plan.Held) == 1, "held %+v: the check has nothing to repeat", c.Plan.Held)
}

// An act that is alternately refused and held causes one event, when it is refused.
func TestWhatWaversIsNotToldInEveryCheck(t *testing.T) {
	w := healthy(4)
	w.turn(1, roll.ConditionUnknown, 0)
	w.expect(t, 31*time.Minute, "FindingOpened Unknown overdue")
	orders := 0
	for minute := 60; minute < 90; minute += 2 {
		held := minute%4 == 2
		w.snapshot.Instances[0].Hold = map[bool]string{true: "true"}[held]
		c, events := w.check(time.Duration(minute) * time.Minute)
		for _, o := range c.Plan.Orders {
			orders++
			key := ledger.RefusalKey{Order: o.ID, Reason: string(plan.InstanceHeld)}
			w.state.Apply(ledger.Changes{Put: ledger.State{Refusals: map[ledger.RefusalKey]ledger.Refusal{key: {Instance: o.Instance, Kind: o.Kind, Do: string(o.Action), At: w.snapshot.At}}}})
		}
		got := gists(events)
		expect.That(t, slices.Equal(got, []string{"CheckCompleted"}) && held == (len(c.Plan.Held) == 1), "minute %d: held %+v, events %q", minute, c.Plan.Held, got)
	}
	expect.That(t, orders == 8, "%d orders", orders)
}

func TestPassingReasonsAndModesAreCountedOnly(t *testing.T) {
	for mode, reason := range map[policy.Mode]plan.Reason{policy.Observe: plan.ModeObserve, policy.Notify: plan.ModeNotify} {
		w := healthy(4)
		w.mode = mode
		w.turn(1, roll.ConditionUnknown, 0)
		w.expect(t, 31*time.Minute, "FindingOpened Unknown overdue")
		events := w.expect(t, 60*time.Minute)
		c, ok := events[0].Detail.(emit.Completed)
		expect.That(t, ok && maps.Equal(c.Held, map[string]int{string(reason): 1}) && c.Findings.Overdue == 1 && c.Orders == 0, "%s: %+v", mode, c)
	}
}

// In mode observe no notices are remembered, so every check would report a lasting reason.
func TestObserveTellsOfFindingsAndNotOfHeldActs(t *testing.T) {
	w := healthy(3)
	w.mode = policy.Observe
	w.turn(1, roll.ConditionUnknown, 0)
	w.snapshot.Instances[0].Hold = "true"
	w.expect(t, 31*time.Minute, "FindingOpened Unknown overdue")
	events := w.expect(t, 45*time.Minute)
	c, ok := events[0].Detail.(emit.Completed)
	expect.That(t, ok && c.Held["InstanceHeld"] == 1, "%+v", c)
}

// A partial check concludes nothing, so it opens and resolves nothing.
func TestAPartialCheckOnlySaysThatItWasMade(t *testing.T) {
	w := healthy(3)
	w.turn(1, roll.ConditionUnknown, 0)
	w.expect(t, 31*time.Minute, "FindingOpened Unknown overdue")
	nodes := w.snapshot.Nodes
	w.snapshot.Nodes = nil
	w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Call: "list nodes", Detail: "the API server did not answer"}}
	events := w.expect(t, 45*time.Minute)
	c, ok := events[0].Detail.(emit.Completed)
	expect.That(t, ok && !c.Complete && c.Notes == 1, "%+v", c)
	w.snapshot.Nodes, w.snapshot.Gaps = nodes, nil
	w.turn(1, roll.ConditionTrue, 46*time.Minute)
	w.expect(t, 47*time.Minute, "FindingResolved Unknown cleared")
}

func TestAClusterThatCannotBeDescribedHasNoAccount(t *testing.T) {
	w := healthy(0)
	w.snapshot.Cluster = roll.Cluster{ID: roll.ClusterID{Region: "eu-west-1", Name: "demo"}}
	w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapDenied, Call: "eks:DescribeCluster", Detail: "denied"}}
	events := w.expect(t, 0)
	c, ok := events[0].Detail.(emit.Completed)
	expect.That(t, ok && !c.Complete && c.Account == "" && c.Region == "" && events[0].Resources == nil, "%+v", events)
}

func order() plan.Order {
	return plan.Order{
		ID: "3f9a0c5d7e1b2468", ClusterID: cluster, Instance: instance(1), Node: "node-1", Group: "asg/w", Owner: roll.OwnerAutoScalingGroup, Kind: roll.Unknown,
		Action: plan.Terminate, FirstSeen: noon, Since: noon, At: noon.Add(41 * time.Minute), Expires: noon.Add(51 * time.Minute), Why: "node node-1 has gone silent",
	}
}

func TestEveryOutcomeHasItsEvent(t *testing.T) {
	outcome := func(r remediate.Result, reason plan.Reason, news bool) remediate.Outcome {
		return remediate.Outcome{Order: order(), Result: r, Reason: reason, Detail: "so it went", News: news}
	}
	tests := []struct {
		outcome remediate.Outcome
		want    []string
	}{
		{outcome(remediate.Acted, "", true), []string{"ActionTaken terminate acted"}},
		{outcome(remediate.Acted, "", false), []string{"ActionTaken terminate acted"}},
		{outcome(remediate.Failed, "", true), []string{"ActionFailed terminate failed"}},
		{outcome(remediate.Failed, "", false), []string{"ActionFailed terminate failed"}}, // each attempt is one
		{outcome(remediate.Unclear, "", true), []string{"ActionFailed terminate unclear"}},
		{outcome(remediate.Refused, plan.VerdictChanged, true), []string{"ActionHeld terminate refused VerdictChanged"}},
		{outcome(remediate.Refused, plan.VerdictChanged, false), nil},
		{outcome(remediate.Refused, plan.TargetUnreadable, false), nil},
		{outcome(remediate.Refused, plan.TargetUnreadable, true), []string{"ActionHeld terminate refused TargetUnreadable"}}, // it has lasted
		{outcome(remediate.Refused, plan.OrderExpired, true), nil},
		{outcome(remediate.Sent, "", true), nil},     // the process that it was sent to reports it
		{outcome(remediate.Ongoing, "", false), nil}, // it continues
	}
	for _, tt := range tests {
		got := emit.FromOutcome(cluster, tt.outcome, noon.Add(42*time.Minute))
		valid(t, got)
		expect.List(t, gists(got), tt.want, "%s %s", tt.outcome.Result, tt.outcome.Reason)
		for _, e := range got {
			if a, ok := e.Detail.(emit.Action); !ok || a.Order != order().ID || a.Instance != string(instance(1)) || a.Detail != "so it went" || !a.At.Equal(noon.Add(42*time.Minute)) || a.Account != cluster.Account {
				t.Errorf("%+v", e)
			}
		}
		_, events := healthy(3).check(0, tt.outcome)
		valid(t, events)
		expect.List(t, gists(events), append(tt.want, "CheckCompleted"), "in a check")
		c, ok := events[len(events)-1].Detail.(emit.Completed)
		expect.That(t, ok && c.Outcomes[string(tt.outcome.Result)] == 1, "%+v", c)
	}
}

func TestAnActThatACrashLeftOpenIsToldWhenItIsSettled(t *testing.T) {
	for result, want := range map[ledger.Result]string{ledger.Done: "ActionTaken terminate acted", ledger.Failed: "ActionFailed terminate failed"} {
		w := healthy(3)
		w.state = ledger.State{First: w.state.First, Actions: []ledger.Action{{ID: order().ID, Do: "terminate", Instance: instance(9), Group: "asg/w", Kind: roll.Unknown, At: noon}}}
		w.resolved = []plan.Resolution{
			{ActionID: order().ID, Outcome: ledger.Outcome{Result: result, At: noon, Detail: "seen"}},
			{ActionID: "unheard of", Outcome: ledger.Outcome{Result: result}},
		}
		_, events := w.check(time.Minute)
		valid(t, events)
		expect.List(t, gists(events), []string{want, "CheckCompleted"}, "%s", result)
		a, ok := events[0].Detail.(emit.Action)
		expect.That(t, ok && a.Order == order().ID && a.Instance == string(instance(9)) && a.Detail == "seen", "%+v", a)
	}
}

func TestEveryActHasItsEvents(t *testing.T) {
	for _, act := range []plan.Action{plan.Cordon, plan.Uncordon, plan.Drain, plan.Reboot, plan.DeleteNode, plan.DeleteNodeClaim, plan.Terminate} {
		for result, want := range map[remediate.Result]string{
			remediate.Acted: "ActionTaken %s acted", remediate.Failed: "ActionFailed %s failed", remediate.Unclear: "ActionFailed %s unclear", remediate.Refused: "ActionHeld %s refused VerdictChanged", remediate.Ongoing: "",
		} {
			o := remediate.Outcome{Order: order(), Result: result, Detail: "so it went", News: result != remediate.Ongoing}
			if o.Order.Action = act; result == remediate.Refused {
				o.Reason = plan.VerdictChanged
			}
			got := emit.FromOutcome(cluster, o, noon)
			valid(t, got)
			if a, ok := gotAction(got); ok && (a.Finding == "") != act.Free() {
				t.Errorf("%s %s is about the finding %q", act, result, a.Finding)
			}
			if want == "" && len(got) != 0 || want != "" && !slices.Equal(gists(got), []string{fmt.Sprintf(want, act)}) {
				t.Errorf("%s %s: %q", act, result, gists(got))
			}
		}
	}
}

// gotAction returns the action of the only event.
func gotAction(events []emit.Event) (emit.Action, bool) {
	if len(events) != 1 {
		return emit.Action{}, false
	}
	a, ok := events[0].Detail.(emit.Action)
	return a, ok
}

func TestADrainThatRanOutOfTimeSaysSo(t *testing.T) {
	o := remediate.Outcome{Order: order(), Result: remediate.Failed, Reason: plan.DrainUnfinished, Detail: "unfinished: 1 pod was left", News: true}
	o.Order.Action = plan.Drain
	got := emit.FromOutcome(cluster, o, noon)
	valid(t, got)
	expect.List(t, gists(got), []string{"ActionFailed drain failed DrainUnfinished"}, "gists(got)")
}

// A drain that was not continued may have run out of time, or may have lost its reason. That
// a node came back is no failure.
func TestADrainThatIsSettledByALook(t *testing.T) {
	for moot, want := range map[bool]string{
		true:  "ActionHeld drain refused VerdictChanged",
		false: "ActionFailed drain failed DrainUnfinished",
	} {
		detail := ledger.Unfinished + ": so it ended"
		w := healthy(3)
		w.state = ledger.State{First: w.state.First, Actions: []ledger.Action{{ID: order().ID, Do: "drain", Instance: instance(9), Node: "node-9", Group: "asg/w", Kind: roll.NotReady, At: noon}}}
		w.resolved = []plan.Resolution{{ActionID: order().ID, Moot: moot, Outcome: ledger.Outcome{Result: ledger.Failed, At: noon, Detail: detail}}}
		_, events := w.check(time.Minute)
		valid(t, events)
		expect.List(t, gists(events), []string{want, "CheckCompleted"}, "moot %v", moot)
	}
}

// Impaired exists along with other findings. If one of them continues, it has not replaced the
// other.
func TestAFindingBesideAnotherEndsByItself(t *testing.T) {
	w := healthy(4)
	w.turn(1, roll.ConditionUnknown, 0)
	w.snapshot.Impaired = map[roll.InstanceID]roll.Impairment{instance(1): {Since: noon}}
	w.check(time.Minute)
	w.check(6 * time.Minute)
	w.sample(t, 31*time.Minute, "FindingOpened Unknown overdue")
	w.snapshot.Impaired = nil
	w.sample(t, 32*time.Minute, "FindingResolved Impaired cleared")
	w.snapshot.Impaired = map[roll.InstanceID]roll.Impairment{instance(1): {Since: noon.Add(33 * time.Minute)}}
	w.check(34 * time.Minute)
	w.check(40 * time.Minute)
	w.turn(1, roll.ConditionTrue, 41*time.Minute)
	w.sample(t, 42*time.Minute, "FindingResolved Unknown cleared")
}

// A finding whose state is unknown is neither over nor news: its ledger entry is unchanged.
func TestWhatCouldNotBeReadIsNotResolved(t *testing.T) {
	w := healthy(4)
	w.snapshot.Impaired = map[roll.InstanceID]roll.Impairment{instance(1): {Since: noon}}
	w.expect(t, 6*time.Minute, "FindingOpened Impaired overdue")
	w.expect(t, 16*time.Minute, "ActionHeld terminate held NodeReady")
	w.snapshot.Impaired, w.snapshot.StatusRead = nil, roll.Unreadable
	w.expect(t, 20*time.Minute)
	w.snapshot.StatusRead = roll.Yes
	w.expect(t, 25*time.Minute, "FindingResolved Impaired cleared")
}

// An event has only the slowest groups of a cluster.
func TestRegistrationTimesAreBounded(t *testing.T) {
	w := healthy(1)
	c, _ := w.check(0)
	c.Assessment.Registration = map[roll.Group]assess.RegistrationTimes{}
	for i := range 150 {
		c.Assessment.Registration[roll.NodeGroupGroup(fmt.Sprintf("g-%03d", i))] = assess.RegistrationTimes{Count: 1, P99: time.Duration(i) * time.Second}
	}
	events := emit.FromCheck(w.state, c)
	valid(t, events)
	got, ok := events[len(events)-1].Detail.(emit.Completed)
	expect.That(t, ok && len(got.Registration) == 100 && got.Registration[0].P99 == 149 && got.Registration[99].P99 == 50, "%d groups: %+v", len(got.Registration), got.Registration)
}

// What could not be sent is not remembered and is sent again: twice rather than never.
func TestWhatNobodyRemembersIsToldAgain(t *testing.T) {
	w := healthy(3)
	w.deaf = true
	w.turn(1, roll.ConditionUnknown, 0)
	w.snapshot.Instances[0].Hold = "true"
	w.check(31 * time.Minute)
	for _, after := range []time.Duration{45 * time.Minute, 46 * time.Minute} {
		w.sample(t, after, "ActionHeld reboot held InstanceHeld")
	}
}

// Events include the cause and the location of the evidence.
func TestEventsNameTheCauseAndTheEvidence(t *testing.T) {
	const where = "s3://rollcall-evidence/x/"
	w := healthy(4)
	w.snapshot.Nodes = w.snapshot.Nodes[1:]
	w.snapshot.Instances[0].Launched = noon.Add(-6 * time.Minute)
	c, _ := w.check(0)
	must.That(t, len(c.Assessment.Findings) == 1 && len(c.Plan.Changes.Put.Findings) == 1, "findings %+v", c.Assessment.Findings)
	c.Diagnoses = map[roll.FindingKey]roll.Diagnosis{c.Assessment.Findings[0].Key(): {Causes: []roll.Cause{
		{Code: "LaunchTemplateDrift", Confidence: roll.Suggestive, Summary: "perhaps"}, {Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Summary: "the role is not mapped"},
	}}}
	for key, f := range c.Plan.Changes.Put.Findings {
		f.Evidence = where
		c.Plan.Changes.Put.Findings[key] = f
	}
	events := emit.FromCheck(ledger.State{}, c)
	valid(t, events)
	f, ok := events[0].Detail.(emit.Finding)
	expect.That(t, ok && f.Cause == "NodeRoleNotMapped" && f.Why == "the role is not mapped" && f.Evidence == where, "%+v", events[0])
	key := c.Assessment.Findings[0].Key()
	c.Diagnoses[key] = roll.Diagnosis{Causes: c.Diagnoses[key].Causes[:1]}
	f, ok = emit.FromCheck(ledger.State{}, c)[0].Detail.(emit.Finding)
	expect.That(t, ok && f.Cause == "" && strings.Contains(f.Text, "Perhaps: perhaps (LaunchTemplateDrift)."), "%+v", f)
	o := remediate.Outcome{Order: plan.Order{Instance: "i-00000001", Kind: roll.Unknown, Group: "asg/w", Owner: roll.OwnerAutoScalingGroup, Action: plan.Terminate, ID: "00000000feed0027"}, Result: remediate.Acted, Detail: "terminated", Cause: "KernelPanic", Evidence: where}
	events = emit.FromOutcome(c.Snapshot.Cluster.ID, o, noon)
	valid(t, events)
	if a, ok := events[0].Detail.(emit.Action); !ok || a.Cause != "KernelPanic" || a.Evidence != where {
		t.Errorf("%+v", events[0])
	}
}

// A fourth instance that is held like three others causes no notice, but an event.
func TestAnActThatIsHeldQuietlyIsAnEvent(t *testing.T) {
	w := healthy(40)
	for n := 1; n <= 3; n++ {
		w.snapshot.Instances[n-1].Hold = "true"
		w.turn(n, roll.ConditionFalse, -30*time.Minute)
	}
	w.snapshot.Instances[3].Hold = "true"
	w.turn(4, roll.ConditionFalse, -14*time.Minute-30*time.Second) // overdue in the next check
	w.check(0)
	c, events := w.check(time.Minute)
	expect.That(t, len(c.Plan.Notices) == 0, "people are told %+v", c.Plan.Notices)
	var held []string
	for _, e := range events {
		if a, ok := e.Detail.(emit.Action); ok && e.DetailType == emit.ActionHeld {
			held = append(held, a.Instance)
		}
	}
	expect.List(t, held, []string{string(instance(4))}, "held")
	if _, events = w.check(2 * time.Minute); len(events) != 1 {
		t.Errorf("told again: %q", gists(events))
	}
}
