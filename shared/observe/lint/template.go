package lint

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/roll"
)

// fromTemplate returns an instance of a launch template version for each subnet in which its owner
// launches.
func (p *site) fromTemplate(ctx context.Context, v *types.LaunchTemplateVersion, from ...*Source) []*launch {
	d := v.LaunchTemplateData
	if d == nil {
		d = &types.ResponseLaunchTemplateData{}
	}
	p.readGroups(ctx)
	asg, group := p.ownerOf(aws.ToString(v.LaunchTemplateId), aws.ToString(v.LaunchTemplateName))
	base := launch{from: from, name: fmt.Sprintf("launch template %s:%d", aws.ToString(v.LaunchTemplateId), aws.ToInt64(v.VersionNumber))}
	i := &base.instance
	i.InstanceType = d.InstanceType
	i.Tags = []types.Tag{tag("aws:ec2launchtemplate:id", aws.ToString(v.LaunchTemplateId)), tag("aws:ec2launchtemplate:version", fmt.Sprint(aws.ToInt64(v.VersionNumber)))}
	for _, s := range d.TagSpecifications {
		if s.ResourceType == types.ResourceTypeInstance {
			i.Tags = append(i.Tags, s.Tags...)
		}
	}
	if m := d.MetadataOptions; m != nil {
		i.MetadataOptions = &types.InstanceMetadataOptionsResponse{HttpEndpoint: types.InstanceMetadataEndpointState(m.HttpEndpoint), HttpPutResponseHopLimit: m.HttpPutResponseHopLimit}
	}
	imaged(i, p.image(ctx, aws.ToString(d.ImageId)))
	p.standIn(i, parameterFamily(aws.ToString(d.ImageId)))
	if data, err := base64.StdEncoding.DecodeString(aws.ToString(d.UserData)); err == nil {
		base.userData = string(data)
	} else {
		base.unknown = true
	}
	subnets, groups, public := base.interfaces(d, p.subnets)
	if profile := d.IamInstanceProfile; profile != nil {
		base.profile(aws.ToString(profile.Arn), p.arn("instance-profile/"+aws.ToString(profile.Name)))
	}
	if asg != nil {
		i.Tags = append(i.Tags, tag("aws:autoscaling:groupName", aws.ToString(asg.AutoScalingGroupName)))
		for _, t := range asg.Tags {
			if aws.ToBool(t.PropagateAtLaunch) {
				i.Tags = append(i.Tags, types.Tag{Key: t.Key, Value: t.Value})
			}
		}
		if len(subnets) == 0 && aws.ToString(asg.VPCZoneIdentifier) != "" {
			subnets = strings.Split(*asg.VPCZoneIdentifier, ",")
		}
	}
	if group != nil {
		subnets, groups = p.ofNodeGroup(&base, group, subnets, groups)
	}
	if d.ImageId == nil && !base.unknown {
		p.addEKS(&base, group)
	}
	if i.IamInstanceProfile == nil && (group != nil || d.ImageId == nil) { // EKS makes one
		base.ownProfile = true
		base.profile(p.arn("instance-profile/eks-of-" + roll.LastPart(base.role)))
	}
	i.SecurityGroups = grouped(groups)
	return base.into(p.in(ctx, subnets), public)
}

// interfaces returns the subnets and the security groups of a template's instances, and whether they
// have a public address, nil if that depends on the subnet.
func (l *launch) interfaces(d *types.ResponseLaunchTemplateData, otherwise []string) (subnets, groups []string, public *bool) {
	for _, n := range d.NetworkInterfaces {
		if aws.ToInt32(n.DeviceIndex) != 0 {
			continue
		}
		if len(n.Ipv6Addresses) > 0 || aws.ToInt32(n.Ipv6AddressCount) > 0 {
			l.instance.Ipv6Address = aws.String(ipv6Address)
		}
		if n.SubnetId != nil {
			otherwise = []string{*n.SubnetId}
		}
		return otherwise, slices.Concat(d.SecurityGroupIds, n.Groups), n.AssociatePublicIpAddress
	}
	return otherwise, d.SecurityGroupIds, nil
}

// ofNodeGroup adds what EKS adds to the instances of a managed node group. It returns the subnets
// and the security groups.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
func (p *site) ofNodeGroup(l *launch, g *ekstypes.Nodegroup, subnets, groups []string) (in, behind []string) {
	l.instance.Tags = append(l.instance.Tags, tag("eks:nodegroup-name", aws.ToString(g.NodegroupName)))
	if g.Resources != nil && len(g.Resources.AutoScalingGroups) > 0 {
		l.instance.Tags = append(l.instance.Tags, tag("aws:autoscaling:groupName", aws.ToString(g.Resources.AutoScalingGroups[0].Name)))
	}
	l.role = aws.ToString(g.NodeRole)
	if len(subnets) == 0 {
		subnets = g.Subnets
	}
	if c := p.cluster; len(groups) == 0 && c != nil && c.ResourcesVpcConfig != nil {
		if own := aws.ToString(c.ResourcesVpcConfig.ClusterSecurityGroupId); own != "" {
			groups = []string{own}
		}
	}
	return subnets, groups
}

// addEKS merges EKS's part into the user data of a template without an AMI, which only a managed
// node group launches.
func (p *site) addEKS(l *launch, g *ekstypes.Nodegroup) {
	amiType := ""
	if g != nil {
		amiType = string(g.AmiType)
	}
	family := familyOf(amiType, l.userData)
	l.merge(family, p.cluster, "")
	p.standIn(&l.instance, family)
}

// profile sets the instance profile: the first ARN that is not empty.
func (l *launch) profile(arns ...string) {
	if arn := cmp.Or(arns...); arn != "" {
		l.instance.IamInstanceProfile = &types.IamInstanceProfile{Arn: &arn}
	}
}

// into returns the launch in each of the subnets. public reports whether it gets a public address;
// nil leaves that to the subnet.
func (l *launch) into(subnets []types.Subnet, public *bool) []*launch {
	var all []*launch
	for _, s := range subnets {
		one := *l
		if public != nil {
			s.MapPublicIpOnLaunch = public
		}
		placed(&one.instance, s)
		all = append(all, &one)
	}
	return all
}

func (p *site) arn(resource string) string {
	var id roll.ClusterID
	if p.cluster != nil {
		id, _ = roll.ParseClusterARN(aws.ToString(p.cluster.Arn))
	}
	return "arn:" + roll.Partition(id.Region) + ":iam::" + id.Account + ":" + resource
}
