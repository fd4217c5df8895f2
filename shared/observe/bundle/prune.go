package bundle

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"rollcall/shared/kube"
)

// keptAnnotations are the prefixes of annotations that describe a node and hold no secret. All
// others are removed.
var keptAnnotations = []string{
	"karpenter.sh/", "karpenter.k8s.aws/", "compatibility.karpenter.sh/", "rollcall", "cluster.x-k8s.io/machine",
	"cluster-autoscaler.kubernetes.io/scale-down-disabled", "cluster-autoscaler.kubernetes.io/safe-to-evict",
	"eks.amazonaws.com/role-arn", "node.alpha.kubernetes.io/ttl", "volumes.kubernetes.io/controller-managed-attach-detach", "alpha.kubernetes.io/provided-node-ip",
}

// prunedItem is an object as it is written: without managed fields and without irrelevant fields
// that may hold a secret. An item that the API server returns again is decoded, and so pruned, only
// once.
type prunedItem struct{ json json.RawMessage }

// UnmarshalJSON prunes the object.
func (p *prunedItem) UnmarshalJSON(data []byte) error {
	o, err := pruned(data)
	if err != nil {
		return err
	}
	p.json = compact(o)
	return nil
}

func pruned(data json.RawMessage) (any, error) {
	o, err := kube.Trim(data)
	if err != nil {
		return nil, err
	}
	within(o, "metadata", func(m map[string]any) {
		delete(m, "managedFields")
		within(m, "annotations", func(a map[string]any) {
			maps.DeleteFunc(a, func(key string, _ any) bool {
				return o["kind"] != "Pod" && !slices.ContainsFunc(keptAnnotations, func(kept string) bool { return strings.HasPrefix(key, kept) })
			})
			if len(a) == 0 {
				delete(m, "annotations")
			}
		})
	})
	switch o["kind"] {
	case "Node":
		// The names of all images on the node are most of its size and are not needed.
		within(o, "status", func(status map[string]any) { delete(status, "images") })
	case "EC2NodeClass":
		within(o, "spec", func(spec map[string]any) {
			if said, ok := spec["userData"].(string); ok {
				spec["userData"] = encoded(said)
			}
		})
	}
	return cleared("", o), nil
}

func within(o map[string]any, field string, change func(map[string]any)) {
	if inner, ok := o[field].(map[string]any); ok {
		change(inner)
	}
}
