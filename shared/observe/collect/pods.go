package collect

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/redact"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

const podEventsEach = 2

// readPodEvents reads the events of pods that are not ready, in the order of unready: one pod of each
// node first, so that the pods of one node do not take all that a check reads.
func (l *look) readPodEvents() {
	t := l.topic()
	names := distinct(roll.Map(l.needing(needPods), func(f *roll.Finding) string { return f.Node }))
	orders := roll.Map(names, func(name string) []int { return unready(l.nodeOf(name)) })
	most, asked := 0, 0
	for _, order := range orders {
		most = max(most, len(order))
	}
	for turn := range most {
		for i, name := range names {
			if turn >= len(orders[i]) {
				continue
			}
			p := &l.nodeOf(name).Pods.Value[orders[i][turn]] // only this task of the step uses the list
			if turn >= l.most(podEventsEach) || asked >= l.most(podEventsTotal) {
				p.EventsUnread = fmt.Sprintf("sampled: the events of %d pods that are not ready are read per check, those of a network plugin first", podEventsTotal)
				continue
			}
			asked++
			readEventsOf(t, p)
		}
	}
}

func readEventsOf(t *topic, p *evidence.Pod) {
	events := inOrder(items(t, kube.EventsOfPod(p.Namespace, p.Name), event))
	if events.State == evidence.Unreadable {
		p.EventsUnread = events.Gap()
	}
	p.Events = slices.DeleteFunc(events.Value, func(e evidence.Event) bool { return e.Type != "Warning" })
	for _, e := range p.Events {
		if e.Reason == "Evicted" {
			p.MemoryUsed = max(p.MemoryUsed, evictedUsing(e.Message))
		}
	}
}

// readBudgets reads the disruption budgets of the pods that a drain of the nodes would evict.
func (l *look) readBudgets() {
	t := l.topic()
	var all []*kube.Item
	why, asked := "", false
	of := func(pods []evidence.Pod) evidence.Fact[[]roll.Budget] {
		var covered []kube.Covered
		for _, p := range pods {
			if p.Evictable() {
				covered = append(covered, kube.Covered{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels, Ready: p.Ready, Leaving: !p.Deleting.IsZero()})
			}
		}
		if len(covered) == 0 {
			return evidence.Read([]roll.Budget{})
		}
		if !asked {
			all, _, why = t.read(kube.AllBudgets())
			asked = true
		}
		return budgetsOf(all, covered, why)
	}
	ofNodes(l, needBudgets, func(_ *topic, name string) evidence.Fact[[]roll.Budget] {
		return evidence.Then(l.nodeOf(name).Pods, of)
	},
		func(n *evidence.Node) *evidence.Fact[[]roll.Budget] { return &n.Budgets })()
}

func budgetsOf(all []*kube.Item, pods []kube.Covered, why string) evidence.Fact[[]roll.Budget] {
	if why != "" {
		return evidence.Failed[[]roll.Budget](why)
	}
	budgets, err := kube.BudgetsOf(all, pods)
	if err != nil {
		return evidence.Failed[[]roll.Budget](err.Error())
	}
	return evidence.Read(budgets)
}

// unready returns the indexes of a node's pods that should be ready and are not: first those of
// network plugins, without which no other pod of a new node starts, then those of agents whose startup
// taint the node has, then those of other DaemonSets. The API lists pods by namespace and name.
func unready(n evidence.Node) (out []int) {
	place := func(p evidence.Pod) int {
		switch {
		case p.OfNetworkPlugin():
			return 0
		case n.Object.Value.AwaitsAgent(p):
			return 1
		case strings.HasPrefix(p.Owner, "DaemonSet/"):
			return 2
		}
		return 3
	}
	pods := n.Pods.Value
	for i, p := range pods {
		if !p.Ready && p.Phase != "Succeeded" {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return place(pods[a]) - place(pods[b]) })
	return out
}

// podJSON has the fields of a Pod that are read.
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
type podJSON struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Containers  []containerSpec       `json:"containers"`
		Resources   resources             `json:"resources"`
		Tolerations []evidence.Toleration `json:"tolerations"`
		Volumes     []struct {
			Name string `json:"name"`
		} `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Reason                string               `json:"reason"`
		Message               string               `json:"message"`
		Phase                 string               `json:"phase"`
		StartTime             time.Time            `json:"startTime"`
		Conditions            []evidence.Condition `json:"conditions"`
		InitContainerStatuses []containerStatus    `json:"initContainerStatuses"`
		ContainerStatuses     []containerStatus    `json:"containerStatuses"`
	} `json:"status"`
}

type containerStatus struct {
	State     state `json:"state"`
	LastState state `json:"lastState"`
}

type state struct {
	Waiting    *ended `json:"waiting"`
	Terminated *ended `json:"terminated"`
}

type ended struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// disrupted is the taint of nodes that Karpenter drains.
// https://karpenter.sh/docs/concepts/disruption/#termination-controller
var disrupted = evidence.Taint{Key: "karpenter.sh/disrupted", Effect: "NoSchedule"}

func pod(p *podJSON) evidence.Pod {
	out := evidence.Pod{Deleting: p.Metadata.DeletionTimestamp.UTC(), NotToDisrupt: kube.KeepsPod(p.Metadata.Annotations), Namespace: p.Metadata.Namespace, Name: p.Metadata.Name, Phase: p.Status.Phase, Labels: maps.Clone(p.Metadata.Labels)}
	out.Started = p.Status.StartTime.UTC()
	out.Stays = slices.ContainsFunc(p.Spec.Tolerations, func(t evidence.Toleration) bool { return t.Tolerates(disrupted) })
	for _, v := range p.Spec.Volumes {
		out.AssumesRole = out.AssumesRole || v.Name == kube.RoleToken
		out.PodIdentity = out.PodIdentity || v.Name == kube.IdentityToken
	}
	for _, o := range p.Metadata.OwnerReferences {
		if o.Controller || out.Owner == "" {
			out.Owner = o.Kind + "/" + o.Name
		}
	}
	out.Containers = roll.Map(p.Spec.Containers, func(c containerSpec) string { return c.Name })
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			out.Ready = c.Status == "True"
		}
	}
	memory(&out, p)
	waiting, terminated := trouble(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses))
	out.Waiting, out.Terminated = waiting.Reason, terminated.Reason
	message := waiting.Message
	if waiting.Reason == "" {
		message = terminated.Message
	}
	out.Message = redact.Text(message)
	return out
}

// trouble returns why a container waits and why one terminated. Of several reasons it returns the
// most specific, since every container waits while one of them keeps the pod from starting, and
// init containers are meant to terminate.
func trouble(all []containerStatus) (waiting, terminated ended) {
	for _, c := range all {
		if w := c.State.Waiting; w != nil && (waiting.Reason == "" || isUsual(waiting.Reason)) {
			waiting = *w
		}
		for _, t := range []*ended{c.State.Terminated, c.LastState.Terminated} {
			if t != nil && t.Reason != "Completed" && terminated.Reason == "" {
				terminated = *t
			}
		}
	}
	return waiting, terminated
}

// isUsual reports whether every container waits for this reason at first.
func isUsual(reason string) bool {
	return reason == "ContainerCreating" || reason == "PodInitializing"
}

// containerSpec holds a container's resources. Init containers are left out: nearly all have
// terminated by the time a node is in trouble.
type containerSpec struct {
	Name      string    `json:"name"`
	Resources resources `json:"resources"`
}

// resources are those of a container, or of a pod as a whole.
// https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
type resources struct {
	Requests map[string]any `json:"requests"`
	Limits   map[string]any `json:"limits"`
}

// memoryOf returns the memory in a list of resources, in bytes, 0 if there is none.
func memoryOf(of map[string]any) int64 {
	v, ok := of["memory"]
	if !ok {
		return 0
	}
	return kube.Quantity(fmt.Sprint(v))
}

// memory sets how much of the node's memory the pod may use, and what is known of its usage.
func memory(out *evidence.Pod, p *podJSON) {
	whole := memoryOf(p.Spec.Resources.Limits) > 0
	for _, c := range p.Spec.Containers {
		out.Unlimited = out.Unlimited || !whole && memoryOf(c.Resources.Limits) == 0
		out.MemoryRequest += memoryOf(c.Resources.Requests)
	}
	if r := memoryOf(p.Spec.Resources.Requests); r > 0 {
		out.MemoryRequest = r
	}
	if p.Status.Reason == "Evicted" {
		out.MemoryUsed = evictedUsing(p.Status.Message)
	}
	out.OutOfMemory = slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(s containerStatus) bool {
		return oomKilled(s.State) || oomKilled(s.LastState)
	})
}

func oomKilled(s state) bool { return s.Terminated != nil && s.Terminated.Reason == "OOMKilled" }

// using matches the parts of the kubelet's eviction message with the usage of what used more memory
// than it requests: each such container, and the pod as a whole if it has its own requests.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/eviction/helpers.go
var using = regexp.MustCompile(`(Container|Pod) \S+ was using ([0-9.]+[A-Za-z]*), request is \S+, has larger consumption of memory\.`)

// evictedUsing returns how many bytes of memory a pod used when the kubelet evicted it, 0 if the
// message does not say.
func evictedUsing(message string) (used int64) {
	for _, m := range using.FindAllStringSubmatch(message, -1) {
		if m[1] == "Pod" {
			return kube.Quantity(m[2])
		}
		used += kube.Quantity(m[2])
	}
	return used
}
