package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// The authentication modes. A cluster without one predates them and has aws-auth only.
const (
	modeConfigMap = "CONFIG_MAP"
	modeAPI       = "API"
	modeBoth      = "API_AND_CONFIG_MAP"
)

// nodeTypes are the types of access entries that make a principal a node.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html
var nodeTypes = []string{"EC2_LINUX", "EC2_WINDOWS", "EC2", "HYBRID_LINUX", "HYPERPOD_LINUX"}

// The ends of the ARNs of the access policy that an Auto Mode node needs, and of an administrator's, which allows
// everything. EKS gives the latter to who creates a cluster.
// https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
const (
	autoNodePolicy = "/AmazonEKSAutoNodePolicy"
	adminPolicy    = "/AmazonEKSClusterAdminPolicy"
)

var (
	entryCodes   = []cause.Code{cause.AccessEntryWrongType, cause.AccessEntryStale}
	awsAuthCodes = []cause.Code{
		cause.AwsAuthUnparseable, cause.AwsAuthArnHasPath, cause.AwsAuthArnIsInstanceProfile,
		cause.AwsAuthWrongGroups, cause.AwsAuthWrongUsername, cause.AwsAuthDuplicateRole,
	}
	unmapped = []cause.Code{cause.NodeRoleNotMapped, cause.ControllerRoleMapped}
	mapping  = slices.Concat(unmapped, entryCodes, awsAuthCodes)
)

// mapped checks the stores that the cluster reads, in its order.
func (d *door) mapped(r evidence.Role) {
	f := d.mode()
	switch mode := f.Value; {
	case !f.Known():
		d.NotChecked(f.Gap(), mapping...)
	case mode != modeConfigMap && d.entry(r, mode):
	case mode == modeAPI:
		d.notMapped(r, mode)
	default:
		d.awsAuth(r, mode)
	}
}

// mode returns the cluster's authentication mode.
func (d *door) mode() evidence.Fact[string] {
	return evidence.Then(d.Cluster.Config, func(c evidence.ClusterConfig) evidence.Fact[string] {
		if c.AuthenticationMode == "" {
			return evidence.Failed[string](evidence.AnswerOf + "eks:DescribeCluster lacks accessConfig.authenticationMode")
		}
		return evidence.Read(c.AuthenticationMode)
	})
}

// ownEntry returns the role's access entry, and whether the role has one, which may be known while
// the entry itself is not.
func (d *door) ownEntry(r evidence.Role) (e evidence.Fact[evidence.AccessEntry], has bool) {
	e = evidence.Then(d.Cluster.AccessEntries, func(all evidence.AccessEntries) evidence.Fact[evidence.AccessEntry] {
		has = slices.Contains(all.Principals, r.ARN)
		if !has {
			return evidence.None[evidence.AccessEntry]()
		}
		return all.Entries[r.ARN]
	})
	return e, has
}

// entry checks the role's access entry and reports whether it decides. An entry takes
// precedence over aws-auth, and an unreadable one leaves everything open.
func (d *door) entry(r evidence.Role, mode string) bool {
	e, has := d.ownEntry(r)
	switch {
	case !has && !e.Settled():
		d.NotChecked(e.Gap(), mapping...)
		return true
	case !has:
		d.RuledOut(entryCodes...)
		return false
	case !e.Known():
		d.NotChecked(e.Gap(), entryCodes...)
		d.RuledOut(unmapped...)
		return true
	}
	d.RuledOut(unmapped...)
	also := ""
	if mode == modeBoth {
		if d.passedOver(r, e.Value) {
			return d.outdated(r, e.Value)
		}
		also = "; it goes before what aws-auth says of the role"
	}
	d.Note(cause.AccessEntryWrongType, d.entryType(r, e.Value, also))
	d.Note(cause.AccessEntryStale, d.entryAge(r, e.Value))
	return true
}

// passedOver reports whether the authenticator passes over the role's entry and asks aws-auth, which
// may map the role: it finds an entry by the role's id, and that of a role that was created again is
// another one. It finds a mapping of aws-auth by the role's ARN.
//
// - https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/mapper/dynamicfile/mapper.go
// - https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/server/server.go
func (d *door) passedOver(r evidence.Role, e evidence.AccessEntry) bool {
	auth := d.Cluster.AwsAuth
	return !e.Created.IsZero() && e.Created.Before(r.Created) && (!auth.Settled() || slices.ContainsFunc(auth.Value.Roles, mappingOf(r)))
}

// outdated notes an entry that is passed over, and reports whether aws-auth, which is asked next, is
// unknown.
func (d *door) outdated(r evidence.Role, e evidence.AccessEntry) bool {
	auth, age := d.Cluster.AwsAuth, d.entryAge(r, e)
	m, _ := roll.Find(auth.Value.Roles, mappingOf(r))
	switch {
	case !auth.Settled():
		d.NotChecked(auth.Gap(), append([]cause.Code{cause.AccessEntryWrongType}, awsAuthCodes...)...)
		age = age.DecisiveIf(false).Unsettled(auth.Gap())
	case admits(m), administers(m):
		age = age.DecisiveIf(false).Unsettled("").Also("; aws-auth maps the role by its ARN, and probably lets its nodes in all the same")
	}
	d.Note(cause.AccessEntryStale, age)
	d.RuledOut(cause.AccessEntryWrongType)
	return !auth.Settled()
}

func orNone(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

// entryType checks the type and the access policy of the role's own entry.
func (d *door) entryType(r evidence.Role, e evidence.AccessEntry, also string) cause.Verdict {
	is := usernameNaming(e.Username)
	if e.Type == "EC2" { // https://github.com/bottlerocket-os/bottlerocket-project-website/issues/547
		is = byInstanceID
	}
	auto := e.Type == "EC2" && d.Finding.Owner == roll.OwnerAutoMode // no other node needs the policy: see naming
	name, shown, gap := d.naming()
	found := d.blocks("access-entry/" + r.ARN).Fix(d.newEntry(r.ARN, true))
	cluster := d.ClusterID.Name
	associated := func(policy string) bool {
		return slices.ContainsFunc(e.Policies, func(arn string) bool { return strings.HasSuffix(arn, policy) })
	}
	switch {
	case !slices.Contains(nodeTypes, e.Type):
		found = found.
			Says("the access entry of %s in %s has the type %s, which makes it no node%s; the type of an entry cannot be changed", r.Name, cluster, e.Type, also).
			Saw("access entry", "type", e.Type, d.neededType())
		if associated(adminPolicy) { // as for the group of administrators in aws-auth
			return found.DecisiveIf(false).Unsettled("").
				Also("; its access policy AmazonEKSClusterAdminPolicy lets its kubelet register all the same").
				Fix("# before this, give whoever administers the cluster by this role another way in: it takes that from the role", d.newEntry(r.ARN, true))
		}
		return found
	case auto && !e.PoliciesRead:
		return cause.NotChecked("eks:ListAssociatedAccessPolicies: the access policies of the role's entry were not read")
	case auto && !associated(autoNodePolicy):
		return found.
			Says("the access entry of %s in %s has the type EC2, and no access policy AmazonEKSAutoNodePolicy, without which it lets no node of Auto Mode in%s", r.Name, cluster, also).
			Saw("access entry", "associatedAccessPolicies", orNone(e.Policies), "AmazonEKSAutoNodePolicy").
			Fix(d.associate(r.ARN))
	case gap != "":
		return cause.NotChecked(gap)
	case name == "" && is == byInstanceID && !auto:
		return cause.NotChecked("what the node is named after does not show in its user data, and an access entry of the type EC2 lets in only nodes that are named after their instance id")
	case name == byInstanceID && is != name, name == byDNSName && is == byInstanceID:
		fix := paste.Lines("# this renames all nodes of the role; if others register under another kind of name, give these a role of their own instead", d.newEntry(r.ARN, true))
		if associated(autoNodePolicy) || e.Type == "EC2" && !e.PoliciesRead || d.sharedBeyond() {
			fix = d.ownRole(r)
		}
		return d.misnamed(name, found.
			Says("the access entry of %s in %s has the type %s, which makes %s known by its %s, and it registers under its %s: a node may register under its own name alone%s",
				r.Name, cluster, e.Type, d.Finding.Instance, cmp.Or(is, byDNSName), name, also).
			Saw("access entry", "type", e.Type, d.neededType()).Shows(shown).Fix(fix))
	}
	return cause.RuledOut
}

// newEntry returns the commands that create the role's entry, after deleting the existing one.
func (d *door) newEntry(arn string, replace bool) string {
	var lines []string
	if replace {
		lines = append(lines, d.accessEntry("delete-access-entry", arn))
	}
	lines = append(lines, d.accessEntry("create-access-entry", arn, "--type", d.neededType()))
	if d.Finding.Owner == roll.OwnerAutoMode {
		lines = append(lines, d.associate(arn))
	}
	return paste.Lines(lines...)
}

// ownRole returns how to give the instance's group a role of its own. An access entry names all nodes of its
// role in one way, and deleting it shuts out those that work.
// https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
func (d *door) ownRole(r evidence.Role) string {
	own, i := "arn:"+partition(r.ARN)+":iam::"+accountOf(r.ARN)+":role/NEW_NODE_ROLE", d.Config().Value
	lines := []string{
		"# other nodes of " + paste.Remark(r.Name) + " need its entry as it is: make a role of its own for this group, with the same policies, and an entry for it:",
		d.accessEntry("create-access-entry", own, "--type", d.neededType()),
	}
	switch {
	case d.Finding.Owner == roll.OwnerAutoMode:
		lines = append(lines, d.associate(own), "# then name it in spec.role of the NodeClass of the group")
	case d.Finding.Owner == roll.OwnerKarpenter && i.NodeClass != "":
		lines = append(lines, paste.Format("kubectl edit ec2nodeclass %s   # spec.role: that role", i.NodeClass), cause.Drift)
	case d.Finding.Owner == roll.OwnerManagedNodeGroup:
		lines = append(lines, "# the role of a managed node group cannot be changed: create another group with that role, and delete this one once its pods have moved")
	default:
		lines = append(lines, "# then name its instance profile in the launch template")
	}
	return paste.Lines(lines...)
}

// sharedBeyond reports whether a healthy node of another group has the instance's role, or may have it.
func (d *door) sharedBeyond() bool {
	return slices.ContainsFunc(sound(d.Case), func(s evidence.Sound) bool {
		shares, gap := sharesRole(d.Case, s)
		return (shares || gap != "") && s.Group != d.Finding.Group
	})
}

// associate returns the command that gives the role's entry the access policy of Auto Mode's nodes.
func (d *door) associate(arn string) string {
	return d.accessEntry("associate-access-policy", arn, "--policy-arn", "arn:"+partition(arn)+":eks::aws:cluster-access-policy"+autoNodePolicy, "--access-scope", "type=cluster")
}

// accessEntry returns a command about the access entry of a role.
func (d *door) accessEntry(verb, arn string, more ...string) string {
	return paste.Command(append([]string{"aws", "eks", verb, "--region", d.Region, "--cluster-name", d.ClusterID.Name, "--principal-arn", arn}, more...)...)
}

func partition(arn string) string {
	if parts := strings.SplitN(arn, ":", 3); len(parts) == 3 {
		return parts[1]
	}
	return "aws"
}

// notMapped notes that no store has the role, or that another role is mapped in its place.
func (d *door) notMapped(r evidence.Role, mode string) {
	d.RuledOut(entryCodes...)
	not := map[string]string{modeAPI: "is not in the access entries", modeConfigMap: "is not in aws-auth", modeBoth: "is in neither aws-auth nor the access entries"}[mode]
	fix := d.mapRole(r)
	if mode != modeConfigMap { // an access entry is preferred where both count
		fix = d.newEntry(r.ARN, false)
	}
	found := d.blocks("role/" + r.ARN).Fix(fix)
	others, gap := d.others(mode)
	if wrong, ok := controllers(others); ok {
		d.RuledOut(cause.NodeRoleNotMapped)
		d.Note(cause.ControllerRoleMapped, found.
			Says("%s maps %s, %s, for nodes; the nodes have %s, which %s", d.ClusterID.Name, roll.LastPart(wrong.arn), wrong.whose(), r.Name, not).
			Shows(wrong.mapping(r)).Shows(wrong.by...).Shows(d.notFound(r, mode)...))
		return
	}
	if gap == "" {
		d.RuledOut(cause.ControllerRoleMapped)
	} else {
		d.NotChecked(gap, cause.ControllerRoleMapped)
	}
	found.Says("the role %s of %s %s of %s, so the API server refuses its kubelet%s", r.Name, d.Finding.Instance, not, d.ClusterID.Name, inPlace(others)).
		Shows(d.notFound(r, mode)...).Shows(mappings(others, r)...)
	if own, now := d.launchedWith(), roll.LastPart(d.Config().Value.ProfileARN); own != "" && own != now {
		found.Also(fmt.Sprintf("; its launch template names the instance profile %s, and something gave it %s since", own, now)).
			Saw(d.LaunchTemplate(), "IamInstanceProfile", own, now).Fix(d.giveBack(own), "# and find what replaced it, such as Quick Setup of Systems Manager, or it does so again")
	}
	d.Note(cause.NodeRoleNotMapped, found)
}

// notFound returns the stores that were searched, as evidence.
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

// mapRole returns the command that maps the role in aws-auth.
func (d *door) mapRole(r evidence.Role) string {
	words := []string{"eksctl", "create", "iamidentitymapping", "--region", d.Region, "--cluster", d.ClusterID.Name,
		"--arn", withoutPath(r.ARN), "--username", d.username()}
	for _, g := range d.nodeGroups() {
		words = append(words, "--group", g)
	}
	return paste.Lines(
		paste.Command(words...),
		"# or by hand: "+editAwsAuth+", and under mapRoles:", d.entryOf(r))
}

// withoutPath returns a role's ARN as the authenticator compares it.
// https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html
func withoutPath(arn string) string {
	head, rest, ok := strings.Cut(arn, ":role/")
	if !ok {
		return arn
	}
	return head + ":role/" + roll.LastPart("/"+rest)
}

// entryAge compares the age of the role's own entry with that of the role.
func (d *door) entryAge(r evidence.Role, e evidence.AccessEntry) cause.Verdict {
	switch {
	case r.Created.IsZero() || e.Created.IsZero():
		return cause.NotChecked(evidence.AnswerOf + "iam:GetRole or eks:DescribeAccessEntry lacks when the role or its access entry was created")
	case !e.Created.Before(r.Created):
		return cause.RuledOut
	}
	return d.blocks("access-entry/"+r.ARN).
		Says("the access entry of %s in %s is older than the role, which was deleted and created again: the entry holds the id of the old one", r.Name, d.ClusterID.Name).
		Saw("access entry", "createdAt", roll.Clock(e.Created), "later than the role").
		Saw("role", "CreateDate", roll.Clock(r.Created), "earlier than the entry").
		Fix(d.newEntry(r.ARN, true))
}

// neededType returns the type of entry that the case's instance needs.
func (d *door) neededType() string {
	switch {
	case d.namedByID(), d.Finding.Owner == roll.OwnerAutoMode:
		return "EC2"
	case d.ofWindows():
		return "EC2_WINDOWS"
	}
	return "EC2_LINUX"
}

// naming is what a node is named after. The node must register under the name in its username,
// or the API server refuses it.
// https://kubernetes.io/docs/reference/access-authn-authz/node/
type naming string

const (
	byDNSName    naming = "private DNS name"
	byInstanceID naming = "instance id"
)

// usernameNaming returns which name a username resolves to, "" if neither. An instance's
// session is named after its ID.
func usernameNaming(user string) naming {
	switch name := strings.TrimPrefix(user, userPrefix); {
	case name == nodeUsers[0]:
		return byDNSName
	case slices.Contains(nodeUsers[1:], name):
		return byInstanceID
	}
	return ""
}

// naming returns what the node is named after, with the evidence: by the user data, or by the instance's
// ID in Auto Mode. It returns "" if that is unknown: the user data joins in several ways, may not use
// the name it has, or sets one of its own. gap is why it was not read. For a node that is named after
// its ID, an access entry of the type EC2 suffices; only Auto Mode needs its access policy too.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html
func (d *door) naming() (name naming, shown roll.Evidence, gap string) {
	switch auto := d.Finding.Owner == roll.OwnerAutoMode; {
	case auto && d.Finding.Node != "" && d.Finding.Node != string(d.Finding.Instance):
		return "", roll.Evidence{}, "" // it registered all the same
	case auto:
		return byInstanceID, roll.Evidence{Source: "instance", Field: "owner", Observed: string(d.Finding.Owner), Expected: "a username of " + nodeUsers[1]}, ""
	}
	data, source := d.UserData()
	if len(data.Value.Joins) != 1 || len(data.Value.Faults) > 0 {
		return "", roll.Evidence{}, data.Gap()
	}
	j := data.Value.Joins[0]
	row := func(user, field, observed string) roll.Evidence {
		return roll.Evidence{Source: source, Field: field, Observed: observed, Expected: "a username of " + user}
	}
	switch {
	case j.Conditional, j.Kubelet.HostnameOverride.State != userdata.Absent:
		return "", roll.Evidence{}, ""
	case j.InstanceIDName && j.Tool == userdata.BottlerocketSettings:
		return byInstanceID, row(nodeUsers[1], "settings.kubernetes.hostname-override-source", "instance-id"), ""
	case j.InstanceIDName:
		return byInstanceID, row(nodeUsers[1], "spec.featureGates.InstanceIdNodeName", "true"), ""
	}
	return byDNSName, row(nodeUsers[0], string(j.Tool), "nothing names the node after its instance id"), ""
}

// misnamed makes the cause that the node registers under another kind of name than its username has as sure
// as the case allows. Nothing in the user data names a node by its DNS name, so an image other than EKS's may
// have a default of its own. A healthy node of another group may have the other kind of name.
func (d *door) misnamed(name naming, v cause.Verdict) cause.Verdict {
	sure := d.sure || d.Finding.Kind == roll.Unregistered && joinedSince(d.Case, d.Finding.Group) == ""
	if name == byDNSName && !d.defaultName() {
		return v.DecisiveIf(false).Unsettled(d.Image().Gap())
	}
	return v.DecisiveIf(sure)
}

// defaultName reports whether the node certainly has the name that the tools of EKS's images give it: its
// private DNS name. The user data was followed as a whole, and changes nothing on the image.
//
// - https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/featuregates.go
// - https://github.com/awslabs/amazon-eks-ami/blob/v20251112/templates/al2/runtime/bootstrap.sh
// - https://github.com/bottlerocket-os/bottlerocket/blob/develop/sources/shared-defaults/kubernetes-aws-external-cloud-provider.toml
// - https://github.com/aws/karpenter-provider-aws/issues/7508
func (d *door) defaultName() bool {
	data, _ := d.UserData()
	boot := data.Value
	if len(boot.Joins) != 1 || d.Finding.Node == string(d.Finding.Instance) || !d.Image().Value.EKS || boot.Opaque || boot.Unread() || len(boot.Edits)+len(boot.Fetches) > 0 {
		return false
	}
	j := boot.Joins[0]
	return !j.DropIns && !j.Kubelet.FlagsDynamic && slices.Contains([]userdata.Tool{userdata.Nodeadm, userdata.BottlerocketSettings, userdata.BootstrapScript}, j.Tool)
}

// namedByID reports whether the node is named after its instance ID.
func (d *door) namedByID() bool {
	n, _, _ := d.naming()
	return n == byInstanceID
}

// username returns the username of a mapping that admits the node, by what the node is named
// after. Most are named after their private DNS name.
func (d *door) username() string {
	if d.namedByID() {
		return userPrefix + nodeUsers[1]
	}
	return userPrefix + nodeUsers[0]
}
