package bundle

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"rollcall/shared/evidence"
)

// The files of a bundle.
const (
	fileAt             = "at.txt"
	fileCluster        = "cluster.json"
	fileInstances      = "instances.json"
	fileNodes          = "nodes.json"
	fileStatuses       = "instance-status.json"
	fileLeases         = "leases.json"
	fileEvents         = "k8s-events.json"
	fileNodeClaims     = "nodeclaims.json"
	fileNodePools      = "nodepools.json"
	fileNodeClasses    = "ec2nodeclasses.json"
	fileAwsAuth        = "aws-auth.json"
	fileAccessEntries  = "access-entries.json"
	fileProfiles       = "instance-profiles.json"
	fileRoles          = "roles.json"
	fileAttached       = "attached-policies.json"
	fileASGInstances   = "auto-scaling-instances.json"
	fileASGs           = "auto-scaling-groups.json"
	fileActivities     = "scaling-activities.json"
	fileNodeGroups     = "nodegroups.json"
	fileTemplates      = "launch-template-versions.json"
	fileImages         = "images.json"
	fileSubnets        = "subnets.json"
	fileRouteTables    = "route-tables.json"
	fileSecurityGroups = "security-groups.json"
	fileNetworkACLs    = "network-acls.json"
	fileVPCEndpoints   = "vpc-endpoints.json"
	fileNATGateways    = "nat-gateways.json"
	fileDHCPOptions    = "dhcp-options.json"
	fileVPCAttributes  = "vpc-attributes.json"
	filePods           = "pods.json"
	fileEndpointSlices = "endpointslices.json"
	fileLedger         = "ledger.json"
	fileWebhooks       = "webhooks.json"
	folderUserData     = "user-data"
	folderConsole      = "console"
	folderHostLogs     = "host-logs"
)

// Further files of a capture: answers that fit in no other file. Nobody has to write them by hand.
const (
	fileVPCs           = "vpcs.json"
	fileAccessPolicies = "access-policies.json"
	fileInline         = "role-policies.json"
	fileInlineTexts    = "inline-policies.json"
	filePolicies       = "managed-policies.json"
	filePolicyTexts    = "policy-versions.json"
	fileAttributes     = "instance-attributes.json"
	fileShifts         = "zonal-shifts.json"
	fileBudgets        = "poddisruptionbudgets.json"
	fileVolumes        = "persistentvolumes.json"
	fileAccounts       = "serviceaccounts.json"
	fileDaemonSets     = "daemonsets.json"
)

// spec defines one JSON file: how it is read and written, and the calls whose answers it holds.
type spec struct {
	name     string
	command  string // that writes it, for messages
	required bool
	folded   bool // levels below the second are folded: see reader.value
	table    func() filed
	read     func(*contents, *input, *value)
	// write returns what the file holds; nil to leave it out.
	write func(*contents) (any, error)
	calls []operation
}

var specs = append(awsSpecs(), kubernetesSpecs()...)

func awsSpecs() []spec {
	const ec2s, scaling = "aws ec2 describe-", "aws autoscaling describe-"
	return []spec{
		clusterSpec(), instancesSpec(ec2s + "instances --output json"), statusesSpec(ec2s + "instance-status --include-all-instances"),
		describes[ec2.DescribeImagesInput, ec2.DescribeImagesOutput, types.Image](shape{file: fileImages, command: ec2s + "images --image-ids ...", list: "Images", id: "ImageId"}, "ImageIds"),
		describes[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput, types.Subnet](shape{file: fileSubnets, command: ec2s + "subnets", list: "Subnets", id: "SubnetId"}, "SubnetIds"),
		describes[ec2.DescribeRouteTablesInput, ec2.DescribeRouteTablesOutput, types.RouteTable](shape{file: fileRouteTables, command: ec2s + "route-tables", list: "RouteTables", id: "RouteTableId"}, "RouteTableIds"),
		describes[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput, types.SecurityGroup](shape{file: fileSecurityGroups, command: ec2s + "security-groups", list: "SecurityGroups", id: "GroupId"}, "GroupIds"),
		describes[ec2.DescribeNetworkAclsInput, ec2.DescribeNetworkAclsOutput, types.NetworkAcl](shape{file: fileNetworkACLs, command: ec2s + "network-acls", list: "NetworkAcls", id: "NetworkAclId"}, "NetworkAclIds"),
		describes[ec2.DescribeVpcEndpointsInput, ec2.DescribeVpcEndpointsOutput, types.VpcEndpoint](shape{file: fileVPCEndpoints, command: ec2s + "vpc-endpoints", list: "VpcEndpoints", id: "VpcEndpointId"}, "VpcEndpointIds"),
		describes[ec2.DescribeNatGatewaysInput, ec2.DescribeNatGatewaysOutput, types.NatGateway](shape{file: fileNATGateways, command: ec2s + "nat-gateways", list: "NatGateways", id: "NatGatewayId"}, "NatGatewayIds"),
		describes[ec2.DescribeDhcpOptionsInput, ec2.DescribeDhcpOptionsOutput, types.DhcpOptions](shape{file: fileDHCPOptions, command: ec2s + "dhcp-options", list: "DhcpOptions", id: "DhcpOptionsId"}, "DhcpOptionsIds"),
		selects[ec2.DescribeVpcsInput, ec2.DescribeVpcsOutput, types.Vpc](shape{file: fileVPCs, command: ec2s + "vpcs", list: "Vpcs", id: "VpcId"}, "VpcIds", (*contents).describeVPCs),
		selects[ec2.DescribeLaunchTemplateVersionsInput, ec2.DescribeLaunchTemplateVersionsOutput, types.LaunchTemplateVersion](shape{file: fileTemplates, command: ec2s + "launch-template-versions --launch-template-id ID", list: "LaunchTemplateVersions", id: "LaunchTemplateId", key: "LaunchTemplateId:VersionNumber"}, "Versions", (*contents).templateVersions),
		selects[autoscaling.DescribeAutoScalingInstancesInput, autoscaling.DescribeAutoScalingInstancesOutput, asgtypes.AutoScalingInstanceDetails](shape{file: fileASGInstances, command: scaling + "auto-scaling-instances", list: "AutoScalingInstances", id: "InstanceId"}, "", (*contents).scalingInstances),
		selects[autoscaling.DescribeAutoScalingGroupsInput, autoscaling.DescribeAutoScalingGroupsOutput, asgtypes.AutoScalingGroup](shape{file: fileASGs, command: scaling + "auto-scaling-groups", list: "AutoScalingGroups", id: "AutoScalingGroupName"}, "", (*contents).scalingGroups),
		selects[autoscaling.DescribeScalingActivitiesInput, autoscaling.DescribeScalingActivitiesOutput, asgtypes.Activity](shape{file: fileActivities, command: scaling + "scaling-activities --auto-scaling-group-name NAME", list: "Activities", id: "ActivityId"}, "", (*contents).scalingActivities),
		nodeGroupsSpec(), accessEntriesSpec(),
		gets[iam.GetInstanceProfileInput, iam.GetInstanceProfileOutput, iamtypes.InstanceProfile](shape{file: fileProfiles, command: "aws iam get-instance-profile, once for each,", list: "InstanceProfiles", id: "InstanceProfileName", one: "InstanceProfile"}, "InstanceProfileName"),
		gets[iam.GetRoleInput, iam.GetRoleOutput, iamtypes.Role](shape{file: fileRoles, command: "aws iam get-role, once for each,", list: "Roles", id: "RoleName", one: "Role"}, "RoleName"),
		gets[iam.GetPolicyInput, iam.GetPolicyOutput, iamtypes.Policy](shape{file: filePolicies, command: "aws iam get-policy, once for each,", list: "Policies", id: "Arn", one: "Policy"}, "PolicyArn"),
		answers[eks.ListAssociatedAccessPoliciesInput, eks.ListAssociatedAccessPoliciesOutput](fileAccessPolicies, "aws eks list-associated-access-policies", "associatedAccessPolicies", "PrincipalArn"),
		answers[iam.ListAttachedRolePoliciesInput, iam.ListAttachedRolePoliciesOutput](fileAttached, "aws iam list-attached-role-policies", "AttachedPolicies", "RoleName"),
		answers[iam.ListRolePoliciesInput, iam.ListRolePoliciesOutput](fileInline, "aws iam list-role-policies", "PolicyNames", "RoleName"),
		answers[iam.GetPolicyVersionInput, iam.GetPolicyVersionOutput](filePolicyTexts, "aws iam get-policy-version", "PolicyVersion", "PolicyArn"),
		inlineTextsSpec(), vpcAttributesSpec(), attributesSpec(), shiftsSpec(),
		{
			name: fileLedger, command: "rollcall capture", read: readLedger, write: writeLedger,
			table: func() filed { return newTable[evidence.Remembered](fileLedger, nil) },
		},
	}
}

// operation is a call of the SDK: how a bundle answers it, and how a recorder records its answer.
type operation struct {
	in   reflect.Type // a pointer to the call's input
	file string       // that the answer belongs in
	// whole reports whether things that are missing in the file would count as absent, so that a
	// failure makes the file useless; nil if they never would.
	whole  func(in any) bool
	answer func(c *contents, in any) (any, error)
	record func(c *contents, in, out any) // nil if the answer is not recorded
}

// on returns the operation of the call with the input I.
func on[I, O any](file string, whole func(*I) bool, answer func(*contents, *I) (*O, error), record func(*contents, *I, *O)) operation {
	o := operation{in: reflect.TypeFor[*I](), file: file, answer: func(c *contents, in any) (any, error) { return answer(c, in.(*I)) }}
	if whole != nil {
		o.whole = func(in any) bool { return whole(in.(*I)) }
	}
	if record != nil {
		o.record = func(c *contents, in, out any) { record(c, in.(*I), out.(*O)) }
	}
	return o
}

// asksAll is for a call whose failure makes the file useless, whatever it asks.
func asksAll[I any](*I) bool { return true }

// operations are all calls that a bundle answers, by the type of their input.
var operations = func() map[reflect.Type]operation {
	out := map[reflect.Type]operation{}
	for i := range specs {
		for _, o := range specs[i].calls {
			out[o.in] = o
		}
	}
	return out
}()

func (c *contents) answer(in any) (any, error) {
	if o, ok := operations[reflect.TypeOf(in)]; ok {
		return o.answer(c, in)
	}
	return nil, fmt.Errorf("a bundle holds no answer to %T", in)
}
