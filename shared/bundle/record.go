package bundle

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"rollcall/shared/awserr"
	"rollcall/shared/collect"
)

// RecordedEC2 asks another EC2 client and remembers.
type RecordedEC2 struct {
	r    *Recorder
	next collect.EC2API
}

// EC2 remembers what the client answers.
func (r *Recorder) EC2(next collect.EC2API) *RecordedEC2 { return &RecordedEC2{r, next} }

// DescribeInstances asks the client.
func (e *RecordedEC2) DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, opts ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	out, err := e.next.DescribeInstances(ctx, in, opts...)
	return keep(e.r, fileInstances, true, out, err, func(c *contents, out *ec2.DescribeInstancesOutput) {
		c.instances.put()
		for _, r := range out.Reservations {
			all := r.Instances
			r.Instances = nil
			for _, i := range all {
				c.instances.put(instance{Instance: i, reservation: r})
			}
		}
	})
}

// DescribeInstanceStatus asks the client.
func (e *RecordedEC2) DescribeInstanceStatus(ctx context.Context, in *ec2.DescribeInstanceStatusInput, opts ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error) {
	out, err := e.next.DescribeInstanceStatus(ctx, in, opts...)
	return keep(e.r, fileStatuses, len(in.Filters) > 0, out, err, func(c *contents, out *ec2.DescribeInstanceStatusOutput) {
		for _, s := range out.InstanceStatuses { // a listing of the region has other clusters' too
			if len(in.InstanceIds) > 0 || c.instances.has(aws.ToString(s.InstanceId)) {
				c.statuses.put(s)
			}
		}
	})
}

// DescribeVolumes asks the client, and remembers nothing: a bundle holds no memory of
// instances that ended.
func (e *RecordedEC2) DescribeVolumes(ctx context.Context, in *ec2.DescribeVolumesInput, opts ...func(*ec2.Options)) (*ec2.DescribeVolumesOutput, error) {
	return e.next.DescribeVolumes(ctx, in, opts...)
}

// DescribeNetworkInterfaces asks the client, and remembers nothing either.
func (e *RecordedEC2) DescribeNetworkInterfaces(ctx context.Context, in *ec2.DescribeNetworkInterfacesInput, opts ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error) {
	return e.next.DescribeNetworkInterfaces(ctx, in, opts...)
}

// DescribeInstanceAttribute asks the client.
func (e *RecordedEC2) DescribeInstanceAttribute(ctx context.Context, in *ec2.DescribeInstanceAttributeInput, opts ...func(*ec2.Options)) (*ec2.DescribeInstanceAttributeOutput, error) {
	out, err := e.next.DescribeInstanceAttribute(ctx, in, opts...)
	id := aws.ToString(in.InstanceId)
	if in.Attribute == types.InstanceAttributeNameDisableApiTermination {
		return keep(e.r, fileAttributes, false, out, err, func(c *contents, out *ec2.DescribeInstanceAttributeOutput) {
			c.protections.put(protection{instance: id, DisableApiTermination: out.DisableApiTermination})
		})
	}
	return keep(e.r, folderUserData, false, out, err, func(c *contents, out *ec2.DescribeInstanceAttributeOutput) {
		if in.Attribute != types.InstanceAttributeNameUserData {
			return
		}
		var said *string
		if out.UserData != nil {
			said = out.UserData.Value
		}
		putDocument(&c.userData, id, said)
	})
}

// putDocument keeps a text that the API gives in base64; nil is an empty one. What is no
// base64 is not kept: it could not be searched for secrets.
func putDocument(t *table[document], id string, said *string) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(aws.ToString(said)), ""))
	if err == nil {
		t.put(document{id, data})
	}
}

// GetConsoleOutput asks the client.
func (e *RecordedEC2) GetConsoleOutput(ctx context.Context, in *ec2.GetConsoleOutputInput, opts ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error) {
	out, err := e.next.GetConsoleOutput(ctx, in, opts...)
	return keep(e.r, folderConsole, false, out, err, func(c *contents, out *ec2.GetConsoleOutputOutput) {
		putDocument(&c.consoles, aws.ToString(in.InstanceId), out.Output)
	})
}

// DescribeImages asks the client.
func (e *RecordedEC2) DescribeImages(ctx context.Context, in *ec2.DescribeImagesInput, opts ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error) {
	out, err := e.next.DescribeImages(ctx, in, opts...)
	return keep(e.r, fileImages, len(in.ImageIds) == 0, out, err, func(c *contents, out *ec2.DescribeImagesOutput) { c.images.put(out.Images...) })
}

// DescribeLaunchTemplateVersions asks the client.
func (e *RecordedEC2) DescribeLaunchTemplateVersions(ctx context.Context, in *ec2.DescribeLaunchTemplateVersionsInput, opts ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	out, err := e.next.DescribeLaunchTemplateVersions(ctx, in, opts...)
	return keep(e.r, fileTemplates, len(in.Versions) == 0, out, err, func(c *contents, out *ec2.DescribeLaunchTemplateVersionsOutput) {
		c.templates.put(out.LaunchTemplateVersions...)
	})
}

// DescribeSubnets asks the client.
func (e *RecordedEC2) DescribeSubnets(ctx context.Context, in *ec2.DescribeSubnetsInput, opts ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	out, err := e.next.DescribeSubnets(ctx, in, opts...)
	return keep(e.r, fileSubnets, len(in.SubnetIds) == 0, out, err, func(c *contents, out *ec2.DescribeSubnetsOutput) { c.subnets.put(out.Subnets...) })
}

// DescribeRouteTables asks the client.
func (e *RecordedEC2) DescribeRouteTables(ctx context.Context, in *ec2.DescribeRouteTablesInput, opts ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error) {
	out, err := e.next.DescribeRouteTables(ctx, in, opts...)
	return keep(e.r, fileRouteTables, len(in.RouteTableIds) == 0, out, err, func(c *contents, out *ec2.DescribeRouteTablesOutput) {
		c.routeTables.put(out.RouteTables...)
	})
}

// DescribeNetworkAcls asks the client.
func (e *RecordedEC2) DescribeNetworkAcls(ctx context.Context, in *ec2.DescribeNetworkAclsInput, opts ...func(*ec2.Options)) (*ec2.DescribeNetworkAclsOutput, error) {
	out, err := e.next.DescribeNetworkAcls(ctx, in, opts...)
	return keep(e.r, fileNetworkACLs, len(in.NetworkAclIds) == 0, out, err, func(c *contents, out *ec2.DescribeNetworkAclsOutput) { c.acls.put(out.NetworkAcls...) })
}

// DescribeSecurityGroups asks the client.
func (e *RecordedEC2) DescribeSecurityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput, opts ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	out, err := e.next.DescribeSecurityGroups(ctx, in, opts...)
	return keep(e.r, fileSecurityGroups, len(in.GroupIds) == 0, out, err, func(c *contents, out *ec2.DescribeSecurityGroupsOutput) {
		c.groups.put(out.SecurityGroups...)
	})
}

// DescribeNatGateways asks the client.
func (e *RecordedEC2) DescribeNatGateways(ctx context.Context, in *ec2.DescribeNatGatewaysInput, opts ...func(*ec2.Options)) (*ec2.DescribeNatGatewaysOutput, error) {
	out, err := e.next.DescribeNatGateways(ctx, in, opts...)
	return keep(e.r, fileNATGateways, len(in.NatGatewayIds) == 0, out, err, func(c *contents, out *ec2.DescribeNatGatewaysOutput) { c.gateways.put(out.NatGateways...) })
}

// DescribeVpcEndpoints asks the client.
func (e *RecordedEC2) DescribeVpcEndpoints(ctx context.Context, in *ec2.DescribeVpcEndpointsInput, opts ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error) {
	out, err := e.next.DescribeVpcEndpoints(ctx, in, opts...)
	return keep(e.r, fileVPCEndpoints, len(in.VpcEndpointIds) == 0, out, err, func(c *contents, out *ec2.DescribeVpcEndpointsOutput) {
		c.endpoints.put(out.VpcEndpoints...)
	})
}

// DescribeVpcs asks the client.
func (e *RecordedEC2) DescribeVpcs(ctx context.Context, in *ec2.DescribeVpcsInput, opts ...func(*ec2.Options)) (*ec2.DescribeVpcsOutput, error) {
	out, err := e.next.DescribeVpcs(ctx, in, opts...)
	return keep(e.r, fileVPCs, len(in.VpcIds) == 0, out, err, func(c *contents, out *ec2.DescribeVpcsOutput) { c.vpcs.put(out.Vpcs...) })
}

// DescribeVpcAttribute asks the client.
func (e *RecordedEC2) DescribeVpcAttribute(ctx context.Context, in *ec2.DescribeVpcAttributeInput, opts ...func(*ec2.Options)) (*ec2.DescribeVpcAttributeOutput, error) {
	out, err := e.next.DescribeVpcAttribute(ctx, in, opts...)
	return keep(e.r, fileVPCAttributes, false, out, err, func(c *contents, out *ec2.DescribeVpcAttributeOutput) {
		f := vpcFlags{vpc: aws.ToString(in.VpcId)}
		if at, ok := c.vpcFlags.at[f.vpc]; ok { // the other attribute was read before
			f = c.vpcFlags.rows[at]
		}
		if out.EnableDnsSupport != nil {
			f.EnableDnsSupport = out.EnableDnsSupport
		}
		if out.EnableDnsHostnames != nil {
			f.EnableDnsHostnames = out.EnableDnsHostnames
		}
		c.vpcFlags.put(f)
	})
}

// DescribeDhcpOptions asks the client.
func (e *RecordedEC2) DescribeDhcpOptions(ctx context.Context, in *ec2.DescribeDhcpOptionsInput, opts ...func(*ec2.Options)) (*ec2.DescribeDhcpOptionsOutput, error) {
	out, err := e.next.DescribeDhcpOptions(ctx, in, opts...)
	return keep(e.r, fileDHCPOptions, len(in.DhcpOptionsIds) == 0, out, err, func(c *contents, out *ec2.DescribeDhcpOptionsOutput) { c.dhcp.put(out.DhcpOptions...) })
}

// EKSAPI is as much of EKS as is recorded: what is asked for evidence, and the listing
// that an observer begins with.
type EKSAPI interface {
	collect.EKSAPI
	ListClusters(context.Context, *eks.ListClustersInput, ...func(*eks.Options)) (*eks.ListClustersOutput, error)
	ListNodegroups(context.Context, *eks.ListNodegroupsInput, ...func(*eks.Options)) (*eks.ListNodegroupsOutput, error)
}

// RecordedEKS asks another EKS client and remembers.
type RecordedEKS struct {
	r    *Recorder
	next EKSAPI
}

// EKS remembers what the client answers about the one cluster that is captured.
func (r *Recorder) EKS(next EKSAPI) *RecordedEKS { return &RecordedEKS{r, next} }

// ListClusters asks the client and remembers nothing: a bundle is about one cluster.
func (e *RecordedEKS) ListClusters(ctx context.Context, in *eks.ListClustersInput, opts ...func(*eks.Options)) (*eks.ListClustersOutput, error) {
	return e.next.ListClusters(ctx, in, opts...)
}

// DescribeCluster asks the client.
func (e *RecordedEKS) DescribeCluster(ctx context.Context, in *eks.DescribeClusterInput, opts ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	out, err := e.next.DescribeCluster(ctx, in, opts...)
	return keep(e.r, fileCluster, false, out, err, func(c *contents, out *eks.DescribeClusterOutput) {
		if out.Cluster != nil {
			c.cluster.put(*out.Cluster)
		}
	})
}

// ListNodegroups asks the client. A bundle keeps no names alone, but knows by the listing that
// there are no others than those described.
func (e *RecordedEKS) ListNodegroups(ctx context.Context, in *eks.ListNodegroupsInput, opts ...func(*eks.Options)) (*eks.ListNodegroupsOutput, error) {
	out, err := e.next.ListNodegroups(ctx, in, opts...)
	return keep(e.r, fileNodeGroups, in.NextToken != nil, out, err, func(c *contents, _ *eks.ListNodegroupsOutput) { c.nodeGroups.held = true })
}

// DescribeNodegroup asks the client.
func (e *RecordedEKS) DescribeNodegroup(ctx context.Context, in *eks.DescribeNodegroupInput, opts ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error) {
	out, err := e.next.DescribeNodegroup(ctx, in, opts...)
	if awserr.IsNotFound(err) {
		e.r.mu.Lock()
		e.r.c.nodeGroups.held = true
		e.r.mu.Unlock()
	}
	return keep(e.r, fileNodeGroups, true, out, err, func(c *contents, out *eks.DescribeNodegroupOutput) {
		if out.Nodegroup != nil {
			c.nodeGroups.put(*out.Nodegroup)
		}
	})
}

// ListAccessEntries asks the client.
func (e *RecordedEKS) ListAccessEntries(ctx context.Context, in *eks.ListAccessEntriesInput, opts ...func(*eks.Options)) (*eks.ListAccessEntriesOutput, error) {
	out, err := e.next.ListAccessEntries(ctx, in, opts...)
	return keep(e.r, fileAccessEntries, true, out, err, func(c *contents, out *eks.ListAccessEntriesOutput) {
		for i := range out.AccessEntries {
			if _, known := c.entries.at[out.AccessEntries[i]]; !known {
				c.entries.put(accessEntry{AccessEntry: ekstypes.AccessEntry{PrincipalArn: &out.AccessEntries[i]}, listed: true})
			}
		}
		e.r.entries = e.r.entries || aws.ToString(out.NextToken) == ""
	})
}

// DescribeAccessEntry asks the client.
func (e *RecordedEKS) DescribeAccessEntry(ctx context.Context, in *eks.DescribeAccessEntryInput, opts ...func(*eks.Options)) (*eks.DescribeAccessEntryOutput, error) {
	out, err := e.next.DescribeAccessEntry(ctx, in, opts...)
	return keep(e.r, fileAccessEntries, false, out, err, func(c *contents, out *eks.DescribeAccessEntryOutput) {
		if out.AccessEntry != nil {
			c.entries.put(accessEntry{AccessEntry: *out.AccessEntry})
		}
	})
}

// ListAssociatedAccessPolicies asks the client.
func (e *RecordedEKS) ListAssociatedAccessPolicies(ctx context.Context, in *eks.ListAssociatedAccessPoliciesInput, opts ...func(*eks.Options)) (*eks.ListAssociatedAccessPoliciesOutput, error) {
	out, err := e.next.ListAssociatedAccessPolicies(ctx, in, opts...)
	return keep(e.r, fileAccessPolicies, in.NextToken != nil, out, err, func(c *contents, out *eks.ListAssociatedAccessPoliciesOutput) {
		p := accessPolicies{principal: aws.ToString(in.PrincipalArn)}
		if at, ok := c.policies.at[p.principal]; ok && in.NextToken != nil {
			p = c.policies.rows[at]
		}
		p.AssociatedAccessPolicies = append(p.AssociatedAccessPolicies, out.AssociatedAccessPolicies...)
		c.policies.put(p)
	})
}

// RecordedAutoScaling asks another Auto Scaling client and remembers.
type RecordedAutoScaling struct {
	r    *Recorder
	next collect.AutoScalingAPI
}

// AutoScaling remembers what the client answers.
func (r *Recorder) AutoScaling(next collect.AutoScalingAPI) *RecordedAutoScaling {
	return &RecordedAutoScaling{r, next}
}

// DescribeAutoScalingInstances asks the client.
func (a *RecordedAutoScaling) DescribeAutoScalingInstances(ctx context.Context, in *autoscaling.DescribeAutoScalingInstancesInput, opts ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	out, err := a.next.DescribeAutoScalingInstances(ctx, in, opts...)
	return keep(a.r, fileASGInstances, true, out, err, func(c *contents, out *autoscaling.DescribeAutoScalingInstancesOutput) {
		c.asgInstances.put(out.AutoScalingInstances...)
	})
}

// DescribeAutoScalingGroups asks the client.
func (a *RecordedAutoScaling) DescribeAutoScalingGroups(ctx context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, opts ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	out, err := a.next.DescribeAutoScalingGroups(ctx, in, opts...)
	return keep(a.r, fileASGs, true, out, err, func(c *contents, out *autoscaling.DescribeAutoScalingGroupsOutput) {
		c.asgs.put(out.AutoScalingGroups...)
	})
}

// DescribeScalingActivities asks the client.
func (a *RecordedAutoScaling) DescribeScalingActivities(ctx context.Context, in *autoscaling.DescribeScalingActivitiesInput, opts ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	out, err := a.next.DescribeScalingActivities(ctx, in, opts...)
	return keep(a.r, fileActivities, true, out, err, func(c *contents, out *autoscaling.DescribeScalingActivitiesOutput) {
		c.activities.put(out.Activities...)
	})
}

// RecordedIAM asks another IAM client and remembers.
type RecordedIAM struct {
	r    *Recorder
	next collect.IAMAPI
}

// IAM remembers what the client answers.
func (r *Recorder) IAM(next collect.IAMAPI) *RecordedIAM { return &RecordedIAM{r, next} }

// GetInstanceProfile asks the client.
func (i *RecordedIAM) GetInstanceProfile(ctx context.Context, in *iam.GetInstanceProfileInput, opts ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error) {
	out, err := i.next.GetInstanceProfile(ctx, in, opts...)
	return keep(i.r, fileProfiles, false, out, err, func(c *contents, out *iam.GetInstanceProfileOutput) {
		if out.InstanceProfile != nil {
			c.profiles.put(*out.InstanceProfile)
		}
	})
}

// GetRole asks the client.
func (i *RecordedIAM) GetRole(ctx context.Context, in *iam.GetRoleInput, opts ...func(*iam.Options)) (*iam.GetRoleOutput, error) {
	out, err := i.next.GetRole(ctx, in, opts...)
	return keep(i.r, fileRoles, false, out, err, func(c *contents, out *iam.GetRoleOutput) {
		if out.Role != nil {
			c.roles.put(*out.Role)
		}
	})
}

// ListAttachedRolePolicies asks the client.
func (i *RecordedIAM) ListAttachedRolePolicies(ctx context.Context, in *iam.ListAttachedRolePoliciesInput, opts ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error) {
	out, err := i.next.ListAttachedRolePolicies(ctx, in, opts...)
	return keep(i.r, fileAttached, in.Marker != nil, out, err, func(c *contents, out *iam.ListAttachedRolePoliciesOutput) {
		p := attachedPolicies{role: aws.ToString(in.RoleName)}
		if at, ok := c.attached.at[p.role]; ok && in.Marker != nil {
			p = c.attached.rows[at]
		}
		p.AttachedPolicies = append(p.AttachedPolicies, out.AttachedPolicies...)
		c.attached.put(p)
	})
}

// ListRolePolicies asks the client.
func (i *RecordedIAM) ListRolePolicies(ctx context.Context, in *iam.ListRolePoliciesInput, opts ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error) {
	out, err := i.next.ListRolePolicies(ctx, in, opts...)
	return keep(i.r, fileInline, in.Marker != nil, out, err, func(c *contents, out *iam.ListRolePoliciesOutput) {
		p := inlinePolicies{role: aws.ToString(in.RoleName)}
		if at, ok := c.inline.at[p.role]; ok && in.Marker != nil {
			p = c.inline.rows[at]
		}
		p.PolicyNames = append(p.PolicyNames, out.PolicyNames...)
		c.inline.put(p)
	})
}

// GetRolePolicy asks the client.
func (i *RecordedIAM) GetRolePolicy(ctx context.Context, in *iam.GetRolePolicyInput, opts ...func(*iam.Options)) (*iam.GetRolePolicyOutput, error) {
	out, err := i.next.GetRolePolicy(ctx, in, opts...)
	return keep(i.r, fileInlineTexts, false, out, err, func(c *contents, out *iam.GetRolePolicyOutput) {
		c.inlineTexts.put(inlinePolicy{in.RoleName, in.PolicyName, out.PolicyDocument})
	})
}

// GetPolicy asks the client.
func (i *RecordedIAM) GetPolicy(ctx context.Context, in *iam.GetPolicyInput, opts ...func(*iam.Options)) (*iam.GetPolicyOutput, error) {
	out, err := i.next.GetPolicy(ctx, in, opts...)
	return keep(i.r, filePolicies, false, out, err, func(c *contents, out *iam.GetPolicyOutput) {
		if out.Policy != nil {
			c.managed.put(*out.Policy)
		}
	})
}

// GetPolicyVersion asks the client.
func (i *RecordedIAM) GetPolicyVersion(ctx context.Context, in *iam.GetPolicyVersionInput, opts ...func(*iam.Options)) (*iam.GetPolicyVersionOutput, error) {
	out, err := i.next.GetPolicyVersion(ctx, in, opts...)
	return keep(i.r, filePolicyTexts, false, out, err, func(c *contents, out *iam.GetPolicyVersionOutput) {
		c.policyTexts.put(policyVersion{aws.ToString(in.PolicyArn), out.PolicyVersion})
	})
}

type zonalShiftAPI interface {
	GetManagedResource(context.Context, *arczonalshift.GetManagedResourceInput, ...func(*arczonalshift.Options)) (*arczonalshift.GetManagedResourceOutput, error)
}

// RecordedZonalShift asks another client of ARC and remembers.
type RecordedZonalShift struct {
	r    *Recorder
	next zonalShiftAPI
}

// ZonalShift remembers what the client answers.
func (r *Recorder) ZonalShift(next zonalShiftAPI) *RecordedZonalShift {
	return &RecordedZonalShift{r, next}
}

// GetManagedResource asks the client.
func (z *RecordedZonalShift) GetManagedResource(ctx context.Context, in *arczonalshift.GetManagedResourceInput, opts ...func(*arczonalshift.Options)) (*arczonalshift.GetManagedResourceOutput, error) {
	out, err := z.next.GetManagedResource(ctx, in, opts...)
	return keep(z.r, fileShifts, false, out, err, func(c *contents, out *arczonalshift.GetManagedResourceOutput) { c.shifts.put(*out) })
}
