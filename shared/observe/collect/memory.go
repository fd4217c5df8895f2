package collect

import (
	"fmt"
	"regexp"
	"slices"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
)

// containerSpec is what a container may take. Init containers are left out: nearly all of
// them have ended by the time that a node is in trouble.
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

// memoryOf is the memory in bytes that a list of resources names, 0 if it names none.
func memoryOf(of map[string]any) int64 {
	v, ok := of["memory"]
	if !ok {
		return 0
	}
	return quantity(fmt.Sprint(v))
}

// memory fills in what the pod may use of the node's memory, and what is known of what it
// used.
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

// using are the parts of the kubelet's message about an eviction that tell what used more
// memory than it requests: each such container, and the pod as a whole if it has requests
// of its own.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/eviction/helpers.go
var using = regexp.MustCompile(`(Container|Pod) \S+ was using ([0-9.]+[A-Za-z]*), request is \S+, has larger consumption of memory\.`)

// evictedUsing is how many bytes of memory a pod used when the kubelet evicted it, 0 if the
// message does not say.
func evictedUsing(message string) (used int64) {
	for _, m := range using.FindAllStringSubmatch(message, -1) {
		if m[1] == "Pod" {
			return quantity(m[2])
		}
		used += quantity(m[2])
	}
	return used
}

// quantity is a quantity of memory in bytes, 0 if it is none.
func quantity(s string) int64 {
	n, err := kube.Quantity(s)
	if err != nil || n < 0 || n >= 1<<62 {
		return 0
	}
	return n
}
