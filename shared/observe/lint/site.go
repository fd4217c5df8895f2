package lint

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

// site is the account or the bundle in which instances would be launched.
type site struct {
	ec2         *ec2.Client
	eks         *eks.Client
	autoScaling *autoscaling.Client
	cluster     *ekstypes.Cluster // nil if unknown
	subnets     []string          // in which a person wants to launch
	groupsRead  bool              // the following were read
	groups      []asgtypes.AutoScalingGroup
	nodeGroups  []*ekstypes.Nodegroup
	images      map[string]types.Image // stand-ins for AMIs, by id
}

func newSite(ctx context.Context, cfg aws.Config, cluster string, subnets []string) *site {
	p := &site{ec2: ec2.NewFromConfig(cfg), eks: eks.NewFromConfig(cfg), autoScaling: autoscaling.NewFromConfig(cfg), subnets: subnets, images: map[string]types.Image{}}
	if cluster == "" {
		return p
	}
	if out, err := p.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &cluster}); err == nil {
		p.cluster = out.Cluster
	}
	return p
}

// readGroups reads the groups that use launch templates, once.
func (p *site) readGroups(ctx context.Context) {
	if p.groupsRead {
		return
	}
	p.groupsRead = true
	_ = project.EachPage(ctx, p.autoScaling.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}, func(out *autoscaling.DescribeAutoScalingGroupsOutput) {
		p.groups = append(p.groups, out.AutoScalingGroups...)
	})
	if p.cluster == nil {
		return
	}
	var names []string
	_ = project.EachPage(ctx, p.eks.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: p.cluster.Name}, func(out *eks.ListNodegroupsOutput) {
		names = append(names, out.Nodegroups...)
	})
	for _, name := range names {
		if out, err := p.eks.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: p.cluster.Name, NodegroupName: &name}); err == nil && out.Nodegroup != nil {
			p.nodeGroups = append(p.nodeGroups, out.Nodegroup)
		}
	}
}

// ownerOf returns the Auto Scaling group and the node group that launch from a template, nil if none
// is known.
func (p *site) ownerOf(template, name string) (*asgtypes.AutoScalingGroup, *ekstypes.Nodegroup) {
	for _, g := range p.nodeGroups {
		if t := g.LaunchTemplate; t != nil && (aws.ToString(t.Id) == template || name != "" && aws.ToString(t.Name) == name) {
			return nil, g
		}
	}
	for i := range p.groups {
		g := &p.groups[i]
		t := g.LaunchTemplate
		if m := g.MixedInstancesPolicy; m != nil && m.LaunchTemplate != nil {
			t = m.LaunchTemplate.LaunchTemplateSpecification
		}
		if t == nil || aws.ToString(t.LaunchTemplateId) != template && (name == "" || aws.ToString(t.LaunchTemplateName) != name) {
			continue
		}
		at := slices.IndexFunc(p.nodeGroups, func(n *ekstypes.Nodegroup) bool { return scales(n, aws.ToString(g.AutoScalingGroupName)) })
		if at >= 0 {
			return g, p.nodeGroups[at]
		}
		return g, nil
	}
	return nil, nil
}

func scales(n *ekstypes.Nodegroup, asg string) bool {
	return n.Resources != nil && slices.ContainsFunc(n.Resources.AutoScalingGroups, func(g ekstypes.AutoScalingGroup) bool { return aws.ToString(g.Name) == asg })
}

// in returns the subnets as EC2 describes them. A subnet that cannot be read has only its id; without
// ids the only subnet is empty.
func (p *site) in(ctx context.Context, ids []string) []types.Subnet {
	if len(ids) == 0 {
		return []types.Subnet{{}}
	}
	var all []types.Subnet
	for _, id := range ids {
		out, err := p.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{id}})
		if err != nil || len(out.Subnets) == 0 {
			all = append(all, types.Subnet{SubnetId: &id})
			continue
		}
		all = append(all, out.Subnets[0])
	}
	return all
}

// image returns an AMI as EC2 describes it, with no more than the id if it cannot be read, and without
// one if the id is none.
func (p *site) image(ctx context.Context, id string) types.Image {
	if !strings.HasPrefix(id, "ami-") {
		return types.Image{}
	}
	out, err := p.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{id}})
	if err != nil || len(out.Images) == 0 {
		return types.Image{ImageId: &id}
	}
	return out.Images[0]
}

// standIn gives an instance whose AMI is not known one of EKS's AMIs of the family, "" for none: of
// the cluster's version, and of a release that is not known.
func (p *site) standIn(i *types.Instance, family string) {
	names := map[string]string{
		familyAL2: "amazon-eks-node-%s-v99999999", familyAL2023: "amazon-eks-node-al2023-x86_64-standard-%s-v99999999", familyBottlerocket: "bottlerocket-aws-k8s-%s-x86_64-v99.0.0",
	}
	if i.ImageId != nil || names[family] == "" {
		return
	}
	version := "1.0"
	if p.cluster != nil {
		version = aws.ToString(p.cluster.Version)
	}
	id := standInPrefix + strings.ToLower(family)
	p.images[id] = types.Image{ImageId: &id, Name: aws.String(fmt.Sprintf(names[family], version)), ImageOwnerAlias: aws.String("amazon"), Architecture: i.Architecture}
	i.ImageId = &id
}

// standInPrefix begins the ids of stand-ins for AMIs.
const standInPrefix = "ami-of-eks-for-"

// host returns an address of the subnet beyond those that AWS reserves, "" if the subnet has none.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
func host(s types.Subnet) string {
	prefix, err := netip.ParsePrefix(aws.ToString(s.CidrBlock))
	if err != nil {
		return ""
	}
	address := prefix.Masked().Addr()
	for range 10 {
		address = address.Next()
	}
	return address.String()
}

func placed(i *types.Instance, s types.Subnet) {
	i.SubnetId, i.VpcId = s.SubnetId, s.VpcId
	if a := host(s); a != "" {
		i.PrivateIpAddress = &a
	}
	i.Placement = &types.Placement{AvailabilityZone: s.AvailabilityZone, AvailabilityZoneId: s.AvailabilityZoneId}
	if aws.ToBool(s.MapPublicIpOnLaunch) {
		i.PublicIpAddress = aws.String(publicAddress)
	}
	if aws.ToBool(s.AssignIpv6AddressOnCreation) {
		i.Ipv6Address = aws.String(ipv6Address)
	}
}

func imaged(i *types.Instance, image types.Image) {
	i.ImageId, i.Architecture = image.ImageId, image.Architecture
	if image.Platform != "" {
		i.Platform = image.Platform
	}
}

func grouped(ids []string) []types.GroupIdentifier {
	return roll.Map(ids, func(id string) types.GroupIdentifier { return types.GroupIdentifier{GroupId: &id} })
}

func tag(key, value string) types.Tag { return types.Tag{Key: &key, Value: &value} }
