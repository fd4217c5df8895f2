package observe

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/evidence"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const callInstanceStatus = "ec2:DescribeInstanceStatus"

// statuses is the result of a listing: the instances with a check that failed or has no result, or with an event.
type statuses struct {
	failing   map[roll.InstanceID]roll.Impairment
	unchecked map[roll.InstanceID]bool // EC2 has no result of a check
	scheduled map[roll.InstanceID]roll.Event
}

func newStatuses() statuses {
	return statuses{failing: map[roll.InstanceID]roll.Impairment{}, unchecked: map[roll.InstanceID]bool{}, scheduled: map[roll.InstanceID]roll.Event{}}
}

// statusFilters returns the filters for those instances, each for its own listing, since EC2 joins
// filters of different names with AND. There is none for the performance status.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html
func statusFilters() [][]types.Filter {
	const bad, none = string(types.SummaryStatusImpaired), string(types.SummaryStatusInsufficientData)
	codes := roll.Map(types.EventCode("").Values(), func(code types.EventCode) string { return string(code) })
	filter := func(name string, values ...string) []types.Filter {
		return []types.Filter{{Name: &name, Values: values}}
	}
	return [][]types.Filter{
		filter("instance-status.status", bad, none), filter("system-status.status", bad, none),
		filter("attached-ebs-status.status", bad), filter("application-status.status", bad), filter("event.code", codes...),
	}
}

// statusBatch is how many instances one call of DescribeInstanceStatus may name.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html
const statusBatch = 100

// readStatus reads which of the snapshot's instances fail a status check of EC2, and their
// scheduled events. A small cluster takes one call, however many instances run in the region: with
// hundreds of clusters, the calls of the listing, one a second, would take longer than a sweep.
func (o *Observer) readStatus(ctx context.Context, s *roll.Snapshot) {
	if !s.Has(roll.ScopeInstances) {
		s.StatusRead = roll.Unreadable
		return // there is no verdict anyway
	}
	var running []string
	for i := range s.Instances {
		if s.Instances[i].State == roll.StateRunning { // no other has a status
			running = append(running, string(s.Instances[i].ID))
		}
	}
	if len(running) <= statusBatch && o.RollFrom >= 0 {
		said, err := o.statusesOf(ctx, running)
		if !awserr.IsNotFound(err) {
			o.addStatus(ctx, s, said, err)
			return
		}
		// One ended since it was listed, and EC2 rejects the whole request.
	}
	said, err := o.statusesOfRegion(ctx, len(s.Instances))
	o.addStatus(ctx, s, said, err)
}

// statusesOf reads the status of up to statusBatch instances.
func (o *Observer) statusesOf(ctx context.Context, ids []string) (statuses, error) {
	said := newStatuses()
	if len(ids) == 0 {
		return said, nil // no ids would mean all instances
	}
	in := &ec2.DescribeInstanceStatusInput{InstanceIds: ids, IncludeManagedResources: aws.Bool(true)}
	return said, project.EachPage(ctx, limited(o, o.ec2.DescribeInstanceStatus), in, func(out *ec2.DescribeInstanceStatusOutput) { said.add(out, true) })
}

func (o *Observer) addStatus(ctx context.Context, s *roll.Snapshot, said statuses, err error) {
	s.StatusRead = roll.Unreadable
	if !s.Has(roll.ScopeInstances) {
		return
	}
	if err != nil {
		o.fail(ctx, s, roll.ScopeDetail, callInstanceStatus, err)
		return
	}
	s.StatusRead, s.Impaired, s.Scheduled, s.Unchecked = roll.Yes, map[roll.InstanceID]roll.Impairment{}, map[roll.InstanceID]roll.Event{}, map[roll.InstanceID]bool{}
	if len(said.failing)+len(said.scheduled)+len(said.unchecked) == 0 {
		return
	}
	for i := range s.Instances {
		id := s.Instances[i].ID
		if f, ok := said.failing[id]; ok {
			s.Impaired[id] = f
		}
		if e, ok := said.scheduled[id]; ok {
			s.Scheduled[id] = e
		}
		if said.unchecked[id] {
			s.Unchecked[id] = true
		}
	}
}

// statusesOfRegion lists what runs in the region. The running instances of most regions fit on one
// page, so that one call returns everything. Otherwise it lists only the instances with a failed check
// or an event, which are few.
func (o *Observer) statusesOfRegion(ctx context.Context, known int) (statuses, error) {
	said, call := newStatuses(), limited(o, o.ec2.DescribeInstanceStatus)
	if known <= pageSize {
		out, err := call(ctx, &ec2.DescribeInstanceStatusInput{MaxResults: aws.Int32(pageSize), IncludeManagedResources: aws.Bool(true)})
		if err != nil {
			return said, err
		}
		if aws.ToString(out.NextToken) == "" {
			said.add(out, true)
			return said, nil
		}
	}
	for _, filters := range statusFilters() {
		in := &ec2.DescribeInstanceStatusInput{Filters: filters, MaxResults: aws.Int32(pageSize), IncludeManagedResources: aws.Bool(true)}
		if err := project.EachPage(ctx, call, in, func(out *ec2.DescribeInstanceStatusOutput) { said.add(out, false) }); err != nil {
			return said, err
		}
	}
	return said, nil
}

// readTargetStatus reads the same of the target instance.
func (o *Observer) readTargetStatus(ctx context.Context, s *roll.Snapshot) {
	said, err := o.statusesOf(ctx, []string{string(s.Target)})
	if err != nil && !awserr.IsNotFound(err) { // an instance that does not exist fails no check
		s.StatusRead = roll.Unreadable
		o.fail(ctx, s, roll.ScopeDetail, callInstanceStatus, err)
		return
	}
	s.StatusRead, s.Impaired, s.Scheduled, s.Unchecked = roll.Yes, said.failing, said.scheduled, said.unchecked
}

// add adds one page. all reports whether the listing has every instance: a listing with filters
// would show the performance of some by chance.
func (said statuses) add(out *ec2.DescribeInstanceStatusOutput, all bool) {
	for i := range out.InstanceStatuses {
		id, status := roll.InstanceID(aws.ToString(out.InstanceStatuses[i].InstanceId)), project.InstanceStatus(&out.InstanceStatuses[i])
		if f, ok := impairment(status, all); ok {
			said.failing[id] = f
		} else if noResult(status) {
			said.unchecked[id] = true
		}
		if e, ok := firstEvent(status.Events); ok {
			said.scheduled[id] = e
		}
	}
}

// impairment returns which check fails and since when; the second result is false if none does. A
// failed check of the instance or the system precedes the others, because these two concern the
// machine.
func impairment(i evidence.InstanceStatus, performance bool) (roll.Impairment, bool) {
	const bad = string(types.SummaryStatusImpaired)
	switch {
	case i.Instance == bad && i.System == bad && (i.SystemSince.IsZero() || !i.InstanceSince.IsZero() && i.InstanceSince.Before(i.SystemSince)):
		return roll.Impairment{Since: i.InstanceSince, System: true}, true
	case i.System == bad:
		return roll.Impairment{Since: i.SystemSince, System: true}, true
	case i.Instance == bad:
		return roll.Impairment{Since: i.InstanceSince}, true
	case i.AttachedEBS == bad:
		return roll.Impairment{Since: i.AttachedEBSSince, Only: "attached EBS"}, true
	case i.Application == bad:
		return roll.Impairment{Since: i.ApplicationSince, Only: "application"}, true
	case performance && i.Performance == bad:
		return roll.Impairment{Since: i.PerformanceSince, Only: "performance"}, true
	}
	return roll.Impairment{}, false
}

// noResult reports whether EC2 lacks the result of a check of the instance or the system.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusSummary.html
func noResult(i evidence.InstanceStatus) bool {
	const none = string(types.SummaryStatusInsufficientData)
	return i.Instance == none || i.System == none
}

// firstEvent returns the earliest event that is pending or in progress. An event without a date
// cannot be identified as either.
func firstEvent(events []roll.Event) (first roll.Event, ok bool) {
	for _, e := range events {
		if !e.NotBefore.IsZero() && (!ok || cmp.Or(e.NotBefore.Compare(first.NotBefore), strings.Compare(e.ID, first.ID)) < 0) {
			first, ok = e, true
		}
	}
	return first, ok
}
