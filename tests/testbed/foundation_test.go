package testbed

import (
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestAnInstanceOfAGroupIsSetUpAsANode(t *testing.T) {
	ctx := reset(t)
	id := runOne(t, InstanceSpec{Cluster: ClusterName, Group: "workers", Zone: "eu-west-1c"})
	client := ec2.NewFromConfig(impatient())
	out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	must.Succeed(t, err)
	i := out.Reservations[0].Instances[0]
	if aws.ToString(i.ImageId) != imageID || i.Architecture != "x86_64" || aws.ToString(i.SubnetId) != bed.SubnetID("eu-west-1c") || aws.ToString(i.VpcId) != bed.VPCID() {
		t.Errorf("it has the AMI %s (%s) in %s of %s", aws.ToString(i.ImageId), i.Architecture, aws.ToString(i.SubnetId), aws.ToString(i.VpcId))
	}
	if len(i.SecurityGroups) != 1 || aws.ToString(i.SecurityGroups[0].GroupId) != bed.SecurityGroupID() || i.PublicIpAddress != nil {
		t.Errorf("it has the groups %+v and the public address %s", i.SecurityGroups, aws.ToString(i.PublicIpAddress))
	}
	expect.Equal(t, aws.ToInt32(i.MetadataOptions.HttpPutResponseHopLimit), hopLimit, "its hop limit")
	data, err := client.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String(id), Attribute: ec2types.InstanceAttributeNameUserData})
	expect.That(t, err == nil && data.UserData != nil && aws.ToString(data.UserData.Value) != "", "its user data is %+v, %v", data, err)
	template := ""
	for _, tag := range i.Tags {
		if aws.ToString(tag.Key) == "aws:ec2launchtemplate:id" {
			template = aws.ToString(tag.Value)
		}
	}
	versions, err := client.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String(template), Versions: []string{"1"}})
	if err != nil || len(versions.LaunchTemplateVersions) != 1 || aws.ToString(versions.LaunchTemplateVersions[0].LaunchTemplateData.UserData) != aws.ToString(data.UserData.Value) {
		t.Errorf("its launch template %q is %+v, %v", template, versions, err)
	}
	wantNodeRole(t, aws.ToString(i.IamInstanceProfile.Arn))
}

// wantNodeRole checks that an instance profile holds the node role.
func wantNodeRole(t *testing.T, arn string) {
	t.Helper()
	client := iam.NewFromConfig(impatient())
	profile, err := client.GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(arn[strings.LastIndexByte(arn, '/')+1:])})
	must.Succeed(t, err)
	roles := profile.InstanceProfile.Roles
	must.That(t, len(roles) == 1 && aws.ToString(roles[0].Arn) == NodeRoleARN, "the instance profile %s has the roles %+v", arn, roles)
	role, err := client.GetRole(t.Context(), &iam.GetRoleInput{RoleName: profile.InstanceProfile.Roles[0].RoleName})
	must.Succeed(t, err)
	if trust, err := url.PathUnescape(aws.ToString(role.Role.AssumeRolePolicyDocument)); err != nil || !strings.Contains(trust, "ec2.amazonaws.com") {
		t.Errorf("its trust policy is %s, %v", trust, err)
	}
	policies, err := client.ListAttachedRolePolicies(t.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: role.Role.RoleName})
	expect.That(t, err == nil && len(policies.AttachedPolicies) == 2, "its policies are %+v, %v", policies, err)
}

func TestTheSubnetsOfTheClusterReachTheInternetThroughANATGateway(t *testing.T) {
	ctx := reset(t)
	client := ec2.NewFromConfig(impatient())
	tables, err := client.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{bed.RouteTableID()}})
	must.Succeed(t, err)
	nat := ""
	for _, r := range tables.RouteTables[0].Routes {
		if aws.ToString(r.DestinationCidrBlock) == "0.0.0.0/0" {
			nat = aws.ToString(r.NatGatewayId)
		}
	}
	gateways, err := client.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{nat}})
	if err != nil || len(gateways.NatGateways) != 1 || gateways.NatGateways[0].State != ec2types.NatGatewayStateAvailable || len(gateways.NatGateways[0].NatGatewayAddresses) != 1 || aws.ToString(gateways.NatGateways[0].NatGatewayAddresses[0].PublicIp) == "" {
		t.Errorf("the default route leads to %q: %+v, %v", nat, gateways, err)
	}
	cluster, err := eks.NewFromConfig(impatient()).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(ClusterName)})
	must.Succeed(t, err)
	v := cluster.Cluster.ResourcesVpcConfig
	if aws.ToString(v.VpcId) != bed.VPCID() || aws.ToString(v.ClusterSecurityGroupId) != bed.SecurityGroupID() || len(v.SubnetIds) != 3 || !v.EndpointPublicAccess || !v.EndpointPrivateAccess {
		t.Errorf("the network of the cluster is %+v", v)
	}
}

func TestAnInstanceMayHaveNoProfileAndNoUserData(t *testing.T) {
	ctx := reset(t)
	id := runOne(t, InstanceSpec{Cluster: ClusterName, Profile: NoProfile})
	client := ec2.NewFromConfig(impatient())
	out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	expect.That(t, err == nil && out.Reservations[0].Instances[0].IamInstanceProfile == nil, "it has the profile %+v, %v", out.Reservations[0].Instances[0].IamInstanceProfile, err)
	data, err := client.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String(id), Attribute: ec2types.InstanceAttributeNameUserData})
	if err != nil || data.UserData != nil && aws.ToString(data.UserData.Value) != "" {
		t.Errorf("its user data is %+v, %v", data.UserData, err)
	}
	console, err := client.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String(id), Latest: aws.Bool(true)})
	if err != nil || console.Output != nil {
		t.Errorf("its console says %q, %v", aws.ToString(console.Output), err)
	}
}
