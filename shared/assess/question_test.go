package assess_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestWhatIsAskedAboutAnOverdueFinding(t *testing.T) {
	overdue := func(n *roll.Node) { n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Hour)} }
	tests := []struct {
		name   string
		owner  roll.Owner
		group  roll.Group
		ladder []policy.Do
		change func(*roll.Instance, *roll.Node, *roll.Snapshot)
		want   roll.Question
	}{
		{"an Auto Scaling group's, to be terminated", roll.OwnerAutoScalingGroup, "asg/w", []policy.Do{policy.DoTag, policy.DoTerminate}, nil, roll.Question{AutoScaling: true, Group: true, Protection: true, Pods: "node-a"}},
		{"a managed node group's, to be rebooted", roll.OwnerManagedNodeGroup, "nodegroup/g", []policy.Do{policy.DoReboot}, nil, roll.Question{AutoScaling: true, Group: true, Protection: true, Pods: "node-a"}},
		{"a managed node group's, to be drained", roll.OwnerManagedNodeGroup, "nodegroup/g", []policy.Do{policy.DoCordon, policy.DoDrain}, nil, roll.Question{AutoScaling: true, Group: true, Protection: true}},
		{"to be told of: it may be in Standby", roll.OwnerManagedNodeGroup, "nodegroup/g", []policy.Do{policy.DoWarn, policy.DoTag, policy.DoNotify}, nil, roll.Question{AutoScaling: true}},
		{"Karpenter's, to be terminated", roll.OwnerKarpenter, "nodepool/p", []policy.Do{policy.DoTerminate}, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.ASG = "" }, roll.Question{NodeClaim: true, Protection: true, Pods: "node-a"}},
		{"Karpenter's, whose pool lost one", roll.OwnerKarpenter, "nodepool/lost", []policy.Do{policy.DoTerminate}, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.ASG = "" }, roll.Question{NodeClaim: true, Protection: true, Waiting: true, Pods: "node-a"}},
		{"that was answered", roll.OwnerKarpenter, "nodepool/lost", []policy.Do{policy.DoTerminate}, func(i *roll.Instance, _ *roll.Node, s *roll.Snapshot) { i.ASG, s.PodsWait = "", roll.Unreadable }, roll.Question{NodeClaim: true, Protection: true, Pods: "node-a"}},
		{"Karpenter's, to be told of", roll.OwnerKarpenter, "nodepool/p", []policy.Do{policy.DoNotify}, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.ASG = "" }, roll.Question{}},
		{"nobody's", roll.OwnerNone, roll.GroupNone, []policy.Do{policy.DoTerminate}, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.ASG = "" }, roll.Question{Protection: true, Pods: "node-a"}},
		{"within its tolerance", roll.OwnerAutoScalingGroup, "asg/w", []policy.Do{policy.DoTerminate}, func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready.Since = ago(time.Minute)
		}, roll.Question{}},
		{"the instance was not read", roll.OwnerAutoScalingGroup, "asg/w", []policy.Do{policy.DoTerminate}, func(i *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			i.ID = "i-0000000000000000b"
			i.State = roll.StateStopped
			s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeInstances})
		}, roll.Question{}},
		{"its node vouches for it", roll.OwnerAutoScalingGroup, "asg/w", []policy.Do{policy.DoNotify}, func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.Vouched = true }, roll.Question{Whole: true, AutoScaling: true}},
		{"what was answered is not asked again", roll.OwnerAutoScalingGroup, "asg/w", []policy.Do{policy.DoTerminate}, func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Details[id] = roll.Detail{LifecycleRead: roll.Unreadable}
			s.Groups = map[roll.Group]roll.GroupDetail{"asg/w": {}}
		}, roll.Question{Protection: true, Pods: "node-a"}},
		{"a Ready node, to be told of", roll.OwnerAutoScalingGroup, "asg/w", nil, func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready = roll.Condition{Status: roll.ConditionTrue, Since: ago(47 * time.Hour)}
			n.Conditions = []roll.TypedCondition{{Type: "KernelReady", Condition: roll.Condition{Status: roll.ConditionFalse, Since: ago(time.Hour)}}}
		}, roll.Question{}},
	}
	for _, tt := range tests {
		i, n := pair()
		s := snapshot(nil, nil)
		overdue(&n)
		i.Owner, i.Group = tt.owner, tt.group
		if tt.change != nil {
			tt.change(&i, &n, s)
		}
		s.Instances, s.Nodes = []roll.Instance{i}, []roll.Node{n}
		pol := func(of roll.Selector) policy.Policy {
			p := defaults(of)
			p.Ladders = map[roll.Kind][]policy.Step{}
			for _, do := range tt.ladder {
				p.Ladders[roll.Unknown] = append(p.Ladders[roll.Unknown], policy.Step{Do: do})
			}
			return p
		}
		state := ledger.State{Groups: map[roll.Group]ledger.GroupMemory{"nodepool/lost": {Ended: ledger.Ended{Done: ago(time.Hour)}}}}
		a := assess.Assess(assess.Input{Snapshot: s, Policy: pol, State: state, Now: now})
		// The causes decide which ladder applies, so the questions cover all of them.
		byCause := assess.Assess(assess.Input{Snapshot: s, State: state, Now: now, Policy: func(of roll.Selector) policy.Policy {
			p := pol(of)
			p.CauseLadders = map[policy.CauseKey][]policy.Step{{Kind: roll.Unknown, Code: "KernelPanic"}: p.Ladders[roll.Unknown]}
			p.Ladders = map[roll.Kind][]policy.Step{roll.Unknown: {{Do: policy.DoNotify}}}
			return p
		}})
		diff := cmp.Diff(a.Questions, byCause.Questions)
		expect.That(t, diff == "", "%s: by the ladder of a cause (-by that of the kind +got):\n%s", tt.name, diff)
		var want []roll.Question
		if tt.want != (roll.Question{}) {
			tt.want.Instance = id
			want = append(want, tt.want)
		}
		expect.Same(t, a.Questions, want, "%s: questions", tt.name)
	}
}

func TestWhatIsAskedOfOneInstanceIsOneQuestion(t *testing.T) {
	managed := worker(id, time.Hour)
	managed.Owner, managed.Group = roll.OwnerManagedNodeGroup, "nodegroup/g"
	for want, instance := range map[roll.Question]roll.Instance{
		{Instance: id, NodeClaim: true, Lease: true, Protection: true}:                poolWorker(id, time.Hour),
		{Instance: id, AutoScaling: true, Lease: true, Group: true, Protection: true}: managed,
	} {
		s := snapshot([]roll.Instance{instance}, nil)
		s.StatusRead, s.Impaired = roll.Yes, map[roll.InstanceID]roll.Impairment{id: {Since: ago(time.Hour)}}
		expect.Same(t, judge(s, ledger.State{}).Questions, []roll.Question{want}, "questions")
	}
}

// The most urgent instance comes first, whatever the question.
func TestTheMostUrgentIsAskedAboutFirst(t *testing.T) {
	overdue, warned, bare := poolWorker("i-00000003", time.Hour), poolWorker("i-00000002", 6*time.Minute), worker("i-00000001", time.Hour)
	a := judge(snapshot([]roll.Instance{bare, warned, overdue}, nil), ledger.State{})
	got := roll.Map(a.Questions, func(q roll.Question) roll.InstanceID { return q.Instance })
	expect.Same(t, got, []roll.InstanceID{overdue.ID, warned.ID, bare.ID}, "order")
}

// A Node that was deleted may have left volumes on the disks of its instance, which name it.
func TestTheDisksOfADeletedNodeAreAskedFor(t *testing.T) {
	state := known(roll.Unregistered, ago(time.Hour), ago(time.Hour))
	for worked, want := range map[bool]string{true: "node-a", false: ""} {
		f := state.Findings[key(roll.Unregistered)]
		f.Worked = worked
		state.Findings[key(roll.Unregistered)] = f
		a := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			elsewhere(n)
			i.Owner, i.Group, i.ASG, i.PrivateDNS, i.Launched = roll.OwnerKarpenter, "nodepool/p", "", "node-a", ago(3*time.Hour)
			s.Details[id] = roll.Detail{HasNodeClaim: roll.Yes}
			if !worked {
				i.Launched = ago(time.Hour)
			}
		}, state)
		got := ""
		for _, q := range a.Questions {
			if q.Instance == id {
				got = q.Pods
			}
		}
		expect.Equal(t, got, want, "worked before: %v, findings %+v", worked, a.Findings)
	}
}
