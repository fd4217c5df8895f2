package collect

import (
	"slices"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// daemonSet has the fields of a DaemonSet that are read.
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/daemon-set-v1/
type daemonSet struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Selector labelSelector `json:"selector"`
		Template struct {
			Spec struct {
				HostNetwork  bool                  `json:"hostNetwork"`
				NodeSelector map[string]string     `json:"nodeSelector"`
				Tolerations  []evidence.Toleration `json:"tolerations"`
				Affinity     struct {
					NodeAffinity struct {
						Required *struct {
							Terms []struct {
								MatchExpressions []evidence.Requirement `json:"matchExpressions"`
							} `json:"nodeSelectorTerms"`
						} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
					} `json:"nodeAffinity"`
				} `json:"affinity"`
				Volumes []struct {
					HostPath struct {
						Path string `json:"path"`
					} `json:"hostPath"`
				} `json:"volumes"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

func daemonSetOf(d *daemonSet) evidence.DaemonSet {
	pod := d.Spec.Template.Spec
	out := evidence.DaemonSet{
		Namespace: d.Metadata.Namespace, Name: d.Metadata.Name, Labels: d.Spec.Selector.MatchLabels,
		HostNetwork: pod.HostNetwork, NodeSelector: pod.NodeSelector, Tolerations: pod.Tolerations,
	}
	for _, v := range pod.Volumes {
		if path := v.HostPath.Path; path != "" {
			out.HostPaths = append(out.HostPaths, path)
		}
	}
	if required := pod.Affinity.NodeAffinity.Required; required != nil {
		for _, term := range required.Terms {
			out.Affinity = append(out.Affinity, term.MatchExpressions) // its matchFields count as met
		}
	}
	return out
}

// networked returns the name of a Ready node that has its network plugin from the cluster, "" if
// none does, or why that is not known. The machines of Auto Mode bring their own, Fargate and virtual nodes have none,
// and hybrid nodes may have another.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-networking.html
func networked(s *roll.Snapshot) (name, why string) {
	for _, m := range roll.Pair(s) {
		if n := m.Node; n != nil && n.Ready.Status == roll.ConditionTrue && n.Compute.Hosted() && !m.ControlPlane() && m.Owner() != roll.OwnerAutoMode {
			return n.Name, ""
		}
	}
	if s.Target != "" {
		return "", "only one instance was looked at, and another node may have a network plugin"
	}
	for _, g := range s.Gaps {
		if g.Scope == roll.ScopeNodes || g.Scope == roll.ScopeCluster {
			return "", g.Detail
		}
	}
	return "", ""
}

// readDaemonSets reads the DaemonSets if a node waits for its network plugin and no node has one, or
// has no pod of one, or if a taint that is not Kubernetes' own may keep a pod off a node that starts.
// So it reads nothing in a cluster that works.
func (l *look) readDaemonSets() {
	awaits, starved, tainted := false, false, false
	for _, f := range l.needing(needPlugin) {
		n := l.nodeOf(f.Node)
		awaits = awaits || n.Object.Value.AwaitsNetwork()
		starved = starved || n.Starved()
		tainted = tainted || f.Kind == roll.Uninitialized && slices.ContainsFunc(n.Object.Value.Taints, others)
	}
	if awaits {
		switch name, why := networked(l.in.Snapshot); {
		case name != "":
			l.ev.Cluster.Networked = evidence.Read(name)
		case why != "":
			l.ev.Cluster.Networked = evidence.Skipped[string](why)
		default:
			l.ev.Cluster.Networked = evidence.None[string]()
		}
	}
	if starved || tainted || l.ev.Cluster.Networked.State == evidence.Absent {
		l.ev.Cluster.DaemonSets = items(l.topic(), kube.DaemonSets(), daemonSetOf)
	}
}

// others reports whether neither Kubernetes nor Karpenter puts the taint on a node.
func others(t evidence.Taint) bool {
	return !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !strings.HasPrefix(t.Key, "node.cloudprovider.kubernetes.io/") && !strings.HasPrefix(t.Key, "karpenter.sh/")
}
