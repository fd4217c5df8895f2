package generate

import "time"

const (
	ciliumTaint = "node.cilium.io/agent-not-ready"
	ebsTaint    = "ebs.csi.aws.com/agent-not-ready"
)

// startupCases are about the minutes between a node's registration and its work.
func startupCases() []Case {
	cilium := []string{docCilium, docNodePools, "https://github.com/aws/karpenter-provider-aws/pull/6267", "https://github.com/aws/karpenter-provider-aws/issues/6355"}
	return []Case{
		{
			Name: "cilium-taint-undeclared", Class: Broken, Report: slowStart,
			Why:     "Cilium's operator taints the new node, the node pool does not declare that taint, and Karpenter launches a second node for the same pods. The first one's unreadiness is part of its start.",
			Sources: cilium,
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.flapping(noCNI)
				b.taint(m, ciliumTaint, "NoSchedule")
				b.duplicate(m)
				return finds(m, "NotReady", "UndeclaredStartupTaint", "DuplicateLaunch", "CniNotReady", "KubeletRestartedDuringStartup").orders()
			},
		},
		{
			Name: "cilium-taint-declared-with-another-effect", Class: Broken, Report: slowStart,
			Why:     "The node pool declares the taint with NoExecute, and Cilium puts it on with NoSchedule: to Karpenter that is another taint.",
			Sources: append(cilium, "https://github.com/chanzuckerberg/cztack/pull/895"),
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.flapping(noCNI)
				b.starts(Batch, ciliumTaint, "NoExecute")
				b.taint(m, ciliumTaint, "NoSchedule")
				return finds(m, "NotReady", "UndeclaredStartupTaint", "CniNotReady", "KubeletRestartedDuringStartup").orders()
			},
		},
		{
			Name: "cilium-taint-declared", Class: Well, Report: slowStart,
			Why:     "The taint is declared as Cilium sets it, and the node is four minutes old: it has time.",
			Sources: cilium,
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Batch, 5*time.Minute)
				b.Join(m, 4*time.Minute)
				b.starts(Batch, ciliumTaint, "NoSchedule")
				b.taint(m, ciliumTaint, "NoSchedule")
				b.neverReady(m)
				return nothing()
			},
		},
		{
			Name: "kubelet-restarted-while-it-started", Class: Broken, Report: slowStart,
			Why:     "The kubelet was started three times within minutes of the node's creation while the lease goes on being renewed: a flap, and nothing to replace.",
			Sources: []string{"https://github.com/kubernetes/kubernetes/issues/96945", "https://github.com/kubernetes/kubernetes/issues/102367"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Workers, 21*time.Minute)
				b.Join(m, 20*time.Minute)
				b.kubeletStarts(m, 20*time.Minute, 18*time.Minute, 17*time.Minute)
				b.notReady(m, runtimeUnchecked, 16*time.Minute)
				return finds(m, "NotReady", "KubeletRestartedDuringStartup").holds("")
			},
		},
		{
			Name: "kubelet-restarted-long-after", Class: Misleading, Report: slowStart,
			Why:     "Two starts of the kubelet half an hour apart, days after the node's creation: no flap of a start. Why the runtime is down is not in sight.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/1228", docNodeStatus},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := worker(b)
				b.kubeletStarts(m, 55*time.Minute, 21*time.Minute)
				b.notReady(m, runtimeDown, 20*time.Minute)
				return finds(m, "NotReady", "")
			},
		},
		{
			Name: "two-claims-for-the-same-pods", Class: Broken, Report: slowStart,
			Why:     "Karpenter made a second NodeClaim of the pool half a minute after the first, whose node was still starting.",
			Sources: []string{"https://github.com/aws/karpenter-provider-aws/issues/6355", "https://github.com/aws/karpenter-provider-aws/pull/6267"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Batch, 10*time.Minute)
				b.Join(m, 9*time.Minute)
				b.notReady(m, runtimeUnchecked, 6*time.Minute)
				b.duplicate(m)
				return finds(m, "NotReady", "DuplicateLaunch").orders()
			},
		},
		{
			Name: "cni-not-initialized", Class: Broken,
			Why:     "The node was never ready, since its CNI's pod crashes.",
			Sources: []string{"https://github.com/aws/amazon-vpc-cni-k8s/issues/1278", docTroubleshooting},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Workers, 26*time.Minute)
				b.Join(m, 25*time.Minute)
				b.neverReady(m)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady")
			},
		},
		{
			Name: "startup-taint-and-its-agent-crashes", Class: Broken,
			Why:     "The node is Ready and keeps Cilium's declared taint for 25 minutes, since Cilium's pod on it crashes.",
			Sources: []string{docCilium, "https://github.com/cilium/cilium/issues/17103", docNodeClaims},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.tainted(Batch, ciliumTaint)
				b.starts(Batch, ciliumTaint, "NoSchedule")
				b.pod(m, "cilium", "CrashLoopBackOff", "back-off 5m0s restarting failed container=cilium-agent")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved")
			},
		},
		{
			Name: "startup-taint-and-no-agent", Class: Broken, Whole: true,
			Why:     "The EBS CSI driver's taint stays on, since the driver has no pod on this node; on the others it has.",
			Sources: []string{"https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/install.md", "https://github.com/METR/hawk/pull/25"},
			Build: func(b *Bundle, h healthy) *verdict {
				m := b.tainted(Workers, ebsTaint)
				b.pod(h.worker, "ebs-csi-node", "", "")
				b.pod(h.system, "ebs-csi-node", "", "")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved")
			},
		},
	}
}

// flapping is a node of nine minutes that was Ready, went away while its kubelet was
// started anew, and goes on renewing its lease.
func (b *Bundle) flapping(message string) *Machine {
	m := b.Launch(Sick, "10.0.41.21", "a", Batch, 10*time.Minute)
	b.Join(m, 9*time.Minute)
	b.kubeletStarts(m, 9*time.Minute, 6*time.Minute+30*time.Second)
	b.notReady(m, message, 6*time.Minute)
	return m
}

// duplicate is a node that Karpenter launched half a minute after a first one, before
// that was initialized.
func (b *Bundle) duplicate(m *Machine) {
	other := b.Launch(SickToo, "10.0.72.22", "b", m.Group, m.Age-30*time.Second)
	b.Join(other, m.Age-100*time.Second)
}

// tainted is a node of 25 minutes that is Ready and keeps a startup taint.
func (b *Bundle) tainted(g Group, key string) *Machine {
	m := b.Launch(Sick, "10.0.41.21", "a", g, 26*time.Minute)
	b.Join(m, 25*time.Minute)
	b.taint(m, key, "NoSchedule")
	if m.Claim != nil {
		m.unlabel("karpenter.sh/initialized")
		b.claimSays(m, "Initialized", "Unknown", "StartupTaintsExist", `StartupTaint "`+key+`:NoSchedule" still exists`, 25*time.Minute)
	}
	return m
}
