package testbed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/kubetest"
	"rollcall/tests/harness/must"
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
	must.Succeed(t, err)
	if n := nodes.Items[0]; !n.CreationTimestamp.Time.Equal(created) || n.Labels["karpenter.sh/registered"] != "true" || len(n.Status.Conditions) == 0 {
		t.Errorf("the node is %+v, want one created at %s", n.ObjectMeta, created)
	}
	err = bed.CreateNodeClaim(ctx, NodeClaimSpec{
		Name: "default-1", InstanceID: "i-0123456789abcdef0", Node: "old", Created: created,
		Conditions: []metav1.Condition{{Type: "Registered", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(created)}},
	})
	must.Succeed(t, err)
	claim, err := bed.claims.Resource(nodeClaims).Get(ctx, "default-1", metav1.GetOptions{})
	must.Succeed(t, err)
	status := fmt.Sprint(claim.Object["status"])
	if c := claim.GetCreationTimestamp(); !c.Time.Equal(created) || !strings.Contains(status, "aws:///eu-west-1a/i-0123456789abcdef0") || !strings.Contains(status, "Registered") {
		t.Errorf("the NodeClaim was created at %s and has the status %s", c, status)
	}
	must.Succeed(t, bed.DeleteNodeClaim(ctx, "default-1"))
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
	must.Succeed(t, bed.ChangeNode(ctx, "n", NodeChange{Labels: map[string]*string{"karpenter.sh/initialized": nil}, Cordoned: &cordoned, BootID: "second"}))
	must.Succeed(t, bed.DeleteNode(ctx, "n"))
	n, err := bed.Kube().CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
	must.Succeed(t, err)
	_, initialized := n.Labels["karpenter.sh/initialized"]
	if initialized || !n.Spec.Unschedulable || n.Status.NodeInfo.BootID != "second" || n.DeletionTimestamp == nil {
		t.Errorf("the node is %+v, %+v, booted as %s", n.ObjectMeta, n.Spec, n.Status.NodeInfo.BootID)
	}
}

// The eviction API is the API server's own; only the budget's status is set by hand.
func TestEvictionsRespectBudgets(t *testing.T) {
	ctx := reset(t)
	must.Succeed(t, bed.Apply(ctx, evictors))
	if _, err := bed.JoinNode(ctx, NodeSpec{Name: "n"}); err != nil {
		t.Fatal(err)
	}
	web := map[string]string{"app": "web"}
	for _, p := range []PodSpec{{Name: "web-1", Labels: web}, {Name: "web-2", Labels: web}, {Name: "slow", Lingers: true}, {Name: "agent", DaemonSet: true}, {Name: "static", Mirror: true}} {
		p.Node = "n"
		must.Succeed(t, bed.RunPod(ctx, p))
	}
	must.Succeed(t, bed.SetBudget(ctx, "web", web, 1))
	client := asUser(t, Remediator, ClusterName)
	evict := func(name string) error {
		return client.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}})
	}
	err := poll(ctx, 10*time.Second, 50*time.Millisecond, func(context.Context) error { return evict("slow") }) // the authorizer watches bindings
	must.Succeed(t, err)
	must.Succeed(t, bed.ForgetCalls(ctx))
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
	must.Succeed(t, err)
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprintf("%s %s/%s %s/%s %d", c.Verb, c.Resource, c.Subresource, c.Namespace, c.Name, c.Code))
	}
	want := []string{"create pods/eviction default/web-1 201", "create pods/eviction default/web-2 429", "patch nodes/ /n 200", "list secrets/ default/ 403"}
	if !slices.Equal(got, want) || string(calls[2].Body) != `{"spec":{"unschedulable":true}}` || calls[0].User != "rollcall-remediator" {
		t.Errorf("logged %q, the third with the body %s; want %q", got, calls[2].Body, want)
	}
}

// The simulator's API server is held to the same contract.
func TestChangesAreAnsweredAsTheSimulatorDoes(t *testing.T) {
	ctx := reset(t)
	node, err := bed.JoinNode(ctx, NodeSpec{Name: "n", Created: time.Now().Add(-time.Hour)})
	must.Succeed(t, err)
	bed.Silence("n")
	must.Succeed(t, bed.CreateNodeClaim(ctx, NodeClaimSpec{Name: "default-1", Node: "n"}))
	claim, err := bed.claims.Resource(nodeClaims).Get(ctx, "default-1", metav1.GetOptions{})
	must.Succeed(t, err)
	guarded := map[string]string{"app": "db"}
	pods := bed.Kube().CoreV1().Pods(metav1.NamespaceDefault)
	run := func(name string, labels map[string]string) kubetest.Object {
		must.Succeed(t, bed.RunPod(ctx, PodSpec{Name: name, Node: "n", Labels: labels, Lingers: true}))
		p, err := pods.Get(ctx, name, metav1.GetOptions{})
		must.Succeed(t, err)
		t.Cleanup(func() { _ = bed.EndPod(context.Background(), name) })
		return kubetest.Object{Namespace: p.Namespace, Name: name, UID: string(p.UID)}
	}
	s := kubetest.Server{
		URL: bed.APIServer(), Node: kubetest.Object{Name: "n", UID: string(node.UID)}, Claim: kubetest.Object{Name: claim.GetName(), UID: string(claim.GetUID())},
		Pod: run("web", nil), Guarded: run("db", guarded), Leaving: run("old", guarded),
	}
	must.Succeed(t, bed.SetBudget(ctx, "db", guarded, 0))
	must.Succeed(t, pods.Delete(ctx, "old", metav1.DeleteOptions{}))
	s.Transport, err = rest.TransportFor(bed.AdminConfig())
	must.Succeed(t, err)
	kubetest.Contract(t, s)
}

// The simulator's nodes are held to the same looks.
func TestNodesLookAsInTheSimulator(t *testing.T) {
	ctx := reset(t)
	name := func(s kubetest.State) string { return strings.ToLower(strings.ReplaceAll(string(s), " ", "-")) }
	for state := range kubetest.Looks {
		spec := NodeSpec{Name: name(state), Conditions: []corev1.NodeCondition{{Type: "KernelReady", Status: corev1.ConditionTrue, Reason: "KernelIsReady"}}}
		switch state {
		case kubetest.Registered:
			spec.Ready = corev1.ConditionFalse
		case kubetest.Pressed:
			spec.Conditions = append(spec.Conditions, corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue, Reason: "KubeletHasInsufficientMemory"})
		case kubetest.Cordoned:
			spec.Cordoned = true
		}
		_, err := bed.JoinNode(ctx, spec)
		must.Succeed(t, err)
		switch state {
		case kubetest.NotReady:
			must.Succeed(t, bed.SetReady(ctx, spec.Name, corev1.ConditionFalse, "KubeletNotReady", time.Now()))
		case kubetest.Silent:
			bed.Silence(spec.Name)
		}
	}
	must.Succeed(t, poll(ctx, unknownWithin, time.Second, func(ctx context.Context) error {
		for state, want := range kubetest.Looks {
			n, err := bed.Kube().CoreV1().Nodes().Get(ctx, name(state), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, kubetest.LookOf(n)); diff != "" {
				return fmt.Errorf("%s (-want +got):\n%s", state, diff)
			}
		}
		return nil
	}))
}

// diagnosed holds the objects that a diagnosis reads besides nodes, NodeClaims and pods.
const diagnosed = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
      startupTaints: [{key: example.com/warming, effect: NoSchedule}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: testbed-mutating}
webhooks:
  - {name: mutating.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://127.0.0.1:1/"}, failurePolicy: Ignore, rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: testbed-validating}
webhooks:
  - {name: validating.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://127.0.0.1:1/"}, failurePolicy: Ignore, rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: network, namespace: kube-system, annotations: {example.com/last-applied: planted}}
spec:
  selector: {matchLabels: {app: network}}
  template:
    metadata: {labels: {app: network}}
    spec:
      containers: [{name: network, image: "registry.example/network:1", env: [{name: PASSWORD, value: planted}], volumeMounts: [{name: conf, mountPath: /host}]}]
      volumes: [{name: conf, hostPath: {path: /etc/cni/net.d}}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: policy-1, namespace: kube-system, labels: {kubernetes.io/service-name: policy}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: false}}]
---
apiVersion: v1
kind: Event
metadata: {name: made.1, namespace: default}
involvedObject: {apiVersion: v1, kind: Node, name: "n"}
reason: NodeHasInsufficientMemory
---
apiVersion: v1
kind: Event
metadata: {name: made.2, namespace: kube-system}
involvedObject: {apiVersion: v1, kind: Node, name: "n", namespace: kube-system}
reason: OOMKilling
---
apiVersion: v1
kind: Event
metadata: {name: made.3, namespace: default}
involvedObject: {apiVersion: karpenter.sh/v1, kind: NodeClaim, name: default-1}
reason: Registered
`

// dial returns a client like the functions'.
func dial(t *testing.T, id Identity) *kube.Client {
	t.Helper()
	tokens := kube.NewTokenSource(bed.AWSConfigFor(id))
	client, err := kube.NewDialer(tokens, "rollcall/test").Dial(roll.Cluster{ID: roll.ClusterID{Name: ClusterName}, Endpoint: bed.APIServer(), CA: bed.CA()})
	must.Succeed(t, err)
	return client
}

// An API server knows by which program a node was cordoned, and that it was not cordoned again.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
func TestTheProgramThatCordonedANodeIsRead(t *testing.T) {
	ctx := reset(t)
	applyPublished(t, ctx)
	_, err := bed.JoinNode(ctx, NodeSpec{Name: "n", Created: time.Now().Add(-time.Hour)})
	must.Succeed(t, err)
	viewer, begun := dial(t, Viewer), time.Now().Truncate(time.Second)
	const cordon, uncordon = `{"apiVersion":"v1","kind":"Node","spec":{"unschedulable":true}}`, `{"spec":{"unschedulable":null}}`
	for _, step := range []struct {
		program string
		as      types.PatchType
		patch   string
		want    string
	}{
		{"kured", types.StrategicMergePatchType, cordon, "kured"},
		{"kubectl", types.StrategicMergePatchType, cordon, "kured"},
		{"kubectl", types.ApplyPatchType, cordon, ""}, // both
		{"kured", types.StrategicMergePatchType, uncordon, ""},
		{"kubectl", types.StrategicMergePatchType, cordon, "kubectl"},
		{"kured", types.StrategicMergePatchType, cordon, "kubectl"},
	} {
		config, options := bed.AdminConfig(), metav1.PatchOptions{}
		if config.UserAgent = step.program + "/v1.2.3 (linux/amd64) kubernetes/0123456"; step.as == types.ApplyPatchType {
			options.FieldManager = "person"
		}
		client, err := kubernetes.NewForConfig(config)
		must.Succeed(t, err)
		_, err = client.CoreV1().Nodes().Patch(ctx, "n", step.as, []byte(step.patch), options)
		must.Succeed(t, err)
		err = poll(ctx, 10*time.Second, 50*time.Millisecond, func(ctx context.Context) error { // the authorizer watches bindings
			return viewer.Nodes(ctx, roll.Watch{}, func(n roll.Node) {
				expect.That(t, n.Cordoner == step.want && n.CordonerAt.IsZero() == (step.want == "") && (step.want == "" || !n.CordonerAt.Before(begun)),
					"after %s sent %s: cordoned by %q at %s, want %q", step.program, step.patch, n.Cordoner, n.CordonerAt, step.want)
			}, func() {})
		})
		must.Succeed(t, err)
	}
}

// applyPublished applies infra/rbac.yaml, and revokes its grants when the test ends.
func applyPublished(t *testing.T, ctx context.Context) {
	t.Helper()
	published := must.Read(t, filepath.Join("..", "..", "infra", "rbac.yaml"))
	must.Succeed(t, bed.Apply(ctx, string(published)))
	t.Cleanup(func() {
		ctx, rbac := context.Background(), bed.Kube().RbacV1()
		for _, name := range []string{"rollcall-viewer", "rollcall-remediator"} {
			expect.Succeed(t, rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}))
		}
		for _, namespace := range []string{metav1.NamespaceSystem, corev1.NamespaceNodeLease} {
			expect.Succeed(t, rbac.RoleBindings(namespace).Delete(ctx, "rollcall-viewer", metav1.DeleteOptions{}))
		}
		viewer := asUser(t, Viewer, ClusterName)
		err := poll(ctx, 10*time.Second, 50*time.Millisecond, func(ctx context.Context) error { // the authorizer watches bindings
			if _, err := viewer.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
				return errors.Join(errors.New("want 403"), err)
			}
			return nil
		})
		expect.That(t, err == nil, "what was granted cannot be taken back: %v", err)
	})
}

// seedDiagnosed creates a node and all objects that a diagnosis reads about it.
func seedDiagnosed(t *testing.T, ctx context.Context) {
	t.Helper()
	if _, err := bed.JoinNode(ctx, NodeSpec{Name: "n", InstanceID: "i-0123456789abcdef0", Karpenter: true}); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, bed.CreateNodeClaim(ctx, NodeClaimSpec{Name: "default-1", InstanceID: "i-0123456789abcdef0", Node: "n"}))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "agent"}, Spec: corev1.PodSpec{
		NodeName: "n", Containers: []corev1.Container{{Name: "agent", Image: "registry.example/agent:1", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "planted"}}}},
	}}
	if _, err := bed.Kube().CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, bed.RunPod(ctx, PodSpec{Name: "waits", Phase: corev1.PodPending}))
	must.Succeed(t, bed.Apply(ctx, diagnosed))
	t.Cleanup(func() {
		ctx, gone := context.Background(), metav1.DeleteOptions{}
		all := bed.Kube()
		for what, err := range map[string]error{
			"node pool":          bed.claims.Resource(nodeClaims.GroupVersion().WithResource("nodepools")).Delete(ctx, "default", gone),
			"mutating webhook":   all.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, "testbed-mutating", gone),
			"validating webhook": all.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, "testbed-validating", gone),
			"daemon set":         all.AppsV1().DaemonSets(metav1.NamespaceSystem).Delete(ctx, "network", gone),
			"endpoint slice":     all.DiscoveryV1().EndpointSlices(metav1.NamespaceSystem).Delete(ctx, "policy-1", gone),
			"event 1":            all.CoreV1().Events(metav1.NamespaceDefault).Delete(ctx, "made.1", gone),
			"event 2":            all.CoreV1().Events(metav1.NamespaceSystem).Delete(ctx, "made.2", gone),
			"event 3":            all.CoreV1().Events(metav1.NamespaceDefault).Delete(ctx, "made.3", gone),
		} {
			expect.That(t, err == nil, "delete the %s: %v", what, err)
		}
	})
}

// answered returns the kinds and names in an answer, without Events that the control plane wrote by itself.
func answered(t *testing.T, q kube.Question, objects []*kube.Item) string {
	t.Helper()
	words := []string{"v1", "List"}
	for _, item := range objects {
		o, err := kube.Decode[struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}](item)
		must.Succeed(t, err)
		if q.ByName() {
			words = []string{o.APIVersion, o.Kind}
		}
		if o.Kind != "Event" || strings.HasPrefix(o.Metadata.Name, "made.") {
			words = append(words, o.Kind+"/"+o.Metadata.Name)
		}
	}
	return strings.Join(words, " ")
}

// infra/rbac.yaml alone lets both roles read all that a diagnosis needs.
func TestEveryQuestionOfADiagnosisIsAnswered(t *testing.T) {
	ctx := reset(t)
	applyPublished(t, ctx)
	seedDiagnosed(t, ctx)
	want := map[kube.Question]string{
		kube.ANode("n"):                                 "v1 Node Node/n",
		kube.AllNodes():                                 "v1 List Node/n",
		kube.LeaseOf("n"):                               "coordination.k8s.io/v1 Lease Lease/n",
		kube.AllLeases():                                "v1 List Lease/n",
		kube.AwsAuth():                                  "v1 ConfigMap ConfigMap/aws-auth",
		kube.EventsOfNode("n"):                          "v1 List Event/made.1 Event/made.2",
		kube.EventsOfNodeClaim("default-1"):             "v1 List Event/made.3",
		kube.PodsOf("n"):                                "v1 List Pod/agent",
		kube.PodsOf("another"):                          "v1 List",
		kube.PodsWithoutNode():                          "v1 List Pod/waits",
		kube.NodeClaimsOf("default"):                    "v1 List NodeClaim/default-1",
		kube.NodeClaimsOf("another"):                    "v1 List",
		kube.ANodePool("default"):                       "karpenter.sh/v1 NodePool NodePool/default",
		kube.Webhooks():                                 "v1 List MutatingWebhookConfiguration/testbed-mutating ValidatingWebhookConfiguration/testbed-validating",
		kube.DaemonSets():                               "v1 List DaemonSet/network",
		kube.EndpointSlicesOf("kube-system", "policy"):  "v1 List EndpointSlice/policy-1",
		kube.EndpointSlicesOf("kube-system", "another"): "v1 List",
	}
	missing := map[kube.Question]error{
		kube.ANode("none"): kube.ErrGone, kube.LeaseOf("none"): kube.ErrGone, kube.ANodePool("none"): kube.ErrGone,
		kube.AnEC2NodeClass("default"): kube.ErrNoEC2NodeClasses, // its definition is not installed here
	}
	for _, id := range []Identity{Viewer, Remediator} {
		client := dial(t, id)
		err := poll(ctx, 10*time.Second, 50*time.Millisecond, func(ctx context.Context) error { // the authorizer watches bindings
			for q := range want {
				if _, err := client.Read(ctx, q); err != nil {
					return err
				}
			}
			return nil
		})
		must.That(t, err == nil, "%s: %v", id.ARN, err)
		for q, want := range want {
			objects, err := client.Read(ctx, q)
			if err != nil {
				t.Errorf("%s: %v", id.ARN, err)
				continue
			}
			expect.Equal(t, answered(t, q, objects), want, "%s", q)
			for _, o := range objects {
				text := string(o.JSON())
				expect.That(t, !strings.Contains(text, "planted") && !strings.Contains(text, "managedFields"), "%s: %s", q, text)
			}
		}
		for q, want := range missing {
			_, err := client.Read(ctx, q)
			expect.That(t, errors.Is(err, want), "%s: got %v, want %v", q, err, want)
		}
	}
}
