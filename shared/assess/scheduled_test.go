package assess_test

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// ahead adds a scheduled event of the instance.
func ahead(s *roll.Snapshot, in time.Duration) roll.Event {
	e := roll.Event{ID: "instance-event-0d59937288b749b32", Code: "instance-retirement", NotBefore: now.Add(in), NotAfter: now.Add(in + 2*time.Hour)}
	s.Scheduled = map[roll.InstanceID]roll.Event{id: e}
	return e
}

// A scheduled event is reported at once, and acted on from its lead of 24 h on.
func TestAScheduledEventIsOverdueFromItsLeadOn(t *testing.T) {
	const lead = 24 * time.Hour
	tests := []struct {
		in    time.Duration // until the event may begin
		stage roll.Stage
		next  time.Duration
	}{
		{14 * lead, roll.Warned, 13 * lead},
		{lead + time.Second, roll.Warned, time.Second},
		{lead, roll.Overdue, time.Minute},
		{lead - time.Second, roll.Overdue, time.Minute},
		{0, roll.Overdue, time.Minute},
		{-time.Hour, roll.Overdue, time.Minute},
	}
	for _, tt := range tests {
		var e roll.Event
		a := look(func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) { e = ahead(s, tt.in) }, ledger.State{})
		f := one(t, tt.in.String(), a)
		due := e.NotBefore.Add(-lead)
		if due.Before(now) {
			due = now
		}
		expect.That(t, f.Kind == roll.Scheduled && f.Stage == tt.stage && f.Due.Equal(due) && f.Since.Equal(now) && f.Began.Equal(e.NotBefore) && f.Event == e, "in %s: %+v", tt.in, f)
		expect.That(t, a.Next.Equal(now.Add(tt.next)), "in %s: next check at %s, want in %s", tt.in, a.Next, tt.next)
		expect.Equal(t, f.Summary, "EC2 has scheduled instance-retirement of "+string(id)+" for "+roll.Clock(e.NotBefore)+" to "+roll.Clock(e.NotAfter), "in %s", tt.in)
		expect.That(t, a.Count[""].Overdue == 0, "in %s: %d count as overdue; the node does its work", tt.in, a.Count[""].Overdue)
		asked := len(a.Questions) > 0
		expect.That(t, asked == (tt.stage == roll.Overdue), "in %s: asks %+v", tt.in, a.Questions)
	}
}

func TestAScheduledEventIsOneOfANodeOnARunningInstance(t *testing.T) {
	tests := map[string]struct {
		change func(*roll.Instance, *roll.Node, *roll.Snapshot)
		want   bool
	}{
		"Ready": {func(*roll.Instance, *roll.Node, *roll.Snapshot) {}, true},
		"silent": {func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) {
			n.Ready = roll.Condition{Status: roll.ConditionUnknown, Since: ago(time.Hour)}
		}, true},
		"stopped":        {func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.State = roll.StateStopped }, false},
		"on its way out": {func(i *roll.Instance, _ *roll.Node, _ *roll.Snapshot) { i.State = roll.StateShuttingDown }, false},
		"in Standby": {func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Details[id] = roll.Detail{Lifecycle: "Standby", LifecycleRead: roll.Yes}
		}, false},
		"not read":  {func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) { s.StatusRead = roll.Unreadable }, false},
		"not asked": {func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) { s.StatusRead = roll.NotAsked }, false},
		"no event":  {func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) { s.Scheduled = nil }, false},
		"another instance's": {func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			s.Scheduled = map[roll.InstanceID]roll.Event{"i-0000000000000000b": s.Scheduled[id]}
		}, false},
		"not on EC2": {func(_ *roll.Instance, n *roll.Node, _ *roll.Snapshot) { elsewhere(n) }, false},
	}
	for name, tt := range tests {
		a := look(func(i *roll.Instance, n *roll.Node, s *roll.Snapshot) {
			ahead(s, time.Hour)
			tt.change(i, n, s)
		}, ledger.State{})
		found := slices.Contains(roll.Map(a.Findings, kindOf), roll.Scheduled)
		expect.That(t, found == tt.want, "%s: %+v", name, a.Findings)
	}
}

// The owner's time counts from the first sighting of an event; a moved event is a new one.
func TestAScheduledEventIsKnownSinceItWasFirstSeen(t *testing.T) {
	tests := map[string]struct {
		since, began time.Duration // as in the ledger
		launched     time.Duration // ago
		want         time.Duration
	}{
		"the same":                      {5 * time.Hour, -6 * time.Hour, 49 * time.Hour, 5 * time.Hour},
		"moved":                         {5 * time.Hour, -9 * time.Hour, 49 * time.Hour, 5 * time.Hour},
		"of before it was started anew": {5 * time.Hour, -6 * time.Hour, 3 * time.Hour, 0},
	}
	for name, tt := range tests {
		a := look(func(i *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			i.Launched = ago(tt.launched)
			ahead(s, 6*time.Hour)
		}, known(roll.Scheduled, ago(tt.since), ago(tt.began)))
		if f := one(t, name, a); !f.Since.Equal(ago(tt.want)) || !f.Began.Equal(now.Add(6*time.Hour)) {
			t.Errorf("%s: since %s, began %s", name, now.Sub(f.Since), f.Began)
		}
	}
}

func TestAnImpairmentNamesTheCheckThatFails(t *testing.T) {
	for want, failing := range map[string]roll.Impairment{
		"instance": {}, "system": {System: true}, "attached EBS": {Only: "attached EBS"}, "application": {Only: "application"},
	} {
		a := look(func(_ *roll.Instance, _ *roll.Node, s *roll.Snapshot) {
			failing.Since = ago(time.Hour)
			s.Impaired = map[roll.InstanceID]roll.Impairment{id: failing}
		}, ledger.State{})
		f := one(t, want, a)
		expect.That(t, f.Kind == roll.Impaired && f.Summary == "the "+want+" status check of "+string(id)+" has failed since "+roll.Clock(ago(time.Hour)), "%s: %+v", want, f)
	}
}
