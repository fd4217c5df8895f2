package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// wrongVPC checks that the node is in the VPC of the cluster's subnets (WrongVpc).
// https://docs.aws.amazon.com/eks/latest/userguide/eks-compute.html
func (l *look) wrongVPC() cause.Verdict {
	if gap := l.clusterGap(); gap != "" {
		return cause.NotChecked(gap)
	}
	if !l.foreign() {
		return cause.RuledOut
	}
	return cause.Decisive().In("vpc/"+l.i.VPC).
		Says("the instance is in %s (subnet %s), and the nodes of %s have to be in %s", l.i.VPC, l.i.Subnet, l.clusterName(), l.k.VPC).
		Saw("instance", "VpcId", l.i.VPC, l.k.VPC+", the EKS cluster's").
		Fix(l.rightSubnets())
}

// rightSubnets returns the commands that make the instance's group launch in the cluster's
// subnets.
func (l *look) rightSubnets() string {
	switch {
	case l.i.NodeClass != "" && l.Finding.Owner == roll.OwnerKarpenter:
		terms := roll.Map(l.k.Subnets, func(s string) map[string]string { return map[string]string{"id": s} })
		return paste.Lines("# security groups belong to a VPC, too: check securityGroupSelectorTerms",
			l.patchNodeClass(paste.JSON(map[string]any{"spec": map[string]any{"subnetSelectorTerms": terms}})))
	case l.i.ASG != "" && l.i.NodeGroup == "":
		return paste.Lines("# security groups belong to a VPC, too: check those of the launch template",
			l.AWS("autoscaling", "update-auto-scaling-group", "--auto-scaling-group-name", l.i.ASG, "--vpc-zone-identifier", strings.Join(l.k.Subnets, ",")))
	}
	return paste.Lines("# launch it in a subnet of the VPC of the cluster:",
		l.AWS("ec2", "describe-subnets", "--filters", "Name=vpc-id,Values="+l.k.VPC, "--query", "Subnets[].[SubnetId,AvailabilityZone,AvailableIpAddressCount]", "--output", "table"))
}

func (l *look) patchNodeClass(patch string) string {
	return paste.Lines(paste.Kubectl("patch", "ec2nodeclass", l.i.NodeClass, "--type", "merge", "-p", patch), cause.Drift)
}

// tagOf is the prefix of the tag key that marks instances as a cluster's.
const tagOf = "kubernetes.io/cluster/"

// tag checks for the cluster's tag on an instance that AWS does not tag itself: a self-managed
// one or Karpenter's (ClusterTagMissing).
//
// AWS lists a missing tag among what keeps nodes from joining. A kubelet before 1.27 starts
// AWS's cloud provider itself and exits without the tag; EKS's AMIs of 1.26 already use the external
// one. EKS has no control plane that old any more, so only the AMI's name shows it. The cloud controller requires the tag only
// of instances that it finds by their node's name. A node that was paired with its instance has a
// provider ID, by which the controller finds an instance with or without the tag. So the tag is
// decisive for an old kubelet; otherwise it is a hint, also for a node that still has the cloud
// controller's taint.
// https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#worker-node-fail
// https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/instances_v2.go
// https://github.com/awslabs/amazon-eks-ami/issues/310
// https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html
func (l *look) tag() cause.Verdict {
	name := l.clusterName()
	switch {
	case !slices.Contains([]roll.Owner{roll.OwnerKarpenter, roll.OwnerAutoScalingGroup, roll.OwnerNone}, l.Finding.Owner):
		return cause.Verdict{}
	case name == "" || slices.Contains(l.i.ClusterTags, name):
		return cause.RuledOut
	}
	tainted := l.Finding.Kind == roll.Uninitialized && l.Node().Object.Value.Tainted(evidence.TaintCloud)
	minor, ok := l.minor()
	c := cause.DecisiveIf(l.Finding.Kind == roll.Unregistered && ok && minor < 26).In(l.origin()).
		Says("the instance lacks the tag %s%s, which marks it as the cluster's", tagOf, name).
		Saw("instance", "Tags["+tagOf+name+"]", "none", "owned").
		Fix(l.addTag(name))
	if tainted {
		c.Saw("node", "spec.taints", evidence.TaintCloud, "removed by the cloud controller")
	}
	return c
}

// addTag returns the commands that tag the instance and those that its group launches.
func (l *look) addTag(name string) string {
	own := l.AWS("ec2", "create-tags", "--resources", string(l.Finding.Instance), "--tags", "Key="+tagOf+name+",Value=owned")
	if l.i.ASG == "" || l.Finding.Owner != roll.OwnerAutoScalingGroup {
		return own
	}
	return paste.Lines(own, l.AWS("autoscaling", "create-or-update-tags", "--tags",
		fmt.Sprintf("ResourceId=%s,ResourceType=auto-scaling-group,Key=%s%s,Value=owned,PropagateAtLaunch=true", l.i.ASG, tagOf, name)))
}

// metadata checks whether the instance has a metadata service (ImdsDisabled). nodeadm,
// bootstrap.sh and Bottlerocket first read their identity and region from it, and the kubelet's
// credentials come only from it. A node that registered had it then, or has other credentials.
// EC2 does not show when it was turned off, so it is a hint for a node.
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/status.go
// https://github.com/awslabs/amazon-eks-ami/blob/v20251112/templates/al2/runtime/bootstrap.sh
// https://github.com/bottlerocket-os/bottlerocket-core-kit/tree/develop/sources/early-boot-config
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html
func (l *look) metadata() cause.Verdict {
	if !l.i.IMDSDisabled {
		return cause.RuledOut
	}
	return cause.DecisiveIf(l.Finding.Kind == roll.Unregistered).In(l.origin()).
		Says("the instance's metadata service is off, which gives it its identity and the credentials of its role").
		Saw("instance", "MetadataOptions.HttpEndpoint", "disabled", "enabled").
		Fix(l.metadataOptions("--http-endpoint", "enabled", `{"httpEndpoint":"enabled"}`))
}

// hopLimit checks the metadata service's hop limit (ImdsHopLimit). With 1, answers reach the
// host and pods in its network, and no other pod. That is Karpenter's default and does not
// affect a node. So it is a hint, and only for a node with a failing pod that reads the
// metadata service.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html
// https://karpenter.sh/docs/concepts/nodeclasses/#specmetadataoptions
func (l *look) hopLimit() cause.Verdict {
	pods := l.Node().Pods
	p, asks := roll.Find(pods.Value, asksMetadata)
	switch {
	case l.i.HopLimit == 0:
		return cause.NotChecked("the hop limit of the metadata service is not known")
	case l.i.HopLimit > 1:
		return cause.RuledOut
	case !pods.Settled():
		return cause.Missing(pods, "the pods on the node")
	case !asks:
		return cause.RuledOut
	}
	return cause.Suggestive().In(l.origin()).
		Says("the pod %s/%s fails and asks the instance's metadata service, whose answers reach only the host (hop limit 1)", p.Namespace, p.Name).
		Saw("instance", "MetadataOptions.HttpPutResponseHopLimit", "1", "2, or pods that do without").
		Saw("pod "+p.Namespace+"/"+p.Name, "state", strings.TrimSpace(cmp.Or(p.Waiting, p.Terminated)+" "+p.Message), "running").
		Fix(l.metadataOptions("--http-put-response-hop-limit", "2", `{"httpPutResponseHopLimit":2}`))
}

// askers are workloads outside the host's network that read their region, instance or
// credentials from the metadata service unless configured otherwise, by their guides.
// https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/install.md
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/installation/
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Container-Insights-setup-EKS-quickstart.html
var askers = []string{"ebs-csi-node", "ebs-csi-controller", "aws-load-balancer-controller", "cluster-autoscaler", "cloudwatch-agent", "external-dns", "aws-for-fluent-bit", "fluent-bit"}

// asksMetadata reports whether the pod fails, and either its message names the metadata service
// or it is one of askers.
func asksMetadata(p evidence.Pod) bool {
	if p.Ready || p.Waiting != "CrashLoopBackOff" && p.Terminated == "" {
		return false
	}
	_, owner, _ := strings.Cut(p.Owner, "/")
	return contains(p.Message, "169.254.169.254", "EC2MetadataError", "EC2 IMDS", "ec2imds", "EC2 metadata", "instance metadata") ||
		slices.ContainsFunc(askers, func(a string) bool { return strings.HasPrefix(owner, a) })
}

// metadataOptions returns the commands that set an option on the instance and for those that
// Karpenter launches.
func (l *look) metadataOptions(flag, value, patch string) string {
	own := l.AWS("ec2", "modify-instance-metadata-options", "--instance-id", string(l.Finding.Instance), flag, value)
	if l.Finding.Owner == roll.OwnerKarpenter && l.i.NodeClass != "" {
		return paste.Lines(own, l.patchNodeClass(`{"spec":{"metadataOptions":`+patch+`}}`))
	}
	return paste.Lines(own, "# and in the launch template, for new instances")
}

// fewAddresses: a subnet with fewer free addresses is full for a CNI, which takes them in
// advance.
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html#network-requirements-subnets
const fewAddresses = 5

// addresses checks the free addresses in the instance's subnet (SubnetIpsExhausted). The
// instance has its own address, so a full subnet is decisive only for a node whose CNI
// certainly found none for pods. Launches of its group that failed for lack of addresses are shown,
// and prove nothing: the Amazon VPC CNI starts without an address for pods, so a node that waits for
// it lacks something else, or, with custom networking, the address of another subnet. In a cluster of
// IPv6 the CNI takes no IPv4 addresses for pods, so neither do they there.
// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/pkg/ipamd/ipamd.go (increaseDatastorePool)
// https://docs.aws.amazon.com/eks/latest/userguide/cni-ipv6.html
func (l *look) addresses() cause.Verdict {
	f := l.Subnet()
	if !f.Known() {
		return cause.Missing(f, "subnet "+l.i.Subnet)
	}
	n := f.Value.FreeAddresses
	prefix, scattered := l.podSays("InsufficientCidrBlocks")
	// A node that says why it is not ready, and does not name its network, lacks something else.
	explains := l.Finding.Kind != roll.NotReady || l.noCNI()
	gap := l.unsaid()
	subnets := l.AWS("ec2", "describe-subnets", "--filters", "Name=vpc-id,Values="+l.i.VPC, "--query", "Subnets[].[SubnetId,AvailabilityZone,CidrBlock,AvailableIpAddressCount]", "--output", "table")
	full, none := l.podSays("InsufficientFreeAddressesInSubnet", "IPAMDNoIPs")
	switch {
	case n >= fewAddresses && scattered:
		return l.scattered(prefix).DecisiveIf(explains)
	case n >= fewAddresses && none:
		return cause.Suggestive().
			Says("the CNI found no free address, and the instance's subnet %s has %d: the CNI takes those of pods from other subnets (an ENIConfig, or subnets tagged kubernetes.io/role/cni), which were not read", l.i.Subnet, n).
			Shows(full).
			Fix("kubectl get eniconfigs.crd.k8s.amazonaws.com   # which subnets, if any; then their free addresses:",
				subnets)
	case n >= fewAddresses && gap != "":
		return cause.NotChecked(gap)
	case n >= fewAddresses:
		return cause.RuledOut
	}
	pod, refused := l.podSays("failed to assign an IP address to container", "InsufficientFreeAddressesInSubnet", "IPAMDNoIPs")
	failed, launch := l.launchError()
	if l.Cluster.Config.Value.IPFamily == "ipv6" && l.noCNI() && !refused {
		if gap != "" {
			return cause.NotChecked(gap)
		}
		return cause.RuledOut // pods take IPv6 addresses, whatever launches lack
	}
	c := cause.DecisiveIf(refused && explains).In("subnet/"+l.i.Subnet).
		Says("the subnet %s (%s) has %d free addresses, too few for the CNI to give some to pods", l.i.Subnet, f.Value.CIDR, n).
		Saw("subnet "+l.i.Subnet, "AvailableIpAddressCount", fmt.Sprint(n), fmt.Sprintf("%d or more", fewAddresses)).
		Fix("# where there is room:",
			subnets,
			"# let the Amazon VPC CNI keep fewer addresses in advance:",
			setCNI("WARM_IP_TARGET=1", "MINIMUM_IP_TARGET=2"))
	if refused {
		c.Shows(pod)
	}
	if launch {
		c.Shows(failed)
	}
	return c
}

// unsaid returns why it is unknown what the CNI says about a node that waits for it, or may, "" if it
// is known.
func (l *look) unsaid() string {
	n := l.Node()
	switch gap := l.Untold(); {
	case l.Finding.Kind == roll.Unregistered, n.Object.Known() && !l.noCNI():
		return ""
	case gap != "":
		return gap
	case !n.Events.Settled():
		return n.Events.Missing("list of events of node " + l.Finding.Node)
	}
	return ""
}

// scattered returns the cause that the subnet has free addresses but no contiguous block of
// them. EC2 calls that InsufficientCidrBlocks, and the Amazon VPC CNI repeats it.
// Nodes do not go from one mode to the other: their max-pods is that of the first.
// https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
func (l *look) scattered(prefix roll.Evidence) cause.Verdict {
	s := l.Subnet().Value
	return cause.Suggestive().In("subnet/"+l.i.Subnet).
		Says("the subnet %s (%s) has %d free addresses and no contiguous /28 among them, and the CNI gives out prefixes of that size", l.i.Subnet, s.CIDR, s.FreeAddresses).
		Saw("subnet "+l.i.Subnet, "AvailableIpAddressCount", fmt.Sprint(s.FreeAddresses), "a contiguous block of 16").Shows(prefix).
		Fix("# reserve blocks for prefixes in a subnet, here or in one of its own for nodes, so that single addresses do not scatter them:",
			l.AWS("ec2", "create-subnet-cidr-reservation", "--subnet-id", l.i.Subnet, "--reservation-type", "prefix", "--cidr", "CIDR"),
			paste.If("or go without prefixes, lower the max-pods of the nodes to what is left without them, and replace all nodes", setCNI("ENABLE_PREFIX_DELEGATION=false")))
}

func setCNI(settings ...string) string {
	return paste.Kubectl(append([]string{"-n", "kube-system", "set", "env", "daemonset/aws-node"}, settings...)...)
}

// podSays returns an event of the node, or a message or event of one of its pods, with one of
// the words. The Amazon VPC CNI and the EKS node monitoring agent use them to report a pod
// without an address.
// https://docs.aws.amazon.com/eks/latest/best-practices/ip-opt.html
// https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
func (l *look) podSays(words ...string) (roll.Evidence, bool) {
	event := func(source string, events []evidence.Event) (roll.Evidence, bool) {
		e, ok := roll.Find(events, func(e evidence.Event) bool { return contains(e.Message, words...) })
		return roll.Evidence{Source: source, Field: "event " + e.Reason, Observed: e.Message, Expected: "an address for the pod"}, ok
	}
	n := l.Node()
	if e, ok := event("events", n.Events.Value); ok {
		return e, true
	}
	for _, p := range n.Pods.Value {
		source := "pod " + p.Namespace + "/" + p.Name
		if contains(p.Message, words...) {
			return roll.Evidence{Source: source, Field: "state.waiting", Observed: p.Message, Expected: "an address"}, true
		}
		if e, ok := event(source, p.Events); ok {
			return e, true
		}
	}
	return roll.Evidence{}, false
}

// launchError returns a launch of the group that failed for lack of addresses in this subnet.
// Auto Scaling names the subnet in EC2's words.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
func (l *look) launchError() (roll.Evidence, bool) {
	full := func(text string) bool {
		return contains(text, "InsufficientFreeAddressesInSubnet", "not enough free addresses in subnet")
	}
	for _, a := range l.Group().Activities.Value {
		if text := a.Message + " " + a.Description; a.Status == "Failed" && full(text) && strings.Contains(text, l.i.Subnet) {
			return roll.Evidence{Source: "scaling activities", Field: "StatusMessage", Observed: cmp.Or(a.Message, a.Description), Expected: "a launch"}, true
		}
	}
	for _, claim := range l.Group().NodeClaims.Value {
		if c, ok := claim.Condition("Launched"); ok && c.Status != "True" && full(c.Reason+" "+c.Message) && strings.Contains(c.Message, l.i.Subnet) {
			return roll.Evidence{Source: "NodeClaim " + claim.Name, Field: "conditions.Launched", Observed: c.Message, Expected: "True"}, true
		}
	}
	return roll.Evidence{}, false
}
