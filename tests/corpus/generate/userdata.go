package generate

import (
	"fmt"
	"strings"
)

// UserData returns the user data that a group's owner gives its instances.
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

// part returns a part of a MIME document.
func part(kind, text string) string { return "Content-Type: " + kind + "\n\n" + text + "\n" }

func multipart(parts ...string) string {
	return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n" + strings.Join(parts, "--//\n") + "--//--\n"
}

const (
	nodeConfigPart = "application/node.eks.aws"
	shellPart      = "text/x-shellscript; charset=\"us-ascii\""
)

// nodeadmData returns what EKS gives an AL2023 instance of a managed node group.
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

// idNames makes nodeadm name a node after its instance ID.
const idNames = "  featureGates:\n    InstanceIdNodeName: true\n"

// karpenterData returns what Karpenter gives an AL2023 instance. It quotes the labels
// separately, and that works.
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

// bootstrapData returns user data that joins an AL2 instance with arguments for bootstrap.sh.
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

// kubeletFlags returns AL2 user data with extra kubelet arguments, quoted verbatim.
func kubeletFlags(quoted string) string {
	return bootstrapData("--apiserver-endpoint " + Endpoint + " --b64-cluster-ca " + CA + " --kubelet-extra-args " + quoted)
}

// console returns a serial console's text: a machine's boot, the lines, and the rest of the
// boot if it goes on.
func console(lines ...string) string {
	boot := []string{
		"[    0.000000] Linux version 6.12.68-92.122.amzn2023.x86_64 (mockbuild@ip-10-0-58-12) #1 SMP PREEMPT_DYNAMIC",
		"[    0.000000] Command line: BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz root=UUID=5d8b6c2a-1e0f-4b3a-9c7d-2f4e6a8b0c1d ro console=tty0 console=ttyS0,115200n8",
		"[    2.114512] systemd[1]: Detected virtualization amazon.",
		"[  OK  ] Reached target network.target - Network.",
	}
	return strings.Join(append(boot, lines...), "\n") + "\n"
}

// booted returns the lines with which a boot ends normally.
func booted() []string {
	return []string{
		"[   14.201337] cloud-init[1893]: Cloud-init v. 22.2.2 finished at Tue, 10 Mar 2026 11:21:02 +0000. Datasource DataSourceEc2.  Up 14.19 seconds",
		"",
		"Amazon Linux 2023.10.20260216",
		"Kernel 6.12.68-92.122.amzn2023.x86_64 on an x86_64 (-)",
		"",
		"localhost login: ",
	}
}

// joined returns lines of an AL2023 boot whose nodeadm succeeded.
func joined() []string {
	return []string{
		"[  OK  ] Finished nodeadm-config.service - EKS Nodeadm Config.",
		"[  OK  ] Finished nodeadm-run.service - EKS Nodeadm Run.",
		"[  OK  ] Started kubelet.service - Kubernetes Kubelet.",
	}
}
