package kube

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// list collects what Nodes passes on, and discards it on restart.
func list(t *testing.T, c *Client) (nodes []roll.Node, restarts int, err error) {
	t.Helper()
	err = c.Nodes(t.Context(), roll.Watch{}, func(n roll.Node) { nodes = append(nodes, n) }, func() { nodes, restarts = nil, restarts+1 })
	return nodes, restarts, err
}

func TestListsNodesInPagesOfFiveHundred(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		s := newAPIServer(t, manyNodes(1201)...)
		s.json = asJSON
		got, restarts, err := list(t, s.client(t))
		must.That(t, err == nil && restarts == 0 && len(got) == 1201, "JSON %v: %d nodes, %d restarts, %v", asJSON, len(got), restarts, err)
		for i, n := range got {
			must.That(t, n.Name == fmt.Sprintf("node-%d", i) && n.Instance == roll.InstanceID(fmt.Sprintf("i-%017x", i)), "JSON %v: node %d is %+v", asJSON, i, n)
		}
		var tokens []string
		for n, q := range s.queries() {
			expect.That(t, q.Get("limit") == "500" && !q.Has("resourceVersion") && !q.Has("resourceVersionMatch"), "page %d asks for %v: with a resource version the limit may be ignored", n+1, q)
			tokens = append(tokens, q.Get("continue"))
		}
		expect.That(t, slices.Equal(tokens, []string{"", "after-500", "after-1000"}), "continue tokens %q", tokens)
		for _, r := range s.requests {
			if r.Method != http.MethodGet || r.URL.Path != "/api/v1/nodes" || r.Header.Get("User-Agent") != "rollcall/test" || !strings.HasPrefix(r.Header.Get("Accept"), protobuf) {
				t.Errorf("%s %s as %q, accepting %q", r.Method, r.URL.Path, r.Header.Get("User-Agent"), r.Header.Get("Accept"))
			}
		}
	}
}

func TestAClusterWithoutNodes(t *testing.T) {
	got, _, err := list(t, newAPIServer(t).client(t))
	expect.That(t, err == nil && len(got) == 0, "got %v, %v", got, err)
}

func TestCutsNodesDown(t *testing.T) {
	created := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	turned := created.Add(5 * time.Minute)
	conditions := func(status corev1.ConditionStatus, reason string) []corev1.NodeCondition {
		return []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
			{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(turned), Reason: reason, Message: "long"},
		}
	}
	const kubelets, cordons = `{"f:spec":{"f:providerID":{}},"f:status":{}}`, `{"f:spec":{"f:unschedulable":{}}}`
	setBy := func(fields ...string) (entries []metav1.ManagedFieldsEntry) {
		for _, f := range fields {
			entries = append(entries, metav1.ManagedFieldsEntry{
				Manager: "kured", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &metav1.Time{Time: turned}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(f),
			})
		}
		return entries
	}
	base := roll.Node{Name: "n", Compute: roll.ComputeEC2, Instance: "i-0123456789abcdef0", Created: created, Owner: roll.OwnerNone, Group: roll.GroupNone, Ready: roll.Condition{Status: roll.ConditionUnknown, Since: created}}
	tests := map[string]struct {
		node func(*corev1.Node)
		want func(*roll.Node) // nil if nothing comes of it
	}{
		"no Ready condition yet": {func(*corev1.Node) {}, nil},
		"ready": {
			func(n *corev1.Node) { n.Status.Conditions = conditions(corev1.ConditionTrue, "KubeletReady") },
			func(n *roll.Node) { n.Ready = roll.Condition{Status: roll.ConditionTrue, Since: turned} },
		},
		"not ready": {
			func(n *corev1.Node) { n.Status.Conditions = conditions(corev1.ConditionFalse, "KubeletNotReady") },
			func(n *roll.Node) {
				n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: turned, Reason: "KubeletNotReady"}
			},
		},
		"silent": {
			func(n *corev1.Node) { n.Status.Conditions = conditions(corev1.ConditionUnknown, "NodeStatusUnknown") },
			func(n *roll.Node) {
				n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: turned, Reason: "NodeStatusUnknown"}
			},
		},
		"a status that nobody knows": {
			func(n *corev1.Node) { n.Status.Conditions = conditions("Perhaps", "") },
			func(n *roll.Node) { n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: turned} },
		},
		"of a zone": {
			func(n *corev1.Node) {
				n.UID, n.Labels = "uid-1", map[string]string{"topology.kubernetes.io/zone": "eu-west-1b", "topology.k8s.aws/zone-id": "euw1-az2"}
			},
			func(n *roll.Node) { n.UID, n.Zone, n.ZoneID = "uid-1", "eu-west-1b", "euw1-az2" },
		},
		"registered and initialized": {
			func(n *corev1.Node) {
				n.Labels = map[string]string{"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
			},
			func(n *roll.Node) { n.Owner, n.Registered, n.Initialized = roll.OwnerKarpenter, true, true },
		},
		"cordoned by Rollcall": {
			func(n *corev1.Node) {
				n.Spec.Unschedulable, n.Annotations = true, map[string]string{"rollcall/cordoned": "order-1", "other": "x"}
			},
			func(n *roll.Node) { n.Unschedulable, n.CordonedBy = true, "order-1" },
		},
		"kept from repairs":         {func(n *corev1.Node) { n.Annotations = map[string]string{"karpenter.sh/do-not-repair": "true"} }, func(n *roll.Node) { n.DoNotRepair = true }},
		"not kept from repairs":     {func(n *corev1.Node) { n.Annotations = map[string]string{"karpenter.sh/do-not-repair": "false"} }, nil},
		"cordoned by somebody else": {func(n *corev1.Node) { n.Spec.Unschedulable = true }, func(n *roll.Node) { n.Unschedulable = true }},
		"cordoned by one program": {
			func(n *corev1.Node) {
				n.Spec.Unschedulable, n.ManagedFields = true, setBy(kubelets, cordons)
			},
			func(n *roll.Node) { n.Unschedulable, n.Cordoner, n.CordonerAt = true, "kured", turned },
		},
		"cordoned by two":                          {func(n *corev1.Node) { n.Spec.Unschedulable, n.ManagedFields = true, setBy(cordons, cordons) }, func(n *roll.Node) { n.Unschedulable = true }},
		"cordoned, and it is not readable by whom": {func(n *corev1.Node) { n.Spec.Unschedulable, n.ManagedFields = true, setBy(cordons, `[]`) }, func(n *roll.Node) { n.Unschedulable = true }},
		"cordoned at an unknown time": {
			func(n *corev1.Node) {
				n.Spec.Unschedulable, n.ManagedFields = true, setBy(cordons)
				n.ManagedFields[0].Time = nil
			},
			func(n *roll.Node) { n.Unschedulable = true },
		},
		"not cordoned any more": {func(n *corev1.Node) { n.ManagedFields = setBy(cordons) }, nil},
		"Ready is Unknown": {
			func(n *corev1.Node) {
				n.Status.Conditions = conditions(corev1.ConditionUnknown, "")
			},
			func(n *roll.Node) {
				n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: turned}
			},
		},
		"being deleted": {
			func(n *corev1.Node) {
				n.DeletionTimestamp, n.Finalizers = &metav1.Time{Time: turned}, []string{"karpenter.sh/termination"}
			},
			func(n *roll.Node) { n.DeletedAt, n.Finalizers = turned, []string{"karpenter.sh/termination"} },
		},
		"with a finalizer": {func(n *corev1.Node) { n.Finalizers = []string{"karpenter.sh/termination"} }, nil},
		"of a managed node group": {
			func(n *corev1.Node) {
				n.Labels = map[string]string{"eks.amazonaws.com/nodegroup": "blue", "topology.kubernetes.io/zone": "eu-west-1b"}
			},
			func(n *roll.Node) {
				n.Owner, n.Group, n.Zone = roll.OwnerManagedNodeGroup, "nodegroup/blue", "eu-west-1b"
			},
		},
		"of Karpenter": {
			func(n *corev1.Node) { n.Labels = map[string]string{"karpenter.sh/nodepool": "default"} },
			func(n *roll.Node) { n.Owner, n.Group = roll.OwnerKarpenter, "nodepool/default" },
		},
		"of Karpenter, without a node pool": {
			func(n *corev1.Node) { n.Labels = map[string]string{"karpenter.sh/registered": "true"} },
			func(n *roll.Node) { n.Owner, n.Group, n.Registered = roll.OwnerKarpenter, roll.GroupNone, true },
		},
		"of Auto Mode, without a node pool": {
			func(n *corev1.Node) {
				n.Labels = map[string]string{"karpenter.sh/registered": "true", "eks.amazonaws.com/compute-type": "auto"}
			},
			func(n *roll.Node) { n.Owner, n.Group, n.Registered = roll.OwnerAutoMode, roll.GroupNone, true },
		},
		"of Auto Mode": {
			func(n *corev1.Node) {
				n.Labels = map[string]string{"karpenter.sh/nodepool": "system", "eks.amazonaws.com/compute-type": "auto"}
			},
			func(n *roll.Node) { n.Owner, n.Group = roll.OwnerAutoMode, "nodepool/system" },
		},
		"of Cluster API": {
			func(n *corev1.Node) {
				n.Annotations = map[string]string{"cluster.x-k8s.io/machine": "workers-1", "cluster.x-k8s.io/owner-kind": "MachineSet"}
			},
			func(n *roll.Node) { n.Owner = roll.OwnerClusterAPI },
		},
		"without a provider id": {func(n *corev1.Node) { n.Spec.ProviderID = "" }, func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeUnknown, "" }},
		"of another provider":   {func(n *corev1.Node) { n.Spec.ProviderID = "kind://docker/kind/kind-worker" }, func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeOther, "" }},
		"kept from disruption": {
			func(n *corev1.Node) {
				n.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
			},
			func(n *roll.Node) {
				n.NotToDisrupt = "cluster-autoscaler.kubernetes.io/scale-down-disabled=true"
			},
		},
		"removed by Cluster Autoscaler": {
			func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Value: "1772453400", Effect: corev1.TaintEffectNoSchedule}}
			},
			func(n *roll.Node) { n.ScaledDown = time.Date(2026, 3, 2, 12, 10, 0, 0, time.UTC) },
		},
		"removed by it, and nobody knows since when": {
			func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Value: "-1", Effect: corev1.TaintEffectNoSchedule}, {Key: "x", Value: "1"}}
			},
			nil,
		},
		"of the control plane of a local cluster": {
			func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "node-role.eks-local.amazonaws.com/control-plane", Effect: corev1.TaintEffectNoSchedule}}
			},
			func(n *roll.Node) { n.ControlPlane = true },
		},
		"of a virtual kubelet": {
			func(n *corev1.Node) { n.Spec.ProviderID, n.Labels = "", map[string]string{"type": "virtual-kubelet"} },
			func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeOther, "" },
		},
		"of kwok": {
			func(n *corev1.Node) {
				n.Spec.ProviderID, n.Annotations = "", map[string]string{"kwok.x-k8s.io/node": "fake"}
			},
			func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeOther, "" },
		},
		"labelled by a kubelet on EC2 like a virtual one": {func(n *corev1.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} }, nil},
		"on Fargate": {
			func(n *corev1.Node) {
				n.Spec.ProviderID = "aws:///eu-west-1a/0123456789-0123456789abcdef0123456789abcdef/fargate-ip-10-0-0-1.eu-west-1.compute.internal"
			},
			func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeFargate, "" },
		},
		"hybrid": {func(n *corev1.Node) { n.Spec.ProviderID = "eks-hybrid:///eu-west-1/demo/mi-0123456789abcdef0" }, func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeHybrid, "" }},
	}
	for name, tt := range tests {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(created)}}
		n.Spec.ProviderID = "aws:///eu-west-1a/i-0123456789abcdef0"
		tt.node(&n)
		want := base
		if tt.want != nil {
			tt.want(&want)
		}
		for _, asJSON := range []bool{false, true} {
			s := newAPIServer(t, n)
			s.json = asJSON
			got, _, err := list(t, s.client(t))
			must.That(t, err == nil && len(got) == 1, "%s: %v, %v", name, got, err)
			expect.Same(t, got[0], want, "%s, JSON %v", name, asJSON)
		}
	}
}

// What is not read from the wire is asked for as JSON, which every API server speaks.
func TestAPageInAnotherProtobufIsRequestedAsJSON(t *testing.T) {
	s := newAPIServer(t, manyNodes(2)...)
	s.answer[1] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", protobuf)
		_, _ = w.Write(append(bytes.Clone(envelope), 0x1a, 1, 'x')) // an encoding
	}
	got, restarts, err := list(t, s.client(t))
	must.That(t, err == nil && restarts == 0 && len(got) == 2 && len(s.requests) == 2, "%d nodes by %d requests, %d restarts, %v", len(got), len(s.requests), restarts, err)
	if first, second := s.queries()[0], s.queries()[1]; first.Encode() != second.Encode() || s.requests[1].Header.Get("Accept") != applicationJSON {
		t.Errorf("asked for %v as %s, then %v as %s", first, s.requests[0].Header.Get("Accept"), second, s.requests[1].Header.Get("Accept"))
	}
}

func TestAListingThatTheServerDropsBeginsOnceMore(t *testing.T) {
	s := newAPIServer(t, manyNodes(1100)...)
	s.answer[3] = s.refuse(http.StatusGone, metav1.StatusReasonExpired, "The provided continue parameter is too old")
	got, restarts, err := list(t, s.client(t))
	expect.That(t, err == nil && restarts == 1 && len(got) == 1100, "%d nodes after %d restarts, %v", len(got), restarts, err)
	var tokens []string
	for _, q := range s.queries() {
		tokens = append(tokens, q.Get("continue"))
	}
	expect.List(t, tokens, []string{"", "after-500", "after-1000", "", "after-500", "after-1000"}, "continue tokens")
}

func TestASecondDropIsAnError(t *testing.T) {
	s := newAPIServer(t, manyNodes(1100)...)
	gone := s.refuse(http.StatusGone, metav1.StatusReasonExpired, "too old")
	s.answer[2], s.answer[5] = gone, gone
	_, restarts, err := list(t, s.client(t))
	must.That(t, err != nil && restarts == 1 && len(s.requests) == 5, "%d restarts, %d requests, %v", restarts, len(s.requests), err)
	want := "list nodes: too old"
	expect.That(t, err.Error() == want, "error %q, want %q", err, want)
}

func TestAnErrorOnALaterPageIsAnError(t *testing.T) {
	s := newAPIServer(t, manyNodes(600)...)
	s.answer[2] = s.refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is sad")
	got, restarts, err := list(t, s.client(t))
	expect.That(t, err != nil && restarts == 0 && len(got) == 500, "%d nodes, %d restarts, %v", len(got), restarts, err)
}

func TestAServerThatAsksForPatienceGetsIt(t *testing.T) {
	s := newAPIServer(t, manyNodes(1)...)
	s.answer[1] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		s.refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down")(w, r)
	}
	got, _, err := list(t, s.client(t))
	expect.That(t, err == nil && len(got) == 1, "%v, %v", got, err)
}

func TestAClusterWithoutEndpointCannotBeDialled(t *testing.T) {
	c := roll.Cluster{ID: roll.ClusterID{Name: "demo"}}
	if _, err := NewDialer(nil, "test").Dial(c); err == nil || err.Error() != "reach the Kubernetes API of demo: eks:DescribeCluster names no endpoint" {
		t.Errorf("got %v", err)
	}
	c.Endpoint, c.CA = "https://demo.example", []byte("not PEM")
	_, err := NewDialer(nil, "test").Dial(c)
	expect.That(t, err != nil && strings.HasPrefix(err.Error(), "prepare a client for https://demo.example: "), "got %v", err)
}
