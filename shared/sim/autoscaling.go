package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

type autoScalingAPI struct{ v *env }

// The maximum number of names in one call of Auto Scaling.
const (
	groupsNamed    = 100
	instancesNamed = 50
)

// scaled returns the group behind an Auto Scaling group, nil if there is none of that name.
func (a *account) scaled(name string) *group {
	for _, c := range a.clusters {
		if g := find(c.groups, func(g *group) bool { return g.isScaled() && g.asgName() == name }); g != nil {
			return g
		}
	}
	return nil
}

// isScaled reports whether the group has an Auto Scaling group. That of a node group is deleted before its cluster.
func (g *group) isScaled() bool {
	return g.owner == autoScaling || g.owner == nodeGroup && g.c.exists()
}

// DescribeAutoScalingGroups returns the existing groups by name, or groups by tag key.
func (s autoScalingAPI) DescribeAutoScalingGroups(in *autoscaling.DescribeAutoScalingGroupsInput, out *autoscaling.DescribeAutoScalingGroupsOutput) error {
	if n := len(in.AutoScalingGroupNames); n > groupsNamed || (n == 0) != (len(in.Filters) == 1) || in.NextToken != nil {
		s.v.unsimulated(in)
	}
	for _, name := range in.AutoScalingGroupNames {
		if g := s.v.a.scaled(name); g != nil {
			out.AutoScalingGroups = append(out.AutoScalingGroups, g.scaling())
		}
	}
	for _, f := range in.Filters {
		for _, c := range s.v.a.clusters {
			for _, g := range c.groups {
				if g.isScaled() && slices.Contains(f.Values, "kubernetes.io/cluster/"+c.name) {
					out.AutoScalingGroups = append(out.AutoScalingGroups, g.scaling())
				}
			}
		}
	}
	return nil
}

func (g *group) scaling() types.AutoScalingGroup {
	c := g.c
	inStandby := count(g.members, func(m *machine) bool { return m.aside == standby }) // which the desired capacity leaves out
	out := types.AutoScalingGroup{
		AutoScalingGroupName: aws.String(g.asgName()), AutoScalingGroupARN: aws.String(g.asgARN()), CreatedTime: aws.Time(c.created),
		MinSize: aws.Int32(0), DesiredCapacity: aws.Int32(int32(g.desired - inStandby)), MaxSize: aws.Int32(int32(2*g.desired + 1)),
		HealthCheckType: aws.String("EC2"), HealthCheckGracePeriod: aws.Int32(15), DefaultCooldown: aws.Int32(300),
		AvailabilityZones: zones, VPCZoneIdentifier: aws.String(strings.Join(c.subnets(), ",")), LaunchTemplate: g.template.specification(),
	}
	for _, m := range c.machines {
		if m.g != g || m.state == terminated && !m.missed() || m.inPool() {
			continue
		}
		launchedWith := out.LaunchTemplate // most have it: they share it
		if m.template.version != g.template.version || m.template.id != g.template.id {
			launchedWith = m.template.specification()
		}
		if out.Instances == nil {
			out.Instances = make([]types.Instance, 0, len(g.members))
		}
		out.Instances = append(out.Instances, types.Instance{
			InstanceId: &m.id, AvailabilityZone: &m.zone, HealthStatus: aws.String(m.health()), LifecycleState: m.lifecycle(),
			LaunchTemplate: launchedWith, ProtectedFromScaleIn: aws.Bool(!m.shielded.IsZero()),
		})
	}
	out.Tags = []types.TagDescription{{Key: aws.String("kubernetes.io/cluster/" + c.name), Value: aws.String("owned")}}
	if g.owner == nodeGroup {
		out.Tags = append(out.Tags, types.TagDescription{Key: aws.String("eks:nodegroup-name"), Value: aws.String(g.name)})
	}
	if g.suspended {
		out.SuspendedProcesses = []types.SuspendedProcess{{ProcessName: aws.String("Launch"), SuspensionReason: aws.String("User suspended")}}
	}
	for _, p := range g.halted {
		out.SuspendedProcesses = append(out.SuspendedProcesses, types.SuspendedProcess{ProcessName: aws.String(p), SuspensionReason: aws.String("User suspended at " + g.troubled.UTC().Format("2006-01-02T15:04:05Z"))})
	}
	return out
}

func (g *group) asgARN() string {
	return fmt.Sprintf("arn:aws:autoscaling:%s:%s:autoScalingGroup:%s:autoScalingGroupName/%s", region, accountID, uid(g.d.of("asg")), g.asgName())
}

func (t *template) specification() *types.LaunchTemplateSpecification {
	return &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(t.id), Version: aws.String(strconv.Itoa(t.version))}
}

func (m *machine) lifecycle() types.LifecycleState {
	switch {
	case m.aside != "" && m.state != shuttingDown && m.state != terminated:
		return types.LifecycleState(m.aside)
	case m.state == pending:
		return types.LifecycleStatePending
	case m.state == running, m.state == stopping, m.state == stopped, m.missed(): // it stays so until the group replaces it
		return types.LifecycleStateInService
	}
	return types.LifecycleStateTerminating
}

// missed reports whether its group has not noticed that the machine is terminated, or does not act on it.
func (m *machine) missed() bool { return m.g.misses() && slices.Contains(m.g.missed, m) }

// health returns the machine's health status in its group, which goes by its state.
func (m *machine) health() string {
	if m.aside != leaving && (m.alive() || m.aside != "") || m.lifecycle() == types.LifecycleStateInService && m.g.halt("HealthCheck") {
		return "Healthy"
	}
	return "Unhealthy"
}

// DescribeAutoScalingInstances returns instances by ID, without those that are in no group.
func (s autoScalingAPI) DescribeAutoScalingInstances(in *autoscaling.DescribeAutoScalingInstancesInput, out *autoscaling.DescribeAutoScalingInstancesOutput) error {
	if n := len(in.InstanceIds); n == 0 || n > instancesNamed || in.NextToken != nil {
		s.v.unsimulated(in)
	}
	for _, id := range in.InstanceIds {
		m := s.v.a.machines[id]
		if m == nil || m.state == terminated && !m.missed() || !m.g.isScaled() {
			continue
		}
		out.AutoScalingInstances = append(out.AutoScalingInstances, types.AutoScalingInstanceDetails{
			InstanceId: &m.id, AutoScalingGroupName: aws.String(m.g.asgName()), AvailabilityZone: &m.zone, HealthStatus: aws.String(strings.ToUpper(m.health())),
			LifecycleState: aws.String(string(m.lifecycle())), LaunchTemplate: m.template.specification(), ProtectedFromScaleIn: aws.Bool(!m.shielded.IsZero()),
		})
	}
	return nil
}

// DescribeScalingActivities returns the latest activities of a group, newest first.
func (s autoScalingAPI) DescribeScalingActivities(in *autoscaling.DescribeScalingActivitiesInput, out *autoscaling.DescribeScalingActivitiesOutput) error {
	if in.AutoScalingGroupName == nil || in.MaxRecords == nil || in.NextToken != nil || len(in.ActivityIds) > 0 {
		s.v.unsimulated(in)
	}
	g := s.v.a.scaled(*in.AutoScalingGroupName)
	switch {
	case g != nil:
		out.Activities, _ = cut(g.history(), nil, in.MaxRecords)
	case !aws.ToBool(in.IncludeDeletedGroups):
		return badRequest("ValidationError", "AutoScalingGroup name not found - AutoScalingGroup %s not found", *in.AutoScalingGroupName)
	}
	return nil
}

// ending is a machine that the group took out of service.
type ending struct {
	m     *machine
	at    time.Time
	cause string
}

// ends records that the group takes a machine out of service.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-healthchecks.html
func (g *group) ends(m *machine, cause string) {
	if g.asgName() == "" || slices.ContainsFunc(g.endings, func(e ending) bool { return e.m == m }) {
		return
	}
	g.endings = append([]ending{{m, g.c.a.Now(), cause}}, g.endings[:min(len(g.endings), 19)]...)
}

// history returns the latest activities of the group, newest first: launches, also those in progress, and terminations.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_Activity.html
func (g *group) history() []types.Activity {
	all := slices.Clone(g.activities)
	for i := range all {
		id, ok := strings.CutPrefix(aws.ToString(all[i].Description), "Launching a new EC2 instance: ")
		if m := g.c.a.machines[id]; ok && m != nil && m.state == pending && all[i].StatusCode == types.ScalingActivityStatusCodeSuccessful {
			all[i].StatusCode, all[i].Progress, all[i].EndTime = types.ScalingActivityStatusCodePreInService, aws.Int32(30), nil
		}
	}
	for _, e := range g.endings {
		at := e.at.UTC().Format("2006-01-02T15:04:05Z")
		a := g.activity(true, "Terminating EC2 instance: "+e.m.id)
		a.ActivityId, a.StartTime, a.EndTime, a.Cause = aws.String(uid(e.m.d.of("ends"))), aws.Time(e.at), nil, aws.String("At "+at+" an instance was taken out of service in response to "+e.cause+".")
		switch {
		case e.m.state == terminated:
			a.EndTime = aws.Time(latest(e.m.ended, e.at).Add(time.Minute))
		case e.m.aside != "":
			a.StatusCode, a.Progress = types.ScalingActivityStatusCodeMidLifecycleAction, aws.Int32(60)
		default:
			a.StatusCode, a.Progress = types.ScalingActivityStatusCodeInProgress, aws.Int32(50)
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b types.Activity) int { return b.StartTime.Compare(*a.StartTime) })
	return all
}

// activity returns a scaling activity of the group: a launch that succeeded or failed.
func (g *group) activity(ok bool, message string) types.Activity {
	at := g.c.a.Now()
	out := types.Activity{
		ActivityId: aws.String(uid(g.d.of("activity").of(at.String()).nth(len(g.activities)))), AutoScalingGroupName: aws.String(g.asgName()), AutoScalingGroupARN: aws.String(g.asgARN()),
		Description: aws.String(message), StatusCode: types.ScalingActivityStatusCodeSuccessful, Progress: aws.Int32(100), StartTime: aws.Time(at), EndTime: aws.Time(at),
		Cause: aws.String(fmt.Sprintf("At %s an instance was started in response to a difference between desired and actual capacity.", at.UTC().Format("2006-01-02T15:04:05Z"))),
	}
	if !ok {
		out.Description, out.StatusMessage = aws.String("Launching a new EC2 instance.  Status Reason: "+message), aws.String(message)
		out.StatusCode = types.ScalingActivityStatusCodeFailed
	}
	return out
}
