package network

import (
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// boot returns the instance's user data, or that of another instance that has the same.
func (l *look) boot() evidence.Fact[userdata.Boot] {
	data, _ := l.SameUserData()
	return data
}

// proxied returns whether the node uses a proxy, which then decides about the way out. The node
// certainly uses none (closed) if the console shows a direct connection attempt. The same holds
// if nothing can have set a proxy: the user data is EKS's own, or was followed as a whole and
// runs nothing that it fetches.
func (l *look) proxied() (s state, why string) {
	if _, ok := l.timedOut(); ok {
		return closed, ""
	}
	boot := l.boot()
	switch {
	case boot.State == evidence.Absent:
		return closed, ""
	case boot.Known() && boot.Value.Proxy:
		return open, "user data sets a proxy, and the way through it is not read"
	case boot.Known() && !boot.Value.Unread() && len(boot.Value.Fetches) == 0:
		return closed, ""
	case boot.Known():
		return unsure, "user data runs something that was not followed and may set a proxy"
	}
	if g := l.Group().NodeGroup; g.Known() && g.Value.LaunchTemplate == "" {
		return closed, "" // EKS writes all of the user data
	}
	if n := l.Group().NodeClass; n.Known() && !n.Value.UserData && n.Value.AMIFamily != "Custom" && (n.Value.AMIFamily != "" || n.Value.AMIAlias != "") {
		return closed, "" // Karpenter writes it, for the families that it knows
	}
	return unsure, boot.Missing("user data")
}

// pastProxy reports whether nodeadm certainly calls EC2 directly although scripts of the user data set a
// proxy. nodeadm-config.service runs before cloud-init runs any script, and takes only the variables that
// its NodeConfig sets for all services.
//
//   - https://github.com/awslabs/amazon-eks-ami/blob/main/templates/al2023/runtime/rootfs/etc/systemd/system/nodeadm-config.service
//   - https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/system/environment.go
//   - https://github.com/awslabs/amazon-eks-ami/issues/2128
func (l *look) pastProxy() bool {
	boot := l.boot().Value
	if l.Finding.Kind != roll.Unregistered || !boot.Proxy || l.needsEC2() != open {
		return false
	}
	j := boot.Joins[0]
	return j.Tool == userdata.Nodeadm && !j.Proxied && !boot.Unread() && !boot.Opaque && !slices.Contains(boot.Edits, userdata.ChangesNodeadm)
}

// direct is like proxied, but also doubts custom images, which may have a proxy, as in a VPC
// without another path out. Images with a name of EKS's do not, nor those that EKS or Karpenter
// picks by an alias.
func (l *look) direct() (s state, why string) { return l.doubtImage(l.proxied()) }

func (l *look) doubtImage(s state, why string) (state, string) {
	group, class, image := l.Group().NodeGroup, l.Group().NodeClass, l.Image()
	_, shown := l.timedOut()
	switch {
	case s != closed, shown, group.Known() && group.Value.AMIType != "" && group.Value.AMIType != "CUSTOM", class.Known() && class.Value.AMIAlias != "":
		return s, why
	case !image.Settled():
		return unsure, image.Missing("AMI " + l.i.Image)
	case image.Value.Family == "":
		return unsure, "the AMI " + l.i.Image + " is not one of EKS and may have a proxy of its own"
	}
	return s, why
}

// needsEC2 returns whether the tool that joins the instance calls EC2 for its private DNS name.
// It certainly calls and fails without an answer (open), or certainly does not call (closed).
//
// nodeadm does unless its feature gate InstanceIdNodeName is on. Bottlerocket's pluto does
// unless its settings name the node or use the instance ID. bootstrap.sh does for Kubernetes
// 1.26 and later.
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/status.go
// https://github.com/awslabs/amazon-eks-ami/blob/v20251112/templates/al2/runtime/bin/private-dns-name
// https://github.com/bottlerocket-os/bottlerocket/issues/3064
func (l *look) needsEC2() state {
	boot := l.boot()
	if !boot.Settled() || len(boot.Value.Joins) != 1 {
		return unsure
	}
	unless := func(not bool) state {
		if not {
			return closed
		}
		return open
	}
	switch j := boot.Value.Joins[0]; j.Tool {
	case userdata.Nodeadm, userdata.NodeadmCommand:
		return unless(j.InstanceIDName)
	case userdata.BottlerocketSettings:
		return unless(j.InstanceIDName || j.Kubelet.HostnameOverride.State != userdata.Absent)
	case userdata.BootstrapScript:
		if minor, ok := l.minor(); ok && minor >= 26 && !slices.Contains(boot.Value.Edits, userdata.EditsBootstrapScript) {
			return open
		}
	}
	return unsure
}

// minor returns the kubelet's minor version by the AMI's name.
func (l *look) minor() (int, bool) { return cause.Minor(l.Image().Value.Kubernetes) }
