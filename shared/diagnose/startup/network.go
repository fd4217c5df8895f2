package startup

import (
	"fmt"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// unready are the words of the kubelet for a network plugin that has not started: as
// container runtimes have told it since 1.24, and as Docker's did before.
// https://kubernetes.io/docs/reference/node/node-status/#condition
var unready = []string{"NetworkPluginNotReady", "cni plugin not initialized", "cni config uninitialized", "network plugin is not ready"}

// networkMissing reports that a node's condition Ready says so.
func networkMissing(r evidence.Condition) bool {
	if r.Status != string(roll.ConditionFalse) {
		return false
	}
	for _, words := range unready {
		if strings.Contains(r.Message, words) || strings.Contains(r.Reason, words) {
			return true
		}
	}
	return false
}

// plugins are the DaemonSets of network plugins that are used on EKS.
// https://docs.aws.amazon.com/eks/latest/userguide/alternate-cni-plugins.html
var plugins = []struct{ namespace, daemonSet, label string }{
	{"kube-system", "aws-node", "k8s-app=aws-node"},
	{"kube-system", "cilium", "k8s-app=cilium"},
	{"calico-system", "calico-node", "k8s-app=calico-node"},
	{"kube-system", "antrea-agent", "component=antrea-agent"},
}

// network asks whether the node waits for its network plugin.
func (l *look) network() {
	n, ok := l.object(cause.CniNotReady)
	if !ok {
		return
	}
	if gap := l.Unexplained(); gap != "" {
		l.s.NotChecked(gap, cause.CniNotReady)
		return
	}
	r := ready(n)
	if !networkMissing(r) {
		l.s.RuledOut(cause.CniNotReady)
		return
	}
	seen := []roll.Evidence{{Source: "node", Field: "status.conditions[Ready]", Observed: reason(r), Expected: "True"}}
	text, more, fix := l.plugin(n)
	l.s.Found(roll.Cause{
		Code: cause.CniNotReady, Confidence: roll.Decisive, Subject: "cni/" + l.ClusterID.Name,
		Summary:  fmt.Sprintf("node %s is not ready because no network plugin (CNI) has started on it%s", n.Name, text),
		Evidence: append(seen, more...), Fix: fix,
	})
}

// plugin looks at the network plugin's pod on the node.
func (l *look) plugin(n evidence.NodeObject) (text string, seen []roll.Evidence, fix string) {
	pods := l.Node().Pods
	list := kubectl("get", "pods", "-A", "--field-selector", "spec.nodeName="+n.Name, "-o", "wide")
	if !pods.Known() {
		return "", nil, list
	}
	for _, c := range plugins {
		p, ok := podOf(pods.Value, c.daemonSet, c.label)
		if !ok {
			continue
		}
		seen = []roll.Evidence{{Source: "pods", Field: p.Namespace + "/" + p.Name, Observed: observed(p), Expected: "is ready"}}
		return ": the pod " + p.Name + " " + condition(p), seen, paste.Lines(kubectl("-n", p.Namespace, "describe", "pod", p.Name),
			kubectl("-n", p.Namespace, "logs", p.Name, "--all-containers", "--tail=100"))
	}
	seen = []roll.Evidence{{Source: "pods", Field: "DaemonSet/aws-node, cilium, calico-node or antrea-agent", Observed: "no pod on " + n.Name, Expected: "a pod that is ready"}}
	return ": there is no pod of a known one on the node", seen, paste.Lines(kubectl("-n", "kube-system", "describe", "daemonset", "aws-node")+
		"   # or that of the plugin in use: does it select the node, and tolerate its taints ("+all(n.Taints)+")?", list)
}
