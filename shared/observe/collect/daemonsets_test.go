package collect

import (
	"slices"
	"testing"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
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
	a.api.put("/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy", thing{"spec": thing{"template": thing{"spec": thing{
		"volumes": []any{thing{"name": "modules", "hostPath": thing{"path": "/lib/modules"}}, thing{"name": "config", "configMap": thing{"name": "kube-proxy"}}},
	}}}})
	return a
}

func TestDaemonSetsAreReadWhereNoNodeHasANetworkPlugin(t *testing.T) {
	node := func(change func(*roll.Node)) roll.Node {
		n := roll.Node{Name: "other", Compute: roll.ComputeEC2, Instance: instanceID(9), Ready: roll.Condition{Status: roll.ConditionTrue}}
		change(&n)
		return n
	}
	for name, tt := range map[string]struct {
		message string
		kind    roll.Kind
		others  []roll.Node
		change  func(*roll.Snapshot)
		read    bool
	}{
		"no other node":               {awaits, roll.NotReady, nil, nil, true},
		"it was never ready":          {awaits, roll.Uninitialized, nil, nil, true},
		"it waits for something else": {"PLEG is not healthy", roll.NotReady, nil, nil, false},
		"another node is Ready":       {awaits, roll.NotReady, []roll.Node{node(func(*roll.Node) {})}, nil, false},
		"another node is not":         {awaits, roll.NotReady, []roll.Node{node(func(n *roll.Node) { n.Ready.Status = roll.ConditionFalse })}, nil, true},
		"Auto Mode's is Ready":        {awaits, roll.NotReady, []roll.Node{node(func(n *roll.Node) { n.Owner = roll.OwnerAutoMode })}, nil, true},
		"Fargate's is Ready":          {awaits, roll.NotReady, []roll.Node{node(func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeFargate, "" })}, nil, true},
		"a hybrid node is Ready":      {awaits, roll.NotReady, []roll.Node{node(func(n *roll.Node) { n.Compute, n.Instance = roll.ComputeHybrid, "" })}, nil, true},
		"not all nodes were read": {awaits, roll.NotReady, nil, func(s *roll.Snapshot) {
			s.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapFailed, Detail: "410"}}
		}, false},
		"one instance is looked at": {awaits, roll.NotReady, nil, func(s *roll.Snapshot) { s.Target = instanceID(1) }, false},
		"it is silent":              {awaits, roll.Unknown, nil, nil, false},
	} {
		a := unnetworked(tt.message)
		f := found(1, tt.kind, workers)
		s := seen(f)
		s.Nodes[0].Ready.Status = roll.ConditionFalse
		s.Nodes = append(s.Nodes, tt.others...)
		if tt.change != nil {
			tt.change(s)
		}
		got := a.collector().Collect(t.Context(), Input{Snapshot: s, Findings: []roll.Finding{f}}).Cluster.DaemonSets
		if got.Known() != tt.read {
			t.Errorf("%s: %+v", name, got)
		}
		if tt.read && (len(got.Value) != 1 || got.Value[0].Name != "kube-proxy" || !slices.Equal(got.Value[0].HostPaths, []string{"/lib/modules"})) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDaemonSetsThatMayNotBeReadAreAGap(t *testing.T) {
	a := unnetworked(awaits)
	a.api.denied["daemonsets"] = true
	f := found(1, roll.NotReady, workers)
	s := seen(f)
	s.Nodes[0].Ready.Status = roll.ConditionFalse
	if got := a.collector().Collect(t.Context(), Input{Snapshot: s, Findings: []roll.Finding{f}}).Cluster.DaemonSets; got.State != evidence.Unreadable || got.Gap() == "" {
		t.Errorf("%+v", got)
	}
}
