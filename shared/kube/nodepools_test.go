package kube

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// The node pools of Auto Mode are objects like those of the cluster's own Karpenter. Their NodeClass shows
// whose they are.
func TestNodePoolsHaveTheOwnerOfTheirNodeClass(t *testing.T) {
	c, _ := over(t, saying(http.StatusOK, `{"kind": "NodePoolList", "apiVersion": "karpenter.sh/v1", "metadata": {}, "items": [
			{"metadata": {"name": "default"}, "spec": {"template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}}}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
			{"metadata": {"name": "general-purpose"}, "spec": {"template": {"spec": {"nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}}}}, "status": {"conditions": [
				{"type": "NodeClassReady", "status": "False", "reason": "UnhealthyDependents", "message": "SubnetsReady=False", "lastTransitionTime": "2026-03-02T12:00:00Z"},
				{"type": "Ready", "status": "False", "reason": "UnhealthyDependents", "lastTransitionTime": "2026-03-02T12:00:00Z"}]}}]}`))
	got, err := c.NodePools(t.Context())
	must.Succeed(t, err)
	expect.Same(t, got.Owners, map[string]roll.Owner{"default": roll.OwnerKarpenter, "general-purpose": roll.OwnerAutoMode}, "got.Owners")
	l := got.Unready["general-purpose"]
	expect.That(t, len(got.Unready) == 1 && l.Owner == roll.OwnerAutoMode && l.Message == "NodeClassReady is False (UnhealthyDependents): SubnetsReady=False", "%+v", got.Unready)
}

// A validation that waits for other conditions says nothing beside them, and what does not decide
// whether a node pool is ready does not count.
func TestUnmetConditions(t *testing.T) {
	for name, tt := range map[string]struct {
		conditions string
		types      []string
		want       string
	}{
		"all is well":                  {`[{"type": "SubnetsReady", "status": "True"}, {"type": "Ready", "status": "True"}]`, nil, ""},
		"one, and Ready":               {`[{"type": "SubnetsReady", "status": "False", "reason": "SubnetsNotFound", "message": "none"}, {"type": "Ready", "status": "False", "reason": "UnhealthyDependents"}]`, nil, "SubnetsReady is False (SubnetsNotFound): none"},
		"a validation that waits":      {`[{"type": "ValidationSucceeded", "status": "False", "reason": "DependenciesNotReady"}, {"type": "AMIsReady", "status": "False", "reason": "AMINotFound"}]`, nil, "AMIsReady is False (AMINotFound)"},
		"it waits for what is Unknown": {`[{"type": "ValidationSucceeded", "status": "False", "reason": "DependenciesNotReady"}, {"type": "InstanceProfileReady", "status": "Unknown", "reason": "AwaitingReconciliation"}]`, nil, "InstanceProfileReady is Unknown (AwaitingReconciliation)"},
		"False before Unknown":         {`[{"type": "AMIsReady", "status": "Unknown", "reason": "A"}, {"type": "SubnetsReady", "status": "False", "reason": "B"}]`, nil, "SubnetsReady is False (B)"},
		"two":                          {`[{"type": "AMIsReady", "status": "False", "reason": "A"}, {"type": "SubnetsReady", "status": "False", "reason": "B"}]`, nil, "AMIsReady is False (A); SubnetsReady is False (B)"},
		"another type":                 {`[{"type": "NodeRegistrationHealthy", "status": "False", "reason": "RegistrationFailed"}]`, []string{conditionNodeClass, conditionValidation}, ""},
		"none":                         {`[]`, nil, ""},
	} {
		var p nodePoolState
		must.Succeed(t, json.Unmarshal([]byte(`{"status": {"conditions": `+tt.conditions+`}}`), &p))
		before := slices.Clone(p.Status.Conditions)
		expect.Equal(t, quoted(unmet(&p, tt.types...)), tt.want, "%s", name)
		expect.That(t, slices.EqualFunc(before, p.Status.Conditions, func(a, b metav1.Condition) bool { return a == b }), "%s: the conditions were changed", name)
	}
}
