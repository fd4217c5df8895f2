package collect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/kube/awsauth"
	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
)

const (
	// entriesPages bounds the listing of access entries, which has 100 per page.
	entriesPages = 5
	// entriesOwn is how many entries of node roles are described per check. If the role of
	// Karpenter's nodes has no entry, up to entriesOther entries of other roles are described,
	// until entriesNodes are found to be nodes'. Whoever sets up Karpenter creates two roles and
	// may map the wrong one, whatever its name.
	entriesOwn, entriesOther, entriesNodes = 10, 8, 3
	// controllersTotal is how many roles mapped instead of that of Karpenter's nodes are read,
	// until one is found that EC2 may not assume. documentsTotal is how many of its policies are
	// read. Karpenter's own template spreads its controller's permissions over five.
	// https://karpenter.sh/docs/reference/cloudformation/
	controllersTotal, documentsTotal = 6, 6
	// entryEC2 is the type of the entries of EKS Auto Mode's nodes, which get their permissions
	// from an access policy. Entries of the other node types can have none; those of people can, which
	// have entryStandard.
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html
	entryEC2, entryStandard = "EC2", "STANDARD"
)

// mode returns the cluster's authentication mode, and why it is unknown if it is.
func (l *look) mode() (mode ekstypes.AuthenticationMode, why string) {
	config := l.ev.Cluster.Config
	switch {
	case config.State == evidence.Absent:
		return "", "there is no EKS cluster " + l.in.Snapshot.Cluster.ID.Name
	case !config.Known():
		return "", config.Gap()
	case config.Value.AuthenticationMode == "":
		return ekstypes.AuthenticationModeConfigMap, ""
	}
	return ekstypes.AuthenticationMode(config.Value.AuthenticationMode), ""
}

// readAwsAuth reads the ConfigMap if the cluster's authentication mode uses it.
func (l *look) readAwsAuth() {
	if len(l.needing(needAuth)) == 0 {
		return
	}
	mode, why := l.mode()
	switch {
	case why != "":
		l.ev.Cluster.AwsAuth = evidence.Failed[evidence.AwsAuth](why)
	case mode == ekstypes.AuthenticationModeApi:
		l.ev.Cluster.AwsAuth = evidence.Skipped[evidence.AwsAuth]("the cluster's authentication mode is API, which does not heed aws-auth")
	default:
		l.ev.Cluster.AwsAuth = object(l.topic(), kube.AwsAuth(), mappings)
	}
}

// mappings returns the mappings of the ConfigMap, which rarely changes.
func mappings(c *configMap) evidence.AwsAuth {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		texts = append(texts, key, c.Data[key])
	}
	return mapped.Get(memo.Of(texts...), func() evidence.AwsAuth { return awsauth.Parse(c.Data) })
}

var mapped = memo.Memo[memo.Key, evidence.AwsAuth]{Most: 64}

type configMap struct {
	Data map[string]string `json:"data"`
}

// readAccessEntries lists the cluster's access entries if its authentication mode uses them, and
// reads those of the node roles.
func (l *look) readAccessEntries() {
	if len(l.needing(needAuth)) == 0 {
		return
	}
	mode, why := l.mode()
	switch {
	case why != "":
		l.ev.Cluster.AccessEntries = evidence.Failed[evidence.AccessEntries](why)
		return
	case mode == ekstypes.AuthenticationModeConfigMap:
		l.ev.Cluster.AccessEntries = evidence.Skipped[evidence.AccessEntries]("the cluster's authentication mode is CONFIG_MAP, which does not heed access entries")
		return
	}
	cluster := l.in.Snapshot.Cluster.ID.Name
	principals, end := pages(l.action("eks:ListAccessEntries"), l.most(entriesPages), l.eks.ListAccessEntries, &eks.ListAccessEntriesInput{ClusterName: aws.String(cluster)},
		func(out *eks.ListAccessEntriesOutput) []string { return out.AccessEntries })
	if end.err != nil {
		l.ev.Cluster.AccessEntries = evidence.Failed[evidence.AccessEntries](end.why)
		return
	}
	entries := evidence.AccessEntries{Principals: principals, Entries: map[string]evidence.Fact[evidence.AccessEntry]{}}
	describe, policies, rights := l.action("eks:DescribeAccessEntry"), l.action("eks:ListAssociatedAccessPolicies"), l.action("eks:ListAssociatedAccessPolicies")
	rights.extra = true // an entry of a person is wrong for nodes, whatever its policies
	own, others := l.entriesToRead(principals)
	for _, principal := range own {
		entries.Entries[principal] = l.accessEntry(describe, map[string]*action{entryEC2: policies, entryStandard: rights}, principal)
	}
	nodes := 0
	for _, principal := range others {
		if nodes >= l.most(entriesNodes) {
			break
		}
		entries.Entries[principal] = l.accessEntry(describe, map[string]*action{entryEC2: policies}, principal)
		if strings.HasPrefix(entries.Entries[principal].Value.Type, entryEC2) {
			nodes++
		}
	}
	l.ev.Cluster.AccessEntries = evidence.Read(entries)
}

// entriesToRead returns the principals of the node roles' own entries and, for roles without one,
// those that may be mapped instead, the likeliest first.
func (l *look) entriesToRead(principals []string) (own, others []string) {
	roles := l.nodeRoles()
	found := map[string]bool{}
	for _, p := range principals {
		if c := canonical(p); slices.Contains(roles, c) {
			own, found[c] = append(own, p), true
		} else {
			others = append(others, p)
		}
	}
	own, _ = first(own, l.most(entriesOwn))
	if !l.byKarpenter() || len(found) == len(roles) && len(roles) > 0 {
		return own, nil
	}
	others = slices.DeleteFunc(others, func(p string) bool { return l.likeness(p) == 0 })
	slices.SortStableFunc(others, func(a, b string) int { return l.likeness(b) - l.likeness(a) })
	others, _ = first(others, l.most(entriesOther))
	return own, others
}

// canonical returns a role's ARN as authenticators compare it, without its path and in lower case;
// "" if it is not a role. EKS keeps the path in access entries, but an account has one role of a
// name, regardless of path and case.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func canonical(arn string) string {
	c, err := awsauth.Canonical(arn)
	if err != nil {
		return ""
	}
	return c
}

// nodeRoles returns the roles of the instances, in canonical form. A profile and its role belong to
// one account, so the profile's ARN determines the role's if that was not read.
func (l *look) nodeRoles() []string {
	var roles []string
	for _, c := range l.configs(needAuth) {
		for _, name := range l.ev.Profiles[c.ProfileARN].Value.Roles {
			prefix, _, _ := strings.Cut(c.ProfileARN, ":instance-profile/")
			roles = append(roles, canonical(prefix+":role/"+name))
		}
	}
	return distinct(roles)
}

// likeness returns how much a principal resembles a role of nodes, or of what launches them. 0
// means that it cannot be one: a user, or a role of AWS itself or of IAM Identity Center.
func (l *look) likeness(principal string) int {
	if !strings.Contains(principal, ":role/") || strings.Contains(principal, ":role/aws-") {
		return 0
	}
	name := roll.LastPart(principal)
	lower := strings.ToLower(name)
	switch {
	case l.isNodeClassRole(name):
		return 4
	case strings.Contains(lower, "karpenter"):
		return 3
	case strings.Contains(lower, "node"):
		return 2
	}
	return 1
}

func (l *look) isNodeClassRole(name string) bool {
	return slices.ContainsFunc(l.groupsInOrder(), func(g roll.Group) bool {
		of := l.groupOf(g)
		return of.NodeClass.Value.Role == name || roll.LastPart(of.NodeGroup.Value.RoleARN) == name
	})
}

// accessEntry describes an access entry. policies are the actions that list its access policies, by its type.
func (l *look) accessEntry(describe *action, policies map[string]*action, principal string) evidence.Fact[evidence.AccessEntry] {
	cluster := aws.String(l.in.Snapshot.Cluster.ID.Name)
	in := &eks.DescribeAccessEntryInput{ClusterName: cluster, PrincipalArn: aws.String(principal)}
	fact := part(describe, principal, l.eks.DescribeAccessEntry, in, func(out *eks.DescribeAccessEntryOutput) *ekstypes.AccessEntry { return out.AccessEntry }, func(e *ekstypes.AccessEntry) evidence.AccessEntry {
		return evidence.AccessEntry{Type: aws.ToString(e.Type), Username: aws.ToString(e.Username), Created: aws.ToTime(e.CreatedAt).UTC()}
	})
	if fact.State == evidence.Absent {
		why := describe.name + ": the entry of " + principal + " is listed, and not found: it is being created or deleted"
		l.unread(why, true)
		return evidence.Failed[evidence.AccessEntry](why)
	}
	list := policies[fact.Value.Type]
	if list == nil {
		return fact
	}
	associated, end := pages(list, maxPages, l.eks.ListAssociatedAccessPolicies, &eks.ListAssociatedAccessPoliciesInput{ClusterName: cluster, PrincipalArn: aws.String(principal)},
		func(out *eks.ListAssociatedAccessPoliciesOutput) []ekstypes.AssociatedAccessPolicy {
			return out.AssociatedAccessPolicies
		})
	if end.err != nil {
		fact.Why = end.why // why a part is missing
		return fact
	}
	fact.Value.Policies = roll.Map(associated, func(p ekstypes.AssociatedAccessPolicy) string { return aws.ToString(p.PolicyArn) })
	fact.Value.PoliciesRead = true
	return fact
}

// byKarpenter reports whether Karpenter launched one of the instances.
func (l *look) byKarpenter() bool {
	return slices.ContainsFunc(l.needing(needAuth), func(f *roll.Finding) bool { return f.Owner == roll.OwnerKarpenter })
}

// readControllerRoles reads the roles that are mapped for nodes while a role of Karpenter's nodes
// is not. Who may assume a role, its permissions, and whether it is that of Karpenter's service
// account show whether it is the controller's.
func (l *look) readControllerRoles() {
	own := l.nodeRoles()
	if !l.byKarpenter() || l.inStores(own) {
		return
	}
	var names []string
	for _, arn := range l.mappedRoles() {
		name := roll.LastPart(arn)
		_, known := l.ev.Roles[name]
		if !known && !slices.Contains(own, canonical(arn)) && !l.isNodeClassRole(name) && strings.Contains(arn, ":"+l.in.Snapshot.Cluster.ID.Account+":") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	names = distinct(names)
	slices.SortStableFunc(names, func(a, b string) int { return suspicion(b) - suspicion(a) })
	a, found := l.action("iam:GetRole"), 0
	for i, name := range names {
		if i >= l.most(controllersTotal) || found >= l.most(1) {
			l.ev.Roles[name] = evidence.Skipped[evidence.Role](fmt.Sprintf("the roles that are mapped in place of the nodes' are read until one is found that EC2 may not assume, %d a check at most", controllersTotal))
			continue
		}
		l.ev.Roles[name] = l.role(a, name)
		if r := l.ev.Roles[name]; r.Known() && !strings.Contains(r.Value.TrustPolicy, "ec2.amazonaws.com") {
			found++
			l.readDocuments(r.Value)
		}
	}
	l.ev.Cluster.Controllers = items(l.topic(), kube.ControllerAccounts(), serviceAccount)
}

// suspicion returns how much a name resembles that of a controller's role.
func suspicion(name string) int {
	switch name = strings.ToLower(name); {
	case strings.Contains(name, "karpenter"), strings.Contains(name, "controller"):
		return 2
	case strings.Contains(name, "node"):
		return 0
	}
	return 1
}

type serviceAccountJSON struct {
	Metadata metadata `json:"metadata"`
}

// serviceAccount returns the service account and the role that its pods assume.
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
func serviceAccount(a *serviceAccountJSON) evidence.ServiceAccount {
	return evidence.ServiceAccount{Namespace: a.Metadata.Namespace, Name: a.Metadata.Name, RoleARN: a.Metadata.Annotations[kube.AnnotationRoleARN]}
}

// inStores reports whether all of the roles, in canonical form, are in a store, mapped to anything.
func (l *look) inStores(roles []string) bool {
	return !slices.ContainsFunc(roles, func(role string) bool {
		return !slices.ContainsFunc(l.ev.Cluster.AccessEntries.Value.Principals, func(p string) bool { return canonical(p) == role }) &&
			!slices.ContainsFunc(l.ev.Cluster.AwsAuth.Value.Roles, func(m evidence.RoleMapping) bool { return m.Canonical == role })
	})
}

// mappedRoles returns the ARNs of the roles that the stores map for nodes, as far as they were
// read.
func (l *look) mappedRoles() []string {
	var arns []string
	entries := l.ev.Cluster.AccessEntries.Value
	for _, p := range entries.Principals {
		switch entries.Entries[p].Value.Type {
		case "", entryStandard, "FARGATE_LINUX":
		default:
			arns = append(arns, p)
		}
	}
	for _, m := range l.ev.Cluster.AwsAuth.Value.Roles {
		if m.Effective && (slices.Contains(m.Groups, "system:nodes") || slices.Contains(m.Groups, "system:bootstrappers")) {
			arns = append(arns, m.ARN)
		}
	}
	return arns
}
