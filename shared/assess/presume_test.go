package assess_test

import (
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// A report shows instances that a check would not judge because their state in their group is
// unreadable. Neither judges one that is known to be in a warm pool.
func TestWhoOnlyAsksIsShownWhatMayRest(t *testing.T) {
	for _, tt := range []struct {
		read      roll.Answer
		lifecycle string
		presume   bool
		want      int
	}{
		{roll.Unreadable, "", false, 0},
		{roll.Unreadable, "", true, 1},
		{roll.Yes, "InService", false, 1},
		{roll.Yes, "Warmed:Running", true, 0},
	} {
		i := roll.Instance{ID: "i-00000001", State: roll.StateRunning, Launched: now.Add(-time.Hour), ASG: "w", Owner: roll.OwnerManagedNodeGroup, Group: "nodegroup/w"}
		s := &roll.Snapshot{
			At: now, Cluster: roll.Cluster{Status: roll.ClusterActive}, Instances: []roll.Instance{i},
			Details: map[roll.InstanceID]roll.Detail{i.ID: {LifecycleRead: tt.read, Lifecycle: tt.lifecycle}},
		}
		a := assess.Assess(assess.Input{Snapshot: s, Policy: policy.Default().Cluster("demo", "", policy.Remediate), State: ledger.State{}, Now: now, Presume: tt.presume})
		expect.That(t, len(a.Findings) == tt.want, "%+v: %d findings", tt, len(a.Findings))
	}
}
