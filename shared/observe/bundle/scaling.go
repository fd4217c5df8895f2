package bundle

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// scalingInstances leaves out instances in no group, as Auto Scaling does.
func (c *contents) scalingInstances(in *autoscaling.DescribeAutoScalingInstancesInput) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	known := tableOf[types.AutoScalingInstanceDetails](c, fileASGInstances)
	all, err := known.rows, known.listing()
	if !known.held {
		if listed := c.membersOfGroups(); holdsAll(listed, in.InstanceIds) {
			all, err = listed, nil
		}
	}
	out := &autoscaling.DescribeAutoScalingInstancesOutput{}
	for _, i := range all {
		if len(in.InstanceIds) == 0 || slices.Contains(in.InstanceIds, aws.ToString(i.InstanceId)) {
			out.AutoScalingInstances = append(out.AutoScalingInstances, i)
		}
	}
	return out, err
}

func (c *contents) scalingActivities(in *autoscaling.DescribeScalingActivitiesInput) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	known := tableOf[types.Activity](c, fileActivities)
	out := &autoscaling.DescribeScalingActivitiesOutput{}
	for _, v := range known.rows {
		if in.AutoScalingGroupName == nil || aws.ToString(v.AutoScalingGroupName) == *in.AutoScalingGroupName {
			out.Activities = append(out.Activities, v)
		}
	}
	slices.SortStableFunc(out.Activities, func(a, b types.Activity) int { // newest first
		return aws.ToTime(b.StartTime).Compare(aws.ToTime(a.StartTime))
	})
	if in.MaxRecords != nil {
		out.Activities = out.Activities[:min(len(out.Activities), int(*in.MaxRecords))]
	}
	return out, known.listing()
}

// membersOfGroups returns the instances that the Auto Scaling groups themselves list.
func (c *contents) membersOfGroups() (out []types.AutoScalingInstanceDetails) {
	for _, g := range tableOf[types.AutoScalingGroup](c, fileASGs).rows {
		for _, i := range g.Instances {
			if i.LifecycleState == "" || i.ProtectedFromScaleIn == nil {
				continue // somebody removed it
			}
			out = append(out, types.AutoScalingInstanceDetails{
				InstanceId: i.InstanceId, InstanceType: i.InstanceType, AutoScalingGroupName: g.AutoScalingGroupName, AvailabilityZone: i.AvailabilityZone,
				LifecycleState: aws.String(string(i.LifecycleState)), HealthStatus: i.HealthStatus, ProtectedFromScaleIn: i.ProtectedFromScaleIn,
				LaunchTemplate: i.LaunchTemplate,
			})
		}
	}
	return out
}

// holdsAll reports whether every requested instance is listed, so that none counts as in no group.
// A request for all instances names no ids.
func holdsAll(listed []types.AutoScalingInstanceDetails, ids []string) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool {
		return !slices.ContainsFunc(listed, func(i types.AutoScalingInstanceDetails) bool { return aws.ToString(i.InstanceId) == id })
	})
}

// scalingGroups leaves out unknown groups, as Auto Scaling does.
func (c *contents) scalingGroups(in *autoscaling.DescribeAutoScalingGroupsInput) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	groups := tableOf[types.AutoScalingGroup](c, fileASGs)
	if err := groups.listing(); err != nil {
		return nil, err
	}
	for _, f := range in.Filters {
		if aws.ToString(f.Name) != "tag-key" {
			return nil, errors.New("a bundle can be filtered for Auto Scaling groups by tag-key alone")
		}
	}
	out := &autoscaling.DescribeAutoScalingGroupsOutput{}
	for _, g := range groups.rows {
		if (len(in.AutoScalingGroupNames) == 0 || slices.Contains(in.AutoScalingGroupNames, aws.ToString(g.AutoScalingGroupName))) && hasKeys(g.Tags, in.Filters) {
			out.AutoScalingGroups = append(out.AutoScalingGroups, g)
		}
	}
	return out, nil
}

// hasKeys reports whether the tags have one of the keys of each filter.
func hasKeys(tags []types.TagDescription, filters []types.Filter) bool {
	return !slices.ContainsFunc(filters, func(f types.Filter) bool {
		return !slices.ContainsFunc(tags, func(t types.TagDescription) bool { return slices.Contains(f.Values, aws.ToString(t.Key)) })
	})
}
