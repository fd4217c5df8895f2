package network

import (
	"slices"
	"strconv"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
)

// needsEC2 tells whether what joins the instance to the cluster certainly asks EC2 for
// the instance's private DNS name and gives up without an answer (open), or certainly
// does not (closed).
//
// nodeadm does unless its feature gate InstanceIdNodeName is on, Bottlerocket's pluto
// unless its settings name the node or take the instance's id, and bootstrap.sh does for
// Kubernetes 1.26 and later.
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/status.go
// https://github.com/awslabs/amazon-eks-ami/blob/v20251112/templates/al2/runtime/bin/private-dns-name
// https://github.com/bottlerocket-os/bottlerocket/issues/3064
func (l *look) needsEC2() state {
	boot := l.boot()
	if !boot.Settled() || len(boot.Value.Joins) > 1 {
		return unsure
	}
	if len(boot.Value.Joins) == 0 {
		return unsure
	}
	j := boot.Value.Joins[0]
	switch j.Tool {
	case userdata.Nodeadm, userdata.NodeadmCommand:
		return opposite(j.InstanceIDName)
	case userdata.BottlerocketSettings:
		return opposite(j.InstanceIDName || j.Kubelet.HostnameOverride.State != userdata.Absent)
	case userdata.BootstrapScript:
		if minor, ok := l.minor(); ok && minor >= 26 && !slices.Contains(boot.Value.Edits, userdata.EditsBootstrapScript) {
			return open
		}
	}
	return unsure
}

func opposite(not bool) state {
	if not {
		return closed
	}
	return open
}

// minor is the minor version of the kubelet that the AMI's name tells.
func (l *look) minor() (int, bool) {
	image := l.Image()
	if !image.Known() {
		return 0, false
	}
	return minorOf(image.Value.Kubernetes)
}

func minorOf(version string) (int, bool) {
	_, minor, ok := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	return n, ok && err == nil
}

// oldKubelet: the kubelet certainly is one that starts AWS's cloud provider itself,
// which Kubernetes 1.27 dropped: its AMI says so, or does not tell, and no kubelet may be
// newer than the control plane.
// https://kubernetes.io/releases/version-skew-policy/
func (l *look) oldKubelet() bool {
	const last = 26
	if n, ok := l.minor(); ok {
		return n < last // EKS's AMIs of 1.26 use the external one already
	}
	n, ok := minorOf(l.k.Version)
	return ok && n < last && l.Image().Known()
}

// serves reports that a VPC endpoint is one of the service, such as ecr.api, in the
// region. The names begin with com.amazonaws, in China with cn.com.amazonaws.
// https://github.com/aws/aws-cdk/pull/25333
func (l *look) serves(e evidence.VPCEndpoint, service string) bool {
	return strings.HasSuffix(e.Service, "."+l.Region+"."+service)
}
