package bootstrap

import (
	"fmt"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// traces are the signs that there is something on the AMI that makes a node of it.
var traces = []console.Sign{
	console.NodeadmRan, console.NodeadmDone, console.NodeadmFailed, console.NodeConfigMissing, console.NodeConfigInvalid,
	console.BootstrapRan, console.BootstrapFailed, console.BootstrapRemoved, console.BottlerocketBooted, console.BottlerocketFailed,
	console.KubeletStarted, console.KubeletFailed,
}

// withoutKubernetes asks whether the AMI has anything that makes a node: EKS's own have.
// Of another one, whatever the user data relies on must show on the console.
func (b *start) withoutKubernetes() {
	image := b.Image()
	if image.Known() && image.Value.EKS {
		b.s.RuledOut(cause.AmiWithoutKubernetes)
		return
	}
	if !image.Settled() {
		b.s.NotChecked(image.Gap(), cause.AmiWithoutKubernetes)
		return
	}
	if b.noConsole(cause.AmiWithoutKubernetes) {
		return
	}
	log := b.Instance().Console.Value
	for _, sign := range traces {
		if log.Has(sign) {
			b.s.RuledOut(cause.AmiWithoutKubernetes)
			return
		}
	}
	named := image.Value.Family != ""
	if f, ok := inLastBoot(log, console.BootstrapMissing); ok {
		b.given(image.Known() && !named, b.bareImage(image, f, "the user data calls /etc/eks/bootstrap.sh, which is not there"))
		return
	}
	f, finished := inLastBoot(log, console.BootFinished)
	if !finished {
		b.s.NotChecked("the console does not show the end of the boot, so what it lacks proves nothing", cause.AmiWithoutKubernetes)
		return
	}
	b.given(image.Known() && !named && b.reliesOnNodeadm(log), b.bareImage(image, f, "its boot finished without a trace of nodeadm, bootstrap.sh or the kubelet"))
}

// reliesOnNodeadm reports whether the absence of nodeadm from the console is its absence
// from the AMI: its units always write there
// (https://github.com/awslabs/amazon-eks-ami, nodeadm-config.service), the user data is a
// NodeConfig, and the console shows a whole boot. What bootstrap.sh prints goes wherever the
// user data sends it.
func (b *start) reliesOnNodeadm(log console.Log) bool {
	if log.OS != al2023 || log.Truncated || log.Boots == 0 || !b.data.Known() {
		return false
	}
	for _, j := range b.data.Value.Joins {
		if j.Tool != userdata.Nodeadm {
			return false
		}
	}
	return b.data.Value.Uses(userdata.Nodeadm)
}

func (b *start) bareImage(image evidence.Fact[evidence.Image], f console.Found, words string) roll.Cause {
	i := b.Config().Value
	seen := consoleEvidence(f, "nodeadm, bootstrap.sh or a kubelet that starts")
	name := i.Image
	if image.Known() {
		name += " (" + image.Value.Name + ")"
		seen = append(seen, roll.Evidence{Source: "AMI", Field: "OwnerId", Observed: image.Value.Owner, Expected: "an AMI of EKS, or one with the same on it"})
	}
	return roll.Cause{
		Code: cause.AmiWithoutKubernetes, Subject: "ami/" + i.Image,
		Summary:  fmt.Sprintf("%s comes from the AMI %s, which EKS does not publish, and %s", b.Finding.Instance, name, words),
		Evidence: seen,
		Fix:      b.newImage(al2023, b.version()),
	}
}

// version is the cluster's Kubernetes version, or the word by which a person finds it.
func (b *start) version() string {
	if v := b.Cluster.Config.Value.Version; v != "" {
		return v
	}
	return "VERSION"
}

// The minor versions of Kubernetes from which on no Amazon Linux 2 AMI is published, and
// from which on a kubelet does not start on cgroup v1, which Amazon Linux 2 has, unless
// failCgroupV1 is off.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html
// https://kubernetes.io/docs/concepts/architecture/cgroups/
const (
	lastWithoutAL2  = 33
	failsOnCgroupV1 = 35
)

// unsupported asks whether the AMI is of a family that the cluster's version has left
// behind.
func (b *start) unsupported() {
	if f, ok := b.cgroupRefused(); ok {
		b.given(true, b.oldFamily("its kubelet does not start on cgroup v1", consoleEvidence(f, "a host with cgroup v2, or failCgroupV1: false")))
		return
	}
	if b.os.family != al2 {
		switch image := b.Image(); {
		case b.os.family == "":
			b.s.NotChecked(b.os.gap, cause.AmiFamilyUnsupported)
		case !image.Settled():
			b.s.NotChecked(image.Gap(), cause.AmiFamilyUnsupported)
		default:
			b.s.RuledOut(cause.AmiFamilyUnsupported)
		}
		return
	}
	told := []roll.Evidence{{Source: b.os.source, Field: b.os.field, Observed: b.os.told, Expected: "Amazon Linux 2023 or Bottlerocket"}}
	if v := b.kubelet(); b.refusesCgroupV1(v) {
		told = append(told, roll.Evidence{Source: v.source, Field: v.field, Observed: v.version, Expected: fmt.Sprintf("older than 1.%d, or failCgroupV1: false", failsOnCgroupV1)})
		b.given(v.sure && b.cgroupUnset(), b.oldFamily(fmt.Sprintf("a kubelet of 1.%d or later does not start there: Amazon Linux 2 has cgroup v1", failsOnCgroupV1), told))
		return
	}
	config := b.Cluster.Config
	if !config.Known() {
		b.s.NotChecked(config.Gap(), cause.AmiFamilyUnsupported)
		return
	}
	minor, ok := minorOf(config.Value.Version)
	if !ok {
		b.s.NotChecked(evidence.AnswerOf+"eks:DescribeCluster lacks the cluster's version", cause.AmiFamilyUnsupported)
		return
	}
	if minor < lastWithoutAL2 {
		b.s.RuledOut(cause.AmiFamilyUnsupported)
		return
	}
	told = append(told, roll.Evidence{Source: "EKS cluster", Field: "version", Observed: config.Value.Version, Expected: fmt.Sprintf("1.%d at most, for which AMIs of Amazon Linux 2 are published", lastWithoutAL2-1)})
	b.given(false, b.oldFamily("no AMI of it is published for "+config.Value.Version+"; an older one joins as long as the versions are not too far apart", told))
}

// refusesCgroupV1 reports whether the kubelet's version does, unless told otherwise.
func (b *start) refusesCgroupV1(v kubeletVersion) bool {
	minor, ok := minorOf(v.version)
	return ok && minor >= failsOnCgroupV1 && !b.cgroupAllowed()
}

// cgroupAllowed reports whether the user data turns failCgroupV1 off.
func (b *start) cgroupAllowed() bool {
	for _, j := range b.joins() {
		if j.Kubelet.FailCgroupV1.Is("false") {
			return true
		}
	}
	return false
}

// cgroupUnset reports whether nothing turns failCgroupV1 off: the user data was read, and
// changes nothing of the kubelet's that is not seen.
func (b *start) cgroupUnset() bool {
	d := b.data
	if !d.Known() || d.Value.Unread() || len(d.Value.Edits) > 0 || len(b.joins()) == 0 {
		return false
	}
	for _, j := range b.joins() {
		f := j.Kubelet.FailCgroupV1
		if j.Conditional || j.Kubelet.FlagsDynamic || f.State != userdata.Absent && !f.Is("true") {
			return false
		}
		if config, ok := j.Kubelet.Flag("config"); ok && config.State != userdata.Absent {
			return false // a configuration of its own
		}
	}
	return true
}

// cgroupRefused is the kubelet's own word on the console that it does not start.
func (b *start) cgroupRefused() (console.Found, bool) {
	log := b.Instance().Console
	if !log.Known() {
		return console.Found{}, false
	}
	return inLastBoot(log.Value, console.CgroupV1Refused)
}

func (b *start) oldFamily(words string, seen []roll.Evidence) roll.Cause {
	i := b.Config().Value
	title := b.os.title()
	if title == "" {
		title = "a system with cgroup v1"
	}
	return roll.Cause{
		Code: cause.AmiFamilyUnsupported, Subject: "ami/" + i.Image,
		Summary:  fmt.Sprintf("%s runs %s (AMI %s): %s", b.Finding.Instance, title, i.Image, words),
		Evidence: seen,
		Fix:      b.newImage(al2023, b.version()),
	}
}
