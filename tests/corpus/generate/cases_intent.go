package generate

import (
	"regexp"
	"strings"
)

// intentCases are about user data that was certainly meant to make the instance a node, and
// that its reader rejects.
func intentCases() []Case {
	own := BatchGroup // a launch template that names its AMI
	own.Custom = true
	join := "/etc/eks/bootstrap.sh " + Cluster + " --apiserver-endpoint " + Endpoint + " --b64-cluster-ca " + CA + "\n"
	flagged := strings.TrimSpace(join) + " --kubelet-extra-args "
	lone := Legacy // AL2 instances of an Auto Scaling group that never had a node
	golden := own  // an AMI that a person made from one of EKS's
	golden.Image = imageOwn
	lone.Name, lone.Template, lone.Role = "payments-night", "lt-0aa90000000000000", "payments-night-node"
	return []Case{
		broken("nodeconfig-of-a-version-that-does-not-exist", "nodeadm knows node.eks.aws/v1alpha1 and no other version: it refuses v1beta1, and says so on the console.",
			from(docNodeadm, "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/api/v1alpha1/groupversion_info.go"), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, strings.Replace(nodeadmData(Cluster, CA), "v1alpha1", "v1beta1", 1))
				b.Console[m.ID] = console(
					`[   12.300121] nodeadm[1720]: {"level":"fatal","ts":1773141600.12,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"no kind \"NodeConfig\" is registered for version \"node.eks.aws/v1beta1\" in scheme"}`,
					"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")
				return unregistered(m, "UserDataUnparseable", "NodeadmFailed")
			})),
		broken("nodeconfig-of-a-version-that-does-not-exist-without-a-console", "The same, and nobody captured the console: the AMI is one of EKS's, whose nodeadm knows v1alpha1 only.",
			from(docNodeadm, "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/api/v1alpha1/groupversion_info.go"), texted(own, "UserDataUnparseable", strings.Replace(nodeadmData(Cluster, CA), "v1alpha1", "v1", 1))),
		broken("nodeconfig-of-another-kind", "The kind is NodeConfiguration, which nodeadm does not know.",
			from(docNodeadm), texted(own, "UserDataUnparseable", strings.Replace(nodeadmData(Cluster, CA), "kind: NodeConfig", "kind: NodeConfiguration", 1))),
		broken("nodeconfig-whose-flags-are-a-text", "spec.kubelet.flags is a text where nodeadm wants a list.",
			from(docNodeadm, "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/api/v1alpha1/nodeconfig_types.go"), texted(own, "UserDataUnparseable", multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)+
				"  kubelet:\n    flags: \"--node-labels=team=batch\"\n")))),
		misleading("nodeconfig-of-a-version-that-a-later-image-may-know", "A NodeConfig of another version, on an image of EKS that is newer than any which was looked into, and no console: whether its nodeadm knows the version is not known.",
			from(docNodeadm, "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/api/v1alpha1/groupversion_info.go"), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, strings.Replace(nodeadmData(Cluster, CA), "v1alpha1", "v1", 1))
				image := b.find(b.Images, "ImageId", own.Image.ID)
				image["Name"] = releaseOf.ReplaceAllString(image["Name"].(string), "-v20991231")
				return unregistered(m, "").misses("UserDataUnparseable")
			})),
		misleading("nodeconfig-with-a-field-that-does-not-exist", "spec.kubelet.extraArgs does not exist; nodeadm passes over what it does not know, and joins. The role has no access entry.",
			from(docNodeadm), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)+"  kubelet:\n    extraArgs: --max-pods=58\n")))
				b.unmap(own)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		broken("shell-alone-on-al2023", "A launch template with an AMI of its own whose user data installs an agent and has no NodeConfig: nodeadm finds none and stops.",
			from(docTemplates, docNodeadm, "https://github.com/awslabs/amazon-eks-ami/issues/1681"), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\nset -e\nyum install -y amazon-ssm-agent\nsystemctl enable --now amazon-ssm-agent\n")
				b.Console[m.ID] = console(
					`[   11.920411] nodeadm[1711]: {"level":"fatal","ts":1773141600.12,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"no config in chain"}`,
					"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")
				return unregistered(m, "UserDataWrongFormat", "NodeadmFailed")
			})),
		broken("shell-alone-on-al2023-without-a-console", "The same without a console: an AMI of EKS's own of AL2023 joins by a NodeConfig alone, and nothing in the script writes one or fetches anything.",
			from(docTemplates, docNodeadm), texted(own, "UserDataWrongFormat", "#!/bin/bash\nset -e\nsysctl -w vm.max_map_count=262144\n")),
		misleading("shell-alone-that-fetches-its-bootstrap", "The script runs what it fetches, which may write the NodeConfig: nothing is proven.",
			from(docTemplates, docNodeadm), texted(own, "", "#!/bin/bash\ncurl -fsSL https://bootstrap.example.com/join.sh | bash\n")),
		broken("quote-that-swallows-the-bootstrap", "A quote is opened before the call of bootstrap.sh and never closed: the shell stops at the end of the file and runs nothing of it.",
			from(docTemplates, "https://www.gnu.org/software/bash/manual/html_node/Quoting.html"), texted(Reports, "UserDataUnparseable", "#!/bin/bash\nset -o errexit\necho \"joining the cluster\nulimit -n 65536\n"+join)),
		broken("quote-around-the-flags-that-nothing-closes", "The quote around the kubelet's flags is opened and never closed: the shell stops before it calls bootstrap.sh.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/179", "https://www.gnu.org/software/bash/manual/html_node/Quoting.html"), texted(Reports, "UserDataMalformedFlags", "#!/bin/bash\nset -o errexit\n"+flagged+"'--node-labels=team=reports --max-pods=58\n")),
		broken("double-quote-around-the-flags-that-nothing-closes", "The same with a double quote, and a further line behind it. The shell says so on the console.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/179", "https://www.gnu.org/software/bash/manual/html_node/Quoting.html"), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\n"+flagged+"\"--node-labels=team=reports --max-pods=58\necho joined\n")
				b.Console[m.ID] = console(
					"[   19.811440] cloud-init[3268]: /var/lib/cloud/instance/scripts/part-001: line 2: unexpected EOF while looking for matching `\"'",
					"[   19.812102] cloud-init[3268]: Mar 10 11:31:22 cloud-init[3268]: util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [2]")
				return unregistered(m, "UserDataMalformedFlags", "CloudInitFailed")
			})),
		misleading("quote-around-the-flags-that-a-later-line-closes", "The quote is closed two lines below: the flags have a line break in them, of which the kubelet may never hear. DNS is off.",
			from("https://www.gnu.org/software/bash/manual/html_node/Quoting.html", docNetwork), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\n"+flagged+"'--node-labels=team=reports\n--max-pods=58\n'\n")
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled").suggests("UserDataMalformedFlags")
			})),
		misleading("quote-behind-the-flags", "The flags stand in a pair of quotes; the open quote is in the line below, when bootstrap.sh has run. DNS is off.",
			from("https://www.gnu.org/software/bash/manual/html_node/Quoting.html", docNetwork), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\n"+flagged+"'--max-pods=58'\necho 'joined\n")
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled").rulesOut("UserDataMalformedFlags")
			})),
		broken("here-document-that-swallows-the-bootstrap", "The word that ends a here-document is indented, so the document goes on to the end of the file, and the call of bootstrap.sh with it.",
			from(docTemplates, "https://www.gnu.org/software/bash/manual/html_node/Redirections.html"), texted(Reports, "UserDataUnparseable", "#!/bin/bash\ncat > /etc/sysctl.d/99-pods.conf <<EOF\nvm.max_map_count=262144\n  EOF\n"+join)),
		misleading("here-document-that-ends", "The here-document before the call of bootstrap.sh ends where it should. The instance has no profile.",
			from(docTemplates, docNodeRole), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\ncat > /etc/sysctl.d/99-pods.conf <<EOF\nvm.max_map_count=262144\nEOF\n"+join)
				delete(m.Instance, "IamInstanceProfile")
				return unregistered(m, "InstanceProfileMissing")
			})),
		misleading("quote-behind-the-bootstrap", "The open quote stands behind the call of bootstrap.sh, which the shell has run by then. DNS is off.",
			from("https://www.gnu.org/software/bash/manual/html_node/Quoting.html", docNetwork), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\n"+join+"echo \"joined\n")
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			})),
		broken("lone-group-whose-script-does-not-parse", "An Auto Scaling group of which no instance ever was a node. The script calls bootstrap.sh for this cluster behind a quote that never ends: it was meant to be a node.",
			from(docTemplates, "https://www.gnu.org/software/bash/manual/html_node/Quoting.html"), texted(lone, "UserDataUnparseable", "#!/bin/bash\necho \"joining the cluster\n"+join)),
		broken("lone-group-whose-nodeconfig-does-not-parse", "An Auto Scaling group of AL2023 of which no instance ever was a node, with a NodeConfig for this cluster whose YAML is broken.",
			from(docNodeadm), texted(Edge, "UserDataUnparseable", strings.Replace(nodeadmData(Cluster, CA), "  cluster:\n", "  cluster: [\n", 1))),
		well("bastion-whose-script-does-not-parse", "A bastion with the cluster's tag whose script writes a kubeconfig for the cluster and does not parse: nothing in it makes a node.",
			from(docUserData), unjoined(lone, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\naws eks update-kubeconfig --name "+Cluster+"\necho \"ready\n")
				return nothing()
			})),
		well("script-that-does-not-parse-for-another-cluster", "An instance that carries this cluster's tag among others, whose script calls bootstrap.sh for payments-staging and does not parse: it is not for this cluster.",
			from(docUserData), unjoined(lone, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\necho \"joining\n/etc/eks/bootstrap.sh payments-staging\n")
				return nothing()
			})),
		broken("cluster-api-that-cannot-fetch-its-secret", "A machine of Cluster API fetches what bootstraps it from Secrets Manager, may not, and says so on the console.",
			from("https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/internal/mime/mime.go", "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/2745"), func(b *Bundle) *verdict {
				m := b.ofClusterAPI(lone)
				b.Console[m.ID] = console(append([]string{
					"[    9.812001] cloud-init[1321]: +++ [2026-03-10T11:20:31+00:00] aws.cluster.x-k8s.io encrypted cloud-init script started",
					"[   12.101200] cloud-init[1321]: An error occurred (AccessDeniedException) when calling the GetSecretValue operation: User: arn:aws:sts::111122223333:assumed-role/payments-night-node/i-0bad0000000000001 is not authorized to perform: secretsmanager:GetSecretValue",
					"[   12.101310] cloud-init[1321]: !!! [2026-03-10T11:20:34+00:00] Unable to fetch secret, aws.cluster.x-k8s.io/a1b2c3-0",
					"[   12.101392] cloud-init[1321]: !!! [2026-03-10T11:20:34+00:00] aws.cluster.x-k8s.io encrypted cloud-init script /var/lib/cloud/instance/boothooks/part-001 exiting with status 1",
				}, booted()...)...)
				return unregistered(m, "CloudInitFailed")
			}),
		misleading("cluster-api-whose-secret-was-fetched", "The same machine, and its secret was fetched: why it does not register is not in sight.",
			from("https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/internal/mime/mime.go"), func(b *Bundle) *verdict {
				m := b.ofClusterAPI(lone)
				b.Console[m.ID] = console(append([]string{
					"[   12.101392] cloud-init[1321]: +++ [2026-03-10T11:20:34+00:00] aws.cluster.x-k8s.io encrypted cloud-init script /var/lib/cloud/instance/boothooks/part-001 finished",
				}, booted()...)...)
				return unregistered(m, "")
			}),
		broken("cluster-api-whose-secret-is-gone", "The controller deleted the machine's secret before its script ran, as it does once it takes the machine for ready.",
			from("https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/internal/mime/mime.go", "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/2745"), func(b *Bundle) *verdict {
				m := b.ofClusterAPI(lone)
				b.Console[m.ID] = console(append([]string{
					"[    9.812001] cloud-init[1321]: +++ [2026-03-10T11:20:31+00:00] aws.cluster.x-k8s.io encrypted cloud-init script started",
					"[   12.101200] cloud-init[1321]: An error occurred (ResourceNotFoundException) when calling the GetSecretValue operation: Secrets Manager can't find the specified secret.",
					"[   12.101310] cloud-init[1321]: !!! [2026-03-10T11:20:34+00:00] Unable to fetch secret, aws.cluster.x-k8s.io/a1b2c3-0",
					"[   12.101392] cloud-init[1321]: !!! [2026-03-10T11:20:34+00:00] aws.cluster.x-k8s.io encrypted cloud-init script /var/lib/cloud/instance/boothooks/part-001 exiting with status 1",
				}, booted()...)...)
				return unregistered(m, "CloudInitFailed")
			}),
		misleading("cluster-api-whose-secret-was-fetched-at-the-second-try", "Secrets Manager throttled the first call, the script tried again and finished. DNS is off.",
			from("https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/internal/mime/mime.go"), func(b *Bundle) *verdict {
				m := b.ofClusterAPI(lone)
				b.Console[m.ID] = console(append([]string{
					"[    9.812001] cloud-init[1321]: +++ [2026-03-10T11:20:31+00:00] aws.cluster.x-k8s.io encrypted cloud-init script started",
					"[   10.101200] cloud-init[1321]: An error occurred (ThrottlingException) when calling the GetSecretValue operation (reached max retries: 4): Rate exceeded",
					"[   14.101392] cloud-init[1321]: +++ [2026-03-10T11:20:36+00:00] aws.cluster.x-k8s.io encrypted cloud-init script /var/lib/cloud/instance/boothooks/part-001 finished",
				}, booted()...)...)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			}),
		broken("cluster-api-whose-included-file-is-not-there", "The boothook of a machine of Cluster API did not fetch the secret, so the file that the user data includes is not there; cloud-init goes on and ends without it.",
			from(capiUserData, "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/5449", docBoothook), func(b *Bundle) *verdict {
				m := b.including(lone)
				b.Console[m.ID] = console(append([]string{includeFailed, boothookFailed}, booted()...)...)
				return unregistered(m, "CloudInitFailed").says("/etc/secret-userdata.txt")
			}),
		broken("cluster-api-whose-cloud-init-gives-up", "The same with a cloud-init that takes a file that is not there for an error: the stage that reads the user data fails, and the boot ends all the same.",
			from(capiUserData, "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/2757", "https://github.com/canonical/cloud-init/blob/main/cloudinit/cmd/main.py"), func(b *Bundle) *verdict {
				m := b.including(lone)
				b.Console[m.ID] = console(append([]string{
					"[   11.401190] cloud-init[1321]: 2026-03-10 11:20:33,881 - util.py[WARNING]: failed stage init",
					"[   11.402230] cloud-init[1321]: failed run of stage init",
				}, booted()...)...)
				return unregistered(m, "CloudInitFailed")
			}),
		misleading("cluster-api-whose-boothook-restarts-cloud-init", "The included file is not there when cloud-init looks first. The boothook writes it and restarts cloud-init, by which it is ended itself. DNS is off.",
			from(capiUserData, "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/4745"), func(b *Bundle) *verdict {
				m := b.including(lone)
				b.Console[m.ID] = console(append([]string{
					includeFailed, boothookFailed,
					"[   15.006211] cloud-init[1462]: Cloud-init v. 22.2.2 running 'init' at Tue, 10 Mar 2026 11:20:36 +0000. Up 15.00 seconds.",
				}, booted()...)...)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			}),
		misleading("boothook-that-fails-beside-the-bootstrap", "A boothook that mounts a disk fails; a script of the same user data calls bootstrap.sh. Whether the one kept the other from joining is not proven.",
			from(docBoothook, docTemplates), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, multipart(part("text/cloud-boothook; charset=\"us-ascii\"", "#cloud-boothook\n#!/bin/bash\nmount /dev/nvme1n1 /data\n"), part(shellPart, "#!/bin/bash\n"+join)))
				b.Console[m.ID] = console(append([]string{boothookFailed}, booted()...)...)
				return unregistered(m, "").suggests("CloudInitFailed")
			})),
		broken("shell-alone-on-an-image-of-ones-own", "A node group with an AMI that was made from EKS's. Its user data installs an agent and has no NodeConfig: nodeadm finds none and says so.",
			from(docTemplates, docNodeadm, "https://github.com/cloudposse/terraform-aws-eks-node-group/issues/226"), unjoined(golden, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, multipart(part(shellPart, "#!/bin/bash\nset -e\nyum install -y amazon-cloudwatch-agent\n")))
				b.Console[m.ID] = console(append([]string{noNodeConfig, configUnit}, booted()...)...)
				return unregistered(m, "UserDataWrongFormat", "NodeadmFailed")
			})),
		broken("cloud-config-alone-on-an-image-of-ones-own", "The same with a cloud-config, which nodeadm passes over.",
			from(docTemplates, docNodeadm), unjoined(golden, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#cloud-config\npackages:\n- amazon-cloudwatch-agent\n")
				b.Console[m.ID] = console(append([]string{strings.Replace(noNodeConfig, "could not find NodeConfig within UserData", "no config in chain", 1), configUnit}, booted()...)...)
				return unregistered(m, "UserDataWrongFormat", "NodeadmFailed")
			})),
		misleading("shell-alone-on-an-image-that-joins-by-itself", "An AMI that a person made may hold what joins it, and the console says nothing of nodeadm. The role has no access entry.",
			from(docTemplates, docAccessEntries), unjoined(golden, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\nset -e\nyum install -y amazon-cloudwatch-agent\n")
				b.Console[m.ID] = console(booted()...)
				b.unmap(golden)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		misleading("script-that-starts-nodeadm-by-itself", "nodeadm finds no NodeConfig in the user data when the boot begins. The script writes one and starts nodeadm, and the kubelet runs. DNS is off.",
			from(docNodeadm, docNetwork), unjoined(golden, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#!/bin/bash\nset -e\ncat > /etc/payments/node.yaml <<EOF\n"+nodeConfig(Cluster, CA)+"EOF\nnodeadm init -c file:///etc/payments/node.yaml\n")
				b.Console[m.ID] = console(append([]string{noNodeConfig, configUnit, "[  OK  ] Started kubelet.service - Kubernetes Kubelet."}, booted()...)...)
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			})),
		broken("windows-parameter-of-the-script-for-linux", "-UseMaxPods is a parameter of bootstrap.sh, and EKS's script for Windows has none of that name.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html", "https://github.com/awslabs/amazon-eks-ami/blob/al2/templates/al2/runtime/bootstrap.sh"), texted(windowsGroup, "UserDataMalformedFlags", windowsData("-EKSClusterName "+Cluster+" -UseMaxPods false"))),
		broken("windows-parameter-that-does-not-exist", "The script of EKS's Windows images has no parameter -NodeLabels, and PowerShell runs nothing of a script that gets a parameter that it does not have.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html", "https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_functions_cmdletbindingattribute"), texted(windowsGroup, "UserDataMalformedFlags", windowsData("-EKSClusterName "+Cluster+" -APIServerEndpoint "+Endpoint+" -Base64ClusterCA "+CA+" -NodeLabels 'team=night'"))),
		misleading("windows-parameter-shortened", "PowerShell takes a parameter's name as far as it is clear. The role has no access entry.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html"), unjoined(windowsGroup, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, windowsData("-EKSCluster "+Cluster+" -APIServer "+Endpoint+" -Base64 "+CA+" -KubeletExtraArgs '--node-labels=team=night' 3>&1 4>&1 5>&1 6>&1"))
				b.unmap(windowsGroup)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		misleading("windows-with-the-common-parameters", "-Verbose and -ErrorAction are PowerShell's own, which every script with parameters of that kind has. DNS is off.",
			from("https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_commonparameters"), unjoined(windowsGroup, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, windowsData("-EKSClusterName "+Cluster+" -Verbose -ErrorAction Stop"))
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled")
			})),
		broken("windows-script-without-its-tags", "The script for Windows stands in the user data without <powershell> tags: EC2Launch runs nothing.",
			from("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html"), texted(windowsGroup, "UserDataWrongFormat", strings.TrimSuffix(strings.TrimPrefix(windowsData("-EKSClusterName "+Cluster), "<powershell>\n"), "</powershell>\n"))),
		misleading("windows-script-cut-off", "The tag </powershell> is missing. The script names this cluster; whether EC2Launch runs it is not proven.",
			from(docUserData, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html"), texted(windowsGroup, "", strings.TrimSuffix(windowsData("-EKSClusterName "+Cluster), "</powershell>\n"))),
	}
}

// ofClusterAPI launches a machine of Cluster API's AWS provider, in no Auto Scaling group, with
// its bootstrap data in Secrets Manager.
func (b *Bundle) ofClusterAPI(g Group) *Machine {
	m := b.Unregistered(g)
	b.Members, b.ScalingGroups = b.Members[:len(b.Members)-1], b.ScalingGroups[:len(b.ScalingGroups)-1]
	m.Instance["Tags"] = []object{
		tag("kubernetes.io/cluster/"+Cluster, "owned"), tag("Name", "payments-night-md-0-6c9f7"),
		tag("sigs.k8s.io/cluster-api-provider-aws/cluster/"+Cluster, "owned"), tag("sigs.k8s.io/cluster-api-provider-aws/role", "node"),
	}
	b.UserData[m.ID] = multipart(part("text/cloud-config; charset=\"us-ascii\"", "#cloud-config\n"), part("text/cloud-boothook; charset=\"us-ascii\"", capiBoothook))
	return m
}

// including launches such a machine whose user data includes the file that its boothook is to
// write.
func (b *Bundle) including(g Group) *Machine {
	m := b.ofClusterAPI(g)
	b.UserData[m.ID] = multipart(part("text/cloud-boothook", capiBoothook), part("text/x-include-url", "file:///etc/secret-userdata.txt\n"))
	return m
}

const (
	capiUserData = "https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/internal/mime/mime.go"
	docBoothook  = "https://github.com/canonical/cloud-init/blob/main/cloudinit/handlers/boot_hook.py"

	includeFailed  = "[   11.101190] cloud-init[1321]: 2026-03-10 11:20:33,881 - user_data.py[WARNING]: [Errno 2] No such file or directory: '/etc/secret-userdata.txt' for url: file:///etc/secret-userdata.txt"
	boothookFailed = "[   12.301190] cloud-init[1321]: 2026-03-10 11:20:34,902 - util.py[WARNING]: Boothooks script /var/lib/cloud/instances/i-0bad0000000000001/boothooks/part-001 execution error"
	noNodeConfig   = `[   11.920411] nodeadm[1711]: {"level":"fatal","ts":1773141600.12,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"could not find NodeConfig within UserData"}`
	configUnit     = "[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config."
)

// windowsGroup is a managed node group of Windows nodes with custom user data.
var windowsGroup = Group{Owner: byNodeGroup, Name: "night", Role: "payments-night-windows", Image: imageWindows, Type: "m6i.xlarge", Template: "lt-0d0e0000000000000", Version: 2, Custom: true}

// windowsData returns user data that joins a Windows instance, with arguments for EKS's script.
func windowsData(arguments string) string {
	return "<powershell>\n[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n& $EKSBootstrapScriptFile " + arguments + "\n</powershell>\n"
}

// releaseOf is the release in the name of an image of EKS.
var releaseOf = regexp.MustCompile(`-v\d{8}$`)

// capiBoothook is, shortened, what Cluster API's AWS provider gives a machine whose bootstrap
// data is in Secrets Manager.
const capiBoothook = `#cloud-boothook
#!/bin/bash
set -o errexit
set -o nounset
REGION="eu-west-1"
SECRET_PREFIX="aws.cluster.x-k8s.io/a1b2c3"
CHUNKS="1"
FILE="/etc/secret-userdata.txt"
if test -f "${FILE}"; then exit 0; fi
for i in $(seq 0 $((CHUNKS - 1))); do
  data=$(aws secretsmanager get-secret-value --region ${REGION} --secret-id "${SECRET_PREFIX}-${i}" --output text --query SecretBinary | base64 -d)
  echo -n "${data}" >> "${FILE}.gz"
done
gunzip -c "${FILE}.gz" > "${FILE}"
cloud-init -f /etc/secret-userdata.txt single --name write_files
`
