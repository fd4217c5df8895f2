package startup

import (
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// unready are the kubelet's messages for a network plugin that has not started: those of
// container runtimes since 1.24, and Docker's before.
// https://kubernetes.io/docs/reference/node/node-status/#condition
var unready = []string{"NetworkPluginNotReady", "cni plugin not initialized", "cni config uninitialized", "network plugin is not ready"}

// networkMissing reports whether a node's Ready condition says so.
func networkMissing(r evidence.Condition) bool {
	return r.Status == string(roll.ConditionFalse) &&
		slices.ContainsFunc(unready, func(words string) bool {
			return strings.Contains(r.Message, words) || strings.Contains(r.Reason, words)
		})
}

// plugins are the DaemonSets of network plugins used on EKS, with their pods' labels.
// https://docs.aws.amazon.com/eks/latest/userguide/alternate-cni-plugins.html
var plugins = []struct{ daemonSet, label string }{
	{"aws-node", "k8s-app=aws-node"}, {"cilium", "k8s-app=cilium"}, {"calico-node", "k8s-app=calico-node"}, {"antrea-agent", "component=antrea-agent"},
}

// network checks whether the node waits for its network plugin.
func (l *look) network() cause.Verdict {
	n, ok := l.node()
	if !ok {
		return l.NoNode()
	}
	if gap := l.Unexplained(); gap != "" {
		return cause.NotChecked(gap)
	}
	r := ready(n)
	if !networkMissing(r) {
		return cause.RuledOut
	}
	text, more, fix := l.plugin(n)
	return cause.Decisive().In("cni/"+l.ClusterID.Name).
		Says("node %s is not ready because no network plugin (CNI) has started on it%s", n.Name, text).
		Saw("node", "status.conditions[Ready]", reason(r), "True").Shows(more...).Fix(fix)
}

// plugin checks the network plugin's pod on the node.
func (l *look) plugin(n evidence.NodeObject) (text string, seen []roll.Evidence, fix string) {
	pods := l.Node().Pods
	if !pods.Known() {
		return "", nil, podsOf(n.Name)
	}
	for _, c := range plugins {
		if p, ok := podOf(pods.Value, c.daemonSet, c.label); ok {
			return ": the pod " + p.Name + " " + condition(p), []roll.Evidence{shown(p)}, inspect(p)
		}
	}
	seen = []roll.Evidence{l.absent("aws-node, cilium, calico-node or antrea-agent", "a pod that is ready")}
	return ": there is no pod of a known one on the node", seen, paste.Lines(paste.Kubectl("-n", "kube-system", "describe", "daemonset", "aws-node")+
		"   # or that of the plugin in use: does it select the node, and tolerate its taints ("+paste.Remark(all(n.Taints))+")?", podsOf(n.Name))
}
