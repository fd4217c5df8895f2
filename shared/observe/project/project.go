// Package project reduces the AWS SDK's answers to the values that a check keeps.
package project

import (
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Tags reads the tags of an instance.
func Tags(i *types.Instance) (tags roll.TagSet) {
	for _, t := range i.Tags {
		tags.Add(aws.ToString(t.Key), aws.ToString(t.Value))
	}
	return tags
}

// Operator returns the service that manages an instance, "" if none does.
func Operator(i *types.Instance) string {
	if i.Operator == nil {
		return ""
	}
	return aws.ToString(i.Operator.Principal)
}

// InstanceStatus converts EC2's status checks of an instance and its scheduled events.
func InstanceStatus(s *types.InstanceStatus) evidence.InstanceStatus {
	var out evidence.InstanceStatus
	out.Instance, out.InstanceSince = check(s.InstanceStatus)
	out.System, out.SystemSince = check(s.SystemStatus)
	if e := s.AttachedEbsStatus; e != nil {
		out.AttachedEBS = string(e.Status)
		for _, d := range e.Details {
			if d.ImpairedSince != nil {
				out.AttachedEBSSince = roll.Earlier(out.AttachedEBSSince, utc(d.ImpairedSince))
			}
		}
	}
	if a := s.ApplicationStatus; a != nil {
		out.Application, out.ApplicationSince = string(a.Status), utc(a.ImpairedSince)
	}
	if p := s.PerformanceStatus; p != nil {
		out.Performance, out.PerformanceSince, out.Remediation = string(p.Status), utc(p.ImpairedSince), aws.ToString(p.Remediation)
	}
	for _, e := range s.Events {
		if !roll.EventOver(aws.ToString(e.Description)) {
			out.Events = append(out.Events, roll.Event{
				ID: aws.ToString(e.InstanceEventId), Code: string(e.Code), NotBefore: utc(e.NotBefore), NotAfter: utc(e.NotAfter), Deadline: utc(e.NotBeforeDeadline),
			})
		}
	}
	return out
}

// check returns the state of a status check, and since when it fails.
func check(s *types.InstanceStatusSummary) (status string, since time.Time) {
	if s == nil {
		return "", time.Time{}
	}
	for _, d := range s.Details {
		if d.ImpairedSince != nil {
			since = roll.Earlier(since, utc(d.ImpairedSince))
		}
	}
	return string(s.Status), since
}

func utc(t *time.Time) time.Time { return aws.ToTime(t).UTC() }

// NodeGroup converts a managed node group.
func NodeGroup(n *ekstypes.Nodegroup) evidence.NodeGroup {
	out := evidence.NodeGroup{
		Name: aws.ToString(n.NodegroupName), Created: utc(n.CreatedAt), Status: string(n.Status), AMIType: string(n.AmiType), Labels: n.Labels, Version: aws.ToString(n.Version),
		RoleARN: aws.ToString(n.NodeRole),
	}
	if r := n.NodeRepairConfig; r != nil {
		out.Repairs = aws.ToBool(r.Enabled)
		for _, o := range r.NodeRepairConfigOverrides {
			out.Overrides = append(out.Overrides, roll.RepairOverride{
				Condition: aws.ToString(o.NodeMonitoringCondition), Reason: aws.ToString(o.NodeUnhealthyReason),
				Wait: time.Duration(aws.ToInt32(o.MinRepairWaitTimeMins)) * time.Minute, None: o.RepairAction == ekstypes.RepairActionNoAction,
			})
		}
	}
	if r := n.Resources; r != nil {
		out.ASGs = roll.Map(r.AutoScalingGroups, func(g ekstypes.AutoScalingGroup) string { return aws.ToString(g.Name) })
	}
	if t := n.LaunchTemplate; t != nil {
		out.LaunchTemplate, out.TemplateVer = aws.ToString(t.Id), aws.ToString(t.Version)
	}
	if n.Health != nil {
		for _, i := range n.Health.Issues {
			out.Issues = append(out.Issues, roll.HealthIssue{Code: string(i.Code), Message: aws.ToString(i.Message)})
		}
	}
	return out
}

// ScalingGroup converts an Auto Scaling group and its instances.
func ScalingGroup(g asgtypes.AutoScalingGroup) evidence.AutoScalingGroup {
	out := evidence.AutoScalingGroup{
		Name: aws.ToString(g.AutoScalingGroupName), Desired: int(aws.ToInt32(g.DesiredCapacity)),
		Subnets:    strings.FieldsFunc(aws.ToString(g.VPCZoneIdentifier), func(c rune) bool { return c == ',' || c == ' ' }),
		Deleting:   aws.ToString(g.Status) != "", // it has no other status
		Lifecycles: map[roll.InstanceID]string{},
	}
	if d := g.AvailabilityZoneDistribution; d != nil {
		out.BalancedOnly = d.CapacityDistributionStrategy == asgtypes.CapacityDistributionStrategyBalancedOnly
	}
	for _, p := range g.SuspendedProcesses {
		name, reason := aws.ToString(p.ProcessName), aws.ToString(p.SuspensionReason)
		out.SuspendedProcesses = append(out.SuspendedProcesses, name)
		out.GaveUp = out.GaveUp || name == "Launch" && reason != "" && !strings.HasPrefix(reason, "User suspended")
	}
	var tags roll.TagSet
	for _, t := range g.Tags {
		tags.Add(aws.ToString(t.Key), aws.ToString(t.Value))
	}
	out.NodeGroup = tags.NodeGroup
	if unit := aws.ToString(g.DesiredCapacityType); unit != "" && unit != "units" {
		out.Weights = map[roll.InstanceID]int{}
	}
	for _, i := range g.Instances {
		id := roll.InstanceID(aws.ToString(i.InstanceId))
		out.Lifecycles[id] = string(i.LifecycleState)
		if weight, err := strconv.Atoi(aws.ToString(i.WeightedCapacity)); err == nil {
			if out.Weights == nil {
				out.Weights = map[roll.InstanceID]int{}
			}
			out.Weights[id] = weight
		}
	}
	return out
}

// Activities converts scaling activities, in their order.
func Activities(all []asgtypes.Activity) []evidence.Activity {
	out := make([]evidence.Activity, 0, len(all))
	for i := range all {
		a := &all[i]
		at := a.EndTime
		if aws.ToTime(at).IsZero() {
			at = a.StartTime
		}
		out = append(out, evidence.Activity{
			Status: string(a.StatusCode), Description: aws.ToString(a.Description), Message: aws.ToString(a.StatusMessage), Cause: aws.ToString(a.Cause),
			Started: utc(a.StartTime), At: utc(at),
		})
	}
	return out
}
