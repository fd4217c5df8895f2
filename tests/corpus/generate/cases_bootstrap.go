package generate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"time"
)

// bootstrapCases are about user data: its format, and which cluster it is for.
func bootstrapCases() []Case {
	// texted is a case in which an instance of a group has other user data.
	texted := func(g Group, code, text string) func(*Bundle, healthy) *verdict {
		return func(b *Bundle, _ healthy) *verdict {
			m := b.Unregistered(g)
			b.retext(m, text)
			return unregistered(m, code)
		}
	}
	own := BatchGroup // a launch template that names its AMI
	own.Custom = true
	return []Case{
		{
			Name: "bootstrap-sh-on-al2023", Class: Broken,
			Why:     "The user data still calls /etc/eks/bootstrap.sh, which AL2023 images do not have.",
			Sources: []string{docAL2023, "https://github.com/awslabs/amazon-eks-ami/issues/1885", "https://github.com/awslabs/amazon-eks-ami/issues/2426"},
			Build:   texted(own, "UserDataWrongFormat", bootstrapData("--apiserver-endpoint "+Endpoint+" --b64-cluster-ca "+CA)),
		},
		{
			Name: "bootstrap-sh-beside-a-nodeconfig", Class: Misleading,
			Why:     "The user data calls bootstrap.sh in vain and has a NodeConfig too, with which nodeadm joins. The role has no access entry.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/1701", docNodeadm},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(own)
				b.retext(m, multipart(part(shellPart, "#!/bin/bash\n/etc/eks/bootstrap.sh "+Cluster+" || true\n"), part(nodeConfigPart, nodeConfig(Cluster, CA))))
				b.unmap(own)
				return unregistered(m, "NodeRoleNotMapped")
			},
		},
		{
			Name: "nodeconfig-on-al2", Class: Broken,
			Why:     "A NodeConfig for nodeadm on an AL2 image, which has no nodeadm: nothing runs there.",
			Sources: []string{docNodeadm, docTemplates},
			Build:   texted(Reports, "UserDataWrongFormat", nodeadmData(Cluster, CA)),
		},
		{
			Name: "toml-on-al2023", Class: Broken,
			Why:     "Settings for Bottlerocket on an AL2023 image.",
			Sources: []string{docTemplates, docNodeadm},
			Build:   texted(own, "UserDataWrongFormat", bottlerocketData(Cluster)),
		},
		{
			Name: "mime-on-bottlerocket", Class: Broken,
			Why:     "Bottlerocket reads TOML alone; a MIME document with a NodeConfig in it stops the boot.",
			Sources: []string{"https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3476", "https://github.com/aws/karpenter-provider-aws/issues/3536"},
			Build: func(b *Bundle, _ healthy) *verdict {
				g := own
				g.Image, g.Name, g.Template = imageBottlerocket, "locked", "lt-0bb00000000000000"
				m := b.Unregistered(g)
				b.retext(m, nodeadmData(Cluster, CA))
				return unregistered(m, "UserDataWrongFormat", "UserDataUnparseable")
			},
		},
		{
			Name: "nodeconfig-with-broken-yaml", Class: Broken,
			Why:     "A line of the NodeConfig is indented too little and has lost its colon.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/1701", docNodeadm},
			Build:   texted(own, "UserDataUnparseable", strings.Replace(nodeadmData(Cluster, CA), "    name: "+Cluster, "    name "+Cluster+"\n   : oops", 1)),
		},
		{
			Name: "mime-part-without-an-empty-line", Class: Broken,
			Why:     "A MIME part begins right after its header, without an empty line: what follows is read as headers and fails.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/2318", docTemplates},
			Build: texted(own, "UserDataUnparseable", multipart(part(nodeConfigPart, nodeConfig(Cluster, CA)),
				"Content-Type: "+shellPart+"\n#!/bin/bash\nset -ex\n")),
		},
		{
			Name: "bottlerocket-with-broken-toml", Class: Broken,
			Why:     "A taint's key and value stand without quotes, which is no TOML.",
			Sources: []string{"https://github.com/aws/karpenter-provider-aws/issues/1404", "https://github.com/bottlerocket-os/bottlerocket/issues/1346"},
			Build: func(b *Bundle, _ healthy) *verdict {
				g := Batch
				g.Image = imageBottlerocket
				m := b.Unregistered(g)
				b.retext(m, bottlerocketData(Cluster)+"example.com/requires-x86=:NoSchedule\n")
				return unregistered(m, "UserDataUnparseable")
			},
		},
		{
			Name: "cluster-name-in-other-letters", Class: Broken,
			Why:     "The cluster is payments and the user data says Payments: names are compared letter by letter.",
			Sources: []string{repostJoin, docTroubleshooting},
			Build:   texted(own, "UserDataClusterMismatch", nodeadmData("Payments", CA)),
		},
		{
			Name: "authority-of-another-cluster", Class: Broken,
			Why:     "Name and endpoint are right and the certificate authority is the staging cluster's: the kubelet does not trust what answers.",
			Sources: []string{docTemplates, docNodeadm},
			Build:   texted(own, "UserDataClusterMismatch", nodeadmData(Cluster, OtherCA)),
		},
		{
			Name: "endpoint-of-the-cluster-before", Class: Broken,
			Why:     "The cluster was made anew under its old name and has another endpoint and authority; the template kept the old ones.",
			Sources: []string{docTemplates, repostNodeGroup},
			Build: texted(Reports, "UserDataClusterMismatch", bootstrapData(
				"--apiserver-endpoint https://00112233445566778899AABBCCDDEEFF.gr7.eu-west-1.eks.amazonaws.com --b64-cluster-ca "+OtherCA)),
		},
		{
			Name: "template-without-user-data", Class: Broken,
			Why:     "A launch template with an AMI of its own and no user data: EKS adds none then, and nothing joins.",
			Sources: []string{docTemplates, repostNodeGroup},
			Build:   texted(own, "UserDataEmpty", ""),
		},
		{
			Name: "user-data-over-16-kilobytes", Class: Broken,
			Why:     "EC2 takes 16 KB of user data at most; this has grown beyond.",
			Sources: []string{docUserData},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.retext(m, multipart(part(shellPart, "#!/bin/bash\n"+strings.Repeat("# allowed: 192.0.2.0/24\n", 720)), part(nodeConfigPart, nodeConfig(Cluster, CA))))
				return unregistered(m, "UserDataTooLarge")
			},
		},
		{
			Name: "user-data-in-base64-twice", Class: Misleading,
			Why:     "The user data was encoded twice. nodeadm decodes what is left, so nothing is proven.",
			Sources: []string{"https://github.com/canonical/cloud-init/issues/3712", "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/configprovider/userdata.go"},
			Build:   texted(own, "", base64.StdEncoding.EncodeToString([]byte(nodeadmData(Cluster, CA)))),
		},
		{
			Name: "user-data-in-base64-twice-for-another-cluster", Class: Broken,
			Why:     "Behind the second base64 stands the name of another cluster.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/configprovider/userdata.go", docTemplates},
			Build:   texted(own, "UserDataClusterMismatch", base64.StdEncoding.EncodeToString([]byte(nodeadmData("payments-staging", CA)))),
		},
		{
			Name: "user-data-in-gzip", Class: Misleading,
			Why:     "The user data is compressed, which cloud-init and nodeadm undo. The role has no access entry.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/1734", docCloudInit},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(own)
				b.retext(m, zipped(nodeadmData(Cluster, CA)))
				b.unmap(own)
				return unregistered(m, "NodeRoleNotMapped")
			},
		},
		{
			Name: "private-cluster-without-arguments", Class: Broken,
			Why:     "The endpoint is private, the subnet has no way out and no endpoint of the EKS API, and bootstrap.sh is not told what it would have to ask there.",
			Sources: []string{docPrivate, "https://github.com/aws/containers-roadmap/issues/745"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.privately(Reports)
				b.retext(m, bootstrapData(""))
				return unregistered(m, "UserDataPrivateClusterArgs")
			},
		},
		{
			Name: "private-cluster-with-arguments", Class: Misleading,
			Why:     "The same cut-off subnet, and bootstrap.sh is told endpoint and authority. The role is in no store.",
			Sources: []string{docPrivate, docAccessEntries},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.privately(Reports)
				b.unmap(Reports)
				return unregistered(m, "NodeRoleNotMapped")
			},
		},
		{
			Name: "taints-in-flag-and-file", Class: Broken,
			Why:     "A taint in the kubelet's flags hides those in its file, so Karpenter's own never comes; before 1.3 Karpenter waits for it for ever.",
			Sources: []string{"https://github.com/aws/karpenter-provider-aws/issues/7486", docNodeClasses},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.untainted()
				b.UserData[m.ID] = strings.Replace(karpenterData(Batch), "    flags:\n", "    flags:\n    - --register-with-taints=dedicated=batch:NoSchedule\n", 1)
				b.taint(m, "dedicated", "NoSchedule")
				return finds(m, "Uninitialized", "UserDataTaintConflict", "StartupTaintMissing")
			},
		},
		{
			Name: "custom-image-without-the-startup-taint", Class: Broken,
			Why:     "Family Custom, and the kubelet's flags do not name karpenter.sh/unregistered; Karpenter before 1.3 refuses the node.",
			Sources: []string{"https://github.com/kubernetes-sigs/karpenter/issues/1635", "https://github.com/aws/karpenter-provider-aws/issues/6821", docNodeClasses},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.untainted()
				b.UserData[m.ID] = nodeadmData(Cluster, CA)
				class := b.NodeClasses[len(b.NodeClasses)-1]["spec"].(object)
				class["amiFamily"], class["userData"] = "Custom", b.UserData[m.ID]
				return finds(m, "Uninitialized", "StartupTaintMissing")
			},
		},
		{
			Name: "startup-taint-missing-since-karpenter-1-3", Class: Misleading,
			Why:     "Karpenter tells of the missing taint and goes on all the same; what the node lacks is the CNI, whose pod crashes.",
			Sources: []string{"https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go", docNodeClaims},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Batch, 26*time.Minute)
				b.Join(m, 25*time.Minute)
				b.neverReady(m)
				b.claimEvent(m, "UnregisteredTaintMissing", "Missing karpenter.sh/unregistered taint which prevents registration related race conditions on Karpenter-managed nodes", "Warning", 25*time.Minute)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady", "StartupTaintMissing")
			},
		},
	}
}

// zipped compresses a text, without compression: its bytes then do not depend on the
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

// privately launches an instance of a private cluster, in a subnet from which only the
// endpoints of what every node needs are reached, and not that of EKS.
func (b *Bundle) privately(g Group) *Machine {
	b.endpoint(false, true)
	b.aside()
	b.privateEndpoint(clusterGroup, "ec2", "ecr.api", "ecr.dkr", "s3", "sts")
	m := b.Unregistered(g)
	m.moved()
	return m
}

// untainted is a node that Karpenter before 1.3 did not take for its own, since it came
// without the startup taint.
func (b *Bundle) untainted() *Machine {
	m := b.Launch(Sick, "10.0.41.21", "a", Batch, 26*time.Minute)
	b.Join(m, 25*time.Minute)
	m.unlabel("karpenter.sh/registered")
	m.unlabel("karpenter.sh/initialized")
	b.claimSays(m, "Registered", "False", "UnregisteredTaintNotFound", "Invariant violated, karpenter.sh/unregistered taint must be present on Karpenter-managed nodes", 25*time.Minute)
	b.claimSays(m, "Initialized", "Unknown", "NotRegistered", "", 25*time.Minute)
	b.claimSays(m, "Ready", "False", "UnhealthyDependents", "Registered=False, Initialized=Unknown", 25*time.Minute)
	return m
}
