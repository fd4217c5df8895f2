package bootstrap

import (
	"net/netip"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// otherFamily checks whether a node of an IPv6 cluster registered with an IPv4 address. There the cloud
// controller knows only the instance's IPv6 addresses. It does not initialize a node whose kubelet gives
// another one, and leaves its taint on it. Whether others of its template work is known only with the instance.
//
// - https://github.com/kubernetes/cloud-provider/blob/master/controllers/node/node_controller.go (getNodeModifiersFromCloudProvider)
// - https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/aws.go (getInstanceNodeAddress)
// - https://github.com/kubernetes-sigs/karpenter/issues/1384
// - https://github.com/awsdocs/amazon-eks-user-guide/issues/578
func (b *start) otherFamily() (v cause.Verdict, found bool) {
	n := b.Node().Object.Value
	address, six := addressOf(n)
	switch config, object := b.Cluster.Config, b.Node().Object; {
	case config.Known() && config.Value.IPFamily != "ipv6":
		return v, false
	case !object.Known():
		return cause.NotChecked(object.Gap()), true
	case address == "" || six || !n.Tainted(evidence.TaintCloud):
		return v, false
	case !config.Known():
		return cause.NotChecked(config.Gap()), true
	}
	return b.given(b.Config().Known(), b.inData().
		Says("node %s registered with the IPv4 address %s, and %s is an IPv6 cluster: the cloud controller manager takes no such address, so it never initializes the node", n.Name, address, b.ClusterID.Name).
		Saw("node", "status.addresses[InternalIP]", address, "an IPv6 address").
		Saw("node", "spec.taints", evidence.TaintCloud, "removed by the cloud controller").
		Saw("EKS cluster", "kubernetesNetworkConfig.ipFamily", "ipv6", "the family of the node's address").
		Fix(b.takeIPv6())), true
}

// addressOf returns the node's IPv4 address, "" if it has none, and whether it has an IPv6 address.
func addressOf(n evidence.NodeObject) (four string, six bool) {
	for _, text := range n.Addresses {
		switch a, err := netip.ParseAddr(text); {
		case err != nil: // a name
		case a.Is4():
			four = text
		default:
			six = true
		}
	}
	return four, six
}

// takeIPv6 returns how to give the kubelet an IPv6 address. Karpenter chooses the family by the address of the
// cluster's DNS, which its own settings or the EC2NodeClass may name.
//
// - https://github.com/awslabs/amazon-eks-ami/blob/v20251112/templates/al2/runtime/bootstrap.sh
// - https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
// - https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/develop/sources/api/pluto/src/main.rs
// - https://karpenter.sh/docs/concepts/nodeclasses/#speckubelet
func (b *start) takeIPv6() string {
	var lines []string
	i := b.Config()
	if i.Known() && !i.Value.IPv6 {
		lines = append(lines, "# the instance has no IPv6 address, which its subnet must assign, or its launch template:",
			b.AWS("ec2", "modify-subnet-attribute", "--subnet-id", i.Value.Subnet, "--assign-ipv6-address-on-creation"))
	}
	lines = append(lines, paste.Command("aws", "eks", "describe-cluster", "--region", b.Region, "--name", b.ClusterID.Name, "--query", "cluster.kubernetesNetworkConfig"))
	if b.Finding.Owner == roll.OwnerKarpenter && b.Group().NodeClass.Known() && !b.custom() && i.Value.NodeClass != "" {
		return paste.Lines(append(lines,
			paste.Format("kubectl get ec2nodeclass %s -o jsonpath='{.spec.kubelet.clusterDNS}'   # an IPv4 address there makes Karpenter write user data for IPv4", i.Value.NodeClass),
			paste.If("or, if no IPv4 address is there, Karpenter did not find the address of the DNS of the cluster at its start; in its namespace",
				paste.Kubectl("-n", "NAMESPACE", "rollout", "restart", "deployment", "-l", paste.KarpentersPods)))...)
	}
	what := "have the kubelet register with an IPv6 address (--node-ip)"
	switch b.tool() {
	case userdata.BootstrapScript:
		what = "give bootstrap.sh --ip-family ipv6 and --service-ipv6-cidr with serviceIpv6Cidr, or leave out both endpoint and CA, so that it asks EKS for all of it"
	case userdata.Nodeadm, userdata.NodeadmCommand:
		what = "in the NodeConfig, spec.cluster.cidr must be serviceIpv6Cidr, and spec.kubelet.flags must have no --node-ip"
	case userdata.BottlerocketSettings:
		what = "leave settings.kubernetes.cluster-dns-ip and node-ip out, or give both as IPv6 addresses"
	}
	return paste.Lines(append(lines, b.change(what))...)
}
