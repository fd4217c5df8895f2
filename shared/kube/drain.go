package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"rollcall/shared/roll"
)

// Drained is what one pass over the pods of a node came to: each pod by its
// namespace/name, and why it is there. Pods that stay by design are not among them: those
// of DaemonSets and the like, static and finished ones.
type Drained struct {
	Evicted []string // evicted by this pass; they may still be stopping
	Leaving []string // on their way out before it
	Waiting []string // left for the next pass
	Blocked []string // not to be evicted, or refused
	// Stuck hang in Terminating long past their grace period. They hold no drain: the
	// container runtime, or a finalizer, keeps them, and no more waiting changes that.
	Stuck []string
}

// Done reports whether there was nothing left to evict or to wait for.
func (d Drained) Done() bool {
	return len(d.Evicted) == 0 && len(d.Leaving) == 0 && len(d.Waiting) == 0 && len(d.Blocked) == 0
}

// Pass is what bounds one pass over the pods of a node.
type Pass struct {
	Evictions int // at most
	// Now is the time against which pods are kept that are not to be disrupted yet, and
	// against which they hang in Terminating.
	Now time.Time
	// Since is when the node was cordoned at the latest: what was created after it and
	// runs there tolerates the cordon and would only come back. Zero if it is not cordoned, or
	// nobody can tell since when.
	Since time.Time
}

// stuckAfter is how long past its deletion timestamp, which includes the grace period, a
// pod still counts as one that stops. Karpenter gives it as long.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
const stuckAfter = time.Minute

// Annotations by which the owner of a pod asks not to have it interrupted.
const (
	// https://karpenter.sh/docs/concepts/disruption/#pod-level-controls
	annotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
	// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
	annotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

// Drain makes one pass over the pods of a node and evicts up to pass.Evictions of those
// that may go, by the eviction API, which respects PodDisruptionBudgets. It does not wait
// for them to stop: the next pass sees. With an error the result is what was done up to it.
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
	for i := range pods {
		p := &pods[i]
		switch why := p.keeps(pass.Now); {
		case p.stuck(pass.Now):
			d.Stuck = append(d.Stuck, p.because("in Terminating since %s, past its grace period", roll.Clock(p.leaving)))
		case !p.leaving.IsZero():
			d.Leaving = append(d.Leaving, p.because("has until %s to stop", roll.Clock(p.leaving)))
		case why != "":
			d.Blocked = append(d.Blocked, p.because("%s", why))
		case p.tolerates, !pass.Since.IsZero() && p.created.After(pass.Since):
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

// pod is a pod that has to leave, cut down.
type pod struct {
	namespace, name, uid      string
	leaving                   time.Time // when its grace period is over; zero if nobody deletes it
	created, started          time.Time
	doNotDisrupt, safeToEvict string
	tolerates                 bool // the taint of a cordoned node, by its key
}

// because names the pod and says why it is there.
func (p *pod) because(format string, args ...any) string {
	return p.namespace + "/" + p.name + ": " + fmt.Sprintf(format, args...)
}

// pods lists the pods of a node that have to leave it.
func (c *Client) pods(ctx context.Context, node string) ([]pod, error) {
	var out []pod
	err := again(func() { out = nil }, func() error {
		return eachPage(func(o *metav1.ListOptions) (string, error) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
			var page corev1.PodList
			err := c.rest.Get().Resource("pods").VersionedParams(o, parameterCodec).Do(ctx).Into(&page)
			for i := range page.Items {
				if p := &page.Items[i]; !stays(p) {
					out = append(out, cutDown(p))
				}
			}
			return page.Continue, err
		})
	})
	return out, err
}

// stays reports pods that a drain leaves alone: those of a DaemonSet, of whatever API group,
// would come right back, a static one only ends with its kubelet, and finished ones interrupt
// nothing.
// https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/
func stays(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return true
	}
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == resourceNode.kind && owner.APIVersion == "v1")
}

// toleratesCordon reports whether the pod names the taint that a cordon puts on a node
// among its tolerations, as the pods of everything like a DaemonSet do. One that tolerates
// whatever there is says nothing about cordons.
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
func toleratesCordon(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.Key == corev1.TaintNodeUnschedulable && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule) &&
			(t.Operator == corev1.TolerationOpExists || t.Value == "")
	})
}

// stuck reports whether the pod is in Terminating long past its grace period.
func (p *pod) stuck(now time.Time) bool {
	return !p.leaving.IsZero() && now.Sub(p.leaving) > stuckAfter
}

func cutDown(p *corev1.Pod) pod {
	out := pod{
		namespace: p.Namespace, name: p.Name, uid: string(p.UID), created: p.CreationTimestamp.Time, tolerates: toleratesCordon(p),
		doNotDisrupt: p.Annotations[annotationDoNotDisrupt], safeToEvict: p.Annotations[annotationSafeToEvict],
	}
	if p.DeletionTimestamp != nil {
		out.leaving = p.DeletionTimestamp.Time
	}
	if p.Status.StartTime != nil {
		out.started = p.Status.StartTime.Time
	}
	return out
}

// keeps says by which annotation the pod's owner keeps it where it is, "" if none.
func (p *pod) keeps(now time.Time) string {
	if p.safeToEvict == "false" {
		return annotationSafeToEvict + "=false"
	}
	if p.doNotDisrupt == "true" {
		return annotationDoNotDisrupt + "=true"
	}
	// Karpenter also takes a time since the pod's start; what is neither means nothing.
	if d, err := time.ParseDuration(p.doNotDisrupt); err == nil && d > 0 && (p.started.IsZero() || now.Sub(p.started) < d) {
		return annotationDoNotDisrupt + "=" + p.doNotDisrupt
	}
	return ""
}

// evict evicts one pod and counts it. It fails only for what would meet every other
// pod too.
func (c *Client) evict(ctx context.Context, p *pod, d *Drained) error {
	op := operation{what: "evict pod " + p.namespace + "/" + p.name, noun: "eviction of pods", verb: "create", target: "pods/eviction", writes: true}
	body, err := json.Marshal(&policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{Kind: "Eviction", APIVersion: policyv1.SchemeGroupVersion.String()},
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.namespace, Name: p.name},
		DeleteOptions: metav1.NewPreconditionDeleteOptions(p.uid),
	})
	if err != nil {
		return op.failed(err)
	}
	// No retries: a budget's refusal may ask to come back in ten seconds, and the next
	// pass does.
	err = c.rest.Post().Namespace(p.namespace).Resource("pods").Name(p.name).SubResource("eviction").
		MaxRetries(0).SetHeader("Content-Type", applicationJSON).Body(body).Do(ctx).Error()
	switch {
	case err == nil:
		d.Evicted = append(d.Evicted, p.because("asked to leave"))
	case apierrors.IsNotFound(err):
	case apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// Another pod has its name by now, the pod changed just then, or its whole
		// namespace goes: the next pass sees what is left of it.
		d.Leaving = append(d.Leaving, p.because("changes right now"))
	case meetsAll(err):
		return op.failed(err)
	default:
		d.Blocked = append(d.Blocked, p.because("%s", refusal(err)))
	}
	return nil
}

// meetsAll reports whether the answer to one eviction is about the caller or the API
// server and not about the pod. Admission webhooks answer with any code.
func meetsAll(err error) bool {
	switch statusCode(err) {
	case 0, http.StatusUnauthorized, http.StatusServiceUnavailable:
		return true
	case http.StatusTooManyRequests:
		return !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
	case http.StatusForbidden:
		return notPermitted(err)
	}
	return false
}

// refusal says why a pod may not be evicted: the word of its budget, or else what the
// API server said.
func refusal(err error) string {
	if status, ok := errors.AsType[apiStatus](err); ok && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Type == policyv1.DisruptionBudgetCause && c.Message != "" {
				return c.Message
			}
		}
	}
	return fmt.Sprintf("the API server refused its eviction: %s", message(err))
}
