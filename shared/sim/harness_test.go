package sim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/tests/harness/must"
)

// inside runs a body as one invocation of a function, in its own execution environment, and returns when
// it is over. The clock then has advanced by the time that its calls took.
func inside(t *testing.T, a *account, fn functionName, body func(v *env)) {
	t.Helper()
	v := &env{a: a, fn: fn, d: a.d.of(string(fn))}
	over := false
	a.spawn(0, func(p *process) {
		defer func() { over = true; v.inv = nil }() // also if the body fails the test, which ends the goroutine
		v.inv = &invocation{process: p, v: v, d: v.d.nth(int(a.now)), name: string(fn) + "#test"}
		body(v)
	})
	for end := a.Now().Add(24 * time.Hour); !over; {
		must.That(t, !a.Now().After(end), "the invocation does not end")
		a.until(a.Now().Add(time.Second))
	}
	if t.Failed() {
		t.FailNow()
	}
}

// handmade returns a cluster in which nothing is launched: tests add its machines.
func handmade(t *testing.T, groups ...GroupSpec) *cluster {
	t.Helper()
	a, err := newAccount(Scenario{Seed: 1, Start: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), Permitted: "remediate", Sweep: 5 * time.Minute, Quiet: true}, Watch{})
	must.Succeed(t, err)
	t.Cleanup(a.shutdown)
	return a.newCluster(ClusterSpec{Name: "demo", Groups: groups})
}

// remediating is the shortest policy that allows acts.
const remediating = "apiVersion: rollcall/v1\nmode: remediate\n"

// worker returns the only machine of a handmade cluster, in an Auto Scaling group. The policy allows acts.
func worker(t *testing.T) (*cluster, *machine) {
	t.Helper()
	c := handmade(t, GroupSpec{Name: "workers", Owner: "autoscaling-group", Type: "m5.large"})
	c.a.dep.policy = remediating
	return c, up(c.groups[0], "node-1")
}

// up adds a machine to the group that has been up for an hour, with its Ready node and the objects that
// its owner keeps of it.
func up(g *group, name string) *machine {
	c := g.c
	then := c.stamp().Add(-time.Hour)
	d := g.d.of(name)
	m := &machine{
		c: c, g: g, d: d, id: "i-0" + shortID(d, 16), dnsName: name, address: "10.0.0.4", zone: zones[0], launched: then, template: g.template,
		state: running, boots: 1, reporting: true,
	}
	n := &node{
		c: c, name: name, uid: uid(d.of("node")), created: then.Add(time.Minute), machine: m, works: true, bootID: uid(d.of("boot")), annotations: map[string]string{},
		labels: map[string]string{"kubernetes.io/arch": g.kind.Arch, "topology.kubernetes.io/zone": m.zone},
		conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", LastTransitionTime: metav1.NewTime(then)},
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.NewTime(then.Add(2 * time.Minute))},
		},
	}
	m.node = n
	c.a.machines[m.id] = m
	c.machines, g.members = append(c.machines, m), append(g.members, m)
	c.addNode(n)
	switch g.owner {
	case karpenter:
		n.labels["karpenter.sh/nodepool"], n.labels["karpenter.sh/registered"], n.initialized = g.name, "true", true
		m.claim = &claim{g: g, name: g.name + "-" + name, uid: uid(d.of("claim")), created: then, launched: then, registered: n.created, initialized: n.created, machine: m}
		c.claims = append(c.claims, m.claim)
		m.claim.version = c.changed()
	case nodeGroup:
		n.labels["eks.amazonaws.com/nodegroup"] = g.name
	}
	n.version = c.changed()
	return m
}

// serves makes the machine serve from a pod that must not be terminated, for that reason.
func (m *machine) serves(why string) {
	m.serving = true
	m.keeps(why)
}
