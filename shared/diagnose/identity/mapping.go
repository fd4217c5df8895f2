package identity

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// The authentication modes. A cluster without one is as old as aws-auth alone.
const (
	modeConfigMap = "CONFIG_MAP"
	modeAPI       = "API"
	modeBoth      = "API_AND_CONFIG_MAP"
)

// nodeTypes are the types of access entries that make a principal a node.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html
var nodeTypes = []string{"EC2_LINUX", "EC2_WINDOWS", "EC2", "HYBRID_LINUX", "HYPERPOD_LINUX"}

// autoNodePolicy ends the ARN of the access policy that a node of Auto Mode needs.
const autoNodePolicy = "/AmazonEKSAutoNodePolicy"

var (
	entryCodes   = []cause.Code{cause.AccessEntryWrongType, cause.AccessEntryStale}
	awsAuthCodes = []cause.Code{
		cause.AwsAuthUnparseable, cause.AwsAuthArnHasPath, cause.AwsAuthArnIsInstanceProfile,
		cause.AwsAuthWrongGroups, cause.AwsAuthWrongUsername, cause.AwsAuthDuplicateRole,
	}
	unmapped = []cause.Code{cause.NodeRoleNotMapped, cause.ControllerRoleMapped}
)

// mapped asks the stores that the cluster asks, in its order.
func (d *door) mapped(r evidence.Role) {
	config := d.Cluster.Config
	if !config.Known() {
		d.s.NotChecked(config.Gap(), mapping...)
		return
	}
	mode := config.Value.AuthenticationMode
	if mode == "" {
		d.s.NotChecked(evidence.AnswerOf+"eks:DescribeCluster lacks accessConfig.authenticationMode", mapping...)
		return
	}
	if mode != modeConfigMap {
		if decided := d.entry(r, mode); decided {
			return
		}
	}
	if mode == modeAPI {
		d.notMapped(r, mode)
		return
	}
	d.awsAuth(r, mode)
}

// entry looks at the access entry of the role. It reports whether that decides: an
// entry goes before aws-auth, and what could not be read leaves everything open.
func (d *door) entry(r evidence.Role, mode string) bool {
	entries := d.Cluster.AccessEntries
	if !entries.Settled() {
		d.s.NotChecked(entries.Gap(), append(slices.Clone(entryCodes), unmapped...)...)
		d.s.NotChecked(entries.Gap(), awsAuthCodes...)
		return true
	}
	if !entries.Known() || !slices.Contains(entries.Value.Principals, r.ARN) {
		d.s.RuledOut(entryCodes...)
		return false
	}
	e := entries.Value.Entries[r.ARN]
	if !e.Known() {
		// It is there, so the role is mapped somehow; how is not known.
		d.s.NotChecked(e.Gap(), entryCodes...)
		d.s.RuledOut(unmapped...)
		return true
	}
	d.s.RuledOut(unmapped...)
	d.judgeEntry(r, e.Value, mode)
	return true
}

// judgeEntry looks at what the role's own entry says.
func (d *door) judgeEntry(r evidence.Role, e evidence.AccessEntry, mode string) {
	also := ""
	if mode == modeBoth {
		also = "; it goes before what aws-auth says of the role"
	}
	auto := e.Type == "EC2"
	without := auto && e.PoliciesRead && !autoNode(e.Policies)
	_, _, gap := d.naming()
	switch {
	case without && d.namedByID():
		d.s.NotChecked("whether an access entry of the type EC2 lets a node in that is not of Auto Mode is not documented", cause.AccessEntryWrongType)
	case !slices.Contains(nodeTypes, e.Type), without:
		d.found(d.wrongType(r, e, also))
	case !auto && usernameNaming(e.Username) != byInstanceID && d.namedByID():
		d.found(d.entryByName(r, e, also))
	case auto && !e.PoliciesRead:
		d.s.NotChecked("eks:ListAssociatedAccessPolicies: which access policies the entry of the role has was not read", cause.AccessEntryWrongType)
	case !auto && gap != "":
		d.s.NotChecked(gap, cause.AccessEntryWrongType)
	default:
		d.s.RuledOut(cause.AccessEntryWrongType)
	}
	if r.Created.IsZero() || e.Created.IsZero() {
		d.s.NotChecked(evidence.AnswerOf+"iam:GetRole or eks:DescribeAccessEntry lacks when the role or its access entry was created", cause.AccessEntryStale)
		return
	}
	if !e.Created.Before(r.Created) {
		d.s.RuledOut(cause.AccessEntryStale)
		return
	}
	d.found(roll.Cause{
		Code: cause.AccessEntryStale, Subject: "access-entry/" + r.ARN,
		Summary: fmt.Sprintf("the access entry of %s in %s is older than the role, which was deleted and created again: the entry holds the id of the old one%s", r.Name, d.ClusterID.Name, also),
		Evidence: []roll.Evidence{
			{Source: "access entry", Field: "createdAt", Observed: roll.Clock(e.Created), Expected: "later than the role"},
			{Source: "role", Field: "CreateDate", Observed: roll.Clock(r.Created), Expected: "earlier than the entry"},
		},
		Fix: d.newEntry(r.ARN, true),
	})
}

func autoNode(policies []string) bool {
	return slices.ContainsFunc(policies, func(p string) bool { return strings.HasSuffix(p, autoNodePolicy) })
}

func (d *door) wrongType(r evidence.Role, e evidence.AccessEntry, also string) roll.Cause {
	out := roll.Cause{
		Code: cause.AccessEntryWrongType, Subject: "access-entry/" + r.ARN,
		Summary:  fmt.Sprintf("the access entry of %s in %s has the type %s, which makes it no node%s; the type of an entry cannot be changed", r.Name, d.ClusterID.Name, e.Type, also),
		Evidence: []roll.Evidence{{Source: "access entry", Field: "type", Observed: e.Type, Expected: d.entryType()}},
		Fix:      d.newEntry(r.ARN, true),
	}
	if e.Type == "EC2" {
		out.Summary = fmt.Sprintf("the access entry of %s in %s has the type EC2, and no access policy AmazonEKSAutoNodePolicy, without which it lets no node in%s", r.Name, d.ClusterID.Name, also)
		out.Evidence = []roll.Evidence{{Source: "access entry", Field: "associatedAccessPolicies", Observed: orNone(e.Policies), Expected: "AmazonEKSAutoNodePolicy"}}
	}
	return out
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// entryByName is that the entry makes the instance known by its private DNS name, and that it registers under its id.
// An entry of the type EC2 knows it by its id.
// https://github.com/bottlerocket-os/bottlerocket-project-website/issues/547
func (d *door) entryByName(r evidence.Role, e evidence.AccessEntry, also string) roll.Cause {
	_, shown, _ := d.naming()
	out := d.wrongType(r, e, also)
	out.Summary = fmt.Sprintf("the access entry of %s in %s has the type %s, which makes %s known by its %s, and it registers under its %s: a node may register under its own name alone%s",
		r.Name, d.ClusterID.Name, e.Type, d.Finding.Instance, byDNSName, byInstanceID, also)
	out.Evidence = []roll.Evidence{{Source: "access entry", Field: "type", Observed: e.Type + ", whose username is " + userPrefix + byDNSName.username(), Expected: userPrefix + byInstanceID.username()}, shown}
	return out
}

// entryType is the type of entry that the case's instance needs.
func (d *door) entryType() string {
	switch {
	case d.namedByID():
		return "EC2"
	case d.Finding.Owner == roll.OwnerAutoMode:
		return "EC2"
	case d.Config().Value.Platform == "windows":
		return "EC2_WINDOWS"
	}
	return "EC2_LINUX"
}

// newEntry is how to give the role an entry, after deleting the one that it has.
func (d *door) newEntry(arn string, replace bool) string {
	at := fmt.Sprintf("--region %s --cluster-name %s --principal-arn %s", d.Region, d.ClusterID.Name, arn)
	var lines []string
	if replace {
		lines = append(lines, "aws eks delete-access-entry "+at)
	}
	lines = append(lines, "aws eks create-access-entry "+at+" --type "+d.entryType())
	if d.entryType() == "EC2" {
		lines = append(lines, "aws eks associate-access-policy "+at+" --policy-arn arn:"+partition(arn)+":eks::aws:cluster-access-policy"+autoNodePolicy+" --access-scope type=cluster")
	}
	return strings.Join(lines, "\n")
}

// partition is that of an ARN.
func partition(arn string) string {
	if parts := strings.SplitN(arn, ":", 3); len(parts) == 3 {
		return parts[1]
	}
	return "aws"
}

// notMapped is that no store has the role, or that another role stands where it should.
func (d *door) notMapped(r evidence.Role, mode string) {
	d.s.RuledOut(entryCodes...)
	stores := map[string]string{modeAPI: "the access entries", modeConfigMap: "aws-auth", modeBoth: "neither aws-auth nor the access entries"}[mode]
	not := "is not in " + stores
	if mode == modeBoth {
		not = "is in " + stores
	}
	found := d.notFound(r, mode)
	others, gap := d.others(r, mode)
	if wrong, ok := controllers(others); ok {
		d.s.RuledOut(cause.NodeRoleNotMapped)
		d.found(roll.Cause{
			Code: cause.ControllerRoleMapped, Subject: "role/" + r.ARN,
			Summary:  fmt.Sprintf("%s maps %s, %s, for nodes; the nodes have %s, which %s", d.ClusterID.Name, last(wrong.arn), wrong.whose(), r.Name, not),
			Evidence: slices.Concat([]roll.Evidence{wrong.mapping(r)}, wrong.by, found),
			Fix:      d.fixMapping(r, mode),
		})
		return
	}
	if gap == "" {
		d.s.RuledOut(cause.ControllerRoleMapped)
	} else {
		d.s.NotChecked(gap, cause.ControllerRoleMapped)
	}
	d.found(roll.Cause{
		Code: cause.NodeRoleNotMapped, Subject: "role/" + r.ARN,
		Summary:  fmt.Sprintf("the role %s of %s %s of %s, so the API server refuses its kubelet%s", r.Name, d.Finding.Instance, not, d.ClusterID.Name, inPlace(others)),
		Evidence: append(found, mappings(others, r)...),
		Fix:      d.fixMapping(r, mode),
	})
}

// notFound is what was looked through.
func (d *door) notFound(r evidence.Role, mode string) []roll.Evidence {
	out := []roll.Evidence{{Source: "EKS cluster", Field: "accessConfig.authenticationMode", Observed: mode}}
	if mode != modeConfigMap {
		out = append(out, roll.Evidence{Source: "access entries", Field: "principalArn", Observed: fmt.Sprintf("%d entries, none of the role", len(d.Cluster.AccessEntries.Value.Principals)), Expected: r.ARN})
	}
	if mode == modeAPI {
		return out
	}
	seen := "no ConfigMap kube-system/aws-auth"
	if d.Cluster.AwsAuth.Known() {
		seen = fmt.Sprintf("%d roles, not this one", len(d.Cluster.AwsAuth.Value.Roles))
	}
	return append(out, roll.Evidence{Source: "aws-auth", Field: "mapRoles", Observed: seen, Expected: r.ARN})
}

// fixMapping is how to map the role, in the store that is preferred where both count.
func (d *door) fixMapping(r evidence.Role, mode string) string {
	if mode != modeConfigMap {
		return d.newEntry(r.ARN, false)
	}
	return d.mapRole(r)
}

// mapRole is how to map the role in aws-auth.
func (d *door) mapRole(r evidence.Role) string {
	groups := "system:bootstrappers --group system:nodes"
	if d.Config().Value.Platform == "windows" {
		groups += " --group eks:kube-proxy-windows"
	}
	return fmt.Sprintf("eksctl create iamidentitymapping --region %s --cluster %s --arn %s --username 'system:node:{{EC2PrivateDNSName}}' --group %s\n"+
		"# or by hand: kubectl -n kube-system edit configmap aws-auth, and under mapRoles:\n"+
		"#   - rolearn: %s\n#     username: system:node:{{EC2PrivateDNSName}}\n#     groups: [system:bootstrappers, system:nodes]",
		d.Region, d.ClusterID.Name, withoutPath(r.ARN), groups, withoutPath(r.ARN))
}

// withoutPath is a role's ARN as the authenticator compares it.
// https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html
func withoutPath(arn string) string {
	head, rest, ok := strings.Cut(arn, ":role/")
	if !ok {
		return arn
	}
	return head + ":role/" + last("/"+rest)
}
