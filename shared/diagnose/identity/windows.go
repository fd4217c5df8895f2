package identity

import (
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
)

// groupWindows carries the right that kube-proxy needs on a Windows node. An access entry of the
// type EC2_WINDOWS has it, one of the type EC2_LINUX lacks it. The kubelet registers all the same,
// and the node has no working network for pods.
//
// - https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html
// - https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3286
const groupWindows = "eks:kube-proxy-windows"

// windowsCodes are the codes about the mapping of a Windows node that registered.
var windowsCodes = []cause.Code{cause.AccessEntryWrongType, cause.AwsAuthWrongGroups}

// ofWindows reports whether the instance runs Windows.
func (d *door) ofWindows() bool { return d.Config().Value.Platform == "windows" }

// windows checks whether the role of a Windows node that waits for its network is mapped as that of
// a Windows node.
func (d *door) windows() {
	role, mode := d.Role(), d.mode()
	switch gap := d.Unexplained(); {
	case !d.Node().Object.Known():
		for _, code := range windowsCodes {
			d.Note(code, d.NoNode())
		}
		return
	case gap != "":
		d.NotChecked(gap, windowsCodes...)
		return
	case !d.waitsForCNI():
		d.RuledOut(windowsCodes...)
		return
	case !role.Known():
		d.NotChecked(role.Missing("role"), windowsCodes...)
		return
	case !mode.Known():
		d.NotChecked(mode.Gap(), windowsCodes...)
		return
	}
	auth, r := d.Cluster.AwsAuth, role.Value
	if mode.Value != modeConfigMap {
		switch e, has := d.ownEntry(r); {
		case !e.Settled(), has && !e.Known():
			d.NotChecked(e.Gap(), windowsCodes...)
			return
		case has:
			d.RuledOut(cause.AwsAuthWrongGroups)
			d.Note(cause.AccessEntryWrongType, d.windowsEntry(r, e.Value))
			return
		case mode.Value == modeAPI:
			d.RuledOut(windowsCodes...)
			return
		}
	}
	d.RuledOut(cause.AccessEntryWrongType)
	if !auth.Settled() {
		d.NotChecked(auth.Gap(), cause.AwsAuthWrongGroups)
		return
	}
	d.Note(cause.AwsAuthWrongGroups, d.windowsGroups(r, auth.Value))
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
	i := slices.IndexFunc(auth.Roles, mappingOf(r))
	if i < 0 || slices.Contains(auth.Roles[i].Groups, groupWindows) {
		return cause.RuledOut
	}
	m := auth.Roles[i]
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
