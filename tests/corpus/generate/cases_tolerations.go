package generate

// tolerationCases are about nodes on which an agent that should prepare them gets no pod, because
// of what its DaemonSet tolerates and selects.
func tolerationCases() []Case {
	const (
		sets     = "https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations"
		taints   = "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"
		starting = "https://github.com/kubernetes-sigs/karpenter/issues/1479"
		driver   = "https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/install.md#configure-node-startup-taint"
	)
	// warming is a Ready node of Karpenter's with a startup taint of an agent that nobody else knows.
	warming := func(b *Bundle) *Machine {
		m := b.tainted(Batch, ownTaint)
		b.starts(Batch, ownTaint, "NoSchedule")
		b.daemonSet("kube-proxy", "/lib/modules")
		b.lastSet()["tolerations"] = []object{{"operator": "Exists"}}
		b.pod(m, "kube-proxy", "", "")
		b.daemonSet("warmer")
		return m
	}
	byKey := object{"key": ownTaint, "operator": "Exists", "effect": "NoSchedule"}
	const off, selected = "does not tolerate", "selects other nodes"
	return []Case{
		broken("own-startup-taint-that-no-agent-tolerates", "The node pool declares a startup taint of the company's own, and the DaemonSet whose pods should remove it does not tolerate it: it gets no pod on the node.",
			from(docNodePools, sets, starting), on(warming, func(_ *Bundle, m *Machine) *verdict {
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").says("kube-system/warmer", "do not tolerate it").saysNot("kube-proxy")
			})),
		broken("own-startup-taint-tolerated-with-another-effect", "The DaemonSet tolerates the taint's key with NoExecute, and the taint has NoSchedule.",
			from(docNodePools, taints), on(warming, func(b *Bundle, m *Machine) *verdict {
				b.lastSet()["tolerations"] = []object{{"key": ownTaint, "operator": "Exists", "effect": "NoExecute"}}
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").says("kube-system/warmer", "do not tolerate it").saysNot("kube-proxy")
			})),
		broken("own-startup-taint-whose-agent-selects-other-nodes", "The DaemonSet tolerates the taint by its key, and selects nodes with a label that this one has not got.",
			from(docNodePools, sets), on(warming, func(b *Bundle, m *Machine) *verdict {
				b.lastSet()["tolerations"], b.lastSet()["nodeSelector"] = []object{byKey}, object{"example.com/warm": "true"}
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").says("kube-system/warmer", selected, "example.com/warm=true").saysNot(off, "do not tolerate")
			})),
		broken("startup-taint-whose-driver-does-not-tolerate-another", "The EBS CSI driver removes its own taint, and does not tolerate a lasting one of the node group: it gets no pod on the node.",
			from(driver, sets), func(b *Bundle) *verdict {
				m := b.tainted(Workers, ebsTaint)
				b.taint(m, "team", "NoSchedule")
				b.daemonSet("ebs-csi-node", "/var/lib/kubelet")
				b.lastSet()["tolerations"] = []object{{"key": ebsTaint, "operator": "Exists"}, {"operator": "Exists", "effect": "NoExecute"}}
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").says("kube-system/ebs-csi-node", off+" team:NoSchedule").saysNot(off + " " + ebsTaint)
			}),
		broken("network-plugin-that-does-not-tolerate-the-node", "Somebody gave the VPC CNI's DaemonSet tolerations of its own, and it gets no pod on nodes with the group's taint.",
			from(sets, docTroubleshooting), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.taint(m, "team", "NoSchedule")
				b.daemonSet("aws-node", "/opt/cni/bin", "/etc/cni/net.d")
				b.lastSet()["tolerations"] = []object{{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}}
				return finds(m, "Uninitialized", "CniNotReady").says("kube-system/aws-node", off+" team:NoSchedule").rulesOut("CniMissing")
			}),

		// What must not be taken for it.
		broken("own-startup-taint-and-its-agent-runs", "The DaemonSet tolerates the taint by its key, and its pod on the node is ready. The taint stays for another reason.",
			from(docNodePools), on(warming, func(b *Bundle, m *Machine) *verdict {
				b.lastSet()["tolerations"] = []object{byKey}
				b.pod(m, "warmer", "", "")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").says("kube-system/warmer", "is ready").saysNot(off, "do not tolerate", selected)
			})),
		broken("own-startup-taint-and-an-agent-for-other-nodes", "The one DaemonSet that does not tolerate the taint is for nodes with another label: it would have no pod on this one without the taint.",
			from(docNodePools, sets), on(warming, func(b *Bundle, m *Machine) *verdict {
				b.lastSet()["nodeSelector"] = object{"example.com/accelerator": "gpu"}
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").saysNot("warmer")
			})),
		broken("own-startup-taint-put-on-after-its-agent-started", "The DaemonSet does not tolerate the taint, and has a pod on the node from before.",
			from(docNodePools, taints), on(warming, func(b *Bundle, m *Machine) *verdict {
				b.pod(m, "warmer", "", "")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").saysNot("warmer")
			})),
		broken("own-startup-taint-and-no-daemonset-captured", "Nobody captured the DaemonSets: who does not tolerate the taint is unknown.",
			from(docNodePools), on(warming, func(b *Bundle, m *Machine) *verdict {
				b.DaemonSets = nil
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").saysNot("warmer", "tolerate")
			})),
		broken("network-plugin-that-tolerates-everything-and-has-no-pod", "The VPC CNI's DaemonSet, as it is installed, tolerates every taint. Why it has no pod on the node is not in sight.",
			from(sets, docTroubleshooting), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.taint(m, "team", "NoSchedule")
				b.daemonSet("aws-node", "/opt/cni/bin", "/etc/cni/net.d")
				b.lastSet()["tolerations"] = []object{{"operator": "Exists"}}
				return finds(m, "Uninitialized", "CniNotReady").saysNot(off, selected)
			}),
	}
}

// lastSet returns the pod's specification of the DaemonSet that was added last.
func (b *Bundle) lastSet() object {
	return b.DaemonSets[len(b.DaemonSets)-1]["spec"].(object)["template"].(object)["spec"].(object)
}
