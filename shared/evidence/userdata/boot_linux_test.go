package userdata

import (
	"testing"

	"rollcall/tests/harness/expect"
)

const (
	exampleCA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClkyRT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
	apiServer = "https://EXAMPLE0123456789ABCDEF01234567.gr7.eu-west-1.eks.amazonaws.com"
)

// Amazon Linux 2 and Ubuntu: bootstrap.sh.
func TestBootOfBootstrapScript(t *testing.T) {
	call := "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args "
	checkBoots(t, []bootCase{
		{
			name: "Karpenter on Amazon Linux 2 (EC2NodeClass, AL2 family)",
			data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/bash -xe\n" +
				"exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n" +
				"/etc/eks/bootstrap.sh 'demo' --apiserver-endpoint '" + apiServer + "' --b64-cluster-ca '" + exampleCA + "' \\\n--ip-family ipv6 \\\n--dns-cluster-ip 'fd30:1c53:5f8a::a' \\\n--use-max-pods false \\\n" +
				"--kubelet-extra-args '--node-labels=\"karpenter.sh/capacity-type=spot,karpenter.sh/nodepool=default\" --register-with-taints=\"karpenter.sh/unregistered:NoExecute\" --max-pods=29 --eviction-hard=\"memory.available<5%,nodefs.available<10%\"'\n--//--\n",
			want: `
				part 1 by bootstrap.sh, cluster demo, its endpoint and CA
				  flag node-labels=karpenter.sh/capacity-type=spot,karpenter.sh/nodepool=default; quotes within quotes
				  flag register-with-taints=karpenter.sh/unregistered:NoExecute; quotes within quotes
				  flag max-pods=29
				  flag eviction-hard=memory.available<5%,nodefs.available<10%; quotes within quotes
				  taint karpenter.sh/unregistered=:NoExecute by --register-with-taints
				  label karpenter.sh/capacity-type=spot
				  label karpenter.sh/nodepool=default`,
		},
		{
			name: "terraform-aws-eks with a custom AMI and the arguments of EKS",
			data: "#!/bin/bash\nset -ex\nB64_CLUSTER_CA=" + exampleCA + "\nAPI_SERVER_URL=" + apiServer + "\nK8S_CLUSTER_DNS_IP=172.20.0.10\n" +
				"/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=eks.amazonaws.com/nodegroup-image=ami-0123456789abcdef0,eks.amazonaws.com/capacityType=ON_DEMAND,eks.amazonaws.com/nodegroup=ng --max-pods=17' --b64-cluster-ca $B64_CLUSTER_CA --apiserver-endpoint $API_SERVER_URL --dns-cluster-ip $K8S_CLUSTER_DNS_IP --use-max-pods false\n",
			want: `
				user data by bootstrap.sh, cluster demo, its endpoint and CA
				  flag node-labels=eks.amazonaws.com/nodegroup-image=ami-0123456789abcdef0,eks.amazonaws.com/capacityType=ON_DEMAND,eks.amazonaws.com/nodegroup=ng
				  flag max-pods=17
				  label eks.amazonaws.com/nodegroup-image=ami-0123456789abcdef0
				  label eks.amazonaws.com/capacityType=ON_DEMAND
				  label eks.amazonaws.com/nodegroup=ng`,
		},
		{name: "Ubuntu, in its environment",
			data: "#cloud-config\nruncmd:\n- export KUBELET_EXTRA_ARGS='--node-labels=a=b' CONTAINER_RUNTIME=containerd\n- B64_CLUSTER_CA=" + exampleCA + " APISERVER_ENDPOINT=" + apiServer + " /etc/eks/bootstrap.sh demo\n", want: `
				runcmd in user data by bootstrap.sh, cluster demo, its endpoint and CA
				  flag node-labels=a=b
				  label a=b`},
		{name: "startup taint in single quotes within double quotes",
			data: call + "\"--node-labels='karpenter.sh/nodepool=default' --register-with-taints='karpenter.sh/unregistered:NoExecute'\"\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag node-labels=karpenter.sh/nodepool=default; quotes within quotes
				  flag register-with-taints=karpenter.sh/unregistered:NoExecute; quotes within quotes
				  lost: systemd 219 ignores the assignment
				  taint karpenter.sh/unregistered=:NoExecute by --register-with-taints
				  label karpenter.sh/nodepool=default`},
		{name: "startup taint in both kinds of quotes, within escaped ones",
			data: call + "\"--node-labels=a=b --register-with-taints=\\\"'karpenter.sh/unregistered:NoExecute'\\\"\"\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag node-labels=a=b
				  flag register-with-taints=karpenter.sh/unregistered:NoExecute; quotes within quotes
				  lost: systemd 219 ignores the assignment
				  taint karpenter.sh/unregistered=:NoExecute by --register-with-taints
				  label a=b`},
		{name: "double quotes that escapes keep until the kubelet",
			data: call + `'--register-with-taints=\\"karpenter.sh/unregistered:NoExecute\\" --node-labels=\\"a=b\\"'` + "\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag register-with-taints="karpenter.sh/unregistered:NoExecute"; quotes within quotes; quotes reach the kubelet
				  flag node-labels="a=b"; quotes within quotes; quotes reach the kubelet
				  taint karpenter.sh/unregistered=:NoExecute by --register-with-taints; has quotes in it
				  label =; is not <key>=<value>`},
		{name: "a quote that is never closed takes in the rest", data: call + `'--node-labels="a=b --register-with-taints=k=v:NoSchedule --max-pods=20'` + "\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag node-labels=a=b -; a quote is not closed; quotes within quotes
				  label =; is not <key>=<value>`},
		{name: "a line break within the quotes", data: call + "'--node-labels=a=b\n  --register-with-taints=karpenter.sh/unregistered:NoExecute'\n", want: `
				user data by bootstrap.sh, cluster demo
				  lost: a line break ends the assignment`},
		{name: "a line break after a backslash", data: call + "'--node-labels=a=b \\\n  --max-pods=20'\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag node-labels=a=b
				  flag max-pods=20
				  label a=b`},
		{name: "the taint given twice, and once with another effect",
			data: call + "'--register-with-taints=karpenter.sh/unregistered:NoExecute --register-with-taints=team=a:NoSchedule,team=b:NoSchedule,x:Never,y=z,gone:NoSchedule-'\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag register-with-taints=karpenter.sh/unregistered:NoExecute
				  flag register-with-taints=team=a:NoSchedule,team=b:NoSchedule,x:Never,y=z,gone:NoSchedule-; given again
				  taint karpenter.sh/unregistered=:NoExecute by --register-with-taints; dropped
				  taint team=a:NoSchedule by --register-with-taints
				  taint team=b:NoSchedule by --register-with-taints; is given twice with the same key and effect
				  taint x=: by --register-with-taints; has no effect, or one that does not exist
				  taint y=z: by --register-with-taints; has no effect, or one that does not exist
				  taint gone=:NoSchedule by --register-with-taints; dropped`},
		{name: "what the kubelet does not take for flags",
			data: call + "'\u2013-node-labels=a=b -max-pods=5 stray --=x --node-labels --register-node --no-such-flag=1 --container-runtime remote --v 2 --config'\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag ; a typographic dash or quote; a word that belongs to no flag
				  flag max-pods=5; one dash
				  flag ; a word that belongs to no flag
				  flag  (not kept); no name
				  flag node-labels=--register-node; the next flag is taken for its value
				  flag no-such-flag (not kept); no flag of the kubelet
				  flag container-runtime=remote; gone by 1.27
				  flag v=2
				  flag config; no value
				  label =; is not <key>=<value>`},
		{name: "labels that a kubelet may not set, or that are none",
			data: call + "--node-labels=node-role.kubernetes.io/worker=,node.kubernetes.io/lifecycle=spot,k8s.io/x=y,bad/key/x=1,a=b/c,plain\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag node-labels=node-role.kubernetes.io/worker=,node.kubernetes.io/lifecycle=spot,k8s.io/x=y,bad/key/x=1,a=b/c,plain
				  label node-role.kubernetes.io/worker=; is one that a kubelet may not set
				  label node.kubernetes.io/lifecycle=spot
				  label k8s.io/x=y; is one that a kubelet may not set
				  label =; is not <key>=<value>
				  label =; is not <key>=<value>
				  label plain=`},
		{name: "flags of which secrets may be the values",
			data: call + "'--provider-id=aws:///eu-west-1a/i-0123456789abcdef0 --manifest-url-header=Authorization:hunter2 --node-ip=10.0.0.1 --hostname-override=ip-10-0-0-1.ec2.internal --cloud-provider=external --pod-infra-container-image=111122223333.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.5 --fail-cgroupv1=false'\n", want: `
				user data by bootstrap.sh, cluster demo
				  flag provider-id (not kept)
				  flag manifest-url-header (not kept)
				  flag node-ip=10.0.0.1
				  flag hostname-override=ip-10-0-0-1.ec2.internal
				  flag cloud-provider=external
				  flag pod-infra-container-image=111122223333.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.5; gone by 1.36
				  flag fail-cgroupv1=false
				  hostname: ip-10-0-0-1.ec2.internal
				  fail cgroup v1: false`},
		{name: "parts that only the instance knows",
			data: "#!/bin/bash\nID=$(curl -s http://169.254.169.254/latest/meta-data/instance-id)\n/etc/eks/bootstrap.sh demo --apiserver-endpoint \"$URL\" --kubelet-extra-args \"--node-labels=a=b,id=$ID $MORE --max-pods=$N\"\n", want: `
				user data by bootstrap.sh, cluster demo
				  endpoint: (dynamic)
				  flag node-labels (dynamic)
				  flag max-pods (dynamic)
				  more flags, computed
				  label a=b`},
		{name: "a name and an authority that only the instance knows, without quotes, and flags that it does not inherit",
			data: "#!/bin/bash\nKUBELET_EXTRA_ARGS=--max-pods=20\nNAME=$(cat /etc/name)\n/etc/eks/bootstrap.sh $NAME --b64-cluster-ca $(cat /etc/ca) --apiserver-endpoint " + apiServer + "\n", want: `
				user data by bootstrap.sh
				  cluster: (dynamic)
				  endpoint: ` + apiServer + `
				  ca: dynamic `},
		{name: "branches that are always taken", data: "#!/bin/bash\nif false; then\n  systemctl stop kubelet\nelse\n  /etc/eks/bootstrap.sh demo\nfi\ntrue || /etc/eks/bootstrap.sh other\n", want: `user data by bootstrap.sh, cluster demo`},
		{
			name: "arguments that the script takes otherwise than they were meant",
			data: "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args --node-labels=a=b --max-pods=20\n/etc/eks/bootstrap.sh --kubelet-extra-args='--max-pods=20' demo\n" +
				"/etc/eks/bootstrap.sh --kubelet-extra-args --max-pods 20 demo\n/etc/eks/bootstrap.sh demo --kubelet-extra-args --max-pods 20\n/etc/eks/bootstrap.sh demo --use-max-pods\n/etc/eks/bootstrap.sh --use-max-pods maybe --ip-family IPv4 --dns-cluster-ip ten\n",
			want: `
				fault: user data (shell) has arguments that bootstrap.sh ignores: --max-pods [bootstrap.sh is passed over]
				fault: user data (shell) has an option that bootstrap.sh does not have: --kubelet-extra-args [bootstrap.sh stops with an error]
				fault: user data (shell) has a kubelet flag outside the quotes of --kubelet-extra-args: --max-pods [bootstrap.sh stops with an error]
				fault: user data (shell) has an option without its value: --use-max-pods [bootstrap.sh stops with an error]
				user data by bootstrap.sh, cluster demo
				  flag node-labels=a=b
				  label a=b
				user data by bootstrap.sh
				  cluster: (malformed)
				user data by bootstrap.sh
				  cluster: (malformed)
				  flag max-pods; no value
				user data by bootstrap.sh, cluster demo
				  flag max-pods; no value
				user data by bootstrap.sh, cluster demo
				user data by bootstrap.sh
				  missing: <cluster-name>`,
		},
		{
			name: "what the script changes and fetches",
			data: "#!/bin/bash\nARCH=arm64\nsed -i 's/KUBELET_ARGS/&/' /etc/eks/bootstrap.sh\n" +
				"if [ \"$(uname -m)\" = x86_64 ]; then\n  curl -sSLo /usr/local/bin/tool https://dl.example.com/v1/linux/amd64/tool?token=hunter2\n  chmod +x /usr/local/bin/tool\nfi\n" +
				"curl -L \"https://dl.example.com/agent-$ARCH.tar.gz\" | tar -xz -C /opt\nwget https://dl.example.com/pkg_x86_64.rpm && rpm -i pkg_x86_64.rpm\n" +
				"yum install -y https://dl.example.com/amazon-ssm-agent-aarch64.rpm https://dl.example.com/any.noarch.rpm\ncurl -O https://dl.example.com/never-used-amd64\ncurl -o /tmp/both https://dl.example.com/amd64/tool-arm64; sh /tmp/both\n" +
				"export http_proxy=http://user:hunter2@proxy.example.com:3128\nmkdir -p /etc/systemd/system/kubelet.service.d\ncat > /etc/systemd/system/kubelet.service.d/proxy.conf <<EOF\n[Service]\n# NO_PROXY=x\nEnvironment=\"HTTPS_PROXY=$http_proxy\"\nEOF\n" +
				"cat /etc/kubernetes/kubelet/kubelet-config.json | jq .maxPods=20 > /tmp/k && mv /tmp/k /etc/kubernetes/kubelet/kubelet-config.json\n/etc/eks/bootstrap.sh demo\nsystemctl restart kubelet\n",
			want: `
				user data by bootstrap.sh, cluster demo
				proxy
				edit: changes /etc/eks/bootstrap.sh
				edit: writes a systemd unit or drop-in of the kubelet
				edit: changes the kubelet's configuration file
				edit: starts or restarts the kubelet's service
				fetch: {Name:tool Arch:amd64 Part:user data Conditional:true}
				fetch: {Name:agent-arm64.tar.gz Arch:arm64 Part:user data Conditional:false}
				fetch: {Name:pkg_x86_64.rpm Arch:amd64 Part:user data Conditional:false}
				fetch: {Name:amazon-ssm-agent-aarch64.rpm Arch:arm64 Part:user data Conditional:false}`,
		},
		{name: "a kubelet that is started by hand",
			data: "#!/bin/bash\nkubelet --version\nnohup /usr/bin/kubelet --kubeconfig=/etc/kubeconfig --cluster-dns 10.100.0.10 --register-with-taints=\"'karpenter.sh/unregistered:NoExecute'\" $EXTRA &\n", want: `
				user data by kubelet
				  flag kubeconfig=/etc/kubeconfig
				  flag cluster-dns=10.100.0.10
				  flag register-with-taints='karpenter.sh/unregistered:NoExecute'; quotes reach the kubelet
				  more flags, computed
				  taint karpenter.sh/unregistered=:NoExecute by --register-with-taints; has quotes in it`},
	})
}

// Dual-stack endpoints are set in user data in several ways.
func TestTextsAboutDualStackEndpoints(t *testing.T) {
	for text, want := range map[string]bool{
		"#!/bin/bash\nexport AWS_USE_DUALSTACK_ENDPOINT=true\n/etc/eks/bootstrap.sh payments\n":                                                         true,
		"#!/bin/bash\nmkdir -p ~/.aws\nprintf '[default]\\nuse_dualstack_endpoint = true\\n' > ~/.aws/config\n/etc/eks/bootstrap.sh payments\n":         true,
		"#!/bin/bash\nexport AWS_ENDPOINT_URL_EC2=https://ec2.eu-west-1.api.aws\n/etc/eks/bootstrap.sh payments\n":                                      true,
		"#!/bin/bash\n/etc/eks/bootstrap.sh payments --ip-family ipv6\n":                                                                                false,
		"#!/bin/bash\n/etc/eks/bootstrap.sh payments --apiserver-endpoint https://0123456789.gr7.eu-west-1.api.aws --b64-cluster-ca TFMwdExTMUNSVWRK\n": false,
	} {
		expect.Equal(t, Read([]byte(text)).DualStack, want, "%q", text)
	}
}

// The kernel joins the words behind the interpreter into one.
func TestBootOfInterpreters(t *testing.T) {
	joined := func(line string) bootCase {
		return bootCase{name: line, data: line + "\n/etc/eks/bootstrap.sh demo\n", want: `
				fault: user data (shell) has several words behind the interpreter in its #! line, which reach it as one [cloud-init stops with an error]
				user data by bootstrap.sh, cluster demo`}
	}
	runs := func(line string) bootCase {
		return bootCase{name: line, data: line + "\n/etc/eks/bootstrap.sh demo\n", want: `user data by bootstrap.sh, cluster demo`}
	}
	checkBoots(t, []bootCase{
		joined("#!/usr/bin/env bash -e"), joined("#!/bin/bash -e -x"), joined("#!/bin/bash -ex -o pipefail"), joined("#!/bin/sh -e # join"), joined("#!/usr/bin/env -i bash"),
		runs("#!/usr/bin/env bash"), runs("#!/usr/bin/env -S bash -ex"), runs("#!/usr/bin/env -iS bash -e"), runs("#! /bin/bash  -xe "), runs("#!/bin/bash"),
		{name: "in a part that runs beside another", data: inMIME("text/x-shellscript", "#!/usr/bin/env bash -e\ndate\n", "text/x-shellscript", "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"), want: `
				fault: part 1 (shell) has several words behind the interpreter in its #! line, which reach it as one [cloud-init stops with an error]
				part 2 by bootstrap.sh, cluster demo`},
	})
}

// cloud-init writes the scripts of all parts to one directory, by the names of their files.
func TestBootOfFileNames(t *testing.T) {
	const join, other = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n", "#!/bin/bash\ndate\n"
	named := func(kind, name string) string {
		return kind + "\nContent-Disposition: attachment; filename=\"" + name + "\""
	}
	const sh, boot = "text/x-shellscript", "text/x-shellscript-per-boot"
	const first = "fault: part 1 (shell) is replaced by that of another part [cloud-init is passed over]"
	checkBoots(t, []bootCase{
		{name: "the last of a name replaces the others", data: inMIME(named(sh, "init.sh"), join, named(sh, "init.sh"), other), want: first},
		{name: "the last one joins", data: inMIME(named(sh, "init.sh"), other, named(sh, "init.sh"), join), want: first + "\n\t\t\t\tpart 2 by bootstrap.sh, cluster demo"},
		{name: "the same text again", data: inMIME(named(sh, "init.sh"), join, named(sh, "init.sh"), join), want: `part 2 by bootstrap.sh, cluster demo`},
		{name: "the name in the other header, with a blank that is left out", data: inMIME(sh+"; name=\"in it.sh\"", join, named(sh, "init.sh"), other), want: first},
		{name: "other names", data: inMIME(named(sh, "a.sh"), join, named(sh, "b.sh"), other), want: `part 1 by bootstrap.sh, cluster demo`},
		{name: "no names", data: inMIME(sh, join, sh, other), want: `part 1 by bootstrap.sh, cluster demo`},
		{name: "cloud-configs of one name", data: inMIME(named("text/cloud-config", "a"), "#cloud-config\nruncmd: [/etc/eks/bootstrap.sh demo]\n", named("text/cloud-config", "a"), "#cloud-config\npackages: [jq]\n"), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "in an archive", data: "#cloud-config-archive\n- {filename: a, content: \"#!/bin/sh\\n/etc/eks/bootstrap.sh demo\"}\n- {filename: a, content: \"#!/bin/sh\\ndate\"}\n", want: `
				fault: part 1 in user data (shell) is replaced by that of another part [cloud-init is passed over]`},
		{name: "a directory of their own", data: inMIME(named(sh, "init.sh"), join, named(boot, "init.sh"), other), want: `
				fault: part 2 (shell) has a Content-Type that cloud-init does not know [cloud-init depends on the version]
				part 1 by bootstrap.sh, cluster demo`},
		{name: "a boothook, which runs while the parts are read", data: inMIME(named("text/cloud-boothook", "init.sh"), join, named(sh, "init.sh"), other), want: `part 1 by bootstrap.sh, cluster demo`},
	})
}
