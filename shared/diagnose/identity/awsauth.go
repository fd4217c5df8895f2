package identity

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// What a mapping for nodes should contain. The username is checked against the name under which
// the node registers, and the group of nodes carries its rights. AWS asks for the group of
// bootstrappers too; its own access entries of the type EC2_LINUX give nodes only the other one.
// https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html
// https://kubernetes.io/docs/reference/access-authn-authz/node/
const (
	groupBootstrappers = "system:bootstrappers"
	groupNodes         = "system:nodes"
	groupMasters       = "system:masters"
	userPrefix         = "system:node:"
)

// nodeUsers are the usernames that resolve to a node's name: the instance's private DNS name,
// or its session name, which is its instance ID.
var nodeUsers = []string{"{{EC2PrivateDNSName}}", "{{SessionName}}", "{{SessionNameRaw}}"}

func field(index int, name string) string { return fmt.Sprintf("mapRoles[%d].%s", index, name) }

// awsAuth checks aws-auth for the role.
func (d *door) awsAuth(r evidence.Role, mode string) {
	auth, cluster := d.Cluster.AwsAuth, d.ClusterID.Name
	switch {
	case !auth.Settled():
		d.NotChecked(auth.Gap(), slices.Concat(awsAuthCodes, unmapped)...)
	case auth.Value.Unparseable != "":
		d.Note(cause.AwsAuthUnparseable, d.blocks("cluster/"+cluster).
			Says("mapRoles of aws-auth in %s is not valid YAML, so every role mapping in it is dropped, also that of %s", cluster, r.Name).
			Saw("aws-auth", "mapRoles", auth.Value.Unparseable, "a YAML list of role mappings").
			Fix("kubectl -n kube-system get configmap aws-auth -o jsonpath='{.data.mapRoles}' > mapRoles.yaml   # keep a copy, and find the fault", editAwsAuth))
	default:
		d.RuledOut(cause.AwsAuthUnparseable)
		d.inAwsAuth(r, auth.Value, mode)
	}
}

// inAwsAuth finds what aws-auth says about the role: the effective mapping, or else the defect
// that leaves it without one.
func (d *door) inAwsAuth(r evidence.Role, auth evidence.AwsAuth, mode string) {
	name, cluster := r.Name, d.ClusterID.Name
	effective, mapped := roll.Find(auth.Roles, mappingOf(r))
	withPath, hasPath := roll.Find(auth.Roles, func(m evidence.RoleMapping) bool { return strings.EqualFold(m.ARN, r.ARN) })
	profile, isProfile := roll.Find(auth.Roles, d.ownProfile(r))
	rejected := slices.IndexFunc(auth.Rejected, func(j evidence.RejectedMapping) bool { return sameRole(j.ARN, r.ARN) })
	switch {
	case mapped:
		d.RuledOut(unmapped...)
		d.RuledOut(cause.AwsAuthArnHasPath, cause.AwsAuthArnIsInstanceProfile)
		d.effective(r, auth, effective)
	case hasPath:
		d.Note(cause.AwsAuthArnHasPath, d.defect(r, field(withPath.Index, "rolearn"), withPath.ARN, withoutPath(r.ARN)).
			Says("aws-auth of %s names the role with its IAM path (%s); the authenticator compares without the path, so %s is not mapped", cluster, withPath.ARN, name))
	case isProfile:
		d.Note(cause.AwsAuthArnIsInstanceProfile, d.defect(r, field(profile.Index, "rolearn"), profile.ARN, withoutPath(r.ARN)).
			Says("aws-auth of %s names the instance profile %s where the role belongs, so %s is not mapped", cluster, profile.ARN, name))
	case rejected >= 0:
		j, at := auth.Rejected[rejected], "mapRoles"
		if j.Index >= 0 {
			at = fmt.Sprintf("mapRoles[%d]", j.Index)
		}
		d.RuledOut(cause.ControllerRoleMapped)
		d.Note(cause.NodeRoleNotMapped, d.defect(r, at, j.Why, "a valid mapping of "+withoutPath(r.ARN)).
			Says("the entry of %s in aws-auth of %s is not valid and is dropped (%s)", name, cluster, j.Why))
	case slices.Contains(auth.Users, strings.ToLower(withoutPath(r.ARN))):
		d.RuledOut(awsAuthCodes...)
		d.NotChecked(fmt.Sprintf("aws-auth maps %s under mapUsers: what that gives a node cannot be judged from outside", name), unmapped...)
	default:
		d.RuledOut(awsAuthCodes...)
		d.notMapped(r, mode)
	}
}

// sameRole reports whether both ARNs name one role, as the authenticator compares them:
// ignoring case and path.
func sameRole(a, b string) bool { return strings.EqualFold(withoutPath(a), withoutPath(b)) }

// mappingOf finds the effective mapping of the role.
func mappingOf(r evidence.Role) func(evidence.RoleMapping) bool {
	return func(m evidence.RoleMapping) bool {
		return sameRole(m.ARN, r.ARN) && m.Effective && !m.Path
	}
}

// ownProfile finds a mapping that names the instance's profile, or a profile with the role's
// own name, which the EC2 console creates.
func (d *door) ownProfile(r evidence.Role) func(evidence.RoleMapping) bool {
	p := d.Profile().Value
	return func(m evidence.RoleMapping) bool {
		return m.InstanceProfile && (strings.EqualFold(roll.LastPart(m.ARN), p.Name) || strings.EqualFold(roll.LastPart(m.ARN), r.Name))
	}
}

// effective checks the effective mapping.
func (d *door) effective(r evidence.Role, auth evidence.AwsAuth, m evidence.RoleMapping) {
	name, cluster := r.Name, d.ClusterID.Name
	groups, user := missingGroups(m), nodeUser(m.Username)
	admitted := slices.Contains(m.Groups, groupNodes)
	if admits(m) {
		d.RuledOut(cause.AwsAuthWrongGroups, cause.AwsAuthDuplicateRole) // unless a group is missing
		d.Note(cause.AwsAuthWrongUsername, d.mappedByName(r, m))
		if len(groups) > 0 {
			d.Note(cause.AwsAuthWrongGroups, d.wrongGroups(r, m, "which AWS asks for, though a node registers without it").DecisiveIf(false).Unsettled(""))
		}
		return
	}
	noNode := func(v cause.Verdict) cause.Verdict {
		if !administers(m) {
			return v
		}
		return v.DecisiveIf(false).Unsettled("").Also("; " + groupMasters + " lets its kubelet register all the same")
	}
	// An earlier entry of the same role may be right, and this one replaces it.
	if i := slices.IndexFunc(auth.Roles, func(o evidence.RoleMapping) bool {
		return !o.Effective && sameRole(o.ARN, m.ARN) && admits(o)
	}); i >= 0 {
		d.RuledOut(cause.AwsAuthWrongGroups, cause.AwsAuthWrongUsername)
		d.Note(cause.AwsAuthDuplicateRole, noNode(d.defect(r, fmt.Sprintf("mapRoles[%d] and [%d]", auth.Roles[i].Index, m.Index),
			fmt.Sprintf("username %s, groups %s", m.Username, orNone(m.Groups)), "one mapping of the role, with the groups of a node").
			Says("%s is in aws-auth of %s twice, compared without regard to case; the last one wins, and it is not the mapping of a node", name, cluster)))
		return
	}
	d.RuledOut(cause.AwsAuthDuplicateRole, cause.AwsAuthWrongGroups, cause.AwsAuthWrongUsername) // unless one of them is found
	if !admitted {
		d.Note(cause.AwsAuthWrongGroups, noNode(d.wrongGroups(r, m, "so the API server does not treat it as a node")))
	}
	if !user {
		d.Note(cause.AwsAuthWrongUsername, noNode(d.defect(r, field(m.Index, "username"), m.Username, d.username()).
			Says("aws-auth of %s gives %s the username %s, which is not the name of a node", cluster, name, m.Username)))
	}
}

// wrongGroups returns the cause that groups are missing from the mapping, and what follows.
func (d *door) wrongGroups(r evidence.Role, m evidence.RoleMapping, follows string) cause.Verdict {
	return d.defect(r, field(m.Index, "groups"), orNone(m.Groups), groupBootstrappers+", "+groupNodes).
		Says("aws-auth of %s maps %s without %s, %s", d.ClusterID.Name, r.Name, strings.Join(missingGroups(m), " and "), follows)
}

// mappedByName checks whether the username resolves to the name under which the node registers.
func (d *door) mappedByName(r evidence.Role, m evidence.RoleMapping) cause.Verdict {
	name, shown, gap := d.naming()
	is := usernameNaming(m.Username)
	switch {
	case gap != "":
		return cause.NotChecked(gap)
	case name == "" || name == is, d.Finding.Owner == roll.OwnerAutoMode: // whether aws-auth can let in its nodes is not documented
		return cause.RuledOut
	}
	v := d.defect(r, field(m.Index, "username"), m.Username, d.username()).Shows(shown).
		Says("aws-auth of %s makes %s known by its %s, and %s registers under its %s: a node may register under its own name alone", d.ClusterID.Name, d.Finding.Instance, is, d.Finding.Instance, name)
	if d.sharedBeyond() {
		v = v.Fix("# this renames all nodes of the role; those of other groups that register under another kind of name need another role", d.editEntry(r))
	}
	return d.misnamed(name, v)
}

func missingGroups(m evidence.RoleMapping) []string {
	return slices.DeleteFunc([]string{groupBootstrappers, groupNodes}, func(g string) bool { return slices.Contains(m.Groups, g) })
}

// admits reports whether the mapping makes its role's sessions nodes.
func admits(m evidence.RoleMapping) bool {
	return slices.Contains(m.Groups, groupNodes) && nodeUser(m.Username)
}

// administers reports whether the mapping lets its role's sessions do everything. The API server takes a
// user for a node, which it restricts to its own objects, only by both its name and its group.
//
// - https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
// - https://github.com/kubernetes/kubernetes/blob/master/pkg/auth/nodeidentifier/default.go
func administers(m evidence.RoleMapping) bool {
	isNode := strings.HasPrefix(m.Username, userPrefix) && slices.Contains(m.Groups, groupNodes)
	return slices.Contains(m.Groups, groupMasters) && !isNode
}

func nodeUser(user string) bool {
	name, ok := strings.CutPrefix(user, userPrefix)
	return ok && slices.Contains(nodeUsers, name)
}

// defect returns a cause that lies in the role's aws-auth entry.
func (d *door) defect(r evidence.Role, at, observed, expected string) cause.Verdict {
	return d.blocks("aws-auth/"+d.ClusterID.Name+"/"+withoutPath(r.ARN)).Saw("aws-auth", at, observed, expected).
		Fix(d.editEntry(r))
}

// editEntry returns how to correct the role's aws-auth entry.
func (d *door) editEntry(r evidence.Role) string {
	return paste.Lines(editAwsAuth+"   # so that mapRoles has exactly one entry of the role:", d.entryOf(r))
}

const editAwsAuth = "kubectl -n kube-system edit configmap aws-auth"

// entryOf returns the mapRoles entry that admits the role's nodes.
func (d *door) entryOf(r evidence.Role) string {
	return "#   - rolearn: " + paste.Remark(withoutPath(r.ARN)) + "\n#     username: " + paste.Remark(d.username()) + "\n#     groups: [" + strings.Join(d.nodeGroups(), ", ") + "]"
}
