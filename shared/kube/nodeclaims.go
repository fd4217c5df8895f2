package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"rollcall/shared/roll"
)

const (
	karpenterGroup    = "karpenter.sh"
	karpenterAWSGroup = "karpenter.k8s.aws"
	labelNodePool     = "karpenter.sh/nodepool"
	claimLaunched     = "Launched"
	claimInitialized  = "Initialized"
	claimDisrupted    = "DisruptionReason"
	claimRebooting    = "Rebooting"
	discoveredGroups  = "/apis"
	kindAPIGroupsList = "APIGroupList"
)

// The errors for a cluster without Karpenter, whose API server does not serve the group.
var (
	// ErrNoNodeClaims means that the cluster has no NodeClaims and no NodePools at all.
	ErrNoNodeClaims = errors.New("the cluster serves no " + karpenterGroup)
	// ErrNoEC2NodeClasses means the same for EC2NodeClasses, which Karpenter's AWS provider
	// defines.
	ErrNoEC2NodeClasses = errors.New("the cluster serves no " + karpenterAWSGroup)

	// unserved maps the groups that a cluster may not serve to their errors.
	unserved = map[string]error{karpenterGroup: ErrNoNodeClaims, karpenterAWSGroup: ErrNoEC2NodeClasses}
)

// ValidPool reports whether a node pool can have the name, which must be a valid label value.
func ValidPool(name string) bool {
	return name != "" && len(validation.IsValidLabelValue(name)) == 0
}

// NodeClaims are the NodeClaims of some node pools.
type NodeClaims struct {
	// Of holds the NodeClaims with an instance, by its id. It is empty if no node pools were named:
	// a whole cluster would have as many as nodes.
	Of map[roll.InstanceID]roll.NodeClaim
	// Latest is the latest launch of each node pool that a NodeClaim shows. Of several in one
	// second it is one that failed.
	Latest map[string]Launch
	// Unlaunched holds, by node pool, the NodeClaims that Karpenter has not launched since the
	// latest launch of the pool that succeeded. Launched is the creation time of that launch's
	// NodeClaim.
	Unlaunched map[string]roll.Launch
	Launched   map[string]time.Time
	// Deleting are the NodeClaims that are being deleted and still exist.
	Deleting []roll.NodeClaim
}

// Launch is the result of Karpenter's launch for a NodeClaim.
type Launch struct {
	Created time.Time // of the NodeClaim
	Failed  time.Time // zero if it did not fail
	Message string
}

// later keeps the launch if it is later than the latest one of its pool. Of several in one second
// the failed one counts: the others may have been lucky.
func (n NodeClaims) later(pool string, l Launch) {
	latest, known := n.Latest[pool]
	if !known || l.Created.After(latest.Created) || l.Created.Equal(latest.Created) && !l.Failed.IsZero() {
		n.Latest[pool] = l
	}
}

// wait adds the claim to those of its pool that are not launched, or records its launch.
func (n NodeClaims) wait(pool string, c *nodeClaim, waiting *[]*nodeClaim) {
	switch {
	case meta.IsStatusConditionTrue(c.Status.Conditions, claimLaunched):
		if at := c.Metadata.CreationTimestamp.UTC(); at.After(n.Launched[pool]) {
			n.Launched[pool] = at
		}
	case c.Metadata.DeletionTimestamp.IsZero() && c.Status.ProviderID == "":
		*waiting = append(*waiting, c)
	}
}

// settle summarizes the waiting claims created since the latest launch that succeeded.
func (n NodeClaims) settle(waiting []*nodeClaim) {
	for _, c := range waiting {
		pool, created := c.Metadata.Labels[labelNodePool], c.Metadata.CreationTimestamp.UTC()
		if pool == "" || created.Before(n.Launched[pool]) {
			continue
		}
		u := n.Unlaunched[pool]
		u.Owner, u.Source, u.Field = roll.OwnerKarpenter, resourceNodeClaim.kind, claimLaunched
		u.Since = roll.Earlier(u.Since, created)
		if l, tried := c.launch(); tried && !l.Failed.Before(u.Failed) {
			u.Failed, u.Message = l.Failed, l.Message
		}
		n.Unlaunched[pool] = u
	}
}

// NodeClaims lists the NodeClaims of the node pools, or of the cluster if none are named. "" stands for the NodeClaims
// without a node pool; with it those of the cluster are listed. For a cluster without Karpenter the error is
// ErrNoNodeClaims. After any other error nothing is known.
func (c *Client) NodeClaims(ctx context.Context, pools []string) (NodeClaims, error) {
	selector := ""
	if len(pools) > 0 && !slices.Contains(pools, "") {
		pool, err := labels.NewRequirement(labelNodePool, selection.In, slices.Sorted(slices.Values(pools)))
		if err != nil {
			return NodeClaims{}, listNodeClaims.failed(err)
		}
		selector = labels.NewSelector().Add(*pool).String()
	}
	claims := NodeClaims{Of: map[roll.InstanceID]roll.NodeClaim{}, Latest: map[string]Launch{}, Unlaunched: map[string]roll.Launch{}, Launched: map[string]time.Time{}}
	var waiting []*nodeClaim
	err := c.eachNodeClaim(ctx, selector, func() {
		clear(claims.Of)
		clear(claims.Latest)
		clear(claims.Launched)
		claims.Deleting, waiting = nil, nil
	}, func(c *nodeClaim) {
		id, claim := c.project()
		pool := c.Metadata.Labels[labelNodePool]
		if id != "" && len(pools) > 0 {
			claims.Of[id] = claim
		}
		if !claim.DeletedAt.IsZero() {
			claims.Deleting = append(claims.Deleting, c.placed())
		}
		if l, known := c.launch(); known {
			claims.later(pool, l)
		}
		claims.wait(pool, c, &waiting)
	})
	if err != nil {
		return NodeClaims{}, err
	}
	claims.settle(waiting)
	return claims, nil
}

// NodeClaimsByName lists every NodeClaim by its name, with its instance and node pool, to answer a
// question about one of them. For a cluster without Karpenter the error is ErrNoNodeClaims.
func (c *Client) NodeClaimsByName(ctx context.Context) (map[string]roll.NodeClaim, error) {
	out := map[string]roll.NodeClaim{}
	err := c.eachNodeClaim(ctx, "", func() { clear(out) }, func(c *nodeClaim) { out[c.Metadata.Name] = c.placed() })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// eachNodeClaim lists NodeClaims and passes each to read. If the listing starts again, it calls
// restart, so that the caller discards what it received.
func (c *Client) eachNodeClaim(ctx context.Context, selector string, restart func(), read func(*nodeClaim)) error {
	err := eachPage(restart, func(o *metav1.ListOptions) (string, error) {
		o.LabelSelector = selector
		page, next, err := readList[nodeClaim](ctx, c, resourceNodeClaim, o)
		for _, claim := range page {
			read(claim)
		}
		return next, err
	})
	if apierrors.IsNotFound(err) {
		err = c.whyUnserved(ctx, resourceNodeClaim)
	}
	return listNodeClaims.failed(err)
}

// whyUnserved distinguishes a cluster without Karpenter from one whose Karpenter is too old to
// serve v1, where the objects exist in another version.
func (c *Client) whyUnserved(ctx context.Context, r resource) error {
	var served metav1.APIGroupList
	if err := c.getObject(ctx, discoveredGroups, &served); err != nil {
		return fmt.Errorf("is %s served at all? %w", r.group, err)
	}
	if served.Kind != kindAPIGroupsList {
		return fmt.Errorf("is %s served at all? %s answered with a %q", r.group, discoveredGroups, served.Kind)
	}
	for _, g := range served.Groups {
		if g.Name == r.group {
			return fmt.Errorf("the cluster serves %s, but no %s of version %s: is its Karpenter older than 1.0?", r.group, r.plural, r.version)
		}
	}
	return unserved[r.group]
}

func (c *Client) getObject(ctx context.Context, path string, into any) error {
	data, err := c.get(ctx, path, &metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return unexpected(path, err)
	}
	return nil
}

// nodeClaim has the fields of Karpenter's v1 NodeClaims that are read.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/apis/crds/karpenter.sh_nodeclaims.yaml
type nodeClaim struct {
	Metadata struct {
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		Name              string            `json:"name"`
		UID               string            `json:"uid"`
		CreationTimestamp time.Time         `json:"creationTimestamp"`
		DeletionTimestamp time.Time         `json:"deletionTimestamp"`
		Finalizers        []string          `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		NodeClassRef nodeClassRef `json:"nodeClassRef"`
	} `json:"spec"`
	Status struct {
		ProviderID string             `json:"providerID"`
		NodeName   string             `json:"nodeName"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func (n *nodeClaim) project() (roll.InstanceID, roll.NodeClaim) {
	_, id := roll.ParseProviderID(n.Status.ProviderID)
	out := roll.NodeClaim{Name: n.Metadata.Name, UID: n.Metadata.UID, Node: n.Status.NodeName, DeletedAt: n.Metadata.DeletionTimestamp.UTC()}
	out.DoNotRepair = n.Metadata.Annotations[roll.AnnotationDoNotRepair] == "true"
	if !out.DeletedAt.IsZero() {
		out.Finalizers = (&projector{}).few(n.Metadata.Finalizers)
	}
	out.Initialized, out.Disrupted, out.Rebooting = n.condition(claimInitialized), n.condition(claimDisrupted), n.condition(claimRebooting)
	return id, out
}

// condition returns a condition of the claim, the zero value if it has none of the type.
func (n *nodeClaim) condition(what string) roll.Condition {
	c := meta.FindStatusCondition(n.Status.Conditions, what)
	if c == nil {
		return roll.Condition{}
	}
	return roll.Condition{Status: roll.ConditionStatus(c.Status), Since: c.LastTransitionTime.UTC(), Reason: c.Reason}
}

// placed returns the claim with its instance, node pool and owner.
func (n *nodeClaim) placed() roll.NodeClaim {
	id, out := n.project()
	out.Instance, out.Group, out.Owner = id, roll.GroupNone, n.Spec.NodeClassRef.owner()
	if pool := n.Metadata.Labels[labelNodePool]; pool != "" {
		out.Group = roll.NodePoolGroup(pool)
	}
	return out
}

// launch returns the result of the launch for the claim; false before Karpenter has tried. A failed
// launch leaves the condition Unknown, with a reason. If EC2 lacks capacity, Karpenter deletes the
// claim at once.
func (n *nodeClaim) launch() (Launch, bool) {
	c := meta.FindStatusCondition(n.Status.Conditions, claimLaunched)
	if c == nil || c.Status == metav1.ConditionUnknown && c.Reason == reasonAwaiting {
		return Launch{}, false
	}
	l := Launch{Created: n.Metadata.CreationTimestamp.UTC()}
	if c.Status != metav1.ConditionTrue {
		l.Failed, l.Message = c.LastTransitionTime.UTC(), c.Reason+": "+c.Message
	}
	return l, true
}

// reasonAwaiting is the reason of a condition that Karpenter has not processed yet.
const reasonAwaiting = "AwaitingReconciliation"
