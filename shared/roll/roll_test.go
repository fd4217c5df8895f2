package roll_test

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestParseInstanceID(t *testing.T) {
	for text, ok := range map[string]bool{
		"i-0123456789abcdef0": true, "i-0123abcd": true,
		"": false, "i-": false, "i-0123456789abcdef": false, "i-0123456789ABCDEF0": false, "mi-0123456789abcdef0": false, "i-0123456789abcdeg0": false,
	} {
		_, got := roll.ParseInstanceID(text)
		expect.That(t, got == ok, "ParseInstanceID(%q) = %v, want %v", text, got, ok)
	}
}

func TestParseProviderID(t *testing.T) {
	tests := []struct {
		text    string
		compute roll.Compute
		id      roll.InstanceID
	}{
		{"aws:///eu-west-1a/i-0123456789abcdef0", roll.ComputeEC2, "i-0123456789abcdef0"},
		{"aws:////i-0123456789abcdef0", roll.ComputeEC2, "i-0123456789abcdef0"},
		{"aws:///eu-west-1a/1234/fargate-ip-10-0-0-1.eu-west-1.compute.internal", roll.ComputeFargate, ""},
		{"eks-hybrid:///eu-west-1/demo/mi-0123456789abcdef0", roll.ComputeHybrid, ""},
		{"aws:///use1-az4/sagemaker/cluster/hyperpod-0a1b2c3d4e5f-i-0123456789abcdef0", roll.ComputeHyperPod, ""},
		{"", roll.ComputeUnknown, ""},
		{"gce://project/zone/name", roll.ComputeOther, ""},
		{"kwok://kwok-node-0", roll.ComputeOther, ""},
		{"other:///eu-west-1a/i-0123456789abcdef0", roll.ComputeUnknown, ""},
		{"://name", roll.ComputeUnknown, ""},
		{"aws:///eu-west-1a/", roll.ComputeUnknown, ""},
		{"i-0123456789abcdef0", roll.ComputeUnknown, ""},
	}
	for _, tt := range tests {
		compute, id := roll.ParseProviderID(tt.text)
		expect.That(t, compute == tt.compute && id == tt.id, "ParseProviderID(%q) = %v, %q, want %v, %q", tt.text, compute, id, tt.compute, tt.id)
	}
}

func TestParseClusterARN(t *testing.T) {
	id, ok := roll.ParseClusterARN("arn:aws-cn:eks:cn-north-1:111122223333:cluster/demo")
	want := (roll.ClusterID{Account: "111122223333", Region: "cn-north-1", Name: "demo"})
	expect.That(t, ok && id == want, "got %v, %v, want %v", id, ok, want)
	for _, bad := range []string{"", "demo", "arn:aws:ec2:eu-west-1:111122223333:cluster/demo", "arn:aws:eks:eu-west-1:111122223333:nodegroup/demo", "arn:aws:eks:eu-west-1::cluster/demo", "arn:aws:eks:eu-west-1:111122223333:cluster/"} {
		id, ok := roll.ParseClusterARN(bad)
		expect.That(t, !ok, "ParseClusterARN(%q) = %v, want refusal", bad, id)
	}
}

func tagSet(pairs ...string) *roll.TagSet {
	var t roll.TagSet
	for i := 0; i < len(pairs); i += 2 {
		t.Add(pairs[i], pairs[i+1])
	}
	return &t
}

func TestOwnerIsTheFirstThatTheTagsName(t *testing.T) {
	tests := []struct {
		name     string
		tags     *roll.TagSet
		operator string
		owner    roll.Owner
		group    roll.Group
	}{
		{"nothing", tagSet(), "", roll.OwnerNone, roll.GroupNone},
		{"Auto Mode by operator", tagSet(), "eks.amazonaws.com", roll.OwnerAutoMode, roll.GroupNone},
		{"Auto Mode by tag, which Karpenter's tag does not outrank", tagSet("karpenter.sh/nodepool", "x", "eks:kubernetes-node-pool-name", "general-purpose"), "", roll.OwnerAutoMode, "nodepool/general-purpose"},
		{"another service's operator", tagSet("aws:autoscaling:groupName", "w"), "workspaces.amazonaws.com", roll.OwnerAutoScalingGroup, "asg/w"},
		{"Karpenter", tagSet("karpenter.sh/nodepool", "default"), "", roll.OwnerKarpenter, "nodepool/default"},
		{"Karpenter, for a NodeClaim without a NodePool", tagSet("karpenter.sh/nodepool", "", "karpenter.k8s.aws/ec2nodeclass", "default"), "", roll.OwnerKarpenter, roll.GroupNone},
		{"a copy of its tag without a value", tagSet("karpenter.sh/nodepool", ""), "", roll.OwnerNone, roll.GroupNone},
		{"copies of its tags in an Auto Scaling group", tagSet("karpenter.sh/nodepool", "", "karpenter.k8s.aws/ec2nodeclass", "default", "aws:autoscaling:groupName", "w"), "", roll.OwnerAutoScalingGroup, "asg/w"},
		{"Auto Mode, for a NodeClaim without a NodePool", tagSet("karpenter.sh/nodepool", "", "karpenter.k8s.aws/ec2nodeclass", "default"), "eks.amazonaws.com", roll.OwnerAutoMode, roll.GroupNone},
		{"Karpenter before v1beta1", tagSet("karpenter.sh/provisioner-name", "default"), "", roll.OwnerKarpenter, "nodepool/default"},
		{"a managed node group has an Auto Scaling group too", tagSet("aws:autoscaling:groupName", "eks-w-1", "eks:nodegroup-name", "w"), "", roll.OwnerManagedNodeGroup, "nodegroup/w"},
		{"a copy of a node group's tags, which cannot have Auto Scaling's", tagSet("eks:nodegroup-name", "w"), "", roll.OwnerNone, roll.GroupNone},
		{"Auto Scaling group", tagSet("aws:autoscaling:groupName", "w"), "", roll.OwnerAutoScalingGroup, "asg/w"},
		{"Cluster API", tagSet("sigs.k8s.io/cluster-api-provider-aws/cluster/demo", "owned"), "", roll.OwnerClusterAPI, roll.GroupNone},
	}
	for _, tt := range tests {
		owner, group := tt.tags.Owner(tt.operator)
		expect.That(t, owner == tt.owner && group == tt.group, "%s: got %s, %s, want %s, %s", tt.name, owner, group, tt.owner, tt.group)
	}
}

func TestHoldActive(t *testing.T) {
	now := time.Date(2026, 3, 10, 23, 59, 59, 0, time.UTC)
	for value, want := range map[string]bool{
		"": false, "false": false, "No": false, " ": false,
		"true": true, "TRUE": true, "yes please": true, "2026-13-45": true,
		"2026-03-09": false, "2026-03-10": true, "2026-03-11": true,
		"2026-03-10T23:59:59Z": false, "2026-03-11T00:00:00Z": true,
	} {
		expect.Equal(t, roll.HoldActive(value, now), want, "HoldActive(%q)", value)
	}
}

func TestMarksKnowExactlyTheFiveKeys(t *testing.T) {
	var m roll.Marks
	for _, k := range roll.MarkKeys() {
		expect.That(t, m.Set(k, "v-"+k) && m.Get(k) == "v-"+k, "key %s is not kept", k)
	}
	for _, k := range []string{roll.TagHold, roll.TagIgnore, "Name", ""} {
		expect.That(t, !m.Set(k, "x") && m.Get(k) == "", "key %q must not be one of Rollcall's own", k)
	}
	expect.That(t, len(roll.MarkKeys()) == 5, "%d keys, the access policy grants 5", len(roll.MarkKeys()))
}

func TestPairGoesByInstanceIDAndNeverByName(t *testing.T) {
	early, late := time.Unix(100, 0), time.Unix(200, 0)
	s := &roll.Snapshot{
		Instances: []roll.Instance{{ID: "i-00000001"}, {ID: "i-00000002", Name: "ip-10-0-0-9"}},
		Nodes: []roll.Node{
			{Name: "old", Instance: "i-00000001", Created: early},
			{Name: "new", Instance: "i-00000001", Created: late},
			{Name: "ip-10-0-0-9", Instance: "i-00000003", Created: early},
			{Name: "fargate", Compute: roll.ComputeFargate},
		},
	}
	got := roll.Map(roll.Pair(s), func(m roll.Member) string {
		if m.Instance == nil {
			return "- " + m.NodeName()
		}
		return string(m.Instance.ID) + " " + m.NodeName()
	})
	want := []string{"i-00000001 new", "i-00000002 ", "- ip-10-0-0-9", "- fargate"}
	expect.List(t, got, want, "pairs")
}

func TestTheReadyNodeSpeaksForItsInstance(t *testing.T) {
	ready, silent := roll.Condition{Status: roll.ConditionTrue}, roll.Condition{Status: roll.ConditionUnknown}
	s := &roll.Snapshot{
		Instances: []roll.Instance{{ID: "i-00000001"}},
		Nodes: []roll.Node{
			{Name: "later", Instance: "i-00000001", Created: time.Unix(200, 0), Ready: silent},
			{Name: "earlier", Instance: "i-00000001", Created: time.Unix(100, 0), Ready: ready},
		},
	}
	for range 2 {
		if m := roll.Pair(s); len(m) != 1 || m[0].NodeName() != "earlier" {
			t.Errorf("got %d members, node %q, want the one that is Ready", len(m), m[0].NodeName())
		}
		slices.Reverse(s.Nodes)
	}
}

func TestLabelsOfANodeOnlyMakeMoreCareful(t *testing.T) {
	labelled := func(owner roll.Owner) *roll.Node { return &roll.Node{Owner: owner, Group: "nodegroup/x"} }
	bare := &roll.Instance{Owner: roll.OwnerNone, Group: roll.GroupNone}
	asg := &roll.Instance{Owner: roll.OwnerAutoScalingGroup, Group: "asg/w"}
	tests := []struct {
		member roll.Member
		want   roll.Owner
	}{
		{roll.Member{Instance: bare, Node: labelled(roll.OwnerManagedNodeGroup)}, roll.OwnerNone},
		{roll.Member{Instance: bare, Node: labelled(roll.OwnerKarpenter)}, roll.OwnerKarpenter},
		{roll.Member{Instance: bare, Node: labelled(roll.OwnerClusterAPI)}, roll.OwnerClusterAPI},
		{roll.Member{Node: labelled(roll.OwnerClusterAPI)}, roll.OwnerClusterAPI},
		{roll.Member{Instance: asg, Node: labelled(roll.OwnerClusterAPI)}, roll.OwnerAutoScalingGroup},
		{roll.Member{Instance: bare, Node: labelled(roll.OwnerAutoMode)}, roll.OwnerAutoMode},
		{roll.Member{Instance: asg, Node: labelled(roll.OwnerManagedNodeGroup)}, roll.OwnerAutoScalingGroup},
		{roll.Member{Node: labelled(roll.OwnerManagedNodeGroup)}, roll.OwnerManagedNodeGroup},
		{roll.Member{Instance: bare}, roll.OwnerNone},
	}
	for i, tt := range tests {
		expect.Equal(t, tt.member.Owner(), tt.want, "case %d: owner", i)
	}
}

func TestATagWithoutAValueHoldsAndIgnores(t *testing.T) {
	if set := tagSet(roll.TagHold, "", roll.TagIgnore, ""); set.Hold != "true" || !set.Ignore {
		t.Errorf("hold %q, ignore %v", set.Hold, set.Ignore)
	}
	set := tagSet(roll.TagHold, "false", roll.TagIgnore, "No")
	expect.That(t, !roll.HoldActive(set.Hold, time.Time{}) && !set.Ignore, "hold %q, ignore %v", set.Hold, set.Ignore)
}

func TestWholeToleratesGapsOnlyInDetails(t *testing.T) {
	for scope, want := range map[roll.Scope]bool{roll.ScopeCluster: false, roll.ScopeInstances: false, roll.ScopeNodes: false, roll.ScopeDetail: true} {
		s := roll.Snapshot{Gaps: []roll.Gap{{Scope: scope}}}
		expect.Equal(t, s.Whole(), want, "a gap of scope %d: Whole()", scope)
	}
	s := roll.Snapshot{Gaps: []roll.Gap{{Scope: roll.ScopeCluster}}}
	expect.That(t, !s.Has(roll.ScopeNodes) && !s.Has(roll.ScopeInstances), "without the cluster nothing of it was read")
}

func TestStagesAreOrdered(t *testing.T) {
	expect.That(t, roll.Overdue.Past(roll.Warned) && roll.Warned.Past(roll.Watching) && !roll.Watching.Past(roll.Watching) && !roll.Warned.Past(roll.Overdue), "the order is watching, warned, overdue")
}

func TestWhatAFindingIsAbout(t *testing.T) {
	for id, want := range map[roll.InstanceID][2]string{
		"i-0123456789abcdef0":                    {"i-0123456789abcdef0", ""},
		"":                                       {"", ""},
		roll.SubjectID("nodepool", "general"):    {"", "nodepool/general"},
		roll.SubjectID("asg", "i-0123456789abc"): {"", "asg/i-0123456789abc"},
		roll.SubjectID("volume", "vol-0123abcd0"): {"", "volume/vol-0123abcd0"},
	} {
		instance, subject := id.Named()
		expect.That(t, instance == want[0] && subject == want[1] && id.IsInstance() == (want[0] != ""), "%q: %q, %q, an instance: %v", id, instance, subject, id.IsInstance())
	}
}
