package generate

import (
	"fmt"
	"strings"
	"time"
)

// uid returns the UID of a Kubernetes object, derived from its kind and name.
func uid(kind, name string) string {
	t := strings.ToLower(token(kind + "/" + name))
	return fmt.Sprintf("%s%s-4c1e-4f0a-9b7d-%s", t[:4], t[4:8], t[5:17])
}

// Join makes a machine a node that has been Ready since it was created, age ago.
func (b *Bundle) Join(m *Machine, age time.Duration) {
	g := m.Group
	delete(b.UserData, m.ID)
	m.Node = object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": m.Name(), "uid": uid("node", m.ID), "creationTimestamp": b.kubeTime(age), "labels": labels(m)},
		"spec":     object{"providerID": m.providerID()},
		"status": object{
			"addresses":   []object{{"type": "InternalIP", "address": m.Address}, {"type": "Hostname", "address": m.Name()}},
			"allocatable": object{"cpu": "1930m", "memory": "7220184Ki", "pods": "29"},
			"conditions": []object{
				b.condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", age),
				b.condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", age),
				b.condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available", age),
				b.condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", age-20*time.Second),
			},
			"nodeInfo": object{
				"architecture": kubeArch(g.Image), "operatingSystem": "linux", "kubeletVersion": g.Image.Kubelet, "osImage": osImage(g.Image),
				"containerRuntimeVersion": "containerd://2.1.5", "kernelVersion": kernel(g.Image), "bootID": uid("boot", m.ID),
			},
		},
	}
	m.Lease = object{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": object{"name": m.Name(), "namespace": "kube-node-lease", "creationTimestamp": b.kubeTime(age)},
		"spec":     object{"holderIdentity": m.Name(), "leaseDurationSeconds": 40, "renewTime": b.microTime(4 * time.Second)},
	}
	b.Nodes, b.Leases = append(b.Nodes, m.Node), append(b.Leases, m.Lease)
	if m.Claim != nil {
		m.Claim["status"].(object)["nodeName"] = m.Name()
		b.claimSays(m, "Registered", "True", "Registered", "", age-time.Second)
		b.claimSays(m, "Initialized", "True", "Initialized", "", age-25*time.Second)
		b.claimSays(m, "Ready", "True", "Ready", "", age-25*time.Second)
	}
}

func labels(m *Machine) object {
	system := "linux"
	if m.Group.Image.OS == windows {
		system = "windows"
	}
	l := object{
		"kubernetes.io/arch": kubeArch(m.Group.Image), "kubernetes.io/os": system, "kubernetes.io/hostname": m.Name(),
		"node.kubernetes.io/instance-type": m.Group.Type, "topology.kubernetes.io/region": Region, "topology.kubernetes.io/zone": Region + m.Zone,
	}
	switch m.Group.Owner {
	case byKarpenter:
		l["karpenter.sh/nodepool"], l["karpenter.sh/capacity-type"] = m.Group.Name, "on-demand"
		l["karpenter.sh/registered"], l["karpenter.sh/initialized"] = "true", "true"
	case byNodeGroup:
		l["eks.amazonaws.com/nodegroup"], l["eks.amazonaws.com/nodegroup-image"] = m.Group.Name, m.Group.Image.ID
	}
	return l
}

func osImage(i Image) string {
	return map[string]string{al2023: "Amazon Linux 2023.10.20260216", al2: "Amazon Linux 2", bottlerocket: "Bottlerocket OS 1.55.0 (aws-k8s-1.35)"}[i.OS]
}

func kernel(i Image) string {
	return map[string]string{al2023: "6.12.68-92.122.amzn2023." + i.Arch, al2: "5.10.245-241.978.amzn2." + i.Arch, bottlerocket: "6.12.66"}[i.OS]
}

func (b *Bundle) condition(kind, status, reason, message string, since time.Duration) object {
	return object{
		"type": kind, "status": status, "reason": reason, "message": message,
		"lastHeartbeatTime": b.kubeTime(min(since, 90*time.Second)), "lastTransitionTime": b.kubeTime(since),
	}
}

// says sets a node's condition, since this long ago.
func (b *Bundle) says(m *Machine, kind, status, reason, message string, since time.Duration) {
	s := m.Node["status"].(object)
	list := s["conditions"].([]object)
	for i, c := range list {
		if c["type"] == kind {
			list[i] = b.condition(kind, status, reason, message, since)
			return
		}
	}
	s["conditions"] = append(list, b.condition(kind, status, reason, message, since))
}

// Why a node is not Ready, in the words of the kubelet and the node lifecycle controller.
const (
	runtimeDown      = "[container runtime is down, PLEG is not healthy: pleg was last seen active 21m6.31s ago; threshold is 3m0s]"
	noCNI            = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
	runtimeUnchecked = "[container runtime status check may not have completed yet]"
	kubeletUnstarted = "[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful, " + noCNI + "]"
)

// notReady makes the kubelet report that the node is not ready, since this long ago.
func (b *Bundle) notReady(m *Machine, message string, since time.Duration) {
	b.says(m, "Ready", "False", "KubeletNotReady", message, since)
	b.taint(m, "node.kubernetes.io/not-ready", "NoSchedule")
}

// silent makes a node stop reporting: the control plane overwrites each of its conditions, 40 s
// after the lease was last renewed.
func (b *Bundle) silent(m *Machine, since time.Duration) {
	list := m.Node["status"].(object)["conditions"].([]object)
	for i, c := range list {
		kind := c["type"].(string)
		list[i] = b.condition(kind, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", since)
		list[i]["lastHeartbeatTime"] = b.kubeTime(since + 100*time.Second)
	}
	m.Lease["spec"].(object)["renewTime"] = b.microTime(since + 42*time.Second)
	b.taint(m, "node.kubernetes.io/unreachable", "NoSchedule")
	b.taint(m, "node.kubernetes.io/unreachable", "NoExecute")
	b.nodeEvent(m, "node-controller", "NodeNotReady", fmt.Sprintf("Node %s status is now: NodeNotReady", m.Name()), "Normal", since, 1)
}

// taint adds a taint to a node.
func (b *Bundle) taint(m *Machine, key, effect string) {
	spec := m.Node["spec"].(object)
	taints, _ := spec["taints"].([]object)
	t := object{"key": key, "effect": effect}
	if effect == "NoExecute" {
		t["timeAdded"] = b.kubeTime(time.Minute)
	}
	spec["taints"] = append(taints, t)
}

// unlabel removes a label from a node.
func (m *Machine) unlabel(key string) {
	delete(m.Node["metadata"].(object)["labels"].(object), key)
}

// nodeEvent adds an event about a node.
func (b *Bundle) nodeEvent(m *Machine, from, reason, message, kind string, last time.Duration, count int) {
	b.event(object{"kind": "Node", "name": m.Name(), "uid": m.Name()}, "default", from, reason, message, kind, last, count)
}

// claimEvent adds an event about a NodeClaim, from Karpenter.
func (b *Bundle) claimEvent(m *Machine, reason, message, kind string, last time.Duration) {
	about := object{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": m.claimName(), "uid": uid("nodeclaim", m.ID)}
	b.event(about, "default", "karpenter", reason, message, kind, last, 1)
}

func (b *Bundle) event(about object, namespace, from, reason, message, kind string, last time.Duration, count int) {
	first := last + time.Duration(count-1)*time.Minute
	b.Events = append(b.Events, object{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       object{"name": fmt.Sprintf("%s.%x", about["name"], 0x189b4d1c00000000+len(b.Events)), "namespace": namespace, "creationTimestamp": b.kubeTime(first)},
		"involvedObject": about, "reason": reason, "message": message, "type": kind, "count": count,
		"firstTimestamp": b.kubeTime(first), "lastTimestamp": b.kubeTime(last),
		"source": object{"component": from}, "reportingComponent": from, "reportingInstance": "",
	})
}

// kubeletStarts adds events for the kubelet's starts, each this long ago.
func (b *Bundle) kubeletStarts(m *Machine, ages ...time.Duration) {
	for _, a := range ages {
		b.nodeEvent(m, "kubelet", "Starting", "Starting kubelet.", "Normal", a, 1)
	}
}

// pod adds a pod of a DaemonSet in kube-system to a node: running, or waiting for a
// reason such as CrashLoopBackOff.
func (b *Bundle) pod(m *Machine, set, waiting, message string) object {
	name := set + "-" + m.suffix()
	state, ready := object{"running": object{"startedAt": b.kubeTime(10 * time.Minute)}}, true
	if waiting != "" {
		state, ready = object{"waiting": object{"reason": waiting, "message": message}}, false
	}
	p := object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{
			"name": name, "namespace": "kube-system", "creationTimestamp": b.kubeTime(20 * time.Minute), "labels": object{"k8s-app": set},
			"ownerReferences": []object{{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": set, "uid": uid("daemonset", set), "controller": true}},
		},
		"spec": object{"nodeName": m.Name(), "containers": []object{{"name": set}}},
		"status": object{
			"phase": "Running", "conditions": []object{{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[ready]}},
			"containerStatuses": []object{{"name": set, "ready": ready, "restartCount": map[bool]int{true: 0, false: 8}[ready], "state": state}},
		},
	}
	b.Pods = append(b.Pods, p)
	return p
}

// podEvent adds an event about a pod in kube-system.
func (b *Bundle) podEvent(pod object, reason, message string, last time.Duration, count int) {
	name := pod["metadata"].(object)["name"].(string)
	b.event(object{"kind": "Pod", "namespace": "kube-system", "name": name, "uid": uid("pod", name)}, "kube-system", "kubelet", reason, message, "Warning", last, count)
}

// short makes a node run short of something, since this long ago.
func (b *Bundle) short(m *Machine, kind, reason, message string, since time.Duration) {
	b.says(m, kind, "True", reason, message, since)
	b.taint(m, map[string]string{"MemoryPressure": "node.kubernetes.io/memory-pressure", "DiskPressure": "node.kubernetes.io/disk-pressure"}[kind], "NoSchedule")
}

// workload adds a pod of a Deployment to a node, with the resources of its one container. used
// is its usage when the kubelet evicted it, "" if it runs.
func (b *Bundle) workload(m *Machine, app string, resources object, used string) {
	status := object{"phase": "Running", "conditions": []object{{"type": "Ready", "status": "True"}}}
	if used != "" {
		requests, _ := resources["requests"].(object)
		status = object{"phase": "Failed", "reason": "Evicted", "message": fmt.Sprintf(
			"The node was low on resource: memory. Threshold quantity: 100Mi, available: 91204Ki. Container %s was using %s, request is %v, has larger consumption of memory. ", app, used, requests["memory"])}
	}
	b.Pods = append(b.Pods, object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{
			"name": app + "-6c9f7d5b8-" + m.suffix(), "namespace": "shop", "creationTimestamp": b.kubeTime(5 * time.Hour), "labels": object{"app": app},
			"ownerReferences": []object{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app + "-6c9f7d5b8", "uid": uid("replicaset", app), "controller": true}},
		},
		"spec":   object{"nodeName": m.Name(), "containers": []object{{"name": app, "resources": resources}}},
		"status": status,
	})
}

// rememberedOfGroup adds nodes of the group that had a condition this long ago and are gone.
func (b *Bundle) rememberedOfGroup(m *Machine, kind string, ago ...time.Duration) {
	var all []object
	for n, since := range ago {
		id := fmt.Sprintf("i-0bad00000000009%02d", n+1)
		all = append(all, object{"instance": id, "node": fmt.Sprintf("ip-10-0-41-%d.eu-west-1.compute.internal", 90+n), "type": kind, "since": b.kubeTime(since)})
	}
	b.Ledger["nodes"].(object)[m.Name()].(object)["groupPressures"] = all
}

// remembered adds what an earlier check observed about a node: one condition, and when.
func (b *Bundle) remembered(m *Machine, kind, status, reason, message string, since, seen time.Duration) {
	b.Ledger = object{"nodes": object{m.Name(): object{
		"at":         b.kubeTime(seen),
		"conditions": []object{b.condition(kind, status, reason, message, since), b.condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", 5*day)},
	}}}
}
