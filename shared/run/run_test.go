package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/shared/run"
)

var (
	now     = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}
)

const sick roll.InstanceID = "i-00000000000000001"

// stage is everything that a runner is plugged into. It notes what happens, in
// order, and fails where the test says.
type stage struct {
	ledger.Ledger
	events []string
	fail   map[string]bool
	marks  *roll.Marks
}

func newStage() *stage {
	s := &stage{Ledger: ledger.NewMemory(), fail: map[string]bool{}}
	seen := ledger.Finding{Instance: sick, Kind: roll.Unregistered, Group: "nodegroup/w", Stage: roll.Overdue, FirstSeen: now.Add(-time.Hour), Opened: now.Add(-time.Hour), Since: now.Add(-2 * time.Hour), Began: now.Add(-2 * time.Hour)}
	err := s.Ledger.Record(context.Background(), cluster, ledger.Changes{
		PutFindings:  []ledger.Finding{seen},
		PutRemediate: map[roll.Group]time.Time{"nodegroup/w": now.Add(-24 * time.Hour)},
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

func (s *stage) Snapshot(_ context.Context, name string, at time.Time) *roll.Snapshot {
	_ = s.do("read " + name)
	snapshot := &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: cluster, Status: roll.ClusterActive}, Details: map[roll.InstanceID]roll.Detail{}}
	for i := range 4 {
		id := roll.InstanceID(fmt.Sprintf("i-0000000000000000%d", i+1))
		snapshot.Instances = append(snapshot.Instances, roll.Instance{ID: id, State: roll.StateRunning, Launched: now.Add(-2 * time.Hour), Owner: roll.OwnerManagedNodeGroup, Group: "nodegroup/w"})
		if id != sick {
			snapshot.Nodes = append(snapshot.Nodes, roll.Node{Name: string(id), Compute: roll.ComputeEC2, Instance: id, Ready: roll.Condition{Status: roll.ConditionTrue}})
		}
	}
	snapshot.Instances[0].Marks = s.marks
	return snapshot
}

func (s *stage) LookUp(_ context.Context, snapshot *roll.Snapshot, ids []roll.InstanceID) {
	for _, id := range ids {
		_ = s.do("look up " + string(id))
	}
}

func (s *stage) Details(_ context.Context, snapshot *roll.Snapshot, questions []roll.Question) {
	for _, q := range questions {
		_ = s.do("ask " + string(q.Instance))
		snapshot.Details[q.Instance] = roll.Detail{TerminationProtected: roll.No, Bootstraps: roll.Yes, LifecycleRead: roll.No, ScaleInProtected: roll.No}
	}
}

func (s *stage) Record(ctx context.Context, id roll.ClusterID, c ledger.Changes) error {
	what := "record"
	for _, n := range c.PutNotices {
		if what = "remember the notice"; n.SentAt.IsZero() {
			what = "try the ledger"
		}
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
	return s.do("publish " + m.Attributes.Action)
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
	want := []string{"read demo", "ask " + string(sick), "tag " + string(sick), "try the ledger", "publish terminate", "remember the notice", "act " + string(sick), "publish terminated"}
	got := slices.DeleteFunc(slices.Clone(s.events), func(e string) bool { return e == "record" })
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !c.Complete() || len(c.Outcomes) != 1 {
		t.Errorf("faults %q, outcomes %+v", c.Faults, c.Outcomes)
	}
}

func TestRecordsBeforeAnythingElseIsWritten(t *testing.T) {
	s := newStage()
	s.Ledger = ledger.NewMemory()
	s.runner(policy.Notify).Check(t.Context(), "demo", now)
	first := slices.IndexFunc(s.events, func(e string) bool {
		return strings.HasPrefix(e, "record") || strings.HasPrefix(e, "tag") || strings.HasPrefix(e, "publish")
	})
	if s.events[first] != "record" {
		t.Errorf("the first write is %q: %q", s.events[first], s.events)
	}
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
		without []string // what must not happen
		with    []string // what must happen all the same
	}{
		{"ledger", []string{"record", "tag", "publish", "act"}, []string{"read"}},
		{"record", []string{"tag", "publish", "act"}, nil},
		{"publish", []string{"remember"}, []string{"tag", "act"}},
		{"try", []string{"publish", "act"}, []string{"tag"}},
		{"tag", nil, []string{"publish"}},
	}
	for _, tt := range tests {
		s := newStage()
		if tt.fail == "record" {
			s.Ledger = ledger.NewMemory() // there is something to record
		}
		s.fail[tt.fail] = true
		c := s.runner(policy.Remediate).Check(t.Context(), "demo", now)
		if c.Complete() {
			t.Errorf("%s failed, and the check calls itself complete", tt.fail)
		}
		did := func(verb string) bool {
			return slices.ContainsFunc(s.events, func(e string) bool { return strings.HasPrefix(e, verb) })
		}
		for _, verb := range tt.without {
			if did(verb) {
				t.Errorf("%s failed, and still it did %q: %q", tt.fail, verb, s.events)
			}
		}
		for _, verb := range tt.with {
			if !did(verb) {
				t.Errorf("%s failed, and it did not even %q: %q", tt.fail, verb, s.events)
			}
		}
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
	if published != 1 {
		t.Errorf("published %d times after the failure, want once: %q", published, s.events)
	}
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
	if !at.Equal(now) {
		t.Errorf("acted at %s, the check was at %s", at, now)
	}
}

type actor func(plan.Order, time.Time) remediate.Outcome

func (a actor) Act(_ context.Context, o plan.Order, at time.Time) remediate.Outcome {
	return a(o, at)
}
