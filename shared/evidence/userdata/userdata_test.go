package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func zip(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, w.Close())
	return b.String()
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

const nodeConfig = `---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpoint: https://EXAMPLE.gr7.eu-west-1.eks.amazonaws.com
    certificateAuthority: Y2VydGlmaWNhdGVBdXRob3JpdHk=
    cidr: 10.100.0.0/16
`

const eksctlCloudConfig = `#cloud-config
packages: null
runcmd:
- - /var/lib/cloud/scripts/eksctl/bootstrap.al2.sh
write_files:
- content: '{}'
  owner: root:root
  path: /etc/eksctl/kubelet-extra.json
  permissions: "0644"
- content: |-
    API_SERVER_URL=https://EXAMPLE.gr7.eu-west-1.eks.amazonaws.com
    B64_CLUSTER_CA=Y2VydGlmaWNhdGVBdXRob3JpdHk=
    NODE_LABELS=alpha.eksctl.io/cluster-name=demo,alpha.eksctl.io/nodegroup-name=ng-1
    CLUSTER_NAME=demo
  path: /etc/eksctl/kubelet.env
- content: |
    #!/bin/bash
    set -o errexit
    source /etc/eksctl/kubelet.env
    function get_metadata() {
      curl --silent "http://169.254.169.254/latest/meta-data/$1"
    }
    API_SERVER_URL="${API_SERVER_URL}"
    INSTANCE_ID="$(get_metadata instance-id)"
    NODE_LABELS="${NODE_LABELS},alpha.eksctl.io/instance-id=${INSTANCE_ID}"
    KUBELET_ARGS=("--node-labels=${NODE_LABELS}")
    KUBELET_EXTRA_ARGS="${KUBELET_ARGS[@]}"
    CLUSTER_NAME="${CLUSTER_NAME}"
  path: /var/lib/cloud/scripts/eksctl/bootstrap.helper.sh
- content: |
    #!/bin/bash
    source /var/lib/cloud/scripts/eksctl/bootstrap.helper.sh
    echo "eksctl: running /etc/eks/bootstrap"
    /etc/eks/bootstrap.sh "${CLUSTER_NAME}" \
      --apiserver-endpoint "${API_SERVER_URL}" \
      --b64-cluster-ca "${B64_CLUSTER_CA}" \
      --kubelet-extra-args "${KUBELET_EXTRA_ARGS}"
  path: /var/lib/cloud/scripts/eksctl/bootstrap.al2.sh
`

// found formats the forms of user data and the clusters in it: "mime shell: demo". The last word is
// "unclear" if it may be for others, too.
func found(b Boot) string {
	clusters := slices.Clone(b.Clusters)
	if b.Unclear {
		clusters = append(clusters, "unclear")
	}
	forms := roll.Map(b.Formats, func(f Format) string { return string(f) })
	return strings.Join(forms, " ") + ": " + strings.Join(clusters, " ")
}

// userDataCases want what found formats.
func userDataCases(t testing.TB) []bootCase {
	return []bootCase{
		{name: "nothing", want: ": "},
		{name: "white space", data: " \n\t\n", want: ": "},

		// Amazon Linux 2
		{name: "bootstrap.sh", data: "#!/bin/bash\nset -o xtrace\n/etc/eks/bootstrap.sh demo\n", want: "shell: demo"},
		{name: "sh, flags after the name over several lines", data: "#!/bin/sh\n/etc/eks/bootstrap.sh demo \\\n  --b64-cluster-ca Y2E= \\\n  --apiserver-endpoint https://x \\\n  --kubelet-extra-args '--node-labels=a=b --max-pods=110' --use-max-pods false\n", want: "shell: demo"},
		{name: "env bash, flags before the name", data: "#!/usr/bin/env bash\n/etc/eks/bootstrap.sh --use-max-pods 'false' --dns-cluster-ip 10.100.0.10 --container-runtime containerd --kubelet-extra-args \"--node-labels=team=a\" 'demo'\n", want: "shell: demo"},
		{name: "the name in a variable", data: "#!/bin/bash\nexport CLUSTER_NAME=\"demo\"\nB64=$(cat /etc/ca)\n/etc/eks/bootstrap.sh --b64-cluster-ca $B64 \"${CLUSTER_NAME}\"\n", want: "shell: demo"},
		{name: "the name put together, with a default", data: "#!/bin/bash\nenv=prod; C=${C:-demo}-$env\n/etc/eks/bootstrap.sh $C\n", want: "shell: demo-prod"},
		{name: "in an if, after a condition", data: "#!/bin/bash\nif [[ -f /etc/eks/bootstrap.sh ]]; then\n  NAME=demo\n  sudo -E bash -x /etc/eks/bootstrap.sh $NAME || exit 1\nfi\n", want: "shell: demo"},
		{name: "in a function that is retried", data: "#!/bin/bash\nretry() { local n=$1; shift; until \"$@\"; do sleep 5; done; }\njoin() { /etc/eks/bootstrap.sh \"$1\"; }\nretry 5 join demo\n", want: "shell: demo"},
		{name: "the script's own arguments", data: "#!/bin/bash\nset -- demo --use-max-pods false\n/etc/eks/bootstrap.sh \"$@\"\n", want: "shell: demo"},
		{name: "in a file that is written in two pieces", data: "#cloud-config\nwrite_files:\n- {path: /join, content: 'NAME=demo; '}\n- {path: /join, append: Yes, content: /etc/eks/bootstrap.sh $NAME}\nruncmd: [bash /join]\n", want: "cloud-config: demo"},
		{name: "in the last version of a file", data: "#cloud-config\nwrite_files:\n- {path: /join, content: /etc/eks/bootstrap.sh other; }\n- {path: /join, content: /etc/eks/bootstrap.sh demo}\nruncmd: [bash /join]\n", want: "cloud-config: demo"},
		{name: "in a file that echo writes piece by piece", data: "#!/bin/bash\necho -n set -- > /join\necho ' demo' >> /join\necho '/etc/eks/bootstrap.sh $1' >> /join\nsh /join\n", want: "shell: demo"},
		{name: "in a cloud-config whose first word has other letters", data: "#Cloud-Config\nruncmd: [/etc/eks/bootstrap.sh demo]\n", want: "cloud-config: demo"},
		{name: "in an archive, whose documents are cloud-configs unless they say otherwise", data: "#cloud-config-archive\n- content: |\n    runcmd: [/etc/eks/bootstrap.sh demo]\n- |\n  #!/bin/sh\n  date\n", want: "cloud-config-archive cloud-config shell: demo"},
		{name: "in a file that is copied", data: "#!/bin/bash\necho /etc/eks/bootstrap.sh demo > /join\ncp -p /join /opt/\nbash /opt/join\n", want: "shell: demo"},
		{name: "in a file that is moved and installed", data: "#!/bin/bash\necho /etc/eks/bootstrap.sh demo > /join\nmv /join /new\ninstall -D -m 755 /new /opt/join\nbash /opt/join\nbash /join\n", want: "shell: demo"},
		{name: "in a file that was emptied", data: "#!/bin/bash\necho /etc/eks/bootstrap.sh other > /join\n: > /join\ncat /dev/null > /join\necho /etc/eks/bootstrap.sh demo >> /join\nbash /join\n", want: "shell: demo"},
		{name: "in a NodeConfig that a script writes for nodeadm", data: "#!/bin/bash\nURL=$(aws eks describe-cluster --name demo --query cluster.endpoint)\ncat > /etc/eks/nodeadm.d/x.yaml <<EOF\n" + strings.Replace(nodeConfig, "https://EXAMPLE", "$URL", 1) + "EOF\n", want: "shell: demo"},
		{name: "in one whose cluster is computed", data: "#!/bin/bash\ncat > /etc/eks/nodeadm.d/x.yaml <<EOF\n" + strings.Replace(nodeConfig, "demo", "$(cat /opt/cluster)", 1) + "EOF\n", want: "shell: unclear"},
		{name: "in one that write_files writes", data: "#cloud-config\nwrite_files: [{path: /etc/eks/nodeadm.d/x.yml, encoding: b64, content: " + b64(nodeConfig) + "}]\n", want: "cloud-config: demo"},
		{name: "in a NodeConfig that is copied", data: "#!/bin/bash\ncat > /node.yaml <<'EOF'\n" + nodeConfig + "EOF\ncp /node.yaml /etc/eks/nodeadm.d\n", want: "shell: demo"},
		{name: "by the options of cp and install", data: "#!/bin/bash\ncat > /node.yaml <<'EOF'\n" + nodeConfig + "EOF\ncp -t /stage /node.yaml\ninstall -m 600 --target-directory=/etc/eks/nodeadm.d /stage/node.yaml\n", want: "shell: demo"},
		{name: "with a nodeadm that was fetched and moved, and another name of the shell", data: "#!/bin/bash\nmv /tmp/nodeadm /usr/bin/nodeadm\nln -sf /usr/bin/bash /bin/sh\ncat > /node.yaml <<'EOF'\n" + nodeConfig + "EOF\necho /usr/bin/nodeadm init -c file:///node.yaml > /join\n/bin/sh /join\n", want: "shell: demo"},
		{name: "in a file to which tee appends", data: "#!/bin/bash\necho NAME=demo | tee /join\necho '/etc/eks/bootstrap.sh $NAME' | tee -a /join\nsh /join\n", want: "shell: demo"},
		{name: "after ends that depend", data: "#!/bin/bash\ntest -f /done && exit 0\nif test -d /old; then exit 1; fi\n/etc/eks/bootstrap.sh demo\n", want: "shell: demo"},
		{name: "in a script that the script writes", data: "#!/bin/bash\nCLUSTER=demo\ncat <<EOF | sudo tee /root/join.sh >/dev/null\n#!/bin/bash\n/etc/eks/bootstrap.sh $CLUSTER\nEOF\nchmod +x /root/join.sh\n/root/join.sh\n", want: "shell: demo"},
		{name: "its output is kept", data: "#!/bin/bash\nexec > >(tee /var/log/user-data.log | logger -t user-data -s 2>/dev/console) 2>&1\nif ! OUT=$(/etc/eks/bootstrap.sh demo 2>&1); then echo \"$OUT\"; fi\n", want: "shell: demo"},
		{name: "carriage returns", data: "#!/bin/bash\r\nset -ex\r\n/etc/eks/bootstrap.sh demo\r\n", want: "shell: demo"},
		{name: "indented by the template that made it", data: "\n    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\n", want: "shell: demo"},
		{name: "a flag joined to its value, which bootstrap.sh takes for the name", data: "#!/bin/bash\n/etc/eks/bootstrap.sh --kubelet-extra-args='--max-pods=20' demo\n", want: "shell: demo"},
		{name: "two clusters", data: "#!/bin/bash\ncase $(hostname) in a*) /etc/eks/bootstrap.sh one;; *) /etc/eks/bootstrap.sh two;; esac\n", want: "shell: one two"},
		{name: "in every branch, behind a timer and a background job", data: "#!/bin/bash\nif test -f /a; then time /etc/eks/bootstrap.sh one; elif test -f /b; then (/etc/eks/bootstrap.sh two) & else for i in 1 2; do /etc/eks/bootstrap.sh three && break; done; fi\n", want: "shell: one two three"},
		{name: "a variable with more put behind it", data: "#!/bin/bash\nC=demo\nC+=-a\n/etc/eks/bootstrap.sh $C\n", want: "shell: unclear"},
		{name: "cloud-boothook", data: "#cloud-boothook\n#!/bin/bash\ncloud-init-per once join /etc/eks/bootstrap.sh demo\n", want: "shell: demo"},
		{name: "what stands before a syntax error runs", data: "#!/bin/bash\n/etc/eks/bootstrap.sh demo\nif then fi (\n", want: "shell: demo unclear"},
		{name: "a name that only the instance knows", data: "#!/bin/bash\nCLUSTER=$(aws ec2 describe-tags --query 'Tags[0].Value' --output text)\n/etc/eks/bootstrap.sh \"$CLUSTER\"\n", want: "shell: unclear"},
		{name: "a name that differs between branches", data: "#!/bin/bash\nC=one\nif test -f /prod; then C=two; fi\n/etc/eks/bootstrap.sh $C\n", want: "shell: unclear"},
		{name: "a template that was not rendered", data: "#!/bin/bash\n/etc/eks/bootstrap.sh <cluster-name>\n/etc/eks/bootstrap.sh {{ cluster }}\n", want: "shell: unclear"},
		{name: "an option that bootstrap.sh does not have", data: "#!/bin/bash\n/etc/eks/bootstrap.sh --join-token s3cr3t demo\n", want: "shell: unclear"},
		{name: "a flag without its quotes", data: "#!/bin/bash\n/etc/eks/bootstrap.sh --kubelet-extra-args --max-pods 20 demo\n", want: "shell: unclear"},
		{name: "no name", data: "#!/bin/bash\n/etc/eks/bootstrap.sh --use-max-pods true\n", want: "shell: unclear"},

		// Text that only mentions a cluster
		{name: "in a comment", data: "#!/bin/bash\n# /etc/eks/bootstrap.sh demo\ntrue\n", want: "shell: "},
		{name: "in an echo", data: "#!/bin/bash\necho \"run /etc/eks/bootstrap.sh demo\" > /etc/motd\necho /etc/eks/bootstrap.sh demo\n", want: "shell: "},
		{name: "in a file that is not run", data: "#!/bin/bash\ncat > /root/README <<'EOF'\n/etc/eks/bootstrap.sh demo\nEOF\n", want: "shell: "},
		{name: "switched off", data: "#!/bin/bash\nif false; then /etc/eks/bootstrap.sh demo; fi\nfalse && /etc/eks/bootstrap.sh demo\n", want: "shell: "},
		{name: "after the end", data: "#!/bin/bash\nexit 0\n/etc/eks/bootstrap.sh demo\n", want: "shell: "},
		{name: "after the end of a function in a branch", data: "#!/bin/bash\nf() { return; /etc/eks/bootstrap.sh demo; }\nif test -f /a; then f; fi\n", want: "shell: "},
		{name: "a function that is not called", data: "#!/bin/bash\njoin() { /etc/eks/bootstrap.sh demo; }\n", want: "shell: "},
		{name: "help", data: "#!/bin/bash\n/etc/eks/bootstrap.sh --help demo\n", want: "shell: "},
		{name: "an edit of bootstrap.sh", data: "#!/bin/bash\nsed -i 's/demo/x/' /etc/eks/bootstrap.sh demo\ncommand -v /etc/eks/bootstrap.sh demo\n", want: "shell: "},
		{name: "a bastion", data: "#!/bin/bash\nyum install -y kubectl\naws eks update-kubeconfig --name demo --region eu-west-1\necho 'export CLUSTER_NAME=demo' >> /etc/profile\n", want: "shell: "},
		{name: "a bastion by cloud-config", data: "#cloud-config\npackages: [jq]\nruncmd:\n  - aws eks update-kubeconfig --name demo\n  - [aws, eks, describe-cluster, --name, demo]\n", want: "cloud-config: "},
		{name: "a NAT instance", data: "#!/bin/bash\necho 1 > /proc/sys/net/ipv4/ip_forward\niptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE\naws ec2 create-tags --tags Key=kubernetes.io/cluster/demo,Value=owned\n", want: "shell: "},
		{name: "kops", data: "#!/bin/bash\nset -o nounset\nNODEUP_URL_AMD64=https://artifacts.k8s.io/binaries/kops/1.30.0/linux/amd64/nodeup\ncat > conf/kube_env.yaml << '__EOF_KUBE_ENV'\nCloudProvider: aws\nClusterName: demo\nInstanceGroupName: nodes\n__EOF_KUBE_ENV\ndownload-release\n", want: "shell: "},
		{name: "kubeadm", data: "#cloud-config\nwrite_files:\n- path: /run/kubeadm/kubeadm.yaml\n  content: |\n    apiVersion: kubeadm.k8s.io/v1beta3\n    kind: JoinConfiguration\n    clusterName: demo\nruncmd:\n- kubeadm join --config /run/kubeadm/kubeadm.yaml demo\n", want: "cloud-config: "},
		{name: "ECS", data: "#!/bin/bash\necho ECS_CLUSTER=demo >> /etc/ecs/ecs.config\n", want: "shell: "},
		{name: "Python", data: "#!/usr/bin/env python3\nimport os\nos.system('/etc/eks/bootstrap.sh demo')\n", want: "shell: unclear"},
		{name: "text of no form", data: "demo\n", want: "unknown: unclear"},
		{name: "include", data: "#include\nhttps://example.com/bootstrap.sh\n", want: "include: unclear"},

		// MIME
		{name: "Karpenter on Amazon Linux 2", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/bash\necho custom\n\n--//\n" +
			"Content-Type: text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n" +
			"/etc/eks/bootstrap.sh 'demo' --apiserver-endpoint 'https://x' --b64-cluster-ca 'Y2E=' \\\n--dns-cluster-ip '10.100.0.10' \\\n--use-max-pods false \\\n--kubelet-extra-args '--node-labels=\"karpenter.sh/nodepool=default\" --register-with-taints=\"karpenter.sh/unregistered:NoExecute\"'\n--//--\n", want: "mime shell: demo"},
		{name: "Karpenter on Amazon Linux 2023", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: application/node.eks.aws\n\n# Karpenter Generated NodeConfig\n" + nodeConfig + "\n--//--", want: "mime nodeconfig: demo"},
		{name: "the last NodeConfig that names a cluster counts, as nodeadm merges them", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: application/node.eks.aws\n\n" + strings.Replace(nodeConfig, "demo", "old", 1) + "\n--B\nContent-Type: application/node.eks.aws\n\n" + nodeConfig + "\n--B\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 20}}}\n--B--\n", want: "mime nodeconfig: demo"},
		{name: "a compressed part in base64, CRLF throughout", data: "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"==B==\"\r\n\r\n--==B==\r\nContent-Type: application/node.eks.aws\r\nContent-Transfer-Encoding: base64\r\n\r\n" + b64(zip(t, nodeConfig)) + "\r\n--==B==--\r\n", want: "mime nodeconfig: demo"},
		{name: "cloud-config writes what a later shell part runs, in a nested multipart", data: "Content-Type: multipart/mixed; boundary=out\nMIME-Version: 1.0\n\n--out\nContent-Type: multipart/mixed; boundary=in\n\n--in\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n. /etc/join.env\n/etc/eks/bootstrap.sh $NAME\n--in--\n--out\nContent-Type: text/cloud-config\n\n#cloud-config\nwrite_files: [{path: /etc/join.env, content: NAME=demo}]\n--out--\n", want: "mime shell cloud-config: demo"},
		{name: "no closing boundary", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=//\n\n--//\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n/etc/eks/bootstrap.sh demo\n", want: "mime shell: demo unclear"},
		{name: "no boundary", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\n--//\n\nx\n", want: "mime: unclear"},
		{name: "a boundary that never comes", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=A\n\n--B\n\nx\n--B--\n", want: "mime: unclear"},
		{name: "a part that is not base64", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n***\n--B--\n", want: "mime: unclear"},

		// Amazon Linux 2023
		{name: "NodeConfig", data: nodeConfig, want: "nodeconfig: demo"},
		{name: "NodeConfig as JSON", data: `{"apiVersion":"node.eks.aws/v1alpha1","kind":"NodeConfig","spec":{"cluster":{"name":"Demo_1"}}}`, want: "nodeconfig: Demo_1"},
		{name: "NodeConfig as one of several documents, its name a number", data: "# node.eks.aws/v1alpha1\nkind: ConfigMap\n---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluster: {name: 42}}\n", want: "nodeconfig: 42"},
		{name: "NodeConfig without a cluster", data: "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {}}\n", want: "nodeconfig: "},
		{name: "another kind that names a cluster", data: "apiVersion: node.eks.aws/v1alpha1\nkind: ClusterConfig\nspec: {cluster: {name: demo}}\n", want: "nodeconfig: "},
		{name: "NodeConfig that does not parse", data: "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n\tcluster: {name: demo}\n", want: "nodeconfig: unclear"},
		{name: "NodeConfig with a name that EKS refuses", data: strings.Replace(nodeConfig, "demo", "'demo cluster'", 1), want: "nodeconfig: unclear"},
		{name: "nodeadm init with a here-document", data: "#!/bin/bash\nNAME=demo\nCA=$(aws eks describe-cluster --name other --query cluster.certificateAuthority.data)\ncat > /tmp/node.yaml <<-EOF\n\t" + strings.ReplaceAll(strings.NewReplacer("demo", "${NAME}", "Y2VydGlmaWNhdGVBdXRob3JpdHk=", "${CA}").Replace(nodeConfig), "\n", "\n\t") + "\n\tEOF\nnodeadm init --config-source file:///tmp/node.yaml\n", want: "shell: demo"},
		{name: "nodeadm that only checks a file", data: "#!/bin/bash\ncat > /x.yaml <<EOF\n" + nodeConfig + "EOF\nnodeadm config check -c file:///x.yaml\n", want: "shell: "},
		{name: "nodeadm init with a file from the AMI", data: "#!/bin/bash\n/usr/bin/nodeadm init -c=file:///etc/eks/node.yaml\n", want: "shell: unclear"},

		// Bottlerocket
		{name: "Bottlerocket", data: "[settings]\n[settings.kubernetes]\napi-server = 'https://x'\ncluster-certificate = 'Y2E='\ncluster-name = 'demo'\n[settings.kubernetes.node-labels]\n'karpenter.sh/nodepool' = 'default'\n", want: "bottlerocket: demo"},
		{name: "Bottlerocket with dotted keys", data: "settings.kubernetes.cluster-name = \"demo\"\n", want: "bottlerocket: demo"},
		{name: "Bottlerocket that joins no cluster", data: "[settings.kubernetes]\nstandalone-mode = true\ncluster-name = \"demo\"\n", want: "bottlerocket: "},
		{name: "Bottlerocket for ECS", data: "[settings.ecs]\ncluster = \"demo\"\n", want: "bottlerocket: "},
		{name: "Bottlerocket that does not parse", data: "[settings.kubernetes]\ncluster-name = demo\n", want: "bottlerocket: unclear"},
		{name: "Bottlerocket whose settings are no table", data: "[settings]\nkubernetes = 'demo'\n", want: "bottlerocket: unclear"},
		{name: "a drop-in for nodeadm that does not parse", data: "#!/bin/bash\necho '[' > /etc/eks/nodeadm.d/x.yaml\n", want: "shell: unclear"},

		// Windows
		{name: "Windows", data: "<powershell>\n[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n& $EKSBootstrapScriptFile -EKSClusterName \"demo\" -KubeletExtraArgs \"--node-labels=a=b\" 3>&1 4>&1 5>&1 6>&1\n</powershell>\n<persist>true</persist>\n", want: "powershell: demo"},
		{name: "Windows by Terraform, over several lines, any case", data: "<powershell>\n<# joins\n#>\n[string]$EKSBinDir = \"$env:ProgramFiles\\Amazon\\EKS\"\n[string]$EKSBootstrapScriptName = 'Start-EKSBootstrap.ps1'\n[string]$EKSBootstrapScriptFile = \"$EKSBinDir\\$EKSBootstrapScriptName\"\n& $EKSBootstrapScriptFile -APIServerEndpoint (Get-Endpoint -Name other) `\n  -eksclustername:demo -Base64ClusterCA Y2E= 3>&1\n$LastError = if ($?) { 0 } else { $Error[0].Exception.HResult }\n</powershell>\n", want: "powershell: demo"},
		{name: "EC2Launch v2 tasks", data: "version: 1.0\ntasks:\n- task: executeScript\n  inputs:\n  - frequency: once\n    type: powershell\n    runAs: admin\n    content: |-\n      $name = 'demo'\n      & \"C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSClusterName $name\n", want: "powershell: demo"},
		{name: "Windows that only mentions it", data: "<powershell>\n# & Start-EKSBootstrap.ps1 -EKSClusterName demo\nWrite-Host \"Start-EKSBootstrap.ps1 -EKSClusterName demo\"\n'Start-EKSBootstrap.ps1'\n$text = @'\nStart-EKSBootstrap.ps1 -EKSClusterName demo\n'@\naws eks update-kubeconfig --name demo\n</powershell>\n", want: "powershell: "},
		{name: "Windows with a name that only the instance knows", data: "<powershell>\n$name = (Get-EC2Tag | Select -First 1).Value\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' -EKSClusterName $name\n</powershell>\n", want: "powershell: unclear"},

		// cloud-config
		{name: "runcmd with a string and a variable", data: "#cloud-config\nruncmd:\n  - CLUSTER=demo\n  - /etc/eks/bootstrap.sh $CLUSTER --use-max-pods false\n", want: "cloud-config: demo"},
		{name: "bootcmd with a list", data: "#cloud-config\nbootcmd:\n  - [cloud-init-per, once, join, /etc/eks/bootstrap.sh, demo, --kubelet-extra-args, \"--node-labels=it's\"]\n", want: "cloud-config: demo"},
		{name: "write_files in base64, run by name", data: "## template: jinja\n#cloud-config\nwrite_files:\n- path: /opt/join.sh\n  encoding: b64\n  content: " + b64("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n") + "\nruncmd:\n- [bash, /opt/join.sh]\n", want: "cloud-config: demo"},
		{name: "write_files into a directory that cloud-init runs", data: "#cloud-config\nwrite_files:\n- path: /var/lib/cloud/scripts/per-instance/join.sh\n  encoding: gz+b64\n  content: " + b64(zip(t, "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n")) + "\n", want: "cloud-config: demo"},
		{name: "write_files that nothing runs", data: "#cloud-config\nwrite_files:\n- {path: /root/notes.sh, content: /etc/eks/bootstrap.sh demo}\n", want: "cloud-config: "},
		{name: "eksctl", data: eksctlCloudConfig, want: "cloud-config: demo"},
		{name: "cloud-config-archive", data: "#cloud-config-archive\n- type: text/x-shellscript\n  content: |\n    #!/bin/sh\n    /etc/eks/bootstrap.sh demo\n- |\n  #cloud-config\n  packages: [jq]\n", want: "cloud-config-archive shell cloud-config: demo"},
		{name: "cloud-config that does not parse", data: "#cloud-config\nruncmd: [unclosed\n", want: "cloud-config: unclear"},

		// Encodings
		{name: "gzip", data: zip(t, eksctlCloudConfig), want: "cloud-config: demo"},
		{name: "still in base64", data: b64(zip(t, nodeConfig)) + "\n", want: "nodeconfig: demo"},
		{name: "a byte order mark", data: "\ufeff#!/bin/bash\n/etc/eks/bootstrap.sh demo\n", want: "shell: demo"},
		{name: "gzip that is cut off", data: zip(t, nodeConfig)[:60], want: ": unclear"},
	}
}

func TestClusters(t *testing.T) {
	for _, tt := range userDataCases(t) {
		t.Run(tt.name, func(t *testing.T) {
			expect.Equal(t, found(Read([]byte(tt.data))), tt.want, "forms and clusters")
		})
	}
}

func TestForIsCaseSensitive(t *testing.T) {
	r := Read([]byte(nodeConfig))
	expect.That(t, r.For("demo") && !r.For("Demo") && !r.For("") && !(Boot{}).For(""), "For must match exactly the names found")
}

// Input that would exhaust memory, time or the stack becomes a problem instead.
func TestHostileInputIsBounded(t *testing.T) {
	tests := []struct {
		name, data string
		why        Reason
	}{
		{"decompression bomb", zip(t, strings.Repeat("a", 64<<20)), TooLarge},
		{"bombs in parts share one bound", "#cloud-config\nwrite_files:\n" + strings.Repeat("- {path: /a, encoding: gz+b64, content: "+b64(zip(t, strings.Repeat(" ", 600<<10)))+"}\n", 2), TooLarge},
		{"base64 in base64", func() string {
			s := "#!/bin/sh\n"
			for range maxDepth + 1 {
				s = b64(s)
			}
			return s
		}(), TooDeep},
		{"subshells", "#!/bin/sh\n" + strings.Repeat("(", 60<<10), TooLarge},
		{"a long script", "#!/bin/sh\n" + strings.Repeat("true\n", 20<<10), TooLarge},
		{"inline tables", "settings.a=" + strings.Repeat("{a=", 20<<10), TooLarge},
		{"flow sequences", "kind: NodeConfig\napiVersion: node.eks.aws/v1alpha1\nx: " + strings.Repeat("[", 200<<10), Unparseable},
		{"recursion", "#!/bin/sh\nf() { f; f; f; }\nf\n", TooComplex},
		{"a script that runs itself", "#!/bin/sh\ncat > /a <<'E'\n. /a\n. /a\nE\n. /a\n", TooDeep},
		{"variables that double", "#!/bin/bash\nA=0123456789\nB=$A$A$A$A$A$A\nC=$B$B$B$B$B$B\nX=$C$C$C$C$C$C\n" + strings.Repeat("X1=$X1$X1\n", 3000) + strings.Repeat("echo $X$X$X$X > /f; cat /f /f /f > /g; cat /g /g > /f\n", 500), TooComplex},
		{"an alias that repeats", "#cloud-config\na: &a [" + strings.Repeat("aaaaaaaa, ", 10000) + "]\nruncmd: [" + strings.Repeat("*a, ", 20000) + "]\n", TooLarge},
		{"wrappers of wrappers", "#!/bin/sh\n" + strings.Repeat("sudo ", 12000) + "x\n", TooComplex},
		{"a text that runs itself", "<powershell>\n$x='iex $x; start-eksbootstrap'\niex $x\n", TooDeep},
		{"a PowerShell variable that doubles", "<powershell>\n$x='0123456789'\n" + strings.Repeat("$x=\"$x$x\"\n$y=\"$x$x$x$x\"\n", 2500), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader().read([]byte(tt.data))
			expect.That(t, len(r.Clusters) == 0, "clusters %q", r.Clusters)
			found := tt.why == "" || slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Reason == tt.why })
			expect.That(t, found, "want %q, got %v", tt.why, r.Faults)
		})
	}
}

// The limit is loose, since the machines that run tests are busy. A cost that grew with the square of the length would
// far exceed it, and a check reads the user data of 50 instances.
func TestCostIsBounded(t *testing.T) {
	for begin, again := range map[string]string{
		"": "${a", " ": "<# a ", "\n": "@\"\n@'\n\n'@", "$x=\"": "$($a", "$y=\"": "${ $a", "$z = ": "while :; do eval ${a:-",
	} {
		text := "<powershell>\n" + begin + strings.Repeat(again, maxScript/2/len(again)) + "\""
		start := time.Now()
		Read([]byte(text))
		took := time.Since(start)
		expect.That(t, took <= 2*time.Second, "%q and %d bytes of %q took %s", begin, len(text), again, took)
	}
}

func TestDecode(t *testing.T) {
	tests := []struct{ name, in, want, err string }{
		{name: "nothing"},
		{name: "one line", in: b64("#!/bin/sh\n"), want: "#!/bin/sh\n"},
		{name: "broken lines", in: "IyEvYmlu\r\nL3NoCg==\n", want: "#!/bin/sh\n"},
		{name: "as much as EC2 keeps", in: b64(strings.Repeat("a", MaxRaw)), want: strings.Repeat("a", MaxRaw)},
		{name: "one byte more", in: b64(strings.Repeat("a", MaxRaw+1)), err: "user data is larger than the 16384 bytes that EC2 keeps"},
		{name: "much more", in: strings.Repeat("a", 1<<20), err: "user data is larger than the 16384 bytes that EC2 keeps"},
		{name: "not base64", in: "password=hunter2", err: "user data is not valid base64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode(tt.in)
			text := ""
			if err != nil {
				text = err.Error()
			}
			expect.That(t, string(got) == tt.want && text == tt.err, "got %d bytes, error %q; want %d bytes, error %q", len(got), text, len(tt.want), tt.err)
		})
	}
}

func TestDecodeLeavesCompressionAndMoreBase64ToTheReaders(t *testing.T) {
	for name, tt := range map[string]struct {
		in    string
		twice bool
	}{
		"gzip":                     {in: b64(zip(t, nodeConfig))},
		"base64 of base64":         {in: b64(b64(nodeConfig)), twice: true},
		"base64 of base64 of gzip": {in: b64(b64(zip(t, nodeConfig))), twice: true},
	} {
		data, err := Decode(tt.in)
		must.That(t, err == nil, "%s: %v", name, err)
		b := Read(data)
		expect.That(t, b.EncodedTwice == tt.twice && b.Uses(Nodeadm), "%s: got %+v", name, b)
	}
}
