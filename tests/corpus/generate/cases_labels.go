package generate

import "time"

// labelCases are about nodes whose labels are not those that they were launched for.
func labelCases() []Case {
	const (
		registration = "https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/nodeclaim/lifecycle/registration.go"
		scheduling   = "https://karpenter.sh/docs/concepts/scheduling/"
		initialized  = "https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/nodeclaim/lifecycle/initialization.go"
		drift        = "https://karpenter.sh/docs/concepts/disruption/#drift"
		wellKnown    = "https://kubernetes.io/docs/reference/labels-annotations-taints/"
		arch         = "kubernetes.io/arch"
	)
	return []Case{
		broken("initialized-and-the-label-taken-off", "Karpenter called the node initialized, and somebody replaced all of its labels since. Karpenter does not write that one again, and counts the node as starting for ever. It may be at work, and needs its label back, not another instance.",
			from(initialized), func(b *Bundle) *verdict {
				m := b.onArm()
				b.claimSays(m, "Initialized", "True", "Initialized", "", 24*time.Minute)
				return finds(m, "Uninitialized", "NodeLabelsMismatch").holds("NodeReady")
			}),
		broken("arm64-node-whose-labels-were-replaced", "A controller that knows the nodes of amd64 alone writes their labels on one of arm64, and takes Karpenter's mark of an initialized node off.",
			from(initialized, registration, wellKnown), func(b *Bundle) *verdict {
				m := b.onArm()
				b.claimSays(m, "Initialized", "True", "Initialized", "", 24*time.Minute)
				m.label(arch, "amd64")
				m.label("node.kubernetes.io/instance-type", "c5.xlarge")
				return finds(m, "Uninitialized", "NodeLabelsMismatch").holds("NodeReady")
			}).of(onARM),
		broken("registered-and-the-label-taken-off", "Karpenter registered the node, and somebody took that label off before it was initialized. Karpenter does not register a node twice. What does it is not in the instance.",
			from(registration, "https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/state/statenode.go"), func(b *Bundle) *verdict {
				m := b.onArm()
				m.unlabel("karpenter.sh/registered")
				return finds(m, "Uninitialized", "NodeLabelsMismatch").holds("CauseOutside")
			}),
		misleading("arm64-node-labelled-amd64", "The NodeClaim asks for arm64, and instance and kubelet are arm64; something wrote the other architecture on the node. That keeps pods off it, and is not why Karpenter does not call it initialized: it compares no labels for that.",
			from(wellKnown, initialized, scheduling), func(b *Bundle) *verdict {
				m := b.onArm()
				m.label(arch, "amd64")
				return finds(m, "Uninitialized", "").suggests("NodeLabelsMismatch")
			}).of(onARM),
		misleading("arm64-node-in-another-node-pool", "A controller that knows the node pool's old name writes it on the nodes of arm64 after Karpenter did; Karpenter writes its labels once. Why the node is not initialized is not in sight.",
			from(registration, "https://karpenter.sh/docs/concepts/nodepools/"), func(b *Bundle) *verdict {
				m := b.onArm()
				m.label("karpenter.sh/nodepool", "batch-old")
				return finds(m, "Uninitialized", "").suggests("NodeLabelsMismatch")
			}).of(onARM),
		misleading("node-of-another-generation-than-asked-for", "The NodeClaim asks for an instance generation above 6, and the node's label says 6. Why it is not initialized is not in sight.",
			from(scheduling, registration), func(b *Bundle) *verdict {
				m := b.onArm()
				m.asks("karpenter.k8s.aws/instance-generation", "Gt", "6")
				m.label("karpenter.k8s.aws/instance-generation", "6")
				return finds(m, "Uninitialized", "").suggests("NodeLabelsMismatch")
			}),
		misleading("node-pool-edited-while-the-agent-is-awaited", "The node pool was changed to amd64 after the node was launched: that is drift, and Karpenter replaces the node when it may. What keeps the node from its work is an agent's taint.",
			from(drift, docCilium), func(b *Bundle) *verdict {
				m := b.onArm()
				b.starts(m.Group, ciliumTaint, "NoSchedule")
				b.taint(m, ciliumTaint, "NoSchedule")
				b.claimSays(m, "Initialized", "Unknown", "StartupTaintsExist", `StartupTaint "`+ciliumTaint+`:NoSchedule" still exists`, 25*time.Minute)
				b.poolOf(m.Group)["spec"].(object)["template"].(object)["spec"].(object)["requirements"] = []object{{"key": arch, "operator": "In", "values": []string{"amd64"}}}
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").suggests("NodeLabelsMismatch")
			}).of(onARM),
		misleading("labels-as-asked-for-and-not-initialized", "The node meets each requirement of its NodeClaim, one of them by a label's older name and one with minValues, and has labels of the users' own. Why it is not initialized is not in sight.",
			from(registration, scheduling, "https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecrequirements"), func(b *Bundle) *verdict {
				m := b.onArm()
				m.label("team", "payments")
				m.label("beta.kubernetes.io/arch", "arm64")
				m.label("karpenter.k8s.aws/instance-family", "c7g")
				m.label("karpenter.k8s.aws/instance-generation", "7")
				m.asks("beta.kubernetes.io/arch", "In", "arm64")
				m.asks("karpenter.k8s.aws/instance-family", "Exists")
				m.asks("karpenter.k8s.aws/instance-generation", "Gt", "6")
				m.asks("karpenter.k8s.aws/instance-generation", "Lt", "8")
				m.asks("karpenter.k8s.aws/instance-gpu-count", "DoesNotExist")
				m.asks("topology.kubernetes.io/zone", "NotIn", Region+"c")
				m.asks("node.kubernetes.io/instance-type", "In", "c7g.xlarge", "m7g.xlarge")["minValues"] = 2
				return finds(m, "Uninitialized", "").rulesOut("NodeLabelsMismatch")
			}).of(onARM),
		misleading("capacity-reservation-that-ended", "The instance was launched into a capacity reservation, which ended: Karpenter itself wrote on-demand on NodeClaim and node. Why the node is not initialized is not in sight.",
			from("https://github.com/aws/karpenter-provider-aws/blob/v1.14.0/pkg/controllers/capacityreservation/capacitytype/controller.go"), func(b *Bundle) *verdict {
				m := b.onArm()
				m.asks("karpenter.sh/capacity-type", "In", "reserved")
				return finds(m, "Uninitialized", "").rulesOut("NodeLabelsMismatch")
			}),
		well("arm64-node-as-it-was-asked-for", "A node of arm64 of Karpenter's, initialized, with the labels that its NodeClaim asks for.",
			from(registration, scheduling), func(b *Bundle) *verdict {
				m := b.onArm()
				m.label("karpenter.sh/initialized", "true")
				b.claimSays(m, "Initialized", "True", "Initialized", "", 24*time.Minute)
				return nothing()
			}).of(onARM),
	}
}

// onArm is a node of arm64 of Karpenter's, of 25 minutes, that is Ready and not marked as
// initialized.
func (b *Bundle) onArm() *Machine {
	g := Batch
	g.Image, g.Type = imageAL2023arm, "c7g.xlarge"
	m := b.joined(g, 26*time.Minute)
	m.asks("kubernetes.io/arch", "In", "arm64")
	m.unlabel("karpenter.sh/initialized")
	b.claimSays(m, "Initialized", "Unknown", "AwaitingReconciliation", "object is awaiting reconciliation", 25*time.Minute)
	return m
}

// label writes a label on the machine's node.
func (m *Machine) label(key, value string) {
	m.Node["metadata"].(object)["labels"].(object)[key] = value
}

// asks adds a requirement to the machine's NodeClaim.
func (m *Machine) asks(key, operator string, values ...string) object {
	spec, r := m.Claim["spec"].(object), object{"key": key, "operator": operator}
	if len(values) > 0 {
		r["values"] = values
	}
	spec["requirements"] = append(spec["requirements"].([]object), r)
	return r
}
