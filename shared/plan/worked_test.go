package plan

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// Only a node that never was ready for work may be interrupted while it is Ready.
func TestANodeThatWorkedIsNotReplacedForAStartupTaint(t *testing.T) {
	for worked, want := range map[bool]string{false: string(Cordon), true: "none: [NodeReady]"} {
		w := healthy(10)
		n := &w.snapshot.Nodes[0]
		n.StartupTaint = "node.cilium.io/agent-not-ready:NoSchedule"
		began := n.Created
		f := ledger.Finding{
			Instance: instanceID(1), Kind: roll.Uninitialized, Node: n.Name, Group: "asg/w", Stage: roll.Overdue, Worked: worked,
			FirstSeen: now.Add(-time.Hour), Opened: now.Add(-time.Hour), Since: began, Began: began,
		}
		w.state.Apply(ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}, Checked: now.Add(-5 * time.Minute), RemediateSince: map[roll.Group]time.Time{"asg/w": now.Add(-24 * time.Hour)}}})
		_, p := w.make(now)
		expect.That(t, ordered1(p) == want, "worked %v: ordered %s, want %s: %+v", worked, ordered1(p), want, p.Held)
	}
}

// Karpenter waits for a device, or does not run: pods run on the node meanwhile, and nothing shows that
// another node would be marked.
func TestAReadyNodeThatKarpenterDoesNotMarkIsNotInterrupted(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*roll.Node)
		want  string
	}{
		"it is not marked as initialized":   {func(n *roll.Node) { n.Registered = true }, "none: [NodeReady]"},
		"nor as registered":                 {func(*roll.Node) {}, "none: [NodeReady]"},
		"its startup taint keeps pods away": {func(n *roll.Node) { n.Registered, n.StartupTaint = true, "ebs.csi.aws.com/agent-not-ready:NoExecute" }, string(Cordon)},
		"it is not Ready":                   {func(n *roll.Node) { n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: n.Created} }, string(Cordon)},
	} {
		w := healthy(10)
		i, n := &w.snapshot.Instances[0], &w.snapshot.Nodes[0]
		i.Owner, i.Group, i.ASG = roll.OwnerKarpenter, "nodepool/p", ""
		w.snapshot.Details[i.ID] = roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "x"}, LeaseRead: roll.No, LifecycleRead: roll.No, TerminationProtected: roll.No, ScaleInProtected: roll.No, Bootstraps: roll.Yes, Pods: nothingRuns}
		tt.spoil(n)
		w.remembered(1, roll.Uninitialized, n.Created)
		w.state.RemediateSince[i.Group] = now.Add(-24 * time.Hour)
		_, p := w.make(now)
		expect.That(t, ordered1(p) == tt.want, "%s: ordered %s, want %s: %+v", name, ordered1(p), tt.want, p.Held)
	}
}

// Where Karpenter was removed, nothing replaces what it launched.
func TestWithoutKarpenterNothingOfItsIsTerminated(t *testing.T) {
	for removed, want := range map[bool]string{false: string(Cordon), true: "none: [ReplacementUnavailable]"} {
		w := healthy(10)
		i, n := &w.snapshot.Instances[0], &w.snapshot.Nodes[0]
		i.Owner, i.Group, i.ASG = roll.OwnerKarpenter, "nodepool/p", ""
		n.Registered, n.Initialized = true, true
		n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: now.Add(-2 * time.Hour)}
		w.snapshot.Details[i.ID] = roll.Detail{HasNodeClaim: roll.No, LeaseRead: roll.No, LifecycleRead: roll.No, TerminationProtected: roll.No, ScaleInProtected: roll.No, Bootstraps: roll.Yes, Pods: nothingRuns}
		w.snapshot.Groups = map[roll.Group]roll.GroupDetail{i.Group: {LaunchesRead: roll.Yes, Removed: removed}}
		w.remembered(1, roll.NotReady, n.Ready.Since)
		w.state.RemediateSince[i.Group] = now.Add(-24 * time.Hour)
		_, p := w.make(now)
		expect.That(t, ordered1(p) == want, "removed %v: ordered %s, want %s: %+v", removed, ordered1(p), want, p.Held)
	}
}

// Whoever cordons a node may be about to look into its memory, which a reboot would erase.
func TestASilentNodeThatSomebodyCordonedIsKept(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*roll.Node)
		want  string
	}{
		"nobody cordoned it":           {func(*roll.Node) {}, string(Reboot)},
		"nobody knows who cordoned it": {func(n *roll.Node) { n.Unschedulable = true }, "none: [NodeHeld]"},
		"a person cordoned it":         {cordonedBy("kubectl", time.Minute), "none: [NodeHeld]"},
		"an agent rebooted it":         {cordonedBy("kured", time.Minute), string(Reboot)},
		"EC2 rebooted it":              {cordonedBy("node-termination-handler", 2*time.Minute), string(Reboot)},
		"an agent is slow":             {cordonedBy("kured", time.Hour), string(Reboot)},
		"an agent is too slow":         {cordonedBy("kured", time.Hour+time.Second), "none: [NodeHeld]"},
		"an agent came at once":        {cordonedBy("kured", 0), string(Reboot)},
		"an agent came afterwards":     {cordonedBy("kured", -time.Second), "none: [NodeHeld]"},
		"an agent and a person came": {func(n *roll.Node) {
			cordonedBy("kured", time.Minute)(n)
			n.DoNotRepair = true
		}, "none: [NodeHeld]"},
		"Rollcall cordoned it": {func(n *roll.Node) { n.Unschedulable, n.CordonedBy = true, "o-1" }, string(Reboot)},
		"Rollcall did, and says so": {func(n *roll.Node) {
			cordonedBy("rollcall-remediate", time.Minute)(n)
			n.CordonedBy = "o-1"
		}, string(Reboot)},
		"a person lifted Rollcall's cordon, and cordoned it again": {func(n *roll.Node) {
			cordonedBy("kubectl", time.Minute)(n)
			n.CordonedBy = "o-1"
		}, "none: [NodeHeld]"},
		"Cluster Autoscaler was to end it": {func(n *roll.Node) { n.Unschedulable, n.ScaledDown = true, now.Add(-24*time.Hour) }, string(Reboot)},
	} {
		w := healthy(10)
		w.doc = mustParse("apiVersion: rollcall/v1\n")
		w.silent(1, 3*time.Hour)
		tt.spoil(&w.snapshot.Nodes[0])
		_, p := w.make(now)
		expect.That(t, ordered1(p) == tt.want, "%s: ordered %s, want %s: %+v", name, ordered1(p), tt.want, p.Held)
	}
}

// cordonedBy has a field manager cordon a node for that long before it falls silent.
func cordonedBy(manager string, before time.Duration) func(*roll.Node) {
	return func(n *roll.Node) {
		n.Unschedulable, n.Cordoner, n.CordonerAt = true, manager, n.Ready.Since.Add(-before)
	}
}

// A machine that an agent reboots gets its time, also if others would be rebooted after minutes, and a person is told
// before it is over.
func TestANodeThatAnAgentCordonedHasTimeToReturn(t *testing.T) {
	for silent, want := range map[time.Duration]string{
		29 * time.Minute: "none: [OwnerWillAct]", 30 * time.Minute: "none: [OwnerDidNotAct]", 44 * time.Minute: "none: [OwnerDidNotAct]", 45 * time.Minute: string(Reboot),
	} {
		w := healthy(10)
		w.doc = mustParse("apiVersion: rollcall/v1\nconditions: [{type: Ready, status: Unknown, tolerate: 5m}]\n")
		w.silent(1, silent)
		cordonedBy("kured", time.Minute)(&w.snapshot.Nodes[0])
		_, p := w.make(now)
		expect.That(t, ordered1(p) == want, "silent for %s: ordered %s, want %s: %+v", silent, ordered1(p), want, p.Held)
	}
}

// The field manager shows with which program somebody cordoned the node.
func TestAHeldNodeSaysHowItWasCordoned(t *testing.T) {
	for manager, want := range map[string]string{"": "somebody cordoned node node-1, which is silent", "kubectl": "somebody cordoned node node-1 (with kubectl), which is silent"} {
		w := healthy(10)
		w.silent(1, 3*time.Hour)
		cordonedBy(manager, time.Minute)(&w.snapshot.Nodes[0])
		_, p := w.make(now)
		must.That(t, len(p.Held) == 1, "held %+v", p.Held)
		expect.That(t, strings.HasPrefix(p.Held[0].Detail, want), "%s, want %s", p.Held[0].Detail, want)
	}
}

// An unreadable lease may be one that the kubelet renews, whether or not a check ever saw the node.
// A passing failure is read again; a missing permission needs a person.
func TestALeaseThatWasNotReadHoldsWhatHasNoNode(t *testing.T) {
	denied, throttled := roll.Gap{Scope: roll.ScopeDetail, Kind: roll.GapDenied, Call: roll.CallLease}, roll.Gap{Scope: roll.ScopeDetail, Kind: roll.GapThrottled, Call: roll.CallLease}
	for name, tt := range map[string]struct {
		read roll.Answer
		gaps []roll.Gap
		want string
	}{
		"it has none":   {roll.No, nil, string(Terminate)},
		"it has an old": {roll.Yes, nil, string(Terminate)},
		"denied":        {roll.Unreadable, []roll.Gap{denied}, "none: [ProtectionUnknown]"},
		"throttled":     {roll.Unreadable, []roll.Gap{throttled}, "none: [NotReadYet]"},
		"not asked":     {roll.NotAsked, nil, "none: [ProtectionUnknown]"},
	} {
		for _, worked := range []bool{false, true} {
			w := healthy(10)
			i := w.unregistered(11, 2*time.Hour)
			if worked {
				key := roll.FindingKey{Instance: i.ID, Kind: roll.Unregistered}
				f := w.state.Findings[key]
				f.Worked = true
				w.state.Findings[key] = f
			}
			w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unregistered: [{do: terminate}]}\n")
			d := w.snapshot.Details[i.ID]
			d.LeaseRead, d.Pods = tt.read, nothingRuns
			w.snapshot.Details[i.ID], w.snapshot.Gaps = d, tt.gaps
			_, p := w.make(now)
			expect.That(t, ordered1(p) == tt.want, "%s, worked %v: ordered %s, want %s: %+v", name, worked, ordered1(p), tt.want, p.Held)
		}
	}
}

// An instance without a NodeClaim is not terminated either if its kubelet may renew a lease.
func TestALeaseThatWasNotReadHoldsAnOrphan(t *testing.T) {
	for read, want := range map[roll.Answer]string{roll.No: string(Terminate), roll.Yes: string(Terminate), roll.Unreadable: "none: [ProtectionUnknown]", roll.NotAsked: "none: [ProtectionUnknown]"} {
		w := healthy(10)
		i := w.unregistered(11, 2*time.Hour)
		i.Owner, i.Group, i.ASG = roll.OwnerKarpenter, "nodepool/p", ""
		w.state.Apply(ledger.Changes{
			Put: ledger.State{
				Findings:       map[roll.FindingKey]ledger.Finding{{Instance: i.ID, Kind: roll.Orphaned}: {Instance: i.ID, Kind: roll.Orphaned, Group: i.Group, Stage: roll.Overdue, FirstSeen: now.Add(-time.Hour), Opened: now.Add(-time.Hour), Since: now.Add(-time.Hour), Began: i.Launched}},
				RemediateSince: map[roll.Group]time.Time{i.Group: now.Add(-24 * time.Hour)},
			},
		})
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Orphaned: [{do: terminate}]}\n")
		d := w.snapshot.Details[i.ID]
		d.LeaseRead, d.HasNodeClaim = read, roll.No
		w.snapshot.Details[i.ID] = d
		_, p := w.make(now)
		expect.That(t, ordered1(p) == want, "%v: ordered %s, want %s: %+v", read, ordered1(p), want, p.Held)
	}
}

// Whoever may tag instances could otherwise have any of them terminated.
func TestAnOrphanNeedsMoreThanTags(t *testing.T) {
	for name, tt := range map[string]struct {
		bootstraps roll.Answer
		gap        roll.GapKind
		want       Reason
	}{
		"its user data joins the cluster": {roll.Yes, "", ""},
		"its user data joins nothing":     {roll.No, "", NoNodeIntent},
		"its user data cannot be read":    {roll.Unreadable, "", NoNodeIntent},
		"was not read in this check":      {roll.Unreadable, roll.GapThrottled, NotReadYet},
	} {
		id := instanceID(1)
		s := &roll.Snapshot{ClaimsRead: roll.Yes, Details: map[roll.InstanceID]roll.Detail{id: {HasNodeClaim: roll.No, Bootstraps: tt.bootstraps, LeaseRead: roll.No, LifecycleRead: roll.No, ScaleInProtected: roll.No, TerminationProtected: roll.No}}}
		if tt.gap != "" {
			s.Gaps = []roll.Gap{{Scope: roll.ScopeDetail, Kind: tt.gap, Call: roll.CallInstanceAttribute}}
		}
		pol := policy.Default().Cluster("demo", "", policy.Remediate)
		p := &planner{Input: Input{Snapshot: s, Now: now, Policy: pol}, instances: map[roll.InstanceID]*roll.Instance{id: {ID: id}}}
		for _, kind := range []roll.Kind{roll.Orphaned, roll.Impaired} {
			f := roll.Finding{Instance: id, Owner: roll.OwnerKarpenter, Kind: kind}
			expect.Equal(t, reasonOf(p.ownerObjects(f, Terminate, pol(roll.Selector{}))), tt.want, "%s, %s", name, kind)
		}
	}
}

func TestAMemberOfANodeGroupIsOfItsAutoScalingGroup(t *testing.T) {
	for name, tt := range map[string]struct {
		asgs []string
		want Reason
	}{
		"its own":          {[]string{"eks-other", "eks-w"}, ""},
		"another":          {[]string{"eks-other"}, NoNodeIntent},
		"EKS names none":   {nil, ""},
		"a part of a name": {[]string{"eks-w2"}, NoNodeIntent},
	} {
		expect.Equal(t, reasonOf(foreignMember(roll.GroupDetail{ASGs: tt.asgs}, &roll.Instance{ID: instanceID(1), ASG: "eks-w"}, "nodegroup/w")), tt.want, "%s", name)
	}
}

// Bare metal boots for longer than the ladder's wait.
func TestNothingFollowsARebootBeforeTheMachineCanBeBack(t *testing.T) {
	for _, tt := range []struct {
		preset string
		after  time.Duration
		want   string
	}{
		{"", 10*time.Minute - time.Second, "none: []"},
		{"", 10 * time.Minute, string(Terminate)},
		{roll.PresetMetal, 40*time.Minute - time.Second, "none: []"},
		{roll.PresetMetal, 40 * time.Minute, string(Terminate)},
	} {
		w := healthy(10)
		w.doc = mustParse("apiVersion: rollcall/v1\n")
		w.silent(1, 3*time.Hour)
		w.snapshot.Instances[0].Preset = tt.preset
		_, p := w.make(now.Add(-tt.after))
		must.That(t, len(p.Orders) == 1 && p.Orders[0].Action == Reboot, "%+v, held %+v", p.Orders, p.Held)
		o := p.Orders[0]
		w.state.Actions = append(w.state.Actions, ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Group: o.Group, Kind: o.Kind, At: o.At, Outcome: done(o.At)})
		_, p = w.make(now)
		expect.That(t, ordered1(p) == tt.want, "%q, %s after a reboot: ordered %s, want %s", tt.preset, tt.after, ordered1(p), tt.want)
	}
}

// An order given before an outage is refused: the check of the one instance counts the cluster
// again.
func TestAnOutageSinceTheOrderIsSeenInTheLastLook(t *testing.T) {
	for name, tt := range map[string]struct {
		strike func(*world)
		want   string
	}{
		"all is calm": {func(*world) {}, string(Reboot)},
		"the zone went silent": {func(w *world) {
			for i := range 6 {
				w.snapshot.Nodes[i].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Duration(i) * time.Hour)}
			}
		}, "none: [ZoneOutage]"},
		"many are past their tolerance": {func(w *world) {
			for i := range 4 {
				w.snapshot.Nodes[i].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Duration(i+2) * time.Hour)}
			}
		}, "none: [UnhealthyShare]"},
	} {
		w := healthy(10)
		w.silent(1, 2*time.Hour)
		for i := range w.snapshot.Nodes {
			w.snapshot.Nodes[i].Zone, w.snapshot.Instances[i].Zone = "eu-west-1a", "eu-west-1a"
		}
		w.desired(10)
		since := w.snapshot.Nodes[0].Ready
		tt.strike(w)
		w.snapshot.Nodes[0].Ready = since
		w.snapshot.Target, w.snapshot.Instances = instanceID(1), w.snapshot.Instances[:1]
		_, p := w.make(now)
		expect.That(t, ordered1(p) == tt.want, "%s: ordered %s, want %s: %+v", name, ordered1(p), tt.want, p.Held)
	}
}

// The others fell silent long after the instance of the order.
func TestAMassSilenceSinceTheOrderHoldsWhoeverWasSilentBefore(t *testing.T) {
	w := healthy(30)
	w.silent(1, 2*time.Hour)
	for i := range w.snapshot.Nodes[1:9] {
		w.snapshot.Nodes[i+1].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(-time.Minute)}
	}
	w.desired(30)
	w.snapshot.Target, w.snapshot.Instances = instanceID(1), w.snapshot.Instances[:1]
	_, p := w.make(now)
	expect.That(t, ordered1(p) == "none: [MassSilence]", "ordered %s: %+v", ordered1(p), p.Held)
}

// In a group whose instances count for several units each, the desired capacity is not their number.
func TestTheLastCheckCountsNoMoreThanTheInstancesOfAGroup(t *testing.T) {
	for instances, want := range map[int]string{10: "none: [UnhealthyShare]", 30: string(Reboot)} {
		w := healthy(30)
		w.silent(1, 2*time.Hour)
		for i := range 3 {
			w.snapshot.Nodes[i+1].Ready = roll.Condition{Status: roll.ConditionFalse, Since: now.Add(-3 * time.Hour)}
			w.state.Findings[roll.FindingKey{Instance: instanceID(i + 2), Kind: roll.NotReady}] = ledger.Finding{Group: "asg/w", Stage: roll.Overdue, Since: now.Add(-3 * time.Hour)}
		}
		w.desired(40)
		g := w.snapshot.Groups["asg/w"]
		g.Instances = instances
		w.snapshot.Groups["asg/w"] = g
		w.snapshot.Target, w.snapshot.Instances = instanceID(1), w.snapshot.Instances[:1]
		_, p := w.make(now)
		expect.That(t, ordered1(p) == want, "of %d instances: ordered %s, want %s: %+v", instances, ordered1(p), want, p.Held)
	}
}
