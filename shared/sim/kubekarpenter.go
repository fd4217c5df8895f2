package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// karpenterObject is an object of Karpenter's, with the fields that are read.
// https://github.com/kubernetes-sigs/karpenter/tree/main/pkg/apis/crds
type karpenterObject[S any] struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            S                 `json:"spec"`
	Status          struct {
		Conditions []metav1.Condition `json:"conditions"`
		ImageID    string             `json:"imageID,omitempty"`
		NodeName   string             `json:"nodeName,omitempty"`
		ProviderID string             `json:"providerID,omitempty"`
	} `json:"status"`
}

type (
	nodeClaim = karpenterObject[claimSpec]
	nodePool  = karpenterObject[poolSpec]
	nodeClass = karpenterObject[nodeClassSpec]

	claimSpec struct {
		NodeClassRef  nodeClassRef   `json:"nodeClassRef"`
		Requirements  []requirement  `json:"requirements"`
		Taints        []corev1.Taint `json:"taints,omitempty"`
		StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	}
	nodeClassRef struct {
		Group string `json:"group"`
		Kind  string `json:"kind"`
		Name  string `json:"name"`
	}
	requirement struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	}
	poolSpec struct {
		Template struct {
			Spec claimSpec `json:"spec"`
		} `json:"template"`
	}
	nodeClassSpec struct {
		AMIFamily        string    `json:"amiFamily,omitempty"`
		AMISelectorTerms []amiTerm `json:"amiSelectorTerms"`
		Role             string    `json:"role"`
		UserData         string    `json:"userData,omitempty"`
	}
	amiTerm struct {
		Alias string `json:"alias,omitempty"`
		ID    string `json:"id,omitempty"`
	}
)

// claimSpec returns the NodeClaim spec for a template and machine kind. The EC2NodeClass has the group's name.
func (g *group) claimSpec(t template, kind machineKind) claimSpec {
	spec := claimSpec{
		NodeClassRef: nodeClassRef{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: g.name},
		Requirements: []requirement{
			{"kubernetes.io/arch", "In", []string{kind.Arch}}, {"karpenter.sh/capacity-type", "In", []string{g.capacity()}},
			{"node.kubernetes.io/instance-type", "In", []string{kind.Type}},
		},
	}
	for _, declared := range t.declared {
		spec.StartupTaints = append(spec.StartupTaints, parseTaint(declared))
	}
	return spec
}

// condition returns a condition of Karpenter's: True since a time, or Unknown since another.
func condition(what string, since time.Time, reason, message string, unknown time.Time) metav1.Condition {
	if since.IsZero() {
		return metav1.Condition{Type: what, Status: metav1.ConditionUnknown, LastTransitionTime: stamped(unknown), Reason: reason, Message: message}
	}
	return metav1.Condition{Type: what, Status: metav1.ConditionTrue, LastTransitionTime: stamped(since), Reason: what}
}

type claimState struct {
	version  int
	kind     machineKind // the one that its NodePool requests
	template int         // its version, if there is no machine
	node     *node
	nodes    int // version of the node
}

// json returns the NodeClaim as JSON, encoded again only when it changed.
func (cl *claim) json() (*kube.Item, error) {
	s := claimState{version: cl.version, kind: cl.g.kind}
	if cl.machine == nil {
		s.template = cl.g.template.version
	} else if n := cl.machine.node; n != nil {
		s.node, s.nodes = n, n.version
	}
	return cl.made.of(s, func() any { return cl.object() })
}

func (cl *claim) object() nodeClaim {
	g, m := cl.g, cl.machine
	o := nodeClaim{
		TypeMeta: metav1.TypeMeta{Kind: "NodeClaim", APIVersion: "karpenter.sh/v1"},
		Metadata: metav1.ObjectMeta{
			Name: cl.name, UID: types.UID(cl.uid), ResourceVersion: strconv.Itoa(cl.version), CreationTimestamp: stamped(cl.created),
			DeletionTimestamp: stampedOr(cl.deleting), Finalizers: []string{"karpenter.sh/termination"},
			Labels: map[string]string{labelPool: g.name},
		},
		Spec: g.claimSpec(g.template, g.kind),
	}
	if m != nil {
		o.Spec = g.claimSpec(m.template, m.kind())
	}
	if m != nil && !cl.launched.IsZero() {
		o.Status.ProviderID, o.Status.ImageID = m.providerID(), m.template.ami
	}
	if m != nil && m.node != nil && !cl.registered.IsZero() {
		o.Status.NodeName = m.node.name
	}
	awaits := "object is awaiting reconciliation"
	launched := condition("Launched", cl.launched, "AwaitingReconciliation", awaits, cl.created)
	if cl.failure != "" {
		launched.Reason, launched.Message = "LaunchFailed", cl.failure
	}
	registered := condition("Registered", cl.registered, "NodeNotFound", "Node not registered with cluster", cl.created)
	if m != nil && m.node != nil && m.template.refused {
		registered.Reason, registered.Message = "UnregisteredTaintNotFound", "Invariant violated, karpenter.sh/unregistered taint must be present on Karpenter-managed nodes"
	}
	reason, message := cl.uninitialized(o.Spec.StartupTaints)
	initialized := condition("Initialized", cl.initialized, reason, message, cl.created)
	ready := condition("Ready", cl.initialized, "ReconcilingDependents", fmt.Sprintf("Registered=%s, Initialized=%s", registered.Status, initialized.Status), cl.created)
	o.Status.Conditions = []metav1.Condition{launched, registered, initialized, ready}
	return o
}

// uninitialized returns why Karpenter does not consider the node initialized yet.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/initialization.go
func (cl *claim) uninitialized(startup []corev1.Taint) (reason, message string) {
	if cl.registered.IsZero() || cl.machine == nil || cl.machine.node == nil {
		return "AwaitingReconciliation", "object is awaiting reconciliation"
	}
	n := cl.machine.node
	if n.ready().Status != corev1.ConditionTrue {
		return "NodeNotReady", "Node status is NotReady"
	}
	for _, t := range n.taints {
		if slices.ContainsFunc(startup, func(s corev1.Taint) bool { return s.MatchTaint(&t) }) {
			return "StartupTaintsExist", fmt.Sprintf("StartupTaint %q still exists", t.ToString())
		}
	}
	for _, t := range n.taints {
		if roll.StartupTaint(t.Key, nil) {
			return "KnownEphemeralTaintsExist", fmt.Sprintf("KnownEphemeralTaint %q still exists", t.ToString())
		}
	}
	return "AwaitingReconciliation", "object is awaiting reconciliation"
}

// pool returns the group whose NodePool the request names.
func (q *kubeQuery) pool() *group {
	if g := q.c.group(q.name); g != nil && g.owner == karpenter {
		return g
	}
	return nil
}

func (g *group) metadata(kind string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: g.name, UID: types.UID(uid(g.d.of(kind))), ResourceVersion: strconv.Itoa(g.template.version), CreationTimestamp: stamped(g.c.created)}
}

func (q *kubeQuery) getNodePool() (any, error) {
	g := q.pool()
	if g == nil {
		return nil, q.notFound()
	}
	return g.nodePool(), nil
}

// listNodePools lists the NodePools, all of which are ready.
func (q *kubeQuery) listNodePools(l *kubeList) {
	for _, g := range q.c.groups {
		if g.owner == karpenter {
			l.object(g.nodePool())
		}
	}
}

func (g *group) nodePool() nodePool {
	o := nodePool{TypeMeta: metav1.TypeMeta{Kind: "NodePool", APIVersion: "karpenter.sh/v1"}, Metadata: g.metadata("NodePool")}
	o.Spec.Template.Spec = g.claimSpec(g.template, g.kind)
	o.Status.Conditions = []metav1.Condition{condition("Ready", g.c.created, "", "", g.c.created)}
	return o
}

// getNodeClass returns the EC2NodeClass of a group. Only with an Amazon image Karpenter adds user data.
func (q *kubeQuery) getNodeClass() (any, error) {
	g := q.pool()
	if g == nil {
		return nil, q.notFound()
	}
	o := nodeClass{TypeMeta: metav1.TypeMeta{Kind: "EC2NodeClass", APIVersion: "karpenter.k8s.aws/v1"}, Metadata: g.metadata("EC2NodeClass")}
	o.Spec = nodeClassSpec{AMIFamily: "AL2023", AMISelectorTerms: []amiTerm{{Alias: "al2023@latest"}}, Role: g.role, UserData: g.template.userData}
	if g.template.amiOwner != "amazon" {
		o.Spec.AMIFamily, o.Spec.AMISelectorTerms = "Custom", []amiTerm{{ID: g.template.ami}}
	}
	o.Status.Conditions = []metav1.Condition{condition("Ready", g.c.created, "", "", g.c.created)}
	return o, nil
}
