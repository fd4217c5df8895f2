package kube

import (
	"cmp"
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
	// maxListed is for what a cluster has as many of as nodes, or more: some 20,000 volumes or budgets, or at least
	// 4,000 NodeClaims of one node pool, which have up to 16 KB before [trimRequirements].
	maxListed = 64 << 20
)

// resource is a kind of object as the Kubernetes API serves it.
type resource struct {
	group, version string // the core group is ""
	plural, kind   string
}

func (r resource) apiVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }

// path returns the path of one object, or of all objects if the name is "".
func (r resource) path(namespace, name string) string {
	segments := append(make([]string, 0, 6), "/apis", r.apiVersion())
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

// asking is how the objects of a question are requested.
type asking struct {
	of         []resource
	namespace  string                              // the namespace of the objects, unless the question has one
	namespaced bool                                // the question has the namespace
	byName     bool                                // one object; otherwise a list
	fields     string                              // the field selector of a list; %s is the name in the question
	labels     string                              // the label selector of a list, the same
	thing      string                              // in words; %s is the name in the question
	newest     int                                 // how many events are kept; 0 for other objects, which are all kept
	largest    int64                               // bytes; 0 is maxAnswer
	nameable   func(name string) (faults []string) // returns what is wrong with a name; nil if the question has no name
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

var (
	askNode            = &asking{of: []resource{resourceNode}, byName: true, thing: "node %s", nameable: rest.IsValidPathSegmentName}
	askNodes           = &asking{of: []resource{resourceNode}, thing: "nodes", largest: maxCapture}
	askLease           = &asking{of: []resource{resourceLease}, namespace: NamespaceNodeLease, byName: true, thing: "the lease of node %s", nameable: rest.IsValidPathSegmentName}
	askLeases          = &asking{of: []resource{resourceLease}, namespace: NamespaceNodeLease, thing: "leases of nodes", largest: maxCapture}
	askAwsAuth         = &asking{of: []resource{resourceConfigMap}, namespace: metav1.NamespaceSystem, byName: true, thing: "the ConfigMap %s", nameable: rest.IsValidPathSegmentName}
	askNodeEvents      = &asking{of: []resource{resourceEvent}, fields: "involvedObject.kind=Node,involvedObject.name=%s", thing: "events of node %s", newest: MaxEvents, nameable: rest.IsValidPathSegmentName}
	askNodeClaimEvents = &asking{of: []resource{resourceEvent}, namespace: metav1.NamespaceDefault, fields: "involvedObject.kind=NodeClaim,involvedObject.name=%s", thing: "events of NodeClaim %s", newest: MaxEvents, nameable: rest.IsValidPathSegmentName}
	askNoCapacity      = &asking{of: []resource{resourceEvent}, namespace: metav1.NamespaceDefault, fields: "involvedObject.kind=NodeClaim,reason=" + reasonNoCapacity, thing: "events of NodeClaims without capacity", newest: MaxEvents}
	askPodEvents       = &asking{of: []resource{resourceEvent}, namespaced: true, fields: "involvedObject.kind=Pod,involvedObject.name=%s", thing: "events of pod %s", newest: MaxEvents, nameable: rest.IsValidPathSegmentName}
	askPods            = &asking{of: []resource{resourcePod}, fields: "spec.nodeName=%s", thing: "pods of node %s", nameable: rest.IsValidPathSegmentName}
	askPodsPending     = &asking{of: []resource{resourcePod}, fields: "spec.nodeName=,status.phase=Pending", thing: "pods without a node"}
	askPodsLike        = &asking{of: []resource{resourcePod}, namespaced: true, labels: "%s", thing: "pods like %s", nameable: selector}
	askBudgets         = &asking{of: []resource{resourceBudget}, thing: "disruption budgets", largest: maxListed}
	askVolumes         = &asking{of: []resource{resourceVolume}, thing: "persistent volumes", largest: maxListed}
	askNodeClaims      = &asking{of: []resource{resourceNodeClaim}, labels: labelNodePool + "=%s", thing: "NodeClaims of node pool %s", largest: maxListed, nameable: validation.IsValidLabelValue}
	askNodePool        = &asking{of: []resource{resourceNodePool}, byName: true, thing: "node pool %s", nameable: rest.IsValidPathSegmentName}
	askNodePools       = &asking{of: []resource{resourceNodePool}, thing: "node pools"}
	askEC2NodeClass    = &asking{of: []resource{resourceNodeClass}, byName: true, thing: "EC2NodeClass %s", nameable: rest.IsValidPathSegmentName}
	askAccounts        = &asking{of: []resource{resourceAccount}, fields: metav1.ObjectNameField + "=%s", thing: "service accounts called %s", nameable: rest.IsValidPathSegmentName}
	askWebhooks        = &asking{of: []resource{resourceMutating, resourceValidating}, thing: "webhook configurations"}
	askDaemonSets      = &asking{of: []resource{resourceDaemonSet}, thing: "DaemonSets"}
	askEndpointSlices  = &asking{of: []resource{resourceSlice}, namespaced: true, labels: labelServiceName + "=%s", thing: "EndpointSlices of service %s", nameable: validation.IsValidLabelValue}
)

const labelServiceName = "kubernetes.io/service-name"

// NamespaceNodeLease has the lease of each node.
// https://kubernetes.io/docs/concepts/architecture/leases/#node-heart-beats
const NamespaceNodeLease = "kube-node-lease"

// inNamespace returns the namespace of the objects, "" for all.
func (q Question) inNamespace() string { return cmp.Or(q.ask.namespace, q.namespace) }

func (q Question) selects(o *metav1.ListOptions) {
	o.FieldSelector = strings.ReplaceAll(q.ask.fields, "%s", fields.EscapeValue(q.name))
	o.LabelSelector = strings.ReplaceAll(q.ask.labels, "%s", q.name)
}

// selector returns what is wrong with a name as a label selector.
func selector(name string) (faults []string) {
	if _, err := labels.ConvertSelectorToLabelsMap(name); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func (a asking) verb() string {
	if a.byName {
		return "get"
	}
	return "list"
}

// errNothingAsked is the error for the zero Question.
var errNothingAsked = errors.New("the question asks nothing: make one by a function of this package")

// check returns an error for a question that must not be asked.
func (q Question) check() error {
	if q.ask == nil {
		return operation{what: "read nothing", noun: "reading of nothing"}.failed(errNothingAsked)
	}
	return q.unexpected(q.misnames())
}

// unexpected returns the error for an answer that is not what was requested.
func (q Question) unexpected(err error) error { return q.operation(q.ask.of[0]).failed(err) }

// misnames returns an error if a name in the question is invalid. An empty one would request
// something else: all objects, or the pods of no node.
func (q Question) misnames() error {
	if q.ask.nameable == nil {
		return nil
	}
	if q.name == "" {
		return errors.New("the name is missing")
	}
	faults := q.ask.nameable(q.name)
	if q.ask.namespaced {
		faults = append(faults, validation.IsDNS1123Label(q.namespace)...)
	}
	if len(faults) > 0 {
		return fmt.Errorf("no name is like this: %s", strings.Join(faults, "; "))
	}
	return nil
}

// operation returns the operation of requesting one resource, for errors.
func (q Question) operation(r resource) operation {
	thing := q.thing()
	if len(q.ask.of) > 1 {
		thing = r.kind + "s"
	}
	op := operation{what: "list " + thing, noun: "listing of " + thing, verb: q.ask.verb(), target: strings.TrimSuffix(r.plural+"."+r.group, ".")}
	if q.ask.byName {
		op.what, op.noun = "read "+thing, "reading of "+thing
	}
	if in := q.inNamespace(); in != "" {
		op.target += " in " + in
	}
	return op
}
