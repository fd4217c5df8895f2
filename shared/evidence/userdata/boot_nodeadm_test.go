package userdata

import (
	"strings"
	"testing"
)

// inMIME joins parts into one document, each with its media type before it.
func inMIME(typesAndParts ...string) string {
	text := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n"
	for i := 0; i+1 < len(typesAndParts); i += 2 {
		text += "--//\nContent-Type: " + typesAndParts[i] + "\n\n" + typesAndParts[i+1] + "\n"
	}
	return text + "--//--\n"
}

const (
	nodeConfigHead = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n"
	exampleCluster = "  cluster:\n    name: demo\n    apiServerEndpoint: " + apiServer + "\n    certificateAuthority: " + exampleCA + "\n    cidr: 10.100.0.0/16\n"
	karpenterOwn   = "# Karpenter Generated NodeConfig\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nmetadata:\n  creationTimestamp: null\nspec:\n" + exampleCluster +
		"  containerd: {}\n  instance:\n    localStorage: {}\n  kubelet:\n    config:\n      clusterDNS:\n      - 10.100.0.10\n      maxPods: 58\n      registerWithTaints:\n      - effect: NoExecute\n        key: karpenter.sh/unregistered\n" +
		"    flags:\n    - --node-labels=\"karpenter.sh/capacity-type=spot,karpenter.sh/nodepool=default\"\n"
)

// indented moves every line to the right, as a template does that is indented in another file.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// Amazon Linux 2023: NodeConfigs.
func TestBootOfNodeConfig(t *testing.T) {
	shell, node := "text/x-shellscript; charset=\"us-ascii\"", "application/node.eks.aws"
	checkBoots(t, []bootCase{
		{name: "Karpenter on Amazon Linux 2023 (EC2NodeClass without user data of its own)", data: inMIME(node, karpenterOwn), want: `
				part 1 by nodeadm, cluster demo, its endpoint and CA
				  flag node-labels=karpenter.sh/capacity-type=spot,karpenter.sh/nodepool=default; quotes within quotes
				  taint karpenter.sh/unregistered=:NoExecute by registerWithTaints
				  label karpenter.sh/capacity-type=spot
				  label karpenter.sh/nodepool=default
				  by Karpenter: part 1`},
		{
			// https://github.com/aws/karpenter-provider-aws/issues/7486
			name: "a taint among the flags makes Karpenter's taint vanish",
			data: inMIME(node, nodeConfigHead+"  cluster:\n    cidr: 10.100.0.0/16\n    name: demo\n  kubelet:\n    config:\n      clusterDNS: [10.100.0.10]\n      registerWithTaints: [{key: team, value: a, effect: NoSchedule}]\n    flags:\n    - --register-with-taints=node.cilium.io/agent-not-ready=true:NoExecute\n", node, karpenterOwn),
			want: `
				part 1, part 2 by nodeadm, cluster demo, its endpoint and CA
				  flag register-with-taints=node.cilium.io/agent-not-ready=true:NoExecute
				  flag node-labels=karpenter.sh/capacity-type=spot,karpenter.sh/nodepool=default; quotes within quotes
				  taint node.cilium.io/agent-not-ready=true:NoExecute by --register-with-taints
				  taint team=a:NoSchedule by registerWithTaints; dropped
				  taint karpenter.sh/unregistered=:NoExecute by registerWithTaints; dropped
				  taints in conflict
				  label karpenter.sh/capacity-type=spot
				  label karpenter.sh/nodepool=default
				  by Karpenter: part 2`,
		},
		{
			// aws/eks-hybrid, test/e2e: hybrid nodes on EC2 instances.
			name: "a hybrid node on an EC2 instance",
			data: "#!/bin/bash\ncat > /root/node.yaml <<EOF\n" + nodeConfigHead + "  cluster:\n    name: demo\n    region: eu-west-1\n  hybrid:\n    ssm:\n      activationCode: a\n      activationId: b\nEOF\nnodeadm install 1.35 --credential-provider ssm\nnodeadm init -c file:///root/node.yaml\n",
		},
		{name: "a NodeConfig that is indented as a whole", data: inMIME(shell, "#!/bin/bash\ndate", node, indented(nodeConfigHead+exampleCluster)), want: `
				part 2 by nodeadm, cluster demo, its endpoint and CA`},
		{name: "as the whole user data", data: "\n" + indented(nodeConfigHead+exampleCluster), want: `
				user data by nodeadm, cluster demo, its endpoint and CA`},
		{name: "a NodeConfig whose first line alone is indented", data: inMIME(node, "  "+nodeConfigHead+exampleCluster), want: `
				fault: part 1, line 1 (nodeconfig) has a kind or apiVersion that nodeadm does not know [nodeadm stops with an error]`},
		{name: "a cluster that a merge key brings in", data: "x-a: &a\n  cidr: 10.100.0.0/16\n  name: other\nx-b: &b {certificateAuthority: " + exampleCA + "}\n" + nodeConfigHead + "  cluster:\n    <<: [*b, *a]\n    name: demo\n    apiServerEndpoint: " + apiServer + "\n", want: `
				fault: user data, line 1 (nodeconfig) has a field that does not exist [nodeadm is passed over]
				fault: user data, line 4 (nodeconfig) has a field that does not exist [nodeadm is passed over]
				user data by nodeadm, cluster demo, its endpoint and CA`},
		{name: "all of it, by mappings that merge others", data: "x-a: &a {cidr: 10.100.0.0/16, name: demo}\nx-b: &b\n  <<: *a\n  certificateAuthority: " + exampleCA + "\n" + nodeConfigHead + "  cluster: {apiServerEndpoint: '" + apiServer + "', <<: *b}\n", want: `
				fault: user data, line 1 (nodeconfig) has a field that does not exist [nodeadm is passed over]
				fault: user data, line 2 (nodeconfig) has a field that does not exist [nodeadm is passed over]
				user data by nodeadm, cluster demo, its endpoint and CA`},
		{name: "a mapping that merges itself", data: nodeConfigHead + "  cluster: &a\n    <<: [*a, *a]\n    name: demo\n", want: `
				user data by nodeadm, cluster demo
				  missing: spec.cluster.apiServerEndpoint spec.cluster.certificateAuthority spec.cluster.cidr`},
		{name: "a certificate authority of folded lines", data: inMIME(node, nodeConfigHead+strings.Replace(exampleCluster, exampleCA, exampleCA[:8]+"\n      "+exampleCA[8:], 1)), want: `
				fault: part 1, line 7 (nodeconfig) has a value of the wrong type: spec.cluster.certificateAuthority [nodeadm stops with an error]
				part 1 by nodeadm, cluster demo, its endpoint and CA`},
		{name: "of lines that are kept", data: inMIME(node, nodeConfigHead+strings.Replace(exampleCluster, exampleCA, "|\n      "+exampleCA[:8]+"\n      "+exampleCA[8:], 1)), want: `
				part 1 by nodeadm, cluster demo, its endpoint and CA`},
		{name: "a hybrid node that does not ask EKS for its cluster", data: inMIME(node, nodeConfigHead+exampleCluster+"  hybrid:\n    iamRolesAnywhere: {nodeName: one}\n")},
		{name: "a NodeConfig whose hybrid is null", data: inMIME(node, nodeConfigHead+exampleCluster+"  hybrid:\n"), want: `
				fault: part 1, line 9 (nodeconfig) has a field that does not exist: spec [nodeadm is passed over]
				part 1 by nodeadm, cluster demo, its endpoint and CA`},
		{name: "managed node group, as the launch template has it: EKS adds its own NodeConfig",
			data: inMIME(shell, "#!/bin/bash\nyum install -y nfs-utils", node, nodeConfigHead+"  kubelet:\n    config: {shutdownGracePeriod: 30s, failCgroupV1: True}\n    flags: [--node-labels=team=a]\n  instance:\n    localStorage: {strategy: RAID0}\n    environment:\n      default: {HTTPS_PROXY: 'http://user:hunter2@proxy.example.com:3128', NO_PROXY: .example.com}\n  featureGates: {InstanceIdNodeName: on}\n"), want: `
				part 2 by nodeadm
				  instance id name
				  flag node-labels=team=a
				  label team=a
				  fail cgroup v1: true
				  missing: spec.cluster.name spec.cluster.apiServerEndpoint spec.cluster.certificateAuthority spec.cluster.cidr
				proxy`},
		{
			name: "eksctl's default NodeConfig, its boundary without quotes",
			data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=//\n\n--//\nContent-Type: application/node.eks.aws\n\n" + nodeConfigHead + exampleCluster +
				"  kubelet:\n    config:\n      clusterDNS:\n      - 10.100.0.10\n    flags:\n    - --node-labels=alpha.eksctl.io/cluster-name=demo,alpha.eksctl.io/nodegroup-name=ng\n    - --register-with-taints=special=true:NoSchedule\n\n--//--\n",
			want: `
				fault: user data (mime) has a Content-Type header that nodeadm's parser refuses [nodeadm stops with an error]
				part 1 by nodeadm, cluster demo, its endpoint and CA
				  flag node-labels=alpha.eksctl.io/cluster-name=demo,alpha.eksctl.io/nodegroup-name=ng
				  flag register-with-taints=special=true:NoSchedule
				  taint special=true:NoSchedule by --register-with-taints
				  label alpha.eksctl.io/cluster-name=demo
				  label alpha.eksctl.io/nodegroup-name=ng`,
		},
		{name: "fields that nodeadm drops: other letters, other places",
			data: "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    apiserverEndpoint: " + apiServer + "\n    certificateAuthority: " + exampleCA + "\n    cidr: 10.100.0.0/16\n    region: eu-west-1\n  kubelet:\n    extraArgs: [--max-pods=20]\n  maxPods: 20\n", want: `
				fault: user data, line 6 (nodeconfig) has a field that does not exist: spec.cluster.apiServerEndpoint [nodeadm is passed over]
				fault: user data, line 9 (nodeconfig) has a field that does not exist: spec.cluster [nodeadm is passed over]
				fault: user data, line 11 (nodeconfig) has a field that does not exist: spec.kubelet [nodeadm is passed over]
				fault: user data, line 12 (nodeconfig) has a field that does not exist: spec [nodeadm is passed over]
				user data by nodeadm, cluster demo
				  ca: given 69590970
				  missing: spec.cluster.apiServerEndpoint`},
		{name: "values of the wrong type",
			data: "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: 42\n    apiServerEndpoint: [" + apiServer + "]\n    certificateAuthority: not base64!\n    cidr: 10.100.0.0/16\n    enableOutpost: 'true'\n  kubelet:\n    flags:\n    - --node-labels: a\n    - 5\n    - yes\n  featureGates: {InstanceIdNodeName: 'yes'}\n  instance: {environment: {default: [a]}, network: {nameservers: 10.0.0.2}}\n", want: `
				fault: user data, line 5 (nodeconfig) has a value of the wrong type: spec.cluster.name [nodeadm stops with an error]
				fault: user data, line 6 (nodeconfig) has a value of the wrong type: spec.cluster.apiServerEndpoint [nodeadm stops with an error]
				fault: user data, line 7 (nodeconfig) has a value of the wrong type: spec.cluster.certificateAuthority [nodeadm stops with an error]
				fault: user data, line 9 (nodeconfig) has a value of the wrong type: spec.cluster.enableOutpost [nodeadm stops with an error]
				fault: user data, line 12 (nodeconfig) has a value of the wrong type: spec.kubelet.flags [nodeadm stops with an error]
				fault: user data, line 13 (nodeconfig) has a value of the wrong type: spec.kubelet.flags [nodeadm stops with an error]
				fault: user data, line 14 (nodeconfig) has a value of the wrong type: spec.kubelet.flags [nodeadm stops with an error]
				fault: user data, line 15 (nodeconfig) has a value of the wrong type: spec.featureGates [nodeadm stops with an error]
				fault: user data, line 16 (nodeconfig) has a value of the wrong type: spec.instance.environment [nodeadm stops with an error]
				fault: user data, line 16 (nodeconfig) has a value of the wrong type: spec.instance.network.nameservers [nodeadm stops with an error]
				user data by nodeadm
				  cluster: 42
				  ca: malformed 
				  flag ; a word that belongs to no flag
				  flag ; a word that belongs to no flag
				  missing: spec.cluster.apiServerEndpoint`},
		{name: "a tab", data: nodeConfigHead + "  cluster:\n    name: demo\n\tcidr: 10.100.0.0/16\n", want: `fault: user data, line 5 (nodeconfig) does not parse [nodeadm stops with an error]`},
		{name: "a list that is not closed, in a part that begins with empty lines",
			data: inMIME(node, "\n\n"+nodeConfigHead+"  kubelet:\n    flags: [--max-pods=20\n  cluster: {name: demo}\n"), want: `fault: part 1, line 7 (nodeconfig) does not parse [nodeadm stops with an error]`},
		{name: "another version, another kind, another group",
			data: inMIME(node, "apiVersion: node.eks.aws/v1\nkind: NodeConfig\nspec: {cluster: {name: demo}}\n", node, "apiVersion: node.eks.aws/v1alpha1\nkind: nodeconfig\n", node, "apiVersion: eksctl.io/v1alpha5\nkind: NodeConfig\n", node, ""), want: `
				fault: part 1, line 1 (nodeconfig) has a kind or apiVersion that nodeadm does not know: apiVersion [nodeadm depends on the version]
				fault: part 2, line 1 (nodeconfig) has a kind or apiVersion that nodeadm does not know [nodeadm stops with an error]
				fault: part 3, line 1 (nodeconfig) has a kind or apiVersion that nodeadm does not know [nodeadm stops with an error]
				fault: part 4 (nodeconfig) has a kind or apiVersion that nodeadm does not know [nodeadm stops with an error]
				part 1 by nodeadm, cluster demo
				  missing: spec.cluster.apiServerEndpoint spec.cluster.certificateAuthority spec.cluster.cidr`},
		{name: "two documents in one part, of which nodeadm reads the first, and equal keys, of which it takes the last",
			data: "---\n" + nodeConfigHead + exampleCluster + "  cluster: {name: other, cidr: 10.100.0.0/16}\n---\n" + nodeConfigHead + "  kubelet: {flags: [--max-pods=20]}\n", want: `
				fault: user data, line 12 (nodeconfig) has more than one YAML document, of which nodeadm reads the first [nodeadm is passed over]
				user data by nodeadm
				  cluster: other
				  missing: spec.cluster.apiServerEndpoint spec.cluster.certificateAuthority`},
		{name: "where nodeadm does not look",
			data: inMIME("text/plain", nodeConfigHead+exampleCluster, "text/cloud-config", "#cloud-config\nwrite_files:\n- path: /etc/eks/node.yaml\n  content: |\n    "+"apiVersion: node.eks.aws/v1alpha1\n"), want: `fault: part 1 (nodeconfig) stands where its reader does not look for it [nodeadm is passed over]`},
		{name: "a drop-in alone, which does not count as the user data's own, and a script that runs nodeadm",
			data: "#!/bin/bash\ncat > /etc/eks/nodeadm.d/x.yaml <<EOF\n" + nodeConfigHead + exampleCluster + "EOF\nnodeadm init\n", want: `
				nodeadm.d file 1 by nodeadm, cluster demo, its endpoint and CA
				  missing: spec.cluster.name spec.cluster.apiServerEndpoint spec.cluster.certificateAuthority spec.cluster.cidr
				edit: runs nodeadm, or changes what it runs with`},
		{name: "drop-ins that scripts write, after the user data, and only those it knows by their names",
			data: inMIME(node, nodeConfigHead+exampleCluster, shell, "#!/bin/bash\ncat > /etc/eks/nodeadm.d/20-labels.yaml <<EOF\n"+nodeConfigHead+"  kubelet:\n    flags: ['--node-labels=b=c']\nEOF\ncat > /etc/eks/nodeadm.d/10-pods.yaml <<EOF\n"+nodeConfigHead+"  kubelet:\n    config: {maxPods: 20}\n    flags: ['--node-labels=a=b,b=a']\nEOF\necho no > /etc/eks/nodeadm.d/readme.txt\n"), want: `
				part 1, nodeadm.d file 1, nodeadm.d file 2 by nodeadm, cluster demo, its endpoint and CA
				  flag node-labels=a=b,b=a
				  flag node-labels=b=c; given again
				  label a=b
				  label b=c`},
		{name: "flags that run into each other",
			data: nodeConfigHead + exampleCluster + "  kubelet:\n    flags:\n    - --node-labels=a=b --max-pods=20\n    - '--register-with-taints=\"karpenter.sh/unregistered:NoExecute'\n    - --node-ip=10.0.0.1\n", want: `
				user data by nodeadm, cluster demo, its endpoint and CA
				  flag node-labels=a=b
				  flag max-pods=20
				  flag register-with-taints=karpenter.sh/unregistered:NoExecute -; a quote is not closed; quotes within quotes
				  taint karpenter.sh/unregistered=: by --register-with-taints; has no effect, or one that does not exist
				  label a=b`},
		{name: "quotes that reach the kubelet, and a line break that cuts off the flags",
			data: nodeConfigHead + exampleCluster + "  kubelet:\n    flags:\n    - \"--register-with-taints='\\\"karpenter.sh/unregistered:NoExecute\\\"'\"\n    - '--node-labels=a=\\\\\"b\\\\\"'\n    - |\n      --max-pods=20\n    - --node-ip=10.0.0.1\n", want: `
				user data by nodeadm, cluster demo, its endpoint and CA
				  flag register-with-taints="karpenter.sh/unregistered:NoExecute"; quotes within quotes; quotes reach the kubelet
				  flag node-labels=a="b"; quotes reach the kubelet
				  flag max-pods=20
				  lost: a line break ends the assignment
				  taint karpenter.sh/unregistered=:NoExecute by --register-with-taints; has quotes in it
				  label =; is not <key>=<value>`},
		{name: "a line break at the very end", data: nodeConfigHead + exampleCluster + "  kubelet:\n    flags:\n    - |\n      --max-pods=20\n", want: `
				user data by nodeadm, cluster demo, its endpoint and CA
				  flag max-pods=20`},
		{name: "taints of the configuration that the kubelet refuses",
			data: nodeConfigHead + "  kubelet:\n    config:\n      registerWithTaints:\n      - {key: karpenter.sh/unregistered, effect: noexecute}\n      - {key: '\"quoted\"', effect: NoSchedule}\n      - {key: a, value: b}\n      - just text\n", want: `
				user data by nodeadm
				  taint karpenter.sh/unregistered=: by registerWithTaints; has no effect, or one that does not exist
				  taint =:NoSchedule by registerWithTaints; is not <key>=<value>:<effect>
				  taint a=b: by registerWithTaints; has no effect, or one that does not exist
				  taint =: by registerWithTaints; is not <key>=<value>:<effect>
				  missing: spec.cluster.name spec.cluster.apiServerEndpoint spec.cluster.certificateAuthority spec.cluster.cidr`},
		{name: "nodeadm init with two files, one of them computed",
			data: "#!/bin/bash\nif [ -f /etc/eks/join ]; then\nNAME=$(hostname)\ncat > /tmp/a.yaml <<'EOF'\n" + nodeConfigHead + exampleCluster + "EOF\ncat > /tmp/b.yaml <<EOF\n" + nodeConfigHead + "  cluster: {name: $NAME}\n  kubelet: {flags: [\"--node-labels=id=$(id)\"]}\nEOF\nnodeadm init -c file:///tmp/a.yaml --config-source=file:///tmp/b.yaml\nfi\n", want: `
				user data by nodeadm init, in a branch
				  cluster: (dynamic)
				  endpoint: https://EXAMPLE0123456789ABCDEF01234567.gr7.eu-west-1.eks.amazonaws.com
				  ca: given 69590970
				  flag node-labels (dynamic)`},
		{name: "taints of the last NodeConfig that has some",
			data: inMIME(node, nodeConfigHead+exampleCluster+"  kubelet: {config: {registerWithTaints: [{key: a, effect: NoSchedule}]}}\n", node, nodeConfigHead+"  kubelet: {config: {registerWithTaints: [{key: b, effect: NoSchedule}]}}\n", node, nodeConfigHead+"  kubelet: {config: {maxPods: 20}}\n"), want: `
				part 1, part 2, part 3 by nodeadm, cluster demo, its endpoint and CA
				  taint a=:NoSchedule by registerWithTaints; dropped
				  taint b=:NoSchedule by registerWithTaints`},
		{name: "JSON",
			data: `{"apiVersion":"node.eks.aws/v1alpha1","kind":"NodeConfig","spec":{"cluster":{"name":"demo","apiServerEndpoint":"` + apiServer + `","certificateAuthority":"` + exampleCA + `","cidr":"fd00::/108"}}}`, want: `user data by nodeadm, cluster demo, its endpoint and CA`},
	})
}
