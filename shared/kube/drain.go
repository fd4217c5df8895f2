package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"rollcall/shared/evidence/redact"
	"rollcall/shared/roll"
)

// Drained is the result of one pass over the pods of a node: each pod by its namespace/name, with
// the reason. It leaves out pods that stay by design: those of DaemonSets and the like, static and
// finished ones.
type Drained struct {
	Evicted []string // evicted by this pass; they may still be stopping
	Leaving []string // already stopping before this pass
	Waiting []string // left for the next pass
	Blocked []string // must not be evicted, or the eviction was refused
	// Stuck pods are still Terminating long after their grace period. They do not delay the drain:
	// the container runtime, or a finalizer, keeps them, and waiting does not help.
	Stuck []string
}

// Done reports whether there was nothing left to evict or to wait for.
func (d Drained) Done() bool {
	return len(d.Evicted) == 0 && len(d.Leaving) == 0 && len(d.Waiting) == 0 && len(d.Blocked) == 0
}

// Pass holds the limits of one pass over the pods of a node.
type Pass struct {
	Evictions int // at most
	// Now is the time that decides which pods must not be disrupted yet, and which are stuck in
	// Terminating.
	Now time.Time
	// Since is the latest time at which the node can have been cordoned. A pod that was created
	// later and runs there tolerates the cordon and would only return. Since is zero if the node is
	// not cordoned, or if the time is unknown.
	Since time.Time
}

// stuckAfter is how long after its deletion timestamp, which includes the grace period, a pod still
// counts as stopping. Karpenter allows the same time.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
const stuckAfter = time.Minute

// annotationMirror is on the mirror pod of a static pod.
const annotationMirror = "kubernetes.io/config.mirror"

// Drain makes one pass over the pods of a node and evicts up to pass.Evictions of those that may
// go, with the eviction API, which respects PodDisruptionBudgets. It does not wait for them to
// stop: the next pass checks. With an error it returns what was done before it.
func (c *Client) Drain(ctx context.Context, node string, pass Pass) (Drained, error) {
	list := operation{what: "list the pods of node " + node, noun: "listing of pods", verb: "list", target: "pods", writes: true}
	if node == "" {
		return Drained{}, list.failed(errIncomplete) // "" would select the pods of no node
	}
	pods, err := c.pods(ctx, node)
	if err != nil {
		return Drained{}, list.failed(err)
	}
	var d Drained
	for _, p := range pods {
		switch why := p.keeps(pass.Now); {
		case p.stuck(pass.Now):
			d.Stuck = append(d.Stuck, p.because("in Terminating since %s, past its grace period", roll.Clock(p.DeletionTimestamp.Time)))
		case !p.DeletionTimestamp.IsZero():
			d.Leaving = append(d.Leaving, p.because("has until %s to stop", roll.Clock(p.DeletionTimestamp.Time)))
		case why != "":
			d.Blocked = append(d.Blocked, p.because("%s", why))
		case toleratesCordon(p), !pass.Since.IsZero() && p.CreationTimestamp.After(pass.Since):
		case len(d.Evicted) >= pass.Evictions:
			d.Waiting = append(d.Waiting, p.because("not asked to leave yet"))
		default:
			if err := c.evict(ctx, p, &d); err != nil {
				return d, err
			}
		}
	}
	return d, nil
}

func (p *podObject) because(format string, args ...any) string {
	return p.Namespace + "/" + p.Name + ": " + fmt.Sprintf(format, args...)
}

// pods lists the pods of a node that have to leave it.
func (c *Client) pods(ctx context.Context, node string) ([]*podObject, error) {
	var out []*podObject
	err := eachPage(func() { out = nil }, func(o *metav1.ListOptions) (string, error) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
		page, next, err := readList[podObject](ctx, c, resourcePod, o)
		out = append(out, slices.DeleteFunc(page, stays)...)
		return next, err
	})
	return out, err
}

// stays reports whether a drain leaves the pod alone. A pod of a DaemonSet, of any API group, would
// return at once, a static one only stops with its kubelet, and a finished one interrupts nothing.
// https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/
func stays(p *podObject) bool {
	if p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
		return true
	}
	if _, mirror := p.Annotations[annotationMirror]; mirror {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == resourceNode.kind && owner.APIVersion == "v1")
}

// toleratesCordon reports whether the pod's tolerations name the taint of a cordon, as the pods of
// DaemonSets and similar controllers do. The taint has no value, and a toleration with the operator Exists
// may have none. A toleration of every taint does not count.
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
func toleratesCordon(p *podObject) bool {
	for _, t := range p.Spec.Tolerations {
		if t.Key == "node.kubernetes.io/unschedulable" && (t.Effect == "" || t.Effect == "NoSchedule") && t.Value == "" {
			return true
		}
	}
	return false
}

// stuck reports whether the pod is still Terminating long after its grace period.
func (p *podObject) stuck(now time.Time) bool {
	return !p.DeletionTimestamp.IsZero() && now.Sub(p.DeletionTimestamp.Time) > stuckAfter
}

// keeps returns the annotation with which the pod's owner prevents disruption, "" if none.
func (p *podObject) keeps(now time.Time) string {
	if p.Annotations[roll.AnnotationSafeToEvict] == "false" {
		return roll.AnnotationSafeToEvict + "=false"
	}
	asked := p.Annotations[roll.AnnotationDoNotDisrupt]
	if asked == "true" {
		return roll.AnnotationDoNotDisrupt + "=true"
	}
	// Karpenter also accepts a duration since the pod's start. Any other value means nothing.
	if d, _ := time.ParseDuration(asked); d > 0 && (p.Status.StartTime.IsZero() || now.Sub(p.Status.StartTime.Time) < d) {
		return roll.AnnotationDoNotDisrupt + "=" + asked
	}
	return ""
}

// evict evicts one pod and counts it. It fails only with an error that would affect every other pod
// too.
func (c *Client) evict(ctx context.Context, p *podObject, d *Drained) error {
	op := operation{what: "evict pod " + p.Namespace + "/" + p.Name, noun: "eviction of pods", verb: "create", target: "pods/eviction", writes: true}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]string{"namespace": p.Namespace, "name": p.Name},
		"deleteOptions": metav1.NewPreconditionDeleteOptions(string(p.UID)),
	})
	if err != nil {
		return op.failed(err)
	}
	// No retries: a budget's refusal may ask for a retry in ten seconds, and the next pass does
	// that.
	err = met(c.rest.Post().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("eviction").
		MaxRetries(0).SetHeader("Content-Type", applicationJSON).Body(body).Do(ctx).Error())
	switch {
	case err == nil:
		d.Evicted = append(d.Evicted, p.because("asked to leave"))
	case errors.Is(err, ErrGone):
	case errors.Is(err, ErrChanged), apierrors.HasStatusCause(err, causeNamespaceTerminating):
		// Another pod has the name, the pod has just changed, or its whole namespace is being
		// deleted. The next pass checks what is left of it.
		d.Leaving = append(d.Leaving, p.because("changes right now"))
	case meetsAll(err):
		return op.failed(err)
	default:
		d.Blocked = append(d.Blocked, p.because("%s", refusal(err)))
	}
	return nil
}

// The causes of a refused eviction or change, as the API server names them.
const (
	causeBudget               metav1.CauseType = "DisruptionBudget"
	causeNamespaceTerminating metav1.CauseType = "NamespaceTerminating"
)

// meetsAll reports whether the answer to one eviction concerns the caller or the API server and not
// the pod. Admission denies that pod alone, with any code.
func meetsAll(err error) bool {
	if deniedByAdmission(err) {
		return false
	}
	switch statusCode(err) {
	case 0, http.StatusUnauthorized, http.StatusServiceUnavailable:
		return true
	case http.StatusTooManyRequests:
		return !apierrors.HasStatusCause(err, causeBudget)
	case http.StatusForbidden:
		return notPermitted(err)
	}
	return false
}

// refusal returns why a pod may not be evicted: the message of its budget, or else that of the API
// server.
func refusal(err error) string {
	if budget, ok := apierrors.StatusCause(err, causeBudget); ok {
		return redact.Text(budget.Message)
	}
	return fmt.Sprintf("the API server refused its eviction: %s", message(err))
}
