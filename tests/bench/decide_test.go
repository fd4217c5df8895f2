package bench

import (
	"fmt"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Of every sickEvery members three are faulty, one of each kind: 1 %.
const sickEvery = 300

// sickSnapshot returns the snapshot of a cluster of which 1 % is faulty, with all details
// of the faulty members already read.
func sickSnapshot(nodes int) *roll.Snapshot {
	s := &roll.Snapshot{
		At:        at,
		Cluster:   roll.Cluster{ID: roll.ClusterID{Account: account, Region: region, Name: clusterName}, Status: roll.ClusterActive},
		Instances: make([]roll.Instance, 0, nodes), Nodes: make([]roll.Node, 0, nodes),
		Details: map[roll.InstanceID]roll.Detail{}, StatusRead: roll.Yes,
		Groups: map[roll.Group]roll.GroupDetail{
			roll.NodeGroupGroup("workers"): {AutoRepair: roll.No, LaunchSuspended: roll.No, LaunchesRead: roll.Yes, ReplaceSuspended: roll.No},
		},
	}
	for w := range worker(nodes) {
		id := roll.InstanceID(w.instanceID())
		owner, group := roll.OwnerManagedNodeGroup, roll.NodeGroupGroup("workers")
		if w.karpenter() {
			owner, group = roll.OwnerKarpenter, roll.NodePoolGroup("default")
		}
		s.Instances = append(s.Instances, roll.Instance{
			ID: id, State: roll.StateRunning, Launched: w.launched(), Zone: w.zone(),
			Name: w.name(), LaunchTemplate: "lt-08d3b6e1f4a9c2750", ASG: "eks-workers", Owner: owner, Group: group,
		})
		ready := roll.Condition{Status: roll.ConditionTrue, Since: w.launched()}
		switch w % sickEvery {
		case 1:
			s.Details[id] = roll.Detail{LeaseRead: roll.No, TerminationProtected: roll.No, Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService", HasNodeClaim: roll.Yes}
			continue // it never registered
		case 2:
			ready = roll.Condition{Status: roll.ConditionFalse, Since: at.Add(-time.Hour), Reason: "KubeletNotReady"}
		case 3:
			ready = roll.Condition{Status: roll.ConditionUnknown, Since: at.Add(-2 * time.Hour), Reason: "NodeStatusUnknown"}
		}
		if ready.Status != roll.ConditionTrue {
			s.Details[id] = roll.Detail{LeaseRead: roll.No, TerminationProtected: roll.No, Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService", HasNodeClaim: roll.Yes}
		}
		s.Nodes = append(s.Nodes, roll.Node{
			Name: w.name(), Compute: roll.ComputeEC2, Instance: id, Created: w.launched(), Ready: ready,
			Zone: w.zone(), Owner: owner, Group: group, Registered: true, Initialized: true,
		})
	}
	return s
}

func decide(s *roll.Snapshot, state ledger.State, now time.Time) (assess.Assessment, plan.Plan) {
	pol := policy.Default().Cluster(clusterName, "", policy.Remediate)
	a := assess.Assess(assess.Input{Snapshot: s, Policy: pol, State: state, Now: now})
	return a, plan.Make(plan.Input{Snapshot: s, Assessment: a, State: state, Policy: pol, Now: now})
}

// decisions is the minimum number of nodes per iteration: small clusters finish before
// the processor's clock has advanced.
const decisions = 1_000_000

// BenchmarkDecide judges a snapshot and plans the acts, at the second check of a cluster
// that has long been in mode remediate: the findings are known, and some are due for an
// act.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			s := sickSnapshot(nodes)
			var state ledger.State
			state.Apply(ledger.Changes{
				Put: ledger.State{
					RemediateSince: map[roll.Group]time.Time{
						roll.NodeGroupGroup("workers"): at.Add(-24 * time.Hour), roll.NodePoolGroup("default"): at.Add(-24 * time.Hour),
					},
					First: at.Add(-24 * time.Hour),
				},
			})
			_, first := decide(s, state, at)
			state.Apply(first.Changes)
			now := at.Add(2 * assess.Confirmation)
			repeat := max(1, decisions/nodes)

			var total cost
			var rounds int64
			for b.Loop() {
				var a assess.Assessment
				var p plan.Plan
				total.add(measure(b, func() {
					for range repeat {
						a, p = decide(s, state, now)
					}
				}))
				if want := (nodes + sickEvery - 4) / sickEvery * 3; len(a.Findings) < want || len(p.Orders) != 1 {
					b.Fatalf("%d findings, %d orders, want at least %d and 1", len(a.Findings), len(p.Orders), want)
				}
				rounds += int64(repeat)
			}
			per := func(total int64) float64 { return float64(total) / float64(rounds) / float64(nodes) }
			b.ReportMetric(0, "ns/op") // it would be that of many decisions at once
			b.ReportMetric(per(total.cpu.Nanoseconds()), "cpu-ns/node")
			b.ReportMetric(per(int64(total.allocated)), "B/node")
		})
	}
}
