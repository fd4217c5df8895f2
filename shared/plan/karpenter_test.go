package plan

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// For an unregistered Karpenter instance, the announced time is when Rollcall would act, not when
// its tolerance ends.
func TestWhatKarpenterIsGivenIsAnnounced(t *testing.T) {
	w := healthy(10)
	i := &w.snapshot.Instances[0]
	i.Owner, i.Group, i.ASG, i.Launched = roll.OwnerKarpenter, "nodepool/p", "", now.Add(-6*time.Minute)
	w.snapshot.Details[i.ID] = roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Name: "x"}, TerminationProtected: roll.No, Pods: nothingRuns}
	w.snapshot.Nodes = w.snapshot.Nodes[1:]
	_, p := w.make(now)
	key := roll.FindingKey{Instance: i.ID, Kind: roll.Unregistered}
	if s := p.Steps[key]; s.Do != policy.DoNotify || !s.At.Equal(now.Add(9*time.Minute)) {
		t.Errorf("what follows is %+v, want the notice at its deadline", s)
	}
	var next string
	for _, c := range p.Tags {
		next = c.Set[roll.TagNext]
	}
	if !strings.HasSuffix(next, now.Add(14*time.Minute).Format(time.RFC3339)) {
		t.Errorf("the tag says %q, want the minute at which Karpenter's time is over", next)
	}
}
