package testbed

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A PodSpec describes a pod for [Bed.RunPod]. The zero value of all fields but Name and Node is a running, ready pod of
// a ReplicaSet, which disappears at once when it is deleted.
type PodSpec struct {
	Name        string
	Node        string
	Labels      map[string]string
	Annotations map[string]string
	Phase       corev1.PodPhase // Running if empty
	DaemonSet   bool            // a DaemonSet owns it
	Mirror      bool            // it mirrors a static pod of its node
	// Lingers means that nobody stops its containers: once deleted, it remains with a deletion timestamp until
	// [Bed.EndPod].
	Lingers bool
	Limit   string // memory limit, such as 1Gi
	Evicted string // its memory usage, such as 6Gi, when the kubelet evicted it for lack of memory
}

// RunPod runs a pod in the namespace default. The bed's nodes have no kubelet: only a test ends the pod.
func (b *Bed) RunPod(ctx context.Context, spec PodSpec) error {
	grace := int64(0)
	if spec.Lingers {
		grace = 30
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Labels: spec.Labels, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			NodeName: spec.Node, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "main", Image: "registry.example/main:1"}},
		},
	}
	if spec.Limit != "" {
		limit, err := resource.ParseQuantity(spec.Limit)
		if err != nil {
			return fmt.Errorf("the memory limit of pod %s: %w", spec.Name, err)
		}
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: limit}
	}
	for k, v := range spec.Annotations {
		pod.Annotations[k] = v
	}
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: spec.Name, UID: "00000000-0000-4000-8000-000000000001", Controller: new(bool)}
	*owner.Controller = true
	switch {
	case spec.DaemonSet:
		owner.Kind = "DaemonSet"
	case spec.Mirror:
		pod.Annotations[corev1.MirrorPodAnnotationKey] = "0123456789abcdef0123456789abcdef"
		owner.APIVersion, owner.Kind, owner.Name = "v1", "Node", spec.Node
	}
	pod.OwnerReferences = []metav1.OwnerReference{owner}
	pods := b.kube.CoreV1().Pods(metav1.NamespaceDefault)
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create pod %s: %w", spec.Name, err)
	}
	created.Status.Phase = cmp.Or(spec.Phase, corev1.PodRunning)
	if created.Status.Phase == corev1.PodRunning {
		created.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	}
	if spec.Evicted != "" {
		created.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: fmt.Sprintf(
			"The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. Container main was using %s, request is 0, has larger consumption of memory. ", spec.Evicted)}
	}
	if _, err := pods.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("set the status of pod %s: %w", spec.Name, err)
	}
	return nil
}

// EndPod removes a pod at once.
func (b *Bed) EndPod(ctx context.Context, name string) error {
	err := b.kube.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if err != nil {
		return fmt.Errorf("end pod %s: %w", name, err)
	}
	return nil
}

// PodNames returns the names of the pods of the namespace default that are not being
// deleted.
func (b *Bed) PodNames(ctx context.Context) ([]string, error) {
	all, err := b.kube.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	var names []string
	for _, p := range all.Items {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names, nil
}

// SetBudget creates or changes a PodDisruptionBudget over the pods with the labels. It allows that many evictions. No
// controller counts here: the eviction API reads the budget's status and subtracts one for each eviction.
func (b *Bed) SetBudget(ctx context.Context, name string, labels map[string]string, allowed int) error {
	budgets := b.kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	budget, err := budgets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		none := intstr.FromInt32(0)
		budget, err = budgets.Create(ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: labels}},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create budget %s: %w", name, err)
		}
	}
	budget.Status.ObservedGeneration = budget.Generation
	budget.Status.DisruptionsAllowed = int32(allowed)
	if _, err := budgets.UpdateStatus(ctx, budget, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("set the status of budget %s: %w", name, err)
	}
	return nil
}
