package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// scheduled adds a scheduled event of an instance that checks have known for an hour.
func (w *world) scheduled(n int, in time.Duration) {
	at := now.Add(in)
	w.snapshot.StatusRead, w.snapshot.Scheduled = roll.Yes, map[roll.InstanceID]roll.Event{instanceID(n): {ID: "instance-event-1", Code: "instance-retirement", NotBefore: at}}
	seen := now.Add(-time.Hour)
	w.state.Apply(ledger.Changes{
		Put: ledger.State{
			Findings: map[roll.FindingKey]ledger.Finding{{Instance: instanceID(n), Kind: roll.Scheduled}: {
				Instance: instanceID(n), Kind: roll.Scheduled, Node: w.snapshot.Nodes[n-1].Name, Group: w.snapshot.Instances[n-1].Group, Stage: roll.Warned,
				FirstSeen: seen, Opened: seen, Since: seen, Began: at,
			}},
			Checked:        now.Add(-5 * time.Minute),
			RemediateSince: map[roll.Group]time.Time{"asg/w": now.Add(-24 * time.Hour)},
		},
	})
}

func TestANodeIsMovedBeforeWhatEC2HasScheduled(t *testing.T) {
	karpenter := func(d roll.Detail, seen time.Duration) func(*world) {
		return func(w *world) {
			w.snapshot.Instances[0].Owner, w.snapshot.Nodes[0].Registered, w.snapshot.Nodes[0].Initialized = roll.OwnerKarpenter, true, true
			w.detail(func(was *roll.Detail) { was.HasNodeClaim, was.NodeClaim = d.HasNodeClaim, d.NodeClaim })
			f := w.state.Findings[roll.FindingKey{Instance: instanceID(1), Kind: roll.Scheduled}]
			f.Since = now.Add(-seen)
			w.state.Findings[f.Key()] = f
		}
	}
	claim := roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "default-1"}}
	leaving := roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "default-1", DeletedAt: now.Add(-time.Minute)}}
	managed := func(repair roll.Answer) func(*world) {
		return func(w *world) {
			w.snapshot.Instances[0].Owner = roll.OwnerManagedNodeGroup
			g := canLaunch
			g.AutoRepair, g.Status = repair, nodeGroupActive
			w.snapshot.Groups["asg/w"] = g
		}
	}
	tests := []struct {
		name   string
		in     time.Duration
		change func(*world)
		want   string
	}{
		{"long before", 24*time.Hour + time.Second, nil, "none: []"},
		{"from the lead on", 24 * time.Hour, nil, string(Cordon)},
		{"once it is cordoned", time.Hour, func(w *world) {
			at, key := now.Add(-30*time.Minute), roll.FindingKey{Instance: instanceID(1), Kind: roll.Scheduled}
			id := orderID(w.snapshot.Cluster.ID, key, w.state.Findings[key].FirstSeen, Cordon)
			w.state.Actions = []ledger.Action{{ID: id, Do: string(Cordon), Instance: instanceID(1), Group: "asg/w", Kind: roll.Scheduled, At: at, Outcome: done(at)}}
		}, string(Drain)},
		{"while it goes on", -time.Hour, nil, string(Cordon)},
		{"the node is silent", time.Hour, func(w *world) {
			w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Minute)}
		}, "none: []"},
		{"a person holds it", time.Hour, func(w *world) { w.snapshot.Instances[0].Hold = "true" }, "none: [InstanceHeld]"},
		{"nobody owns it", time.Hour, func(w *world) { w.snapshot.Instances[0].Owner = roll.OwnerNone }, "none: [OwnerNotifyOnly]"},
		{"its zone is down", time.Hour, func(w *world) {
			for i := range 8 {
				w.snapshot.Nodes[i].Zone = "eu-west-1a"
				if i > 0 {
					w.snapshot.Nodes[i].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Duration(i) * time.Minute)}
				}
			}
		}, "none: [ZoneOutage]"},
		// No protection keeps EC2 from what it has scheduled, or the group from replacing the instance then.
		{"it is protected from termination", time.Hour, func(w *world) { w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.Yes }) }, string(Cordon)},
		{"whether it is could not be read", time.Hour, func(w *world) { w.detail(func(d *roll.Detail) { d.TerminationProtected = roll.Unreadable }) }, string(Cordon)},
		{"it is protected from scale-in", time.Hour, func(w *world) { w.detail(func(d *roll.Detail) { d.ScaleInProtected = roll.Yes }) }, string(Cordon)},
		{"its group starts it up", time.Hour, func(w *world) { w.detail(func(d *roll.Detail) { d.Lifecycle = "Pending:Wait" }) }, "none: [NotInService]"},
		{"its state in its group could not be read", time.Hour, func(w *world) { w.detail(func(d *roll.Detail) { d.LifecycleRead = roll.Unreadable }) }, "none: [ProtectionUnknown]"},
		{"its group is suspended", time.Hour, func(w *world) {
			w.snapshot.Groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.Yes, LaunchesRead: roll.Yes}
		}, "none: [GroupSuspended]"},
		{"the mode is notify", time.Hour, func(w *world) { w.doc = mustParse("apiVersion: rollcall/v1\nmode: notify\n") }, "none: [ModeNotify]"},
		{"of a managed node group", time.Hour, managed(roll.No), string(Cordon)},
		{"of one with node auto repair, which looks at conditions", time.Hour, managed(roll.Yes), string(Cordon)},
		{"Karpenter's, just seen", time.Hour, karpenter(claim, karpenterMoves-time.Second), "none: [OwnerWillAct]"},
		{"Karpenter's, whose time is over", time.Hour, karpenter(claim, karpenterMoves), "none: [OwnerDidNotAct]"},
		{"Karpenter's, told to have done nothing", time.Hour, karpenter(claim, karpenterMoves+ownerSilence), string(Cordon)},
		{"Karpenter's, which moves it", time.Hour, karpenter(leaving, 5*time.Hour), "none: [OwnerWillAct]"},
		{"Karpenter's, of which nobody can tell", time.Hour, karpenter(roll.Detail{HasNodeClaim: roll.Unreadable}, 5*time.Hour), "none: [OwnerUnknown]"},
	}
	for _, tt := range tests {
		w := healthy(10)
		w.scheduled(1, tt.in)
		if tt.change != nil {
			tt.change(w)
		}
		_, p := w.make(now)
		p.Orders = slices.DeleteFunc(p.Orders, func(o Order) bool { return o.Kind != roll.Scheduled })
		p.Held = slices.DeleteFunc(p.Held, func(h Held) bool { return h.Kind != roll.Scheduled })
		got := ordered1(p)
		expect.That(t, got == tt.want, "%s: %s, want %s: %+v", tt.name, got, tt.want, p.Held)
	}
}

// Terminating or restarting a scheduled instance is left to EC2, whatever a ladder says.
func TestAScheduledInstanceIsNeverEndedOrRebooted(t *testing.T) {
	w := healthy(10)
	w.scheduled(1, time.Hour)
	a, _ := w.make(now)
	in := Input{Snapshot: w.snapshot, Assessment: a, State: w.state, Now: now}
	in.Policy = func(s roll.Selector) policy.Policy {
		pol := w.doc.Cluster("demo", "", w.mode)(s)
		pol.Ladders = map[roll.Kind][]policy.Step{roll.Scheduled: {{Do: policy.DoReboot}, {Do: policy.DoTerminate}}}
		return pol
	}
	p := Make(in)
	expect.That(t, len(p.Orders)+len(p.Held) == 0, "orders %+v, held %+v", p.Orders, p.Held)
}

// The cordon stays until the event is over, even if that is unreadable, and is lifted when the
// event is gone or far off again.
func TestTheCordonBeforeAnEventLastsAsLongAsTheEvent(t *testing.T) {
	cordon := ledger.Action{ID: "0123456789abcdef", Do: string(Cordon), Instance: instanceID(1), Group: "asg/w", Kind: roll.Scheduled, At: now.Add(-30 * time.Minute)}
	cordon.Outcome = done(cordon.At)
	tests := map[string]struct {
		change func(*world)
		lifted bool
	}{
		"it is to come":                               {func(*world) {}, false},
		"it could not be read":                        {func(w *world) { w.snapshot.StatusRead, w.snapshot.Scheduled = roll.Unreadable, nil }, false},
		"it is over":                                  {func(w *world) { w.snapshot.Scheduled = nil }, true},
		"it was moved by a week":                      {func(w *world) { w.scheduled(1, 7*24*time.Hour) }, true},
		"it was moved by an hour":                     {func(w *world) { w.scheduled(1, 2*time.Hour) }, false},
		"it is over, and a person holds the instance": {func(w *world) { w.snapshot.Scheduled = nil; w.snapshot.Instances[0].Hold = "true" }, false},
	}
	for name, tt := range tests {
		w := healthy(10)
		w.scheduled(1, time.Hour)
		w.state.Actions = append(w.state.Actions, cordon)
		w.snapshot.Nodes[0].Unschedulable, w.snapshot.Nodes[0].CordonedBy = true, cordon.ID
		tt.change(w)
		_, p := w.make(now)
		lifted := slices.ContainsFunc(p.Orders, func(o Order) bool { return o.Action == Uncordon })
		expect.That(t, lifted == tt.lifted, "%s: orders %+v, held %+v", name, p.Orders, p.Held)
	}
}

// A healthy machine is not terminated for its volume or its application.
func TestOnlyTheChecksOfTheMachineLeadToItsEnd(t *testing.T) {
	for _, status := range []roll.ConditionStatus{roll.ConditionTrue, roll.ConditionUnknown} {
		for only, want := range map[string]string{"": "[terminate]", "attached EBS": "[MachineSound]", "application": "[MachineSound]", "performance": "[MachineSound]"} {
			if only == "" && status == roll.ConditionTrue {
				want = "[NodeReady]"
			}
			w := healthy(10)
			w.impaired(1)
			w.snapshot.Nodes[0].Ready = roll.Condition{Status: status, Since: now.Add(-time.Minute)}
			w.snapshot.Impaired[instanceID(1)] = roll.Impairment{Since: now.Add(-time.Hour), Only: only}
			_, p := w.make(now)
			got := fmt.Sprint(reasons(p))
			if len(p.Orders) == 1 {
				got = "[" + string(p.Orders[0].Action) + "]"
			}
			expect.That(t, got == want, "only %q, node %s: %s, want %s", only, status, got, want)
		}
	}
}
