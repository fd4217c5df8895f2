package kube

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Question is one thing that a diagnosis asks the Kubernetes API. The functions below
// make every question there is; each is granted in infra/rbac.yaml. Questions can be
// compared, and be the keys of a map. The zero value asks nothing, which is an error.
type Question struct {
	topic     topic
	namespace string
	name      string
}

// ANode asks for the Node of that name.
func ANode(name string) Question { return Question{topic: topicNode, name: name} }

// AllNodes asks for every Node in full, at 16 to 18 KB each. It is for a capture; a
// check reads nodes by [Client.Nodes].
func AllNodes() Question { return Question{topic: topicNodes} }

// LeaseOf asks for the Lease by which the kubelet of the node says that it lives.
// https://kubernetes.io/docs/concepts/architecture/leases/#node-heart-beats
func LeaseOf(node string) Question { return Question{topic: topicLease, name: node} }

// AllLeases asks for the Leases of all nodes, for a capture.
func AllLeases() Question { return Question{topic: topicLeases} }

// AwsAuth asks for the ConfigMap kube-system/aws-auth.
func AwsAuth() Question { return Question{topic: topicAwsAuth, name: "aws-auth"} }

// EventsOfNode asks for the events about the node, of all namespaces, the newest
// [MaxEvents] of them in the order of their time. Those of what has no namespace are in
// "default", unless their writer says otherwise, as node-problem-detector can.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/events.go
func EventsOfNode(name string) Question { return Question{topic: topicNodeEvents, name: name} }

// EventsOfNodeClaim is [EventsOfNode] for a NodeClaim of Karpenter.
func EventsOfNodeClaim(name string) Question {
	return Question{topic: topicNodeClaimEvents, name: name}
}

// EventsOfPod is [EventsOfNode] for a pod. Its events are in its namespace.
func EventsOfPod(namespace, name string) Question {
	return Question{topic: topicPodEvents, namespace: namespace, name: name}
}

// PodsOf asks for the pods of the node, without what may hold secrets: see [Client.Read].
func PodsOf(node string) Question { return Question{topic: topicPods, name: node} }

// PodsLike asks for the pods of the namespace that carry all of the labels, which are not
// none, without what may hold secrets: see [Client.Read].
func PodsLike(namespace string, carry map[string]string) Question {
	return Question{topic: topicPodsLike, namespace: namespace, name: labels.Set(carry).String()}
}

// AllBudgets asks for the PodDisruptionBudgets of all namespaces.
func AllBudgets() Question { return Question{topic: topicBudgets} }

// AllVolumes asks for the PersistentVolumes: of each which claim it is for, on which nodes
// it can be used, and whether it lies on a disk of one or by which name it is attached; not
// where its data comes from.
func AllVolumes() Question { return Question{topic: topicVolumes} }

// NodeClaimsOf asks for the NodeClaims of one node pool of Karpenter, in full.
func NodeClaimsOf(pool string) Question { return Question{topic: topicNodeClaims, name: pool} }

// ANodePool asks for the NodePool of that name.
func ANodePool(name string) Question { return Question{topic: topicNodePool, name: name} }

// AnEC2NodeClass asks for the EC2NodeClass of that name. Its spec.userData comes as it is
// and may hold secrets.
func AnEC2NodeClass(name string) Question { return Question{topic: topicEC2NodeClass, name: name} }

// ControllerAccounts asks for the service accounts of Karpenter's controller, of all
// namespaces: those that are called as its chart calls them. Of each comes the role that its
// pods assume.
// https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/
func ControllerAccounts() Question { return Question{topic: topicAccounts, name: "karpenter"} }

// Webhooks asks for the mutating and the validating webhook configurations, in one List.
func Webhooks() Question { return Question{topic: topicWebhooks} }

// EndpointSlicesOf asks for the EndpointSlices of a service.
// https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ownership
func EndpointSlicesOf(namespace, service string) Question {
	return Question{topic: topicEndpointSlices, namespace: namespace, name: service}
}

// String is the question in words, such as "list pods of node ip-10-0-0-1".
func (q Question) String() string {
	if q.topic == topicNothing {
		return "nothing"
	}
	a := askings[q.topic]
	return a.verb() + " " + q.thing()
}

// thing is what is asked for, in words.
func (q Question) thing() string {
	name := q.name
	if q.namespace != "" {
		name = q.namespace + "/" + name
	}
	return strings.TrimSpace(strings.ReplaceAll(askings[q.topic].thing, "%s", name))
}

// MaxEvents is how many events an answer has at most. One that has as many may lack
// older ones.
const MaxEvents = 200

// topic is what a question is about.
type topic uint8

const (
	topicNothing topic = iota
	topicNode
	topicNodes
	topicLease
	topicLeases
	topicAwsAuth
	topicNodeEvents
	topicNodeClaimEvents
	topicNoCapacity
	topicPodEvents
	topicPods
	topicNodeClaims
	topicNodePool
	topicEC2NodeClass
	topicWebhooks
	topicEndpointSlices
	topicPodsLike
	topicBudgets
	topicVolumes
	topicAccounts
)
