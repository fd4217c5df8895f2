package identity

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// What a mapping for nodes must say. The username is checked against the name under
// which the node registers, and the groups carry its rights.
// https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html
const (
	groupBootstrappers = "system:bootstrappers"
	groupNodes         = "system:nodes"
	userPrefix         = "system:node:"
)

// nodeUsers are the usernames that become the name of a node: that of the instance's
// private DNS name, or of its session, which is its instance id.
var nodeUsers = []string{"{{EC2PrivateDNSName}}", "{{SessionName}}", "{{SessionNameRaw}}"}

func field(index int, name string) string { return fmt.Sprintf("mapRoles[%d].%s", index, name) }

// awsAuth looks for the role in aws-auth.
func (d *door) awsAuth(r evidence.Role, mode string) {
	auth := d.Cluster.AwsAuth
	switch {
	case !auth.Settled():
		d.s.NotChecked(auth.Gap(), append(slices.Clone(awsAuthCodes), unmapped...)...)
		return
	case auth.State == evidence.Absent:
		d.s.RuledOut(awsAuthCodes...)
		d.notMapped(r, mode)
		return
	case auth.Value.Unparseable != "":
		d.found(roll.Cause{
			Code: cause.AwsAuthUnparseable, Subject: "cluster/" + d.ClusterID.Name,
			Summary:  fmt.Sprintf("mapRoles of aws-auth in %s is not valid YAML, so every role mapping in it is dropped, also that of %s", d.ClusterID.Name, r.Name),
			Evidence: []roll.Evidence{{Source: "aws-auth", Field: "mapRoles", Observed: auth.Value.Unparseable, Expected: "a YAML list of role mappings"}},
			Fix:      "kubectl -n kube-system get configmap aws-auth -o jsonpath='{.data.mapRoles}' > mapRoles.yaml   # keep a copy, and find the fault\nkubectl -n kube-system edit configmap aws-auth",
		})
		return
	}
	d.s.RuledOut(cause.AwsAuthUnparseable)
	d.inAwsAuth(r, auth.Value, mode)
}

// inAwsAuth finds what aws-auth says of the role: the mapping that counts, or else the
// defect for which none does.
func (d *door) inAwsAuth(r evidence.Role, auth evidence.AwsAuth, mode string) {
	own := func(m evidence.RoleMapping) bool { return sameRole(m.ARN, r.ARN) && !m.InstanceProfile }
	effective := slices.IndexFunc(auth.Roles, func(m evidence.RoleMapping) bool { return own(m) && m.Effective && !m.Path })
	if effective >= 0 {
		d.s.RuledOut(unmapped...)
		d.s.RuledOut(cause.AwsAuthArnHasPath, cause.AwsAuthArnIsInstanceProfile)
		d.effective(r, auth, auth.Roles[effective])
		return
	}
	if i := slices.IndexFunc(auth.Roles, func(m evidence.RoleMapping) bool { return m.Path && strings.EqualFold(m.ARN, r.ARN) }); i >= 0 {
		m := auth.Roles[i]
		d.found(d.defect(r, cause.AwsAuthArnHasPath, field(m.Index, "rolearn"), m.ARN, withoutPath(r.ARN),
			fmt.Sprintf("aws-auth of %s names the role with its IAM path (%s); the authenticator compares without the path, so %s is not mapped", d.ClusterID.Name, m.ARN, r.Name)))
		return
	}
	if i := slices.IndexFunc(auth.Roles, d.ownProfile(r)); i >= 0 {
		m := auth.Roles[i]
		d.found(d.defect(r, cause.AwsAuthArnIsInstanceProfile, field(m.Index, "rolearn"), m.ARN, withoutPath(r.ARN),
			fmt.Sprintf("aws-auth of %s names the instance profile %s where the role belongs, so %s is not mapped", d.ClusterID.Name, m.ARN, r.Name)))
		return
	}
	if i := slices.IndexFunc(auth.Rejected, func(j evidence.RejectedMapping) bool { return sameRole(j.ARN, r.ARN) }); i >= 0 {
		d.rejected(r, auth.Rejected[i])
		return
	}
	d.s.RuledOut(awsAuthCodes...)
	if slices.Contains(auth.Users, strings.ToLower(withoutPath(r.ARN))) {
		d.s.NotChecked(fmt.Sprintf("aws-auth maps %s under mapUsers: what that gives a node cannot be judged from outside", r.Name), unmapped...)
		return
	}
	d.notMapped(r, mode)
}

// sameRole reports whether the ARNs are of one role, as the authenticator compares: in
// any case, without a path.
func sameRole(a, b string) bool { return strings.EqualFold(withoutPath(a), withoutPath(b)) }

// ownProfile finds a mapping that names the profile of the instance, or one of the
// role's own name, which EC2's console makes.
func (d *door) ownProfile(r evidence.Role) func(evidence.RoleMapping) bool {
	p := d.Profile().Value
	return func(m evidence.RoleMapping) bool {
		return m.InstanceProfile && (strings.EqualFold(m.ARN, p.ARN) || strings.EqualFold(last(m.ARN), p.Name) || strings.EqualFold(last(m.ARN), r.Name))
	}
}

// rejected is that the role's own entry is one that the authenticator drops.
func (d *door) rejected(r evidence.Role, j evidence.RejectedMapping) {
	at := "mapRoles"
	if j.Index >= 0 {
		at = fmt.Sprintf("mapRoles[%d]", j.Index)
	}
	d.s.RuledOut(cause.ControllerRoleMapped)
	d.found(d.defect(r, cause.NodeRoleNotMapped, at, j.Why, "a valid mapping of "+withoutPath(r.ARN),
		fmt.Sprintf("the entry of %s in aws-auth of %s is not valid and is dropped (%s)", r.Name, d.ClusterID.Name, j.Why)))
}

// effective looks at what the mapping that counts says.
func (d *door) effective(r evidence.Role, auth evidence.AwsAuth, m evidence.RoleMapping) {
	groups, user := missingGroups(m), nodeUser(m.Username)
	if len(groups) == 0 && user {
		d.s.RuledOut(cause.AwsAuthWrongGroups, cause.AwsAuthDuplicateRole)
		d.mappedByName(r, m)
		return
	}
	// An earlier entry of the same role may be the right one, and this one its end.
	if i := slices.IndexFunc(auth.Roles, func(o evidence.RoleMapping) bool {
		return o.Index < m.Index && !o.Effective && sameRole(o.ARN, m.ARN) && len(missingGroups(o)) == 0 && nodeUser(o.Username)
	}); i >= 0 {
		d.s.RuledOut(cause.AwsAuthWrongGroups, cause.AwsAuthWrongUsername)
		d.found(d.defect(r, cause.AwsAuthDuplicateRole, fmt.Sprintf("mapRoles[%d] and [%d]", auth.Roles[i].Index, m.Index),
			fmt.Sprintf("username %s, groups %s", m.Username, orNone(m.Groups)), "one mapping of the role, with the groups of a node",
			fmt.Sprintf("%s is in aws-auth of %s twice, compared without regard to case; the last one wins, and it is not the mapping of a node", r.Name, d.ClusterID.Name)))
		return
	}
	d.s.RuledOut(cause.AwsAuthDuplicateRole)
	if len(groups) > 0 {
		d.found(d.defect(r, cause.AwsAuthWrongGroups, field(m.Index, "groups"), orNone(m.Groups), groupBootstrappers+", "+groupNodes,
			fmt.Sprintf("aws-auth of %s maps %s without %s, so it may not act as a node", d.ClusterID.Name, r.Name, strings.Join(groups, " and "))))
	} else {
		d.s.RuledOut(cause.AwsAuthWrongGroups)
	}
	if !user {
		d.found(d.defect(r, cause.AwsAuthWrongUsername, field(m.Index, "username"), m.Username, userPrefix+nodeUsers[0],
			fmt.Sprintf("aws-auth of %s gives %s the username %s, which is not the name of a node", d.ClusterID.Name, r.Name, m.Username)))
	} else {
		d.s.RuledOut(cause.AwsAuthWrongUsername)
	}
}

// mappedByName asks whether the username becomes the name under which the node registers.
func (d *door) mappedByName(r evidence.Role, m evidence.RoleMapping) {
	name, shown, gap := d.naming()
	is := usernameNaming(m.Username)
	switch {
	case gap != "":
		d.s.NotChecked(gap, cause.AwsAuthWrongUsername)
		return
	case name == "" || name == is:
		d.s.RuledOut(cause.AwsAuthWrongUsername)
		return
	}
	expected := userPrefix + name.username()
	c := d.defect(r, cause.AwsAuthWrongUsername, field(m.Index, "username"), m.Username, expected,
		fmt.Sprintf("aws-auth of %s makes %s known by its %s, and %s registers under its %s: a node may register under its own name alone", d.ClusterID.Name, d.Finding.Instance, is, d.Finding.Instance, name))
	c.Evidence, c.Fix = append(c.Evidence, shown), strings.ReplaceAll(c.Fix, userPrefix+nodeUsers[0], expected)
	if name == byDNSName {
		c.Confidence = roll.Suggestive // an AMI may have a default of its own
	}
	d.found(c)
}

func missingGroups(m evidence.RoleMapping) (missing []string) {
	for _, g := range []string{groupBootstrappers, groupNodes} {
		if !slices.Contains(m.Groups, g) {
			missing = append(missing, g)
		}
	}
	return missing
}

func nodeUser(user string) bool {
	name, ok := strings.CutPrefix(user, userPrefix)
	return ok && slices.Contains(nodeUsers, name)
}

// defect is a cause that lies in aws-auth's entry of the role.
func (d *door) defect(r evidence.Role, code cause.Code, at, observed, expected, summary string) roll.Cause {
	return roll.Cause{
		Code: code, Subject: "aws-auth/" + d.ClusterID.Name + "/" + withoutPath(r.ARN), Summary: summary,
		Evidence: []roll.Evidence{{Source: "aws-auth", Field: at, Observed: observed, Expected: expected}},
		Fix: "kubectl -n kube-system edit configmap aws-auth   # so that mapRoles has exactly one entry of the role:\n" +
			fmt.Sprintf("#   - rolearn: %s\n#     username: system:node:{{EC2PrivateDNSName}}\n#     groups: [system:bootstrappers, system:nodes]", withoutPath(r.ARN)),
	}
}
