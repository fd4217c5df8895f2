package bootstrap

import (
	"cmp"
	"fmt"
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// traces are the signs that the AMI has something that makes an instance a node.
var traces = []console.Sign{
	console.NodeadmRan, console.NodeadmDone, console.NodeadmFailed, console.NodeConfigMissing, console.NodeConfigInvalid,
	console.BootstrapRan, console.BootstrapFailed, console.BootstrapRemoved, console.BottlerocketBooted, console.BottlerocketFailed,
	console.KubeletStarted, console.KubeletFailed,
}

// withoutKubernetes checks whether the AMI has anything that makes an instance a node. EKS's
// AMIs do. For another AMI, the console must show what the user data relies on. The console of Windows has
// only what EC2Launch writes about itself and errors of the system's event log
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html).
func (b *start) withoutKubernetes() cause.Verdict {
	image := b.Image()
	if image.Value.EKS {
		return cause.RuledOut
	}
	if !image.Settled() {
		return cause.NotChecked(image.Gap())
	}
	if b.os.family == windows {
		return cause.NotChecked("the console of Windows shows nothing of what makes an instance a node")
	}
	if gap := b.noConsole(); gap != "" {
		return cause.NotChecked(gap)
	}
	missing, lacks := b.sign(console.BootstrapMissing)
	ran := func(s console.Sign) bool { // under set -x, a shell prints the call before it fails to find the script
		return b.log().Has(s) && (s != console.BootstrapRan || !lacks)
	}
	if slices.ContainsFunc(traces, ran) {
		return cause.RuledOut
	}
	bare := image.Known() && image.Value.Family == ""
	if lacks {
		return b.given(bare, b.bareImage(missing, "the user data calls /etc/eks/bootstrap.sh, which is not there"))
	}
	f, finished := b.sign(console.BootFinished)
	if !finished || f.From != "" {
		return cause.NotChecked("the console does not show the end of the boot, so what it lacks proves nothing")
	}
	return b.given(bare && b.reliesOnNodeadm(), b.bareImage(f, "its boot finished without a trace of nodeadm, bootstrap.sh or the kubelet"))
}

// reliesOnNodeadm reports whether nodeadm is missing from the AMI when it is missing from the
// console: its units always write there (https://github.com/awslabs/amazon-eks-ami,
// nodeadm-config.service), the user data is a NodeConfig, and the console shows a whole boot.
// The output of bootstrap.sh goes wherever the user data sends it.
func (b *start) reliesOnNodeadm() bool {
	log, others := b.log(), func(j userdata.Join) bool { return j.Tool != userdata.Nodeadm }
	return log.OS == al2023 && !log.Truncated && log.Boots > 0 && b.data.Value.Uses(userdata.Nodeadm) && !slices.ContainsFunc(b.data.Value.Joins, others)
}

func (b *start) bareImage(f console.Found, words string) cause.Verdict {
	image, name := b.Image(), b.Config().Value.Image
	v := b.inImage().Shows(cause.Line(f, "nodeadm, bootstrap.sh or a kubelet that starts")).Fix(b.newImage(al2023, b.version()))
	if image.Known() {
		name += " (" + image.Value.Name + ")"
		v.Saw("AMI", "OwnerId", image.Value.Owner, "an AMI of EKS, or one with the same on it")
	}
	return v.Says("%s comes from the AMI %s, which EKS does not publish, and %s", b.Finding.Instance, name, words)
}

// version returns the cluster's Kubernetes version, or a placeholder.
func (b *start) version() string { return cmp.Or(b.Cluster.Config.Value.Version, "VERSION") }

// The Kubernetes minor version from which no Amazon Linux 2 AMI is published. And the one from
// which a kubelet does not start on cgroup v1, which Amazon Linux 2 has, unless failCgroupV1 is
// off.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html
// https://kubernetes.io/docs/concepts/architecture/cgroups/
const (
	lastWithoutAL2  = 33
	failsOnCgroupV1 = 35
)

// unsupported checks whether the cluster's version no longer supports the AMI's family.
func (b *start) unsupported() cause.Verdict {
	if f, ok := b.sign(console.CgroupV1Refused); ok {
		return b.given(true, b.oldFamily("its kubelet does not start on cgroup v1").Shows(cause.Line(f, "a host with cgroup v2, or failCgroupV1: false")))
	}
	image := b.Image()
	switch {
	case b.os.family == "":
		return cause.NotChecked(b.os.gap)
	case b.os.family != al2 && !image.Settled():
		return cause.NotChecked(image.Gap())
	case b.os.family != al2:
		return cause.RuledOut
	}
	told := roll.Evidence{Source: b.os.source, Field: b.os.field, Observed: b.os.told, Expected: "Amazon Linux 2023 or Bottlerocket"}
	v := b.kubelet()
	if minor, ok := cause.Minor(v.version); ok && minor >= failsOnCgroupV1 && !b.cgroupAllowed() {
		return b.given(v.sure && b.cgroupUnset(),
			b.oldFamily(fmt.Sprintf("a kubelet of 1.%d or later does not start there: Amazon Linux 2 has cgroup v1", failsOnCgroupV1)).
				Shows(told).Saw(v.source, v.field, v.version, fmt.Sprintf("older than 1.%d, or failCgroupV1: false", failsOnCgroupV1)))
	}
	config := b.Cluster.Config
	version := config.Value.Version
	minor, ok := cause.Minor(version)
	switch {
	case !config.Known():
		return cause.NotChecked(config.Gap())
	case !ok:
		return cause.NotChecked(evidence.AnswerOf + "eks:DescribeCluster lacks the cluster's version")
	case minor < lastWithoutAL2:
		return cause.RuledOut
	case b.sameImageWorks():
		return cause.RuledOut
	}
	return b.given(false, b.oldFamily("no AMI of it is published for "+version+"; an older one joins as long as the versions are not too far apart").
		Shows(told).Saw("EKS cluster", "version", version, fmt.Sprintf("1.%d at most, for which AMIs of Amazon Linux 2 are published", lastWithoutAL2-1)))
}

// cgroupAllowed reports whether the user data turns failCgroupV1 off.
func (b *start) cgroupAllowed() bool {
	return slices.ContainsFunc(b.joins(), func(j userdata.Join) bool { return j.Kubelet.FailCgroupV1.Is("false") })
}

// cgroupUnset reports whether nothing turns failCgroupV1 off: the user data was read and makes
// no hidden change to the kubelet.
func (b *start) cgroupUnset() bool {
	d := b.data
	if !d.Known() || d.Value.Unread() || len(d.Value.Edits) > 0 || len(b.joins()) == 0 {
		return false
	}
	return !slices.ContainsFunc(b.joins(), func(j userdata.Join) bool {
		own, _ := j.Kubelet.Flag("config")
		f := j.Kubelet.FailCgroupV1
		return j.Conditional || j.Kubelet.FlagsDynamic || f.State != userdata.Absent && !f.Is("true") || own.State != userdata.Absent
	})
}

func (b *start) oldFamily(words string) cause.Verdict {
	return b.inImage().
		Says("%s runs %s (AMI %s): %s", b.Finding.Instance, cmp.Or(b.os.of().title, "a system with cgroup v1"), b.Config().Value.Image, words).
		Fix(b.newImage(al2023, b.version()))
}

// maxLag is how far a kubelet may be behind the API server, in minor versions. Kubelets before 1.25, which
// may be two behind, are further behind than that in every version that EKS has.
// https://kubernetes.io/releases/version-skew-policy/
const maxLag = 3

// kubeletVersion is the version of an instance's kubelet and its source. sure: it is the
// version of this very kubelet, not of what its group has now.
type kubeletVersion struct {
	version       string
	source, field string
	sure          bool
	gap           string // why there is none
}

// kubelet returns the kubelet's version. It reads the node if there is one, since the kubelet
// reports its own version. Otherwise it reads the console, then the AMI's name, and then the
// managed node group if EKS picks its AMI.
func (b *start) kubelet() kubeletVersion {
	node, log, image, group := b.Node().Object, b.Instance().Console, b.Image(), b.Group().NodeGroup
	switch {
	case node.Value.KubeletVersion != "":
		return kubeletVersion{node.Value.KubeletVersion, "node", "status.nodeInfo.kubeletVersion", true, ""}
	case b.Finding.Kind != roll.Unregistered && !node.Settled():
		return kubeletVersion{gap: node.Gap()}
	case b.Finding.Kind != roll.Unregistered:
		return kubeletVersion{gap: evidence.AnswerOf + "the Kubernetes API about node " + b.Finding.Node + " lacks its kubelet's version"}
	case log.Value.KubeletVersion != "":
		return kubeletVersion{log.Value.KubeletVersion, "console", "kubelet version", true, ""}
	case image.Value.Kubernetes != "":
		return kubeletVersion{image.Value.Kubernetes, "AMI", "Name", image.Value.EKS, ""}
	case familyOf(group.Value.AMIType) != "" && group.Value.Version != "":
		return kubeletVersion{group.Value.Version, "node group", "version", false, ""}
	case !image.Settled():
		return kubeletVersion{gap: image.Gap()}
	}
	return kubeletVersion{gap: "neither the AMI's name nor the console shows the kubelet's version"}
}

// skew checks whether the kubelet's version fits the control plane's. That is a policy: neither the API server nor the
// kubelet enforces it, and kubelets that are newer, or older than it allows, register and work.
// https://kubernetes.io/releases/version-skew-policy/
// https://github.com/awslabs/amazon-eks-ami/issues/2119
func (b *start) skew() cause.Verdict {
	config, v := b.Cluster.Config, b.kubelet()
	version := config.Value.Version
	server, ok := cause.Minor(version)
	kubelet, known := cause.Minor(v.version)
	words, image := skewed(kubelet, server), b.Image()
	switch {
	case !config.Known():
		return cause.NotChecked(config.Gap())
	case v.version == "":
		return cause.NotChecked(v.gap)
	case version == "":
		return cause.NotChecked(evidence.AnswerOf + "eks:DescribeCluster lacks the cluster's version")
	case !ok || !known:
		return cause.NotChecked(fmt.Sprintf("the versions %q of the cluster and %q of the kubelet cannot be compared", version, v.version))
	case words == "" && v.source == "node group" && !image.Settled():
		return cause.NotChecked(image.Gap()) // the AMI may be older than what the group has now
	case words == "" || b.sameImageWorks():
		return cause.RuledOut
	}
	return b.given(false, b.inImage().
		Says("the kubelet of %s is 1.%d and the control plane of %s is %s: %s; nothing enforces it, and such nodes were seen to join", b.Finding.Instance, kubelet, b.ClusterID.Name, version, words).
		Saw(v.source, v.field, v.version, fmt.Sprintf("1.%d to 1.%d", server-maxLag, server)).
		Saw("EKS cluster", "version", version, fmt.Sprintf("1.%d to 1.%d", kubelet, kubelet+maxLag)).
		Fix(b.newImage(b.likeFamily(), b.version())))
}

// skewed returns how a kubelet's version is out of range, "" if it is not.
func skewed(kubelet, server int) string {
	switch {
	case kubelet > server:
		return "a kubelet must not be newer than the API server"
	case server-kubelet > maxLag:
		return fmt.Sprintf("a kubelet may be %d minor versions older at most", maxLag)
	}
	return ""
}

// sameImageWorks reports whether another instance of the same AMI is a healthy node.
func (b *start) sameImageWorks() bool {
	image := b.Config().Value.Image
	return image != "" && b.healthy(func(m evidence.Member) bool { return m.Image == image }) != ""
}

// likeFamily returns the family of the AMI to use instead: the same one, or Amazon Linux 2023.
func (b *start) likeFamily() string {
	if b.os.family == bottlerocket || b.os.family == windows {
		return b.os.family
	}
	return al2023
}
