package observe

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	arctypes "github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// check sets the status checks of an instance. since are the times at which they began to fail.
func (a *account) check(n int, instance, system types.SummaryStatus, instanceSince, systemSince []time.Time) {
	summary := func(status types.SummaryStatus, since []time.Time) *types.InstanceStatusSummary {
		out := &types.InstanceStatusSummary{Status: status, Details: []types.InstanceStatusDetails{{Name: types.StatusNameReachability}}}
		for _, t := range since {
			out.Details = append(out.Details, types.InstanceStatusDetails{Name: types.StatusNameReachability, Status: types.StatusTypeFailed, ImpairedSince: aws.Time(t)})
		}
		return out
	}
	a.statuses = append(a.statuses, types.InstanceStatus{InstanceId: aws.String(instanceID(n)), InstanceStatus: summary(instance, instanceSince), SystemStatus: summary(system, systemSince)})
}

const (
	ok       = types.SummaryStatusOk
	impaired = types.SummaryStatusImpaired
)

func TestReadsStatusChecksThatFail(t *testing.T) {
	early, late := at.Add(-2*time.Hour), at.Add(-time.Hour)
	a := newAccount(t)
	for n := 1; n <= 7; n++ {
		a.launch(n, owned)
	}
	a.launch(8) // not the cluster's
	a.check(1, ok, ok, nil, nil)
	a.check(2, impaired, ok, []time.Time{late, early}, nil)
	a.check(3, ok, impaired, nil, []time.Time{late})
	a.check(4, impaired, impaired, []time.Time{late}, []time.Time{early})
	a.check(5, impaired, types.SummaryStatusInsufficientData, nil, []time.Time{early})
	a.check(6, types.SummaryStatusInitializing, types.SummaryStatusInsufficientData, nil, nil)
	a.check(7, impaired, impaired, []time.Time{early}, nil)
	a.check(8, impaired, impaired, []time.Time{early}, nil)
	want := map[roll.InstanceID]roll.Impairment{
		roll.InstanceID(instanceID(2)): {Since: early}, roll.InstanceID(instanceID(3)): {Since: late, System: true},
		roll.InstanceID(instanceID(4)): {Since: early, System: true}, roll.InstanceID(instanceID(5)): {},
		roll.InstanceID(instanceID(7)): {Since: early, System: true},
	}
	// One page holds all running instances. Otherwise only those with a failed check or an event
	// are requested.
	for pageSize, calls := range map[int][]string{
		1000: {" "},
		5: {
			" ", "instance-status.status=impaired,insufficient-data ", "system-status.status=impaired,insufficient-data ", "system-status.status=impaired,insufficient-data from-5", "attached-ebs-status.status=impaired ", "application-status.status=impaired ",
			"event.code=instance-reboot,system-reboot,system-maintenance,instance-retirement,instance-stop ",
		},
		3: {
			" ", "instance-status.status=impaired,insufficient-data ", "instance-status.status=impaired,insufficient-data from-3", "system-status.status=impaired,insufficient-data ", "system-status.status=impaired,insufficient-data from-3",
			"attached-ebs-status.status=impaired ", "application-status.status=impaired ", "event.code=instance-reboot,system-reboot,system-maintenance,instance-retirement,instance-stop ",
		},
	} {
		a.pageSize, a.checks = pageSize, nil
		s := a.lister().Snapshot(t.Context(), "demo", at, roll.Watch{})
		if diff := cmp.Diff(want, s.Impaired); diff != "" || s.StatusRead != roll.Yes || len(s.Unchecked) != 1 || !s.Unchecked[roll.InstanceID(instanceID(6))] || len(s.Gaps) != 0 || len(s.Scheduled) != 0 {
			t.Errorf("pages of %d: read %v, gaps %+v (-want +got)\n%s", pageSize, s.StatusRead, s.Gaps, diff)
		}
		var asked []string
		for _, in := range a.checks {
			expect.That(t, aws.ToBool(in.IncludeManagedResources) && !aws.ToBool(in.IncludeAllInstances) && aws.ToInt32(in.MaxResults) == 1000 && len(in.Filters) <= 1, "asks with %+v", in)
			filter := ""
			for _, f := range in.Filters {
				filter = aws.ToString(f.Name) + "=" + strings.Join(f.Values, ",")
			}
			asked = append(asked, filter+" "+aws.ToString(in.NextToken))
		}
		expect.That(t, slices.Equal(asked, calls), "pages of %d\n got %q\nwant %q", pageSize, asked, calls)
	}
}

// lister returns an observer that lists the status checks of the region.
func (a *account) lister() *Observer {
	return New(Options{AWS: a.aws(), Kube: a, Principal: func(context.Context) string { return principal }, PageInterval: time.Nanosecond, RollFrom: -1})
}

// The page size makes the region larger than one page of the listing.
func TestASmallClusterTakesOneCallInALargeRegion(t *testing.T) {
	gone := apiError("EC2", "DescribeInstanceStatus", "InvalidInstanceID.NotFound", "The instance ID 'i-00000000000000001' does not exist")
	for _, tt := range []struct {
		running int
		fails   error // of the first call
		want    []int // instances that each call names
	}{
		{0, nil, nil},
		{1, nil, []int{1}},
		{100, nil, []int{100}},
		{101, nil, []int{0, 0, 0, 0, 0, 0}},
		{2, gone, []int{2, 0, 0, 0, 0, 0, 0}},
	} {
		a := newAccount(t)
		for n := 1; n <= tt.running; n++ {
			a.launch(n, owned)
			a.check(n, impaired, ok, nil, nil)
		}
		a.launch(201, owned).State.Name = types.InstanceStateNameStopped
		for n := 202; n < 402; n++ { // not the cluster's
			a.launch(n)
			a.check(n, ok, ok, nil, nil)
		}
		a.pageSize = 200
		if tt.fails != nil {
			a.fail["ec2:DescribeInstanceStatus 1"] = tt.fails
		}
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		var named []int
		for _, in := range a.checks {
			named = append(named, len(in.InstanceIds))
		}
		if !slices.Equal(named, tt.want) || s.StatusRead != roll.Yes || len(s.Impaired) != tt.running || len(s.Gaps) != 0 {
			t.Errorf("%d run: calls that name %v, want %v; read %v, %d impaired, gaps %+v", tt.running, named, tt.want, s.StatusRead, len(s.Impaired), s.Gaps)
		}
	}
}

func TestReadsOfOtherChecksOnlyWhatFailsAlone(t *testing.T) {
	since := at.Add(-time.Hour)
	ebs := &types.EbsStatusSummary{Status: impaired, Details: []types.EbsStatusDetails{{ImpairedSince: aws.Time(since)}}}
	app := &types.ApplicationStatusSummary{Status: impaired, ImpairedSince: aws.Time(since)}
	slow := &types.PerformanceStatusSummary{Status: impaired, ImpairedSince: aws.Time(since)}
	tests := []struct {
		name   string
		status types.InstanceStatus
		want   roll.Impairment // zero is that nothing fails
	}{
		{"a volume", types.InstanceStatus{AttachedEbsStatus: ebs}, roll.Impairment{Since: since, Only: "attached EBS"}},
		{"a volume that is in order", types.InstanceStatus{AttachedEbsStatus: &types.EbsStatusSummary{Status: ok}}, roll.Impairment{}},
		{"a volume of which EC2 knows nothing", types.InstanceStatus{AttachedEbsStatus: &types.EbsStatusSummary{Status: types.SummaryStatusInsufficientData}}, roll.Impairment{}},
		{"the application", types.InstanceStatus{ApplicationStatus: app}, roll.Impairment{Since: since, Only: "application"}},
		{"the performance", types.InstanceStatus{PerformanceStatus: slow}, roll.Impairment{Since: since, Only: "performance"}},
		{"a volume and the rest", types.InstanceStatus{AttachedEbsStatus: ebs, ApplicationStatus: app, PerformanceStatus: slow}, roll.Impairment{Since: since, Only: "attached EBS"}},
		{"the instance and a volume", types.InstanceStatus{InstanceStatus: &types.InstanceStatusSummary{Status: impaired}, AttachedEbsStatus: ebs}, roll.Impairment{}},
	}
	for _, tt := range tests {
		a := newAccount(t)
		a.launch(1, owned)
		tt.status.InstanceId = aws.String(instanceID(1))
		if tt.status.InstanceStatus == nil {
			tt.status.InstanceStatus = &types.InstanceStatusSummary{Status: ok}
		}
		tt.status.SystemStatus = &types.InstanceStatusSummary{Status: ok}
		a.statuses = append(a.statuses, tt.status)
		_, found := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{}).Impaired[one]
		got := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{}).Impaired[one]
		fails := tt.want != (roll.Impairment{}) || tt.status.InstanceStatus.Status == impaired
		expect.That(t, got == tt.want && found == fails, "%s: %+v, found %v", tt.name, got, found)
	}
}

func TestReadsTheFirstEventThatIsNotOver(t *testing.T) {
	event := func(id, description string, in time.Duration) types.InstanceStatusEvent {
		return types.InstanceStatusEvent{
			InstanceEventId: aws.String(id), Code: types.EventCodeSystemReboot, Description: aws.String(description),
			NotBefore: aws.Time(at.Add(in)), NotAfter: aws.Time(at.Add(in + time.Hour)),
		}
	}
	of := func(id string, in time.Duration) roll.Event {
		return roll.Event{ID: id, Code: "system-reboot", NotBefore: at.Add(in), NotAfter: at.Add(in + time.Hour)}
	}
	dateless := event("e-1", "scheduled reboot", 0)
	dateless.NotBefore = nil
	tests := []struct {
		name   string
		events []types.InstanceStatusEvent
		want   roll.Event
	}{
		{"to come", []types.InstanceStatusEvent{event("e-1", "scheduled reboot", time.Hour)}, of("e-1", time.Hour)},
		{"going on", []types.InstanceStatusEvent{event("e-1", "", -time.Hour)}, of("e-1", -time.Hour)},
		{"two", []types.InstanceStatusEvent{event("e-2", "", 2*time.Hour), event("e-1", "", time.Hour)}, of("e-1", time.Hour)},
		{"two at once", []types.InstanceStatusEvent{event("e-2", "", time.Hour), event("e-1", "", time.Hour)}, of("e-1", time.Hour)},
		{"completed", []types.InstanceStatusEvent{event("e-1", "[Completed] scheduled reboot", time.Hour)}, roll.Event{}},
		{"canceled", []types.InstanceStatusEvent{event("e-1", "[Canceled] scheduled reboot", time.Hour)}, roll.Event{}},
		{"one is over", []types.InstanceStatusEvent{event("e-1", "[Completed] scheduled reboot", -time.Hour), event("e-2", "", time.Hour)}, of("e-2", time.Hour)},
		{"no date", []types.InstanceStatusEvent{dateless}, roll.Event{}},
	}
	for _, tt := range tests {
		for _, pageSize := range []int{1000, 1} {
			a := newAccount(t)
			a.launch(1, owned)
			a.launch(2, owned)
			a.check(1, ok, ok, nil, nil)
			a.statuses[0].Events = tt.events
			a.check(2, ok, ok, nil, nil)
			a.pageSize = pageSize
			for _, s := range []*roll.Snapshot{a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{}), a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})} {
				e, found := s.Scheduled[one]
				diff := cmp.Diff(tt.want, e)
				expect.That(t, diff == "" && found == (tt.want != roll.Event{}) && s.StatusRead == roll.Yes, "%s: read %v (-want +got)\n%s", tt.name, s.StatusRead, diff)
			}
		}
	}
}

func TestStatusChecksThatCannotBeReadSayNothing(t *testing.T) {
	for _, call := range []string{"ec2:DescribeInstanceStatus", "ec2:DescribeInstanceStatus 2"} {
		a := newAccount(t)
		a.pageSize = 1
		a.check(2, impaired, impaired, nil, nil)
		a.launch(1, owned)
		a.check(1, impaired, impaired, nil, nil)
		a.fail[call] = apiError("EC2", "DescribeInstanceStatus", "UnauthorizedOperation", "You are not authorized to perform this operation.")
		s := a.lister().Snapshot(t.Context(), "demo", at, roll.Watch{})
		want := []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapDenied, Call: "ec2:DescribeInstanceStatus", Detail: "ec2:DescribeInstanceStatus was denied to " + principal + ": allow ec2:DescribeInstanceStatus for that role"}}
		expect.That(t, s.StatusRead == roll.Unreadable && len(s.Impaired) == 0 && slices.Equal(s.Gaps, want) && s.Whole(), "%s: read %v, %v, gaps %+v", call, s.StatusRead, s.Impaired, s.Gaps)
	}
	a := newAccount(t)
	a.fail["ec2:DescribeInstances"] = apiError("EC2", "DescribeInstances", "RequestLimitExceeded", "no")
	s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
	expect.That(t, s.StatusRead == roll.Unreadable && len(a.checks) == 0, "without instances: read %v after %d calls", s.StatusRead, len(a.checks))
}

func TestStatusChecksOfATarget(t *testing.T) {
	a := newAccount(t)
	a.launch(1, owned)
	a.launch(2, owned)
	a.check(2, impaired, impaired, nil, nil)
	s := a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	if s.StatusRead != roll.Yes || len(s.Impaired) != 0 || len(a.checks) != 1 || !slices.Equal(a.checks[0].InstanceIds, []string{instanceID(1)}) || len(a.checks[0].Filters) != 0 || a.checks[0].MaxResults != nil || !aws.ToBool(a.checks[0].IncludeManagedResources) {
		t.Errorf("read %v, %v with %+v", s.StatusRead, s.Impaired, a.checks)
	}
	a.check(1, impaired, ok, []time.Time{at}, nil)
	s = a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	expect.Same(t, s.Impaired, map[roll.InstanceID]roll.Impairment{one: {Since: at}}, "s.Impaired")
	gone := a.observer().Target(t.Context(), "demo", roll.InstanceID(instanceID(9)), at, roll.Watch{})
	expect.That(t, gone.StatusRead == roll.Yes && len(gone.Gaps) == 0 && len(gone.Impaired) == 0, "one that EC2 does not know: read %v, gaps %+v", gone.StatusRead, gone.Gaps)
	a.fail["ec2:DescribeInstanceStatus"] = apiError("EC2", "DescribeInstanceStatus", "RequestLimitExceeded", "no")
	s = a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})
	expect.That(t, s.StatusRead == roll.Unreadable && len(s.Gaps) == 1 && s.Gaps[0].Scope == roll.ScopeDetail && len(s.Instances) == 1, "read %v, gaps %+v", s.StatusRead, s.Gaps)
}

func TestReadsTheZonesThatTheClusterIsShiftedAwayFrom(t *testing.T) {
	expires := at.Add(time.Hour)
	shifts := &arczonalshift.GetManagedResourceOutput{
		ZonalShifts: []arctypes.ZonalShiftInResource{
			{AppliedStatus: arctypes.AppliedStatusApplied, AwayFrom: aws.String("euw1-az1"), ExpiryTime: aws.Time(expires)},
			{AppliedStatus: arctypes.AppliedStatusNotApplied, AwayFrom: aws.String("euw1-az2"), ExpiryTime: aws.Time(expires)},
		},
		Autoshifts: []arctypes.AutoshiftInResource{{AppliedStatus: arctypes.AutoshiftAppliedStatusNotApplied, AwayFrom: aws.String("euw1-az3"), StartTime: aws.Time(at)}},
	}
	tests := map[string]struct {
		enabled *ekstypes.ZonalShiftConfigResponse
		shifts  *arczonalshift.GetManagedResourceOutput
		want    []roll.Shift
		read    roll.Answer
	}{
		"not enabled":        {nil, nil, nil, roll.NotAsked},
		"disabled":           {&ekstypes.ZonalShiftConfigResponse{Enabled: aws.Bool(false)}, nil, nil, roll.NotAsked},
		"nothing is shifted": {&ekstypes.ZonalShiftConfigResponse{Enabled: aws.Bool(true)}, &arczonalshift.GetManagedResourceOutput{}, nil, roll.Yes},
		"shifts":             {&ekstypes.ZonalShiftConfigResponse{Enabled: aws.Bool(true)}, shifts, []roll.Shift{{ZoneID: "euw1-az1", Expires: expires}, {ZoneID: "euw1-az3"}}, roll.Yes},
	}
	for name, tt := range tests {
		a := newAccount(t)
		a.launch(1, owned)
		a.cluster.ZonalShiftConfig, a.shifts = tt.enabled, tt.shifts
		for _, s := range []*roll.Snapshot{a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{}), a.observer().Target(t.Context(), "demo", one, at, roll.Watch{})} {
			if diff := cmp.Diff(tt.want, s.Shifts); diff != "" || s.ShiftsRead != tt.read || s.Cluster.ZonalShift != (tt.read == roll.Yes) || len(s.Gaps) != 0 {
				t.Errorf("%s: read %v, gaps %+v (-want +got)\n%s", name, s.ShiftsRead, s.Gaps, diff)
			}
		}
		if tt.read == roll.Yes && !slices.Equal(a.asked, []string{"arn:aws:eks:eu-west-1:111122223333:cluster/demo", "arn:aws:eks:eu-west-1:111122223333:cluster/demo"}) {
			t.Errorf("%s: asked for %q", name, a.asked)
		}
	}
}

func TestShiftsThatCannotBeReadAreAGap(t *testing.T) {
	for _, code := range []string{"AccessDeniedException", "ResourceNotFoundException", "ThrottlingException"} {
		a := newAccount(t)
		a.launch(1, owned)
		a.cluster.ZonalShiftConfig = &ekstypes.ZonalShiftConfigResponse{Enabled: aws.Bool(true)}
		a.fail["arc-zonal-shift:GetManagedResource"] = apiError("ARC Zonal Shift", "GetManagedResource", code, "no")
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		expect.That(t, s.ShiftsRead == roll.Unreadable && len(s.Gaps) == 1 && s.Gaps[0].Scope == roll.ScopeDetail && s.Gaps[0].Call == "arc-zonal-shift:GetManagedResource" && len(s.Instances) == 1, "%s: read %v, gaps %+v", code, s.ShiftsRead, s.Gaps)
	}
}

func TestReadsThatASpotInterruptionTookAnInstance(t *testing.T) {
	for code, want := range map[string]bool{"Server.SpotInstanceTermination": true, "Server.SpotInstanceShutdown": true, "Client.UserInitiatedShutdown": false, "": false} {
		a := newAccount(t)
		i := a.launch(1, owned)
		if i.State.Name = types.InstanceStateNameTerminated; code != "" {
			i.StateReason = &types.StateReason{Code: aws.String(code)}
		}
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		expect.That(t, len(s.Instances) == 1 && s.Instances[0].SpotTaken == want, "%s: %+v", code, s.Instances)
	}
}

func TestReadsThatAnInstanceIsHibernated(t *testing.T) {
	for _, tt := range []struct {
		code  string
		state types.InstanceStateName
		want  bool
	}{
		{"Client.UserInitiatedHibernate", types.InstanceStateNameStopped, true},
		{"Client.UserInitiatedHibernate", types.InstanceStateNameStopping, true},
		{"Client.UserInitiatedHibernate", types.InstanceStateNameRunning, false},
		{"Client.UserInitiatedShutdown", types.InstanceStateNameStopped, false},
	} {
		a := newAccount(t)
		i := a.launch(1, owned)
		i.State.Name, i.StateReason = tt.state, &types.StateReason{Code: aws.String(tt.code)}
		s := a.observer().Snapshot(t.Context(), "demo", at, roll.Watch{})
		expect.That(t, len(s.Instances) == 1 && s.Instances[0].Hibernated == tt.want, "%s %s: %+v", tt.code, tt.state, s.Instances)
	}
}

// Of two failed checks the earlier began it, and of two events the earlier comes first, in any order.
func TestWhatCameFirst(t *testing.T) {
	const bad = "impaired"
	for since, want := range map[[2]time.Duration]time.Duration{{1, 2}: 2, {2, 1}: 2} {
		got, ok := impairment(evidence.InstanceStatus{Instance: bad, InstanceSince: at.Add(-since[0]), System: bad, SystemSince: at.Add(-since[1])}, false)
		expect.That(t, ok && got.System && got.Since.Equal(at.Add(-want)), "%v: %+v", since, got)
	}
	if got, _ := impairment(evidence.InstanceStatus{Instance: bad, System: bad, SystemSince: at}, false); !got.Since.Equal(at) {
		t.Errorf("nobody knows since when the instance fails: %+v", got)
	}
	early, same, late := roll.Event{ID: "b", NotBefore: at}, roll.Event{ID: "c", NotBefore: at}, roll.Event{ID: "a", NotBefore: at.Add(1)}
	for _, events := range [][]roll.Event{{early, same, late}, {late, same, early}, {same, late, early}} {
		got, ok := firstEvent(events)
		expect.That(t, ok && got.ID == "b", "%+v: %+v", events, got)
	}
}
