package generate

import (
	"fmt"
	"strings"
)

// UserData is the user data that a group's owner gives its instances.
func UserData(g Group) string {
	switch {
	case g.Image.OS == bottlerocket:
		return bottlerocketData(Cluster)
	case g.Image.OS == al2:
		return bootstrapData("--apiserver-endpoint " + Endpoint + " --b64-cluster-ca " + CA)
	case g.Image.OS == windows:
		return windowsData("-EKSClusterName " + Cluster)
	case g.Owner == byKarpenter:
		return karpenterData(g)
	}
	return nodeadmData(Cluster, CA)
}

// part is a part of a MIME document.
func part(kind, text string) string { return "Content-Type: " + kind + "\n\n" + text + "\n" }

func multipart(parts ...string) string {
	return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n" + strings.Join(parts, "--//\n") + "--//--\n"
}

const (
	nodeConfigPart = "application/node.eks.aws"
	shellPart      = "text/x-shellscript; charset=\"us-ascii\""
)

// nodeadmData is what EKS gives an AL2023 instance of a managed node group.
func nodeadmData(cluster, ca string) string {
	return multipart(part(nodeConfigPart, nodeConfig(cluster, ca)))
}

func nodeConfig(cluster, ca string) string {
	return fmt.Sprintf(`---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: 172.20.0.0/16
`, cluster, Endpoint, ca)
}

// idNames has nodeadm name a node after its instance id.
const idNames = "  featureGates:\n    InstanceIdNodeName: true\n"

// karpenterData is what Karpenter gives an AL2023 instance. It puts the labels in
// quotes of their own, and that works.
func karpenterData(g Group) string {
	return multipart(part(nodeConfigPart, "# Karpenter Generated NodeConfig\n"+strings.TrimPrefix(nodeConfig(Cluster, CA), "---\n")+fmt.Sprintf(`  kubelet:
    config:
      clusterDNS:
      - 172.20.0.10
      maxPods: 29
      registerWithTaints:
      - effect: NoExecute
        key: karpenter.sh/unregistered
    flags:
    - --node-labels="karpenter.k8s.aws/ec2nodeclass=%s,karpenter.sh/capacity-type=on-demand,karpenter.sh/nodepool=%s"
`, g.Name, g.Name)))
}

// bootstrapData joins an AL2 instance with arguments for bootstrap.sh.
func bootstrapData(arguments string) string {
	return "#!/bin/bash\nset -o errexit\n/etc/eks/bootstrap.sh " + Cluster + " " + arguments + "\n"
}

func bottlerocketData(cluster string) string {
	return fmt.Sprintf(`[settings.kubernetes]
api-server = "%s"
cluster-certificate = "%s"
cluster-name = "%s"
cluster-dns-ip = "172.20.0.10"

[settings.kubernetes.node-taints]
"karpenter.sh/unregistered" = ["true:NoExecute"]
`, Endpoint, CA, cluster)
}

// kubeletFlags are user data of AL2 with extra arguments for the kubelet, quoted as
// they stand.
func kubeletFlags(quoted string) string {
	return bootstrapData("--apiserver-endpoint " + Endpoint + " --b64-cluster-ca " + CA + " --kubelet-extra-args " + quoted)
}
