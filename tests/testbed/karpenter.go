package testbed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// nodeClaims and nodePools are Karpenter's resources, in the version of the definitions that "make testbed-deps"
// copies from its module.
var (
	nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	nodePools  = nodeClaims.GroupVersion().WithResource("nodepools")
)

// terminationFinalizer keeps a deleted node or NodeClaim until Karpenter has drained it.
const terminationFinalizer = "karpenter.sh/termination"

// A NodeClaimSpec describes a NodeClaim for [Bed.CreateNodeClaim].
type NodeClaimSpec struct {
	Name       string
	NodePool   string // default if empty
	InstanceID string // for status.providerID; empty for a claim that has not launched anything
	Zone       string // eu-west-1a if empty
	Node       string // status.nodeName
	Created    time.Time
	// Labels are additional labels. Requirements are the label values that it requires, besides the capacity
	// type.
	Labels       map[string]string
	Requirements map[string][]string
	// Conditions are set by type, such as Registered; an empty reason gets a placeholder.
	Conditions []metav1.Condition
}

// installKarpenter installs Karpenter's definitions and waits until the API server serves
// them.
func (b *Bed) installKarpenter(ctx context.Context) error {
	definitions, err := os.ReadFile(b.karpenterCRDs)
	if err != nil {
		return fmt.Errorf("read Karpenter's definitions: %w", err)
	}
	if err := b.Apply(ctx, string(definitions)); err != nil {
		return fmt.Errorf("install Karpenter's definitions: %w", err)
	}
	if b.claims, err = dynamic.NewForConfig(b.admin); err != nil {
		return fmt.Errorf("make a client for NodeClaims: %w", err)
	}
	return poll(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) error {
		_, err := b.claims.Resource(nodeClaims).List(ctx, metav1.ListOptions{})
		return err
	})
}

// CreateNodeClaim creates a NodeClaim as Karpenter does, with its finalizer and a status.
func (b *Bed) CreateNodeClaim(ctx context.Context, spec NodeClaimSpec) error {
	labels := map[string]any{"karpenter.sh/nodepool": cmp.Or(spec.NodePool, "default")}
	for key, value := range spec.Labels {
		labels[key] = value
	}
	requirements := []any{map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}}}
	for _, key := range slices.Sorted(maps.Keys(spec.Requirements)) {
		var values []any
		for _, v := range spec.Requirements[key] {
			values = append(values, v)
		}
		requirements = append(requirements, map[string]any{"key": key, "operator": "In", "values": values})
	}
	claim := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": map[string]any{
			"name": spec.Name, "labels": labels, "finalizers": []any{terminationFinalizer},
		},
		"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": requirements,
		},
	}}
	resource := b.claims.Resource(nodeClaims)
	created, err := resource.Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create NodeClaim %s: %w", spec.Name, err)
	}
	created.Object["status"] = claimStatus(spec)
	if _, err := resource.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("set the status of NodeClaim %s: %w", spec.Name, err)
	}
	if spec.Created.IsZero() {
		return nil
	}
	return b.age(ctx, nodeClaimKey+spec.Name, spec.Created)
}

// SetNodePool creates a NodePool with these taints, or replaces the taints of an existing
// one.
func (b *Bed) SetNodePool(ctx context.Context, name string, taints, startup []corev1.Taint) error {
	pool, err := json.Marshal(map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": []any{map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}}},
			"taints":       append([]corev1.Taint{}, taints...), "startupTaints": append([]corev1.Taint{}, startup...),
		}}},
	})
	if err != nil {
		return fmt.Errorf("write NodePool %s: %w", name, err)
	}
	return b.Apply(ctx, string(pool))
}

// forgetNodePools deletes all NodePools at once.
func (b *Bed) forgetNodePools(ctx context.Context) error {
	if err := b.claims.Resource(nodePools).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all NodePools: %w", err)
	}
	return nil
}

func claimStatus(spec NodeClaimSpec) map[string]any {
	status := map[string]any{"nodeName": spec.Node}
	if spec.InstanceID != "" {
		status["providerID"] = "aws:///" + cmp.Or(spec.Zone, Region+"a") + "/" + spec.InstanceID
	}
	var conditions []any
	for _, c := range spec.Conditions {
		since := c.LastTransitionTime
		if since.IsZero() {
			since = metav1.Now()
		}
		conditions = append(conditions, map[string]any{
			"type": c.Type, "status": string(c.Status), "reason": cmp.Or(c.Reason, c.Type), "message": c.Message,
			"lastTransitionTime": since.UTC().Format(time.RFC3339),
		})
	}
	status["conditions"] = conditions
	return status
}

// DeleteNodeClaim deletes a NodeClaim. It remains, with a deletion timestamp, until [Bed.FinishNodeClaim].
func (b *Bed) DeleteNodeClaim(ctx context.Context, name string) error {
	if err := b.claims.Resource(nodeClaims).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete NodeClaim %s: %w", name, err)
	}
	return nil
}

// FinishNodeClaim removes the finalizer of a deleted NodeClaim, as Karpenter does when the instance is
// gone.
func (b *Bed) FinishNodeClaim(ctx context.Context, name string) error {
	_, err := b.claims.Resource(nodeClaims).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("finish NodeClaim %s: %w", name, err)
	}
	return nil
}

// NodeClaimDeleting reports whether a NodeClaim is being deleted.
func (b *Bed) NodeClaimDeleting(ctx context.Context, name string) (bool, error) {
	claim, err := b.claims.Resource(nodeClaims).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("read NodeClaim %s: %w", name, err)
	}
	return claim.GetDeletionTimestamp() != nil, nil
}

// forgetNodeClaims deletes all NodeClaims at once.
func (b *Bed) forgetNodeClaims(ctx context.Context) error {
	resource := b.claims.Resource(nodeClaims)
	all, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list NodeClaims: %w", err)
	}
	for _, c := range all.Items {
		if err := b.FinishNodeClaim(ctx, c.GetName()); err != nil {
			return err
		}
		if c.GetDeletionTimestamp() == nil {
			if err := b.DeleteNodeClaim(ctx, c.GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}
