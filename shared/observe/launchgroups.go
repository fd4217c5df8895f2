package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/evidence"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const (
	// nodeGroupReads bounds the managed node groups that are described per check. Each costs a
	// call. It is the default quota of managed node groups per cluster, which AWS raises on request.
	// https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
	nodeGroupReads = 30
	// nodeGroupPage is the maximum number of names that ListNodegroups returns at once.
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListNodegroups.html
	nodeGroupPage = 100
	// terminatedFor is how long a launch that EC2 terminated counts: DescribeInstances may
	// show a terminated instance for about an hour.
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
	terminatedFor = time.Hour
)

// otherIssues are the health issues of a managed node group that do not prevent it from launching
// instances. For nodes that do not join, the kind Unregistered shows more. A group with another version of
// its launch template than EKS made launches from that version, and subnets that assign no public
// addresses take instances.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
var otherIssues = []ekstypes.NodegroupIssueCode{
	ekstypes.NodegroupIssueCodeEc2LaunchTemplateVersionMismatch, ekstypes.NodegroupIssueCodeEc2SubnetInvalidConfiguration,
	ekstypes.NodegroupIssueCodeAccessDenied, ekstypes.NodegroupIssueCodeClusterUnreachable, ekstypes.NodegroupIssueCodeNodeCreationFailure,
	ekstypes.NodegroupIssueCodeKubernetesLabelInvalid, ekstypes.NodegroupIssueCodePodEvictionFailure, ekstypes.NodegroupIssueCodeNodeTerminationFailure,
	ekstypes.NodegroupIssueCodeEc2SecurityGroupDeletionFailure, ekstypes.NodegroupIssueCodeEc2LaunchTemplateDeletionFailure,
	ekstypes.NodegroupIssueCodeAutoScalingGroupInstanceRefreshActive, ekstypes.NodegroupIssueCodeAutoScalingGroupRateLimitExceeded,
	ekstypes.NodegroupIssueCodeIamThrottling,
}

// fullIssues are the health issues that say nothing about the next launch of a group that has its desired
// capacity. EKS reports a failed launch until another one succeeds, even if the group wants none any
// more. It also reports a group whose subnets or suspended processes were changed, which launches as before.
// https://github.com/aws/containers-roadmap/issues/2326
// https://github.com/aws/containers-roadmap/issues/170
var fullIssues = []ekstypes.NodegroupIssueCode{
	ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures, ekstypes.NodegroupIssueCodeInstanceLimitExceeded,
	ekstypes.NodegroupIssueCodeAutoScalingGroupInvalidConfiguration,
}

// readNodeGroupLaunches finds the managed node groups that EKS could not create, or whose health
// issues prevent them from launching instances. Of too many it reads groups without an Auto Scaling
// group first, then those with missing instances, and others in turn.
func (o *Observer) readNodeGroupLaunches(ctx context.Context, s *roll.Snapshot, scaled map[string]bool) roll.Answer {
	names, err := o.nodeGroups(ctx, s.Cluster.ID.Name)
	if err != nil {
		return o.unlaunchedGap(ctx, s, roll.CallNodegroups, err)
	}
	urgency := func(name string) int {
		switch short, ok := scaled[name]; {
		case !ok:
			return 0
		case short && !s.Unasked[roll.NodeGroupGroup(name)]:
			return 1 // both sources are read in one check
		}
		return 2
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(urgency(a)-urgency(b), strings.Compare(a, b)) })
	if all := len(names); all > nodeGroupReads {
		names = roll.InTurn(names, nodeGroupReads-5, s.At)
		for _, name := range names[nodeGroupReads:] {
			s.Unasked[roll.NodeGroupGroup(name)] = true
		}
		names = names[:nodeGroupReads]
		unknown(s, roll.CallNodegroup, roll.GapLater, fmt.Sprintf("there are %d managed node groups, of which %d were described, the most urgent and others in turn", all, nodeGroupReads))
	}
	for _, name := range names {
		out, err := direct(o, o.eks.DescribeNodegroup)(ctx, &eks.DescribeNodegroupInput{ClusterName: aws.String(s.Cluster.ID.Name), NodegroupName: aws.String(name)})
		switch {
		case awserr.IsNotFound(err): // deleted since it was listed
		case err != nil:
			return o.unlaunchedGap(ctx, s, roll.CallNodegroup, err)
		case out.Nodegroup != nil:
			short, known := scaled[name]
			unread := !known && s.ScalingRead != roll.Yes
			addNodeGroup(s, name, project.NodeGroup(out.Nodegroup), unread || known && !short)
		}
	}
	return roll.Yes
}

func (o *Observer) nodeGroups(ctx context.Context, cluster string) (names []string, err error) {
	in := &eks.ListNodegroupsInput{ClusterName: aws.String(cluster), MaxResults: aws.Int32(nodeGroupPage)}
	err = project.EachPage(ctx, direct(o, o.eks.ListNodegroups), in, func(out *eks.ListNodegroupsOutput) { names = append(names, out.Nodegroups...) })
	return names, err
}

// addNodeGroup adds a managed node group that EKS could not create or for which it cannot launch
// instances. EKS does not report when an issue began, so it counts from this check, or from the
// failed creation. full: its Auto Scaling group has its desired capacity, or could not be read.
func addNodeGroup(s *roll.Snapshot, name string, g evidence.NodeGroup, full bool) {
	if g.Status == string(ekstypes.NodegroupStatusDeleting) || g.Status == string(ekstypes.NodegroupStatusDeleteFailed) {
		return
	}
	failed := g.Status == string(ekstypes.NodegroupStatusCreateFailed)
	var issues []roll.HealthIssue
	for _, i := range harmlessIssues(g.Issues) {
		code := ekstypes.NodegroupIssueCode(i.Code)
		launches := slices.Contains(otherIssues, code) || full && slices.Contains(fullIssues, code)
		if failed || !launches {
			issues = append(issues, i)
		}
	}
	if !failed && len(issues) == 0 {
		return
	}
	group := roll.NodeGroupGroup(name)
	l, known := s.Launches[group]
	if !known {
		l = roll.Launch{Owner: roll.OwnerManagedNodeGroup, Since: s.At, Failed: s.At, Source: "managed node group", Field: "health.issues", Message: roll.HealthIssues(issues)}
		if failed && !g.Created.IsZero() && g.Created.Before(s.At) {
			l.Since = g.Created
		}
	}
	l.Issues = issues
	lasts := func(i roll.HealthIssue) bool {
		return !slices.Contains(fullIssues, ekstypes.NodegroupIssueCode(i.Code))
	}
	if failed || g.Status == string(ekstypes.NodegroupStatusDegraded) && slices.ContainsFunc(issues, lasts) {
		l.Status = g.Status
	}
	s.Launches[group] = l
}

// addTerminated adds the groups whose latest launches EC2 terminated before they ran. To Karpenter
// and to a fleet such a launch succeeded, so perhaps nothing else reports it.
func addTerminated(s *roll.Snapshot) {
	running := map[roll.Group]time.Time{} // launch time of the latest instance that got past pending
	for i := range s.Instances {
		inst := &s.Instances[i]
		if inst.LaunchFailure == "" && inst.State != roll.StatePending && inst.Launched.After(running[inst.Group]) {
			running[inst.Group] = inst.Launched
		}
	}
	var failed []*roll.Instance
	for i := range s.Instances {
		inst := &s.Instances[i]
		theirs := inst.Group == roll.GroupNone || inst.Unclaimed || inst.Ambiguous || inst.OtherCluster != "" || inst.Ignore
		if inst.LaunchFailure != "" && !theirs && inst.Launched.After(running[inst.Group]) && s.At.Sub(inst.Launched) <= terminatedFor {
			failed = append(failed, inst)
		}
	}
	for _, all := range roll.Grouped(failed, func(i *roll.Instance) roll.Group { return i.Group }) {
		slices.SortFunc(all, func(a, b *roll.Instance) int { return cmp.Or(a.Launched.Compare(b.Launched), cmp.Compare(b.ID, a.ID)) })
		last, group := all[len(all)-1], all[0].Group
		l := roll.Launch{
			Owner: last.Owner, Since: all[0].Launched, Failed: last.Launched, Message: last.LaunchFailure, Source: "instance " + string(last.ID), Field: "StateReason",
		}
		if known, ok := s.Launches[group]; ok {
			if l.Since.Before(known.Since) {
				known.Since = l.Since
			}
			if known.Message == "" {
				known.Message, known.Source, known.Field, known.Failed = l.Message, l.Source, l.Field, l.Failed
			}
			l = known
		}
		s.Launches[group] = l
	}
}
