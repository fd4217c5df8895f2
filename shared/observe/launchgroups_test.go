package observe

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// unhealthy returns a managed node group with health issues.
func unhealthy(status ekstypes.NodegroupStatus, codes ...ekstypes.NodegroupIssueCode) *ekstypes.Nodegroup {
	g := &ekstypes.Nodegroup{Status: status, CreatedAt: aws.Time(at.Add(-time.Hour)), Health: &ekstypes.NodegroupHealth{}}
	for _, c := range codes {
		g.Health.Issues = append(g.Health.Issues, ekstypes.Issue{Code: c, Message: aws.String("no. token=hunter2hunter2hunter2")})
	}
	return g
}

func TestManagedNodeGroupsThatCannotLaunch(t *testing.T) {
	const subnet, nodes = ekstypes.NodegroupIssueCodeEc2SubnetNotFound, ekstypes.NodegroupIssueCodeNodeCreationFailure
	for name, tt := range map[string]struct {
		group  *ekstypes.Nodegroup
		status string        // "" for a status that leaves the tolerance
		since  time.Duration // ago
		issues int           // 0 if nothing is found
	}{
		"never created":                {unhealthy(ekstypes.NodegroupStatusCreateFailed, subnet), "CREATE_FAILED", time.Hour, 1},
		"created, and no node joined":  {unhealthy(ekstypes.NodegroupStatusCreateFailed, nodes), "CREATE_FAILED", time.Hour, 1},
		"degraded":                     {unhealthy(ekstypes.NodegroupStatusDegraded, subnet, nodes), "DEGRADED", 0, 1},
		"while it is created":          {unhealthy(ekstypes.NodegroupStatusCreating, subnet), "", 0, 1},
		"active with an issue":         {unhealthy(ekstypes.NodegroupStatusActive, subnet), "", 0, 1},
		"degraded by nodes alone":      {unhealthy(ekstypes.NodegroupStatusDegraded, nodes), "", 0, 0},
		"healthy":                      {unhealthy(ekstypes.NodegroupStatusActive), "", 0, 0},
		"being deleted":                {unhealthy(ekstypes.NodegroupStatusDeleting, subnet), "", 0, 0},
		"deletion failed":              {unhealthy(ekstypes.NodegroupStatusDeleteFailed, subnet), "", 0, 0},
		"without a health description": {&ekstypes.Nodegroup{Status: ekstypes.NodegroupStatusActive}, "", 0, 0},
	} {
		a := newAccount(t)
		a.noKarpenter = true
		a.nodeGroups["blue"] = tt.group
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		l, found := s.Launches["nodegroup/blue"]
		if len(s.Gaps) != 0 || s.NodeGroupsRead != roll.Yes || found != (tt.issues > 0) || len(s.Launches) > 1 {
			t.Errorf("%s: %+v, gaps %+v", name, s.Launches, s.Gaps)
			continue
		}
		if found && (l.Status != tt.status || len(l.Issues) != tt.issues || !l.Since.Equal(at.Add(-tt.since)) || l.Owner != roll.OwnerManagedNodeGroup || l.Issues[0].Message == "no. token=hunter2hunter2hunter2") {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestACreationThatFailedWithoutAReason(t *testing.T) {
	a := newAccount(t)
	a.nodeGroups["blue"] = unhealthy(ekstypes.NodegroupStatusCreateFailed)
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	l := s.Launches["nodegroup/blue"]
	expect.That(t, l.Status == "CREATE_FAILED" && l.Message == "", "%+v", s.Launches)
}

// Auto Scaling's message about the launch stays, beside the issues. EKS shows a failed launch for as long as no other one
// succeeds, so that it tells nothing of how long the group has been waiting.
func TestAFailedActivityOfADegradedGroup(t *testing.T) {
	a := newAccount(t)
	a.noKarpenter = true
	a.ofCluster = []asgtypes.AutoScalingGroup{{AutoScalingGroupName: aws.String("w"), DesiredCapacity: aws.Int32(1), Tags: []asgtypes.TagDescription{{Key: aws.String("eks:nodegroup-name"), Value: aws.String("blue")}}}}
	a.scalings["w"] = []asgtypes.Activity{tried(asgtypes.ScalingActivityStatusCodeFailed, 20*time.Minute)}
	a.nodeGroups["blue"] = unhealthy(ekstypes.NodegroupStatusDegraded, ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures)
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	l := s.Launches["nodegroup/blue"]
	expect.That(t, l.Status == "" && len(l.Issues) == 1 && l.Source == "scaling activity" && l.Since.Equal(at.Add(-20*time.Minute)), "%+v", s.Launches)
}

// EKS reports a failed launch until the next one succeeds, even of a group that was made smaller since. What
// keeps it from launching when it has to is found early.
func TestHealthIssuesOfAGroupAtItsDesiredCapacity(t *testing.T) {
	for name, tt := range map[string]struct {
		status  ekstypes.NodegroupStatus
		issue   ekstypes.NodegroupIssueCode
		desired int32 // of a group with one instance
		found   bool
	}{
		"a launch failed, and none is wanted":      {ekstypes.NodegroupStatusDegraded, ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures, 1, false},
		"a launch failed, and one is wanted":       {ekstypes.NodegroupStatusDegraded, ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures, 2, true},
		"a quota was used up":                      {ekstypes.NodegroupStatusDegraded, ekstypes.NodegroupIssueCodeInstanceLimitExceeded, 1, false},
		"somebody changed its subnets":             {ekstypes.NodegroupStatusActive, ekstypes.NodegroupIssueCodeAutoScalingGroupInvalidConfiguration, 1, false},
		"another version of its template":          {ekstypes.NodegroupStatusDegraded, ekstypes.NodegroupIssueCodeEc2LaunchTemplateVersionMismatch, 2, false},
		"subnets without public addresses":         {ekstypes.NodegroupStatusDegraded, ekstypes.NodegroupIssueCodeEc2SubnetInvalidConfiguration, 2, false},
		"its launch template is gone":              {ekstypes.NodegroupStatusDegraded, ekstypes.NodegroupIssueCodeEc2LaunchTemplateNotFound, 1, true},
		"its creation failed, for a failed launch": {ekstypes.NodegroupStatusCreateFailed, ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures, 1, true},
	} {
		a := newAccount(t)
		a.noKarpenter = true
		a.ofCluster = []asgtypes.AutoScalingGroup{{
			AutoScalingGroupName: aws.String("w"), DesiredCapacity: aws.Int32(tt.desired), Tags: []asgtypes.TagDescription{{Key: aws.String("eks:nodegroup-name"), Value: aws.String("blue")}},
			Instances: []asgtypes.Instance{{InstanceId: aws.String(instanceID(1)), LifecycleState: asgtypes.LifecycleStateInService}},
		}}
		a.nodeGroups["blue"] = unhealthy(tt.status, tt.issue)
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		_, found := s.Launches["nodegroup/blue"]
		expect.That(t, found == tt.found && len(s.Gaps) == 0, "%s: %+v, gaps %+v", name, s.Launches, s.Gaps)
	}
}

// That a launch failed some time says nothing while it is unknown whether the group wants another one.
func TestHealthIssuesOfAGroupWhoseCapacityCannotBeRead(t *testing.T) {
	for issue, found := range map[ekstypes.NodegroupIssueCode]bool{
		ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures: false, ekstypes.NodegroupIssueCodeEc2LaunchTemplateNotFound: true,
	} {
		a := newAccount(t)
		a.noKarpenter = true
		a.fail["autoscaling:DescribeAutoScalingGroups"] = apiError("AutoScaling", "DescribeAutoScalingGroups", "Throttling", "Rate exceeded")
		a.nodeGroups["blue"] = unhealthy(ekstypes.NodegroupStatusDegraded, issue)
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		_, failing := s.Launches["nodegroup/blue"]
		expect.That(t, failing == found && s.ScalingRead == roll.Unreadable && s.NodeGroupsRead == roll.Yes, "%s: %+v, gaps %+v", issue, s.Launches, s.Gaps)
	}
}

// A missing permission is one gap about details, and closes no finding.
func TestNodeGroupsThatCannotBeRead(t *testing.T) {
	for _, call := range []string{"eks:ListNodegroups", "eks:DescribeNodegroup"} {
		a := newAccount(t)
		a.nodeGroups["blue"], a.nodeGroups["green"] = unhealthy(ekstypes.NodegroupStatusCreateFailed), unhealthy(ekstypes.NodegroupStatusActive)
		a.fail[call] = apiError("EKS", "x", "AccessDeniedException", "no")
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		if s.NodeGroupsRead != roll.Unreadable || s.ScalingRead != roll.Yes || len(s.Gaps) != 1 || s.Gaps[0].Kind != roll.GapDenied || s.Gaps[0].Call != call || s.Gaps[0].Scope != roll.ScopeDetail || !s.Whole() || a.seen[call] != 1 {
			t.Errorf("%s: gaps %+v, %d calls", call, s.Gaps, a.seen[call])
		}
	}
}

// Groups without an Auto Scaling group come first if there are too many.
func TestOfTooManyNodeGroupsTheWorstAreDescribed(t *testing.T) {
	a := newAccount(t)
	for i := range nodeGroupReads + 1 {
		name := string(rune('A' + i))
		a.nodeGroups[name] = unhealthy(ekstypes.NodegroupStatusActive)
		if i < nodeGroupReads {
			a.ofCluster = append(a.ofCluster, asgtypes.AutoScalingGroup{AutoScalingGroupName: aws.String(name), Tags: []asgtypes.TagDescription{{Key: aws.String("eks:nodegroup-name"), Value: aws.String(name)}}})
		}
	}
	last := string(rune('A' + nodeGroupReads))
	a.nodeGroups[last] = unhealthy(ekstypes.NodegroupStatusCreateFailed)
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	if _, found := s.Launches[roll.NodeGroupGroup(last)]; !found || len(s.Gaps) != 1 || len(s.Unasked) != 1 || a.seen["eks:DescribeNodegroup"] != nodeGroupReads {
		t.Errorf("%+v, gaps %+v, %d calls", s.Launches, s.Gaps, a.seen["eks:DescribeNodegroup"])
	}
}

// The others are described in turn: AWS raises the quota of node groups on request, and a fault of one
// that is never described again would never be over.
// https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
func TestOfManyGroupsEachIsReadInTurn(t *testing.T) {
	a := newAccount(t)
	for i := range 3 * nodeGroupReads {
		name := fmt.Sprintf("group-%02d", i)
		a.nodeGroups[name] = unhealthy(ekstypes.NodegroupStatusActive)
		a.ofCluster = append(a.ofCluster, asgtypes.AutoScalingGroup{AutoScalingGroupName: aws.String(name), DesiredCapacity: aws.Int32(2), Tags: []asgtypes.TagDescription{{Key: aws.String("eks:nodegroup-name"), Value: aws.String(name)}}})
	}
	asked := map[roll.Group]int{}
	const checks = 40
	for n := range checks {
		a.seen = map[string]int{}
		s := a.observer().Snapshot(t.Context(), "demo", at.Add(time.Duration(n)*5*time.Minute), roll.Watch{})
		for i := range 3 * nodeGroupReads {
			if g := roll.NodeGroupGroup(fmt.Sprintf("group-%02d", i)); !s.Unasked[g] {
				asked[g]++
			}
		}
		if s.NodeGroupsRead != roll.Yes || s.ScalingRead != roll.Yes || len(s.Gaps) != 2 || s.Gaps[0].Kind != roll.GapLater || a.seen["eks:DescribeNodegroup"] != nodeGroupReads || a.seen["autoscaling:DescribeScalingActivities"] != groupReads {
			t.Fatalf("gaps %+v, calls %v", s.Gaps, a.seen)
		}
	}
	expect.That(t, len(asked) == 3*nodeGroupReads, "%d groups were read in %d checks", len(asked), checks)
}

func TestInstancesThatEC2TerminatedAtTheirLaunch(t *testing.T) {
	const kms = "Client.InternalError: Client error on launch"
	const volume = "Could not create volume with size 50GiB and iops 32000 from snapshot 'snap-0123456789abcdef0'"
	ended := func(n int, ago time.Duration, code, message string) roll.Instance {
		i := new(projector).instance(&types.Instance{
			InstanceId: aws.String(instanceID(n)), LaunchTime: aws.Time(at.Add(-ago)), State: &types.InstanceState{Name: types.InstanceStateNameTerminated},
			StateReason: &types.StateReason{Code: aws.String(code), Message: aws.String(message)},
			Tags:        []types.Tag{{Key: aws.String("kubernetes.io/cluster/demo"), Value: aws.String("owned")}, {Key: aws.String("karpenter.sh/nodepool"), Value: aws.String("general")}},
		}, "demo")
		return i
	}
	works := func(n int, ago time.Duration, state roll.InstanceState) roll.Instance {
		i := ended(n, ago, "", "")
		i.State = state
		return i
	}
	not := func(change func(*roll.Instance)) []roll.Instance {
		i := ended(1, time.Minute, "Client.InternalError", kms)
		change(&i)
		return []roll.Instance{i}
	}
	for name, tt := range map[string]struct {
		instances []roll.Instance
		since     time.Duration // ago, 0 if nothing is found
		message   string
	}{
		"of no group":                    {not(func(i *roll.Instance) { i.Group = roll.GroupNone }), 0, ""},
		"without the tag":                {not(func(i *roll.Instance) { i.Unclaimed = true }), 0, ""},
		"of two clusters":                {not(func(i *roll.Instance) { i.Ambiguous = true }), 0, ""},
		"of another cluster":             {not(func(i *roll.Instance) { i.OtherCluster = "other" }), 0, ""},
		"to be ignored":                  {not(func(i *roll.Instance) { i.Ignore = true }), 0, ""},
		"the latest one first":           {[]roll.Instance{ended(2, 2*time.Minute, "Client.InternalError", kms), ended(1, 20*time.Minute, "Client.VolumeLimitExceeded", "")}, 20 * time.Minute, kms},
		"the earliest one first":         {[]roll.Instance{ended(1, 20*time.Minute, "Client.VolumeLimitExceeded", ""), ended(2, 2*time.Minute, "Client.InternalError", kms)}, 20 * time.Minute, kms},
		"of a key that is gone":          {[]roll.Instance{ended(1, time.Minute, "Client.InvalidKMSKey.InvalidState", "")}, time.Minute, "Client.InvalidKMSKey.InvalidState"},
		"for a key":                      {[]roll.Instance{ended(1, 20*time.Minute, "Client.InternalError", kms), ended(2, 2*time.Minute, "Client.InternalError", kms)}, 20 * time.Minute, kms},
		"for a key, as a server's error": {[]roll.Instance{ended(1, time.Minute, "Server.InternalError", kms)}, time.Minute, kms},
		"for a volume that cannot be":    {[]roll.Instance{ended(1, time.Minute, "Client.InvalidParameterCombination", volume)}, time.Minute, "Client.InvalidParameterCombination: " + volume},
		"for the volumes' IOPS":          {[]roll.Instance{ended(1, time.Minute, "Client.MaxIOPSLimitExceeded", "")}, time.Minute, "Client.MaxIOPSLimitExceeded"},
		"for want of volumes":            {[]roll.Instance{ended(1, time.Minute, "Server.InsufficientVolumeCapacity", "")}, time.Minute, "Server.InsufficientVolumeCapacity"},
		"for its retirement":             {[]roll.Instance{ended(1, time.Minute, "Server.ScheduledStop", "")}, 0, ""},
		"for the number of volumes":      {[]roll.Instance{ended(1, time.Minute, "Client.VolumeLimitExceeded", "Volume limit exceeded")}, time.Minute, "Client.VolumeLimitExceeded: Volume limit exceeded"},
		"for a snapshot":                 {[]roll.Instance{ended(1, time.Minute, "Client.InvalidSnapshot.NotFound", "")}, time.Minute, "Client.InvalidSnapshot.NotFound"},
		"by EC2 itself":                  {[]roll.Instance{ended(1, time.Minute, "Server.InternalError", "Server.InternalError: Internal error on launch")}, time.Minute, "Server.InternalError: Internal error on launch"},
		"for capacity":                   {[]roll.Instance{ended(1, time.Minute, "Server.InsufficientInstanceCapacity", "Server.InsufficientInstanceCapacity: no")}, time.Minute, "Server.InsufficientInstanceCapacity: no"},
		"another one is still pending":   {[]roll.Instance{ended(1, 20*time.Minute, "Client.InternalError", kms), works(2, time.Minute, roll.StatePending)}, 20 * time.Minute, kms},
		"the next one runs":              {[]roll.Instance{ended(1, 20*time.Minute, "Client.InternalError", kms), works(2, time.Minute, roll.StateRunning)}, 0, ""},
		"one ran before":                 {[]roll.Instance{works(2, time.Hour, roll.StateRunning), ended(1, 20*time.Minute, "Client.InternalError", kms)}, 20 * time.Minute, kms},
		"more than an hour ago":          {[]roll.Instance{ended(1, time.Hour+time.Second, "Client.InternalError", kms)}, 0, ""},
		"somebody terminated it":         {[]roll.Instance{ended(1, time.Minute, "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")}, 0, ""},
		"interrupted Spot":               {[]roll.Instance{ended(1, time.Minute, "Server.SpotInstanceTermination", "Server.SpotInstanceTermination: no")}, 0, ""},
		"shut down from within":          {[]roll.Instance{ended(1, time.Minute, "Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown")}, 0, ""},
		"one that ran and was reclaimed": {[]roll.Instance{works(1, time.Minute, roll.StateTerminated)}, 0, ""},
	} {
		s := &roll.Snapshot{At: at, Instances: tt.instances, Launches: map[roll.Group]roll.Launch{}}
		addTerminated(s)
		l, found := s.Launches["nodepool/general"]
		if found != (tt.since > 0) || found != (len(s.Launches) == 1) || found && (!l.Since.Equal(at.Add(-tt.since)) || l.Message != tt.message || l.Owner != roll.OwnerKarpenter || l.Field != "StateReason") {
			t.Errorf("%s: %+v", name, s.Launches)
		}
		if !found {
			continue
		}
		// What Karpenter says of its launches stays, if it says anything.
		for _, said := range []string{"", "no subnet"} {
			known := roll.Launch{Owner: roll.OwnerKarpenter, Since: at.Add(-time.Second), Message: said}
			s.Launches = map[roll.Group]roll.Launch{"nodepool/general": known}
			addTerminated(s)
			l := s.Launches["nodepool/general"]
			expect.That(t, l.Since.Equal(at.Add(-tt.since)) && l.Message == cmp.Or(said, tt.message), "%s, beside %q: %+v", name, said, l)
		}
	}
}
