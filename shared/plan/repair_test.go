package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// failed makes the monitoring agent report for the given time that node n's accelerator failed.
func (w *world) failed(n int, reason string, since time.Duration) {
	at := now.Add(-since)
	w.snapshot.Nodes[n-1].Conditions = []roll.TypedCondition{{Type: roll.AcceleratedHardware, Condition: roll.Condition{Status: roll.ConditionFalse, Since: at, Reason: reason}}}
	f := ledger.Finding{Instance: instanceID(n), Kind: roll.ConditionFailed, Node: w.snapshot.Nodes[n-1].Name, Group: w.snapshot.Instances[n-1].Group, Stage: roll.Overdue, Condition: roll.AcceleratedHardware, FirstSeen: at, Opened: at, Since: at, Began: at}
	w.state.Apply(ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, RemediateSince: map[roll.Group]time.Time{f.Group: now.Add(-24 * time.Hour)}}})
}

// accelerated returns a world of ten nodes, the first of which has a failed accelerator.
func accelerated(repair, reason string) *world {
	w := healthy(10)
	w.doc = mustParse("apiVersion: rollcall/v1\n" + repair + "\n")
	w.failed(1, reason, time.Hour)
	return w
}

// acts climbs the ladder to its end, a minute for each act.
func (w *world) acts(t *testing.T) (done []string) {
	t.Helper()
	for at := now; at.Before(now.Add(time.Hour)); at = at.Add(time.Minute) {
		_, p := w.make(at)
		if len(p.Orders) == 0 {
			continue
		}
		a := w.did(t, p, at, &ledger.Outcome{Result: ledger.Done, At: at})
		done = append(done, a.Do+" "+at.Sub(now).String())
		switch Action(a.Do) {
		case Cordon:
			w.snapshot.Nodes[0].Unschedulable, w.snapshot.Nodes[0].CordonedBy = true, a.ID
		case Terminate:
			return done
		}
	}
	return done
}

// Every reason in AWS's table leads to its repair.
func TestAcceleratorsAreRepaired(t *testing.T) {
	want := map[roll.Repair]string{
		roll.RepairReboot:  "cordon 0s, drain 1m0s, reboot 2m0s, terminate 12m0s",
		roll.RepairReplace: "cordon 0s, drain 1m0s, terminate 2m0s",
		roll.RepairHold:    "",
	}
	for _, reason := range append(roll.AcceleratorReasons(), "NvidiaXID13Error", "SomethingNew", "") {
		repair, _ := roll.AcceleratorRepair(reason)
		expect.Equal(t, strings.Join(accelerated("repair: {accelerators: true}", reason).acts(t), ", "), want[repair], "%s", reason)
		got := accelerated("", reason).acts(t)
		expect.That(t, len(got) == 0, "%s without an opt-in: %v", reason, got)
	}
}

func TestWhatNeedsAPersonIsHeld(t *testing.T) {
	for _, tt := range []struct{ repair, reason, says string }{
		{"repair: {accelerators: true}", "DCGMError", "AWS publishes no repair"},
		{"repair: {accelerators: true}", "NvidiaXID31Error", "none of the reasons"},
		{"repair: {accelerators: true, NvidiaXID79Error: hold}", "NvidiaXID79Error", "the policy holds"},
	} {
		_, p := accelerated(tt.repair, tt.reason).make(now)
		if len(p.Orders) != 0 || !slices.Equal(reasons(p), []Reason{RepairNeedsPerson}) || !strings.Contains(p.Held[0].Detail, tt.says) || !strings.Contains(p.Held[0].Detail, tt.reason) {
			t.Errorf("%s: orders %+v, held %+v", tt.reason, p.Orders, p.Held)
		}
	}
	w := accelerated("repair: {accelerators: true}", "DCGMError")
	w.failed(1, "DCGMError", time.Minute)
	_, p := w.make(now)
	expect.That(t, len(p.Held) == 0, "within its tolerance: held %+v", p.Held)
}

// An accelerator that fails again within a day of its reboot is not rebooted again. A condition
// counts only after the time of a boot.
func TestAnAcceleratorIsRebootedOnce(t *testing.T) {
	w := accelerated("repair: {accelerators: true}", "NvidiaXID48Error")
	w.state.Actions = append(w.state.Actions, ledger.Action{ID: "earlier", Do: string(Reboot), Instance: instanceID(1), Group: "asg/w", Kind: roll.ConditionFailed, At: now.Add(-6 * time.Minute), Outcome: done(now.Add(-6 * time.Minute))})
	got, want := strings.Join(w.acts(t), ", "), "cordon 4m0s, drain 5m0s, terminate 6m0s"
	expect.That(t, got == want, "%s, want %s", got, want)
}

// A reboot needs no replacement, so neither do the cordon and the drain before it: only the termination after it is
// held.
func TestAnAcceleratorIsRebootedWithoutCapacity(t *testing.T) {
	for name, lacks := range map[string]func(*world){
		"the latest launch failed": func(w *world) {
			w.snapshot.Groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes, LaunchFailed: now.Add(-time.Hour)}
		},
		"launches could not be read": func(w *world) {
			w.snapshot.Groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Unreadable}
		},
		"a Capacity Block": func(w *world) { w.snapshot.Instances[0].CapacityBlock = true },
	} {
		w := accelerated("repair: {accelerators: true}", "NvidiaXID48Error")
		lacks(w)
		expect.Equal(t, strings.Join(w.acts(t), ", "), "cordon 0s, drain 1m0s, reboot 2m0s", "%s", name)
		_, p := w.make(now.Add(time.Hour))
		expect.That(t, len(p.Held) == 1 && p.Held[0].Action == Terminate, "%s: held %+v", name, p.Held)
		w = accelerated("repair: {accelerators: true}", "NvidiaXID79Error")
		lacks(w)
		expect.That(t, len(w.acts(t)) == 0, "%s: a replacement is begun", name)
	}
}

// During the repair the node stays cordoned, whatever the latest reason is. Once the condition is
// over the cordon is lifted.
func TestACordonLastsWhileTheAcceleratorFails(t *testing.T) {
	for _, repair := range []string{"{accelerators: true}", "{NvidiaXID48Error: replace}"} {
		cordonLasts(t, "repair: "+repair)
	}
}

func cordonLasts(t *testing.T, repair string) {
	t.Helper()
	w := accelerated(repair, "NvidiaXID48Error")
	_, p := w.make(now)
	a := w.did(t, p, now, done(now))
	n := &w.snapshot.Nodes[0]
	n.Unschedulable, n.CordonedBy = true, a.ID
	for _, reason := range []string{"NvidiaXID48Error", "DCGMHealthCode84"} {
		n.Conditions[0].Reason = reason
		_, p = w.make(now.Add(time.Minute))
		expect.That(t, ordered1(p) != string(Uncordon), "uncordoned while the condition says %s", reason)
	}
	n.Conditions = nil
	w.snapshot.Instances[0].State = roll.StateShuttingDown
	_, p = w.make(now.Add(time.Minute))
	expect.That(t, len(p.Orders) == 0, "its instance is being ended: %+v", p.Orders)
	w.snapshot.Instances[0].State = roll.StateRunning
	_, p = w.make(now.Add(time.Minute))
	expect.That(t, ordered1(p) == string(Uncordon), "the condition is over: %s", ordered1(p))
}

// The refusals of every other act also hold a repair.
func TestRepairsKeepToTheLimits(t *testing.T) {
	for want, change := range map[Reason]func(*world){
		InstanceHeld: func(w *world) { w.snapshot.Instances[0].Hold = "true" },
		NodeHeld:     func(w *world) { w.snapshot.Nodes[0].DoNotRepair = true },
		NotSeenTwice: func(w *world) { w.state.Findings = nil },
		ModeNotify:   func(w *world) { w.mode = policy.Notify },
		ScaleInProtected: func(w *world) {
			d := w.snapshot.Details[instanceID(1)]
			d.ScaleInProtected = roll.Yes
			w.snapshot.Details[instanceID(1)] = d
		},
		UnhealthyShare: func(w *world) { w.failed(2, "NvidiaXID79Error", time.Hour); w.failed(3, "NvidiaXID79Error", time.Hour) },
		OwnerWillAct:   func(w *world) { w.managed(roll.Yes); w.failed(1, "NvidiaXID79Error", 40*time.Minute) },
		OwnerUnknown:   func(w *world) { w.managed(roll.Unreadable) },
		SnapshotIncomplete: func(w *world) {
			w.snapshot.Gaps = append(w.snapshot.Gaps, roll.Gap{Scope: roll.ScopeNodes, Detail: "page 2"})
		},
	} {
		w := accelerated("repair: {accelerators: true}", "NvidiaXID79Error")
		change(w)
		_, p := w.make(now)
		expect.That(t, len(p.Orders) == 0 && len(p.Held) != 0 && p.Held[0].Reason == want, "%s: orders %+v, held for %v", want, p.Orders, reasons(p))
	}
}

// A managed node group may say for a reason how long EKS waits, or that it repairs nothing.
func TestRepairsWaitForWhatTheNodeGroupSays(t *testing.T) {
	for _, tt := range []struct {
		says roll.RepairOverride
		want string
	}{
		{roll.RepairOverride{Reason: "NvidiaXID79Error", Wait: 2 * time.Hour}, "[OwnerWillAct]"},
		{roll.RepairOverride{Reason: "NvidiaXID79Error", Wait: 5 * time.Minute}, "[OwnerDidNotAct]"},
		{roll.RepairOverride{Reason: "NvidiaXID79Error", Wait: 2 * time.Hour, None: true}, string(Cordon)},
		{roll.RepairOverride{Reason: "NvidiaXID64Error", Wait: 2 * time.Hour}, "[OwnerDidNotAct]"},
	} {
		w := accelerated("repair: {accelerators: true}", "NvidiaXID79Error")
		w.managed(roll.Yes)
		g := w.snapshot.Groups["nodegroup/w"]
		tt.says.Condition = roll.AcceleratedHardware
		g.Overrides = []roll.RepairOverride{tt.says}
		w.snapshot.Groups["nodegroup/w"] = g
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		if len(p.Orders) > 0 {
			got = string(p.Orders[0].Action)
		}
		expect.That(t, got == tt.want, "%+v: %s, want %s", tt.says, got, tt.want)
	}
}

// Karpenter waits longer for reasons that its policies do not name.
func TestKarpenterHasItsTimeForARepair(t *testing.T) {
	for reason, want := range map[string]time.Duration{
		"NvidiaXID79Error": karpenterRepairsAccelerated, "NvidiaXID142Error": karpenterRepairs, "NvidiaXID7Error": karpenterRepairs, "DCGMError": karpenterRepairs,
	} {
		f := roll.Finding{Kind: roll.ConditionFailed, Condition: roll.AcceleratedHardware, Reason: reason, Began: now}
		if until, _ := (&planner{Input: Input{Snapshot: &roll.Snapshot{}}}).karpenterActs(f, Reboot); !until.Equal(now.Add(want + karpenterRepairGrace)) {
			t.Errorf("%s is left to Karpenter for %s, want %s and %s", reason, until.Sub(now), want, karpenterRepairGrace)
		}
	}
}

// managed makes the first node a member of a managed node group, with or without auto repair.
func (w *world) managed(repair roll.Answer) {
	i := &w.snapshot.Instances[0]
	i.Owner, i.Group = roll.OwnerManagedNodeGroup, "nodegroup/w"
	g := canLaunch
	g.AutoRepair = repair
	w.snapshot.Groups["nodegroup/w"] = g
	w.failed(1, "NvidiaXID79Error", time.Hour)
}

// A silence hides a failed condition. Afterwards it is the same fault, found under remediate, and
// must be seen twice again: a reboot may have mended it before its agent says so.
func TestAConditionThatASilenceHid(t *testing.T) {
	w := accelerated("repair: {accelerators: true}", "NvidiaXID79Error")
	w.state.Findings = nil
	check := func(minute int, ready roll.ConditionStatus, mode policy.Mode) string {
		at := now.Add(time.Duration(minute) * time.Minute)
		w.mode = mode
		if w.snapshot.Nodes[0].Ready.Status != ready {
			w.snapshot.Nodes[0].Ready = roll.Condition{Status: ready, Since: at.Add(-time.Minute)}
		}
		_, p := w.make(at)
		w.apply(p)
		if len(p.Orders) > 0 {
			return string(p.Orders[0].Action)
		}
		return fmt.Sprint(reasons(p))
	}
	for minute, step := range []struct {
		ready roll.ConditionStatus
		mode  policy.Mode
		want  string
	}{
		0:  {roll.ConditionTrue, policy.Remediate, "[NotSeenTwice]"},
		2:  {roll.ConditionUnknown, policy.Observe, "[]"},
		7:  {roll.ConditionUnknown, policy.Observe, "[]"},
		9:  {roll.ConditionTrue, policy.Observe, "[NotSeenTwice]"},
		12: {roll.ConditionTrue, policy.Observe, "[ModeObserve]"},
		15: {roll.ConditionTrue, policy.Remediate, "cordon"},
	} {
		if step.ready == "" {
			continue
		}
		expect.Equal(t, check(minute, step.ready, step.mode), step.want, "minute %d", minute)
	}
}

// What follows a reboot needs a replacement, though the ladder has a reboot.
func TestACordonAfterTheRebootPreparesTheTermination(t *testing.T) {
	w := healthy(10)
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {NotReady: [{do: reboot, once: true}, {do: cordon}, {do: drain}, {do: terminate}]}\n")
	w.trouble(1, roll.NotReady, roll.ConditionFalse, time.Hour)
	w.snapshot.Groups["asg/w"] = roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes, LaunchFailed: now.Add(-time.Hour)}
	expect.Equal(t, strings.Join(w.acts(t), ", "), "reboot 0s", "the latest launch failed")
	_, p := w.make(now.Add(time.Hour))
	expect.That(t, len(p.Held) == 1 && p.Held[0].Action == Cordon && p.Held[0].Reason == ReplacementUnavailable, "held %+v", p.Held)
}
