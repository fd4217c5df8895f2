package generate

import "time"

// pool adds Karpenter's NodePool and EC2NodeClass of a group.
func (b *Bundle) pool(g Group) {
	for _, p := range b.NodePools {
		if p["metadata"].(object)["name"] == g.Name {
			return
		}
	}
	b.NodePools = append(b.NodePools, object{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool",
		"metadata": object{"name": g.Name, "uid": uid("nodepool", g.Name), "creationTimestamp": "2025-07-01T10:00:00Z", "generation": 1},
		"spec": object{
			"disruption": object{"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m"},
			"template": object{"spec": object{
				"expireAfter": "720h", "nodeClassRef": object{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": g.Name},
				"requirements": []object{{"key": "kubernetes.io/arch", "operator": "In", "values": []string{kubeArch(g.Image)}}},
			}},
		},
		"status": object{"conditions": []object{
			{"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2025-07-01T10:00:05Z"},
			{"type": "NodeRegistrationHealthy", "status": "True", "reason": "NodeRegistrationHealthy", "message": "", "lastTransitionTime": "2025-07-01T10:03:00Z"},
		}},
	})
	b.NodeClasses = append(b.NodeClasses, object{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
		"metadata": object{"name": g.Name, "creationTimestamp": "2025-07-01T10:00:00Z", "generation": 1},
		"spec": object{
			"amiFamily": g.Image.OS, "amiSelectorTerms": []object{{"id": g.Image.ID}}, "role": g.Role,
			"subnetSelectorTerms":        []object{{"tags": object{"karpenter.sh/discovery": Cluster}}},
			"securityGroupSelectorTerms": []object{{"id": g.firewall()}},
			"metadataOptions":            object{"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"},
		},
		"status": object{"instanceProfile": g.Profile(), "conditions": []object{
			{"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2025-07-01T10:00:05Z"},
		}},
	})
}

func kubeArch(i Image) string {
	if i.Arch == "arm64" {
		return "arm64"
	}
	return "amd64"
}

// claimName is the name of the machine's NodeClaim.
func (m *Machine) claimName() string { return m.Group.Name + "-" + m.suffix() }

// claim is the NodeClaim of an instance that Karpenter launched and that is no node yet.
func (b *Bundle) claim(m *Machine) object {
	return object{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": object{
			"name": m.claimName(), "uid": uid("nodeclaim", m.ID), "creationTimestamp": b.kubeTime(m.Age + 4*time.Second), "generation": 1,
			"labels":          object{"karpenter.sh/nodepool": m.Group.Name, "karpenter.sh/capacity-type": "on-demand", "topology.kubernetes.io/zone": Region + m.Zone},
			"finalizers":      []string{"karpenter.sh/termination"},
			"ownerReferences": []object{{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": m.Group.Name, "uid": uid("nodepool", m.Group.Name), "blockOwnerDeletion": true}},
		},
		"spec": object{"expireAfter": "720h", "nodeClassRef": object{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": m.Group.Name}, "requirements": []object{}},
		"status": object{
			"imageID": m.Group.Image.ID, "providerID": m.providerID(),
			"conditions": []object{
				b.claimCondition("Launched", "True", "Launched", "", m.Age),
				b.claimCondition("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster", m.Age),
				b.claimCondition("Initialized", "Unknown", "NodeNotFound", "Node not registered with cluster", m.Age),
				b.claimCondition("Ready", "Unknown", "ReconcilingDependents", "Initialized=Unknown, Registered=Unknown", m.Age),
			},
		},
	}
}

func (b *Bundle) claimCondition(kind, status, reason, message string, since time.Duration) object {
	return object{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": b.kubeTime(since), "observedGeneration": 1}
}

// claimSays changes a condition of a machine's NodeClaim.
func (b *Bundle) claimSays(m *Machine, kind, status, reason, message string, since time.Duration) {
	s := m.Claim["status"].(object)
	for i, c := range s["conditions"].([]object) {
		if c["type"] == kind {
			s["conditions"].([]object)[i] = b.claimCondition(kind, status, reason, message, since)
		}
	}
}

// poolOf is the NodePool of a group.
func (b *Bundle) poolOf(g Group) object {
	for _, p := range b.NodePools {
		if p["metadata"].(object)["name"] == g.Name {
			return p
		}
	}
	panic("no node pool " + g.Name)
}

// starts declares a startup taint of a node pool.
func (b *Bundle) starts(g Group, key, effect string) {
	spec := b.poolOf(g)["spec"].(object)["template"].(object)["spec"].(object)
	spec["startupTaints"] = []object{{"key": key, "effect": effect}}
}
