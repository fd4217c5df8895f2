package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
)

const (
	conditionNodeClass  = "NodeClassReady"
	conditionValidation = "ValidationSucceeded"
	// reasonDependencies is the reason of a validation that waits for the other conditions.
	reasonDependencies = "DependenciesNotReady"
	kindEC2NodeClass   = "EC2NodeClass"
	// groupAutoMode is the API group of the NodeClasses of EKS Auto Mode.
	// https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html
	groupAutoMode = "eks.amazonaws.com"
)

// nodeClassRef is the field of NodePools and NodeClaims that names their NodeClass.
type nodeClassRef struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// owner returns who launches the nodes of the NodeClass: the cluster's own Karpenter or EKS Auto Mode's.
func (r nodeClassRef) owner() roll.Owner {
	if r.Group == groupAutoMode {
		return roll.OwnerAutoMode
	}
	return roll.OwnerKarpenter
}

// nodePoolState has the fields of NodePools and EC2NodeClasses that show whether they are ready.
type nodePoolState struct {
	Metadata struct {
		Name              string    `json:"name"`
		DeletionTimestamp time.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Template struct {
			Spec struct {
				NodeClassRef nodeClassRef `json:"nodeClassRef"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func (p *nodePoolState) condition(what string) metav1.Condition {
	if c := meta.FindStatusCondition(p.Status.Conditions, what); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// NodePools are the node pools of a cluster, by name.
type NodePools struct {
	// Unready are those for which Karpenter launches nothing: a condition of the node pool, or of its
	// NodeClass, says that it is not ready. The message quotes the conditions. Those that are being
	// deleted do not count.
	Unready map[string]roll.Launch
	// Owners are who launches the nodes of each.
	Owners map[string]roll.Owner
}

// NodePools lists the node pools. A NodeClass that cannot be read leaves what its node pool says of it.
// For a cluster without Karpenter the error is ErrNoNodeClaims.
// https://karpenter.sh/docs/concepts/nodepools/#statusconditions
// https://karpenter.sh/docs/concepts/nodeclasses/#statusconditions
func (c *Client) NodePools(ctx context.Context) (NodePools, error) {
	pools, err := decoded[nodePoolState](ctx, c, AllNodePools())
	if err != nil {
		return NodePools{}, err
	}
	out := NodePools{Unready: map[string]roll.Launch{}, Owners: map[string]roll.Owner{}}
	for _, p := range pools {
		out.Owners[p.Metadata.Name] = p.Spec.Template.Spec.NodeClassRef.owner()
		ready := p.condition(conditionReady)
		if ready.Status != metav1.ConditionFalse || !p.Metadata.DeletionTimestamp.IsZero() || ready.LastTransitionTime.IsZero() {
			continue
		}
		source, since := "NodePool "+p.Metadata.Name, ready.LastTransitionTime.UTC()
		says := unmet(p, conditionNodeClass, conditionValidation)
		if class := p.Spec.Template.Spec.NodeClassRef; p.condition(conditionNodeClass).Status == metav1.ConditionFalse && class.Kind == kindEC2NodeClass {
			if of, err := decoded[nodePoolState](ctx, c, AnEC2NodeClass(class.Name)); err == nil && len(of) == 1 {
				if more := unmet(of[0]); len(more) > 0 {
					source, says = kindEC2NodeClass+" "+class.Name, more
				}
			}
		}
		if len(says) == 0 {
			says = []metav1.Condition{ready}
		}
		out.Unready[p.Metadata.Name] = roll.Launch{
			Owner: out.Owners[p.Metadata.Name], Since: since, Failed: since, Unready: true,
			Message: quoted(says), Source: source, Field: "status.conditions[" + says[0].Type + "]",
		}
	}
	return out, nil
}

// quoted returns what the conditions say, such as "SubnetsReady is False (SubnetsNotFound): ...".
func quoted(conditions []metav1.Condition) string {
	return strings.Join(roll.Map(conditions, func(c metav1.Condition) string {
		return strings.TrimSuffix(fmt.Sprintf("%s is %s (%s): %s", c.Type, c.Status, c.Reason, c.Message), ": ")
	}), "; ")
}

// unmet returns the conditions that are False, or else those that are Unknown: of these types, or if
// none are given of all on which Ready depends. A validation that waits for others says nothing
// beside them.
func unmet(p *nodePoolState, types ...string) []metav1.Condition {
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		var found []metav1.Condition
		for _, c := range p.Status.Conditions {
			depends := c.Type != conditionReady && (strings.HasSuffix(c.Type, conditionReady) || c.Type == conditionValidation)
			if len(types) > 0 {
				depends = slices.Contains(types, c.Type)
			}
			if depends && c.Status == status {
				found = append(found, c)
			}
		}
		if rest := slices.DeleteFunc(slices.Clone(found), func(c metav1.Condition) bool { return c.Reason == reasonDependencies }); len(rest) > 0 {
			return rest
		}
	}
	return nil
}
