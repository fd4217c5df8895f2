package testbed

import (
	"slices"
	"sync"
)

// nameSet is a set of node names that is safe for concurrent use.
type nameSet struct {
	mu  sync.Mutex
	set map[string]bool
}

func (s *nameSet) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = map[string]bool{}
	}
	s.set[name] = true
}

func (s *nameSet) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.set, name)
}

func (s *nameSet) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.set)
}

// names returns the members in alphabetical order.
func (s *nameSet) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.set))
	for name := range s.set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
