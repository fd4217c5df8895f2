package testbed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	leaseNamespace = corev1.NamespaceNodeLease
	// heartbeatEvery is shorter than the kubelet's 10 s, because the bed's grace period may be 10 s rather than
	// 50.
	heartbeatEvery = 3 * time.Second
	// unknownWithin bounds WaitUnknown: the grace period, the monitor period, and room for a busy machine.
	unknownWithin = 60 * time.Second
)

// A NodeSpec describes a node for [Bed.JoinNode]. The zero value of all fields but InstanceID is a Ready node named
// after its instance.
type NodeSpec struct {
	InstanceID string // for spec.providerID; a node without one has no provider ID
	ProviderID string // spec.providerID of a node that does not run on EC2
	Zone       string // eu-west-1a if empty; must be the instance's own zone
	Name       string // the instance ID if empty, as in resource-based naming
	// Ready is the status of the Ready condition, True if empty. A node that is not Ready still sends
	// heartbeats.
	Ready corev1.ConditionStatus
	// ReadySince is the last transition time of the Ready condition, now if zero.
	ReadySince time.Time
	Created    time.Time // now if zero
	Reason     string    // of the Ready condition; a kubelet's usual one if empty
	Labels     map[string]string
	// Annotations are the node's, none if nil.
	Annotations map[string]string
	Taints      []corev1.Taint
	Conditions  []corev1.NodeCondition // replace or add to the usual conditions, by type
	// Karpenter adds the labels of a node that Karpenter launched, registered and initialized, and its finalizer.
	Karpenter bool
	Cordoned  bool // unschedulable
	// Silent leaves the node without heartbeats from the start.
	Silent bool
}

// JoinNode registers a node as a kubelet would: the Node object, its status and its Lease. The bed renews the lease
// until [Bed.Silence].
func (b *Bed) JoinNode(ctx context.Context, spec NodeSpec) (*corev1.Node, error) {
	zone := cmp.Or(spec.Zone, Region+"a")
	name := cmp.Or(spec.Name, spec.InstanceID)
	labels := map[string]string{
		corev1.LabelHostname:           name,
		corev1.LabelArchStable:         "amd64",
		corev1.LabelOSStable:           "linux",
		corev1.LabelTopologyZone:       zone,
		corev1.LabelTopologyRegion:     Region,
		corev1.LabelInstanceTypeStable: "m5.large",
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: spec.Annotations},
		Spec:       corev1.NodeSpec{ProviderID: spec.ProviderID, Taints: spec.Taints, Unschedulable: spec.Cordoned},
		Status:     nodeStatus(name, spec),
	}
	if spec.Karpenter {
		node.Finalizers = []string{terminationFinalizer}
		maps.Copy(labels, map[string]string{"karpenter.sh/nodepool": "default", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"})
	}
	maps.Copy(labels, spec.Labels)
	if spec.InstanceID != "" {
		node.Spec.ProviderID = "aws:///" + zone + "/" + spec.InstanceID
	}
	created, err := b.kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create node %s: %w", name, err)
	}
	now := metav1.NowMicro()
	seconds := int32(40)
	_, err = b.kube.CoordinationV1().Leases(leaseNamespace).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: name, UID: created.UID},
		}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create lease of node %s: %w", name, err)
	}
	if !spec.Silent {
		b.beating.add(name)
	}
	if spec.Created.IsZero() {
		return created, nil
	}
	created.CreationTimestamp = metav1.NewTime(spec.Created)
	return created, b.age(ctx, nodeKey+name, spec.Created)
}

// A NodeChange is a change of a node for [Bed.ChangeNode]; nil or empty fields are unchanged.
type NodeChange struct {
	Labels   map[string]*string // nil removes a label
	Taints   *[]corev1.Taint    // all of them
	Cordoned *bool
	BootID   string // a new one after each boot
}

// ChangeNode changes a node as its kubelet or a kubectl user would.
func (b *Bed) ChangeNode(ctx context.Context, name string, change NodeChange) error {
	spec := map[string]any{}
	if change.Taints != nil {
		spec["taints"] = *change.Taints
	}
	if change.Cordoned != nil {
		spec["unschedulable"] = *change.Cordoned
	}
	patch := map[string]any{"spec": spec}
	if change.Labels != nil { // null would remove all of them
		patch["metadata"] = map[string]any{"labels": change.Labels}
	}
	if err := b.patchNode(ctx, name, patch); err != nil {
		return err
	}
	if change.BootID == "" {
		return nil
	}
	return b.patchNode(ctx, name, map[string]any{"status": map[string]any{"nodeInfo": map[string]any{"bootID": change.BootID}}}, "status")
}

func (b *Bed) patchNode(ctx context.Context, name string, patch any, subresources ...string) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode the change of node %s: %w", name, err)
	}
	if _, err := b.kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...); err != nil {
		return fmt.Errorf("change node %s: %w", name, err)
	}
	return nil
}

// FinishNode removes the finalizers of a node, as Karpenter does when it has drained a deleted node.
func (b *Bed) FinishNode(ctx context.Context, name string) error {
	return b.patchNode(ctx, name, map[string]any{"metadata": map[string]any{"finalizers": nil}})
}

// DeleteNode deletes a node and its lease, as "kubectl delete node" does. A node with a finalizer remains, with a
// deletion timestamp.
func (b *Bed) DeleteNode(ctx context.Context, name string) error {
	b.Silence(name)
	if err := b.kube.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete node %s: %w", name, err)
	}
	err := b.kube.CoordinationV1().Leases(leaseNamespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the lease of node %s: %w", name, err)
	}
	return nil
}

// Silence stops the heartbeats of a node, as when its kubelet or network fails.
func (b *Bed) Silence(name string) { b.beating.remove(name) }

// Resume restarts the heartbeats of a node.
func (b *Bed) Resume(name string) { b.beating.add(name) }

// SetReady sets the Ready condition of a node as its kubelet would, with its transition time. For a silent node
// that the controller already marked Unknown, it moves the transition into the past.
func (b *Bed) SetReady(ctx context.Context, name string, status corev1.ConditionStatus, reason string, since time.Time) error {
	return b.SetCondition(ctx, name, corev1.NodeCondition{
		Type: corev1.NodeReady, Status: status, Reason: reason, Message: readyMessages[status], LastTransitionTime: metav1.NewTime(since),
	})
}

// readyMessages are what the kubelet says of its Ready condition, and the node lifecycle controller
// in its place. There always is a message.
var readyMessages = map[corev1.ConditionStatus]string{
	corev1.ConditionTrue: "kubelet is posting ready status", corev1.ConditionFalse: "container runtime is down",
	corev1.ConditionUnknown: "Kubelet stopped posting node status.",
}

// SetCondition adds or replaces one condition of a node. A zero heartbeat time means now.
func (b *Bed) SetCondition(ctx context.Context, name string, condition corev1.NodeCondition) error {
	if condition.LastHeartbeatTime.IsZero() {
		condition.LastHeartbeatTime = metav1.Now()
	}
	all := []corev1.NodeCondition{condition}
	if condition.Type == corev1.NodeReady {
		pressures, err := b.pressures(ctx, name, condition)
		if err != nil {
			return err
		}
		all = append(all, pressures...)
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": all}})
	if err != nil {
		return fmt.Errorf("encode condition %s of node %s: %w", condition.Type, name, err)
	}
	// A strategic merge patch keeps the other conditions: it merges them by type.
	_, err = b.kube.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("set condition %s of node %s: %w", condition.Type, name, err)
	}
	return nil
}

// pressures returns the pressures that change with the Ready condition of a node: all become Unknown
// with it, and the kubelet reports them again with it.
func (b *Bed) pressures(ctx context.Context, name string, ready corev1.NodeCondition) (out []corev1.NodeCondition, _ error) {
	node, err := b.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	for _, c := range node.Status.Conditions {
		pressure := c.Type == corev1.NodeMemoryPressure || c.Type == corev1.NodeDiskPressure || c.Type == corev1.NodePIDPressure
		if silent := ready.Status == corev1.ConditionUnknown; !pressure || silent == (c.Status == corev1.ConditionUnknown) {
			continue
		}
		c.Status, c.LastTransitionTime, c.LastHeartbeatTime = corev1.ConditionUnknown, ready.LastTransitionTime, ready.LastHeartbeatTime
		if ready.Status != corev1.ConditionUnknown {
			c.Status = corev1.ConditionFalse
		}
		out = append(out, c)
	}
	return out, nil
}

// WaitUnknown waits until the node lifecycle controller has set a silent node's Ready condition to Unknown.
func (b *Bed) WaitUnknown(ctx context.Context, name string) error {
	err := poll(ctx, unknownWithin, 200*time.Millisecond, func(ctx context.Context) error {
		node, err := b.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				if c.Status == corev1.ConditionUnknown {
					return nil
				}
				return fmt.Errorf("its Ready condition is %s (%s)", c.Status, c.Reason)
			}
		}
		return fmt.Errorf("it has no Ready condition")
	})
	if err != nil {
		return fmt.Errorf("wait for node %s to become Unknown: %w", name, err)
	}
	return nil
}

// nodeStatus returns the status that the kubelet of an m5.large reports, or of an instance
// with another architecture.
func nodeStatus(name string, spec NodeSpec) corev1.NodeStatus {
	resources := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU:              resource.MustParse(cpu),
			corev1.ResourceMemory:           resource.MustParse(memory),
			corev1.ResourcePods:             resource.MustParse("29"),
			corev1.ResourceEphemeralStorage: resource.MustParse("20959212Ki"),
		}
	}
	return corev1.NodeStatus{
		Capacity:    resources("2", "7910868Ki"),
		Allocatable: resources("1930m", "7220692Ki"),
		Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
		Conditions:  conditions(spec),
		NodeInfo: corev1.NodeSystemInfo{
			Architecture: cmp.Or(spec.Labels[corev1.LabelArchStable], "amd64"), OperatingSystem: "linux", OSImage: "Amazon Linux 2023.9.20260105",
			KernelVersion: "6.12.58-82.121.amzn2023.x86_64", ContainerRuntimeVersion: "containerd://2.1.5",
			KubeletVersion: "v1.36.3-eks-0000000", MachineID: "ec2" + name, BootID: "boot-" + name,
		},
	}
}

// conditions returns the four conditions that every kubelet reports, with the spec's
// changes.
func conditions(spec NodeSpec) []corev1.NodeCondition {
	now := metav1.Now()
	since := now
	if !spec.ReadySince.IsZero() {
		since = metav1.NewTime(spec.ReadySince)
	}
	ready := cmp.Or(spec.Ready, corev1.ConditionTrue)
	reason := spec.Reason
	if reason == "" {
		reason = map[corev1.ConditionStatus]string{
			corev1.ConditionTrue: "KubeletReady", corev1.ConditionFalse: "KubeletNotReady", corev1.ConditionUnknown: "NodeStatusUnknown",
		}[ready]
	}
	all := []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
		{Type: corev1.NodeReady, Status: ready, Reason: reason, Message: readyMessages[ready]},
	}
	for i := range all {
		all[i].LastHeartbeatTime, all[i].LastTransitionTime = now, since
		if ready == corev1.ConditionUnknown {
			all[i].Status = ready // the control plane sets all of them
		}
	}
	for _, c := range spec.Conditions {
		all = withCondition(all, c)
	}
	return all
}

func withCondition(all []corev1.NodeCondition, c corev1.NodeCondition) []corev1.NodeCondition {
	for i := range all {
		if all[i].Type == c.Type {
			all[i] = c
			return all
		}
	}
	return append(all, c)
}

// heartbeat renews the leases of all nodes that are not silent, until ctx ends.
func (b *Bed) heartbeat(ctx context.Context) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
		var renewals errgroup.Group
		renewals.SetLimit(8)
		for _, name := range b.beating.names() {
			renewals.Go(func() error {
				// A node that a test deleted has no lease to renew.
				_, err := b.kube.CoordinationV1().Leases(leaseNamespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
				if err != nil && ctx.Err() == nil {
					b.logf("renew lease of node %s: %v", name, err)
				}
				return nil
			})
		}
		_ = renewals.Wait() // the renewals report nothing
	}
}
