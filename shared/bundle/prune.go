package bundle

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// keptAnnotations are the beginnings of annotations that tell something about a node and
// hold no secret; all others go.
var keptAnnotations = []string{
	"karpenter.sh/", "karpenter.k8s.aws/", "compatibility.karpenter.sh/", "rollcall",
	"cluster-autoscaler.kubernetes.io/scale-down-disabled", "node.alpha.kubernetes.io/ttl", "volumes.kubernetes.io/controller-managed-attach-detach", "alpha.kubernetes.io/provided-node-ip",
}

// keptOfPods are the annotations of pods that are told: who keeps one where it is, and
// which are static.
var keptOfPods = []string{"karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict", "kubernetes.io/config.mirror"}

// keptOfVolumes are the fields of persistent volumes that are told: sources name servers
// and secrets.
var keptOfVolumes = []string{"local", "hostPath", "csi", "awsElasticBlockStore", "claimRef", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName"}

// keptOfContainers are the fields of containers that are told: environment, arguments
// and probes hold secrets often enough.
var keptOfContainers = []string{"name", "image", "resources"}

// pruned is a Kubernetes object as it is written: without what may hold a secret and
// tells nothing, and without who owns which field.
func (s *scrubber) pruned(i *item) (any, error) {
	d := json.NewDecoder(bytes.NewReader(i.raw))
	d.UseNumber()
	var o map[string]any
	if err := d.Decode(&o); err != nil {
		return nil, err
	}
	within(o, "metadata", func(m map[string]any) {
		delete(m, "managedFields")
		within(m, "annotations", func(a map[string]any) {
			maps.DeleteFunc(a, func(key string, _ any) bool {
				if i.Kind == "Pod" {
					return !slices.Contains(keptOfPods, key)
				}
				return !slices.ContainsFunc(keptAnnotations, func(kept string) bool { return strings.HasPrefix(key, kept) })
			})
			if len(a) == 0 {
				delete(m, "annotations")
			}
		})
	})
	switch i.Kind {
	case "Pod":
		prunePod(o)
	case "PersistentVolume":
		within(o, "spec", func(spec map[string]any) {
			maps.DeleteFunc(spec, func(key string, _ any) bool { return !slices.Contains(keptOfVolumes, key) })
			for _, source := range []string{"csi", "awsElasticBlockStore"} {
				within(spec, source, func(s map[string]any) {
					maps.DeleteFunc(s, func(key string, _ any) bool {
						return !slices.Contains([]string{"driver", "volumeHandle", "volumeID"}, key)
					})
				})
			}
		})
	case "Node":
		// The names of all images that the node holds: most of its size, and nobody asks.
		within(o, "status", func(status map[string]any) { delete(status, "images") })
	case "EC2NodeClass":
		within(o, "spec", func(spec map[string]any) {
			if said, ok := spec["userData"].(string); ok {
				spec["userData"] = s.encoded(said)
			}
		})
	}
	return s.tree("", o), nil
}

func prunePod(pod map[string]any) {
	within(pod, "spec", func(spec map[string]any) {
		pruneVolumes(spec)
		for _, field := range []string{"containers", "initContainers", "ephemeralContainers"} {
			eachObject(spec, field, func(c map[string]any) {
				maps.DeleteFunc(c, func(key string, _ any) bool { return !slices.Contains(keptOfContainers, key) })
			})
		}
	})
	within(pod, "status", func(status map[string]any) {
		for _, field := range []string{"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"} {
			eachObject(status, field, func(c map[string]any) {
				for _, state := range []string{"state", "lastState"} {
					// The end of the container's log, with terminationMessagePolicy
					// FallbackToLogsOnError.
					within(c, state, func(st map[string]any) {
						within(st, "terminated", func(end map[string]any) { delete(end, "message") })
					})
				}
			})
		}
	})
}

// pruneVolumes leaves the claims of a pod.
func pruneVolumes(spec map[string]any) {
	var claims []any
	eachObject(spec, "volumes", func(v map[string]any) {
		claim := map[string]any{"name": v["name"]}
		if of, ok := v["persistentVolumeClaim"]; ok {
			claim["persistentVolumeClaim"] = of
		} else if _, ok := v["ephemeral"]; ok {
			claim["ephemeral"] = map[string]any{}
		} else {
			return
		}
		claims = append(claims, claim)
	})
	delete(spec, "volumes")
	if claims != nil {
		spec["volumes"] = claims
	}
}

func within(o map[string]any, field string, change func(map[string]any)) {
	if inner, ok := o[field].(map[string]any); ok {
		change(inner)
	}
}

func eachObject(o map[string]any, field string, change func(map[string]any)) {
	all, _ := o[field].([]any)
	for _, one := range all {
		if inner, ok := one.(map[string]any); ok {
			change(inner)
		}
	}
}
