package bundle

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func filter(name string, values ...string) []types.Filter {
	return []types.Filter{{Name: aws.String(name), Values: values}}
}

func TestInstancesAreChosenAsEC2Does(t *testing.T) {
	e := of(opened(t, small(t))).ec2
	for name, c := range map[string]struct {
		in   ec2.DescribeInstancesInput
		want string
	}{
		"all":               {ec2.DescribeInstancesInput{}, "i-0f100000000000001 i-0f200000000000001 i-0f300000000000001"},
		"a tag's key":       {ec2.DescribeInstancesInput{Filters: filter("tag-key", "kubernetes.io/cluster/demo")}, "i-0f100000000000001 i-0f200000000000001"},
		"a tag":             {ec2.DescribeInstancesInput{Filters: filter("tag:Name", "bas*")}, "i-0f300000000000001"},
		"across slashes":    {ec2.DescribeInstancesInput{Filters: filter("tag-key", "kubernetes.io/*")}, "i-0f100000000000001 i-0f200000000000001"},
		"a state":           {ec2.DescribeInstancesInput{Filters: filter("instance-state-name", "stopped", "stopping")}, "i-0f300000000000001"},
		"ids":               {ec2.DescribeInstancesInput{InstanceIds: []string{"i-0f300000000000001", "i-0f100000000000001"}}, "i-0f100000000000001 i-0f300000000000001"},
		"filters are joint": {ec2.DescribeInstancesInput{Filters: append(filter("tag-key", "Name"), filter("instance-state-name", "running")...)}, ""},
	} {
		out, err := e.DescribeInstances(t.Context(), &c.in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, r := range out.Reservations {
			expect.That(t, aws.ToString(r.OwnerId) == "111122223333", "%s: the owner is %v", name, r.OwnerId)
			for _, i := range r.Instances {
				got = append(got, *i.InstanceId)
			}
		}
		expect.That(t, strings.Join(got, " ") == c.want, "%s: got %v, want %s", name, got, c.want)
	}
	if _, err := e.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: filter("dns-name", "x")}); err == nil {
		t.Error("a filter that is not known chose something")
	}
	_, err := e.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-0f100000000000001", "i-0aa", "i-0bb"}})
	ids := awserr.InvalidInstanceIDs(err)
	expect.That(t, strings.Join(ids, " ") == "i-0aa i-0bb", "unknown are %v of %v", ids, err)
}

func TestStatusChecks(t *testing.T) {
	fsys := small(t)
	e := of(opened(t, fsys)).ec2
	ids := func(in ec2.DescribeInstanceStatusInput) (got string) {
		out, err := e.DescribeInstanceStatus(t.Context(), &in)
		if err != nil {
			return awserr.Describe(err, "", "")
		}
		for _, s := range out.InstanceStatuses {
			got += *s.InstanceId + " "
		}
		return got
	}
	expect.Equal(t, ids(ec2.DescribeInstanceStatusInput{Filters: filter("instance-status.status", "impaired")}), "i-0f200000000000001 ", "impaired")
	expect.Equal(t, ids(ec2.DescribeInstanceStatusInput{}), "i-0f100000000000001 i-0f200000000000001 ", "running")
	expect.Equal(t, ids(ec2.DescribeInstanceStatusInput{InstanceIds: []string{"i-0f300000000000001"}, IncludeAllInstances: aws.Bool(true)}), "i-0f300000000000001 ", "the stopped one")

	with(fsys, "instance-status.json", `{"InstanceStatuses": [{"InstanceId": "i-0f100000000000001", "InstanceState": {"Name": "running"}, "InstanceStatus": {"Status": "ok"}, "SystemStatus": {"Status": "ok"}}]}`)
	e = of(opened(t, fsys)).ec2
	if got := ids(ec2.DescribeInstanceStatusInput{InstanceIds: []string{"i-0f100000000000001", "i-0f200000000000001"}}); got != "i-0f200000000000001 is not in instance-status.json of the bundle" {
		t.Errorf("a status that was not captured is %s", got)
	}
	expect.Equal(t, ids(ec2.DescribeInstanceStatusInput{InstanceIds: []string{"i-0f300000000000001"}}), "", "the stopped one, which has no status")
}

// A file in base64 may be what the CLI prints, or user data that was encoded twice. The launch
// template tells.
func TestTheTemplateTellsThatUserDataWasEncodedTwice(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	const script = "<powershell>\n</powershell>\n"
	for template, want := range map[string]string{encode(script): script, encode(encode(script)): encode(script), encode("else"): script} {
		fsys := with(least(t), "user-data/i-0f100000000000001.txt", encode(script))
		with(fsys, fileTemplates, `{"LaunchTemplateVersions":[{"LaunchTemplateId":"lt-1","VersionNumber":1,"LaunchTemplateData":{"UserData":"`+template+`"}}]}`)
		out, err := of(opened(t, fsys)).ec2.DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String("i-0f100000000000001"), Attribute: types.InstanceAttributeNameUserData})
		expect.That(t, err == nil && aws.ToString(out.UserData.Value) == encode(want), "%s: %v, %v", template, out, err)
	}
}

func TestUserDataInAnyForm(t *testing.T) {
	const script = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"
	encoded := base64.StdEncoding.EncodeToString([]byte(script))
	zipped := string(zip([]byte(script)))
	for name, c := range map[string]struct{ file, want string }{
		"as it is":       {script, script},
		"of Windows":     {"\xef\xbb\xbf" + script, script},
		"base64":         {encoded + "\n", script},
		"broken base64":  {encoded[:20] + "\r\n" + encoded[20:], script},
		"the answer":     {`{"InstanceId": "i-0f100000000000001", "UserData": {"Value": "` + encoded + `"}}`, script},
		"no value":       {`{"InstanceId": "i-0f100000000000001", "UserData": {}}`, ""},
		"gzip":           {zipped, zipped},
		"gzip in base64": {base64.StdEncoding.EncodeToString([]byte(zipped)), zipped},
		"none":           {"", ""},
		"other JSON":     {`{"apiVersion": "node.eks.aws/v1alpha1"}`, `{"apiVersion": "node.eks.aws/v1alpha1"}`},
	} {
		e := of(opened(t, with(least(t), "user-data/i-0f100000000000001.txt", c.file))).ec2
		out, err := e.DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String("i-0f100000000000001"), Attribute: types.InstanceAttributeNameUserData})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := base64.StdEncoding.DecodeString(aws.ToString(out.UserData.Value))
		expect.That(t, err == nil && string(got) == c.want, "%s: got %q, %v", name, got, err)
	}
}

// What a missing file means: never that there is none, and never that it was refused.
func TestAMissingFileIsAnErrorAndNoAnswer(t *testing.T) {
	b := opened(t, least(t))
	c := of(b)
	e, k, a, i := c.ec2, c.eks, c.asg, c.iam
	ctx := t.Context()
	id := aws.String("i-0f100000000000001")
	call := func(_ any, err error) error { return err }
	for file, err := range map[string]error{
		"instance-status.json":              call(e.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{})),
		"user-data/i-0f100000000000001.txt": call(e.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: id, Attribute: types.InstanceAttributeNameUserData})),
		"console/i-0f100000000000001.txt":   call(e.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: id})),
		"images.json":                       call(e.DescribeImages(ctx, &ec2.DescribeImagesInput{})),
		"subnets.json":                      call(e.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})),
		"route-tables.json":                 call(e.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{})),
		"network-acls.json":                 call(e.DescribeNetworkAcls(ctx, &ec2.DescribeNetworkAclsInput{})),
		"security-groups.json":              call(e.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})),
		"nat-gateways.json":                 call(e.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{})),
		"vpc-endpoints.json":                call(e.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})),
		"dhcp-options.json":                 errors.Join(call(e.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{}))),
		"vpc-attributes.json":               call(e.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: aws.String("vpc-0d1"), Attribute: types.VpcAttributeNameEnableDnsSupport})),
		"launch-template-versions.json":     call(e.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{})),
		"nodegroups.json":                   call(k.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{NodegroupName: aws.String("x")})),
		"access-entries.json":               call(k.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{})),
		"access-policies.json":              call(k.ListAssociatedAccessPolicies(ctx, &eks.ListAssociatedAccessPoliciesInput{PrincipalArn: aws.String("x")})),
		"auto-scaling-instances.json":       call(a.DescribeAutoScalingInstances(ctx, &autoscaling.DescribeAutoScalingInstancesInput{})),
		"auto-scaling-groups.json":          call(a.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{})),
		"scaling-activities.json":           call(a.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{})),
		"instance-profiles.json":            call(i.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String("x")})),
		"roles.json":                        call(i.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("x")})),
		"attached-policies.json":            call(i.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: aws.String("x")})),
		"inline-policies.json":              call(i.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: aws.String("x"), PolicyName: aws.String("y")})),
		"managed-policies.json":             call(i.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: aws.String("x")})),
		"policy-versions.json":              call(i.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: aws.String("x"), VersionId: aws.String("v1")})),
		"role-policies.json":                call(i.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: aws.String("x")})),
	} {
		expect.Equal(t, awserr.Describe(err, "some:Call", "arn:aws:iam::111122223333:role/me"), file+" is not in the bundle", "%s: described as", file)
		expect.That(t, !awserr.IsNotFound(err) && !awserr.IsDenied(err) && !awserr.IsThrottled(err) && !awserr.IsTimeout(err), "%s: the error is taken for another: %v", file, err)
	}
}

// A file that names things one by one need not name all there are.
func TestWhatAFileDoesNotNameIsNotTakenForAbsent(t *testing.T) {
	b := opened(t, small(t))
	e, i := of(b).ec2, of(b).iam
	ctx := t.Context()
	call := func(_ any, err error) error { return err }
	for want, err := range map[string]error{
		"ami-0zz is not in images.json of the bundle":                                                                         call(e.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{"ami-0b1", "ami-0zz"}})),
		"subnet-0zz is not in subnets.json of the bundle":                                                                     call(e.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-0zz"}})),
		"sg-0zz is not in security-groups.json of the bundle":                                                                 call(e.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-0zz"}})),
		"admin is not in roles.json of the bundle":                                                                            call(i.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("admin")})),
		"vpc-0zz is not in vpc-attributes.json of the bundle":                                                                 call(e.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: aws.String("vpc-0zz"), Attribute: types.VpcAttributeNameEnableDnsSupport})),
		"user-data/i-0f300000000000001.txt is not in the bundle":                                                              call(e.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String("i-0f300000000000001"), Attribute: types.InstanceAttributeNameUserData})),
		"version 9 of the launch template lt-0a1 is not in launch-template-versions.json of the bundle":                       call(e.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0a1"), Versions: []string{"3", "9"}})),
		"the access entry of arn:aws:iam::111122223333:role/admin beyond its ARN is not in access-entries.json of the bundle": call(of(b).eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{PrincipalArn: aws.String("arn:aws:iam::111122223333:role/admin")})),
	} {
		_, ok := errors.AsType[*awserr.NotCaptured](err)
		expect.That(t, ok && awserr.Describe(err, "", "") == want, "got %v, want %s", err, want)
	}
}

// A single object is what somebody requested, not all there is.
func TestOneThingByItselfIsNoListing(t *testing.T) {
	fsys := with(least(t), "nodegroups.json", `{"nodegroup": {"nodegroupName": "workers", "status": "ACTIVE", "amiType": "AL2023_x86_64_STANDARD", "health": {"issues": []}}}`)
	with(fsys, "nodeclaims.json", `{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "a"}}`)
	with(fsys, "nodepools.json", `{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": {"template": {"spec": {}}}}`)
	with(fsys, "vpc-endpoints.json", `{"VpcEndpointId": "vpce-1", "VpcId": "vpc-1", "VpcEndpointType": "GatewayLoadBalancer", "ServiceName": "x", "State": "available"}`)
	b := opened(t, fsys)
	k := client(t, b)
	call := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"the node group": call(of(b).eks.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{NodegroupName: aws.String("workers")})),
		"the node pool":  call(k.Read(t.Context(), kube.ANodePool("default"))),
		"the endpoint":   call(of(b).ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{"vpce-1"}})),
	} {
		expect.That(t, err == nil, "%s: %v", name, err)
	}
	for name, err := range map[string]error{
		"another node group": call(of(b).eks.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{NodegroupName: aws.String("gone")})),
		"another node pool":  call(k.Read(t.Context(), kube.ANodePool("gone"))),
		"all NodeClaims":     call(k.Read(t.Context(), kube.NodeClaimsOf("default"))),
		"all endpoints":      call(of(b).ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{Filters: filter("vpc-id", "vpc-1")})),
	} {
		_, ok := errors.AsType[*awserr.NotCaptured](err)
		expect.That(t, ok, "%s: %v", name, err)
	}
}

// These files list all there is: what is missing in them does not exist.
func TestWhatListingsLackDoesNotExist(t *testing.T) {
	k := of(opened(t, small(t))).eks
	call := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"cluster":      call(k.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("Demo")})),
		"node group":   call(k.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{NodegroupName: aws.String("gone")})),
		"access entry": call(k.DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{PrincipalArn: aws.String("arn:aws:iam::111122223333:role/none")})),
	} {
		expect.That(t, awserr.IsNotFound(err), "%s: %v", name, err)
	}
}

func TestNetworkIsChosenByFilters(t *testing.T) {
	e := of(opened(t, small(t))).ec2
	ctx := t.Context()
	if out, err := e.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: filter("association.subnet-id", "subnet-0a1")}); err != nil || len(out.RouteTables) != 1 || *out.RouteTables[0].RouteTableId != "rtb-0a2" || out.RouteTables[0].Routes[0].State != types.RouteStateBlackhole {
		t.Errorf("got %+v, %v", out, err)
	}
	if out, err := e.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: filter("association.main", "true")}); err != nil || len(out.RouteTables) != 1 || *out.RouteTables[0].RouteTableId != "rtb-0a1" {
		t.Errorf("got %+v, %v", out, err)
	}
	if out, err := e.DescribeNetworkAcls(ctx, &ec2.DescribeNetworkAclsInput{Filters: filter("vpc-id", "vpc-0zz")}); err != nil || len(out.NetworkAcls) != 0 {
		t.Errorf("got %+v, %v", out, err)
	}
	if out, err := e.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{Filters: filter("vpc-id", "vpc-0d1")}); err != nil || len(out.VpcEndpoints) != 1 || !*out.VpcEndpoints[0].PrivateDnsEnabled {
		t.Errorf("got %+v, %v", out, err)
	}
	if out, err := e.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("workers"), Versions: []string{"$Latest", "$Default"}}); err != nil || len(out.LaunchTemplateVersions) != 2 || *out.LaunchTemplateVersions[0].VersionNumber != 3 || *out.LaunchTemplateVersions[1].VersionNumber != 2 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestVPCsUseTheOnlyDHCPOptions(t *testing.T) {
	fsys := small(t)
	out, err := of(opened(t, fsys)).ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-0d1"}})
	expect.That(t, err == nil && len(out.Vpcs) == 1 && aws.ToString(out.Vpcs[0].DhcpOptionsId) == "dopt-0a1", "got %+v, %v", out, err)
	with(fsys, "dhcp-options.json", `{"DhcpOptions": [{"DhcpOptionsId": "dopt-1"}, {"DhcpOptionsId": "dopt-2"}]}`)
	_, err = of(opened(t, fsys)).ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	expect.That(t, awserr.Describe(err, "", "") == "vpcs.json is not in the bundle", "of two sets one was guessed: %v", err)
	with(fsys, "vpcs.json", `{"Vpcs": [{"VpcId": "vpc-0d1", "DhcpOptionsId": "default"}]}`)
	out, err = of(opened(t, fsys)).ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-0d1"}})
	expect.That(t, err == nil && aws.ToString(out.Vpcs[0].DhcpOptionsId) == "default", "got %+v, %v", out, err)
}

func TestEKSAnswers(t *testing.T) {
	k := of(opened(t, small(t))).eks
	cluster, err := k.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("demo")})
	must.Succeed(t, err)
	c := cluster.Cluster
	if c.AccessConfig.AuthenticationMode != "API_AND_CONFIG_MAP" || c.Tags["rollcall:mode"] != "notify" || aws.ToString(c.KubernetesNetworkConfig.ServiceIpv4Cidr) != "10.100.0.0/16" || !c.ResourcesVpcConfig.EndpointPublicAccess || c.CreatedAt.UTC().Hour() != 8 {
		t.Errorf("got %+v", c)
	}
	entries, err := k.ListAccessEntries(t.Context(), &eks.ListAccessEntriesInput{})
	expect.That(t, err == nil && len(entries.AccessEntries) == 2, "got %+v, %v", entries, err)
	entry, err := k.DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{PrincipalArn: aws.String("arn:aws:iam::111122223333:role/demo-node")})
	expect.That(t, err == nil && aws.ToString(entry.AccessEntry.Type) == "EC2_LINUX" && !entry.AccessEntry.CreatedAt.IsZero(), "got %+v, %v", entry, err)
	policies, err := k.ListAssociatedAccessPolicies(t.Context(), &eks.ListAssociatedAccessPoliciesInput{PrincipalArn: entry.AccessEntry.PrincipalArn})
	expect.That(t, err == nil && len(policies.AssociatedAccessPolicies) == 1 && policies.AssociatedAccessPolicies[0].AccessScope.Type == "cluster", "got %+v, %v", policies, err)
	names, err := k.ListNodegroups(t.Context(), &eks.ListNodegroupsInput{})
	expect.That(t, err == nil && len(names.Nodegroups) == 1 && names.Nodegroups[0] == "workers", "got %+v, %v", names, err)
	group, err := k.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{NodegroupName: aws.String("workers")})
	expect.That(t, err == nil && group.Nodegroup.Health.Issues[0].Code == "NodeCreationFailure" && *group.Nodegroup.NodeRepairConfig.Enabled, "got %+v, %v", group, err)
}

func TestTrustPolicyIsAsIAMGivesIt(t *testing.T) {
	out, err := of(opened(t, small(t))).iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("demo-node")})
	must.Succeed(t, err)
	escaped := aws.ToString(out.Role.AssumeRolePolicyDocument)
	for _, unescape := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
		said, err := unescape(escaped)
		expect.That(t, err == nil && json.Valid([]byte(said)) && strings.Contains(said, `"Service":"ec2.amazonaws.com"`) && !strings.ContainsAny(escaped, "{ "), "got %s, %v", said, err)
	}
}

func TestScalingActivitiesComeNewestFirst(t *testing.T) {
	a := of(opened(t, small(t))).asg
	out, err := a.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("workers"), MaxRecords: aws.Int32(20)})
	expect.That(t, err == nil && len(out.Activities) == 2 && *out.Activities[0].ActivityId == "a2", "got %+v, %v", out, err)
}

// No handwritten file of a bundle can show these.
func TestWhatNoFileCanShowIsTakenToBeOff(t *testing.T) {
	fsys := least(t)
	in := &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String("i-0f100000000000001"), Attribute: types.InstanceAttributeNameDisableApiTermination}
	out, err := of(opened(t, fsys)).ec2.DescribeInstanceAttribute(t.Context(), in)
	expect.That(t, err == nil && out.DisableApiTermination != nil && !*out.DisableApiTermination.Value, "got %+v, %v", out, err)
	stop := &ec2.DescribeInstanceAttributeInput{InstanceId: in.InstanceId, Attribute: types.InstanceAttributeNameDisableApiStop}
	for file, want := range map[string]bool{
		"": false, `{"i-0f100000000000001": {"DisableApiTermination": {"Value": false}}}`: false, // by an earlier version
		`{"i-0f100000000000001": {"DisableApiTermination": {"Value": false}, "DisableApiStop": {"Value": true}}}`: true,
	} {
		if file != "" {
			with(fsys, "instance-attributes.json", file)
		}
		out, err := of(opened(t, fsys)).ec2.DescribeInstanceAttribute(t.Context(), stop)
		expect.That(t, err == nil && out.DisableApiStop != nil && *out.DisableApiStop.Value == want && out.DisableApiTermination == nil, "%s: got %+v, %v", file, out, err)
		delete(fsys, "instance-attributes.json")
	}
	with(fsys, "instance-attributes.json", `{"i-0f100000000000001": {"DisableApiTermination": {"Value": true}}}`)
	with(fsys, "zonal-shifts.json", `{"zonalShifts": [{"appliedStatus": "APPLIED", "awayFrom": "euw1-az1", "expiryTime": 1772500000.0}], "autoshifts": []}`)
	b := opened(t, fsys)
	if out, err := of(b).ec2.DescribeInstanceAttribute(t.Context(), in); err != nil || !*out.DisableApiTermination.Value {
		t.Errorf("got %+v, %v", out, err)
	}
	if out, err := of(b).arc.GetManagedResource(t.Context(), &arczonalshift.GetManagedResourceInput{}); err != nil || aws.ToString(out.ZonalShifts[0].AwayFrom) != "euw1-az1" {
		t.Errorf("got %+v, %v", out, err)
	}
}

// Without the list of instances, the groups' own lists answer if they contain every requested
// instance.
func TestAutoScalingGroupsTellOfTheirInstances(t *testing.T) {
	group := func(members string) string {
		return `{"AutoScalingGroups": [{"AutoScalingGroupName": "w", "DesiredCapacity": 1, "SuspendedProcesses": []` + members + `}]}`
	}
	standby := `, "Instances": [{"InstanceId": "i-0f100000000000001", "LifecycleState": "Standby", "HealthStatus": "Healthy", "ProtectedFromScaleIn": true}]`
	ask := func(groups string, ids ...string) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
		fsys := small(t)
		delete(fsys, "auto-scaling-instances.json")
		with(fsys, "auto-scaling-groups.json", groups)
		return of(opened(t, fsys)).asg.DescribeAutoScalingInstances(t.Context(), &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: ids})
	}
	out, err := ask(group(standby), "i-0f100000000000001")
	expect.That(t, err == nil && len(out.AutoScalingInstances) == 1 && aws.ToString(out.AutoScalingInstances[0].LifecycleState) == "Standby" &&
		aws.ToString(out.AutoScalingInstances[0].AutoScalingGroupName) == "w" && aws.ToBool(out.AutoScalingInstances[0].ProtectedFromScaleIn), "%v %+v", err, out)
	for name, c := range map[string]struct {
		groups string
		ids    []string
	}{
		"one that no group lists":     {group(standby), []string{"i-0f100000000000001", "i-0f200000000000001"}},
		"all there are":               {group(standby), nil},
		"a group without its list":    {group(""), []string{"i-0f100000000000001"}},
		"a list without their states": {group(strings.Replace(standby, `"LifecycleState": "Standby", `, "", 1)), []string{"i-0f100000000000001"}},
		"without their protection":    {group(strings.Replace(standby, `, "ProtectedFromScaleIn": true`, "", 1)), []string{"i-0f100000000000001"}},
	} {
		_, err := ask(c.groups, c.ids...)
		expect.That(t, errors.As(err, new(*awserr.NotCaptured)), "%s: %v", name, err)
	}
}
