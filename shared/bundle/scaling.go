package bundle

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// AutoScaling answers as the SDK's Auto Scaling client does, all on one page.
type AutoScaling struct {
	c *contents
}

// AutoScaling is the bundle's answers of Auto Scaling.
func (b *Bundle) AutoScaling() *AutoScaling { return &AutoScaling{b.c} }

// DescribeAutoScalingInstances answers from auto-scaling-instances.json. Like Auto
// Scaling it leaves out what is in no group.
func (a *AutoScaling) DescribeAutoScalingInstances(_ context.Context, in *autoscaling.DescribeAutoScalingInstancesInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	if err := a.c.asgInstances.listing(); err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeAutoScalingInstancesOutput{}
	for _, i := range a.c.asgInstances.rows {
		if len(in.InstanceIds) == 0 || slices.Contains(in.InstanceIds, aws.ToString(i.InstanceId)) {
			out.AutoScalingInstances = append(out.AutoScalingInstances, i)
		}
	}
	return out, nil
}

// DescribeAutoScalingGroups answers from auto-scaling-groups.json. Like Auto Scaling it
// leaves out groups that it does not know.
func (a *AutoScaling) DescribeAutoScalingGroups(_ context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	if err := a.c.asgs.listing(); err != nil {
		return nil, err
	}
	for _, f := range in.Filters {
		if aws.ToString(f.Name) != "tag-key" {
			return nil, errors.New("a bundle can be filtered for Auto Scaling groups by tag-key alone")
		}
	}
	out := &autoscaling.DescribeAutoScalingGroupsOutput{}
	for _, g := range a.c.asgs.rows {
		if (len(in.AutoScalingGroupNames) == 0 || slices.Contains(in.AutoScalingGroupNames, aws.ToString(g.AutoScalingGroupName))) && hasKeys(g.Tags, in.Filters) {
			out.AutoScalingGroups = append(out.AutoScalingGroups, g)
		}
	}
	return out, nil
}

// hasKeys reports that the tags have one of the keys of each filter.
func hasKeys(tags []types.TagDescription, filters []types.Filter) bool {
	return !slices.ContainsFunc(filters, func(f types.Filter) bool {
		return !slices.ContainsFunc(tags, func(t types.TagDescription) bool { return slices.Contains(f.Values, aws.ToString(t.Key)) })
	})
}

// DescribeScalingActivities answers from scaling-activities.json, newest first.
func (a *AutoScaling) DescribeScalingActivities(_ context.Context, in *autoscaling.DescribeScalingActivitiesInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	if err := a.c.activities.listing(); err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeScalingActivitiesOutput{}
	for _, v := range a.c.activities.rows {
		if in.AutoScalingGroupName == nil || aws.ToString(v.AutoScalingGroupName) == *in.AutoScalingGroupName {
			out.Activities = append(out.Activities, v)
		}
	}
	slices.SortStableFunc(out.Activities, func(a, b types.Activity) int {
		return aws.ToTime(b.StartTime).Compare(aws.ToTime(a.StartTime))
	})
	if in.MaxRecords != nil {
		out.Activities = out.Activities[:min(len(out.Activities), int(*in.MaxRecords))]
	}
	return out, nil
}

// ZonalShift answers as the SDK's client of ARC zonal shifts does.
type ZonalShift struct {
	c *contents
}

// ZonalShift is the bundle's answers of ARC.
func (b *Bundle) ZonalShift() *ZonalShift { return &ZonalShift{b.c} }

// GetManagedResource answers from zonal-shifts.json. No other file of a bundle can show a
// shift, so without this one there is taken to be none: whoever acts asks ARC again.
func (z *ZonalShift) GetManagedResource(context.Context, *arczonalshift.GetManagedResourceInput, ...func(*arczonalshift.Options)) (*arczonalshift.GetManagedResourceOutput, error) {
	if len(z.c.shifts.rows) == 0 {
		return &arczonalshift.GetManagedResourceOutput{}, nil
	}
	return &z.c.shifts.rows[0], nil
}
