package remediate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// refused fails the test unless the order was refused for the reason, with a detail, and
// nothing was sent or recorded.
func (w *world) refused(t *testing.T, out Outcome, reason plan.Reason, intents int) {
	t.Helper()
	n := len(w.calls)
	expect.That(t, n == 0 && len(w.sent) == 0, "TerminateInstances was called %d times, other calls %v, want none", n, w.sent)
	expect.That(t, out.Result == Refused && out.Reason == reason, "got %s for %q (%s), want refused for %q", out.Result, out.Reason, out.Detail, reason)
	expect.That(t, out.Detail != "", "the refusal says nothing to a person")
	got := len(w.actions(t))
	expect.That(t, got == intents, "the ledger holds %d acts, want %d", got, intents)
}

// In each case one thing happens between the order and the act.
func TestRefusesAndSendsNothing(t *testing.T) {
	ready := roll.Condition{Status: roll.ConditionTrue, Since: now.Add(-time.Minute)}
	tests := map[string]struct {
		world  func(*testing.T) *world // silentNode if nil
		happen func(*world, *plan.Order)
		reason plan.Reason
		detail string // the whole detail, if not ""
	}{
		"a node turned ready": {
			happen: func(w *world, _ *plan.Order) { w.nodes[0].Ready = ready },
			reason: plan.VerdictChanged, detail: "node node-1 of i-00000000000000001 is registered and Ready now",
		},
		"an instance registered and is ready": {
			world: unregistered,
			happen: func(w *world, _ *plan.Order) {
				w.nodes = []roll.Node{{Name: "late", Compute: roll.ComputeEC2, Instance: target, Created: now.Add(-time.Minute), Ready: ready}}
			},
			reason: plan.VerdictChanged, detail: "node late of i-00000000000000001 is registered and Ready now",
		},
		"an instance registered and is not ready yet": {
			world: unregistered,
			happen: func(w *world, _ *plan.Order) {
				w.nodes = []roll.Node{{Name: "late", Compute: roll.ComputeEC2, Instance: target, Created: now.Add(-time.Minute), Ready: roll.Condition{Status: roll.ConditionFalse, Since: now.Add(-time.Minute)}}}
			},
			reason: plan.VerdictChanged, detail: "node late of i-00000000000000001 is registered now, and has time left to become Ready",
		},
		"a silent node speaks again and is not ready": {
			happen: func(w *world, _ *plan.Order) {
				w.nodes[0].Ready = roll.Condition{Status: roll.ConditionFalse, Since: now.Add(-time.Minute)}
			},
			reason: plan.VerdictChanged, detail: "the finding is now NotReady, the order was for Unknown",
		},
		"a node was ready and fell silent again": {
			happen: func(w *world, _ *plan.Order) { w.nodes[0].Ready.Since = now.Add(-time.Minute) },
			reason: plan.VerdictChanged, detail: "the finding is now watching: node node-1 has not reported its status since 2026-03-02 11:59:00Z (NodeStatusUnknown)",
		},
		"the node is gone": {
			// The instance now appears never to have registered: another case.
			happen: func(w *world, _ *plan.Order) { w.nodes = nil },
			reason: plan.VerdictChanged,
		},
		"the node registered again under another name and is ready": {
			happen: func(w *world, _ *plan.Order) {
				w.nodes = append(w.nodes, roll.Node{Name: "node-1b", Compute: roll.ComputeEC2, Instance: target, Created: now.Add(-time.Minute), Ready: ready})
			},
			reason: plan.VerdictChanged, detail: "node node-1b of i-00000000000000001 is registered and Ready now",
		},
		"the kubelet of an instance without a Node renews its lease": {
			world: unregistered,
			happen: func(w *world, _ *plan.Order) {
				d := w.details[target]
				d.LeaseRead, d.LeaseOf, d.LeaseRenewed = roll.Yes, "node-1", now.Add(-10*time.Second)
				w.details[target] = d
			},
			reason: plan.Conflicting,
		},
		"EC2 knows no such instance, and it never registered": {
			world:  unregistered,
			happen: func(w *world, _ *plan.Order) { w.instances = nil },
			reason: plan.VerdictChanged, detail: "EC2 does not know i-00000000000000001 any more",
		},
		"an instance that never registered was stopped": {
			world:  unregistered,
			happen: func(w *world, _ *plan.Order) { w.instances[0].State = roll.StateStopped },
			reason: plan.VerdictChanged, detail: "i-00000000000000001 is now stopped",
		},
		"its status checks cannot be read any more": {
			world: impaired,
			happen: func(w *world, _ *plan.Order) {
				w.statusRead = roll.Unreadable
				w.gaps = []roll.Gap{{Scope: roll.ScopeDetail, Detail: "ec2:DescribeInstanceStatus was throttled"}}
			},
			reason: plan.TargetUnreadable, detail: "what the finding Impaired of i-00000000000000001 rests on could not be read again: ec2:DescribeInstanceStatus was throttled",
		},
		"its status checks are fine again": {
			world:  impaired,
			happen: func(w *world, _ *plan.Order) { w.failing = nil },
			reason: plan.VerdictChanged,
		},
		"EC2 does not know the instance any more": {
			happen: func(w *world, _ *plan.Order) { w.instances = nil },
			reason: plan.InstanceNotSeen, detail: "EC2 did not list i-00000000000000001 in this check",
		},
		"the instance was stopped": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].State = roll.StateStopped },
			reason: plan.VerdictChanged, detail: "the next step for i-00000000000000001 is now delete-node, the order was to terminate",
		},
		"the instance is shutting down": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].State = roll.StateShuttingDown },
			reason: plan.VerdictChanged, detail: "i-00000000000000001 is now shutting-down",
		},
		"the instance is terminated": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].State = roll.StateTerminated },
			reason: plan.VerdictChanged, detail: "the finding is now Ghost, the order was for Unknown",
		},
		"the instance was started anew": {
			world:  unregistered,
			happen: func(w *world, _ *plan.Order) { w.instances[0].Launched = now.Add(-time.Minute) },
			reason: plan.VerdictChanged, detail: "nothing is wrong with i-00000000000000001 any more",
		},
		"its Auto Scaling group put it in standby": {
			world:  unregistered,
			happen: func(w *world, _ *plan.Order) { w.detail(func(d *roll.Detail) { d.Lifecycle = "Standby" }) },
			reason: plan.VerdictChanged, detail: "its Auto Scaling group keeps it in Standby",
		},
		"another cluster claims it too": {
			world:  unregistered,
			happen: func(w *world, _ *plan.Order) { w.instances[0].Ambiguous = true },
			reason: plan.VerdictChanged,
		},
		"the policy tolerates more": {
			happen: func(w *world, _ *plan.Order) {
				w.doc = mustParse("apiVersion: rollcall/v1\nconditions: [{type: Ready, status: Unknown, tolerate: 24h}]\n")
			},
			reason: plan.VerdictChanged,
		},
		"the policy's ladder does not terminate any more": {
			happen: func(w *world, _ *plan.Order) {
				w.doc = document("ladders: {Unknown: [{do: notify}]}\n")
			},
			reason: plan.VerdictChanged, detail: "the ladder of Unknown no longer comes to terminate",
		},
		"the policy's ladder reboots first by now": {
			happen: func(w *world, _ *plan.Order) {
				w.doc = document("ladders: {Unknown: [{do: reboot, once: true}, {do: terminate, after: 10m}]}\n")
			},
			reason: plan.VerdictChanged, detail: "the next step for i-00000000000000001 is now reboot, the order was to terminate",
		},
		"a node alone says that it is the cluster's": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Unclaimed = true },
			reason: plan.NotClaimed,
		},
		"two clusters claim it": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Ambiguous = true },
			reason: plan.NotClaimed,
		},
		"it is older than the cluster": {
			happen: func(w *world, _ *plan.Order) { w.cluster.Created = now.Add(-time.Hour) },
			reason: plan.OlderThanCluster,
		},
		"its Auto Scaling group does not know it": {
			happen: func(w *world, _ *plan.Order) {
				w.detail(func(d *roll.Detail) { d.LifecycleRead, d.Lifecycle = roll.No, "" })
			},
			reason: plan.NotInService,
		},
		"its Auto Scaling group ends it": {
			happen: func(w *world, _ *plan.Order) { w.detail(func(d *roll.Detail) { d.Lifecycle = "Terminating:Wait" }) },
			reason: plan.VerdictChanged, detail: "node node-1: its Auto Scaling group keeps its instance i-00000000000000001 in Terminating:Wait; it is not judged",
		},
		"the order is of another account": {
			happen: func(_ *world, o *plan.Order) { o.Account = "123456789012" },
			reason: plan.VerdictChanged, detail: "the order is for cluster 123456789012/eu-west-1/demo, the credentials here see 111122223333/eu-west-1/demo",
		},
		"the order is of another region": {
			happen: func(_ *world, o *plan.Order) { o.Region = "eu-central-1" },
			reason: plan.VerdictChanged,
		},
		"the order is for another finding": {
			happen: func(_ *world, o *plan.Order) { o.ID = "0000000000000000" },
			reason: plan.VerdictChanged,
		},
		"the order is for another instance": {
			happen: func(_ *world, o *plan.Order) { o.Instance = other },
			reason: plan.VerdictChanged,
		},
		"the order wants an act that this version cannot do": {
			happen: func(_ *world, o *plan.Order) { o.Action = "explode" },
			reason: plan.StepUnavailable, detail: "this version cannot explode",
		},
		"the order wants another act than the one that its id is for": {
			happen: func(_ *world, o *plan.Order) { o.Action = plan.Cordon },
			reason: plan.VerdictChanged,
		},
		"the order wants nothing": {
			happen: func(_ *world, o *plan.Order) { o.Action = "" },
			reason: plan.StepUnavailable,
		},
		"the order's tag was never written": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Marks = nil },
			reason: plan.OrderUnmarked,
		},
		"the order's tag was removed": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Marks.Order = "" },
			reason: plan.OrderUnmarked,
		},
		"the tag is another order's": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Marks.Order = "0000000000000000" },
			reason: plan.OrderUnmarked,
		},
		"somebody put a hold on it": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Hold = "true" },
			reason: plan.InstanceHeld, detail: "i-00000000000000001 carries rollcall:hold=true; it keeps costing until the tag is removed",
		},
		"somebody had it ignored": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Ignore = true },
			reason: plan.InstanceIgnored,
		},
		"somebody deletes the node": {
			happen: func(w *world, _ *plan.Order) { w.nodes[0].DeletedAt = now },
			reason: plan.NodeDeleting,
		},
		"a node came up that does not say where it runs": {
			world: unregistered,
			happen: func(w *world, _ *plan.Order) {
				w.nodes = append(w.nodes, roll.Node{Name: "nameless", Compute: roll.ComputeUnknown, Created: now.Add(-time.Minute), Ready: ready})
			},
			reason: plan.NodeWithoutProviderID,
		},
		"Karpenter owns it by now": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Owner = roll.OwnerKarpenter },
			reason: plan.OwnerUnknown,
		},
		"Auto Mode owns it by now": {
			happen: func(w *world, _ *plan.Order) { w.instances[0].Owner = roll.OwnerAutoMode },
			reason: plan.OwnerNotifyOnly,
		},
		"the policy spares its owner": {
			happen: func(w *world, _ *plan.Order) {
				w.doc = document(ladders + "owners: {autoscaling-group: notify}\n")
			},
			reason: plan.OwnerNotifyOnly,
		},
		"termination protection was turned on": {
			happen: func(w *world, _ *plan.Order) {
				w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.Yes })
			},
			reason: plan.TerminationProtected,
		},
		"scale-in protection was turned on": {
			happen: func(w *world, _ *plan.Order) { w.detail(func(d *roll.Detail) { d.ScaleInProtected = roll.Yes }) },
			reason: plan.ScaleInProtected,
		},
		"its protection cannot be read": {
			happen: func(w *world, _ *plan.Order) {
				w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.Unreadable })
				w.detailGap = &roll.Gap{Scope: roll.ScopeDetail, Kind: roll.GapDenied, Detail: "denied"}
			},
			reason: plan.ProtectionUnknown,
		},
		"what its Auto Scaling group does cannot be read": {
			happen: func(w *world, _ *plan.Order) {
				w.detail(func(d *roll.Detail) { d.LifecycleRead, d.ScaleInProtected = roll.Unreadable, roll.Unreadable })
			},
			reason: plan.ProtectionUnknown,
		},
		"every act is stopped": { // the kill switch
			happen: func(w *world, _ *plan.Order) { w.doc = document("mode: remediate\nstop: true\n" + ladders) },
			reason: plan.Stopped,
		},
		"every act is stopped, and overrides and tags say remediate": {
			happen: func(w *world, _ *plan.Order) {
				w.doc = document("stop: true\n" + ladders + "mode: remediate\noverrides: [{match: {group: asg/w}, mode: remediate}]\n")
				w.cluster.ModeTag = "remediate"
			},
			reason: plan.Stopped,
		},
		"the policy is set to observe": {
			happen: func(w *world, _ *plan.Order) { w.doc = document(ladders + "mode: observe\n") },
			reason: plan.ModeObserve,
		},
		"the policy is set to notify": {
			happen: func(w *world, _ *plan.Order) { w.doc = document(ladders + "mode: notify\n") },
			reason: plan.ModeNotify,
		},
		"the policy is set to observe for the group": {
			happen: func(w *world, _ *plan.Order) {
				w.doc = document(ladders + "mode: remediate\noverrides: [{match: {group: asg/w}, mode: observe}]\n")
			},
			reason: plan.ModeObserve,
		},
		"the cluster's tag says observe": {
			happen: func(w *world, _ *plan.Order) { w.cluster.ModeTag = "observe" },
			reason: plan.ModeObserve,
		},
		"the cluster's tag is no mode": {
			happen: func(w *world, _ *plan.Order) { w.cluster.ModeTag = "Remediate!" },
			reason: plan.ModeObserve,
		},
		"the function was started to notify only": {
			happen: func(w *world, _ *plan.Order) { w.permitted = policy.Notify },
			reason: plan.ModeNotify,
		},
		"the policy allows no act per check": {
			happen: func(w *world, _ *plan.Order) {
				w.doc = document(ladders + "limits: {actionsPerCheck: 0}\n")
			},
			reason: plan.ActionsPerCheck,
		},
		"the policy allows no act per hour": {
			happen: func(w *world, _ *plan.Order) {
				w.doc = document(ladders + "limits: {actionsPerHour: 0}\n")
			},
			reason: plan.ActionsPerHour,
		},
		"the finding was forgotten": {
			happen: func(w *world, _ *plan.Order) {
				w.record(ledger.Changes{Drop: ledger.Drops{Findings: []roll.FindingKey{{Instance: target, Kind: roll.Unknown}}}})
			},
			reason: plan.NotSeenTwice,
		},
		"it was found while remediate was off": {
			happen: func(w *world, _ *plan.Order) {
				state, _ := w.ledger.Read(context.Background(), cluster)
				f := state.Findings[roll.FindingKey{Instance: target, Kind: roll.Unknown}]
				f.Allowed = false
				w.record(ledger.Changes{Put: ledger.State{
					Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, RemediateSince: map[roll.Group]time.Time{"asg/w": now.Add(-time.Minute)},
				}})
			},
			reason: plan.FoundBeforeRemediate,
		},
		"the cluster is being updated": {
			happen: func(w *world, _ *plan.Order) { w.cluster.Status = "UPDATING" },
			reason: plan.ClusterNotActive,
		},
		"the policy cannot be read": {
			happen: func(w *world, _ *plan.Order) { w.doc, w.docErr = nil, errors.New("ssm:GetParameter was throttled") },
			reason: plan.PolicyUnreadable, detail: "the policy could not be read again: ssm:GetParameter was throttled",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			build := tt.world
			if build == nil {
				build = silentNode
			}
			w := build(t)
			o := w.order(t)
			tt.happen(w, &o)
			out := w.remediator(t).Act(t.Context(), o, now.Add(time.Second))
			w.refused(t, out, tt.reason, 0)
			if tt.detail != "" && out.Detail != tt.detail {
				t.Errorf("detail\n got %s\nwant %s", out.Detail, tt.detail)
			}
			for _, e := range w.events {
				expect.That(t, e != "intent" && e != "outcome", "a refusal wrote to the ledger: %v", w.events)
			}
		})
	}
}

func (w *world) detail(change func(*roll.Detail)) {
	d := w.details[target]
	change(&d)
	w.details[target] = d
}

func (w *world) record(c ledger.Changes) {
	if err := w.ledger.Record(context.Background(), cluster, c); err != nil {
		panic(err)
	}
}

func mustParse(text string) *policy.Document {
	doc, err := policy.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return doc
}

func TestAnOrderEndsWithItsExpiry(t *testing.T) {
	for _, tt := range []struct {
		late time.Duration
		want Result
	}{
		{-time.Nanosecond, Acted},
		{0, Refused},
		{time.Nanosecond, Refused},
		{24 * time.Hour, Refused},
	} {
		w := silentNode(t)
		o := w.order(t)
		out := w.remediator(t).Act(t.Context(), o, o.Expires.Add(tt.late))
		expect.That(t, out.Result == tt.want, "%s after its end: %s (%s), want %s", tt.late, out.Result, out.Detail, tt.want)
		if tt.want == Acted {
			continue
		}
		w.refused(t, out, plan.OrderExpired, 0)
		want := "the order of 2026-03-02T12:00:00Z expired at 2026-03-02T12:10:00Z; if the trouble lasts, a check will order again"
		expect.That(t, out.Detail == want, "detail\n got %s\nwant %s", out.Detail, want)
		expect.That(t, len(w.events) == 0, "an expired order is not worth a look: %v", w.events)
	}
}

// Reading a large cluster again may take longer than the order is valid.
func TestAnOrderThatExpiresDuringTheLookIsRefused(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	r := w.remediator(t)
	r.Clock = func() time.Time { return o.Expires }
	w.refused(t, r.Act(t.Context(), o, o.Expires.Add(-time.Second)), plan.OrderExpired, 0)
	r.Clock = func() time.Time { return o.Expires.Add(-time.Nanosecond) }
	out := r.Act(t.Context(), o, o.Expires.Add(-time.Second))
	expect.That(t, out.Result == Acted, "in time: %s for %s", out.Result, out.Reason)
}

func TestRefusesATargetThatCannotBeReadWhole(t *testing.T) {
	for _, scope := range []roll.Scope{roll.ScopeCluster, roll.ScopeInstances, roll.ScopeNodes} {
		for _, kind := range []roll.GapKind{roll.GapClusterNotActive, roll.GapClusterUnreachable, roll.GapUnauthorized, roll.GapDenied, roll.GapThrottled, roll.GapTimeout, roll.GapFailed} {
			w := silentNode(t)
			o := w.order(t)
			w.gaps = []roll.Gap{{Scope: roll.ScopeDetail, Detail: "not this one"}, {Scope: scope, Kind: kind, Detail: "what is missing"}}
			out := w.remediator(t).Act(t.Context(), o, now)
			w.refused(t, out, plan.TargetUnreadable, 0)
			expect.That(t, out.Detail == "what is missing", "scope %d, %s: the refusal says %q, not what the gap says", scope, kind, out.Detail)
		}
	}
}

func TestRefusesWhenTheHourIsSpentInBetween(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	for n := range 5 {
		w.spend(t, n, now.Add(-time.Minute))
	}
	out := w.remediator(t).Act(t.Context(), o, now)
	w.refused(t, out, plan.ActionsPerHour, 5)
	expect.Equal(t, out.Detail, "5 in the last hour in the cluster, limits.actionsPerHour is 5", "detail")
}

func TestFourActsOfTheLastHourAndOneBeforeItLeaveRoomForOne(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	w.spend(t, 0, now.Add(-plan.Hour))
	for n := 1; n <= 4; n++ {
		w.spend(t, n, now.Add(-plan.Hour+time.Second))
	}
	out := w.remediator(t).Act(t.Context(), o, now)
	expect.That(t, out.Result == Acted, "got %s: %s", out.Result, out.Detail)
}

// spend records acts on another group.
func (w *world) spend(t *testing.T, n int, at time.Time) {
	t.Helper()
	w.begin(t, ledger.Action{ID: fmt.Sprint("spent-", n), Do: "terminate", Instance: roll.InstanceID(fmt.Sprintf("i-%08x", n)), Group: "asg/other", Kind: roll.Unknown, At: at}, &ledger.Outcome{Result: ledger.Done, At: at})
}

// begin records an act by another process, finished unless the outcome is nil.
func (w *world) begin(t *testing.T, a ledger.Action, outcome *ledger.Outcome) {
	t.Helper()
	must.Succeed(t, w.ledger.Begin(context.Background(), cluster, a, ledger.Budget{Max: 1000}))
	if outcome == nil {
		return
	}
	must.Succeed(t, w.ledger.Finish(context.Background(), cluster, a.ID, *outcome))
}

func intentOf(o plan.Order, at time.Time) ledger.Action {
	return ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Node: o.Node, Group: o.Group, Kind: o.Kind, At: at}
}

func TestRefusesWhatWasBegunBefore(t *testing.T) {
	earlier := now.Add(-time.Minute)
	tests := map[string]struct {
		outcome *ledger.Outcome
		change  func(*ledger.Action)
		reason  plan.Reason
	}{
		"this order, carried out":                       {&ledger.Outcome{Result: ledger.Done, At: earlier}, func(*ledger.Action) {}, plan.AlreadyBegun},
		"this order, failed a minute ago":               {&ledger.Outcome{Result: ledger.Failed, At: earlier}, func(*ledger.Action) {}, plan.ActionFailed},
		"this order, of which the outcome is not known": {nil, func(*ledger.Action) {}, plan.ActionUnresolved},
		"another act on the instance, open":             {nil, func(a *ledger.Action) { a.ID = "another" }, plan.ActionUnresolved},
		"an act on another instance of the group, open": {nil, func(a *ledger.Action) { a.ID, a.Instance = "another", other }, plan.ActionUnresolved},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := silentNode(t)
			o := w.order(t)
			a := intentOf(o, earlier)
			tt.change(&a)
			w.begin(t, a, tt.outcome)
			w.refused(t, w.remediator(t).Act(t.Context(), o, now), tt.reason, 1)
		})
	}
}

// Another process intervenes between the read of the ledger and the intent: only the ledger
// itself can detect it.
func TestRefusesWhenTheLedgerIsOvertaken(t *testing.T) {
	tests := map[string]struct {
		overtake func(*testing.T, *world, plan.Order)
		reason   plan.Reason
		intents  int
	}{
		"by the same order, carried out": {func(t *testing.T, w *world, o plan.Order) {
			w.begin(t, intentOf(o, now), &ledger.Outcome{Result: ledger.Done, At: now})
		}, plan.AlreadyBegun, 1},
		"by the same order, still going on": {func(t *testing.T, w *world, o plan.Order) {
			w.begin(t, intentOf(o, now), nil)
		}, plan.AlreadyBegun, 1},
		"by another act on the instance": {func(t *testing.T, w *world, o plan.Order) {
			a := intentOf(o, now)
			a.ID = "another"
			w.begin(t, a, nil)
		}, plan.ActionUnresolved, 1},
		"by an act on another instance of the group": {func(t *testing.T, w *world, o plan.Order) {
			a := intentOf(o, now)
			a.ID, a.Instance = "another", other
			w.begin(t, a, nil)
		}, plan.ActionUnresolved, 1},
		"by acts that spend the hour": {func(t *testing.T, w *world, _ plan.Order) {
			for n := range 5 {
				w.spend(t, n, now)
			}
		}, plan.ActionsPerHour, 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := silentNode(t)
			o := w.order(t)
			r := w.remediatorWith(t, &loudLedger{Ledger: w.ledger, world: w, beforeBegin: func() { tt.overtake(t, w, o) }})
			w.refused(t, r.Act(t.Context(), o, now), tt.reason, tt.intents)
		})
	}
}

func TestRefusesWhatCannotBeRecorded(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	out := w.remediatorWith(t, &loudLedger{Ledger: w.ledger, world: w, beginErr: errDisk}).Act(t.Context(), o, now)
	w.refused(t, out, plan.NotRecorded, 0)
	expect.Equal(t, out.Detail, "the intent could not be recorded, so nothing was done: no space left on device", "detail")
	out = w.remediatorWith(t, &loudLedger{Ledger: w.ledger, world: w, readErr: errDisk}).Act(t.Context(), o, now)
	w.refused(t, out, plan.NotRecorded, 0)
	expect.Equal(t, out.Detail, "the ledger could not be read: no space left on device", "detail")
}

func TestRefusesWhenTheContextIsOver(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := w.remediatorWith(t, &loudLedger{Ledger: w.ledger, world: w, beforeBegin: cancel})
	w.refused(t, r.Act(ctx, o, now), plan.NotRecorded, 0)
}

func TestALedgerThatForgetsIsRefused(t *testing.T) {
	r, err := New(Options{Ledger: ledger.NewMemory()})
	expect.That(t, r == nil && err != nil && strings.Contains(err.Error(), "remediate needs a ledger that persists"), "got %v, %v", r, err)
}

// A ledger or a bucket that hangs must not let an act follow an old look.
func TestWhatWasReadLongAgoIsNotActedOn(t *testing.T) {
	for took, want := range map[time.Duration]Result{looksFor: Acted, looksFor + time.Second: Refused} {
		w := silentNode(t)
		o := w.order(t)
		clock := now
		slow := &loudLedger{Ledger: w.ledger, world: w, beforeBegin: func() { clock = clock.Add(took) }}
		r := w.remediatorWith(t, slow)
		r.Clock = func() time.Time { return clock }
		out := r.Act(t.Context(), o, now)
		expect.Equal(t, out.Result, want, "after %s: %s", took, out.Detail)
		if want == Refused {
			outcome := w.actions(t)[0].Outcome
			expect.That(t, outcome != nil && outcome.Result == ledger.Failed && strings.HasPrefix(outcome.Detail, ledger.NotYet), "recorded as %+v", outcome)
			expect.That(t, len(w.sent) == 0, "sent: %v", w.sent)
		}
	}
}
