package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/redact"
	"rollcall/shared/kube"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

// quietAfter is how long after the last launch without capacity its node pool is assumed to launch
// again, or to have no pending requests. Karpenter retries an offering without capacity after 3
// minutes.
// https://github.com/aws/karpenter-provider-aws/blob/main/pkg/cache/cache.go
const quietAfter = 15 * time.Minute

// messageLength bounds the length of a kept message. A fleet request repeats one for each offering.
const messageLength = 1500

// readUnlaunched finds the groups whose launches fail. It uses the NodeClaims that were listed, the
// events of those without capacity, the node pools that are not ready, the Auto Scaling groups, the managed node groups, and the
// instances that EC2 terminated. If the cluster could not be read as a whole, it reads nothing.
func (o *Observer) readUnlaunched(ctx context.Context, s *roll.Snapshot, claims kube.NodeClaims, unread error) {
	if !s.Whole() {
		return
	}
	s.Launches, s.Unasked = map[roll.Group]roll.Launch{}, map[roll.Group]bool{}
	s.ClaimsRead = o.readClaimLaunches(ctx, s, claims, unread)
	groups, answer := o.readScalingLaunches(ctx, s)
	s.ScalingRead = answer
	s.NodeGroupsRead = o.readNodeGroupLaunches(ctx, s, groups)
	addTerminated(s)
}

// readClaimLaunches finds the node pools of Karpenter whose launches fail. NodeClaims that could
// not be read are already a gap.
func (o *Observer) readClaimLaunches(ctx context.Context, s *roll.Snapshot, claims kube.NodeClaims, unread error) roll.Answer {
	switch {
	case errors.Is(unread, kube.ErrNoNodeClaims):
		return roll.Yes
	case unread != nil:
		return roll.Unreadable
	}
	add := func(launches map[string]roll.Launch) {
		for pool, l := range launches {
			l.Message = harmless(l.Message)
			s.Launches[roll.NodePoolGroup(pool)] = l
		}
	}
	add(claims.Unlaunched)
	client, err := o.Kube.Dial(s.Cluster)
	if err != nil {
		return o.unlaunchedGap(ctx, s, roll.CallEvents, err)
	}
	answer := roll.Yes
	if events, err := client.NoCapacity(ctx); err == nil {
		addNoCapacity(s, claims, events)
	} else {
		answer = o.unlaunchedGap(ctx, s, roll.CallEvents, err)
	}
	switch pools, err := client.NodePools(ctx); {
	case errors.Is(err, kube.ErrNoNodeClaims):
	case err != nil:
		answer = o.unlaunchedGap(ctx, s, roll.CallNodePools, err)
	default:
		// Karpenter launches nothing for these, and deletes the NodeClaims that it created before, so
		// that what those said is over.
		// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/provisioning/provisioner.go
		add(pools.Unready)
		for pool, owner := range pools.Owners { // events and NodeClaims do not show it
			if l, failing := s.Launches[roll.NodePoolGroup(pool)]; failing {
				l.Owner = owner
				s.Launches[roll.NodePoolGroup(pool)] = l
			}
		}
	}
	return answer
}

// addNoCapacity adds failed launches of NodeClaims that have been deleted since. A NodeClaim's name
// is that of its node pool with a suffix of five more characters.
func addNoCapacity(s *roll.Snapshot, claims kube.NodeClaims, events []*kube.Event) {
	latest := map[string]time.Time{}
	for _, e := range events {
		pool, _ := poolOfClaim(e.InvolvedObject.Name)
		if e.Last().After(latest[pool]) {
			latest[pool] = e.Last()
		}
	}
	for _, e := range events {
		pool, ok := poolOfClaim(e.InvolvedObject.Name)
		if !ok || e.Last().Before(claims.Launched[pool]) || s.At.Sub(latest[pool]) > quietAfter {
			continue
		}
		group := roll.NodePoolGroup(pool)
		l, known := s.Launches[group]
		if !known {
			l = roll.Launch{Owner: roll.OwnerKarpenter, Since: e.First()}
		}
		if e.First().Before(l.Since) && !e.First().Before(claims.Launched[pool]) {
			l.Since = e.First()
		}
		if e.Last().After(l.Failed) {
			l.Failed, l.Message, l.Source, l.Field = e.Last(), harmless(e.Message), "NodeClaim", "Event InsufficientCapacityError"
		}
		s.Launches[group] = l
	}
}

func poolOfClaim(claim string) (string, bool) {
	i := strings.LastIndexByte(claim, '-')
	if i <= 0 || len(claim)-i-1 != 5 {
		return "", false
	}
	return claim[:i], true
}

// readScalingLaunches finds the Auto Scaling groups of the cluster that have fewer instances than
// desired, and among these the groups whose latest launches failed. It returns the managed node
// groups that have an Auto Scaling group, and whether instances are missing in each.
func (o *Observer) readScalingLaunches(ctx context.Context, s *roll.Snapshot) (map[string]bool, roll.Answer) {
	var short []evidence.AutoScalingGroup
	managed, seen := map[string]bool{}, map[string]bool{}
	note := func(g evidence.AutoScalingGroup) {
		seen[g.Name] = true
		group, _ := groupOf(g)
		if name, ok := group.NodeGroup(); ok {
			managed[name] = managed[name] || lacks(g)
		}
		if lacks(g) {
			short = append(short, g)
		}
	}
	err := o.eachScalingGroup(ctx, s.Cluster.ID.Name, note)
	if names := untaggedGroups(s, seen); err == nil && len(names) > 0 {
		err = o.scalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: names, MaxRecords: aws.Int32(autoScalingBatch)}, note)
	}
	if err != nil {
		return managed, o.unlaunchedGap(ctx, s, roll.CallAutoScalingGroups, err)
	}
	// Auto Scaling suspends processes of a group that has not launched any instance for a day. That ends
	// no failure.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-suspend-resume-processes.html
	short = slices.DeleteFunc(short, func(g evidence.AutoScalingGroup) bool {
		suspended := slices.Contains(g.SuspendedProcesses, "Launch") && !g.GaveUp
		if group, _ := groupOf(g); suspended {
			s.Suspended = append(s.Suspended, group)
		}
		return suspended
	})
	if all := len(short); all > groupReads {
		short = roll.InTurn(short, groupReads/4, s.At)
		for _, g := range short[groupReads:] {
			group, _ := groupOf(g)
			s.Unasked[group] = true
		}
		short = short[:groupReads]
		unknown(s, roll.CallScalingActivities, roll.GapLater, fmt.Sprintf("%d groups have too few instances, and the activities of %d were read; those of the others are read in turn", all, groupReads))
	}
	answer := roll.Yes
	for _, g := range short {
		group, owner := groupOf(g)
		out, err := direct(o, o.autoScaling.DescribeScalingActivities)(ctx, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String(g.Name), MaxRecords: aws.Int32(activities)})
		if err != nil {
			answer = o.unlaunchedGap(ctx, s, roll.CallScalingActivities, err)
			break
		}
		if l, failed := failedRun(project.Activities(out.Activities)); failed {
			l.Owner = owner
			s.Launches[group] = l
		}
	}
	return managed, answer
}

// untaggedGroups returns the Auto Scaling groups without the cluster's tag that have an instance which
// is a node of the cluster: a group need not carry the tags of its instances.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
func untaggedGroups(s *roll.Snapshot, tagged map[string]bool) []string {
	var names []string
	for _, m := range roll.Pair(s) {
		if i := m.Instance; i != nil && m.Node != nil && i.ASG != "" && i.Owner == roll.OwnerAutoScalingGroup && i.OtherCluster == "" && !i.Ambiguous && !tagged[i.ASG] {
			names = append(names, i.ASG)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), groupReads)]
}

// lacks reports whether the group is to launch an instance.
func lacks(g evidence.AutoScalingGroup) bool {
	there, known := g.Capacity(stays)
	return known && !g.Deleting && there < g.Desired
}

// full reports whether the group has all that it is to have, perhaps more.
func full(g evidence.AutoScalingGroup) bool {
	there, known := g.Capacity(stays)
	return known && there >= g.Desired
}

// stays reports whether an instance with the lifecycle state counts for the desired capacity. Those that are being
// launched, or wait for a lifecycle hook, do. Instances in a warm pool are not listed among those of the group.
// Those in Standby are listed, but the desired capacity does not include them.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-enter-exit-standby.html
func stays(state string) bool {
	return !strings.HasPrefix(state, "Terminat") && !strings.HasPrefix(state, "Detach") && !inStandby(state)
}

// inStandby reports whether an instance with the lifecycle state is in Standby.
func inStandby(state string) bool { return state == "Standby" || state == "EnteringStandby" }

// groupOf returns the group and owner that an Auto Scaling group of the cluster represents.
func groupOf(g evidence.AutoScalingGroup) (roll.Group, roll.Owner) {
	if g.NodeGroup != "" {
		return roll.NodeGroupGroup(g.NodeGroup), roll.OwnerManagedNodeGroup
	}
	return roll.AutoScalingGroup(g.Name), roll.OwnerAutoScalingGroup
}

// endedEarly is what Auto Scaling says of a launch whose instance ended by itself, such as for want
// of its volume's key. It cancels some of these launches, and others fail.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
const endedEarly = "Instance became unhealthy while waiting for instance to be in InService state"

// failedRun returns the run of failed launches since the latest that succeeded; false if there is
// none. A cancelled launch does not count, unless its instance ended before it was in service.
func failedRun(newestFirst []evidence.Activity) (roll.Launch, bool) {
	var l roll.Launch
	for _, a := range failedLaunches(newestFirst) {
		if a.Status == launchCancelled && !strings.Contains(a.Message, endedEarly) {
			continue
		}
		if l.Failed.IsZero() {
			l.Failed, l.Message, l.Source, l.Field = a.At, harmless(a.Message), "scaling activity", "StatusMessage"
		}
		l.Since = a.Started
	}
	return l, !l.Failed.IsZero()
}

// harmless returns a message without secrets and of limited length.
func harmless(message string) string {
	message = redact.Text(message)
	if len(message) > messageLength {
		message = strings.ToValidUTF8(message[:messageLength], "") + "..."
	}
	return message
}
