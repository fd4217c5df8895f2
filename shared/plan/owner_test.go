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

// Each case makes one finding of an owner's member, and checks the result.
func TestOwners(t *testing.T) {
	deleteClaims := "apiVersion: rollcall/v1\nowners: {karpenter: delete-nodeclaim}\n"
	lossy := "apiVersion: rollcall/v1\nlimits: {withoutReplacement: proceed}\n"
	ill := func(status string, codes ...string) roll.GroupDetail {
		return roll.GroupDetail{
			AutoRepair: roll.No, Status: status, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes,
			Issues: roll.Map(codes, func(code string) roll.HealthIssue { return roll.HealthIssue{Code: code, Message: "no"} }),
		}
	}
	suspended := func(g roll.GroupDetail) roll.GroupDetail {
		g.ReplaceSuspended, g.Suspended = roll.Yes, "Terminate"
		return g
	}
	failing := func(g roll.GroupDetail) roll.GroupDetail {
		g.LaunchFailed = now.Add(-time.Hour)
		return g
	}
	launched := func(g roll.GroupDetail) roll.GroupDetail {
		g.Launched = true
		return g
	}
	unreadLaunches := func(g roll.GroupDetail) roll.GroupDetail {
		g.LaunchesRead = roll.Unreadable
		return g
	}
	optIn := "apiVersion: rollcall/v1\nowners: {none: terminate}\n"
	claim := roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "default-x7k2p", UID: "u"}}
	disrupted := func(ago time.Duration) roll.Detail {
		return roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "default-x7k2p", Disrupted: roll.Condition{Status: roll.ConditionTrue, Since: now.Add(-ago), Reason: "Unhealthy"}}}
	}
	rebooted := func(rebooting roll.ConditionStatus, ago time.Duration) roll.Detail {
		return roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "default-x7k2p", Rebooting: roll.Condition{Status: rebooting, Since: now.Add(-ago)}}}
	}
	tests := []struct {
		name   string
		owner  roll.Owner
		kind   roll.Kind
		age    time.Duration // of the launch or transition
		doc    string
		detail roll.Detail
		group  roll.GroupDetail
		want   string
	}{
		{"Karpenter ends it itself", roll.OwnerKarpenter, roll.Unregistered, 20*time.Minute - time.Second, "", claim, roll.GroupDetail{}, "OwnerWillAct"},
		{"Karpenter is gone", roll.OwnerKarpenter, roll.Unregistered, 20 * time.Minute, "", claim, roll.GroupDetail{}, "terminate"},
		{"Karpenter is at it", roll.OwnerKarpenter, roll.Unregistered, time.Hour, "", roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "x", DeletedAt: now.Add(-time.Minute)}}, roll.GroupDetail{}, "OwnerWillAct"},
		{"the claims could not be read", roll.OwnerKarpenter, roll.Unregistered, time.Hour, "", roll.Detail{HasNodeClaim: roll.Unreadable}, roll.GroupDetail{}, "OwnerUnknown"},
		{"the policy has its own deadline", roll.OwnerKarpenter, roll.Unregistered, 15 * time.Minute, deleteClaims, claim, roll.GroupDetail{}, "delete-nodeclaim"},
		{"node repair has its time", roll.OwnerKarpenter, roll.Unknown, 40*time.Minute - time.Second, "", claim, roll.GroupDetail{}, "OwnerWillAct"},
		{"node repair is off", roll.OwnerKarpenter, roll.Unknown, 40 * time.Minute, "", claim, roll.GroupDetail{}, "reboot"},
		{"the claim is deleted instead", roll.OwnerKarpenter, roll.NotReady, time.Hour, deleteClaims + "ladders: {NotReady: [{do: terminate}]}\n", claim, roll.GroupDetail{}, "delete-nodeclaim"},
		{"a group that can launch", roll.OwnerAutoScalingGroup, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "reboot"},
		{"a group that does not launch", roll.OwnerAutoScalingGroup, roll.NotReady, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.Yes, ReplaceSuspended: roll.No}, "GroupSuspended"},
		{"nor is one rebooted, since somebody works on the group", roll.OwnerAutoScalingGroup, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.Yes, ReplaceSuspended: roll.No}, "GroupSuspended"},
		{"nobody knows whether it launches", roll.OwnerAutoScalingGroup, roll.NotReady, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.Unreadable}, "OwnerUnknown"},
		{"nobody knows of its launches", roll.OwnerAutoScalingGroup, roll.NotReady, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Unreadable}, "OwnerUnknown"},
		{"the latest launch failed", roll.OwnerAutoScalingGroup, roll.NotReady, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes, LaunchFailed: now.Add(-time.Minute)}, "ReplacementUnavailable"},
		{"it failed a month ago, and none came after it", roll.OwnerAutoScalingGroup, roll.NotReady, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes, LaunchFailed: now.Add(-30 * 24 * time.Hour)}, "ReplacementUnavailable"},
		{"node auto repair has its time", roll.OwnerManagedNodeGroup, roll.Unknown, autoRepairs - time.Second, "", roll.Detail{}, roll.GroupDetail{AutoRepair: roll.Yes, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "OwnerWillAct"},
		{"node auto repair did nothing", roll.OwnerManagedNodeGroup, roll.Unknown, autoRepairs, "", roll.Detail{}, roll.GroupDetail{AutoRepair: roll.Yes, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "OwnerDidNotAct"},
		{"node auto repair did nothing, and that was said", roll.OwnerManagedNodeGroup, roll.Unknown, autoRepairs + ownerSilence, "", roll.Detail{}, roll.GroupDetail{AutoRepair: roll.Yes, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "reboot"},
		{"the node group is being updated", roll.OwnerManagedNodeGroup, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{AutoRepair: roll.No, Status: "UPDATING", LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "NodeGroupUnhealthy"},
		{"EKS reports an issue", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, roll.GroupDetail{AutoRepair: roll.No, Status: "ACTIVE", Issues: []roll.HealthIssue{{Code: "AccessDenied", Message: "no"}}, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "NodeGroupUnhealthy"},
		{"a launch failed, and a reboot needs none", roll.OwnerManagedNodeGroup, roll.Unknown, time.Hour, "", roll.Detail{}, ill("DEGRADED", "AsgInstanceLaunchFailures"), "reboot"},
		{"a launch failed, and the act would need one", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, ill("DEGRADED", "AsgInstanceLaunchFailures"), "NodeGroupUnhealthy"},
		{"a launch failed, and a person accepts the loss", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, lossy, roll.Detail{}, ill("DEGRADED", "AsgInstanceLaunchFailures"), "cordon"},
		{"a launch failed, and a later one worked", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, launched(ill("CREATE_FAILED", "AsgInstanceLaunchFailures")), "cordon"},
		{"one worked, and a later one failed", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, launched(failing(ill("DEGRADED", "AsgInstanceLaunchFailures"))), "NodeGroupUnhealthy"},
		{"one worked, and others could not be read", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, launched(unreadLaunches(ill("DEGRADED", "AsgInstanceLaunchFailures"))), "NodeGroupUnhealthy"},
		{"one worked, and the subnets are full since", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, launched(ill("DEGRADED", "InsufficientFreeAddresses")), "NodeGroupUnhealthy"},
		{"it was created without nodes, which joined later", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, ill("CREATE_FAILED", "NodeCreationFailure"), "cordon"},
		{"it was created without nodes, as this one", roll.OwnerManagedNodeGroup, roll.Unregistered, time.Hour, "", roll.Detail{}, ill("CREATE_FAILED", "NodeCreationFailure"), "NodeGroupUnhealthy"},
		{"another issue stands beside", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, ill("DEGRADED", "NodeCreationFailure", "ClusterUnreachable"), "NodeGroupUnhealthy"},
		{"somebody gave its Auto Scaling group other subnets", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, ill("DEGRADED", "AutoScalingGroupInvalidConfiguration"), "cordon"},
		{"somebody did, and this one does not join", roll.OwnerManagedNodeGroup, roll.Unregistered, time.Hour, "", roll.Detail{}, ill("DEGRADED", "AutoScalingGroupInvalidConfiguration"), "NodeGroupUnhealthy"},
		{"somebody did, and its processes are suspended", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, suspended(ill("DEGRADED", "AutoScalingGroupInvalidConfiguration")), "GroupSuspended"},
		{"somebody did, and another launch fails", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, failing(ill("DEGRADED", "AutoScalingGroupInvalidConfiguration")), "ReplacementUnavailable"},
		{"degraded for no reason", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, ill("DEGRADED"), "NodeGroupUnhealthy"},
		{"its deletion failed", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, ill("DELETE_FAILED", "NodeCreationFailure"), "NodeGroupUnhealthy"},
		{"the node group is in order", roll.OwnerManagedNodeGroup, roll.NotReady, time.Hour, "", roll.Detail{}, roll.GroupDetail{AutoRepair: roll.No, Status: "ACTIVE", LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "cordon"},
		{"somebody works on the group", roll.OwnerAutoScalingGroup, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.Yes, Suspended: "Terminate", LaunchesRead: roll.Yes}, "GroupSuspended"},
		{"Karpenter has been at it for an hour", roll.OwnerKarpenter, roll.Unregistered, 3 * time.Hour, "", roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "x", DeletedAt: now.Add(-karpenterDrains)}}, roll.GroupDetail{}, "OwnerDidNotAct"},
		{"Karpenter has been at it for longer", roll.OwnerKarpenter, roll.Unregistered, 3 * time.Hour, "", roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "x", DeletedAt: now.Add(-karpenterDrains - ownerSilence)}}, roll.GroupDetail{}, "terminate"},
		{"the claim that would be deleted has been for long", roll.OwnerKarpenter, roll.Unregistered, 3 * time.Hour, deleteClaims, roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "x", DeletedAt: now.Add(-2 * time.Hour)}}, roll.GroupDetail{}, "OwnerDidNotAct"},
		{"Karpenter's latest launch failed", roll.OwnerKarpenter, roll.Unregistered, time.Hour, "", claim, roll.GroupDetail{LaunchesRead: roll.Yes, LaunchFailed: now.Add(-time.Hour)}, "ReplacementUnavailable"},
		{"node auto repair is off", roll.OwnerManagedNodeGroup, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{AutoRepair: roll.No, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "reboot"},
		{"nobody knows about auto repair", roll.OwnerManagedNodeGroup, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "OwnerUnknown"},
		{"auto repair looks at nodes only", roll.OwnerManagedNodeGroup, roll.Unregistered, time.Hour, "", roll.Detail{}, roll.GroupDetail{AutoRepair: roll.Yes, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}, "terminate"},
		{"Karpenter waits for the replacement", roll.OwnerKarpenter, roll.NotReady, time.Hour, "", disrupted(karpenterReplaces - time.Second), roll.GroupDetail{}, "OwnerWillAct"},
		{"Karpenter waited for an hour", roll.OwnerKarpenter, roll.NotReady, 2 * time.Hour, "", disrupted(karpenterReplaces), roll.GroupDetail{}, "OwnerDidNotAct"},
		{"Karpenter is gone since", roll.OwnerKarpenter, roll.NotReady, 3 * time.Hour, "", disrupted(karpenterReplaces + ownerSilence), roll.GroupDetail{}, "cordon"},
		{"Karpenter reboots it", roll.OwnerKarpenter, roll.NotReady, time.Hour, "", rebooted(roll.ConditionTrue, 20*time.Minute), roll.GroupDetail{}, "OwnerWillAct"},
		{"its reboot by Karpenter never ended", roll.OwnerKarpenter, roll.NotReady, 3 * time.Hour, "", rebooted(roll.ConditionTrue, karpenterReboots), roll.GroupDetail{}, "OwnerDidNotAct"},
		{"Karpenter has its time again after a reboot", roll.OwnerKarpenter, roll.NotReady, 3 * time.Hour, "", rebooted(roll.ConditionFalse, 40*time.Minute-time.Second), roll.GroupDetail{}, "OwnerWillAct"},
		{"Karpenter did nothing more after a reboot", roll.OwnerKarpenter, roll.NotReady, 3 * time.Hour, "", rebooted(roll.ConditionFalse, 40*time.Minute), roll.GroupDetail{}, "cordon"},
		{"a person keeps the NodeClaim from repairs", roll.OwnerKarpenter, roll.NotReady, time.Hour, "", roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "default-x7k2p", DoNotRepair: true}}, roll.GroupDetail{}, "NodeHeld"},
		{"nor is one ended that never registered", roll.OwnerKarpenter, roll.Unregistered, time.Hour, "", roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "default-x7k2p", DoNotRepair: true}}, roll.GroupDetail{}, "NodeHeld"},
		{"Auto Mode", roll.OwnerAutoMode, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{}, "OwnerNotifyOnly"},
		{"Cluster API", roll.OwnerClusterAPI, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{}, "OwnerNotifyOnly"},
		{"nobody", roll.OwnerNone, roll.Unknown, time.Hour, "", roll.Detail{}, roll.GroupDetail{}, "OwnerNotifyOnly"},
		{"nobody, by policy", roll.OwnerNone, roll.Unknown, time.Hour, optIn, roll.Detail{}, roll.GroupDetail{}, "reboot"},
	}
	for _, tt := range tests {
		w := healthy(10)
		if tt.doc != "" {
			w.doc = mustParse(tt.doc)
		}
		i := &w.snapshot.Instances[0]
		i.Owner = tt.owner
		i.Group = map[roll.Owner]roll.Group{roll.OwnerKarpenter: "nodepool/p", roll.OwnerManagedNodeGroup: "nodegroup/p", roll.OwnerAutoMode: "nodepool/p"}[tt.owner]
		if i.Group == "" {
			i.Group = "asg/w"
		}
		if tt.owner != roll.OwnerAutoScalingGroup && tt.owner != roll.OwnerManagedNodeGroup {
			i.ASG = ""
			i.Group = map[bool]roll.Group{true: roll.GroupNone, false: i.Group}[tt.owner == roll.OwnerNone || tt.owner == roll.OwnerClusterAPI]
		}
		d := w.snapshot.Details[i.ID]
		d.HasNodeClaim, d.NodeClaim = tt.detail.HasNodeClaim, tt.detail.NodeClaim
		w.snapshot.Details[i.ID] = d
		w.snapshot.Groups = map[roll.Group]roll.GroupDetail{i.Group: tt.group}
		w.snapshot.Nodes[0].Registered, w.snapshot.Nodes[0].Initialized = true, true
		if tt.kind == roll.Unregistered {
			i.Launched = now.Add(-tt.age)
			w.known(1, roll.Unregistered, i.Launched)
			w.snapshot.Nodes = w.snapshot.Nodes[1:]
		} else {
			status := map[roll.Kind]roll.ConditionStatus{roll.Unknown: roll.ConditionUnknown, roll.NotReady: roll.ConditionFalse}[tt.kind]
			w.trouble(1, tt.kind, status, tt.age)
		}
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		if len(p.Orders) == 1 {
			got = "[" + string(p.Orders[0].Action) + "]"
			if p.Orders[0].Action == DeleteNodeClaim && p.Orders[0].Claim != "default-x7k2p" {
				t.Errorf("%s: the claim to delete is %q", tt.name, p.Orders[0].Claim)
			}
		}
		expect.That(t, got == "["+tt.want+"]", "%s: %s, want %s", tt.name, got, tt.want)
	}
}

// Karpenter deletes a NodeClaim without capacity at once, and creates none for a node pool that is not
// ready. Only what the snapshot says of the group's launches shows either.
func TestNothingIsReplacedWhereKarpenterLaunchesNothing(t *testing.T) {
	noCapacity := roll.Launch{Owner: roll.OwnerKarpenter, Since: now.Add(-time.Hour), Failed: now.Add(-time.Minute), Message: "insufficient capacity", Field: "Event InsufficientCapacityError"}
	tests := []struct {
		name   string
		launch roll.Launch
		unread []roll.Gap
		doc    string
		want   string
	}{
		{"no launch is known to fail", roll.Launch{}, nil, "", "[]"},
		{"EC2 has no capacity", noCapacity, nil, "", "[ReplacementUnavailable]"},
		{"a person accepts the loss", noCapacity, nil, "limits: {withoutReplacement: proceed}\n", "[]"},
		{"a managed node group's health issue, not its latest launch", roll.Launch{Owner: roll.OwnerManagedNodeGroup, Since: now.Add(-time.Hour), Failed: now.Add(-time.Minute)}, nil, "", "[]"},
		{"a launch waits, and has not failed", roll.Launch{Owner: roll.OwnerKarpenter, Since: now.Add(-time.Minute)}, nil, "", "[]"},
		{"the node pool is not ready", roll.Launch{Owner: roll.OwnerKarpenter, Since: now.Add(-time.Hour), Failed: now.Add(-time.Hour), Unready: true}, nil, "", "[ReplacementUnavailable]"},
		{"the events may not be read", roll.Launch{}, []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapDenied, Call: roll.CallEvents}}, "", "[OwnerUnknown]"},
		{"the node pools could not be read this time", roll.Launch{}, []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapThrottled, Call: roll.CallNodePools}}, "", "[NotReadYet]"},
		{"that is accepted", roll.Launch{}, []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapDenied, Call: roll.CallEvents}}, "limits: {withoutReplacement: proceed}\n", "[]"},
	}
	for _, tt := range tests {
		w := healthy(10)
		w.doc = mustParse("apiVersion: rollcall/v1\n" + tt.doc)
		i := &w.snapshot.Instances[0]
		i.Owner, i.Group, i.ASG = roll.OwnerKarpenter, "nodepool/p", ""
		d := w.snapshot.Details[i.ID]
		d.HasNodeClaim, d.NodeClaim = roll.Yes, &roll.NodeClaim{Name: "p-x7k2p", UID: "u"}
		w.snapshot.Details[i.ID] = d
		w.snapshot.Groups = map[roll.Group]roll.GroupDetail{i.Group: {LaunchesRead: roll.Yes}}
		w.snapshot.Launches = map[roll.Group]roll.Launch{i.Group: tt.launch}
		w.snapshot.Nodes[0].Registered, w.snapshot.Nodes[0].Initialized = true, true
		w.trouble(1, roll.NotReady, roll.ConditionFalse, time.Hour)
		if len(tt.unread) > 0 {
			w.snapshot.ClaimsRead, w.snapshot.Gaps = roll.Unreadable, tt.unread
		}
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		expect.That(t, got == tt.want && (len(p.Orders) == 1) == (tt.want == "[]"), "%s: held %s, %d orders; want %s", tt.name, got, len(p.Orders), tt.want)
	}
}

func TestWhatSpeaksForTheInstanceItself(t *testing.T) {
	tests := map[Reason]func(*world){
		InstanceNotRunning: func(w *world) { w.snapshot.Instances[0].State = roll.StateStopped },
		ReplacementUnavailable: func(w *world) {
			w.snapshot.Instances[0].CapacityBlock = true
		},
		NodeReady: func(w *world) {
			w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(-time.Hour)}
			w.impaired(1)
		},
		ConditionAlone: func(w *world) {
			w.doc = mustParse("apiVersion: rollcall/v1\nladders: {ConditionFailed: [{do: terminate}]}\n")
			w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now.Add(-time.Hour)}
			at := now.Add(-2 * time.Hour)
			w.snapshot.Nodes[0].Conditions = []roll.TypedCondition{{Type: "KernelReady", Condition: roll.Condition{Status: roll.ConditionFalse, Since: at}}}
			w.known(1, roll.ConditionFailed, at)
		},
	}
	for want, spoil := range tests {
		w := healthy(10)
		w.notReady(1, 2*time.Hour)
		spoil(w)
		_, p := w.make(now)
		expect.That(t, len(p.Orders) == 0 && slices.Contains(reasons(p), want), "orders %+v, held for %v, want %s", p.Orders, reasons(p), want)
	}
}

// EC2 gives the place of a terminated instance in a Capacity Block to a new one, until the block ends. Nothing shows
// when that is, so a person decides, as where the latest launch failed.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-launch.html
func TestAPersonMayHaveAnInstanceInACapacityBlockReplaced(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replace bool
		doc     string
		want    string
	}{
		{"nobody decided", false, "", "[ReplacementUnavailable]"},
		{"the instance is tagged", true, "", "[cordon]"},
		{"the policy accepts the loss", false, "limits: {withoutReplacement: proceed}\n", "[cordon]"},
	} {
		w := healthy(10)
		w.doc = with(tt.doc)
		w.notReady(1, 2*time.Hour)
		w.snapshot.Instances[0].CapacityBlock, w.snapshot.Instances[0].Replace = true, tt.replace
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		if len(p.Orders) == 1 {
			got = "[" + string(p.Orders[0].Action) + "]"
		}
		expect.That(t, got == tt.want, "%s: %s, want %s: %+v", tt.name, got, tt.want, p.Held)
	}
}

// known records that an earlier check saw a finding.
func (w *world) known(n int, kind roll.Kind, began time.Time) {
	w.trouble(n, kind, w.snapshot.Nodes[n-1].Ready.Status, now.Sub(began))
	f := w.state.Findings[roll.FindingKey{Instance: instanceID(n), Kind: kind}]
	f.FirstSeen, f.Opened, f.Since, f.Began = now.Add(-10*time.Minute), now.Add(-10*time.Minute), began, began
	w.state.Findings[f.Key()] = f
	delete(w.state.NotReady, instanceID(n))
}

// impaired makes a status check of the instance fail for an hour: its group has had its time to
// replace it.
func (w *world) impaired(n int) {
	at := now.Add(-time.Hour)
	w.snapshot.StatusRead, w.snapshot.Impaired = roll.Yes, map[roll.InstanceID]roll.Impairment{instanceID(n): {Since: at}}
	ready := w.snapshot.Nodes[n-1].Ready
	w.known(n, roll.Impaired, at)
	w.snapshot.Nodes[n-1].Ready = ready
}

// A group replaces impaired instances, and gets its time to do so. If somebody suspended that, the
// instance is left alone.
func TestAnImpairedMemberIsItsGroups(t *testing.T) {
	for _, tt := range []struct {
		age       time.Duration
		suspended roll.Answer
		want      string
	}{
		{groupReplaces - time.Second, roll.No, "[OwnerWillAct]"},
		{groupReplaces, roll.No, "[OwnerDidNotAct]"},
		{groupReplaces + ownerSilence - time.Second, roll.No, "[OwnerDidNotAct]"},
		{groupReplaces + ownerSilence, roll.No, "[terminate]"},
		{time.Hour, roll.Yes, "[GroupSuspended]"},
		{time.Hour, roll.Unreadable, "[OwnerUnknown]"},
	} {
		w := healthy(10)
		w.impaired(1)
		w.snapshot.Impaired[instanceID(1)] = roll.Impairment{Since: now.Add(-tt.age)}
		w.known(1, roll.Impaired, now.Add(-tt.age))
		w.snapshot.Nodes = w.snapshot.Nodes[1:]
		w.snapshot.Instances[0].Launched = now.Add(-10 * time.Minute) // starting: no finding of its own that acts
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Impaired: [{do: terminate}]}\n")
		g := w.snapshot.Groups["asg/w"]
		g.ReplaceSuspended = tt.suspended
		w.snapshot.Groups["asg/w"] = g
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		if len(p.Orders) == 1 {
			got = "[" + string(p.Orders[0].Action) + "]"
		}
		expect.That(t, got == tt.want, "impaired for %s, suspended %d: %s, want %s", tt.age, tt.suspended, got, tt.want)
	}
}

// If two of its owners may act, the later time counts, so that an announced owner act still
// happens.
func TestAnImpairedMemberIsLeftToAutoRepairOnce(t *testing.T) {
	for _, tt := range []struct {
		age  time.Duration
		want string
	}{
		{groupReplaces, "[OwnerWillAct]"},
		{autoRepairs - time.Second, "[OwnerWillAct]"},
		{autoRepairs, "[OwnerDidNotAct]"},
		{autoRepairs + ownerSilence, "[terminate]"},
	} {
		w := healthy(10)
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Impaired: [{do: terminate}]}\n")
		w.impaired(1)
		w.snapshot.Impaired[instanceID(1)] = roll.Impairment{Since: now.Add(-tt.age)}
		w.known(1, roll.Impaired, now.Add(-tt.age))
		w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-10 * time.Minute)}
		w.snapshot.Instances[0].Owner = roll.OwnerManagedNodeGroup
		g := w.snapshot.Groups["asg/w"]
		g.AutoRepair = roll.Yes
		w.snapshot.Groups["asg/w"] = g
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		if len(p.Orders) == 1 {
			got = "[" + string(p.Orders[0].Action) + "]"
		}
		expect.That(t, got == tt.want, "impaired for %s: %s, want %s", tt.age, got, tt.want)
	}
}

// A contradicted finding is told and held. Once the contradiction ends, its tolerance begins, and then
// its ladder: the act may be ordered.
func TestAContradictedFindingIsHeldForAPerson(t *testing.T) {
	id := instanceID(1)
	lease := func(w *world, at time.Time) {
		w.snapshot.Details[id] = roll.Detail{LeaseRead: roll.Yes, LeaseOf: "node-1", LeaseRenewed: at, TerminationProtected: roll.No, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService"}
	}
	for name, tt := range map[string]struct {
		change, end      func(*world)
		held, over, acts int   // minutes
		told             []int // the same
		act              Action
	}{
		"the node of a gone instance is Ready": {
			func(w *world) { w.snapshot.Instances[0].State = roll.StateTerminated },
			func(w *world) {
				w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(60 * time.Minute)}
			}, 5, 60, 65, []int{5, 65}, DeleteNode,
		},
		"an instance works without its Node": {
			func(w *world) { w.snapshot.Nodes[0].Instance = "i-0fedcba9876543210" },
			func(w *world) { lease(w, now.Add(60*time.Minute)) },
			15, 62, 76, []int{5, 15, 76}, Terminate, // a lease is fresh for 2 minutes
		},
	} {
		w := healthy(10)
		w.state.RemediateSince = map[roll.Group]time.Time{"asg/w": now.Add(-24 * time.Hour), roll.GroupNone: now.Add(-24 * time.Hour)}
		w.state.Checked = now
		w.snapshot.Details[id] = roll.Detail{}
		tt.change(w)
		for minute := range 80 {
			at := now.Add(time.Duration(minute) * time.Minute)
			if minute < 60 {
				lease(w, at)
			} else {
				tt.end(w)
			}
			d := w.snapshot.Details[id]
			d.Pods = nothingRuns
			w.snapshot.Details[id] = d
			_, p := w.make(at)
			got := fmt.Sprint(reasons(p))
			for _, o := range p.Orders {
				got = string(o.Action)
			}
			want := "[]"
			switch {
			case minute >= tt.held && minute < tt.over:
				want = "[Conflicting]"
				expect.That(t, p.Held[0].Action == tt.act, "%s, minute %d: held %+v", name, minute, p.Held)
			case minute >= tt.acts:
				want = string(tt.act)
			}
			expect.That(t, got == want, "%s, minute %d: %s, want %s", name, minute, got, want)
			var news []News
			for _, n := range p.Notices {
				news = append(news, n.News...)
			}
			told := len(news) > 0
			expect.That(t, told == slices.Contains(tt.told, minute), "%s, minute %d: told %v", name, minute, news)
			w.apply(p)
		}
	}
}

// Whatever its kind, its owner and the policy.
func TestNoActFollowsFromAContradictedFinding(t *testing.T) {
	for _, kind := range roll.Kinds() {
		for _, owner := range roll.Owners() {
			w := healthy(10)
			w.trouble(1, kind, roll.ConditionUnknown, time.Hour)
			w.doc = mustParse("apiVersion: rollcall/v1\nowners: {karpenter: delete-nodeclaim, none: terminate}\n")
			a, _ := w.make(now)
			a.Findings = []roll.Finding{{
				Instance: instanceID(1), Node: "node-1", Group: "asg/w", Owner: owner, Kind: kind, Stage: roll.Overdue,
				Since: now.Add(-time.Hour), Began: now.Add(-time.Hour), Due: now.Add(-45 * time.Minute), Contradiction: "it works",
			}}
			p := Make(Input{Snapshot: w.snapshot, Assessment: a, State: w.state, Policy: w.doc.Cluster("demo", "", policy.Remediate), Now: now})
			if len(p.Orders)+len(p.Tags) != 0 || !slices.Equal(reasons(p), []Reason{Conflicting}) {
				t.Errorf("%s of %s: ordered %+v, tags %+v, held for %v", kind, owner, p.Orders, p.Tags, reasons(p))
			}
		}
	}
}

// A kubelet that took over the Node of an instance that is gone renews the lease under its name. When it
// falls silent, in a zone outage for example, it is no instance that never registered.
func TestAnInstanceWhoseNodeHasAnotherIDIsHeld(t *testing.T) {
	for name, want := range map[string]string{"ip-10-0-0-7.eu-west-1.compute.internal": "[Conflicting]", "ip-10-0-0-8.eu-west-1.compute.internal": "[]"} {
		w := healthy(10)
		i := &w.snapshot.Instances[0]
		i.Launched, i.PrivateDNS = now.Add(-time.Hour), "ip-10-0-0-7.eu-west-1.compute.internal"
		w.known(1, roll.Unregistered, i.Launched)
		w.snapshot.Nodes[0].Name, w.snapshot.Nodes[0].Instance = name, "i-0fedcba9876543210"
		w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Minute)}
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		expect.That(t, got == want && (len(p.Orders) == 1) == (want == "[]"), "node %s: held for %s, ordered %+v", name, got, p.Orders)
	}
}

func TestANodeThatAnotherInstanceMayHaveTakenOverIsNotDeleted(t *testing.T) {
	const taken = "ip-10-0-0-7.eu-west-1.compute.internal"
	for _, tt := range []struct {
		name  string
		state roll.InstanceState
		want  string
	}{
		{taken, roll.StateRunning, "[Conflicting]"},
		{taken, roll.StateStopped, "[Conflicting]"}, // a kubelet that was hibernated continues with its Node
		{taken, roll.StateShuttingDown, "[]"},
		{"ip-10-0-0-8.eu-west-1.compute.internal", roll.StateRunning, "[]"},
	} {
		w := healthy(10)
		w.snapshot.Instances[0].State = roll.StateTerminated
		w.snapshot.Nodes[0].Name = taken
		w.snapshot.Instances[1].PrivateDNS, w.snapshot.Instances[1].State = tt.name, tt.state
		w.trouble(1, roll.Ghost, roll.ConditionUnknown, time.Hour)
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		expect.That(t, got == tt.want && (len(p.Orders) == 1) == (tt.want == "[]"), "instance %s, %s: held for %s, ordered %+v", tt.name, tt.state, got, p.Orders)
	}
}

func TestAGhostsNodeIsDeleted(t *testing.T) {
	for _, tt := range []struct {
		owner roll.Owner
		want  string
	}{{roll.OwnerAutoScalingGroup, "[delete-node]"}, {roll.OwnerNone, "[delete-node]"}, {roll.OwnerAutoMode, "[OwnerNotifyOnly]"}} {
		w := healthy(10)
		w.snapshot.Instances[0].State = roll.StateTerminated
		w.snapshot.Instances[0].Owner = tt.owner
		w.trouble(1, roll.Ghost, roll.ConditionUnknown, time.Hour)
		// Its group still lacks a replacement, which would have its cause. The Node waits for neither.
		w.causes = map[roll.FindingKey][]roll.Cause{{Instance: instanceID(1), Kind: roll.Ghost}: {{Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Cure: roll.CureChange, Subject: "role/x"}}}
		w.state.Actions = []ledger.Action{{ID: "x", Do: string(Terminate), Instance: instanceID(99), Group: "asg/w", Kind: roll.Unknown, At: now.Add(-time.Hour), Outcome: done(now.Add(-time.Hour))}}
		_, p := w.make(now)
		got := fmt.Sprint(reasons(p))
		if len(p.Orders) == 1 {
			got = "[" + string(p.Orders[0].Action) + "]"
		}
		expect.That(t, got == tt.want, "%s: %s, want %s", tt.owner, got, tt.want)
	}
}

// A Node that is missing in a listing may still be there for EKS, which repairs it if its machine is
// silent. An instance that never had one is not repaired.
func TestNodeAutoRepairHasItsTimeAlsoForANodeThatIsMissing(t *testing.T) {
	p := &planner{Input: Input{Snapshot: &roll.Snapshot{Groups: map[roll.Group]roll.GroupDetail{"nodegroup/w": {AutoRepair: roll.Yes}}}}}
	for _, worked := range []bool{true, false} {
		f := roll.Finding{Instance: instanceID(1), Kind: roll.Unregistered, Owner: roll.OwnerManagedNodeGroup, Group: "nodegroup/w", Began: now, Worked: worked}
		if until, what := p.scalingActs(f); (what != "") != worked || worked && !until.Equal(now.Add(autoRepairs)) {
			t.Errorf("worked %v: left to EKS until %s: %q", worked, until, what)
		}
	}
}

// Cluster Autoscaler removes what does not register, and lowers the desired capacity, so that another
// group is scaled up. A replacement would keep it from that.
func TestWhatClusterAutoscalerRemovesIsLeftToIt(t *testing.T) {
	tests := []struct {
		name   string
		age    time.Duration
		change func(*roll.Instance)
		want   Reason // "" is an order
	}{
		{"another autoscaler, or none", 16 * time.Minute, func(*roll.Instance) {}, ""},
		{"in its time", 20*time.Minute - time.Second, func(i *roll.Instance) { i.Scaled = true }, OwnerWillAct},
		{"after it", 20 * time.Minute, func(i *roll.Instance) { i.Scaled = true }, ""},
		{"of a managed node group", 16 * time.Minute, func(i *roll.Instance) {
			i.Scaled, i.Owner, i.Group = true, roll.OwnerManagedNodeGroup, "nodegroup/w"
		}, OwnerWillAct},
		{"a copied tag", 16 * time.Minute, func(i *roll.Instance) {
			i.Scaled, i.ASG, i.Owner, i.Group = true, "", roll.OwnerNone, roll.GroupNone
		}, OwnerNotifyOnly},
	}
	for _, tt := range tests {
		w := healthy(10)
		i := w.unregistered(11, tt.age)
		tt.change(i)
		_, p := w.make(now)
		if tt.want == "" && ordered1(p) != string(Terminate) || tt.want != "" && ordered1(p) != "none: ["+string(tt.want)+"]" {
			t.Errorf("%s: %s, want %q", tt.name, ordered1(p), tt.want)
		}
		if tt.want == OwnerWillAct && !p.Held[0].Until.Equal(now.Add(20*time.Minute-tt.age)) {
			t.Errorf("%s: until %s", tt.name, p.Held[0].Until)
		}
	}
}

func TestANodeThatClusterAutoscalerRemovesIsLeftToIt(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		20 * time.Minute: "none: [OwnerWillAct]", 30 * time.Minute: "none: [OwnerDidNotAct]", 45 * time.Minute: string(Cordon),
	} {
		w := healthy(10)
		w.notReady(1, time.Hour)
		w.snapshot.Nodes[0].ScaledDown = now.Add(-ago)
		_, p := w.make(now)
		expect.That(t, ordered1(p) == want, "removed since %s: %s, want %s", ago, ordered1(p), want)
	}
}
