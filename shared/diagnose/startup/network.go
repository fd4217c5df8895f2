package startup

import (
	"path"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// plugins are the DaemonSets of network plugins used on EKS, with their pods' labels.
// https://docs.aws.amazon.com/eks/latest/userguide/alternate-cni-plugins.html
var plugins = []struct{ daemonSet, label string }{
	{"aws-node", "k8s-app=aws-node"}, {"cilium", "k8s-app=cilium"}, {"calico-node", "k8s-app=calico-node"}, {"antrea-agent", "component=antrea-agent"},
}

// proxy makes the address of the API server's service work on a node. The VPC CNI needs it to start.
// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/troubleshooting.md
var proxy = struct{ daemonSet, label string }{"kube-proxy", "k8s-app=kube-proxy"}

// identity gives the pods of a node the IAM roles of their service accounts. Auto Mode has it built in.
//
//   - https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html
//   - https://github.com/aws/amazon-vpc-cni-k8s/issues/3840
var identity = called("eks-pod-identity-agent", "app.kubernetes.io/name=eks-pod-identity-agent")

// awaiting returns the node, and whether it waits for its network plugin. If it does not, or that is
// not known, it returns the verdict.
func (l *look) awaiting() (evidence.NodeObject, cause.Verdict, bool) {
	n, ok := l.node()
	if !ok {
		return n, l.NoNode(), false
	}
	if gap := l.Unexplained(); gap != "" {
		return n, cause.NotChecked(gap), false
	}
	if n.AwaitedNetwork() {
		return n, cause.NotChecked("the container runtime of node " + n.Name + " is down: what it said before about its network plugin does not show why the node is not ready now"), false
	}
	if n.Unstarted() {
		return n, cause.NotChecked("the kubelet of node " + n.Name + " has not finished its start, and starts no pod before: what it says about its network plugin does not show why the node is not ready"), false
	}
	return n, cause.RuledOut, n.AwaitsNetwork()
}

// network checks whether the node waits for its network plugin.
func (l *look) network() cause.Verdict {
	n, v, awaits := l.awaiting()
	if !awaits {
		return v
	}
	text, more, fix := l.plugin(n)
	v = cause.Decisive().In("cni/" + l.ClusterID.Name)
	if l.agentless() {
		v = v.Everywhere()
	}
	return v.
		Says("node %s is not ready because no network plugin (CNI) has started on it%s", n.Name, text).
		Saw("node", "status.conditions[Ready]", reason(ready(n)), "True").Shows(more...).Fix(fix)
}

// agentless reports whether the network plugin's pod crashes, and gets its IAM role from an agent that has no pod
// on the node: neither has it on a replacement.
func (l *look) agentless() bool {
	pods := l.Node().Pods.Value
	_, there := podOf(pods, identity)
	return !there && slices.ContainsFunc(pods, func(p evidence.Pod) bool {
		return p.OfNetworkPlugin() && p.PodIdentity && p.Waiting == "CrashLoopBackOff"
	})
}

// plugin checks the network plugin's pod on the node. The plugin of a Windows node is a part of its
// AMI: https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html
func (l *look) plugin(n evidence.NodeObject) (text string, seen []roll.Evidence, fix string) {
	pods := l.Node().Pods
	if !pods.Known() {
		return "", nil, paste.PodsOf(n.Name)
	}
	var found []evidence.Pod
	var sets []evidence.DaemonSet
	for _, c := range plugins {
		such := called(c.daemonSet, c.label)
		if p, ok := podOf(pods.Value, such); ok {
			found = append(found, p)
		}
		if d, ok := l.setOf(n, such); ok {
			sets = append(sets, d)
		}
	}
	if len(found) > 0 { // of a plugin that is chained to another one, either may fail
		p := found[max(0, slices.IndexFunc(found, func(p evidence.Pod) bool { return !p.Ready }))]
		if k, ok := podOf(pods.Value, called(proxy.daemonSet, proxy.label)); ok && !p.Ready && k.Waiting == "CrashLoopBackOff" {
			return ": the pod " + k.Name + " " + condition(k) + ", by which the plugin reaches the API server, and the pod " + p.Name + " " + condition(p), []roll.Evidence{shown(k), shown(p)}, paste.Lines(inspect(k), inspect(p))
		}
		if p.PodIdentity && !p.Ready {
			return l.byIdentity(p)
		}
		return ": the pod " + p.Name + " " + condition(p), []roll.Evidence{shown(p)}, inspect(p)
	}
	if isWindows(n) {
		return ": on Windows it is a part of the AMI and no DaemonSet", nil, paste.Lines(
			paste.Kubectl("-n", "kube-system", "get", "configmap", "amazon-vpc-cni", "-o", "yaml")+"   # its data must have enable-windows-ipam: \"true\"",
			paste.Kubectl("describe", "node", n.Name)+"   # the VPC resource controller must have given it addresses")
	}
	seen = []roll.Evidence{l.absent("aws-node, cilium, calico-node or antrea-agent", "a pod that is ready")}
	// Whoever uses another plugin lets aws-node select nodes that do not exist.
	// https://docs.cilium.io/en/stable/installation/k8s-install-helm/
	others := func(d evidence.DaemonSet) bool { return !d.Selects(n) }
	if of := slices.DeleteFunc(slices.Clone(sets), others); len(of) > 0 {
		sets = of
	}
	for _, d := range sets {
		if why, more, change := refusal(d, n); why != "" {
			return ": " + why, append(seen, more...), paste.Lines(change, paste.PodsOf(n.Name))
		}
	}
	return ": there is no pod of a known one on the node", seen, paste.Lines(paste.Kubectl("-n", "kube-system", "describe", "daemonset", "aws-node")+
		"   # or that of the plugin in use: does it select the node, and tolerate its taints ("+paste.Remark(all(n.Taints))+")?", paste.PodsOf(n.Name))
}

// byIdentity describes a network plugin's pod that is not ready and gets its IAM role by EKS Pod Identity.
func (l *look) byIdentity(p evidence.Pod) (text string, seen []roll.Evidence, fix string) {
	agent, there := podOf(l.Node().Pods.Value, identity)
	text, seen, fix = "the pod "+p.Name+" "+condition(p), []roll.Evidence{shown(p)}, inspect(p)
	switch {
	case !there:
		return ": " + text + "; it gets its IAM role from the EKS Pod Identity Agent, of which no pod is on the node", append(seen, l.absent("eks-pod-identity-agent", "a pod that is ready")),
			paste.Lines(fix, paste.Kubectl("-n", "kube-system", "get", "daemonset", "eks-pod-identity-agent")+"   # does it select the node, and tolerate its taints?",
				paste.If("there is none", l.AWS("eks", "create-addon", "--cluster-name", l.ClusterID.Name, "--addon-name", "eks-pod-identity-agent")))
	case !agent.Ready:
		return ": the pod " + agent.Name + " " + condition(agent) + ", from which the plugin gets its IAM role, and " + text, []roll.Evidence{shown(agent), shown(p)}, paste.Lines(inspect(agent), fix)
	}
	return ": " + text, seen, fix
}

// isWindows reports whether the node runs Windows.
func isWindows(n evidence.NodeObject) bool { return n.Labels["kubernetes.io/os"] == "windows" }

// cniFolders are the folders of a host into which a network plugin installs itself.
// https://github.com/containerd/containerd/blob/main/docs/cri/config.md#cni-config
var cniFolders = []string{"/etc/cni/net.d", "/opt/cni/bin"}

// missing checks whether the cluster has no network plugin at all. A cluster that was created
// without its default add-ons has none until somebody installs one.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
func (l *look) missing() cause.Verdict {
	n, v, awaits := l.awaiting()
	if !awaits {
		return v
	}
	pods, sets := l.Node().Pods, l.Cluster.DaemonSets
	switch {
	case l.Finding.Owner == roll.OwnerAutoMode, isWindows(n):
		return cause.RuledOut // its plugin is a part of its AMI
	case l.Cluster.Networked.Known(), !l.Node().Starved():
		return cause.RuledOut // the cluster has one
	case !pods.Settled():
		return cause.Missing(pods, "pods of node "+n.Name)
	case !l.Cluster.Networked.Settled():
		return cause.NotChecked(l.Cluster.Networked.Gap())
	case !sets.Settled():
		return cause.Missing(sets, "DaemonSets of "+l.ClusterID.Name)
	}
	var names []string
	for _, d := range sets.Value {
		if evidence.IsNetworkPlugin(d.Name) {
			return cause.RuledOut
		}
		names = append(names, d.Namespace+"/"+d.Name)
	}
	for _, d := range sets.Value {
		if mayInstall(d) {
			return cause.NotChecked("the DaemonSet " + d.Namespace + "/" + d.Name + " may install a network plugin of its own")
		}
	}
	return l.noPlugin(n, names)
}

func (l *look) noPlugin(n evidence.NodeObject, others []string) cause.Verdict {
	observed := "none"
	if len(others) > 0 {
		observed = strings.Join(others[:min(5, len(others))], ", ")
	}
	return cause.Decisive().In("cluster/"+l.ClusterID.Name).
		Says("cluster %s has no network plugin (CNI): none of its %d DaemonSets is one, and without one no node becomes Ready", l.ClusterID.Name, len(others)).
		Saw("DaemonSets", "metadata.name", observed, "aws-node, or that of another network plugin").
		Saw("node", "status.conditions[Ready]", reason(ready(n)), "True").
		Fix(l.AWS("eks", "create-addon", "--cluster-name", l.ClusterID.Name, "--addon-name", "vpc-cni"),
			"# or install the network plugin that the cluster is to use, before its node groups")
}

// mayInstall reports whether the DaemonSet may be a network plugin that is not known: by its
// name, or because it mounts a folder of network plugins or one around it.
func mayInstall(d evidence.DaemonSet) bool {
	return strings.Contains(d.Name, "cni") || slices.ContainsFunc(d.HostPaths, func(mounted string) bool {
		mounted = path.Clean(mounted)
		return slices.ContainsFunc(cniFolders, func(folder string) bool {
			return mounted == folder || strings.HasPrefix(folder, strings.TrimSuffix(mounted, "/")+"/") || strings.HasPrefix(mounted, folder+"/")
		})
	})
}
