package startup

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Reasons why Karpenter does not call a node initialized although its kubelet is ready and its
// startup taints are gone: a resource that the NodeClaim requests has no amount yet, or a
// driver of dynamic resources has not published its resources.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/initialization.go
const (
	resourceMissing = "ResourceNotRegistered"
	driverMissing   = "DRADriverPoolsNotPublished"
)

// devicePlugin is the plugin that registers a resource. named is a part of its DaemonSet's name: Helm
// puts the name of the release before it, and manifests end it in -daemonset.
// https://github.com/NVIDIA/k8s-device-plugin/blob/main/deployments/helm/nvidia-device-plugin/templates/_helpers.tpl
// https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin
type devicePlugin struct{ resource, named, guide string }

const neuronGuide = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/kubernetes-getting-started.html"

var devicePlugins = []devicePlugin{
	{"nvidia.com/gpu", "nvidia-device-plugin", "https://github.com/NVIDIA/k8s-device-plugin"},
	{"amd.com/gpu", "amdgpu-device-plugin", "https://github.com/ROCm/k8s-device-plugin"},
	{"aws.amazon.com/neuron", "neuron-device-plugin", neuronGuide},
	{"aws.amazon.com/neuroncore", "neuron-device-plugin", neuronGuide},
	{"vpc.amazonaws.com/efa", "efa-k8s-device-plugin", "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html"},
}

// networkResources are the resources that no device plugin registers, but the VPC resource controller, which EKS runs, by what it
// needs for that.
// https://github.com/aws/amazon-vpc-resource-controller-k8s
var networkResources = []struct{ resource, needs, show, guide string }{
	{"vpc.amazonaws.com/pod-eni", "aws-node has ENABLE_POD_ENI=true, the cluster's role has AmazonEKSVPCResourceController, and the instance has a network interface left for a trunk",
		paste.Kubectl("-n", "kube-system", "set", "env", "daemonset/aws-node", "--list"), "https://docs.aws.amazon.com/eks/latest/userguide/security-groups-pods-deployment.html"},
	{"vpc.amazonaws.com/PrivateIPv4Address", "the ConfigMap amazon-vpc-cni has enable-windows-ipam, and the cluster's role has AmazonEKSVPCResourceController",
		paste.Kubectl("-n", "kube-system", "get", "configmap", "amazon-vpc-cni", "-o", "yaml"), "https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html"},
}

// hugePages is the prefix of the resources that the kubelet itself registers, by what it finds when it starts. A NodeOverlay
// tells Karpenter of them.
// https://karpenter.sh/docs/concepts/nodeoverlays/
// https://github.com/kubernetes/kubernetes/issues/111757
const (
	hugePages      = "hugepages-"
	hugePagesGuide = "https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/"
)

// controllersEvents are the reasons of the events by which the VPC resource controller says of a node why it does not
// register them.
// https://github.com/aws/amazon-vpc-resource-controller-k8s/blob/master/pkg/provider/branch/provider.go
// https://github.com/aws/amazon-vpc-resource-controller-k8s/blob/master/pkg/utils/events.go
var controllersEvents = []string{"TrunkENICreationFailed", "Unsupported", "EniConfigNameNotFound", "InsufficientCidrBlocks"}

// resources checks whether Karpenter waits for a resource that nothing has registered.
func (l *look) resources() cause.Verdict {
	if !l.karpenters() {
		return cause.Verdict{}
	}
	claim := l.NodeClaim()
	c, ok := claim.Value.Condition("Initialized")
	switch {
	case !claim.Known():
		return cause.Missing(claim, "NodeClaim of "+string(l.Finding.Instance))
	case !ok || !resourceReason(c):
		return cause.RuledOut
	}
	text, subject, more, fix := l.device(c.Reason, quoted(c.Message))
	return cause.DecisiveIf(l.overdue()).In(subject).
		Says("Karpenter waits on node %s for %s", l.Finding.Node, text).
		Saw("NodeClaim", "status.conditions[Initialized]", reason(c), "True").Shows(more...).
		Fix(fix, paste.Kubectl("describe", "nodeclaim", claim.Value.Name))
}

// resourceReason reports whether a NodeClaim is not initialized because a resource is missing.
func resourceReason(initialized evidence.Condition) bool {
	return initialized.Status != string(roll.ConditionTrue) && (initialized.Reason == resourceMissing || initialized.Reason == driverMissing)
}

// device says what Karpenter waits for, and checks the pod that should provide it.
func (l *look) device(reason, name string) (text, subject string, seen []roll.Evidence, fix string) {
	pods, node := paste.PodsOf(l.Finding.Node), l.Node()
	if reason == driverMissing {
		return fmt.Sprintf("the DRA driver %s, which has not published its resources", name), "dra-driver/" + name, nil, paste.Lines(paste.Kubectl("get", "resourceslices"), pods)
	}
	for _, r := range networkResources {
		if r.resource == name {
			text, seen = l.byController(name, r.needs)
			role := l.AWS("eks", "describe-cluster", "--name", l.ClusterID.Name, "--query", "cluster.roleArn")
			return text, "resource/" + name, seen, paste.Lines(paste.Kubectl("get", "cninode", l.Finding.Node, "-o", "yaml"), r.show, role, "# the guide: "+r.guide)
		}
	}
	amounts := paste.Kubectl("get", "node", l.Finding.Node, "-o", "jsonpath={.status.allocatable}")
	if strings.HasPrefix(name, hugePages) {
		return fmt.Sprintf("%s: its kubelet found none that the kernel had set aside", name), "resource/" + name, nil,
			paste.Lines(amounts, "# the user data must set them aside before the kubelet starts, such as with vm.nr_hugepages; or correct the NodeOverlay", "# the guide: "+hugePagesGuide)
	}
	text = fmt.Sprintf("the resource %s, which no device plugin has registered", name)
	fix = paste.Lines(amounts, pods)
	for _, d := range devicePlugins {
		if d.resource != name {
			continue
		}
		such := func(name string, _ map[string]string) bool { return strings.Contains(name, d.named) }
		if p, ok := podOf(node.Pods.Value, such); ok {
			text += ": the pod " + p.Name + " " + condition(p)
			seen = append(seen, shown(p))
		} else if node.Pods.Known() {
			seen = append(seen, l.absent(d.named, "a pod that is ready, unless the AMI brings the plugin"))
			if set, ok := l.setOf(node.Object.Value, such); ok && node.Object.Known() {
				if why, more, change := refusal(set, node.Object.Value); why != "" {
					text, seen, fix = text+": "+why, append(seen, more...), paste.Lines(change, fix)
				}
			}
		}
		fix = paste.Lines(fix, "# the guide of the plugin: "+d.guide)
	}
	return text, "resource/" + name, seen, fix
}

// byController says why the VPC resource controller may not have registered a resource: by its last event
// about the node, or else by what it needs.
func (l *look) byController(name, needs string) (text string, seen []roll.Evidence) {
	text = fmt.Sprintf("the resource %s, which the VPC resource controller of EKS has not registered", name)
	for _, e := range slices.Backward(l.Node().Events.Value) {
		if e.Type == "Warning" && slices.Contains(controllersEvents, e.Reason) {
			return text + ": " + strings.TrimSuffix(e.Message, "."), []roll.Evidence{{Source: "events", Field: e.Reason, Observed: e.Message, Expected: "none"}}
		}
	}
	return text + ": it does once " + needs, nil
}

// quoted returns the first quoted text in a message, or all of it.
func quoted(message string) string {
	_, rest, ok := strings.Cut(message, `"`)
	name, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		return message
	}
	return name
}
