package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestZoneOut(t *testing.T) {
	tests := []struct {
		zone          string
		silent, nodes int
		want          bool
	}{
		{"a", 2, 3, false}, // at least three
		{"a", 2, 2, true},  // or all of two
		{"a", 1, 1, false},
		{"a", 3, 3, true},
		{"a", 3, 5, true},  // 60%
		{"a", 3, 6, false}, // 50%
		{"a", 11, 20, true},
		{"a", 10, 20, false},
		{"a", 54, 100, false},
		{"a", 55, 100, true},
		{"", 9, 9, false}, // zone unknown
	}
	for _, tt := range tests {
		got := zoneOut(tt.zone, assess.ZoneCount{Nodes: tt.nodes, Ready: tt.nodes - tt.silent, Silent: tt.silent}, 55) != nil
		expect.That(t, got == tt.want, "%d of %d in zone %q: %v, want %v", tt.silent, tt.nodes, tt.zone, got, tt.want)
	}
}

func TestMassSilence(t *testing.T) {
	at := func(minutes ...float64) (out []time.Time) {
		for _, m := range minutes {
			out = append(out, now.Add(time.Duration(m*float64(time.Minute))))
		}
		return out
	}
	tests := []struct {
		name   string
		silent []time.Time
		nodes  int
		want   bool
	}{
		{"two only", at(0, 0), 4, false},
		{"three of thirty", at(0, 1, 2), 30, true},
		{"three of thirty-one", at(0, 1, 2), 31, false},
		{"three, the last just within", at(-5, 0, 5), 30, true},
		{"three, the last just beyond", at(-5, 0, 5.01), 30, false},
		{"three, the first just before", at(-5.01, 0, 5), 30, false},
		{"many, spread over hours", at(-300, -200, -100, 0, 100, 200), 10, false},
	}
	for _, tt := range tests {
		expect.Equal(t, massSilence(now, tt.silent, tt.nodes, 10) != nil, tt.want, "%s", tt.name)
	}
}

func TestCooling(t *testing.T) {
	trouble := func(ago time.Duration, r Reason) *ledger.Trouble {
		return &ledger.Trouble{Reason: string(r), Last: now.Add(-ago)}
	}
	tests := []struct {
		name string
		t    *ledger.Trouble
		want bool
	}{
		{"none", nil, false},
		{"just seen", trouble(0, ClusterUnreachable), true},
		{"nearly over", trouble(15*time.Minute-time.Second, ZoneOutage), true},
		{"a zone is down for long, and it goes on", &ledger.Trouble{Reason: string(ZoneOutage), Since: now.Add(-time.Hour), Last: now}, false},
		{"a zone is down, not for long", &ledger.Trouble{Reason: string(ZoneOutage), Since: now.Add(-time.Hour + time.Second), Last: now}, true},
		{"a zone was down for long", &ledger.Trouble{Reason: string(ZoneOutage), Since: now.Add(-9 * time.Hour), Last: now.Add(-2 * time.Minute)}, true},
		{"the API server is down for long", &ledger.Trouble{Reason: string(ClusterUnreachable), Since: now.Add(-9 * time.Hour), Last: now}, true},
		{"over", trouble(15*time.Minute, ZoneOutage), false},
		{"a look that was only incomplete", trouble(0, SnapshotIncomplete), false},
	}
	for _, tt := range tests {
		if got := cooling(tt.t, 15*time.Minute, tt.t != nil && now.Sub(tt.t.Last) < stormEnds, now); (got != nil) != tt.want || got != nil && !got.Until.After(now) {
			t.Errorf("%s: %+v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestShifted(t *testing.T) {
	snapshot := func(may bool, read roll.Answer, zones ...string) *roll.Snapshot {
		s := &roll.Snapshot{Cluster: roll.Cluster{ZonalShift: may}, ShiftsRead: read}
		for _, z := range zones {
			s.Shifts = append(s.Shifts, roll.Shift{ZoneID: z, Expires: now.Add(time.Hour)})
		}
		return s
	}
	tests := []struct {
		name   string
		zoneID string
		s      *roll.Snapshot
		want   bool
	}{
		{"it may not be shifted", "euw1-az1", snapshot(false, roll.NotAsked), false},
		{"nobody could tell", "euw1-az1", snapshot(true, roll.Unreadable), true},
		{"nobody asked", "euw1-az1", snapshot(true, roll.NotAsked), true},
		{"none is active", "euw1-az1", snapshot(true, roll.Yes), false},
		{"away from another zone", "euw1-az1", snapshot(true, roll.Yes, "euw1-az2"), false},
		{"away from this zone", "euw1-az1", snapshot(true, roll.Yes, "euw1-az2", "euw1-az1"), true},
		{"its zone is not known", "", snapshot(true, roll.Yes, "euw1-az2"), true},
	}
	for _, tt := range tests {
		expect.Equal(t, shifted(roll.Finding{ZoneID: tt.zoneID}, tt.s) != nil, tt.want, "%s", tt.name)
	}
}

// An hour without an API server, and the burst when it is back.
func TestAStormIsRememberedAndCooledDown(t *testing.T) {
	w := healthy(20)
	w.silent(1, 2*time.Hour)
	alarms := []string{}
	look := func(minute int, down bool) Plan {
		w.snapshot.Gaps = nil
		if down {
			w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Detail: "no answer"}}
		}
		_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
		w.apply(p)
		if p.Alarm != nil {
			over := map[bool]string{false: "begun ", true: "over "}[p.Alarm.Over]
			alarms = append(alarms, over+(time.Duration(minute)*time.Minute).String())
			w.state.Apply(ledger.Changes{Put: ledger.State{Trouble: p.Alarm.Said}})
		}
		return p
	}
	for minute := 0; minute <= 60; minute += 5 {
		p := look(minute, true)
		must.That(t, len(p.Orders) == 0 && len(p.Tags)+len(p.Notices) == 0, "minute %d: planned %+v", minute, p)
	}
	for minute := 61; minute < 75; minute += 2 {
		p := look(minute, false)
		must.That(t, len(p.Orders) == 0 && slices.Equal(reasons(p), []Reason{StormCooldown}), "minute %d: orders %+v, held for %v", minute, p.Orders, reasons(p))
	}
	p := look(75, false)
	expect.That(t, ordered1(p) == string(Reboot), "15 min after it was back: ordered %s", ordered1(p))
	expect.List(t, alarms, []string{"begun 15m0s", "over 1h11m0s"}, "alarms")
	if look(80, false); w.state.Trouble != nil {
		t.Errorf("the memory of it is kept: %+v", w.state.Trouble)
	}
}

// blinking is a world whose cluster is alternately readable and unreadable, with its notices.
type blinking struct {
	*world
	told []string
	ids  []string
}

// look checks at that minute; forgetful: it is not recorded that a notice was sent.
func (c *blinking) look(minute int, down, forgetful bool) Plan {
	c.snapshot.Gaps = nil
	if down {
		c.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Detail: "no answer"}}
	}
	_, p := c.make(now.Add(time.Duration(minute) * time.Minute))
	c.apply(p)
	if a := p.Alarm; a != nil {
		what := fmt.Sprintf("%d: down since %s", minute, a.Since.Sub(now))
		if a.Over {
			what = fmt.Sprintf("%d: over", minute)
		}
		c.told, c.ids = append(c.told, what), append(c.ids, a.Incident.ID)
		if !forgetful {
			c.state.Apply(a.Sent())
		}
	}
	return p
}

func TestAnOutageEndsAndBeginsWhateverElseIsWrong(t *testing.T) {
	c := blinking{world: healthy(20)}
	for n := 1; n <= 9; n++ { // 45% are unhealthy throughout
		c.silent(n, time.Duration(2+n)*time.Hour)
	}
	for minute := range 120 {
		c.look(minute, minute < 30 || minute >= 60 && minute < 90, false)
	}
	expect.List(t, c.told, []string{"15: down since 0s", "39: over", "75: down since 1h0m0s", "99: over"}, "told")
	expect.That(t, c.ids[0] == c.ids[1] && c.ids[2] == c.ids[3] && c.ids[0] != c.ids[2], "incidents %q", c.ids)
	expect.That(t, c.state.Trouble != nil && c.state.Trouble.Reason == string(UnhealthyShare), "remembered: %+v", c.state.Trouble)
}

func TestOtherTroubleBeforeAnOutageSoundsItsAlarmNoSooner(t *testing.T) {
	c := blinking{world: healthy(20)}
	for n := 1; n <= 9; n++ {
		c.silent(n, time.Duration(2+n)*time.Hour)
	}
	for minute := range 60 {
		c.look(minute, minute >= 40, false)
	}
	expect.List(t, c.told, []string{"55: down since 40m0s"}, "told")
}

func TestAnAlarmThatNobodyRemembersIsOfTheSameIncident(t *testing.T) {
	c := blinking{world: healthy(20)}
	for minute := range 18 {
		c.look(minute, true, minute < 17)
	}
	want := []string{"15: down since 0s", "16: down since 0s", "17: down since 0s"}
	must.That(t, slices.Equal(c.told, want), "told %q, want %q", c.told, want)
	for minute := 18; minute < 30; minute++ {
		c.look(minute, false, false)
	}
	expect.That(t, len(c.ids) == 4 && len(slices.Compact(slices.Clone(c.ids))) == 1, "incidents %q", c.ids)
	for minute := 30; minute < 50; minute++ { // within the cooldown of the first
		c.look(minute, true, false)
	}
	expect.That(t, len(c.ids) == 5 && c.ids[4] != c.ids[0], "the next outage's incident: %q", c.ids)
}

// An API server that does not answer for hours does not show when a zone went down.
func TestAZoneThatIsDownAfterAnOutageHoldsTheCluster(t *testing.T) {
	c := blinking{world: healthy(20)}
	for minute := 0; minute <= 120; minute += 2 {
		c.look(minute, true, false)
	}
	for _, i := range []int{0, 3, 6, 9, 12, 15, 18} {
		c.snapshot.Nodes[i].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now.Add(100 * time.Minute)}
	}
	c.look(122, false, false)
	got := c.state.Trouble
	expect.That(t, got.Reason != string(ClusterUnreachable) && got.Since.Equal(now.Add(122*time.Minute)), "remembered: %+v", got)
}

// inThreeZones returns a healthy cluster of 30 nodes, of which every third is in the same zone.
func inThreeZones(limits string) blinking {
	c := blinking{world: healthy(30)}
	c.doc = mustParse("apiVersion: rollcall/v1\nlimits: " + limits + "\n")
	for i := range c.snapshot.Nodes {
		zone := []string{"a", "b", "c"}[i%3]
		c.snapshot.Instances[i].Zone, c.snapshot.Nodes[i].Zone = zone, zone
	}
	return c
}

// An occasional failed check does not restart the hour in which a zone that is down holds the
// others.
func TestAZoneThatIsDownIsTheSameAfterALookThatFailed(t *testing.T) {
	c := inThreeZones("{unhealthy: 100%, massSilence: 100%}")
	for _, i := range []int{0, 3, 6, 9, 12, 15, 18, 1} { // seven of zone a, and one elsewhere
		c.silent(i+1, 3*time.Hour)
	}
	first := -1
	for minute := 0; minute < 300; minute++ {
		if p := c.look(minute, minute%45 == 5, false); len(p.Orders) > 0 && first < 0 {
			first = minute
		}
		got := c.state.Trouble
		must.That(t, got.Reason == string(ZoneOutage) && got.Since.Equal(now), "minute %d: remembered %+v", minute, got)
	}
	expect.That(t, first == 60, "the first order elsewhere came in minute %d, want 60", first)
}

// The hour in which a zone that is down holds the others begins anew if another zone fails, at once or little by little.
func TestAnotherZoneThatFailsHasAnHourOfItsOwn(t *testing.T) {
	for _, apart := range []time.Duration{0, 6 * time.Minute} {
		c := inThreeZones("{unhealthy: 100%}")
		for i := 0; i < 21; i += 3 {
			c.silent(i+1, 3*time.Hour)
		}
		for minute := range 100 {
			c.look(minute, false, false)
		}
		expect.That(t, c.state.Trouble.Since.Equal(now), "remembered: %+v", c.state.Trouble)
		failed := now.Add(100 * time.Minute)
		for i := 1; i < 21; i += 3 {
			c.snapshot.Nodes[i].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: failed.Add(-time.Duration(i/3) * apart)}
		}
		c.look(101, false, false)
		got := c.state.Trouble
		expect.That(t, got.Reason == string(ZoneOutage) && got.Since.Equal(failed), "%s apart: remembered: %+v", apart, got)
	}
}

func TestTheEndOfAnOutageIsToldToWhoeverWantsToHearIt(t *testing.T) {
	for name, tt := range map[string]struct {
		mode    policy.Mode // from minute 30 to 200
		lowered bool        // the policy is unreadable then
		want    []string
	}{
		"all the time":              {policy.Notify, false, []string{"15: down since 0s", "39: over", "225: down since 3h30m0s", "249: over"}},
		"notices are off meanwhile": {policy.Observe, false, []string{"15: down since 0s", "225: down since 3h30m0s", "249: over"}},
		"the policy is not read":    {policy.Observe, true, []string{"15: down since 0s", "200: over", "225: down since 3h30m0s", "249: over"}},
	} {
		for _, sick := range []int{0, 9} { // whatever else is wrong
			c := blinking{world: healthy(20)}
			for n := 1; n <= sick; n++ {
				c.silent(n, time.Duration(2+n)*time.Hour)
			}
			for minute := range 300 {
				c.mode, c.lowered = policy.Notify, false
				if minute >= 30 && minute < 200 {
					c.mode, c.lowered = tt.mode, tt.lowered
				}
				c.look(minute, minute < 30 || minute >= 210 && minute < 240, false)
			}
			expect.List(t, c.told, tt.want, "%s, %d sick: told", name, sick)
		}
	}
}

// An outage is reported even if checks are infrequent.
func TestAnOutageThatIsLookedAtSeldomSoundsItsAlarm(t *testing.T) {
	c := blinking{world: healthy(20)}
	for minute := 0; minute < 100; minute += 20 {
		c.look(minute, true, false)
	}
	expect.List(t, c.told, []string{"20: down since 0s"}, "told")
}

func TestAClusterThatIsGoneIsNotSaidToBeWell(t *testing.T) {
	c := blinking{world: healthy(20)}
	for minute := range 20 {
		c.look(minute, true, false)
	}
	var over *Alarm
	for minute := 20; minute < 40; minute++ {
		c.snapshot.Nodes, c.snapshot.Gaps = nil, []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterGone, Detail: "EKS has no such cluster"}}
		_, p := c.make(now.Add(time.Duration(minute) * time.Minute))
		c.apply(p)
		if p.Alarm != nil {
			over = p.Alarm
			c.state.Apply(p.Alarm.Sent())
		}
	}
	expect.That(t, over != nil && over.Over && over.Gone && strings.HasPrefix(over.Detail, "EKS does not know the cluster any more"), "told %+v", over)
}

// The permission to describe one cluster may be denied for good. People are told once, with the call, and
// again when it is over; since when the mode is remediate is kept.
func TestAClusterThatCannotBeDescribedIsTold(t *testing.T) {
	const why = "eks:DescribeCluster was denied: change the deny"
	w := sick()
	w.state.RemediateSince["asg/w"] = now.Add(-24 * time.Hour)
	seen := w.snapshot
	undescribed := &roll.Snapshot{Cluster: roll.Cluster{ID: seen.Cluster.ID, ModeTag: roll.ModeTagUnread}, Gaps: []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapDenied, Detail: why}}}
	var told []string
	for minute := range 90 {
		w.snapshot, w.mode = seen, policy.Remediate
		if down := minute < 60; down {
			w.snapshot, w.mode = undescribed, policy.Notify
		}
		_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
		if minute < 60 && (len(p.Orders) > 0 || len(p.Changes.Drop.RemediateSince)+len(p.Changes.Drop.Findings) > 0) {
			t.Errorf("%d: orders %+v, forgets %+v", minute, p.Orders, p.Changes.Drop)
		}
		w.apply(p)
		if a := p.Alarm; a != nil {
			told = append(told, fmt.Sprintf("%d: %s over %t", minute, a.Reason, a.Over))
			if !a.Over && a.Detail != why {
				t.Errorf("told %q", a.Detail)
			}
			w.state.Apply(a.Sent())
		}
	}
	expect.List(t, told, []string{"15: SnapshotIncomplete over false", "69: SnapshotIncomplete over true"}, "told")
	at := w.state.RemediateSince["asg/w"]
	expect.That(t, at.Equal(now.Add(-24*time.Hour)), "remediate since %s", at)
}

func TestAnIncompleteLookCoolsNothingDown(t *testing.T) {
	w := sick()
	w.state.Trouble = &ledger.Trouble{Reason: string(SnapshotIncomplete), Since: now.Add(-time.Hour), Last: now.Add(-time.Minute)}
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 1, "held for %v", reasons(p))
}

func TestAModeThatDoesNotTellSoundsNoAlarm(t *testing.T) {
	w := sick()
	w.mode = policy.Observe
	w.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable}}
	w.state.Trouble = &ledger.Trouble{Reason: string(ClusterUnreachable), Since: now.Add(-time.Hour), Last: now.Add(-time.Minute)}
	_, p := w.make(now)
	expect.That(t, p.Alarm == nil, "alarm %+v in mode observe", p.Alarm)
}

func TestANoticeIsOverOnceItHasStayedSo(t *testing.T) {
	w := healthy(20)
	w.mode = policy.Notify
	w.silent(1, time.Hour)
	w.silent(2, 3*time.Hour)
	_, p := w.make(now)
	w.apply(p)
	told := func(minute int) (over []Ended) {
		_, p := w.make(now.Add(time.Duration(minute) * time.Minute))
		for _, n := range p.Notices {
			if n.Over {
				over = n.Ended
				w.state.Apply(ledger.Changes{Drop: ledger.Drops{Notices: []ledger.NoticeKey{n.Key}}})
			}
		}
		w.apply(Plan{Changes: p.Changes, Tags: p.Tags})
		return over
	}
	ready := roll.Condition{Status: roll.ConditionTrue, Since: now.Add(time.Minute)}
	w.snapshot.Nodes[0].Ready = ready
	if got := told(5); got != nil {
		t.Errorf("over while one is still silent: %+v", got)
	}
	w.snapshot.Nodes[1].Ready = ready
	for _, minute := range []int{10, 15, 19} {
		got := told(minute)
		expect.That(t, got == nil, "minute %d: over already: %+v", minute, got)
	}
	w.snapshot.Instances[1].State = roll.StateTerminated
	w.snapshot.Nodes = slices.Delete(w.snapshot.Nodes, 1, 2)
	want := []Ended{{Instance: instanceID(1), How: EndedRecovered}, {Instance: instanceID(2), How: EndedGone}}
	expect.List(t, told(20), want, "minute 20")
	got := told(40)
	expect.That(t, got == nil && len(w.state.Notices) == 0, "minute 40: %+v, remembered %+v", got, w.state.Notices)
}

func TestTroubleThatReturnsInTimeIsNotOver(t *testing.T) {
	w := healthy(20)
	w.mode = policy.Notify
	w.silent(1, time.Hour)
	_, p := w.make(now)
	w.apply(p)
	for i := 1; i <= 24; i++ { // alternately ready and silent, five minutes each
		at := now.Add(time.Duration(i) * 5 * time.Minute)
		w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: at.Add(-time.Minute)}
		if i%2 == 0 {
			w.snapshot.Nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: at.Add(-time.Hour)}
		}
		_, p := w.make(at)
		w.apply(p)
		for _, n := range p.Notices {
			must.That(t, !n.Over, "%s: told to be over", at)
		}
	}
}

// All nodes of a zone are an outage only if they went silent together.
func TestAWholeZoneGoesWithinTheWindow(t *testing.T) {
	for apart, want := range map[time.Duration]bool{0: true, silenceWindow: true, silenceWindow + time.Second: false} {
		c := assess.ZoneCount{Nodes: 3, Silent: 2, First: now.Add(-apart), Last: now} // the third is starting
		expect.Equal(t, zoneOut("a", c, 55) != nil, want, "%s apart", apart)
	}
}
