package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"rollcall/shared/roll"
)

var kubeChanges = map[string]func(*kubeQuery) (any, error){
	"patch v1/nodes":                    (*kubeQuery).patchNode,
	"delete v1/nodes":                   (*kubeQuery).deleteNode,
	"delete karpenter.sh/v1/nodeclaims": (*kubeQuery).deleteClaim,
	"create v1/pods/eviction":           (*kubeQuery).evict,
}

// nodePatch is a JSON merge patch of a node: what is nil is removed.
// https://www.rfc-editor.org/rfc/rfc7386
type nodePatch struct {
	Metadata struct {
		UID, ResourceVersion string
		Annotations          map[string]*string
	}
	Spec map[string]json.RawMessage
}

// patchNode changes a node if it still is what the patch was made for, by its version and then its UID, like the API.
func (q *kubeQuery) patchNode() (any, error) {
	var patch nodePatch
	if err := q.decode(&patch); err != nil {
		return nil, err
	}
	n := q.c.byNode[q.name]
	switch meta := patch.Metadata; {
	case n == nil:
		return nil, q.notFound()
	case meta.ResourceVersion != "" && meta.ResourceVersion != strconv.Itoa(n.version):
		return nil, apierrors.NewConflict(q.target(), q.name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	case meta.UID != "" && meta.UID != n.uid:
		return nil, apierrors.NewInvalid(kindNode, q.name, field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), meta.UID, "field is immutable")})
	}
	cordoned := n.cordoned
	for key, value := range patch.Spec {
		var err error
		switch key {
		case "unschedulable":
			var on *bool
			err = json.Unmarshal(value, &on)
			cordoned = on != nil && *on
		case "taints":
			var taints []corev1.Taint
			if err = json.Unmarshal(value, &taints); err == nil {
				q.tainted(n, taints)
			}
		default:
			err = errors.New("the simulated API server does not change it")
		}
		if err != nil {
			return nil, apierrors.NewBadRequest("spec." + key + ": " + err.Error())
		}
	}
	if mark, marks := patch.Metadata.Annotations[roll.AnnotationCordoned]; n.cordoned && n.annotations[roll.AnnotationCordoned] == "" && (!cordoned || marks && mark != nil) {
		q.api.v.a.audit.broken(RuleKept, "%s: the cordon of node %s, which a person made, is marked as Rollcall's, or lifted", q.api.v.inv.name, n.name)
	}
	if cordoned != n.cordoned {
		what := actUncordon
		if cordoned {
			what = actCordon
		}
		q.did(what, n.machine, n)
	}
	n.cordoned = cordoned
	for key, value := range patch.Metadata.Annotations {
		if value == nil {
			delete(n.annotations, key)
			continue
		}
		n.annotations[key] = *value
	}
	n.version = q.c.changed()
	return n.read(), nil
}

// tainted sets the node's taints. Its pods are removed at once if it has the out-of-service taint.
func (q *kubeQuery) tainted(n *node, taints []corev1.Taint) {
	derived := n.derived()
	n.taints = slices.DeleteFunc(taints, func(t corev1.Taint) bool { return slices.Contains(derived, t) })
	if slices.ContainsFunc(n.taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }) {
		q.did(actOutOfService, n.machine, n)
		n.pods = nil
	}
}

// did reports an act to the auditor right before it changes anything.
func (q *kubeQuery) did(what act, m *machine, n *node) { q.api.v.inv.did(what, q.c, m, n) }

// meant reads the options of a deletion, and refuses one for an object with another UID.
func (q *kubeQuery) meant(uid string) error {
	var options metav1.DeleteOptions
	if len(q.body) > 0 {
		if err := q.decode(&options); err != nil {
			return err
		}
	}
	return q.preconditions(&options, uid)
}

func (q *kubeQuery) preconditions(o *metav1.DeleteOptions, uid string) error {
	if o != nil && o.Preconditions != nil && o.Preconditions.UID != nil && string(*o.Preconditions.UID) != uid {
		return apierrors.NewConflict(q.target(), q.name, verbatim("Precondition failed: UID in precondition: %s, UID in object meta: %s", *o.Preconditions.UID, uid))
	}
	return nil
}

func (q *kubeQuery) deleteNode() (any, error) {
	n := q.c.byNode[q.name]
	if n == nil {
		return nil, q.notFound()
	}
	if err := q.meant(n.uid); err != nil {
		return nil, err
	}
	q.did(actDeleteNode, n.machine, n)
	q.c.removeNode(n)
	return done(), nil
}

// removeNode removes a Node object and its pods. A kubelet registers only when it starts.
func (c *cluster) removeNode(n *node) {
	if c.byNode[n.name] == n {
		delete(c.byNode, n.name)
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(other *node) bool { return other == n })
	if n.machine != nil && n.machine.node == n {
		n.machine.node = nil
	}
	c.changed()
}

// deleteClaim marks a NodeClaim for deletion. Its finalizer keeps it until its instance is terminated.
func (q *kubeQuery) deleteClaim() (any, error) {
	cl := find(q.c.claims, func(cl *claim) bool { return cl.name == q.name })
	if cl == nil {
		return nil, q.notFound()
	}
	if err := q.meant(cl.uid); err != nil {
		return nil, err
	}
	if !cl.deleting.IsZero() {
		// It changes nothing, and so is no act to order, to report and to count. Another deletion may come first by a moment.
		a, again := q.c.a, q.c.a.Now().Sub(cl.deleting) > time.Minute
		a.audit.forbids(RuleVain, again, "%s: deletion of NodeClaim %s, which is being deleted since %s", q.api.v.inv.name, cl.name, cl.deleting.Format(time.TimeOnly))
		return done(), nil
	}
	var n *node
	if cl.machine != nil {
		n = cl.machine.node
	}
	q.did(actDeleteClaim, cl.machine, n)
	cl.deleting = q.c.stamp()
	cl.version = q.c.changed()
	q.c.claimDeleted(cl)
	return done(), nil
}

// How long an evicted pod takes to stop.
const (
	stopsQuickest = 10 * time.Second
	stopsSlowest  = time.Minute
)

// evict evicts a pod from its node unless its disruption budget refuses that.
// https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
func (q *kubeQuery) evict() (any, error) {
	var eviction policyv1.Eviction
	if err := q.decode(&eviction); err != nil {
		return nil, err
	}
	n, p := q.c.findPod(q.namespace, q.name)
	if p == nil {
		return nil, q.notFound()
	}
	leaves := !p.leaving.IsZero()
	if p.guarded && !leaves {
		return nil, budgeted(p)
	}
	if err := q.preconditions(eviction.DeleteOptions, p.uid); err != nil || leaves {
		return done(), err
	}
	q.api.v.a.audit.evicted(q.api.v.inv, n, p)
	q.did(actEvict, n.machine, n)
	n.leaves(p)
	return done(), nil
}

const budgetHealthy = 2 // both the desired and the current number of healthy pods of a disruption budget

// budgeted returns the API server's refusal to evict a pod.
func budgeted(p *pod) error {
	refused := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	refused.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    policyv1.DisruptionBudgetCause,
		Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", p.controller(), budgetHealthy, budgetHealthy),
	}}
	return refused
}

func (c *cluster) findPod(namespace, name string) (*node, *pod) {
	for n, p := range c.pods(namespace) {
		if p.name == name {
			return n, p
		}
	}
	return nil, nil
}

// stop removes a pod that is terminating. If its kubelet does not report, it stays terminating.
func (n *node) stop(p *pod) {
	i := slices.Index(n.pods, p)
	if i < 0 || n.c.byNode[n.name] != n {
		return
	}
	if n.machine == nil || !n.machine.reporting || n.machine.hangs {
		n.c.a.in(stopsSlowest, func() { n.stop(p) })
		return
	}
	n.pods = slices.Delete(n.pods, i, i+1)
	n.c.changed()
}
