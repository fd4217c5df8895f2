package sim

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// evictedAfter is how long a pod stays on a node that is not ready: every pod's default toleration.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
const evictedAfter = 5 * time.Minute

// hangingPods: the container runtime is dead, and pods never stop.
var hangingPods = faultType{
	kind: FaultHangingPods, weight: 2, need: 20 * time.Minute, count: 1,
	fits:  fitsUnrepaired,
	shape: groupsOfFour,
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		a := m.c.a
		m.hangs = true
		m.fall(notReady, false, false)
		n := m.node
		a.in(evictedAfter, func() {
			if m.node != n || m.ail != notReady {
				return
			}
			for j, p := range n.pods {
				if !p.daemon && (j == len(n.pods)-1 || d.of("tolerates").nth(j).chance(0.6)) {
					n.leaves(p)
				}
			}
		})
		a.in(evictedAfter+5*time.Minute, func() {
			if m.node == n && n != nil && m.state == running && slices.ContainsFunc(n.pods, func(p *pod) bool { return !p.leaving.IsZero() }) {
				m.arose(f, "pods of "+n.name+" are in Terminating, and stay so")
			}
		})
	}),
}

// leaves deletes a pod: it is removed once its kubelet has stopped it.
func (n *node) leaves(p *pod) {
	if !p.leaving.IsZero() {
		return
	}
	p.leaving = n.c.stamp()
	n.c.changed()
	n.c.a.in(n.stopsIn(p), func() { n.stop(p) })
}

// Why a pod must not be terminated; with keptNode, its node has the annotation.
const (
	keptAnnotated = "do-not-disrupt"
	keptUnsafe    = "safe-to-evict"
	keptBudget    = "budget"
	keptLocal     = "local"
	keptNode      = "node"
	keptNodeSafe  = "node-safe-to-evict"
	// Random scenarios do not have these: a budget that its controller has not counted since a change, and a pod that may
	// be terminated, and needs ten minutes to stop.
	keptUncounted = "budget-uncounted"
	keptSlow      = "slow"
)

// The annotations of a pod, or of its node, that must not be disrupted.
const (
	doNotDisrupt = "karpenter.sh/do-not-disrupt"
	safeToEvict  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

const stopsSlowly = 10 * time.Minute // how long a pod of the form keptSlow takes to stop

func (p *pod) grace() time.Duration {
	if p.slow {
		return stopsSlowly
	}
	return graceSeconds * time.Second
}

func (n *node) stopsIn(p *pod) time.Duration {
	if p.slow {
		return stopsSlowly - time.Second
	}
	return n.c.d.of("pod "+p.uid).between(stopsQuickest, stopsSlowest)
}

// silentServing: the kubelet is dead, but the machine serves a workload that must not be terminated.
var silentServing = faultType{
	kind: FaultSilentServing, weight: 2, need: 80 * time.Minute, least: 70 * time.Minute, most: 3 * time.Hour, count: 2,
	values: []string{keptAnnotated, keptUnsafe, keptBudget, keptLocal, keptNode, keptNodeSafe},
	fits:   fitsUnrepaired,
	shape:  groupsOfFour,
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		a := m.c.a
		if !m.vanished.IsZero() {
			return // no list shows its Node, by which its pods are asked for
		}
		m.serving = true
		p := m.keeps(f.Value)
		m.fall(silent, false, d.of("reboots").chance(0.5))
		n := m.node
		if d.of("deleted").chance(0.5) {
			a.in(graceful+evictedAfter, func() { // the control plane deletes it, but no kubelet stops it
				if m.node == n && !m.reporting {
					n.leaves(p)
				}
			})
		}
		a.in(graceful+evictedAfter+time.Minute, func() {
			if m.node == n && m.serving && !m.reporting && slices.Contains(n.pods, p) {
				m.arose(f, fmt.Sprintf("%s is silent, and serves from %s (%s)", n.name, p.name, f.Value))
			}
		})
	}),
	relent: eachMember(func(m *machine, _ Fault) {
		if m.serving {
			m.cure()
			m.unkept()
		}
	}),
}

// keeps puts a pod on the machine that must not be terminated, for that reason.
func (m *machine) keeps(why string) *pod {
	n, d := m.node, m.d.of("serves").nth(m.silence)
	p := &pod{namespace: "shop", name: "db-" + shortID(d, 5), uid: uid(d), keep: why, guarded: why == keptBudget || why == keptUncounted}
	if why == keptSlow {
		p.keep, p.slow = "", true
	}
	n.pods, n.keeps = append(n.pods, p), true
	switch why {
	case keptNode:
		n.annotate(doNotDisrupt, "true")
	case keptNodeSafe:
		n.annotate(safeToEvict, "false")
	}
	n.version = n.c.changed()
	return p
}

// annotate writes an annotation of the node. Earlier answers are not modified.
func (n *node) annotate(key, value string) {
	n.annotations = maps.Clone(n.annotations)
	if n.annotations[key] = value; value == "" {
		delete(n.annotations, key)
	}
}

func (m *machine) unkept() {
	m.serving = false
	n := m.node
	if n == nil {
		return
	}
	n.pods = slices.DeleteFunc(slices.Clone(n.pods), func(p *pod) bool { return p.keep != "" })
	n.annotate(doNotDisrupt, "")
	n.annotate(safeToEvict, "")
	n.version = n.c.changed()
}

func (p *pod) kept(o *corev1.Pod) {
	switch p.keep {
	case keptAnnotated:
		o.Annotations = map[string]string{doNotDisrupt: "true"}
	case keptUnsafe:
		o.Annotations = map[string]string{safeToEvict: "false"}
	case keptLocal:
		o.OwnerReferences[0].Kind = "StatefulSet"
		o.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: p.volumeClaim()}}}}
	}
	if p.guarded {
		o.Labels["budget"] = p.name
	}
}

func (p *pod) volumeClaim() string { return "data-" + p.name }
func (p *pod) volume() string      { return "local-pv-" + p.uid[:8] }

// pods returns the pods of the cluster's nodes in a namespace, "" for all.
func (c *cluster) pods(namespace string) iter.Seq2[*node, *pod] {
	return func(yield func(*node, *pod) bool) {
		for _, n := range c.nodes {
			for _, p := range n.pods {
				if (namespace == "" || namespace == p.namespace) && !yield(n, p) {
					return
				}
			}
		}
	}
}

// listBudgets lists the disruption budgets; each pod with a budget has its own.
func (q *kubeQuery) listBudgets(to *kubeList) {
	for n, p := range q.c.pods(q.namespace) {
		if p.guarded {
			to.add(p.budget.of(n.created, func() any { return n.budget(p) }))
		}
	}
}

// budget returns a disruption budget that does not allow the pod's eviction.
func (n *node) budget(p *pod) policyv1.PodDisruptionBudget {
	two := intstr.FromInt32(2)
	status := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 2, CurrentHealthy: 1, ExpectedPods: 2}
	if p.keep == keptUncounted {
		status = policyv1.PodDisruptionBudgetStatus{}
	}
	return policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{Kind: "PodDisruptionBudget", APIVersion: "policy/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: p.namespace, CreationTimestamp: stamped(n.created), Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &two, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"budget": p.name}}},
		Status:     status,
	}
}

// listVolumes lists the local volumes of pods, and the volumes that outlive their machines.
func (q *kubeQuery) listVolumes(to *kubeList) {
	for n, p := range q.c.pods("") {
		if p.keep == keptLocal {
			to.object(n.volume(p))
		}
	}
	q.c.listLeft(to)
}

// volume returns the local volume of a pod, of a storage class without a provisioner.
// https://kubernetes.io/docs/concepts/storage/volumes/#local
func (n *node) volume(p *pod) corev1.PersistentVolume {
	v := boundVolume(p.volume(), n.created, corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/disks/0"}}, "local-storage", p.volumeClaim())
	v.Spec.Capacity, v.Spec.AccessModes = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{n.labels[corev1.LabelHostname]}}},
	}}}}
	return v
}

// boundVolume returns a PersistentVolume that is bound to a claim of the workload.
func boundVolume(name string, created time.Time, source corev1.PersistentVolumeSource, class, claim string) corev1.PersistentVolume {
	return corev1.PersistentVolume{
		TypeMeta:   metav1.TypeMeta{Kind: "PersistentVolume", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: stamped(created)},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: source, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete, StorageClassName: class,
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "shop", Name: claim},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
}
