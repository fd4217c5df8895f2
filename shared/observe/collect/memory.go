package collect

import (
	"fmt"
	"regexp"
	"slices"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
)

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
