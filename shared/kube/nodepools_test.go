package kube

import (
	"encoding/json"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/tests/harness/must"
)

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
		if got := quoted(unmet(&p, tt.types...)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if !slices.EqualFunc(before, p.Status.Conditions, func(a, b metav1.Condition) bool { return a == b }) {
			t.Errorf("%s: the conditions were changed", name)
		}
	}
}
