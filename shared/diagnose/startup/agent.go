package startup

import (
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// agent prepares a node for work and removes a startup taint.
type agent struct {
	key    string // of the taint
	prefix bool   // the taint's key starts with this key
	suffix bool   // the taint's key ends with this key
	// word begins the name of the taint after a prefix of Cluster Autoscaler's, "" if the agent's taint never has one.
	word string
	name string
	// how says who removes the taint, and when.
	how string
	// The agent's pod on the node: its default namespace, its DaemonSet and its label. Empty if
	// it has no pod there.
	namespace, daemonSet, label string
	// more: further DaemonSets of the agent have names that begin with its DaemonSet's.
	more bool
	// logs are the arguments of a kubectl command for the logs of what removes the taint, if
	// that is not the pod itself.
	logs []string
	// network: nodes become ready only through this agent.
	network bool
	// early: the taint is removed whether or not the node is ready.
	early bool
	// guess: only the form of the key suggests that it is a startup taint.
	guess bool
}

// agents are those whose guides start nodes with a taint, in the order in which they work.
var agents = []agent{
	{ // https://karpenter.sh/docs/concepts/nodeclaims/
		key: unregistered, name: "Karpenter", how: "Karpenter takes it off when it registers the node",
		logs: []string{"-n", "kube-system", "logs", "deployment/karpenter", "--tail=100"}, early: true,
	},
	{ // https://kubernetes.io/docs/reference/labels-annotations-taints/#node-cloudprovider-kubernetes-io-uninitialized
		key: evidence.TaintCloud, name: "the cloud controller manager",
		how: "the cloud controller manager, which EKS runs, takes it off once it has found the node's instance by provider id or name", early: true,
	},
	{ // https://docs.cilium.io/en/stable/installation/taints/
		key: "node.cilium.io/agent-not-ready", word: "cilium", name: "Cilium", how: "the Cilium operator takes it off once the node's cilium pod is ready",
		namespace: "kube-system", daemonSet: "cilium", label: "k8s-app=cilium",
		logs: []string{"-n", "kube-system", "logs", "deployment/cilium-operator", "--tail=100"}, network: true,
	},
	{ // https://istio.io/latest/docs/setup/additional-setup/cni/#race-condition--mitigation
		key: "cni.istio.io/not-ready", name: "Istio's CNI", how: "istiod takes it off once the node's istio-cni-node pod is ready, if its untaint controller is on",
		namespace: "istio-system", daemonSet: "istio-cni-node", label: "k8s-app=istio-cni-node",
		logs: []string{"-n", "istio-system", "logs", "deployment/istiod", "--tail=100"},
	},
	csiDriver("ebs", "the EBS CSI driver"),              // https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/install.md#configure-node-startup-taint
	csiDriver("efs", "the EFS CSI driver"),              // https://github.com/kubernetes-sigs/aws-efs-csi-driver/blob/master/docs/README.md
	csiDriver("fsx", "the FSx for Lustre CSI driver"),   // https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/master/docs/install.md#configure-node-startup-taint
	csiDriver("s3", "the Mountpoint for S3 CSI driver"), // https://github.com/awslabs/mountpoint-s3-csi-driver/blob/main/docs/CONFIGURATION.md#configure-node-startup-taint
	{ // https://kubernetes.io/blog/2026/02/03/introducing-node-readiness-controller/
		key: "readiness.k8s.io/", prefix: true, name: "the Node Readiness Controller", how: "the Node Readiness Controller takes it off once the node's conditions meet the rule of that taint",
		logs: []string{"get", "nodereadinessrules", "-o", "yaml"},
	},
	{ // https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#startup-taints
		key: "startup-taint.cluster-autoscaler.kubernetes.io/", prefix: true, guess: true,
		name: "an unknown agent", how: "its key marks it as a startup taint, and no agent is known that takes it off",
	},
	{
		key: "/agent-not-ready", suffix: true, guess: true,
		name: "an unknown agent", how: "its key has the form of a startup taint, and no agent is known that takes it off",
	},
}

// csiDriver returns the agent of a CSI driver of AWS for a service. There may be several DaemonSets, for
// Windows and for nodes with other settings.
// https://github.com/kubernetes-sigs/aws-ebs-csi-driver/tree/master/charts/aws-ebs-csi-driver (additionalDaemonSets)
func csiDriver(service, name string) agent {
	set := service + "-csi-node"
	return agent{
		key: service + ".csi.aws.com/agent-not-ready", name: name, how: "the node's " + set + " pod takes it off when it starts",
		namespace: "kube-system", daemonSet: set, label: "app=" + set, more: true,
	}
}

// agentOf returns the agent of a taint's key, nil if none is known.
func agentOf(key string) *agent {
	for i := range agents {
		a := &agents[i]
		switch {
		case a.prefix && strings.HasPrefix(key, a.key), a.suffix && strings.HasSuffix(key, a.key), a.key == key,
			a.word != "" && strings.Contains(key, "-taint.cluster-autoscaler.kubernetes.io/"+a.word) && roll.StartupTaint(key, nil):
			return a
		}
	}
	return nil
}

// order returns the agent's place among the others, the last for nil.
func (a *agent) order() int {
	for i := range agents {
		if a == &agents[i] {
			return i
		}
	}
	return len(agents)
}

// like reports whether a DaemonSet is one that is looked for, by its name and its pods' labels.
type like func(name string, labels map[string]string) bool

// called returns what is like the DaemonSet of that name, or with that label.
func called(daemonSet, label string) like {
	key, value, _ := strings.Cut(label, "=")
	return func(name string, labels map[string]string) bool {
		return name == daemonSet || key != "" && labels[key] == value
	}
}

// set returns what is like the agent's DaemonSet.
func (a *agent) set() like {
	own := called(a.daemonSet, a.label)
	return func(name string, labels map[string]string) bool {
		return own(name, labels) || a.more && strings.HasPrefix(name, a.daemonSet+"-")
	}
}

// podOf returns a pod of such a DaemonSet among those of a node. Of several it returns one that is
// not ready.
func podOf(pods []evidence.Pod, such like) (evidence.Pod, bool) {
	var found evidence.Pod
	ok := false
	for _, p := range pods {
		set, owned := strings.CutPrefix(p.Owner, "DaemonSet/")
		if !owned {
			set = ""
		}
		if such(set, p.Labels) && (!ok || !p.Ready) {
			found, ok = p, true
		}
	}
	return found, ok
}

// condition returns the state of a pod as a predicate, such as "is ready".
func condition(p evidence.Pod) string {
	switch {
	case p.Ready:
		return "is ready"
	case p.Waiting != "":
		return "waits in " + p.Waiting
	case p.Terminated != "":
		return "ended with " + p.Terminated
	case p.Phase == "Running":
		return "runs and is not ready"
	case p.Phase != "":
		return "is " + p.Phase
	}
	return "is not ready"
}

// observed returns a pod's state with its message.
func observed(p evidence.Pod) string {
	text := condition(p)
	switch {
	case p.Ready:
	case p.Message != "":
		text += ": " + p.Message
	case len(p.Events) > 0:
		text += ": " + p.Events[len(p.Events)-1].Message
	}
	return text
}

// showLogs returns the command for the logs of what removes the taint, "" if that is the pod
// itself.
func (a *agent) showLogs() string {
	if len(a.logs) == 0 {
		return ""
	}
	return paste.Kubectl(a.logs...)
}
