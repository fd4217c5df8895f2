package observe

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"

	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// more observes the account and reads the answers to the questions about it.
func more(t *testing.T, a *account, questions []roll.Question) *roll.Snapshot {
	t.Helper()
	o := a.observer()
	fail := a.fail // reads of details fail, not those of the cluster
	a.fail = map[string]error{}
	s := o.Snapshot(t.Context(), "demo", at, roll.Watch{})
	a.fail = fail
	clear(a.seen)
	must.That(t, len(s.Gaps) == 0, "gaps %+v", s.Gaps)
	a.log, a.asked, a.fail = nil, nil, fail
	clear(a.seen)
	o.Details(t.Context(), s, questions)
	return s
}

func (a *account) asg(name string, suspended ...string) {
	g := asgtypes.AutoScalingGroup{AutoScalingGroupName: aws.String(name)}
	for _, p := range suspended {
		g.SuspendedProcesses = append(g.SuspendedProcesses, asgtypes.SuspendedProcess{ProcessName: aws.String(p)})
	}
	a.groups = append(a.groups, g)
}

func nodeGroup(n int, name string) []string {
	return []string{owned, "eks:nodegroup-name=" + name, "eks:cluster-name=demo", fmt.Sprintf("aws:autoscaling:groupName=eks-%s-%d", name, n)}
}

func TestReadsWhatGroupsDoByThemselves(t *testing.T) {
	const spot = "Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration. Please adjust your request and try again. Launching EC2 instance failed."
	a := newAccount(t)
	a.launch(1, nodeGroup(0, "repaired")...)
	a.launch(2, nodeGroup(0, "plain")...)
	a.launch(3, nodeGroup(1, "plain")...) // of the Auto Scaling group that was there before
	a.launch(4, owned, "aws:autoscaling:groupName=web")
	a.launch(5, owned, "karpenter.sh/nodepool=default")
	a.launch(6, owned)
	a.launch(7, owned, "aws:autoscaling:groupName=unasked")
	a.nodeGroups["repaired"] = &ekstypes.Nodegroup{NodeRepairConfig: &ekstypes.NodeRepairConfig{Enabled: aws.Bool(true), NodeRepairConfigOverrides: []ekstypes.NodeRepairConfigOverrides{
		{NodeMonitoringCondition: aws.String("NetworkingReady"), NodeUnhealthyReason: aws.String("IPAMDNotRunning"), MinRepairWaitTimeMins: aws.Int32(15), RepairAction: ekstypes.RepairActionReplace},
		{NodeMonitoringCondition: aws.String("AcceleratedHardwareReady"), NodeUnhealthyReason: aws.String("NvidiaXID31Error"), MinRepairWaitTimeMins: aws.Int32(5), RepairAction: ekstypes.RepairActionNoAction},
	}}}
	a.nodeGroups["plain"] = &ekstypes.Nodegroup{}
	a.asg("eks-repaired-0", "AZRebalance")
	a.asg("eks-plain-0")
	a.asg("eks-plain-1", "Launch")
	a.asg("web", "HealthCheck")
	web := &a.groups[len(a.groups)-1]
	web.DesiredCapacity = aws.Int32(3)
	for _, state := range []asgtypes.LifecycleState{asgtypes.LifecycleStateStandby, asgtypes.LifecycleStateInService, asgtypes.LifecycleStateEnteringStandby} {
		web.Instances = append(web.Instances, asgtypes.Instance{InstanceId: aws.String(string(state)), LifecycleState: state})
	}
	a.scalings["web"] = []asgtypes.Activity{launchOf("Failed", spot, at.Add(-time.Minute))}
	a.scalings["eks-plain-1"] = []asgtypes.Activity{launchOf("Failed", spot, at.Add(-time.Hour))}
	s := more(t, a, suspects(1, 6, roll.Question{Group: true}))
	want := map[roll.Group]roll.GroupDetail{
		"nodegroup/repaired": {AutoRepair: roll.Yes, Overrides: []roll.RepairOverride{
			{Condition: "NetworkingReady", Reason: "IPAMDNotRunning", Wait: 15 * time.Minute}, {Condition: "AcceleratedHardwareReady", Reason: "NvidiaXID31Error", Wait: 5 * time.Minute, None: true},
		}, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, Complete: true, LaunchesRead: roll.Yes},
		"nodegroup/plain":  {AutoRepair: roll.No, LaunchSuspended: roll.Yes, ReplaceSuspended: roll.No, Complete: true, LaunchesRead: roll.Yes, LaunchFailed: at.Add(-time.Hour), LaunchMessage: spot},
		"asg/web":          {LaunchSuspended: roll.No, ReplaceSuspended: roll.Yes, Suspended: "HealthCheck", Desired: 3, Standby: 2, Instances: 3, LaunchesRead: roll.Yes, LaunchFailed: at.Add(-time.Minute), LaunchMessage: spot},
		"nodepool/default": {},
		"none":             {},
	}
	if diff := cmp.Diff(want, s.Groups); diff != "" || len(s.Gaps) != 0 {
		t.Errorf("gaps %+v (-want +got)\n%s", s.Gaps, diff)
	}
	calls := slices.DeleteFunc(slices.Clone(a.log), func(c string) bool { return c != "autoscaling:DescribeAutoScalingGroups" })
	if len(calls) != 2 || len(a.log) != 2+2+4 { // two pages of groups, two node groups, four lists of activities
		t.Errorf("calls %v", a.log)
	}

	// The detail of a group stays when the group is not read again.
	a.log = nil
	o := a.observer()
	o.Details(t.Context(), s, suspects(1, 6, roll.Question{Group: true}))
	diff := cmp.Diff(want, s.Groups)
	expect.That(t, diff == "" && len(a.log) == 0, "calls %v (-want +got)\n%s", a.log, diff)
}

// A group of two Auto Scaling groups lacks nothing only if neither does.
func TestAGroupThatLacksNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		states []asgtypes.LifecycleState // of the first, which is to have two
		want   bool
	}{
		"two in service":             {[]asgtypes.LifecycleState{"InService", "InService"}, true},
		"one more":                   {[]asgtypes.LifecycleState{"InService", "InService", "InService"}, true},
		"one joins":                  {[]asgtypes.LifecycleState{"InService", "Pending:Wait"}, true},
		"one leaves":                 {[]asgtypes.LifecycleState{"InService", "Terminating:Wait"}, false},
		"one rests":                  {[]asgtypes.LifecycleState{"InService", "Standby"}, false},
		"one, and more in the other": {[]asgtypes.LifecycleState{"InService"}, false},
	} {
		a := newAccount(t)
		a.launch(1, nodeGroup(0, "web")...)
		a.launch(2, nodeGroup(1, "web")...)
		a.nodeGroups["web"] = &ekstypes.Nodegroup{}
		a.asg("eks-web-0")
		a.asg("eks-web-1")
		for i, states := range [][]asgtypes.LifecycleState{tt.states, {"InService", "InService"}} {
			a.groups[i].DesiredCapacity = aws.Int32(int32(2 - i))
			for j, state := range states {
				a.groups[i].Instances = append(a.groups[i].Instances, asgtypes.Instance{InstanceId: aws.String(fmt.Sprint("i-", i, j)), LifecycleState: state})
			}
		}
		s := more(t, a, suspects(1, 2, roll.Question{Group: true}))
		expect.Equal(t, s.Groups["nodegroup/web"].Complete, tt.want, "%s", name)
	}
}

func TestSuspendedProcesses(t *testing.T) {
	for process, want := range map[string]roll.GroupDetail{
		"Launch":           {LaunchSuspended: roll.Yes, ReplaceSuspended: roll.No, Complete: true},
		"Terminate":        {LaunchSuspended: roll.No, ReplaceSuspended: roll.Yes, Complete: true, Suspended: "Terminate"},
		"ReplaceUnhealthy": {LaunchSuspended: roll.No, ReplaceSuspended: roll.Yes, Complete: true, Suspended: "ReplaceUnhealthy"},
		"HealthCheck":      {LaunchSuspended: roll.No, ReplaceSuspended: roll.Yes, Complete: true, Suspended: "HealthCheck"},
		"AZRebalance":      {LaunchSuspended: roll.No, ReplaceSuspended: roll.No, Complete: true},
	} {
		a := newAccount(t)
		a.launch(1, owned, "aws:autoscaling:groupName=web")
		a.asg("web", process)
		want.LaunchesRead = roll.Yes
		s := more(t, a, suspects(1, 1, roll.Question{Group: true}))
		expect.That(t, reflect.DeepEqual(s.Groups["asg/web"], want), "%s: %+v", process, s.Groups)
	}
}

func TestWhatOfAGroupCannotBeReadIsUnreadable(t *testing.T) {
	denied := func(service, call string) error {
		return apiError(service, call, "AccessDeniedException", "no")
	}
	tests := map[string]struct {
		spoil func(*account)
		call  string
		kind  roll.GapKind
		want  func(roll.GroupDetail) roll.GroupDetail
	}{
		"node group": {
			func(a *account) { a.fail["eks:DescribeNodegroup"] = denied("EKS", "DescribeNodegroup") }, "eks:DescribeNodegroup", roll.GapDenied,
			func(d roll.GroupDetail) roll.GroupDetail { d.AutoRepair = roll.Unreadable; return d },
		},
		"node group that is gone": {
			func(a *account) { clear(a.nodeGroups) }, "eks:DescribeNodegroup", roll.GapFailed,
			func(d roll.GroupDetail) roll.GroupDetail { d.AutoRepair = roll.Unreadable; return d },
		},
		"groups": {
			func(a *account) {
				a.fail["autoscaling:DescribeAutoScalingGroups"] = denied("Auto Scaling", "DescribeAutoScalingGroups")
			}, "autoscaling:DescribeAutoScalingGroups", roll.GapDenied,
			func(d roll.GroupDetail) roll.GroupDetail {
				d.LaunchSuspended, d.ReplaceSuspended, d.Complete = roll.Unreadable, roll.Unreadable, false
				return d
			},
		},
		"a group that is gone": {
			func(a *account) { a.groups = nil }, "autoscaling:DescribeAutoScalingGroups", roll.GapFailed,
			func(d roll.GroupDetail) roll.GroupDetail {
				d.LaunchSuspended, d.ReplaceSuspended, d.Complete = roll.Unreadable, roll.Unreadable, false
				return d
			},
		},
		"activities": {
			func(a *account) {
				a.fail["autoscaling:DescribeScalingActivities"] = denied("Auto Scaling", "DescribeScalingActivities")
			}, "autoscaling:DescribeScalingActivities", roll.GapDenied,
			func(d roll.GroupDetail) roll.GroupDetail { d.LaunchesRead = roll.Unreadable; return d },
		},
	}
	for name, tt := range tests {
		a := newAccount(t)
		a.launch(1, nodeGroup(0, "blue")...)
		a.nodeGroups["blue"] = &ekstypes.Nodegroup{}
		a.asg("eks-blue-0")
		tt.spoil(a)
		s := more(t, a, suspects(1, 1, roll.Question{Group: true}))
		want := tt.want(roll.GroupDetail{AutoRepair: roll.No, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, Complete: true, LaunchesRead: roll.Yes})
		expect.That(t, reflect.DeepEqual(s.Groups["nodegroup/blue"], want) && len(s.Gaps) == 1 && s.Gaps[0].Scope == roll.ScopeDetail && s.Gaps[0].Call == tt.call && s.Gaps[0].Kind == tt.kind, "%s: %+v, gaps %+v", name, s.Groups, s.Gaps)
	}
	// A missing permission is found once. A deleted node group does not affect the others.
	for code, calls := range map[string]int{"AccessDeniedException": 1, "ServerException": 3} {
		a := newAccount(t)
		for n, name := range []string{"a", "b", "c"} {
			a.launch(n+1, nodeGroup(0, name)...)
			a.asg("eks-" + name + "-0")
		}
		a.fail["eks:DescribeNodegroup"] = apiError("EKS", "DescribeNodegroup", code, "no")
		s := more(t, a, suspects(1, 3, roll.Question{Group: true}))
		if got := a.seen["eks:DescribeNodegroup"]; got != calls || len(s.Gaps) != 1 || s.Groups["nodegroup/c"].AutoRepair != roll.Unreadable || s.Groups["nodegroup/c"].LaunchSuspended != roll.No {
			t.Errorf("%s: %d calls, %+v, gaps %+v", code, got, s.Groups, s.Gaps)
		}
	}
}

// A long hold in some groups does not delay the others forever.
func TestOfManyGroupsTheMostUrgentAndOthersInTurnAreLookedUp(t *testing.T) {
	a := newAccount(t)
	var questions []roll.Question
	for n := 25; n >= 1; n-- {
		a.launch(n, nodeGroup(0, fmt.Sprint("g", n))...)
		a.nodeGroups[fmt.Sprint("g", n)] = &ekstypes.Nodegroup{}
		a.asg(fmt.Sprintf("eks-g%d-0", n))
	}
	for n := 1; n <= 25; n++ {
		questions = append(questions, suspects(n, n, roll.Question{Group: true})...)
	}
	s := more(t, a, questions)
	want := "25 groups have suspects, of which 20 were looked up, those of the most urgent and others in turn; in the rest nothing is acted on"
	expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Detail == want, "gaps %+v", s.Gaps)
	looked := map[roll.Group]bool{}
	for n := range 24 {
		s.At, s.Groups, s.Gaps = at.Add(time.Duration(n)*5*time.Minute), nil, nil
		a.observer().Details(t.Context(), s, questions)
		for g, d := range s.Groups {
			looked[g] = looked[g] || d.AutoRepair == roll.No
		}
		expect.That(t, s.Groups["nodegroup/g10"].AutoRepair == roll.No, "%+v", s.Groups)
	}
	for g, was := range looked {
		expect.That(t, was && len(looked) == 25, "%s of %d groups was never looked up", g, len(looked))
	}
}

func launchOf(code, message string, end time.Time) asgtypes.Activity {
	a := asgtypes.Activity{Description: aws.String("Launching a new EC2 instance.  Status Reason: " + message), StatusCode: asgtypes.ScalingActivityStatusCode(code), StartTime: aws.Time(end.Add(-time.Second)), EndTime: aws.Time(end)}
	if message != "" {
		a.StatusMessage = aws.String(message)
	}
	return a
}

func TestTheLatestLaunchDecides(t *testing.T) {
	const lack = "We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone you requested (eu-west-1a). Our system will be working on provisioning additional capacity. Launching EC2 instance failed."
	failed, done := launchOf("Failed", lack, at), launchOf("Successful", "", at)
	terminated := asgtypes.Activity{Description: aws.String("Terminating EC2 instance: i-0123456789abcdef0"), StatusCode: "Successful", StartTime: aws.Time(at)}
	other := launchOf("Failed", "The security group 'sg-0123456789abcdef0' does not exist. Launching EC2 instance failed.", at)
	underWay := launchOf("PreInService", "", at)
	open := failed
	open.EndTime = nil
	cancelled := launchOf("Cancelled", lack, at)
	pooled, drawn := done, done
	pooled.Description = aws.String("Launching a new EC2 instance into warm pool: i-0123456789abcdef0")
	drawn.Description = aws.String("Launching a new EC2 instance from warm pool: i-0123456789abcdef0")
	balancing := func(message string) asgtypes.Activity {
		a := launchOf("Failed", message, at)
		a.Cause = aws.String("At 2026-03-02T10:00:00Z instances were launched to balance instances in zones eu-west-1c with other zones resulting in more than desired number of instances in the group.")
		return a
	}
	lacking := balancing(lack)
	lacking.Cause = aws.String(*lacking.Cause + " At 2026-03-02T10:01:00Z an instance was started in response to a difference between desired and actual capacity, increasing the capacity from 2 to 3.")
	aids := balancing(lack)
	aids.Cause = aws.String("At 2026-03-02T10:00:00Z availability zones eu-west-1a eu-west-1c had 2 0 instances respectively. An instance was launched to aid in balancing the group's zones.")
	unsupported := "Your requested instance type (g5.xlarge) is not supported in your requested Availability Zone (eu-west-1c). Please retry your request by not specifying an Availability Zone or choosing eu-west-1a, eu-west-1b. Launching EC2 instance failed."
	undrawn := failed
	undrawn.Description = drawn.Description
	tests := map[string]struct {
		newestFirst []asgtypes.Activity
		want        time.Time
	}{
		"one could not be taken from it":           {[]asgtypes.Activity{undrawn, done}, at},
		"a later one could":                        {[]asgtypes.Activity{drawn, undrawn, done}, time.Time{}},
		"nothing happened":                         {nil, time.Time{}},
		"it failed":                                {[]asgtypes.Activity{failed, done}, at},
		"it was cancelled":                         {[]asgtypes.Activity{cancelled}, at},
		"a later one went well":                    {[]asgtypes.Activity{done, failed}, time.Time{}},
		"a later one filled the pool":              {[]asgtypes.Activity{pooled, failed}, time.Time{}},
		"the warm pool had one left":               {[]asgtypes.Activity{drawn, failed}, at},
		"a later one is under way":                 {[]asgtypes.Activity{underWay, failed}, at},
		"a later one failed otherwise":             {[]asgtypes.Activity{other, failed}, at},
		"it failed otherwise":                      {[]asgtypes.Activity{other}, at},
		"a zone of several has no capacity":        {[]asgtypes.Activity{balancing(lack), done}, time.Time{}},
		"it has none again and again":              {[]asgtypes.Activity{aids, balancing(lack), done}, time.Time{}},
		"a zone does not offer the type":           {[]asgtypes.Activity{balancing(unsupported), done}, time.Time{}},
		"a zone has no address":                    {[]asgtypes.Activity{balancing("There are not enough free addresses in subnet 'subnet-0123456789abcdef0' to satisfy the requested number of instances. Launching EC2 instance failed."), done}, time.Time{}},
		"a zone has no Spot capacity":              {[]asgtypes.Activity{balancing("Could not launch Spot Instances. UnfulfillableCapacity - There is no Spot capacity available that matches your request. Launching EC2 instance failed."), done}, time.Time{}},
		"a zone has none, and another launch":      {[]asgtypes.Activity{balancing(lack), failed, done}, at},
		"none of them can come from the AMI":       {[]asgtypes.Activity{balancing("The image id '[ami-0123456789abcdef0]' does not exist. Launching EC2 instance failed."), done}, at},
		"the quota is used up":                     {[]asgtypes.Activity{balancing("You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket. Launching EC2 instance failed."), done}, at},
		"a zone has none, and the group lacks one": {[]asgtypes.Activity{lacking, done}, at},
		"a zone has none, and nothing else shows":  {[]asgtypes.Activity{balancing(lack)}, time.Time{}},
		"terminations count for nothing":           {[]asgtypes.Activity{terminated, failed}, at},
		"without an end":                           {[]asgtypes.Activity{open}, at.Add(-time.Second)},
	}
	for name, tt := range tests {
		got, message := failedLaunch(project.Activities(tt.newestFirst), true)
		expect.That(t, got.Equal(tt.want) && (message != "") == !tt.want.IsZero(), "%s: %s %q, want %s", name, got, message, tt.want)
	}
}

// Only a launch that worked shows that an earlier failure is over. The warm pool shows nothing of launches.
func TestWhetherALaunchWorked(t *testing.T) {
	done, failed, drawn := launchOf("Successful", "", at), launchOf("Failed", "The image id '[ami-0123456789abcdef0]' does not exist. Launching EC2 instance failed.", at), launchOf("Successful", "", at)
	drawn.Description = aws.String("Launching a new EC2 instance from warm pool: i-0123456789abcdef0")
	for name, tt := range map[string]struct {
		newestFirst []asgtypes.Activity
		want        bool
	}{
		"none is shown":               {nil, false},
		"one failed":                  {[]asgtypes.Activity{failed}, false},
		"one was taken from a pool":   {[]asgtypes.Activity{drawn}, false},
		"one is under way":            {[]asgtypes.Activity{launchOf("PreInService", "", at)}, false},
		"one worked":                  {[]asgtypes.Activity{done}, true},
		"one worked before it failed": {[]asgtypes.Activity{failed, done}, true},
	} {
		a := newAccount(t)
		a.launch(1, owned, "aws:autoscaling:groupName=web")
		a.asg("web")
		a.scalings["web"] = tt.newestFirst
		s := more(t, a, suspects(1, 1, roll.Question{Group: true}))
		expect.That(t, s.Groups["asg/web"].Launched == tt.want, "%s: %+v", name, s.Groups["asg/web"])
	}
}

// A group that only balances launches nothing in another zone, and where the group is not known, that may be so.
func TestALaunchThatOneZoneRefusesCountsIfNoOtherZoneIsTried(t *testing.T) {
	const lack = "We currently do not have sufficient g5.xlarge capacity in the Availability Zone you requested (eu-west-1c). Launching EC2 instance failed."
	for strategy, counts := range map[asgtypes.CapacityDistributionStrategy]bool{"": false, asgtypes.CapacityDistributionStrategyBalancedBestEffort: false, asgtypes.CapacityDistributionStrategyBalancedOnly: true} {
		a := newAccount(t)
		a.launch(1, owned, "aws:autoscaling:groupName=web")
		a.asg("web")
		if strategy != "" {
			a.groups[len(a.groups)-1].AvailabilityZoneDistribution = &asgtypes.AvailabilityZoneDistribution{CapacityDistributionStrategy: strategy}
		}
		failed := launchOf("Failed", lack, at)
		failed.Cause = aws.String("At 2026-03-02T10:00:00Z instances were launched to balance instances in zones eu-west-1c with other zones resulting in more than desired number of instances in the group.")
		a.scalings["web"] = []asgtypes.Activity{failed}
		s := more(t, a, suspects(1, 1, roll.Question{Group: true}))
		expect.That(t, s.Groups["asg/web"].LaunchFailed.IsZero() == !counts, "%q: %+v", strategy, s.Groups["asg/web"])
	}
}

// Messages of AWS and Karpenter quote what people wrote, such as tags and user data, and plans repeat them.
func TestMessagesAboutGroupsEnterTheSnapshotWithoutSecrets(t *testing.T) {
	const told = "the launch failed: token=hunter2hunter2hunter2"
	a := newAccount(t)
	a.launch(1, nodeGroup(0, "plain")...)
	a.launch(2, owned, "karpenter.sh/nodepool=default")
	a.nodeGroups["plain"] = unhealthy(ekstypes.NodegroupStatusDegraded, ekstypes.NodegroupIssueCodeEc2SubnetNotFound)
	a.asg("eks-plain-0")
	a.scalings["eks-plain-0"] = []asgtypes.Activity{launchOf("Failed", told, at)}
	a.claims = []nodeClaim{{"default-a", "default", 2}}
	a.conditions = map[string][]map[string]any{"default-a": {{"type": "Launched", "status": "Unknown", "reason": "LaunchFailed", "message": told, "lastTransitionTime": at}}}
	s := more(t, a, suspects(1, 2, roll.Question{Group: true, NodeClaim: true}))
	plain, pool := s.Groups["nodegroup/plain"], s.Groups["nodepool/default"]
	for what, got := range map[string]string{"issues": roll.HealthIssues(plain.Issues), "scaling activity": plain.LaunchMessage, "NodeClaim": pool.LaunchMessage} {
		expect.That(t, strings.HasSuffix(got, "token=[redacted: token]"), "%s: %q", what, got)
	}
}

func TestReadsWhichSuspectsHaveANodeClaim(t *testing.T) {
	pool := func(name string) []string { return []string{owned, "karpenter.sh/nodepool=" + name} }
	a := newAccount(t)
	a.launch(1, pool("default")...)
	a.launch(2, pool("gpu")...)
	a.launch(3, pool("default")...)
	a.launch(4, pool("unasked")...)
	a.launch(5, owned) // its node says whose it is
	a.join(5).Labels = map[string]string{"karpenter.sh/nodepool": "spot"}
	a.claims = []nodeClaim{{"default-a", "default", 1}, {"gpu-a", "gpu", 2}, {"unasked-a", "unasked", 4}, {"spot-a", "spot", 5}, {"default-b", "default", 7}}
	questions := append(suspects(1, 3, roll.Question{NodeClaim: true}), suspects(5, 5, roll.Question{NodeClaim: true})...)
	s := more(t, a, append(questions, suspects(4, 4, roll.Question{})...))
	claim := func(name string) *roll.NodeClaim { return &roll.NodeClaim{Name: name, UID: "uid-" + name} }
	want := map[roll.InstanceID]roll.Detail{
		roll.InstanceID(instanceID(1)): {HasNodeClaim: roll.Yes, NodeClaim: claim("default-a")},
		roll.InstanceID(instanceID(2)): {HasNodeClaim: roll.Yes, NodeClaim: claim("gpu-a")},
		roll.InstanceID(instanceID(3)): {HasNodeClaim: roll.No},
		roll.InstanceID(instanceID(5)): {HasNodeClaim: roll.Yes, NodeClaim: claim("spot-a")},
		roll.InstanceID(instanceID(4)): {},
	}
	diff := cmp.Diff(want, s.Details)
	expect.That(t, diff == "" && len(s.Gaps) == 0, "gaps %+v (-want +got)\n%s", s.Gaps, diff)
	expect.List(t, a.asked, []string{"karpenter.sh/nodepool in (default,gpu,spot)"}, "asked for")
}

// Somebody may create a NodeClaim without a node pool: no selector of pools finds it.
func TestReadsNodeClaimsWithoutANodePool(t *testing.T) {
	poolless := []string{owned, "karpenter.sh/nodepool=", "karpenter.k8s.aws/ec2nodeclass=default"}
	a := newAccount(t)
	a.launch(1, poolless...)
	a.launch(2, poolless...)
	a.launch(3, owned, "karpenter.sh/nodepool=default")
	a.claims = []nodeClaim{{"mine", "", 1}, {"default-a", "default", 3}}
	s := more(t, a, suspects(1, 3, roll.Question{NodeClaim: true}))
	got := roll.Map([]int{1, 2, 3}, func(n int) roll.Answer { return s.Details[roll.InstanceID(instanceID(n))].HasNodeClaim })
	_, none := s.Groups[roll.GroupNone]
	expect.That(t, slices.Equal(got, []roll.Answer{roll.Yes, roll.No, roll.Yes}) && len(s.Gaps) == 0 && !none, "%v, gaps %+v, groups %+v", got, s.Gaps, s.Groups)
	expect.That(t, len(a.asked) == 0, "asked for %q", a.asked)
}

func TestNodeClaimsOfAClusterWithoutKarpenter(t *testing.T) {
	a := newAccount(t)
	a.noKarpenter = true
	a.launch(1, owned, "karpenter.sh/nodepool=default")
	s := more(t, a, suspects(1, 1, roll.Question{NodeClaim: true}))
	expect.That(t, s.Details[one].HasNodeClaim == roll.No && len(s.Gaps) == 0, "%+v, gaps %+v", s.Details, s.Gaps)
}

// "No NodeClaim" leads to the termination of an instance, so it must have been read.
func TestNodeClaimsThatCannotBeReadAreUnreadable(t *testing.T) {
	tests := map[string]struct {
		pool   string
		err    error
		kind   roll.GapKind
		detail string
		calls  int
	}{
		"forbidden":              {"default", errors.New("403 Forbidden nodeclaims.karpenter.sh is forbidden"), roll.GapDenied, "does not let it list nodeclaims.karpenter.sh: apply infra/rbac.yaml and give it the group rollcall:viewers", 1},
		"not answered":           {"default", errors.New("503 ServiceUnavailable no"), roll.GapClusterUnreachable, "did not answer", 1},
		"a pool that cannot be":  {"a b", nil, roll.GapFailed, "the node pool of 1 instance of Karpenter's is not known, so neither is whether a NodeClaim has it", 0},
		"a pool without a name":  {"", nil, roll.GapFailed, "the node pool of 1 instance", 0},
		"one that is not listed": {"default", nil, roll.GapFailed, "the node pool of 1 instance", 0},
	}
	for name, tt := range tests {
		a := newAccount(t)
		n := 1
		if strings.Contains(name, "listed") {
			n = 2
		}
		a.launch(n, owned, "karpenter.sh/nodepool="+tt.pool)
		if tt.err != nil {
			a.fail["kubernetes:ListNodeClaims"] = tt.err
		}
		s := more(t, a, suspects(1, 1, roll.Question{NodeClaim: true}))
		d := s.Details[one]
		expect.That(t, d.HasNodeClaim == roll.Unreadable && d.NodeClaim == nil, "%s: %+v", name, d)
		expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Scope == roll.ScopeDetail && s.Gaps[0].Kind == tt.kind && s.Gaps[0].Call == "kubernetes: list nodeclaims" && strings.Contains(s.Gaps[0].Detail, tt.detail) && s.Whole(), "%s: gaps %+v", name, s.Gaps)
		got := a.seen["kubernetes:ListNodeClaims"]
		expect.That(t, got == tt.calls, "%s: %d listings", name, got)
	}
	// One impossible pool does not prevent the others from being read.
	a := newAccount(t)
	a.launch(1, owned, "karpenter.sh/nodepool=a b")
	a.launch(2, owned, "karpenter.sh/nodepool=default")
	s := more(t, a, suspects(1, 2, roll.Question{NodeClaim: true}))
	expect.That(t, s.Details[one].HasNodeClaim == roll.Unreadable && s.Details[roll.InstanceID(instanceID(2))].HasNodeClaim == roll.No && len(s.Gaps) == 1, "%+v, gaps %+v", s.Details, s.Gaps)
}
