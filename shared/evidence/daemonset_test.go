package evidence

import (
	"testing"

	"rollcall/tests/harness/expect"
)

func TestTolerates(t *testing.T) {
	taint := Taint{Key: "team", Value: "a", Effect: "NoSchedule"}
	for _, tt := range []struct {
		Toleration
		want bool
	}{
		{Toleration{}, false},
		{Toleration{Operator: "Exists"}, true},
		{Toleration{Operator: "Exists", Effect: "NoExecute"}, false},
		{Toleration{Key: "team", Operator: "Exists"}, true},
		{Toleration{Key: "other", Operator: "Exists"}, false},
		{Toleration{Key: "team", Value: "a"}, true},
		{Toleration{Key: "team", Value: "b"}, false},
		{Toleration{Key: "team", Operator: "Equal", Value: "a", Effect: "NoSchedule"}, true},
		{Toleration{Key: "team", Operator: "Gt", Value: "5"}, true}, // not known here
	} {
		expect.Equal(t, tt.Tolerates(taint), tt.want, "%+v", tt.Toleration)
	}
}

func TestWhichNodesADaemonSetSelects(t *testing.T) {
	n := NodeObject{Labels: map[string]string{"os": "linux", "zone": "a"}}
	in := func(key string, values ...string) Requirement {
		return Requirement{Key: key, Operator: "In", Values: values}
	}
	for name, tt := range map[string]struct {
		DaemonSet
		want bool
	}{
		"all":                          {DaemonSet{}, true},
		"by a label":                   {DaemonSet{NodeSelector: map[string]string{"os": "linux"}}, true},
		"by another value":             {DaemonSet{NodeSelector: map[string]string{"os": "windows"}}, false},
		"by a label that is not there": {DaemonSet{NodeSelector: map[string]string{"gpu": ""}}, false},
		"by one of two terms":          {DaemonSet{Affinity: [][]Requirement{{in("zone", "b")}, {in("zone", "a"), in("os", "linux")}}}, true},
		"by no term":                   {DaemonSet{Affinity: [][]Requirement{{in("zone", "b")}, {in("zone", "a"), in("os", "windows")}}}, false},
		"but for what it lacks":        {DaemonSet{Affinity: [][]Requirement{{{Key: "gpu", Operator: "DoesNotExist"}, {Key: "compute", Operator: "NotIn", Values: []string{"fargate"}}}}}, true},
		"for what it lacks":            {DaemonSet{Affinity: [][]Requirement{{{Key: "gpu", Operator: "Exists"}}}}, false},
		"by its name alone":            {DaemonSet{Affinity: [][]Requirement{nil}}, true},
	} {
		expect.Equal(t, tt.Selects(n), tt.want, "%s", name)
	}
}

// The DaemonSet controller adds tolerations of its own.
func TestTaintsThatADaemonSetDoesNotTolerate(t *testing.T) {
	for _, tt := range []struct {
		key, effect string
		host, want  bool
	}{
		{"node.kubernetes.io/not-ready", "NoExecute", false, false},
		{"node.kubernetes.io/not-ready", "NoSchedule", false, true},
		{"node.kubernetes.io/unschedulable", "NoSchedule", false, false},
		{"node.kubernetes.io/disk-pressure", "NoSchedule", false, false},
		{"node.kubernetes.io/network-unavailable", "NoSchedule", false, true},
		{"node.kubernetes.io/network-unavailable", "NoSchedule", true, false},
		{"team", "PreferNoSchedule", false, false},
		{"team", "NoSchedule", true, true},
	} {
		got := DaemonSet{HostNetwork: tt.host}.Untolerated(NodeObject{Taints: []Taint{{Key: tt.key, Effect: tt.effect}}})
		expect.That(t, (len(got) == 1) == tt.want, "%+v: %v", tt, got)
	}
}
