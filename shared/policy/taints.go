package policy

import (
	"strings"

	"rollcall/shared/roll"
)

// lateTaint reports whether Kubernetes or one of its agents sets a taint with the key on nodes of
// any age. As a startup taint, it would make every node that is cordoned, silent or about to be
// replaced look uninitialized.
//
// The taints are those of the node lifecycle controller and the cloud controller manager
// (https://kubernetes.io/docs/reference/labels-annotations-taints/), Karpenter
// (pkg/apis/v1/taints.go), Cluster Autoscaler (utils/taints/taints.go) and the AWS node termination
// handler (pkg/node/node.go).
func lateTaint(key string) bool {
	switch key {
	case "node.cloudprovider.kubernetes.io/shutdown",
		"karpenter.sh/disrupted", "karpenter.sh/disruption", "karpenter.sh/rebooting",
		"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler":
		return true
	}
	return strings.HasPrefix(key, "node.kubernetes.io/") || strings.HasPrefix(key, "aws-node-termination-handler/")
}

// taints reads a list of keys of startup taints.
func (r *reader) taints(list field) ([]string, bool) {
	before := len(r.faults)
	items, ok := r.items(list)
	if !ok {
		return nil, false
	}
	var keys []string
	first := make(map[string]int)
	for _, item := range items {
		key, ok := r.text(item)
		switch {
		case !ok:
		case strings.ContainsAny(key, ":="):
			r.fault(item.value, item.path, "%s is more than a key: remove the = or : and what follows", quote(key))
		case !roll.QualifiedName(key):
			r.fault(item.value, item.path, "%s is not the key of a taint, such as example.com/agent-not-ready", quote(key))
		case lateTaint(key):
			r.fault(item.value, item.path, "%s is set on nodes of any age, so it is no startup taint", quote(key))
		case first[key] > 0:
			r.fault(item.value, item.path, "%s is in this list twice, first at line %d", quote(key), first[key])
		default:
			first[key] = line(item.value)
			if roll.StartupTaint(key, nil) {
				r.warn(item.value, item.path, key+" is a known startup taint already")
			}
			keys = append(keys, key)
		}
	}
	return keys, len(r.faults) == before
}
