package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var someCluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}

// between is a store of which another writer writes between one's read and write.
type between struct {
	store
	other func()
}

func (b *between) write(ctx context.Context, partition string, writes []write, guard *write) (int, error) {
	if other := b.other; other != nil {
		b.other = nil
		other()
	}
	return b.store.write(ctx, partition, writes, guard)
}

// stores returns a new ledger of each kind of store in which a test can come between.
func stores(t *testing.T) map[string]*book {
	f, err := OpenFile(filepath.Join(t.TempDir(), "ledger.json"))
	must.Succeed(t, err)
	return map[string]*book{"memory": &NewMemory().book, "file": &f.book}
}

func intentOf(id string, instance roll.InstanceID) Action {
	return Action{ID: id, Do: "terminate", Instance: instance, Group: "asg/w", Kind: roll.Unknown, At: noon}
}

// A writer whose read is no longer true decides again.
func TestWhoReadWhatIsNoLongerTrueLoses(t *testing.T) {
	ctx := t.Context()
	wide, done := Budget{Max: 9}, Outcome{Result: Done, At: noon}
	for name, c := range map[string]struct {
		other, own func(*book) error
		want       error
	}{
		"the same order":       {func(b *book) error { return b.Begin(ctx, someCluster, intentOf("b", "i-2"), wide) }, func(b *book) error { return b.Begin(ctx, someCluster, intentOf("b", "i-2"), wide) }, ErrBegun},
		"another of the group": {func(b *book) error { return b.Begin(ctx, someCluster, intentOf("b", "i-2"), wide) }, func(b *book) error { return b.Begin(ctx, someCluster, intentOf("c", "i-3"), wide) }, ErrUnresolved},
		"the same notices":     {func(b *book) error { return b.RaiseNotices(ctx, someCluster, 0) }, func(b *book) error { return b.RaiseNotices(ctx, someCluster, 0) }, ErrNoticesMoved},
		"notices of its version": {func(b *book) error { return b.RaiseNotices(ctx, someCluster, 0) }, func(b *book) error {
			return b.Record(ctx, someCluster, Changes{Put: State{First: noon}, NoticesVersion: 2})
		}, ErrNoticesMoved},
		"an outcome after theirs": {func(b *book) error { return b.Finish(ctx, someCluster, "a", Outcome{Result: Failed, At: noon}) }, func(b *book) error { return b.Finish(ctx, someCluster, "a", done) }, nil},
	} {
		for kind, b := range stores(t) {
			must.Succeed(t, b.Begin(ctx, someCluster, intentOf("a", "i-1"), wide))
			if errors.Is(c.want, ErrUnresolved) || errors.Is(c.want, ErrBegun) {
				must.Succeed(t, b.Finish(ctx, someCluster, "a", done))
			}
			pauses, under := 0, b.store
			own := &book{Pause: func(context.Context, int) error { pauses++; return nil }}
			own.store = &between{under, func() {
				err := c.other(b)
				expect.That(t, err == nil, "%s, %s: the other: %v", name, kind, err)
			}}
			if err := c.own(own); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v, want %v", name, kind, err, c.want)
			}
			s, err := b.Read(ctx, someCluster)
			if a, _ := s.Action("a"); err != nil || c.want == nil && a.Outcome.Result != Failed {
				t.Errorf("%s, %s: %v, %v", name, kind, a.Outcome, err)
			}
			decides := !errors.Is(c.want, ErrNoticesMoved)
			expect.That(t, decides == (pauses == 1), "%s, %s: %d pauses", name, kind, pauses)
		}
	}
}

func TestAWriterThatMeetsOthersEachTimeGivesUp(t *testing.T) {
	pauses := 0
	b := &book{Pause: func(context.Context, int) error { pauses++; return nil }}
	if err := b.retry(t.Context(), func() error { return errBusy }); !errors.Is(err, errBusy) || pauses != tries-1 || !strings.Contains(err.Error(), "gave up after 16 tries") {
		t.Errorf("%v after %d pauses", err, pauses)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b.Pause = pause
	err := b.retry(ended, func() error { return errMoved })
	expect.That(t, errors.Is(err, context.Canceled) && errors.Is(err, errMoved), "%v, want both errors", err)
}

func TestAnActThatIsMissingStopsAllForAMonth(t *testing.T) {
	ctx := t.Context()
	m := NewMemory()
	m.Pause = func(context.Context, int) error { return nil }
	for _, id := range []string{"before", "a"} {
		must.Succeed(t, m.Begin(ctx, someCluster, intentOf(id, "i-1"), Budget{Max: 9}))
		must.Succeed(t, m.Finish(ctx, someCluster, id, Outcome{Result: Done, At: noon}))
	}
	records := m.store.(*inMemory).all[partition(someCluster)]
	maps.DeleteFunc(records, func(key string, _ stored) bool {
		return strings.HasPrefix(key, actPrefix) && strings.Contains(key, "#a#")
	})
	next := intentOf("b", "i-2")
	if err := m.Begin(ctx, someCluster, next, Budget{Max: 9}); !errors.Is(err, errMoved) || !strings.Contains(err.Error(), "delete the record budget too") {
		t.Errorf("%v, want an error that says what is missing and what to do", err)
	}
	next.At = noon.Add(ActionRetention)
	if err := m.Begin(ctx, someCluster, next, Budget{Max: 9}); err != nil {
		t.Errorf("a month later: %v", err)
	}
	// Without the record of the turn, the acts still have an order.
	delete(records, turnKey)
	must.Succeed(t, m.Finish(ctx, someCluster, "b", Outcome{Result: Done, At: next.At}))
	must.Succeed(t, m.Begin(ctx, someCluster, intentOf("c", "i-2"), Budget{Max: 9}))
	s, err := m.Read(ctx, someCluster)
	must.Succeed(t, err)
	last := s.Actions[len(s.Actions)-1].ID
	expect.That(t, last == "c", "the last act is %s, want c, although its clock is behind", last)
}

func TestAMalformedRecordIsNamed(t *testing.T) {
	ctx := t.Context()
	for key, values := range map[string][]string{
		"finding#i-1#Unknown":   {``, `{}`, `nonsense`, `{"key":{},"value":{}}`, `{"key":{"instance":"i-2","kind":"Unknown"},"value":{"instance":"i-2","kind":"Unknown","group":"","stage":"","firstSeen":"2026-03-10T12:00:00Z","since":"2026-03-10T12:00:00Z","began":"2026-03-10T12:00:00Z"}}`},
		"missing#i-1":           {`{"key":"i-1"}`, `{"key":"i-2","value":"2026-03-10T12:00:00Z"}`, `{"key":7,"value":"2026-03-10T12:00:00Z"}`},
		"notice#asg/w#Unknown":  {`{"key":{"group":"asg/w","kind":"Unknown"},"value":{"sentAt":"2026-03-10T12:00:00Z","told":7}}`},
		"trouble":               {`{"value":{}}`, `{"value":7}`},
		"notices":               {`{}`}, // without a version
		"action#2026-03-10#a#1": {`{"value":{}}`, `{"value":{"id":"a","do":"","instance":"","group":"","kind":"","at":"2026-03-10T12:00:00Z","turn":1}}`},
		"action#2026-03-10T12:00:00.000000000Z#a#1": {`{"value":{"id":"a","do":"","instance":"","group":"","kind":"","at":"2026-03-10T12:00:00Z","turn":1,"outcome":{}}}`},
		"budget": {`{}`, `{"value":{"last":"","lastAt":"2026-03-10T12:00:00Z"}}`}, // without a version
	} {
		for _, value := range values {
			m := NewMemory()
			m.store.(*inMemory).all[partition(someCluster)] = map[string]stored{key: {Value: json.RawMessage(value)}}
			if _, err := m.Read(ctx, someCluster); key != turnKey && (err == nil || !strings.Contains(err.Error(), "record "+key+" is malformed")) {
				t.Errorf("%s %s: read says %v", key, value, err)
			}
			if err := m.Begin(ctx, someCluster, intentOf("a", "i-1"), Budget{Max: 9}); (key == turnKey || strings.HasPrefix(key, actPrefix)) && (err == nil || !strings.Contains(err.Error(), "record "+key+" is malformed")) {
				t.Errorf("%s %s: begin says %v", key, value, err)
			}
		}
	}
	// What belongs to a later version is ignored.
	m := NewMemory()
	m.store.(*inMemory).all[partition(someCluster)] = map[string]stored{"drain#i-1": {Value: json.RawMessage(`7`)}, "findings": {}, "first": {Value: json.RawMessage(`{"later":1,"value":"2026-03-10T12:00:00Z"}`)}}
	s, err := m.Read(ctx, someCluster)
	expect.That(t, err == nil && s.First.Equal(noon), "%v, %v", s.First, err)
}

func TestSizesAndPoliciesAreRemembered(t *testing.T) {
	ctx := t.Context()
	for kind, b := range stores(t) {
		for name, nodes := range map[string]int{"shop": 3, "demo": 7} {
			must.Succeed(t, errors.Join(b.PutSize(ctx, "eu-west-1", name, 1), b.PutSize(ctx, "eu-west-1", name, nodes), b.PutSize(ctx, "us-east-1", name, 9)))
		}
		sizes, err := b.Sizes(ctx, "eu-west-1")
		if want := map[string]int{"shop": 3, "demo": 7}; err != nil || !maps.Equal(sizes, want) {
			t.Errorf("%s: %v, %v; want %v", kind, sizes, err, want)
		}
		d := &Dynamo{*b}
		clusters, err := d.Clusters(ctx, "111122223333", "eu-west-1")
		shop := someCluster
		shop.Name = "shop"
		if want := []roll.ClusterID{someCluster, shop}; err != nil || !slices.Equal(clusters, want) || !d.Persistent() {
			t.Errorf("%s: %v, %v; want %v", kind, clusters, err, want)
		}
		for seen := range 2 {
			for name, want := range map[string]bool{"/policy": seen > 0, "/pol": false, "/policy/other": false} {
				got, err := b.PolicySeen(ctx, name)
				expect.That(t, err == nil && got == want, "%s: %s seen %v, %v", kind, name, got, err)
			}
			must.Succeed(t, b.SeePolicy(ctx, "/policy"))
		}
	}
}

func TestWhatNoticesHaveReported(t *testing.T) {
	var i, other Incident
	for _, s := range []Statement{{Held: "b"}, {Stage: roll.Warned}, {Held: "a"}, {Held: "b"}, {Order: "x"}, {Drain: "y"}, {}} {
		other.Add(s)
	}
	other.AddCause("c")
	other.AddCause("")
	before := other.Clone()
	if i.Escalated() || (Incident{Stages: []roll.Stage{roll.Warned}}).Escalated() || !(Incident{Stages: []roll.Stage{roll.Overdue}}).Escalated() {
		t.Error("an incident escalates when a notice reports an instance as past its tolerance")
	}
	for range 2 {
		i.AddFrom(other)
		if !slices.Equal(i.Stages, []roll.Stage{roll.Warned}) || !slices.Equal(i.Reasons, []string{"a", "b"}) || !slices.Equal(i.Causes, []string{"", "c"}) || !i.Escalated() {
			t.Errorf("%+v", i)
		}
	}
	i.Add(Statement{Held: "z"})
	expect.That(t, slices.Equal(other.Reasons, before.Reasons), "two incidents share their reasons")
	expect.That(t, (Statement{Order: "x"}).Acts() && (Statement{Drain: "y"}).Acts() && !(Statement{Held: "b"}).Acts(), "orders and drains act")
}

func TestWhenARefusalLastMattered(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{-time.Hour: 0, 0: 0, time.Hour: time.Hour} {
		got := (Refusal{At: noon, Given: noon.Add(given)}).Latest()
		expect.That(t, got.Equal(noon.Add(want)), "given after %s: %s", given, got)
	}
}

func TestWhySpotInstancesAreGone(t *testing.T) {
	for name, c := range map[string]struct {
		spot     map[SpotKey]time.Time
		instance *roll.Instance
		want     roll.SpotEvent
		at       time.Time
	}{
		"nothing":                {},
		"EC2 no longer knows it": {map[SpotKey]time.Time{{"i-1", roll.SpotRebalance}: noon}, nil, roll.SpotRebalance, noon},
		"both":                   {map[SpotKey]time.Time{{"i-1", roll.SpotRebalance}: noon, {"i-1", roll.SpotInterruption}: noon.Add(1)}, nil, roll.SpotInterruption, noon.Add(1)},
		"another's":              {map[SpotKey]time.Time{{"i-2", roll.SpotRebalance}: noon}, &roll.Instance{}, "", time.Time{}},
		"its reason says so":     {nil, &roll.Instance{SpotTaken: true}, roll.SpotInterruption, time.Time{}},
	} {
		event, at := (State{Spot: c.spot}).SpotEnd("i-1", c.instance)
		expect.That(t, event == c.want && at.Equal(c.at), "%s: %s at %s", name, event, at)
	}
}
