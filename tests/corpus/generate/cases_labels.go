package generate

import "time"

// labelCases are about nodes whose labels are not those that they were launched for.
func labelCases() []Case {
	const (
		registration = "https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/nodeclaim/lifecycle/registration.go"
		scheduling   = "https://karpenter.sh/docs/concepts/scheduling/"
		drift        = "https://karpenter.sh/docs/concepts/disruption/#drift"
		wellKnown    = "https://kubernetes.io/docs/reference/labels-annotations-taints/"
		arch         = "kubernetes.io/arch"
	)
	return []Case{
		{
			Name: "arm64-node-labelled-amd64", Class: Broken, Report: onARM,
			Why:     "The NodeClaim asks for arm64, and instance and kubelet are arm64; something wrote the other architecture on the node, so the pods that it was launched for are not put on it.",
			Sources: []string{wellKnown, registration, scheduling},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.onArm()
				m.label(arch, "amd64")
				return finds(m, "Uninitialized", "NodeLabelsMismatch")
			},
		},
		{
			Name: "arm64-node-in-another-node-pool", Class: Broken, Report: onARM,
			Why:     "A controller that knows the node pool's old name writes it on the nodes of arm64 after Karpenter did; Karpenter writes its labels once.",
			Sources: []string{registration, "https://karpenter.sh/docs/concepts/nodepools/"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.onArm()
				m.label("karpenter.sh/nodepool", "batch-old")
				return finds(m, "Uninitialized", "NodeLabelsMismatch")
			},
		},
		{
			Name: "node-of-another-generation-than-asked-for", Class: Broken,
			Why:     "The NodeClaim asks for an instance generation above 6, and the node's label says 6.",
			Sources: []string{scheduling, registration},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.onArm()
				m.asks("karpenter.k8s.aws/instance-generation", "Gt", "6")
				m.label("karpenter.k8s.aws/instance-generation", "6")
				return finds(m, "Uninitialized", "NodeLabelsMismatch")
			},
		},
		{
			Name: "initialized-and-the-label-taken-off", Class: Broken,
			Why:     "Karpenter called the node initialized, and somebody replaced all of its labels since. Karpenter does not write that one again, and counts the node as starting for ever.",
			Sources: []string{"https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/nodeclaim/lifecycle/initialization.go"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.onArm()
				b.claimSays(m, "Initialized", "True", "Initialized", "", 24*time.Minute)
				return finds(m, "Uninitialized", "NodeLabelsMismatch")
			},
		},
		{
			Name: "node-pool-edited-while-the-agent-is-awaited", Class: Misleading, Report: onARM,
			Why:     "The node pool was changed to amd64 after the node was launched: that is drift, and Karpenter replaces the node when it may. What keeps the node from its work is an agent's taint.",
			Sources: []string{drift, docCilium},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.onArm()
				b.starts(m.Group, ciliumTaint, "NoSchedule")
				b.taint(m, ciliumTaint, "NoSchedule")
				b.claimSays(m, "Initialized", "Unknown", "StartupTaintsExist", `StartupTaint "`+ciliumTaint+`:NoSchedule" still exists`, 25*time.Minute)
				b.poolOf(m.Group)["spec"].(object)["template"].(object)["spec"].(object)["requirements"] = []object{{"key": arch, "operator": "In", "values": []string{"amd64"}}}
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").suggests("NodeLabelsMismatch")
			},
		},
		{
			Name: "labels-as-asked-for-and-not-initialized", Class: Misleading, Report: onARM,
			Why:     "The node has each label that its NodeClaim asks for, and one of the users' own. Why it is not initialized is not in sight.",
			Sources: []string{registration, scheduling},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.onArm()
				m.label("team", "payments")
				return finds(m, "Uninitialized", "").rulesOut("NodeLabelsMismatch")
			},
		},
		{
			Name: "arm64-node-as-it-was-asked-for", Class: Well, Report: onARM,
			Why:     "A node of arm64 of Karpenter's, initialized, with the labels that its NodeClaim asks for.",
			Sources: []string{registration, scheduling},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.onArm()
				m.label("karpenter.sh/initialized", "true")
				b.claimSays(m, "Initialized", "True", "Initialized", "", 24*time.Minute)
				return nothing()
			},
		},
	}
}

// onArm is a node of arm64 of Karpenter's, of 25 minutes, that is Ready and not marked as
// initialized.
func (b *Bundle) onArm() *Machine {
	g := Batch
	g.Image, g.Type = imageAL2023arm, "c7g.xlarge"
	m := b.Launch(Sick, "10.0.41.21", "a", g, 26*time.Minute)
	b.Join(m, 25*time.Minute)
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
func (m *Machine) asks(key, operator string, values ...string) {
	spec := m.Claim["spec"].(object)
	spec["requirements"] = append(spec["requirements"].([]object), object{"key": key, "operator": operator, "values": values})
}
