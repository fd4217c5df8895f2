package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Snapshot adds a snapshot's nodes of the instances that were read, and the leases of instances
// without a node, unless they were read themselves. Evidence about single instances has no listing
// of all nodes, and without it the other instances would appear to have no node. The added objects
// are reduced like the snapshot: names, readiness, relevant taints, and owners.
func (r *Recorder) Snapshot(s *roll.Snapshot) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Instance == "" || !r.c.instances().has(string(n.Instance)) {
			continue
		}
		if err := r.add("Node", n.Name, nodeOf(n)); err != nil {
			return err
		}
	}
	// The lease of an instance without a node was read by the names that the node would have.
	for id, d := range s.Details {
		if d.LeaseRead != roll.Yes || !r.c.instances().has(string(id)) {
			continue
		}
		if err := r.add("Lease", d.LeaseOf, Lease(d.LeaseOf, d.LeaseRenewed)); err != nil {
			return err
		}
		r.c.objects(fileLeases).held = true
	}
	if s.Has(roll.ScopeNodes) {
		r.c.objects(fileNodes).held = true
	}
	return nil
}

// add adds an object to its file, unless it was read itself.
func (r *Recorder) add(kind, name string, o tree) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("put %s %s into the bundle: %w", kind, name, err)
	}
	spec := servedAs(kind)
	one, err := newItem(raw, spec)
	if err != nil {
		return fmt.Errorf("put %s %s into the bundle: %w", kind, name, err)
	}
	if objects := r.c.objects(spec.file); !objects.has(one.key()) {
		objects.keep(one)
	}
	return nil
}

// Lease returns the fields of a node's Lease that are read, as the API server would print them.
func Lease(node string, renewed time.Time) map[string]any {
	return tree{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": tree{"name": node, "namespace": "kube-node-lease"},
		"spec": tree{"renewTime": renewed.UTC().Format("2006-01-02T15:04:05.000000Z07:00")},
	}
}

// tree is an object as printed.
type tree = map[string]any

// nodeOf returns a node of a snapshot as the API server would print its remaining fields.
func nodeOf(n *roll.Node) tree {
	pool, _ := n.Group.NodePool()
	group, _ := n.Group.NodeGroup()
	labels := tree{
		"topology.kubernetes.io/zone": n.Zone, "topology.k8s.aws/zone-id": n.ZoneID, "karpenter.sh/nodepool": pool, "eks.amazonaws.com/nodegroup": group,
	}
	maps.DeleteFunc(labels, func(_ string, value any) bool { return value == "" })
	if n.Registered {
		labels["karpenter.sh/registered"] = "true"
	}
	if n.Initialized {
		labels["karpenter.sh/initialized"] = "true"
	}
	if n.Owner == roll.OwnerAutoMode {
		labels["eks.amazonaws.com/compute-type"] = "auto"
	}
	metadata := tree{"name": n.Name, "creationTimestamp": stamp(n.Created), "labels": labels}
	if n.Owner == roll.OwnerClusterAPI {
		metadata["annotations"] = tree{"cluster.x-k8s.io/machine": n.Name}
	}
	if n.UID != "" {
		metadata["uid"] = n.UID
	}
	spec := tree{"providerID": fmt.Sprintf("aws:///%s/%s", n.Zone, n.Instance)}
	if n.Unschedulable {
		spec["unschedulable"] = true
	}
	if key, effect, ok := strings.Cut(n.StartupTaint, ":"); ok {
		spec["taints"] = []tree{{"key": key, "effect": effect}}
	}
	conditions := []tree{condition("Ready", n.Ready)}
	for _, c := range n.Conditions {
		conditions = append(conditions, condition(c.Type, c.Condition))
	}
	return tree{"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": tree{"conditions": conditions}}
}

func condition(kind string, c roll.Condition) tree {
	out := tree{"type": kind, "status": string(c.Status), "lastTransitionTime": stamp(c.Since)}
	if c.Reason != "" {
		out["reason"] = c.Reason
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
