package ledger

import (
	"context"
	"sync"

	"rollcall/shared/roll"
)

// Memory is a ledger that lives as long as its process.
type Memory struct {
	mu     sync.Mutex
	states map[roll.ClusterID]*State
}

// NewMemory returns an empty ledger in memory.
func NewMemory() *Memory { return &Memory{states: map[roll.ClusterID]*State{}} }

// Read implements Ledger.
func (m *Memory) Read(_ context.Context, cluster roll.ClusterID) (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state(cluster).Clone(), nil
}

// Record implements Ledger.
func (m *Memory) Record(_ context.Context, cluster roll.ClusterID, changes Changes) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state(cluster)
	if err := s.may(changes); err != nil {
		return err
	}
	s.Apply(changes)
	return nil
}

// RaiseNotices implements Ledger.
func (m *Memory) RaiseNotices(_ context.Context, cluster roll.ClusterID, read int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state(cluster).raiseNotices(read)
}

// Begin implements Ledger.
func (m *Memory) Begin(_ context.Context, cluster roll.ClusterID, intent Action, budget Budget) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state(cluster).begin(intent, budget)
}

// Finish implements Ledger.
func (m *Memory) Finish(_ context.Context, cluster roll.ClusterID, actionID string, outcome Outcome) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state(cluster).finish(actionID, outcome)
}

// Persistent implements Ledger: a memory is gone with its process.
func (m *Memory) Persistent() bool { return false }

func (m *Memory) state(cluster roll.ClusterID) *State {
	s, ok := m.states[cluster]
	if !ok {
		s = new(State)
		s.init()
		m.states[cluster] = s
	}
	return s
}
