package kube

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"rollcall/shared/roll"
)

// Question is one request of a diagnosis to the Kubernetes API. The functions below create every
// question there is; each is granted in infra/rbac.yaml. Questions are comparable and can be map
// keys. The zero value is an error.
type Question struct {
	ask       *asking
	namespace string
	name      string
}

// ANode requests the Node of that name.
func ANode(name string) Question { return Question{ask: askNode, name: name} }

// AllNodes requests every Node in full, at 16 to 18 KB each. It is for a capture; a check reads
// nodes with [Client.Nodes].
func AllNodes() Question { return Question{ask: askNodes} }

// LeaseOf requests the Lease that the kubelet of the node renews as its heartbeat.
// https://kubernetes.io/docs/concepts/architecture/leases/#node-heart-beats
func LeaseOf(node string) Question { return Question{ask: askLease, name: node} }

// AllLeases requests the Leases of all nodes, for a capture.
func AllLeases() Question { return Question{ask: askLeases} }

// AwsAuth requests the ConfigMap kube-system/aws-auth.
func AwsAuth() Question { return Question{ask: askAwsAuth, name: "aws-auth"} }

// EventsOfNode requests the events about the node, of all namespaces: the newest [MaxEvents], in
// the order of their time. Events about objects without a namespace are in "default", unless their
// writer sets another, as node-problem-detector can.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/events.go
func EventsOfNode(name string) Question { return Question{ask: askNodeEvents, name: name} }

// EventsOfNodeClaim is [EventsOfNode] for a NodeClaim of Karpenter. Only Karpenter writes about them, with
// client-go's recorder, which puts events about objects without a namespace in "default". The API server has no
// index of events: to list those of all namespaces, it reads every event of the cluster.
// https://github.com/kubernetes/client-go/blob/master/tools/record/event.go (makeEvent)
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/events/recorder.go
func EventsOfNodeClaim(name string) Question {
	return Question{ask: askNodeClaimEvents, name: name}
}

// EventsOfPod is [EventsOfNode] for a pod. Its events are in its namespace.
func EventsOfPod(namespace, name string) Question {
	return Question{ask: askPodEvents, namespace: namespace, name: name}
}

// PodsOf requests the pods of the node, without fields that may hold secrets: see [Client.Read].
func PodsOf(node string) Question { return Question{ask: askPods, name: node} }

// PodsWithoutNode requests the pods that have no node yet, without fields that may hold secrets: see [Client.Read].
func PodsWithoutNode() Question { return Question{ask: askPodsPending} }

// PodsLike requests the pods of the namespace that have all of the labels, at least one, without
// fields that may hold secrets: see [Client.Read].
func PodsLike(namespace string, carry map[string]string) Question {
	return Question{ask: askPodsLike, namespace: namespace, name: labels.Set(carry).String()}
}

// AllBudgets requests the PodDisruptionBudgets of all namespaces.
func AllBudgets() Question { return Question{ask: askBudgets} }

// AllVolumes requests the PersistentVolumes. Each has its claim, the nodes on which it can be used,
// and whether it is on a node's disk or the name under which it is attached. It does not have the
// source of its data.
func AllVolumes() Question { return Question{ask: askVolumes} }

// NodeClaimsOf requests the NodeClaims of one node pool of Karpenter, without long lists of what they
// may be: see [Client.Read].
func NodeClaimsOf(pool string) Question { return Question{ask: askNodeClaims, name: pool} }

// ANodePool requests the NodePool of that name.
func ANodePool(name string) Question { return Question{ask: askNodePool, name: name} }

// AllNodePools requests every NodePool.
func AllNodePools() Question { return Question{ask: askNodePools} }

// AnEC2NodeClass requests the EC2NodeClass of that name. Its spec.userData is unchanged and may
// hold secrets.
func AnEC2NodeClass(name string) Question { return Question{ask: askEC2NodeClass, name: name} }

// ControllerAccounts requests the service accounts of Karpenter's controller, of all namespaces, by
// the name that its chart uses. Each has the role that its pods assume.
// https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/
func ControllerAccounts() Question { return Question{ask: askAccounts, name: "karpenter"} }

// Webhooks requests the mutating and the validating webhook configurations, in one List.
func Webhooks() Question { return Question{ask: askWebhooks} }

// DaemonSets requests the DaemonSets of all namespaces: their names, their images, which paths
// of the host they mount, and on which nodes they run. They have no fields that may hold secrets: see [Client.Read].
func DaemonSets() Question { return Question{ask: askDaemonSets} }

// EndpointSlicesOf requests the EndpointSlices of a service.
// https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ownership
func EndpointSlicesOf(namespace, service string) Question {
	return Question{ask: askEndpointSlices, namespace: namespace, name: service}
}

// String returns the question in words, such as "list pods of node ip-10-0-0-1".
func (q Question) String() string {
	if q.ask == nil {
		return "nothing"
	}
	return q.ask.verb() + " " + q.thing()
}

// Kinds returns the kinds of the objects that the question requests, such as Node.
func (q Question) Kinds() []string {
	return roll.Map(q.ask.of, func(r resource) string { return r.kind })
}

// Custom reports whether the objects are custom resources, which a conversion webhook may have to
// convert.
func (q Question) Custom() bool { return unserved[q.ask.of[0].group] != nil }

// ByName reports whether the question requests one object by name, not a list.
func (q Question) ByName() bool { return q.ask.byName }

// thing returns what is requested, in words.
func (q Question) thing() string {
	name := q.name
	if q.namespace != "" {
		name = q.namespace + "/" + name
	}
	return strings.TrimSpace(strings.ReplaceAll(q.ask.thing, "%s", name))
}

// MaxEvents is the maximum number of events in an answer. If an answer has that many, older ones
// may be missing.
const MaxEvents = 200
