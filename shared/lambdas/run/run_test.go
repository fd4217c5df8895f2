package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/plan/replay"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var (
	now     = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}
)

const sick roll.InstanceID = "i-00000000000000001"

// stage holds the runner's dependencies. It records what happens, in order, and fails where
// the test requires it.
type stage struct {
	ledger.Ledger
	events []string
	fail   map[string]bool
	marks  *roll.Marks
	gaps   []roll.Gap
	well   bool           // all instances are healthy
	omits  *roll.Instance // what a lookup shows of the sick instance, which the listing left out
	said   []report.Message

	modeTag     string
	undescribed bool
}

func newStage() *stage {
	s := &stage{Ledger: ledger.NewMemory(), fail: map[string]bool{}}
	seen := ledger.Finding{Instance: sick, Kind: roll.Unregistered, Group: "nodegroup/w", Stage: roll.Overdue, FirstSeen: now.Add(-time.Hour), Opened: now.Add(-time.Hour), Since: now.Add(-2 * time.Hour), Began: now.Add(-2 * time.Hour)}
	err := s.Ledger.Record(context.Background(), cluster, ledger.Changes{
		Put: ledger.State{
			Findings:       map[roll.FindingKey]ledger.Finding{seen.Key(): seen},
			RemediateSince: map[roll.Group]time.Time{"nodegroup/w": now.Add(-24 * time.Hour)},
			Checked:        now.Add(-24 * time.Hour),
			First:          now.Add(-24 * time.Hour),
		},
	})
	if err != nil {
		panic(err)
	}
	return s
}

func (s *stage) do(what string) error {
	s.events = append(s.events, what)
	if verb, _, _ := strings.Cut(what, " "); s.fail[verb] {
		return errors.New(verb + " failed")
	}
	return nil
}

func (s *stage) Snapshot(ctx context.Context, name string, at time.Time, _ roll.Watch) *roll.Snapshot {
	_ = s.do("read " + name)
	if ctx.Err() != nil {
		panic("no time is left to read")
	}
	snapshot := &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: cluster, Status: roll.ClusterActive}, Details: map[roll.InstanceID]roll.Detail{}, StatusRead: roll.Yes, Gaps: slices.Clone(s.gaps)}
	for i := range 4 {
		id := roll.InstanceID(fmt.Sprintf("i-0000000000000000%d", i+1))
		snapshot.Instances = append(snapshot.Instances, roll.Instance{ID: id, State: roll.StateRunning, Launched: now.Add(-2 * time.Hour), Owner: roll.OwnerManagedNodeGroup, Group: "nodegroup/w"})
		if s.well || id != sick {
			snapshot.Nodes = append(snapshot.Nodes, roll.Node{Name: string(id), Compute: roll.ComputeEC2, Instance: id, Ready: roll.Condition{Status: roll.ConditionTrue}})
		}
	}
	snapshot.Cluster.ModeTag = s.modeTag
	if s.undescribed {
		return &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: cluster, ModeTag: roll.ModeTagUnread}, Gaps: []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapDenied, Call: "eks:DescribeCluster", Detail: "it was denied"}}}
	}
	snapshot.Instances[0].Marks = s.marks
	if s.omits != nil {
		snapshot.Instances = slices.DeleteFunc(snapshot.Instances, func(i roll.Instance) bool { return i.ID == sick })
	}
	return snapshot
}

func (s *stage) LookUp(_ context.Context, snapshot *roll.Snapshot, ids []roll.InstanceID) {
	for _, id := range ids {
		_ = s.do("look up " + string(id))
		if s.omits != nil && id == sick {
			snapshot.Instances = append(snapshot.Instances, *s.omits)
		}
	}
}

// EC2 may leave an instance out of one answer. Its finding ends only if it is gone, or no longer of
// the cluster.
func TestAnInstanceThatAListingLeftOutIsLookedUp(t *testing.T) {
	there := roll.Instance{ID: sick, State: roll.StateRunning, Launched: now.Add(-2 * time.Hour), Owner: roll.OwnerManagedNodeGroup, Group: "nodegroup/w"}
	gone, elsewhere := there, there
	gone.State, elsewhere.Unclaimed = roll.StateTerminated, true
	for name, tt := range map[string]struct {
		shows roll.Instance
		found int
	}{"it runs": {there, 1}, "it is terminated": {gone, 0}, "its tag was removed": {elsewhere, 0}} {
		s := newStage()
		s.omits = &tt.shows
		c := s.runner(policy.Remediate).Check(t.Context(), "demo", now)
		n := len(c.Assessment.Findings)
		expect.That(t, n == tt.found && slices.Contains(s.events, "look up "+string(sick)), "%s: %d findings, want %d; %q", name, n, tt.found, s.events)
		expect.Equal(t, len(c.Plan.Changes.Drop.Findings) > 0, tt.found == 0, "%s: its finding ended", name)
	}
	for name, gap := range map[string]roll.Gap{
		"the listing failed":  {Scope: roll.ScopeInstances, Kind: roll.GapThrottled, Detail: "throttled"},
		"the cluster is gone": {Scope: roll.ScopeCluster, Kind: roll.GapClusterGone, Detail: "gone"},
	} {
		s := newStage()
		s.omits, s.gaps = &there, []roll.Gap{gap}
		s.runner(policy.Remediate).Check(t.Context(), "demo", now)
		expect.That(t, !slices.Contains(s.events, "look up "+string(sick)), "%s, and instances are looked up", name)
	}
}

// Acts without an outcome are settled by their instances, which no listing need show. A volume is no
// instance, and is asked for otherwise.
func TestWhatTheLedgerNeedsIsLookedUp(t *testing.T) {
	const volume roll.InstanceID = "volume/vol-0123456789abcdef0"
	for _, known := range []bool{true, false} {
		s := newStage()
		left := ledger.Finding{Instance: volume, Kind: roll.Orphaned, Group: "nodegroup/w", Left: "i-0000000000000000c", Stage: roll.Overdue, FirstSeen: now.Add(-time.Hour), Opened: now.Add(-time.Hour), Since: now.Add(-24 * time.Hour), Began: now.Add(-24 * time.Hour)}
		s.record(t, ledger.Changes{Put: ledger.State{Findings: map[roll.FindingKey]ledger.Finding{left.Key(): left}}})
		for _, id := range []roll.InstanceID{"i-0000000000000000a", "i-0000000000000000b"} {
			must.Succeed(t, s.Begin(t.Context(), cluster, ledger.Action{ID: string(id), Do: "terminate", Instance: id, Group: roll.GroupNone, Kind: roll.Unknown, At: now.Add(-time.Minute)}, ledger.Budget{Max: 9}))
		}
		must.Succeed(t, s.Finish(t.Context(), cluster, "i-0000000000000000b", ledger.Outcome{Result: ledger.Done, At: now}))
		if !known {
			s.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapThrottled, Detail: "throttled"}}
		}
		s.runner(policy.Notify).Check(t.Context(), "demo", now)
		var got []string
		for _, e := range s.events {
			if strings.HasPrefix(e, "look up") || strings.HasPrefix(e, "ask for") {
				got = append(got, e)
			}
		}
		want := []string{"look up i-0000000000000000a", "ask for " + string(volume)}
		if !known {
			want = nil
		}
		expect.That(t, slices.Equal(got, want), "read %v: %q, want %q", known, got, want)
	}
}

func (s *stage) Left(_ context.Context, _ *roll.Snapshot, subjects []roll.InstanceID) {
	for _, subject := range subjects {
		_ = s.do("ask for " + string(subject))
	}
}

func (s *stage) Details(_ context.Context, snapshot *roll.Snapshot, questions []roll.Question) {
	for _, q := range questions {
		_ = s.do("ask " + string(q.Instance))
		snapshot.Details[q.Instance] = roll.Detail{LeaseRead: roll.No, TerminationProtected: roll.No, Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}, Bootstraps: roll.Yes, LifecycleRead: roll.No, ScaleInProtected: roll.No}
	}
	snapshot.Groups = map[roll.Group]roll.GroupDetail{"nodegroup/w": {AutoRepair: roll.No, LaunchSuspended: roll.No, LaunchesRead: roll.Yes, ReplaceSuspended: roll.No}}
}

func (s *stage) Record(ctx context.Context, id roll.ClusterID, c ledger.Changes) error {
	what := "record"
	for _, n := range c.Put.Notices {
		if what = "remember the notice"; n.SentAt.IsZero() {
			what = "record a notice that was not sent"
		}
	}
	switch {
	case c.Put.Trouble == nil:
	case len(c.Put.Findings)+len(c.Drop.Findings) > 0:
		what = "record everything"
	case c.Put.Trouble.Told.IsZero():
		what = "record trouble"
	default:
		what = "remember the alarm"
	}
	if len(c.Drop.Notices) > 0 {
		what = "forget the notice"
	}
	if err := s.do(what); err != nil {
		return err
	}
	return s.Ledger.Record(ctx, id, c)
}

func (s *stage) Read(ctx context.Context, id roll.ClusterID) (ledger.State, error) {
	if s.fail["ledger"] {
		return ledger.State{}, errors.New("the disk is gone")
	}
	return s.Ledger.Read(ctx, id)
}

func (s *stage) Tag(_ context.Context, ids []roll.InstanceID, _ map[string]string) error {
	return s.do("tag " + string(ids[0]))
}

func (s *stage) Untag(_ context.Context, ids []roll.InstanceID, _ []string) error {
	return s.do("untag " + string(ids[0]))
}

func (s *stage) Publish(_ context.Context, m report.Message) error {
	if err := s.do("publish " + m.Attributes.Action); err != nil {
		return err
	}
	s.said = append(s.said, m)
	return nil
}

func (s *stage) RaiseNotices(ctx context.Context, id roll.ClusterID, read int64) error {
	if err := s.do("raise the notices"); err != nil {
		return err
	}
	return s.Ledger.RaiseNotices(ctx, id, read)
}

// asOf returns its first content for each read of the ledger.
type asOf struct {
	*stage
	state *ledger.State
}

func (a asOf) Read(ctx context.Context, id roll.ClusterID) (ledger.State, error) {
	if a.state.Findings == nil {
		var err error
		if *a.state, err = a.Ledger.Read(ctx, id); err != nil {
			return ledger.State{}, err
		}
	}
	return a.state.Clone(), nil
}

// Of two checks that read the same memory, as when a message is delivered twice, one
// notifies and orders.
func TestOfTwoChecksAtOnceOneTellsAndOrders(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Remediate)
	r.Ledger = asOf{s, &ledger.State{}}
	recorded := 0
	r.Record = func(context.Context, replay.Recorded) error { recorded++; return nil }
	first, second := r.Check(t.Context(), "demo", now), r.Check(t.Context(), "demo", now)
	if !first.Complete() || first.Overtaken || !second.Overtaken || len(second.Faults)+len(second.Outcomes)+len(second.Plan.Notices) > 0 {
		t.Errorf("first %+v, second %+v %+v", first.Faults, second.Faults, second.Plan)
	}
	expect.Equal(t, recorded, 1, "checks recorded")
	want := now.Add(time.Minute)
	expect.That(t, second.Plan.Next.Equal(want), "the second looks again at %s, want %s: the first may have died", second.Plan.Next, want)
	for _, what := range []string{"publish terminate", "remember the notice", "act " + string(sick)} {
		n := 0
		for _, e := range s.events {
			if e == what {
				n++
			}
		}
		expect.That(t, n == 1, "%q %d times: %q", what, n, s.events)
	}
}

func (s *stage) Act(_ context.Context, o plan.Order, _ time.Time) remediate.Outcome {
	_ = s.do("act " + string(o.Instance))
	return remediate.Outcome{Order: o, Result: remediate.Acted, Detail: "terminated " + string(o.Instance), News: true}
}

func (s *stage) runner(mode policy.Mode) *run.Runner {
	r := &run.Runner{Observer: s, Ledger: s, Policy: policy.Default(), Permitted: mode, Tags: s, Clock: func() time.Time { return now }}
	if mode.Allows(policy.Notify) {
		r.Notices = s
	}
	if mode.Allows(policy.Remediate) {
		r.Orders = s
	}
	return r
}

func TestRemembersThenMarksThenExplainsThenActs(t *testing.T) {
	s := newStage()
	c := s.runner(policy.Remediate).Check(t.Context(), "demo", now)
	want := []string{"read demo", "ask " + string(sick), "raise the notices", "tag " + string(sick), "publish terminate", "remember the notice", "act " + string(sick), "publish terminated"}
	got := slices.DeleteFunc(slices.Clone(s.events), func(e string) bool { return e == "record" })
	expect.That(t, slices.Equal(got, want), "got %q, want %q", got, want)
	expect.That(t, c.Complete() && len(c.Outcomes) == 1, "faults %q, outcomes %+v", c.Faults, c.Outcomes)
}

func TestRecordsBeforeAnythingElseIsWritten(t *testing.T) {
	s := newStage()
	s.Ledger = ledger.NewMemory()
	s.runner(policy.Notify).Check(t.Context(), "demo", now)
	first := slices.IndexFunc(s.events, func(e string) bool {
		return strings.HasPrefix(e, "record") || strings.HasPrefix(e, "tag") || strings.HasPrefix(e, "publish")
	})
	expect.That(t, s.events[first] == "record", "the first write is %q: %q", s.events[first], s.events)
}

func TestObserveWritesNothingButItsLedger(t *testing.T) {
	s := newStage()
	s.marks = &roll.Marks{Finding: "NotReady"} // stale: notify would change it
	s.runner(policy.Observe).Check(t.Context(), "demo", now)
	for _, e := range s.events {
		switch verb, _, _ := strings.Cut(e, " "); verb {
		case "read", "ask", "record":
		default:
			t.Errorf("observe did %q", e)
		}
	}
}

func TestWhatFailsStopsWhatRestsOnIt(t *testing.T) {
	tests := []struct {
		fail    string
		without []string // steps that must not happen
		with    []string // steps that must happen nevertheless
	}{
		{"ledger", []string{"record", "tag", "publish", "act"}, []string{"read"}},
		{"record", []string{"tag", "publish", "act"}, nil},
		{"publish", []string{"remember", "act"}, []string{"tag"}},
		{"raise", []string{"record", "tag", "publish", "act"}, []string{"read"}},
		{"remember", nil, []string{"act"}},
		{"replay", nil, []string{"act"}},
		{"tag", nil, []string{"publish"}},
	}
	for _, tt := range tests {
		s := newStage()
		if tt.fail == "record" {
			s.Ledger = ledger.NewMemory() // there is something to record
		}
		s.fail[tt.fail] = true
		r := s.runner(policy.Remediate)
		r.Record = func(context.Context, replay.Recorded) error { return s.do("replay") }
		c := r.Check(t.Context(), "demo", now)
		expect.That(t, !c.Complete(), "%s failed, and the check calls itself complete", tt.fail)
		did := func(verb string) bool {
			return slices.ContainsFunc(s.events, func(e string) bool { return strings.HasPrefix(e, verb) })
		}
		for _, verb := range tt.without {
			expect.That(t, !did(verb), "%s failed, and still it did %q: %q", tt.fail, verb, s.events)
		}
		for _, verb := range tt.with {
			expect.That(t, did(verb), "%s failed, and it did not even %q: %q", tt.fail, verb, s.events)
		}
	}
}

func TestAnActOfWhichNobodyCouldBeToldWaitsUntilTheyAre(t *testing.T) {
	s := newStage()
	s.fail["publish"] = true
	r := s.runner(policy.Remediate)
	c := r.Check(t.Context(), "demo", now)
	if len(c.Outcomes) != 1 || c.Outcomes[0].Result != remediate.Refused || c.Outcomes[0].Reason != plan.NoticeNotSent || c.Complete() {
		t.Fatalf("outcomes %+v, faults %q", c.Outcomes, c.Faults)
	}
	s.fail, s.events = map[string]bool{}, nil
	c = r.Check(t.Context(), "demo", now.Add(time.Minute))
	said, did := slices.Index(s.events, "publish terminate"), slices.Index(s.events, "act "+string(sick))
	expect.That(t, said >= 0 && did >= said && c.Complete(), "the next check did %q, faults %q", s.events, c.Faults)
}

// A reported order that is tried again is not reported again.
func TestAnOrderThatWasToldDoesNotWaitForAnotherNotice(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Remediate)
	r.Orders = actor(func(o plan.Order, _ time.Time) remediate.Outcome {
		_ = s.do("act " + string(o.Instance))
		return remediate.Outcome{Order: o, Result: remediate.Sent}
	})
	r.Check(t.Context(), "demo", now)
	s.fail["publish"], s.events = true, nil
	if r.Check(t.Context(), "demo", now.Add(time.Minute)); !slices.Contains(s.events, "act "+string(sick)) {
		t.Errorf("the second check did %q", s.events)
	}
	s = newStage()
	s.fail["publish"] = true
	r = s.runner(policy.Remediate)
	r.Plan = func(in plan.Input) plan.Plan {
		p := plan.Make(in)
		for _, n := range p.Notices {
			for i := range n.Entries {
				n.Entries[i].New = false
			}
		}
		return p
	}
	if r.Check(t.Context(), "demo", now); !slices.Contains(s.events, "act "+string(sick)) {
		t.Errorf("a check whose notice is about others did %q", s.events)
	}
}

func TestANoticeThatWasNotSentIsSentByTheNextCheck(t *testing.T) {
	s := newStage()
	s.fail["publish"] = true
	r := s.runner(policy.Notify)
	r.Check(t.Context(), "demo", now)
	s.fail, s.events = map[string]bool{}, nil
	for i := range 2 {
		r.Check(t.Context(), "demo", now.Add(time.Duration(i+1)*time.Minute))
	}
	published := 0
	for _, e := range s.events {
		if strings.HasPrefix(e, "publish") {
			published++
		}
	}
	expect.That(t, published == 1, "published %d times after the failure, want once: %q", published, s.events)
}

func TestAnActIsNeverTimedBeforeItsCheck(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Remediate)
	var at time.Time
	r.Orders = actor(func(o plan.Order, t time.Time) remediate.Outcome {
		at = t
		return remediate.Outcome{Order: o, Result: remediate.Refused, Reason: plan.OrderExpired}
	})
	r.Clock = func() time.Time { return now.Add(-time.Hour) }
	r.Check(t.Context(), "demo", now)
	expect.That(t, at.Equal(now), "acted at %s, the check was at %s", at, now)
}

type actor func(plan.Order, time.Time) remediate.Outcome

func (a actor) Act(_ context.Context, o plan.Order, at time.Time) remediate.Outcome {
	return a(o, at)
}

// down makes the cluster's API server unreachable.
func (s *stage) down() {
	s.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Call: "kubernetes: list nodes", Detail: "the API server did not answer"}}
}

// checks runs a check each minute, and returns what each one did, apart from reads.
func (s *stage) checks(t *testing.T, r *run.Runner, from, to int) (out []string) {
	t.Helper()
	for i := from; i <= to; i++ {
		s.events = nil
		r.Check(t.Context(), "demo", now.Add(time.Duration(i)*time.Minute))
		for _, e := range s.events {
			if verb, _, _ := strings.Cut(e, " "); verb != "read" && verb != "ask" {
				out = append(out, fmt.Sprintf("%d %s", i, e))
			}
		}
	}
	return out
}

func has(events []string, what string) (minutes []string) {
	for _, e := range events {
		if at, rest, _ := strings.Cut(e, " "); strings.HasPrefix(rest, what) {
			minutes = append(minutes, at)
		}
	}
	return minutes
}

// An incomplete check leaves no trace except that of the trouble. One notice reports that
// it lasts, and one that it is over.
func TestAClusterThatCannotBeJudgedIsToldOnceAndItsEndOnce(t *testing.T) {
	s := newStage()
	s.down()
	r := s.runner(policy.Remediate)
	got := s.checks(t, r, 0, 30)
	told := has(got, "publish")
	expect.That(t, slices.Equal(told, []string{"15"}), "told at minutes %v, want 15: %q", told, got)
	raised := has(got, "raise")
	expect.That(t, slices.Equal(raised, []string{"0", "15"}), "raised at minutes %v, want 0 and 15", raised)
	for _, e := range got {
		_, what, _ := strings.Cut(e, " ")
		expect.That(t, slices.Contains([]string{"raise the notices", "record trouble", "publish none", "remember the alarm"}, what), "a blind check did %q", e)
	}
	if m := s.said[0]; m.Attributes.Kind != "Cluster" || m.Attributes.Severity != report.SeverityCritical {
		t.Errorf("%+v", m.Attributes)
	}
	s.gaps, s.well = nil, true
	got = s.checks(t, r, 31, 60)
	var over []report.Message
	for _, m := range s.said[1:] {
		if m.Attributes.Kind == "Cluster" {
			over = append(over, m)
		}
	}
	if len(over) != 1 || over[0].Attributes.Action != "resolved" || over[0].Attributes.Group != s.said[0].Attributes.Group {
		t.Errorf("the end was told %d times: %q", len(over), got)
	}
	state, err := s.Ledger.Read(t.Context(), cluster)
	expect.That(t, err == nil && state.Trouble == nil, "%v: the ledger still holds %+v", err, state.Trouble)
}

// A check that read the trouble of the cluster before another one reported it does not write it back.
func TestWhatWasSaidOfAClusterIsNotOverwritten(t *testing.T) {
	s := newStage()
	s.down()
	r := s.runner(policy.Remediate)
	s.checks(t, r, 0, 13)
	r.Ledger = asOf{s, &ledger.State{}}
	first, second := r.Check(t.Context(), "demo", now.Add(15*time.Minute)), r.Check(t.Context(), "demo", now.Add(14*time.Minute+59*time.Second))
	if first.Overtaken || len(s.said) != 1 || !second.Overtaken {
		t.Errorf("first %+v, second %+v, %d notices", first.Faults, second.Faults, len(s.said))
	}
	state, err := s.Ledger.Read(t.Context(), cluster)
	expect.That(t, err == nil && state.Trouble != nil && !state.Trouble.Told.IsZero(), "%v: the ledger holds %+v", err, state.Trouble)
}

// The tag of a cluster that can no longer be described counts as it was last read if it forbids notices.
func TestWhoWantsNoNoticesGetsNoneOfAClusterThatCannotBeDescribed(t *testing.T) {
	for tag, want := range map[string]int{"": 1, "remediate": 1, "notify": 1, "observe": 0, "Notify": 0} {
		s := newStage()
		s.well, s.modeTag = true, "observe"
		r := s.runner(policy.Remediate)
		s.checks(t, r, 0, 5)
		s.modeTag = tag
		s.checks(t, r, 6, 10)
		s.said, s.undescribed = nil, true
		if s.checks(t, r, 11, 60); len(s.said) != want {
			t.Errorf("tag %q: told %d times, want %d: %+v", tag, len(s.said), want, s.said)
		}
	}
}

func TestAnAlarmThatWasNotSentIsSentByTheNextCheck(t *testing.T) {
	s := newStage()
	s.down()
	r := s.runner(policy.Notify)
	s.fail["publish"] = true
	if got := s.checks(t, r, 0, 17); !slices.Equal(has(got, "publish"), []string{"15", "16", "17"}) || has(got, "remember") != nil {
		t.Errorf("%q", got)
	}
	c := r.Check(t.Context(), "demo", now.Add(17*time.Minute+30*time.Second))
	expect.That(t, !c.Complete(), "the alarm was not sent, and the check calls itself complete")
	s.fail = map[string]bool{}
	got := s.checks(t, r, 18, 25)
	expect.That(t, slices.Equal(has(got, "publish"), []string{"18"}) && slices.Contains(got, "18 remember the alarm"), "%q", got)
}

// What cannot be recorded would be reported by every check.
func TestAnAlarmIsNotSentWhereItCannotBeRemembered(t *testing.T) {
	s := newStage()
	s.down()
	r := s.runner(policy.Notify)
	s.checks(t, r, 0, 14)
	s.fail["record"] = true
	got := s.checks(t, r, 15, 20)
	expect.That(t, has(got, "publish") == nil, "%q", got)

	s = newStage()
	s.down()
	r = s.runner(policy.Notify)
	s.checks(t, r, 0, 14)
	r.Check(t.Context(), "demo", now.Add(14*time.Minute+30*time.Second)) // too early to be recorded
	s.fail["record"] = true
	c := r.Check(t.Context(), "demo", now.Add(15*time.Minute))
	expect.That(t, len(s.said) == 0 && len(c.Faults) == 1, "told %d times, faults %q", len(s.said), c.Faults)
}

func TestANoticeThatIsOverIsToldOnceAndForgotten(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Notify)
	if got := s.checks(t, r, 0, 0); !slices.Equal(has(got, "publish"), []string{"0"}) {
		t.Fatalf("%q", got)
	}
	s.well = true
	s.fail["publish"] = true
	got := s.checks(t, r, 1, 12)
	told := has(got, "publish resolved")
	expect.That(t, slices.Equal(told, []string{"11", "12"}) && has(got, "forget") == nil, "%q", got)
	s.fail = map[string]bool{}
	got = s.checks(t, r, 13, 40)
	expect.That(t, slices.Equal(has(got, "publish"), []string{"13"}) && slices.Equal(has(got, "forget the notice"), []string{"13"}), "%q", got)
	first, last := s.said[0].Attributes, s.said[len(s.said)-1].Attributes
	if first.Cluster != last.Cluster || first.Group != last.Group || first.Kind != last.Kind || last.Action != "resolved" {
		t.Errorf("the notice carried %+v, its end %+v", first, last)
	}
	state, err := s.Ledger.Read(t.Context(), cluster)
	expect.That(t, err == nil && len(state.Notices) == 0, "%v: the ledger still holds %+v", err, state.Notices)
}

func TestOnlyOutcomesWorthAWordAreTold(t *testing.T) {
	for name, tt := range map[string]struct {
		act    plan.Action
		result remediate.Result
		reason plan.Reason
		news   bool
		want   int
	}{
		"terminated":            {plan.Terminate, remediate.Acted, "", true, 1},
		"rebooted":              {plan.Reboot, remediate.Acted, "", true, 1},
		"a node deleted":        {plan.DeleteNode, remediate.Acted, "", true, 1},
		"a claim deleted":       {plan.DeleteNodeClaim, remediate.Acted, "", true, 1},
		"cordoned":              {plan.Cordon, remediate.Acted, "", true, 0},
		"uncordoned":            {plan.Uncordon, remediate.Acted, "", true, 0},
		"drained":               {plan.Drain, remediate.Acted, "", true, 0},
		"still draining":        {plan.Drain, remediate.Ongoing, "", true, 0},
		"a cordon that failed":  {plan.Cordon, remediate.Failed, "", true, 1},
		"failed as before":      {plan.Cordon, remediate.Failed, "", false, 0},
		"a drain out of time":   {plan.Drain, remediate.Failed, plan.DrainUnfinished, true, 0},
		"unclear":               {plan.DeleteNode, remediate.Unclear, "", true, 1},
		"refused for good":      {plan.Terminate, remediate.Refused, plan.VerdictChanged, true, 1},
		"refused for a while":   {plan.Terminate, remediate.Refused, plan.OrderExpired, true, 0},
		"handed on":             {plan.Terminate, remediate.Sent, "", false, 0},
		"without its evidence":  {plan.Terminate, remediate.Refused, plan.EvidenceNotStored, false, 0},
		"without it for long":   {plan.Terminate, remediate.Refused, plan.EvidenceNotStored, true, 1},
		"refused as long known": {plan.Terminate, remediate.Refused, plan.VerdictChanged, false, 0},
	} {
		s := newStage()
		r := s.runner(policy.Remediate)
		r.Orders = actor(func(o plan.Order, _ time.Time) remediate.Outcome {
			o.Action = tt.act
			return remediate.Outcome{Order: o, Result: tt.result, Reason: tt.reason, Detail: "so it went", News: tt.news}
		})
		c := r.Check(t.Context(), "demo", now)
		if got := len(s.said) - 1; got != tt.want { // the first reports the finding
			t.Errorf("%s: %d notices, want %d", name, got, tt.want)
		}
		if failed := tt.reason == plan.EvidenceNotStored; c.Complete() == failed {
			t.Errorf("%s: complete %v, faults %q", name, c.Complete(), c.Faults)
		}
	}
}

// The notice is recorded after it was sent, and the function that carries out orders knows
// it then.
func TestARefusalThatWasToldIsRemembered(t *testing.T) {
	for name, tt := range map[string]struct {
		result remediate.Result
		reason plan.Reason
		fail   bool
		want   int
	}{
		"for good":                {remediate.Refused, plan.VerdictChanged, false, 1},
		"for good, and not told":  {remediate.Refused, plan.VerdictChanged, true, 0},
		"for a while":             {remediate.Refused, plan.OrderExpired, false, 0},
		"an act needs no further": {remediate.Acted, "", false, 0},
	} {
		s := newStage()
		r := s.runner(policy.Remediate)
		r.Orders = actor(func(o plan.Order, _ time.Time) remediate.Outcome {
			s.fail["publish"] = tt.fail
			return remediate.Outcome{Order: o, Result: tt.result, Reason: tt.reason, Detail: "so it went", News: true}
		})
		c := r.Check(t.Context(), "demo", now)
		state, err := s.Ledger.Read(t.Context(), cluster)
		must.Succeed(t, err)
		expect.That(t, len(state.Refusals) == tt.want && c.Complete() != tt.fail, "%s: the ledger holds %+v, faults %q", name, state.Refusals, c.Faults)
		for key, refusal := range state.Refusals {
			expect.That(t, key.Order == c.Plan.Orders[0].ID && key.Reason == string(tt.reason) && refusal.Instance == sick && refusal.At.Equal(now), "%s: %+v: %+v", name, key, refusal)
		}
	}
}

// A wrong plan must reach the acts, or nothing behind the plan could be tested.
func TestAnotherPlanTakesThePlaceOfThePlan(t *testing.T) {
	s := newStage()
	s.well = true
	r := s.runner(policy.Remediate)
	r.Plan = func(in plan.Input) plan.Plan {
		expect.That(t, len(in.Assessment.Findings) == 0 && in.Snapshot != nil && in.Now.Equal(now), "the plan rests on %+v", in)
		return plan.Plan{Orders: []plan.Order{{ID: "3f9a0c5d7e1b2468", ClusterID: cluster, Instance: "i-00000000000000002", Action: plan.Terminate}}}
	}
	c := r.Check(t.Context(), "demo", now)
	expect.That(t, len(c.Outcomes) == 1 && c.Outcomes[0].Order.Instance == "i-00000000000000002", "outcomes %+v, events %v", c.Outcomes, s.events)
	if c := r.Look(t.Context(), "demo", "", now); len(c.Plan.Orders) != 1 || len(c.Outcomes) != 0 {
		t.Errorf("a look shows %+v, and did %+v", c.Plan.Orders, c.Outcomes)
	}
}

// Each part of a plan is carried out by itself, and what fails is a fault.
func TestEachPartOfAPlanIsCarriedOut(t *testing.T) {
	const order = "3f9a0c5d7e1b2468"
	question := ledger.ApprovalRequest{Order: order, Instance: sick, Kind: roll.Unregistered, Group: "nodegroup/w", Acts: []string{"terminate"}, At: now, Until: now.Add(time.Hour)}
	key := ledger.NoticeKey{Group: "nodegroup/w", Kind: roll.Unregistered}
	asks := []plan.Notice{{Key: key, Asked: map[string]ledger.ApprovalRequest{order: question}}}
	act := plan.Order{ID: order, ClusterID: cluster, Instance: sick, Action: plan.Terminate}
	told := []plan.Notice{{Key: key, Entries: []plan.Entry{{Order: &act}}}}
	var tags []plan.TagChange
	for range 101 {
		tags = append(tags, plan.TagChange{Instance: sick, Set: map[string]string{"k": "v"}})
	}
	removed := []plan.TagChange{{Instance: sick, Delete: []string{"k"}}, {Instance: "i-0f", Delete: []string{"k"}}}
	silent := func(r *run.Runner) { r.Notices = nil }
	idle := func(r *run.Runner) { r.Notices, r.Orders = nil, nil }
	for name, tt := range map[string]struct {
		plan   plan.Plan
		before ledger.State
		change func(*run.Runner)
		fail   string
		want   []string // without repetitions
		faults []string
	}{
		"an outcome of no act":             {plan: plan.Plan{Resolved: []plan.Resolution{{ActionID: order}}}, faults: []string{"the outcome of order " + order}},
		"an approval of no question":       {plan: plan.Plan{Approved: []plan.Approved{{Order: order}}}, faults: []string{"the approval of order " + order}},
		"an approval":                      {plan: plan.Plan{Approved: []plan.Approved{{Order: order, Approval: ledger.Approval{At: now}}}}, before: ledger.State{Questions: asks[0].Asked}},
		"one that came before":             {plan: plan.Plan{Approved: []plan.Approved{{Order: order}}}, before: ledger.State{Questions: asks[0].Asked, Approvals: map[string]ledger.Approval{order: {At: now}}}},
		"questions without notices":        {plan: plan.Plan{Notices: asks}, change: silent, want: []string{"record"}},
		"questions that are not recorded":  {plan: plan.Plan{Notices: asks}, change: silent, fail: "record", want: []string{"record"}, faults: []string{"the questions about Unregistered"}},
		"a notice without a question":      {plan: plan.Plan{Notices: told}, change: silent},
		"orders without notices":           {plan: plan.Plan{Orders: []plan.Order{act}}, change: silent, want: []string{"act " + string(sick)}},
		"orders and notices, only shown":   {plan: plan.Plan{Orders: []plan.Order{act}, Notices: asks}, change: idle},
		"a notice that is only remembered": {plan: plan.Plan{Changes: ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{key: {SentAt: now}}}}}, want: []string{"raise the notices", "remember the notice"}},
		"trouble of the whole cluster":     {plan: plan.Plan{Changes: ledger.Changes{Put: ledger.State{Trouble: &ledger.Trouble{}}}}, want: []string{"raise the notices", "record trouble"}},
		"trouble that is over":             {plan: plan.Plan{Changes: ledger.Changes{Drop: ledger.Drops{Trouble: true}}}, want: []string{"raise the notices", "record"}},
		"more tags than one check writes":  {plan: plan.Plan{Tags: tags}, want: []string{"tag " + string(sick)}, faults: []string{"1 instances are still to be tagged"}},
		"tags that cannot be written":      {plan: plan.Plan{Tags: tags}, fail: "tag", want: []string{"tag " + string(sick)}, faults: []string{"tag " + string(sick), "tag " + string(sick), "tag " + string(sick)}},
		"tags to remove from two":          {plan: plan.Plan{Tags: removed}, want: []string{"untag " + string(sick)}},
		"one of the two may be gone":       {plan: plan.Plan{Tags: removed}, fail: "untag", want: []string{"untag " + string(sick), "untag i-0f"}, faults: []string{"remove tags of " + string(sick), "remove tags of i-0f"}},
		"a tag to remove":                  {plan: plan.Plan{Tags: []plan.TagChange{{Instance: sick, Delete: []string{"k"}}}}, want: []string{"untag " + string(sick)}},
		"one that cannot be removed":       {plan: plan.Plan{Tags: []plan.TagChange{{Instance: sick, Delete: []string{"k"}}}}, fail: "untag", want: []string{"untag " + string(sick)}, faults: []string{"remove tags of " + string(sick)}},
	} {
		s := newStage()
		must.Succeed(t, s.Ledger.Record(t.Context(), cluster, ledger.Changes{Put: tt.before}))
		s.fail[tt.fail] = true
		r := s.runner(policy.Remediate)
		r.Plan = func(plan.Input) plan.Plan { return tt.plan }
		if tt.change != nil {
			tt.change(r)
		}
		c := r.Check(t.Context(), "demo", now)
		got := slices.Compact(slices.DeleteFunc(s.events, func(e string) bool { return strings.HasPrefix(e, "read") || strings.HasPrefix(e, "ask") }))
		expect.That(t, slices.Equal(got, tt.want), "%s: it did %q, want %q", name, got, tt.want)
		same := slices.EqualFunc(c.Faults, tt.faults, strings.HasPrefix)
		expect.That(t, same, "%s: faults %q, want %q", name, c.Faults, tt.faults)
	}
}

// A later check took over the notices while this one sent its own: it reports the same.
func TestANoticeIsLeftToTheCheckThatTookOver(t *testing.T) {
	s := newStage()
	r := s.runner(policy.Notify)
	r.Notices = overtaking{s}
	c := r.Check(t.Context(), "demo", now)
	expect.That(t, c.Complete() && len(s.said) == 1, "faults %q, %d notices", c.Faults, len(s.said))
}

type overtaking struct{ *stage }

func (o overtaking) Publish(ctx context.Context, m report.Message) error {
	return errors.Join(o.stage.Publish(ctx, m), o.Ledger.RaiseNotices(ctx, cluster, 1))
}

// A notice that says how to stop all acts also says what stops them now.
func TestANoticeSaysWhatStopsTheActs(t *testing.T) {
	const want = "aws eks tag-resource"
	for _, document := range []string{
		"mode: remediate",
		"mode: notify\noverrides: [{match: {group: nodegroup/w}, mode: remediate}]", // the tag lowers it too
	} {
		s := newStage()
		r := s.runner(policy.Remediate)
		doc, err := policy.Parse([]byte("apiVersion: rollcall/v1\n" + document + "\n"))
		must.Succeed(t, err)
		r.Policy, r.Stack = doc, "rollcall-eu"
		expect.Equal(t, r.Check(t.Context(), "demo", now).Mode, policy.Remediate, "the mode of a check")
		if len(s.said) == 0 || !strings.Contains(s.said[0].Text, want) || !strings.Contains(s.said[0].Text, "--stack rollcall-eu") {
			t.Errorf("with %q the notice lacks %q: %+v", document, want, s.said)
		}
	}
	// A group that is only observed does not hide that others are acted on.
	doc, err := policy.Parse([]byte("apiVersion: rollcall/v1\nmode: remediate\noverrides: [{match: {group: nodegroup/w}, mode: notify}]\n"))
	must.Succeed(t, err)
	r := newStage().runner(policy.Remediate)
	r.Policy = doc
	expect.Equal(t, r.Check(t.Context(), "demo", now).Mode, policy.Remediate, "the mode of a check")
}
