package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/evidence"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const (
	// groupReads bounds the groups with suspects that are read per round. Each costs up to two
	// calls. Groups beyond it are unknown, which holds acts.
	groupReads = 20
	// activities is how many of a group's scaling activities are read: the maximum of one call, to
	// find the last launch behind terminations and launches in progress.
	activities = 100
)

// scaled is a group with suspects that Auto Scaling manages, and its Auto Scaling groups. There is
// one, unless instances outlived a group that was deleted and created again.
type scaled struct {
	group roll.Group
	asgs  []string
}

// readGroups reads what the suspects' groups can do about them, and what the groups do by
// themselves.
func (o *Observer) readGroups(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	groups := askedGroups(s, questions)
	for _, g := range groups {
		unread := roll.GroupDetail{LaunchSuspended: roll.Unreadable, ReplaceSuspended: roll.Unreadable, LaunchesRead: roll.Unreadable}
		if _, ok := g.group.NodeGroup(); ok {
			unread.AutoRepair = roll.Unreadable
		}
		s.Groups[g.group] = unread
	}
	if all := len(groups); all > groupReads {
		groups = roll.InTurn(groups, groupReads/2, s.At)[:groupReads]
		unknown(s, roll.CallAutoScalingGroups, roll.GapLater, fmt.Sprintf("%d groups have suspects, of which %d were looked up, those of the most urgent and others in turn; in the rest nothing is acted on", all, groupReads))
	}
	o.readNodeGroups(ctx, s, groups)
	read := o.readSuspensions(ctx, s, groups)
	o.readLaunches(ctx, s, groups, read)
}

// askedGroups returns the groups of the instances whose group is needed, the most urgent first.
// Groups that Auto Scaling does not manage have no data there and get an empty answer.
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

func setGroup(s *roll.Snapshot, g roll.Group, change func(*roll.GroupDetail)) {
	d := s.Groups[g]
	change(&d)
	s.Groups[g] = d
}

// readNodeGroups reads the state of managed node groups, and whether EKS repairs their nodes
// automatically.
// https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html
func (o *Observer) readNodeGroups(ctx context.Context, s *roll.Snapshot, groups []scaled) {
	f := &faults{o: o, s: s, call: roll.CallNodegroup}
	for _, g := range groups {
		name, ok := g.group.NodeGroup()
		if !ok || f.over {
			continue
		}
		out, err := direct(o, o.eks.DescribeNodegroup)(ctx, &eks.DescribeNodegroupInput{ClusterName: aws.String(s.Cluster.ID.Name), NodegroupName: aws.String(name)})
		if err != nil {
			f.note(ctx, err)
			continue
		}
		if out.Nodegroup != nil {
			n := project.NodeGroup(out.Nodegroup)
			setGroup(s, g.group, func(d *roll.GroupDetail) {
				d.AutoRepair, d.Overrides, d.Status, d.Issues, d.ASGs = answer(n.Repairs), n.Overrides, n.Status, harmlessIssues(n.Issues), n.ASGs
			})
		}
	}
}

// harmlessIssues returns issues without secrets.
func harmlessIssues(issues []roll.HealthIssue) []roll.HealthIssue {
	return roll.Map(issues, func(i roll.HealthIssue) roll.HealthIssue {
		return roll.HealthIssue{Code: i.Code, Message: harmless(i.Message)}
	})
}

// readSuspensions reads the suspended processes of the groups and their desired capacity, and returns their Auto
// Scaling groups by name; nil if they could not be read. A group without health checks marks no instance as unhealthy,
// and one that may not terminate replaces none.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/understand-how-suspending-processes-affects-other-processes.html
func (o *Observer) readSuspensions(ctx context.Context, s *roll.Snapshot, groups []scaled) map[string]evidence.AutoScalingGroup {
	names := slices.Concat(roll.Map(groups, func(g scaled) []string { return g.asgs })...)
	read := map[string]evidence.AutoScalingGroup{}
	for batch := range slices.Chunk(names, autoScalingBatch) {
		err := o.scalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: batch}, func(g evidence.AutoScalingGroup) { read[g.Name] = g })
		if err != nil {
			o.fail(ctx, s, roll.ScopeDetail, roll.CallAutoScalingGroups, err)
			return nil
		}
	}
	for _, g := range groups {
		missing := slices.IndexFunc(g.asgs, func(asg string) bool { _, ok := read[asg]; return !ok })
		if missing >= 0 {
			unknown(s, roll.CallAutoScalingGroups, roll.GapFailed, fmt.Sprintf("there is no Auto Scaling group %s, which instances of %s name", g.asgs[missing], g.group))
			continue
		}
		launch, complete, desired, standby, instances := false, true, 0, 0, 0
		var replace []string
		for _, asg := range g.asgs {
			desired, instances = desired+read[asg].Desired, instances+len(read[asg].Lifecycles)
			n, _ := read[asg].Capacity(inStandby)
			standby += n
			complete = complete && full(read[asg])
			for _, process := range read[asg].SuspendedProcesses {
				switch process {
				case "Launch":
					launch = true
				case "ReplaceUnhealthy", "HealthCheck", "Terminate":
					replace = append(replace, process)
				}
			}
		}
		slices.Sort(replace)
		setGroup(s, g.group, func(d *roll.GroupDetail) {
			d.LaunchSuspended, d.ReplaceSuspended, d.Suspended, d.Desired = answer(launch), answer(len(replace) > 0), strings.Join(slices.Compact(replace), ", "), desired
			d.Standby, d.Instances, d.Complete = standby, instances, complete
		})
	}
	return read
}

// readLaunches reads the results of the latest launches of the groups.
func (o *Observer) readLaunches(ctx context.Context, s *roll.Snapshot, groups []scaled, scaling map[string]evidence.AutoScalingGroup) {
	f := &faults{o: o, s: s, call: roll.CallScalingActivities}
	for _, g := range groups {
		var failed time.Time
		var why string
		read, launched := true, len(g.asgs) > 0
		for _, asg := range g.asgs {
			if f.over {
				read = false
				break
			}
			out, err := direct(o, o.autoScaling.DescribeScalingActivities)(ctx, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String(asg), MaxRecords: aws.Int32(activities)})
			if err != nil {
				f.note(ctx, err)
				read = false
				break
			}
			known, found := scaling[asg]
			newestFirst := project.Activities(out.Activities)
			launched = launched && slices.ContainsFunc(newestFirst, worked)
			if at, message := failedLaunch(newestFirst, found && !known.BalancedOnly); at.After(failed) {
				failed, why = at, message
			}
		}
		if read {
			setGroup(s, g.group, func(d *roll.GroupDetail) {
				d.LaunchesRead, d.LaunchFailed, d.LaunchMessage, d.Launched = roll.Yes, failed, why, launched
			})
		}
	}
}

// failedLaunch returns when the latest completed launch ended, if it failed, and Auto Scaling's
// message; the zero time if it succeeded or none is shown. The next launch may fail for the same
// reason, whatever it is. elsewhere: if a zone cannot take an instance, Auto Scaling launches it in another one. Then
// a launch that only one zone refused does not count.
func failedLaunch(newestFirst []evidence.Activity, elsewhere bool) (time.Time, string) {
	failed := failedLaunches(newestFirst)
	if elsewhere {
		failed = slices.DeleteFunc(failed, refusedByZone)
	}
	if len(failed) == 0 {
		return time.Time{}, ""
	}
	return failed[0].At, harmless(cmp.Or(failed[0].Message, failed[0].Status))
}

// balancing are the words for a launch that is to balance the zones of a group that has all its instances. Auto Scaling
// tries it again and again while the zone with too few of them cannot take one.
//
//   - https://docs.aws.amazon.com/autoscaling/ec2/userguide/auto-scaling-benefits.html
//   - https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1709
//   - https://github.com/eksctl-io/eksctl/issues/636
//   - https://github.com/aws-samples/aws-codedeploy-samples/pull/37
var balancing = []string{"to balance instances in zones", "to aid in balancing"}

// forCapacity are the words for a launch of an instance that the group lacks.
const forCapacity = "difference between desired and actual capacity"

// zoneLacks are the words for what a zone, or its subnet, lacks.
var zoneLacks = []string{"do not have sufficient", "no Spot capacity", "InsufficientInstanceCapacity", "UnfulfillableCapacity", "in your requested Availability Zone", "not enough free addresses"}

// refusedByZone reports whether a launch that was only to balance the zones failed for want of something in its zone.
func refusedByZone(a evidence.Activity) bool {
	says := func(text string, words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	return says(a.Cause, balancing...) && !says(a.Cause, forCapacity) && says(a.Message, zoneLacks...)
}

// launchCancelled is the status of a launch that a lifecycle hook abandoned, among others.
const launchCancelled = string(asgtypes.ScalingActivityStatusCodeCancelled)

// worked reports whether a launch succeeded, other than by taking an instance from the warm pool.
func worked(a evidence.Activity) bool {
	return a.Launch() && !a.Drawn() && a.Status == string(asgtypes.ScalingActivityStatusCodeSuccessful)
}

// failedLaunches returns the launches since the latest that succeeded, newest first, that failed or
// were cancelled. A launch in progress does not count yet. An instance taken from the warm pool shows only that
// the pool works again.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_Activity.html
func failedLaunches(newestFirst []evidence.Activity) (failed []evidence.Activity) {
	drawn := false
	for _, a := range newestFirst {
		switch {
		case !a.Launch(), drawn && a.Drawn():
		case worked(a):
			return failed
		case a.Status == string(asgtypes.ScalingActivityStatusCodeSuccessful):
			drawn = true
		case a.Status == string(asgtypes.ScalingActivityStatusCodeFailed), a.Status == launchCancelled:
			failed = append(failed, a)
		}
	}
	return failed
}
