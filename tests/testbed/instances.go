package testbed

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// An InstanceSpec describes an instance for [Bed.RunInstance]. The zero value is a running m5.large of no cluster,
// launched now.
type InstanceSpec struct {
	Name string            // the Name tag
	Tags map[string]string // any other tags
	// Cluster adds the tag kubernetes.io/cluster/<Cluster>=owned.
	Cluster string
	// Group makes the instance a member of the Auto Scaling group of this name, which is created when first named.
	Group string
	// LaunchedAgo moves the launch time into the past; LaunchTime sets it and wins.
	LaunchedAgo time.Duration
	LaunchTime  time.Time
	State       string // EC2 state name; running if empty
	Zone        string // eu-west-1a, b or c; a if empty
	Type        string // m5.large if empty
	ImageID     string // an Amazon Linux image for x86_64 if empty
	UserData    string // plain text
	Protected   bool   // termination protection
	// Managed marks it as run by EKS Auto Mode; see [InstanceChange].
	Managed bool
}

// RunInstance runs one instance by the EC2 API, in a reservation of its own, and returns its id.
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
	subnet, ok := b.subnets[cmp.Or(spec.Zone, Region+"a")]
	if !ok {
		return "", fmt.Errorf("run instance %q: no subnet in zone %q", spec.Name, spec.Zone)
	}
	in := &ec2.RunInstancesInput{
		ImageId:      aws.String(cmp.Or(spec.ImageID, imageID)),
		InstanceType: ec2types.InstanceType(cmp.Or(spec.Type, "m5.large")),
		MinCount:     aws.Int32(1),
		MaxCount:     aws.Int32(1),
		SubnetId:     aws.String(subnet),
	}
	if len(tags) > 0 {
		in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: ec2Tags(tags)}}
	}
	if spec.UserData != "" {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(spec.UserData)))
	}
	out, err := b.ec2.RunInstances(ctx, in)
	if err != nil {
		return "", fmt.Errorf("run instance %q: %w", spec.Name, err)
	}
	id := aws.ToString(out.Instances[0].InstanceId)
	if spec.Protected {
		// moto does not read the flag of RunInstances.
		_, err := b.ec2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
			InstanceId:            aws.String(id),
			DisableApiTermination: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)},
		})
		if err != nil {
			return "", fmt.Errorf("protect instance %s: %w", id, err)
		}
	}
	// A group takes running instances only, so that membership comes before any other state.
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

// joinGroup attaches the instance to an Auto Scaling group, creating an empty group first if there is none. It asks
// first, since moto replaces a group of the same name instead of refusing it.
func (b *Bed) joinGroup(ctx context.Context, group, id string) error {
	known, err := b.autoscaling.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{group}})
	if err != nil {
		return fmt.Errorf("look up Auto Scaling group %s: %w", group, err)
	}
	if len(known.AutoScalingGroups) == 0 {
		_, err := b.autoscaling.CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{
			AutoScalingGroupName: aws.String(group),
			MinSize:              aws.Int32(0),
			MaxSize:              aws.Int32(5000),
			DesiredCapacity:      aws.Int32(0),
			VPCZoneIdentifier:    aws.String(b.subnetList()),
			LaunchTemplate: &asgtypes.LaunchTemplateSpecification{
				LaunchTemplateId: aws.String(b.launchTemplateID),
				Version:          aws.String("$Latest"),
			},
		})
		if err != nil {
			return fmt.Errorf("create Auto Scaling group %s: %w", group, err)
		}
	}
	_, err = b.autoscaling.AttachInstances(ctx, &autoscaling.AttachInstancesInput{
		AutoScalingGroupName: aws.String(group),
		InstanceIds:          []string{id},
	})
	if err != nil {
		return fmt.Errorf("attach instance %s to Auto Scaling group %s: %w", id, group, err)
	}
	return nil
}

// ec2Tags turns a map into EC2 tags in the order of their keys.
func ec2Tags(m map[string]string) []ec2types.Tag {
	tags := make([]ec2types.Tag, 0, len(m))
	for k, v := range m {
		tags = append(tags, ec2types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	slices.SortFunc(tags, func(a, b ec2types.Tag) int { return cmp.Compare(*a.Key, *b.Key) })
	return tags
}
