package collect

import (
	"slices"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// daemonSet has the fields of a DaemonSet that are read.
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/daemon-set-v1/
type daemonSet struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Template struct {
			Spec struct {
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
	out := evidence.DaemonSet{Namespace: d.Metadata.Namespace, Name: d.Metadata.Name}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if path := v.HostPath.Path; path != "" {
			out.HostPaths = append(out.HostPaths, path)
		}
	}
	return out
}

// networked returns the name of a Ready node that has its network plugin from the cluster, "" if
// none does, or why that is not known. The machines of Auto Mode bring their own, Fargate has none,
// and hybrid nodes may have another.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-networking.html
func networked(s *roll.Snapshot) (name, why string) {
	for _, m := range roll.Pair(s) {
		if n := m.Node; n != nil && n.Ready.Status == roll.ConditionTrue && n.Compute != roll.ComputeFargate && n.Compute != roll.ComputeHybrid && m.Owner() != roll.OwnerAutoMode {
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

// readDaemonSets reads the DaemonSets if a node waits for its network plugin and no node has one.
// So it reads nothing in a cluster that works.
func (l *look) readDaemonSets() {
	awaits := func(f roll.Finding) bool { return l.nodeOf(f.Node).Object.Value.AwaitsNetwork() }
	if !slices.ContainsFunc(l.needing(needPlugin), awaits) {
		return
	}
	name, why := networked(l.in.Snapshot)
	switch {
	case name != "":
		l.ev.Cluster.Networked = name
	case why != "":
		l.ev.Cluster.DaemonSets = evidence.Skipped[[]evidence.DaemonSet](why)
	default:
		l.ev.Cluster.DaemonSets = items(l.kube.topic(), kube.DaemonSets(), daemonSetOf)
	}
}
