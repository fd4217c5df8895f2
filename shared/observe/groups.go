package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/roll"
)

const (
	// groupReads bounds the groups with suspects that are looked up per round. Each
	// costs up to two calls of its own. What lies beyond is not known, and so is not
	// acted on.
	groupReads = 20
	// activities is how many of a group's scaling activities are looked at: enough to
	// find the last launch among terminations and launches in progress.
	activities = 20
)

// scaled is a group with suspects that Auto Scaling keeps, and its Auto Scaling groups.
// There is one, but instances outlive the group that was deleted and made anew.
type scaled struct {
	group roll.Group
	asgs  []string
}

// readGroups reads what the suspects' groups can do about them and do by themselves.
func (o *Observer) readGroups(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	groups := askedGroups(s, questions)
	if len(groups) == 0 {
		return
	}
	for _, g := range groups {
		s.Groups[g.group] = unreadGroup(g.group)
	}
	if all := len(groups); all > groupReads {
		groups = groups[:groupReads]
		s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeDetail, Kind: roll.GapFailed, Call: roll.CallAutoScalingGroups, Detail: fmt.Sprintf("%d groups have suspects, of which the first %d were looked up; in the rest nothing is acted on", all, groupReads)})
	}
	o.readNodeGroups(ctx, s, groups)
	o.readSuspensions(ctx, s, groups)
	o.readLaunches(ctx, s, groups)
}

// unreadGroup is what is known of a group before it is read.
func unreadGroup(g roll.Group) roll.GroupDetail {
	out := roll.GroupDetail{LaunchSuspended: roll.Unreadable, ReplaceSuspended: roll.Unreadable, CapacityRead: roll.Unreadable}
	if _, ok := g.NodeGroup(); ok {
		out.AutoRepair = roll.Unreadable
	}
	return out
}

// askedGroups are the groups of the instances whose group is asked for, the most urgent
// first. Groups that Auto Scaling does not keep have nothing to tell; they get an
// answer that is empty.
func askedGroups(s *roll.Snapshot, questions []roll.Question) []scaled {
	rank := map[roll.InstanceID]int{}
	for i, q := range questions {
		if q.Group {
			rank[q.Instance] = i
		}
	}
	if len(rank) == 0 {
		return nil
	}
	if s.Groups == nil {
		s.Groups = map[roll.Group]roll.GroupDetail{}
	}
	var asked []*roll.Instance
	for i := range s.Instances {
		if _, ok := rank[s.Instances[i].ID]; ok {
			asked = append(asked, &s.Instances[i])
		}
	}
	slices.SortFunc(asked, func(a, b *roll.Instance) int { return rank[a.ID] - rank[b.ID] })
	var out []scaled
	for _, inst := range asked {
		if _, done := s.Groups[inst.Group]; done {
			continue // in an earlier round
		}
		if inst.ASG == "" {
			s.Groups[inst.Group] = roll.GroupDetail{}
			continue
		}
		i := slices.IndexFunc(out, func(g scaled) bool { return g.group == inst.Group })
		if i < 0 {
			i, out = len(out), append(out, scaled{group: inst.Group})
		}
		if !slices.Contains(out[i].asgs, inst.ASG) {
			out[i].asgs = append(out[i].asgs, inst.ASG)
		}
	}
	return out
}

// setGroup changes what is known of a group.
func setGroup(s *roll.Snapshot, g roll.Group, change func(*roll.GroupDetail)) {
	d := s.Groups[g]
	change(&d)
	s.Groups[g] = d
}

// readNodeGroups reads whether EKS repairs the nodes of managed node groups itself.
// https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html
func (o *Observer) readNodeGroups(ctx context.Context, s *roll.Snapshot, groups []scaled) {
	f := &faults{o: o, s: s, call: roll.CallNodegroup}
	for _, g := range groups {
		name, ok := g.group.NodeGroup()
		if !ok || f.over {
			continue
		}
		out, err := o.eks.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: aws.String(s.Cluster.ID.Name), NodegroupName: aws.String(name)})
		if err != nil {
			f.note(ctx, err)
			continue
		}
		if out.Nodegroup != nil {
			repair := out.Nodegroup.NodeRepairConfig
			setGroup(s, g.group, func(d *roll.GroupDetail) { d.AutoRepair = answer(repair != nil && aws.ToBool(repair.Enabled)) })
		}
	}
}

// readSuspensions reads which processes of the groups are suspended. A group without
// health checks marks no instance as unhealthy, and one that may not terminate replaces
// none.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/understand-how-suspending-processes-affects-other-processes.html
func (o *Observer) readSuspensions(ctx context.Context, s *roll.Snapshot, groups []scaled) {
	var names []string
	for _, g := range groups {
		names = append(names, g.asgs...)
	}
	suspended := map[string][]string{}
	for batch := range slices.Chunk(names, autoScalingBatch) {
		pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(o.autoScaling, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: batch})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				s.Gaps = append(s.Gaps, o.gap(ctx, roll.ScopeDetail, roll.CallAutoScalingGroups, err))
				return
			}
			for _, g := range page.AutoScalingGroups {
				suspended[aws.ToString(g.AutoScalingGroupName)] = processes(g.SuspendedProcesses)
			}
		}
	}
	for _, g := range groups {
		launch, replace := false, false
		missing := slices.IndexFunc(g.asgs, func(asg string) bool { _, ok := suspended[asg]; return !ok })
		if missing >= 0 {
			s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeDetail, Kind: roll.GapFailed, Call: roll.CallAutoScalingGroups, Detail: fmt.Sprintf("there is no Auto Scaling group %s, which instances of %s name", g.asgs[missing], g.group)})
			continue
		}
		for _, asg := range g.asgs {
			for _, process := range suspended[asg] {
				switch process {
				case "Launch":
					launch = true
				case "ReplaceUnhealthy", "HealthCheck", "Terminate":
					replace = true
				}
			}
		}
		setGroup(s, g.group, func(d *roll.GroupDetail) { d.LaunchSuspended, d.ReplaceSuspended = answer(launch), answer(replace) })
	}
}

// processes are the names of suspended processes; it is never nil.
func processes(suspended []asgtypes.SuspendedProcess) []string {
	out := []string{}
	for _, p := range suspended {
		out = append(out, aws.ToString(p.ProcessName))
	}
	return out
}

// readLaunches reads how the latest launches of the groups went.
func (o *Observer) readLaunches(ctx context.Context, s *roll.Snapshot, groups []scaled) {
	f := &faults{o: o, s: s, call: roll.CallScalingActivities}
	for _, g := range groups {
		var failed time.Time
		var why string
		read := true
		for _, asg := range g.asgs {
			if f.over {
				read = false
				break
			}
			out, err := o.autoScaling.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String(asg), MaxRecords: aws.Int32(activities)})
			if err != nil {
				f.note(ctx, err)
				read = false
				break
			}
			if at, message := lackOfCapacity(out.Activities); at.After(failed) {
				failed, why = at, message
			}
		}
		if read {
			setGroup(s, g.group, func(d *roll.GroupDetail) {
				d.CapacityRead, d.CapacityError, d.CapacityMessage = roll.Yes, failed, why
			})
		}
	}
}

// lackOfCapacity is when the last launch failed for lack of capacity or quota, and what
// Auto Scaling said; the zero time if a later one succeeded or none failed so. The
// activities come newest first.
func lackOfCapacity(newestFirst []asgtypes.Activity) (time.Time, string) {
	for _, a := range newestFirst {
		if !strings.HasPrefix(aws.ToString(a.Description), "Launching a new EC2 instance") {
			continue
		}
		switch a.StatusCode {
		case asgtypes.ScalingActivityStatusCodeSuccessful:
			return time.Time{}, ""
		case asgtypes.ScalingActivityStatusCodeFailed, asgtypes.ScalingActivityStatusCodeCancelled:
			message := aws.ToString(a.StatusMessage)
			if tellsOfCapacity(message) {
				at := aws.ToTime(a.EndTime)
				if at.IsZero() {
					at = aws.ToTime(a.StartTime)
				}
				return at.UTC(), message
			}
		}
	}
	return time.Time{}, ""
}

// capacityTexts are parts of the messages, in lower case, by which a launch that failed
// tells that EC2 has no room or the account no quota: codes of EC2, which Auto Scaling
// passes on where a group mixes instance types or purchase options, and the sentences
// that it shows without a code.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/CHAP_Troubleshooting.html
var capacityTexts = []string{
	"insufficientinstancecapacity", "insufficienthostcapacity", "insufficientreservedinstancecapacity", "insufficientcapacity",
	"unfulfillablecapacity", "reservationcapacityexceeded", "insufficientfreeaddressesinsubnet",
	"vcpulimitexceeded", "instancelimitexceeded", "volumelimitexceeded", "maxiopslimitexceeded", "maxspotinstancecountexceeded", "spotmaxpricetoolow",
	"do not have sufficient", "does not have sufficient", "no spot capacity", "unable to fulfill capacity", "insufficient capacity",
	"vcpu limit", "instance limit", "max spot instance count", "reached your quota", "your quota allows", "instance(s) are already running", "enough free addresses",
}

func tellsOfCapacity(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc(capacityTexts, func(text string) bool { return strings.Contains(message, text) })
}
