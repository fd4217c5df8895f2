package kube

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"rollcall/shared/roll"
)

// Budgets are the PodDisruptionBudgets of a cluster, for use with many nodes.
type Budgets struct {
	all []budget
}

// budget is one of them. Its selector is parsed once for all silent nodes of a check.
type budget struct {
	*budgetObject
	selects labels.Selector
	err     error // of the selector
}

func newBudgets(all []*budgetObject) *Budgets {
	return &Budgets{roll.Map(all, func(pdb *budgetObject) budget {
		selects, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector) // nil selects nothing, {} everything
		return budget{pdb, selects, err}
	})}
}

// Volumes are the PersistentVolumes of a cluster that hold data: those that are bound, and those
// that are released and retained.
type Volumes struct{ all []*volumeObject }

// Budgets reads the PodDisruptionBudgets of the cluster. The errors are those of
// [Client.Read].
func (c *Client) Budgets(ctx context.Context) (*Budgets, error) {
	all, err := decoded[budgetObject](ctx, c, AllBudgets())
	return newBudgets(all), err
}

// Volumes reads the PersistentVolumes of the cluster. The errors are those of
// [Client.Read].
func (c *Client) Volumes(ctx context.Context) (*Volumes, error) {
	all, err := decoded[volumeObject](ctx, c, AllVolumes())
	return &Volumes{slices.DeleteFunc(all, func(v *volumeObject) bool {
		// A bound volume holds data. A released one does if it is retained.
		kept := v.Status.Phase == "Released" && v.Spec.PersistentVolumeReclaimPolicy == "Retain"
		return v.Status.Phase != "Bound" && !kept
	})}, err
}

// Covered holds the fields of a pod that determine its disruption budgets.
type Covered struct {
	Namespace, Name string
	Labels          map[string]string
	Ready, Leaving  bool
}

// BudgetsOf returns those of the PodDisruptionBudgets, as [AllBudgets] returns them, that count the
// pods.
func BudgetsOf(budgets []*Item, pods []Covered) ([]roll.Budget, error) {
	all, err := decodeAll[budgetObject](budgets)
	if err != nil {
		return nil, err
	}
	return newBudgets(all).of(pods), nil
}

// KeepsPod returns the annotation with which the owner of a pod keeps Karpenter from draining it, ""
// if none. A duration since the pod's start counts as if it lasted.
func KeepsPod(annotations map[string]string) string {
	asked := map[string]string{roll.AnnotationDoNotDisrupt: annotations[roll.AnnotationDoNotDisrupt]}
	return (&podObject{ObjectMeta: metav1.ObjectMeta{Annotations: asked}}).keeps(time.Time{})
}

func decoded[T any](ctx context.Context, c *Client, q Question) ([]*T, error) {
	items, err := c.Read(ctx, q)
	out, bad := decodeAll[T](items)
	if bad != nil {
		return nil, q.unexpected(bad)
	}
	return out, err
}

// SilentNode reads what terminating the instance of a silent node would affect: the node and its
// pods, as of a time. Budgets and volumes that are nil were not read. The errors are those of
// [Client.Read].
func (c *Client) SilentNode(ctx context.Context, name string, at time.Time, budgets *Budgets, volumes *Volumes) (roll.NodePods, error) {
	nodes, err := decoded[NodeObject](ctx, c, ANode(name))
	if err != nil {
		return roll.NodePods{}, err
	}
	pods, err := decoded[podObject](ctx, c, PodsOf(name))
	if err != nil {
		return roll.NodePods{}, err
	}
	n := nodes[0]
	out := roll.NodePods{Read: roll.Yes, Attached: attached(n)}
	var counted []Covered // by budgets
	claims, waitedFor := map[string]bool{}, volumes.attachedTo(n)
	for _, p := range pods {
		for _, claim := range claimsOf(p) {
			claims[p.Namespace+"/"+claim] = true
		}
		if stays(p) {
			continue
		}
		one, err := c.silentPod(ctx, p, at, waitedFor)
		if err != nil {
			return roll.NodePods{}, err
		}
		if toleratesCordon(p) && one.NotToDisrupt == "" {
			continue // of something like a DaemonSet
		}
		out.Pods = append(out.Pods, one)
		if !one.Waits {
			counted = append(counted, Covered{p.Namespace, p.Name, p.Labels, isReady(p.Status.Conditions), p.DeletionTimestamp != nil})
		}
	}
	if budgets != nil {
		out.BudgetsRead, out.Budgets = roll.Yes, budgets.of(counted)
	}
	if volumes != nil {
		out.VolumesRead, out.LocalVolumes = roll.Yes, volumes.on(n, claims)
	}
	return out, nil
}

// PodsWait reports whether a pod may wait for a new node. Karpenter launches for pods that the scheduler calls
// unschedulable, and for none of a DaemonSet. One that the scheduler has not seen yet counts too; one that a gate keeps
// from the scheduler does not. The errors are those of [Client.Read].
// https://github.com/kubernetes-sigs/karpenter/blob/v1.8.0/pkg/utils/pod/scheduling.go
// https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/
func (c *Client) PodsWait(ctx context.Context) (bool, error) {
	pods, err := decoded[podObject](ctx, c, PodsWithoutNode())
	if errors.Is(err, errTooLarge) {
		return true, nil // thousands of them
	}
	gated := func(s Condition) bool { return s.Type == "PodScheduled" && s.Reason == "SchedulingGated" }
	return slices.ContainsFunc(pods, func(p *podObject) bool {
		return !stays(p) && p.DeletionTimestamp == nil && !slices.ContainsFunc(p.Status.Conditions, gated)
	}), err
}

// attached returns the ids of the volumes that are attached to the node, as far as the control
// plane knows. Their names have the form kubernetes.io/csi/ebs.csi.aws.com^vol-0abc.
func attached(n *NodeObject) []string {
	var out []string
	for _, v := range n.Status.VolumesAttached {
		out = append(out, v.Name[strings.LastIndexAny(v.Name, "^/")+1:])
	}
	return out
}

func claimsOf(p *podObject) []string {
	var out []string
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, p.Name+"-"+v.Name)
		}
	}
	return out
}

// silentPod returns what is known of a pod of a silent node. attached are the claims whose volumes
// are attached to the node.
func (c *Client) silentPod(ctx context.Context, p *podObject, at time.Time, attached map[string]bool) (roll.Pod, error) {
	out := roll.Pod{Name: p.Namespace + "/" + p.Name, NotToDisrupt: p.keeps(at)}
	if !p.stuck(at) {
		return out, nil
	}
	owner := metav1.GetControllerOfNoCopy(p)
	out.Waits = owner != nil && owner.Kind == "StatefulSet" ||
		slices.ContainsFunc(claimsOf(p), func(claim string) bool { return attached[p.Namespace+"/"+claim] })
	if out.NotToDisrupt == "" || owner == nil || owner.Kind == "StatefulSet" || len(p.Labels) == 0 {
		return out, nil // not needed, or nothing can have replaced it
	}
	like, err := decoded[podObject](ctx, c, PodsLike(p.Namespace, p.Labels))
	if errors.Is(err, errTooLarge) {
		return out, nil // unknown, so its owner keeps it
	}
	if err != nil {
		return out, err
	}
	out.Replaced = replaced(p, owner, like, at)
	return out, nil
}

// replaced reports whether at least as many pods of the owner were created since and work elsewhere
// as are stuck. Which one replaced which is unknown.
func replaced(p *podObject, owner *metav1.OwnerReference, like []*podObject, at time.Time) bool {
	theirs := slices.DeleteFunc(slices.Clone(like), func(other *podObject) bool {
		by := metav1.GetControllerOfNoCopy(other)
		return by == nil || by.UID != owner.UID || other.Name == p.Name
	})
	stuck, since := 1, deletedAt(p)
	for _, other := range theirs {
		if other.stuck(at) {
			stuck++
			if d := deletedAt(other); d.Before(since) {
				since = d
			}
		}
	}
	for _, other := range theirs {
		if other.DeletionTimestamp == nil && isReady(other.Status.Conditions) && other.Spec.NodeName != p.Spec.NodeName && !other.CreationTimestamp.Time.Before(since) {
			stuck--
		}
	}
	return stuck <= 0
}

// deletedAt returns when a pod was deleted. Its deletion timestamp includes the grace period.
func deletedAt(p *podObject) time.Time {
	grace := int64(0)
	if p.DeletionGracePeriodSeconds != nil {
		grace = *p.DeletionGracePeriodSeconds
	}
	return p.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
}

// isReady reports whether the conditions of a pod or of a node say that it is Ready.
func isReady(conditions []Condition) bool {
	return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Type == conditionReady && c.Status == conditionTrue })
}

// of returns the budgets that count the pods. A pod is healthy for its budget if it is Ready and
// not being deleted; the control plane marks those of a silent node not Ready.
// https://kubernetes.io/docs/tasks/run-application/configure-pdb/#healthiness-of-a-pod
func (b *Budgets) of(pods []Covered) []roll.Budget {
	var out []roll.Budget
	for _, pdb := range b.all {
		one := roll.Budget{
			Name: pdb.Namespace + "/" + pdb.Name, Healthy: int(pdb.Status.CurrentHealthy), Desired: int(pdb.Status.DesiredHealthy), AlwaysAllow: pdb.alwaysAllows(),
			Unknown: pdb.err != nil || pdb.Status.ObservedGeneration < pdb.Generation || uncounted(pdb.budgetObject),
		}
		for _, p := range pods {
			if p.Namespace != pdb.Namespace || pdb.err == nil && !pdb.selects.Matches(labels.Set(p.Labels)) {
				continue
			}
			one.Pods = append(one.Pods, p.Namespace+"/"+p.Name)
			if p.Ready && !p.Leaving {
				one.Ready++
			}
		}
		if len(one.Pods) > 0 {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(x, y roll.Budget) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// alwaysAllows reports whether pods that are not Ready may be evicted whatever the numbers.
// https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
func (b *budgetObject) alwaysAllows() bool {
	return b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == "AlwaysAllow"
}

// attachedTo returns the claims, by namespace/name, whose volumes are attached to the node. It
// returns none if the volumes were not read. Drivers that attach nothing, such as those of network
// file systems, are not in the node's status.
// https://kubernetes-csi.github.io/docs/skip-attach.html
func (v *Volumes) attachedTo(n *NodeObject) map[string]bool {
	if v == nil {
		return nil
	}
	out := map[string]bool{}
	for _, pv := range v.all {
		name, claim := attachedAs(&pv.Spec), pv.Spec.ClaimRef
		if claim != nil && slices.ContainsFunc(n.Status.VolumesAttached, func(a AttachedVolume) bool { return a.Name == name }) {
			out[claim.Namespace+"/"+claim.Name] = true
		}
	}
	return out
}

// EBS returns the ids of the EBS volumes behind these PersistentVolumes.
func (v *Volumes) EBS() map[string]bool {
	out := map[string]bool{}
	for _, pv := range v.all {
		if _, id, ok := strings.Cut(attachedAs(&pv.Spec), "^"); ok && strings.HasPrefix(id, "vol-") {
			out[id] = true
		}
	}
	return out
}

// attachedAs returns the name under which a node's status lists a volume, "" if it has no driver.
// An EBS volume from before CSI drivers is translated.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/volume/csi/csi_plugin.go (GetVolumeName)
// https://github.com/kubernetes/csi-translation-lib/blob/master/plugins/aws_ebs.go
func attachedAs(s *volumeSpec) string {
	const csi = "kubernetes.io/csi/"
	switch {
	case s.CSI != nil:
		return csi + s.CSI.Driver + "^" + s.CSI.VolumeHandle
	case s.AWSElasticBlockStore != nil:
		id := s.AWSElasticBlockStore.VolumeID
		return csi + "ebs.csi.aws.com^" + id[strings.LastIndex(id, "/")+1:]
	}
	return ""
}

// uncounted reports whether the control plane could not count the pods of a budget. It then leaves
// the previous numbers in the status and sets a condition.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/controller/disruption/disruption.go (failSafe)
func uncounted(pdb *budgetObject) bool {
	c := meta.FindStatusCondition(pdb.Status.Conditions, "DisruptionAllowed")
	return c != nil && c.Reason == "SyncFailed"
}

// on returns the volumes on the node's own disks: those that can be used only there, and those with
// a path on any node that a pod of this one uses.
func (v *Volumes) on(n *NodeObject, claims map[string]bool) []roll.LocalVolume {
	var out []roll.LocalVolume
	for _, pv := range v.all {
		claim := ""
		if r := pv.Spec.ClaimRef; r != nil {
			claim = r.Namespace + "/" + r.Name
		}
		disk := pv.Spec.Local != nil || pv.Spec.HostPath != nil
		alone, bound := usable(pv.Spec.NodeAffinity, n)
		if alone || disk && bound || disk && pv.Spec.NodeAffinity == nil && claims[claim] {
			out = append(out, roll.LocalVolume{Name: pv.Name, Claim: claim})
		}
	}
	slices.SortFunc(out, func(x, y roll.LocalVolume) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// DeletedNode returns the volumes on the disks of a node that was deleted. Its pods are gone; volumes name it by one
// of the labels that it had.
func (v *Volumes) DeletedNode(name string) roll.NodePods {
	if v == nil {
		return roll.NodePods{Read: roll.Yes}
	}
	n := &NodeObject{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, pv := range v.all {
		if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
			continue
		}
		for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				if e.Operator == "In" && slices.Equal(e.Values, []string{name}) {
					n.Labels[e.Key] = name
				}
			}
		}
	}
	return roll.NodePods{Read: roll.Yes, VolumesRead: roll.Yes, LocalVolumes: v.on(n, nil)}
}

// usable reports whether an affinity allows a volume on the node, and whether it names the node: by
// its hostname, or by its name, as drivers for local disks do under keys of their own.
func usable(affinity *volumeAffinity, n *NodeObject) (named, here bool) {
	if affinity == nil || affinity.Required == nil {
		return false, false
	}
	for _, term := range affinity.Required.NodeSelectorTerms {
		if !matches(term, n) {
			continue
		}
		here = true
		for _, e := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			names := slices.Contains(e.Values, n.Name) || e.Key == "kubernetes.io/hostname"
			named = named || e.Operator == "In" && len(e.Values) == 1 && names
		}
	}
	return named, here
}

var operators = map[string]selection.Operator{
	"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist,
	"Gt": selection.GreaterThan, "Lt": selection.LessThan,
}

// matches reports whether the node satisfies all of a term. An empty term matches no node. A term
// that cannot be parsed counts as met, so that its volume holds the act.
func matches(term nodeTerm, n *NodeObject) bool {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return false
	}
	fails := func(have labels.Set) func(nodeRequirement) bool {
		return func(e nodeRequirement) bool {
			r, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
			return err == nil && !r.Matches(have)
		}
	}
	return !slices.ContainsFunc(term.MatchExpressions, fails(n.Labels)) &&
		!slices.ContainsFunc(term.MatchFields, fails(labels.Set{metav1.ObjectNameField: n.Name}))
}
