package identity

import (
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// groupWindows carries the right that kube-proxy needs on a Windows node. An access entry of the
// type EC2_WINDOWS has it, one of the type EC2_LINUX lacks it. The kubelet registers all the same,
// and the node has no working network for pods.
//
// - https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html
// - https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3286
const groupWindows = "eks:kube-proxy-windows"

// ofWindows reports whether the instance runs Windows.
func (d *door) ofWindows() bool { return d.Config().Value.Platform == "windows" }

// windows checks whether the role of a Windows node that waits for its network is mapped as that of
// a Windows node, by its access entry or by aws-auth.
func (d *door) windows() (entry, groups cause.Verdict) {
	both := func(v cause.Verdict) (entry, groups cause.Verdict) { return v, v }
	role, mode, auth := d.Role(), d.mode(), d.Cluster.AwsAuth
	switch gap := d.Unexplained(); {
	case !d.Node().Object.Known():
		return both(d.NoNode())
	case gap != "":
		return both(cause.NotChecked(gap))
	case !d.waitsForCNI():
		return both(cause.RuledOut)
	case !role.Known():
		return both(cause.Missing(role, "role"))
	case !mode.Known():
		return both(cause.NotChecked(mode.Gap()))
	}
	if mode.Value != modeConfigMap {
		switch e, has := d.ownEntry(role.Value); {
		case !e.Settled(), has && !e.Known():
			return both(cause.NotChecked(e.Gap()))
		case has && (mode.Value == modeAPI || !d.passedOver(role.Value, e.Value)):
			return d.windowsEntry(role.Value, e.Value), cause.RuledOut
		case mode.Value == modeAPI:
			return both(cause.RuledOut)
		}
	}
	if !auth.Settled() {
		return cause.RuledOut, cause.NotChecked(auth.Gap())
	}
	return cause.RuledOut, d.windowsGroups(role.Value, auth.Value)
}

func (d *door) windowsEntry(r evidence.Role, e evidence.AccessEntry) cause.Verdict {
	if e.Type != "EC2_LINUX" {
		return cause.RuledOut
	}
	return d.blocks("access-entry/"+r.ARN).
		Says("the access entry of %s in %s has the type EC2_LINUX, and node %s runs Windows: the entry lacks the group %s, without which its pods have no network; the type of an entry cannot be changed", r.Name, d.ClusterID.Name, d.Finding.Node, groupWindows).
		Saw("access entry", "type", e.Type, "EC2_WINDOWS").
		Saw("EC2", "Platform", "windows", "a system for which an entry of that type is").
		Fix(d.newEntry(r.ARN, true))
}

func (d *door) windowsGroups(r evidence.Role, auth evidence.AwsAuth) cause.Verdict {
	m, mapped := roll.Find(auth.Roles, mappingOf(r))
	if !mapped || slices.Contains(m.Groups, groupWindows) {
		return cause.RuledOut
	}
	return d.defect(r, field(m.Index, "groups"), orNone(m.Groups), strings.Join(d.nodeGroups(), ", ")).
		Says("aws-auth of %s maps %s without %s, and node %s runs Windows: without that group its pods have no network", d.ClusterID.Name, r.Name, groupWindows, d.Finding.Node)
}

// nodeGroups returns the groups of a mapping that admits the node.
func (d *door) nodeGroups() []string {
	groups := []string{groupBootstrappers, groupNodes}
	if d.ofWindows() {
		groups = append(groups, groupWindows)
	}
	return groups
}
