package generate

import (
	"strings"
	"time"
)

// readerCases are about what the readers of user data on an instance make of it, about what AWS
// refuses or does not answer while an instance joins, and about what shows whose instance it is.
func readerCases() []Case {
	own := BatchGroup // a node group whose template names its AMI
	own.Custom = true
	rocket := own
	rocket.Image = imageBottlerocket
	lone := Edge // an Auto Scaling group of AL2023 without a node
	const (
		docFeedParser   = "https://github.com/python/cpython/blob/3.9/Lib/email/feedparser.py"
		docInitPolicy   = "https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEKSWorkerNodePolicy.html"
		nodeadmInstance = "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/status.go"
		docPrivateDNS   = "https://docs.aws.amazon.com/vpc/latest/privatelink/interface-endpoints.html"
		docWindowsAMI   = "https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html"
		docRocketBoot   = "https://github.com/bottlerocket-os/bottlerocket/tree/develop/sources/api/early-boot-config"
		docSettings     = "https://bottlerocket.dev/en/os/latest/api/settings/kernel/"
		pause           = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.10"
	)
	join := "/etc/eks/bootstrap.sh " + Cluster + " --apiserver-endpoint " + Endpoint + " --b64-cluster-ca " + CA + "\n"
	shell := "Content-Type: " + shellPart + "\n#!/bin/bash\nset -o xtrace\n" + join + "\n"

	// refused makes nodeadm say that AWS refused it a call.
	refused := func(b *Bundle, m *Machine, call, code string) {
		b.Console[m.ID] = console(
			`[   14.920411] nodeadm[1711]: {"level":"fatal","ts":1773141600.12,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"operation error `+call+`, https response error StatusCode: 403, RequestID: 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9, api error `+code+`: You are not authorized to perform this operation."}`,
			"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")
	}
	// nameRefused makes nodeadm print that EC2 refuses to name its instance: after ten minutes only the
	// log of the attempts says why. reason is what lacks the permission, or denies it.
	nameRefused := func(b *Bundle, m *Machine, reason string) {
		attempt := func(at, clock, n string) []string {
			return []string{
				"[  " + at + "] nodeadm[1711]: SDK 2026/03/10 " + clock + " DEBUG attempting waiter request, attempt count: " + n,
				"[  " + at + "] nodeadm[1711]: SDK 2026/03/10 " + clock + " DEBUG request failed with unretryable error https response error StatusCode: 403, RequestID: 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9, api error UnauthorizedOperation: You are not authorized to perform this operation. User: arn:aws:sts::" + Account + ":assumed-role/" + m.Group.Role + "/" + m.ID + " is not authorized to perform: ec2:DescribeInstances " + reason,
			}
		}
		b.Console[m.ID] = console(append(append(attempt(" 14.920411", "11:20:00", "1"), attempt(" 31.103310", "11:20:16", "2")...),
			`[  612.920411] nodeadm[1711]: {"level":"fatal","ts":1773142198.12,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"exceeded max wait time for InstanceCondition waiter"}`,
			"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")...)
	}
	// silentEC2 makes nodeadm say that EC2 does not answer.
	silentEC2 := func(b *Bundle, m *Machine) {
		b.Console[m.ID] = console(
			`[   44.920411] nodeadm[1711]: {"level":"fatal","ts":1773141600.12,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"operation error EC2: DescribeInstances, exceeded maximum number of attempts, 3, https response error StatusCode: 0, RequestID: , request send failed, Post \"https://ec2.eu-west-1.amazonaws.com/\": dial tcp 10.0.160.20:443: i/o timeout"}`,
			"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")
	}
	// nameless adds an instance without a way out, in a VPC whose endpoint of EC2 does not answer to the
	// service's name.
	nameless := func(b *Bundle) *Machine {
		b.aside()
		b.privateEndpoint(clusterGroup, "ecr.api", "ecr.dkr", "s3", "sts", "eks", "ec2")
		b.Endpoints[len(b.Endpoints)-1]["PrivateDnsEnabled"] = false
		return b.UnregisteredAside(BatchGroup)
	}
	// behindEndpoint adds an instance with a way out by a NAT gateway, in a VPC with an endpoint of
	// EC2 whose security group admits a group.
	behindEndpoint := func(b *Bundle, admits string) *Machine {
		b.aside(route("NatGatewayId", natGateway("a")))
		b.SecurityGroups = append(b.SecurityGroups, firewall("sg-0c1c1c1c1c1c1c008", "payments-endpoints", []object{fromGroup("tcp", 443, admits)}, anywhere()))
		b.privateEndpoint("sg-0c1c1c1c1c1c1c008", "ec2")
		return b.UnregisteredAside(BatchGroup)
	}
	// noSandbox adds a node that cannot pull the image of the sandbox of its CNI's pod.
	noSandbox := func(b *Bundle, image, says string, endpoints ...string) *Machine {
		b.aside()
		b.privateEndpoint(clusterGroup, endpoints...)
		m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 26*time.Minute)
		m.moved()
		b.Join(m, 25*time.Minute)
		b.neverReady(m)
		p := b.pod(m, "aws-node", "ContainerCreating", "")
		b.podEvent(p, "FailedCreatePodSandBox", `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox image "`+image+`": failed to pull image "`+image+`": `+says, 2*time.Minute, 9)
		return m
	}
	// private makes the endpoint private only, and puts an instance where no route leads out.
	private := func(b *Bundle, g Group, text string, endpoints ...string) *Machine {
		b.endpoint(false, true)
		b.aside()
		b.privateEndpoint(clusterGroup, endpoints...)
		m := b.UnregisteredAside(g)
		b.retext(m, text)
		return m
	}
	// uncaptured drops an instance's own user data from the bundle: its template has the same.
	uncaptured := func(b *Bundle, g Group) *Machine {
		m := b.Unregistered(g)
		delete(b.UserData, m.ID)
		return m
	}
	return []Case{
		misleading("mime-part-of-a-script-without-an-empty-line", "A script follows its MIME header without an empty line. cloud-init takes the first line that is none of a header for the body, and runs it: AL2 joins with that. DNS is off.",
			from(docFeedParser, docTemplates, docNetwork), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, multipart(shell))
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled").rulesOut("UserDataUnparseable")
			})),
		misleading("mime-document-without-an-empty-line", "The same in the header of the whole document. The role is mapped nowhere.",
			from(docFeedParser, docTemplates), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, strings.Replace(multipart(shell), "\n\n--//", "\n--//", 1))
				b.unmap(Reports)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("UserDataUnparseable")
			})),
		broken("mime-part-of-a-script-without-an-empty-line-for-nodeadm", "Such a script beside the NodeConfig on AL2023: nodeadm's parser rejects the document.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/2318"), texted(own, "UserDataUnparseable", multipart(shell, part(nodeConfigPart, nodeConfig(Cluster, CA))))),
		broken("mime-part-whose-script-looks-like-a-header", "The first line of the script has a colon before any blank, and is lost to the header; the second joins another cluster.",
			from(docFeedParser), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, multipart("Content-Type: "+shellPart+"\nteam:payments\n#!/bin/bash\n/etc/eks/bootstrap.sh payments-staging --apiserver-endpoint https://B1B2C3D4E5F60718293A4B5C6D7E8F90.gr7.eu-west-1.eks.amazonaws.com --b64-cluster-ca "+OtherCA+"\n"))
				return unregistered(m, "UserDataClusterMismatch").holds("NotClaimed")
			})),

		broken("script-without-its-first-line", "The script that calls bootstrap.sh lacks #! and stands in no MIME part: cloud-init does not know what it is, and passes it over.",
			from(docCloudInit, docTemplates), texted(Reports, "UserDataUnparseable", "set -o xtrace\n"+join)),
		broken("script-without-its-first-line-that-cloud-init-names", "The same, and cloud-init says so on the console.",
			from(docCloudInit), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "set -o xtrace\n"+join)
				b.prints(m, "[   12.104112] cloud-init[1502]: 2026-03-10 11:20:58,110 - __init__.py[WARNING]: Unhandled non-multipart (text/x-not-multipart) userdata: 'b'set -o xtrace'...'")
				return unregistered(m, "UserDataUnparseable", "CloudInitFailed")
			})),
		misleading("text-that-joins-nothing", "User data of AL2 that is a note and no script; what joins may be on the AMI of the company's own. The role is mapped nowhere.",
			from(docCloudInit, docAccessEntries), func(b *Bundle) *verdict {
				g := Reports
				g.Image = Image{"ami-0c05aaaaaaaaaaaa2", "payments-eks-al2-node-1.32-v20260301", Account, "x86_64", al2, "v1.32.9-eks-113cf36"}
				m := b.Unregistered(g)
				b.retext(m, "managed by the platform team, see the wiki\n")
				b.unmap(g)
				return unregistered(m, "NodeRoleNotMapped")
			}),
		broken("script-without-its-first-line-in-a-mime-part", "A MIME part says that it is a script, and lacks #!: cloud-init writes it to a file and cannot run that.",
			from(docCloudInit, "https://github.com/canonical/cloud-init/blob/main/cloudinit/subp.py"), texted(Reports, "UserDataUnparseable", multipart("Content-Type: "+shellPart+"\n\nset -o xtrace\n"+join))),
		misleading("cloud-config-that-joins", "No script, but a cloud-config that runs bootstrap.sh: cloud-init knows its first line. The role is mapped nowhere.",
			from(docCloudInit, docAccessEntries), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, "#cloud-config\nruncmd:\n- "+join)
				b.unmap(Reports)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("UserDataUnparseable", "UserDataWrongFormat")
			})),

		broken("bottlerocket-with-a-number-for-a-text", "settings.kernel.sysctl takes texts, also for numbers: early-boot-config refuses all settings.",
			from(docSettings, "https://github.com/aws/karpenter-provider-aws/issues/2423"), texted(rocket, "UserDataUnparseable", bottlerocketData(Cluster)+"\n[settings.kernel.sysctl]\n\"net.core.somaxconn\" = 4096\n")),
		broken("bottlerocket-refuses-a-setting", "The settings have one that this version does not know, and the console says that the API refused them.",
			from(docRocketBoot), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, bottlerocketData(Cluster)+"\n[settings.kernel]\nlockdwon = \"none\"\n")
				b.Console[m.ID] = "Welcome to Bottlerocket OS 1.55.0 (aws-k8s-1.35)!\n[    8.684272] early-boot-config[1650]: Error PATCHing '/settings?tx=bottlerocket-launch': Status 400 when PATCHing /settings?tx=bottlerocket-launch: Json deserialize error: unknown field `lockdwon`, expected one of `lockdown`, `modules`, `sysctl` at line 1 column 81\n"
				return unregistered(m, "UserDataUnparseable", "CloudInitFailed")
			})),
		misleading("bottlerocket-that-waits-for-its-metadata", "early-boot-config fails on the metadata service, and refuses no setting: the user data is right. Only that it failed is proven.",
			from(docRocketBoot), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = "Welcome to Bottlerocket OS 1.55.0 (aws-k8s-1.35)!\n[    8.684272] early-boot-config[1650]: Error retrieving user data: IMDS request failed: timed out\n"
				return unregistered(m, "CloudInitFailed")
			})),
		misleading("bottlerocket-with-a-number-for-a-number", "settings.kubernetes.max-pods is a number, and written as one. DNS is off.",
			from(docBottlerocket, docNetwork), unjoined(rocket, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, strings.Replace(bottlerocketData(Cluster), "cluster-dns-ip", "max-pods = 58\ncluster-dns-ip", 1)+"\n[settings.kernel.sysctl]\n\"net.core.somaxconn\" = \"4096\"\n")
				b.Attributes[vpc] = dns(false, true)
				return unregistered(m, "DnsDisabled").rulesOut("UserDataUnparseable")
			})),

		broken("nodeadm-may-not-describe-its-instance", "The role has no policy for nodes, and nodeadm says that EC2 refused it DescribeInstances: the call came through, and the role lets it do nothing.",
			from(docInitPolicy, nodeadmInstance), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Policies[BatchGroup.Role] = policies("AmazonSSMManagedInstanceCore")
				nameRefused(b, m, "because no identity-based policy allows the ec2:DescribeInstances action")
				return unregistered(m, "RolePoliciesMissing", "NodeadmFailed")
			})),
		broken("nodeadm-may-not-describe-its-instance-with-the-minimal-policy", "The role has the policies of a node of Auto Mode: the minimal one lets a node do nothing in EC2, and nodeadm asks EC2 for the name of its instance.",
			from("https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEKSWorkerNodeMinimalPolicy.html", nodeadmInstance), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Policies[BatchGroup.Role] = policies("AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly")
				nameRefused(b, m, "because no identity-based policy allows the ec2:DescribeInstances action")
				return unregistered(m, "RolePoliciesMissing", "NodeadmFailed")
			})),
		misleading("nodeadm-may-not-describe-its-instance-and-a-custom-policy", "EC2 refused DescribeInstances, and the role has a custom policy and none of AWS's: it may allow the call by now, so this is a hint.",
			from(docInitPolicy, nodeadmInstance), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Policies[BatchGroup.Role] = []object{{"PolicyName": "payments-nodes", "PolicyArn": "arn:aws:iam::" + Account + ":policy/payments-nodes"}}
				nameRefused(b, m, "because no identity-based policy allows the ec2:DescribeInstances action")
				return unregistered(m, "").suggests("RolePoliciesMissing", "NodeadmFailed")
			})),
		broken("nodeadm-may-not-describe-its-cluster", "A NodeConfig without an endpoint makes nodeadm ask EKS for it, which refuses: the role has the policy of the registry alone.",
			from(docInitPolicy), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.Policies[own.Role] = policies("AmazonEC2ContainerRegistryPullOnly")
				refused(b, m, "EKS: DescribeCluster", "AccessDeniedException")
				return unregistered(m, "RolePoliciesMissing", "NodeadmFailed")
			})),
		misleading("nodeadm-may-not-describe-its-instance-with-the-policy", "EC2 refuses DescribeInstances, and the role has AmazonEKSWorkerNodePolicy: something above the role denies it, a policy of the organization, as AWS says.",
			from(docInitPolicy, "https://docs.aws.amazon.com/organizations/latest/userguide/orgs_manage_policies_scps.html"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				nameRefused(b, m, "with an explicit deny in a service control policy")
				return unregistered(m, "").says("service control policy").suggests("RolePoliciesMissing", "NodeadmFailed")
			})),
		misleading("organization-forbids-the-region-beside-a-custom-policy", "EC2 refuses DescribeInstances by a policy of the organization, and the role has a custom policy alone: attaching another one does not help.",
			from("https://docs.aws.amazon.com/organizations/latest/userguide/orgs_manage_policies_scps.html", "https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.Policies[BatchGroup.Role] = []object{{"PolicyName": "payments-nodes", "PolicyArn": "arn:aws:iam::" + Account + ":policy/payments-nodes"}}
				nameRefused(b, m, "with an explicit deny in a service control policy")
				return unregistered(m, "").says("service control policy").suggests("RolePoliciesMissing", "NodeadmFailed")
			})),
		misleading("script-may-not-describe-a-volume", "A script of the user data may not describe volumes, and nodeadm does its work: the role lacks a policy, and that is no reason.",
			from(docInitPolicy), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.Policies[own.Role] = policies("AmazonEC2ContainerRegistryPullOnly")
				b.Console[m.ID] = console(append([]string{"[   12.101200] cloud-init[1321]: An error occurred (UnauthorizedOperation) when calling the DescribeVolumes operation: You are not authorized to perform this operation."}, joined()...)...)
				return unregistered(m, "").suggests("RolePoliciesMissing")
			})),

		misleading("windows-script-without-a-way-to-eks", "The API server is private, no route leads out, and there is no endpoint of EKS. EKS's script for Windows is given neither endpoint nor authority and has to ask EKS for both: likely, since its source is not published.",
			from(docPrivate, docWindowsAMI, "https://github.com/eksctl-io/eksctl/issues/4130"), func(b *Bundle) *verdict {
				m := private(b, windowsGroup, windowsData("-EKSClusterName "+Cluster), "ec2", "ecr.api", "ecr.dkr", "s3", "sts")
				return unregistered(m, "").suggests("UserDataPrivateClusterArgs")
			}),
		broken("bootstrap-sh-without-a-way-to-eks", "The same of bootstrap.sh on AL2, which certainly asks: it is given the endpoint and no authority.",
			from(docPrivate), func(b *Bundle) *verdict {
				m := private(b, Reports, bootstrapData("--apiserver-endpoint "+Endpoint), "ec2", "ecr.api", "ecr.dkr", "s3", "sts")
				return unregistered(m, "UserDataPrivateClusterArgs")
			}),
		misleading("windows-script-given-both", "EKS's script for Windows is given the endpoint and the authority, and asks nobody. The role is mapped nowhere.",
			from(docPrivate, docWindowsAMI), func(b *Bundle) *verdict {
				m := private(b, windowsGroup, windowsData("-EKSClusterName "+Cluster+" -APIServerEndpoint "+Endpoint+" -Base64ClusterCA "+CA), "ec2", "ecr.api", "ecr.dkr", "s3", "sts")
				b.unmap(windowsGroup)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("UserDataPrivateClusterArgs")
			}),
		misleading("windows-script-with-an-endpoint-of-eks", "It is given neither, and the VPC has an endpoint of EKS to ask at. The role is mapped nowhere.",
			from(docPrivate, docWindowsAMI), func(b *Bundle) *verdict {
				m := private(b, windowsGroup, windowsData("-EKSClusterName "+Cluster), "ec2", "ecr.api", "ecr.dkr", "s3", "sts", "eks")
				b.unmap(windowsGroup)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("UserDataPrivateClusterArgs")
			}),

		broken("endpoint-of-ec2-takes-what-the-nat-gateway-could", "The VPC has an endpoint of EC2 whose group admits others. Its private DNS name holds in the whole VPC, so the NAT gateway does not help; nodeadm says that EC2 does not answer.",
			from(docPrivateDNS, "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3113"), func(b *Bundle) *verdict {
				m := behindEndpoint(b, legacyGroup)
				silentEC2(b, m)
				return unregistered(m, "VpcEndpointMissing", "NodeadmFailed")
			}),
		misleading("endpoint-of-ec2-that-refuses-and-no-console", "The same, and nobody captured the console: a hint.",
			from(docPrivateDNS), func(b *Bundle) *verdict {
				return unregistered(behindEndpoint(b, legacyGroup), "").suggests("VpcEndpointMissing")
			}),
		misleading("endpoint-of-ec2-that-admits-the-nodes", "The endpoint's group admits the nodes. EC2 does not answer nodeadm all the same, for which nothing in sight is the reason.",
			from(docPrivateDNS), func(b *Bundle) *verdict {
				m := behindEndpoint(b, clusterGroup)
				silentEC2(b, m)
				return unregistered(m, "NodeadmFailed").rulesOut("VpcEndpointMissing")
			}),
		misleading("endpoint-of-ec2-without-its-private-name", "The endpoint refuses the nodes, and its private DNS is off: what goes to EC2 takes the NAT gateway. The role is mapped nowhere.",
			from(docPrivateDNS), func(b *Bundle) *verdict {
				m := behindEndpoint(b, legacyGroup)
				b.Endpoints[len(b.Endpoints)-1]["PrivateDnsEnabled"] = false
				b.unmap(BatchGroup)
				return unregistered(m, "NodeRoleNotMapped").rulesOut("VpcEndpointMissing")
			}),

		broken("private-endpoint-of-ec2-without-its-name", "A subnet without a way out, and the endpoint of EC2 has its private DNS off: nodeadm asks a public address, and nothing answers.",
			from(docPrivateDNS, "https://github.com/awslabs/amazon-eks-ami/issues/2436"), on(nameless, func(b *Bundle, m *Machine) *verdict {
				silentEC2(b, m)
				return unregistered(m, "VpcEndpointMissing", "NodeadmFailed").says("private DNS is off")
			})),
		misleading("private-endpoint-of-ec2-perhaps-under-a-name-of-its-own", "The same, and nothing says that EC2 does not answer: a hosted zone of the team's own may give the name to the endpoint.",
			from(docPrivateDNS), func(b *Bundle) *verdict {
				return unregistered(nameless(b), "").suggests("VpcEndpointMissing")
			}),
		broken("no-token-for-the-sandbox", "No container of the CNI's pod is created, since the image of its sandbox cannot be pulled: there is no endpoint of ecr.api to get a token at.",
			from(docPrivate, docPullEndpoints), func(b *Bundle) *verdict {
				m := noSandbox(b, pause, "failed to resolve reference: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials", "ec2", "sts", "eks", "s3", "ecr.dkr")
				return finds(m, "Uninitialized", "VpcEndpointMissing", "CniNotReady")
			}),
		broken("no-registry-for-the-sandbox", "The same for want of an endpoint of the registry.",
			from(docPrivate, docPullEndpoints), func(b *Bundle) *verdict {
				m := noSandbox(b, pause, `failed to do request: Head "https://123456789012.dkr.ecr.eu-west-1.amazonaws.com/v2/eks/pause/manifests/3.10": dial tcp 203.0.113.5:443: i/o timeout`, "ec2", "sts", "eks", "s3", "ecr.api")
				return finds(m, "Uninitialized", "VpcEndpointMissing", "CniNotReady")
			}),
		misleading("sandbox-of-another-registry", "The sandbox's image is to come from a registry of the company's own, which an endpoint of ECR has nothing to do with: a hint.",
			from(docPrivate), func(b *Bundle) *verdict {
				m := noSandbox(b, "registry.example.com/pause:3.10", "dial tcp 203.0.113.5:443: i/o timeout", "ec2", "sts", "eks", "s3", "ecr.dkr")
				return finds(m, "Uninitialized", "").suggests("VpcEndpointMissing", "CniNotReady")
			}),
		misleading("sandbox-that-the-network-does-not-get", "The sandbox fails for want of a CNI, as on any node that waits for one, and no image is missing.",
			from("https://github.com/aws/amazon-vpc-cni-k8s/issues/1847"), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				p := b.pod(m, "ebs-csi-node", "ContainerCreating", "")
				b.podEvent(p, "FailedCreatePodSandBox", `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "3eb650e5b06f": plugin type="aws-cni" name="aws-cni" failed (add): add cmd: Error received from AddNetwork gRPC call: connection refused`, time.Minute, 9)
				return finds(m, "Uninitialized", "CniNotReady")
			}),

		broken("another-name-for-this-endpoint", "The user data of a group of one's own names payments-staging, with the endpoint and the authority of this cluster: a token for another name gets nobody in here.",
			from(docTroubleshooting, docAuthMode), unjoined(lone, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, nodeadmData("payments-staging", CA))
				return unregistered(m, "UserDataClusterMismatch").holds("NotClaimed")
			})),
		broken("name-in-other-letters-in-a-group-of-ones-own", "The same of a name that differs in its letters' case alone, on AL2.",
			from(docTroubleshooting, repostJoin), func(b *Bundle) *verdict {
				g := lone
				g.Image = imageAL2
				m := b.Unregistered(g)
				b.retext(m, strings.Replace(bootstrapData("--apiserver-endpoint "+Endpoint+" --b64-cluster-ca "+CA), " "+Cluster+" ", " Payments ", 1))
				return unregistered(m, "UserDataClusterMismatch").holds("NotClaimed")
			}),
		well("another-name-and-another-endpoint", "An instance with this cluster's tag among others joins payments-staging at its own endpoint: it is not for this cluster.",
			from(docUserData), unjoined(lone, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, strings.Replace(nodeadmData("payments-staging", OtherCA), "A1B2C3D4", "B1B2C3D4", 1))
				return nothing()
			})),
		well("another-name-and-the-endpoint-without-authority", "bootstrap.sh uses an endpoint only together with an authority: without it, it asks EKS for those of payments-staging.",
			from(docUserData, docAL2), func(b *Bundle) *verdict {
				g := lone
				g.Image = imageAL2
				m := b.Unregistered(g)
				b.retext(m, "#!/bin/bash\n/etc/eks/bootstrap.sh payments-staging --apiserver-endpoint "+Endpoint+"\n")
				return nothing()
			}),

		broken("user-data-of-the-template-alone", "The user data of an instance of a group of one's own was not captured, and its launch template's was: the group gives it no other. Its role has no access entry.",
			from("https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-templates.html", docAccessEntries), func(b *Bundle) *verdict {
				b.access("API")
				return unregistered(uncaptured(b, lone), "NodeRoleNotMapped").incomplete()
			}),
		misleading("user-data-of-the-template-and-no-cause", "The same, and nothing in sight is wrong: that it should be a node is certain enough to be told, and not to end it.",
			from("https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-templates.html"), func(b *Bundle) *verdict {
				return unregistered(uncaptured(b, lone), "").holds("NoNodeIntent").incomplete()
			}),
		broken("user-data-of-the-template-for-another-system", "The same, and the template's user data is for AL2 on an AMI of AL2023.",
			from(docAL2023, docTemplates), func(b *Bundle) *verdict {
				m := uncaptured(b, lone)
				b.retext(m, bootstrapData(""))
				delete(b.UserData, m.ID)
				return unregistered(m, "UserDataWrongFormat").incomplete()
			}),
		misleading("user-data-of-no-group", "The same instance in no group: whoever launched it from the template may have given it other user data. Nothing shows that it is meant to be a node.",
			from(docTemplates), func(b *Bundle) *verdict {
				m := uncaptured(b, lone)
				m.untag("aws:autoscaling:groupName")
				b.Members = without(b.Members, "InstanceId", m.ID)
				return nothing().incomplete()
			}),
		misleading("user-data-of-a-template-that-joins-nothing", "The template of the group has user data that joins nothing, and that of the instance was not captured.",
			from(docTemplates), func(b *Bundle) *verdict {
				m := uncaptured(b, lone)
				b.retext(m, "#!/bin/bash\nyum install -y nginx\n")
				delete(b.UserData, m.ID)
				return nothing().incomplete()
			}),

		misleading("group-without-its-template-and-a-silent-node", "The launch template of the group is gone, so nothing new is launched; that is not why one of its nodes went silent.",
			from(docNodegroupIssue, docNodes), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.unhealthyGroup(m, "Ec2LaunchTemplateNotFound", "The launch template lt-0e2b0000000000000 was not found")
				return finds(m, "Unknown", "KubeletSilent", "NodeGroupUnhealthy").and(groupOf(m), "Unlaunched", "LaunchTemplateInvalid")
			})),
	}
}
