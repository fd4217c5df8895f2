package assess_test

import (
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

const general = roll.Group("nodepool/general")

func failing(since time.Duration) *roll.Snapshot {
	s := snapshot(nil, nil)
	s.ClaimsRead, s.ScalingRead = roll.Yes, roll.Yes
	s.Launches = map[roll.Group]roll.Launch{general: {Owner: roll.OwnerKarpenter, Since: now.Add(-since), Failed: now.Add(-time.Second), Message: "LaunchFailed: no"}}
	return s
}

func TestLaunchesThatFailAreOneFindingOfTheGroup(t *testing.T) {
	for since, want := range map[time.Duration]roll.Stage{
		5*time.Minute - time.Second: roll.Watching,
		5 * time.Minute:             roll.Overdue,
		5*time.Minute + time.Second: roll.Overdue,
	} {
		a := judge(failing(since), ledger.State{})
		expect.That(t, len(a.Findings) == 1 && a.Findings[0].Stage == want && a.Findings[0].Instance == roll.InstanceID(general) && a.Findings[0].Group == general && !a.Findings[0].Instance.IsInstance(), "%s: %+v", since, a.Findings)
		expect.That(t, len(a.Count) == 0 && len(a.Questions) == 0, "%s: counted %+v, asked %+v", since, a.Count, a.Questions)
	}
}

// A launch that failed before a check that found nothing is not why an instance is missing now: the
// group was full meanwhile.
func TestAnOldFailureIsNoVerdictAboutTheNextLaunch(t *testing.T) {
	for name, tt := range map[string]struct {
		failed, checked time.Duration // ago
		status          string
		since           time.Duration
		want            roll.Stage
	}{
		"hours before the check":             {3 * time.Hour, 6 * time.Minute, "", 0, roll.Watching},
		"within its tolerance at that check": {8 * time.Minute, 4 * time.Minute, "", 8 * time.Minute, roll.Overdue},
		"EKS says so":                        {3 * time.Hour, 4 * time.Minute, "CREATE_FAILED", 3 * time.Hour, roll.Overdue},
	} {
		s := failing(tt.failed)
		l := s.Launches[general]
		l.Failed, l.Status = l.Since, tt.status
		s.Launches[general] = l
		a := judge(s, ledger.State{Checked: now.Add(-tt.checked)})
		expect.That(t, len(a.Findings) == 1 && a.Findings[0].Since.Equal(now.Add(-tt.since)) && a.Findings[0].Stage == tt.want, "%s: %+v", name, a.Findings)
	}
}

// Karpenter creates another NodeClaim for each try: the fault is as old as its first.
func TestAnotherTryIsTheSameTrouble(t *testing.T) {
	first := now.Add(-time.Hour)
	key := roll.FindingKey{Instance: roll.InstanceID(general), Kind: roll.Unlaunched}
	state := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{key: {Instance: key.Instance, Kind: key.Kind, Group: general, Since: first, Began: first, FirstSeen: first}}}
	a := judge(failing(time.Second), state)
	expect.That(t, len(a.Findings) == 1 && a.Findings[0].Since.Equal(first) && a.Findings[0].Began.Equal(first) && a.Findings[0].Stage == roll.Overdue, "%+v", a.Findings)
	for name, tt := range map[string]struct {
		change func(*roll.Snapshot)
		kept   bool
	}{
		"a launch succeeded":        {func(*roll.Snapshot) {}, false},
		"Auto Scaling was not read": {func(s *roll.Snapshot) { s.ScalingRead, s.NodeGroupsRead = roll.Unreadable, roll.Unreadable }, false},
		"the claims were not read":  {func(s *roll.Snapshot) { s.ClaimsRead = roll.Unreadable }, true},
		"nothing was asked":         {func(s *roll.Snapshot) { s.ClaimsRead = roll.NotAsked }, true},
		"one instance is looked at": {func(s *roll.Snapshot) { s.Target = instanceID(1) }, true},
	} {
		s := failing(0)
		s.Launches = nil
		tt.change(s)
		a := judge(s, state)
		expect.That(t, len(a.Findings) == 0 && a.Kept[key] == tt.kept, "%s: %+v, kept %v", name, a.Findings, a.Kept)
	}
}

// A managed node group is known from Auto Scaling and from EKS.
func TestTheFailureOfANodeGroupIsOverIfBothSourcesWereRead(t *testing.T) {
	key := roll.FindingKey{Instance: "nodegroup/w", Kind: roll.Unlaunched}
	state := ledger.State{Findings: map[roll.FindingKey]ledger.Finding{key: {Instance: key.Instance, Kind: key.Kind, Group: "nodegroup/w"}}}
	for _, tt := range []struct {
		scaling, groups roll.Answer
		kept            bool
	}{{roll.Yes, roll.Yes, false}, {roll.Unreadable, roll.Yes, true}, {roll.Yes, roll.Unreadable, true}} {
		s := failing(0)
		s.Launches, s.ScalingRead, s.NodeGroupsRead = nil, tt.scaling, tt.groups
		a := judge(s, state)
		expect.That(t, a.Kept[key] == tt.kept, "%+v: kept %v", tt, a.Kept)
	}
	s := failing(0)
	s.Launches, s.Unasked = nil, map[roll.Group]bool{"nodegroup/w": true}
	a := judge(s, state)
	expect.That(t, a.Kept[key], "it was not its turn: %v", a.Kept)
}

func TestAnInstanceThatStaysPending(t *testing.T) {
	for launched, found := range map[time.Duration]bool{10*time.Minute - time.Second: false, 10 * time.Minute: true} {
		for owner, claimed := range map[roll.Owner]bool{roll.OwnerKarpenter: true, roll.OwnerNone: false} {
			s := snapshot([]roll.Instance{{ID: instanceID(1), State: roll.StatePending, Launched: now.Add(-launched), Owner: owner, Group: general}}, nil)
			a := judge(s, ledger.State{})
			if want := found && claimed; (len(a.Findings) == 1) != want || want && a.Findings[0].Kind != roll.Unlaunched {
				t.Errorf("%s of %s: %+v", launched, owner, a.Findings)
			}
		}
	}
}

func TestASuspendedLaunchIsANote(t *testing.T) {
	s := failing(0)
	s.Launches, s.Suspended = nil, []roll.Group{"asg/w"}
	a := judge(s, ledger.State{})
	expect.That(t, len(a.Findings) == 0 && len(a.Notes) == 1, "%+v, %q", a.Findings, a.Notes)
}
