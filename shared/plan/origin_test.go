package plan

import (
	"maps"
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// Origins of nodes are remembered for a while after their last node, and written at most once a
// day.
func TestTheMemoryOfWhatHadNodesIsRefreshedAndExpires(t *testing.T) {
	const day = 24 * time.Hour
	created := now.Add(-365 * day)
	for name, tt := range map[string]struct {
		seen      time.Duration // ago; negative for never
		has       bool          // it has a node now
		put, drop bool
	}{
		"never seen, and has none":                      {-1, false, false, false},
		"never seen, and has one":                       {-1, true, true, false},
		"seen just under a day ago, has one":            {day - time.Second, true, false, false},
		"seen a day ago, has one":                       {day, true, true, false},
		"seen a day ago, has none":                      {day, false, false, false},
		"seen just under 100 days ago, has none":        {ledger.IntentRetention - time.Second, false, false, false},
		"seen 100 days ago, has none":                   {ledger.IntentRetention, false, false, true},
		"seen 100 days ago, has one":                    {ledger.IntentRetention, true, true, false},
		"seen before the cluster was created, has none": {366 * day, false, false, true},
		"seen before the cluster was created, has one":  {366 * day, true, true, false},
	} {
		w := newWorld()
		w.snapshot.Cluster.Created = created
		if tt.has {
			w.add(1, 0).LaunchTemplate = "lt-1:3"
		}
		keys := []roll.Origin{"asg/w", "lt-1:3"}
		for _, o := range keys {
			if tt.seen >= 0 {
				w.state.Apply(ledger.Changes{Put: ledger.State{GroupsWithNodes: map[roll.Origin]time.Time{o: now.Add(-tt.seen)}}})
			}
		}
		_, p := w.make(now)
		var put, drop []roll.Origin
		if tt.put {
			put = keys
		}
		if tt.drop {
			drop = keys
		}
		if got := slices.Sorted(maps.Keys(p.Changes.Put.GroupsWithNodes)); !slices.Equal(got, put) || !slices.Equal(p.Changes.Drop.GroupsWithNodes, drop) {
			t.Errorf("%s: puts %v, drops %v, want %v, %v", name, got, p.Changes.Drop.GroupsWithNodes, put, drop)
		}
		w.apply(p)
		if _, p = w.make(now); len(p.Changes.Put.GroupsWithNodes)+len(p.Changes.Drop.GroupsWithNodes) != 0 {
			t.Errorf("%s: again puts %v, drops %v", name, p.Changes.Put.GroupsWithNodes, p.Changes.Drop.GroupsWithNodes)
		}
	}
}

// A check of one instance, or an incomplete one, shows nothing about origins without nodes.
func TestOnlyAWholeLookForgetsWhatHadNodes(t *testing.T) {
	for name, spoil := range map[string]func(*roll.Snapshot){
		"one instance": func(s *roll.Snapshot) { s.Target = instanceID(1) },
		"a gap":        func(s *roll.Snapshot) { s.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapThrottled}} },
	} {
		w := newWorld()
		w.state.Apply(ledger.Changes{Put: ledger.State{GroupsWithNodes: map[roll.Origin]time.Time{"asg/w": now.Add(-2 * ledger.IntentRetention)}}})
		spoil(w.snapshot)
		_, p := w.make(now)
		expect.That(t, len(p.Changes.Drop.GroupsWithNodes) == 0, "%s: drops %v", name, p.Changes.Drop.GroupsWithNodes)
	}
}
