package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"rollcall/shared/roll"
)

// errIncomplete: a change without a name or a uid could meet any object; the API
// server takes an empty uid for no condition at all.
var errIncomplete = errors.New("a change needs the name and the uid of its object")

const applicationJSON = "application/json"

// Cordon keeps new pods off the node and notes the order on it. A node that is
// cordoned already is left as it is, also its note: whose cordon it is decides who
// lifts it. The errors are ErrChanged, ErrGone and what the API server says.
func (c *Client) Cordon(ctx context.Context, node, uid, order string) error {
	op := operation{what: "cordon node " + node, noun: "cordoning of node " + node, verb: "patch", target: "nodes", writes: true}
	return op.failed(c.changeNode(ctx, node, uid, func(n *corev1.Node) (change, error) {
		if n.Spec.Unschedulable {
			return nil, nil
		}
		return change{"metadata": change{"annotations": change{roll.AnnotationCordoned: order}}, "spec": change{"unschedulable": true}}, nil
	}))
}

// Uncordon lets pods onto the node again if Rollcall cordoned it by that order, and
// removes its note. A node without the note is not its to uncordon, which is ErrChanged;
// the other errors are those of Cordon.
func (c *Client) Uncordon(ctx context.Context, node, uid, order string) error {
	op := operation{what: "uncordon node " + node, noun: "uncordoning of node " + node, verb: "patch", target: "nodes", writes: true}
	return op.failed(c.changeNode(ctx, node, uid, func(n *corev1.Node) (change, error) {
		if order == "" || n.Annotations[roll.AnnotationCordoned] != order {
			return nil, fmt.Errorf("%w: it carries no annotation %s=%s, so the cordon is not Rollcall's", ErrChanged, roll.AnnotationCordoned, order)
		}
		if !n.Spec.Unschedulable {
			return change{"metadata": change{"annotations": change{roll.AnnotationCordoned: nil}}}, nil
		}
		return change{"metadata": change{"annotations": change{roll.AnnotationCordoned: nil}}, "spec": change{"unschedulable": nil}}, nil
	}))
}

// OutOfService taints the node as one whose machine is shut down for good, so that the
// control plane removes its pods by force and detaches its volumes at once. A Ready node is
// not one, which is ErrChanged; the other errors are those of Cordon.
// https://kubernetes.io/docs/reference/labels-annotations-taints/#node-kubernetes-io-out-of-service
func (c *Client) OutOfService(ctx context.Context, node, uid string) error {
	op := operation{what: "taint node " + node, noun: "tainting of node " + node, verb: "patch", target: "nodes", writes: true}
	return op.failed(c.changeNode(ctx, node, uid, func(n *corev1.Node) (change, error) {
		if slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			return nil, fmt.Errorf("%w: it is Ready", ErrChanged)
		}
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == corev1.TaintNodeOutOfService && t.Effect == corev1.TaintEffectNoExecute
		}) {
			return nil, nil
		}
		// A merge patch replaces the list: the version makes sure that it is the whole.
		taints := append(slices.Clone(n.Spec.Taints), corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
		return change{"metadata": change{}, "spec": change{"taints": taints}}, nil
	}))
}

// change is a JSON merge patch: https://www.rfc-editor.org/rfc/rfc7386
type change map[string]any

// changeTries bounds how often a change is made anew because the node changed between
// reading and writing it; its kubelet reports every few seconds.
const changeTries = 5

// changeNode reads the node and sends the change that it calls for; a nil change is
// none. The patch names the uid and the resource version that were read. The API
// server answers 409 when the version is another by now, and 422 on metadata.uid when
// only the uid is (uid is immutable: ValidateObjectMetaAccessorUpdate in apimachinery),
// so it never changes a node that nobody looked at.
func (c *Client) changeNode(ctx context.Context, node, uid string, make func(*corev1.Node) (change, error)) error {
	if node == "" || uid == "" {
		return errIncomplete
	}
	for try := 1; ; try++ {
		var n corev1.Node
		if err := c.rest.Get().Resource("nodes").Name(node).Do(ctx).Into(&n); err != nil {
			return met(err)
		}
		if string(n.UID) != uid {
			return fmt.Errorf("%w: it has the uid %s, not %s", ErrChanged, n.UID, uid)
		}
		patch, err := make(&n)
		if err != nil || patch == nil {
			return err
		}
		meta, _ := patch["metadata"].(change)
		meta["uid"], meta["resourceVersion"] = uid, n.ResourceVersion
		body, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		err = c.rest.Patch(types.MergePatchType).Resource("nodes").Name(node).MaxRetries(0).Body(body).Do(ctx).Error()
		if apierrors.IsConflict(err) && try < changeTries {
			continue
		}
		return met(err)
	}
}

// DeleteNode removes the Node object, and nothing behind it. The errors are ErrChanged,
// ErrGone and what the API server says.
func (c *Client) DeleteNode(ctx context.Context, name, uid string) error {
	op := operation{what: "delete node " + name, noun: "deletion of node " + name, verb: "delete", target: "nodes", writes: true}
	if name == "" || uid == "" {
		return op.failed(errIncomplete)
	}
	return op.failed(remove(ctx, c.rest.Delete().Resource("nodes").Name(name), uid))
}

// DeleteNodeClaim asks Karpenter to remove an instance in its own way, which drains its
// node and terminates it. The errors are those of DeleteNode.
func (c *Client) DeleteNodeClaim(ctx context.Context, name, uid string) error {
	op := operation{what: "delete NodeClaim " + name, noun: "deletion of NodeClaim " + name, verb: "delete", target: "nodeclaims.karpenter.sh", writes: true}
	if name == "" || uid == "" {
		return op.failed(errIncomplete)
	}
	return op.failed(remove(ctx, c.rest.Delete().AbsPath(nodeClaimsPath, name).SetHeader("Accept", applicationJSON), uid))
}

// remove deletes what has the uid: with another one the API server answers 409. It is
// sent once: after one that took effect another would find nothing, or a namesake.
func remove(ctx context.Context, r *rest.Request, uid string) error {
	options := metav1.NewPreconditionDeleteOptions(uid)
	options.TypeMeta = metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	return met(r.Body(body).SetHeader("Content-Type", applicationJSON).MaxRetries(0).Do(ctx).Error())
}

// met tells from the answer to a change whether it met another object, or none.
func met(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w (%w)", ErrGone, err)
	case apierrors.IsConflict(err), otherUID(err):
		return fmt.Errorf("%w (%w)", ErrChanged, err)
	}
	return err
}

// otherUID recognizes the answer to a patch whose uid is not that of the object.
func otherUID(err error) bool {
	status, ok := errors.AsType[apiStatus](err)
	if !ok || status.Status().Code != http.StatusUnprocessableEntity || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
