package sim

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/tests/harness/expect"
)

func (n *node) tainted(key string) bool {
	return slices.ContainsFunc(n.object().Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func (n *node) condition(what corev1.NodeConditionType) corev1.ConditionStatus {
	return conditionOf(n.conditions, what).Status
}

// settled returns a machine of a shop in which everything has been healthy for an hour.
func settled(t *testing.T) (*account, *machine) {
	t.Helper()
	a, c := settledShop(t)
	return a, c.group("batch").members[0]
}

// settledShop returns a shop in which everything has been healthy for an hour.
func settledShop(t *testing.T) (*account, *cluster) {
	t.Helper()
	a, c := untended(t)
	a.pass(time.Hour)
	return a, c
}

func TestAMachineBootsRegistersAndIsReady(t *testing.T) {
	for _, group := range []string{"general", "system", "batch"} {
		a, c := untended(t)
		g := c.group(group)
		g.template.taints = []string{"ebs.csi.aws.com/agent-not-ready:NoExecute"}
		m := g.add()
		expect.That(t, m.state == pending && m.node == nil, "%s: launched as %s", group, m.state)
		a.pass(14 * time.Second)
		expect.That(t, m.state == running && m.node == nil, "%s: then %s with node %v", group, m.state, m.node)
		for m.node == nil && a.Now().Before(m.launched.Add(2*time.Minute)) {
			a.pass(time.Second)
		}
		n := m.node
		if n == nil || n.ready().Status != corev1.ConditionFalse || !n.tainted("ebs.csi.aws.com/agent-not-ready") || n.tainted("karpenter.sh/unregistered") != (g.owner == karpenter) {
			t.Fatalf("%s: registers as %+v", group, n)
		}
		if a.pass(2 * time.Minute); n.ready().Status != corev1.ConditionTrue || len(n.taints) != 0 || len(n.pods) < 3 {
			t.Errorf("%s: is %+v", group, n)
		}
		expect.That(t, wellNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: n.shownLabels()}, Spec: corev1.NodeSpec{Taints: n.taints}, Status: corev1.NodeStatus{Conditions: n.conditions}}), "%s: does not count as well: %+v", group, n)
	}
}

func TestWhatNeverGetsReadyKeepsItsTaint(t *testing.T) {
	a, c := untended(t)
	g := c.group("batch")
	g.template.taints, g.unlucky, g.ill = []string{"node.cilium.io/agent-not-ready=true:NoSchedule"}, 1, neverReady
	g.grow(1)
	a.pass(time.Hour)
	m := g.members[len(g.members)-1]
	expect.That(t, m.node != nil && m.node.ready().Status == corev1.ConditionTrue && m.node.tainted("node.cilium.io/agent-not-ready"), "%+v", m.node)
	m.cure()
	a.pass(2 * time.Minute)
	expect.That(t, len(m.node.taints) == 0, "well, with taints %v", m.node.taints)
}

// The control plane notices after its grace period that a kubelet is silent. It removes the taints when
// the kubelet reports again.
func TestASilentKubelet(t *testing.T) {
	a, m := settled(t)
	m.fall(silent, false, false)
	a.pass(graceful - time.Second)
	expect.That(t, m.node.ready().Status == corev1.ConditionTrue, "it is noticed at once")
	a.pass(12 * time.Second)
	expect.That(t, m.node.ready().Status == corev1.ConditionUnknown && m.node.condition(corev1.NodeMemoryPressure) == corev1.ConditionUnknown && m.node.tainted("node.kubernetes.io/unreachable"), "%+v", m.node)
	m.fall(notReady, false, false)
	expect.That(t, m.ail == silent, "what is ill falls ill of %s too", m.ail)
	m.cure()
	a.pass(time.Minute)
	expect.That(t, m.node.ready().Status == corev1.ConditionTrue && !m.node.tainted("node.kubernetes.io/unreachable") && m.reporting, "well, as %+v", m.node)
}

// A silence that is over before the control plane notices leaves no trace.
func TestAShortSilenceIsNotNoticed(t *testing.T) {
	a, m := settled(t)
	before := m.node.ready().LastTransitionTime
	m.mute(true)
	a.in(10*time.Second, func() { m.muted = false; m.join() })
	a.pass(5 * time.Minute)
	expect.That(t, m.node.ready().LastTransitionTime == before && len(m.node.taints) == 0, "%+v", m.node)
}

// A reboot cures what it may cure, and nothing else.
func TestWhatARebootCures(t *testing.T) {
	for name, tt := range map[string]struct {
		ail    ailment
		cures  bool
		status corev1.ConditionStatus
	}{
		"silent, and a reboot helps":    {silent, true, corev1.ConditionTrue},
		"silent":                        {silent, false, corev1.ConditionUnknown},
		"impaired":                      {impaired, false, corev1.ConditionUnknown},
		"not ready, and a reboot helps": {notReady, true, corev1.ConditionTrue},
		"not ready":                     {notReady, false, corev1.ConditionFalse},
	} {
		a, c := settledShop(t)
		g := c.group("batch")
		g.suspended = true // otherwise an impaired machine is replaced
		m := g.members[0]
		m.fall(tt.ail, false, tt.cures)
		a.pass(2 * time.Minute)
		boot := m.node.bootID
		m.reboot()
		expect.That(t, m.booting && !m.reporting, "%s: it is not down", name)
		a.pass(5 * time.Minute)
		if m.node.ready().Status != tt.status || m.ail == well != tt.cures || m.node.bootID == boot {
			t.Errorf("%s: %s, and its node %s", name, m.ail, m.node.ready().Status)
		}
	}
}

func TestAMachineThatRunsShortOfMemory(t *testing.T) {
	a, m := settled(t)
	m.starve(10*time.Minute, true)
	expect.That(t, m.node.condition(corev1.NodeMemoryPressure) == corev1.ConditionTrue && m.node.ready().Status == corev1.ConditionTrue, "%+v", m.node.conditions)
	a.pass(12 * time.Minute)
	expect.That(t, m.ail == silent && m.node.condition(corev1.NodeMemoryPressure) == corev1.ConditionUnknown, "%s: %+v", m.ail, m.node.conditions)
	m.reboot()
	a.pass(5 * time.Minute)
	expect.That(t, m.ail == well && m.node.condition(corev1.NodeMemoryPressure) == corev1.ConditionFalse && m.node.ready().Status == corev1.ConditionTrue, "%s: %+v", m.ail, m.node.conditions)
}

// What used its memory is gone when it starts again.
func TestAMachineThatIsStoppedWhileItIsShortOfMemory(t *testing.T) {
	a, c := settledShop(t)
	g := c.group("batch")
	g.suspended = true
	m := g.members[0]
	m.starve(10*time.Minute, false)
	m.stop(false)
	a.pass(20 * time.Minute)
	m.restart()
	a.pass(10 * time.Minute)
	expect.That(t, m.ail == well && m.node.condition(corev1.NodeMemoryPressure) == corev1.ConditionFalse && m.node.ready().Status == corev1.ConditionTrue, "%s: %+v", m.ail, m.node.conditions)
}

func TestAMachineThatIsShortOfMemoryAndWorks(t *testing.T) {
	a, m := settled(t)
	m.fall(short, false, false)
	a.pass(2 * time.Hour)
	expect.That(t, m.ail == short && m.node.condition(corev1.NodeMemoryPressure) == corev1.ConditionTrue && m.node.ready().Status == corev1.ConditionTrue, "%s: %+v", m.ail, m.node.conditions)
	m.cure()
	a.pass(time.Minute)
	expect.That(t, m.node.condition(corev1.NodeMemoryPressure) == corev1.ConditionFalse && m.node.ready().Status == corev1.ConditionTrue, "%+v", m.node.conditions)
}

// The monitoring agent's condition is independent of Ready.
func TestAPartThatFailed(t *testing.T) {
	a, m := settled(t)
	m.fall(failedPart, false, false)
	expect.That(t, m.node.condition("KernelReady") == corev1.ConditionFalse && m.node.ready().Status == corev1.ConditionTrue, "%+v", m.node.conditions)
	m.cure()
	a.pass(time.Minute)
	expect.That(t, m.node.condition("KernelReady") == corev1.ConditionTrue, "%+v", m.node.conditions)
}

func TestAFlappingKubeletComesAndGoes(t *testing.T) {
	a, m := settled(t)
	states := map[string]int{}
	tell := a.tell
	a.tell = func(e Event) {
		if e.Kind == EventState && e.Instance == m.id {
			states[e.Stage]++
		}
		tell(e)
	}
	m.fall(flapping, false, false)
	a.pass(time.Hour)
	expect.That(t, states[StateReady] >= 4 && states[StateUnknown] >= 4, "in an hour %v", states)
	m.cure()
	a.pass(10 * time.Minute)
	states = map[string]int{}
	a.pass(time.Hour)
	expect.That(t, len(states) == 0 && m.node.ready().Status == corev1.ConditionTrue, "well, and in an hour %v", states)
}

// Machines without a network fall silent, and recover with it. New ones register when there is a network
// again.
func TestAZoneWithoutANetwork(t *testing.T) {
	a, c := settledShop(t)
	zone := zones[0]
	a.zoneNetwork(zone, true)
	m := c.group("batch").launch(zone)
	a.pass(20 * time.Minute)
	expect.That(t, m.state == running && m.node == nil, "a new one is %s with node %v", m.state, m.node)
	for _, n := range c.nodes {
		silent := n.ready().Status == corev1.ConditionUnknown
		expect.That(t, silent == (n.machine.zone == zone), "%s in %s is %s", n.name, n.machine.zone, n.ready().Status)
	}
	a.zoneNetwork(zone, false)
	a.pass(5 * time.Minute)
	for _, n := range c.nodes {
		expect.Equal(t, n.ready().Status, corev1.ConditionTrue, "%s in %s is still", n.name, n.machine.zone)
	}
	expect.That(t, m.node != nil, "the new one does not register")
}

// The Node is deleted after its machine, unless what deletes it is broken. Then it is deleted when that
// is fixed, even if EC2 has forgotten the machine.
func TestTheNodeOfWhatIsGone(t *testing.T) {
	for name, ghosts := range map[string]bool{"it goes": false, "it stays": true} {
		a, c := settledShop(t)
		c.ghosts = ghosts
		m := c.group("batch").members[0]
		n := m.node
		m.end("a person")
		expect.That(t, m.state == shuttingDown && slices.Contains(c.nodes, n), "%s: it is %s at once", name, m.state)
		a.pass(2 * time.Minute)
		expect.That(t, m.state == terminated && slices.Contains(c.nodes, n) == ghosts, "%s: it is %s, its node there: %t", name, m.state, slices.Contains(c.nodes, n))
		if !ghosts {
			continue
		}
		a.pass(2 * time.Hour)
		expect.That(t, a.machines[m.id] == nil && n.ready().Status == corev1.ConditionUnknown, "%s: the node is %s", name, n.ready().Status)
		a.relent(Fault{ID: 1, Kind: FaultGhosts})
		expect.That(t, !slices.Contains(c.nodes, n), "%s: for ever", name)
	}
}

// A fault affects as many machines as it says: healthy ones that have a node and match its target. It
// affects the same ones each time.
func TestWhomAFaultMeets(t *testing.T) {
	a, c := settledShop(t)
	c.group("general").members[0].fall(silent, false, false)
	c.group("general").members[1].mute(true)
	for name, tt := range map[string]struct {
		f    Fault
		want int
	}{
		"one":                 {Fault{ID: 1, Count: 1}, 1},
		"more than there are": {Fault{ID: 1, Count: 100}, 5},
		"of a group":          {Fault{ID: 2, Count: 100, Group: "general"}, 1},
		"of no such group":    {Fault{ID: 2, Count: 100, Group: "other"}, 0},
		"of no such cluster":  {Fault{ID: 2, Count: 100, Cluster: "other"}, 0},
		"none":                {Fault{ID: 3}, 0},
	} {
		got, again := a.victims(tt.f), a.victims(tt.f)
		expect.That(t, len(got) == tt.want && slices.Equal(got, again), "%s: meets %d, and then %d", name, len(got), len(again))
		for _, m := range got {
			if m.ail != well || m.muted || m.node == nil || tt.f.Group != "" && m.g.name != tt.f.Group {
				t.Errorf("%s: meets %+v", name, m)
			}
		}
	}
}
