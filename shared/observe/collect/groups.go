package collect

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/evidence"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const (
	// groupsTotal is how many groups of EKS and Auto Scaling are read per check.
	groupsTotal = 10
	// activitiesEach is how many of a group's scaling activities are read: enough to find the last
	// launches among terminations.
	activitiesEach = 20
	// scalingSize is the maximum number of groups that one call names.
	scalingSize = 50
)

const whyGroups = "10 groups are read per check, the most urgent first"

// readNodeGroups describes the managed node groups of findings.
func (l *look) readNodeGroups() {
	a := l.action("eks:DescribeNodegroup")
	var groups []roll.Group
	for _, f := range l.needing(needOwner) {
		if _, ok := f.Group.NodeGroup(); ok {
			groups = append(groups, f.Group)
		}
	}
	groups, left := first(distinct(groups), l.most(groupsTotal))
	for _, group := range groups {
		name, _ := group.NodeGroup()
		in := &eks.DescribeNodegroupInput{ClusterName: aws.String(l.in.Snapshot.Cluster.ID.Name), NodegroupName: aws.String(name)}
		fact := one(a, l.eks.DescribeNodegroup, in, func(out *eks.DescribeNodegroupOutput) evidence.Fact[evidence.NodeGroup] {
			if out.Nodegroup == nil {
				return hollow[evidence.NodeGroup](l, "eks:DescribeNodegroup of "+name+": the answer holds none")
			}
			return evidence.Read(project.NodeGroup(out.Nodegroup))
		})
		l.group(group, func(g *evidence.Group) { g.NodeGroup = fact })
	}
	for _, group := range left {
		l.group(group, func(g *evidence.Group) { g.NodeGroup = evidence.Skipped[evidence.NodeGroup](whyGroups) })
	}
}

// scaled returns the groups of findings that Auto Scaling manages, the most urgent first, and the
// names of their Auto Scaling groups. Instances may outlive a group that was deleted and created
// again; the first name counts.
func (l *look) scaled() (groups []roll.Group, names map[roll.Group]string) {
	names = map[roll.Group]string{}
	for _, f := range l.needing(needOwner) {
		if asg := l.asg(f.Instance); asg != "" && f.Group != roll.GroupNone && names[f.Group] == "" {
			groups, names[f.Group] = append(groups, f.Group), asg
		}
	}
	return groups, names
}

// asg returns the Auto Scaling group of an instance, "" if it has none or is unknown.
func (l *look) asg(id roll.InstanceID) string {
	if config := l.config(id); config.Known() {
		return config.Value.ASG
	}
	if i := l.in.Snapshot.Instance(id); i != nil {
		return i.ASG
	}
	return ""
}

// readAutoScaling describes the Auto Scaling groups of findings.
func (l *look) readAutoScaling() {
	groups, names := l.scaled()
	groups, left := first(groups, l.most(groupsTotal))
	wanted := roll.Map(groups, func(g roll.Group) string { return names[g] })
	facts := byID(l.action("autoscaling:DescribeAutoScalingGroups"), distinct(wanted), scalingSize, l.autoScaling.DescribeAutoScalingGroups,
		func(names []string) *autoscaling.DescribeAutoScalingGroupsInput {
			return &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: names}
		},
		func(found map[string]evidence.AutoScalingGroup, out *autoscaling.DescribeAutoScalingGroupsOutput) {
			for _, g := range out.AutoScalingGroups {
				found[aws.ToString(g.AutoScalingGroupName)] = project.ScalingGroup(g)
			}
		})
	listed := map[roll.InstanceID]string{}
	for _, group := range groups {
		fact := facts[names[group]]
		maps.Copy(listed, fact.Value.Lifecycles)
		l.group(group, func(g *evidence.Group) { g.AutoScaling = fact })
	}
	for _, group := range left {
		l.group(group, func(g *evidence.Group) { g.AutoScaling = evidence.Skipped[evidence.AutoScalingGroup](whyGroups) })
	}
	l.readScalingInstances(listed)
}

// readScalingInstances reads the findings' instances that no group lists: one that was detached, or
// all of a group that could not be read. No analyzer needs the answers, but the recorder keeps
// them: without them the kept evidence could not be diagnosed again.
func (l *look) readScalingInstances(listed map[roll.InstanceID]string) {
	var ids []string
	for _, id := range l.instancesNeeding(needOwner) {
		if _, ok := listed[id]; !ok && l.asg(id) != "" {
			ids = append(ids, string(id))
		}
	}
	ids, _ = first(ids, l.most(scalingSize))
	byID(l.action("autoscaling:DescribeAutoScalingInstances"), ids, scalingSize, l.autoScaling.DescribeAutoScalingInstances,
		func(ids []string) *autoscaling.DescribeAutoScalingInstancesInput {
			return &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: ids}
		},
		func(map[string]bool, *autoscaling.DescribeAutoScalingInstancesOutput) {})
}

// readActivities reads the latest scaling activities of the groups, the newest first, in Auto
// Scaling's order. For a deleted group Auto Scaling returns none.
func (l *look) readActivities() {
	a := l.action("autoscaling:DescribeScalingActivities")
	groups, names := l.scaled()
	groups, left := first(groups, l.most(groupsTotal))
	for _, group := range groups {
		in := &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String(names[group]), MaxRecords: aws.Int32(activitiesEach), IncludeDeletedGroups: aws.Bool(true)}
		fact := one(a, l.autoScaling.DescribeScalingActivities, in, func(out *autoscaling.DescribeScalingActivitiesOutput) evidence.Fact[[]evidence.Activity] {
			return evidence.Read(project.Activities(out.Activities))
		})
		l.group(group, func(g *evidence.Group) { g.Activities = fact })
	}
	for _, group := range left {
		l.group(group, func(g *evidence.Group) { g.Activities = evidence.Skipped[[]evidence.Activity](whyGroups) })
	}
}
