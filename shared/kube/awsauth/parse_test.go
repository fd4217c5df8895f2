package awsauth

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"rollcall/shared/evidence"
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
	return evidence.RoleMapping{
		Index: index, ARN: nodeARN, Username: nodeUser, Groups: []string{"system:bootstrappers", "system:nodes"},
		Canonical: nodeARN, Effective: true,
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name     string
		mapRoles string
		want     evidence.AwsAuth
	}{
		{name: "a node role", mapRoles: node, want: evidence.AwsAuth{Roles: []evidence.RoleMapping{nodeMapping(0)}}},
		{name: "nothing", mapRoles: ""},
		{name: "white space", mapRoles: " \n"},
		{name: "empty quotes", mapRoles: `""`},
		{name: "empty backquotes", mapRoles: "``"},
		{name: "an empty list", mapRoles: "[]"},
		{name: "only a comment", mapRoles: "# none yet\n"},
		{
			name: "keys in any case",
			mapRoles: "- RoleARN: " + nodeARN + "\n  userName: " + nodeUser +
				"\n  GROUPS: [system:bootstrappers, system:nodes]\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{nodeMapping(0)}},
		},
		{
			name:     "not YAML drops every role",
			mapRoles: node + "- rolearn: " + adminARN + "\n username: admin\n",
			want:     evidence.AwsAuth{Unparseable: "yaml: line 6: did not find expected '-' indicator"},
		},
		{
			name:     "a tab drops every role",
			mapRoles: node + "\t- rolearn: " + adminARN + "\n",
			want:     evidence.AwsAuth{Unparseable: "yaml: line 6: found a tab character that violates indentation"},
		},
		{
			name:     "one mapping instead of a list",
			mapRoles: "rolearn: " + nodeARN + "\nusername: x\n",
			want:     evidence.AwsAuth{Unparseable: "it is not a list of mappings but a mapping"},
		},
		{
			name:     "text instead of a list",
			mapRoles: nodeARN,
			want:     evidence.AwsAuth{Unparseable: "it is not a list of mappings but text"},
		},
		{
			name:     "a template that nobody filled in",
			mapRoles: "{{ roles }}",
			want: evidence.AwsAuth{Unparseable: "it begins with { and is not JSON: " +
				"invalid character '{' looking for beginning of object key string"},
		},
		{
			name:     "an entry without rolearn drops only itself",
			mapRoles: "- username: a\n" + node + "- userarn: arn:aws:iam::111122223333:user/x\n  username: b\n",
			want: evidence.AwsAuth{
				Roles: []evidence.RoleMapping{nodeMapping(1)},
				Rejected: []evidence.RejectedMapping{
					{Index: 0, Why: "one of rolearn or SSO must be supplied"},
					{Index: 2, Why: "one of rolearn or SSO must be supplied"},
				},
			},
		},
		{
			name:     "an entry that is text drops only itself",
			mapRoles: "- " + adminARN + "\n" + node + "- [a]\n-\n- 7\n- true\n",
			want: evidence.AwsAuth{
				Roles: []evidence.RoleMapping{nodeMapping(1)},
				Rejected: []evidence.RejectedMapping{
					{Index: 0, Why: "it is not a mapping but text"},
					{Index: 2, Why: "it is not a mapping but a list"},
					{Index: 3, Why: "one of rolearn or SSO must be supplied"},
					{Index: 4, Why: "it is not a mapping but a number"},
					{Index: 5, Why: "it is not a mapping but true or false"},
				},
			},
		},
		{
			name:     "a rolearn of the wrong type",
			mapRoles: "- rolearn: [" + nodeARN + "]\n  username: x\n" + node,
			want: evidence.AwsAuth{
				Roles: []evidence.RoleMapping{nodeMapping(1)},
				Rejected: []evidence.RejectedMapping{
					{Index: 0, Why: "one of rolearn or SSO must be supplied (rolearn is a list)"},
				},
			},
		},
		{
			name:     "rolearn and sso",
			mapRoles: "- rolearn: " + nodeARN + "\n  sso: {permissionSetName: View, accountID: '111122223333'}\n",
			want: evidence.AwsAuth{Rejected: []evidence.RejectedMapping{
				{Index: 0, ARN: nodeARN, Why: "only one of rolearn or SSO can be supplied"},
			}},
		},
		{
			name:     "sso",
			mapRoles: "- sso: {permissionSetName: View, accountID: '111122223333'}\n  username: x\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{{
				Username: "x", Effective: true, Canonical: "arn:aws:iam::111122223333:role/awsreservedsso_view_*",
			}}},
		},
		{
			name: "groups of the wrong type leave a mapping without groups",
			mapRoles: "- rolearn: " + nodeARN + "\n  username: " + nodeUser +
				"\n  groups: system:bootstrappers\n" + "- rolearn: " + adminARN + "\n  groups: [system:masters]\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{
				{Index: 0, ARN: nodeARN, Username: nodeUser, Canonical: nodeARN, Effective: true},
				{Index: 1, ARN: adminARN, Groups: []string{"system:masters"}, Canonical: adminARN, Effective: true},
			}},
		},
		{
			name: "a space too many makes one group of two",
			mapRoles: "- rolearn: " + nodeARN + "\n  username: " + nodeUser +
				"\n  groups:\n  - system:bootstrappers\n   - system:nodes\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{{
				ARN: nodeARN, Username: nodeUser, Groups: []string{"system:bootstrappers - system:nodes"},
				Canonical: nodeARN, Effective: true,
			}}},
		},
		{
			name:     "what is no ARN is kept",
			mapRoles: "- rolearn: node\n",
			want:     evidence.AwsAuth{Roles: []evidence.RoleMapping{{ARN: "node", Canonical: "node", Effective: true}}},
		},
		{
			name:     "a path",
			mapRoles: "- rolearn: arn:aws:iam::111122223333:role/team/EU/node\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{{
				ARN:       "arn:aws:iam::111122223333:role/team/EU/node",
				Canonical: "arn:aws:iam::111122223333:role/team/eu/node", Path: true, Effective: true,
			}}},
		},
		{
			name:     "an instance profile",
			mapRoles: "- rolearn: arn:aws-cn:iam::111122223333:instance-profile/team/Node\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{{
				ARN:       "arn:aws-cn:iam::111122223333:instance-profile/team/Node",
				Canonical: "arn:aws-cn:iam::111122223333:instance-profile/team/node", InstanceProfile: true, Effective: true,
			}}},
		},
		{
			name:     "a role that is called like an instance profile",
			mapRoles: "- rolearn: arn:aws:iam::111122223333:role/instance-profile\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{{
				ARN:       "arn:aws:iam::111122223333:role/instance-profile",
				Canonical: "arn:aws:iam::111122223333:role/instance-profile", Effective: true,
			}}},
		},
		{
			name: "of the same role, in any case, the last one counts",
			mapRoles: node + "- rolearn: " + adminARN + "\n  username: admin\n" +
				"- rolearn: arn:aws:iam::111122223333:role/NODE\n  username: build\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{
				{
					Index: 0, ARN: nodeARN, Username: nodeUser, Groups: []string{"system:bootstrappers", "system:nodes"},
					Canonical: nodeARN,
				},
				{Index: 1, ARN: adminARN, Username: "admin", Canonical: adminARN, Effective: true},
				{
					Index: 2, ARN: "arn:aws:iam::111122223333:role/NODE", Username: "build",
					Canonical: nodeARN, Effective: true,
				},
			}},
		},
		{
			name:     "a role with a path is not the one without",
			mapRoles: node + "- rolearn: arn:aws:iam::111122223333:role/team/node\n",
			want: evidence.AwsAuth{Roles: []evidence.RoleMapping{
				nodeMapping(0),
				{
					Index: 1, ARN: "arn:aws:iam::111122223333:role/team/node",
					Canonical: "arn:aws:iam::111122223333:role/team/node", Path: true, Effective: true,
				},
			}},
		},
		{
			name:     "a rejected entry replaces nothing",
			mapRoles: node + "- rolearn: " + nodeARN + "\n  sso: {accountID: '1'}\n",
			want: evidence.AwsAuth{
				Roles: []evidence.RoleMapping{nodeMapping(0)},
				Rejected: []evidence.RejectedMapping{
					{Index: 1, ARN: nodeARN, Why: "only one of rolearn or SSO can be supplied"},
				},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Parse(map[string]string{"mapRoles": tc.mapRoles})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOtherPartsOfTheConfigMapDoNotTouchRoles(t *testing.T) {
	got := Parse(map[string]string{"mapRoles": node, "mapUsers": "- {", "mapAccounts": "{"})
	if diff := cmp.Diff(evidence.AwsAuth{Roles: []evidence.RoleMapping{nodeMapping(0)}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
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
