package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"rollcall/shared/roll"
)

// errIncomplete: a change without a name or a uid could affect any object. The API server treats an
// empty uid as no condition at all.
var errIncomplete = errors.New("a change needs the name and the uid of its object")

const (
	applicationJSON   = "application/json"
	taintOutOfService = "node.kubernetes.io/out-of-service"
)

// Cordon keeps new pods off the node and notes the order on it. A node that is already cordoned is
// left unchanged, including its note: the owner of a cordon decides who lifts it. The errors are
// ErrChanged, ErrGone and those of the API server.
func (c *Client) Cordon(ctx context.Context, node, uid, order string) error {
	op := operation{what: "cordon node " + node, noun: "cordoning of node " + node, verb: "patch", target: "nodes", writes: true}
	return op.failed(c.changeNode(ctx, node, uid, func(n *NodeObject) (change, error) {
		if n.Spec.Unschedulable {
			return nil, nil
		}
		return change{"metadata": change{"annotations": change{roll.AnnotationCordoned: order}}, "spec": change{"unschedulable": true}}, nil
	}))
}

// Uncordon allows pods on the node again if Rollcall cordoned it for that order, and removes its
// note. If somebody else cordoned it since, only the note is removed. For a node without the note the
// error is ErrChanged; the other errors are those of Cordon.
func (c *Client) Uncordon(ctx context.Context, node, uid, order string) error {
	op := operation{what: "uncordon node " + node, noun: "uncordoning of node " + node, verb: "patch", target: "nodes", writes: true}
	return op.failed(c.changeNode(ctx, node, uid, func(n *NodeObject) (change, error) {
		if order == "" || n.Annotations[roll.AnnotationCordoned] != order {
			return nil, fmt.Errorf("%w: it carries no annotation %s=%s, so the cordon is not Rollcall's", ErrChanged, roll.AnnotationCordoned, order)
		}
		now := roll.Node{Unschedulable: n.Spec.Unschedulable, CordonedBy: order}
		if now.Cordoner, _ = new(projector).cordoner(n); !now.Unschedulable || now.CordonedByOthers() {
			return change{"metadata": change{"annotations": change{roll.AnnotationCordoned: nil}}}, nil
		}
		return change{"metadata": change{"annotations": change{roll.AnnotationCordoned: nil}}, "spec": change{"unschedulable": nil}}, nil
	}))
}

// OutOfService taints the node as one whose machine is shut down permanently, so that the control
// plane removes its pods by force and detaches its volumes at once. For a Ready node the error is
// ErrChanged; the other errors are those of Cordon.
// https://kubernetes.io/docs/reference/labels-annotations-taints/#node-kubernetes-io-out-of-service
func (c *Client) OutOfService(ctx context.Context, node, uid string) error {
	op := operation{what: "taint node " + node, noun: "tainting of node " + node, verb: "patch", target: "nodes", writes: true}
	return op.failed(c.changeNode(ctx, node, uid, func(n *NodeObject) (change, error) {
		if isReady(n.Status.Conditions) {
			return nil, fmt.Errorf("%w: it is Ready", ErrChanged)
		}
		if slices.ContainsFunc(n.Spec.Taints, func(t NodeTaint) bool {
			return t.Key == taintOutOfService && t.Effect == effectNoExecute
		}) {
			return nil, nil
		}
		// A merge patch replaces the list. The resource version ensures that the list is complete.
		taints := append(slices.Clone(n.Spec.Taints), NodeTaint{Key: taintOutOfService, Value: "nodeshutdown", Effect: effectNoExecute})
		return change{"metadata": change{}, "spec": change{"taints": taints}}, nil
	}))
}

// change is a JSON merge patch: https://www.rfc-editor.org/rfc/rfc7386
type change map[string]any

// changeTries bounds how often a change is retried because the node changed between the read and
// the write. Its kubelet reports every few seconds.
const changeTries = 5

// changeNode reads the node and sends the change that make returns; a nil change sends nothing. The
// patch names the uid and the resource version that were read. The API server answers 409 if the
// version is another by then, and 422 on metadata.uid if only the uid is (uid is immutable:
// ValidateObjectMetaAccessorUpdate in apimachinery), so it never changes a node that was not
// checked.
func (c *Client) changeNode(ctx context.Context, node, uid string, make func(*NodeObject) (change, error)) error {
	if node == "" || uid == "" {
		return errIncomplete
	}
	for try := 1; ; try++ {
		var n NodeObject
		if err := c.getObject(ctx, resourceNode.path("", node), &n); err != nil {
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

// DeleteNode deletes the Node object, but not its instance. The errors are ErrChanged, ErrGone and
// those of the API server.
func (c *Client) DeleteNode(ctx context.Context, name, uid string) error {
	op := operation{what: "delete node " + name, noun: "deletion of node " + name, verb: "delete", target: "nodes", writes: true}
	return op.failed(remove(ctx, c.rest.Delete().Resource("nodes").Name(name), name, uid))
}

// DeleteNodeClaim deletes the NodeClaim. Karpenter then drains the node and terminates the
// instance. The errors are those of DeleteNode.
func (c *Client) DeleteNodeClaim(ctx context.Context, name, uid string) error {
	op := operation{what: "delete NodeClaim " + name, noun: "deletion of NodeClaim " + name, verb: "delete", target: "nodeclaims.karpenter.sh", writes: true}
	return op.failed(remove(ctx, c.rest.Delete().AbsPath(resourceNodeClaim.path("", name)).SetHeader("Accept", applicationJSON), name, uid))
}

// remove deletes the object with the name and the uid; for another uid the API server answers 409. It is sent
// once: after a deletion that took effect, a retry would find nothing, or a namesake.
func remove(ctx context.Context, r *rest.Request, name, uid string) error {
	if name == "" || uid == "" {
		return errIncomplete
	}
	options := metav1.NewPreconditionDeleteOptions(uid)
	options.TypeMeta = metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	return met(r.Body(body).SetHeader("Content-Type", applicationJSON).MaxRetries(0).Do(ctx).Error())
}

// met returns ErrChanged or ErrGone if the answer to a change shows that it met another object, or
// none.
func met(err error) error {
	switch {
	case deniedByAdmission(err):
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w (%w)", ErrGone, err)
	case apierrors.IsConflict(err), otherUID(err):
		return fmt.Errorf("%w (%w)", ErrChanged, err)
	}
	return err
}

// otherUID reports whether the answer to a patch means that the object has another uid.
func otherUID(err error) bool {
	status, ok := errors.AsType[apiStatus](err)
	if !ok || status.Status().Code != http.StatusUnprocessableEntity || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
