package kube

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// The maximum size of the answer to one question, in bytes of JSON. A larger answer is an error. A
// capture holds a whole cluster, some 14,000 nodes.
const (
	maxAnswer  = 8 << 20
	maxCapture = 256 << 20
	// maxVolumes is for the volumes, or the budgets, of a whole cluster: some 20,000.
	maxVolumes = 64 << 20
)

// resource is a kind of object as the Kubernetes API serves it.
type resource struct {
	group, version string // the core group is ""
	plural, kind   string
}

func (r resource) apiVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }

// path returns the path of one object, or of all objects if the name is "".
func (r resource) path(namespace, name string) string {
	segments := []string{"/apis", r.apiVersion()}
	if r.group == "" {
		segments[0] = "/api"
	}
	if namespace != "" {
		segments = append(segments, "namespaces", namespace)
	}
	segments = append(segments, r.plural)
	if name != "" {
		segments = append(segments, name)
	}
	return strings.Join(segments, "/")
}

// asking is how the objects of a topic are requested.
type asking struct {
	of         []resource
	namespace  string                              // the namespace of the objects, unless the question has one
	namespaced bool                                // the question has the namespace
	byName     bool                                // one object; otherwise a list
	sel        func(string, *metav1.ListOptions)   // selects from the list by the name in the question
	thing      string                              // in words; %s is the name in the question
	trim       func(object) error                  // removes from each object what must not leave the package
	newest     int                                 // how many events are kept; 0 for other objects, which are all kept
	largest    int64                               // bytes; 0 is maxAnswer
	nameable   func(name string) (faults []string) // returns what is wrong with a name; nil if the topic has no name
}

var (
	resourceNode       = resource{"", "v1", "nodes", "Node"}
	resourceLease      = resource{"coordination.k8s.io", "v1", "leases", "Lease"}
	resourceConfigMap  = resource{"", "v1", "configmaps", "ConfigMap"}
	resourceEvent      = resource{"", "v1", "events", "Event"}
	resourcePod        = resource{"", "v1", "pods", "Pod"}
	resourceNodeClaim  = resource{karpenterGroup, "v1", "nodeclaims", "NodeClaim"}
	resourceNodePool   = resource{karpenterGroup, "v1", "nodepools", "NodePool"}
	resourceNodeClass  = resource{karpenterAWSGroup, "v1", "ec2nodeclasses", "EC2NodeClass"}
	resourceMutating   = resource{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"}
	resourceValidating = resource{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"}
	resourceBudget     = resource{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"}
	resourceVolume     = resource{"", "v1", "persistentvolumes", "PersistentVolume"}
	resourceAccount    = resource{"", "v1", "serviceaccounts", "ServiceAccount"}
	resourceDaemonSet  = resource{"apps", "v1", "daemonsets", "DaemonSet"}
	resourceSlice      = resource{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"}
)

var askings = map[topic]asking{
	topicNode:            {of: []resource{resourceNode}, byName: true, thing: "node %s", nameable: segment},
	topicNodes:           {of: []resource{resourceNode}, thing: "nodes", largest: maxCapture},
	topicLease:           {of: []resource{resourceLease}, namespace: namespaceNodeLease, byName: true, thing: "the lease of node %s", nameable: segment},
	topicLeases:          {of: []resource{resourceLease}, namespace: namespaceNodeLease, thing: "leases of nodes", largest: maxCapture},
	topicAwsAuth:         {of: []resource{resourceConfigMap}, namespace: metav1.NamespaceSystem, byName: true, thing: "the ConfigMap %s", nameable: segment},
	topicNodeEvents:      {of: []resource{resourceEvent}, sel: about("Node"), thing: "events of node %s", newest: MaxEvents, nameable: segment},
	topicNodeClaimEvents: {of: []resource{resourceEvent}, sel: about("NodeClaim"), thing: "events of NodeClaim %s", newest: MaxEvents, nameable: segment},
	topicNoCapacity:      {of: []resource{resourceEvent}, sel: withoutCapacity, thing: "events of NodeClaims without capacity", newest: MaxEvents},
	topicPodEvents:       {of: []resource{resourceEvent}, namespaced: true, sel: about("Pod"), thing: "events of pod %s", newest: MaxEvents, nameable: segment},
	topicPods:            {of: []resource{resourcePod}, sel: onNode, thing: "pods of node %s", trim: trimPod, nameable: segment},
	topicPodsLike:        {of: []resource{resourcePod}, namespaced: true, sel: carrying, thing: "pods like %s", trim: trimPod, nameable: selector},
	topicBudgets:         {of: []resource{resourceBudget}, thing: "disruption budgets", trim: trimAnnotations, largest: maxVolumes},
	topicVolumes:         {of: []resource{resourceVolume}, thing: "persistent volumes", trim: trimVolume, largest: maxVolumes},
	topicNodeClaims:      {of: []resource{resourceNodeClaim}, sel: labelled(labelNodePool), thing: "NodeClaims of node pool %s", nameable: validation.IsValidLabelValue},
	topicNodePool:        {of: []resource{resourceNodePool}, byName: true, thing: "node pool %s", nameable: segment},
	topicEC2NodeClass:    {of: []resource{resourceNodeClass}, byName: true, thing: "EC2NodeClass %s", nameable: segment},
	topicAccounts:        {of: []resource{resourceAccount}, sel: called, thing: "service accounts called %s", trim: trimAccount, nameable: segment},
	topicWebhooks:        {of: []resource{resourceMutating, resourceValidating}, thing: "webhook configurations"},
	topicDaemonSets:      {of: []resource{resourceDaemonSet}, thing: "DaemonSets", trim: trimDaemonSet},
	topicEndpointSlices:  {of: []resource{resourceSlice}, namespaced: true, sel: labelled(labelServiceName), thing: "EndpointSlices of service %s", nameable: validation.IsValidLabelValue},
}

const (
	labelServiceName   = "kubernetes.io/service-name"
	namespaceNodeLease = "kube-node-lease"
)

// segment returns what is wrong with a name as part of a URL's path.
func segment(name string) []string { return rest.IsValidPathSegmentName(name) }

func about(kind string) func(string, *metav1.ListOptions) {
	return func(name string, o *metav1.ListOptions) {
		o.FieldSelector = fields.AndSelectors(
			fields.OneTermEqualSelector("involvedObject.kind", kind),
			fields.OneTermEqualSelector("involvedObject.name", name),
		).String()
	}
}

func withoutCapacity(_ string, o *metav1.ListOptions) {
	o.FieldSelector = fields.AndSelectors(
		fields.OneTermEqualSelector("involvedObject.kind", resourceNodeClaim.kind),
		fields.OneTermEqualSelector("reason", reasonNoCapacity),
	).String()
}

func onNode(name string, o *metav1.ListOptions) {
	o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", name).String()
}

// called selects by name, which RBAC treats as a request for that name alone.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
func called(name string, o *metav1.ListOptions) {
	o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
}

func carrying(name string, o *metav1.ListOptions) { o.LabelSelector = name }

// selector returns what is wrong with a name as a label selector.
func selector(name string) (faults []string) {
	if _, err := labels.ConvertSelectorToLabelsMap(name); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func labelled(key string) func(string, *metav1.ListOptions) {
	return func(name string, o *metav1.ListOptions) {
		o.LabelSelector = labels.Set{key: name}.AsSelector().String()
	}
}

func (a asking) verb() string {
	if a.byName {
		return "get"
	}
	return "list"
}

// limit returns the maximum size of an answer, in bytes.
func (a asking) limit() int64 {
	if a.largest > 0 {
		return a.largest
	}
	return maxAnswer
}

// errNothingAsked is the error for the zero Question.
var errNothingAsked = errors.New("the question asks nothing: make one by a function of this package")

// asking checks the question and returns how it is requested.
func (q Question) asking() (asking, error) {
	a, known := askings[q.topic]
	if !known {
		return asking{}, operation{what: "read nothing", noun: "reading of nothing"}.failed(errNothingAsked)
	}
	if a.namespaced {
		a.namespace = q.namespace
	}
	return a, q.operation(a, a.of[0]).failed(q.misnames(a))
}

// unexpected returns the error for an answer that is not what was requested.
func (q Question) unexpected(err error) error {
	a := askings[q.topic]
	return q.operation(a, a.of[0]).failed(err)
}

// misnames returns an error if a name in the question is invalid. An empty one would request
// something else: all objects, or the pods of no node.
func (q Question) misnames(a asking) error {
	if a.nameable == nil {
		return nil
	}
	if q.name == "" {
		return errors.New("the name is missing")
	}
	faults := a.nameable(q.name)
	if a.namespaced {
		faults = append(faults, validation.IsDNS1123Label(q.namespace)...)
	}
	if len(faults) > 0 {
		return fmt.Errorf("no name is like this: %s", strings.Join(faults, "; "))
	}
	return nil
}

// operation returns the operation of requesting one resource, for errors.
func (q Question) operation(a asking, r resource) operation {
	thing := q.thing()
	if len(a.of) > 1 {
		thing = r.kind + "s"
	}
	op := operation{what: "list " + thing, noun: "listing of " + thing, verb: a.verb(), target: strings.TrimSuffix(r.plural+"."+r.group, ".")}
	if a.byName {
		op.what, op.noun = "read "+thing, "reading of "+thing
	}
	if a.namespace != "" {
		op.target += " in " + a.namespace
	}
	return op
}
