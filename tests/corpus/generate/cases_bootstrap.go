package generate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"time"
)

// bootstrapCases are about user data: its format, and the cluster that it names.
func bootstrapCases() []Case {
	own := BatchGroup // a launch template that names its AMI
	own.Custom = true
	// silent adds the only node of that group, which went silent.
	silent := func(b *Bundle) *Machine {
		m := b.joined(own, 5*day)
		b.silent(m, 45*time.Minute)
		return m
	}
	return []Case{
		broken("bootstrap-sh-on-al2023", "The user data still calls /etc/eks/bootstrap.sh, which AL2023 images do not have.",
			from(docAL2023, "https://github.com/awslabs/amazon-eks-ami/issues/1885", "https://github.com/awslabs/amazon-eks-ami/issues/2426"), texted(own, "UserDataWrongFormat", bootstrapData("--apiserver-endpoint "+Endpoint+" --b64-cluster-ca "+CA))),
		misleading("bootstrap-sh-beside-a-nodeconfig", "The user data calls bootstrap.sh in vain and has a NodeConfig too, with which nodeadm joins. The role has no access entry.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1701", docNodeadm), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, multipart(part(shellPart, "#!/bin/bash\n/etc/eks/bootstrap.sh "+Cluster+" || true\n"), part(nodeConfigPart, nodeConfig(Cluster, CA))))
				b.unmap(own)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		broken("nodeconfig-on-al2", "A NodeConfig for nodeadm on an AL2 image, which has no nodeadm: nothing runs there.",
			from(docNodeadm, docTemplates), texted(Reports, "UserDataWrongFormat", nodeadmData(Cluster, CA))),
		broken("toml-on-al2023", "Settings for Bottlerocket on an AL2023 image.",
			from(docTemplates, docNodeadm), texted(own, "UserDataWrongFormat", bottlerocketData(Cluster))),
		broken("mime-on-bottlerocket", "Bottlerocket reads TOML alone; a MIME document with a NodeConfig in it stops the boot.",
			from("https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3476", "https://github.com/aws/karpenter-provider-aws/issues/3536"), func(b *Bundle) *verdict {
				g := own
				g.Image, g.Name, g.Template = imageBottlerocket, "locked", "lt-0bb00000000000000"
				m := b.Unregistered(g)
				b.retext(m, nodeadmData(Cluster, CA))
				return unregistered(m, "UserDataWrongFormat", "UserDataUnparseable")
			}),
		broken("nodeconfig-with-broken-yaml", "A line of the NodeConfig is indented too little and has lost its colon.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1701", docNodeadm), texted(own, "UserDataUnparseable", strings.Replace(nodeadmData(Cluster, CA), "    name: "+Cluster, "    name "+Cluster+"\n   : oops", 1))),
		broken("mime-part-without-an-empty-line", "A MIME part begins right after its header, without an empty line: what follows is read as headers and fails.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/2318", docTemplates), texted(own, "UserDataUnparseable", multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)),
				"Content-Type: "+shellPart+"\n#!/bin/bash\nset -ex\n"))),
		broken("bottlerocket-with-broken-toml", "A taint's key and value stand without quotes, which is no TOML.",
			from("https://github.com/aws/karpenter-provider-aws/issues/1404", "https://github.com/bottlerocket-os/bottlerocket/issues/1346"), func(b *Bundle) *verdict {
				g := Batch
				g.Image = imageBottlerocket
				m := b.Unregistered(g)
				b.retext(m, bottlerocketData(Cluster)+"example.com/requires-x86=:NoSchedule\n")
				return unregistered(m, "UserDataUnparseable")
			}),
		broken("cluster-name-in-other-letters", "The cluster is payments and the user data says Payments: names are compared letter by letter.",
			from(repostJoin, docTroubleshooting), texted(own, "UserDataClusterMismatch", nodeadmData("Payments", CA))),
		broken("authority-of-another-cluster", "Name and endpoint are right and the certificate authority is the staging cluster's: the kubelet does not trust what answers.",
			from(docTemplates, docNodeadm), texted(own, "UserDataClusterMismatch", nodeadmData(Cluster, OtherCA))),
		misleading("authority-before-its-successor", "EKS has added a successor to the cluster's certificate authority, and DescribeCluster shows both. The template has the one that still signs, which every kubelet trusts until the other one does. The role has no access entry.",
			from("https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCertificateAuthority.html", "https://github.com/aws/containers-roadmap/issues/2874"), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.Cluster["certificateAuthority"] = object{"data": rotated}
				b.retext(m, nodeadmData(Cluster, CA))
				b.unmap(own)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		misleading("authority-before-its-successor-alone", "The same without another fault. If the successor signs by now, this kubelet does not trust the API server, and neither would that of a replacement; DescribeCluster does not say which one signs.",
			from("https://docs.aws.amazon.com/eks/latest/APIReference/API_ActivateCertificateAuthority.html", "https://github.com/aws/containers-roadmap/issues/2874"), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.Cluster["certificateAuthority"] = object{"data": rotated}
				b.retext(m, nodeadmData(Cluster, CA))
				return unregistered(m, "").suggests("UserDataClusterMismatch").holds("CauseNotChecked")
			})),
		misleading("authority-before-its-successor-of-a-silent-node", "The only node of its group fell silent. Its user data has one of the two certificate authorities of the cluster. If the successor signs by now, its kubelet does not trust the API server, and neither would that of a replacement.",
			from("https://docs.aws.amazon.com/eks/latest/APIReference/API_ActivateCertificateAuthority.html", "https://github.com/aws/containers-roadmap/issues/2874"), on(silent, func(b *Bundle, m *Machine) *verdict {
				b.Cluster["certificateAuthority"] = object{"data": rotated}
				b.retext(m, nodeadmData(Cluster, CA))
				return finds(m, "Unknown", "").suggests("UserDataClusterMismatch", "KubeletSilent").holds("CauseNotChecked")
			})),
		misleading("both-authorities-of-a-silent-node", "The same, and its user data has both: it fell silent for another reason.",
			from("https://docs.aws.amazon.com/eks/latest/APIReference/API_ActivateCertificateAuthority.html"), on(silent, func(b *Bundle, m *Machine) *verdict {
				b.Cluster["certificateAuthority"] = object{"data": rotated}
				b.retext(m, nodeadmData(Cluster, rotated))
				return finds(m, "Unknown", "KubeletSilent")
			})),
		broken("endpoint-of-the-cluster-before", "The cluster was made anew under its old name and has another endpoint and authority; the template kept the old ones.",
			from(docTemplates, repostNodeGroup), texted(Reports, "UserDataClusterMismatch", bootstrapData(
				"--apiserver-endpoint https://00112233445566778899AABBCCDDEEFF.gr7.eu-west-1.eks.amazonaws.com --b64-cluster-ca "+OtherCA))),
		broken("template-without-user-data", "A launch template with an AMI of its own and no user data: EKS adds none then, and nothing joins.",
			from(docTemplates, repostNodeGroup), texted(own, "UserDataEmpty", "")),
		broken("user-data-over-16-kilobytes", "EC2 takes 16 KB of user data at most; this has grown beyond.",
			from(docUserData), texted(Batch, "UserDataTooLarge", multipart(part(shellPart, "#!/bin/bash\n"+strings.Repeat("# allowed: 192.0.2.0/24\n", 720)), part(nodeConfigPart, nodeConfig(Cluster, CA))))),
		misleading("user-data-in-base64-twice", "The user data was encoded twice. nodeadm decodes what is left, so nothing is proven.",
			from("https://github.com/canonical/cloud-init/issues/3712", "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/configprovider/userdata.go"), texted(own, "", base64.StdEncoding.EncodeToString([]byte(nodeadmData(Cluster, CA))))),
		broken("user-data-in-base64-twice-for-another-cluster", "Behind the second base64 stands the name of another cluster.",
			from("https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/configprovider/userdata.go", docTemplates), texted(own, "UserDataClusterMismatch", base64.StdEncoding.EncodeToString([]byte(nodeadmData("payments-staging", CA))))),
		misleading("user-data-in-gzip", "The user data is compressed, which cloud-init and nodeadm undo. The role has no access entry.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1734", docCloudInit), unjoined(own, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, zipped(nodeadmData(Cluster, CA)))
				b.unmap(own)
				return unregistered(m, "NodeRoleNotMapped")
			})),
		broken("private-cluster-without-arguments", "The endpoint is private, the subnet has no way out and no endpoint of the EKS API, and bootstrap.sh is not told what it would have to ask there.",
			from(docPrivate, "https://github.com/aws/containers-roadmap/issues/745"), func(b *Bundle) *verdict {
				m := b.privately(Reports)
				b.retext(m, bootstrapData(""))
				return unregistered(m, "UserDataPrivateClusterArgs")
			}),
		misleading("private-cluster-with-arguments", "The same cut-off subnet, and bootstrap.sh is told endpoint and authority. The role is in no store.",
			from(docPrivate, docAccessEntries), func(b *Bundle) *verdict {
				m := b.privately(Reports)
				b.unmap(Reports)
				return unregistered(m, "NodeRoleNotMapped")
			}),
		broken("taints-in-flag-and-file", "A taint in the kubelet's flags hides those in its file, so Karpenter's own never comes; before 1.3 Karpenter waits for it for ever.",
			from("https://github.com/aws/karpenter-provider-aws/issues/7486", docNodeClasses), on((*Bundle).untainted, func(b *Bundle, m *Machine) *verdict {
				b.UserData[m.ID] = strings.Replace(karpenterData(Batch), "    flags:\n", "    flags:\n    - --register-with-taints=dedicated=batch:NoSchedule\n", 1)
				b.taint(m, "dedicated", "NoSchedule")
				return finds(m, "Uninitialized", "UserDataTaintConflict", "StartupTaintMissing")
			})),
		broken("custom-image-without-the-startup-taint", "Family Custom, and the kubelet's flags do not name karpenter.sh/unregistered; Karpenter before 1.3 refuses the node.",
			from("https://github.com/kubernetes-sigs/karpenter/issues/1635", "https://github.com/aws/karpenter-provider-aws/issues/6821", docNodeClasses), on((*Bundle).untainted, func(b *Bundle, m *Machine) *verdict {
				b.UserData[m.ID] = nodeadmData(Cluster, CA)
				class := b.NodeClasses[len(b.NodeClasses)-1]["spec"].(object)
				class["amiFamily"], class["userData"] = "Custom", b.UserData[m.ID]
				return finds(m, "Uninitialized", "StartupTaintMissing")
			})),
		misleading("startup-taint-missing-since-karpenter-1-3", "Karpenter tells of the missing taint and goes on all the same; what the node lacks is the CNI, whose pod crashes.",
			from("https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go", docNodeClaims), func(b *Bundle) *verdict {
				m := b.cniWaits(Batch)
				b.claimEvent(m, "UnregisteredTaintMissing", "Missing karpenter.sh/unregistered taint which prevents registration related race conditions on Karpenter-managed nodes", "Warning", 25*time.Minute)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady", "StartupTaintMissing")
			}),
	}
}

// zipped wraps a text as gzip without compressing it, so that its bytes do not depend on the
// version of the compressor.
func zipped(text string) string {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return out.String()
}

// privately launches an instance of a private cluster, in a subnet that only reaches the
// endpoints every node needs, and not that of EKS.
func (b *Bundle) privately(g Group) *Machine {
	b.endpoint(false, true)
	b.aside()
	b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "sts")
	m := b.UnregisteredAside(g)
	return m
}

// untainted adds a node that Karpenter before 1.3 did not accept as its own, since it
// registered without the startup taint.
func (b *Bundle) untainted() *Machine {
	m := b.joined(Batch, 26*time.Minute)
	m.unlabel("karpenter.sh/registered")
	m.unlabel("karpenter.sh/initialized")
	b.claimSays(m, "Registered", "False", "UnregisteredTaintNotFound", "Invariant violated, karpenter.sh/unregistered taint must be present on Karpenter-managed nodes", 25*time.Minute)
	b.claimSays(m, "Initialized", "Unknown", "NotRegistered", "", 25*time.Minute)
	b.claimSays(m, "Ready", "False", "UnhealthyDependents", "Registered=False, Initialized=Unknown", 25*time.Minute)
	return m
}

// quotingCases are about quotes around the kubelet's flags. The shell removes the outer quotes,
// systemd the inner ones, and most texts come out right.
func quotingCases() []Case {
	flagged := func(code, quoted string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(Reports)
			b.retext(m, kubeletFlags(quoted))
			return unregistered(m, code)
		}
	}
	return []Case{
		broken("flags-with-a-quote-that-never-ends", "A double quote is opened around the labels and not closed: everything behind it becomes part of the label.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/179", "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1004"), flagged("UserDataMalformedFlags", `'--node-labels="team=reports,tier=night --max-pods=58'`)).of(quotedFlags),
		broken("flags-with-quotes-that-reach-the-kubelet", "The quotes are escaped once for each hand they go through, and one stays: the label's value begins with a quote, which the kubelet refuses.",
			from("https://github.com/kubernetes/kubernetes/pull/109263", "https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html"), flagged("UserDataMalformedFlags", `'--node-labels=team=\\\"reports\\\" --max-pods=58'`)).of(quotedFlags),
		misleading("flags-with-quotes-in-quotes", "Quotes in quotes look odd and were seen to work, so they are a hint. Nothing else is shown.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/67", "https://github.com/aws/karpenter-provider-aws/issues/6456"), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				return unregistered(m, "").suggests("UserDataMalformedFlags")
			})).of(quotedFlags),
		misleading("flags-with-quotes-in-quotes-and-no-route", "The same odd quotes, and a subnet without a way to an endpoint that is public only: the route is the cause.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/67", docEndpoint), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.Unregistered(Reports)
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				m.moved()
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing").suggests("UserDataMalformedFlags")
			}).of(quotedFlags),
		well("flags-with-quotes-in-quotes-on-nodes-that-work", "Two nodes joined with quotes in quotes and are Ready.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/179", "https://github.com/terraform-aws-modules/terraform-aws-eks/pull/1082"), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				other := b.Another(m)
				text := b.UserData[m.ID]
				b.Join(m, 38*time.Minute)
				b.Join(other, 37*time.Minute)
				b.UserData[m.ID] = text
				return nothing()
			})).of(quotedFlags),
		misleading("karpenters-own-quotes", "Karpenter itself puts the labels in quotes in its NodeConfig. The role of the instance does not trust EC2.",
			from("https://github.com/aws/karpenter-provider-aws/issues/7486", docNodeRole), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.find(b.Roles, "RoleName", Batch.Role)["AssumeRolePolicyDocument"] = trust("eks-nodegroup.amazonaws.com")
				return unregistered(m, "RoleTrustInvalid")
			})).of(quotedFlags),
		broken("startup-taint-quoted-twice-and-refused", "User data of a custom AMI gives Karpenter's taint in quotes within quotes, the node came without it, and Karpenter before 1.3 refuses such a node: the quotes are to be changed.",
			from(docNodeClasses, "https://github.com/kubernetes-sigs/karpenter/issues/1828", "https://github.com/awslabs/amazon-eks-ami/issues/179"), on((*Bundle).untainted, func(b *Bundle, m *Machine) *verdict {
				b.custom(m, nestedTaint)
				return finds(m, "Uninitialized", "UserDataMalformedFlags", "StartupTaintMissing")
			})).of(quotedFlags),
		misleading("startup-taint-quoted-once-and-refused", "The taint is written as it should be, and Karpenter before 1.3 refuses the node all the same: nothing is wrong with the flags.",
			from(docNodeClasses, "https://github.com/kubernetes-sigs/karpenter/issues/1828"), on((*Bundle).untainted, func(b *Bundle, m *Machine) *verdict {
				b.custom(m, "'--register-with-taints=karpenter.sh/unregistered=:NoExecute'")
				return finds(m, "Uninitialized", "StartupTaintMissing").rulesOut("UserDataMalformedFlags")
			})).of(quotedFlags),
		misleading("startup-taint-quoted-twice-since-karpenter-1-3", "The same quotes, and Karpenter tells that the taint was missing and goes on. What the node lacks is the CNI, whose pod crashes.",
			from("https://github.com/kubernetes-sigs/karpenter/pull/1991", docNodeClasses), func(b *Bundle) *verdict {
				m := b.joined(Batch, 26*time.Minute)
				b.custom(m, nestedTaint)
				b.neverReady(m)
				b.claimEvent(m, "UnregisteredTaintMissing", "Missing karpenter.sh/unregistered taint which prevents registration related race conditions on Karpenter-managed nodes", "Warning", 25*time.Minute)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady").suggests("UserDataMalformedFlags", "StartupTaintMissing")
			}).of(quotedFlags),
		well("startup-taint-quoted-twice-on-a-node-that-works", "The same quotes, and the node is registered, initialized and Ready.",
			from(docNodeClasses, "https://github.com/awslabs/amazon-eks-ami/issues/67"), func(b *Bundle) *verdict {
				m := b.joined(Batch, 26*time.Minute)
				b.custom(m, nestedTaint)
				return nothing()
			}).of(quotedFlags),
		broken("startup-taint-with-another-effect", "The kubelet registers with Karpenter's key and the effect NoSchedule. Karpenter compares both, so it registers and initializes the node and never takes that taint off.",
			from("https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go", docNodeClasses), func(b *Bundle) *verdict {
				m := b.joined(Batch, 26*time.Minute)
				b.custom(m, "'--register-with-taints=karpenter.sh/unregistered:NoSchedule'")
				b.taint(m, "karpenter.sh/unregistered", "NoSchedule")
				return finds(m, "Uninitialized", "StartupTaintMissing", "StartupTaintNotRemoved").rulesOut("UserDataMalformedFlags")
			}).of(quotedFlags),
	}
}

// nestedTaint is Karpenter's taint in quotes within quotes.
const nestedTaint = `'--register-with-taints="karpenter.sh/unregistered=:NoExecute"'`

// custom sets a machine's node class to the family Custom, to which Karpenter adds nothing,
// with extra kubelet arguments, quoted verbatim.
func (b *Bundle) custom(m *Machine, quoted string) {
	b.UserData[m.ID] = kubeletFlags(quoted)
	for _, c := range b.NodeClasses {
		if c["metadata"].(object)["name"] == m.Group.Name {
			spec := c["spec"].(object)
			spec["amiFamily"], spec["userData"] = "Custom", b.UserData[m.ID]
		}
	}
	own := Image{"ami-0c05aaaaaaaaaaaa3", "payments-golden-al2-2026-02", Account, "x86_64", al2, "v1.35.0-eks-70ce843"}
	b.image(own)
	m.Instance["ImageId"], m.Claim["status"].(object)["imageID"] = own.ID, own.ID
}
