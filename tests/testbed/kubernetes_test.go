package testbed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const evictors = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: testbed-evictors}
rules:
  - {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
  - {apiGroups: [""], resources: [nodes], verbs: [list, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: testbed-evictors}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: testbed-evictors}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "rollcall:remediators"}]
`

func TestNodesAndNodeClaimsAreAsOldAsSpecified(t *testing.T) {
	ctx := reset(t)
	created := time.Now().Add(-5 * time.Hour).Truncate(time.Second)
	if _, err := bed.JoinNode(ctx, NodeSpec{Name: "old", InstanceID: "i-0123456789abcdef0", Created: created, Karpenter: true}); err != nil {
		t.Fatal(err)
	}
	nodes, err := bed.Kube().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := nodes.Items[0]; !n.CreationTimestamp.Time.Equal(created) || n.Labels["karpenter.sh/registered"] != "true" || len(n.Status.Conditions) == 0 {
		t.Errorf("the node is %+v, want one created at %s", n.ObjectMeta, created)
	}
	err = bed.CreateNodeClaim(ctx, NodeClaimSpec{
		Name: "default-1", InstanceID: "i-0123456789abcdef0", Node: "old", Created: created,
		Conditions: []metav1.Condition{{Type: "Registered", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(created)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := bed.claims.Resource(nodeClaims).Get(ctx, "default-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status := fmt.Sprint(claim.Object["status"])
	if c := claim.GetCreationTimestamp(); !c.Time.Equal(created) || !strings.Contains(status, "aws:///eu-west-1a/i-0123456789abcdef0") || !strings.Contains(status, "Registered") {
		t.Errorf("the NodeClaim was created at %s and has the status %s", c, status)
	}
	if err := bed.DeleteNodeClaim(ctx, "default-1"); err != nil {
		t.Fatal(err)
	}
	if deleting, err := bed.NodeClaimDeleting(ctx, "default-1"); err != nil || !deleting {
		t.Errorf("deleting %v, %v; want it held by its finalizer", deleting, err)
	}
}

func TestNodeChangesAsSomebodyWithKubectlWould(t *testing.T) {
	ctx := reset(t)
	if _, err := bed.JoinNode(ctx, NodeSpec{Name: "n", Karpenter: true}); err != nil {
		t.Fatal(err)
	}
	cordoned := true
	if err := bed.ChangeNode(ctx, "n", NodeChange{Labels: map[string]*string{"karpenter.sh/initialized": nil}, Cordoned: &cordoned, BootID: "second"}); err != nil {
		t.Fatal(err)
	}
	if err := bed.DeleteNode(ctx, "n"); err != nil {
		t.Fatal(err)
	}
	n, err := bed.Kube().CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, initialized := n.Labels["karpenter.sh/initialized"]
	if initialized || !n.Spec.Unschedulable || n.Status.NodeInfo.BootID != "second" || n.DeletionTimestamp == nil {
		t.Errorf("the node is %+v, %+v, booted as %s", n.ObjectMeta, n.Spec, n.Status.NodeInfo.BootID)
	}
}

// The eviction API is the API server's own; only the counting of the budget is done by hand.
func TestEvictionsRespectBudgets(t *testing.T) {
	ctx := reset(t)
	if err := bed.Apply(ctx, evictors); err != nil {
		t.Fatal(err)
	}
	if _, err := bed.JoinNode(ctx, NodeSpec{Name: "n"}); err != nil {
		t.Fatal(err)
	}
	web := map[string]string{"app": "web"}
	for _, p := range []PodSpec{{Name: "web-1", Labels: web}, {Name: "web-2", Labels: web}, {Name: "slow", Lingers: true}, {Name: "agent", DaemonSet: true}, {Name: "static", Mirror: true}} {
		p.Node = "n"
		if err := bed.RunPod(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := bed.SetBudget(ctx, "web", web, 1); err != nil {
		t.Fatal(err)
	}
	client := asUser(t, Remediator, ClusterName)
	evict := func(name string) error {
		return client.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}})
	}
	err := poll(ctx, 10*time.Second, 50*time.Millisecond, func(context.Context) error { return evict("slow") }) // the authorizer watches bindings
	if err != nil {
		t.Fatal(err)
	}
	if err := bed.ForgetCalls(ctx); err != nil {
		t.Fatal(err)
	}
	if err := evict("web-1"); err != nil {
		t.Errorf("within the budget: %v", err)
	}
	if err := evict("web-2"); !apierrors.IsTooManyRequests(err) {
		t.Errorf("beyond the budget: got %v, want 429", err)
	}
	pods, err := bed.PodNames(ctx)
	if want := []string{"agent", "static", "web-2"}; err != nil || !slices.Equal(pods, want) {
		t.Errorf("pods left %v, %v, want %v", pods, err, want)
	}
	if _, err := client.CoreV1().Nodes().Patch(ctx, "n", types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := client.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secrets: got %v, want 403", err)
	}
	calls, err := bed.KubeCalls(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprintf("%s %s/%s %s/%s %d", c.Verb, c.Resource, c.Subresource, c.Namespace, c.Name, c.Code))
	}
	want := []string{"create pods/eviction default/web-1 201", "create pods/eviction default/web-2 429", "patch nodes/ /n 200", "list secrets/ default/ 403"}
	if !slices.Equal(got, want) || string(calls[2].Body) != `{"spec":{"unschedulable":true}}` || calls[0].User != "rollcall-remediator" {
		t.Errorf("logged %q, the third with the body %s; want %q", got, calls[2].Body, want)
	}
}
