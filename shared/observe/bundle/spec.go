package bundle

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
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

// spec defines how one JSON file is read.
type spec struct {
	name     string
	command  string // that writes it, for messages
	required bool
	beyond   bool // the file is one of the further files of a capture
	folded   bool // levels below the second are folded: see reader.value
	read     func(*contents, *input, *value)
	blank    func(*contents)         // records that the file exists and is empty
	write    func(*filer, *contents) // nil for a file that is written in another way
	call     *call                   // that lists its rows; nil if there is none of this kind
}

// specs are all JSON files of a bundle.
var specs = append(awsSpecs(), kubernetesSpecs()...)

func awsSpecs() []spec {
	const ec2s, scaling = "aws ec2 describe-", "aws autoscaling describe-"
	return []spec{
		{name: fileCluster, required: true, command: "aws eks describe-cluster --name CLUSTER --output json", read: readCluster},
		{name: fileInstances, required: true, command: ec2s + "instances --output json", read: readInstances},
		listing(shape{file: fileStatuses, command: ec2s + "instance-status --include-all-instances", list: "InstanceStatuses", id: "InstanceId"}, func(c *contents) *table[types.InstanceStatus] { return &c.statuses }),
		describes[ec2.DescribeImagesInput, ec2.DescribeImagesOutput](shape{file: fileImages, command: ec2s + "images --image-ids ...", list: "Images", id: "ImageId", ids: "ImageIds"}, func(c *contents) *table[types.Image] { return &c.images }),
		describes[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput](shape{file: fileSubnets, command: ec2s + "subnets", list: "Subnets", id: "SubnetId", ids: "SubnetIds"}, func(c *contents) *table[types.Subnet] { return &c.subnets }),
		describes[ec2.DescribeRouteTablesInput, ec2.DescribeRouteTablesOutput](shape{file: fileRouteTables, command: ec2s + "route-tables", list: "RouteTables", id: "RouteTableId", ids: "RouteTableIds"}, func(c *contents) *table[types.RouteTable] { return &c.routeTables }),
		describes[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput](shape{file: fileSecurityGroups, command: ec2s + "security-groups", list: "SecurityGroups", id: "GroupId", ids: "GroupIds"}, func(c *contents) *table[types.SecurityGroup] { return &c.groups }),
		describes[ec2.DescribeNetworkAclsInput, ec2.DescribeNetworkAclsOutput](shape{file: fileNetworkACLs, command: ec2s + "network-acls", list: "NetworkAcls", id: "NetworkAclId", ids: "NetworkAclIds"}, func(c *contents) *table[types.NetworkAcl] { return &c.acls }),
		describes[ec2.DescribeVpcEndpointsInput, ec2.DescribeVpcEndpointsOutput](shape{file: fileVPCEndpoints, command: ec2s + "vpc-endpoints", list: "VpcEndpoints", id: "VpcEndpointId", ids: "VpcEndpointIds"}, func(c *contents) *table[types.VpcEndpoint] { return &c.endpoints }),
		describes[ec2.DescribeNatGatewaysInput, ec2.DescribeNatGatewaysOutput](shape{file: fileNATGateways, command: ec2s + "nat-gateways", list: "NatGateways", id: "NatGatewayId", ids: "NatGatewayIds"}, func(c *contents) *table[types.NatGateway] { return &c.gateways }),
		describes[ec2.DescribeDhcpOptionsInput, ec2.DescribeDhcpOptionsOutput](shape{file: fileDHCPOptions, command: ec2s + "dhcp-options", list: "DhcpOptions", id: "DhcpOptionsId", ids: "DhcpOptionsIds"}, func(c *contents) *table[types.DhcpOptions] { return &c.dhcp }),
		beyond(describes[ec2.DescribeVpcsInput, ec2.DescribeVpcsOutput](shape{file: fileVPCs, command: ec2s + "vpcs", list: "Vpcs", id: "VpcId", ids: "VpcIds"}, func(c *contents) *table[types.Vpc] { return &c.vpcs })),
		describes[ec2.DescribeLaunchTemplateVersionsInput, ec2.DescribeLaunchTemplateVersionsOutput](shape{file: fileTemplates, command: ec2s + "launch-template-versions --launch-template-id ID", list: "LaunchTemplateVersions", id: "LaunchTemplateId", ids: "Versions"}, func(c *contents) *table[types.LaunchTemplateVersion] { return &c.templates }),
		describes[autoscaling.DescribeAutoScalingInstancesInput, autoscaling.DescribeAutoScalingInstancesOutput](shape{file: fileASGInstances, command: scaling + "auto-scaling-instances", list: "AutoScalingInstances", id: "InstanceId"}, func(c *contents) *table[asgtypes.AutoScalingInstanceDetails] { return &c.asgInstances }),
		describes[autoscaling.DescribeAutoScalingGroupsInput, autoscaling.DescribeAutoScalingGroupsOutput](shape{file: fileASGs, command: scaling + "auto-scaling-groups", list: "AutoScalingGroups", id: "AutoScalingGroupName"}, func(c *contents) *table[asgtypes.AutoScalingGroup] { return &c.asgs }),
		describes[autoscaling.DescribeScalingActivitiesInput, autoscaling.DescribeScalingActivitiesOutput](shape{file: fileActivities, command: scaling + "scaling-activities --auto-scaling-group-name NAME", list: "Activities", id: "ActivityId"}, func(c *contents) *table[asgtypes.Activity] { return &c.activities }),
		listing(shape{file: fileNodeGroups, command: "aws eks describe-nodegroup, once for each,", list: "nodegroups", id: "nodegroupName", one: "nodegroup"}, func(c *contents) *table[ekstypes.Nodegroup] { return &c.nodeGroups }),
		listing(shape{file: fileProfiles, command: "aws iam get-instance-profile, once for each,", list: "InstanceProfiles", id: "InstanceProfileName", one: "InstanceProfile"}, func(c *contents) *table[iamtypes.InstanceProfile] { return &c.profiles }),
		listing(shape{file: fileRoles, command: "aws iam get-role, once for each,", list: "Roles", id: "RoleName", one: "Role"}, func(c *contents) *table[iamtypes.Role] { return &c.roles }),
		{name: fileAccessEntries, command: "aws eks describe-access-entry, once for each, --output json", read: readAccessEntries, blank: func(c *contents) { c.entries.empty = true }},
		beyond(perName(fileAccessPolicies, "aws eks list-associated-access-policies", "associatedAccessPolicies", func(c *contents) *table[accessPolicies] { return &c.policies }, func(p *accessPolicies, name string) { p.principal = name })),
		perName(fileAttached, "aws iam list-attached-role-policies", "AttachedPolicies", func(c *contents) *table[attachedPolicies] { return &c.attached }, func(p *attachedPolicies, name string) { p.role = name }),
		beyond(perName(fileInline, "aws iam list-role-policies", "PolicyNames", func(c *contents) *table[inlinePolicies] { return &c.inline }, func(p *inlinePolicies, name string) { p.role = name })),
		beyond(listing(shape{file: fileInlineTexts, command: "aws iam get-role-policy, once for each,", list: "RolePolicies", id: "PolicyName"}, func(c *contents) *table[inlinePolicy] { return &c.inlineTexts })),
		beyond(listing(shape{file: filePolicies, command: "aws iam get-policy, once for each,", list: "Policies", id: "Arn", one: "Policy"}, func(c *contents) *table[iamtypes.Policy] { return &c.managed })),
		beyond(perName(filePolicyTexts, "aws iam get-policy-version", "PolicyVersion", func(c *contents) *table[policyVersion] { return &c.policyTexts }, func(p *policyVersion, arn string) { p.arn = arn })),
		perName(fileVPCAttributes, "aws ec2 describe-vpc-attribute", "EnableDnsSupport", func(c *contents) *table[vpcFlags] { return &c.vpcFlags }, func(f *vpcFlags, name string) { f.vpc = name }),
		beyond(perName(fileAttributes, "aws ec2 describe-instance-attribute --attribute disableApiTermination", "DisableApiTermination", func(c *contents) *table[protection] { return &c.protections }, func(p *protection, name string) { p.instance = name })),
		beyond(spec{name: fileShifts, command: "aws arc-zonal-shift get-managed-resource --resource-identifier ARN --output json", read: readShifts, blank: func(c *contents) { c.shifts.empty = true }}),
		{name: fileLedger, command: "rollcall capture", read: readLedger, blank: func(c *contents) { c.remembered.empty = true }},
	}
}

func beyond(s spec) spec {
	s.beyond = true
	return s
}
