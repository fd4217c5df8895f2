package collect

import (
	"encoding/base64"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestAsksTheStoresThatTheAuthenticationModeHeeds(t *testing.T) {
	for mode, want := range map[ekstypes.AuthenticationMode]struct{ entries, awsAuth evidence.State }{
		"":                                   {evidence.NotAsked, evidence.Known},
		ekstypes.AuthenticationModeConfigMap: {evidence.NotAsked, evidence.Known},
		ekstypes.AuthenticationModeApi:       {evidence.Known, evidence.NotAsked},
		ekstypes.AuthenticationModeApiAndConfigMap: {evidence.Known, evidence.Known},
	} {
		a, in := oneOfEach()
		a.cluster.AccessConfig.AuthenticationMode = mode
		e := a.collector().Collect(t.Context(), in)
		expect.That(t, e.Cluster.AccessEntries.State == want.entries && e.Cluster.AwsAuth.State == want.awsAuth, "%q: access entries %v, aws-auth %v", mode, e.Cluster.AccessEntries, e.Cluster.AwsAuth)
		if want.entries == evidence.NotAsked && (a.calls["eks:ListAccessEntries"] > 0 || !strings.Contains(e.Cluster.AccessEntries.Gap(), "CONFIG_MAP")) {
			t.Errorf("%q: %v, %q", mode, a.calls, e.Cluster.AccessEntries.Gap())
		}
	}
}

func TestOfARegisteredNodeOnlyWindowsNeedsTheMapping(t *testing.T) {
	for _, kind := range []roll.Kind{roll.Uninitialized, roll.NotReady, roll.ConditionFailed} {
		for preset, want := range map[string]bool{"": false, roll.PresetGPU: false, roll.PresetWindows: kind != roll.ConditionFailed} {
			f := roll.Finding{Kind: kind, Selector: roll.Selector{Preset: preset}}
			expect.Equal(t, needsOf(&f)&needAuth != 0, want, "%s, preset %q", kind, preset)
		}
	}
}

func TestWhatEKSSaysOfACluster(t *testing.T) {
	a, in := oneOfEach()
	got := a.collector().Collect(t.Context(), in).Cluster.Config.Value
	want := evidence.ClusterConfig{
		Name: "demo", Status: roll.ClusterActive, Version: "1.36", Endpoint: "https://demo.example", AuthenticationMode: "API_AND_CONFIG_MAP",
		CAHash: userdata.CertificateOf(base64.StdEncoding.EncodeToString([]byte("a certificate"))).Value, // as of user data
		VPC:    vpc, Subnets: []string{subnetA, subnetB}, ClusterSecurityGroup: clusterSG, PrivateAccess: true, IPFamily: "ipv4",
		Issues: []roll.HealthIssue{{Code: "StsRegionalEndpointDisabled", Message: "enable it"}},
	}
	expect.That(t, reflect.DeepEqual(got, want), "got  %+v\nwant %+v", got, want)
}

func TestWithoutTheClusterNoStoreIsTakenForEmpty(t *testing.T) {
	a, in := oneOfEach()
	a.fail["eks:DescribeCluster"] = denied("eks:DescribeCluster")
	e := a.collector().Collect(t.Context(), in)
	for _, gap := range []string{e.Cluster.AccessEntries.Gap(), e.Cluster.AwsAuth.Gap()} {
		expect.That(t, strings.Contains(gap, "eks:DescribeCluster"), "%q", gap)
	}
}

func TestAMissingConfigMapIsAbsent(t *testing.T) {
	a, in := oneOfEach()
	delete(a.api.objects, "/api/v1/namespaces/kube-system/configmaps/aws-auth")
	got := a.collector().Collect(t.Context(), in).Cluster.AwsAuth
	expect.That(t, got.State == evidence.Absent, "%+v", got)
}

// An account has one role of a name, regardless of its path and the case of its letters.
func TestFindsTheEntryOfTheNodeRoleInWhateverSpelling(t *testing.T) {
	for _, arn := range []string{nodeRole, "arn:aws:iam::111122223333:role/demo-node", "arn:aws:iam::111122223333:role/Demo-Node"} {
		a, in := oneOfEach()
		a.entries[0].PrincipalArn = aws.String(arn)
		a.entries = append(a.entries, entry("karpenter-controller", "EC2_LINUX"), entry("admin", "STANDARD"))
		e := a.collector().Collect(t.Context(), in).Cluster.AccessEntries
		got := slices.Collect(maps.Keys(e.Value.Entries))
		expect.That(t, slices.Equal(got, []string{arn}) && len(e.Value.Principals) == 3, "%s: read %v of %v", arn, got, e.Value.Principals)
	}
}

func TestAccessPoliciesAreReadOfEntriesThatCanHaveThem(t *testing.T) {
	for _, kind := range []string{"EC2", "STANDARD"} {
		a, in := oneOfEach()
		a.entries[0].Type = aws.String(kind)
		e := a.collector().Collect(t.Context(), in).Cluster.AccessEntries.Value.Entries[nodeRole].Value
		expect.That(t, e.PoliciesRead && slices.Equal(e.Policies, a.access[nodeRole]), "%s: %+v", kind, e)
		a.fail["eks:ListAssociatedAccessPolicies"] = denied("eks:ListAssociatedAccessPolicies")
		read := a.collector().Collect(t.Context(), in)
		e = read.Cluster.AccessEntries.Value.Entries[nodeRole].Value
		expect.That(t, !e.PoliciesRead && (len(read.Unread) > 0) == (kind == "EC2"), "%s: %+v, unread %v", kind, e, read.Unread)
	}
	a, in := oneOfEach()
	a.entries[0].Type = aws.String("EC2_LINUX")
	if e := a.collector().Collect(t.Context(), in).Cluster.AccessEntries.Value.Entries[nodeRole].Value; e.PoliciesRead || a.calls["eks:ListAssociatedAccessPolicies"] != 0 {
		t.Errorf("%+v", e)
	}
}

// Access entries are eventually consistent, so one may be listed and not be found.
// https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
func TestAnEntryThatVanishesBetweenListAndDescriptionIsUnread(t *testing.T) {
	a, in := oneOfEach()
	a.fail["eks:DescribeAccessEntry"] = &ekstypes.ResourceNotFoundException{Message: aws.String("The specified principalArn could not be found.")}
	e := a.collector().Collect(t.Context(), in)
	got := e.Cluster.AccessEntries.Value.Entries[nodeRole]
	passing, unread := e.Unread[got.Gap()]
	expect.That(t, got.State == evidence.Unreadable && unread && passing, "%+v of %v", got, e.Unread)
}

func entry(role, kind string) ekstypes.AccessEntry {
	return ekstypes.AccessEntry{PrincipalArn: aws.String("arn:aws:iam::111122223333:role/" + role), Type: aws.String(kind), CreatedAt: aws.Time(at)}
}

func TestReadsWhatMayStandInThePlaceOfKarpentersNodeRole(t *testing.T) {
	a, in := oneOfEach()
	a.entries = []ekstypes.AccessEntry{entry("admin", "STANDARD"), entry("aws-reserved/sso.amazonaws.com/x", "STANDARD"), entry("old-nodes", "EC2_LINUX"), entry("KarpenterOfNodes", "EC2_LINUX"), entry("other-node", "EC2_LINUX"), entry("more-nodes", "EC2_LINUX")}
	for _, name := range []string{"KarpenterOfNodes", "f3a91c", "old-nodes"} {
		a.addRole(name, "arn:aws:iam::111122223333:role/"+name)
	}
	a.roles["KarpenterOfNodes"].AssumeRolePolicyDocument = aws.String("ec2.amazonaws.com")
	a.attached["f3a91c"], a.inline["f3a91c"] = []string{"arn:aws:iam::aws:policy/ReadOnlyAccess", "arn:aws:iam::111122223333:policy/b7"}, []string{"own"}
	a.api.put("/api/v1/namespaces/kube-system/configmaps/aws-auth", thing{"data": thing{"mapRoles": "- rolearn: arn:aws:iam::111122223333:role/f3a91c\n  username: system:node:{{EC2PrivateDNSName}}\n  groups: [system:bootstrappers, system:nodes]\n- rolearn: arn:aws:iam::111122223333:role/karpenter-admin\n  username: admin\n  groups: [system:masters]\n"}})
	a.api.put("/api/v1/namespaces/tools/serviceaccounts/karpenter", thing{"metadata": thing{"namespace": "tools", "annotations": thing{"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/f3a91c"}}})
	a.api.put("/api/v1/namespaces/tools/serviceaccounts/other", thing{"metadata": thing{"namespace": "tools"}})
	e := a.collector().Collect(t.Context(), in)
	want := []string{"arn:aws:iam::111122223333:role/KarpenterOfNodes", "arn:aws:iam::111122223333:role/old-nodes", "arn:aws:iam::111122223333:role/other-node"}
	expect.List(t, slices.Sorted(maps.Keys(e.Cluster.AccessEntries.Value.Entries)), want, "entries")
	if got := a.asked("iam:GetRole"); !slices.Equal(got, []string{"KarpenterOfNodes", "demo-node", "f3a91c"}) || !strings.Contains(e.Roles["old-nodes"].Gap(), "until one is found") {
		t.Errorf("asked of %v; %+v", got, e.Roles["old-nodes"])
	}
	if got := e.Roles["demo-node"].Value; got.TrustPolicy != `{"Version":"2012-10-17"}` || got.ARN != nodeRole {
		t.Errorf("%+v", got)
	}
	documents := []evidence.PolicyDocument{{Name: "own", Text: `{"Id":"own"}`}, {Name: "arn:aws:iam::111122223333:policy/b7", Text: `{"Id":"v3"}`}}
	if got := e.Documents["f3a91c"]; !slices.Equal(got.Value, documents) || got.Why != "" || len(e.Documents) != 1 {
		t.Errorf("%+v", e.Documents)
	}
	accounts := []evidence.ServiceAccount{{Namespace: "tools", Name: "karpenter", RoleARN: "arn:aws:iam::111122223333:role/f3a91c"}}
	got := e.Cluster.Controllers
	expect.That(t, slices.Equal(got.Value, accounts), "%+v", got)

	// What could not be read of it is reported, and the rest is of use.
	for action, told := range map[string]func() string{
		"iam:GetRolePolicy":    func() string { return e.Documents["f3a91c"].Why },
		"iam:GetPolicy":        func() string { return e.Documents["f3a91c"].Why },
		"iam:GetPolicyVersion": func() string { return e.Documents["f3a91c"].Why },
		"serviceaccounts":      func() string { return e.Cluster.Controllers.Gap() },
	} {
		a.fail, a.api.denied = map[string]error{action: denied(action)}, map[string]bool{action: true}
		if e = a.collector().Collect(t.Context(), in); !strings.Contains(told(), action) || action != "serviceaccounts" && len(e.Documents["f3a91c"].Value) != 1 {
			t.Errorf("without %s: %q, %+v", action, told(), e.Documents)
		}
	}
	a.fail, a.api.denied = map[string]error{}, map[string]bool{}

	// Nodes of another owner have no controller's role.
	a.log, a.calls = nil, map[string]int{}
	in.Findings = in.Findings[1:]
	in.Findings[0].Kind = roll.Unregistered
	e = a.collector().Collect(t.Context(), in)
	expect.That(t, len(e.Cluster.AccessEntries.Value.Entries) == 0 && a.calls["iam:GetRole"] == 1, "%v, %v", e.Cluster.AccessEntries, a.calls)
}

func TestWhatAnInstanceProfileLacksIsTold(t *testing.T) {
	a, in := oneOfEach()
	a.profiles["demo-node"].Roles = nil
	e := a.collector().Collect(t.Context(), in)
	if p := e.Profiles[nodeProfile]; !p.Known() || len(p.Value.Roles) != 0 || len(e.Roles) != 0 {
		t.Errorf("%+v %+v", p, e.Roles)
	}
	a, in = oneOfEach()
	delete(a.roles, "demo-node")
	e = a.collector().Collect(t.Context(), in)
	if r, p := e.Roles["demo-node"], e.Policies["demo-node"]; r.State != evidence.Absent || p.State != evidence.Absent {
		t.Errorf("%+v %+v", r, p)
	}
	a, in = oneOfEach()
	delete(a.profiles, "demo-node")
	p := a.collector().Collect(t.Context(), in).Profiles[nodeProfile]
	expect.That(t, p.State == evidence.Absent, "%+v", p)
}

func TestInlinePoliciesThatCannotBeListedLeaveTheRest(t *testing.T) {
	a, in := oneOfEach()
	a.fail["iam:ListRolePolicies"] = denied("iam:ListRolePolicies")
	p := a.collector().Collect(t.Context(), in).Policies["demo-node"]
	expect.That(t, p.Known() && p.Value.Inline == nil && len(p.Value.Attached) == 2 && strings.Contains(p.Why, "iam:ListRolePolicies"), "%+v", p)
}

// GetInstanceProfile shows the role whole, and a principal may be allowed to call it alone.
func TestARoleIsReadFromItsInstanceProfileIfItCannotBeReadAlone(t *testing.T) {
	a, in := oneOfEach()
	a.fail["iam:GetRole"] = denied("iam:GetRole")
	expect.That(t, a.collector().Collect(t.Context(), in).Roles["demo-node"].State == evidence.Unreadable, "a name alone counts as the role")
	a.profiles["demo-node"].Roles = []iamtypes.Role{*a.roles["demo-node"]}
	got := a.collector().Collect(t.Context(), in).Roles["demo-node"]
	delete(a.fail, "iam:GetRole")
	want := a.collector().Collect(t.Context(), in).Roles["demo-node"]
	expect.That(t, got.Known() && got.Value == want.Value && got.Value.TrustPolicy != "", "%+v, want %+v", got, want)
}
