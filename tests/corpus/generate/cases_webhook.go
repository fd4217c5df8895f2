package generate

import "time"

// webhookCases are about nodes that wait for somebody to change them, and webhooks that must
// approve that.
func webhookCases() []Case {
	const (
		unregistered = "karpenter.sh/unregistered"
		cloud        = "node.cloudprovider.kubernetes.io/uninitialized"
		admission    = "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy"
		conditions   = "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#taintnodesbycondition"
		registration = "https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go"
	)
	// waits adds a Karpenter node that registered 25 minutes ago and that nobody changed since.
	waits := func(b *Bundle) *Machine {
		m := b.joined(Batch, 26*time.Minute)
		b.taint(m, unregistered, "NoExecute")
		b.neverReady(m)
		m.unlabel("karpenter.sh/registered")
		b.claimSays(m, "Registered", "Unknown", "NodeNotFound", "Node not registered with cluster", 25*time.Minute)
		return m
	}
	// unheard silences all nodes of the cluster.
	unheard := func(b *Bundle) (m, other *Machine) {
		m, other = silentWorker(b), b.healthy.worker
		b.silent(other, 44*time.Minute)
		return m, other
	}
	lifecycle := "https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/nodelifecycle/node_lifecycle_controller.go"
	return []Case{
		broken("webhook-without-endpoints-and-a-kubelet-that-lives", "The control plane lost sight of the node for a while and marked it Unknown. Its kubelet renews its lease again, and a webhook without endpoints must approve the status with which it would become Ready.",
			from(admission, lifecycle), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				m.Lease["spec"].(object)["renewTime"] = b.microTime(5 * time.Second)
				b.webhook("Fail", "nodes/status", 0)
				return finds(m, "Unknown", "AdmissionWebhookBlocks").holds("CauseOutside")
			})),
		misleading("webhook-without-endpoints-and-a-silent-kubelet", "The same webhook, and the kubelet does not renew its lease either, which the webhook is not asked about.",
			from(admission, lifecycle), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.webhook("Fail", "nodes/status", 0)
				return finds(m, "Unknown", "KubeletSilent")
			})),
		broken("webhook-on-everything-without-endpoints", "A policy engine's webhook is asked about every change outside of kube-system and its own namespace, and its pods are gone. So no kubelet can renew its lease or report its status, and all nodes are silent.",
			from("https://github.com/open-policy-agent/gatekeeper/issues/3829", "https://blog.jetstack.io/blog/gke-webhook-outage/", admission), func(b *Bundle) *verdict {
				m, other := unheard(b)
				b.webhookOnEverything()
				return finds(m, "Unknown", "AdmissionWebhookBlocks", "KubeletSilent").and(other, "Unknown", "AdmissionWebhookBlocks", "KubeletSilent").holds("SharedCause")
			}),
		misleading("webhook-on-everything-but-leases-without-endpoints", "The same webhook, which leaves the namespace of the nodes' leases alone: their kubelets could renew them.",
			from("https://kyverno.io/docs/installation/customization/#namespace-selectors", admission), func(b *Bundle) *verdict {
				m, other := unheard(b)
				b.webhookOnEverything("kube-node-lease")
				return finds(m, "Unknown", "KubeletSilent").and(other, "Unknown", "KubeletSilent").orders()
			}),
		misleading("webhook-on-everything-without-endpoints-and-a-node-that-works", "The same webhook, and another node of the cluster renews its lease all the time.",
			from(admission), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.webhookOnEverything()
				return finds(m, "Unknown", "KubeletSilent")
			})),
		broken("webhook-without-endpoints-and-karpenters-taint", "A webhook without endpoints must approve each change of a node, so Karpenter cannot take its taint off. That the taint is there says nothing of Karpenter or the node.",
			from(admission, registration), on(waits, func(b *Bundle, m *Machine) *verdict {
				b.webhook("Fail", "nodes", 0)
				return finds(m, "Uninitialized", "AdmissionWebhookBlocks", "CniNotReady").suggests("StartupTaintNotRemoved").holds("")
			})),
		broken("webhook-without-endpoints-and-the-cloud-providers-taint", "The same webhook, and the cloud controller cannot take its taint off a node that its network plugin did not make ready.",
			from(admission, "https://kubernetes.io/docs/reference/labels-annotations-taints/#node-cloudprovider-kubernetes-io-uninitialized"), func(b *Bundle) *verdict {
				m := b.cniWaits(Workers)
				b.taint(m, cloud, "NoSchedule")
				b.webhook("Fail", "nodes", 0)
				return finds(m, "Uninitialized", "AdmissionWebhookBlocks", "CniNotReady").suggests("StartupTaintNotRemoved").holds("")
			}),
		misleading("webhook-that-perhaps-is-asked-and-karpenters-taint", "The webhook asks about some nodes by their labels. Whether this one is among them is not certain, nor is why the taint remains.",
			from(admission, "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-objectselector"), on(waits, func(b *Bundle, m *Machine) *verdict {
				b.webhook("Fail", "nodes", 0)
				b.Validating[len(b.Validating)-1]["webhooks"].([]object)[0]["objectSelector"] = object{"matchLabels": object{"capsule.clastix.io/tenant": "oil"}}
				return finds(m, "Uninitialized", "").suggests("AdmissionWebhookBlocks", "StartupTaintNotRemoved", "CniNotReady").orders()
			})),
		misleading("webhook-not-captured-and-karpenters-taint", "Nobody captured the webhooks of the cluster: what keeps the taint on the node is open.",
			from(admission, registration), on(waits, func(b *Bundle, m *Machine) *verdict {
				b.Lacks("webhooks.json", "endpointslices.json")
				return finds(m, "Uninitialized", "").suggests("StartupTaintNotRemoved", "CniNotReady").misses("AdmissionWebhookBlocks")
			})),
		misleading("webhook-that-answers-and-karpenters-taint", "The webhook has endpoints: Karpenter leaves its taint on the node for another reason.",
			from(admission, registration), on(waits, func(b *Bundle, m *Machine) *verdict {
				b.webhook("Fail", "nodes", 2)
				return finds(m, "Uninitialized", "StartupTaintNotRemoved", "CniNotReady").rulesOut("AdmissionWebhookBlocks")
			})),
		misleading("webhook-that-is-ignored-and-karpenters-taint", "The webhook has no endpoints, and its failurePolicy is Ignore: it keeps nobody from changing a node.",
			from(admission, registration), on(waits, func(b *Bundle, m *Machine) *verdict {
				b.webhook("Ignore", "nodes", 0)
				return finds(m, "Uninitialized", "StartupTaintNotRemoved", "CniNotReady").rulesOut("AdmissionWebhookBlocks")
			})),
		misleading("webhooks-not-captured-and-the-node-was-changed", "The node is Ready, and its taint not-ready is gone: the node controller could change it since. The EBS driver leaves its own taint on, whatever webhooks there are.",
			from(conditions, "https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/install.md"), func(b *Bundle) *verdict {
				m := b.tainted(Workers, ebsTaint)
				b.Lacks("webhooks.json", "endpointslices.json")
				return finds(m, "Uninitialized", "StartupTaintNotRemoved").misses("AdmissionWebhookBlocks")
			}),
	}
}

// webhookOnEverything adds a webhook on all that there is, outside of kube-system and other namespaces, whose
// service has no endpoints.
func (b *Bundle) webhookOnEverything(but ...string) {
	b.webhook("Fail", "*/*", 0)
	b.lastWebhook()["rules"].([]object)[0]["apiGroups"] = []string{"*"}
	b.lastWebhook()["namespaceSelector"] = object{"matchExpressions": []object{{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": append([]string{"kube-system", "capsule-system"}, but...)}}}
}
