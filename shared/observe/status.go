package observe

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/awserr"
	"rollcall/shared/roll"
)

const callInstanceStatus = "ec2:DescribeInstanceStatus"

// readStatus reads which of the snapshot's instances fail a status check of EC2. It
// asks for the failing ones of the whole region, which are few, and in two listings,
// since EC2 joins filters of different names with AND.
func (o *Observer) readStatus(ctx context.Context, s *roll.Snapshot) {
	s.StatusRead = roll.Unreadable
	if !s.Has(roll.ScopeInstances) {
		return // nothing is judged anyway
	}
	failing := map[roll.InstanceID]roll.Impairment{}
	for _, check := range []string{"instance-status.status", "system-status.status"} {
		err := o.statuses(ctx, &ec2.DescribeInstanceStatusInput{
			Filters:    []types.Filter{{Name: aws.String(check), Values: []string{string(types.SummaryStatusImpaired)}}},
			MaxResults: aws.Int32(pageSize),
		}, failing)
		if err != nil {
			s.Gaps = append(s.Gaps, o.gap(ctx, roll.ScopeDetail, callInstanceStatus, err))
			return
		}
	}
	s.StatusRead, s.Impaired = roll.Yes, map[roll.InstanceID]roll.Impairment{}
	if len(failing) == 0 {
		return
	}
	for i := range s.Instances {
		if f, ok := failing[s.Instances[i].ID]; ok {
			s.Impaired[s.Instances[i].ID] = f
		}
	}
}

// readTargetStatus reads the status checks of the one instance that is looked at.
func (o *Observer) readTargetStatus(ctx context.Context, s *roll.Snapshot) {
	failing := map[roll.InstanceID]roll.Impairment{}
	err := o.statuses(ctx, &ec2.DescribeInstanceStatusInput{InstanceIds: []string{string(s.Target)}}, failing)
	if err != nil && !awserr.IsNotFound(err) { // an instance that does not exist fails no check
		s.StatusRead = roll.Unreadable
		s.Gaps = append(s.Gaps, o.gap(ctx, roll.ScopeDetail, callInstanceStatus, err))
		return
	}
	s.StatusRead, s.Impaired = roll.Yes, failing
}

// statuses adds the failing status checks of a listing. Only running instances have
// any.
func (o *Observer) statuses(ctx context.Context, in *ec2.DescribeInstanceStatusInput, failing map[roll.InstanceID]roll.Impairment) error {
	in.IncludeManagedResources = aws.Bool(true)
	for {
		if err := o.turn(ctx); err != nil {
			return err
		}
		out, err := o.ec2.DescribeInstanceStatus(ctx, in)
		if err != nil {
			return err
		}
		for i := range out.InstanceStatuses {
			if f, ok := impairment(&out.InstanceStatuses[i]); ok {
				failing[roll.InstanceID(aws.ToString(out.InstanceStatuses[i].InstanceId))] = f
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return nil
		}
	}
}

// impairment reads since when which check fails; the second result is false if none
// does.
func impairment(i *types.InstanceStatus) (roll.Impairment, bool) {
	instance, instanceSince := failingSince(i.InstanceStatus)
	system, systemSince := failingSince(i.SystemStatus)
	since := instanceSince
	if since.IsZero() || !systemSince.IsZero() && systemSince.Before(since) {
		since = systemSince
	}
	return roll.Impairment{Since: since, System: system}, instance || system
}

// failingSince is the earliest time at which one of the checks began to fail, zero if
// EC2 does not tell.
func failingSince(s *types.InstanceStatusSummary) (failing bool, since time.Time) {
	if s == nil || s.Status != types.SummaryStatusImpaired {
		return false, time.Time{}
	}
	for _, d := range s.Details {
		if d.ImpairedSince != nil && (since.IsZero() || d.ImpairedSince.Before(since)) {
			since = d.ImpairedSince.UTC()
		}
	}
	return true, since
}
