package ledger

import (
	"context"
	"sync"

	"rollcall/shared/roll"
)

// states implements the writes of a ledger that stores whole states. update changes one
// state exclusively, unless change returns an error.
type states struct {
	update func(ctx context.Context, cluster roll.ClusterID, change func(*State) error) error
}

// Record implements Ledger.
func (l states) Record(ctx context.Context, cluster roll.ClusterID, changes Changes) error {
	if changes.Empty() {
		return nil
	}
	return l.update(ctx, cluster, func(s *State) error {
		if changes.NoticesVersion != 0 && changes.NoticesVersion != s.NoticesVersion {
			return ErrNoticesMoved
		}
		s.Apply(changes)
		return nil
	})
}

// RaiseNotices implements Ledger.
func (l states) RaiseNotices(ctx context.Context, cluster roll.ClusterID, read int64) error {
	return l.update(ctx, cluster, func(s *State) error {
		if s.NoticesVersion != read {
			return ErrNoticesMoved
		}
		s.NoticesVersion++
		return nil
	})
}

// Begin implements Ledger.
func (l states) Begin(ctx context.Context, cluster roll.ClusterID, intent Action, budget Budget) error {
	return l.update(ctx, cluster, func(s *State) error { return s.begin(intent, budget) })
}

// Finish implements Ledger.
func (l states) Finish(ctx context.Context, cluster roll.ClusterID, actionID string, outcome Outcome) error {
	return l.update(ctx, cluster, func(s *State) error { return s.finish(actionID, outcome) })
}

// Memory is a ledger in memory.
type Memory struct {
	states

	mu        sync.Mutex
	byCluster map[roll.ClusterID]*State
}

// NewMemory returns an empty ledger.
func NewMemory() *Memory {
	m := &Memory{byCluster: map[roll.ClusterID]*State{}}
	m.states = states{m.with}
	return m
}

// Read implements Ledger.
func (m *Memory) Read(ctx context.Context, cluster roll.ClusterID) (state State, err error) {
	err = m.with(ctx, cluster, func(s *State) error { state = s.Clone(); return nil })
	return state, err
}

// Persistent implements Ledger.
func (m *Memory) Persistent() bool { return false }

func (m *Memory) with(_ context.Context, cluster roll.ClusterID, do func(*State) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.byCluster[cluster]
	if !ok {
		s = new(NewState())
		m.byCluster[cluster] = s
	}
	return do(s)
}
