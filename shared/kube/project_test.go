package kube

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
)

// sound reports what is wrong with a projection of any node whatever.
func sound(t *testing.T, n *corev1.Node, got roll.Node) {
	t.Helper()
	switch {
	case got.Name != n.Name,
		(got.Instance != "") != (got.Compute == roll.ComputeEC2),
		got.Owner == "" || got.Group == "",
		got.Ready.Status != roll.ConditionTrue && got.Ready.Status != roll.ConditionFalse && got.Ready.Status != roll.ConditionUnknown,
		got.Deleting != (n.DeletionTimestamp != nil):
		t.Fatalf("%+v\nof %+v", got, n)
	}
	if got.Instance != "" {
		if _, ok := roll.ParseInstanceID(string(got.Instance)); !ok {
			t.Fatalf("%q is no instance id", got.Instance)
		}
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

func TestAnyNodeCanBeCutDown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := new(projector)
	for range 20_000 {
		n := randomNode(r)
		sound(t, n, p.node(n))
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

// What the server sends need not be what a node should be.
func FuzzAnyBytesThatDecodeToANode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 32 {
		data, err := randomNode(r).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var n corev1.Node
		if err := n.Unmarshal(data); err != nil {
			t.Skip()
		}
		sound(t, &n, new(projector).node(&n))
	})
}
