package awsauth

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"rollcall/shared/evidence"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	nodeARN  = "arn:aws:iam::111122223333:role/node"
	nodeUser = "system:node:{{EC2PrivateDNSName}}"
	adminARN = "arn:aws:iam::111122223333:role/admin"
)

// node is the mapping of a node role as in the EKS documentation.
const node = `- rolearn: arn:aws:iam::111122223333:role/node
  username: system:node:{{EC2PrivateDNSName}}
  groups:
    - system:bootstrappers
    - system:nodes
`

func nodeMapping(index int) evidence.RoleMapping {
	m := mapping(index, nodeARN, "system:bootstrappers", "system:nodes")
	m.Username = nodeUser
	return m
}

// mapping returns the effective mapping of a role that is written in lower case.
func mapping(index int, arn string, groups ...string) evidence.RoleMapping {
	return evidence.RoleMapping{Index: index, ARN: arn, Groups: groups, Canonical: arn, Effective: true}
}

// changed returns a mapping with a change.
func changed(m evidence.RoleMapping, change func(*evidence.RoleMapping)) evidence.RoleMapping {
	change(&m)
	return m
}

func TestParse(t *testing.T) {
	const noARN, both = "one of rolearn or SSO must be supplied", "only one of rolearn or SSO can be supplied"
	sso := func(m *evidence.RoleMapping) {
		m.Username, m.Canonical = "x", "arn:aws:iam::111122223333:role/awsreservedsso_view_*"
	}
	inPath := func(m *evidence.RoleMapping) { m.Path, m.Canonical = true, strings.ToLower(m.ARN) }
	profile := func(m *evidence.RoleMapping) { m.InstanceProfile, m.Canonical = true, strings.ToLower(m.ARN) }
	type roles = []evidence.RoleMapping
	type rejected = []evidence.RejectedMapping
	for _, tc := range []struct {
		name, mapRoles string
		roles          roles
		rejected       rejected
		unparseable    string
	}{
		{name: "a node role", mapRoles: node, roles: roles{nodeMapping(0)}},
		{name: "nothing", mapRoles: ""},
		{name: "white space", mapRoles: " \n"},
		{name: "empty quotes", mapRoles: `""`},
		{name: "empty backquotes", mapRoles: "``"},
		{name: "an empty list", mapRoles: "[]"},
		{name: "only a comment", mapRoles: "# none yet\n"},
		{name: "keys in any case", mapRoles: "- RoleARN: " + nodeARN + "\n  userName: " + nodeUser + "\n  GROUPS: [system:bootstrappers, system:nodes]\n", roles: roles{nodeMapping(0)}},
		{name: "not YAML drops every role", mapRoles: node + "- rolearn: " + adminARN + "\n username: admin\n", unparseable: "yaml: line 6: did not find expected '-' indicator"},
		{name: "a tab drops every role", mapRoles: node + "\t- rolearn: " + adminARN + "\n", unparseable: "yaml: line 6: found a tab character that violates indentation"},
		{name: "one mapping instead of a list", mapRoles: "rolearn: " + nodeARN + "\nusername: x\n", unparseable: "it is not a list of mappings but a mapping"},
		{name: "text instead of a list", mapRoles: nodeARN, unparseable: "it is not a list of mappings but text"},
		{name: "a template that nobody filled in", mapRoles: "{{ roles }}", unparseable: "it begins with { and is not JSON: invalid character '{' looking for beginning of object key string"},
		{
			name: "an entry without rolearn drops only itself", mapRoles: "- username: a\n" + node + "- userarn: arn:aws:iam::111122223333:user/x\n  username: b\n",
			roles: roles{nodeMapping(1)}, rejected: rejected{{Index: 0, Why: noARN}, {Index: 2, Why: noARN}},
		},
		{
			name: "an entry that is text drops only itself", mapRoles: "- " + adminARN + "\n" + node + "- [a]\n-\n- 7\n- true\n",
			roles: roles{nodeMapping(1)},
			rejected: rejected{
				{Index: 0, Why: "it is not a mapping but text"}, {Index: 2, Why: "it is not a mapping but a list"}, {Index: 3, Why: noARN},
				{Index: 4, Why: "it is not a mapping but a number"}, {Index: 5, Why: "it is not a mapping but true or false"},
			},
		},
		{
			name: "a rolearn of the wrong type", mapRoles: "- rolearn: [" + nodeARN + "]\n  username: x\n" + node,
			roles: roles{nodeMapping(1)}, rejected: rejected{{Index: 0, Why: noARN + " (rolearn is a list)"}},
		},
		{
			name: "rolearn and sso", mapRoles: "- rolearn: " + nodeARN + "\n  sso: {permissionSetName: View, accountID: '111122223333'}\n",
			rejected: rejected{{Index: 0, ARN: nodeARN, Why: both}},
		},
		{name: "sso", mapRoles: "- sso: {permissionSetName: View, accountID: '111122223333'}\n  username: x\n", roles: roles{changed(mapping(0, ""), sso)}},
		{
			name: "groups of the wrong type leave a mapping without groups", mapRoles: "- rolearn: " + nodeARN + "\n  groups: system:bootstrappers\n- rolearn: " + adminARN + "\n  groups: [system:masters]\n",
			roles: roles{mapping(0, nodeARN), mapping(1, adminARN, "system:masters")},
		},
		{
			name: "a space too many makes one group of two", mapRoles: "- rolearn: " + nodeARN + "\n  groups:\n  - system:bootstrappers\n   - system:nodes\n",
			roles: roles{mapping(0, nodeARN, "system:bootstrappers - system:nodes")},
		},
		{name: "what is no ARN is kept", mapRoles: "- rolearn: node\n", roles: roles{mapping(0, "node")}},
		{name: "a path", mapRoles: "- rolearn: arn:aws:iam::111122223333:role/team/EU/node\n", roles: roles{changed(mapping(0, "arn:aws:iam::111122223333:role/team/EU/node"), inPath)}},
		{name: "an instance profile", mapRoles: "- rolearn: arn:aws-cn:iam::111122223333:instance-profile/team/Node\n", roles: roles{changed(mapping(0, "arn:aws-cn:iam::111122223333:instance-profile/team/Node"), profile)}},
		{name: "a role that is called like an instance profile", mapRoles: "- rolearn: arn:aws:iam::111122223333:role/instance-profile\n", roles: roles{mapping(0, "arn:aws:iam::111122223333:role/instance-profile")}},
		{
			name: "of the same role, in any case, the last one counts", mapRoles: node + "- rolearn: " + adminARN + "\n- rolearn: arn:aws:iam::111122223333:role/NODE\n",
			roles: roles{
				changed(nodeMapping(0), func(m *evidence.RoleMapping) { m.Effective = false }), mapping(1, adminARN),
				changed(mapping(2, nodeARN), func(m *evidence.RoleMapping) { m.ARN = "arn:aws:iam::111122223333:role/NODE" }),
			},
		},
		{
			name: "a role with a path is not the one without", mapRoles: node + "- rolearn: arn:aws:iam::111122223333:role/team/node\n",
			roles: roles{nodeMapping(0), changed(mapping(1, "arn:aws:iam::111122223333:role/team/node"), inPath)},
		},
		{
			name: "a rejected entry replaces nothing", mapRoles: node + "- rolearn: " + nodeARN + "\n  sso: {accountID: '1'}\n",
			roles: roles{nodeMapping(0)}, rejected: rejected{{Index: 1, ARN: nodeARN, Why: both}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := evidence.AwsAuth{Roles: tc.roles, Rejected: tc.rejected, Unparseable: tc.unparseable}
			expect.Same(t, Parse(map[string]string{"mapRoles": tc.mapRoles}), want, "parsed")
		})
	}
}

func TestOtherPartsOfTheConfigMapDoNotTouchRoles(t *testing.T) {
	got := Parse(map[string]string{"mapRoles": node, "mapUsers": "- {", "mapAccounts": "{"})
	expect.Same(t, got, evidence.AwsAuth{Roles: []evidence.RoleMapping{nodeMapping(0)}}, "parsed")
}

func TestTheKeyOfTheConfigMapHasItsCase(t *testing.T) {
	for _, data := range []map[string]string{nil, {}, {"maproles": node}, {"mapUsers": node}} {
		if got := Parse(data); len(got.Roles)+len(got.Rejected) > 0 || got.Unparseable != "" {
			t.Errorf("Parse(%v) = %+v", data, got)
		}
	}
}

func TestWhyIsShort(t *testing.T) {
	long := "{" + strings.Repeat("ä", 400) + ": 1}"
	got := Parse(map[string]string{"mapRoles": "- " + long + ": 1\n"})
	if n := len(got.Unparseable); n == 0 || n > maxWhy+4 {
		t.Errorf("%d bytes: %s", n, got.Unparseable)
	}
}

// Not parallel: the logger and standard error belong to the process.
func TestParsePrintsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(path)
	must.Succeed(t, err)
	stderr, logger := os.Stderr, logrus.StandardLogger().Out
	os.Stderr = file
	logrus.SetOutput(file)
	for _, text := range []string{node, "- {", "{{ x }}", "- username: a\n", "x"} {
		Parse(map[string]string{"mapRoles": text})
	}
	os.Stderr = stderr
	logrus.SetOutput(logger)
	must.Succeed(t, file.Close())
	if printed, err := os.ReadFile(path); err != nil || len(printed) > 0 {
		t.Errorf("printed %q, %v", printed, err)
	}
}

// A role among the users is mapped too: the authenticator compares the ARN only.
func TestTheUsersAreToldByTheirARNs(t *testing.T) {
	got := Parse(map[string]string{"mapUsers": "- userarn: arn:aws:iam::111122223333:role/Payments-Node\n  username: system:node:x\n  groups: [system:nodes]\n- username: nobody\n"})
	if want := []string{"arn:aws:iam::111122223333:role/payments-node"}; !slices.Equal(got.Users, want) || len(got.Roles)+len(got.Rejected) != 0 || got.Unparseable != "" {
		t.Errorf("got %+v", got)
	}
	if got := Parse(map[string]string{"mapUsers": "\tno YAML"}); got.Users != nil {
		t.Errorf("got %+v", got)
	}
}
