package kube

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// sound returns what is wrong with the projection of any node.
func sound(t *testing.T, n *corev1.Node, got roll.Node) {
	t.Helper()
	switch {
	case got.Name != n.Name,
		(got.Instance != "") != (got.Compute == roll.ComputeEC2),
		got.Owner == "" || got.Group == "",
		got.Ready.Status != roll.ConditionTrue && got.Ready.Status != roll.ConditionFalse && got.Ready.Status != roll.ConditionUnknown,
		got.UID != string(n.UID),
		got.Unschedulable != n.Spec.Unschedulable,
		got.CordonedBy != n.Annotations[roll.AnnotationCordoned],
		got.DoNotRepair != (n.Annotations[roll.AnnotationDoNotRepair] == "true"),
		got.StartupTaint != "" && len(n.Spec.Taints) == 0,
		got.Shutdown && len(n.Spec.Taints) == 0,
		got.DeletedAt.IsZero() != n.DeletionTimestamp.IsZero():
		t.Fatalf("%+v\nof %+v", got, n)
	}
	if got.Instance != "" {
		_, ok := roll.ParseInstanceID(string(got.Instance))
		must.That(t, ok, "%q is no instance id", got.Instance)
	}
	for _, c := range got.Conditions {
		must.That(t, c.Type != "Ready", "Ready is kept twice: %+v", got)
	}
	if got.Ready.Status == roll.ConditionTrue {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return
			}
		}
		t.Fatalf("called ready without a condition that says so: %+v", n)
	}
}

func TestKeepsTheConditionsThatMatter(t *testing.T) {
	turned := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	n := &corev1.Node{}
	for _, c := range [][2]string{
		{"Ready", "True"}, {"MemoryPressure", "True"}, {"DiskPressure", "False"}, {"PIDPressure", "Unknown"},
		{"KernelReady", "False"}, {"StorageReady", "True"}, {"NetworkingReady", "Unknown"}, {"Odd", "perhaps"}, {"Unheeded", "False"},
	} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(c[0]), Status: corev1.ConditionStatus(c[1]), Reason: c[0] + "Reason", Message: "long", LastTransitionTime: metav1.NewTime(turned),
		})
	}
	kept := func(status roll.ConditionStatus, kind string) roll.TypedCondition {
		return roll.TypedCondition{Type: kind, Condition: roll.Condition{Status: status, Since: turned, Reason: kind + "Reason"}}
	}
	watch := roll.Watch{Conditions: map[roll.ConditionKey]bool{
		{Type: "KernelReady", Status: roll.ConditionFalse}: true, {Type: "StorageReady", Status: roll.ConditionFalse}: true,
		{Type: "NetworkingReady", Status: roll.ConditionUnknown}: true, {Type: "Odd", Status: roll.ConditionUnknown}: true,
		{Type: "DiskPressure", Status: roll.ConditionTrue}: true,
	}}
	for name, tt := range map[string]struct {
		watch roll.Watch
		want  []roll.TypedCondition
	}{
		"without a policy": {roll.Watch{}, []roll.TypedCondition{kept(roll.ConditionTrue, "MemoryPressure")}},
		"with one": {watch, []roll.TypedCondition{
			kept(roll.ConditionTrue, "MemoryPressure"), kept(roll.ConditionFalse, "KernelReady"), kept(roll.ConditionUnknown, "NetworkingReady"), kept(roll.ConditionUnknown, "Odd"),
		}},
	} {
		expect.Same(t, (&projector{watch: tt.watch}).node(nodeOf(n)).Conditions, tt.want, "%s", name)
	}
}

// Each pressure has a time of its own; the first of them counts.
func TestSinceWhenTheKubeletHasReported(t *testing.T) {
	turned := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		ready      string
		conditions map[string]string
		want       time.Time
	}{
		"a pressure came later":   {"False", map[string]string{"MemoryPressure": "True", "DiskPressure": "False", "PIDPressure": "False"}, turned},
		"of a Ready node":         {"True", map[string]string{"DiskPressure": "False"}, time.Time{}},
		"of a silent node":        {"Unknown", map[string]string{"DiskPressure": "Unknown"}, time.Time{}},
		"one is still Unknown":    {"False", map[string]string{"DiskPressure": "False", "PIDPressure": "Unknown"}, time.Time{}},
		"no kubelet writes these": {"False", map[string]string{"KernelReady": "False"}, time.Time{}},
	} {
		n := &corev1.Node{}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionStatus(tt.ready), LastTransitionTime: metav1.NewTime(turned.Add(time.Hour))}}
		for kind, status := range tt.conditions {
			at := turned
			if status == "True" {
				at = turned.Add(time.Minute)
			}
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), LastTransitionTime: metav1.NewTime(at)})
		}
		got := (&projector{}).node(nodeOf(n)).Reporting
		expect.That(t, got.Equal(tt.want), "%s: %s, want %s", name, got, tt.want)
	}
}

func TestTellsTheFirstStartupTaint(t *testing.T) {
	own := roll.Watch{Taints: []string{"example.com/warming"}}
	tests := map[string]struct {
		watch  roll.Watch
		taints []corev1.Taint
		want   string
	}{
		"none":                 {own, nil, ""},
		"one that stays":       {own, []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}, ""},
		"one that all know":    {roll.Watch{}, []corev1.Taint{{Key: "dedicated"}, {Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}}, "node.cilium.io/agent-not-ready:NoExecute"},
		"the S3 driver's":      {roll.Watch{}, []corev1.Taint{{Key: "s3.csi.aws.com/agent-not-ready", Effect: corev1.TaintEffectNoExecute}}, "s3.csi.aws.com/agent-not-ready:NoExecute"},
		"Cluster Autoscaler's": {roll.Watch{}, []corev1.Taint{{Key: "startup-taint.cluster-autoscaler.kubernetes.io/gpu", Effect: corev1.TaintEffectNoSchedule}}, "startup-taint.cluster-autoscaler.kubernetes.io/gpu:NoSchedule"},
		"Cilium's for Cluster Autoscaler": {
			roll.Watch{}, []corev1.Taint{{Key: "ignore-taint.cluster-autoscaler.kubernetes.io/cilium-agent-not-ready", Effect: corev1.TaintEffectNoExecute}},
			"ignore-taint.cluster-autoscaler.kubernetes.io/cilium-agent-not-ready:NoExecute",
		},
		"one of a scale-down":      {roll.Watch{}, []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}, {Key: "ignore-taint.cluster-autoscaler.kubernetes.io/x"}}, ""},
		"one that the policy says": {own, []corev1.Taint{{Key: "example.com/warming", Effect: corev1.TaintEffectNoSchedule}}, "example.com/warming:NoSchedule"},
		"the policy does not say":  {roll.Watch{}, []corev1.Taint{{Key: "example.com/warming"}}, ""},
		"two":                      {own, []corev1.Taint{{Key: "ebs.csi.aws.com/agent-not-ready", Effect: "NoExecute"}, {Key: "example.com/warming", Effect: "NoSchedule"}}, "ebs.csi.aws.com/agent-not-ready:NoExecute"},
	}
	for name, tt := range tests {
		n := &corev1.Node{Spec: corev1.NodeSpec{Taints: tt.taints}}
		expect.Equal(t, (&projector{watch: tt.watch}).node(nodeOf(n)).StartupTaint, tt.want, "%s", name)
	}
}

func TestTellsThatItsMachineIsShutDown(t *testing.T) {
	for key, want := range map[string]bool{"node.cloudprovider.kubernetes.io/shutdown": true, "node.kubernetes.io/unreachable": false} {
		n := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dedicated"}, {Key: key, Effect: corev1.TaintEffectNoSchedule}}}}
		expect.Equal(t, (&projector{}).node(nodeOf(n)).Shutdown, want, "with the taint %s", key)
	}
}

func TestAnyNodeCanBeCutDown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := &projector{watch: roll.Watch{Conditions: map[roll.ConditionKey]bool{{Type: "", Status: roll.ConditionUnknown}: true, {Type: "Ready", Status: roll.ConditionTrue}: true}, Taints: []string{""}}}
	for range 20_000 {
		n := randomNode(r)
		sound(t, n, p.node(nodeOf(n)))
	}
}

func randomNode(r *rand.Rand) *corev1.Node {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pick("", "ip-10-0-0-1.eu-west-1.compute.internal", "n\x00\xff", "名前")}}
	if r.IntN(4) > 0 {
		n.CreationTimestamp = metav1.NewTime(time.Unix(r.Int64N(4e9), 0))
	}
	if r.IntN(4) == 0 {
		n.DeletionTimestamp = &metav1.Time{}
	}
	if r.IntN(2) == 0 {
		n.UID, n.Spec.Unschedulable, n.Status.NodeInfo.BootID = "uid", true, "boot"
		n.Annotations = map[string]string{pick("rollcall/cordoned", ""): pick("", "order")}
	}
	for range r.IntN(3) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: pick("", "readiness.k8s.io/x", "dedicated", "\xff"), Effect: corev1.TaintEffect(pick("", "NoSchedule"))})
	}
	n.Spec.ProviderID = pick("", "aws://", "aws:///", "aws:///eu-west-1a/", "aws:///eu-west-1a/i-0123456789abcdef0", "aws:///eu-west-1a/i-0123abcd", "aws:////i-0123abcdE",
		"aws:///eu-west-1a/fargate-", "eks-hybrid://", "gce://x/y", "i-0123456789abcdef0", "aws:///\xff/i-\xff")
	for range r.IntN(5) {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[pick("eks.amazonaws.com/nodegroup", "eks.amazonaws.com/compute-type", "karpenter.sh/nodepool", "topology.kubernetes.io/zone", "", "x")] = pick("", "auto", "fargate", "hybrid", "ec2", "a/b", "\xff")
	}
	for range r.IntN(4) {
		c := corev1.NodeCondition{
			Type: corev1.NodeConditionType(pick("Ready", "ready", "", "MemoryPressure")), Status: corev1.ConditionStatus(pick("True", "False", "Unknown", "", "true")), Reason: pick("", "KubeletReady", "\xff"),
		}
		if r.IntN(2) == 0 {
			c.LastTransitionTime = metav1.NewTime(time.Unix(r.Int64N(4e9), 0))
		}
		n.Status.Conditions = append(n.Status.Conditions, c)
	}
	return n
}

// The server may send an invalid node.
func FuzzAnyBytesThatDecodeToANode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 32 {
		data, err := randomNode(r).Marshal()
		must.Succeed(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var n corev1.Node
		if err := n.Unmarshal(data); err != nil {
			t.Skip()
		}
		sound(t, &n, new(projector).node(nodeOf(&n)))
	})
}

// A kubelet may write any text there, and it is shown in notices.
func TestAConditionsReasonIsBounded(t *testing.T) {
	n := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: strings.Repeat("ü", 70_000)},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue, Reason: strings.Repeat("x", 140_000)},
	}}}
	got := (&projector{}).node(nodeOf(n))
	r := got.Ready.Reason
	expect.That(t, len(r) <= reasonLength+len("…") && utf8.ValidString(r) && strings.HasSuffix(r, "…"), "Ready: %d bytes", len(r))
	if len(got.Conditions) != 1 || len(got.Conditions[0].Reason) > reasonLength+len("…") {
		t.Errorf("conditions %d, the first reason has %d bytes", len(got.Conditions), len(got.Conditions[0].Reason))
	}
}
