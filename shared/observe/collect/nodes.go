package collect

import (
	"slices"
	"strings"
	"time"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/redact"
	"rollcall/shared/kube"
)

// ofNodes returns the task that reads one fact of each node of the sample.
func ofNodes[V any](l *look, n need, read func(t *topic, name string) evidence.Fact[V], place func(*evidence.Node) *evidence.Fact[V]) func() {
	set := func(name string, fact evidence.Fact[V]) {
		l.node(name, func(n *evidence.Node) { *place(n) = fact })
	}
	return func() {
		t := l.topic()
		names, skipped := l.sampledNodes(n)
		for _, name := range names {
			set(name, read(t, name))
		}
		for name, why := range skipped {
			set(name, evidence.Skipped[V](why))
		}
	}
}

// readNodes returns the tasks that read the nodes of the sample, one for each question.
func (l *look) readNodes() []func() {
	return []func(){
		ofNodes(l, needNode, func(t *topic, name string) evidence.Fact[evidence.NodeObject] {
			return object(t, kube.ANode(name), nodeObject)
		}, func(n *evidence.Node) *evidence.Fact[evidence.NodeObject] { return &n.Object }),
		ofNodes(l, needNode, func(t *topic, name string) evidence.Fact[evidence.Lease] {
			return object(t, kube.LeaseOf(name), lease)
		}, func(n *evidence.Node) *evidence.Fact[evidence.Lease] { return &n.Lease }),
		ofNodes(l, needEvents, func(t *topic, name string) evidence.Fact[[]evidence.Event] {
			return inOrder(items(t, kube.EventsOfNode(name), event))
		}, func(n *evidence.Node) *evidence.Fact[[]evidence.Event] { return &n.Events }),
		ofNodes(l, needPods, func(t *topic, name string) evidence.Fact[[]evidence.Pod] {
			return items(t, kube.PodsOf(name), pod)
		}, func(n *evidence.Node) *evidence.Fact[[]evidence.Pod] { return &n.Pods }),
	}
}

type metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	Labels            map[string]string `json:"labels"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	DeletionTimestamp time.Time         `json:"deletionTimestamp"`
	Annotations       map[string]string `json:"annotations"`
	OwnerReferences   []struct {
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		Controller bool   `json:"controller"`
	} `json:"ownerReferences"`
}

// nodeJSON has the fields of a Node that are read.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/
type nodeJSON struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Taints []evidence.Taint `json:"taints"`
	} `json:"spec"`
	Status struct {
		VolumesAttached []struct {
			Name string `json:"name"`
		} `json:"volumesAttached"`
		Conditions []evidence.Condition `json:"conditions"`
		Addresses  []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
		NodeInfo struct {
			KubeletVersion string `json:"kubeletVersion"`
			Architecture   string `json:"architecture"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

func nodeObject(n *nodeJSON) evidence.NodeObject {
	out := evidence.NodeObject{
		Name: n.Metadata.Name, Created: n.Metadata.CreationTimestamp.UTC(), Labels: n.Metadata.Labels,
		Taints: n.Spec.Taints, Conditions: n.Status.Conditions,
		KubeletVersion: n.Status.NodeInfo.KubeletVersion, Architecture: n.Status.NodeInfo.Architecture,
	}
	for _, v := range n.Status.VolumesAttached {
		out.Attached = append(out.Attached, v.Name[strings.LastIndexAny(v.Name, "^/")+1:])
	}
	for _, a := range n.Status.Addresses {
		if a.Type != "ExternalIP" && a.Type != "ExternalDNS" {
			out.Addresses = append(out.Addresses, a.Address)
		}
	}
	return out
}

type leaseJSON struct {
	Spec struct {
		RenewTime            time.Time `json:"renewTime"`
		LeaseDurationSeconds int       `json:"leaseDurationSeconds"`
	} `json:"spec"`
}

func lease(l *leaseJSON) evidence.Lease {
	return evidence.Lease{Renewed: l.Spec.RenewTime.UTC(), Duration: time.Duration(l.Spec.LeaseDurationSeconds) * time.Second}
}

func event(e *kube.Event) evidence.Event {
	return evidence.Event{
		Type: e.Type, Reason: e.Reason, Message: redact.Text(e.Message),
		First: e.First(), Last: e.Last(), Count: max(1, e.Count, e.Series.Count),
	}
}

// inOrder sorts the events, the newest last.
func inOrder(f evidence.Fact[[]evidence.Event]) evidence.Fact[[]evidence.Event] {
	slices.SortStableFunc(f.Value, func(a, b evidence.Event) int { return a.Last.Compare(b.Last) })
	return f
}
