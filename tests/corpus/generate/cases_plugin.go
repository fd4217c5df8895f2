package generate

import "time"

// pluginCases are about clusters whose nodes wait for a network plugin, with or without one in
// the cluster.
func pluginCases() []Case {
	const (
		bare        = "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html"
		report      = "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3446"
		alternative = "https://docs.aws.amazon.com/eks/latest/userguide/alternate-cni-plugins.html"
		autoMode    = "https://docs.aws.amazon.com/eks/latest/userguide/auto-networking.html"
		gmsa        = "https://github.com/kubernetes-sigs/windows-gmsa/issues/113"
		admission   = "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy"
		hybrid      = "https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-cni.html"
	)
	// waiting lets two nodes of the node group wait for a plugin, and no other node is there.
	waiting := func(b *Bundle) (m, other *Machine) {
		m, other = b.cniWaits(Workers), b.healthy.worker
		b.neverReady(other)
		return m, other
	}
	// named is the verdict that there is no plugin, for both nodes.
	named := func(m, other *Machine) *verdict {
		return finds(m, "Uninitialized", "CniMissing", "CniNotReady").and(other, "Uninitialized", "CniMissing", "CniNotReady").holds("SharedCause")
	}
	// unnamed is the verdict that a plugin may be there.
	unnamed := func(m, other *Machine) *verdict {
		return finds(m, "Uninitialized", "CniNotReady").misses("CniMissing").and(other, "Uninitialized", "CniNotReady").misses("CniMissing").holds("")
	}
	// starved lets a node wait for the VPC CNI, which gets no pod there, beside a webhook on pods.
	starved := func(b *Bundle, endpoints int) *Machine {
		m := b.cniWaits(Workers)
		b.daemonSet("aws-node", "/opt/cni/bin", "/etc/cni/net.d")
		b.webhook("Fail", "pods", endpoints)
		return m
	}
	// inNamespaceOfItsOwn makes the plugin Calico's.
	inNamespaceOfItsOwn := func(b *Bundle) {
		meta := b.DaemonSets[len(b.DaemonSets)-1]["metadata"].(object)
		meta["name"], meta["namespace"] = "calico-node", "calico-system"
	}
	// selects is a selector of namespaces by their names.
	selects := func(operator string, names ...string) object {
		return object{"matchExpressions": []object{{"key": "kubernetes.io/metadata.name", "operator": operator, "values": names}}}
	}
	return []Case{
		broken("cluster-without-a-network-plugin", "kube-proxy is there and no network plugin, since the module that made the cluster installs the add-on after the node group.",
			from(report, bare), func(b *Bundle) *verdict {
				m, other := waiting(b)
				b.daemonSet("kube-proxy", "/lib/modules", "/run/xtables.lock")
				return named(m, other)
			}),
		broken("cluster-without-any-add-on", "The cluster was created without its default add-ons, and the node group says that its nodes are unhealthy, which each of them says itself.",
			from(report, bare, docNodegroupIssue), func(b *Bundle) *verdict {
				m, other := waiting(b)
				b.DaemonSets = []object{}
				b.unhealthyGroup(m, "NodeCreationFailure", "Unhealthy nodes in the kubernetes cluster")
				return finds(m, "Uninitialized", "CniMissing", "CniNotReady", "NodeGroupUnhealthy").and(other, "Uninitialized", "CniMissing", "CniNotReady", "NodeGroupUnhealthy").orders()
			}),
		broken("cluster-without-a-network-plugin-and-agents", "Agents for metrics and logs run on each node and mount parts of the host, none of which is a network plugin's.",
			from(bare, alternative), func(b *Bundle) *verdict {
				m, other := waiting(b)
				b.daemonSet("kube-proxy", "/lib/modules", "/run/xtables.lock")
				b.daemonSet("fluent-bit", "/var/log", "/var/lib/docker/containers")
				b.daemonSet("ebs-csi-node", "/var/lib/kubelet", "/dev")
				return named(m, other)
			}),
		broken("node-group-beside-auto-mode-without-a-network-plugin", "A node of Auto Mode works, whose network plugin is a part of its AMI. For the node group nobody installed one.",
			from(autoMode, bare), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.ofAutoMode(b.healthy.worker)
				b.daemonSet("kube-proxy", "/lib/modules", "/run/xtables.lock")
				return finds(m, "Uninitialized", "CniMissing", "CniNotReady").holds("CauseOutside")
			}),
		broken("network-plugin-without-a-pod", "The VPC CNI's DaemonSet is there, and has no pod on any node. That is not for want of a plugin; why it has none is not in sight.",
			from(docTroubleshooting), func(b *Bundle) *verdict {
				m, other := waiting(b)
				b.daemonSet("aws-node", "/opt/cni/bin", "/etc/cni/net.d")
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("CniMissing").and(other, "Uninitialized", "CniNotReady").rulesOut("CniMissing").holds("")
			}),
		broken("network-plugin-of-ones-own-that-works-elsewhere", "A plugin that nobody else knows, and another node of the cluster has its network from it.",
			from(alternative), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.daemonSet("netd")
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("CniMissing")
			}),
		broken("network-plugin-of-ones-own-that-works-nowhere", "A plugin that nobody else knows, by the folder of the host into which it installs itself. It has no pod on these nodes.",
			from(alternative, "https://github.com/containerd/containerd/blob/main/docs/cri/config.md"), func(b *Bundle) *verdict {
				m, other := waiting(b)
				b.daemonSet("netd", "/etc/cni/net.d")
				return unnamed(m, other)
			}),
		broken("agent-that-mounts-the-whole-host", "An agent mounts the root of the host, and might install anything there.",
			from(alternative), func(b *Bundle) *verdict {
				m, other := waiting(b)
				b.daemonSet("host-agent", "/")
				return unnamed(m, other)
			}),
		misleading("daemonsets-were-not-captured", "Both nodes wait for a network plugin, and whether the cluster has one was not captured.",
			from(bare), func(b *Bundle) *verdict {
				m, other := waiting(b)
				return finds(m, "Uninitialized", "").suggests("CniNotReady").misses("CniMissing").and(other, "Uninitialized", "").suggests("CniNotReady").misses("CniMissing").holds("")
			}),
		broken("auto-mode-node-waits-for-its-network", "A node of Auto Mode has its network plugin from its AMI, and waits for it. A cluster of such nodes has no DaemonSet of one, and needs none.",
			from(autoMode), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.ofAutoMode(m)
				b.ofAutoMode(b.healthy.worker)
				b.DaemonSets = []object{}
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("CniMissing").orders()
			}),
		broken("cilium-for-hybrid-nodes-alone", "A hybrid node works with Cilium, whose DaemonSet selects hybrid nodes alone. The node group's nodes have no pod of it; that the cluster has no plugin is not so.",
			from(hybrid), func(b *Bundle) *verdict {
				m, other := waiting(b)
				b.hybrid("mi-0a1b2c3d4e5f60718")
				b.daemonSet("cilium", "/opt/cni/bin", "/etc/cni/net.d")
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("CniMissing").and(other, "Uninitialized", "CniNotReady").rulesOut("CniMissing").holds("")
			}),
		broken("webhook-without-endpoints-and-no-pod-of-the-plugin", "A webhook without endpoints must approve each new pod, that of the network plugin too, which this node therefore has not got.",
			from(gmsa, admission), func(b *Bundle) *verdict {
				m := starved(b, 0)
				return finds(m, "Uninitialized", "AdmissionWebhookBlocks", "CniNotReady").rulesOut("CniMissing").holds("CauseOutside")
			}),
		misleading("webhook-on-pods-of-some-namespaces", "The webhook asks about namespaces with a label. Whether kube-system has it is not known.",
			from(gmsa, admission), func(b *Bundle) *verdict {
				m := starved(b, 0)
				b.lastWebhook()["namespaceSelector"] = object{"matchLabels": object{"team": "payments"}}
				return finds(m, "Uninitialized", "").suggests("AdmissionWebhookBlocks", "CniNotReady")
			}),
		broken("webhook-on-pods-of-all-namespaces-but-its-own", "The webhook excludes the namespace in which it runs, by its name, and has no endpoints: the network plugin's pod must be approved.",
			from("https://github.com/kyverno/kyverno/issues/4686", admission), func(b *Bundle) *verdict {
				m := starved(b, 0)
				b.lastWebhook()["namespaceSelector"] = selects("NotIn", "capsule-system")
				return finds(m, "Uninitialized", "AdmissionWebhookBlocks", "CniNotReady").holds("CauseOutside")
			}),
		broken("webhook-on-pods-of-the-plugins-namespace", "The network plugin is Calico's, in a namespace of its own, of whose pods the webhook is asked.",
			from("https://github.com/kyverno/kyverno/issues/4686", alternative), func(b *Bundle) *verdict {
				m := starved(b, 0)
				inNamespaceOfItsOwn(b)
				b.lastWebhook()["namespaceSelector"] = selects("In", "kube-system", "calico-system")
				return finds(m, "Uninitialized", "AdmissionWebhookBlocks", "CniNotReady").holds("CauseOutside")
			}),
		misleading("webhook-on-pods-that-leaves-the-plugins-namespace-alone", "The network plugin is Calico's, and the webhook is asked of kube-system alone.",
			from(alternative, admission), func(b *Bundle) *verdict {
				m := starved(b, 0)
				inNamespaceOfItsOwn(b)
				b.lastWebhook()["namespaceSelector"] = selects("In", "kube-system")
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("AdmissionWebhookBlocks")
			}),
		misleading("webhook-on-pods-and-no-daemonsets", "Nobody captured the DaemonSets: in which namespace the network plugin runs, and whether the webhook is asked about its pod, is not known.",
			from(alternative, admission), func(b *Bundle) *verdict {
				m := starved(b, 0)
				b.Lacks("daemonsets.json")
				b.lastWebhook()["namespaceSelector"] = selects("NotIn", "capsule-system")
				return finds(m, "Uninitialized", "").suggests("AdmissionWebhookBlocks", "CniNotReady")
			}),
		broken("webhook-on-pods-that-leaves-kube-system-alone", "The webhook has no endpoints, and excludes kube-system, as guides tell: it does not concern the network plugin.",
			from(gmsa, "https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name"), func(b *Bundle) *verdict {
				m := starved(b, 0)
				b.lastWebhook()["namespaceSelector"] = selects("NotIn", "kube-system")
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("AdmissionWebhookBlocks")
			}),
		broken("webhook-on-pods-that-answers", "The same webhook, and it has endpoints.",
			from(gmsa, admission), func(b *Bundle) *verdict {
				return finds(starved(b, 2), "Uninitialized", "CniNotReady").rulesOut("AdmissionWebhookBlocks")
			}),
		broken("webhook-on-pods-and-the-plugin-crashes", "The webhook has no endpoints, and the network plugin's pod is on the node, where it crashes for another reason.",
			from(gmsa, docTroubleshooting), func(b *Bundle) *verdict {
				m := starved(b, 0)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady").rulesOut("AdmissionWebhookBlocks")
			}),
		broken("memory-ran-out-and-the-status-check-fails", "The kubelet's last events tell of too little memory. EC2's check of the instance fails minutes later, for the same reason.",
			from("https://github.com/aws/karpenter-provider-aws/issues/6670", docStatusChecks), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.nodeEvent(m, "kubelet", "NodeHasInsufficientMemory", "Node "+m.Name()+" status is now: NodeHasInsufficientMemory", "Normal", 50*time.Minute, 1)
				b.nodeEvent(m, "kubelet", "SystemOOM", "System OOM encountered, victim process: java, pid: 20417", "Warning", 48*time.Minute, 1)
				b.impaired(m, "InstanceStatus", 42*time.Minute)
				return finds(m, "Unknown", "MemoryPressurePreceded", "OutOfMemory", "InstanceStatusImpaired", "KubeletSilent").
					and(m, "Impaired", "MemoryPressurePreceded", "OutOfMemory", "InstanceStatusImpaired")
			})).of(silence),
		misleading("role-no-longer-mapped-and-the-status-check-fails", "The role of a silent node is in no store, and EC2's check of the instance fails: a role that is not mapped is no reason for that.",
			from(docAuthMode, docStatusChecks), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.unmap(Workers)
				b.impaired(m, "InstanceStatus", 42*time.Minute)
				return finds(m, "Unknown", "InstanceStatusImpaired").suggests("NodeRoleNotMapped", "KubeletSilent").and(m, "Impaired", "InstanceStatusImpaired")
			})),
		misleading("nodeadm-fails-behind-resolvers-of-its-own", "The VPC's DHCP options name the company's resolvers, and nodeadm failed on the instance: that the resolvers are why is likely, and not proven.",
			from("https://docs.aws.amazon.com/vpc/latest/userguide/VPC_DHCP_Options.html", docTroubleshooting), func(b *Bundle) *verdict {
				b.RemoveAll()
				b.resolvers()
				m := b.Unregistered(BatchGroup)
				b.Console[m.ID] = console("[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")
				return unregistered(m, "").suggests("DhcpOptionsWrong", "NodeadmFailed")
			}),
		broken("nodeadm-fails-behind-amazons-resolver", "The same failure, and the VPC has Amazon's resolver: what nodeadm says is all that is known.",
			from(docTroubleshooting), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console("[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")
				return unregistered(m, "NodeadmFailed").rulesOut("DhcpOptionsWrong")
			})),
	}
}

// daemonSet adds a DaemonSet in kube-system whose pods mount these paths of the host.
func (b *Bundle) daemonSet(name string, paths ...string) {
	volumes := []object{{"name": "tmp", "emptyDir": object{}}}
	for _, p := range paths {
		volumes = append(volumes, object{"name": "host", "hostPath": object{"path": p, "type": ""}})
	}
	b.DaemonSets = append(b.DaemonSets, object{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": object{"name": name, "namespace": "kube-system", "creationTimestamp": b.kubeTime(20 * day), "labels": object{"k8s-app": name}},
		"spec": object{
			"selector": object{"matchLabels": object{"k8s-app": name}},
			"template": object{"spec": object{"hostNetwork": true, "containers": []object{{"name": name, "image": name + ":v1"}}, "volumes": volumes}},
		},
		"status": object{"desiredNumberScheduled": 2, "currentNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0},
	})
}

// ofAutoMode makes a machine one of EKS Auto Mode.
func (b *Bundle) ofAutoMode(m *Machine) {
	m.Instance["Operator"] = object{"Managed": true, "Principal": "eks.amazonaws.com"}
	m.Instance["Tags"] = []object{{"Key": "kubernetes.io/cluster/" + Cluster, "Value": "owned"}, {"Key": "eks:eks-cluster-name", "Value": Cluster}}
	b.Members = without(b.Members, "InstanceId", m.ID)
	labels := m.Node["metadata"].(object)["labels"].(object)
	delete(labels, "eks.amazonaws.com/nodegroup")
	labels["eks.amazonaws.com/compute-type"], labels["karpenter.sh/nodepool"] = "auto", "general-purpose"
	labels["karpenter.sh/registered"], labels["karpenter.sh/initialized"] = "true", "true"
}

// hybrid adds a Ready hybrid node.
func (b *Bundle) hybrid(name string) {
	b.Nodes = append(b.Nodes, object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": name, "uid": uid("node", name), "creationTimestamp": b.kubeTime(day), "labels": object{"eks.amazonaws.com/compute-type": "hybrid", "kubernetes.io/os": "linux"}},
		"spec":     object{"providerID": "eks-hybrid:///" + Region + "/" + Cluster + "/" + name},
		"status":   object{"conditions": []object{b.condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", day)}},
	})
}

// lastWebhook returns the webhook that was added last.
func (b *Bundle) lastWebhook() object {
	return b.Validating[len(b.Validating)-1]["webhooks"].([]object)[0]
}
