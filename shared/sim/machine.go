package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const graceful = 40 * time.Second // the node monitor's grace period, after which Ready is Unknown

// The range of a wrong clock with which a kubelet still gets in. It signs its requests with it, and the authenticator
// of EKS accepts them for 15 minutes, STS from 5 minutes before their time.
// https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/token/token.go
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
const (
	clockSlowest = -14 * time.Minute
	clockFastest = 4 * time.Minute
)

func (g *group) launch(zone string) *machine {
	c, a := g.c, g.c.a
	d := g.d.of("machine").nth(g.launches)
	g.launches++
	address := fmt.Sprintf("10.%d.%d.%d", 10+c.index(), d.of("third").below(250), d.of("fourth").below(250)+4)
	m := &machine{
		c: c, g: g, d: d, id: "i-0" + shortID(d, 16), zone: zone, launched: a.Now().Truncate(time.Second), template: g.template, state: pending,
		address: address, dnsName: fmt.Sprintf("ip-%s-%s.%s.compute.internal", strings.ReplaceAll(address, ".", "-"), shortID(d.of("name"), 4), region),
		muted: a.silenced[zone],
	}
	if m.muted {
		m.mutedAt = a.Now()
	}
	if g.stray {
		m.elsewhere = g.name
	}
	if d := d.of("clock"); a.sc.Clocks && d.chance(0.2) {
		m.clock = d.of("off").between(clockSlowest, clockFastest).Truncate(time.Second)
	}
	g.inherit(m)
	m.ail, m.stays = g.template.breaks, g.template.breaks != well
	if m.ail == well && g.unlucky > 0 {
		g.unlucky--
		m.ail, m.stays = g.ill, false
		if m.ail == neverReady && len(m.template.taints) == 0 {
			m.ail = neverJoins // its startup taint would be gone by now, so it cannot be kept
		}
	}
	if g.unread != "" && (m.stays || g.stray) && !slices.ContainsFunc(g.members, func(o *machine) bool { return o.unread != "" }) {
		m.unread = g.unread
	}
	m.tags = g.tags(m.template)
	if m.ail != well {
		m.since = m.launched
	}
	g.members = append(g.members, m)
	g.launched, c.machines = m.launched, append(c.machines, m)
	a.machines[m.id] = m
	m.touch()
	if a.founding {
		return m
	}
	a.stateChanged(m)
	m.tell(EventLaunch, "launched by "+string(g.owner))
	m.becomes(running, d.of("pending").between(4*time.Second, 12*time.Second), m.boot)
	return m
}

// becomes changes the machine's state after a while, and continues, if it is still in its present one.
func (m *machine) becomes(next machineState, after time.Duration, then func()) {
	a, present := m.c.a, m.state
	a.in(after, func() {
		if m.state != present {
			return
		}
		m.state = next
		m.touch()
		a.stateChanged(m)
		then()
	})
}

// tags returns the tags that the owner writes at launch. All machines of one version share them.
func (g *group) tags(t template) []tag {
	if g.tagged.tags == nil || g.tagged.version != t.version {
		tags := g.launchTags(t)
		g.tagged = launchTags{version: t.version, tags: tags, shown: tagsOf(tags)}
	}
	return g.tagged.tags
}

// owns is the tag that shows that an instance belongs to the cluster.
func (c *cluster) owns() tag { return tag{"kubernetes.io/cluster/" + c.name, "owned"} }

func (g *group) launchTags(t template) []tag {
	if g.launchedWith != nil {
		return g.launchedWith
	}
	c := g.c
	out := []tag{c.owns(), {"Name", c.name + "-" + g.name}}
	switch g.owner {
	case karpenter:
		out = append(out, tag{"karpenter.sh/nodepool", g.name}, tag{"eks:eks-cluster-name", c.name}, tag{"karpenter.k8s.aws/ec2nodeclass", g.name})
	case nodeGroup:
		out = append(out, tag{"eks:cluster-name", c.name}, tag{"eks:nodegroup-name", g.name}, tag{"aws:autoscaling:groupName", g.asgName()},
			tag{"aws:ec2launchtemplate:id", t.id}, tag{"aws:ec2launchtemplate:version", fmt.Sprint(t.version)})
	case autoScaling:
		out = append(out, tag{"aws:autoscaling:groupName", g.asgName()}, tag{"alpha.eksctl.io/cluster-name", c.name},
			tag{"aws:ec2launchtemplate:id", t.id}, tag{"aws:ec2launchtemplate:version", fmt.Sprint(t.version)})
	}
	return out
}

func (c *cluster) index() int { return slices.Index(c.a.clusters, c) }

func (m *machine) boot() {
	m.boots++
	takes := m.g.kind.Boots / 3
	if m.g.beside == besideWindows {
		takes = m.g.kind.Boots // in two stages, on every boot
	}
	m.booted(takes+m.d.of("boot").nth(m.boots).between(15*time.Second, 45*time.Second), func() {
		if m.ail != neverJoins {
			m.join()
		}
	})
}

// booted lets the machine boot for a while, and continues if nothing stopped or rebooted it by then.
func (m *machine) booted(takes time.Duration, then func()) {
	boot := m.boots
	m.booting, m.bootedAt = true, m.c.a.Now()
	m.c.a.in(takes, func() {
		if m.state == running && m.boots == boot {
			m.booting = false
			then()
		}
	})
}

// join starts the kubelet, once there is a network: it registers a Node, or reuses its own.
func (m *machine) join() {
	if m.state != running || m.booting || m.muted || m.kubeletDown() {
		return
	}
	if m.node != nil {
		m.report()
	} else if m.c.exists() {
		m.register()
	}
}

// kubeletDown reports whether the machine's own fault keeps its kubelet from reporting.
func (m *machine) kubeletDown() bool {
	return m.ail == silent || m.ail == impaired || m.ail == neverJoins || m.elsewhere != "" || m.dormant != ""
}

// kind returns what the machine was launched as, even if its group now launches another kind.
func (m *machine) kind() machineKind {
	if m.shown == nil {
		return m.g.kind
	}
	return kindOf(string(m.shown.InstanceType))
}

func (m *machine) register() {
	if m.restore() || m.takesOver() {
		return
	}
	c, g, kind := m.c, m.g, m.kind()
	name, bare := g.unname(m)
	n := &node{
		c: c, name: name, bare: bare, uid: uid(m.d.of("node").nth(m.boots + 1000*m.remade)), created: c.stamp(), machine: m, bootID: uid(m.d.of("bootid").nth(m.boots)),
		labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/arch": kind.Arch, "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": kind.Type,
			"topology.kubernetes.io/zone": m.zone, "topology.k8s.aws/zone-id": zoneID(m.zone),
		},
		annotations: map[string]string{},
	}
	switch g.owner {
	case karpenter:
		n.labels["karpenter.sh/nodepool"], n.labels["karpenter.sh/capacity-type"] = g.name, g.capacity()
		if !m.template.refused {
			n.taints = append(n.taints, corev1.Taint{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute})
		}
	case nodeGroup:
		n.labels["eks.amazonaws.com/nodegroup"], n.labels["eks.amazonaws.com/capacityType"] = g.name, string(g.nodeGroupCapacity())
	}
	maps.Copy(n.labels, g.labels)
	if g.beside == besideCAPI {
		n.annotations["cluster.x-k8s.io/machine"] = "machine-" + m.id
	}
	for _, t := range m.template.taints {
		n.taints = append(n.taints, parseTaint(t))
	}
	now := metav1.NewTime(n.created)
	for _, t := range kubeletWrites[:3] {
		n.conditions = append(n.conditions, corev1.NodeCondition{Type: t, Status: corev1.ConditionFalse, LastTransitionTime: now, Reason: "KubeletHas" + map[corev1.NodeConditionType]string{
			corev1.NodeMemoryPressure: "SufficientMemory", corev1.NodeDiskPressure: "NoDiskPressure", corev1.NodePIDPressure: "SufficientPID"}[t]})
	}
	n.conditions = append(n.conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: now, Reason: "KubeletNotReady", Message: "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"})
	for _, t := range kubeletWrites {
		n.date(t, m.clock)
	}
	m.node, m.reporting = n, true
	n.pods = n.daemons()
	c.addNode(n)
	n.happened("Normal", "Starting", "Starting kubelet.")
	n.tell(StateRegistered)
	g.took = append(g.took, n.created.Sub(m.launched))
	g.took = g.took[max(0, len(g.took)-60):]
	m.starts(n)
	m.gpuStarts()
}

// starts runs the start of a registered node until it is ready for work.
func (m *machine) starts(n *node) {
	a, d := m.c.a, m.d.of("start").nth(m.boots)
	if m.claim != nil && !m.template.refused {
		cl := m.claim
		a.in(d.of("registered").between(2*time.Second, 8*time.Second), func() {
			if m.node != n || m.claim != cl {
				return
			}
			n.untaint("karpenter.sh/unregistered")
			n.labels["karpenter.sh/registered"] = "true"
			n.version = m.c.changed()
			cl.registered = m.c.stamp()
			cl.version = m.c.changed()
		})
	}
	if m.g.bounces {
		m.bounce(n)
	}
	ready := d.of("ready").between(6*time.Second, 25*time.Second)
	if m.g.slow {
		ready = d.of("slow").between(8*time.Minute, 11*time.Minute)
	}
	a.in(ready, func() { m.report() })
	if m.ail == neverReady {
		return // the agent that should remove its taint does not run
	}
	after := d.of("agent").between(3*time.Second, 20*time.Second)
	if m.g.bounces {
		after = d.of("agent").between(9*time.Minute, 13*time.Minute)
	}
	a.in(ready+after, func() { m.settle(n) })
}

// settle applies what agents and the owner do to a node that is up: it loses its startup taints.
func (m *machine) settle(n *node) {
	if m.node != n || m.ail == neverReady {
		return
	}
	for _, t := range m.template.taints {
		n.untaint(parseTaint(t).Key)
	}
	n.version = m.c.changed()
	m.initialized(n)
	if m.g.owner == karpenter && m.claim == nil {
		return // Karpenter, which does not know it, leaves its taint, and no pods come
	}
	if first := m.settledAt.IsZero(); (first || m.anew()) && n.ready().Status == corev1.ConditionTrue {
		m.settledAt = m.c.a.Now()
		if first {
			m.ages()
		}
	}
	if len(n.pods) < 4 {
		n.schedule()
	}
}

// initialized marks a ready node of Karpenter as initialized.
func (m *machine) initialized(n *node) {
	if m.claim == nil || !m.claim.initialized.IsZero() || n.ready().Status != corev1.ConditionTrue || m.claim.registered.IsZero() {
		return
	}
	n.initialized = true
	n.version = m.c.changed()
	m.claim.initialized = m.c.stamp()
	m.claim.version = m.c.changed()
}

// bounce restarts the kubelet while the node starts: a flap that is not a fault.
func (m *machine) bounce(n *node) {
	a := m.c.a
	for i := range 2 {
		a.in(time.Duration(i+1)*m.d.of("bounce").nth(i).between(25*time.Second, 50*time.Second), func() {
			if m.node != n || !m.reporting || m.kubeletDown() {
				return
			}
			n.happened("Normal", "Starting", "Starting kubelet.")
			n.turn(corev1.ConditionFalse, "KubeletNotReady", "[container runtime is down, PLEG is not healthy]")
			a.in(m.d.of("again").nth(i).between(4*time.Second, 12*time.Second), func() { m.report() })
		})
	}
}

// report makes the kubelet report its node's conditions again.
func (m *machine) report() {
	n := m.node
	if n == nil || m.state != running || m.booting || m.muted || m.kubeletDown() {
		return
	}
	m.reporting = true
	m.silence++
	n.pressures(!m.pressure.IsZero())
	n.part(m.ail == failedPart)
	if m.ail == notReady {
		n.turn(corev1.ConditionFalse, "KubeletNotReady", "PLEG is not healthy: pleg was last seen active 4m2s ago; threshold is 3m0s")
		return
	}
	n.turn(corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	m.initialized(n)
}

// hush stops the kubelet's reports. The control plane notices after the grace period.
func (m *machine) hush() {
	if !m.reporting {
		return
	}
	m.reporting = false
	m.renewed = m.c.a.Now()
	m.silence++
	n, silence := m.node, m.silence
	m.c.a.in(graceful+m.d.of("monitor").nth(silence).between(0, 10*time.Second), func() {
		if m.node != n || n == nil || m.reporting || m.silence != silence {
			return
		}
		for i := range n.conditions {
			if slices.Contains(kubeletWrites, n.conditions[i].Type) { // the control plane leaves the others
				n.set(n.conditions[i].Type, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
			}
		}
		n.version = m.c.changed()
		n.tell(StateUnknown)
		n.happened("Normal", "NodeNotReady", "Node "+n.name+" status is now: NodeNotReady")
	})
}

// fall gives the machine an ailment. stays: a replacement would have it too. reboots: a reboot cures it.
func (m *machine) fall(ail ailment, stays, reboots bool) {
	if m.state != running || m.ail != well {
		return
	}
	m.ail, m.since, m.stays, m.reboots = ail, m.c.a.Now(), stays, reboots
	m.tell(EventAilment, string(ail))
	m.ails()
}

func (m *machine) ails() {
	switch m.ail {
	case silent, impaired:
		if m.ail == impaired {
			m.c.a.report(m)
		}
		m.hush()
		m.touch()
	case notReady, failedPart:
		m.report()
	case failedGPU:
		m.gpuTold(true)
	case short:
		m.press()
	case flapping:
		m.flap()
	}
}

// flap stops and restarts the kubelet every few minutes.
func (m *machine) flap() {
	if m.ail != flapping || m.state != running {
		return
	}
	d := m.d.of("flap").nth(m.silence)
	if m.flickers {
		m.flicker(d)
		return
	}
	m.hush()
	m.c.a.in(d.of("down").between(70*time.Second, 4*time.Minute), func() {
		m.report()
		m.c.a.in(d.of("up").between(2*time.Minute, 6*time.Minute), m.flap)
	})
}

// flickering is the form of FaultFlapping in which the container runtime hangs and recovers: the kubelet reports all
// the time, for minutes that its node is not ready, then for seconds that it is.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/pleg/generic.go
const flickering = "flickering"

// flicker takes the node out of Ready for minutes, and back for seconds.
func (m *machine) flicker(d dice) {
	m.silence++
	if n := m.node; n != nil && m.reporting && !m.booting {
		n.turn(corev1.ConditionFalse, "KubeletNotReady", "PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s")
	}
	m.c.a.in(d.of("out").between(5*time.Minute, 9*time.Minute), func() {
		m.report()
		m.c.a.in(d.of("back").between(2*time.Second, 40*time.Second), m.flap)
	})
}

// answersBetween is the form of FaultSilence in which the kubelet sometimes answers that it is not ready. It is not
// drawn.
const answersBetween = "answers"

// answers makes a silent kubelet answer that its node is not ready, and stop again, every few minutes.
func (m *machine) answers(d dice) {
	m.c.a.in(d.of("turn").nth(m.silence).between(6*time.Minute, 9*time.Minute), func() {
		switch {
		case m.state != running || m.ail != silent && m.ail != notReady:
			return
		case m.ail == silent:
			m.ail = notReady
			m.report()
		default:
			m.ail = silent
			m.hush()
		}
		m.answers(d)
	})
}

// starve makes the machine run short of memory, and stop reporting after a while.
func (m *machine) starve(after time.Duration, reboots bool) {
	if m.state != running || m.ail != well || m.node == nil {
		return
	}
	m.press()
	m.c.a.in(after, func() {
		if m.node != nil && !m.pressure.IsZero() {
			m.fall(silent, false, reboots)
		}
		if m.ail == well { // something else befell it
			m.pressure = time.Time{}
			m.report()
		}
	})
}

func (m *machine) press() {
	if m.node == nil {
		return
	}
	m.pressure = m.c.a.Now()
	m.node.happened("Normal", "NodeHasInsufficientMemory", "Node "+m.node.name+" status is now: NodeHasInsufficientMemory")
	m.report()
}

func (m *machine) cure() {
	was, within := m.ail, m.d.of("cure").nth(m.silence).between(2*time.Second, 30*time.Second)
	if late := m.d.of("late").nth(m.silence); m.stays && late.chance(0.3) {
		within = late.between(time.Minute, 6*time.Minute) // what was mended takes effect late: IAM and EKS are eventually consistent
	}
	m.ail, m.stays, m.reboots, m.pressure = well, false, false, time.Time{}
	m.hangs, m.serving, m.unacted, m.awaited = false, false, false, false
	if was == well || !m.alive() {
		return
	}
	m.cured = m.c.a.Now()
	m.tell(EventAilment, "well again")
	m.touch()
	m.c.a.in(within, func() {
		if m.ail != well || m.state != running {
			return
		}
		m.join()
		m.gpuTold(true)
		if n := m.node; n != nil {
			m.c.a.in(15*time.Second, func() { m.settle(n) })
		}
	})
}

func (m *machine) mute(off bool) {
	if m.muted == off {
		return
	}
	m.muted = off
	if off {
		m.mutedAt = m.c.a.Now()
		m.hush()
		return
	}
	m.c.a.in(m.d.of("unmute").between(time.Second, time.Minute), m.join)
}

func (m *machine) reboot() { m.rebootAfter(0) }

// rebootAfter reboots the machine, which is off for a while before it boots.
func (m *machine) rebootAfter(off time.Duration) {
	if m.state != running {
		return
	}
	m.hush()
	if m.reboots && m.ail != well {
		m.relapses()
	}
	if m.reboots {
		m.ail, m.stays, m.reboots, m.pressure = well, false, false, time.Time{}
	}
	m.boots++
	m.rebooted = m.boots
	m.c.a.report(m)
	m.booted(off+m.g.kind.Boots*11/10+m.d.of("reboot").nth(m.boots).between(40*time.Second, 100*time.Second), func() {
		if m.node != nil {
			m.node.bootID = uid(m.d.of("bootid").nth(m.boots))
			m.node.version = m.c.changed()
		}
		m.touch()
		m.join()
		m.gpuStarts()
	})
}

// end terminates the machine. by is who requested it.
func (m *machine) end(by string) {
	if !m.alive() && m.state != stopped && m.state != stopping {
		return
	}
	a := m.c.a
	m.state, m.ended = shuttingDown, a.Now()
	m.tell(EventEnd, "ended by "+by)
	m.hush()
	m.touch()
	a.stateChanged(m)
	if m.leaves != nil {
		m.leaves.outlive(by)
	}
	if m.bequeaths != nil {
		m.g.heirs = append(m.g.heirs, m)
	}
	m.g.lost(m)
	m.becomes(terminated, m.d.of("shutdown").between(8*time.Second, 50*time.Second), func() {
		a.in(m.d.of("node").between(4*time.Second, 40*time.Second), m.forgetNode)
	})
}

// forgetNode removes the Node of a terminated machine, unless the cloud node controller is out of order.
func (m *machine) forgetNode() {
	if n := m.node; n != nil && !m.c.ghosts && !m.keepsNode {
		m.c.removeNode(n)
	}
}

func (m *machine) tell(kind EventKind, detail string) {
	e := Event{Kind: kind, Cluster: m.c.name, Instance: m.id, Group: m.g.groupName(), Detail: detail}
	if m.node != nil {
		e.Node = m.node.name
	}
	m.c.a.note(e)
}

func uid(d dice) string {
	s := shortID(d, 32)
	return s[:8] + "-" + s[8:12] + "-4" + s[13:16] + "-8" + s[17:20] + "-" + s[20:32]
}

// zoneID returns the ID of a zone, which is the same in every account.
func zoneID(zone string) string {
	return "euw1-az" + string('1'+zone[len(zone)-1]-'a')
}
