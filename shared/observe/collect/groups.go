package collect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

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

// groupsOf returns the groups of findings that have such a name, the most urgent first.
func (l *look) groupsOf(name func(roll.Group) (string, bool)) []roll.Group {
	groups := distinct(roll.Map(l.needing(needOwner), func(f *roll.Finding) roll.Group { return f.Group }))
	return slices.DeleteFunc(groups, func(g roll.Group) bool { _, ok := name(g); return !ok })
}

// ofGroups reads one fact of each of the groups, of which total are read per check.
func ofGroups[V any](l *look, groups []roll.Group, total int, what string, read func(roll.Group) evidence.Fact[V], place func(*evidence.Group) *evidence.Fact[V]) {
	set := func(group roll.Group, fact evidence.Fact[V]) {
		l.group(group, func(g *evidence.Group) { *place(g) = fact })
	}
	groups, left := first(groups, l.most(total))
	for _, group := range groups {
		set(group, read(group))
	}
	for _, group := range left {
		set(group, evidence.Skipped[V](fmt.Sprintf("%d %s are read per check, the most urgent first", total, what)))
	}
}

func (l *look) readNodeGroups() {
	a := l.action("eks:DescribeNodegroup")
	ofGroups(l, l.groupsOf(roll.Group.NodeGroup), groupsTotal, "groups", func(group roll.Group) evidence.Fact[evidence.NodeGroup] {
		name, _ := group.NodeGroup()
		in := &eks.DescribeNodegroupInput{ClusterName: aws.String(l.in.Snapshot.Cluster.ID.Name), NodegroupName: aws.String(name)}
		return part(a, name, l.eks.DescribeNodegroup, in, func(out *eks.DescribeNodegroupOutput) *ekstypes.Nodegroup { return out.Nodegroup }, project.NodeGroup)
	}, func(g *evidence.Group) *evidence.Fact[evidence.NodeGroup] { return &g.NodeGroup })
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

func (l *look) readAutoScaling() {
	groups, names := l.scaled()
	described, _ := first(groups, l.most(groupsTotal))
	wanted := roll.Map(described, func(g roll.Group) string { return names[g] })
	facts := byID(l.action("autoscaling:DescribeAutoScalingGroups"), distinct(wanted), scalingSize, l.autoScaling.DescribeAutoScalingGroups,
		func(names []string) *autoscaling.DescribeAutoScalingGroupsInput {
			return &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: names}
		},
		func(out *autoscaling.DescribeAutoScalingGroupsOutput) []asgtypes.AutoScalingGroup {
			return out.AutoScalingGroups
		}, func(g *asgtypes.AutoScalingGroup) *string { return g.AutoScalingGroupName },
		func(g *asgtypes.AutoScalingGroup) evidence.AutoScalingGroup { return project.ScalingGroup(*g) })
	listed := map[roll.InstanceID]string{}
	ofGroups(l, groups, groupsTotal, "groups", func(group roll.Group) evidence.Fact[evidence.AutoScalingGroup] {
		fact := facts[names[group]]
		maps.Copy(listed, fact.Value.Lifecycles)
		return fact
	}, func(g *evidence.Group) *evidence.Fact[evidence.AutoScalingGroup] { return &g.AutoScaling })
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
		func(out *autoscaling.DescribeAutoScalingInstancesOutput) []asgtypes.AutoScalingInstanceDetails {
			return out.AutoScalingInstances
		},
		func(i *asgtypes.AutoScalingInstanceDetails) *string { return i.InstanceId }, func(*asgtypes.AutoScalingInstanceDetails) bool { return true })
}

// readActivities reads the latest scaling activities of the groups, the newest first, in Auto
// Scaling's order. For a deleted group Auto Scaling returns none.
func (l *look) readActivities() {
	a := l.action("autoscaling:DescribeScalingActivities")
	groups, names := l.scaled()
	ofGroups(l, groups, groupsTotal, "groups", func(group roll.Group) evidence.Fact[[]evidence.Activity] {
		in := &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String(names[group]), MaxRecords: aws.Int32(activitiesEach), IncludeDeletedGroups: aws.Bool(true)}
		return one(a, l.autoScaling.DescribeScalingActivities, in, func(out *autoscaling.DescribeScalingActivitiesOutput) evidence.Fact[[]evidence.Activity] {
			return evidence.Read(project.Activities(out.Activities))
		})
	}, func(g *evidence.Group) *evidence.Fact[[]evidence.Activity] { return &g.Activities })
}
