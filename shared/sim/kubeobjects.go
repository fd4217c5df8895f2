package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"rollcall/shared/kube"
	"rollcall/shared/roll/memo"
)

// kubeObjects holds the kinds that the API server serves as single objects.
var kubeObjects = map[string]func(*kubeQuery) (any, error){
	"v1/nodes":                            (*kubeQuery).getNode,
	"v1/configmaps":                       (*kubeQuery).getConfigMap,
	"coordination.k8s.io/v1/leases":       (*kubeQuery).getLease,
	"karpenter.sh/v1/nodepools":           (*kubeQuery).getNodePool,
	"karpenter.k8s.aws/v1/ec2nodeclasses": (*kubeQuery).getNodeClass,
}

// kubeLists holds the kinds that it serves as lists.
var kubeLists = map[string]func(*kubeQuery, *kubeList){
	"v1/pods":                        (*kubeQuery).listPods,
	"v1/events":                      (*kubeQuery).listEvents,
	"karpenter.sh/v1/nodeclaims":     (*kubeQuery).listClaims,
	"karpenter.sh/v1/nodepools":      (*kubeQuery).listNodePools,
	"policy/v1/poddisruptionbudgets": (*kubeQuery).listBudgets,
	"v1/persistentvolumes":           (*kubeQuery).listVolumes,
	"v1/serviceaccounts":             none, // Karpenter's gets its role by EKS Pod Identity, and does not show it
	"admissionregistration.k8s.io/v1/mutatingwebhookconfigurations":   none,
	"admissionregistration.k8s.io/v1/validatingwebhookconfigurations": none,
	"discovery.k8s.io/v1/endpointslices":                              none,
	"apps/v1/daemonsets":                                              (*kubeQuery).listDaemonSets,
}

// listDaemonSets lists the network plugin, which the cluster has.
func (q *kubeQuery) listDaemonSets(l *kubeList) {
	l.object(appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: metav1.ObjectMeta{Name: "aws-node", Namespace: metav1.NamespaceSystem}})
}

func none(*kubeQuery, *kubeList) {}

type kubeList struct {
	a     *account
	items []*kube.Item
	err   error
}

func (l *kubeList) add(item *kube.Item, err error) {
	l.items = append(l.items, item)
	l.fail(err)
}

func (l *kubeList) object(o any) { l.add(l.a.item(o)) }

func (l *kubeList) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// made is an object as JSON, encoded in a state S.
type made[S comparable] struct {
	state S
	item  *kube.Item
}

// of returns the object as JSON in that state, encoded again only if the state changed.
func (m *made[S]) of(state S, object func() any) (*kube.Item, error) {
	if m.item == nil || m.state != state {
		data, err := json.Marshal(object())
		if err != nil {
			return nil, err
		}
		m.state, m.item = state, kube.NewItem(data)
	}
	return m.item, nil
}

// item returns an object as JSON: the same, with its decoded form, if it did not change.
func (a *account) item(object any) (*kube.Item, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return a.items.Get(memo.Of(data), func() *kube.Item { return kube.NewItem(data) }), nil
}

var kindNode = schema.GroupKind{Kind: "Node"} // the kind of nodes, as errors name it

func (c *cluster) apiGroups() metav1.APIGroupList {
	names := []string{"admissionregistration.k8s.io", "apps", "coordination.k8s.io", "discovery.k8s.io", "policy"}
	if c.hasKarpenter() {
		names = append(names, karpenterGroups...)
	}
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, name := range names {
		v1 := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		out.Groups = append(out.Groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v1}, PreferredVersion: v1})
	}
	return out
}

func stamped(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }

// stampedOr returns nil for the zero time, otherwise stamped.
func stampedOr(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := stamped(t)
	return &at
}

// listNodes returns the nodes as the API server lists them, in a slice that all callers share.
func (c *cluster) listNodes() []*corev1.Node {
	if c.objects == nil {
		c.objects, c.reduced = make([]*corev1.Node, 0, len(c.nodes)), make([]*kube.NodeObject, 0, len(c.nodes))
		for _, n := range c.nodes {
			if n.unlisted {
				continue
			}
			if n.listedAt != n.version {
				object := n.object()
				shown := object // the auditor gets the true times
				shown.Status.Conditions = n.byItsClock(shown.Status.Conditions)
				n.listed, n.reduced, n.listedAt = &object, nodeOf(&shown), n.version
			}
			c.objects, c.reduced = append(c.objects, n.listed), append(c.reduced, n.reduced)
		}
	}
	return c.objects
}

// The versions that run on the machines.
const (
	kubeletVersion = "v1.33.8-eks-efcacff"
	osImage        = "Amazon Linux 2023.10.20260202"
	kernelVersion  = "6.12.64-87.122.amzn2023.x86_64"
	runtimeVersion = "containerd://2.1.5"
)

var capacity = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(29, resource.DecimalSI)} // the part of a node's reported capacity that is read

func (m *machine) providerID() string { return "aws:///" + m.zone + "/" + m.id }

// shownLabels returns all labels of the Node.
func (n *node) shownLabels() map[string]string {
	all := maps.Clone(n.labels)
	if n.initialized {
		all["karpenter.sh/initialized"] = "true"
	}
	return all
}

// object returns the Node as the API server lists it.
func (n *node) object() corev1.Node {
	o := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.name, UID: types.UID(n.uid), ResourceVersion: strconv.Itoa(n.version), CreationTimestamp: stamped(n.created),
			Labels: n.shownLabels(), Annotations: maps.Clone(n.annotations),
		},
		Spec: corev1.NodeSpec{Unschedulable: n.cordoned, Taints: slices.Clone(n.taints)},
		Status: corev1.NodeStatus{
			Capacity: capacity, Conditions: slices.Clone(n.conditions),
			NodeInfo: corev1.NodeSystemInfo{
				BootID: n.bootID, KubeletVersion: kubeletVersion, OSImage: osImage, ContainerRuntimeVersion: runtimeVersion,
				KernelVersion: kernelVersion, Architecture: n.labels[corev1.LabelArchStable], OperatingSystem: n.labels[corev1.LabelOSStable],
			},
		},
	}
	if o.Status.NodeInfo.Architecture == "arm64" {
		o.Status.NodeInfo.KernelVersion = strings.Replace(kernelVersion, "x86_64", "aarch64", 1)
	}
	if !n.deleting.IsZero() {
		o.DeletionTimestamp = stampedOr(n.deleting)
		o.Finalizers = []string{"karpenter.sh/termination"}
	}
	o.Spec.Taints = append(o.Spec.Taints, n.derived()...)
	for i := range o.Status.Conditions {
		c := &o.Status.Conditions[i]
		c.LastTransitionTime, c.LastHeartbeatTime = stamped(c.LastTransitionTime.Time), stamped(c.LastHeartbeatTime.Time)
	}
	o.Spec.ProviderID = n.provider
	if m := n.machine; m != nil {
		if n.provider == "" && !n.bare {
			o.Spec.ProviderID = m.providerID()
		}
		o.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.address}, {Type: corev1.NodeInternalDNS, Address: m.dnsName}, {Type: corev1.NodeHostName, Address: m.dnsName}}
	}
	return o
}

// derived returns the taints that the node lifecycle controller derives from the node.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-nodes-by-condition
func (n *node) derived() (taints []corev1.Taint) {
	add := func(key string, effects ...corev1.TaintEffect) {
		for _, e := range effects {
			taints = append(taints, corev1.Taint{Key: key, Effect: e})
		}
	}
	for _, c := range n.conditions {
		switch {
		case c.Type == corev1.NodeReady && c.Status == corev1.ConditionFalse:
			add(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)
		case c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown:
			add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)
		case c.Type == corev1.NodeMemoryPressure && c.Status == corev1.ConditionTrue:
			add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
		}
	}
	if n.cordoned {
		add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	}
	return taints
}

const (
	statusEvery = 5 * time.Minute // how often a kubelet writes unchanged conditions: nodeStatusReportFrequency
	// renewEvery is how often it renews its lease. leaseSeconds is the lease's duration.
	renewEvery   = 10 * time.Second
	leaseSeconds = 40
)

// heard returns when the kubelet last performed a periodic task, by the machine's clock.
func (m *machine) heard(what string, every time.Duration) time.Time {
	if !m.reporting {
		if m.renewed.IsZero() {
			return time.Time{}
		}
		return m.renewed.Add(m.c.skew + m.clock)
	}
	now := m.c.a.Now()
	phase := m.d.of(what).between(0, every-time.Millisecond)
	return now.Add(-phase).Truncate(every).Add(phase + m.c.skew + m.clock)
}

// read returns the Node as a single read does, with the time of the last update, which nobody reads in lists.
func (n *node) read() corev1.Node {
	o := n.object()
	o.TypeMeta, o.Status.Conditions = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, n.byItsClock(o.Status.Conditions)
	if n.machine == nil {
		return o
	}
	heard := stamped(n.machine.heard("status", statusEvery))
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; slices.Contains(kubeletWrites, c.Type) {
			c.LastHeartbeatTime = heard
			if c.Status != corev1.ConditionUnknown && heard.Before(&c.LastTransitionTime) {
				c.LastHeartbeatTime = c.LastTransitionTime
			}
		}
	}
	return o
}

// nodeState holds everything that can change in a Node that is read alone.
type nodeState struct {
	version int
	heard   time.Time
}

// item returns the Node as a single read does, as JSON, encoded again only when it changed.
func (n *node) item() (*kube.Item, error) {
	s := nodeState{version: n.version}
	if n.machine != nil {
		s.heard = n.machine.heard("status", statusEvery)
	}
	return n.made.of(s, func() any { return n.read() })
}

func (q *kubeQuery) getNode() (any, error) {
	n := q.c.byNode[q.name]
	if n == nil {
		return nil, q.notFound()
	}
	return n.read(), nil
}

// lease returns the Lease of a node, and whether there is one: it lives as long as the node.
func (n *node) lease() (coordinationv1.Lease, bool) {
	if n.machine == nil {
		return coordinationv1.Lease{}, false
	}
	heard := n.machine.heard("lease", renewEvery)
	if born := n.created.Add(n.machine.clock); heard.Before(born) {
		heard = born
	}
	renewed, seconds := metav1.NewMicroTime(heard), int32(leaseSeconds)
	return coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: n.name, Namespace: corev1.NamespaceNodeLease, UID: types.UID(uid(n.machine.d.of("lease of " + n.uid))), CreationTimestamp: stamped(n.created),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.name, UID: types.UID(n.uid)}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &n.name, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}, true
}

func (q *kubeQuery) getLease() (any, error) {
	for _, n := range q.c.nodes {
		if n.name != q.name || q.namespace != corev1.NamespaceNodeLease {
			continue
		}
		if l, ok := n.lease(); ok {
			return l, nil
		}
	}
	return nil, q.notFound()
}

func (q *kubeQuery) labels(to *kubeList) labels.Selector {
	selector, err := labels.Parse(q.selectors.LabelSelector)
	if err != nil {
		to.fail(apierrors.NewBadRequest(err.Error()))
		return labels.Nothing()
	}
	return selector
}

// listPods lists the pods that the field selector selects by node, or the label selector.
func (q *kubeQuery) listPods(to *kubeList) {
	like := q.labels(to)
	node, one := fields.ParseSelectorOrDie(q.selectors.FieldSelector).RequiresExactMatch("spec.nodeName")
	if one && node == "" {
		q.listWaiting(to)
		return
	}
	for n, p := range q.c.pods(q.namespace) {
		if (!one || n.name == node) && like.Matches(labels.Set(p.labels())) {
			to.add(p.made.of(podState{n.ready().Status, p.leaving}, func() any { return n.pod(p) }))
		}
	}
}

// listWaiting lists the pods that no node has room for.
func (q *kubeQuery) listWaiting(to *kubeList) {
	for i := range q.c.waiting() {
		name, since := fmt.Sprintf("waits-%d", i), stamped(q.c.a.sc.Start)
		to.object(corev1.Pod{
			TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uid(q.c.d.of(name))), CreationTimestamp: since},
			Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: since},
			}},
		})
	}
}

// waiting returns how many pods wait for nodes of the group: one for each machine that it lacks, or that never worked.
func (g *group) waiting() int {
	return max(0, g.desired-g.serving()) + count(g.members, func(m *machine) bool { return m.settledAt.IsZero() })
}

func (c *cluster) waiting() int {
	n := c.unplaced
	for _, g := range c.groups {
		n += g.waiting()
	}
	return n
}

func (p *pod) controller() string {
	if i := strings.LastIndexByte(p.name, '-'); i > 0 {
		return p.name[:i]
	}
	return p.name
}

func (p *pod) labels() map[string]string {
	if p.daemon {
		return map[string]string{"k8s-app": p.controller()}
	}
	return map[string]string{"app": p.controller()}
}

const graceSeconds = 30 // a pod's termination grace period

type podState struct {
	ready   corev1.ConditionStatus // of its node
	leaving time.Time
}

// pod returns a Pod of the node. It is not ready if the node's kubelet does not report.
func (n *node) pod(p *pod) corev1.Pod {
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet"}
	if p.daemon {
		owner.Kind = "DaemonSet"
	}
	controls := true
	owner.Name, owner.Controller, owner.UID = p.controller(), &controls, types.UID(uid(n.c.d.of(owner.Kind).of(p.controller())))
	ready := corev1.ConditionTrue
	if n.ready().Status == corev1.ConditionUnknown {
		ready = corev1.ConditionFalse
	}
	started, created := true, stamped(n.created)
	o := corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: p.name, Namespace: p.namespace, UID: types.UID(p.uid), CreationTimestamp: created,
			Labels: p.labels(), OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.PodSpec{NodeName: n.name, Containers: []corev1.Container{{Name: p.controller(), Image: "registry.example/" + p.controller() + ":1"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &created,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: created},
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: created},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: created},
				{Type: corev1.PodReady, Status: ready, LastTransitionTime: created},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: p.controller(), Image: "registry.example/" + p.controller() + ":1", Ready: true, Started: &started,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: created}},
			}},
		},
	}
	p.kept(&o)
	if !p.leaving.IsZero() {
		seconds := int64(p.grace().Seconds())
		o.DeletionTimestamp, o.DeletionGracePeriodSeconds = stampedOr(p.leaving.Add(p.grace())), &seconds
	}
	return o
}

const eventsLive = time.Hour // how long EKS keeps events: the API server's default

// listEvents lists the events about an object, except pods, or with a reason.
func (q *kubeQuery) listEvents(to *kubeList) {
	selector := fields.ParseSelectorOrDie(q.selectors.FieldSelector)
	if reason, ok := selector.RequiresExactMatch("reason"); ok {
		q.listDropped(to, reason)
		return
	}
	kind, _ := selector.RequiresExactMatch("involvedObject.kind")
	name, _ := selector.RequiresExactMatch("involvedObject.name")
	about := corev1.ObjectReference{Kind: kind, Name: name, APIVersion: "v1"}
	var events []occurrence
	if n := q.c.byNode[name]; n != nil && kind == "Node" {
		about.UID, events = types.UID(n.uid), n.events
	}
	for _, cl := range q.c.claims {
		if kind == "NodeClaim" && cl.name == name {
			about.UID, about.APIVersion, events = types.UID(cl.uid), "karpenter.sh/v1", cl.events
		}
	}
	for i, o := range events {
		if q.c.stamp().Sub(o.at) < eventsLive && (q.namespace == "" || q.namespace == metav1.NamespaceDefault) {
			to.object(o.event(about, i))
		}
	}
}

// listDropped lists the events with one reason about NodeClaims that were deleted at once.
func (q *kubeQuery) listDropped(to *kubeList, reason string) {
	for i, e := range q.c.dropped {
		if e.reason == reason && q.c.stamp().Sub(e.at) < eventsLive {
			to.object(e.event(corev1.ObjectReference{Kind: "NodeClaim", Name: e.claim, APIVersion: "karpenter.sh/v1"}, i))
		}
	}
}

func (o occurrence) event(about corev1.ObjectReference, i int) corev1.Event {
	at, shown, by := stamped(o.at), stamped(o.at.Add(o.ahead)), o.reporter(about.Kind)
	return corev1.Event{
		TypeMeta:       metav1.TypeMeta{Kind: "Event", APIVersion: "v1"},
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", about.Name, o.at.UnixNano()+int64(i)), Namespace: metav1.NamespaceDefault, CreationTimestamp: at},
		InvolvedObject: about, Type: o.kind, Reason: o.reason, Message: o.message, Count: int32(max(1, o.count)),
		FirstTimestamp: shown, LastTimestamp: shown, Source: corev1.EventSource{Component: by}, ReportingController: by,
	}
}

// reporter returns the component that writes such an Event.
func (o occurrence) reporter(kind string) string {
	switch {
	case kind == "NodeClaim":
		return "karpenter"
	case o.reason == "NodeNotReady", o.reason == "RegisteredNode", o.reason == "DeletingNode":
		return "node-controller"
	}
	return "kubelet"
}

// getConfigMap returns aws-auth, the only ConfigMap.
func (q *kubeQuery) getConfigMap() (any, error) {
	if q.namespace != metav1.NamespaceSystem || q.name != "aws-auth" || q.c.mapped == nil {
		return nil, q.notFound()
	}
	return corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: q.name, Namespace: q.namespace, UID: types.UID(uid(q.c.d.of("aws-auth"))), ResourceVersion: strconv.Itoa(q.c.version), CreationTimestamp: stamped(q.c.created)},
		Data:       map[string]string{"mapRoles": mapRoles(q.c.mapped)},
	}, nil
}

// mapRoles returns the YAML of mapRoles, as eksctl writes it.
func mapRoles(roles []string) string {
	if len(roles) == 0 {
		return "[]\n"
	}
	var b strings.Builder
	for _, role := range roles {
		fmt.Fprintf(&b, "- groups:\n  - %s\n  rolearn: %s\n  username: %s\n", strings.Join(nodeGroups, "\n  - "), roleARN(role), nodeUser)
	}
	return b.String()
}

const labelPool = "karpenter.sh/nodepool" // the label with which Karpenter names a node pool

func (q *kubeQuery) listClaims(to *kubeList) {
	selector := q.labels(to)
	wanted := map[*group]bool{}
	for _, g := range q.c.groups {
		wanted[g] = selector.Matches(labels.Set{labelPool: g.name})
	}
	for _, cl := range q.c.claims {
		if wanted[cl.g] {
			to.add(cl.json())
		}
	}
}
