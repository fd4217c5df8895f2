package testbed

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// An InstanceSpec describes an instance for [Bed.RunInstance]. The zero value is a running m5.large without a
// cluster, launched now.
type InstanceSpec struct {
	Name string            // the Name tag
	Tags map[string]string // any other tags
	// Cluster adds the tag kubernetes.io/cluster/<Cluster>=owned.
	Cluster string
	// Group makes the instance a member of the Auto Scaling group of this name, which is created on first use.
	Group string
	// LaunchedAgo moves the launch time into the past. LaunchTime sets it and takes
	// precedence.
	LaunchedAgo time.Duration
	LaunchTime  time.Time
	State       string // EC2 state name; running if empty
	Zone        string // eu-west-1a, b or c; a if empty
	Type        string // m5.large if empty
	ImageID     string // the AMI of nodes if empty: Amazon Linux 2023 for EKS on x86_64
	// UserData is plain text. If it is empty and the instance has a launcher of nodes (an Auto Scaling group, a
	// managed node group or Karpenter), it is that of [Bed.NodeUserData].
	UserData string
	// Profile is the ARN of the instance profile: that of nodes if empty. [NoProfile] means none.
	Profile   string
	Protected bool // termination protection
	// Keeps gives the instance an EBS volume that EC2 does not delete with it.
	Keeps bool
	// KeepsInterface makes EC2 keep its network interface too.
	KeepsInterface bool
	// Managed marks the instance as managed by EKS Auto Mode; see [InstanceChange].
	Managed bool
}

// NoProfile means no instance profile.
const NoProfile = "none"

// RunInstance runs one instance by the EC2 API, in its own reservation, and returns its ID.
func (b *Bed) RunInstance(ctx context.Context, spec InstanceSpec) (string, error) {
	tags := map[string]string{}
	for k, v := range spec.Tags {
		tags[k] = v
	}
	if spec.Name != "" {
		tags["Name"] = spec.Name
	}
	if spec.Cluster != "" {
		tags["kubernetes.io/cluster/"+spec.Cluster] = "owned"
	}
	in, err := b.launch(spec, tags)
	if err != nil {
		return "", err
	}
	if spec.Group != "" {
		// An instance from a launch template has tags that say so. Explicit values take
		// precedence over the template's.
		template, err := b.makeGroup(ctx, spec.Group, nodeCluster(spec, tags))
		if err != nil {
			return "", err
		}
		in.LaunchTemplate = &ec2types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(template), Version: aws.String("1")}
	}
	out, err := b.ec2.RunInstances(ctx, in)
	if err != nil {
		return "", fmt.Errorf("run instance %q: %w", spec.Name, err)
	}
	id := aws.ToString(out.Instances[0].InstanceId)
	if spec.Protected {
		// moto ignores the flag in RunInstances.
		_, err := b.ec2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
			InstanceId:            aws.String(id),
			DisableApiTermination: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)},
		})
		if err != nil {
			return "", fmt.Errorf("protect instance %s: %w", id, err)
		}
	}
	// A group accepts running instances only, so the instance joins it before any other
	// state is set.
	if spec.Group != "" {
		if err := b.joinGroup(ctx, spec.Group, id); err != nil {
			return "", err
		}
	}
	launched := spec.LaunchTime
	if launched.IsZero() {
		launched = time.Now().Add(-spec.LaunchedAgo)
	}
	change := InstanceChange{LaunchTime: &launched}
	if spec.State != "" {
		change.State = &spec.State
	}
	if spec.Managed {
		change.Managed = &spec.Managed
	}
	return id, b.ChangeInstance(ctx, id, change)
}

// KeptVolume returns the ID of the volume that outlives an instance; see [InstanceSpec].
func (b *Bed) KeptVolume(ctx context.Context, instanceID string) (string, error) {
	out, err := b.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{instanceID}})
	if err != nil {
		return "", fmt.Errorf("look at the volumes of %s: %w", instanceID, err)
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			for _, d := range i.BlockDeviceMappings {
				if d.Ebs != nil && !aws.ToBool(d.Ebs.DeleteOnTermination) {
					return aws.ToString(d.Ebs.VolumeId), nil
				}
			}
		}
	}
	return "", fmt.Errorf("%s keeps no volume", instanceID)
}

// DeleteVolume deletes an unattached volume.
func (b *Bed) DeleteVolume(ctx context.Context, id string) error {
	if _, err := b.ec2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: aws.String(id)}); err != nil {
		return fmt.Errorf("delete %s: %w", id, err)
	}
	return nil
}

// launch returns the request to run an instance.
func (b *Bed) launch(spec InstanceSpec, tags map[string]string) (*ec2.RunInstancesInput, error) {
	subnet, ok := b.ground.Subnets[cmp.Or(spec.Zone, Region+"a")]
	if !ok {
		return nil, fmt.Errorf("run instance %q: no subnet in zone %q", spec.Name, spec.Zone)
	}
	in := &ec2.RunInstancesInput{
		ImageId:          aws.String(cmp.Or(spec.ImageID, imageID)),
		InstanceType:     ec2types.InstanceType(cmp.Or(spec.Type, "m5.large")),
		MinCount:         aws.Int32(1),
		MaxCount:         aws.Int32(1),
		SubnetId:         aws.String(subnet),
		SecurityGroupIds: []string{b.ground.SecurityGroup},
		MetadataOptions:  &ec2types.InstanceMetadataOptionsRequest{HttpPutResponseHopLimit: aws.Int32(hopLimit), HttpTokens: ec2types.HttpTokensStateRequired},
	}
	if spec.Profile != NoProfile {
		in.IamInstanceProfile = &ec2types.IamInstanceProfileSpecification{Arn: aws.String(cmp.Or(spec.Profile, b.ground.Profile))}
	}
	if len(tags) > 0 {
		in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: ec2Tags(tags)}}
	}
	if spec.Keeps {
		in.BlockDeviceMappings = []ec2types.BlockDeviceMapping{{
			DeviceName: aws.String("/dev/sdb"), Ebs: &ec2types.EbsBlockDevice{VolumeSize: aws.Int32(100), VolumeType: ec2types.VolumeTypeGp3, DeleteOnTermination: aws.Bool(false)},
		}}
	}
	if spec.KeepsInterface {
		in.NetworkInterfaces = []ec2types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: in.SubnetId, Groups: in.SecurityGroupIds, DeleteOnTermination: aws.Bool(false),
		}}
		in.SubnetId, in.SecurityGroupIds = nil, nil
	}
	userData := spec.UserData
	if cluster := nodeCluster(spec, tags); userData == "" && cluster != "" {
		userData = b.NodeUserData(cluster)
		if tags["karpenter.sh/nodepool"] != "" {
			userData = b.nodeConfig(cluster, karpenterKubelet)
		}
	}
	if userData != "" {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(userData)))
	}
	return in, nil
}

// nodeCluster returns the cluster that an instance is to join as a node; "" if it has no launcher of nodes.
func nodeCluster(spec InstanceSpec, tags map[string]string) string {
	if spec.Group == "" && tags["karpenter.sh/nodepool"] == "" && tags["eks:nodegroup-name"] == "" {
		return ""
	}
	if tags["kubernetes.io/cluster/"+ClusterName] != "" {
		return ClusterName
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if cluster, ok := strings.CutPrefix(key, "kubernetes.io/cluster/"); ok {
			return cluster
		}
	}
	return ""
}

// makeGroup creates an empty Auto Scaling group with its own launch template, unless it exists, and returns the
// template's ID. It reads first, because moto replaces a group of the same name instead of refusing it.
func (b *Bed) makeGroup(ctx context.Context, group, cluster string) (template string, err error) {
	known, err := b.autoscaling.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{group}})
	if err != nil {
		return "", fmt.Errorf("look up Auto Scaling group %s: %w", group, err)
	}
	if len(known.AutoScalingGroups) > 0 {
		return aws.ToString(known.AutoScalingGroups[0].LaunchTemplate.LaunchTemplateId), nil
	}
	if template, err = b.makeTemplate(ctx, group, cluster); err != nil {
		return "", err
	}
	_, err = b.autoscaling.CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(group),
		MinSize:              aws.Int32(0),
		MaxSize:              aws.Int32(5000),
		DesiredCapacity:      aws.Int32(0),
		VPCZoneIdentifier:    aws.String(b.subnetList()),
		LaunchTemplate:       &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: aws.String(template), Version: aws.String("1")},
	})
	if err != nil {
		return "", fmt.Errorf("create Auto Scaling group %s: %w", group, err)
	}
	return template, nil
}

// joinGroup attaches the instance to an Auto Scaling group.
func (b *Bed) joinGroup(ctx context.Context, group, id string) error {
	_, err := b.autoscaling.AttachInstances(ctx, &autoscaling.AttachInstancesInput{
		AutoScalingGroupName: aws.String(group),
		InstanceIds:          []string{id},
	})
	if err != nil {
		return fmt.Errorf("attach instance %s to Auto Scaling group %s: %w", id, group, err)
	}
	return nil
}

// ec2Tags converts a map to EC2 tags, sorted by key.
func ec2Tags(m map[string]string) []ec2types.Tag {
	tags := make([]ec2types.Tag, 0, len(m))
	for k, v := range m {
		tags = append(tags, ec2types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	slices.SortFunc(tags, func(a, b ec2types.Tag) int { return cmp.Compare(*a.Key, *b.Key) })
	return tags
}
