package bootstrap

import (
	"fmt"
	"strconv"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// How far a kubelet may lag behind the API server, in minor versions.
// https://kubernetes.io/releases/version-skew-policy/
const (
	maxLag    = 3
	maxOldLag = 2 // of kubelets before 1.25
	oldMinor  = 25
)

// kubeletVersion is the version of an instance's kubelet and what tells it. sure: it is
// that of this very kubelet, not of what its group has now.
type kubeletVersion struct {
	version       string
	source, field string
	sure          bool
	gap           string // why there is none
}

// kubelet asks the node, where there is one: the kubelet says itself what it is. Else the
// console, then the name of the AMI, and then the managed node group if EKS picks its AMI.
func (b *start) kubelet() kubeletVersion {
	node, log, image, group := b.Node().Object, b.Instance().Console, b.Image(), b.Group().NodeGroup
	switch {
	case node.Known() && node.Value.KubeletVersion != "":
		return kubeletVersion{node.Value.KubeletVersion, "node", "status.nodeInfo.kubeletVersion", true, ""}
	case b.Finding.Kind != roll.Unregistered && !node.Settled():
		return kubeletVersion{gap: node.Gap()}
	case b.Finding.Kind != roll.Unregistered:
		return kubeletVersion{gap: evidence.AnswerOf + "the Kubernetes API about node " + b.Finding.Node + " lacks its kubelet's version"}
	case log.Known() && log.Value.KubeletVersion != "":
		return kubeletVersion{log.Value.KubeletVersion, "console", "kubelet version", true, ""}
	case image.Known() && image.Value.Kubernetes != "":
		return kubeletVersion{image.Value.Kubernetes, "AMI", "Name", image.Value.EKS, ""}
	case group.Known() && familyOf(group.Value.AMIType) != "" && group.Value.Version != "":
		return kubeletVersion{group.Value.Version, "node group", "version", false, ""}
	case !image.Settled():
		return kubeletVersion{gap: image.Gap()}
	}
	return kubeletVersion{gap: "neither the AMI's name nor the console tells the kubelet's version"}
}

// minorOf is the minor version in text such as v1.35.2-eks-1234567 or 1.35.
func minorOf(version string) (int, bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(version, "v"), "1.")
	digits := rest
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = rest[:i]
	}
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}

// skew looks at whether the kubelet's version fits the control plane's.
func (b *start) skew() cause.Verdict {
	config, v := b.Cluster.Config, b.kubelet()
	version := config.Value.Version
	server, ok := minorOf(version)
	kubelet, known := minorOf(v.version)
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
	case words == "":
		return cause.RuledOut
	}
	return b.given(v.sure && !b.sameImageWorks(), b.inImage().
		Says("the kubelet of %s is 1.%d and the control plane of %s is %s: %s", b.Finding.Instance, kubelet, b.ClusterID.Name, version, words).
		Saw(v.source, v.field, v.version, fmt.Sprintf("1.%d to 1.%d", server-maxLag, server)).
		Saw("EKS cluster", "version", version, fmt.Sprintf("1.%d to 1.%d", kubelet, kubelet+maxLag)).
		Fix(b.newImage(b.likeFamily(), b.version())))
}

// skewed says how a kubelet's version is out of range, "" if it is not.
func skewed(kubelet, server int) string {
	lag := maxLag
	if kubelet < oldMinor {
		lag = maxOldLag
	}
	switch {
	case kubelet > server:
		return "a kubelet must not be newer than the API server"
	case server-kubelet > lag:
		return fmt.Sprintf("a kubelet may be %d minor versions older at most", lag)
	}
	return ""
}

// sameImageWorks reports whether another instance of the same AMI is a healthy node.
func (b *start) sameImageWorks() bool {
	image := b.Config().Value.Image
	return image != "" && b.healthy(func(m evidence.Member) bool { return m.Image == image }) != ""
}

// likeFamily is the family of the AMI to take instead: the same one, or Amazon Linux 2023.
func (b *start) likeFamily() string {
	if b.os.family == bottlerocket || b.os.family == windows {
		return b.os.family
	}
	return al2023
}
