package assess_test

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	vol = roll.InstanceID("volume/vol-1")
	eni = roll.InstanceID("eni/eni-1")
)

// endedBefore returns the ledger of an instance that Rollcall terminated the given time ago.
func endedBefore(ago time.Duration, result ledger.Result) ledger.State {
	at := now.Add(-ago)
	return ledger.State{Actions: []ledger.Action{{
		ID: "t", Do: "terminate", Instance: "i-00000001", Group: "asg/w", At: at, Outlives: []string{"eni-1", "vol-1"}, Outcome: &ledger.Outcome{Result: result, At: at},
	}}}
}

// remembers returns the ledger of a volume with a finding.
func remembers(ago time.Duration, opened bool) ledger.State {
	f := ledger.Finding{Instance: vol, Kind: roll.Stuck, Group: "asg/w", Left: "i-00000001", FirstSeen: now.Add(-ago), Since: now.Add(-ago), Began: now.Add(-ago), Stage: roll.Watching}
	if opened {
		f.Opened, f.Stage = now.Add(-time.Hour), roll.Overdue
	}
	return ledger.State{Findings: map[roll.FindingKey]ledger.Finding{f.Key(): f}}
}

func TestWhatOutlivesAnInstanceIsAskedForFromThreeHoursToADay(t *testing.T) {
	both := []roll.InstanceID{eni, vol}
	for name, tt := range map[string]struct {
		s    ledger.State
		want []roll.InstanceID
	}{
		"just before three hours":     {endedBefore(3*time.Hour-time.Second, ledger.Done), nil},
		"three hours":                 {endedBefore(3*time.Hour, ledger.Done), both},
		"just before a day":           {endedBefore(24*time.Hour-time.Second, ledger.Done), both},
		"a day":                       {endedBefore(24*time.Hour, ledger.Done), nil},
		"an act that failed":          {endedBefore(4*time.Hour, ledger.Failed), nil},
		"a finding":                   {remembers(240*time.Hour, true), []roll.InstanceID{vol}},
		"one that nobody was told of": {remembers(24*time.Hour, false), nil},
		"one that has time":           {remembers(time.Hour, false), nil},
		"one that is due":             {remembers(3*time.Hour, false), []roll.InstanceID{vol}},
	} {
		expect.List(t, assess.AskLeft(tt.s, now), tt.want, "%s", name)
	}
	s := endedBefore(4*time.Hour, ledger.Done)
	s.Actions[0].Outcome = nil
	got := assess.AskLeft(s, now)
	expect.That(t, len(got) == 0, "an act without an outcome: %v", got)
}

// leftOf assesses what is left, according to EC2's answers about the subjects that were read.
func leftOf(s *roll.Snapshot, state ledger.State) assess.Assessment {
	s.At, s.StatusRead, s.DeletingRead = now, roll.Yes, roll.Yes
	return judge(s, state)
}

func readLeft(read []roll.InstanceID, left ...roll.Leftover) *roll.Snapshot {
	s := &roll.Snapshot{Left: map[roll.InstanceID]roll.Leftover{}, LeftRead: map[roll.InstanceID]roll.Answer{}}
	for _, id := range read {
		s.LeftRead[id] = roll.Yes
	}
	for _, l := range left {
		subject, _ := roll.LeftoverID(l.ID)
		s.Left[subject] = l
	}
	return s
}

func TestWhatIsLeftIsAFinding(t *testing.T) {
	out := leftOf(readLeft([]roll.InstanceID{vol, eni}, roll.Leftover{ID: "vol-1", Type: "gp3", Size: 100, Zone: "eu-west-1a"}, roll.Leftover{ID: "eni-1", Subnet: "subnet-1"}), endedBefore(4*time.Hour, ledger.Done))
	must.That(t, len(out.Findings) == 2, "%+v", out.Findings)
	i, v := out.Findings[0], out.Findings[1]
	expect.That(t, v.Instance == vol && v.Kind == roll.Stuck && v.Stage == roll.Overdue && v.Group == "asg/w" && v.Selector == roll.GroupSelector("asg/w") && v.Left.Instance == "i-00000001" && v.Since.Equal(now.Add(-4*time.Hour)) && v.Zone == "eu-west-1a", "%+v", v)
	for _, want := range []string{"vol-1 (gp3, 100 GiB) outlived instance i-00000001", "8.00 USD a month (an estimate by the prices of us-east-1, " + roll.PricesOf} {
		expect.That(t, strings.Contains(v.Summary, want), "%q does not say %q", v.Summary, want)
	}
	expect.That(t, i.Instance == eni && strings.Contains(i.Summary, "eni-1 in subnet subnet-1") && strings.Contains(i.Summary, "it costs nothing, and holds an address of its subnet"), "%+v", i)
	expect.That(t, out.Count["asg/w"].Overdue == 0, "what is no node counts for a limit")
}

func TestWhatIsGoneAttachedOrClaimedIsNotLeft(t *testing.T) {
	if out := leftOf(readLeft([]roll.InstanceID{vol, eni}), endedBefore(4*time.Hour, ledger.Done)); len(out.Findings)+len(out.Kept) != 0 {
		t.Errorf("%+v, kept %v", out.Findings, out.Kept)
	}
	if out := leftOf(readLeft([]roll.InstanceID{vol}), remembers(30*time.Hour, true)); len(out.Findings)+len(out.Kept) != 0 {
		t.Errorf("a finding is not over: %+v, kept %v", out.Findings, out.Kept)
	}
	out := leftOf(readLeft([]roll.InstanceID{vol}), remembers(24*time.Hour, false))
	expect.That(t, len(out.Findings)+len(out.Kept) == 0, "what nobody was told of is not forgotten after a day: %+v, kept %v", out.Findings, out.Kept)
}

func TestWhatCouldNotBeReadIsNeitherLeftNorOver(t *testing.T) {
	if out := leftOf(readLeft(nil), endedBefore(4*time.Hour, ledger.Done)); len(out.Findings) != 0 {
		t.Errorf("%+v", out.Findings)
	}
	if out := leftOf(readLeft(nil), remembers(30*time.Hour, true)); len(out.Findings) != 0 || !out.Kept[roll.FindingKey{Instance: vol, Kind: roll.Stuck}] {
		t.Errorf("%+v, kept %v", out.Findings, out.Kept)
	}
	s := readLeft([]roll.InstanceID{vol}, roll.Leftover{ID: "vol-1", Type: "gp3"})
	s.Target = "i-00000002"
	out := leftOf(s, remembers(30*time.Hour, true))
	expect.That(t, len(out.Findings) == 0, "a look at one instance: %+v", out.Findings)
}

// An orphan that a person terminates is forgotten in the check that no longer finds it. From then
// on its remnants are remembered.
func TestWhatOutlivesAnOrphanIsWatchedOnceItIsGone(t *testing.T) {
	orphan := ledger.Finding{Instance: "i-00000001", Kind: roll.Orphaned, Group: "nodepool/default", Outlives: []string{"vol-1"}, FirstSeen: now.Add(-time.Hour)}
	state := func() ledger.State {
		return ledger.State{Findings: map[roll.FindingKey]ledger.Finding{orphan.Key(): orphan}}
	}
	for name, tt := range map[string]struct {
		change func(*roll.Snapshot)
		want   int
	}{
		"gone":        {func(*roll.Snapshot) {}, 1},
		"terminated":  {func(s *roll.Snapshot) { s.Instances = []roll.Instance{{ID: "i-00000001", State: roll.StateTerminated}} }, 1},
		"stopped":     {func(s *roll.Snapshot) { s.Instances = []roll.Instance{{ID: "i-00000001", State: roll.StateStopped}} }, 0},
		"not listed":  {func(s *roll.Snapshot) { s.Gaps = []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled}} }, 0},
		"of a target": {func(s *roll.Snapshot) { s.Target = "i-00000002" }, 0},
	} {
		s := readLeft(nil)
		tt.change(s)
		out := leftOf(s, state())
		expect.That(t, len(out.Findings) == tt.want, "%s: %+v", name, out.Findings)
		for _, f := range out.Findings {
			expect.That(t, f.Instance == vol && f.Stage == roll.Watching && f.Since.Equal(now) && f.Due.Equal(now.Add(assess.LeftAfter)) && f.Group == "nodepool/default" && f.Left.Instance == "i-00000001", "%s: %+v", name, f)
		}
	}
	both := state()
	both.Actions = endedBefore(time.Hour, ledger.Done).Actions
	out := leftOf(readLeft(nil), both)
	expect.That(t, len(out.Findings) == 0, "the act of Rollcall remembers it: %+v", out.Findings)
}

func TestWhatIsWatchedIsKeptForADay(t *testing.T) {
	key := roll.FindingKey{Instance: vol, Kind: roll.Stuck}
	if out := leftOf(readLeft(nil), remembers(2*time.Hour, false)); len(out.Findings) != 1 || out.Findings[0].Stage != roll.Watching {
		t.Errorf("within its time: %+v", out.Findings)
	}
	if out := leftOf(readLeft([]roll.InstanceID{vol}), remembers(5*time.Hour, false)); len(out.Findings) != 0 || !out.Kept[key] {
		t.Errorf("attached for now: %+v, kept %v", out.Findings, out.Kept)
	}
	if out := leftOf(readLeft([]roll.InstanceID{vol}, roll.Leftover{ID: "vol-1", Type: "gp3"}), remembers(5*time.Hour, false)); len(out.Findings) != 1 || out.Findings[0].Stage != roll.Overdue {
		t.Errorf("detached later: %+v", out.Findings)
	}
	out := leftOf(readLeft(nil), remembers(24*time.Hour, false))
	expect.That(t, len(out.Findings) == 0 && !out.Kept[key], "after a day: %+v, kept %v", out.Findings, out.Kept)
}
