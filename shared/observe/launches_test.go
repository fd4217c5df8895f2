package observe

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

const failedLaunchText = "We currently do not have sufficient m5.large capacity. Launching EC2 instance failed."

// tried returns a launch as Auto Scaling reports it.
func tried(status asgtypes.ScalingActivityStatusCode, ago time.Duration) asgtypes.Activity {
	a := asgtypes.Activity{Description: aws.String("Launching a new EC2 instance: i-1"), StatusCode: status, StartTime: aws.Time(at.Add(-ago)), EndTime: aws.Time(at.Add(-ago))}
	if status == asgtypes.ScalingActivityStatusCodeFailed {
		a.StatusMessage = aws.String(failedLaunchText + " token=hunter2hunter2hunter2")
	}
	return a
}

func TestAutoScalingGroupsWhoseLaunchesFail(t *testing.T) {
	const failed, done, progress, cancelled = asgtypes.ScalingActivityStatusCodeFailed, asgtypes.ScalingActivityStatusCodeSuccessful, asgtypes.ScalingActivityStatusCodeInProgress, asgtypes.ScalingActivityStatusCodeCancelled
	in := func(states ...asgtypes.LifecycleState) (out []asgtypes.Instance) {
		for _, s := range states {
			out = append(out, asgtypes.Instance{InstanceId: aws.String(fmt.Sprintf("i-%08d", len(out))), LifecycleState: s})
		}
		return out
	}
	ended := func(before time.Duration) asgtypes.Activity {
		a := tried(cancelled, before)
		a.StatusMessage = aws.String("Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.InternalError: Client error on launch")
		return a
	}
	weighs := func(weight string, all []asgtypes.Instance) []asgtypes.Instance {
		for i := range all {
			all[i].WeightedCapacity = aws.String(weight)
		}
		return all
	}
	suspendedFor := func(reason string) []asgtypes.SuspendedProcess {
		return []asgtypes.SuspendedProcess{{ProcessName: aws.String("Launch"), SuspensionReason: aws.String(reason)}}
	}
	run := []asgtypes.Activity{tried(failed, time.Minute), tried(failed, 20*time.Minute), tried(done, time.Hour), tried(failed, 2*time.Hour)}
	for name, tt := range map[string]struct {
		group      asgtypes.AutoScalingGroup
		activities []asgtypes.Activity
		group2     roll.Group // of the launch that is found, "" for none
		since      time.Duration
		suspended  bool
	}{
		"launches fail":             {activities: run, group2: "asg/w", since: 20 * time.Minute},
		"of a managed node group":   {group: asgtypes.AutoScalingGroup{Tags: []asgtypes.TagDescription{{Key: aws.String("eks:nodegroup-name"), Value: aws.String("blue")}}}, activities: run, group2: "nodegroup/blue", since: 20 * time.Minute},
		"one is in progress":        {activities: append([]asgtypes.Activity{tried(progress, 0)}, run...), group2: "asg/w", since: 20 * time.Minute},
		"the latest succeeded":      {activities: append([]asgtypes.Activity{tried(done, 0)}, run...)},
		"only slow":                 {activities: []asgtypes.Activity{tried(progress, time.Minute), tried(done, time.Hour)}},
		"a hook gave it up":         {activities: []asgtypes.Activity{tried(cancelled, time.Minute), tried(done, time.Hour)}},
		"its instances end early":   {activities: []asgtypes.Activity{ended(time.Minute), ended(20 * time.Minute), tried(done, time.Hour)}, group2: "asg/w", since: 20 * time.Minute},
		"at its desired capacity":   {group: asgtypes.AutoScalingGroup{Instances: in("InService", "InService")}, activities: run},
		"the last one is pending":   {group: asgtypes.AutoScalingGroup{Instances: in("InService", "Pending:Wait")}, activities: run},
		"one of them is in Standby": {group: asgtypes.AutoScalingGroup{Instances: in("InService", "Standby")}, activities: run, group2: "asg/w", since: 20 * time.Minute},
		"one that counts for two":   {group: asgtypes.AutoScalingGroup{Instances: weighs("2", in("InService"))}, activities: run},
		"one that counts for one":   {group: asgtypes.AutoScalingGroup{Instances: weighs("1", in("InService"))}, activities: run, group2: "asg/w", since: 20 * time.Minute},
		"none is there":             {group: asgtypes.AutoScalingGroup{Instances: weighs("2", in("Terminating"))}, activities: run, group2: "asg/w", since: 20 * time.Minute},
		"it counts CPUs":            {group: asgtypes.AutoScalingGroup{DesiredCapacityType: aws.String("vcpu"), Instances: in("InService")}, activities: run},
		"it counts instances":       {group: asgtypes.AutoScalingGroup{DesiredCapacityType: aws.String("units"), Instances: in("InService")}, activities: run, group2: "asg/w", since: 20 * time.Minute},
		"one of them is leaving":    {group: asgtypes.AutoScalingGroup{Instances: in("InService", "Terminating:Wait")}, activities: run, group2: "asg/w", since: 20 * time.Minute},
		"a group is being deleted":  {group: asgtypes.AutoScalingGroup{Status: aws.String("Delete in progress")}, activities: run},
		"Auto Scaling gave up":      {group: asgtypes.AutoScalingGroup{SuspendedProcesses: suspendedFor("Administratively suspended")}, activities: run, group2: "asg/w", since: 20 * time.Minute},
		"a person suspended Launch": {group: asgtypes.AutoScalingGroup{SuspendedProcesses: suspendedFor("User suspended at 2026-03-02T10:00:00Z")}, activities: run, suspended: true},
		"Launch is suspended":       {group: asgtypes.AutoScalingGroup{SuspendedProcesses: []asgtypes.SuspendedProcess{{ProcessName: aws.String("Launch")}}}, activities: run, suspended: true},
	} {
		a := newAccount(t)
		a.noKarpenter = true
		tt.group.AutoScalingGroupName, tt.group.DesiredCapacity = aws.String("w"), aws.Int32(2)
		a.ofCluster, a.scalings["w"] = []asgtypes.AutoScalingGroup{tt.group}, tt.activities
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		l, found := s.Launches[tt.group2]
		expect.That(t, len(s.Gaps) == 0 && s.ScalingRead == roll.Yes && found == (tt.group2 != "") && found == (len(s.Launches) == 1) && (len(s.Suspended) > 0) == tt.suspended, "%s: %+v, suspended %v, gaps %+v", name, s.Launches, s.Suspended, s.Gaps)
		if found && (!l.Since.Equal(at.Add(-tt.since)) || !l.Failed.Equal(at.Add(-time.Minute)) || l.Message == "" || l.Message == failedLaunchText+" token=hunter2hunter2hunter2") {
			t.Errorf("%s: %+v", name, l)
		}
		if calls := a.seen["autoscaling:DescribeScalingActivities"]; name == "at its desired capacity" && calls != 0 {
			t.Errorf("%s: %d calls", name, calls)
		}
	}
}

// What cannot be read is one gap about details, and no launch.
func TestLaunchesThatCannotBeRead(t *testing.T) {
	for _, call := range []string{"autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeScalingActivities"} {
		a := newAccount(t)
		a.ofCluster = []asgtypes.AutoScalingGroup{{AutoScalingGroupName: aws.String("w"), DesiredCapacity: aws.Int32(1)}}
		a.fail[call] = apiError("Auto Scaling", "x", "AccessDenied", "no")
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		expect.That(t, s.ScalingRead == roll.Unreadable && s.ClaimsRead == roll.Yes && len(s.Launches) == 0 && len(s.Gaps) == 1 && s.Gaps[0].Kind == roll.GapDenied && s.Gaps[0].Call == call && s.Whole(), "%s: %+v, gaps %+v", call, s.Launches, s.Gaps)
	}
	for _, what := range []string{"NodeClaims", "Events", "NodePools"} {
		a := newAccount(t)
		a.fail["kubernetes:List"+what] = errors.New("403 Forbidden no")
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		expect.That(t, s.ClaimsRead == roll.Unreadable && s.ScalingRead == roll.Yes && len(s.Launches) == 0 && len(s.Gaps) == 1 && s.Gaps[0].Kind == roll.GapDenied && s.Whole(), "%s: %v, %+v, gaps %+v", what, s.ClaimsRead, s.Launches, s.Gaps)
	}
}

// Events about launches do not show whose Karpenter tried them. The NodePool does.
func TestLaunchesOfAutoMode(t *testing.T) {
	a := newAccount(t)
	for pool, group := range map[string]string{"general": "eks.amazonaws.com", "own": "karpenter.k8s.aws"} {
		a.pools = append(a.pools, map[string]any{"metadata": map[string]any{"name": pool}, "spec": map[string]any{"template": map[string]any{"spec": map[string]any{"nodeClassRef": map[string]any{"group": group}}}}})
		a.events = append(a.events, map[string]any{"metadata": map[string]any{"name": pool}, "reason": "InsufficientCapacityError", "message": "insufficient capacity", "lastTimestamp": at.Add(-time.Minute), "involvedObject": map[string]any{"kind": "NodeClaim", "name": pool + "-abcde"}})
	}
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, s.ClaimsRead == roll.Yes && s.Launches["nodepool/general"].Owner == roll.OwnerAutoMode && s.Launches["nodepool/own"].Owner == roll.OwnerKarpenter, "%+v, gaps %+v", s.Launches, s.Gaps)
}

// An order may be minutes old. Of other owners, the details show the latest launch.
func TestATargetOfKarpenterShowsWhatLaunchesNothing(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned, "karpenter.sh/nodepool=general")
	a.claims = []nodeClaim{{name: "general-11111", pool: "general", instance: 1}}
	look := func(want bool, unready bool) {
		t.Helper()
		s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
		a.observer().Details(t.Context(), s, suspects(1, 1, roll.Question{NodeClaim: true}))
		l, found := s.Launches["nodepool/general"]
		expect.That(t, found == want && l.Unready == unready && len(s.Gaps) == 0, "%+v, gaps %+v", s.Launches, s.Gaps)
	}
	look(false, false)
	a.events = []map[string]any{{"metadata": map[string]any{"name": "e"}, "reason": "InsufficientCapacityError", "message": "insufficient capacity", "lastTimestamp": at.Add(-time.Minute), "involvedObject": map[string]any{"kind": "NodeClaim", "name": "general-abcde"}}}
	look(true, false)
	a.events = nil
	a.pools = []map[string]any{{"metadata": map[string]any{"name": "general"}, "status": map[string]any{"conditions": []map[string]any{{"type": "Ready", "status": "False", "lastTransitionTime": at.Add(-time.Minute)}}}}}
	look(true, true)
	for _, what := range []string{"Events", "NodePools"} {
		a.fail = map[string]error{"kubernetes:List" + what: errors.New("403 Forbidden no")}
		s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
		a.observer().Details(t.Context(), s, suspects(1, 1, roll.Question{NodeClaim: true}))
		expect.That(t, s.ClaimsRead == roll.Unreadable && len(s.Gaps) == 1, "without %s: %v, gaps %+v", what, s.ClaimsRead, s.Gaps)
	}
}

// Karpenter deletes a NodeClaim without capacity at once. The events remain.
func TestNodeClaimsWithoutCapacity(t *testing.T) {
	event := func(claim string, ago time.Duration) *kube.Event {
		e := &kube.Event{LastTimestamp: at.Add(-ago), Message: "InsufficientInstanceCapacity"}
		e.InvolvedObject.Name = claim
		return e
	}
	for name, tt := range map[string]struct {
		events   []*kube.Event
		launched time.Duration // the latest of the pool that succeeded, ago
		since    time.Duration // 0 if nothing is found
	}{
		"the newest is listed first":       {[]*kube.Event{event("general-bcdef", 2*time.Minute), event("general-abcde", 30*time.Minute)}, time.Hour, 30 * time.Minute},
		"a claim of another name":          {[]*kube.Event{event("general-abcd", time.Minute), event("-abcde", time.Minute)}, time.Hour, 0},
		"again and again":                  {[]*kube.Event{event("general-abcde", 30*time.Minute), event("general-bcdef", 2*time.Minute)}, time.Hour, 30 * time.Minute},
		"a launch succeeded after it":      {[]*kube.Event{event("general-abcde", 5*time.Minute)}, time.Minute, 0},
		"a launch succeeded between":       {[]*kube.Event{event("general-abcde", 40*time.Minute), event("general-bcdef", 2*time.Minute)}, 30 * time.Minute, 2 * time.Minute},
		"none for a quarter of an hour":    {[]*kube.Event{event("general-abcde", 16*time.Minute)}, time.Hour, 0},
		"a claim that no pool is named in": {[]*kube.Event{event("general", time.Minute)}, time.Hour, 0},
	} {
		s := &roll.Snapshot{At: at, Launches: map[roll.Group]roll.Launch{}}
		addNoCapacity(s, kube.NodeClaims{Launched: map[string]time.Time{"general": at.Add(-tt.launched)}}, tt.events)
		l, found := s.Launches["nodepool/general"]
		if found != (tt.since > 0) || found != (len(s.Launches) == 1) || found && !l.Since.Equal(at.Add(-tt.since)) {
			t.Errorf("%s: %+v", name, s.Launches)
		}
		if found && (!l.Failed.Equal(at.Add(-2*time.Minute)) || l.Message == "") {
			t.Errorf("%s: the latest is %+v", name, l)
		}
	}
}
