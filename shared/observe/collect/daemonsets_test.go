package collect

import (
	"testing"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

const awaits = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"

// unnetworked is an account whose only node waits for its network plugin.
func unnetworked(message string) *account {
	a := healthy()
	a.launch(1, workers)
	a.join(1)
	a.api.put("/api/v1/nodes/"+nodeName(1), thing{
		"metadata": thing{"creationTimestamp": stamp(at)},
		"status":   thing{"conditions": []any{thing{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": message, "lastTransitionTime": stamp(at)}}},
	})
	a.api.put("/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy", thing{"metadata": thing{"namespace": "kube-system"}, "spec": thing{"template": thing{"spec": thing{
		"volumes":     []any{thing{"name": "modules", "hostPath": thing{"path": "/lib/modules"}}, thing{"name": "config", "configMap": thing{"name": "kube-proxy"}}},
		"hostNetwork": true, "nodeSelector": thing{"os": "linux"}, "tolerations": []any{thing{"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}},
		"affinity": thing{"nodeAffinity": thing{"requiredDuringSchedulingIgnoredDuringExecution": thing{"nodeSelectorTerms": []any{thing{"matchExpressions": []any{thing{"key": "zone", "operator": "In", "values": []any{"a"}}}}}}}},
	}}, "selector": thing{"matchLabels": thing{"k8s-app": "kube-proxy"}}}})
	return a
}

// kubeProxy is what is read of the DaemonSet of unnetworked.
var kubeProxy = evidence.DaemonSet{
	Namespace: "kube-system", Name: "kube-proxy", Labels: map[string]string{"k8s-app": "kube-proxy"}, HostPaths: []string{"/lib/modules"}, HostNetwork: true,
	Tolerations: []evidence.Toleration{{Key: "team", Operator: "Equal", Value: "a", Effect: "NoSchedule"}}, NodeSelector: map[string]string{"os": "linux"},
	Affinity: [][]evidence.Requirement{{{Key: "zone", Operator: "In", Values: []string{"a"}}}},
}

func TestDaemonSetsAreReadWhereANodeMayLackAPod(t *testing.T) {
	node := func(change func(*roll.Node)) []roll.Node {
		n := roll.Node{Name: "other", Compute: roll.ComputeEC2, Instance: instanceID(9), Ready: roll.Condition{Status: roll.ConditionTrue}}
		change(&n)
		return []roll.Node{n}
	}
	tainted := func(key string) func(*account) {
		return func(a *account) {
			a.api.put("/api/v1/nodes/"+nodeName(1), thing{"spec": thing{"taints": []any{thing{"key": key, "effect": "NoSchedule"}}}})
		}
	}
	const known, absent, unknown = evidence.Known, evidence.Absent, evidence.NotAsked
	for name, tt := range map[string]struct {
		message   string
		kind      roll.Kind
		others    []roll.Node
		change    func(*roll.Snapshot)
		world     func(*account)
		networked evidence.State
		read      bool
	}{
		"no other node":                              {awaits, roll.NotReady, nil, nil, nil, absent, true},
		"it was never ready":                         {awaits, roll.Uninitialized, nil, nil, nil, absent, true},
		"it waits for something else":                {"PLEG is not healthy", roll.NotReady, nil, nil, nil, unknown, false},
		"another node is Ready":                      {awaits, roll.NotReady, node(func(*roll.Node) {}), nil, nil, known, false},
		"another node is Ready, and no pod is there": {awaits, roll.NotReady, node(func(*roll.Node) {}), nil, func(a *account) { delete(a.api.objects, "/api/v1/namespaces/kube-system/pods/cilium-"+nodeName(1)) }, known, true},
		"another node is not":                        {awaits, roll.NotReady, node(func(n *roll.Node) { n.Ready.Status = roll.ConditionFalse }), nil, nil, absent, true},
		"Auto Mode's is Ready":                       {awaits, roll.NotReady, node(func(n *roll.Node) { n.Owner = roll.OwnerAutoMode }), nil, nil, absent, true},
		"Fargate's is Ready":                         {awaits, roll.NotReady, node(func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeFargate, "" }), nil, nil, absent, true},
		"a simulated node is Ready":                  {awaits, roll.NotReady, node(func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeOther, "" }), nil, nil, absent, true},
		"a hybrid node is Ready":                     {awaits, roll.NotReady, node(func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeHybrid, "" }), nil, nil, absent, true},
		"not all nodes were read": {awaits, roll.NotReady, nil, func(s *roll.Snapshot) {
			s.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapFailed, Detail: "410"}}
		}, nil, unknown, false},
		"one instance is looked at":        {awaits, roll.NotReady, nil, func(s *roll.Snapshot) { s.Target = instanceID(1) }, nil, unknown, false},
		"it is silent":                     {awaits, roll.Unknown, nil, nil, nil, unknown, false},
		"it starts with a taint":           {"", roll.Uninitialized, nil, nil, tainted("example.com/warming-up"), unknown, true},
		"it worked with that taint":        {"", roll.NotReady, nil, nil, tainted("example.com/warming-up"), unknown, false},
		"it starts with Kubernetes' taint": {"", roll.Uninitialized, nil, nil, tainted("node.kubernetes.io/not-ready"), unknown, false},
		"it starts with Karpenter's taint": {"", roll.Uninitialized, nil, nil, tainted("karpenter.sh/unregistered"), unknown, false},
		"it starts with the cloud's taint": {"", roll.Uninitialized, nil, nil, tainted("node.cloudprovider.kubernetes.io/uninitialized"), unknown, false},
	} {
		a := unnetworked(tt.message)
		if tt.world != nil {
			tt.world(a)
		}
		f := found(1, tt.kind, workers)
		s := seen(f)
		s.Nodes[0].Ready.Status = roll.ConditionFalse
		s.Nodes = append(s.Nodes, tt.others...)
		if tt.change != nil {
			tt.change(s)
		}
		got := a.collector().Collect(t.Context(), Input{Snapshot: s, Findings: []roll.Finding{f}}).Cluster
		expect.That(t, got.DaemonSets.Known() == tt.read && got.Networked.State == tt.networked, "%s: %+v", name, got)
		if tt.read {
			expect.Same(t, got.DaemonSets.Value, []evidence.DaemonSet{kubeProxy}, "%s", name)
		}
	}
}

func TestDaemonSetsThatMayNotBeReadAreAGap(t *testing.T) {
	a := unnetworked(awaits)
	a.api.denied["daemonsets"] = true
	f := found(1, roll.NotReady, workers)
	s := seen(f)
	s.Nodes[0].Ready.Status = roll.ConditionFalse
	got := a.collector().Collect(t.Context(), Input{Snapshot: s, Findings: []roll.Finding{f}}).Cluster.DaemonSets
	expect.That(t, got.State == evidence.Unreadable && got.Gap() != "", "%+v", got)
}
