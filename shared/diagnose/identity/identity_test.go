package identity_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/identity"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	nodeRole     = "arn:aws:iam::111122223333:role/payments-node"
	profile      = "arn:aws:iam::111122223333:instance-profile/payments-node"
	controller   = "arn:aws:iam::111122223333:role/KarpenterController-payments"
	trustEC2     = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":["ec2.amazonaws.com"]},"Action":"sts:AssumeRole"}]}`
	trustOIDC    = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/oidc.eks"},"Action":"sts:AssumeRoleWithWebIdentity"}}`
	trustPods    = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	trustSA      = `{"Statement":[{"Effect":"Allow","Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/A1"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"oidc.eks.eu-west-1.amazonaws.com/id/A1:aud":"sts.amazonaws.com","oidc.eks.eu-west-1.amazonaws.com/id/A1:sub":"system:serviceaccount:kube-system:karpenter"}}}]}`
	trustLB      = `{"Statement":{"Effect":"Allow","Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/issuer.example"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringLike":{"issuer.example:sub":["system:serviceaccount:kube-system:aws-lb"]}}}}`
	trustAccount = `{"Statement":{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"sts:AssumeRole"}}`
	instance     = roll.InstanceID("i-0123456789abcdef0")
	groupOfNode  = roll.Group("nodepool/default")
)

var (
	then  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	nodes = []string{"system:bootstrappers", "system:nodes"}
)

// mapped returns an effective entry of mapRoles.
func mapped(arn string, change ...func(*evidence.RoleMapping)) evidence.RoleMapping {
	m := evidence.RoleMapping{ARN: arn, Username: "system:node:{{EC2PrivateDNSName}}", Groups: nodes, Canonical: strings.ToLower(arn), Effective: true}
	for _, c := range change {
		c(&m)
	}
	return m
}

// ofInstance changes what was read of the instance.
func ofInstance(change func(*evidence.Instance)) func(*evidence.Evidence) {
	return func(e *evidence.Evidence) {
		i := e.Instances[instance]
		change(&i)
		e.Instances[instance] = i
	}
}

// joining gives the instance user data that joins the cluster in one way.
func joining(change func(*userdata.Join)) func(*evidence.Evidence) {
	j := userdata.Join{Tool: userdata.Nodeadm}
	change(&j)
	return ofInstance(func(i *evidence.Instance) { i.UserData = evidence.Read(userdata.Boot{Joins: []userdata.Join{j}}) })
}

// ofEKS makes the instance one of an image of EKS's own.
func ofEKS(e *evidence.Evidence) {
	ofInstance(func(i *evidence.Instance) { i.Config.Value.Image = "ami-0123456789abcdef0" })(e)
	e.Images = map[string]evidence.Fact[evidence.Image]{"ami-0123456789abcdef0": evidence.Read(evidence.Image{EKS: true})}
}

// do combines the changes of the evidence.
func do(steps ...func(*evidence.Evidence)) func(*evidence.Evidence) { return causetest.Do(steps...) }

// awsAuth makes these the mappings of aws-auth.
func awsAuth(of ...evidence.RoleMapping) func(*evidence.Evidence) {
	return func(e *evidence.Evidence) { e.Cluster.AwsAuth = roles(of...) }
}

// accessEntries makes these the access entries.
func accessEntries(of ...entryOf) func(*evidence.Evidence) {
	return func(e *evidence.Evidence) { e.Cluster.AccessEntries = entries(of...) }
}

// nodesRole changes the role of the nodes.
func nodesRole(f func(*evidence.Role)) func(*evidence.Evidence) {
	return func(e *evidence.Evidence) { change(e.Roles, "payments-node", f) }
}

func roles(of ...evidence.RoleMapping) evidence.Fact[evidence.AwsAuth] {
	for i := range of {
		of[i].Index = i
	}
	return evidence.Read(evidence.AwsAuth{Roles: of})
}

// entryOf is a principal's access entry.
type entryOf struct {
	principal string
	evidence.AccessEntry
}

func entries(of ...entryOf) evidence.Fact[evidence.AccessEntries] {
	out := evidence.AccessEntries{Entries: map[string]evidence.Fact[evidence.AccessEntry]{}}
	for _, e := range of {
		out.Principals = append(out.Principals, e.principal)
		out.Entries[e.principal] = evidence.Read(e.AccessEntry)
	}
	return evidence.Read(out)
}

func entry(arn, kind string, change ...func(*evidence.AccessEntry)) entryOf {
	e := evidence.AccessEntry{Type: kind, Created: then.Add(time.Hour), PoliciesRead: true}
	causetest.Do(change...)(&e)
	return entryOf{arn, e}
}

// sound returns a Karpenter instance that has everything it needs to be known, in a cluster of
// that authentication mode.
func sound(mode string) *evidence.Evidence {
	e := &evidence.Evidence{
		Region: "eu-west-1", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "payments"},
		Instances: map[roll.InstanceID]evidence.Instance{instance: {UserData: evidence.Read(userdata.Boot{}), Config: evidence.Read(evidence.InstanceConfig{ProfileARN: profile, NodeClass: "default"})}},
		Profiles:  map[string]evidence.Fact[evidence.InstanceProfile]{profile: evidence.Read(evidence.InstanceProfile{ARN: profile, Name: "payments-node", Roles: []string{"payments-node"}})},
		Roles:     map[string]evidence.Fact[evidence.Role]{"payments-node": evidence.Read(evidence.Role{ARN: nodeRole, Name: "payments-node", Created: then, TrustPolicy: trustEC2})},
		Policies: map[string]evidence.Fact[evidence.Policies]{"payments-node": evidence.Read(evidence.Policies{
			Attached: []string{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"}})},
		Groups: map[roll.Group]evidence.Group{groupOfNode: {}},
	}
	e.Cluster.Config = evidence.Read(evidence.ClusterConfig{Name: "payments", AuthenticationMode: mode})
	e.Cluster.AwsAuth = roles(mapped(nodeRole))
	e.Cluster.AccessEntries = entries(entry(nodeRole, "EC2_LINUX"))
	return e
}

func change[K comparable, V any](m map[K]evidence.Fact[V], key K, f func(*V)) {
	fact := m[key]
	f(&fact.Value)
	m[key] = fact
}

func analyze(e *evidence.Evidence, kind roll.Kind) *cause.Sheet {
	return analyzeOf(e, roll.Finding{Kind: kind, Owner: roll.OwnerKarpenter, Group: groupOfNode})
}

func analyzeOf(e *evidence.Evidence, f roll.Finding) *cause.Sheet {
	s := &cause.Sheet{}
	f.Instance = instance
	identity.Analyze(&evidence.Case{Evidence: e, Finding: f}, s)
	return s
}

func TestWhatIsFound(t *testing.T) {
	const api, both, configMap = "API", "API_AND_CONFIG_MAP", "CONFIG_MAP"
	without := func(e *evidence.Evidence) { e.Cluster.AccessEntries, e.Cluster.AwsAuth = entries(), roles() }
	madeAgain := nodesRole(func(r *evidence.Role) { r.Created = then.Add(2 * time.Hour) })
	tests := []struct {
		name  string
		mode  string
		spoil func(*evidence.Evidence)
		want  string
	}{
		{"all is well", both, func(*evidence.Evidence) {}, ""},
		{"all is well with entries alone", api, awsAuth(), ""},
		{"all is well with aws-auth alone", configMap, accessEntries(), ""},
		{"a cluster without a mode asks aws-auth", "", accessEntries(), ""},
		{"a cluster without a mode, and aws-auth lacks it", "", without, ""},
		{"its entry has no date", api, accessEntries(entryOf{nodeRole, evidence.AccessEntry{Type: "EC2_LINUX", PoliciesRead: true}}), ""},
		{"aws-auth fills in where no entry is", both, accessEntries(), ""},

		{"in neither store", both, without, "NodeRoleNotMapped"},
		{"only in the store that is not asked: entries", configMap, awsAuth(), "NodeRoleNotMapped"},
		{"only in the store that is not asked: aws-auth", api, accessEntries(), "NodeRoleNotMapped"},
		{"no aws-auth at all", configMap, func(e *evidence.Evidence) { e.Cluster.AwsAuth = evidence.None[evidence.AwsAuth]() }, "NodeRoleNotMapped"},
		{"its entry in aws-auth is dropped", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = evidence.Read(evidence.AwsAuth{Rejected: []evidence.RejectedMapping{{Index: 0, ARN: nodeRole, Why: "no username"}}})
		}, "NodeRoleNotMapped"},

		{"its entry in aws-auth is dropped, and the controller's is not", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped(controller))
			e.Cluster.AwsAuth.Value.Rejected = []evidence.RejectedMapping{{Index: 0, ARN: nodeRole, Why: "no username"}}
		}, "NodeRoleNotMapped"},

		{"it is mapped as a user", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = evidence.Read(evidence.AwsAuth{Users: []string{nodeRole}})
		}, ""},

		{"the controller's role is mapped", configMap, awsAuth(mapped(controller)), "ControllerRoleMapped"},
		{"the controller's role has the entry", api, accessEntries(entry(controller, "EC2_LINUX")), "ControllerRoleMapped"},
		{"the controller's role has an entry of its own sort", api, accessEntries(entry(controller, "STANDARD")), "NodeRoleNotMapped"},
		{"the controller's role has an entry that is not asked", configMap, do(awsAuth(), accessEntries(entry(controller, "EC2_LINUX"))), "NodeRoleNotMapped"},
		{"the controller's role is mapped in the store that is not asked", api, do(accessEntries(), awsAuth(mapped(controller))), "NodeRoleNotMapped"},
		{"the controller's role is there twice, and the last is no node's", configMap, awsAuth(mapped(controller, func(m *evidence.RoleMapping) { m.Effective = false }),
			mapped(controller, func(m *evidence.RoleMapping) { m.Groups = []string{"system:masters"} })), "NodeRoleNotMapped"},
		{"the controller's role is mapped with the group of nodes alone", configMap, awsAuth(mapped(controller, func(m *evidence.RoleMapping) { m.Groups = []string{"system:nodes"} })), "ControllerRoleMapped"},
		{"a controller's role by another name", configMap, awsAuth(mapped("arn:aws:iam::111122223333:role/KarpenterIRSA-payments")), "ControllerRoleMapped"},
		{"a name of Karpenter's, and neither pods nor EC2 may assume it", configMap, other("Karpenter-payments", trustAccount), "ControllerRoleMapped"},
		{"pods may assume it, and EC2 under a condition", configMap, other("f3a91c", `{"Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":"sts:AssumeRole"},{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"Bool":{"x":"y"}}}]}`),
			"NodeRoleNotMapped"},
		{"pods are denied", configMap, other("f3a91c", `{"Statement":{"Effect":"Deny","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":"sts:AssumeRole"}}`), "NodeRoleNotMapped"},
		{"Karpenter's service account names another one", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped("arn:aws:iam::111122223333:role/f3a91c"))
			e.Cluster.Controllers = evidence.Read([]evidence.ServiceAccount{{Namespace: "kube-system", Name: "karpenter", RoleARN: controller}})
		}, "NodeRoleNotMapped"},
		{"what may describe and give roles", configMap, lets(evidence.PolicyDocument{Name: "a", Text: `{"Statement":{"Effect":"Allow","Action":["ec2:Describe*","iam:PassRole"]}}`}), "NodeRoleNotMapped"},
		{"Karpenter's role for other nodes is mapped", configMap, awsAuth(mapped("arn:aws:iam::111122223333:role/Karpenter-payments")), "NodeRoleNotMapped"},
		{"what looks like it may not be assumed by EC2", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped("arn:aws:iam::111122223333:role/Karpenter-payments"))
			e.Roles["Karpenter-payments"] = evidence.Read(evidence.Role{Name: "Karpenter-payments", TrustPolicy: trustOIDC})
		}, "ControllerRoleMapped"},

		{"a pod's role of any name is mapped", configMap, other("f3a91c", trustOIDC), "ControllerRoleMapped"},
		{"a pod's role of any name has the entry", api, func(e *evidence.Evidence) {
			e.Cluster.AccessEntries = entries(entry("arn:aws:iam::111122223333:role/f3a91c", "EC2_LINUX"))
			e.Roles["f3a91c"] = evidence.Read(evidence.Role{Name: "f3a91c", TrustPolicy: trustPods})
		}, "ControllerRoleMapped"},
		{"it is mapped with one of the groups", configMap, do(other("f3a91c", trustPods), func(e *evidence.Evidence) { e.Cluster.AwsAuth.Value.Roles[0].Groups = []string{"system:bootstrappers"} }),
			"ControllerRoleMapped"},
		{"another controller's role is mapped", configMap, other("lb", trustLB), "ControllerRoleMapped"},
		{"what launches instances is mapped", configMap, lets(evidence.PolicyDocument{Name: "arn:aws:iam::111122223333:policy/a", Text: `{"Statement":{"Effect":"Allow","Action":"ec2:Create*","Resource":"*"}}`}, evidence.PolicyDocument{Name: "b", Text: `{"Statement":[{"Effect":"Allow","Action":["iam:PassRole"],"Resource":"*","Condition":{}}]}`}), "ControllerRoleMapped"},
		{"what may launch and give no roles", configMap, lets(evidence.PolicyDocument{Name: "a", Text: `{"Statement":{"Effect":"Allow","Action":"ec2:*"}}`}, evidence.PolicyDocument{Name: "b", Text: `{"Statement":{"Effect":"Deny","Action":"iam:PassRole"}}`}), "NodeRoleNotMapped"},
		{"an administrator is mapped", configMap, lets(evidence.PolicyDocument{Name: "a", Text: `{"Statement":{"Effect":"Allow","Action":"*"}}`}), "NodeRoleNotMapped"},
		{"Karpenter's service account names it", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped("arn:aws:iam::111122223333:role/f3a91c"))
			e.Cluster.Controllers = evidence.Read([]evidence.ServiceAccount{{Namespace: "kube-system", Name: "karpenter", RoleARN: "arn:aws:iam::111122223333:role/tools/f3a91c"}})
		}, "ControllerRoleMapped"},
		{"a controller's name, and EC2 may assume it", configMap, other("KarpenterControllerRole", trustEC2), "NodeRoleNotMapped"},
		{"a controller's name and a node's", configMap, awsAuth(mapped("arn:aws:iam::111122223333:role/KarpenterControllerNodes")), "NodeRoleNotMapped"},
		{"the role of another pool's nodes, by its class", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped(controller))
			e.Groups["nodepool/other"] = evidence.Group{NodeClass: evidence.Read(evidence.NodeClass{Role: "KarpenterController-payments"})}
		}, "NodeRoleNotMapped"},
		{"the role of a node group's nodes", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped(controller))
			e.Groups["nodegroup/web"] = evidence.Group{NodeGroup: evidence.Read(evidence.NodeGroup{RoleARN: controller})}
		}, "NodeRoleNotMapped"},
		{"a role that a build system assumes", configMap, func(e *evidence.Evidence) {
			other("ci", `{"Statement":{"Effect":"Allow","Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"},"Action":"sts:AssumeRoleWithWebIdentity"}}`)(e)
		}, "NodeRoleNotMapped"},
		{"Fargate's role is mapped", configMap, other("KarpenterFargate", `{"Statement":{"Effect":"Allow","Principal":{"Service":"eks-fargate-pods.amazonaws.com"},"Action":"sts:AssumeRole"}}`),
			"NodeRoleNotMapped"},
		{"a role of another account", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped("arn:aws:iam::123456789012:role/f3a91c"))
			e.Roles["f3a91c"] = evidence.Read(evidence.Role{Name: "f3a91c", TrustPolicy: trustPods})
		}, "NodeRoleNotMapped"},

		{"an entry for a person", both, accessEntries(entry(nodeRole, "STANDARD")), "AccessEntryWrongType"},
		{"an administrator's entry, as that of who created the cluster", both, accessEntries(entry(nodeRole, "STANDARD", func(a *evidence.AccessEntry) {
			a.Policies = []string{"arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"}
		})), "AccessEntryWrongType?"},
		{"an entry for a person who may see everything", api, accessEntries(entry(nodeRole, "STANDARD", func(a *evidence.AccessEntry) {
			a.Policies = []string{"arn:aws:eks::aws:cluster-access-policy/AmazonEKSAdminViewPolicy"}
		})), "AccessEntryWrongType"},
		{"an entry for Auto Mode without its policy", both, accessEntries(entry(nodeRole, "EC2")), ""},
		{"an entry for Auto Mode", both, accessEntries(entry(nodeRole, "EC2", func(a *evidence.AccessEntry) {
			a.Policies = []string{"arn:aws:eks::aws:cluster-access-policy/AmazonEKSAutoNodePolicy"}
		})), ""},
		{"an entry for Auto Mode, and the node is named after its id", api, do(joining(func(j *userdata.Join) { j.InstanceIDName = true }), accessEntries(entry(nodeRole, "EC2", func(a *evidence.AccessEntry) {
			a.Policies = []string{"arn:aws:eks::aws:cluster-access-policy/AmazonEKSAutoNodePolicy"}
		}))), ""},
		{"an entry by the name of the session, and the node is named after its id", api, do(joining(func(j *userdata.Join) { j.InstanceIDName = true }), accessEntries(entry(nodeRole, "EC2_LINUX", func(a *evidence.AccessEntry) { a.Username = "system:node:{{SessionName}}" }))), ""},
		{"an entry that is not asked", configMap, accessEntries(entry(nodeRole, "STANDARD")), ""},
		{"the role was made again", api, madeAgain, "AccessEntryStale"},
		{"the role was made again, and aws-auth lacks it", both, do(madeAgain, awsAuth()), "AccessEntryStale"},
		{"the role was made again, and aws-auth maps it", both, madeAgain, "AccessEntryStale?"},
		{"the role was made again, and aws-auth maps it as no node's", both, do(madeAgain, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = nil }))), "AwsAuthWrongGroups AccessEntryStale"},
		{"the role was made again, and aws-auth was not read", both, do(madeAgain, func(e *evidence.Evidence) { e.Cluster.AwsAuth = evidence.Failed[evidence.AwsAuth]("why") }), "AccessEntryStale?"},
		{"the role was made again, the entry was for a person, and aws-auth maps it", both, do(madeAgain, accessEntries(entry(nodeRole, "STANDARD"))), "AccessEntryStale?"},
		{"the role was made at the same moment", both, nodesRole(func(r *evidence.Role) { r.Created = then.Add(time.Hour) }), ""},

		{"mapRoles is no YAML", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = evidence.Read(evidence.AwsAuth{Unparseable: "line 3: found a tab"})
		}, "AwsAuthUnparseable"},
		{"mapRoles is no YAML, and the entry counts", both, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = evidence.Read(evidence.AwsAuth{Unparseable: "line 3: found a tab"})
		}, ""},
		{"the ARN has a path", configMap, func(e *evidence.Evidence) {
			const arn = "arn:aws:iam::111122223333:role/team/payments-node"
			change(e.Roles, "payments-node", func(r *evidence.Role) { r.ARN = arn })
			e.Cluster.AwsAuth = roles(mapped(arn, func(m *evidence.RoleMapping) { m.Path = true }))
		}, "AwsAuthArnHasPath"},
		{"the ARN with a path is another role's", configMap, awsAuth(mapped("arn:aws:iam::111122223333:role/team/others", func(m *evidence.RoleMapping) { m.Path = true })), "NodeRoleNotMapped"},
		{"the role has a path and the ARN has none", configMap, nodesRole(func(r *evidence.Role) { r.ARN = "arn:aws:iam::111122223333:role/team/payments-node" }), ""},
		{"the ARN is the profile's", configMap, awsAuth(mapped(profile, func(m *evidence.RoleMapping) { m.InstanceProfile = true })), "AwsAuthArnIsInstanceProfile"},
		{"the ARN is the profile's, which has another name than the role", configMap, func(e *evidence.Evidence) {
			change(e.Profiles, profile, func(p *evidence.InstanceProfile) { p.Name = "web" })
			e.Cluster.AwsAuth = roles(mapped("arn:aws:iam::111122223333:instance-profile/web", func(m *evidence.RoleMapping) { m.InstanceProfile = true }))
		}, "AwsAuthArnIsInstanceProfile"},
		{"the ARN is that of a profile with the role's name", configMap, func(e *evidence.Evidence) {
			change(e.Profiles, profile, func(p *evidence.InstanceProfile) { p.Name = "web" })
			e.Cluster.AwsAuth = roles(mapped(profile, func(m *evidence.RoleMapping) { m.InstanceProfile = true }))
		}, "AwsAuthArnIsInstanceProfile"},
		{"the ARN is another profile's", configMap, awsAuth(mapped(profile+"-2", func(m *evidence.RoleMapping) { m.InstanceProfile = true })), "NodeRoleNotMapped"},
		{"without the group of nodes", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = []string{"system:bootstrappers"} })), "AwsAuthWrongGroups"},
		{"as an administrator", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = []string{"system:bootstrappers", "system:masters"} })), "AwsAuthWrongGroups?"},
		{"as an administrator by any name", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) {
			m.Username, m.Groups = "admin", []string{"system:masters", "system:nodes"}
		})), "AwsAuthWrongUsername?"},
		{"as an administrator by the name of one node", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) {
			m.Username, m.Groups = "system:node:ip-10-0-0-1", []string{"system:masters", "system:nodes"}
		})), "AwsAuthWrongUsername"},
		{"the role was made again, and aws-auth maps it as an administrator", both, do(madeAgain, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username, m.Groups = "admin", []string{"system:masters"} }))), "AwsAuthWrongGroups? AwsAuthWrongUsername? AccessEntryStale?"},
		{"without the group of bootstrappers, as AWS's own access entries", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = []string{"system:nodes"} })),
			"AwsAuthWrongGroups?"},
		{"twice, and the last one without the group of bootstrappers", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Effective = false }), mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = []string{"system:nodes"} })), "AwsAuthWrongGroups?"},
		{"as one user for all", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username = "system:node:ip-10-0-0-1" })), "AwsAuthWrongUsername"},
		{"by the name of the session", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username = "system:node:{{SessionName}}" })), ""},
		{"by the DNS name, and the node is named after its id", configMap, joining(func(j *userdata.Join) { j.InstanceIDName = true }), "AwsAuthWrongUsername"},
		{"by the name of the session, and the node is named after its id", configMap,
			do(joining(func(j *userdata.Join) { j.InstanceIDName = true }), awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username = "system:node:{{SessionNameRaw}}" }))), ""},
		{"by the name of the session, and nothing names the node after its id", configMap,
			do(joining(func(*userdata.Join) {}), awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username = "system:node:{{SessionName}}" }))), "AwsAuthWrongUsername?"},
		{"by the DNS name, and the node has a name of its own", configMap, joining(func(j *userdata.Join) {
			j.InstanceIDName = true
			j.Kubelet.HostnameOverride = userdata.Setting{State: userdata.Dynamic}
		}), ""},
		{"by the name of the session, and a branch names the node otherwise", configMap,
			do(joining(func(j *userdata.Join) { j.Conditional = true }), awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username = "system:node:{{SessionName}}" }))), ""},
		{"by the DNS name, and user data that names the node after its id is faulty", configMap, ofInstance(func(i *evidence.Instance) {
			i.UserData = evidence.Read(userdata.Boot{Joins: []userdata.Join{{Tool: userdata.Nodeadm, InstanceIDName: true}}, Faults: []userdata.Fault{{Effect: userdata.Unread}}})
		}), ""},
		{"by the DNS name, and a branch may name the node after its id", configMap, joining(func(j *userdata.Join) { j.InstanceIDName, j.Conditional = true, true }), ""},
		{"an entry by the DNS name, and the node is named after its id", api, joining(func(j *userdata.Join) { j.InstanceIDName = true }), "AccessEntryWrongType"},
		{"an entry of Auto Mode's type, and the node is named after its id", api, do(joining(func(j *userdata.Join) { j.InstanceIDName = true }), accessEntries(entry(nodeRole, "EC2"))), ""},
		{"an entry of Auto Mode's type, and the node is named after its DNS name", api, do(joining(func(*userdata.Join) {}), accessEntries(entry(nodeRole, "EC2"))), "AccessEntryWrongType?"},
		{"an entry by the name of the session, and the node is named after its DNS name", api, do(joining(func(*userdata.Join) {}), accessEntries(entry(nodeRole, "EC2_LINUX", func(a *evidence.AccessEntry) { a.Username = "system:node:{{SessionName}}" }))), "AccessEntryWrongType?"},
		{"the same, and the image is EKS's", api, do(ofEKS, joining(func(*userdata.Join) {}), accessEntries(entry(nodeRole, "EC2"))), "AccessEntryWrongType"},
		{"the same, and a script writes a part of the configuration", api, do(ofEKS, joining(func(j *userdata.Join) { j.DropIns = true }), accessEntries(entry(nodeRole, "EC2"))), "AccessEntryWrongType?"},
		{"the same, and the instance computes flags", api, do(ofEKS, joining(func(j *userdata.Join) { j.Kubelet.FlagsDynamic = true }), accessEntries(entry(nodeRole, "EC2"))), "AccessEntryWrongType?"},
		{"the same, and a script runs what is not followed", api, do(ofEKS, joining(func(*userdata.Join) {}), ofInstance(func(i *evidence.Instance) { i.UserData.Value.Opaque = true }), accessEntries(entry(nodeRole, "EC2"))), "AccessEntryWrongType?"},
		{"the same, and a script changes the image", api, do(ofEKS, joining(func(*userdata.Join) {}), ofInstance(func(i *evidence.Instance) { i.UserData.Value.Edits = []userdata.Edit{userdata.ChangesNodeadm} }), accessEntries(entry(nodeRole, "EC2"))), "AccessEntryWrongType?"},
		{"the same, and a node of Auto Mode with the role joined since", api, do(ofEKS, joining(func(*userdata.Join) {}), accessEntries(entry(nodeRole, "EC2")), func(e *evidence.Evidence) {
			e.Sound = []evidence.Sound{{Group: "nodepool/general-purpose", Profile: profile, Latest: "i-00000002", Joined: then.Add(24 * time.Hour)}}
		}), "AccessEntryWrongType"},
		{"the same, and one of its group joined since", api, do(ofEKS, joining(func(*userdata.Join) {}), accessEntries(entry(nodeRole, "EC2")), func(e *evidence.Evidence) {
			e.Sound = []evidence.Sound{{Group: groupOfNode, Profile: profile, Latest: "i-00000002", Joined: then.Add(24 * time.Hour)}}
		}), "AccessEntryWrongType?"},
		{"by the name of the session, on an image of EKS's", configMap, do(ofEKS, joining(func(*userdata.Join) {}), awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username = "system:node:{{SessionName}}" }))), "AwsAuthWrongUsername"},
		{"twice, in another case, and the last is no node's", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Effective = false }),
				mapped("arn:aws:iam::111122223333:role/Payments-Node", func(m *evidence.RoleMapping) { m.Username, m.Groups = "admin", []string{"platform"} }))
		}, "AwsAuthDuplicateRole"},
		{"twice, and the last is an administrator's", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Effective = false }), mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username, m.Groups = "admin", []string{"system:masters"} })), "AwsAuthDuplicateRole?"},
		{"twice, once with its path and right", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped("arn:aws:iam::111122223333:role/team/payments-node", func(m *evidence.RoleMapping) { m.Path = true }),
				mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = nil }))
		}, "AwsAuthWrongGroups"},
		{"twice, and none has the groups", configMap, func(e *evidence.Evidence) {
			platform := func(m *evidence.RoleMapping) { m.Groups = []string{"platform"} }
			e.Cluster.AwsAuth = roles(mapped(nodeRole, platform, func(m *evidence.RoleMapping) { m.Effective = false }), mapped(nodeRole, platform))
		}, "AwsAuthWrongGroups"},
		{"twice, and the first has another username", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username, m.Effective = "admin", false }),
				mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = nil }))
		}, "AwsAuthWrongGroups"},
		{"another role is there twice", configMap, func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped(controller, func(m *evidence.RoleMapping) { m.Effective = false }), mapped(controller),
				mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = nil }))
		}, "AwsAuthWrongGroups"},
		{"twice, and the last is a node's", configMap, awsAuth(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Effective, m.Groups = false, nil }), mapped(nodeRole)), ""},

		{"no profile", both, ofInstance(func(i *evidence.Instance) { i.Config.Value.ProfileARN = "" }), "InstanceProfileMissing"},
		{"the profile is gone", both, func(e *evidence.Evidence) { e.Profiles[profile] = evidence.None[evidence.InstanceProfile]() }, "InstanceProfileMissing"},
		{"the profile is empty", both, func(e *evidence.Evidence) {
			change(e.Profiles, profile, func(p *evidence.InstanceProfile) { p.Roles = nil })
		}, "InstanceProfileMissing"},
		{"the role is gone", both, func(e *evidence.Evidence) { e.Roles["payments-node"] = evidence.None[evidence.Role]() }, "InstanceProfileMissing"},
		{"EC2 may not assume the role", both, nodesRole(func(r *evidence.Role) { r.TrustPolicy = trustOIDC }), "RoleTrustInvalid"},
		{"AWS's policies are not attached", both, func(e *evidence.Evidence) { e.Policies["payments-node"] = evidence.Read(evidence.Policies{}) }, "RolePoliciesMissing?"},
		{"its own policies may grant the same", both, func(e *evidence.Evidence) {
			e.Policies["payments-node"] = evidence.Read(evidence.Policies{Attached: []string{"arn:aws:iam::111122223333:policy/nodes"}})
		}, ""},
	}
	for _, tt := range tests {
		e := sound(tt.mode)
		tt.spoil(e)
		s := analyze(e, roll.Unregistered)
		expect.Equal(t, causetest.Told(s), tt.want, "%s", tt.name)
		for _, c := range s.Causes() {
			expect.That(t, c.Summary != "" && c.Fix != "" && c.Subject != "" && len(c.Evidence) != 0 && !strings.HasSuffix(c.Summary, "."), "%s: %+v", tt.name, c)
		}
	}
}

// lets maps a role of an unknown owner with these policies in place of the nodes'.
func lets(policies ...evidence.PolicyDocument) func(*evidence.Evidence) {
	return do(other("f3a91c", trustAccount), func(e *evidence.Evidence) {
		e.Documents = map[string]evidence.Fact[[]evidence.PolicyDocument]{"f3a91c": evidence.Read(policies)}
	})
}

// other maps a role in place of the nodes'.
func other(name, trust string) func(*evidence.Evidence) {
	return do(awsAuth(mapped("arn:aws:iam::111122223333:role/"+name)), func(e *evidence.Evidence) {
		e.Roles[name] = evidence.Read(evidence.Role{Name: name, TrustPolicy: trust})
	})
}

// A mapping would let every instance in that Quick Setup of Systems Manager gave its profile to.
func TestAProfileThatWasReplacedIsNotMapped(t *testing.T) {
	for name, tt := range map[string]struct {
		named string
		want  bool
	}{
		"another one":               {"payments-edge", true},
		"another one, by its ARN":   {"arn:aws:iam::111122223333:instance-profile/eks/payments-edge", true},
		"the same":                  {"payments-node", false},
		"the same, by its ARN":      {profile, false},
		"none":                      {"", false},
		"the template was not read": {"-", false},
	} {
		e := sound("API")
		e.Cluster.AccessEntries = entries()
		ofInstance(func(i *evidence.Instance) {
			i.Config.Value.LaunchTemplate, i.Config.Value.LaunchTemplateVersion = "lt-1", "2"
		})(e)
		if tt.named != "-" {
			e.Templates = map[string]evidence.Fact[evidence.LaunchTemplate]{"lt-1:2": evidence.Read(evidence.LaunchTemplate{ProfileARN: tt.named})}
		}
		for _, kind := range []roll.Kind{roll.Unregistered, roll.Unknown} {
			c := analyze(e, kind).Causes()[0]
			replaced := strings.Contains(c.Summary, "its launch template names the instance profile payments-edge, and something gave it payments-node since")
			gives := strings.Contains(c.Fix, "replace-iam-instance-profile-association --association-id \"$ASSOCIATION\" --iam-instance-profile Name=payments-edge")
			if c.Code != cause.NodeRoleNotMapped || c.Confidence != roll.Decisive || replaced != tt.want || gives != tt.want || strings.Contains(c.Fix, "create-access-entry") == tt.want {
				t.Errorf("%s, %s: %s (%s)\n%s", name, kind, c.Summary, c.Confidence, c.Fix)
			}
		}
	}
}

// A role mapped in place of the nodes' is reported with what it was recognized by, and named if
// that is nothing.
func TestTheRoleThatIsMappedInPlaceOfTheNodesIsNamed(t *testing.T) {
	unread := func(e *evidence.Evidence) {
		e.Cluster.AwsAuth = roles(mapped("arn:aws:iam::111122223333:role/f3a91c"), mapped("arn:aws:iam::111122223333:role/others"))
		e.Roles["others"] = evidence.Read(evidence.Role{Name: "others", TrustPolicy: trustEC2})
		e.Roles["f3a91c"] = evidence.Failed[evidence.Role]("iam:GetRole of f3a91c: no permission")
	}
	for _, tt := range []struct {
		name     string
		spoil    func(*evidence.Evidence)
		code     cause.Code
		summary  string
		evidence []string
		open     string
	}{
		{"by its trust policy", other("f3a91c", trustSA),
			cause.ControllerRoleMapped, "payments maps f3a91c, the role of the Karpenter controller, service account kube-system:karpenter, for nodes; the nodes have payments-node, which is not in aws-auth", []string{"mapRoles[0].rolearn: arn:aws:iam::111122223333:role/f3a91c", "AssumeRolePolicyDocument: sts:AssumeRoleWithWebIdentity by the OIDC provider of a cluster, service account kube-system:karpenter"}, ""},
		{"of another controller", other("lb", trustLB),
			cause.ControllerRoleMapped, "payments maps lb, a role that pods assume, service account kube-system:aws-lb, for nodes; the nodes have payments-node, which is not in aws-auth", nil, ""},
		{"by its name alone", awsAuth(mapped(controller)),
			cause.ControllerRoleMapped, "payments maps KarpenterController-payments, by its name the role of the Karpenter controller, for nodes; the nodes have payments-node, which is not in aws-auth", []string{"RoleName: KarpenterController-payments"}, ""},
		{"it could not be read", unread, cause.NodeRoleNotMapped, "; mapped for nodes, and it is unknown whose roles they are: f3a91c",
			[]string{"mapRoles[0].rolearn: arn:aws:iam::111122223333:role/f3a91c", "mapRoles[1].rolearn: arn:aws:iam::111122223333:role/others, the role of other nodes"}, "iam:GetRole of f3a91c: no permission"},
		{"nothing tells whose it is", other("f3a91c", trustAccount),
			cause.NodeRoleNotMapped, "; mapped for nodes, and it is unknown whose roles they are: f3a91c", nil, "it is unknown whose role f3a91c is"},
		{"its policies let it pass a role, and launch nothing", lets(evidence.PolicyDocument{Name: "p", Text: `{"Statement":{"Effect":"Allow","Action":"iam:PassRole"}}`}), cause.NodeRoleNotMapped, "whose roles they are: f3a91c", nil, "it is unknown whose role f3a91c is"},
		{"a controller's by its name, and instances have it", func(e *evidence.Evidence) {
			e.Cluster.AwsAuth = roles(mapped(controller))
			e.Profiles["x"] = evidence.Read(evidence.InstanceProfile{Roles: []string{"KarpenterController-payments"}})
		}, cause.NodeRoleNotMapped, "so the API server refuses its kubelet", nil, ""},
		{"a controller's by its name, and mapped for Fargate", awsAuth(mapped(controller, func(m *evidence.RoleMapping) { m.Groups = append(slices.Clone(nodes), "system:node-proxier") })),
			cause.NodeRoleNotMapped, "so the API server refuses its kubelet", nil, ""},
		{"its policies could not be read", func(e *evidence.Evidence) {
			other("f3a91c", trustAccount)(e)
			e.Documents = map[string]evidence.Fact[[]evidence.PolicyDocument]{"f3a91c": {State: evidence.Known, Why: "iam:GetRolePolicy: no permission"}}
		}, cause.NodeRoleNotMapped, "whose roles they are: f3a91c", nil, "iam:GetRolePolicy: no permission"},
		{"Karpenter's service account could not be read", func(e *evidence.Evidence) {
			other("f3a91c", trustAccount)(e)
			e.Cluster.Controllers = evidence.Failed[[]evidence.ServiceAccount]("list serviceaccounts: no permission")
		}, cause.NodeRoleNotMapped, "whose roles they are: f3a91c", nil, "list serviceaccounts: no permission"},
	} {
		e := sound("CONFIG_MAP")
		tt.spoil(e)
		s := analyze(e, roll.Unregistered)
		c := s.Causes()[0]
		var seen []string
		for _, one := range c.Evidence {
			seen = append(seen, one.Field+": "+one.Observed)
		}
		expect.That(t, c.Code == tt.code && strings.HasSuffix(c.Summary, tt.summary), "%s: %s: %s", tt.name, c.Code, c.Summary)
		for _, want := range tt.evidence {
			expect.That(t, slices.Contains(seen, want), "%s: %q lacks %q", tt.name, seen, want)
		}
		open := causetest.Reason(s, cause.ControllerRoleMapped)
		expect.That(t, strings.Contains(open, tt.open) && (open == "") == (tt.open == ""), "%s: not checked because of %q, want %q", tt.name, open, tt.open)
	}
	e := sound("API")
	e.Cluster.AccessEntries = entries()
	e.Cluster.AccessEntries.Value.Principals = []string{controller, "arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/x", "arn:aws:iam::111122223333:user/u"}
	if s := analyze(e, roll.Unregistered); causetest.Told(s) != "NodeRoleNotMapped" || !strings.HasPrefix(causetest.Reason(s, cause.ControllerRoleMapped), "of 1 access entries") {
		t.Errorf("entries that nobody read: %s, %v", causetest.Told(s), s.Open())
	}
}

func TestASoundInstanceHasAllRuledOut(t *testing.T) {
	s := analyze(sound("CONFIG_MAP"), roll.Unregistered)
	for _, code := range []cause.Code{
		cause.NodeRoleNotMapped, cause.AwsAuthUnparseable, cause.AwsAuthArnHasPath, cause.AwsAuthArnIsInstanceProfile, cause.AwsAuthWrongGroups,
		cause.AwsAuthWrongUsername, cause.AwsAuthDuplicateRole, cause.InstanceProfileMissing, cause.RolePoliciesMissing, cause.RoleTrustInvalid, cause.ControllerRoleMapped,
	} {
		expect.That(t, slices.Contains(s.Clear(), code), "%s is not ruled out", code)
	}
	if s = analyze(sound("API"), roll.Unregistered); !slices.Contains(s.Clear(), cause.AccessEntryWrongType) || !slices.Contains(s.Clear(), cause.AccessEntryStale) {
		t.Errorf("ruled out: %v", s.Clear())
	}
}

// A silent node certainly lost its mapping only if no node with its role is healthy.
func TestOfASilentNodeAMissingMappingIsDecisiveOnlyIfNoOtherWithItsRoleIsWell(t *testing.T) {
	const twin, other, unread = profile + "-twin", profile + "-other", profile + "-unread"
	for name, tt := range map[string]struct {
		sound []evidence.Sound
		alone bool
		want  string
		gap   bool
	}{
		"no other is well":                                   {nil, false, "NodeRoleNotMapped", false},
		"nobody looked at the others":                        {nil, true, "NodeRoleNotMapped?", false},
		"one of its group, with its profile":                 {[]evidence.Sound{{Group: groupOfNode, Profile: profile}}, false, "NodeRoleNotMapped?", false},
		"one of another group, with its profile":             {[]evidence.Sound{{Group: "asg/other", Profile: profile}}, false, "NodeRoleNotMapped?", false},
		"one of another group, whose profile holds its role": {[]evidence.Sound{{Group: "asg/other", Profile: twin}}, false, "NodeRoleNotMapped?", false},
		"one of its group, with another role":                {[]evidence.Sound{{Group: groupOfNode, Profile: other}}, false, "NodeRoleNotMapped", false},
		"one of another group, with another role":            {[]evidence.Sound{{Group: "asg/other", Profile: other}}, false, "NodeRoleNotMapped", false},
		"one of its group, whose role was not read":          {[]evidence.Sound{{Group: groupOfNode, Profile: unread}}, false, "NodeRoleNotMapped?", true},
		"one of its group, without a profile":                {[]evidence.Sound{{Group: groupOfNode}}, false, "NodeRoleNotMapped?", false},
		"one of another group, whose role was not read":      {[]evidence.Sound{{Group: "asg/other", Profile: unread}}, false, "NodeRoleNotMapped", false},
	} {
		e := sound("CONFIG_MAP")
		e.Cluster.AwsAuth = roles()
		e.Profiles[twin] = e.Profiles[profile]
		e.Profiles[other] = evidence.Read(evidence.InstanceProfile{ARN: other, Roles: []string{"payments-other"}})
		e.Sound, e.Alone = tt.sound, tt.alone
		s := analyze(e, roll.Unknown)
		got, gap := causetest.Told(s), s.Causes()[0].Unsettled != ""
		expect.That(t, got == tt.want && gap == tt.gap, "%s: %q, unsettled %t, want %q", name, got, gap, tt.want)
		expect.Equal(t, causetest.Told(analyze(e, roll.NotReady)), "", "%s: a node that reports is known to its cluster", name)
	}
}

// A role that let a node in after the instance's launch is mapped.
func TestOfAnUnregisteredInstanceAMissingMappingIsAHintIfItsRoleLetOneIn(t *testing.T) {
	const other = profile + "-other"
	member := evidence.Member{Instance: "i-00000002", Healthy: true, Described: true, Profile: profile, Joined: then.Add(time.Minute)}
	for name, tt := range map[string]struct {
		sound  []evidence.Sound
		member func(*evidence.Member)
		want   string
	}{
		"one joined since":                        {[]evidence.Sound{{Group: "asg/other", Profile: profile, Latest: "i-00000002", Joined: then.Add(time.Minute)}}, nil, "NodeRoleNotMapped?"},
		"one joined before":                       {[]evidence.Sound{{Group: groupOfNode, Profile: profile, Latest: "i-00000002", Joined: then}}, nil, "NodeRoleNotMapped"},
		"one joined since, with another role":     {[]evidence.Sound{{Group: groupOfNode, Profile: other, Latest: "i-00000002", Joined: then.Add(time.Minute)}}, nil, "NodeRoleNotMapped"},
		"one joined since, whose role is unknown": {[]evidence.Sound{{Group: groupOfNode, Profile: "unread", Latest: "i-00000002", Joined: then.Add(time.Minute)}}, nil, "NodeRoleNotMapped"},
		"one of its group joined since":           {nil, func(*evidence.Member) {}, "NodeRoleNotMapped?"},
		"one that is not healthy":                 {nil, func(m *evidence.Member) { m.Healthy = false }, "NodeRoleNotMapped"},
		"one whose profile is not known":          {nil, func(m *evidence.Member) { m.Described, m.Profile = false, "" }, "NodeRoleNotMapped"},
		"the instance itself":                     {nil, func(m *evidence.Member) { m.Instance = instance }, "NodeRoleNotMapped"},
	} {
		e := sound("CONFIG_MAP")
		e.Cluster.AwsAuth, e.Sound = roles(), tt.sound
		ofInstance(func(i *evidence.Instance) { i.Config.Value.Launched = then })(e)
		e.Profiles[other] = evidence.Read(evidence.InstanceProfile{ARN: other, Roles: []string{"payments-other"}})
		if tt.member != nil {
			m := member
			tt.member(&m)
			e.Groups[groupOfNode] = evidence.Group{Members: []evidence.Member{m}}
		}
		expect.Equal(t, causetest.Told(analyze(e, roll.Unregistered)), tt.want, "%s", name)
	}
}

// What could not be read, or cannot be judged, is never ruled out.
func TestWhatCannotBeJudgedIsNotChecked(t *testing.T) {
	for _, tt := range []struct {
		name, mode string
		spoil      func(*evidence.Evidence)
		code       cause.Code
	}{
		{"user data, for the name in aws-auth", "CONFIG_MAP", func(e *evidence.Evidence) {
			e.Instances[instance] = evidence.Instance{Config: e.Instances[instance].Config}
		}, cause.AwsAuthWrongUsername},
		{"user data, for the name in the entry", "API", func(e *evidence.Evidence) {
			e.Instances[instance] = evidence.Instance{Config: e.Instances[instance].Config}
		}, cause.AccessEntryWrongType},
		{"an entry of Auto Mode's type, and the user data was not read", "API", do(accessEntries(entry(nodeRole, "EC2")), ofInstance(func(i *evidence.Instance) { i.UserData = evidence.Failed[userdata.Boot]("denied") })), cause.AccessEntryWrongType},
		{"the policies of Auto Mode's entry", "API", accessEntries(entryOf{nodeRole, evidence.AccessEntry{Type: "EC2", Created: then.Add(time.Hour)}}), cause.AccessEntryWrongType},
		{"the date of the role", "API", nodesRole(func(r *evidence.Role) { r.Created = time.Time{} }), cause.AccessEntryStale},
		{"a policy of another account's with the name of AWS's", "API", func(e *evidence.Evidence) {
			e.Policies["payments-node"] = evidence.Read(evidence.Policies{Attached: []string{"arn:aws:iam::111122223333:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::111122223333:policy/AmazonEC2ContainerRegistryPullOnly"}})
		}, cause.RolePoliciesMissing},
		{"an inline policy", "API", func(e *evidence.Evidence) {
			e.Policies["payments-node"] = evidence.Read(evidence.Policies{Inline: []string{"node"}})
		}, cause.RolePoliciesMissing},
	} {
		e := sound(tt.mode)
		tt.spoil(e)
		causetest.NotChecked(t, tt.name, analyze(e, roll.Unregistered), "", tt.code)
	}
	e := sound("API")
	e.Cluster.AccessEntries.Value.Entries = nil
	if s := analyze(e, roll.Unregistered); !slices.Contains(s.Clear(), cause.NodeRoleNotMapped) || len(s.Open()) != 2 {
		t.Errorf("an entry that is listed and was not read: not checked %v, ruled out %v", s.Open(), s.Clear())
	}
	e = windowsNode("API")
	e.Nodes[""] = evidence.Node{Object: e.Nodes[""].Object, Pods: evidence.Failed[[]evidence.Pod]("denied")}
	causetest.NotChecked(t, "the pods of a node that waits for its network", analyze(e, roll.NotReady), "", cause.RolePoliciesMissing)
	e = sound("API")
	e.Cluster.AccessEntries = entries()
	if s := analyze(e, roll.Unregistered); !slices.Contains(s.Clear(), cause.ControllerRoleMapped) {
		t.Errorf("no other role has an entry, and %v", s.Open())
	}
}

// A missing policy is proven by a call that AWS refused.
func TestMissingPolicies(t *testing.T) {
	const waits = "NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized"
	pod := func(owner, reason, message string) func(*evidence.Evidence) {
		return func(e *evidence.Evidence) {
			e.Nodes = map[string]evidence.Node{"": {
				Object: evidence.Read(evidence.NodeObject{Conditions: []evidence.Condition{{Type: "Ready", Status: "False", Message: message}}}),
				Pods:   evidence.Read([]evidence.Pod{{Owner: owner, Events: []evidence.Event{{Reason: reason, Message: "Unauthorized operation: failed to call ec2:AssignPrivateIpAddresses."}}}}),
			}}
		}
	}
	calls := func(refused, message string) func(*evidence.Evidence) {
		return do(pod("DaemonSet/aws-node", "", message), func(e *evidence.Evidence) {
			for _, n := range e.Nodes {
				n.Pods.Value[0].Events = roll.Map(strings.Fields(refused), func(call string) evidence.Event {
					return evidence.Event{Type: "Warning", Reason: "MissingIAMPermissions", Message: "Unauthorized operation: failed to call ec2:" + call + " due to missing permissions. Please refer https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/iam-policy.md to attach relevant policy to IAM role"}
				})
			}
		})
	}
	boot := func(attached string, signs ...console.Found) func(*evidence.Evidence) {
		return func(e *evidence.Evidence) {
			ofInstance(func(i *evidence.Instance) { i.Console = evidence.Read(console.Log{Lines: 9, Found: signs}) })(e)
			e.Policies["payments-node"] = evidence.Read(evidence.Policies{Attached: []string{"arn:aws:iam::aws:policy/" + attached}})
		}
	}
	failed, refused := console.Found{Sign: console.NodeadmFailed}, console.Found{Sign: console.AccessDenied, Detail: "EC2: DescribeInstances: UnauthorizedOperation"}
	byOrganization := console.Found{Sign: console.AccessDenied, Detail: refused.Detail + " with an explicit deny in a service control policy"}
	byRole := console.Found{Sign: console.AccessDenied, Detail: refused.Detail + " because no identity-based policy allows it"}
	const minimal = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodeMinimalPolicy"
	pulls := boot("AmazonEC2ContainerRegistryPullOnly")
	grants := func(arns ...string) func(*evidence.Evidence) {
		return func(e *evidence.Evidence) {
			change(e.Policies, "payments-node", func(p *evidence.Policies) { p.Attached = append(p.Attached, arns...) })
		}
	}
	joined := func(e *evidence.Evidence) {
		e.Sound = []evidence.Sound{{Profile: profile, Latest: "i-00000002", Joined: then}}
	}
	ipv6 := func(e *evidence.Evidence) { e.Cluster.Config.Value.IPFamily = "ipv6" }
	for _, tt := range []struct {
		name  string
		kind  roll.Kind
		spoil func(*evidence.Evidence)
		want  string
	}{
		{"the CNI's call is refused", roll.NotReady, pod("DaemonSet/aws-node", "MissingIAMPermissions", waits), "RolePoliciesMissing"},
		{"the CNI's call is refused, and the node is new", roll.Uninitialized, pod("DaemonSet/aws-node", "MissingIAMPermissions", waits), "RolePoliciesMissing"},
		{"the node waits for something else", roll.NotReady, pod("DaemonSet/aws-node", "MissingIAMPermissions", "PLEG is not healthy"), "RolePoliciesMissing?"},
		{"the CNI looks for other subnets, and may not", roll.Uninitialized, calls("DescribeSubnets", waits), ""},
		{"the CNI looks for other subnets, and may not, nor take an address", roll.Uninitialized, calls("DescribeSubnets AssignPrivateIpAddresses", waits), "RolePoliciesMissing"},
		{"the CNI looks for other subnets, and the node waits for something else", roll.NotReady, calls("DescribeSubnets", "PLEG is not healthy"), "RolePoliciesMissing?"},
		{"the CNI looks for other subnets, with IPv6", roll.Uninitialized, do(calls("DescribeSubnets", waits), ipv6), "RolePoliciesMissing"},
		{"the CNI may not set security groups, with IPv6", roll.Uninitialized, do(calls("ModifyNetworkInterfaceAttribute", waits), ipv6), ""},
		{"the CNI may not attach another interface, with IPv6", roll.Uninitialized, do(calls("CreateNetworkInterface DescribeInstances AttachNetworkInterface", waits), ipv6), ""},
		{"the CNI may not set security groups, nor take a prefix, with IPv6", roll.Uninitialized, do(calls("ModifyNetworkInterfaceAttribute AssignIpv6Addresses", waits), ipv6), "RolePoliciesMissing"},
		{"the CNI may not ask what its instance type has, with IPv6", roll.Uninitialized, do(calls("DescribeInstanceTypes", waits), ipv6), "RolePoliciesMissing"},
		{"the CNI may not set security groups, which it must with custom networking alone", roll.Uninitialized, calls("ModifyNetworkInterfaceAttribute", waits), "RolePoliciesMissing?"},
		{"the CNI may not set security groups, nor take an address", roll.Uninitialized, calls("ModifyNetworkInterfaceAttribute AssignPrivateIpAddresses", waits), "RolePoliciesMissing"},
		{"the CNI may not free what it does not need", roll.Uninitialized, calls("DeleteNetworkInterface DetachNetworkInterface UnassignPrivateIpAddresses", waits), ""},
		{"the CNI may not attach an interface, which it must with custom networking", roll.Uninitialized, calls("AttachNetworkInterface", waits), "RolePoliciesMissing"},
		{"another pod's call is refused", roll.NotReady, pod("DaemonSet/ebs-csi-node", "MissingIAMPermissions", waits), ""},
		{"the CNI reports something else", roll.NotReady, pod("DaemonSet/aws-node", "BackOff", waits), ""},
		{"nodeadm's call is refused", roll.Unregistered, boot("AmazonEC2ContainerRegistryPullOnly", failed, refused), "RolePoliciesMissing"},
		{"bootstrap.sh's call is refused", roll.Unregistered, boot("AmazonEC2ContainerRegistryPullOnly", console.Found{Sign: console.BootstrapFailed}, refused), "RolePoliciesMissing"},
		{"Bottlerocket's call is refused", roll.Unregistered, boot("AmazonEC2ContainerRegistryPullOnly", console.Found{Sign: console.BottlerocketFailed}, refused), "RolePoliciesMissing"},
		{"nodeadm's call is refused, and another node joined", roll.Unregistered, do(boot("AmazonEC2ContainerRegistryPullOnly", failed, refused), joined), "RolePoliciesMissing"},
		{"no call is refused, and another node joined", roll.Unregistered, do(boot("AmazonEC2ContainerRegistryPullOnly", failed), joined), ""},
		{"no call is refused", roll.Unregistered, boot("AmazonEC2ContainerRegistryPullOnly", failed), "RolePoliciesMissing?"},
		{"a call is refused, and nothing failed of it", roll.Unregistered, boot("AmazonEC2ContainerRegistryPullOnly", console.Found{Sign: console.KubeletFailed}, refused), "RolePoliciesMissing?"},
		{"another call is refused", roll.Unregistered, boot("AmazonEC2ContainerRegistryPullOnly", failed, console.Found{Sign: console.AccessDenied, Detail: "GetObject: AccessDenied"}), "RolePoliciesMissing?"},
		{"the policy that allows the call is there", roll.Unregistered, boot("AmazonEKSWorkerNodePolicy", failed, refused), "RolePoliciesMissing?"},
		{"nodeadm's call is refused with all of AWS's policies", roll.Unregistered, do(boot("AmazonEKSWorkerNodePolicy", failed, refused), grants("arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly")), "RolePoliciesMissing?"},
		{"nodeadm's call is refused with all of AWS's policies, and nothing failed of it", roll.Unregistered, do(boot("AmazonEKSWorkerNodePolicy", refused), grants("arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly")), ""},
		{"the organization denies the call, with all of AWS's policies", roll.Unregistered, do(boot("AmazonEKSWorkerNodePolicy", failed, byOrganization), grants("arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly")), "RolePoliciesMissing?"},
		{"the organization denies the call, with a policy of the role's own", roll.Unregistered, do(boot("AmazonEC2ContainerRegistryPullOnly", failed, byOrganization), grants("arn:aws:iam::111122223333:policy/nodes")), "RolePoliciesMissing?"},
		{"the organization denies the call, and the role lacks the policy", roll.Unregistered, boot("AmazonEC2ContainerRegistryPullOnly", failed, byOrganization), "RolePoliciesMissing"},
		{"nodeadm's call is refused, and AWS names the role's policies", roll.Unregistered, boot("AmazonEC2ContainerRegistryPullOnly", failed, byRole), "RolePoliciesMissing"},
		{"nodeadm's call is refused, and a policy of its own may allow it by now", roll.Unregistered, do(boot("AmazonEC2ContainerRegistryPullOnly", failed, refused), grants("arn:aws:iam::111122223333:policy/nodes")), "RolePoliciesMissing?"},
		{"nodeadm's call is refused, with both of AWS's policies and one of its own", roll.Unregistered, do(boot("AmazonEC2ContainerRegistryPullOnly", failed, refused), grants("arn:aws:iam::111122223333:policy/nodes", "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy")), "RolePoliciesMissing?"},
		{"nodeadm's call is refused, with the minimal policy", roll.Unregistered, do(boot("AmazonEC2ContainerRegistryPullOnly", failed, refused), grants(minimal)), "RolePoliciesMissing"},
		{"no call is refused, with the minimal policy", roll.Unregistered, do(pulls, grants(minimal)), ""},
		{"no call is refused, with the minimal policy, and the node is named after its DNS name", roll.Unregistered, do(pulls, grants(minimal), joining(func(*userdata.Join) {})), "RolePoliciesMissing?"},
		{"the minimal policy, and the node is named after its id", roll.Unregistered, do(pulls, grants(minimal), joining(func(j *userdata.Join) { j.InstanceIDName = true }), accessEntries(entry(nodeRole, "EC2"))), ""},
		{"the node registered with the minimal policy", roll.NotReady, do(pulls, grants(minimal), joining(func(*userdata.Join) {})), ""},
		{"the node registered", roll.NotReady, boot("AmazonEC2ContainerRegistryPullOnly", failed, refused), "RolePoliciesMissing?"},
	} {
		e := sound("API")
		if tt.kind != roll.Unregistered {
			pod("", "", "")(e)
		}
		tt.spoil(e)
		expect.Equal(t, causetest.Told(analyze(e, tt.kind)), tt.want, "%s", tt.name)
	}
}

// A refused call names what denies it, as far as AWS says, and not a policy that is attached already.
func TestARefusedCallOfARoleWithItsPoliciesNamesWhatDeniesIt(t *testing.T) {
	for detail, words := range map[string]string{
		"EC2: DescribeInstances: UnauthorizedOperation":                                                   "a service control policy, a permissions boundary",
		"EC2: DescribeInstances: UnauthorizedOperation with an explicit deny in a service control policy": "join: EC2: DescribeInstances: UnauthorizedOperation with an explicit deny in a service control policy",
		"EKS: DescribeCluster: AccessDeniedException because no permissions boundary allows it":           "because no permissions boundary allows it",
		"EC2: DescribeInstances: UnauthorizedOperation with an explicit deny in an identity-based policy": "a Deny of its own",
		"EC2: DescribeInstances: UnauthorizedOperation because no VPC endpoint policy allows it":          "because no VPC endpoint policy allows it",
	} {
		e := sound("API")
		ofInstance(func(i *evidence.Instance) {
			i.Console = evidence.Read(console.Log{Lines: 9, Found: []console.Found{{Sign: console.NodeadmFailed}, {Sign: console.AccessDenied, Excerpt: "api error", Detail: detail}}})
		})(e)
		c := analyze(e, roll.Unregistered).Causes()[0]
		expect.That(t, c.Code == cause.RolePoliciesMissing && strings.Contains(c.Summary, words), "%s: %s", detail, c.Summary)
		expect.That(t, strings.Contains(c.Fix, "aws cloudtrail lookup-events") && !strings.Contains(c.Fix, "attach-role-policy"), "%s: %s", detail, c.Fix)
	}
}

func TestTheFixNamesWhatItIsAbout(t *testing.T) {
	e := sound("API_AND_CONFIG_MAP")
	e.Cluster.AccessEntries, e.Cluster.AwsAuth = entries(), roles()
	fix := analyze(e, roll.Unregistered).Causes()[0].Fix
	want := "aws eks create-access-entry --region eu-west-1 --cluster-name payments --principal-arn " + nodeRole + " --type EC2_LINUX"
	expect.That(t, fix == want, "got  %s\nwant %s", fix, want)
	e = sound("CONFIG_MAP")
	e.Cluster.AwsAuth = roles()
	for _, part := range []string{"--arn " + nodeRole, "--username 'system:node:{{EC2PrivateDNSName}}'", "--group system:bootstrappers --group system:nodes"} {
		fix := analyze(e, roll.Unregistered).Causes()[0].Fix
		expect.That(t, strings.Contains(fix, part), "%s\nlacks %s", fix, part)
	}
}

func TestTheEntryIsOfTheTypeThatTheNodeNeeds(t *testing.T) {
	windows := ofInstance(func(i *evidence.Instance) { i.Config.Value.Platform = "windows" })
	named := joining(func(j *userdata.Join) { j.InstanceIDName = true })
	for _, tt := range []struct {
		name  string
		mode  string
		owner roll.Owner
		spoil func(*evidence.Evidence)
		want  string
		fix   []string
	}{
		{"an entry for a person", "API", roll.OwnerKarpenter, accessEntries(entry(nodeRole, "STANDARD")), "AccessEntryWrongType", []string{"delete-access-entry", "create-access-entry", "--type EC2_LINUX"}},
		{"a Windows node", "API", roll.OwnerKarpenter, do(windows, accessEntries()), "NodeRoleNotMapped", []string{"--type EC2_WINDOWS"}},
		{"a Windows node in aws-auth", "CONFIG_MAP", roll.OwnerKarpenter, do(windows, awsAuth()), "NodeRoleNotMapped", []string{"--group " + groupOfWindows}},
		{"a node of Auto Mode", "API", roll.OwnerAutoMode, accessEntries(), "NodeRoleNotMapped", []string{"--type EC2\n", "associate-access-policy"}},
		{"a node named after its id", "API", roll.OwnerKarpenter, do(named, accessEntries()), "NodeRoleNotMapped", []string{"--type EC2\n"}},
		{"a node of Auto Mode whose role has the entry of a node group", "API", roll.OwnerAutoMode, accessEntries(entry(nodeRole, "EC2_LINUX")), "AccessEntryWrongType", []string{"--type EC2\n", "associate-access-policy"}},
		{"a node of Auto Mode whose role is in aws-auth", "CONFIG_MAP", roll.OwnerAutoMode, awsAuth(mapped(nodeRole)), "", nil},
		{"a node of Auto Mode, named after its id, without the policy", "API", roll.OwnerAutoMode, do(named, accessEntries(entry(nodeRole, "EC2"))), "AccessEntryWrongType", []string{"associate-access-policy"}},
		{"a controller's role in place of a node group's", "API", roll.OwnerManagedNodeGroup, accessEntries(entry(controller, "EC2_LINUX")), "NodeRoleNotMapped", []string{"create-access-entry"}},
	} {
		e := sound(tt.mode)
		tt.spoil(e)
		s := analyzeOf(e, roll.Finding{Kind: roll.Unregistered, Owner: tt.owner, Group: groupOfNode})
		expect.Equal(t, causetest.Told(s), tt.want, "%s", tt.name)
		for _, part := range tt.fix {
			fix := s.Causes()[0].Fix + "\n"
			expect.That(t, strings.Contains(fix, part), "%s: %s\nlacks %s", tt.name, fix, part)
		}
	}
}

// A node that has its instance's id for a name contradicts what its user data shows.
func TestANodeShowsItsName(t *testing.T) {
	for node, want := range map[string]string{string(instance): "AccessEntryWrongType?", "ip-10-0-0-1.eu-west-1.compute.internal": "AccessEntryWrongType"} {
		e := sound("API")
		do(ofEKS, joining(func(*userdata.Join) {}), accessEntries(entry(nodeRole, "EC2")))(e)
		s := analyzeOf(e, roll.Finding{Kind: roll.Unknown, Owner: roll.OwnerKarpenter, Group: groupOfNode, Node: node})
		expect.Equal(t, causetest.Told(s), want, "%s", node)
	}
}

// The entry that other nodes of the role need is never deleted.
func TestTheEntryOfOtherNodesIsKept(t *testing.T) {
	auto := func(a *evidence.AccessEntry) {
		a.Policies = []string{"arn:aws:eks::aws:cluster-access-policy/AmazonEKSAutoNodePolicy"}
	}
	others := func(e *evidence.Evidence) { e.Sound = []evidence.Sound{{Group: "nodegroup/web", Profile: profile}} }
	for _, tt := range []struct {
		name  string
		owner roll.Owner
		spoil func(*evidence.Evidence)
		want  string
	}{
		{"the entry of Auto Mode", roll.OwnerKarpenter, accessEntries(entry(nodeRole, "EC2", auto)), "kubectl edit ec2nodeclass default"},
		{"an entry whose policies were not read", roll.OwnerKarpenter, accessEntries(entry(nodeRole, "EC2", func(a *evidence.AccessEntry) { a.PoliciesRead = false })), "kubectl edit ec2nodeclass default"},
		{"nodes of another group have the role", roll.OwnerManagedNodeGroup, do(accessEntries(entry(nodeRole, "EC2")), others), "cannot be changed"},
		{"a node of Auto Mode with the role of a node group", roll.OwnerAutoMode, others, "associate-access-policy"},
		{"a node of one's own", roll.OwnerAutoScalingGroup, do(accessEntries(entry(nodeRole, "EC2")), others), "launch template"},
	} {
		e := sound("API")
		do(ofEKS, joining(func(*userdata.Join) {}), tt.spoil)(e)
		fix := analyzeOf(e, roll.Finding{Kind: roll.Unregistered, Owner: tt.owner, Group: groupOfNode}).Causes()[0].Fix
		if strings.Contains(fix, "delete-access-entry") || strings.Contains(fix, "--principal-arn "+nodeRole) || !strings.Contains(fix, tt.want) {
			t.Errorf("%s: %s\nlacks %q, or touches the entry", tt.name, fix, tt.want)
		}
	}
}

// Instances share the fault of what they come from.
func TestAMissingProfileIsThatOfItsOrigin(t *testing.T) {
	for want, config := range map[string]evidence.InstanceConfig{
		"instance-profile/" + profile: {ProfileARN: profile, NodeClass: "default"},
		"nodeclass/default":           {NodeClass: "default", LaunchTemplate: "lt-1", LaunchTemplateVersion: "2"},
		"launch-template/lt-1:2":      {LaunchTemplate: "lt-1", LaunchTemplateVersion: "2"},
		string(groupOfNode):           {},
	} {
		e := sound("API")
		e.Instances[instance] = evidence.Instance{Config: evidence.Read(config)}
		e.Profiles[profile] = evidence.None[evidence.InstanceProfile]()
		got := analyze(e, roll.Unregistered).Causes()[0]
		expect.That(t, got.Code == cause.InstanceProfileMissing && got.Subject == want, "%s of %q, want %q", got.Code, got.Subject, want)
	}
}

// A node named after its instance ID needs its session's name as its username.
func TestTheFixMapsTheNameOfTheNode(t *testing.T) {
	for name, store := range map[string]evidence.Fact[evidence.AwsAuth]{
		"not mapped":    roles(),
		"wrong groups":  roles(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Groups = nil })),
		"another user":  roles(mapped(nodeRole, func(m *evidence.RoleMapping) { m.Username = "system:node:node-1" })),
		"the DNS name":  roles(mapped(nodeRole)),
		"is a profile":  roles(mapped(profile, func(m *evidence.RoleMapping) { m.InstanceProfile = true })),
		"has a path":    roles(mapped("arn:aws:iam::111122223333:role/team/payments-node", func(m *evidence.RoleMapping) { m.Path = true })),
		"is not mapped": evidence.None[evidence.AwsAuth](),
	} {
		e := sound("CONFIG_MAP")
		joining(func(j *userdata.Join) { j.InstanceIDName = true })(e)
		e.Cluster.AwsAuth = store
		if name == "has a path" {
			change(e.Roles, "payments-node", func(r *evidence.Role) { r.ARN = "arn:aws:iam::111122223333:role/team/payments-node" })
		}
		for _, c := range analyze(e, roll.Unregistered).Causes() {
			expect.That(t, strings.Contains(c.Fix, "system:node:{{SessionName}}") && !strings.Contains(c.Fix, "{{EC2PrivateDNSName}}"), "%s: %s is fixed by\n%s", name, c.Code, c.Fix)
		}
	}
}

func TestTrustPolicies(t *testing.T) {
	statement := func(s string) string { return `{"Statement":[` + s + `]}` }
	tests := []struct {
		name, policy string
		found, open  bool
	}{
		{"EC2", trustEC2, false, false},
		{"EC2 in China", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com.cn"},"Action":["sts:AssumeRole"]}`), false, false},
		{"EC2 in a partition of its own", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.c2s.ic.gov"},"Action":"sts:AssumeRole"}`), false, false},
		{"EC2 in aws-iso-f", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.csp.hci.ic.gov"},"Action":"sts:AssumeRole"}`), false, false},
		{"EC2 in aws-iso-e", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.cloud.adc-e.uk"},"Action":"sts:AssumeRole"}`), false, false},
		{"EC2, by a pattern of actions", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":["sts:A*","sts:TagSession"]}`), false, false},
		{"EC2, by a pattern of other actions", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRoleWith*"}`), true, false},
		{"a service of Auto Scaling's", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.application-autoscaling.amazonaws.com"},"Action":"sts:AssumeRole"}`), true, false},
		{"everybody", statement(`{"Effect":"Allow","Principal":"*","Action":"sts:*"}`), false, false},
		{"another service", statement(`{"Effect":"Allow","Principal":{"Service":"eks.amazonaws.com"},"Action":"sts:AssumeRole"}`), true, false},
		{"another act", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:TagSession"}`), true, false},
		{"denied", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"},{"Effect":"Deny","Principal":"*","Action":"sts:AssumeRole"}`), true, false},
		{"denied under a condition", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"},{"Effect":"Deny","Principal":"*","Action":"sts:AssumeRole","Condition":{"Bool":{"x":"y"}}}`), false, true},
		{"allowed under a condition", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"StringEquals":{"aws:SourceAccount":"111122223333"}}}`), false, true},
		{"everybody, as a principal of AWS", statement(`{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}`), false, false},
		{"allowed for another account's resources", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"}}}`), true, false},
		{"allowed with an external id", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"StringEquals":{"sts:ExternalId":"x"}}}`), true, false},
		{"allowed without an external id", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"StringNotEquals":{"sts:ExternalId":"x"}}}`), false, true},
		{"allowed under a condition that is not judged", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"StringEquals":{"aws:SourceOrgID":"o-1"}}}`), false, true},
		{"allowed, and by exception too", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"},{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"NotAction":"sts:TagSession"}`), false, false},
		{"allowed, and denied all but some actions", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"},{"Effect":"Deny","Principal":"*","NotAction":"sts:TagSession"}`), false, true},
		{"all but some actions, with an external id", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"NotAction":"sts:TagSession","Condition":{"StringEquals":{"sts:ExternalId":"x"}}}`), true, false},
		{"all but some actions", statement(`{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"NotAction":"sts:TagSession"}`), false, true},
		{"by exception", statement(`{"Effect":"Allow","NotPrincipal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"sts:AssumeRole"}`), false, true},
		{"no policy", "", false, true},
		{"no JSON", "{", false, true},
	}
	for _, tt := range tests {
		e := sound("API")
		change(e.Roles, "payments-node", func(r *evidence.Role) { r.TrustPolicy = tt.policy })
		s := analyze(e, roll.Unregistered)
		found := causetest.Told(s) == "RoleTrustInvalid"
		open := causetest.Reason(s, cause.RoleTrustInvalid) != ""
		expect.That(t, found == tt.found && open == tt.open, "%s: found %v, not checked %v", tt.name, found, open)
		for _, c := range s.Causes() { // whoever else may assume the role still may
			expect.That(t, c.Code != cause.RoleTrustInvalid || strings.Contains(c.Fix, "> trust-policy.json\n") && strings.Contains(c.Fix, "--policy-document file://trust-policy.json"), "%s: the fix replaces the policy:\n%s", tt.name, c.Fix)
		}
	}
}

// Whatever is unreadable, nothing becomes decisive that was not, and what depends on it is
// reported as not checked.
func TestWhatIsHiddenIsNeverAFault(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	hide := []func(*evidence.Evidence){
		func(e *evidence.Evidence) { e.Cluster.Config = evidence.Failed[evidence.ClusterConfig]("why") },
		func(e *evidence.Evidence) { e.Cluster.AwsAuth = evidence.Failed[evidence.AwsAuth]("why") },
		func(e *evidence.Evidence) { e.Cluster.AccessEntries = evidence.Failed[evidence.AccessEntries]("why") },
		func(e *evidence.Evidence) { e.Cluster.AccessEntries.Value.Entries = nil },
		func(e *evidence.Evidence) { e.Profiles = nil },
		func(e *evidence.Evidence) { e.Roles = nil },
		func(e *evidence.Evidence) { e.Policies = nil },
		func(e *evidence.Evidence) { e.Instances = nil },
	}
	for _, mode := range []string{"API", "CONFIG_MAP", "API_AND_CONFIG_MAP"} {
		for n := range 400 {
			e := sound(mode)
			if n%2 == 0 {
				e.Cluster.AwsAuth = roles(mapped(controller))
			}
			if n%3 == 0 {
				e.Cluster.AccessEntries = entries(entry(nodeRole, "STANDARD"))
			}
			before := causetest.Told(analyze(e, roll.Unregistered))
			hidden := 0
			for _, h := range hide {
				if rng.IntN(3) == 0 {
					h(e)
					hidden++
				}
			}
			s := analyze(e, roll.Unregistered)
			for _, c := range s.Causes() {
				must.That(t, strings.Contains(before, c.Code), "%s, case %d: %s appears once %d facts are hidden; before %q", mode, n, c.Code, hidden, before)
			}
			causetest.Reasons(t, fmt.Sprintf("%s, case %d", mode, n), s)
		}
	}
}

// An entry of the right type stays: it lacks no more than the policy.
func TestTheEntryThatLacksItsPolicyIsKept(t *testing.T) {
	e := sound("API")
	e.Cluster.AccessEntries = entries(entry(nodeRole, "EC2"))
	fix := analyzeOf(e, roll.Finding{Kind: roll.Unregistered, Owner: roll.OwnerAutoMode, Group: groupOfNode}).Causes()[0].Fix
	if !strings.HasPrefix(fix, "aws eks associate-access-policy ") || strings.Contains(fix, "delete") || strings.Contains(fix, "create") {
		t.Error(fix)
	}
}

func ExampleAnalyze() {
	e := sound("CONFIG_MAP")
	e.Cluster.AwsAuth = roles(mapped(controller))
	for _, c := range analyze(e, roll.Unregistered).Causes() {
		fmt.Println(c.Code)
	}
	// Output: ControllerRoleMapped
}

// windowsNode makes the instance a Windows node that waits for its network.
func windowsNode(mode string) *evidence.Evidence {
	e := sound(mode)
	ofInstance(func(i *evidence.Instance) { i.Config.Value.Platform = "windows" })(e)
	e.Nodes = map[string]evidence.Node{"": {Object: evidence.Read(evidence.NodeObject{Conditions: []evidence.Condition{{
		Type: "Ready", Status: "False", Message: "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
	}}})}}
	return e
}

func TestAWindowsNodeWhoseRoleIsMappedAsALinuxNodes(t *testing.T) {
	const api, both, configMap = "API", "API_AND_CONFIG_MAP", "CONFIG_MAP"
	entered := func(kind string) func(*evidence.Evidence) {
		return accessEntries(entry(nodeRole, kind))
	}
	grouped := func(groups ...string) func(*evidence.Evidence) {
		return func(e *evidence.Evidence) {
			m := mapped(nodeRole)
			m.Groups = append(m.Groups, groups...)
			e.Cluster.AwsAuth, e.Cluster.AccessEntries = roles(m), entries()
		}
	}
	for _, tt := range []struct {
		name  string
		mode  string
		spoil func(*evidence.Evidence)
		want  string
	}{
		{"an entry of Linux nodes", api, entered("EC2_LINUX"), "AccessEntryWrongType"},
		{"one that goes before aws-auth", both, entered("EC2_LINUX"), "AccessEntryWrongType"},
		{"an entry of Windows nodes", api, entered("EC2_WINDOWS"), ""},
		{"aws-auth without the group", configMap, grouped(), "AwsAuthWrongGroups"},
		{"aws-auth without the group, and no entry", both, grouped(), "AwsAuthWrongGroups"},
		{"aws-auth with the group", configMap, grouped(groupOfWindows), ""},
		{"aws-auth with the group, and an entry that is not asked", configMap, do(grouped(groupOfWindows), entered("EC2_LINUX")), ""},
		{"aws-auth without the group is not asked", api, grouped(), ""},
		{"aws-auth lacks the role", configMap, awsAuth(), ""},
		{"a Windows node of its group works with the role", api, func(e *evidence.Evidence) {
			e.Groups[groupOfNode] = evidence.Group{Members: []evidence.Member{{Instance: "i-00000002", Healthy: true, Described: true, Profile: profile}}}
		}, "AccessEntryWrongType?"},
		{"a Linux node", api, ofInstance(func(i *evidence.Instance) { i.Config.Value.Platform = "" }), ""},
		{"it does not wait for its network", api, func(e *evidence.Evidence) { e.Nodes[""].Object.Value.Conditions[0].Message = "PLEG is not healthy" }, ""},
		{"a Windows node works with the role", api, func(e *evidence.Evidence) {
			e.Sound = []evidence.Sound{{Group: "asg/other", Profile: profile, Windows: true}}
		}, "AccessEntryWrongType?"},
		{"a Linux node works with the role", api, func(e *evidence.Evidence) { e.Sound = []evidence.Sound{{Group: "asg/other", Profile: profile}} }, "AccessEntryWrongType"},
	} {
		for _, kind := range []roll.Kind{roll.NotReady, roll.Uninitialized} {
			e := windowsNode(tt.mode)
			tt.spoil(e)
			expect.Equal(t, causetest.Told(analyze(e, kind)), tt.want, "%s, %s", tt.name, kind)
		}
	}
	for _, hide := range []func(*evidence.Evidence){
		func(e *evidence.Evidence) {
			e.Cluster.AccessEntries = evidence.Failed[evidence.AccessEntries]("throttled")
		},
		func(e *evidence.Evidence) { e.Cluster.AccessEntries.Value.Entries = nil },
		func(e *evidence.Evidence) { e.Cluster.Config = evidence.Failed[evidence.ClusterConfig]("throttled") },
		func(e *evidence.Evidence) { e.Roles = nil },
		func(e *evidence.Evidence) { e.Nodes = nil },
		func(e *evidence.Evidence) { e.Nodes[""].Object.Value.Conditions[0].Message = "" },
		func(e *evidence.Evidence) {
			e.Cluster.AccessEntries, e.Cluster.AwsAuth = entries(), evidence.Failed[evidence.AwsAuth]("throttled")
		},
	} {
		e := windowsNode(both)
		hide(e)
		if got := fmt.Sprint(analyze(e, roll.NotReady).Open()); !strings.Contains(got, "AccessEntryWrongType") && !strings.Contains(got, "AwsAuthWrongGroups") {
			t.Errorf("not read: %s", got)
		}
	}
	got := causetest.Told(analyze(windowsNode(api), roll.Unregistered))
	expect.That(t, got == "", "%q: an instance with an entry of Linux nodes registers all the same", got)
}

const groupOfWindows = "eks:kube-proxy-windows"
