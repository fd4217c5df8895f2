package generate

import "time"

const (
	ciliumTaint = "node.cilium.io/agent-not-ready"
	ebsTaint    = "ebs.csi.aws.com/agent-not-ready"
	ownTaint    = "payments.example.com/warming-up" // of an agent that nobody else knows
)

// startupCases are about the minutes between a node's registration and its work.
func startupCases() []Case {
	cilium := []string{docCilium, docNodePools, "https://github.com/aws/karpenter-provider-aws/pull/6267", "https://github.com/aws/karpenter-provider-aws/issues/6355"}
	return []Case{
		broken("cilium-taint-undeclared", "Cilium's operator taints the new node, the node pool does not declare that taint, and Karpenter launches a second node for the same pods. The first one's unreadiness is part of its start.",
			cilium, func(b *Bundle) *verdict {
				m := b.flapping(noCNI)
				b.taint(m, ciliumTaint, "NoSchedule")
				b.duplicate(m)
				return finds(m, "NotReady", "UndeclaredStartupTaint", "DuplicateLaunch", "CniNotReady", "KubeletRestartedDuringStartup").orders()
			}).of(slowStart),
		broken("cilium-taint-declared-with-another-effect", "The node pool declares the taint with NoExecute, and Cilium puts it on with NoSchedule: to Karpenter that is another taint.",
			append(cilium, "https://github.com/chanzuckerberg/cztack/pull/895"), func(b *Bundle) *verdict {
				m := b.flapping(noCNI)
				b.starts(Batch, ciliumTaint, "NoExecute")
				b.taint(m, ciliumTaint, "NoSchedule")
				return finds(m, "NotReady", "UndeclaredStartupTaint", "CniNotReady", "KubeletRestartedDuringStartup").orders()
			}).of(slowStart),
		well("cilium-taint-declared", "The taint is declared as Cilium sets it, and the node is four minutes old: it has time.",
			cilium, func(b *Bundle) *verdict {
				m := b.joined(Batch, 5*time.Minute)
				b.starts(Batch, ciliumTaint, "NoSchedule")
				b.taint(m, ciliumTaint, "NoSchedule")
				b.neverReady(m)
				return nothing()
			}).of(slowStart),
		broken("kubelet-restarted-while-it-started", "The kubelet was started three times within minutes of the node's creation while the lease goes on being renewed: a flap, and nothing to replace.",
			from("https://github.com/kubernetes/kubernetes/issues/96945", "https://github.com/kubernetes/kubernetes/issues/102367"), func(b *Bundle) *verdict {
				m := b.joined(Workers, 21*time.Minute)
				b.kubeletStarts(m, 20*time.Minute, 18*time.Minute, 17*time.Minute)
				b.notReady(m, runtimeUnchecked, 16*time.Minute)
				return finds(m, "NotReady", "KubeletRestartedDuringStartup").holds("")
			}).of(slowStart),
		misleading("kubelet-restarted-long-after", "Two starts of the kubelet half an hour apart, days after the node's creation: no flap of a start. Why the runtime is down is not in sight.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1228", docNodeStatus), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.kubeletStarts(m, 55*time.Minute, 21*time.Minute)
				b.notReady(m, runtimeDown, 20*time.Minute)
				return finds(m, "NotReady", "")
			})).of(slowStart),
		misleading("kubelet-that-exits-after-it-registered", "The kubelet registers its node, fails to start its container manager and exits, every six seconds for 25 minutes. Beside that it says that no network plugin has started, and none can.",
			from("https://github.com/aws/karpenter-provider-aws/issues/4740", "https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kubelet.go"), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.says(m, "Ready", "False", "KubeletNotReady", kubeletUnstarted, 25*time.Minute)
				for age := 25 * time.Minute; age > 24*time.Minute; age -= 6 * time.Second {
					b.kubeletStarts(m, age)
				}
				b.pod(m, "aws-node", "ContainerCreating", "")
				return finds(m, "Uninitialized", "").suggests("KubeletRestartedDuringStartup").says("again and again").saysNot("no network plugin")
			}).of(slowStart),
		broken("two-claims-for-the-same-pods", "Karpenter made a second NodeClaim of the pool half a minute after the first, whose node was still starting.",
			from("https://github.com/aws/karpenter-provider-aws/issues/6355", "https://github.com/aws/karpenter-provider-aws/pull/6267"), func(b *Bundle) *verdict {
				m := b.joined(Batch, 10*time.Minute)
				b.notReady(m, runtimeUnchecked, 6*time.Minute)
				b.duplicate(m)
				return finds(m, "NotReady", "DuplicateLaunch").orders()
			}).of(slowStart),
		broken("cni-not-initialized", "The node was never ready, since its CNI's pod crashes.",
			from("https://github.com/aws/amazon-vpc-cni-k8s/issues/1278", docTroubleshooting), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady")
			}),
		broken("startup-taint-and-its-agent-crashes", "The node is Ready and keeps Cilium's declared taint for 25 minutes, since Cilium's pod on it crashes.",
			from(docCilium, "https://github.com/cilium/cilium/issues/17103", docNodeClaims), func(b *Bundle) *verdict {
				m := b.tainted(Batch, ciliumTaint)
				b.starts(Batch, ciliumTaint, "NoSchedule")
				b.pod(m, "cilium", "CrashLoopBackOff", "back-off 5m0s restarting failed container=cilium-agent")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved")
			}),
		broken("startup-taint-for-cluster-autoscaler", "Cilium's taint has a key that Cluster Autoscaler ignores, as Cilium advises. The node is Ready and keeps it, since Cilium's pod on it crashes.",
			from(docCilium, "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/utils/taints/taints.go"), func(b *Bundle) *verdict {
				m := b.tainted(Workers, "ignore-taint.cluster-autoscaler.kubernetes.io/cilium-agent-not-ready")
				b.pod(m, "cilium", "CrashLoopBackOff", "back-off 5m0s restarting failed container=cilium-agent")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").says("Cilium", "CrashLoopBackOff")
			}),
		broken("startup-taint-and-no-agent", "The EBS CSI driver's taint stays on, since the driver has no pod on this node; on the others it has.",
			from("https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/install.md", "https://github.com/METR/hawk/pull/25"), func(b *Bundle) *verdict {
				m := b.tainted(Workers, ebsTaint)
				b.pod(b.healthy.worker, "ebs-csi-node", "", "")
				b.pod(b.healthy.system, "ebs-csi-node", "", "")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved")
			}).whole(),
		broken("unknown-taint-undeclared", "A controller of the company's own taints the new node, the node pool does not declare that, and Karpenter launches a second one. That the kubelet was started twice is not all, so that it passes is not certain.",
			from(docFAQ, docNodePools, "https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/state/statenode.go"), func(b *Bundle) *verdict {
				m := b.flapping(runtimeUnchecked)
				b.taint(m, ownTaint, "NoSchedule")
				b.duplicate(m)
				return finds(m, "NotReady", "UndeclaredStartupTaint", "DuplicateLaunch").suggests("KubeletRestartedDuringStartup").orders()
			}).of(slowStart),
		misleading("unknown-taint-declared", "The same taint, which the node pool declares: the kubelet was started twice, and that passes.",
			from(docFAQ, docNodePools), func(b *Bundle) *verdict {
				m := b.flapping(runtimeUnchecked)
				b.starts(Batch, ownTaint, "NoSchedule")
				b.taint(m, ownTaint, "NoSchedule")
				return finds(m, "NotReady", "KubeletRestartedDuringStartup").rulesOut("UndeclaredStartupTaint", "DuplicateLaunch").orders()
			}).of(slowStart),
		broken("taint-of-the-user-data-undeclared", "The user data of a custom AMI registers the node with a taint that its node pool does not declare.",
			from(docFAQ, docNodeClasses), func(b *Bundle) *verdict {
				m := b.flapping(runtimeUnchecked)
				b.custom(m, "'--register-with-taints=karpenter.sh/unregistered=:NoExecute,team=batch:NoSchedule'")
				b.taint(m, "team", "NoSchedule")
				return finds(m, "NotReady", "UndeclaredStartupTaint").suggests("KubeletRestartedDuringStartup").orders()
			}).of(slowStart),
		misleading("taint-put-on-by-a-person", "A person tainted a node that had worked for days, before its runtime went down: that has nothing to do with its start.",
			from("https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/", docNodeStatus), func(b *Bundle) *verdict {
				m := b.joined(Batch, 5*day)
				b.taint(m, "maintenance", "NoSchedule")
				b.notReady(m, runtimeDown, 20*time.Minute)
				return finds(m, "NotReady", "").rulesOut("UndeclaredStartupTaint", "DuplicateLaunch")
			}).of(slowStart),
		misleading("duplicate-that-has-settled", "The first of two nodes flapped while it started, and Karpenter launched the second. Both work by now: what is left is what the second costs.",
			from(docFAQ, "https://github.com/aws/karpenter-provider-aws/issues/6355"), func(b *Bundle) *verdict {
				m := b.joined(Batch, 50*time.Minute)
				b.duplicate(m)
				for _, c := range b.NodeClaims[len(b.NodeClaims)-2:] {
					c["metadata"].(object)["labels"].(object)["node.kubernetes.io/instance-type"] = Batch.Type
				}
				b.says(m, "Ready", "True", "KubeletReady", "kubelet is posting ready status", 4*time.Minute)
				b.remembered(m, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", 49*time.Minute, time.Minute)
				var flips []string
				for _, d := range []time.Duration{44, 39, 34, 25, 14, 4} {
					flips = append(flips, b.kubeTime(d*time.Minute))
				}
				b.Ledger["nodes"].(object)[m.Name()].(object)["readyFlips"] = flips
				return finds(m, "Flapping", "").suggests("DuplicateLaunch").rulesOut("UndeclaredStartupTaint").orders()
			}).of(slowStart),
		broken("karpenters-taint-came-back", "Karpenter registered the node 25 minutes ago, and its taint is on the node again: Karpenter takes it off once, and waits for it to be gone before it initializes the node.",
			from("https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go", "https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/initialization.go"), func(b *Bundle) *verdict {
				m := b.tainted(Batch, "karpenter.sh/unregistered")
				m.Node["spec"].(object)["taints"].([]object)[0]["effect"] = "NoExecute"
				b.claimSays(m, "Initialized", "Unknown", "KnownEphemeralTaintsExist", `KnownEphemeralTaint "karpenter.sh/unregistered:NoExecute" still exists`, 25*time.Minute)
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").rulesOut("UndeclaredStartupTaint")
			}).of(quotedFlags),
		broken("cloud-providers-taint-left", "The node is Ready for 25 minutes with the taint that the cloud controller takes off once it has found the instance.",
			from("https://kubernetes.io/docs/reference/labels-annotations-taints/#node-cloudprovider-kubernetes-io-uninitialized", docNodeClaims), func(b *Bundle) *verdict {
				m := b.tainted(Batch, "node.cloudprovider.kubernetes.io/uninitialized")
				b.claimSays(m, "Initialized", "Unknown", "KnownEphemeralTaintsExist", `KnownEphemeralTaint "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule" still exists`, 25*time.Minute)
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").rulesOut("UndeclaredStartupTaint", "ClusterTagMissing")
			}),
		broken("ipv4-node-in-a-cluster-of-ipv6", "bootstrap.sh got the endpoint and the authority and no --ip-family, so it took IPv4. The node is Ready, and the cloud controller, which knows only IPv6 addresses in such a cluster, never initializes it.",
			from("https://github.com/kubernetes/cloud-provider/blob/master/controllers/node/node_controller.go", "https://github.com/kubernetes-sigs/karpenter/issues/1384",
				"https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2805", "https://github.com/awsdocs/amazon-eks-user-guide/issues/578"), func(b *Bundle) *verdict {
				m := b.ofFamily6(Reports)
				return finds(m, "Uninitialized", "UserDataMalformedFlags", "StartupTaintNotRemoved").says("IPv4 address " + m.Address).holds("CauseOutside")
			}),
		misleading("ipv6-node-that-waits-for-the-cloud-controller", "The same, and the node has an IPv6 address, so its address is not why.",
			from("https://github.com/kubernetes/cloud-provider/blob/master/controllers/node/node_controller.go"), func(b *Bundle) *verdict {
				m := b.ofFamily6(Reports)
				address6(m.Node)
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").rulesOut("UserDataMalformedFlags")
			}),
	}
}

// ofFamily6 adds a node with an IPv4 address to a cluster of IPv6, in which all others have IPv6 addresses. It
// has the taint of the cloud controller.
func (b *Bundle) ofFamily6(g Group) *Machine {
	b.Cluster["kubernetesNetworkConfig"] = object{"serviceIpv6Cidr": "fd12:3456:789a::/108", "ipFamily": "ipv6"}
	for _, n := range b.Nodes {
		address6(n)
	}
	m := b.tainted(g, "node.cloudprovider.kubernetes.io/uninitialized")
	for _, i := range b.Instances {
		i["Ipv6Address"] = "2001:db8:10::" + i["InstanceId"].(string)[17:]
	}
	return m
}

// address6 gives a node an IPv6 address in place of its own.
func address6(node object) {
	id := node["spec"].(object)["providerID"].(string)
	node["status"].(object)["addresses"].([]object)[0]["address"] = "2001:db8:10::" + id[len(id)-2:]
}

// flapping adds a nine-minute-old node that was Ready, lost that while its kubelet restarted,
// and still renews its lease.
func (b *Bundle) flapping(message string) *Machine {
	m := b.joined(Batch, 10*time.Minute)
	b.kubeletStarts(m, 9*time.Minute, 6*time.Minute+30*time.Second)
	b.notReady(m, message, 6*time.Minute)
	return m
}

// duplicate adds a node that Karpenter launched half a minute after a first one, before that
// was initialized.
func (b *Bundle) duplicate(m *Machine) {
	other := b.Launch(SickToo, "10.0.72.22", "b", m.Group, m.Age-30*time.Second)
	b.Join(other, m.Age-100*time.Second)
}

// tainted adds a 25-minute-old node that is Ready and keeps a startup taint.
func (b *Bundle) tainted(g Group, key string) *Machine {
	m := b.joined(g, 26*time.Minute)
	b.taint(m, key, "NoSchedule")
	if m.Claim != nil {
		m.unlabel("karpenter.sh/initialized")
		b.claimSays(m, "Initialized", "Unknown", "StartupTaintsExist", `StartupTaint "`+key+`:NoSchedule" still exists`, 25*time.Minute)
	}
	return m
}

// labelCases are about nodes whose labels differ from those that they were launched for.
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
			from(initialized), on((*Bundle).onArm, func(b *Bundle, m *Machine) *verdict {
				b.claimSays(m, "Initialized", "True", "Initialized", "", 24*time.Minute)
				return finds(m, "Uninitialized", "NodeLabelsMismatch").holds("NodeReady")
			})),
		broken("arm64-node-whose-labels-were-replaced", "A controller that knows the nodes of amd64 alone writes their labels on one of arm64, and takes Karpenter's mark of an initialized node off.",
			from(initialized, registration, wellKnown), on((*Bundle).onArm, func(b *Bundle, m *Machine) *verdict {
				b.claimSays(m, "Initialized", "True", "Initialized", "", 24*time.Minute)
				m.label(arch, "amd64")
				m.label("node.kubernetes.io/instance-type", "c5.xlarge")
				return finds(m, "Uninitialized", "NodeLabelsMismatch").holds("NodeReady")
			})).of(onARM),
		broken("registered-and-the-label-taken-off", "Karpenter registered the node, and somebody took that label off before it was initialized. Karpenter does not register a node twice. What does it is not in the instance.",
			from(registration, "https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/state/statenode.go"), on((*Bundle).onArm, func(_ *Bundle, m *Machine) *verdict {
				m.unlabel("karpenter.sh/registered")
				return finds(m, "Uninitialized", "NodeLabelsMismatch").holds("CauseOutside")
			})),
		misleading("arm64-node-labelled-amd64", "The NodeClaim asks for arm64, and instance and kubelet are arm64; something wrote the other architecture on the node. That keeps pods off it, and is not why Karpenter does not call it initialized: it compares no labels for that.",
			from(wellKnown, initialized, scheduling), on((*Bundle).onArm, func(_ *Bundle, m *Machine) *verdict {
				m.label(arch, "amd64")
				return finds(m, "Uninitialized", "").suggests("NodeLabelsMismatch")
			})).of(onARM),
		misleading("arm64-node-in-another-node-pool", "A controller that knows the node pool's old name writes it on the nodes of arm64 after Karpenter did; Karpenter writes its labels once. Why the node is not initialized is not in sight.",
			from(registration, "https://karpenter.sh/docs/concepts/nodepools/"), on((*Bundle).onArm, func(_ *Bundle, m *Machine) *verdict {
				m.label("karpenter.sh/nodepool", "batch-old")
				return finds(m, "Uninitialized", "").suggests("NodeLabelsMismatch")
			})).of(onARM),
		misleading("node-of-another-generation-than-asked-for", "The NodeClaim asks for an instance generation above 6, and the node's label says 6. Why it is not initialized is not in sight.",
			from(scheduling, registration), on((*Bundle).onArm, func(_ *Bundle, m *Machine) *verdict {
				m.asks("karpenter.k8s.aws/instance-generation", "Gt", "6")
				m.label("karpenter.k8s.aws/instance-generation", "6")
				return finds(m, "Uninitialized", "").suggests("NodeLabelsMismatch")
			})),
		misleading("node-pool-edited-while-the-agent-is-awaited", "The node pool was changed to amd64 after the node was launched: that is drift, and Karpenter replaces the node when it may. What keeps the node from its work is an agent's taint.",
			from(drift, docCilium), on((*Bundle).onArm, func(b *Bundle, m *Machine) *verdict {
				b.starts(m.Group, ciliumTaint, "NoSchedule")
				b.taint(m, ciliumTaint, "NoSchedule")
				b.claimSays(m, "Initialized", "Unknown", "StartupTaintsExist", `StartupTaint "`+ciliumTaint+`:NoSchedule" still exists`, 25*time.Minute)
				b.poolOf(m.Group)["spec"].(object)["template"].(object)["spec"].(object)["requirements"] = []object{{"key": arch, "operator": "In", "values": []string{"amd64"}}}
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").suggests("NodeLabelsMismatch")
			})).of(onARM),
		misleading("labels-as-asked-for-and-not-initialized", "The node meets each requirement of its NodeClaim, one of them by a label's older name and one with minValues, and has labels of the users' own. Why it is not initialized is not in sight.",
			from(registration, scheduling, "https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecrequirements"), on((*Bundle).onArm, func(_ *Bundle, m *Machine) *verdict {
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
			})).of(onARM),
		misleading("capacity-reservation-that-ended", "The instance was launched into a capacity reservation, which ended: Karpenter itself wrote on-demand on NodeClaim and node. Why the node is not initialized is not in sight.",
			from("https://github.com/aws/karpenter-provider-aws/blob/v1.14.0/pkg/controllers/capacityreservation/capacitytype/controller.go"), on((*Bundle).onArm, func(_ *Bundle, m *Machine) *verdict {
				m.asks("karpenter.sh/capacity-type", "In", "reserved")
				return finds(m, "Uninitialized", "").rulesOut("NodeLabelsMismatch")
			})),
		well("arm64-node-as-it-was-asked-for", "A node of arm64 of Karpenter's, initialized, with the labels that its NodeClaim asks for.",
			from(registration, scheduling), on((*Bundle).onArm, func(b *Bundle, m *Machine) *verdict {
				m.label("karpenter.sh/initialized", "true")
				b.claimSays(m, "Initialized", "True", "Initialized", "", 24*time.Minute)
				return nothing()
			})).of(onARM),
	}
}

// onArm adds a 25-minute-old arm64 Karpenter node that is Ready and not marked as initialized.
func (b *Bundle) onArm() *Machine {
	g := Batch
	g.Image, g.Type = imageAL2023arm, "c7g.xlarge"
	m := b.joined(g, 26*time.Minute)
	m.asks("kubernetes.io/arch", "In", "arm64")
	m.unlabel("karpenter.sh/initialized")
	b.claimSays(m, "Initialized", "Unknown", "AwaitingReconciliation", "object is awaiting reconciliation", 25*time.Minute)
	return m
}

// label sets a label on the machine's node.
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
