package network

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// accused is what a cause accuses, and which healthy instances share it.
type accused struct {
	what   string
	shares func(*look, evidence.Member) bool
	// anywhere: nodes of other groups in the VPC share it too.
	anywhere bool
	// at once: a change takes effect on every node at once. Of anything else a node may have joined
	// before it changed, and keep its connection.
	atOnce bool
}

// What is missing from EC2's answer may be the same. Another version of the launch template may set a
// proxy.
var (
	same       = func(a, b string) bool { return a == b || a == "" }
	sameVPC    = func(l *look, m evidence.Member) bool { return same(m.VPC, l.i.VPC) }
	sameSubnet = func(l *look, m evidence.Member) bool {
		return same(m.Subnet, l.i.Subnet) && m.Public == (l.i.PublicIP != "") && same(m.LaunchTemplate, l.i.LaunchTemplate) && same(m.LaunchTemplateVersion, l.i.LaunchTemplateVersion)
	}
	sameFirewall = func(l *look, m evidence.Member) bool {
		theirs, own := slices.Sorted(slices.Values(m.SecurityGroups)), slices.Sorted(slices.Values(l.i.SecurityGroups))
		return sameSubnet(l, m) && (len(theirs) == 0 || slices.Equal(theirs, own))
	}
	untagged = func(l *look, m evidence.Member) bool { return !slices.Contains(m.ClusterTags, l.clusterName()) }
)

// shared lists what the causes accuse. A healthy instance that shares it speaks against them. The
// others accuse what is the instance's own, or what those had already that joined before: its
// metadata options, the free addresses of a subnet.
var shared = map[cause.Code]accused{
	// Who connects another VPC with that of the cluster may have nodes in it.
	cause.WrongVpc:                {"VPC", sameVPC, true, true},
	cause.DnsDisabled:             {"VPC", sameVPC, true, false},
	cause.DhcpOptionsWrong:        {"DHCP options", sameVPC, true, false},
	cause.ApiEndpointUnreachable:  {"route table", sameSubnet, false, true},
	cause.NaclBlocksApi:           {"network ACL", sameSubnet, false, true},
	cause.PublicAccessCidrBlocked: {"way out", sameSubnet, false, false},
	cause.SecurityGroupBlocksApi:  {"security groups", sameFirewall, false, false},
	cause.VpcEndpointMissing:      {"VPC endpoints", sameFirewall, false, false},
	cause.ClusterTagMissing:       {"missing tag", untagged, false, true},
}

// against weakens a verdict against which a healthy instance speaks that shares what it accuses: what
// is proven becomes a hint, and a hint is not checked. A hint at settings is about nothing else than
// whether they work, so that any instance speaks against it that works with them.
func (l *look) against(code cause.Code, v cause.Verdict) cause.Verdict {
	a, found := shared[code], v.Confidence()
	if a.what == "" || found == "" {
		return v
	}
	var since time.Time
	if static := found == roll.Suggestive && a.anywhere; !a.atOnce && !static {
		since = l.Onset()
	}
	who := l.fellow(a, since)
	switch {
	case who == "":
		return v
	case found == roll.Suggestive:
		return cause.NotChecked(fmt.Sprintf("%s has the same %s and is a healthy node, so this is probably not the cause; whether it would let another one in now is not read", who, a.what))
	case code == cause.ClusterTagMissing: // its kubelet asks for the tag
		return v
	}
	return v.DecisiveIf(false).Saw("instance "+string(who), a.what, "the same, and it is a healthy node", "no node that works with it")
}

// fellow returns a healthy instance that shares what is accused, and joined after the time.
func (l *look) fellow(a accused, since time.Time) roll.InstanceID {
	if m, ok := l.Fellow(func(m evidence.Member) bool {
		return m.Described && (since.IsZero() || m.Joined.After(since)) && a.shares(l, m)
	}); ok {
		return m.Instance
	}
	if a.anywhere {
		for _, s := range l.Sound {
			if s.VPC == l.i.VPC && s.Latest != l.Finding.Instance && (since.IsZero() || s.Joined.After(since)) {
				return s.Latest
			}
		}
	}
	return ""
}
